/* SPDX-License-Identifier: BSD-3-Clause
 * `nbcoll verify`: proves the algorithms of the table over a grid of cases, in all their forms, or draws the smallest
 * case that fails. */
#include <nbcoll/show.h>

#include "command.h"

/* ---- forms: what is combined or moved, where buffers lie, who shares memory, with which parameters --------------- */

/* What options have fixed; of everything else all forms are proved. (Roots and blocks are not of this:
 * nbcoll_verify_grid goes through them.) */
#define VERIFY_ELEMENTS 1u /* --type or --op */
#define VERIFY_IN_PLACE 2u
#define VERIFY_NATIVE 4u
#define VERIFY_PARAMETERS 8u
#define VERIFY_ALL (VERIFY_ELEMENTS | VERIFY_IN_PLACE | VERIFY_NATIVE | VERIFY_PARAMETERS) /* there is one form */

/* ---- what is combined or moved ----------------------------------------------------------------------------------- */

/* Nothing of a proof runs; that the pointers are there is what counts. */
static nbcoll_status never_packs(void *user, const void *from, void *to, size_t count)
{
    (void)user, (void)from, (void)to, (void)count;
    return NBCOLL_ERR_CALL;
}

static nbcoll_status never_combines(void *user, void *result, const void *left, const void *right, size_t count,
                                    nbcoll_type type)
{
    (void)user, (void)result, (void)left, (void)right, (void)count, (void)type;
    return NBCOLL_ERR_CALL;
}

static const nbcoll_host_type host_type = {.size = sizeof host_type, .extent = 12};
static const nbcoll_host_type packed_type = {
    .size = sizeof packed_type, .extent = 20, .packed = 12, .pack = never_packs, .unpack = never_packs};
static const nbcoll_host_op ordered_op = {sizeof ordered_op, NULL, never_combines, 0, NULL};
static const nbcoll_host_op commuting_op = {sizeof commuting_op, NULL, never_combines, 1, NULL};

enum { ELEMENTS_GIVEN, ELEMENTS_BYTES, ELEMENTS_HOST, ELEMENTS_PACKED };

static nbcoll_reduction reduction_of(size_t elements, int is_ordered)
{
    nbcoll_op op = nbcoll_op_of(is_ordered ? &ordered_op : &commuting_op);
    if (elements == ELEMENTS_BYTES)
        return (nbcoll_reduction){NBCOLL_INT8, NBCOLL_MAX};
    return (nbcoll_reduction){nbcoll_type_of(elements == ELEMENTS_HOST ? &host_type : &packed_type), op};
}

static const char *type_text(nbcoll_type type)
{
    return type == nbcoll_type_of(&host_type)     ? "host"
           : type == nbcoll_type_of(&packed_type) ? "packed"
                                                  : nbcoll_type_name(type);
}

static const char *op_text(nbcoll_op op)
{
    return op == nbcoll_op_of(&ordered_op)     ? "ordered"
           : op == nbcoll_op_of(&commuting_op) ? "commuting"
                                               : nbcoll_op_name(op);
}

/* As command_take_type and command_take_op, but these also know what only proofs do. */
static void take_type(const command *self, void *cases, const char *value)
{
    int is_host = strcasecmp(value, "host") == 0;
    if (is_host || strcasecmp(value, "packed") == 0)
        ((command_cases *)cases)->reduction.type = nbcoll_type_of(is_host ? &host_type : &packed_type);
    else
        command_take_type(self, cases, value);
}

static void take_op(const command *self, void *cases, const char *value)
{
    int is_ordered = strcasecmp(value, "ordered") == 0;
    if (is_ordered || strcasecmp(value, "commuting") == 0)
        ((command_cases *)cases)->reduction.op = nbcoll_op_of(is_ordered ? &ordered_op : &commuting_op);
    else
        command_take_op(self, cases, value);
}

/* ---- forms ------------------------------------------------------------------------------------------------------- */

/* Whole numbers by which forms differ in one respect; the first is the plain form's. */
typedef struct choices {
    unsigned n;
    size_t of[4];
} choices;

