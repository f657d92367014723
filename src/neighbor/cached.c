/* SPDX-License-Identifier: BSD-3-Clause
 * The schedules of the last calls. */
#include "../host/host.h"
#include "../reduce/packed.h"
#include "neighbors.h"

enum { NBCOLLI_CALLS_CACHED = 16 };

/* How many blocks a call's side has. */
static size_t nbcolli_blocks_of(const nbcolli_around *a, const nbcolli_neighbor_call *c, int is_recv)
{
    return is_recv ? (size_t)a->in.count : nbcolli_gathers(c) ? 1 : (size_t)a->out.count;
}

static int nbcolli_types_alike(nbcoll_type one, nbcoll_type other)
{
    const nbcoll_host_type *mine = nbcolli_host_type(one), *theirs = nbcolli_host_type(other);
    if (!mine || !theirs)
        return one == other;
    return mine->extent == theirs->extent && mine->packed == theirs->packed && mine->user == theirs->user &&
           mine->pack == theirs->pack && mine->unpack == theirs->unpack &&
           nbcolli_unit_type(one) == nbcolli_unit_type(other) &&
           (!nbcolli_has_units(mine) ||
            (mine->pack_units == theirs->pack_units && mine->unpack_units == theirs->unpack_units));
}

static int nbcolli_numbers_alike(const size_t *kept, const size_t *numbers, size_t n)
{
    if (!nbcolli_are_ints(numbers))
        return memcmp(kept, numbers, n * sizeof *kept) == 0;
    while (n && kept[n - 1] == nbcolli_number_at(numbers, n - 1))
        n--;
    return !n;
}

/* `one` is kept. */
static int nbcolli_sides_alike(const nbcolli_blocks_side *one, const nbcolli_blocks_side *other, size_t blocks)
{
    if (one->count != other->count || !nbcolli_types_alike(one->type, other->type) || !one->counts != !other->counts)
        return 0;
    if (one->counts && !(nbcolli_numbers_alike(one->counts, other->counts, blocks) &&
                         nbcolli_numbers_alike(one->displs, other->displs, blocks)))
        return 0;
    for (size_t i = 0; one->types && i < blocks; i++)
        if (one->counts[i] && !nbcolli_types_alike(one->types[i], other->types[i]))
            return 0;
    return 1;
}

/* The next `bytes` of a block; only counted where there is none. */
static void *nbcolli_cached_place(char *block, size_t *used, size_t bytes)
{
    char *at = block ? block + *used : NULL;
    *used += (bytes + 15) / 16 * 16;
    return at;
}

/* A copy of the descriptor in the place of a host's type. */
static nbcoll_type nbcolli_cached_type(char *block, size_t *used, nbcoll_type type)
{
    const nbcoll_host_type *host = nbcolli_host_type(type);
    void *copy = host ? nbcolli_cached_place(block, used, sizeof *host) : NULL;
    if (copy)
        nbcolli_copy_tagged(copy, host, sizeof *host);
    return host ? (nbcoll_type)copy : type;
}

static const size_t *nbcolli_cached_numbers(char *block, size_t *used, const size_t *from, size_t n)
{
    size_t *copy = nbcolli_cached_place(block, used, n * sizeof *copy);
    for (size_t i = 0; copy && i < n; i++)
        copy[i] = nbcolli_number_at(from, i);
    return copy;
}

static void nbcolli_cached_side(char *block, size_t *used, const nbcolli_blocks_side *from, nbcolli_blocks_side *to,
                                size_t blocks)
{
    *to = *from;
    to->type = nbcolli_cached_type(block, used, from->type);
    if (!from->counts || !blocks)
        return;
    to->counts = nbcolli_cached_numbers(block, used, from->counts, blocks);
    to->displs = nbcolli_cached_numbers(block, used, from->displs, blocks);
    nbcoll_type *types = from->types ? nbcolli_cached_place(block, used, blocks * sizeof *types) : NULL;
    for (size_t i = 0; from->types && i < blocks; i++) {
        nbcoll_type type = nbcolli_number_at(from->counts, i) ? nbcolli_cached_type(block, used, from->types[i])
                                                              : (nbcoll_type)NBCOLL_BYTE;
        if (types)
            types[i] = type;
    }
    to->types = types;
}

