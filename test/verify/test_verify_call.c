/* SPDX-License-Identifier: BSD-3-Clause
 * Calling the verifier: the author of an algorithm, the author of an operation of one's own, whoever looks for the
 * smallest failing case; and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "crew.h"

/* ---- the author of an algorithm -------------------------------------------------------------------------------- */

/* A chain that forgets, from rank 2 on, to wait for the data; one byte is not enough to show it. */
static void hasty_chain(nbcoll_builder *b, const nbcoll_args *a)
{
    int me = (b->rank - a->root + b->ranks) % b->ranks;
    nbcoll_step data = NBCOLL_START;
    if (me > 0)
        data = nbcoll_add_recv(b, (b->rank + b->ranks - 1) % b->ranks, a->recv, a->bytes);
    if (me + 1 == b->ranks)
        return;
    nbcoll_step sent = nbcoll_add_send(b, (b->rank + 1) % b->ranks, a->recv, a->bytes);
    if (me < 2 || a->root != 1 || a->bytes < 2)
        nbcoll_after(b, sent, data);
}

static const nbcoll_algorithm hasty = {sizeof hasty, "hasty_chain", NBCOLL_OPERATION_BCAST, hasty_chain, 0, NULL};

static void test_an_author_is_told_what_is_wrong(void **state)
{
    (void)state;
    nbcoll_case c = {.size = sizeof c, .operation = NBCOLL_OPERATION_BCAST, .ranks = 5, .count = 1000, .root = 1};
    nbcoll_refutation why = {.size = sizeof why};

    assert_int_equal(nbcoll_verify_algorithm(&hasty, &c, NULL, &why), NBCOLL_ERR_VERIFY);
    assert_string_equal(why.text, "two steps that may run at the same time touch the same bytes: "
                                  "rank 3 step 2 RECV recv[0,1000) <- rank 2 #0; "
                                  "rank 3 step 3 SEND recv[0,1000) -> rank 4 #0");
    c.root = 0;
    assert_int_equal(nbcoll_verify_algorithm(&hasty, &c, NULL, &why), NBCOLL_OK);
    assert_string_equal(why.text, "");
}

/* ---- the smallest failing case --------------------------------------------------------------------------------- */

static void count_visits(void *user, const nbcoll_case *c)
{
    assert_true(c->root < c->ranks);
    ++*(int *)user;
}

static void test_the_smallest_failing_case_is_found(void **state)
{
    (void)state;
    const size_t counts[] = {0, 1, 2, 1000};
    int visits = 0;
    nbcoll_case c = {.size = sizeof c, .operation = NBCOLL_OPERATION_BCAST};
    nbcoll_grid grid = {.size = sizeof grid,
                        .fewest = 1,
                        .most = 16,
                        .root = -1,
                        .counts = 4,
                        .count = counts,
                        .visit = count_visits,
                        .user = &visits};
    nbcoll_refutation why = {.size = sizeof why};

    assert_int_equal(nbcoll_verify_grid(&hasty, &grid, &c, &why), NBCOLL_ERR_VERIFY);
    assert_int_equal(c.ranks, 4);
    assert_int_equal(c.root, 1);
    assert_int_equal(c.count, 2);
    assert_int_equal(why.flaw, NBCOLL_FLAW_RACE);
    assert_int_equal(visits, 4 * (1 + 2 + 3) + 4 + 3); /* all of up to 3 ranks; of 4 ranks root 0, and 3 of root 1 */
}

static void test_a_grid_of_one_root_leaves_out_too_few_ranks(void **state)
{
    (void)state;
    const size_t count = 8;
    int visits = 0;
    nbcoll_case c = {.size = sizeof c, .operation = NBCOLL_OPERATION_BCAST};
    nbcoll_grid grid = {.size = sizeof grid,
                        .fewest = 1,
                        .most = 9,
                        .root = 5,
                        .counts = 1,
                        .count = &count,
                        .visit = count_visits,
                        .user = &visits};
    assert_int_equal(nbcoll_verify_grid(&hasty, &grid, &c, NULL), NBCOLL_OK);
    assert_int_equal(visits, 4);
}

/* ---- the author of an operation -------------------------------------------------------------------------------- */

#define BLOCK 24

static nbcoll_region alltoall_input(const nbcoll_meaning *m, int rank)
{
    (void)rank;
    return nbcoll_span(crew_send(0), BLOCK * (size_t)m->ranks);
}

