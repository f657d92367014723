/* SPDX-License-Identifier: BSD-3-Clause
 * How two ranks connect their queue pairs, when one of them first sends to the other. Each makes its own and tells the
 * other their numbers by a datagram. A rank that knows the other's numbers can receive; once it knows that the other
 * can receive, it may send. Datagrams may be lost: a rank that wants to send asks again. A rank that has lost the other
 * one says so, at once and when it is asked: that one might never connect, and so never find out. See verbs.h. */
#include <errno.h>
#include <string.h>

#include "verbs.h"

static const uint64_t nbcolli_verbs_first_ask = 20000000; /* then twice as long, up to half a second */

/* ---- queue pairs ------------------------------------------------------------------------------------------------- */

bool nbcolli_verbs_begin(const nbcolli_verbs_rail *rail, struct ibv_qp *qp, int access)
{
    struct ibv_qp_attr to = {.qp_state = IBV_QPS_INIT, .port_num = rail->port, .qp_access_flags = (unsigned)access};
    return ibv_modify_qp(qp, &to, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0;
}

static struct ibv_qp *nbcolli_verbs_pair(nbcolli_verbs_end *e, const nbcolli_verbs_rail *rail, uint32_t sends,
                                         int access)
{
    struct ibv_qp_init_attr how = {.send_cq = rail->cq,
                                   .recv_cq = rail->cq,
                                   .srq = rail->srq,
                                   .qp_type = IBV_QPT_RC,
                                   .cap = {sends, 0, 2, 1, e->inlines}};
    struct ibv_qp *qp = ibv_create_qp(rail->pd, &how);

    if (!qp && e->inlines && errno == EINVAL) { /* the device has less, or none: asked once */
        e->inlines = how.cap.max_inline_data = 0;
        qp = ibv_create_qp(rail->pd, &how);
    }
    if (qp && nbcolli_verbs_begin(rail, qp, access))
        return qp;
    if (qp)
        ibv_destroy_qp(qp);
    return NULL;
}

struct ibv_ah_attr nbcolli_verbs_way(const nbcolli_verbs_rail *rail, const nbcolli_verbs_port *to)
{
    struct ibv_ah_attr way = {.dlid = to->lid, .port_num = rail->port};
    if (rail->port_attr.link_layer == IBV_LINK_LAYER_ETHERNET) {
        way.is_global = 1;
        way.grh = (struct ibv_global_route){.dgid = to->gid, .sgid_index = (uint8_t)rail->gid_index, .hop_limit = 64};
    }
    return way;
}

bool nbcolli_verbs_join_rank(const nbcolli_verbs_end *e, int rank, struct ibv_qp *qp, uint32_t theirs, uint8_t again)
{
    uint32_t i = nbcolli_verbs_rail_to(e, rank);
    return nbcolli_verbs_join(e, &e->rail[i], &e->place[rank].port[i], qp, theirs, again);
}

bool nbcolli_verbs_join(const nbcolli_verbs_end *e, const nbcolli_verbs_rail *rail, const nbcolli_verbs_port *port,
                        struct ibv_qp *qp, uint32_t theirs, uint8_t again)
{
    uint32_t mtu = port->mtu, own = (uint32_t)rail->port_attr.active_mtu;
    struct ibv_qp_attr to = {.qp_state = IBV_QPS_RTR,
                             .path_mtu = (enum ibv_mtu)(mtu < own ? mtu : own),
                             .dest_qp_num = theirs,
                             .max_dest_rd_atomic = 8,
                             .min_rnr_timer = 12,
                             .ah_attr = nbcolli_verbs_way(rail, port)};
    if (ibv_modify_qp(qp, &to,
                      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                          IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) != 0)
        return false;
    to = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS,
                              .timeout = (uint8_t)e->timeout,
                              .retry_cnt = (uint8_t)e->retries,
                              .rnr_retry = again,
                              .max_rd_atomic = 8};
    return ibv_modify_qp(qp, &to,
                         IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
                             IBV_QP_MAX_QP_RD_ATOMIC) == 0;
}

/* ---- peers ------------------------------------------------------------------------------------------------------- */

nbcolli_verbs_peer *nbcolli_verbs_know(nbcolli_verbs_end *e, int rank)
{
    nbcolli_verbs_peer *p = &e->peer[rank];

    if (!p->is_known) {
        p->is_known = true;
        p->rank = rank;
        p->rail = &e->rail[nbcolli_verbs_rail_to(e, rank)];
        p->next_known = e->known;
        e->known = p;
    }
    return p;
}

