/* SPDX-License-Identifier: BSD-3-Clause
 * `nbcoll bench`: how long operations take, and how much of that disappears under computation. */
#include <nbcoll/schedule.h>

#include "bench.h"
#include "run.h"

#define MOST_REAL 1e6
enum { NOT_AGAINST = 1 }; /* marks options that do not go with --against */

/* ---- options ----------------------------------------------------------------------------------------------------- */

static void take_arguments(benchmark *b, int argc, char *argv[])
{
    command_take_options(b->self, &argc, &argv, b, &b->marks);
    if (b->cases.most == 0)
        b->cases.fewest = b->cases.most = 2;
    if (b->cases.most > NBCOLL_SHM_RANKS)
        command_refuse(b->self, "--ranks: there are at most %d over shared memory", NBCOLL_SHM_RANKS);
    b->operations = command_take_operations(b->self, argc, argv, b->against ? COMMAND_COMPARED : 0, b->operation);
    if (b->plot)
        bench_can_plot(b->self, b->plot);
    if (b->transport)
        b->plan.transport = catalogue_transport(b->transport);
    if (!b->operations && !b->has_pairs)
        command_refuse(b->self, "it takes operations; nbcoll info lists them");
}

/* What was not said. */
static void take_defaults(benchmark *b)
{
    b->plan.rounds = b->plan.rounds ? b->plan.rounds : b->against ? 30 : 20;
    b->plan.iterations = b->plan.iterations || b->against ? b->plan.iterations : 50;
    if (!b->cases.counts)
        command_take_count(b->self, &b->cases, b->against ? "2,256,4096,16384,65536,262144,1048576"
                                                          : "2,256,4096,16384,262144");
}

/* ---- what is compared -------------------------------------------------------------------------------------------- */

static void add_entry(benchmark *b, const nbcoll_algorithm *algorithm)
{
    for (int is_changing = 0; is_changing < 2; is_changing++) {
        if (!(b->buffers & 1 << is_changing))
            continue;
        if (b->plan.entries == BENCH_ENTRIES)
            command_refuse(b->self, "--algorithm: too many of them");
        bench_entry *entry = &b->plan.entry[b->plan.entries++];
        *entry = (bench_entry){.is_changing = is_changing};
        if (!algorithm)
            continue;
        entry->choice = b->rules.given;
        entry->choice.algorithm = algorithm;
    }
}

/* Makes the entries of an operation: of the algorithms named, those that it has. */
static void list_entries(benchmark *b, nbcoll_operation operation)
{
    char name[COMMAND_WORD];
    b->plan.entries = 0;
    for (const char *at = command_next_name(b->rules.algorithm, name); *name; at = command_next_name(at, name)) {
        const nbcoll_algorithm *algorithm = catalogue_find(operation, name);
        int is_default = strcmp(name, "default") == 0;
        if (algorithm || is_default)
            add_entry(b, algorithm);
    }
    if (!b->plan.entries)
        command_refuse(b->self, "%s has no algorithm '%s'; nbcoll info lists them", nbcoll_operation_name(operation),
                       b->rules.algorithm);
}

/* Each algorithm named is one of an operation named; and what else is said of algorithms goes with those named. */
static void check_algorithms(const benchmark *b)
{
    char name[COMMAND_WORD];
    int has_default = 0, has_others = 0;
    for (const char *at = command_next_name(b->rules.algorithm, name); *name; at = command_next_name(at, name)) {
        int is_known = strcmp(name, "default") == 0;
        has_default |= is_known;
        has_others |= !is_known;
        for (int i = 0; i < b->operations; i++)
            is_known |= catalogue_find(b->operation[i], name) != NULL;
        if (!is_known && b->operations > 1)
            command_refuse(b->self, "none of the operations has an algorithm '%s'; nbcoll info lists them", name);
        if (!is_known)
            command_find_algorithm(b->self, b->operation[0], name);
    }
    if (b->rules.file && !has_default)
        command_refuse(b->self, "--tuning goes with the algorithm default");
    if (command_rules_have_parameters(&b->rules) && !has_others)
        command_refuse(b->self, "--segment, --arity, --ports, --split and --leaders go with an algorithm");
}

/* Would the operation be refused in this size? */
static void check_run(benchmark *b)
{
    nbcoll_meaning meaning = {.size = sizeof meaning};
    nbcoll_status why = nbcoll_meaning_of(&b->plan.at, 0, &meaning);
    b->bar.total++;
    if (why)
        command_refuse_case(b->self, &b->plan.at, why);
    if (b->plan.is_checked && !bench_can_check(&b->plan))
        command_refuse(b->self, "--check knows integers, FLOAT and DOUBLE, and no MINLOC and MAXLOC");
}

