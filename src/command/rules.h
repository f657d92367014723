/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rules for selection from the arguments of a subcommand: --tuning FILE, and --algorithm with its parameters. Also what
 * they are for: the algorithm `default`, which stands for the one that rules and cost model choose for a call.
 */
#ifndef RULES_H
#define RULES_H

#include "command.h"

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

/* ---- what they choose ------------------------------------------------------------------------------------------ */

typedef struct command_chosen {
    nbcoll_choice choice;
    char why[256]; /* "file:7", or "--algorithm"; "2220 ns"; or the reason's text */
} command_chosen;

/* The terms for a case: these rules, a communicator's defaults, and prices of messages as they usually are; where all
 * ranks share memory, those that the shm transport names. */
nbcoll_terms command_terms(const command_rules *rules, const nbcoll_case *c);

/* bench_crew.c: those of ranks that `nbcoll run` would start on this machine, without rules, from so many processes
 * that meet for it. Errors: ERR_LIMIT (more ranks than can share memory), ERR_MEMORY, what opening them
 * returns. */
nbcoll_status command_terms_here(const command *self, int ranks, nbcoll_terms *out);

/* What serves a case. Errors: those of nbcoll_case_args and nbcoll_select. */
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

/* Appends the parameters that are not 0: "%s arity 4" each, with what stands before their names. */
void command_add_parameters(char *text, size_t room, const char *before, const nbcoll_choice *choice);

/* The parameters as an object. */
json_t *command_parameters_object(const nbcoll_choice *choice);
/* Prices, by the names of their members. */
json_t *command_level_object(const nbcoll_level *level);

/* "tree arity 4", the parameters as in a tuning file. */
#define COMMAND_NAME 128
const char *command_algorithm_text(const nbcoll_choice *choice, char text[COMMAND_NAME]);

/* "RULE file:7" */
const char *command_chosen_text(const command_chosen *chosen, char text[288]);

#endif
