/* SPDX-License-Identifier: BSD-3-Clause
 * `nbcoll bench`: how long operations take, and how much of that disappears under computation. */
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nbcoll/shm.h>

#include "against.h"
#include "bar.h"
#include "bench.h"
#include "json.h"
#include "run.h"

typedef struct benchmark {
    const command *self;
    command_cases cases; /* ranks, root, counts, reduction and known are read */
    bench_plan plan;
    command_rules rules; /* its algorithm: several names, separated by commas */
    int buffers;            /* 1: reused, 2: changing, 3: both */
    bench_format format;
    const char *plot;
    const char *against; /* null, or the peers' name */
    int has_parts, is_relaxed;
    char mood;           /* as in against_plan */
    int is_special;      /* an option was given that does not go with it */
    int operations;
    nbcoll_operation operation[NBCOLL_OPERATION_COUNT];
    int has_pairs;  /* the point-to-point baseline is measured, too */
    json_t *results, *pairs;
    command_bar bar;
} benchmark;

/* ---- options --------------------------------------------------------------------------------------------------- */

static int take_number(const command *self, const char *option, const char *value, int low, int high, int *out)
{
    unsigned long long number = 0;
    int status = command_take_number(self, option, value, (unsigned)low, (unsigned)high, &number);
    *out = (int)number;
    return status;
}

static int take_real(const command *self, const char *option, const char *value, double *out)
{
    char *end;
    double number = strtod(value, &end);
    if (end == value || *end || !(number >= 0 && number <= 1e6))
        return command_refuse(self, "--%s takes a number of 0..1000000, not '%s'", option, value);
    *out = number;
    return 0;
}

static int take_buffers(const command *self, const char *value, int *out)
{
    static const char *const names[] = {"reused", "changing", "both"};
    for (*out = 1; *out <= 3; ++*out)
        if (strcmp(value, names[*out - 1]) == 0)
            return 0;
    return command_refuse(self, "--buffers is reused, changing or both, not '%s'", value);
}

/* An option without a value. 0: it is none of these. */
static int take_switch(benchmark *b, int option)
{
    static const char formats[] = {[BENCH_CSV] = 'v', [BENCH_JSON] = 'j', [BENCH_OSU] = 'U'};
    int *const set = option == 'T'   ? &b->plan.are_threads
                     : option == 'K' ? &b->plan.is_checked
                     : option == 'Q' ? &b->has_pairs
                     : option == 'S' ? &b->has_parts
                     : option == 'X' ? &b->is_relaxed
                                     : NULL;
    if (set)
        *set = 1;
    for (int format = BENCH_CSV; format <= BENCH_OSU; format++)
        if (option == formats[format]) {
            b->format = (bench_format)format;
            return 1;
        }
    return set != NULL;
}

static int take_option(void *user, int option, const char *value)
{
    benchmark *b = user;
    b->is_special |= !strchr("pcBRIvjPAMSX", option);
    if (take_switch(b, option))
        return 0;
    int status = command_rules_take(b->self, &b->rules, option, value);
    if (status != 1)
        return status;
    switch (option) {
    case 'B':
        return take_buffers(b->self, value, &b->buffers);
    case 'm':
        return take_number(b->self, "instances", value, 1, 1000, &b->plan.instances);
    case 's':
        return take_number(b->self, "tests", value, 0, 1000000, &b->plan.tests);
    case 'R':
        return take_number(b->self, "rounds", value, 1, 10000, &b->plan.rounds);
    case 'I':
        return take_number(b->self, "iterations", value, 1, 10000, &b->plan.iterations);
    case 'C':
        return take_real(b->self, "compute", value, &b->plan.compute);
    case 'l':
        return take_real(b->self, "late", value, &b->plan.late);
    case 'N':
        return take_real(b->self, "noise", value, &b->plan.noise);
    case 'w':
        return run_bind_take(b->self, value, &b->plan.bind);
    case 'P':
        b->plot = value;
        return bench_can_plot(b->self, value);
    case 'A':
        b->against = value;
        return 0;
    case 'O':
        b->plan.transport = catalogue_transport(value);
        return b->plan.transport ? 0 : COMMAND_USAGE;
    case 'M':
        b->mood = value[0];
        if (strlen(value) == 1 && strchr("SCX", value[0]))
            return 0;
        return command_refuse(b->self, "--mood is S, C or X, not '%s'", value);
    default:
        return command_take_option(b->self, &b->cases, option, value);
    }
}

