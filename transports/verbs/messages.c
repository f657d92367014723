/* SPDX-License-Identifier: BSD-3-Clause
 * Messages: each is copied into a registered buffer, which is sent, and kept until the peer's device has acknowledged
 * it; so a post is in flight. A rank may have as many messages under way to a peer as it has credits of it: for these
 * the peer has receives. Credits come back with its messages, or by themselves when half of them are owed. See verbs.h.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "verbs.h"

/* ---- sending ----------------------------------------------------------------------------------------------------- */

static uint32_t nbcolli_verbs_imm(const nbcolli_verbs_end *e, nbcolli_verbs_kind kind, uint32_t owed)
{
    return htonl((uint32_t)kind << 30 | owed << 21 | (uint32_t)e->base.rank);
}

/* Posts a message: from its own memory, if it goes inline; else from a registered buffer. */
static struct ibv_send_wr nbcolli_verbs_message(nbcolli_verbs_end *e, nbcolli_verbs_buffer *b, struct ibv_sge part[2],
                                                const nbcoll_header *header, const void *payload, size_t bytes)
{
    struct ibv_send_wr wr = {.wr_id = nbcolli_verbs_wr_id(b, NBCOLLI_VERBS_OF_POST),
                             .sg_list = part,
                             .num_sge = 1,
                             .opcode = IBV_WR_SEND_WITH_IMM,
                             .send_flags = IBV_SEND_SIGNALED};

    if (sizeof *header + bytes <= e->inlines) {
        part[0] = (struct ibv_sge){(uintptr_t)header, sizeof *header, 0};
        part[1] = (struct ibv_sge){(uintptr_t)payload, (uint32_t)bytes, 0};
        wr.num_sge = bytes ? 2 : 1;
        wr.send_flags |= IBV_SEND_INLINE;
        e->inlined++;
        return wr;
    }
    memcpy(b->wire, header, sizeof *header);
    if (bytes)
        memcpy(b->wire + sizeof *header, payload, bytes);
    part[0] = (struct ibv_sge){(uintptr_t)b->wire, (uint32_t)(sizeof *header + bytes), b->lkey};
    return wr;
}

nbcoll_posted nbcolli_verbs_send(nbcolli_verbs_end *e, nbcolli_verbs_peer *p, struct ibv_qp *qp,
                                 struct ibv_send_wr *before, uint32_t count, const nbcoll_header *header,
                                 const void *payload, size_t bytes, nbcoll_work *work)
{
    nbcolli_verbs_buffer *b = p->spare;
    struct ibv_sge part[2];
    struct ibv_send_wr *bad;

    if (!b || !p->credits)
        return NBCOLL_POST_NOT_NOW;
    struct ibv_send_wr wr = nbcolli_verbs_message(e, b, part, header, payload, bytes);
    wr.imm_data = nbcolli_verbs_imm(e, NBCOLLI_VERBS_MESSAGE, p->owed);
    if (before)
        before[count - 1].next = &wr;
    int refused = ibv_post_send(qp, before ? before : &wr, &bad);
    if (refused) {
        e->error = refused;
        return refused == ENOMEM ? NBCOLL_POST_NOT_NOW : NBCOLL_POST_FAILED;
    }
    p->spare = b->next;
    p->credits--;
    p->owed = 0;
    b->peer = p;
    b->work = work;
    b->slots = before ? count + 1 : 0;
    p->bulk_slots += b->slots;
    work->scratch[0] = (uintptr_t)p;
    work->scratch[1] = (uintptr_t)b;
    return NBCOLL_POST_IN_FLIGHT;
}

bool nbcolli_verbs_say(nbcolli_verbs_end *e, nbcolli_verbs_peer *p, nbcolli_verbs_kind kind)
{
    struct ibv_send_wr wr = {.wr_id = nbcolli_verbs_wr_id(p, NBCOLLI_VERBS_OF_QUIET),
                             .opcode = kind == NBCOLLI_VERBS_MESSAGE ? IBV_WR_RDMA_WRITE : IBV_WR_SEND_WITH_IMM,
                             .send_flags = IBV_SEND_SIGNALED,
                             .imm_data = nbcolli_verbs_imm(e, kind, kind == NBCOLLI_VERBS_CREDITS ? p->owed : 0)},
                       *bad;

    /* The last place is a goodbye's. */
    if (p->quiet >= NBCOLLI_VERBS_QUIET - (kind != NBCOLLI_VERBS_LEAVES) || ibv_post_send(p->messages, &wr, &bad) != 0)
        return false;
    if (p->quiet++ == 0)
        p->waits = nbcolli_now(&e->host);
    if (kind == NBCOLLI_VERBS_CREDITS)
        p->owed = 0;
    return true;
}

/* ---- to this rank itself ----------------------------------------------------------------------------------------- */

static nbcoll_posted nbcolli_verbs_post_own(nbcolli_verbs_end *e, const nbcoll_header *header, const void *payload,
                                            size_t bytes)
{
    nbcolli_verbs_buffer *b = e->own;

    if (!b)
        return NBCOLL_POST_NOT_NOW;
    e->own = b->next;
    memcpy(b->wire, header, sizeof *header);
    if (bytes)
        memcpy(b->wire + sizeof *header, payload, bytes);
    b->arrival.bytes = bytes;
    b->next = NULL;
    *e->own_last = b;
    e->own_last = &b->next;
    return NBCOLL_POST_DONE;
}

/* ---- posts ------------------------------------------------------------------------------------------------------- */

