/* SPDX-License-Identifier: BSD-3-Clause
 * See operation.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "layout.h"
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
#define NUMBERS(name, ctype, kind) NUMBER_##kind(name, ctype)
#define NUMBER_LOGICAL(name, ctype)
#define NUMBER_NARROW(name, ctype)
#define NUMBER_COMPLEX(name, ctype)
#define NUMBER_PAIR(name, ctype)
#define NUMBER_BYTES PUT
#define NUMBER_SIGNED PUT
#define NUMBER_UNSIGNED PUT
#define NUMBER_FLOATING PUT
#define PUT(name, ctype)                                                                                               \
    case NBCOLL_##name: ((ctype *)buffer)[i] = is_real(t) ? (ctype)n.real : (ctype)n.bits; break;
        NBCOLL_TYPE_LIST(NUMBERS)
#undef PUT
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
#define PUT(name, ctype)                                                                                               \
    case NBCOLL_##name:                                                                                                \
        if (!is_real(o->how.type))                                                                                     \
            n.bits = (uint64_t)(ctype)n.bits;                                                                          \
        break;
        NBCOLL_TYPE_LIST(NUMBERS)
#undef PUT
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
    if (t > NBCOLL_DOUBLE || op > NBCOLL_BXOR)
        return 0;
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

static void *buffer(const operation *o, size_t elements)
{
    size_t bytes = elements * nbcoll_type_size(o->how.type);
    return bytes ? memset(malloc(bytes), 0xa5, bytes) : NULL;
}

/* Element i of what rank `from` has for rank `to`, or of its only block. */
static number input_for(const operation *o, int from, int to, size_t i)
{
    return input(o, from, ((size_t)to << 32) + i);
}

/* Element i of a vector that is combined as a whole. */
static number operand(const operation *o, int rank, int ranks, size_t i)
{
    int to = 0;
    if (o->what != NBCOLL_OPERATION_REDUCE_SCATTER && o->what != NBCOLL_OPERATION_REDUCE_SCATTER_BLOCK)
        return input_for(o, rank, 0, i);
    while (to < ranks - 1 && i >= place(o, rank, SEND, to + 1, ranks))
        to++;
    return input_for(o, rank, to, i - place(o, rank, SEND, to, ranks));
}

/* Puts in what the rank contributes, at the blocks of one of its buffers. */
static void put_blocks(const operation *o, void *to, int rank, side which, int ranks)
{
    for (int peer = 0; peer < ranks; peer++) {
        size_t at = place(o, rank, which, peer, ranks), n = length(o, rank, peer);
        for (size_t i = 0; i < n; i++)
            put(o->how.type, to, at + i, input_for(o, rank, peer, i));
    }
}

static void put_inputs(const operation *o, share *s, int rank, int ranks)
{
    int in_place = is_in_place(o, rank);
    part mine = part_of(o, rank, SEND);
    size_t at = 0, n = extent(o, rank, SEND, ranks);

    if (o->what == NBCOLL_OPERATION_BCAST && rank == o->root)
        for (size_t i = 0; i < o->count; i++)
            put(o->how.type, s->recv, i, input_for(o, rank, 0, i));
    else if (mine == A_BLOCK_EACH && in_place && in_place_side(o->what) == SEND && !combines(o->what))
        put_blocks(o, s->recv, rank, RECV, ranks);
    else if (mine == A_BLOCK_EACH)
        put_blocks(o, in_place && in_place_side(o->what) == SEND ? s->recv : s->send, rank, SEND, ranks);
    else if (mine == ONE_BLOCK) {
        if (in_place && part_of(o, rank, RECV) == A_BLOCK_EACH)
            at = place(o, rank, RECV, rank, ranks);
        for (size_t i = 0; i < n; i++)
            put(o->how.type, in_place ? s->recv : s->send, at + i, input_for(o, rank, 0, i));
    }
}

/* Counts, displacements and types of a buffer with blocks of different sizes. In the w form, some blocks are bytes. */
static void describe(const operation *o, share *s, int rank, side which, int ranks)
{
    int is_w = o->what == NBCOLL_OPERATION_ALLTOALLW;
    size_t size = nbcoll_type_size(o->how.type);

    s->counts[which] = malloc((size_t)ranks * sizeof(size_t));
    s->displs[which] = malloc((size_t)ranks * sizeof(size_t));
    s->types[which] = malloc((size_t)ranks * sizeof(nbcoll_type));
    for (int peer = 0; peer < ranks; peer++) {
        int is_bytes = is_w && (rank + peer + (int)which) % 3 == 0;
        s->counts[which][peer] = which == SEND ? length(o, rank, peer) : length(o, peer, rank);
        s->counts[which][peer] *= is_bytes ? size : 1;
        s->displs[which][peer] = place(o, rank, which, peer, ranks) * (is_w ? size : 1);
        s->types[which][peer] = is_bytes ? (nbcoll_type)NBCOLL_BYTE : o->how.type;
    }
}

