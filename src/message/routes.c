/* SPDX-License-Identifier: BSD-3-Clause
 * Messages that agents carry: see routes.h. */
#include "routes.h"

#include "../engine/comm/executors.h"
#include "../host/host.h"

/* ---- finding them ------------------------------------------------------------------------------------------------ */

nbcolli_triple *nbcolli_triple_find(const nbcoll_messages *m, int rank, uint32_t tag, int receives)
{
    for (uint32_t i = 0; i < m->triples; i++) {
        nbcolli_triple *x = &m->triple[i];
        if (x->rank == rank && x->tag == tag && x->receives == receives)
            return x;
    }
    return NULL;
}

/* Null: there is no place, or the agent has none. */
static nbcolli_triple *nbcolli_triple_new(nbcoll_messages *m, int rank, uint32_t tag, int receives, uint32_t number)
{
    nbcolli_triple *x = &m->triple[m->triples];
    nbcolli_route *route = m->triples < m->config.routes
                               ? m->by->open(m->comm->config.agent, rank, receives, number)
                               : NULL;
    if (!route)
        return NULL;
    *x = (nbcolli_triple){.route = route, .rank = rank, .tag = tag, .receives = receives, .number = route->number};
    m->triples++;
    m->at[rank].is_apart = 1;
    return x;
}

/* ---- their end --------------------------------------------------------------------------------------------------- */

void nbcolli_triple_end(nbcoll_messages *m, nbcolli_triple *x)
{
    int open = NBCOLLI_ROUTE_OPEN;

    if (x->state != NBCOLLI_TRIPLE_OPEN)
        return;
    x->state = NBCOLLI_TRIPLE_ENDING;
    m->ending++;
    nbcolli_executor_watch(&m->head);
    atomic_compare_exchange_strong(&x->route->state, &open, NBCOLLI_ROUTE_CLOSING); /* seq_cst: then it is woken */
    m->by->on(x->route);
}

/* A receive that no message will come for by the route: it waits as any, or is over. */
static void nbcolli_triple_give_back(nbcoll_messages *m, nbcolli_triple *x, nbcolli_request *r)
{
    nbcolli_transfer *t = r->executed.work;
    int is_cancelled = t && r->executed.is_cancelled;

    nbcolli_list_leave(&r->queued);
    if (t)
        nbcolli_transfer_free(m, t);
    if (is_cancelled)
        nbcolli_message_end(m, r, NBCOLL_ERR_CANCELLED, m->comm->rank);
    else if (m->at[x->rank].is_gone)
        nbcolli_message_end(m, r, NBCOLL_ERR_PEER_LOST, x->rank);
    else
        nbcolli_table_add(&m->context->host, &m->posted, &r->queued, nbcolli_receive_key(r));
}

/* To the receiver of what its sender's agent has closed. */
static void nbcolli_triple_say_ended(nbcoll_messages *m, const nbcolli_triple *x)
{
    if (!x->receives && !x->is_told && !nbcolli_has_departed(m->comm, x->rank))
        nbcolli_message_say(m, x->rank, NBCOLLI_MSG_ROUTED, x->number, NBCOLLI_ROUTE_ENDS | x->first);
}

/* The agent touches nothing of it any more. Of a receiver's it is settled then how many have come, and the sender is
 * told. */
static void nbcolli_triple_is_closed(nbcoll_messages *m, nbcolli_triple *x)
{
    x->ended = atomic_load_explicit(&x->route->ended, memory_order_relaxed); /* seen with its state */
    x->state = NBCOLLI_TRIPLE_CLOSED;
    m->ending--;
    m->by->free(x->route);
    x->route = NULL;
    nbcolli_triple_say_ended(m, x);
    if (!x->receives)
        return;
    x->taken = x->ended;
    x->is_told = 1;
    if (!nbcolli_has_departed(m->comm, x->rank))
        nbcolli_message_say(m, x->rank, NBCOLLI_MSG_ROUTED, x->number, x->taken);
    for (nbcolli_list_item *item = x->waiting.first, *next; item; item = next) {
        nbcolli_request *r = NBCOLLI_HOLDER(nbcolli_request, queued, item);
        const nbcolli_transfer *t = r->executed.work;
        next = item->next;
        if (!t || t->position >= x->taken || m->at[x->rank].is_gone)
            nbcolli_triple_give_back(m, x, r);
    }
}

int nbcolli_routes_go_on(nbcoll_messages *m)
{
    int moved = 0;

    for (uint32_t i = 0; i < m->triples; i++) {
        nbcolli_triple *x = &m->triple[i];
        /* acquire: all that came */
        if (x->route && atomic_load_explicit(&x->route->state, memory_order_acquire) == NBCOLLI_ROUTE_CLOSED) {
            nbcolli_triple_end(m, x); /* if it was not asked for: the agent, or the peer's, has failed */
            nbcolli_triple_is_closed(m, x);
            moved = 1;
        }
    }
    return moved;
}

