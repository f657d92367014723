/* SPDX-License-Identifier: BSD-3-Clause
 * `nbcoll tune`: finds which algorithm is fastest where, writes that as a tuning file, and judges what is chosen. */
#include <sys/stat.h>

#include "run.h"
#include "sim.h"
#include "tune.h"

#define MOST_MEASURED NBCOLL_SHM_RANKS
#define MOST_SIMULATED 65536

enum { DESCRIBES_MODEL = 1, DESCRIBES_RUN = 2 }; /* what options mark */

static volatile sig_atomic_t is_interrupted;

static void interrupt(int number)
{
    (void)number;
    is_interrupted = 1;
}

/* ---- options ----------------------------------------------------------------------------------------------------- */

/* "2,4,8": rising. */
static void take_list(const command *self, const char *option, const char *value, unsigned long long low,
                      unsigned long long high, size_t list[], size_t *n)
{
    const char *at = value;
    int is_rising = command_numbers(&at, low, high, list, TUNE_MOST, n) && !*at;
    for (size_t i = 1; i < *n && i < TUNE_MOST; i++)
        is_rising &= list[i] > list[i - 1];
    if (!is_rising)
        command_refuse(self, "--%s takes rising numbers of %llu..%llu, like 2,4,8, not '%s'", option, low, high, value);
    if (*n > TUNE_MOST)
        command_refuse(self, "--%s takes at most %d numbers", option, TUNE_MOST);
}

/* The grid; what was not said of it is usual. */
static void take_grid(tune *t)
{
    int cores = bench_cores();
    take_list(t->self, "bytes", t->bytes_words, 0, (unsigned long long)1 << 40, t->bytes, &t->columns);
    if (!t->ranks_words && !t->is_simulated)
        t->ranks[t->rows++] = cores < 2 ? 2 : cores < MOST_MEASURED ? (size_t)cores : MOST_MEASURED;
    else
        take_list(t->self, "ranks", t->ranks_words ? t->ranks_words : "2,3,4,8,16,32,64,128", 1, MOST_SIMULATED,
                  t->ranks, &t->rows);
}

/* What does not go together. The tuning file takes the place of a file, and of nothing else. */
static void check(const tune *t, unsigned marks)
{
    struct stat there;
    if (marks & DESCRIBES_MODEL && !t->is_simulated)
        command_refuse(t->self, "--model, --alpha, --beta and --overhead go with --simulate");
    if (marks & DESCRIBES_RUN && t->is_simulated)
        command_refuse(t->self, "--threads, --bind, --buffers, --rounds and --iterations do not go with --simulate");
    if (!t->is_simulated && t->ranks[t->rows - 1] > MOST_MEASURED)
        command_refuse(t->self, "--ranks: there are at most %d over shared memory", MOST_MEASURED);
    for (size_t i = 0; i < t->operations; i++)
        if (!command_is(t->operation[i], COMMAND_TUNABLE))
            command_refuse(t->self, "%s binds its blocks when it is called: their size is not known before",
                           nbcoll_operation_name(t->operation[i]));
    if (t->model.cores && t->model.cores <= t->model.progress)
        command_refuse(t->self, "--model: no core of a node is left to compute");
    if (t->output && stat(t->output, &there) == 0 && !S_ISREG(there.st_mode))
        command_refuse(t->self, "--output %s: what is there is no file", t->output);
}

