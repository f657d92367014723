/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Three callers of ofi.h: one that knows nothing of networks; one that names what it wants, and hears what it got; and
 * one that outlives a member.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <nbcoll/ofi.h>

#include "board.h"
#include "crew.h"

/* ---- a program that adds numbers --------------------------------------------------------------------------------- */

static void add(int rank, void *user)
{
    nbcoll_ofi_config config = {.size = sizeof config, .rank = rank, .ranks = 3};
    nbcoll_endpoint *endpoint = board_open(user, &config); /* opens, brings the addresses to all, and meets */
    nbcoll_context *context;
    nbcoll_comm *comm;
    int64_t own = rank + 1, sum = 0;

    CHECK(endpoint);
    CHECK_STATUS(NBCOLL_OK, nbcoll_context_create(NBCOLL_ABI, NULL, &context));
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_create(context, endpoint, NULL, &comm, 30 * SECOND));
    CHECK_STATUS(NBCOLL_OK, nbcoll_allreduce(&own, &sum, 1, NBCOLL_INT64, NBCOLL_SUM, comm, 30 * SECOND));
    CHECK(sum == 6);
    CHECK_STATUS(NBCOLL_OK, nbcoll_context_free(context));
}

static void ranks_add_over_whatever_network_there_is(void **state)
{
    const crew c = PROCESSES_3;
    board *b = board_make();

    (void)state;
    assert_non_null(b);
    crew_succeeds(&c, add, b);
    board_free(b);
}

/* ---- an operator's settings -------------------------------------------------------------------------------------- */

static char said[400];

static void say(void *user, nbcoll_status why, const char *text)
{
    (void)user, (void)why;
    snprintf(said, sizeof said, "%s", text);
}

static nbcoll_status open_with(nbcoll_ofi_config config, nbcoll_endpoint **out)
{
    nbcoll_ofi_address mine;

    config.size = sizeof config;
    config.ranks = config.ranks ? config.ranks : 1;
    config.host = (nbcoll_host){.size = sizeof config.host, .log = say};
    return nbcoll_ofi_open(&config, &mine, out);
}

static void who_names_a_provider_gets_it_or_is_told(void **state)
{
    nbcoll_endpoint *ep = NULL;

    (void)state;
    assert_int_equal(open_with((nbcoll_ofi_config){.provider = "tcp;ofi_rxm", .domain = "lo"}, &ep), NBCOLL_OK);
    assert_string_equal(nbcoll_ofi_provider(ep), "tcp;ofi_rxm");
    assert_non_null(strstr(said, "provider tcp;ofi_rxm, domain lo"));
    nbcoll_endpoint_close(ep);
    assert_int_equal(open_with((nbcoll_ofi_config){.provider = "sockets"}, &ep), NBCOLL_ERR_UNSUPPORTED);
    assert_non_null(strstr(said, "no provider sockets"));
    assert_int_equal(open_with((nbcoll_ofi_config){.address = "203.0.113.7"}, &ep), NBCOLL_ERR_TRANSPORT);
    assert_int_equal(open_with((nbcoll_ofi_config){.credits = 1}, &ep), NBCOLL_ERR_CONFIG);
    assert_int_equal(open_with((nbcoll_ofi_config){.payload = 300}, &ep), NBCOLL_ERR_CONFIG);
    assert_int_equal(open_with((nbcoll_ofi_config){.lost_ms = 999}, &ep), NBCOLL_ERR_CONFIG);
    assert_int_equal(open_with((nbcoll_ofi_config){.rank = 1}, &ep), NBCOLL_ERR_RANK);
    assert_int_equal(nbcoll_ofi_open(NULL, NULL, NULL), NBCOLL_ERR_NULL);
    assert_null(nbcoll_ofi_provider(NULL));
}

static void ranks_whose_settings_differ_do_not_meet(void **state)
{
    nbcoll_ofi_config config = {.size = sizeof config, .ranks = 2, .address = "127.0.0.1"};
    nbcoll_ofi_address all[2];
    nbcoll_endpoint *end[2];

    (void)state;
    for (config.rank = 0; config.rank < 2; config.rank++) {
        config.payload = config.rank ? 512 : 256;
        assert_int_equal(nbcoll_ofi_open(&config, &all[config.rank], &end[config.rank]), NBCOLL_OK);
    }
    assert_int_equal(nbcoll_ofi_meet(end[0], all), NBCOLL_ERR_ARGUMENT);
    memset(&all[1], 0, sizeof all[1]);
    assert_int_equal(nbcoll_ofi_meet(end[0], all), NBCOLL_ERR_ARGUMENT);
    nbcoll_endpoint_close(end[0]);
    nbcoll_endpoint_close(end[1]);
}

/* ---- a service that goes on -------------------------------------------------------------------------------------- */

static void go_on(int rank, void *user)
{
    nbcoll_ofi_config config = {.size = sizeof config, .rank = rank, .ranks = 3, .address = "127.0.0.1"};
    nbcoll_endpoint *endpoint = board_open(user, &config);
    nbcoll_context *context;
    nbcoll_comm *comm, *rest;
    nbcoll_failure failure = {0};

    CHECK_STATUS(NBCOLL_OK, nbcoll_context_create(NBCOLL_ABI, NULL, &context));
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_create(context, endpoint, NULL, &comm, 30 * SECOND));
    CHECK_STATUS(NBCOLL_OK, nbcoll_barrier(comm, 30 * SECOND));
    if (rank == 2)
        kill(getpid(), SIGKILL);
    CHECK_STATUS(NBCOLL_ERR_PEER_LOST, nbcoll_barrier(comm, 30 * SECOND));
    nbcoll_comm_failure(comm, &failure);
    CHECK(failure.rank == 2);
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_shrink(comm, &rest, 30 * SECOND));
    CHECK(nbcoll_comm_size(rest) == 2);
    CHECK_STATUS(NBCOLL_OK, nbcoll_barrier(rest, 30 * SECOND));
    nbcoll_context_abandon(context, NULL, NULL);
}

static void who_outlives_a_member_is_told_and_goes_on(void **state)
{
    const crew c = PROCESSES_3;
    board *b = board_make();
    int status[3];

    (void)state;
    assert_non_null(b);
    assert_true(crew_run(&c, go_on, b, status));
    assert_int_equal(status[0], 0);
    assert_int_equal(status[1], 0);
    assert_int_equal(status[2], SIGKILL);
    board_free(b);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_add_over_whatever_network_there_is),
        cmocka_unit_test(who_names_a_provider_gets_it_or_is_told),
        cmocka_unit_test(ranks_whose_settings_differ_do_not_meet),
        cmocka_unit_test(who_outlives_a_member_is_told_and_goes_on),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
