/* SPDX-License-Identifier: BSD-3-Clause
 * The launcher of `nbcoll run`: one loop that waits for signals, deaths and deadlines. It runs until a rank fails, the
 * time is over, a signal asks it to stop, or all ranks have ended; then what is left is asked to stop, and after a
 * grace period killed. Orphans among what they started are its children (PR_SET_CHILD_SUBREAPER), so that going up from
 * any of them by parents leads here. */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "crew.h"
#include "run.h"

#define MILLISECOND UINT64_C(1000000)
#define GRACE (2000 * MILLISECOND)
#define AGAIN (100 * MILLISECOND) /* how often what does not die is killed */

/* Those that have been sent a signal. */
typedef struct run_told {
    pid_t *pid;
    size_t count, room;
} run_told;

typedef struct launch {
    const run_plan *plan;
    run_output *output;
    char id[RUN_ID];              /* of this set of ranks */
    nbcoll_tcp *tcp;              /* or null: it listens for the ranks of several machines */
    pid_t pids[NBCOLL_SHM_RANKS]; /* 0: not started, or ended */
    int line[NBCOLL_SHM_RANKS];   /* of hosts: where we write to their parts */
    run_agent *agent;             /* or null */
    int is_childless;
    enum { RUNNING, STOPPING, KILLING, OVER } stage;
    uint64_t deadline; /* of the stage */
    int signal;        /* by which all were asked to end; 0: by a terminal */
    run_told told;     /* those that were */
    int status;
} launch;

/* ---- the processes that descend from this one -------------------------------------------------------------------- */

/* What a process does, as /proc says it: 'R' runs, 'S' sleeps. 0: nothing is known, nor its parent. */
static char state_of(pid_t pid, pid_t *parent)
{
    char path[40], text[256], state = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    text[length < 0 ? 0 : length] = 0;
    if (fd >= 0)
        close(fd);
    const char *end = strrchr(text, ')'); /* of the name, which may hold anything */
    return end && sscanf(end + 1, " %c %d", &state, parent) == 2 ? state : 0;
}

static int is_family(pid_t pid)
{
    while (pid > 1 && state_of(pid, &pid))
        if (pid == getpid())
            return 1;
    return 0;
}

/* Adds a process to those told; 0 when it is one. */
static int is_news(run_told *told, pid_t pid)
{
    for (size_t i = 0; i < told->count; i++)
        if (told->pid[i] == pid)
            return 0;
    command_append(&told->pid, &told->count, &told->room, &pid, sizeof pid);
    return 1;
}

/* Sends a signal to every process that descends from this one and was not told yet; null: to all. 0, or -1 where /proc
 * does not say which they are. */
static int signal_family(int signal, run_told *told)
{
    DIR *all = opendir("/proc");
    if (!all)
        return -1;
    int seen = 0;
    for (struct dirent *entry; (entry = readdir(all));) {
        pid_t pid = isdigit((unsigned char)entry->d_name[0]) ? (pid_t)strtol(entry->d_name, NULL, 10) : 0;
        seen |= pid == getpid();
        if (pid > 1 && is_family(pid) && (!told || is_news(told, pid)))
            kill(pid, signal);
    }
    closedir(all);
    return seen ? 0 : -1;
}

/* ---- stopping ---------------------------------------------------------------------------------------------------- */

static void signal_all(const launch *l, int signal, run_told *told)
{
    if (signal_family(signal, told) == 0)
        return;
    for (int rank = 0; rank < l->plan->ranks; rank++)
        if (l->pids[rank])
            kill(l->pids[rank], signal);
}

/* Passes a signal to the parts, also a terminal's, which has not reached them. Those that have not been told what to do
 * find that their input ends. */
static void tell_parts(const launch *l, int signal)
{
    for (int i = 0; l->plan->host && i < l->plan->ranks; i++)
        if (l->pids[i] && i && !*l->id)
            close(l->line[i]);
        else if (l->pids[i] && write(l->line[i], &(char){(char)signal}, 1) < 0)
            kill(l->pids[i], SIGKILL); /* nobody hears it there */
}

