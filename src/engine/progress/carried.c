/* SPDX-License-Identifier: BSD-3-Clause
 * Operations that a communicator's carrier carries out: see carried.h. */
#include "carried.h"

#include "lock.h"
#include "../state/failure.h"
#include "../run/queue.h"
#include "../comm/requests.h"
#include "../../reduce/reduce.h"
#include "../../select/select.h"

nbcoll_status nbcolli_carrier_open(nbcoll_comm *comm, nbcolli_carrier *carrier)
{
    nbcoll_context *c = comm->context;
    nbcoll_status s = nbcolli_enter(c);
    if (s != NBCOLL_OK)
        return s;
    nbcolli_caller_lock(c);
    nbcolli_request *r = comm->carrier ? NULL : nbcolli_request_open(comm, NULL, NULL, NULL, 0);
    if (r) {
        nbcolli_request_list(comm, r);
        r->is_heeded = 1;
        r->done = carrier->noticed;
        r->user = carrier;
    } else
        s = comm->carrier ? NBCOLL_ERR_BUSY : nbcolli_request_refused(c);
    carrier->notice = r;
    nbcolli_caller_unlock(c);
    return nbcolli_leave(c, s);
}

void nbcolli_carrier_close(nbcoll_comm *comm, nbcolli_carrier *carrier)
{
    nbcoll_context *c = comm->context;
    if (!carrier->notice || nbcolli_enter(c) != NBCOLL_OK)
        return;
    for (nbcolli_carrier **at = &c->carriers; *at; at = &(*at)->next)
        if (*at == carrier) {
            *at = carrier->next;
            c->active--;
            break;
        }
    c->is_unheard = 0;
    nbcolli_request_release(c, carrier->notice);
    carrier->notice = NULL;
    nbcolli_unlock(c);
}

nbcoll_status nbcolli_comm_carry(nbcoll_comm *comm, nbcolli_carrier *carrier)
{
    nbcoll_context *c = comm->context;
    nbcoll_status s = nbcolli_enter(c);
    if (s != NBCOLL_OK)
        return s;
    nbcolli_caller_lock(c);
    if (carrier && comm->carrier)
        s = NBCOLL_ERR_BUSY;
    else {
        comm->carrier = carrier;
        if (carrier && carrier->look) {
            carrier->next = c->carriers;
            c->carriers = carrier;
            c->active++;
        }
        atomic_store_explicit(&comm->carries, carrier ? carrier->most + 1 : 0, memory_order_relaxed); /* for itself */
    }
    for (uint32_t i = 0; s == NBCOLL_OK && i < NBCOLLI_NOTES; i++) /* those lead to schedules */
        comm->cache.memo[i] = (nbcolli_call_note){0};
    nbcolli_caller_unlock(c);
    return nbcolli_leave(c, s);
}

static int nbcolli_rules_carry(const nbcoll_comm *comm, const nbcoll_args *a)
{
    nbcoll_terms terms = {.size = sizeof terms};
    nbcoll_choice choice = {.size = sizeof choice};
    nbcoll_comm_terms(comm, &terms);
    return !(comm->config.flags & NBCOLL_CHECKED) && nbcoll_select(&terms, a, &choice) == NBCOLL_OK &&
           choice.algorithm == nbcolli_algorithm_relays(a->operation);
}

/* Without rules the length alone decides; with them the choice, which is noted: it takes 110 to 160 ns. */
int nbcolli_is_to_be_carried(const nbcoll_comm *comm, const nbcoll_args *a)
{
    nbcolli_carrier *carrier = comm->carrier;
    if (!carrier || a->bytes > carrier->most || !nbcolli_algorithm_relays(a->operation))
        return 0;
    if (!comm->config.rule_count)
        return 1;
    nbcolli_carry_note *n = &carrier->note[(a->bytes / 8 + (size_t)a->operation) % NBCOLLI_CARRY_NOTES];
    if (!n->is_known || n->bytes != a->bytes || n->count != a->count || n->operation != (int)a->operation ||
        n->root != a->root || n->packs != a->packs)
        *n = (nbcolli_carry_note){
            a->bytes, a->count, (int)a->operation, a->root, a->packs, 1, nbcolli_rules_carry(comm, a)};
    return n->is_carried;
}

