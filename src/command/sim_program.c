/* SPDX-License-Identifier: BSD-3-Clause
 * Programs for `nbcoll sim`, as a line of text: "start; wait started; compute 50us test 5us; start barrier; wait 1".
 */
#include <stdlib.h>
#include <string.h>

#include "sim.h"

static int refuse(const command *self, const char *why, const char *word)
{
    return command_refuse(self, "--program: %s '%s'; see nbcoll help sim", why, word ? word : "");
}

/* "50us"; ns, us, ms or s. */
static int take_time(const command *self, const char *word, uint64_t *ns)
{
    static const struct unit {
        const char *name;
        uint64_t ns;
    } units[] = {{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};
    char number[16], unit[3];
    unsigned long long value;
    int end = 0, is_time = word && sscanf(word, "%15[0-9]%2[a-z]%n", number, unit, &end) == 2 && !word[end];
    for (size_t i = 0; is_time && i < sizeof units / sizeof *units; i++)
        if (!strcmp(unit, units[i].name) && command_number(number, 0, NBCOLL_SIM_MOST_NS / units[i].ns, &value)) {
            *ns = value * units[i].ns;
            return 0;
        }
    return refuse(self, "it takes a time like 50us, not", word);
}

static int add(const command *self, sim_program *p, nbcoll_sim_action action)
{
    if (p->actions == SIM_ACTIONS)
        return command_refuse(self, "--program: at most %d actions", SIM_ACTIONS);
    p->action[p->actions++] = action;
    return 0;
}

/* The rest of "compute TIME [test TIME]". */
static int take_compute(const command *self, sim_program *p, char **rest)
{
    nbcoll_sim_action a = {.act = NBCOLL_SIM_COMPUTE};
    int status = take_time(self, strtok_r(NULL, " \t", rest), &a.compute);
    char *word = strtok_r(NULL, " \t", rest);
    if (!status && word && strcmp(word, "test") == 0) {
        status = take_time(self, strtok_r(NULL, " \t", rest), &a.test_every);
        word = strtok_r(NULL, " \t", rest);
    }
    if (!status && word)
        status = refuse(self, "one word too many:", word);
    return status ? status : add(self, p, a);
}

/* The rest of "start [OPERATION [ALGORITHM]]". */
static int take_start(const command *self, sim_program *p, char **rest)
{
    char *words[3];
    int n = 0;
    command_cases other = {.operation = -1};
    while (n < 3 && (words[n] = strtok_r(NULL, " \t", rest)))
        n++;
    if (p->starts == SIM_STARTS)
        return command_refuse(self, "--program: at most %d starts", SIM_STARTS);
    int status = command_take_words(self, &other, n, words);
    p->start[p->starts++] = (sim_start){other.operation, other.algorithm};
    return status ? status : add(self, p, (nbcoll_sim_action){.act = NBCOLL_SIM_START});
}

/* The rest of "wait [started] [N]": for the N-th start, or for all before it. */
static int take_wait(const command *self, sim_program *p, char **rest)
{
    unsigned long long first = 1, last = p->starts;
    char *word = strtok_r(NULL, " \t", rest);
    nbcoll_sim_act act = NBCOLL_SIM_WAIT;
    int status = 0;
    if (word && strcmp(word, "started") == 0) {
        act = NBCOLL_SIM_WAIT_STARTED;
        word = strtok_r(NULL, " \t", rest);
    }
    char *more = strtok_r(NULL, " \t", rest);
    if (more)
        return refuse(self, "one word too many:", more);
    if (word && !command_number(word, 1, p->starts, &first))
        return command_refuse(self, "--program: wait %s: there are %u starts before it", word, p->starts);
    if (word)
        last = first;
    for (; first <= last && !status; first++)
        status = add(self, p, (nbcoll_sim_action){.act = act, .operation = (uint32_t)first - 1});
    return status;
}

int sim_take_program(const command *self, const char *value, sim_program *out)
{
    char *text = strdup(value), *next, *rest;
    int status = text ? 0 : command_refuse(self, "--program: no memory");
    *out = (sim_program){.actions = 0};
    for (char *one = strtok_r(text, ";", &next); one && !status; one = strtok_r(NULL, ";", &next)) {
        char *word = strtok_r(one, " \t", &rest);
        if (!word)
            continue;
        if (strcmp(word, "compute") == 0)
            status = take_compute(self, out, &rest);
        else if (strcmp(word, "start") == 0)
            status = take_start(self, out, &rest);
        else if (strcmp(word, "wait") == 0)
            status = take_wait(self, out, &rest);
        else
            status = refuse(self, "it knows compute, start and wait, not", word);
    }
    free(text);
    if (!status && !out->starts)
        status = command_refuse(self, "--program: it starts nothing");
    return status;
}