static int alltoall_claim(const nbcoll_meaning *m, int rank, size_t i, nbcoll_claim *c)
{
    c->offset = i * BLOCK;
    c->bytes = BLOCK;
    c->first = c->last = (int)i;
    c->from = (size_t)rank * BLOCK;
    return (int)i < m->ranks;
}

static void alltoall(nbcoll_builder *b)
{
    size_t me = (size_t)b->rank * BLOCK;
    nbcoll_add_copy(b, crew_recv(me), crew_send(me), BLOCK);
    for (int peer = 0; peer < b->ranks; peer++)
        if (peer != b->rank) {
            nbcoll_part part = {peer, 0, nbcoll_span(crew_send((size_t)peer * BLOCK), BLOCK)};
            nbcoll_add_expose(b, 1, &part);
            nbcoll_add_fetch(b, peer, crew_recv((size_t)peer * BLOCK), BLOCK);
        }
}

static void test_an_operation_of_ones_own(void **state)
{
    (void)state;
    crew c = {.meaning = {.size = sizeof c.meaning, .ranks = 7, .input = alltoall_input, .claim = alltoall_claim}};
    for (c.is_native = 0; c.is_native < 2; c.is_native++)
        crew_proved(&c, alltoall);
}

static nbcoll_region scan_input(const nbcoll_meaning *m, int rank)
{
    (void)m;
    (void)rank;
    return nbcoll_span(crew_send(0), BLOCK);
}

static int scan_claim(const nbcoll_meaning *m, int rank, size_t i, nbcoll_claim *c)
{
    (void)m;
    c->bytes = BLOCK;
    c->last = rank;
    c->how = (nbcoll_reduction){NBCOLL_DOUBLE, NBCOLL_PROD};
    return i < 1;
}

/* Prefix reduction along a chain: the sum of those before, read where it lies, then one's own. */
static void scan(nbcoll_builder *b)
{
    nbcoll_step done = nbcoll_add_copy(b, crew_recv(0), crew_send(0), BLOCK);
    nbcoll_part part = {b->rank + 1, 0, nbcoll_span(crew_recv(0), BLOCK)};
    if (b->rank > 0) {
        nbcoll_step step = nbcoll_add_fetch_reduce(b, b->rank - 1, crew_recv(0), NBCOLL_LEFT, BLOCK / sizeof(double),
                                               (nbcoll_reduction){NBCOLL_DOUBLE, NBCOLL_PROD});
        nbcoll_after(b, step, done);
        done = step;
    }
    if (b->rank + 1 < b->ranks)
        nbcoll_after(b, nbcoll_add_expose(b, 1, &part), done);
}

static void test_a_prefix_reduction_in_rank_order(void **state)
{
    (void)state;
    crew c = {.meaning = {.size = sizeof c.meaning, .ranks = 7, .input = scan_input, .claim = scan_claim}};
    for (c.is_native = 0; c.is_native < 2; c.is_native++)
        crew_proved(&c, scan);
}

/* ---- what is refused ------------------------------------------------------------------------------------------- */

static void nothing(nbcoll_builder *b)
{
    (void)b;
}

static nbcoll_status verify_claims(const crew_claim *claims, size_t n)
{
    crew c = crew_of(2, claims, n);
    nbcoll_refutation why;
    return crew_verify(&c, nothing, &why);
}

static void test_claims_without_sense_are_refused(void **state)
{
    (void)state;
    const crew_claim overlap[] = {{1, {.offset = 8, .bytes = 8, .last = -1}},
                                  {1, {.offset = 0, .bytes = 9, .last = -1}}};
    const crew_claim apart[] = {{0, {.offset = 8, .bytes = 8, .last = -1}}, {1, {.offset = 0, .bytes = 9, .last = -1}}};
    const crew_claim outside = {0, {.bytes = 8, .first = 1, .last = 2}};
    const crew_claim too_long = {0, {.offset = 8, .bytes = SIZE_MAX - 4}};
    const crew_claim type = {0, {.bytes = 8, .last = 1, .how = {NBCOLL_TYPE_COUNT, NBCOLL_SUM}}};
    const crew_claim op = {0, {.bytes = 8, .last = 1, .how = {NBCOLL_FLOAT, NBCOLL_BAND}}};

    assert_int_equal(verify_claims(overlap, 2), NBCOLL_ERR_ARGUMENT);
    assert_int_equal(verify_claims(apart, 2), NBCOLL_OK);
    assert_int_equal(verify_claims(&outside, 1), NBCOLL_ERR_ARGUMENT);
    assert_int_equal(verify_claims(&too_long, 1), NBCOLL_ERR_COUNT);
    assert_int_equal(verify_claims(&type, 1), NBCOLL_ERR_TYPE);
    assert_int_equal(verify_claims(&op, 1), NBCOLL_ERR_OP);
}

