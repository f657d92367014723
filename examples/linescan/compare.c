/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Both forms by turns, so that what else the machine does falls on both; which comes first changes from round to round.
 */
#include "compare.h"
#include "clock.h"
#include "interval.h"
#include "machine.h"
#include "options.h"
#include "picture.h"
#include "ranks.h"
#include "work.h"

#include <stdlib.h>
#include <string.h>

/* Of each job. */
typedef struct record {
    double seconds[FORMS][COMPARE_MOST], ratio[COMPARE_MOST], waited[FORMS];
    waits *waits[FORMS]; /* of this rank, one for each round */
} record;

/* False: interrupted, or other totals. */
static bool run_one(scan *s, const list *files, outcome *out, record *r, int round, enum form form)
{
    outcome before = *out;
    scan_run(s, files, form == BLOCKING, out);
    r->waits[form][round] = s->waits;
    r->seconds[form][round] = out->seconds;
    r->waited[form] += out->waited[0];
    bool first = round == 0 && before.ranks == 0;
    if (!first && memcmp(&before.total, &out->total, sizeof out->total) != 0)
        out->differs = true;
    return !out->interrupted;
}

/* The round whose gain is nearest to the median. */
static int typical(const record *r, int rounds, double median)
{
    int best = 0;
    for (int i = 1; i < rounds; i++) {
        double a = r->seconds[BLOCKING][i] / r->seconds[NONBLOCKING][i] - median;
        double b = r->seconds[BLOCKING][best] / r->seconds[NONBLOCKING][best] - median;
        if (a * a < b * b)
            best = i;
    }
    return best;
}

/* Gathers the waits of one round, and draws them. */
static void draw(scan *s, const record *r, int round, const comparison *c)
{
    bool is_root = nbcoll_comm_rank(s->comm) == 0;
    waits *all[FORMS] = {0};
    must(nbcoll_bcast(&round, 1, NBCOLL_INT32, 0, s->comm, NBCOLL_FOREVER), "bcast");
    for (enum form f = 0; f < FORMS; f++) {
        if (is_root && !(all[f] = calloc((size_t)s->ranks, sizeof *all[f])))
            fatal("picture", "no memory");
        must(nbcoll_gather(&r->waits[f][round], all[f], sizeof(waits), NBCOLL_BYTE, 0, s->comm, NBCOLL_FOREVER),
             "gather");
    }
    if (is_root)
        picture_draw(s->options->picture, c, all);
    for (enum form f = 0; f < FORMS; f++)
        free(all[f]);
}

/* All ranks count sequences of the same length, which rank 0 chooses where none was asked for. */
static void choose_work(scan *s, const list *files, int processors)
{
    uint32_t grams = s->options->grams;
    if (grams == GRAMS_OF_MACHINE && nbcoll_comm_rank(s->comm) == 0)
        grams = work_for(files, processors);
    must(nbcoll_bcast(&grams, 1, NBCOLL_UINT32, 0, s->comm, NBCOLL_FOREVER), "bcast");
    s->grams = grams;
}

/* Rank 0 decides, by the time alone and not by what was measured, so that the interval stays what it is. */
static bool is_late(scan *s, double began)
{
    int late = seconds_now() - began > COMPARE_SECONDS;
    must(nbcoll_bcast(&late, 1, NBCOLL_INT32, 0, s->comm, NBCOLL_FOREVER), "bcast");
    return late;
}

/* Returns how many rounds there were. */
static int go_round(scan *s, const list *files, outcome *out, record *r)
{
    double began = seconds_now();
    int round = 0;
    for (bool go_on = true; go_on && round < s->options->compare; round++) {
        enum form first = round % 2 ? NONBLOCKING : BLOCKING;
        go_on = run_one(s, files, out, r, round, first) && run_one(s, files, out, r, round, 1 - first) &&
                (round + 1 < COMPARE_LEAST || !is_late(s, began));
    }
    return round;
}

void compare_run(scan *s, const list *files, outcome *out, comparison *c)
{
    record *r = calloc(1, sizeof *r);
    machine m;
    for (enum form f = 0; f < FORMS; f++)
        if (!r || !(r->waits[f] = calloc((size_t)s->options->compare, sizeof *r->waits[f])))
            fatal("comparison", "no memory");
    machine_begin(&m, s->comm);
    choose_work(s, files, m.count);
    machine_begin(&m, s->comm);
    int rounds = go_round(s, files, out, r);
    *c =
        (comparison){.rounds = rounds, .ranks = s->ranks, .processors = m.count, .others = machine_others(&m, s->comm)};
    if (!out->interrupted) {
        for (int i = 0; i < rounds; i++)
            r->ratio[i] = r->seconds[BLOCKING][i] / r->seconds[NONBLOCKING][i];
        c->gain = interval_of(r->ratio, rounds);
        if (s->options->picture)
            draw(s, r, typical(r, rounds, c->gain.middle), c);
    }
    for (enum form f = 0; f < FORMS; f++) {
        c->waited[f] = r->waited[f] / rounds;
        c->seconds[f] = interval_sorted(r->seconds[f], rounds);
        free(r->waits[f]);
    }
    free(r);
}
