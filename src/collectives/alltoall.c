/* SPDX-License-Identifier: BSD-3-Clause
 * Alltoall: the algorithms, and the calls. */
#include "forms.h"

#define NBCOLLI_ALLTOALL_ALGORITHMS(X)                                                                                 \
    X(ALLTOALL, alltoall_bruck, bruck, 0, nbcolli_cost_digits(c, m) + n * c->copy)                                     \
    X(ALLTOALL, alltoall_pairwise, pairwise, 0, nbcolli_cost_turns(c, m) + m * c->copy)                                \
    X(ALLTOALL, alltoall_flat, flat, 0, nbcolli_cost_flat(c, m, NBCOLLI_COST_BOTH, 0) + m * c->copy)                   \
    X(ALLTOALL, alltoall_slots, slots, NBCOLLI_EXPOSES, nbcolli_cost_fetches(c, P - 1, m, n - m, 0) + m * c->copy)     \
    X(ALLTOALL, alltoall_flat_sequential, flat_sequential, 0, NBCOLLI_NO_COST)                                         \
    X(ALLTOALL, alltoall_flat_sequential_sends, flat_sequential_sends, 0, NBCOLLI_NO_COST)                             \
    X(ALLTOALL, alltoall_flat_sequential_receives, flat_sequential_receives, 0, NBCOLLI_NO_COST)                       \
    X(ALLTOALL, alltoall_hierarchical, hierarchical, NBCOLLI_BY_NODES, nbcolli_cost_nodes_alltoall(c))
NBCOLLI_TABLE(alltoall, ALLTOALL)
const nbcolli_algorithms nbcolli_algorithms_alltoall = NBCOLLI_ALL_OF(alltoall);

NBCOLLI_PLAIN_FORMS(alltoall, (NBCOLLI_MOVED), NBCOLLI_MOVED_SAID(ALLTOALL, 0))
