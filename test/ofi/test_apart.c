/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two machines, as two network namespaces that a veth pair joins: how their ranks find each other, also by a link that
 * is not up yet, and what they do when the link is down for two seconds, when one computes for long, and when one of
 * them vanishes without a word.
 * Skipped where namespaces are refused.
 */
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "machines.h"

enum { DOWN_S = 2, COMPUTES_S = 4, LOST_MS = 6000, SHORT_MS = 1000, LATE_MS = 1500 };

/* ---- a rank ------------------------------------------------------------------------------------------------------ */

/* One of them has nothing else: both are told so. */
static void offer_the_loopback(pair *p, int rank)
{
    nbcoll_ofi_address all[2];
    nbcoll_endpoint *endpoint;
    char address[32];

    machine_begins(p, rank, address);
    const nbcoll_ofi_config config = {
        .size = sizeof config, .rank = rank, .ranks = 2, .address = rank ? "127.0.0.1" : address};
    CHECK_STATUS(NBCOLL_OK, nbcoll_ofi_open(&config, &all[rank], &endpoint));
    board_exchange(p->board, rank, 2, all);
    CHECK_STATUS(NBCOLL_ERR_TRANSPORT, nbcoll_ofi_meet(endpoint, all));
    nbcoll_endpoint_close(endpoint);
}

static void sum_by_the_address_that_is_named(pair *p, int rank)
{
    nbcoll_context *context;
    nbcoll_comm *comm = machine_joins(p, rank, &context);

    machine_sums(comm);
    CHECK_STATUS(NBCOLL_OK, nbcoll_context_free(context));
}

static void lose_the_link_for_a_while(pair *p, int rank)
{
    nbcoll_context *context;
    nbcoll_comm *comm = machine_joins(p, rank, &context);

    machine_sums(comm);
    if (rank == 1) {
        must_run("ip link set nb1 down");
        sleep(DOWN_S);
        must_run("ip link set nb1 up");
    }
    machine_sums(comm);
    CHECK_STATUS(NBCOLL_OK, nbcoll_context_free(context));
}

/* It calls nothing meanwhile: its machine answers for it. */
static void wait_for_one_that_computes(pair *p, int rank)
{
    nbcoll_context *context;
    nbcoll_comm *comm = machine_joins(p, rank, &context);

    machine_sums(comm);
    if (rank == 1)
        sleep(COMPUTES_S);
    machine_sums(comm);
    CHECK_STATUS(NBCOLL_OK, nbcoll_context_free(context));
}

static void wait_for_one_that_vanishes(pair *p, int rank)
{
    nbcoll_context *context;
    nbcoll_comm *comm = machine_joins(p, rank, &context);
    nbcoll_failure failure = {0};
    int64_t own = 1, sum;

    machine_sums(comm);
    if (rank == 1) {
        must_run("ip link set nb1 down");
        atomic_store(&p->vanished, clock_ns());
        for (;;)
            pause();
    }
    nbcoll_status status = nbcoll_allreduce(&own, &sum, 1, NBCOLL_INT64, NBCOLL_SUM, comm, 30 * SECOND);
    uint64_t ms = (clock_ns() - atomic_load(&p->vanished)) / 1000000;
    unsigned most = p->lost_ms ? 2000 : LOST_MS;
    printf("a machine that vanished is lost after %u ms, at most %u\n", (unsigned)ms, most);
    CHECK_STATUS(NBCOLL_ERR_PEER_LOST, status);
    CHECK(ms < most + LATE_MS);
    nbcoll_comm_failure(comm, &failure);
    CHECK(failure.rank == 1);
    CHECK(failure.reason.text);
    nbcoll_context_abandon(context, NULL, NULL);
}

/* ---- both -------------------------------------------------------------------------------------------------------- */

static void apart(machine_main *main, uint32_t lost_ms, bool vanishes)
{
    pair *p = shared_memory(sizeof *p);

    p->lost_ms = lost_ms;
    machines_run(main, p, vanishes);
}

static void ranks_of_two_machines_find_each_other(void **state)
{
    (void)state;
    apart(machines_find_each_other, 0, false);
}

static void a_link_that_is_not_up_yet_is_awaited(void **state)
{
    pair *p = shared_memory(sizeof *p);

    (void)state;
    p->is_late = true;
    machines_run(machines_find_each_other, p, false);
    p = shared_memory(sizeof *p);
    p->is_late = true;
    machines_run(sum_by_the_address_that_is_named, p, false);
}

static void an_address_that_is_tentative_is_awaited(void **state)
{
    pair *p = shared_memory(sizeof *p);

    (void)state;
    p->is_v6 = true;
    machines_run(machines_find_each_other, p, false);
    p = shared_memory(sizeof *p);
    p->is_v6 = true;
    machines_run(sum_by_the_address_that_is_named, p, false);
}

static void the_loopback_joins_no_machines(void **state)
{
    (void)state;
    apart(offer_the_loopback, 0, false);
}

static void a_rank_that_computes_for_long_is_not_lost(void **state)
{
    (void)state;
    apart(wait_for_one_that_computes, SHORT_MS, false);
}

static void two_seconds_without_a_link_are_survived(void **state)
{
    (void)state;
    apart(lose_the_link_for_a_while, 0, false);
}

static void a_machine_that_vanishes_is_named(void **state)
{
    (void)state;
    apart(wait_for_one_that_vanishes, 0, true);
}

static void a_machine_that_vanishes_is_named_sooner_if_that_is_asked_for(void **state)
{
    (void)state;
    apart(wait_for_one_that_vanishes, SHORT_MS, true);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_of_two_machines_find_each_other),
        cmocka_unit_test(a_link_that_is_not_up_yet_is_awaited),
        cmocka_unit_test(an_address_that_is_tentative_is_awaited),
        cmocka_unit_test(the_loopback_joins_no_machines),
        cmocka_unit_test(a_rank_that_computes_for_long_is_not_lost),
        cmocka_unit_test(two_seconds_without_a_link_are_survived),
        cmocka_unit_test(a_machine_that_vanishes_is_named),
        cmocka_unit_test(a_machine_that_vanishes_is_named_sooner_if_that_is_asked_for),
    };
    if (!machines_are_allowed(false))
        return 77;
    return machines_side_by_side(tests, sizeof tests / sizeof tests[0], argc, argv);
}
