/* SPDX-License-Identifier: BSD-3-Clause
 * Transfers: messages whose data does not go as a line. A receiver gets what is announced with a key, and asks for what
 * is announced without: where ranks put it lends its memory with that, and the sender puts, or sends parts all the
 * same. Each announcement is answered once: by TAKEN, or by ASK, or its sender has withdrawn it. So is what is lent: by
 * PUT, the first PART, or WITHDRAW. Till then it is its sender's, whatever else happens, unless that is gone. Of types
 * that pack a transfer has all packed elements in memory of its own; they are packed in pieces, by passes. */
#include "routes.h"

#include "../select/select.h"

/* ---- their end --------------------------------------------------------------------------------------------------- */

static int nbcolli_transfer_is_out(nbcoll_messages *m, nbcolli_transfer *t)
{
    return t->post.where == NBCOLLI_IN_FLIGHT || t->post.where == NBCOLLI_BACKLOG ||
           (t->triple && nbcolli_transfer_is_carried(m, t));
}

/* Has it been announced, and not been answered? Or has memory been lent for a put, of which nothing has come? */
static int nbcolli_transfer_is_open(const nbcolli_transfer *t)
{
    return (t->phase == NBCOLLI_TRANSFER_ANNOUNCED || t->lends) &&
           (t->post.where == NBCOLLI_FREE || t->post.where == NBCOLLI_IN_FLIGHT);
}

/* Does it wait for the answer, though it is over? Its peer may get it, ask for it, or put it. */
static int nbcolli_transfer_is_held(const nbcoll_messages *m, const nbcolli_transfer *t)
{
    return nbcolli_transfer_is_open(t) && !nbcolli_has_departed(m->comm, t->rank);
}

/* This rank gets nothing of it any more, or never will, or could not ask for it: its sender may change its buffer. Or
 * it puts nothing any more, and no notice has said so. */
static void nbcolli_transfer_taken(nbcoll_messages *m, const nbcolli_transfer *t)
{
    nbcoll_status work = t->post.work.status;
    int is_lost = t->is_over && t->status == NBCOLL_ERR_PEER_LOST, is_stuck = t->post.where == NBCOLLI_STUCK;
    nbcoll_status why = is_lost ? NBCOLL_ERR_PEER_LOST : NBCOLL_ERR_FAULT;

    if (nbcolli_has_departed(m->comm, t->rank))
        return;
    if (t->phase == NBCOLLI_TRANSFER_GETTING || (t->phase == NBCOLLI_TRANSFER_CARRIED && is_lost) ||
        (t->phase == NBCOLLI_TRANSFER_ASKED && is_stuck))
        nbcolli_message_say(m, t->rank, NBCOLLI_MSG_TAKEN, t->number,
                            is_lost || work == NBCOLL_ERR_FAULT ? why : NBCOLL_OK);
    if (t->phase == NBCOLLI_TRANSFER_PUTTING && (work != NBCOLL_OK || is_stuck))
        nbcolli_message_say(m, t->rank, NBCOLLI_MSG_PUT, t->number, why);
}

static void nbcolli_transfer_end(nbcoll_messages *m, nbcolli_transfer *t)
{
    nbcolli_request *r = t->request;
    nbcoll_status status = t->status;
    int rank = t->rank, announced = !t->is_short && t->beside.in == &m->at[rank].sends;

    nbcolli_transfer_taken(m, t);
    m->at[rank].announced -= (uint32_t)announced;
    int has_failed = t->has_failed;
    nbcolli_request *self = t->self;
    if (has_failed && status == NBCOLL_OK)
        status = NBCOLL_ERR_CALL;
    nbcolli_transfer_free(m, t);
    if (self)
        nbcolli_message_end(m, self, has_failed ? NBCOLL_ERR_CALL : NBCOLL_OK, rank);
    if (status == NBCOLL_ERR_CANCELLED && r->executed.is_cancelled)
        rank = m->comm->rank;
    nbcolli_message_end(m, r, status, rank);
}

