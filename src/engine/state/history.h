/* SPDX-License-Identifier: BSD-3-Clause
 * Histories: what a rank has started on a communicator, in one word. Ranks in step have the same one before each
 * operation; from the first difference on they have other ones. Messages, cells and lines carry some of it, so that a
 * difference is found at the latest when two ranks exchange anything under a later tag.
 *
 * The lower half of a history is the tag that comes next, of which 32 bits are enough where it is known about where
 * that is. The upper half adds up the fingerprints of all operations before, whatever became of them, each times an odd
 * number that its tag gives: what differs goes on to differ, also where two ranks have exchanged two operations. Two of
 * these numbers add up to no more than an odd one twice: so two differences that are alike do not make up for each
 * other. A start adds, on the caller's side.
 *
 * A message and a cell carry the operation's stamp: its fingerprint, and 16 bits of the history before it. A line,
 * whose channel says the fingerprint, carries the lowest 48 bits of that history. */
#ifndef NBCOLLI_ENGINE_STATE_HISTORY_H
#define NBCOLLI_ENGINE_STATE_HISTORY_H

#include <stdint.h>

#define NBCOLLI_TURN_BITS 48 /* of a line's turn: the lowest ones of its history; above them the credits */

/* That behind the operation which has `history` before it, with its fingerprint above 32 zeros, so that of the product
 * only the lower half of `history` counts. */
static inline uint64_t nbcolli_history_after(uint64_t history, uint64_t fingerprint)
{
    return history + 1 + (4 * history + 1) * fingerprint;
}

/* Of the operation of this tag, between these two upper halves. Behind 2^32 - 1 the lower one has carried. */
static inline uint32_t nbcolli_history_fingerprint(uint32_t before, uint32_t behind, uint64_t tag)
{
    uint32_t times = 4 * (uint32_t)tag + 1, inverse = times;
    for (int i = 0; i < 4; i++) /* each makes twice as many bits right, of which three were */
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

/* The tag of such a one, which is not far from `near`. */
static inline uint64_t nbcolli_history_tag(uint64_t history, uint64_t near)
{
    return near + (uint64_t)(int64_t)(int32_t)((uint32_t)history - (uint32_t)near);
}

#endif
