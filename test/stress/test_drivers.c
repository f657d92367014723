/* SPDX-License-Identifier: BSD-3-Clause
 * Stress of drivers: four ranks, as threads over loopback, whose contexts two drivers share. Three fixed seeds and a
 * fresh one, printed; STRESS_SEED runs that one only. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "stress.h"
#include "world.h"

enum { RANKS = 4 };

static void run(uint64_t seed, uint32_t flags)
{
    static stress s;
    stress_make(&s, RANKS, seed);
    for (int i = 0; i < 2; i++) {
        EXPECT(OK, nbcoll_driver_create(NULL, &s.driver[i]));
        EXPECT(OK, nbcoll_driver_start(s.driver[i]));
    }
    stress_over_loopback(&s, flags);
    for (int i = 0; i < 2; i++)
        EXPECT(OK, nbcoll_driver_free(s.driver[i]));
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
