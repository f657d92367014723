/* SPDX-License-Identifier: BSD-3-Clause
 * The rules of a communicator: checked, compared with a call, and hashed, so that its ranks can see that all have the
 * same ones. */
#include "../host/host.h"
#include "select.h"

/* Does the algorithm read the parameters that the rule has? */
static int nbcolli_rules_reads(const nbcoll_rule *rule)
{
    uint32_t flags = rule->algorithm->flags;
    return (!rule->segment || flags & NBCOLL_ALGORITHM_SEGMENT) && (!rule->arity || flags & NBCOLL_ALGORITHM_ARITY) &&
           (!rule->ports || flags & NBCOLL_ALGORITHM_PORTS) && (!rule->split || flags & NBCOLL_ALGORITHM_SPLIT) &&
           (!rule->leaders || flags & NBCOLL_ALGORITHM_LEADERS);
}

static nbcoll_status nbcolli_rules_check_one(const nbcoll_rule *rule)
{
    const nbcoll_algorithm *algorithm = rule->algorithm;

    if (!algorithm)
        return NBCOLL_ERR_NULL;
    if (algorithm->size < offsetof(nbcoll_algorithm, cost) || !algorithm->name || !algorithm->build ||
        (unsigned)algorithm->operation >= NBCOLL_OPERATION_COUNT)
        return NBCOLL_ERR_CONFIG;
    if (rule->fewest < 0 || rule->most < 0 || (rule->most && rule->most < rule->fewest) || rule->fewest_nodes < 0 ||
        rule->most_nodes < 0 || (rule->most_nodes && rule->most_nodes < rule->fewest_nodes) ||
        (rule->below && rule->below <= rule->from) || (unsigned)rule->sharing > NBCOLL_NOT_SHARED)
        return NBCOLL_ERR_CONFIG;
    return nbcolli_rules_reads(rule) ? NBCOLL_OK : NBCOLL_ERR_UNSUPPORTED;
}

nbcoll_status nbcoll_rules_check(const nbcoll_rule rules[], size_t n, size_t *which)
{
    size_t i = 0;
    nbcoll_status s = n > NBCOLL_RULES ? NBCOLL_ERR_LIMIT : n && !rules ? NBCOLL_ERR_NULL : NBCOLL_OK;

    while (s == NBCOLL_OK && i < n) {
        s = nbcolli_rules_check_one(&rules[i]);
        i += s == NBCOLL_OK;
    }
    if (s != NBCOLL_OK && which)
        *which = i;
    return s;
}

int nbcolli_rule_fits(const nbcoll_rule *rule, const nbcoll_terms *terms, nbcoll_operation operation, size_t bytes)
{
    int nodes = terms->nodes ? terms->nodes->count : 1;
    return rule->algorithm->operation == operation && terms->ranks >= rule->fewest &&
           (!rule->most || terms->ranks <= rule->most) && nodes >= rule->fewest_nodes &&
           (!rule->most_nodes || nodes <= rule->most_nodes) && bytes >= rule->from &&
           (!rule->below || bytes < rule->below) &&
           (rule->sharing == NBCOLL_ANY_SHARING || (rule->sharing == NBCOLL_SHARED) == (terms->shared != 0));
}

static uint64_t nbcolli_rules_mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

uint32_t nbcolli_rules_hash(const nbcoll_rule *rules, size_t n)
{
    uint64_t hash = n;

    for (size_t i = 0; i < n; i++) {
        const nbcoll_rule *r = &rules[i];
        const uint64_t members[] = {r->algorithm->operation, (uint64_t)r->fewest, (uint64_t)r->most, r->from, r->below,
                                    r->sharing, r->segment, r->arity, r->ports, r->split,
                                    r->leaders, (uint64_t)r->fewest_nodes, (uint64_t)r->most_nodes};
        for (size_t j = 0; j < sizeof members / sizeof *members; j++)
            hash = nbcolli_rules_mix(hash, members[j]);
        for (const char *c = r->algorithm->name; *c; c++)
            hash = nbcolli_rules_mix(hash, (unsigned char)*c);
    }
    uint32_t folded = (uint32_t)(hash ^ hash >> 32);
    return n && !folded ? 1 : folded;
}
