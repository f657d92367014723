/* SPDX-License-Identifier: BSD-3-Clause
 *
 * loopback: the transport between ranks of one process. One ring for each (sender, receiver) pair that ever talks: the
 * sender alone moves `tail`, the receiver alone moves `head`, so nothing is locked and nothing is compared-and-swapped
 * but the one insertion of a new ring into its receiver's list. A message is written straight into its place in the
 * ring, and that place is the arrival which the receiver's core reads; the receiver's next progress gives it back. Each
 * receiver has one more ring from the beginning, of a single place. Senders without memory for a ring share it, so that
 * bad news arrives also then. Rings belong to the world: they outlive the endpoints, so what was posted before a close
 * is still delivered.
 */
#include <sys/random.h>

#include "world.h"

#define NBCOLLI_LOOPBACK_PILES 8 /* a seeded delivery deals what is visible onto this many piles */
#define NBCOLLI_LOOPBACK_FLAGS                                                                                         \
    (NBCOLL_LOOPBACK_NO_BULK | NBCOLL_LOOPBACK_LEND | NBCOLL_LOOPBACK_SHARED | NBCOLL_LOOPBACK_NO_GET)
#define NBCOLLI_LOOPBACK_CHANNELS 65536
#define NBCOLLI_LOOPBACK_MAX_RANKS 1024
#define NBCOLLI_LOOPBACK_MAX_DEPTH 65536

static size_t nbcolli_loopback_end_bytes(const nbcoll_loopback *w)
{
    return sizeof(struct nbcolli_loopback_end) + (size_t)w->config.ranks * (sizeof(struct nbcolli_loopback_ring *) + 1);
}

/* splitmix64 */
static uint64_t nbcolli_loopback_random_next(uint64_t *state)
{
    return nbcolli_splitmix(*state += 0x9e3779b97f4a7c15u);
}

/* ---- rings ------------------------------------------------------------------------------------------------------- */

static size_t nbcolli_loopback_ring_bytes(const nbcoll_loopback *w, size_t depth)
{
    return sizeof(struct nbcolli_loopback_ring) + depth * w->stride;
}

static nbcoll_arrival *nbcolli_loopback_ring_place(const nbcoll_loopback *w, struct nbcolli_loopback_ring *r,
                                                   uint64_t i)
{
    return (nbcoll_arrival *)(void *)(r->places + i % r->depth * w->stride);
}

static struct nbcolli_loopback_ring *nbcolli_loopback_ring_common(const nbcoll_loopback *w, int peer)
{
    return (struct nbcolli_loopback_ring *)(void *)(w->common + (size_t)peer * nbcolli_loopback_ring_bytes(w, 1));
}

static void nbcolli_loopback_ring_init(struct nbcolli_loopback_ring *r, struct nbcolli_loopback_port *sender,
                                       size_t depth)
{
    atomic_init(&r->tail, 0);
    atomic_init(&r->head, 0);
    atomic_init(&r->hungry, 0);
    atomic_init(&r->taken_by_one, 0);
    r->sender = sender;
    r->depth = depth;
    r->refused = false;
    r->taken = 0;
    r->next = NULL;
}

/* The ring to `peer`, made and shown to its receiver at first use. Null without memory. */
static struct nbcolli_loopback_ring *nbcolli_loopback_ring_to(struct nbcolli_loopback_end *e, int peer)
{
    if (e->ring[peer])
        return e->ring[peer];
    size_t depth = e->world->config.depth;
    struct nbcolli_loopback_ring *r =
        nbcolli_alloc(e->world->config.host, nbcolli_loopback_ring_bytes(e->world, depth), NBCOLLI_LOOPBACK_LINE);
    if (!r)
        return NULL;
    struct nbcolli_loopback_port *port = &e->world->port[peer];
    nbcolli_loopback_ring_init(r, e->port, depth);
    r->next = atomic_load_explicit(&port->rings, memory_order_relaxed); /* only compared and stored */
    /* seq_cst: it publishes the initialised ring, and comes before our look at `armed` (see nbcolli_loopback_wake). */
    while (!atomic_compare_exchange_weak(&port->rings, &r->next, r))
        ;
    return e->ring[peer] = r;
}

