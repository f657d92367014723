/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The command line of linescan.
 */
#include "options.h"
#include "count.h"
#include "ranks.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "Usage: linescan [option]... [file or directory]...\n"
    "\n"
    "Counts the lines, words and bytes of text, as `zcat FILE | wc` does file by file in the C locale, with several\n"
    "ranks: rank 0 reads and decompresses, cuts at line boundaries and scatters; all ranks count while the next\n"
    "buffers arrive. Counts, too, how often each sequence of 1 to N bytes within a line occurs (in 65536 classes),\n"
    "which is what takes time. The totals are compared with those of one sequential pass by one rank.\n"
    "\n"
    "Nonblocking scatters gain the time in which rank 0 would wait. With two ranks, or on one processor, it never\n"
    "waits, since it decompresses everything and counts half.\n"
    "\n"
    "A directory stands for the regular files below it whose names end in .gz, sorted by path (links are not\n"
    "followed). A file that is named may be plain text too. Without any: /usr/share/doc.\n"
    "\n"
    "  --ranks N         ranks, as threads, 1 to 64 (4); not under `nbcoll run -n N`, where they are N processes\n"
    "  --concurrent N    nonblocking scatters in flight, 1 to 16 (16)\n"
    "  --blocking        scatter with the blocking call: one at a time, whatever --concurrent says\n"
    "  --compare N       both forms, N times by turns, 6 to 99: is the nonblocking one faster? After 20 seconds and\n"
    "                    six rounds no more are begun. Not with --blocking\n"
    "  --picture FILE    with --compare: an SVG of who waited when\n"
    "  --driver          a thread of each rank progresses the scatters while it counts\n"
    "  --grams N         bytes of the longest sequences, 0 to 8; 0: none are counted (3; with --compare what\n"
    "                    leaves this machine something to gain)\n"
    "  --work N          dummy operations a line, not in the sequential pass (0)\n"
    "  --buffer BYTES    of a rank and scatter, 64 to 16777216, a multiple of 8 (524288)\n"
    "  --no-check        leave out the sequential pass\n"
    "  --json            print one JSON object instead of the table\n"
    "  --help            print this\n"
    "\n"
    "Exit status: 0; 1 if a file was skipped because it is unreadable or damaged, or if there was no file (the\n"
    "totals are those of the other files); 2 usage; 3 the totals differ from the sequential ones; 4 no memory, or\n"
    "the library failed; 130 interrupted (no totals are printed).\n";

void fatal(const char *what, const char *why)
{
    fprintf(stderr, "linescan: %s: %s\n", what, why);
    exit(EXIT_FATAL);
}

static uint64_t number(const char *option, const char *text, uint64_t low, uint64_t high)
{
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end || errno || value < low || value > high) {
        fprintf(stderr, "linescan: --%s: '%s' is not a number from %llu to %llu\n", option, text,
                (unsigned long long)low, (unsigned long long)high);
        exit(EXIT_USAGE);
    }
    return value;
}

static void refuse(const char *why)
{
    fprintf(stderr, "linescan: %s (--help tells more)\n", why);
    exit(EXIT_USAGE);
}

enum { RANKS = 1, CONCURRENT, BLOCKING, DRIVER, GRAMS, WORK, BUFFER, NO_CHECK, JSON, HELP, COMPARE, PICTURE };

static const struct option names[] = {
    {"ranks", required_argument, NULL, RANKS},
    {"concurrent", required_argument, NULL, CONCURRENT},
    {"blocking", no_argument, NULL, BLOCKING},
    {"compare", required_argument, NULL, COMPARE},
    {"picture", required_argument, NULL, PICTURE},
    {"driver", no_argument, NULL, DRIVER},
    {"grams", required_argument, NULL, GRAMS},
    {"work", required_argument, NULL, WORK},
    {"buffer", required_argument, NULL, BUFFER},
    {"no-check", no_argument, NULL, NO_CHECK},
    {"json", no_argument, NULL, JSON},
    {"help", no_argument, NULL, HELP},
    {NULL, 0, NULL, 0},
};

static void apply(options *o, int which, const char *value)
{
    switch (which) {
    case RANKS:
        if (ranks_are_launched())
            refuse("--ranks is for threads; the ranks of `nbcoll run -n N` are N processes");
        o->ranks = (int)number("ranks", value, 1, 64);
        break;
    case CONCURRENT:
        o->concurrent = (int)number("concurrent", value, 1, 16);
        break;
    case COMPARE:
        o->compare = (int)number("compare", value, COMPARE_LEAST, COMPARE_MOST);
        break;
    case PICTURE:
        o->picture = value;
        break;
    case BLOCKING:
        o->blocking = true;
        break;
    case DRIVER:
        o->driver = true;
        break;
    case GRAMS:
        o->grams = (unsigned)number("grams", value, 0, GRAMS_MOST);
        break;
    case WORK:
        o->work = number("work", value, 0, UINT64_MAX);
        break;
    case BUFFER:
        o->buffer = (size_t)number("buffer", value, 64, (size_t)16 << 20);
        break;
    case NO_CHECK:
        o->check = false;
        break;
    case JSON:
        o->json = true;
        break;
    case HELP:
        fputs(usage, stdout);
        exit(fflush(stdout) ? EXIT_FATAL : EXIT_CLEAN);
    default: /* getopt has said what is wrong */
        refuse("wrong option");
    }
}

void options_parse(options *o, int argc, char **argv)
{
    static char *everywhere[] = {"/usr/share/doc"};
    *o = (options){.ranks = 4, .concurrent = 16, .grams = GRAMS_OF_MACHINE, .buffer = (size_t)512 << 10, .check = true};
    for (int which; (which = getopt_long(argc, argv, "", names, NULL)) != -1;)
        apply(o, which, optarg);
    if (o->buffer % 8)
        refuse("--buffer: not a multiple of 8");
    if (o->blocking && o->compare)
        refuse("--blocking: --compare has both forms");
    if (o->picture && !o->compare)
        refuse("--picture: only with --compare");
    if (o->blocking)
        o->concurrent = 1;
    if (o->grams == GRAMS_OF_MACHINE && !o->compare)
        o->grams = 3;
    o->paths = optind < argc ? argv + optind : everywhere;
    o->path_count = optind < argc ? argc - optind : 1;
}