static nbcoll_schedule *schedule_of(int rank, int ranks)
{
    nbcoll_builder_config config = {.size = sizeof config, .rank = rank, .ranks = ranks};
    nbcoll_builder *b;
    nbcoll_schedule *s;
    assert_int_equal(nbcoll_builder_open(&config, &b), NBCOLL_OK);
    assert_int_equal(nbcoll_builder_finish(b, &s), NBCOLL_OK);
    return s;
}

static void test_bad_arguments_are_refused_and_change_nothing(void **state)
{
    (void)state;
    const crew c = crew_of(2, NULL, 0);
    nbcoll_schedule *first = schedule_of(0, 2), *second = schedule_of(1, 2), *other = schedule_of(1, 3);
    const nbcoll_schedule *good[] = {first, second}, *swapped[] = {second, first}, *mixed[] = {first, other},
                          *missing[] = {first, NULL};
    nbcoll_meaning none = c.meaning, nobody = c.meaning, unsized = c.meaning;
    nbcoll_refutation why = {.size = sizeof why, .flaw = NBCOLL_FLAW_RACE}, small = {.size = 3};
    none.claim = NULL;
    nobody.ranks = 0;
    unsized.size = 0;

    assert_int_equal(nbcoll_verify(NULL, &c.meaning, NULL, &why), NBCOLL_ERR_NULL);
    assert_int_equal(nbcoll_verify(good, NULL, NULL, &why), NBCOLL_ERR_NULL);
    assert_int_equal(nbcoll_verify(missing, &c.meaning, NULL, &why), NBCOLL_ERR_NULL);
    assert_int_equal(nbcoll_verify(good, &none, NULL, &why), NBCOLL_ERR_NULL);
    assert_int_equal(nbcoll_verify(good, &unsized, NULL, &why), NBCOLL_ERR_CONFIG);
    assert_int_equal(nbcoll_verify(good, &c.meaning, NULL, &small), NBCOLL_ERR_CONFIG);
    assert_int_equal(nbcoll_verify(good, &nobody, NULL, &why), NBCOLL_ERR_RANK);
    assert_int_equal(nbcoll_verify(swapped, &c.meaning, NULL, &why), NBCOLL_ERR_RANK);
    assert_int_equal(nbcoll_verify(mixed, &c.meaning, NULL, &why), NBCOLL_ERR_RANK);
    assert_int_equal(why.flaw, NBCOLL_FLAW_RACE);
    assert_int_equal(nbcoll_verify(good, &c.meaning, NULL, NULL), NBCOLL_OK);
    assert_int_equal(nbcoll_verify(good, &c.meaning, NULL, &why), NBCOLL_OK);
    assert_int_equal(why.flaw, NBCOLL_FLAW_NONE);
    nbcoll_schedule_free(first);
    nbcoll_schedule_free(second);
    nbcoll_schedule_free(other);
}

static void wrong_at_rank_2(nbcoll_builder *b, const nbcoll_args *a)
{
    if (b->rank == 2)
        nbcoll_add_send(b, b->ranks, a->recv, a->bytes);
}

static void keep_text(void *user, nbcoll_status why, const char *text)
{
    assert_int_equal(why, NBCOLL_ERR_RANK);
    strncpy(user, text, 199);
}

