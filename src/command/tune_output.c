/* SPDX-License-Identifier: BSD-3-Clause
 * What `nbcoll tune` writes: its journal, which it reads again; the tuning file; and what it prints. */
#include <fcntl.h>
#include <sys/file.h>
#include <time.h>

#include "sim.h"
#include "tune.h"

enum { TEXT = 4096, WIDTH = 110 /* a line of a tuning file has at most 190 characters */ };

static void add_numbers(char text[TEXT], const char *name, const size_t number[], size_t n)
{
    for (size_t i = 0; i < n; i++)
        command_add(text, TEXT, "%s %zu", i ? "," : name, number[i]);
    command_add(text, TEXT, "; ");
}

/* Appends what is tuned: the ranks and bytes, of which elements, and how. */
static void add_grid(const tune *t, char text[TEXT])
{
    add_numbers(text, "ranks", t->ranks, t->rows);
    add_numbers(text, "bytes", t->bytes, t->columns);
    command_add(text, TEXT, "%s %s; us: medians of start and wait on the slowest rank%s",
                nbcoll_type_name(t->cases.reduction.type), nbcoll_op_name(t->cases.reduction.op),
                t->is_changing ? ", buffers changing" : "");
}

static json_t *time_object(const tune_time *time)
{
    json_t *object = json_pack("{s:s, s:f, s:f}", "algorithm", time->choice.algorithm->name, "us", time->us, "noise",
                               time->noise);
    json_object_update_new(object, command_parameters_object(&time->choice));
    return object;
}

/* And its times. */
static json_t *point_object(const tune *t, const tune_point *p)
{
    json_t *times = json_array();
    for (size_t i = 0; i < p->times; i++)
        json_array_append_new(times, time_object(&p->time[i]));
    return json_pack("{s:s, s:I, s:I, s:s#, s:o}", "operation", nbcoll_operation_name(p->operation), "ranks",
                     (json_int_t)t->ranks[p->row], "bytes", (json_int_t)t->bytes[p->column], "latency", &p->latency, 1,
                     "times", times);
}

/* ---- the journal: a line of JSON with the settings, then one for each finished point, in their order ------------- */

/* A line that is another point's, or a part of one, which a kill left, is dropped with all behind it: they are taken
 * again. */

/* All that times and points depend on. */
static json_t *settings_of(const tune *t)
{
    char grid[TEXT] = "";
    for (size_t i = 0; i < t->operations; i++)
        command_add(grid, TEXT, "%s ", nbcoll_operation_name(t->operation[i]));
    add_grid(t, grid);
    json_t *all = json_pack("{s:s, s:i, s:b, s:s}", "version", NBCOLL_VERSION, "abi", (int)NBCOLL_ABI, "simulated",
                            t->is_simulated, "grid", grid);
    if (t->is_simulated)
        json_object_set_new(all, "model", sim_numbers(sim_model_names, &t->model, 0));
    else
        json_object_update_new(all, json_pack("{s:b, s:s?, s:i, s:i}", "threads", t->plan.are_threads, "bind",
                                              t->plan.bind, "rounds", t->plan.rounds, "iterations",
                                              t->plan.iterations));
    return all;
}

static void write_line(const tune *t, json_t *line)
{
    int failed = json_dumpf(line, t->journal, JSON_COMPACT) || fputc('\n', t->journal) == EOF || fflush(t->journal);
    json_decref(line);
    if (failed)
        command_fail(t->self, "%s: it could not be written", t->journal_name);
}

void tune_journal_add(const tune *t, const tune_point *p)
{
    if (t->journal)
        write_line(t, point_object(t, p));
}

/* Takes the times of a point, if this is its line, with the candidates that it has now. */
static int take_line(const tune *t, tune_point *p, const json_t *line)
{
    const tune_point before = *p;
    p->latency = *row_text(line, "latency");
    for (size_t i = 0; i < p->times; i++) {
        const json_t *row = json_array_get(json_object_get(line, "times"), i);
        p->time[i].us = row_real(row, "us");
        p->time[i].noise = row_real(row, "noise");
    }
    json_t *wanted = point_object(t, p);
    int is_it = json_equal(wanted, line);
    json_decref(wanted);
    if (!is_it)
        *p = before;
    return is_it;
}

/* How many lines are good, and their bytes. */
static size_t read_lines(const tune *t, off_t *good)
{
    char *text = NULL;
    size_t room = 0, lines = 0;
    int is_good = 1;
    json_t *settings = settings_of(t);
    *good = 0;
    for (ssize_t length; is_good && lines <= t->points && (length = getline(&text, &room, t->journal)) > 0;) {
        json_t *line = text[length - 1] == '\n' ? json_loadb(text, (size_t)length, 0, NULL) : NULL;
        is_good = lines ? take_line(t, &t->point[lines - 1], line) : json_equal(settings, line);
        lines += (size_t)is_good;
        *good += is_good ? length : 0;
        json_decref(line);
    }
    json_decref(settings);
    free(text);
    return lines;
}

