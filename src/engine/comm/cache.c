/* SPDX-License-Identifier: BSD-3-Clause
 * The bounded cache of a communicator's schedules, under everything that their builders read: see cache.h. */
#include "cache.h"

#include "executors.h"
#include "key.h"
#include "../exposures/cells.h"
#include "../run/called.h"
#include "../run/pool.h"
#include "../../arguments/arguments.h"
#include "../../host/host.h"

static void nbcolli_age_unlink(nbcolli_cache *cache, nbcolli_cached *e)
{
    *(e->newer ? &e->newer->older : &cache->newest) = e->older;
    *(e->older ? &e->older->newer : &cache->oldest) = e->newer;
}

static void nbcolli_age_newest(nbcolli_cache *cache, nbcolli_cached *e)
{
    e->newer = NULL;
    e->older = cache->newest;
    *(cache->newest ? &cache->newest->newer : &cache->oldest) = e;
    cache->newest = e;
}

void nbcolli_cache_renew(nbcolli_cache *cache, nbcolli_cached *e)
{
    nbcolli_age_unlink(cache, e);
    nbcolli_age_newest(cache, e);
}

/* Frees them, unless they lie in the communicator. */
static void nbcolli_cache_forget_buckets(nbcoll_comm *comm)
{
    nbcolli_cache *cache = &comm->cache;
    if (cache->buckets > NBCOLLI_CACHE_BUCKETS)
        nbcolli_free(&comm->context->host, cache->bucket, cache->buckets * sizeof *cache->bucket);
}

/* Bytes of an entry, all that its schedule has included. */
static size_t nbcolli_cached_bytes(const nbcolli_cached *e)
{
    return e->memory + e->schedule->memory + (e->schedule->stand_in ? sizeof(nbcolli_stand_in) : 0) + e->schedule->held;
}

/* What building it again takes, by its steps, for each KiB that it takes: a power of two. */
static uint32_t nbcolli_cached_weight(const nbcoll_comm *comm, const nbcolli_cached *e)
{
    uint64_t built = (uint64_t)e->schedule->steps * (comm->config.agent ? (uint64_t)comm->size : 1); /* of all ranks */
    size_t run = e->schedule->held ? 0 : e->schedule->extent[NBCOLL_BUFFER_SCRATCH] + e->schedule->bounce;
    uint64_t each = 64 * built / ((nbcolli_cached_bytes(e) + run) / 1024 + 1);
    return 64 - (uint32_t)__builtin_clzll(each | 1);
}

static void nbcolli_cache_evict(nbcoll_comm *comm, nbcolli_cached *e)
{
    nbcolli_cached **at = &comm->cache.bucket[e->hash & (comm->cache.buckets - 1)];

    for (uint32_t i = 0; i < NBCOLLI_NOTES; i++)
        if (comm->cache.memo[i].entry == e)
            comm->cache.memo[i] = (nbcolli_call_note){0};
    while (*at != e)
        at = &(*at)->next;
    *at = e->next;
    nbcolli_age_unlink(&comm->cache, e);
    comm->cache.entries--;
    comm->cache.bytes -= nbcolli_cached_bytes(e);
    e->schedule->cached = NULL;
    if (e->schedule->users)
        e->schedule->evicted = 1;
    else
        nbcolli_schedule_drop(e->schedule);
    nbcolli_free(&comm->context->host, e, e->memory);
}

#define NBCOLLI_SPARED 8u /* of the oldest eighth at most so many are looked at */

/* Of those used longest ago the one that is cheapest to build again. Those used before it weigh less the next time. */
static nbcolli_cached *nbcolli_cache_choose(nbcolli_cache *cache)
{
    uint32_t looks = cache->entries / 8 < NBCOLLI_SPARED ? cache->entries / 8 : NBCOLLI_SPARED;
    nbcolli_cached *chosen = cache->oldest, *e = chosen->newer;

    for (uint32_t i = 1; i < looks; i++, e = e->newer)
        if (e->weight < chosen->weight)
            chosen = e;
    for (e = cache->oldest; e != chosen; e = e->newer)
        e->weight--; /* more than the chosen one's */
    return chosen;
}

