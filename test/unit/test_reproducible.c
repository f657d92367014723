/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sums of floats that depend on the order of the operands, by each algorithm that says it is reproducible, over a
 * loopback that delivers in seeded orders: to the bit those of a plain recursive function, that of the tree over ranks
 * 0 .. n - 1 split at the largest power of two below n. Then the same by the calls, where the communicator asks for it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nbcoll/schedule.h"
#include "world.h"

enum { SEED = 20251, MOST_COUNT = 37, MOST_RANKS = 17 };

/* What rank r contributes as element i: of either sign, and of magnitudes that make sums round. */
static float input(int r, size_t i)
{
    uint64_t state = (uint64_t)r * 1000003 + i;
    float value = (float)(world_random(&state) % 1000003) * (world_random(&state) % 2 ? 1.0f : -1.0f);
    for (uint64_t k = world_random(&state) % 24; k > 0; k--)
        value *= 0.5f;
    return value;
}

static float tree(int first, int ranks, size_t i)
{
    int low = 1;
    if (ranks == 1)
        return input(first, i);
    while (2 * low < ranks)
        low *= 2;
    float left = tree(first, low, i), right = tree(first + low, ranks - low, i);
    return left + right;
}

/* A reduction as all ranks call it. Blocks of reduce_scatter are of count - 1, count, count + 1, ... by turns. */
typedef struct reduction {
    nbcoll_operation operation;
    int ranks, root, in_place;
    size_t count, counts[MOST_RANKS];
} reduction;

static int scatters(const reduction *d)
{
    return d->operation == NBCOLL_OPERATION_REDUCE_SCATTER || d->operation == NBCOLL_OPERATION_REDUCE_SCATTER_BLOCK;
}

/* The elements of the blocks below that of rank r. */
static size_t offset_of(const reduction *d, int r)
{
    size_t sum = 0;
    for (int k = 0; k < r; k++)
        sum += d->counts[k];
    return sum;
}

static size_t given(const reduction *d)
{
    return scatters(d) ? offset_of(d, d->ranks) : d->count;
}

static size_t gotten(const reduction *d, int r)
{
    if (d->operation == NBCOLL_OPERATION_REDUCE && r != d->root)
        return 0;
    if (d->operation == NBCOLL_OPERATION_EXSCAN && r == 0)
        return 0;
    return scatters(d) ? d->counts[r] : d->count;
}

static float wanted(const reduction *d, int r, size_t i)
{
    int is_scan = d->operation == NBCOLL_OPERATION_SCAN, is_exscan = d->operation == NBCOLL_OPERATION_EXSCAN;
    return tree(0, is_scan ? r + 1 : is_exscan ? r : d->ranks, scatters(d) ? offset_of(d, r) + i : i);
}

static reduction reduction_of(nbcoll_operation operation, int ranks, int root, size_t count, int in_place)
{
    reduction d = {.operation = operation, .ranks = ranks, .root = root, .in_place = in_place, .count = count};
    for (int r = 0; r < ranks; r++)
        d.counts[r] = operation == NBCOLL_OPERATION_REDUCE_SCATTER && count ? count - 1 + (size_t)r % 3 : count;
    return d;
}

typedef struct buffers {
    float *send, *recv;
} buffers;

/* In place, contributions stand in the receive buffer. */
static buffers buffers_make(const reduction *d, int r)
{
    buffers at = {calloc(given(d) + 1, sizeof(float)), calloc(given(d) + gotten(d, r) + 1, sizeof(float))};
    assert_true(at.send && at.recv);
    for (size_t i = 0; i < given(d); i++)
        (d->in_place ? at.recv : at.send)[i] = input(r, i);
    return at;
}

static void buffers_check(const reduction *d, int r, const buffers *at, const char *how)
{
    for (size_t i = 0; i < gotten(d, r); i++) {
        float want = wanted(d, r, i);
        if (memcmp(&want, &at->recv[i], sizeof want) != 0)
            fail_msg("%s/%s: %d ranks, root %d, count %zu, in place %d: element %zu of rank %d is %a, not %a",
                     nbcoll_operation_name(d->operation), how, d->ranks, d->root, d->count, d->in_place, i, r,
                     (double)at->recv[i], (double)want);
    }
}

/* ---- by algorithms --------------------------------------------------------------------------------------------- */

