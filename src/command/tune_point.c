/* SPDX-License-Identifier: BSD-3-Clause
 * The points of `nbcoll tune`: which there are, their candidates, what is chosen there, and how long all of those
 * take. */
#include <math.h>

#include "sim.h"
#include "tune.h"

#define MANY 65536 /* bytes up to which a batch has all its iterations */
#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

tune_point *tune_at(const tune *t, size_t operation, size_t row, size_t column)
{
    return t->at[(operation * t->rows + row) * t->columns + column];
}

/* ---- candidates -------------------------------------------------------------------------------------------------- */

/* Its index among the candidates, where it is put if it is new; BENCH_ENTRIES: there is no room. Parameters that the
 * algorithm does not read are dropped. */
static size_t add(tune_point *p, const nbcoll_choice *c)
{
#define READ(name, flag) .name = c->algorithm->flags & NBCOLL_ALGORITHM_##flag ? c->name : 0,
    nbcoll_choice new = {COMMAND_PARAMETERS(READ).algorithm = c->algorithm};
    size_t i = 0;
    while (i < p->times && !command_same_choice(&p->time[i].choice, &new))
        i++;
    if (i == p->times && i < BENCH_ENTRIES)
        p->time[p->times++] = (tune_time){.choice = new};
    return i;
}

/* An algorithm with its own parameters, and with others that mean something at this size. */
static void add_all(const tune *t, tune_point *p, const nbcoll_algorithm *algorithm, size_t ranks, size_t bytes)
{
    static const size_t segments[] = {0, 4096, 16384, 262144};
    static const unsigned arities[] = {0, 2, 8}, ports[] = {0, 1, 3}, leaders[] = {0, 2, 4};
    for (size_t i = 0; i < LENGTH(segments) && segments[i] <= bytes / 2; i++)
        for (size_t k = 0; k < LENGTH(arities) && arities[k] < ranks; k++)
            for (size_t l = 0; l < LENGTH(ports) && ports[l] < ranks; l++)
                for (size_t m = 0; m < LENGTH(leaders); m++) {
                    nbcoll_choice c = {.algorithm = algorithm, .segment = segments[i], .arity = arities[k],
                                       .ports = ports[l], .leaders = leaders[m]};
                    if (add(p, &c) == BENCH_ENTRIES)
                        command_fail_status(t->self, NBCOLL_ERR_LIMIT);
                }
}

static nbcoll_case case_of(const tune *t, const tune_point *p)
{
    return (nbcoll_case){.size = sizeof(nbcoll_case), .operation = p->operation, .ranks = (int)t->ranks[p->row],
                         .count = p->count, .reduction = t->cases.reduction, .known = 1, .node = NBCOLL_CASE_BY_NODE,
                         .nodes = t->nodes[p->row]};
}

static void choose(const tune *t, tune_point *p, const nbcoll_args *a, tune_chooser who)
{
    nbcoll_terms terms = t->terms[p->row];
    nbcoll_choice c = {.size = sizeof c};
    terms.rules = who == TUNE_GIVEN ? t->rules.rules : who == TUNE_MADE ? t->made : NULL;
    terms.rule_count = who == TUNE_GIVEN ? t->rules.count : who == TUNE_MADE ? t->made_count : 0;
    command_fail_status(t->self, nbcoll_select(&terms, a, &c));
    p->choice[who] = add(p, &c);
    if (who == TUNE_MADE)
        p->rule = c.rule;
    command_fail_status(t->self, p->choice[who] < BENCH_ENTRIES ? NBCOLL_OK : NBCOLL_ERR_LIMIT);
}

/* Where ranks do not share memory, algorithms that expose it are no candidates, but by nodes those of several. */
static int is_candidate(const nbcoll_terms *terms, const nbcoll_algorithm *algorithm)
{
    if (algorithm->flags & NBCOLL_ALGORITHM_DOMAINS)
        return terms->nodes && nbcoll_nodes_domains(terms->nodes);
    if (algorithm->flags & NBCOLL_ALGORITHM_NODES)
        return terms->nodes && terms->nodes->count > 1;
    return terms->shared || !(algorithm->flags >> 16);
}

/* In the same order whatever is chosen, since what was measured before is found by it. */
static void list_candidates(const tune *t, tune_point *p)
{
    const nbcoll_algorithm *algorithm;
    nbcoll_args a;
    uint64_t ns;
    nbcoll_case at = case_of(t, p);
    nbcoll_status status = nbcoll_case_args(&at, t->counts, &a);
    if (status == NBCOLL_ERR_OP)
        command_refuse_case(t->self, &at, status);
    command_fail_status(t->self, status);
    for (unsigned i = 0; (algorithm = catalogue_at(p->operation, i)); i++)
        if (is_candidate(&t->terms[p->row], algorithm) &&
            nbcoll_predict(&t->terms[p->row], &a, algorithm, &ns) != NBCOLL_ERR_OP)
            add_all(t, p, algorithm, t->ranks[p->row], t->bytes[p->column]);
    for (int who = TUNE_COMPILED; who <= TUNE_GIVEN; who++)
        choose(t, p, &a, (tune_chooser)who);
}

void tune_choose_made(tune *t)
{
    nbcoll_args a;
    for (tune_point *p = t->point; p < t->point + t->points; p++) {
        nbcoll_case at = case_of(t, p);
        command_fail_status(t->self, nbcoll_case_args(&at, t->counts, &a));
        choose(t, p, &a, TUNE_MADE);
    }
}

