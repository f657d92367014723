/* SPDX-License-Identifier: BSD-3-Clause
 * Receives that several pairs of a rank share, for relays: on each rail a shared receive queue and a completion queue,
 * from which the pairs of that rail take. If none is left the sender's device sends again, without limit. A device says
 * once when few are left (its limit). A watcher sleeps on one descriptor for all: the devices' events, common to
 * endpoints beside each other; channels of completions; and a bell. See verbs.h. */
#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "verbs.h"

/* ---- messages ---------------------------------------------------------------------------------------------------- */

static int nbcolli_verbs_give_shared(nbcoll_shared_receives *r, const nbcolli_verbs_part *part, uint32_t slot)
{
    nbcolli_verbs_slot *s = &r->slot[slot];
    struct ibv_sge piece = {(uintptr_t)s->memory, s->bytes, s->lkey};
    struct ibv_recv_wr wr = {.wr_id = slot, .sg_list = &piece, .num_sge = s->bytes != 0}, *bad;

    return ibv_post_srq_recv(part->srq, &wr, &bad);
}

/* Two devices may have queue pairs of the same number. */
static nbcoll_queue_pair *nbcolli_verbs_sharer(const nbcolli_verbs_part *part, uint32_t qpn)
{
    nbcoll_queue_pair *pair = part->pairs;
    while (pair && pair->qp->qp_num != qpn)
        pair = pair->next_sharer;
    return pair;
}

static void nbcolli_verbs_shared_came(nbcolli_verbs_end *e, nbcoll_shared_receives *r, nbcolli_verbs_part *part,
                                      const struct ibv_wc *wc)
{
    nbcoll_queue_pair *pair = nbcolli_verbs_sharer(part, wc->qp_num);
    uint32_t slot = (uint32_t)wc->wr_id;

    if (wc->status == IBV_WC_SUCCESS) {
        if (pair)
            nbcolli_verbs_pair_hears(e, pair);
        part->left--;
        r->arrival[r->came++ % r->depth] = (nbcolli_verbs_came){pair, slot};
        return;
    }
    if (pair)
        nbcolli_verbs_pair_fails(e, pair, wc);
    if (nbcolli_verbs_give_shared(r, part, slot) != 0) /* for other pairs; or it is missing until all are closed */
        part->left--;
}

static void nbcolli_verbs_part_poll(nbcolli_verbs_end *e, nbcoll_shared_receives *r, nbcolli_verbs_part *part)
{
    struct ibv_wc wc[NBCOLLI_VERBS_BATCH];
    int n;

    do {
        n = ibv_poll_cq(part->cq, NBCOLLI_VERBS_BATCH, wc);
        for (int i = 0; i < n; i++)
            nbcolli_verbs_shared_came(e, r, part, &wc[i]);
    } while (n == NBCOLLI_VERBS_BATCH);
}

void nbcolli_verbs_shared_poll(nbcolli_verbs_end *e, const nbcoll_queue_pair *pair)
{
    nbcolli_verbs_part_poll(e, pair->shared, nbcolli_verbs_part_of(e, pair));
}

