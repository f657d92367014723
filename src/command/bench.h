/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of `nbcoll bench` share. A *run* is one operation of one size, measured by one crew of ranks: all that
 * is compared (algorithms, kinds of buffers, forms of the call) takes turns in it.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdio.h>

#include <jansson.h>

#include "catalogue.h"
#include "rules.h"

/* ---- what is measured ------------------------------------------------------------------------------------------ */

/* The forms of a call. An iteration is measured from the start on, when all ranks are ready, to the end on the slowest
 * of them. */
typedef enum bench_form {
    BENCH_BLOCKING,
    BENCH_NONBLOCKING, /* start, and wait at once */
    BENCH_OVERLAPPED,  /* start, compute with tests inside, wait */
    BENCH_COMPUTING,   /* the same computation alone */
    BENCH_FORMS
} bench_form;

/* One of what is compared. */
typedef struct bench_entry {
    nbcoll_choice choice; /* algorithm null: the one that rules and cost model choose */
    int is_changing;      /* buffers, between iterations; else they are reused */
} bench_entry;

#define BENCH_ENTRIES 96

typedef struct bench_plan {
    nbcoll_operation operation;
    int ranks, root, are_threads;
    int known;                  /* gatherv, scatterv: the communicator has NBCOLL_COUNTS_KNOWN */
    const command_rules *rules; /* for the choice; not of what is forced */
    const nbcoll_nodes *nodes;  /* that the communicators are told of; null: one */
    size_t count; /* elements: of a block, or of the vector */
    nbcoll_reduction reduction;
    size_t entries;
    bench_entry entry[BENCH_ENTRIES];
    int instances;          /* operations in flight at once */
    int tests;              /* calls of test inside the computation */
    int rounds, iterations; /* each round has so many iterations of each form of each entry */
    double compute;         /* the computation's length, in times of a start with its wait */
    double late, noise;     /* us that one rank, in turn, comes late; that each rank does, at random, at most */
    const char *bind;       /* as in run_bind_find */
    nbcoll_transport_open *transport; /* opens the ranks' ends; null: they are over shm */
    unsigned only;          /* these forms, 1 << each; 0: all */
    int is_pair;            /* the point-to-point baseline of this size, by two ranks */
    int is_checked;         /* results are looked at, before and after the measurement */
    nbcoll_terms *terms;    /* null; or where those of the crew's communicator, without rules, are left */
} bench_plan;

/* Microseconds of one iteration. */
typedef struct bench_spread {
    double least, lower, median, upper, most; /* lower, upper: the quartiles */
    double mean;
} bench_spread;

typedef struct bench_result {
    bench_spread form[BENCH_FORMS];
    command_chosen chosen; /* what served the calls, and why */
} bench_result;

/* ---- bench_calls.c: the call of an operation ------------------------------------------------------------------- */

/* An operation as one rank calls it, in a communicator that has the rules of the entry: so the algorithm is forced. */
typedef struct bench_call {
    const bench_plan *plan;
    nbcoll_comm *comm;                 /* its own */
    command_chosen chosen;             /* what serves it */
    size_t *counts, *displs, *offsets; /* of equal blocks; displs in elements, offsets in bytes */
    nbcoll_type *types;
} bench_call;

/* How many different calls the entries of a plan make; index[e] says which is that of entry e. */
size_t bench_calls(const bench_plan *plan, size_t index[]);

/* Collective over `comm`. Errors: those of the library; ERR_UNSUPPORTED: the algorithm cannot serve the call. */
nbcoll_status bench_call_open(bench_call *call, const bench_plan *plan, const bench_entry *entry, nbcoll_comm *comm);
void bench_call_close(bench_call *call);

nbcoll_status bench_start(const bench_call *call, void *send, void *recv, nbcoll_request *request);
nbcoll_status bench_block(const bench_call *call, void *send, void *recv, uint64_t timeout);

/* The case that an algorithm (null: any) serves in a plan. */
nbcoll_case bench_case(const bench_plan *plan, const nbcoll_algorithm *algorithm);
/* The bytes of a send or a receive buffer that are enough for any rank. */
size_t bench_buffer_bytes(const bench_plan *plan);

/* ---- bench_check.c: are results right? ------------------------------------------------------------------------- */

