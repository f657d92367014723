/* SPDX-License-Identifier: BSD-3-Clause
 * The process of `nbcoll run --agent` that executes the ranks' programs. It hears no signal that asks to stop: it ends
 * when all ranks have. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef NBCOLL_HAVE_AGENT
#include <nbcoll/loopback.h>
#include <nbcoll/offload.h>
#endif

#include "run.h"

struct run_agent {
    int ranks;
    size_t scratch;
    int *end[2]; /* [ranks] each: the ranks' ends, and its own; -1: closed */
    pid_t pid;   /* 0: it has ended */
};

#define VERBS "verbs"

/* "verbs", or "verbs:" and names of devices. */
static int is_verbs(const char *over)
{
    size_t n = strlen(VERBS);
    return strncmp(over, VERBS, n) == 0 && (!over[n] || over[n] == ':');
}

static void close_ends(run_agent *a, int side)
{
    for (int i = 0; i < a->ranks; i++)
        if (a->end[side][i] >= 0) {
            close(a->end[side][i]);
            a->end[side][i] = -1;
        }
}

/* ---- in the child ---------------------------------------------------------------------------------------------- */

#ifdef NBCOLL_HAVE_AGENT
static void say(void *user, nbcoll_status status, const char *text)
{
    (void)status;
    command_refuse(user, "--agent: %s", text);
}

static nbcoll_status open_memory(int ranks, nbcoll_loopback **world, nbcoll_endpoint *end[])
{
    nbcoll_loopback_config config = {.size = sizeof config, .ranks = ranks, .pairs = nbcoll_loopback_pairs()};
    nbcoll_status status = nbcoll_loopback_create(&config, world);
    for (int i = 0; i < ranks && status == NBCOLL_OK; i++)
        status = nbcoll_loopback_open(*world, i, &end[i]);
    return status;
}

static nbcoll_status open_ends(const command *self, int ranks, const char *over, nbcoll_loopback **world,
                               nbcoll_endpoint *end[])
{
#ifdef NBCOLL_HAVE_VERBS
    nbcoll_host host = {.size = sizeof host, .user = (void *)(uintptr_t)self, .log = say};
    if (is_verbs(over))
        return run_agent_verbs(ranks, over[strlen(VERBS)] ? over + strlen(VERBS) + 1 : NULL, &host, end);
#else
    (void)over;
#endif
    nbcoll_status status = open_memory(ranks, world, end);
    if (status != NBCOLL_OK)
        say((void *)(uintptr_t)self, status, nbcoll_status_text(status));
    return status;
}

/* Tells the launcher that it has all that it needs, and serves. */
static nbcoll_status serve(const command *self, const run_agent *a, const char *over, int ready)
{
    nbcoll_endpoint **end = calloc((size_t)a->ranks, sizeof *end);
    nbcoll_loopback *world = NULL;
    nbcoll_status status = end ? open_ends(self, a->ranks, over, &world, end) : NBCOLL_ERR_MEMORY;
    if (status == NBCOLL_OK && write(ready, "", 1) != 1)
        status = NBCOLL_ERR_TRANSPORT;
    close(ready);
    if (status == NBCOLL_OK) {
        nbcoll_serve_config served = {.size = sizeof served,
                                      .endpoints = end,
                                      .sockets = a->end[1],
                                      .count = a->ranks,
                                      .scratch = a->scratch,
                                      .flags = is_verbs(over) ? NBCOLL_SERVE_OUTSIDE : 0};
        status = nbcoll_agent_serve(&served);
    }
    nbcoll_loopback_free(world);
    free(end);
    return status;
}
#else
static nbcoll_status serve(const command *self, const run_agent *a, const char *over, int ready)
{
    (void)self, (void)a, (void)over, (void)ready;
    return NBCOLL_ERR_UNSUPPORTED;
}
#endif

static int become(const command *self, run_agent *a, const char *over, const int ready[2], pid_t launcher)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != launcher)
        return COMMAND_FAILED;
    close(ready[0]);
    close_ends(a, 0);
    return serve(self, a, over, ready[1]) == NBCOLL_OK ? COMMAND_OK : COMMAND_FAILED;
}

/* ---- the launcher ---------------------------------------------------------------------------------------------- */

int run_agent_take(const command *self, void *user, const char *value)
{
    const char **over = user;
    *over = value ? value : "memory";
#ifndef NBCOLL_HAVE_AGENT
    return command_refuse(self, "--agent needs a build with the transports shm and loopback");
#endif
    if (strcmp(*over, "memory") != 0 && !is_verbs(*over))
        return command_refuse(self, "--agent is memory, verbs or verbs:DEVICES, not '%s'", *over);
#ifndef NBCOLL_HAVE_VERBS
    if (is_verbs(*over))
        return command_refuse(self, "--agent=verbs needs a build with nbcoll_verbs");
#endif
    return 0;
}

static int make_ends(run_agent *a)
{
    int pair[2], made = 1;
    for (int i = 0; i < 2 * a->ranks; i++)
        a->end[0][i] = -1; /* all of both sides */
    for (int i = 0; i < a->ranks && made; i++) {
        made = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0;
        a->end[0][i] = made ? pair[0] : -1;
        a->end[1][i] = made ? pair[1] : -1;
    }
    return made;
}

/* Waits until it can serve. What ended before that has said why, unless it was killed. */
static int is_ready(const command *self, run_agent *a, int ready)
{
    char byte;
    ssize_t bytes;
    int how = 0;
    while ((bytes = read(ready, &byte, 1)) < 0 && errno == EINTR)
        ;
    if (bytes == 1)
        return 1;
    while (waitpid(a->pid, &how, 0) < 0 && errno == EINTR)
        ;
    if (WIFSIGNALED(how))
        command_refuse(self, "--agent: its process was killed by signal %d", WTERMSIG(how));
    a->pid = 0;
    return 0;
}

run_agent *run_agent_start(const command *self, int ranks, const char *over, size_t scratch)
{
    run_agent *a = calloc(1, sizeof *a);
    int *ends = malloc(2 * (size_t)ranks * sizeof *ends), ready[2] = {-1, -1}, is_made = 0;
    if (a && ends) {
        *a = (run_agent){.ranks = ranks, .scratch = scratch, .end = {ends, ends + ranks}};
        is_made = make_ends(a) && pipe2(ready, O_CLOEXEC) == 0;
    } else
        free(ends);
    pid_t launcher = getpid();
    if (is_made && (a->pid = fork()) == 0)
        _exit(become(self, a, over, ready, launcher));
    if (!is_made || a->pid < 0)
        command_refuse(self, "--agent: %s", strerror(errno));
    if (ready[1] >= 0)
        close(ready[1]);
    is_made = is_made && a->pid > 0 && is_ready(self, a, ready[0]);
    if (ready[0] >= 0)
        close(ready[0]);
    if (is_made) {
        close_ends(a, 1);
        return a;
    }
    if (a && ends)
        run_agent_free(a);
    else
        free(a);
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
