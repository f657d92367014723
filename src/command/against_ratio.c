/* SPDX-License-Identifier: BSD-3-Clause
 * The statistics of `nbcoll bench --against`. */
#include <math.h>

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

/* What a form of nbcoll's is compared with. */
typedef struct rival {
    const json_t *cell, *ours, *theirs;
    against_interval ratio;
} rival;

/* The peer that is furthest ahead of a form of nbcoll's, with its own fastest form. 0: there is nothing to compare. */
static int find_rival(json_t *const cells[], size_t i, const char *memory, const char *form, rival *out)
{
    double ours[AGAINST_ROUNDS], theirs[AGAINST_ROUNDS];
    int found = 0;
    for (int p = 0; p < AGAINST_PEERS; p++) {
        const json_t *cell = json_array_get(cells[p], i);
        rival r = {.cell = cell, .ours = fastest(cell, "nbcoll", memory, form),
                   .theirs = fastest(cell, "mpi", NULL, NULL)};
        size_t n = read_rounds(r.ours, ours);
        if (n == 0 || read_rounds(r.theirs, theirs) != n)
            continue;
        r.ratio = against_ratio(ours, theirs, n);
        if (!found++ || r.ratio.median > out->ratio.median)
            *out = r;
    }
    return found;
}

/* The parts of the time of a start and its wait, persistent or not, where they were measured. Calls: what they take
 * where nobody waits and no line crosses, of 8 bytes; copies: the bare ones; lines: what is left of start and wait with
 * a meeting between; waiting: what they take more without it. */
static void add_parts(json_t *row, const rival *r, const char *memory, const char *form)
{
    int is_persistent = strcmp(form, "persistent") == 0;
    const json_t *apart = fastest(r->cell, "nbcoll", memory, is_persistent ? "apart" : "started apart");
    double calls = row_real(r->cell, is_persistent ? "calls" : "started_calls"), us = row_real(apart, "median");
    double copies = row_real(row, "copies");
    if (apart)
        json_object_update_new(row, json_pack("{s:{s:f, s:f, s:f, s:f}}", "parts", "calls", calls, "copies", copies,
                                              "lines", us - calls - copies, "waiting", row_real(row, "us") - us));
}

static json_t *row_of(const rival *r, const char *memory, const char *form)
{
    const json_t *copies = fastest(r->cell, "copies", memory, NULL);
    json_t *row = row_part(r->cell, "operation,ranks,bytes,peer,cores,line_us,retaken,preempted");
    json_object_update_new(
        row, json_pack("{s:s, s:s, s:s, s:f, s:f, s:s, s:f, s:f, s:f, s:f}", "buffers",
                       row_number(r->cell, "turns") > 1 ? "in turn" : "reused", "memory", memory, "form", form, "us",
                       row_real(r->ours, "median"), "p99", row_real(r->ours, "p99"), "peer_form",
                       row_text(r->theirs, "form"), "peer_us", row_real(r->theirs, "median"), "ratio", r->ratio.median,
                       "low", r->ratio.low, "high", r->ratio.high));
    if (copies)
        json_object_update_new(row, json_pack("{s:f, s:O}", "copies", row_real(copies, "median"), "copies_by",
                                              json_object_get(copies, "form")));
    if (strcmp(form, "blocking") != 0)
        add_parts(row, r, memory, form);
    return row;
}

int against_compare(json_t *const cells[AGAINST_PEERS], size_t i, json_t *rows)
{
    static const char *const memories[] = {"private", "shared"};
    static const char *const forms[] = {"blocking", "nonblocking", "persistent"};
    int is_there = 0;
    rival r;
    for (int m = 0; m < 2; m++)
        for (int f = 0; f < 3; f++)
            if (find_rival(cells, i, memories[m], forms[f], &r))
                json_array_append_new(rows, row_of(&r, memories[m], forms[f]));
    for (int p = 0; p < AGAINST_PEERS; p++)
        is_there |= i < json_array_size(cells[p]);
    return is_there;
}
