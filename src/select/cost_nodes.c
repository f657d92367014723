/* SPDX-License-Identifier: BSD-3-Clause
 * What hierarchical algorithms cost: a node's phase at the prices inside one, another algorithm between its leaders,
 * and what the ranks of a node get from theirs. The limits are those of src/algorithms/..._hierarchical.c. */
#include "cost.h"

nbcolli_cost_call nbcolli_cost_leaders(const nbcolli_cost_call *c, uint64_t bytes)
{
    nbcolli_cost_call l = *c;
    l.node = c->leaders < c->node ? c->leaders : c->node;
    l.ranks = c->nodes * l.node;
    l.bytes = bytes;
    l.are_blocks = c->are_blocks || l.node == 1;
    l.shared = 0;
    return l;
}

nbcolli_cost_call nbcolli_cost_part(const nbcolli_cost_call *c)
{
    nbcolli_cost_call p = *c;
    uint64_t leaders = c->leaders < c->node ? c->leaders : c->node;
    p.ranks = (c->node + leaders - 1) / leaders;
    p.nodes = 1;
    p.shared = c->nodes_share;
    return p;
}

nbcolli_cost_time nbcolli_cost_nodes_fetch(const nbcolli_cost_call *part, uint64_t count, uint64_t bytes,
                                           uint64_t exposed, uint64_t worked)
{
    return part->shared ? nbcolli_cost_fetches(part, count, bytes, exposed, worked)
                        : nbcolli_cost_train(part, count, bytes, 1, worked, 1);
}

nbcolli_cost_time nbcolli_cost_nodes_show(const nbcolli_cost_call *part, uint64_t bytes, uint64_t exposed)
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

/* ---- by domains -------------------------------------------------------------------------------------------------- */

nbcolli_cost_call nbcolli_cost_domain(const nbcolli_cost_call *c)
{
    nbcolli_cost_call d = *c;
    d.ranks = c->domain;
    d.nodes = 1;
    d.inside = c->near;
    d.shared = c->nodes_share;
    return d;
}

nbcolli_cost_call nbcolli_cost_heads(const nbcolli_cost_call *c)
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