/* Writes into a ring of which this is the only writer now; false without room. Without a header, a line. */
static bool nbcolli_loopback_ring_write(struct nbcolli_loopback_end *e, struct nbcolli_loopback_ring *r,
                                        const nbcoll_header *header, const void *payload, size_t bytes)
{
    uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed); /* only we write it */
    /* acquire: the receiver has finished reading the place before we overwrite it */
    if (tail - atomic_load_explicit(&r->head, memory_order_acquire) == r->depth)
        return false;
    nbcoll_arrival *a = nbcolli_loopback_ring_place(e->world, r, tail);
    a->source = e->base.rank;
    if (header)
        a->header = *header;
    a->payload = a + 1;
    a->bytes = header ? bytes : NBCOLLI_LOOPBACK_IS_LINE;
    if (bytes)
        memcpy(a + 1, payload, bytes);
    atomic_store(&r->tail, tail + 1); /* releases the message to the receiver; seq_cst for nbcolli_loopback_wake */
    return true;
}

/* The same with the shared ring, if no other sender is writing there. */
static bool nbcolli_loopback_common_write(struct nbcolli_loopback_end *e, int peer, const nbcoll_header *header,
                                          const void *payload, size_t bytes)
{
    struct nbcolli_loopback_ring *r = nbcolli_loopback_ring_common(e->world, peer);
    if (atomic_exchange_explicit(&r->taken_by_one, 1, memory_order_acquire)) /* sees what the last writer did */
        return false;
    bool written = nbcolli_loopback_ring_write(e, r, header, payload, bytes);
    atomic_store_explicit(&r->taken_by_one, 0, memory_order_release); /* shows it to the next */
    return written;
}

nbcoll_posted nbcolli_loopback_write(struct nbcolli_loopback_end *e, int peer, const nbcoll_header *header,
                                     const void *payload, size_t bytes)
{
    struct nbcolli_loopback_port *port = &e->world->port[peer];
    struct nbcolli_loopback_ring *r = nbcolli_loopback_ring_to(e, peer);
    if (r ? nbcolli_loopback_ring_write(e, r, header, payload, bytes)
          : nbcolli_loopback_common_write(e, peer, header, payload, bytes)) {
        nbcolli_loopback_wake(port);
        return NBCOLL_POST_DONE;
    }
    if (atomic_load_explicit(&port->state, memory_order_relaxed) >= NBCOLLI_LOOPBACK_LEFT) /* orders nothing */
        return NBCOLL_POST_DONE;
    if (r) {
        e->refusals += !r->refused;
        r->refused = true;
    } else
        e->ringless = true;
    return NBCOLL_POST_NOT_NOW;
}

/* ---- work requests in flight ------------------------------------------------------------------------------------- */

nbcoll_posted nbcolli_loopback_defer(struct nbcolli_loopback_end *e, struct nbcolli_loopback_order order,
                                     nbcoll_work *work)
{
    nbcolli_loopback_order_set(work, order);
    nbcolli_works_append(&e->deferred, work);
    e->untried = true;
    return NBCOLL_POST_IN_FLIGHT;
}

static nbcoll_posted nbcolli_loopback_carry_out(struct nbcolli_loopback_end *e, nbcoll_work *work)
{
    struct nbcolli_loopback_order o = nbcolli_loopback_order_of(work);

    if (o.what == NBCOLLI_LOOPBACK_GET || o.what == NBCOLLI_LOOPBACK_PUT)
        return nbcolli_loopback_copy(e, work);
    return nbcolli_loopback_write(e, (int)o.peer, o.header, o.from, o.bytes);
}

/* Carries out deferred work. A message without room stays deferred, and so does the rest of a get or put, behind those
 * that had no turn. */
