/* SPDX-License-Identifier: BSD-3-Clause
 * `nbcoll explain`: says which algorithm serves a call, and why. */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "rules.h"

typedef struct question {
    const command *self;
    command_cases cases;
    command_rules rules;
    nbcoll_terms terms; /* ranks and rules come last */
    int has_json;
    json_t *calls;         /* null unless --json */
    unsigned long answers; /* printed */
} question;

/* The options that are numbers of the terms. 1: it is none of them. */
static int take_number(const command *self, question *q, int option, const char *value)
{
    static const char letters[] = "abvl";
    static const char *const names[] = {"alpha", "beta", "overhead", "large"};
    unsigned long long number;
    const char *at = option < COMMAND_ALGORITHM ? strchr(letters, option) : NULL;

    if (!at)
        return 1;
    if (!command_number(value, 0, option == 'l' ? SIZE_MAX - 1 : UINT32_MAX, &number))
        return command_refuse(self, "--%s takes a number, not '%s'", names[at - letters], value);
    if (option == 'l')
        q->terms.large = (size_t)number;
    else
        *(option == 'a'   ? &q->terms.alpha_ns
          : option == 'b' ? &q->terms.beta_ps
                          : &q->terms.overhead_ns) = (uint32_t)number;
    return 0;
}

static int take_option(void *user, int option, const char *value)
{
    question *q = user;
    int status = 0;

    if (option == 'R')
        q->terms.flags |= NBCOLL_REPRODUCIBLE;
    else if (option == 'n')
        q->terms.shared = 1;
    else if (option == 'j')
        q->has_json = 1;
    else if ((status = take_number(q->self, q, option, value)) == 1 &&
             (status = command_rules_take(q->self, &q->rules, option, value)) == 1)
        status = command_take_option(q->self, &q->cases, option, value);
    return status;
}

static int take_arguments(question *q, int argc, char *argv[])
{
    static const struct option options[] = {
        {"ranks", required_argument, NULL, 'p'},
        {"count", required_argument, NULL, 'c'},
        {"type", required_argument, NULL, 't'},
        {"op", required_argument, NULL, 'o'},
        {"known", no_argument, NULL, 'k'},
        {"native", no_argument, NULL, 'n'},
        {"reproducible", no_argument, NULL, 'R'},
        {"alpha", required_argument, NULL, 'a'},
        {"beta", required_argument, NULL, 'b'},
        {"overhead", required_argument, NULL, 'v'},
        {"large", required_argument, NULL, 'l'},
        {"json", no_argument, NULL, 'j'},
        COMMAND_RULE_OPTIONS,
        {NULL, 0, NULL, 0},
    };
    int status = command_take_options(q->self, argc, argv, options, take_option, q);

    if (!status && argc - optind > 1)
        return command_refuse(q->self, "one word too many: '%s'", argv[optind + 1]);
    if (!status)
        status = command_take_words(q->self, &q->cases, argc - optind, argv + optind);
    if (!status && q->cases.operation < 0)
        status = command_refuse(q->self, "it takes an operation");
    if (!status && q->cases.fewest == 0)
        status = command_refuse(q->self, "--ranks is missing");
    return status ? status : command_rules_read(q->self, &q->rules, (nbcoll_operation)q->cases.operation);
}

/* ---- answers --------------------------------------------------------------------------------------------------- */

/* What the cost model says of all algorithms of the operation. */
static void print_costs(const question *q, const nbcoll_args *a)
{
    const nbcoll_algorithm *algorithm;

    printf("\nthe cost model: alpha %" PRIu32 " ns, beta %" PRIu32 " ps a byte, overhead %" PRIu32 " ns\n",
           q->terms.alpha_ns, q->terms.beta_ps, q->terms.overhead_ns);
    for (unsigned i = 0; (algorithm = nbcoll_algorithm_at(a->operation, i)); i++) {
        uint64_t ns;
        nbcoll_status status = nbcoll_predict(&q->terms, a, algorithm, &ns);
        if (status == NBCOLL_OK)
            printf("  %-20s %14" PRIu64 " ns\n", algorithm->name, ns);
        else
            printf("  %-20s %14s\n", algorithm->name, status == NBCOLL_ERR_OP ? "not for this op" : "not known");
    }
}

/* The same as an object; null where the model says nothing. */
static json_t *costs_object(const question *q, const nbcoll_args *a)
{
    const nbcoll_algorithm *algorithm;
    json_t *all = json_object();

    for (unsigned i = 0; (algorithm = nbcoll_algorithm_at(a->operation, i)); i++) {
        uint64_t ns;
        int is_known = nbcoll_predict(&q->terms, a, algorithm, &ns) == NBCOLL_OK;
        json_object_set_new(all, algorithm->name, is_known ? json_integer((json_int_t)ns) : json_null());
    }
    return all;
}

static json_t *call_object(const question *q, const nbcoll_case *at, const nbcoll_args *a, const command_chosen *chosen)
{
    const nbcoll_choice *c = &chosen->choice;
    return json_pack("{s:i, s:I, s:I, s:s, s:s, s:s, s:{s:I, s:i, s:i}, s:o}", "ranks", at->ranks, "count",
                     (json_int_t)at->count, "bytes", (json_int_t)c->bytes, "algorithm", c->algorithm->name, "reason",
                     nbcoll_reason_name(c->reason), "why", chosen->why, "parameters", "segment",
                     (json_int_t)c->segment, "arity", (int)c->arity, "ports", (int)c->ports, "costs",
                     costs_object(q, a));
}

