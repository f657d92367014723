/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Bulk data: a copy from a thread of this process; from another one by pieces of the segment (pieces.c), or by
 * process_vm_readv, where a trial at the opening has shown that it works in both directions (containers, Yama and
 * capabilities decide, and only a trial tells). Which of them is the receiver's choice, by size. From one progress to
 * the next about NBCOLL_PASS_BYTES are copied, more where the caller waits (`patient` of the endpoint); what is beyond
 * goes on in the next progress, by turns.
 *
 * Each call of process_vm_readv reads the token of the peer's process, too. One call reads one address space: with the
 * right token it was that of the rank that has joined, and not what its process has become by exec, nor another
 * process of the same number.
 *
 * There is no put: process_vm_writev cannot look at the token first and write afterwards in one step, so that what is
 * written after an exec would land in another program.
 */
#include <errno.h>

#include "shm.h"

/* ---- keys -------------------------------------------------------------------------------------------------------- */

/* A key is address and length, 48 bits each, and a check over both under the ranks' secret: one that was damaged on its
 * way through the segment is noticed before anything is read. The uppermost bit of the length says that the memory is
 * in the segment, which every rank reads where it has mapped it; the address is its offset then. */
#define NBCOLLI_SHM_KEY_BITS 48
#define NBCOLLI_SHM_KEY_MASK ((UINT64_C(1) << NBCOLLI_SHM_KEY_BITS) - 1)
#define NBCOLLI_SHM_KEY_SEGMENT (UINT64_C(1) << (NBCOLLI_SHM_KEY_BITS - 1))

static void nbcolli_shm_key(const struct nbcolli_shm_end *e, uint64_t address, uint64_t bytes, uint64_t out[2])
{
    uint64_t check = nbcolli_splitmix(nbcolli_splitmix(address ^ e->home->secret) + bytes);
    out[0] = address | check << NBCOLLI_SHM_KEY_BITS;
    out[1] = bytes | (check >> 16) << NBCOLLI_SHM_KEY_BITS;
}

static int nbcolli_shm_bulk_reaches(nbcoll_endpoint *ep, int peer)
{
    const struct nbcolli_shm_peer *p = nbcolli_shm_end(ep)->peer;
    return peer >= 0 && peer < ep->ranks && (p[peer].here || p[peer].cma || p[peer].pieces);
}

static nbcoll_status nbcolli_shm_bulk_register(nbcoll_endpoint *ep, int peer, void *memory, size_t bytes,
                                               uint32_t access, nbcoll_registration *out)
{
    struct nbcolli_shm_end *e = nbcolli_shm_end(ep);
    const struct nbcolli_shm_layout *l = &e->home->layout;
    uintptr_t at = (uintptr_t)memory - (uintptr_t)e->home->segment;

    if (!memory)
        return NBCOLL_ERR_BUFFER;
    if (access != NBCOLL_PEER_READS)
        return NBCOLL_ERR_UNSUPPORTED;
    if ((uintptr_t)memory > NBCOLLI_SHM_KEY_MASK || bytes >= NBCOLLI_SHM_KEY_SEGMENT)
        return NBCOLL_ERR_LIMIT;
    if (at >= l->quotas && at <= l->bytes && bytes <= l->bytes - at)
        nbcolli_shm_key(e, at, bytes | NBCOLLI_SHM_KEY_SEGMENT, out->key.word);
    else if (nbcolli_shm_bulk_reaches(ep, peer))
        nbcolli_shm_key(e, (uintptr_t)memory, bytes, out->key.word);
    else
        return NBCOLL_ERR_UNSUPPORTED;
    return NBCOLL_OK;
}

/* A place in a peer's memory. */
struct nbcolli_shm_there {
    uint64_t address;
    bool here; /* this rank reads it in place */
};

static bool nbcolli_shm_locate(struct nbcolli_shm_end *e, int peer, const nbcoll_key *key, size_t offset, size_t bytes,
                               struct nbcolli_shm_there *out)
{
    const struct nbcolli_shm_layout *l = &e->home->layout;
    uint64_t address = key->word[0] & NBCOLLI_SHM_KEY_MASK, all = key->word[1] & NBCOLLI_SHM_KEY_MASK, good[2];
    bool in_segment = all & NBCOLLI_SHM_KEY_SEGMENT;

