/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rings of lines, one for each sender and receiver, which carry lines and messages in the order of their posts. Entry n
 * is one cache line whose last word is its flag: it holds the lap of the ring, which the receiver of entry n knows, so
 * an entry of the last lap is not mistaken for it. One store of that word publishes the entry; the payload of a message
 * lies in an area beside the ring. `head` says which entries may be written again: the receiver moves it each time when
 * it is done with another quarter, and the sender looks at it when its last look showed no room.
 *
 * A rank with more than a few possible senders does not look at all of their rings: each sender also stores, into a
 * byte of its own in a row of the receiver's, how many entries it has put. That differs from how many were taken when
 * there are some, and only then. Only the rings of the last few senders are looked at directly.
 *
 * No rank trusts what another writes: it reads a word, a length or a head once, and an impossible one makes its writer
 * lost. Of an arrival only the payload stays in the segment, where the core reads it; the next progress gives it
 * back. */
#include "shm.h"

static unsigned char *nbcolli_shm_area(const struct nbcolli_shm_end *e, struct nbcolli_shm_ring *r, uint64_t n)
{
    const struct nbcolli_shm_layout *l = &e->home->layout;
    return (unsigned char *)&r->line[e->depth] + (n & (l->areas - 1)) * l->stride;
}

/* To the next entry, whose number it returns. */
static inline uint64_t nbcolli_shm_advance(const struct nbcolli_shm_end *e, struct nbcolli_shm_cursor *c,
                                           struct nbcolli_shm_ring *r)
{
    uint64_t n = ++c->n;

    c->line++;
    if (!(n & e->last)) {
        c->line = r->line;
        c->lap = (c->lap + (UINT64_C(1) << NBCOLLI_SHM_LAP_SHIFT)) | NBCOLLI_SHM_LAPS;
    }
    return n;
}

void nbcolli_shm_rings(struct nbcolli_shm_end *e)
{
    const struct nbcolli_shm_home *h = e->home;
    int me = e->base.rank;
    bool rows = h->layout.rows_used;

    e->peers = e->peer;
    e->depth = h->layout.depth;
    e->last = e->depth - 1;
    e->quarter = h->layout.areas < 4 ? 1 : h->layout.areas / 4;
    e->row = rows ? nbcolli_shm_row(h, me) : NULL;
    for (int peer = 0; peer < e->base.ranks; peer++) {
        struct nbcolli_shm_peer *p = &e->peer[peer];
        p->out = nbcolli_shm_ring(h, me, peer);
        p->in = nbcolli_shm_ring(h, peer, me);
        p->to = (struct nbcolli_shm_cursor){p->out->line, NBCOLLI_SHM_LAPS, 0};
        p->from = (struct nbcolli_shm_cursor){p->in->line, NBCOLLI_SHM_LAPS, 0};
        p->room = e->depth;
        p->armed = &nbcolli_shm_seat(h, peer)->armed;
        p->told = rows ? (_Atomic uint8_t *)nbcolli_shm_row(h, peer) + me : NULL;
        if (!rows)
            e->poll[e->polls++] = (uint8_t)peer;
    }
}

/* ---- posts ----------------------------------------------------------------------------------------------------- */

/* Up to 48 bytes in at most three moves, which may overlap: calling memcpy costs as much as the rest of a post. */
static inline void nbcolli_shm_copy_line(unsigned char *to, const unsigned char *from, size_t bytes)
{
    if (__builtin_expect(bytes == 8, 1))
        memcpy(to, from, 8);
    else if (bytes >= 16) {
        memcpy(to, from, 16);
        if (bytes > 32)
            memcpy(to + 16, from + 16, 16);
        memcpy(to + bytes - 16, from + bytes - 16, 16);
    } else if (bytes >= 8) {
        memcpy(to, from, 8);
        memcpy(to + bytes - 8, from + bytes - 8, 8);
    } else if (bytes >= 4) {
        memcpy(to, from, 4);
        memcpy(to + bytes - 4, from + bytes - 4, 4);
    } else if (bytes) {
        to[0] = from[0];
        to[bytes / 2] = from[bytes / 2];
        to[bytes - 1] = from[bytes - 1];
    }
}