/* ---- points ------------------------------------------------------------------------------------------------------ */

/* Takes the elements that make the point's bytes, or fewer where that is not a whole number. Is it near? */
static int take_count(const tune *t, tune_point *p)
{
    bench_plan one = {.at = case_of(t, p)};
    one.at.count = 1;
    size_t element = bench_buffer_bytes(&one), bytes = t->bytes[p->column];
    if (p->operation == NBCOLL_OPERATION_BARRIER)
        return p->column == 0;
    p->count = bytes / element;
    p->bytes = p->count * element;
    return p->column ? p->bytes >= tune_border(t->bytes[p->column - 1], bytes) : p->count || !bytes;
}

static void list_point(tune *t, size_t operation, size_t row, size_t column)
{
    tune_point *p = &t->point[t->points];
    *p = (tune_point){.operation = t->operation[operation], .row = row, .column = column, .latency = '-'};
    if (!take_count(t, p))
        return;
    t->at[(operation * t->rows + row) * t->columns + column] = p;
    t->points++;
    list_candidates(t, p);
}

/* What was said instead. */
static void say(uint32_t *term, int64_t said)
{
    if (said >= 0)
        *term = (uint32_t)said;
}

/* What the choice reads: simulated, what the model's dearest links cost; measured, what the ranks agree on. */
static void take_terms(tune *t, size_t row)
{
    nbcoll_terms *terms = &t->terms[row];
    const int room = t->model.node ? (int)t->model.node : 1; /* nodes of the machine are full, but for the last */
    const nbcoll_placement placement = {.size = sizeof placement, .room = &room, .rooms = 1};
    if (!t->is_simulated) {
        bench_plan plan = t->plan;
        plan.at.ranks = (int)t->ranks[row];
        plan.rounds = plan.iterations = 1;
        plan.terms = terms;
        bench_run(t->self, &plan, NULL);
        return;
    }
    *terms = (nbcoll_terms){.size = sizeof *terms, .ranks = (int)t->ranks[row], .large = NBCOLL_BY_COST};
    command_fail_status(t->self, nbcoll_nodes_place(&placement, (int)t->ranks[row], NULL, &t->nodes[row]));
    nbcoll_sim_prices(&t->model, t->nodes[row], terms);
    say(&terms->between.alpha_ns, t->alpha);
    say(&terms->between.beta_ps, t->beta);
    say(&terms->between.overhead_ns, t->overhead);
}

void tune_list(tune *t)
{
    size_t all = t->operations * t->rows * t->columns;
    t->counts = command_alloc(t->ranks[t->rows - 1], sizeof *t->counts);
    t->point = command_alloc(all, sizeof *t->point);
    t->at = command_alloc(all, sizeof *t->at);
    for (size_t row = 0; row < t->rows; row++)
        take_terms(t, row);
    for (size_t o = 0; o < t->operations; o++)
        for (size_t row = 0; row < t->rows; row++)
            for (size_t column = 0; column < t->columns; column++)
                list_point(t, o, row, column);
}

/* ---- times ------------------------------------------------------------------------------------------------------- */

static void simulate(const tune *t, tune_point *p)
{
    const nbcoll_host host = command_host(t->self);
    nbcoll_sim_config config = {.size = sizeof config, .ranks = (int)t->ranks[p->row], .seed = 1, .model = &t->model,
                                .nodes = t->nodes[p->row], .host = &host};
    for (size_t i = 0; i < p->times; i++) {
        tune_time *time = &p->time[i];
        nbcoll_case at = case_of(t, p);
        command_set_parameters(&at, &time->choice);
        nbcoll_sim_result result = {.size = sizeof result};
        nbcoll_sim_case one = {time->choice.algorithm, &at};
        nbcoll_status status = nbcoll_simulate_cases(&config, &one, &result);
        if (status != NBCOLL_OK)
            command_fail(t->self, "%s %s: %s", nbcoll_operation_name(p->operation), time->choice.algorithm->name,
                         nbcoll_status_text(status));
        time->us = (double)result.last / 1e3;
    }
}

/* The noise is half of what McGill's notch of a box plot is wide, batches being the samples: iterations of one batch
 * are alike for other reasons, too. */
static void measure(const tune *t, tune_point *p)
{
    bench_plan plan = t->plan;
    bench_result results[BENCH_ENTRIES];
    plan.at = case_of(t, p);
    plan.entries = p->times;
    if (t->bytes[p->column] > MANY) { /* about as many bytes for all of these */
        int fewer = (int)((double)plan.iterations * MANY / (double)t->bytes[p->column]);
        plan.iterations = fewer > 2 ? fewer : 2;
    }
    for (size_t i = 0; i < p->times; i++)
        plan.entry[i] = (bench_entry){.choice = p->time[i].choice, .is_changing = t->is_changing};
    p->latency = bench_probe(t->self, plan.bind).letter;
    bench_run(t->self, &plan, results);
    for (size_t i = 0; i < p->times; i++) {
        const bench_spread *s = &results[i].form[BENCH_NONBLOCKING];
        p->time[i].us = s->median;
        p->time[i].noise = 1.57 * (s->upper - s->lower) / sqrt(plan.rounds);
    }
}

void tune_take(const tune *t, tune_point *p)
{
    (t->is_simulated ? simulate : measure)(t, p);
}
