/* SPDX-License-Identifier: BSD-3-Clause
 * The peers of `nbcoll bench --against`: where their programs are, and how they are started. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <signal.h>
#include <unistd.h>

#include "against.h"

enum { LINE = 4096 }; /* of a shell */

#define NO_CMA " --mca btl_vader_single_copy_mechanism none"
#define OPEN_MPI "--oversubscribe --bind-to none"

const against_peer against_peers[AGAINST_PEERS] = {
    {"openmpi", "", "openmpi", "mpirun.openmpi", OPEN_MPI},
    {"openmpi-no-cma", " without CMA", "openmpi", "mpirun.openmpi", OPEN_MPI NO_CMA},
    {"mpich", "", "mpich", "mpirun.mpich", "-bind-to none"},
};

/* Seen from this command, where it was built, or installed. 0 if it is not there. */
static int find_program(const against_peer *peer, char file[4200])
{
    static const char *const places[] = {"bench/against", "../libexec/nbcoll"};
    char self[4096];
    int found = 0;
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length < 0)
        return 0;
    self[length] = 0;
    *strrchr(self, '/') = 0;
    for (size_t i = 0; i < sizeof places / sizeof *places && !found; i++) {
        snprintf(file, 4200, "%s/%s/%s", self, places[i], peer->program);
        found = access(file, X_OK) == 0;
    }
    return found;
}

static const char *launcher_of(const against_peer *peer)
{
    return command_is_installed(peer->launcher) ? peer->launcher : "mpirun";
}

int against_is_there(const against_peer *peer)
{
    char file[4200];
    return find_program(peer, file) && command_is_installed(launcher_of(peer));
}

/* ---- starting ---------------------------------------------------------------------------------------------------- */

/* What the shell is to run; $0 is the program. */
static void write_line(char line[LINE], const benchmark *b, const against_peer *peer, int ranks)
{
    static const char *const buffers[] = {"reused", "changing", "both"};
    snprintf(line, LINE, "exec %s %s -n %d \"$0\"", launcher_of(peer), peer->options, ranks);
    for (int i = 0; i < b->operations; i++)
        command_add(line, LINE, " -o %s", nbcoll_operation_name(b->operation[i]));
    for (size_t i = 0; i < b->cases.counts; i++)
        command_add(line, LINE, " -c %zu", b->cases.count[i]);
    command_add(line, LINE, " -b %s -r %d -i %d%s%s", buffers[b->buffers - 1], b->plan.rounds, b->plan.iterations,
                b->is_relaxed ? " -k" : "", b->has_parts ? " -x" : "");
    if (b->latency)
        command_add(line, LINE, " -l %s -h %s", *b->latency == 'X' ? "0.13" : *b->latency == 'C' ? "0.038" : "0",
                    *b->latency == 'S' ? "0.038" : *b->latency == 'C' ? "0.13" : "1e9");
}

/* In the child. Open MPI's launcher takes ranks that outnumber what it calls slots for a reason to yield, and slots may
 * be fewer than processors: so it is told. */
static void become(const char *line, const char *program, const against_peer *peer, int ranks, int output)
{
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (strcmp(peer->program, "openmpi") == 0) {
        setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 0);
        setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 0);
        setenv("OMPI_MCA_mpi_yield_when_idle", ranks > bench_cores() ? "1" : "0", 0);
    }
    dup2(output, STDOUT_FILENO);
    execl("/bin/sh", "sh", "-c", line, program, (char *)NULL);
    _exit(127);
}

static int read_lines(FILE *from, int (*take)(void *user, json_t *line), void *user)
{
    char *text = NULL;
    size_t size = 0;
    int status = 0;
    while (getline(&text, &size, from) > 0) {
        json_t *object = status ? NULL : json_loads(text, 0, NULL); /* what it says else is not for us */
        if (json_is_object(object))
            status = take(user, object);
        json_decref(object);
    }
    free(text);
    return status;
}

int against_start(const benchmark *b, const against_peer *peer, int ranks, int (*take)(void *user, json_t *line),
                  void *user)
{
    char program[4200], line[LINE];
    int ends[2], how = 0, status = COMMAND_FAILED;
    if (!find_program(peer, program) || pipe2(ends, O_CLOEXEC) < 0)
        return COMMAND_FAILED;
    write_line(line, b, peer, ranks);
    pid_t pid = fork();
    if (pid == 0)
        become(line, program, peer, ranks, ends[1]);
    close(ends[1]);
    FILE *from = fdopen(ends[0], "r");
    if (pid > 0 && from)
        status = read_lines(from, take, user);
    if (from)
        fclose(from);
    if (pid > 0 && waitpid(pid, &how, 0) == pid && how == 0)
        return status;
    return command_fail(b->self, "--against %s: %s did not end well", peer->name, launcher_of(peer));
}
