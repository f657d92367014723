/* SPDX-License-Identifier: BSD-3-Clause
 * Requests as the program sees them: test, wait and their plurals, callbacks, cancel, persistent ones. */
#ifndef NBCOLLI_ENGINE_CALLS_REQUEST_H
#define NBCOLLI_ENGINE_CALLS_REQUEST_H

#include "../comm/requests.h"

/* The status that nbcoll_test would return now. Changes nothing, and makes no pass. AGAIN: nbcoll_test would return OK
 * for a request that is null, inactive or already reported. */
nbcoll_status nbcolli_peek(nbcoll_request request);

/* For a blocking call, whose start returned `started`: returns that if it is an error; else waits. Nobody else has the
 * handle. The request is released; at the timeout it is cancelled, and releases itself later. */
nbcoll_status nbcolli_wait_or_leave(nbcoll_status started, nbcoll_request *request, uint64_t timeout);

/* The same for a request that keeps a run, and has no handle yet. */
nbcoll_status nbcolli_wait_kept(nbcolli_request *r, uint64_t timeout);

#endif
