/* SPDX-License-Identifier: BSD-3-Clause
 * Completions, and what follows from them: arrivals, work requests that come back, ends of peers; and sleeping. See
 * verbs.h. */
#include <errno.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "verbs.h"

#define NBCOLLI_VERBS_TICK 64u /* passes that find something, between two looks at the clock */

/* ---- ends -------------------------------------------------------------------------------------------------------- */

void nbcolli_verbs_over(nbcolli_verbs_end *e, nbcolli_verbs_peer *p, nbcolli_verbs_state state)
{
    struct ibv_qp_attr to = {.qp_state = IBV_QPS_ERR};

    if (p->state == NBCOLLI_VERBS_LEFT || p->state == NBCOLLI_VERBS_LOST)
        return;
    p->state = state;
    atomic_store_explicit(&p->is_gone, true, memory_order_relaxed); /* a word of its own */
    e->ends++;
    if (p->messages)
        ibv_modify_qp(p->messages, &to, IBV_QP_STATE);
    if (p->bulk)
        ibv_modify_qp(p->bulk, &to, IBV_QP_STATE);
    if (state == NBCOLLI_VERBS_LOST) /* it may live; once it is connected, its next probe fails also without that */
        nbcolli_verbs_tell(e, p, NBCOLLI_VERBS_LOSES);
}

static void nbcolli_verbs_report(nbcolli_verbs_end *e, nbcoll_completions *found)
{
    for (nbcolli_verbs_peer *p = e->known; p; p = p->next_known) {
        int *report = p->state == NBCOLLI_VERBS_LOST ? &found->lost : &found->departed;
        if ((p->state != NBCOLLI_VERBS_LOST && p->state != NBCOLLI_VERBS_LEFT) || p->is_reported || *report >= 0)
            continue;
        *report = p->rank;
        p->is_reported = true;
        e->ends--;
    }
}

/* A work request that the peer's device did not acknowledge, or refused. On the queue pair of bulk data, a registration
 * may be missing, or this rank may be given up. */
static void nbcolli_verbs_failed(nbcolli_verbs_end *e, nbcolli_verbs_peer *p, const struct ibv_wc *wc)
{
    if (wc->status != IBV_WC_WR_FLUSH_ERR) {
        p->error = wc->status;
        p->vendor_error = wc->vendor_err;
    }
    if (p->messages && wc->qp_num == p->messages->qp_num)
        nbcolli_verbs_over(e, p, NBCOLLI_VERBS_LOST);
    else if (!p->bulk_is_over && p->state == NBCOLLI_VERBS_CONNECTED) {
        p->bulk_is_over = true;
        nbcolli_verbs_say(e, p, NBCOLLI_VERBS_MESSAGE);
    }
}

/* ---- completions ------------------------------------------------------------------------------------------------- */

static void nbcolli_verbs_give_work(nbcoll_work *work, const nbcolli_verbs_peer *p, bool is_done,
                                    nbcoll_completions *found)
{
    if (is_done)
        work->status = NBCOLL_OK;
    else if (p->state == NBCOLLI_VERBS_LOST || p->state == NBCOLLI_VERBS_LEFT)
        work->status = NBCOLL_ERR_PEER_LOST;
    else
        work->status = p->is_given_up ? NBCOLL_ERR_CANCELLED : NBCOLL_ERR_TRANSPORT;
    work->next = found->completed;
    found->completed = work;
}

/* A message, or the notice of a put, is acknowledged, or will not be. */
static void nbcolli_verbs_posted(nbcolli_verbs_end *e, nbcolli_verbs_buffer *b, const struct ibv_wc *wc,
                                 nbcoll_completions *found)
{
    nbcolli_verbs_peer *p = b->peer;
    bool goes_nowhere = p->state == NBCOLLI_VERBS_LEFT && !b->slots;

    if (wc->status != IBV_WC_SUCCESS)
        nbcolli_verbs_failed(e, p, wc);
    if (b->work)
        nbcolli_verbs_give_work(b->work, p, wc->status == IBV_WC_SUCCESS || goes_nowhere, found);
    p->bulk_slots -= b->slots;
    b->work = NULL;
    b->peer = NULL;
    b->next = p->spare;
    p->spare = b;
}

