/* SPDX-License-Identifier: BSD-3-Clause
 * All-to-all of short blocks: a block with i ranks to go travels in the rounds k of the bits of i, 2^k ranks up in
 * each; all that travel in a round make one message. ceil(log2 P) messages after each other. Source: Bruck, Ho,
 * Kipnis, Upfal, Weathersby, "Efficient algorithms for all-to-all communications in multiport message-passing systems"
 * (1997).
 *
 * Block i is, at every rank, the one that has i ranks to go from its origin. What was received in a round stays where
 * it came, and is copied from there into the message of the next round in which it travels. */
#include "algorithms.h"

typedef struct nbcolli_bruck_round {
    nbcoll_addr in;
    nbcoll_step took;
} nbcolli_bruck_round;

/* How many of the blocks below i travel in round k. */
static size_t nbcolli_bruck_before(int i, int k)
{
    uint32_t low = (UINT32_C(1) << k) - 1, n = (uint32_t)i;
    return (n >> 1 & ~low) + ((n >> k & 1) ? n & low : 0);
}

/* Copies block i, as it is when the rounds below k are over, and before any of them as this rank's own. */
static nbcoll_step nbcolli_bruck_copy(nbcoll_builder *b, const nbcoll_args *a, const nbcolli_bruck_round rounds[],
                                      nbcoll_addr to, int i, int k)
{
    nbcoll_step step;

    for (int last = k - 1; last >= 0; last--)
        if (i >> last & 1) {
            nbcoll_addr at = nbcoll_at(rounds[last].in, nbcolli_bruck_before(i, last) * a->bytes);
            step = nbcoll_add_copy(b, to, at, a->bytes);
            nbcoll_after(b, step, rounds[last].took);
            return step;
        }
    return nbcoll_add_copy(b, to, nbcoll_send_block(b, a, nbcoll_absolute(i, b->rank, b->ranks)).at, a->bytes);
}

void nbcolli_alltoall_bruck(nbcoll_builder *b, const nbcoll_args *a)
{
    int me = b->rank, ranks = b->ranks, rounds = nbcoll_rounds(ranks);
    nbcolli_bruck_round round[NBCOLL_ROUNDS_MAX];
    nbcoll_step left = a->in_place ? nbcoll_add_join(b) : NBCOLL_START; /* all has been copied into messages */

    for (int k = 0; k < rounds; k++) {
        size_t bytes = nbcolli_bruck_before(ranks, k) * a->bytes;
        nbcoll_addr out = nbcoll_add_scratch(b, bytes);
        nbcoll_step give = nbcoll_add_send(b, nbcoll_dissemination_to(me, k, ranks), out, bytes);
        for (int i = 1; i < ranks; i++)
            if (i >> k & 1) {
                nbcoll_step pack =
                    nbcolli_bruck_copy(b, a, round, nbcoll_at(out, nbcolli_bruck_before(i, k) * a->bytes), i, k);
                nbcoll_after(b, give, pack);
                if (a->in_place)
                    nbcoll_after(b, left, pack);
            }
        round[k].in = nbcoll_add_scratch(b, bytes);
        round[k].took = nbcoll_add_recv(b, nbcoll_dissemination_from(me, k, ranks), round[k].in, bytes);
    }
    for (int i = a->in_place; i < ranks; i++) {
        nbcoll_addr to = nbcoll_recv_block(b, a, nbcoll_relative(me, i, ranks)).at;
        nbcoll_after(b, nbcolli_bruck_copy(b, a, round, to, i, rounds), left);
    }
}
