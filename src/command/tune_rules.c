/* SPDX-License-Identifier: BSD-3-Clause
 * From times to rules: at each point the winner, where it is faster than the compiled-in choice for sure; neighbouring
 * points with the same one are one rule. Bytes between such a point and one without it belong to the nearer one, by
 * ratio, where the winner of the one is at the other no slower than the compiled-in choice, which may have changed
 * between them for a reason; else the rule ends at its point. Beyond the ranks of its points no rule reaches: what wins
 * with 16 ranks and loses little with 8 may lose much with 12. */
#include <math.h>

#include "tune.h"

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

size_t tune_border(size_t low, size_t high)
{
    size_t middle = (size_t)ceil(sqrt((double)low * (double)high));
    return middle <= low ? low + 1 : middle > high ? high : middle;
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
                        ? tune_border(t->bytes[b->column - 1], t->bytes[b->column])
                        : least_bytes(t, b);
    if (end < t->columns)
        rule.below = holds_in_column(t, b, end, same) ? tune_border(t->bytes[end - 1], t->bytes[end])
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
    tune_choose_made(t);
}
