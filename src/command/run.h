/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of `nbcoll run` share. Two processes make it up. The *guard*, which the user started, passes signals
 * on and waits; if it is killed, the kernel tells the launcher. The *launcher* is its child and the parent of the
 * ranks; whatever they start and leave becomes its child too, so that nothing outlives it. If the launcher itself is
 * killed, the kernel kills the ranks.
 */
#ifndef RUN_H
#define RUN_H

#include <signal.h>

#include <nbcoll/cluster.h> /* types; functions with NBCOLL_HAVE_CLUSTER */
#include <nbcoll/shm.h>
#include <nbcoll/timeline.h>

#include "command.h"

/* Exit statuses besides those of the ranks, as shells and timeout(1) have them. */
enum { RUN_TIMEOUT = 124, RUN_NOT_EXECUTABLE = 126, RUN_NOT_FOUND = 127, RUN_SIGNAL = 128 };

/* ---- run_bind.c: where ranks may run ----------------------------------------------------------------------------- */

typedef struct run_binding run_binding;

/* The row of --bind in tables of options. */
#define RUN_BIND(type, member) COMMAND_IN(type, member), .words = "core, scatter, l3 or none"
/* Finds places for the ranks: `where` is "core", "scatter", "l3", "none", or null for cores if each rank can have one.
 * Null when they are not to be bound. `self` null: who only asks gets null, and no word, also where something is
 * wrong. */
run_binding *run_bind_find(const command *self, const char *where, int ranks);
/* Says what was chosen for ranks that are scattered, and why, also that no core is to spare; of others nothing. */
void run_bind_say(const command *self, const run_binding *binding);
/* The same for who binds so many ranks later. */
void run_bind_tell(const command *self, const char *where, int ranks);
/* 0, or the errno with which the system refuses to say on which processors this process may run. Then hwloc must not be
 * asked: it would ask the system for ever, each time with room for twice as many. Without hwloc it is not there. */
int run_bind_error(void);
/* The processors of a rank's place, "0-3,8". */
const char *run_bind_text(const run_binding *binding, int rank, char *text, size_t room);
/* Binds this process to the place of a rank. 0, or an errno. Null binds nothing. */
int run_bind_here(const run_binding *binding, int rank);
void run_bind_free(run_binding *binding);

/* ---- run_agent.c: the process that executes the ranks' programs -------------------------------------------------- */

typedef struct run_agent {
    const command *self;
    const char *over;
    int ranks;
    size_t scratch;
    int end[2][NBCOLL_SHM_RANKS]; /* the ranks' ends, and its own; -1: closed */
    pid_t pid;                    /* 0: it has ended */
} run_agent;

#define RUN_SCRATCH (1u << 30) /* bytes at most */

/* Takes into a const char * what --agent says programs go over: "memory", "verbs", "verbs:DEVICES"; null: memory. */
void run_agent_take(const command *self, void *over, const char *value);
/* Before the ranks start; returns when it has what programs go over. `scratch`: of nbcoll_serve_config. */
run_agent *run_agent_start(const command *self, int ranks, const char *over, size_t scratch);
/* In a rank's process: gives the program its end, or says that there is none. 0, or -1 and errno. */
int run_agent_give(const run_agent *agent, int rank);
/* The rank has its end, or has failed to start. Null is accepted, here and by the next. */
void run_agent_given(run_agent *agent, int rank);
void run_agent_free(run_agent *agent);

/* ---- run_launch.c: the ranks from their start to their end ------------------------------------------------------- */

typedef struct run_heard run_heard;

typedef struct run_plan {
    const command *self;
    int ranks; /* here; of --hosts the hosts */
    const char *hosts, *hostfile, *launcher; /* the options, or what a batch system says; then */
    const char *counts;         /* ranks of the hosts, in Slurm's words, or null */
    nbcoll_cluster_place *host; /* [ranks]: what is started are shells there; or null */
    run_heard *heard;       /* of a part: its options and program; or null */
    int first, part, total; /* of ranks on several machines: of a part its first and its ranks; all. Else 0 */
    const char *id;         /* of a part: what the launcher said, "": it makes the id */
    char on[256];           /* of a part: the host */
    int is_prefixed;
    const char *agent; /* what its programs go over; null: there is none */
    size_t scratch;    /* bytes that it shares with each rank; 0: the usual */
    double seconds;    /* of --timeout, or 0 */
    uint64_t timeout;  /* ns, or NBCOLL_FOREVER */
    const run_binding *binding;
    const char *tuning; /* a file for the ranks, or null */
    int recording;        /* a descriptor of where they note what they do, or only for whom they wait; or -1 */
    const char *timeline; /* a file for what they did, or null; then */
    FILE *trace;          /* this file, */
    uint64_t begun;       /* since when (command_ns), they note it, */
    uint64_t *ended;      /* and [ranks + 1] for the launcher: when a rank ended, and when the time of all was over,
                           * or 0; shared with the guard */
    const char *where; /* --bind */
    char **words;      /* of the command line, as it is read */
    char **program; /* and its arguments, ended by a null */
    /* What the ranks get back: the signals that are blocked here, and what became of SIGPIPE. */
    sigset_t mask;
    struct sigaction pipe;
    const sigset_t *signals; /* blocked, for the launcher to take */
} run_plan;

