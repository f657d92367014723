/* SPDX-License-Identifier: BSD-3-Clause
 * The peers of `nbcoll bench --against`: where their programs are, and how they are started. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <signal.h>
#include <unistd.h>

#include "against.h"

enum { WORDS = 256, NUMBER = 24 };

static const char *const open_mpi[] = {"--oversubscribe", "--bind-to", "none", NULL};
static const char *const open_mpi_no_cma[] = {
    "--oversubscribe", "--bind-to", "none", "--mca", "btl_vader_single_copy_mechanism", "none", NULL};
static const char *const mpich[] = {"-bind-to", "none", NULL};

const against_peer against_peers[AGAINST_PEERS] = {
    {"openmpi", "", "openmpi", "mpirun.openmpi", open_mpi},
    {"openmpi-no-cma", " without CMA", "openmpi", "mpirun.openmpi", open_mpi_no_cma},
    {"mpich", "", "mpich", "mpirun.mpich", mpich},
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

/* ---- starting -------------------------------------------------------------------------------------------------- */

typedef struct line {
    const char *word[WORDS];
    int words;
    char number[3 + COMMAND_COUNTS][NUMBER];
    int numbers;
} line;

static void say(line *l, const char *word)
{
    l->word[l->words++] = word;
}

static void say_number(line *l, unsigned long long value)
{
    snprintf(l->number[l->numbers], NUMBER, "%llu", value);
    say(l, l->number[l->numbers++]);
}

static void say_all(line *l, const against_plan *plan, const against_peer *peer, int ranks, const char *program)
{
    static const char *const buffers[] = {"reused", "changing", "both"};
    say(l, launcher_of(peer));
    for (const char *const *argument = peer->arguments; *argument; argument++)
        say(l, *argument);
    say(l, "-n");
    say_number(l, (unsigned long long)ranks);
    say(l, program);
    for (int i = 0; i < plan->operations; i++) {
        say(l, "-o");
        say(l, nbcoll_operation_name(plan->operation[i]));
    }
    for (size_t i = 0; i < plan->cases->counts; i++) {
        say(l, "-c");
        say_number(l, plan->cases->count[i]);
    }
    say(l, "-b");
    say(l, buffers[plan->buffers - 1]);
    say(l, "-r");
    say_number(l, (unsigned long long)plan->rounds);
    say(l, "-i");
    say_number(l, (unsigned long long)plan->iterations);
    if (plan->is_relaxed)
        say(l, "-k");
    if (plan->has_parts)
        say(l, "-x");
    if (plan->mood) {
        say(l, "-l");
        say(l, plan->mood == 'X' ? "0.13" : plan->mood == 'C' ? "0.038" : "0");
        say(l, "-h");
        say(l, plan->mood == 'S' ? "0.038" : plan->mood == 'C' ? "0.13" : "1e9");
    }
    say(l, NULL);
}

/* In the child. Open MPI's launcher takes ranks that outnumber what it calls slots for a reason to yield, and slots may
 * be fewer than processors: so it is told. */
static void become(const line *l, const against_peer *peer, int ranks, int output)
{
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (strcmp(peer->program, "openmpi") == 0) {
        setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 0);
        setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 0);
        setenv("OMPI_MCA_mpi_yield_when_idle", ranks > bench_cores() ? "1" : "0", 0);
    }
    dup2(output, STDOUT_FILENO);
    execvp(l->word[0], (char *const *)l->word);
    fprintf(stderr, "%s: %s\n", l->word[0], strerror(errno));
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

int against_start(const against_plan *plan, const against_peer *peer, int ranks, int (*take)(void *user, json_t *line),
                  void *user)
{
    char program[4200];
    int ends[2], how = 0, status = COMMAND_FAILED;
    line l = {.words = 0};
    if (!find_program(peer, program) || pipe2(ends, O_CLOEXEC) < 0)
        return COMMAND_FAILED;
    say_all(&l, plan, peer, ranks, program);
    pid_t pid = fork();
    if (pid == 0)
        become(&l, peer, ranks, ends[1]);
    close(ends[1]);
    FILE *from = fdopen(ends[0], "r");
    if (pid > 0 && from)
        status = read_lines(from, take, user);
    if (from)
        fclose(from);
    if (pid > 0 && waitpid(pid, &how, 0) == pid && how == 0)
        return status;
    return command_fail(plan->self, "--against %s: %s did not end well", peer->name, l.word[0]);
}