/* How many have not ended. */
static int has_ranks(const launch *l)
{
    int ranks = 0;
    for (int rank = 0; rank < l->plan->ranks; rank++)
        ranks += l->pids[rank] != 0;
    return ranks;
}

/* Asks whoever was not asked yet: a process that was being born escapes a first look. */
static void ask(launch *l)
{
    if (l->plan->host && has_ranks(l))
        return;
    if (l->stage == STOPPING && l->signal && !l->is_childless)
        signal_all(l, l->signal, &l->told);
}

/* Asks everything to end by this signal, or by 0 if it has been asked. The first reason to stop decides the status. */
static void stop(launch *l, int status, int signal)
{
    if (l->stage != RUNNING)
        return;
    l->stage = STOPPING;
    l->deadline = command_ns() + (l->plan->host ? 2 : 1) * GRACE; /* parts have theirs */
    l->status = status;
    l->signal = signal;
    tell_parts(l, signal ? signal : status - RUN_SIGNAL);
    ask(l);
}

/* All ranks have ended, and left something behind. That is asked by SIGTERM, whatever it was asked by before. */
static void sweep(launch *l)
{
    stop(l, COMMAND_OK, SIGTERM);
    if (l->signal == SIGTERM)
        return;
    l->signal = SIGTERM;
    l->told.count = 0;
}

/* What a rank does, as the kernel tells: "sleeps in hrtimer_nanosleep". Who waits for others sleeps in poll or on a
 * futex, or runs; who is late computes, is stopped, or sleeps elsewhere. */
static const char *doing(pid_t pid, char text[96])
{
    static const char *const states[] = {"Rruns", "Ssleeps", "Dwaits for a device", "Tis stopped", "tis traced"};
    char path[64], name[64] = "", state = state_of(pid, &(pid_t){0});
    snprintf(path, sizeof path, "/proc/%d/wchan", (int)pid);
    FILE *f = state == 'S' ? fopen(path, "r") : NULL;
    if (f && fscanf(f, "%63s", name) != 1)
        name[0] = 0;
    if (f)
        fclose(f);
    *text = 0;
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        if (states[i][0] == state)
            snprintf(text, 96, " (%s%s%s)", states[i] + 1, name[0] && name[0] != '0' ? " in " : "",
                     name[0] && name[0] != '0' ? name : "");
    return text;
}

/* "host b, ranks 2..3", in a part "rank 2 on b", else "rank 2". */
static const char *who_is(const run_plan *plan, int rank, char text[600])
{
    const nbcoll_cluster_place *h = plan->host ? &plan->host[rank] : NULL;
    *text = 0;
    if (h)
        command_add(text, 600, "host %s, rank%s ", h->name, h->ranks > 1 ? "s" : "");
    command_add(text, 600, "%s%d", h ? "" : "rank ", h ? h->first : plan->first + rank);
    if (h && h->ranks > 1)
        command_add(text, 600, "..%d", h->first + h->ranks - 1);
    if (*plan->on)
        command_add(text, 600, " on %s", plan->on);
    return text;
}

/* "rank 3", "ranks 0, 2": those that have not ended; with `tells`, also what they do. */
static const char *living(const launch *l, int tells, char *text, size_t size)
{
    char does[96] = "", who[600];
    int ranks = has_ranks(l), is_host = l->plan->host != NULL;
    const char *before = ranks == 1 || is_host ? "" : "ranks ";
    *text = 0;
    for (int rank = 0; rank < l->plan->ranks; rank++)
        if (l->pids[rank]) {
            const char *name = who_is(l->plan, rank, who);
            command_add(text, size, "%s%s%s", before, ranks == 1 || is_host ? name : name + sizeof "rank",
                        tells ? doing(l->pids[rank], does) : does);
            before = is_host ? "; " : ", ";
        }
    return ranks ? text : "no rank, but what ranks have left";
}

