/* SPDX-License-Identifier: BSD-3-Clause
 * Barrier: the algorithms, and the calls. */
#include "forms.h"

#define NBCOLLI_BARRIER_ALGORITHMS(X)                                                                                  \
    X(BARRIER, barrier_dissemination, dissemination, 0)                                                                \
    X(BARRIER, barrier_slots, slots, NBCOLLI_EXPOSES)                                                                  \
    X(BARRIER, barrier_binomial, binomial, 0)                                                                          \
    X(BARRIER, barrier_gather_bcast, gather_bcast, 0)                                                                  \
    X(BARRIER, barrier_two_roots, two_roots, 0)                                                                        \
    X(BARRIER, barrier_recursive_doubling, recursive_doubling, 0)                                                      \
    X(BARRIER, barrier_dissemination_ports, dissemination_ports, NBCOLLI_PORTS)                                        \
    X(BARRIER, barrier_hierarchical, hierarchical, NBCOLLI_NODES | NBCOLLI_LEADERS | NBCOLLI_EXPOSES)                  \
    X(BARRIER, barrier_hierarchical_domains, hierarchical_domains,                                                     \
      NBCOLLI_DOMAINS | NBCOLLI_LEADERS | 2 * NBCOLLI_EXPOSES)
NBCOLLI_TABLE(barrier, BARRIER)
const nbcolli_algorithms nbcolli_algorithms_barrier = NBCOLLI_ALL_OF(nbcolli_table_barrier);

NBCOLLI_PLAIN_FORMS(barrier, (), NBCOLL_OPERATION_BARRIER, NULL, NULL, 0, 0, NBCOLL_SUM, 0)
