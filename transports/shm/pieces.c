/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Large data by pieces of the segment. Each rank has a pool there, which is divided into windows. A rank that gets from
 * another one's memory grants a window to it, with the request: what to copy. The owner of the memory, at its next
 * progress, copies piece after piece into the window as a ring, the receiver copies them out; the receiver closes the
 * window when it has all. If it may read the owner's memory itself, and the owner does not come, or is slower than both
 * together, it reads pieces from the far end meanwhile: they meet in the middle.
 *
 * The owner never writes to a window that was closed. It says first that it is writing under a grant, then looks
 * whether that grant still stands; the receiver takes the grant back first, then looks whether the owner is writing.
 * All four are seq_cst, so at least one of both sees the other. A window that is closed while its owner writes is
 * granted again when the owner has stopped, or its process has ended: until then it is held.
 *
 * The owner copies from its own memory, and only for a request that carries a check under the ranks' secret: one that
 * was damaged, or stands in a window that was closed, moves nothing. A rank that is gone, that was given up or with
 * which something has failed is not served: the core may have taken the memory back.
 *
 * If process_vm_readv could not touch one of the two buffers (EFAULT), it does not say which: only its own process may
 * be able to read the owner's (a device's, memfd_secret). Then both let the kernel copy, which tells them. */
#include <errno.h>

#include "shm.h"

/* Bits of a grant for 1 + the owner. Above them is the grant's number, so that none comes twice. */
#define NBCOLLI_SHM_OWNER_BITS 9
#define NBCOLLI_SHM_OWNER_MASK ((UINT64_C(1) << NBCOLLI_SHM_OWNER_BITS) - 1)
#define NBCOLLI_SHM_SERVE_BYTES (NBCOLL_PASS_BYTES / 2) /* in a progress, so that this rank's own gets go on, too */
#define NBCOLLI_SHM_TURN_NS 50000u /* for an owner that does not come while other gets want its window */
#define NBCOLLI_SHM_LEAST_PIECE 4096u
#define NBCOLLI_SHM_ASKS 1u /* in the size of a piece: the owner asks the kernel whether it can read there */
#define NBCOLLI_SHM_UNREADABLE UINT64_MAX /* in place of the pieces written: the owner cannot read there */

/* One rank's. */
struct nbcolli_shm_pool {
    _Alignas(NBCOLLI_SHM_LINE) _Atomic uint64_t grant[NBCOLLI_SHM_WINDOWS]; /* the receiver's: of each window, or 0 */
    /* A bit for each rank that has granted this one a window since this one looked. */
    _Alignas(NBCOLLI_SHM_LINE) _Atomic uint64_t asked[NBCOLLI_SHM_RANK_WORDS];
    /* As an owner: the grant under which it is writing into another rank's window, with that rank in the owner's place;
     * or 0. Not a word of the window, where a late owner would overwrite the next owner's mark. */
    _Alignas(NBCOLLI_SHM_LINE) _Atomic uint64_t writing;
};

struct nbcolli_shm_window {
    /* The request; the receiver's, complete before the grant is shown. */
    _Alignas(NBCOLLI_SHM_LINE) _Atomic uint64_t from, bytes, piece, check;
    _Alignas(NBCOLLI_SHM_LINE) _Atomic uint64_t read; /* the receiver's: pieces copied out */
    _Atomic uint64_t end;                             /* the receiver has read pieces from this one on itself */
    _Alignas(NBCOLLI_SHM_LINE) _Atomic uint64_t written; /* the owner's: pieces copied in */
};

/* The owner's mark while it writes under a grant of that receiver. */
static uint64_t nbcolli_shm_writing_under(uint64_t grant, int receiver)
{
    return (grant & ~NBCOLLI_SHM_OWNER_MASK) | (uint64_t)(receiver + 1);
}

