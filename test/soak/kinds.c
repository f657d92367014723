/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What may happen to a job. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "soak.h"

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { IS_SANITIZED = 1 };
#else
enum { IS_SANITIZED = 0 };
#endif

static char reason[200];

static const char *because(const char *what, int error)
{
    snprintf(reason, sizeof reason, "%s: %s", what, strerror(error));
    return error ? reason : NULL;
}

/* Tried by a child, which keeps what it has changed. */
static int tried(int (*try)(void))
{
    int status;
    pid_t pid = fork();
    if (pid == 0)
        _exit(try());
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : ECHILD;
}

static job *job_of(run *r)
{
    return &r->board->job;
}

static void victim_is_bad(run *r)
{
    r->bad |= 1u << job_of(r)->victim;
    r->bad_at[job_of(r)->victim] = 0;
}

/* ---- signals ----------------------------------------------------------------------------------------------------- */

static void kill_one(run *r)
{
    soak_signal(r, job_of(r)->victim, SIGKILL);
}

static void kill_two(run *r)
{
    kill_one(r);
    soak_sleep(soak_draw(r, 3 * MILLISECOND));
    soak_signal(r, (job_of(r)->victim + 1) % job_of(r)->ranks, SIGKILL);
}

static void stop_for_a_while(run *r, int seat)
{
    soak_signal(r, seat, SIGSTOP);
    soak_sleep(soak_draw(r, 4) ? soak_draw(r, 20 * MILLISECOND) : soak_draw(r, 300 * MILLISECOND));
    soak_signal(r, seat, SIGCONT);
}

static void stop(run *r)
{
    for (int i = 1 + (int)soak_draw(r, 5); i > 0; i--) {
        stop_for_a_while(r, (int)soak_draw(r, (uint64_t)job_of(r)->ranks));
        soak_sleep(soak_draw(r, 5 * MILLISECOND));
    }
}

static void stop_and_kill(run *r)
{
    soak_signal(r, job_of(r)->victim, SIGSTOP);
    soak_sleep(soak_draw(r, 200 * MILLISECOND));
    kill_one(r);
}

static const char *exits(run *r)
{
    victim_is_bad(r);
    job_of(r)->suicide = EXITS;
    return NULL;
}

static const char *execs(run *r)
{
    victim_is_bad(r);
    job_of(r)->suicide = EXECS;
    return NULL;
}

static const char *crashes(run *r)
{
    victim_is_bad(r);
    job_of(r)->suicide = CRASHES;
    return IS_SANITIZED ? "a sanitizer says that it crashes" : NULL;
}

static const char *with_signals(run *r)
{
    job_of(r)->has_signals = true;
    return NULL;
}

/* ---- limits ------------------------------------------------------------------------------------------------------ */

static const char *with_mapped(run *r)
{
    job_of(r)->has_mapped = true;
    job_of(r)->at += !job_of(r)->at; /* when the test has what itself needs */
    return IS_SANITIZED ? "a sanitizer takes all addresses" : NULL;
}

/* As much as it has, or little more. */
static void limit_addresses(run *r)
{
    int victim = job_of(r)->victim;
    unsigned long pages = 0;
    char path[40];
    snprintf(path, sizeof path, "/proc/%d/statm", (int)r->pid[victim]);
    FILE *file = fopen(path, "r");
    if (!file)
        return;
    if (fscanf(file, "%lu", &pages) == 1 && pages) {
        struct rlimit limit = {pages * 4096 + soak_draw(r, 300000), RLIM_INFINITY};
        prlimit(r->pid[victim], RLIMIT_AS, &limit, NULL);
    }
    fclose(file);
}

static void enter_limit(int what, uint64_t most)
{
    struct rlimit limit = {most, most};
    setrlimit((unsigned)what, &limit);
}

static void few_descriptors(run *r, int rank)
{
    if (rank == job_of(r)->victim)
        enter_limit(RLIMIT_NOFILE, 4 + mix(job_of(r)->seed, 50) % 24);
}

