/* SPDX-License-Identifier: BSD-3-Clause
 * Completions, and what follows from them: arrivals, work requests that come back, ends of peers; and sleeping. See
 * ofi.h. */
#include <string.h>

#include "ofi.h"

#define NBCOLLI_OFI_TICK 64u /* passes that find something, between two looks at the clock */
/* While the provider has no room, or connects: between two looks at it. And without a descriptor: between two looks. */
#define NBCOLLI_OFI_PATIENCE (10 * NBCOLLI_OFI_MS)
#define NBCOLLI_OFI_NAP UINT64_C(200000)

/* ---- ends -------------------------------------------------------------------------------------------------------- */

void nbcolli_ofi_give_back(nbcolli_ofi_end *e, nbcolli_ofi_buffer *b, nbcoll_status status)
{
    nbcoll_work *work = b->work;

    b->work = NULL;
    if (!work)
        return;
    work->status = status;
    work->next = e->back;
    e->back = work;
}

/* All buffers for sending to this peer, from the first of its slab. */
static nbcolli_ofi_buffer *nbcolli_ofi_buffer_at(const nbcolli_ofi_end *e, const nbcolli_ofi_peer *p, uint32_t i)
{
    size_t stride = nbcolli_lines(sizeof(nbcolli_ofi_buffer) + NBCOLLI_OFI_FRONT + e->payload);
    return (nbcolli_ofi_buffer *)(void *)((char *)p->slab.at + i * stride);
}

void nbcolli_ofi_over(nbcolli_ofi_end *e, nbcolli_ofi_peer *p, nbcolli_ofi_state state, int error)
{
    if (nbcolli_ofi_is_gone(p))
        return;
    p->state = state;
    p->error = error;
    p->out = NULL;
    e->ends++;
    nbcolli_ofi_watch_over(e, p);
    for (uint32_t i = 0; p->slab.at && i < e->credits; i++) {
        nbcolli_ofi_buffer *b = nbcolli_ofi_buffer_at(e, p, i);
        nbcolli_ofi_give_back(e, b, NBCOLL_ERR_PEER_LOST);
    }
}

static void nbcolli_ofi_report(nbcolli_ofi_end *e, nbcoll_completions *found)
{
    for (int rank = 0; rank < e->base.ranks && e->ends; rank++) {
        nbcolli_ofi_peer *p = &e->peer[rank];
        int *report = p->state == NBCOLLI_OFI_LOST ? &found->lost : &found->departed;
        if (!nbcolli_ofi_is_gone(p) || p->is_reported || *report >= 0)
            continue;
        *report = p->rank;
        p->is_reported = true;
        e->ends--;
    }
}

/* ---- failures ---------------------------------------------------------------------------------------------------- */

/* It may be the first sign of the peer's end; or that the peer takes puts elsewhere. The peer's connection, a message,
 * or its answer soon tells which. */
static void nbcolli_ofi_doubt(nbcolli_ofi_end *e, nbcolli_ofi_buffer *b, int error)
{
    nbcolli_ofi_peer *p = b->peer;

    if (b->is_quiet || b->is_taken || nbcolli_ofi_is_gone(p) || (b->is_cancelled && b->doing == NBCOLLI_OFI_WRITES)) {
        nbcolli_ofi_give_back(e, b, NBCOLL_ERR_CANCELLED); /* of a rank that is gone it is back already */
        nbcolli_ofi_idle(e, b);
        return;
    }
    p->error = error;
    if (b->doing == NBCOLLI_OFI_WRITES && b->moves != p->moves) {
        nbcolli_ofi_launch_or_wait(e, b);
        return;
    }
    b->is_under_way = true; /* if the peer acknowledges it, it is free when its doubt is over */
    nbcolli_ofi_has_failed(e, b);
}

/* A put whose peer answers, and has not moved, fails alone; so does one whose peer has given this rank up. The peer of
 * a message that it has not taken is lost. */
void nbcolli_ofi_believe(nbcolli_ofi_end *e)
{
    for (nbcolli_ofi_buffer **at = &e->doubtful; *at;) {
        nbcolli_ofi_buffer *b = *at;
        bool is_refused = b->doing == NBCOLLI_OFI_WRITES && b->peer->gives_up;
        if (!nbcolli_ofi_is_gone(b->peer) && e->now < b->until && !is_refused && !b->is_taken) {
            at = &b->next_doubtful;
            continue;
        }
        *at = b->next_doubtful;
        if (b->doing == NBCOLLI_OFI_SENDS && !b->is_taken)
            nbcolli_ofi_over(e, b->peer, NBCOLLI_OFI_LOST, b->peer->error);
        else {
            nbcolli_ofi_give_back(e, b, is_refused ? NBCOLL_ERR_TRANSPORT : NBCOLL_ERR_FAULT);
            nbcolli_ofi_idle(e, b);
        }
    }
}

/* ---- completions ------------------------------------------------------------------------------------------------- */

static void nbcolli_ofi_complete(nbcolli_ofi_end *e, const struct fi_cq_msg_entry *c, nbcoll_arrival ***last)
{
    nbcolli_ofi_buffer *b = c->op_context;

    switch (b->doing) {
    case NBCOLLI_OFI_RECEIVES:
        nbcolli_ofi_took(e, b, c->len, last);
        break;
    case NBCOLLI_OFI_SENDS:
        nbcolli_ofi_sent(e, b);
        break;
    case NBCOLLI_OFI_WRITES:
        nbcolli_ofi_wrote(e, b);
        break;
    case NBCOLLI_OFI_IDLE:
        break;
    }
}

