/* SPDX-License-Identifier: BSD-3-Clause
 * All-to-all, every block straight to its place: P - 1 messages a rank, the nearest above first, so that not all go to
 * one rank at a time. Sends are all posted at once, or each when the one before has ended; so are receives. Serves
 * bound blocks too. Source: Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations in MPICH"
 * (2005), which uses it for blocks of middle length; the flat trees over nonblocking and over blocking primitives of
 * Ramos et al., Table I, as four variants. */
#include "algorithms.h"

/* One after the other. */
enum { NBCOLLI_FLAT_SENDS = 1, NBCOLLI_FLAT_RECEIVES = 2 };

static void nbcolli_alltoall_directly(nbcoll_builder *b, const nbcoll_args *a, unsigned sequential)
{
    int me = b->rank, ranks = b->ranks;
    nbcoll_region from = nbcoll_send_block(b, a, me), to = nbcoll_recv_block(b, a, me);
    nbcoll_step gave = NBCOLL_START, took = NBCOLL_START; /* before */
    /* One by one, receives keep their order also in place, or ranks would wait for each other in a circle. */
    nbcoll_step all = a->in_place && sequential ? nbcoll_add_join(b) : NBCOLL_START; /* aside */

    if (!a->in_place)
        nbcoll_add_copy(b, to.at, from.at, from.bytes);
    for (int i = 1; i < ranks; i++) {
        int above = nbcoll_absolute(i, me, ranks), below = nbcoll_relative(me, i, ranks);
        nbcoll_step left = NBCOLL_START;
        if (a->in_place && !sequential)
            below = above;
        from = nbcoll_send_block(b, a, above);
        to = nbcoll_recv_block(b, a, below);
        if (a->in_place) { /* what leaves goes aside, so that its place is free for what comes */
            nbcoll_addr aside = nbcoll_add_scratch(b, from.bytes);
            left = nbcoll_add_copy(b, aside, from.at, from.bytes);
            from.at = aside;
        }
        nbcoll_step give = nbcoll_add_send(b, above, from.at, from.bytes);
        nbcoll_step take = nbcoll_add_recv(b, below, to.at, to.bytes);
        nbcoll_after(b, give, left);
        nbcoll_after(b, take, sequential ? all : left);
        if (all != NBCOLL_START)
            nbcoll_after(b, all, left);
        nbcoll_after(b, give, gave);
        nbcoll_after(b, take, took);
        gave = sequential & NBCOLLI_FLAT_SENDS ? give : NBCOLL_START;
        took = sequential & NBCOLLI_FLAT_RECEIVES ? take : NBCOLL_START;
    }
}

void nbcolli_alltoall_flat(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_alltoall_directly(b, a, 0);
}

void nbcolli_alltoall_flat_sequential(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_alltoall_directly(b, a, NBCOLLI_FLAT_SENDS | NBCOLLI_FLAT_RECEIVES);
}

void nbcolli_alltoall_flat_sequential_sends(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_alltoall_directly(b, a, NBCOLLI_FLAT_SENDS);
}

void nbcolli_alltoall_flat_sequential_receives(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_alltoall_directly(b, a, NBCOLLI_FLAT_RECEIVES);
}
