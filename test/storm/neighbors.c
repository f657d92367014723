/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Neighbourhood collectives on a communicator: all its ranks make a seeded graph, of which an edge may come twice or
 * lead to its own rank, or a grid of one or two dimensions, and exchange blocks with their neighbours; from edition 25
 * on also blocks with gaps in them, and as arrays of 32-bit numbers say. Who cannot make them does nothing: the others'
 * exchanges end badly then. */
#include <stdlib.h>
#include <string.h>

#include "rank.h"
#include "nbcoll/neighbor.h"
#include "nbcoll/strided.h"

enum { EDGES_MOST = 2 * RANKS_MOST };

/* From ALLGATHERV on: from edition 25 on. */
typedef enum exchange_kind { ALLGATHER, ALLTOALL, ALLTOALLV, ALLGATHERV, ALLTOALLW, EXCHANGES } exchange_kind;

typedef struct edges {
    int n, peer[EDGES_MOST], label[EDGES_MOST]; /* of several between two ranks the label says which; -1: nobody */
    size_t count[EDGES_MOST], at[EDGES_MOST], words;
    size_t gap[EDGES_MOST]; /* words from one to the next */
    /* of ALLTOALLW, in whose terms a block may have bytes, and gaps: */
    nbcoll_type type[EDGES_MOST];
    size_t elements[EDGES_MOST], bytes[EDGES_MOST];
    int narrow[2][EDGES_MOST];
} edges;

typedef struct around {
    rank *rank;
    const item *item;
    int index, at, ranks;
    exchange_kind what;
    nbcoll_neighbors *neighbors;
    nbcoll_strided gapped; /* a word, and one that is not the block's */
    edges in, out;
    uint32_t *send, *recv;
} around;

/* ---- who they are ------------------------------------------------------------------------------------------------ */

static int edges_between(const around *x, int from, int to)
{
    uint64_t draws = mix(mix(x->item->salt, 70 + (uint64_t)from), (uint64_t)to), few = 2 + (uint64_t)x->ranks / 4;
    return draws % few ? 0 : 1 + (int)(draws / few % 3 == 0);
}

static void add_edge(edges *e, int peer, int label)
{
    e->peer[e->n] = peer;
    e->label[e->n++] = label;
}

static nbcoll_status make_graph(around *x, const nbcoll_host *host)
{
    for (int q = 0; q < x->ranks; q++) {
        int peer = x->item->salt % 2 ? q : x->ranks - 1 - q;
        for (int k = 0; k < edges_between(x, x->at, peer); k++)
            add_edge(&x->out, peer, k);
        for (int k = 0; k < edges_between(x, q, x->at); k++)
            add_edge(&x->in, q, k);
    }
    nbcoll_neighbor_graph graph = {.size = sizeof graph,
                                   .sources = x->in.n,
                                   .source = x->in.peer,
                                   .destinations = x->out.n,
                                   .destination = x->out.peer,
                                   .host = host};
    return nbcoll_neighbors_of_graph(x->rank->comm[x->item->comm], &graph, &x->neighbors, NBCOLL_FOREVER);
}

/* What goes to offset o, which is number i, comes from its opposite, which is number i ^ 1. */
static nbcoll_status make_grid(around *x, const nbcoll_host *host)
{
    int wide = x->ranks % 2 == 0 ? 2 : 3, is_plane = x->ranks > wide && x->ranks % wide == 0;
    const int extent[2] = {is_plane ? wide : x->ranks, x->ranks / wide};
    const int periodic[2] = {(int)(x->item->salt / 2 % 2), (int)(x->item->salt / 4 % 2)};
    nbcoll_neighbor_grid grid = {
        .size = sizeof grid, .dims = is_plane ? 2 : 1, .extent = extent, .periodic = periodic, .host = host};
    nbcoll_neighborhood is = {.size = sizeof is};
    nbcoll_status status = nbcoll_neighbors_of_grid(x->rank->comm[x->item->comm], &grid, &x->neighbors, NBCOLL_FOREVER);
    if (status != NBCOLL_OK)
        return status;
    nbcoll_neighbors_query(x->neighbors, &is);
    for (int k = 0; k < is.destinations; k++) {
        add_edge(&x->out, is.destination[k], k);
        add_edge(&x->in, is.source[k], k ^ 1);
    }
    return NBCOLL_OK;
}

/* ---- blocks ------------------------------------------------------------------------------------------------------ */

static size_t count_of(const around *x, int from, int to, int label)
{
    uint64_t salt = mix(x->item->salt, 71);
    if (x->what == ALLGATHERV)
        salt = mix(salt, (uint64_t)from);
    if (x->what == ALLTOALLV || x->what == ALLTOALLW)
        salt = mix(mix(salt, (uint64_t)from), (uint64_t)(to * 4 + label));
    return salt % 8 == 0 ? 0 : salt / 8 % (salt / 64 % 8 == 0 ? 2000 / (size_t)x->ranks : 40);
}

