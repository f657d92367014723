/* SPDX-License-Identifier: BSD-3-Clause
 * Scatter of blocks of different lengths: the algorithms, and the calls. */
#include "forms.h"

#define NBCOLLI_SCATTERV_ALGORITHMS(X)                                                                                 \
    X(SCATTERV, scatter_binomial, binomial, NBCOLLI_COUNTS,                                                            \
      n * c->copy + nbcolli_cost_binomial(c, P, 0, m, 0, 0) + m * c->copy)                                             \
    X(SCATTERV, scatter_flat, flat, 0, nbcolli_cost_own_block(c, m) + nbcolli_cost_flat(c, m, NBCOLLI_COST_SENDS, 0))  \
    X(SCATTERV, scatter_flat_sequential, flat_sequential, 0, NBCOLLI_NO_COST)                                          \
    X(SCATTERV, scatter_spanning_tree, spanning_tree, NBCOLLI_COUNTS,                                                  \
      n * c->copy + nbcolli_cost_halves(c, m) + m * c->copy)                                                           \
    X(SCATTERV, scatter_hierarchical, hierarchical, NBCOLLI_COUNTS | NBCOLLI_BY_NODES, nbcolli_cost_nodes_scatter(c))
NBCOLLI_TABLE(scatterv, SCATTERV)
const nbcolli_algorithms nbcolli_algorithms_scatterv = NBCOLLI_ALL_OF(scatterv);

NBCOLLI_FORMS(scatterv,
              (const void *send, const size_t counts[], const size_t displs[], void *recv, size_t count,
               nbcoll_type type, int root,),
              .args = {.operation = NBCOLL_OPERATION_SCATTERV, .root = root, .reduction = {type, NBCOLL_SUM}},
              .send = send, .recv = recv, .blocks = {{.counts = counts, .displs = displs}, {.count = count}})
