/* SPDX-License-Identifier: BSD-3-Clause
 * Algorithms for ranks that share memory, from EXPOSE, FETCH and FETCH_REDUCE: what the verifier's tests add to the
 * library's own, which exchange messages. Lowered, they do too. */
#ifndef TEST_VERIFY_NATIVE_H
#define TEST_VERIFY_NATIVE_H

#include <nbcoll/schedule.h>

/* The i-th, null beyond the last. */
const nbcoll_algorithm *native_algorithm(unsigned i);

/* The i-th algorithm of all: of the library's, then of these; null beyond the last. */
const nbcoll_algorithm *any_algorithm(unsigned i);

#endif
