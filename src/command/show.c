/* SPDX-License-Identifier: BSD-3-Clause
 * `nbcoll show`: prints the schedules of an algorithm, as text or for Graphviz. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nbcoll/show.h>

#include "command.h"

typedef struct picture {
    command_cases cases;
    int first, last; /* ranks to show; last < 0: all */
    int dot;
} picture;

static int take_format(const command *self, picture *p, const char *value)
{
    p->dot = strcmp(value, "dot") == 0;
    return p->dot || strcmp(value, "text") == 0 ? 0 : command_refuse(self, "--format is text or dot, not '%s'", value);
}

static int take_rank(const command *self, picture *p, const char *value)
{
    unsigned long long rank;
    if (!command_number(value, 0, 1u << 30, &rank))
        return command_refuse(self, "--rank takes a number, not '%s'", value);
    p->first = p->last = (int)rank;
    return 0;
}

static int take_options(const command *self, picture *p, int argc, char *argv[])
{
    static const struct option options[] = {
        COMMAND_CASE_OPTIONS,
        {"rank", required_argument, NULL, 'R'},
        {"all", no_argument, NULL, 'a'},
        {"format", required_argument, NULL, 'f'},
        {NULL, 0, NULL, 0},
    };
    int option, status = 0;
    while (!status && (option = command_next(self, argc, argv, options)) != -1) {
        if (option == 'a')
            p->last = -1;
        else if (option == 'R')
            status = take_rank(self, p, optarg);
        else if (option == 'f')
            status = take_format(self, p, optarg);
        else
            status = command_take_option(self, &p->cases, option, optarg);
    }
    return status ? status : command_take_words(self, &p->cases, argc - optind, argv + optind);
}

/* What the options say together. */
static int check(const command *self, picture *p)
{
    const command_cases *c = &p->cases;
    if (!c->algorithm)
        return command_refuse(self, "it takes an operation and an algorithm");
    if (c->fewest == 0)
        return command_refuse(self, "--ranks is missing");
    if (c->fewest != c->most || c->counts != 1)
        return command_refuse(self, "it takes one number of %s", c->counts != 1 ? "elements" : "ranks");
    if (p->last >= c->most)
        return command_refuse(self, "--rank %d: there are %d ranks", p->last, c->most);
    if (p->last < 0) {
        p->first = 0;
        p->last = c->most - 1;
    }
    return 0;
}

static nbcoll_status print(const picture *p, const nbcoll_schedule *const schedules[], size_t n)
{
    if (p->dot)
        return nbcoll_show_dot(schedules, n, command_write, stdout);
    nbcoll_status status = NBCOLL_OK;
    for (size_t i = 0; i < n && !status; i++)
        status = nbcoll_show_text(schedules[i], command_write, stdout);
    return status;
}

static int run(const command *self, int argc, char *argv[])
{
    picture p = {.cases = {.operation = -1, .counts = 1, .count = {1000}, .reduction = {NBCOLL_INT32, NBCOLL_SUM}}};
    int refused = take_options(self, &p, argc, argv);
    if (!refused)
        refused = check(self, &p);
    if (refused)
        return refused;

    nbcoll_case c = command_case(&p.cases, p.cases.algorithm);
    nbcoll_meaning meaning = {.size = sizeof meaning};
    nbcoll_status status = nbcoll_meaning_of(&c, 0, &meaning);
    if (status)
        return command_refuse_case(self, &c, status);
    size_t n = (size_t)(p.last - p.first) + 1;
    nbcoll_schedule **schedules = calloc(n, sizeof *schedules);
    status = schedules ? NBCOLL_OK : NBCOLL_ERR_MEMORY;
    for (size_t i = 0; i < n && !status; i++)
        status = nbcoll_build_case(p.cases.algorithm, &c, p.first + (int)i, NULL, &schedules[i]);
    if (!status)
        status = print(&p, (const nbcoll_schedule *const *)schedules, n);
    for (size_t i = 0; schedules && i < n; i++)
        nbcoll_schedule_free(schedules[i]);
    free(schedules);
    if (!status)
        return COMMAND_OK;
    command_refuse(self, "%s", nbcoll_status_text(status));
    return COMMAND_FAILED;
}

const command command_show = {
    "show",
    "prints the schedules of an algorithm",
    "usage: nbcoll show OPERATION ALGORITHM --ranks P [--rank R | --all] [OPTION...]\n\n"
    "Prints the schedule that ALGORITHM builds for rank R (0 unless given) of P, or those of all ranks.\n\n"
    "  --root R          the root (0)\n"
    "  --count N         elements: of one rank's block, or of the vector (1000)\n"
    "  --type T          their type (INT32)\n"
    "  --op O            the reduction (SUM)\n"
    "  --in-place[=odd]  the form in which send and receive buffer are one (at odd ranks only)\n"
    "  --native[=N]      N neighbouring ranks (all) share memory, and fetch instead of receiving\n"
    COMMAND_BLOCKS_HELP
    "  --format text     a line for each step (the default)\n"
    "  --format dot      a graph, for dot -Tsvg\n",
    run,
    ":",
};
