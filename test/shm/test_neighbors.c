/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Neighbours over shm, processes and threads: all around in a grid in which a rank is its own neighbour and others'
 * several times; blocks that lie in cells, that go as messages, that are copied aside, and that the kernel copies.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nbcoll/neighbor.h"
#include "ranks.h"

enum { EDGES = 26, SIZES = 8, ROUNDS = 6 };
static const size_t sizes[SIZES] = {0, 4, 8, 100, 1000, 20000, 70000, 300000};

static unsigned char byte_of(int rank, int edge, size_t i, int round)
{
    return (unsigned char)(rank * 31 + edge * 7 + (int)i * 3 + round);
}

static nbcoll_neighbors *all_around(nbcoll_comm *comm)
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
        for (int edge = 0; edge < (gathers ? 1 : EDGES); edge++)
            for (size_t i = 0; i < bytes; i++)
                send[(size_t)edge * bytes + i] = byte_of(me, edge, i, round);
        CHECK_STATUS(NBCOLL_OK, nbcoll_start(&request));
        CHECK_STATUS(NBCOLL_OK, nbcoll_wait(&request, NBCOLL_FOREVER));
        for (int edge = 0; edge < EDGES; edge++)
            for (size_t i = 0; i < bytes; i += bytes / 50 + 1)
                CHECK(recv[(size_t)edge * bytes + i] ==
                      byte_of(about.source[edge], gathers ? 0 : EDGES - 1 - edge, i, round));
    }
    CHECK_STATUS(NBCOLL_OK, nbcoll_request_free(&request));
}

static void neighbours(int rank, void *user)
{
    nbcoll_shm_config config = *(const nbcoll_shm_config *)user;
    unsigned char *send = malloc(EDGES * sizes[SIZES - 1]), *recv = malloc(EDGES * sizes[SIZES - 1]);
    member m;

    CHECK(send && recv);
    config.rank = rank;
    member_join(&m, &config, NULL);
    nbcoll_neighbors *n = all_around(m.comm);
    for (int i = 0; i < 2 * SIZES; i++)
        exchange(n, i % 2, sizes[i / 2], send, recv);
    CHECK_STATUS(NBCOLL_OK, nbcoll_barrier(m.comm, NBCOLL_FOREVER));
    CHECK_STATUS(NBCOLL_OK, nbcoll_neighbors_free(n));
    member_leave(&m);
    free(send);
    free(recv);
}

static void ranks_get_what_their_neighbours_send(void **state)
{
    const crew crews[] = {CREW(1, 1), CREW(1, 1, 1, 1), CREW(1, 3)};
    (void)state;
    for (size_t i = 0; i < sizeof crews / sizeof *crews; i++) {
        nbcoll_shm_config config = {.size = sizeof config, .ranks = crew_ranks(&crews[i]), .id = fresh_id()};
        crew_succeeds(&crews[i], neighbours, &config);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ranks_get_what_their_neighbours_send)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
