/* SPDX-License-Identifier: BSD-3-Clause
 * What happens to messages from outside: starts, messages that come, ranks that are gone, cancelling. */
#include "routes.h"

#include "../engine/progress/lock.h"
#include "../engine/wire/giveup.h"
#include "../select/select.h"

/* ---- starts ------------------------------------------------------------------------------------------------------ */

/* To this rank itself. */
static void nbcolli_message_to_self(nbcoll_messages *m, nbcolli_request *r)
{
    nbcolli_correspondent *p = &m->at[m->comm->rank];
    int is_short = r->executed.turn == NBCOLLI_IS_SEND && r->executed.bytes <= m->config.eager && p->credits > 0 &&
                   !r->executed.room;
    nbcolli_arrival l = {m->comm->rank,     p->next++, (int32_t)(uint32_t)r->tag,        NBCOLLI_MSG_SHORT,
                         r->executed.bytes, r->send,   is_short ? r->executed.bytes : 0, is_short ? NULL : r};

    r->executed.number = l.number;
    if (!is_short)
        l.kind = NBCOLLI_MSG_ANNOUNCED;
    p->credits -= is_short;
    int is_there = nbcolli_arrival_deliver(m, &l);
    if (!is_there)
        p->credits += is_short;
    if (is_short || !is_there)
        nbcolli_message_end(m, r, is_there ? NBCOLL_OK : NBCOLL_ERR_MEMORY, m->comm->rank);
}

/* Of a type that packs. A function of its own: all messages would set up what it has. 0: a transfer sends it. */
static __attribute__((noinline)) int nbcolli_message_as_tight_line(nbcoll_messages *m, const nbcolli_request *r,
                                                                   int rank)
{
    _Alignas(64) unsigned char tight[NBCOLL_LINE_PAYLOAD]; /* longer ones are packed by transfers */
    const nbcoll_memory memory[2] = {{(void *)(uintptr_t)r->send, 0, NBCOLL_BYTE},
                                     {tight, r->executed.bytes, NBCOLL_BYTE}};

    return r->executed.bytes <= sizeof tight &&
           nbcolli_pack_call((void *)(uintptr_t)r->executed.room, memory) == NBCOLL_OK && /* else a transfer says so */
           nbcolli_message_send_line(m, rank, (int32_t)(uint32_t)r->tag, tight, r->executed.bytes);
}

/* A short message goes as a line, if it may. */
static int nbcolli_message_as_line(nbcoll_messages *m, const nbcolli_request *r, int rank)
{
    if (r->executed.turn != NBCOLLI_IS_SEND || !nbcolli_message_fits_line(m, rank, r->executed.bytes))
        return 0;
    return r->executed.room ? nbcolli_message_as_tight_line(m, r, rank)
                            : nbcolli_message_send_line(m, rank, (int32_t)(uint32_t)r->tag, r->send, r->executed.bytes);
}

/* To a rank with which something is. 0: it goes as any other. */
static int nbcolli_message_apart(nbcoll_messages *m, nbcolli_request *r, int rank)
{
    if (m->at[rank].is_gone)
        nbcolli_message_end(m, r, NBCOLL_ERR_PEER_LOST, rank);
    else if (nbcolli_triple_find(m, rank, (uint32_t)r->tag, 0)) /* no line passes that by */
        nbcolli_transfer_send(m, r);
    else
        return 0;
    return 1;
}

static void nbcolli_message_take(nbcolli_executor *e, nbcolli_request *r)
{
    nbcoll_messages *m = nbcolli_messages_of(e);
    int rank = r->executed.root;

    nbcolli_request_taken(r);
    m->active++;
    if (r->executed.turn == NBCOLLI_IS_RECV) {
        nbcolli_receive_post(m, r);
        return;
    }
    if (rank == m->comm->rank)
        nbcolli_message_to_self(m, r);
    else if (m->at[rank].is_apart && nbcolli_message_apart(m, r, rank))
        ;
    else if (nbcolli_message_as_line(m, r, rank))
        nbcolli_message_end(m, r, NBCOLL_OK, rank);
    else
        nbcolli_transfer_send(m, r);
}

