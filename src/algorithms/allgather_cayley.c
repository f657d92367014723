/* SPDX-License-Identifier: BSD-3-Clause
 * Allgather over a Cayley tree, also of blocks of different known lengths: every rank sends its block to all its
 * neighbours, and each block that comes to all but the one it came from. No rank has more than k + 1 neighbours, k
 * being `ports` (two), however many ranks there are: rank 0 has the ranks 1 .. k + 1, every other one k more, level by
 * level. As many messages follow each other as the tree's diameter is long: of n ranks, where level h, the last one,
 * has m, and 1 + (k + 1)(1 + k + ... + k^(h-2)) are above it, that is 2h, or 2h - 1 if m <= k^(h-1). Source:
 * Inozemtsev's thesis (2014), section 5.3.3, where it is said to be at most 2 ceil(log_(k+1) n), which it is not, of
 * 128 ranks for one and two ports: the levels of such a tree grow by k. */
#include "algorithms.h"

#define NBCOLLI_CAYLEY_PORTS 2

/* The neighbour of `rank` > 0 that is nearer to rank 0. */
static int nbcolli_cayley_parent(int rank, int64_t ports)
{
    return rank < 2 ? 0 : (int)((rank - 2) / ports);
}

/* The neighbour of `me` through which a block of `owner` comes: the one below if the owner is below it. */
static int nbcolli_cayley_towards(int me, int owner, int64_t ports)
{
    for (int below = owner; below > me; owner = below)
        if ((below = nbcolli_cayley_parent(below, ports)) == me)
            return owner;
    return nbcolli_cayley_parent(me, ports);
}

void nbcolli_allgather_cayley(nbcoll_builder *b, const nbcoll_args *a)
{
    int64_t me = b->rank, ports = a->ports ? a->ports : NBCOLLI_CAYLEY_PORTS;
    int64_t first = me ? ports * me + 2 : 1, end = me ? first + ports : ports + 2; /* neighbours that are farther */

    for (int owner = 0; owner < b->ranks; owner++) {
        nbcoll_region block = nbcoll_recv_block(b, a, owner);
        int64_t from = owner == me ? -1 : nbcolli_cayley_towards((int)me, owner, ports);
        nbcoll_step have = NBCOLL_START;
        if (owner == me && !a->in_place)
            nbcoll_add_copy(b, block.at, a->send, block.bytes);
        else if (owner != me)
            nbcoll_set_number(b, have = nbcoll_add_recv(b, (int)from, block.at, block.bytes), (uint32_t)owner);
        for (int64_t peer = me ? first - 1 : first; peer < end && (peer < b->ranks || peer < first); peer++) {
            int to = peer < first ? nbcolli_cayley_parent((int)me, ports) : (int)peer;
            if (to == from)
                continue;
            nbcoll_step give = nbcoll_add_send(b, to, owner == me ? a->send : block.at, block.bytes);
            nbcoll_set_number(b, give, (uint32_t)owner);
            nbcoll_after(b, give, have);
        }
    }
}
