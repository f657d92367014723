/* SPDX-License-Identifier: BSD-3-Clause
 * Calls that relays carry out end with their deadline, with a rank that is lost, and where ranks differ; and bad calls
 * are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "carried.h"

static void settle(carried *p, int o, nbcoll_status wanted)
{
    nbcoll_request q[RANKS];
    nbcoll_status s[RANKS];
    for (int r = 0; r < p->w.ranks; r++)
        q[r] = p->request[r][o];
    carried_settle(p, (size_t)p->w.ranks, q, s);
    for (int r = 0; r < p->w.ranks; r++)
        assert_int_equal(s[r], wanted);
}

/* It says so at the deadline, with the first rank whose block has not come, and takes back what it has started. */
static void a_blocking_call_ends_at_its_deadline(void **state)
{
    static carried p;
    nbcoll_failure failure = {0};
    (void)state;
    carried_open(&p, 2, carried_config(NBCOLL_TOPOLOGY_DIRECT), NULL);
    carried_await(&p);
    EXPECT(ERR_TIMEOUT, nbcoll_allgather(p.send[0][0], p.recv[0][0], BYTES, NBCOLL_BYTE, p.w.comm[0], 1000000));
    EXPECT(OK, nbcoll_comm_failure(p.w.comm[0], &failure));
    EXPECT(ERR_TIMEOUT, failure.status);
    assert_int_equal(failure.rank, 1);
    for (int looks = 0; nbcoll_comm_active(p.w.comm[0]); looks++) {
        world_watchdog(&p.w, looks < LOOKS);
        carried_step(&p);
    }
    carried_close(&p);
}

/* Of several that are late the first; of a broadcast the root, though others are late, too. */
static void a_wait_names_whose_block_has_not_come(void **state)
{
    static carried p;
    const int late[] = {1, 3};
    nbcoll_failure failure = {0};
    nbcoll_request q[RANKS];
    (void)state;
    carried_open(&p, RANKS, carried_config(NBCOLL_TOPOLOGY_RING), NULL);
    carried_await(&p);
    for (int turn = 0; turn < 2; turn++) {
        for (int r = 0; r < RANKS; r++)
            if (r != late[0] && r != late[1])
                carried_gather(&p, r, turn);
        carried_steps(&p, LOOKS);
        for (int r = 0; r < RANKS; r += 2) {
            EXPECT(ERR_TIMEOUT, nbcoll_wait(&p.request[r][turn], 1000000));
            EXPECT(OK, nbcoll_comm_failure(p.w.comm[r], &failure));
            assert_int_equal(failure.rank, late[0]);
        }
        carried_gather(&p, late[0], turn);
        carried_steps(&p, LOOKS);
        EXPECT(ERR_TIMEOUT, nbcoll_wait(&p.request[0][turn], 1000000));
        EXPECT(OK, nbcoll_comm_failure(p.w.comm[0], &failure));
        assert_int_equal(failure.rank, late[1]);
        carried_gather(&p, late[1], turn);
        carried_finish(&p, turn);
    }
    for (int r = 0; r < RANKS; r++) {
        EXPECT(OK, nbcoll_ibcast(p.recv[r][2], BYTES, NBCOLL_BYTE, 3, p.w.comm[r], &q[r]));
        if (!r)
            EXPECT(ERR_TIMEOUT, nbcoll_wait(&q[0], 1000000));
        if (!r)
            EXPECT(OK, nbcoll_comm_failure(p.w.comm[0], &failure));
    }
    assert_int_equal(failure.rank, 3);
    carried_finish_all(&p, RANKS, q);
    carried_close(&p);
}

static void a_lost_rank_ends_the_calls(void **state)
{
    static carried p;
    (void)state;
    carried_open(&p, 3, carried_config(NBCOLL_TOPOLOGY_RING), NULL);
    carried_await(&p);
    for (int r = 0; r < 2; r++)
        carried_gather(&p, r, 0);
    for (int r = 0; r < 2; r++)
        EXPECT(OK, nbcoll_comm_declare_lost(p.w.comm[r], 2));
    for (int r = 0; r < 2; r++)
        for (int looks = 0;; looks++) {
            nbcoll_status s = nbcoll_test(&p.request[r][0]);
            if (s != NBCOLL_PENDING) {
                EXPECT(ERR_PEER_LOST, s);
                break;
            }
            world_watchdog(&p.w, looks < LOOKS);
            carried_step(&p);
        }
    carried_steps(&p, LOOKS);
    carried_close(&p);
}

static void ranks_that_differ_in_what_is_carried_are_told(void **state)
{
    static carried p;
    const nbcoll_comm_config comm = NBCOLL_COMM_DEFAULTS;
    (void)state;
    carried_open_ranks(&p, 2, NULL, &comm);
    for (int r = 0; r < 2; r++) {
        nbcoll_relays_config config = carried_config(NBCOLL_TOPOLOGY_DIRECT);
        config.carries -= (size_t)r;
        EXPECT(OK, carried_open_relays(&p, r, config));
        carried_gather(&p, r, 0);
    }
    settle(&p, 0, NBCOLL_ERR_MISMATCH);
    carried_close(&p);
}

static void bad_calls_are_refused(void **state)
{
    static carried p;
    nbcoll_relays *other;
    uint64_t number;
    nbcoll_relays_config config = carried_config(NBCOLL_TOPOLOGY_DIRECT);
    (void)state;
    carried_open(&p, 2, config, NULL);
    EXPECT(ERR_BUSY, nbcoll_relays_open(p.w.comm[0], &config, &other));
    config.carries = 17;
    EXPECT(ERR_CONFIG, nbcoll_relays_open(p.w.comm[0], &config, &other));
    carried_await(&p);
    EXPECT(ERR_UNSUPPORTED, nbcoll_relays_allgather(p.relays[0], NULL, p.recv[0], 8, &number));
    EXPECT(ERR_UNSUPPORTED, nbcoll_relays_bcast(p.relays[0], p.recv[0], 8, 0, &number));
    EXPECT(ERR_REQUEST, nbcoll_relays_test(p.relays[0], 1));
    EXPECT(ERR_REQUEST, nbcoll_relays_arrived(p.relays[0], 1, 0));
    carried_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_blocking_call_ends_at_its_deadline),
        cmocka_unit_test(a_wait_names_whose_block_has_not_come),
        cmocka_unit_test(a_lost_rank_ends_the_calls),
        cmocka_unit_test(ranks_that_differ_in_what_is_carried_are_told),
        cmocka_unit_test(bad_calls_are_refused),
    };
    int failed = cmocka_run_group_tests_name("by engines", tests, NULL, NULL);
    carried_by_agents = 1;
    return failed + cmocka_run_group_tests_name("by agents", tests, NULL, NULL);
}
