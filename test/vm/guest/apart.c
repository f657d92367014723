/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two guests are torn apart: the second one's link goes down, then its power. Who waits for its ranks is told, names
 * one, and goes on without them. No queue pair is left. Runs in each of two guests, of which the second one ends
 * without a status.
 */
#include <net/if.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/io.h>
#include <sys/ioctl.h>

#include <cmocka.h>

#include "board.h"
#include "crew.h"
#include "exchange.h"

enum { NEAR = 2, RANKS = 4, TIMEOUT = 15, RETRIES = 6, PROBE_MS = 200, CONNECT_MS = 700, TOLD_MS = 2000 };

static bool is_second;

static void set_link(bool is_up)
{
    struct ifreq request = {.ifr_name = "d0"};
    int fd = socket(AF_INET, SOCK_DGRAM, 0);

    CHECK(ioctl(fd, SIOCGIFFLAGS, &request) == 0);
    request.ifr_flags = (short)(is_up ? request.ifr_flags | IFF_UP : request.ifr_flags & ~IFF_UP);
    CHECK(ioctl(fd, SIOCSIFFLAGS, &request) == 0);
    close(fd);
}

static void cut_the_link(void)
{
    set_link(false);
}

/* The machine is gone with this instruction. A kernel that is asked to switch off does other things first, and may hang
 * in them. */
static void switch_off(void)
{
    CHECK(ioperm(0x501, 1, 1) == 0);
    outb(1, 0x501);
}

static nbcoll_context *join(uint16_t port, int rank, nbcoll_comm **comm)
{
    const nbcoll_verbs_config config = {.size = sizeof config,
                                        .rank = rank,
                                        .ranks = RANKS,
                                        .timeout = TIMEOUT,
                                        .retries = RETRIES,
                                        .probe_ms = PROBE_MS,
                                        .connect_ms = CONNECT_MS};
    nbcoll_verbs_address all[RANKS];
    nbcoll_endpoint *end;
    nbcoll_context *context;

    CHECK_STATUS(NBCOLL_OK, nbcoll_verbs_open(&config, &all[rank], &end));
    exchange_all(port, rank, RANKS, all, sizeof *all);
    CHECK_STATUS(NBCOLL_OK, nbcoll_verbs_meet(end, all));
    CHECK_STATUS(NBCOLL_OK, nbcoll_context_create(NBCOLL_ABI, NULL, &context));
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_create(context, end, NULL, comm, 30 * SECOND));
    return context;
}

/* Sums until the other guest is lost. The last rank tears them apart when it has the first sum. */
static void work_until_torn(nbcoll_comm *comm, int rank, const char *what, void (*tear)(void))
{
    nbcoll_status status = NBCOLL_OK;
    nbcoll_failure failure = {0};
    uint64_t since = 0;
    int64_t own = rank, sum;

    while (status == NBCOLL_OK) {
        since = clock_ns();
        status = nbcoll_allreduce(&own, &sum, 1, NBCOLL_INT64, NBCOLL_SUM, comm, 30 * SECOND);
        if (rank == RANKS - 1)
            tear();
    }
    unsigned ms = (unsigned)((clock_ns() - since) / 1000000);
    printf("%s: rank %d is told after %u ms (timeout %d, retries %d, probe_ms %d, connect_ms %d)\n", what, rank, ms,
           TIMEOUT, RETRIES, PROBE_MS, CONNECT_MS);
    fflush(stdout);
    CHECK_STATUS(NBCOLL_ERR_PEER_LOST, status);
    CHECK(ms < TOLD_MS);
    nbcoll_comm_failure(comm, &failure);
    CHECK(is_second ? failure.rank != rank : failure.rank / NEAR == 1); /* a device without link reaches nobody */
}

static void leave(nbcoll_context *context)
{
    nbcoll_status status;
    uint64_t since = clock_ns();

    while ((status = nbcoll_context_free(context)) == NBCOLL_ERR_BUSY) { /* what was sent to the lost */
        CHECK(clock_ns() - since < TOLD_MS * (SECOND / 1000));
        nbcoll_progress(context);
    }
    CHECK_STATUS(NBCOLL_OK, status);
}

static void lose_the_link(int near_rank, void *user)
{
    int rank = near_rank + NEAR * is_second;
    nbcoll_comm *comm;
    nbcoll_context *context = join(7701, rank, &comm);

    (void)user;
    work_until_torn(comm, rank, "the link is down", cut_the_link);
    leave(context);
}

static void lose_the_power(int near_rank, void *user)
{
    int rank = near_rank + NEAR * is_second;
    int64_t one = 1, sum = 0;
    nbcoll_comm *comm, *rest;
    nbcoll_context *context = join(7702, rank, &comm);

    (void)user;
    work_until_torn(comm, rank, "the power is off", switch_off);
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_shrink(comm, &rest, 30 * SECOND));
    CHECK(nbcoll_comm_size(rest) == NEAR);
    CHECK_STATUS(NBCOLL_OK, nbcoll_allreduce(&one, &sum, 1, NBCOLL_INT64, NBCOLL_SUM, rest, 30 * SECOND));
    CHECK(sum == NEAR);
    leave(context);
}

static void a_link_that_goes_down_is_told_on_both_sides(void **state)
{
    const crew c = CREW(1, 1);
    (void)state;
    crew_succeeds(&c, lose_the_link, NULL);
    assert_false(a_queue_pair_is_left());
    if (is_second)
        set_link(true);
}

static void a_guest_without_power_is_told_and_left_behind(void **state)
{
    const crew c = CREW(1, 1);
    (void)state;
    crew_succeeds(&c, lose_the_power, NULL);
    assert_false(a_queue_pair_is_left());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_link_that_goes_down_is_told_on_both_sides),
        cmocka_unit_test(a_guest_without_power_is_told_and_left_behind),
    };
    is_second = strcmp(getenv("GUEST"), "1") == 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
