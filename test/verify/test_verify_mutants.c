/* SPDX-License-Identifier: BSD-3-Clause
 * Small mistakes in the schedule of one rank: each mutant of each algorithm must be refuted, for a few numbers of
 * ranks, two roots, plain and in place, as messages and over shared memory. The mutants that are right all the same are
 * counted in a table, with the reason why they are; one more or fewer fails. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <nbcoll/verify.h>

#include "mutant.h"
#include "native.h"

#define MOST 8

static const int ranks_tried[] = {2, 3, 5, 8};

/* An odd count, so that blocks differ in length; more than a block for each rank. */
#define COUNT 13

/* Cuts them into four pieces. */
#define SEGMENT 16

typedef struct survivor {
    const char *algorithm;
    int ranks;
    mutation kind;
    unsigned count;
    const char *reason;
} survivor;

static const survivor survivors[] = {
#define REASON "three ranks hear from each other directly, so that nothing need be passed on"
    {"barrier/dissemination", 3, MUTATION_EDGE, 3, REASON},  {"barrier/native", 3, MUTATION_EDGE, 6, REASON},
#undef REASON
#define REASON "in the last round of five ranks only the peer itself is news: all it passes on was heard before"
    {"barrier/dissemination", 5, MUTATION_EDGE, 10, REASON}, {"barrier/native", 5, MUTATION_EDGE, 20, REASON},
#undef REASON
#define REASON "steps wait for all parts received so far, though they read some of them only"
    {"allgather/bruck", 2, MUTATION_EDGE, 8, REASON},        {"allgather/bruck", 3, MUTATION_EDGE, 24, REASON},
    {"allgather/bruck", 5, MUTATION_EDGE, 58, REASON},       {"allgather/bruck", 8, MUTATION_EDGE, 56, REASON},
#undef REASON
#define REASON "rank 0 begins in rank order: the second of its last two copies is of no bytes"
    {"allgather/bruck", 2, MUTATION_DUPLICATE, 2, REASON},   {"allgather/bruck", 3, MUTATION_DUPLICATE, 2, REASON},
    {"allgather/bruck", 5, MUTATION_DUPLICATE, 2, REASON},   {"allgather/bruck", 8, MUTATION_DUPLICATE, 2, REASON},
#undef REASON
#define REASON "in place the last rank's first copy puts its own block where it already stands"
    {"allgather/bruck", 2, MUTATION_LENGTH, 1, REASON},      {"allgather/bruck", 3, MUTATION_LENGTH, 1, REASON},
    {"allgather/bruck", 5, MUTATION_LENGTH, 1, REASON},      {"allgather/bruck", 8, MUTATION_LENGTH, 1, REASON},
#undef REASON
#define REASON "these two copies: the one of no bytes (plain and in place), the one of what stands there (in place)"
    {"allgather/bruck", 2, MUTATION_OMISSION, 3, REASON},    {"allgather/bruck", 3, MUTATION_OMISSION, 3, REASON},
    {"allgather/bruck", 5, MUTATION_OMISSION, 3, REASON},    {"allgather/bruck", 8, MUTATION_OMISSION, 3, REASON},
#undef REASON
#define REASON "lowered, an EXPOSE of several parts is sends and a join of them, for which nothing waits"
    {"scatter/native", 3, MUTATION_EDGE, 8, REASON},         {"scatter/native", 5, MUTATION_EDGE, 16, REASON},
    {"scatter/native", 8, MUTATION_EDGE, 28, REASON},
    {"barrier/slots", 3, MUTATION_EDGE, 2, REASON},          {"barrier/slots", 5, MUTATION_EDGE, 4, REASON},
    {"barrier/slots", 8, MUTATION_EDGE, 7, REASON},
    {"bcast/slots", 3, MUTATION_EDGE, 4, REASON},            {"bcast/slots", 5, MUTATION_EDGE, 8, REASON},
    {"bcast/slots", 8, MUTATION_EDGE, 14, REASON},
    {"scatter/slots", 3, MUTATION_EDGE, 8, REASON},          {"scatter/slots", 5, MUTATION_EDGE, 16, REASON},
    {"scatter/slots", 8, MUTATION_EDGE, 28, REASON},
    {"allgather/slots", 3, MUTATION_EDGE, 12, REASON},       {"allgather/slots", 5, MUTATION_EDGE, 40, REASON},
    {"allgather/slots", 8, MUTATION_EDGE, 112, REASON},
    {"allreduce/slots", 3, MUTATION_EDGE, 4, REASON},        {"allreduce/slots", 5, MUTATION_EDGE, 8, REASON},
    {"allreduce/slots", 8, MUTATION_EDGE, 14, REASON},
#undef REASON
#define REASON "two ranks hear from each other directly: the second need not wait for the first"
    {"barrier/slots", 2, MUTATION_EDGE, 4, REASON},
#undef REASON
#define REASON "pieces are shown in order, whatever holds them back (the root's: nothing); nothing waits for their end"
    {"bcast/slots_chain", 2, MUTATION_EDGE, 44, REASON},     {"bcast/slots_chain", 3, MUTATION_EDGE, 72, REASON},
    {"bcast/slots_chain", 5, MUTATION_EDGE, 128, REASON},    {"bcast/slots_chain", 8, MUTATION_EDGE, 212, REASON},
#undef REASON
#define REASON "the reduction is declared to take its operands in any order"
    {"allreduce/ring", 2, MUTATION_OPERANDS, 4, REASON},     {"allreduce/ring", 3, MUTATION_OPERANDS, 12, REASON},
    {"allreduce/ring", 5, MUTATION_OPERANDS, 40, REASON},    {"allreduce/ring", 8, MUTATION_OPERANDS, 112, REASON},
#undef REASON
};

