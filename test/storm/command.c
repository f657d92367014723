/* SPDX-License-Identifier: BSD-3-Clause
 *
 *     storm SEED [cuts]              runs it, says all that happened, and the log's hash
 *     storm --seconds N [--from S]   runs seeds from S on (else from the clock), says which failed, and what was met
 *     storm --count N [--from S]     the same of so many. --findings N: until so many have failed; --small: without
 *                                    those of many ranks; --patience N: seconds of processor time that a job may take
 *     storm --soak FILE ...          goes on with what FILE counts, which is made if it is not there (soak.c)
 *     storm --shrink SEED [cuts]     leaves out ranks, items and faults as long as it fails, and says what is left, as
 *                                    a line of kept.c and as the command
 *
 * Cuts: --edition N, --ranks N, --items N, --skip A,B,..., --no-fault N, --only KIND (of faults: a number), --calm,
 * --no-forks, --over-shm (shm joins the ranks), --over-ofi (ofi does: in test_over_ofi). --quiet: of one seed only how
 * it ended. --coverage: also what was met.
 * Status 1: one has failed; 2: no such option. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <signal.h>
#include <unistd.h>

#include "storm.h"

static storm world;

/* A crash is a finding, too, and a job that takes the processor for ever: the seed is said, and the process dies of it.
 */
static void say_seed(const char *words)
{
    char number[24], *at = number + sizeof number;
    uint64_t seed = world.plan.seed;
    *--at = '\n';
    do
        *--at = (char)('0' + seed % 10);
    while (seed /= 10);
    if (write(STDERR_FILENO, words, strlen(words)) < 0 ||
        write(STDERR_FILENO, at, (size_t)(number + sizeof number - at)) < 0)
        _exit(1);
}

static void crashed(int signal)
{
    say_seed(signal == SIGVTALRM ? "storm: no end in seed " : "storm: a crash in seed ");
    raise(signal);
}

#ifdef __SANITIZE_ADDRESS__
void __sanitizer_set_death_callback(void (*callback)(void));

static void sanitizer_has_found(void)
{
    say_seed("storm: the sanitizer ends it in seed ");
}
#else
#define __sanitizer_set_death_callback(callback)
#endif

static void say_seed_of_a_crash(void)
{
    __sanitizer_set_death_callback(sanitizer_has_found);
    static char stack[16384];
    stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action = {.sa_handler = crashed, .sa_flags = (int)(SA_ONSTACK | SA_RESETHAND)};
    sigaltstack(&other, NULL);
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
    sigaction(SIGABRT, &action, NULL);
    sigaction(SIGFPE, &action, NULL);
    sigaction(SIGVTALRM, &action, NULL);
}

static bool fails(uint64_t seed, const cut *c)
{
    storm_run(&world, seed, c, false);
    return world.finding[0];
}

/* What a finding says, but for numbers and what follows from them. */
static void kind_of(const char *finding, char kind[40])
{
    size_t n = 0;
    for (; *finding && n < 39; finding++)
        if ((*finding < '0' || *finding > '9') && *finding != ' ')
            kind[n++] = *finding;
    kind[n] = 0;
}

static char wanted[40]; /* while it shrinks */

static bool fails_alike(uint64_t seed, const cut *c)
{
    char is[40];
    bool failed = fails(seed, c);
    kind_of(world.finding, is);
    return failed && !strncmp(is, wanted, 16);
}

void storm_print_command(const char *program, uint64_t seed, const cut *c)
{
    printf("%s %llu", program, (unsigned long long)seed);
    if (c->edition)
        printf(" --edition %d", c->edition);
    if (c->ranks)
        printf(" --ranks %d", c->ranks);
    if (c->items >= 0)
        printf(" --items %d", c->items);
    if (c->only)
        printf(" --only %d", c->only - 1);
    if (c->is_calm)
        printf(" --calm");
    if (c->has_no_forks)
        printf(" --no-forks");
    if (c->is_over_shm)
        printf(" --over-shm");
    if (c->is_over_ofi)
        printf(" --over-ofi");
    for (int k = 0; k < 32; k++)
        if (c->faults >> k & 1)
            printf(" --no-fault %d", k);
    for (int k = 0; k < c->n_skipped; k++)
        printf("%s%d", k ? "," : " --skip ", c->skipped[k]);
    printf("\n");
}

/* For kept.c. */
static void print_kept(uint64_t seed, const cut *c)
{
    printf("    {%llu, {.edition = %d, .items = %d", (unsigned long long)seed, c->edition ? c->edition : EDITION,
           c->items);
    if (c->ranks)
        printf(", .ranks = %d", c->ranks);
    if (c->faults)
        printf(", .faults = %u", c->faults);
    if (c->only)
        printf(", .only = %d", c->only);
    if (c->is_calm)
        printf(", .is_calm = true");
    if (c->is_over_shm)
        printf(", .is_over_shm = true");
    if (c->is_over_ofi)
        printf(", .is_over_ofi = true");
    if (c->n_skipped)
        printf(", .n_skipped = %d, .skipped = {%d", c->n_skipped, c->skipped[0]);
    for (int k = 1; k < c->n_skipped; k++)
        printf(", %d", c->skipped[k]);
    printf("%s}},\n", c->n_skipped ? "}" : "");
}

/* ---- shrinking --------------------------------------------------------------------------------------------------- */

static bool is_skipped(const cut *c, int i)
{
    for (int k = 0; k < c->n_skipped; k++)
        if (c->skipped[k] == i)
            return true;
    return false;
}

