/* SPDX-License-Identifier: BSD-3-Clause
 * See proved.h. */
#include "proved.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crew.h"

static const nbcoll_host host = {.size = sizeof host};

void all_of_grid(all_around *all, const nbcoll_neighbor_grid *grid, int ranks)
{
    all->ranks = ranks;
    assert_int_equal(nbcolli_grid_check(grid, ranks), NBCOLL_OK);
    for (int r = 0; r < ranks; r++)
        assert_int_equal(nbcolli_grid_open(grid, &host, r, ranks, &all->of[r]), NBCOLL_OK);
}

static void shuffle(int list[], int n, uint64_t *random)
{
    for (int i = n - 1; i > 0; i--) {
        int j = (int)(random_of(random) % (uint64_t)(i + 1)), t = list[i];
        list[i] = list[j];
        list[j] = t;
    }
}

void all_of_graph(all_around *all, const int edges[], int ranks, uint64_t *random)
{
    static int out[PROVED_MOST * 8], in[PROVED_MOST * 8];
    all->ranks = ranks;
    for (int r = 0; r < ranks; r++) {
        nbcoll_neighbor_graph graph = {.size = sizeof graph, .source = in, .destination = out};
        for (int p = 0; p < ranks; p++) {
            for (int n = 0; n < edges[r * ranks + p]; n++)
                out[graph.destinations++] = p;
            for (int n = 0; n < edges[p * ranks + r]; n++)
                in[graph.sources++] = p;
        }
        shuffle(out, graph.destinations, random);
        shuffle(in, graph.sources, random);
        assert_int_equal(nbcolli_graph_check(&graph, ranks), NBCOLL_OK);
        assert_int_equal(nbcolli_graph_open(&graph, &host, r, ranks, &all->of[r]), NBCOLL_OK);
    }
}

void all_close(all_around *all)
{
    for (int r = 0; r < all->ranks; r++)
        nbcolli_around_close(&host, all->of[r]);
}

/* Is offset i of a the opposite of offset j? */
static int is_opposite(const nbcolli_around *a, int i, int j, int sign)
{
    for (int k = 0; k < a->dims; k++)
        if (a->offset[i * a->dims + k] != sign * a->offset[j * a->dims + k])
            return 0;
    return 1;
}

int edge_of_sender(const all_around *all, int r, int j)
{
    const nbcolli_around *to = all->of[r], *from = all->of[to->in.peer[j]];
    int before = 0;

    for (int i = 0; i < j; i++)
        before += to->dims ? is_opposite(to, i, j, 1) : to->in.peer[i] == to->in.peer[j];
    for (int i = 0; i < from->out.count; i++)
        if ((to->dims ? is_opposite(to, i, j, -1) : from->out.peer[i] == r) && before-- == 0)
            return i;
    fail();
    return -1;
}

/* ---- a call of all ranks ----------------------------------------------------------------------------------------- */

typedef struct all_calls {
    const all_around *all;
    nbcolli_neighbor_call call[PROVED_MOST];
    size_t *memory;
    int per_node; /* ranks that share memory */
} all_calls;

/* Blocks differ by sender and edge; some are empty. */
static size_t length_of(const all_calls *c, int sender, int edge)
{
    int is_equal = c->call[0].kind == NBCOLLI_NEIGHBOR_ALLGATHER || c->call[0].kind == NBCOLLI_NEIGHBOR_ALLTOALL;
    if (is_equal)
        return BLOCK;
    return (size_t)(sender * 7 + (nbcolli_gathers(&c->call[0]) ? 0 : edge * 5)) % 4 * 8;
}

/* Displacements leave gaps, and run backwards on odd ranks. */
static void fill(all_calls *c, nbcolli_neighbor_kind kind)
{
    static const nbcoll_type bytes[PROVED_MOST * 8]; /* NBCOLL_BYTE is 0 */
    size_t *at = c->memory;
    c->call[0].kind = kind;
    for (int r = 0; r < c->all->ranks; r++) {
        const nbcolli_around *a = c->all->of[r];
        nbcolli_neighbor_call *call = &c->call[r];
        *call = (nbcolli_neighbor_call){kind, {{.count = BLOCK}, {.count = BLOCK}}};
        if (kind == NBCOLLI_NEIGHBOR_ALLGATHERV)
            call->side[0].count = length_of(c, r, 0);
        for (int is_recv = kind == NBCOLLI_NEIGHBOR_ALLGATHERV; is_recv < 2; is_recv++) {
            const nbcolli_ends *ends = is_recv ? &a->in : &a->out;
            size_t *counts = at, *displs = at + ends->count;
            if (length_of(c, 0, 0) == BLOCK)
                break;
            for (int i = 0; i < ends->count; i++) {
                int from = is_recv ? ends->peer[i] : r;
                counts[i] = ends->peer[i] < 0 ? 0 : length_of(c, from, is_recv ? edge_of_sender(c->all, r, i) : i);
                displs[i] = (size_t)(r % 2 ? ends->count - 1 - i : i) * 40;
            }
            at = displs + ends->count;
            call->side[is_recv] = (nbcolli_blocks_side){.counts = counts, .displs = displs};
            call->side[is_recv].types = kind == NBCOLLI_NEIGHBOR_ALLTOALLW ? bytes : NULL;
        }
        assert_int_equal(nbcolli_neighbor_check(a, call), NBCOLL_OK);
    }
}

