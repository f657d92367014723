/* SPDX-License-Identifier: BSD-3-Clause
 * Barrier through shared memory: each rank says to all by one empty exposure that it has come, and looks at those of
 * all others, the next rank's first. Source: the slots of Ramos et al., section 3.4. */
#include "algorithms.h"

void nbcolli_barrier_slots(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcoll_add_expose_to_all(b, a->recv, 0);
    for (int i = 1; i < b->ranks; i++)
        nbcoll_add_fetch(b, nbcoll_absolute(i, b->rank, b->ranks), a->recv, 0);
}
