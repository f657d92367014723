/* SPDX-License-Identifier: BSD-3-Clause
 * Barrier: the algorithms, and the calls. */
#include "forms.h"

#define NBCOLLI_BARRIER_ALGORITHMS(X)                                                                                  \
    X(BARRIER, barrier_dissemination, dissemination, 0, nbcolli_cost_rounds(c, L, 0, 0, 1))                            \
    X(BARRIER, barrier_slots, slots, NBCOLLI_EXPOSES, nbcolli_cost_fetches(c, P - 1, 0, 0, 0))                         \
    X(BARRIER, barrier_binomial, binomial, 0, NBCOLLI_NO_COST)                                                         \
    X(BARRIER, barrier_gather_bcast, gather_bcast, 0, NBCOLLI_NO_COST)                                                 \
    X(BARRIER, barrier_two_roots, two_roots, 0, NBCOLLI_NO_COST)                                                       \
    X(BARRIER, barrier_recursive_doubling, recursive_doubling, 0, NBCOLLI_NO_COST)                                     \
    X(BARRIER, barrier_dissemination_ports, dissemination_ports, NBCOLLI_PORTS, nbcolli_cost_doubling(c, c->ports, 0)) \
    X(BARRIER, barrier_hierarchical, hierarchical, NBCOLLI_BY_NODES, nbcolli_cost_nodes_barrier(c))                    \
    X(BARRIER, barrier_hierarchical_domains, hierarchical_domains, NBCOLLI_BY_DOMAINS | 2 * NBCOLLI_EXPOSES,           \
      nbcolli_cost_domains_barrier(c))
NBCOLLI_TABLE(barrier, BARRIER)
const nbcolli_algorithms nbcolli_algorithms_barrier = NBCOLLI_ALL_OF(barrier);

NBCOLLI_PLAIN_FORMS(barrier, (), NBCOLL_OPERATION_BARRIER, NULL, NULL, 0, 0, NBCOLL_SUM, 0)
