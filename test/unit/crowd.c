/* SPDX-License-Identifier: BSD-3-Clause
 * See crowd.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "crowd.h"

/* The elements of what goes between two ranks (alltoallv, alltoallw: as many both ways, as in place needs it), or of
 * the block of rank `to`. Some are none. */
static size_t length_of(nbcoll_operation operation, size_t n, int from, int to)
{
    size_t f = (size_t)from, t = (size_t)to;
    if (n && is_one_of(operation, known))
        return (n * (t + 2) + t) % (n + 3);
    if (n && is_one_of(operation, rows))
        return (n * (f + t + 1) + f * t) % (n + 3);
    return n;
}

void *filled(size_t n, size_t bytes, int byte)
{
    void *memory = malloc(n ? n * bytes : 1);
    assert_non_null(memory);
    memset(memory, byte, n * bytes);
    return memory;
}

const nbcoll_step_view *crowd_step(const crowd *all, uint32_t i)
{
    return nbcoll_schedule_step(all->schedule[all->rank[i]], i - all->base[all->rank[i]]);
}

int crowd_is_in_place(const crowd *all, int r)
{
    int can = !has_root(all->args.operation) || r == all->args.root;
    return can && all->args.operation != NBCOLL_OPERATION_BCAST && all->args.operation != NBCOLL_OPERATION_BARRIER &&
           (all->args.in_place == IN_PLACE || (all->args.in_place == ODD_IN_PLACE && r % 2));
}

int crowd_blocks(const crowd *all, int r, int is_recv)
{
    nbcoll_operation operation = all->args.operation;
    int is_root = r == all->args.root;
    if (operation == NBCOLL_OPERATION_BARRIER)
        return 0;
    if (operation == NBCOLL_OPERATION_BCAST)
        return is_recv;
    if (operation == NBCOLL_OPERATION_EXSCAN)
        return !is_recv || r > 0;
    if (is_one_of(operation, alltoalls) || is_one_of(operation, is_recv ? allgathers : reduce_scatters))
        return all->ranks;
    if (is_one_of(operation, is_recv ? gathers : scatters))
        return is_root ? all->ranks : 0;
    return !(is_recv && operation == NBCOLL_OPERATION_REDUCE) || is_root;
}

size_t crowd_length(const crowd *all, int r, int is_recv, int i)
{
    return length_of(all->args.operation, all->args.count, r, crowd_blocks(all, r, is_recv) > 1 ? i : r);
}

size_t crowd_before(const crowd *all, int r, int is_recv, int i)
{
    size_t sum = 0;
    while (i-- > 0)
        sum += crowd_length(all, r, is_recv, i);
    return sum;
}

size_t crowd_place(const crowd *all, int r, int is_recv, int i)
{
    int is_apart = is_one_of(all->args.operation, placed) && crowd_blocks(all, r, is_recv) > 1;
    return crowd_before(all, r, is_recv, i) + (is_apart ? (size_t)i + (size_t)(r % 2) : 0);
}

size_t crowd_end(const crowd *all, int r, int is_recv)
{
    int last = crowd_blocks(all, r, is_recv) - 1;
    return last < 0 ? 0 : crowd_place(all, r, is_recv, last) + crowd_length(all, r, is_recv, last);
}

nbcoll_region crowd_region(const crowd *all, int r, nbcoll_region region)
{
    int is_recv = region.at.buffer == NBCOLL_BUFFER_RECV_BLOCK, i = (int)region.at.offset;
    if (region.at.buffer < NBCOLL_BUFFER_SEND_BLOCK)
        return region;
    i = crowd_blocks(all, r, is_recv) > 1 ? i : 0;
    nbcoll_addr at = {is_recv ? NBCOLL_BUFFER_RECV : NBCOLL_BUFFER_SEND, 8 * crowd_place(all, r, is_recv, i)};
    return nbcoll_span(at, 8 * crowd_length(all, r, is_recv, i));
}