/* Makes room, but for the newest one. */
static void nbcolli_cache_trim(nbcoll_comm *comm)
{
    nbcolli_cache *cache = &comm->cache;

    while (cache->entries > 1 &&
           (cache->entries > cache->limit || (cache->bytes > cache->most && cache->entries > cache->spared))) {
        nbcolli_cache_evict(comm, nbcolli_cache_choose(cache));
        cache->evicted++;
    }
}

/* Twice as many buckets, if there is memory for them. */
static void nbcolli_cache_widen(nbcoll_comm *comm)
{
    nbcolli_cache *cache = &comm->cache;
    const nbcoll_host *host = &comm->context->host;
    uint32_t buckets = 2 * cache->buckets;
    nbcolli_cached **bucket = nbcolli_alloc(host, buckets * sizeof *bucket, sizeof *bucket);

    if (!bucket)
        return;
    memset(bucket, 0, buckets * sizeof *bucket);
    for (nbcolli_cached *e = cache->oldest; e; e = e->newer) {
        e->next = bucket[e->hash & (buckets - 1)];
        bucket[e->hash & (buckets - 1)] = e;
    }
    nbcolli_cache_forget_buckets(comm);
    cache->bucket = bucket;
    cache->buckets = buckets;
}

void nbcolli_cache_open(nbcoll_comm *comm, nbcolli_cached **bucket)
{
    const nbcoll_comm_config *config = &comm->config;
    comm->cache = (nbcolli_cache){.bucket = bucket,
                                  .buckets = NBCOLLI_CACHE_BUCKETS,
                                  .limit = config->schedules,
                                  .spared = config->schedule_bytes ? 0 : NBCOLLI_CACHE_BUCKETS,
                                  .most = config->schedule_bytes ? config->schedule_bytes : NBCOLLI_CACHE_BYTES};
}

void nbcolli_cache_clear(nbcoll_comm *comm)
{
    while (comm->cache.oldest)
        nbcolli_cache_evict(comm, comm->cache.oldest);
    nbcolli_cache_forget_buckets(comm);
}

_Static_assert(sizeof(nbcoll_type) == sizeof(size_t), "the three arrays have elements of one size");

/* Copies an array behind the entry, at *to. */
static const void *nbcolli_keep_array(const void *array, size_t bytes, unsigned char **to)
{
    if (!array)
        return NULL;
    unsigned char *copy = memcpy(*to, array, bytes);
    *to += bytes;
    return copy;
}

/* An entry for these arguments, without a schedule yet. */
static nbcolli_cached *nbcolli_entry_make(nbcoll_comm *comm, const nbcoll_args *a, uint32_t hash)
{
    size_t array = (size_t)comm->size * sizeof(size_t);
    size_t memory = sizeof(nbcolli_cached) + array * (!!a->counts + !!a->displs + !!a->types);
    nbcolli_cached *e = nbcolli_alloc(&comm->context->host, memory, _Alignof(nbcolli_cached));

    if (!e)
        return NULL;
    unsigned char *to = (unsigned char *)(e + 1);
    *e = (nbcolli_cached){.hash = hash, .memory = memory, .args = *a};
    e->args.counts = nbcolli_keep_array(a->counts, array, &to);
    e->args.displs = nbcolli_keep_array(a->displs, array, &to);
    if (a->types)
        nbcolli_key_types((nbcoll_type *)(void *)to, a, comm->size);
    e->args.types = a->types ? (const nbcoll_type *)(const void *)to : NULL;
    return e;
}

