/* SPDX-License-Identifier: BSD-3-Clause
 * Allgather of long blocks, also of different lengths, round a ring: what a rank got in one step it passes on in the
 * next, so that every byte is sent P - 1 times and copied at most once. Source: Thakur, Rabenseifner, Gropp,
 * "Optimization of collective communication operations in MPICH" (2005), as in Inozemtsev's thesis (2014), section
 * 4.2.3; BKT in Ramos et al., Table I, in whose sequential form a rank posts one transfer each way at a time. */
#include "algorithms.h"

static void nbcolli_ring_allgather(nbcoll_builder *b, const nbcoll_args *a, int is_sequential)
{
    int ranks = b->ranks, left = nbcoll_relative(b->rank, 1 % ranks, ranks);
    int right = nbcoll_absolute(1 % ranks, b->rank, ranks);
    nbcoll_region block = nbcoll_send_block(b, a, right);
    nbcoll_step data = NBCOLL_START, before = NBCOLL_START; /* of the step before */

    if (!a->in_place)
        nbcoll_add_copy(b, nbcoll_recv_block(b, a, b->rank).at, block.at, block.bytes);
    for (int i = 1; i < ranks; i++) {
        nbcoll_step give = nbcoll_add_send(b, right, block.at, block.bytes), last = data;
        nbcoll_after(b, give, data);
        block = nbcoll_recv_block(b, a, nbcoll_relative(b->rank, i, ranks));
        data = nbcoll_add_recv(b, left, block.at, block.bytes);
        if (!is_sequential)
            continue;
        nbcoll_after(b, give, before);
        nbcoll_after(b, data, before);
        nbcoll_after(b, data, last);
        before = give;
    }
}

void nbcolli_allgather_ring(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_ring_allgather(b, a, 0);
}

void nbcolli_allgather_ring_sequential(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_ring_allgather(b, a, 1);
}
