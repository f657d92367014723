/* SPDX-License-Identifier: BSD-3-Clause
 * Messages of a communicator are opened and closed. In an allgather the ranks say on which channel they hear, and how
 * much they keep; who has its result knows that all are there. */
#include "routes.h"

#include "../engine/calls/request.h"
#include "../engine/progress/lock.h"
#include "../engine/progress/progress.h"
#include "../engine/state/caller.h"
#include "../engine/wire/channel.h"
#include "../host/host.h"

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static nbcoll_status nbcolli_messages_config(const nbcoll_messages_config *given, nbcoll_messages_config *c)
{
    *c = (nbcoll_messages_config){0};
    nbcoll_status s = given ? nbcolli_copy_tagged(c, given, sizeof *c) : NBCOLL_OK;
    if (s != NBCOLL_OK)
        return s;
    c->size = sizeof *c;
    c->credits = c->credits ? c->credits : NBCOLL_MESSAGE_CREDITS;
    c->eager = c->eager ? c->eager : NBCOLL_MESSAGE_EAGER;
    c->announced = c->announced ? c->announced : NBCOLL_MESSAGE_ANNOUNCED;
    int is_right = c->credits <= 8192 && c->eager <= 1u << 30 && c->announced <= NBCOLLI_ANNOUNCED_MOST &&
                   c->routes <= NBCOLLI_ROUTES_MOST;
    return is_right ? NBCOLL_OK : NBCOLL_ERR_CONFIG;
}

static void nbcolli_messages_map(nbcoll_messages *m)
{
    int *of = m->rank_of;

    for (const nbcolli_link *link = m->comm->link->first; link; link = link->beside) {
        for (int i = 0; i < link->endpoint->ranks; i++)
            of[i] = -1;
        for (int rank = 0; rank < m->comm->size; rank++)
            if (m->comm->peer[rank].link == link)
                of[m->comm->peer[rank].address] = rank;
        of += link->endpoint->ranks;
    }
}

static nbcoll_messages *nbcolli_messages_new(nbcoll_comm *comm, const nbcoll_messages_config *config)
{
    size_t size = (size_t)comm->size, ranks = 0;

    for (const nbcolli_link *link = comm->link->first; link; link = link->beside)
        ranks += (size_t)link->endpoint->ranks;
    size_t at = nbcolli_lines(sizeof(nbcoll_messages)), hello = at + size * sizeof(nbcolli_correspondent);
    size_t of = hello + (size + 1) * sizeof(nbcolli_hello), tables = nbcolli_lines(of + ranks * sizeof(int));
    size_t buckets = sizeof(nbcolli_list) << NBCOLLI_TABLE_BITS, triples = tables + 3 * buckets;
    size_t routes = comm->config.agent ? config->routes : 0, memory = triples + routes * sizeof(nbcolli_triple);
    unsigned char *block = nbcolli_alloc(&comm->context->host, memory, 64);
    if (!block)
        return NULL;
    memset(block, 0, memory);
    nbcoll_messages *m = (nbcoll_messages *)(void *)block;
    m->at = (nbcolli_correspondent *)(void *)(block + at);
    m->hello = (nbcolli_hello *)(void *)(block + hello);
    m->rank_of = (int *)(void *)(block + of);
    m->posted = (nbcolli_buckets){(nbcolli_list *)(void *)(block + tables), NBCOLLI_TABLE_BITS, 0,
                                nbcolli_key_of_receive};
    m->keyed = (nbcolli_buckets){(nbcolli_list *)(void *)(block + tables + buckets), NBCOLLI_TABLE_BITS, 0,
                               nbcolli_key_of_keyed};
    m->numbered = (nbcolli_buckets){(nbcolli_list *)(void *)(block + tables + 2 * buckets), NBCOLLI_TABLE_BITS, 0,
                                  nbcolli_key_of_keyed};
    m->memory = memory;
    m->head.does = &nbcolli_messages_do;
    m->head.comm = m->comm = comm;
    m->context = comm->context;
    m->config = *config;
    m->config.routes = routes;
    m->by = routes ? (const nbcolli_route_table *)(const void *)nbcolli_agent_does(comm->config.agent) : NULL;
    m->triple = (nbcolli_triple *)(void *)(block + triples);
    nbcolli_messages_map(m);
    return m;
}

