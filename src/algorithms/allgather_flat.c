/* SPDX-License-Identifier: BSD-3-Clause
 * Allgather, also of blocks of different lengths, directly: each rank sends its block to all others, the nearest above
 * first, all of them at once. Source: the flat tree over nonblocking primitives of Ramos et al., Table I. */
#include "algorithms.h"

void nbcolli_allgather_flat(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcoll_region own = nbcoll_send_block(b, a, b->rank);

    if (!a->in_place)
        nbcoll_add_copy(b, nbcoll_recv_block(b, a, b->rank).at, own.at, own.bytes);
    for (int i = 1; i < b->ranks; i++) {
        int below = nbcoll_relative(b->rank, i, b->ranks);
        nbcoll_region block = nbcoll_recv_block(b, a, below);
        nbcoll_add_send(b, nbcoll_absolute(i, b->rank, b->ranks), own.at, own.bytes);
        nbcoll_add_recv(b, below, block.at, block.bytes);
    }
}
