/* SPDX-License-Identifier: BSD-3-Clause */
#include "agree.h"

#include "news.h"
#include "../run/fail.h"
#include "../wire/giveup.h"
#include "../wire/control.h"
#include "../run/queue.h"
#include "../comm/area.h"
#include "../comm/vote.h"
#include "../../host/host.h"

/* Why a rank is gone. One that is given up was only declared so: it may be alive, and may have decided otherwise
 * before. */
enum { NBCOLLI_GONE_NOT, NBCOLLI_GONE_GIVEN_UP, NBCOLLI_GONE_LEFT, NBCOLLI_GONE_DEAD };

typedef struct nbcolli_agreement_member {
    nbcolli_post post;
    unsigned char *payload; /* of the post */
    int address;
    uint8_t agrees; /* it says what we say now */
    uint8_t heard;  /* it has said anything */
    uint8_t untold; /* something is to be sent to it */
    uint8_t knows;  /* it knows that we have decided, or cancelled */
} nbcolli_agreement_member;

struct nbcolli_shrink {
    nbcolli_shrink *next; /* of its link */
    nbcolli_link *link;
    uint64_t id, tag;         /* of the communicator; of the vote, which no operation has */
    nbcolli_request *request; /* these two are set while the ranks agree */
    nbcoll_comm *comm;
    nbcoll_comm *made; /* until the request has ended */
    size_t memory, bytes; /* its own; of a payload */
    int size, rank;       /* in the communicator */
    int canceller;        /* likewise, where it is cancelled */
    nbcoll_status state;  /* as in AGREE; ERR_PEER_LOST: others go on without this rank, which says no more */
    unsigned char *said; /* what this rank says, as a payload; in it: */
    nbcolli_vote *vote;  /* ours; OK: the terms of the new communicator, with the address and serial of its id */
    uint64_t *area;      /* [size]: OK: the parts of its cells. Null: a message has no room for them */
    nbcolli_agreement_member member[];
};

/* ---- payloads: the vote, [size] areas, [size] who is gone, two bits each ----------------------------------------- */

static size_t nbcolli_shrink_gone_bytes(int size)
{
    return ((size_t)size + 3) / 4;
}

static size_t nbcolli_shrink_payload_bytes(int size, int carries_areas)
{
    return sizeof(nbcolli_vote) + (carries_areas ? (size_t)size * sizeof(uint64_t) : 0) +
           nbcolli_shrink_gone_bytes(size);
}

/* Who is gone, at the end of a payload; read once. */
static uint8_t nbcolli_shrink_payload_gone(const void *payload, size_t bytes, int size, int rank)
{
    const uint8_t *gone = (const uint8_t *)payload + bytes - nbcolli_shrink_gone_bytes(size);
    return gone[rank / 4] >> rank % 4 * 2 & 3;
}

static uint8_t nbcolli_shrink_gone(const nbcolli_shrink *s, int rank)
{
    return nbcolli_shrink_payload_gone(s->said, s->bytes, s->size, rank);
}

/* For a rank that is not gone. */
static void nbcolli_shrink_note_gone(nbcolli_shrink *s, int rank, uint8_t gone)
{
    s->said[s->bytes - nbcolli_shrink_gone_bytes(s->size) + (size_t)rank / 4] |= (unsigned char)(gone << rank % 4 * 2);
}

/* ---- who is gone ------------------------------------------------------------------------------------------------- */

/* Another rank's word that a rank is gone counts on the whole endpoint, unless that has only left. Found dead by the
 * other's transport, it may be alive to this rank, and read its memory. */
static void nbcolli_shrink_learn(nbcolli_link *link, int address, uint8_t gone)
{
    if ((gone == NBCOLLI_GONE_GIVEN_UP || gone == NBCOLLI_GONE_DEAD) && !nbcolli_is_dead(link, address))
        nbcolli_give_up(link, address);
}

/* This rank's view of another. One that is cut off is given up now, unless its end was reported: all go on without
 * it. */
