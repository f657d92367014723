/* SPDX-License-Identifier: BSD-3-Clause
 * Waiting for what belongs to the start of a split tree: for the messages of a rank's own levels, and for no others.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "nbcoll/select.h"

#include "world.h"

enum { RANKS = 4 };

static const uint64_t brief = 1000000, deadline = 30000000000u;

/* A binomial tree whose last level is the ranks' own: 1 sends to 0, and 3 to 2; then 2 to 0. */
static void open_split(world *w)
{
    const nbcoll_rule rule = {.algorithm = nbcoll_algorithm_find(NBCOLL_OPERATION_REDUCE, "binomial"), .split = 1};
    nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
    config.rules = &rule;
    config.rule_count = 1;
    world_open(w, RANKS, NULL, NULL, &config);
}

static void it_waits_for_the_messages_of_the_own_levels(void **state)
{
    nbcoll_request q[RANKS];
    int32_t one[RANKS] = {1, 1, 1, 1}, sum[RANKS] = {0};
    world w;
    (void)state;
    open_split(&w);
    for (int r = 0; r < 3; r++)
        EXPECT(OK, nbcoll_ireduce(&one[r], &sum[r], 1, NBCOLL_INT32, NBCOLL_SUM, 0, w.comm[r], &q[r]));
    EXPECT(OK, nbcoll_wait_started(&q[1], deadline)); /* it has sent */
    EXPECT(OK, nbcoll_wait_started(&q[0], deadline)); /* rank 1's has come */
    EXPECT(PENDING, nbcoll_test(&q[0]));              /* rank 2's has not */
    EXPECT(ERR_TIMEOUT, nbcoll_wait_started(&q[2], brief));
    EXPECT(ERR_TIMEOUT, nbcoll_wait_started(&q[2], 0));
    EXPECT(OK, nbcoll_ireduce(&one[3], &sum[3], 1, NBCOLL_INT32, NBCOLL_SUM, 0, w.comm[3], &q[3]));
    EXPECT(OK, nbcoll_wait_started(&q[2], deadline));
    world_finish(&w, RANKS, q);
    assert_int_equal(sum[0], RANKS);
    world_close(&w);
}

static void operations_without_such_steps_are_ok_at_once(void **state)
{
    nbcoll_request q[RANKS], none = NBCOLL_REQUEST_NULL, stale;
    world w;
    (void)state;
    world_open(&w, RANKS, NULL, NULL, NULL);
    EXPECT(ERR_NULL, nbcoll_wait_started(NULL, deadline));
    EXPECT(OK, nbcoll_wait_started(&none, deadline));
    EXPECT(OK, nbcoll_ibarrier(w.comm[0], &q[0]));
    EXPECT(OK, nbcoll_wait_started(&q[0], deadline));
    EXPECT(PENDING, nbcoll_test(&q[0]));
    stale = q[0];
    for (int r = 1; r < RANKS; r++)
        EXPECT(OK, nbcoll_ibarrier(w.comm[r], &q[r]));
    world_finish(&w, RANKS, q);
    EXPECT(ERR_REQUEST, nbcoll_wait_started(&stale, deadline));
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_waits_for_the_messages_of_the_own_levels),
        cmocka_unit_test(operations_without_such_steps_are_ok_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
