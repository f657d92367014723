/* SPDX-License-Identifier: BSD-3-Clause
 * Are the results right? Each rank's input is made of its number, the place in it and a round, so that each part of a
 * result can be computed where it is looked at. What it must be, the operation's meaning says. */
#include <stdio.h>
#include <string.h>

#include <nbcoll/verify.h>

#include "bench.h"

#define BYTE_UNTOUCHED 0xa5 /* in receive buffers, before */

/* ---- elements of reductions: small whole numbers, so that no order of operands rounds -------------------------- */

#define CHECKED_TYPES(X)                                                                                               \
    X(BYTE, unsigned char) X(INT8, int8_t) X(INT16, int16_t) X(INT32, int32_t) X(INT64, int64_t) X(UINT8, uint8_t)     \
    X(UINT16, uint16_t) X(UINT32, uint32_t) X(UINT64, uint64_t) X(FLOAT, float) X(DOUBLE, double)

static int is_checked_type(nbcoll_type type)
{
#define IS(name, ctype) type == NBCOLL_##name ||
    return CHECKED_TYPES(IS) 0;
#undef IS
}

/* How many bytes it has stored. */
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

/* One, but for every 61st, which is two: a product of 256 ranks fits in any type that is looked at. */
static int64_t value_of(int rank, size_t element, unsigned round)
{
    return 1 + ((element + 7 * (size_t)rank + 13 * (size_t)round) % 61 == 0);
}

static unsigned char byte_of(int rank, size_t at, unsigned round)
{
    return (unsigned char)(at * 7 + (at >> 8) + (size_t)rank * 131 + (size_t)round * 29);
}

int bench_can_check(const bench_plan *plan)
{
    nbcoll_op op = plan->reduction.op;
    return !command_is(plan->operation, COMMAND_REDUCES) ||
           (is_checked_type(plan->reduction.type) && op < NBCOLL_MINLOC);
}

/* ---- buffers ----------------------------------------------------------------------------------------------------- */

void bench_fill(const bench_plan *plan, int rank, unsigned round, unsigned char *send, unsigned char *recv)
{
    nbcoll_case c = bench_case(plan, NULL);
    nbcoll_meaning meaning = {.size = sizeof meaning};
    size_t element = nbcoll_type_size(plan->reduction.type);
    memset(recv, BYTE_UNTOUCHED, bench_buffer_bytes(plan));
    if (nbcoll_meaning_of(&c, 0, &meaning) != NBCOLL_OK)
        return; /* the calls will say so */
    nbcoll_region input = meaning.input(&meaning, rank);
    unsigned char *to = (input.at.buffer == NBCOLL_BUFFER_SEND ? send : recv) + input.at.offset;
    if (!command_is(plan->operation, COMMAND_REDUCES))
        for (size_t i = 0; i < input.bytes; i++)
            to[i] = byte_of(rank, i, round);
    else
        for (size_t i = 0; i < input.bytes / element; i++)
            store(plan->reduction.type, to + i * element, value_of(rank, i, round));
}

/* What a claim says of the element, or byte, that begins `at` bytes behind its beginning. Returns the bytes of that. */
static size_t expect(const bench_plan *plan, const nbcoll_claim *claim, size_t at, unsigned round, unsigned char *out)
{
    size_t from = claim->from + at;
    if (!command_is(plan->operation, COMMAND_REDUCES)) {
        *out = byte_of(claim->first, from, round);
        return 1;
    }
    size_t element = from / nbcoll_type_size(plan->reduction.type);
    int64_t value = value_of(claim->first, element, round);
    for (int rank = claim->first + 1; rank <= claim->last; rank++)
        value = combine(plan->reduction.op, value, value_of(rank, element, round));
    return store(plan->reduction.type, out, value);
}

/* The first wrong byte of what is claimed; SIZE_MAX: there is none. */
static size_t wrong_byte(const bench_plan *plan, const nbcoll_claim *claim, unsigned round, const unsigned char *recv)
{
    size_t step = command_is(plan->operation, COMMAND_REDUCES) ? nbcoll_type_size(plan->reduction.type) : 1;
    for (size_t at = 0; at < claim->bytes && claim->first <= claim->last; at += step) {
        unsigned char right[16];
        size_t bytes = expect(plan, claim, at, round, right);
        for (size_t i = 0; i < bytes; i++)
            if (recv[claim->offset + at + i] != right[i])
                return claim->offset + at + i;
    }
    return SIZE_MAX;
}

size_t bench_wrong_at(const bench_plan *plan, int rank, unsigned round, const unsigned char *recv)
{
    nbcoll_case c = bench_case(plan, NULL);
    nbcoll_meaning meaning = {.size = sizeof meaning};
    if (nbcoll_meaning_of(&c, 0, &meaning) != NBCOLL_OK)
        return SIZE_MAX;
    for (size_t i = 0;; i++) {
        nbcoll_claim claim = {0};
        if (!meaning.claim(&meaning, rank, i, &claim))
            return SIZE_MAX;
        size_t wrong = wrong_byte(plan, &claim, round, recv);
        if (wrong != SIZE_MAX)
            return wrong;
    }
}
