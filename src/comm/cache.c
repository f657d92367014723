/* SPDX-License-Identifier: BSD-3-Clause
 * The bounded cache of a communicator's schedules, under everything that their builders read. The one used longest ago
 * makes room; if a request still holds it, that request frees it. */
#include "nbcoll/inline/context.h"
#include "nbcoll/inline/select.h"

static uint32_t mix(uint32_t hash, uint64_t value)
{
    value *= 0x9e3779b97f4a7c15u;
    return (hash ^ (uint32_t)(value >> 32)) * 0x85ebca6bu;
}

static uint32_t hash_of(const nbcoll_args *a)
{
    uint32_t h = mix(0, a->count);
    h = mix(h, (uint64_t)a->operation << 32 | (uint32_t)a->root);
    return mix(h, (uint64_t)a->reduction.type << 32 | (uint32_t)a->reduction.op << 1 | (a->in_place != 0));
}

static int same(const nbcoll_args *a, const nbcoll_args *b)
{
    return a->count == b->count && a->operation == b->operation && a->root == b->root &&
           a->reduction.type == b->reduction.type && a->reduction.op == b->reduction.op &&
           !a->in_place == !b->in_place;
}

static void age_unlink(nbcolli_cache *cache, nbcolli_cached *e)
{
    *(e->newer ? &e->newer->older : &cache->newest) = e->older;
    *(e->older ? &e->older->newer : &cache->oldest) = e->newer;
}

static void age_newest(nbcolli_cache *cache, nbcolli_cached *e)
{
    e->newer = NULL;
    e->older = cache->newest;
    *(cache->newest ? &cache->newest->newer : &cache->oldest) = e;
    cache->newest = e;
}

static void evict(nbcoll_comm *comm, nbcolli_cached *e)
{
    nbcolli_cached **at = &comm->cache.bucket[e->hash & (comm->cache.buckets - 1)];

    while (*at != e)
        at = &(*at)->next;
    *at = e->next;
    age_unlink(&comm->cache, e);
    comm->cache.entries--;
    if (e->schedule->users)
        e->schedule->evicted = 1;
    else
        nbcoll_schedule_free(e->schedule);
    nbcolli_free(&comm->context->host, e, sizeof *e);
}

void nbcolli_cache_clear(nbcoll_comm *comm)
{
    while (comm->cache.oldest)
        evict(comm, comm->cache.oldest);
}

static nbcoll_status build(nbcoll_comm *comm, nbcolli_cached *e, const nbcoll_args *a, uint32_t hash)
{
    nbcoll_builder_config config = {.size = sizeof config, .host = &comm->context->host, .rank = comm->rank,
                                    .ranks = comm->size, .shares = nbcoll_comm_shares, .shares_user = comm,
                                    .cells = comm->config.cells};

    e->hash = hash;
    e->args = *a;
    nbcoll_status s = nbcoll_build_schedule(nbcolli_select(a, comm->size, comm->config.large, comm->shared), a, &config,
                                            &e->schedule);
    return s == NBCOLL_OK ? nbcolli_schedule_own(e->schedule, comm->context) : s;
}

nbcoll_status nbcolli_comm_schedule(nbcoll_comm *comm, const nbcoll_args *a, nbcoll_schedule **out)
{
    nbcolli_cache *cache = &comm->cache;
    uint32_t hash = hash_of(a);
    nbcolli_cached **bucket = &cache->bucket[hash & (cache->buckets - 1)], *e = *bucket;

    while (e && !(e->hash == hash && same(&e->args, a)))
        e = e->next;
    if (e) {
        age_unlink(cache, e);
        age_newest(cache, e);
        *out = e->schedule;
        return NBCOLL_OK;
    }
    e = nbcolli_alloc(&comm->context->host, sizeof *e, _Alignof(nbcolli_cached));
    if (!e)
        return NBCOLL_ERR_MEMORY;
    nbcoll_status s = build(comm, e, a, hash);
    if (s != NBCOLL_OK) {
        nbcolli_free(&comm->context->host, e, sizeof *e);
        return s;
    }
    if (cache->entries == cache->limit)
        evict(comm, cache->oldest);
    e->next = *bucket;
    *bucket = e;
    age_newest(cache, e);
    cache->entries++;
    *out = e->schedule;
    return NBCOLL_OK;
}
