/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Many seeds, one after the other, counted; and the file that lets a soak go on where it ended. Words and numbers, a
 * line each; `met` is the table of coverage.c as numbers, and is begun anew when that table has another size. The file
 * is written whole, beside itself, and takes its own place then: who is killed loses less than SAVED_EVERY seeds. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#include "storm.h"

enum { SAVED_EVERY = 1000 };

static const struct {
    const char *name;
    size_t at;
} field[] = {{"next", offsetof(tally, next)},         {"seeds", offsetof(tally, seeds)},
             {"faulty", offsetof(tally, faulty)},     {"steps", offsetof(tally, steps)},
             {"findings", offsetof(tally, findings)}, {"small", offsetof(tally, small)},
             {"in_small", offsetof(tally, in_small)}, {"microseconds", offsetof(tally, microseconds)}};
enum { FIELDS = sizeof field / sizeof *field, NUMBERS = sizeof met / sizeof(uint64_t) };

static uint64_t *number(tally *t, int i)
{
    return (uint64_t *)((char *)t + field[i].at);
}

static void read_met(FILE *f)
{
    uint64_t *numbers = (uint64_t *)&met, n = 0;
    if (fscanf(f, "%" SCNu64, &n) == 1 && n == NUMBERS)
        for (uint64_t i = 0; i < n; i++)
            if (fscanf(f, "%" SCNu64, &numbers[i]) != 1)
                return;
}

bool tally_read(tally *t, const char *path)
{
    char name[32];
    FILE *f = fopen(path, "r");
    if (!f)
        return false;
    while (fscanf(f, "%31s", name) == 1) {
        if (!strcmp(name, "met"))
            read_met(f);
        for (int i = 0; i < FIELDS; i++)
            if (!strcmp(name, field[i].name) && fscanf(f, "%" SCNu64, number(t, i)) != 1)
                break;
    }
    fclose(f);
    return true;
}

static bool tally_write(tally *t, const char *path)
{
    const uint64_t *numbers = (const uint64_t *)&met;
    char beside[4096];
    snprintf(beside, sizeof beside, "%s.new", path);
    FILE *f = fopen(beside, "w");
    if (!f)
        return false;
    for (int i = 0; i < FIELDS; i++)
        fprintf(f, "%s %" PRIu64 "\n", field[i].name, *number(t, i));
    fprintf(f, "met %d", NUMBERS);
    for (int i = 0; i < NUMBERS; i++)
        fprintf(f, " %" PRIu64, numbers[i]);
    fputc('\n', f);
    return !fclose(f) && !rename(beside, path);
}

static uint64_t processor_time(void)
{
    return (uint64_t)clock() * 1000000 / CLOCKS_PER_SEC;
}

static bool run_one(tally *t, storm *s, const cut *c, int patience)
{
    const struct itimerval most = {.it_value = {.tv_sec = patience}};
    uint64_t before = processor_time();
    setitimer(ITIMER_VIRTUAL, &most, NULL);
    storm_run(s, t->next, c, false);
    uint64_t took = processor_time() - before;

    t->seeds++;
    t->microseconds += took;
    if (s->plan.ranks <= 5) {
        t->small++;
        t->in_small += took;
    }
    t->faulty += plan_has_faults(&s->plan);
    t->steps += s->steps;
    t->findings += s->finding[0] != 0;
    return s->finding[0];
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

bool tally_run(tally *t, storm *s, const cut *c, const batch *m)
{
    uint64_t first = t->next, begun = t->findings;
    double begin = seconds();
    bool is_kept = true;

    for (; is_kept && t->next - first < m->count && t->findings - begun < m->findings &&
           (m->seconds <= 0 || seconds() - begin < m->seconds);
         t->next++) {
        if (!(m->is_small && t->next % 20 == 0) && run_one(t, s, c, m->patience)) {
            printf("seed %llu: %s\n", (unsigned long long)t->next, s->finding);
            fflush(stdout);
        }
        if (m->path && t->next % SAVED_EVERY == 0)
            is_kept = tally_write(t, m->path);
    }
    return is_kept && (!m->path || tally_write(t, m->path));
}

void tally_print(const tally *t)
{
    double minutes = (double)t->microseconds / 60e6;
    printf("%llu seeds up to %llu, %llu of them with faults, %llu steps: %llu findings\n", (unsigned long long)t->seeds,
           (unsigned long long)t->next, (unsigned long long)t->faulty, (unsigned long long)t->steps,
           (unsigned long long)t->findings);
    coverage_sum();
    printf("%.1f minutes of processor time; a minute: %.0f jobs; of 2 to 5 ranks %.0f\n", minutes,
           (double)t->seeds / minutes, (double)t->small / ((double)t->in_small / 60e6));
}
