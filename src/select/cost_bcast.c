/* SPDX-License-Identifier: BSD-3-Clause
 * What broadcasts cost: down trees of any arity in segments, and by nodes. */
#include "cost.h"

/* The messages that reach a rank of a tree numbered level by level. A level's ranks are neighbours. */
static nbcolli_cost_level nbcolli_cost_branch(const nbcolli_cost_call *c, uint64_t rank, uint64_t parent)
{
    const nbcolli_cost_call some = nbcolli_cost_working(c, (parent + 1) * c->arity);
    if (c->are_blocks && rank < c->node)
        return some.inside;
    return nbcolli_cost_crowd(&some, nbcolli_cost_least(c->node, parent + 1));
}

/* To a rank of a tree of that arity, past its brothers. */
static nbcolli_cost_time nbcolli_cost_descent(const nbcolli_cost_call *c, uint64_t rank, uint64_t bytes)
{
    nbcolli_cost_time sum = 0;

    if (c->arity == 1) { /* too many levels to go through */
        nbcolli_cost_call chain = *c;
        chain.ranks = rank + 1;
        return nbcolli_cost_hops(&chain, bytes, 0);
    }
    for (uint64_t parent; rank; rank = parent) {
        parent = (rank - 1) / c->arity;
        const nbcolli_cost_level l = nbcolli_cost_branch(c, rank, parent);
        sum += nbcolli_cost_train_of(&l, (rank - 1) % c->arity + 1, bytes, 1, 0);
    }
    return sum;
}

/* To the last rank, or to the last one that has no younger brother and as many elder ones as can be; and from one
 * segment to the next. More segments than there are credits for are announced. */
nbcolli_cost_time nbcolli_cost_levels(const nbcolli_cost_call *c, uint64_t arity, uint64_t segments)
{
    uint64_t last = c->ranks - 1, bytes = c->bytes / segments, children = last < arity ? last : arity;
    uint64_t ends = children + (last > arity), full = (last - 1) / arity * arity;
    nbcolli_cost_call tree = *c;

    if (!last)
        return 0;
    tree.arity = arity;
    if (c->credits && segments > c->credits)
        tree.inside.eager = tree.between.eager = 0;
    const nbcolli_cost_level l = nbcolli_cost_crowd(&tree, arity == 1 && c->are_blocks ? 1 : c->node);
    nbcolli_cost_time work = ends * l.overhead, wire = children * nbcolli_cost_wire(&l, bytes);
    if (arity == 1 && c->are_blocks && c->node > 1) /* a chain goes through nodes, too */
        wire = nbcolli_cost_later(wire, nbcolli_cost_wire(&c->inside, bytes));
    nbcolli_cost_time first =
        nbcolli_cost_later(nbcolli_cost_descent(&tree, last, bytes), nbcolli_cost_descent(&tree, full, bytes));
    if (nbcolli_cost_is_long(&l, bytes)) /* announcing goes on beside the bytes of earlier segments, and waits behind */
        return first + (segments - 1) * (3 * work + l.get + wire);
    return first + (segments - 1) * nbcolli_cost_later(work, wire);
}

uint64_t nbcolli_cost_segments(const nbcolli_cost_call *c)
{
    return (uint64_t)nbcoll_segments(c->bytes, c->segment);
}

/* ---- by nodes ---------------------------------------------------------------------------------------------------- */

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

nbcolli_cost_time nbcolli_cost_domains_bcast(const nbcolli_cost_call *c)
{
    nbcolli_cost_call domain = nbcolli_cost_domain(c), heads = nbcolli_cost_heads(c);
    return nbcolli_cost_nodes_bcast(&heads) + nbcolli_cost_nodes_show(&domain, c->bytes, c->bytes);
}
