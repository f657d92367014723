/* SPDX-License-Identifier: BSD-3-Clause
 * What `nbcoll tune` prints: the penalty, which is the time of what is chosen divided by the time of the best
 * candidate, over the points of each operation and number of ranks; or all of it as JSON. */
#include <stdio.h>

#include "tune.h"

static const char *const chooser_names[TUNE_CHOOSERS] = {"compiled", "given", "made"};
static const char *const chooser_titles[TUNE_CHOOSERS] = {"the compiled-in choice", "with the rules of --tuning",
                                                          "with the rules made here"};

typedef struct penalty {
    size_t points;
    double sum;
    const tune_point *at; /* the worst */
} penalty;

static double ratio(const tune_point *p, tune_chooser who)
{
    double best = p->time[p->best].us, chosen = p->time[p->choice[who]].us;
    return best > 0 ? chosen / best : 1; /* nothing costs anything */
}

static int is_wanted(const tune *t, tune_chooser who)
{
    return who != TUNE_GIVEN || t->rules.file;
}

/* `operation`, `row`: as many as there are stands for all. */
static penalty penalty_of(const tune *t, tune_chooser who, size_t operation, size_t row)
{
    penalty all = {.points = 0};
    for (const tune_point *p = t->point; p < t->point + t->points; p++) {
        if ((row < t->rows && p->row != row) ||
            (operation < t->operations && p->operation != t->operation[operation]))
            continue;
        double times = ratio(p, who);
        all.points++;
        all.sum += times;
        if (!all.at || times > ratio(all.at, who))
            all.at = p;
    }
    return all;
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static void print_worst(const tune *t, const tune_point *p, tune_chooser who)
{
    char chosen[COMMAND_NAME], best[COMMAND_NAME];
    const tune_time *c = &p->time[p->choice[who]], *b = &p->time[p->best];
    printf("  %zu ranks, %zu bytes: %s %.2f us, %s %.2f us", t->ranks[p->row], t->bytes[p->column],
           command_algorithm_text(&c->choice, chosen), c->us, command_algorithm_text(&b->choice, best), b->us);
}

static void print_table(const tune *t, tune_chooser who)
{
    printf("%s: its time / the best, mean and worst over the sizes\n%-20s", chooser_titles[who], "ranks");
    for (size_t row = 0; row < t->rows; row++)
        printf(" %11zu", t->ranks[row]);
    printf(" %11s  the worst\n", "all");
    for (size_t o = 0; o <= t->operations; o++) {
        printf("%-20s", o < t->operations ? nbcoll_operation_name(t->operation[o]) : "all");
        for (size_t row = 0; row <= t->rows; row++) {
            penalty p = penalty_of(t, who, o, row);
            if (p.points)
                printf(" %5.2f %5.2f", p.sum / (double)p.points, ratio(p.at, who));
            else
                printf(" %5s %5s", "-", "-");
            if (row == t->rows && p.at && ratio(p.at, who) >= 1.005)
                print_worst(t, p.at, who);
        }
        putchar('\n');
    }
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

json_t *tune_time_object(const tune_time *time)
{
    json_t *object = json_pack("{s:s, s:f, s:f}", "algorithm", time->choice.algorithm->name, "us", time->us, "noise",
                               time->noise);
    json_object_update_new(object, command_parameters_object(&time->choice));
    return object;
}

json_t *tune_point_object(const tune *t, const tune_point *p)
{
    json_t *times = json_array();
    for (size_t i = 0; i < p->times; i++)
        json_array_append_new(times, tune_time_object(&p->time[i]));
    return json_pack("{s:s, s:I, s:I, s:s#, s:o}", "operation", nbcoll_operation_name(p->operation), "ranks",
                     (json_int_t)t->ranks[p->row], "bytes", (json_int_t)t->bytes[p->column], "latency", &p->latency, 1,
                     "times", times);
}

/* A row of each table for each operation and number of ranks; null stands for all of them. */
static json_t *penalty_rows(const tune *t, tune_chooser who)
{
    json_t *rows = json_array();
    for (size_t o = 0; o <= t->operations; o++)
        for (size_t row = 0; row <= t->rows; row++) {
            penalty p = penalty_of(t, who, o, row);
            if (!p.points)
                continue;
            const char *operation = o < t->operations ? nbcoll_operation_name(t->operation[o]) : NULL;
            json_array_append_new(
                rows, json_pack("{s:s?, s:o, s:I, s:f, s:f, s:{s:I, s:I}}", "operation", operation, "ranks",
                                row < t->rows ? json_integer((json_int_t)t->ranks[row]) : json_null(), "points",
                                (json_int_t)p.points, "mean", p.sum / (double)p.points, "worst", ratio(p.at, who), "at",
                                "ranks", (json_int_t)t->ranks[p.at->row], "bytes",
                                (json_int_t)t->bytes[p.at->column]));
        }
    return rows;
}

static void print_json(const tune *t)
{
    json_t *points = json_array(), *penalties = json_object();
    for (const tune_point *p = t->point; p < t->point + t->points; p++) {
        json_t *point = tune_point_object(t, p);
        json_object_update_new(point, json_pack("{s:I, s:b, s:I}", "count", (json_int_t)p->count, "shared",
                                                t->terms[p->row].shared, "best", (json_int_t)p->best));
        for (int who = 0; who < TUNE_CHOOSERS; who++)
            if (is_wanted(t, (tune_chooser)who))
                json_object_set_new(point, chooser_names[who], json_integer((json_int_t)p->choice[who]));
        json_array_append_new(points, point);
    }
    for (int who = 0; who < TUNE_CHOOSERS; who++)
        if (is_wanted(t, (tune_chooser)who))
            json_object_set_new(penalties, chooser_names[who], penalty_rows(t, (tune_chooser)who));
    json_t *all = json_pack("{s:i, s:s?, s:f, s:I, s:I, s:s?, s:o, s:o}", "abi", (int)NBCOLL_ABI, "model",
                            t->is_simulated ? t->model_name : NULL, "within", t->within, "resumed",
                            (json_int_t)t->resumed, "rules", (json_int_t)t->made_count, "output", t->output,
                            "penalties", penalties, "points", points);
    command_print_json(all);
}

void tune_report(const tune *t)
{
    if (t->is_json) {
        print_json(t);
        return;
    }
    for (int who = 0; who < TUNE_CHOOSERS; who++)
        if (is_wanted(t, (tune_chooser)who)) {
            print_table(t, (tune_chooser)who);
            putchar('\n');
        }
    printf("%zu points, %zu of them found in the journal; %zu rules%s%s\n", t->points, t->resumed, t->made_count,
           t->output ? " in " : "", t->output ? t->output : "");
}
