/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The buffers of one call. Each element has a value that follows from the salt of the call, from the rank that has it
 * and from the one that it is for. What must come out is computed in plain serial C from the definitions of the
 * operations. A buffer is not a byte longer than needed, with guards at both ends; types and operations of the host's
 * live as long as the buffers, and are overwritten then. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storm.h"

uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t state = a ^ (b * 0xd6e8feb86659fd93u);
    return next_random(&state);
}

enum { GUARDS = 64, PACKED_MOST = 32, MOVED_MOST = 4096 };

/* ---- elements ---------------------------------------------------------------------------------------------------- */

static bool is_real(nbcoll_type t)
{
    return t == NBCOLL_FLOAT || t == NBCOLL_DOUBLE;
}

static bool is_signed(nbcoll_type t)
{
    return t >= NBCOLL_INT8 && t <= NBCOLL_INT64;
}

static double real_of(nbcoll_type t, const void *p)
{
    float f;
    double d;
    memcpy(t == NBCOLL_FLOAT ? (void *)&f : (void *)&d, p, t == NBCOLL_FLOAT ? sizeof f : sizeof d);
    return t == NBCOLL_FLOAT ? (double)f : d;
}

static void real_put(nbcoll_type t, void *p, double d)
{
    float f = (float)d;
    memcpy(p, t == NBCOLL_FLOAT ? (void *)&f : (void *)&d, t == NBCOLL_FLOAT ? sizeof f : sizeof d);
}

static uint64_t bits_of(const void *p, size_t bytes, bool extends)
{
    uint64_t v = 0;
    memcpy(&v, p, bytes);
    if (extends && bytes < 8 && v >> (bytes * 8 - 1))
        v |= ~(uint64_t)0 << (bytes * 8);
    return v;
}

/* Small integers, whose sums and products no order of evaluation rounds. Where the ranks asked for the same bits:
 * numbers of up to 2^24 times each other's size, whose sums another tree rounds otherwise, and products, too. */
static double real_value(const buffers *b, uint64_t bits)
{
    if (b->actor->storm->plan.flags & NBCOLL_REPRODUCIBLE && b->o.how.op == NBCOLL_SUM)
        return ((double)(int64_t)bits + 0.5) / (double)(1ull << bits % 25);
    if (b->actor->storm->plan.flags & NBCOLL_REPRODUCIBLE && b->o.how.op == NBCOLL_PROD)
        return 1 + (double)(bits >> 11) / (double)(1ull << 53);
    return b->o.how.op == NBCOLL_PROD ? 1 + (double)(bits % 2) : (double)(bits % 100) - 50;
}

/* The bytes that travel of element i of what `from` has for `to`. */
static void value(const buffers *b, int from, int to, size_t i, unsigned char *out)
{
    uint64_t state = b->salt + (uint64_t)from * 0x10001u + (uint64_t)to * 0x1000003u + i * 0x100000001u;
    if (combines(b->o.what) && !b->own_op && is_real(b->o.how.type)) {
        real_put(b->o.how.type, out, real_value(b, next_random(&state)));
        return;
    }
    for (size_t k = 0; k < b->packed; k += 8) {
        uint64_t bits = next_random(&state);
        memcpy(out + k, &bits, b->packed - k < 8 ? b->packed - k : 8);
    }
}

static uint64_t bits_combined(nbcoll_reduction how, uint64_t a, uint64_t b)
{
    bool less = is_signed(how.type) ? (int64_t)a < (int64_t)b : a < b;
    switch (how.op) {
    case NBCOLL_SUM:
        return a + b;
    case NBCOLL_PROD:
        return a * b;
    case NBCOLL_MIN:
        return less ? a : b;
    case NBCOLL_MAX:
        return less ? b : a;
    case NBCOLL_BAND:
        return a & b;
    case NBCOLL_BOR:
        return a | b;
    default:
        return a ^ b;
    }
}

