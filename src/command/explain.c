/* SPDX-License-Identifier: BSD-3-Clause
 * `nbcoll explain`: says which algorithm serves a call, and why. */
#include "command.h"

/* What options mark. */
enum { EXPLAIN_REPRODUCIBLE = 1, EXPLAIN_TOLERANT = 2, EXPLAIN_PROGRAM = 4, EXPLAIN_CARRIES = 8, EXPLAIN_TERM = 8 };
#define EXPLAIN_BIT(i) (EXPLAIN_TERM << (i)) /* a term of its own */

typedef struct question {
    const command *self;
    command_cases cases;
    command_rules rules;
    unsigned marks;
    nbcoll_terms said; /* those that are marked */
    uint32_t flags;
    int has_json, is_offloaded; /* --program: is it? */
    int has_messages;           /* the ranks share no memory */
    int asks_here;              /* the terms are those of ranks on this machine: */
    nbcoll_terms here;
    nbcoll_program_config limits;
    size_t scratch; /* that an agent's process shares with a rank; 0: any number of bytes */
    json_t *calls;         /* null unless --json */
    unsigned long answers; /* printed */
} question;

/* Those of a communicator with the library's defaults, but for what was given. */
static nbcoll_terms terms_of(const question *q, const nbcoll_case *at)
{
    nbcoll_terms t = q->asks_here ? q->here : command_terms(&q->rules, at);

    t.rules = q->rules.rules;
    t.rule_count = q->rules.count;
    t.flags = q->flags;
    for (const command_option *o = q->self->options; o->name || o->help; o++)
        if (o->marks >= EXPLAIN_TERM && o->marks & q->marks)
            memcpy((char *)&t + (o->offset - offsetof(question, said)), (const char *)q + o->offset, o->size);
    t.carries += q->marks & EXPLAIN_CARRIES ? 1 : 0;
    if (!t.between.eager)
        t.between.eager = 1; /* 0 stands for the usual limit */
    return t;
}

static void take_arguments(question *q, int argc, char *argv[])
{
    command_take_options(q->self, &argc, &argv, q, &q->marks);
    q->flags = (q->marks & EXPLAIN_REPRODUCIBLE ? NBCOLL_REPRODUCIBLE : 0) |
               (q->marks & EXPLAIN_TOLERANT ? NBCOLL_ARRIVAL_TOLERANT : 0);
    q->is_offloaded = (q->marks & EXPLAIN_PROGRAM) != 0;
    if (argc > 1)
        command_refuse(q->self, "one word too many: '%s'", argv[1]);
    if (!argc)
        command_refuse(q->self, "it takes an operation");
    q->cases.operation = (int)command_operation(q->self, *argv);
    if (q->cases.fewest == 0)
        command_refuse(q->self, "--ranks is missing");
    q->asks_here = !q->has_messages && !q->cases.node && !q->cases.placed;
    if (q->asks_here)
        q->cases.node = NBCOLL_CASE_BY_NODE; /* all share memory */
    command_rules_read(q->self, &q->rules, (nbcoll_operation)q->cases.operation);
}

/* ---- answers ----------------------------------------------------------------------------------------------------- */

static json_t *model_object(const nbcoll_terms *t)
{
    json_t *all = command_level_object(&t->between);
    json_object_set_new(all, "credits", json_integer((json_int_t)t->credits));
    if (t->nodes)
        json_object_set_new(all, "inside", command_level_object(&t->inside));
    return all;
}

/* A call, with what the cost model says of all algorithms of the operation; null where that is nothing. */
static json_t *call_object(const nbcoll_terms *t, const nbcoll_case *at, const nbcoll_args *a,
                           const command_chosen *chosen)
{
    const nbcoll_choice *c = &chosen->choice;
    const nbcoll_algorithm *algorithm;
    json_t *costs = json_object();

    for (unsigned i = 0; (algorithm = catalogue_at(a->operation, i)); i++) {
        uint64_t ns;
        int is_known = nbcoll_predict(t, a, algorithm, &ns) == NBCOLL_OK;
        json_object_set_new(costs, algorithm->name, is_known ? json_integer((json_int_t)ns) : json_null());
    }
    return json_pack("{s:i, s:I, s:I, s:s, s:s, s:s, s:o, s:o, s:o}", "ranks", at->ranks, "count",
                     (json_int_t)at->count, "bytes", (json_int_t)c->bytes, "algorithm", c->algorithm->name, "reason",
                     nbcoll_reason_name(c->reason), "why", chosen->why, "parameters", command_parameters_object(c),
                     "model", model_object(t), "costs", costs);
}

