/* SPDX-License-Identifier: BSD-3-Clause
 * The choice among the algorithms of an operation: by rule, by cost, by memory, by size, by what is left. */
#include "../host/host.h"
#include "../reduce/reduce.h"
#include "select.h"

#define NBCOLLI_SHARED_COMBINE 4096 /* bytes of a vector up to which one rank combines those of all, through slots */
#define NBCOLLI_USUAL_LARGE 65536   /* where neither a limit nor a cost is known */
#define NBCOLLI_USUAL_EAGER 4096    /* where the terms do not say */

/* Have its algorithms ARRIVAL_TOLERANT ones among them? */
static int nbcolli_choose_may_tolerate(nbcoll_operation operation)
{
    return operation == NBCOLL_OPERATION_BCAST || operation == NBCOLL_OPERATION_ALLGATHER ||
           operation == NBCOLL_OPERATION_ALLGATHERV;
}

/* Does the algorithm suit the arguments, and keep the tree of NBCOLL_REPRODUCIBLE, and tolerate late arrivals, where
 * that is asked for? */
static int nbcolli_choose_suits(const nbcoll_algorithm *algorithm, const nbcoll_args *a, uint32_t flags)
{
    int must_keep_tree = (flags & NBCOLL_REPRODUCIBLE) && nbcolli_kind_of(a->operation)->reduces;
    int must_tolerate = (flags & NBCOLL_ARRIVAL_TOLERANT) && nbcolli_choose_may_tolerate(a->operation);
    return nbcolli_algorithm_suits(algorithm, a) == NBCOLL_OK &&
           (!must_keep_tree || (algorithm->flags & NBCOLL_ALGORITHM_REPRODUCIBLE)) &&
           (!must_tolerate || (algorithm->flags & NBCOLL_ALGORITHM_ARRIVAL_TOLERANT));
}

/* Bytes that all ranks know alike, as rules count them. */
static size_t nbcolli_choose_bytes(const nbcoll_args *a, int ranks)
{
    const nbcolli_kind *kind = nbcolli_kind_of(a->operation);
    int has_blocks = kind->send[0] == NBCOLLI_ALL || kind->recv[0] == NBCOLLI_ALL;

    if (kind->blocks == NBCOLLI_OWN)
        return 0;
    return has_blocks && kind->blocks == NBCOLLI_EQUAL ? a->bytes * (size_t)ranks : a->bytes;
}

NBCOLLI_TELLS(nbcoll_reason_name, nbcoll_reason, NBCOLL_REASON_LIST, NBCOLLI_NAME_OF, "?")

NBCOLLI_TELLS(nbcoll_reason_text, nbcoll_reason, NBCOLL_REASON_LIST, NBCOLLI_TEXT_OF, "?")

static int nbcolli_choose_exposes(const nbcoll_algorithm *algorithm)
{
    return algorithm->flags >= NBCOLL_ALGORITHM_EXPOSES(1);
}

/* The first that suits and exposes memory, or does not; or null. */
static const nbcoll_algorithm *nbcolli_choose_first(const nbcolli_algorithms *among, const nbcoll_args *a,
                                                    uint32_t flags, int exposes)
{
    for (unsigned i = 0; i < among->count; i++) {
        const nbcoll_algorithm *algorithm = &among->algorithm[i];
        if (nbcolli_choose_suits(algorithm, a, flags) && nbcolli_choose_exposes(algorithm) == exposes &&
            !(algorithm->flags & NBCOLL_ALGORITHM_NODES))
            return algorithm;
    }
    return NULL;
}

/* Is exposing memory to all ranks worth a thought? A rank that combines gets large operands in many pieces, unless they
 * lie in their owners' staging buffers, or come through these. */
static int nbcolli_choose_may_expose(const nbcoll_terms *terms, const nbcoll_args *a, size_t bytes)
{
    int gets = nbcolli_kind_of(a->operation)->reduces && !terms->staging;
    return terms->shared && !(gets && bytes > NBCOLLI_SHARED_COMBINE);
}

