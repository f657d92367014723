/* SPDX-License-Identifier: BSD-3-Clause
 * Inclusive scan: the algorithms, and the calls. */
#include "forms.h"

#define NBCOLLI_SCAN_ALGORITHMS(X)                                                                                     \
    X(SCAN, scan_recursive_doubling, recursive_doubling, NBCOLLI_REPRODUCIBLE)                                         \
    X(SCAN, scan_linear, linear, 0)                                                                                    \
    X(SCAN, combine_flat, flat, 0)                                                                                     \
    X(SCAN, scan_hierarchical, hierarchical, NBCOLLI_SEGMENT | NBCOLLI_NODES | NBCOLLI_LEADERS | NBCOLLI_EXPOSES)
NBCOLLI_TABLE(scan, SCAN)
const nbcolli_algorithms nbcolli_algorithms_scan = NBCOLLI_ALL_OF(nbcolli_table_scan);

NBCOLLI_PLAIN_FORMS(scan, (NBCOLLI_COMBINED), NBCOLLI_COMBINED_SAID(SCAN, 0))
