/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The model of split trees: how many levels of a binomial tree to leave to the ranks when progress drivers have a few
 * cores for all the rest.
 *
 *     unsigned split = nbcoll_split_levels(NBCOLL_OPERATION_BCAST, 57, 64);   (1: the last level)
 *
 * Each of `ranks` computes on a core of its own, drivers share the other `cores - ranks`. A tree over them has
 * ceil(log2 ranks) levels; the last `split` of them are the ranks' own (see nbcoll_set_split_lane), all at once, while
 * nothing is computed; those above are the drivers', each level folded onto their cores, while the ranks compute. The
 * unit of time is one transfer: of the vector (bcast, reduce, allreduce), or of a block (scatter, gather), where a
 * level nearer to the root moves twice as many blocks as the next one.
 *
 * Source: Denis, Jaeger, Jeannot, Perache, Taboada, "Dynamic placement of progress thread for overlapping MPI
 * non-blocking collectives on manycore processor" (2018), section 4, equations 1 to 5. Two are read otherwise than
 * printed. Equation 2 is turned: fewer ranks compute for longer, as its text says. Equation 3, the transfers of a
 * level, gives half a one to the root's level of a tree that is not full: that is one. (In the last level of an odd
 * number of ranks it has one too many, which is left as it is.) Allreduce is reduce and then bcast, beside one
 * computation. scatter and gather, for which the paper prints figure 4 only, weigh level i of H by 2^(H-i) in all sums.
 *
 * The model knows no latency. A graph of steps has no levels: cores go on with what is ready of the next one, so that
 * levels are split off later (nbcoll_split_steps in select.h).
 */
#ifndef NBCOLL_SPLIT_H
#define NBCOLL_SPLIT_H

#if defined NBCOLL_WITH_LAB && !NBCOLL_WITH_LAB
#error "nbcoll/split.h is of the component lab: define NBCOLL_WITH_LAB=1, or link nbcoll_lab"
#endif

#include "select.h"

NBCOLLI_BEGIN

typedef enum nbcoll_split_part {
    NBCOLL_SPLIT_BLOCKING,    /* equation 1: the whole tree by the ranks */
    NBCOLL_SPLIT_COMPUTATION, /* equation 2: a computation on all cores that takes as long as the blocking operation */
    NBCOLL_SPLIT_STARTED,     /* equation 4: a start and its wait, with nothing between */
    NBCOLL_SPLIT_OVERLAPPED   /* equation 5: a start, that computation, a wait */
} nbcoll_split_part;

/* How long that takes, in units. 0 where the model says nothing: an operation other than bcast, reduce, scatter, gather
 * and allreduce, ranks < 1, or no core beside theirs. Any thread. */
NBCOLL_API double nbcoll_split_time(nbcoll_operation operation, int ranks, int cores, unsigned split,
                                    nbcoll_split_part part);

/* The `split` with which start, computation and wait take least; the smallest of those. 0 where the model says nothing.
 * Any thread. */
NBCOLL_API unsigned nbcoll_split_levels(nbcoll_operation operation, int ranks, int cores);

NBCOLLI_END
#endif
