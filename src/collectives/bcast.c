/* SPDX-License-Identifier: BSD-3-Clause
 * Broadcast: the algorithms, and the calls. */
#include "forms.h"

#define NBCOLLI_BCAST_ALGORITHMS(X)                                                                                    \
    X(BCAST, bcast_binomial, binomial, NBCOLLI_SPLIT | NBCOLLI_TOLERANT)                                               \
    X(BCAST, bcast_scatter_ring, scatter_ring, NBCOLLI_TOLERANT)                                                       \
    X(BCAST, bcast_slots, slots, NBCOLLI_EXPOSES | NBCOLLI_TOGETHER)                                                   \
    X(BCAST, bcast_slots_chain, slots_chain, NBCOLLI_EXPOSES | NBCOLLI_SEGMENT)                                        \
    X(BCAST, bcast_spanning_tree, spanning_tree, NBCOLLI_TOLERANT)                                                     \
    X(BCAST, bcast_flat, flat, NBCOLLI_TOLERANT)                                                                       \
    X(BCAST, bcast_flat_sequential, flat_sequential, 0)                                                                \
    X(BCAST, bcast_tree, tree, NBCOLLI_ARITY | NBCOLLI_TOLERANT)                                                       \
    X(BCAST, bcast_tree_pipelined, tree_pipelined, NBCOLLI_ARITY | NBCOLLI_SEGMENT | NBCOLLI_TOLERANT)                 \
    X(BCAST, bcast_chain_pipelined, chain_pipelined, NBCOLLI_SEGMENT | NBCOLLI_TOLERANT)                               \
    X(BCAST, bcast_hierarchical, hierarchical,                                                                         \
      NBCOLLI_ARITY | NBCOLLI_SEGMENT | NBCOLLI_NODES | NBCOLLI_LEADERS | NBCOLLI_EXPOSES)                             \
    X(BCAST, bcast_hierarchical_domains, hierarchical_domains,                                                         \
      NBCOLLI_ARITY | NBCOLLI_SEGMENT | NBCOLLI_DOMAINS | NBCOLLI_LEADERS | 2 * NBCOLLI_EXPOSES)
NBCOLLI_TABLE(bcast, BCAST)
const nbcolli_algorithms nbcolli_algorithms_bcast = NBCOLLI_ALL_OF(nbcolli_table_bcast);

NBCOLLI_PLAIN_FORMS(bcast, (void *buffer, size_t count, nbcoll_type type, int root,),
                    NBCOLL_OPERATION_BCAST, NULL, buffer, count, type, NBCOLL_SUM, root)
