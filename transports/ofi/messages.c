/* SPDX-License-Identifier: BSD-3-Clause
 * Messages: each is copied into a buffer, which the provider sends, and kept until the peer says that it has arrived.
 * The provider's completion does not suffice: some messages that tcp;ofi_rxm had completed were lost when their sender
 * closed its endpoint at once. So the goodbye of a rank that closes, which the kernels deliver, repeats messages that
 * may not have arrived (watch.c), and a post is done at once. As many messages may be under way to a peer as there are
 * buffers for it, its credits, and as many bytes as a goodbye can repeat; the peer has receives for that many, which
 * all ranks share; over a stream fewer: there messages wait in the kernel for a receive, and a few long buffers stay in
 * the cache. Every message says how many have arrived; half of the credits, or of the bytes, are told apart.
 * A message that is longer than what ofi_rxm sends at once goes in pieces, each in a buffer of its own: the receiver
 * appends the payloads of the others to the first one's. See ofi.h. */
#include <errno.h>
#include <string.h>

#include "ofi.h"

/* ---- buffers ----------------------------------------------------------------------------------------------------- */

/* For sending, for the transport's own messages, and to receive from it. */
static void nbcolli_ofi_make(nbcolli_ofi_end *e, nbcolli_ofi_peer *p)
{
    nbcolli_ofi_buffer *all = nbcolli_ofi_cut(e, e->credits + NBCOLLI_OFI_QUIET + e->receives, &p->slab);

    if (!all)
        return;
    p->spare = nbcolli_ofi_split(&all, e->credits);
    p->quiet = nbcolli_ofi_split(&all, NBCOLLI_OFI_QUIET);
    for (nbcolli_ofi_buffer *b = p->spare; b; b = b->next)
        b->peer = p;
    for (nbcolli_ofi_buffer *b = p->quiet; b; b = b->next) {
        b->peer = p;
        b->is_quiet = true;
    }
    p->flight_last = &p->flight;
    p->next_known = e->known;
    e->known = p;
    nbcolli_ofi_receive(e, all);
}

nbcolli_ofi_peer *nbcolli_ofi_know(nbcolli_ofi_end *e, int peer)
{
    nbcolli_ofi_peer *p = &e->peer[peer];

    if (!p->slab.at)
        nbcolli_ofi_make(e, p);
    return p;
}

void nbcolli_ofi_idle(nbcolli_ofi_end *e, nbcolli_ofi_buffer *b)
{
    nbcolli_ofi_peer *p = b->peer;
    nbcolli_ofi_buffer **list = b->is_quiet ? &p->quiet : &p->spare;

    if (b->from)
        nbcolli_ofi_unmap_key(e, b->key);
    b->doing = NBCOLLI_OFI_IDLE;
    b->work = NULL;
    b->from = NULL;
    b->is_cancelled = b->is_under_way = b->is_taken = false;
    b->next = *list;
    *list = b;
}

/* ---- sending ----------------------------------------------------------------------------------------------------- */

/* The provider copies it, and completes nothing. A failure has the buffer's context, unlike one of fi_inject: that is
 * for messages whose failure is not looked at. */
static ssize_t nbcolli_ofi_inject(nbcolli_ofi_end *e, nbcolli_ofi_buffer *b)
{
    struct iovec part = {b->wire, b->bytes};
    struct fi_msg what = {
        .msg_iov = &part, .desc = &b->desc, .iov_count = 1, .addr = b->peer->to, .context = &b->context};

    if (b->is_quiet)
        return fi_inject(e->messages, b->wire, b->bytes, b->peer->to);
    return fi_sendmsg(e->messages, &what, FI_INJECT);
}

static nbcolli_ofi_front *nbcolli_ofi_front_at(unsigned char *wire)
{
    return (nbcolli_ofi_front *)(void *)wire;
}

