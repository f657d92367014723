/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the tests that run the conformance suite share.
 */
#ifndef NBCOLL_TEST_VARIANTS_H
#define NBCOLL_TEST_VARIANTS_H

#include "nbcoll/conformance.h"

/* Runs the suite on each table, with the seed of the test; prints the results. Returns 0 when all has passed: what a
 * test's main returns. */
int variants_run(const nbcoll_conformance *variants, size_t n);

#endif
