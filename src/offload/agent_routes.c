/* SPDX-License-Identifier: BSD-3-Clause
 * Routes: queue pairs on which an agent carries messages (../message/route.h). What the rank posts there is given to
 * the transport in that order; what has ended is counted. When one is closed, for whatever reason, nothing of the
 * rank's is touched any more, and what had come by then is counted. The rank goes on without. */
#include "agent.h"

/* Above the numbers of programs, below those of relays: which one of its sender's, and whether that is the lower
 * rank. */
#define NBCOLLI_AGENT_ROUTES (1u << 30)

/* ---- the rank's -------------------------------------------------------------------------------------------------- */

nbcolli_route *nbcolli_agent_route(nbcoll_agent *a, int peer, int receives, uint32_t number)
{
    /* relaxed, both: a failure that is seen late closes the route */
    if (a->attached || atomic_load_explicit(&a->failed, memory_order_relaxed) != NBCOLL_OK ||
        atomic_load_explicit(&a->is_cancelled, memory_order_relaxed))
        return NULL;
    nbcolli_agent_route_end *e = nbcolli_alloc(&a->host, sizeof *e, 64);
    if (!e)
        return NULL;
    memset(e, 0, sizeof *e);
    e->host = a->host;
    nbcolli_route *r = &e->head;
    r->agent = a;
    r->peer = peer;
    r->receives = receives;
    r->number = receives ? number : NBCOLLI_AGENT_ROUTES + 2 * (a->routed++ % (NBCOLLI_AGENT_ROUTES / 2)) +
                                        (a->rank < peer);
    atomic_init(&r->holders, 2);
    r->next = atomic_load_explicit(&a->lent, memory_order_relaxed); /* compared below */
    while (!atomic_compare_exchange_weak(&a->lent, &r->next, r)) /* seq_cst: as programs are handed over */
        ;
    nbcolli_agent_rouse(a);
    return r;
}

void nbcolli_agent_route_on(nbcolli_route *r)
{
    if (atomic_load_explicit(&r->state, memory_order_relaxed) != NBCOLLI_ROUTE_CLOSED) /* the agent is there */
        nbcolli_agent_rouse(r->agent);
}

void nbcolli_agent_route_free(nbcolli_route *r)
{
    nbcolli_agent_route_end *e = (nbcolli_agent_route_end *)(void *)r;
    nbcoll_host host = e->host;
    /* acq_rel: who frees it sees what the other one did */
    if (atomic_fetch_sub_explicit(&r->holders, 1, memory_order_acq_rel) == 1)
        nbcolli_free(&host, e, sizeof *e);
}

/* ---- the agent's ------------------------------------------------------------------------------------------------- */

static void nbcolli_agent_route_ended(nbcoll_agent *a, nbcolli_agent_route_end *e)
{
    if (a->memory && a->memory->deregister_memory)
        a->memory->deregister_memory(a->ep, &e->registered[e->ended % NBCOLLI_ROUTE_DEPTH]);
    e->ended++;
}

static void nbcolli_agent_route_close(nbcoll_agent *a, nbcolli_agent_route_end *e)
{
    if (e->queue)
        a->call.close(a->ep, e->queue, NULL);
    while (e->queue && e->ended < e->begun && a->call.wait(a->ep, e->completions, 1) == NBCOLL_OK)
        nbcolli_agent_route_ended(a, e);
    uint64_t ended = e->ended;
    while (e->ended < e->begun)
        nbcolli_agent_route_ended(a, e);
    if (e->completions)
        a->call.close(a->ep, NULL, e->completions);
    atomic_store(&e->head.ended, ended); /* seq_cst, as the state: either the rank sees it before it sleeps, or it is */
    atomic_store(&e->head.state, NBCOLLI_ROUTE_CLOSED); /* seen here that it does */
    nbcolli_alarm_ring(&a->alarm);
    nbcolli_agent_route_free(&e->head);
}