static double reals_combined(nbcoll_op op, double a, double b)
{
    switch (op) {
    case NBCOLL_SUM:
        return a + b;
    case NBCOLL_PROD:
        return a * b;
    case NBCOLL_MIN:
        return a < b ? a : b;
    default:
        return a < b ? b : a;
    }
}

/* Of the host's ops, of elements of so many bytes: sums of words; or, word by word, maps x -> a x + b, one after the
 * other, which do not commute. */
static void own_combine(int own_op, unsigned char *result, const unsigned char *left, const unsigned char *right,
                        size_t bytes)
{
    for (size_t k = 0; k < bytes; k += 8) {
        uint32_t l[2], r[2], both[2];
        memcpy(l, left + k, 8);
        memcpy(r, right + k, 8);
        both[0] = own_op == 1 ? l[0] + r[0] : l[0] * r[0];
        both[1] = own_op == 1 ? l[1] ^ r[1] : r[0] * l[1] + r[1];
        memcpy(result + k, both, 8);
    }
}

/* left = left op right */
static void combine(const buffers *b, unsigned char *left, const unsigned char *right)
{
    nbcoll_reduction how = b->o.how;
    if (b->own_op)
        own_combine(b->own_op, left, left, right, b->packed);
    else if (is_real(how.type))
        real_put(how.type, left, reals_combined(how.op, real_of(how.type, left), real_of(how.type, right)));
    else {
        bool extends = is_signed(how.type);
        uint64_t bits = bits_combined(how, bits_of(left, b->packed, extends), bits_of(right, b->packed, extends));
        memcpy(left, &bits, b->packed);
    }
}

/* ---- functions of the host's ------------------------------------------------------------------------------------- */

/* What a type's functions are given: also to see that they get it. */
static bool function_fails(void *user)
{
    buffers *b = user;
    return host_function_fails(b->actor);
}

static nbcoll_status pack(void *user, const void *elements, void *packed, size_t count)
{
    buffers *b = user;
    if (function_fails(user))
        return NBCOLL_ERR_CALL;
    for (size_t i = 0; i < count; i++)
        memcpy((char *)packed + i * b->packed, (const char *)elements + i * b->extent, b->packed);
    return NBCOLL_OK;
}

static nbcoll_status unpack(void *user, const void *packed, void *elements, size_t count)
{
    buffers *b = user;
    if (function_fails(user))
        return NBCOLL_ERR_CALL;
    for (size_t i = 0; i < count; i++)
        memcpy((char *)elements + i * b->extent, (const char *)packed + i * b->packed, b->packed);
    return NBCOLL_OK;
}

static nbcoll_status op_combine(void *user, void *result, const void *left, const void *right, size_t count,
                                nbcoll_type type)
{
    buffers *b = user;
    if (type != b->o.how.type)
        storm_find(b->actor->storm, "rank %d: combine is called with another type than the call's", b->actor->rank);
    if (function_fails(user))
        return NBCOLL_ERR_CALL;
    own_combine(b->own_op, result, left, right, count * b->packed);
    return NBCOLL_OK;
}

/* Of an alltoallw the types of empty blocks are not read: has each rank one that is? */
static bool has_types(const operation *o, int ranks)
{
    bool has = true;
    for (int rank = 0; rank < ranks && o->what == NBCOLL_OPERATION_ALLTOALLW; rank++) {
        size_t elements = 0;
        for (int peer = 0; peer < ranks; peer++)
            elements += length(o, peer, rank) + (o->in_place ? 0 : length(o, rank, peer));
        has &= elements > 0;
    }
    return has;
}

