/* SPDX-License-Identifier: BSD-3-Clause
 * The points of `nbcoll tune`: which there are, their candidates, what is chosen there, how long all of those take, and
 * which rules that makes. */
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

static void choose_made(tune *t)
{
    nbcoll_args a;
    for (tune_point *p = t->point; p < t->point + t->points; p++) {
        nbcoll_case at = case_of(t, p);
        command_fail_status(t->self, nbcoll_case_args(&at, t->counts, &a));
        choose(t, p, &a, TUNE_MADE);
    }
}

/* The first number that is nearer, by ratio, to the higher one. */
static size_t border(size_t low, size_t high)
{
    size_t middle = (size_t)ceil(sqrt((double)low * (double)high));
    return middle <= low ? low + 1 : middle > high ? high : middle;
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
    return p->column ? p->bytes >= border(t->bytes[p->column - 1], bytes) : p->count || !bytes;
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

/* ---- from times to rules ----------------------------------------------------------------------------------------- */

/* At each point the winner, where it is faster than the compiled-in choice for sure; neighbouring points with the same
 * one are one rule. Bytes between such a point and one without it belong to the nearer one, by ratio, where the winner
 * of the one is at the other no slower than the compiled-in choice, which may have changed between them for a reason;
 * else the rule ends at its point. Beyond the ranks of its points no rule reaches: what wins with 16 ranks and loses
 * little with 8 may lose much with 12. */

/* The winners of one operation; null: the compiled-in choice stays, or a rule is made already. */
typedef struct winners {
    const tune_time *at[TUNE_MOST][TUNE_MOST];
} winners;

/* Points that one rule is made for. */
typedef struct block {
    size_t operation, row, column, rows, columns;
} block;

/* Is x the faster one, not just by chance nor by a little? */
static int beats(const tune *t, const tune_time *x, const tune_time *y)
{
    return x->us * (1 + t->within) < y->us && x->us + x->noise < y->us - y->noise;
}

/* Of those that are as good as the best: one like a neighbour's winner, or the first. So rules become few. */
static const tune_time *winner(const tune *t, const tune_point *p, const tune_time *before, const tune_time *above)
{
    const tune_time *chosen = &p->time[p->choice[TUNE_COMPILED]], *best = &p->time[p->best];
    const tune_time *like[] = {before, above, NULL};
    if (!beats(t, best, chosen))
        return NULL;
    for (int i = 0; i < 3; i++)
        for (size_t k = 0; k < p->times && (like[i] || i == 2); k++)
            if ((i == 2 || command_same_choice(&p->time[k].choice, &like[i]->choice)) &&
                beats(t, &p->time[k], chosen) && !beats(t, best, &p->time[k]))
                return &p->time[k];
    return best;
}

/* Where there is no point (blocks of less than an element; all sizes of a barrier but the first), the next one with
 * more bytes stands for it, or the last before. */
static void find_winners(const tune *t, size_t operation, winners *w)
{
    for (size_t row = 0; row < t->rows; row++) {
        size_t first = t->columns;
        for (size_t column = 0; column < t->columns; column++) {
            const tune_point *p = tune_at(t, operation, row, column);
            const tune_time *before = column ? w->at[row][column - 1] : NULL;
            w->at[row][column] = p ? winner(t, p, before, row ? w->at[row - 1][column] : NULL) : before;
            if (p && first == t->columns)
                first = column;
        }
        for (size_t column = 0; column < first && first < t->columns; column++)
            w->at[row][column] = w->at[row][first];
    }
}

static int is_like(const tune *t, const winners *w, size_t row, size_t column, const tune_time *like)
{
    return row < t->rows && column < t->columns && w->at[row][column] &&
           command_same_choice(&w->at[row][column]->choice, &like->choice);
}

/* How many columns, and then rows, from its first point on belong together. */
static void extend(const tune *t, const winners *w, block *b)
{
    const tune_time *like = w->at[b->row][b->column];
    int fits = 1;
    for (b->columns = 1; is_like(t, w, b->row, b->column + b->columns, like); b->columns++)
        ;
    for (b->rows = 0; fits; b->rows += (size_t)fits) {
        size_t row = b->row + b->rows;
        fits = row < t->rows && t->terms[row].shared == t->terms[b->row].shared;
        for (size_t i = 0; i < b->columns && fits; i++)
            fits = is_like(t, w, row, b->column + i, like);
    }
}

/* Is the same choice no slower than the compiled-in one at a point of another column? Where there is no point, nothing
 * speaks against it. */
static int holds_at(const tune *t, const tune_point *p, const nbcoll_choice *same)
{
    if (!p)
        return 1;
    for (size_t i = 0; i < p->times; i++)
        if (command_same_choice(&p->time[i].choice, same))
            return !beats(t, &p->time[p->choice[TUNE_COMPILED]], &p->time[i]);
    return 0;
}

static int holds_in_column(const tune *t, const block *b, size_t column, const nbcoll_choice *same)
{
    int holds = 1;
    for (size_t i = 0; i < b->rows; i++)
        holds &= holds_at(t, tune_at(t, b->operation, b->row + i, column), same);
    return holds;
}

/* What the least of the block's points have, in its first column. */
static size_t least_bytes(const tune *t, const block *b)
{
    size_t least = t->bytes[b->column];
    for (size_t i = 0; i < b->rows; i++) {
        const tune_point *p = tune_at(t, b->operation, b->row + i, b->column);
        least = p && p->bytes < least ? p->bytes : least;
    }
    return least;
}

/* Sizes below the least and above the greatest are like these; fewer ranks than were tried, and more, have no rule. */
static nbcoll_rule rule_of(const tune *t, const tune_time *winner, const block *b)
{
    const nbcoll_choice *same = &winner->choice;
    size_t last = b->row + b->rows - 1, end = b->column + b->columns;
    nbcoll_rule rule = command_rule(same);
    rule.fewest = (int)t->ranks[b->row];
    rule.most = (int)t->ranks[last];
    if (b->column)
        rule.from = holds_in_column(t, b, b->column - 1, same)
                        ? border(t->bytes[b->column - 1], t->bytes[b->column])
                        : least_bytes(t, b);
    if (end < t->columns)
        rule.below = holds_in_column(t, b, end, same) ? border(t->bytes[end - 1], t->bytes[end])
                                                      : t->bytes[end - 1] + 1;
    rule.sharing = t->terms[b->row].shared ? NBCOLL_SHARED : NBCOLL_NOT_SHARED;
    return rule;
}

static void make_rules(tune *t, size_t operation, winners *w)
{
    for (size_t row = 0; row < t->rows; row++)
        for (size_t column = 0; column < t->columns; column++) {
            block b = {.operation = operation, .row = row, .column = column};
            if (!w->at[row][column])
                continue;
            extend(t, w, &b);
            t->made[t->made_count++] = rule_of(t, w->at[row][column], &b);
            for (size_t i = 0; i < b.rows * b.columns; i++)
                w->at[row + i / b.columns][column + i % b.columns] = NULL;
        }
}

void tune_make_rules(tune *t)
{
    t->made = command_alloc(t->operations * t->rows * t->columns, sizeof *t->made);
    for (tune_point *p = t->point; p < t->point + t->points; p++)
        for (size_t k = 1; k < p->times; k++)
            if (p->time[k].us < p->time[p->best].us)
                p->best = k;
    for (size_t o = 0; o < t->operations; o++) {
        winners w;
        find_winners(t, o, &w);
        make_rules(t, o, &w);
    }
    if (t->made_count > NBCOLL_RULES)
        command_fail(t->self, "%zu rules, and a communicator takes %d: take a coarser grid", t->made_count,
                     NBCOLL_RULES);
    choose_made(t);
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
