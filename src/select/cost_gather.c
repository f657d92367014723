/* SPDX-License-Identifier: BSD-3-Clause
 * What scatters and gathers cost by nodes. */
#include "cost.h"

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