static int take_words(benchmark *b, int words, char *word[])
{
    int status = 0;
    if (words == 0 && !b->against && !b->has_pairs)
        return command_refuse(b->self, "it takes operations; nbcoll info lists them");
    for (int i = 0; i < words && !status; i++) {
        command_cases one = {.operation = -1};
        status = command_take_words(b->self, &one, 1, &word[i]);
        for (int j = 0; j < b->operations && !status; j++)
            if (b->operation[j] == (nbcoll_operation)one.operation)
                status = command_refuse(b->self, "'%s' stands there twice", word[i]);
        if (!status)
            b->operation[b->operations++] = (nbcoll_operation)one.operation;
    }
    return status;
}

static int take_arguments(benchmark *b, int argc, char *argv[])
{
    static const struct option options[] = {
        {"ranks", required_argument, NULL, 'p'},     {"root", required_argument, NULL, 'r'},
        {"count", required_argument, NULL, 'c'},     {"type", required_argument, NULL, 't'},
        {"op", required_argument, NULL, 'o'},        {"known", no_argument, NULL, 'k'},
        {"threads", no_argument, NULL, 'T'},         {"buffers", required_argument, NULL, 'B'},
        {"instances", required_argument, NULL, 'm'}, {"tests", required_argument, NULL, 's'},
        {"rounds", required_argument, NULL, 'R'},    {"iterations", required_argument, NULL, 'I'},
        {"compute", required_argument, NULL, 'C'},   {"late", required_argument, NULL, 'l'},
        {"noise", required_argument, NULL, 'N'},     {"bind", required_argument, NULL, 'w'},
        {"csv", no_argument, NULL, 'v'},             {"json", no_argument, NULL, 'j'},
        {"plot", required_argument, NULL, 'P'},      {"against", required_argument, NULL, 'A'},
        {"mood", required_argument, NULL, 'M'},      {"parts", no_argument, NULL, 'S'},
        {"relaxed", no_argument, NULL, 'X'},         {"transport", required_argument, NULL, 'O'},
        {"check", no_argument, NULL, 'K'},           {"osu", no_argument, NULL, 'U'},
        {"point-to-point", no_argument, NULL, 'Q'},
        COMMAND_NODES_OPTIONS,                       COMMAND_RULE_OPTIONS,
        {NULL, 0, NULL, 0}};
    int status = command_take_options(b->self, argc, argv, options, take_option, b);
    if (b->cases.most == 0)
        b->cases.fewest = b->cases.most = b->cases.placed ? b->cases.placed : 2;
    if (!status && b->cases.most > NBCOLL_SHM_RANKS)
        status = command_refuse(b->self, "--ranks: there are at most %d over shared memory", NBCOLL_SHM_RANKS);
    return status ? status : take_words(b, argc - optind, argv + optind);
}

/* ---- what is compared ------------------------------------------------------------------------------------------ */

static int add_entry(benchmark *b, const nbcoll_algorithm *algorithm)
{
    for (int is_changing = 0; is_changing < 2; is_changing++) {
        if (!(b->buffers & 1 << is_changing))
            continue;
        if (b->plan.entries == BENCH_ENTRIES)
            return command_refuse(b->self, "--algorithm: too many of them");
        bench_entry *entry = &b->plan.entry[b->plan.entries++];
        *entry = (bench_entry){.is_changing = is_changing};
        if (!algorithm)
            continue;
        entry->choice = b->rules.given;
        entry->choice.algorithm = algorithm;
    }
    return 0;
}

