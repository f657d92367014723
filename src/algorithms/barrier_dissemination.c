/* SPDX-License-Identifier: BSD-3-Clause
 * Barrier by dissemination: ceil(log2 P) rounds of empty messages. Source: Hensgen, Finkel, Manber, "Two algorithms for
 * barrier synchronization" (1988). */
#include "algorithms.h"

void nbcolli_barrier_dissemination(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcoll_step heard[NBCOLL_ROUNDS_MAX];

    for (int k = 0; k < nbcoll_rounds(b->ranks); k++) {
        nbcoll_step tell = nbcoll_add_send(b, nbcoll_dissemination_to(b->rank, k, b->ranks), a->recv, 0);
        /* A message speaks for everyone this rank has heard of, and not only for the last. */
        for (int earlier = 0; earlier < k; earlier++)
            nbcoll_after(b, tell, heard[earlier]);
        heard[k] = nbcoll_add_recv(b, nbcoll_dissemination_from(b->rank, k, b->ranks), a->recv, 0);
    }
}
