/* SPDX-License-Identifier: BSD-3-Clause
 * What is wrong with neighbours, and with calls, is named: at the call where one rank can see it; on all ranks together
 * where they differ. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdatomic.h>
#include <stdint.h>

#include "nbcoll/neighbor.h"
#include "world.h"

enum { RANKS = 3 };

static nbcoll_status graph_of(nbcoll_comm *comm, int sources, const int source[], int destinations,
                              const int destination[], nbcoll_neighbors **out)
{
    nbcoll_neighbor_graph graph = {.size = sizeof graph,
                                   .sources = sources,
                                   .source = source,
                                   .destinations = destinations,
                                   .destination = destination};
    return nbcoll_neighbors_of_graph(comm, &graph, out, NBCOLL_FOREVER);
}

static nbcoll_status grid_of(nbcoll_comm *comm, int dims, const int extent[], int n, const int offset[],
                             nbcoll_neighbors **out)
{
    nbcoll_neighbor_grid grid = {.size = sizeof grid, .dims = dims, .extent = extent, .neighbors = n, .offset = offset};
    return nbcoll_neighbors_of_grid(comm, &grid, out, NBCOLL_FOREVER);
}

static void at_the_creation(void **state)
{
    int one[] = {1}, three[] = {3}, minus[] = {-1}, extent[] = {3, 1}, wrong[] = {2, 2}, lone[] = {1, 0};
    nbcoll_neighbors *n = NULL;
    world w;
    (void)state;
    world_open(&w, RANKS, NULL, NULL, NULL);
    nbcoll_comm *comm = w.comm[0];
    EXPECT(ERR_NULL, graph_of(NULL, 0, NULL, 0, NULL, &n));
    EXPECT(ERR_NULL, graph_of(comm, 0, NULL, 0, NULL, NULL));
    EXPECT(ERR_NULL, graph_of(comm, 1, NULL, 0, NULL, &n));
    EXPECT(ERR_NULL, graph_of(comm, 0, NULL, 1, NULL, &n));
    EXPECT(ERR_RANK, graph_of(comm, 1, three, 1, one, &n));
    EXPECT(ERR_RANK, graph_of(comm, 1, one, 1, minus, &n));
    EXPECT(ERR_ARGUMENT, graph_of(comm, -1, one, 1, one, &n));
    EXPECT(ERR_LIMIT, graph_of(comm, NBCOLL_NEIGHBORS_MOST + 1, one, 1, one, &n));
    EXPECT(ERR_RANK, grid_of(comm, 2, wrong, 0, NULL, &n));
    EXPECT(ERR_RANK, grid_of(comm, 0, NULL, 0, NULL, &n));
    EXPECT(ERR_NULL, grid_of(comm, 2, NULL, 0, NULL, &n));
    EXPECT(ERR_ARGUMENT, grid_of(comm, NBCOLL_NEIGHBOR_DIMS + 1, extent, 0, NULL, &n));
    EXPECT(ERR_ARGUMENT, grid_of(comm, -1, extent, 0, NULL, &n));
    EXPECT(ERR_ARGUMENT, grid_of(comm, 2, extent, -1, lone, &n));
    EXPECT(ERR_ARGUMENT, grid_of(comm, 2, extent, 1, lone, &n)); /* without its opposite */
    EXPECT(ERR_LIMIT, grid_of(comm, 2, extent, NBCOLL_NEIGHBOR_OFFSETS_MOST + 1, lone, &n));
    EXPECT(ERR_CONFIG, nbcoll_neighbors_of_graph(comm, &(nbcoll_neighbor_graph){.size = 4}, &n, NBCOLL_FOREVER));
    EXPECT(ERR_CONFIG, nbcoll_neighbors_of_grid(comm, &(nbcoll_neighbor_grid){.size = 4}, &n, NBCOLL_FOREVER));
    assert_null(n);
    assert_int_equal(nbcoll_comm_active(comm), 0);
    EXPECT(OK, nbcoll_neighbors_free(NULL));
    world_close(&w);
}

