/* SPDX-License-Identifier: BSD-3-Clause
 * Scatter of blocks of different lengths: the algorithms, and the calls. */
#include "forms.h"

#define NBCOLLI_SCATTERV_ALGORITHMS(X)                                                                                 \
    X(SCATTERV, scatterv_binomial, binomial, NBCOLLI_COUNTS)                                                           \
    X(SCATTERV, scatter_flat, flat, 0)                                                                                 \
    X(SCATTERV, scatter_flat_sequential, flat_sequential, 0)                                                           \
    X(SCATTERV, scatterv_spanning_tree, spanning_tree, NBCOLLI_COUNTS)                                                 \
    X(SCATTERV, scatter_hierarchical, hierarchical, NBCOLLI_COUNTS | NBCOLLI_NODES | NBCOLLI_LEADERS | NBCOLLI_EXPOSES)
NBCOLLI_TABLE(scatterv, SCATTERV)
const nbcolli_algorithms nbcolli_algorithms_scatterv = NBCOLLI_ALL_OF(nbcolli_table_scatterv);

NBCOLLI_FORMS(scatterv,
              (const void *send, const size_t counts[], const size_t displs[], void *recv, size_t count,
               nbcoll_type type, int root,),
              .args = {.operation = NBCOLL_OPERATION_SCATTERV, .root = root, .reduction = {type, NBCOLL_SUM}},
              .send = send, .recv = recv, .blocks = {{.counts = counts, .displs = displs}, {.count = count}})
