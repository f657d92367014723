/* SPDX-License-Identifier: BSD-3-Clause
 * The statistics of `nbcoll bench --against`. */
#include <stdlib.h>
#include <string.h>

#include "against.h"
#include "json.h"

enum { RESAMPLES = 1000 };

double against_median(const double sample[], size_t n)
{
    double copy[AGAINST_ROUNDS];
    memcpy(copy, sample, n * sizeof *sample);
    return bench_spread_of(copy, n).median;
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

against_interval against_ratio(const double ours[], const double theirs[], size_t rounds)
{
    double ratio[AGAINST_ROUNDS], again[AGAINST_ROUNDS], median[RESAMPLES];
    uint64_t random = UINT64_C(0x9e3779b97f4a7c15);
    for (size_t i = 0; i < rounds; i++)
        ratio[i] = ours[i] / theirs[i];
    for (size_t s = 0; s < RESAMPLES; s++) {
        for (size_t i = 0; i < rounds; i++)
            again[i] = ratio[next_random(&random) % rounds];
        median[s] = bench_spread_of(again, rounds).median;
    }
    bench_spread_of(median, RESAMPLES); /* sorts them */
    return (against_interval){against_median(ratio, rounds), median[RESAMPLES / 40],
                              median[RESAMPLES - 1 - RESAMPLES / 40]};
}

/* ---- a cell ---------------------------------------------------------------------------------------------------- */

/* One entry's times. */
typedef struct series {
    size_t n;
    double us[AGAINST_ROUNDS];
} series;

/* A null text is any. */
static int is_text(const json_t *entry, const char *key, const char *text)
{
    const char *value = row_text(entry, key);
    return !text || (value && strcmp(value, text) == 0);
}

/* 0 where the entry was not timed. */
static int read_series(const json_t *entry, series *out)
{
    const json_t *us = json_object_get(entry, "us");
    out->n = json_array_size(us) < AGAINST_ROUNDS ? json_array_size(us) : AGAINST_ROUNDS;
    for (size_t i = 0; i < out->n; i++)
        out->us[i] = json_number_value(json_array_get(us, i));
    return json_is_true(json_object_get(entry, "right")) && out->n > 0;
}

/* Of the entries of a library, a memory and a form, each of which may be null for any, the one that is the fastest;
 * null: none was timed. */
static const json_t *fastest(const json_t *cell, const char *library, const char *memory, const char *form)
{
    const json_t *best = NULL, *entry;
    double least = 0;
    size_t i;
    series s;
    json_array_foreach(json_object_get(cell, "entries"), i, entry)
    {
        if (!is_text(entry, "library", library) || !is_text(entry, "memory", memory) || !is_text(entry, "form", form) ||
            !read_series(entry, &s))
            continue;
        double median = against_median(s.us, s.n);
        if (!best || median < least) {
            best = entry;
            least = median;
        }
    }
    return best;
}

/* What a form of nbcoll's is compared with. */
typedef struct rival {
    const json_t *cell, *ours, *theirs;
    const char *name;
    against_interval ratio;
    double us, rival_us;
} rival;

/* The peer that is furthest ahead of a form of nbcoll's, with its own fastest form. 0: there is nothing to compare. */
static int find_rival(json_t *const cells[], const char *const names[], const char *memory, const char *form,
                      rival *out)
{
    series ours, theirs;
    int found = 0;
    for (int p = 0; p < AGAINST_PEERS; p++) {
        rival r = {.cell = cells[p], .name = names[p]};
        if (!cells[p] || !(r.ours = fastest(cells[p], "nbcoll", memory, form)) ||
            !(r.theirs = fastest(cells[p], "mpi", NULL, NULL)) || !read_series(r.ours, &ours) ||
            !read_series(r.theirs, &theirs) || ours.n != theirs.n)
            continue;
        r.ratio = against_ratio(ours.us, theirs.us, ours.n);
        r.us = against_median(ours.us, ours.n);
        r.rival_us = against_median(theirs.us, theirs.n);
        if (!found || r.ratio.median > out->ratio.median)
            *out = r;
        found = 1;
    }
    return found;
}

/* The parts of the time of a start and its wait, persistent or not, where they were measured. Calls: what they take
 * where nobody waits and no line crosses, of 8 bytes; copies: the bare ones; lines: what is left of start and wait with
 * a meeting between; waiting: what they take more without it. */
static void add_parts(json_t *row, const rival *r, const char *memory, int is_persistent, double copies)
{
    const json_t *apart = fastest(r->cell, "nbcoll", memory, is_persistent ? "apart" : "started apart");
    double calls = row_real(r->cell, is_persistent ? "calls" : "started_calls");
    series s;
    if (!apart || !read_series(apart, &s))
        return;
    double us = against_median(s.us, s.n);
    json_object_update_new(row, json_pack("{s:{s:f, s:f, s:f, s:f}}", "parts", "calls", calls, "copies", copies,
                                          "lines", us - calls - copies, "waiting", r->us - us));
}

static json_t *row_of(const rival *r, const char *memory, bench_form form, const char *form_name)
{
    const json_t *cell = r->cell, *copies = fastest(cell, "copies", memory, NULL);
    json_t *row = json_pack("{s:O, s:O, s:O, s:s, s:s, s:s}", "operation", json_object_get(cell, "operation"), "ranks",
                            json_object_get(cell, "ranks"), "bytes", json_object_get(cell, "bytes"), "buffers",
                            row_number(cell, "turns") > 1 ? "in turn" : "reused", "memory", memory, "form", form_name);
    json_object_update_new(row, json_pack("{s:f, s:f, s:s, s:O, s:f, s:f, s:f, s:f}", "us", r->us, "p99",
                                          row_real(r->ours, "p99"), "peer", r->name, "peer_form",
                                          json_object_get(r->theirs, "form"), "peer_us", r->rival_us, "ratio",
                                          r->ratio.median, "low", r->ratio.low, "high", r->ratio.high));
    series s;
    double least = 0;
    if (copies && read_series(copies, &s)) {
        least = against_median(s.us, s.n);
        json_object_update_new(row,
                               json_pack("{s:f, s:O}", "copies", least, "copies_by", json_object_get(copies, "form")));
    }
    if (form != BENCH_BLOCKING)
        add_parts(row, r, memory, form == BENCH_FORMS, least);
    json_object_update_new(row, json_pack("{s:O, s:O, s:O, s:O}", "cores", json_object_get(cell, "cores"), "line_us",
                                          json_object_get(cell, "mood"), "retaken", json_object_get(cell, "retaken"),
                                          "preempted", json_object_get(cell, "preempted")));
    return row;
}

void against_compare(json_t *const cells[AGAINST_PEERS], const char *const names[AGAINST_PEERS], json_t *rows)
{
    static const char *const memories[] = {"private", "shared"};
    static const struct {
        bench_form form;
        const char *name;
    } forms[] = {{BENCH_BLOCKING, "blocking"}, {BENCH_NONBLOCKING, "nonblocking"}, {BENCH_FORMS, "persistent"}};
    rival r;
    for (int m = 0; m < 2; m++)
        for (int f = 0; f < 3; f++)
            if (find_rival(cells, names, memories[m], forms[f].name, &r))
                json_array_append_new(rows, row_of(&r, memories[m], forms[f].form, forms[f].name));
}
