/* SPDX-License-Identifier: BSD-3-Clause
 * The tuning file that `nbcoll tune` writes: beside its place, and then moved there, so that it is never half a file.
 * What was simulated is the same file again; what was measured says when and where. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sim.h"
#include "tune.h"

#define WIDTH 110 /* a line of a tuning file has at most 190 characters */

/* ---- the head ---------------------------------------------------------------------------------------------------- */

static void add_numbers(char text[TUNE_TEXT], const char *name, const size_t number[], size_t n)
{
    for (size_t i = 0; i < n; i++)
        command_add(text, TUNE_TEXT, "%s %zu", i ? "," : name, number[i]);
    command_add(text, TUNE_TEXT, "; ");
}

void tune_add_grid(const tune *t, char text[TUNE_TEXT])
{
    add_numbers(text, "ranks", t->ranks, t->rows);
    add_numbers(text, "bytes", t->bytes, t->columns);
    command_add(text, TUNE_TEXT, "%s %s; us: medians of start and wait on the slowest rank%s",
                nbcoll_type_name(t->plan.reduction.type), nbcoll_op_name(t->plan.reduction.op),
                t->is_changing ? ", buffers changing" : "");
}

/* What is not 0 of the model. */
static void add_model(const tune *t, char text[TUNE_TEXT])
{
    const char *name, *before = " ";
    json_t *model = sim_numbers(sim_model_names, &t->model, 0), *number;
    command_add(text, TUNE_TEXT, "simulated, model %.*s:", WIDTH, t->model_name);
    json_object_foreach(model, name, number)
    {
        command_add(text, TUNE_TEXT, "%s%s %lld", before, name, (long long)json_integer_value(number));
        before = ", ";
    }
    json_decref(model);
}

/* When, where, and in what latency class the machine was. */
static void add_machine(const tune *t, char text[TUNE_TEXT])
{
    char host[65] = "?", when[32] = "?";
    time_t now = time(NULL);
    struct tm utc;
    gethostname(host, sizeof host - 1);
    if (gmtime_r(&now, &utc))
        strftime(when, sizeof when, "%Y-%m-%d %H:%M UTC", &utc);
    command_add(
        text, TUNE_TEXT,
        "measured until %s on %s: ranks as %s over shared memory, %d cores, %d rounds of %d iterations; latency class",
        when, host, t->plan.are_threads ? "threads" : "processes", bench_cores(), t->plan.rounds, t->plan.iterations);
    for (const char *latency = "SCX-"; *latency; latency++) {
        size_t points = 0;
        for (size_t i = 0; i < t->points; i++)
            points += t->point[i].latency == *latency;
        if (points)
            command_add(text, TUNE_TEXT, " %c (%zu points)", *latency, points);
    }
}

/* Prints a text as a comment, in lines, and begins another one. */
static void put_comment(FILE *out, char text[TUNE_TEXT])
{
    command_print_words(out, "; ", ";   ", 0, WIDTH, text);
    *text = '\0';
}

/* Words of the command that are too long are cut. */
static void put_head(const tune *t, FILE *out)
{
    char text[TUNE_TEXT];
    snprintf(text, TUNE_TEXT, "Rules for selection (nbcoll/tuning.h), ABI %u, written by: nbcoll", NBCOLL_ABI);
    for (char **argument = t->argument; *argument; argument++)
        command_add(text, TUNE_TEXT, " %.*s", WIDTH, *argument);
    for (char *c = text; *c; c++)
        *c = *c < ' ' || *c > '~' ? '?' : *c;
    put_comment(out, text);
    (t->is_simulated ? add_model : add_machine)(t, text);
    put_comment(out, text);
    tune_add_grid(t, text);
    put_comment(out, text);
    command_add(text, TUNE_TEXT, "Where there is no rule, no algorithm was faster than the compiled-in choice by more "
                "than %g%% and the noise.", 100 * t->within);
    put_comment(out, text);
}

/* ---- rules ------------------------------------------------------------------------------------------------------- */

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
    for (const tune_point *p = t->point; p < t->point + t->points; p++) {
        if (p->rule != rule || p->time[p->choice[TUNE_MADE]].choice.algorithm->operation != p->operation)
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
    fprintf(out, "%-20s = %s ranks %d", r->algorithm->name, r->sharing == NBCOLL_SHARED ? "shared" : "apart",
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
    char *beside;
    if (asprintf(&beside, "%s.new", t->output) < 0)
        return command_fail_status(t->self, NBCOLL_ERR_MEMORY);
    FILE *out = fopen(beside, "w");
    int failed = !out || write_all(t, out) || rename(beside, t->output) != 0;
    if (failed)
        command_fail(t->self, "%s: %s", t->output, strerror(errno));
    if (failed && out)
        unlink(beside);
    free(beside);
    return failed ? COMMAND_FAILED : 0;
}
