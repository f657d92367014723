/* SPDX-License-Identifier: BSD-3-Clause
 *
 * nbcoll and one MPI in one process: what `nbcoll bench --against` starts, a rank by the MPI's own launcher. Everything
 * that is compared in a *cell* (an operation, a size, how buffers are used) is an *entry* of it: a form of the call of
 * nbcoll or of the MPI, or the bare copies. Entries take turns, batch by batch. Rank 0 writes a line of JSON for each
 * cell; the command reads them, and does the statistics.
 */
#ifndef AGAINST_H
#define AGAINST_H

#include <stdint.h>

#include <nbcoll/schedule.h>

enum { ROUNDS_MOST = 1000, ENTRIES = 24, TURNS = 8, RANKS_MOST = 64 };

/* ---- world.c: the ranks, where they run, where they meet --------------------------------------------------------- */

typedef struct shared shared;

typedef struct world {
    int rank, ranks, cores;
    int is_relaxed; /* to be kind to other programs: as if ranks shared cores, and in the ordinary class */
    int is_crowded; /* more ranks than cores */
    int is_fifo;    /* the scheduler's real-time class, in which nothing ordinary preempts a rank */
    double clock;   /* us that two looks at the clock cost: taken off each iteration */
    shared *shared;
    unsigned char *arena; /* of all ranks: arena_bytes of each */
    size_t arena_bytes;
    uint32_t meetings;
} world;

/* Binds this rank to its core, before the MPI is there. */
void world_bind(world *w, int rank);
/* What the ranks share lies in a descriptor of rank 0, which the others open through /proc. 0 for success. */
int world_make(world *w, size_t arena_bytes, int *fd);
int world_join(world *w, int pid, int fd, size_t arena_bytes);
/* Leaves the real-time class. */
void world_relax(void);

/* A barrier in shared memory. While a rank waits it calls progress now and then (null: nothing to call), because others
 * may still need that. Ends the program where the others do not come. */
void meet(world *w, void (*progress)(void *), void *user);
/* The largest, and the sum, of what the ranks say. */
double world_most(world *w, double mine);
double world_sum(world *w, double mine);
/* Microseconds of a line from rank 0's core to rank 1's; 0 where they have one. */
double world_latency(world *w);
double now(void); /* us */
int ascending(const void *a, const void *b); /* two doubles, for qsort */
_Noreturn void give_up(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- cells and entries ------------------------------------------------------------------------------------------- */

typedef struct cell {
    nbcoll_operation operation;
    size_t count, bytes; /* floats of a block or of the vector, and what they take */
    int turns;           /* so many buffers in turn */
} cell;

/* Buffers of a rank for a cell: a send and a receive buffer for each turn. */
typedef struct buffers {
    float *send[TURNS], *recv[TURNS];
} buffers;

/* The last two: see second, below. */
typedef enum form { BLOCKING, NONBLOCKING, PERSISTENT, FORMS, APART = FORMS, STARTED_APART, ALL_FORMS } form;

/* One of what takes turns in a cell. */
typedef struct entry {
    const char *library, *memory, *form_name;
    form form;
    const cell *cell;
    const buffers *buffers;
    void *user;                       /* the library's */
    int (*open)(struct entry *entry); /* 0, or why not; then the entry is left out. May be null */
    int (*call)(struct entry *entry, int turn);
    /* Null; or the second part of the call, when all ranks have done the first: then nobody waits for another's start.
     */
    int (*second)(struct entry *entry, int turn);
    void (*close)(struct entry *entry); /* may be null */
    void (*progress)(void *user);
    int is_right;                /* checked, for every turn */
    long iterations;             /* of a batch */
    double us[ROUNDS_MOST], p99; /* of the batches; of all iterations, on the worst rank */
} entry;

/* ---- ours.c, theirs.c, copies.c: the entries of a library -------------------------------------------------------- */

typedef struct ours ours;
typedef struct copies copies;

extern const char *const form_names[ALL_FORMS];

/* Opens nbcoll over shm, with so many bytes for nbcoll_mem_alloc. `id` is rank 0's. */
ours *ours_open(world *w, const char id[41], size_t memory);
/* Over what nbcoll_cluster_open chooses between machines; `provider` of libfabric, or null. */
ours *ours_open_apart(world *w, const char *provider);
void ours_close(ours *o, world *w);
void *ours_alloc(ours *o, size_t bytes); /* memory of nbcoll_mem_alloc; null if there is none */
void ours_free(ours *o, void *memory);
int ours_entry(ours *o, entry *e, form which); /* APART: a persistent start, STARTED_APART: any, and its wait apart */
int ours_test(entry *e, int turn);             /* of what these have started: an nbcoll_status */
void ours_abandon(ours *o);

/* The bare copies. `memory` bytes of each rank's part of the arena are for buffers that the others see. */
size_t copies_arena(int ranks, size_t memory);
copies *copies_open(world *w);
float *copies_buffer(const world *w, int rank, const cell *c, int turn, int is_recv); /* null: there is no room */
int copies_entry(copies *k, entry *e, int which); /* which: the first COPIES_PRIVATE are of private memory */
enum { COPIES_PRIVATE = 3, COPIES = 4 };

void theirs_init(int *argc, char ***argv, int *rank, int *ranks, char name[256]);
void theirs_share(void *bytes, int n); /* rank 0's, to all */
nbcoll_status theirs_exchange(void *user, const void *mine, void *all, size_t bytes); /* for nbcoll_cluster_open */
int theirs_entry(entry *e, form which);
int theirs_yield(void); /* do its ranks hand their cores over while they wait? */
void theirs_finish(void);

/* gloo's, where it is installed: gloo.cc. Its ranks meet in a directory, and connect by this interface. */
int gloo_open(int rank, int ranks, const char *interface, const char *directory);
int gloo_entry(entry *e);
void *gloo_prepare(const char *operation, float *send, float *recv, size_t count); /* null: it has none */
int gloo_call(void *prepared);
void gloo_free(void *prepared);

/* ---- solo.c ------------------------------------------------------------------------------------------------------ */

/* Microseconds that start and wait of 8 bytes take on each of so many ranks of one thread. */
double solo_measure(int ranks, nbcoll_operation operation, form which);

/* ---- data.c: what the buffers hold ------------------------------------------------------------------------------- */

int has_blocks(nbcoll_operation operation);
/* Floats of the send and of the receive buffer, on any rank. */
size_t buffer_floats(const cell *c, int ranks);
/* Fills them with what `salt` makes different. */
void data_fill(const cell *c, int rank, int ranks, int salt, float *send, float *recv);
/* The first element of recv that is not as it must be; -1: all are right. */
long data_wrong(const cell *c, int rank, int ranks, int salt, const float *recv);

#endif
