/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Queue pairs of loopback ranks: the call that completes a send's conditions copies it. One lock of the world covers
 * all of them. */
#include "pairs.h"

#include "nbcoll/offload.h"

void nbcolli_loopback_offload_lock(nbcoll_loopback *w)
{
    for (uint64_t looks = 1; atomic_exchange_explicit(&w->pairs_locked, 1, memory_order_acquire); looks++)
        if (w->memory.pause) /* acquire: sees what the last holder did */
            w->memory.pause(w->memory.user, looks);
}

void nbcolli_loopback_offload_unlock(nbcoll_loopback *w)
{
    atomic_store_explicit(&w->pairs_locked, 0, memory_order_release); /* shows it to the next */
}

static size_t nbcolli_loopback_pair_bytes(uint32_t depth)
{
    return sizeof(struct nbcolli_loopback_pair) + 2 * (size_t)depth * sizeof(nbcoll_posting);
}

/* ---- moving ---------------------------------------------------------------------------------------------------- */

static void nbcolli_loopback_pair_ready(struct nbcolli_loopback_pair **ready, struct nbcolli_loopback_pair *pair)
{
    if (!pair || pair->is_ready)
        return;
    pair->is_ready = 1;
    pair->next_ready = *ready;
    *ready = pair;
}

static void nbcolli_loopback_count(struct nbcolli_loopback_pair **ready, struct nbcolli_loopback_cq *c)
{
    if (!c)
        return;
    c->entries++;
    nbcolli_loopback_pair_ready(ready, c->waits);
}

static bool nbcolli_loopback_may_go(const struct nbcolli_loopback_queue *q)
{
    return q->head != q->tail && (!q->is_held || q->done < q->enabled);
}

static nbcoll_posting *nbcolli_loopback_next(const struct nbcolli_loopback_pair *pair,
                                             const struct nbcolli_loopback_queue *q)
{
    return &q->place[q->head % pair->depth];
}

/* The receive for the next message of a pair; null: none yet. */
static const nbcoll_posting *nbcolli_loopback_receive_for(struct nbcolli_loopback_pair *pair, nbcoll_posting *shared)
{
    struct nbcolli_loopback_pair *mate = pair->mate;
    if (!mate || pair->is_over)
        return NULL;
    if (!mate->shared)
        return nbcolli_loopback_may_go(&mate->receive) ? nbcolli_loopback_next(mate, &mate->receive) : NULL;
    const struct nbcolli_loopback_receive *r = nbcolli_loopback_receives_next(mate->shared, pair);
    if (r)
        *shared = (nbcoll_posting){.memory = r->memory, .bytes = r->bytes};
    return r ? shared : NULL;
}

/* Ends waits: missing entries never come. */
static void nbcolli_loopback_pair_lose(const struct nbcolli_loopback_pair *pair, nbcoll_status why)
{
    if (pair->send.completions)
        pair->send.completions->status = why;
    if (pair->receive.completions)
        pair->receive.completions->status = why;
}

/* A send meets its receive. */
static bool nbcolli_loopback_meet(struct nbcolli_loopback_pair **ready, struct nbcolli_loopback_pair *pair,
                                  const nbcoll_posting *send)
{
    struct nbcolli_loopback_pair *mate = pair->mate;
    nbcoll_posting shared;
    const nbcoll_posting *receive = nbcolli_loopback_receive_for(pair, &shared);
    if (!receive)
        return false;
    if (send->bytes > receive->bytes) {
        pair->is_over = mate->is_over = true;
        nbcolli_loopback_pair_lose(pair, NBCOLL_ERR_TRANSPORT);
        nbcolli_loopback_pair_lose(mate, NBCOLL_ERR_TRANSPORT);
        return false;
    }
    if (send->bytes)
        memcpy(receive->memory, send->memory, send->bytes);
    if (mate->shared)
        nbcolli_loopback_receives_came(mate->shared, mate);
    else {
        mate->receive.head++;
        mate->receive.done++;
        nbcolli_loopback_count(ready, mate->receive.completions);
    }
    pair->send.done++;
    if (send->signal)
        nbcolli_loopback_count(ready, pair->send.completions);
    return true;
}