/* Gives it to the provider. Or an error of libfabric. */
static int nbcolli_ofi_send(nbcolli_ofi_end *e, nbcolli_ofi_buffer *b)
{
    nbcolli_ofi_peer *p = b->peer;

    nbcolli_ofi_front_at(b->wire)->taken = p->taken;
    bool is_copied = b->bytes <= e->info->tx_attr->inject_size;
    ssize_t said = is_copied ? nbcolli_ofi_inject(e, b)
                             : fi_send(e->messages, b->wire, b->bytes, b->desc, p->to, &b->context);
    if (said != 0)
        return (int)said;
    p->told_taken = p->taken;
    p->untold = 0;
    b->is_under_way = !is_copied;
    if (is_copied && b->is_quiet)
        nbcolli_ofi_idle(e, b);
    return 0;
}

/* It has the number that it was given, and a goodbye repeats it. */
static void nbcolli_ofi_fly(nbcolli_ofi_peer *p, nbcolli_ofi_buffer *b)
{
    p->sent++;
    p->kept += b->bytes;
    b->next = NULL;
    *p->flight_last = b;
    p->flight_last = &b->next;
}

static int nbcolli_ofi_launch_send(nbcolli_ofi_end *e, nbcolli_ofi_buffer *b)
{
    nbcolli_ofi_peer *p = b->peer;

    if (!b->is_quiet && p->out)
        return -FI_EAGAIN;
    uint16_t next = p->out ? nbcolli_ofi_front_at(p->out->wire)->number : (uint16_t)(p->sent + 1);
    nbcolli_ofi_front_at(b->wire)->number = next; /* a quiet one says which piece follows it */
    int said = nbcolli_ofi_send(e, b);
    if (said == 0 && !b->is_quiet) {
        nbcolli_ofi_fly(p, b);
        nbcolli_ofi_give_back(e, b, NBCOLL_OK); /* of a put */
    }
    return said;
}

/* True: the provider has all pieces. */
static bool nbcolli_ofi_send_out(nbcolli_ofi_end *e, nbcolli_ofi_peer *p)
{
    while (p->out && nbcolli_ofi_send(e, p->out) == 0)
        p->out = p->out->next;
    return !p->out;
}

void nbcolli_ofi_sent(nbcolli_ofi_end *e, nbcolli_ofi_buffer *b)
{
    b->is_under_way = false;
    if (b->is_quiet || b->is_taken)
        nbcolli_ofi_idle(e, b);
}

static int nbcolli_ofi_launch_write(nbcolli_ofi_end *e, nbcolli_ofi_buffer *b)
{
    size_t most = e->info->ep_attr->max_msg_size;

    b->piece = b->left < most ? b->left : most;
    b->moves = b->peer->moves;
    return nbcolli_ofi_write(e, b->from, b->piece, b->local, b->peer->bulk_to, b->at, b->key, &b->context);
}

int nbcolli_ofi_launch(nbcolli_ofi_end *e, nbcolli_ofi_buffer *b)
{
    int said = b->doing == NBCOLLI_OFI_SENDS ? nbcolli_ofi_launch_send(e, b) : nbcolli_ofi_launch_write(e, b);

    if (said)
        e->error = -said;
    return said;
}

void nbcolli_ofi_has_failed(nbcolli_ofi_end *e, nbcolli_ofi_buffer *b)
{
    b->is_asked = false;
    b->until = nbcolli_now(&e->host) + e->lost_ns;
    b->next_doubtful = e->doubtful;
    e->doubtful = b;
    b->peer->doubts = true;
    nbcolli_ofi_is_due(e, b->peer);
}

/* A message has its number behind that of one that has failed: who has missed that one finds it now, and loses this
 * rank. */
static bool nbcolli_ofi_ask_peer(nbcolli_ofi_end *e, nbcolli_ofi_peer *p)
{
    if (!p->doubts)
        return true;
    if (!nbcolli_ofi_say(e, p, NBCOLLI_OFI_DOUBTS, NULL, 0))
        return false;
    p->doubts = false;
    for (nbcolli_ofi_buffer *b = e->doubtful; b; b = b->next_doubtful)
        b->is_asked |= b->peer == p;
    return true;
}

static bool nbcolli_ofi_answer_peer(nbcolli_ofi_end *e, nbcolli_ofi_peer *p)
{
    if (p->is_doubted && !nbcolli_ofi_say(e, p, NBCOLLI_OFI_LIVES, NULL, 0))
        return false;
    p->is_doubted = false;
    return true;
}