    nbcolli_shm_key(e, address, all, good);
    all &= ~NBCOLLI_SHM_KEY_SEGMENT;
    if (peer < 0 || peer >= e->base.ranks || !address || memcmp(good, key->word, sizeof good) != 0 || offset > all ||
        bytes > all - offset)
        return false;
    if (in_segment && (address > l->bytes || all > l->bytes - address))
        return false;
    if (!in_segment && !nbcolli_shm_bulk_reaches(&e->base, peer))
        return false;
    out->here = in_segment || e->peer[peer].here;
    out->address = offset + (in_segment ? (uintptr_t)e->home->segment + address : address);
    return true;
}

/* A peer that has given us up may change its memory at will. */
void nbcolli_shm_give_up(nbcoll_endpoint *ep, int peer)
{
    atomic_fetch_or(nbcolli_shm_reach(nbcolli_shm_end(ep)->home, ep->rank, peer),
                    NBCOLLI_SHM_GIVEN_UP); /* before it reuses its memory */
}

bool nbcolli_shm_is_given_up_by(const struct nbcolli_shm_end *e, int peer)
{
    /* acquire: after the reads */
    return atomic_load_explicit(nbcolli_shm_reach(e->home, peer, e->base.rank), memory_order_acquire) &
           NBCOLLI_SHM_GIVEN_UP;
}