size_t nbcolli_shm_pool_bytes(size_t pool)
{
    size_t head = sizeof(struct nbcolli_shm_pool) + NBCOLLI_SHM_WINDOWS * sizeof(struct nbcolli_shm_window);
    return (head + NBCOLLI_SHM_PAGE - 1) / NBCOLLI_SHM_PAGE * NBCOLLI_SHM_PAGE + pool;
}

static struct nbcolli_shm_pool *nbcolli_shm_pool(const struct nbcolli_shm_home *h, int receiver)
{
    return (struct nbcolli_shm_pool *)(void *)(h->segment + h->layout.pools + (size_t)receiver * h->layout.pool_stride);
}

static struct nbcolli_shm_window *nbcolli_shm_window(const struct nbcolli_shm_home *h, int receiver, uint32_t i)
{
    return (struct nbcolli_shm_window *)(void *)(nbcolli_shm_pool(h, receiver) + 1) + i;
}

static unsigned char *nbcolli_shm_window_data(const struct nbcolli_shm_home *h, int receiver, uint32_t i)
{
    size_t data = nbcolli_shm_pool_bytes(0);
    return (unsigned char *)nbcolli_shm_pool(h, receiver) + data + i * h->layout.window;
}

static uint64_t nbcolli_shm_request_check(const struct nbcolli_shm_home *h, uint64_t grant, uint64_t from,
                                          uint64_t bytes, uint64_t piece)
{
    uint64_t check = nbcolli_splitmix(grant ^ h->secret);
    check = nbcolli_splitmix(check ^ from);
    check = nbcolli_splitmix(check ^ bytes);
    return nbcolli_splitmix(check ^ piece);
}

static uint64_t nbcolli_shm_pieces_of(uint64_t bytes, uint64_t piece)
{
    return (bytes + piece - 1) / piece;
}

/* ---- receivers: windows ---------------------------------------------------------------------------------------- */

static struct nbcolli_shm_transfer *nbcolli_shm_transfer_of(struct nbcolli_shm_end *e, const nbcoll_work *work)
{
    uint64_t number = work->scratch[NBCOLLI_SHM_GET_WHO] >> NBCOLLI_SHM_GET_WINDOW;
    return number ? &e->transfer[number - 1] : NULL;
}

/* May its last owner still be writing there? */
static bool nbcolli_shm_window_is_held(const struct nbcolli_shm_end *e, uint32_t i)
{
    uint64_t last = e->transfer[i].grant;
    int owner = (int)(last & NBCOLLI_SHM_OWNER_MASK) - 1;

    if (!last || e->peer[owner].ended)
        return false;
    /* seq_cst: the closer's second look */
    return atomic_load(&nbcolli_shm_pool(e->home, owner)->writing) == nbcolli_shm_writing_under(last, e->base.rank);
}

/* Bytes of a piece: small enough for owner and receiver to work at once, large enough for the cost of its words. */
static size_t nbcolli_shm_piece_for(const struct nbcolli_shm_end *e, size_t bytes)
{
    size_t piece = nbcolli_shm_turns(e) > 1 ? 16384 : 32768;

    while (piece > NBCOLLI_SHM_LEAST_PIECE && (bytes < 4 * piece || 2 * piece > e->home->layout.window))
        piece /= 2;
    return piece;
}