static void print_costs(json_t *call, const nbcoll_terms *t, int is_here)
{
    json_t *model = json_object_get(call, "model"), *inside = json_object_get(model, "inside"), *ns;
    const char *name;

    printf("\nthe cost model%s (ps: a byte):\n    ", is_here ? ", as this machine's ranks find it" : "");
    row_print_members(model);
    if (inside) {
        const nbcoll_nodes *domains = nbcoll_nodes_domains(t->nodes);
        printf("\n    inside %d nodes, with %d domains: ", t->nodes->count, domains ? domains->count : 0);
        row_print_members(inside);
    }
    puts("");
    json_object_foreach(json_object_get(call, "costs"), name, ns)
        if (json_is_null(ns))
            printf("  %-32s %14s\n", name, "not known");
        else
            printf("  %-32s %14" PRIu64 " ns\n", name, (uint64_t)json_integer_value(ns));
}

/* What does a rank do that is late? */
static void print_late(const nbcoll_choice *choice)
{
    const nbcoll_algorithm *relays = nbcoll_algorithm_find(choice->algorithm->operation, "relays");
    if (choice->algorithm == relays)
        printf("        a rank that is late holds up nobody but for its own block: it passes on in passes over its "
               "context,\n        or, by agents (nbcoll_relays_config.by_agents), while it calls nothing\n");
    else if (relays)
        printf("        a rank that is late passes on nothing until it calls; open relays (--relays BYTES) do\n");
    else
        printf("        a rank that is late passes on nothing until it calls\n");
}

/* Bytes of scratch memory that a case in three parts borrows of an agent that is a process: those of the rank that
 * borrows most, *most. */
static size_t scratch_of(const nbcoll_algorithm *algorithm, const nbcoll_case *at, nbcoll_program *const program[],
                         int *most)
{
    size_t bytes = *most = 0;
    for (int rank = 0; rank < at->ranks; rank++) {
        nbcoll_program_info info = {.size = sizeof info};
        nbcoll_schedule_info needs = {.size = sizeof needs};
        nbcoll_schedule *schedule = NULL;
        nbcoll_build_case(algorithm, at, rank, NULL, &schedule);
        nbcoll_schedule_query(schedule, &needs);
        nbcoll_schedule_free(schedule);
        if (nbcoll_program_query(program[rank], &info) == NBCOLL_OK && info.tasks &&
            needs.extent[NBCOLL_BUFFER_SCRATCH] > bytes) {
            bytes = needs.extent[NBCOLL_BUFFER_SCRATCH];
            *most = rank;
        }
    }
    return bytes;
}

/* The program of rank 0; or why there is none. In parts: within nodes by the ranks, which share memory there. Returns
 * whether it can be run so. */
static int print_compiled(const question *q, const nbcoll_algorithm *algorithm, const nbcoll_case *at, int in_parts)
{
    nbcoll_program_config limits = q->limits;
    nbcoll_program_info info = {.size = sizeof info};
    const char *way = in_parts ? "in three parts" : "as a program";
    nbcoll_refusal why = {.size = sizeof why};
    nbcoll_host host = command_host(q->self);
    nbcoll_program **program = command_alloc((size_t)at->ranks, sizeof *program);
    int rank = 0, ranks = in_parts ? at->ranks : 1;
    limits.in_parts = in_parts;
    nbcoll_status status = nbcoll_compile_case(algorithm, at, &host, &limits, 0, ranks, program, &why);
    size_t scratch = status || !in_parts ? 0 : scratch_of(algorithm, at, program, &rank);
    int is_one = !status && (!q->scratch || scratch <= q->scratch);

    if (is_one && nbcoll_program_query(program[0], &info) == NBCOLL_OK)
        printf("        %s%s: of rank 0 %" PRIu64 " tasks, %" PRIu64 " queue pairs, %" PRIu32 " eager buffers\n", way,
               in_parts ? ", between nodes as a program" : "", info.tasks, info.queue_pairs, info.buffers);
    else if (!status)
        printf("        not %s: %s/%s: rank %d: %s: %zu, and %zu are allowed\n", way,
               nbcoll_operation_name(algorithm->operation), algorithm->name, rank,
               nbcoll_refusal_text(NBCOLL_REFUSAL_SCRATCH), scratch, q->scratch);
    else
        printf("        not %s: %s\n", way,
               why.reason != NBCOLL_REFUSAL_NONE ? why.text : nbcoll_status_text(status));
    if (is_one && scratch)
        printf("        if the agent is a process, with %zu bytes of scratch memory that it shares\n", scratch);
    for (int i = 0; i < ranks; i++)
        nbcoll_program_free(program[i]);
    free(program);
    return is_one;
}

