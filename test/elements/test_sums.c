/* SPDX-License-Identifier: BSD-3-Clause
 * Averages, sums with factors, wide and reproducible sums: every reducing collective, every algorithm, every type that
 * they have, 1 to 9 ranks, in place or not, against sums in integers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "crew.h"
#include "nbcoll/select.h"
#include "nbcoll/sums.h"
#include "numbers.h"
#include "world.h"

enum { RANKS = 9, MOST = 40 };

/* Which operation: its name here. */
typedef enum sum { AVERAGE, SCALED, WIDE, REPRODUCIBLE, SUMS } sum;

static const double factors[RANKS] = {0.5, 2, 1, 4, 0.25, 1, 8, 0.125, 2};

typedef struct call {
    sum sum;
    nbcoll_type type;
    nbcoll_operation what;
    size_t count; /* of a block, where there are blocks */
    int in_place;
} call;

static int is_scatter(nbcoll_operation what)
{
    return what == NBCOLL_OPERATION_REDUCE_SCATTER || what == NBCOLL_OPERATION_REDUCE_SCATTER_BLOCK;
}

/* The inputs are multiples of 1/16 whose sums, and sums of products, are exact in every state, but not in the types of
 * wide sums. */
static int64_t sixteenths(const call *c, int rank, size_t i)
{
    int64_t most = c->sum == WIDE || c->sum == REPRODUCIBLE ? number_most(c->type) : 100;
    return ((int64_t)((uint64_t)(rank + 3) * 2654435761u * (i + 5) % (uint64_t)(2 * most)) - most);
}

/* Of real i of the whole result of the ranks first..last. */
static double expected(const call *c, int first, int last, size_t i)
{
    int64_t all = 0;
    for (int r = first; r <= last; r++)
        all += sixteenths(c, r, i) * (c->sum == SCALED ? (int64_t)(factors[r] * 8) : 8);
    double exact = (double)all / 128; /* exact */
    int ranks = last - first + 1;
    if (c->sum == AVERAGE && number_state(c->type) == NBCOLL_FLOAT)
        exact = (double)((float)exact / (float)ranks);
    else if (c->sum == AVERAGE && number_state(c->type) == NBCOLL_LONG_DOUBLE)
        exact = (double)((long double)exact / ranks);
    else if (c->sum == AVERAGE)
        exact = exact / ranks;
    return number_rounded(c->type, exact);
}

static nbcoll_status start(const call *c, nbcoll_op op, const void *send, void *recv, const size_t counts[],
                           nbcoll_comm *comm, nbcoll_request *request)
{
    int root = nbcoll_comm_size(comm) - 1;
    if (c->in_place && (c->what != NBCOLL_OPERATION_REDUCE || nbcoll_comm_rank(comm) == root))
        send = NBCOLL_IN_PLACE;
    switch (c->what) {
    case NBCOLL_OPERATION_REDUCE: return nbcoll_ireduce(send, recv, c->count, c->type, op, root, comm, request);
    case NBCOLL_OPERATION_ALLREDUCE: return nbcoll_iallreduce(send, recv, c->count, c->type, op, comm, request);
    case NBCOLL_OPERATION_REDUCE_SCATTER: return nbcoll_ireduce_scatter(send, recv, counts, c->type, op, comm, request);
    case NBCOLL_OPERATION_REDUCE_SCATTER_BLOCK:
        return nbcoll_ireduce_scatter_block(send, recv, c->count, c->type, op, comm, request);
    case NBCOLL_OPERATION_SCAN: return nbcoll_iscan(send, recv, c->count, c->type, op, comm, request);
    default: return nbcoll_iexscan(send, recv, c->count, c->type, op, comm, request);
    }
}

/* Has this rank what it should have? */
static void check(const call *c, const void *recv, const void *before, size_t size, int rank, int ranks)
{
    int root = ranks - 1, scans = c->what == NBCOLL_OPERATION_SCAN, exscans = c->what == NBCOLL_OPERATION_EXSCAN;
    int has_result = !(c->what == NBCOLL_OPERATION_REDUCE && rank != root) && !(exscans && rank == 0);
    size_t reals = number_reals(c->type), first = is_scatter(c->what) ? (size_t)rank * c->count * reals : 0;

    for (size_t i = 0; has_result && i < c->count * reals; i++) {
        double want = expected(c, 0, scans ? rank : exscans ? rank - 1 : ranks - 1, first + i);
        double is = number_get(c->type, recv, i);
        if (memcmp(&is, &want, sizeof is) && !(is == 0 && want == 0)) {
            printf("sum %d, %s, operation %s, %zu elements, rank %d of %d, in place %d: [%zu] is %.20g, not %.20g\n",
                   (int)c->sum, nbcoll_type_name(c->type), nbcoll_operation_name(c->what), c->count, rank, ranks,
                   c->in_place, i, is, want);
            fail();
        }
    }
    size_t kept = has_result ? c->count * reals : 0; /* behind the result nothing is written */
    assert_memory_equal((const char *)recv + kept * size, (const char *)before + kept * size,
                        (RANKS * MOST * 2 - kept) * size);
}

