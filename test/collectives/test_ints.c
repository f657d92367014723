/* SPDX-License-Identifier: BSD-3-Clause
 * 32-bit counts and displacements, as programs have that come from MPI: nbcoll_ints. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "world.h"

enum { RANKS = 3, MOST = 16 };

/* Rank r has r + 1 numbers; between two blocks is a gap. */
static const int counts[] = {1, 2, 3}, displs[] = {0, 2, 5};

/* What number i of rank r is when rank s has it from there. */
static int number(int r, int s, int i)
{
    return 100 * r + 10 * s + i;
}

static void check_blocks(const int recv[], int of)
{
    for (int r = 0; r < RANKS; r++)
        for (int i = 0; i < counts[r]; i++)
            assert_int_equal(recv[displs[r] + i], number(r, of, i));
}

/* The first caller: gathers blocks of different lengths, everywhere and at a root, which then gives them out. */
static void blocks_of_all_ranks(world *w, int rank, void *user)
{
    int send[MOST] = {0}, recv[MOST] = {0};
    const size_t *lengths = nbcoll_ints(counts), *places = nbcoll_ints(displs);
    nbcoll_comm *comm = w->comm[rank];
    (void)user;
    for (int i = 0; i < counts[rank]; i++)
        send[i] = number(rank, 0, i);
    EXPECT(OK, nbcoll_allgatherv(send, recv, lengths, places, NBCOLL_INT32, comm, NBCOLL_FOREVER));
    check_blocks(recv, 0);
    memset(recv, 0, sizeof recv);
    EXPECT(OK,
           nbcoll_gatherv(send, (size_t)counts[rank], recv, lengths, places, NBCOLL_INT32, 1, comm, NBCOLL_FOREVER));
    if (rank == 1)
        check_blocks(recv, 0);
    memset(send, 0, sizeof send);
    EXPECT(OK,
           nbcoll_scatterv(recv, lengths, places, send, (size_t)counts[rank], NBCOLL_INT32, 1, comm, NBCOLL_FOREVER));
    for (int i = 0; i < counts[rank]; i++)
        assert_int_equal(send[i], number(rank, 0, i));
}

/* The second one: an exchange with other lengths for each pair, persistent; its arrays are read at each start. */
static void exchanges(world *w, int rank, void *user)
{
    int send[MOST] = {0}, recv[MOST] = {0}, out[RANKS], in[RANKS], from[] = {0, 3, 6};
    nbcoll_type types[] = {NBCOLL_INT32, NBCOLL_INT32, NBCOLL_INT32};
    nbcoll_request request[2];
    (void)user;
    for (int s = 0; s < RANKS; s++) {
        out[s] = counts[s];
        in[s] = counts[rank];
        for (int i = 0; i < out[s]; i++)
            send[from[s] + i] = number(rank, s, i);
    }
    EXPECT(OK, nbcoll_alltoallv_init(send, nbcoll_ints(out), nbcoll_ints(from), recv, nbcoll_ints(in),
                                     nbcoll_ints(from), NBCOLL_INT32, w->comm[rank], &request[0]));
    int bytes[] = {0, 3 * (int)sizeof *recv, 6 * (int)sizeof *recv};
    EXPECT(OK, nbcoll_alltoallw_init(send, nbcoll_ints(out), nbcoll_ints(bytes), types, recv, nbcoll_ints(in),
                                     nbcoll_ints(bytes), types, w->comm[rank], &request[1]));
    for (int i = 0; i < 4; i++) {
        memset(recv, 0, sizeof recv);
        EXPECT(OK, nbcoll_start(&request[i % 2]));
        EXPECT(OK, nbcoll_wait(&request[i % 2], NBCOLL_FOREVER));
        for (int r = 0; r < RANKS; r++)
            for (int k = 0; k < counts[rank]; k++)
                assert_int_equal(recv[from[r] + k], number(r, rank, k));
    }
    EXPECT(OK, nbcoll_request_free(&request[0]));
    EXPECT(OK, nbcoll_request_free(&request[1]));
}