void nbcolli_verbs_disconnect(nbcolli_verbs_peer *p)
{
    if (p->messages)
        ibv_destroy_qp(p->messages);
    if (p->bulk)
        ibv_destroy_qp(p->bulk);
    if (p->route)
        ibv_destroy_ah(p->route);
    p->messages = p->bulk = NULL;
    p->route = NULL;
}

/* Queue pairs, and buffers: receives for all that it may send, and as many to send to it. */
static bool nbcolli_verbs_make(nbcolli_verbs_end *e, nbcolli_verbs_peer *p)
{
    uint32_t receives = e->credits + NBCOLLI_VERBS_EXTRA;
    size_t wire = sizeof(nbcoll_header) + e->payload;
    int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE;

    if (p->state != NBCOLLI_VERBS_APART)
        return true;
    struct ibv_ah_attr way = nbcolli_verbs_way(e->rail, e->place[p->rank].port);
    p->messages = nbcolli_verbs_pair(e, p->rail, e->credits + NBCOLLI_VERBS_QUIET, access & ~IBV_ACCESS_REMOTE_READ);
    p->bulk = p->messages ? nbcolli_verbs_pair(e, p->rail, NBCOLLI_VERBS_BULK, access) : NULL;
    p->route = p->bulk ? ibv_create_ah(e->rail->pd, &way) : NULL;
    nbcolli_verbs_buffer *all = p->route ? nbcolli_verbs_cut(e, p->rail, receives + e->credits, wire, &p->slab) : NULL;
    if (!all) {
        e->error = errno;
        nbcolli_verbs_disconnect(p);
        return false;
    }
    nbcolli_verbs_buffer *last = all;
    for (uint32_t i = 1; i < receives; i++)
        last = last->next;
    p->spare = last->next;
    last->next = NULL;
    nbcolli_verbs_receive(e, all);
    p->credits = e->credits;
    p->state = NBCOLLI_VERBS_CONNECTING;
    return true;
}

/* ---- datagrams --------------------------------------------------------------------------------------------------- */

void nbcolli_verbs_tell(nbcolli_verbs_end *e, const nbcolli_verbs_peer *p, nbcolli_verbs_word word)
{
    nbcolli_verbs_datagram d = {.nonce = e->nonce,
                                .rank = (uint32_t)e->base.rank,
                                .word = (uint16_t)word,
                                .knows_yours = p->knows_its,
                                .knows_done = p->state == NBCOLLI_VERBS_CONNECTED};

    if (!e->mail.said || !p->route)
        return;
    d.messages = p->messages ? p->messages->qp_num : 0;
    d.bulk = p->bulk ? p->bulk->qp_num : 0;
    nbcolli_verbs_mail_say(&e->mail, &d, p->route, false, e->place[p->rank].qpn);
}

static void nbcolli_verbs_ask(nbcolli_verbs_end *e, nbcolli_verbs_peer *p, uint64_t now)
{
    p->asked_at = now;
    nbcolli_verbs_tell(e, p, NBCOLLI_VERBS_CONNECT);
}

bool nbcolli_verbs_want(nbcolli_verbs_end *e, nbcolli_verbs_peer *p)
{
    if (!nbcolli_verbs_make(e, p))
        return false;
    if (p->state == NBCOLLI_VERBS_CONNECTING && !p->is_wanted) {
        uint64_t now = nbcolli_now(&e->host);
        p->is_wanted = true;
        p->wait_ns = nbcolli_verbs_first_ask;
        p->asks_until = e->connect_ns ? now + e->connect_ns : UINT64_MAX;
        nbcolli_verbs_ask(e, p, now);
        e->due_at = 0;
    }
    return true;
}

uint64_t nbcolli_verbs_ask_again(nbcolli_verbs_end *e, uint64_t now)
{
    uint64_t next = UINT64_MAX;

    for (nbcolli_verbs_peer *p = e->known; p; p = p->next_known) {
        if (p->state != NBCOLLI_VERBS_CONNECTING || !p->is_wanted)
            continue;
        if (now >= p->asks_until) {
            nbcolli_verbs_over(e, p, NBCOLLI_VERBS_LOST);
            continue;
        }
        if (now - p->asked_at >= p->wait_ns) {
            p->wait_ns = 2 * p->wait_ns < 500000000 ? 2 * p->wait_ns : 500000000;
            nbcolli_verbs_ask(e, p, now);
        }
        next = p->asked_at + p->wait_ns < next ? p->asked_at + p->wait_ns : next;
    }
    return next;
}

