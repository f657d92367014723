/* SPDX-License-Identifier: BSD-3-Clause */
#include "start.h"

#include "../exposures/cells.h"
#include "../run/called.h"
#include "../run/pool.h"
#include "../comm/executors.h"
#include "../comm/requests.h"
#include "../progress/lock.h"

/* A start reads and writes: the request's state, tag and run; the communicator's `broken` and `ended`, which progress
 * writes, `next_tag` and number of slots; the pool of its schedule's runs; and the context's `handed`. With fewer
 * operations under way than slots it takes a run, since it may get its slot at once. Else progress finds it one, or
 * ends it on all ranks. */
nbcoll_status nbcolli_request_start(nbcolli_request *r)
{
    nbcoll_comm *comm = r->comm;
    nbcoll_status broken = nbcolli_broken(comm);

    if (broken == NBCOLL_ERR_MISMATCH)
        nbcolli_called_refuse(comm, r->schedule);
    if (broken != NBCOLL_OK)
        return broken;
    if (comm->next_tag >> 48 >= comm->config.slots) /* readers' words have 48 bits for the tag's turn in its slot */
        return NBCOLL_ERR_LIMIT;
    r->tag = comm->next_tag;
    r->history = comm->history;
    /* relaxed: an older number is a smaller one */
    if (r->tag - atomic_load_explicit(&comm->ended, memory_order_relaxed) < comm->config.slots &&
        (r->run = nbcolli_run_arm(r)) == NULL)
        return NBCOLL_ERR_MEMORY;
    comm->next_tag++;
    comm->history = nbcolli_history_after(r->history, r->schedule->raised);
    atomic_store_explicit(&r->state, NBCOLLI_REQUEST_HANDED, memory_order_relaxed); /* nobody has its handle yet */
    nbcolli_hand(comm->context, r);
    return NBCOLL_OK;
}

void nbcolli_start_refused(nbcoll_comm *comm)
{
    if (nbcolli_broken(comm) == NBCOLL_ERR_MISMATCH)
        nbcolli_called_late(comm);
    comm->context->failure = comm->failure;
    comm->context->failure.status = nbcolli_broken(comm);
}

nbcoll_status nbcolli_start_failed(nbcoll_comm *comm, nbcoll_status s)
{
    if (s == NBCOLL_AGAIN) {
        nbcolli_executors_go(comm);
        return NBCOLL_OK;
    }
    if ((s == nbcolli_broken(comm) || comm->config.agent) && nbcolli_enter(comm->context) == NBCOLL_OK) {
        if (s == nbcolli_broken(comm))
            nbcolli_start_refused(comm);
        for (nbcolli_executor *e = comm->executors; e && s != nbcolli_broken(comm); e = e->next)
            if (e->does->refused)
                e->does->refused(e, s);
        nbcolli_unlock(comm->context);
    }
    return s;
}

nbcoll_status nbcolli_request_go(nbcolli_request *r)
{
    if (r->executor)
        return r->executor->does->start(r->executor, r);
    return r->schedule ? nbcolli_request_start(r) : NBCOLL_ERR_REQUEST; /* its executor has left */
}

nbcoll_status nbcolli_begin(nbcoll_comm *comm, nbcolli_request *r, int persistent, nbcoll_request *request)
{
    if (!r)
        return nbcolli_request_refused(comm->context);
    nbcoll_status s = NBCOLL_OK;
    if (persistent)
        nbcolli_request_list(comm, r);
    else if ((s = nbcolli_request_go(r)) != NBCOLL_OK && s != NBCOLL_AGAIN) {
        nbcolli_request_discard(r->context, r);
        return s;
    }
    *request = nbcolli_request_handle(r); /* progress cannot release it while the caller's side is held */
    return s;
}

static int nbcolli_shares_all(const nbcoll_schedule *s, nbcoll_comm *comm)
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

static nbcoll_status nbcolli_start_suits(nbcoll_schedule *s, const void *send, const void *recv, nbcoll_comm *comm)
{
    if (s->rank != comm->rank || s->ranks != comm->size)
        return NBCOLL_ERR_RANK;
    if ((s->extent[NBCOLL_BUFFER_SEND] && !send) || (s->extent[NBCOLL_BUFFER_RECV] && !recv))
        return NBCOLL_ERR_BUFFER;
    if (nbcolli_has_blocks(s) || (s->shared && !nbcolli_shares_all(s, comm)))
        return NBCOLL_ERR_UNSUPPORTED;
    return s->shared && !nbcolli_cells_suffice(comm, s) ? NBCOLL_ERR_LIMIT : nbcolli_schedule_own(s, comm->context);
}

static nbcoll_status nbcolli_start_begin(nbcoll_schedule *s, const void *send, void *recv, nbcoll_comm *comm,
                                         int persistent, nbcoll_request *request)
{
    nbcoll_status status = s && comm && request ? nbcolli_enter_caller(comm->context) : NBCOLL_ERR_NULL;
    if (status != NBCOLL_OK)
        return status;
    status = nbcolli_start_suits(s, send, recv, comm);
    if (status == NBCOLL_OK)
        status = nbcolli_begin(comm, nbcolli_request_open(comm, s, send, recv, 0), persistent, request);
    return nbcolli_start_over(comm, status);
}

nbcoll_status nbcoll_schedule_start(nbcoll_schedule *s, const void *send, void *recv, nbcoll_comm *comm,
                                    nbcoll_request *request)
{
    return nbcolli_start_begin(s, send, recv, comm, 0, request);
}

nbcoll_status nbcoll_schedule_init(nbcoll_schedule *s, const void *send, void *recv, nbcoll_comm *comm,
                                   nbcoll_request *request)
{
    return nbcolli_start_begin(s, send, recv, comm, 1, request);
}

nbcoll_status nbcoll_schedule_free(nbcoll_schedule *s)
{
    nbcoll_context *c = s ? s->owner : NULL;
    nbcoll_status status = c ? nbcolli_enter(c) : NBCOLL_OK;

    if (!s || status != NBCOLL_OK)
        return status;
    if (c) {
        nbcolli_caller_lock(c);
        if (s->users > 0)
            status = NBCOLL_ERR_BUSY;
        else
            nbcolli_schedule_disown(s);
        nbcolli_caller_unlock(c);
        nbcolli_unlock(c);
    }
    if (status == NBCOLL_OK)
        nbcolli_schedule_delete(s);
    return status;
}
