/* SPDX-License-Identifier: BSD-3-Clause
 * What rounds cost. */
#include "cost.h"

nbcolli_cost_time nbcolli_cost_doubling(const nbcolli_cost_call *c, uint64_t ports, uint64_t block)
{
    nbcolli_cost_time sum = 0;

    for (uint64_t have = 1; have < c->ranks; have *= ports + 1) {
        uint64_t left = c->ranks - have, messages = nbcolli_cost_least((left + have - 1) / have, ports);
        const nbcolli_cost_level l = nbcolli_cost_round(c, have * (messages + 1) / 2);
        sum += nbcolli_cost_train_of(&l, messages, nbcolli_cost_least(left, have) * block, 2, 0);
    }
    return sum;
}

nbcolli_cost_time nbcolli_cost_rounds(const nbcolli_cost_call *c, uint64_t rounds, uint64_t bytes, uint64_t worked,
                                      int is_shift)
{
    uint64_t left = nbcolli_cost_least(UINT64_C(1) << rounds, c->ranks); /* the others have folded */
    nbcolli_cost_time sum = rounds * worked * c->gamma;

    for (uint64_t i = 0; i < rounds; i++) {
        uint64_t distance = UINT64_C(1) << i;
        const nbcolli_cost_level l =
            is_shift ? nbcolli_cost_round(c, distance) : nbcolli_cost_partners(c, distance, 2, left);
        sum += nbcolli_cost_message(&l, bytes);
    }
    return sum;
}

nbcolli_cost_time nbcolli_cost_halving(const nbcolli_cost_call *c, uint64_t worked, int is_nearest_first)
{
    uint64_t power = (uint64_t)nbcoll_power((int)c->ranks);
    nbcolli_cost_time sum = 0;

    for (uint64_t parts = 2; parts <= c->ranks; parts *= 2) {
        const nbcolli_cost_level l = nbcolli_cost_partners(c, is_nearest_first ? parts / 2 : power / parts, 2, power);
        sum += nbcolli_cost_message(&l, c->bytes / parts) + worked * (c->bytes / parts) * c->gamma;
    }
    return sum;
}
