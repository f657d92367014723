/* SPDX-License-Identifier: BSD-3-Clause
 * What ranks get from their neighbours: five calls in three forms, over graphs with isolated ranks, edges that come
 * twice, and ranks that are their own neighbours; over loopbacks that share memory, and that do not. Every element
 * tells who sent it as which edge. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "nbcoll/neighbor.h"
#include "world.h"

enum { RANKS = 5, MOST = 16, COUNT = 3 };

/* edges[s][d]: rank 3 is isolated, 0 its own neighbour, and 1 twice that of 2, which is thrice that of 1. */
static const int edges[RANKS][RANKS] = {
    {2, 1, 1, 0, 0}, {1, 0, 2, 0, 1}, {0, 3, 0, 0, 1}, {0, 0, 0, 0, 0}, {1, 0, 0, 0, 0}};

typedef struct lists {
    int outs, ins, out[MOST], in[MOST],
        number[MOST]; /* the number of an edge that comes in among those of its source */
} lists;

static lists lists_of(int rank)
{
    lists l = {0};
    for (int p = 0; p < RANKS; p++)
        for (int n = 0; n < edges[rank][p]; n++)
            l.out[l.outs++] = p;
    for (int p = RANKS - 1; p >= 0; p--) /* in another order than those who send */
        for (int n = 0; n < edges[p][rank]; n++) {
            l.number[l.ins] = n;
            l.in[l.ins++] = p;
        }
    return l;
}

/* The edge at its sender. */
static int edge_at(int from, int to, int number)
{
    lists l = lists_of(from);
    for (int i = 0; i < l.outs; i++)
        if (l.out[i] == to && number-- == 0)
            return i;
    fail();
    return -1;
}

static nbcoll_neighbors *of_graph(nbcoll_comm *comm, int rank)
{
    lists l = lists_of(rank);
    nbcoll_neighbor_graph graph = {
        .size = sizeof graph, .sources = l.ins, .source = l.in, .destinations = l.outs, .destination = l.out};
    nbcoll_neighbors *n = NULL;
    EXPECT(OK, nbcoll_neighbors_of_graph(comm, &graph, &n, NBCOLL_FOREVER));
    return n;
}

static int value(int rank, int edge, size_t i)
{
    return rank * 10000 + edge * 100 + (int)i;
}

/* Elements of the block that edge `edge` of rank `from` has; of an allgatherv, the rank's. */
static size_t length(int from, int edge)
{
    return (size_t)(from + 2 * edge) % 4;
}

typedef struct arrays {
    int send[MOST * 8], recv[MOST * 8];
    size_t give[MOST], give_at[MOST], take[MOST], take_at[MOST];
    nbcoll_type gives[MOST], takes[MOST];
} arrays;

enum { ALLGATHER, ALLGATHERV, ALLTOALL, ALLTOALLV, ALLTOALLW, CALLS };

static int is_v(int call)
{
    return call != ALLGATHER && call != ALLTOALL;
}

static void fill(arrays *a, int call, int rank, int round)
{
    lists l = lists_of(rank);
    size_t unit = call == ALLTOALLW ? sizeof(int) : 1;
    memset(a, 0, sizeof *a);
    for (int i = 0; i < (call <= ALLGATHERV ? 1 : l.outs); i++) {
        size_t n = is_v(call) ? length(rank, i) : COUNT, at = is_v(call) ? (size_t)i * 8 + 1 : (size_t)i * COUNT;
        if (call == ALLGATHERV)
            at = 0;
        a->give[i] = n;
        a->give_at[i] = at * unit;
        a->gives[i] = n ? (nbcoll_type)NBCOLL_INT32 : 12345; /* of a block without elements it is not read */
        for (size_t k = 0; k < n; k++)
            a->send[at + k] = value(rank, i, k) + round;
    }
    for (int j = 0; j < l.ins; j++) {
        int edge = call <= ALLGATHERV ? 0 : edge_at(l.in[j], rank, l.number[j]);
        a->take[j] = is_v(call) ? length(l.in[j], edge) * (call == ALLTOALLW ? sizeof(int) : 1) : COUNT;
        a->take_at[j] = is_v(call) ? ((size_t)(l.ins - 1 - j) * 8 + 2) * unit : (size_t)j * COUNT;
        a->takes[j] = NBCOLL_BYTE; /* counts bytes of what was sent as numbers */
    }
}

