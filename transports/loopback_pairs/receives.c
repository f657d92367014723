/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Receives that queue pairs of a loopback rank share. A pair that finds none waits in a list, and goes on when one is
 * posted. */
#include "pairs.h"
#include "../../src/host/bell.h"

static size_t nbcolli_loopback_receives_bytes(uint32_t depth)
{
    return sizeof(struct nbcolli_loopback_receives) + (size_t)depth * sizeof(struct nbcolli_loopback_receive);
}

/* ---- telling that few are left ---------------------------------------------------------------------------------- */

static void nbcolli_loopback_receives_low(struct nbcolli_loopback_receives *r)
{
    if (r->is_low || r->tail - r->head >= r->least)
        return;
    r->is_low = true;
    if (r->end->low++ == 0)
        nbcolli_bell_ring(r->end->watched);
}

static void nbcolli_loopback_receives_heard(struct nbcolli_loopback_receives *r)
{
    if (!r->is_low)
        return;
    r->is_low = false;
    if (--r->end->low == 0)
        nbcolli_bell_hush(r->end->watched);
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

struct nbcolli_loopback_receive *nbcolli_loopback_receives_next(struct nbcolli_loopback_receives *r,
                                                                struct nbcolli_loopback_pair *sender)
{
    if (r->head != r->tail)
        return &r->place[r->head % r->depth];
    if (!sender->is_waiting) {
        sender->is_waiting = true;
        sender->next_waiting = NULL;
        *r->last = sender;
        r->last = &sender->next_waiting;
    }
    return NULL;
}

void nbcolli_loopback_receives_came(struct nbcolli_loopback_receives *r, struct nbcolli_loopback_pair *pair)
{
    r->place[r->head++ % r->depth].pair = pair;
    nbcolli_loopback_receives_low(r);
}

static struct nbcolli_loopback_pair *nbcolli_loopback_receives_unwait(struct nbcolli_loopback_receives *r,
                                                                      struct nbcolli_loopback_pair **at)
{
    struct nbcolli_loopback_pair *pair = *at;
    *at = pair->next_waiting;
    if (!*at)
        r->last = at;
    pair->is_waiting = false;
    return pair;
}

void nbcolli_loopback_receives_forget(struct nbcolli_loopback_receives *r, const struct nbcolli_loopback_pair *pair)
{
    struct nbcolli_loopback_pair **at = &r->waiting;
    while (*at && *at != pair)
        at = &(*at)->next_waiting;
    if (*at)
        nbcolli_loopback_receives_unwait(r, at);
    for (uint64_t i = r->taken; i != r->head; i++)
        if (r->place[i % r->depth].pair == pair)
            r->place[i % r->depth].pair = NULL;
}

/* ---- the group's ------------------------------------------------------------------------------------------------- */

nbcoll_status nbcolli_loopback_open_shared(nbcoll_endpoint *ep, uint32_t depth, nbcoll_completion_queue *received,
                                           nbcoll_shared_receives **out)
{
    struct nbcolli_loopback_end *e = nbcolli_loopback_end_of(ep);
    struct nbcolli_loopback_cq *c = nbcolli_loopback_cq_of(received);
    if (c->shared)
        return NBCOLL_ERR_BUSY;
    if (!depth)
        return NBCOLL_ERR_LIMIT;
    struct nbcolli_loopback_receives *r =
        nbcolli_alloc(&e->world->memory, nbcolli_loopback_receives_bytes(depth), NBCOLLI_LOOPBACK_LINE);
    if (!r)
        return NBCOLL_ERR_MEMORY;
    *r = (struct nbcolli_loopback_receives){.completions = c, .end = e, .depth = depth};
    r->last = &r->waiting;
    c->shared = r;
    *out = (nbcoll_shared_receives *)(void *)r;
    return NBCOLL_OK;
}

nbcoll_status nbcolli_loopback_post_shared(nbcoll_endpoint *ep, nbcoll_shared_receives *shared, const nbcoll_posting *p)
{
    nbcoll_loopback *w = nbcolli_loopback_end_of(ep)->world;
    struct nbcolli_loopback_receives *r = nbcolli_loopback_receives_of(shared);
    if (p->kind != NBCOLL_POSTING_RECEIVE)
        return NBCOLL_ERR_ARGUMENT;
    if (p->from < 0 || p->from > ep->ranks)
        return NBCOLL_ERR_RANK;
    nbcolli_loopback_offload_lock(w);
    bool has_room = r->tail - r->taken < r->depth;
    if (has_room)
        r->place[r->tail++ % r->depth] = (struct nbcolli_loopback_receive){p->memory, p->bytes, NULL};
    while (r->head != r->tail && r->waiting)
        nbcolli_loopback_pair_advance(nbcolli_loopback_receives_unwait(r, &r->waiting));
    nbcolli_loopback_offload_unlock(w);
    return has_room ? NBCOLL_OK : NBCOLL_ERR_LIMIT;
}

nbcoll_status nbcolli_loopback_take(nbcoll_endpoint *ep, nbcoll_completion_queue *received, nbcoll_shared_arrival *out)
{
    nbcoll_loopback *w = nbcolli_loopback_end_of(ep)->world;
    struct nbcolli_loopback_cq *c = nbcolli_loopback_cq_of(received);
    struct nbcolli_loopback_receives *r = c->shared;
    if (!r)
        return NBCOLL_ERR_ARGUMENT;
    nbcolli_loopback_offload_lock(w);
    nbcoll_status status = r->taken != r->head ? NBCOLL_OK : c->status;
    if (status == NBCOLL_OK) {
        const struct nbcolli_loopback_receive *came = &r->place[r->taken++ % r->depth];
        *out = (nbcoll_shared_arrival){(nbcoll_queue_pair *)(void *)came->pair, came->memory};
    }
    nbcolli_loopback_offload_unlock(w);
    return status;
}

nbcoll_status nbcolli_loopback_watch_shared(nbcoll_endpoint *ep, nbcoll_shared_receives *shared, uint32_t least,
                                            int *fd)
{
    struct nbcolli_loopback_end *e = nbcolli_loopback_end_of(ep);
    struct nbcolli_loopback_receives *r = nbcolli_loopback_receives_of(shared);
    if (least > r->depth)
        return NBCOLL_ERR_LIMIT;
    if (e->watched < 0)
        e->watched = nbcolli_bell_open();
    if (e->watched < 0)
        return NBCOLL_ERR_TRANSPORT;
    nbcolli_loopback_offload_lock(e->world);
    nbcolli_loopback_receives_heard(r);
    r->least = least;
    nbcolli_loopback_receives_low(r);
    nbcolli_loopback_offload_unlock(e->world);
    *fd = e->watched;
    return NBCOLL_OK;
}

void nbcolli_loopback_close_shared(nbcoll_endpoint *ep, nbcoll_shared_receives *shared)
{
    nbcoll_loopback *w = nbcolli_loopback_end_of(ep)->world;
    struct nbcolli_loopback_receives *r = nbcolli_loopback_receives_of(shared);
    nbcolli_loopback_offload_lock(w);
    nbcolli_loopback_receives_heard(r);
    r->completions->shared = NULL;
    nbcolli_loopback_offload_unlock(w);
    nbcolli_free(&w->memory, r, nbcolli_loopback_receives_bytes(r->depth));
}