/* What became of the mutants of one kind. */
typedef struct tally {
    unsigned mutants, refused, refuted, survived;
} tally;

typedef struct subject {
    const nbcoll_algorithm *algorithm;
    nbcoll_args args;
    nbcoll_meaning meaning;
    nbcoll_schedule *schedules[MOST];
    int ranks, is_native;
} subject;

static int shares(void *user, int peer)
{
    (void)peer;
    return ((const subject *)user)->is_native;
}

static nbcoll_status verify(const subject *s)
{
    nbcoll_status status = nbcoll_verify((const nbcoll_schedule *const *)s->schedules, &s->meaning, NULL, NULL);
    assert_true(status == NBCOLL_OK || status == NBCOLL_ERR_VERIFY);
    return status;
}

static void try_mutant(subject *s, int rank, mutation kind, size_t i, tally *t)
{
    nbcoll_schedule *right = s->schedules[rank];
    t->mutants++;
    if (mutant_build(right, kind, i, &s->schedules[rank]) != NBCOLL_OK) {
        s->schedules[rank] = right;
        t->refused++;
        return;
    }
    int is_right = verify(s) == NBCOLL_OK;
    t->survived += is_right;
    t->refuted += !is_right;
    if (is_right)
        print_message("  survives: %d ranks, root %d, %s, %s, rank %d: %s %zu\n", s->ranks, s->args.root,
                      s->args.in_place ? "in place" : "plain", s->is_native ? "native" : "lowered", rank,
                      mutation_name(kind), i);
    nbcoll_schedule_free(s->schedules[rank]);
    s->schedules[rank] = right;
}

/* Built again without a mistake, the schedules are right: so it is the mistakes that are refuted. */
static void prove_copies(subject *s)
{
    nbcoll_schedule *right[MOST];
    memcpy(right, s->schedules, sizeof right);
    for (int rank = 0; rank < s->ranks; rank++)
        assert_int_equal(mutant_build(right[rank], MUTATION_COUNT, 0, &s->schedules[rank]), NBCOLL_OK);
    assert_int_equal(verify(s), NBCOLL_OK);
    for (int rank = 0; rank < s->ranks; rank++)
        nbcoll_schedule_free(s->schedules[rank]);
    memcpy(s->schedules, right, sizeof right);
}

static void try_subject(subject *s, tally tallies[MUTATION_COUNT])
{
    s->meaning.size = sizeof s->meaning;
    assert_int_equal(nbcoll_meaning_of(&s->args, s->ranks, s->algorithm->flags, &s->meaning), NBCOLL_OK);
    for (int rank = 0; rank < s->ranks; rank++) {
        nbcoll_builder_config config = {
            .size = sizeof config, .rank = rank, .ranks = s->ranks, .shares = shares, .shares_user = s};
        assert_int_equal(nbcoll_build_schedule(s->algorithm, &s->args, &config, &s->schedules[rank]), NBCOLL_OK);
    }
    prove_copies(s);
    for (int kind = 0; kind < MUTATION_COUNT; kind++)
        for (int rank = 0; rank < s->ranks; rank++) {
            size_t n = mutant_count(s->schedules[rank], (mutation)kind);
            for (size_t i = 0; i < n; i++)
                try_mutant(s, rank, (mutation)kind, i, &tallies[kind]);
        }
    for (int rank = 0; rank < s->ranks; rank++)
        nbcoll_schedule_free(s->schedules[rank]);
}

