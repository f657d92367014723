/* SPDX-License-Identifier: BSD-3-Clause
 * What reductions cost by nodes, and by domains. */
#include "cost.h"

/* In how many pieces a vector goes where `segment` says so. */
static uint64_t nbcolli_cost_nodes_pieces(const nbcolli_cost_call *c)
{
    return c->segment > 1 && c->bytes > c->segment ? (c->bytes + c->segment - 1) / c->segment : 1;
}

/* Leaders reduce n bytes. *own: what their ranks work for that; *beside: how long the ways to their nodes are taken. */
static nbcolli_cost_time nbcolli_cost_nodes_combine(const nbcolli_cost_call *leaders, uint64_t n, int is_shared_out,
                                                    nbcolli_cost_time *own, nbcolli_cost_time *beside)
{
    uint64_t others = leaders->ranks - 1, m = is_shared_out ? n / leaders->ranks : n;
    uint64_t levels = (uint64_t)nbcoll_rounds((int)leaders->ranks), far = (uint64_t)nbcoll_rounds((int)leaders->nodes);
    uint64_t crowd = leaders->are_blocks && !is_shared_out ? 1 : leaders->node;
    const nbcolli_cost_level one = nbcolli_cost_crowd(leaders, 1), l = nbcolli_cost_crowd(leaders, crowd);
    uint64_t posts = m > l.eager ? 3 : 1;

    if (is_shared_out) {
        nbcolli_cost_time home = nbcolli_cost_train(leaders, others, m, 1, 0, 1);
        *own = others * (m * leaders->gamma + 3 * posts * l.overhead);
        *beside = nbcolli_cost_train(leaders, others, m, 2, 0, crowd) + home - (others ? l.alpha + one.alpha : 0);
        return nbcolli_cost_train(leaders, others, m, 2, m, crowd) + home;
    }
    nbcolli_cost_call between = *leaders;
    between.node = 1;
    *own = levels * (n * leaders->gamma + posts * l.overhead);
    *beside = nbcolli_cost_train(&between, far, n, 1, 0, crowd) - (far ? l.alpha : 0);
    return nbcolli_cost_binomial(leaders, leaders->ranks, n, 0, n, 1);
}

/* In pieces, leaders reduce one while they combine the next of their nodes; what is announced waits till an operand of
 * that is done. */
nbcolli_cost_time nbcolli_cost_nodes_reduce(const nbcolli_cost_call *c)
{
    uint64_t pieces = nbcolli_cost_nodes_pieces(c), n = c->bytes / pieces;
    nbcolli_cost_call leaders = nbcolli_cost_leaders(c, n), part = nbcolli_cost_part(c);
    nbcolli_cost_time here = nbcolli_cost_nodes_fetch(&part, part.ranks - 1, n, n, n), own, beside;
    int is_shared_out = c->bytes > NBCOLLI_COST_NODES_LONG;
    uint64_t message = is_shared_out ? n / leaders.ranks : n;
    here += part.ranks > 1 ? n * c->copy : 0;
    nbcolli_cost_time sum = here + nbcolli_cost_nodes_combine(&leaders, n, is_shared_out, &own, &beside);
    own += part.ranks > 1 && message > c->between.eager ? n * (c->inside.beta + c->gamma) : 0;
    return sum + (pieces - 1) * nbcolli_cost_later(here + own, beside);
}

/* What leaders of a node do among each other: `times` they exchange n bytes, and combine `worked`. */
static nbcolli_cost_time nbcolli_cost_nodes_near(const nbcolli_cost_call *c, uint64_t n, uint64_t times,
                                                 uint64_t worked)
{
    return times * nbcolli_cost_moved(&c->inside, n, NBCOLLI_COST_BOTH) + worked * c->gamma;
}

/* In pieces, leaders exchange one with other nodes while they combine the next of their own, and these take the one
 * before. */
nbcolli_cost_time nbcolli_cost_nodes_allreduce(const nbcolli_cost_call *c)
{
    uint64_t pieces = nbcolli_cost_nodes_pieces(c), n = c->bytes / pieces, far = (uint64_t)nbcoll_rounds((int)c->nodes);
    nbcolli_cost_call leaders = nbcolli_cost_leaders(c, n), part = nbcolli_cost_part(c);
    uint64_t rounds = 63 - (uint64_t)__builtin_clzll(leaders.ranks);
    const nbcolli_cost_level fold = nbcolli_cost_pairs(&leaders, 1, 2), l = nbcolli_cost_crowd(&leaders, leaders.node);
    int is_folded = leaders.ranks > UINT64_C(1) << rounds, is_long = c->bytes > NBCOLLI_COST_NODES_LONG;
    nbcolli_cost_time here = nbcolli_cost_nodes_fetch(&part, part.ranks - 1, n, n, n) + n * c->copy;
    nbcolli_cost_time there = is_folded ? 2 * nbcolli_cost_message(&fold, n) + n * c->gamma : 0;
    there += is_long ? nbcolli_cost_halving(&leaders, 1, 1) + nbcolli_cost_halving(&leaders, 0, 1)
                     : nbcolli_cost_rounds(&leaders, rounds, n, n, 0);
    uint64_t posts = 4 * rounds * (n / leaders.node > l.eager ? 3 : 1), near = rounds > far ? rounds - far : 0;
    uint64_t left = is_long ? n >> near : n; /* of a leader, for other nodes */
    nbcolli_cost_time first =
        is_long ? nbcolli_cost_nodes_near(c, n - left, 2, n - left) : nbcolli_cost_nodes_near(c, n, near, near * n);
    nbcolli_cost_time own = (is_long ? left : far * n) * c->gamma + posts * l.overhead;
    nbcolli_cost_time beside = (is_long ? 2 * n / leaders.node : far * n) * l.beta;
    beside += is_folded ? 2 * n * fold.beta : 0;
    return here + there + nbcolli_cost_nodes_show(&part, n, n) +
           (pieces - 1) * (here + first + nbcolli_cost_later(own, beside));
}

