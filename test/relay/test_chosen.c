/* SPDX-License-Identifier: BSD-3-Clause
 * Relays as an algorithm: selection takes them where they are open and the call is short, rules give them a range of
 * bytes or name another algorithm in their place, and where they are not open the next rule is asked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "nbcoll/relay.h"
#include "nbcoll/select.h"
#include "stepped.h"
#include "world.h"

enum { RANKS = 3, LATE = 1, CARRIES = 16, LOOKS = 2000 };

static const nbcoll_relays_config config = {.size = sizeof config,
                                            .topology = NBCOLL_TOPOLOGY_DIRECT,
                                            .at_once = 2,
                                            .fragments = 2,
                                            .fragment = 8,
                                            .carries = CARRIES};

static nbcoll_rule rule(nbcoll_operation operation, const char *name, size_t below)
{
    nbcoll_rule r = {.algorithm = nbcoll_algorithm_find(operation, name), .below = below};
    assert_non_null(r.algorithm);
    return r;
}

static void open_world(world *w, const nbcoll_rule rules[], size_t n, uint32_t flags)
{
    nbcoll_comm_config comm = NBCOLL_COMM_DEFAULTS;
    nbcoll_loopback_config loopback = world_variant(0, 1);
    comm.rules = rules;
    comm.rule_count = n;
    comm.flags = flags;
    world_open(w, RANKS, &loopback, NULL, &comm);
}

static void open_relays(world *w, nbcoll_relays *relays[])
{
    for (int r = 0; r < w->ranks; r++)
        EXPECT(OK, nbcoll_relays_open(w->comm[r], &config, &relays[r]));
    for (int looks = 0; looks < LOOKS; looks++)
        world_step(w);
    for (int r = 0; r < w->ranks; r++)
        EXPECT(OK, nbcoll_relays_test(relays[r], 0));
}

/* By what the communicator says of itself. */
static void serves(const world *w, nbcoll_operation operation, size_t bytes, const char *name, nbcoll_reason reason)
{
    nbcoll_terms terms = {.size = sizeof terms};
    nbcoll_choice c = {.size = sizeof c};
    nbcoll_args a = {.size = sizeof a, .operation = operation, .count = bytes, .reduction = {NBCOLL_BYTE, NBCOLL_SUM}};
    EXPECT(OK, nbcoll_args_complete(&a, 0, RANKS));
    for (int r = 0; r < w->ranks; r++) {
        EXPECT(OK, nbcoll_comm_terms(w->comm[r], &terms));
        EXPECT(OK, nbcoll_select(&terms, &a, &c));
        if (name)
            assert_string_equal(c.algorithm->name, name);
        else
            assert_string_not_equal(c.algorithm->name, "relays");
        assert_int_equal(c.reason, reason);
    }
}

/* A broadcast from rank 0 comes to rank 2 while rank 1 has not started it: along a chain it does not. */
static void comes_past_who_is_late(world *w, size_t bytes, int wanted)
{
    unsigned char data[RANKS][2 * CARRIES] = {{0}};
    nbcoll_request q[RANKS];
    int has_come = 0;
    memset(data[0], 7, bytes);
    for (int r = 0; r < RANKS; r++)
        if (r != LATE)
            EXPECT(OK, nbcoll_ibcast(data[r], bytes, NBCOLL_BYTE, 0, w->comm[r], &q[r]));
    for (int looks = 0; looks < LOOKS && !has_come; looks++) {
        world_step(w);
        has_come = data[2][bytes - 1] == 7;
    }
    assert_int_equal(has_come, wanted);
    EXPECT(OK, nbcoll_ibcast(data[LATE], bytes, NBCOLL_BYTE, 0, w->comm[LATE], &q[LATE]));
    world_finish(w, RANKS, q);
    for (int r = 0; r < RANKS; r++)
        assert_int_equal(data[r][bytes - 1], 7);
}

static void rules_give_relays_a_range_of_bytes(void **state)
{
    static world w;
    nbcoll_relays *relays[RANKS];
    const nbcoll_rule rules[] = {rule(NBCOLL_OPERATION_BCAST, "relays", 6),
                                 rule(NBCOLL_OPERATION_BCAST, "chain_pipelined", 0)};
    (void)state;
    open_world(&w, rules, 2, 0);
    open_relays(&w, relays);
    serves(&w, NBCOLL_OPERATION_BCAST, 5, "relays", NBCOLL_REASON_RULE);
    serves(&w, NBCOLL_OPERATION_BCAST, 6, "chain_pipelined", NBCOLL_REASON_RULE);
    for (int turn = 0; turn < 2; turn++) { /* what is noted of one length is not said of the other */
        comes_past_who_is_late(&w, 5, 1);
        comes_past_who_is_late(&w, 6, 0);
        comes_past_who_is_late(&w, 6, 0);
        comes_past_who_is_late(&w, 5, 1);
    }
    stepped_close(&w, relays);
    world_close(&w);
}