static void take_options(tune *t, int argc, char *argv[])
{
    unsigned marks = 0;
    command_take_options(t->self, &argc, &argv, t, &marks);
    t->within /= 100;
    t->operations = (size_t)command_take_operations(t->self, argc, argv, COMMAND_TUNABLE, t->operation);
    sim_take_model(t->self, t->model_name, &t->model);
    take_grid(t);
    check(t, marks);
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

/* The first one is heard at the end of a point, the second ends the program; unless our caller made us deaf to it. */
static void hear_interrupts(void)
{
    static const int numbers[] = {SIGINT, SIGTERM};
    struct sigaction before, action = {.sa_handler = interrupt, .sa_flags = (int)(SA_RESTART | SA_RESETHAND)};
    for (int i = 0; i < 2; i++)
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
}

static void say_interrupted(const tune *t, size_t done)
{
    if (!t->output)
        command_fail(t->self, "interrupted after %zu of %zu points; with --output it could go on", done, t->points);
    command_fail(t->self, "interrupted after %zu of %zu points, which are in %s.journal: the same command goes on",
                 done, t->points, t->output);
}

/* Takes all points that are not in the journal. */
static void take_points(tune *t)
{
    command_bar bar;
    size_t i = t->resumed;
    command_bar_begin(&bar, (double)t->points, (double)i);
    hear_interrupts();
    for (; i < t->points && !is_interrupted; i++) {
        tune_point *p = &t->point[i];
        char what[80];
        snprintf(what, sizeof what, "%s, %zu ranks, %zu bytes", nbcoll_operation_name(p->operation), t->ranks[p->row],
                 t->bytes[p->column]);
        command_bar_add(&bar, 0, what);
        tune_take(t, p);
        tune_journal_add(t, p);
        command_bar_add(&bar, 1, what);
    }
    command_bar_clear(&bar);
    if (i < t->points)
        say_interrupted(t, i);
}

static void tune_all_points(tune *t)
{
    for (size_t row = 0; row < t->rows; row++)
        run_bind_tell(t->self, t->plan.bind, (int)t->ranks[row]);
    tune_journal_open(t);
    take_points(t);
    tune_make_rules(t);
    if (t->output)
        tune_write(t);
    tune_journal_close(t);
    tune_report(t);
}

static void run(const command *self, int argc, char *argv[])
{
    static const command_rules none = {0};
    tune t = {.self = self, .argument = argv, .model_name = "cluster",
              .bytes_words = "8,64,512,4096,32768,262144,2097152", .alpha = -1, .beta = -1, .overhead = -1,
              .within = 3,
              .cases.reduction = {NBCOLL_FLOAT, NBCOLL_SUM},
              .plan = {.rules = &none, .instances = 1, .rounds = 15, .iterations = 20,
                       .only = 1u << BENCH_NONBLOCKING}};
    t.model.size = sizeof t.model;
    take_options(&t, argc, argv);
    command_rules_read(self, &t.rules, NBCOLL_OPERATION_BARRIER);
    tune_list(&t);
    tune_all_points(&t);
    command_rules_free(&t.rules);
    for (size_t row = 0; row < t.rows; row++)
        nbcoll_nodes_free(t.nodes[row]);
    free(t.point);
    free(t.at);
    free(t.counts);
    free(t.made);
}

static const command_option options[] = {
    {"output", "FILE",
     "write the rules that make up for the penalty as a tuning file. Finished points are in FILE.journal meanwhile: "
     "interrupted, the same command goes on", COMMAND_IN(tune, output)},
    COMMAND_TUNING(tune, "judge the rules of a tuning file, too"),
    {"ranks", "P,...", "(measured: as many as there are cores; simulated: 2,3,4,8,16,32,64,128)",
     COMMAND_IN(tune, ranks_words)},
    {"bytes", "N,...",
     "of the vector, or of all blocks together, as rules count them (8,64,512,4096,32768,262144,2097152)",
     COMMAND_IN(tune, bytes_words)},
    {COMMAND_TYPE(tune, "of the elements (FLOAT)")},
    {COMMAND_OP(tune, "the reduction (SUM)")},
    {"within", "PERCENT",
     "a rule is made where an algorithm is faster than the compiled-in choice by more than that, and by more than "
     "the noise (3)", COMMAND_IN(tune, within), .most = 100},
    {"json", NULL, "one object instead of the tables", COMMAND_IN(tune, is_json)},
    {.help = "\nMeasured:"},
    {"threads", NULL, "the ranks are threads of one process, not processes", COMMAND_IN(tune, plan.are_threads),
     .marks = DESCRIBES_RUN},
    {"bind", "W", "ranks to core, scatter (says where, and why), l3 or none (core, if there are as many)",
     RUN_BIND(tune, plan.bind), .marks = DESCRIBES_RUN},
    {"buffers", "B", "reused in each iteration, or changing (reused)", COMMAND_IN(tune, is_changing),
     .words = "reused or changing", .marks = DESCRIBES_RUN},
    {"rounds", "N", "(15) of", COMMAND_IN(tune, plan.rounds), 1, 10000, DESCRIBES_RUN},
    {"iterations", "N", "(20, above 64 KiB fewer) of each candidate", COMMAND_IN(tune, plan.iterations), 1, 10000,
     DESCRIBES_RUN},
    {.help = "\nSimulated:"},
    {"simulate", NULL, "nobody shares memory", COMMAND_IN(tune, is_simulated)},
    {"model", "M", "as in nbcoll sim (cluster)", COMMAND_IN(tune, model_name), .marks = DESCRIBES_MODEL},
    {"alpha", "NS", NULL, COMMAND_IN(tune, alpha), 0, UINT32_MAX, DESCRIBES_MODEL},
    {"beta", "PS", NULL, COMMAND_IN(tune, beta), 0, UINT32_MAX, DESCRIBES_MODEL},
    {"overhead", "NS",
     "the cost model of the choice (latency and byte of the model's links between nodes, or inside where there is "
     "one; the mean of o_send and o_recv, and step)", COMMAND_IN(tune, overhead), 0, UINT32_MAX, DESCRIBES_MODEL},
    {0},
};

const command command_tune = {
    .name = "tune",
    .purpose = "finds the fastest algorithms, writes them as a tuning file, and judges the choice",
    .help =
    "usage: nbcoll tune [OPERATION...] [OPTION...]\n\n"
    "Measures all candidates (each algorithm that may serve, with a few parameters) for each operation, number of\n"
    "ranks and size: start and wait among ranks of this machine, over shared memory, as nbcoll bench does it, all\n"
    "candidates taking turns in one run; or simulates them. Then it prints the penalty of what is chosen: its time\n"
    "divided by that of the best candidate, mean and worst over the sizes. Where times are measured, the best of many\n"
    "is a little lucky: noise overstates penalties. The operations: all but those that bind their blocks.\n\n",
    .run = run,
    .options = options,
};