/* Is there room for another entry, when at most `most` may be under way? Looks; if there is none, *why is the post's
 * answer. */
static bool nbcolli_shm_finds_room(struct nbcolli_shm_end *e, int peer, uint32_t most, nbcoll_posted *why)
{
    struct nbcolli_shm_peer *p = &e->peer[peer];

    *why = p->gone == NBCOLLI_SHM_AWAY ? NBCOLL_POST_DONE : NBCOLL_POST_LOST;
    if (p->gone != NBCOLLI_SHM_HERE)
        return false;
    uint64_t head = atomic_load_explicit(&p->out->head, memory_order_acquire); /* acquire: earlier entries are read */
    if (head - p->done > p->to.n - p->done) {
        nbcolli_shm_distrust(e, peer);
        return false;
    }
    p->done = head;
    p->room = e->depth - (uint32_t)(p->to.n - head);
    if (p->to.n - head < most)
        return true;
    /* relaxed: nobody takes from a ring whose receiver has left */
    *why = NBCOLL_POST_DONE;
    if (atomic_load_explicit(&nbcolli_shm_seat(e->home, peer)->state, memory_order_relaxed) == NBCOLLI_SHM_LEFT)
        return false;
    *why = NBCOLL_POST_NOT_NOW;
    e->refusals += !p->refused;
    p->refused = p->refused > most ? p->refused : most;
    return false;
}

static nbcoll_posted nbcolli_shm_post_and_wake(struct nbcolli_shm_end *e, struct nbcolli_shm_peer *p)
{
    nbcolli_shm_wake(e, (int)(p - e->peer));
    return NBCOLL_POST_DONE;
}

#define NBCOLLI_SHM_AHEAD 4 /* entries: the next one is the one that the receiver polls */

/* Of several entries in a row each store would wait until the receiver's core, which has read the line, gives it up: so
 * this core asks for lines ahead of their entries. Behind the last entry that is a line of an area, and harmless. */
static inline void nbcolli_shm_prefetch(const struct nbcolli_shm_line *line)
{
#ifdef __x86_64__ /* of the builtin, compilers may make a prefetch for reading: not every processor has this one */
    __asm__ volatile("prefetchw %0" : : "m"(line[NBCOLLI_SHM_AHEAD]));
#else
    __builtin_prefetch(line + NBCOLLI_SHM_AHEAD, 1);
#endif
}

/* Publishes the next entry, which is complete but for its word. */
static inline nbcoll_posted nbcolli_shm_publish(struct nbcolli_shm_end *e, struct nbcolli_shm_peer *p,
                                                struct nbcolli_shm_line *line, uint64_t word)
{
    nbcolli_wakeup_publish(&line->word, word, e->sleepers_pay); /* with the entry */
    nbcolli_shm_prefetch(line);
    p->room--;
    uint64_t n = nbcolli_shm_advance(e, &p->to, p->out);
    if (p->told) /* release: who sees it finds the entry */
        atomic_store_explicit(p->told, (uint8_t)n, memory_order_release);
    return atomic_load(p->armed) ? nbcolli_shm_post_and_wake(e, p) : NBCOLL_POST_DONE;
}

/* Writes an entry with a payload in its area. */
NBCOLLI_ALWAYS_INLINE nbcoll_posted nbcolli_shm_put_entry(struct nbcolli_shm_end *e, int peer, const void *head,
                                                          size_t head_bytes, uint64_t turn, uint64_t what,
                                                          const void *payload, size_t bytes)
{
    struct nbcolli_shm_peer *p = &e->peer[peer];
    uint32_t most = bytes ? e->home->layout.areas : e->depth;
    nbcoll_posted why;

    if (p->room <= e->depth - most && !nbcolli_shm_finds_room(e, peer, most, &why))
        return why;
    struct nbcolli_shm_line *line = p->to.line;
    nbcolli_shm_copy_line(line->payload, head, head_bytes);
    atomic_store_explicit(&line->turn, turn, memory_order_relaxed); /* published by the word */
    if (bytes)
        memcpy(nbcolli_shm_area(e, p->out, p->to.n), payload, bytes);
    return nbcolli_shm_publish(e, p, line, p->to.lap | what);
}

