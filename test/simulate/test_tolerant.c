/* SPDX-License-Identifier: BSD-3-Clause
 * What ARRIVAL_TOLERANT promises, in virtual time, of each algorithm that has it, where operations stand and drivers
 * pass on: a late rank delays its own block of an allgather, and of a broadcast only itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "scene.h"

enum { MOST = 9, LATE = 1000000, BLOCK = 50 };

static scene preposted(const nbcoll_algorithm *algorithm, int ranks)
{
    scene s = scene_of(algorithm->operation, algorithm->name, ranks, BLOCK);
    scene_loggp(&s, 1000, 100, 0, 0);
    s.model.progress = 1;
    s.config.preposted = 1;
    s.c.segment = algorithm->flags & NBCOLL_ALGORITHM_SEGMENT ? 16 : 0;
    return s;
}

static void one_is_late(scene *s, int rank)
{
    s->config.arrival = (nbcoll_sim_arrival){NBCOLL_SIM_ONE_LATE, rank, LATE};
}

static void count(void *user, const nbcoll_sim_event *e)
{
    int *received = user;
    *received += e->what == NBCOLL_SIM_STEP && e->kind == NBCOLL_RECV && e->end < LATE;
}

/* Receives of all ranks until the late one comes. */
static int received_before(const nbcoll_algorithm *algorithm, int ranks, int late)
{
    scene s = preposted(algorithm, ranks);
    int received = 0;
    one_is_late(&s, late);
    s.config.user = &received;
    s.config.event = count;
    scene_play(&s);
    return received;
}

static void a_late_rank_delays_its_own_block_of_an_allgather(void **state)
{
    const nbcoll_operation operations[] = {NBCOLL_OPERATION_ALLGATHER, NBCOLL_OPERATION_ALLGATHERV};
    const nbcoll_algorithm *algorithm;
    (void)state;
    for (int i = 0; i < 2; i++)
        for (unsigned k = 0; (algorithm = nbcoll_algorithm_at(operations[i], k)); k++)
            for (int ranks = 2; ranks <= MOST && algorithm->flags & NBCOLL_ALGORITHM_ARRIVAL_TOLERANT; ranks++)
                for (int late = 0; late < ranks; late++)
                    assert_int_equal(received_before(algorithm, ranks, late), (ranks - 1) * (ranks - 1));
}

static void others_delay_more(void **state)
{
    (void)state;
    assert_true(received_before(nbcoll_algorithm_find(NBCOLL_OPERATION_ALLGATHER, "bruck"), 8, 3) < 7 * 7);
}

/* When the ranks have ended; `late`: or -1. */
static void play(const nbcoll_algorithm *algorithm, int ranks, int root, int late, nbcoll_sim_rank rank[])
{
    scene s = preposted(algorithm, ranks);
    s.c.root = root;
    if (late >= 0)
        one_is_late(&s, late);
    s.result.rank = rank;
    scene_play(&s);
}

static void a_late_rank_is_the_only_one_that_a_broadcast_is_late_for(void **state)
{
    nbcoll_sim_rank usual[MOST], rank[MOST];
    const nbcoll_algorithm *algorithm;
    (void)state;
    for (unsigned k = 0; (algorithm = nbcoll_algorithm_at(NBCOLL_OPERATION_BCAST, k)); k++)
        for (int ranks = 2; ranks <= MOST && algorithm->flags & NBCOLL_ALGORITHM_ARRIVAL_TOLERANT; ranks++)
            for (int late = 0; late < ranks; late++) {
                int root = (late + 1) % ranks;
                play(algorithm, ranks, root, -1, usual);
                play(algorithm, ranks, root, late, rank);
                for (int i = 0; i < ranks; i++)
                    assert_int_equal(rank[i].ended, i == late ? LATE : usual[i].ended);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_late_rank_delays_its_own_block_of_an_allgather),
        cmocka_unit_test(others_delay_more),
        cmocka_unit_test(a_late_rank_is_the_only_one_that_a_broadcast_is_late_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
