/* SPDX-License-Identifier: BSD-3-Clause
 * Inclusive scan: the algorithms, and the calls. */
#include "forms.h"

#define NBCOLLI_SCAN_ALGORITHMS(X)                                                                                     \
    X(SCAN, scan_recursive_doubling, recursive_doubling, NBCOLLI_REPRODUCIBLE,                                         \
      nbcolli_cost_rounds(c, L, n, 2 * n, 0) - (P > 2) * (n * c->gamma))                                               \
    X(SCAN, scan_linear, linear, 0, n * c->copy + nbcolli_cost_hops(c, n, n))                                          \
    X(SCAN, combine_flat, flat, 0,                                                                                     \
      nbcolli_cost_train(c, P - 1, n, NBCOLLI_COST_TAKES, 0, c->node) + (P - 1) * (n * c->gamma))                      \
    X(SCAN, scan_hierarchical, hierarchical, NBCOLLI_SEGMENT | NBCOLLI_BY_NODES, nbcolli_cost_nodes_scan(c))
NBCOLLI_TABLE(scan, SCAN)
const nbcolli_algorithms nbcolli_algorithms_scan = NBCOLLI_ALL_OF(scan);

NBCOLLI_PLAIN_FORMS(scan, (NBCOLLI_COMBINED), NBCOLLI_COMBINED_SAID(SCAN, 0))
