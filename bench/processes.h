/* SPDX-License-Identifier: BSD-3-Clause
 * Ranks that are processes of one benchmark. */
#ifndef BENCH_PROCESSES_H
#define BENCH_PROCESSES_H

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs each rank in a child. Returns what main returns: 0 if all went well. */
static inline int run_ranks(int ranks, void (*run_rank)(void *shared, int rank), void *shared)
{
    int is_wrong = 0, how;

    for (int r = 0; r < ranks; r++)
        if (fork() == 0) {
            run_rank(shared, r);
            fflush(stdout);
            _exit(0);
        }
    for (int r = 0; r < ranks; r++)
        is_wrong |= wait(&how) < 0 || how != 0;
    return is_wrong;
}

#endif