void nbcolli_transfer_over(nbcoll_messages *m, nbcolli_transfer *t, nbcoll_status status)
{
    int was_over = t->is_over, is_put = t->phase == NBCOLLI_TRANSFER_PUTTING;
    int is_copied = t->phase == NBCOLLI_TRANSFER_GETTING || (is_put && t->is_begun);

    if (!was_over)
        t->status = status;
    t->is_over = 1;
    if (status != NBCOLL_OK && t->post.where == NBCOLLI_BACKLOG) {
        nbcolli_backlog_remove(&t->post);
        t->post.where = NBCOLLI_STUCK; /* nobody can know it */
    }
    if (status != NBCOLL_OK && t->post.where == NBCOLLI_IN_FLIGHT &&
        (is_copied || nbcolli_has_departed(m->comm, t->rank))) /* all else goes out, as in settle.c */
        nbcolli_post_recall(&t->post);
    if (!was_over && status == NBCOLL_ERR_PEER_LOST && !nbcolli_has_departed(m->comm, t->rank) &&
        ((nbcolli_transfer_is_open(t) && !t->lends) || t->phase == NBCOLLI_TRANSFER_PARTS || (is_put && !t->is_begun)))
        nbcolli_message_say(m, t->rank, NBCOLLI_MSG_WITHDRAW, t->number, 1);
    if (nbcolli_transfer_is_out(m, t))
        nbcolli_transfer_move(m, t);
    else if (!nbcolli_transfer_is_held(m, t))
        nbcolli_transfer_end(m, t);
}

/* Its post is free, or stuck. */
static void nbcolli_transfer_sent(nbcoll_messages *m, nbcolli_transfer *t)
{
    nbcolli_transfer_over(m, t, t->post.where == NBCOLLI_STUCK ? NBCOLL_ERR_PEER_LOST : NBCOLL_OK);
}

/* ---- packing ----------------------------------------------------------------------------------------------------- */

#define NBCOLLI_PIECE_LEAST 4096 /* bytes, also of a pass that has none left */

/* Goes on with it, for one of its requests. */
static nbcoll_status nbcolli_transfer_piece(nbcoll_messages *m, nbcolli_transfer *t, const nbcolli_request *r,
                                            int unpacks)
{
    void *type = (void *)(uintptr_t)r->executed.room, *loose = unpacks ? r->recv : (void *)(uintptr_t)r->send;
    const nbcoll_memory tight = {t->memory, t->bytes, NBCOLL_BYTE}, of_host = {loose, 0, NBCOLL_BYTE};
    const nbcoll_memory memory[2] = {unpacks ? tight : of_host, unpacks ? of_host : tight};
    size_t unit = nbcolli_pack_unit(nbcolli_pack_call, type, memory), bytes = t->bytes - t->moved;
    ptrdiff_t left = m->context->bytes_left;
    size_t most = left > NBCOLLI_PIECE_LEAST ? (size_t)left : NBCOLLI_PIECE_LEAST;

    if (bytes > most)
        bytes = most > unit ? most / unit * unit : unit;
    nbcoll_status s = nbcolli_pack_piece(type, memory, unpacks, t->moved, bytes);
    t->moved += bytes;
    m->context->bytes_left -= (ptrdiff_t)bytes;
    return s == NBCOLL_OK ? NBCOLL_OK : NBCOLL_ERR_CALL;
}

static void nbcolli_transfer_unpack(nbcoll_messages *m, nbcolli_transfer *t)
{
    nbcoll_status s = nbcolli_transfer_piece(m, t, t->request, 1);

    if (s != NBCOLL_OK || t->moved == t->bytes)
        nbcolli_transfer_over(m, t, s);
    else
        nbcolli_transfer_move(m, t);
}

void nbcolli_transfer_whole(nbcoll_messages *m, nbcolli_transfer *t)
{
    if (!t->packs) {
        nbcolli_transfer_over(m, t, NBCOLL_OK);
        return;
    }
    nbcolli_transfer_taken(m, t);
    nbcolli_transfer_leave(m, t); /* its sender may go */
    t->phase = NBCOLLI_TRANSFER_UNPACKING;
    t->moved = 0;
    if (nbcolli_transfer_is_out(m, t)) /* what has asked for it */
        nbcolli_transfer_move(m, t);
    else
        nbcolli_transfer_unpack(m, t);
}

