/* SPDX-License-Identifier: BSD-3-Clause
 * Programs for `nbcoll sim`, as a line of text: "start; wait started; compute 50us test 5us; start barrier; wait 1".
 */
#include <stdlib.h>
#include <string.h>

#include "sim.h"

static _Noreturn void refuse(const command *self, const char *why, const char *word)
{
    command_refuse(self, "--program: %s '%s'; see nbcoll help sim", why, word ? word : "");
}

/* "50us"; ns, us, ms or s. */
static uint64_t take_time(const command *self, const char *word)
{
    static const struct unit {
        const char *name;
        uint64_t ns;
    } units[] = {{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};
    char number[16], unit[3];
    unsigned long long value;
    int end = 0, is_time = word && sscanf(word, "%15[0-9]%2[a-z]%n", number, unit, &end) == 2 && !word[end];
    for (size_t i = 0; is_time && i < sizeof units / sizeof *units; i++)
        if (!strcmp(unit, units[i].name) && command_number(number, 0, NBCOLL_SIM_MOST_NS / units[i].ns, &value))
            return value * units[i].ns;
    refuse(self, "it takes a time like 50us, not", word);
}

static void add(const command *self, sim_program *p, nbcoll_sim_action action)
{
    if (p->actions == SIM_ACTIONS)
        command_refuse(self, "--program: at most %d actions", SIM_ACTIONS);
    p->action[p->actions++] = action;
}

/* The words behind these three, ended by null: "compute TIME [test TIME]". */
static void take_compute(const command *self, sim_program *p, char **word)
{
    int tests = word[0] && word[1] && strcmp(word[1], "test") == 0;
    nbcoll_sim_action a = {.act = NBCOLL_SIM_COMPUTE, .compute = take_time(self, word[0])};
    if (tests)
        a.test_every = take_time(self, word[2]);
    if (word[tests ? 3 : 1])
        refuse(self, "one word too many:", word[tests ? 3 : 1]);
    add(self, p, a);
}

/* "start [OPERATION [ALGORITHM]]" */
static void take_start(const command *self, sim_program *p, char **word)
{
    if (p->starts == SIM_STARTS)
        command_refuse(self, "--program: at most %d starts", SIM_STARTS);
    sim_start *start = &p->start[p->starts++];
    start->operation = word[0] ? (int)command_operation(self, word[0]) : -1;
    if (word[0] && word[1] && word[2])
        command_refuse(self, "one word too many: '%s'", word[2]);
    if (word[0] && word[1])
        start->algorithm = command_find_algorithm(self, (nbcoll_operation)start->operation, word[1]);
    add(self, p, (nbcoll_sim_action){.act = NBCOLL_SIM_START});
}

/* "wait [started] [N]": for the N-th start, or for all before it. */
static void take_wait(const command *self, sim_program *p, char **word)
{
    int is_start = word[0] && strcmp(word[0], "started") == 0;
    nbcoll_sim_action a = {.act = is_start ? NBCOLL_SIM_WAIT_STARTED : NBCOLL_SIM_WAIT};
    unsigned long long first = 1, last = p->starts;
    word += is_start;
    if (word[0] && word[1])
        refuse(self, "one word too many:", word[1]);
    if (word[0] && !command_number(word[0], 1, p->starts, &first))
        command_refuse(self, "--program: wait %s: there are %u starts before it", word[0], p->starts);
    for (a.operation = (uint32_t)first - 1; a.operation < (word[0] ? first : last); a.operation++)
        add(self, p, a);
}

void sim_take_program(const command *self, const char *value, sim_program *out)
{
    static const struct verb {
        const char *name;
        void (*take)(const command *self, sim_program *p, char **word);
    } verbs[] = {{"compute", take_compute}, {"start", take_start}, {"wait", take_wait}};
    char *text = strdup(value), *next, *rest;
    if (!text)
        command_fail_status(self, NBCOLL_ERR_MEMORY);
    *out = (sim_program){.actions = 0};
    for (char *one = strtok_r(text, ";", &next); one; one = strtok_r(NULL, ";", &next)) {
        char *word[8] = {NULL};
        size_t n = 0, verb = 0;
        for (char *w = strtok_r(one, " \t", &rest); w && n < 6; w = strtok_r(NULL, " \t", &rest))
            word[n++] = w;
        while (n && verb < 3 && strcmp(word[0], verbs[verb].name) != 0)
            verb++;
        if (verb == 3)
            refuse(self, "it knows compute, start and wait, not", word[0]);
        if (n)
            verbs[verb].take(self, out, word + 1);
    }
    free(text);
    if (!out->starts)
        command_refuse(self, "--program: it starts nothing");
}
