/* SPDX-License-Identifier: BSD-3-Clause
 * Queue pairs for programs, and how two ranks join theirs: as connect.c does it, but by datagrams of their own, since
 * another thread executes programs than progresses. Asking ends: the host ends an agent's program, and a rank that the
 * endpoint has found to be gone has no pairs any more. See verbs.h. */
#include <string.h>

#include "verbs.h"

static const uint64_t nbcolli_verbs_first_offer = 20000000; /* then asked again, twice as late, up to half a second */

/* ---- datagrams --------------------------------------------------------------------------------------------------- */

bool nbcolli_verbs_prepare(nbcolli_verbs_end *e)
{
    nbcolli_verbs_programs *g = &e->programs;
    uint32_t peers = 2 * (uint32_t)e->base.ranks;

    g->cq = ibv_create_cq(e->rail->device, (int)(nbcolli_verbs_hears(peers) + NBCOLLI_VERBS_SAID), NULL, NULL, 0);
    return g->cq && nbcolli_verbs_hear(e, &g->mail, g->cq, peers, sizeof(nbcolli_verbs_offer));
}

/* A datagram that cannot go now is sent again, or asked for; a goodbye is kept as news for a peer that asks later. */
static void nbcolli_verbs_offer_pair(nbcolli_verbs_end *e, const nbcoll_queue_pair *pair, nbcolli_verbs_word word)
{
    struct ibv_ah_attr way = nbcolli_verbs_way(e->rail, e->place[pair->peer].port);
    struct ibv_ah *route = e->programs.mail.said ? ibv_create_ah(e->rail->pd, &way) : NULL;
    nbcolli_verbs_offer o = {.nonce = e->nonce,
                             .serial = pair->serial,
                             .yours = pair->its_serial,
                             .at = (uintptr_t)pair->told,
                             .rank = (uint32_t)e->base.rank,
                             .number = pair->number,
                             .qpn = pair->qp->qp_num,
                             .rkey = pair->mr->rkey,
                             .word = (uint16_t)word,
                             .knows_yours = pair->knows_its,
                             .knows_done = pair->may_send,
                             .shares = pair->shared != NULL};

    if (route)
        nbcolli_verbs_mail_say(&e->programs.mail, &o, route, true, e->place[pair->peer].programs);
}

/* ---- hearing ----------------------------------------------------------------------------------------------------- */

static nbcoll_queue_pair *nbcolli_verbs_pair_of(const nbcolli_verbs_end *e, int peer, uint32_t number)
{
    nbcoll_queue_pair *pair = e->programs.pairs;
    while (pair && (pair->peer != peer || pair->number != number))
        pair = pair->next;
    return pair;
}

/* The news of a pair that was closed before it was opened here, or null. */
static nbcolli_verbs_closed **nbcolli_verbs_closed_of(nbcolli_verbs_end *e, int peer, uint32_t number)
{
    nbcolli_verbs_closed **at = &e->programs.closed;
    while (*at && ((*at)->peer != peer || (*at)->number != number))
        at = &(*at)->next;
    return at;
}

/* Takes such news, and returns whether there was any. */
static bool nbcolli_verbs_forget_closed(nbcolli_verbs_end *e, int peer, uint32_t number)
{
    nbcolli_verbs_closed **at = nbcolli_verbs_closed_of(e, peer, number), *was = *at;

    if (!was)
        return false;
    *at = was->next;
    nbcolli_free(&e->host, was, sizeof *was);
    return true;
}

static void nbcolli_verbs_heard_closed(nbcolli_verbs_end *e, const nbcolli_verbs_offer *o)
{
    nbcoll_queue_pair *pair = nbcolli_verbs_pair_of(e, (int)o->rank, o->number);

    bool is_mine = pair && (o->yours ? pair->serial == o->yours : !pair->knows_its || pair->its_serial == o->serial);

    if (is_mine) {
        nbcolli_verbs_pair_poll(e, pair); /* what was sent before */
        nbcolli_verbs_pair_lose(pair, NBCOLL_ERR_PEER_LOST);
        pair->is_left = true;
    }
    if (pair || o->yours) /* or this rank has had it, and closed it */
        return;
    nbcolli_verbs_closed *new = *nbcolli_verbs_closed_of(e, (int)o->rank, o->number);
    if (!new && (new = nbcolli_alloc(&e->host, sizeof *new, 64))) {
        *new = (nbcolli_verbs_closed){.next = e->programs.closed, .peer = (int)o->rank, .number = o->number};
        e->programs.closed = new;
    }
    if (new)
        new->serial = o->serial;
}

