/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rules for selection from the arguments of a subcommand: --tuning FILE, and --algorithm with its parameters. Also what
 * they are for: the algorithm `default`, which stands for the one that rules and cost model choose for a call.
 */
#ifndef RULES_H
#define RULES_H

#include <nbcoll/select.h>

#include "command.h"

typedef struct command_rules {
    const char *algorithm, *file; /* null: not given */
    nbcoll_choice given;          /* the parameters */
    nbcoll_rule *rules; /* from here on: command_rules_read's */
    size_t count;
} command_rules;

/* The options that set them, for tables of getopt_long; apart from all letters. */
enum {
    COMMAND_ALGORITHM = 256,
    COMMAND_SEGMENT,
    COMMAND_ARITY,
    COMMAND_PORTS,
    COMMAND_SPLIT,
    COMMAND_LEADERS,
    COMMAND_TUNING
};
#define COMMAND_RULE_OPTIONS                                                                                           \
    {"algorithm", required_argument, NULL, COMMAND_ALGORITHM}, {"segment", required_argument, NULL, COMMAND_SEGMENT},  \
        {"arity", required_argument, NULL, COMMAND_ARITY}, {"ports", required_argument, NULL, COMMAND_PORTS},          \
        {"split", required_argument, NULL, COMMAND_SPLIT}, {"leaders", required_argument, NULL, COMMAND_LEADERS},      \
        {"tuning", required_argument, NULL, COMMAND_TUNING}

/* What the helps of commands say that take OPERATION ALGORITHM. */
#define COMMAND_RULES_HELP                                                                                             \
    "  --segment N, --arity N, --ports N, --split N, --leaders N\n"                                                    \
    "                    parameters of the algorithm, if it reads them\n"                                              \
    "  --tuning FILE     rules, after which `default` is chosen\n"

/* Takes one of those options: 0, or COMMAND_USAGE after naming what is wrong. 1: it is none of them. */
int command_rules_take(const command *self, command_rules *rules, int option, const char *value);

/* As command_take_words, but the second word may be `default`, or stand behind --algorithm instead; reads the rules for
 * the one, and refuses them with others. */
int command_rules_words(const command *self, command_rules *rules, command_cases *cases, int words, char *word[]);

/* Makes the rules, to be freed by command_rules_free: --algorithm for an operation, which is stronger, and the file.
 * 0, or an exit status after naming what is wrong. */
int command_rules_read(const command *self, command_rules *rules, nbcoll_operation operation);
void command_rules_free(command_rules *rules);

/* ---- what they choose ------------------------------------------------------------------------------------------ */

typedef struct command_chosen {
    nbcoll_choice choice;
    char why[256]; /* "file:7", or "--algorithm"; "2220 ns"; or the reason's text */
} command_chosen;

/* The terms for a case: these rules, a communicator's defaults, and prices of messages as they usually are; where all
 * ranks share memory, those that the shm transport names. */
nbcoll_terms command_terms(const command_rules *rules, const nbcoll_case *c);

/* here.c: those of ranks that `nbcoll run` would start on this machine, without rules, from so many processes that meet
 * for it. Errors: ERR_LIMIT (more ranks than can share memory), ERR_UNSUPPORTED (a build without shm), ERR_MEMORY, what
 * opening them returns. */
nbcoll_status command_terms_here(const command *self, int ranks, nbcoll_terms *out);

/* The arguments of a case, completed. counts[ranks] must stay as long as they do. Errors: nbcoll_args_complete's. */
nbcoll_status command_case_args(const nbcoll_case *c, size_t counts[], nbcoll_args *out);

/* What serves a case. Errors: those of command_case_args and nbcoll_select, ERR_MEMORY. */
nbcoll_status command_choose(const command_rules *rules, const nbcoll_terms *terms, const nbcoll_case *c,
                             command_chosen *out);

/* Is one of the parameters given? */
int command_rules_have_parameters(const command_rules *rules);

/* Sets the parameters of a case. */
void command_set_parameters(nbcoll_case *c, const nbcoll_choice *choice);

/* The rule that takes this algorithm, with these parameters, for every call. */
nbcoll_rule command_rule(const nbcoll_choice *choice);

/* Are these the same algorithm and parameters? */
int command_same_choice(const nbcoll_choice *x, const nbcoll_choice *y);

/* "tree arity 4", the parameters as in a tuning file. */
#define COMMAND_NAME 128
const char *command_algorithm_text(const nbcoll_choice *choice, char text[COMMAND_NAME]);

/* "RULE file:7" */
const char *command_chosen_text(const command_chosen *chosen, char text[288]);

#endif
