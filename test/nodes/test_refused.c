/* SPDX-License-Identifier: BSD-3-Clause
 * Endpoints that cannot be one communicator's: refused by the call, which then changes nothing, or by the vote, on all
 * ranks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "joined.h"

enum { RANKS = 4 };

static void expect_all(nbcoll_status wanted, world *w, nbcoll_request request[])
{
    nbcoll_status status[RANKS];

    world_settle(w, RANKS, request, status);
    for (int r = 0; r < RANKS; r++)
        EXPECT(ERR_MISMATCH, status[r] == wanted ? NBCOLL_ERR_MISMATCH : status[r]);
}

static void a_refused_call_changes_nothing(void **state)
{
    nbcoll_nodes *nodes = joined_placement(1, RANKS, 1);
    nbcoll_request request[RANKS];
    joined j;

    (void)state;
    joined_open_contexts(&j, nodes, NULL, NULL, NULL);
    nbcoll_endpoint *near = j.near[0], *far = j.w.endpoint[0], *nine[9];
    nbcoll_endpoint *both[] = {near, far}, *twice[] = {far, far}, *none[] = {near, NULL};
    nbcoll_context *c = j.w.context[0];
    nbcoll_comm_config wrong = NBCOLL_COMM_DEFAULTS;
    nbcoll_comm *comm;

    for (int i = 0; i < 9; i++)
        nine[i] = far;
    wrong.slots = 0;
    EXPECT(ERR_ARGUMENT, nbcoll_comm_icreate_over(c, 0, both, NULL, &comm, &request[0]));
    EXPECT(ERR_ARGUMENT, nbcoll_comm_icreate_over(c, -1, both, NULL, &comm, &request[0]));
    EXPECT(ERR_LIMIT, nbcoll_comm_icreate_over(c, 9, nine, NULL, &comm, &request[0]));
    EXPECT(ERR_ARGUMENT, nbcoll_comm_icreate_over(c, 2, twice, NULL, &comm, &request[0]));
    EXPECT(ERR_NULL, nbcoll_comm_icreate_over(c, 2, none, NULL, &comm, &request[0]));
    EXPECT(ERR_NULL, nbcoll_comm_icreate_over(c, 2, NULL, NULL, &comm, &request[0]));
    EXPECT(ERR_NULL, nbcoll_comm_icreate_over(NULL, 2, both, NULL, &comm, &request[0]));
    EXPECT(ERR_NULL, nbcoll_comm_icreate_over(c, 2, both, NULL, NULL, &request[0]));
    EXPECT(ERR_NULL, nbcoll_comm_icreate_over(c, 2, both, NULL, &comm, NULL));
    EXPECT(ERR_CONFIG, nbcoll_comm_icreate_over(c, 2, both, &wrong, &comm, &request[0]));
    EXPECT(ERR_NULL, nbcoll_comm_create_over(c, 2, none, NULL, &comm, 0));
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, joined_icreate(&j, r, NULL, &request[r]));
    world_finish(&j.w, RANKS, request);
    EXPECT(ERR_BUSY, nbcoll_comm_icreate_over(c, 2, both, NULL, &comm, &request[0]));
    joined_close(&j);
    nbcoll_nodes_free(nodes);
}

static void endpoints_of_other_contexts_are_refused(void **state)
{
    nbcoll_loopback_config config = {.size = sizeof config, .ranks = 1};
    nbcoll_loopback *own, *others;
    nbcoll_endpoint *both[2];
    nbcoll_context *mine, *other;
    nbcoll_comm *comm;

    (void)state;
    EXPECT(OK, nbcoll_loopback_create(&config, &own));
    EXPECT(OK, nbcoll_loopback_create(&config, &others));
    EXPECT(OK, nbcoll_loopback_open(own, 0, &both[0]));
    EXPECT(OK, nbcoll_loopback_open(others, 0, &both[1]));
    EXPECT(OK, nbcoll_context_create(NBCOLL_ABI, NULL, &mine));
    EXPECT(OK, nbcoll_context_create(NBCOLL_ABI, NULL, &other));
    EXPECT(OK, nbcoll_comm_create(other, both[1], NULL, &comm, NBCOLL_FOREVER));
    EXPECT(ERR_FOREIGN, nbcoll_comm_create_over(mine, 2, both, NULL, &comm, 0));
    assert_null(both[0]->owner);
    EXPECT(OK, nbcoll_context_free(mine));
    EXPECT(OK, nbcoll_context_free(other));
    nbcoll_endpoint_close(both[0]);
    EXPECT(OK, nbcoll_loopback_free(own));
    EXPECT(OK, nbcoll_loopback_free(others));
}

static void an_endpoint_that_does_not_say_who_has_it_can_only_be_the_last(void **state)
{
    nbcoll_loopback_config config = {.size = sizeof config, .ranks = 1};
    nbcoll_loopback *wire[2];
    nbcoll_endpoint *both[2], *turned[2];
    nbcoll_transport silent;
    nbcoll_context *context;
    nbcoll_comm *comm;

    (void)state;
    for (int i = 0; i < 2; i++) {
        EXPECT(OK, nbcoll_loopback_create(&config, &wire[i]));
        EXPECT(OK, nbcoll_loopback_open(wire[i], 0, &both[i]));
    }
    silent = *both[0]->transport;
    silent.identify = NULL;
    both[0]->transport = &silent;
    turned[0] = both[1];
    turned[1] = both[0];
    EXPECT(OK, nbcoll_context_create(NBCOLL_ABI, NULL, &context));
    EXPECT(ERR_UNSUPPORTED, nbcoll_comm_create_over(context, 2, both, NULL, &comm, 0));
    assert_null(both[0]->owner);
    assert_null(both[1]->owner);
    EXPECT(OK, nbcoll_comm_create_over(context, 2, turned, NULL, &comm, NBCOLL_FOREVER));
    EXPECT(OK, nbcoll_context_free(context));
    for (int i = 0; i < 2; i++)
        EXPECT(OK, nbcoll_loopback_free(wire[i]));
}

static void ranks_with_other_numbers_of_endpoints_make_no_communicator(void **state)
{
    (void)state;
    for (int other = 0; other < RANKS; other++) {
        nbcoll_nodes *nodes = joined_placement(2, RANKS, 1);
        nbcoll_request request[RANKS];
        joined j;

        joined_open_contexts(&j, nodes, NULL, NULL, NULL);
        for (int r = 0; r < RANKS; r++)
            if (r == other)
                EXPECT(OK, nbcoll_comm_icreate(j.w.context[r], j.w.endpoint[r], NULL, &j.w.comm[r], &request[r]));
            else
                EXPECT(OK, joined_icreate(&j, r, NULL, &request[r]));
        expect_all(NBCOLL_ERR_MISMATCH, &j.w, request);
        nbcoll_endpoint_close(j.near[other]);
        joined_close(&j);
        nbcoll_nodes_free(nodes);
    }
}

static nbcoll_endpoint *end_of(nbcoll_loopback *wire, int rank)
{
    nbcoll_endpoint *end;
    EXPECT(OK, nbcoll_loopback_open(wire, rank, &end));
    return end;
}

/* Rank 0 to 2 are ranks of an endpoint of four; of the fourth rank there, which is not rank 3, nobody knows. */
static void all_ranks_of_an_endpoint_must_be_the_communicators(void **state)
{
    nbcoll_loopback_config config = {.size = sizeof config};
    nbcoll_loopback *large, *alone;
    nbcoll_request request[RANKS];
    world w;

    (void)state;
    config.ranks = RANKS;
    EXPECT(OK, nbcoll_loopback_create(&config, &large));
    config.ranks = 1;
    EXPECT(OK, nbcoll_loopback_create(&config, &alone));
    world_open_contexts(&w, RANKS, NULL, NULL);
    for (int r = 0; r < RANKS; r++) {
        nbcoll_endpoint *both[] = {r == 3 ? end_of(alone, 0) : end_of(large, r), w.endpoint[r]};
        EXPECT(OK, nbcoll_comm_icreate_over(w.context[r], 2, both, NULL, &w.comm[r], &request[r]));
    }
    expect_all(NBCOLL_ERR_MISMATCH, &w, request);
    world_close(&w);
    EXPECT(OK, nbcoll_loopback_free(large));
    EXPECT(OK, nbcoll_loopback_free(alone));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_refused_call_changes_nothing),
        cmocka_unit_test(endpoints_of_other_contexts_are_refused),
        cmocka_unit_test(an_endpoint_that_does_not_say_who_has_it_can_only_be_the_last),
        cmocka_unit_test(ranks_with_other_numbers_of_endpoints_make_no_communicator),
        cmocka_unit_test(all_ranks_of_an_endpoint_must_be_the_communicators),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
