/* SPDX-License-Identifier: BSD-3-Clause
 * `nbcoll tune`: finds which algorithm is fastest where, writes that as a tuning file, and judges what is chosen. */
#define _GNU_SOURCE

#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <nbcoll/shm.h>

#include "bar.h"
#include "run.h"
#include "sim.h"
#include "tune.h"

#define MOST_MEASURED NBCOLL_SHM_RANKS
#define MOST_SIMULATED 65536

static volatile sig_atomic_t is_interrupted;

static void interrupt(int number)
{
    (void)number;
    is_interrupted = 1;
}

/* ---- options --------------------------------------------------------------------------------------------------- */

/* "2,4,8": rising. */
static int take_list(const tune *t, const char *option, const char *value, unsigned long long low,
                     unsigned long long high, size_t list[], size_t *n)
{
    int is_rising = command_numbers(value, low, high, list, TUNE_MOST, n);
    for (size_t i = 1; i < *n && i < TUNE_MOST; i++)
        is_rising &= list[i] > list[i - 1];
    if (!is_rising)
        return command_refuse(t->self, "--%s takes rising numbers of %llu..%llu, like 2,4,8, not '%s'", option, low,
                              high, value);
    if (*n > TUNE_MOST)
        return command_refuse(t->self, "--%s takes at most %d numbers", option, TUNE_MOST);
    return 0;
}

static int take_term(const tune *t, const char *option, const char *value, int64_t *out)
{
    unsigned long long number = 0;
    int status = command_take_number(t->self, option, value, 0, UINT32_MAX, &number);
    *out = (int64_t)number;
    return status;
}

static int take_int(const tune *t, const char *option, const char *value, int *out)
{
    unsigned long long number = 0;
    int status = command_take_number(t->self, option, value, 1, 10000, &number);
    *out = (int)number;
    return status;
}

static int take_within(tune *t, const char *value)
{
    char *end;
    double percent = strtod(value, &end);
    if (end == value || *end || !(percent >= 0 && percent <= 100))
        return command_refuse(t->self, "--within takes per cent, 0..100, not '%s'", value);
    t->within = percent / 100;
    return 0;
}

static int take_buffers(tune *t, const char *value)
{
    t->is_changing = strcmp(value, "changing") == 0;
    if (t->is_changing || strcmp(value, "reused") == 0)
        return 0;
    return command_refuse(t->self, "--buffers is reused or changing, not '%s'", value);
}

static int take_option(tune *t, command_cases *cases, int option, const char *value)
{
    switch (option) {
    case 's':
        t->is_simulated = 1;
        return 0;
    case 'm':
        t->model_name = value;
        return sim_take_model(t->self, value, &t->model);
    case 'a':
        return take_term(t, "alpha", value, &t->alpha);
    case 'b':
        return take_term(t, "beta", value, &t->beta);
    case 'v':
        return take_term(t, "overhead", value, &t->overhead);
    case 'p':
        return take_list(t, "ranks", value, 1, MOST_SIMULATED, t->ranks, &t->rows);
    case 'B':
        return take_list(t, "bytes", value, 0, (unsigned long long)1 << 40, t->bytes, &t->columns);
    case 'U':
        return take_buffers(t, value);
    case 'H':
        t->plan.are_threads = 1;
        return 0;
    case 'w':
        return run_bind_take(t->self, value, &t->plan.bind);
    case 'R':
        return take_int(t, "rounds", value, &t->plan.rounds);
    case 'I':
        return take_int(t, "iterations", value, &t->plan.iterations);
    case 'W':
        return take_within(t, value);
    case 'f':
        t->output = value;
        return 0;
    case 'j':
        t->is_json = 1;
        return 0;
    case COMMAND_TUNING:
        return command_rules_take(t->self, &t->given, option, value);
    default:
        return command_take_option(t->self, cases, option, value);
    }
}

/* Not where blocks are bound in the call: rules count 0 bytes there, whatever it moves. */
static int can_tune(nbcoll_operation operation)
{
    return operation != NBCOLL_OPERATION_SCATTERV && operation != NBCOLL_OPERATION_GATHERV &&
           operation != NBCOLL_OPERATION_ALLTOALLV && operation != NBCOLL_OPERATION_ALLTOALLW;
}

static int take_operation(tune *t, char *word)
{
    command_cases one = {.operation = -1};
    int status = command_take_words(t->self, &one, 1, &word);
    if (!status && !can_tune((nbcoll_operation)one.operation))
        status = command_refuse(t->self, "%s binds its blocks when it is called: their size is not known before", word);
    for (size_t i = 0; i < t->operations && !status; i++)
        if (t->operation[i] == (nbcoll_operation)one.operation)
            status = command_refuse(t->self, "'%s' stands there twice", word);
    if (!status)
        t->operation[t->operations++] = (nbcoll_operation)one.operation;
    return status;
}

