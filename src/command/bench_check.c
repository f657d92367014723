/* SPDX-License-Identifier: BSD-3-Clause
 * Are the results right? Each rank's input is made of its number, the place in it and a round, so that each part of a
 * result can be computed where it is looked at. What it must be, the operation's meaning says. */
#include <string.h>

#include <nbcoll/verify.h>

#include "bench.h"

#define BYTE_UNTOUCHED 0xa5 /* in receive buffers, before */

/* ---- elements of reductions: small whole numbers, so that no order of operands rounds -------------------------- */

#define CHECKED_TYPES(X)                                                                                               \
    X(BYTE, unsigned char) X(INT8, int8_t) X(INT16, int16_t) X(INT32, int32_t) X(INT64, int64_t) X(UINT8, uint8_t)     \
    X(UINT16, uint16_t) X(UINT32, uint32_t) X(UINT64, uint64_t) X(FLOAT, float) X(DOUBLE, double)

/* How many bytes it has stored; 0: of this type nothing is checked. */
static size_t store(nbcoll_type type, void *at, int64_t value)
{
#define STORE(name, ctype)                                                                                             \
    if (type == NBCOLL_##name) {                                                                                       \
        memcpy(at, &(ctype){(ctype)value}, sizeof(ctype));                                                             \
        return sizeof(ctype);                                                                                          \
    }
    CHECKED_TYPES(STORE)
#undef STORE
    return 0;
}

static int64_t combine(nbcoll_op op, int64_t left, int64_t right)
{
    switch (op) {
    case NBCOLL_SUM: return left + right;
    case NBCOLL_PROD: return left * right;
    case NBCOLL_MIN: return left < right ? left : right;
    case NBCOLL_MAX: return left > right ? left : right;
    case NBCOLL_LAND: return left && right;
    case NBCOLL_LOR: return left || right;
    case NBCOLL_LXOR: return !left != !right;
    case NBCOLL_BAND: return left & right;
    case NBCOLL_BOR: return left | right;
    default: return left ^ right;
    }
}

/* What is looked at one by one: elements that are combined, or bytes. */
static nbcoll_type unit_of(const bench_plan *plan)
{
    return command_is(plan->at.operation, COMMAND_REDUCES) ? plan->at.reduction.type : (nbcoll_type)NBCOLL_BYTE;
}

/* A rank's input at a place. Of what is combined, one, but for every 61st, which is two: a product of 256 ranks fits in
 * any type that is looked at. */
static int64_t value_of(const bench_plan *plan, int rank, size_t at, unsigned round)
{
    if (command_is(plan->at.operation, COMMAND_REDUCES))
        return 1 + ((at + 7 * (size_t)rank + 13 * (size_t)round) % 61 == 0);
    return (unsigned char)(at * 7 + (at >> 8) + (size_t)rank * 131 + (size_t)round * 29);
}

int bench_can_check(const bench_plan *plan)
{
    unsigned char any[16];
    return store(unit_of(plan), any, 0) > 0 &&
           (!command_is(plan->at.operation, COMMAND_REDUCES) || plan->at.reduction.op < NBCOLL_MINLOC);
}

/* ---- buffers ----------------------------------------------------------------------------------------------------- */

void bench_fill(const bench_plan *plan, int rank, unsigned round, unsigned char *send, unsigned char *recv)
{
    nbcoll_meaning meaning = {.size = sizeof meaning};
    nbcoll_type unit = unit_of(plan);
    memset(recv, BYTE_UNTOUCHED, bench_buffer_bytes(plan));
    if (nbcoll_meaning_of(&plan->at, 0, &meaning) != NBCOLL_OK)
        return; /* the calls will say so */
    nbcoll_region input = meaning.input(&meaning, rank);
    unsigned char *to = (input.at.buffer == NBCOLL_BUFFER_SEND ? send : recv) + input.at.offset;
    for (size_t i = 0; i < input.bytes / nbcoll_type_size(unit); i++)
        to += store(unit, to, value_of(plan, rank, i, round));
}

/* The first byte of a wrong unit of what is claimed; SIZE_MAX: there is none. */
static size_t wrong_byte(const bench_plan *plan, const nbcoll_claim *claim, unsigned round, const unsigned char *recv)
{
    nbcoll_type unit = unit_of(plan);
    size_t bytes = nbcoll_type_size(unit);
    for (size_t at = 0; at < claim->bytes && claim->first <= claim->last; at += bytes) {
        unsigned char right[16];
        size_t element = (claim->from + at) / bytes;
        int64_t value = value_of(plan, claim->first, element, round);
        for (int rank = claim->first + 1; rank <= claim->last; rank++)
            value = combine(plan->at.reduction.op, value, value_of(plan, rank, element, round));
        store(unit, right, value);
        if (memcmp(recv + claim->offset + at, right, bytes) != 0)
            return claim->offset + at;
    }
    return SIZE_MAX;
}

size_t bench_wrong_at(const bench_plan *plan, int rank, unsigned round, const unsigned char *recv)
{
    nbcoll_meaning meaning = {.size = sizeof meaning};
    nbcoll_claim claim = {0};
    size_t wrong = SIZE_MAX;
    if (nbcoll_meaning_of(&plan->at, 0, &meaning) == NBCOLL_OK)
        for (size_t i = 0; wrong == SIZE_MAX && meaning.claim(&meaning, rank, i, &claim); i++)
            wrong = wrong_byte(plan, &claim, round, recv);
    return wrong;
}