static bool gathers(const around *x)
{
    return x->what == ALLGATHER || x->what == ALLGATHERV;
}

static uint32_t word_of(const around *x, int round, int from, int to, int label, size_t k)
{
    if (gathers(x))
        to = label = 0;
    return (uint32_t)mix(mix(x->item->salt + k, (uint64_t)(from * RANKS_MOST + to)), (uint64_t)(label + 8 * round));
}

/* 0: of words; 1: of bytes; 2: with gaps. */
static void lay_out_block(const around *x, edges *e, int k, uint64_t how)
{
    bool is_bytes = how == 1, has_gaps = how == 2 && x->what == ALLTOALLW;
    e->gap[k] = has_gaps ? 2 : 1;
    e->type[k] = is_bytes ? NBCOLL_BYTE : has_gaps ? nbcoll_type_of(&x->gapped.type) : NBCOLL_UINT32;
    e->elements[k] = e->count[k] * (is_bytes ? sizeof(uint32_t) : 1);
    e->bytes[k] = e->at[k] * sizeof(uint32_t);
}

static void lay_out(around *x, edges *e, bool comes)
{
    for (int k = 0; k < e->n; k++) {
        e->count[k] = comes ? count_of(x, e->peer[k], x->at, e->label[k]) : count_of(x, x->at, e->peer[k], e->label[k]);
        e->at[k] = e->words;
        lay_out_block(x, e, k, mix(x->item->salt + (uint64_t)k, (uint64_t)(2 * x->at + comes)) % 3);
        e->words += e->count[k] * e->gap[k];
    }
}

/* As they are, or as 32-bit numbers. */
static const size_t *numbers(const around *x, edges *e, const size_t wide[], int which)
{
    if (x->rank->storm->plan.edition < EDITION_OF_FORMS || mix(x->item->salt + (uint64_t)which, (uint64_t)x->at) % 2)
        return wide;
    for (int k = 0; k < e->n; k++)
        e->narrow[which][k] = (int)wide[k];
    return nbcoll_ints(e->narrow[which]);
}

static void fill(around *x, int round)
{
    for (size_t k = 0; k < count_of(x, x->at, 0, 0) && gathers(x); k++)
        x->send[k] = word_of(x, round, x->at, 0, 0, k);
    for (int e = 0; e < x->out.n && !gathers(x); e++)
        for (size_t k = 0; k < x->out.count[e]; k++)
            x->send[x->out.at[e] + k * x->out.gap[e]] =
                word_of(x, round, x->at, x->out.peer[e], x->out.label[e], k);
    memset(x->recv, 0xee, (x->in.words + 1) * sizeof *x->recv);
}

