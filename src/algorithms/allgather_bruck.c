/* SPDX-License-Identifier: BSD-3-Clause
 * Allgather of short blocks: in each of ceil(log2 P) rounds a rank sends all it has and doubles it. Source: Bruck, Ho,
 * Kipnis, Upfal, Weathersby, "Efficient algorithms for all-to-all communications in multiport message-passing systems"
 * (1997), as in Inozemtsev's thesis (2014), section 4.2.2. The blocks gather in scratch memory, this rank's own first,
 * and are turned into rank order at the end. */
#include "nbcoll/pattern.h"
#include "nbcoll/schedule.h"

nbcoll_build nbcolli_allgather_bruck;

void nbcolli_allgather_bruck(nbcoll_builder *b, const nbcoll_args *a)
{
    int ranks = b->ranks, rounds = nbcoll_rounds(ranks), rest = ranks - b->rank;
    nbcoll_addr room = nbcoll_scratch(b, (size_t)ranks * a->bytes);
    nbcoll_step got[NBCOLL_ROUNDS_MAX + 1];

    /* got[k] brings the blocks from 2^(k-1) on */
    got[0] = nbcoll_copy(b, room, a->send, a->bytes);
    for (int k = 0; k < rounds; k++) {
        size_t have = (size_t)1 << k, all = (size_t)ranks, more = have < all - have ? have : all - have;
        nbcoll_step give = nbcoll_send(b, nbcoll_dissemination_from(b->rank, k, ranks), room, more * a->bytes);
        for (int j = 0; j <= k; j++)
            nbcoll_after(b, give, got[j]);
        got[k + 1] = nbcoll_recv(b, nbcoll_dissemination_to(b->rank, k, ranks), nbcoll_at(room, have * a->bytes),
                                 more * a->bytes);
    }
    nbcoll_step high = nbcoll_copy(b, nbcoll_at(a->recv, (size_t)b->rank * a->bytes), room, (size_t)rest * a->bytes);
    nbcoll_step low = nbcoll_copy(b, a->recv, nbcoll_at(room, (size_t)rest * a->bytes), (size_t)b->rank * a->bytes);
    for (int k = 0; k <= rounds; k++) {
        nbcoll_after(b, high, got[k]);
        nbcoll_after(b, low, got[k]);
    }
}