static nbcoll_schedule *build(const nbcoll_algorithm *algorithm, const reduction *d, int r)
{
    nbcoll_builder_config config = {.size = sizeof config, .rank = r, .ranks = d->ranks};
    nbcoll_args args = {.size = sizeof args,
                        .operation = d->operation,
                        .root = d->root,
                        .count = d->count,
                        .reduction = {NBCOLL_FLOAT, NBCOLL_SUM},
                        .in_place = d->in_place,
                        .counts = d->counts};
    nbcoll_schedule *s = NULL;
    assert_int_equal(nbcoll_build_schedule(algorithm, &args, &config, &s), NBCOLL_OK);
    return s;
}

static void run_algorithm(world *w, const nbcoll_algorithm *algorithm, const reduction *d)
{
    nbcoll_schedule *schedule[MOST_RANKS];
    nbcoll_request request[MOST_RANKS];
    buffers at[MOST_RANKS];

    for (int r = 0; r < d->ranks; r++) {
        reduction own = *d;
        own.in_place = d->in_place && (d->operation != NBCOLL_OPERATION_REDUCE || r == d->root);
        schedule[r] = build(algorithm, &own, r);
        at[r] = buffers_make(&own, r);
    }
    for (int r = 0; r < d->ranks; r++)
        EXPECT(OK, nbcoll_schedule_start(schedule[r], at[r].send, at[r].recv, w->comm[r], &request[r]));
    world_finish(w, (size_t)d->ranks, request);
    for (int r = 0; r < d->ranks; r++) {
        buffers_check(d, r, &at[r], algorithm->name);
        nbcoll_schedule_free(schedule[r]);
        free(at[r].send);
        free(at[r].recv);
    }
}

static void run_reductions(world *w, nbcoll_operation operation, unsigned i)
{
    static const size_t counts[] = {0, 1, MOST_COUNT};
    const nbcoll_algorithm *algorithm = nbcoll_algorithm_at(operation, i);
    int roots = operation == NBCOLL_OPERATION_REDUCE ? w->ranks : 1;

    for (int c = 0; c < 6; c++)
        for (int root = 0; root < roots; root++) {
            reduction d = reduction_of(operation, w->ranks, root, counts[c / 2], c % 2);
            run_algorithm(w, algorithm, &d);
        }
}

/* Each algorithm that says it is; in worlds of 1 .. 17 ranks, of other habits by turns. */
static void run_operation(nbcoll_operation operation)
{
    const nbcoll_algorithm *algorithm;
    for (int ranks = 1; ranks <= MOST_RANKS; ranks++) {
        nbcoll_loopback_config loopback = world_variant(ranks % WORLD_VARIANTS, SEED + (uint64_t)ranks);
        world w;
        world_open(&w, ranks, &loopback, NULL, NULL);
        for (unsigned i = 0; (algorithm = nbcoll_algorithm_at(operation, i)); i++)
            if (algorithm->flags & NBCOLL_ALGORITHM_REPRODUCIBLE)
                run_reductions(&w, operation, i);
        world_close(&w);
    }
}

static void reduce_sums_along_the_tree(void **state)
{
    (void)state;
    run_operation(NBCOLL_OPERATION_REDUCE);
}

static void allreduce_sums_along_the_tree(void **state)
{
    (void)state;
    run_operation(NBCOLL_OPERATION_ALLREDUCE);
}

static void reduce_scatter_sums_along_the_tree(void **state)
{
    (void)state;
    run_operation(NBCOLL_OPERATION_REDUCE_SCATTER);
}

static void reduce_scatter_block_sums_along_the_tree(void **state)
{
    (void)state;
    run_operation(NBCOLL_OPERATION_REDUCE_SCATTER_BLOCK);
}

static void scan_sums_along_the_tree_of_the_ranks_up_to_its_own(void **state)
{
    (void)state;
    run_operation(NBCOLL_OPERATION_SCAN);
}

static void exscan_sums_along_the_tree_of_the_ranks_below_its_own(void **state)
{
    (void)state;
    run_operation(NBCOLL_OPERATION_EXSCAN);
}

/* ---- by calls -------------------------------------------------------------------------------------------------- */

