/* SPDX-License-Identifier: BSD-3-Clause
 * Exclusive scan: the algorithms, and the calls. */
#include "forms.h"

#define NBCOLLI_EXSCAN_ALGORITHMS(X)                                                                                   \
    X(EXSCAN, scan_recursive_doubling, recursive_doubling, NBCOLLI_REPRODUCIBLE)                                       \
    X(EXSCAN, exscan_linear, linear, 0)                                                                                \
    X(EXSCAN, combine_flat, flat, 0)                                                                                   \
    X(EXSCAN, scan_hierarchical, hierarchical, NBCOLLI_SEGMENT | NBCOLLI_NODES | NBCOLLI_LEADERS | NBCOLLI_EXPOSES)
NBCOLLI_TABLE(exscan, EXSCAN)
const nbcolli_algorithms nbcolli_algorithms_exscan = NBCOLLI_ALL_OF(nbcolli_table_exscan);

NBCOLLI_PLAIN_FORMS(exscan, (NBCOLLI_COMBINED), NBCOLLI_COMBINED_SAID(EXSCAN, 0))
