/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs the conformance suite on one transport.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "player.h"

int nbcoll_conformance_run(const nbcoll_conformance *c)
{
    void *state = (void *)(uintptr_t)c; /* read only, as every test knows */
#define SUITE_TEST(name) {#name, name, NULL, NULL, state},
    const struct CMUnitTest here[] = {SUITE(SUITE_TEST)}, processes[] = {CONCURRENT(SUITE_TEST) PROCESSES(SUITE_TEST)};
#undef SUITE_TEST
    print_message("%s: seed %llu\n", c->name, (unsigned long long)suite_seed());
    if (c->promises & NBCOLL_CONFORMANCE_PROCESSES)
        return _cmocka_run_group_tests(c->name, processes, sizeof processes / sizeof processes[0], NULL, NULL);
    return _cmocka_run_group_tests(c->name, here, sizeof here / sizeof here[0], NULL, NULL);
}
