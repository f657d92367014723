/* SPDX-License-Identifier: BSD-3-Clause
 * Barrier by recursive doubling: ranks exchange empty messages in pairs, at doubling distances; ranks in excess of a
 * power of two are folded into a neighbour. At most floor(log2 P) + 2 messages after each other. Source: Inozemtsev's
 * thesis (2014), chapter 2, which takes it for its example of a barrier. */
#include "algorithms.h"

void nbcolli_barrier_recursive_doubling(nbcoll_builder *b, const nbcoll_args *a)
{
    int ranks = b->ranks, pair = nbcoll_fold_peer(b->rank, ranks), me = nbcoll_fold(b->rank, ranks);
    int power = nbcoll_power(ranks), rounds = 0;
    nbcoll_step heard[NBCOLL_ROUNDS_MAX + 1];

    if (me < 0) {
        nbcoll_add_send(b, pair, a->recv, 0);
        nbcoll_add_recv(b, pair, a->recv, 0);
        return;
    }
    if (pair >= 0)
        heard[rounds++] = nbcoll_add_recv(b, pair, a->recv, 0);
    for (int mask = 1; mask < power; mask = mask < power - mask ? 2 * mask : power) {
        int peer = nbcoll_unfold(me ^ mask, ranks);
        nbcoll_step tell = nbcoll_add_send(b, peer, a->recv, 0);
        for (int i = 0; i < rounds; i++)
            nbcoll_after(b, tell, heard[i]);
        heard[rounds++] = nbcoll_add_recv(b, peer, a->recv, 0);
    }
    if (pair >= 0) {
        nbcoll_step tell = nbcoll_add_send(b, pair, a->recv, 0);
        for (int i = 1; i < rounds; i++)
            nbcoll_after(b, tell, heard[i]);
    }
}