void nbcolli_message_receives(nbcoll_messages *m, nbcolli_request *r, nbcolli_kept *k)
{
    atomic_store_explicit(&r->executed.is_cancelled, 0, memory_order_relaxed); /* nobody knows it yet */
    nbcolli_request_taken(r);
    m->active++;
    nbcolli_kept_receive(m, r, k);
}

static nbcoll_status nbcolli_message_start(nbcolli_executor *e, nbcolli_request *r)
{
    atomic_store_explicit(&r->executed.is_cancelled, 0, memory_order_relaxed); /* as the state: */
    if (r->context->flags & NBCOLL_ANY_THREAD) {
        atomic_store_explicit(&r->state, NBCOLLI_REQUEST_HANDED, memory_order_relaxed); /* handed over below */
        nbcolli_hand(r->context, r);
    } else
        nbcolli_message_take(e, r);
    return NBCOLL_OK;
}

/* ---- arrivals ---------------------------------------------------------------------------------------------------- */

static int nbcolli_message_credits(nbcolli_correspondent *p, uint32_t credits)
{
    if (credits > (uint32_t)(p->most - p->credits))
        return 0;
    p->credits += (int32_t)credits;
    return 1;
}

/* A part of what was asked for. */
static int nbcolli_part_in(nbcoll_messages *m, nbcolli_transfer *t, const nbcolli_incoming *in)
{
    uint64_t at = in->header.bytes;

    if (!t || t->phase != NBCOLLI_TRANSFER_ASKED)
        return 1; /* it has been given up */
    t->lends = 0; /* it is not put */
    if (t->is_over) {
        nbcolli_transfer_over(m, t, t->status);
        return 1;
    }
    if (at > t->bytes || in->bytes > t->bytes - at || in->bytes > t->bytes - t->moved)
        return 0;
    memcpy(t->memory + at, in->payload, in->bytes);
    t->moved += in->bytes;
    m->context->bytes_left -= (ptrdiff_t)in->bytes;
    if (t->moved == t->bytes)
        nbcolli_transfer_whole(m, t);
    return 1;
}

/* What was asked for has been put, or will not come. */
static void nbcolli_asked_ends(nbcoll_messages *m, nbcolli_transfer *t, uint64_t status)
{
    if (!t || t->phase != NBCOLLI_TRANSFER_ASKED)
        return;
    int is_put = t->lends && status == NBCOLL_OK && !t->is_over;
    t->lends = 0;
    if (is_put)
        nbcolli_transfer_whole(m, t);
    else
        nbcolli_transfer_over(m, t, status == NBCOLL_ERR_FAULT ? NBCOLL_ERR_FAULT : NBCOLL_ERR_PEER_LOST);
}

/* An answer to what this rank has announced, if it still waits for one. It may be over: then it ends as it was to. */
static void nbcolli_answer_to_send(nbcoll_messages *m, nbcolli_transfer *t, const nbcolli_incoming *in)
{
    const nbcolli_header *h = &in->header;
    nbcoll_status status = NBCOLL_ERR_CANCELLED; /* WITHDRAWN, REFUSED */

    if (!t || t->phase != NBCOLLI_TRANSFER_ANNOUNCED)
        return;
    if (h->status == NBCOLLI_MSG_ASK && t->is_over)
        nbcolli_message_say(m, t->rank, NBCOLLI_MSG_WITHDRAW, t->number, 1);
    nbcolli_route_answered(m, t);
    if (h->status == NBCOLLI_MSG_ASK && !t->is_over) {
        nbcolli_transfer_ask(m, t, in->payload, in->bytes);
        return;
    }
    if (h->status == NBCOLLI_MSG_TAKEN)
        status = h->bytes == NBCOLL_ERR_FAULT || h->bytes == NBCOLL_ERR_PEER_LOST ? (nbcoll_status)h->bytes : NBCOLL_OK;
    t->phase = NBCOLLI_TRANSFER_SHORT; /* of which its post is left */
    nbcolli_transfer_over(m, t, status);
}

