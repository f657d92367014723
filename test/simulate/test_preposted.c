/* SPDX-License-Identifier: BSD-3-Clause
 * Relays in virtual time: operations that stand pass on what belongs to others, whether or not their rank has started
 * them; a late rank delays what needs its own block, and nothing else. Messages take 100 ns at each end and 1000 on
 * their way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "scene.h"

enum { MOST = 16, HOP = 1200, LATE = 1000000, BLOCK = 50 };

/* ---- scenes ------------------------------------------------------------------------------------------------------ */

static scene preposted(const char *algorithm, int ranks, int has_drivers)
{
    scene s = scene_of(NBCOLL_OPERATION_ALLGATHER, algorithm, ranks, BLOCK);
    scene_loggp(&s, 1000, 100, 0, 0);
    s.model.progress = (uint32_t)has_drivers;
    s.config.preposted = 4;
    return s;
}

static void one_is_late(scene *s, int rank)
{
    s->config.arrival = (nbcoll_sim_arrival){NBCOLL_SIM_ONE_LATE, rank, LATE};
}

/* What one rank does before `until`. */
typedef struct watched {
    uint64_t until;
    int rank, sends, recvs, all_recvs;
} watched;

static void watch(void *user, const nbcoll_sim_event *e)
{
    watched *w = user;
    if (e->what != NBCOLL_SIM_STEP || e->end >= w->until)
        return;
    w->all_recvs += e->kind == NBCOLL_RECV;
    w->sends += e->kind == NBCOLL_SEND && e->rank == w->rank;
    w->recvs += e->kind == NBCOLL_RECV && e->rank == w->rank;
}

/* Until the late rank comes. */
static watched before_it_comes(scene *s, int rank)
{
    watched w = {.until = LATE, .rank = rank};
    one_is_late(s, rank);
    s->config.user = &w;
    s->config.event = watch;
    scene_play(s);
    s->config.event = NULL;
    return w;
}

/* ---- late ranks -------------------------------------------------------------------------------------------------- */

static void a_late_rank_delays_its_own_block_alone(void **state)
{
    static const char *const algorithms[] = {"ring", "cayley", "exchange_pipelined", "bruck_pipelined"};
    (void)state;
    for (int i = 0; i < 4; i++)
        for (int ranks = 3; ranks <= 9; ranks++)
            for (int late = 0; late < ranks; late++) {
                scene s = preposted(algorithms[i], ranks, 1);
                watched w = before_it_comes(&s, late);
                assert_int_equal(w.all_recvs, (ranks - 1) * (ranks - 1)); /* of all blocks but its own */
                assert_int_equal(w.recvs, ranks - 1);
            }
}

/* A ring of four: the late block goes round, and has but its own way before it. */
static void a_ring_is_counted_to_the_nanosecond(void **state)
{
    nbcoll_sim_rank stands[4], waits[4];
    scene s = preposted("ring", 4, 1);
    (void)state;
    one_is_late(&s, 2);
    s.result.rank = stands;
    scene_play(&s);
    assert_int_equal(stands[2].ended, LATE + 100); /* its send: all is there */
    assert_int_equal(stands[3].ended, LATE + HOP + 100); /* and its send */
    assert_int_equal(stands[0].ended, LATE + 2 * HOP + 100);
    assert_int_equal(stands[1].ended, LATE + 3 * HOP);
    s.config.preposted = 0; /* the blocks of 0 and 1 wait at rank 2 */
    s.result.rank = waits;
    scene_play(&s);
    assert_int_equal(waits[3].ended, LATE + 100 + 2 * (100 + 100) + 1000 + 100);
    for (int rank = 0; rank < 4; rank++)
        assert_true(waits[rank].ended >= stands[rank].ended);
}

static void without_drivers_a_rank_passes_on_where_it_tests(void **state)
{
    const nbcoll_sim_action now[] = {{.act = NBCOLL_SIM_START}};
    const nbcoll_sim_action later[] = {{NBCOLL_SIM_COMPUTE, 0, LATE, 5000}, {.act = NBCOLL_SIM_START}};
    const nbcoll_sim_program programs[3] = {{now, 1}, {later, 2}, {now, 1}};
    scene s = preposted("ring", 3, 0);
    watched w = {.until = 5000 + 100 + 100 + 1000 + 101, .rank = 2};
    (void)state;
    s.config.programs = programs;
    s.config.user = &w;
    s.config.event = watch;
    scene_play(&s);
    assert_int_equal(w.recvs, 1); /* rank 0's, by way of rank 1's first test, after 5000 ns */
    w = (watched){.until = 5000 + 100 + 100 + 1000 + 100, .rank = 2};
    scene_play(&s);
    assert_int_equal(w.recvs, 0);
    w = (watched){.until = LATE, .rank = 2};
    s.config.preposted = 0;
    scene_play(&s);
    assert_int_equal(w.recvs, 0);
}

