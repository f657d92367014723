/* SPDX-License-Identifier: BSD-3-Clause
 * The process of `nbcoll run --agent` that executes the ranks' programs. It hears no signal that asks to stop: it ends
 * when all ranks have. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nbcoll/loopback.h>
#ifdef NBCOLL_HAVE_VERBS
#include <nbcoll/verbs.h>
#endif

#include "run.h"

#define VERBS "verbs"

/* "verbs", or "verbs:" and names of devices. */
static int is_verbs(const char *over)
{
    size_t n = strlen(VERBS);
    return strncmp(over, VERBS, n) == 0 && (!over[n] || over[n] == ':');
}

static void close_end(run_agent *a, int side, int rank)
{
    if (a->end[side][rank] >= 0)
        close(a->end[side][rank]);
    a->end[side][rank] = -1;
}

static void close_ends(run_agent *a, int side)
{
    for (int rank = 0; rank < a->ranks; rank++)
        close_end(a, side, rank);
}

/* ---- in the child ---------------------------------------------------------------------------------------------- */

static void say(void *user, nbcoll_status status, const char *text)
{
    (void)status;
    command_say(user, "--agent: %s", text);
}

static nbcoll_status open_memory(int ranks, nbcoll_loopback **world, nbcoll_endpoint *end[])
{
    nbcoll_loopback_config config = {.size = sizeof config, .ranks = ranks, .pairs = nbcoll_loopback_pairs()};
    nbcoll_status status = nbcoll_loopback_create(&config, world);
    for (int i = 0; i < ranks && status == NBCOLL_OK; i++)
        status = nbcoll_loopback_open(*world, i, &end[i]);
    return status;
}

#ifdef NBCOLL_HAVE_VERBS
/* The ends of all ranks over these devices, or, without a name, over the first one. What lacks is also said to `host`'s
 * log. */
static nbcoll_status open_devices(int ranks, const char *devices, const nbcoll_host *host, nbcoll_endpoint *end[])
{
    nbcoll_verbs_address *all = calloc((size_t)ranks, sizeof *all);
    nbcoll_verbs_config config = {.size = sizeof config, .ranks = ranks, .device = devices, .host = *host};
    nbcoll_status status = all ? NBCOLL_OK : NBCOLL_ERR_MEMORY;
    for (; config.rank < ranks && status == NBCOLL_OK; config.rank++) {
        status = nbcoll_verbs_open(&config, &all[config.rank], &end[config.rank]);
        config.beside = end[0];
    }
    for (int i = 0; i < ranks && status == NBCOLL_OK; i++)
        status = nbcoll_verbs_meet(end[i], all);
    free(all);
    if (status == NBCOLL_OK)
        return status;
    if (status != NBCOLL_ERR_UNSUPPORTED) /* which the transport explains */
        host->log(host->user, status, nbcoll_status_text(status));
    for (int i = 0; i < ranks; i++)
        nbcoll_endpoint_close(end[i]);
    return status;
}
#endif

static nbcoll_status open_ends(const run_agent *a, nbcoll_loopback **world, nbcoll_endpoint *end[])
{
    void *self = (void *)(uintptr_t)a->self;
#ifdef NBCOLL_HAVE_VERBS
    nbcoll_host host = {.size = sizeof host, .user = self, .log = say};
    if (is_verbs(a->over))
        return open_devices(a->ranks, a->over[strlen(VERBS)] ? a->over + strlen(VERBS) + 1 : NULL, &host, end);
#endif
    nbcoll_status status = open_memory(a->ranks, world, end);
    if (status != NBCOLL_OK)
        say(self, status, nbcoll_status_text(status));
    return status;
}

/* Tells the launcher that it has all that it needs, and serves. */
static nbcoll_status serve(const run_agent *a, int ready)
{
    nbcoll_endpoint **end = calloc((size_t)a->ranks, sizeof *end);
    nbcoll_loopback *world = NULL;
    nbcoll_status status = end ? open_ends(a, &world, end) : NBCOLL_ERR_MEMORY;
    if (status == NBCOLL_OK && write(ready, "", 1) != 1)
        status = NBCOLL_ERR_TRANSPORT;
    close(ready);
    if (status == NBCOLL_OK) {
        nbcoll_serve_config served = {.size = sizeof served,
                                      .endpoints = end,
                                      .sockets = a->end[1],
                                      .count = a->ranks,
                                      .scratch = a->scratch,
                                      .flags = is_verbs(a->over) ? NBCOLL_SERVE_OUTSIDE : 0};
        status = nbcoll_agent_serve(&served);
    }
    nbcoll_loopback_free(world);
    free(end);
    return status;
}

static int become(void *user, int ready)
{
    run_agent *a = user;
    close_ends(a, 0);
    return serve(a, ready) == NBCOLL_OK ? COMMAND_OK : COMMAND_FAILED;
}

/* ---- the launcher ---------------------------------------------------------------------------------------------- */

void run_agent_take(const command *self, void *user, const char *value)
{
    const char **over = user;
    *over = value ? value : "memory";
    if (strcmp(*over, "memory") != 0 && !is_verbs(*over))
        command_refuse(self, "--agent is memory, verbs or verbs:DEVICES, not '%s'", *over);
#ifndef NBCOLL_HAVE_VERBS
    if (is_verbs(*over))
        command_refuse(self, "--agent=verbs needs a build with nbcoll_verbs");
#endif
}

static int make_ends(run_agent *a)
{
    int pair[2], made = 1;
    memset(a->end, -1, sizeof a->end);
    for (int i = 0; i < a->ranks && made; i++) {
        made = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0;
        a->end[0][i] = made ? pair[0] : -1;
        a->end[1][i] = made ? pair[1] : -1;
    }
    return made;
}

/* What ends before it can serve has said why, unless it was killed. */
run_agent *run_agent_start(const command *self, int ranks, const char *over, size_t scratch)
{
    run_agent *a = calloc(1, sizeof *a);
    ssize_t bytes = -1;
    int how;
    if (a) {
        *a = (run_agent){.self = self, .over = over, .ranks = ranks, .scratch = scratch};
        bytes = make_ends(a) ? run_fork(&a->pid, become, a) : -1;
    }
    if (bytes < 0)
        command_say(self, "--agent: %s", strerror(errno));
    else if (bytes == 0 && waitpid(a->pid, &how, 0) > 0 && WIFSIGNALED(how))
        command_say(self, "--agent: its process was killed by signal %d", WTERMSIG(how));
    if (bytes > 0) {
        close_ends(a, 1);
        return a;
    }
    run_agent_free(a);
    return NULL;
}

int run_agent_give(const run_agent *a, int rank)
{
    if (!a)
        return unsetenv("NBCOLL_AGENT");
    return fcntl(a->end[0][rank], F_SETFD, 0) < 0 ? -1 : run_set("NBCOLL_AGENT", "%d", a->end[0][rank]);
}

void run_agent_given(run_agent *a, int rank)
{
    if (a)
        close_end(a, 0, rank);
}

void run_agent_free(run_agent *a)
{
    for (int side = 0; a && side < 2; side++)
        close_ends(a, side);
    free(a);
}