/* What was not said. */
static void take_defaults(tune *t)
{
    static const size_t simulated[] = {2, 3, 4, 8, 16, 32, 64, 128};
    static const size_t bytes[] = {8, 64, 512, 4096, 32768, 262144, 2097152};
    int cores = bench_cores();
    if (!t->columns) {
        t->columns = sizeof bytes / sizeof *bytes;
        memcpy(t->bytes, bytes, sizeof bytes);
    }
    if (!t->rows && t->is_simulated) {
        t->rows = sizeof simulated / sizeof *simulated;
        memcpy(t->ranks, simulated, sizeof simulated);
    } else if (!t->rows)
        t->ranks[t->rows++] = cores < 2 ? 2 : cores < MOST_MEASURED ? (size_t)cores : MOST_MEASURED;
    for (int i = 0, are_all = !t->operations; are_all && i < NBCOLL_OPERATION_COUNT; i++)
        if (can_tune((nbcoll_operation)i))
            t->operation[t->operations++] = (nbcoll_operation)i;
}

/* The tuning file takes the place of a file, and of nothing else. */
static int check_place(const tune *t)
{
    struct stat there;
    if (!t->output || stat(t->output, &there) != 0 || S_ISREG(there.st_mode))
        return 0;
    return command_refuse(t->self, "--output %s: what is there is no file", t->output);
}

/* What does not go together. */
static int check(const tune *t, int describes_model, int describes_run)
{
    if (describes_model && !t->is_simulated)
        return command_refuse(t->self, "--model, --alpha, --beta and --overhead go with --simulate");
    if (describes_run && t->is_simulated)
        return command_refuse(t->self, "--threads, --bind, --buffers, --rounds and --iterations do not go with "
                                       "--simulate");
    if (!t->is_simulated && t->ranks[t->rows - 1] > MOST_MEASURED)
        return command_refuse(t->self, "--ranks: there are at most %d over shared memory", MOST_MEASURED);
    if (t->model.cores && t->model.cores <= t->model.progress)
        return command_refuse(t->self, "--model: no core of a node is left to compute");
    return check_place(t);
}

static int take_options(tune *t, int argc, char *argv[])
{
    static const struct option options[] = {
        {"simulate", no_argument, NULL, 's'},         {"model", required_argument, NULL, 'm'},
        {"alpha", required_argument, NULL, 'a'},      {"beta", required_argument, NULL, 'b'},
        {"overhead", required_argument, NULL, 'v'},   {"ranks", required_argument, NULL, 'p'},
        {"bytes", required_argument, NULL, 'B'},      {"type", required_argument, NULL, 't'},
        {"op", required_argument, NULL, 'o'},         {"threads", no_argument, NULL, 'H'},
        {"bind", required_argument, NULL, 'w'},       {"buffers", required_argument, NULL, 'U'},
        {"rounds", required_argument, NULL, 'R'},
        {"iterations", required_argument, NULL, 'I'}, {"within", required_argument, NULL, 'W'},
        {"output", required_argument, NULL, 'f'},     {"tuning", required_argument, NULL, COMMAND_TUNING},
        {"json", no_argument, NULL, 'j'},             {NULL, 0, NULL, 0}};
    command_cases cases = {.reduction = t->plan.reduction};
    int option, status = 0, describes_model = 0, describes_run = 0;
    while (!status && (option = command_next(t->self, argc, argv, options)) != -1) {
        describes_model |= option < COMMAND_ALGORITHM && strchr("mabv", option);
        describes_run |= option < COMMAND_ALGORITHM && strchr("HwURI", option);
        status = take_option(t, &cases, option, optarg);
    }
    t->plan.reduction = cases.reduction;
    for (int i = optind; i < argc && !status; i++)
        status = take_operation(t, argv[i]);
    take_defaults(t);
    return status ? status : check(t, describes_model, describes_run);
}

/* ---- the command ----------------------------------------------------------------------------------------------- */

/* The first one is heard at the end of a point, the second ends the program; unless our caller made us deaf to it. */
static void hear_interrupts(void)
{
    static const int numbers[] = {SIGINT, SIGTERM};
    struct sigaction before, action = {.sa_handler = interrupt, .sa_flags = (int)(SA_RESTART | SA_RESETHAND)};
    for (int i = 0; i < 2; i++)
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
}

static int say_interrupted(const tune *t, size_t done)
{
    if (t->output)
        command_refuse(t->self, "interrupted after %zu of %zu points, which are in %s.journal: the same command goes "
                       "on", done, t->points, t->output);
    else
        command_refuse(t->self, "interrupted after %zu of %zu points; with --output it could go on", done, t->points);
    return COMMAND_FAILED;
}

