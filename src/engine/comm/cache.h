/* SPDX-License-Identifier: BSD-3-Clause
 * The bounded cache of a communicator's schedules, under everything that their builders read. Where they take more
 * bytes than the host allows, the one used longest ago makes room. If a request still holds it, that request frees it.
 *
 * A memo of calls comes first: two numbers, its word and its count, identify a call without arrays, of a predefined
 * type and op; checks and results of the first such call hold for all. Calls with a host's type, whose address may now
 * have another descriptor, or with arrays, whose contents may change, are never noted. A note is an entry of the cache
 * with the word of its last call, and goes with the entry; using it counts as using the entry. All this is the caller's
 * side's. Inline: what a call that is found costs. */
#ifndef NBCOLLI_ENGINE_COMM_CACHE_H
#define NBCOLLI_ENGINE_COMM_CACHE_H

#include "../state/context.h"
#include "../../select/select.h"

#define NBCOLLI_CACHE_BYTES ((size_t)32 << 20) /* where the host names no bound; */
#define NBCOLLI_CACHE_KEPT 128u                /* then so many entries are kept whatever they take */

/* Buckets for a cache of at most so many entries: about an eighth as many, 16 to 512. */
static inline uint32_t nbcolli_cache_buckets(uint32_t schedules)
{
    uint32_t buckets = 16;
    while (buckets < schedules / 8 && buckets < 512)
        buckets *= 2;
    return buckets;
}

/* As configured; the buckets are empty. */
void nbcolli_cache_open(nbcoll_comm *comm, nbcolli_cached **bucket);

/* Empties it. */
void nbcolli_cache_clear(nbcoll_comm *comm);

/* The schedule of a collective, from the communicator's cache or built by one of these algorithms. Its entry becomes
 * the newest. */
nbcoll_status nbcolli_comm_schedule(nbcoll_comm *comm, const nbcoll_args *a, const nbcolli_algorithms *among,
                                    nbcoll_schedule **out);

/* An entry that is not the newest one becomes it. */
void nbcolli_cache_renew(nbcolli_cache *cache, nbcolli_cached *e);

/* Where a call with this word and count is noted. */
static inline nbcolli_cached **nbcolli_note_at(nbcoll_comm *comm, uint64_t what, size_t count)
{
    uint64_t hash = (what ^ count * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0xd6e8feb86659fd93);
    return &comm->cache.memo[(hash >> 32) % NBCOLLI_NOTES];
}

/* The schedule that an earlier call with this word and count found, or null. Its entry becomes the newest. */
static inline const nbcolli_cached *nbcolli_recall(nbcoll_comm *comm, uint64_t what, size_t count)
{
    nbcolli_cached *e = *nbcolli_note_at(comm, what, count);
    if (!e || e->what != what || e->args.count != count)
        return NULL;
    if (e->age.next)
        nbcolli_cache_renew(&comm->cache, e);
    return e;
}

/* Notes that the call with this word and count found the newest entry. */
static inline void nbcolli_memorise(nbcoll_comm *comm, uint64_t what, size_t count, size_t extent)
{
    nbcolli_cached *e = NBCOLLI_HOLDER(nbcolli_cached, age.next, comm->cache.entries.end);
    *nbcolli_note_at(comm, what, count) = e;
    e->what = what;
    e->extent = extent;
}

#endif