static void check(const arrays *a, int call, int rank, int round)
{
    lists l = lists_of(rank);
    int wanted[MOST * 8] = {0};
    for (int j = 0; j < l.ins; j++) {
        int edge = call <= ALLGATHERV ? 0 : edge_at(l.in[j], rank, l.number[j]);
        size_t n = is_v(call) ? length(l.in[j], edge) : COUNT;
        size_t at = is_v(call) ? (size_t)(l.ins - 1 - j) * 8 + 2 : (size_t)j * COUNT;
        for (size_t k = 0; k < n; k++)
            wanted[at + k] = value(l.in[j], edge, k) + round;
    }
    assert_memory_equal(a->recv, wanted, sizeof wanted);
}

static nbcoll_status now(arrays *a, int call, nbcoll_neighbors *n)
{
    switch (call) {
    case ALLGATHER:
        return nbcoll_neighbor_allgather(a->send, a->recv, COUNT, NBCOLL_INT32, n, NBCOLL_FOREVER);
    case ALLGATHERV:
        return nbcoll_neighbor_allgatherv(a->send, a->give[0], a->recv, a->take, a->take_at, NBCOLL_INT32, n,
                                          NBCOLL_FOREVER);
    case ALLTOALL:
        return nbcoll_neighbor_alltoall(a->send, a->recv, COUNT, NBCOLL_INT32, n, NBCOLL_FOREVER);
    case ALLTOALLV:
        return nbcoll_neighbor_alltoallv(a->send, a->give, a->give_at, a->recv, a->take, a->take_at, NBCOLL_INT32, n,
                                         NBCOLL_FOREVER);
    default:
        return nbcoll_neighbor_alltoallw(a->send, a->give, a->give_at, a->gives, a->recv, a->take, a->take_at, a->takes,
                                         n, NBCOLL_FOREVER);
    }
}

static nbcoll_status later(arrays *a, int call, nbcoll_neighbors *n, int is_init, nbcoll_request *q)
{
    switch (call) {
    case ALLGATHER:
        return (is_init ? nbcoll_neighbor_allgather_init : nbcoll_ineighbor_allgather)(a->send, a->recv, COUNT,
                                                                                       NBCOLL_INT32, n, q);
    case ALLGATHERV:
        return (is_init ? nbcoll_neighbor_allgatherv_init : nbcoll_ineighbor_allgatherv)(
            a->send, a->give[0], a->recv, a->take, a->take_at, NBCOLL_INT32, n, q);
    case ALLTOALL:
        return (is_init ? nbcoll_neighbor_alltoall_init : nbcoll_ineighbor_alltoall)(a->send, a->recv, COUNT,
                                                                                     NBCOLL_INT32, n, q);
    case ALLTOALLV:
        return (is_init ? nbcoll_neighbor_alltoallv_init : nbcoll_ineighbor_alltoallv)(
            a->send, a->give, a->give_at, a->recv, a->take, a->take_at, NBCOLL_INT32, n, q);
    default:
        return (is_init ? nbcoll_neighbor_alltoallw_init : nbcoll_ineighbor_alltoallw)(
            a->send, a->give, a->give_at, a->gives, a->recv, a->take, a->take_at, a->takes, n, q);
    }
}

/* Arrays are the library's only during the call: they are overwritten before the operation ends. */
static void spoil(arrays *a)
{
    memset(a->give, 0xff, offsetof(arrays, takes) + sizeof a->takes - offsetof(arrays, give));
}

static void all_calls(world *w, int rank, void *user)
{
    nbcoll_neighbors *n = of_graph(w->comm[rank], rank);
    nbcoll_request q[CALLS];
    arrays *a = calloc(CALLS, sizeof *a);

    (void)user;
    for (int round = 0; round < 3; round++)
        for (int call = 0; call < CALLS; call++) {
            fill(&a[call], call, rank, round);
            EXPECT(OK, now(&a[call], call, n));
            check(&a[call], call, rank, round);
        }
    for (int is_init = 0; is_init < 2; is_init++) { /* all under way at once */
        for (int call = 0; call < CALLS; call++) {
            fill(&a[call], call, rank, 7);
            EXPECT(OK, later(&a[call], call, n, is_init, &q[call]));
            spoil(&a[call]);
        }
        for (int round = 0; round < 1 + is_init; round++) {
            for (int call = 0; is_init && call < CALLS; call++)
                EXPECT(OK, nbcoll_start(&q[call]));
            EXPECT(OK, nbcoll_wait_all(CALLS, q, NULL, NBCOLL_FOREVER));
            for (int call = 0; call < CALLS; call++)
                check(&a[call], call, rank, 7);
        }
    }
    EXPECT(ERR_BUSY, nbcoll_neighbors_free(n)); /* the requests are still there */
    for (int call = 0; call < CALLS; call++)
        EXPECT(OK, nbcoll_request_free(&q[call]));
    EXPECT(OK, nbcoll_barrier(w->comm[rank], NBCOLL_FOREVER));
    EXPECT(OK, nbcoll_neighbors_free(n));
    free(a);
}

