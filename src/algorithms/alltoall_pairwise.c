/* SPDX-License-Identifier: BSD-3-Clause
 * All-to-all of long blocks, one partner at a time: in round k, rank r meets the rank (k - r) mod P, who so meets r
 * too, as in a round-robin tournament; at most one block of a rank is on its way. P rounds, in one of which
 * a rank meets itself. Serves bound blocks too. Source: the pairwise exchange of Thakur, Rabenseifner, Gropp,
 * "Optimization of collective communication operations in MPICH" (2005), where ranks meet by exclusive or, which needs
 * a power of two. */
#include "algorithms.h"

/* In place, what leaves goes aside first: room for the longest block. */
static nbcoll_addr nbcolli_pairwise_room(nbcoll_builder *b, const nbcoll_args *a)
{
    size_t longest = 0;

    for (int peer = 0; peer < b->ranks; peer++) {
        size_t bytes = nbcoll_send_block(b, a, peer).bytes;
        longest = longest > bytes ? longest : bytes;
    }
    return nbcoll_add_scratch(b, longest);
}

void nbcolli_alltoall_pairwise(nbcoll_builder *b, const nbcoll_args *a)
{
    int me = b->rank, ranks = b->ranks;
    nbcoll_addr room = a->in_place ? nbcolli_pairwise_room(b, a) : a->send;
    nbcoll_step gave = NBCOLL_START, took = NBCOLL_START; /* in the round before */

    for (int round = 0; round < ranks; round++) {
        int peer = nbcoll_relative(round, me, ranks);
        nbcoll_region from = nbcoll_send_block(b, a, peer), to = nbcoll_recv_block(b, a, peer);
        nbcoll_step aside = NBCOLL_START;
        if (peer == me) {
            if (!a->in_place)
                nbcoll_add_copy(b, to.at, from.at, from.bytes);
            continue;
        }
        if (a->in_place) {
            aside = nbcoll_add_copy(b, room, from.at, from.bytes);
            nbcoll_after(b, aside, gave);
            from.at = room;
        }
        nbcoll_step give = nbcoll_add_send(b, peer, from.at, from.bytes),
                    take = nbcoll_add_recv(b, peer, to.at, to.bytes);
        nbcoll_after(b, give, aside);
        nbcoll_after(b, take, aside);
        nbcoll_after(b, give, gave);
        nbcoll_after(b, give, took);
        gave = give;
        took = take;
    }
}
