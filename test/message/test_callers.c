/* SPDX-License-Identifier: BSD-3-Clause
 * The three callers of message.h, as processes and threads over shm: a ring, a halo exchange, a master and its
 * workers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "joined_shm.h"
#include "nbcoll/strided.h"

static const crew crews[] = {{{1, 1}}, {{1, 1, 1}}, {{2, 2}}, {{1, 3, 1}}};
enum { CREWS = sizeof crews / sizeof *crews, TAG = 4, TASK = 1, END = 2, RESULT = 3 };
static const uint32_t flags[] = {0, NBCOLL_SHM_NO_BULK, NBCOLL_SHM_PIECES};

static void everywhere(rank_main *main)
{
    for (int i = 0; i < CREWS; i++)
        for (int k = 0; k < 3; k++)
            if ((i * 3 + k) % sampled(2) == 0) {
                meeting at = meeting_of(&crews[i], flags[k]);
                at.context.flags = (i + k) % 2 ? NBCOLL_ANY_THREAD : 0;
                crew_succeeds(&crews[i], main, &at);
            }
}

/* ---- a ring -------------------------------------------------------------------------------------------------- */

static void pass_on(int rank, void *user)
{
    static const size_t lengths[] = {1, 12, 300, 1000, 30000};
    static _Thread_local int mine[30000], theirs[30000];
    mate me;

    mate_join(&me, user, rank);
    int right = (rank + 1) % me.ranks, left = (rank + me.ranks - 1) % me.ranks;
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++)
        for (int round = 0; round < 20; round++) {
            nbcoll_message_info info;
            for (size_t i = 0; i < lengths[k]; i++)
                mine[i] = rank * 1000000 + round * 30000 + (int)i;
            CHECK_STATUS(NBCOLL_OK, nbcoll_sendrecv(mine, lengths[k], NBCOLL_INT, right, TAG, theirs, lengths[k],
                                                    NBCOLL_INT, left, TAG, me.m, &info, 30 * SECOND));
            CHECK(info.source == left && info.bytes == lengths[k] * sizeof(int));
            for (size_t i = 0; i < lengths[k]; i++)
                CHECK(theirs[i] == left * 1000000 + round * 30000 + (int)i);
        }
    mate_leave(&me);
}

static void a_ring_passes_on(void **state)
{
    (void)state;
    everywhere(pass_on);
}

/* ---- a halo exchange ----------------------------------------------------------------------------------------- */

enum { MOST_ROWS = 4000, COLUMNS = 5 };

static double cell(int rank, int step, size_t row, int column)
{
    return rank * 1e8 + step * 1e6 + (double)row * 10 + column;
}

/* Also where the halo lies, from which nothing may be left. */
static void fill(double (*a)[COLUMNS], size_t rows, int rank, int step)
{
    for (size_t i = 0; i < rows; i++)
        for (int k = 0; k < COLUMNS; k++)
            a[i][k] = cell(rank, step, i, k);
}

static void halo_is(double (*a)[COLUMNS], size_t rows, const int neighbour[2], int rank, int step)
{
    for (size_t i = 0; i < rows; i++) {
        CHECK(a[i][0] == cell(neighbour[0], step, i, COLUMNS - 2));
        CHECK(a[i][COLUMNS - 1] == cell(neighbour[1], step, i, 1));
        for (int k = 1; k < COLUMNS - 1; k++)
            CHECK(a[i][k] == cell(rank, step, i, k));
    }
}

static void exchange(int rank, void *user)
{
    static const size_t lengths[] = {4, 200, MOST_ROWS};
    static _Thread_local double a[MOST_ROWS][COLUMNS];
    mate me;

    mate_join(&me, user, rank);
    const int neighbour[2] = {(rank + me.ranks - 1) % me.ranks, (rank + 1) % me.ranks};
    for (int k = 0; k < 3; k++) {
        nbcoll_request request[4];
        nbcoll_strided column;
        CHECK_STATUS(NBCOLL_OK, nbcoll_strided_make(&column, NBCOLL_DOUBLE, 1, (nbcoll_steps){lengths[k], COLUMNS},
                                                    NBCOLL_ONCE, 1));
        nbcoll_type type = nbcoll_type_of(&column.type);
        for (int side = 0; side < 2; side++) {
            CHECK_STATUS(NBCOLL_OK, nbcoll_recv_init(&a[0][side ? COLUMNS - 1 : 0], 1, type, neighbour[side], !side,
                                                     me.m, NULL, &request[side]));
            CHECK_STATUS(NBCOLL_OK, nbcoll_send_init(&a[0][side ? COLUMNS - 2 : 1], 1, type, neighbour[side], side,
                                                     me.m, &request[2 + side]));
        }
        for (int step = 0; step < 30; step++) {
            fill(a, lengths[k], rank, step);
            for (int i = 0; i < 4; i++)
                CHECK_STATUS(NBCOLL_OK, nbcoll_start(&request[i]));
            CHECK_STATUS(NBCOLL_OK, nbcoll_wait_all(4, request, NULL, 30 * SECOND));
            halo_is(a, lengths[k], neighbour, rank, step);
        }
        for (int i = 0; i < 4; i++)
            CHECK_STATUS(NBCOLL_OK, nbcoll_request_free(&request[i]));
    }
    mate_leave(&me);
}

static void a_halo_is_exchanged(void **state)
{
    (void)state;
    everywhere(exchange);
}

/* ---- a master and its workers -------------------------------------------------------------------------------- */

enum { TASKS = 300 };

static void give_tasks(const mate *me)
{
    int given = 0, ended = 0;
    long sum = 0;

    while (ended < me->ranks - 1) {
        long result;
        nbcoll_message_info who;
        CHECK_STATUS(NBCOLL_OK, nbcoll_recv(&result, 1, NBCOLL_LONG, NBCOLL_ANY_SOURCE, NBCOLL_ANY_TAG, me->m, &who,
                                            30 * SECOND));
        CHECK(who.tag == RESULT);
        sum += result;
        int tag = given < TASKS ? TASK : END;
        ended += tag == END;
        CHECK_STATUS(NBCOLL_OK, nbcoll_send(&given, 1, NBCOLL_INT, who.source, tag, me->m, 30 * SECOND));
        given += tag == TASK;
    }
    CHECK(sum == (long)TASKS * (TASKS - 1) / 2 * 3);
}

static void master_or_worker(int rank, void *user)
{
    mate me;
    nbcoll_message_info what = {0, TASK, 0};
    long result = 0;
    int task;

    mate_join(&me, user, rank);
    if (rank == 0)
        give_tasks(&me);
    while (rank && what.tag == TASK) {
        CHECK_STATUS(NBCOLL_OK, nbcoll_ssend(&result, 1, NBCOLL_LONG, 0, RESULT, me.m, 30 * SECOND));
        CHECK_STATUS(NBCOLL_OK, nbcoll_recv(&task, 1, NBCOLL_INT, 0, NBCOLL_ANY_TAG, me.m, &what, 30 * SECOND));
        result = 3L * task;
    }
    mate_leave(&me);
}

static void a_master_serves_whoever_is_ready(void **state)
{
    (void)state;
    everywhere(master_or_worker);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ring_passes_on),
        cmocka_unit_test(a_halo_is_exchanged),
        cmocka_unit_test(a_master_serves_whoever_is_ready),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
