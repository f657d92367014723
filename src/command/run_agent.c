/* SPDX-License-Identifier: BSD-3-Clause
 * The process of `nbcoll run --agent` that executes the ranks' programs. It hears no signal that asks to stop: it ends
 * when all ranks have. */
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>

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

/* ---- in the child ------------------------------------------------------------------------------------------------ */

static void must(const run_agent *a, nbcoll_status status)
{
    if (status == NBCOLL_ERR_UNSUPPORTED && is_verbs(a->over)) /* which the transport has explained */
        exit(COMMAND_FAILED);
    if (status != NBCOLL_OK)
        command_fail(a->self, "--agent: %s", nbcoll_status_text(status));
}

#ifdef NBCOLL_HAVE_VERBS
static void say(void *user, nbcoll_status status, const char *text)
{
    (void)status;
    command_say(user, "--agent: %s", text);
}

/* The ends of all ranks over the devices that are named, or, without a name, over the first one. */
static void open_devices(const run_agent *a, nbcoll_endpoint *end[])
{
    const char *devices = a->over + strlen(VERBS);
    nbcoll_verbs_address *all = command_alloc((size_t)a->ranks, sizeof *all);
    nbcoll_verbs_config config = {.size = sizeof config, .ranks = a->ranks, .device = *devices ? devices + 1 : NULL,
                                  .host = {sizeof(nbcoll_host), .user = (void *)(uintptr_t)a->self, .log = say}};
    for (; config.rank < a->ranks; config.rank++) {
        must(a, nbcoll_verbs_open(&config, &all[config.rank], &end[config.rank]));
        config.beside = end[0];
    }
    for (int i = 0; i < a->ranks; i++)
        must(a, nbcoll_verbs_meet(end[i], all));
    free(all);
}
#endif

static nbcoll_loopback *open_memory(const run_agent *a, nbcoll_endpoint *end[])
{
    nbcoll_loopback_config config = {.size = sizeof config, .ranks = a->ranks, .pairs = nbcoll_loopback_pairs()};
    nbcoll_loopback *world;
    must(a, nbcoll_loopback_create(&config, &world));
    for (int i = 0; i < a->ranks; i++)
        must(a, nbcoll_loopback_open(world, i, &end[i]));
    return world;
}

/* Tells the launcher that it has all that it needs, and serves. */
static int become(void *user, int ready)
{
    run_agent *a = user;
    nbcoll_endpoint **end = command_alloc((size_t)a->ranks, sizeof *end);
    nbcoll_loopback *world = NULL;
    nbcoll_serve_config served = {.size = sizeof served, .endpoints = end, .sockets = a->end[1], .count = a->ranks,
                                  .scratch = a->scratch, .flags = is_verbs(a->over) ? NBCOLL_SERVE_OUTSIDE : 0};
    close_ends(a, 0);
    if (!is_verbs(a->over))
        world = open_memory(a, end);
#ifdef NBCOLL_HAVE_VERBS
    else
        open_devices(a, end);
#endif
    if (write(ready, "", 1) != 1)
        return COMMAND_FAILED;
    close(ready);
    nbcoll_status status = nbcoll_agent_serve(&served);
    nbcoll_loopback_free(world);
    free(end);
    return status == NBCOLL_OK ? COMMAND_OK : COMMAND_FAILED;
}

/* ---- the launcher ------------------------------------------------------------------------------------------------ */

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
    run_agent *a = command_alloc(1, sizeof *a);
    *a = (run_agent){.self = self, .over = over, .ranks = ranks, .scratch = scratch};
    ssize_t bytes = make_ends(a) ? run_fork(&a->pid, become, a) : -1;
    int how;
    if (bytes < 0)
        command_fail(self, "--agent: %s", strerror(errno));
    if (bytes == 0 && waitpid(a->pid, &how, 0) > 0 && WIFSIGNALED(how))
        command_fail(self, "--agent: its process was killed by signal %d", WTERMSIG(how));
    if (bytes == 0)
        exit(COMMAND_FAILED);
    close_ends(a, 1);
    return a;
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