/* Agents want types that pack on all ranks, or on none. */
static void describe_own(buffers *b, const item *i)
{
    if (b->element != ELEMENT_PREDEFINED) {
        bool has_agents = b->actor->storm->plan.has_agents, on_all = combines(b->o.what) || has_agents;
        bool packs = b->element == ELEMENT_PACKED && (on_all || mix(b->salt, (uint64_t)b->rank) % 4);
        packs &= !has_agents || has_types(&b->o, b->ranks);
        b->packed = i->packed;
        b->extent = b->packed + (packs ? 1 + (b->packed + (combines(b->o.what) ? 0 : (size_t)b->rank)) % 9 : 0);
        if (packs && b->actor->storm->plan.is_alike)
            b->extent = PACKED_MOST + 1;
        b->type = malloc(sizeof *b->type);
        *b->type = (nbcoll_host_type){.size = sizeof *b->type, .extent = b->extent, .packed = packs ? b->packed : 0,
                                      .user = b, .pack = packs ? pack : NULL, .unpack = packs ? unpack : NULL};
        b->o.how.type = nbcoll_type_of(b->type);
    } else
        b->packed = b->extent = nbcoll_type_size(b->o.how.type);
    if (b->own_op) {
        b->op = malloc(sizeof *b->op);
        *b->op = (nbcoll_host_op){sizeof *b->op, b, op_combine, b->own_op == 1, NULL};
        b->o.how.op = nbcoll_op_of(b->op);
    }
}

/* ---- buffers ----------------------------------------------------------------------------------------------------- */

static void put(const buffers *b, unsigned char *to, size_t at, int from, int whose, size_t i)
{
    unsigned char bytes[PACKED_MOST];
    value(b, from, whose, i, bytes);
    memcpy(to + at * b->extent, bytes, b->packed);
}

static void put_blocks(const buffers *b, unsigned char *to, side which)
{
    for (int peer = 0; peer < b->ranks; peer++) {
        size_t at = place(&b->o, b->rank, which, peer, b->ranks), n = length(&b->o, b->rank, peer);
        for (size_t i = 0; i < n; i++)
            put(b, to, at + i, b->rank, peer, i);
    }
}

/* What the rank contributes: where it stands when the call is made. */
static void put_inputs(const buffers *b, unsigned char *send, unsigned char *recv)
{
    const operation *o = &b->o;
    bool in_place = is_in_place(o, b->rank), recv_is_place = in_place && in_place_side(o->what) == SEND;
    part mine = part_of(o, b->rank, SEND);
    size_t at = 0, n = extent(o, b->rank, SEND, b->ranks);

    if (o->what == NBCOLL_OPERATION_BCAST && b->rank == o->root)
        for (size_t i = 0; i < o->count; i++)
            put(b, recv, i, b->rank, 0, i);
    else if (mine == A_BLOCK_EACH)
        put_blocks(b, recv_is_place ? recv : send, recv_is_place && !combines(o->what) ? RECV : SEND);
    else if (mine == ONE_BLOCK) {
        if (recv_is_place && part_of(o, b->rank, RECV) == A_BLOCK_EACH)
            at = place(o, b->rank, RECV, b->rank, b->ranks);
        for (size_t i = 0; i < n; i++)
            put(b, recv_is_place ? recv : send, at + i, b->rank, 0, i);
    }
}

/* Element i of the vectors of so many ranks, or of their blocks for `to`, combined along the tree of
 * NBCOLL_REPRODUCIBLE, which splits them behind the largest power of two. Without that the values have no other result.
 */
static void combined(const buffers *b, int first, int ranks, int to, size_t i, unsigned char *out)
{
    unsigned char right[PACKED_MOST];
    int left = 1;
    if (ranks <= 1) {
        value(b, first, to, i, out);
        return;
    }
    while (2 * left < ranks)
        left *= 2;
    combined(b, first, left, to, i, out);
    combined(b, first + left, ranks - left, to, i, right);
    combine(b, out, right);
}