/* The next of the names; an empty text at the end. */
static const char *next_name(const char *at, char name[64])
{
    size_t length = strcspn(at, ",");
    snprintf(name, 64, "%.*s", (int)length, at);
    return at + length + (at[length] == ',');
}

/* Makes the entries of an operation: of the algorithms named, those that it has. */
static int list_entries(benchmark *b, nbcoll_operation operation)
{
    char name[64];
    int status = 0;
    b->plan.operation = operation;
    b->plan.entries = 0;
    for (const char *at = next_name(b->rules.algorithm, name); *name && !status; at = next_name(at, name)) {
        const nbcoll_algorithm *algorithm = catalogue_find(operation, name);
        int is_default = strcmp(name, "default") == 0;
        if (algorithm || is_default)
            status = add_entry(b, algorithm);
    }
    if (!status && !b->plan.entries)
        status = command_refuse(b->self, "%s has no algorithm '%s'; nbcoll info lists them",
                                nbcoll_operation_name(operation), b->rules.algorithm);
    return status;
}

/* Each algorithm named is one of an operation named; and what else is said of algorithms goes with those named. */
static int check_algorithms(const benchmark *b)
{
    char name[64];
    const nbcoll_algorithm *none;
    int has_default = 0, has_others = 0;
    for (const char *at = next_name(b->rules.algorithm, name); *name; at = next_name(at, name)) {
        int is_known = strcmp(name, "default") == 0;
        has_default |= is_known;
        has_others |= !is_known;
        for (int i = 0; i < b->operations; i++)
            is_known |= catalogue_find(b->operation[i], name) != NULL;
        if (!is_known && b->operations > 1)
            return command_refuse(b->self, "none of the operations has an algorithm '%s'; nbcoll info lists them",
                                  name);
        if (!is_known)
            return command_find_algorithm(b->self, b->operation[0], name, &none);
    }
    if (b->rules.file && !has_default)
        return command_refuse(b->self, "--tuning goes with the algorithm default");
    if (command_rules_have_parameters(&b->rules) && !has_others)
        return command_refuse(b->self, "--segment, --arity, --ports, --split and --leaders go with an algorithm");
    return 0;
}

/* Would the operation be refused in this size? */
static int check_size(benchmark *b)
{
    nbcoll_case c = bench_case(&b->plan, NULL);
    nbcoll_meaning meaning = {.size = sizeof meaning};
    nbcoll_status why = nbcoll_meaning_of(&c, 0, &meaning);
    if (why)
        return command_refuse_case(b->self, &c, why);
    if (b->plan.is_checked && !bench_can_check(&b->plan))
        return command_refuse(b->self, "--check knows integers, FLOAT and DOUBLE, and no MINLOC and MAXLOC");
    return 0;
}

/* ---- the command ----------------------------------------------------------------------------------------------- */

static int measure(benchmark *b)
{
    bench_result results[BENCH_ENTRIES];
    bench_mood mood[2];
    mood[0] = bench_probe(b->self, b->plan.bind);
    int status = bench_run(b->self, &b->plan, results);
    mood[1] = bench_probe(b->self, b->plan.bind);
    for (size_t e = 0; e < b->plan.entries && !status; e++) {
        json_t *row = bench_row(&b->plan, e, &results[e], mood);
        command_bar_clear(&b->bar);
        bench_print_row(b->format, row, json_array_get(b->results, json_array_size(b->results) - 1));
        json_array_append_new(b->results, row);
    }
    command_bar_add(&b->bar, 1, nbcoll_operation_name(b->plan.operation));
    return status;
}

