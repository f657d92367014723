/* SPDX-License-Identifier: BSD-3-Clause
 * Runs points of the grid, one behind the other in worlds that several of them share. */
#ifndef RUN_H
#define RUN_H

#include "joined.h"
#include "point.h"

/* What has run over a transport that has nodes, on so many nodes in a numbering: bits of the values of RANKS and of
 * OPERATION. */
typedef struct nodes_seen {
    uint32_t ranks, operations;
} nodes_seen;

typedef struct tally {
    size_t runs, wrong;
    nodes_seen on[TRANSPORTS][JOINED_COUNT + 1][JOINED_NUMBERINGS];
} tally;

/* Sanitizers run every twelfth point only. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { RUN_EVERY = 12 };
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
enum { RUN_EVERY = 12 };
#else
enum { RUN_EVERY = 1 };
#endif
#else
enum { RUN_EVERY = 1 };
#endif

/* Points that share a world (ranks, transport, flags; with rules, but one for an operation) and follow each other are
 * run in one, up to a limit. That the algorithm of a rule really runs is watched. A point
 * whose buffers are wrong at the end is printed and counted; a status that is not as it should be, or a crash, is
 * printed with its point and ends the program, since the ranks are no longer in step. */
typedef struct runner runner;
runner *runner_open(void);
void runner_add(runner *r, const point *p);
tally runner_close(runner *r);
/* Runs what has been added. Of all that has been run since the opening. */
const tally *runner_run(runner *r);
/* What this thread is running, or ran last. */
const char *runner_point(void);

#endif