static void together(world *w, int rank, void *user)
{
    int next[] = {(rank + 1) % RANKS}, last[] = {(rank + 2) % RANKS}, extent[][2] = {{1, RANKS}, {RANKS, 1}};
    nbcoll_neighbors *n;
    (void)user;
    /* Rank 0 names one source more than send to it; then one that does not; then rank 1 one destination more. */
    EXPECT(ERR_MISMATCH, graph_of(w->comm[rank], rank ? 1 : 2, rank ? last : (int[]){2, 1}, 1, next, &n));
    EXPECT(ERR_MISMATCH, graph_of(w->comm[rank], 1, rank ? last : next, 1, next, &n));
    EXPECT(ERR_MISMATCH, graph_of(w->comm[rank], 1, last, rank == 1 ? 2 : 1, (int[]){next[0], next[0]}, &n));
    EXPECT(ERR_MISMATCH, grid_of(w->comm[rank], 2, extent[rank == 2], 0, NULL, &n));
    /* The communicator is as good as before. */
    EXPECT(OK, graph_of(w->comm[rank], 1, last, 1, next, &n));
    EXPECT(OK, nbcoll_neighbor_allgather(&rank, last, 1, NBCOLL_INT32, n, NBCOLL_FOREVER));
    assert_int_equal(last[0], (rank + 2) % RANKS);
    EXPECT(OK, nbcoll_barrier(w->comm[rank], NBCOLL_FOREVER));
    EXPECT(OK, nbcoll_neighbors_free(n));
}

static void ranks_that_say_different_things(void **state)
{
    world w;
    (void)state;
    world_open(&w, RANKS, NULL, NULL, NULL);
    world_threads(&w, together, NULL);
    world_close(&w);
}

static void calls(world *w, int rank, void *user)
{
    int both[] = {(rank + 1) % RANKS, (rank + 2) % RANKS, rank}, send[16] = {0}, recv[16];
    size_t ones[3] = {1, 1, 1}, at[3] = {0, 1, 2}, near[3] = {0, 1, 1}, huge[3] = {SIZE_MAX / 4, 1, 1},
           two[3] = {1, 1, 2};
    nbcoll_type types[3] = {NBCOLL_INT32, NBCOLL_INT32, NBCOLL_INT32}, none[3] = {NBCOLL_INT32, 999, NBCOLL_INT32};
    nbcoll_request q = NBCOLL_REQUEST_NULL, as_before = q;
    nbcoll_neighbors *n;
    (void)user;
    EXPECT(OK, graph_of(w->comm[rank], 3, both, 3, both, &n));
    EXPECT(ERR_NULL, nbcoll_ineighbor_allgather(send, recv, 1, NBCOLL_INT32, NULL, &q));
    EXPECT(ERR_NULL, nbcoll_ineighbor_allgather(send, recv, 1, NBCOLL_INT32, n, NULL));
    EXPECT(ERR_NULL, nbcoll_ineighbor_allgatherv(send, 1, recv, NULL, at, NBCOLL_INT32, n, &q));
    EXPECT(ERR_NULL, nbcoll_ineighbor_alltoallv(send, NULL, at, recv, ones, at, NBCOLL_INT32, n, &q));
    EXPECT(ERR_NULL, nbcoll_ineighbor_alltoallv(send, ones, at, recv, ones, NULL, NBCOLL_INT32, n, &q));
    EXPECT(ERR_NULL, nbcoll_ineighbor_alltoallw(send, ones, at, NULL, recv, ones, at, types, n, &q));
    EXPECT(ERR_BUFFER, nbcoll_ineighbor_allgather(NBCOLL_IN_PLACE, recv, 1, NBCOLL_INT32, n, &q));
    EXPECT(ERR_BUFFER, nbcoll_ineighbor_allgather(send, NULL, 1, NBCOLL_INT32, n, &q));
    EXPECT(ERR_BUFFER, nbcoll_ineighbor_allgather(recv + 2, recv, 1, NBCOLL_INT32, n, &q));
    EXPECT(ERR_BUFFER, nbcoll_ineighbor_alltoallv(send, ones, at, recv, ones, near, NBCOLL_INT32, n, &q));
    EXPECT(ERR_BUFFER, nbcoll_ineighbor_allgatherv(send, 1, recv, ones, near, NBCOLL_INT32, n, &q));
    EXPECT(ERR_TYPE, nbcoll_ineighbor_alltoall(send, recv, 1, 999, n, &q));
    EXPECT(ERR_TYPE, nbcoll_ineighbor_alltoallw(send, ones, at, types, recv, ones, at, none, n, &q));
    EXPECT(ERR_COUNT, nbcoll_ineighbor_alltoall(send, recv, SIZE_MAX / 4, NBCOLL_INT32, n, &q));
    EXPECT(ERR_COUNT, nbcoll_ineighbor_alltoallv(send, huge, at, recv, ones, at, NBCOLL_INT32, n, &q));
    EXPECT(ERR_COUNT, nbcoll_ineighbor_alltoallv(send, two, at, recv, ones, at, NBCOLL_INT32, n, &q)); /* its own */
    assert_memory_equal(&q, &as_before, sizeof q);
    assert_int_equal(nbcoll_comm_active(w->comm[rank]), 0);
    EXPECT(OK, nbcoll_neighbor_alltoall(send, recv, 1, NBCOLL_INT32, n, NBCOLL_FOREVER));
    EXPECT(OK, nbcoll_barrier(w->comm[rank], NBCOLL_FOREVER));
    EXPECT(OK, nbcoll_neighbors_free(n));
}

