/* SPDX-License-Identifier: BSD-3-Clause
 * Histories: what a rank has started on a communicator, in one word. Ranks in step have the same one before each
 * operation; from the first difference on they have other ones. Messages, cells and lines carry some of it, so that a
 * difference is found at the latest when two ranks exchange anything under a later tag.
 *
 * The lower half of a history is the low 32 bits of the next tag. The upper half is a sum over all operations so far,
 * however they ended: of each one's fingerprint times an odd number that follows from its tag. Histories that differ
 * stay different, also if one rank has swapped two operations, since the factors differ. Two equal differences do not
 * cancel out: the sum of two factors is twice an odd number. A start adds, on the caller's side.
 *
 * A message and a cell carry the operation's stamp: its fingerprint, and 16 bits of the history before it. A line,
 * whose channel says the fingerprint, carries the lowest 48 bits of that history. */
#ifndef NBCOLLI_ENGINE_STATE_HISTORY_H
#define NBCOLLI_ENGINE_STATE_HISTORY_H

#include <stdint.h>

#define NBCOLLI_TURN_BITS 48 /* of a line's turn: the lowest ones of its history; above them the credits */

/* The history after the operation that has `history` before it. `fingerprint` is shifted up by 32: so the product takes
 * the lower half of `history` only. */
static inline uint64_t nbcolli_history_after(uint64_t history, uint64_t fingerprint)
{
    return history + 1 + (4 * history + 1) * fingerprint;
}

/* The fingerprint of the operation of this tag, from these upper halves. After tag 2^32 - 1 the lower half carries. */
static inline uint32_t nbcolli_history_fingerprint(uint32_t before, uint32_t behind, uint64_t tag)
{
    uint32_t times = 4 * (uint32_t)tag + 1, inverse = times;
    for (int i = 0; i < 4; i++) /* each round doubles the correct bits, which are three at first */
        inverse *= 2 - times * inverse;
    return (behind - before - ((uint32_t)tag == UINT32_MAX)) * inverse;
}

/* The turn of a line. */
static inline uint64_t nbcolli_turn(uint64_t history, uint64_t credits)
{
    uint64_t turned = history << (64 - NBCOLLI_TURN_BITS) | credits;
    return turned >> (64 - NBCOLLI_TURN_BITS) | turned << NBCOLLI_TURN_BITS; /* one rotation */
}

/* Of an operation with this fingerprint, and this history before it, or the turn of its line. */
static inline uint32_t nbcolli_stamp(uint32_t fingerprint, uint64_t history)
{
    return fingerprint ^ (uint16_t)(history >> 32);
}

/* The tag of such an operation, which is not far from `near`. */
static inline uint64_t nbcolli_history_tag(uint64_t history, uint64_t near)
{
    return near + (uint64_t)(int64_t)(int32_t)((uint32_t)history - (uint32_t)near);
}

#endif