/* Takes the cheapest that suits, with its parameters, if a cost is known. */
static int nbcolli_choose_by_cost(const nbcoll_terms *terms, const nbcoll_args *a, const nbcolli_algorithms *among,
                                  nbcoll_choice *c)
{
    int may_expose = nbcolli_choose_may_expose(terms, a, c->bytes);
    nbcoll_choice best = *c;
    uint64_t least = 0; /* none is known yet */

    for (unsigned i = 0; i < among->count; i++) {
        const nbcoll_algorithm *algorithm = &among->algorithm[i];
        nbcoll_choice one = *c;
        one.algorithm = algorithm;
        int needs_all = nbcolli_choose_exposes(algorithm) && !(algorithm->flags & NBCOLL_ALGORITHM_NODES);
        if (!nbcolli_choose_suits(algorithm, a, terms->flags) || (needs_all && !may_expose))
            continue;
        uint64_t cost = nbcolli_cost(terms, among->cost[i], &one);
        if (cost && (!least || cost < least)) {
            least = cost;
            best = one;
        }
    }
    *c = best;
    return least != 0;
}

/* Do relays carry out the call? The length decides, and what all ranks have opened alike. */
static int nbcolli_choose_are_relays_open(const nbcoll_terms *terms, const nbcoll_args *a)
{
    return nbcolli_algorithm_relays(a->operation) && a->bytes < terms->carries;
}

static int nbcolli_choose_by_rule(const nbcoll_terms *terms, const nbcoll_args *a, nbcoll_choice *c)
{
    for (c->rule = 0; c->rule < terms->rule_count; c->rule++) {
        const nbcoll_rule *rule = &terms->rules[c->rule];
        int by_relays = rule->algorithm == nbcolli_algorithm_relays(a->operation);
        if (!nbcolli_rule_fits(rule, terms, a->operation, c->bytes) ||
            !(by_relays ? nbcolli_choose_are_relays_open(terms, a)
                        : nbcolli_choose_suits(rule->algorithm, a, terms->flags)))
            continue;
        c->algorithm = rule->algorithm;
        NBCOLLI_TAKE_PARAMETERS(c, rule);
        return 1;
    }
    return 0;
}

/* Leaves the last levels of a tree to the ranks, where it is known how few cores drivers have for the others. */
static void nbcolli_choose_split(const nbcoll_terms *terms, const nbcoll_args *a, nbcoll_choice *c)
{
    int has_one_node = !terms->nodes || terms->nodes->count == 1;
    uint32_t most = INT32_MAX - (uint32_t)terms->ranks;

    if ((c->algorithm->flags & NBCOLL_ALGORITHM_SPLIT) && !c->split && terms->progress_cores && has_one_node) {
        uint32_t cores = terms->progress_cores < most ? terms->progress_cores : most;
        c->split = nbcoll_split_steps(a->operation, terms->ranks, terms->ranks + (int)cores);
    }
}

static void nbcolli_choose(const nbcoll_terms *terms, const nbcoll_args *a, const nbcolli_algorithms *among,
                           nbcoll_choice *c)
{
    c->reason = NBCOLL_REASON_RULE;
    if (nbcolli_choose_by_rule(terms, a, c))
        return;
    c->reason = NBCOLL_REASON_RELAYS;
    c->algorithm = nbcolli_choose_are_relays_open(terms, a) ? nbcolli_algorithm_relays(a->operation) : NULL;
    if (c->algorithm)
        return;
    c->reason = NBCOLL_REASON_COST;
    if (terms->large == NBCOLL_BY_COST && nbcolli_choose_by_cost(terms, a, among, c))
        return;
    c->reason = NBCOLL_REASON_SHARED;
    c->algorithm =
        nbcolli_choose_may_expose(terms, a, c->bytes) ? nbcolli_choose_first(among, a, terms->flags, 1) : NULL;
    if (c->algorithm)
        return;
    c->reason = NBCOLL_REASON_SIZE;
    size_t large = terms->large == NBCOLL_BY_COST ? NBCOLLI_USUAL_LARGE : terms->large;
    c->algorithm = c->bytes < large || among->count < 2 ? among->algorithm : among->algorithm + 1;
    if (nbcolli_choose_suits(c->algorithm, a, terms->flags) && !nbcolli_choose_exposes(c->algorithm))
        return;
    c->reason = NBCOLL_REASON_ONLY;
    c->algorithm = nbcolli_choose_first(among, a, terms->flags, 0);
}