static void check(const around *x, int round)
{
    for (int e = 0; e < x->in.n; e++)
        for (size_t k = 0; k < x->in.count[e]; k++) {
            uint32_t expected =
                x->in.peer[e] < 0 ? 0xeeeeeeeeu : word_of(x, round, x->in.peer[e], x->at, x->in.label[e], k);
            const uint32_t *at = &x->recv[x->in.at[e] + k * x->in.gap[e]];
            if (at[0] != expected || (x->in.gap[e] == 2 && at[1] != 0xeeeeeeeeu)) {
                storm_find(x->rank->storm, "rank %d, item %d: word %zu of its source %d, number %d, is wrong",
                           x->rank->actor->rank, x->index, k, e, x->in.peer[e]);
                return;
            }
        }
    if (x->recv[x->in.words] != 0xeeeeeeeeu)
        storm_find(x->rank->storm, "rank %d, item %d: memory behind the blocks of its neighbours was touched",
                   x->rank->actor->rank, x->index);
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

static nbcoll_status start(around *x, bool persists, nbcoll_request *request)
{
    size_t count = count_of(x, 0, 0, 0);
    switch (x->what) {
    case ALLGATHER:
        return (persists ? nbcoll_neighbor_allgather_init
                         : nbcoll_ineighbor_allgather)(x->send, x->recv, count, NBCOLL_UINT32, x->neighbors, request);
    case ALLTOALL:
        return (persists ? nbcoll_neighbor_alltoall_init
                         : nbcoll_ineighbor_alltoall)(x->send, x->recv, count, NBCOLL_UINT32, x->neighbors, request);
    case ALLGATHERV:
        return (persists ? nbcoll_neighbor_allgatherv_init : nbcoll_ineighbor_allgatherv)(
            x->send, count_of(x, x->at, 0, 0), x->recv, numbers(x, &x->in, x->in.count, 0),
            numbers(x, &x->in, x->in.at, 1), NBCOLL_UINT32, x->neighbors, request);
    case ALLTOALLW:
        return (persists ? nbcoll_neighbor_alltoallw_init : nbcoll_ineighbor_alltoallw)(
            x->send, numbers(x, &x->out, x->out.elements, 0), numbers(x, &x->out, x->out.bytes, 1), x->out.type,
            x->recv, numbers(x, &x->in, x->in.elements, 0), numbers(x, &x->in, x->in.bytes, 1), x->in.type,
            x->neighbors, request);
    default:
        return (persists ? nbcoll_neighbor_alltoallv_init : nbcoll_ineighbor_alltoallv)(
            x->send, numbers(x, &x->out, x->out.count, 0), numbers(x, &x->out, x->out.at, 1), x->recv,
            numbers(x, &x->in, x->in.count, 0), numbers(x, &x->in, x->in.at, 1), NBCOLL_UINT32, x->neighbors, request);
    }
}

/* What ends with ERR_CANCELLED was so by who could not make neighbours. */
static void judge_exchange(const around *x, nbcoll_status status)
{
    if (status != NBCOLL_ERR_CANCELLED || !x->rank->storm->bad_anywhere)
        judge_end(x->rank->actor, x->item, x->index, status, NULL, NULL);
}

static void execute(around *x)
{
    rank *r = x->rank;
    nbcoll_request request = {0}, handle;
    bool persists = rank_choose(r, 2), is_made = false;

    for (int round = 0; round < x->item->times; round++) {
        nbcoll_status status = NBCOLL_OK;
        fill(x, round);
        for (int tries = 0;; tries++) {
            if (!persists || !is_made)
                status = start(x, persists, &request);
            is_made |= status == NBCOLL_OK;
            if (persists && status == NBCOLL_OK)
                status = nbcoll_start(&request);
            if (status != NBCOLL_ERR_MEMORY || !rank_is_refused(r, x->index, status, tries))
                break;
        }
        if (status != NBCOLL_OK && status != NBCOLL_ERR_MEMORY) /* their communicator's, not the item's */
            judge_exchange(x, status);
        if (status != NBCOLL_OK)
            break;
        storm_note(r->storm, r->actor->rank, NOTE_STARTS, (uint64_t)x->index, 7);
        handle = request;
        status = rank_wait(r, &handle);
        storm_note(r->storm, r->actor->rank, NOTE_ENDS, (uint64_t)x->index, status);
        judge_exchange(x, status);
        if (status == NBCOLL_OK && !r->actor->is_dead && !r->storm->ends &&
            !(r->storm->bad_anywhere & (BAD_DIFFERS | BAD_HEADER)))
            check(x, round);
    }
    if (persists && is_made)
        nbcoll_request_free(&request);
}

void neighbors_run(rank *r, int n)
{
    const item *i = &r->storm->plan.item[n];
    place_in at = r->storm->plan.place[i->comm][r->actor->rank];
    around *x = calloc(1, sizeof *x);
    nbcoll_host host = host_outside(r->actor);
    *x = (around){.rank = r, .item = i, .index = n, .at = at.rank, .ranks = at.size};
    x->what = (exchange_kind)(mix(i->salt, 72) % (r->storm->plan.edition < EDITION_OF_FORMS ? ALLGATHERV : EXCHANGES));
    nbcoll_strided_make(&x->gapped, NBCOLL_UINT32, 1, NBCOLL_ONCE, NBCOLL_ONCE, 2);

    storm_note(r->storm, r->actor->rank, NOTE_STARTS, (uint64_t)n, 7);
    nbcoll_status status = (mix(i->salt, 73) % 2 ? make_graph : make_grid)(x, &host);
    if (status == NBCOLL_OK) {
        lay_out(x, &x->in, true);
        lay_out(x, &x->out, false);
        x->send = malloc((x->out.words + count_of(x, x->at, 0, 0) + 1) * sizeof *x->send);
        x->recv = malloc((x->in.words + 1) * sizeof *x->recv);
        execute(x);
        status = nbcoll_neighbors_free(x->neighbors);
        if (status != NBCOLL_OK && !(r->storm->bad_anywhere & BAD_HEADER))
            storm_find(r->storm, "rank %d, item %d: its neighbours are not freed: %s", r->actor->rank, n,
                       nbcoll_status_name(status));
        free(x->send);
        free(x->recv);
    } else if (!rank_is_full(r, n, status)) {
        storm_cause(r->storm, r->actor->rank, BAD_LEFT | BAD_QUITS); /* others may have them */
        judge_exchange(x, status);
    }
    free(x);
}
