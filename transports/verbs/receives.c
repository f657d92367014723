/* SPDX-License-Identifier: BSD-3-Clause
 * Receives that several pairs of a rank share, for relays: a shared receive queue and a completion queue each. What
 * comes too early is sent again by the sender's device, for ever. The device says once when few are left (its limit);
 * who watches sleeps on one descriptor, behind which are the device's events, which endpoints beside each other have in
 * common, a channel of completions, and a bell. See verbs.h. */
#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "verbs.h"

/* ---- messages ---------------------------------------------------------------------------------------------------- */

static int nbcolli_verbs_give_shared(nbcoll_shared_receives *r, uint32_t slot)
{
    nbcolli_verbs_slot *s = &r->slot[slot];
    struct ibv_sge part = {(uintptr_t)s->memory, s->bytes, s->lkey};
    struct ibv_recv_wr wr = {.wr_id = slot, .sg_list = &part, .num_sge = s->bytes != 0}, *bad;

    return ibv_post_srq_recv(r->srq, &wr, &bad);
}

static nbcoll_queue_pair *nbcolli_verbs_sharer(const nbcoll_shared_receives *r, uint32_t qpn)
{
    nbcoll_queue_pair *pair = r->pairs;
    while (pair && pair->qp->qp_num != qpn)
        pair = pair->next_sharer;
    return pair;
}

static void nbcolli_verbs_shared_came(nbcolli_verbs_end *e, nbcoll_shared_receives *r, const struct ibv_wc *wc)
{
    nbcoll_queue_pair *pair = nbcolli_verbs_sharer(r, wc->qp_num);
    uint32_t slot = (uint32_t)wc->wr_id;

    if (wc->status == IBV_WC_SUCCESS) {
        if (pair)
            nbcolli_verbs_pair_hears(e, pair);
        r->left--;
        r->arrival[r->came++ % r->depth] = (nbcolli_verbs_came){pair, slot};
        return;
    }
    if (pair)
        nbcolli_verbs_pair_fails(e, pair, wc);
    if (nbcolli_verbs_give_shared(r, slot) != 0) /* for others; or it stays away until all are closed */
        r->left--;
}

void nbcolli_verbs_shared_poll(nbcolli_verbs_end *e, nbcoll_shared_receives *r)
{
    struct ibv_wc wc[NBCOLLI_VERBS_BATCH];
    int n;

    do {
        n = ibv_poll_cq(r->cq, NBCOLLI_VERBS_BATCH, wc);
        for (int i = 0; i < n; i++)
            nbcolli_verbs_shared_came(e, r, &wc[i]);
    } while (n == NBCOLLI_VERBS_BATCH);
}

void nbcolli_verbs_share_pair(nbcoll_queue_pair *pair)
{
    pair->next_sharer = pair->shared->pairs;
    pair->shared->pairs = pair;
    pair->shared->sharers++;
}

/* A queue pair in error takes no receive any more; one that is destroyed has no completion any more. */
void nbcolli_verbs_unshare_pair(nbcolli_verbs_end *e, nbcoll_queue_pair *pair)
{
    nbcoll_shared_receives *r = pair->shared;
    struct ibv_qp_attr to = {.qp_state = IBV_QPS_ERR};
    nbcoll_queue_pair **at = &r->pairs;

    ibv_modify_qp(pair->qp, &to, IBV_QP_STATE);
    nbcolli_verbs_shared_poll(e, r);
    while (*at != pair)
        at = &(*at)->next_sharer;
    *at = pair->next_sharer;
    r->sharers--;
    for (uint64_t i = r->taken; i != r->came; i++)
        if (r->arrival[i % r->depth].pair == pair)
            r->arrival[i % r->depth].pair = NULL;
}

/* ---- watching ---------------------------------------------------------------------------------------------------- */

/* Any thread: the device's event may be heard by another endpoint. */
static void nbcolli_verbs_shared_low(nbcoll_shared_receives *r)
{
    static const uint64_t one = 1;

    if (!atomic_exchange(&r->is_low, true))
        (void)!write(r->bell, &one, sizeof one); /* fails only when 2^64 - 2 of them are unread */
}

/* An event belongs to who closes its queue only after it is acknowledged. */
static void nbcolli_verbs_hear_device(nbcolli_verbs_end *e)
{
    struct ibv_async_event event;
    struct ibv_cq *cq;
    void *of;

    while (ibv_get_async_event(e->rail->device, &event) == 0) {
        if (event.event_type == IBV_EVENT_SRQ_LIMIT_REACHED && event.element.srq->srq_context)
            nbcolli_verbs_shared_low(event.element.srq->srq_context);
        ibv_ack_async_event(&event);
    }
    while (ibv_get_cq_event(e->programs.channel, &cq, &of) == 0) {
        nbcolli_verbs_shared_low(of);
        ibv_ack_cq_events(cq, 1);
    }
}

