/* SPDX-License-Identifier: BSD-3-Clause
 * What `nbcoll bench` found: as a table, as CSV, as JSON, and as a picture drawn by gnuplot. */
#define _POSIX_C_SOURCE 200809L

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "json.h"

/* What the rows below one title have in common. */
#define TITLE "operation ranks"

#define CSV_FORM(form) form ".min " form ".median " form ".max "
#define CSV                                                                                                            \
    "operation algorithm ranks kind count bytes buffers " CSV_FORM("blocking") CSV_FORM("nonblocking")                 \
        CSV_FORM("overlapped") CSV_FORM("computing") "left overlap saved mood_before mood_after served_by reason"

static const char *const form_names[BENCH_FORMS] = {"blocking", "nonblocking", "overlapped", "computing"};

/* ---- rows ------------------------------------------------------------------------------------------------------ */

static json_t *spread_object(const bench_spread *s)
{
    return json_pack("{s:f, s:f, s:f, s:f}", "min", s->least, "median", s->median, "mean", s->mean, "max", s->most);
}

static json_t *mood_object(const bench_mood *mood)
{
    if (mood->letter == '-')
        return json_null();
    return json_pack("{s:s#, s:f}", "letter", &mood->letter, 1, "us", mood->us);
}

json_t *bench_row(const bench_plan *plan, size_t entry, const bench_result *result, const bench_mood mood[2])
{
    const bench_entry *e = &plan->entry[entry];
    const bench_spread *form = result->form;
    double left = form[BENCH_OVERLAPPED].median - form[BENCH_COMPUTING].median;
    size_t bytes = plan->count * nbcoll_type_size(plan->reduction.type);
    json_t *row =
        json_pack("{s:s, s:s, s:i, s:s, s:I, s:I, s:s}", "operation", nbcoll_operation_name(plan->operation),
                  "algorithm", e->choice.algorithm ? e->choice.algorithm->name : "default", "ranks", plan->ranks,
                  "kind", plan->are_threads ? "threads" : "processes", "count", (json_int_t)plan->count, "bytes",
                  (json_int_t)bytes, "buffers", e->is_changing ? "changing" : "reused");
    json_object_update_new(row, json_pack("{s:s, s:s, s:s}", "served_by", result->chosen.choice.algorithm->name,
                                          "reason", nbcoll_reason_name(result->chosen.choice.reason), "why",
                                          result->chosen.why));
    for (int i = 0; i < BENCH_FORMS; i++)
        json_object_set_new(row, form_names[i], spread_object(&form[i]));
    left = left > 0 ? left : 0; /* the difference of two medians */
    json_object_set_new(row, "left", json_real(left));
    if (form[BENCH_NONBLOCKING].median > 0)
        json_object_set_new(row, "overlap", json_real(1 - left / form[BENCH_NONBLOCKING].median));
    if (form[BENCH_BLOCKING].median > 0)
        json_object_set_new(row, "saved", json_real(1 - left / form[BENCH_BLOCKING].median));
    json_object_set_new(row, "iterations", json_integer(plan->rounds * plan->iterations));
    json_object_set_new(row, "mood_before", mood_object(&mood[0]));
    json_object_set_new(row, "mood_after", mood_object(&mood[1]));
    return row;
}

/* Half of a round trip; and what a window of messages and its answer carry a second. */
json_t *bench_pair_row(const bench_plan *plan, const bench_result *result, const bench_mood mood[2])
{
    const bench_spread *trip = &result->form[BENCH_BLOCKING], *window = &result->form[BENCH_NONBLOCKING];
    bench_spread half = {trip->least / 2, trip->lower / 2, trip->median / 2,
                         trip->upper / 2, trip->most / 2,  trip->mean / 2};
    size_t bytes = plan->count * nbcoll_type_size(plan->reduction.type);
    int messages = bench_window(bytes);
    double carried = (double)bytes * messages;
    return json_pack("{s:s, s:I, s:i, s:o, s:i, s:f, s:o, s:o}", "operation", "point-to-point", "bytes",
                     (json_int_t)bytes, "iterations", plan->rounds * plan->iterations, "latency",
                     spread_object(&half), "messages", messages, "megabytes_per_second",
                     window->median > 0 ? carried / window->median : 0, "mood_before", mood_object(&mood[0]),
                     "mood_after", mood_object(&mood[1]));
}

/* ---- text ------------------------------------------------------------------------------------------------------ */

void bench_print_head(bench_format format)
{
    for (const char *c = format == BENCH_CSV ? CSV : ""; *c; c++)
        putchar(*c == ' ' ? ',' : *c == '.' ? '_' : *c);
    fputs(format == BENCH_CSV ? "\n" : "", stdout);
}