static void nbcolli_shm_window_grant(struct nbcolli_shm_end *e, uint32_t i, nbcoll_work *work, int peer)
{
    struct nbcolli_shm_transfer *t = &e->transfer[i];
    struct nbcolli_shm_pool *owner = nbcolli_shm_pool(e->home, peer);
    struct nbcolli_shm_window *w = nbcolli_shm_window(e->home, e->base.rank, i);
    uint64_t from = work->scratch[NBCOLLI_SHM_GET_FROM], bytes = work->scratch[NBCOLLI_SHM_GET_LEFT];
    uint64_t asks = work->scratch[NBCOLLI_SHM_GET_WHO] >> NBCOLLI_SHM_GET_ASKS & 1;
    size_t piece = nbcolli_shm_piece_for(e, bytes);

    *t = (struct nbcolli_shm_transfer){.work = work, .piece = piece, .own = 1, .meets = bytes >= e->meets_from};
    t->grant = ++e->grants << NBCOLLI_SHM_OWNER_BITS | (uint64_t)(peer + 1);
    t->end = nbcolli_shm_pieces_of(bytes, piece);
    work->scratch[NBCOLLI_SHM_GET_WHO] |= (uint64_t)(i + 1) << NBCOLLI_SHM_GET_WINDOW;
    /* relaxed: shown by the grant */
    atomic_store_explicit(&w->from, from, memory_order_relaxed);
    atomic_store_explicit(&w->bytes, bytes, memory_order_relaxed);
    atomic_store_explicit(&w->piece, piece | asks, memory_order_relaxed);
    atomic_store_explicit(&w->check, nbcolli_shm_request_check(e->home, t->grant, from, bytes, piece | asks),
                          memory_order_relaxed);
    atomic_store_explicit(&w->read, 0, memory_order_relaxed);
    atomic_store_explicit(&w->end, t->end, memory_order_relaxed);
    atomic_store_explicit(&w->written, 0, memory_order_relaxed);
    atomic_store_explicit(&nbcolli_shm_pool(e->home, e->base.rank)->grant[i], t->grant, memory_order_release);
    atomic_fetch_or(&owner->asked[e->base.rank / 64], UINT64_C(1) << e->base.rank % 64); /* seq_cst for the bell */
    nbcolli_shm_wake(e, peer);
}

bool nbcolli_shm_pieces_ask(struct nbcolli_shm_end *e, nbcoll_work *work)
{
    if (nbcolli_shm_transfer_of(e, work))
        return true;
    for (uint32_t i = 0; i < e->home->layout.windows; i++)
        if (!e->transfer[i].work && !nbcolli_shm_window_is_held(e, i)) {
            nbcolli_shm_window_grant(e, i, work, nbcolli_shm_who(work));
            return true;
        }
    e->short_of_windows = true;
    return false;
}

void nbcolli_shm_pieces_close(struct nbcolli_shm_end *e, nbcoll_work *work)
{
    struct nbcolli_shm_transfer *t = nbcolli_shm_transfer_of(e, work);
    uint64_t left = work->scratch[NBCOLLI_SHM_GET_LEFT];

    if (!t)
        return;
    /* seq_cst: the closer's first step */
    atomic_store(&nbcolli_shm_pool(e->home, e->base.rank)->grant[t - e->transfer], 0);
    if (t->end * t->piece < left)
        left = t->end * t->piece;
    work->scratch[NBCOLLI_SHM_GET_WHO] &= (UINT64_C(1) << NBCOLLI_SHM_GET_WINDOW) - 1;
    work->scratch[NBCOLLI_SHM_GET_FROM] += t->read * t->piece;
    work->scratch[NBCOLLI_SHM_GET_TO] += t->read * t->piece;
    work->scratch[NBCOLLI_SHM_GET_LEFT] = t->read < t->end ? left - t->read * t->piece : 0;
    t->work = NULL;
}

void nbcolli_shm_pieces_close_all(struct nbcolli_shm_end *e)
{
    for (uint32_t i = 0; i < NBCOLLI_SHM_WINDOWS; i++)
        if (e->transfer[i].work)
            nbcolli_shm_pieces_close(e, e->transfer[i].work);
}

/* ---- receivers: pieces ----------------------------------------------------------------------------------------- */

/* Bytes of the request's pieces [first, last). */
static size_t nbcolli_shm_span(const struct nbcolli_shm_transfer *t, uint64_t first, uint64_t last)
{
    size_t all = t->work->scratch[NBCOLLI_SHM_GET_LEFT];
    return (last * t->piece < all ? last * t->piece : all) - first * t->piece;
}