static void nbcolli_ofi_fails(nbcolli_ofi_end *e)
{
    struct fi_cq_err_entry said = {0};

    if (fi_cq_readerr(e->cq, &said, 0) != 1 || !said.op_context)
        return;
    nbcolli_ofi_buffer *b = said.op_context;
    e->error = said.err;
    if (b->doing == NBCOLLI_OFI_RECEIVES)
        nbcolli_ofi_receive(e, b);
    else if (b->doing != NBCOLLI_OFI_IDLE)
        nbcolli_ofi_doubt(e, b, said.err);
}

int nbcolli_ofi_poll(nbcolli_ofi_end *e, nbcoll_arrival ***last)
{
    ssize_t n = e->stashed ? e->stashed : fi_cq_read(e->cq, e->stash, NBCOLLI_OFI_BATCH);

    e->stashed = 0;
    if (n == -FI_EAVAIL) {
        nbcolli_ofi_fails(e);
        return 1;
    }
    for (ssize_t i = 0; i < n; i++)
        nbcolli_ofi_complete(e, &e->stash[i], last);
    return n > 0 ? (int)n : 0;
}

/* ---- the clock --------------------------------------------------------------------------------------------------- */

static void nbcolli_ofi_tick(nbcolli_ofi_end *e)
{
    e->now = nbcolli_now(&e->host);
    if (e->now - e->looked >= NBCOLLI_OFI_MS) {
        e->looked = e->now;
        nbcolli_ofi_watch_look(e);
    }
    if (e->doubtful)
        nbcolli_ofi_believe(e);
}

/* ---- progress ---------------------------------------------------------------------------------------------------- */

/* Only while this rank sleeps is the queue's descriptor in its set: each arrival would ring the set, too, which takes
 * half a microsecond. */
static bool nbcolli_ofi_attend(const nbcolli_ofi_end *e, int what)
{
    struct epoll_event event = {.events = EPOLLIN};
    return e->cq_fd < 0 || e->os->attend(e->epoll, what, e->cq_fd, &event) == 0;
}

static void nbcolli_ofi_disarm(nbcolli_ofi_end *e)
{
    e->is_armed = false;
    nbcolli_ofi_attend(e, EPOLL_CTL_DEL);
    e->looked = 0; /* perhaps a connection has woken it */
    e->os->hush(e->timer);
}

void nbcolli_ofi_progress(nbcoll_endpoint *ep, nbcoll_completions *found)
{
    nbcolli_ofi_end *e = nbcolli_ofi_end_of(ep);
    nbcoll_arrival **last = &found->arrived;

    if (e->is_armed)
        nbcolli_ofi_disarm(e);
    if (!e->is_refused)
        e->refused = 0;
    e->is_refused = false;
    nbcolli_ofi_release(e);
    if (e->own_first)
        nbcolli_ofi_own_arrive(e, &last);
    if (e->again)
        nbcolli_ofi_launch_again(e);
    int n = nbcolli_ofi_poll(e, &last);
    if (e->due)
        nbcolli_ofi_acknowledge(e);
    ep->busy = n == NBCOLLI_OFI_BATCH;
    if (n == 0 || ++e->passes % NBCOLLI_OFI_TICK == 0)
        nbcolli_ofi_tick(e);
    *last = e->late; /* behind what the provider has brought */
    e->late = NULL;
    found->completed = e->back;
    e->back = NULL;
    if (e->ends)
        nbcolli_ofi_report(e, found);
}

/* ---- sleeping ---------------------------------------------------------------------------------------------------- */

static int nbcolli_ofi_fd(nbcoll_endpoint *ep)
{
    return nbcolli_ofi_end_of(ep)->epoll;
}

/* The time until which to sleep, for clocks and events that wake nobody (without a descriptor of the provider's: each
 * message); 0: none. */
static uint64_t nbcolli_ofi_longest(const nbcolli_ofi_end *e)
{
    if (e->cq_fd < 0)
        return NBCOLLI_OFI_NAP;
    if (e->is_refused || e->again || e->unposted || e->due)
        return NBCOLLI_OFI_PATIENCE;
    return e->doubtful || e->connecting ? 100 * NBCOLLI_OFI_MS : 0;
}

static nbcoll_status nbcolli_ofi_arm(nbcoll_endpoint *ep)
{
    nbcolli_ofi_end *e = nbcolli_ofi_end_of(ep);
    struct fid *cq = &e->cq->fid;

    nbcolli_ofi_watch_look(e); /* a connection that has come about is no reason to wake */
    if (e->own_first || e->late || e->back || e->ends ||
        (e->is_refused && nbcolli_now(&e->host) - e->refused < NBCOLLI_OFI_PATIENCE))
        return NBCOLL_AGAIN;
    nbcolli_ofi_calm(e);
    if (!e->stashed) /* what has come already, which a provider may only find when it is asked */
        e->stashed = fi_cq_read(e->cq, e->stash, NBCOLLI_OFI_BATCH);
    if (e->stashed != -FI_EAGAIN)
        return NBCOLL_AGAIN;
    e->stashed = 0;
    if (e->cq_fd >= 0 && fi_trywait(e->fabric, &cq, 1) != 0)
        return NBCOLL_AGAIN;
    e->is_armed =
        e->os->set(e->timer, nbcolli_ofi_longest(e)) == 0 && (e->is_armed || nbcolli_ofi_attend(e, EPOLL_CTL_ADD));
    return e->is_armed ? NBCOLL_OK : NBCOLL_AGAIN;
}

const nbcoll_wakeup nbcolli_ofi_wakeup = {sizeof nbcolli_ofi_wakeup, nbcolli_ofi_fd, nbcolli_ofi_arm};
