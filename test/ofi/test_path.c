/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two machines by a path that is not good: late packets, lost ones, some that others overtake, a path for shorter ones
 * than both ends believe, addresses that are taken. A job of checked collectives ends well in time, or with the error
 * that says what is the matter.
 * Skipped where namespaces, or TUN devices, are refused.
 */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "machines.h"

enum { JOB_S = 20, LOST_MS = 6000, SHORT_MS = 2000, LATE_MS = 1500, EACH = 20000 };

static const path good = {.delay_ns = 0}, far = {.delay_ns = 50000}, farther = {.delay_ns = 1000000},
                  losing = {.lost = 10}, disordered = {.delay_ns = 50000, .late = 100},
                  bad = {.delay_ns = 1000000, .lost = 10, .late = 50}, narrow = {.mtu = 1300},
                  silent = {.mtu = 1300, .is_silent = true},
                  silent_one_way = {.mtu = 1300, .is_silent = true, .is_one_way = true},
                  probed = {.mtu = 1300, .is_silent = true, .is_probed = true},
                  jumbo = {.mtu = 1500, .is_silent = true, .device_mtu = 9000};

/* ---- a rank ------------------------------------------------------------------------------------------------------ */

static void wants_ok(nbcoll_comm *comm, nbcoll_status status)
{
    nbcoll_failure failure = {0};

    nbcoll_comm_failure(comm, &failure);
    if (status == NBCOLL_ERR_PEER_LOST)
        fprintf(stderr, "rank %d is lost: %s\n", failure.rank, failure.reason.text);
    CHECK_STATUS(NBCOLL_OK, status);
}

static void exchange_some(nbcoll_comm *comm)
{
    static int32_t own[2 * EACH], theirs[2 * EACH];
    int rank = nbcoll_comm_rank(comm);

    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < 2 * EACH; i++)
            own[i] = i * (rank + 1) + round;
        wants_ok(comm, nbcoll_alltoall(own, theirs, EACH, NBCOLL_INT32, comm, 30 * SECOND));
        for (int i = 0; i < 2 * EACH; i++)
            CHECK(theirs[i] == (i % EACH + rank * EACH) * (i / EACH + 1) + round);
        wants_ok(comm, nbcoll_bcast(own, EACH, NBCOLL_INT32, round % 2, comm, 30 * SECOND));
        for (int i = 0; i < EACH; i++)
            CHECK(own[i] == i * (round % 2 + 1) + round);
        wants_ok(comm, nbcoll_barrier(comm, 30 * SECOND));
    }
}

static void do_a_job(pair *p, int rank)
{
    nbcoll_context *context;
    nbcoll_comm *comm = machine_joins(p, rank, &context);
    uint64_t since = clock_ns();

    machine_sums(comm);
    exchange_some(comm);
    CHECK_STATUS(NBCOLL_OK, nbcoll_context_free(context));
    uint64_t ms = (clock_ns() - since) / 1000000;
    printf("rank %d: %u ms\n", rank, (unsigned)ms);
    atomic_fetch_add(&p->late, ms >= JOB_S * 1000);
}

/* Waits in a collective until the other one is lost. */
static void is_told(pair *p, nbcoll_comm *comm, uint64_t since, unsigned most, const char *why)
{
    static int64_t own[EACH], sum[EACH];
    nbcoll_failure failure = {0};
    nbcoll_status status = NBCOLL_OK;

    while (status == NBCOLL_OK)
        status = nbcoll_allreduce(own, sum, EACH, NBCOLL_INT64, NBCOLL_SUM, comm, 30 * SECOND);
    uint64_t ms = (clock_ns() - since) / 1000000;
    nbcoll_comm_failure(comm, &failure);
    fprintf(stderr, "rank %d: rank %d is lost after %u ms: %s\n", nbcoll_comm_rank(comm), failure.rank, (unsigned)ms,
            failure.reason.text);
    CHECK_STATUS(NBCOLL_ERR_PEER_LOST, status);
    CHECK(failure.rank == 1 - nbcoll_comm_rank(comm));
    atomic_fetch_add(&p->late, ms >= most);
    CHECK(!why || (failure.reason.text && strstr(failure.reason.text, why)));
}

static void send_what_does_not_pass(pair *p, int rank)
{
    nbcoll_context *context;
    nbcoll_comm *comm = machine_joins(p, rank, &context);

    is_told(p, comm, clock_ns(), LATE_MS + (p->lost_ms ? p->lost_ms : LOST_MS), NULL);
    nbcoll_context_abandon(context, NULL, NULL);
}

static void vanish_in_the_middle(pair *p, int rank)
{
    nbcoll_context *context;
    nbcoll_comm *comm = machine_joins(p, rank, &context);

    machine_sums(comm);
    machine_tells(&p->joined);
    machine_awaits(&p->joined, 5); /* the other one has all, too */
    if (rank == 1) {
        atomic_store(&p->vanished, clock_ns());
        machine_tells(&p->is_cut);
        for (;;)
            pause();
    }
    machine_awaits(&p->is_cut, 1);
    is_told(p, comm, atomic_load(&p->vanished), LOST_MS, "has not answered");
    nbcoll_context_abandon(context, NULL, NULL);
}