static uint8_t nbcolli_shrink_gone_here(nbcolli_link *link, int address)
{
    int loss = link->loss[address];

    if (loss == NBCOLLI_HERE || nbcolli_has_rejected(link, address))
        return NBCOLLI_GONE_NOT; /* or this rank is */
    if (!(loss & NBCOLLI_CUT))
        return NBCOLLI_GONE_LEFT;
    if (loss & NBCOLLI_OVER)
        return NBCOLLI_GONE_DEAD;
    nbcolli_give_up(link, address);
    return NBCOLLI_GONE_GIVEN_UP;
}

static void nbcolli_shrink_tell_members(nbcolli_shrink *s)
{
    for (int i = 0; i < s->size; i++)
        s->member[i].untold = i != s->rank && !nbcolli_shrink_gone(s, i);
}

/* One more is gone: what was heard so far is void. If it is alive it may have decided upon our old words: the new
 * communicator gets another id, and no memory that it might write. */
static void nbcolli_shrink_add_gone(nbcolli_shrink *s, int rank, uint8_t gone)
{
    nbcolli_shrink_note_gone(s, rank, gone);
    for (int i = 0; i < s->size; i++)
        s->member[i].agrees = 0;
    s->vote->serial = ++s->link->serial;
    if (gone == NBCOLLI_GONE_GIVEN_UP)
        s->vote->area = 0;
    if (gone == NBCOLLI_GONE_LEFT)
        nbcolli_revoke_rest(s->comm, rank);
    nbcolli_shrink_tell_members(s);
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

static void nbcolli_shrink_end(nbcolli_shrink *s, nbcoll_status state, nbcoll_status status, int cause)
{
    nbcolli_request *r = s->request;
    nbcoll_comm *comm = s->comm;

    comm->shrinking--;
    s->state = state;
    s->canceller = cause;
    if (!s->area || !s->area[s->rank]) /* a rank given up since it was offered may write there */
        nbcolli_area_keep(s->made);
    s->made->shrink = NULL;
    s->request = NULL;
    s->comm = NULL;
    if (status != NBCOLL_OK) {
        s->made = NULL;
        nbcolli_note_failure(comm, status, cause, comm->taken);
    }
    nbcolli_request_over(r, status);
    nbcolli_shrink_tell_members(s);
}

/* Ends with the decision in `vote`, `area` and who is gone: as a split would in which those have no colour. */
static void nbcolli_shrink_conclude(nbcolli_shrink *s)
{
    for (int i = 0; i < s->size; i++) {
        nbcolli_vote *v = nbcolli_vote_by(s->made, i);
        *v = *s->vote;
        v->colour = nbcolli_shrink_gone(s, i) ? -1 : 0;
        v->key = 0;
        v->area = s->area ? s->area[i] : 0;
    }
    nbcolli_shrink_end(s, NBCOLL_OK, NBCOLL_OK, -1);
}

/* The lowest rank that does not yet say what we say, or -1. */
static int nbcolli_shrink_awaits(const nbcolli_shrink *s)
{
    for (int i = 0; i < s->size; i++)
        if (i != s->rank && !nbcolli_shrink_gone(s, i) && !s->member[i].agrees)
            return i;
    return -1;
}

int nbcolli_is_shrink(const nbcolli_request *r)
{
    return r->creating && r->creating->shrink;
}

int nbcolli_shrink_awaited(const nbcolli_request *r)
{
    return nbcolli_shrink_awaits(r->creating->shrink);
}

static void nbcolli_shrink_decide(nbcolli_shrink *s)
{
    int first = s->rank;

    *nbcolli_vote_by(s->made, s->rank) = *s->vote;
    for (int i = s->size - 1; i >= 0; i--) {
        if (nbcolli_shrink_gone(s, i))
            *nbcolli_vote_by(s->made, i) = *s->vote;
        else
            first = i;
        if (s->area)
            s->area[i] = nbcolli_shrink_gone(s, i) ? 0 : nbcolli_vote_by(s->made, i)->area;
    }
    const nbcolli_vote agreed = *nbcolli_vote_by(s->made, first);
    nbcolli_votes_agree(s->made, s->size);
    *s->vote = s->made->agreed;
    s->vote->address = agreed.address;
    s->vote->serial = agreed.serial;
    nbcolli_shrink_conclude(s);
}

void nbcolli_shrink_cancel(nbcolli_request *r)
{
    nbcolli_shrink *s = r->creating->shrink;
    nbcolli_shrink_end(s, NBCOLL_ERR_CANCELLED, NBCOLL_ERR_CANCELLED, s->rank);
}

/* ---- receiving --------------------------------------------------------------------------------------------------- */

static nbcolli_shrink *nbcolli_shrink_find(const nbcolli_link *link, uint64_t id, uint64_t tag)
{
    nbcolli_shrink *s = link->shrinks;
    while (s && (s->id != id || s->tag != tag))
        s = s->next;
    return s;
}

int nbcolli_shrink_made(const nbcoll_comm *made)
{
    nbcolli_shrink *s = nbcolli_shrink_find(made->link, made->vote_comm, made->vote_tag);

    if (!s)
        return 0;
    s->made = NULL;
    if (made->spoiled == NBCOLL_OK)
        return 1;
    int spoiler = nbcolli_member_at(made->parent, made->spoiler);
    s->state = NBCOLL_ERR_CANCELLED;
    s->canceller = spoiler < 0 ? s->rank : spoiler;
    nbcolli_shrink_tell_members(s);
    return 1;
}

/* Adopts what a rank that is not gone says of others, and perhaps of us. 0: we are lost. */
static int nbcolli_shrink_hear(nbcolli_shrink *s, const nbcolli_incoming *in)
{
    if (nbcolli_shrink_payload_gone(in->payload, in->bytes, s->size, s->rank)) {
        nbcolli_rejected_by(s->link, in->source);
        return 0;
    }
    for (int i = 0; i < s->size; i++) {
        uint8_t gone = nbcolli_shrink_payload_gone(in->payload, in->bytes, s->size, i);
        nbcolli_shrink_learn(s->link, s->member[i].address, gone);
        if (gone && !nbcolli_shrink_gone(s, i) && in->header.status == NBCOLL_AGAIN)
            nbcolli_shrink_add_gone(s, i, gone);
    }
    return 1;
}

/* A vote. */
static void nbcolli_shrink_agree_in(nbcolli_shrink *s, const nbcolli_incoming *in)
{
    nbcolli_agreement_member *from = &s->member[in->header.source];

    if (nbcolli_shrink_gone(s, (int)in->header.source))
        return;
    for (int i = 0; i < s->size; i++)
        if (!nbcolli_shrink_gone(s, i) != !nbcolli_shrink_payload_gone(in->payload, in->bytes, s->size, i))
            return; /* it does not yet know what we know */
    from->agrees = 1;
    memcpy(nbcolli_vote_by(s->made, (int)in->header.source), in->payload, sizeof(nbcolli_vote));
}

void nbcolli_shrink_in(nbcoll_comm *comm, nbcolli_incoming *in)
{
    const nbcolli_header *h = &in->header;
    nbcolli_shrink *s = nbcolli_shrink_find(in->link, h->comm, h->tag);

    if (h->status == NBCOLL_ERR_CANCELLED) /* not all ranks will have the communicator */
        nbcolli_vote_revoked(comm, in, NBCOLL_ERR_CANCELLED);
    if (!s) { /* not started here yet, or over */
        int size = comm ? comm->size : 0, knows = comm && in->bytes >= nbcolli_shrink_payload_bytes(size, 0);
        for (int i = 0; knows && i < size; i++)
            if (i != comm->rank)
                nbcolli_shrink_learn(comm->link, comm->peer[i].home,
                                     nbcolli_shrink_payload_gone(in->payload, in->bytes, size, i));
        return;
    }
    if (h->source >= (uint32_t)s->size || h->to != (uint32_t)s->rank || in->bytes != s->bytes ||
        s->member[h->source].address != in->source || nbcolli_shrink_gone(s, h->source))
        return;
    nbcolli_agreement_member *from = &s->member[h->source];
    from->untold |= h->status == NBCOLL_AGAIN && (!from->heard || s->state != NBCOLL_AGAIN);
    from->heard = 1;
    from->knows |= h->status != NBCOLL_AGAIN;
    if (s->state != NBCOLL_AGAIN || h->status == NBCOLL_ERR_CANCELLED || !nbcolli_shrink_hear(s, in))
        return;
    if (h->status == NBCOLL_OK) {
        memcpy(s->said, in->payload, s->bytes);
        nbcolli_shrink_conclude(s);
    } else
        nbcolli_shrink_agree_in(s, in);
}

/* ---- sending ----------------------------------------------------------------------------------------------------- */

static void nbcolli_shrink_send(nbcolli_shrink *s, int to)
{
    nbcolli_agreement_member *m = &s->member[to];
    nbcolli_header h = {.comm = s->id, .tag = s->tag, .source = (uint32_t)s->rank, .to = (uint32_t)to,
                        .type = NBCOLLI_AGREE, .status = (uint8_t)s->state, .number = (uint32_t)s->canceller};

    memcpy(m->payload, s->said, s->bytes);
    m->post.wire = nbcolli_pack(&h);
    m->untold = 0;
    if (m->post.where == NBCOLLI_BACKLOG) /* it has been written anew there */
        return;
    nbcolli_post_send(&m->post);
    nbcolli_control_is(&m->post);
}

/* Sends what can be sent; 0 if there is nothing left to do. */
static int nbcolli_shrink_tell(nbcolli_shrink *s)
{
    int left = 0;

    for (int i = 0; i < s->size; i++) {
        nbcolli_agreement_member *m = &s->member[i];
        int gone = i == s->rank || nbcolli_shrink_gone(s, i) || s->state == NBCOLL_ERR_PEER_LOST;
        if (!gone && (m->untold || !m->knows || m->post.where != NBCOLLI_FREE))
            nbcolli_shrink_gone_here(s->link, m->address); /* it may wait for that: then it learns that it is lost */
        gone |= s->link->loss[m->address] != NBCOLLI_HERE;
        if (m->post.where == NBCOLLI_IN_FLIGHT && gone)
            nbcolli_post_recall(&m->post);
        if (m->post.where == NBCOLLI_BACKLOG && gone)
            nbcolli_backlog_remove(&m->post);
        if (m->untold && !gone && m->post.where != NBCOLLI_IN_FLIGHT)
            nbcolli_shrink_send(s, i);
        left |= m->post.where == NBCOLLI_IN_FLIGHT || (!gone && !m->knows) || m->post.where == NBCOLLI_BACKLOG;
    }
    return left;
}

/* ---- working ----------------------------------------------------------------------------------------------------- */

/* Takes the shrink as far as this rank knows. 0: it is over. */
static int nbcolli_shrink_look(nbcolli_shrink *s)
{
    if (s->made->spoiled != NBCOLL_OK) { /* a message to it is lost, here or at a rank that had decided */
        int spoiler = nbcolli_member_at(s->comm, s->made->spoiler);
        nbcolli_shrink_end(s, NBCOLL_ERR_CANCELLED, s->made->spoiled, spoiler < 0 ? s->rank : spoiler);
        return 0;
    }
    for (int i = 0; i < s->size; i++) {
        nbcolli_agreement_member *m = &s->member[i];
        if (i == s->rank || nbcolli_shrink_gone(s, i))
            continue;
        if (nbcolli_has_rejected(s->link, m->address)) {
            nbcolli_shrink_end(s, NBCOLL_ERR_PEER_LOST, NBCOLL_ERR_PEER_LOST, s->rank);
            return 0;
        }
        uint8_t gone = nbcolli_shrink_gone_here(s->link, m->address);
        if (gone)
            nbcolli_shrink_add_gone(s, i, gone);
    }
    return 1;
}

void nbcolli_shrinks_go(nbcolli_link *link)
{
    for (nbcolli_shrink **at = &link->shrinks; *at;) {
        nbcolli_shrink *s = *at;
        if (s->state == NBCOLL_AGAIN && nbcolli_shrink_look(s) && nbcolli_shrink_awaits(s) < 0)
            nbcolli_shrink_decide(s);
        if (nbcolli_shrink_tell(s) || s->made)
            at = &s->next;
        else {
            *at = s->next;
            nbcolli_free(&link->context->host, s, s->memory);
        }
    }
}

void nbcolli_shrinks_clear(nbcolli_link *link)
{
    while (link->shrinks) {
        nbcolli_shrink *s = link->shrinks;
        int lent = 0;
        for (int i = 0; i < s->size; i++)
            lent |= s->member[i].post.where == NBCOLLI_IN_FLIGHT;
        link->shrinks = s->next;
        if (!lent)
            nbcolli_free(&link->context->host, s, s->memory);
    }
}

/* ---- the calls --------------------------------------------------------------------------------------------------- */

int nbcolli_shrink_fits(const nbcoll_comm *comm)
{
    return nbcolli_shrink_payload_bytes(comm->size, 0) <= comm->link->limits.payload;
}

static nbcolli_shrink *nbcolli_shrink_make(nbcoll_comm *comm)
{
    nbcolli_link *link = comm->link;
    size_t size = (size_t)comm->size, limit = link->limits.payload;
    int carries_areas = nbcolli_shrink_payload_bytes(comm->size, 1) <= limit;
    size_t bytes = nbcolli_shrink_payload_bytes(comm->size, carries_areas), stride = nbcolli_lines(bytes);
    size_t said = nbcolli_lines(sizeof(nbcolli_shrink) + size * sizeof(nbcolli_agreement_member));
    size_t payloads = said + stride, memory = payloads + size * stride;
    unsigned char *block = nbcolli_alloc(&link->context->host, memory, 64);

    if (!block)
        return NULL;
    memset(block, 0, memory);
    nbcolli_shrink *s = (nbcolli_shrink *)(void *)block;
    s->link = link;
    s->id = comm->id;
    s->memory = memory;
    s->bytes = bytes;
    s->size = comm->size;
    s->rank = comm->rank;
    s->said = block + said;
    s->vote = (nbcolli_vote *)(void *)s->said;
    s->area = carries_areas ? (uint64_t *)(void *)(s->vote + 1) : NULL;
    for (int i = 0; i < comm->size; i++) {
        nbcolli_agreement_member *m = &s->member[i];
        m->address = comm->peer[i].home;
        m->payload = block + payloads + (size_t)i * stride;
        m->post.link = link;
        m->post.peer = m->address;
        m->post.payload = m->payload;
        m->post.bytes = bytes;
    }
    return s;
}

/* The communicator may have broken because another rank said that one is lost: this rank gives that one up, which its
 * own transport may never report. */
static void nbcolli_shrink_heed(const nbcoll_comm *comm)
{
    int lost = nbcolli_broken(comm) == NBCOLL_ERR_PEER_LOST && comm->failure.status == NBCOLL_ERR_PEER_LOST
                   ? comm->failure.rank
                   : -1;

    if (lost >= 0 && lost != comm->rank && comm->link->loss[comm->peer[lost].home] == NBCOLLI_HERE)
        nbcolli_give_up(comm->link, comm->peer[lost].home);
}

nbcoll_status nbcolli_shrink_start(nbcoll_comm *comm, nbcoll_comm *made, nbcolli_request *r)
{
    nbcolli_shrink *s = nbcolli_shrink_make(comm);

    if (!s)
        return NBCOLL_ERR_MEMORY;
    s->tag = UINT64_MAX - ++comm->shrinks;
    s->request = r;
    s->comm = comm;
    s->made = made;
    s->state = NBCOLL_AGAIN;
    made->shrink = s;
    made->making = 1;
    made->vote_comm = comm->id;
    made->vote_tag = s->tag;
    s->link->serial++;
    nbcolli_vote_cast(made, comm, NBCOLLI_SHRINK, 0, 0);
    *s->vote = *nbcolli_vote_by(made, comm->rank);
    s->vote->serial = s->link->serial;
    if (!s->area) { /* a decision could not name the parts */
        nbcolli_area_return(made);
        s->vote->shares = 0;
        s->vote->area = 0;
    }
    s->link->creating++;
    r->creating = made;
    nbcolli_request_taken(r);
    comm->shrinking++;
    int left = -1;
    nbcolli_shrink_heed(comm);
    for (int i = 0; i < s->size; i++) { /* ranks gone at the start are no change */
        uint8_t gone = i == s->rank ? NBCOLLI_GONE_NOT : nbcolli_shrink_gone_here(s->link, s->member[i].address);
        nbcolli_shrink_note_gone(s, i, gone);
        left = gone == NBCOLLI_GONE_LEFT ? i : left;
    }
    if (left >= 0)
        nbcolli_revoke_rest(comm, left);
    nbcolli_shrink_tell_members(s);
    s->next = s->link->shrinks;
    s->link->shrinks = s;
    s->link->context->news = 1;
    return NBCOLL_OK;
}
