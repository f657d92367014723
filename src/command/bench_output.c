/* SPDX-License-Identifier: BSD-3-Clause
 * What `nbcoll bench` found: as a table, as CSV, as JSON, as the OSU benchmarks print it, and as pictures. */
#include "bench.h"

#define CSV_FORM(form) form ".min," form ".median," form ".max,"
#define CSV                                                                                                            \
    "operation,algorithm,ranks,kind,count,bytes,buffers," CSV_FORM("blocking") CSV_FORM("nonblocking")                 \
        CSV_FORM("overlapped") CSV_FORM("computing") "left,overlap,saved,latency_before,latency_after,served_by,reason"

#define POINT_TO_POINT "point-to-point"

static const char *const form_names[BENCH_FORMS] = {"blocking", "nonblocking", "overlapped", "computing"};

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static json_t *spread_object(const bench_spread *s)
{
    return json_pack("{s:f, s:f, s:f, s:f}", "min", s->least, "median", s->median, "mean", s->mean, "max", s->most);
}

static json_t *latency_object(const bench_latency *latency)
{
    if (latency->letter == '-')
        return json_null();
    return json_pack("{s:s#, s:f}", "letter", &latency->letter, 1, "us", latency->us);
}

json_t *bench_row(const bench_plan *plan, size_t entry, const bench_result *result, const bench_latency latency[2])
{
    const bench_entry *e = &plan->entry[entry];
    const bench_spread *form = result->form;
    const nbcoll_choice *choice = &result->chosen.choice;
    const nbcoll_algorithm *algorithm = e->choice.algorithm;
    double left = form[BENCH_OVERLAPPED].median - form[BENCH_COMPUTING].median;
    size_t bytes = plan->at.count * nbcoll_type_size(plan->at.reduction.type);
    left = left > 0 ? left : 0; /* the difference of two medians */
    json_t *row =
        json_pack("{s:s, s:s, s:i, s:s, s:I, s:I, s:s, s:s, s:s, s:s, s:f, s:i, s:o, s:o}", "operation",
                  nbcoll_operation_name(plan->at.operation), "algorithm", algorithm ? algorithm->name : "default",
                  "ranks", plan->at.ranks, "kind", plan->are_threads ? "threads" : "processes", "count",
                  (json_int_t)plan->at.count, "bytes", (json_int_t)bytes, "buffers",
                  e->is_changing ? "changing" : "reused", "served_by",
                  choice->algorithm->name, "reason", nbcoll_reason_name(choice->reason), "why", result->chosen.why,
                  "left", left, "iterations", plan->rounds * plan->iterations, "latency_before",
                  latency_object(&latency[0]), "latency_after", latency_object(&latency[1]));
    for (int i = 0; i < BENCH_FORMS; i++)
        json_object_set_new(row, form_names[i], spread_object(&form[i]));
    if (form[BENCH_NONBLOCKING].median > 0)
        json_object_set_new(row, "overlap", json_real(1 - left / form[BENCH_NONBLOCKING].median));
    if (form[BENCH_BLOCKING].median > 0)
        json_object_set_new(row, "saved", json_real(1 - left / form[BENCH_BLOCKING].median));
    return row;
}