static void nbcolli_transfer_begin(nbcoll_messages *m, nbcolli_transfer *t);

static void nbcolli_transfer_pack(nbcoll_messages *m, nbcolli_transfer *t)
{
    t->phase = NBCOLLI_TRANSFER_PACKING;
    nbcoll_status s = nbcolli_transfer_piece(m, t, t->self ? t->self : t->request, 0);

    if (s == NBCOLL_OK && t->moved < t->bytes)
        nbcolli_transfer_move(m, t);
    else {
        t->has_failed = s != NBCOLL_OK;
        t->moved = 0;
        if (!t->self)
            nbcolli_transfer_begin(m, t);
        else if (s == NBCOLL_OK)
            nbcolli_transfer_whole(m, t);
        else
            nbcolli_transfer_over(m, t, s);
    }
}

/* ---- sends ------------------------------------------------------------------------------------------------------- */

/* Of what says where its memory is. */
static size_t nbcolli_key_bytes(const nbcolli_peer *peer)
{
    return offsetof(nbcolli_remote, key) + peer->link->limits.key_bytes;
}

static int nbcolli_transfer_register(nbcolli_transfer *t, const nbcolli_peer *peer, uint32_t access)
{
    const nbcoll_bulk *bulk = peer->link->transport.bulk;

    memset(&t->mine, 0, sizeof t->mine);
    if (bulk->register_memory(peer->link->endpoint, peer->address, t->memory, t->bytes, access,
                              &t->mine.registration) != NBCOLL_OK)
        return 0;
    t->mine.offset = 0;
    t->post.link = peer->link;
    t->registered = bulk->deregister_memory != NULL;
    return 1;
}

/* Messages of up to so many parts go in parts, if two copies of twice as much through shared memory take no longer than
 * a get: parts come after two more control messages than what is got. */
#define NBCOLLI_PARTS 8

static void nbcolli_transfer_announce_carried(nbcolli_transfer *t, const nbcolli_peer *peer, nbcolli_header *h)
{
    const nbcolli_carriage c = {t->position, t->triple->number, 0};

    h->tag |= NBCOLLI_TAG_IS_CARRIED;
    memcpy(&t->mine, &c, sizeof c);
    nbcolli_message_post(t, peer, h, &t->mine, sizeof c);
}

static void nbcolli_transfer_announce(nbcoll_messages *m, nbcolli_transfer *t, nbcolli_header *h,
                                      const nbcolli_peer *peer)
{
    int is_copied = t->bytes <= NBCOLLI_PARTS * peer->pair->payload && t->bytes <= peer->link->staging.part / 2;
    int lends = h->bytes && !t->has_failed && !t->triple && !is_copied && peer->pair->way == NBCOLLI_BY_GET &&
                nbcolli_transfer_register(t, peer, NBCOLL_PEER_READS);

    h->status = NBCOLLI_MSG_ANNOUNCED;
    t->phase = NBCOLLI_TRANSFER_ANNOUNCED;
    if (t->triple)
        nbcolli_transfer_announce_carried(t, peer, h);
    else
        nbcolli_message_post(t, peer, h, &t->mine, lends ? nbcolli_key_bytes(peer) : 0);
    if (t->post.where == NBCOLLI_STUCK)
        nbcolli_route_answered(m, t);
    if (t->post.where == NBCOLLI_STUCK)
        nbcolli_transfer_over(m, t, NBCOLL_ERR_PEER_LOST);
    else if (nbcolli_transfer_is_out(m, t) || t->is_carried) /* it may have gone already */
        nbcolli_transfer_move(m, t);
    if (t->request->executed.is_cancelled && t->post.where != NBCOLLI_STUCK) /* while it was packed */
        nbcolli_message_say(m, t->rank, NBCOLLI_MSG_WITHDRAW, t->number, 0);
}