static void at_the_calls(void **state)
{
    world w;
    (void)state;
    world_open(&w, RANKS, NULL, NULL, NULL);
    world_threads(&w, calls, NULL);
    world_close(&w);
}

/* Lengths that differ between two ranks end the operation; calls that differ, too. */
static void differ(world *w, int rank, void *user)
{
    int next[] = {(rank + 1) % 2}, send[4] = {0}, recv[4];
    size_t count[] = {(size_t)rank + 1}, one[] = {1}, at[] = {0};
    nbcoll_neighbors *n;
    EXPECT(OK, graph_of(w->comm[rank], 1, next, 1, next, &n));
    if (*(int *)user) { /* rank 1 wants more than it is sent; rank 0 may have ended well before that is known */
        nbcoll_status s = nbcoll_neighbor_alltoallv(send, one, at, recv, count, at, NBCOLL_INT32, n, NBCOLL_FOREVER);
        assert_true(s == NBCOLL_ERR_MISMATCH || (s == NBCOLL_OK && rank == 0));
    }
    if (!*(int *)user && rank)
        EXPECT(ERR_MISMATCH, nbcoll_neighbor_alltoall(send, recv, 1, NBCOLL_INT32, n, NBCOLL_FOREVER));
    if (!*(int *)user && !rank)
        EXPECT(ERR_MISMATCH, nbcoll_neighbor_allgather(send, recv, 1, NBCOLL_INT32, n, NBCOLL_FOREVER));
    EXPECT(OK, nbcoll_neighbors_free(n));
}

static void ranks_that_call_different_things(void **state)
{
    (void)state;
    for (int lengths = 0; lengths < 2; lengths++) {
        world w;
        world_open(&w, 2, NULL, NULL, NULL);
        world_threads(&w, differ, &lengths);
        world_close(&w);
    }
}

static atomic_int is_over;

/* A blocking call that is too late cancels its operation. */
static void late(world *w, int rank, void *user)
{
    int next[] = {(rank + 1) % 2}, send[] = {rank}, recv[1];
    nbcoll_neighbors *n;
    (void)user;
    EXPECT(OK, graph_of(w->comm[rank], 1, next, 1, next, &n));
    if (rank == 0) {
        EXPECT(ERR_TIMEOUT, nbcoll_neighbor_alltoall(send, recv, 1, NBCOLL_INT32, n, 1000000));
        atomic_store(&is_over, 1);
    } else {
        while (!atomic_load(&is_over))
            EXPECT(OK, nbcoll_progress(w->context[rank]));
        nbcoll_status s = nbcoll_neighbor_alltoall(send, recv, 1, NBCOLL_INT32, n, NBCOLL_FOREVER);
        assert_true(s == NBCOLL_ERR_CANCELLED || s == NBCOLL_OK); /* OK: what rank 0 gave was there before */
    }
    EXPECT(OK, nbcoll_neighbor_alltoall(send, recv, 1, NBCOLL_INT32, n, NBCOLL_FOREVER));
    assert_int_equal(recv[0], next[0]);
    EXPECT(OK, nbcoll_barrier(w->comm[rank], NBCOLL_FOREVER));
    while (nbcoll_neighbors_free(n) == NBCOLL_ERR_BUSY)
        EXPECT(OK, nbcoll_progress(w->context[rank]));
}

static void a_call_that_is_too_late(void **state)
{
    world w;
    (void)state;
    world_open(&w, 2, NULL, NULL, NULL);
    world_threads(&w, late, NULL);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(at_the_creation), cmocka_unit_test(ranks_that_say_different_things),
        cmocka_unit_test(at_the_calls), cmocka_unit_test(ranks_that_call_different_things),
        cmocka_unit_test(a_call_that_is_too_late)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
