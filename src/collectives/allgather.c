/* SPDX-License-Identifier: BSD-3-Clause
 * Allgather: the algorithms, and the calls. */
#include "forms.h"

#define NBCOLLI_ALLGATHER_ALGORITHMS(X)                                                                                \
    X(ALLGATHER, allgather_bruck, bruck, 0)                                                                            \
    X(ALLGATHER, allgather_ring, ring, NBCOLLI_TOLERANT)                                                               \
    X(ALLGATHER, allgather_slots, slots, NBCOLLI_EXPOSES | NBCOLLI_TOGETHER)                                           \
    X(ALLGATHER, allgather_flat, flat, NBCOLLI_TOLERANT)                                                               \
    X(ALLGATHER, allgather_recursive_doubling, recursive_doubling, 0)                                                  \
    X(ALLGATHER, allgather_ring_sequential, ring_sequential, 0)                                                        \
    X(ALLGATHER, allgather_gather_bcast, gather_bcast, 0)                                                              \
    X(ALLGATHER, allgather_exchange, exchange, NBCOLLI_PORTS)                                                          \
    X(ALLGATHER, allgather_exchange_pipelined, exchange_pipelined, NBCOLLI_PORTS | NBCOLLI_TOLERANT)                   \
    X(ALLGATHER, allgather_bruck_ports, bruck_ports, NBCOLLI_PORTS)                                                    \
    X(ALLGATHER, allgather_bruck_pipelined, bruck_pipelined, NBCOLLI_PORTS | NBCOLLI_TOLERANT)                         \
    X(ALLGATHER, allgather_two_roots, two_roots, 0)                                                                    \
    X(ALLGATHER, allgather_binomial, binomial, 0)                                                                      \
    X(ALLGATHER, allgather_cayley, cayley, NBCOLLI_PORTS | NBCOLLI_TOLERANT)                                           \
    X(ALLGATHER, allgather_hierarchical, hierarchical,                                                                 \
      NBCOLLI_PORTS | NBCOLLI_NODES | NBCOLLI_LEADERS | NBCOLLI_EXPOSES)                                               \
    X(ALLGATHER, allgather_hierarchical_groups, hierarchical_groups,                                                   \
      NBCOLLI_PORTS | NBCOLLI_NODES | NBCOLLI_LEADERS | NBCOLLI_EXPOSES)
NBCOLLI_TABLE(allgather, ALLGATHER)
const nbcolli_algorithms nbcolli_algorithms_allgather = NBCOLLI_ALL_OF(nbcolli_table_allgather);

NBCOLLI_PLAIN_FORMS(allgather, (NBCOLLI_MOVED), NBCOLLI_MOVED_SAID(ALLGATHER, 0))