void bench_explain_moods(void)
{
    puts("\nmood: how long a cache line takes from one core to another, before and after the\n"
         "row: S, as threads of one core (below 0.038 us); C, as cores that share a cache\n"
         "(below 0.13); X, as cores that do not. Compare rows of one mood.\n"
         "*: changing buffers.");
}

/* Below -999% it is all the same how much slower. */
static double percent(const json_t *row, const char *key)
{
    double part = 100 * row_real(row, key);
    return part < -999 ? -999 : part;
}

/* The letter of a mood; '-': it is not known. */
static char letter_of(const json_t *row, const char *key)
{
    const char *letter = row_text(row, key);
    return letter ? *letter : '-';
}

/* Medians, under a title for all rows of an operation. */
static void print_table_row(const json_t *row, const json_t *before)
{
    if (!before || !row_same(before, row, TITLE)) {
        fputs(before ? "\n" : "", stdout);
        row_print(row, "%s{operation}, %d{ranks} ranks; microseconds, medians\n"
                       "                                   block-  start+  start+           over-\n"
                       "algorithm               bytes mood    ing    wait compute    left    lap saved\n"
                       "                                                   + wait\n");
    }
    row_print(row, "%-20.20s{algorithm} %8d{bytes}");
    printf(" %c%c%c ", letter_of(row, "mood_before.letter"), letter_of(row, "mood_after.letter"),
           strcmp(row_text(row, "buffers"), "changing") == 0 ? '*' : ' ');
    row_print(row, " %7t{blocking.median} %7t{nonblocking.median} %7t{overlapped.median} %7t{left}");
    printf(" %5.0f%% %4.0f%%\n", percent(row, "overlap"), percent(row, "saved"));
    if (strcmp(row_text(row, "algorithm"), "default") == 0)
        row_print(row, "  is %s{served_by}: %s{reason} %s{why}\n");
}

/* The columns that the OSU benchmarks print of blocking calls, then those of nonblocking ones; they are means. */
static void print_osu_row(const json_t *row, const json_t *before)
{
    double bytes = (double)row_number(row, "bytes"), latency = row_real(row, "blocking.mean");
    if (!before || !row_same(before, row, TITLE)) {
        fputs(before ? "\n" : "", stdout);
        row_print(row,
                  "# nbcoll %s{operation}, %d{ranks} ranks\n"
                  "# Size     Avg Latency(us) Min Latency(us) Max Latency(us) Iterations  Overall(us)  Compute(us) "
                  "Pure Comm.(us) Overlap(%%) Bandwidth(MB/s)  Algorithm\n");
    }
    double overlap = 100 * row_real(row, "overlap");
    row_print(row, "%-10d{bytes} %15.2f{blocking.mean} %15.2f{blocking.min} %15.2f{blocking.max} %10d{iterations} "
                   "%12.2f{overlapped.mean} %12.2f{computing.mean} %14.2f{nonblocking.mean}");
    printf(" %10.2f %15.2f  %s\n", overlap > 0 ? overlap : 0, latency > 0 ? bytes / latency : 0,
           row_text(row, "served_by"));
}

void bench_print_pair(bench_format format, const json_t *row, int is_first)
{
    if (format == BENCH_OSU && is_first)
        puts("# nbcoll point-to-point, 2 ranks\n"
             "# Size     Avg Latency(us) Min Latency(us) Max Latency(us) Iterations Bandwidth(MB/s)");
    if (format == BENCH_OSU)
        row_print(row, "%-10d{bytes} %15.2f{latency.mean} %15.2f{latency.min} %15.2f{latency.max} %10d{iterations} "
                       "%15.2f{megabytes_per_second}\n");
    if (format == BENCH_TABLE && is_first)
        puts("point-to-point           bytes  half a round trip, us          one way, MB/s");
    if (format == BENCH_TABLE)
        row_print(row, "                      %8d{bytes} %22t{latency.median} %22.0f{megabytes_per_second}\n");
    fflush(stdout);
}

void bench_print_row(bench_format format, json_t *row, const json_t *before)
{
    if (format == BENCH_TABLE)
        print_table_row(row, before);
    if (format == BENCH_CSV)
        row_print_csv(row, CSV);
    if (format == BENCH_OSU)
        print_osu_row(row, before);
    fflush(stdout); /* the next one may take a while */
}

/* ---- pictures -------------------------------------------------------------------------------------------------- */

