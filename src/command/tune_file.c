/* SPDX-License-Identifier: BSD-3-Clause
 * The tuning file that `nbcoll tune` writes: beside its place, and then moved there, so that it is never half a file.
 * What was simulated is the same file again; what was measured says when and where. */
#define _GNU_SOURCE

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sim.h"
#include "tune.h"

#define WIDTH 110 /* a line of a tuning file has at most 190 characters */

/* ---- the head -------------------------------------------------------------------------------------------------- */

/* A comment, in lines. */
static void put_comment(FILE *out, const char *text)
{
    command_print_words(out, "; ", ";   ", 0, WIDTH, text);
}

/* The command. Words that are too long are cut. */
static void put_command(const tune *t, FILE *out)
{
    char text[4096];
    snprintf(text, sizeof text, "Rules for selection (nbcoll/tuning.h), ABI %u, written by: nbcoll", NBCOLL_ABI);
    for (char **argument = t->argument; *argument; argument++)
        command_add(text, sizeof text, " %.*s", WIDTH, *argument);
    for (char *c = text; *c; c++)
        *c = *c < ' ' || *c > '~' ? '?' : *c;
    put_comment(out, text);
}

static void add_numbers(char *text, size_t room, const char *name, const size_t number[], size_t n)
{
    for (size_t i = 0; i < n; i++)
        command_add(text, room, "%s %zu", i ? "," : name, number[i]);
    command_add(text, room, "; ");
}

/* What is not 0. */
static void put_model(const tune *t, FILE *out)
{
    char text[2048];
    const char *name, *before = " ";
    json_t *model = sim_numbers(sim_model_names, &t->model, 0), *number;
    snprintf(text, sizeof text, "simulated, model %.*s:", WIDTH, t->model_name);
    json_object_foreach(model, name, number)
    {
        command_add(text, sizeof text, "%s%s %lld", before, name, (long long)json_integer_value(number));
        before = ", ";
    }
    json_decref(model);
    put_comment(out, text);
}

/* When, where, and in what mood the machine was. */
static void put_machine(const tune *t, FILE *out)
{
    static const char moods[] = "SCX-";
    char text[512], host[65] = "?", when[32] = "?";
    time_t now = time(NULL);
    struct tm utc;
    gethostname(host, sizeof host - 1);
    if (gmtime_r(&now, &utc))
        strftime(when, sizeof when, "%Y-%m-%d %H:%M UTC", &utc);
    snprintf(text, sizeof text,
             "measured until %s on %s: ranks as %s over shared memory, %d cores, %d rounds of %d iterations; mood",
             when, host, t->plan.are_threads ? "threads" : "processes", bench_cores(), t->plan.rounds,
             t->plan.iterations);
    for (const char *mood = moods; *mood; mood++) {
        size_t points = 0;
        for (size_t i = 0; i < tune_all(t); i++)
            points += t->point[i].is_there && t->point[i].mood == *mood;
        if (points)
            command_add(text, sizeof text, " %c (%zu points)", *mood, points);
    }
    put_comment(out, text);
}

static void put_head(const tune *t, FILE *out)
{
    char text[2048] = "";
    put_command(t, out);
    if (t->is_simulated)
        put_model(t, out);
    else
        put_machine(t, out);
    add_numbers(text, sizeof text, "ranks", t->ranks, t->rows);
    add_numbers(text, sizeof text, "bytes", t->bytes, t->columns);
    command_add(text, sizeof text, "%s %s; us: medians of start and wait on the slowest rank%s",
                nbcoll_type_name(t->plan.reduction.type), nbcoll_op_name(t->plan.reduction.op),
                t->is_changing ? ", buffers changing" : "");
    put_comment(out, text);
    snprintf(text, sizeof text,
             "Where there is no rule, no algorithm was faster than the compiled-in choice by more than "
             "%g%% and the noise.",
             100 * t->within);
    put_comment(out, text);
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
