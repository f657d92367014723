/* SPDX-License-Identifier: BSD-3-Clause
 * Allreduce: the algorithms, and the calls. */
#include "forms.h"

#define NBCOLLI_ALLREDUCE_ALGORITHMS(X)                                                                                \
    X(ALLREDUCE, allreduce_recursive_doubling, recursive_doubling, 0)                                                  \
    X(ALLREDUCE, allreduce_ring, ring, NBCOLLI_REORDERS)                                                               \
    X(ALLREDUCE, allreduce_groups, groups, NBCOLLI_REPRODUCIBLE)                                                       \
    X(ALLREDUCE, reduce_scatter_owners, owners, NBCOLLI_REPRODUCIBLE)                                                  \
    X(ALLREDUCE, allreduce_slots, slots, NBCOLLI_EXPOSES)                                                              \
    X(ALLREDUCE, combine_flat, flat, 0)                                                                                \
    X(ALLREDUCE, allreduce_binomial, binomial, NBCOLLI_REPRODUCIBLE | NBCOLLI_SPLIT)                                   \
    X(ALLREDUCE, allreduce_recursive_doubling_sequential, recursive_doubling_sequential, 0)                            \
    X(ALLREDUCE, allreduce_two_roots, two_roots, NBCOLLI_REPRODUCIBLE)                                                 \
    X(ALLREDUCE, allreduce_reduce_bcast, reduce_bcast, 0)                                                              \
    X(ALLREDUCE, allreduce_halving, halving, 0)                                                                        \
    X(ALLREDUCE, allreduce_hierarchical, hierarchical,                                                                 \
      NBCOLLI_REORDERS | NBCOLLI_SEGMENT | NBCOLLI_NODES | NBCOLLI_LEADERS | NBCOLLI_EXPOSES)                          \
    X(ALLREDUCE, allreduce_hierarchical_ordered, hierarchical_ordered,                                                 \
      NBCOLLI_SEGMENT | NBCOLLI_NODES | NBCOLLI_LEADERS | NBCOLLI_EXPOSES)                                             \
    X(ALLREDUCE, allreduce_hierarchical_domains, hierarchical_domains,                                                 \
      NBCOLLI_REORDERS | NBCOLLI_SEGMENT | NBCOLLI_DOMAINS | NBCOLLI_LEADERS | 2 * NBCOLLI_EXPOSES)                    \
    X(ALLREDUCE, allreduce_slots_owners, slots_owners, 2 * NBCOLLI_EXPOSES | NBCOLLI_TOGETHER)
NBCOLLI_TABLE(allreduce, ALLREDUCE)
const nbcolli_algorithms nbcolli_algorithms_allreduce = NBCOLLI_ALL_OF(nbcolli_table_allreduce);

NBCOLLI_PLAIN_FORMS(allreduce, (NBCOLLI_COMBINED), NBCOLLI_COMBINED_SAID(ALLREDUCE, 0))