nbcoll_posted nbcolli_shm_put(struct nbcolli_shm_end *e, int peer, const nbcoll_header *header, const void *payload,
                              size_t bytes)
{
    return nbcolli_shm_put_entry(e, peer, header, sizeof *header, bytes, NBCOLLI_SHM_MESSAGE, payload, bytes);
}

/* Posts after a look for room. A function of its own, since it makes the compiler save registers. */
static __attribute__((noinline)) nbcoll_posted nbcolli_shm_line_retry(struct nbcolli_shm_end *e, int peer,
                                                                      uint32_t channel, uint64_t turn,
                                                                      const void *payload, uint64_t bytes)
{
    uint64_t what = bytes << NBCOLLI_SHM_BYTES_SHIFT | channel;
    return nbcolli_shm_put_entry(e, peer, payload, bytes, turn, what, NULL, 0);
}

/* Posts a line that does not fit a cache line, or refuses an impossible one. */
static __attribute__((noinline)) nbcoll_posted nbcolli_shm_long_post(struct nbcolli_shm_end *e, int peer,
                                                                     uint32_t channel, uint64_t turn,
                                                                     const void *payload, uint64_t bytes)
{
    uint64_t what = (uint64_t)NBCOLLI_SHM_LONG << NBCOLLI_SHM_BYTES_SHIFT | channel;

    if ((unsigned)peer >= (unsigned)e->base.ranks || channel >= NBCOLLI_SHM_CHANNELS || bytes > e->home->layout.payload)
        return NBCOLL_POST_FAILED;
    return nbcolli_shm_put_entry(e, peer, &bytes, sizeof bytes, turn, what, payload, bytes);
}

static nbcoll_posted nbcolli_shm_line_post(nbcoll_endpoint *ep, int peer, uint32_t channel, uint64_t turn,
                                           const void *payload, size_t bytes)
{
    struct nbcolli_shm_end *e = nbcolli_shm_end(ep);

    if ((unsigned)peer >= (unsigned)ep->ranks || channel >= NBCOLLI_SHM_CHANNELS || bytes > NBCOLL_LINE_PAYLOAD)
        return nbcolli_shm_long_post(e, peer, channel, turn, payload, bytes);
    struct nbcolli_shm_peer *p = &e->peers[peer];
    if (!p->room)
        return nbcolli_shm_line_retry(e, peer, channel, turn, payload, bytes);
    struct nbcolli_shm_line *line = p->to.line;
    uint64_t word = p->to.lap | (uint64_t)bytes << NBCOLLI_SHM_BYTES_SHIFT | channel;
    nbcolli_shm_copy_line(line->payload, payload, bytes);
    atomic_store_explicit(&line->turn, turn, memory_order_relaxed); /* published by the word */
    return nbcolli_shm_publish(e, p, line, word);
}

/* ---- arrivals -------------------------------------------------------------------------------------------------- */

/* The word of this sender's next entry, or 0 while that has not come. */
static inline uint64_t nbcolli_shm_next(const struct nbcolli_shm_peer *p, memory_order order)
{
    uint64_t word = atomic_load_explicit(&p->from.line->word, order);
    return (word ^ p->from.lap) >> NBCOLLI_SHM_LAP_SHIFT ? 0 : word;
}

/* False: impossible as a message. */
static bool nbcolli_shm_take_message(struct nbcolli_shm_end *e, int peer)
{
    struct nbcolli_shm_peer *p = &e->peer[peer];
    struct nbcolli_shm_line *line = p->from.line;
    uint64_t bytes = atomic_load_explicit(&line->turn, memory_order_relaxed); /* once: it is not trusted */
    nbcoll_arrival *a = &e->arrival[e->arrivals];

    if (bytes > e->home->layout.payload)
        return false;
    a->next = a + 1;
    a->source = peer;
    memcpy(&a->header, line->payload, sizeof a->header);
    a->payload = nbcolli_shm_area(e, p->in, p->from.n);
    a->bytes = (size_t)bytes;
    e->arrivals++;
    e->bytes_left -= (ptrdiff_t)bytes;
    return true;
}