void tune_journal_open(tune *t)
{
    off_t good;
    if (!t->output)
        return;
    if (asprintf(&t->journal_name, "%s.journal", t->output) < 0)
        command_fail_status(t->self, NBCOLL_ERR_MEMORY);
    int fd = open(t->journal_name, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    t->journal = fd < 0 ? NULL : fdopen(fd, "r+");
    if (!t->journal)
        command_fail(t->self, "%s: %s", t->journal_name, strerror(errno));
    if (flock(fd, LOCK_EX | LOCK_NB) != 0)
        command_fail(t->self, "%s: another nbcoll tune is at work on it", t->journal_name);
    size_t lines = read_lines(t, &good);
    t->resumed = lines ? lines - 1 : 0;
    if (!lines && ftello(t->journal) > 0)
        command_refuse(t->self, "%s was begun with other settings, or by another version; remove it to begin anew",
                       t->journal_name);
    if (fseeko(t->journal, good, SEEK_SET) != 0 || ftruncate(fd, good) != 0)
        command_fail(t->self, "%s: %s", t->journal_name, strerror(errno));
    if (!lines)
        write_line(t, settings_of(t));
}

void tune_journal_close(tune *t)
{
    if (t->journal) {
        unlink(t->journal_name);
        fclose(t->journal);
    }
    free(t->journal_name);
}

/* ---- the tuning file --------------------------------------------------------------------------------------------- */

/* It is written beside its place, and then moved there, so that it is never half a file. What was simulated is the same
 * file again; what was measured says when and where. */

/* What is not 0 of the model. */
static void add_model(const tune *t, char text[TEXT])
{
    const char *name, *before = " ";
    json_t *model = sim_numbers(sim_model_names, &t->model, 0), *number;
    command_add(text, TEXT, "simulated, model %.*s:", WIDTH, t->model_name);
    json_object_foreach(model, name, number)
    {
        command_add(text, TEXT, "%s%s %lld", before, name, (long long)json_integer_value(number));
        before = ", ";
    }
    json_decref(model);
}

/* When, where, and in what latency class the machine was. */
static void add_machine(const tune *t, char text[TEXT])
{
    char host[65] = "?", when[32] = "?";
    time_t now = time(NULL);
    struct tm utc;
    gethostname(host, sizeof host - 1);
    if (gmtime_r(&now, &utc))
        strftime(when, sizeof when, "%Y-%m-%d %H:%M UTC", &utc);
    command_add(
        text, TEXT,
        "measured until %s on %s: ranks as %s over shared memory, %d cores, %d rounds of %d iterations; latency class",
        when, host, t->plan.are_threads ? "threads" : "processes", bench_cores(), t->plan.rounds, t->plan.iterations);
    for (const char *latency = "SCX-"; *latency; latency++) {
        size_t points = 0;
        for (size_t i = 0; i < t->points; i++)
            points += t->point[i].latency == *latency;
        if (points)
            command_add(text, TEXT, " %c (%zu points)", *latency, points);
    }
}

/* Prints a text as a comment, in lines, and begins another one. */
static void put_comment(FILE *out, char text[TEXT])
{
    command_print_words(out, "; ", ";   ", 0, WIDTH, text);
    *text = '\0';
}

/* Words of the command that are too long are cut. */
static void put_head(const tune *t, FILE *out)
{
    char text[TEXT];
    snprintf(text, TEXT, "Rules for selection (nbcoll/tuning.h), ABI %u, written by: nbcoll", NBCOLL_ABI);
    for (char **argument = t->argument; *argument; argument++)
        command_add(text, TEXT, " %.*s", WIDTH, *argument);
    for (char *c = text; *c; c++)
        *c = *c < ' ' || *c > '~' ? '?' : *c;
    put_comment(out, text);
    (t->is_simulated ? add_model : add_machine)(t, text);
    put_comment(out, text);
    add_grid(t, text);
    put_comment(out, text);
    command_add(text, TEXT, "Where there is no rule, no algorithm was faster than the compiled-in choice by more "
                "than %g%% and the noise.", 100 * t->within);
    put_comment(out, text);
}

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

void tune_write(const tune *t)
{
    char *beside;
    if (asprintf(&beside, "%s.new", t->output) < 0)
        command_fail_status(t->self, NBCOLL_ERR_MEMORY);
    FILE *out = fopen(beside, "w");
    if (!out || write_all(t, out) || rename(beside, t->output) != 0) {
        int error = errno;
        if (out)
            unlink(beside);
        command_fail(t->self, "%s: %s", t->output, strerror(error));
    }
    free(beside);
}

/* ---- the penalty of what is chosen ------------------------------------------------------------------------------- */

/* The time of what is chosen divided by the time of the best candidate, over the points of each operation and number of
 * ranks; or all of it as JSON. */

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
        json_t *point = point_object(t, p);
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