static choices in_place_of(const command_cases *cases, unsigned fixed, nbcoll_operation operation)
{
    if (fixed & VERIFY_IN_PLACE)
        return (choices){1, {(size_t)cases->in_place}};
    if (operation == NBCOLL_OPERATION_BARRIER || operation == NBCOLL_OPERATION_BCAST)
        return (choices){1, {0}};
    if (command_is(operation, COMMAND_ROOTED)) /* at the root, whatever its number */
        return (choices){2, {0, 1}};
    return (choices){3, {0, 1, 2}};
}

/* So many neighbours share memory; `most` stands for all. What never exposes memory is the same with any. */
static choices node_of(const command_cases *cases, unsigned fixed, const nbcoll_algorithm *algorithm)
{
    size_t most = cases->placement.rooms ? (size_t)NBCOLL_CASE_BY_NODE : (size_t)cases->most;
    if (fixed & VERIFY_NATIVE)
        return (choices){1, {cases->node < 0 ? most : (size_t)cases->node}};
    if (cases->placement.rooms)
        return algorithm->flags >> 16 ? (choices){2, {0, most}} : (choices){1, {0}};
    return algorithm->flags >> 16 ? (choices){3, {0, most, 2}} : (choices){1, {0}};
}

static choices elements_of(unsigned fixed, nbcoll_operation operation)
{
    if (fixed & VERIFY_ELEMENTS || operation == NBCOLL_OPERATION_BARRIER)
        return (choices){1, {ELEMENTS_GIVEN}};
    return (choices){4, {ELEMENTS_GIVEN, ELEMENTS_BYTES, ELEMENTS_HOST, ELEMENTS_PACKED}};
}

static choices parameter_of(unsigned fixed, size_t given, int is_read, choices all)
{
    return fixed & VERIFY_PARAMETERS || !is_read ? (choices){1, {given}} : all;
}

/* The next digit of a number that counts through all choices. */
static size_t next_of(unsigned *i, choices c)
{
    size_t value = c.of[*i % c.n];
    *i /= c.n;
    return value;
}

/* The case of the i-th form of an algorithm, else as in command_case. The first is plain: INT32 and SUM, out of place,
 * as messages, with default parameters, unless options say otherwise. 0 beyond the last. `given`: the parameters. */
static int form_of(const command_cases *cases, unsigned fixed, const nbcoll_choice *given,
                const nbcoll_algorithm *algorithm, unsigned i, nbcoll_case *out)
{
    static const choices segments = {2, {0, 160}}, numbers = {3, {0, 1, 3}}, few = {2, {0, 2}};
    uint32_t flags = algorithm->flags;
    *out = command_case(cases, algorithm);
    size_t elements = next_of(&i, elements_of(fixed, algorithm->operation));
    if (elements)
        out->reduction = reduction_of(elements, !(flags & NBCOLL_ALGORITHM_REORDERS));
    out->in_place = (int)next_of(&i, in_place_of(cases, fixed, algorithm->operation));
    out->node = (int)next_of(&i, node_of(cases, fixed, algorithm));
    out->segment = next_of(&i, parameter_of(fixed, given->segment, flags & NBCOLL_ALGORITHM_SEGMENT, segments));
    out->arity = (unsigned)next_of(&i, parameter_of(fixed, given->arity, flags & NBCOLL_ALGORITHM_ARITY, numbers));
    out->ports = (unsigned)next_of(&i, parameter_of(fixed, given->ports, flags & NBCOLL_ALGORITHM_PORTS, numbers));
    out->split = given->split; /* lanes mean nothing for a proof */
    out->leaders = (unsigned)next_of(&i, parameter_of(fixed, given->leaders, flags & NBCOLL_ALGORITHM_LEADERS, few));
    return i == 0;
}

/* ---- in words ---------------------------------------------------------------------------------------------------- */

/* The options that give this form again, " --in-place --native=2", or "". Returns `text`. */
#define VERIFY_TEXT 160
static char *form_text(const nbcoll_case *c, char text[VERIFY_TEXT])
{
    text[0] = '\0';
    if (c->reduction.type != NBCOLL_INT32 || c->reduction.op != NBCOLL_SUM)
        command_add(text, VERIFY_TEXT, " --type %s --op %s", type_text(c->reduction.type), op_text(c->reduction.op));
    if (c->in_place)
        command_add(text, VERIFY_TEXT, " --in-place%s", c->in_place == 2 ? "=odd" : "");
    if (c->node)
        command_add(text, VERIFY_TEXT, c->node >= c->ranks || c->node < 0 ? " --native" : " --native=%d", c->node);
    command_add_parameters(text, VERIFY_TEXT, " --", &(nbcoll_choice){COMMAND_PARAMETERS_OF(c)});
    return text;
}

