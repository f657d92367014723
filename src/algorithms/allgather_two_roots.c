/* SPDX-License-Identifier: BSD-3-Clause
 * Allgather of short blocks, also of different known lengths, along the binomial tree with two roots
 * that barrier_binomial describes. Each half is gathered at its root, the two exchange what they have, and both hand
 * down to each subtree what it has not. At most 2 ceil(log2 P) - 1 steps of messages after each other, those that go
 * down in two pieces. Source: Ramos et al., Table I, names BTe for allgather; what was built here is this library's. */
#include "algorithms.h"

typedef struct nbcolli_two_roots_plan {
    nbcoll_builder *b;
    const nbcoll_args *a;
    nbcoll_addr room; /* for all blocks in rank order */
    int second;       /* the other root; 0 when there is none */
} nbcolli_two_roots_plan;

/* The blocks of the ranks first .. end - 1. */
static nbcoll_region nbcolli_two_roots_run(const nbcolli_two_roots_plan *p, int first, int end)
{
    return nbcoll_span(nbcoll_at(p->room, nbcolli_blocks_bytes(p->b, p->a, 0, first)),
                       nbcolli_blocks_bytes(p->b, p->a, first, end - first));
}

/* `all` waits for it; or nobody does: START. */
static void nbcolli_two_roots_take(const nbcolli_two_roots_plan *p, int peer, int first, int end, nbcoll_step all)
{
    nbcoll_region run = nbcolli_two_roots_run(p, first, end);
    if (first == end)
        return;
    nbcoll_step take = nbcoll_add_recv(p->b, peer, run.at, run.bytes);
    if (all != NBCOLL_START)
        nbcoll_after(p->b, all, take);
}

static void nbcolli_two_roots_give(const nbcolli_two_roots_plan *p, int peer, int first, int end, nbcoll_step since)
{
    nbcoll_region run = nbcolli_two_roots_run(p, first, end);
    if (first < end)
        nbcoll_after(p->b, nbcoll_add_send(p->b, peer, run.at, run.bytes), since);
}

/* A subtree has consecutive ranks: where that of `rank` ends. The second root's is not below the first one. */
static int nbcolli_two_roots_end(const nbcolli_two_roots_plan *p, int rank)
{
    return rank || !p->second ? rank + nbcoll_binomial_size(rank, p->b->ranks) : p->second;
}

/* Gathers and hands down. The step since which this rank has all blocks, if one waits for that. */
static nbcoll_step nbcolli_two_roots_pass(const nbcolli_two_roots_plan *p, nbcoll_step own)
{
    nbcoll_builder *b = p->b;
    int me = b->rank, ranks = b->ranks, end = nbcolli_two_roots_end(p, me), is_inner = end - me > 1;
    int is_root = !me || me == p->second, above = is_root ? p->second - me : nbcoll_binomial_parent(me);
    nbcoll_step have = is_inner ? nbcoll_add_join(b) : own;
    nbcoll_step all = is_inner || p->a->counts ? nbcoll_add_join(b) : NBCOLL_START;

    if (is_inner)
        nbcoll_after(b, have, own);
    if (all != NBCOLL_START)
        nbcoll_after(b, all, have);
    if (above != me) {
        nbcolli_two_roots_give(p, above, me, end, have);
        nbcolli_two_roots_take(p, above, 0, me, all);
        nbcolli_two_roots_take(p, above, end, ranks, all);
    }
    for (int child = nbcoll_binomial_first(me, ranks); child > me; child = nbcoll_binomial_next(me, child)) {
        if (child == p->second)
            continue;
        nbcolli_two_roots_take(p, child, child, nbcolli_two_roots_end(p, child), have);
        nbcolli_two_roots_give(p, child, 0, child, all);
        nbcolli_two_roots_give(p, child, nbcolli_two_roots_end(p, child), ranks, all);
    }
    return all;
}

void nbcolli_allgather_two_roots(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_two_roots_plan p = {b, a, a->recv, nbcoll_binomial_first(0, b->ranks)};
    nbcoll_step own = NBCOLL_START;

    if (a->counts) /* they may lie anywhere */
        p.room = nbcoll_add_scratch(b, nbcolli_two_roots_run(&p, 0, b->ranks).bytes);
    nbcoll_region mine = nbcolli_two_roots_run(&p, b->rank, b->rank + 1);
    if (a->counts || !a->in_place)
        own = nbcoll_add_copy(b, mine.at, a->send, mine.bytes);
    nbcoll_step all = nbcolli_two_roots_pass(&p, own);
    for (int i = 0; a->counts && i < b->ranks; i++) {
        nbcoll_region to = nbcoll_recv_block(b, a, i), from = nbcolli_two_roots_run(&p, i, i + 1);
        if (i != b->rank || !a->in_place)
            nbcoll_after(b, nbcoll_add_copy(b, to.at, from.at, to.bytes), all);
    }
}