static void nbcolli_transfer_begin(nbcoll_messages *m, nbcolli_transfer *t)
{
    const nbcolli_peer *peer = nbcolli_message_peer(m, t->rank);
    nbcolli_header h = nbcolli_message_header(m, t->rank, NBCOLLI_MSG_SHORT, t->number);

    h.tag |= (uint32_t)t->request->tag;
    h.bytes = t->has_failed ? NBCOLLI_FAILED_TO_PACK : t->bytes;
    if (!t->is_short) {
        nbcolli_transfer_announce(m, t, &h, peer);
        return;
    }
    t->phase = NBCOLLI_TRANSFER_SHORT;
    nbcolli_message_post(t, peer, &h, t->memory, t->has_failed ? 0 : t->bytes);
    if (nbcolli_transfer_is_out(m, t)) {
        if (!t->beside.in)
            nbcolli_transfer_join(m, t, 0);
        nbcolli_transfer_move(m, t);
    } else
        nbcolli_transfer_sent(m, t);
}

void nbcolli_transfer_send(nbcoll_messages *m, nbcolli_request *r)
{
    int rank = r->executed.root;
    nbcolli_correspondent *p = &m->at[rank];
    const nbcolli_peer *peer = nbcolli_message_peer(m, rank);
    size_t bytes = r->executed.bytes;
    int is_short = r->executed.turn == NBCOLLI_IS_SEND && p->credits > 0 && bytes <= p->eager &&
                   bytes <= peer->pair->payload;
    int may = is_short || p->announced < m->config.announced;
    int packs = bytes && r->executed.room;
    nbcolli_transfer *t = may ? nbcolli_transfer_new(m, r, rank, bytes, packs) : NULL;

    if (!t) {
        nbcolli_message_end(m, r, may ? NBCOLL_ERR_MEMORY : NBCOLL_ERR_LIMIT, m->comm->rank);
        return;
    }
    t->number = p->next++;
    t->is_short = (uint8_t)is_short;
    p->credits -= is_short;
    p->announced += (uint32_t)!is_short;
    if (!is_short || packs)
        nbcolli_transfer_join(m, t, 0);
    if (!packs)
        t->memory = (unsigned char *)(uintptr_t)r->send; /* read only */
    if (m->config.routes)
        nbcolli_route_send(m, t, !packs && !is_short);
    if (packs) {
        nbcolli_transfer_pack(m, t);
        return;
    }
    nbcolli_transfer_begin(m, t);
}

/* As many as the pass has bytes for, but at least one. Returns whether one has gone. */
static int nbcolli_transfer_parts(nbcoll_messages *m, nbcolli_transfer *t)
{
    const nbcolli_peer *peer = nbcolli_message_peer(m, t->rank);
    size_t limit = peer->pair->payload;
    int went = 0;

    while (t->post.where == NBCOLLI_FREE && t->moved < t->bytes && (!went || m->context->bytes_left > 0)) {
        size_t part = t->bytes - t->moved < limit ? t->bytes - t->moved : limit;
        nbcolli_header h = nbcolli_message_header(m, t->rank, NBCOLLI_MSG_PART, t->number);
        h.bytes = t->moved;
        nbcolli_message_post(t, peer, &h, t->memory + t->moved, part);
        t->moved += part;
        m->context->bytes_left -= (ptrdiff_t)part;
        went = 1;
    }
    if (t->post.where == NBCOLLI_STUCK || (t->post.where == NBCOLLI_FREE && t->moved == t->bytes))
        nbcolli_transfer_sent(m, t);
    else
        nbcolli_transfer_move(m, t);
    return went;
}

/* ---- gets and puts ----------------------------------------------------------------------------------------------- */

/* One is over, or could not begin. */
static void nbcolli_transfer_copied(nbcoll_messages *m, nbcolli_transfer *t)
{
    nbcoll_status work = t->post.work.status;
    nbcoll_status status = t->post.where == NBCOLLI_STUCK ? NBCOLL_ERR_PEER_LOST
                           : work == NBCOLL_OK            ? NBCOLL_OK
                                                          : NBCOLL_ERR_FAULT;

    if (status == NBCOLL_OK && t->phase == NBCOLLI_TRANSFER_GETTING)
        nbcolli_transfer_whole(m, t);
    else
        nbcolli_transfer_over(m, t, status);
}

