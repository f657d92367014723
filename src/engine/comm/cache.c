/* SPDX-License-Identifier: BSD-3-Clause */
#include "cache.h"

#include "executors.h"
#include "../exposures/cells.h"
#include "../run/called.h"
#include "../run/pool.h"
#include "../../arguments/arguments.h"
#include "../../host/host.h"

/* ---- keys -------------------------------------------------------------------------------------------------------- *
 * What the schedule of a call depends on. Of a host's type that is its extent, what travels of it, and of what units,
 * of a host's operation whether it commutes. Their addresses, functions and `user` belong to the call: a request keeps
 * them, and a schedule has stand-ins in their place (schedule/schedule.h). */

static uint32_t nbcolli_key_mix(uint32_t hash, uint64_t value)
{
    value *= 0x9e3779b97f4a7c15u;
    return (hash ^ (uint32_t)(value >> 32)) * 0x85ebca6bu;
}

static uint32_t nbcolli_mix_array(uint32_t hash, const size_t *array, int n)
{
    for (int i = 0; array && i < n; i++)
        hash = nbcolli_key_mix(hash, array[i]);
    return hash;
}

#define NBCOLLI_KEY_WORDS 9

typedef struct nbcolli_call_key {
    size_t word[NBCOLLI_KEY_WORDS];
} nbcolli_call_key;

/* Of complete arguments, but for their arrays. */
static nbcolli_call_key nbcolli_call_key_of(const nbcoll_args *a)
{
    nbcoll_type type = a->reduction.type;
    return (nbcolli_call_key){{a->count, (size_t)a->operation, (unsigned)a->root, nbcoll_type_size(type),
                               nbcolli_packed_size(type), nbcolli_unit_type(type), nbcolli_op_number(a->reduction.op),
                               a->in_place != 0, a->packs != 0}};
}

static uint32_t nbcolli_key_hash(const nbcoll_args *a, int ranks)
{
    nbcolli_call_key key = nbcolli_call_key_of(a);
    uint32_t hash = nbcolli_mix_array(0, key.word, NBCOLLI_KEY_WORDS);
    return nbcolli_mix_array(nbcolli_mix_array(hash, a->counts, ranks), a->displs, ranks);
}

static int nbcolli_same_array(const void *a, const void *b, size_t bytes)
{
    return a && b ? !memcmp(a, b, bytes) : !a && !b;
}

static int nbcolli_same_types(const nbcoll_type *kept, const nbcoll_args *a, int ranks)
{
    for (int i = 0; kept && a->types && i < ranks; i++)
        if (kept[i] != nbcoll_type_size(nbcolli_type_at(a->types, a->counts, (size_t)i)))
            return 0;
    return !kept == !a->types;
}

/* Does the schedule that was built for `kept` serve `a`? `kept` has stand-ins, and as types the bytes of their
 * elements. */
static int nbcolli_key_same(const nbcoll_args *kept, const nbcoll_args *a, int ranks)
{
    size_t bytes = (size_t)ranks * sizeof(size_t);
    nbcolli_call_key key = nbcolli_call_key_of(a), other = nbcolli_call_key_of(kept);
    return memcmp(&key, &other, sizeof key) == 0 && nbcolli_same_array(kept->counts, a->counts, bytes) &&
           nbcolli_same_array(kept->displs, a->displs, bytes) && nbcolli_same_types(kept->types, a, ranks);
}

/* ---- stand-ins --------------------------------------------------------------------------------------------------- */

/* Puts stand-ins for the host's types and operation in *how: asked for sizes, never called. */
static void nbcolli_stand_in_make(nbcolli_stand_in *in, nbcoll_reduction *how)
{
    const nbcoll_host_type *type = nbcolli_host_type(how->type);
    const nbcoll_host_op *op = nbcolli_host_op(how->op);

    *in = (nbcolli_stand_in){.type.size = sizeof in->type, .op.size = sizeof in->op};
    if (type) {
        nbcolli_copy_tagged(&in->type, type, sizeof in->type);
        how->type = nbcoll_type_of(&in->type);
    }
    if (op) {
        nbcolli_copy_tagged(&in->op, op, sizeof in->op);
        how->op = nbcoll_op_of(&in->op);
    }
}

/* ---- entries ----------------------------------------------------------------------------------------------------- */

static nbcolli_cached *nbcolli_cache_oldest(const nbcolli_cache *cache)
{
    return NBCOLLI_HOLDER(nbcolli_cached, age, cache->entries.first);
}