static bool nbcolli_loopback_waited(struct nbcolli_loopback_pair *pair, const nbcoll_posting *wait)
{
    struct nbcolli_loopback_cq *c = nbcolli_loopback_cq_of(wait->completions);
    c->waits = pair;
    if (c->entries < wait->count)
        return false;
    c->entries -= wait->count;
    return true;
}

void nbcolli_loopback_pair_advance(struct nbcolli_loopback_pair *pair)
{
    struct nbcolli_loopback_pair *ready = NULL;
    for (nbcolli_loopback_pair_ready(&ready, pair); ready;) {
        pair = ready;
        ready = pair->next_ready;
        pair->is_ready = 0;
        while (nbcolli_loopback_may_go(&pair->send)) {
            const nbcoll_posting *p = nbcolli_loopback_next(pair, &pair->send);
            bool moved = p->kind == NBCOLL_POSTING_WAIT ? nbcolli_loopback_waited(pair, p)
                                                        : nbcolli_loopback_meet(&ready, pair, p);
            if (!moved)
                break;
            pair->send.head++;
        }
    }
}

/* ---- the group ------------------------------------------------------------------------------------------------- */

static nbcoll_status nbcolli_loopback_open_cq(nbcoll_endpoint *ep, uint32_t depth, nbcoll_completion_queue **out)
{
    nbcoll_loopback *w = nbcolli_loopback_end_of(ep)->world;
    struct nbcolli_loopback_cq *c = nbcolli_alloc(&w->memory, sizeof *c, NBCOLLI_LOOPBACK_LINE);
    (void)depth; /* it counts */
    if (!c)
        return NBCOLL_ERR_MEMORY;
    *c = (struct nbcolli_loopback_cq){.status = NBCOLL_PENDING};
    *out = (nbcoll_completion_queue *)(void *)c;
    return NBCOLL_OK;
}

static void nbcolli_loopback_pair_free(nbcoll_loopback *w, struct nbcolli_loopback_pair *pair)
{
    nbcolli_free(&w->memory, pair, nbcolli_loopback_pair_bytes(pair->depth));
}

static void nbcolli_loopback_pair_leave(nbcoll_loopback *w, struct nbcolli_loopback_pair *pair)
{
    struct nbcolli_loopback_pair **at = &w->port[pair->rank].pairs;
    while (*at != pair)
        at = &(*at)->next;
    *at = pair->next;
}

static struct nbcolli_loopback_pair *nbcolli_loopback_pair_find(nbcoll_loopback *w, int rank, int peer, uint32_t number)
{
    struct nbcolli_loopback_pair *p = w->port[rank].pairs;
    while (p && (p->number != number || p->peer != peer))
        p = p->next;
    return p;
}

/* Enters a pair into its rank's list. False: the rank has it already. */
static bool nbcolli_loopback_pair_enter(nbcoll_loopback *w, struct nbcolli_loopback_pair *pair)
{
    struct nbcolli_loopback_pair *old = nbcolli_loopback_pair_find(w, pair->rank, pair->peer, pair->number);
    struct nbcolli_loopback_pair *mate = nbcolli_loopback_pair_find(w, pair->peer, pair->rank, pair->number);
    if (old && !old->is_closed)
        return false;
    if (old) {
        nbcolli_loopback_pair_leave(w, old);
        nbcolli_loopback_pair_free(w, old);
    }
    /* relaxed: a rank that leaves takes the lock afterwards */
    int has_left = atomic_load_explicit(&w->port[pair->peer].state, memory_order_relaxed) >= NBCOLLI_LOOPBACK_LEFT;
    if (mate ? mate->is_closed : has_left)
        nbcolli_loopback_pair_lose(pair, NBCOLL_ERR_PEER_LOST);
    else if (mate && !mate->mate) {
        pair->mate = mate;
        mate->mate = pair;
        pair->has_met = mate->has_met = 1;
    }
    pair->next = w->port[pair->rank].pairs;
    w->port[pair->rank].pairs = pair;
    return true;
}

