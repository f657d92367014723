/* SPDX-License-Identifier: BSD-3-Clause
 * Choosing an algorithm, and telling one operation from another. Made by src/select. Both read only what all ranks pass
 * alike, so that all ranks decide alike. */
#ifndef NBCOLL_INLINE_SELECT_H
#define NBCOLL_INLINE_SELECT_H

#include "../schedule.h"

/* The algorithm for complete arguments: the operation's second, when it has one and `large` bytes or more are to be
 * moved in all (the vector; the blocks of all ranks), else its first. `shared`: all ranks share memory, and slots are
 * chosen where they suit. */
const nbcoll_algorithm *nbcolli_select(const nbcoll_args *a, int ranks, size_t large, int shared);

/* A number for complete arguments, never 0, that differs (but for one chance in 2^32) when operation, root, bytes or,
 * for reductions, op or element size differ. */
uint32_t nbcolli_fingerprint(const nbcoll_args *a);

#endif
