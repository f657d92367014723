/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Bulk data: a copy from a thread of this process, or process_vm_readv from another one, where a trial at the opening
 * has shown that it works in both directions (containers, Yama and capabilities decide, and only a trial tells). Large
 * ones go in chunks, one each progress, so that no progress takes long.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* process_vm_readv */
#endif
#include <errno.h>
#include <sys/uio.h>

#include "shm.h"

#define SHM_CHUNK (256u << 10) /* tens of microseconds */

/* ---- keys ------------------------------------------------------------------------------------------------------ */

/* A key is address and length, 48 bits each, and a check over both under the ranks' secret: one that was damaged on its
 * way through the segment is noticed before anything is read. */
#define SHM_KEY_BITS 48
#define SHM_KEY_MASK ((UINT64_C(1) << SHM_KEY_BITS) - 1)

/* splitmix64's finish */
static uint64_t shm_mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static nbcoll_key shm_key(const struct shm_end *e, uint64_t address, uint64_t bytes)
{
    uint64_t check = shm_mix(shm_mix(address ^ e->home->secret) + bytes);
    return (nbcoll_key){{address | check << SHM_KEY_BITS, bytes | (check >> 16) << SHM_KEY_BITS}};
}

static nbcoll_status bulk_expose(nbcoll_endpoint *ep, const void *memory, size_t bytes, nbcoll_key *out)
{
    if (!memory)
        return NBCOLL_ERR_BUFFER;
    if ((uintptr_t)memory > SHM_KEY_MASK || bytes > SHM_KEY_MASK)
        return NBCOLL_ERR_LIMIT;
    *out = shm_key(nbcolli_shm_end(ep), (uintptr_t)memory, bytes);
    return NBCOLL_OK;
}

static void bulk_withdraw(nbcoll_endpoint *ep, nbcoll_key key)
{
    (void)ep;
    (void)key;
}

/* ---- reading --------------------------------------------------------------------------------------------------- */

/* Reads all of it, or says why not: 0 or an errno. */
static int shm_read(int pid, uint64_t from, void *to, size_t bytes)
{
    while (bytes) {
        struct iovec local = {to, bytes}, remote = {(void *)(uintptr_t)from, bytes};
        ssize_t n = process_vm_readv(pid, &local, 1, &remote, 1, 0);
        if (n <= 0)
            return n < 0 ? errno : EFAULT;
        from += (size_t)n;
        to = (char *)to + n;
        bytes -= (size_t)n;
    }
    return 0;
}

/* The process is looked at after the reading: until then its number cannot have become another's. */
static nbcoll_posted shm_fetch(struct shm_end *e, int peer, uint64_t from, void *to, size_t bytes)
{
    const struct shm_place *place = &e->home->place[peer];

    if (place->pid == e->home->pid) {
        memcpy(to, (const void *)(uintptr_t)from, bytes);
        return NBCOLL_POST_DONE;
    }
    int error = shm_read(place->pid, from, to, bytes);
    if (!nbcolli_shm_is_alive(e, peer))
        return NBCOLL_POST_LOST;
    return error == 0 ? NBCOLL_POST_DONE : error == ESRCH ? NBCOLL_POST_LOST : NBCOLL_POST_FAILED;
}

/* A get under way: scratch is peer, from, to, bytes left. */
static nbcoll_posted bulk_get(nbcoll_endpoint *ep, int peer, nbcoll_key key, size_t offset, void *to, size_t bytes,
                              nbcoll_record *record)
{
    struct shm_end *e = nbcolli_shm_end(ep);
    uint64_t address = key.word[0] & SHM_KEY_MASK, all = key.word[1] & SHM_KEY_MASK;
    nbcoll_key good = shm_key(e, address, all);

    if (peer < 0 || peer >= ep->ranks || !e->peer[peer].reaches || !address ||
        memcmp(&good, &key, sizeof key) != 0 || offset > all || bytes > all - offset)
        return NBCOLL_POST_FAILED;
    if (e->peer[peer].gone != SHM_HERE)
        return NBCOLL_POST_LOST;
    if (bytes <= SHM_CHUNK)
        return shm_fetch(e, peer, address + offset, to, bytes);
    record->scratch[0] = (uint64_t)peer;
    record->scratch[1] = address + offset;
    record->scratch[2] = (uintptr_t)to;
    record->scratch[3] = bytes;
    nbcolli_shm_append(&e->gets, record);
    return NBCOLL_POST_LENT;
}