int nbcolli_routes_arm(nbcoll_messages *m, int poller)
{
    int is_there = 0;

    for (uint32_t i = 0; i < m->triples; i++) /* relaxed: one that closes says so in the next look */
        is_there |= m->triple[i].route && atomic_load_explicit(&m->triple[i].route->state, memory_order_relaxed) !=
                                              NBCOLLI_ROUTE_CLOSED;
    if (poller < 0 && m->is_armed && is_there)
        m->by->unwatch(m->comm->config.agent);
    m->is_armed = poller >= 0 && is_there && m->by->watch(m->comm->config.agent, poller);
    return poller < 0 || m->is_armed || !is_there;
}

void nbcolli_routes_gone(nbcoll_messages *m, int rank)
{
    for (uint32_t i = 0; i < m->triples; i++) {
        nbcolli_triple *x = &m->triple[i];
        if (x->rank != rank)
            continue;
        nbcolli_triple_end(m, x);
        while (x->state == NBCOLLI_TRIPLE_CLOSED && x->waiting.first)
            nbcolli_triple_give_back(m, x, NBCOLLI_HOLDER(nbcolli_request, queued, x->waiting.first));
    }
}

void nbcolli_routes_free(nbcoll_messages *m)
{
    for (uint32_t i = 0; i < m->triples; i++) {
        nbcolli_triple *x = &m->triple[i];
        int open = NBCOLLI_ROUTE_OPEN;
        if (x->route) { /* seq_cst: then it is woken */
            atomic_compare_exchange_strong(&x->route->state, &open, NBCOLLI_ROUTE_CLOSING);
            m->by->on(x->route);
            m->by->free(x->route);
        }
        while (x->waiting.first) { /* abandoned */
            nbcolli_request *r = NBCOLLI_HOLDER(nbcolli_request, queued, x->waiting.first);
            nbcolli_list_leave(&r->queued);
            if (r->executed.work)
                nbcolli_transfer_free(m, r->executed.work);
        }
    }
    m->triples = 0;
}

/* ---- what is on them --------------------------------------------------------------------------------------------- */

int nbcolli_transfer_is_carried(nbcoll_messages *m, nbcolli_transfer *t)
{
    const nbcolli_triple *x = t->triple;
    /* acquire: what has come */
    uint64_t ended = x->route ? atomic_load_explicit(&x->route->ended, memory_order_acquire) : x->ended;

    if (t->position < ended && !t->is_refused)
        t->is_carried = 1;
    else if (x->state != NBCOLLI_TRIPLE_CLOSED)
        return 1;
    else if (x->is_told && !t->is_refused)
        t->is_carried = t->position < x->taken;
    else if (!t->is_refused && !m->at[x->rank].is_gone)
        return 1;
    t->triple = NULL;
    return 0;
}

/* 0: it has no room, or is closed. */
static int nbcolli_triple_post(nbcoll_messages *m, nbcolli_triple *x, nbcolli_transfer *t, size_t bytes)
{
    nbcolli_route *route = x->route;

    /* acquire: the agent has read what was there. relaxed: a close that is seen late gives back all */
    if (x->next - atomic_load_explicit(&route->ended, memory_order_acquire) == NBCOLLI_ROUTE_DEPTH ||
        atomic_load_explicit(&route->state, memory_order_relaxed) != NBCOLLI_ROUTE_OPEN)
        return 0;
    t->triple = x;
    t->position = x->next++;
    route->post[t->position % NBCOLLI_ROUTE_DEPTH] = (struct nbcolli_route_post){t->memory, bytes};
    atomic_store(&route->posted, x->next); /* seq_cst: then it is woken */
    m->by->on(route);
    return 1;
}

/* ---- sends ------------------------------------------------------------------------------------------------------- */

void nbcolli_route_send(nbcoll_messages *m, nbcolli_transfer *t, int may)
{
    uint32_t tag = (uint32_t)t->request->tag & NBCOLL_TAG_MOST;
    const nbcolli_correspondent *p = &m->at[t->rank];
    nbcolli_triple *x = nbcolli_triple_find(m, t->rank, tag, 0);

    if (!x && may && p->takes_routes && t->bytes > p->eager && (x = nbcolli_triple_new(m, t->rank, tag, 0, 0))) {
        x->bytes = t->bytes;
        x->first = t->number;
    }
    if (x && x->state == NBCOLLI_TRIPLE_OPEN &&
        !(may && t->bytes && t->bytes <= x->bytes && nbcolli_triple_post(m, x, t, t->bytes)))
        nbcolli_triple_end(m, x);
}

void nbcolli_route_told(nbcoll_messages *m, int rank, uint32_t number, uint64_t said)
{
    int ends = (said & NBCOLLI_ROUTE_ENDS) != 0;
    nbcolli_triple *x = m->triple, *end = m->triple + m->triples;

    while (x != end && (x->rank != rank || x->number != number || x->receives != ends))
        x++;
    if (x == end && ends)
        nbcolli_arrival_is_later(m, rank, (uint32_t)said);
    if (x == end || x->is_told)
        return;
    if (!ends) {
        x->is_told = 1;
        x->taken = said;
    }
    nbcolli_triple_end(m, x);
}

