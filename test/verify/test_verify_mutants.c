/* SPDX-License-Identifier: BSD-3-Clause
 * Small mistakes in the schedule of one rank: mutants of each algorithm, for a few numbers of ranks, two roots, plain
 * and in place, blocks of rising length with gaps between them, bound and known, as messages and over shared memory.
 * Not all mistakes matter: an edge may only set a pace. So what the verifier says of each mutant is compared with what
 * the player finds, who runs the schedules over real bytes in many orders: a mutant that the verifier proves and the
 * player breaks is a hole in the proof. That the player is no blind judge is seen at mutants that are refuted: of
 * those that move something else than the algorithm it breaks all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/select/select.h"
#include <nbcoll/verify.h>

#include "mutant.h"
#include "native.h"
#include "player.h"

#define MOST 8
#define ALGORITHMS 256

static const int ranks_tried[] = {2, 3, 5, 8};
#ifdef __SANITIZE_ADDRESS__
#define TRIED (getenv("NBCOLL_FULL") ? 4 : 3)
#else
#define TRIED 4
#endif

/* An odd count, so that blocks differ in length; more than a block for each rank. */
#define COUNT 13

/* Cuts them into four pieces. */
#define SEGMENT 16

/* How often the player tries to break a mutant that is proved. Of the refuted ones every so many-th is tried, until it
 * is broken: half of all plays show no wrong sum, so that ten would miss one mutant of a thousand. */
#define PLAYS 10
#define SAMPLE 64
#define PLAYS_OF_REFUTED 60

static uint64_t dice = 20261122;

/* What became of the mutants of one kind. */
typedef struct tally {
    unsigned mutants, refused, refuted, survived;
    unsigned played, broken; /* of the refuted ones: those that the player was given, and broke */
    unsigned holes;          /* of the survivors: those that the player broke */
} tally;

typedef struct subject {
    const nbcoll_algorithm *algorithm;
    nbcoll_case at;
    nbcoll_meaning meaning;
    nbcoll_schedule *schedules[MOST];
} subject;

static nbcoll_status verify(const subject *s)
{
    nbcoll_status status = nbcoll_verify((const nbcoll_schedule *const *)s->schedules, &s->meaning, NULL, NULL);
    assert_true(status == NBCOLL_OK || status == NBCOLL_ERR_VERIFY);
    return status;
}

/* What the player finds wrong, or null. */
static const char *judged(const subject *s, int plays)
{
    return player_judge((const nbcoll_schedule *const *)s->schedules, &s->meaning, plays, &dice);
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
    if (verify(s) == NBCOLL_OK) {
        const char *wrong = judged(s, PLAYS);
        t->survived++;
        t->holes += wrong != NULL;
        if (wrong)
            print_error("  proved, but %s: %d ranks, root %d, %s, %s%s, rank %d: %s %zu\n", wrong, s->at.ranks,
                        s->at.root, s->at.in_place ? "in place" : "plain", s->at.node ? "native" : "lowered",
                        s->at.known ? ", known" : "", rank, mutation_name(kind), i);
    } else if (t->refuted++ % SAMPLE == 0) {
        t->played++;
        t->broken += judged(s, PLAYS_OF_REFUTED) != NULL;
    }
    nbcoll_schedule_free(s->schedules[rank]);
    s->schedules[rank] = right;
}

/* Built again without a mistake, the schedules are right: so it is the mistakes that are refuted. */
static void prove_copies(subject *s)
{
    nbcoll_schedule *right[MOST];
    memcpy(right, s->schedules, sizeof right);
    for (int rank = 0; rank < s->at.ranks; rank++)
        assert_int_equal(mutant_build(right[rank], MUTATION_COUNT, 0, &s->schedules[rank]), NBCOLL_OK);
    assert_int_equal(verify(s), NBCOLL_OK);
    assert_null(judged(s, PLAYS));
    for (int rank = 0; rank < s->at.ranks; rank++)
        nbcoll_schedule_free(s->schedules[rank]);
    memcpy(s->schedules, right, sizeof right);
}