/* Does it know what the results of the plan must be? */
int bench_can_check(const bench_plan *plan);
/* Gives a rank the input of a round, and spoils its receive buffer. */
void bench_fill(const bench_plan *plan, int rank, unsigned round, unsigned char *send, unsigned char *recv);
/* The first wrong byte of its receive buffer, after that; SIZE_MAX: there is none. */
size_t bench_wrong_at(const bench_plan *plan, int rank, unsigned round, const unsigned char *recv);

/* ---- bench_rank.c: what each rank does ------------------------------------------------------------------------- */

/* What the ranks of a crew share: each its own row of samples. */
typedef struct bench_shared bench_shared;

size_t bench_shared_bytes(const bench_plan *plan);
void bench_shared_init(const bench_plan *plan, bench_shared *shared); /* zeroed before */
/* The life of a rank, between opening its end and closing it. */
nbcoll_status bench_rank(const bench_plan *plan, bench_shared *shared, nbcoll_context *context, nbcoll_comm *comm);
/* Where a rank leaves its times: [rounds * iterations]. */
double *bench_samples(const bench_plan *plan, bench_shared *shared, int rank, size_t entry, bench_form form);
/* Notes that a rank has failed, so that the others give up. The first status stays. */
void bench_fail(bench_shared *shared, nbcoll_status status);
nbcoll_status bench_failure(bench_shared *shared);
#define BENCH_WRONG 120
/* Which result was wrong, where the failure is ERR_VERIFY: "slots, start + wait: rank 1 has a wrong byte 8". */
const char *bench_wrong(const bench_shared *shared);
/* Once, when the crew has ended. */
void bench_collect(const bench_plan *plan, bench_shared *shared, bench_result results[]);

/* ---- bench_pair.c: the point-to-point baseline ------------------------------------------------------------------ */

/* Messages of so many bytes that are in flight one way, at most BENCH_WINDOW. */
#define BENCH_WINDOW 64
int bench_window(size_t bytes);
/* The life of one of two ranks. BLOCKING are the times of a round trip, NONBLOCKING those of a window. */
nbcoll_status bench_pair(const bench_plan *plan, bench_shared *shared, nbcoll_comm *comm);

/* ---- bench_crew.c: the ranks as processes or threads ----------------------------------------------------------- */

/* Runs a crew; results[plan->entries]. 0, or an exit status after naming what is wrong. */
int bench_run(const command *self, const bench_plan *plan, bench_result results[]);

/* ---- bench_mood.c ---------------------------------------------------------------------------------------------- */

/* How far apart two cores are at the moment: microseconds of a line one way, and a letter for it, S (below 0.038), C
 * (below 0.13) or X; '-' where this process may use one core only. */
typedef struct bench_mood {
    char letter;
    double us;
} bench_mood;

bench_mood bench_probe(const command *self, const char *bind);
int bench_cores(void);  /* that this process may use */
double bench_now(void); /* us */
/* bench_spread.c: sorts n of them. */
bench_spread bench_spread_of(double sample[], size_t n);

/* ---- bench_output.c -------------------------------------------------------------------------------------------- */

typedef enum bench_format { BENCH_TABLE, BENCH_CSV, BENCH_JSON, BENCH_OSU } bench_format;

/* One entry's result as an object. */
json_t *bench_row(const bench_plan *plan, size_t entry, const bench_result *result, const bench_mood mood[2]);
void bench_print_head(bench_format format);
void bench_print_row(bench_format format, json_t *row, const json_t *before); /* the row before, or null */
/* The same of the point-to-point baseline, whose rows come first. CSV has none. */
json_t *bench_pair_row(const bench_plan *plan, const bench_result *result, const bench_mood mood[2]);
void bench_print_pair(bench_format format, const json_t *row, int is_first);
/* What the letters of a table's column mean, in a line below it. */
void bench_explain_moods(void);

/* Draws the medians of all rows by gnuplot. 0, or an exit status after naming what is wrong. */
int bench_can_plot(const command *self, const char *file);
int bench_plot(const command *self, const char *file, const json_t *rows);
/* Pictures, to begin with an empty object: adds a row's time to that of its operation and ranks, in a line of this
 * title. The scales know no 0. bench_draw has gnuplot draw them, and gives them up. */
void bench_add_point(json_t *pictures, const json_t *row, double us, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
int bench_draw(const command *self, const char *file, json_t *pictures);

#endif