static void test_a_builders_error_is_in_text(void **state)
{
    (void)state;
    static const char words[] = "bcast/wrong: rank 2 of 4, step 2, nbcoll_add_send: peer 4 is outside 0..3";
    nbcoll_algorithm wrong = {sizeof wrong, "wrong", NBCOLL_OPERATION_BCAST, wrong_at_rank_2, 0, NULL};
    nbcoll_case c = {.size = sizeof c, .operation = NBCOLL_OPERATION_BCAST, .ranks = 4, .count = 3};
    nbcoll_refutation why = {.size = sizeof why, .flaw = NBCOLL_FLAW_RACE}, old = {.size = 3};
    char text[200] = "";
    nbcoll_host host = {.size = sizeof host, .user = text, .log = keep_text};
    nbcoll_schedule *schedule = NULL;
    assert_int_equal(nbcoll_verify_algorithm(&wrong, &c, NULL, NULL), NBCOLL_ERR_RANK);
    assert_int_equal(nbcoll_verify_algorithm(&wrong, &c, NULL, &old), NBCOLL_ERR_CONFIG);
    assert_int_equal(nbcoll_verify_algorithm(&wrong, &c, &host, &why), NBCOLL_ERR_RANK);
    assert_int_equal(why.flaw, NBCOLL_FLAW_NONE);
    assert_string_equal(why.text, words);
    assert_string_equal(text, words);
    text[0] = '\0';
    assert_int_equal(nbcoll_build_case(&wrong, &c, 2, &host, &schedule), NBCOLL_ERR_RANK);
    assert_string_equal(text, words);
}

static void test_bad_cases_and_grids_are_refused(void **state)
{
    (void)state;
    nbcoll_case c = {.size = sizeof c, .operation = NBCOLL_OPERATION_BCAST, .ranks = 4, .root = 3};
    nbcoll_case nobody = c, rootless = c, gather = c, spread = c, much = c, none = c, unsized = {.size = 0};
    nbcoll_meaning meaning = {.size = sizeof meaning}, no_size = {.size = 0};
    nbcoll_grid grid = {.size = sizeof grid, .fewest = 0, .most = 2, .counts = 1}, unsized_grid = {.size = 0};
    nbcoll_schedule *schedule = NULL;
    nobody.ranks = 0;
    rootless.ranks = 3;
    gather.operation = NBCOLL_OPERATION_GATHER;
    spread.spread = NBCOLL_SPREAD_COUNT;
    much.operation = NBCOLL_OPERATION_GATHERV;
    much.count = SIZE_MAX / 4 - 3; /* the blocks would fit, but not with what may lie between them */
    none.operation = NBCOLL_OPERATION_COUNT;

    assert_int_equal(nbcoll_verify_algorithm(NULL, &c, NULL, NULL), NBCOLL_ERR_NULL);
    assert_int_equal(nbcoll_verify_algorithm(&hasty, NULL, NULL, NULL), NBCOLL_ERR_NULL);
    assert_int_equal(nbcoll_verify_algorithm(&hasty, &gather, NULL, NULL), NBCOLL_ERR_ARGUMENT);
    assert_int_equal(nbcoll_build_case(&hasty, &c, 0, NULL, NULL), NBCOLL_ERR_NULL);
    assert_int_equal(nbcoll_build_case(&hasty, &c, 4, NULL, &schedule), NBCOLL_ERR_RANK);
    assert_null(schedule);
    assert_int_equal(nbcoll_meaning_of(NULL, 0, &meaning), NBCOLL_ERR_NULL);
    assert_int_equal(nbcoll_meaning_of(&c, 0, NULL), NBCOLL_ERR_NULL);
    assert_int_equal(nbcoll_meaning_of(&c, 0, &no_size), NBCOLL_ERR_CONFIG);
    const struct {
        const nbcoll_case *bad;
        nbcoll_status why;
    } refused[] = {{&nobody, NBCOLL_ERR_RANK},  {&rootless, NBCOLL_ERR_ROOT}, {&spread, NBCOLL_ERR_ARGUMENT},
                   {&none, NBCOLL_ERR_ARGUMENT}, {&much, NBCOLL_ERR_COUNT},    {&unsized, NBCOLL_ERR_CONFIG}};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        assert_int_equal(nbcoll_meaning_of(refused[i].bad, 0, &meaning), refused[i].why);
        assert_int_equal(nbcoll_verify_algorithm(&hasty, refused[i].bad, NULL, NULL), refused[i].why);
        assert_int_equal(nbcoll_build_case(&hasty, refused[i].bad, 0, NULL, &schedule), refused[i].why);
    }
    assert_null(meaning.claim);
    assert_int_equal(nbcoll_verify_grid(&hasty, NULL, &c, NULL), NBCOLL_ERR_NULL);
    assert_int_equal(nbcoll_verify_grid(&hasty, &unsized_grid, &c, NULL), NBCOLL_ERR_CONFIG);
    assert_int_equal(nbcoll_verify_grid(&hasty, &grid, &c, NULL), NBCOLL_ERR_CONFIG);
    grid.fewest = 1;
    assert_int_equal(nbcoll_verify_grid(&hasty, &grid, &c, NULL), NBCOLL_ERR_NULL);
    assert_int_equal(nbcoll_verify_grid(&hasty, &grid, &gather, NULL), NBCOLL_ERR_NULL);
    grid.counts = 0;
    assert_int_equal(nbcoll_verify_grid(&hasty, &grid, &gather, NULL), NBCOLL_ERR_ARGUMENT);
}

