/* SPDX-License-Identifier: BSD-3-Clause
 * The words and options that say which cases of which algorithms are meant, how ranks are placed on nodes, and the
 * rules for selection. */
#ifdef NBCOLL_HAVE_TUNING
#include <nbcoll/tuning.h>
#endif

#include "command.h"

#define MOST_ROOM 65536 /* ranks of a node */

int command_is(nbcoll_operation operation, unsigned what)
{
    static const unsigned all[NBCOLL_OPERATION_COUNT] = {
        [NBCOLL_OPERATION_BARRIER] = COMMAND_COMPARED | COMMAND_TUNABLE,
        [NBCOLL_OPERATION_BCAST] = COMMAND_ROOTED | COMMAND_COMPARED | COMMAND_TUNABLE,
        [NBCOLL_OPERATION_SCATTER] = COMMAND_ROOTED | COMMAND_BLOCKS | COMMAND_COMPARED | COMMAND_TUNABLE,
        [NBCOLL_OPERATION_GATHER] = COMMAND_ROOTED | COMMAND_BLOCKS | COMMAND_COMPARED | COMMAND_TUNABLE,
        [NBCOLL_OPERATION_ALLGATHER] = COMMAND_BLOCKS | COMMAND_COMPARED | COMMAND_TUNABLE,
        [NBCOLL_OPERATION_REDUCE] = COMMAND_ROOTED | COMMAND_REDUCES | COMMAND_COMPARED | COMMAND_TUNABLE,
        [NBCOLL_OPERATION_ALLREDUCE] = COMMAND_REDUCES | COMMAND_COMPARED | COMMAND_TUNABLE,
        [NBCOLL_OPERATION_SCATTERV] = COMMAND_ROOTED | COMMAND_BLOCKS,
        [NBCOLL_OPERATION_GATHERV] = COMMAND_ROOTED | COMMAND_BLOCKS,
        [NBCOLL_OPERATION_ALLGATHERV] = COMMAND_BLOCKS | COMMAND_TUNABLE,
        [NBCOLL_OPERATION_ALLTOALL] = COMMAND_BLOCKS | COMMAND_COMPARED | COMMAND_TUNABLE,
        [NBCOLL_OPERATION_ALLTOALLV] = COMMAND_BLOCKS,
        [NBCOLL_OPERATION_ALLTOALLW] = COMMAND_BLOCKS,
        [NBCOLL_OPERATION_REDUCE_SCATTER] = COMMAND_BLOCKS | COMMAND_REDUCES | COMMAND_TUNABLE,
        [NBCOLL_OPERATION_REDUCE_SCATTER_BLOCK] = COMMAND_BLOCKS | COMMAND_REDUCES | COMMAND_TUNABLE,
        [NBCOLL_OPERATION_SCAN] = COMMAND_REDUCES | COMMAND_TUNABLE,
        [NBCOLL_OPERATION_EXSCAN] = COMMAND_REDUCES | COMMAND_TUNABLE,
    };
    return (unsigned)operation < NBCOLL_OPERATION_COUNT && (all[operation] & what) != 0;
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

void command_take_type(const command *self, void *user, const char *name)
{
    nbcoll_reduction *reduction = &((command_cases *)user)->reduction;
    for (int type = 0; type < NBCOLL_TYPE_COUNT; type++)
        if (strcasecmp(name, nbcoll_type_name(reduction->type = (nbcoll_type)type)) == 0)
            return;
    command_refuse(self, "unknown type '%s'; nbcoll info lists them", name);
}

void command_take_op(const command *self, void *user, const char *name)
{
    nbcoll_reduction *reduction = &((command_cases *)user)->reduction;
    for (int op = 0; op < NBCOLL_OP_COUNT; op++)
        if (strcasecmp(name, nbcoll_op_name(reduction->op = (nbcoll_op)op)) == 0)
            return;
    command_refuse(self, "unknown reduction '%s'; nbcoll info lists them", name);
}

const nbcoll_algorithm *command_find_algorithm(const command *self, nbcoll_operation operation, const char *name)
{
    const nbcoll_algorithm *found = catalogue_find(operation, name);
    if (!found)
        command_refuse(self, "%s has no algorithm '%s'; nbcoll info lists them", nbcoll_operation_name(operation),
                       name);
    return found;
}

nbcoll_operation command_operation(const command *self, const char *word)
{
    for (int o = 0; o < NBCOLL_OPERATION_COUNT; o++)
        if (strcmp(word, nbcoll_operation_name((nbcoll_operation)o)) == 0)
            return (nbcoll_operation)o;
    command_refuse(self, "unknown operation '%s'; nbcoll info lists them", word);
}

int command_take_operations(const command *self, int words, char *word[], unsigned otherwise, nbcoll_operation list[])
{
    int n = 0;
    for (int o = 0; o < NBCOLL_OPERATION_COUNT && !words; o++)
        if (command_is((nbcoll_operation)o, otherwise))
            list[n++] = (nbcoll_operation)o;
    for (int i = 0; i < words; i++) {
        list[n] = command_operation(self, word[i]);
        for (int k = 0; k < n; k++)
            if (list[k] == list[n])
                command_refuse(self, "'%s' stands there twice", word[i]);
        n++;
    }
    return n;
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

/* "7", or "2..16". */
void command_take_ranks(const command *self, void *user, const char *value)
{
    command_cases *cases = user;
    const char *at = value;
    unsigned long long low, high;
    int is_right = command_number_at(&at, 1, COMMAND_MOST_RANKS, &low);
    high = low;
    if (is_right && strncmp(at, "..", 2) == 0) {
        at += 2;
        is_right = command_number_at(&at, low, COMMAND_MOST_RANKS, &high);
    }
    if (!is_right || *at)
        command_refuse(self, "--ranks takes a number or a range like 2..16, of 1..%d, not '%s'", COMMAND_MOST_RANKS,
                       value);
    cases->fewest = (int)low;
    cases->most = (int)high;
}

/* "0,1,1000" */
void command_take_count(const command *self, void *user, const char *value)
{
    command_cases *cases = user;
    const char *at = value;
    if (!command_numbers(&at, 0, SIZE_MAX, cases->count, COMMAND_COUNTS, &cases->counts) || *at)
        command_refuse(self, "--count takes numbers like 0,1,1000, not '%s'", value);
    if (cases->counts > COMMAND_COUNTS)
        command_refuse(self, "--count takes at most %d numbers", COMMAND_COUNTS);
}

const char *command_spread_name(int spread)
{
    static const char *const names[] = {"equal", "holes", "rising", "lone"};
    _Static_assert(sizeof names / sizeof *names == NBCOLL_SPREAD_COUNT, "each has its name");
    return (unsigned)spread < NBCOLL_SPREAD_COUNT ? names[spread] : "?";
}

nbcoll_case command_case(const command_cases *cases, const nbcoll_algorithm *algorithm)
{
    return (nbcoll_case){.size = sizeof(nbcoll_case),
                         .operation = algorithm ? algorithm->operation : (nbcoll_operation)cases->operation,
                         .ranks = cases->most,
                         .root = cases->root < 0 ? 0 : cases->root,
                         .node = cases->node >= 0           ? cases->node
                                 : cases->placement.rooms ? NBCOLL_CASE_BY_NODE
                                                          : cases->most,
                         .count = cases->count[0],
                         .reduction = cases->reduction,
                         .in_place = cases->in_place,
                         .spread = cases->spread < 0 ? NBCOLL_SPREAD_EQUAL : (nbcoll_spread)cases->spread,
                         .apart = cases->apart,
                         .known = cases->known || (algorithm && (algorithm->flags & NBCOLL_ALGORITHM_COUNTS))};
}

void command_refuse_case(const command *self, const nbcoll_case *c, nbcoll_status why)
{
    if (why == NBCOLL_ERR_ROOT)
        command_refuse(self, "--root %d: %s of %d ranks has no such root", c->root, nbcoll_operation_name(c->operation),
                       c->ranks);
    if (why == NBCOLL_ERR_OP)
        command_refuse(self, "--op %s: %s has no such reduction", nbcoll_op_name(c->reduction.op),
                       nbcoll_type_name(c->reduction.type));
    if (why == NBCOLL_ERR_COUNT)
        command_refuse(self, "--count %zu: too many bytes for %d ranks", c->count, c->ranks);
    command_refuse(self, "%s", nbcoll_status_text(why));
}

static void say_error(void *user, nbcoll_status why, const char *text)
{
    (void)why;
    command_say(user, "%s", text);
}

nbcoll_host command_host(const command *self)
{
    return (nbcoll_host){.size = sizeof(nbcoll_host), .user = (void *)(uintptr_t)self, .log = say_error};
}

int command_write(void *user, const char *text, size_t bytes)
{
    return fwrite(text, 1, bytes, user) != bytes;
}

/* ---- how ranks are placed on nodes ------------------------------------------------------------------------------- */

/* "4x8": four of eight ranks; or "3,1,4". 0: it is neither. */
static int take_sizes(command_cases *cases, const char **at)
{
    size_t rooms[COMMAND_ROOMS];
    const char *list = *at;
    unsigned long long nodes, room;
    cases->placement.rooms = 1;
    if (command_number_at(at, 1, MOST_ROOM, &nodes) && **at == 'x') {
        ++*at;
        if (!command_number_at(at, 1, MOST_ROOM, &room) || nodes * room > MOST_ROOM)
            return 0;
        cases->room[0] = (int)room;
        cases->placed = (int)(nodes * room);
        return 1;
    }
    *at = list;
    if (!command_numbers(at, 1, MOST_ROOM / COMMAND_ROOMS, rooms, COMMAND_ROOMS, &cases->placement.rooms) ||
        cases->placement.rooms > COMMAND_ROOMS)
        return 0;
    cases->placed = 0;
    for (size_t i = 0; i < cases->placement.rooms; i++)
        cases->placed += cases->room[i] = (int)rooms[i];
    return 1;
}

void command_take_nodes(const command *self, void *user, const char *value)
{
    command_cases *cases = user;
    const char *at = value;
    unsigned long long domain = 0;
    int is_right = take_sizes(cases, &at);
    cases->nodes_said = value;
    if (!cases->most) /* which --ranks behind this changes */
        cases->fewest = cases->most = cases->placed;
    if (is_right && *at == '/') {
        at++;
        is_right = command_number_at(&at, 1, MOST_ROOM, &domain);
    }
    cases->placement.size = sizeof cases->placement;
    cases->placement.domain = (int)domain;
    if (!is_right || *at)
        command_refuse(self, "--nodes takes sizes like 4x8 or 3,1,4, at most %d of them, or 4x8/2 with domains of two "
                       "ranks, not '%s'", COMMAND_ROOMS, value);
}

void command_take_numbering(const command *self, void *user, const char *value)
{
    command_cases *cases = user;
    static const char *const names[] = {"block", "round-robin", "random"};
    size_t length = strcspn(value, ":");
    unsigned long long seed = 1;
    int numbering = 0;
    while (numbering < 3 && (strlen(names[numbering]) != length || strncmp(value, names[numbering], length) != 0))
        numbering++;
    if (numbering == 3 || (value[length] && (numbering != NBCOLL_NUMBERING_RANDOM ||
                                             !command_number(value + length + 1, 0, UINT64_MAX, &seed))))
        command_refuse(self, "--numbering is block, round-robin or random[:SEED], not '%s'", value);
    cases->placement.numbering = (nbcoll_numbering)numbering;
    cases->placement.seed = seed;
    cases->numbering_said = value;
}

nbcoll_nodes *command_nodes(const command *self, const command_cases *cases, int ranks)
{
    nbcoll_placement placement = cases->placement;
    nbcoll_nodes *nodes = NULL;
    placement.room = cases->room;
    if (placement.rooms)
        command_fail_status(self, nbcoll_nodes_place(&placement, ranks, NULL, &nodes));
    return nodes;
}

char *command_nodes_text(const command_cases *cases, char text[COMMAND_NODES_TEXT])
{
    const char *sizes = cases->nodes_said, *numbering = sizes ? cases->numbering_said : NULL;
    snprintf(text, COMMAND_NODES_TEXT, "%s%s%s%s", sizes ? " --nodes " : "", sizes ? sizes : "",
             numbering ? " --numbering " : "", numbering ? numbering : "");
    return text;
}

/* ---- rules for selection ----------------------------------------------------------------------------------------- */

int command_rules_have_parameters(const command_rules *rules)
{
#define IS_GIVEN(name, flag) || rules->given.name
    return 0 COMMAND_PARAMETERS(IS_GIVEN);
}

nbcoll_rule command_rule(const nbcoll_choice *choice)
{
    return (nbcoll_rule){.algorithm = choice->algorithm, COMMAND_PARAMETERS_OF(choice)};
}

int command_same_choice(const nbcoll_choice *x, const nbcoll_choice *y)
{
#define IS_SAME(name, flag) && x->name == y->name
    return x->algorithm == y->algorithm COMMAND_PARAMETERS(IS_SAME);
}

void command_set_parameters(nbcoll_case *c, const nbcoll_choice *choice)
{
#define SET(name, flag) c->name = choice->name;
    COMMAND_PARAMETERS(SET)
}

json_t *command_parameters_object(const nbcoll_choice *choice)
{
    json_t *all = json_object();
#define ADD(name, flag) json_object_set_new(all, #name, json_integer((json_int_t)choice->name));
    COMMAND_PARAMETERS(ADD)
    return all;
}

json_t *command_level_object(const nbcoll_level *l)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "alpha_ns", (json_int_t)l->alpha_ns, "beta_ps",
                     (json_int_t)l->beta_ps, "overhead_ns", (json_int_t)l->overhead_ns, "gamma_ps",
                     (json_int_t)l->gamma_ps, "get_ns", (json_int_t)l->get_ns, "eager", (json_int_t)l->eager,
                     "eager_ps", (json_int_t)l->eager_ps);
}