nbcoll_posted nbcolli_verbs_post(nbcoll_endpoint *ep, int peer, const nbcoll_header *header, const void *payload,
                                 size_t bytes, nbcoll_work *work)
{
    nbcolli_verbs_end *e = nbcolli_verbs_end_of(ep);

    if (peer == ep->rank)
        return nbcolli_verbs_post_own(e, header, payload, bytes);
    nbcolli_verbs_peer *p = nbcolli_verbs_know(e, peer);
    switch (p->state) {
    case NBCOLLI_VERBS_LEFT:
        return NBCOLL_POST_DONE;
    case NBCOLLI_VERBS_LOST:
        return NBCOLL_POST_LOST;
    case NBCOLLI_VERBS_CONNECTED:
        return nbcolli_verbs_send(e, p, p->messages, NULL, 0, header, payload, bytes, work);
    default:
        return nbcolli_verbs_want(e, p) || e->error == ENOMEM ? NBCOLL_POST_NOT_NOW : NBCOLL_POST_FAILED;
    }
}

/* The bytes of a message are in a buffer of ours, and need no work request any more. A get or put, on the caller's
 * memory, ends soon by itself, at the latest with the last retry. */
void nbcolli_verbs_cancel(nbcoll_endpoint *ep, nbcoll_work *work)
{
    nbcolli_verbs_end *e = nbcolli_verbs_end_of(ep);
    nbcolli_verbs_buffer *b = (nbcolli_verbs_buffer *)(uintptr_t)work->scratch[1];

    if (!b || b->work != work || b->slots)
        return;
    b->work = NULL;
    work->status = NBCOLL_ERR_CANCELLED;
    work->next = e->cancelled;
    e->cancelled = work;
}

/* ---- receiving --------------------------------------------------------------------------------------------------- */

void nbcolli_verbs_receive(nbcolli_verbs_end *e, nbcolli_verbs_buffer *first)
{
    while (first) {
        nbcolli_verbs_buffer *b = first;
        struct ibv_sge part = {(uintptr_t)b->wire, (uint32_t)(sizeof(nbcoll_header) + e->payload), b->lkey};
        struct ibv_recv_wr wr = {.wr_id = nbcolli_verbs_wr_id(b, NBCOLLI_VERBS_OF_RECEIVE),
                                 .sg_list = &part,
                                 .num_sge = 1},
                           *bad;
        first = b->next;
        b->peer = NULL;
        ibv_post_srq_recv(b->rail->srq, &wr, &bad);
    }
}

static void nbcolli_verbs_owe(nbcolli_verbs_end *e, nbcolli_verbs_peer *p)
{
    p->owed++;
    if (2 * p->owed >= e->credits && !p->is_due) {
        p->is_due = true;
        p->next_due = e->due;
        e->due = p;
    }
}

/* Tells peers to which half of their credits are owed, if no message has told them meanwhile. */
static void nbcolli_verbs_give_back(nbcolli_verbs_end *e)
{
    nbcolli_verbs_peer *due = e->due, *next;

    e->due = NULL;
    for (; due; due = next) {
        next = due->next_due;
        due->is_due = false;
        if (due->state != NBCOLLI_VERBS_CONNECTED || 2 * due->owed < e->credits ||
            nbcolli_verbs_say(e, due, NBCOLLI_VERBS_CREDITS))
            continue;
        due->is_due = true;
        due->next_due = e->due;
        e->due = due;
    }
}

void nbcolli_verbs_release(nbcolli_verbs_end *e)
{
    for (nbcolli_verbs_buffer *b = e->arrived, *next; b; b = next) {
        next = b->next;
        b->next = NULL;
        if (b->arrival.source == e->base.rank) {
            b->next = e->own;
            e->own = b;
            continue;
        }
        nbcolli_verbs_owe(e, b->peer);
        nbcolli_verbs_receive(e, b);
    }
    e->arrived = NULL;
    if (e->due)
        nbcolli_verbs_give_back(e);
}

void nbcolli_verbs_took(nbcolli_verbs_end *e, nbcolli_verbs_buffer *b, const struct ibv_wc *wc, nbcoll_arrival ***last)
{
    uint32_t imm = ntohl(wc->imm_data), rank = imm % NBCOLLI_VERBS_RANKS;
    nbcolli_verbs_peer *p = rank < (uint32_t)e->base.ranks ? &e->peer[rank] : NULL;

    b->next = NULL;
    if (wc->status != IBV_WC_SUCCESS || !p || !(wc->wc_flags & IBV_WC_WITH_IMM)) {
        nbcolli_verbs_receive(e, b);
        return;
    }
    p->credits += imm >> 21 & 0x1ff;
    if (p->state == NBCOLLI_VERBS_CONNECTING) /* it sends: so it can receive, and knows that this rank can */
        nbcolli_verbs_connected(e, p);
    if (imm >> 30 != NBCOLLI_VERBS_MESSAGE || wc->byte_len < sizeof(nbcoll_header)) {
        if (imm >> 30 == NBCOLLI_VERBS_LEAVES)
            nbcolli_verbs_over(e, p, NBCOLLI_VERBS_LEFT);
        nbcolli_verbs_receive(e, b);
        return;
    }
    b->peer = p;
    b->arrival = (nbcoll_arrival){
        .source = (int)rank, .payload = b->wire + sizeof(nbcoll_header), .bytes = wc->byte_len - sizeof(nbcoll_header)};
    memcpy(&b->arrival.header, b->wire, sizeof(nbcoll_header));
    b->next = e->arrived;
    e->arrived = b;
    **last = &b->arrival;
    *last = &b->arrival.next;
}
