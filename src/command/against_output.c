/* SPDX-License-Identifier: BSD-3-Clause
 * What `nbcoll bench --against` found: as a table with its summary, as CSV, and as a picture. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "against.h"
#include "json.h"

#define CSV                                                                                                            \
    "operation ranks bytes buffers memory form us p99 peer peer_form peer_us ratio low high copies line_us.0 "         \
    "line_us.1 retaken preempted parts.calls parts.lines parts.waiting"

void against_print_head(bench_format format)
{
    if (format == BENCH_TABLE)
        puts(" memory  form              us     peer ratio  95% between     copies");
    if (format == BENCH_CSV)
        puts("operation,ranks,bytes,buffers,memory,form,us,p99,peer,peer_form,peer_us,ratio,low,high,copies,"
             "line_before,line_after,retaken,preempted,calls,lines,waiting");
}

/* Below what a row is about, where that is not as in the row before. */
static void print_table_row(const json_t *row, const json_t *before)
{
    if (!before || !row_same(before, row, "operation ranks bytes buffers peer peer_form line_us"))
        row_print(row, "%s{operation}, %d{ranks} ranks, %d{bytes} bytes, buffers %s{buffers}; a line %.3f{line_us.0}, "
                       "%.3f{line_us.1} us;\n  beside %s{peer}, %s{peer_form}\n");
    row_print(row, " %-7s{memory} %-11s{form} %8.2f{us} %8.2f{peer_us} %5.2f{ratio} %5.2f{low} %5.2f{high}");
    row_print(row, json_object_get(row, "copies") ? " %10t{copies}\n" : "\n");
    if (json_object_get(row, "parts"))
        row_print(row,
                  "                       = %.2f{parts.calls} calls + %.2f{parts.copies} copies + %.2f{parts.lines} "
                  "lines + %.2f{parts.waiting} waiting\n");
    if (row_number(row, "preempted"))
        row_print(row, "                       (%d{preempted} batches with a preempted rank)\n");
}

void against_print_row(bench_format format, const json_t *row, const json_t *before)
{
    if (format == BENCH_TABLE)
        print_table_row(row, before);
    if (format == BENCH_CSV)
        row_print_csv(row, CSV);
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

void against_print_end(bench_format format, const json_t *rows, json_t *wrong)
{
    const char *what;
    json_t *one;
    if (format == BENCH_TABLE && json_array_size(rows))
        print_summary(rows);
    json_object_foreach(wrong, what, one)
        fprintf(format == BENCH_TABLE ? stdout : stderr, "wrong, not timed: %s\n", what);
}

/* ---- a picture ------------------------------------------------------------------------------------------------- */

/* nbcoll's lines, and behind the persistent one of each kind of buffers that of the best peer. */
int against_plot(const command *self, const char *file, const json_t *rows)
{
    json_t *pictures = json_object(), *row;
    size_t i;
    json_array_foreach(rows, i, row)
    {
        const char *form = row_text(row, "form"), *memory = row_text(row, "memory"),
                   *buffers = row_text(row, "buffers");
        bench_add_point(pictures, row, row_real(row, "us"), "nbcoll, %s, %s, %s", form, memory, buffers);
        if (strcmp(form, "persistent") == 0 && strcmp(memory, "shared") != 0)
            bench_add_point(pictures, row, row_real(row, "peer_us"), "best peer, %s", buffers);
    }
    return bench_draw(self, file, pictures);
}