static const void *nbcolli_shm_bulk_view(nbcoll_endpoint *ep, int peer, const nbcoll_key *key, size_t offset,
                                         size_t bytes)
{
    struct nbcolli_shm_there there;

    if (!nbcolli_shm_locate(nbcolli_shm_end(ep), peer, key, offset, bytes, &there) || !there.here ||
        nbcolli_shm_is_given_up_by(nbcolli_shm_end(ep), peer))
        return NULL;
    return (const void *)(uintptr_t)there.address;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

uint64_t nbcolli_shm_token(const struct nbcolli_shm_home *h, int pid)
{
    return nbcolli_splitmix(h->secret ^ nbcolli_splitmix((uint64_t)pid));
}

/* Reads all of it: 0, or an errno. ESRCH: the memory is not the peer's, or no longer; EFAULT: some bytes cannot be read
 * there, or written here. */
static int nbcolli_shm_read(const struct nbcolli_shm_end *e, int peer, uint64_t from, void *to, size_t bytes)
{
    int pid = e->home->place[peer].pid, error = 0;
    uint64_t token = 0;

    for (;;) {
        struct iovec local[] = {{&token, sizeof token}, {to, bytes}};
        struct iovec remote[] = {{(void *)(uintptr_t)e->peer[peer].token, sizeof token},
                                 {(void *)(uintptr_t)from, bytes}};
        ssize_t n = e->os->read_memory(pid, local, 2, remote, 2, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EFAULT && bytes) { /* the token is gone, or `to` is no address of a program: which? */
            error = EFAULT;
            to = NULL;
            bytes = 0;
            continue;
        }
        if (n < 0)
            return errno == EFAULT ? ESRCH : errno;
        if (n < (ssize_t)sizeof token || token != nbcolli_shm_token(e->home, pid))
            return ESRCH;
        n -= (ssize_t)sizeof token;
        if ((size_t)n == bytes)
            return error;
        if (n == 0)
            return EFAULT;
        from += (size_t)n;
        to = (char *)to + n;
        bytes -= (size_t)n;
    }
}

/* The kernel refuses the call, but the peer lives: its data comes by pieces from now on, also if a flag forbade
 * them. */
nbcoll_status nbcolli_shm_fetch(struct nbcolli_shm_end *e, int peer, uint64_t from, void *to, size_t bytes)
{
    struct nbcolli_shm_peer *p = &e->peer[peer];

    if (nbcolli_shm_is_given_up_by(e, peer))
        return NBCOLL_PENDING;
    int error = nbcolli_shm_read(e, peer, from, to, bytes);
    if (error == ESRCH) {
        nbcolli_shm_is_no_more(e, peer, ESRCH, "process_vm_readv no longer finds the memory of its process");
        return NBCOLL_ERR_PEER_LOST;
    }
    if (error && error != EFAULT) {
        p->error = error;
        p->pieces = 1;
        p->cma = 0;
    }
    if (error)
        return NBCOLL_AGAIN;
    return nbcolli_shm_is_given_up_by(e, peer) ? NBCOLL_PENDING : NBCOLL_OK;
}

bool nbcolli_shm_copy_asking(const struct nbcolli_shm_home *h, void *shared, void *own, size_t bytes, bool is_in)
{
    while (bytes) {
        struct iovec here = {own, bytes}, there = {shared, bytes};
        ssize_t n = is_in ? h->os->write_memory(h->pid, &here, 1, &there, 1, 0)
                          : h->os->read_memory(h->pid, &here, 1, &there, 1, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno != EFAULT) { /* this is refused, too */
            memcpy(is_in ? shared : own, is_in ? own : shared, bytes);
            return true;
        }
        if (n <= 0)
            return false;
        own = (char *)own + n;
        shared = (char *)shared + n;
        bytes -= (size_t)n;
    }
    return true;
}

static nbcoll_status nbcolli_shm_copy(struct nbcolli_shm_end *e, int peer, struct nbcolli_shm_there there, void *to,
                                      size_t bytes)
{
    e->copied += bytes;
    if (!there.here)
        return nbcolli_shm_fetch(e, peer, there.address, to, bytes);
    if (nbcolli_shm_is_given_up_by(e, peer)) /* a thread's memory may be gone */
        return NBCOLL_PENDING;
    memcpy(to, (const void *)(uintptr_t)there.address, bytes);
    return nbcolli_shm_is_given_up_by(e, peer) ? NBCOLL_PENDING : NBCOLL_OK;
}

/* How many of `left` bytes to copy now. A rest of less than a quarter of that is included: each call of
 * process_vm_readv takes some microseconds before its first byte. */
static size_t nbcolli_shm_at_once(const struct nbcolli_shm_end *e, size_t left)
{
    size_t room = e->most > e->copied ? e->most - e->copied : 0;
    return left <= room + room / 4 ? left : room;
}

/* ---- gets -------------------------------------------------------------------------------------------------------- */

/* process_vm_readv has failed: the get goes on by pieces. If other memory of the peer is still readable, one of the two
 * buffers is at fault, and pieces find out whose. */
static void nbcolli_shm_get_by_pieces(struct nbcolli_shm_end *e, nbcoll_work *work)
{
    uint64_t asks = e->peer[nbcolli_shm_who(work)].cma;

    nbcolli_shm_pieces_close(e, work);
    work->scratch[NBCOLLI_SHM_GET_WHO] |= UINT64_C(1) << NBCOLLI_SHM_GET_PIECES | asks << NBCOLLI_SHM_GET_ASKS;
}

static nbcoll_posted nbcolli_shm_bulk_get(nbcoll_endpoint *ep, int peer, const nbcoll_key *key, size_t offset,
                                          const nbcoll_registration *local, void *to, size_t bytes, nbcoll_work *work)
{
    struct nbcolli_shm_end *e = nbcolli_shm_end(ep);
    struct nbcolli_shm_there there;
    nbcoll_status s = NBCOLL_PENDING;

    (void)local;
    if (peer < 0 || peer >= ep->ranks)
        return NBCOLL_POST_FAILED;
    struct nbcolli_shm_peer *p = &e->peer[peer];
    if (!nbcolli_shm_locate(e, peer, key, offset, bytes, &there)) {
        p->reason = (nbcoll_transport_error){EKEYREJECTED, "a key names no memory"};
        p->cut = 1; /* the core may take back what the peer still asks for */
        return NBCOLL_POST_FAILED;
    }
    bool by_pieces = !there.here && p->pieces && (!p->cma || (bytes >= e->by_pieces && bytes < e->by_cma));
    if (p->gone != NBCOLLI_SHM_HERE)
        return NBCOLL_POST_LOST;
    if (!by_pieces && nbcolli_shm_at_once(e, bytes) == bytes) {
        s = nbcolli_shm_copy(e, peer, there, to, bytes);
        if (s != NBCOLL_AGAIN)
            return s == NBCOLL_OK        ? NBCOLL_POST_DONE
                   : s == NBCOLL_PENDING ? NBCOLL_POST_NOT_NOW
                                         : NBCOLL_POST_LOST;
    }
    work->scratch[NBCOLLI_SHM_GET_WHO] = (uint64_t)peer | (uint64_t)there.here << NBCOLLI_SHM_GET_HERE |
                                     (uint64_t)by_pieces << NBCOLLI_SHM_GET_PIECES;
    work->scratch[NBCOLLI_SHM_GET_FROM] = there.address;
    work->scratch[NBCOLLI_SHM_GET_TO] = (uintptr_t)to;
    work->scratch[NBCOLLI_SHM_GET_LEFT] = bytes;
    nbcolli_works_append(&e->gets, work);
    if (s == NBCOLL_AGAIN)
        nbcolli_shm_get_by_pieces(e, work);
    if (by_pieces || s == NBCOLL_AGAIN)
        nbcolli_shm_pieces_ask(e, work); /* else progress finds out */
    return NBCOLL_POST_IN_FLIGHT;
}

/* A piece of a get, as large as this progress has left: OK if that was the rest. */
static nbcoll_status nbcolli_shm_copy_on(struct nbcolli_shm_end *e, nbcoll_work *work)
{
    size_t bytes = nbcolli_shm_at_once(e, work->scratch[NBCOLLI_SHM_GET_LEFT]);
    struct nbcolli_shm_there there = {work->scratch[NBCOLLI_SHM_GET_FROM],
                                      work->scratch[NBCOLLI_SHM_GET_WHO] >> NBCOLLI_SHM_GET_HERE & 1};
    nbcoll_status s =
        nbcolli_shm_copy(e, nbcolli_shm_who(work), there, (void *)(uintptr_t)work->scratch[NBCOLLI_SHM_GET_TO], bytes);

    if (s != NBCOLL_OK)
        return s;
    work->scratch[NBCOLLI_SHM_GET_FROM] += bytes;
    work->scratch[NBCOLLI_SHM_GET_TO] += bytes;
    work->scratch[NBCOLLI_SHM_GET_LEFT] -= bytes;
    return work->scratch[NBCOLLI_SHM_GET_LEFT] ? NBCOLL_PENDING : NBCOLL_OK;
}

static void nbcolli_shm_get_on(struct nbcolli_shm_end *e, nbcoll_work *work)
{
    bool by_pieces = work->scratch[NBCOLLI_SHM_GET_WHO] >> NBCOLLI_SHM_GET_PIECES & 1;
    bool waits = by_pieces && !nbcolli_shm_pieces_ask(e, work);
    bool alone = !by_pieces || (waits && nbcolli_shm_may_read(e, work) && e->copied == 0);
    nbcoll_status s = alone ? nbcolli_shm_copy_on(e, work) : nbcolli_shm_pieces_go_on(e, work);

    if (s == NBCOLL_AGAIN)
        nbcolli_shm_get_by_pieces(e, work);
    if (s == NBCOLL_PENDING || s == NBCOLL_AGAIN) {
        nbcolli_works_append(&e->gets, work);
        return;
    }
    nbcolli_shm_pieces_close(e, work);
    work->status = s;
    nbcolli_works_append(&e->finished, work);
}

void nbcolli_shm_copy_some(struct nbcolli_shm_end *e)
{
    struct nbcolli_works before = e->gets;
    nbcoll_work *next = before.first;

    if (!next)
        return;
    nbcolli_works_clear(&e->gets);
    e->was_short = e->short_of_windows;
    e->short_of_windows = false;
    while (next && e->copied < e->most) {
        nbcoll_work *work = next;
        next = work->next;
        nbcolli_shm_get_on(e, work);
    }
    e->gets_more = (next || e->gets.first) && e->copied >= e->most;
    if (!next)
        return;
    before.first = next; /* gets without a turn come first in the next progress */
    nbcolli_works_join(&before, &e->gets);
    e->gets = before;
}

void nbcolli_shm_get_cancel(nbcoll_endpoint *ep, nbcoll_work *work)
{
    struct nbcolli_shm_end *e = nbcolli_shm_end(ep);

    if (!nbcolli_works_cancel(&e->gets, work, &e->finished))
        return; /* cancelled before, or finished */
    e->gets_more = false;
    nbcolli_shm_pieces_close(e, work);
}

/* ---- the trial --------------------------------------------------------------------------------------------------- */

#define NBCOLLI_SHM_NOT_TRIED (-1)

static int nbcolli_shm_try_one(struct nbcolli_shm_end *e, int peer)
{
    if (e->flags & NBCOLL_SHM_NO_BULK)
        return NBCOLLI_SHM_NOT_TRIED;
    if (e->flags & NBCOLL_SHM_NO_CMA)
        return e->home->place[peer].pid == e->home->pid ? 0 : NBCOLLI_SHM_NOT_TRIED;
    /* read once: later values do not count. acquire: the token exists */
    e->peer[peer].token = atomic_load_explicit(&nbcolli_shm_seat(e->home, peer)->token, memory_order_acquire);
    int error = nbcolli_shm_read(e, peer, 0, NULL, 0);
    return e->home->place[peer].pid == e->home->pid ? 0 : error;
}

void nbcolli_shm_try(struct nbcolli_shm_end *e)
{
    int pieces = e->flags & (NBCOLL_SHM_NO_BULK | NBCOLL_SHM_NO_PIECES) ? 0 : NBCOLLI_SHM_PIECES;

    for (int peer = 0; peer < e->base.ranks; peer++) {
        e->peer[peer].error = nbcolli_shm_try_one(e, peer);
        uint8_t bits = (uint8_t)((e->peer[peer].error == 0 ? NBCOLLI_SHM_READS : 0) | pieces);
        atomic_store_explicit(nbcolli_shm_reach(e->home, e->base.rank, peer), bits, memory_order_release);
    }
}

void nbcolli_shm_tried(struct nbcolli_shm_end *e)
{
    for (int peer = 0; peer < e->base.ranks; peer++) {
        struct nbcolli_shm_peer *p = &e->peer[peer];
        /* acquire: their values */
        uint8_t mine = atomic_load_explicit(nbcolli_shm_reach(e->home, e->base.rank, peer), memory_order_acquire);
        uint8_t other = atomic_load_explicit(nbcolli_shm_reach(e->home, peer, e->base.rank), memory_order_acquire);
        uint8_t both = mine & other;
        bool reads = both & NBCOLLI_SHM_READS, one = e->home->place[peer].pid == e->home->pid;
        p->pieces = both & NBCOLLI_SHM_PIECES ? 1 : 0;
        p->here = reads && one && !(p->pieces && e->flags & NBCOLL_SHM_PIECES);
        p->cma = reads && !p->here && !(e->flags & NBCOLL_SHM_NO_CMA);
    }
}

nbcoll_shm_path nbcolli_shm_path(const struct nbcolli_shm_end *e, int peer)
{
    const struct nbcolli_shm_peer *p = &e->peer[peer];

    if (p->here)
        return NBCOLL_SHM_BY_REFERENCE;
    if (p->cma)
        return p->pieces ? NBCOLL_SHM_BY_EITHER : NBCOLL_SHM_BY_CMA;
    return p->pieces ? NBCOLL_SHM_BY_PIECES : NBCOLL_SHM_BY_FRAGMENTS;
}

const char *nbcolli_shm_why(const struct nbcolli_shm_end *e, int peer)
{
    if (e->peer[peer].here)
        return "";
    if (e->peer[peer].cma)
        return "the peer is another process";
    switch ((int)e->peer[peer].error) { /* the cast: clang switches on no atomic object */
    case 0:
        return "the peer cannot read our memory, or was told not to";
    case NBCOLLI_SHM_NOT_TRIED:
        return "switched off by a flag";
    case EPERM:
        return "process_vm_readv is not permitted: by Yama's ptrace_scope, missing capabilities or a system call "
               "filter";
    case ENOSYS:
        return "this kernel, or a system call filter, has no process_vm_readv";
    default:
        return "process_vm_readv failed";
    }
}

const nbcoll_bulk nbcolli_shm_bulk = {.size = sizeof nbcolli_shm_bulk,
                                      .flags = NBCOLL_BULK_ANY_LOCAL | NBCOLL_BULK_ONE_KEY,
                                      .register_memory = nbcolli_shm_bulk_register,
                                      .get = nbcolli_shm_bulk_get,
                                      .reaches = nbcolli_shm_bulk_reaches,
                                      .view = nbcolli_shm_bulk_view};
