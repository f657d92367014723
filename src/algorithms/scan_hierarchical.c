/* SPDX-License-Identifier: BSD-3-Clause
 * Hierarchical scan and exclusive scan: each rank combines the operands of the ranks below it on its node where they
 * lie; the last rank of each node leads it: by recursive doubling the leaders find what all nodes below have, and show
 * it to their nodes, where each rank puts it in front. Rank order is kept, whatever the numbering: where ranks of other
 * nodes lie between those of one, each run of neighbours has a leader of its own. Leaders of a node: `leaders`, or one.
 * Vectors of more than `segment` bytes, if it is given, go in pieces: the leaders scan one while the nodes combine the
 * next one. The phases are those of Inozemtsev's thesis (2014), section 4.4, which has no scan. */
#include "algorithms.h"

typedef struct nbcolli_scan_nodes {
    nbcoll_builder *b;
    const nbcoll_args *a;
    const nbcoll_nodes *t; /* runs of neighbours */
    int node, place, size, is_scan;
    nbcoll_addr to, total, below;     /* where the result is put together; the run's; that of the runs below */
    nbcoll_step given, shown, before; /* this rank shows its operand; the last rank `below`; it took operands before */
    size_t at, piece; /* of those behind `at`, this piece: */
    nbcoll_args now;
    nbcoll_step have; /* what is there, if anything is: */
    int is_filled;
} nbcolli_scan_nodes;

static nbcoll_addr nbcolli_scan_nodes_at(const nbcolli_scan_nodes *s, nbcoll_addr vector)
{
    return nbcoll_at(vector, s->at * s->a->element);
}

/* To those ranks of the run, piece after piece. */
static nbcoll_step nbcolli_scan_nodes_show(const nbcolli_scan_nodes *s, int from, int below, nbcoll_addr at)
{
    nbcoll_part *part = nbcoll_builder_parts(s->b, (size_t)s->size);
    size_t n = 0;

    for (int place = from; part && place < below; place++)
        part[n++] = (nbcoll_part){nbcoll_node_rank(s->t, s->node, place), 0, nbcoll_span(at, s->a->bytes)};
    if (!n)
        return NBCOLL_START;
    return s->piece < s->a->count ? nbcoll_add_expose_growing(s->b, n, part, s->piece * s->a->element)
                                  : nbcoll_add_expose(s->b, n, part);
}

/* Puts what a rank shows in front, or behind. */
static void nbcolli_scan_nodes_take(nbcolli_scan_nodes *s, int peer, nbcoll_side side)
{
    nbcoll_addr to = nbcolli_scan_nodes_at(s, s->to);
    nbcoll_step step = s->is_filled
                           ? nbcoll_add_fetch_reduce(s->b, peer, to, side, s->now.count, s->now.reduction)
                           : nbcoll_add_fetch(s->b, peer, to, s->now.bytes);
    nbcoll_after(s->b, step, s->have);
    s->have = step;
    s->is_filled = 1;
}

/* Adds this rank's own operand behind what is there, to `to`: the step that ends it. */
static nbcoll_step nbcolli_scan_nodes_own(const nbcolli_scan_nodes *s, nbcoll_addr to)
{
    nbcoll_step step = s->is_filled ? nbcoll_add_combine(s->b, nbcolli_scan_nodes_at(s, to),
                                                         nbcolli_scan_nodes_at(s, s->to), s->now.send, s->now.count,
                                                         s->now.reduction)
                                    : nbcoll_add_copy(s->b, nbcolli_scan_nodes_at(s, to), s->now.send, s->now.bytes);
    nbcoll_after(s->b, step, s->have);
    return step;
}

