/* SPDX-License-Identifier: BSD-3-Clause
 * Every collective has the values of serial C: operation x form x type x reduction x root x count x placement x ranks x
 * transport x flags. Buffers are exactly as long as needed; what an operation does not write keeps its bytes.
 *
 * Normally samples of this grid are run, in each of which every pair of values of two dimensions occurs, and of
 * others what is missing of all kinds of nodes; NBCOLL_GRID_SEED takes others, NBCOLL_GRID_SAMPLES says how many.
 * Sanitizers get a twelfth of eight samples, which the seed chooses. NBCOLL_FULL=1 runs all of it (not with
 * sanitizers); with NBCOLL_GRID_SHARD=3/64 the fourth of 64 parts. test_grid <point>, as failures print it, runs that
 * one alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "elements.h"
#include "point.h"
#include "run.h"
#include "world.h"

enum { SEED = 20261121, SAMPLES = RUN_EVERY == 1 ? 12 : 8, MOST = 4000, PART = 64 };
enum { BESIDE = 5 }; /* samples whose points share worlds */

static uint64_t number_of(const char *variable, uint64_t otherwise)
{
    const char *text = getenv(variable);
    return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

/* Over every transport that has nodes each operation, and any number of ranks, runs on 1 to 5 nodes in every numbering:
 * is this point, on its nodes, needed for that? */
static int adds_nodes(const tally *t, const point *p)
{
    const nodes_seen *s = &t->on[p->v[TRANSPORT]][point_nodes(p)][point_numbering(p)];
    return !(s->operations >> p->v[OPERATION] & 1) || !(s->ranks >> p->v[RANKS] & 1);
}

static int saw_all_nodes(const tally *t)
{
    point p = {.seed = 0};
    for (int over = 0; over < TRANSPORTS; over++)
        for (p.seed = 0; p.seed < JOINED_COUNT * JOINED_NUMBERINGS; p.seed++)
            for (p.v[RANKS] = 0; p.v[RANKS] < point_grid.sizes[RANKS]; p.v[RANKS]++)
                for (p.v[OPERATION] = 0; p.v[OPERATION] < NBCOLL_OPERATION_COUNT; p.v[OPERATION]++) {
                    p.v[TRANSPORT] = over;
                    if (point_has_nodes(&p) && adds_nodes(t, &p))
                        return 0;
                }
    return 1;
}

static void finish(runner *r, int covers_nodes)
{
    tally t = runner_close(r);
    print_message("%zu calls\n", t.runs);
    assert_int_equal(t.wrong, 0);
    assert_true(!covers_nodes || saw_all_nodes(&t));
}

/* ---- samples --------------------------------------------------------------------------------------------------- */

/* Those that share a world beside each other. */
static int in_order_of_worlds(const void *left, const void *right)
{
    const point *a = left, *b = right;
    for (int d = RANKS; d <= FLAGS; d++)
        if (a->v[d] != b->v[d])
            return a->v[d] < b->v[d] ? -1 : 1;
    return (a->seed > b->seed) - (a->seed < b->seed);
}

static size_t take_sample(uint64_t seed, point points[MOST])
{
    static int rows[MOST * DIMENSIONS];
    size_t n = pairs_cover(&point_grid, seed, rows, MOST);
    uint64_t random = seed;

    assert_true(n <= MOST);
    for (size_t i = 0; i < n; i++) {
        points[i] = (point){.seed = world_random(&random) >> 24};
        memcpy(points[i].v, rows + i * DIMENSIONS, sizeof points[i].v);
    }
    return n;
}

/* Of samples first..last, those points that are run. */
static void run_samples(runner *r, uint64_t first, uint64_t last)
{
    static point points[BESIDE * MOST];
    size_t n = 0;

    for (uint64_t seed = first; seed <= last; seed++) {
        size_t begin = n, end = n + take_sample(seed, points + n);
        for (size_t i = begin; i < end; i++)
            if ((points[i].seed + seed) % RUN_EVERY == 0)
                points[n++] = points[i];
    }
    qsort(points, n, sizeof *points, in_order_of_worlds);
    for (size_t i = 0; i < n; i++)
        runner_add(r, &points[i]);
}

/* What is rare, a barrier, say, is in too few samples to have been on all nodes: of another one the points that add
 * something, each in a world of its own. */
static void run_on_all_nodes(runner *r, uint64_t seed)
{
    static point points[MOST];
    size_t n = take_sample(seed, points);

    for (size_t i = 0; i < n; i++)
        for (uint64_t nodes = 0; nodes < JOINED_COUNT * JOINED_NUMBERINGS && point_has_nodes(&points[i]); nodes++) {
            points[i].seed += nodes - points[i].seed % (JOINED_COUNT * JOINED_NUMBERINGS);
            if (adds_nodes(runner_run(r), &points[i]))
                runner_add(r, &points[i]);
        }
}

/* ---- all of it ------------------------------------------------------------------------------------------------- */

typedef struct shard {
    runner *r;
    uint64_t part, parts, seen;
    point p;
} shard;

static void add_if_in_shard(shard *s)
{
    uint64_t index = s->seen++, random = index;

    if (index / PART % s->parts != s->part)
        return;
    s->p.seed = world_random(&random) >> 24;
    runner_add(s->r, &s->p);
}

/* Worlds are outermost, so that many calls share one. */
static void run_from(shard *s, int at)
{
    static const int order[DIMENSIONS] = {RANKS, TRANSPORT, FLAGS, OPERATION, OP, TYPE, FORM, ROOT, PLACE, COUNT};

    if (at == DIMENSIONS) {
        add_if_in_shard(s);
        return;
    }
    for (int *v = &s->p.v[order[at]]; ++*v < point_grid.sizes[order[at]];)
        if (point_grid.is_legal(s->p.v))
            run_from(s, at + 1);
    s->p.v[order[at]] = -1;
}

static void run_shard(runner *r, const char *text)
{
    shard s = {.r = r, .parts = 1};
    char *end = NULL;

    if (text) {
        s.part = strtoull(text, &end, 10);
        s.parts = *end == '/' ? strtoull(end + 1, NULL, 10) : 0;
        assert_true(s.part < s.parts);
    }
    memset(s.p.v, -1, sizeof s.p.v);
    run_from(&s, 0);
    print_message("part %llu of %llu, of %llu points\n", (unsigned long long)s.part, (unsigned long long)s.parts,
                  (unsigned long long)s.seen);
}

/* ---------------------------------------------------------------------------------------------------------------- */

static void every_collective_has_the_values_of_serial_c(void **state)
{
    const char *part = getenv("NBCOLL_GRID_SHARD");
    uint64_t seed = number_of("NBCOLL_GRID_SEED", SEED), samples = number_of("NBCOLL_GRID_SAMPLES", SAMPLES);
    runner *r = runner_open();
    int covers_nodes = RUN_EVERY == 1 && samples >= SAMPLES && !number_of("NBCOLL_FULL", 0);

    (void)state;
    if (RUN_EVERY == 1 && number_of("NBCOLL_FULL", 0)) {
        run_shard(r, part);
    } else {
        print_message("seed %llu, %llu samples\n", (unsigned long long)seed, (unsigned long long)samples);
        for (uint64_t i = 0; i < samples; i += BESIDE)
            run_samples(r, seed + i, seed + (i + BESIDE < samples ? i + BESIDE : samples) - 1);
        for (uint64_t i = 0; covers_nodes && i < SAMPLES && !saw_all_nodes(runner_run(r)); i++)
            run_on_all_nodes(r, seed + samples + i);
    }
    finish(r, covers_nodes);
}

static int run_alone(const char *text)
{
    point p;
    runner *r = runner_open();

    if (!point_parse(&p, text)) {
        fprintf(stderr, "test_grid: not a point of the grid: %s\n", text);
        return 2;
    }
    runner_add(r, &p);
    return runner_close(r).wrong != 0;
}

int main(int n, char *arguments[])
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_collective_has_the_values_of_serial_c),
    };
    if (n > 1)
        return run_alone(arguments[1]);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (failed)
        fprintf(stderr, "the last point: test_grid %s\n", runner_point());
    return failed;
}