/* Begins it; with NOT_NOW a later pass does. */
static void nbcolli_transfer_copy(nbcoll_messages *m, nbcolli_transfer *t)
{
    nbcolli_link *link = t->post.link;
    const nbcoll_bulk *bulk = link->transport.bulk;
    const nbcoll_registration *local = bulk->flags & NBCOLL_BULK_ANY_LOCAL ? NULL : &t->mine.registration;
    nbcolli_post *post = &t->post;

    if (link->starved || link->loss[post->peer] != NBCOLLI_HERE) { /* its memory, or ours, may be lent no more */
        nbcolli_transfer_over(m, t, NBCOLL_ERR_PEER_LOST);
        return;
    }
    post->work.status = NBCOLL_OK;
    nbcoll_posted said = t->phase == NBCOLLI_TRANSFER_GETTING
                             ? bulk->get(link->endpoint, post->peer, &t->theirs.key, t->theirs.offset, local, t->memory,
                                         t->bytes, &post->work)
                             : bulk->put(link->endpoint, post->peer, &t->theirs.key, t->theirs.offset, local, t->memory,
                                         t->bytes, &t->notice, &post->work);
    t->is_begun = said != NBCOLL_POST_NOT_NOW;
    if (t->is_begun) {
        post->copies = 1;
        nbcolli_post_is(post, said);
        nbcolli_control_is(post);
    }
    if (t->is_begun && !nbcolli_transfer_is_out(m, t))
        nbcolli_transfer_copied(m, t);
    else
        nbcolli_transfer_move(m, t);
}

/* Can it be, with what the other rank has said of its memory? */
static int nbcolli_transfer_may_copy(nbcolli_transfer *t, const nbcolli_peer *peer, const void *theirs, size_t bytes)
{
    const nbcoll_bulk *bulk = peer->link->transport.bulk;

    if (!bytes || !bulk || !(t->phase == NBCOLLI_TRANSFER_GETTING ? bulk->get != NULL : bulk->put != NULL) ||
        (!(bulk->flags & NBCOLL_BULK_ANY_LOCAL) && !nbcolli_transfer_register(t, peer, NBCOLL_LOCAL_END)))
        return 0;
    memset(&t->theirs, 0, sizeof t->theirs);
    memcpy(&t->theirs, theirs, bytes);
    return 1;
}

void nbcolli_transfer_ask(nbcoll_messages *m, nbcolli_transfer *t, const void *theirs, size_t bytes)
{
    const nbcolli_peer *peer = nbcolli_message_peer(m, t->rank);
    nbcolli_header h = nbcolli_message_header(m, t->rank, NBCOLLI_MSG_PUT, t->number);

    m->at[t->rank].owed += h.stamp; /* a put may come to nothing */
    peer->pair->owed += h.credits;
    h.stamp = h.credits = 0;
    t->phase = NBCOLLI_TRANSFER_PUTTING;
    if (t->registered || !nbcolli_transfer_may_copy(t, peer, theirs, bytes))
        t->phase = NBCOLLI_TRANSFER_PARTS;
    t->notice = nbcolli_pack(&h);
    nbcolli_transfer_move(m, t); /* the post of the announcement may be under way */
}

/* ---- receives ---------------------------------------------------------------------------------------------------- */

/* The data is asked for: to be put, where ranks do so and this memory can be lent; else in parts. */
static void nbcolli_transfer_want(nbcoll_messages *m, nbcolli_transfer *t, const nbcolli_peer *peer)
{
    t->phase = NBCOLLI_TRANSFER_ASKED;
    if (peer->pair->way != NBCOLLI_BY_PUT || !nbcolli_transfer_register(t, peer, NBCOLL_PEER_WRITES)) {
        nbcolli_message_say(m, t->rank, NBCOLLI_MSG_ASK, t->number, 0);
        return;
    }
    nbcolli_header h = nbcolli_message_header(m, t->rank, NBCOLLI_MSG_ASK, t->number);
    t->lends = 1;
    nbcolli_message_post(t, peer, &h, &t->mine, nbcolli_key_bytes(peer));
    if (t->post.where == NBCOLLI_STUCK)
        nbcolli_transfer_over(m, t, NBCOLL_ERR_PEER_LOST);
    else if (nbcolli_transfer_is_out(m, t))
        nbcolli_transfer_move(m, t);
}

