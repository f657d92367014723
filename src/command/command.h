/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the subcommands of `nbcoll` share: their table, their exit statuses, and the options that say which cases of
 * which algorithms are meant. Also the headers of the C library and the system that most files need.
 */
#ifndef COMMAND_H
#define COMMAND_H

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include <jansson.h>

#include <nbcoll/offload.h>
#include <nbcoll/select.h>
#include <nbcoll/transport.h>
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

typedef struct command command;

/* An option: how it is read, what it may be, where that goes, and what the help says of it. A table of them ends with
 * an empty one. */
typedef struct command_option {
    const char *name;  /* of one letter, it stands behind one dash; null: `help` is a line between the options */
    const char *value; /* as the help calls it; "[=V]": it may be left out; null: the option takes none */
    const char *help;  /* null: it is explained together with the next option; "": not */
    /* In the command's own struct (COMMAND_IN). Of 4 or 8 bytes: a number; 8, without any of what follows: a text. */
    size_t offset, size;
    unsigned long long low, high; /* a whole number of these; without a value: it is set to `low`, or 1 */
    unsigned marks;               /* bits by which the command sees that it was given */
    double most;                  /* a real number of 0..most, a double */
    const char *words;            /* "a, b or c": one of these; a number gets its place, which begins with `low` */
    int without;       /* what "[=V]" is, left out */
    void (*take)(const command *self, void *at, const char *value); /* by a function */
} command_option;
#define COMMAND_IN(type, member) .offset = offsetof(type, member), .size = sizeof((type *)0)->member

struct command {
    const char *name;
    const char *purpose; /* one line */
    const char *help;    /* its usage, and what stands above the options */
    void (*run)(const command *self, int argc, char *argv[]); /* argv[0] is the subcommand's name */
    const command_option *options;
    int has_program;  /* the words behind the options are a program with options of its own */
    const char *more; /* below the options; or null */
};

extern const command command_verify, command_show, command_sim, command_explain, command_bench, command_tune,
    command_run, command_mpirun, command_timeline, command_info, command_topology;

