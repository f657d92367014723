/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where ranks come into being. Only ranks.c knows what a rank is made of: a thread, joined by loopback, or a process,
 * started by `nbcoll run` and joined by shared memory.
 */
#ifndef LINESCAN_RANKS_H
#define LINESCAN_RANKS_H

#include <nbcoll/nbcoll.h>
#include <stdbool.h>

/* What each rank does. It shares nothing with the other ranks but `user`, which none of them changes. */
typedef int rank_main(nbcoll_context *context, nbcoll_comm *comm, const void *user);

/* Is this process one of several that `nbcoll run` has started? */
bool ranks_are_launched(void);

/* Runs body on `count` ranks as threads and returns what it returned on rank 0, which is the caller; or, in a process
 * that was launched as one of several ranks, runs it as that rank and returns what it returned. `driven`: each rank has
 * a driver, a thread that progresses its context. */
int ranks_run(int count, bool driven, rank_main *body, const void *user);

/* Ends the whole job when a call of the library failed. */
void must(nbcoll_status status, const char *what);

#endif