static void nbcolli_verbs_complete(nbcolli_verbs_end *e, const struct ibv_wc *wc, nbcoll_completions *found,
                                   nbcoll_arrival ***last)
{
    void *at = nbcolli_verbs_at(wc->wr_id);
    nbcolli_verbs_peer *p;

    switch ((nbcolli_verbs_of)(wc->wr_id & 7)) {
    case NBCOLLI_VERBS_OF_RECEIVE:
        nbcolli_verbs_took(e, at, wc, last);
        break;
    case NBCOLLI_VERBS_OF_POST:
        ((nbcolli_verbs_buffer *)at)->peer->heard = e->now;
        nbcolli_verbs_posted(e, at, wc, found);
        break;
    case NBCOLLI_VERBS_OF_QUIET:
        p = at;
        p->heard = e->now;
        p->waits = nbcolli_now(&e->host);
        if (p->messages && wc->qp_num == p->messages->qp_num)
            p->quiet--;
        if (wc->status != IBV_WC_SUCCESS)
            nbcolli_verbs_failed(e, p, wc);
        break;
    case NBCOLLI_VERBS_OF_GET:
        p = (nbcolli_verbs_peer *)(uintptr_t)((nbcoll_work *)at)->scratch[0];
        p->bulk_slots -= (uint32_t)((nbcoll_work *)at)->scratch[2];
        if (wc->status != IBV_WC_SUCCESS)
            nbcolli_verbs_failed(e, p, wc);
        nbcolli_verbs_give_work(at, p, wc->status == IBV_WC_SUCCESS, found);
        break;
    case NBCOLLI_VERBS_OF_DATAGRAM:
        nbcolli_verbs_heard(e, at, wc->status == IBV_WC_SUCCESS ? wc->byte_len : 0);
        break;
    case NBCOLLI_VERBS_OF_SAID:
        nbcolli_verbs_mail_said(&e->mail, at);
        break;
    case NBCOLLI_VERBS_OF_SEND:
    case NBCOLLI_VERBS_OF_SIGNALLED: /* never come into this queue */
        break;
    }
}

/* Returns the most that there were of a rail. */
static int nbcolli_verbs_poll(nbcolli_verbs_end *e, nbcoll_completions *found, nbcoll_arrival ***last)
{
    struct ibv_wc wc[NBCOLLI_VERBS_BATCH];
    int most = 0;

    for (nbcolli_verbs_rail *rail = e->rail; rail < e->rail + e->rails; rail++) {
        int n = ibv_poll_cq(rail->cq, NBCOLLI_VERBS_BATCH, wc);
        for (int i = 0; i < n; i++)
            nbcolli_verbs_complete(e, &wc[i], found, last);
        most = n > most ? n : most;
    }
    return most;
}

/* ---- the clock --------------------------------------------------------------------------------------------------- */

/* A device that cannot send does not always say so (rxe, while its link goes down): a probe that is not acknowledged
 * long after the last retry means the same. Known only when all completions have been read. */
static bool nbcolli_verbs_is_stuck(const nbcolli_verbs_end *e, const nbcolli_verbs_peer *p)
{
    uint64_t last_retry = (UINT64_C(4096) << e->timeout) * (e->retries + 1);
    return p->quiet && e->now > p->waits && e->now - p->waits > last_retry + last_retry / 2;
}

/* Does what is due: asks again where no answer came, probes peers that have long been silent. */
static void nbcolli_verbs_tick(nbcolli_verbs_end *e, bool has_seen_all)
{
    e->now = nbcolli_now(&e->host);
    if (e->now < e->due_at)
        return;
    uint64_t next = nbcolli_verbs_ask_again(e, e->now);

    for (nbcolli_verbs_peer *p = e->known; p; p = p->next_known) {
        if (p->state == NBCOLLI_VERBS_CONNECTED && has_seen_all && nbcolli_verbs_is_stuck(e, p))
            nbcolli_verbs_over(e, p, NBCOLLI_VERBS_LOST);
        if (p->state != NBCOLLI_VERBS_CONNECTED)
            continue;
        if (e->now - p->heard >= e->probe_ns) {
            nbcolli_verbs_say(e, p, NBCOLLI_VERBS_MESSAGE);
            p->heard = e->now;
        }
        next = p->heard + e->probe_ns < next ? p->heard + e->probe_ns : next;
    }
    e->due_at = next;
}

/* ---- progress ---------------------------------------------------------------------------------------------------- */

static void nbcolli_verbs_disarm(nbcolli_verbs_end *e)
{
    struct ibv_cq *cq;
    void *context;
    uint64_t expirations;

    e->is_armed = false;
    for (uint32_t i = 0; i < e->rails; i++)
        while (ibv_get_cq_event(e->rail[i].channel, &cq, &context) == 0)
            ibv_ack_cq_events(cq, 1);
    (void)!read(e->timer, &expirations, sizeof expirations);
}

