/* SPDX-License-Identifier: BSD-3-Clause
 * Allgather of long blocks round a ring: what a rank got in one step it passes on in the next, so that every byte is
 * sent P - 1 times and copied at most once. Source: Thakur, Rabenseifner, Gropp, "Optimization of collective
 * communication operations in MPICH" (2005), as in Inozemtsev's thesis (2014), section 4.2.3. */
#include "nbcoll/pattern.h"
#include "nbcoll/schedule.h"

nbcoll_build nbcolli_allgather_ring;

void nbcolli_allgather_ring(nbcoll_builder *b, const nbcoll_args *a)
{
    int ranks = b->ranks, left = nbcoll_relative(b->rank, 1 % ranks, ranks);
    int right = nbcoll_absolute(1 % ranks, b->rank, ranks);
    nbcoll_addr block = a->send;
    nbcoll_step data = NBCOLL_START;

    if (!a->in_place)
        nbcoll_copy(b, nbcoll_at(a->recv, (size_t)b->rank * a->bytes), a->send, a->bytes);
    for (int i = 1; i < ranks; i++) {
        nbcoll_after(b, nbcoll_send(b, right, block, a->bytes), data);
        block = nbcoll_at(a->recv, (size_t)nbcoll_relative(b->rank, i, ranks) * a->bytes);
        data = nbcoll_recv(b, left, block, a->bytes);
    }
}