/* In which respects cases differ, and sets of what they have been there, a bit each. */
enum {
    VERIFY_BY_ELEMENTS, VERIFY_BY_PLACE, VERIFY_BY_NODE, VERIFY_BY_NODES, VERIFY_BY_DOMAINS, VERIFY_BY_SPREAD,
    VERIFY_BY_APART, VERIFY_BY_KNOWN, VERIFY_BY_PARAMETERS, VERIFY_RESPECTS
};
typedef struct verify_seen {
    unsigned by[VERIFY_RESPECTS];
} verify_seen;
static void see(void *user, const nbcoll_case *c)
{
    verify_seen *seen = user;
    nbcoll_type type = c->reduction.type;
    const int is[VERIFY_RESPECTS] = {
        [VERIFY_BY_ELEMENTS] = type == nbcoll_type_of(&host_type)     ? ELEMENTS_HOST
                               : type == nbcoll_type_of(&packed_type) ? ELEMENTS_PACKED
                               : type == NBCOLL_INT8                  ? ELEMENTS_BYTES
                                                                      : ELEMENTS_GIVEN,
        [VERIFY_BY_PLACE] = c->in_place,
        [VERIFY_BY_NODE] = !c->node ? 0 : c->node >= c->ranks ? 1 : 2,
        [VERIFY_BY_NODES] = c->nodes && c->nodes->count > 1,
        [VERIFY_BY_DOMAINS] = c->nodes && nbcoll_nodes_domains(c->nodes),
        [VERIFY_BY_SPREAD] = (int)c->spread,
        [VERIFY_BY_APART] = c->apart,
        [VERIFY_BY_KNOWN] = c->known,
        [VERIFY_BY_PARAMETERS] = c->segment || c->arity || c->ports || c->split || c->leaders,
    };
    for (int i = 0; i < VERIFY_RESPECTS; i++)
        seen->by[i] |= 1u << is[i];
}

/* In words, what was seen of what is possible for the algorithms in question, and what was not. */
typedef struct verify_coverage {
    char covered[800], left_out[800];
} verify_coverage;

static void tell_sizes(const command_cases *cases, verify_coverage *out)
{
    if (cases->fewest < cases->most)
        command_add(out->covered, sizeof out->covered, "%d..%d ranks; ", cases->fewest, cases->most);
    else
        command_add(out->covered, sizeof out->covered, "%d ranks; ", cases->most);
    if (cases->fewest > 1)
        command_add(out->left_out, sizeof out->left_out, "fewer than %d ranks; ", cases->fewest);
    command_add(out->left_out, sizeof out->left_out, "more than %d ranks", cases->most);
    if (cases->root < 0)
        command_add(out->covered, sizeof out->covered, "any root");
    else {
        command_add(out->covered, sizeof out->covered, "root %d", cases->root);
        command_add(out->left_out, sizeof out->left_out, "; other roots");
    }
    for (size_t i = 0; i < cases->counts; i++)
        command_add(out->covered, sizeof out->covered, "%s%zu", i ? "," : "; counts ", cases->count[i]);
    command_add(out->left_out, sizeof out->left_out, "; other counts; other types and reductions");
}