static void nbcolli_loopback_carry_out_deferred(struct nbcolli_loopback_end *e)
{
    nbcoll_work *work = e->deferred.first;
    struct nbcolli_works begun;
    nbcolli_works_clear(&e->deferred);
    nbcolli_works_clear(&begun);
    e->untried = false;
    e->copied = 0;
    for (nbcoll_work *next; work; work = next) {
        next = work->next;
        unsigned what = nbcolli_loopback_order_of(work).what;
        int is_copy = what == NBCOLLI_LOOPBACK_GET || what == NBCOLLI_LOOPBACK_PUT;
        size_t before = e->copied;
        nbcoll_posted posted = nbcolli_loopback_carry_out(e, work);
        work->status = posted == NBCOLL_POST_DONE ? NBCOLL_OK : NBCOLL_ERR_TRANSPORT;
        nbcolli_works_append(posted != NBCOLL_POST_NOT_NOW    ? &e->finished
                                        : is_copy && e->copied != before ? &begun
                                                                         : &e->deferred,
                                        work);
        e->untried |= posted == NBCOLL_POST_NOT_NOW && is_copy;
    }
    nbcolli_works_join(&e->deferred, &begun);
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

static nbcoll_posted nbcolli_loopback_post(nbcoll_endpoint *ep, int peer, const nbcoll_header *header,
                                           const void *payload, size_t bytes, nbcoll_work *work)
{
    struct nbcolli_loopback_end *e = nbcolli_loopback_end_of(ep);
    if (peer < 0 || peer >= ep->ranks || bytes > ep->limits.payload)
        return NBCOLL_POST_FAILED;
    if (e->world->config.flags & NBCOLL_LOOPBACK_LEND)
        return nbcolli_loopback_defer(
            e, (struct nbcolli_loopback_order){NBCOLLI_LOOPBACK_POST, (uint32_t)peer, header, payload, NULL, bytes},
            work);
    return nbcolli_loopback_write(e, peer, header, payload, bytes);
}

static nbcoll_posted nbcolli_loopback_post_line(nbcoll_endpoint *ep, int peer, uint32_t channel, uint64_t turn,
                                                const void *payload, size_t bytes)
{
    struct nbcolli_loopback_line line;
    if (peer < 0 || peer >= ep->ranks || channel >= ep->limits.channels || bytes > sizeof line.payload)
        return NBCOLL_POST_FAILED;
    line.arrival = (nbcoll_line_arrival){NULL, ep->rank, channel, (uint32_t)bytes, turn, NULL};
    if (bytes)
        memcpy(line.payload, payload, bytes);
    return nbcolli_loopback_write(nbcolli_loopback_end_of(ep), peer, NULL, &line, sizeof line.arrival + bytes);
}

/* Gives back the places that were handed out. seq_cst on both sides: either we see that the sender sleeps until there
 * is room, or its second look sees the room. The exchange lets one wake-up suffice. */
static void nbcolli_loopback_give_back(struct nbcolli_loopback_ring *r)
{
    atomic_store(&r->head, r->taken); /* our core's reads of the arrivals come before their being overwritten */
    if (nbcolli_wakeup_take(&r->hungry))
        nbcolli_loopback_wake(r->sender);
}

/* The list of arrived lines: it grows at its end or, since lines may overtake each other, at its beginning. */
struct nbcolli_loopback_lines {
    nbcoll_line_arrival *first, **end;
};

static void nbcolli_loopback_deliver_line(struct nbcolli_loopback_lines *lines, nbcoll_arrival *a, bool overtakes)
{
    struct nbcolli_loopback_line *line = (struct nbcolli_loopback_line *)(void *)(a + 1);
    nbcoll_line_arrival **at = overtakes ? &lines->first : lines->end;
    line->arrival.payload = line->payload;
    line->arrival.next = *at;
    *at = &line->arrival;
    if (at == lines->end)
        lines->end = &line->arrival.next;
}

/* Deals all visible arrivals onto piles, and stacks these; without a seed there is one pile, in order. */
static nbcoll_arrival *nbcolli_loopback_deliver(struct nbcolli_loopback_end *e, nbcoll_line_arrival **found)
{
    const nbcoll_loopback *w = e->world;
    struct nbcolli_loopback_lines lines = {NULL, &lines.first};
    nbcoll_arrival *pile[NBCOLLI_LOOPBACK_PILES] = {NULL}, **end[NBCOLLI_LOOPBACK_PILES], *all = NULL;
    for (int i = 0; i < NBCOLLI_LOOPBACK_PILES; i++)
        end[i] = &pile[i];
    /* acquire: the rings themselves */
    for (struct nbcolli_loopback_ring *r = atomic_load_explicit(&e->port->rings, memory_order_acquire); r;
         r = r->next) {
        if (atomic_load_explicit(&r->head, memory_order_relaxed) != r->taken) /* only we write it */
            nbcolli_loopback_give_back(r);
        uint64_t tail = atomic_load_explicit(&r->tail, memory_order_acquire); /* the messages themselves */
        for (; r->taken != tail; r->taken++) {
            nbcoll_arrival *a = nbcolli_loopback_ring_place(w, r, r->taken);
            unsigned i =
                w->config.seed ? (unsigned)(nbcolli_loopback_random_next(&e->random) % NBCOLLI_LOOPBACK_PILES) : 0;
            if (a->bytes == NBCOLLI_LOOPBACK_IS_LINE) {
                nbcolli_loopback_deliver_line(&lines, a, i % 2);
                continue;
            }
            *end[i] = a;
            end[i] = &a->next;
        }
    }
    for (int i = 0; i < NBCOLLI_LOOPBACK_PILES; i++) {
        *end[i] = all;
        all = pile[i] ? pile[i] : all;
    }
    *found = lines.first;
    return all;
}

/* With a seed the next arrival is unknown. */
static int32_t nbcolli_loopback_take_line(nbcoll_endpoint *ep, int peer, uint32_t channel, uint64_t turn, void *to,
                                          size_t bytes)
{
    struct nbcolli_loopback_end *e = nbcolli_loopback_end_of(ep);
    const nbcoll_loopback *w = e->world;
    /* acquire, here and below: the rings themselves, and what is in them */
    struct nbcolli_loopback_ring *r = atomic_load_explicit(&e->port->rings, memory_order_acquire);

    if ((unsigned)peer >= (unsigned)ep->ranks || w->config.seed)
        return -2;
    while (r && r->sender != &w->port[peer])
        r = r->next;
    if (!r || atomic_load_explicit(&r->tail, memory_order_acquire) == r->taken)
        return -1;
    const nbcoll_arrival *a = nbcolli_loopback_ring_place(w, r, r->taken);
    const struct nbcolli_loopback_line *line = (const struct nbcolli_loopback_line *)(const void *)(a + 1);
    if (a->bytes != NBCOLLI_LOOPBACK_IS_LINE || line->arrival.channel != channel || line->arrival.bytes != bytes ||
        (line->arrival.turn ^ turn) << 16)
        return -2;
    if (bytes)
        memcpy(to, line->payload, bytes);
    int32_t high = (int32_t)(line->arrival.turn >> 48);
    r->taken++;
    nbcolli_loopback_give_back(r);
    return high;
}

/* A rank that has left and is not reported yet, or -1. */
static int nbcolli_loopback_next_left(struct nbcolli_loopback_end *e)
{
    for (int i = 0; i < e->base.ranks; i++)
        /* acquire: what it had posted before */
        if (!e->has_departed[i] &&
            atomic_load_explicit(&e->world->port[i].state, memory_order_acquire) >= NBCOLLI_LOOPBACK_LEFT) {
            e->has_departed[i] = 1;
            e->departed++;
            return i;
        }
    return -1;
}

/* The core tries refused posts again, or gives them up. */
static void nbcolli_loopback_forget_refusals(struct nbcolli_loopback_end *e)
{
    for (int i = 0; i < e->base.ranks; i++)
        if (e->ring[i])
            e->ring[i]->refused = false;
    e->refusals = 0;
}

static void nbcolli_loopback_progress(nbcoll_endpoint *ep, nbcoll_completions *found)
{
    struct nbcolli_loopback_end *e = nbcolli_loopback_end_of(ep);
    if (atomic_load_explicit(&e->world->departed, memory_order_relaxed) != e->departed) /* the states tell which */
        found->departed = nbcolli_loopback_next_left(e); /* before we look at its posts: deliver takes all */
    if (found->departed >= 0 && e->world->port[found->departed].is_abandoned) {
        found->lost = found->departed;
        found->departed = -1;
    }
    if (nbcolli_wakeup_is_armed(&e->sleeper))
        nbcolli_wakeup_disarm(&e->sleeper, &e->port->armed, e->port->fd, nbcolli_bell_hush);
    if (e->refusals)
        nbcolli_loopback_forget_refusals(e);
    e->ringless = false;
    nbcolli_loopback_carry_out_deferred(e);
    found->completed = e->finished.first;
    nbcolli_works_clear(&e->finished);
    found->arrived = nbcolli_loopback_deliver(e, &found->lines);
}

static void nbcolli_loopback_cancel(nbcoll_endpoint *ep, nbcoll_work *work)
{
    struct nbcolli_loopback_end *e = nbcolli_loopback_end_of(ep);
    nbcolli_works_cancel(&e->deferred, work, &e->finished); /* unless it was cancelled before */
}

static void nbcolli_loopback_close(nbcoll_endpoint *ep)
{
    struct nbcolli_loopback_end *e = nbcolli_loopback_end_of(ep);
    nbcoll_loopback *w = e->world;
    struct nbcolli_loopback_port *port = e->port;
    int rank = ep->rank;
    atomic_store(&port->armed, 0);
    if (e->watched >= 0)
        close(e->watched);
    nbcolli_free(w->config.host, e, nbcolli_loopback_end_bytes(w));
    atomic_store_explicit(&port->state, NBCOLLI_LOOPBACK_LEFT, memory_order_release); /* behind all that we posted */
    if (w->config.pairs)
        w->config.pairs->miss(w, rank);
    atomic_fetch_add(&w->departed, 1); /* seq_cst for nbcolli_loopback_wake */
    for (int i = 0; i < w->config.ranks; i++)
        nbcolli_loopback_wake(&w->port[i]);
    /* release: all we did comes before the world is freed */
    atomic_store_explicit(&port->state, NBCOLLI_LOOPBACK_CLOSED, memory_order_release);
}

static void nbcolli_loopback_abandon(nbcoll_endpoint *ep)
{
    nbcolli_loopback_end_of(ep)->port->is_abandoned = true;
    nbcolli_loopback_close(ep);
}

static void nbcolli_loopback_reason(nbcoll_endpoint *ep, int peer, nbcoll_transport_error *out)
{
    out->code = 0;
    out->text = nbcolli_loopback_end_of(ep)->world->port[peer].is_abandoned ? "the rank was abandoned"
                                                                            : "a key names no memory";
}

/* ---- sleeping ---------------------------------------------------------------------------------------------------- */

static int nbcolli_loopback_fd(nbcoll_endpoint *ep)
{
    return nbcolli_loopback_end_of(ep)->port->fd;
}

/* Also true for a ring full of arrivals that our core may still read: its sender cannot post, and so not wake us,
 * before the next progress. The seq_cst loads are the second look that nbcolli_loopback_wake relies on. */
static bool nbcolli_loopback_something_waits(struct nbcolli_loopback_end *e)
{
    for (struct nbcolli_loopback_ring *r = atomic_load(&e->port->rings); r; r = r->next) {
        uint64_t tail = atomic_load(&r->tail);
        uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed); /* only we write it */
        if (tail != r->taken || tail - head == e->world->config.depth)
            return true;
    }
    return e->untried || e->finished.first || atomic_load(&e->world->departed) != e->departed;
}

