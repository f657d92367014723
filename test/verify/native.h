/* SPDX-License-Identifier: BSD-3-Clause
 * Algorithms for ranks that share memory, from EXPOSE, FETCH and FETCH_REDUCE, in other shapes than the library's own:
 * rounds and chains, and several exposures of a rank. Lowered, they exchange messages. */
#ifndef TEST_VERIFY_NATIVE_H
#define TEST_VERIFY_NATIVE_H

#include <nbcoll/schedule.h>

/* The i-th, null beyond the last. */
const nbcoll_algorithm *native_algorithm(unsigned i);

/* The i-th algorithm of all: of the library's, then of these; null beyond the last. */
const nbcoll_algorithm *any_algorithm(unsigned i);

#endif