/* ---- the point-to-point baseline --------------------------------------------------------------------------------- */

/* Messages between two ranks, as two algorithms of their own, so that the same calls, engine and transport carry them
 * as the collectives. A round trip, and a window of messages one way that one word answers; a segment is a message. */

enum { WINDOW = 64 };
#define MOST ((size_t)64 << 20) /* bytes of a window */

int bench_window(size_t bytes)
{
    size_t fit = bytes ? MOST / bytes : WINDOW;
    return fit > WINDOW ? WINDOW : fit ? (int)fit : 1;
}

static void build_round_trip(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcoll_step step[2];
    for (int i = 0; i < 2; i++) /* rank 0 sends first */
        step[i] = b->rank == i ? nbcoll_add_send(b, !b->rank, a->send, a->segment)
                               : nbcoll_add_recv(b, !b->rank, a->recv, a->segment);
    nbcoll_after(b, step[1], step[0]);
}

static void build_window(nbcoll_builder *b, const nbcoll_args *a)
{
    int messages = bench_window(a->segment);
    nbcoll_step answer = b->rank == 0 ? nbcoll_add_recv(b, 1, a->recv, 0) : nbcoll_add_send(b, 0, a->send, 0);
    for (int i = 0; i < messages && b->rank == 0; i++)
        nbcoll_add_send(b, 1, nbcoll_at(a->send, (size_t)i * a->segment), a->segment);
    for (int i = 0; i < messages && b->rank == 1; i++)
        nbcoll_after(b, answer, nbcoll_add_recv(b, 0, nbcoll_at(a->recv, (size_t)i * a->segment), a->segment));
}

static const nbcoll_algorithm round_trip = {sizeof round_trip, "round_trip", NBCOLL_OPERATION_ALLGATHER,
                                            build_round_trip, NBCOLL_ALGORITHM_SEGMENT, NULL};
static const nbcoll_algorithm window = {sizeof window, "window", NBCOLL_OPERATION_ALLGATHER, build_window,
                                        NBCOLL_ALGORITHM_SEGMENT, NULL};

