/* SPDX-License-Identifier: BSD-3-Clause
 * Alltoall: the algorithms, and the calls. */
#include "forms.h"

#define NBCOLLI_ALLTOALL_ALGORITHMS(X)                                                                                 \
    X(ALLTOALL, alltoall_bruck, bruck, 0)                                                                              \
    X(ALLTOALL, alltoall_pairwise, pairwise, 0)                                                                        \
    X(ALLTOALL, alltoall_flat, flat, 0)                                                                                \
    X(ALLTOALL, alltoall_slots, slots, NBCOLLI_EXPOSES)                                                                \
    X(ALLTOALL, alltoall_flat_sequential, flat_sequential, 0)                                                          \
    X(ALLTOALL, alltoall_flat_sequential_sends, flat_sequential_sends, 0)                                              \
    X(ALLTOALL, alltoall_flat_sequential_receives, flat_sequential_receives, 0)                                        \
    X(ALLTOALL, alltoall_hierarchical, hierarchical, NBCOLLI_NODES | NBCOLLI_LEADERS | NBCOLLI_EXPOSES)
NBCOLLI_TABLE(alltoall, ALLTOALL)
const nbcolli_algorithms nbcolli_algorithms_alltoall = NBCOLLI_ALL_OF(nbcolli_table_alltoall);

NBCOLLI_PLAIN_FORMS(alltoall, (NBCOLLI_MOVED), NBCOLLI_MOVED_SAID(ALLTOALL, 0))