/* Could a NIC or an agent run it, and in how many parts? */
static void print_program(const question *q, const nbcoll_case *at, const nbcoll_choice *choice)
{
    nbcoll_case c = *at, shares = *at;

    if (choice->algorithm == nbcoll_algorithm_find(choice->algorithm->operation, "relays")) {
        printf("        not as a program: relays stand, which agents may move\n");
        return;
    }
    command_set_parameters(&c, choice);
    command_set_parameters(&shares, choice);
    shares.node = NBCOLL_CASE_BY_NODE;
    if (!at->nodes || at->node || !(choice->algorithm->flags & NBCOLL_ALGORITHM_NODES) ||
        !print_compiled(q, choice->algorithm, &shares, 1))
        print_compiled(q, choice->algorithm, &c, 0);
}

/* A call: equal blocks, also where their counts are given. */
static void answer(question *q, const nbcoll_case *at, size_t counts[])
{
    char name[COMMAND_NAME];
    command_chosen chosen;
    nbcoll_args a;
    nbcoll_terms terms = terms_of(q, at);

    command_choose(q->self, &q->rules, &terms, at, &chosen);
    command_fail_status(q->self, nbcoll_case_args(at, counts, &a));
    json_t *call = call_object(&terms, at, &a, &chosen);
    if (q->calls) {
        json_array_append_new(q->calls, call);
        return;
    }
    if (q->answers++ == 0)
        printf("%7s %12s %14s  %-32s %s\n", "ranks", "count", "bytes", "algorithm", "why");
    row_print(call, "%7d{ranks} %12d{count} %14d{bytes}  ");
    printf("%-32s ", command_algorithm_text(&chosen.choice, name));
    row_print(call, "%-7s{reason} %s{why}\n");
    if (q->flags & NBCOLL_ARRIVAL_TOLERANT)
        print_late(&chosen.choice);
    if (q->is_offloaded)
        print_program(q, at, &chosen.choice);
    if (q->cases.fewest == q->cases.most && q->cases.counts == 1)
        print_costs(call, &terms, q->asks_here);
    json_decref(call);
}

static void answer_all(question *q)
{
    const command_cases *c = &q->cases;
    size_t *counts = command_alloc((size_t)c->most, sizeof *counts);
    nbcoll_case at = command_case(c, NULL);

    for (at.ranks = c->fewest; at.ranks <= c->most; at.ranks++) {
        nbcoll_nodes *nodes = command_nodes(q->self, c, at.ranks);
        at.nodes = nodes;
        nbcoll_status status = q->asks_here ? command_terms_here(q->self, at.ranks, &q->here) : NBCOLL_OK;
        if (status != NBCOLL_OK)
            command_fail(q->self, "%s (here; --messages and --native ask no ranks)", nbcoll_status_text(status));
        for (size_t i = 0; i < c->counts; i++) {
            at.count = c->count[i];
            answer(q, &at, counts);
        }
        nbcoll_nodes_free(nodes);
    }
    free(counts);
}

static void print_calls(const question *q)
{
    nbcoll_case at = command_case(&q->cases, NULL);
    json_t *all = json_pack("{s:i, s:s, s:s, s:s, s:O}", "abi", (int)NBCOLL_ABI, "operation",
                            nbcoll_operation_name(at.operation), "type", nbcoll_type_name(at.reduction.type), "op",
                            nbcoll_op_name(at.reduction.op), "calls", q->calls);
    command_print_json(all);
}

static void run(const command *self, int argc, char *argv[])
{
    question q = {.self = self,
                  .limits = {.size = sizeof q.limits},
                  .cases = {.operation = -1, .counts = 1, .count = {1000}, .reduction = {NBCOLL_INT32, NBCOLL_SUM}}};
    take_arguments(&q, argc, argv);
    if (q.has_json)
        q.calls = json_array();
    answer_all(&q);
    if (q.calls)
        print_calls(&q);
    json_decref(q.calls);
    command_rules_free(&q.rules);
}

#define TERM(bit, name, value, help, member, high)                                                                     \
    {name, value, help, COMMAND_IN(question, said.member), 0, high, EXPLAIN_BIT(bit)}
#define LIMIT(name, value, help, member, kind)                                                                         \
    {name, value, help, COMMAND_IN(question, member), 1, kind, EXPLAIN_PROGRAM}

