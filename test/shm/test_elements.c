/* SPDX-License-Identifier: BSD-3-Clause
 * Averages, scaled, wide and reproducible sums, and strided data over shm, by processes and threads: of a few numbers,
 * which go through cells, of as many as are exposed, and of as many as the kernel copies.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nbcoll/strided.h"
#include "nbcoll/sums.h"
#include "ranks.h"

enum { SIZES = 5, ROWS = 3 };
static const size_t sizes[SIZES] = {1, 7, 300, 9000, 150000};

static float number(int rank, size_t i)
{
    return (float)((int)(i * 7 % 64) - 32 + rank);
}

/* Each sum of numbers that are exact in every type: in place and not, one after the other. */
static void sum_all(nbcoll_comm *comm, size_t n)
{
    const int ranks = nbcoll_comm_size(comm), rank = nbcoll_comm_rank(comm);
    const double factor = rank + 1;
    const nbcoll_host_op scaled = nbcoll_sum_scaled(&factor);
    const nbcoll_op ops[4] = {nbcoll_average(), nbcoll_op_of(&scaled), nbcoll_sum_wide(), nbcoll_sum_reproducible()};
    float *send = malloc(n * sizeof *send), *recv = malloc(n * sizeof *recv);

    CHECK(send && recv);
    for (int k = 0; k < 8; k++) {
        int in_place = k / 4;
        for (size_t i = 0; i < n; i++)
            (in_place ? recv : send)[i] = number(rank, i);
        CHECK_STATUS(NBCOLL_OK, nbcoll_allreduce(in_place ? NBCOLL_IN_PLACE : send, recv, n, NBCOLL_FLOAT, ops[k % 4],
                                                 comm, NBCOLL_FOREVER));
        for (size_t i = 0; i < n; i++) {
            float sum = 0;
            for (int r = 0; r < ranks; r++)
                sum += number(r, i) * (k % 4 == 1 ? (float)(r + 1) : 1);
            CHECK(recv[i] == (k % 4 ? sum : sum / (float)ranks));
        }
    }
    free(send);
    free(recv);
}

/* The middle column of a matrix of n rows travels to all, and is summed in place; what lies beside it stays. */
static void columns(nbcoll_comm *comm, size_t n)
{
    const int ranks = nbcoll_comm_size(comm), rank = nbcoll_comm_rank(comm);
    float(*matrix)[ROWS] = malloc(n * sizeof *matrix), *all = malloc((size_t)ranks * n * sizeof *all);
    nbcoll_strided column;

    CHECK(matrix && all);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < ROWS; k++)
            matrix[i][k] = k == 1 ? number(rank, i) : -1000;
    CHECK_STATUS(NBCOLL_OK, nbcoll_strided_make(&column, NBCOLL_FLOAT, 1, (nbcoll_steps){n, ROWS}, NBCOLL_ONCE, 1));
    nbcoll_type packed = nbcoll_type_of(&column.type);
    nbcoll_strided row;
    CHECK_STATUS(NBCOLL_OK, nbcoll_strided_make(&row, NBCOLL_FLOAT, n, NBCOLL_ONCE, NBCOLL_ONCE, n));
    nbcoll_request request;
    CHECK_STATUS(NBCOLL_OK, nbcoll_ibcast(&matrix[0][1], 1, packed, 0, comm, &request));
    CHECK_STATUS(NBCOLL_OK, nbcoll_wait(&request, NBCOLL_FOREVER));
    for (size_t i = 0; i < n; i++)
        CHECK(matrix[i][1] == number(0, i) && matrix[i][0] == -1000 && matrix[i][2] == -1000);
    for (size_t i = 0; i < n; i++)
        matrix[i][1] = number(rank, i);
    CHECK_STATUS(NBCOLL_OK,
                 nbcoll_allreduce(NBCOLL_IN_PLACE, &matrix[0][1], 1, packed, NBCOLL_SUM, comm, NBCOLL_FOREVER));
    for (size_t i = 0; i < n; i++) {
        CHECK(matrix[i][1] == (float)ranks * number(0, i) + (float)(ranks * (ranks - 1) / 2));
        CHECK(matrix[i][0] == -1000 && matrix[i][2] == -1000);
        all[i] = number(rank, i);
    }
    CHECK_STATUS(NBCOLL_OK, nbcoll_bcast(all, 1, nbcoll_type_of(&row.type), ranks - 1, comm, NBCOLL_FOREVER));
    for (size_t i = 0; i < n; i++)
        CHECK(all[i] == number(ranks - 1, i));
    free(matrix);
    free(all);
}

static void sums_and_columns(int rank, void *user)
{
    nbcoll_shm_config config = *(const nbcoll_shm_config *)user;
    member m;

    config.rank = rank;
    member_join(&m, &config, NULL);
    for (int i = 0; i < SIZES; i++) {
        sum_all(m.comm, sizes[i]);
        columns(m.comm, sizes[i]);
    }
    CHECK_STATUS(NBCOLL_OK, nbcoll_barrier(m.comm, NBCOLL_FOREVER));
    member_leave(&m);
}

static void processes_and_threads_sum_and_exchange_columns(void **state)
{
    const crew crews[] = {CREW(1, 1), CREW(1, 1, 1, 1), CREW(1, 2)};
    (void)state;
    for (size_t i = 0; i < sizeof crews / sizeof *crews; i++) {
        nbcoll_shm_config config = {.size = sizeof config, .id = fresh_id(), .ranks = crew_ranks(&crews[i])};
        crew_succeeds(&crews[i], sums_and_columns, &config);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(processes_and_threads_sum_and_exchange_columns)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
