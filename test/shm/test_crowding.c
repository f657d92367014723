/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks that are bound to cores before they open: an endpoint says whether they take turns there, and its prices
 * follow.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "nbcoll/transport.h"
#include "ranks.h"

enum { MOST = 4 };

/* The core of each rank, as the how many-th of those allowed; -1: all of them. And what each rank is to be told. */
typedef struct plan {
    nbcoll_shm_config config;
    int core[MOST];
    uint32_t turns[MOST];
} plan;

static int allowed(void)
{
    cpu_set_t all;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    return CPU_COUNT(&all);
}

static void bind_to(int which)
{
    cpu_set_t all, one;

    if (which < 0)
        return;
    CPU_ZERO(&one);
    CHECK(sched_getaffinity(0, sizeof all, &all) == 0);
    for (int core = 0; core < CPU_SETSIZE; core++)
        if (CPU_ISSET(core, &all) && which-- == 0)
            CPU_SET(core, &one);
    CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
}

static void open_bound(int rank, void *user)
{
    const plan *p = user;
    nbcoll_shm_config config = p->config;
    nbcoll_endpoint *ep;

    bind_to(p->core[rank]);
    config.rank = rank;
    CHECK_STATUS(NBCOLL_OK, nbcoll_shm_open(&config, &ep));
    CHECK(ep->limits.ranks_per_core == p->turns[rank]);
    CHECK((ep->limits.price.alpha_ns > 1000) == (p->turns[rank] > 1));
    nbcoll_endpoint_close(ep);
}

static void told(crew ranks, plan p)
{
    p.config = (nbcoll_shm_config){.size = sizeof p.config, .id = fresh_id(), .ranks = crew_ranks(&ranks)};
    crew_succeeds(&ranks, open_bound, &p);
}

static void processes_on_one_core_take_turns(void **state)
{
    (void)state;
    told(PROCESSES_2, (plan){.core = {0, 0}, .turns = {2, 2}});
    told(PROCESSES_3, (plan){.core = {0, 0, 0}, .turns = {3, 3, 3}});
}

static void threads_on_one_core_take_turns(void **state)
{
    (void)state;
    told(CREW(2), (plan){.core = {0, 0}, .turns = {2, 2}});
}

static void ranks_with_a_core_each_take_none(void **state)
{
    (void)state;
    if (allowed() < 2)
        skip();
    told(PROCESSES_2, (plan){.core = {0, 1}, .turns = {1, 1}});
    told(CREW(2), (plan){.core = {1, 0}, .turns = {1, 1}});
}

static void one_with_a_core_of_its_own_does_not_take_part_in_others_turns(void **state)
{
    (void)state;
    if (allowed() < 2)
        skip();
    told(CREW(1, 2), (plan){.core = {1, 0, 0}, .turns = {1, 2, 2}});
}

/* As many unbound ranks as there are cores, and one of them bound: each has its place. With one more it has not. */
static void unbound_ranks_make_room_for_bound_ones(void **state)
{
    (void)state;
    if (allowed() != 2)
        skip();
    told(PROCESSES_2, (plan){.core = {0, -1}, .turns = {1, 1}});
    told(PROCESSES_3, (plan){.core = {0, -1, -1}, .turns = {2, 2, 2}});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes_on_one_core_take_turns),
        cmocka_unit_test(threads_on_one_core_take_turns),
        cmocka_unit_test(ranks_with_a_core_each_take_none),
        cmocka_unit_test(one_with_a_core_of_its_own_does_not_take_part_in_others_turns),
        cmocka_unit_test(unbound_ranks_make_room_for_bound_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
