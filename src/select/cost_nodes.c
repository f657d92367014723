/* SPDX-License-Identifier: BSD-3-Clause
 * What algorithms by nodes cost: a node's phase at the prices inside one, another algorithm between its leaders, and
 * what the ranks of a node get from theirs. The limits are those of src/algorithms/..._hierarchical.c. */
#include "cost.h"

#define NBCOLLI_COST_NODES_LONG 65536 /* bytes: of a piece of a broadcast, and from which on leaders share the work */

/* The leaders: of each node `leaders`, or all its ranks. */
static nbcolli_cost_call nbcolli_cost_leaders(const nbcolli_cost_call *c, uint64_t bytes)
{
    nbcolli_cost_call l = *c;
    l.node = c->leaders < c->node ? c->leaders : c->node;
    l.ranks = c->nodes * l.node;
    l.bytes = bytes;
    l.are_blocks = c->are_blocks || l.node == 1;
    l.shared = 0;
    return l;
}

/* The ranks of one leader. */
static nbcolli_cost_call nbcolli_cost_part(const nbcolli_cost_call *c)
{
    nbcolli_cost_call p = *c;
    uint64_t leaders = c->leaders < c->node ? c->leaders : c->node;
    p.ranks = (c->node + leaders - 1) / leaders;
    p.nodes = 1;
    p.shared = c->nodes_share;
    return p;
}

/* In how many pieces a vector goes where `segment` says so. */
static uint64_t nbcolli_cost_nodes_pieces(const nbcolli_cost_call *c)
{
    return c->segment > 1 && c->bytes > c->segment ? (c->bytes + c->segment - 1) / c->segment : 1;
}

/* Fetches inside a node; where it shares no memory, messages. */
static nbcolli_cost_time nbcolli_cost_nodes_fetch(const nbcolli_cost_call *part, uint64_t count, uint64_t bytes,
                                                  uint64_t exposed, uint64_t worked)
{
    return part->shared ? nbcolli_cost_fetches(part, count, bytes, exposed, worked)
                        : nbcolli_cost_train(part, count, bytes, 1, worked, 1);
}

/* Each rank but the leader takes the same bytes from it. */
static nbcolli_cost_time nbcolli_cost_nodes_show(const nbcolli_cost_call *part, uint64_t bytes, uint64_t exposed)
{
    uint64_t others = part->ranks - 1;
    return nbcolli_cost_nodes_fetch(part, part->shared ? others > 0 : others, bytes, exposed, 0);
}

nbcolli_cost_time nbcolli_cost_nodes_barrier(const nbcolli_cost_call *c)
{
    nbcolli_cost_call leaders = nbcolli_cost_leaders(c, 0), part = nbcolli_cost_part(c);
    return nbcolli_cost_nodes_fetch(&part, part.ranks - 1, 0, 0, 0) + nbcolli_cost_doubling(&leaders, 1, 0) +
           nbcolli_cost_nodes_show(&part, 0, 0);
}

/* In pieces, the root sends each to all its children before the next. */
nbcolli_cost_time nbcolli_cost_nodes_bcast(const nbcolli_cost_call *c)
{
    uint64_t piece = c->segment > 1 ? c->segment : NBCOLLI_COST_NODES_LONG;
    uint64_t pieces = c->bytes > piece ? (c->bytes + piece - 1) / piece : 1, bytes = c->bytes / pieces;
    nbcolli_cost_call leaders = nbcolli_cost_leaders(c, bytes), part = nbcolli_cost_part(c);
    uint64_t levels = (uint64_t)nbcoll_rounds((int)leaders.ranks), last = leaders.ranks - 1;
    uint64_t children = c->arity == 0 ? levels : c->arity < last ? c->arity : last, there = last / leaders.node;
    nbcolli_cost_time down = c->arity ? nbcolli_cost_levels(&leaders, c->arity, 1)
                                      : nbcolli_cost_binomial(&leaders, leaders.ranks, bytes, 0, 0, 0);
    nbcolli_cost_time shown = nbcolli_cost_nodes_show(&part, bytes, bytes);
    nbcolli_cost_call sender = leaders;
    nbcolli_cost_level l = nbcolli_cost_crowd(&leaders, leaders.node);
    sender.node = 1; /* its children are on other nodes, if there are so many */
    children = children < there ? children : there;
    nbcolli_cost_time sent = nbcolli_cost_train(&sender, children, bytes, 1, 0, leaders.node);
    sent -= children ? l.alpha : 0;
    nbcolli_cost_time taken = shown ? shown - part.inside.alpha : 0; /* by nobody, where all are leaders */
    return down + shown + (pieces - 1) * nbcolli_cost_later(sent, taken);
}

nbcolli_cost_time nbcolli_cost_nodes_scatter(const nbcolli_cost_call *c)
{
    nbcolli_cost_call leaders = nbcolli_cost_leaders(c, c->bytes), part = nbcolli_cost_part(c);
    uint64_t m = c->bytes / c->ranks;
    return (c->are_blocks ? 0 : c->bytes * c->copy) + (c->bytes - m * part.ranks) * c->copy +
           nbcolli_cost_binomial(&leaders, leaders.ranks, 0, m * part.ranks, 0, 0) +
           nbcolli_cost_nodes_show(&part, m, (part.ranks - 1) * m) + m * (part.ranks + 1) * c->copy;
}

