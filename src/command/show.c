/* SPDX-License-Identifier: BSD-3-Clause
 * `nbcoll show`: prints the schedules of an algorithm, as text or for Graphviz. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nbcoll/show.h>

#include "programs.h"
#include "rules.h"
#include "sim.h"

typedef struct picture {
    const command *self;
    command_cases cases;
    command_rules rules;
    int first, last; /* ranks to show */
    int is_all, dot, has_rank, is_program;
    const char *svg; /* a file, or null */
    command_chosen chosen;
    nbcoll_case at; /* what is drawn: */
    timeline drawn;
    int rounds;
} picture;

static int take_rank(const command *self, void *user, const char *value)
{
    picture *p = user;
    unsigned long long rank;
    if (!command_number(value, 0, INT_MAX, &rank))
        return command_refuse(self, "--rank takes a number from 0 on, not '%s'", value);
    p->first = p->last = (int)rank;
    p->has_rank = 1;
    return 0;
}

/* What the options say together. */
static int check(const command *self, picture *p)
{
    const command_cases *c = &p->cases;
    if (!c->algorithm && !c->is_default)
        return command_refuse(self, "it takes an operation and an algorithm");
    if (c->fewest == 0 && !c->placed)
        return command_refuse(self, "--ranks is missing");
    if (c->fewest == 0)
        p->cases.fewest = p->cases.most = c->placed;
    if (c->fewest != c->most || c->counts != 1)
        return command_refuse(self, "it takes one number of %s", c->counts != 1 ? "elements" : "ranks");
    if (p->last >= c->most && !p->is_all)
        return command_refuse(self, "--rank %d: there are %d ranks", p->last, c->most);
    if (p->is_program && p->svg)
        return command_refuse(self, "--program is text or a graph");
    if (p->is_all) {
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

static int take_arguments(picture *p, int argc, char *argv[])
{
    int status = command_take_options(p->self, argc, argv, p, NULL);
    if (!status)
        status = command_rules_words(p->self, &p->rules, &p->cases, argc - optind, argv + optind);
    return status ? status : check(p->self, p);
}

/* Sets the algorithm of the case, and its parameters; says which one, where it was left to be chosen. */
static nbcoll_status choose(picture *p, nbcoll_case *c)
{
    nbcoll_terms terms = command_terms(&p->rules, c);
    char why[288], name[COMMAND_NAME];
    p->chosen.choice = p->rules.given;
    p->chosen.choice.algorithm = p->cases.algorithm;
    if (p->cases.is_default) {
        nbcoll_status status = command_choose(&p->rules, &terms, c, &p->chosen);
        if (status)
            return status;
        p->cases.algorithm = p->chosen.choice.algorithm;
        *c = command_case(&p->cases, p->cases.algorithm);
        printf("%sdefault: %s, %s\n", p->dot ? "// " : "", command_algorithm_text(&p->chosen.choice, name),
               command_chosen_text(&p->chosen, why));
    }
    command_set_parameters(c, &p->chosen.choice);
    return NBCOLL_OK;
}

/* Keeps the messages that are to be drawn, and the work of ranks. */
static void see_event(void *user, const nbcoll_sim_event *e)
{
    picture *p = user;
    int round = (int)(e->begin / TIMELINE_ROUND), is_message = e->what == NBCOLL_SIM_MESSAGE;
    nbcoll_sim_event kept = *e;
    kept.end = is_message ? e->end : e->begin;
    kept.kind = !is_message && e->kind == NBCOLL_FETCH_REDUCE ? NBCOLL_REDUCE : e->kind;
    int is_work = e->what == NBCOLL_SIM_STEP &&
                  (kept.kind == NBCOLL_COPY || kept.kind == NBCOLL_REDUCE || kept.kind == NBCOLL_CALL);
    if (is_message && round >= p->rounds)
        p->rounds = round + 1;
    if (p->has_rank && e->rank != p->first && !(is_message && e->peer == p->first))
        return;
    if ((is_message || is_work) && round <= TIMELINE_ROUNDS - is_message)
        timeline_add(&p->drawn, &kept);
}

/* Ranks by rounds. */
static nbcoll_status draw_picture(void *user, FILE *out)
{
    picture *p = user;
    timeline *t = &p->drawn;
    nbcoll_case c = p->at;
    char name[COMMAND_NAME];
    nbcoll_nodes *nodes = NULL;
    nbcoll_sim_result result = {.size = sizeof result};
    nbcoll_status status = command_nodes(&p->cases, c.ranks, &nodes);
    c.nodes = nodes;
    t->ranks = c.ranks;
    snprintf(t->title, sizeof t->title, "%s %s", nbcoll_operation_name(c.operation),
             command_algorithm_text(&p->chosen.choice, name));
    snprintf(t->terms, sizeof t->terms, "%d ranks", c.ranks);
    if (c.operation != NBCOLL_OPERATION_BARRIER)
        command_add(t->terms, sizeof t->terms, ", %zu %s (%zu bytes)", c.count, nbcoll_type_name(c.reduction.type),
                    c.count * nbcoll_type_size(c.reduction.type));
    if (p->has_rank)
        command_add(t->terms, sizeof t->terms, ": what rank %d has a part in", p->first);
    if (status == NBCOLL_OK) /* who shares memory has been settled by who built the schedules */
        status = sim_play_rounds(p->cases.algorithm, &c, c.ranks, see_event, p, &result);
    if (p->rounds > TIMELINE_ROUNDS)
        command_add(t->terms, sizeof t->terms, "; %d more rounds are left out", p->rounds - TIMELINE_ROUNDS);
    t->rounds = p->rounds > TIMELINE_ROUNDS ? TIMELINE_ROUNDS : p->rounds ? p->rounds : 1;
    if (status == NBCOLL_OK)
        status = t->has_failed ? NBCOLL_ERR_MEMORY : timeline_svg(t, out);
    timeline_free(t);
    nbcoll_nodes_free(nodes);
    return status;
}

static nbcoll_status draw(const picture *p, nbcoll_case *c)
{
    size_t n = (size_t)(p->last - p->first) + 1;
    nbcoll_schedule **schedules = calloc(n, sizeof *schedules);
    nbcoll_host host = command_host(p->self);
    nbcoll_nodes *nodes = NULL;
    nbcoll_status status = schedules ? command_nodes(&p->cases, c->ranks, &nodes) : NBCOLL_ERR_MEMORY;
    c->nodes = nodes;
    for (size_t i = 0; i < n && !status; i++)
        status = nbcoll_build_case(p->cases.algorithm, c, p->first + (int)i, &host, &schedules[i]);
    if (!status)
        status = print(p, (const nbcoll_schedule *const *)schedules, n);
    for (size_t i = 0; schedules && i < n; i++)
        nbcoll_schedule_free(schedules[i]);
    free(schedules);
    nbcoll_nodes_free(nodes);
    return status;
}

/* The same ranks as programs. */
static int print_programs(const picture *p, nbcoll_case *c)
{
    int n = p->last - p->first + 1;
    nbcoll_program **programs = calloc((size_t)n, sizeof *programs);
    nbcoll_nodes *nodes = NULL;
    nbcoll_refusal why = {.size = sizeof why};
    nbcoll_status status = programs ? command_nodes(&p->cases, c->ranks, &nodes) : NBCOLL_ERR_MEMORY;
    c->nodes = nodes;
    if (!status)
        status = command_programs(p->self, p->cases.algorithm, c, NULL, p->first, n, programs, &why);
    if (status)
        command_refuse(p->self, "%s", why.reason != NBCOLL_REFUSAL_NONE ? why.text : nbcoll_status_text(status));
    if (!status && p->dot)
        status = nbcoll_show_programs_dot((const nbcoll_program *const *)programs, (size_t)n, command_write, stdout);
    for (int i = 0; i < n && !status && !p->dot; i++)
        status = nbcoll_show_program(programs[i], command_write, stdout);
    for (int i = 0; programs && i < n; i++)
        nbcoll_program_free(programs[i]);
    free(programs);
    nbcoll_nodes_free(nodes);
    return status ? COMMAND_FAILED : COMMAND_OK;
}

static int show(picture *p)
{
    nbcoll_case c = command_case(&p->cases, p->cases.algorithm);
    nbcoll_meaning meaning = {.size = sizeof meaning};
    nbcoll_status status = nbcoll_meaning_of(&c, 0, &meaning);
    if (status)
        return command_refuse_case(p->self, &c, status);
    status = choose(p, &c);
    p->at = c;
    if (!status && p->svg)
        return command_write_file(p->self, p->svg, draw_picture, p);
    if (!status && p->is_program)
        return print_programs(p, &c);
    if (!status)
        status = draw(p, &c);
    return command_fail_status(p->self, status);
}

static int run(const command *self, int argc, char *argv[])
{
    picture p = {.self = self,
                 .cases = {.operation = -1, .counts = 1, .count = {1000}, .reduction = {NBCOLL_INT32, NBCOLL_SUM}}};
    int status = take_arguments(&p, argc, argv);
    if (!status)
        status = show(&p);
    command_rules_free(&p.rules);
    return status;
}

static const command_option options[] = {
    {COMMAND_RANKS(picture, "")},
    {"rank", "R", "", 0, sizeof(picture), .take = take_rank},
    {"all", NULL, "", COMMAND_IN(picture, is_all)},
    {COMMAND_ROOT(picture, "the root (0)")},
    {COMMAND_COUNT(picture, "elements: of one rank's block, or of the vector (1000)")},
    {COMMAND_TYPE(picture, "their type (INT32)")},
    {COMMAND_OP(picture, "the reduction (SUM)")},
    {COMMAND_IN_PLACE(picture, "the form in which send and receive buffer are one (at odd ranks only)")},
    {COMMAND_NATIVE(picture,
     "N neighbouring ranks (all, or those of each node) share memory, and fetch instead of receiving")},
    COMMAND_BLOCKS_OPTIONS(picture, ""),
    COMMAND_NODES_OPTIONS(picture),
    COMMAND_RULE_OPTIONS(picture, 0),
    {"format", "F", "text: a line for each step (the default); dot: a graph, for dot -Tsvg", COMMAND_IN(picture, dot),
     .words = "text or dot"},
    {"program", NULL,
     "instead, what a network card or an agent would be given for it: the tasks of queue pairs and management queues "
     "(as a graph: a column for each queue); or why it cannot be offloaded", COMMAND_IN(picture, is_program)},
    {"svg", "FILE",
     "instead, a drawing of all ranks: messages round by round, and what ranks copy and combine; with --rank, of "
     "what that rank has a part in", COMMAND_IN(picture, svg)},
    {0},
};

const command command_show = {
    .name = "show",
    .purpose = "prints the schedules of an algorithm",
    .help =
    "usage: nbcoll show OPERATION [--algorithm] ALGORITHM --ranks P [--rank R | --all] [OPTION...]\n\n"
    "Prints the schedule that ALGORITHM builds for rank R (0 unless given) of P, or those of all ranks. `default` is\n"
    "the one that rules and cost model choose, as nbcoll explain --messages says (or --native,\n"
    "--nodes); it is named first, with the reason.\n\n",
    .run = run,
    .options = options,
};
