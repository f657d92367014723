/* SPDX-License-Identifier: BSD-3-Clause
 * Allgather of blocks of different lengths: the algorithms, and the calls. */
#include "forms.h"

#define NBCOLLI_ALLGATHERV_ALGORITHMS(X)                                                                               \
    X(ALLGATHERV, allgather_bruck, bruck, NBCOLLI_COUNTS, m * c->copy + nbcolli_cost_doubling(c, 1, m) + n * c->copy)  \
    X(ALLGATHERV, allgather_ring, ring, NBCOLLI_COUNTS | NBCOLLI_TOLERANT,                                             \
      nbcolli_cost_own_block(c, m) + nbcolli_cost_ring(c, m, 0))                                                       \
    X(ALLGATHERV, allgather_flat, flat, NBCOLLI_COUNTS | NBCOLLI_TOLERANT,                                             \
      nbcolli_cost_flat(c, m, NBCOLLI_COST_BOTH, 0) + nbcolli_cost_own_block(c, m))                                    \
    X(ALLGATHERV, allgather_recursive_doubling, recursive_doubling, NBCOLLI_COUNTS, NBCOLLI_NO_COST)                   \
    X(ALLGATHERV, allgather_ring_sequential, ring_sequential, NBCOLLI_COUNTS, NBCOLLI_NO_COST)                         \
    X(ALLGATHERV, allgather_gather_bcast, gather_bcast, NBCOLLI_COUNTS, NBCOLLI_NO_COST)                               \
    X(ALLGATHERV, allgather_exchange, exchange, NBCOLLI_COUNTS | NBCOLLI_PORTS, NBCOLLI_NO_COST)                       \
    X(ALLGATHERV, allgather_exchange_pipelined, exchange_pipelined, NBCOLLI_COUNTS | NBCOLLI_PORTS | NBCOLLI_TOLERANT, \
      nbcolli_cost_own_block(c, m) + nbcolli_cost_pipelined(c, c->ports))                                              \
    X(ALLGATHERV, allgather_bruck_ports, bruck_ports, NBCOLLI_COUNTS | NBCOLLI_PORTS,                                  \
      m * c->copy + nbcolli_cost_doubling(c, c->ports, m) + n * c->copy)                                               \
    X(ALLGATHERV, allgather_bruck_pipelined, bruck_pipelined, NBCOLLI_COUNTS | NBCOLLI_PORTS | NBCOLLI_TOLERANT,       \
      NBCOLLI_NO_COST)                                                                                                 \
    X(ALLGATHERV, allgather_two_roots, two_roots, NBCOLLI_COUNTS, NBCOLLI_NO_COST)                                     \
    X(ALLGATHERV, allgather_binomial, binomial, NBCOLLI_COUNTS, NBCOLLI_NO_COST)                                       \
    X(ALLGATHERV, allgather_cayley, cayley, NBCOLLI_COUNTS | NBCOLLI_PORTS | NBCOLLI_TOLERANT, NBCOLLI_NO_COST)        \
    X(ALLGATHERV, allgather_hierarchical, hierarchical, NBCOLLI_COUNTS | NBCOLLI_PORTS | NBCOLLI_BY_NODES,             \
      nbcolli_cost_nodes_allgather(c, 1))                                                                              \
    X(ALLGATHERV, allgather_hierarchical_groups, hierarchical_groups,                                                  \
      NBCOLLI_COUNTS | NBCOLLI_PORTS | NBCOLLI_BY_NODES,                                                               \
      nbcolli_cost_nodes_groups(c, 1))
NBCOLLI_TABLE(allgatherv, ALLGATHERV)
const nbcolli_algorithms nbcolli_algorithms_allgatherv = NBCOLLI_ALL_OF(allgatherv);

NBCOLLI_FORMS(allgatherv,
              (const void *send, void *recv, const size_t counts[], const size_t displs[], nbcoll_type type,),
              .args = {.operation = NBCOLL_OPERATION_ALLGATHERV, .reduction = {type, NBCOLL_SUM}},
              .send = send, .recv = recv, .blocks = {[1] = {.counts = counts, .displs = displs}})
