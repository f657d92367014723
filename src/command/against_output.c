/* SPDX-License-Identifier: BSD-3-Clause
 * What `nbcoll bench --against` found: as a table with its summary, as CSV, and as a picture. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "against.h"

static const char *text_of(const json_t *row, const char *key)
{
    return json_string_value(json_object_get(row, key));
}

static long long number_of(const json_t *row, const char *key)
{
    return (long long)json_integer_value(json_object_get(row, key));
}

static double real_of(const json_t *row, const char *key)
{
    return json_number_value(json_object_get(row, key));
}

/* Of a cache line, from core to core, before and after the cell. */
static double line_of(const json_t *row, size_t when)
{
    return json_number_value(json_array_get(json_object_get(row, "line_us"), when));
}

void against_print_head(bench_format format)
{
    if (format == BENCH_TABLE)
        printf(" %-7s %-11s %8s %8s %5s %-14s %7s\n", "memory", "form", "us", "peer", "ratio", "95%", "copies");
    if (format == BENCH_CSV)
        puts("operation,ranks,bytes,buffers,memory,form,us,p99,peer,peer_form,peer_us,ratio,low,high,copies,"
             "line_before,line_after,retaken,preempted,calls,lines,waiting");
}

/* What a row is about, where that is not as in the row before. */
static void print_title(const json_t *row, const json_t *before)
{
    static const char *const keys[] = {"operation", "ranks", "bytes", "buffers", "peer", "peer_form", "line_us"};
    int is_same = before != NULL;
    for (size_t i = 0; i < sizeof keys / sizeof *keys && is_same; i++)
        is_same = json_equal(json_object_get(before, keys[i]), json_object_get(row, keys[i]));
    if (is_same)
        return;
    printf("%s, %lld ranks, %lld bytes, buffers %s; a line %.3f, %.3f us;\n  beside %s, %s\n",
           text_of(row, "operation"), number_of(row, "ranks"), number_of(row, "bytes"), text_of(row, "buffers"),
           line_of(row, 0), line_of(row, 1), text_of(row, "peer"), text_of(row, "peer_form"));
}

static void print_table_row(const json_t *row, const json_t *before)
{
    char interval[32], copies[16] = "";
    print_title(row, before);
    snprintf(interval, sizeof interval, "[%.2f, %.2f]", real_of(row, "low"), real_of(row, "high"));
    if (json_object_get(row, "copies"))
        snprintf(copies, sizeof copies, "%.*f", real_of(row, "copies") < 1000 ? 2 : 0, real_of(row, "copies"));
    printf(" %-7s %-11s %8.2f %8.2f %5.2f %-14s %7s\n", text_of(row, "memory"), text_of(row, "form"),
           real_of(row, "us"), real_of(row, "peer_us"), real_of(row, "ratio"), interval, copies);
    const json_t *parts = json_object_get(row, "parts");
    if (parts)
        printf("%22s = %.2f calls + %.2f copies + %.2f lines + %.2f waiting\n", "", real_of(parts, "calls"),
               real_of(parts, "copies"), real_of(parts, "lines"), real_of(parts, "waiting"));
    if (number_of(row, "preempted"))
        printf("%22s (%lld batches with a preempted rank)\n", "", number_of(row, "preempted"));
}

static void print_csv_row(const json_t *row)
{
    printf("%s,%lld,%lld,%s,%s,%s,%.4f,%.4f,%s,%s,%.4f,%.4f,%.4f,%.4f,", text_of(row, "operation"),
           number_of(row, "ranks"), number_of(row, "bytes"), text_of(row, "buffers"), text_of(row, "memory"),
           text_of(row, "form"), real_of(row, "us"), real_of(row, "p99"), text_of(row, "peer"),
           text_of(row, "peer_form"), real_of(row, "peer_us"), real_of(row, "ratio"), real_of(row, "low"),
           real_of(row, "high"));
    if (json_object_get(row, "copies"))
        printf("%.4f", real_of(row, "copies"));
    printf(",%.4f,%.4f,%lld,%lld", line_of(row, 0), line_of(row, 1), number_of(row, "retaken"),
           number_of(row, "preempted"));
    const json_t *parts = json_object_get(row, "parts");
    if (parts)
        printf(",%.4f,%.4f,%.4f\n", real_of(parts, "calls"), real_of(parts, "lines"), real_of(parts, "waiting"));
    else
        puts(",,,");
}

void against_print_row(bench_format format, const json_t *row, const json_t *before)
{
    if (format == BENCH_TABLE)
        print_table_row(row, before);
    if (format == BENCH_CSV)
        print_csv_row(row);
    fflush(stdout);
}

/* ---- the summary ----------------------------------------------------------------------------------------------- */

static const char *const columns[] = {"to 1 K", "16, 64 K", "256 K up", "shared"};

enum { COLUMNS = 4 };

static int column_of(const json_t *row)
{
    if (strcmp(text_of(row, "memory"), "shared") == 0)
        return 3;
    return number_of(row, "bytes") <= 1024 ? 0 : number_of(row, "bytes") < 262144 ? 1 : 2;
}

static int reduces(const json_t *row)
{
    return strstr(text_of(row, "operation"), "reduce") != NULL;
}

