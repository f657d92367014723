/* SPDX-License-Identifier: BSD-3-Clause
 * Gather of blocks of different lengths: the algorithms, and the calls. */
#include "forms.h"

#define NBCOLLI_GATHERV_ALGORITHMS(X)                                                                                  \
    X(GATHERV, gather_binomial, binomial, NBCOLLI_COUNTS,                                                              \
      m * c->copy + nbcolli_cost_binomial(c, P, 0, m, 0, 1) + n * c->copy)                                             \
    X(GATHERV, gather_flat, flat, 0, nbcolli_cost_own_block(c, m) + nbcolli_cost_flat(c, m, NBCOLLI_COST_TAKES, 0))    \
    X(GATHERV, gather_flat_sequential, flat_sequential, 0, NBCOLLI_NO_COST)                                            \
    X(GATHERV, gather_spanning_tree, spanning_tree, NBCOLLI_COUNTS,                                                    \
      m * c->copy + nbcolli_cost_halves(c, m) + n * c->copy)                                                           \
    X(GATHERV, gather_hierarchical, hierarchical, NBCOLLI_COUNTS | NBCOLLI_BY_NODES, nbcolli_cost_nodes_gather(c))
NBCOLLI_TABLE(gatherv, GATHERV)
const nbcolli_algorithms nbcolli_algorithms_gatherv = NBCOLLI_ALL_OF(gatherv);

NBCOLLI_FORMS(gatherv,
              (const void *send, size_t count, void *recv, const size_t counts[], const size_t displs[],
               nbcoll_type type, int root,),
              .args = {.operation = NBCOLL_OPERATION_GATHERV, .root = root, .reduction = {type, NBCOLL_SUM}},
              .send = send, .recv = recv, .blocks = {{.count = count}, {.counts = counts, .displs = displs}})