/* Its numbers are known: this rank can receive from it. */
static void nbcolli_verbs_learn(nbcolli_verbs_end *e, nbcolli_verbs_peer *p, const nbcolli_verbs_datagram *d)
{
    if (p->knows_its)
        return;
    if (!nbcolli_verbs_join_rank(e, p->rank, p->messages, d->messages, 0) ||
        (!p->is_given_up && !nbcolli_verbs_join_rank(e, p->rank, p->bulk, d->bulk, 0))) {
        e->error = errno;
        nbcolli_verbs_over(e, p, NBCOLLI_VERBS_LOST);
        return;
    }
    p->knows_its = true;
}

void nbcolli_verbs_connected(nbcolli_verbs_end *e, nbcolli_verbs_peer *p)
{
    p->state = NBCOLLI_VERBS_CONNECTED;
    p->heard = nbcolli_now(&e->host);
    e->due_at = 0;
}

static void nbcolli_verbs_connects(nbcolli_verbs_end *e, nbcolli_verbs_peer *p, const nbcolli_verbs_datagram *d)
{
    if (!nbcolli_verbs_make(e, p)) /* it asks again */
        return;
    nbcolli_verbs_learn(e, p, d);
    if (p->state == NBCOLLI_VERBS_CONNECTING && p->knows_its && d->knows_yours)
        nbcolli_verbs_connected(e, p);
    if (p->knows_its && !d->knows_done)
        nbcolli_verbs_tell(e, p, NBCOLLI_VERBS_CONNECT);
}

void nbcolli_verbs_heard(nbcolli_verbs_end *e, nbcolli_verbs_buffer *b, uint32_t bytes)
{
    nbcolli_verbs_datagram d;
    nbcolli_verbs_peer *p = NULL;

    if (bytes == NBCOLLI_VERBS_ROUTE + sizeof d && e->place) {
        memcpy(&d, b->wire + NBCOLLI_VERBS_ROUTE, sizeof d);
        if (d.rank < (uint32_t)e->base.ranks && (int)d.rank != e->base.rank && d.nonce == e->place[d.rank].nonce)
            p = nbcolli_verbs_know(e, (int)d.rank);
    }
    nbcolli_verbs_listen(&e->mail, b);
    if (!p || p->state == NBCOLLI_VERBS_LEFT || (p->state == NBCOLLI_VERBS_LOST && d.word != NBCOLLI_VERBS_CONNECT))
        return;
    if (p->state == NBCOLLI_VERBS_LOST)
        nbcolli_verbs_tell(e, p, NBCOLLI_VERBS_LOSES);
    else if (d.word == NBCOLLI_VERBS_CONNECT)
        nbcolli_verbs_connects(e, p, &d);
    else { /* a rank that could not send yet has nothing under way to here */
        p->has_lost_us = d.word == NBCOLLI_VERBS_LOSES;
        nbcolli_verbs_over(e, p, p->has_lost_us ? NBCOLLI_VERBS_LOST : NBCOLLI_VERBS_LEFT);
    }
}

/* Says goodbye to ranks that are not connected, and would never know, or that they are lost: in rounds as room allows,
 * since nobody answers when they ask again. */
void nbcolli_verbs_goodbye_apart(nbcolli_verbs_end *e)
{
    for (int rank = 0; e->place && rank < e->base.ranks; rank++) {
        nbcolli_verbs_peer *p = rank == e->base.rank ? NULL : nbcolli_verbs_know(e, rank);
        if (!p || p->state == NBCOLLI_VERBS_CONNECTED || p->state == NBCOLLI_VERBS_LEFT)
            continue;
        struct ibv_ah_attr way = nbcolli_verbs_way(e->rail, e->place[rank].port);
        if (!p->route)
            p->route = ibv_create_ah(e->rail->pd, &way);
        if (!e->mail.said)
            nbcolli_verbs_flush(e);
        nbcolli_verbs_tell(e, p, p->state == NBCOLLI_VERBS_LOST ? NBCOLLI_VERBS_LOSES : NBCOLLI_VERBS_GOODBYE);
    }
}