static nbcoll_region input(const nbcoll_meaning *m, int rank)
{
    const all_calls *c = m->user;
    const nbcolli_neighbor_call *call = &c->call[rank];
    size_t n = nbcolli_gathers(call) ? 1 : (size_t)c->all->of[rank]->out.count;
    return nbcoll_span((nbcoll_addr){NBCOLL_BUFFER_SEND, 0}, call->side[0].counts ? n * 40 : n * call->side[0].count);
}

static int claim(const nbcoll_meaning *m, int rank, size_t i, nbcoll_claim *out)
{
    const all_calls *c = m->user;
    const nbcolli_around *a = c->all->of[rank];

    if (i >= (size_t)a->in.count)
        return 0;
    int from = a->in.peer[i],
        edge = from < 0 || nbcolli_gathers(&c->call[0]) ? 0 : edge_of_sender(c->all, rank, (int)i);
    nbcoll_region at = nbcolli_edge_at(&c->call[rank].side[1], NBCOLL_BUFFER_RECV, (int)i);
    *out = (nbcoll_claim){.offset = at.at.offset, .bytes = from < 0 ? 0 : at.bytes};
    if (from >= 0) {
        out->first = out->last = from;
        out->from = nbcolli_edge_at(&c->call[from].side[0], NBCOLL_BUFFER_SEND, edge).at.offset;
    }
    return 1;
}

typedef struct rank_of {
    const all_calls *c;
    int rank;
} rank_of;

static int shares(void *user, int peer)
{
    const rank_of *me = user;
    return me->c->per_node && me->rank / me->c->per_node == peer / me->c->per_node;
}

static void prove(all_calls *c, nbcolli_neighbor_choice choice)
{
    nbcoll_meaning meaning = {
        .size = sizeof meaning, .user = c, .ranks = c->all->ranks, .input = input, .claim = claim};
    nbcoll_refutation why = {.size = sizeof why};
    nbcoll_schedule *schedule[PROVED_MOST];

    for (int r = 0; r < c->all->ranks; r++) {
        rank_of me = {c, r};
        nbcoll_builder_config config = {
            .size = sizeof config, .rank = r, .ranks = c->all->ranks, .shares = shares, .shares_user = &me};
        assert_int_equal(nbcolli_neighbor_build(c->all->of[r], &c->call[r], choice, &config, &schedule[r]), NBCOLL_OK);
    }
    nbcoll_status s = nbcoll_verify((const nbcoll_schedule *const *)schedule, &meaning, NULL, &why);
    if (s != NBCOLL_OK)
        fail_msg("%d ranks, call %d: %s", c->all->ranks, c->call[0].kind, why.text);
    for (int r = 0; r < c->all->ranks; r++)
        nbcoll_schedule_free(schedule[r]);
}

int prove_all(const all_around *all)
{
    static all_calls c;
    int proofs = 0;

    c = (all_calls){.all = all};
    c.memory = malloc((size_t)all->ranks * PROVED_MOST * 32 * sizeof *c.memory);
    for (nbcolli_neighbor_kind kind = 0; kind < NBCOLLI_NEIGHBOR_KINDS; kind++) {
        int is_equal = kind == NBCOLLI_NEIGHBOR_ALLGATHER || kind == NBCOLLI_NEIGHBOR_ALLTOALL;
        const nbcolli_neighbor_choice choices[] = {{nbcolli_neighbor_peers, 40, 100, 1},
                                                   {nbcolli_neighbor_peers, SIZE_MAX, 0, 0},
                                                   {nbcolli_neighbor_peers, 0, 0, 1},
                                                   {nbcolli_neighbor_combining, 0, 0, 0}};
        fill(&c, kind);
        for (c.per_node = 0; c.per_node <= all->ranks; c.per_node += all->ranks > 2 ? all->ranks - 1 : 2)
            for (int i = 0; i < 3 + (is_equal && all->of[0]->dims > 0); i++, proofs++)
                prove(&c, choices[i]);
    }
    free(c.memory);
    return proofs;
}