static void nbcolli_verbs_heard_offer(nbcolli_verbs_end *e, const nbcolli_verbs_offer *o)
{
    const nbcolli_verbs_closed *closed = *nbcolli_verbs_closed_of(e, (int)o->rank, o->number);
    nbcoll_queue_pair *pair = nbcolli_verbs_pair_of(e, (int)o->rank, o->number);

    if (closed && closed->serial < o->serial)
        nbcolli_verbs_forget_closed(e, (int)o->rank, o->number);
    if (!pair || pair->is_over)
        return;
    if (pair->knows_its && pair->its_serial != o->serial) { /* has closed it, and opened it again */
        if (o->serial > pair->its_serial)
            nbcolli_verbs_pair_lose(pair, NBCOLL_ERR_PEER_LOST);
        return;
    }
    uint8_t again = o->shares ? NBCOLLI_VERBS_FOR_EVER : 0;
    if (!pair->knows_its && !nbcolli_verbs_join_rank(e, pair->peer, pair->qp, o->qpn, again)) {
        nbcolli_verbs_pair_lose(pair, NBCOLL_ERR_TRANSPORT);
        return;
    }
    pair->knows_its = true;
    pair->its_serial = o->serial;
    pair->its_at = o->at;
    pair->its_rkey = o->rkey;
    if (o->knows_yours)
        pair->may_send = true;
    if (!o->knows_done)
        nbcolli_verbs_offer_pair(e, pair, NBCOLLI_VERBS_CONNECT);
}

static void nbcolli_verbs_hear_one(nbcolli_verbs_end *e, nbcolli_verbs_buffer *b, uint32_t bytes)
{
    nbcolli_verbs_offer o = {0};

    if (bytes == NBCOLLI_VERBS_ROUTE + sizeof o)
        memcpy(&o, b->wire + NBCOLLI_VERBS_ROUTE, sizeof o);
    nbcolli_verbs_listen(&e->programs.mail, b);
    if (!o.nonce || !e->place || o.rank >= (uint32_t)e->base.ranks || o.nonce != e->place[o.rank].nonce)
        return;
    if (o.word == NBCOLLI_VERBS_CONNECT)
        nbcolli_verbs_heard_offer(e, &o);
    else
        nbcolli_verbs_heard_closed(e, &o);
}

static void nbcolli_verbs_poll_offers(nbcolli_verbs_end *e)
{
    struct ibv_wc wc;

    while (ibv_poll_cq(e->programs.cq, 1, &wc) > 0) {
        nbcolli_verbs_buffer *b = nbcolli_verbs_at(wc.wr_id);
        if ((wc.wr_id & 7) == NBCOLLI_VERBS_OF_DATAGRAM) {
            nbcolli_verbs_hear_one(e, b, wc.status == IBV_WC_SUCCESS ? wc.byte_len : 0);
            continue;
        }
        nbcolli_verbs_mail_said(&e->programs.mail, b);
    }
}

void nbcolli_verbs_hear_offers(nbcolli_verbs_end *e)
{
    uint64_t now = nbcolli_now(&e->host);

    nbcolli_verbs_poll_offers(e);
    for (nbcoll_queue_pair *pair = e->programs.pairs; pair; pair = pair->next) {
        if (pair->may_send || pair->is_over || now - pair->asked_at < pair->wait_ns)
            continue;
        pair->asked_at = now;
        pair->wait_ns = 2 * pair->wait_ns < 500000000 ? 2 * pair->wait_ns : 500000000;
        nbcolli_verbs_offer_pair(e, pair, NBCOLLI_VERBS_CONNECT);
    }
}

/* ---- opening and closing ----------------------------------------------------------------------------------------- */