/* Asks to be woken wherever there was no room. True if there is some: the second look that give_back relies on. */
static bool nbcolli_loopback_has_room(struct nbcolli_loopback_end *e)
{
    bool room = false;
    for (int i = 0; e->refusals && i < e->base.ranks; i++) {
        struct nbcolli_loopback_ring *r = e->ring[i];
        if (!r || !r->refused)
            continue;
        atomic_store(&r->hungry, 1);
        uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed); /* only we write it */
        room |= tail - atomic_load(&r->head) != e->world->config.depth;
    }
    return room;
}

static nbcoll_status nbcolli_loopback_arm(nbcoll_endpoint *ep)
{
    struct nbcolli_loopback_end *e = nbcolli_loopback_end_of(ep);
    nbcolli_wakeup_arm(&e->sleeper, &e->port->armed);
    if (!nbcolli_loopback_something_waits(e) && !nbcolli_loopback_has_room(e) &&
        !e->ringless) /* a sender that shares a ring is not woken */
        return NBCOLL_OK;
    nbcolli_wakeup_disarm(&e->sleeper, &e->port->armed, e->port->fd, nbcolli_bell_hush);
    return NBCOLL_AGAIN;
}

static void nbcolli_loopback_identify(nbcoll_endpoint *ep, uint64_t out[2])
{
    memcpy(out, nbcolli_loopback_end_of(ep)->world->identity, 2 * sizeof *out);
}

