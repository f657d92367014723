/* SPDX-License-Identifier: BSD-3-Clause
 * Allgather of blocks of different lengths: the algorithms, and the calls. */
#include "forms.h"

#define NBCOLLI_ALLGATHERV_ALGORITHMS(X)                                                                               \
    X(ALLGATHERV, allgather_bruck, bruck, NBCOLLI_COUNTS)                                                              \
    X(ALLGATHERV, allgather_ring, ring, NBCOLLI_COUNTS | NBCOLLI_TOLERANT)                                             \
    X(ALLGATHERV, allgather_flat, flat, NBCOLLI_COUNTS | NBCOLLI_TOLERANT)                                             \
    X(ALLGATHERV, allgather_recursive_doubling, recursive_doubling, NBCOLLI_COUNTS)                                    \
    X(ALLGATHERV, allgather_ring_sequential, ring_sequential, NBCOLLI_COUNTS)                                          \
    X(ALLGATHERV, allgather_gather_bcast, gather_bcast, NBCOLLI_COUNTS)                                                \
    X(ALLGATHERV, allgather_exchange, exchange, NBCOLLI_COUNTS | NBCOLLI_PORTS)                                        \
    X(ALLGATHERV, allgather_exchange_pipelined, exchange_pipelined, NBCOLLI_COUNTS | NBCOLLI_PORTS | NBCOLLI_TOLERANT) \
    X(ALLGATHERV, allgather_bruck_ports, bruck_ports, NBCOLLI_COUNTS | NBCOLLI_PORTS)                                  \
    X(ALLGATHERV, allgather_bruck_pipelined, bruck_pipelined, NBCOLLI_COUNTS | NBCOLLI_PORTS | NBCOLLI_TOLERANT)       \
    X(ALLGATHERV, allgather_two_roots, two_roots, NBCOLLI_COUNTS)                                                      \
    X(ALLGATHERV, allgather_binomial, binomial, NBCOLLI_COUNTS)                                                        \
    X(ALLGATHERV, allgather_cayley, cayley, NBCOLLI_COUNTS | NBCOLLI_PORTS | NBCOLLI_TOLERANT)                         \
    X(ALLGATHERV, allgather_hierarchical, hierarchical,                                                                \
      NBCOLLI_COUNTS | NBCOLLI_PORTS | NBCOLLI_NODES | NBCOLLI_LEADERS | NBCOLLI_EXPOSES)                              \
    X(ALLGATHERV, allgather_hierarchical_groups, hierarchical_groups,                                                  \
      NBCOLLI_COUNTS | NBCOLLI_PORTS | NBCOLLI_NODES | NBCOLLI_LEADERS | NBCOLLI_EXPOSES)
NBCOLLI_TABLE(allgatherv, ALLGATHERV)
const nbcolli_algorithms nbcolli_algorithms_allgatherv = NBCOLLI_ALL_OF(nbcolli_table_allgatherv);

NBCOLLI_FORMS(allgatherv,
              (const void *send, void *recv, const size_t counts[], const size_t displs[], nbcoll_type type,),
              .args = {.operation = NBCOLL_OPERATION_ALLGATHERV, .reduction = {type, NBCOLL_SUM}},
              .send = send, .recv = recv, .blocks = {[1] = {.counts = counts, .displs = displs}})
