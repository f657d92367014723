/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Neighbours over shm, processes and threads: all around, or the nearest, in a grid in which a rank is its own
 * neighbour and others' several times; blocks that lie in cells, that go as messages, that are copied aside, that are
 * exposed by pairs where the communicator has cells for that, and that the kernel copies.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nbcoll/neighbor.h"
#include "ranks.h"

enum { EDGES = 26, SIZES = 9, ROUNDS = 4 };
static const size_t sizes[SIZES] = {0, 4, 8, 100, 1000, 20000, 70000, 300000, 700001};

static unsigned char byte_of(int rank, int edge, size_t i, int round)
{
    return (unsigned char)(rank * 31 + edge * 7 + (int)i * 3 + round);
}

/* So many edges: all, or 4. */
static nbcoll_neighbors *all_around(nbcoll_comm *comm, int edges)
{
    int offset[EDGES][3], extent[3] = {nbcoll_comm_size(comm) / 2, 2, 1};
    nbcoll_neighbor_grid grid = {.size = sizeof grid,
                                 .dims = 3,
                                 .extent = extent,
                                 .periodic = (int[]){1, 1, 1},
                                 .neighbors = EDGES,
                                 .offset = &offset[0][0]};
    nbcoll_neighbors *n;
    for (int i = 0, at = 0; i < 27; i++)
        if (i != 13) {
            offset[at][0] = i / 9 - 1;
            offset[at][1] = i / 3 % 3 - 1;
            offset[at++][2] = i % 3 - 1;
        }
    if (edges != EDGES) {
        grid.dims = 2;
        grid.offset = NULL;
    }
    CHECK_STATUS(NBCOLL_OK, nbcoll_neighbors_of_grid(comm, &grid, &n, NBCOLL_FOREVER));
    return n;
}

static void exchange(nbcoll_neighbors *n, int gathers, size_t bytes, unsigned char *send, unsigned char *recv)
{
    nbcoll_neighborhood about = {.size = sizeof about};
    nbcoll_request request;
    CHECK_STATUS(NBCOLL_OK, nbcoll_neighbors_query(n, &about));
    int me = nbcoll_comm_rank(about.comm);
    CHECK_STATUS(NBCOLL_OK, (gathers ? nbcoll_neighbor_allgather_init
                                     : nbcoll_neighbor_alltoall_init)(send, recv, bytes, NBCOLL_BYTE, n, &request));
    for (int round = 0; round < ROUNDS; round++) {
        for (int edge = 0; edge < (gathers ? 1 : about.sources); edge++)
            for (size_t i = 0; i < bytes; i++)
                send[(size_t)edge * bytes + i] = byte_of(me, edge, i, round);
        CHECK_STATUS(NBCOLL_OK, nbcoll_start(&request));
        CHECK_STATUS(NBCOLL_OK, nbcoll_wait(&request, NBCOLL_FOREVER));
        for (int edge = 0; edge < about.sources; edge++)
            for (size_t i = 0; i < bytes; i += bytes / 50 + 1)
                CHECK(recv[(size_t)edge * bytes + i] == byte_of(about.source[edge],
                                                                gathers                  ? 0
                                                                : about.sources == EDGES ? EDGES - 1 - edge
                                                                                         : edge ^ 1,
                                                                i, round));
    }
    CHECK_STATUS(NBCOLL_OK, nbcoll_request_free(&request));
}

typedef struct plan {
    nbcoll_shm_config config;
    nbcoll_comm_config limits;
} plan;

static void neighbours(int rank, void *user)
{
    plan p = *(const plan *)user;
    unsigned char *send = malloc(EDGES * sizes[SIZES - 2]), *recv = malloc(EDGES * sizes[SIZES - 2]);
    member m;

    CHECK(send && recv);
    p.config.rank = rank;
    member_join_limited(&m, &p.config, NULL, &p.limits);
    nbcoll_neighbors *all = all_around(m.comm, EDGES), *nearest = all_around(m.comm, 4);
    for (int i = 0; i < 2 * SIZES; i++) {
        if (i < 2 * SIZES - 2)
            exchange(all, i % 2, sizes[i / 2], send, recv);
        exchange(nearest, i % 2, sizes[i / 2], send, recv);
    }
    CHECK_STATUS(NBCOLL_OK, nbcoll_barrier(m.comm, NBCOLL_FOREVER));
    CHECK_STATUS(NBCOLL_OK, nbcoll_neighbors_free(all));
    CHECK_STATUS(NBCOLL_OK, nbcoll_neighbors_free(nearest));
    member_leave(&m);
    free(send);
    free(recv);
}

static void ranks_get_what_their_neighbours_send(void **state)
{
    const crew crews[] = {CREW(1, 1), CREW(1, 1, 1, 1), CREW(1, 3)};
    (void)state;
    for (size_t i = 0; i < sizeof crews / sizeof *crews; i++)
        for (uint32_t cells = 1; cells <= 3; cells += 2) {
            plan p = {{.size = sizeof p.config, .ranks = crew_ranks(&crews[i]), .id = fresh_id()},
                      NBCOLL_COMM_DEFAULTS};
            p.limits.cells = cells;
            crew_succeeds(&crews[i], neighbours, &p);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ranks_get_what_their_neighbours_send)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