static void try_subject(subject *s, tally tallies[MUTATION_COUNT])
{
    s->meaning.size = sizeof s->meaning;
    assert_int_equal(nbcoll_meaning_of(&s->at, s->algorithm->flags, &s->meaning), NBCOLL_OK);
    for (int rank = 0; rank < s->at.ranks; rank++)
        assert_int_equal(nbcoll_build_case(s->algorithm, &s->at, rank, NULL, &s->schedules[rank]), NBCOLL_OK);
    prove_copies(s);
    for (int kind = 0; kind < MUTATION_COUNT; kind++)
        for (int rank = 0; rank < s->at.ranks; rank++) {
            size_t n = mutant_count(s->schedules[rank], (mutation)kind);
            for (size_t i = 0; i < n; i++)
                try_mutant(s, rank, (mutation)kind, i, &tallies[kind]);
        }
    for (int rank = 0; rank < s->at.ranks; rank++)
        nbcoll_schedule_free(s->schedules[rank]);
}

/* Blocks bound and known, as far as the algorithm serves them. */
static void try_blocks(const nbcoll_algorithm *algorithm, nbcoll_case at, tally tallies[MUTATION_COUNT])
{
    int both = nbcolli_kind_of(algorithm->operation)->blocks == NBCOLLI_PROMISED;
    for (at.known = both && (algorithm->flags & NBCOLL_ALGORITHM_COUNTS); at.known <= both; at.known++) {
        subject s = {.algorithm = algorithm, .at = at};
        try_subject(&s, tallies);
    }
}

/* All forms of the operation. */
static void try_ranks(const nbcoll_algorithm *algorithm, int ranks, tally tallies[MUTATION_COUNT])
{
    const nbcolli_kind *kind = nbcolli_kind_of(algorithm->operation);
    int has_native = !strncmp(algorithm->name, "native", 6) || !strncmp(algorithm->name, "slots", 5);
    nbcoll_case at = {.size = sizeof at,
                      .operation = algorithm->operation,
                      .ranks = ranks,
                      .count = COUNT,
                      .reduction = {NBCOLL_FLOAT, NBCOLL_SUM},
                      .spread = NBCOLL_SPREAD_RISING,
                      .apart = 1,
                      .segment = SEGMENT};
    for (at.root = 0; at.root <= kind->has_root; at.root++)
        for (at.in_place = 0; at.in_place <= (kind->in_place != NBCOLLI_NOWHERE); at.in_place++)
            for (int is_native = 0; is_native <= has_native; is_native++) {
                at.node = is_native ? ranks : 0;
                try_blocks(algorithm, at, tallies);
            }
}

static void full_name(const nbcoll_algorithm *algorithm, char name[64])
{
    snprintf(name, 64, "%s/%s", nbcoll_operation_name(algorithm->operation), algorithm->name);
}

static void test_what_is_proved_is_right_whatever_the_order(void **state)
{
    const nbcoll_algorithm *algorithm = *state;
    tally all = {0};
    for (size_t i = 0; i < TRIED; i++) {
        tally tallies[MUTATION_COUNT] = {{0}};
        try_ranks(algorithm, ranks_tried[i], tallies);
        for (int kind = 0; kind < MUTATION_COUNT; kind++) {
            const tally *t = &tallies[kind];
            if (t->mutants)
                print_message("%d ranks, %s: %u mutants, %u refused by the builder, %u refuted, %u right; of %u "
                              "refuted ones the player breaks %u\n",
                              ranks_tried[i], mutation_name((mutation)kind), t->mutants, t->refused, t->refuted,
                              t->survived, t->played, t->broken);
            all.mutants += t->mutants;
            all.refuted += t->refuted;
            all.holes += t->holes;
            if (kind == MUTATION_EDGE || kind == MUTATION_DUPLICATE)
                continue; /* races, whose bytes may come out right all the same */
            all.played += t->played;
            all.broken += t->broken;
        }
    }
    assert_int_equal(all.holes, 0);
    assert_true(all.mutants > 20 && all.refuted > all.mutants / 4);
    assert_true(all.played > 0);
    assert_int_equal(all.broken, all.played);
}

int main(void)
{
    static char names[ALGORITHMS][64];
    static struct CMUnitTest tests[ALGORITHMS];
    unsigned n = 0;
    for (const nbcoll_algorithm *algorithm; (algorithm = any_algorithm(n)); n++) {
        if (n == ALGORITHMS)
            return 1; /* not one of them is left out */
        full_name(algorithm, names[n]);
        tests[n] = (struct CMUnitTest){names[n], test_what_is_proved_is_right_whatever_the_order, NULL, NULL,
                                       (void *)algorithm};
    }
    return _cmocka_run_group_tests("mutants", tests, n, NULL, NULL);
}