void nbcolli_routes_say_ended(nbcoll_messages *m, int rank)
{
    for (uint32_t i = 0; i < m->triples; i++)
        if (m->triple[i].rank == rank && m->triple[i].state == NBCOLLI_TRIPLE_CLOSED)
            nbcolli_triple_say_ended(m, &m->triple[i]);
}

void nbcolli_route_answered(nbcoll_messages *m, nbcolli_transfer *t)
{
    if (!t->triple)
        return;
    t->is_refused = 1;
    nbcolli_triple_end(m, t->triple);
}

/* ---- receives ---------------------------------------------------------------------------------------------------- */

/* The receive gets the next place. 0: it does not suit. */
static int nbcolli_route_receive(nbcoll_messages *m, nbcolli_triple *x, nbcolli_request *r)
{
    int suits = x->state == NBCOLLI_TRIPLE_OPEN && r->executed.bytes >= x->bytes && !r->executed.room;
    nbcolli_transfer *t = suits ? nbcolli_transfer_new(m, r, x->rank, x->bytes, 0) : NULL;

    if (!t)
        return 0;
    t->memory = r->recv;
    if (nbcolli_triple_post(m, x, t, x->bytes))
        return 1;
    nbcolli_transfer_free(m, t);
    return 0;
}

int nbcolli_route_take(nbcoll_messages *m, nbcolli_request *r)
{
    uint32_t tag = (uint32_t)r->tag;
    nbcolli_triple *x =
        tag == NBCOLLI_TAG_ANY ? NULL : nbcolli_triple_find(m, r->executed.root, tag & NBCOLL_TAG_MOST, 1);

    if (!x || x->state == NBCOLLI_TRIPLE_CLOSED)
        return 0;
    if (x->next < x->come || !nbcolli_route_receive(m, x, r))
        nbcolli_triple_end(m, x);
    r->executed.number = m->posts++;
    nbcolli_list_add(&x->waiting, &r->queued);
    return 1;
}

void nbcolli_routes_are_open_to(nbcoll_messages *m, int source, uint32_t tag)
{
    for (uint32_t i = 0; i < m->triples; i++) {
        nbcolli_triple *x = &m->triple[i];
        if (x->receives && (source == NBCOLL_ANY_SOURCE || source == x->rank) &&
            (tag == NBCOLLI_TAG_ANY || (tag & NBCOLL_TAG_MOST) == x->tag))
            nbcolli_triple_end(m, x);
    }
}

/* ---- arrivals ---------------------------------------------------------------------------------------------------- */

static nbcolli_carriage nbcolli_carriage_of(const nbcolli_arrival *l)
{
    nbcolli_carriage c;
    memcpy(&c, l->payload, sizeof c);
    return c;
}

/* The first message of a triple that is to be carried: from now on all of its receives have places there. Null: it is
 * not, as its sender is told. */
static nbcolli_triple *nbcolli_route_begins(nbcoll_messages *m, const nbcolli_arrival *l, uint32_t number)
{
    uint32_t tag = (uint32_t)l->tag;
    int is_open = nbcolli_receive_wild(m, l->source, tag) != NULL;
    nbcolli_triple *x = is_open ? NULL : nbcolli_triple_new(m, l->source, tag, 1, number);
    nbcolli_request *r;

    if (!x) {
        nbcolli_message_say(m, l->source, NBCOLLI_MSG_ROUTED, number, 0);
        return NULL;
    }
    x->bytes = l->bytes;
    while ((r = nbcolli_receive_first(m, l->source, tag))) {
        nbcolli_table_leave(&m->posted, &r->queued);
        nbcolli_list_add(&x->waiting, &r->queued);
        if (!nbcolli_route_receive(m, x, r))
            nbcolli_triple_end(m, x);
    }
    return x;
}

void nbcolli_route_arrives(nbcoll_messages *m, nbcolli_arrival *l)
{
    nbcolli_triple *x = nbcolli_triple_find(m, l->source, (uint32_t)l->tag, 1);
    int is_carried = l->kind == NBCOLLI_MSG_CARRIED;
    nbcolli_carriage c = is_carried ? nbcolli_carriage_of(l) : (nbcolli_carriage){0};

    if (!x && is_carried && !c.position)
        x = nbcolli_route_begins(m, l, c.number);
    if (x && is_carried && c.number == x->number && c.position == x->come && l->bytes <= x->bytes) {
        x->come++;
        return;
    }
    if (x)
        nbcolli_triple_end(m, x);
    if (is_carried) {
        l->kind = NBCOLLI_MSG_ANNOUNCED;
        l->held = 0;
    }
}

nbcolli_transfer *nbcolli_route_joins(nbcoll_messages *m, nbcolli_request *r, const nbcolli_arrival *l)
{
    nbcolli_triple *x = nbcolli_triple_find(m, l->source, (uint32_t)l->tag, 1);

    if (nbcolli_carriage_of(l).position == x->next && nbcolli_route_receive(m, x, r))
        return r->executed.work;
    nbcolli_triple_end(m, x);
    return NULL;
}