/* Half of a round trip; and what a window of messages and its answer carry a second. */
json_t *bench_pair_row(const bench_plan *plan, const bench_result results[2], const bench_latency latency[2])
{
    const bench_spread *trip = &results[0].form[BENCH_NONBLOCKING], *window = &results[1].form[BENCH_NONBLOCKING];
    bench_spread half = {trip->least / 2, trip->lower / 2, trip->median / 2,
                         trip->upper / 2, trip->most / 2,  trip->mean / 2};
    size_t bytes = plan->entry[0].choice.segment;
    return json_pack("{s:s, s:I, s:i, s:o, s:i, s:f, s:o, s:o}", "operation", POINT_TO_POINT, "bytes",
                     (json_int_t)bytes, "iterations", plan->rounds * plan->iterations, "latency",
                     spread_object(&half), "messages", bench_window(bytes), "megabytes_per_second",
                     window->median > 0 ? (double)plan->at.count / window->median : 0, "latency_before",
                     latency_object(&latency[0]), "latency_after", latency_object(&latency[1]));
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

void bench_print_head(bench_format format)
{
    for (const char *c = format == BENCH_CSV ? CSV "\n" : ""; *c; c++)
        putchar(*c == '.' ? '_' : *c);
}

void bench_explain_latency(void)
{
    puts("\nlat: how long a cache line takes from one core to another, before and after the\n"
         "row: S, as threads of one core (below 0.038 us); C, as cores that share a cache\n"
         "(below 0.13); X, as cores that do not. Compare rows of one latency class.\n"
         "*: changing buffers.");
}

/* Tables, ours and as the OSU benchmarks print them, whose figures are means: what stands above the rows of an
 * operation with so many ranks, and a row. [of what OSU prints][of the point-to-point baseline] */
static const struct {
    const char *title, *row;
} tables[2][2] = {
    {{"%s{operation}, %d{ranks} ranks; microseconds, medians\n"
      "                                   block-  start+  start+           over-\n"
      "algorithm               bytes  lat    ing    wait compute    left    lap saved\n"
      "                                                   + wait\n",
      "  %7t{blocking.median} %7t{nonblocking.median} %7t{overlapped.median} %7t{left} %5p{overlap}%% %4p{saved}%%\n"},
     {"point-to-point           bytes  half a round trip, us          one way, MB/s\n",
      "                      %8d{bytes} %22t{latency.median} %22.0f{megabytes_per_second}\n"}},
    {{"# nbcoll %s{operation}, %d{ranks} ranks\n"
      "# Size     Avg Latency(us) Min Latency(us) Max Latency(us) Iterations  Overall(us)  Compute(us) "
      "Pure Comm.(us) Overlap(%%) Bandwidth(MB/s)  Algorithm\n",
      "%-10d{bytes} %15.2f{blocking.mean} %15.2f{blocking.min} %15.2f{blocking.max} %10d{iterations} "
      "%12.2f{overlapped.mean} %12.2f{computing.mean} %14.2f{nonblocking.mean}"},
     {"# nbcoll point-to-point, 2 ranks\n"
      "# Size     Avg Latency(us) Min Latency(us) Max Latency(us) Iterations Bandwidth(MB/s)\n",
      "%-10d{bytes} %15.2f{latency.mean} %15.2f{latency.min} %15.2f{latency.max} %10d{iterations} "
      "%15.2f{megabytes_per_second}\n"}}};

static void print_row(const json_t *row, const json_t *before, int is_osu)
{
    int is_pair = row_is(row, "operation", POINT_TO_POINT), is_ours = !is_osu && !is_pair;
    double latency = row_real(row, "blocking.mean"), overlap = 100 * row_real(row, "overlap");
    if (!before || !row_same(before, row, "operation,ranks")) {
        fputs(before ? "\n" : "", stdout);
        row_print(row, tables[is_osu][is_pair].title);
    }
    if (is_ours)
        row_print(row, "%-20.20s{algorithm} %8d{bytes} %c{latency_before.letter}%c{latency_after.letter}");
    if (is_ours)
        putchar(row_is(row, "buffers", "changing") ? '*' : ' ');
    row_print(row, tables[is_osu][is_pair].row);
    if (is_ours && row_is(row, "algorithm", "default"))
        row_print(row, "  is %s{served_by}: %s{reason} %s{why}\n");
    if (is_osu && !is_pair)
        printf(" %10.2f %15.2f  %s\n", overlap > 0 ? overlap : 0,
               latency > 0 ? (double)row_number(row, "bytes") / latency : 0, row_text(row, "served_by"));
}

void bench_print_row(bench_format format, const json_t *row, const json_t *before)
{
    if (format == BENCH_CSV)
        row_print_csv(row, CSV);
    else if (format != BENCH_JSON)
        print_row(row, before, format == BENCH_OSU);
    fflush(stdout); /* the next one may take a while */
}

/* ---- pictures by gnuplot ----------------------------------------------------------------------------------------- */

/* What a file's name ends in, the terminal that draws it, and how large: the sizes of PDF are inches. */
typedef struct terminal {
    const char *end, *name;
    size_t width, height;
} terminal;

static const terminal *terminal_of(const char *file)
{
    static const terminal all[] = {
        {".svg", "svg", 1000, 600}, {".png", "pngcairo", 1000, 600}, {".pdf", "pdfcairo", 10, 6}};
    const char *end = strrchr(file, '.');
    for (size_t i = 0; end && i < sizeof all / sizeof *all; i++)
        if (strcmp(end, all[i].end) == 0)
            return &all[i];
    return NULL;
}

void bench_can_plot(const command *self, const char *file)
{
    if (!terminal_of(file))
        command_refuse(self, "--plot takes a file that ends in .svg, .png or .pdf, not '%s'", file);
    if (!command_is_installed("gnuplot"))
        command_fail(self, "--plot %s: gnuplot is not installed", file);
}

/* The pictures stand one below the other. */
static void write_head(FILE *out, const char *file, size_t pictures)
{
    const terminal *t = terminal_of(file);
    fprintf(out, "set terminal %s size %zu,%zu\nset termoption noenhanced\nset output '", t->name, t->width,
            pictures * t->height); /* an underline is one */
    for (const char *c = file; *c; c++)
        fprintf(out, "%s%c", *c == '\'' ? "'" : "", *c);
    fprintf(out, "'\nset xlabel 'bytes'\nset ylabel 'microseconds, median'\nset key left top\n"
                 "set multiplot layout %zu,1\n", pictures);
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
    if (!json_object_get(pictures, title))
        json_object_set_new(pictures, title, json_object());
    json_t *lines = json_object_get(pictures, title);
    const char *points = json_string_value(json_object_get(lines, line));
    json_object_set_new(lines, line, json_sprintf("%s%lld %g\n", points ? points : "", bytes ? bytes : 1,
                                                  us < 0.01 ? 0.01 : us));
}

/* There is room on both sides: one size alone would make no range. */
static void write_picture(FILE *out, const char *title, json_t *lines)
{
    const char *name;
    json_t *points;
    fputs("$lines << end\n", out);
    json_object_foreach(lines, name, points)
        fprintf(out, "\"%s\"\n%s\n\n", name, json_string_value(points));
    fprintf(out, "end\nset title '%s'\nunset logscale\nstats $lines using 1 nooutput\nset logscale xy\n"
                 "set xrange [STATS_min / 2:STATS_max * 2]\n"
                 "plot for [i=0:%zu] $lines index i using 1:2 with linespoints title columnheader(1)\n",
            title, json_object_size(lines) - 1);
}

void bench_draw(const command *self, const char *file, json_t *pictures)
{
    FILE *out = popen("exec gnuplot", "w");
    const char *title;
    json_t *lines;
    if (out) {
        write_head(out, file, json_object_size(pictures));
        json_object_foreach(pictures, title, lines)
            write_picture(out, title, lines);
        fputs("unset multiplot\n", out);
    }
    if (!out || pclose(out) != 0)
        command_fail(self, "--plot %s: gnuplot failed", file);
    json_decref(pictures);
}

void bench_plot(const command *self, const char *file, const json_t *rows)
{
    static const char *const titles[] = {"blocking", "start + wait", "left under computation"};
    static const char *const keys[] = {"blocking.median", "nonblocking.median", "left"};
    json_t *pictures = json_object(), *row;
    size_t i;
    json_array_foreach(rows, i, row)
        for (int form = 0; form < BENCH_COMPUTING; form++)
            bench_add_point(pictures, row, row_real(row, keys[form]), "%s, %s, %s",
                            row_text(row, "algorithm"), row_text(row, "buffers"), titles[form]);
    bench_draw(self, file, pictures);
}