static void shrink_items(uint64_t seed, cut *c, int step)
{
    for (int i = c->items - 1; i >= 0; i -= step) {
        cut tried = *c;
        for (int k = i; k > i - step && k >= 0; k--)
            if (!is_skipped(c, k))
                tried.skipped[tried.n_skipped++] = k;
        if (tried.n_skipped != c->n_skipped && fails_alike(seed, &tried))
            *c = tried;
    }
}

static int shrink(const char *program, uint64_t seed, cut c)
{
    cut tried = c;
    if (!fails(seed, &c)) {
        printf("it does not fail\n");
        return 0;
    }
    kind_of(world.finding, wanted);
    for (int ranks = 2; ranks < world.plan.ranks; ranks++) {
        tried = c;
        tried.ranks = ranks;
        if (fails_alike(seed, &tried)) {
            c = tried;
            break;
        }
    }
    fails(seed, &c);
    if (c.items < 0)
        c.items = world.plan.items;
    for (int items = 1; items < c.items; items++) {
        tried = c;
        tried.items = items;
        if (fails_alike(seed, &tried))
            c = tried;
    }
    for (int k = 0; k < 2; k++) {
        tried = c;
        tried.faults |= 1u << k;
        if (!c.is_calm && fails_alike(seed, &tried))
            c = tried;
    }
    for (int step = 8; step; step /= 2)
        shrink_items(seed, &c, step);
    storm_run(&world, seed, &c, true);
    printf("%s\nFor kept.c:\n", world.finding);
    print_kept(seed, &c);
    printf("Again:\n");
    storm_print_command(program, seed, &c);
    return 1;
}

/* ---- many -------------------------------------------------------------------------------------------------------- */

static int run_many(tally *t, const batch *m, const cut *c)
{
    uint64_t before = 0;
    if (m->path && tally_read(t, m->path))
        before = t->findings;
    bool is_kept = tally_run(t, &world, c, m);
    if (!is_kept)
        fprintf(stderr, "storm: %s cannot be written\n", m->path);
    tally_print(t);
    return !is_kept || t->findings != before;
}

static int run_one(uint64_t seed, const cut *c, bool is_quiet)
{
    storm_run(&world, seed, c, !is_quiet);
    printf("seed %llu: %s; hash %016llx after %llu steps, %llu us\n", (unsigned long long)seed,
           world.finding[0] ? world.finding : "all is well", (unsigned long long)world.hash,
           (unsigned long long)world.steps, (unsigned long long)(world.now / MICROSECOND));
    return world.finding[0] != 0;
}

static void read_skips(cut *c, char *list)
{
    for (char *word = strtok(list, ","); word; word = strtok(NULL, ","))
        c->skipped[c->n_skipped++] = atoi(word);
}

/* An option and what follows it. False: there is none of that name. */
static bool read_value(const char *option, char *next, cut *c, batch *m, tally *t)
{
    if (!strcmp(option, "--seconds"))
        m->seconds = atof(next);
    else if (!strcmp(option, "--from"))
        t->next = strtoull(next, NULL, 0);
    else if (!strcmp(option, "--count"))
        m->count = strtoull(next, NULL, 0);
    else if (!strcmp(option, "--findings"))
        m->findings = strtoull(next, NULL, 0);
    else if (!strcmp(option, "--soak"))
        m->path = next;
    else if (!strcmp(option, "--patience"))
        m->patience = atoi(next);
    else if (!strcmp(option, "--edition"))
        c->edition = atoi(next);
    else if (!strcmp(option, "--ranks"))
        c->ranks = atoi(next);
    else if (!strcmp(option, "--items"))
        c->items = atoi(next);
    else if (!strcmp(option, "--only"))
        c->only = 1 + atoi(next);
    else if (!strcmp(option, "--no-fault"))
        c->faults |= 1u << atoi(next);
    else if (!strcmp(option, "--skip"))
        read_skips(c, next);
    else
        return false;
    return true;
}

int storm_command(int argc, char **argv)
{
    cut c = {.items = -1};
    batch m = {.count = UINT64_MAX, .findings = 10, .patience = 300};
    tally t = {.next = (uint64_t)time(NULL) * 1000000};
    uint64_t seed = 0;
    bool shrinks = false, prints_met = false, is_many = false, is_quiet = false;

    for (int i = 1; i < argc; i++) {
        const char *a = argv[i];
        if (a[0] != '-') {
            seed = strtoull(a, NULL, 0);
            continue;
        }
        if (!strcmp(a, "--calm"))
            c.is_calm = true;
        else if (!strcmp(a, "--no-forks"))
            c.has_no_forks = true;
        else if (!strcmp(a, "--over-shm"))
            c.is_over_shm = true;
        else if (!strcmp(a, "--over-ofi") && storm_over_ofi)
            c.is_over_ofi = true;
        else if (!strcmp(a, "--quiet"))
            is_quiet = true;
        else if (!strcmp(a, "--shrink"))
            shrinks = true;
        else if (!strcmp(a, "--small"))
            m.is_small = true;
        else if (!strcmp(a, "--coverage"))
            prints_met = true;
        else if (i + 1 == argc || !read_value(a, argv[++i], &c, &m, &t)) {
            fprintf(stderr, "storm: no option %s, or nothing behind it; command.c begins with the options\n", a);
            return 2;
        }
    }
    is_many = m.seconds > 0 || m.count != UINT64_MAX || m.path;
    say_seed_of_a_crash();
    if (shrinks)
        return shrink(argv[0], seed, c);
    int status = is_many ? run_many(&t, &m, &c) : run_one(seed, &c, is_quiet);
    if (prints_met)
        coverage_print();
    return status;
}
