/* SPDX-License-Identifier: BSD-3-Clause
 * Calls of the communicator as relays have them, which are its executor then. Such a call takes no tag and no slot: the
 * relays keep the order of the starts. A start adds the request to a list, from which a mover takes it; who cancels it
 * says so in the request. Both then let the relays go, when they hold no lock of the context's. */
#include "../engine/run/fail.h"
#include "../engine/run/queue.h"
#include "../engine/comm/requests.h"
#include "../engine/progress/lock.h"
#include "../offload/executor.h"
#include "../reduce/reduce.h"
#include "../select/select.h"
#include "relays.h"

/* Relays of the communicator that carry out its calls. */
static const nbcolli_executor *nbcolli_relays_there(const nbcoll_comm *comm)
{
    const nbcolli_executor *e = comm->executors;
    while (e && !e->does->takes)
        e = e->next;
    return e;
}

nbcoll_status nbcolli_relays_open_notice(nbcoll_relays *r, nbcoll_done *noticed)
{
    nbcoll_context *c = r->context;
    nbcoll_status s = nbcolli_enter(c);
    if (s != NBCOLL_OK)
        return s;
    nbcolli_caller_lock(c);
    int is_busy = nbcolli_relays_there(r->comm) != NULL;
    nbcolli_request *q = is_busy ? NULL : nbcolli_request_open(r->comm, NULL, NULL, NULL, 0);
    if (q) {
        nbcolli_request_list(r->comm, q);
        q->done = noticed;
        q->user = r;
    } else
        s = is_busy ? NBCOLL_ERR_BUSY : nbcolli_request_refused(c);
    r->notice = q;
    nbcolli_caller_unlock(c);
    return nbcolli_leave(c, s);
}

void nbcolli_relays_close_notice(nbcoll_relays *r)
{
    nbcoll_context *c = r->context;
    if (!r->notice || nbcolli_enter(c) != NBCOLL_OK)
        return;
    c->active -= r->executor.looked.in != NULL;
    nbcolli_list_leave(&r->executor.looked);
    c->is_unheard = 0;
    nbcolli_request_release(c, r->notice);
    r->notice = NULL;
    nbcolli_unlock(c);
}

nbcoll_status nbcolli_relays_accept_calls(nbcoll_relays *r)
{
    nbcoll_comm *comm = r->comm;
    nbcoll_status s = nbcolli_enter(r->context);
    if (s != NBCOLL_OK)
        return s;
    nbcolli_caller_lock(r->context);
    if (nbcolli_relays_there(comm))
        s = NBCOLL_ERR_BUSY;
    else {
        nbcolli_executor_join(&r->executor);
        atomic_store_explicit(&comm->carries, r->config.carries + 1, memory_order_relaxed); /* for itself */
        memset(comm->cache.memo, 0, sizeof comm->cache.memo); /* such calls are not to find schedules at once */
    }
    if (s == NBCOLL_OK && r->config.by_agents) {
        nbcolli_executor_watch(&r->executor);
        r->context->active++; /* so that passes are made */
    }
    nbcolli_caller_unlock(r->context);
    return nbcolli_leave(r->context, s);
}

nbcoll_status nbcolli_relays_refuse_calls(nbcoll_relays *r)
{
    nbcoll_comm *comm = r->comm;
    nbcoll_status s = nbcolli_enter(r->context);
    if (s != NBCOLL_OK)
        return s;
    nbcolli_caller_lock(r->context);
    nbcolli_executor_leave(&r->executor);
    atomic_store_explicit(&comm->carries, 0, memory_order_relaxed); /* for itself */
    memset(comm->cache.memo, 0, sizeof comm->cache.memo);
    for (const nbcolli_list_item *item = comm->persistent.first; item; item = item->next) {
        nbcolli_request *q = NBCOLLI_HOLDER(nbcolli_request, listed, item);
        if (q->executor == &r->executor)
            q->executor = NULL; /* it is not started any more */
    }
    nbcolli_caller_unlock(r->context);
    return nbcolli_leave(r->context, NBCOLL_OK);
}

/* ---- what the engine asks -------------------------------------------------------------------------------------- */

static int nbcolli_relays_by_rules(const nbcoll_comm *comm, const nbcoll_args *a)
{
    nbcoll_terms terms = {.size = sizeof terms};
    nbcoll_choice choice = {.size = sizeof choice};
    nbcoll_comm_terms(comm, &terms);
    return !(comm->config.flags & NBCOLL_CHECKED) && nbcoll_select(&terms, a, &choice) == NBCOLL_OK &&
           choice.algorithm == nbcolli_algorithm_relays(a->operation);
}