static bool nbcolli_verbs_set_nonblocking(int fd)
{
    int flags = fcntl(fd, F_GETFL);
    return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

static void nbcolli_verbs_unwatch(nbcolli_verbs_end *e)
{
    nbcolli_verbs_programs *g = &e->programs;

    if (g->channel)
        ibv_destroy_comp_channel(g->channel);
    if (g->watched >= 0)
        close(g->watched);
    if (g->bell >= 0)
        close(g->bell);
    g->channel = NULL;
    g->watched = g->bell = -1;
}

/* What watching needs, for all of an endpoint. */
static bool nbcolli_verbs_watchable(nbcolli_verbs_end *e)
{
    nbcolli_verbs_programs *g = &e->programs;
    struct epoll_event event = {.events = EPOLLIN};

    if (g->channel)
        return true;
    g->bell = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    g->watched = epoll_create1(EPOLL_CLOEXEC);
    g->channel = ibv_create_comp_channel(e->rail->device);
    bool is_ready = g->bell >= 0 && g->watched >= 0 && g->channel && nbcolli_verbs_set_nonblocking(g->channel->fd) &&
                    nbcolli_verbs_set_nonblocking(e->rail->device->async_fd) &&
                    epoll_ctl(g->watched, EPOLL_CTL_ADD, g->bell, &event) == 0 &&
                    epoll_ctl(g->watched, EPOLL_CTL_ADD, g->channel->fd, &event) == 0 &&
                    epoll_ctl(g->watched, EPOLL_CTL_ADD, e->rail->device->async_fd, &event) == 0;
    if (!is_ready)
        nbcolli_verbs_unwatch(e);
    return is_ready;
}

/* The bell goes on ringing for the others. */
static void nbcolli_verbs_shared_heard(nbcolli_verbs_end *e, nbcoll_shared_receives *r)
{
    static const uint64_t one = 1;
    uint64_t rung;

    atomic_store(&r->is_low, false);
    (void)!read(e->programs.bell, &rung, sizeof rung); /* before the look: who comes after it rings */
    for (nbcoll_shared_receives *other = e->programs.shared; other; other = other->next)
        if (atomic_load(&other->is_low))
            (void)!write(e->programs.bell, &one, sizeof one);
}

/* ---- the group's ------------------------------------------------------------------------------------------------- */

nbcoll_status nbcolli_verbs_watch_shared(nbcoll_endpoint *ep, nbcoll_shared_receives *r, uint32_t least, int *fd)
{
    nbcolli_verbs_end *e = nbcolli_verbs_end_of(ep);
    struct ibv_srq_attr limit = {.srq_limit = least};

    if (least > r->depth)
        return NBCOLL_ERR_LIMIT;
    nbcolli_verbs_hear_device(e);
    nbcolli_verbs_shared_heard(e, r); /* before it can be said anew */
    if (ibv_modify_srq(r->srq, &limit, IBV_SRQ_LIMIT) != 0)
        return NBCOLL_ERR_TRANSPORT;
    /* The device tells of a receive that it takes, not of a queue that is short already: rxe does not. And each pair
     * may have taken one for a message that has not come whole: then the next one to come wakes. */
    nbcolli_verbs_shared_poll(e, r);
    if (least && r->left >= least && r->left < least + (uint64_t)r->sharers && ibv_req_notify_cq(r->cq, 0) == 0)
        nbcolli_verbs_shared_poll(e, r);
    if (r->left < least)
        nbcolli_verbs_shared_low(r);
    *fd = e->programs.watched;
    return NBCOLL_OK;
}

static void nbcolli_verbs_shared_free(nbcolli_verbs_end *e, nbcoll_shared_receives *r)
{
    if (r->srq)
        ibv_destroy_srq(r->srq);
    if (r->cq)
        ibv_destroy_cq(r->cq);
    nbcolli_free(&e->host, r, r->size);
}

static nbcoll_shared_receives *nbcolli_verbs_shared_new(nbcolli_verbs_end *e, uint32_t depth)
{
    size_t size = sizeof(nbcoll_shared_receives) + depth * (sizeof(nbcolli_verbs_slot) + sizeof(nbcolli_verbs_came));
    nbcoll_shared_receives *r = nbcolli_alloc(&e->host, size, 64);

    if (!r)
        return NULL;
    *r = (nbcoll_shared_receives){.size = size, .depth = depth, .bell = e->programs.bell};
    r->arrival = (nbcolli_verbs_came *)(void *)(r + 1);
    r->slot = (nbcolli_verbs_slot *)(void *)(r->arrival + depth);
    for (uint32_t i = 0; i < depth; i++)
        r->slot[i].next = i + 1;
    return r;
}

nbcoll_status nbcolli_verbs_open_shared(nbcoll_endpoint *ep, uint32_t depth, nbcoll_completion_queue *received,
                                        nbcoll_shared_receives **out)
{
    nbcolli_verbs_end *e = nbcolli_verbs_end_of(ep);
    const nbcoll_queue_demand demand = {.size = sizeof demand, .shared = 1, .shared_depth = depth};
    struct ibv_device_attr all;

    *out = NULL;
    if (received->shared)
        return NBCOLL_ERR_BUSY;
    if (ibv_query_device(e->rail->device, &all) != 0)
        return NBCOLL_ERR_TRANSPORT;
    if (e->rails > 1 || all.max_srq <= 0) /* a queue belongs to one device, and peers to all */
        return NBCOLL_ERR_UNSUPPORTED;
    nbcoll_status status = depth ? nbcolli_verbs_admits(ep, &demand) : NBCOLL_ERR_LIMIT;
    if (status != NBCOLL_OK)
        return status;
    if (!nbcolli_verbs_watchable(e))
        return errno == ENOMEM ? NBCOLL_ERR_MEMORY : NBCOLL_ERR_TRANSPORT;
    nbcoll_shared_receives *r = nbcolli_verbs_shared_new(e, depth);
    if (!r)
        return NBCOLL_ERR_MEMORY;
    struct ibv_srq_init_attr how = {.srq_context = r, .attr = {.max_wr = depth, .max_sge = 1}};
    r->cq = ibv_create_cq(e->rail->device, (int)depth, r, e->programs.channel, 0);
    r->srq = r->cq ? ibv_create_srq(e->rail->pd, &how) : NULL;
    if (!r->srq) {
        status =
            nbcolli_verbs_refused(e, e->rail, r->cq ? NBCOLLI_VERBS_RECEIVES : NBCOLLI_VERBS_COMPLETIONS, depth);
        nbcolli_verbs_shared_free(e, r);
        return status;
    }
    r->completions = received;
    received->shared = r;
    r->next = e->programs.shared;
    e->programs.shared = *out = r;
    return NBCOLL_OK;
}

nbcoll_status nbcolli_verbs_post_shared(nbcoll_endpoint *ep, nbcoll_shared_receives *r, const nbcoll_posting *p)
{
    nbcolli_verbs_end *e = nbcolli_verbs_end_of(ep);
    uint32_t slot = r->spare;

    if (p->kind != NBCOLL_POSTING_RECEIVE)
        return NBCOLL_ERR_ARGUMENT;
    if (slot == r->depth || p->bytes > e->piece)
        return NBCOLL_ERR_LIMIT;
    uint32_t next = r->slot[slot].next;
    r->slot[slot] = (nbcolli_verbs_slot){.memory = p->memory,
                                         .bytes = (uint32_t)p->bytes,
                                         .lkey = p->bytes ? nbcolli_verbs_lkey(e, ep->rank, p->local) : 0,
                                         .next = next};
    if (nbcolli_verbs_give_shared(r, slot) != 0)
        return NBCOLL_ERR_TRANSPORT;
    r->spare = next;
    r->left++;
    return NBCOLL_OK;
}

nbcoll_status nbcolli_verbs_take(nbcoll_endpoint *ep, nbcoll_completion_queue *received, nbcoll_shared_arrival *out)
{
    nbcolli_verbs_end *e = nbcolli_verbs_end_of(ep);
    nbcoll_shared_receives *r = received->shared;

    if (!r)
        return NBCOLL_ERR_ARGUMENT;
    if (r->taken == r->came)
        nbcolli_verbs_run(e);
    if (r->taken == r->came)
        return received->status;
    const nbcolli_verbs_came *a = &r->arrival[r->taken++ % r->depth];
    *out = (nbcoll_shared_arrival){a->pair, r->slot[a->slot].memory};
    r->slot[a->slot].next = r->spare;
    r->spare = a->slot;
    return NBCOLL_OK;
}

void nbcolli_verbs_close_shared(nbcoll_endpoint *ep, nbcoll_shared_receives *r)
{
    nbcolli_verbs_end *e = nbcolli_verbs_end_of(ep);
    nbcoll_shared_receives **at = &e->programs.shared;

    while (*at != r)
        at = &(*at)->next;
    *at = r->next;
    r->completions->shared = NULL;
    nbcolli_verbs_shared_free(e, r);
}

void nbcolli_verbs_receives_end(nbcolli_verbs_end *e)
{
    while (e->programs.shared) {
        nbcoll_shared_receives *r = e->programs.shared;
        e->programs.shared = r->next;
        nbcolli_verbs_shared_free(e, r);
    }
    nbcolli_verbs_unwatch(e);
}