/* The point-to-point baseline, in each size. */
static int measure_pairs(benchmark *b)
{
    int status = 0;
    for (size_t c = 0; c < b->cases.counts && !status; c++) {
        bench_plan plan = b->plan;
        bench_result result;
        bench_mood mood[2];
        plan.is_pair = 1;
        plan.ranks = 2;
        plan.entries = 1;
        plan.entry[0] = (bench_entry){.is_changing = 0};
        plan.nodes = NULL;
        plan.terms = NULL;
        plan.count = b->cases.count[c];
        plan.reduction = b->cases.reduction;
        mood[0] = bench_probe(b->self, plan.bind);
        status = bench_run(b->self, &plan, &result);
        mood[1] = bench_probe(b->self, plan.bind);
        if (status)
            break;
        json_t *row = bench_pair_row(&plan, &result, mood);
        bench_print_pair(b->format, row, c == 0);
        json_array_append_new(b->pairs, row);
    }
    if (!status && b->operations && b->format != BENCH_JSON)
        puts("");
    return status;
}

static int check_run(benchmark *b)
{
    b->bar.total++;
    return check_size(b);
}

/* Calls a function for a run of so many ranks, which are where they are said to be. */
static int one_run(benchmark *b, int ranks, int (*function)(benchmark *))
{
    nbcoll_nodes *nodes;
    nbcoll_status why = command_nodes(&b->cases, ranks, &nodes);
    b->plan.ranks = ranks;
    b->plan.nodes = nodes;
    if (why != NBCOLL_OK)
        command_refuse(b->self, "%s", nbcoll_status_text(why));
    int status = why != NBCOLL_OK ? COMMAND_FAILED : function(b);
    nbcoll_nodes_free(nodes);
    return status;
}

/* Calls a function for each run. */
static int each_run(benchmark *b, int (*function)(benchmark *))
{
    int status = 0;
    for (int i = 0; i < b->operations && !status; i++) {
        int is_barrier = b->operation[i] == NBCOLL_OPERATION_BARRIER;
        status = list_entries(b, b->operation[i]);
        for (int ranks = b->cases.fewest; ranks <= b->cases.most && !status; ranks++)
            for (size_t c = 0; c < (is_barrier ? 1 : b->cases.counts) && !status; c++) {
                b->plan.root = bench_has_root(b->operation[i]) ? b->cases.root : 0;
                b->plan.count = is_barrier ? 0 : b->cases.count[c];
                b->plan.reduction = b->cases.reduction;
                status = one_run(b, ranks, function);
            }
    }
    return status;
}

/* Of each number of ranks once, before anything is measured. */
static int tell_places(benchmark *b)
{
    int status = b->has_pairs ? run_bind_tell(b->self, b->plan.bind, 2) : 0;
    for (int ranks = b->cases.fewest; b->operations && ranks <= b->cases.most && !status; ranks++)
        if (!b->has_pairs || ranks != 2)
            status = run_bind_tell(b->self, b->plan.bind, ranks);
    return status;
}

static void print_results(benchmark *b)
{
    json_t *all = json_pack("{s:i, s:i, s:i, s:i, s:i, s:f, s:f, s:f, s:O}", "abi", (int)NBCOLL_ABI, "instances",
                            b->plan.instances, "tests", b->plan.tests, "rounds", b->plan.rounds, "iterations",
                            b->plan.iterations, "compute", b->plan.compute, "late", b->plan.late, "noise",
                            b->plan.noise, "results", b->results);
    if (b->has_pairs)
        json_object_set(all, "point_to_point", b->pairs);
    command_print_json(all);
}

static int measure_all(benchmark *b)
{
    b->results = json_array();
    b->pairs = json_array();
    int status = tell_places(b);
    if (!status && b->has_pairs)
        status = measure_pairs(b);
    command_bar_begin(&b->bar, b->bar.total, 0);
    if (!status && b->operations)
        bench_print_head(b->format);
    if (!status)
        status = each_run(b, measure);
    command_bar_clear(&b->bar);
    if (!status && b->format == BENCH_TABLE && b->operations)
        bench_explain_moods();
    if (!status && b->format == BENCH_JSON)
        print_results(b);
    if (!status && b->plot)
        status = bench_plot(b->self, b->plot, b->results);
    json_decref(b->results);
    json_decref(b->pairs);
    return status;
}

