/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Histories: from those before and behind an operation follows its fingerprint, whatever its tag. They differ behind
 * two operations that differ alike.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "../../src/engine/state/history.h"

static void a_fingerprint_follows_from_the_histories_beside_it(void **state)
{
    const uint64_t from[] = {0, UINT64_C(0x7ffffff0), UINT64_C(0xfffffff0), UINT64_C(0x1fffffff0)};
    (void)state;
    for (size_t i = 0; i < sizeof from / sizeof *from; i++)
        for (uint64_t tag = from[i]; tag < from[i] + 32; tag++) {
            uint32_t fingerprint = (uint32_t)tag * 0x9e3779b9u;
            uint64_t before = (UINT64_C(0xfffffffe) - (uint32_t)(tag * 77)) << 32 | (uint32_t)tag;
            uint64_t behind = nbcolli_history_after(before, (uint64_t)fingerprint << 32);
            assert_int_equal((uint32_t)behind, (uint32_t)(tag + 1));
            assert_int_equal(nbcolli_history_fingerprint((uint32_t)(before >> 32), (uint32_t)(behind >> 32), tag),
                             fingerprint);
        }
}

static uint64_t twice(uint64_t first, uint64_t second, uint64_t fingerprint)
{
    uint64_t behind = nbcolli_history_after(first, fingerprint << 32);
    return nbcolli_history_after((behind >> 32) << 32 | second, fingerprint << 32);
}

/* One rank calls one thing twice, and another one another thing: whatever lies between. */
static void two_differences_do_not_make_up_for_each_other(void **state)
{
    const uint64_t tags[] = {0, 1, 511, 512, UINT64_C(0x7fffffff), UINT64_C(0x80000000), UINT64_C(0xfffffffe)};
    const size_t n = sizeof tags / sizeof *tags;
    (void)state;
    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1; k < n; k++)
            for (int bit = 0; bit < 31; bit++)
                assert_int_not_equal(twice(tags[i], tags[k], 0x5a87e072u) >> 32,
                                     twice(tags[i], tags[k], 0x5a87e072u + (UINT64_C(1) << bit)) >> 32);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_fingerprint_follows_from_the_histories_beside_it),
                                       cmocka_unit_test(two_differences_do_not_make_up_for_each_other)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
