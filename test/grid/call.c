/* SPDX-License-Identifier: BSD-3-Clause
 * See call.h: buffers and their layout. The rest is in forms.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "elements.h"
#include "world.h"

typedef enum side { SEND, RECV } side;
typedef enum part { NOTHING, ONE_BLOCK, VECTOR } part;

/* ---- layout ---------------------------------------------------------------------------------------------------- */

/* What a rank's buffer holds that is not in place. */
static part part_of(const call *c, int rank, side which)
{
    int is_root = rank == c->c.root;
    switch (c->c.what) {
    case NBCOLL_OPERATION_BARRIER: return NOTHING;
    case NBCOLL_OPERATION_BCAST: return which == SEND ? NOTHING : ONE_BLOCK;
    case NBCOLL_OPERATION_SCATTER:
    case NBCOLL_OPERATION_SCATTERV: return which == RECV ? ONE_BLOCK : is_root ? VECTOR : NOTHING;
    case NBCOLL_OPERATION_GATHER:
    case NBCOLL_OPERATION_GATHERV: return which == SEND ? ONE_BLOCK : is_root ? VECTOR : NOTHING;
    case NBCOLL_OPERATION_ALLGATHER:
    case NBCOLL_OPERATION_ALLGATHERV: return which == SEND ? ONE_BLOCK : VECTOR;
    case NBCOLL_OPERATION_ALLTOALL:
    case NBCOLL_OPERATION_ALLTOALLV:
    case NBCOLL_OPERATION_ALLTOALLW: return VECTOR;
    case NBCOLL_OPERATION_REDUCE: return which == SEND || is_root ? ONE_BLOCK : NOTHING;
    case NBCOLL_OPERATION_REDUCE_SCATTER:
    case NBCOLL_OPERATION_REDUCE_SCATTER_BLOCK: return which == SEND ? VECTOR : ONE_BLOCK;
    case NBCOLL_OPERATION_EXSCAN: return which == RECV && rank == 0 ? NOTHING : ONE_BLOCK;
    default: return ONE_BLOCK;
    }
}

static size_t length(const call *c, int rank, side which, int peer)
{
    return which == SEND ? point_block(&c->p, rank, peer) : point_block(&c->p, peer, rank);
}

/* Elements of the whole vector. Blocks of different lengths lie in another order than their ranks, with gaps before
 * and between them; `displs`, if not null, becomes where. */
static size_t lay_out(const call *c, int rank, side which, size_t displs[])
{
    int has_displs = operation_has_counts(c->c.what) && !operation_reduces(c->c.what), ranks = c->c.ranks;
    size_t at = 0;

    for (int k = 0; k < ranks; k++) {
        int peer = has_displs ? ranks - 1 - (int)(((uint64_t)k + (uint64_t)rank + c->p.seed) % (uint64_t)ranks) : k;
        at += has_displs ? (size_t)(c->p.seed >> (k + rank) % 32 & 1) : 0;
        if (displs)
            displs[peer] = at;
        at += length(c, rank, which, peer);
    }
    return at;
}

/* In the w form, some blocks are described as bytes, not always at both ends: always, if the type packs. */
static int is_described_as_bytes(const call *c, int rank, side which, int peer)
{
    int from = which == SEND ? rank : peer, to = which == SEND ? peer : rank;
    int in_place = c->p.v[PLACE] != NOT_IN_PLACE; /* one description for what goes and for what comes */
    int pair = in_place && from > to ? 3 * to + 5 * from : 3 * from + 5 * to;

    if (c->c.what != NBCOLL_OPERATION_ALLTOALLW)
        return 0;
    if (c->c.type != ELEMENT_PACKED)
        pair = 3 * rank + 5 * peer + (int)which;
    return (c->p.seed >> pair % 40 & 1) != 0;
}

