/* SPDX-License-Identifier: BSD-3-Clause
 * Waiting for the part of an operation that belongs to its start: the lane START. */
#include "request.h"

#include "wait.h"
#include "../comm/requests.h"
#include "../progress/lock.h"
#include "../progress/progress.h"

/* Makes a pass. PENDING: steps of that lane are left. */
static nbcoll_status nbcolli_started_look(const nbcoll_request *request, nbcoll_context *c)
{
    if (nbcolli_is_forked(c))
        return NBCOLL_ERR_FORKED;
    if (!nbcolli_try_lock(c))
        return nbcolli_is_inside(c) ? NBCOLL_ERR_BUSY : NBCOLL_PENDING; /* somebody else is advancing it */
    nbcolli_request *r = nbcolli_request_find(*request);
    if (!r)
        return nbcolli_leave(c, nbcolli_was_reported(*request) ? NBCOLL_OK : NBCOLL_ERR_REQUEST);
    if (nbcolli_starting_left(r)) {
        c->driven.looked = 1;
        nbcolli_pass(c);
    }
    return nbcolli_leave_reporting(c, nbcolli_starting_left(r) ? NBCOLL_PENDING : NBCOLL_OK);
}

nbcoll_status nbcoll_wait_started(const nbcoll_request *request, uint64_t timeout)
{
    if (!request)
        return NBCOLL_ERR_NULL;
    nbcoll_context *c = nbcolli_context_of(*request);
    nbcolli_waiter w = {0};
    nbcoll_status s = c ? nbcolli_started_look(request, c) : NBCOLL_OK;

    while (s == NBCOLL_PENDING && nbcolli_waiter_pause(&w, &c, 1, timeout)) {
        /* Sleepers of a driven context are not told of steps: it yields, and passes go on. */
        if (nbcolli_is_driven(c) && (nbcolli_takes_turns(c) || w.vain > NBCOLLI_SPINS))
            w.vain = nbcolli_takes_turns(c) ? 1 : NBCOLLI_SPINS;
        s = nbcolli_started_look(request, c);
    }
    nbcolli_waiter_end(&w);
    return s == NBCOLL_PENDING ? NBCOLL_ERR_TIMEOUT : s;
}