static const nbcoll_wakeup nbcolli_loopback_wakeup = {sizeof nbcolli_loopback_wakeup, nbcolli_loopback_fd,
                                                      nbcolli_loopback_arm};
static const nbcoll_lines nbcolli_loopback_lines = {sizeof nbcolli_loopback_lines, nbcolli_loopback_post_line,
                                                    nbcolli_loopback_take_line, 0};

/* A world's first message to a rank takes memory for a ring, so post is not promised to be safe in a signal handler. */
static nbcoll_transport nbcolli_loopback_table(const nbcoll_loopback_config *c)
{
    int has_bulk = !(c->flags & NBCOLL_LOOPBACK_NO_BULK), is_shared = has_bulk && c->flags & NBCOLL_LOOPBACK_SHARED;
    int has_get = is_shared || !(c->flags & NBCOLL_LOOPBACK_NO_GET);
    return (nbcoll_transport){.abi = NBCOLL_ABI,
                              .size = sizeof(nbcoll_transport),
                              .name = "loopback",
                              .post = nbcolli_loopback_post,
                              .progress = nbcolli_loopback_progress,
                              .cancel = nbcolli_loopback_cancel,
                              .close = nbcolli_loopback_close,
                              .bulk = !has_bulk ? NULL
                                      : has_get ? &nbcolli_loopback_bulk
                                                : &nbcolli_loopback_bulk_puts,
                              .wakeup = &nbcolli_loopback_wakeup,
                              .shared = is_shared ? &nbcolli_loopback_shared : NULL,
                              .abandon = nbcolli_loopback_abandon,
                              .give_up = nbcolli_loopback_give_up,
                              .lines = &nbcolli_loopback_lines,
                              .reason = nbcolli_loopback_reason,
                              .identify = nbcolli_loopback_identify,
                              .offload = c->pairs ? c->pairs->offload : NULL,
                              .signal_safe = NBCOLL_SAFE_PROGRESS | NBCOLL_SAFE_CANCEL | NBCOLL_SAFE_WAKE};
}