/* Who has not even begun makes no calls. */
static void without_drivers_a_late_rank_passes_nothing_on(void **state)
{
    scene s = preposted("ring", 4, 0);
    (void)state;
    watched w = before_it_comes(&s, 2);
    assert_int_equal(w.sends + w.recvs, 0);
}

static void what_a_rank_contributes_waits_for_its_start(void **state)
{
    static const char *const algorithms[] = {"recursive_doubling", "bruck", "exchange", "ring"};
    (void)state;
    for (int i = 0; i < 4; i++) {
        scene s = preposted(algorithms[i], 8, 1);
        watched w = before_it_comes(&s, 3);
        assert_int_equal(w.sends, i == 3 ? 6 : 0); /* of a ring, what comes from others: not to the one it is of */
    }
}

/* What is sent on in a barrier is that this rank has come, too. */
static void a_barrier_waits_for_all(void **state)
{
    scene s = scene_of(NBCOLL_OPERATION_BARRIER, "dissemination", 8, 0);
    (void)state;
    scene_loggp(&s, 1000, 100, 0, 0);
    s.model.progress = 1;
    s.config.preposted = 4;
    assert_int_equal(before_it_comes(&s, 3).sends, 0);
    assert_true(s.result.first > LATE);
}

static void where_nobody_is_late_nothing_changes(void **state)
{
    static const char *const algorithms[] = {"ring", "cayley", "exchange_pipelined", "bruck_pipelined"};
    nbcoll_sim_rank rank[2][MOST];
    (void)state;
    for (int i = 0; i < 8; i++) {
        scene s = preposted(algorithms[i / 2], 9, i % 2);
        for (int stands = 0; stands < 2; stands++) {
            s.config.preposted = (uint32_t)stands;
            s.result.rank = rank[stands];
            scene_play(&s);
        }
        assert_memory_equal(rank[0], rank[1], 9 * sizeof rank[0][0]);
        assert_int_equal(s.result.stored, 0);
    }
}

/* ---- the store --------------------------------------------------------------------------------------------------- */

static void a_store_has_room_for_the_promised_operations(void **state)
{
    static const char *const algorithms[] = {"ring", "cayley", "exchange_pipelined", "bruck_pipelined"};
    enum { RANKS = 5, OPERATIONS = 10 };
    nbcoll_sim_rank rank[OPERATIONS][RANKS];
    (void)state;
    for (uint32_t i = 0; i < 16; i++) {
        scene s = preposted(algorithms[i % 4], RANKS, 1);
        one_is_late(&s, 2);
        s.config.preposted = i / 4 + 1;
        s.config.operations = OPERATIONS;
        s.result.rank = rank[0];
        scene_play(&s);
        assert_int_equal(s.result.stored, s.config.preposted * (RANKS - 1) * BLOCK);
        for (int operation = 0; operation < OPERATIONS; operation++)
            assert_true(rank[operation][0].started < LATE && rank[operation][0].ended > LATE);
    }
}

/* Of a broadcast the root is never held back by what it waits for itself. */
static void a_full_store_leaves_the_rest_where_it_is(void **state)
{
    scene s = scene_of(NBCOLL_OPERATION_BCAST, "binomial", 4, BLOCK);
    (void)state;
    scene_loggp(&s, 1000, 100, 0, 0);
    s.model.progress = 1;
    s.config.preposted = 3;
    s.config.operations = 10;
    watched w = before_it_comes(&s, 2);
    assert_int_equal(w.recvs, 3);
    assert_int_equal(w.sends, 3); /* to rank 3 */
    assert_int_equal(s.result.stored, 3 * BLOCK);
}

/* 1000 ps a byte: 50 ns for each block, at once, when its rank has started. */
static void what_is_in_the_store_is_copied(void **state)
{
    nbcoll_sim_rank rank[4];
    scene s = preposted("ring", 4, 1);
    (void)state;
    s.model.copy = 1000;
    one_is_late(&s, 2);
    s.result.rank = rank;
    scene_play(&s);
    uint64_t own = BLOCK; /* its own block, to its place */
    assert_int_equal(rank[2].ended, LATE + 3 * BLOCK + own + 100);
}