/* Takes all points that are not in the journal. */
static int take_points(tune *t, tune_journal *journal)
{
    command_bar bar;
    size_t done = t->resumed;
    int status = 0;
    command_bar_begin(&bar, (double)t->points, (double)done);
    hear_interrupts();
    for (size_t i = 0; i < tune_all(t) && !status && !is_interrupted; i++) {
        tune_point *p = &t->point[i];
        char what[80];
        if (!p->is_there || p->is_done)
            continue;
        snprintf(what, sizeof what, "%s, %zu ranks, %zu bytes", nbcoll_operation_name(p->operation), t->ranks[p->row],
                 t->bytes[p->column]);
        command_bar_add(&bar, 0, what);
        status = tune_take(t, p);
        if (!status)
            status = tune_journal_add(t, journal, p);
        done += !status;
        command_bar_add(&bar, 1, what);
    }
    command_bar_clear(&bar);
    return !status && is_interrupted && done < t->points ? say_interrupted(t, done) : status;
}

static int tune_all_points(tune *t)
{
    tune_journal *journal = NULL;
    int status = 0;
    for (size_t row = 0; row < t->rows && !status; row++)
        status = run_bind_tell(t->self, t->plan.bind, (int)t->ranks[row]);
    if (!status)
        status = tune_journal_open(t, &journal);
    if (!status)
        status = take_points(t, journal);
    if (!status)
        status = tune_make_rules(t);
    if (!status && t->output)
        status = tune_write(t);
    tune_journal_close(journal, !status);
    if (!status)
        tune_report(t);
    return status;
}

static int run(const command *self, int argc, char *argv[])
{
    static const command_rules none = {0};
    tune t = {.self = self, .argument = argv, .model_name = "cluster", .alpha = -1, .beta = -1, .overhead = -1,
              .within = 0.03,
              .plan = {.rules = &none, .reduction = {NBCOLL_FLOAT, NBCOLL_SUM}, .instances = 1, .rounds = 15,
                       .iterations = 20, .only = 1u << BENCH_NONBLOCKING}};
    t.model.size = sizeof t.model;
    nbcoll_sim_model_find(t.model_name, &t.model);
    int status = take_options(&t, argc, argv);
    if (!status)
        status = command_rules_read(self, &t.given, NBCOLL_OPERATION_BARRIER);
    if (!status)
        status = tune_list(&t);
    if (!status)
        status = tune_all_points(&t);
    command_rules_free(&t.given);
    for (size_t row = 0; row < t.rows; row++)
        nbcoll_nodes_free(t.nodes[row]);
    free(t.point);
    free(t.made);
    return status;
}

const command command_tune = {
    "tune",
    "finds the fastest algorithms, writes them as a tuning file, and judges the choice",
    "usage: nbcoll tune [OPERATION...] [OPTION...]\n\n"
    "Measures all candidates (each algorithm that may serve, with a few parameters) for each operation, number of\n"
    "ranks and size: start and wait among ranks of this machine, over shared memory, as nbcoll bench does it, all\n"
    "candidates taking turns in one run; or simulates them. Then it prints the penalty of what is chosen: its time\n"
    "divided by that of the best candidate, mean and worst over the sizes. Where times are measured, the best of many\n"
    "is a little lucky: noise overstates penalties. The operations: all but those that bind their blocks.\n\n"
    "  --output FILE     write the rules that make up for the penalty as a tuning file. Finished points are in\n"
    "                    FILE.journal meanwhile: interrupted, the same command goes on\n"
    "  --tuning FILE     judge the rules of a tuning file, too\n"
    "  --ranks P,...     (measured: as many as there are cores; simulated: 2,3,4,8,16,32,64,128)\n"
    "  --bytes N,...     of the vector, or of all blocks together, as rules count them\n"
    "                    (8,64,512,4096,32768,262144,2097152)\n"
    "  --type T          of the elements (FLOAT)\n"
    "  --op O            the reduction (SUM)\n"
    "  --within PERCENT  a rule is made where an algorithm is faster than the compiled-in choice by more than that,\n"
    "                    and by more than the noise (3)\n"
    "  --json            one object instead of the tables\n\n"
    "Measured:\n"
    "  --threads         the ranks are threads of one process, not processes\n"
    "  --bind W          ranks to core, scatter (says where, and why), l3 or none (core, if there are as many)\n"
    "  --buffers B       reused in each iteration, or changing (reused)\n"
    "  --rounds N        (15) of\n"
    "  --iterations N    (20, above 64 KiB fewer) of each candidate\n\n"
    "Simulated:\n"
    "  --simulate        nobody shares memory\n"
    "  --model M         as in nbcoll sim (cluster)\n"
    "  --alpha NS, --beta PS, --overhead NS\n"
    "                    the cost model of the choice (latency and byte of the model's links between nodes, or inside\n"
    "                    where there is one; the mean of o_send and o_recv, and step)\n",
    run,
    ":",
    NULL,
};