static void cover(const command_cases *cases, const verify_seen *seen, const verify_seen *possible,
                  verify_coverage *out)
{
    char given[64];
    const char *const names[VERIFY_RESPECTS][NBCOLL_SPREAD_COUNT] = {
        [VERIFY_BY_ELEMENTS] = {given, "INT8 MAX", "a host's type and operation",
                                "a host's type that packs (but for the bytes received)"},
        [VERIFY_BY_PLACE] = {"out of place", "in place", "in place at odd ranks"},
        [VERIFY_BY_NODE] = {"messages", "memory shared by all", "memory shared by some"},
        [VERIFY_BY_NODES] = {"one node", "several nodes"},
        [VERIFY_BY_DOMAINS] = {"no domains", "domains"},
        [VERIFY_BY_SPREAD] = {"equal blocks", "every second block empty", "blocks of rising length", "one long block"},
        [VERIFY_BY_APART] = {"blocks together", "blocks apart"},
        [VERIFY_BY_KNOWN] = {"counts bound at start", "counts known"},
        [VERIFY_BY_PARAMETERS] = {"default parameters", "parameters other than default"},
    };
    snprintf(given, sizeof given, "%s %s", type_text(cases->reduction.type), op_text(cases->reduction.op));
    *out = (verify_coverage){"", ""};
    tell_sizes(cases, out);
    for (int i = 0; i < VERIFY_RESPECTS; i++)
        for (int k = 0; possible->by[i] >> 1 && k < NBCOLL_SPREAD_COUNT && names[i][k]; k++)
            if (seen->by[i] >> k & 1) /* where only the first can be there is nothing to say */
                command_add(out->covered, sizeof out->covered, "; %s", names[i][k]);
            else if (possible->by[i] >> k & 1)
                command_add(out->left_out, sizeof out->left_out, "; %s", names[i][k]);
    if (possible->by[VERIFY_BY_PARAMETERS] > 1)
        command_add(out->left_out, sizeof out->left_out, "; other segments, arities and ports");
    command_add(out->left_out, sizeof out->left_out, "; what verify.h assumes: the engine and its transports");
}

typedef struct verification {
    const command *self;
    command_cases cases;
    command_rules rules;
    unsigned fixed; /* by options */
    verify_seen proved, possible;
    int has_json;
    json_t *results; /* null unless --json */
    command_bar bar;
    const nbcoll_algorithm *algorithm; /* at work on, in these cases */
    command_cases now;
    command_chosen chosen;             /* its parameters; and the reason, where it was left to be chosen */
    unsigned long seen;                /* cases of it */
    int refuted;
} verification;

/* The smallest failing case of an algorithm. */
typedef struct failing_case {
    nbcoll_case at;
    nbcoll_refutation why;
} failing_case;

/* ---- the cases --------------------------------------------------------------------------------------------------- */

/* What a case costs, roughly. */
static double cost(int ranks)
{
    return (double)ranks * ranks;
}

static void measure_case(void *user, const nbcoll_case *c)
{
    verification *v = user;
    v->bar.total += cost(c->ranks);
}

static void see_case(void *user, const nbcoll_case *c)
{
    verification *v = user;
    see(&v->proved, c);
    char what[80];
    snprintf(what, sizeof what, "%s %s, %d ranks", nbcoll_operation_name(c->operation), v->algorithm->name, c->ranks);
    v->seen++;
    command_bar_add(&v->bar, cost(c->ranks), what);
}

/* Walks over the cases of the algorithm, proving them or not, form after form. */
static nbcoll_status walk(verification *v, failing_case *f, int only_visit)
{
    const command_cases *c = &v->now;
    nbcoll_operation operation = v->algorithm->operation;
    nbcoll_status status = NBCOLL_OK;
    nbcoll_grid grid = {sizeof grid, .fewest = c->fewest, .most = c->most, .root = c->root, .all_blocks = c->spread < 0,
                        .counts = operation == NBCOLL_OPERATION_BARRIER ? 1 : c->counts, /* it moves no elements */
                        .placement = c->placement.rooms ? &c->placement : NULL,
                        .count = c->count, .visit = only_visit ? measure_case : see_case, .user = v,
                        .only_visit = only_visit};
    f->why.size = sizeof f->why;
    v->seen = 0;
    for (unsigned i = 0, more = 1; !status && more; i++) {
        more = (unsigned)form_of(c, v->fixed, &v->chosen.choice, v->algorithm, i, &f->at);
        if (more)
            status = nbcoll_verify_grid(v->algorithm, &grid, &f->at, &f->why);
    }
    return status;
}

/* Goes through what the forms of the algorithm would be, were nothing fixed by options. */
static void see_all_forms(const verification *v, verify_seen *seen)
{
    nbcoll_case c;
    const nbcoll_choice nothing = {.size = sizeof nothing};
    nbcoll_grid grid = {sizeof grid, .fewest = 3, .most = 3, .all_blocks = 1, .counts = 1, .count = v->now.count,
                        .visit = see, .user = seen, .only_visit = 1};
    if (v->algorithm->flags & NBCOLL_ALGORITHM_NODES)
        seen->by[VERIFY_BY_NODES] = 3;
    if (v->algorithm->flags & NBCOLL_ALGORITHM_DOMAINS)
        seen->by[VERIFY_BY_DOMAINS] = 3;
    for (unsigned i = 0; form_of(&v->now, 0, &nothing, v->algorithm, i, &c); i++)
        nbcoll_verify_grid(v->algorithm, &grid, &c, NULL);
}

