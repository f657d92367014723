/* SPDX-License-Identifier: BSD-3-Clause
 * Stress of the core: more ranks than cores, as threads over loopback. Ten fixed seeds and a fresh one, printed;
 * STRESS_SEED runs that one only. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "stress.h"
#include "world.h"

typedef struct body {
    const stress *stress;
    int rank;
    nbcoll_endpoint *ep;
} body;

static void *body_main(void *argument)
{
    body *b = argument;
    stress_run(b->stress, b->rank, b->ep);
    return NULL;
}

static void run(uint64_t seed, uint32_t flags)
{
    static stress s;
    body bodies[STRESS_RANKS];
    pthread_t thread[STRESS_RANKS];
    nbcoll_loopback *all;
    nbcoll_loopback_config config = {.size = sizeof config, .ranks = STRESS_RANKS, .seed = seed, .flags = flags,
                                     .depth = (uint32_t)(1 + seed % 16)};

    print_message("flags %u\n", flags);
    stress_make(&s, STRESS_RANKS, seed);
    assert_int_equal(nbcoll_loopback_create(&config, &all), NBCOLL_OK);
    for (int r = 0; r < STRESS_RANKS; r++) {
        bodies[r] = (body){&s, r, NULL};
        assert_int_equal(nbcoll_loopback_open(all, r, &bodies[r].ep), NBCOLL_OK);
    }
    for (int r = 0; r < STRESS_RANKS; r++)
        assert_int_equal(pthread_create(&thread[r], NULL, body_main, &bodies[r]), 0);
    for (int r = 0; r < STRESS_RANKS; r++)
        pthread_join(thread[r], NULL);
    assert_int_equal(nbcoll_loopback_free(all), NBCOLL_OK);
}

static void many_operations_in_flight_end_with_the_right_values(void **state)
{
    const char *one = getenv("STRESS_SEED");
    (void)state;
    if (one) {
        run(strtoull(one, NULL, 10), 0);
        return;
    }
    for (uint64_t seed = 1; seed <= 10; seed++)
        run(seed, seed % 3 == 1 ? 0 : seed % 3 == 2 ? NBCOLL_LOOPBACK_NO_BULK : NBCOLL_LOOPBACK_LEND);
    run((uint64_t)time(NULL), NBCOLL_LOOPBACK_LEND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(many_operations_in_flight_end_with_the_right_values)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