nbcolli_cost_time nbcolli_cost_nodes_reduce_scatter(const nbcolli_cost_call *c, int is_ordered)
{
    nbcolli_cost_call leaders = nbcolli_cost_leaders(c, c->bytes), part = nbcolli_cost_part(c);
    uint64_t n = c->bytes, m = n / c->ranks, own = m * part.ranks;
    nbcolli_cost_time sum = nbcolli_cost_nodes_fetch(&part, part.ranks - 1, n, n, n) + n * c->copy;
    uint64_t power = (uint64_t)nbcoll_power((int)leaders.ranks);
    const nbcolli_cost_level fold = nbcolli_cost_pairs(&leaders, 1, 2);
    if (is_ordered)
        sum += nbcolli_cost_binomial(&leaders, leaders.ranks, n, 0, n, 1) +
               nbcolli_cost_binomial(&leaders, leaders.ranks, 0, own, 0, 0);
    else
        sum += nbcolli_cost_halving(&leaders, 1, 0) + own * c->copy + (c->are_blocks ? 0 : n * c->copy);
    if (!is_ordered && leaders.ranks > power)
        sum += nbcolli_cost_message(&fold, n) + n * c->gamma + nbcolli_cost_message(&fold, own);
    return sum + nbcolli_cost_nodes_show(&part, m, own - m) + m * c->copy;
}

/* The last rank of a node combines most, and then waits for the nodes below. In pieces, it scans one with the other
 * leaders after it has combined all of its node: beside the ways to others goes on what it combines of theirs. */
nbcolli_cost_time nbcolli_cost_nodes_scan(const nbcolli_cost_call *c)
{
    uint64_t pieces = nbcolli_cost_nodes_pieces(c), n = c->bytes / pieces;
    nbcolli_cost_call leaders = nbcolli_cost_leaders(c, n), part = nbcolli_cost_part(c), between = leaders;
    uint64_t rounds = (uint64_t)nbcoll_rounds((int)leaders.ranks), far = (uint64_t)nbcoll_rounds((int)leaders.nodes);
    uint64_t near = rounds - far;
    const nbcolli_cost_level l = nbcolli_cost_crowd(&leaders, leaders.node);
    between.node = 1;
    nbcolli_cost_time here = nbcolli_cost_nodes_fetch(&part, part.ranks - 1, n, n, n);
    here += part.ranks > 1 ? 0 : n * c->copy;
    nbcolli_cost_time all = nbcolli_cost_rounds(&leaders, rounds, n, 2 * n, 0) - n * c->gamma;
    nbcolli_cost_time own = 2 * far * ((n > l.eager ? 3 : 1) * l.overhead + n * c->gamma);
    nbcolli_cost_time beside = nbcolli_cost_train(&between, far, n, 1, 0, leaders.node) - (far ? l.alpha : 0);
    nbcolli_cost_time first = here + nbcolli_cost_nodes_near(c, n, near, near ? (2 * near - 1) * n : 0);
    return here + all + nbcolli_cost_nodes_show(&part, n, n) + (pieces - 1) * (first + nbcolli_cost_later(own, beside));
}

/* ---- by domains -------------------------------------------------------------------------------------------------- */

nbcolli_cost_time nbcolli_cost_domains_reduce(const nbcolli_cost_call *c)
{
    nbcolli_cost_call domain = nbcolli_cost_domain(c), heads = nbcolli_cost_heads(c);
    uint64_t n = c->bytes;
    return nbcolli_cost_nodes_fetch(&domain, domain.ranks - 1, n, n, n) + n * c->copy +
           nbcolli_cost_nodes_reduce(&heads);
}

nbcolli_cost_time nbcolli_cost_domains_allreduce(const nbcolli_cost_call *c)
{
    nbcolli_cost_call domain = nbcolli_cost_domain(c), heads = nbcolli_cost_heads(c);
    uint64_t n = c->bytes;
    return nbcolli_cost_nodes_fetch(&domain, domain.ranks - 1, n, n, n) + n * c->copy +
           nbcolli_cost_nodes_allreduce(&heads) + nbcolli_cost_nodes_show(&domain, n, n);
}