/* Element i of the result, where that is one block. */
static void result(const buffers *b, size_t i, unsigned char *out)
{
    const operation *o = &b->o;
    switch (o->what) {
    case NBCOLL_OPERATION_BCAST:
        value(b, o->root, 0, i, out);
        break;
    case NBCOLL_OPERATION_SCATTER:
    case NBCOLL_OPERATION_SCATTERV:
        value(b, o->root, b->rank, i, out);
        break;
    case NBCOLL_OPERATION_REDUCE_SCATTER:
    case NBCOLL_OPERATION_REDUCE_SCATTER_BLOCK:
        combined(b, 0, b->ranks, b->rank, i, out);
        break;
    case NBCOLL_OPERATION_SCAN:
        combined(b, 0, b->rank + 1, 0, i, out);
        break;
    case NBCOLL_OPERATION_EXSCAN:
        combined(b, 0, b->rank, 0, i, out);
        break;
    default:
        combined(b, 0, b->ranks, 0, i, out);
    }
}

static void put_results(const buffers *b, unsigned char *recv)
{
    const operation *o = &b->o;
    part mine = part_of(o, b->rank, RECV);
    size_t n = mine == ONE_BLOCK ? extent(o, b->rank, RECV, b->ranks) : 0;
    unsigned char bytes[PACKED_MOST];

    for (size_t i = 0; i < n; i++) {
        result(b, i, bytes);
        memcpy(recv + i * b->extent, bytes, b->packed);
    }
    for (int peer = 0; mine == A_BLOCK_EACH && peer < b->ranks; peer++) {
        int to = part_of(o, peer, SEND) == ONE_BLOCK ? 0 : b->rank;
        size_t at = place(o, b->rank, RECV, peer, b->ranks), many = length(o, peer, b->rank);
        for (size_t i = 0; i < many; i++)
            put(b, recv, at + i, peer, to, i);
    }
}

/* ---- arrays ------------------------------------------------------------------------------------------------------ */

static bool needs_arrays(const operation *o, int rank, side which)
{
    side vector = in_place_side(o->what) == RECV || o->what == NBCOLL_OPERATION_REDUCE_SCATTER ? SEND : RECV;
    if (!is_v(o->what))
        return false;
    if (o->what == NBCOLL_OPERATION_ALLTOALLV || o->what == NBCOLL_OPERATION_ALLTOALLW)
        return which == RECV || !is_in_place(o, rank);
    return which == vector && (o->counts_known || part_of(o, rank, which) == A_BLOCK_EACH);
}

/* From edition 25 on some arrays have 32-bit numbers. Their memory is as large as that of the others. */
static size_t *narrowed(const buffers *b, size_t *numbers, uint64_t which)
{
    if (b->actor->storm->plan.edition < EDITION_OF_FORMS || mix(b->salt + which, (uint64_t)b->rank + 82) % 3)
        return numbers;
    int *narrow = calloc((size_t)b->ranks, sizeof *numbers);
    for (int peer = 0; peer < b->ranks; peer++)
        narrow[peer] = (int)numbers[peer];
    free(numbers);
    return (size_t *)(uintptr_t)nbcoll_ints(narrow);
}

static void *array_of(size_t *numbers)
{
    return (void *)((uintptr_t)numbers & ~(uintptr_t)1);
}

/* In the w form, some blocks are of bytes, where nothing packs. */
static void describe(buffers *b, side which)
{
    const operation *o = &b->o;
    bool is_w = o->what == NBCOLL_OPERATION_ALLTOALLW;
    size_t n = (size_t)b->ranks;

    b->share.counts[which] = malloc(n * sizeof(size_t));
    b->share.displs[which] = malloc(n * sizeof(size_t));
    b->share.types[which] = malloc(n * sizeof(nbcoll_type));
    for (int peer = 0; peer < b->ranks; peer++) {
        bool is_bytes = is_w && b->extent == b->packed && (b->rank + peer + (int)which) % 3 == 0;
        b->share.counts[which][peer] = which == SEND ? length(o, b->rank, peer) : length(o, peer, b->rank);
        b->share.counts[which][peer] *= is_bytes ? b->packed : 1;
        b->share.displs[which][peer] = place(o, b->rank, which, peer, b->ranks) * (is_w ? b->extent : 1);
        b->share.types[which][peer] = is_bytes ? (nbcoll_type)NBCOLL_BYTE : o->how.type;
    }
    b->share.counts[which] = narrowed(b, b->share.counts[which], 2 * which);
    b->share.displs[which] = narrowed(b, b->share.displs[which], 2 * which + 1);
}

