/* SPDX-License-Identifier: BSD-3-Clause
 * Pictures of what `nbcoll bench` found, drawn by gnuplot. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "bench.h"

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
