/* SPDX-License-Identifier: BSD-3-Clause
 * The agent's queue pairs. */
#include "agent.h"

/* Both ends say the same number: which way the connection goes, the kind, the set. */
static uint32_t nbcolli_agent_number(const nbcoll_agent *a, const nbcolli_agent_pair *pair)
{
    int is_rising = (pair->direction == NBCOLL_OUTWARD) == (a->ep->rank < pair->peer);
    uint32_t way = pair->direction == NBCOLL_BOTH_WAYS ? 0 : is_rising ? 1 : 2;
    return (way * 3 + (uint32_t)pair->kind) * a->config.in_flight + pair->set;
}

static size_t nbcolli_agent_memory(const nbcoll_agent *a, nbcoll_queue_kind kind)
{
    return kind == NBCOLL_QUEUE_EAGER ? a->config.depth * a->config.eager : 0;
}

void nbcolli_agent_pairs_close(nbcoll_agent *a)
{
    for (nbcolli_agent_pair *pair = a->pairs; pair; pair = pair->next) {
        if (pair->queue)
            a->call.close(a->ep, pair->queue, NULL);
        pair->queue = NULL;
    }
}

static void nbcolli_agent_pair_free(nbcoll_agent *a, nbcolli_agent_pair *pair)
{
    if (pair->sent)
        a->call.close(a->ep, NULL, pair->sent);
    if (pair->received)
        a->call.close(a->ep, NULL, pair->received);
    if (pair->is_registered && a->memory->deregister_memory)
        a->memory->deregister_memory(a->ep, &pair->registered);
    nbcolli_free(&a->host, pair->memory, nbcolli_agent_memory(a, pair->kind));
    nbcolli_free(&a->host, pair, sizeof *pair);
}

void nbcolli_agent_pairs_free(nbcoll_agent *a)
{
    nbcolli_agent_pairs_close(a);
    while (a->pairs) {
        nbcolli_agent_pair *pair = a->pairs;
        a->pairs = pair->next;
        nbcolli_agent_pair_free(a, pair);
    }
}

nbcoll_status nbcolli_agent_pair_fill(nbcoll_agent *a, nbcolli_agent_pair *pair)
{
    nbcoll_status status = NBCOLL_OK;
    if (pair->kind == NBCOLL_QUEUE_BULK)
        return NBCOLL_OK;
    for (; status == NBCOLL_OK && pair->posted - pair->taken < a->config.depth; pair->posted++) {
        nbcoll_posting p = {.kind = NBCOLL_POSTING_RECEIVE};
        if (pair->memory) {
            p.memory = pair->memory + pair->posted % a->config.depth * a->config.eager;
            p.bytes = a->config.eager;
            p.local = pair->is_registered ? &pair->registered : NULL;
        }
        status = a->call.post(a->ep, pair->queue, &p);
    }
    return status;
}

static nbcoll_status nbcolli_agent_pair_open(nbcoll_agent *a, nbcolli_agent_pair *pair)
{
    size_t bytes = nbcolli_agent_memory(a, pair->kind);
    uint32_t held = pair->kind == NBCOLL_QUEUE_BULK ? NBCOLL_HOLDS_SENDS | NBCOLL_HOLDS_RECEIVES : NBCOLL_HOLDS_SENDS;
    nbcoll_queue_config config = {.size = sizeof config,
                                  .peer = pair->peer,
                                  .number = nbcolli_agent_number(a, pair),
                                  .depth = 2 * a->config.depth,
                                  .held = held};
    if (bytes && !(pair->memory = nbcolli_alloc(&a->host, bytes, 64)))
        return NBCOLL_ERR_MEMORY;
    nbcoll_status status = NBCOLL_OK;
    if (bytes && a->memory)
        status = a->memory->register_memory(a->ep, -1, pair->memory, bytes, NBCOLL_LOCAL_END, &pair->registered);
    pair->is_registered = bytes && a->memory && status == NBCOLL_OK;
    if (status == NBCOLL_OK)
        status = a->call.open_cq(a->ep, config.depth, &pair->sent);
    if (status == NBCOLL_OK)
        status = a->call.open_cq(a->ep, config.depth, &pair->received);
    config.sent = pair->sent;
    config.received = pair->received;
    if (status == NBCOLL_OK)
        status = a->call.open_queue(a->ep, &config, &pair->queue);
    return status == NBCOLL_OK ? nbcolli_agent_pair_fill(a, pair) : status;
}

nbcoll_status nbcolli_agent_pair_of(nbcoll_agent *a, const nbcoll_queue_view *q, uint32_t set, nbcolli_agent_pair **out)
{
    nbcolli_agent_pair *pair = a->pairs;
    while (pair &&
           (pair->kind != q->kind || pair->peer != q->peer || pair->direction != q->direction || pair->set != set))
        pair = pair->next;
    *out = pair;
    if (pair)
        return NBCOLL_OK;
    pair = nbcolli_alloc(&a->host, sizeof *pair, 64);
    if (!pair)
        return NBCOLL_ERR_MEMORY;
    *pair =
        (nbcolli_agent_pair){.next = a->pairs, .kind = q->kind, .peer = q->peer, .direction = q->direction, .set = set};
    a->pairs = *out = pair;
    return nbcolli_agent_pair_open(a, pair);
}

void nbcolli_agent_pairs_show(nbcoll_agent *a, const nbcoll_program_run *r)
{
    nbcolli_agent_pair *pair;
    for (uint32_t i = 0; i < r->pairs; i++)
        (void)nbcolli_agent_pair_of(a, &r->p->queue[i], r->set, &pair); /* else its endpoint's end tells */
    nbcolli_agent_pairs_close(a);
}