/* A queue pair in error takes no receive any more; one that is destroyed has no completion any more. */
void nbcolli_verbs_unshare_pair(nbcolli_verbs_end *e, nbcoll_queue_pair *pair)
{
    nbcoll_shared_receives *r = pair->shared;
    nbcolli_verbs_part *part = nbcolli_verbs_part_of(e, pair);
    struct ibv_qp_attr to = {.qp_state = IBV_QPS_ERR};
    nbcoll_queue_pair **at = &part->pairs;

    ibv_modify_qp(pair->qp, &to, IBV_QP_STATE);
    nbcolli_verbs_part_poll(e, r, part);
    while (*at != pair)
        at = &(*at)->next_sharer;
    *at = pair->next_sharer;
    part->sharers--;
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

/* A rail that had no pairs may have had none of its receives left for long. */
void nbcolli_verbs_share_pair(nbcolli_verbs_end *e, nbcoll_queue_pair *pair)
{
    nbcolli_verbs_part *part = nbcolli_verbs_part_of(e, pair);

    pair->next_sharer = part->pairs;
    part->pairs = pair;
    part->sharers++;
    if (part->left < pair->shared->least)
        nbcolli_verbs_shared_low(pair->shared);
}

/* A queue can be closed only after its events are acknowledged. */
static void nbcolli_verbs_hear_rail(struct ibv_context *device, struct ibv_comp_channel *channel)
{
    struct ibv_async_event event;
    struct ibv_cq *cq;
    void *of;

    while (ibv_get_async_event(device, &event) == 0) {
        if (event.event_type == IBV_EVENT_SRQ_LIMIT_REACHED && event.element.srq->srq_context)
            nbcolli_verbs_shared_low(event.element.srq->srq_context);
        ibv_ack_async_event(&event);
    }
    while (ibv_get_cq_event(channel, &cq, &of) == 0) {
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

    for (uint32_t i = 0; i < e->rails; i++) {
        if (g->channel[i])
            ibv_destroy_comp_channel(g->channel[i]);
        g->channel[i] = NULL;
    }
    if (g->watched >= 0)
        close(g->watched);
    if (g->bell >= 0)
        close(g->bell);
    g->watched = g->bell = -1;
}

/* What watching needs, for all of an endpoint. */
static bool nbcolli_verbs_watchable(nbcolli_verbs_end *e)
{
    nbcolli_verbs_programs *g = &e->programs;
    struct epoll_event event = {.events = EPOLLIN};

    if (g->bell >= 0)
        return true;
    g->bell = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    g->watched = epoll_create1(EPOLL_CLOEXEC);
    bool is_ready = g->bell >= 0 && g->watched >= 0 && epoll_ctl(g->watched, EPOLL_CTL_ADD, g->bell, &event) == 0;
    for (uint32_t i = 0; i < e->rails && is_ready; i++) {
        struct ibv_context *device = e->rail[i].device;
        g->channel[i] = ibv_create_comp_channel(device);
        is_ready = g->channel[i] && nbcolli_verbs_set_nonblocking(g->channel[i]->fd) &&
                   nbcolli_verbs_set_nonblocking(device->async_fd) &&
                   epoll_ctl(g->watched, EPOLL_CTL_ADD, g->channel[i]->fd, &event) == 0 &&
                   epoll_ctl(g->watched, EPOLL_CTL_ADD, device->async_fd, &event) == 0;
    }
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
    (void)!read(e->programs.bell, &rung, sizeof rung); /* before the look: later events ring again */
    for (nbcoll_shared_receives *other = e->programs.shared; other; other = other->next)
        if (atomic_load(&other->is_low))
            (void)!write(e->programs.bell, &one, sizeof one);
}

/* The device tells of a receive that it takes, not of a queue that is short already: rxe does not. And each pair may
 * have taken one for a message that has not come whole: then the next one to come wakes. */
static void nbcolli_verbs_part_watch(nbcolli_verbs_end *e, nbcoll_shared_receives *r, nbcolli_verbs_part *part)
{
    uint32_t least = r->least;

    nbcolli_verbs_part_poll(e, r, part);
    if (least && part->left >= least && part->left < least + (uint64_t)part->sharers &&
        ibv_req_notify_cq(part->cq, 0) == 0)
        nbcolli_verbs_part_poll(e, r, part);
    if (part->left < least && part->sharers)
        nbcolli_verbs_shared_low(r);
}

nbcoll_status nbcolli_verbs_watch_shared(nbcoll_endpoint *ep, nbcoll_shared_receives *r, uint32_t least, int *fd)
{
    nbcolli_verbs_end *e = nbcolli_verbs_end_of(ep);
    struct ibv_srq_attr limit = {.srq_limit = least};
    uint64_t left = 0;

    if (least > r->depth)
        return NBCOLL_ERR_LIMIT;
    for (uint32_t i = 0; i < e->rails; i++)
        nbcolli_verbs_hear_rail(e->rail[i].device, e->programs.channel[i]);
    nbcolli_verbs_shared_heard(e, r); /* before it can be said anew */
    r->least = least;
    for (uint32_t i = 0; i < e->rails; i++) {
        if (ibv_modify_srq(r->part[i].srq, &limit, IBV_SRQ_LIMIT) != 0)
            return NBCOLL_ERR_TRANSPORT;
        nbcolli_verbs_part_watch(e, r, &r->part[i]);
        left += r->part[i].left;
    }
    if (left < least) /* any rail with pairs */
        nbcolli_verbs_shared_low(r);
    *fd = e->programs.watched;
    return NBCOLL_OK;
}

/* ---- opening and closing ----------------------------------------------------------------------------------------- */

static void nbcolli_verbs_shared_free(nbcolli_verbs_end *e, nbcoll_shared_receives *r)
{
    for (uint32_t i = 0; i < e->rails; i++) {
        if (r->part[i].srq)
            ibv_destroy_srq(r->part[i].srq);
        if (r->part[i].cq)
            ibv_destroy_cq(r->part[i].cq);
    }
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

/* Any of its receives may be for ranks of this rail. */
static nbcoll_status nbcolli_verbs_part_open(nbcolli_verbs_end *e, nbcoll_shared_receives *r, uint32_t i)
{
    const nbcolli_verbs_rail *rail = &e->rail[i];
    nbcolli_verbs_part *part = &r->part[i];
    struct ibv_srq_init_attr how = {.srq_context = r, .attr = {.max_wr = r->depth, .max_sge = 1}};

    part->cq = ibv_create_cq(rail->device, (int)r->depth, r, e->programs.channel[i], 0);
    if (!part->cq)
        return nbcolli_verbs_refused(e, rail, NBCOLLI_VERBS_COMPLETIONS, r->depth);
    part->srq = ibv_create_srq(rail->pd, &how);
    return part->srq ? NBCOLL_OK : nbcolli_verbs_refused(e, rail, NBCOLLI_VERBS_RECEIVES, r->depth);
}

/* Whether each device has such queues at all. */
static nbcoll_status nbcolli_verbs_can_share(const nbcolli_verbs_end *e)
{
    struct ibv_device_attr all;

    for (uint32_t i = 0; i < e->rails; i++) {
        if (ibv_query_device(e->rail[i].device, &all) != 0)
            return NBCOLL_ERR_TRANSPORT;
        if (all.max_srq <= 0)
            return NBCOLL_ERR_UNSUPPORTED;
    }
    return NBCOLL_OK;
}

nbcoll_status nbcolli_verbs_open_shared(nbcoll_endpoint *ep, uint32_t depth, nbcoll_completion_queue *received,
                                        nbcoll_shared_receives **out)
{
    nbcolli_verbs_end *e = nbcolli_verbs_end_of(ep);
    const nbcoll_queue_demand demand = {.size = sizeof demand, .shared = 1, .shared_depth = depth};

    *out = NULL;
    if (received->shared)
        return NBCOLL_ERR_BUSY;
    nbcoll_status status = nbcolli_verbs_can_share(e);
    if (status == NBCOLL_OK)
        status = depth ? nbcolli_verbs_admits(ep, &demand) : NBCOLL_ERR_LIMIT;
    if (status != NBCOLL_OK)
        return status;
    if (!nbcolli_verbs_watchable(e))
        return errno == ENOMEM ? NBCOLL_ERR_MEMORY : NBCOLL_ERR_TRANSPORT;
    nbcoll_shared_receives *r = nbcolli_verbs_shared_new(e, depth);
    if (!r)
        return NBCOLL_ERR_MEMORY;
    for (uint32_t i = 0; i < e->rails && status == NBCOLL_OK; i++)
        status = nbcolli_verbs_part_open(e, r, i);
    if (status != NBCOLL_OK) {
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
    int peer = p->from - 1;

    if (p->kind != NBCOLL_POSTING_RECEIVE || (!p->from && e->rails > 1))
        return NBCOLL_ERR_ARGUMENT;
    if (p->from < 0 || p->from > ep->ranks)
        return NBCOLL_ERR_RANK;
    if (slot == r->depth || p->bytes > e->piece)
        return NBCOLL_ERR_LIMIT;
    uint32_t next = r->slot[slot].next;
    r->slot[slot] = (nbcolli_verbs_slot){.memory = p->memory,
                                         .bytes = (uint32_t)p->bytes,
                                         .lkey = p->bytes ? nbcolli_verbs_lkey(e, peer, p->local) : 0,
                                         .next = next};
    nbcolli_verbs_part *part = &r->part[nbcolli_verbs_rail_to(e, peer)];
    if (nbcolli_verbs_give_shared(r, part, slot) != 0)
        return NBCOLL_ERR_TRANSPORT;
    r->spare = next;
    part->left++;
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