/* ---- the world --------------------------------------------------------------------------------------------------- */

static size_t nbcolli_loopback_bytes(int ranks, size_t stride)
{
    size_t n = (size_t)ranks;
    return sizeof(nbcoll_loopback) +
           n * (sizeof(struct nbcolli_loopback_port) + sizeof(struct nbcolli_loopback_ring) + stride) + n * n;
}

nbcoll_status nbcoll_loopback_create(const nbcoll_loopback_config *config, nbcoll_loopback **out)
{
    nbcoll_loopback_config c = {0};
    nbcoll_host memory = {0};
    if (!config || !out)
        return NBCOLL_ERR_NULL;
    nbcoll_status status = nbcolli_copy_tagged(&c, config, sizeof c);
    if (status == NBCOLL_OK && c.host)
        status = nbcolli_copy_tagged(&memory, c.host, sizeof memory);
    if (status != NBCOLL_OK)
        return status;
    c.depth = c.depth ? c.depth : 16;
    c.payload = c.payload ? c.payload : 4096;
    if (c.ranks < 1 || c.ranks > NBCOLLI_LOOPBACK_MAX_RANKS || c.depth > NBCOLLI_LOOPBACK_MAX_DEPTH ||
        c.payload < 256 || c.payload > 65536 || c.flags & ~NBCOLLI_LOOPBACK_FLAGS)
        return NBCOLL_ERR_CONFIG;
    size_t stride = (sizeof(nbcoll_arrival) + c.payload + NBCOLLI_LOOPBACK_LINE - 1) / NBCOLLI_LOOPBACK_LINE *
                    NBCOLLI_LOOPBACK_LINE;
    nbcoll_loopback *w = nbcolli_alloc(&memory, nbcolli_loopback_bytes(c.ranks, stride), NBCOLLI_LOOPBACK_LINE);
    if (!w)
        return NBCOLL_ERR_MEMORY;
    if (getrandom(w->identity, sizeof w->identity, GRND_NONBLOCK) != (ssize_t)sizeof w->identity) {
        w->identity[0] = (uintptr_t)w; /* unique in this process */
        w->identity[1] = (uint64_t)getpid();
    }
    w->config = c;
    w->table = nbcolli_loopback_table(&c);
    atomic_init(&w->pairs_locked, 0);
    w->memory = memory;
    w->config.host = &w->memory;
    atomic_init(&w->departed, 0);
    w->stride = stride;
    w->common = (unsigned char *)&w->port[c.ranks];
    for (int i = 0; i < c.ranks; i++) {
        nbcolli_loopback_ring_init(nbcolli_loopback_ring_common(w, i), NULL, 1);
        atomic_init(&w->port[i].rings, nbcolli_loopback_ring_common(w, i));
        w->port[i].areas = NULL;
        w->port[i].pairs = NULL;
        w->port[i].is_abandoned = false;
        atomic_init(&w->port[i].state, NBCOLLI_LOOPBACK_UNOPENED);
        atomic_init(&w->port[i].armed, 0);
        w->port[i].fd = -1;
    }
    w->between =
        (_Atomic unsigned char *)(w->common + (size_t)c.ranks * (sizeof(struct nbcolli_loopback_ring) + stride));
    for (int i = 0; i < c.ranks * c.ranks; i++)
        atomic_init(&w->between[i], 0);
    *out = w;
    return NBCOLL_OK;
}

