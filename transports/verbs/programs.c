/* SPDX-License-Identifier: BSD-3-Clause
 * What is posted to queue pairs for programs. The calling thread does here what a NIC would do by itself: it gives a
 * send to the device when that is enabled, the waits before it are over, and the peer has told of a receive for it. So
 * receivers are always ready. A peer that shares receives tells once of more than there ever can be. Data is sent into
 * the receive that is posted; a message of no bytes, as a clear-to-send is, is a write of no bytes with an immediate.
 * All completions of a pair come into a queue of its own. See verbs.h. */

#include "verbs.h"

/* ---- posting ----------------------------------------------------------------------------------------------------- */

static bool nbcolli_verbs_may_go(const nbcolli_verbs_line *q)
{
    return q->given != q->posted && (!q->is_held || q->gone < q->enabled);
}

static bool nbcolli_verbs_waited(nbcolli_verbs_line *q, const nbcoll_posting *wait)
{
    if (wait->completions->entries < wait->count)
        return false;
    wait->completions->entries -= wait->count;
    q->ended++;
    return true;
}

static bool nbcolli_verbs_give_send(nbcoll_queue_pair *pair, const nbcolli_verbs_entry *posted)
{
    const nbcoll_posting *p = &posted->what;
    struct ibv_sge part = {(uintptr_t)p->memory, (uint32_t)p->bytes, posted->lkey};
    struct ibv_send_wr wr = {.wr_id = nbcolli_verbs_wr_id(pair, p->signal ? NBCOLLI_VERBS_OF_SIGNALLED
                                                                          : NBCOLLI_VERBS_OF_SEND),
                             .sg_list = &part,
                             .num_sge = p->bytes != 0,
                             .opcode = p->bytes ? IBV_WR_SEND : IBV_WR_RDMA_WRITE_WITH_IMM,
                             .send_flags = IBV_SEND_SIGNALED},
                       *bad;

    /* acquire: the receive was posted before */
    if (!pair->may_send || pair->send.gone >= atomic_load_explicit(&pair->told->theirs, memory_order_acquire))
        return false;
    if (!p->bytes) {
        wr.wr.rdma.remote_addr = pair->its_at;
        wr.wr.rdma.rkey = pair->its_rkey;
    }
    if (ibv_post_send(pair->qp, &wr, &bad) != 0)
        return false;
    pair->send.gone++;
    pair->at_device++;
    return true;
}

static bool nbcolli_verbs_give_receive(nbcoll_queue_pair *pair, const nbcolli_verbs_entry *posted)
{
    const nbcoll_posting *p = &posted->what;
    struct ibv_sge part = {(uintptr_t)p->memory, (uint32_t)p->bytes, posted->lkey};
    struct ibv_recv_wr wr = {.wr_id = nbcolli_verbs_wr_id(pair, NBCOLLI_VERBS_OF_RECEIVE),
                             .sg_list = &part,
                             .num_sge = p->bytes != 0},
                       *bad;

    if (ibv_post_recv(pair->qp, &wr, &bad) != 0)
        return false;
    pair->receive.gone++;
    pair->at_device++;
    return true;
}

/* Writes the number of receives to the peer, by one write. If too many writes are under way, does so when one of them
 * has ended. */
static void nbcolli_verbs_tell_receives(nbcoll_queue_pair *pair)
{
    struct ibv_sge part = {(uintptr_t)&pair->told->ours, sizeof pair->told->ours, pair->mr->lkey};
    struct ibv_send_wr wr = {.wr_id = nbcolli_verbs_wr_id(pair, NBCOLLI_VERBS_OF_QUIET),
                             .sg_list = &part,
                             .num_sge = 1,
                             .opcode = IBV_WR_RDMA_WRITE,
                             .send_flags = IBV_SEND_SIGNALED,
                             .wr.rdma = {pair->its_at, pair->its_rkey}},
                       *bad;
    uint64_t before = pair->told->ours;

    if (!pair->may_send || pair->telling == NBCOLLI_VERBS_TELLS)
        return;
    pair->told->ours = pair->receive.gone; /* what is under way may tell it, too: these receives are there */
    if (ibv_post_send(pair->qp, &wr, &bad) == 0) {
        pair->telling++;
        pair->at_device++;
    } else
        pair->told->ours = before;
}