nbcolli_cost_time nbcolli_cost_nodes_gather(const nbcolli_cost_call *c)
{
    nbcolli_cost_call leaders = nbcolli_cost_leaders(c, c->bytes), part = nbcolli_cost_part(c);
    uint64_t m = c->bytes / c->ranks;
    return nbcolli_cost_nodes_fetch(&part, part.ranks - 1, m, m, 0) + m * c->copy +
           nbcolli_cost_binomial(&leaders, leaders.ranks, 0, m * part.ranks, 0, 1) +
           (c->are_blocks ? 1 : 2) * c->bytes * c->copy - m * part.ranks * c->copy;
}

/* As leaders exchange what `bytes` of each come to. */
static nbcolli_cost_time nbcolli_cost_nodes_exchange(const nbcolli_cost_call *c, const nbcolli_cost_call *leaders)
{
    uint64_t m = leaders->bytes / leaders->ranks;
    if (c->ports) /* their own blocks are in their places */
        return nbcolli_cost_exchange(leaders, c->ports) - m * c->copy;
    if (leaders->bytes > NBCOLLI_COST_NODES_LONG)
        return nbcolli_cost_ring(leaders, m, 0);
    return m * c->copy + nbcolli_cost_doubling(leaders, 1, m) + leaders->bytes * c->copy;
}

nbcolli_cost_time nbcolli_cost_nodes_allgather(const nbcolli_cost_call *c, int is_sorted)
{
    nbcolli_cost_call leaders = nbcolli_cost_leaders(c, c->bytes), part = nbcolli_cost_part(c);
    uint64_t m = c->bytes / c->ranks;
    return nbcolli_cost_nodes_fetch(&part, part.ranks - 1, m, m, 0) + m * c->copy +
           nbcolli_cost_nodes_exchange(c, &leaders) + nbcolli_cost_nodes_show(&part, c->bytes, c->bytes) +
           (c->are_blocks && !is_sorted ? 0 : c->bytes * c->copy + c->ranks * c->inside.overhead / 4);
}

/* Each leader of a node is in another group; groups exchange at the same time. */
nbcolli_cost_time nbcolli_cost_nodes_groups(const nbcolli_cost_call *c, int is_sorted)
{
    uint64_t groups = c->leaders < c->node ? c->leaders : c->node, m = c->bytes / c->ranks;
    nbcolli_cost_call leaders = nbcolli_cost_leaders(c, c->bytes / groups), part = nbcolli_cost_part(c);
    if (groups == 1)
        return nbcolli_cost_nodes_allgather(c, is_sorted);
    leaders.between = nbcolli_cost_crowd(c, groups);
    leaders.interfaces = 0;
    leaders.node = 1;
    leaders.ranks = c->nodes;
    leaders.are_blocks = 1;
    return nbcolli_cost_nodes_fetch(&part, part.ranks - 1, m, m, 0) + m * c->copy +
           nbcolli_cost_nodes_exchange(c, &leaders) +
           nbcolli_cost_nodes_fetch(&part, part.shared ? groups - (part.ranks == 1) : c->node - 1, leaders.bytes,
                                    leaders.bytes, 0) + /* from each group's leader, or its own to all */
           c->bytes * c->copy + c->ranks * c->inside.overhead / 4;
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
    nbcolli_cost_time first = is_long ? nbcolli_cost_nodes_near(c, n - left, 2, n - left)
                                      : nbcolli_cost_nodes_near(c, n, near, near * n);
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

/* A leader copies each block on its own, and so its ranks' rows. */
nbcolli_cost_time nbcolli_cost_nodes_alltoall(const nbcolli_cost_call *c)
{
    nbcolli_cost_call leaders = nbcolli_cost_leaders(c, 0), part = nbcolli_cost_part(c);
    uint64_t m = c->bytes / c->ranks, row = c->bytes, own = part.ranks;
    return nbcolli_cost_nodes_fetch(&part, (own - 1) * leaders.ranks, m * own, row, 0) + row * c->copy +
           (c->are_blocks ? 0 : row * c->copy + c->ranks * c->inside.overhead / 4) +
           nbcolli_cost_train(&leaders, leaders.ranks - 1, m * own * own, 2, 0, leaders.node) +
           m * own * own * c->copy + own * (row * c->copy + c->ranks * c->inside.overhead / 4) +
           nbcolli_cost_nodes_show(&part, row, (own - 1) * row);
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

/* ---- by domains ------------------------------------------------------------------------------------------------ */

/* The ranks of one domain. */
static nbcolli_cost_call nbcolli_cost_domain(const nbcolli_cost_call *c)
{
    nbcolli_cost_call d = *c;
    d.ranks = c->domain;
    d.nodes = 1;
    d.inside = c->near;
    d.shared = c->nodes_share;
    return d;
}

/* The leaders of all domains. */
static nbcolli_cost_call nbcolli_cost_heads(const nbcolli_cost_call *c)
{
    nbcolli_cost_call h = *c;
    h.ranks = c->domains;
    h.node = c->parts;
    return h;
}

nbcolli_cost_time nbcolli_cost_domains_barrier(const nbcolli_cost_call *c)
{
    nbcolli_cost_call domain = nbcolli_cost_domain(c), heads = nbcolli_cost_heads(c);
    return nbcolli_cost_nodes_fetch(&domain, domain.ranks - 1, 0, 0, 0) + nbcolli_cost_nodes_barrier(&heads) +
           nbcolli_cost_nodes_show(&domain, 0, 0);
}

nbcolli_cost_time nbcolli_cost_domains_bcast(const nbcolli_cost_call *c)
{
    nbcolli_cost_call domain = nbcolli_cost_domain(c), heads = nbcolli_cost_heads(c);
    return nbcolli_cost_nodes_bcast(&heads) + nbcolli_cost_nodes_show(&domain, c->bytes, c->bytes);
}

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
