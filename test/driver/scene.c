/* SPDX-License-Identifier: BSD-3-Clause
 * See scene.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_setaffinity */
#endif
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "../../src/engine/state/context.h"
#include "ended.h"
#include "scene.h"

void scene_open(world *w, int ranks, const nbcoll_observer *observer)
{
    nbcoll_context_config config = {.size = sizeof config, .flags = NBCOLL_ANY_THREAD, .observer = observer};
    nbcoll_loopback_config loopback = {.size = sizeof loopback};
    world_open(w, ranks, &loopback, &config, NULL);
}

nbcoll_driver *scene_drive(world *w, int first, int end)
{
    nbcoll_driver *driver;
    EXPECT(OK, nbcoll_driver_create(NULL, &driver));
    for (int r = first; r < end; r++)
        EXPECT(OK, nbcoll_driver_add(driver, w->context[r]));
    EXPECT(OK, nbcoll_driver_start(driver));
    return driver;
}

void scene_close(world *w, nbcoll_driver *driver)
{
    EXPECT(OK, nbcoll_driver_free(driver));
    world_close(w);
}

void scene_watch(nbcoll_request request)
{
    uint64_t late = clock_ns() + 30 * SECOND;
    while (!has_ended(request)) {
        assert_true(clock_ns() < late);
        sched_yield();
    }
}

nbcoll_driver_counts scene_counts(const nbcoll_driver *driver)
{
    nbcoll_driver_counts counts = {.size = sizeof counts};
    EXPECT(OK, nbcoll_driver_count(driver, &counts));
    return counts;
}

void scene_on_one_core(void (*test)(void **state), void **state)
{
    cpu_set_t all, one;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    test(state);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
}

void scene_rest(const world *w, int first, int end)
{
    uint64_t late = clock_ns() + 30 * SECOND;
    int asleep = 0;
    while (!asleep) {
        assert_true(clock_ns() < late);
        sched_yield();
        asleep = 1;
        for (int r = first; r < end; r++)
            asleep &= atomic_load(&w->context[r]->driven.state) > NBCOLLI_DRIVE_AWAKE;
    }
}