static void nbcolli_verbs_own_arrive(nbcolli_verbs_end *e, nbcoll_arrival ***last)
{
    for (nbcolli_verbs_buffer *b = e->own_first, *next; b; b = next) {
        next = b->next;
        b->arrival.next = NULL;
        b->arrival.source = e->base.rank;
        b->arrival.payload = b->wire + sizeof(nbcoll_header);
        memcpy(&b->arrival.header, b->wire, sizeof(nbcoll_header));
        **last = &b->arrival;
        *last = &b->arrival.next;
        b->next = e->arrived;
        e->arrived = b;
    }
    e->own_first = NULL;
    e->own_last = &e->own_first;
}

void nbcolli_verbs_progress(nbcoll_endpoint *ep, nbcoll_completions *found)
{
    nbcolli_verbs_end *e = nbcolli_verbs_end_of(ep);
    nbcoll_arrival **last = &found->arrived;

    if (e->is_armed)
        nbcolli_verbs_disarm(e);
    nbcolli_verbs_release(e);
    found->completed = e->cancelled;
    e->cancelled = NULL;
    if (e->own_first)
        nbcolli_verbs_own_arrive(e, &last);
    for (nbcolli_verbs_rail *rail = e->rail; rail < e->rail + e->rails; rail++)
        if (rail->is_stashed) {
            rail->is_stashed = false;
            nbcolli_verbs_complete(e, &rail->stashed, found, &last);
        }
    int n = nbcolli_verbs_poll(e, found, &last);
    ep->busy = n == NBCOLLI_VERBS_BATCH;
    if (n <= 0 || ++e->passes % NBCOLLI_VERBS_TICK == 0) /* a rank that seldom progresses is late as it is */
        nbcolli_verbs_tick(e, n <= 0);
    if (e->ends)
        nbcolli_verbs_report(e, found);
}

/* ---- sleeping ---------------------------------------------------------------------------------------------------- */

static int nbcolli_verbs_fd(nbcoll_endpoint *ep)
{
    return nbcolli_verbs_end_of(ep)->epoll;
}

/* Arms: later arrivals wake this rank; then looks for earlier ones. */
static bool nbcolli_verbs_arm_rail(nbcolli_verbs_rail *rail)
{
    if (rail->is_stashed || ibv_req_notify_cq(rail->cq, 0) != 0)
        return false;
    rail->is_stashed = ibv_poll_cq(rail->cq, 1, &rail->stashed) > 0;
    return !rail->is_stashed;
}

static nbcoll_status nbcolli_verbs_arm(nbcoll_endpoint *ep)
{
    nbcolli_verbs_end *e = nbcolli_verbs_end_of(ep);

    if (e->own_first || e->cancelled || e->ends)
        return NBCOLL_AGAIN;
    e->is_armed = true;
    for (uint32_t i = 0; i < e->rails; i++)
        if (!nbcolli_verbs_arm_rail(&e->rail[i]))
            return NBCOLL_AGAIN;
    nbcolli_verbs_tick(e, true);
    if (e->ends)
        return NBCOLL_AGAIN;
    uint64_t in = e->due_at == UINT64_MAX ? 0 : e->due_at > e->now ? e->due_at - e->now : 1;
    struct itimerspec when = {.it_value = {(time_t)(in / 1000000000), (long)(in % 1000000000)}};
    return timerfd_settime(e->timer, 0, &when, NULL) == 0 ? NBCOLL_OK : NBCOLL_AGAIN;
}

const nbcoll_wakeup nbcolli_verbs_wakeup = {sizeof nbcolli_verbs_wakeup, nbcolli_verbs_fd, nbcolli_verbs_arm};

/* ---- at the end ---------------------------------------------------------------------------------------------------
 */

static bool nbcolli_verbs_is_quiet(const nbcolli_verbs_end *e)
{
    for (const nbcolli_verbs_peer *p = e->known; p; p = p->next_known)
        if (p->state == NBCOLLI_VERBS_CONNECTED && p->quiet)
            return false;
    return true;
}

/* Peers' devices acknowledge messages for which they have receives, whatever their ranks do. The last retry finds a
 * peer that has ended; if a device does not, this stops waiting. */
void nbcolli_verbs_flush(nbcolli_verbs_end *e)
{
    uint64_t last_retry = (UINT64_C(4096) << e->timeout) * 2 * (e->retries + 1);
    uint64_t until = nbcolli_now(&e->host) + last_retry + 1000000000;

    do {
        nbcoll_completions found = NBCOLL_COMPLETIONS_EMPTY;
        nbcoll_arrival **last = &found.arrived;
        nbcolli_verbs_poll(e, &found, &last);
        nbcolli_verbs_release(e);
    } while ((e->mail.saying || !nbcolli_verbs_is_quiet(e)) && nbcolli_now(&e->host) < until);
}
