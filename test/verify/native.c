/* SPDX-License-Identifier: BSD-3-Clause
 * A few collectives over shared memory, as simple as they can be. */
#include "native.h"

/* In round 1, 2, 4, ... each tells the rank so far ahead of all that it has heard of. */
static void barrier_native(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcoll_step heard[32];
    (void)a;
    for (int round = 0, distance = 1; distance < b->ranks; round++, distance *= 2) {
        nbcoll_part part = {(b->rank + distance) % b->ranks, 0, {{NBCOLL_BUFFER_SEND, 0}, 0}};
        nbcoll_step told = nbcoll_add_expose(b, 1, &part);
        for (int i = 0; i < round; i++)
            nbcoll_after(b, told, heard[i]);
        heard[round] = nbcoll_add_fetch(b, (b->rank - distance + b->ranks) % b->ranks, part.region.at, 0);
    }
}

/* Each reads the buffer of the one before, while the next may already read its own. */
static void bcast_chain(nbcoll_builder *b, const nbcoll_args *a)
{
    int me = (b->rank - a->root + b->ranks) % b->ranks;
    nbcoll_part part = {(b->rank + 1) % b->ranks, 0, nbcoll_span(a->recv, a->bytes)};
    nbcoll_step data = NBCOLL_START;
    if (me > 0)
        data = nbcoll_add_fetch(b, (b->rank + b->ranks - 1) % b->ranks, a->recv, a->bytes);
    if (me + 1 < b->ranks)
        nbcoll_after(b, nbcoll_add_expose(b, 1, &part), data);
}

/* One exposure with a part for each. */
static void scatter_native(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcoll_part parts[1024];
    size_t n = 0;
    if (b->rank != a->root) {
        nbcoll_add_fetch(b, a->root, a->recv, a->bytes);
        return;
    }
    for (int peer = 0; peer < b->ranks && n < 1024; peer++)
        if (peer != b->rank)
            parts[n++] = (nbcoll_part){peer, 0, nbcoll_span(nbcoll_at(a->send, (size_t)peer * a->bytes), a->bytes)};
    nbcoll_add_expose(b, n, parts);
    if (!a->in_place)
        nbcoll_add_copy(b, a->recv, nbcoll_at(a->send, (size_t)b->rank * a->bytes), a->bytes);
}

/* Each exposes its block and reads all others. */
static void allgather_native(nbcoll_builder *b, const nbcoll_args *a)
{
    for (int peer = 0; peer < b->ranks; peer++) {
        nbcoll_addr place = nbcoll_at(a->recv, (size_t)peer * a->bytes);
        nbcoll_part part = {peer, 0, nbcoll_span(a->send, a->bytes)};
        if (peer != b->rank) {
            nbcoll_add_expose(b, 1, &part);
            nbcoll_add_fetch(b, peer, place, a->bytes);
        } else if (!a->in_place)
            nbcoll_add_copy(b, place, a->send, a->bytes);
    }
}

/* Along the ranks: left operand the sum so far, read where the one before has it. The root fetches from the last. */
static void reduce_chain(nbcoll_builder *b, const nbcoll_args *a)
{
    int last = b->ranks - 1, is_last = b->rank == last;
    nbcoll_addr sum = is_last && a->root == last ? a->recv : nbcoll_add_scratch(b, a->bytes);
    nbcoll_step done = NBCOLL_START;
    if (sum.buffer != a->send.buffer)
        done = nbcoll_add_copy(b, sum, a->send, a->bytes);
    nbcoll_step used = a->in_place ? done : NBCOLL_START; /* the root's receive buffer, if that was its input */
    if (b->rank > 0) {
        nbcoll_step step = nbcoll_add_fetch_reduce(b, b->rank - 1, sum, NBCOLL_LEFT, a->count, a->reduction);
        nbcoll_after(b, step, done);
        done = step;
    }
    nbcoll_part part = {is_last ? a->root : b->rank + 1, 0, nbcoll_span(sum, a->bytes)};
    if (part.peer != b->rank)
        nbcoll_after(b, nbcoll_add_expose(b, 1, &part), done);
    if (b->rank == a->root && !is_last)
        nbcoll_after(b, nbcoll_add_fetch(b, last, a->recv, a->bytes), used);
}

static const nbcoll_algorithm algorithms[] = {
    {sizeof *algorithms, "native", NBCOLL_OPERATION_BARRIER, barrier_native, 0, NULL},
    {sizeof *algorithms, "native_chain", NBCOLL_OPERATION_BCAST, bcast_chain, 0, NULL},
    {sizeof *algorithms, "native", NBCOLL_OPERATION_SCATTER, scatter_native, 0, NULL},
    {sizeof *algorithms, "native", NBCOLL_OPERATION_ALLGATHER, allgather_native, 0, NULL},
    {sizeof *algorithms, "native_chain", NBCOLL_OPERATION_REDUCE, reduce_chain, 0, NULL},
};

const nbcoll_algorithm *native_algorithm(unsigned i)
{
    return i < sizeof algorithms / sizeof *algorithms ? &algorithms[i] : NULL;
}

const nbcoll_algorithm *any_algorithm(unsigned i)
{
    for (int operation = 0; operation < NBCOLL_OPERATION_COUNT; operation++)
        for (unsigned k = 0; nbcoll_algorithm_at((nbcoll_operation)operation, k); k++)
            if (!i--)
                return nbcoll_algorithm_at((nbcoll_operation)operation, k);
    return native_algorithm(i);
}
