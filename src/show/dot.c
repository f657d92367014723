/* SPDX-License-Identifier: BSD-3-Clause
 * Schedules as a directed graph for Graphviz: a cluster for each rank, dashed edges for messages. */
#include "print.h"

static nbcoll_schedule_info nbcolli_dot_info(const nbcoll_schedule *s)
{
    nbcoll_schedule_info info = {.size = sizeof info};
    nbcoll_schedule_query(s, &info);
    return info;
}

static const nbcoll_schedule *nbcolli_dot_of_rank(const nbcoll_schedule *const schedules[], size_t n, int rank)
{
    for (size_t i = 0; i < n; i++)
        if (nbcolli_dot_info(schedules[i]).rank == rank)
            return schedules[i];
    return NULL;
}

static nbcoll_status nbcolli_dot_check(const nbcoll_schedule *const schedules[], size_t n)
{
    if (n && !schedules)
        return NBCOLL_ERR_NULL;
    for (size_t i = 0; i < n; i++)
        if (!schedules[i])
            return NBCOLL_ERR_NULL;
    for (size_t i = 0; i < n; i++) {
        nbcoll_schedule_info info = nbcolli_dot_info(schedules[i]);
        if (info.ranks != nbcolli_dot_info(schedules[0]).ranks || nbcolli_dot_of_rank(schedules, i, info.rank))
            return NBCOLL_ERR_ARGUMENT;
    }
    return NBCOLL_OK;
}

/* The nodes of one rank, and the edges between them. */
static void nbcolli_dot_rank(nbcolli_printer *p, const nbcoll_schedule *s)
{
    nbcoll_schedule_info info = nbcolli_dot_info(s);
    nbcolli_print(p, "    subgraph cluster_%d {\n        label=\"", info.rank);
    nbcolli_print_name(p, info.name, 1);
    nbcolli_print(p, ": rank %d of %d\"\n", info.rank, info.ranks);
    if (info.steps == NBCOLL_END + 1)
        nbcolli_print(p, "        r%d_s0 [label=\"0 JOIN start\"]\n", info.rank);
    for (nbcoll_step step = NBCOLL_END + 1; step < info.steps && !p->is_stopped; step++) {
        const nbcoll_step_view *v = nbcoll_schedule_step(s, step);
        unsigned long id = step;
        nbcolli_print(p, "        r%d_s%lu [label=\"%lu %s", info.rank, id, id, nbcoll_kind_name(v->kind));
        nbcolli_print_step(p, s, step);
        nbcolli_print(p, "\"]\n");
        for (uint32_t i = 0; i < v->after_count; i++)
            nbcolli_print(p, "        r%d_s%lu -> r%d_s%lu\n", info.rank, id, info.rank, (unsigned long)v->after[i]);
    }
    nbcolli_print(p, "    }\n");
}

/* The step that takes message or part `number` of rank `from`, or START. */
static nbcoll_step nbcolli_dot_taker(const nbcoll_schedule *s, int from, uint32_t number, int is_part)
{
    uint32_t steps = nbcolli_dot_info(s).steps;
    for (nbcoll_step step = NBCOLL_END + 1; step < steps; step++) {
        const nbcoll_step_view *v = nbcoll_schedule_step(s, step);
        int is_taker = is_part ? v->kind == NBCOLL_FETCH || v->kind == NBCOLL_FETCH_REDUCE : v->kind == NBCOLL_RECV;
        if (is_taker && v->peer == from && v->number == number)
            return step;
    }
    return NBCOLL_START;
}

typedef struct nbcolli_dot_graph {
    const nbcoll_schedule *const *schedules;
    size_t n;
} nbcolli_dot_graph;

static void nbcolli_dot_message(nbcolli_printer *p, const nbcolli_dot_graph *g, int rank, nbcoll_step step,
                                const nbcoll_part *message, int is_part)
{
    const nbcoll_schedule *peer = nbcolli_dot_of_rank(g->schedules, g->n, message->peer);
    nbcoll_step taker = peer ? nbcolli_dot_taker(peer, rank, message->number, is_part) : NBCOLL_START;
    if (taker != NBCOLL_START)
        nbcolli_print(p, "    r%d_s%lu -> r%d_s%lu [style=dashed]\n", rank, (unsigned long)step, message->peer,
                      (unsigned long)taker);
}

/* What this rank sends and exposes to drawn ranks. */
static void nbcolli_dot_messages(nbcolli_printer *p, const nbcolli_dot_graph *g, const nbcoll_schedule *s)
{
    nbcoll_schedule_info info = nbcolli_dot_info(s);
    for (nbcoll_step step = NBCOLL_END + 1; step < info.steps && !p->is_stopped; step++) {
        const nbcoll_step_view *v = nbcoll_schedule_step(s, step);
        nbcoll_part sent = {.peer = v->peer, .number = v->number};
        if (v->kind == NBCOLL_SEND)
            nbcolli_dot_message(p, g, info.rank, step, &sent, 0);
        for (uint32_t i = 0; v->kind == NBCOLL_EXPOSE && i < v->part_count; i++)
            nbcolli_dot_message(p, g, info.rank, step, &v->parts[i], 1);
    }
}

nbcoll_status nbcoll_show_dot(const nbcoll_schedule *const schedules[], size_t n, nbcoll_write *write, void *user)
{
    nbcoll_status status = write ? nbcolli_dot_check(schedules, n) : NBCOLL_ERR_NULL;
    if (status != NBCOLL_OK)
        return status;
    nbcolli_printer p = {.write = write, .user = user, .gap = ",\\n"};
    nbcolli_dot_graph graph = {schedules, n};
    nbcolli_print(&p, "digraph nbcoll {\n    node [shape=box, fontname=\"monospace\"]\n");
    for (size_t i = 0; i < n; i++)
        nbcolli_dot_rank(&p, schedules[i]);
    for (size_t i = 0; i < n; i++)
        nbcolli_dot_messages(&p, &graph, schedules[i]);
    nbcolli_print(&p, "}\n");
    return nbcolli_print_end(&p);
}
