/* SPDX-License-Identifier: BSD-3-Clause
 * The calls that shrink a communicator. */
#include "request.h"
#include "../comm/comm.h"
#include "../comm/requests.h"
#include "../match/agree.h"
#include "../progress/lock.h"
#include "../progress/progress.h"

static nbcoll_status nbcolli_shrink_begin(nbcoll_comm *comm, nbcoll_comm **out, nbcoll_request *request)
{
    nbcoll_context *c = comm->context;
    nbcolli_link *link = comm->link;
    nbcoll_comm *made;

    if (!nbcolli_shrink_fits(comm) || UINT32_MAX - link->serial <= (uint32_t)comm->size)
        return NBCOLL_ERR_LIMIT;
    nbcoll_comm_config config = comm->config;
    config.agent = NULL;
    nbcoll_status status = nbcolli_comm_open(link, &config, comm->size, NULL, &made);
    if (status != NBCOLL_OK)
        return status;
    nbcolli_caller_lock(c);
    nbcolli_request *r = nbcolli_request_open(comm, NULL, NULL, NULL, 0);
    status = nbcolli_request_refused(c); /* unless there is one */
    nbcolli_caller_unlock(c);
    if (r)
        status = nbcolli_shrink_start(comm, made, r);
    if (status != NBCOLL_OK) {
        if (r)
            nbcolli_request_release(c, r);
        nbcolli_comm_destroy(made);
        return status;
    }
    r->creating = made;
    r->is_heeded = 1;
    made->out = out;
    r->status = NBCOLL_PENDING;
    atomic_store_explicit(&r->state, NBCOLLI_REQUEST_ACTIVE, memory_order_relaxed); /* its handle is not out yet */
    *request = nbcolli_request_handle(r);
    nbcolli_drain(c);
    return NBCOLL_OK;
}

nbcoll_status nbcoll_comm_ishrink(nbcoll_comm *comm, nbcoll_comm **out, nbcoll_request *request)
{
    nbcoll_status s = comm && out && request ? nbcolli_enter(comm->context) : NBCOLL_ERR_NULL;
    return s == NBCOLL_OK ? nbcolli_leave(comm->context, nbcolli_shrink_begin(comm, out, request)) : s;
}

nbcoll_status nbcoll_comm_shrink(nbcoll_comm *comm, nbcoll_comm **out, uint64_t timeout)
{
    nbcoll_request request;
    return nbcolli_wait_or_leave(nbcoll_comm_ishrink(comm, out, &request), &request, timeout);
}