static nbcoll_status nbcolli_cache_make(nbcoll_comm *comm, nbcoll_args args, const nbcolli_algorithms *among,
                                        nbcoll_schedule **out)
{
    nbcoll_builder_config config = {.size = sizeof config,
                                    .host = &comm->context->host,
                                    .rank = comm->rank,
                                    .ranks = comm->size,
                                    .shares = nbcoll_comm_shares,
                                    .shares_user = comm,
                                    .cells = comm->config.cells,
                                    .flags = comm->config.flags,
                                    .nodes = &comm->nodes};
    nbcoll_terms terms = {.size = sizeof terms};
    nbcoll_choice choice = {.size = sizeof choice};

    if (comm->config.agent && !(comm->config.flags & NBCOLL_CHECKED)) {
        nbcoll_status planned = nbcolli_executors_plan(comm, &args, out);
        if (planned == NBCOLL_OK)
            nbcolli_called_note(comm, *out, &args);
        if (planned != NBCOLL_ERR_UNSUPPORTED)
            return planned == NBCOLL_OK ? nbcolli_schedule_own(*out, comm->context) : planned;
    }
    nbcoll_comm_terms(comm, &terms);
    terms.carries = 0; /* those relays do not come here */
    nbcoll_status s = nbcolli_select(&terms, &args, among, &choice);
    if (s != NBCOLL_OK)
        return s;
    args.segment = choice.segment;
    args.arity = choice.arity;
    args.ports = choice.ports;
    args.split = choice.split;
    args.leaders = choice.leaders;
    s = nbcoll_build_schedule(choice.algorithm, &args, &config, out);
    if (s != NBCOLL_OK)
        return s;
    nbcolli_called_note(comm, *out, &args);
    (*out)->converges |= nbcolli_converges(args.operation);
    (*out)->unit = args.element ? args.element : 1;
    (*out)->together = (choice.algorithm->flags & NBCOLL_ALGORITHM_TOGETHER) != 0;
    if ((*out)->shared && !nbcolli_cells_suffice(comm, *out)) { /* an algorithm of the host's, by a rule */
        nbcolli_schedule_delete(*out);
        return NBCOLL_ERR_LIMIT;
    }
    return nbcolli_schedule_own(*out, comm->context);
}

/* With stand-ins for what is the host's, which lives no longer than the call's request. */
static nbcoll_status nbcolli_cache_build(nbcoll_comm *comm, nbcolli_cached *e, const nbcoll_args *a,
                                         const nbcolli_algorithms *among)
{
    const nbcoll_host *host = &comm->context->host;
    nbcoll_args args = *a;
    nbcolli_stand_in *in = NULL;

    if (nbcolli_needs_stand_in(a->reduction)) {
        in = nbcolli_alloc(host, sizeof *in, _Alignof(nbcolli_stand_in));
        if (!in)
            return NBCOLL_ERR_MEMORY;
        nbcolli_stand_in_make(in, &args.reduction);
        e->args.reduction = args.reduction;
    }
    nbcoll_status s = nbcolli_cache_make(comm, args, among, &e->schedule);
    if (s == NBCOLL_OK)
        e->schedule->stand_in = in;
    else if (in)
        nbcolli_free(host, in, sizeof *in);
    return s;
}

/* It is there from now on: the newest one. */
static void nbcolli_cache_add(nbcoll_comm *comm, nbcolli_cached *e)
{
    nbcolli_cache *cache = &comm->cache;

    if (cache->entries >= cache->buckets)
        nbcolli_cache_widen(comm);
    nbcolli_cached **bucket = &cache->bucket[e->hash & (cache->buckets - 1)];
    e->next = *bucket;
    *bucket = e;
    e->weight = nbcolli_cached_weight(comm, e);
    nbcolli_age_newest(cache, e);
    cache->entries++;
    cache->built++;
    cache->bytes += nbcolli_cached_bytes(e);
    e->schedule->cached = &cache->bytes;
    nbcolli_cache_trim(comm);
}

nbcoll_status nbcolli_comm_schedule(nbcoll_comm *comm, const nbcoll_args *a, const nbcolli_algorithms *among,
                                    nbcoll_schedule **out)
{
    nbcolli_cache *cache = &comm->cache;
    uint32_t hash = nbcolli_key_hash(a, comm->size);
    nbcolli_cached *e = cache->bucket[hash & (cache->buckets - 1)];

    while (e && !(e->hash == hash && nbcolli_key_same(&e->args, a, comm->size)))
        e = e->next;
    if (e) {
        if (e->newer) {
            nbcolli_cache_renew(cache, e);
            e->weight = nbcolli_cached_weight(comm, e);
        }
        if (cache->bytes > cache->most)
            nbcolli_cache_trim(comm); /* runs have been made since */
        *out = e->schedule;
        return NBCOLL_OK;
    }
    e = nbcolli_entry_make(comm, a, hash);
    if (!e)
        return NBCOLL_ERR_MEMORY;
    nbcoll_status s = nbcolli_cache_build(comm, e, a, among);
    if (s != NBCOLL_OK) {
        nbcolli_free(&comm->context->host, e, e->memory);
        return s;
    }
    nbcolli_cache_add(comm, e);
    *out = e->schedule;
    return NBCOLL_OK;
}