/* Nothing chosen yet: what the arguments say. */
static nbcoll_choice nbcolli_choose_begin(const nbcoll_args *a, int ranks)
{
    return (nbcoll_choice){.arity = a->arity,
                           .ports = a->ports,
                           .split = a->split,
                           .leaders = a->leaders,
                           .segment = a->segment,
                           .bytes = nbcolli_choose_bytes(a, ranks)};
}

/* Reads terms and complete arguments into whole ones. */
static nbcoll_status nbcolli_choose_read(const nbcoll_terms *terms, const nbcoll_args *a, nbcoll_terms *t,
                                         nbcoll_args *args)
{
    if (!terms || !a)
        return NBCOLL_ERR_NULL;
    *t = (nbcoll_terms){.large = NBCOLL_BY_COST};
    *args = (nbcoll_args){0};
    if (nbcolli_copy_tagged(t, terms, sizeof *t) != NBCOLL_OK ||
        nbcolli_copy_tagged(args, a, sizeof *args) != NBCOLL_OK || a->size < offsetof(nbcoll_args, segment))
        return NBCOLL_ERR_CONFIG;
    if ((unsigned)args->operation >= NBCOLL_OPERATION_COUNT)
        return NBCOLL_ERR_ARGUMENT;
    if (!t->between.eager)
        t->between.eager = NBCOLLI_USUAL_EAGER;
    return t->ranks < 1 ? NBCOLL_ERR_RANK : NBCOLL_OK;
}

nbcoll_status nbcolli_select(const nbcoll_terms *terms, const nbcoll_args *args, const nbcolli_algorithms *among,
                             nbcoll_choice *out)
{
    nbcoll_terms t;
    nbcoll_args a;

    if (!out)
        return NBCOLL_ERR_NULL;
    nbcoll_status s = out->size < sizeof out->size ? NBCOLL_ERR_CONFIG : nbcolli_choose_read(terms, args, &t, &a);
    if (s == NBCOLL_OK)
        s = nbcoll_rules_check(t.rules, t.rule_count, NULL);
    if (s != NBCOLL_OK)
        return s;
    nbcoll_choice c = nbcolli_choose_begin(&a, t.ranks);
    c.size = out->size;
    nbcolli_choose(&t, &a, among, &c);
    if (!c.algorithm)
        return NBCOLL_ERR_UNSUPPORTED;
    nbcolli_choose_split(&t, &a, &c);
    memcpy(out, &c, c.size < sizeof c ? c.size : sizeof c);
    return NBCOLL_OK;
}

nbcoll_status nbcolli_predict(const nbcoll_terms *terms, const nbcoll_args *args, const nbcoll_algorithm *algorithm,
                              nbcolli_cost_formula *cost, uint64_t *ns)
{
    nbcoll_terms t;
    nbcoll_args a;

    if (!algorithm || !ns)
        return NBCOLL_ERR_NULL;
    nbcoll_status s = nbcolli_choose_read(terms, args, &t, &a);
    if (s == NBCOLL_OK && algorithm->operation != a.operation)
        s = NBCOLL_ERR_ARGUMENT;
    if (s == NBCOLL_OK)
        s = nbcolli_algorithm_suits(algorithm, &a);
    if (s != NBCOLL_OK)
        return s;
    if (algorithm->size >= sizeof *algorithm && algorithm->cost) {
        *ns = algorithm->cost(&t, &a);
        return *ns ? NBCOLL_OK : NBCOLL_ERR_UNSUPPORTED;
    }
    nbcoll_choice c = nbcolli_choose_begin(&a, t.ranks);
    c.algorithm = algorithm;
    uint64_t time = cost ? nbcolli_cost(&t, cost, &c) : 0;
    if (!time)
        return NBCOLL_ERR_UNSUPPORTED;
    *ns = time == UINT64_MAX ? time : time / 1000;
    return NBCOLL_OK;
}
