/* SPDX-License-Identifier: BSD-3-Clause
 * Relays as a program calls them. */
#include "../host/sleep.h"
#include "relays.h"

nbcoll_status nbcoll_relays_open(nbcoll_comm *comm, const nbcoll_relays_config *config, nbcoll_relays **out)
{
    static const nbcolli_relays_kind by_engines = {
        0,
        nbcolli_relays_move_on,
        nbcolli_relays_send,
        nbcolli_relays_open_no_more,
        nbcolli_relays_pause,
        nbcolli_relays_are_over,
        nbcolli_relays_free};
    nbcoll_relays_config own;
    nbcoll_host host;
    if (!comm || !out)
        return NBCOLL_ERR_NULL;
    nbcoll_status s = nbcolli_relays_copy_config(config, &own, &host);
    if (s == NBCOLL_OK)
        s = own.by_agents ? nbcolli_relays_make_agents(comm, &own, &host, out)
                          : nbcolli_relays_make(comm, &own, &host, &by_engines, out);
    return s == NBCOLL_OK && nbcolli_relays_carry(*out) ? nbcolli_relays_take_calls(*out) : s;
}

/* OK: an operation may begin. */
static nbcoll_status nbcolli_relays_may_begin(const nbcoll_relays *r)
{
    if (nbcolli_is_forked(r->context))
        return NBCOLL_ERR_FORKED;
    return nbcolli_relays_carry(r) ? NBCOLL_ERR_UNSUPPORTED : NBCOLL_OK;
}

nbcoll_status nbcoll_relays_allgather(nbcoll_relays *r, const void *send, void *recv, size_t bytes, uint64_t *operation)
{
    if (!r || !operation || (bytes && !recv))
        return NBCOLL_ERR_NULL;
    nbcoll_status s = nbcolli_relays_may_begin(r);
    if (s != NBCOLL_OK)
        return s;
    return nbcolli_relays_begin_operation(r, (nbcolli_relays_operation){.recv = recv, .bytes = bytes, .root = -1}, send,
                                          operation);
}

nbcoll_status nbcoll_relays_bcast(nbcoll_relays *r, void *buffer, size_t bytes, int root, uint64_t *operation)
{
    if (!r || !operation || (bytes && !buffer))
        return NBCOLL_ERR_NULL;
    if (root < 0 || root >= r->ranks)
        return NBCOLL_ERR_ROOT;
    nbcoll_status s = nbcolli_relays_may_begin(r);
    if (s != NBCOLL_OK)
        return s;
    return nbcolli_relays_begin_operation(r, (nbcolli_relays_operation){.recv = buffer, .bytes = bytes, .root = root},
                                          NULL, operation);
}

/* How it ended; PENDING. */
static nbcoll_status nbcolli_relays_outcome(const nbcoll_relays *r, uint64_t operation)
{
    const nbcolli_relays_operation *o = nbcolli_relays_operation_at(r, operation);
    if (r->status != NBCOLL_OK)
        return operation && (o->number != operation || !o->missing) ? NBCOLL_OK : r->status;
    return operation && o->number == operation && o->missing ? NBCOLL_PENDING : NBCOLL_OK;
}

nbcoll_status nbcoll_relays_test(nbcoll_relays *r, uint64_t operation)
{
    if (!r)
        return NBCOLL_ERR_NULL;
    if (nbcolli_is_forked(r->context))
        return NBCOLL_ERR_FORKED;
    if (nbcolli_relays_carry(r))
        return operation ? NBCOLL_ERR_REQUEST : nbcolli_relays_look(r);
    if (operation > r->last)
        return NBCOLL_ERR_REQUEST;
    r->kind->move(r);
    return nbcolli_relays_outcome(r, operation);
}

nbcoll_status nbcoll_relays_wait(nbcoll_relays *r, uint64_t operation, uint64_t timeout)
{
    if (!r)
        return NBCOLL_ERR_NULL;
    if (nbcolli_is_forked(r->context))
        return NBCOLL_ERR_FORKED;
    uint64_t deadline = nbcolli_deadline(&r->arena.host, timeout);
    nbcolli_waiter w = {0};
    nbcoll_status s;
    while ((s = nbcoll_relays_test(r, operation)) == NBCOLL_PENDING)
        if (!r->kind->pause(r, &w, deadline))
            return NBCOLL_ERR_TIMEOUT;
    nbcolli_waiter_end(&w);
    return s;
}

nbcoll_status nbcoll_relays_arrived(const nbcoll_relays *r, uint64_t operation, int rank)
{
    if (!r)
        return NBCOLL_ERR_NULL;
    if (rank < 0 || rank >= r->ranks)
        return NBCOLL_ERR_RANK;
    if (nbcolli_is_forked(r->context))
        return NBCOLL_ERR_FORKED;
    if (!operation || nbcolli_relays_carry(r) || operation > r->last)
        return NBCOLL_ERR_REQUEST;
    const nbcolli_relays_operation *o = nbcolli_relays_operation_at(r, operation);
    int has_come = o->number != operation || !nbcolli_relays_contributes(o, rank) || o->come[rank] == o->need;
    return has_come ? NBCOLL_OK : NBCOLL_PENDING;
}
