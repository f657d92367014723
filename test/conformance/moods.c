/* SPDX-License-Identifier: BSD-3-Clause
 * See moods.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "crew.h"
#include "moods.h"

int moods_run(const nbcoll_conformance *moods, size_t n)
{
    uint64_t seed = seed_of_test();
    int failed = 0;

    for (size_t i = 0; i < n; i += (size_t)sampled(2)) {
        nbcoll_conformance mood = moods[i];
        mood.size = sizeof mood;
        mood.seed = seed;
        mood.deadline_ms = 200000; /* a sanitizer on a busy machine */
        mood.result = nbcoll_conformance_print;
        failed += nbcoll_conformance_run(&mood) != 0;
    }
    return failed != 0;
}
