/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The command line of linescan, and its exit statuses.
 */
#ifndef LINESCAN_OPTIONS_H
#define LINESCAN_OPTIONS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    EXIT_CLEAN = 0,
    EXIT_SKIPPED = 1,      /* a file was damaged or unreadable, or there was none; the totals are those of the others */
    EXIT_USAGE = 2,        /* the command line is wrong */
    EXIT_MISMATCH = 3,     /* the ranks' totals differ from those of the sequential pass */
    EXIT_FATAL = 4,        /* no memory, or the library failed */
    EXIT_INTERRUPTED = 130 /* SIGINT: no totals */
};

enum { COMPARE_LEAST = 6, COMPARE_MOST = 99, COMPARE_SECONDS = 20 }; /* rounds; when no more are begun */

#define GRAMS_OF_MACHINE UINT_MAX

typedef struct options {
    int ranks;      /* as threads, unless this process was launched as one of several */
    int compare;    /* most rounds in which both forms are compared; 0: one job */
    int concurrent; /* scatters in flight; 1 with `blocking` */
    bool blocking;
    bool driver;    /* of each rank: a thread that progresses the scatters */
    uint64_t work;  /* dummy operations a line */
    unsigned grams; /* bytes of the longest sequence that is counted; GRAMS_OF_MACHINE: to be chosen */
    size_t buffer;  /* bytes of one rank's block, its head included */
    bool check;     /* compare with a sequential pass */
    bool json;
    const char *picture; /* of who waited when in a comparison; null: none */
    char **paths;        /* files and directories, `path_count` of them */
    int path_count;
} options;

/* Exits with 0 after --help, and with EXIT_USAGE after saying what is wrong. */
void options_parse(options *o, int argc, char **argv);

/* Says "linescan: what: why" and exits with EXIT_FATAL: the whole job ends, as its other ranks wait for this one. */
_Noreturn void fatal(const char *what, const char *why);

#endif
