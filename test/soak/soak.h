/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Jobs of real processes over shm to which things happen at any time: what storm does in one thread and in virtual time
 * (test/storm), unsteered. A job has 2 to 6 ranks, each a program of its own, which execute a random legal mix of
 * collectives, and check what comes out. One kind of thing happens to a job.
 *
 *     kinds.c      what may happen, a row each: what it needs of the machine, and how a job may end then
 *     ground.c     the places that kinds need: namespaces, control groups, limits, filters
 *     work.c       a rank, and an agent
 *     judge.c      which ends are allowed
 *     clock.c      a clock that is set, for one job and not for the machine
 *     test_soak.c  the parent: starts jobs, lets things happen, and finds what hangs, or is left; the command line
 *
 * The programs are storm's plans (storm/plan.c), and their values (storm/values.c). */
#ifndef SOAK_H
#define SOAK_H

#include <stdatomic.h>
#include <sys/types.h>

#include "nbcoll/shm.h"
#include "../storm/storm.h"

enum { SOAK_RANKS = 6, AGENT = SOAK_RANKS, SEATS, SOCKETS = 200, BOARD = 199 /* descriptors */ };

/* How a rank ends by itself in the middle of its work. */
typedef enum suicide { LIVES, EXITS, EXECS, CRASHES } suicide;

/* What the parent has decided for all, before they start. */
typedef struct job {
    uint64_t seed;
    int ranks, rounds; /* plans that are executed, one after the other */
    int victim;        /* to whom it happens */
    uint32_t at;       /* when: after so many of its calls */
    suicide suicide;
    bool shrinks;      /* who is left goes on */
    bool has_agent, has_signals, has_mapped; /* memory of the library's comes from the system each time */
    int filter;        /* a number of a system call that is refused from `at` on; 0: none */
    int error;         /* with that */
    nbcoll_shm_id id;
    uint64_t timeout;  /* of the opening */
} job;

/* What a rank says, and what the parent does: times are CLOCK_MONOTONIC's of the parent's. */
typedef struct report {
    atomic_uint calls; /* that have been made */
    atomic_int is_open, is_over;
    _Atomic uint64_t done; /* the same, that have ended well */
    int status;            /* the first that was not OK */
    int at_opening;
    int named, number;     /* the rank in the job that the failure names, or -1; in its communicator */
    _Atomic uint64_t failed_at, left_at;
    char text[300], found[300];
} report;

typedef struct board {
    job job;
    _Atomic int64_t clock_set; /* CLOCK_REALTIME of the job's processes has been set by so many s */
    report of[SEATS];
} board;

/* ground.c */
typedef enum ground { GROUND_NONE, GROUND_PID, GROUND_TIME } ground;

/* A job while it runs; the parent's. */
typedef struct run {
    board *board;
    pid_t pid[SEATS];
    int status[SEATS]; /* as waitpid has it */
    bool has_begun[SEATS], has_ended[SEATS];
    unsigned bad; /* ranks that something may end */
    uint64_t bad_at[SEATS];
    int socket[SOAK_RANKS][2];
    ground ground;
    unsigned inside; /* the ranks that have it */
    const char *program;
    uint64_t random;
} run;

typedef struct kind {
    const char *name;
    uint64_t may_end; /* statuses that are allowed beside OK, as bits; STATUS() */
    bool dies;        /* the victim may, and is lost to others then */
    bool is_refused;  /* none may end well: all say one of those at the opening */
    /* Any may be null: */
    const char *(*prepare)(run *r);  /* a reason why this machine does not allow it; or null */
    void (*enter)(run *r, int rank); /* in the process of a rank, before it becomes one */
    void (*happen)(run *r);          /* at the time */
    void (*clear)(run *r);           /* after all have ended */
} kind;
#define STATUS(name) (UINT64_C(1) << NBCOLL_ERR_##name)
extern const kind soak_kinds[];
extern const size_t soak_kind_count;

/* What the command line says. */
extern const char *soak_beside; /* the same program of another build; or null */

uint64_t soak_now(void);
uint64_t soak_draw(run *r, uint64_t below);
void soak_sleep(uint64_t ns);
/* A signal to a rank; KILL and the like are noted. */
void soak_signal(run *r, int rank, int signal);

/* clock.c: from now on this process has the clock of that job. */
void soak_set_clock_by(const board *b);

/* In a process of its own. */
_Noreturn void soak_work(board *b, int rank);
_Noreturn void soak_serve(board *b);

/* What is wrong with how it has ended; or null. */
const char *soak_judge(const run *r, const kind *k, char text[600]);

/* ground.c: each says 0, or an errno. */
int ground_enter(ground g);  /* children that are forked from now on are in a new one */
void ground_leave(ground g); /* and no more */
void ground_end(void);       /* of the last one, when its ranks have ended */
int ground_group(const char *controller, const char *file, const char *value); /* makes it, and writes that */
int ground_write(const char *controller, const char *file, const char *value); /* to the one that was made */
int ground_join(const char *controller);
void ground_remove(const char *controller);
/* In a mount namespace of its own, /dev/shm has so many bytes, and is full; 0: cannot be written to. */
int ground_small(size_t bytes);
int ground_filter(int call, int error);

#endif