/* The bytes of a line whose payload lies in its area: read once, since they are not trusted. */
#define NBCOLLI_SHM_LONG_BYTES(line) (*(const volatile uint64_t *)(const void *)(line)->payload)

static inline bool nbcolli_shm_take_line(struct nbcolli_shm_end *e, int peer, uint64_t word)
{
    struct nbcolli_shm_line *line = e->peer[peer].from.line;
    uint32_t channel = (uint32_t)word, bytes = word >> NBCOLLI_SHM_BYTES_SHIFT & 0xff;
    nbcoll_line_arrival *a = &e->line[e->lines];

    bool is_long = bytes == NBCOLLI_SHM_LONG;
    uint64_t whole = is_long ? NBCOLLI_SHM_LONG_BYTES(line) : bytes;

    if (channel >= NBCOLLI_SHM_CHANNELS || whole > (is_long ? e->home->layout.payload : NBCOLL_LINE_PAYLOAD))
        return false;
    e->bytes_left -= is_long ? (ptrdiff_t)whole : 0;
    const void *payload = is_long ? nbcolli_shm_area(e, e->peer[peer].in, e->peer[peer].from.n) : line->payload;
    uint64_t turn = atomic_load_explicit(&line->turn, memory_order_relaxed);
    *a = (nbcoll_line_arrival){a + 1, peer, channel, (uint32_t)whole, turn, payload};
    e->lines++;
    return true;
}

/* Another quarter of this sender's ring is handed out: the next give_back tells the sender. */
static void nbcolli_shm_quarter_is_over(struct nbcolli_shm_end *e, int peer)
{
    if (!e->peer[peer].is_due)
        e->due[e->dues++] = (uint8_t)peer;
    e->peer[peer].is_due = true;
}

/* Hands out one sender's entries, while this progress may bring more. */
static void nbcolli_shm_take(struct nbcolli_shm_end *e, int peer)
{
    struct nbcolli_shm_peer *p = &e->peer[peer];
    uint64_t word;

    if (p->gone != NBCOLLI_SHM_HERE)
        return;
    while (e->arrivals < NBCOLLI_SHM_ARRIVALS && e->lines < NBCOLLI_SHM_ARRIVALS && e->bytes_left > 0 &&
           (word = nbcolli_shm_next(p, memory_order_acquire)) != 0) { /* acquire: the entry */
        if (!((uint32_t)word == NBCOLLI_SHM_MESSAGE ? nbcolli_shm_take_message(e, peer)
                                                    : nbcolli_shm_take_line(e, peer, word))) {
            nbcolli_shm_distrust(e, peer);
            return;
        }
        if (!(nbcolli_shm_advance(e, &p->from, p->in) & (e->quarter - 1)))
            nbcolli_shm_quarter_is_over(e, peer);
    }
    e->seen[peer] = (uint8_t)p->from.n;
}

/* Gives places back to senders of which another quarter was handed out. seq_cst on both sides: either we see that the
 * sender sleeps until there is room, or its second look sees the room. The exchange lets one waking suffice. A quarter
 * is enough for a sender without room: beyond the head that it knows lie entries of more than a quarter. */
static void nbcolli_shm_give_back(struct nbcolli_shm_end *e)
{
    while (e->dues) {
        int peer = e->due[--e->dues];
        struct nbcolli_shm_peer *p = &e->peer[peer];
        p->is_due = false;
        atomic_store(&p->in->head, p->from.n); /* our core's reads come before the entries are overwritten */
        if (nbcolli_wakeup_take(&p->in->hungry))
            nbcolli_shm_wake(e, peer);
    }
}

/* All entries before the next one are read, also those that were handed out: gives them back. Returns `high`. */
static __attribute__((noinline)) int32_t nbcolli_shm_quarter_is_read(struct nbcolli_shm_end *e, int peer, int32_t high)
{
    nbcolli_shm_quarter_is_over(e, peer);
    nbcolli_shm_give_back(e);
    return high;
}