static void ranks_get_what_their_neighbours_send(void **state)
{
    (void)state;
    for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
        nbcoll_loopback_config config = world_variant(variant, 5);
        world w;
        world_open(&w, RANKS, &config, NULL, NULL);
        world_threads(&w, all_calls, NULL);
        world_close(&w);
    }
}

/* Count arrays that change in each call: no more schedules are kept than the header says. */
static void many_calls(world *w, int rank, void *user)
{
    nbcoll_neighbors *n = of_graph(w->comm[rank], rank);
    (void)user;
    for (int round = 0; round < 60; round++) {
        lists l = lists_of(rank);
        size_t counts[MOST], at[MOST];
        int send[64], recv[MOST * 64];
        for (int i = 0; i < 64; i++)
            send[i] = value(rank, round, (size_t)i);
        for (int j = 0; j < l.ins; j++) {
            counts[j] = (size_t)round;
            at[j] = (size_t)j * 64;
        }
        EXPECT(OK, nbcoll_neighbor_allgatherv(send, (size_t)round, recv, counts, at, NBCOLL_INT32, n, NBCOLL_FOREVER));
        for (int j = 0; j < l.ins; j++)
            for (size_t k = 0; k < (size_t)round; k++)
                assert_int_equal(recv[j * 64 + (int)k], value(l.in[j], round, k));
    }
    EXPECT(OK, nbcoll_barrier(w->comm[rank], NBCOLL_FOREVER));
    EXPECT(OK, nbcoll_neighbors_free(n));
}

static void counts_may_change_in_each_call(void **state)
{
    world w;
    (void)state;
    world_open(&w, RANKS, NULL, NULL, NULL);
    world_threads(&w, many_calls, NULL);
    world_close(&w);
}

/* An element is the first of two numbers. */
static nbcoll_status pack(void *user, const void *elements, void *packed, size_t count)
{
    (void)user;
    for (size_t i = 0; i < count; i++)
        ((int *)packed)[i] = ((const int *)elements)[2 * i];
    return NBCOLL_OK;
}

static nbcoll_status unpack(void *user, const void *packed, void *elements, size_t count)
{
    (void)user;
    for (size_t i = 0; i < count; i++)
        ((int *)elements)[2 * i] = ((const int *)packed)[i];
    return NBCOLL_OK;
}

/* A line of ranks as a grid with diagonals, which lead nowhere: a message of the combining algorithm is one block. */
static void packing_line(world *w, int rank, void *user)
{
    static const int offset[][2] = {{-1, -1}, {-1, 0}, {-1, 1}, {0, -1}, {0, 1}, {1, -1}, {1, 0}, {1, 1}};
    nbcoll_neighbor_grid grid = {
        .size = sizeof grid, .dims = 2, .extent = (int[]){RANKS, 1}, .neighbors = 8, .offset = &offset[0][0]};
    nbcoll_host_type pairs = {
        .size = sizeof pairs, .extent = 2 * sizeof(int), .packed = sizeof(int), .pack = pack, .unpack = unpack};
    int send[2] = {rank + 1}, recv[8][2] = {{0}};
    nbcoll_neighbors *n;

    (void)user;
    EXPECT(OK, nbcoll_neighbors_of_grid(w->comm[rank], &grid, &n, NBCOLL_FOREVER));
    EXPECT(OK, nbcoll_neighbor_allgather(send, recv, 1, nbcoll_type_of(&pairs), n, NBCOLL_FOREVER));
    for (int i = 0; i < 8; i++)
        assert_int_equal(recv[i][0], i == 1 ? rank : i == 6 && rank + 1 < RANKS ? rank + 2 : 0);
    EXPECT(OK, nbcoll_barrier(w->comm[rank], NBCOLL_FOREVER));
    EXPECT(OK, nbcoll_neighbors_free(n));
}

static void a_block_that_packs_and_travels_alone_arrives(void **state)
{
    world w;
    (void)state;
    world_open(&w, RANKS, NULL, NULL, NULL);
    world_threads(&w, packing_line, NULL);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ranks_get_what_their_neighbours_send),
                                       cmocka_unit_test(counts_may_change_in_each_call),
                                       cmocka_unit_test(a_block_that_packs_and_travels_alone_arrives)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