/* ---- the failing case -------------------------------------------------------------------------------------------- */

/* Ends where something of an algorithm failed. */
static void must(verification *v, const failing_case *f, nbcoll_status status)
{
    if (!status)
        return;
    command_bar_clear(&v->bar);
    command_fail(v->self, "%s %s: %s%s%s", nbcoll_operation_name(v->algorithm->operation), v->algorithm->name,
                 nbcoll_status_text(status), *f->why.text ? ". " : "", f->why.text);
}

/* Adds the schedule of a rank as text. */
static void add_rank(verification *v, const failing_case *f, int rank, json_t *schedules)
{
    nbcoll_schedule *schedule;
    char *text = NULL;
    size_t bytes;
    must(v, f, nbcoll_build_case(v->algorithm, &f->at, rank, NULL, &schedule));
    FILE *out = open_memstream(&text, &bytes);
    must(v, f, out ? nbcoll_show_text(schedule, command_write, out) : NBCOLL_ERR_MEMORY);
    fclose(out);
    json_array_append_new(schedules, json_string(text));
    free(text);
    nbcoll_schedule_free(schedule);
}

static json_t *place_object(const nbcoll_place *place)
{
    static const char *const buffers[] = {"send", "recv", "scratch"};
    json_t *object = json_pack("{s:i, s:I}", "rank", place->rank, "step", (json_int_t)place->step);
    if (place->bytes.bytes) {
        json_object_set_new(object, "buffer", json_string(buffers[place->bytes.at.buffer]));
        json_object_set_new(object, "offset", json_integer((json_int_t)place->bytes.at.offset));
        json_object_set_new(object, "bytes", json_integer((json_int_t)place->bytes.bytes));
    }
    return object;
}

/* Is the rank of place i one that no earlier place has? */
static int is_new_rank(const nbcoll_refutation *why, uint32_t i)
{
    for (uint32_t k = 0; k < i; k++)
        if (why->place[k].rank == why->place[i].rank)
            return 0;
    return 1;
}