/* Sets a variable of the environment, of at most 63 letters: 0, or -1 and errno. */
int run_set(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Forks a child that the kernel kills when this process ends, and calls `become` there, which gives its exit status.
 * Waits until the child has written a byte to `report`: 1; or closed it, which a program that it becomes does: 0; -1
 * and errno: there is no child. */
ssize_t run_fork(pid_t *pid, int (*become)(void *user, int report), void *user);

/* Starts the ranks, and returns when they and all that they started have ended: with the exit status of the command. */
int run_launch(const run_plan *plan);

/* ---- run_hosts.c: ranks on several machines ---------------------------------------------------------------------- */

#define RUN_PART "--part-of-hosts"   /* the one argument of a part */
#define RUN_HAS_ID "nbcoll run: id " /* begins the line in which a part says it */
enum { RUN_ID = sizeof(nbcoll_tcp_id) };

/* Without -n, --hosts and --hostfile: sets what a batch system has given us. */
void run_hosts_find(run_plan *plan);
/* Finds the hosts in the options. */
void run_hosts_take(run_plan *plan);
/* In a child: becomes the shell of a host; or returns, with errno. */
void run_hosts_become(const run_plan *plan, int host);
/* Tells a part, by its line, what it is to do, unless it has ended. */
void run_hosts_tell(const run_plan *plan, int host, int line, const char *id);

/* In a part: reads what it is to do, and its command line. */
void run_part_read(run_plan *plan, int *argc, char **argv[]);
/* The id; with *tcp, if it makes it. */
void run_part_id(const run_plan *plan, char text[RUN_ID], nbcoll_tcp **tcp);
/* From now on the signals that the launcher passes come to this process; SIGTERM when it has ended. 0, or an errno. */
int run_part_hear(void);

/* ---- run_timeline.c: what the ranks note ------------------------------------------------------------------------- */

/* Before the ranks start. */
void run_timeline_open(run_plan *plan);
/* When they have ended, with this exit status, well or badly: writes the trace. Gives the exit status. */
int run_timeline_close(const run_plan *plan, int status);

/* Before the ranks start: where they note what they do, or for whom they wait. 0, or -1 and errno: they do not. */
int run_record(run_plan *plan);

/* Of ranks that run and note it, who is late, and who waits for it, also through others: "rank 1, for which wait 0 (in
 * bcast, operation 3), 2 (in ...); rank 3, ...". An operation's number is its tag. Empty where none is, or nothing is
 * noted. */
const char *run_late(const run_plan *plan, char *text, size_t size);

/* ---- run_output.c: whole lines ----------------------------------------------------------------------------------- */

/* What the ranks write, on its way to our standard output and standard error, a line at a time. */
typedef struct run_output run_output;

/* Ranks are numbered from `first`; below 0: they are hosts, whose lines have prefixes. */
run_output *run_output_new(int ranks, int is_prefixed, int first);
void run_output_free(run_output *output);

/* Makes the pipe for what a rank writes to `descriptor` (1 or 2). Gives the rank's end, which for rank 0's standard
 * error may be our own; -1 and errno on failure. */
int run_output_open(run_output *output, int rank, int descriptor);

/* Adds a line of our own to standard error: "nbcoll run: ...". */
void run_output_say(run_output *output, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Begins to pass lines: a signal SIGCHLD to this process says that there is news of the two below. 0, or an errno. */
int run_output_start(run_output *output);
/* The id that the first host has said; null: not yet. SIGCHLD tells of it. */
const char *run_output_id(const run_output *output);
/* Could our output not be written? That has been said, if it can; what follows is dropped. */
int run_output_has_failed(const run_output *output);
/* To be called again and again once all writers are gone: has everything been written? */
int run_output_end(run_output *output);

#endif
