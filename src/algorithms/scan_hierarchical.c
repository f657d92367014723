/* SPDX-License-Identifier: BSD-3-Clause
 * Scan and exclusive scan by nodes: each rank combines the operands of the ranks below it on its node where they lie;
 * the last rank of each node leads it: by recursive doubling the leaders find what all nodes below have, and show it to
 * their nodes, where each rank puts it in front. Rank order is kept, whatever the numbering: where ranks of other nodes
 * lie between those of one, each run of neighbours has a leader of its own. Leaders of a node: `leaders`, or one. The
 * phases are those of Inozemtsev's thesis (2014), section 4.4, which has no scan. */
#include "nbcoll/schedule.h"

nbcoll_build nbcolli_scan_hierarchical, nbcolli_scan_recursive_doubling;

typedef struct nbcolli_scan_nodes {
    nbcoll_builder *b;
    const nbcoll_args *a;
    const nbcoll_nodes *t; /* runs of neighbours */
    int node, place, size, last;
    nbcoll_addr to;   /* where the result is put together */
    nbcoll_step have; /* what is there, if anything is: */
    int is_filled;
} nbcolli_scan_nodes;

/* To those ranks of the run. */
static nbcoll_step nbcolli_scan_nodes_show(const nbcolli_scan_nodes *s, int from, int below, nbcoll_addr at)
{
    nbcoll_part *part = nbcoll_builder_parts(s->b, (size_t)s->size);
    size_t n = 0;

    for (int place = from; part && place < below; place++)
        part[n++] = (nbcoll_part){nbcoll_node_rank(s->t, s->node, place), 0, nbcoll_span(at, s->a->bytes)};
    return n ? nbcoll_add_expose(s->b, n, part) : NBCOLL_START;
}

/* Puts what a rank shows in front, or behind. */
static void nbcolli_scan_nodes_take(nbcolli_scan_nodes *s, int peer, nbcoll_side side)
{
    nbcoll_step step =
        s->is_filled ? nbcoll_add_fetch_reduce(s->b, peer, s->to, side, s->a->count, s->a->reduction)
                     : nbcoll_add_fetch(s->b, peer, s->to, s->a->bytes);
    nbcoll_after(s->b, step, s->have);
    s->have = step;
    s->is_filled = 1;
}

/* Adds this rank's own operand behind what is there, to `to`: the step that ends it. */
static nbcoll_step nbcolli_scan_nodes_own(const nbcolli_scan_nodes *s, nbcoll_addr to)
{
    nbcoll_step step = s->is_filled ? nbcoll_add_combine(s->b, to, s->to, s->a->send, s->a->count, s->a->reduction)
                                    : nbcoll_add_copy(s->b, to, s->a->send, s->a->bytes);
    nbcoll_after(s->b, step, s->have);
    return step;
}

/* The last rank of a run: what those below it have, in front of its own result, and shown to the others. */
static void nbcolli_scan_nodes_lead(nbcolli_scan_nodes *s, nbcoll_addr total, nbcoll_step summed)
{
    nbcoll_args between = nbcoll_args_part(s->a, NBCOLL_OPERATION_EXSCAN, 0, s->a->count);
    int *group = nbcoll_builder_memory(s->b, (size_t)s->t->count, sizeof *group);

    for (int node = 0; group && node < s->t->count; node++)
        group[node] = nbcoll_node_rank(s->t, node, nbcoll_node_size(s->t, node) - 1);
    between.send = total;
    between.recv = s->node && s->is_filled ? nbcoll_add_scratch(s->b, s->a->bytes) : s->to;
    nbcoll_step all = nbcoll_within(s->b, group, s->t->count, &between, nbcolli_scan_recursive_doubling, summed);
    if (!s->node)
        return;
    if (s->size > 1)
        nbcoll_after(s->b, nbcolli_scan_nodes_show(s, 0, s->size - 1, between.recv), all);
    if (s->is_filled) {
        nbcoll_step step = nbcoll_add_combine(s->b, s->to, between.recv, s->to, s->a->count, s->a->reduction);
        nbcoll_after(s->b, step, s->have);
        nbcoll_after(s->b, step, all);
        all = step;
    }
    s->have = all;
    s->is_filled = 1;
}

void nbcolli_scan_hierarchical(nbcoll_builder *b, const nbcoll_args *a)
{
    int is_scan = a->operation == NBCOLL_OPERATION_SCAN;
    nbcolli_scan_nodes s = {.b = b, .a = a, .t = nbcoll_nodes_parts(b, a->leaders, 1), .have = NBCOLL_START};
    nbcoll_step summed = NBCOLL_START;

    s.node = nbcoll_node_of(s.t, b->rank);
    s.place = nbcoll_node_place(s.t, b->rank);
    s.size = nbcoll_node_size(s.t, s.node);
    s.last = nbcoll_node_rank(s.t, s.node, s.size - 1);
    s.to = a->in_place ? nbcoll_add_scratch(b, a->bytes) : a->recv;
    nbcoll_step given = nbcolli_scan_nodes_show(&s, s.place + 1, s.size, a->send);
    for (int place = 0; place < s.place; place++)
        nbcolli_scan_nodes_take(&s, nbcoll_node_rank(s.t, s.node, place), NBCOLL_RIGHT);
    if (is_scan) {
        summed = s.have = nbcolli_scan_nodes_own(&s, s.to);
        s.is_filled = 1;
    }
    if (b->rank == s.last && s.t->count > 1) {
        nbcoll_addr total = is_scan ? s.to : s.is_filled ? nbcoll_add_scratch(b, a->bytes) : a->send;
        if (!is_scan && s.is_filled)
            summed = nbcolli_scan_nodes_own(&s, total);
        nbcolli_scan_nodes_lead(&s, total, summed);
    } else if (s.node)
        nbcolli_scan_nodes_take(&s, s.last, NBCOLL_LEFT);
    if (a->in_place && s.is_filled) {
        nbcoll_step result = nbcoll_add_copy(b, a->recv, s.to, a->bytes);
        nbcoll_after(b, result, s.have);
        nbcoll_after(b, result, given); /* the others read the operand there, */
        nbcoll_after(b, result, summed); /* and so does this rank */
    }
}