void nbcolli_verbs_pair_advance(nbcoll_queue_pair *pair)
{
    nbcolli_verbs_line *send = &pair->send, *receive = &pair->receive;

    if (pair->is_over)
        return;
    for (; nbcolli_verbs_may_go(receive); receive->given++)
        if (!nbcolli_verbs_give_receive(pair, &receive->place[receive->given % pair->depth]))
            break;
    if (receive->gone != pair->told->ours)
        nbcolli_verbs_tell_receives(pair);
    for (; nbcolli_verbs_may_go(send); send->given++) {
        const nbcolli_verbs_entry *p = &send->place[send->given % pair->depth];
        if (p->what.kind == NBCOLL_POSTING_WAIT ? !nbcolli_verbs_waited(send, &p->what)
                                                : !nbcolli_verbs_give_send(pair, p))
            break;
    }
}

/* ---- completions ------------------------------------------------------------------------------------------------- */

void nbcolli_verbs_pair_lose(nbcoll_queue_pair *pair, nbcoll_status why)
{
    if (pair->is_over)
        return;
    pair->is_over = true;
    if (pair->send.completions && pair->send.completions->status == NBCOLL_PENDING)
        pair->send.completions->status = why;
    if (pair->receive.completions && pair->receive.completions->status == NBCOLL_PENDING)
        pair->receive.completions->status = why;
}

/* A message that is longer than its receive is refused by the receiver's device, which tells both. */
static nbcoll_status nbcolli_verbs_why(enum ibv_wc_status status)
{
    switch (status) {
    case IBV_WC_LOC_LEN_ERR:
    case IBV_WC_LOC_QP_OP_ERR: /* what rxe says of it */
    case IBV_WC_LOC_PROT_ERR:
    case IBV_WC_REM_INV_REQ_ERR:
    case IBV_WC_REM_OP_ERR:
        return NBCOLL_ERR_TRANSPORT;
    default:
        return NBCOLL_ERR_PEER_LOST;
    }
}

void nbcolli_verbs_pair_fails(const nbcolli_verbs_end *e, nbcoll_queue_pair *pair, const struct ibv_wc *wc)
{
    nbcoll_status why = nbcolli_verbs_why(wc->status);

    if (!pair->is_over)
        nbcolli_log(&e->host, why,
                    "the RDMA device has ended a queue pair of programs to rank %d: %s (vendor's code %u)", pair->peer,
                    ibv_wc_status_str(wc->status), wc->vendor_err);
    nbcolli_verbs_pair_lose(pair, why);
}

static void nbcolli_verbs_count(nbcolli_verbs_line *q, bool is_entry)
{
    q->ended++;
    if (is_entry && q->completions)
        q->completions->entries++;
}

/* A sender knows that its peer can receive. */
void nbcolli_verbs_pair_hears(const nbcolli_verbs_end *e, nbcoll_queue_pair *pair)
{
    pair->heard = nbcolli_now(&e->host);
    pair->may_send = true;
}

static void nbcolli_verbs_pair_ended(nbcolli_verbs_end *e, nbcoll_queue_pair *pair, const struct ibv_wc *wc)
{
    unsigned of = wc->wr_id & 7;

    pair->at_device--;
    if (of == NBCOLLI_VERBS_OF_QUIET)
        pair->telling--;
    if (wc->status != IBV_WC_SUCCESS) {
        nbcolli_verbs_pair_fails(e, pair, wc);
        return;
    }
    pair->heard = nbcolli_now(&e->host);
    if (of == NBCOLLI_VERBS_OF_RECEIVE) {
        nbcolli_verbs_pair_hears(e, pair);
        nbcolli_verbs_count(&pair->receive, true);
    } else if (of != NBCOLLI_VERBS_OF_QUIET)
        nbcolli_verbs_count(&pair->send, of == NBCOLLI_VERBS_OF_SIGNALLED);
}

void nbcolli_verbs_pair_poll(nbcolli_verbs_end *e, nbcoll_queue_pair *pair)
{
    struct ibv_wc wc[NBCOLLI_VERBS_BATCH];
    int n;

    do {
        n = ibv_poll_cq(pair->cq, NBCOLLI_VERBS_BATCH, wc);
        for (int i = 0; i < n; i++)
            nbcolli_verbs_pair_ended(e, pair, &wc[i]);
    } while (n == NBCOLLI_VERBS_BATCH);
    if (pair->shared)
        nbcolli_verbs_shared_poll(e, pair);
}