/* The third one: sums blocks of a vector, in place. */
static void sums(world *w, int rank, void *user)
{
    int vector[] = {1, 2, 3, 4, 5, 6}, first[] = {0, 1, 3};
    (void)user;
    EXPECT(OK, nbcoll_reduce_scatter(NBCOLL_IN_PLACE, vector, nbcoll_ints(counts), NBCOLL_INT32, NBCOLL_SUM,
                                     w->comm[rank], NBCOLL_FOREVER));
    for (int i = 0; i < counts[rank]; i++)
        assert_int_equal(vector[i], RANKS * (first[rank] + i + 1));
}

/* Wide ones and 32-bit ones are the same arguments: ranks may differ, and one array of a call may be so, one so. */
static void with_wide_ones(world *w, int rank, void *user)
{
    const size_t wide[] = {1, 2, 3}, at[] = {0, 2, 5};
    int send[MOST] = {0}, recv[MOST] = {0};
    (void)user;
    for (int i = 0; i < counts[rank]; i++)
        send[i] = number(rank, 0, i);
    EXPECT(OK, nbcoll_allgatherv(send, recv, rank ? nbcoll_ints(counts) : wide, rank == 1 ? at : nbcoll_ints(displs),
                                 NBCOLL_INT32, w->comm[rank], NBCOLL_FOREVER));
    check_blocks(recv, 0);
}

/* What is negative is too large, also of bytes; an array must be there. */
static void refused(world *w, int rank, void *user)
{
    const int minus[] = {1, -1, 1}, ones[] = {1, 1, 1}, behind[] = {0, -2, 1};
    int send[MOST] = {0}, recv[MOST];
    nbcoll_comm *comm = w->comm[rank];
    nbcoll_request q;
    (void)user;
    EXPECT(ERR_COUNT, nbcoll_iallgatherv(send, recv, nbcoll_ints(minus), nbcoll_ints(displs), NBCOLL_BYTE, comm, &q));
    EXPECT(ERR_COUNT, nbcoll_iallgatherv(send, recv, nbcoll_ints(ones), nbcoll_ints(behind), NBCOLL_BYTE, comm, &q));
    EXPECT(ERR_COUNT, nbcoll_ialltoallv(send, nbcoll_ints(minus), nbcoll_ints(displs), recv, nbcoll_ints(ones),
                                        nbcoll_ints(displs), NBCOLL_INT32, comm, &q));
    EXPECT(ERR_COUNT, nbcoll_ialltoallv(send, nbcoll_ints(ones), nbcoll_ints(displs), recv, nbcoll_ints(ones),
                                        nbcoll_ints(behind), NBCOLL_BYTE, comm, &q));
    EXPECT(ERR_COUNT, nbcoll_ireduce_scatter(send, recv, nbcoll_ints(minus), NBCOLL_INT32, NBCOLL_SUM, comm, &q));
    EXPECT(ERR_NULL, nbcoll_iallgatherv(send, recv, nbcoll_ints(NULL), nbcoll_ints(displs), NBCOLL_BYTE, comm, &q));
    EXPECT(OK, nbcoll_barrier(comm, NBCOLL_FOREVER));
}

static void everywhere(void **state)
{
    void (*const callers[])(world * w, int rank, void *user) = {blocks_of_all_ranks, exchanges, sums, with_wide_ones,
                                                                refused};
    const unsigned flags[] = {0, NBCOLL_COUNTS_KNOWN, NBCOLL_CHECKED};
    (void)state;
    for (int f = 0; f < 3; f++) {
        nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
        world w;
        config.flags = flags[f];
        world_open(&w, RANKS, NULL, NULL, &config);
        for (int i = 0; i < 5; i++)
            world_threads(&w, callers[i], NULL);
        world_close(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(everywhere)};
    return cmocka_run_group_tests_name("ints", tests, NULL, NULL);
}
