/* SPDX-License-Identifier: BSD-3-Clause
 * Types that pack: of what a CALL writes the verifier knows nothing, so of such types it proves all but the bytes that
 * are received. Where packed elements are as long as others, though, packing is a copy: rebuilt with copies for its
 * CALLs, each algorithm's schedules are proved whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/select/select.h"
#include <nbcoll/verify.h>

#include "mutant.h"

#define MOST 9
#define ELEMENT 8

static const int ranks_tried[] = {1, 2, 3, 5, 8, MOST};

static nbcoll_status pack(void *user, const void *elements, void *packed, size_t count)
{
    (void)user;
    memcpy(packed, elements, count * ELEMENT);
    return NBCOLL_OK;
}

static nbcoll_status combine(void *user, void *result, const void *left, const void *right, size_t count,
                             nbcoll_type type)
{
    (void)user;
    (void)result;
    (void)left;
    (void)right;
    (void)count;
    (void)type;
    return NBCOLL_OK;
}

static const nbcoll_host_type plain = {.size = sizeof plain, .extent = ELEMENT};
static const nbcoll_host_type tight = {.size = sizeof tight, .extent = ELEMENT, .packed = ELEMENT, .pack = pack,
                                      .unpack = pack};
static const nbcoll_host_type loose = {.size = sizeof loose, .extent = 3 * ELEMENT, .packed = ELEMENT, .pack = pack,
                                      .unpack = pack};
static const nbcoll_host_op op = {.size = sizeof op, .combine = combine, .commutative = 1};

/* ---- a whole proof --------------------------------------------------------------------------------------------- */

/* The meaning of the case with elements that do not pack, but of reductions of the type that does. */
typedef struct copied {
    nbcoll_meaning as_copied;
    nbcoll_meaning plain;
} copied;

static nbcoll_region copied_input(const nbcoll_meaning *m, int rank)
{
    const nbcoll_meaning *inner = &((const copied *)m)->plain;
    return inner->input(inner, rank);
}

static int copied_claim(const nbcoll_meaning *m, int rank, size_t i, nbcoll_claim *out)
{
    const nbcoll_meaning *inner = &((const copied *)m)->plain;
    int found = inner->claim(inner, rank, i, out);
    out->how.type = nbcoll_type_of(&tight);
    return found;
}

/* `omits` >= 0: that step is missing at rank 1; *steps is how many there are. */
static nbcoll_status verify_copied(const nbcoll_algorithm *algorithm, const nbcoll_case *packed, long omits,
                                   size_t *steps, nbcoll_refutation *why)
{
    nbcoll_schedule *schedules[MOST];
    nbcoll_case c = *packed;
    copied m = {.plain = {.size = sizeof m.plain}};
    c.reduction.type = nbcoll_type_of(&plain);
    assert_int_equal(nbcoll_meaning_of(&c, algorithm->flags, &m.plain), NBCOLL_OK);
    m.as_copied = m.plain;
    m.as_copied.input = copied_input;
    m.as_copied.claim = copied_claim;
    for (int rank = 0; rank < c.ranks; rank++) {
        nbcoll_schedule *with_calls;
        assert_int_equal(nbcoll_build_case(algorithm, packed, rank, NULL, &with_calls), NBCOLL_OK);
        mutation kind = omits >= 0 && rank == 1 ? MUTATION_OMISSION : MUTATION_COUNT;
        if (rank == 1)
            *steps = mutant_count(with_calls, MUTATION_OMISSION);
        assert_int_equal(mutant_build(with_calls, kind, (size_t)omits, &schedules[rank]), NBCOLL_OK);
        nbcoll_schedule_free(with_calls);
    }
    nbcoll_status status = nbcoll_verify((const nbcoll_schedule *const *)schedules, &m.as_copied, NULL, why);
    for (int rank = 0; rank < c.ranks; rank++)
        nbcoll_schedule_free(schedules[rank]);
    return status;
}

static void prove_copied(const nbcoll_algorithm *algorithm, const nbcoll_case *c)
{
    nbcoll_refutation why = {.size = sizeof why};
    size_t steps;
    nbcoll_status status = verify_copied(algorithm, c, -1, &steps, &why);
    if (status != NBCOLL_OK)
        fail_msg("%s/%s: %d ranks, root %d, in place %d, spread %d, apart %d, known %d: %s: %s",
                 nbcoll_operation_name(c->operation), algorithm->name, c->ranks, c->root, c->in_place, c->spread,
                 c->apart, c->known, nbcoll_status_name(status), why.text);
}

/* ---- all cases ------------------------------------------------------------------------------------------------- */

static void prove_case(const nbcoll_algorithm *algorithm, nbcoll_case *c)
{
    nbcoll_refutation why = {.size = sizeof why};
    c->reduction.type = nbcoll_type_of(&tight);
    prove_copied(algorithm, c);
    c->reduction.type = nbcoll_type_of(&loose);
    nbcoll_status status = nbcoll_verify_algorithm(algorithm, c, NULL, &why);
    if (status != NBCOLL_OK)
        fail_msg("%s/%s: %d ranks, root %d, in place %d, known %d: %s: %s", nbcoll_operation_name(c->operation),
                 algorithm->name, c->ranks, c->root, c->in_place, c->known, nbcoll_status_name(status), why.text);
}

