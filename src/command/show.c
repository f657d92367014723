/* SPDX-License-Identifier: BSD-3-Clause
 * `nbcoll show`: prints the schedules of an algorithm, as text or for Graphviz. */
#include <nbcoll/show.h>

#include "sim.h"

typedef struct picture {
    const command *self;
    command_cases cases;
    command_rules rules;
    int first, last; /* ranks to show */
    int is_all, dot, is_program;
    unsigned has_rank;
    const char *svg; /* a file, or null */
    command_chosen chosen;
    nbcoll_case at; /* what is drawn: */
    timeline drawn;
    int rounds;
} picture;

/* What the options say together. */
static void check(const command *self, picture *p)
{
    const command_cases *c = &p->cases;
    if (!c->algorithm && !c->is_default)
        command_refuse(self, "it takes an operation and an algorithm");
    if (c->fewest == 0)
        command_refuse(self, "--ranks is missing");
    if (c->fewest != c->most || c->counts != 1)
        command_refuse(self, "it takes one number of %s", c->counts != 1 ? "elements" : "ranks");
    if (p->last >= c->most && !p->is_all)
        command_refuse(self, "--rank %d: there are %d ranks", p->last, c->most);
    if (p->is_program && p->svg)
        command_refuse(self, "--program is text or a graph");
    if (p->is_all) {
        p->first = 0;
        p->last = c->most - 1;
    }
}

static void take_arguments(picture *p, int argc, char *argv[])
{
    command_take_options(p->self, &argc, &argv, p, &p->has_rank);
    p->last = p->first;
    command_rules_words(p->self, &p->rules, &p->cases, argc, argv);
    check(p->self, p);
}

/* Sets the algorithm of the case, and its parameters; says which one, where it was left to be chosen. */
static void choose(picture *p, nbcoll_case *c)
{
    nbcoll_terms terms = command_terms(&p->rules, c);
    char name[COMMAND_NAME];
    p->chosen.choice = p->rules.given;
    p->chosen.choice.algorithm = p->cases.algorithm;
    if (p->cases.is_default) {
        command_choose(p->self, &p->rules, &terms, c, &p->chosen);
        p->cases.algorithm = p->chosen.choice.algorithm;
        *c = command_case(&p->cases, p->cases.algorithm);
        printf("%sdefault: %s, %s %s\n", p->dot ? "// " : "", command_algorithm_text(&p->chosen.choice, name),
               nbcoll_reason_name(p->chosen.choice.reason), p->chosen.why);
    }
    command_set_parameters(c, &p->chosen.choice);
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
static void draw_picture(void *user, FILE *out)
{
    picture *p = user;
    timeline *t = &p->drawn;
    const nbcoll_case *c = &p->at;
    nbcoll_sim_result result = {.size = sizeof result};
    sim_entitle(t, c, &p->chosen.choice);
    if (p->has_rank)
        command_add(t->terms, sizeof t->terms, ": what rank %d has a part in", p->first);
    /* Who shares memory has been settled by who built the schedules. */
    command_fail_status(p->self, sim_play_rounds(p->cases.algorithm, c, c->ranks, see_event, p, &result));
    if (p->rounds > TIMELINE_ROUNDS)
        command_add(t->terms, sizeof t->terms, "; %d more rounds are left out", p->rounds - TIMELINE_ROUNDS);
    t->rounds = p->rounds > TIMELINE_ROUNDS ? TIMELINE_ROUNDS : p->rounds ? p->rounds : 1;
    timeline_svg(t, out);
    timeline_free(t);
}

/* So many ranks: their schedules; or these as programs, or why there are none. */
static void print(const picture *p, int n)
{
    nbcoll_host host = command_host(p->self);
    nbcoll_refusal why = {.size = sizeof why};
    nbcoll_schedule **schedules = command_alloc((size_t)n, sizeof *schedules);
    nbcoll_program **programs = command_alloc((size_t)n, sizeof *programs);
    nbcoll_status status = NBCOLL_OK;
    if (p->is_program)
        status = nbcoll_compile_case(p->cases.algorithm, &p->at, &host, NULL, p->first, n, programs, &why);
    for (int i = 0; i < n && !status && !p->is_program; i++)
        status = nbcoll_build_case(p->cases.algorithm, &p->at, p->first + i, &host, &schedules[i]);
    if (why.reason != NBCOLL_REFUSAL_NONE)
        command_fail(p->self, "%s", why.text);
    if (!status && p->dot && p->is_program)
        status = nbcoll_show_programs_dot((const nbcoll_program *const *)programs, (size_t)n, command_write, stdout);
    else if (!status && p->dot)
        status = nbcoll_show_dot((const nbcoll_schedule *const *)schedules, (size_t)n, command_write, stdout);
    for (int i = 0; i < n && !status && !p->dot; i++)
        status = p->is_program ? nbcoll_show_program(programs[i], command_write, stdout)
                               : nbcoll_show_text(schedules[i], command_write, stdout);
    command_fail_status(p->self, status);
    for (int i = 0; i < n; i++) {
        nbcoll_schedule_free(schedules[i]);
        nbcoll_program_free(programs[i]);
    }
    free(schedules);
    free(programs);
}

static void run(const command *self, int argc, char *argv[])
{
    picture p = {.self = self,
                 .cases = {.operation = -1, .counts = 1, .count = {1000}, .reduction = {NBCOLL_INT32, NBCOLL_SUM}}};
    nbcoll_meaning meaning = {.size = sizeof meaning};
    take_arguments(&p, argc, argv);
    p.at = command_case(&p.cases, p.cases.algorithm);
    nbcoll_status status = nbcoll_meaning_of(&p.at, 0, &meaning);
    if (status)
        command_refuse_case(self, &p.at, status);
    choose(&p, &p.at);
    nbcoll_nodes *nodes = command_nodes(self, &p.cases, p.at.ranks);
    p.at.nodes = nodes;
    if (p.svg)
        command_write_file(self, p.svg, draw_picture, &p);
    else
        print(&p, p.last - p.first + 1);
    nbcoll_nodes_free(nodes);
    command_rules_free(&p.rules);
}

static const command_option options[] = {
    {COMMAND_RANKS(picture, "")},
    {"rank", "R", "", COMMAND_IN(picture, first), 0, INT_MAX, .marks = 1},
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
     "instead, what a NIC or an agent would be given for it: the tasks of queue pairs and management queues "
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
