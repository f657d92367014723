/* SPDX-License-Identifier: BSD-3-Clause
 * Telling one operation from another. Fingerprints read only what all ranks pass alike, so that all ranks have the same
 * one. */
#ifndef NBCOLLI_ARGUMENTS_H
#define NBCOLLI_ARGUMENTS_H

#include "kinds.h"

/* Has who receives more to do than who sends: does it combine, or read the blocks of all ranks as the only one? */
int nbcolli_converges(nbcoll_operation operation);

/* Of known or equal blocks: the elements of block i, and before it in its vector (alltoallw: bytes). */
size_t nbcolli_block_count(const nbcoll_args *a, int i);
size_t nbcolli_block_place(const nbcoll_args *a, int i);

/* A number for complete arguments, never 0, that differs (but for one chance in 2^32) when operation, root, known
 * counts or bytes or, for reductions, op or element size differ. */
uint32_t nbcolli_fingerprint(const nbcoll_args *a, int ranks);

#endif
