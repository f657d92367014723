/* SPDX-License-Identifier: BSD-3-Clause
 * The statistics of `nbcoll bench --against`. */
#include <math.h>
#include <string.h>

#include "against.h"

against_interval against_ratio(const double ours[], const double theirs[], size_t rounds)
{
    double ratio[AGAINST_ROUNDS], outside = ((double)rounds - 1.96 * sqrt((double)rounds)) / 2;
    for (size_t i = 0; i < rounds; i++)
        ratio[i] = ours[i] / theirs[i];
    double median = bench_spread_of(ratio, rounds).median; /* sorts them */
    size_t before = outside > 0 ? (size_t)outside : 0;
    return (against_interval){median, ratio[before], ratio[rounds - 1 - before]};
}

/* ---- a cell ---------------------------------------------------------------------------------------------------- */

/* How many rounds of an entry there are, and how long they took. */
static size_t read_rounds(const json_t *entry, double out[AGAINST_ROUNDS])
{
    const json_t *us = json_object_get(entry, "us");
    size_t n = json_array_size(us) < AGAINST_ROUNDS ? json_array_size(us) : AGAINST_ROUNDS;
    for (size_t i = 0; i < n; i++)
        out[i] = json_number_value(json_array_get(us, i));
    return n;
}

void against_take_medians(const json_t *cell)
{
    json_t *entry;
    size_t i, n;
    double us[AGAINST_ROUNDS];
    json_array_foreach(json_object_get(cell, "entries"), i, entry)
        if ((n = read_rounds(entry, us)) > 0)
            json_object_set_new(entry, "median", json_real(bench_spread_of(us, n).median));
}

/* Of the entries of a library, a memory and a form, which both may be null for any, the one that is the fastest;
 * null: none was timed. */
static const json_t *fastest(const json_t *cell, const char *library, const char *memory, const char *form)
{
    const json_t *best = NULL, *entry;
    size_t i;
    json_array_foreach(json_object_get(cell, "entries"), i, entry)
        if (row_is(entry, "library", library) && (!memory || row_is(entry, "memory", memory)) &&
            (!form || row_is(entry, "form", form)) && json_object_get(entry, "median") &&
            (!best || row_real(entry, "median") < row_real(best, "median")))
            best = entry;
    return best;
}

/* The parts of the time of a start and its wait, persistent or not, where they were measured. Calls: what they take
 * where nobody waits and no line crosses, of 8 bytes; copies: the bare ones; lines: what is left of start and wait with
 * a meeting between; waiting: what they take more without it. */
static void add_parts(json_t *row, const json_t *cell, const char *memory, const char *form)
{
    int is_persistent = strcmp(form, "persistent") == 0;
    const json_t *apart = fastest(cell, "nbcoll", memory, is_persistent ? "apart" : "started apart");
    double calls = row_real(cell, is_persistent ? "calls" : "started_calls"), us = row_real(apart, "median");
    double copies = row_real(row, "copies");
    if (apart)
        json_object_update_new(row, json_pack("{s:{s:f, s:f, s:f, s:f}}", "parts", "calls", calls, "copies", copies,
                                              "lines", us - calls - copies, "waiting", row_real(row, "us") - us));
}

/* A form of nbcoll's beside the peer's fastest one. Null: there is nothing to compare. */
static json_t *row_of(const json_t *cell, const char *memory, const char *form)
{
    const json_t *ours = fastest(cell, "nbcoll", memory, form), *theirs = fastest(cell, "mpi", NULL, NULL);
    const json_t *copies = fastest(cell, "copies", memory, NULL);
    double us[AGAINST_ROUNDS], peer_us[AGAINST_ROUNDS];
    size_t n = read_rounds(ours, us);
    if (n == 0 || read_rounds(theirs, peer_us) != n)
        return NULL;
    against_interval ratio = against_ratio(us, peer_us, n);
    json_t *row = row_part(cell, "operation,ranks,bytes,peer,cores,line_us,retaken,preempted");
    json_object_update_new(
        row, json_pack("{s:s, s:s, s:s, s:f, s:f, s:s, s:f, s:f, s:f, s:f}", "buffers",
                       row_number(cell, "turns") > 1 ? "in turn" : "reused", "memory", memory, "form", form, "us",
                       row_real(ours, "median"), "p99", row_real(ours, "p99"), "peer_form", row_text(theirs, "form"),
                       "peer_us", row_real(theirs, "median"), "ratio", ratio.median, "low", ratio.low, "high",
                       ratio.high));
    if (copies)
        json_object_update_new(row, json_pack("{s:f, s:O}", "copies", row_real(copies, "median"), "copies_by",
                                              json_object_get(copies, "form")));
    if (strcmp(form, "blocking") != 0)
        add_parts(row, cell, memory, form);
    return row;
}

/* The row of the peer that is furthest ahead, or null. */
static json_t *worst_row(json_t *const cells[AGAINST_PEERS], size_t i, const char *memory, const char *form)
{
    json_t *worst = NULL;
    for (int p = 0; p < AGAINST_PEERS; p++) {
        json_t *row = row_of(json_array_get(cells[p], i), memory, form);
        int is_worse = row && row_real(row, "ratio") > row_real(worst, "ratio");
        json_decref(is_worse ? worst : row);
        worst = is_worse ? row : worst;
    }
    return worst;
}

int against_compare(json_t *const cells[AGAINST_PEERS], size_t i, json_t *rows)
{
    static const char *const memories[] = {"private", "shared"};
    static const char *const forms[] = {"blocking", "nonblocking", "persistent"};
    int is_there = 0;
    for (int m = 0; m < 2; m++)
        for (int f = 0; f < 3; f++)
            json_array_append_new(rows, worst_row(cells, i, memories[m], forms[f])); /* null: nothing is appended */
    for (int p = 0; p < AGAINST_PEERS; p++)
        is_there |= i < json_array_size(cells[p]);
    return is_there;
}
