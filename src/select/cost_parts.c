/* SPDX-License-Identifier: BSD-3-Clause
 * The parts of the cost model's formulas. Messages in flight at the same time share the time of the ranks at their
 * ends, and where nodes share interfaces those: what leaves a node at a time goes one after the other. */
#include "cost.h"

/* ---- ways ------------------------------------------------------------------------------------------------------ */

static uint64_t nbcolli_cost_least(uint64_t x, uint64_t y)
{
    return x < y ? x : y;
}

nbcolli_cost_level nbcolli_cost_crowd(const nbcolli_cost_call *c, uint64_t crowd)
{
    if (c->nodes < 2)
        return c->inside;
    nbcolli_cost_level l = c->between;
    uint64_t turns = c->interfaces && crowd > c->interfaces ? (crowd + c->interfaces - 1) / c->interfaces : 1;
    l.alpha += (turns - 1) * l.gap;
    l.beta *= turns;
    l.gap *= turns;
    l.ways = crowd && c->interfaces > crowd ? c->interfaces / crowd : 1;
    return l;
}

nbcolli_cost_level nbcolli_cost_shift(const nbcolli_cost_call *c, uint64_t distance)
{
    uint64_t way = nbcolli_cost_least(distance, c->ranks - distance % c->ranks);
    return nbcolli_cost_crowd(c, c->are_blocks ? nbcolli_cost_least(way, c->node) : c->node);
}

/* Of rounds to ranks ever farther on, numbered node after node, one of those that begin inside nodes leads out of them
 * on the longest path: the last one, which is dearest. */
static nbcolli_cost_level nbcolli_cost_round(const nbcolli_cost_call *c, uint64_t distance)
{
    return c->are_blocks && 2 * distance < c->node ? c->inside : nbcolli_cost_shift(c, distance);
}

/* Of `firsts` neighbours, each with a message to all others that differ in a digit of that weight, how many of the
 * messages to one of them leave the node: those in it are no more than what lies between, or exchange among each other,
 * too. */
static uint64_t nbcolli_cost_leaving(uint64_t firsts, uint64_t distance, uint64_t base)
{
    uint64_t round = base * distance, here = firsts > distance ? firsts : distance;
    if (here >= round)
        return nbcolli_cost_least(firsts, distance);
    return (firsts * (round - here) + (base - 1) * distance - 1) / ((base - 1) * distance);
}

/* Messages between groups of neighbours, so many groups on, `base` of which exchange at once: in a node, if it has room
 * for them, and no rank of a whole number of ranks a group is apart from its partners. */
static nbcolli_cost_level nbcolli_cost_partners(const nbcolli_cost_call *c, uint64_t distance, uint64_t base,
                                                uint64_t groups)
{
    uint64_t way = distance * (c->ranks / groups);
    int is_inside = base * distance * c->ranks <= c->node * groups && c->node % (base * way) == 0;
    uint64_t firsts = (c->node * groups + c->ranks - 1) / c->ranks; /* of groups, on a node */
    return c->are_blocks && is_inside
               ? c->inside
               : nbcolli_cost_crowd(c, c->are_blocks ? nbcolli_cost_leaving(firsts, distance, base) : firsts);
}

nbcolli_cost_level nbcolli_cost_pairs(const nbcolli_cost_call *c, uint64_t distance, uint64_t base)
{
    return nbcolli_cost_partners(c, distance, base, c->ranks);
}

static uint64_t nbcolli_cost_turns_of(const nbcolli_cost_call *c, uint64_t workers)
{
    return nbcolli_cost_least(c->turns, (workers * c->turns + c->node - 1) / c->node);
}

nbcolli_cost_call nbcolli_cost_working(const nbcolli_cost_call *c, uint64_t workers)
{
    uint64_t all = c->turns, now = nbcolli_cost_turns_of(c, workers);
    nbcolli_cost_call one = *c;

    if (all == now)
        return one;
    nbcolli_cost_level *l = &one.inside;
    nbcolli_cost_time *const price[] = {&l->beta, &l->copied, &one.gamma, &one.copy};
    for (size_t i = 0; i < sizeof price / sizeof *price; i++)
        *price[i] = *price[i] * now / all;
    one.between = one.inside; /* of one node */
    return one;
}

/* ---- messages -------------------------------------------------------------------------------------------------- */

/* A long message is announced, asked for, and sent. */
static int nbcolli_cost_is_long(const nbcolli_cost_level *l, uint64_t bytes)
{
    return bytes > l->eager;
}

