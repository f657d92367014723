/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the subcommands of `nbcoll` share: their table, their exit statuses, and the options that say which cases of
 * which algorithms are meant.
 */
#ifndef COMMAND_H
#define COMMAND_H

#include <nbcoll/verify.h>

#ifndef NBCOLL_VERSION /* the build's to say */
#define NBCOLL_VERSION "unreleased"
#endif

/* Exit statuses. */
enum {
    COMMAND_OK = 0,
    COMMAND_REFUTED = 1,
    COMMAND_USAGE = 2,  /* a bad argument, which was named on standard error */
    COMMAND_FAILED = 3, /* no memory, or the output could not be written */
};

typedef struct command {
    const char *name;
    const char *purpose; /* one line */
    const char *help;    /* its usage and options */
    int (*run)(const struct command *self, int argc, char *argv[]); /* argv[0] is the subcommand's name */
    /* Its options of one letter, as getopt takes them, after a colon. Before that a '+' where the words after the
     * options are a program with options of its own: then --help is the subcommand's to find. */
    const char *letters;
    const char *more; /* of its help; or null. A literal has 4095 characters at most */
} command;

extern const command command_verify, command_show, command_sim, command_explain, command_bench, command_tune,
    command_run, command_timeline, command_info, command_wiring;

/* Says "nbcoll verify: ..." on standard error; returns COMMAND_USAGE. */
int command_refuse(const command *self, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Appends to a text of `room` bytes, as much as there is room for. */
void command_add(char *text, size_t room, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Prints `begin`, padded to `indent`, and then the words of a text, in lines of `width` characters that are indented
 * alike. */
enum { COMMAND_COLUMNS = 80 };
void command_print_words(const char *begin, int indent, int width, const char *words);

/* As getopt_long without its messages: what it refuses is named, and gives '?'. -1 at the end; the words that are not
 * options then begin at argv[optind]. */
struct option;
int command_next(const command *self, int argc, char *argv[], const struct option *options);

/* Takes all options in turn by a function of the command's own. 0, and the words begin at
 * argv[optind]; or what `take` returned, or COMMAND_USAGE after naming what is wrong. */
int command_take_options(const command *self, int argc, char *argv[], const struct option *options,
                         int (*take)(void *user, int option, const char *value), void *user);

/* Is there such a program on the path? */
int command_is_installed(const char *name);

/* ---- which cases ----------------------------------------------------------------------------------------------- */

#define COMMAND_COUNTS 64
#define COMMAND_ROOMS 64

typedef struct command_cases {
    int operation;                     /* -1: all */
    const nbcoll_algorithm *algorithm; /* null: all of the operation, or */
    int is_default;                    /* what rules and cost model choose (rules.h) */
    int fewest, most;                  /* ranks; 0: not given */
    int root;                          /* -1: all */
    int node;                          /* so many neighbouring ranks share memory; 0: none do; -1: all, or those of each
                                          node where there are several */
    int in_place;                      /* as in nbcoll_case */
    nbcoll_reduction reduction;
    size_t counts, count[COMMAND_COUNTS];
    int spread; /* -1: all forms of blocks */
    int apart, known;
    int room[COMMAND_ROOMS];    /* of nodes, */
    nbcoll_placement placement; /* which points there; no rooms: one node has all ranks */
    int placed;                 /* ranks of the nodes as they were said */
} command_cases;

/* The options that set them, for tables of getopt_long. */
#define COMMAND_NODES_OPTIONS                                                                                          \
    {"nodes", required_argument, NULL, 'x'}, {"numbering", required_argument, NULL, 'y'}
#define COMMAND_CASE_OPTIONS                                                                                           \
    {"ranks", required_argument, NULL, 'p'}, {"root", required_argument, NULL, 'r'},                                   \
        {"count", required_argument, NULL, 'c'}, {"type", required_argument, NULL, 't'},                               \
        {"op", required_argument, NULL, 'o'}, {"in-place", optional_argument, NULL, 'i'},                              \
        {"native", optional_argument, NULL, 'n'}, {"blocks", required_argument, NULL, 'b'},                            \
        {"apart", no_argument, NULL, 'd'}, {"known", no_argument, NULL, 'k'}, COMMAND_NODES_OPTIONS

/* What their helps say of nodes. */
#define COMMAND_NODES_HELP                                                                                             \
    "  --nodes NxR       builders know of N nodes of R ranks; or of nodes of several sizes, like 3,1,4, which begin\n" \
    "                    again from the first where there are more ranks; 4x8/2: with domains of two ranks in them\n"  \
    "  --numbering N     of ranks: block (node after node), round-robin over nodes, or random[:SEED]\n"

/* What their helps say of blocks. */
#define COMMAND_BLOCKS_HELP                                                                                            \
    "  --blocks B        of gatherv, scatterv, allgatherv, reduce_scatter, alltoallv, alltoallw: equal,\n"             \
    "                    holes (every second block is empty), rising, or lone (one of N elements, others of one)\n"    \
    "  --apart           these blocks lie by displacements, with gaps between them\n"                                  \
    "  --known           gatherv, scatterv: all ranks pass all counts (always, where the algorithm reads them)\n"

/* Takes one of those options, or the words OPERATION [ALGORITHM]. 0, or COMMAND_USAGE after naming what is wrong. */
int command_take_option(const command *self, command_cases *cases, int option, const char *value);
int command_take_words(const command *self, command_cases *cases, int words, char *word[]);

/* Finds an algorithm by name. 0, or COMMAND_USAGE after saying that the operation has none of that name. */
int command_find_algorithm(const command *self, nbcoll_operation operation, const char *name,
                           const nbcoll_algorithm **out);

/* A whole number of low..high in a word of decimal digits. 0 when it is none. */
int command_number(const char *word, unsigned long long low, unsigned long long high, unsigned long long *out);
/* Several, "2,4,8": 0 when one is none. *n of them were said, and the first `most` are in `list`. */
int command_numbers(const char *words, unsigned long long low, unsigned long long high, size_t list[], size_t most,
                    size_t *n);
/* The number that is the value of --option. 0, or COMMAND_USAGE after naming what is wrong. */
int command_take_number(const command *self, const char *option, const char *value, unsigned long long low,
                        unsigned long long high, unsigned long long *out);

/* The case that the options say for an algorithm (null: for the operation), with the most ranks, the first root and the
 * first count. */
nbcoll_case command_case(const command_cases *cases, const nbcoll_algorithm *algorithm);

/* Makes the table of nodes of so many ranks; null, where no nodes were said. */
nbcoll_status command_nodes(const command_cases *cases, int ranks, nbcoll_nodes **out);

/* The options that say the nodes again, " --nodes 3,1,4 --numbering random:7", or "". Returns `text`. */
#define COMMAND_NODES_TEXT 320
char *command_nodes_text(const command_cases *cases, char text[COMMAND_NODES_TEXT]);

/* Takes --nodes or --numbering. 0, or COMMAND_USAGE after naming what is wrong. */
int command_take_nodes(const command *self, command_cases *cases, const char *value);
int command_take_numbering(const command *self, command_cases *cases, const char *value);

/* Says why a case cannot be: COMMAND_USAGE. */
int command_refuse_case(const command *self, const nbcoll_case *c, nbcoll_status why);

/* A host that says the errors of builders, in words, as the command refuses. `self` must outlive its use. */
nbcoll_host command_host(const command *self);

/* "equal", ...; "?" for an unknown one. */
const char *command_spread_name(int spread);

/* An nbcoll_write to the FILE that `user` is. */
int command_write(void *user, const char *text, size_t bytes);

#endif