static void fill(const buffers *b, unsigned char *send, unsigned char *recv)
{
    memset(send, 0xc3, b->bytes[SEND] + 2 * GUARDS);
    memset(send + GUARDS, 0xa5, b->bytes[SEND]);
    memset(recv, 0xc3, b->bytes[RECV] + 2 * GUARDS);
    memset(recv + GUARDS, 0xa5, b->bytes[RECV]);
    put_inputs(b, send + GUARDS, recv + GUARDS);
}

void buffers_fill(buffers *b, uint64_t salt)
{
    b->salt = salt;
    fill(b, b->memory[SEND], b->memory[RECV]);
}

void buffers_make(buffers *b, actor *a, const item *i, int rank, int ranks, uint64_t salt)
{
    *b = (buffers){
        .o = i->o, .element = i->element, .own_op = i->own_op, .rank = rank, .ranks = ranks, .salt = salt, .actor = a};
    operation *o = &b->o;
    o->root = has_root(o->what) ? o->root % ranks : 0;
    o->counts_known = (a->storm->plan.flags & NBCOLL_COUNTS_KNOWN) != 0;
    if (o->what != NBCOLL_OPERATION_ALLTOALLV && o->what != NBCOLL_OPERATION_ALLTOALLW)
        o->in_place = o->in_place && (a->storm->plan.has_agents || mix(salt, (uint64_t)rank + 77) % 2);
    describe_own(b, i);
    size_t sent = extent(o, rank, SEND, ranks), received = extent(o, rank, RECV, ranks);
    bool in_place = is_in_place(o, rank);
    b->share.count[SEND] = sent;
    b->share.count[RECV] = received;
    if (in_place && in_place_side(o->what) == SEND && combines(o->what))
        received = sent; /* that is where the operands are */
    if (in_place && in_place_side(o->what) == SEND)
        sent = 0;
    if (in_place && in_place_side(o->what) == RECV)
        received = 0;
    b->bytes[SEND] = sent * b->extent;
    b->bytes[RECV] = received * b->extent;
    b->memory[SEND] = malloc(b->bytes[SEND] + 2 * GUARDS);
    b->memory[RECV] = malloc(b->bytes[RECV] + 2 * GUARDS);
    b->share.send = in_place && in_place_side(o->what) == SEND ? NBCOLL_IN_PLACE : b->memory[SEND] + GUARDS;
    b->share.recv = in_place && in_place_side(o->what) == RECV ? NBCOLL_IN_PLACE : b->memory[RECV] + GUARDS;
    fill(b, b->memory[SEND], b->memory[RECV]);
    for (side which = SEND; which <= RECV; which++)
        if (needs_arrays(o, rank, which))
            describe(b, which);
}

void buffers_move(buffers *b, nbcoll_comm *comm)
{
    for (side which = SEND; which <= RECV; which++) {
        size_t bytes = b->bytes[which] + 2 * GUARDS;
        void *memory;
        if (bytes > MOVED_MOST || nbcoll_mem_alloc(comm, bytes, &memory) != NBCOLL_OK)
            continue;
        memcpy(memory, b->memory[which], bytes);
        free(b->memory[which]);
        b->memory[which] = memory;
        b->lender[which] = comm;
        if (which == SEND && b->share.send != NBCOLL_IN_PLACE)
            b->share.send = b->memory[SEND] + GUARDS;
        if (which == RECV && b->share.recv != NBCOLL_IN_PLACE)
            b->share.recv = b->memory[RECV] + GUARDS;
    }
}

/* Who has been lost may still read what lies in memory of the endpoint's (nbcoll_comm_declare_lost): that ends with the
 * context then. */
