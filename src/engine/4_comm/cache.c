/* SPDX-License-Identifier: BSD-3-Clause
 * The bounded cache of a communicator's schedules, under everything that their builders read: see cache.h. */
#include "cache.h"

#include "key.h"
#include "nbcoll/select.h"
#include "programs.h"
#include "../3_run/cells.h"
#include "../3_run/pool.h"
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
    if (e->schedule->users)
        e->schedule->evicted = 1;
    else
        nbcolli_schedule_drop(e->schedule);
    nbcolli_free(&comm->context->host, e, e->memory);
}

void nbcolli_cache_clear(nbcoll_comm *comm)
{
    while (comm->cache.oldest)
        nbcolli_cache_evict(comm, comm->cache.oldest);
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

static nbcoll_status nbcolli_cache_make(nbcoll_comm *comm, nbcoll_args args, nbcoll_schedule **out)
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
        nbcoll_refusal why = {.size = sizeof why};
        nbcoll_status offloaded = nbcolli_comm_compile(comm, &args, out, &why);
        if (offloaded != NBCOLL_ERR_UNSUPPORTED)
            return offloaded == NBCOLL_OK ? nbcolli_schedule_own(*out, comm->context) : offloaded;
    }
    nbcoll_comm_terms(comm, &terms);
    terms.carries = 0; /* those relays do not come here */
    nbcoll_status s = nbcoll_select(&terms, &args, &choice);
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
    (*out)->converges |= nbcolli_converges(args.operation);
    if ((*out)->shared && !nbcolli_cells_suffice(comm, *out)) { /* an algorithm of the host's, by a rule */
        nbcolli_schedule_delete(*out);
        return NBCOLL_ERR_LIMIT;
    }
    return nbcolli_schedule_own(*out, comm->context);
}

/* With stand-ins for what is the host's, which lives no longer than the call's request. */
static nbcoll_status nbcolli_cache_build(nbcoll_comm *comm, nbcolli_cached *e, const nbcoll_args *a)
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
    nbcoll_status s = nbcolli_cache_make(comm, args, &e->schedule);
    if (s == NBCOLL_OK)
        e->schedule->stand_in = in;
    else if (in)
        nbcolli_free(host, in, sizeof *in);
    return s;
}

nbcoll_status nbcolli_comm_schedule(nbcoll_comm *comm, const nbcoll_args *a, nbcoll_schedule **out)
{
    nbcolli_cache *cache = &comm->cache;
    uint32_t hash = nbcolli_key_hash(a, comm->size);
    nbcolli_cached **bucket = &cache->bucket[hash & (cache->buckets - 1)], *e = *bucket;

    while (e && !(e->hash == hash && nbcolli_key_same(&e->args, a, comm->size)))
        e = e->next;
    if (e) {
        if (e->newer)
            nbcolli_cache_renew(cache, e);
        *out = e->schedule;
        return NBCOLL_OK;
    }
    e = nbcolli_entry_make(comm, a, hash);
    if (!e)
        return NBCOLL_ERR_MEMORY;
    nbcoll_status s = nbcolli_cache_build(comm, e, a);
    if (s != NBCOLL_OK) {
        nbcolli_free(&comm->context->host, e, e->memory);
        return s;
    }
    if (cache->entries == cache->limit)
        nbcolli_cache_evict(comm, cache->oldest);
    e->next = *bucket;
    *bucket = e;
    nbcolli_age_newest(cache, e);
    cache->entries++;
    *out = e->schedule;
    return NBCOLL_OK;
}