static void run(world *w, const call *c)
{
    static double send[RANKS][RANKS * MOST * 4], recv[RANKS][RANKS * MOST * 4], before[RANKS][RANKS * MOST * 4];
    nbcoll_request request[RANKS];
    nbcoll_host_op scaled[RANKS];
    size_t counts[RANKS], reals = number_reals(c->type), size = nbcoll_type_size(c->type) / reals;
    size_t all = c->count * reals * (is_scatter(c->what) ? (size_t)w->ranks : 1);

    for (int r = 0; r < w->ranks; r++)
        counts[r] = c->count;
    memset(recv, 0x5a, sizeof recv);
    for (int r = 0; r < w->ranks; r++) {
        for (size_t i = 0; i < all; i++) {
            number_set(c->type, send[r], i, (double)sixteenths(c, r, i) / 16);
            if (c->in_place)
                number_set(c->type, recv[r], i, (double)sixteenths(c, r, i) / 16);
        }
        if (c->in_place && c->what == NBCOLL_OPERATION_REDUCE && r != w->ranks - 1)
            memset(recv[r], 0x5a, sizeof recv[r]);
        memcpy(before[r], recv[r], sizeof recv[r]);
        scaled[r] = nbcoll_sum_scaled(&factors[r]);
        nbcoll_op op = c->sum == AVERAGE  ? nbcoll_average()
                       : c->sum == SCALED ? nbcoll_op_of(&scaled[r])
                       : c->sum == WIDE   ? nbcoll_sum_wide()
                                          : nbcoll_sum_reproducible();
        EXPECT(OK, start(c, op, send[r], recv[r], counts, w->comm[r], &request[r]));
    }
    world_finish(w, (size_t)w->ranks, request);
    for (int r = 0; r < w->ranks; r++)
        check(c, recv[r], before[r], size, r, w->ranks);
}

static int has(sum s, nbcoll_type type)
{
    const double factor = 1;
    const nbcoll_host_op scaled = nbcoll_sum_scaled(&factor);
    nbcoll_op op[] = {nbcoll_average(), nbcoll_op_of(&scaled), nbcoll_sum_wide(), nbcoll_sum_reproducible()};
    return nbcoll_op_applies(op[s], type);
}

/* Every sum of every type that has it, over this communicator. */
static void run_all(world *w, nbcoll_operation what, uint64_t *random)
{
    static const size_t counts[] = {0, 1, 2, 7, MOST};
    for (int s = 0; s < SUMS; s++)
        for (nbcoll_type type = 0; type < NBCOLL_TYPE_COUNT; type++) {
            if (!has((sum)s, type))
                continue;
            call c = {(sum)s, type, what, counts[world_random(random) % 5], (int)(world_random(random) % 2)};
            run(w, &c);
        }
}

static void every_collective_and_algorithm_sums_so(void **state)
{
    uint64_t random = seed_of_test();

    (void)state;
    for (int what = 0; what < NBCOLL_OPERATION_COUNT; what++) {
        const nbcoll_algorithm *algorithm;
        if (what != NBCOLL_OPERATION_REDUCE && what != NBCOLL_OPERATION_ALLREDUCE && what != NBCOLL_OPERATION_SCAN &&
            what != NBCOLL_OPERATION_EXSCAN && !is_scatter((nbcoll_operation)what))
            continue;
        for (unsigned i = 0; (algorithm = nbcoll_algorithm_at((nbcoll_operation)what, i)); i++)
            for (int ranks = 1 + (int)(i % (unsigned)sampled(3)); ranks <= RANKS; ranks += sampled(3)) {
                nbcoll_loopback_config loopback = world_variant((int)(world_random(&random) % WORLD_VARIANTS), random);
                nbcoll_comm_config config = NBCOLL_COMM_DEFAULTS;
                nbcoll_rule rule = {.algorithm = algorithm};
                world w;
                config.rules = &rule;
                config.rule_count = 1;
                config.eager = 64;
                world_open(&w, ranks, &loopback, NULL, &config);
                w.random = world_random(&random);
                run_all(&w, (nbcoll_operation)what, &random);
                world_close(&w);
            }
    }
}

/* ---- calls        ------------------------------------------------------------------------------------------------ */