/* AGAIN: what has been withdrawn, and ends of routes. */
static void nbcolli_message_again(nbcoll_messages *m, int rank)
{
    for (nbcolli_list_item *item = m->at[rank].sends.first; item; item = item->next) {
        const nbcolli_transfer *t = NBCOLLI_HOLDER(const nbcolli_transfer, beside, item);
        if (t->phase == NBCOLLI_TRANSFER_ANNOUNCED && (t->is_over || t->request->executed.is_cancelled))
            nbcolli_message_say(m, rank, NBCOLLI_MSG_WITHDRAW, t->number, t->is_over);
    }
    nbcolli_routes_say_ended(m, rank);
}

/* SHORT or ANNOUNCED. */
static int nbcolli_message_taken(nbcoll_messages *m, const nbcolli_incoming *in)
{
    const nbcolli_header *h = &in->header;
    int is_short = h->status == NBCOLLI_MSG_SHORT, is_carried = !is_short && (h->tag & NBCOLLI_TAG_IS_CARRIED);
    int32_t tag = (int32_t)(h->tag & NBCOLL_TAG_MOST);
    uint8_t kind = is_carried ? NBCOLLI_MSG_CARRIED : h->status;

    if (((uint32_t)h->tag > NBCOLL_TAG_MOST && !is_carried) || (is_carried && in->bytes != sizeof(nbcolli_carriage)) ||
        in->bytes > (is_short ? m->config.eager : sizeof(nbcolli_remote)))
        return 0;
    if (is_short && in->bytes != (h->bytes == NBCOLLI_FAILED_TO_PACK ? 0 : h->bytes))
        return 0;
    if (is_short && in->bytes == h->bytes &&
        nbcolli_arrival_at_once(m, (int)h->source, h->number, tag, in->payload, in->bytes))
        return 1;
    return nbcolli_arrival_in(
        m, &(nbcolli_arrival){(int)h->source, h->number, tag, kind, h->bytes, in->payload, in->bytes, NULL});
}

static int nbcolli_message_arrives(nbcolli_executor *e, const nbcolli_incoming *in)
{
    nbcoll_messages *m = nbcolli_messages_of(e);
    const nbcolli_header *h = &in->header;
    nbcolli_correspondent *p = &m->at[h->source];

    if (!p->channel)
        p->channel = (uint32_t)(h->tag >> 32);
    if (h->status != NBCOLLI_MSG_REFUSED && !nbcolli_message_credits(p, h->stamp))
        return 0;
    switch (h->status) {
    case NBCOLLI_MSG_SHORT:
    case NBCOLLI_MSG_ANNOUNCED:
        return nbcolli_message_taken(m, in);
    case NBCOLLI_MSG_PART:
        return nbcolli_part_in(m, nbcolli_transfer_find(m, (int)h->source, 1, h->number), in);
    case NBCOLLI_MSG_WITHDRAW:
        if (h->bytes)
            nbcolli_asked_ends(m, nbcolli_transfer_find(m, (int)h->source, 1, h->number), NBCOLL_ERR_PEER_LOST);
        nbcolli_arrival_withdraw(m, (int)h->source, h->number);
        return 1;
    case NBCOLLI_MSG_PUT:
        nbcolli_asked_ends(m, nbcolli_transfer_find(m, (int)h->source, 1, h->number), h->bytes);
        return 1;
    case NBCOLLI_MSG_ROUTED:
        nbcolli_route_told(m, (int)h->source, h->number, h->bytes);
        return 1;
    case NBCOLLI_MSG_AGAIN:
        nbcolli_message_again(m, (int)h->source);
        return 1;
    case NBCOLLI_MSG_CREDIT:
        return 1;
    default:
        if (in->bytes > sizeof(nbcolli_remote))
            return 0;
        nbcolli_answer_to_send(m, nbcolli_transfer_find(m, (int)h->source, 0, h->number), in);
        return h->status < NBCOLLI_MSG_KINDS;
    }
}

