/* SPDX-License-Identifier: BSD-3-Clause
 * See layout.h. */
#include "layout.h"
#include "world.h"

int has_root(nbcoll_operation what)
{
    switch (what) {
    case NBCOLL_OPERATION_BCAST:
    case NBCOLL_OPERATION_SCATTER:
    case NBCOLL_OPERATION_SCATTERV:
    case NBCOLL_OPERATION_GATHER:
    case NBCOLL_OPERATION_GATHERV:
    case NBCOLL_OPERATION_REDUCE: return 1;
    default: return 0;
    }
}

int combines(nbcoll_operation what)
{
    switch (what) {
    case NBCOLL_OPERATION_REDUCE:
    case NBCOLL_OPERATION_ALLREDUCE:
    case NBCOLL_OPERATION_REDUCE_SCATTER:
    case NBCOLL_OPERATION_REDUCE_SCATTER_BLOCK:
    case NBCOLL_OPERATION_SCAN:
    case NBCOLL_OPERATION_EXSCAN: return 1;
    default: return 0;
    }
}

int is_v(nbcoll_operation what)
{
    switch (what) {
    case NBCOLL_OPERATION_SCATTERV:
    case NBCOLL_OPERATION_GATHERV:
    case NBCOLL_OPERATION_ALLGATHERV:
    case NBCOLL_OPERATION_ALLTOALLV:
    case NBCOLL_OPERATION_ALLTOALLW:
    case NBCOLL_OPERATION_REDUCE_SCATTER: return 1;
    default: return 0;
    }
}

int is_in_place(const operation *o, int rank)
{
    if (!o->in_place || o->what == NBCOLL_OPERATION_BARRIER || o->what == NBCOLL_OPERATION_BCAST)
        return 0;
    return !has_root(o->what) || rank == o->root;
}

side in_place_side(nbcoll_operation what)
{
    return what == NBCOLL_OPERATION_SCATTER || what == NBCOLL_OPERATION_SCATTERV ? RECV : SEND;
}

part part_of(const operation *o, int rank, side which)
{
    int is_root = rank == o->root;

    switch (o->what) {
    case NBCOLL_OPERATION_BARRIER: return NOTHING;
    case NBCOLL_OPERATION_BCAST: return which == SEND ? NOTHING : ONE_BLOCK;
    case NBCOLL_OPERATION_SCATTER:
    case NBCOLL_OPERATION_SCATTERV: return which == RECV ? ONE_BLOCK : is_root ? A_BLOCK_EACH : NOTHING;
    case NBCOLL_OPERATION_GATHER:
    case NBCOLL_OPERATION_GATHERV: return which == SEND ? ONE_BLOCK : is_root ? A_BLOCK_EACH : NOTHING;
    case NBCOLL_OPERATION_ALLGATHER:
    case NBCOLL_OPERATION_ALLGATHERV: return which == SEND ? ONE_BLOCK : A_BLOCK_EACH;
    case NBCOLL_OPERATION_ALLTOALL:
    case NBCOLL_OPERATION_ALLTOALLV:
    case NBCOLL_OPERATION_ALLTOALLW: return A_BLOCK_EACH;
    case NBCOLL_OPERATION_REDUCE: return which == SEND || is_root ? ONE_BLOCK : NOTHING;
    case NBCOLL_OPERATION_REDUCE_SCATTER:
    case NBCOLL_OPERATION_REDUCE_SCATTER_BLOCK: return which == SEND ? A_BLOCK_EACH : ONE_BLOCK;
    case NBCOLL_OPERATION_EXSCAN: return which == SEND || rank ? ONE_BLOCK : NOTHING;
    default: return ONE_BLOCK;
    }
}

/* A length of its own for each pair; every fourth or so is zero. */
static size_t irregular(const operation *o, int x, int y)
{
    uint64_t state = o->seed ^ ((uint64_t)x << 40 | (uint64_t)y << 20), n = world_random(&state);
    return n % 4 ? (size_t)(n / 4 % (o->count + 1)) : 0;
}

size_t length(const operation *o, int from, int to)
{
    switch (o->what) {
    case NBCOLL_OPERATION_SCATTERV:
    case NBCOLL_OPERATION_REDUCE_SCATTER: return irregular(o, to, 0);
    case NBCOLL_OPERATION_GATHERV:
    case NBCOLL_OPERATION_ALLGATHERV: return irregular(o, from, 0);
    case NBCOLL_OPERATION_ALLTOALLV:
    case NBCOLL_OPERATION_ALLTOALLW:
        return o->in_place && from > to ? irregular(o, to, from) : irregular(o, from, to);
    default: return o->count;
    }
}

static size_t gap(const operation *o, int rank, int peer)
{
    int has_gaps = is_v(o->what) && o->what != NBCOLL_OPERATION_REDUCE_SCATTER;
    return has_gaps ? (o->seed + (uint64_t)rank + (uint64_t)peer) % 3 : 0;
}

static size_t block(const operation *o, int rank, side which, int peer)
{
    return which == SEND ? length(o, rank, peer) : length(o, peer, rank);
}

size_t place(const operation *o, int rank, side which, int peer, int ranks)
{
    int turn = is_v(o->what) && o->what != NBCOLL_OPERATION_REDUCE_SCATTER ? rank + 1 : 0;
    size_t before = 0;

    for (int k = 0; k < ranks; k++) {
        int other = (turn + k) % ranks;
        before += gap(o, rank, other);
        if (other == peer)
            break;
        before += block(o, rank, which, other);
    }
    return before;
}

size_t extent(const operation *o, int rank, side which, int ranks)
{
    size_t end = 0;

    switch (part_of(o, rank, which)) {
    case NOTHING: return 0;
    case ONE_BLOCK:
        if (o->what == NBCOLL_OPERATION_REDUCE_SCATTER || o->what == NBCOLL_OPERATION_SCATTERV)
            return length(o, o->root, rank);
        return length(o, rank, o->root);
    default:
        for (int peer = 0; peer < ranks; peer++) {
            size_t begin = place(o, rank, which, peer, ranks), n = block(o, rank, which, peer);
            end = begin + n > end ? begin + n : end;
        }
        return end;
    }
}
