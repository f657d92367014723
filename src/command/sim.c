/* SPDX-License-Identifier: BSD-3-Clause
 * `nbcoll sim`: simulates algorithms on a machine that is described, and tells what they cost there. */
#include "sim.h"

typedef struct simulation {
    const command *self;
    command_cases cases;
    command_rules rules;
    command_chosen chosen; /* parameters; and the reason, where the algorithm was left to be chosen */
    nbcoll_sim_config config;
    nbcoll_sim_model model;
    const char *chrome, *svg; /* files, or null */
    const char *model_name, *noise_name, *arrival_name;
    const char *nic_words;   /* of --nic, or null */
    sim_nic nic;
    const char *program_words; /* of --program, or null */
    unsigned marks;            /* the options that were given, as far as they exclude others */
    int has_json, fixed_cores; /* of --fixed-work, or 0 */
    uint32_t progress; /* cores, instead of the model's; 0: the model's */
    sim_arrivals told; /* of the case at work, where ranks may be late */
    json_t *results;          /* null unless --json */
    command_bar bar;
    double shown;             /* of the case at work, as much as the bar has */
    const nbcoll_algorithm *algorithm; /* at work */
    sim_program program;
    int is_lowered;
    uint64_t compute, test_every; /* us, without a program */
    nbcoll_case at[SIM_STARTS];
    nbcoll_sim_case started[SIM_STARTS]; /* in these cases */
    nbcoll_host host;                    /* says what builders refuse */
    timeline timeline;
    unsigned long reported;
    nbcoll_nodes *nodes; /* the machine's, which builders know */
} simulation;

/* ---- options ----------------------------------------------------------------------------------------------------- */

/* What excludes others. */
enum {
    WITH_CARD = 1, WITH_PROGRAM = 2, WITH_COMPUTE = 4, WITH_TESTS = 8, WITH_NOISE = 16, WITH_LATE = 32,
    WITH_PROGRESS = 64, WITH_DRAWING = 128, WITH_FIXED = 256,
    NOT_WITH_CARD = WITH_PROGRAM | WITH_COMPUTE | WITH_NOISE | WITH_LATE | WITH_PROGRESS | WITH_DRAWING | WITH_FIXED,
    NOT_WITH_FIXED = WITH_PROGRAM | WITH_COMPUTE | WITH_TESTS | WITH_DRAWING
};

/* What --nic and others say together. */
static void check_nic(simulation *s)
{
    if (s->nic.test_bytes && (!(s->marks & WITH_CARD) || s->test_every))
        command_refuse(s->self, "--test-bytes goes with --nic, and without --test-every");
    if (!(s->marks & WITH_CARD))
        return;
    if (s->marks & NOT_WITH_CARD)
        command_refuse(s->self, "--nic says what is computed, and knows no noise, arrivals, progress cores or "
                       "drawings");
    if (s->cases.placement.rooms > 1 || s->cases.placement.numbering != NBCOLL_NUMBERING_BLOCK)
        command_refuse(s->self, "--nic: all nodes have as many ranks, one after the other");
    s->nic.test_every = 1000 * s->test_every;
    sim_take_nic(s->self, s->nic_words, &s->model, &s->nic.model);
    if (s->cases.placement.rooms)
        s->nic.model.node = (uint32_t)s->cases.room[0];
}

/* What the options say together. */
static void check(simulation *s)
{
    if (s->marks & WITH_DRAWING && ((!s->cases.algorithm && !s->cases.is_default) || s->cases.counts != 1))
        command_refuse(s->self, "a timeline takes one algorithm and one number of elements");
    if (s->config.arrival.pattern == NBCOLL_SIM_ONE_LATE && s->config.arrival.rank >= s->cases.most)
        command_refuse(s->self, "--arrival: there are %d ranks", s->cases.most);
    if (s->progress)
        s->model.progress = s->progress;
    if (s->model.cores && s->model.cores <= s->model.progress)
        command_refuse(s->self, "--model: no core of a node is left to compute");
    if (s->marks & WITH_PROGRAM && s->marks & (WITH_COMPUTE | WITH_TESTS))
        command_refuse(s->self, "--program says what is computed, not --compute or --test-every");
    if (s->fixed_cores && (!s->cases.algorithm || !(s->cases.algorithm->flags & NBCOLL_ALGORITHM_SPLIT)))
        command_refuse(s->self, "--fixed-work takes an algorithm whose tree can be split, like binomial");
    if (s->fixed_cores && (s->marks & NOT_WITH_FIXED || s->cases.placement.rooms || s->cases.counts != 1 ||
                           s->cases.most != s->fixed_cores))
        command_refuse(s->self, "--fixed-work says the ranks, their one node and what is computed, and draws nothing");
    check_nic(s);
}