static const char *terminal_of(const char *file)
{
    static const char *const terminals[][2] = {{".svg", "svg"}, {".png", "pngcairo"}, {".pdf", "pdfcairo"}};
    const char *end = strrchr(file, '.');
    for (size_t i = 0; end && i < sizeof terminals / sizeof *terminals; i++)
        if (strcmp(end, terminals[i][0]) == 0)
            return terminals[i][1];
    return NULL;
}

int bench_can_plot(const command *self, const char *file)
{
    if (!terminal_of(file))
        return command_refuse(self, "--plot takes a file that ends in .svg, .png or .pdf, not '%s'", file);
    if (command_is_installed("gnuplot"))
        return 0;
    return command_fail(self, "--plot %s: gnuplot is not installed", file);
}

/* The pictures stand one below the other. */
static void write_head(FILE *out, const char *file, size_t pictures)
{
    int is_pdf = strcmp(terminal_of(file), "pdfcairo") == 0; /* its sizes are inches */
    fprintf(out, is_pdf ? "set terminal %s size 10,%zu\n" : "set terminal %s size 1000,%zu\n", terminal_of(file),
            pictures * (is_pdf ? 6 : 600));
    fputs("set termoption noenhanced\nset output '", out); /* an underline is one */
    for (const char *c = file; *c; c++)
        fprintf(out, "%s%c", *c == '\'' ? "'" : "", *c);
    fprintf(out, "'\nset logscale xy\nset xlabel 'bytes'\nset ylabel 'microseconds, median'\nset key left top\n"
                 "set multiplot layout %zu,1\n", pictures);
}

/* The member of this name, made where there is none. */
static json_t *member(json_t *of, const char *name, json_t *(*make)(void))
{
    if (!json_object_get(of, name))
        json_object_set_new(of, name, make());
    return json_object_get(of, name);
}

void bench_add_point(json_t *pictures, const json_t *row, double us, const char *format, ...)
{
    char title[80], line[160];
    long long bytes = row_number(row, "bytes");
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    snprintf(title, sizeof title, "%s, %lld ranks", row_text(row, "operation"), row_number(row, "ranks"));
    json_t *points = member(member(pictures, title, json_object), line, json_array);
    json_array_append_new(points, json_pack("[f, f]", bytes ? (double)bytes : 1, us < 0.01 ? 0.01 : us));
}

/* Of a point: its bytes (0) or its time (1). */
static double part_of(const json_t *point, size_t part)
{
    return json_real_value(json_array_get(point, part));
}

/* There is room on both sides: one size alone would make no range. */
static void write_picture(FILE *out, const char *title, json_t *lines)
{
    const char *name, *before = "plot ";
    json_t *points, *point;
    size_t i;
    double low = INFINITY, high = 0;
    json_object_foreach(lines, name, points)
        json_array_foreach(points, i, point)
        {
            low = fmin(low, part_of(point, 0));
            high = fmax(high, part_of(point, 0));
        }
    fprintf(out, "set title '%s'\nset xrange [%g:%g]\n", title, low / 2, high * 2);
    json_object_foreach(lines, name, points)
    {
        fprintf(out, "%s'-' using 1:2 with linespoints title '%s'", before, name);
        before = ", ";
    }
    fputc('\n', out);
    json_object_foreach(lines, name, points)
    {
        json_array_foreach(points, i, point)
            fprintf(out, "%.0f %g\n", part_of(point, 0), part_of(point, 1));
        fputs("e\n", out);
    }
}

int bench_draw(const command *self, const char *file, json_t *pictures)
{
    FILE *out = popen("exec gnuplot", "w");
    const char *title;
    json_t *lines;
    int status = 0;
    if (out) {
        write_head(out, file, json_object_size(pictures));
        json_object_foreach(pictures, title, lines)
            write_picture(out, title, lines);
        fputs("unset multiplot\n", out);
    }
    if (!out || pclose(out) != 0)
        status = command_fail(self, "--plot %s: gnuplot failed", file);
    json_decref(pictures);
    return status;
}

int bench_plot(const command *self, const char *file, const json_t *rows)
{
    static const char *const titles[] = {"blocking", "start + wait", "left under computation"};
    static const char *const keys[] = {"blocking.median", "nonblocking.median", "left"};
    json_t *pictures = json_object(), *row;
    size_t i;
    json_array_foreach(rows, i, row)
        for (int form = 0; form < BENCH_COMPUTING; form++)
            bench_add_point(pictures, row, row_real(row, keys[form]), "%s, %s, %s",
                            row_text(row, "algorithm"), row_text(row, "buffers"), titles[form]);
    return bench_draw(self, file, pictures);
}