static void a_rule_names_another_algorithm_in_their_place(void **state)
{
    static world w;
    nbcoll_relays *relays[RANKS];
    const nbcoll_rule rules[] = {rule(NBCOLL_OPERATION_BCAST, "chain_pipelined", 8)};
    (void)state;
    open_world(&w, rules, 1, 0);
    open_relays(&w, relays);
    serves(&w, NBCOLL_OPERATION_BCAST, 7, "chain_pipelined", NBCOLL_REASON_RULE);
    serves(&w, NBCOLL_OPERATION_BCAST, 8, "relays", NBCOLL_REASON_RELAYS);
    comes_past_who_is_late(&w, 7, 0);
    comes_past_who_is_late(&w, 8, 1);
    stepped_close(&w, relays);
    world_close(&w);
}

/* Also beyond the length for which they are open. */
static void the_next_rule_is_asked_where_they_are_not_open(void **state)
{
    static world w;
    nbcoll_relays *relays[RANKS];
    const nbcoll_rule rules[] = {rule(NBCOLL_OPERATION_BCAST, "relays", 0),
                                 rule(NBCOLL_OPERATION_BCAST, "chain_pipelined", 0)};
    (void)state;
    open_world(&w, rules, 2, 0);
    for (int turn = 0; turn < 2; turn++) {
        serves(&w, NBCOLL_OPERATION_BCAST, 1, "chain_pipelined", NBCOLL_REASON_RULE);
        comes_past_who_is_late(&w, 1, 0);
        open_relays(&w, relays);
        serves(&w, NBCOLL_OPERATION_BCAST, CARRIES, "relays", NBCOLL_REASON_RULE);
        serves(&w, NBCOLL_OPERATION_BCAST, CARRIES + 1, "chain_pipelined", NBCOLL_REASON_RULE);
        comes_past_who_is_late(&w, CARRIES, 1);
        comes_past_who_is_late(&w, CARRIES + 1, 0);
        stepped_close(&w, relays);
    }
    world_close(&w);
}

/* A rule for what does not tolerate late ranks is no rule for it. */
static void a_tolerant_communicator_takes_them(void **state)
{
    static world w;
    nbcoll_relays *relays[RANKS];
    const nbcoll_rule rules[] = {rule(NBCOLL_OPERATION_ALLGATHER, "bruck", 0)};
    (void)state;
    open_world(&w, rules, 1, NBCOLL_ARRIVAL_TOLERANT);
    open_relays(&w, relays);
    serves(&w, NBCOLL_OPERATION_ALLGATHER, CARRIES, "relays", NBCOLL_REASON_RELAYS);
    serves(&w, NBCOLL_OPERATION_BCAST, 0, "relays", NBCOLL_REASON_RELAYS);
    serves(&w, NBCOLL_OPERATION_ALLGATHER, CARRIES + 1, NULL, NBCOLL_REASON_COST);
    comes_past_who_is_late(&w, CARRIES, 1);
    stepped_close(&w, relays);
    serves(&w, NBCOLL_OPERATION_ALLGATHER, CARRIES, NULL, NBCOLL_REASON_COST);
    world_close(&w);
}

static void they_have_no_schedule_and_no_cost(void **state)
{
    const nbcoll_operation served[] = {NBCOLL_OPERATION_ALLGATHER, NBCOLL_OPERATION_BCAST};
    nbcoll_builder_config builder = {.size = sizeof builder, .ranks = RANKS};
    nbcoll_terms terms = {.size = sizeof terms, .ranks = RANKS, .carries = CARRIES};
    (void)state;
    for (int i = 0; i < 2; i++) {
        nbcoll_args a = {.size = sizeof a, .operation = served[i], .reduction = {NBCOLL_BYTE, NBCOLL_SUM}};
        const nbcoll_algorithm *algorithm = nbcoll_algorithm_find(served[i], "relays");
        nbcoll_schedule *schedule;
        uint64_t ns;
        EXPECT(OK, nbcoll_args_complete(&a, 0, RANKS));
        assert_true(algorithm->flags & NBCOLL_ALGORITHM_ARRIVAL_TOLERANT);
        EXPECT(ERR_UNSUPPORTED, nbcoll_build_schedule(algorithm, &a, &builder, &schedule));
        EXPECT(ERR_UNSUPPORTED, nbcoll_predict(&terms, &a, algorithm, &ns));
        for (unsigned k = 0; nbcoll_algorithm_at(served[i], k); k++)
            assert_ptr_not_equal(nbcoll_algorithm_at(served[i], k), algorithm);
    }
    assert_null(nbcoll_algorithm_find(NBCOLL_OPERATION_ALLGATHERV, "relays"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_give_relays_a_range_of_bytes),
        cmocka_unit_test(a_rule_names_another_algorithm_in_their_place),
        cmocka_unit_test(the_next_rule_is_asked_where_they_are_not_open),
        cmocka_unit_test(a_tolerant_communicator_takes_them),
        cmocka_unit_test(they_have_no_schedule_and_no_cost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