static int needs_arrays(const operation *o, int rank, side which)
{
    side vector = in_place_side(o->what) == RECV || o->what == NBCOLL_OPERATION_REDUCE_SCATTER ? SEND : RECV;
    int is_all = o->what == NBCOLL_OPERATION_ALLTOALLV || o->what == NBCOLL_OPERATION_ALLTOALLW;
    if (!is_v(o->what))
        return 0;
    if (is_all)
        return which == RECV || !is_in_place(o, rank);
    return which == vector && (o->counts_known || part_of(o, rank, which) == A_BLOCK_EACH);
}

share share_make(const operation *o, int rank, int ranks)
{
    int in_place = is_in_place(o, rank);
    size_t sent = extent(o, rank, SEND, ranks), received = extent(o, rank, RECV, ranks);
    share s = {NULL, NULL, {NULL, NULL}, {NULL, NULL}, {sent, received}, {NULL, NULL}};

    if (in_place && in_place_side(o->what) == SEND && combines(o->what))
        received = sent; /* that is where the operands are */
    s.send = in_place && in_place_side(o->what) == SEND ? NBCOLL_IN_PLACE : buffer(o, sent);
    s.recv = in_place && in_place_side(o->what) == RECV ? NBCOLL_IN_PLACE : buffer(o, received);
    put_inputs(o, &s, rank, ranks);
    for (side which = SEND; which <= RECV; which++)
        if (needs_arrays(o, rank, which))
            describe(o, &s, rank, which, ranks);
    return s;
}

void share_free(share *s)
{
    free(s->send == NBCOLL_IN_PLACE ? NULL : s->send);
    free(s->recv == NBCOLL_IN_PLACE ? NULL : s->recv);
    for (side which = SEND; which <= RECV; which++) {
        free(s->counts[which]);
        free(s->displs[which]);
        free(s->types[which]);
    }
    memset(s, 0, sizeof *s);
}

/* ---- calls ----------------------------------------------------------------------------------------------------- */

/* The arguments of a call, with `last...` at the end. */
#define MOVED(prefix, name, suffix, ...) return prefix##name##suffix(s->send, s->recv, o->count, t, __VA_ARGS__)
#define COMBINED(prefix, name, suffix, ...) MOVED(prefix, name, suffix, o->how.op, __VA_ARGS__)
#define CALL(prefix, suffix, ...)                                                                                      \
    switch (o->what) {                                                                                                 \
    case NBCOLL_OPERATION_BARRIER: return prefix##barrier##suffix(__VA_ARGS__);                                        \
    case NBCOLL_OPERATION_BCAST: return prefix##bcast##suffix(s->recv, o->count, t, o->root, __VA_ARGS__);             \
    case NBCOLL_OPERATION_SCATTER: MOVED(prefix, scatter, suffix, o->root, __VA_ARGS__);                               \
    case NBCOLL_OPERATION_GATHER: MOVED(prefix, gather, suffix, o->root, __VA_ARGS__);                                 \
    case NBCOLL_OPERATION_ALLGATHER: MOVED(prefix, allgather, suffix, __VA_ARGS__);                                    \
    case NBCOLL_OPERATION_ALLTOALL: MOVED(prefix, alltoall, suffix, __VA_ARGS__);                                      \
    case NBCOLL_OPERATION_REDUCE: COMBINED(prefix, reduce, suffix, o->root, __VA_ARGS__);                              \
    case NBCOLL_OPERATION_ALLREDUCE: COMBINED(prefix, allreduce, suffix, __VA_ARGS__);                                 \
    case NBCOLL_OPERATION_REDUCE_SCATTER_BLOCK: COMBINED(prefix, reduce_scatter_block, suffix, __VA_ARGS__);           \
    case NBCOLL_OPERATION_SCAN: COMBINED(prefix, scan, suffix, __VA_ARGS__);                                           \
    case NBCOLL_OPERATION_EXSCAN: COMBINED(prefix, exscan, suffix, __VA_ARGS__);                                       \
    case NBCOLL_OPERATION_SCATTERV:                                                                                    \
        return prefix##scatterv##suffix(s->send, s->counts[0], s->displs[0], s->recv, s->count[1], t, o->root,         \
                                        __VA_ARGS__);                                                                  \
    case NBCOLL_OPERATION_GATHERV:                                                                                     \
        return prefix##gatherv##suffix(s->send, s->count[0], s->recv, s->counts[1], s->displs[1], t, o->root,          \
                                       __VA_ARGS__);                                                                   \
    case NBCOLL_OPERATION_ALLGATHERV:                                                                                  \
        return prefix##allgatherv##suffix(s->send, s->recv, s->counts[1], s->displs[1], t, __VA_ARGS__);               \
    case NBCOLL_OPERATION_ALLTOALLV:                                                                                   \
        return prefix##alltoallv##suffix(s->send, s->counts[0], s->displs[0], s->recv, s->counts[1], s->displs[1], t,  \
                                         __VA_ARGS__);                                                                 \
    case NBCOLL_OPERATION_ALLTOALLW:                                                                                   \
        return prefix##alltoallw##suffix(s->send, s->counts[0], s->displs[0], s->types[0], s->recv, s->counts[1],      \
                                         s->displs[1], s->types[1], __VA_ARGS__);                                      \
    default:                                                                                                           \
        return prefix##reduce_scatter##suffix(s->send, s->recv, s->counts[0], t, o->how.op, __VA_ARGS__);              \
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
    if (has_root(o.what))
        o.root = (int)(world_random(random) % (uint64_t)ranks);
    return o;
}