static void nbcolli_loopback_pair_init(struct nbcolli_loopback_pair *pair, int rank, const nbcoll_queue_config *c)
{
    nbcoll_posting *place = (nbcoll_posting *)(void *)(pair + 1);
    struct nbcolli_loopback_receives *shared = nbcolli_loopback_receives_of(c->shared);
    *pair = (struct nbcolli_loopback_pair){
        .rank = rank,
        .peer = c->peer,
        .number = c->number,
        .depth = c->depth,
        .shared = shared,
        .send = {.place = place, .is_held = (c->held & 1) != 0, .completions = nbcolli_loopback_cq_of(c->sent)},
        .receive = {.place = place + c->depth,
                    .is_held = (c->held & 2) != 0,
                    .completions = shared ? shared->completions : nbcolli_loopback_cq_of(c->received)}};
}

static nbcoll_status nbcolli_loopback_open_queue(nbcoll_endpoint *ep, const nbcoll_queue_config *config,
                                                 nbcoll_queue_pair **out)
{
    nbcoll_loopback *w = nbcolli_loopback_end_of(ep)->world;
    nbcoll_queue_config c = {0};
    nbcoll_status status = nbcolli_copy_tagged(&c, config, sizeof c);
    if (status != NBCOLL_OK)
        return status;
    if (c.peer < 0 || c.peer >= ep->ranks || c.peer == ep->rank)
        return NBCOLL_ERR_RANK;
    struct nbcolli_loopback_pair *pair =
        nbcolli_alloc(&w->memory, nbcolli_loopback_pair_bytes(c.depth), NBCOLLI_LOOPBACK_LINE);
    if (!pair)
        return NBCOLL_ERR_MEMORY;
    nbcolli_loopback_pair_init(pair, ep->rank, &c);
    nbcolli_loopback_offload_lock(w);
    bool is_new = nbcolli_loopback_pair_enter(w, pair);
    if (pair->mate)
        nbcolli_loopback_pair_advance(pair->mate);
    nbcolli_loopback_offload_unlock(w);
    if (!is_new)
        nbcolli_loopback_pair_free(w, pair);
    *out = is_new ? (nbcoll_queue_pair *)(void *)pair : NULL;
    return is_new ? NBCOLL_OK : NBCOLL_ERR_DUPLICATE;
}

static nbcoll_status nbcolli_loopback_post_to(nbcoll_endpoint *ep, nbcoll_queue_pair *opened, const nbcoll_posting *p)
{
    nbcoll_loopback *w = nbcolli_loopback_end_of(ep)->world;
    struct nbcolli_loopback_pair *pair = nbcolli_loopback_pair_of(opened);
    if (p->kind == NBCOLL_POSTING_RECEIVE && pair->shared)
        return NBCOLL_ERR_ARGUMENT;
    nbcolli_loopback_offload_lock(w);
    struct nbcolli_loopback_queue *q = p->kind == NBCOLL_POSTING_RECEIVE ? &pair->receive : &pair->send;
    bool has_room = q->tail - q->head < pair->depth;
    if (has_room) {
        q->place[q->tail++ % pair->depth] = *p;
        struct nbcolli_loopback_pair *sender = p->kind == NBCOLL_POSTING_RECEIVE ? pair->mate : pair;
        if (sender)
            nbcolli_loopback_pair_advance(sender);
    }
    nbcolli_loopback_offload_unlock(w);
    return has_room ? NBCOLL_OK : NBCOLL_ERR_LIMIT;
}

static void nbcolli_loopback_enable(nbcoll_endpoint *ep, nbcoll_queue_pair *opened, uint32_t sends, uint32_t receives)
{
    nbcoll_loopback *w = nbcolli_loopback_end_of(ep)->world;
    struct nbcolli_loopback_pair *pair = nbcolli_loopback_pair_of(opened);
    nbcolli_loopback_offload_lock(w);
    pair->send.enabled += sends;
    pair->receive.enabled += receives;
    nbcolli_loopback_pair_advance(pair);
    if (pair->mate && receives)
        nbcolli_loopback_pair_advance(pair->mate);
    nbcolli_loopback_offload_unlock(w);
}

static nbcoll_status nbcolli_loopback_wait(nbcoll_endpoint *ep, nbcoll_completion_queue *completions, uint32_t count)
{
    nbcoll_loopback *w = nbcolli_loopback_end_of(ep)->world;
    struct nbcolli_loopback_cq *c = nbcolli_loopback_cq_of(completions);
    nbcolli_loopback_offload_lock(w);
    nbcoll_status status = c->entries >= count ? NBCOLL_OK : c->status;
    if (status == NBCOLL_OK)
        c->entries -= count;
    nbcolli_loopback_offload_unlock(w);
    return status;
}