/* Both price messages alike, with the delay in it. */
static void price_the_path(pair *p, int rank)
{
    nbcoll_endpoint *end[2];

    machine_opens(p, rank, end);
    const nbcoll_level *price = &end[1]->limits.price;
    p->price[rank] = *price;
    machine_tells(&p->joined);
    machine_awaits(&p->joined, 5);
    CHECK(memcmp(&p->price[0], &p->price[1], sizeof *price) == 0);
    CHECK(price->alpha_ns < SECOND);
    atomic_fetch_add(&p->late, price->alpha_ns < p->path->delay_ns); /* no answer in time */
    nbcoll_endpoint_close(end[0]);
    nbcoll_endpoint_close(end[1]);
}

/* Both have the same address, as containers of two machines may. */
static void meet_under_one_address(pair *p, int rank)
{
    nbcoll_ofi_address all[2];
    nbcoll_endpoint *endpoint;
    char address[32];

    machine_begins(p, rank, address);
    const nbcoll_ofi_config config = {.size = sizeof config, .rank = rank, .ranks = 2, .address = address};
    CHECK_STATUS(NBCOLL_OK, nbcoll_ofi_open(&config, &all[rank], &endpoint));
    board_exchange(p->board, rank, 2, all);
    CHECK_STATUS(NBCOLL_ERR_TRANSPORT, nbcoll_ofi_meet(endpoint, all));
    nbcoll_endpoint_close(endpoint);
}

/* ---- both -------------------------------------------------------------------------------------------------------- */

/* A machine that is busy elsewhere may delay it; a fault does so each time. */
static void by_in(const path *way, uint32_t lost_ms, machine_main *main, bool vanishes)
{
    int late = 1;

    for (int tries = 0; tries < 3 && late; tries++) {
        pair *p = shared_memory(sizeof *p);
        p->path = way;
        p->lost_ms = lost_ms;
        machines_run(main, p, vanishes);
        late = atomic_load(&p->late);
    }
    assert_int_equal(late, 0);
}

static void by(const path *way, machine_main *main, bool vanishes)
{
    by_in(way, 0, main, vanishes);
}

static void packets_may_be_late(void **state)
{
    (void)state;
    by(&far, do_a_job, false);
    by(&farther, do_a_job, false);
}

static void prices_have_the_delay_in_them(void **state)
{
    (void)state;
    by(&farther, price_the_path, false);
}

static void packets_may_be_lost(void **state)
{
    (void)state;
    by(&losing, do_a_job, false);
}

static void packets_may_overtake_others(void **state)
{
    (void)state;
    by(&disordered, do_a_job, false);
}

static void all_of_that_may_come_together(void **state)
{
    (void)state;
    by(&bad, do_a_job, false);
    by(&bad, machines_find_each_other, false);
}

static void a_machine_that_vanishes_there_is_named(void **state)
{
    (void)state;
    by(&bad, vanish_in_the_middle, true);
}

static void a_narrow_path_that_says_so_is_enough(void **state)
{
    (void)state;
    by(&narrow, do_a_job, false);
}

static void a_narrow_path_that_says_nothing_is_named(void **state)
{
    (void)state;
    by_in(&silent, 0, send_what_does_not_pass, false);
    by_in(&silent_one_way, SHORT_MS, send_what_does_not_pass, false);
    by_in(&jumbo, SHORT_MS, send_what_does_not_pass, false);
}

static void a_kernel_that_looks_for_what_passes_finds_it(void **state)
{
    (void)state;
    by(&probed, do_a_job, false);
}

static void two_machines_of_one_address_are_told(void **state)
{
    pair *p = shared_memory(sizeof *p);

    (void)state;
    p->path = &good;
    p->are_one = true;
    machines_run(meet_under_one_address, p, false);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packets_may_be_late),
        cmocka_unit_test(prices_have_the_delay_in_them),
        cmocka_unit_test(packets_may_be_lost),
        cmocka_unit_test(packets_may_overtake_others),
        cmocka_unit_test(all_of_that_may_come_together),
        cmocka_unit_test(a_machine_that_vanishes_there_is_named),
        cmocka_unit_test(a_narrow_path_that_says_so_is_enough),
        cmocka_unit_test(a_narrow_path_that_says_nothing_is_named),
        cmocka_unit_test(a_kernel_that_looks_for_what_passes_finds_it),
        cmocka_unit_test(two_machines_of_one_address_are_told),
    };
    if (!machines_are_allowed(true))
        return 77;
    return machines_side_by_side(tests, sizeof tests / sizeof tests[0], argc, argv);
}
