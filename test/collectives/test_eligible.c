/* SPDX-License-Identifier: BSD-3-Clause
 * Which algorithms may serve a call: with NBCOLL_REPRODUCIBLE every result has the bits of the tree over the ranks that
 * splits n of them behind the largest power of two below n, for few and many bytes, whatever the order of delivery;
 * without an algorithm that keeps it a call is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "world.h"

enum { MOST = 9, COUNT = 300 };

static float send[MOST][MOST * COUNT], recv[MOST][MOST * COUNT];

/* Values of all magnitudes, so that each order of evaluation rounds differently. */
static void fill(void)
{
    uint64_t random = 7;
    for (int r = 0; r < MOST; r++)
        for (size_t i = 0; i < MOST * COUNT; i++) {
            uint64_t n = world_random(&random);
            send[r][i] = (float)(int64_t)n / (float)(UINT64_C(1) << n % 60);
        }
}

static float tree(int first, int ranks, size_t i)
{
    int low = 1;
    if (ranks == 1)
        return send[first][i];
    while (2 * low < ranks)
        low *= 2;
    volatile float left = tree(first, low, i), right = tree(first + low, ranks - low, i);
    return left + right;
}

static nbcoll_status start(nbcoll_operation what, size_t n, int r, nbcoll_comm *comm, nbcoll_request *request)
{
    static size_t counts[MOST];
    for (int i = 0; i < MOST; i++)
        counts[i] = n;
    switch (what) {
    case NBCOLL_OPERATION_REDUCE:
        return nbcoll_ireduce(send[r], recv[r], n, NBCOLL_FLOAT, NBCOLL_SUM, 1, comm, request);
    case NBCOLL_OPERATION_ALLREDUCE:
        return nbcoll_iallreduce(send[r], recv[r], n, NBCOLL_FLOAT, NBCOLL_SUM, comm, request);
    case NBCOLL_OPERATION_REDUCE_SCATTER:
        return nbcoll_ireduce_scatter(send[r], recv[r], counts, NBCOLL_FLOAT, NBCOLL_SUM, comm, request);
    case NBCOLL_OPERATION_REDUCE_SCATTER_BLOCK:
        return nbcoll_ireduce_scatter_block(send[r], recv[r], n, NBCOLL_FLOAT, NBCOLL_SUM, comm, request);
    case NBCOLL_OPERATION_SCAN:
        return nbcoll_iscan(send[r], recv[r], n, NBCOLL_FLOAT, NBCOLL_SUM, comm, request);
    default:
        return nbcoll_iexscan(send[r], recv[r], n, NBCOLL_FLOAT, NBCOLL_SUM, comm, request);
    }
}

/* Element i of rank r's result, or nothing. */
static int expected(nbcoll_operation what, size_t n, int r, int ranks, size_t i, float *value)
{
    int is_scatter = what == NBCOLL_OPERATION_REDUCE_SCATTER || what == NBCOLL_OPERATION_REDUCE_SCATTER_BLOCK;
    int many = what == NBCOLL_OPERATION_SCAN ? r + 1 : what == NBCOLL_OPERATION_EXSCAN ? r : ranks;
    if (!many || (what == NBCOLL_OPERATION_REDUCE && r != 1))
        return 0;
    *value = tree(0, many, i + (is_scatter ? (size_t)r * n : 0));
    return 1;
}

static void run(world *w, nbcoll_operation what, size_t n)
{
    nbcoll_request request[MOST];
    float value;

    for (int r = 0; r < w->ranks; r++) {
        nbcoll_status s = start(what, n, r, w->comm[r], &request[r]);
        if (s == NBCOLL_ERR_UNSUPPORTED && nbcoll_algorithm_at(what, 0)) {
            assert_int_equal(r, 0); /* all ranks decide alike */
            for (int other = 1; other < w->ranks; other++)
                EXPECT(ERR_UNSUPPORTED, start(what, n, other, w->comm[other], &request[other]));
            for (unsigned i = 0; nbcoll_algorithm_at(what, i); i++)
                assert_false(nbcoll_algorithm_at(what, i)->flags & NBCOLL_ALGORITHM_REPRODUCIBLE);
            for (int each = 0; each < w->ranks; each++) /* and nobody has taken a tag */
                EXPECT(OK, nbcoll_ibarrier(w->comm[each], &request[each]));
            world_finish(w, (size_t)w->ranks, request);
            return;
        }
        assert_int_equal(s, NBCOLL_OK);
    }
    world_finish(w, (size_t)w->ranks, request);
    for (int r = 0; r < w->ranks; r++)
        for (size_t i = 0; i < n; i++)
            if (expected(what, n, r, w->ranks, i, &value))
                assert_memory_equal(&recv[r][i], &value, sizeof value);
}

static void reproducible_results_have_the_bits_of_the_tree(void **state)
{
    static const nbcoll_operation operations[] = {
        NBCOLL_OPERATION_REDUCE, NBCOLL_OPERATION_ALLREDUCE, NBCOLL_OPERATION_REDUCE_SCATTER,
        NBCOLL_OPERATION_REDUCE_SCATTER_BLOCK, NBCOLL_OPERATION_SCAN, NBCOLL_OPERATION_EXSCAN};
    nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;

    (void)state;
    config.large = 512;
    config.flags = NBCOLL_REPRODUCIBLE;
    fill();
    for (int ranks = 2; ranks <= MOST; ranks++)
        for (int variant = 0; variant < WORLD_VARIANTS; variant++) {
            nbcoll_loopback_config loopback = world_variant(variant, (uint64_t)ranks);
            world w;
            world_open(&w, ranks, &loopback, NULL, &config);
            for (size_t k = 0; k < sizeof operations / sizeof *operations; k++) {
                run(&w, operations[k], COUNT);
                run(&w, operations[k], 3);
            }
            world_close(&w);
        }
}

/* The bits say something: without the flag some of them differ. */
static void other_algorithms_round_differently(void **state)
{
    nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
    nbcoll_request request[MOST];
    size_t others = 0;
    world w;

    (void)state;
    config.large = 512;
    fill();
    world_open(&w, MOST, NULL, NULL, &config);
    for (int r = 0; r < MOST; r++)
        assert_int_equal(start(NBCOLL_OPERATION_REDUCE, COUNT, r, w.comm[r], &request[r]), NBCOLL_OK);
    world_finish(&w, MOST, request);
    for (size_t i = 0; i < COUNT; i++) {
        float value = tree(0, MOST, i);
        others += memcmp(&recv[1][i], &value, sizeof value) != 0;
    }
    assert_true(others > 0);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reproducible_results_have_the_bits_of_the_tree),
        cmocka_unit_test(other_algorithms_round_differently),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