/* Without rules the length alone decides, so that all ranks do alike; with them the choice, which is noted: it takes
 * 110 to 160 ns. */
int nbcolli_relays_take_call(nbcolli_executor *e, const nbcoll_args *a)
{
    nbcoll_relays *r = nbcolli_relays_of(e);
    if (a->bytes > r->config.carries || !nbcolli_algorithm_relays(a->operation))
        return 0;
    if (!e->comm->config.rule_count)
        return 1;
    nbcolli_relays_call_note *n = &r->note[(a->bytes / 8 + (size_t)a->operation) % NBCOLLI_RELAYS_CALL_NOTES];
    if (!n->is_known || n->bytes != a->bytes || n->count != a->count || n->operation != (int)a->operation ||
        n->root != a->root || n->packs != a->packs)
        *n = (nbcolli_relays_call_note){
            a->bytes, a->count, (int)a->operation, a->root, a->packs, 1, nbcolli_relays_by_rules(e->comm, a)};
    return n->is_carried;
}

/* Before a call whose elements travel packed, and before each start of one. ERR_MEMORY: nothing has happened. */
static nbcoll_status nbcolli_relays_prepare_call(nbcoll_relays *r, nbcoll_type type)
{
    return nbcolli_packs(type) ? nbcolli_relays_prepare_packed(r) : NBCOLL_OK;
}

nbcoll_status nbcolli_relays_open_call(nbcolli_executor *e, nbcolli_request *q, const nbcoll_args *a)
{
    q->executed.bytes = a->bytes;
    q->executed.root = a->operation == NBCOLL_OPERATION_BCAST ? a->root : -1;
    q->blocks[1].count = a->count;
    q->blocks[1].type = a->reduction.type;
    q->blocks[1].element = nbcoll_type_size(a->reduction.type);
    return nbcolli_relays_prepare_call(nbcolli_relays_of(e), a->reduction.type);
}

nbcoll_status nbcolli_relays_start_call(nbcolli_executor *e, nbcolli_request *q)
{
    nbcoll_relays *r = nbcolli_relays_of(e);
    nbcoll_status s = nbcolli_relays_prepare_call(r, q->blocks[1].type);
    if (s != NBCOLL_OK)
        return s;
    q->status = NBCOLL_PENDING;
    atomic_store_explicit(&q->executed.is_cancelled, 0, memory_order_relaxed); /* shown with the request */
    atomic_store_explicit(&q->executed.awaited, -1, memory_order_relaxed);     /* shown with the request */
    atomic_fetch_add_explicit(&r->under_way, 1, memory_order_relaxed);         /* shown by the next */
    atomic_store_explicit(&q->state, NBCOLLI_REQUEST_ACTIVE, memory_order_relaxed);
    q->next = atomic_load_explicit(&r->started, memory_order_relaxed);
    /* release: shows the request to who takes it */
    while (!atomic_compare_exchange_weak_explicit(&r->started, &q->next, q, memory_order_release, memory_order_relaxed))
        ;
    return NBCOLL_AGAIN;
}

void nbcolli_relays_cancel_call(nbcolli_executor *e, nbcolli_request *q, int tell)
{
    (void)tell;
    /* relaxed, both: whoever sets them lets the relays go */
    atomic_store_explicit(&q->executed.is_cancelled, 1, memory_order_relaxed);
    atomic_store_explicit(&nbcolli_relays_of(e)->has_cancelled, 1, memory_order_relaxed);
}

/* ---- what movers take and end ---------------------------------------------------------------------------------- */

nbcolli_request *nbcolli_relays_started_calls(nbcoll_relays *r)
{
    /* relaxed: who adds lets the relays go after that; acquire: sees the requests */
    if (!atomic_load_explicit(&r->started, memory_order_relaxed) || nbcolli_enter(r->context) != NBCOLL_OK)
        return NULL;
    nbcolli_request *newest = atomic_exchange_explicit(&r->started, NULL, memory_order_acquire), *first = NULL;
    while (newest) {
        nbcolli_request *q = newest;
        newest = q->next;
        q->next = first;
        first = q;
        nbcolli_request_taken(q);
    }
    nbcolli_unlock(r->context);
    return first;
}

void nbcolli_relays_end_call(nbcoll_relays *r, nbcolli_request *q, nbcoll_status status)
{
    if (nbcolli_enter(r->context) != NBCOLL_OK)
        return;
    r->context->executed = 1;
    atomic_fetch_sub_explicit(&r->under_way, 1, memory_order_relaxed); /* shown with the request's end */
    nbcolli_executed_end(q, status);
    nbcolli_unlock(r->context);
}