/* What the bytes of a message take on their way. */
static nbcolli_cost_time nbcolli_cost_bytes(const nbcolli_cost_level *l, uint64_t bytes)
{
    return bytes * (nbcolli_cost_is_long(l, bytes) ? l->beta : l->beta + l->copied);
}

nbcolli_cost_time nbcolli_cost_message(const nbcolli_cost_level *l, uint64_t bytes)
{
    nbcolli_cost_time once = l->alpha + 2 * l->overhead;
    return (nbcolli_cost_is_long(l, bytes) ? 3 * once + l->get : once) + nbcolli_cost_bytes(l, bytes);
}

/* What messages take on their way one after the other, each; a rank's go over all ways that it has by turns. */
static nbcolli_cost_time nbcolli_cost_wire(const nbcolli_cost_level *l, uint64_t bytes)
{
    return (nbcolli_cost_bytes(l, bytes) + l->gap) / l->ways;
}

nbcolli_cost_time nbcolli_cost_moved(const nbcolli_cost_level *l, uint64_t bytes, uint64_t ends)
{
    nbcolli_cost_time in = nbcolli_cost_is_long(l, bytes) ? 0 : l->copied;
    if (!l->by_cores)
        return 0;
    return bytes * ((ends == NBCOLLI_COST_TAKES ? 0 : in) + (ends == NBCOLLI_COST_SENDS ? 0 : l->beta));
}

/* What goes on beside the rank's own work. */
static nbcolli_cost_time nbcolli_cost_beside_it(const nbcolli_cost_level *l, uint64_t bytes)
{
    return l->by_cores ? l->gap / l->ways : nbcolli_cost_wire(l, bytes);
}

static uint64_t nbcolli_cost_posts(uint64_t ends)
{
    return ends == NBCOLLI_COST_BOTH ? 2 : 1;
}

/* Of several messages, from one to the next: a rank posts at one end of each, or at both, and works, while the bytes of
 * others move. Nothing moves while a long one is announced, asked for and got. */
static nbcolli_cost_time nbcolli_cost_next(const nbcolli_cost_level *l, uint64_t bytes, uint64_t ends,
                                           nbcolli_cost_time work)
{
    uint64_t of_each = nbcolli_cost_posts(ends);
    nbcolli_cost_time before = nbcolli_cost_is_long(l, bytes) ? (2 * of_each - 1) * l->overhead + l->get : 0;
    uint64_t posts = nbcolli_cost_is_long(l, bytes) ? of_each + 1 : of_each;
    nbcolli_cost_time own = posts * l->overhead + nbcolli_cost_moved(l, bytes, ends) + work;
    return before + nbcolli_cost_later(own, nbcolli_cost_beside_it(l, bytes));
}

/* What of that takes the rank's own time. */
static nbcolli_cost_time nbcolli_cost_own(const nbcolli_cost_level *l, uint64_t bytes, uint64_t ends,
                                          nbcolli_cost_time work)
{
    return (nbcolli_cost_is_long(l, bytes) ? 3 : 1) * nbcolli_cost_posts(ends) * l->overhead +
           nbcolli_cost_moved(l, bytes, ends) + work;
}

static nbcolli_cost_time nbcolli_cost_train_of(const nbcolli_cost_level *l, uint64_t count, uint64_t bytes,
                                               uint64_t ends, nbcolli_cost_time work)
{
    if (!count)
        return 0;
    int is_got = l->by_cores && nbcolli_cost_is_long(l, bytes); /* by each one's core, after it was announced */
    uint64_t one = ends == NBCOLLI_COST_BOTH && !is_got ? NBCOLLI_COST_SENDS : ends;
    nbcolli_cost_time last =
        nbcolli_cost_message(l, bytes) + (count - 1) * nbcolli_cost_next(l, bytes, one, work) + work;
    return nbcolli_cost_later(last, count * nbcolli_cost_next(l, bytes, ends, work));
}