/* The last rank of a run: what those below it have, in front of its own result, and shown to the others. */
static void nbcolli_scan_nodes_lead(nbcolli_scan_nodes *s, nbcoll_step summed)
{
    nbcoll_args between = nbcoll_args_part(&s->now, NBCOLL_OPERATION_EXSCAN, 0, s->now.count);
    int *group = nbcoll_builder_memory(s->b, (size_t)s->t->count, sizeof *group);
    nbcoll_addr to = nbcolli_scan_nodes_at(s, s->to);

    for (int node = 0; group && node < s->t->count; node++)
        group[node] = nbcoll_node_rank(s->t, node, nbcoll_node_size(s->t, node) - 1);
    between.send = s->is_scan || s->is_filled ? nbcolli_scan_nodes_at(s, s->total) : s->now.send;
    between.recv = nbcolli_scan_nodes_at(s, s->below);
    nbcoll_step all = nbcoll_within(s->b, group, s->t->count, &between, nbcolli_scan_recursive_doubling, summed);
    if (!s->node)
        return;
    if (s->shown != NBCOLL_START)
        nbcoll_after(s->b, s->piece < s->a->count ? nbcoll_add_grow(s->b, s->shown, s->at / s->piece) : s->shown, all);
    if (s->is_filled) {
        nbcoll_step step = nbcoll_add_combine(s->b, to, between.recv, to, s->now.count, s->now.reduction);
        nbcoll_after(s->b, step, s->have);
        nbcoll_after(s->b, step, all);
        all = step;
    }
    s->have = all;
    s->is_filled = 1;
}

static void nbcolli_scan_nodes_piece(nbcolli_scan_nodes *s)
{
    int last = nbcoll_node_rank(s->t, s->node, s->size - 1);
    nbcoll_step summed = NBCOLL_START;

    s->have = s->before;
    s->is_filled = 0;
    for (int place = 0; place < s->place; place++)
        nbcolli_scan_nodes_take(s, nbcoll_node_rank(s->t, s->node, place), NBCOLL_RIGHT);
    s->before = s->have;
    if (s->is_scan) {
        summed = s->have = nbcolli_scan_nodes_own(s, s->to);
        s->is_filled = 1;
    }
    if (s->b->rank == last && s->t->count > 1) {
        if (!s->is_scan && s->is_filled)
            summed = nbcolli_scan_nodes_own(s, s->total);
        nbcolli_scan_nodes_lead(s, summed);
    } else if (s->node)
        nbcolli_scan_nodes_take(s, last, NBCOLL_LEFT);
    if (s->a->in_place && s->is_filled) {
        nbcoll_step result = nbcoll_add_copy(s->b, s->now.recv, nbcolli_scan_nodes_at(s, s->to), s->now.bytes);
        nbcoll_after(s->b, result, s->have);
        nbcoll_after(s->b, result, s->given); /* the others read the operand there, */
        nbcoll_after(s->b, result, summed); /* and so does this rank */
    }
}

void nbcolli_scan_hierarchical(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_scan_nodes s = {.b = b, .a = a, .t = nbcoll_nodes_parts(b, a->leaders, 1), .now = *a,
                            .is_scan = a->operation == NBCOLL_OPERATION_SCAN,
                            .piece = nbcoll_piece(a->count, a->element, a->segment),
                            .shown = NBCOLL_START, .before = NBCOLL_START};

    s.node = nbcoll_node_of(s.t, b->rank);
    s.place = nbcoll_node_place(s.t, b->rank);
    s.size = nbcoll_node_size(s.t, s.node);
    int leads = s.place == s.size - 1 && s.t->count > 1, is_filled = s.is_scan || s.place;
    s.to = a->in_place ? nbcoll_add_scratch(b, a->bytes) : a->recv;
    s.total = leads && !s.is_scan && s.place ? nbcoll_add_scratch(b, a->bytes) : s.to;
    s.below = leads && s.node && is_filled ? nbcoll_add_scratch(b, a->bytes) : s.to;
    s.given = nbcolli_scan_nodes_show(&s, s.place + 1, s.size, a->send);
    if (leads && s.node)
        s.shown = nbcolli_scan_nodes_show(&s, 0, s.size - 1, s.below);
    do {
        s.now.count = a->count - s.at < s.piece ? a->count - s.at : s.piece;
        s.now.bytes = s.now.count * a->element;
        s.now.send = nbcolli_scan_nodes_at(&s, a->send);
        s.now.recv = nbcolli_scan_nodes_at(&s, a->recv);
        nbcolli_scan_nodes_piece(&s);
        s.at += s.now.count;
    } while (s.at < a->count);
}