/* Copies out `*taken` pieces that the owner has written. Errors as of pieces_go_on. */
static nbcoll_status nbcolli_shm_pieces_take(struct nbcolli_shm_end *e, struct nbcolli_shm_transfer *t,
                                             uint64_t *taken)
{
    const struct nbcolli_shm_home *h = e->home;
    uint32_t i = (uint32_t)(t - e->transfer);
    struct nbcolli_shm_window *w = nbcolli_shm_window(h, e->base.rank, i);
    uint64_t written = atomic_load_explicit(&w->written, memory_order_acquire); /* the pieces themselves */
    uint64_t places = h->layout.window / t->piece, first = t->read;
    bool asks = t->work->scratch[NBCOLLI_SHM_GET_WHO] >> NBCOLLI_SHM_GET_ASKS & 1;

    if (asks && written == NBCOLLI_SHM_UNREADABLE)
        return NBCOLL_ERR_FAULT;
    if (written - t->read > places) {
        nbcolli_shm_distrust(e, nbcolli_shm_who(t->work));
        return NBCOLL_ERR_PEER_LOST;
    }
    t->written = written;
    while (t->read < written && t->read < t->end && e->copied < e->most) {
        size_t bytes = nbcolli_shm_span(t, t->read, t->read + 1);
        unsigned char *from = nbcolli_shm_window_data(h, e->base.rank, i) + t->read % places * t->piece;
        void *to = (unsigned char *)(uintptr_t)t->work->scratch[NBCOLLI_SHM_GET_TO] + t->read * t->piece;
        if (!asks)
            memcpy(to, from, bytes);
        else if (!nbcolli_shm_copy_asking(h, from, to, bytes, false))
            return NBCOLL_ERR_BUFFER;
        e->copied += bytes;
        atomic_store(&w->read, ++t->read); /* releases the place to the owner; seq_cst for the bell */
    }
    *taken = t->read - first;
    if (*taken) {
        e->idle_arms = 0;
        nbcolli_shm_wake(e, nbcolli_shm_who(t->work));
    }
    return NBCOLL_OK;
}

/* Reads some pieces of the far end itself: more each time while the owner does not come. */
static nbcoll_status nbcolli_shm_pieces_own(struct nbcolli_shm_end *e, struct nbcolli_shm_transfer *t, uint64_t most)
{
    struct nbcolli_shm_window *w = nbcolli_shm_window(e->home, e->base.rank, (uint32_t)(t - e->transfer));
    uint64_t apart = t->end > t->written + 1 ? t->end - t->written - 1 : 1; /* the owner may be writing the next one */
    uint64_t end = t->end - (most < apart ? most : apart);
    size_t bytes = nbcolli_shm_span(t, end, t->end);
    const uint64_t *at = t->work->scratch;

    atomic_store_explicit(&w->end, end, memory_order_relaxed); /* at worst the owner copies a piece that is not read */
    nbcoll_status s = nbcolli_shm_fetch(e, nbcolli_shm_who(t->work), at[NBCOLLI_SHM_GET_FROM] + end * t->piece,
                                        (void *)(uintptr_t)(at[NBCOLLI_SHM_GET_TO] + end * t->piece), bytes);
    e->copied += bytes;
    if (s == NBCOLL_OK)
        t->end = end;
    return s;
}

/* No piece has come. */
static nbcoll_status nbcolli_shm_pieces_wait(struct nbcolli_shm_end *e, struct nbcolli_shm_transfer *t)
{
    bool reads = nbcolli_shm_may_read(e, t->work);
    bool apart = t->end > t->written + 1; /* the owner is not writing the far end */

    if (reads && t->meets && apart)
        return nbcolli_shm_pieces_own(e, t, 2);
    uint64_t now = nbcolli_now(&e->host);
    if (!t->since) {
        t->since = now;
        return NBCOLL_OK;
    }
    if (reads && now - t->since >= e->patience * nbcolli_shm_turns(e)) {
        uint64_t most = (e->most - e->copied) / t->piece;
        t->own = 2 * t->own;
        return nbcolli_shm_pieces_own(e, t, t->own < most ? t->own : most ? most : 1);
    }
    if (e->was_short && now - t->since >= NBCOLLI_SHM_TURN_NS * (uint64_t)nbcolli_shm_turns(e)) {
        nbcolli_shm_pieces_close(e, t->work); /* the get asks again, behind the others */
        e->was_short = false;
    }
    return NBCOLL_OK;
}

