/* SPDX-License-Identifier: BSD-3-Clause
 *
 * With NBCOLL_INLINE defined before the first include, nbcoll_test and the first look of nbcoll_wait need no call in
 * three cases: the request is null; it is persistent and inactive; or it is persistent and ended, without a callback,
 * in a context of one thread. They then make no progress, run no callbacks, and answer so also inside a host function
 * that the library has called. nbcoll_start checks the handle inline. If the persistent request was replayed the last
 * time (drivers.md), and nothing else is outstanding in its context, it starts through its block. All else calls the
 * functions of those names, which exist with and without NBCOLL_INLINE: a test of an active request progresses, and
 * stale and forked handles are recognised.
 *
 * With NBCOLL_WITH_WIDE nbcoll_context_create gives a configuration that names no kernels those of nbcoll_wide
 * (wide.h).
 */
#include "nbcoll.h"

#if defined NBCOLL_WITH_WIDE && NBCOLL_WITH_WIDE
#include <string.h>

#include "wide.h"
#endif

#ifndef NBCOLL_INLINE_H
#define NBCOLL_INLINE_H

NBCOLLI_BEGIN

#ifdef NBCOLL_INLINE
/* The status, if one look at the request tells it; NBCOLL_PENDING: call the library. */
static inline nbcoll_status nbcolli_inline_look(const nbcoll_request *request)
{
    nbcoll_request_head *at;
    uint32_t state;

    if (!request)
        return NBCOLL_PENDING;
    at = request->at;
    if (!at)
        return NBCOLL_OK;
    state = __atomic_load_n(&at->state, __ATOMIC_ACQUIRE); /* sees the buffers of an ended one */
    if ((state != NBCOLLI_REQUEST_INACTIVE && state != NBCOLLI_REQUEST_OVER) ||
        __atomic_load_n(&at->generation, __ATOMIC_RELAXED) != request->generation || /* orders nothing */
        *((const nbcoll_start_block *)at)->process != 1)
        return NBCOLL_PENDING;
    if (state == NBCOLLI_REQUEST_INACTIVE)
        return NBCOLL_OK;
    __atomic_store_n(&at->state, (uint32_t)NBCOLLI_REQUEST_INACTIVE, __ATOMIC_RELAXED); /* of one thread */
    return (nbcoll_status)at->outcome;
}

static inline nbcoll_status nbcolli_inline_test(nbcoll_request *request)
{
    nbcoll_status s = nbcolli_inline_look(request);
    return s == NBCOLL_PENDING ? nbcoll_test(request) : s;
}

static inline nbcoll_status nbcolli_inline_wait(nbcoll_request *request, uint64_t timeout)
{
    nbcoll_status s = nbcolli_inline_look(request);
    return s == NBCOLL_PENDING ? nbcoll_wait(request, timeout) : s;
}

static inline nbcoll_status nbcolli_inline_start(nbcoll_request *request)
{
    nbcoll_start_block *at;
    nbcoll_status s = NBCOLL_AGAIN;

    if (!request || !request->at)
        return nbcoll_start(request);
    at = (nbcoll_start_block *)request->at;
    if (__atomic_load_n(&at->head.state, __ATOMIC_RELAXED) == NBCOLLI_REQUEST_INACTIVE && /* of one thread, or below */
        __atomic_load_n(&at->head.generation, __ATOMIC_RELAXED) == request->generation && /* orders nothing */
        at->restart && *at->process == 1)
        s = at->restart(at);
    return s == NBCOLL_AGAIN ? nbcoll_start(request) : s;
}

#endif

#if defined NBCOLL_WITH_WIDE && NBCOLL_WITH_WIDE
static inline nbcoll_status nbcolli_inline_create(uint32_t abi, const nbcoll_context_config *config,
                                                  nbcoll_context **out)
{
    nbcoll_context_config wide;

    if (config && config->size < sizeof config->size)
        return nbcoll_context_create(abi, config, out);
    memset(&wide, 0, sizeof wide);
    if (config)
        memcpy(&wide, config, config->size < sizeof wide ? config->size : sizeof wide);
    wide.size = sizeof wide;
    if (!wide.reducers)
        wide.reducers = nbcoll_wide();
    return nbcoll_context_create(abi, &wide, out);
}
#endif

NBCOLLI_END

#ifdef NBCOLL_INLINE
#undef nbcoll_test /* which NBCOLL_PREFIX may have renamed, above */
#undef nbcoll_wait
#undef nbcoll_start
#define nbcoll_test(request) nbcolli_inline_test(request)
#define nbcoll_wait(request, timeout) nbcolli_inline_wait(request, timeout)
#define nbcoll_start(request) nbcolli_inline_start(request)
#endif
#if defined NBCOLL_WITH_WIDE && NBCOLL_WITH_WIDE
#undef nbcoll_context_create
#define nbcoll_context_create(abi, config, out) nbcolli_inline_create(abi, config, out)
#endif

#endif
