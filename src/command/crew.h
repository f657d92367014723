/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks on this machine, for subcommands that need some of their own: processes apart from the command, or threads of
 * such processes.
 */
#ifndef CREW_H
#define CREW_H

#include <stdatomic.h>
#include <sys/types.h>

#include <nbcoll/nbcoll.h>

typedef struct crew {
    int ranks;
    int together; /* so many neighbouring ranks are threads of one process: 1, ..., ranks */
    void (*live)(void *user, int rank); /* what each of them does */
    void *user;
    /* Null, or what all share: where it is 0, it gets what crew_run will return, as soon as a process has died. */
    atomic_int *failed;
} crew;

/* Runs all ranks, and returns when they have ended; they die with the command. Errors: ERR_MEMORY (a process or a
 * thread could not be made: the others were killed, or may have waited for it in vain), ERR_PEER_LOST (one died). */
nbcoll_status crew_run(const crew *c);

/* fork(), to whose child the kernel sends this signal when the process that calls it ends. */
pid_t crew_fork(int signal);

/* Memory that the command and its crew have in common, zeroed; null when there is none. */
void *crew_share(size_t bytes);
void crew_unshare(void *memory, size_t bytes); /* null is accepted */

#endif
