/* SPDX-License-Identifier: BSD-3-Clause
 * What `nbcoll bench --against` found: as a table with its summary, as CSV, and as a picture. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "against.h"

#define CSV                                                                                                            \
    "operation,ranks,bytes,buffers,memory,form,us,p99,peer,peer_form,peer_us,ratio,low,high,copies,line_us.0,"         \
    "line_us.1,retaken,preempted,parts.calls,parts.lines,parts.waiting"

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
    if (!before || !row_same(before, row, "operation,ranks,bytes,buffers,peer,peer_form,line_us"))
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

/* The rows of a group, by its name: how many there are, the median of their ratios, and the worst of them. */
static void print_group(const char *name, const json_t *rows)
{
    size_t n = json_array_size(rows), i;
    double *ratio = malloc(n * sizeof *ratio);
    const json_t *row, *worst = NULL;
    json_array_foreach(rows, i, row)
    {
        if (ratio)
            ratio[i] = row_real(row, "ratio");
        worst = !worst || row_real(row, "ratio") > row_real(worst, "ratio") ? row : worst;
    }
    if (ratio)
        printf("%s %5zu %6.2f %5.2f %s %lld\n", name, n, bench_spread_of(ratio, n).median, row_real(worst, "ratio"),
               row_text(worst, "operation"), row_number(worst, "bytes"));
    free(ratio);
}

/* Rows that are alike in ranks, size or memory, kind of operation and form are a group. */
static void print_summary(const json_t *rows)
{
    json_t *groups = json_object(), *row;
    const char *name;
    size_t i;
    json_array_foreach(rows, i, row)
    {
        char group[64];
        long long bytes = row_number(row, "bytes");
        int is_shared = row_is(row, "memory", "shared");
        snprintf(group, sizeof group, "%5lld %-8s %-6s %-11s", row_number(row, "ranks"),
                 is_shared ? "shared" : bytes <= 1024 ? "to 1 K" : bytes < 262144 ? "16, 64 K" : "256 K up",
                 strstr(row_text(row, "operation"), "reduce") ? "reduce" : "data", row_text(row, "form"));
        if (!json_object_get(groups, group))
            json_object_set_new(groups, group, json_array());
        json_array_append(json_object_get(groups, group), row);
    }
    puts("\nranks bytes    kind   form        cells median worst ratio");
    json_object_foreach(groups, name, row)
        print_group(name, row);
    json_decref(groups);
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
        const char *buffers = row_text(row, "buffers");
        bench_add_point(pictures, row, row_real(row, "us"), "nbcoll, %s, %s, %s", row_text(row, "form"),
                        row_text(row, "memory"), buffers);
        if (row_is(row, "form", "persistent") && !row_is(row, "memory", "shared"))
            bench_add_point(pictures, row, row_real(row, "peer_us"), "best peer, %s", buffers);
    }
    return bench_draw(self, file, pictures);
}
