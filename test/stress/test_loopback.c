/* SPDX-License-Identifier: BSD-3-Clause
 * Stress of the core: more ranks than cores, as threads over loopback. Ten fixed seeds and a fresh one, printed;
 * STRESS_SEED runs that one only. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "stress.h"
#include "world.h"

static void run(uint64_t seed, uint32_t flags)
{
    static stress s;
    stress_make(&s, STRESS_RANKS, seed);
    stress_over_loopback(&s, flags);
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