/* A receive of what is announced begins. */
static void nbcolli_transfer_fetch(nbcoll_messages *m, nbcolli_transfer *t, const void *theirs, size_t bytes)
{
    const nbcolli_peer *peer = nbcolli_message_peer(m, t->rank);

    t->post.link = peer->link;
    t->post.peer = peer->address;
    t->post.payload = t; /* as of those with one */
    t->phase = NBCOLLI_TRANSFER_GETTING;
    if (nbcolli_transfer_may_copy(t, peer, theirs, bytes))
        nbcolli_transfer_copy(m, t);
    else
        nbcolli_transfer_want(m, t, peer);
}

void nbcolli_transfer_receive(nbcoll_messages *m, nbcolli_request *r, const nbcolli_arrival *l)
{
    int goes = l->bytes && !m->at[l->source].is_gone, packs = r->executed.room != 0;
    nbcolli_transfer *t = goes ? nbcolli_transfer_new(m, r, l->source, l->bytes, packs) : NULL;

    if (!t) {
        nbcoll_status status = goes ? NBCOLL_ERR_MEMORY : l->bytes ? NBCOLL_ERR_PEER_LOST : NBCOLL_OK;
        nbcolli_message_say(m, l->source, NBCOLLI_MSG_TAKEN, l->number, status);
        nbcolli_message_end(m, r, status, l->source);
        return;
    }
    t->number = l->number;
    if (!packs)
        t->memory = r->recv;
    nbcolli_transfer_join(m, t, 1);
    nbcolli_transfer_fetch(m, t, l->payload, l->kind == NBCOLLI_MSG_CARRIED ? 0 : l->held);
}

void nbcolli_transfer_short(nbcoll_messages *m, nbcolli_request *r, const nbcolli_arrival *l)
{
    nbcolli_transfer *t = l->bytes ? nbcolli_transfer_new(m, r, l->source, l->bytes, 1) : NULL;

    if (!t) {
        nbcolli_message_end(m, r, l->bytes ? NBCOLL_ERR_MEMORY : NBCOLL_OK, m->comm->rank);
        return;
    }
    memcpy(t->memory, l->payload, l->bytes);
    nbcolli_transfer_whole(m, t);
}

void nbcolli_transfer_own(nbcoll_messages *m, nbcolli_request *r, nbcolli_request *self)
{
    size_t bytes = self->executed.bytes;
    int packs = r->executed.room || self->executed.room;
    nbcolli_transfer *t = bytes && packs ? nbcolli_transfer_new(m, r, m->comm->rank, bytes, 1) : NULL;

    if (t) {
        t->self = self;
        nbcolli_transfer_pack(m, t);
        return;
    }
    if (bytes && !packs)
        memcpy(r->recv, self->send, bytes);
    nbcolli_message_end(m, r, bytes && packs ? NBCOLL_ERR_MEMORY : NBCOLL_OK, m->comm->rank);
    nbcolli_message_end(m, self, NBCOLL_OK, m->comm->rank);
}

/* ---- in passes --------------------------------------------------------------------------------------------------- */

/* A receive that has a place on a route, which touches it no more. */
static void nbcolli_transfer_came(nbcoll_messages *m, nbcolli_transfer *t)
{
    const nbcolli_remote theirs = t->theirs;

    if (t->is_carried)
        nbcolli_transfer_whole(m, t);
    else if (m->at[t->rank].is_gone)
        nbcolli_transfer_over(m, t, NBCOLL_ERR_PEER_LOST);
    else
        nbcolli_transfer_fetch(m, t, &theirs, t->held);
}

/* A send that is not taken: by a route it has gone, or it waits for the answer. */
static void nbcolli_transfer_went(nbcoll_messages *m, nbcolli_transfer *t)
{
    if (t->is_carried)
        t->phase = NBCOLLI_TRANSFER_SHORT; /* of which its post is left */
    if (t->phase == NBCOLLI_TRANSFER_SHORT || t->post.where == NBCOLLI_STUCK)
        nbcolli_transfer_sent(m, t);
    else if (t->phase == NBCOLLI_TRANSFER_ANNOUNCED && m->at[t->rank].is_gone)
        nbcolli_transfer_over(m, t, NBCOLL_ERR_PEER_LOST);
}

