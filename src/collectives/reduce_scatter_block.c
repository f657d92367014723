/* SPDX-License-Identifier: BSD-3-Clause
 * Reduce-scatter of equal blocks: the algorithms, and the calls. */
#include "forms.h"

#define NBCOLLI_REDUCE_SCATTER_BLOCK_ALGORITHMS(X) NBCOLLI_ROWS_REDUCE_SCATTER(X, REDUCE_SCATTER_BLOCK)
NBCOLLI_TABLE(reduce_scatter_block, REDUCE_SCATTER_BLOCK)
const nbcolli_algorithms nbcolli_algorithms_reduce_scatter_block = NBCOLLI_ALL_OF(reduce_scatter_block);

NBCOLLI_PLAIN_FORMS(reduce_scatter_block, (NBCOLLI_COMBINED), NBCOLLI_COMBINED_SAID(REDUCE_SCATTER_BLOCK, 0))
