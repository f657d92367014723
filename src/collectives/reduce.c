/* SPDX-License-Identifier: BSD-3-Clause
 * Reduce: the algorithms, and the calls. */
#include "forms.h"

#define NBCOLLI_REDUCE_ALGORITHMS(X)                                                                                   \
    X(REDUCE, reduce_binomial, binomial, NBCOLLI_REPRODUCIBLE | NBCOLLI_SPLIT)                                         \
    X(REDUCE, reduce_pairwise, pairwise, 0)                                                                            \
    X(REDUCE, reduce_scatter_owners, owners, NBCOLLI_REPRODUCIBLE)                                                     \
    X(REDUCE, reduce_slots, slots, NBCOLLI_EXPOSES)                                                                    \
    X(REDUCE, combine_flat, flat, 0)                                                                                   \
    X(REDUCE, combine_flat_sequential, flat_sequential, 0)                                                             \
    X(REDUCE, reduce_spanning_tree, spanning_tree, 0)                                                                  \
    X(REDUCE, reduce_hierarchical, hierarchical,                                                                       \
      NBCOLLI_REORDERS | NBCOLLI_SEGMENT | NBCOLLI_NODES | NBCOLLI_LEADERS | NBCOLLI_EXPOSES)                          \
    X(REDUCE, reduce_hierarchical_ordered, hierarchical_ordered,                                                       \
      NBCOLLI_SEGMENT | NBCOLLI_NODES | NBCOLLI_LEADERS | NBCOLLI_EXPOSES)                                             \
    X(REDUCE, reduce_hierarchical_domains, hierarchical_domains,                                                       \
      NBCOLLI_REORDERS | NBCOLLI_SEGMENT | NBCOLLI_DOMAINS | NBCOLLI_LEADERS | NBCOLLI_EXPOSES)
NBCOLLI_TABLE(reduce, REDUCE)
const nbcolli_algorithms nbcolli_algorithms_reduce = NBCOLLI_ALL_OF(nbcolli_table_reduce);

NBCOLLI_PLAIN_FORMS(reduce, (NBCOLLI_COMBINED int root,), NBCOLLI_COMBINED_SAID(REDUCE, root))