static size_t nbcolli_verbs_pair_bytes(uint32_t depth)
{
    return nbcolli_lines(sizeof(nbcolli_verbs_told)) + sizeof(nbcoll_queue_pair) +
           2 * (size_t)depth * sizeof(nbcolli_verbs_entry);
}

static void nbcolli_verbs_pair_free(nbcolli_verbs_end *e, nbcoll_queue_pair *pair)
{
    if (pair->qp && pair->shared)
        nbcolli_verbs_unshare_pair(e, pair);
    if (pair->qp)
        ibv_destroy_qp(pair->qp);
    if (pair->cq)
        ibv_destroy_cq(pair->cq);
    if (pair->mr)
        ibv_dereg_mr(pair->mr);
    nbcolli_free(&e->host, pair->told, nbcolli_verbs_pair_bytes(pair->depth));
}

/* The block of a pair begins with what devices write and read. */
static nbcoll_queue_pair *nbcolli_verbs_pair_new(nbcolli_verbs_end *e, const nbcoll_queue_config *c)
{
    size_t head = nbcolli_lines(sizeof(nbcolli_verbs_told));
    char *block = nbcolli_alloc(&e->host, nbcolli_verbs_pair_bytes(c->depth), 64);

    if (!block)
        return NULL;
    memset(block, 0, head);
    nbcoll_queue_pair *pair = (nbcoll_queue_pair *)(void *)(block + head);
    nbcolli_verbs_entry *place = (nbcolli_verbs_entry *)(void *)(pair + 1);
    *pair = (nbcoll_queue_pair){
        .peer = c->peer,
        .number = c->number,
        .depth = c->depth,
        .serial = ++e->programs.serial,
        .told = (nbcolli_verbs_told *)(void *)block,
        .wait_ns = nbcolli_verbs_first_offer,
        .send = {.place = place, .is_held = (c->held & 1) != 0, .completions = c->sent},
        .receive = {.place = place + c->depth, .is_held = (c->held & 2) != 0, .completions = c->received},
        .shared = c->shared};
    if (c->shared) {
        pair->receive.completions = c->shared->completions;
        pair->receive.gone = UINT64_MAX; /* the peer is told this number once: no limit */
    }
    return pair;
}

/* Each send, each receive, and what is told may be under way at once. */
static nbcoll_status nbcolli_verbs_pair_equip(nbcolli_verbs_end *e, nbcoll_queue_pair *pair)
{
    const nbcolli_verbs_rail *rail = &e->rail[nbcolli_verbs_rail_to(e, pair->peer)];
    int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
    uint32_t sends = (uint32_t)nbcolli_verbs_sends(pair->depth);

    pair->cq = ibv_create_cq(rail->device, (int)(sends + pair->depth), NULL, NULL, 0);
    if (!pair->cq)
        return nbcolli_verbs_refused(e, rail, NBCOLLI_VERBS_COMPLETIONS, sends + pair->depth);
    const nbcolli_verbs_part *part = pair->shared ? nbcolli_verbs_part_of(e, pair) : NULL;
    struct ibv_qp_init_attr how = {.send_cq = pair->cq,
                                   .recv_cq = part ? part->cq : pair->cq,
                                   .srq = part ? part->srq : NULL,
                                   .qp_type = IBV_QPT_RC,
                                   .cap = {sends, part ? 0 : pair->depth, 1, 1, 0}};
    pair->qp = ibv_create_qp(rail->pd, &how);
    if (!pair->qp)
        return nbcolli_verbs_refused(e, rail, NBCOLLI_VERBS_PAIR, sends);
    if (pair->shared)
        nbcolli_verbs_share_pair(e, pair);
    pair->mr = ibv_reg_mr(rail->pd, pair->told, sizeof *pair->told, access);
    if (!pair->mr)
        return nbcolli_verbs_refused(e, rail, NBCOLLI_VERBS_REGISTRATION, sizeof *pair->told);
    return nbcolli_verbs_begin(rail, pair->qp, IBV_ACCESS_REMOTE_WRITE) ? NBCOLL_OK : NBCOLL_ERR_TRANSPORT;
}

