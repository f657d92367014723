/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of `nbcoll bench --against` share. A *peer* is an MPI as its launcher is told to run it. The programs
 * of bench/against hold nbcoll and one MPI; the command starts one for each peer, reads a line of JSON for each *cell*
 * (an operation, a size, how buffers are used), and puts those of all peers together.
 */
#ifndef AGAINST_H
#define AGAINST_H

#include "bench.h"

/* ---- against_peer.c: the programs ------------------------------------------------------------------------------ */

typedef struct against_peer {
    const char *name;     /* as the user says it */
    const char *suffix;   /* behind the MPI's name and version */
    const char *program;  /* its name in bench/against */
    const char *launcher; /* and if that is not installed, mpirun; */
    const char *options;  /* what it is told */
} against_peer;

#define AGAINST_PEERS 3
extern const against_peer against_peers[AGAINST_PEERS];

/* Is its program built, and its launcher installed? */
int against_is_there(const against_peer *peer);

/* Starts the program, and calls `take` with each line; what it returns ends the reading, if it is not 0. 0, or an exit
 * status after naming what is wrong. */
int against_start(const benchmark *b, const against_peer *peer, int ranks, int (*take)(void *user, json_t *line),
                  void *user);

/* ---- against_ratio.c: statistics ------------------------------------------------------------------------------- */

#define AGAINST_ROUNDS 1000 /* at most */

/* A median with the interval in which it lies at 95%. */
typedef struct against_interval {
    double median, low, high;
} against_interval;

/* The ratio of two entries that took turns: the median of the rounds' ratios, and between which of them in their order
 * it lies: so many are above and below as do not happen by chance, as heads and tails do. */
against_interval against_ratio(const double ours[], const double theirs[], size_t rounds);

/* Gives each entry of a cell the median of its rounds, `median`. */
void against_take_medians(const json_t *cell);

/* Compares cell i of all peers, whose entries have medians: cells[p] are those of peer p, null if it was not run.
 * Appends rows to `rows`, an array, one for each memory and form of nbcoll's. 0: nobody has a cell i. */
int against_compare(json_t *const cells[AGAINST_PEERS], size_t i, json_t *rows);

/* ---- against_output.c ------------------------------------------------------------------------------------------ */

void against_print_head(bench_format format);
void against_print_row(bench_format format, const json_t *row, const json_t *before); /* the row before, or null */
/* `wrong`: an object, of which the names say what was. */
void against_print_end(bench_format format, const json_t *rows, json_t *wrong);
int against_plot(const command *self, const char *file, const json_t *rows);

#endif
