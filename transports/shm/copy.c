/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Bulk data: a copy from a thread of this process, or process_vm_readv from another one, where a trial at the opening
 * has shown that it works in both directions (containers, Yama and capabilities decide, and only a trial tells). From
 * one progress to the next NBCOLL_PASS_BYTES are copied; what is beyond goes on in the next progress, by turns.
 *
 * Each call of process_vm_readv reads the token of the peer's process, too. One call reads one address space: with the
 * right token it was that of the rank that has joined, and not what its process has become by exec, nor another
 * process of the same number.
 *
 * There is no put: process_vm_writev cannot look at the token first and write afterwards in one step, so that what is
 * written after an exec would land in another program.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* process_vm_readv */
#endif
#include <errno.h>
#include <sys/uio.h>

#include "shm.h"

/* ---- keys ------------------------------------------------------------------------------------------------------ */

/* A key is address and length, 48 bits each, and a check over both under the ranks' secret: one that was damaged on its
 * way through the segment is noticed before anything is read. The uppermost bit of the length says that the memory is
 * in the segment, which every rank reads where it has mapped it; the address is its offset then. */
#define NBCOLLI_SHM_KEY_BITS 48
#define NBCOLLI_SHM_KEY_MASK ((UINT64_C(1) << NBCOLLI_SHM_KEY_BITS) - 1)
#define NBCOLLI_SHM_KEY_SEGMENT (UINT64_C(1) << (NBCOLLI_SHM_KEY_BITS - 1))

/* splitmix64's finish */
static uint64_t nbcolli_shm_mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void nbcolli_shm_key(const struct nbcolli_shm_end *e, uint64_t address, uint64_t bytes, uint64_t out[2])
{
    uint64_t check = nbcolli_shm_mix(nbcolli_shm_mix(address ^ e->home->secret) + bytes);
    out[0] = address | check << NBCOLLI_SHM_KEY_BITS;
    out[1] = bytes | (check >> 16) << NBCOLLI_SHM_KEY_BITS;
}

static int nbcolli_shm_bulk_reaches(nbcoll_endpoint *ep, int peer)
{
    return peer >= 0 && peer < ep->ranks && nbcolli_shm_end(ep)->peer[peer].reaches;
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
    bool here; /* it is one of this process */
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
    if (!in_segment && !e->peer[peer].reaches)
        return false;
    out->here = in_segment || e->home->place[peer].pid == e->home->pid;
    out->address = offset + (in_segment ? (uintptr_t)e->home->segment + address : address);
    return true;
}

/* A peer that has given us up does with its memory what it wants. */
void nbcolli_shm_give_up(nbcoll_endpoint *ep, int peer)
{
    atomic_store(nbcolli_shm_reach(nbcolli_shm_end(ep)->home, ep->rank, peer),
                 NBCOLLI_SHM_GIVEN_UP); /* before it does */
}