void nbcolli_cache_renew(nbcolli_cache *cache, nbcolli_cached *e)
{
    nbcolli_list_leave(&e->age);
    nbcolli_list_add(&cache->entries, &e->age);
}

/* Bytes of an entry, its schedule and runs included. */
static size_t nbcolli_cached_bytes(const nbcolli_cached *e)
{
    return e->memory + e->schedule->memory + (e->schedule->stand_in ? sizeof(nbcolli_stand_in) : 0) + e->schedule->held;
}

static void nbcolli_cache_evict(nbcoll_comm *comm, nbcolli_cached *e)
{
    nbcolli_cached **at = &comm->cache.bucket[e->hash & (comm->cache.buckets - 1)];

    for (uint32_t i = 0; i < NBCOLLI_NOTES; i++)
        if (comm->cache.memo[i] == e)
            comm->cache.memo[i] = NULL;
    while (*at != e)
        at = &(*at)->next;
    *at = e->next;
    nbcolli_list_leave(&e->age);
    comm->cache.bytes -= nbcolli_cached_bytes(e);
    e->schedule->cached = NULL;
    if (e->schedule->users)
        e->schedule->evicted = 1;
    else
        nbcolli_schedule_drop(e->schedule);
    nbcolli_free(&comm->context->host, e, e->memory);
}

/* Makes room: what was used longest ago goes first, and the newest one stays. */
static void nbcolli_cache_trim(nbcoll_comm *comm)
{
    nbcolli_cache *cache = &comm->cache;

    while (cache->entries.count > 1 && (cache->entries.count > cache->limit ||
                                        (cache->bytes > cache->most && cache->entries.count > cache->spared))) {
        nbcolli_cache_evict(comm, nbcolli_cache_oldest(cache));
        cache->evicted++;
    }
}

void nbcolli_cache_open(nbcoll_comm *comm, nbcolli_cached **bucket)
{
    const nbcoll_comm_config *config = &comm->config;
    comm->cache = (nbcolli_cache){.bucket = bucket,
                                  .buckets = nbcolli_cache_buckets(config->schedules),
                                  .limit = config->schedules,
                                  .spared = config->schedule_bytes ? 0 : NBCOLLI_CACHE_KEPT,
                                  .most = config->schedule_bytes ? config->schedule_bytes : NBCOLLI_CACHE_BYTES};
}

void nbcolli_cache_clear(nbcoll_comm *comm)
{
    while (comm->cache.entries.first)
        nbcolli_cache_evict(comm, nbcolli_cache_oldest(&comm->cache));
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

/* An entry for these arguments, still without a schedule. */
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
    nbcoll_type *types = a->types ? (nbcoll_type *)(void *)to : NULL;
    e->args.types = types;
    for (int i = 0; types && i < comm->size; i++) /* a schedule reads nothing else of them than an element's bytes */
        types[i] = nbcoll_type_size(nbcolli_type_at(a->types, a->counts, (size_t)i));
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
    terms.carries = 0; /* calls for relays do not come here */
    nbcoll_status s = nbcolli_select(&terms, &args, among, &choice);
    if (s != NBCOLL_OK)
        return s;
    NBCOLLI_TAKE_PARAMETERS(&args, &choice);
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

/* With stand-ins for the host's descriptors, which live no longer than the call's request. */
static nbcoll_status nbcolli_cache_build(nbcoll_comm *comm, nbcolli_cached *e, const nbcoll_args *a,
                                         const nbcolli_algorithms *among)
{
    const nbcoll_host *host = &comm->context->host;
    nbcoll_args args = *a;
    nbcolli_stand_in *in = NULL;

    if (a->reduction.type >= NBCOLL_TYPE_COUNT || a->reduction.op >= NBCOLL_OP_COUNT) {
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

/* Adds the entry, as the newest. */
static void nbcolli_cache_add(nbcoll_comm *comm, nbcolli_cached *e)
{
    nbcolli_cache *cache = &comm->cache;

    nbcolli_cached **bucket = &cache->bucket[e->hash & (cache->buckets - 1)];
    e->next = *bucket;
    *bucket = e;
    nbcolli_list_add(&cache->entries, &e->age);
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
        if (e->age.next)
            nbcolli_cache_renew(cache, e);
        if (cache->bytes > cache->most)
            nbcolli_cache_trim(comm); /* new runs have grown it */
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
