/* SPDX-License-Identifier: BSD-3-Clause
 * The agent's queue pairs. */
#include "agent.h"

/* Both ends say the same number: which way the connection goes, the kind, the set. */
static uint32_t nbcolli_agent_number(const nbcoll_agent *a, const nbcolli_agent_line *line)
{
    int is_rising = (line->direction == NBCOLL_OUTWARD) == (a->ep->rank < line->peer);
    uint32_t way = line->direction == NBCOLL_BOTH_WAYS ? 0 : is_rising ? 1 : 2;
    return (way * 3 + (uint32_t)line->kind) * a->config.in_flight + line->set;
}

static size_t nbcolli_agent_memory(const nbcoll_agent *a, nbcoll_queue_kind kind)
{
    return kind == NBCOLL_QUEUE_EAGER ? a->config.depth * a->config.eager : 0;
}

void nbcolli_agent_pairs_close(nbcoll_agent *a)
{
    for (nbcolli_agent_line *line = a->lines; line; line = line->next) {
        if (line->pair)
            a->call.close(a->ep, line->pair, NULL);
        line->pair = NULL;
    }
}

static void nbcolli_agent_line_free(nbcoll_agent *a, nbcolli_agent_line *line)
{
    if (line->sent)
        a->call.close(a->ep, NULL, line->sent);
    if (line->received)
        a->call.close(a->ep, NULL, line->received);
    if (line->is_registered && a->memory->deregister_memory)
        a->memory->deregister_memory(a->ep, &line->registered);
    nbcolli_free(&a->host, line->memory, nbcolli_agent_memory(a, line->kind));
    nbcolli_free(&a->host, line, sizeof *line);
}

void nbcolli_agent_lines_close(nbcoll_agent *a)
{
    nbcolli_agent_pairs_close(a);
    while (a->lines) {
        nbcolli_agent_line *line = a->lines;
        a->lines = line->next;
        nbcolli_agent_line_free(a, line);
    }
}

nbcoll_status nbcolli_agent_line_fill(nbcoll_agent *a, nbcolli_agent_line *line)
{
    nbcoll_status status = NBCOLL_OK;
    if (line->kind == NBCOLL_QUEUE_BULK)
        return NBCOLL_OK;
    for (; status == NBCOLL_OK && line->posted - line->taken < a->config.depth; line->posted++) {
        nbcoll_posting p = {.kind = NBCOLL_POSTING_RECEIVE};
        if (line->memory) {
            p.memory = line->memory + line->posted % a->config.depth * a->config.eager;
            p.bytes = a->config.eager;
            p.local = line->is_registered ? &line->registered : NULL;
        }
        status = a->call.post(a->ep, line->pair, &p);
    }
    return status;
}

static nbcoll_status nbcolli_agent_line_open(nbcoll_agent *a, nbcolli_agent_line *line)
{
    size_t bytes = nbcolli_agent_memory(a, line->kind);
    uint32_t held = line->kind == NBCOLL_QUEUE_BULK ? NBCOLL_HOLDS_SENDS | NBCOLL_HOLDS_RECEIVES : NBCOLL_HOLDS_SENDS;
    nbcoll_queue_config config = {.size = sizeof config,
                                  .peer = line->peer,
                                  .number = nbcolli_agent_number(a, line),
                                  .depth = 2 * a->config.depth,
                                  .held = held};
    if (bytes && !(line->memory = nbcolli_alloc(&a->host, bytes, 64)))
        return NBCOLL_ERR_MEMORY;
    nbcoll_status status = NBCOLL_OK;
    if (bytes && a->memory)
        status = a->memory->register_memory(a->ep, -1, line->memory, bytes, NBCOLL_LOCAL_END, &line->registered);
    line->is_registered = bytes && a->memory && status == NBCOLL_OK;
    if (status == NBCOLL_OK)
        status = a->call.open_cq(a->ep, config.depth, &line->sent);
    if (status == NBCOLL_OK)
        status = a->call.open_cq(a->ep, config.depth, &line->received);
    config.sent = line->sent;
    config.received = line->received;
    if (status == NBCOLL_OK)
        status = a->call.open_queue(a->ep, &config, &line->pair);
    return status == NBCOLL_OK ? nbcolli_agent_line_fill(a, line) : status;
}

nbcoll_status nbcolli_agent_line_of(nbcoll_agent *a, const nbcoll_queue_view *q, uint32_t set, nbcolli_agent_line **out)
{
    nbcolli_agent_line *line = a->lines;
    while (line &&
           (line->kind != q->kind || line->peer != q->peer || line->direction != q->direction || line->set != set))
        line = line->next;
    *out = line;
    if (line)
        return NBCOLL_OK;
    line = nbcolli_alloc(&a->host, sizeof *line, 64);
    if (!line)
        return NBCOLL_ERR_MEMORY;
    *line =
        (nbcolli_agent_line){.next = a->lines, .kind = q->kind, .peer = q->peer, .direction = q->direction, .set = set};
    a->lines = *out = line;
    return nbcolli_agent_line_open(a, line);
}

void nbcolli_agent_lines_show(nbcoll_agent *a, const nbcoll_program_run *r)
{
    nbcolli_agent_line *line;
    for (uint32_t i = 0; i < r->pairs; i++)
        (void)nbcolli_agent_line_of(a, &r->p->queue[i], r->set, &line); /* else its endpoint's end tells */
    nbcolli_agent_pairs_close(a);
}
