/* SPDX-License-Identifier: BSD-3-Clause
 * What distinguishes the operations, choosing an algorithm, and telling one operation from another. Made by src/select.
 * Choice and fingerprint read only what all ranks pass alike, so that all ranks decide alike. */
#ifndef NBCOLL_INLINE_SELECT_H
#define NBCOLL_INLINE_SELECT_H

#include "nbcoll/select.h"

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

/* What this rank's send or receive buffer holds, when it is not in place. */
nbcolli_part nbcolli_part_of(const nbcoll_args *a, int rank, int is_recv);

/* Of known or equal blocks: the elements of block i, and before it in its vector (alltoallw: bytes). */
size_t nbcolli_block_count(const nbcoll_args *a, int i);
size_t nbcolli_block_place(const nbcoll_args *a, int i);

/* Does a call of these complete arguments, of so many bytes, fit the rule? */
int nbcolli_rule_fits(const nbcoll_rule *rule, const nbcoll_terms *terms, nbcoll_operation operation, size_t bytes);

/* A number that differs (but for one chance in 2^32) when the rules do; 0 when there are none. */
uint32_t nbcolli_rules_hash(const nbcoll_rule *rules, size_t n);

/* What the cost model says of the choice's algorithm and bytes, in picoseconds, UINT64_MAX or more; or 0: not known.
 * Parameters of the choice that are 0, and that the algorithm reads, become the cheapest ones. */
uint64_t nbcolli_cost(const nbcoll_terms *terms, nbcoll_choice *choice);

/* May the algorithm serve these complete arguments? ERR_OP: the operation does not commute. ERR_UNSUPPORTED: counts are
 * bound. */
nbcoll_status nbcolli_algorithm_suits(const nbcoll_algorithm *algorithm, const nbcoll_args *a);

/* Has the algorithm build between packing and unpacking, for a type that packs. */
void nbcolli_build_packed(nbcoll_builder *b, const nbcoll_algorithm *algorithm, const nbcoll_args *a);

/* A number for complete arguments, never 0, that differs (but for one chance in 2^32) when operation, root, known
 * counts or bytes or, for reductions, op or element size differ. */
uint32_t nbcolli_fingerprint(const nbcoll_args *a, int ranks);

#endif