/* The rank behind an address of an endpoint, or -1. */
static int nbcolli_line_rank(const nbcoll_messages *m, const nbcolli_link *link, int address)
{
    const int *of = m->rank_of;

    for (const nbcolli_link *l = m->comm->link->first; l != link; l = l->beside)
        of += l->endpoint->ranks;
    return of[address];
}

static int nbcolli_message_line(nbcolli_executor *e, const nbcolli_link *link, const nbcoll_line_arrival *line)
{
    nbcoll_messages *m = nbcolli_messages_of(e);
    int rank = nbcolli_line_rank(m, link, line->source);

    if (nbcolli_is_given_up(link, line->source))
        return 1;
    if (rank < 0 || line->bytes > m->config.eager ||
        !nbcolli_message_credits(&m->at[rank], (uint32_t)(line->turn >> 48)))
        return 0;
    if (line->turn & NBCOLLI_LINE_IS_CREDIT)
        return 1;
    uint32_t expected = m->at[rank].expected;
    uint32_t number = expected + (uint32_t)(int16_t)(uint16_t)((line->turn >> 32) - expected);
    int32_t tag = (int32_t)(line->turn & NBCOLL_TAG_MOST);
    return nbcolli_arrival_at_once(m, rank, number, tag, line->payload, line->bytes) ||
           nbcolli_arrival_in(m, &(nbcolli_arrival){rank, number, tag, NBCOLLI_MSG_SHORT, line->bytes, line->payload,
                                                    line->bytes, NULL});
}

/* ---- waits ------------------------------------------------------------------------------------------------------- */

#define NBCOLLI_AWAIT_LOOKS 200 /* a few microseconds */

#define NBCOLLI_AWAIT_PASS 64 /* so many waits may end so in a row, and then there is a pass */

/* Polls for what comes next from a rank. 1: that was a line of this turn and so many bytes, which has been taken; 0: it
 * is something else, for which a pass is to look, or nothing has come. Inside, in a context of one thread. */
static int nbcolli_arrival_poll(nbcoll_messages *m, int rank, uint64_t turn, void *to, size_t bytes)
{
    nbcolli_correspondent *p = &m->at[rank];
    const nbcolli_peer *peer = nbcolli_message_peer(m, rank);
    nbcolli_link *link = peer->link;
    int32_t said = -1;

    for (int looks = 0; looks < NBCOLLI_AWAIT_LOOKS && said == -1; looks++) {
        said = link->lines.take(link->endpoint, peer->address, m->head.channel, turn, to, bytes);
        if (said == -1)
            nbcolli_lock_relax();
    }
    if (said < 0)
        return 0;
    if (!nbcolli_message_credits(p, (uint32_t)said))
        nbcolli_give_up(link, peer->address); /* it has sent what may not be */
    p->expected++;
    if (nbcolli_message_owes(m, rank))
        nbcolli_message_return(m, rank);
    return 1;
}

/* Is it worth it? */
static int nbcolli_arrival_may_poll(nbcoll_messages *m, int rank)
{
    if (rank == NBCOLL_ANY_SOURCE || !m->at[rank].may_take || nbcolli_takes_turns(m->context) || m->context->host.pause)
        return 0;
    m->polls = m->polls == NBCOLLI_AWAIT_PASS ? 0 : m->polls + 1;
    return m->polls;
}

/* Can the next message of the rank, if it has this tag, be met by no receive but the first for just these? */
static int nbcolli_arrival_is_next(const nbcoll_messages *m, int rank, uint32_t tag, size_t bytes)
{
    return tag != NBCOLLI_TAG_ANY && bytes <= m->at[rank].line_most && !m->wild && !m->at[rank].early.first &&
           !m->at[rank].is_apart;
}

static uint64_t nbcolli_line_turn(const nbcoll_messages *m, int rank, uint32_t tag)
{
    return (uint64_t)(m->at[rank].expected & 0xffff) << 32 | tag;
}

