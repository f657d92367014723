/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the tests that run the conformance suite share.
 */
#ifndef NBCOLL_TEST_MOODS_H
#define NBCOLL_TEST_MOODS_H

#include "nbcoll/conformance.h"

/* Runs the suite on each table, with the seed of the test; prints the results. Returns 0 when all has passed: what a
 * test's main returns. */
int moods_run(const nbcoll_conformance *moods, size_t n);

#endif