static void take_arguments(simulation *s, int argc, char *argv[])
{
    command_take_options(s->self, &argc, &argv, s, &s->marks);
    if (!s->cases.most)
        s->cases.most = s->fixed_cores ? s->fixed_cores : 16;
    s->cases.fewest = s->cases.most;
    if (s->noise_name)
        nbcoll_sim_noise_find(s->noise_name, &s->config.noise);
    sim_take_model(s->self, s->model_name, &s->model);
    if (s->arrival_name)
        sim_take_arrival(s->self, s->arrival_name, &s->config.arrival);
    if (s->program_words)
        sim_take_program(s->self, s->program_words, &s->program);
    if (!argc)
        command_refuse(s->self, "it takes an operation");
    command_rules_words(s->self, &s->rules, &s->cases, argc, argv);
    check(s);
}

/* ---- simulating -------------------------------------------------------------------------------------------------- */

static void see_event(void *user, const nbcoll_sim_event *event)
{
    timeline_add(&((simulation *)user)->timeline, event);
}

/* Each case is half building and half playing. */
static void see_progress(void *user, nbcoll_sim_part part, uint64_t done, uint64_t total)
{
    simulation *s = user;
    char what[80];
    double part_done = total && done < total ? (double)done / (double)total : 1;
    double now = part_done / 2 + (part == NBCOLL_SIM_PLAYING ? 0.5 : 0);
    snprintf(what, sizeof what, "%s %s, %s", nbcoll_operation_name(s->algorithm->operation), s->algorithm->name,
             part == NBCOLL_SIM_PLAYING ? "playing" : "building");
    if (now <= s->shown)
        return;
    command_bar_add(&s->bar, now - s->shown, what);
    s->shown = now;
}

/* What a drawing says above itself. */
static void entitle(simulation *s, const nbcoll_sim_result *r)
{
    timeline *t = &s->timeline;
    nbcoll_choice choice = s->chosen.choice;
    choice.algorithm = s->algorithm;
    sim_entitle(t, s->started[0].at, &choice);
    command_add(t->terms, sizeof t->terms, "; machine: %s", s->model_name);
    if (s->noise_name)
        command_add(t->terms, sizeof t->terms, "; noise: %s", s->noise_name);
    if (s->arrival_name)
        command_add(t->terms, sizeof t->terms, "; ranks arrive %s", s->arrival_name);
    command_add(t->terms, sizeof t->terms, ". The last rank ends after %.4g us.", (double)r->last / 1e3);
}

#define RESULT(member) {#member, "N", "", COMMAND_IN(nbcoll_sim_result, member)}
static const command_option result_names[] = {
    RESULT(first), RESULT(last), RESULT(waited), RESULT(cpu), RESULT(messages), RESULT(fetches), RESULT(fetched),
    RESULT(bytes), RESULT(arrivals), RESULT(rounds), RESULT(peers), RESULT(links), RESULT(shapes), RESULT(memory), {0},
};

static const char head[] = "algorithm              count       us  us wait messages fetches     bytes rounds";
static const char format[] = "%-20n{algorithm} %7d{count} %8u{last} %8u{waited} %8d{messages} %7d{fetches} %9d{moved} "
                             "%6d{rounds}\n";
static const char late_head[] = "algorithm              count       us  us wait us after us a rank  came messages";
static const char late_format[] = "%-20n{algorithm} %7d{count} %8u{last} %8u{waited} %8u{after} %9u{mean} %5s{share} "
                                  "%8d{messages}\n";