/* ---- results --------------------------------------------------------------------------------------------------- */

/* Element i of the vectors of ranks first..last, combined in rank order. */
static number combined(const operation *o, int last, int ranks, size_t i)
{
    number n = operand(o, 0, ranks, i);
    for (int r = 1; r <= last; r++)
        n = combine(o->how, n, operand(o, r, ranks, i));
    return n;
}

/* Element i of the receive buffer of `rank` at the end, where it is one block. */
static number result(const operation *o, int rank, int ranks, size_t i)
{
    switch (o->what) {
    case NBCOLL_OPERATION_BCAST: return input_for(o, o->root, 0, i);
    case NBCOLL_OPERATION_SCATTER:
    case NBCOLL_OPERATION_SCATTERV: return input_for(o, o->root, rank, i);
    case NBCOLL_OPERATION_REDUCE_SCATTER:
    case NBCOLL_OPERATION_REDUCE_SCATTER_BLOCK:
        return combined(o, ranks - 1, ranks, place(o, rank, SEND, rank, ranks) + i);
    case NBCOLL_OPERATION_SCAN: return combined(o, rank, ranks, i);
    case NBCOLL_OPERATION_EXSCAN: return combined(o, rank - 1, ranks, i);
    default: return combined(o, ranks - 1, ranks, i);
    }
}

/* What the receive buffer must become; it holds what it held at the start. */
static void put_results(const operation *o, void *recv, int rank, int ranks)
{
    part mine = part_of(o, rank, RECV);
    size_t n = mine == ONE_BLOCK ? extent(o, rank, RECV, ranks) : 0;

    for (size_t i = 0; i < n; i++)
        put(o->how.type, recv, i, result(o, rank, ranks, i));
    for (int peer = 0; mine == A_BLOCK_EACH && peer < ranks; peer++) {
        int to = part_of(o, peer, SEND) == ONE_BLOCK ? 0 : rank;
        size_t at = place(o, rank, RECV, peer, ranks), many = length(o, peer, rank);
        for (size_t i = 0; i < many; i++)
            put(o->how.type, recv, at + i, input_for(o, peer, to, i));
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
    fprintf(stderr, "%s of %zu %s, %s, root %d, in place %d, counts known %d, seed %llu, on rank %d of %d: %s[%zu] is "
            "wrong\n", nbcoll_operation_name(o->what), o->count, nbcoll_type_name(o->how.type),
            nbcoll_op_name(o->how.op), o->root, o->in_place, o->counts_known, (unsigned long long)o->seed, rank, ranks,
            name, i);
    fail();
}

void operation_check(const operation *o, const share *s, int rank, int ranks)
{
    share expected = share_make(o, rank, ranks);
    size_t sent = extent(o, rank, SEND, ranks), received = extent(o, rank, RECV, ranks);

    if (s->recv && s->recv != NBCOLL_IN_PLACE) {
        if (is_in_place(o, rank) && combines(o->what))
            received = sent;
        put_results(o, expected.recv, rank, ranks);
        compare(o, rank, ranks, "recv", s->recv, expected.recv, received);
    }
    if (s->send && s->send != NBCOLL_IN_PLACE)
        compare(o, rank, ranks, "send", s->send, expected.send, sent);
    share_free(&expected);
}
