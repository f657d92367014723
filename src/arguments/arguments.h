/* SPDX-License-Identifier: BSD-3-Clause
 * What distinguishes the operations, and telling one operation from another. Fingerprints read only what all ranks pass
 * alike, so that all ranks have the same one. */
#ifndef NBCOLLI_ARGUMENTS_H
#define NBCOLLI_ARGUMENTS_H

#include "nbcoll/schedule.h"

/* Where `in place` means something. */
typedef enum nbcolli_place_of { NBCOLLI_NOWHERE, NBCOLLI_AT_ROOT, NBCOLLI_EVERYWHERE } nbcolli_place_of;

/* The blocks of a vector: all equal; or of different counts, which builders know always, or if the ranks promised it,
 * or only this rank's own and only in place, of types that do not pack. */
typedef enum nbcolli_block_kind { NBCOLLI_EQUAL, NBCOLLI_KNOWN, NBCOLLI_PROMISED, NBCOLLI_OWN } nbcolli_block_kind;

/* What a buffer holds: nothing, one block or vector, a block for every rank. */
typedef enum nbcolli_part { NBCOLLI_NONE, NBCOLLI_ONE, NBCOLLI_ALL } nbcolli_part;

typedef struct nbcolli_kind {
    const char *name;
    uint8_t has_root, reduces;
    uint8_t in_place;         /* nbcolli_place_of */
    uint8_t blocks;           /* nbcolli_block_kind */
    uint8_t send[2], recv[2]; /* nbcolli_part: at the root, or everywhere when there is none; elsewhere */
} nbcolli_kind;

const nbcolli_kind *nbcolli_kind_of(nbcoll_operation operation);

/* Has who receives more to do than who sends: does it combine, or read the blocks of all ranks as the only one? */
int nbcolli_converges(nbcoll_operation operation);

/* What this rank's send or receive buffer holds, when it is not in place. */
nbcolli_part nbcolli_part_of(const nbcoll_args *a, int rank, int is_recv);

/* Of known or equal blocks: the elements of block i, and before it in its vector (alltoallw: bytes). */
size_t nbcolli_block_count(const nbcoll_args *a, int i);
size_t nbcolli_block_place(const nbcoll_args *a, int i);

/* A number for complete arguments, never 0, that differs (but for one chance in 2^32) when operation, root, known
 * counts or bytes or, for reductions, op or element size differ. */
uint32_t nbcolli_fingerprint(const nbcoll_args *a, int ranks);

#endif
