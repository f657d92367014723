/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Elementwise reductions. One source makes the kernels for every level of vector instructions (vectors.h says how):
 * here those that every processor of the architecture has.
 */
#include "reduce.h"

#include "vectors.h"

NBCOLLI_REDUCE_BEGIN

#include "elements.h"

/* ---- the kernels ----------------------------------------------------------------------------------------------- */

#define NBCOLLI_REDUCE_LEVEL baseline
#define NBCOLLI_TARGET
#define NBCOLLI_REDUCE_WIDTH 16
#define NBCOLLI_REDUCE_LANES_32 4
#define NBCOLLI_REDUCE_LANES_64 2
#define NBCOLLI_REDUCE_CONVERTS 0
#include "level.h"

const nbcoll_reducers *const nbcolli_reducers = &nbcolli_reduce_kernels_baseline;

NBCOLLI_REDUCE_END

/* ---- entry ----------------------------------------------------------------------------------------------------- */

int nbcoll_op_applies(nbcoll_op op, nbcoll_type type)
{
    if (op < NBCOLL_OP_COUNT)
        return type < NBCOLL_TYPE_COUNT && nbcolli_reducers->kernel[type][op];
    return nbcolli_host_op(op) && nbcolli_is_type(type);
}

nbcoll_status nbcolli_reduce(const nbcoll_reducers *by, nbcoll_reduction how, void *result, const void *left,
                             const void *right, size_t count)
{
    const nbcoll_host_op *host = nbcolli_host_op(how.op);
    if (host)
        return host->combine(host->user, result, left, right, count, how.type);
    by->kernel[how.type][how.op](result, left, right, count * nbcoll_type_size(how.type));
    return NBCOLL_OK;
}