static nbcoll_status nbcolli_agent_route_open(nbcoll_agent *a, nbcolli_agent_route_end *e)
{
    nbcoll_queue_config config = {.size = sizeof config, .peer = e->head.peer, .number = e->head.number,
                                  .depth = NBCOLLI_ROUTE_DEPTH};
    nbcoll_status s = a->call.open_cq(a->ep, NBCOLLI_ROUTE_DEPTH, &e->completions);
    if (s != NBCOLL_OK) {
        e->completions = NULL;
        return s;
    }
    config.sent = e->head.receives ? NULL : e->completions;
    config.received = e->head.receives ? e->completions : NULL;
    s = a->call.open_queue(a->ep, &config, &e->queue);
    if (s != NBCOLL_OK)
        e->queue = NULL;
    return s;
}

static nbcoll_status nbcolli_agent_route_begin(nbcoll_agent *a, nbcolli_agent_route_end *e)
{
    const struct nbcolli_route_post *post = &e->head.post[e->begun % NBCOLLI_ROUTE_DEPTH];
    nbcoll_registration *registered = &e->registered[e->begun % NBCOLLI_ROUTE_DEPTH];
    nbcoll_posting p = {.kind = e->head.receives ? NBCOLL_POSTING_RECEIVE : NBCOLL_POSTING_SEND,
                        .signal = !e->head.receives,
                        .memory = post->at,
                        .bytes = post->bytes};
    nbcoll_status s = NBCOLL_OK;
    if (a->memory) {
        s = a->memory->register_memory(a->ep, -1, post->at, post->bytes, NBCOLL_LOCAL_END, registered);
        p.local = registered;
    }
    if (s != NBCOLL_OK)
        return s;
    e->begun++; /* registered; if it is not posted all ends */
    return a->call.post(a->ep, e->queue, &p);
}

/* 0: it is closed. */
static int nbcolli_agent_route_move(nbcoll_agent *a, nbcolli_agent_route_end *e, int *moved)
{
    nbcolli_route *r = &e->head;
    nbcoll_status s = (nbcoll_status)atomic_load_explicit(&a->failed, memory_order_relaxed); /* the agent's own */
    uint64_t ended = e->ended;

    if (atomic_load_explicit(&r->state, memory_order_relaxed) == NBCOLLI_ROUTE_CLOSING) /* a wish */
        s = NBCOLL_ERR_CANCELLED;
    uint64_t posted = atomic_load_explicit(&r->posted, memory_order_acquire); /* sees the posts */
    if (s == NBCOLL_OK && !e->queue)
        s = nbcolli_agent_route_open(a, e);
    for (; s == NBCOLL_OK && e->begun < posted; *moved = 1)
        s = nbcolli_agent_route_begin(a, e);
    if (s == NBCOLL_OK)
        while ((s = a->call.wait(a->ep, e->completions, 1)) == NBCOLL_OK)
            nbcolli_agent_route_ended(a, e);
    *moved |= e->ended != ended || s != NBCOLL_PENDING;
    if (s != NBCOLL_PENDING) {
        nbcolli_agent_route_close(a, e);
        return 0;
    }
    if (e->ended != ended) {
        atomic_store(&r->ended, e->ended); /* seq_cst: see the close */
        nbcolli_alarm_ring(&a->alarm);
    }
    return 1;
}

static void nbcolli_agent_routes_take(nbcoll_agent *a)
{
    nbcolli_route *r = atomic_exchange_explicit(&a->lent, NULL, memory_order_acquire); /* sees what is in them */
    while (r) {
        nbcolli_route *next = r->next;
        r->next = a->routes;
        a->routes = r;
        r = next;
    }
}

int nbcolli_agent_routes_move(nbcoll_agent *a)
{
    int moved = 0;

    if (atomic_load_explicit(&a->lent, memory_order_relaxed)) /* taken below */
        nbcolli_agent_routes_take(a);
    for (nbcolli_route **at = &a->routes; *at;) {
        nbcolli_route *r = *at, *next = r->next;
        if (nbcolli_agent_route_move(a, (nbcolli_agent_route_end *)(void *)r, &moved))
            at = &r->next;
        else
            *at = next;
    }
    return moved;
}

void nbcolli_agent_routes_close(nbcoll_agent *a)
{
    nbcolli_agent_routes_take(a);
    while (a->routes) {
        nbcolli_agent_route_end *e = (nbcolli_agent_route_end *)(void *)a->routes;
        a->routes = a->routes->next;
        nbcolli_agent_route_close(a, e);
    }
}