static nbcolli_cached_call *nbcolli_cached_make(nbcoll_neighbors *n, const nbcolli_neighbor_call *c)
{
    char *block = NULL;
    nbcolli_cached_call counted, *made = &counted;
    size_t used = 0;

    for (int pass = 0; pass < 2; pass++) {
        size_t memory = used;
        if (pass && (block = nbcolli_alloc(&n->host, memory, 64)) == NULL)
            return NULL;
        used = 0;
        nbcolli_cached_place(block, &used, sizeof *made);
        made = block ? (nbcolli_cached_call *)block : made;
        *made = (nbcolli_cached_call){.memory = memory, .call.kind = c->kind};
        for (int i = 0; i < 2; i++)
            nbcolli_cached_side(block, &used, &c->side[i], &made->call.side[i], nbcolli_blocks_of(n->around, c, i));
    }
    return made;
}

/* Frees what is at *at, unless it is in use. */
static nbcoll_status nbcolli_cached_drop(nbcoll_neighbors *n, nbcolli_cached_call **at)
{
    nbcolli_cached_call *e = *at;
    nbcoll_status s = nbcoll_schedule_free(e->schedule);

    if (s != NBCOLL_OK)
        return s;
    *at = e->next;
    nbcolli_free(&n->host, e, e->memory);
    return NBCOLL_OK;
}

nbcoll_status nbcolli_cached_free(nbcoll_neighbors *n)
{
    nbcoll_status s = NBCOLL_OK;
    for (nbcolli_cached_call **at = &n->cached; *at;) {
        nbcoll_status freed = nbcolli_cached_drop(n, at);
        if (freed != NBCOLL_OK) {
            s = freed;
            at = &(*at)->next;
        }
    }
    return s;
}

/* Drops what was used longest ago, beyond the number that is kept. */
static void nbcolli_cached_bound(nbcoll_neighbors *n)
{
    int kept = 0;
    for (nbcolli_cached_call **at = &n->cached; *at;)
        if (++kept <= NBCOLLI_CALLS_CACHED || nbcolli_cached_drop(n, at) != NBCOLL_OK)
            at = &(*at)->next;
}

static nbcoll_status nbcolli_cached_build(nbcoll_neighbors *n, nbcolli_cached_call *e)
{
    nbcoll_builder_config config = {.size = sizeof config,
                                    .host = &n->host,
                                    .rank = n->around->rank,
                                    .ranks = n->around->ranks,
                                    .shares = nbcoll_comm_shares,
                                    .shares_user = n->comm,
                                    .nodes = nbcoll_comm_nodes(n->comm)};
    nbcoll_schedule_info info = {.size = sizeof info};
    nbcolli_neighbor_choice choice = nbcolli_neighbor_choose(n->around, &e->call, &n->terms, n->exposures);
    nbcoll_status s = nbcolli_neighbor_build(n->around, &e->call, choice, &config, &e->schedule);

    if (s == NBCOLL_OK)
        s = nbcoll_schedule_query(e->schedule, &info);
    e->sent = info.extent[NBCOLL_BUFFER_SEND];
    e->received = info.extent[NBCOLL_BUFFER_RECV];
    return s;
}

nbcoll_status nbcolli_cached_find(nbcoll_neighbors *n, const nbcolli_neighbor_call *c, nbcolli_cached_call **out)
{
    for (nbcolli_cached_call **at = &n->cached, *e; (e = *at) != NULL; at = &e->next)
        if (e->call.kind == c->kind &&
            nbcolli_sides_alike(&e->call.side[0], &c->side[0], nbcolli_blocks_of(n->around, c, 0)) &&
            nbcolli_sides_alike(&e->call.side[1], &c->side[1], nbcolli_blocks_of(n->around, c, 1))) {
            *at = e->next;
            e->next = n->cached;
            n->cached = *out = e;
            return NBCOLL_OK;
        }
    nbcoll_status s = nbcolli_neighbor_check(n->around, c);
    nbcolli_cached_call *e = s == NBCOLL_OK ? nbcolli_cached_make(n, c) : NULL;
    if (!e)
        return s == NBCOLL_OK ? NBCOLL_ERR_MEMORY : s;
    if ((s = nbcolli_cached_build(n, e)) != NBCOLL_OK) {
        nbcoll_schedule_free(e->schedule);
        nbcolli_free(&n->host, e, e->memory);
        return s;
    }
    e->next = n->cached;
    n->cached = *out = e;
    nbcolli_cached_bound(n);
    return NBCOLL_OK;
}
