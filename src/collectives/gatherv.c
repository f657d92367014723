/* SPDX-License-Identifier: BSD-3-Clause
 * Gather of blocks of different lengths: the algorithms, and the calls. */
#include "forms.h"

#define NBCOLLI_GATHERV_ALGORITHMS(X)                                                                                  \
    X(GATHERV, gatherv_binomial, binomial, NBCOLLI_COUNTS)                                                             \
    X(GATHERV, gather_flat, flat, 0)                                                                                   \
    X(GATHERV, gather_flat_sequential, flat_sequential, 0)                                                             \
    X(GATHERV, gatherv_spanning_tree, spanning_tree, NBCOLLI_COUNTS)                                                   \
    X(GATHERV, gather_hierarchical, hierarchical, NBCOLLI_COUNTS | NBCOLLI_NODES | NBCOLLI_LEADERS | NBCOLLI_EXPOSES)
NBCOLLI_TABLE(gatherv, GATHERV)
const nbcolli_algorithms nbcolli_algorithms_gatherv = NBCOLLI_ALL_OF(nbcolli_table_gatherv);

NBCOLLI_FORMS(gatherv,
              (const void *send, size_t count, void *recv, const size_t counts[], const size_t displs[],
               nbcoll_type type, int root,),
              .args = {.operation = NBCOLL_OPERATION_GATHERV, .root = root, .reduction = {type, NBCOLL_SUM}},
              .send = send, .recv = recv, .blocks = {{.count = count}, {.counts = counts, .displs = displs}})