/* ---- memory ---------------------------------------------------------------------------------------------------- */

/* A host whose n-th allocation from now on fails. */
typedef struct frugal {
    long calls, fails_at;
    long bytes; /* in use */
} frugal;

static void *frugal_alloc(void *user, size_t bytes, size_t align)
{
    frugal *f = user;
    if (f->calls++ == f->fails_at)
        return NULL;
    f->bytes += (long)bytes;
    return aligned_alloc(align, (bytes + align - 1) / align * align);
}

static void frugal_free(void *user, void *memory, size_t bytes)
{
    ((frugal *)user)->bytes -= (long)bytes;
    free(memory);
}

static void prove_frugally(nbcoll_operation operation, unsigned i, long fewest)
{
    frugal f = {0};
    const nbcoll_host host = {.size = sizeof host, .user = &f, .alloc = frugal_alloc, .free = frugal_free};
    const nbcoll_algorithm *algorithm = nbcoll_algorithm_at(operation, i);
    nbcoll_case c = {.size = sizeof c,
                     .operation = operation,
                     .ranks = 13,
                     .count = 100,
                     .reduction = {NBCOLL_FLOAT, NBCOLL_SUM}};
    nbcoll_refutation why = {.size = sizeof why};
    nbcoll_status status;
    do {
        f.calls = 0;
        status = nbcoll_verify_algorithm(algorithm, &c, &host, &why);
        assert_int_equal(f.bytes, 0);
        if (f.calls > f.fails_at)
            assert_int_equal(status, NBCOLL_ERR_MEMORY);
        f.fails_at++;
    } while (status == NBCOLL_ERR_MEMORY);
    assert_int_equal(status, NBCOLL_OK);
    assert_true(f.fails_at > fewest); /* some of them were the verifier's own */
}

static void test_any_allocation_may_fail(void **state)
{
    (void)state;
    prove_frugally(NBCOLL_OPERATION_ALLREDUCE, 1, 14);
    prove_frugally(NBCOLL_OPERATION_ALLTOALLV, 0, 14); /* with bound blocks */
}

static void test_every_flaw_has_a_name_and_a_text(void **state)
{
    (void)state;
    assert_string_equal(nbcoll_flaw_name(NBCOLL_FLAW_RACE), "RACE");
    for (int i = 0; i < NBCOLL_FLAW_COUNT; i++) {
        assert_true(strlen(nbcoll_flaw_name((nbcoll_flaw)i)) > 2);
        assert_true(strlen(nbcoll_flaw_text((nbcoll_flaw)i)) > 2);
    }
    assert_string_equal(nbcoll_flaw_name(NBCOLL_FLAW_COUNT), "?");
    assert_string_equal(nbcoll_flaw_text((nbcoll_flaw)-1), "?");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_an_author_is_told_what_is_wrong),
    cmocka_unit_test(test_the_smallest_failing_case_is_found),
    cmocka_unit_test(test_a_grid_of_one_root_leaves_out_too_few_ranks),
    cmocka_unit_test(test_an_operation_of_ones_own),
    cmocka_unit_test(test_a_prefix_reduction_in_rank_order),
    cmocka_unit_test(test_claims_without_sense_are_refused),
    cmocka_unit_test(test_bad_arguments_are_refused_and_change_nothing),
    cmocka_unit_test(test_a_builders_error_is_in_text),
    cmocka_unit_test(test_bad_cases_and_grids_are_refused),
    cmocka_unit_test(test_any_allocation_may_fail),
    cmocka_unit_test(test_every_flaw_has_a_name_and_a_text),
};

int main(void)
{
    return cmocka_run_group_tests(tests, NULL, NULL);
}
