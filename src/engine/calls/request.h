/* SPDX-License-Identifier: BSD-3-Clause
 * Requests as the program sees them: test, wait and their plurals, callbacks, cancel, persistent ones. */
#ifndef NBCOLLI_ENGINE_CALLS_REQUEST_H
#define NBCOLLI_ENGINE_CALLS_REQUEST_H

#include "../state/context.h"

/* What test would say now; it changes nothing, and makes no pass. `idle`: there is nothing to wait for. */
nbcoll_status nbcolli_peek(const nbcoll_request *request, int *idle);

/* Of a blocking call: waits for the request that it has `started`, unless that was refused: returns so. Nobody else has
 * got its handle. It is released, or, at the timeout, left to itself, cancelled, so that the caller can forget it. */
nbcoll_status nbcolli_wait_or_leave(nbcoll_status started, nbcoll_request *request, uint64_t timeout);

/* The same for one that keeps a run, of which there is no handle yet. */
nbcoll_status nbcolli_wait_kept(nbcolli_request *r, uint64_t timeout);

#endif