nbcoll_status nbcolli_shm_pieces_go_on(struct nbcolli_shm_end *e, nbcoll_work *work)
{
    int peer = nbcolli_shm_who(work);
    struct nbcolli_shm_transfer *t = nbcolli_shm_transfer_of(e, work);

    if (e->peer[peer].gone != NBCOLLI_SHM_HERE)
        return NBCOLL_ERR_PEER_LOST;
    if (nbcolli_shm_is_given_up_by(e, peer)) {
        nbcolli_shm_pieces_close(e, work);
        return NBCOLL_PENDING;
    }
    if (!t) /* its turn is to come */
        return NBCOLL_PENDING;
    uint64_t taken = 0;
    nbcoll_status s = nbcolli_shm_pieces_take(e, t, &taken);
    if (taken) {
        t->since = 0;
        t->own = 1;
    } else if (s == NBCOLL_OK && e->copied < e->most)
        s = nbcolli_shm_pieces_wait(e, t);
    if (s != NBCOLL_OK || !t->work || t->read < t->end)
        return s == NBCOLL_OK ? NBCOLL_PENDING : s;
    return nbcolli_shm_is_given_up_by(e, peer) ? NBCOLL_PENDING : NBCOLL_OK;
}

/* ---- owners ---------------------------------------------------------------------------------------------------- */

/* May its requests be served? Else they may name memory that is not ours any more. */
static bool nbcolli_shm_is_served(const struct nbcolli_shm_end *e, int peer)
{
    /* relaxed: only we write it */
    return e->peer[peer].gone == NBCOLLI_SHM_HERE && !e->peer[peer].cut &&
           !(atomic_load_explicit(nbcolli_shm_reach(e->home, e->base.rank, peer), memory_order_relaxed) &
             NBCOLLI_SHM_GIVEN_UP);
}

/* A request in a peer's window, as this rank has read it once. */
struct nbcolli_shm_request {
    struct nbcolli_shm_window *window;
    unsigned char *data;
    uint64_t grant, from, bytes, piece, pieces, places;
    bool asks;
};

static bool nbcolli_shm_request_read(const struct nbcolli_shm_end *e, int peer, uint32_t i,
                                     struct nbcolli_shm_request *r)
{
    const struct nbcolli_shm_home *h = e->home;
    struct nbcolli_shm_window *w = nbcolli_shm_window(h, peer, i);

    r->window = w;
    r->data = nbcolli_shm_window_data(h, peer, i);
    /* relaxed: they came with the grant; if not, the check fails */
    r->from = atomic_load_explicit(&w->from, memory_order_relaxed);
    r->bytes = atomic_load_explicit(&w->bytes, memory_order_relaxed);
    r->piece = atomic_load_explicit(&w->piece, memory_order_relaxed);
    if (atomic_load_explicit(&w->check, memory_order_relaxed) !=
        nbcolli_shm_request_check(h, r->grant, r->from, r->bytes, r->piece))
        return false;
    r->asks = r->piece & NBCOLLI_SHM_ASKS;
    r->piece &= ~(uint64_t)NBCOLLI_SHM_ASKS;
    if (r->piece < NBCOLLI_SHM_LEAST_PIECE || r->piece > h->layout.window)
        return false;
    r->pieces = nbcolli_shm_pieces_of(r->bytes, r->piece);
    r->places = h->layout.window / r->piece;
    return true;
}

