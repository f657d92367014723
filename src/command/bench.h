/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of `nbcoll bench` share. A *run* is one operation of one size, measured by one crew of ranks: all that
 * is compared (algorithms, kinds of buffers, forms of the call) takes turns in it.
 */
#ifndef BENCH_H
#define BENCH_H

#include "command.h"

/* ---- what is measured -------------------------------------------------------------------------------------------- */

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
    nbcoll_case at; /* the call. Of its nodes the communicators are told; known: these have NBCOLL_COUNTS_KNOWN */
    int are_threads;
    const command_rules *rules; /* for the choice; not of what is forced */
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

/* ---- bench_rank.c: what each rank does --------------------------------------------------------------------------- */

/* The bytes of a send or a receive buffer that are enough for any rank. */
size_t bench_buffer_bytes(const bench_plan *plan);
/* Does it know what the results of the plan must be? */
int bench_can_check(const bench_plan *plan);

/* Runs a crew over shared memory; results[plan->entries]. */
void bench_run(const command *self, const bench_plan *plan, bench_result results[]);

/* bench.c: messages of so many bytes that are in flight one way in the point-to-point baseline. */
int bench_window(size_t bytes);

/* ---- the latency class --------------------------------------------------------------------------------------- */

/* How far apart two cores are at the moment: microseconds of a line one way, and a letter for it, S (below 0.038), C
 * (below 0.13) or X; '-' where this process may use one core only. */
typedef struct bench_latency {
    char letter;
    double us;
} bench_latency;

bench_latency bench_probe(const command *self, const char *bind);
int bench_cores(void); /* that this process may use */

/* ---- bench_spread.c ---------------------------------------------------------------------------------------------- */

bench_spread bench_spread_of(double sample[], size_t n); /* sorts them */

/* A median with the interval in which it lies at 95%. */
typedef struct against_interval {
    double median, low, high;
} against_interval;
#define AGAINST_ROUNDS 1000 /* at most */
against_interval against_ratio(const double ours[], const double theirs[], size_t rounds);

/* ---- what the user asked for ------------------------------------------------------------------------------------- */

typedef enum bench_format { BENCH_TABLE, BENCH_CSV, BENCH_JSON, BENCH_OSU } bench_format;

typedef struct benchmark {
    const command *self;
    command_cases cases; /* ranks, root, counts, reduction and known are read */
    bench_plan plan;     /* rounds, iterations: 0 for the usual */
    command_rules rules; /* its algorithm: several names, separated by commas */
    int buffers;         /* 1: reused, 2: changing, 3: both */
    bench_format format;
    const char *plot, *transport; /* files, or null */
    int has_pairs; /* the point-to-point baseline is measured, too */
    int operations;
    nbcoll_operation operation[NBCOLL_OPERATION_COUNT];
    unsigned marks;
    json_t *results, *pairs;
    command_bar bar;
    /* Of --against: mpi, or some peers' names, with commas between; null: nothing is compared. */
    const char *against;
    int is_relaxed;   /* kind to other programs, and worth little as a measurement */
    int has_parts;    /* the parts of a time, too */
    const char *latency; /* S, C or X, which is waited for a little; null: any */
} benchmark;

/* against.c: runs the comparison, and prints it. */
_Noreturn void against_run(const benchmark *b);

/* ---- bench_output.c ---------------------------------------------------------------------------------------------- */

/* One entry's result as an object; both of the point-to-point baseline. */
json_t *bench_row(const bench_plan *plan, size_t entry, const bench_result *result, const bench_latency latency[2]);
json_t *bench_pair_row(const bench_plan *plan, const bench_result results[2], const bench_latency latency[2]);
void bench_print_head(bench_format format);
/* A row of either kind; `before`: the row before of the same kind, or null. CSV has none of the baseline. */
void bench_print_row(bench_format format, const json_t *row, const json_t *before);
/* What the letters of a table's column mean, in a line below it. */
void bench_explain_latency(void);

void bench_can_plot(const command *self, const char *file);
/* Draws the medians of all rows. */
void bench_plot(const command *self, const char *file, const json_t *rows);
/* Pictures, to begin with an empty object: adds a row's time to that of its operation and ranks, in a line of this
 * title. The scales know no 0. bench_draw has gnuplot draw them, and gives them up. */
void bench_add_point(json_t *pictures, const json_t *row, double us, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void bench_draw(const command *self, const char *file, json_t *pictures);

#endif