static void report(simulation *s, size_t count, const nbcoll_sim_result *r)
{
    int is_late = (s->marks & WITH_LATE) != 0; /* ranks may be */
    char why[288]; /* "RULE file:7" */
    s->reported++;
    json_t *row = json_pack("{s:s, s:I}", "algorithm", s->algorithm->name, "count", (json_int_t)count);
    json_object_update_new(row, sim_numbers(result_names, r, 1));
    if (is_late)
        json_object_update_new(row, json_pack("{s:I, s:I, s:i, s:I}", "after", (json_int_t)s->told.after, "mean",
                                              (json_int_t)s->told.mean, "came", sim_came(&s->told), "stored",
                                              (json_int_t)r->stored));
    if (s->cases.is_default)
        json_object_update_new(row, json_pack("{s:s, s:s}", "reason", nbcoll_reason_name(s->chosen.choice.reason),
                                              "why", s->chosen.why));
    json_object_set_new(row, "moved", json_integer((json_int_t)(r->bytes + r->fetched)));
    if (is_late)
        json_object_set_new(row, "share", sim_came(&s->told) < 0 ? json_string("-")
                                                                 : json_sprintf("%d%%", sim_came(&s->told)));
    command_bar_clear(&s->bar);
    sim_add_row(s->results, row, s->reported > 1 ? NULL : is_late ? late_head : head, is_late ? late_format : format);
    snprintf(why, sizeof why, "%s %s", nbcoll_reason_name(s->chosen.choice.reason), s->chosen.why);
    if (s->cases.is_default && !s->results)
        command_print_words(stdout, "", "", 2, COMMAND_COLUMNS, why);
}

/* One algorithm and count. Those that cannot be simulated are left out. */
static void simulate(simulation *s, size_t count)
{
    nbcoll_sim_result result = {.size = sizeof result};
    nbcoll_status status = NBCOLL_OK;
    s->shown = 0;
    if (s->marks & WITH_CARD)
        status = sim_nic_row(&s->nic, &s->started[0], &s->config, !s->reported, s->results);
    else if (s->fixed_cores)
        sim_fixed_work(&s->started[0], &s->config, s->fixed_cores, s->results);
    else if (s->marks & WITH_LATE)
        status = sim_play_arrivals(&s->config, s->started, &result, &s->told);
    else
        status = nbcoll_simulate_cases(&s->config, s->started, &result);
    command_bar_add(&s->bar, 1 - s->shown, s->algorithm->name);
    if (!status && s->marks & (WITH_CARD | WITH_FIXED))
        s->reported++;
    else if (!status) {
        entitle(s, &result);
        report(s, count, &result);
    }
    if (!status || status == NBCOLL_ERR_UNSUPPORTED || (!s->cases.algorithm && status == NBCOLL_ERR_OP))
        return;
    command_bar_clear(&s->bar);
    command_fail(s->self, "%s %s: %s", nbcoll_operation_name(s->algorithm->operation), s->algorithm->name,
                 nbcoll_status_text(status));
}

static nbcoll_case case_of(const simulation *s, const nbcoll_algorithm *algorithm, size_t count)
{
    nbcoll_case at = command_case(&s->cases, algorithm);
    at.count = count;
    at.known = 1;
    at.node = s->is_lowered ? 0 : NBCOLL_CASE_BY_NODE;
    at.nodes = s->nodes;
    return at;
}

/* The cases of all that the program starts; the algorithm at work is what it leaves open. */
static void prepare(simulation *s, size_t count)
{
    nbcoll_meaning meaning = {.size = sizeof meaning};
    for (unsigned i = 0; i < s->program.starts; i++) {
        const sim_start *start = &s->program.start[i];
        int is_other = start->operation >= 0 && start->operation != s->cases.operation;
        const nbcoll_algorithm *algorithm = start->algorithm;
        if (!algorithm)
            algorithm = is_other ? catalogue_at((nbcoll_operation)start->operation, 0) : s->algorithm;
        s->at[i] = case_of(s, algorithm, algorithm->operation == NBCOLL_OPERATION_BARRIER ? 0 : count);
        if (algorithm == s->algorithm)
            command_set_parameters(&s->at[i], &s->chosen.choice);
        s->started[i] = (nbcoll_sim_case){algorithm, &s->at[i]};
        nbcoll_status why = nbcoll_meaning_of(&s->at[i], algorithm->flags, &meaning);
        if (why)
            command_refuse_case(s->self, &s->at[i], why);
    }
}

