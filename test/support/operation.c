/* SPDX-License-Identifier: BSD-3-Clause
 * See operation.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "operation.h"
#include "world.h"

/* ---- elements -------------------------------------------------------------------------------------------------- */

/* An element of any type: `real` of the floating ones, else `bits`. */
typedef struct number {
    uint64_t bits;
    double real;
} number;

static int is_real(nbcoll_type t)
{
    return t == NBCOLL_FLOAT || t == NBCOLL_DOUBLE;
}

static int is_signed(nbcoll_type t)
{
    return t == NBCOLL_INT8 || t == NBCOLL_INT16 || t == NBCOLL_INT32 || t == NBCOLL_INT64;
}

static void put(nbcoll_type t, void *buffer, size_t i, number n)
{
    switch (t) {
#define PUT(name, ctype)                                                                                               \
    case NBCOLL_##name: ((ctype *)buffer)[i] = is_real(t) ? (ctype)n.real : (ctype)n.bits; break;
        NBCOLL_TYPE_LIST(PUT)
    default: fail();
    }
}

/* Element i of rank r's input. Those of floating types are small integers, so that no order of evaluation rounds. */
static number input(const operation *o, int r, size_t i)
{
    uint64_t state = o->seed + (uint64_t)r * 0x10001u + i * 0x100000001u, bits = world_random(&state);
    int small = o->how.op == NBCOLL_PROD ? 1 + (int)(bits % 2) : (int)(bits % 100) - 50;
    number n = {bits, small};

    switch (o->how.type) { /* as the type keeps it */
#define CUT(name, ctype)                                                                                               \
    case NBCOLL_##name:                                                                                                \
        if (!is_real(o->how.type))                                                                                     \
            n.bits = (uint64_t)(ctype)n.bits;                                                                          \
        break;
        NBCOLL_TYPE_LIST(CUT)
    default: fail();
    }
    return n;
}

static number combine(nbcoll_reduction how, number a, number b)
{
    int less = is_real(how.type) ? a.real < b.real
               : is_signed(how.type) ? (int64_t)a.bits < (int64_t)b.bits
                                     : a.bits < b.bits;
    switch (how.op) {
    case NBCOLL_SUM: return (number){a.bits + b.bits, a.real + b.real};
    case NBCOLL_PROD: return (number){a.bits * b.bits, a.real * b.real};
    case NBCOLL_MIN: return less ? a : b;
    case NBCOLL_MAX: return less ? b : a;
    case NBCOLL_BAND: return (number){a.bits & b.bits, 0};
    case NBCOLL_BOR: return (number){a.bits | b.bits, 0};
    default: return (number){a.bits ^ b.bits, 0};
    }
}

static int has(nbcoll_type t, nbcoll_op op)
{
    int bitwise = op == NBCOLL_BAND || op == NBCOLL_BOR || op == NBCOLL_BXOR;
    return is_real(t) ? !bitwise : t != NBCOLL_BYTE || bitwise;
}

size_t operation_reductions(void)
{
    size_t n = 0;
    for (int t = 0; t < NBCOLL_TYPE_COUNT; t++)
        for (int op = 0; op < NBCOLL_OP_COUNT; op++)
            n += (size_t)has((nbcoll_type)t, (nbcoll_op)op);
    return n;
}

nbcoll_reduction operation_reduction(size_t i)
{
    for (int op = 0;; op = (op + 1) % NBCOLL_OP_COUNT)
        for (int t = 0; t < NBCOLL_TYPE_COUNT; t++)
            if (has((nbcoll_type)t, (nbcoll_op)op) && i-- == 0)
                return (nbcoll_reduction){(nbcoll_type)t, (nbcoll_op)op};
}

/* ---- buffers --------------------------------------------------------------------------------------------------- */

static int is_in_place(const operation *o, int rank)
{
    int everywhere = o->what == NBCOLL_OPERATION_ALLGATHER || o->what == NBCOLL_OPERATION_ALLREDUCE;
    return o->in_place && (everywhere || rank == o->root);
}

/* Elements that a rank sends, or has in its receive buffer, when it is not in place. */
static size_t sends(const operation *o, int rank, int ranks)
{
    switch (o->what) {
    case NBCOLL_OPERATION_BARRIER:
    case NBCOLL_OPERATION_BCAST: return 0;
    case NBCOLL_OPERATION_SCATTER: return rank == o->root ? o->count * (size_t)ranks : 0;
    default: return o->count;
    }
}

static size_t receives(const operation *o, int rank, int ranks)
{
    switch (o->what) {
    case NBCOLL_OPERATION_BARRIER: return 0;
    case NBCOLL_OPERATION_GATHER: return rank == o->root ? o->count * (size_t)ranks : 0;
    case NBCOLL_OPERATION_ALLGATHER: return o->count * (size_t)ranks;
    case NBCOLL_OPERATION_REDUCE: return rank == o->root ? o->count : 0;
    default: return o->count;
    }
}

static void *buffer(const operation *o, size_t elements)
{
    size_t bytes = elements * nbcoll_type_size(o->how.type);
    return bytes ? memset(malloc(bytes), 0xa5, bytes) : NULL;
}

share share_make(const operation *o, int rank, int ranks)
{
    size_t n = sends(o, rank, ranks), at = 0;
    int in_place = is_in_place(o, rank), scatters = o->what == NBCOLL_OPERATION_SCATTER;
    share s = {in_place && !scatters ? NBCOLL_IN_PLACE : buffer(o, n),
               in_place && scatters ? NBCOLL_IN_PLACE : buffer(o, receives(o, rank, ranks))};
    void *to = s.send;

    if (o->what == NBCOLL_OPERATION_BCAST && rank == o->root)
        n = o->count;
    if (o->what == NBCOLL_OPERATION_BCAST || s.send == NBCOLL_IN_PLACE)
        to = s.recv;
    if (s.send == NBCOLL_IN_PLACE &&
        (o->what == NBCOLL_OPERATION_GATHER || o->what == NBCOLL_OPERATION_ALLGATHER))
        at = (size_t)rank * o->count;
    for (size_t i = 0; i < n; i++)
        put(o->how.type, to, at + i, input(o, rank, i));
    return s;
}

