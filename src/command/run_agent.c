/* SPDX-License-Identifier: BSD-3-Clause
 * The process of `nbcoll run --agent` that executes the ranks' programs. It hears no signal that asks to stop: it ends
 * when all ranks have. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#ifdef NBCOLL_HAVE_AGENT
#include <nbcoll/loopback.h>
#include <nbcoll/offload.h>
#endif

#include "run.h"

struct run_agent {
    int ranks;
    int *end[2]; /* [ranks] each: the ranks' ends, and its own; -1: closed */
    pid_t pid;   /* 0: it has ended */
};

static void close_ends(run_agent *a, int side)
{
    for (int i = 0; i < a->ranks; i++)
        if (a->end[side][i] >= 0) {
            close(a->end[side][i]);
            a->end[side][i] = -1;
        }
}

#ifdef NBCOLL_HAVE_AGENT
/* In the child. */
static nbcoll_status serve(const run_agent *a)
{
    nbcoll_loopback_config config = {.size = sizeof config, .ranks = a->ranks};
    nbcoll_endpoint **endpoint = calloc((size_t)a->ranks, sizeof(nbcoll_endpoint *));
    nbcoll_loopback *world = NULL;
    nbcoll_status status = endpoint ? nbcoll_loopback_create(&config, &world) : NBCOLL_ERR_MEMORY;
    for (int i = 0; i < a->ranks && status == NBCOLL_OK; i++)
        status = nbcoll_loopback_open(world, i, &endpoint[i]);
    if (status == NBCOLL_OK) {
        nbcoll_serve_config served = {
            .size = sizeof served, .endpoints = endpoint, .sockets = a->end[1], .count = a->ranks};
        status = nbcoll_agent_serve(&served);
    }
    nbcoll_loopback_free(world);
    free(endpoint);
    return status;
}
#else
static nbcoll_status serve(const run_agent *a)
{
    (void)a;
    return NBCOLL_ERR_UNSUPPORTED;
}
#endif

static int become(run_agent *a, pid_t launcher)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != launcher)
        return COMMAND_FAILED;
    close_ends(a, 0);
    return serve(a) == NBCOLL_OK ? COMMAND_OK : COMMAND_FAILED;
}

int run_agent_is_there(void)
{
#ifdef NBCOLL_HAVE_AGENT
    return 1;
#else
    return 0;
#endif
}

run_agent *run_agent_start(int ranks)
{
    run_agent *a = calloc(1, sizeof *a);
    int *ends = malloc(2 * (size_t)ranks * sizeof *ends), pair[2], made = 1;
    if (!a || !ends) {
        free(a);
        free(ends);
        return NULL;
    }
    *a = (run_agent){.ranks = ranks, .end = {ends, ends + ranks}};
    for (int i = 0; i < 2 * ranks; i++)
        ends[i] = -1;
    for (int i = 0; i < ranks && made; i++) {
        made = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0;
        a->end[0][i] = made ? pair[0] : -1;
        a->end[1][i] = made ? pair[1] : -1;
    }
    pid_t self = getpid();
    a->pid = made ? fork() : -1;
    if (a->pid == 0)
        _exit(become(a, self));
    int error = errno;
    close_ends(a, 1);
    if (a->pid > 0)
        return a;
    run_agent_free(a);
    errno = error;
    return NULL;
}

pid_t run_agent_process(const run_agent *a)
{
    return a ? a->pid : 0;
}

void run_agent_has_ended(run_agent *a)
{
    a->pid = 0;
}

int run_agent_give(const run_agent *a, int rank)
{
    char text[16];
    if (!a) {
        unsetenv("NBCOLL_AGENT");
        return 0;
    }
    snprintf(text, sizeof text, "%d", a->end[0][rank]);
    return fcntl(a->end[0][rank], F_SETFD, 0) < 0 || setenv("NBCOLL_AGENT", text, 1) < 0 ? -1 : 0;
}

void run_agent_given(run_agent *a, int rank)
{
    if (!a || a->end[0][rank] < 0)
        return;
    close(a->end[0][rank]);
    a->end[0][rank] = -1;
}

void run_agent_free(run_agent *a)
{
    if (!a)
        return;
    close_ends(a, 0);
    close_ends(a, 1);
    free(a->end[0]);
    free(a);
}