nbcoll_status nbcolli_carried_prepare(const nbcoll_comm *comm, nbcoll_type type)
{
    return nbcolli_packs(type) ? comm->carrier->prepare_packed(comm->carrier) : NBCOLL_OK;
}

nbcolli_request *nbcolli_carried_open(nbcoll_comm *comm, const nbcoll_args *a, const void *send, void *recv,
                                      size_t extent)
{
    nbcolli_request *r = nbcolli_request_open(comm, NULL, send, recv, extent);
    if (!r)
        return NULL;
    r->block = a->bytes;
    r->blocks[1].count = a->count;
    r->blocks[1].type = a->reduction.type;
    r->blocks[1].element = nbcoll_type_size(a->reduction.type);
    r->root = a->operation == NBCOLL_OPERATION_BCAST ? a->root : -1;
    return r;
}

nbcoll_status nbcolli_carried_start(nbcolli_request *r)
{
    nbcolli_carrier *carrier = r->comm->carrier;
    if (!carrier || r->block > carrier->most)
        return NBCOLL_ERR_REQUEST;
    nbcoll_status s = nbcolli_carried_prepare(r->comm, r->blocks[1].type);
    if (s != NBCOLL_OK)
        return s;
    r->status = NBCOLL_PENDING;
    atomic_store_explicit(&r->is_revoked, 0, memory_order_relaxed); /* shown with the request */
    atomic_store_explicit(&r->awaited, -1, memory_order_relaxed); /* shown with the request */
    atomic_fetch_add_explicit(&carrier->under_way, 1, memory_order_relaxed); /* shown by the next */
    atomic_store_explicit(&r->state, NBCOLLI_REQUEST_ACTIVE, memory_order_relaxed);
    r->next = atomic_load_explicit(&carrier->started, memory_order_relaxed);
    /* release: shows the request to who takes it */
    while (!atomic_compare_exchange_weak_explicit(&carrier->started, &r->next, r, memory_order_release,
                                                  memory_order_relaxed))
        ;
    return NBCOLL_AGAIN;
}

nbcolli_request *nbcolli_carried_take(nbcoll_context *c, nbcolli_carrier *carrier)
{
    /* relaxed: who adds lets the carrier go after that; acquire: sees the requests */
    if (!atomic_load_explicit(&carrier->started, memory_order_relaxed) || nbcolli_enter(c) != NBCOLL_OK)
        return NULL;
    nbcolli_request *newest = atomic_exchange_explicit(&carrier->started, NULL, memory_order_acquire), *first = NULL;
    while (newest) {
        nbcolli_request *r = newest;
        newest = r->next;
        r->next = first;
        first = r;
        r->comm->active++;
        c->active++;
    }
    nbcolli_unlock(c);
    return first;
}

void nbcolli_carried_end(nbcolli_carrier *carrier, nbcolli_request *r, nbcoll_status status)
{
    nbcoll_comm *comm = r->comm;
    nbcoll_context *c = comm->context;
    if (nbcolli_enter(c) != NBCOLL_OK)
        return;
    if (status != NBCOLL_OK && !r->detached) /* of that one its deadline has been noted */
        nbcolli_note_failure(comm, status, -1, comm->taken);
    comm->active--;
    c->active--;
    c->carried = 1;
    atomic_fetch_sub_explicit(&carrier->under_way, 1, memory_order_relaxed); /* shown with the request's end */
    r->status = status;
    nbcolli_request_end(c, r);
    nbcolli_unlock(c);
}

nbcolli_carrier *nbcolli_carried_cancel(nbcolli_request *r)
{
    nbcolli_carrier *carrier = nbcolli_is_carried(r) ? r->comm->carrier : NULL;
    if (carrier) { /* relaxed, both: whoever sets them lets it go */
        atomic_store_explicit(&r->is_revoked, 1, memory_order_relaxed);
        atomic_store_explicit(&carrier->is_cancelled, 1, memory_order_relaxed);
    }
    return carrier;
}