int nbcolli_transfer_go_on(nbcoll_messages *m, nbcolli_transfer *t)
{
    if (nbcolli_transfer_is_out(m, t)) {
        nbcolli_transfer_move(m, t);
        return 0;
    }
    if (t->is_over) {
        if (!nbcolli_transfer_is_held(m, t))
            nbcolli_transfer_end(m, t);
        return 1;
    }
    switch (t->phase) {
    case NBCOLLI_TRANSFER_PACKING:
        nbcolli_transfer_pack(m, t);
        return 1;
    case NBCOLLI_TRANSFER_UNPACKING:
        nbcolli_transfer_unpack(m, t);
        return 1;
    case NBCOLLI_TRANSFER_PARTS:
        return nbcolli_transfer_parts(m, t);
    case NBCOLLI_TRANSFER_GETTING:
    case NBCOLLI_TRANSFER_PUTTING:
        if (t->is_begun)
            nbcolli_transfer_copied(m, t);
        else
            nbcolli_transfer_copy(m, t);
        return 1;
    case NBCOLLI_TRANSFER_CARRIED:
        nbcolli_transfer_came(m, t);
        return 1;
    default:
        nbcolli_transfer_went(m, t);
        return 1;
    }
}

int nbcolli_transfers_go_on(nbcoll_messages *m)
{
    int moved = m->triples ? nbcolli_routes_go_on(m) : 0;

    for (size_t n = m->moving.count; n && m->moving.first; n--) {
        nbcolli_transfer *t = NBCOLLI_HOLDER(nbcolli_transfer, among, m->moving.first);
        nbcolli_list_leave(&t->among);
        moved |= nbcolli_transfer_go_on(m, t);
    }
    if (!m->moving.first && !m->ending) /* at the end: passes are in that list */
        nbcolli_list_leave(&m->head.looked);
    return moved;
}

/* ---- abandoning -------------------------------------------------------------------------------------------------- */

/* May its peer get what it has announced, or put what it has asked for? */
static int nbcolli_transfer_is_lent(const nbcoll_messages *m, const nbcolli_transfer *t)
{
    const nbcolli_peer *peer = nbcolli_message_peer(m, t->rank);
    return nbcolli_transfer_is_open(t) && (t->lends || peer->pair->way == NBCOLLI_BY_GET) &&
           !(peer->link->loss[peer->address] & NBCOLLI_OVER);
}

static void nbcolli_transfers_lend(nbcoll_messages *m, const nbcolli_list *list, nbcolli_lend *lend, void *loan)
{
    for (nbcolli_list_item *item = list->first, *next; item; item = next) {
        nbcolli_transfer *t = NBCOLLI_HOLDER(nbcolli_transfer, beside, item);
        next = item->next;
        if (t->post.where == NBCOLLI_IN_FLIGHT || nbcolli_transfer_is_lent(m, t)) {
            if (!t->packs)
                lend(loan, t->memory, t->bytes);
            nbcolli_list_leave(&t->among);
            nbcolli_transfer_leave(m, t);
        } else
            nbcolli_transfer_free(m, t);
    }
}

void nbcolli_transfers_abandon(nbcoll_messages *m, nbcolli_lend *lend, void *loan)
{
    for (int rank = 0; rank < m->comm->size; rank++) {
        nbcolli_transfers_lend(m, &m->at[rank].sends, lend, loan);
        nbcolli_transfers_lend(m, &m->at[rank].receives, lend, loan);
    }
    while (m->moving.first) { /* they are copied here */
        nbcolli_transfer *t = NBCOLLI_HOLDER(nbcolli_transfer, among, m->moving.first);
        if (t->post.where == NBCOLLI_IN_FLIGHT)
            nbcolli_list_leave(&t->among);
        else
            nbcolli_transfer_free(m, t);
    }
}
