/* SPDX-License-Identifier: BSD-3-Clause
 * What alltoalls cost: by digits of the ranks' numbers, by turns, and by nodes. */
#include "cost.h"

/* In its turn, each block is of those whose number has that digit. */
nbcolli_cost_time nbcolli_cost_digits(const nbcolli_cost_call *c, uint64_t block)
{
    nbcolli_cost_time sum = 0;

    for (uint64_t distance = 1; distance < c->ranks; distance *= 2) {
        uint64_t rest = c->ranks % (2 * distance), bytes = c->ranks / (2 * distance) * distance;
        bytes = (bytes + (rest > distance ? rest - distance : 0)) * block;
        const nbcolli_cost_level l = nbcolli_cost_round(c, distance);
        sum += nbcolli_cost_message(&l, bytes) + bytes * c->copy;
    }
    return sum;
}

nbcolli_cost_time nbcolli_cost_turns(const nbcolli_cost_call *c, uint64_t bytes)
{
    uint64_t turns = c->ranks > 2 ? c->ranks : c->ranks - 1;
    uint64_t some = c->nodes > 1 && c->are_blocks ? nbcolli_cost_least(turns, 2 * c->node) : 0;
    const nbcolli_cost_level whole = nbcolli_cost_crowd(c, c->node);
    nbcolli_cost_time sum = (turns - some) * nbcolli_cost_message(&whole, bytes);

    for (uint64_t i = 1; i <= some; i++) { /* of the nearest, on both sides, some stay in the node */
        const nbcolli_cost_level l = nbcolli_cost_shift(c, (i + 1) / 2);
        sum += nbcolli_cost_message(&l, bytes);
    }
    return sum;
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
