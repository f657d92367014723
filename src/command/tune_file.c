/* SPDX-License-Identifier: BSD-3-Clause
 * The tuning file that `nbcoll tune` writes: beside its place, and then moved there, so that it is never half a file.
 * What was simulated is the same file again; what was measured says when and where. */
#define _GNU_SOURCE

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tune.h"

#define WIDTH 110 /* a line of a tuning file has at most 190 characters */

/* ---- the head -------------------------------------------------------------------------------------------------- */

/* A comment of words, in lines. Words that are too long are cut. */
typedef struct comment {
    FILE *out;
    size_t used;
} comment;

static void put_word(comment *c, const char *word)
{
    size_t length = strnlen(word, WIDTH);
    int is_wide = c->used && c->used + 1 + length > WIDTH;
    if (!c->used || is_wide)
        c->used = (size_t)fprintf(c->out, is_wide ? "\n;  " : ";");
    fputc(' ', c->out);
    for (size_t i = 0; i < length; i++)
        fputc(word[i] < ' ' || word[i] > '~' ? '?' : word[i], c->out);
    c->used += 1 + length;
}

static void put_words(comment *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put_words(comment *c, const char *format, ...)
{
    char text[512], *rest;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        put_word(c, word);
}

static void end_line(comment *c)
{
    fputc('\n', c->out);
    c->used = 0;
}

static void put_numbers(comment *c, const char *name, const size_t number[], size_t n)
{
    put_words(c, "%s", name);
    for (size_t i = 0; i < n; i++)
        put_words(c, "%zu%s", number[i], i + 1 < n ? "," : ";");
}

static void put_link(comment *c, const char *name, const nbcoll_sim_link *l)
{
    put_words(c, "%s: latency %llu, o_send %llu, o_recv %llu, gap %llu, byte %llu;", name,
              (unsigned long long)l->latency, (unsigned long long)l->o_send, (unsigned long long)l->o_recv,
              (unsigned long long)l->gap, (unsigned long long)l->byte);
}

static void put_model(const tune *t, comment *c)
{
    const nbcoll_sim_model *m = &t->model;
    put_words(c, "simulated, model %s:", t->model_name);
    put_link(c, "inside", &m->inside);
    put_link(c, "between", &m->between);
    put_words(c,
              "step %llu, copy %llu, reduce %llu, eager %llu, node %u, interfaces %u, cores %u, progress %u, cell %u, "
              "table %llu",
              (unsigned long long)m->step, (unsigned long long)m->copy, (unsigned long long)m->reduce,
              (unsigned long long)m->eager, (unsigned)m->node, (unsigned)m->interfaces, (unsigned)m->cores,
              (unsigned)m->progress, (unsigned)m->cell, (unsigned long long)m->table);
}

/* When, where, and in what mood the machine was. */
static void put_machine(const tune *t, comment *c)
{
    static const char moods[] = "SCX-";
    char host[65] = "?", when[32] = "?";
    time_t now = time(NULL);
    struct tm utc;
    gethostname(host, sizeof host - 1);
    if (gmtime_r(&now, &utc))
        strftime(when, sizeof when, "%Y-%m-%d %H:%M UTC", &utc);
    put_words(c, "measured until %s on %s: ranks as %s over shared memory, %d cores, %d rounds of %d iterations; mood",
              when, host, t->plan.are_threads ? "threads" : "processes", bench_cores(), t->plan.rounds,
              t->plan.iterations);
    for (const char *mood = moods; *mood; mood++) {
        size_t points = 0;
        for (size_t i = 0; i < tune_all(t); i++)
            points += t->point[i].is_there && t->point[i].mood == *mood;
        if (points)
            put_words(c, "%c (%zu points)", *mood, points);
    }
}

static void put_head(const tune *t, FILE *out)
{
    comment c = {.out = out};
    put_words(&c, "Rules for selection (nbcoll/tuning.h), ABI %u, written by: nbcoll", NBCOLL_ABI);
    for (char **argument = t->argument; *argument; argument++)
        put_word(&c, *argument);
    end_line(&c);
    if (t->is_simulated)
        put_model(t, &c);
    else
        put_machine(t, &c);
    end_line(&c);
    put_numbers(&c, "ranks", t->ranks, t->rows);
    put_numbers(&c, "bytes", t->bytes, t->columns);
    put_words(&c, "%s %s; us: medians of start and wait on the slowest rank%s",
              nbcoll_type_name(t->plan.reduction.type), nbcoll_op_name(t->plan.reduction.op),
              t->is_changing ? ", buffers changing" : "");
    end_line(&c);
    put_words(&c,
              "Where there is no rule, no algorithm was faster than the compiled-in choice by more than %g%% and "
              "the noise.",
              100 * t->within);
    end_line(&c);
}

/* ---- rules ----------------------------------------------------------------------------------------------------- */

static double gain(const tune_point *p)
{
    return p->time[p->choice[TUNE_COMPILED]].us / p->time[p->choice[TUNE_MADE]].us;
}

/* "; 3 points, 1.2 to 1.5 times as fast as the compiled-in choice; most at ..." */
static void put_figures(const tune *t, FILE *out, size_t rule)
{
    const tune_point *least = NULL, *most = NULL;
    size_t points = 0;
    char from[COMMAND_NAME];
    for (size_t i = 0; i < tune_all(t); i++) {
        const tune_point *p = &t->point[i];
        if (!p->is_there || p->rule != rule ||
            p->time[p->choice[TUNE_MADE]].choice.algorithm->operation != p->operation)
            continue;
        points++;
        least = !least || gain(p) < gain(least) ? p : least;
        most = !most || gain(p) > gain(most) ? p : most;
    }
    if (!points)
        return;
    fprintf(out, "; %zu point%s, %.2f", points, points > 1 ? "s" : "", gain(least));
    if (points > 1)
        fprintf(out, " to %.2f", gain(most));
    fprintf(out, " times as fast; %zu ranks, %zu bytes: %.2f us, %s %.2f us\n", t->ranks[most->row],
            t->bytes[most->column], most->time[most->choice[TUNE_MADE]].us,
            command_algorithm_text(&most->time[most->choice[TUNE_COMPILED]].choice, from),
            most->time[most->choice[TUNE_COMPILED]].us);
}

static void put_rule(FILE *out, const nbcoll_rule *r)
{
    fprintf(out, "%-20s = %s ranks %d", r->algorithm->name, r->topology == NBCOLL_SHARED ? "shared" : "apart",
            r->fewest);
    if (r->most != r->fewest)
        fprintf(out, "..%d", r->most);
    if (r->from && r->below)
        fprintf(out, " bytes %zu..%zu", r->from, r->below - 1);
    else if (r->from)
        fprintf(out, " bytes %zu..", r->from);
    else if (r->below)
        fprintf(out, " bytes ..%zu", r->below - 1);
    char parameters[COMMAND_NAME] = "";
    command_add_parameters(parameters, sizeof parameters, " ", &(nbcoll_choice){COMMAND_PARAMETERS_OF(r)});
    fprintf(out, "%s\n", parameters);
}

static int write_all(const tune *t, FILE *out)
{
    put_head(t, out);
    for (size_t i = 0; i < t->made_count; i++) {
        nbcoll_operation operation = t->made[i].algorithm->operation;
        if (i == 0 || t->made[i - 1].algorithm->operation != operation)
            fprintf(out, "\n[%s]\n", nbcoll_operation_name(operation));
        put_figures(t, out, i);
        put_rule(out, &t->made[i]);
    }
    int failed = fflush(out) != 0 || ferror(out) || fsync(fileno(out)) != 0;
    return fclose(out) != 0 || failed;
}

int tune_write(const tune *t)
{
    char *beside = NULL;
    FILE *out = NULL;
    int failed = asprintf(&beside, "%s.new", t->output) < 0;
    if (failed)
        beside = NULL;
    if (!failed)
        failed = !(out = fopen(beside, "w"));
    if (!failed)
        failed = write_all(t, out) || rename(beside, t->output) != 0;
    if (failed) {
        command_refuse(t->self, "%s: %s", t->output, strerror(errno));
        if (out)
            unlink(beside);
    }
    free(beside);
    return failed ? COMMAND_FAILED : 0;
}