static bool nbcolli_shm_is_given_up_by(const struct nbcolli_shm_end *e, int peer)
{
    /* acquire: after what was read */
    return atomic_load_explicit(nbcolli_shm_reach(e->home, peer, e->base.rank), memory_order_acquire) ==
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

/* ---- reading --------------------------------------------------------------------------------------------------- */

uint64_t nbcolli_shm_token(const struct nbcolli_shm_home *h, int pid)
{
    return nbcolli_shm_mix(h->secret ^ nbcolli_shm_mix((uint64_t)pid));
}

/* Reads all of it, or says why not: 0 or an errno; ESRCH if the memory is not, or no more, that of the peer. */
static int nbcolli_shm_read(const struct nbcolli_shm_end *e, int peer, uint64_t from, void *to, size_t bytes)
{
    int pid = e->home->place[peer].pid;
    uint64_t token = 0;

    for (;;) {
        struct iovec local[] = {{&token, sizeof token}, {to, bytes}};
        struct iovec remote[] = {{(void *)(uintptr_t)e->peer[peer].token, sizeof token},
                                 {(void *)(uintptr_t)from, bytes}};
        ssize_t n = process_vm_readv(pid, local, 2, remote, 2, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EFAULT ? ESRCH : errno; /* of the data alone it would have read the token */
        if (n < (ssize_t)sizeof token || token != nbcolli_shm_token(e->home, pid))
            return ESRCH;
        n -= (ssize_t)sizeof token;
        if ((size_t)n == bytes)
            return 0;
        if (n == 0)
            return EFAULT;
        from += (size_t)n;
        to = (char *)to + n;
        bytes -= (size_t)n;
    }
}

static nbcoll_posted nbcolli_shm_fetch(struct nbcolli_shm_end *e, int peer, struct nbcolli_shm_there there, void *to,
                                       size_t bytes)
{
    int error = 0;
    if (nbcolli_shm_is_given_up_by(e, peer)) /* of a thread's the memory may be gone */
        return NBCOLL_POST_NOT_NOW;
    if (there.here)
        memcpy(to, (const void *)(uintptr_t)there.address, bytes);
    else
        error = nbcolli_shm_read(e, peer, there.address, to, bytes);
    if (error == ESRCH)
        nbcolli_shm_is_no_more(e, peer, ESRCH, "process_vm_readv no longer finds the memory of its process");
    else if (error)
        e->peer[peer].reason = (nbcoll_transport_error){error, "process_vm_readv"};
    if (error == 0 && nbcolli_shm_is_given_up_by(e, peer))
        return NBCOLL_POST_NOT_NOW;
    return error == 0 ? NBCOLL_POST_DONE : error == ESRCH ? NBCOLL_POST_LOST : NBCOLL_POST_FAILED;
}

/* A get under way: scratch is peer and whether it is here, from, to, bytes left. */
static nbcoll_posted nbcolli_shm_bulk_get(nbcoll_endpoint *ep, int peer, const nbcoll_key *key, size_t offset,
                                          const nbcoll_registration *local, void *to, size_t bytes, nbcoll_work *work)
{
    struct nbcolli_shm_end *e = nbcolli_shm_end(ep);
    struct nbcolli_shm_there there;

    (void)local;
    if (!nbcolli_shm_locate(e, peer, key, offset, bytes, &there)) {
        if (peer >= 0 && peer < ep->ranks)
            e->peer[peer].reason = (nbcoll_transport_error){EKEYREJECTED, "a key names no memory"};
        return NBCOLL_POST_FAILED;
    }
    if (e->peer[peer].gone != NBCOLLI_SHM_HERE)
        return NBCOLL_POST_LOST;
    if (bytes <= NBCOLL_PASS_BYTES - e->copied) {
        e->copied += bytes;
        return nbcolli_shm_fetch(e, peer, there, to, bytes);
    }
    work->scratch[0] = (uint64_t)peer << 1 | there.here;
    work->scratch[1] = there.address;
    work->scratch[2] = (uintptr_t)to;
    work->scratch[3] = bytes;
    nbcolli_shm_append(&e->gets, work);
    return NBCOLL_POST_LENT;
}

/* A piece of a get, as large as this progress has left. */
static nbcoll_posted nbcolli_shm_go_on(struct nbcolli_shm_end *e, nbcoll_work *work)
{
    size_t left = NBCOLL_PASS_BYTES - e->copied, bytes = work->scratch[3] < left ? work->scratch[3] : left;
    struct nbcolli_shm_there there = {work->scratch[1], work->scratch[0] & 1};
    nbcoll_posted posted =
        nbcolli_shm_fetch(e, (int)(work->scratch[0] >> 1), there, (void *)(uintptr_t)work->scratch[2], bytes);

    e->copied += bytes;
    if (posted == NBCOLL_POST_NOT_NOW)
        return posted;
    work->scratch[1] += bytes;
    work->scratch[2] += bytes;
    work->scratch[3] -= bytes;
    return posted;
}

void nbcolli_shm_copy_some(struct nbcolli_shm_end *e)
{
    while (e->gets.first && e->copied < NBCOLL_PASS_BYTES) {
        nbcoll_work *work = e->gets.first;
        nbcoll_posted posted = nbcolli_shm_go_on(e, work);

        e->gets.first = work->next;
        if (!e->gets.first)
            nbcolli_shm_clear(&e->gets);
        work->status = posted == NBCOLL_POST_DONE   ? NBCOLL_OK
                         : posted == NBCOLL_POST_LOST ? NBCOLL_ERR_PEER_LOST
                                                      : NBCOLL_ERR_TRANSPORT;
        int has_more = posted == NBCOLL_POST_NOT_NOW || (posted == NBCOLL_POST_DONE && work->scratch[3]);
        nbcolli_shm_append(has_more ? &e->gets : &e->finished, work);
    }
}

/* ---- the trial ------------------------------------------------------------------------------------------------- */

#define NBCOLLI_SHM_NOT_TRIED (-1)

static int nbcolli_shm_try_one(struct nbcolli_shm_end *e, int peer)
{
    const struct nbcolli_shm_place *place = &e->home->place[peer];

    if (e->flags & NBCOLL_SHM_NO_BULK)
        return NBCOLLI_SHM_NOT_TRIED;
    if (place->pid == e->home->pid)
        return 0;
    if (e->flags & NBCOLL_SHM_NO_CMA)
        return NBCOLLI_SHM_NOT_TRIED;
    /* once: what the segment says later does not count. acquire: the token is there */
    e->peer[peer].token = atomic_load_explicit(&nbcolli_shm_seat(e->home, peer)->token, memory_order_acquire);
    return nbcolli_shm_read(e, peer, 0, NULL, 0);
}

void nbcolli_shm_try(struct nbcolli_shm_end *e)
{
    for (int peer = 0; peer < e->base.ranks; peer++) {
        e->peer[peer].error = nbcolli_shm_try_one(e, peer);
        atomic_store_explicit(nbcolli_shm_reach(e->home, e->base.rank, peer), e->peer[peer].error == 0,
                              memory_order_release);
    }
}

void nbcolli_shm_tried(struct nbcolli_shm_end *e)
{
    for (int peer = 0; peer < e->base.ranks; peer++)
        e->peer[peer].reaches =
            e->peer[peer].error == 0 && atomic_load_explicit(nbcolli_shm_reach(e->home, peer, e->base.rank),
                                                             memory_order_acquire) == NBCOLLI_SHM_REACHES;
}

const char *nbcolli_shm_why(const struct nbcolli_shm_end *e, int peer)
{
    if (e->peer[peer].reaches)
        return e->home->place[peer].pid == e->home->pid ? "" : "the peer is another process";
    switch (e->peer[peer].error) {
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
                                      .flags = NBCOLL_BULK_ANY_LOCAL,
                                      .register_memory = nbcolli_shm_bulk_register,
                                      .get = nbcolli_shm_bulk_get,
                                      .reaches = nbcolli_shm_bulk_reaches,
                                      .view = nbcolli_shm_bulk_view};