/* All that is compared, where nothing else was asked for. */
static int run_against(benchmark *b)
{
    static const size_t counts[] = {2, 256, 4096, 16384, 65536, 262144, 1048576};
    if (b->is_special)
        return command_refuse(b->self, "with --against go only --ranks, --count, --buffers, --rounds, --iterations, "
                                       "--mood, --parts, --relaxed, --csv, --json and --plot");
    if (!b->cases.counts)
        memcpy(b->cases.count, counts, sizeof counts);
    b->cases.counts = b->cases.counts ? b->cases.counts : sizeof counts / sizeof *counts;
    against_plan plan = {.self = b->self, .peers = b->against, .cases = &b->cases, .operation = b->operation,
                         .buffers = b->buffers, .rounds = b->plan.rounds ? b->plan.rounds : 30,
                         .iterations = b->plan.iterations, .has_parts = b->has_parts, .is_relaxed = b->is_relaxed,
                         .mood = b->mood, .format = b->format, .plot = b->plot};
    for (int o = 0; o < NBCOLL_OPERATION_COUNT && !b->operations; o++)
        if (against_has((nbcoll_operation)o))
            b->operation[plan.operations++] = (nbcoll_operation)o;
    plan.operations = b->operations ? b->operations : plan.operations;
    return against_run(&plan);
}

/* What was not said. */
static void take_defaults(benchmark *b)
{
    static const size_t counts[] = {2, 256, 4096, 16384, 262144};
    if (!b->cases.counts)
        memcpy(b->cases.count, counts, sizeof counts);
    b->cases.counts = b->cases.counts ? b->cases.counts : sizeof counts / sizeof *counts;
    b->plan.rounds = b->plan.rounds ? b->plan.rounds : 20;
    b->plan.iterations = b->plan.iterations ? b->plan.iterations : 50;
}

static int run(const command *self, int argc, char *argv[])
{
    benchmark b = {.self = self,
                   .cases = {.root = 0, .spread = -1, .reduction = {NBCOLL_FLOAT, NBCOLL_SUM}},
                   .plan = {.instances = 1, .tests = 8, .compute = 1},
                   .rules = {.algorithm = "default"},
                   .buffers = 1};
    command_rules chosen = {.algorithm = NULL};
    int status = take_arguments(&b, argc, argv);
    if (!status && b.against)
        return run_against(&b);
    take_defaults(&b);
    if (!status && (b.mood || b.has_parts || b.is_relaxed))
        status = command_refuse(self, "--%s goes with --against", b.mood ? "mood" : b.has_parts ? "parts" : "relaxed");
    if (!status && b.has_pairs && b.format == BENCH_CSV)
        status = command_refuse(self, "--point-to-point has no --csv");
    if (!status)
        status = check_algorithms(&b);
    chosen.file = b.rules.file;
    if (!status)
        status = command_rules_read(self, &chosen, b.operation[0]);
    b.plan.rules = &chosen;
    b.plan.known = b.cases.known;
    if (!status)
        status = each_run(&b, check_run);
    if (!status)
        status = measure_all(&b);
    command_rules_free(&chosen);
    return status;
}

