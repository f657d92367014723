/* SPDX-License-Identifier: BSD-3-Clause
 * Mutants: a schedule read step by step and built again with one small mistake. Its CALLs must be those that pack and
 * unpack elements which are as long packed as not: they become copies, which say what they do. */
#ifndef TEST_VERIFY_MUTANT_H
#define TEST_VERIFY_MUTANT_H

#include <nbcoll/schedule.h>

#define MUTATION_LIST(X)                                                                                               \
    X(EDGE, "an edge dropped")                                                                                         \
    X(PEER, "a peer one higher")                                                                                       \
    X(LENGTH, "a length one element less, or one more than none")                                                      \
    X(DUPLICATE, "a step twice, in the same place")                                                                    \
    X(OMISSION, "a step replaced by an empty one")                                                                     \
    X(OPERANDS, "the operands of a reduction exchanged")                                                               \
    X(BLOCK, "a bound block one further on")
typedef enum mutation {
#define MUTATION_ENUM(name, text) MUTATION_##name,
    MUTATION_LIST(MUTATION_ENUM)
#undef MUTATION_ENUM
        MUTATION_COUNT
} mutation;

const char *mutation_name(mutation kind);

/* How many mutants of this kind the schedule has. */
size_t mutant_count(const nbcoll_schedule *s, mutation kind);

/* Builds the i-th; with no kind (MUTATION_COUNT) the same schedule again. NBCOLL_OK, or what the builder refuses. */
nbcoll_status mutant_build(const nbcoll_schedule *s, mutation kind, size_t i, nbcoll_schedule **out);

#endif