nbcoll_status nbcolli_verbs_open_queue(nbcoll_endpoint *ep, const nbcoll_queue_config *config, nbcoll_queue_pair **out)
{
    nbcolli_verbs_end *e = nbcolli_verbs_end_of(ep);
    nbcoll_queue_config c = {0};
    nbcoll_queue_demand demand = {.size = sizeof demand, .pairs = 1};
    nbcoll_status status = nbcolli_copy_tagged(&c, config, sizeof c);

    *out = NULL;
    if (status != NBCOLL_OK)
        return status;
    if (c.peer < 0 || c.peer >= ep->ranks || c.peer == ep->rank)
        return NBCOLL_ERR_RANK;
    if (!e->place || !c.depth)
        return NBCOLL_ERR_TRANSPORT;
    if (nbcolli_verbs_pair_of(e, c.peer, c.number))
        return NBCOLL_ERR_DUPLICATE;
    demand.depth = c.depth;
    status = nbcolli_verbs_admits(ep, &demand);
    if (status != NBCOLL_OK)
        return status;
    nbcoll_queue_pair *pair = nbcolli_verbs_pair_new(e, &c);
    if (!pair)
        return NBCOLL_ERR_MEMORY;
    status = nbcolli_verbs_pair_equip(e, pair);
    if (status != NBCOLL_OK) {
        nbcolli_verbs_pair_free(e, pair);
        return status;
    }
    pair->next = e->programs.pairs;
    e->programs.pairs = pair;
    pair->is_left = nbcolli_verbs_forget_closed(e, pair->peer, pair->number);
    if (pair->is_left)
        nbcolli_verbs_pair_lose(pair, NBCOLL_ERR_PEER_LOST);
    *out = pair;
    return NBCOLL_OK;
}

/* Counts what has come, also what was acknowledged just now: in error the device acknowledges nothing more, and gives
 * back all that it has. A device that does not is waited for no longer than a second. A pair that was never joined has
 * got nothing. */
static void nbcolli_verbs_pair_stop(nbcolli_verbs_end *e, nbcoll_queue_pair *pair)
{
    struct ibv_qp_attr to = {.qp_state = IBV_QPS_ERR};
    uint64_t until = nbcolli_now(&e->host) + 1000000000;

    pair->is_over = true; /* no failure: this rank's own end */
    if (!pair->knows_its || ibv_modify_qp(pair->qp, &to, IBV_QP_STATE) != 0)
        return;
    do
        nbcolli_verbs_pair_poll(e, pair);
    while (pair->at_device && nbcolli_now(&e->host) < until);
}

/* The device touches nothing of a queue pair that is destroyed. */
void nbcolli_verbs_close_queue(nbcoll_endpoint *ep, nbcoll_queue_pair *pair, nbcoll_completion_queue *completions)
{
    nbcolli_verbs_end *e = nbcolli_verbs_end_of(ep);

    nbcolli_free(&e->host, completions, sizeof *completions);
    if (!pair)
        return;
    nbcoll_queue_pair **at = &e->programs.pairs;
    while (*at != pair)
        at = &(*at)->next;
    *at = pair->next;
    nbcolli_verbs_poll_offers(e);
    if (!pair->is_left)
        nbcolli_verbs_offer_pair(e, pair, NBCOLLI_VERBS_GOODBYE);
    nbcolli_verbs_pair_stop(e, pair);
    nbcolli_verbs_pair_free(e, pair);
}

void nbcolli_verbs_unprepare(nbcolli_verbs_end *e)
{
    nbcolli_verbs_programs *g = &e->programs;

    while (g->pairs) {
        nbcoll_queue_pair *pair = g->pairs;
        g->pairs = pair->next;
        nbcolli_verbs_pair_free(e, pair);
    }
    nbcolli_verbs_receives_end(e);
    while (g->closed)
        nbcolli_verbs_forget_closed(e, g->closed->peer, g->closed->number);
    for (uint64_t until = nbcolli_now(&e->host) + 1000000000; g->mail.saying && nbcolli_now(&e->host) < until;)
        nbcolli_verbs_poll_offers(e); /* no peer is needed for that */
    nbcolli_verbs_hang_up(e, &g->mail);
    if (g->cq)
        ibv_destroy_cq(g->cq);
}