static void nbcolli_message_await(nbcolli_executor *e, nbcolli_request *r)
{
    nbcoll_messages *m = nbcolli_messages_of(e);
    int rank = r->executed.root, is_first = r->executed.turn == NBCOLLI_IS_RECV && rank != NBCOLL_ANY_SOURCE &&
                                            r->queued.in && !r->executed.room;
    uint32_t tag = (uint32_t)r->tag;
    size_t bytes = r->executed.bytes;

    if (!nbcolli_arrival_may_poll(m, rank) || !nbcolli_try_lock(m->context))
        return;
    is_first = is_first && nbcolli_receive_first(m, rank, tag) == r;
    if (!is_first || !nbcolli_arrival_is_next(m, rank, tag, bytes)) /* no line has this turn and that length */
        nbcolli_arrival_poll(m, rank, NBCOLLI_LINE_IS_CREDIT, NULL, NBCOLL_LINE_PAYLOAD);
    else if (nbcolli_arrival_poll(m, rank, nbcolli_line_turn(m, rank, tag), r->recv, bytes)) {
        nbcoll_message_info *info = (nbcoll_message_info *)(uintptr_t)r->send; /* the program's */
        if (info)
            *info = (nbcoll_message_info){rank, (int)tag, bytes};
        nbcolli_receive_leave(m, r);
        nbcolli_message_end(m, r, NBCOLL_OK, rank);
    }
    nbcolli_unlock(m->context);
}

int nbcolli_arrival_take_soon(nbcoll_messages *m, int rank, uint32_t tag, void *to, size_t bytes)
{
    return nbcolli_arrival_may_poll(m, rank) && nbcolli_arrival_is_next(m, rank, tag, bytes) &&
           !nbcolli_receive_first(m, rank, tag) && !m->at[rank].in_turn.first &&
           nbcolli_arrival_poll(m, rank, nbcolli_line_turn(m, rank, tag), to, bytes);
}

/* ---- ranks that are gone, and cancelling ------------------------------------------------------------------------- */

/* Those from that rank, or from any source. */
static void nbcolli_receives_end(nbcoll_messages *m, int source, int rank)
{
    for (uint32_t i = 0; m->posted.count && i < 1u << m->posted.bits; i++)
        for (nbcolli_list_item *item = m->posted.bucket[i].first, *next; item; item = next) {
            nbcolli_request *r = NBCOLLI_HOLDER(nbcolli_request, queued, item);
            next = item->next;
            if (r->executed.root != source)
                continue;
            nbcolli_receive_leave(m, r);
            nbcolli_message_end(m, r, NBCOLL_ERR_PEER_LOST, rank);
        }
}

/* A rank that has left may have got what is in flight. The post, once it is back, says whether it went. */
static int nbcolli_transfer_goes_on(const nbcoll_messages *m, const nbcolli_transfer *t)
{
    const nbcolli_peer *peer = nbcolli_message_peer(m, t->rank);
    int is_cut = peer->link->loss[peer->address] & NBCOLLI_CUT;
    int has_gone = t->phase == NBCOLLI_TRANSFER_SHORT || (t->phase == NBCOLLI_TRANSFER_PARTS && t->moved == t->bytes) ||
                   (t->phase == NBCOLLI_TRANSFER_PUTTING && t->is_begun && !is_cut);
    return has_gone && (t->post.where == NBCOLLI_IN_FLIGHT || t->post.where == NBCOLLI_FREE) &&
           nbcolli_has_departed(m->comm, t->rank);
}

static void nbcolli_transfers_lose(nbcoll_messages *m, const nbcolli_list *list)
{
    for (nbcolli_list_item *item = list->first, *next; item; item = next) {
        nbcolli_transfer *t = NBCOLLI_HOLDER(nbcolli_transfer, beside, item);
        next = item->next;
        if (!t->triple && !t->is_carried && !nbcolli_transfer_goes_on(m, t))
            nbcolli_transfer_over(m, t, NBCOLL_ERR_PEER_LOST);
    }
}

