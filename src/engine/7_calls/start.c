/* SPDX-License-Identifier: BSD-3-Clause
 * Starting the schedules of a program's own making. */
#include "context.h"

#define MOST_PARTS 65534u /* that a reader's word can count */

static int shares_all(const nbcoll_schedule *s, nbcoll_comm *comm)
{
    int all = 1;
    for (nbcoll_step i = 0; i < s->steps; i++) {
        const nbcoll_step_view *v = &s->step[i];
        if (v->kind == NBCOLL_FETCH || v->kind == NBCOLL_FETCH_REDUCE)
            all &= nbcoll_comm_shares(comm, v->peer);
        for (uint32_t p = 0; v->kind == NBCOLL_EXPOSE && p < v->part_count; p++)
            all &= nbcoll_comm_shares(comm, v->parts[p].peer);
    }
    return all;
}

static nbcoll_status suits(nbcoll_schedule *s, const void *send, const void *recv, nbcoll_comm *comm)
{
    if (s->rank != comm->rank || s->ranks != comm->size)
        return NBCOLL_ERR_RANK;
    if ((s->extent[NBCOLL_BUFFER_SEND] && !send) || (s->extent[NBCOLL_BUFFER_RECV] && !recv))
        return NBCOLL_ERR_BUFFER;
    if (nbcolli_has_blocks(s) || (s->shared && !shares_all(s, comm)))
        return NBCOLL_ERR_UNSUPPORTED;
    if (s->shared && (s->cells > comm->config.cells || s->shown > (uint32_t)comm->size || s->widest > MOST_PARTS))
        return NBCOLL_ERR_LIMIT;
    return nbcolli_schedule_own(s, comm->context);
}

static nbcoll_status begin(nbcoll_schedule *s, const void *send, void *recv, nbcoll_comm *comm, int persistent,
                           nbcoll_request *request)
{
    if (!s || !comm || !request)
        return NBCOLL_ERR_NULL;
    nbcoll_status status = nbcolli_enter(comm->context);
    if (status != NBCOLL_OK)
        return status;
    status = suits(s, send, recv, comm);
    if (status == NBCOLL_OK)
        status = nbcolli_begin(s, send, recv, NULL, comm, persistent, request);
    return nbcolli_leave(comm->context, status);
}

nbcoll_status nbcolli_begin(nbcoll_schedule *s, const void *send, void *recv, const nbcolli_blocks *blocks,
                            nbcoll_comm *comm, int persistent, nbcoll_request *request)
{
    nbcolli_request *r = nbcolli_request_open(comm, s, send, recv);
    nbcoll_request handle;
    nbcoll_status status = NBCOLL_OK;

    if (!r)
        return NBCOLL_ERR_MEMORY;
    if (blocks)
        memcpy(r->blocks, blocks, sizeof r->blocks);
    handle = nbcolli_request_handle(comm->context, r);
    if (persistent) {
        r->persistent = 1;
        r->next_persistent = comm->persistent;
        comm->persistent = r;
    } else {
        status = nbcolli_request_start(r);
        if (status != NBCOLL_OK)
            nbcolli_request_release(comm->context, r);
    }
    if (status == NBCOLL_OK)
        *request = handle;
    return status;
}

nbcoll_status nbcoll_schedule_start(nbcoll_schedule *s, const void *send, void *recv, nbcoll_comm *comm,
                                    nbcoll_request *request)
{
    return begin(s, send, recv, comm, 0, request);
}

nbcoll_status nbcoll_schedule_init(nbcoll_schedule *s, const void *send, void *recv, nbcoll_comm *comm,
                                   nbcoll_request *request)
{
    return begin(s, send, recv, comm, 1, request);
}
