/* SPDX-License-Identifier: BSD-3-Clause
 * What allgathers cost: exchanges among the first of groups of neighbours, and by nodes. */
#include "cost.h"

/* As many as the largest power of ports + 1. */
static uint64_t nbcolli_cost_groups(const nbcolli_cost_call *c, uint64_t ports)
{
    uint64_t groups = 1;
    while (groups * (ports + 1) <= c->ranks)
        groups *= ports + 1;
    return groups;
}

/* The ranks of a group, which are neighbours, among each other: `others` beside its first one. */
static nbcolli_cost_call nbcolli_cost_group(const nbcolli_cost_call *c, uint64_t others)
{
    nbcolli_cost_call near = *c;
    near.nodes = c->are_blocks && others < c->node ? 1 : c->nodes;
    return near;
}

/* The first rank of each group and its others, a message each. Of a group that lies on two nodes half are far. */
static nbcolli_cost_time nbcolli_cost_others(const nbcolli_cost_call *c, uint64_t groups, uint64_t bytes, uint64_t ends)
{
    uint64_t others = (c->ranks - 1) / groups;
    const nbcolli_cost_call near = nbcolli_cost_group(c, others);
    const nbcolli_cost_level far = nbcolli_cost_crowd(c, 1);
    nbcolli_cost_time here = nbcolli_cost_train(&near, others, bytes, ends, 0, c->node);
    return c->nodes < 2 || nbcolli_cost_is_whole(c, groups)
               ? here
               : nbcolli_cost_later(here, nbcolli_cost_train_of(&far, (others + 1) / 2, bytes, ends, 0));
}

/* Each group's first rank gets the others' blocks before, and gives them all of them. */
nbcolli_cost_time nbcolli_cost_exchange(const nbcolli_cost_call *c, uint64_t ports)
{
    uint64_t groups = nbcolli_cost_groups(c, ports), block = c->bytes / c->ranks;
    nbcolli_cost_time sum = block * c->copy + nbcolli_cost_others(c, groups, block, NBCOLLI_COST_TAKES);

    for (uint64_t have = 1; have < groups; have *= ports + 1) {
        const nbcolli_cost_level l = nbcolli_cost_partners(c, have, ports + 1, groups);
        sum += nbcolli_cost_train_of(&l, ports, have * (c->bytes / groups), 2, 0);
    }
    return sum + nbcolli_cost_others(c, groups, c->bytes, NBCOLLI_COST_SENDS);
}

/* No round waits for another: what a first rank posts, and what its messages take on the ways to other nodes and in its
 * own, go on beside each other. A block has a hop in each round. */
nbcolli_cost_time nbcolli_cost_pipelined(const nbcolli_cost_call *c, uint64_t ports)
{
    uint64_t groups = nbcolli_cost_groups(c, ports), block = c->bytes / c->ranks, others = (c->ranks - 1) / groups;
    const nbcolli_cost_call near = nbcolli_cost_group(c, others);
    const nbcolli_cost_level beside = nbcolli_cost_crowd(&near, c->node);
    uint64_t shown = others * (c->ranks - 2); /* blocks to those of the own group */
    nbcolli_cost_time own = shown * nbcolli_cost_own(&beside, block, 1, 0), hops = 0, far = 0;
    nbcolli_cost_time here = shown * nbcolli_cost_wire(&beside, block);

    for (uint64_t have = 1; have < groups; have *= ports + 1) {
        const nbcolli_cost_level l = nbcolli_cost_partners(c, have, ports + 1, groups);
        uint64_t messages = ports * have * c->ranks / groups;
        own += messages * nbcolli_cost_own(&l, block, 2, 0);
        far += messages * nbcolli_cost_wire(&l, block);
        hops += nbcolli_cost_message(&l, block);
    }
    nbcolli_cost_time most = near.nodes > 1 || c->nodes < 2 ? far + here : nbcolli_cost_later(far, here);
    return nbcolli_cost_train(&near, others, block, 1, 0, c->node) + hops + nbcolli_cost_later(own, most);
}

/* ---- by nodes ---------------------------------------------------------------------------------------------------- */

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
           c->bytes * c->copy +
           c->ranks * c->inside.overhead / 4;
}