/* What is due when the deadline of the stage has passed. */
static void pass_deadline(launch *l)
{
    char text[2000];
    if (l->stage == RUNNING) {
        if (l->plan->timeline)
            l->plan->ended[l->plan->ranks] = command_ns();
        run_output_say(l->output, "the time of %g s is over; still running: %s", (double)l->plan->timeout / 1e9,
                       living(l, 1, text, sizeof text));
        if (*run_late(l->plan, text, sizeof text))
            run_output_say(l->output, "late: %s", text);
        stop(l, RUN_TIMEOUT, SIGTERM);
        return;
    }
    if (l->is_childless) { /* nobody takes our output */
        l->stage = OVER;
        return;
    }
    if (l->stage == STOPPING)
        run_output_say(l->output, "killed, since it did not end within %g s: %s",
                       (double)(l->plan->host ? 2 : 1) * GRACE / 1e9, living(l, 0, text, sizeof text));
    l->stage = KILLING;
    l->deadline = command_ns() + AGAIN;
    signal_all(l, SIGKILL, NULL);
}

/* ---- starting ---------------------------------------------------------------------------------------------------- */

static int exit_status(int how)
{
    return WIFEXITED(how) ? WEXITSTATUS(how) : RUN_SIGNAL + WTERMSIG(how);
}

int run_set(const char *name, const char *format, ...)
{
    char text[64];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return setenv(name, text, 1);
}

ssize_t run_fork(pid_t *pid, int (*become)(void *user, int report), void *user)
{
    int report[2];
    char said;
    ssize_t bytes = -1;
    if (pipe2(report, O_CLOEXEC) < 0)
        return -1;
    *pid = crew_fork(SIGKILL);
    if (*pid == 0) {
        close(report[0]);
        _exit(become(user, report[1]));
    }
    close(report[1]);
    while (*pid > 0 && (bytes = read(report[0], &said, 1)) < 0 && errno == EINTR)
        ;
    int error = errno;
    close(report[0]);
    errno = error;
    return bytes;
}

/* In a child that becomes a rank's program. 0, or -1 and errno. */
static int set_variables(const launch *l, int rank)
{
    const run_plan *plan = l->plan;
    run_set("NBCOLL_RANK", "%d", plan->first + rank);
    run_set("NBCOLL_RANKS", "%d", plan->total ? plan->total : plan->ranks);
    setenv("NBCOLL_ID", l->id, 1);
    if (plan->tuning)
        setenv("NBCOLL_TUNING", plan->tuning, 1);
    else
        unsetenv("NBCOLL_TUNING");
    unsetenv("NBCOLL_LISTENER");
    unsetenv("NBCOLL_TIMELINE");
    unsetenv("NBCOLL_WAITS");
    if (plan->recording >= 0) /* where the ranks, and what they start, find the launcher's descriptor */
        run_set(plan->timeline ? "NBCOLL_TIMELINE" : "NBCOLL_WAITS", "/proc/%d/fd/%d", (int)getppid(), plan->recording);
#ifdef NBCOLL_HAVE_CLUSTER
    int listener = rank ? -1 : nbcoll_tcp_listener(l->tcp);
    if (listener >= 0 && (fcntl(listener, F_SETFD, 0) < 0 || run_set("NBCOLL_LISTENER", "%d", listener) < 0))
        return -1;
#endif
    return run_agent_give(l->agent, rank);
}

typedef struct birth {
    const launch *l;
    int rank, ends[2], line; /* 0, or the end of a part's line from which it reads */
} birth;