static const command_option options[] = {
    {"messages", NULL, "the ranks share no memory", COMMAND_IN(question, has_messages)},
    {"native", NULL, "all ranks share memory", COMMAND_IN(question, cases.node), UINT_MAX}, /* -1 */
    {COMMAND_NODES(question, NULL)},
    {COMMAND_NUMBERING(question,
     "where the ranks are, as in nbcoll verify: these prices are those of --messages between nodes, and inside, "
     "where ranks share memory, those of --native")},
    {.help = ""},
    {COMMAND_RANKS(question, "how many ranks, or a range like 2..16")},
    {COMMAND_COUNT(question, "elements: of a block, or of the vector; or several, like 0,1,1000 (1000)")},
    {COMMAND_TYPE(question, "their type (INT32)")},
    {COMMAND_OP(question, "the reduction (SUM)")},
    {COMMAND_KNOWN(question, "gatherv, scatterv: all ranks pass all counts")},
    {"reproducible", NULL, "the communicator has NBCOLL_REPRODUCIBLE;", .marks = EXPLAIN_REPRODUCIBLE},
    {"tolerant", NULL, "NBCOLL_ARRIVAL_TOLERANT; also, what a late rank does", .marks = EXPLAIN_TOLERANT},
    TERM(1, "alpha", "NS", NULL, between.alpha_ns, UINT32_MAX),
    TERM(2, "beta", "PS", NULL, between.beta_ps, UINT32_MAX),
    TERM(3, "overhead", "NS", NULL, between.overhead_ns, UINT32_MAX),
    TERM(4, "gamma", "PS", NULL, between.gamma_ps, UINT32_MAX),
    TERM(5, "get", "NS", NULL, between.get_ns, UINT32_MAX),
    TERM(6, "eager", "BYTES", NULL, between.eager, SIZE_MAX - 1),
    TERM(7, "credits", "N",
     "the cost model: a message, a byte, a post, a byte that a rank handles itself (0: as beta), a get, the longest "
     "message that is not announced, how many of those at once (0: any number). With --messages 300, 80, 60, 0, 0, "
     "4096, 64; with --native 350, 130, 60, 40, 900, 4096, 64", credits, UINT32_MAX),
    TERM(8, "large", "BYTES", "the limit between small and large data, instead of the cost model", large, SIZE_MAX - 1),
    TERM(0, "relays", "BYTES", "relays are open that carry out calls whose blocks are not longer",
     carries, SIZE_MAX - 1),
    TERM(9, "progress-cores", "N", "drivers have so many cores beside the ranks': binomial trees are split by them",
         progress_cores, UINT32_MAX),
    COMMAND_ALGORITHM(question, "this algorithm, where it may serve the call; with its parameters:"),
    COMMAND_PARAMETER_OPTIONS(question, "as in a tuning file", 0),
    COMMAND_TUNING(question, "the rules of a tuning file"),
    {"program", NULL,
     "also, whether a NIC or an agent could run it, or why not; with --nodes also in three parts: between "
     "nodes, and within them by the ranks, in memory that they share;", .marks = EXPLAIN_PROGRAM},
    LIMIT("tasks", "N", NULL, limits.tasks, UINT32_MAX),
    LIMIT("queue-pairs", "N", NULL, limits.queue_pairs, UINT32_MAX),
    LIMIT("buffers", "N", "one that has no more of these for a rank (any number), with", limits.buffers, UINT32_MAX),
    LIMIT("threshold", "BYTES", NULL, limits.threshold, UINT32_MAX),
    LIMIT("in-flight", "N", "the longest eager message (16384), and so many operations at a time (1)", limits.in_flight,
          UINT32_MAX),
    LIMIT("scratch", "BYTES",
     "for three parts, an agent's process that shares no more scratch memory with a rank (any number; nbcoll run "
     "--agent: 1048576)", scratch, UINT32_MAX),
    {"json", NULL, "one object instead of the table", COMMAND_IN(question, has_json)},
    {0},
};

const command command_explain = {
    .name = "explain",
    .purpose = "says which algorithm serves a call, and why",
    .help =
    "usage: nbcoll explain OPERATION --ranks P [OPTION...]\n\n"
    "Says which algorithm a communicator of P ranks chooses for the call, with its parameters, and which rule, cost\n"
    "or limit said so. Of one call, also what the cost model says of every algorithm. The ranks are those that\n"
    "nbcoll run would start on this machine: so many processes meet for a moment, and find the prices. Those of\n"
    "these options are always the same:\n\n",
    .run = run,
    .options = options,
};