/* It lives, and puts to it went where it takes them. */
static void nbcolli_ofi_answered(nbcolli_ofi_end *e, const nbcolli_ofi_peer *p)
{
    for (nbcolli_ofi_buffer *b = e->doubtful; b; b = b->next_doubtful)
        if (b->peer == p && b->is_asked)
            b->until = 0;
    nbcolli_ofi_believe(e);
}

void nbcolli_ofi_launch_or_wait(nbcolli_ofi_end *e, nbcolli_ofi_buffer *b)
{
    int said = nbcolli_ofi_launch(e, b);

    if (said == 0)
        return;
    b->next = NULL;
    if (said == -FI_EAGAIN) {
        *e->again_last = b;
        e->again_last = &b->next;
        return;
    }
    nbcolli_ofi_has_failed(e, b);
}

void nbcolli_ofi_launch_again(nbcolli_ofi_end *e)
{
    nbcolli_ofi_buffer *b = e->again, *next;

    e->again = NULL;
    e->again_last = &e->again;
    for (; b; b = next) {
        next = b->next;
        if (nbcolli_ofi_is_gone(b->peer)) /* its work request is back */
            nbcolli_ofi_idle(e, b);
        else
            nbcolli_ofi_launch_or_wait(e, b);
    }
}

static nbcolli_ofi_front nbcolli_ofi_front_of(const nbcolli_ofi_end *e, nbcolli_ofi_kind kind)
{
    return (nbcolli_ofi_front){.nonce = e->nonce, .rank_and_kind = (uint32_t)e->base.rank << 8 | (uint32_t)kind};
}

static void nbcolli_ofi_write_front(const nbcolli_ofi_end *e, nbcolli_ofi_buffer *b, nbcolli_ofi_kind kind)
{
    *nbcolli_ofi_front_at(b->wire) = nbcolli_ofi_front_of(e, kind);
}

bool nbcolli_ofi_say(nbcolli_ofi_end *e, nbcolli_ofi_peer *p, nbcolli_ofi_kind kind, const void *payload, size_t bytes)
{
    nbcolli_ofi_buffer *b = p->quiet;

    if (!b)
        return false;
    nbcolli_ofi_write_front(e, b, kind);
    if (bytes)
        memcpy(b->wire + sizeof(nbcolli_ofi_front), payload, bytes);
    b->bytes = sizeof(nbcolli_ofi_front) + bytes;
    b->doing = NBCOLLI_OFI_SENDS;
    p->quiet = b->next;
    bool is_said = nbcolli_ofi_launch(e, b) == 0;
    if (!is_said) {
        nbcolli_ofi_is_refused_now(e);
        nbcolli_ofi_idle(e, b);
    }
    return is_said;
}

/* ---- to this rank itself ----------------------------------------------------------------------------------------- */