/* Nobody wakes it, and it waits for nobody. */
static void nbcolli_loopback_pair_forget(const struct nbcolli_loopback_pair *pair)
{
    if (pair->mate && pair->mate->shared)
        nbcolli_loopback_receives_forget(pair->mate->shared, pair);
    if (pair->shared)
        nbcolli_loopback_receives_forget(pair->shared, pair);
    if (pair->shared && pair->mate)
        nbcolli_loopback_receives_forget(pair->shared, pair->mate);
    for (uint64_t i = 0; i < pair->send.tail && i < pair->depth; i++) {
        const nbcoll_posting *p = &pair->send.place[i];
        struct nbcolli_loopback_cq *c = nbcolli_loopback_cq_of(p->completions);
        if (p->kind == NBCOLL_POSTING_WAIT && c->waits == pair)
            c->waits = NULL;
    }
}

static void nbcolli_loopback_close_queue(nbcoll_endpoint *ep, nbcoll_queue_pair *opened,
                                         nbcoll_completion_queue *completions)
{
    nbcoll_loopback *w = nbcolli_loopback_end_of(ep)->world;
    struct nbcolli_loopback_pair *pair = nbcolli_loopback_pair_of(opened);
    struct nbcolli_loopback_cq *c = nbcolli_loopback_cq_of(completions);
    nbcolli_free(&w->memory, c, sizeof *c);
    if (!pair)
        return;
    nbcolli_loopback_offload_lock(w);
    nbcolli_loopback_pair_forget(pair);
    if (pair->mate) {
        nbcolli_loopback_pair_lose(pair->mate, NBCOLL_ERR_PEER_LOST);
        pair->mate->mate = NULL;
        pair->mate = NULL;
    }
    int stays = !pair->has_met;
    pair->is_closed = 1;
    if (!stays)
        nbcolli_loopback_pair_leave(w, pair);
    nbcolli_loopback_offload_unlock(w);
    if (!stays)
        nbcolli_loopback_pair_free(w, pair);
}

static void nbcolli_loopback_pairs_miss(nbcoll_loopback *w, int rank)
{
    nbcolli_loopback_offload_lock(w);
    for (int other = 0; other < w->config.ranks; other++)
        for (const struct nbcolli_loopback_pair *pair = w->port[other].pairs; pair; pair = pair->next)
            if (pair->peer == rank && !pair->mate && !pair->is_closed)
                nbcolli_loopback_pair_lose(pair, NBCOLL_ERR_PEER_LOST);
    nbcolli_loopback_offload_unlock(w);
}

static void nbcolli_loopback_pairs_free(nbcoll_loopback *w, int rank)
{
    while (w->port[rank].pairs) {
        struct nbcolli_loopback_pair *pair = w->port[rank].pairs;
        w->port[rank].pairs = pair->next;
        nbcolli_loopback_pair_free(w, pair);
    }
}

static const nbcoll_offload nbcolli_loopback_offload = {.size = sizeof nbcolli_loopback_offload,
                                                        .open_cq = nbcolli_loopback_open_cq,
                                                        .open_queue = nbcolli_loopback_open_queue,
                                                        .post = nbcolli_loopback_post_to,
                                                        .enable = nbcolli_loopback_enable,
                                                        .wait = nbcolli_loopback_wait,
                                                        .close = nbcolli_loopback_close_queue,
                                                        .open_shared = nbcolli_loopback_open_shared,
                                                        .post_shared = nbcolli_loopback_post_shared,
                                                        .take = nbcolli_loopback_take,
                                                        .watch_shared = nbcolli_loopback_watch_shared,
                                                        .close_shared = nbcolli_loopback_close_shared};

const struct nbcoll_loopback_queues *nbcoll_loopback_pairs(void)
{
    static const struct nbcoll_loopback_queues pairs = {&nbcolli_loopback_offload, nbcolli_loopback_pairs_miss,
                                                       nbcolli_loopback_pairs_free};
    return &pairs;
}
