/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks as processes: see processes.h.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "processes.h"

pid_t process_fork(void)
{
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) /* it has ended before */
            _exit(1);
    }
    return pid;
}

void await_ranks(struct player *p, atomic_int *count, int all)
{
    for (atomic_fetch_add(count, 1); atomic_load(count) < all; case_waits("the other ranks")) {
        if (p)
            player_progress(p);
        sched_yield();
    }
}

void *processes_share(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    return memory;
}

static int open_descriptors(void)
{
    DIR *dir = opendir("/proc/self/fd");
    int n = 0;
    while (dir && readdir(dir))
        n++;
    if (dir)
        closedir(dir);
    return n;
}

static void process_main(struct player *p, void (*main)(struct player *p))
{
    struct world *w = p->world;
    int before = open_descriptors();

    p->ep = w->c->open(w->c, w->made, p->rank, w->ranks);
    if (!p->ep)
        player_is_wrong(p, "open gave no end");
    if (p->ep->limits.payload != w->payload)
        player_is_wrong(p, "the payload is %zu, not %zu", p->ep->limits.payload, w->payload);
    main(p);
    nbcoll_endpoint_close(p->ep);
    if (open_descriptors() != before)
        player_is_wrong(p, "%d descriptors are open after its close, %d before", open_descriptors(), before);
}

void processes_run(struct world *w, void (*main)(struct player *p))
{
    pid_t pid[MAX_RANKS];
    int status;

    for (int i = 0; i < w->ranks; i++) {
        pid[i] = process_fork();
        CHECK(pid[i] >= 0);
        if (pid[i] == 0) {
            process_main(&w->player[i], main);
            exit(0); /* a leak checker looks */
        }
    }
    for (int ended = 0; ended < w->ranks;) {
        pid_t one = waitpid(-1, &status, 0);
        CHECK(one >= 0);
        for (int i = 0; i < w->ranks; i++) {
            if (pid[i] != one)
                continue;
            int signalled = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
            if (signalled != (i == w->killed ? SIGKILL : 0) || (!signalled && WEXITSTATUS(status) != 0))
                case_fails("the process of rank %d ended with status 0x%x", i, (unsigned)status);
            ended++;
        }
    }
}
