/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Elementwise reductions. One source makes the kernels for every level of vector instructions (vectors.h says how):
 * here those that every processor of the architecture has.
 */
#include "reduce.h"

#include "vectors.h"

NBCOLLI_REDUCE_BEGIN

#include "elements.h"
#include "level.h"

#define NBCOLLI_REDUCE_LEVEL baseline
#define NBCOLLI_TARGET
#define NBCOLLI_REDUCE_WIDTH 16
#define NBCOLLI_REDUCE_LANES_32 4
#define NBCOLLI_REDUCE_LANES_64 2
NBCOLLI_REDUCE_LEVEL_OF(NBCOLLI_REDUCE_HALVES_COMPUTED)

#undef NBCOLLI_REDUCE_LEVEL
#undef NBCOLLI_TARGET
#undef NBCOLLI_REDUCE_WIDTH
#undef NBCOLLI_REDUCE_LANES_32
#undef NBCOLLI_REDUCE_LANES_64

const nbcoll_reducers *const nbcolli_reducers = &nbcolli_reduce_kernels_baseline;

NBCOLLI_REDUCE_END