static const char *opened(run *r)
{
    job_of(r)->at += !job_of(r)->at;
    return NULL;
}

static const char *waits_briefly(run *r)
{
    job_of(r)->timeout = 2 * SECOND;
    return NULL;
}

static void no_more_descriptors(run *r)
{
    struct rlimit limit = {3, 1024};
    prlimit(r->pid[job_of(r)->victim], RLIMIT_NOFILE, &limit, NULL);
}

static void small_files(run *r, int rank)
{
    uint64_t random = mix(job_of(r)->seed, 51);
    if (rank == job_of(r)->victim)
        enter_limit(RLIMIT_FSIZE, random % 3 ? random / 3 % (32 << 20) : 0);
}

static void other_limits(run *r, int rank)
{
    static const int limits[] = {RLIMIT_MEMLOCK, RLIMIT_CORE, RLIMIT_SIGPENDING, RLIMIT_MSGQUEUE, RLIMIT_RTPRIO};
    (void)r;
    (void)rank;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        enter_limit(limits[i], 0);
}

/* ---- control groups ---------------------------------------------------------------------------------------------- */

static const char *group(run *r, const char *controller, const char *file, const char *value)
{
    char found[100];
    int error = ground_group(controller, file, value);
    (void)r;
    snprintf(found, sizeof found, "no control group of %s", controller);
    return because(found, error);
}

static const char *little_memory(run *r)
{
    char bytes[30];
    const char *why;
    snprintf(bytes, sizeof bytes, "%llu", (unsigned long long)(1 + soak_draw(r, 30)) << 20);
    why = group(r, "memory", "memory.limit_in_bytes", bytes);
    if (why && !group(r, "memory", "memory.max", bytes))
        why = NULL;
    victim_is_bad(r);
    return why;
}

static const char *little_time(run *r)
{
    return group(r, "cpu", "cpu.cfs_quota_us", "5000") ? group(r, "cpu", "cpu.max", "5000 100000") : NULL;
}

static const char *freezing(run *r)
{
    return group(r, "freezer", "freezer.state", "THAWED") ? group(r, "freezer", "cgroup.freeze", "0") : NULL;
}

static void join(const char *controller)
{
    if (ground_join(controller) != 0)
        _exit(9);
}

static void enter_memory(run *r, int rank)
{
    if (rank == job_of(r)->victim)
        join("memory");
}

static void enter_cpu(run *r, int rank)
{
    if (rank == job_of(r)->victim)
        join("cpu");
}

static void enter_freezer(run *r, int rank)
{
    if (rank == job_of(r)->victim)
        join("freezer");
}

static void freeze(run *r)
{
    for (int i = 1 + (int)soak_draw(r, 4); i > 0; i--) {
        if (ground_write("freezer", "freezer.state", "FROZEN") != 0)
            ground_write("freezer", "cgroup.freeze", "1");
        soak_sleep(soak_draw(r, 100 * MILLISECOND));
        if (ground_write("freezer", "freezer.state", "THAWED") != 0)
            ground_write("freezer", "cgroup.freeze", "0");
        soak_sleep(soak_draw(r, 5 * MILLISECOND));
    }
}

static void clear_memory(run *r)
{
    (void)r;
    ground_remove("memory");
}

static void clear_cpu(run *r)
{
    (void)r;
    ground_remove("cpu");
}

static void clear_freezer(run *r)
{
    (void)r;
    ground_remove("freezer");
}

/* ---- namespaces -------------------------------------------------------------------------------------------------- */

static int try_small(void)
{
    return ground_small(65536);
}

static int try_pid(void)
{
    return unshare(CLONE_NEWPID) ? errno : 0;
}

static int try_time(void)
{
    int error = ground_enter(GROUND_TIME);
    return error;
}

static int try_net(void)
{
    return unshare(CLONE_NEWNET) ? errno : 0;
}