/* Plain, in place, and in place at odd ranks; blocks in all forms, where they may differ. */
static void prove_forms(const nbcoll_algorithm *algorithm, int ranks, int root, int known)
{
    static const size_t counts[] = {0, 1, 13};
    int differ = nbcolli_kind_of(algorithm->operation)->blocks != NBCOLLI_EQUAL;
    for (int in_place = 0; in_place <= 2; in_place++)
        for (int spread = 0; spread < (differ ? NBCOLL_SPREAD_COUNT : 1); spread++)
            for (int apart = 0; apart <= differ; apart++)
                for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
                    nbcoll_case c = {.size = sizeof c,
                                     .operation = algorithm->operation,
                                     .ranks = ranks,
                                     .root = root,
                                     .count = counts[i],
                                     .reduction = {NBCOLL_BYTE, nbcoll_op_of(&op)},
                                     .in_place = in_place,
                                     .spread = (nbcoll_spread)spread,
                                     .apart = apart,
                                     .known = known};
                    prove_case(algorithm, &c);
                }
}

static void test_packing_is_proved_with_every_algorithm(void **state)
{
    unsigned tried = 0;
    (void)state;
    for (int operation = 0; operation < NBCOLL_OPERATION_COUNT; operation++) {
        const nbcolli_kind *kind = nbcolli_kind_of((nbcoll_operation)operation);
        const nbcoll_algorithm *algorithm;
        for (unsigned k = 0; (algorithm = nbcoll_algorithm_at((nbcoll_operation)operation, k)); k++)
            for (size_t i = 0; i < sizeof ranks_tried / sizeof *ranks_tried; i++)
                for (int root = 0; root <= (kind->has_root && ranks_tried[i] > 1); root++, tried++) {
                    prove_forms(algorithm, ranks_tried[i], root, 1);
                    if (kind->blocks == NBCOLLI_PROMISED && !(algorithm->flags & NBCOLL_ALGORITHM_COUNTS))
                        prove_forms(algorithm, ranks_tried[i], root, 0); /* bound */
                }
    }
    assert_true(tried > 100);
}

/* ---- what is refuted ------------------------------------------------------------------------------------------- */

static nbcoll_status no_call(void *user, const nbcoll_memory memory[])
{
    (void)user;
    (void)memory;
    return NBCOLL_OK;
}

static void refute_each_step_less(nbcoll_operation operation, const char *name, size_t at_least)
{
    const nbcoll_algorithm *algorithm = nbcoll_algorithm_find(operation, name);
    nbcoll_case c = {.size = sizeof c,
                     .operation = operation,
                     .ranks = 4,
                     .count = 3,
                     .reduction = {nbcoll_type_of(&tight), nbcoll_op_of(&op)},
                     .spread = NBCOLL_SPREAD_RISING};
    size_t steps = 1;
    for (size_t i = 0; i < steps; i++) {
        nbcoll_refutation why = {.size = sizeof why};
        assert_int_equal(verify_copied(algorithm, &c, (long)i, &steps, &why), NBCOLL_ERR_VERIFY);
        print_message("%s\n", why.text);
    }
    assert_true(steps >= at_least);
}

static void test_a_step_less_is_refuted(void **state)
{
    (void)state;
    /* pack, two rounds of send, receive and combine, unpack */
    refute_each_step_less(NBCOLL_OPERATION_ALLREDUCE, "recursive_doubling", 8);
    /* of bound blocks: four packed, a copy, three sent and received, four unpacked */
    refute_each_step_less(NBCOLL_OPERATION_ALLTOALLV, "flat", 15);
    refute_each_step_less(NBCOLL_OPERATION_ALLTOALLW, "pairwise", 15);
    refute_each_step_less(NBCOLL_OPERATION_GATHERV, "flat", 2); /* rank 1: packs and sends */
}

/* A broadcast that sends packed bytes without waiting for the packing. */
static void hasty(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcoll_region read = nbcoll_span(a->recv, a->bytes),
                  packed = nbcoll_span(nbcoll_add_scratch(b, a->bytes), a->bytes);
    if (b->rank == 0) {
        nbcoll_add_call(b, no_call, NULL, 1, &read, 1, &packed);
        nbcoll_add_send(b, 1, packed.at, packed.bytes);
    } else
        nbcoll_add_recv(b, 0, a->recv, a->bytes);
}

static void test_a_send_of_what_may_not_be_packed_yet(void **state)
{
    (void)state;
    nbcoll_algorithm wrong = {sizeof wrong, "hasty", NBCOLL_OPERATION_BCAST, hasty, 0, NULL};
    nbcoll_case c = {.size = sizeof c, .operation = NBCOLL_OPERATION_BCAST, .ranks = 2, .count = 4};
    nbcoll_refutation why = {.size = sizeof why};
    assert_int_equal(nbcoll_verify_algorithm(&wrong, &c, NULL, &why), NBCOLL_ERR_VERIFY);
    assert_string_equal(nbcoll_flaw_name(why.flaw), "RACE");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_packing_is_proved_with_every_algorithm),
    cmocka_unit_test(test_a_step_less_is_refuted),
    cmocka_unit_test(test_a_send_of_what_may_not_be_packed_yet),
};

int main(void)
{
    return cmocka_run_group_tests(tests, NULL, NULL);
}