/* Checks (or simulates) a case of the algorithm at work. */
static void one_case(simulation *s, size_t count, int only_check)
{
    prepare(s, count);
    s->bar.total += only_check;
    if (!only_check)
        simulate(s, count);
}

/* The same of the algorithm that rules and cost model choose, which knows of the machine what its messages cost. */
static void one_chosen(simulation *s, size_t count, int only_check)
{
    nbcoll_case at = case_of(s, NULL, count);
    nbcoll_terms terms = command_terms(&s->rules, &at);
    nbcoll_sim_prices(&s->model, s->nodes, &terms);
    terms.shared &= !s->is_lowered;
    terms.nodes_share = !s->is_lowered;
    command_choose(s->self, &s->rules, &terms, &at, &s->chosen);
    s->algorithm = s->chosen.choice.algorithm;
    one_case(s, count, only_check);
}

/* Checks (or simulates) all cases. */
static void for_each(simulation *s, int only_check)
{
    const command_cases *c = &s->cases;
    nbcoll_operation operation = (nbcoll_operation)c->operation;
    int is_alone = operation == NBCOLL_OPERATION_BARRIER && s->program.starts == 1; /* moves no elements */
    size_t counts = is_alone ? 1 : c->counts;
    for (size_t k = 0; k < counts && c->is_default; k++)
        one_chosen(s, is_alone ? 0 : c->count[k], only_check);
    for (unsigned i = 0; !c->is_default && (s->algorithm = catalogue_at(operation, i)); i++)
        for (size_t k = 0; k < counts; k++)
            if (!c->algorithm || c->algorithm == s->algorithm)
                one_case(s, is_alone ? 0 : c->count[k], only_check);
}

/* The results as JSON. */
static void print_results(simulation *s)
{
    json_t *all = json_pack("{s:i, s:s, s:i, s:I, s:o}", "abi", (int)NBCOLL_ABI, "operation",
                            nbcoll_operation_name((nbcoll_operation)s->cases.operation), "ranks", s->cases.most, "seed",
                            (json_int_t)s->config.seed, "results", s->results);
    command_print_json(all);
}

/* Without --program: start, compute, wait. */
static void set_program(simulation *s)
{
    sim_program *p = &s->program;
    if (!s->program_words) {
        p->start[p->starts++].operation = -1;
        p->action[p->actions++].act = NBCOLL_SIM_START;
        p->action[p->actions++] = (nbcoll_sim_action){NBCOLL_SIM_COMPUTE, 0, 1000 * s->compute, 1000 * s->test_every};
    }
    s->config.operations = p->starts;
    s->config.program = (nbcoll_sim_program){p->action, p->actions};
}

static void simulate_all(simulation *s)
{
    s->config.ranks = s->cases.most;
    s->config.nodes = s->timeline.nodes = s->nodes;
    s->config.user = s;
    s->config.event = s->marks & WITH_DRAWING ? see_event : NULL;
    command_bar_begin(&s->bar, s->bar.total, 0);
    s->results = s->has_json ? json_array() : NULL;
    for_each(s, 0);
    command_bar_clear(&s->bar);
    if (!s->reported)
        command_refuse(s->self, "%s: that algorithm wants counts that nobody knows",
                       nbcoll_operation_name((nbcoll_operation)s->cases.operation));
    if (s->has_json)
        print_results(s);
    if (s->chrome)
        command_write_file(s->self, s->chrome, timeline_chrome, &s->timeline);
    if (s->svg)
        command_write_file(s->self, s->svg, timeline_svg, &s->timeline);
    timeline_free(&s->timeline);
}