static int try_others(void)
{
    return unshare(CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWNS) ? errno : 0;
}

static const char *mounts(run *r)
{
    (void)r;
    return because("no mount namespace", tried(try_small));
}

static void full_shm(run *r, int rank)
{
    (void)rank;
    if (ground_small((1 + mix(job_of(r)->seed, 52) % 16) * 4096))
        _exit(9);
}

static void shm_of_none(run *r, int rank)
{
    (void)r;
    (void)rank;
    if (ground_small(0))
        _exit(9);
}

static const char *pid_of_all(run *r)
{
    r->ground = GROUND_PID;
    r->inside = ~0u;
    return because("no PID namespace", tried(try_pid));
}

static const char *pid_of_one(run *r)
{
    r->ground = GROUND_PID;
    r->inside = 1u << job_of(r)->victim;
    return because("no PID namespace", tried(try_pid));
}

static void clear_pid(run *r)
{
    (void)r;
    ground_end();
}

static const char *time_of_all(run *r)
{
    r->ground = GROUND_TIME;
    r->inside = ~0u;
    return because("no time namespace", tried(try_time));
}

static const char *nets(run *r)
{
    job_of(r)->timeout = 2 * SECOND;
    return because("no network namespace", tried(try_net));
}

static void net_of_one(run *r, int rank)
{
    if (rank == job_of(r)->victim && try_net())
        _exit(9);
}

static const char *others(run *r)
{
    (void)r;
    return because("no namespaces", tried(try_others));
}

static void others_of_one(run *r, int rank)
{
    if (rank == job_of(r)->victim && try_others())
        _exit(9);
}

/* ---- filters ----------------------------------------------------------------------------------------------------- */

static int try_filter(void)
{
    return ground_filter(SYS_personality, EPERM);
}

static const char *filtered(run *r, const int *calls, size_t count)
{
    job_of(r)->filter = calls[soak_draw(r, count)];
    job_of(r)->error = soak_draw(r, 2) ? EPERM : ENOSYS;
    return because("no filters", tried(try_filter));
}

static const char *late_filter(run *r)
{
    static const int calls[] = {SYS_process_vm_readv, SYS_process_vm_readv, SYS_memfd_create, SYS_pidfd_open,
                                SYS_membarrier, SYS_getrandom, SYS_sched_getaffinity, SYS_socket, SYS_prctl};
    return filtered(r, calls, sizeof calls / sizeof *calls);
}

static const char *early_filter(run *r)
{
    static const int calls[] = {SYS_process_vm_readv, SYS_memfd_create, SYS_pidfd_open, SYS_membarrier,
                                SYS_eventfd2, SYS_epoll_create1, SYS_sched_getaffinity, SYS_socket, SYS_fallocate};
    const char *why = filtered(r, calls, sizeof calls / sizeof *calls);
    job_of(r)->at = UINT32_MAX; /* it has it from the beginning */
    job_of(r)->timeout = 2 * SECOND;
    return why;
}

static void enter_filter(run *r, int rank)
{
    if (rank == job_of(r)->victim && ground_filter(job_of(r)->filter, job_of(r)->error))
        _exit(9);
}

/* ---- builds, agents, clocks, cores ------------------------------------------------------------------------------- */

static const char *builds(run *r)
{
    (void)r;
    return soak_beside ? NULL : "no other build beside this one";
}

static void other_build(run *r, int rank)
{
    if (mix(job_of(r)->seed, 53) >> rank & 1)
        r->program = soak_beside;
}

static const char *with_agent(run *r)
{
    job_of(r)->has_agent = true;
    job_of(r)->shrinks = false; /* who has lost its agent alone would wait for others that go on */
    return NULL;
}

static void kill_agent(run *r)
{
    soak_signal(r, AGENT, SIGKILL);
}

static void stop_agent(run *r)
{
    for (int i = 0; i < 3; i++)
        stop_for_a_while(r, AGENT);
}

