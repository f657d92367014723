/* SPDX-License-Identifier: BSD-3-Clause
 * `nbcoll run`: starts a program as several ranks. Its options, and the guard. */
#include <fcntl.h>
#include <getopt.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "crew.h"
#include "run.h"

/* ---- the options ------------------------------------------------------------------------------------------------- */

/* -np N is -n N. */
static void take_ranks(const command *self, void *user, const char *value)
{
    run_plan *plan = user;
    unsigned long long number;
    if (strcmp(value, "p") == 0 && plan->words[optind])
        value = plan->words[optind++];
    if (!command_number(value, 1, NBCOLL_SHM_RANKS, &number))
        command_refuse(self, "-n takes a number of 1..%d, not '%s'", NBCOLL_SHM_RANKS, value);
    plan->ranks = (int)number;
}

static void take_options(run_plan *plan, int argc, char *argv[])
{
    plan->words = argv;
    command_take_options(plan->self, &argc, &argv, plan, NULL);
    run_hosts_find(plan);
    if (plan->part)
        plan->ranks = plan->part;
    if (!plan->ranks && !plan->hosts && !plan->hostfile)
        command_refuse(plan->self, "-n is missing: how many ranks?");
    if (plan->seconds > 0)
        plan->timeout = (uint64_t)(plan->seconds * 1e9);
    if (plan->scratch && !plan->agent)
        command_refuse(plan->self, "--agent-scratch goes with --agent");
    if (!argc)
        command_refuse(plan->self, "which program?");
    plan->program = argv;
    if ((plan->hosts || plan->hostfile) && !plan->part)
        run_hosts_take(plan);
}

/* Can the ranks read the file? */
static void check_tuning(const run_plan *plan)
{
    command_rules rules = {.file = plan->tuning};
    command_rules_read(plan->self, &rules, NBCOLL_OPERATION_BARRIER);
    command_rules_free(&rules);
}

/* Two pipes for each rank, perhaps a pair of sockets, or a line to a part, and some more. */
static void check_limit(const run_plan *plan)
{
    struct rlimit limit;
    unsigned long long needed = (plan->agent || plan->host ? 4 : 2) * (unsigned long long)plan->ranks + 16;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < needed)
        command_fail(plan->self, "%d ranks need %llu file descriptors, and the limit is %llu (ulimit -n)", plan->ranks,
                     needed, (unsigned long long)limit.rlim_cur);
}

/* ---- the guard --------------------------------------------------------------------------------------------------- */

/* Blocks the signals that the guard and the launcher wait for: those that ask to stop, unless our caller made us deaf
 * to them, and SIGTERM always, which tells the launcher of the guard's death. */
