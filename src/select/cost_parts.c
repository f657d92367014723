/* SPDX-License-Identifier: BSD-3-Clause
 * The parts of the cost model's formulas: ways, messages, fetches. Messages in flight at the same time share the time
 * of the ranks at their ends, and where nodes share interfaces those: what leaves a node at a time goes one after the
 * other. */
#include "cost.h"

/* ---- ways -------------------------------------------------------------------------------------------------------- */

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

nbcolli_cost_level nbcolli_cost_round(const nbcolli_cost_call *c, uint64_t distance)
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

nbcolli_cost_level nbcolli_cost_partners(const nbcolli_cost_call *c, uint64_t distance, uint64_t base, uint64_t groups)
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

/* ---- messages ---------------------------------------------------------------------------------------------------- */

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

nbcolli_cost_time nbcolli_cost_neighbour(const nbcolli_cost_call *c, uint64_t bytes)
{
    const nbcolli_cost_level l = nbcolli_cost_pairs(c, 1, 2);
    return nbcolli_cost_message(&l, bytes);
}

nbcolli_cost_time nbcolli_cost_wire(const nbcolli_cost_level *l, uint64_t bytes)
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

nbcolli_cost_time nbcolli_cost_next(const nbcolli_cost_level *l, uint64_t bytes, uint64_t ends, nbcolli_cost_time work)
{
    uint64_t of_each = nbcolli_cost_posts(ends);
    nbcolli_cost_time before = nbcolli_cost_is_long(l, bytes) ? (2 * of_each - 1) * l->overhead + l->get : 0;
    uint64_t posts = nbcolli_cost_is_long(l, bytes) ? of_each + 1 : of_each;
    nbcolli_cost_time own = posts * l->overhead + nbcolli_cost_moved(l, bytes, ends) + work;
    return before + nbcolli_cost_later(own, nbcolli_cost_beside_it(l, bytes));
}

nbcolli_cost_time nbcolli_cost_own(const nbcolli_cost_level *l, uint64_t bytes, uint64_t ends, nbcolli_cost_time work)
{
    return (nbcolli_cost_is_long(l, bytes) ? 3 : 1) * nbcolli_cost_posts(ends) * l->overhead +
           nbcolli_cost_moved(l, bytes, ends) + work;
}

nbcolli_cost_time nbcolli_cost_train_of(const nbcolli_cost_level *l, uint64_t count, uint64_t bytes, uint64_t ends,
                                        nbcolli_cost_time work)
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

nbcolli_cost_time nbcolli_cost_flat(const nbcolli_cost_call *c, uint64_t bytes, uint64_t ends, uint64_t worked)
{
    return nbcolli_cost_train(c, c->ranks - 1, bytes, ends, worked, ends == NBCOLLI_COST_BOTH ? c->node : 1);
}

static int nbcolli_cost_is_staged(const nbcolli_cost_call *c, uint64_t part, uint64_t bytes)
{
    return c->staging && bytes > NBCOLLI_CELL_INLINE && bytes != UINT64_MAX && (c->rings || bytes <= c->staging) &&
           (part <= c->part || part >= c->beyond);
}

int nbcolli_cost_is_followed(const nbcolli_cost_call *c, uint64_t bytes)
{
    return bytes >= NBCOLLI_STAGING_FILLS && nbcolli_cost_is_staged(c, bytes, bytes);
}

/* What fits into a cell is there at once, for half of what a post takes; if each reader has another part there it is
 * found by a table, at a price of its own, or for as much as five posts take. What its owner has copied to its staging
 * buffer is copied or combined where it lies; of one part a long copy is followed while it is made. The rest is got
 * from the owner's memory, and the owner waits for that. */
#define NBCOLLI_COST_TABLE 5 /* posts, where terms name no price */
nbcolli_cost_time nbcolli_cost_fetches(const nbcolli_cost_call *c, uint64_t count, uint64_t bytes, uint64_t exposed,
                                       uint64_t worked)
{
    const nbcolli_cost_level l = nbcolli_cost_crowd(c, 1);
    nbcolli_cost_time one = l.overhead / 2 + bytes * l.beta + worked * c->gamma, copy = 0;

    if (nbcolli_cost_is_staged(c, bytes, exposed)) {
        one = l.fetch + l.overhead + nbcolli_cost_later(bytes * c->copy, worked * c->gamma);
        int is_followed = exposed == bytes && nbcolli_cost_is_followed(c, bytes);
        copy = (is_followed ? nbcolli_staging_piece(bytes) : exposed) * c->copy;
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