/* The whole word of the awaited line is known, with its lap. */
NBCOLLI_ALWAYS_INLINE int32_t nbcolli_shm_awaited_take(struct nbcolli_shm_end *e, int peer, uint32_t channel,
                                                       uint64_t turn, void *to, size_t bytes, bool is_long)
{
    struct nbcolli_shm_peer *p = &e->peers[peer];
    struct nbcolli_shm_line *line = p->from.line;
    uint64_t word = p->from.lap | (is_long ? NBCOLLI_SHM_LONG : (uint64_t)bytes) << NBCOLLI_SHM_BYTES_SHIFT | channel;
    uint64_t there = atomic_load_explicit(&line->word, memory_order_acquire); /* the entry */
    if (there != word)
        return (there ^ word) >> NBCOLLI_SHM_LAP_SHIFT ? -1 : -2;
    uint64_t found = atomic_load_explicit(&line->turn, memory_order_relaxed); /* once: it is not trusted */
    if ((found ^ turn) << 16 || (is_long && NBCOLLI_SHM_LONG_BYTES(line) != bytes))
        return -2;
    if (is_long)
        memcpy(to, nbcolli_shm_area(e, p->in, p->from.n), bytes);
    else
        nbcolli_shm_copy_line(to, line->payload, bytes);
    uint64_t n = nbcolli_shm_advance(e, &p->from, p->in);
    e->seen[peer] = (uint8_t)n;
    int32_t high = (int32_t)(found >> 48);
    return n & (e->quarter - 1) ? high : nbcolli_shm_quarter_is_read(e, peer, high);
}

static __attribute__((noinline)) int32_t nbcolli_shm_long_take(struct nbcolli_shm_end *e, int peer, uint32_t channel,
                                                               uint64_t turn, void *to, size_t bytes)
{
    return bytes > e->home->layout.payload ? -2 : nbcolli_shm_awaited_take(e, peer, channel, turn, to, bytes, true);
}

static int32_t nbcolli_shm_line_take(nbcoll_endpoint *ep, int peer, uint32_t channel, uint64_t turn, void *to,
                                     size_t bytes)
{
    struct nbcolli_shm_end *e = nbcolli_shm_end(ep);

    if ((unsigned)peer >= (unsigned)ep->ranks || e->peers[peer].gone != NBCOLLI_SHM_HERE)
        return -2;
    if (__builtin_expect(bytes > NBCOLL_LINE_PAYLOAD, 0))
        return nbcolli_shm_long_take(e, peer, channel, turn, to, bytes);
    return nbcolli_shm_awaited_take(e, peer, channel, turn, to, bytes, false);
}

const nbcoll_lines nbcolli_shm_lines = {sizeof nbcolli_shm_lines, nbcolli_shm_line_post, nbcolli_shm_line_take, 1};

/* Begins with another sender each time, so that none can fill every progress. */
static void nbcolli_shm_poll(struct nbcolli_shm_end *e)
{
    uint32_t i = e->next < e->polls ? e->next : 0;

    e->next = i + 1;
    for (uint32_t left = e->polls; left; left--) {
        int peer = e->poll[i];
        if (nbcolli_shm_next(&e->peer[peer], memory_order_relaxed)) /* taking loads it again, with acquire */
            nbcolli_shm_take(e, peer);
        i = i + 1 < e->polls ? i + 1 : 0;
    }
}

/* From now on polls look at that sender directly, in place of the one that came in first. */
static void nbcolli_shm_attend(struct nbcolli_shm_end *e, int peer)
{
    if (e->peer[peer].is_polled)
        return;
    if (e->polls == NBCOLLI_SHM_POLLED)
        e->peer[e->poll[e->oldest]].is_polled = false;
    else
        e->polls++;
    e->poll[e->oldest] = (uint8_t)peer;
    e->peer[peer].is_polled = true;
    e->oldest = (e->oldest + 1) % NBCOLLI_SHM_POLLED;
}

