/* SPDX-License-Identifier: BSD-3-Clause
 * `nbcoll explain`: says which algorithm serves a call, and why. */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rules.h"

typedef struct question {
    command_cases cases;
    command_rules rules;
    nbcoll_terms terms;
} question;

/* The options that are numbers of the terms. 1: it is none of them. */
static int take_number(const command *self, question *q, int option, const char *value)
{
    static const char letters[] = "abvl";
    static const char *const names[] = {"alpha", "beta", "overhead", "large"};
    unsigned long long number;
    const char *at = strchr(letters, option);

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

static int take_options(const command *self, question *q, int argc, char *argv[])
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
        COMMAND_RULE_OPTIONS,
        {NULL, 0, NULL, 0},
    };
    int option, status = 0;
    while (!status && (option = command_next(self, argc, argv, options)) != -1) {
        if (option == '?')
            return COMMAND_USAGE;
        if (option == 'R')
            q->terms.flags |= NBCOLL_REPRODUCIBLE;
        else if (option == 'n')
            q->terms.shared = 1;
        else if ((status = take_number(self, q, option, optarg)) == 1 &&
                 (status = command_rules_take(self, &q->rules, option, optarg)) == 1)
            status = command_take_option(self, &q->cases, option, optarg);
    }
    if (!status && argc - optind > 1)
        return command_refuse(self, "one word too many: '%s'", argv[optind + 1]);
    return status ? status : command_take_words(self, &q->cases, argc - optind, argv + optind);
}

/* ---- answers --------------------------------------------------------------------------------------------------- */

static void print_choice(const question *q, const nbcoll_args *a, const nbcoll_choice *c, size_t count)
{
    char why[512] = "";
    uint64_t ns = 0;

    if (c->reason == NBCOLL_REASON_RULE)
        command_rules_origin(&q->rules, c->rule, why, sizeof why);
    else if (c->reason == NBCOLL_REASON_COST && nbcoll_predict(&q->terms, a, c->algorithm, &ns) == NBCOLL_OK)
        snprintf(why, sizeof why, "%" PRIu64 " ns", ns);
    else
        snprintf(why, sizeof why, "%s", nbcoll_reason_text(c->reason));
    printf("%7d %12zu %14zu  %-20s %-7s %s\n", q->terms.ranks, count, c->bytes, c->algorithm->name,
           nbcoll_reason_name(c->reason), why);
}

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

/* A call: equal blocks, also where their counts are given. */
static nbcoll_status answer(const question *q, size_t count, size_t counts[], int is_first, int is_only)
{
    nbcoll_args a = {.size = sizeof a, .operation = (nbcoll_operation)q->cases.operation, .count = count,
                     .reduction = q->cases.reduction};
    nbcoll_choice choice = {.size = sizeof choice};
    int ranks = q->terms.ranks, is_bound = a.operation == NBCOLL_OPERATION_GATHERV ||
                                           a.operation == NBCOLL_OPERATION_SCATTERV;

    for (int i = 0; i < ranks; i++)
        counts[i] = count;
    a.counts = is_bound && !q->cases.known ? NULL : counts;
    nbcoll_status status = nbcoll_args_complete(&a, 0, ranks);
    if (status == NBCOLL_OK)
        status = nbcoll_select(&q->terms, &a, &choice);
    if (status != NBCOLL_OK)
        return status;
    if (is_first)
        printf("%7s %12s %14s  %-20s %s\n", "ranks", "count", "bytes", "algorithm", "why");
    print_choice(q, &a, &choice, count);
    if (is_only)
        print_costs(q, &a);
    return NBCOLL_OK;
}

static int answer_all(const command *self, question *q)
{
    size_t *counts = malloc((size_t)q->cases.most * sizeof *counts);
    nbcoll_status status = counts ? NBCOLL_OK : NBCOLL_ERR_MEMORY;
    int is_only = q->cases.fewest == q->cases.most && q->cases.counts == 1;

    q->terms.rules = q->rules.rules;
    q->terms.rule_count = q->rules.count;
    for (int ranks = q->cases.fewest; ranks <= q->cases.most && status == NBCOLL_OK; ranks++)
        for (size_t i = 0; i < q->cases.counts && status == NBCOLL_OK; i++) {
            q->terms.ranks = ranks;
            status = answer(q, q->cases.count[i], counts, ranks == q->cases.fewest && i == 0, is_only);
        }
    free(counts);
    if (status == NBCOLL_ERR_OP)
        return command_refuse(self, "--op %s: %s has no such reduction", nbcoll_op_name(q->cases.reduction.op),
                              nbcoll_type_name(q->cases.reduction.type));
    if (status == NBCOLL_OK)
        return COMMAND_OK;
    command_refuse(self, "%s", nbcoll_status_text(status));
    return COMMAND_FAILED;
}

static int run(const command *self, int argc, char *argv[])
{
    question q = {.cases = {.operation = -1, .counts = 1, .count = {1000}, .reduction = {NBCOLL_INT32, NBCOLL_SUM}},
                  .terms = {.size = sizeof q.terms, .alpha_ns = 300, .beta_ps = 80, .overhead_ns = 60,
                            .large = NBCOLL_BY_COST}};
    int status = take_options(self, &q, argc, argv);

    if (!status && q.cases.operation < 0)
        status = command_refuse(self, "it takes an operation");
    if (!status && q.cases.fewest == 0)
        status = command_refuse(self, "--ranks is missing");
    if (!status)
        status = command_rules_read(self, &q.rules, (nbcoll_operation)q.cases.operation);
    if (!status)
        status = answer_all(self, &q);
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
    COMMAND_RULES_HELP,
    run,
    ":",
};