/* To and fro by up to 6 years, and at last back to where it was. */
static void set_clock(run *r)
{
    for (int i = 0; i < 20; i++) {
        atomic_store(&r->board->clock_set, (int64_t)soak_draw(r, 400000000) - 200000000);
        soak_sleep(soak_draw(r, 3 * MILLISECOND));
    }
    atomic_store(&r->board->clock_set, 0);
}

static void change_cores(run *r)
{
    cpu_set_t all, one;
    sched_getaffinity(0, sizeof all, &all);
    for (int i = 0; i < 20; i++) {
        int rank = (int)soak_draw(r, (uint64_t)job_of(r)->ranks), core = (int)soak_draw(r, 8);
        CPU_ZERO(&one);
        CPU_SET(core, &one);
        sched_setaffinity(r->pid[rank], sizeof all, CPU_ISSET(core, &all) ? &one : &all);
        soak_sleep(soak_draw(r, 3 * MILLISECOND));
    }
}

#define NO_ROOM (STATUS(MEMORY) | STATUS(TRANSPORT) | STATUS(UNSUPPORTED) | STATUS(LIMIT) | STATUS(TIMEOUT))
const kind soak_kinds[] = {
    {.name = "nothing"},
    {"one is killed", .dies = true, .happen = kill_one},
    {"two are killed", .dies = true, .happen = kill_two},
    {"some are stopped", .happen = stop},
    {"one is stopped and killed", .dies = true, .happen = stop_and_kill},
    {"one exits", .dies = true, .prepare = exits},
    {"one becomes another program", .dies = true, .prepare = execs},
    {"one crashes", .dies = true, .prepare = crashes},
    {"signals", .prepare = with_signals},
    {"addresses run out", STATUS(MEMORY) | STATUS(CANCELLED) | STATUS(MISMATCH), .prepare = with_mapped,
     .happen = limit_addresses},
    {"few descriptors", NO_ROOM, .prepare = waits_briefly, .enter = few_descriptors},
    {"no more descriptors", .prepare = opened, .happen = no_more_descriptors},
    {"small files", NO_ROOM, .prepare = waits_briefly, .enter = small_files},
    {"limits of other things", .enter = other_limits},
    {"a control group of little memory", NO_ROOM, .dies = true, .prepare = little_memory, .enter = enter_memory,
     .clear = clear_memory},
    {"a control group of little time", .prepare = little_time, .enter = enter_cpu, .clear = clear_cpu},
    {"a control group is frozen", .prepare = freezing, .enter = enter_freezer, .happen = freeze,
     .clear = clear_freezer},
    {"/dev/shm is small and full", .prepare = mounts, .enter = full_shm},
    {"/dev/shm cannot be written to", .prepare = mounts, .enter = shm_of_none},
    {"a PID namespace", .prepare = pid_of_all, .clear = clear_pid},
    {"a PID namespace of one", STATUS(NAMESPACE), .is_refused = true, .prepare = pid_of_one, .clear = clear_pid},
    {"a network namespace of one", STATUS(NAMESPACE) | STATUS(TIMEOUT), .is_refused = true, .prepare = nets,
     .enter = net_of_one},
    {"other namespaces of one", .prepare = others, .enter = others_of_one},
    {"a clock that is 30 years old", .prepare = time_of_all},
    {"the clock is set", .happen = set_clock},
    {"a filter set late", .prepare = late_filter},
    {"a filter set before", NO_ROOM, .prepare = early_filter, .enter = enter_filter},
    {"builds with and without sanitizers", .prepare = builds, .enter = other_build},
    {"an agent is killed", STATUS(PEER_LOST), .prepare = with_agent, .happen = kill_agent},
    {"an agent is stopped", .prepare = with_agent, .happen = stop_agent},
    {"a rank with an agent is killed", .dies = true, .prepare = with_agent, .happen = kill_one},
    {"other cores", .happen = change_cores},
};
const size_t soak_kind_count = sizeof soak_kinds / sizeof *soak_kinds;