static void nbcolli_message_gone(nbcolli_executor *e, int rank)
{
    nbcoll_messages *m = nbcolli_messages_of(e);
    nbcolli_correspondent *p = &m->at[rank];
    const nbcolli_peer *peer = nbcolli_message_peer(m, rank);
    int is_first = !p->is_gone, others = 0;

    p->is_gone = p->is_apart = 1;
    nbcolli_routes_gone(m, rank);
    nbcolli_receives_end(m, rank, rank);
    nbcolli_transfers_lose(m, &p->sends);
    nbcolli_transfers_lose(m, &p->receives);
    for (int i = 0; i < m->comm->size; i++)
        others += !m->at[i].is_gone && i != m->comm->rank;
    if (is_first && (!others || peer->link->loss[peer->address] & NBCOLLI_CUT))
        nbcolli_receives_end(m, NBCOLL_ANY_SOURCE, rank);
}

/* What was under way with it is in neither list once its gets and puts are back. */
static size_t nbcolli_message_elsewhere(const nbcolli_executor *e, int rank)
{
    const nbcoll_messages *m = (const nbcoll_messages *)(const void *)e;
    return m->at[rank].sends.first || m->at[rank].receives.first ? 0 : m->active;
}

/* This rank's own send, which is kept. */
static void nbcolli_cancel_to_self(nbcoll_messages *m, nbcolli_request *r)
{
    nbcolli_kept *k = nbcolli_kept_numbered(m, 0, m->comm->rank, (uint32_t)r->executed.number);

    if (!k || k->arrival.self != r)
        return;
    nbcolli_kept_free(m, k);
    nbcolli_message_end(m, r, NBCOLL_ERR_CANCELLED, m->comm->rank);
}

/* What has been matched goes on to its end. */
static void nbcolli_message_cancel(nbcolli_executor *e, nbcolli_request *r, int tell)
{
    nbcoll_messages *m = nbcolli_messages_of(e);
    const nbcolli_transfer *t = r->executed.work;
    (void)tell;

    if (r->queued.in && t) { /* on a route: it ends when that has */
        atomic_store_explicit(&r->executed.is_cancelled, 1, memory_order_relaxed); /* the lock orders it */
        if (t->triple)
            nbcolli_triple_end(m, t->triple);
    } else if (r->queued.in) {
        nbcolli_receive_leave(m, r);
        nbcolli_message_end(m, r, NBCOLL_ERR_CANCELLED, m->comm->rank);
    } else if (t && (t->phase == NBCOLLI_TRANSFER_ANNOUNCED || t->phase == NBCOLLI_TRANSFER_PACKING) &&
               !r->executed.is_cancelled) {
        atomic_store_explicit(&r->executed.is_cancelled, 1, memory_order_relaxed); /* the lock orders it */
        if (t->phase == NBCOLLI_TRANSFER_ANNOUNCED)
            nbcolli_message_say(m, t->rank, NBCOLLI_MSG_WITHDRAW, t->number, 0);
    } else if (!t && r->executed.turn != NBCOLLI_IS_RECV && r->executed.root == m->comm->rank)
        nbcolli_cancel_to_self(m, r);
}

/* ---- passes ------------------------------------------------------------------------------------------------------ */

/* What is under way in a transport ends a sleep. */
static nbcolli_sight nbcolli_message_look(nbcolli_executor *e, int poller)
{
    nbcoll_messages *m = nbcolli_messages_of(e);
    int sleeps = !m->triples || nbcolli_routes_arm(m, poller);

    return nbcolli_transfers_go_on(m) || !sleeps ? NBCOLLI_SIGHT_MOVES : NBCOLLI_SIGHT_QUIET;
}

const nbcolli_executor_table nbcolli_messages_do = {.start = nbcolli_message_start,
                                                    .take = nbcolli_message_take,
                                                    .cancel = nbcolli_message_cancel,
                                                    .look = nbcolli_message_look,
                                                    .message = nbcolli_message_arrives,
                                                    .line = nbcolli_message_line,
                                                    .gone = nbcolli_message_gone,
                                                    .elsewhere = nbcolli_message_elsewhere,
                                                    .await = nbcolli_message_await,
                                                    .abandon = nbcolli_messages_abandon,
                                                    .free = nbcolli_messages_free_with};