static void memory_free(buffers *b, side which)
{
    nbcoll_comm *lender = b->lender[which];
    storm *s = b->actor ? b->actor->storm : NULL;

    if (lender && s->bad_anywhere)
        return;
    if (b->memory[which])
        memset(b->memory[which], 0xee, b->bytes[which] + 2 * GUARDS);
    if (!lender)
        free(b->memory[which]);
    else if (nbcoll_mem_free(lender, b->memory[which]) != NBCOLL_OK)
        storm_find(s, "rank %d: memory of its endpoint's is not freed", b->actor->rank);
}

static const char *differs(const buffers *b, side which, const unsigned char *is, const unsigned char *expected,
                           bool only_guards, char text[200])
{
    size_t all = b->bytes[which] + 2 * GUARDS;
    for (size_t i = 0; i < all; i++) {
        bool is_guard = i < GUARDS || i >= GUARDS + b->bytes[which];
        if (is[i] == expected[i] || (only_guards && !is_guard))
            continue;
        snprintf(text, 200, "%s %s, byte %ld of %zu: %02x instead of %02x", which == SEND ? "send" : "receive",
                 is_guard ? "buffer's guard" : "buffer", (long)i - GUARDS, b->bytes[which], is[i], expected[i]);
        return text;
    }
    return NULL;
}

const char *buffers_wrong(buffers *b, bool is_result, char text[200])
{
    unsigned char *send = malloc(b->bytes[SEND] + 2 * GUARDS), *recv = malloc(b->bytes[RECV] + 2 * GUARDS);
    fill(b, send, recv);
    if (is_result && b->share.recv != NBCOLL_IN_PLACE)
        put_results(b, recv + GUARDS);
    const char *wrong = differs(b, SEND, b->memory[SEND], send, false, text);
    if (!wrong)
        wrong = differs(b, RECV, b->memory[RECV], recv, !is_result, text);
    free(send);
    free(recv);
    return wrong;
}

const char *buffers_touched(buffers *b, char text[200])
{
    unsigned char *send = malloc(b->bytes[SEND] + 2 * GUARDS), *recv = malloc(b->bytes[RECV] + 2 * GUARDS);
    fill(b, send, recv);
    const char *wrong = differs(b, SEND, b->memory[SEND], send, false, text);
    if (!wrong)
        wrong = differs(b, RECV, b->memory[RECV], recv, false, text);
    free(send);
    free(recv);
    return wrong;
}

const char *buffers_not_arrived(buffers *b, size_t offset, size_t bytes, char text[200])
{
    unsigned char *send = malloc(b->bytes[SEND] + 2 * GUARDS), *recv = malloc(b->bytes[RECV] + 2 * GUARDS);
    bool has;
    fill(b, send, recv);
    put_results(b, recv + GUARDS);
    has = !memcmp(b->memory[RECV] + GUARDS + offset, recv + GUARDS + offset, bytes);
    snprintf(text, 200, "%zu bytes of the receive buffer, from %zu on, have not arrived", bytes, offset);
    free(send);
    free(recv);
    return has ? NULL : text;
}

/* What lived just long enough is overwritten before it goes. */
void buffers_free(buffers *b)
{
    for (side which = SEND; which <= RECV; which++) {
        memory_free(b, which);
        size_t bytes = b->share.counts[which] ? (size_t)b->ranks * sizeof(size_t) : 0;
        if (bytes) {
            memset(array_of(b->share.counts[which]), 0xee, bytes);
            memset(array_of(b->share.displs[which]), 0xee, bytes);
            memset(b->share.types[which], 0xee, bytes);
        }
        free(array_of(b->share.counts[which]));
        free(array_of(b->share.displs[which]));
        free(b->share.types[which]);
    }
    if (b->type)
        memset(b->type, 0xee, sizeof *b->type);
    if (b->op)
        memset(b->op, 0xee, sizeof *b->op);
    free(b->type);
    free(b->op);
    memset(b, 0, sizeof *b);
}