nbcoll_status nbcoll_loopback_open(nbcoll_loopback *w, int rank, nbcoll_endpoint **out)
{
    if (!w || !out)
        return NBCOLL_ERR_NULL;
    if (rank < 0 || rank >= w->config.ranks)
        return NBCOLL_ERR_RANK;
    struct nbcolli_loopback_port *port = &w->port[rank];
    int unopened = NBCOLLI_LOOPBACK_UNOPENED;
    if (!atomic_compare_exchange_strong(&port->state, &unopened, NBCOLLI_LOOPBACK_OPEN))
        return NBCOLL_ERR_BUSY;
    struct nbcolli_loopback_end *e =
        nbcolli_alloc(w->config.host, nbcolli_loopback_end_bytes(w), NBCOLLI_LOOPBACK_LINE);
    port->fd = e ? nbcolli_bell_open() : -1;
    if (port->fd < 0) {
        nbcoll_status status = e ? NBCOLL_ERR_TRANSPORT : NBCOLL_ERR_MEMORY;
        nbcolli_free(w->config.host, e, nbcolli_loopback_end_bytes(w));
        atomic_store(&port->state, NBCOLLI_LOOPBACK_UNOPENED);
        return status;
    }
    memset(e, 0, nbcolli_loopback_end_bytes(w));
    e->base = (nbcoll_endpoint){
        .transport = &w->table,
        .rank = rank,
        .ranks = w->config.ranks,
        .limits = {.size = sizeof(nbcoll_limits),
                   .payload = w->config.payload,
                   .price = {.alpha_ns = 300, .beta_ps = 150, .overhead_ns = 100},
                   .key_bytes = NBCOLLI_LOOPBACK_KEY_BYTES,
                   .channels = NBCOLLI_LOOPBACK_CHANNELS},
    };
    e->world = w;
    e->port = port;
    e->watched = -1;
    e->has_departed = (unsigned char *)(e->ring + w->config.ranks);
    e->random = w->config.seed + (uint64_t)rank * 0xd1342543de82ef95u; /* each rank its own sequence */
    nbcolli_works_clear(&e->deferred);
    nbcolli_works_clear(&e->finished);
    *out = &e->base;
    return NBCOLL_OK;
}

nbcoll_status nbcoll_loopback_free(nbcoll_loopback *w)
{
    if (!w)
        return NBCOLL_OK;
    for (int i = 0; i < w->config.ranks; i++) {
        int state = atomic_load_explicit(&w->port[i].state, memory_order_acquire);
        if (state == NBCOLLI_LOOPBACK_OPEN || state == NBCOLLI_LOOPBACK_LEFT)
            return NBCOLL_ERR_BUSY;
    }
    nbcoll_host memory = w->memory;
    for (int i = 0; i < w->config.ranks; i++) {
        for (struct nbcolli_loopback_ring *r = atomic_load(&w->port[i].rings), *next; r; r = next) {
            next = r->next;
            if (r->sender)
                nbcolli_free(&memory, r, nbcolli_loopback_ring_bytes(w, r->depth));
        }
        nbcolli_loopback_areas_free(w, i);
        if (w->config.pairs)
            w->config.pairs->free(w, i);
        if (w->port[i].fd >= 0)
            close(w->port[i].fd);
    }
    nbcolli_free(&memory, w, nbcolli_loopback_bytes(w->config.ranks, w->stride));
    return NBCOLL_OK;
}
