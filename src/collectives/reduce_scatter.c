/* SPDX-License-Identifier: BSD-3-Clause
 * Reduce-scatter of blocks of different lengths: the algorithms, and the calls. */
#include "forms.h"

#define NBCOLLI_REDUCE_SCATTER_ALGORITHMS(X) NBCOLLI_ROWS_REDUCE_SCATTER(X, REDUCE_SCATTER)
NBCOLLI_TABLE(reduce_scatter, REDUCE_SCATTER)
const nbcolli_algorithms nbcolli_algorithms_reduce_scatter = NBCOLLI_ALL_OF(reduce_scatter);

NBCOLLI_FORMS(reduce_scatter,
              (const void *send, void *recv, const size_t counts[], nbcoll_type type, nbcoll_op op,),
              .args = {.operation = NBCOLL_OPERATION_REDUCE_SCATTER, .reduction = {type, op}},
              .send = send, .recv = recv, .blocks = {[1] = {.counts = counts}})
