/* SPDX-License-Identifier: BSD-3-Clause
 * Rules for selection from the arguments of a subcommand. */

#ifdef NBCOLL_HAVE_TUNING
#include <nbcoll/tuning.h>
#endif

#include "rules.h"

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
    rules->rules = NULL;
    rules->count = rules->room = 0;
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
                               .eager_ps = 180, .eager = usual.eager}; /* as transports/shm names them */
    nbcoll_terms terms = {.size = sizeof terms, .ranks = c->ranks, .shared = c->node >= c->ranks,
                          .between = {.alpha_ns = 300, .beta_ps = 80, .overhead_ns = 60, .eager = usual.eager},
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

nbcoll_status command_choose(const command_rules *rules, const nbcoll_terms *terms, const nbcoll_case *c,
                             command_chosen *out)
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
    return status;
}

const char *command_algorithm_text(const nbcoll_choice *choice, char text[COMMAND_NAME])
{
    snprintf(text, COMMAND_NAME, "%s", choice->algorithm->name);
    command_add_parameters(text, COMMAND_NAME, " ", choice);
    return text;
}

const char *command_chosen_text(const command_chosen *chosen, char text[288])
{
    snprintf(text, 288, "%s %s", nbcoll_reason_name(chosen->choice.reason), chosen->why);
    return text;
}