/* Completes a plan of how to measure: of its two entries, one is a round trip, and the other one a window. */
static void plan_pair(bench_plan *plan, size_t bytes)
{
    plan->is_pair = 1; /* an allgather has buffers for both */
    plan->at = (nbcoll_case){.size = sizeof plan->at, .operation = NBCOLL_OPERATION_ALLGATHER, .ranks = 2,
                             .count = bytes * (size_t)bench_window(bytes), .reduction.type = NBCOLL_BYTE};
    plan->instances = 1;
    plan->only = 1u << BENCH_NONBLOCKING;
    plan->entries = 2;
    plan->entry[0].choice = (nbcoll_choice){.algorithm = &round_trip, .segment = bytes};
    plan->entry[1].choice = (nbcoll_choice){.algorithm = &window, .segment = bytes};
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

/* Measures what the plan says, and adds a row for each entry. */
static void measure(benchmark *b, const bench_plan *plan, json_t *rows)
{
    bench_result results[BENCH_ENTRIES];
    bench_latency latency[2];
    latency[0] = bench_probe(b->self, plan->bind);
    bench_run(b->self, plan, results);
    latency[1] = bench_probe(b->self, plan->bind);
    command_bar_clear(&b->bar);
    for (size_t e = 0; e < (plan->is_pair ? 1 : plan->entries); e++) {
        json_t *row = plan->is_pair ? bench_pair_row(plan, results, latency) : bench_row(plan, e, &results[e], latency);
        bench_print_row(b->format, row, json_array_get(rows, json_array_size(rows) - 1));
        json_array_append_new(rows, row);
    }
}

static void measure_run(benchmark *b)
{
    measure(b, &b->plan, b->results);
    command_bar_add(&b->bar, 1, nbcoll_operation_name(b->plan.at.operation));
}

/* The point-to-point baseline, in each size. */
static void measure_pairs(benchmark *b)
{
    bench_plan plan = {.rules = b->plan.rules, .rounds = b->plan.rounds, .iterations = b->plan.iterations,
                       .bind = b->plan.bind, .transport = b->plan.transport, .are_threads = b->plan.are_threads};
    for (size_t c = 0; c < b->cases.counts; c++) {
        plan_pair(&plan, b->cases.count[c] * nbcoll_type_size(b->cases.reduction.type));
        measure(b, &plan, b->pairs);
    }
    if (b->operations && b->format != BENCH_JSON)
        puts("");
}

/* Calls a function for each run; its ranks are where they are said to be. */
static void each_run(benchmark *b, void (*function)(benchmark *))
{
    for (int i = 0; i < b->operations; i++) {
        int is_barrier = b->operation[i] == NBCOLL_OPERATION_BARRIER;
        b->cases.operation = (int)b->operation[i];
        b->plan.at = command_case(&b->cases, NULL);
        b->plan.at.root = command_is(b->operation[i], COMMAND_ROOTED) ? b->cases.root : 0;
        list_entries(b, b->operation[i]);
        for (int ranks = b->cases.fewest; ranks <= b->cases.most; ranks++) {
            nbcoll_nodes *nodes = command_nodes(b->self, &b->cases, ranks);
            b->plan.at.ranks = ranks;
            b->plan.at.nodes = nodes;
            for (size_t c = 0; c < (is_barrier ? 1 : b->cases.counts); c++) {
                b->plan.at.count = is_barrier ? 0 : b->cases.count[c];
                function(b);
            }
            nbcoll_nodes_free(nodes);
        }
    }
}

/* Of each number of ranks once, before anything is measured. */
static void tell_places(benchmark *b)
{
    if (b->has_pairs)
        run_bind_tell(b->self, b->plan.bind, 2);
    for (int ranks = b->cases.fewest; b->operations && ranks <= b->cases.most; ranks++)
        if (!b->has_pairs || ranks != 2)
            run_bind_tell(b->self, b->plan.bind, ranks);
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

static void measure_all(benchmark *b)
{
    b->results = json_array();
    b->pairs = json_array();
    tell_places(b);
    if (b->has_pairs)
        measure_pairs(b);
    command_bar_begin(&b->bar, b->bar.total, 0);
    if (b->operations)
        bench_print_head(b->format);
    each_run(b, measure_run);
    command_bar_clear(&b->bar);
    if (b->format == BENCH_TABLE && b->operations)
        bench_explain_latency();
    if (b->format == BENCH_JSON)
        print_results(b);
    if (b->plot)
        bench_plot(b->self, b->plot, b->results);
    json_decref(b->results);
    json_decref(b->pairs);
}

/* What does not go together. */
static void check(const benchmark *b)
{
    if (b->against && b->marks & NOT_AGAINST)
        command_refuse(b->self, "with --against go only --ranks, --count, --buffers, --rounds, --iterations, "
                                "--latency, --parts, --relaxed, --csv, --json and --plot");
    if (b->against)
        return;
    if (b->latency || b->has_parts || b->is_relaxed)
        command_refuse(b->self, "--%s goes with --against",
                       b->latency ? "latency" : b->has_parts ? "parts" : "relaxed");
    if (b->has_pairs && b->format == BENCH_CSV)
        command_refuse(b->self, "--point-to-point has no --csv");
    check_algorithms(b);
}

static void run(const command *self, int argc, char *argv[])
{
    benchmark b = {.self = self,
                   .cases = {.spread = -1, .reduction = {NBCOLL_FLOAT, NBCOLL_SUM}},
                   .plan = {.instances = 1, .tests = 8, .compute = 1},
                   .rules = {.algorithm = "default"},
                   .buffers = 1};
    take_arguments(&b, argc, argv);
    take_defaults(&b);
    check(&b);
    if (b.against)
        against_run(&b);
    command_rules chosen = {.file = b.rules.file};
    b.plan.rules = &chosen;
    command_rules_read(self, &chosen, b.operation[0]);
    each_run(&b, check_run);
    measure_all(&b);
    command_rules_free(&chosen);
}

static const command_option options[] = {
    {COMMAND_RANKS(benchmark, "numbers of ranks, or one number (2)")},
    {COMMAND_NODES(benchmark, NULL), .marks = NOT_AGAINST},
    {COMMAND_NUMBERING(benchmark, "nodes that communicators are told of, as in nbcoll sim"), .marks = NOT_AGAINST},
    {"threads", NULL, "the ranks are threads of one process",
     COMMAND_IN(benchmark, plan.are_threads), .marks = NOT_AGAINST},
    {"transport", "FILE", "of a shared object that brings one (nbcoll/transport.h), not shared memory",
     COMMAND_IN(benchmark, transport), .marks = NOT_AGAINST},
    {"bind", "W", "ranks to core, scatter (says where, and why), l3 or none (core, if there are as many)",
     RUN_BIND(benchmark, plan.bind), .marks = NOT_AGAINST},
    {"algorithm", "A,...",
     "measure these, each operation those that it has. A rule of a communicator of its own forces each of them, but "
     "for default: that is what rules and cost model choose, which is named with the reason (default)",
     COMMAND_IN(benchmark, rules.algorithm), .marks = NOT_AGAINST},
    COMMAND_PARAMETER_OPTIONS(benchmark, "parameters of these algorithms, if they read them", NOT_AGAINST),
    {"tuning", "FILE", "rules for default", COMMAND_IN(benchmark, rules.file), .marks = NOT_AGAINST},
    {COMMAND_KNOWN(benchmark, "gatherv, scatterv: all ranks promise to pass all counts (always, if read)"),
     .marks = NOT_AGAINST},
    {COMMAND_ROOT(benchmark, "(0)"), NOT_AGAINST},
    {COMMAND_COUNT(benchmark, "elements: of one rank's block, or of the vector (2,256,4096,16384,262144)")},
    {COMMAND_TYPE(benchmark, "their type (FLOAT)"), .marks = NOT_AGAINST},
    {COMMAND_OP(benchmark, "the reduction (SUM)"), .marks = NOT_AGAINST},
    {"buffers", "B", "reused in each iteration, changing (16 MiB of them in turn), or both (reused)",
     COMMAND_IN(benchmark, buffers), .low = 1, .words = "reused, changing or both"},
    {"instances", "M", "operations in flight at once; all of them are one iteration (1)",
     COMMAND_IN(benchmark, plan.instances), 1, 1000, NOT_AGAINST},
    {"compute", "F", "of F times the start and wait of the slowest algorithm (1)", COMMAND_IN(benchmark, plan.compute),
     .most = MOST_REAL, .marks = NOT_AGAINST},
    {"tests", "N", "calls of test inside it (8)", COMMAND_IN(benchmark, plan.tests), 0, 1000000, NOT_AGAINST},
    {"late", "US", "one rank, in turn, comes so many microseconds late (0)", COMMAND_IN(benchmark, plan.late),
     .most = MOST_REAL, .marks = NOT_AGAINST},
    {"noise", "US", "each rank comes late at random, by so many at most (0); seeded", COMMAND_IN(benchmark, plan.noise),
     .most = MOST_REAL, .marks = NOT_AGAINST},
    {"rounds", "N", "(20) of", COMMAND_IN(benchmark, plan.rounds), 1, 10000},
    {"iterations", "N", "(50) of each form with each algorithm and kind of buffers",
     COMMAND_IN(benchmark, plan.iterations), 1, 10000},
    {"check", NULL,
     "looks at all results, before the measurement and after it, of three calls of each form on other data; a wrong "
     "one ends the run", COMMAND_IN(benchmark, plan.is_checked), .marks = NOT_AGAINST},
    {"point-to-point", NULL,
     "first the baseline in each size: half a round trip between two ranks, and what up to 64 messages in flight one "
     "way carry; operations may be left out then. Not in CSV", COMMAND_IN(benchmark, has_pairs), .marks = NOT_AGAINST},
    {"csv", NULL, NULL, COMMAND_IN(benchmark, format), BENCH_CSV},
    {"json", NULL, "instead of the table", COMMAND_IN(benchmark, format), BENCH_JSON},
    {"osu", NULL, "columns as the OSU benchmarks print them, of blocking and nonblocking calls: means",
     COMMAND_IN(benchmark, format), BENCH_OSU, .marks = NOT_AGAINST},
    {"plot", "FILE", "draw the medians by gnuplot: .svg, .png or .pdf; 0 bytes as 1, less than 0.01 us as 0.01",
     COMMAND_IN(benchmark, plot)},
    {.help =
    "\n"
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
    "  --iterations N    in each batch (as many as take half a millisecond, 2 to 2000)"},
    {"against", "MPI", "", COMMAND_IN(benchmark, against)},
    {"latency", "L", "S, C or X: wait for it, and take a cell again that was in another, a few times (any)",
     COMMAND_IN(benchmark, latency), .words = "S, C or X"},
    {"parts", NULL, "also what a start and its wait consist of: calls, copies, lines, waiting",
     COMMAND_IN(benchmark, has_parts)},
    {"relaxed", NULL, "be kind to other programs: to try it out, not to measure", COMMAND_IN(benchmark, is_relaxed)},
    {0},
};

const command command_bench = {
    .name = "bench",
    .purpose = "measures how long operations take, and how much of that computation hides",
    .help =
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
    "  lat        how long a cache line takes between two cores before and after the run: S, as threads of one core\n"
    "             (below 0.038 us); C, as cores that share a cache (below 0.13); X, as cores that do not. A host may\n"
    "             move the cores: compare only what was measured in one latency class\n\n"
    "With more ranks than cores, what one rank computes keeps others from their part: nothing can be hidden then.\n\n",
    .run = run,
    .options = options,
};
