/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Elementwise reductions. One source makes the kernels for every level of vector instructions (vectors.h says how):
 * here those that every processor of the architecture has.
 */
#include "reduce.h"

#include "vectors.h"

NBCOLLI_REDUCE_BEGIN

#include "elements.h"

#define NBCOLLI_REDUCE_LEVEL baseline
#define NBCOLLI_TARGET
#define NBCOLLI_REDUCE_WIDTH 16
#define NBCOLLI_REDUCE_LANES_32 4
#define NBCOLLI_REDUCE_LANES_64 2
#define NBCOLLI_REDUCE_CONVERTS 0
#include "level.h"

const nbcoll_reducers *const nbcolli_reducers = &nbcolli_reduce_kernels_baseline;

NBCOLLI_REDUCE_END
