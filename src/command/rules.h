/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rules for selection from the arguments of a subcommand: --algorithm with its parameters, which is stronger, and
 * --tuning FILE.
 */
#ifndef RULES_H
#define RULES_H

#include <nbcoll/select.h>

#include "command.h"

typedef struct command_rules {
    const char *algorithm, *file; /* null: not given */
    size_t segment;
    unsigned arity, ports;
    nbcoll_rule *rules; /* from here on: command_rules_read's */
    size_t count;
} command_rules;

/* The options that set them, for tables of getopt_long. */
#define COMMAND_RULE_OPTIONS                                                                                           \
    {"algorithm", required_argument, NULL, 'A'}, {"segment", required_argument, NULL, 'S'},                            \
        {"arity", required_argument, NULL, 'Y'}, {"ports", required_argument, NULL, 'O'},                              \
        {"tuning", required_argument, NULL, 'T'}

#define COMMAND_RULES_HELP                                                                                             \
    "  --algorithm A     this algorithm, where it may serve the call; with its parameters:\n"                          \
    "  --segment N, --arity N, --ports N\n"                                                                            \
    "  --tuning FILE     the rules of a tuning file\n"

/* Takes one of those options: 0, or COMMAND_USAGE after naming what is wrong. 1: it is none of them. */
int command_rules_take(const command *self, command_rules *rules, int option, const char *value);

/* Makes the rules, for an operation, to be freed by command_rules_free. 0, or an exit status after naming what is
 * wrong. */
int command_rules_read(const command *self, command_rules *rules, nbcoll_operation operation);
void command_rules_free(command_rules *rules);

/* "file:7", or "--algorithm": where rule i comes from, in `text`. */
void command_rules_origin(const command_rules *rules, size_t i, char *text, size_t room);

#endif