void nbcolli_shm_copy_some(struct shm_end *e)
{
    nbcoll_record *record = e->gets.first;
    size_t bytes = record->scratch[3] < SHM_CHUNK ? record->scratch[3] : SHM_CHUNK;
    nbcoll_posted posted = shm_fetch(e, (int)record->scratch[0], record->scratch[1],
                                     (void *)(uintptr_t)record->scratch[2], bytes);

    record->scratch[1] += bytes;
    record->scratch[2] += bytes;
    record->scratch[3] -= bytes;
    if (posted == NBCOLL_POST_DONE && record->scratch[3])
        return;
    record->status = posted == NBCOLL_POST_DONE   ? NBCOLL_OK
                     : posted == NBCOLL_POST_LOST ? NBCOLL_ERR_PEER_LOST
                                                  : NBCOLL_ERR_TRANSPORT;
    e->gets.first = record->next;
    if (!e->gets.first)
        nbcolli_shm_clear(&e->gets);
    nbcolli_shm_append(&e->finished, record);
}

/* ---- the trial ------------------------------------------------------------------------------------------------- */

#define SHM_NOT_TRIED (-1)

static int shm_try_one(struct shm_end *e, int peer)
{
    const struct shm_place *place = &e->home->place[peer];
    uint64_t at = atomic_load_explicit(&nbcolli_shm_seat(e->home, peer)->trial, memory_order_acquire), token = 0;
    int error;

    if (e->flags & NBCOLL_SHM_NO_BULK)
        return SHM_NOT_TRIED;
    if (place->pid == e->home->pid)
        return 0;
    if (e->flags & NBCOLL_SHM_NO_CMA)
        return SHM_NOT_TRIED;
    error = shm_read(place->pid, at, &token, sizeof token);
    return error ? error : token == (e->home->secret ^ (uint64_t)peer) ? 0 : EFAULT;
}

void nbcolli_shm_try(struct shm_end *e)
{
    for (int peer = 0; peer < e->base.ranks; peer++) {
        e->peer[peer].error = shm_try_one(e, peer);
        atomic_store_explicit(nbcolli_shm_reach(e->home, e->base.rank, peer), e->peer[peer].error == 0,
                              memory_order_release);
    }
}

void nbcolli_shm_tried(struct shm_end *e)
{
    for (int peer = 0; peer < e->base.ranks; peer++)
        e->peer[peer].reaches =
            e->peer[peer].error == 0 &&
            atomic_load_explicit(nbcolli_shm_reach(e->home, peer, e->base.rank), memory_order_acquire) == 1;
}

static int bulk_reaches(nbcoll_endpoint *ep, int peer)
{
    return peer >= 0 && peer < ep->ranks && nbcolli_shm_end(ep)->peer[peer].reaches;
}

const char *nbcolli_shm_why(const struct shm_end *e, int peer)
{
    if (e->peer[peer].reaches)
        return e->home->place[peer].pid == e->home->pid ? "" : "the peer is another process";
    switch (e->peer[peer].error) {
    case 0:
        return "the peer cannot read our memory, or was told not to";
    case SHM_NOT_TRIED:
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

const nbcoll_bulk nbcolli_shm_bulk = {sizeof nbcolli_shm_bulk, bulk_expose, bulk_withdraw, bulk_get, bulk_reaches};