/* Each SEND has one RECV, each RECV one SEND, of the same length. RECVs are chained by the pair of ranks. */
static void crowd_match(crowd *all)
{
    uint32_t steps = all->base[all->ranks];
    uint32_t *first = filled((size_t)all->ranks * (size_t)all->ranks, sizeof *first, 0xff);
    uint32_t *next = filled(steps, sizeof *next, 0xff);
    for (uint32_t i = steps; i-- > 0;) {
        const nbcoll_step_view *v = crowd_step(all, i);
        if (v->kind != NBCOLL_RECV)
            continue;
        uint32_t *pair = &first[v->peer * all->ranks + all->rank[i]];
        next[i] = *pair;
        *pair = i;
    }
    for (uint32_t i = 0; i < steps; i++) {
        const nbcoll_step_view *v = crowd_step(all, i);
        if (v->kind != NBCOLL_SEND)
            continue;
        uint32_t k = first[all->rank[i] * all->ranks + v->peer];
        while (k != UINT32_MAX && crowd_step(all, k)->number != v->number)
            k = next[k];
        assert_int_not_equal(k, UINT32_MAX);
        assert_int_equal(crowd_region(all, all->rank[k], crowd_step(all, k)->write).bytes,
                         crowd_region(all, all->rank[i], v->read[0]).bytes);
        assert_int_equal(all->other[k], UINT32_MAX);
        all->other[i] = k;
        all->other[k] = i;
    }
    for (uint32_t i = 0; i < steps; i++)
        if (crowd_step(all, i)->kind == NBCOLL_RECV)
            assert_int_not_equal(all->other[i], UINT32_MAX);
    free(first);
    free(next);
}

/* Builds the schedule of a rank, which gets the arrays of its own. */
static nbcoll_schedule *build_rank(const crowd *all, int r)
{
    size_t counts[CROWD_MOST], displs[CROWD_MOST];
    nbcoll_type types[CROWD_MOST];
    nbcoll_builder_config config = {.size = sizeof config, .rank = r, .ranks = all->ranks};
    nbcoll_args args = all->args;
    nbcoll_schedule *s;
    int is_w = args.operation == NBCOLL_OPERATION_ALLTOALLW;
    int is_recv = !is_one_of(args.operation, scatters);
    for (int i = 0; i < all->ranks; i++) {
        counts[i] = length_of(args.operation, args.count, r, i);
        displs[i] = crowd_blocks(all, r, is_recv) > 1 ? crowd_place(all, r, is_recv, i) * (is_w ? 8 : 1) : 0;
        types[i] = i % 2 ? NBCOLL_INT64 : NBCOLL_UINT64;
    }
    args.in_place = crowd_is_in_place(all, r);
    args.counts = all->is_bound ? NULL : counts;
    if (is_one_of(args.operation, rows))
        args.counts = args.in_place ? counts : NULL;
    args.displs = is_one_of(args.operation, placed) ? displs : NULL;
    args.types = is_w ? types : NULL;
    assert_int_equal(nbcoll_build_schedule(all->algorithm, &args, &config, &s), NBCOLL_OK);
    return s;
}

crowd crowd_open(const nbcoll_algorithm *algorithm, nbcoll_args args, int ranks)
{
    crowd all = {.algorithm = algorithm, .args = args, .ranks = ranks};
    int has_counts = (algorithm->flags & NBCOLL_ALGORITHM_COUNTS) != 0;
    all.is_bound = !has_counts && is_one_of(args.operation, BIT(SCATTERV) | BIT(GATHERV));
    all.schedule = filled((size_t)ranks, sizeof *all.schedule, 0);
    all.base = filled((size_t)ranks + 1, sizeof *all.base, 0);
    for (int r = 0; r < ranks; r++) {
        nbcoll_schedule_info info = {.size = sizeof info};
        all.schedule[r] = build_rank(&all, r);
        assert_int_equal(nbcoll_schedule_query(all.schedule[r], &info), NBCOLL_OK);
        all.base[r + 1] = all.base[r] + info.steps;
    }
    all.rank = filled(all.base[ranks], sizeof *all.rank, 0);
    all.other = filled(all.base[ranks], sizeof *all.other, 0xff);
    for (int r = 0; r < ranks; r++)
        for (uint32_t i = all.base[r]; i < all.base[r + 1]; i++)
            all.rank[i] = r;
    crowd_match(&all);
    return all;
}

void crowd_close(crowd *all)
{
    for (int r = 0; r < all->ranks; r++)
        assert_int_equal(nbcoll_schedule_free(all->schedule[r]), NBCOLL_OK);
    free(all->schedule);
    free(all->base);
    free(all->rank);
    free(all->other);
}

int crowd_root(nbcoll_operation operation, int ranks, int i)
{
    const int some[] = {0, 1, ranks / 2, ranks - 1};
    if (!has_root(operation))
        return i ? -1 : 0;
    if (ranks <= 9)
        return i < ranks ? i : -1;
    return i < (int)LENGTH(some) ? some[i] : -1;
}

void crowd_for_each_root(const nbcoll_algorithm *algorithm, size_t count, int in_place, int ranks,
                         void (*body)(const crowd *all))
{
    for (int i = 0, root; (root = crowd_root(algorithm->operation, ranks, i)) >= 0; i++) {
        nbcoll_args args = args_of(algorithm, count, root);
        args.in_place = in_place;
        crowd all = crowd_open(algorithm, args, ranks);
        body(&all);
        crowd_close(&all);
    }
}