static void types_are_refused_by_the_call(void **state)
{
    static const char *const have[SUMS] = {
        "FLOAT DOUBLE LONG_DOUBLE HALF BFLOAT16 FLOAT_COMPLEX DOUBLE_COMPLEX LONG_DOUBLE_COMPLEX ",
        "FLOAT DOUBLE LONG_DOUBLE HALF BFLOAT16 FLOAT_COMPLEX DOUBLE_COMPLEX LONG_DOUBLE_COMPLEX ",
        "FLOAT HALF BFLOAT16 FLOAT_COMPLEX ",
        "FLOAT DOUBLE HALF BFLOAT16 FLOAT_COMPLEX DOUBLE_COMPLEX ",
    };
    nbcoll_request request;
    int64_t buffer[2] = {1, 2};
    world w;

    (void)state;
    world_open(&w, 2, NULL, NULL, NULL);
    for (int s = 0; s < SUMS; s++) {
        char all[200] = "";
        for (nbcoll_type type = 0; type <= NBCOLL_TYPE_COUNT; type++)
            if (has((sum)s, type))
                strcat(strcat(all, nbcoll_type_name(type)), " ");
        assert_string_equal(all, have[s]);
    }
    EXPECT(ERR_OP, nbcoll_iallreduce(&buffer[0], &buffer[1], 1, NBCOLL_INT64, nbcoll_average(), w.comm[0], &request));
    EXPECT(ERR_OP, nbcoll_iscan(&buffer[0], &buffer[1], 1, NBCOLL_DOUBLE, nbcoll_sum_wide(), w.comm[0], &request));
    EXPECT(ERR_TYPE, nbcoll_iallreduce(&buffer[0], &buffer[1], 1, NBCOLL_TYPE_COUNT, nbcoll_average(), w.comm[0],
                                       &request));
    assert_string_equal(nbcoll_op_name(nbcoll_average()), "HOST");
    world_close(&w);
}

static void a_missing_factor_is_named_by_the_call(void **state)
{
    const nbcoll_host_op op = nbcoll_sum_scaled(NULL);
    nbcoll_request request = NBCOLL_REQUEST_NULL, as_before = request;
    double send = 3, recv = 7;
    world w;

    (void)state;
    world_open(&w, 1, NULL, NULL, NULL);
    EXPECT(ERR_NULL, nbcoll_iallreduce(&send, &recv, 1, NBCOLL_DOUBLE, nbcoll_op_of(&op), w.comm[0], &request));
    EXPECT(ERR_NULL, nbcoll_reduce_init(&send, &recv, 1, NBCOLL_DOUBLE, nbcoll_op_of(&op), 0, w.comm[0], &request));
    EXPECT(ERR_NULL, nbcoll_scan(&send, &recv, 1, NBCOLL_DOUBLE, nbcoll_op_of(&op), w.comm[0], NBCOLL_FOREVER));
    assert_memory_equal(&request, &as_before, sizeof request);
    assert_true(send == 3 && recv == 7);
    assert_int_equal(nbcoll_comm_active(w.comm[0]), 0);
    world_close(&w);
}

static void integers_have_no_average(void **state)
{
    nbcoll_request request = NBCOLL_REQUEST_NULL, as_before = request;
    int64_t send = 3, recv = 7;
    world w;

    (void)state;
    world_open(&w, 1, NULL, NULL, NULL);
    for (nbcoll_type type = NBCOLL_INT8; type <= NBCOLL_UINT64; type++)
        EXPECT(ERR_OP, nbcoll_iallreduce(&send, &recv, 1, type, nbcoll_average(), w.comm[0], &request));
    EXPECT(ERR_OP, nbcoll_allreduce_init(&send, &recv, 1, NBCOLL_INT64, nbcoll_average(), w.comm[0], &request));
    assert_memory_equal(&request, &as_before, sizeof request);
    assert_true(send == 3 && recv == 7);
    assert_int_equal(nbcoll_comm_active(w.comm[0]), 0);
    world_close(&w);
}

static void persistent_requests_take_the_factor_of_each_start(void **state)
{
    double factor[2] = {1, 1}, send[2] = {10, 100}, recv[2] = {0, 0};
    nbcoll_host_op op[2] = {nbcoll_sum_scaled(&factor[0]), nbcoll_sum_scaled(&factor[1])};
    nbcoll_request request[2];
    world w;

    (void)state;
    world_open(&w, 2, NULL, NULL, NULL);
    for (int r = 0; r < 2; r++)
        EXPECT(OK, nbcoll_allreduce_init(&send[r], &recv[r], 1, NBCOLL_DOUBLE, nbcoll_op_of(&op[r]), w.comm[r],
                                         &request[r]));
    for (int i = 1; i < 5; i++) {
        nbcoll_request active[2] = {request[0], request[1]};
        factor[0] = i;
        factor[1] = 0.5 * i;
        for (int r = 0; r < 2; r++)
            EXPECT(OK, nbcoll_start(&request[r]));
        world_finish(&w, 2, active);
        assert_true(recv[0] == 60 * i && recv[1] == 60 * i);
    }
    for (int r = 0; r < 2; r++)
        EXPECT(OK, nbcoll_request_free(&request[r]));
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_collective_and_algorithm_sums_so),
        cmocka_unit_test(types_are_refused_by_the_call),
        cmocka_unit_test(a_missing_factor_is_named_by_the_call),
        cmocka_unit_test(integers_have_no_average),
        cmocka_unit_test(persistent_requests_take_the_factor_of_each_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
