/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Histories: from those before and behind an operation follows its fingerprint, whatever its tag.
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_fingerprint_follows_from_the_histories_beside_it)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
