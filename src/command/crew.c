/* SPDX-License-Identifier: BSD-3-Clause
 * Ranks as processes, or as threads of such. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "crew.h"

enum { LACKS_THREAD = 1 }; /* an exit status */

typedef struct member {
    const crew *crew;
    int rank;
    pthread_t thread;
} member;

static void *live(void *user)
{
    const member *m = user;
    m->crew->live(m->crew->user, m->rank);
    return NULL;
}

/* The ranks of one process, which it may leave for lack of a thread. The last one needs none of its own. */
static void live_together(const crew *c, int first)
{
    int ranks = c->ranks - first < c->together ? c->ranks - first : c->together;
    member *all = calloc((size_t)ranks, sizeof *all);
    for (int i = 0; i < ranks; i++) {
        if (!all)
            _exit(LACKS_THREAD);
        all[i] = (member){.crew = c, .rank = first + i};
        if (i + 1 < ranks && pthread_create(&all[i].thread, NULL, live, &all[i]) != 0)
            _exit(LACKS_THREAD);
    }
    live(&all[ranks - 1]);
    for (int i = 0; i + 1 < ranks; i++)
        pthread_join(all[i].thread, NULL);
    free(all);
}

pid_t crew_fork(int signal)
{
    pid_t parent = getpid(), pid = fork();
    if (pid == 0 && (prctl(PR_SET_PDEATHSIG, signal) < 0 || getppid() != parent))
        kill(getpid(), signal); /* it was gone before the kernel knew */
    return pid;
}

static pid_t start(const crew *c, int first)
{
    pid_t pid = crew_fork(SIGKILL);
    if (pid != 0)
        return pid;
    live_together(c, first);
    _exit(0);
}

/* Why a process ended so. */
static nbcoll_status ending(int how)
{
    if (how == 0)
        return NBCOLL_OK;
    return WIFEXITED(how) && WEXITSTATUS(how) == LACKS_THREAD ? NBCOLL_ERR_MEMORY : NBCOLL_ERR_PEER_LOST;
}

nbcoll_status crew_run(const crew *c)
{
    int processes = (c->ranks - 1) / c->together + 1, started = 0;
    pid_t *pids = calloc((size_t)processes, sizeof *pids);
    nbcoll_status status = pids ? NBCOLL_OK : NBCOLL_ERR_MEMORY;
    while (pids && started < processes && (pids[started] = start(c, started * c->together)) > 0)
        started++;
    if (started < processes)
        status = NBCOLL_ERR_MEMORY;
    for (int i = 0; i < started && status != NBCOLL_OK; i++)
        kill(pids[i], SIGKILL);
    for (int how; started > 0 && wait(&how) > 0; started--) { /* the command has no other children meanwhile */
        if (status != NBCOLL_OK || ending(how) == NBCOLL_OK)
            continue;
        status = ending(how);
        if (c->failed)
            atomic_compare_exchange_strong(c->failed, &(int){NBCOLL_OK}, (int)status);
    }
    free(pids);
    return status;
}

void *crew_share(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void crew_unshare(void *memory, size_t bytes)
{
    if (memory)
        munmap(memory, bytes);
}
