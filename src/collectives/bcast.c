/* SPDX-License-Identifier: BSD-3-Clause
 * Broadcast: the algorithms, and the calls. */
#include "forms.h"

#define NBCOLLI_BCAST_ALGORITHMS(X)                                                                                    \
    X(BCAST, bcast_binomial, binomial, NBCOLLI_SPLIT | NBCOLLI_TOLERANT, nbcolli_cost_binomial(c, P, n, 0, 0, 0))      \
    X(BCAST, bcast_scatter_ring, scatter_ring, NBCOLLI_TOLERANT,                                                       \
      nbcolli_cost_flat(c, m, NBCOLLI_COST_SENDS, 0) + nbcolli_cost_ring(c, m, 0))                                     \
    X(BCAST, bcast_slots, slots, NBCOLLI_EXPOSES | NBCOLLI_TOGETHER, nbcolli_cost_shown(c, n, n))                      \
    X(BCAST, bcast_slots_chain, slots_chain, NBCOLLI_EXPOSES | NBCOLLI_SEGMENT, NBCOLLI_NO_COST)                       \
    X(BCAST, bcast_spanning_tree, spanning_tree, NBCOLLI_TOLERANT, NBCOLLI_NO_COST)                                    \
    X(BCAST, bcast_flat, flat, NBCOLLI_TOLERANT, nbcolli_cost_flat(c, n, NBCOLLI_COST_SENDS, 0))                       \
    X(BCAST, bcast_flat_sequential, flat_sequential, 0, NBCOLLI_NO_COST)                                               \
    X(BCAST, bcast_tree, tree, NBCOLLI_ARITY | NBCOLLI_TOLERANT, nbcolli_cost_levels(c, c->arity, 1))                  \
    X(BCAST, bcast_tree_pipelined, tree_pipelined, NBCOLLI_ARITY | NBCOLLI_SEGMENT | NBCOLLI_TOLERANT,                 \
      nbcolli_cost_levels(c, c->arity, nbcolli_cost_segments(c)))                                                      \
    X(BCAST, bcast_chain_pipelined, chain_pipelined, NBCOLLI_SEGMENT | NBCOLLI_TOLERANT,                               \
      nbcolli_cost_levels(c, 1, nbcolli_cost_segments(c)))                                                             \
    X(BCAST, bcast_hierarchical, hierarchical, NBCOLLI_ARITY | NBCOLLI_SEGMENT | NBCOLLI_BY_NODES,                     \
      nbcolli_cost_nodes_bcast(c))                                                                                     \
    X(BCAST, bcast_hierarchical_domains, hierarchical_domains,                                                         \
      NBCOLLI_ARITY | NBCOLLI_SEGMENT | NBCOLLI_BY_DOMAINS | 2 * NBCOLLI_EXPOSES,                                      \
      nbcolli_cost_domains_bcast(c))
NBCOLLI_TABLE(bcast, BCAST)
const nbcolli_algorithms nbcolli_algorithms_bcast = NBCOLLI_ALL_OF(bcast);

NBCOLLI_PLAIN_FORMS(bcast, (void *buffer, size_t count, nbcoll_type type, int root,),
                    NBCOLL_OPERATION_BCAST, NULL, buffer, count, type, NBCOLL_SUM, root)
