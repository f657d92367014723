/* SPDX-License-Identifier: BSD-3-Clause
 * How many schedules a communicator keeps: as many as fit into the bytes that the host allows. A host can read how many
 * had to be built. What was used longest ago makes room. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "world.h"

enum { RANKS = 2, LONG = 200000 };

static world w;

static void open_world(uint32_t schedules, size_t bytes)
{
    nbcoll_comm_config comm = NBCOLL_COMM_DEFAULTS;
    comm.schedules = schedules ? schedules : comm.schedules;
    comm.schedule_bytes = bytes;
    world_open(&w, RANKS, NULL, NULL, &comm);
}

static nbcoll_schedules cached(void)
{
    nbcoll_schedules is = {.size = sizeof is};
    EXPECT(OK, nbcoll_comm_schedules(w.comm[0], &is));
    assert_int_equal(is.kept, is.built - is.evicted);
    return is;
}

static void add_up(size_t count)
{
    static char mine[LONG], sum[RANKS][LONG];
    nbcoll_request request[RANKS];

    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, nbcoll_iallreduce(mine, sum[r], count, NBCOLL_INT8, NBCOLL_SUM, w.comm[r], &request[r]));
    world_finish(&w, RANKS, request);
}

static void thousands_of_counts_in_turn_are_built_once(void **state)
{
    static const size_t counts[] = {100, 250, 2000};

    (void)state;
    for (int k = 0; k < 3; k++) {
        open_world(0, 0);
        for (int turn = 0; turn < 2; turn++) {
            for (size_t i = 0; i < counts[k]; i++)
                add_up(10 + i);
            nbcoll_schedules is = cached();
            assert_int_equal(is.built, counts[k]);
            assert_int_equal(is.evicted, 0);
            assert_true(is.operations >= (size_t)(turn + 1) * counts[k]);
            assert_true(is.bytes <= is.most);
        }
        world_close(&w);
    }
}

static void no_more_is_kept_than_the_host_allows(void **state)
{
    enum { BYTES = 100000 };

    (void)state;
    open_world(0, BYTES);
    for (size_t i = 0; i < 300; i++) {
        add_up(10 + i * 8);
        assert_true(i < 1 || cached().bytes <= BYTES + 20000); /* the last one's run came after it */
    }
    nbcoll_schedules is = cached();
    assert_int_equal(is.most, BYTES);
    assert_in_range(is.kept, 5, 100);
    add_up(LONG); /* larger than all that is allowed: it is kept, alone */
    add_up(LONG);
    assert_int_equal(cached().built, 301);
    add_up(5);
    add_up(6); /* the run of the one before came after that was built */
    add_up(5);
    assert_true(cached().bytes <= BYTES);
    world_close(&w);
}

static void a_count_is_a_bound_too(void **state)
{
    (void)state;
    open_world(3, 0);
    for (size_t i = 0; i < 10; i++)
        add_up(1 + i);
    assert_int_equal(cached().kept, 3);
    world_close(&w);
}

static void what_was_used_longest_ago_goes_first(void **state)
{
    (void)state;
    open_world(3, 0);
    add_up(1);
    add_up(2);
    add_up(3);
    add_up(1); /* again */
    add_up(4); /* takes the place of 2 */
    assert_int_equal(cached().built, 4);
    add_up(3);
    add_up(1);
    assert_int_equal(cached().built, 4);
    add_up(2);
    assert_int_equal(cached().built, 5);
    world_close(&w);
}

static void asking_is_checked(void **state)
{
    nbcoll_schedules is = {.size = 4};

    (void)state;
    open_world(0, 0);
    EXPECT(ERR_CONFIG, nbcoll_comm_schedules(w.comm[0], &is));
    EXPECT(ERR_NULL, nbcoll_comm_schedules(w.comm[0], NULL));
    EXPECT(ERR_NULL, nbcoll_comm_schedules(NULL, &is));
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thousands_of_counts_in_turn_are_built_once),
        cmocka_unit_test(no_more_is_kept_than_the_host_allows),
        cmocka_unit_test(a_count_is_a_bound_too),
        cmocka_unit_test(what_was_used_longest_ago_goes_first),
        cmocka_unit_test(asking_is_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
