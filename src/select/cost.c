/* SPDX-License-Identifier: BSD-3-Clause
 * What an algorithm costs, with which parameters: its formula, which stands with its collective, for the terms of a
 * communicator. An algorithm that has no formula is never chosen for its cost: on the machines that
 * test/simulate/test_penalty.c simulates, another one is as fast, or nearly. */
#include "cost.h"

#include "../host/crowding.h"

/* What is tried for a parameter: the one that is given, or else these; by nodes also 0, the algorithm's own default,
 * and an arity of 1. One that the algorithm does not read is not tried. Segments, in fourths: as long as a message can
 * be that is not announced, 4, 16 and 64 times as long; by nodes, which show pieces beside messages, also a fourth. */
#define NBCOLLI_COST_TRIALS 7
#define NBCOLLI_COST_PARAMETERS 4
static const unsigned nbcolli_cost_trials[NBCOLLI_COST_PARAMETERS][NBCOLLI_COST_TRIALS] = {
    {0, 1, 2, 3, 4, 6, 8}, {0, 1, 2, 3, 4, 6, 8}, {0, 1, 2, 4, 8, 8, 8}, {1, 4, 16, 64, 256, 256, 256}};

/* Of the values of a parameter the one with this number, counted from 0; 0 if there is none, which is not counted. */
static int nbcolli_cost_trial(uint64_t *out, int which, uint64_t given, uint32_t is_read, int has_default, int i)
{
    int first = which != 2 && has_default ? 0 : which ? 1 : 2;
    const unsigned *trials = nbcolli_cost_trials[which] + first;
    int is_one = given || !is_read;
    *out = is_one ? (given ? given : 1) : trials[i];
    return is_one ? i == 0 : i < NBCOLLI_COST_TRIALS - first && (i == 0 || trials[i] != trials[i - 1]);
}

/* Puts a combination of parameters into c: `at` has the number of each. Those whose number is one too many begin anew,
 * and the next goes on; 0: that was the last. */
static int nbcolli_cost_turn(nbcolli_cost_call *c, const nbcoll_choice *given, uint32_t flags,
                             int at[NBCOLLI_COST_PARAMETERS])
{
    uint64_t *const out[] = {&c->arity, &c->ports, &c->leaders, &c->segment};
    const uint64_t said[] = {given->arity, given->ports, given->leaders, given->segment};
    static const uint32_t reads[] = {NBCOLL_ALGORITHM_ARITY, NBCOLL_ALGORITHM_PORTS, NBCOLL_ALGORITHM_LEADERS,
                                     NBCOLL_ALGORITHM_SEGMENT};
    for (int i = 0; i < NBCOLLI_COST_PARAMETERS; i++) {
        int has_default = (flags & NBCOLL_ALGORITHM_NODES) != 0;
        if (nbcolli_cost_trial(out[i], i, said[i], flags & reads[i], has_default, at[i]))
            continue;
        if (i + 1 == NBCOLLI_COST_PARAMETERS)
            return 0;
        at[i] = 0;
        at[i + 1]++;
        nbcolli_cost_trial(out[i], i, said[i], flags & reads[i], has_default, 0);
    }
    if (!given->segment && (flags & NBCOLL_ALGORITHM_SEGMENT))
        c->segment = c->segment * (c->between.eager ? c->between.eager : 4096) / 4;
    return 1;
}

static nbcolli_cost_level nbcolli_cost_level_of(const nbcoll_level *l)
{
    return (nbcolli_cost_level){.alpha = (nbcolli_cost_time)l->alpha_ns * 1000,
                                .overhead = (nbcolli_cost_time)l->overhead_ns * 1000,
                                .beta = l->beta_ps,
                                .get = (nbcolli_cost_time)l->get_ns * 1000,
                                .fetch = (nbcolli_cost_time)(l->fetch_ns ? l->fetch_ns : l->get_ns) * 1000,
                                .copied = l->eager_ps,
                                .gap = (nbcolli_cost_time)l->gap_ns * 1000,
                                .eager = l->eager,
                                .ways = 1};
}

static uint64_t nbcolli_cost_largest(const nbcoll_nodes *nodes)
{
    uint64_t most = 1;
    for (int i = 0; i < nodes->count; i++)
        most = (uint64_t)nbcoll_node_size(nodes, i) > most ? (uint64_t)nbcoll_node_size(nodes, i) : most;
    return most;
}

/* What they say of domains. Nodes have about as many each. */
static void nbcolli_cost_know_domains(nbcolli_cost_call *c, const nbcoll_terms *t)
{
    const nbcoll_nodes *domains = t->nodes ? nbcoll_nodes_domains(t->nodes) : NULL;
    if (!domains)
        return;
    c->near = t->domain.eager ? nbcolli_cost_level_of(&t->domain) : c->inside;
    c->near.by_cores = c->inside.by_cores;
    c->domains = (uint64_t)domains->count;
    c->domain = nbcolli_cost_largest(domains);
    c->parts = (c->domains + c->nodes - 1) / c->nodes;
}