/* Where nobody says it, nodes have as many ranks as the machine's. */
static void place(simulation *s)
{
    nbcoll_placement *p = &s->cases.placement;
    if (!p->rooms) {
        p->size = sizeof *p;
        p->rooms = 1;
        s->cases.room[0] = s->model.node ? (int)s->model.node : 1;
    }
    s->nodes = command_nodes(s->self, &s->cases, s->cases.most);
}

static void run(const command *self, int argc, char *argv[])
{
    simulation s = {.self = self,
                    .cases = {.operation = -1, .counts = 1, .count = {1000}, .reduction = {NBCOLL_INT32, NBCOLL_SUM}},
                    .config = {.size = sizeof s.config, .seed = 1, .progress = see_progress},
                    .model.size = sizeof s.model,
                    .host = command_host(self),
                    .model_name = "cluster"};
    s.config.model = &s.model;
    s.config.host = &s.host;
    take_arguments(&s, argc, argv);
    s.chosen.choice = s.rules.given;
    set_program(&s);
    place(&s);
    for_each(&s, 1);
    simulate_all(&s);
    nbcoll_nodes_free(s.nodes);
    command_rules_free(&s.rules);
}

static const command_option options[] = {
    {"ranks", "P", "number of ranks (16)", COMMAND_IN(simulation, cases.most), 1, SIM_RANKS},
    {COMMAND_ROOT(simulation, "the root (0)")},
    {COMMAND_COUNT(simulation, "elements: of one rank's block, or of the vector (1000)")},
    {COMMAND_TYPE(simulation, "their type (INT32)")},
    {COMMAND_OP(simulation, "the reduction (SUM)")},
    {COMMAND_IN_PLACE(simulation, "the form in which send and receive buffer are one (at odd ranks only)")},
    {COMMAND_SPREAD(simulation, "blocks of the v and w forms and reduce_scatter: equal, holes, rising or lone")},
    COMMAND_RULE_OPTIONS(simulation, 0),
    {"model", "M",
     "cluster, ethernet, node or unit (cluster), those of papers, cluster_a, cluster_b and das4, or a file: on each "
     "line a name and a number. ns: inside.latency .o_send .o_recv .gap, between.latency ... .gap, domain.latency "
     "... .gap (unnamed: as inside), step; picoseconds a byte: inside.byte, between.byte, domain.byte, copy, reduce; "
     "eager (bytes); node (its ranks), cores, progress (cores), wake (ns that one needs that sleeps), pool (1: they "
     "work for all ranks of a node), contention (ns before each work, for each other rank on it), lanes (1: they "
     "leave to a rank what is its own), cell (bytes of the largest exposure), table (ns more for a part of one in "
     "which each reader has another), interfaces (to other nodes, that ranks share; 0: each has one), unexpected "
     "(ns) and unexpected_byte (ps) of a message that comes too early, tick and tick_cost (ns) of a timer that "
     "enters the library of a rank that computes. Unnamed ones are 0; # begins a comment",
     COMMAND_IN(simulation, model_name)},
    {COMMAND_NODES(simulation,
     "the machine has N nodes of R ranks, and so many ranks unless --ranks says it; or nodes of several sizes, like "
     "3,1,4, which begin again from the first where there are more ranks; with domains of ranks that are nearer in "
     "them: 4x8/2")},
    {COMMAND_NUMBERING(simulation, COMMAND_NUMBERING_HELP)},
    {"lowered", NULL, "nobody shares memory: what is exposed is sent", COMMAND_IN(simulation, is_lowered)},
    {"noise", "N", "daemon, pulses (100 ms, 20% of the time) or tick", COMMAND_IN(simulation, noise_name),
     .words = "daemon, pulses or tick", .marks = WITH_NOISE},
    {"arrival", "A",
     "late:RANK:US, rising:US or scattered:US: ranks start so much later. The table then says how long after the "
     "last rank's start all had ended (us after), how long a rank was in the operation on average (us a rank), and "
     "how much of what is sent to the others was there when the last one started (came)",
     COMMAND_IN(simulation, arrival_name), .marks = WITH_LATE},
    {"preposted", "F",
     "operations stand, as relays do: what comes to a rank is passed on in up to F of them that it has not started, "
     "by progress cores, or by itself when it is in the library for another one. The same table; the JSON also has "
     "the most bytes that a rank stored meanwhile", COMMAND_IN(simulation, config.preposted), 1, UINT32_MAX, WITH_LATE},
    {"progress", "N", "so many cores of each node do nothing but communication, whatever the model says",
     COMMAND_IN(simulation, progress), 1, 65536, WITH_PROGRESS},
    {"compute", "US", "each rank computes between start and wait",
     COMMAND_IN(simulation, compute), 0, SIM_US, WITH_COMPUTE},
    {"test-every", "US", "and tests so often meanwhile", COMMAND_IN(simulation, test_every), 0, SIM_US, WITH_TESTS},
    {"program", "P",
     "what each rank does instead, with ; between: compute TIME [test TIME], the second being how often it tests; "
     "start [OPERATION [ALGORITHM]], without words what the command line says, and without algorithm the operation's "
     "first; wait [N], for the N-th start, or all; wait started [N], for its start's own steps. It ends with a wait "
     "for all. A TIME is a number and ns, us, ms or s", COMMAND_IN(simulation, program_words), .marks = WITH_PROGRAM},
    {"seed", "N", "of all that is random (1)", COMMAND_IN(simulation, config.seed), 0, INT64_MAX},
    {"json", NULL, "one object with all figures; times in ns", COMMAND_IN(simulation, has_json)},
    {"chrome", "FILE", "a timeline for chrome://tracing and Perfetto",
     COMMAND_IN(simulation, chrome), .marks = WITH_DRAWING},
    {"svg", "FILE", "a timeline as a drawing", COMMAND_IN(simulation, svg), .marks = WITH_DRAWING},
    {"fixed-work", "C",
     "a table, of a tree that can be split: all ranks compute what C of them do while it blocks them; fewer, from C "
     "/ 2 on, are on a core each, the other cores are the drivers'. Blocking, and with S = 0 to 3 levels the ranks' "
     "own, for which starts wait", COMMAND_IN(simulation, fixed_cores), 2, 4096, WITH_FIXED},
    {"nic", "[=NAME=N,...]",
     "a table instead: the host's engine, and the same as a program on a NIC of each node. us alone; how much of a "
     "computation as long as that is free beside it; us of a rank's core; queue pairs of a NIC. The NIC is made of "
     "the machine, but for what NAMEs say; ns: post (of the host, a task), task (of the NIC), miss (more, of a "
     "queue pair not at hand), latency, gap; picoseconds a byte: byte, calc, copy; cached (queue pairs at hand), "
     "ports, NICs (of a node); memory (ps a byte that ranks of a node copy, once they copy more than cache, bytes, "
     "together)", COMMAND_IN(simulation, nic_words), .marks = WITH_CARD},
    {"test-bytes", "N", "with --nic, the engine is tested once for each N bytes of a block",
     COMMAND_IN(simulation, nic.test_bytes), 1, NBCOLL_SIM_MOST_BYTES},
    {0},
};

const command command_sim = {
    .name = "sim",
    .purpose = "simulates algorithms on a machine that is described",
    .help =
    "usage: nbcoll sim OPERATION [[--algorithm] ALGORITHM] [OPTION...]\n\n"
    "Plays the algorithms of OPERATION (all, or one; or `default`, that which rules and cost model choose for what a\n"
    "message costs there; the reason stands below it) in virtual time on a machine after LogGP, and tells when the\n"
    "last rank had ended, when the last wait returned, messages, fetches, bytes, and rounds (messages that wait for\n"
    "each other); with --json also the most peers and links (destinations and sources) of a rank, what cores worked\n"
    "for communication, and how much memory the simulator took. Ranks of a node share memory, and builders know the\n"
    "nodes. The same options give the same numbers.\n\n",
    .run = run,
    .options = options,
};
