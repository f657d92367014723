/* SPDX-License-Identifier: BSD-3-Clause
 * What `nbcoll bench --against` found: as a table with its summary, as CSV, and as a picture. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "against.h"
#include "json.h"

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
    if (before && row_same(before, row, "operation ranks bytes buffers peer peer_form line_us"))
        return;
    printf("%s, %lld ranks, %lld bytes, buffers %s; a line %.3f, %.3f us;\n  beside %s, %s\n",
           row_text(row, "operation"), row_number(row, "ranks"), row_number(row, "bytes"), row_text(row, "buffers"),
           line_of(row, 0), line_of(row, 1), row_text(row, "peer"), row_text(row, "peer_form"));
}

static void print_table_row(const json_t *row, const json_t *before)
{
    char interval[32], copies[16] = "";
    print_title(row, before);
    snprintf(interval, sizeof interval, "[%.2f, %.2f]", row_real(row, "low"), row_real(row, "high"));
    if (json_object_get(row, "copies"))
        snprintf(copies, sizeof copies, "%.*f", row_real(row, "copies") < 1000 ? 2 : 0, row_real(row, "copies"));
    printf(" %-7s %-11s %8.2f %8.2f %5.2f %-14s %7s\n", row_text(row, "memory"), row_text(row, "form"),
           row_real(row, "us"), row_real(row, "peer_us"), row_real(row, "ratio"), interval, copies);
    if (json_object_get(row, "parts"))
        printf("%22s = %.2f calls + %.2f copies + %.2f lines + %.2f waiting\n", "", row_real(row, "parts.calls"),
               row_real(row, "parts.copies"), row_real(row, "parts.lines"), row_real(row, "parts.waiting"));
    if (row_number(row, "preempted"))
        printf("%22s (%lld batches with a preempted rank)\n", "", row_number(row, "preempted"));
}

static void print_csv_row(const json_t *row)
{
    printf("%s,%lld,%lld,%s,%s,%s,%.4f,%.4f,%s,%s,%.4f,%.4f,%.4f,%.4f,", row_text(row, "operation"),
           row_number(row, "ranks"), row_number(row, "bytes"), row_text(row, "buffers"), row_text(row, "memory"),
           row_text(row, "form"), row_real(row, "us"), row_real(row, "p99"), row_text(row, "peer"),
           row_text(row, "peer_form"), row_real(row, "peer_us"), row_real(row, "ratio"), row_real(row, "low"),
           row_real(row, "high"));
    if (json_object_get(row, "copies"))
        printf("%.4f", row_real(row, "copies"));
    printf(",%.4f,%.4f,%lld,%lld", line_of(row, 0), line_of(row, 1), row_number(row, "retaken"),
           row_number(row, "preempted"));
    if (json_object_get(row, "parts"))
        printf(",%.4f,%.4f,%.4f\n", row_real(row, "parts.calls"), row_real(row, "parts.lines"),
               row_real(row, "parts.waiting"));
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
    if (strcmp(row_text(row, "memory"), "shared") == 0)
        return 3;
    return row_number(row, "bytes") <= 1024 ? 0 : row_number(row, "bytes") < 262144 ? 1 : 2;
}

static int reduces(const json_t *row)
{
    return strstr(row_text(row, "operation"), "reduce") != NULL;
}

/* The rows of a column, a kind of operation and a form: how many there are, and the median of their ratios. */
static void print_group(const json_t *rows, long long ranks, int column, int is_reduction, const char *form)
{
    size_t most = json_array_size(rows), n = 0, i;
    double *ratio = calloc(most + 1, sizeof *ratio), worst = 0;
    const json_t *row, *last = NULL;
    json_array_foreach(rows, i, row)
    {
        if (!ratio || row_number(row, "ranks") != ranks || column_of(row) != column || reduces(row) != is_reduction ||
            strcmp(row_text(row, "form"), form) != 0)
            continue;
        ratio[n++] = row_real(row, "ratio");
        last = row_real(row, "ratio") > worst ? row : last;
        worst = row_real(row, "ratio") > worst ? row_real(row, "ratio") : worst;
    }
    if (n)
        printf("%5lld %-8s %-6s %-11s %5zu %6.2f %5.2f %s %lld\n", ranks, columns[column],
               is_reduction ? "reduce" : "data", form, n, bench_spread_of(ratio, n).median, worst,
               row_text(last, "operation"), row_number(last, "bytes"));
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
        if (row_number(row, "ranks") == done)
            continue;
        done = row_number(row, "ranks");
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
                row_text(one, "library"), row_text(one, "form"), row_text(one, "operation"), row_number(one, "ranks"));
}

/* ---- a picture ------------------------------------------------------------------------------------------------- */

/* nbcoll's lines, and behind the persistent one of each kind of buffers that of the best peer. */
int against_plot(const command *self, const char *file, const json_t *rows)
{
    json_t *pictures = json_object(), *row;
    size_t i;
    json_array_foreach(rows, i, row)
    {
        const char *form = row_text(row, "form"), *memory = row_text(row, "memory"), *buffers = row_text(row, "buffers");
        bench_add_point(pictures, row, row_real(row, "us"), "nbcoll, %s, %s, %s", form, memory, buffers);
        if (strcmp(form, "persistent") == 0 && strcmp(memory, "shared") != 0)
            bench_add_point(pictures, row, row_real(row, "peer_us"), "best peer, %s", buffers);
    }
    return bench_draw(self, file, pictures);
}