const command command_bench = {
    "bench",
    "measures how long operations take, and how much of that computation hides",
    "usage: nbcoll bench OPERATION... [OPTION...]\n"
    "       nbcoll bench --against MPI [OPERATION...] [OPTION...]\n\n"
    "Measures each operation among ranks of this machine, over shared memory, in microseconds: of the blocking call;\n"
    "of start and wait; of start, computation with tests inside, and wait; and of the same computation alone. An\n"
    "iteration begins when all ranks are ready; its time is the slowest rank's, from its own start. Algorithms,\n"
    "buffers and these forms take turns, batch by batch, in one run. Medians; with the least and the most by --csv\n"
    "and --json. Then, of the medians:\n\n"
    "  left       what the operation adds to the computation beside it: overlapped - computing, at least 0\n"
    "  overlap    1 - left / (start + wait)\n"
    "  saved      1 - left / blocking\n"
    "  mood       how long a cache line takes between two cores before and after the run: S, as threads of one core\n"
    "             (below 0.038 us); C, as cores that share a cache (below 0.13); X, as cores that do not. A host may\n"
    "             move the cores: compare only what was measured in one mood\n\n"
    "With more ranks than cores, what one rank computes keeps others from their part: nothing can be hidden then.\n\n"
    "  --ranks A..B      numbers of ranks, or one number (2)\n"
    "  --nodes NxR, --numbering N\n"
    "                    nodes that communicators are told of, as in nbcoll sim\n"
    "  --threads         the ranks are threads of one process\n"
    "  --transport FILE  of a shared object that brings one (nbcoll/transport.h), not shared memory\n"
    "  --bind W          ranks to core, scatter (says where, and why), l3 or none (core, if there are as many)\n"
    "  --algorithm A,... measure these, each operation those that it has. A rule of a communicator of its own forces\n"
    "                    each of them, but for default: that is what rules and cost model choose, which is named with\n"
    "                    the reason (default)\n"
    "  --segment N, --arity N, --ports N, --split N, --leaders N\n"
    "                    parameters of these algorithms, if they read them\n"
    "  --tuning FILE     rules for default\n"
    "  --known           gatherv, scatterv: all ranks promise to pass all counts (always, if read)\n"
    "  --root R          (0)\n"
    "  --count N,...     elements: of one rank's block, or of the vector (2,256,4096,16384,262144)\n"
    "  --type T          their type (FLOAT)\n"
    "  --op O            the reduction (SUM)\n"
    "  --buffers B       reused in each iteration, changing (16 MiB of them in turn), or both (reused)\n"
    "  --instances M     operations in flight at once; all of them are one iteration (1)\n"
    "  --compute F       of F times the start and wait of the slowest algorithm (1)\n"
    "  --tests N         calls of test inside it (8)\n"
    "  --late US         one rank, in turn, comes so many microseconds late (0)\n"
    "  --noise US        each rank comes late at random, by so many at most (0); seeded\n"
    "  --rounds N        (20) of\n"
    "  --iterations N    (50) of each form with each algorithm and kind of buffers\n"
    "  --check           looks at all results, before the measurement and after it, of three calls of each form on\n"
    "                    other data; a wrong one ends the run\n"
    "  --point-to-point  first the baseline in each size: half a round trip between two ranks, and what up to 64\n"
    "                    messages in flight one way carry; operations may be left out then. Not in CSV\n"
    "  --csv, --json     instead of the table\n"
    "  --osu             columns as the OSU benchmarks print them, of blocking and nonblocking calls: means\n"
    "  --plot FILE       draw the medians by gnuplot: .svg, .png or .pdf; 0 bytes as 1, less than 0.01 us as 0.01\n\n",
    run,
    ":",
    "--against compares with openmpi, openmpi-no-cma (without cross memory attach), mpich (with commas), or mpi: all.\n"
    "A program, started by the MPI's mpirun, holds both; ranks are bound to cores and, where allowed, real-time.\n"
    "Batches of all forms take turns; a spin barrier that is neither library's separates iterations; a batch in\n"
    "which a rank was preempted is taken again. Times are means over iterations and ranks, like OSU's. Wrong results\n"
    "are named, not timed. A row for each form and memory (shared: from nbcoll_mem_alloc) of nbcoll: medians; of the\n"
    "peer furthest ahead, in its fastest form; of the rounds' ratios, with a 95% interval; unavoidable copies.\n"
    "Above them, how long a cache line takes from core to core, before and after.\n\n"
    "  --count N,...     floats (2,256,4096,16384,65536,262144,1048576)\n"
    "  --buffers B       reused, changing (8 in turn), or both (reused)\n"
    "  --rounds N        (30) of\n"
    "  --iterations N    in each batch (as many as take half a millisecond, 2 to 2000)\n"
    "  --mood L          S, C or X: wait for it, and take a cell again that was in another, a few times (any)\n"
    "  --parts           also what a start and its wait consist of: calls, copies, lines, waiting\n"
    "  --relaxed         be kind to other programs: to try it out, not to measure\n",
};
