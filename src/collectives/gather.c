/* SPDX-License-Identifier: BSD-3-Clause
 * Gather: the algorithms, and the calls. */
#include "forms.h"

#define NBCOLLI_GATHER_ALGORITHMS(X)                                                                                   \
    X(GATHER, gather_binomial, binomial, NBCOLLI_SPLIT, m * c->copy + nbcolli_cost_binomial(c, P, 0, m, 0, 1))         \
    X(GATHER, gather_flat, flat, 0, nbcolli_cost_own_block(c, m) + nbcolli_cost_flat(c, m, NBCOLLI_COST_TAKES, 0))     \
    X(GATHER, gather_slots, slots, NBCOLLI_EXPOSES, nbcolli_cost_collected(c, m, 0))                                   \
    X(GATHER, gather_spanning_tree, spanning_tree, 0, NBCOLLI_NO_COST)                                                 \
    X(GATHER, gather_flat_sequential, flat_sequential, 0, NBCOLLI_NO_COST)                                             \
    X(GATHER, gather_hierarchical, hierarchical, NBCOLLI_BY_NODES, nbcolli_cost_nodes_gather(c))
NBCOLLI_TABLE(gather, GATHER)
const nbcolli_algorithms nbcolli_algorithms_gather = NBCOLLI_ALL_OF(gather);

NBCOLLI_PLAIN_FORMS(gather, (NBCOLLI_MOVED int root,), NBCOLLI_MOVED_SAID(GATHER, root))