/* Takes a channel, and its place among those that hear lines, if one is free. */
static int nbcolli_messages_listen(nbcoll_messages *m)
{
    nbcolli_link *home = m->comm->link;
    uint32_t n = 0;

    while (n < NBCOLLI_HEARING && home->hears[(NBCOLLI_CHANNELS + home->heard + n) % NBCOLLI_HEARING])
        n++;
    int hears = n < NBCOLLI_HEARING;
    m->head.channel = NBCOLLI_CHANNELS + home->heard + (hears ? n : 0);
    home->heard = m->head.channel + 1 - NBCOLLI_CHANNELS;
    if (hears)
        home->hears[m->head.channel % NBCOLLI_HEARING] = &m->head;
    return hears;
}

/* Is known to the communicator from now on, which cannot be freed; or, `by` -1, not any more. */
static void nbcolli_messages_join(nbcoll_messages *m, int by)
{
    nbcolli_caller_lock(m->context);
    (by > 0 ? nbcolli_executor_join : nbcolli_executor_leave)(&m->head);
    nbcolli_caller_unlock(m->context);
    m->comm->holders += (uint32_t)by;
}

void nbcolli_messages_free_with(nbcolli_executor *e)
{
    nbcoll_messages *m = nbcolli_messages_of(e);
    nbcolli_link *home = m->comm->link;

    if (home->hears[m->head.channel % NBCOLLI_HEARING] == &m->head)
        home->hears[m->head.channel % NBCOLLI_HEARING] = NULL;
    nbcolli_list_leave(&e->looked); /* it is there only by routes that end */
    nbcolli_routes_free(m);
    nbcolli_messages_clear(m);
    if (!m->is_kept)
        nbcolli_free(&m->context->host, m, m->memory);
}

/* With the lock, which it gives back. */
static void nbcolli_messages_free(nbcoll_messages *m)
{
    nbcoll_context *c = m->context;

    nbcolli_messages_join(m, -1);
    nbcolli_messages_free_with(&m->head);
    nbcolli_unlock(c);
}

nbcoll_status nbcoll_messages_iopen(nbcoll_comm *comm, const nbcoll_messages_config *config, nbcoll_messages **out,
                                    nbcoll_request *request)
{
    nbcoll_messages_config own;
    nbcoll_status s = comm && out && request ? nbcolli_messages_config(config, &own) : NBCOLL_ERR_NULL;
    if (s == NBCOLL_OK)
        s = nbcolli_enter(comm->context);
    if (s != NBCOLL_OK)
        return s;
    nbcoll_messages *m = nbcolli_messages_new(comm, &own);
    if (!m)
        return nbcolli_leave(comm->context, NBCOLL_ERR_MEMORY);
    uint32_t hears = (uint32_t)nbcolli_messages_listen(m);
    nbcolli_messages_join(m, 1);
    nbcolli_unlock(comm->context);
    m->hello[comm->size] = (nbcolli_hello){NBCOLLI_HELLO, m->head.channel, own.credits, own.eager, hears,
                                            (uint32_t)m->config.routes};
    s = nbcoll_iallgather(&m->hello[comm->size], m->hello, sizeof *m->hello, NBCOLL_BYTE, comm, &m->opening);
    if (s == NBCOLL_OK) {
        *request = m->opening;
        *out = m;
    } else if (nbcolli_enter(comm->context) == NBCOLL_OK)
        nbcolli_messages_free(m);
    return s;
}

nbcoll_status nbcoll_messages_open(nbcoll_comm *comm, const nbcoll_messages_config *config, nbcoll_messages **out,
                                   uint64_t timeout)
{
    nbcoll_request request;
    nbcoll_status s = nbcoll_messages_iopen(comm, config, out, &request);
    if (s != NBCOLL_OK)
        return s;
    s = nbcoll_wait(&request, timeout);
    if (request.at) { /* its buffers are the messages': they are closed when nobody holds these */
        nbcoll_cancel(request);
        nbcoll_wait(&request, NBCOLL_FOREVER);
    }
    if (s == NBCOLL_OK)
        return s;
    nbcoll_messages_close(*out);
    *out = NULL;
    return s;
}