/* Copies pieces while there is room for them. False: the counters are impossible. */
static bool nbcolli_shm_request_serve(struct nbcolli_shm_end *e, int peer, const struct nbcolli_shm_request *r,
                                      size_t *most)
{
    struct nbcolli_shm_window *w = r->window;
    /* we are the owner. acquire: an earlier owner's writes come before; it may be another thread of this process, and
     * the window passed between us through its receiver, where no checker can follow */
    uint64_t written = atomic_load_explicit(&w->written, memory_order_acquire);

    while (written < r->pieces && *most > 0) {
        uint64_t read = atomic_load(&w->read); /* after the reads there; seq_cst for arming */
        if (written - read > r->places || written > r->pieces)
            return false;
        if (written - read == r->places || written >= atomic_load_explicit(&w->end, memory_order_relaxed))
            return true;
        uint64_t at = written * r->piece, left = r->bytes - at, bytes = left < r->piece ? left : r->piece;
        unsigned char *to = r->data + written % r->places * r->piece;
        void *from = (void *)(uintptr_t)(r->from + at);
        if (!r->asks)
            nbcolli_shm_copy_in(&e->base, peer, to, from, bytes);
        bool is_there = !r->asks || nbcolli_shm_copy_asking(e->home, to, from, bytes, true);
        written = is_there ? written + 1 : NBCOLLI_SHM_UNREADABLE;
        atomic_store(&w->written, written); /* releases the piece; seq_cst for the bell */
        *most -= bytes < *most ? bytes : *most;
    }
    return true;
}

/* Serves a window of that peer, if it is open for this rank, with `most` bytes. */
static bool nbcolli_shm_window_serve(struct nbcolli_shm_end *e, int peer, uint32_t i, size_t *most)
{
    _Atomic uint64_t *grant = &nbcolli_shm_pool(e->home, peer)->grant[i];
    _Atomic uint64_t *writing = &nbcolli_shm_pool(e->home, e->base.rank)->writing;
    struct nbcolli_shm_request r = {.grant = atomic_load_explicit(grant, memory_order_acquire)}; /* the request */
    bool good;

    if ((r.grant & NBCOLLI_SHM_OWNER_MASK) != (uint64_t)(e->base.rank + 1) ||
        !nbcolli_shm_request_read(e, peer, i, &r))
        return false;
    atomic_store(writing, nbcolli_shm_writing_under(r.grant, peer)); /* seq_cst, both: see above */
    good = atomic_load(grant) != r.grant || nbcolli_shm_request_serve(e, peer, &r, most);
    atomic_store_explicit(writing, 0, memory_order_release); /* after the writes */
    if (!good)
        nbcolli_shm_distrust(e, peer);
    return good;
}

static void nbcolli_shm_serve_peer(struct nbcolli_shm_end *e, int peer, size_t *most)
{
    size_t before = *most;
    bool open = false;

    for (uint32_t i = 0; i < e->home->layout.windows && *most > 0 && nbcolli_shm_is_served(e, peer); i++)
        open |= nbcolli_shm_window_serve(e, peer, i, most);
    if (*most != before) {
        e->idle_arms = 0;
        nbcolli_shm_wake(e, peer);
    } else if (!open)
        e->serving[peer / 64] &= ~(UINT64_C(1) << peer % 64);
}

/* The next rank to serve from `peer` on; `ranks` if there is none. */
static int nbcolli_shm_next_served(const struct nbcolli_shm_end *e, int peer)
{
    while (peer < e->base.ranks) {
        uint64_t left = e->serving[peer / 64] >> peer % 64;
        if (left)
            return peer + __builtin_ctzll(left);
        peer = (peer / 64 + 1) * 64;
    }
    return e->base.ranks;
}

/* Has any rank asked, or is any served? Every progress looks. */
static inline bool nbcolli_shm_has_to_serve(const struct nbcolli_shm_end *e, struct nbcolli_shm_pool *mine)
{
    uint64_t any = 0;
    for (int i = 0; i < (e->base.ranks + 63) / 64; i++)
        any |= e->serving[i] | atomic_load_explicit(&mine->asked[i], memory_order_relaxed); /* orders nothing */
    return any != 0;
}

