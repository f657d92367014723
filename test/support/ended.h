/* SPDX-License-Identifier: BSD-3-Clause
 * Looking at a request without a call of the library, which might progress it. */
#ifndef TEST_ENDED_H
#define TEST_ENDED_H

#include "nbcoll/nbcoll.h"

/* Has it ended, well or not? Then its buffers may be read, and a test tells how. */
static inline int has_ended(nbcoll_request request)
{
    uint32_t state = __atomic_load_n(&request.at->state, __ATOMIC_ACQUIRE); /* sees the buffers */
    return state != NBCOLLI_REQUEST_HANDED && state != NBCOLLI_REQUEST_ACTIVE;
}

#endif