static nbcoll_status start(const reduction *d, const buffers *at, nbcoll_comm *comm, nbcoll_request *request)
{
    const void *send = d->in_place ? NBCOLL_IN_PLACE : at->send;
    switch (d->operation) {
    case NBCOLL_OPERATION_REDUCE:
        return nbcoll_ireduce(send, at->recv, d->count, NBCOLL_FLOAT, NBCOLL_SUM, d->root, comm, request);
    case NBCOLL_OPERATION_ALLREDUCE:
        return nbcoll_iallreduce(send, at->recv, d->count, NBCOLL_FLOAT, NBCOLL_SUM, comm, request);
    case NBCOLL_OPERATION_REDUCE_SCATTER:
        return nbcoll_ireduce_scatter(send, at->recv, d->counts, NBCOLL_FLOAT, NBCOLL_SUM, comm, request);
    case NBCOLL_OPERATION_REDUCE_SCATTER_BLOCK:
        return nbcoll_ireduce_scatter_block(send, at->recv, d->count, NBCOLL_FLOAT, NBCOLL_SUM, comm, request);
    case NBCOLL_OPERATION_SCAN:
        return nbcoll_iscan(send, at->recv, d->count, NBCOLL_FLOAT, NBCOLL_SUM, comm, request);
    default:
        return nbcoll_iexscan(send, at->recv, d->count, NBCOLL_FLOAT, NBCOLL_SUM, comm, request);
    }
}

static void run_call(world *w, const reduction *d)
{
    nbcoll_request request[MOST_RANKS];
    buffers at[MOST_RANKS];

    for (int r = 0; r < d->ranks; r++) {
        reduction own = *d;
        own.in_place = d->in_place && (d->operation != NBCOLL_OPERATION_REDUCE || r == d->root);
        at[r] = buffers_make(&own, r);
        EXPECT(OK, start(&own, &at[r], w->comm[r], &request[r]));
    }
    world_finish(w, (size_t)d->ranks, request);
    for (int r = 0; r < d->ranks; r++) {
        buffers_check(d, r, &at[r], "a call");
        free(at[r].send);
        free(at[r].recv);
    }
}

/* `large` is the least number of bytes that the communicator takes for large: small data and large give the same. */
static void calls_sum_along_the_tree_at_any_size_when_asked(void **state)
{
    static const nbcoll_operation operations[] = {
        NBCOLL_OPERATION_REDUCE,         NBCOLL_OPERATION_ALLREDUCE,
        NBCOLL_OPERATION_REDUCE_SCATTER, NBCOLL_OPERATION_REDUCE_SCATTER_BLOCK,
        NBCOLL_OPERATION_SCAN,           NBCOLL_OPERATION_EXSCAN};
    (void)state;
    for (int ranks = 1; ranks <= MOST_RANKS; ranks += ranks < 7 ? 1 : 5) {
        nbcoll_loopback_config loopback = world_variant(ranks % WORLD_VARIANTS, SEED);
        nbcoll_comm_config comm = NBCOLL_COMM_DEFAULTS;
        world w;
        comm.flags = NBCOLL_REPRODUCIBLE;
        comm.large = 64;
        world_open(&w, ranks, &loopback, NULL, &comm);
        for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
            for (size_t count = 1; count <= MOST_COUNT; count += MOST_COUNT - 1)
                for (int in_place = 0; in_place < 2; in_place++) {
                    int root = operations[i] == NBCOLL_OPERATION_REDUCE ? ranks / 2 : 0;
                    reduction d = reduction_of(operations[i], ranks, root, count, in_place);
                    run_call(&w, &d);
                }
        world_close(&w);
    }
}

/* Otherwise the tests above say nothing. */
static void these_sums_depend_on_the_order(void **state)
{
    size_t differ = 0;
    (void)state;
    for (size_t i = 0; i < MOST_COUNT; i++) {
        volatile float sum = input(0, i);
        for (int r = 1; r < MOST_RANKS; r++)
            sum += input(r, i);
        differ += sum < tree(0, MOST_RANKS, i) || sum > tree(0, MOST_RANKS, i);
    }
    assert_true(differ > MOST_COUNT / 4);
}

static int print_seed(void **state)
{
    (void)state;
    print_message("seed %d\n", SEED);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(these_sums_depend_on_the_order),
        cmocka_unit_test(reduce_sums_along_the_tree),
        cmocka_unit_test(allreduce_sums_along_the_tree),
        cmocka_unit_test(reduce_scatter_sums_along_the_tree),
        cmocka_unit_test(reduce_scatter_block_sums_along_the_tree),
        cmocka_unit_test(scan_sums_along_the_tree_of_the_ranks_up_to_its_own),
        cmocka_unit_test(exscan_sums_along_the_tree_of_the_ranks_below_its_own),
        cmocka_unit_test(calls_sum_along_the_tree_at_any_size_when_asked),
    };
    return cmocka_run_group_tests(tests, print_seed, NULL);
}