static vector vector_make(const call *c, int rank, side which)
{
    size_t ranks = (size_t)c->c.ranks, size = element_size(c->c.type);
    size_t *counts = malloc(ranks * sizeof *counts), *displs = malloc(ranks * sizeof *displs);
    nbcoll_type *types = malloc(ranks * sizeof *types);

    lay_out(c, rank, which, displs);
    for (int peer = 0; peer < c->c.ranks; peer++) {
        int is_bytes = is_described_as_bytes(c, rank, which, peer);
        counts[peer] = length(c, rank, which, peer);
        types[peer] = element_type(c->c.type);
        if (c->c.what != NBCOLL_OPERATION_ALLTOALLW)
            continue;
        displs[peer] *= size;
        if (is_bytes) {
            types[peer] = NBCOLL_BYTE;
            counts[peer] *= size;
        }
    }
    return (vector){counts, displs, types};
}

static void vector_free(const vector *v)
{
    free((size_t *)(uintptr_t)v->counts);
    free((size_t *)(uintptr_t)v->displs);
    free((nbcoll_type *)(uintptr_t)v->types);
}

/* ---- what a rank passes ---------------------------------------------------------------------------------------- */

static int is_scatter(nbcoll_operation what)
{
    return what == NBCOLL_OPERATION_SCATTER || what == NBCOLL_OPERATION_SCATTERV;
}

/* Elements of a buffer. */
static size_t elements_of(const call *c, int rank, side which)
{
    int in_place = point_in_place(&c->p, rank);
    part mine = part_of(c, rank, which);

    if (which == RECV && in_place && operation_reduces(c->c.what)) { /* that is where the operands are */
        mine = part_of(c, rank, SEND);
        which = SEND;
    }
    if (mine == VECTOR)
        return lay_out(c, rank, which, NULL);
    return mine == ONE_BLOCK ? length(c, rank, which, is_scatter(c->c.what) ? c->c.root : rank) : 0;
}

/* The buffer, or NBCOLL_IN_PLACE. Where there is nothing to pass: null, or a buffer that nobody may touch. */
static void *lend(call *c, int rank, side which)
{
    buffer *b = which == SEND ? &c->of[rank].send : &c->of[rank].recv;
    uint64_t random = c->p.seed * 64 + (uint64_t)rank * 2 + which;
    size_t bytes = elements_of(c, rank, which) * element_size(c->c.type);

    if (point_in_place(&c->p, rank) && which == (is_scatter(c->c.what) ? RECV : SEND))
        return NBCOLL_IN_PLACE;
    if (c->c.what == NBCOLL_OPERATION_BARRIER || (!bytes && world_random(&random) % 2))
        return NULL;
    if (part_of(c, rank, which) == NOTHING && !bytes)
        bytes = 48;
    *b = buffer_make(bytes, random);
    c->bytes += bytes;
    return b->at;
}

/* Random bytes are as good as any where elements are moved, not where they are combined. */
static void put_operands(call *c, int rank)
{
    int in_place = point_in_place(&c->p, rank);
    buffer *b = in_place ? &c->of[rank].recv : &c->of[rank].send;
    size_t n = operation_reduces(c->c.what) ? elements_of(c, rank, in_place ? RECV : SEND) : 0;
    uint64_t random = c->p.seed + (uint64_t)rank * 0x10001;

    for (size_t i = 0; i < n; i++)
        element_make(c->c.type, c->c.op, c->c.is_tree, rank, world_random(&random),
                     b->at + i * element_size(c->c.type));
}

/* The arrays that the manual says this rank passes. */
static void pass_arrays(const call *c, int rank, passed *to)
{
    int is_known = (point_flags(&c->p) & NBCOLL_COUNTS_KNOWN) != 0;

    if (!operation_has_counts(c->c.what))
        return;
    if (c->c.what == NBCOLL_OPERATION_REDUCE_SCATTER || part_of(c, rank, SEND) == VECTOR)
        to->sent = vector_make(c, rank, SEND);
    else if (c->c.what == NBCOLL_OPERATION_SCATTERV && is_known)
        to->sent = vector_make(c, c->c.root, SEND);
    if (part_of(c, rank, RECV) == VECTOR)
        to->received = vector_make(c, rank, RECV);
    else if (c->c.what == NBCOLL_OPERATION_GATHERV && is_known)
        to->received = vector_make(c, c->c.root, RECV);
}

