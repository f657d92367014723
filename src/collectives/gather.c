/* SPDX-License-Identifier: BSD-3-Clause
 * Gather: the algorithms, and the calls. */
#include "forms.h"

#define NBCOLLI_GATHER_ALGORITHMS(X)                                                                                   \
    X(GATHER, gather_binomial, binomial, NBCOLLI_SPLIT)                                                                \
    X(GATHER, gather_flat, flat, 0)                                                                                    \
    X(GATHER, gather_slots, slots, NBCOLLI_EXPOSES)                                                                    \
    X(GATHER, gather_spanning_tree, spanning_tree, 0)                                                                  \
    X(GATHER, gather_flat_sequential, flat_sequential, 0)                                                              \
    X(GATHER, gather_hierarchical, hierarchical, NBCOLLI_NODES | NBCOLLI_LEADERS | NBCOLLI_EXPOSES)
NBCOLLI_TABLE(gather, GATHER)
const nbcolli_algorithms nbcolli_algorithms_gather = NBCOLLI_ALL_OF(nbcolli_table_gather);

NBCOLLI_PLAIN_FORMS(gather, (NBCOLLI_MOVED int root,), NBCOLLI_MOVED_SAID(GATHER, root))