void nbcolli_shm_serve(struct nbcolli_shm_end *e)
{
    struct nbcolli_shm_pool *mine = nbcolli_shm_pool(e->home, e->base.rank);

    if (!nbcolli_shm_has_to_serve(e, mine))
        return;
    size_t most = NBCOLLI_SHM_SERVE_BYTES;
    int first = e->served, ranks = e->base.ranks;

    for (int i = 0; i < (ranks + 63) / 64; i++)
        if (atomic_load_explicit(&mine->asked[i], memory_order_relaxed)) /* the exchange acquires */
            e->serving[i] |= atomic_exchange_explicit(&mine->asked[i], 0, memory_order_acquire);
    for (int n = 0; n < 2 && most > 0; n++) { /* those from `first` on, then the others */
        int end = n ? first : ranks;
        for (int peer = nbcolli_shm_next_served(e, n ? 0 : first); peer < end && most > 0;
             peer = nbcolli_shm_next_served(e, peer + 1)) {
            nbcolli_shm_serve_peer(e, peer, &most);
            e->served = peer; /* the longest waiting comes first next time */
        }
    }
    e->serves_more = most == 0;
}

/* ---- sleeping -------------------------------------------------------------------------------------------------- */

/* So many armings are refused after a piece moved, while a transfer is under way: the next piece is likely near, and
 * waking a sleeper on another core takes longer than a piece. */
#define NBCOLLI_SHM_IDLE_ARMS 100u

/* Can this get go on? seq_cst, here and below: the sleeper's second look. */
static bool nbcolli_shm_get_can_go_on(struct nbcolli_shm_end *e, const nbcoll_work *work)
{
    const struct nbcolli_shm_transfer *t = nbcolli_shm_transfer_of(e, work);
    int peer = nbcolli_shm_who(work);

    if (!t || nbcolli_shm_may_read(e, work) || e->peer[peer].gone != NBCOLLI_SHM_HERE)
        return true;
    return atomic_load(&nbcolli_shm_window(e->home, e->base.rank, (uint32_t)(t - e->transfer))->written) != t->read &&
           !nbcolli_shm_is_given_up_by(e, peer);
}

static bool nbcolli_shm_peer_can_be_served(struct nbcolli_shm_end *e, int peer)
{
    for (uint32_t i = 0; i < e->home->layout.windows && nbcolli_shm_is_served(e, peer); i++) {
        struct nbcolli_shm_request r = {.grant = atomic_load(&nbcolli_shm_pool(e->home, peer)->grant[i])};
        if ((r.grant & NBCOLLI_SHM_OWNER_MASK) != (uint64_t)(e->base.rank + 1) ||
            !nbcolli_shm_request_read(e, peer, i, &r))
            continue;
        uint64_t written = atomic_load_explicit(&r.window->written, memory_order_relaxed); /* ours */
        if (written < r.pieces && written < atomic_load(&r.window->end) &&
            written - atomic_load(&r.window->read) != r.places)
            return true;
    }
    return false;
}

bool nbcolli_shm_large_can_go_on(struct nbcolli_shm_end *e)
{
    struct nbcolli_shm_pool *mine = nbcolli_shm_pool(e->home, e->base.rank);
    bool under_way = e->gets.first || nbcolli_shm_next_served(e, 0) < e->base.ranks;

    if (under_way && e->idle_arms < NBCOLLI_SHM_IDLE_ARMS) {
        e->idle_arms++;
        return true;
    }
    for (const nbcoll_work *work = e->gets.first; work; work = work->next)
        if (nbcolli_shm_get_can_go_on(e, work))
            return true;
    for (int i = 0; i < (e->base.ranks + 63) / 64; i++)
        if (atomic_load(&mine->asked[i]))
            return true;
    int peer = nbcolli_shm_next_served(e, 0);
    while (peer < e->base.ranks && !nbcolli_shm_peer_can_be_served(e, peer))
        peer = nbcolli_shm_next_served(e, peer + 1);
    return peer < e->base.ranks;
}
