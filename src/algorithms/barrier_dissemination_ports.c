/* SPDX-License-Identifier: BSD-3-Clause
 * Barrier by dissemination over k ports: in each of ceil(log_(k+1) P) rounds a rank tells k others at once. Source:
 * Hensgen, Finkel, Manber, "Two algorithms for barrier synchronization" (1988), made k-port as the exchanges of
 * Inozemtsev's thesis (2014), section 4.2. Ports: `ports`, or two. */
#include "algorithms.h"

#define NBCOLLI_DISSEMINATION_PORTS 2

void nbcolli_barrier_dissemination_ports(nbcoll_builder *b, const nbcoll_args *a)
{
    int64_t ranks = b->ranks, ports = a->ports ? (int64_t)a->ports : NBCOLLI_DISSEMINATION_PORTS;
    nbcoll_step heard = NBCOLL_START;

    for (int64_t gap = 1; gap < ranks; gap *= ports + 1) {
        nbcoll_step next = nbcoll_add_join(b);
        nbcoll_after(b, next, heard);
        for (int64_t far = gap; far < ranks && far <= ports * gap; far += gap) {
            nbcoll_after(b, nbcoll_add_send(b, nbcoll_absolute((int)far, b->rank, b->ranks), a->recv, 0), heard);
            nbcoll_after(b, next, nbcoll_add_recv(b, nbcoll_relative(b->rank, (int)far, b->ranks), a->recv, 0));
        }
        heard = next;
    }
}
