/* SPDX-License-Identifier: BSD-3-Clause
 * What trees cost. */
#include "cost.h"

/* Far messages go first: of ranks numbered node after node one of each node has them. */
nbcolli_cost_time nbcolli_cost_binomial(const nbcolli_cost_call *c, uint64_t ranks, uint64_t whole, uint64_t block,
                                        uint64_t worked, int is_up)
{
    if (ranks < 2)
        return 0;
    uint64_t low = (uint64_t)nbcoll_power((int)(ranks - 1)), high = ranks - low, bytes = whole + high * block;
    uint64_t crowd = c->are_blocks ? 1 : nbcolli_cost_least(c->node, c->ranks / (2 * low * c->nodes) + 1);
    uint64_t trees = (c->ranks + ranks - 1) / ranks; /* of that size, each with such a message */
    const nbcolli_cost_call some = nbcolli_cost_working(c, trees);
    const nbcolli_cost_level l = c->are_blocks && ranks <= c->node ? some.inside : nbcolli_cost_crowd(&some, crowd);
    nbcolli_cost_time far = nbcolli_cost_message(&l, bytes) + worked * some.gamma +
                            nbcolli_cost_binomial(c, high, whole, block, worked, is_up);
    if (high == low)
        return far;
    uint64_t ends = is_up ? NBCOLLI_COST_TAKES : NBCOLLI_COST_SENDS;
    return nbcolli_cost_later(far, nbcolli_cost_next(&l, bytes, ends, worked * some.gamma) +
                                       nbcolli_cost_binomial(c, low, whole, block, worked, is_up));
}

int nbcolli_cost_is_whole(const nbcolli_cost_call *c, uint64_t groups)
{
    for (uint64_t at = c->node; c->are_blocks && at < c->ranks; at += c->node)
        if (nbcoll_block_offset(c->ranks, (int)groups, nbcoll_block_holding(c->ranks, (int)groups, at)) != at)
            return 0;
    return 1;
}

/* The larger half each time. Of ranks numbered node after node groups lie in a node from where none is on two. */
nbcolli_cost_time nbcolli_cost_halves(const nbcolli_cost_call *c, uint64_t block)
{
    nbcolli_cost_time sum = 0;

    for (uint64_t group = c->ranks, groups = 1, half; group > 1; group = half, groups *= 2) {
        half = group - group / 2;
        uint64_t crowd = c->are_blocks ? 1 : nbcolli_cost_least(c->node, groups / c->nodes + 1);
        int is_inside = c->are_blocks && group <= c->node && nbcolli_cost_is_whole(c, groups);
        const nbcolli_cost_call some = nbcolli_cost_working(c, groups);
        const nbcolli_cost_level l = is_inside ? some.inside : nbcolli_cost_crowd(&some, crowd);
        sum += nbcolli_cost_message(&l, half * block);
    }
    return sum;
}
