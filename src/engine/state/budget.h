/* SPDX-License-Identifier: BSD-3-Clause
 * The bytes that the current pass over a context may still copy or combine. */
#ifndef NBCOLLI_ENGINE_STATE_BUDGET_H
#define NBCOLLI_ENGINE_STATE_BUDGET_H

#include "context.h"

#define NBCOLLI_LEAST_BYTES 4096u /* of what is divided */

static inline int nbcolli_has_bytes(const nbcolli_run *run)
{
    return run->comm->context->bytes_left > 0;
}

static inline void nbcolli_spend(const nbcolli_run *run, size_t bytes)
{
    run->comm->context->bytes_left -= (ptrdiff_t)bytes;
}

/* Spends as much of `bytes`, which are whole elements of `unit` bytes, as shall be worked off now: what this pass has
 * left, but so much that it is worth it, and all if less than a quarter of that would be left over. Less than all of it
 * only when the pass then has about nothing left. */
static inline size_t nbcolli_spend_piece(const nbcolli_run *run, size_t bytes, size_t unit)
{
    ptrdiff_t left = run->comm->context->bytes_left;
    size_t most = left > (ptrdiff_t)NBCOLLI_LEAST_BYTES ? (size_t)left : NBCOLLI_LEAST_BYTES;

    if (bytes > most + most / 4)
        bytes = most < unit ? unit : most / unit * unit;
    nbcolli_spend(run, bytes);
    return bytes;
}

#endif
