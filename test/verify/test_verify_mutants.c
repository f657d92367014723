/* SPDX-License-Identifier: BSD-3-Clause
 * Small mistakes in the schedule of one rank: each mutant of each algorithm must be refuted, for a few numbers of
 * ranks, two roots, plain and in place, blocks of rising length with gaps between them, bound and known, as messages
 * and over shared memory. The mutants that are right all the same are counted in a table, with the reason why they are;
 * one more or fewer fails. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <nbcoll/inline/select.h>
#include <nbcoll/verify.h>

#include "mutant.h"
#include "native.h"

#define MOST 8
#define ALGORITHMS 256

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
    {"barrier/dissemination", 3, MUTATION_EDGE, 3, REASON}, {"barrier/native", 3, MUTATION_EDGE, 6, REASON},
#undef REASON
#define REASON "in the last round of five ranks only the peer itself is news: all it passes on was heard before"
    {"barrier/dissemination", 5, MUTATION_EDGE, 10, REASON}, {"barrier/native", 5, MUTATION_EDGE, 20, REASON},
#undef REASON
#define REASON "two ranks hear from each other directly: the second need not wait for the first"
    {"barrier/slots", 2, MUTATION_EDGE, 4, REASON},
#undef REASON
#define REASON "pieces are shown in order, though each might be as soon as it is there (the root's: at once)"
    {"bcast/slots_chain", 2, MUTATION_EDGE, 28, REASON}, {"bcast/slots_chain", 3, MUTATION_EDGE, 40, REASON},
    {"bcast/slots_chain", 5, MUTATION_EDGE, 64, REASON}, {"bcast/slots_chain", 8, MUTATION_EDGE, 100, REASON},
#undef REASON
#define REASON "the reduction is declared to take its operands in any order"
    {"allreduce/ring", 2, MUTATION_OPERANDS, 4, REASON}, {"allreduce/ring", 3, MUTATION_OPERANDS, 12, REASON},
    {"allreduce/ring", 5, MUTATION_OPERANDS, 40, REASON}, {"allreduce/ring", 8, MUTATION_OPERANDS, 112, REASON},
    {"reduce_scatter/halving", 2, MUTATION_OPERANDS, 4, REASON},
    {"reduce_scatter/halving", 3, MUTATION_OPERANDS, 6, REASON},
    {"reduce_scatter/halving", 5, MUTATION_OPERANDS, 18, REASON},
    {"reduce_scatter/halving", 8, MUTATION_OPERANDS, 48, REASON},
    {"reduce_scatter_block/halving", 2, MUTATION_OPERANDS, 4, REASON},
    {"reduce_scatter_block/halving", 3, MUTATION_OPERANDS, 6, REASON},
    {"reduce_scatter_block/halving", 5, MUTATION_OPERANDS, 18, REASON},
    {"reduce_scatter_block/halving", 8, MUTATION_OPERANDS, 48, REASON},
#undef REASON
#define REASON "in place, the result waits for what was given away, also where that lies behind it"
    {"reduce_scatter/halving", 2, MUTATION_EDGE, 1, REASON}, {"reduce_scatter/halving", 5, MUTATION_EDGE, 1, REASON},
    {"reduce_scatter/halving", 8, MUTATION_EDGE, 4, REASON},
    {"reduce_scatter_block/halving", 2, MUTATION_EDGE, 1, REASON},
    {"reduce_scatter_block/halving", 5, MUTATION_EDGE, 1, REASON},
    {"reduce_scatter_block/halving", 8, MUTATION_EDGE, 4, REASON},
#undef REASON
#define REASON "a side that is one block has it at whatever index"
    {"scatterv/flat", 2, MUTATION_BLOCK, 6, REASON}, {"scatterv/flat", 3, MUTATION_BLOCK, 10, REASON},
    {"scatterv/flat", 5, MUTATION_BLOCK, 18, REASON}, {"scatterv/flat", 8, MUTATION_BLOCK, 30, REASON},
    {"gatherv/flat", 2, MUTATION_BLOCK, 6, REASON}, {"gatherv/flat", 3, MUTATION_BLOCK, 10, REASON},
    {"gatherv/flat", 5, MUTATION_BLOCK, 18, REASON}, {"gatherv/flat", 8, MUTATION_BLOCK, 30, REASON},
#undef REASON
#define REASON "in place, what is placed waits for all packing, also of what had come, and so for its coming twice"
    {"alltoall/bruck", 5, MUTATION_EDGE, 10, REASON}, {"alltoall/bruck", 8, MUTATION_EDGE, 64, REASON},
#undef REASON
#define REASON "in place, all blocks go aside in one copy: the last rank's own, which nobody fetches, is the end of it"
    {"alltoall/slots", 2, MUTATION_LENGTH, 2, REASON}, {"alltoall/slots", 3, MUTATION_LENGTH, 2, REASON},
    {"alltoall/slots", 5, MUTATION_LENGTH, 2, REASON}, {"alltoall/slots", 8, MUTATION_LENGTH, 2, REASON},
#undef REASON
#define REASON "one partner at a time is a matter of pace"
    {"alltoall/pairwise", 3, MUTATION_EDGE, 12, REASON}, {"alltoall/pairwise", 5, MUTATION_EDGE, 60, REASON},
    {"alltoall/pairwise", 8, MUTATION_EDGE, 192, REASON}, {"alltoallv/pairwise", 3, MUTATION_EDGE, 12, REASON},
    {"alltoallv/pairwise", 5, MUTATION_EDGE, 60, REASON}, {"alltoallv/pairwise", 8, MUTATION_EDGE, 192, REASON},
    {"alltoallw/pairwise", 3, MUTATION_EDGE, 12, REASON}, {"alltoallw/pairwise", 5, MUTATION_EDGE, 60, REASON},
    {"alltoallw/pairwise", 8, MUTATION_EDGE, 192, REASON},
#undef REASON
#define REASON "the stage between the two trees holds back more than it must"
    {"reduce_scatter/binomial", 2, MUTATION_EDGE, 4, REASON},
    {"reduce_scatter/binomial", 3, MUTATION_EDGE, 10, REASON},
    {"reduce_scatter/binomial", 5, MUTATION_EDGE, 22, REASON},
    {"reduce_scatter/binomial", 8, MUTATION_EDGE, 37, REASON},
    {"reduce_scatter_block/binomial", 2, MUTATION_EDGE, 2, REASON},
    {"reduce_scatter_block/binomial", 3, MUTATION_EDGE, 6, REASON},
    {"reduce_scatter_block/binomial", 5, MUTATION_EDGE, 16, REASON},
    {"reduce_scatter_block/binomial", 8, MUTATION_EDGE, 31, REASON},
#undef REASON
#define REASON "in place, the result waits for all that leaves, also for what lies behind it"
    {"reduce_scatter/direct", 2, MUTATION_EDGE, 2, REASON}, {"reduce_scatter/direct", 3, MUTATION_EDGE, 4, REASON},
    {"reduce_scatter/direct", 5, MUTATION_EDGE, 14, REASON}, {"reduce_scatter/direct", 8, MUTATION_EDGE, 44, REASON},
    {"reduce_scatter_block/direct", 2, MUTATION_EDGE, 2, REASON},
    {"reduce_scatter_block/direct", 3, MUTATION_EDGE, 5, REASON},
    {"reduce_scatter_block/direct", 5, MUTATION_EDGE, 17, REASON},
    {"reduce_scatter_block/direct", 8, MUTATION_EDGE, 50, REASON},
#undef REASON
#define REASON "in place, a combination waits for the operand to be aside, as what it is combined with has done"
    {"scan/recursive_doubling", 5, MUTATION_EDGE, 1, REASON}, {"scan/recursive_doubling", 8, MUTATION_EDGE, 4, REASON},
    {"exscan/recursive_doubling", 3, MUTATION_EDGE, 1, REASON},
    {"exscan/recursive_doubling", 5, MUTATION_EDGE, 1, REASON},
    {"exscan/recursive_doubling", 8, MUTATION_EDGE, 1, REASON},
#undef REASON
#define REASON "of five ranks, some combine what no rank above needs"
    {"scan/recursive_doubling", 5, MUTATION_LENGTH, 4, REASON},
    {"scan/recursive_doubling", 5, MUTATION_OMISSION, 4, REASON},
    {"scan/recursive_doubling", 5, MUTATION_OPERANDS, 4, REASON},
#undef REASON
#define REASON "some combine what no rank above needs; in place, the last rank puts its operand aside for nobody"
    {"exscan/recursive_doubling", 2, MUTATION_LENGTH, 1, REASON},
    {"exscan/recursive_doubling", 2, MUTATION_OMISSION, 1, REASON},
    {"exscan/recursive_doubling", 3, MUTATION_LENGTH, 3, REASON},
    {"exscan/recursive_doubling", 3, MUTATION_OMISSION, 3, REASON},
    {"exscan/recursive_doubling", 3, MUTATION_OPERANDS, 2, REASON},
    {"exscan/recursive_doubling", 5, MUTATION_LENGTH, 7, REASON},
    {"exscan/recursive_doubling", 5, MUTATION_OMISSION, 7, REASON},
    {"exscan/recursive_doubling", 5, MUTATION_OPERANDS, 8, REASON},
    {"exscan/recursive_doubling", 8, MUTATION_LENGTH, 1, REASON},
    {"exscan/recursive_doubling", 8, MUTATION_OMISSION, 1, REASON},
#undef REASON
#define REASON "two ranks hear from each other directly"
    {"barrier/binomial", 2, MUTATION_EDGE, 2, REASON}, {"barrier/gather_bcast", 2, MUTATION_EDGE, 2, REASON},
#undef REASON
#define REASON "of three ranks, the only child is told after it has been heard, as if it had to be told of itself"
    {"barrier/exotic", 3, MUTATION_EDGE, 1, REASON},
#undef REASON
#define REASON "in the last round a rank speaks only for some of those that it has heard of"
    {"barrier/dissemination_ports", 5, MUTATION_EDGE, 5, REASON},
#undef REASON
#define REASON "the stage between the two halves, and that before the copies, holds back more than it must"
    {"allgather/binomial", 5, MUTATION_EDGE, 4, REASON}, {"allgather/binomial", 8, MUTATION_EDGE, 14, REASON},
    {"allreduce/binomial", 2, MUTATION_EDGE, 2, REASON}, {"allreduce/binomial", 3, MUTATION_EDGE, 6, REASON},
    {"allreduce/binomial", 5, MUTATION_EDGE, 14, REASON}, {"allreduce/binomial", 8, MUTATION_EDGE, 25, REASON},
    {"allreduce/reduce_bcast", 2, MUTATION_EDGE, 2, REASON}, {"allreduce/reduce_bcast", 3, MUTATION_EDGE, 6, REASON},
    {"allreduce/reduce_bcast", 5, MUTATION_EDGE, 13, REASON}, {"allreduce/reduce_bcast", 8, MUTATION_EDGE, 25, REASON},
    {"allgatherv/binomial", 2, MUTATION_EDGE, 4, REASON}, {"allgatherv/binomial", 3, MUTATION_EDGE, 12, REASON},
    {"allgatherv/binomial", 5, MUTATION_EDGE, 28, REASON},
    {"allgatherv/binomial", 8, MUTATION_EDGE, 54, REASON},
    {"allgather/gather_bcast", 3, MUTATION_EDGE, 1, REASON}, {"allgather/gather_bcast", 5, MUTATION_EDGE, 2, REASON},
    {"allgather/gather_bcast", 8, MUTATION_EDGE, 4, REASON}, {"allgatherv/gather_bcast", 2, MUTATION_EDGE, 2, REASON},
    {"allgatherv/gather_bcast", 3, MUTATION_EDGE, 8, REASON}, {"allgatherv/gather_bcast", 5, MUTATION_EDGE, 18, REASON},
    {"allgatherv/gather_bcast", 8, MUTATION_EDGE, 34, REASON},
#undef REASON
#define REASON "in place, what waits for the blocks of the others waits for the packing of this rank's own too"
    {"allgather/bruck", 2, MUTATION_EDGE, 2, REASON}, {"allgatherv/bruck", 2, MUTATION_EDGE, 2, REASON},
    {"allgather/bruck_ports", 2, MUTATION_EDGE, 2, REASON}, {"allgather/bruck_ports", 3, MUTATION_EDGE, 3, REASON},
    {"allgatherv/recursive_doubling", 2, MUTATION_EDGE, 2, REASON},
    {"allgatherv/recursive_doubling", 3, MUTATION_EDGE, 1, REASON},
    {"allgatherv/exchange", 3, MUTATION_EDGE, 3, REASON}, {"allgatherv/exchange", 5, MUTATION_EDGE, 1, REASON},
    {"allgatherv/bruck_ports", 2, MUTATION_EDGE, 2, REASON}, {"allgatherv/bruck_ports", 3, MUTATION_EDGE, 3, REASON},
    {"allgatherv/exotic", 2, MUTATION_EDGE, 2, REASON}, {"allgatherv/exotic", 3, MUTATION_EDGE, 2, REASON},
    {"allgatherv/exotic", 5, MUTATION_EDGE, 3, REASON}, {"allgatherv/exotic", 8, MUTATION_EDGE, 4, REASON},
#undef REASON
#define REASON "in place, what goes down waits for all blocks, also for those that are not in it"
    {"allgather/exotic", 3, MUTATION_EDGE, 2, REASON}, {"allgather/exotic", 5, MUTATION_EDGE, 2, REASON},
    {"allgather/exotic", 8, MUTATION_EDGE, 3, REASON},
#undef REASON
#define REASON "a side that is one block has it at whatever index"
    {"scatterv/flat_sequential", 2, MUTATION_BLOCK, 6, REASON},
    {"scatterv/flat_sequential", 3, MUTATION_BLOCK, 10, REASON},
    {"scatterv/flat_sequential", 5, MUTATION_BLOCK, 18, REASON},
    {"scatterv/flat_sequential", 8, MUTATION_BLOCK, 30, REASON},
    {"gatherv/flat_sequential", 2, MUTATION_BLOCK, 6, REASON},
    {"gatherv/flat_sequential", 3, MUTATION_BLOCK, 10, REASON},
    {"gatherv/flat_sequential", 5, MUTATION_BLOCK, 18, REASON},
    {"gatherv/flat_sequential", 8, MUTATION_BLOCK, 30, REASON},
#undef REASON
#define REASON "the reduction is declared to take its operands in any order"
    {"reduce_scatter/halving_sequential", 2, MUTATION_OPERANDS, 4, REASON},
    {"reduce_scatter/halving_sequential", 3, MUTATION_OPERANDS, 6, REASON},
    {"reduce_scatter/halving_sequential", 5, MUTATION_OPERANDS, 18, REASON},
    {"reduce_scatter/halving_sequential", 8, MUTATION_OPERANDS, 48, REASON},
    {"reduce_scatter/ring", 2, MUTATION_OPERANDS, 4, REASON}, {"reduce_scatter/ring", 3, MUTATION_OPERANDS, 12, REASON},
    {"reduce_scatter/ring", 5, MUTATION_OPERANDS, 40, REASON},
    {"reduce_scatter/ring", 8, MUTATION_OPERANDS, 112, REASON},
    {"reduce_scatter/ring_sequential", 2, MUTATION_OPERANDS, 4, REASON},
    {"reduce_scatter/ring_sequential", 3, MUTATION_OPERANDS, 12, REASON},
    {"reduce_scatter/ring_sequential", 5, MUTATION_OPERANDS, 40, REASON},
    {"reduce_scatter/ring_sequential", 8, MUTATION_OPERANDS, 112, REASON},
    {"reduce_scatter_block/halving_sequential", 2, MUTATION_OPERANDS, 4, REASON},
    {"reduce_scatter_block/halving_sequential", 3, MUTATION_OPERANDS, 6, REASON},
    {"reduce_scatter_block/halving_sequential", 5, MUTATION_OPERANDS, 18, REASON},
    {"reduce_scatter_block/halving_sequential", 8, MUTATION_OPERANDS, 48, REASON},
    {"reduce_scatter_block/ring", 2, MUTATION_OPERANDS, 4, REASON},
    {"reduce_scatter_block/ring", 3, MUTATION_OPERANDS, 12, REASON},
    {"reduce_scatter_block/ring", 5, MUTATION_OPERANDS, 40, REASON},
    {"reduce_scatter_block/ring", 8, MUTATION_OPERANDS, 112, REASON},
    {"reduce_scatter_block/ring_sequential", 2, MUTATION_OPERANDS, 4, REASON},
    {"reduce_scatter_block/ring_sequential", 3, MUTATION_OPERANDS, 12, REASON},
    {"reduce_scatter_block/ring_sequential", 5, MUTATION_OPERANDS, 40, REASON},
    {"reduce_scatter_block/ring_sequential", 8, MUTATION_OPERANDS, 112, REASON},
#undef REASON
#define REASON "in place, the result waits for all reading of operands, also of those that lie behind it"
    {"reduce_scatter/ring", 2, MUTATION_EDGE, 1, REASON}, {"reduce_scatter/ring", 3, MUTATION_EDGE, 3, REASON},
    {"reduce_scatter/ring", 5, MUTATION_EDGE, 13, REASON}, {"reduce_scatter/ring", 8, MUTATION_EDGE, 43, REASON},
    {"reduce_scatter_block/ring", 2, MUTATION_EDGE, 1, REASON},
    {"reduce_scatter_block/ring", 3, MUTATION_EDGE, 4, REASON},
    {"reduce_scatter_block/ring", 5, MUTATION_EDGE, 16, REASON},
    {"reduce_scatter_block/ring", 8, MUTATION_EDGE, 49, REASON},
#undef REASON
#define REASON "in place, what is passed on waits for what has come back, and that has waited for the combination"
    {"allreduce/halving", 3, MUTATION_EDGE, 1, REASON}, {"allreduce/halving", 5, MUTATION_EDGE, 4, REASON},
    {"allreduce/halving", 8, MUTATION_EDGE, 8, REASON},
#undef REASON
#define REASON "one after the other is a matter of pace; in place, all then waits for what lies elsewhere too"
    {"alltoall/flat_sequential", 3, MUTATION_EDGE, 15, REASON},
    {"alltoall/flat_sequential", 5, MUTATION_EDGE, 75, REASON},
    {"alltoall/flat_sequential", 8, MUTATION_EDGE, 240, REASON},
    {"alltoall/flat_sequential_sends", 3, MUTATION_EDGE, 6, REASON},
    {"alltoall/flat_sequential_sends", 5, MUTATION_EDGE, 30, REASON},
    {"alltoall/flat_sequential_sends", 8, MUTATION_EDGE, 96, REASON},
    {"alltoall/flat_sequential_receives", 3, MUTATION_EDGE, 9, REASON},
    {"alltoall/flat_sequential_receives", 5, MUTATION_EDGE, 45, REASON},
    {"alltoall/flat_sequential_receives", 8, MUTATION_EDGE, 144, REASON},
    {"alltoallv/flat_sequential", 3, MUTATION_EDGE, 15, REASON},
    {"alltoallv/flat_sequential", 5, MUTATION_EDGE, 75, REASON},
    {"alltoallv/flat_sequential", 8, MUTATION_EDGE, 240, REASON},
    {"alltoallv/flat_sequential_sends", 3, MUTATION_EDGE, 6, REASON},
    {"alltoallv/flat_sequential_sends", 5, MUTATION_EDGE, 30, REASON},
    {"alltoallv/flat_sequential_sends", 8, MUTATION_EDGE, 96, REASON},
    {"alltoallv/flat_sequential_receives", 3, MUTATION_EDGE, 9, REASON},
    {"alltoallv/flat_sequential_receives", 5, MUTATION_EDGE, 45, REASON},
    {"alltoallv/flat_sequential_receives", 8, MUTATION_EDGE, 144, REASON},
    {"alltoallw/flat_sequential", 3, MUTATION_EDGE, 15, REASON},
    {"alltoallw/flat_sequential", 5, MUTATION_EDGE, 75, REASON},
    {"alltoallw/flat_sequential", 8, MUTATION_EDGE, 240, REASON},
    {"alltoallw/flat_sequential_sends", 3, MUTATION_EDGE, 6, REASON},
    {"alltoallw/flat_sequential_sends", 5, MUTATION_EDGE, 30, REASON},
    {"alltoallw/flat_sequential_sends", 8, MUTATION_EDGE, 96, REASON},
    {"alltoallw/flat_sequential_receives", 3, MUTATION_EDGE, 9, REASON},
    {"alltoallw/flat_sequential_receives", 5, MUTATION_EDGE, 45, REASON},
    {"alltoallw/flat_sequential_receives", 8, MUTATION_EDGE, 144, REASON},
    {"reduce_scatter/halving_sequential", 2, MUTATION_EDGE, 6, REASON},
    {"reduce_scatter/halving_sequential", 3, MUTATION_EDGE, 9, REASON},
    {"reduce_scatter/halving_sequential", 5, MUTATION_EDGE, 39, REASON},
    {"reduce_scatter/halving_sequential", 8, MUTATION_EDGE, 120, REASON},
    {"reduce_scatter/ring_sequential", 2, MUTATION_EDGE, 6, REASON},
    {"reduce_scatter/ring_sequential", 3, MUTATION_EDGE, 24, REASON},
    {"reduce_scatter/ring_sequential", 5, MUTATION_EDGE, 90, REASON},
    {"reduce_scatter/ring_sequential", 8, MUTATION_EDGE, 264, REASON},
    {"reduce_scatter_block/halving_sequential", 2, MUTATION_EDGE, 6, REASON},
    {"reduce_scatter_block/halving_sequential", 3, MUTATION_EDGE, 9, REASON},
    {"reduce_scatter_block/halving_sequential", 5, MUTATION_EDGE, 39, REASON},
    {"reduce_scatter_block/halving_sequential", 8, MUTATION_EDGE, 120, REASON},
    {"reduce_scatter_block/ring_sequential", 2, MUTATION_EDGE, 6, REASON},
    {"reduce_scatter_block/ring_sequential", 3, MUTATION_EDGE, 24, REASON},
    {"reduce_scatter_block/ring_sequential", 5, MUTATION_EDGE, 90, REASON},
    {"reduce_scatter_block/ring_sequential", 8, MUTATION_EDGE, 264, REASON},
#undef REASON
#define REASON "one after the other is a matter of pace"
    {"bcast/flat_sequential", 3, MUTATION_EDGE, 2, REASON}, {"bcast/flat_sequential", 5, MUTATION_EDGE, 6, REASON},
    {"bcast/flat_sequential", 8, MUTATION_EDGE, 12, REASON}, {"scatter/flat_sequential", 3, MUTATION_EDGE, 4, REASON},
    {"scatter/flat_sequential", 5, MUTATION_EDGE, 12, REASON},
    {"scatter/flat_sequential", 8, MUTATION_EDGE, 24, REASON}, {"gather/flat_sequential", 3, MUTATION_EDGE, 4, REASON},
    {"gather/flat_sequential", 5, MUTATION_EDGE, 12, REASON}, {"gather/flat_sequential", 8, MUTATION_EDGE, 24, REASON},
    {"allgather/ring_sequential", 3, MUTATION_EDGE, 18, REASON},
    {"allgather/ring_sequential", 5, MUTATION_EDGE, 90, REASON},
    {"allgather/ring_sequential", 8, MUTATION_EDGE, 288, REASON},
    {"reduce/flat_sequential", 3, MUTATION_EDGE, 4, REASON}, {"reduce/flat_sequential", 5, MUTATION_EDGE, 12, REASON},
    {"reduce/flat_sequential", 8, MUTATION_EDGE, 24, REASON},
    {"allreduce/recursive_doubling_sequential", 2, MUTATION_EDGE, 2, REASON},
    {"allreduce/recursive_doubling_sequential", 3, MUTATION_EDGE, 7, REASON},
    {"allreduce/recursive_doubling_sequential", 5, MUTATION_EDGE, 39, REASON},
    {"allreduce/recursive_doubling_sequential", 8, MUTATION_EDGE, 120, REASON},
    {"scatterv/flat_sequential", 3, MUTATION_EDGE, 8, REASON},
    {"scatterv/flat_sequential", 5, MUTATION_EDGE, 24, REASON},
    {"scatterv/flat_sequential", 8, MUTATION_EDGE, 48, REASON},
    {"gatherv/flat_sequential", 3, MUTATION_EDGE, 8, REASON}, {"gatherv/flat_sequential", 5, MUTATION_EDGE, 24, REASON},
    {"gatherv/flat_sequential", 8, MUTATION_EDGE, 48, REASON},
    {"allgatherv/ring_sequential", 3, MUTATION_EDGE, 18, REASON},
    {"allgatherv/ring_sequential", 5, MUTATION_EDGE, 90, REASON},
    {"allgatherv/ring_sequential", 8, MUTATION_EDGE, 288, REASON},
#undef REASON
};

/* What became of the mutants of one kind. */
typedef struct tally {
    unsigned mutants, refused, refuted, survived;
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
        print_message("  survives: %d ranks, root %d, %s, %s%s, rank %d: %s %zu\n", s->at.ranks, s->at.root,
                      s->at.in_place ? "in place" : "plain", s->at.node ? "native" : "lowered",
                      s->at.known ? ", known" : "", rank, mutation_name(kind), i);
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
    static char names[ALGORITHMS][64];
    static struct CMUnitTest tests[ALGORITHMS + 1] = {cmocka_unit_test(test_every_survivor_belongs_to_an_algorithm)};
    unsigned n = 0;
    for (const nbcoll_algorithm *algorithm; (algorithm = any_algorithm(n)); n++) {
        if (n == ALGORITHMS)
            return 1; /* not one of them is left out */
        full_name(algorithm, names[n]);
        tests[n + 1] = (struct CMUnitTest){names[n], test_mutants_are_refuted, NULL, NULL, (void *)algorithm};
    }
    return _cmocka_run_group_tests("mutants", tests, n + 1, NULL, NULL);
}
