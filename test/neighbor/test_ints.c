/* SPDX-License-Identifier: BSD-3-Clause
 * 32-bit counts and displacements in neighbourhoods (nbcoll_ints): the same calls as with wide ones, whose schedules
 * they find; negative ones are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdint.h>
#include <string.h>

#include "nbcoll/neighbor.h"
#include "world.h"

enum { RANKS = 3 };

/* Rank r sends r + 1 numbers to the next one, and s + 1 to the rank behind that, s. */
static void exchange(world *w, int rank, void *user)
{
    int to[] = {(rank + 1) % RANKS, (rank + 2) % RANKS}, from[] = {(rank + 2) % RANKS, (rank + 1) % RANKS};
    const int counts[] = {rank + 1, to[1] + 1}, places[] = {0, 4}, gaps[] = {5, 0}, in[] = {from[0] + 1, rank + 1};
    const size_t wide[] = {(size_t)rank + 1, (size_t)to[1] + 1}, at[] = {0, 4};
    const int minus[] = {-1, 1}, fours[] = {0, 16}, gap_bytes[] = {20, 0};
    nbcoll_type types[] = {NBCOLL_INT32, NBCOLL_INT32};
    int send[8], recv[10];
    nbcoll_neighbor_graph graph = {
        .size = sizeof graph, .sources = 2, .source = from, .destinations = 2, .destination = to};
    nbcoll_neighbors *n;
    nbcoll_request q;
    (void)user;
    for (int i = 0; i < 8; i++)
        send[i] = 10 * rank + i;
    EXPECT(OK, nbcoll_neighbors_of_graph(w->comm[rank], &graph, &n, NBCOLL_FOREVER));
    for (int turn = 0; turn < 4; turn++) {
        memset(recv, 0, sizeof recv);
        if (turn < 3)
            EXPECT(OK, nbcoll_neighbor_alltoallv(send, turn == 1 ? wide : nbcoll_ints(counts),
                                                 turn == 1 ? at : nbcoll_ints(places), recv, nbcoll_ints(in),
                                                 nbcoll_ints(gaps), NBCOLL_INT32, n, NBCOLL_FOREVER));
        else
            EXPECT(OK, nbcoll_neighbor_alltoallw(send, nbcoll_ints(counts), nbcoll_ints(fours), types, recv,
                                                 nbcoll_ints(in), nbcoll_ints(gap_bytes), types, n, NBCOLL_FOREVER));
        for (int i = 0; i < in[0]; i++)
            assert_int_equal(recv[gaps[0] + i], 10 * from[0] + i);
        for (int i = 0; i < in[1]; i++)
            assert_int_equal(recv[gaps[1] + i], 10 * from[1] + 4 + i);
    }
    const int two[] = {2, 2};
    EXPECT(OK, nbcoll_neighbor_allgatherv(send, 2, recv, nbcoll_ints(two), nbcoll_ints(gaps), NBCOLL_INT32, n,
                                          NBCOLL_FOREVER));
    assert_int_equal(recv[5], 10 * from[0]);
    assert_int_equal(recv[1], 10 * from[1] + 1);
    EXPECT(ERR_COUNT,
           nbcoll_ineighbor_allgatherv(send, 1, recv, nbcoll_ints(minus), nbcoll_ints(gaps), NBCOLL_BYTE, n, &q));
    EXPECT(ERR_COUNT, nbcoll_ineighbor_alltoallv(send, nbcoll_ints(two), nbcoll_ints(minus), recv, nbcoll_ints(two),
                                                 nbcoll_ints(gaps), NBCOLL_BYTE, n, &q));
    EXPECT(OK, nbcoll_barrier(w->comm[rank], NBCOLL_FOREVER));
    EXPECT(OK, nbcoll_neighbors_free(n));
}

static void as_wide_ones(void **state)
{
    world w;
    (void)state;
    world_open(&w, RANKS, NULL, NULL, NULL);
    world_threads(&w, exchange, NULL);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_wide_ones)};
    return cmocka_run_group_tests_name("ints", tests, NULL, NULL);
}