/* A call: equal blocks, also where their counts are given. */
static nbcoll_status answer(question *q, const nbcoll_case *at, size_t counts[])
{
    command_chosen chosen;
    nbcoll_args a;
    nbcoll_status status = command_choose(&q->rules, &q->terms, at, &chosen);

    if (status == NBCOLL_OK)
        status = command_case_args(at, counts, &a);
    if (status != NBCOLL_OK)
        return status;
    if (q->calls) {
        json_array_append_new(q->calls, call_object(q, at, &a, &chosen));
        return NBCOLL_OK;
    }
    if (q->answers++ == 0)
        printf("%7s %12s %14s  %-20s %s\n", "ranks", "count", "bytes", "algorithm", "why");
    printf("%7d %12zu %14zu  %-20s %-7s %s\n", at->ranks, at->count, chosen.choice.bytes, chosen.choice.algorithm->name,
           nbcoll_reason_name(chosen.choice.reason), chosen.why);
    if (q->cases.fewest == q->cases.most && q->cases.counts == 1)
        print_costs(q, &a);
    return NBCOLL_OK;
}

static int answer_all(question *q)
{
    size_t *counts = malloc((size_t)q->cases.most * sizeof *counts);
    nbcoll_status status = counts ? NBCOLL_OK : NBCOLL_ERR_MEMORY;

    q->terms.rules = q->rules.rules;
    q->terms.rule_count = q->rules.count;
    for (int ranks = q->cases.fewest; ranks <= q->cases.most && status == NBCOLL_OK; ranks++)
        for (size_t i = 0; i < q->cases.counts && status == NBCOLL_OK; i++) {
            nbcoll_case at = command_case(&q->cases, NULL);
            at.count = q->cases.count[i];
            at.ranks = q->terms.ranks = ranks;
            status = answer(q, &at, counts);
        }
    free(counts);
    if (status == NBCOLL_ERR_OP)
        return command_refuse(q->self, "--op %s: %s has no such reduction", nbcoll_op_name(q->cases.reduction.op),
                              nbcoll_type_name(q->cases.reduction.type));
    if (status == NBCOLL_OK)
        return COMMAND_OK;
    command_refuse(q->self, "%s", nbcoll_status_text(status));
    return COMMAND_FAILED;
}

static void print_calls(const question *q)
{
    json_t *all = json_pack("{s:i, s:s, s:s, s:s, s:{s:I, s:I, s:I}, s:O}", "abi", (int)NBCOLL_ABI, "operation",
                            nbcoll_operation_name((nbcoll_operation)q->cases.operation), "type",
                            nbcoll_type_name(q->cases.reduction.type), "op", nbcoll_op_name(q->cases.reduction.op),
                            "model", "alpha", (json_int_t)q->terms.alpha_ns, "beta", (json_int_t)q->terms.beta_ps,
                            "overhead", (json_int_t)q->terms.overhead_ns, "calls", q->calls);
    json_dumpf(all, stdout, JSON_INDENT(2));
    puts("");
    json_decref(all);
}

static int run(const command *self, int argc, char *argv[])
{
    question q = {.self = self,
                  .cases = {.operation = -1, .counts = 1, .count = {1000}, .reduction = {NBCOLL_INT32, NBCOLL_SUM}}};
    q.terms = command_terms(&q.rules, &(nbcoll_case){.ranks = 1});
    q.terms.shared = 0;
    int status = take_arguments(&q, argc, argv);

    if (!status && q.has_json)
        q.calls = json_array();
    if (!status)
        status = answer_all(&q);
    if (!status && q.calls)
        print_calls(&q);
    json_decref(q.calls);
    command_rules_free(&q.rules);
    return status;
}

const command command_explain = {
    "explain",
    "says which algorithm serves a call, and why",
    "usage: nbcoll explain OPERATION --ranks P [OPTION...]\n\n"
    "Says which algorithm a communicator of P ranks chooses for the call, and which rule, cost or limit said so. Of\n"
    "one call, also what the cost model says of every algorithm.\n\n"
    "  --ranks P         or a range like 2..16\n"
    "  --count N         elements: of a block, or of the vector; or several, like 0,1,1000 (1000)\n"
    "  --type T          their type (INT32)\n"
    "  --op O            the reduction (SUM)\n"
    "  --known           gatherv, scatterv: all ranks pass all counts\n"
    "  --native          all ranks share memory\n"
    "  --reproducible    the communicator has NBCOLL_REPRODUCIBLE\n"
    "  --alpha NS, --beta PS, --overhead NS\n"
    "                    the cost model: a message, a byte, a post (300, 80, 60)\n"
    "  --large BYTES     the limit between small and large data, instead of the cost model\n"
    "  --algorithm A     this algorithm, where it may serve the call; with its parameters:\n"
    "  --segment N, --arity N, --ports N\n"
    "  --tuning FILE     the rules of a tuning file\n"
    "  --json            one object instead of the table\n",
    run,
    ":",
};
