/* SPDX-License-Identifier: BSD-3-Clause
 * Allgather of short blocks, also of different known lengths: in each of ceil(log2 P) rounds a rank sends all it has
 * and doubles it. Source: Bruck, Ho, Kipnis, Upfal, Weathersby, "Efficient algorithms for all-to-all communications in
 * multiport message-passing systems" (1997), as in Inozemtsev's thesis (2014), section 4.2.2. The blocks gather in
 * scratch memory, this rank's own first, and are turned into rank order at the end. */
#include "nbcoll/pattern.h"
#include "nbcoll/schedule.h"

nbcoll_build nbcolli_allgather_bruck;

/* The bytes of `blocks` blocks, from that of rank `first` on. */
static size_t bruck_bytes(const nbcoll_builder *b, const nbcoll_args *a, int first, int blocks)
{
    return a->counts ? nbcoll_block_sum(a->counts, first, blocks, b->ranks) * a->element : (size_t)blocks * a->bytes;
}

/* Copies the blocks to their places: equal ones in two runs. */
static void bruck_place(nbcoll_builder *b, const nbcoll_args *a, nbcoll_addr room, nbcoll_step all)
{
    for (int i = 0, run; i < b->ranks; i += run) {
        int first = nbcoll_absolute(i, b->rank, b->ranks);
        run = a->counts ? 1 : b->ranks - (i ? i : b->rank);
        size_t bytes = bruck_bytes(b, a, first, run);
        nbcoll_after(b, nbcoll_copy(b, nbcoll_recv_block(b, a, first).at, room, bytes), all);
        room = nbcoll_at(room, bytes);
    }
}

void nbcolli_allgather_bruck(nbcoll_builder *b, const nbcoll_args *a)
{
    int me = b->rank, ranks = b->ranks, rounds = nbcoll_rounds(ranks);
    nbcoll_addr room = nbcoll_scratch(b, bruck_bytes(b, a, me, ranks));
    nbcoll_step got[NBCOLL_ROUNDS_MAX + 1], all = nbcoll_join(b);

    /* got[k] brings the blocks from 2^(k-1) on */
    got[0] = nbcoll_copy(b, room, a->send, bruck_bytes(b, a, me, 1));
    for (int k = 0; k < rounds; k++) {
        int have = (int)(UINT32_C(1) << k), more = have < ranks - have ? have : ranks - have;
        int above = nbcoll_dissemination_to(me, k, ranks), below = nbcoll_dissemination_from(me, k, ranks);
        nbcoll_step give = nbcoll_send(b, below, room, bruck_bytes(b, a, me, more));
        for (int j = 0; j <= k; j++)
            nbcoll_after(b, give, got[j]);
        got[k + 1] =
            nbcoll_recv(b, above, nbcoll_at(room, bruck_bytes(b, a, me, have)), bruck_bytes(b, a, above, more));
    }
    for (int k = 0; k <= rounds; k++)
        nbcoll_after(b, all, got[k]);
    bruck_place(b, a, room, all);
}