static json_t *refutation_object(verification *v, const failing_case *f)
{
    json_t *places = json_array(), *schedules = json_array();
    for (uint32_t i = 0; i < f->why.places && i < NBCOLL_PLACES; i++) {
        json_array_append_new(places, place_object(&f->why.place[i]));
        if (is_new_rank(&f->why, i))
            add_rank(v, f, f->why.place[i].rank, schedules);
    }
    json_t *parameters = command_parameters_object(&(nbcoll_choice){COMMAND_PARAMETERS_OF(&f->at)});
    char form[VERIFY_TEXT];
    return json_pack("{s:s, s:s, s:i, s:i, s:I, s:s, s:b, s:b, s:s, s:o, s:o, s:o}", //
                     "flaw", nbcoll_flaw_name(f->why.flaw), "text", f->why.text, "ranks", f->at.ranks, //
                     "root", f->at.root, "count", (json_int_t)f->at.count,                             //
                     "blocks", command_spread_name(f->at.spread), "apart", f->at.apart,                //
                     "known", f->at.known, "options", form_text(&f->at, form),                  //
                     "parameters", parameters, "places", places, "schedules", schedules);
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

static void print_refutation(const verification *v, const json_t *r)
{
    char nodes[COMMAND_NODES_TEXT];
    size_t i;
    json_t *schedule;
    verify_seen possible = {0};
    see_all_forms(v, &possible);
    row_print(r, "\n    %s{text}\n    The smallest case: --ranks %d{ranks} --root %d{root} --count %d{count}");
    if (possible.by[VERIFY_BY_SPREAD] > 1) {
        row_print(r, " --blocks %s{blocks}");
        fputs(json_is_true(json_object_get(r, "apart")) ? " --apart" : "", stdout);
        fputs(json_is_true(json_object_get(r, "known")) ? " --known" : "", stdout);
    }
    printf("%s%s. The ranks concerned:\n\n", row_text(r, "options"), command_nodes_text(&v->now, nodes));
    json_array_foreach(json_object_get(r, "schedules"), i, schedule)
        fputs(json_string_value(schedule), stdout);
    puts("");
}

static void print_row(verification *v, const json_t *row)
{
    const json_t *refutation = json_object_get(row, "refutation");
    command_bar_clear(&v->bar);
    row_print(row, "%-20s{operation} %-20s{algorithm} %7d{cases}  ");
    row_print(row, refutation ? "refuted: %s{refutation.flaw}" : "proved");
    row_print(row, v->cases.is_default ? "  %d{ranks} ranks, %d{count} elements: %s{reason} %s{why}\n" : "\n");
    if (refutation)
        print_refutation(v, refutation);
}

static void report(verification *v, const failing_case *f)
{
    int is_proved = f->why.flaw == NBCOLL_FLAW_NONE;
    v->refuted += !is_proved;
    json_t *row = json_pack("{s:s, s:s, s:I, s:b}", "operation", nbcoll_operation_name(v->algorithm->operation),
                            "algorithm", v->algorithm->name, "cases", (json_int_t)v->seen, "proved", is_proved);
    if (v->cases.is_default)
        json_object_update_new(row, json_pack("{s:i, s:I, s:s, s:s}", "ranks", v->now.most, "count",
                                              (json_int_t)v->now.count[0], "reason",
                                              nbcoll_reason_name(v->chosen.choice.reason), "why", v->chosen.why));
    if (!is_proved)
        json_object_set_new(row, "refutation", refutation_object(v, f));
    if (!v->results)
        print_row(v, row);
    json_array_append_new(v->results, row);
}

/* The cases of so many ranks and elements, by the algorithm that is chosen for them. */
static void one_chosen(verification *v, void (*each)(verification *v), int ranks, size_t count)
{
    v->now.fewest = v->now.most = ranks;
    v->now.counts = 1;
    v->now.count[0] = count;
    nbcoll_case at = command_case(&v->now, NULL);
    nbcoll_terms terms = command_terms(&v->rules, &at);
    at.root = 0;
    command_choose(v->self, &v->rules, &terms, &at, &v->chosen);
    v->algorithm = v->chosen.choice.algorithm;
    each(v);
}

/* Calls `each` for every algorithm that is meant; or for each that is chosen. */
static void for_each(verification *v, void (*each)(verification *v))
{
    const command_cases *c = &v->cases;
    size_t counts = c->operation == NBCOLL_OPERATION_BARRIER ? 1 : c->counts;
    v->now = v->cases;
    v->chosen.choice = v->rules.given;
    for (int o = 0; o < NBCOLL_OPERATION_COUNT && !c->is_default; o++)
        for (unsigned i = 0; (v->algorithm = catalogue_at((nbcoll_operation)o, i)); i++)
            if ((c->operation < 0 || c->operation == o) && (!c->algorithm || c->algorithm == v->algorithm))
                each(v);
    for (int ranks = c->fewest; ranks <= c->most && c->is_default; ranks++)
        for (size_t i = 0; i < counts; i++)
            one_chosen(v, each, ranks, c->count[i]);
}

/* Are the options possible for the algorithm, and how much work is it? */
static void measure(verification *v)
{
    failing_case f = {.at = {.ranks = 0}};
    nbcoll_status status = walk(v, &f, 1);
    see_all_forms(v, &v->possible);
    if (status)
        command_refuse_case(v->self, &f.at, status);
}

static void verify(verification *v)
{
    failing_case f = {.at = {.ranks = 0}};
    nbcoll_nodes *nodes = NULL;
    nbcoll_status status = walk(v, &f, 0);
    if (status == NBCOLL_ERR_VERIFY)
        f.at.nodes = nodes = command_nodes(v->self, &v->now, f.at.ranks); /* to draw it */
    must(v, &f, status == NBCOLL_ERR_VERIFY ? NBCOLL_OK : status);
    report(v, &f);
    nbcoll_nodes_free(nodes);
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

static void take_arguments(verification *v, int argc, char *argv[])
{
    command_take_options(v->self, &argc, &argv, v, &v->fixed);
    command_rules_words(v->self, &v->rules, &v->cases, argc, argv);
    if (v->cases.root >= v->cases.most)
        command_refuse(v->self, "--root %d: there are at most %d ranks", v->cases.root, v->cases.most);
    v->cases.placement.room = v->cases.room;
    if (v->cases.is_default) /* what is chosen depends on the call: so one form */
        v->fixed = VERIFY_ALL;
}

static void verify_all(verification *v)
{
    verify_coverage coverage;
    command_bar_begin(&v->bar, v->bar.total, 0);
    if (v->has_json)
        v->results = json_array();
    else
        printf("%-20s %-20s %7s  %s\n", "operation", "algorithm", "cases", "result");
    for_each(v, verify);
    cover(&v->cases, &v->proved, &v->possible, &coverage);
    command_bar_clear(&v->bar);
    if (!v->has_json && !v->refuted) {
        puts("");
        command_print_words(stdout, "covered: ", "", 0, COMMAND_COLUMNS, coverage.covered);
        command_print_words(stdout, "not covered: ", "", 0, COMMAND_COLUMNS, coverage.left_out);
    }
    if (v->has_json) {
        json_t *all = json_pack("{s:i, s:[i,i], s:s, s:s, s:o}", "abi", (int)NBCOLL_ABI, "ranks", v->cases.fewest,
                                v->cases.most, "covered", coverage.covered, "not_covered", coverage.left_out,
                                "results", v->results);
        command_print_json(all);
    }
}

static void run(const command *self, int argc, char *argv[])
{
    verification v = {.self = self,
                      .cases = {.operation = -1, .fewest = 1, .most = 16, .root = -1, .counts = 4, .spread = -1,
                                .count = {0, 1, 7, 1000}, .reduction = {NBCOLL_INT32, NBCOLL_SUM}}};
    take_arguments(&v, argc, argv);
    for_each(&v, measure);
    verify_all(&v);
    command_rules_free(&v.rules);
    if (v.refuted)
        command_exit(COMMAND_REFUTED);
}

static const command_option options[] = {
    {COMMAND_RANKS(verification, "numbers of ranks, or one number (1..16)")},
    {COMMAND_ROOT(verification, "this root only, where it exists (all)")},
    {COMMAND_COUNT(verification, "elements: of one rank's block, or of the vector (0,1,7,1000)")},
    {"type", "T", "their type, also host, or packed: a host's type that packs (INT32, INT8, host, packed)",
     COMMAND_IN(verification, cases), .take = take_type, .marks = VERIFY_ELEMENTS},
    {"op", "O", "the reduction, also ordered, or commuting: a host's (SUM, MAX, a host's)",
     COMMAND_IN(verification, cases), .take = take_op, .marks = VERIFY_ELEMENTS},
    {COMMAND_IN_PLACE(verification, "send and receive buffer are one, at odd ranks only (neither, and both)"),
     .marks = VERIFY_IN_PLACE},
    {COMMAND_NATIVE(verification,
     "N neighbouring ranks, all, share memory, and fetch instead of receiving (none, all, 2); with --nodes those of "
     "each node (none, those)"), .marks = VERIFY_NATIVE},
    COMMAND_BLOCKS_OPTIONS(verification, "; unless given, all of these"),
    COMMAND_NODES_OPTIONS(verification),
    COMMAND_RULE_OPTIONS(verification, VERIFY_PARAMETERS),
    {"json", NULL, "one object instead of the table", COMMAND_IN(verification, has_json)},
    {0},
};

const command command_verify = {
    .name = "verify",
    .purpose = "proves algorithms right, or draws the smallest case that fails",
    .help =
    "usage: nbcoll verify [OPERATION [[--algorithm] ALGORITHM]] [OPTION...]\n\n"
    "Proves the algorithms of this library (all, those of OPERATION, or one) in every case of a grid: no deadlock,\n"
    "every message matched, every byte right, no race. Of one that is refuted it draws the smallest failing case.\n"
    "What no option says is proved in all its forms, as the last two lines tell: what is covered, and what is not.\n"
    "ALGORITHM may be `default`: for each number of ranks and elements that which rules and cost model choose, as\n"
    "nbcoll explain says with --messages, --native or --nodes; the reason stands beside it.\n"
    "The exit status is 0 when all are proved, 1 when one is refuted, 2 when an argument is wrong, 3 when memory or\n"
    "the place for the output ran out.\n\n",
    .run = run,
    .options = options,
};