static void block_signals(run_plan *plan, sigset_t *signals)
{
    static const int stopping[] = {SIGINT, SIGQUIT, SIGHUP};
    struct sigaction action, plain = {.sa_handler = SIG_DFL}, deaf = {.sa_handler = SIG_IGN};
    sigemptyset(signals);
    sigaddset(signals, SIGCHLD);
    sigaddset(signals, SIGTERM);
    for (int i = 0; i < 3; i++)
        if (sigaction(stopping[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            sigaddset(signals, stopping[i]);
    sigaction(SIGCHLD, &plain, NULL);
    sigaction(SIGPIPE, &deaf, &plan->pipe);
    sigprocmask(SIG_BLOCK, signals, &plan->mask);
    plan->signals = signals;
}

/* Waits for the launcher. A signal that the terminal sent has reached it without us. */
static int guard(const run_plan *plan, pid_t launcher)
{
    for (;;) {
        siginfo_t info;
        int how, signal = sigwaitinfo(plan->signals, &info);
        if (signal > 0 && signal != SIGCHLD && info.si_code != SI_KERNEL)
            kill(launcher, signal);
        if (signal != SIGCHLD || waitpid(launcher, &how, WNOHANG) != launcher)
            continue;
        if (WIFEXITED(how))
            return WEXITSTATUS(how);
        command_say(plan->self, "the launcher was killed by signal %d, and the ranks with it", WTERMSIG(how));
        return RUN_SIGNAL + WTERMSIG(how);
    }
}

static int launch_guarded(run_plan *plan)
{
    sigset_t signals;
    block_signals(plan, &signals);
    pid_t launcher = crew_fork(SIGTERM);
    if (launcher > 0) {
        int status = guard(plan, launcher);
        return plan->timeline ? run_timeline_close(plan, status) : status;
    }
    if (launcher < 0)
        command_fail(plan->self, "%s", strerror(errno));
    return run_launch(plan);
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

static int run_planned(run_plan *plan)
{
    int fd;

    /* Pipes must not take the numbers of standard streams that our caller closed. */
    while ((fd = open("/dev/null", O_RDWR | O_CLOEXEC)) >= 0 && fd <= STDERR_FILENO)
        fcntl(fd, F_SETFD, 0);
    if (fd >= 0)
        close(fd);
    check_tuning(plan);
    check_limit(plan);
    run_binding *binding = run_bind_find(plan->self, plan->host ? "none" : plan->where, plan->ranks);
    plan->binding = binding;
    run_bind_say(plan->self, binding);
    if (plan->timeline)
        run_timeline_open(plan);
    else if (plan->timeout != NBCOLL_FOREVER && !plan->total)
        run_record(plan); /* without room for it nobody is named as late */
    int status = launch_guarded(plan);
    run_bind_free(binding);
    return status;
}

static void run(const command *self, int argc, char *argv[])
{
    run_plan plan = {.self = self, .timeout = NBCOLL_FOREVER, .recording = -1};
    if (argc == 2 && strcmp(argv[1], RUN_PART) == 0)
        run_part_read(&plan, &argc, &argv);
    take_options(&plan, argc, argv);
    int status = run_planned(&plan);
    free(plan.host);
    free(plan.heard);
    command_exit(status);
}

static const command_option options[] = {
    {"n", "N", "", 0, sizeof(run_plan), .take = take_ranks},
    {.help = "  -n N, -np N       ranks, 1..256"},
    {"hosts", "A:N,B:N", "", COMMAND_IN(run_plan, hosts)},
    {"hostfile", "FILE", "", COMMAND_IN(run_plan, hostfile)},
    {.help =
    "  --hosts A:N,B:N   N ranks (1) on each of these hosts, for programs that begin with nbcoll_launch_cluster_join;\n"
    "  --hostfile FILE   the same in lines \"A:N\", \"A slots=N\" or \"A\". With -n no more than that. nbcoll, the\n"
    "                    program and files have the same paths there. No rank has our standard input. In an\n"
    "                    allocation of Slurm or PBS, without -n, its hosts are the default"},
    {"launcher", "CMD", "what starts a command on a host: CMD HOST COMMAND... (ssh; in Slurm's allocation srun)",
     COMMAND_IN(run_plan, launcher)},
    {"bind", "W",
     "core: rank i runs on core i, modulo the cores that may be used; the default where each rank can have one, and "
     "the build has hwloc. scatter: rank i of N runs on core i * C / N of the C that may be used, so that those "
     "without a rank lie between, for drivers of progress; standard error has what was chosen and why. Needs "
     "nbcoll_affinity. nbcoll info --ranks N lists them. l3: rank i runs on the cores of L3 cache i, modulo their "
     "number. none: the default otherwise", RUN_BIND(run_plan, where)},
    {"timeout", "S",
     "stop when S seconds are over (60, or 0.5; 0: never), and say which ranks had not ended, and what each of them "
     "did: who waits for others runs, or sleeps in poll or on a futex; who is late may be stopped, compute, or sleep"
     " elsewhere. Also who is late, and which ranks wait for it, be it through others, and in which operation: of "
     "programs that begin with nbcoll_launch_join, or whose contexts have nbcoll_launch_watcher",
     COMMAND_IN(run_plan, seconds), .most = 1e9},
    {"tuning", "FILE",
     "a file of rules, for programs that ask for it (nbcoll_launch_tuning); whether this one does is not seen from "
     "here. No other rules can be passed: put them into such a file", COMMAND_IN(run_plan, tuning)},
    {"timeline", "FILE",
     "record what the ranks do, and write it to FILE: JSON for nbcoll timeline, Chrome (chrome://tracing) and "
     "Perfetto. For programs that begin with nbcoll_launch_join, or whose contexts have nbcoll_launch_observer. Each "
     "rank's last 32768 events are kept. Recorded operations take longer: see docs/figures.md",
     COMMAND_IN(run_plan, timeline)},
    {"agent", "[=OVER]",
     "start a process, too, that executes what ranks have started as programs, also while a rank is stopped: for "
     "programs that ask for it (nbcoll_launch_agent). It takes a core while there is something to do. OVER verbs: "
     "the same over queue pairs of an RDMA device, all of them that process's own; verbs:DEVICES names it, as "
     "nbcoll_verbs_config.device does. Needs nbcoll_verbs", COMMAND_IN(run_plan, agent), .take = run_agent_take},
    {"agent-scratch", "BYTES",
     "scratch memory of each rank for its hierarchical operations in three parts (1048576); what needs more is carried "
     "out as a whole. nbcoll explain --program says how much one needs", COMMAND_IN(run_plan, scratch), 1, RUN_SCRATCH},
    {"prefix", NULL, "begin each line with the rank that wrote it: \"[3] \"", COMMAND_IN(run_plan, is_prefixed)},
    {0},
};

const command command_run = {
    .name = "run",
    .purpose = "starts a program as several ranks",
    .help =
    "usage: nbcoll run -n N [OPTION...] PROGRAM [ARGUMENT...]\n"
    "       nbcoll run [--hosts A:N,B:N] [OPTION...] PROGRAM [ARGUMENT...]\n\n"
    "Starts N processes of a program, ranks 0 to N-1, that find each other by nbcoll/launch.h. Rank 0 has our\n"
    "standard input, the others an empty one. Lines of output come whole, those of up to 64 KiB at least; but a\n"
    "terminal as our standard error is also rank 0's, which may draw there (not with --prefix). When a rank\n"
    "fails, that is reported and the others are asked to end (SIGTERM), and killed 2 s later. So are, in the end,\n"
    "processes that a rank has started and left.\n\n",
    .run = run,
    .options = options,
    .has_program = 1,
    .more =
    "\nThe exit status is that of the first rank that failed, 128 + S when signal S killed it; else 124 when the\n"
    "time was over, 128 + S when signal S stopped us, 127 when there is no such program, 126 when it cannot be\n"
    "run, 2 when an argument is wrong, 3 when something failed here.\n",
};
