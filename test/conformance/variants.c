/* SPDX-License-Identifier: BSD-3-Clause
 * See variants.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "crew.h"
#include "variants.h"

int variants_run(const nbcoll_conformance *variants, size_t n)
{
    uint64_t seed = seed_of_test();
    int failed = 0;

    for (size_t i = 0; i < n; i += (size_t)sampled(2)) {
        nbcoll_conformance variant = variants[i];
        variant.size = sizeof variant;
        variant.seed = seed;
        variant.deadline_ms = 200000; /* a sanitizer on a busy machine */
        variant.result = nbcoll_conformance_print;
        failed += nbcoll_conformance_run(&variant) != 0;
    }
    return failed != 0;
}