/* Rank 1 receives into scratch memory, and copies from there itself. */
static nbcoll_status build_copying(void *user, uint32_t operation, int rank, nbcoll_schedule **out)
{
    nbcoll_builder_config config = {.size = sizeof config, .rank = rank, .ranks = 2};
    nbcoll_builder *b;
    (void)user;
    (void)operation;
    assert_int_equal(nbcoll_builder_open(&config, &b), NBCOLL_OK);
    nbcoll_addr send = {NBCOLL_BUFFER_SEND, 0}, recv = {NBCOLL_BUFFER_RECV, 0}, store = nbcoll_add_scratch(b, BLOCK);
    if (rank)
        nbcoll_after(b, nbcoll_add_copy(b, recv, store, BLOCK), nbcoll_add_recv(b, 0, store, BLOCK));
    else
        nbcoll_add_send(b, 1, send, BLOCK);
    return nbcoll_builder_finish(b, out);
}

static void what_is_in_scratch_memory_is_not_copied_twice(void **state)
{
    scene s = preposted("ring", 2, 1);
    (void)state;
    s.model.copy = 1000;
    one_is_late(&s, 1);
    assert_int_equal(scene_simulate(&s, build_copying, NULL), NBCOLL_OK);
    assert_int_equal(s.result.last, LATE + BLOCK);
}

/* ---- NICs -------------------------------------------------------------------------------------------------------- */

/* A core that is always taken away but for 1000 ns in a second, and a NIC of 30 ns a task. */
static void nics_are_not_disturbed(void **state)
{
    nbcoll_sim_rank rank[4];
    scene s = preposted("ring", 4, 1);
    (void)state;
    s.model.task = 30;
    s.config.noise = (nbcoll_sim_noise){1000000000, 999999000, 1000, NBCOLL_SIM_TOGETHER};
    s.result.rank = rank;
    scene_play(&s);
    for (int i = 0; i < 4; i++)
        assert_true(rank[i].ended < 4000);
    s.model.task = 0;
    scene_play(&s);
    assert_true(s.result.last > 999999000);
}

static void a_nic_works_so_long_a_message(void **state)
{
    scene s = preposted("ring", 2, 1);
    (void)state;
    s.model.task = 30;
    assert_int_equal(scene_play(&s), 30 + 1000 + 30);
    s.model.progress = 0;
    assert_int_equal(scene_simulate(&s, scene_build, &s), NBCOLL_ERR_ARGUMENT);
    s.model.progress = 1;
    s.model.task = NBCOLL_SIM_MOST_NS + 1;
    assert_int_equal(scene_simulate(&s, scene_build, &s), NBCOLL_ERR_LIMIT);
}

/* ---- chance ------------------------------------------------------------------------------------------------------ */

static void the_seed_says_all(void **state)
{
    enum { RANKS = 9, OPERATIONS = 5 };
    nbcoll_sim_rank rank[3][OPERATIONS][RANKS];
    (void)state;
    for (int i = 0; i < 3; i++) {
        scene s = preposted("cayley", RANKS, i / 2);
        s.config.seed = 7;
        s.config.operations = OPERATIONS;
        s.config.preposted = 2;
        s.config.arrival = (nbcoll_sim_arrival){NBCOLL_SIM_SCATTERED, 0, 20000};
        s.config.noise = (nbcoll_sim_noise){5000, 1000, 500, NBCOLL_SIM_RANDOM};
        s.model.contention = 10;
        s.result.rank = rank[i][0];
        scene_play(&s);
    }
    assert_memory_equal(rank[0], rank[1], sizeof rank[0]);
    assert_memory_not_equal(rank[0], rank[2], sizeof rank[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_late_rank_delays_its_own_block_alone),
        cmocka_unit_test(a_ring_is_counted_to_the_nanosecond),
        cmocka_unit_test(without_drivers_a_rank_passes_on_where_it_tests),
        cmocka_unit_test(without_drivers_a_late_rank_passes_nothing_on),
        cmocka_unit_test(what_a_rank_contributes_waits_for_its_start),
        cmocka_unit_test(a_barrier_waits_for_all),
        cmocka_unit_test(where_nobody_is_late_nothing_changes),
        cmocka_unit_test(a_store_has_room_for_the_promised_operations),
        cmocka_unit_test(a_full_store_leaves_the_rest_where_it_is),
        cmocka_unit_test(what_is_in_the_store_is_copied),
        cmocka_unit_test(what_is_in_scratch_memory_is_not_copied_twice),
        cmocka_unit_test(nics_are_not_disturbed),
        cmocka_unit_test(a_nic_works_so_long_a_message),
        cmocka_unit_test(the_seed_says_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
