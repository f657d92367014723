/* SPDX-License-Identifier: BSD-3-Clause
 * Rules for selection from the arguments of a subcommand. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef NBCOLL_HAVE_TUNING
#include <nbcoll/tuning.h>
#endif

#include "rules.h"

int command_rules_take(const command *self, command_rules *rules, int option, const char *value)
{
    unsigned long long number;

    if (option == 'A')
        rules->algorithm = value;
    else if (option == 'T')
        rules->file = value;
    else if (option != 'S' && option != 'Y' && option != 'O')
        return 1;
    else if (!command_number(value, 1, option == 'S' ? SIZE_MAX : INT_MAX, &number))
        return command_refuse(self, "--%s takes a number from 1 on, not '%s'",
                              option == 'S' ? "segment" : option == 'Y' ? "arity" : "ports", value);
    else if (option == 'S')
        rules->segment = (size_t)number;
    else
        *(option == 'Y' ? &rules->arity : &rules->ports) = (unsigned)number;
    return 0;
}

/* Appends rules. */
static int rules_add(const command *self, command_rules *rules, const nbcoll_rule *more, size_t n)
{
    nbcoll_rule *all = realloc(rules->rules, (rules->count + n + 1) * sizeof *all);

    if (!all) {
        command_refuse(self, "%s", nbcoll_status_text(NBCOLL_ERR_MEMORY));
        return COMMAND_FAILED;
    }
    if (n)
        memcpy(all + rules->count, more, n * sizeof *all);
    rules->rules = all;
    rules->count += n;
    return 0;
}

static int rules_of_file(const command *self, command_rules *rules)
{
#ifdef NBCOLL_HAVE_TUNING
    nbcoll_tuning_problem problem = {.size = sizeof problem};
    nbcoll_tuning *tuning;

    if (nbcoll_tuning_read(NULL, rules->file, &tuning, &problem) != NBCOLL_OK)
        return problem.line ? command_refuse(self, "%s:%u: %s", rules->file, problem.line, problem.text)
                            : command_refuse(self, "%s: %s", rules->file, problem.text);
    int status = rules_add(self, rules, tuning->rules, tuning->count);
    nbcoll_tuning_free(tuning);
    return status;
#else
    return command_refuse(self, "--tuning %s: this build cannot read tuning files", rules->file);
#endif
}

int command_rules_read(const command *self, command_rules *rules, nbcoll_operation operation)
{
    nbcoll_rule rule = {.segment = rules->segment, .arity = rules->arity, .ports = rules->ports};
    int status = 0;

    if (!rules->algorithm && (rules->segment || rules->arity || rules->ports))
        return command_refuse(self, "--segment, --arity and --ports go with --algorithm");
    if (rules->algorithm) {
        rule.algorithm = nbcoll_algorithm_find(operation, rules->algorithm);
        if (!rule.algorithm)
            return command_refuse(self, "%s has no algorithm '%s'; nbcoll info lists them",
                                  nbcoll_operation_name(operation), rules->algorithm);
        status = rules_add(self, rules, &rule, 1);
    }
    return status || !rules->file ? status : rules_of_file(self, rules);
}

void command_rules_free(command_rules *rules)
{
    free(rules->rules);
    rules->rules = NULL;
    rules->count = 0;
}

void command_rules_origin(const command_rules *rules, size_t i, char *text, size_t room)
{
    if (rules->rules[i].line)
        snprintf(text, room, "%s:%u", rules->file, rules->rules[i].line);
    else
        snprintf(text, room, "--algorithm");
}
