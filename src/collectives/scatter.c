/* SPDX-License-Identifier: BSD-3-Clause
 * Scatter: the algorithms, and the calls. */
#include "forms.h"

#define NBCOLLI_SCATTER_ALGORITHMS(X)                                                                                  \
    X(SCATTER, scatter_binomial, binomial, NBCOLLI_SPLIT)                                                              \
    X(SCATTER, scatter_flat, flat, 0)                                                                                  \
    X(SCATTER, scatter_slots, slots, NBCOLLI_EXPOSES)                                                                  \
    X(SCATTER, scatter_spanning_tree, spanning_tree, 0)                                                                \
    X(SCATTER, scatter_flat_sequential, flat_sequential, 0)                                                            \
    X(SCATTER, scatter_hierarchical, hierarchical, NBCOLLI_NODES | NBCOLLI_LEADERS | NBCOLLI_EXPOSES)
NBCOLLI_TABLE(scatter, SCATTER)
const nbcolli_algorithms nbcolli_algorithms_scatter = NBCOLLI_ALL_OF(nbcolli_table_scatter);

NBCOLLI_PLAIN_FORMS(scatter, (NBCOLLI_MOVED int root,), NBCOLLI_MOVED_SAID(SCATTER, root))