static nbcoll_posted nbcolli_ofi_post_own(nbcolli_ofi_end *e, const nbcoll_header *header, const void *payload,
                                          size_t bytes)
{
    nbcolli_ofi_buffer *b = e->own;

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

void nbcolli_ofi_own_arrive(nbcolli_ofi_end *e, nbcoll_arrival ***last)
{
    for (nbcolli_ofi_buffer *b = e->own_first, *next; b; b = next) {
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

/* ---- posts ------------------------------------------------------------------------------------------------------- */

/* Are there buffers for a message of so many bytes? */
static bool nbcolli_ofi_has_room(const nbcolli_ofi_end *e, const nbcolli_ofi_peer *p, size_t bytes)
{
    const nbcolli_ofi_buffer *b = p->spare;
    uint32_t pieces = nbcolli_ofi_pieces(e, bytes);

    if (p->out || p->kept + bytes + (pieces - 1) * sizeof(nbcolli_ofi_front) > e->keeps)
        return false;
    while (b && --pieces)
        b = b->next;
    return b;
}

/* A piece: `front` bytes of it are there, or its header is, behind the transport's; and as much of the payload as fits.
 * How much that is. */
static size_t nbcolli_ofi_fill_piece(nbcolli_ofi_end *e, nbcolli_ofi_buffer *b, size_t front, const char *payload,
                                     size_t bytes)
{
    size_t its = bytes < e->piece - front ? bytes : e->piece - front;

    nbcolli_ofi_write_front(e, b, its < bytes ? NBCOLLI_OFI_PART : NBCOLLI_OFI_MESSAGE);
    if (its)
        memcpy(b->wire + front, payload, its);
    b->bytes = front + its;
    b->doing = NBCOLLI_OFI_SENDS;
    return its;
}

/* The other pieces of a message whose first one the provider has taken: they have their numbers now. */
static void nbcolli_ofi_post_rest(nbcolli_ofi_end *e, nbcolli_ofi_peer *p, const char *payload, size_t bytes)
{
    p->out = p->spare;
    for (size_t its; bytes; payload += its, bytes -= its) {
        nbcolli_ofi_buffer *b = p->spare;
        p->spare = b->next;
        its = nbcolli_ofi_fill_piece(e, b, sizeof(nbcolli_ofi_front), payload, bytes);
        nbcolli_ofi_front_at(b->wire)->number = (uint16_t)(p->sent + 1);
        nbcolli_ofi_fly(p, b);
    }
    if (!nbcolli_ofi_send_out(e, p))
        nbcolli_ofi_is_due(e, p);
}

nbcoll_posted nbcolli_ofi_post(nbcoll_endpoint *ep, int peer, const nbcoll_header *header, const void *payload,
                               size_t bytes, nbcoll_work *work)
{
    nbcolli_ofi_end *e = nbcolli_ofi_end_of(ep);

    (void)work;
    if (peer == ep->rank)
        return nbcolli_ofi_post_own(e, header, payload, bytes);
    nbcolli_ofi_peer *p = nbcolli_ofi_know(e, peer);
    nbcolli_ofi_buffer *b = p->spare;
    if (nbcolli_ofi_is_gone(p))
        return p->state == NBCOLLI_OFI_LEFT ? NBCOLL_POST_DONE : NBCOLL_POST_LOST;
    nbcolli_ofi_watch(e, p);
    if (!p->slab.at || !nbcolli_ofi_tell_move(e, p))
        nbcolli_ofi_is_refused_now(e);
    else if (nbcolli_ofi_has_room(e, p, NBCOLLI_OFI_FRONT + bytes)) {
        nbcolli_ofi_buffer *next = b->next;
        size_t its = nbcolli_ofi_fill_piece(e, b, NBCOLLI_OFI_FRONT, payload, bytes);
        memcpy(b->wire + sizeof(nbcolli_ofi_front), header, sizeof *header);
        if (nbcolli_ofi_launch(e, b) == 0) {
            p->spare = next;
            if (its < bytes)
                nbcolli_ofi_post_rest(e, p, (const char *)payload + its, bytes - its);
            return NBCOLL_POST_DONE;
        }
        b->doing = NBCOLLI_OFI_IDLE;
        nbcolli_ofi_is_refused_now(e); /* also where the connection has failed: the watch says what is the matter */
    }
    return NBCOLL_POST_NOT_NOW;
}

/* A put goes on to the end of its current piece. */
void nbcolli_ofi_cancel(nbcoll_endpoint *ep, nbcoll_work *work)
{
    nbcolli_ofi_buffer *b = (nbcolli_ofi_buffer *)(uintptr_t)work->scratch[0];

    (void)ep;
    if (b && b->work == work)
        b->is_cancelled = true;
}

/* ---- receiving --------------------------------------------------------------------------------------------------- */

void nbcolli_ofi_receive(nbcolli_ofi_end *e, nbcolli_ofi_buffer *first)
{
    while (first) {
        nbcolli_ofi_buffer *b = first;
        first = b->next;
        b->doing = NBCOLLI_OFI_RECEIVES;
        b->peer = NULL;
        if (fi_recv(e->messages, b->wire, NBCOLLI_OFI_FRONT + e->payload, b->desc, FI_ADDR_UNSPEC, &b->context) != 0) {
            b->next = e->unposted;
            e->unposted = b;
        }
    }
}

static bool nbcolli_ofi_is_owed(const nbcolli_ofi_end *e, const nbcolli_ofi_peer *p)
{
    return 2u * (uint16_t)(p->taken - p->told_taken) >= e->credits || p->untold >= e->tell;
}

void nbcolli_ofi_is_due(nbcolli_ofi_end *e, nbcolli_ofi_peer *p)
{
    if (p->is_due)
        return;
    p->is_due = true;
    p->next_due = e->due;
    e->due = p;
}

void nbcolli_ofi_acknowledge(nbcolli_ofi_end *e)
{
    nbcolli_ofi_peer *due = e->due, *next;

    e->due = NULL;
    for (; due; due = next) {
        next = due->next_due;
        due->is_due = false;
        if (due->state == NBCOLLI_OFI_HERE &&
            (!nbcolli_ofi_send_out(e, due) || !nbcolli_ofi_tell_move(e, due) || !nbcolli_ofi_ask_peer(e, due) ||
             !nbcolli_ofi_answer_peer(e, due) ||
             (nbcolli_ofi_is_owed(e, due) && !nbcolli_ofi_say(e, due, NBCOLLI_OFI_TAKEN, NULL, 0))))
            nbcolli_ofi_is_due(e, due);
    }
}

static void nbcolli_ofi_is_taken(nbcolli_ofi_end *e, nbcolli_ofi_peer *p, uint16_t taken)
{
    for (nbcolli_ofi_buffer *b; p->taken_by_it != taken && (b = p->flight) != NULL; p->taken_by_it++) {
        p->flight = b->next;
        if (!p->flight)
            p->flight_last = &p->flight;
        b->is_taken = true;
        p->kept -= b->bytes;
        if (!b->is_under_way)
            nbcolli_ofi_idle(e, b);
    }
}

void nbcolli_ofi_release(nbcolli_ofi_end *e)
{
    nbcolli_ofi_buffer *again = e->unposted;

    e->unposted = NULL;
    nbcolli_ofi_receive(e, again);
    for (nbcolli_ofi_buffer *b = e->arrived, *next; b; b = next) {
        next = b->next;
        b->next = NULL;
        if (b->arrival.source == e->base.rank) {
            b->next = e->own;
            e->own = b;
            continue;
        }
        nbcolli_ofi_receive(e, b);
    }
    e->arrived = NULL;
}

/* The sender; null: no rank of this set. */
static nbcolli_ofi_peer *nbcolli_ofi_sender(nbcolli_ofi_end *e, const nbcolli_ofi_front *front, size_t bytes)
{
    uint32_t rank = front->rank_and_kind >> 8;

    if (!e->is_met || bytes < sizeof *front || rank >= (uint32_t)e->base.ranks || front->nonce != e->peer_nonce[rank] ||
        (int)rank == e->base.rank)
        return NULL;
    return nbcolli_ofi_know(e, (int)rank);
}

static void nbcolli_ofi_fill(nbcoll_arrival *a, const nbcolli_ofi_peer *p, const unsigned char *wire, size_t bytes)
{
    *a = (nbcoll_arrival){.source = p->rank, .payload = wire + NBCOLLI_OFI_FRONT, .bytes = bytes - NBCOLLI_OFI_FRONT};
    memcpy(&a->header, wire + sizeof(nbcolli_ofi_front), sizeof(nbcoll_header));
}

/* Is a piece of so many bytes one of a message that a buffer holds? */
static bool nbcolli_ofi_fits_in(const nbcolli_ofi_end *e, const nbcolli_ofi_peer *p, size_t bytes)
{
    return bytes >= (p->in ? sizeof(nbcolli_ofi_front) : NBCOLLI_OFI_FRONT) &&
           bytes + (p->in ? p->in_bytes - sizeof(nbcolli_ofi_front) : 0) <= NBCOLLI_OFI_FRONT + e->payload;
}

/* A piece has come. Its message and all of that one's bytes; null: more is to come. */
static unsigned char *nbcolli_ofi_join(nbcolli_ofi_peer *p, unsigned char *wire, size_t *bytes)
{
    unsigned char *whole = p->in ? p->in : wire;
    bool is_last = (nbcolli_ofi_front_at(wire)->rank_and_kind & 0xff) == NBCOLLI_OFI_MESSAGE;

    p->taken++;
    if (p->in) {
        *bytes -= sizeof(nbcolli_ofi_front);
        memmove(whole + p->in_bytes, wire + sizeof(nbcolli_ofi_front), *bytes);
        *bytes += p->in_bytes;
    }
    p->in = is_last ? NULL : whole;
    p->in_bytes = *bytes;
    return is_last ? whole : NULL;
}

void nbcolli_ofi_late_arrive(nbcolli_ofi_end *e, nbcolli_ofi_peer *p)
{
    nbcoll_arrival *a = p->late.at, **last = &e->late;
    unsigned char *at = (unsigned char *)(a + e->credits), *end = (unsigned char *)a + p->late.bytes;
    uint64_t bytes;

    while (*last)
        last = &(*last)->next;
    for (; at < end; at += sizeof bytes + (bytes + 7) / 8 * 8) {
        memcpy(&bytes, at, sizeof bytes);
        unsigned char *wire = at + sizeof bytes, *whole;
        size_t its = bytes;
        if (bytes < sizeof(nbcolli_ofi_front) || bytes > (size_t)(end - wire))
            return;
        if (nbcolli_ofi_front_at(wire)->number != (uint16_t)(p->taken + 1) || !nbcolli_ofi_fits_in(e, p, its) ||
            !(whole = nbcolli_ofi_join(p, wire, &its)))
            continue;
        nbcolli_ofi_fill(a, p, whole, its);
        *last = a;
        last = &a++->next;
    }
}

void nbcolli_ofi_took(nbcolli_ofi_end *e, nbcolli_ofi_buffer *b, size_t bytes, nbcoll_arrival ***last)
{
    nbcolli_ofi_front front;
    nbcolli_ofi_name moved;

    memcpy(&front, b->wire, sizeof front);
    nbcolli_ofi_peer *p = nbcolli_ofi_sender(e, &front, bytes);
    uint32_t kind = front.rank_and_kind & 0xff;
    b->next = NULL;
    if (p && !nbcolli_ofi_is_gone(p)) {
        nbcolli_ofi_is_taken(e, p, front.taken);
        if (kind == NBCOLLI_OFI_MOVED && bytes == sizeof front + sizeof moved) {
            memcpy(&moved, b->wire + sizeof front, sizeof moved);
            nbcolli_ofi_moved(e, p, &moved);
        }
        if (kind == NBCOLLI_OFI_DOUBTS) {
            p->is_doubted = true;
            nbcolli_ofi_is_due(e, p);
        }
        if (kind == NBCOLLI_OFI_LIVES)
            nbcolli_ofi_answered(e, p);
        if (kind == NBCOLLI_OFI_TRIAL && p->rank == e->partner && bytes > sizeof front)
            e->trial_heard |= 1u << (b->wire[sizeof front] & 3);
    }
    bool is_piece = kind == NBCOLLI_OFI_MESSAGE || kind == NBCOLLI_OFI_PART;
    bool is_next = p && front.number == (uint16_t)(p->taken + 1) && (!is_piece || nbcolli_ofi_fits_in(e, p, bytes));
    if (p && !nbcolli_ofi_is_gone(p) && !is_next) /* the provider has lost one */
        nbcolli_ofi_watch_doubt(e, p, EBADMSG);
    if (!is_next || nbcolli_ofi_is_gone(p) || !is_piece) {
        nbcolli_ofi_receive(e, b);
        return;
    }
    p->untold += (uint32_t)bytes;
    bool is_first = !p->in;
    unsigned char *whole = nbcolli_ofi_join(p, b->wire, &bytes);
    if (nbcolli_ofi_is_owed(e, p))
        nbcolli_ofi_is_due(e, p);
    if (!is_first)
        nbcolli_ofi_receive(e, b);
    if (!whole)
        return;
    b = (nbcolli_ofi_buffer *)(void *)(whole - offsetof(nbcolli_ofi_buffer, wire));
    b->peer = p;
    nbcolli_ofi_fill(&b->arrival, p, whole, bytes);
    b->next = e->arrived;
    e->arrived = b;
    **last = &b->arrival;
    *last = &b->arrival.next;
}
