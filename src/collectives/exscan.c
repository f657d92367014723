/* SPDX-License-Identifier: BSD-3-Clause
 * Exclusive scan: the algorithms, and the calls. */
#include "forms.h"

#define NBCOLLI_EXSCAN_ALGORITHMS(X)                                                                                   \
    X(EXSCAN, scan_recursive_doubling, recursive_doubling, NBCOLLI_REPRODUCIBLE,                                       \
      nbcolli_cost_rounds(c, L, n, 2 * n, 0) - (P > 1) * 2 * (n * c->gamma))                                           \
    X(EXSCAN, exscan_linear, linear, 0, nbcolli_cost_hops(c, n, n) - (P > 1) * (n * c->gamma))                         \
    X(EXSCAN, combine_flat, flat, 0,                                                                                   \
      nbcolli_cost_train(c, P - 1, n, NBCOLLI_COST_TAKES, 0, c->node) +                                                \
      (P - 1) * (n * c->gamma) - (P > 1) * (n * c->gamma))                                                             \
    X(EXSCAN, scan_hierarchical, hierarchical, NBCOLLI_SEGMENT | NBCOLLI_BY_NODES, nbcolli_cost_nodes_scan(c))
NBCOLLI_TABLE(exscan, EXSCAN)
const nbcolli_algorithms nbcolli_algorithms_exscan = NBCOLLI_ALL_OF(exscan);

NBCOLLI_PLAIN_FORMS(exscan, (NBCOLLI_COMBINED), NBCOLLI_COMBINED_SAID(EXSCAN, 0))