/* Probes a silent peer: tells it once more what it knows. */
static void nbcolli_verbs_pair_probe(const nbcolli_verbs_end *e, nbcoll_queue_pair *pair, uint64_t now)
{
    if (atomic_load_explicit(&e->peer[pair->peer].is_gone, memory_order_relaxed)) /* a word of its own */
        nbcolli_verbs_pair_lose(pair, NBCOLL_ERR_PEER_LOST);
    if (pair->is_over || !pair->may_send || now - pair->heard < e->probe_ns)
        return;
    pair->heard = now;
    nbcolli_verbs_tell_receives(pair);
}

void nbcolli_verbs_run(nbcolli_verbs_end *e)
{
    uint64_t now = nbcolli_now(&e->host);

    nbcolli_verbs_hear_offers(e);
    for (nbcoll_queue_pair *pair = e->programs.pairs; pair; pair = pair->next) {
        nbcolli_verbs_pair_poll(e, pair);
        nbcolli_verbs_pair_probe(e, pair, now);
    }
    for (nbcoll_queue_pair *pair = e->programs.pairs; pair; pair = pair->next)
        nbcolli_verbs_pair_advance(pair);
}

/* ---- the group --------------------------------------------------------------------------------------------------- */

static nbcoll_status nbcolli_verbs_open_cq(nbcoll_endpoint *ep, uint32_t depth, nbcoll_completion_queue **out)
{
    nbcolli_verbs_end *e = nbcolli_verbs_end_of(ep);

    (void)depth; /* it counts */
    *out = nbcolli_alloc(&e->host, sizeof **out, 64);
    if (!*out)
        return NBCOLL_ERR_MEMORY;
    **out = (nbcoll_completion_queue){.status = NBCOLL_PENDING};
    return NBCOLL_OK;
}

static nbcoll_status nbcolli_verbs_post_to(nbcoll_endpoint *ep, nbcoll_queue_pair *pair, const nbcoll_posting *p)
{
    nbcolli_verbs_end *e = nbcolli_verbs_end_of(ep);
    nbcolli_verbs_line *q = p->kind == NBCOLL_POSTING_RECEIVE ? &pair->receive : &pair->send;

    if (p->kind == NBCOLL_POSTING_RECEIVE && pair->shared)
        return NBCOLL_ERR_ARGUMENT;
    if (p->bytes > e->piece)
        return NBCOLL_ERR_LIMIT;
    if (q->posted - q->ended == pair->depth)
        nbcolli_verbs_pair_poll(e, pair);
    if (q->posted - q->ended >= pair->depth)
        return NBCOLL_ERR_LIMIT;
    q->place[q->posted++ % pair->depth] =
        (nbcolli_verbs_entry){*p, p->bytes ? nbcolli_verbs_lkey(e, pair->peer, p->local) : 0};
    nbcolli_verbs_pair_advance(pair);
    return NBCOLL_OK;
}

static void nbcolli_verbs_enable(nbcoll_endpoint *ep, nbcoll_queue_pair *pair, uint32_t sends, uint32_t receives)
{
    pair->send.enabled += sends;
    pair->receive.enabled += receives;
    (void)ep;
    nbcolli_verbs_pair_advance(pair);
}

static nbcoll_status nbcolli_verbs_wait(nbcoll_endpoint *ep, nbcoll_completion_queue *c, uint32_t count)
{
    if (c->entries < count)
        nbcolli_verbs_run(nbcolli_verbs_end_of(ep));
    if (c->entries < count)
        return c->status;
    c->entries -= count;
    return NBCOLL_OK;
}

const nbcoll_offload nbcolli_verbs_offload = {.size = sizeof nbcolli_verbs_offload,
                                              .open_cq = nbcolli_verbs_open_cq,
                                              .open_queue = nbcolli_verbs_open_queue,
                                              .post = nbcolli_verbs_post_to,
                                              .enable = nbcolli_verbs_enable,
                                              .wait = nbcolli_verbs_wait,
                                              .close = nbcolli_verbs_close_queue,
                                              .open_shared = nbcolli_verbs_open_shared,
                                              .post_shared = nbcolli_verbs_post_shared,
                                              .take = nbcolli_verbs_take,
                                              .watch_shared = nbcolli_verbs_watch_shared,
                                              .close_shared = nbcolli_verbs_close_shared,
                                              .admits = nbcolli_verbs_admits};