/* All forms of the operation. */
static void try_ranks(const nbcoll_algorithm *algorithm, int ranks, tally tallies[MUTATION_COUNT])
{
    nbcoll_operation operation = algorithm->operation;
    int has_root = operation == NBCOLL_OPERATION_BCAST || operation == NBCOLL_OPERATION_SCATTER ||
                   operation == NBCOLL_OPERATION_GATHER || operation == NBCOLL_OPERATION_REDUCE;
    int has_in_place = operation != NBCOLL_OPERATION_BARRIER && operation != NBCOLL_OPERATION_BCAST;
    int has_native = !strncmp(algorithm->name, "native", 6) || !strncmp(algorithm->name, "slots", 5);
    for (int root = 0; root <= has_root; root++)
        for (int in_place = 0; in_place <= has_in_place; in_place++)
            for (int is_native = 0; is_native <= has_native; is_native++) {
                subject s = {.algorithm = algorithm, .ranks = ranks, .is_native = is_native};
                s.args = (nbcoll_args){.size = sizeof s.args,
                                       .operation = operation,
                                       .root = root,
                                       .count = COUNT,
                                       .reduction = {NBCOLL_FLOAT, NBCOLL_SUM},
                                       .in_place = in_place,
                                       .segment = SEGMENT};
                try_subject(&s, tallies);
            }
}

static const survivor *expected(const char *algorithm, int ranks, mutation kind)
{
    for (size_t i = 0; i < sizeof survivors / sizeof *survivors; i++)
        if (!strcmp(survivors[i].algorithm, algorithm) && survivors[i].ranks == ranks && survivors[i].kind == kind)
            return &survivors[i];
    return NULL;
}

static void full_name(const nbcoll_algorithm *algorithm, char name[64])
{
    snprintf(name, 64, "%s/%s", nbcoll_operation_name(algorithm->operation), algorithm->name);
}

static void test_mutants_are_refuted(void **state)
{
    const nbcoll_algorithm *algorithm = *state;
    unsigned mutants = 0, differences = 0;
    char name[64];
    full_name(algorithm, name);
    for (size_t i = 0; i < sizeof ranks_tried / sizeof *ranks_tried; i++) {
        tally tallies[MUTATION_COUNT] = {{0}};
        try_ranks(algorithm, ranks_tried[i], tallies);
        for (int kind = 0; kind < MUTATION_COUNT; kind++) {
            const tally *t = &tallies[kind];
            const survivor *known = expected(name, ranks_tried[i], (mutation)kind);
            print_message("%d ranks, %s: %u mutants, %u refused by the builder, %u refuted, %u right: %s\n",
                          ranks_tried[i], mutation_name((mutation)kind), t->mutants, t->refused, t->refuted,
                          t->survived, known ? known->reason : "none expected");
            differences += t->survived != (known ? known->count : 0);
            mutants += t->mutants;
        }
    }
    assert_int_equal(differences, 0);
    assert_true(mutants > 20);
}

static void test_every_survivor_belongs_to_an_algorithm(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof survivors / sizeof *survivors; i++) {
        int found = 0;
        const nbcoll_algorithm *algorithm;
        for (unsigned k = 0; (algorithm = any_algorithm(k)); k++) {
            char name[64];
            full_name(algorithm, name);
            found |= !strcmp(name, survivors[i].algorithm);
        }
        assert_true(found);
    }
}

int main(void)
{
    static char names[64][64];
    struct CMUnitTest tests[64] = {cmocka_unit_test(test_every_survivor_belongs_to_an_algorithm)};
    size_t n = 1;
    for (const nbcoll_algorithm *algorithm; n < 64 && (algorithm = any_algorithm((unsigned)n - 1)); n++) {
        full_name(algorithm, names[n]);
        tests[n] = (struct CMUnitTest){names[n], test_mutants_are_refuted, NULL, NULL, (void *)algorithm};
    }
    return _cmocka_run_group_tests("mutants", tests, n, NULL, NULL);
}