/* Takes from those of eight senders whose byte in our row shows new entries. */
static void nbcolli_shm_hear_of(struct nbcolli_shm_end *e, int first)
{
    for (int peer = first; peer < first + 8 && peer < e->base.ranks; peer++) {
        uint8_t told = atomic_load_explicit((_Atomic uint8_t *)e->row + peer, memory_order_acquire); /* the entries */
        if (told == e->seen[peer])
            continue;
        if (e->peer[peer].gone != NBCOLLI_SHM_HERE) {
            e->seen[peer] = told; /* not needed any more */
            continue;
        }
        nbcolli_shm_take(e, peer);
        nbcolli_shm_attend(e, peer);
    }
}

static void nbcolli_shm_hear(struct nbcolli_shm_end *e)
{
    uint32_t words = ((uint32_t)e->base.ranks + 7) / 8;

    e->heard = e->heard + 1 < words ? e->heard + 1 : 0;
    for (uint32_t k = 0, i = e->heard; k < words; k++, i = i + 1 < words ? i + 1 : 0) {
        uint64_t seen;
        memcpy(&seen, e->seen + 8 * i, 8);
        if (atomic_load_explicit(&e->row[i], memory_order_relaxed) != seen)
            nbcolli_shm_hear_of(e, (int)(8 * i));
    }
}

void nbcolli_shm_deliver(struct nbcolli_shm_end *e, nbcoll_completions *found)
{
    /* now and then the row comes first, lest those that are looked at directly keep the others waiting */
    bool first = e->row && ++e->turn % 4 == 0;

    e->arrivals = e->lines = 0;
    e->bytes_left = NBCOLL_PASS_BYTES;
    if (e->dues)
        nbcolli_shm_give_back(e);
    if (first)
        nbcolli_shm_hear(e);
    nbcolli_shm_poll(e);
    if (e->row && !first && !e->arrivals && !e->lines)
        nbcolli_shm_hear(e);
    if (e->lines) {
        e->line[e->lines - 1].next = NULL;
        found->lines = e->line;
    }
    if (e->arrivals) {
        e->arrival[e->arrivals - 1].next = NULL;
        found->arrived = e->arrival;
    }
}

bool nbcolli_shm_can_be(const struct nbcolli_shm_end *e, int peer)
{
    const struct nbcolli_shm_peer *p = &e->peer[peer];
    uint64_t word = atomic_load_explicit(&p->from.line->word, memory_order_relaxed); /* orders nothing */
    uint64_t before = (p->from.lap - (UINT64_C(1) << NBCOLLI_SHM_LAP_SHIFT)) | NBCOLLI_SHM_LAPS;

    if (!((word ^ p->from.lap) >> NBCOLLI_SHM_LAP_SHIFT))
        return true;
    return p->from.n < e->depth ? !word : !((word ^ before) >> NBCOLLI_SHM_LAP_SHIFT);
}

bool nbcolli_shm_has_taken(struct nbcolli_shm_end *e, int peer)
{
    /* relaxed: its state, read before, says that it puts nothing more */
    return !nbcolli_shm_next(&e->peer[peer], memory_order_relaxed);
}

/* ---- sleep ----------------------------------------------------------------------------------------------------- */

/* The seq_cst loads are the sleeper's second look (transport.h). */
bool nbcolli_shm_waiting(struct nbcolli_shm_end *e)
{
    for (int peer = 0; peer < e->base.ranks; peer++)
        if (e->peer[peer].gone == NBCOLLI_SHM_HERE && nbcolli_shm_next(&e->peer[peer], memory_order_seq_cst))
            return true;
    return e->dues;
}

/* The seq_cst loads are the second look that nbcolli_shm_give_back relies on. Posts find an impossible head. */
bool nbcolli_shm_has_room(struct nbcolli_shm_end *e)
{
    bool room = false;

    for (int peer = 0; e->refusals && peer < e->base.ranks; peer++) {
        struct nbcolli_shm_peer *p = &e->peer[peer];
        if (!p->refused)
            continue;
        atomic_store(&p->out->hungry, 1);
        uint64_t under_way = p->to.n - atomic_load(&p->out->head);
        room |= under_way < p->refused || under_way > e->depth;
    }
    return room;
}

void nbcolli_shm_forget_refusals(struct nbcolli_shm_end *e)
{
    for (int peer = 0; peer < e->base.ranks; peer++)
        e->peer[peer].refused = 0;
    e->refusals = 0;
}
