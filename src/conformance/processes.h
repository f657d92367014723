/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks that are processes, forked from that of their case, which they do not outlive.
 */
#ifndef NBCOLLI_CONFORMANCE_PROCESSES_H
#define NBCOLLI_CONFORMANCE_PROCESSES_H

#include "player.h"

/* Runs main for each player in a process of its own, which opens the end before and closes it behind; returns when all
 * have ended, all well but for w->killed, which must have been killed. Each works on a copy of the world. */
static void processes_run(struct world *w, void (*main)(struct player *p));
/* Memory that a case and its processes share; zeroed. It lasts until the case ends. */
static void *processes_share(size_t bytes);
/* Waits in shared memory until so many ranks do; this one progresses meanwhile, if one is given. */
static void await_ranks(struct player *p, atomic_int *count, int all);
/* Forks; what runs in the child is killed when the thread that has forked it ends. */
static pid_t process_fork(void);

#endif
