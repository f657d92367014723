/* SPDX-License-Identifier: BSD-3-Clause
 * Stress of drivers: four ranks, as threads over loopback, whose contexts two drivers share. Three fixed seeds and a
 * fresh one, printed; STRESS_SEED runs that one only. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "stress.h"
#include "world.h"

enum { RANKS = 4 };

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
    body bodies[RANKS];
    pthread_t thread[RANKS];
    nbcoll_loopback *all;
    nbcoll_loopback_config config = {.size = sizeof config, .ranks = RANKS, .seed = seed, .flags = flags,
                                     .depth = (uint32_t)(1 + seed % 16)};

    print_message("flags %u\n", flags);
    stress_make(&s, RANKS, seed);
    for (int i = 0; i < 2; i++) {
        EXPECT(OK, nbcoll_driver_create(NULL, &s.driver[i]));
        EXPECT(OK, nbcoll_driver_start(s.driver[i]));
    }
    EXPECT(OK, nbcoll_loopback_create(&config, &all));
    for (int r = 0; r < RANKS; r++) {
        bodies[r] = (body){&s, r, NULL};
        EXPECT(OK, nbcoll_loopback_open(all, r, &bodies[r].ep));
    }
    for (int r = 0; r < RANKS; r++)
        assert_int_equal(pthread_create(&thread[r], NULL, body_main, &bodies[r]), 0);
    for (int r = 0; r < RANKS; r++)
        pthread_join(thread[r], NULL);
    for (int i = 0; i < 2; i++)
        EXPECT(OK, nbcoll_driver_free(s.driver[i]));
    EXPECT(OK, nbcoll_loopback_free(all));
}

static void four_contexts_in_two_drivers_end_all_operations_with_the_right_values(void **state)
{
    const char *one = getenv("STRESS_SEED");
    (void)state;
    if (one) {
        run(strtoull(one, NULL, 10), 0);
        return;
    }
    for (uint64_t seed = 1; seed <= 3; seed++)
        run(seed, seed == 1 ? 0 : seed == 2 ? NBCOLL_LOOPBACK_NO_BULK : NBCOLL_LOOPBACK_LEND);
    run((uint64_t)time(NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(four_contexts_in_two_drivers_end_all_operations_with_the_right_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