/* What the terms say of messages and nodes. */
static nbcolli_cost_call nbcolli_cost_of(const nbcoll_terms *t)
{
    const nbcoll_nodes *nodes = t->nodes;
    const nbcoll_level between = nbcolli_level_known(t->between);
    nbcolli_cost_call c = {.between = nbcolli_cost_level_of(&between),
                           .gamma = between.gamma_ps,
                           .copy = between.copy_ps,
                           .table = (nbcolli_cost_time)t->table_ns * 1000,
                           .credits = t->credits,
                           .staging = t->staging,
                           .part = t->staging_part ? t->staging_part : UINT64_MAX,
                           .ranks = (uint64_t)t->ranks,
                           .nodes = 1,
                           .turns = 1,
                           .node = (uint64_t)t->ranks,
                           .are_blocks = 1,
                           .interfaces = t->interfaces,
                           .shared = t->shared,
                           .nodes_share = t->nodes_share};
    c.inside = c.between;
    c.inside.by_cores = t->shared;
    if (nodes && nodes->count > 1 && t->inside.eager) {
        c.inside = nbcolli_cost_level_of(&t->inside);
        c.inside.by_cores = t->nodes_share;
        c.nodes = (uint64_t)nodes->count;
        c.are_blocks = nodes->are_blocks;
        c.node = nbcolli_cost_largest(nodes);
    } else if (t->shared && t->ranks_per_core > 1)
        c.turns = t->ranks_per_core < NBCOLLI_CORES ? t->ranks_per_core : NBCOLLI_CORES;
    nbcolli_cost_know_domains(&c, t);
    return c;
}

/* Is this what the algorithm is for? By nodes, and domains in them, there are to be several; those that keep rank order
 * are the flat ones where no neighbours share a node; and what exposes memory exposes it to all, or inside nodes. */
static int nbcolli_cost_is_meant(const nbcolli_cost_call *c, const nbcoll_algorithm *algorithm)
{
    int reduces = nbcolli_kind_of(algorithm->operation)->reduces;
    if (algorithm->flags & NBCOLL_ALGORITHM_DOMAINS)
        return c->domain > 1 && c->parts > 1 && c->nodes_share;
    if (algorithm->flags & NBCOLL_ALGORITHM_NODES)
        return c->nodes > 1 && c->node > 1 &&
               (c->are_blocks || !reduces || algorithm->flags & NBCOLL_ALGORITHM_REORDERS);
    return algorithm->flags < NBCOLL_ALGORITHM_EXPOSES(1) ||
           (c->shared && nbcolli_table_suffices(algorithm->flags, c->ranks));
}

uint64_t nbcolli_cost(const nbcoll_terms *terms, nbcolli_cost_formula *formula, nbcoll_choice *choice)
{
    uint32_t flags = choice->algorithm->flags;
    nbcolli_cost_call c = nbcolli_cost_of(terms);
    const nbcoll_choice given = *choice;
    nbcolli_cost_time least = 0;

    c.bytes = choice->bytes;
    if (c.staging && c.bytes >= NBCOLLI_STAGING_BEYOND)
        c.inside.beta = nbcolli_cost_later(c.inside.beta, 2 * c.copy); /* beyond the caches one core reads and writes */
    if (c.nodes < 2)
        c.between = c.inside;
    c.beyond = choice->algorithm->operation == NBCOLL_OPERATION_BCAST ? NBCOLLI_STAGING_BEYOND : UINT64_MAX;
    if (nbcolli_converges(choice->algorithm->operation))
        c.part = UINT64_MAX;
    int exchanges = choice->algorithm->operation == NBCOLL_OPERATION_ALLGATHER ||
                    choice->algorithm->operation == NBCOLL_OPERATION_ALLTOALL;
    c.rings = nbcolli_converges(choice->algorithm->operation) || c.beyond < UINT64_MAX || (exchanges && c.ranks > 2);
    if (!formula || !nbcolli_cost_is_meant(&c, choice->algorithm))
        return 0;
    for (int at[NBCOLLI_COST_PARAMETERS] = {0}; nbcolli_cost_turn(&c, &given, flags, at); at[0]++) {
        nbcolli_cost_time time = 1 + formula(&c); /* 1: to be known is not 0 */
        if (!time)                                /* NBCOLLI_NO_COST */
            return 0;
        if (least && least <= time)
            continue;
        least = time;
        choice->arity = flags & NBCOLL_ALGORITHM_ARITY ? (unsigned)c.arity : given.arity;
        choice->ports = flags & NBCOLL_ALGORITHM_PORTS ? (unsigned)c.ports : given.ports;
        choice->leaders = flags & NBCOLL_ALGORITHM_LEADERS ? (unsigned)c.leaders : given.leaders;
        choice->segment = flags & NBCOLL_ALGORITHM_SEGMENT ? (size_t)c.segment : given.segment;
    }
    return least > UINT64_MAX ? UINT64_MAX : (uint64_t)least;
}