/* In the child: gives it what a rank has, and becomes the program. Says what it cannot; the exit status. */
static int become_rank(const birth *b)
{
    const run_plan *plan = b->l->plan;
    char who[600];
    int rank = b->rank, error = run_bind_here(plan->binding, rank), bound = !error;
    int input = b->line ? b->line : rank || plan->part ? open("/dev/null", O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
    if (error || input < 0 || (input && dup2(input, STDIN_FILENO) < 0) || dup2(b->ends[0], STDOUT_FILENO) < 0 ||
        dup2(b->ends[1], STDERR_FILENO) < 0 || (!plan->host && set_variables(b->l, rank) < 0)) {
        error = error ? error : errno;
        command_say(plan->self, "%s %.400s: %s", bound ? "starting" : "binding", who_is(plan, rank, who),
                    strerror(error));
        return COMMAND_FAILED;
    }
    sigaction(SIGPIPE, &plan->pipe, NULL);
    sigprocmask(SIG_SETMASK, &plan->mask, NULL);
    if (plan->host)
        run_hosts_become(plan, rank);
    else
        execvp(plan->program[0], plan->program);
    error = errno;
    command_say(plan->self, "%s%s%.400s: %s", *plan->on ? who_is(plan, rank, who) : "", *plan->on ? ": " : "",
                plan->host ? plan->launcher : plan->program[0], strerror(error));
    return error == ENOENT ? RUN_NOT_FOUND : RUN_NOT_EXECUTABLE;
}

static int become(void *user, int report)
{
    int status = become_rank(user);
    return write(report, "", 1) == 1 ? status : COMMAND_FAILED;
}

/* Returns when the child has become the program, or has said why not: 0, or the exit status of `nbcoll run`. */
static int start(launch *l, int rank)
{
    birth b = {
        l, rank, {run_output_open(l->output, rank, STDOUT_FILENO), run_output_open(l->output, rank, STDERR_FILENO)}, 0};
    char who[600];
    pid_t pid = 0;
    int line[2] = {0, 0}, lacks = l->plan->host && pipe2(line, O_CLOEXEC) < 0, how = 0;
    b.line = line[0];
    ssize_t bytes = lacks || b.ends[0] < 0 || b.ends[1] < 0 ? -1 : run_fork(&pid, become, &b);
    if (bytes < 0)
        run_output_say(l->output, "starting %.400s: %s", who_is(l->plan, rank, who), strerror(errno));
    else if (bytes)
        waitpid(pid, &how, 0);
    l->pids[rank] = bytes ? 0 : pid;
    if (line[0]) {
        close(line[0]);
        l->line[rank] = line[1];
    }
    run_agent_given(l->agent, rank);
    for (int i = 0; i < 2; i++)
        if (b.ends[i] >= 0)
            close(b.ends[i]);
    return bytes < 0 ? COMMAND_FAILED : exit_status(how);
}

/* ---- deaths and signals ------------------------------------------------------------------------------------------ */

/* `rank` below 0: the agent. */
static void report(const launch *l, int rank, pid_t pid, int how)
{
    char who[600] = "the agent";
    if (rank >= 0)
        who_is(l->plan, rank, who);
    if (WIFEXITED(how)) {
        run_output_say(l->output, "%s (process %d) failed: exit status %d", who, (int)pid, WEXITSTATUS(how));
        return;
    }
    const char *name = sigabbrev_np(WTERMSIG(how));
    run_output_say(l->output, "%s (process %d) was killed by signal %d (SIG%s: %s)%s", who, (int)pid, WTERMSIG(how),
                   name ? name : "", strsignal(WTERMSIG(how)), WCOREDUMP(how) ? ", core dumped" : "");
}

/* Takes in what has ended. Ranks that fail before anything was asked to stop are reported; of those that did at the
 * same time, the first one killed by a signal is to blame, since the others may have failed for lack of it. */
static void reap(launch *l)
{
    int failed = 0, how;
    pid_t pid;
    while ((pid = waitpid(-1, &how, WNOHANG)) > 0) {
        int rank = 0;
        if (l->agent && pid == l->agent->pid) { /* what it had ends on the ranks, which say what that means */
            l->agent->pid = 0;
            if (how && l->stage < KILLING) /* it hears no signal that asks */
                report(l, -1, pid, how);
            continue;
        }
        while (rank < l->plan->ranks && l->pids[rank] != pid)
            rank++;
        if (rank == l->plan->ranks)
            continue; /* what a rank had left */
        if (how && l->stage == RUNNING) {
            report(l, rank, pid, how);
            if (!failed || (WIFEXITED(failed) && !WIFEXITED(how)))
                failed = how;
        } else if (l->plan->host && l->stage == STOPPING && l->status < RUN_SIGNAL && WIFEXITED(how) &&
                   WEXITSTATUS(how) > RUN_SIGNAL + l->signal) { /* a signal killed a rank there, and that is to blame */
            l->status = WEXITSTATUS(how);
        }
        l->pids[rank] = 0;
        if (l->plan->timeline)
            l->plan->ended[rank] = command_ns();
    }
    if (pid < 0 && !l->is_childless) {
        l->is_childless = 1;
        if (l->stage == KILLING)
            l->deadline = command_ns() + GRACE; /* for the output */
    }
    if (failed)
        stop(l, exit_status(failed), SIGTERM);
    else if (!has_ranks(l) && !l->is_childless)
        sweep(l);
    ask(l);
}

/* ---- the loop ---------------------------------------------------------------------------------------------------- */

/* Waits until there may be something to do: at most until the deadline. */
static int await(const launch *l, siginfo_t *info)
{
    const uint64_t second = 1000 * MILLISECOND;
    uint64_t time = command_ns(), left = l->deadline > time ? l->deadline - time : 0;
    if (left > 1000 * second)
        left = 1000 * second;
    return sigtimedwait(l->plan->signals, info, &(struct timespec){(time_t)(left / second), (long)(left % second)});
}

/* The first part has said the id: now the others can start. */
static void tell_others(launch *l)
{
    const char *id = l->plan->host && !*l->id && l->stage == RUNNING ? run_output_id(l->output) : NULL;
    if (!id)
        return;
    snprintf(l->id, sizeof l->id, "%s", id);
    for (int i = 1; i < l->plan->ranks; i++)
        run_hosts_tell(l->plan, i, l->line[i], id);
}

/* A signal that the terminal sent has reached the ranks without us. */
static void attend(launch *l)
{
    siginfo_t info;
    int signal = await(l, &info);
    if (signal > 0 && signal != SIGCHLD)
        stop(l, RUN_SIGNAL + signal, info.si_code == SI_KERNEL ? 0 : signal);
    reap(l);
    tell_others(l);
    if (run_output_has_failed(l->output))
        stop(l, COMMAND_FAILED, SIGTERM);
    if (command_ns() >= l->deadline)
        pass_deadline(l);
}

/* What the ranks find each other by. */
static void make_id(launch *l)
{
    nbcoll_shm_id id = {""};
    if (l->plan->part) {
        run_part_id(l->plan, l->id, &l->tcp);
        return;
    }
    if (!l->plan->host)
        command_fail_status(l->plan->self, nbcoll_shm_id_make(&id));
    snprintf(l->id, sizeof l->id, "%s", id.text);
}

static int run_ranks(launch *l)
{
    const run_plan *plan = l->plan;
    int status = 0;
    make_id(l);
    l->deadline = plan->timeout == NBCOLL_FOREVER ? NBCOLL_FOREVER : command_ns() + plan->timeout;
    if (plan->host && plan->timeout != NBCOLL_FOREVER)
        l->deadline += GRACE; /* parts say who is late */
    if (plan->agent)
        l->agent = run_agent_start(plan->self, plan->ranks, plan->agent, plan->scratch);
    for (int rank = 0; rank < plan->ranks && !status; rank++)
        if ((status = start(l, rank)))
            stop(l, status, SIGTERM);
    if (!status && plan->host)
        run_hosts_tell(plan, 0, l->line[0], "");
    for (int rank = 0; rank < plan->ranks; rank++) /* those that have not started: the agent would wait for them */
        run_agent_given(l->agent, rank);
#ifdef NBCOLL_HAVE_CLUSTER
    nbcoll_tcp_close(l->tcp); /* rank 0 has it */
#endif
    int error = run_output_start(l->output);
    if (!error && plan->part)
        error = run_part_hear();
    if (error) {
        command_say(plan->self, "%s", strerror(error));
        stop(l, COMMAND_FAILED, SIGTERM);
    }
    reap(l);
    while (!l->is_childless || (l->stage != OVER && !run_output_end(l->output)))
        attend(l);
    return l->status;
}

int run_launch(const run_plan *plan)
{
    run_output *output = run_output_new(plan->ranks, plan->is_prefixed, plan->host ? -1 : plan->first);
    launch l = {.plan = plan, .output = output, .status = COMMAND_OK};
    if (!output || prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
        command_fail(plan->self, "%s", strerror(errno));
    int status = run_ranks(&l);
    run_agent_free(l.agent);
    free(l.told.pid);
    run_output_free(l.output);
    return status;
}