/* Is the allgather under way? On the caller's side, or inside. */
static int nbcolli_messages_opens(const nbcoll_messages *m)
{
    const nbcolli_request *r = nbcolli_request_find(m->opening);
    return r && nbcolli_is_pending(nbcolli_state_of(r));
}

void nbcolli_messages_abandon(nbcolli_executor *e, nbcolli_lend *lend, void *loan)
{
    nbcoll_messages *m = nbcolli_messages_of(e);

    m->is_kept = nbcolli_messages_opens(m); /* its operation names that */
    nbcolli_transfers_abandon(m, lend, loan);
}

nbcoll_status nbcolli_messages_get_ready(nbcoll_messages *m)
{
    if (m->is_ready)
        return NBCOLL_OK;
    nbcolli_caller_lock(m->context);
    int is_early = nbcolli_messages_opens(m);
    nbcolli_caller_unlock(m->context);
    if (is_early)
        return NBCOLL_ERR_BUSY;
    for (int rank = 0; rank < m->comm->size; rank++)
        if (m->hello[rank].magic != NBCOLLI_HELLO)
            return NBCOLL_ERR_CANCELLED;
    for (int rank = 0; rank < m->comm->size; rank++) {
        const nbcolli_hello *h = &m->hello[rank];
        const nbcolli_link *link = m->comm->peer[rank].link;
        nbcolli_correspondent *p = &m->at[rank];
        p->credits = p->most = (int32_t)h->credits;
        p->eager = h->eager;
        p->channel = h->channel;
        p->has_lines = h->hears && rank != m->comm->rank && link->transport.lines && h->channel < link->limits.channels;
        p->line_most = link->transport.lines && link->transport.lines->are_long ? link->limits.payload
                                                                                 : NBCOLL_LINE_PAYLOAD;
        p->may_take = p->has_lines && link->transport.lines->take && !(m->context->flags & NBCOLL_ANY_THREAD);
        p->takes_routes = h->routes && m->config.routes;
        p->is_gone |= nbcolli_has_departed(m->comm, rank);
        p->is_apart |= p->is_gone;
    }
    nbcolli_caller_lock(m->context);
    m->is_ready = 1;
    nbcolli_caller_unlock(m->context);
    return NBCOLL_OK;
}

/* ---- closing ----------------------------------------------------------------------------------------------------- */

nbcoll_status nbcoll_messages_close(nbcoll_messages *m)
{
    nbcoll_status s = m ? nbcolli_enter(m->context) : NBCOLL_OK;
    if (!m || s != NBCOLL_OK)
        return s;
    if (m->is_closing)
        return nbcolli_leave(m->context, NBCOLL_ERR_BUSY);
    m->is_closing = 1;
    nbcolli_unlock(m->context);
    s = nbcoll_progress(m->context); /* reports what has ended by itself, and calls callbacks */
    if (s == NBCOLL_OK)
        s = nbcolli_enter(m->context);
    m->is_closing = 0;
    if (s != NBCOLL_OK)
        return s;
    if (m->active || nbcolli_messages_opens(m))
        return nbcolli_leave(m->context, NBCOLL_ERR_BUSY);
    for (const nbcolli_request *r = m->context->ended; r; r = r->next) /* its callback is to run */
        if (r->executor == &m->head)
            return nbcolli_leave(m->context, NBCOLL_ERR_BUSY);
    for (nbcolli_list_item *item = m->comm->persistent.first; item; item = item->next) {
        nbcolli_request *r = NBCOLLI_HOLDER(nbcolli_request, listed, item);
        if (r->executor == &m->head)
            r->executor = NULL;
    }
    nbcolli_kept_refuse(m);
    nbcolli_messages_free(m);
    return NBCOLL_OK;
}