/* The rows of a column, a kind of operation and a form: how many there are, and the median of their ratios. */
static void print_group(const json_t *rows, long long ranks, int column, int is_reduction, const char *form)
{
    size_t most = json_array_size(rows), n = 0, i;
    double *ratio = calloc(most + 1, sizeof *ratio), worst = 0;
    const json_t *row, *last = NULL;
    json_array_foreach(rows, i, row)
    {
        if (!ratio || number_of(row, "ranks") != ranks || column_of(row) != column || reduces(row) != is_reduction ||
            strcmp(text_of(row, "form"), form) != 0)
            continue;
        ratio[n++] = real_of(row, "ratio");
        last = real_of(row, "ratio") > worst ? row : last;
        worst = real_of(row, "ratio") > worst ? real_of(row, "ratio") : worst;
    }
    if (n)
        printf("%5lld %-8s %-6s %-11s %5zu %6.2f %5.2f %s %lld\n", ranks, columns[column],
               is_reduction ? "reduce" : "data", form, n, bench_spread_of(ratio, n).median, worst,
               text_of(last, "operation"), number_of(last, "bytes"));
    free(ratio);
}

static void print_summary(const json_t *rows)
{
    static const char *const forms[] = {"persistent", "nonblocking", "blocking"};
    long long done = 0;
    const json_t *row;
    size_t i;
    puts("\nranks bytes    kind   form        cells median worst ratio");
    json_array_foreach(rows, i, row)
    { /* those of one number of ranks follow each other */
        if (number_of(row, "ranks") == done)
            continue;
        done = number_of(row, "ranks");
        for (int form = 0; form < 3; form++)
            for (int column = 0; column < COLUMNS; column++)
                for (int is_reduction = 0; is_reduction < 2; is_reduction++)
                    print_group(rows, done, column, is_reduction, forms[form]);
    }
}

void against_print_end(bench_format format, const json_t *rows, const json_t *wrong)
{
    const json_t *one;
    size_t i;
    if (format == BENCH_TABLE && json_array_size(rows))
        print_summary(rows);
    json_array_foreach(wrong, i, one)
        fprintf(format == BENCH_TABLE ? stdout : stderr, "wrong, not timed: %s, %s %s of %lld ranks\n",
                text_of(one, "library"), text_of(one, "form"), text_of(one, "operation"), number_of(one, "ranks"));
}

/* ---- a picture ------------------------------------------------------------------------------------------------- */

static int same(const json_t *a, const json_t *b, const char *key)
{
    return json_equal(json_object_get(a, key), json_object_get(b, key));
}

static int same_picture(const json_t *a, const json_t *b)
{
    return same(a, b, "operation") && same(a, b, "ranks");
}

static int same_line(const json_t *a, const json_t *b)
{
    return same_picture(a, b) && same(a, b, "memory") && same(a, b, "form") && same(a, b, "buffers");
}

static int is_first(const json_t *rows, size_t i, int (*is_same)(const json_t *, const json_t *))
{
    size_t j = 0;
    while (!is_same(json_array_get(rows, j), json_array_get(rows, i)))
        j++;
    return j == i;
}

/* The points of the line that begins with row `first`; the scales know no 0. */
static void write_points(FILE *out, const json_t *rows, size_t first, const char *key)
{
    for (size_t i = first; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        if (same_line(row, json_array_get(rows, first)))
            fprintf(out, "%lld %g\n", number_of(row, "bytes") ? number_of(row, "bytes") : 1, real_of(row, key));
    }
    fputs("e\n", out);
}

/* nbcoll's lines, and behind the persistent one of each memory and kind of buffers that of the best peer. */
static void write_picture(FILE *out, const json_t *rows, size_t first, int are_points)
{
    const char *comma = "plot ";
    for (size_t i = first; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        if (!same_picture(row, json_array_get(rows, first)) || !is_first(rows, i, same_line))
            continue;
        int has_peer = strcmp(text_of(row, "form"), "persistent") == 0 && strcmp(text_of(row, "memory"), "shared") != 0;
        if (are_points)
            write_points(out, rows, i, "us");
        else
            fprintf(out, "%s'-' using 1:2 with linespoints title 'nbcoll, %s, %s, %s'", comma, text_of(row, "form"),
                    text_of(row, "memory"), text_of(row, "buffers"));
        comma = ", ";
        if (are_points && has_peer)
            write_points(out, rows, i, "peer_us");
        else if (has_peer)
            fprintf(out, ", '-' using 1:2 with linespoints title 'best peer, %s'", text_of(row, "buffers"));
    }
    fputs(are_points ? "" : "\n", out);
}

static void write_script(FILE *out, const char *file, const json_t *rows)
{
    int pictures = 0;
    for (size_t i = 0; i < json_array_size(rows); i++)
        pictures += is_first(rows, i, same_picture);
    bench_plot_head(out, file, pictures);
    fputs("set xrange [0.5:1e8]\n", out);
    for (size_t i = 0; i < json_array_size(rows); i++)
        if (is_first(rows, i, same_picture)) {
            const json_t *row = json_array_get(rows, i);
            fprintf(out, "set title '%s, %lld ranks'\n", text_of(row, "operation"), number_of(row, "ranks"));
            write_picture(out, rows, i, 0);
            write_picture(out, rows, i, 1);
        }
    fputs("unset multiplot\n", out);
}

int against_plot(const command *self, const char *file, const json_t *rows)
{
    return bench_draw(self, file, rows, write_script);
}
