/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of `nbcoll tune` share. A *point* is one operation of one size among so many ranks; at each point all
 * candidates (algorithms with parameters) are simulated, or measured in one run in which they take turns.
 */
#ifndef TUNE_H
#define TUNE_H

#include <nbcoll/simulate.h>

#include "bench.h"

#define TUNE_MOST 32 /* numbers of ranks, and sizes */

typedef struct tune_time {
    nbcoll_choice choice; /* the algorithm and its parameters */
    double us;            /* the median */
    double noise;         /* by how much that may be wrong, us */
} tune_time;

/* Who chooses an algorithm for a point. */
typedef enum tune_chooser {
    TUNE_COMPILED, /* no rule */
    TUNE_GIVEN,    /* the rules of --tuning */
    TUNE_MADE,     /* the rules made here */
    TUNE_CHOOSERS
} tune_chooser;

typedef struct tune_point {
    nbcoll_operation operation;
    size_t row, column; /* of the grid: its ranks, its bytes */
    size_t count;       /* elements: of a block, or of the vector */
    size_t bytes;       /* that these are, as rules count them: not more than the column's */
    char latency;          /* before it was measured */
    size_t times, best;
    tune_time time[BENCH_ENTRIES];
    size_t choice[TUNE_CHOOSERS]; /* indices of `time` */
    size_t rule;                  /* MADE: that decided; or their number */
} tune_point;

typedef struct tune {
    const command *self;
    int is_simulated, is_json;
    int is_changing; /* measured: the buffers, between iterations */
    const char *model_name, *ranks_words, *bytes_words; /* as they were said; ranks_words may be null */
    nbcoll_sim_model model;
    int64_t alpha, beta, overhead; /* -1: those of the model */
    bench_plan plan;               /* what all runs have in common */
    double within;                 /* times that differ by less than this part of them are alike */
    size_t rows, columns, operations;
    size_t ranks[TUNE_MOST], bytes[TUNE_MOST]; /* rising; bytes as rules count them */
    nbcoll_operation operation[NBCOLL_OPERATION_COUNT];
    command_rules rules; /* of --tuning */
    command_cases cases; /* whose type and operation are read */
    const char *output;             /* or null */
    char **argument;                /* the command, ended by null */
    nbcoll_terms terms[TUNE_MOST];  /* of each row, */
    nbcoll_nodes *nodes[TUNE_MOST]; /* and simulated, where its ranks are */
    tune_point *point;              /* those that are there: a whole number of elements is near their bytes */
    tune_point **at;                /* [operations][rows][columns]; null: not there */
    size_t *counts;                 /* of a call, room for all ranks */
    size_t points, resumed;         /* that are there; that were found in the journal */
    char *journal_name;
    FILE *journal; /* or null */
    nbcoll_rule *made;
    size_t made_count;
} tune;

/* The point at a place of the grid, or null. */
tune_point *tune_at(const tune *t, size_t operation, size_t row, size_t column);

/* ---- tune_point.c ------------------------------------------------------------------------------------------------ */

/* Lists the points, their candidates and choices. */
void tune_list(tune *t);
/* Fills in the times. */
void tune_take(const tune *t, tune_point *p);
void tune_make_rules(tune *t);

/* ---- tune_output.c ----------------------------------------------------------------------------------------------- */

/* The journal is what is finished, so that an interrupted run can go on. Opens it beside the output, where there is
 * one, and reads what is there. */
void tune_journal_open(tune *t);
void tune_journal_add(const tune *t, const tune_point *p);
void tune_journal_close(tune *t); /* all is done: removes it */
void tune_write(const tune *t); /* the tuning file */
void tune_report(const tune *t);

#endif