static void pass(call *c, int rank)
{
    share *s = &c->of[rank];
    int is_promised = c->c.what == NBCOLL_OPERATION_GATHERV || c->c.what == NBCOLL_OPERATION_SCATTERV;
    int is_ignored = is_promised && (point_in_place(&c->p, rank) || point_flags(&c->p) & NBCOLL_COUNTS_KNOWN);

    s->passes.send = lend(c, rank, SEND);
    s->passes.recv = lend(c, rank, RECV);
    put_operands(c, rank);
    if (s->send.mapped)
        buffer_settle(&s->send);
    if (s->recv.mapped)
        buffer_settle(&s->recv);
    pass_arrays(c, rank, &s->passes);
    s->passes.count = point_block(&c->p, c->c.what == NBCOLL_OPERATION_SCATTERV ? c->c.root : rank, rank);
    s->truly = s->passes;
    if (s->send.mapped)
        s->truly.send = s->send.before;
    if (s->recv.mapped)
        s->truly.recv = s->recv.before;
    if (is_ignored)
        s->passes.count = (size_t)c->p.seed;
    if (c->c.what == NBCOLL_OPERATION_ALLTOALLV || c->c.what == NBCOLL_OPERATION_ALLTOALLW)
        if (point_in_place(&c->p, rank)) { /* ignored */
            vector_free(&s->passes.sent);
            s->passes.sent = s->truly.sent = (vector){NULL, NULL, NULL};
        }
}

call *call_make(const point *p)
{
    call *c = calloc(1, sizeof *c);
    passed by[POINT_RANKS_MOST];
    void *results[POINT_RANKS_MOST];

    c->p = *p;
    c->c = (collective){(nbcoll_operation)p->v[OPERATION], point_ranks(p), point_root(p), p->v[TYPE], p->v[OP],
                        (point_flags(p) & NBCOLL_REPRODUCIBLE) != 0};
    point_print(p, c->text);
    for (int r = 0; r < c->c.ranks; r++) {
        pass(c, r);
        by[r] = c->of[r].truly;
        results[r] = c->of[r].recv.expected;
    }
    reference(&c->c, by, results);
    return c;
}

void call_free(call *c)
{
    for (int r = 0; r < c->c.ranks; r++) {
        vector_free(&c->of[r].passes.sent);
        vector_free(&c->of[r].passes.received);
        buffer_free(&c->of[r].send);
        buffer_free(&c->of[r].recv);
    }
    free(c);
}

/* ---- checking -------------------------------------------------------------------------------------------------- */

void call_restore(const call *c, int rank)
{
    buffer_restore(&c->of[rank].send);
    buffer_restore(&c->of[rank].recv);
}

static int check(const call *c, int rank, const char *name, const buffer *b, const char *expected, int is_combined)
{
    size_t size = element_size(c->c.type), i = 0;

    if (!b->mapped)
        return 0;
    if (!buffer_is_intact(b)) {
        fprintf(stderr, "%s: on rank %d, bytes before %s are written\n", c->text, rank, name);
        return 1;
    }
    if (!memcmp(b->at, expected, b->bytes))
        return 0;
    while (i < b->bytes / size &&
           (is_combined ? element_is_same(c->c.type, c->c.op, c->c.is_tree, b->at + i * size, expected + i * size)
                        : !memcmp(b->at + i * size, expected + i * size, size)))
        i++;
    if (i == b->bytes / size && b->bytes % size == 0)
        return 0;
    fprintf(stderr, "%s: on rank %d, %s[%zu] is wrong\n", c->text, rank, name, i);
    return 1;
}

int call_check(const call *c, int rank)
{
    const share *s = &c->of[rank];
    int is_combined = operation_reduces(c->c.what) && part_of(c, rank, RECV) != NOTHING;

    return check(c, rank, "send", &s->send, s->send.before, 0) |
           check(c, rank, "recv", &s->recv, s->recv.expected, is_combined);
}