/* Of several nodes, those to ranks of the own node go on while messages to others wait for the interface. */
nbcolli_cost_time nbcolli_cost_train(const nbcolli_cost_call *c, uint64_t count, uint64_t bytes, uint64_t ends,
                                     uint64_t worked, uint64_t crowd)
{
    nbcolli_cost_time work = worked * c->gamma;
    if (c->nodes < 2) {
        const nbcolli_cost_call one = nbcolli_cost_working(c, crowd);
        nbcolli_cost_time last = nbcolli_cost_train_of(&c->inside, count > 0, bytes, ends, work); /* of all others */
        return nbcolli_cost_later(nbcolli_cost_train_of(&one.inside, count, bytes, ends, worked * one.gamma), last);
    }
    nbcolli_cost_level l = nbcolli_cost_crowd(c, crowd);
    uint64_t near = nbcolli_cost_least(count, c->node - 1), far = count - near;
    nbcolli_cost_time own = near * nbcolli_cost_own(&c->inside, bytes, ends, work) +
                            far * nbcolli_cost_own(&l, bytes, ends, work) + l.alpha + nbcolli_cost_bytes(&l, bytes);
    nbcolli_cost_time beside = near * nbcolli_cost_beside_it(&c->inside, bytes); /* a way of their own */
    return nbcolli_cost_later(nbcolli_cost_later(nbcolli_cost_train_of(&l, far, bytes, ends, work), own), beside);
}

static int nbcolli_cost_is_shelved(const nbcolli_cost_call *c, uint64_t part, uint64_t bytes)
{
    return c->shelf && bytes > NBCOLLI_CELL_INLINE && bytes != UINT64_MAX && (c->rings || bytes <= c->shelf) &&
           (part <= c->part || part >= c->beyond);
}

int nbcolli_cost_is_followed(const nbcolli_cost_call *c, uint64_t bytes)
{
    return bytes >= NBCOLLI_SHELF_FILLS && nbcolli_cost_is_shelved(c, bytes, bytes);
}

/* What fits into a cell is there at once, for half of what a post takes; if each reader has another part there it is
 * found by a table, at a price of its own, or for as much as five posts take. What its owner has copied to its shelf is
 * copied or combined where it lies; of one part a long copy is followed while it is made. The rest is got from the
 * owner's memory, and the owner waits for that. */
#define NBCOLLI_COST_TABLE 5 /* posts, where terms name no price */
nbcolli_cost_time nbcolli_cost_fetches(const nbcolli_cost_call *c, uint64_t count, uint64_t bytes, uint64_t exposed,
                                       uint64_t worked)
{
    const nbcolli_cost_level l = nbcolli_cost_crowd(c, 1);
    nbcolli_cost_time one = l.overhead / 2 + bytes * l.beta + worked * c->gamma, copy = 0;

    if (nbcolli_cost_is_shelved(c, bytes, exposed)) {
        one = l.fetch + l.overhead + nbcolli_cost_later(bytes * c->copy, worked * c->gamma);
        int is_followed = exposed == bytes && nbcolli_cost_is_followed(c, bytes);
        copy = (is_followed ? nbcolli_shelf_piece(bytes) : exposed) * c->copy;
    } else if (exposed > NBCOLLI_CELL_INLINE) {
        one += l.fetch + l.overhead - l.overhead / 2;
        copy = l.alpha;
    }
    if (exposed != bytes && exposed <= NBCOLLI_CELL_INLINE)
        one += c->table ? c->table : NBCOLLI_COST_TABLE * l.overhead;
    return count ? l.alpha + 2 * l.overhead + copy + count * one : 0;
}

nbcolli_cost_time nbcolli_cost_hops(const nbcolli_cost_call *c, uint64_t bytes, uint64_t worked)
{
    const nbcolli_cost_level far = nbcolli_cost_crowd(c, 1);
    const nbcolli_cost_call one = nbcolli_cost_working(c, 1);
    uint64_t between = c->nodes < 2 ? 0 : c->are_blocks ? nbcolli_cost_least(c->nodes, c->ranks) - 1 : c->ranks - 1;
    return between * nbcolli_cost_message(&far, bytes) +
           (c->ranks - 1 - between) * nbcolli_cost_message(&one.inside, bytes) + (c->ranks - 1) * worked * one.gamma;
}

nbcolli_cost_time nbcolli_cost_ring(const nbcolli_cost_call *c, uint64_t bytes, uint64_t worked)
{
    const nbcolli_cost_level far = nbcolli_cost_shift(c, 1);
    uint64_t rounds = c->ranks - 1;
    if (c->nodes < 2 || !c->are_blocks)
        return rounds * (nbcolli_cost_message(&far, bytes) + worked * c->gamma);
    return nbcolli_cost_later(nbcolli_cost_hops(c, bytes, worked),
                              nbcolli_cost_train_of(&far, rounds, bytes, 2, worked * c->gamma));
}

/* ---- trees ----------------------------------------------------------------------------------------------------- */

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

/* Does a group begin wherever a node does? */
static int nbcolli_cost_is_whole(const nbcolli_cost_call *c, uint64_t groups)
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

/* ---- rounds ---------------------------------------------------------------------------------------------------- */

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