/* Says "nbcoll verify: ..." on standard error, or "nbcoll: ..." where `self` is null. */
void command_say(const command *self, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Says it, and ends the command with this status. Functions that name what is wrong so return only where nothing is. */
#define command_end(self, status, ...) (command_say(self, __VA_ARGS__), exit(status))
#define command_refuse(self, ...) command_end(self, COMMAND_USAGE, __VA_ARGS__)
#define command_fail(self, ...) command_end(self, COMMAND_FAILED, __VA_ARGS__)
/* The same with the text of a status, unless it is OK. */
void command_fail_status(const command *self, nbcoll_status why);

/* Appends to a text of `room` bytes, as much as there is room for. */
void command_add(char *text, size_t room, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Memory for n things of so many bytes, zeroed. Without memory the command ends, here and in the next. */
void *command_alloc(size_t n, size_t bytes);
/* Appends a thing of so many bytes to the list that the pointer at `list` is, with room for some. */
void command_append(void *list, size_t *used, size_t *room, const void *one, size_t bytes);

/* Ends the command, if its output was written. */
_Noreturn void command_exit(int status);

/* Writes a file of this name by `write`. */
typedef void command_writer(void *user, FILE *out);
void command_write_file(const command *self, const char *name, command_writer *write, void *user);

/* Prints `begin`, padded to `indent`, and then the words of a text, in lines of `width` characters, of which others
 * begin with `again`, padded alike. */
enum { COMMAND_COLUMNS = 80 };
void command_print_words(FILE *out, const char *begin, const char *again, int indent, int width, const char *words);

/* Reads the options into the command's own struct, and leaves the words behind them. `marks`: null is accepted. */
void command_take_options(const command *self, int *argc, char **argv[], void *user, unsigned *marks);
void command_help(const command *self);
/* Stores a number where a row says; and gives what is there. */
void command_store(const command_option *o, void *user, uint64_t number);
uint64_t command_stored(const command_option *o, const void *user);

/* Is there such a program on the path? */
int command_is_installed(const char *name);
/* The file whose name has these parts, in a place seen from this command. 0: none can be read. */
int command_find_beside(const char *place, const char *begin, const char *name, const char *end, char *file,
                        size_t room);

uint64_t command_ns(void); /* CLOCK_MONOTONIC */
double command_now(void);  /* the same in us */

/* ---- a progress bar ---------------------------------------------------------------------------------------------- */

/* A progress bar on standard error, drawn only where that is a terminal. It says how much time is left, if what is left
 * takes as long as what was done. */
typedef struct command_bar {
    int is_shown;
    double done, total;
    int percent; /* as drawn last */
    double begun, first; /* when the first part that took time began, and what was done before it */
} command_bar;

/* Of `total`, so much was done before. */
void command_bar_begin(command_bar *bar, double total, double before);

/* So much more is done; at work on `what`. */
void command_bar_add(command_bar *bar, double part, const char *what);

/* Takes the bar off the screen, so that lines can be printed; the next command_bar_add draws it again. */
void command_bar_clear(command_bar *bar);

/* ---- json.c: rows, which all subcommands print ------------------------------------------------------------------- */

/* Prints an object, whose figures have six digits where they are not whole numbers, and gives it up. */
void command_print_json(json_t *all);

/* Prints a row: a text in which "%8.2f{us}" stands for a member, by row_real, "%d" by row_number, "%s" by row_text (""
 * where there is none), with a width that may be negative, as in printf. "%u": ns as microseconds, with as many
 * decimals, at most 3, as there is room for. "%t": microseconds with those decimals that are worth printing. "%p": a
 * part as percent; below -999 it is all the same. "%n": a name; what is longer has a line of its own. "%c": the first
 * letter of a text, '-' where there is none. */
void row_print(const json_t *row, const char *text);
/* The members that these keys, with commas between, name, with commas between; an object's with blanks between. */
void row_print_csv(const json_t *row, const char *keys);
/* "name value, name value": the members that are no objects or arrays, and not empty. Or the values of an array. */
void row_print_members(json_t *row);

/* Members of a row; of an object or array in it, by "object.member", "array.0". Of one that is not there: "", or 0. */
const char *row_text(const json_t *row, const char *key);
int row_is(const json_t *row, const char *key, const char *text);
long long row_number(const json_t *row, const char *key);
double row_real(const json_t *row, const char *key);
/* An object of these members alone. Keys with commas between. */
json_t *row_part(const json_t *row, const char *keys);
/* Have two rows the same of these? */
int row_same(const json_t *a, const json_t *b, const char *keys);

/* ---- catalogue.c: the algorithms of the library, and behind them those that shared objects have brought ---------- */

/* Adds those of a file (--algorithms FILE before the subcommand). */
void catalogue_load(const char *file);

/* As nbcoll_algorithm_at and nbcoll_algorithm_find. */
const nbcoll_algorithm *catalogue_at(nbcoll_operation operation, unsigned i);
const nbcoll_algorithm *catalogue_find(nbcoll_operation operation, const char *name);

/* Those that were brought. */
const nbcoll_algorithm *const *catalogue_brought(size_t *n);

/* What opens the ends of a file's transport, of which an object brings one. */
nbcoll_transport_open *catalogue_transport(const char *file);

/* ---- operations -------------------------------------------------------------------------------------------------- */

enum {
    COMMAND_ROOTED = 1,   /* it has a root */
    COMMAND_BLOCKS = 2,   /* a buffer has a block for each rank */
    COMMAND_REDUCES = 4,
    COMMAND_COMPARED = 8, /* by nbcoll bench --against */
    COMMAND_TUNABLE = 16  /* blocks are not bound in the call: rules would count 0 bytes there, whatever it moves */
};
int command_is(nbcoll_operation operation, unsigned what);

/* ---- which cases ------------------------------------------------------------------------------------------------- */

#define COMMAND_MOST_RANKS 65536
#define COMMAND_COUNTS 64
#define COMMAND_ROOMS 64

typedef struct command_cases {
    int operation;                     /* -1: all */
    const nbcoll_algorithm *algorithm; /* null: all of the operation, or */
    int is_default;                    /* what rules and cost model choose */
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
    int placed;                 /* ranks of the nodes as they were said, */
    const char *nodes_said, *numbering_said; /* in these words, or null */
} command_cases;

/* The options that set them, for tables of commands whose struct has them as `cases`: with what their helps say. */
#define COMMAND_RANKS(type, help) "ranks", "A..B", help, COMMAND_IN(type, cases), .take = command_take_ranks
#define COMMAND_ROOT(type, help) "root", "R", help, COMMAND_IN(type, cases.root), 0, INT_MAX
#define COMMAND_COUNT(type, help) "count", "N,...", help, COMMAND_IN(type, cases), .take = command_take_count
#define COMMAND_TYPE(type, help) "type", "T", help, COMMAND_IN(type, cases), .take = command_take_type
#define COMMAND_OP(type, help) "op", "O", help, COMMAND_IN(type, cases), .take = command_take_op
#define COMMAND_IN_PLACE(type, help)                                                                                   \
    "in-place", "[=odd]", help, COMMAND_IN(type, cases.in_place), .words = "odd", .low = 2, .without = 1
#define COMMAND_NATIVE(type, help) "native", "[=N]", help, COMMAND_IN(type, cases.node), 1, INT_MAX, .without = -1
#define COMMAND_KNOWN(type, help) "known", NULL, help, COMMAND_IN(type, cases.known)
#define COMMAND_SPREAD(type, help)                                                                                     \
    "blocks", "B", help, COMMAND_IN(type, cases.spread), .words = "equal, holes, rising or lone"
#define COMMAND_NODES(type, help) "nodes", "NxR", help, COMMAND_IN(type, cases), .take = command_take_nodes
#define COMMAND_NUMBERING(type, help) "numbering", "N", help, COMMAND_IN(type, cases), .take = command_take_numbering
#define COMMAND_NUMBERING_HELP "of ranks: block (node after node), round-robin over nodes, or random[:SEED]"

/* Rows for nodes, and for blocks. */
#define COMMAND_NODES_HELP                                                                                             \
    "builders know of N nodes of R ranks; or of nodes of several sizes, like 3,1,4, which begin again from the first " \
    "where there are more ranks; 4x8/2: with domains of two ranks in them"
#define COMMAND_NODES_OPTIONS(type)                                                                                    \
    {COMMAND_NODES(type, COMMAND_NODES_HELP)}, {COMMAND_NUMBERING(type, COMMAND_NUMBERING_HELP)}
#define COMMAND_BLOCKS_HELP                                                                                            \
    "of gatherv, scatterv, allgatherv, reduce_scatter, alltoallv, alltoallw: equal, holes (every second block is "     \
    "empty), rising, or lone (one of N elements, others of one)"
#define COMMAND_BLOCKS_OPTIONS(type, unless)                                                                           \
    {COMMAND_SPREAD(type, COMMAND_BLOCKS_HELP unless)},                                                                \
        {"apart", NULL, "these blocks lie by displacements, with gaps between them", COMMAND_IN(type, cases.apart)},   \
        {COMMAND_KNOWN(type, "gatherv, scatterv: all ranks pass all counts (always, where the algorithm reads them)")}

/* `take` of those rows; `cases` is a command_cases. */
void command_take_ranks(const command *self, void *cases, const char *value);
void command_take_count(const command *self, void *cases, const char *value);
void command_take_type(const command *self, void *cases, const char *value);
void command_take_op(const command *self, void *cases, const char *value);
void command_take_nodes(const command *self, void *cases, const char *value);
void command_take_numbering(const command *self, void *cases, const char *value);

/* The word OPERATION. */
nbcoll_operation command_operation(const command *self, const char *word);

/* Operations, each once: words, or where there are none, all that are `otherwise` (command_is). Gives how many are in
 * the list, which has room for all. */
int command_take_operations(const command *self, int words, char *word[], unsigned otherwise, nbcoll_operation list[]);

/* An algorithm by name. */
const nbcoll_algorithm *command_find_algorithm(const command *self, nbcoll_operation operation, const char *name);

/* A whole number of low..high in decimal digits at *at, which is moved behind it. 0 when it is none. */
int command_number_at(const char **at, unsigned long long low, unsigned long long high, unsigned long long *out);
/* The same of a whole word. */
int command_number(const char *word, unsigned long long low, unsigned long long high, unsigned long long *out);
/* Several, "2,4,8", at *at: 0 when one is none. *n of them were said, and the first `most` are in `list`. */
int command_numbers(const char **at, unsigned long long low, unsigned long long high, size_t list[], size_t most,
                    size_t *n);
/* Takes the next of the names that commas separate, an empty one at the end. Where the one behind it begins. */
#define COMMAND_WORD 64
const char *command_next_name(const char *at, char name[COMMAND_WORD]);
/* The case that the options say for an algorithm (null: for the operation), with the most ranks, the first root and the
 * first count. */
nbcoll_case command_case(const command_cases *cases, const nbcoll_algorithm *algorithm);

/* Makes the table of nodes of so many ranks; null, where no nodes were said. */
nbcoll_nodes *command_nodes(const command *self, const command_cases *cases, int ranks);

/* The options that say the nodes again, " --nodes 3,1,4 --numbering random:7", or "". Returns `text`. */
#define COMMAND_NODES_TEXT 320
char *command_nodes_text(const command_cases *cases, char text[COMMAND_NODES_TEXT]);

/* Says why a case cannot be. */
_Noreturn void command_refuse_case(const command *self, const nbcoll_case *c, nbcoll_status why);

/* A host that says the errors of builders, in words, as the command refuses. `self` must outlive its use. */
nbcoll_host command_host(const command *self);

/* "equal", ...; "?" for an unknown one. */
const char *command_spread_name(int spread);

/* An nbcoll_write to the FILE that `user` is. */
int command_write(void *user, const char *text, size_t bytes);

/* ---- rules for selection ----------------------------------------------------------------------------------------- */

/* Of the arguments: --tuning FILE, and --algorithm with its parameters. Also what they are for: the algorithm
 * `default`, which stands for the one that rules and cost model choose for a call. */

/* X(name, flag of algorithms that read it): the parameters of an algorithm, which a choice, a rule and a case have. */
#define COMMAND_PARAMETERS(X) X(segment, SEGMENT) X(arity, ARITY) X(ports, PORTS) X(split, SPLIT) X(leaders, LEADERS)
/* Those of one of these three, as initializers of another. */
#define COMMAND_PARAMETERS_OF(it)                                                                                      \
    .segment = (it)->segment, .arity = (it)->arity, .ports = (it)->ports, .split = (it)->split, .leaders = (it)->leaders

typedef struct command_rules {
    const char *algorithm, *file; /* null: not given */
    nbcoll_choice given;          /* the parameters */
    nbcoll_rule *rules; /* from here on: command_rules_read's */
    size_t count, room;
} command_rules;

/* The rows that set them, in tables of commands whose struct has them as `rules`. `marks`: of the parameters. */
#define COMMAND_PARAMETER(type, name, limit, help, bits)                                                               \
    {#name, "N", help, COMMAND_IN(type, rules.given.name), 1, limit, bits}
#define COMMAND_PARAMETER_OPTIONS(type, help, marks)                                                                   \
    COMMAND_PARAMETER(type, segment, SIZE_MAX, NULL, marks), COMMAND_PARAMETER(type, arity, INT_MAX, NULL, marks),     \
        COMMAND_PARAMETER(type, ports, INT_MAX, NULL, marks), COMMAND_PARAMETER(type, split, INT_MAX, NULL, marks),    \
        COMMAND_PARAMETER(type, leaders, INT_MAX, help, marks)
#define COMMAND_ALGORITHM(type, help) {"algorithm", "A", help, COMMAND_IN(type, rules.algorithm)}
#define COMMAND_TUNING(type, help) {"tuning", "FILE", help, COMMAND_IN(type, rules.file)}

/* Of commands that take OPERATION ALGORITHM. */
#define COMMAND_RULE_OPTIONS(type, marks)                                                                              \
    COMMAND_ALGORITHM(type, ""),                                                                                       \
        COMMAND_PARAMETER_OPTIONS(type, "parameters of the algorithm, if it reads them", marks),                       \
        COMMAND_TUNING(type, "rules, after which `default` is chosen")

/* Takes the words [OPERATION [ALGORITHM]]; the second one may be `default`, or stand behind --algorithm instead; reads
 * the rules for the one, and refuses them with others. */
void command_rules_words(const command *self, command_rules *rules, command_cases *cases, int words, char *word[]);

/* Makes the rules, to be freed by command_rules_free: --algorithm for an operation, which is stronger, and the
 * file. */
void command_rules_read(const command *self, command_rules *rules, nbcoll_operation operation);
void command_rules_free(command_rules *rules);

/* ---- what they choose -------------------------------------------------------------------------------------------- */

typedef struct command_chosen {
    nbcoll_choice choice;
    char why[256]; /* "file:7", or "--algorithm"; "2220 ns"; or the reason's text */
} command_chosen;

/* The terms for a case: these rules, a communicator's defaults, and prices of messages as they usually are; where all
 * ranks share memory, those that the shm transport names. */
nbcoll_terms command_terms(const command_rules *rules, const nbcoll_case *c);

/* bench_rank.c: those of ranks that `nbcoll run` would start on this machine, without rules, from so many processes
 * that meet for it. Errors: ERR_LIMIT (more ranks than can share memory), ERR_MEMORY, what opening them
 * returns. */
nbcoll_status command_terms_here(const command *self, int ranks, nbcoll_terms *out);

/* What serves a case. Errors: those of nbcoll_case_args and nbcoll_select; with `self` it is refused. */
nbcoll_status command_choose(const command *self, const command_rules *rules, const nbcoll_terms *terms,
                             const nbcoll_case *c, command_chosen *out);

/* Is one of the parameters given? */
int command_rules_have_parameters(const command_rules *rules);

/* Sets the parameters of a case. */
void command_set_parameters(nbcoll_case *c, const nbcoll_choice *choice);

/* The rule that takes this algorithm, with these parameters, for every call. */
nbcoll_rule command_rule(const nbcoll_choice *choice);

/* Are these the same algorithm and parameters? */
int command_same_choice(const nbcoll_choice *x, const nbcoll_choice *y);

/* Appends the parameters that are not 0: "%s arity 4" each, with what stands before their names. */
void command_add_parameters(char *text, size_t room, const char *before, const nbcoll_choice *choice);

/* The parameters as an object. */
json_t *command_parameters_object(const nbcoll_choice *choice);
/* Prices, by the names of their members. */
json_t *command_level_object(const nbcoll_level *level);

/* "tree arity 4", the parameters as in a tuning file. */
#define COMMAND_NAME 128
const char *command_algorithm_text(const nbcoll_choice *choice, char text[COMMAND_NAME]);

#endif