void share_free(share *s)
{
    free(s->send == NBCOLL_IN_PLACE ? NULL : s->send);
    free(s->recv == NBCOLL_IN_PLACE ? NULL : s->recv);
    *s = (share){NULL, NULL};
}

/* ---- calls ----------------------------------------------------------------------------------------------------- */

/* The arguments of a call, with `last...` at the end. */
#define CALL(prefix, suffix, ...)                                                                                      \
    switch (o->what) {                                                                                                 \
    case NBCOLL_OPERATION_BARRIER: return prefix##barrier##suffix(__VA_ARGS__);                                        \
    case NBCOLL_OPERATION_BCAST: return prefix##bcast##suffix(s->recv, o->count, t, o->root, __VA_ARGS__);             \
    case NBCOLL_OPERATION_SCATTER:                                                                                     \
        return prefix##scatter##suffix(s->send, s->recv, o->count, t, o->root, __VA_ARGS__);                           \
    case NBCOLL_OPERATION_GATHER:                                                                                      \
        return prefix##gather##suffix(s->send, s->recv, o->count, t, o->root, __VA_ARGS__);                            \
    case NBCOLL_OPERATION_ALLGATHER: return prefix##allgather##suffix(s->send, s->recv, o->count, t, __VA_ARGS__);     \
    case NBCOLL_OPERATION_REDUCE:                                                                                      \
        return prefix##reduce##suffix(s->send, s->recv, o->count, t, o->how.op, o->root, __VA_ARGS__);                 \
    default: return prefix##allreduce##suffix(s->send, s->recv, o->count, t, o->how.op, __VA_ARGS__);                  \
    }

nbcoll_status operation_start(const operation *o, const share *s, nbcoll_comm *comm, nbcoll_request *request)
{
    nbcoll_type t = o->how.type;
    CALL(nbcoll_i, , comm, request)
}

nbcoll_status operation_init(const operation *o, const share *s, nbcoll_comm *comm, nbcoll_request *request)
{
    nbcoll_type t = o->how.type;
    CALL(nbcoll_, _init, comm, request)
}

nbcoll_status operation_call(const operation *o, const share *s, nbcoll_comm *comm, uint64_t timeout)
{
    nbcoll_type t = o->how.type;
    CALL(nbcoll_, , comm, timeout)
}

operation operation_random(uint64_t *random, int ranks, size_t most)
{
    operation o = {.what = (nbcoll_operation)(world_random(random) % NBCOLL_OPERATION_COUNT),
                   .count = (size_t)(world_random(random) % (most + 1)),
                   .how = operation_reduction((size_t)(world_random(random) % operation_reductions())),
                   .in_place = (int)(world_random(random) % 2),
                   .seed = world_random(random)};
    if (o.what != NBCOLL_OPERATION_BARRIER && o.what != NBCOLL_OPERATION_ALLGATHER &&
        o.what != NBCOLL_OPERATION_ALLREDUCE)
        o.root = (int)(world_random(random) % (uint64_t)ranks);
    return o;
}

/* ---- results --------------------------------------------------------------------------------------------------- */

/* Element i of the receive buffer of `rank` at the end. */
static number result(const operation *o, int rank, int ranks, size_t i)
{
    switch (o->what) {
    case NBCOLL_OPERATION_BCAST: return input(o, o->root, i);
    case NBCOLL_OPERATION_SCATTER: return input(o, o->root, (size_t)rank * o->count + i);
    case NBCOLL_OPERATION_GATHER:
    case NBCOLL_OPERATION_ALLGATHER: return input(o, (int)(i / o->count), i % o->count);
    default: {
        number n = input(o, 0, i);
        for (int r = 1; r < ranks; r++)
            n = combine(o->how, n, input(o, r, i));
        return n;
    }
    }
}

static void compare(const operation *o, int rank, int ranks, const char *name, const void *is, const void *expected,
                    size_t elements)
{
    size_t size = nbcoll_type_size(o->how.type), i = 0;

    while (i < elements && !memcmp((const char *)is + i * size, (const char *)expected + i * size, size))
        i++;
    if (i == elements)
        return;
    fprintf(stderr, "%s of %zu %s, %s, root %d, in place %d, seed %llu, on rank %d of %d: %s[%zu] is wrong\n",
            nbcoll_operation_name(o->what), o->count, nbcoll_type_name(o->how.type), nbcoll_op_name(o->how.op), o->root,
            o->in_place, (unsigned long long)o->seed, rank, ranks, name, i);
    fail();
}

void operation_check(const operation *o, const share *s, int rank, int ranks)
{
    size_t sent = sends(o, rank, ranks), received = receives(o, rank, ranks);
    void *expected;

    if (s->recv && s->recv != NBCOLL_IN_PLACE) {
        expected = buffer(o, received);
        for (size_t i = 0; i < received; i++)
            put(o->how.type, expected, i, result(o, rank, ranks, i));
        compare(o, rank, ranks, "recv", s->recv, expected, received);
        free(expected);
    }
    if (s->send && s->send != NBCOLL_IN_PLACE) {
        expected = buffer(o, sent);
        for (size_t i = 0; i < sent; i++)
            put(o->how.type, expected, i, input(o, rank, i));
        compare(o, rank, ranks, "send", s->send, expected, sent);
        free(expected);
    }
}