void command_add_parameters(char *text, size_t room, const char *before, const nbcoll_choice *choice)
{
#define SAY(name, flag)                                                                                                \
    if (choice->name)                                                                                                  \
        command_add(text, room, "%s" #name " %zu", before, (size_t)choice->name);
    COMMAND_PARAMETERS(SAY)
}

static void rules_of_file(const command *self, command_rules *rules)
{
#ifdef NBCOLL_HAVE_TUNING
    nbcoll_tuning_problem problem = {.size = sizeof problem};
    nbcoll_tuning *tuning;
    size_t n;
    const nbcoll_algorithm *const *brought = catalogue_brought(&n);

    nbcoll_status status = nbcoll_tuning_read_with(NULL, rules->file, brought, n, &tuning, &problem);

    if (status && problem.line)
        command_refuse(self, "%s:%u: %s", rules->file, problem.line, problem.text);
    if (status)
        command_refuse(self, "%s: %s", rules->file, problem.text);
    for (size_t i = 0; i < tuning->count; i++)
        command_append(&rules->rules, &rules->count, &rules->room, &tuning->rules[i], sizeof *rules->rules);
    nbcoll_tuning_free(tuning);
#else
    command_refuse(self, "--tuning %s: this build cannot read tuning files", rules->file);
#endif
}

static void refuse_unread(const command *self, const nbcoll_rule *rule)
{
    if (nbcoll_rules_check(rule, 1, NULL) == NBCOLL_ERR_UNSUPPORTED)
        command_refuse(self, "%s %s does not read one of these parameters; see nbcoll info --algorithms",
                       nbcoll_operation_name(rule->algorithm->operation), rule->algorithm->name);
}

void command_rules_read(const command *self, command_rules *rules, nbcoll_operation operation)
{
    nbcoll_rule rule = command_rule(&rules->given);

    if (!rules->algorithm && command_rules_have_parameters(rules))
        command_refuse(self, "--segment, --arity, --ports, --split and --leaders go with an algorithm");
    if (rules->algorithm) {
        rule.algorithm = nbcoll_algorithm_find(operation, rules->algorithm); /* relays, too, which no list has */
        if (!rule.algorithm)
            rule.algorithm = command_find_algorithm(self, operation, rules->algorithm);
        refuse_unread(self, &rule);
        command_append(&rules->rules, &rules->count, &rules->room, &rule, sizeof rule);
    }
    if (rules->file)
        rules_of_file(self, rules);
}

void command_rules_free(command_rules *rules)
{
    free(rules->rules);
}

void command_rules_words(const command *self, command_rules *rules, command_cases *cases, int words, char *word[])
{
    const char *algorithm = rules->algorithm ? rules->algorithm : words > 1 ? word[1] : "";
    int is_default = strcmp(algorithm, "default") == 0;

    if (words > 2 || (words > 1 && rules->algorithm))
        command_refuse(self, "one word too many: '%s'", word[rules->algorithm ? 1 : 2]);
    if (words < 1 && rules->algorithm)
        command_refuse(self, "--algorithm goes with an operation");
    if (words)
        cases->operation = (int)command_operation(self, *word);
    if (*algorithm && !is_default) {
        nbcoll_rule rule = command_rule(&rules->given);
        rule.algorithm = cases->algorithm = command_find_algorithm(self, (nbcoll_operation)cases->operation, algorithm);
        refuse_unread(self, &rule);
    }
    if (rules->file && !is_default)
        command_refuse(self, "--tuning goes with the algorithm default");
    if (!is_default)
        return;
    cases->is_default = 1;
    rules->algorithm = NULL;
    command_rules_read(self, rules, (nbcoll_operation)cases->operation);
}

/* ---- what they choose -------------------------------------------------------------------------------------------- */

nbcoll_terms command_terms(const command_rules *rules, const nbcoll_case *c)
{
    const nbcoll_comm_config usual = NBCOLL_COMM_DEFAULTS;
    const nbcoll_level near = {.alpha_ns = 350, .overhead_ns = 60, .beta_ps = 130, .gamma_ps = 40, .get_ns = 900,
                               .eager_ps = 180, .eager = 4096}; /* as transports/shm names them */
    nbcoll_terms terms = {.size = sizeof terms, .ranks = c->ranks, .shared = c->node >= c->ranks,
                          .between = {.alpha_ns = 300, .beta_ps = 80, .overhead_ns = 60, .eager = 4096},
                          .large = usual.large, .credits = NBCOLL_CREDITS,
                          .rules = rules->rules, .rule_count = rules->count};

    if (c->nodes && c->nodes->count == 1 && c->node == NBCOLL_CASE_BY_NODE)
        terms.shared = 1;
    if (c->nodes && c->nodes->count > 1) {
        terms.nodes = c->nodes;
        terms.nodes_share = c->node == NBCOLL_CASE_BY_NODE;
        terms.inside = near;
    }
    if (terms.shared) {
        terms.between = near;
        terms.staging = c->ranks > 64 ? 0 : c->ranks > 8 ? (32u << 20) / (uint32_t)c->ranks : 4u << 20;
    }
    return terms;
}

static void explain_choice(const command_rules *rules, const nbcoll_terms *terms, const nbcoll_args *a,
                           command_chosen *chosen)
{
    const nbcoll_choice *c = &chosen->choice;
    unsigned line = c->rule < terms->rule_count ? terms->rules[c->rule].line : 0;
    uint64_t ns = 0;

    if (c->reason == NBCOLL_REASON_RULE && line)
        snprintf(chosen->why, sizeof chosen->why, "%s:%u", rules->file, line);
    else if (c->reason == NBCOLL_REASON_COST && nbcoll_predict(terms, a, c->algorithm, &ns) == NBCOLL_OK)
        snprintf(chosen->why, sizeof chosen->why, "%" PRIu64 " ns", ns);
    else
        snprintf(chosen->why, sizeof chosen->why, "%s",
                 c->reason == NBCOLL_REASON_RULE ? "--algorithm" : nbcoll_reason_text(c->reason));
}

nbcoll_status command_choose(const command *self, const command_rules *rules, const nbcoll_terms *terms,
                             const nbcoll_case *c, command_chosen *out)
{
    size_t *counts = command_alloc((size_t)c->ranks, sizeof *counts);
    nbcoll_args a;
    nbcoll_status status = nbcoll_case_args(c, counts, &a);

    out->choice = (nbcoll_choice){.size = sizeof out->choice};
    if (status == NBCOLL_OK)
        status = nbcoll_select(terms, &a, &out->choice);
    if (status == NBCOLL_OK)
        explain_choice(rules, terms, &a, out);
    free(counts);
    if (status && self)
        command_refuse_case(self, c, status);
    return status;
}

const char *command_algorithm_text(const nbcoll_choice *choice, char text[COMMAND_NAME])
{
    snprintf(text, COMMAND_NAME, "%s", choice->algorithm->name);
    command_add_parameters(text, COMMAND_NAME, " ", choice);
    return text;
}
