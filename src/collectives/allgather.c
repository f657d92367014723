/* SPDX-License-Identifier: BSD-3-Clause
 * Allgather: the algorithms, and the calls. */
#include "forms.h"

#define NBCOLLI_ALLGATHER_ALGORITHMS(X)                                                                                \
    X(ALLGATHER, allgather_bruck, bruck, 0, m * c->copy + nbcolli_cost_doubling(c, 1, m) + n * c->copy)                \
    X(ALLGATHER, allgather_ring, ring, NBCOLLI_TOLERANT, nbcolli_cost_own_block(c, m) + nbcolli_cost_ring(c, m, 0))    \
    X(ALLGATHER, allgather_slots, slots, NBCOLLI_EXPOSES | NBCOLLI_TOGETHER,                                           \
      nbcolli_cost_fetches(c, P - 1, m, m, 0) + nbcolli_cost_staging(c, m))                                           \
    X(ALLGATHER, allgather_flat, flat, NBCOLLI_TOLERANT,                                                               \
      nbcolli_cost_flat(c, m, NBCOLLI_COST_BOTH, 0) + nbcolli_cost_own_block(c, m))                                    \
    X(ALLGATHER, allgather_recursive_doubling, recursive_doubling, 0, nbcolli_cost_exchange(c, 1))                     \
    X(ALLGATHER, allgather_ring_sequential, ring_sequential, 0, NBCOLLI_NO_COST)                                       \
    X(ALLGATHER, allgather_gather_bcast, gather_bcast, 0, NBCOLLI_NO_COST)                                             \
    X(ALLGATHER, allgather_exchange, exchange, NBCOLLI_PORTS, nbcolli_cost_exchange(c, c->ports))                      \
    X(ALLGATHER, allgather_exchange_pipelined, exchange_pipelined, NBCOLLI_PORTS | NBCOLLI_TOLERANT,                   \
      nbcolli_cost_own_block(c, m) + nbcolli_cost_pipelined(c, c->ports))                                              \
    X(ALLGATHER, allgather_bruck_ports, bruck_ports, NBCOLLI_PORTS,                                                    \
      m * c->copy + nbcolli_cost_doubling(c, c->ports, m) + n * c->copy)                                               \
    X(ALLGATHER, allgather_bruck_pipelined, bruck_pipelined, NBCOLLI_PORTS | NBCOLLI_TOLERANT, NBCOLLI_NO_COST)        \
    X(ALLGATHER, allgather_two_roots, two_roots, 0, NBCOLLI_NO_COST)                                                   \
    X(ALLGATHER, allgather_binomial, binomial, 0, NBCOLLI_NO_COST)                                                     \
    X(ALLGATHER, allgather_cayley, cayley, NBCOLLI_PORTS | NBCOLLI_TOLERANT, NBCOLLI_NO_COST)                          \
    X(ALLGATHER, allgather_hierarchical, hierarchical, NBCOLLI_PORTS | NBCOLLI_BY_NODES,                               \
      nbcolli_cost_nodes_allgather(c, 0))                                                                              \
    X(ALLGATHER, allgather_hierarchical_groups, hierarchical_groups, NBCOLLI_PORTS | NBCOLLI_BY_NODES,                 \
      nbcolli_cost_nodes_groups(c, 0))
NBCOLLI_TABLE(allgather, ALLGATHER)
const nbcolli_algorithms nbcolli_algorithms_allgather = NBCOLLI_ALL_OF(allgather);

NBCOLLI_PLAIN_FORMS(allgather, (NBCOLLI_MOVED), NBCOLLI_MOVED_SAID(ALLGATHER, 0))
