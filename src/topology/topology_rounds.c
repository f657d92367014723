/* SPDX-License-Identifier: BSD-3-Clause
 * The topologies of standard exchange and of Bruck's allgather without concatenation: a relay for each round, for what
 * comes in it, which goes on in all later ones. Blocks are never concatenated, so the two differ in partners only.
 *
 * G groups take part, as many as are digits times a power of k + 1, each of a rank or two: the first one stands for
 * both, and has one more relay for what the other one contributes. A group's number has a digit of base k + 1 for each
 * round, the last one fewer values. In round j, by exchange it sends to all groups that differ in digit j; by Bruck,
 * to those d (k + 1)^j above it, past the last one to 0, d being a value of the digit. Source: Inozemtsev's thesis
 * (2014), sections 5.3.2 and 5.4.2, for powers of k + 1. */
#include "nbcoll/pattern.h"
#include "topology.h"

typedef struct nbcolli_rounds {
    nbcolli_topology_builder *w;
    int is_bruck;
    int groups, mine, rounds;
    int span[NBCOLL_ROUNDS_MAX + 1], values[NBCOLL_ROUNDS_MAX + 1]; /* of each round: (k + 1)^j, and of its digit */
} nbcolli_rounds;

/* The rank that stands for a group. */
static int nbcolli_rounds_rank(const nbcolli_rounds *p, int group)
{
    return (int)nbcoll_block_offset((size_t)p->w->ranks, p->groups, group);
}

static int nbcolli_rounds_members(const nbcolli_rounds *p, int group)
{
    return (int)nbcoll_block_length((size_t)p->w->ranks, p->groups, group);
}

/* The partner of a group in round j, of number d; d < 0: from which it receives. */
static int nbcolli_rounds_partner(const nbcolli_rounds *p, int group, int j, int d)
{
    int digit = group / p->span[j] % p->values[j];
    if (p->is_bruck)
        return (int)(((int64_t)group + (int64_t)d * p->span[j] + p->groups) % p->groups);
    return group + ((digit + d + p->values[j]) % p->values[j] - digit) * p->span[j];
}

/* The relay by which blocks of group `owner` come to `group`: behind the last round in which their ways differ. */
static uint32_t nbcolli_rounds_relay(const nbcolli_rounds *p, int group, int owner)
{
    int to = p->is_bruck ? nbcoll_relative(group, owner, p->groups) : group, from = p->is_bruck ? 0 : owner;
    uint32_t relay = 0;
    while ((int)relay < p->rounds && to / p->span[relay] != from / p->span[relay])
        relay++;
    return relay;
}

/* How many ranks' blocks a relay of a group passes on. */
static uint32_t nbcolli_rounds_origins(const nbcolli_rounds *p, int group, uint32_t relay)
{
    uint32_t origins = 0;
    if (relay == 0 || (int)relay > p->rounds)
        return 1;
    for (int owner = 0; owner < p->groups; owner++)
        if (nbcolli_rounds_relay(p, group, owner) == relay)
            origins += (uint32_t)nbcolli_rounds_members(p, owner);
    return origins;
}

/* From the relays of a group before that of round j: those of earlier rounds, and of its second rank. */
static void nbcolli_rounds_from(const nbcolli_rounds *p, int group, int j)
{
    for (int relay = 0; relay <= j; relay++)
        nbcolli_relay_from(p->w, nbcolli_rounds_rank(p, group), (uint32_t)relay,
                           nbcolli_rounds_origins(p, group, (uint32_t)relay));
    if (nbcolli_rounds_members(p, group) > 1 && group != p->mine)
        nbcolli_relay_from(p->w, nbcolli_rounds_rank(p, group), (uint32_t)p->rounds + 1, 1);
}

/* To all partners of the rounds from j on. */
static void nbcolli_rounds_to(const nbcolli_rounds *p, int j, uint32_t origins)
{
    for (; j < p->rounds; j++)
        for (int d = 1; d < p->values[j]; d++)
            nbcolli_relay_to(p->w, nbcolli_rounds_rank(p, nbcolli_rounds_partner(p, p->mine, j, d)), (uint32_t)j + 1,
                             origins);
}

/* The first rank of a group. */
static void nbcolli_rounds_first(const nbcolli_rounds *p)
{
    int members = nbcolli_rounds_members(p, p->mine), me = p->w->rank;

    for (int relay = 0; relay <= p->rounds; relay++) {
        uint32_t origins = nbcolli_rounds_origins(p, p->mine, (uint32_t)relay);
        nbcolli_relay_next(p->w);
        for (int d = 1; relay && d < p->values[relay - 1]; d++)
            nbcolli_rounds_from(p, nbcolli_rounds_partner(p, p->mine, relay - 1, -d), relay - 1);
        nbcolli_rounds_to(p, relay, origins);
        if (members > 1)
            nbcolli_relay_to(p->w, me + 1, 1, origins);
    }
    if (members > 1) {
        nbcolli_relay_next(p->w);
        nbcolli_relay_from(p->w, me + 1, 0, 1);
        nbcolli_rounds_to(p, 0, 1);
    }
}

/* The second one: all comes from the first. */
static void nbcolli_rounds_second(const nbcolli_rounds *p)
{
    nbcolli_relay_next(p->w);
    nbcolli_relay_to(p->w, p->w->rank - 1, (uint32_t)p->rounds + 1, 1);
    nbcolli_relay_next(p->w);
    nbcolli_rounds_from(p, p->mine, p->rounds);
}

static void nbcolli_rounds_wire(nbcolli_topology_builder *w, int is_bruck)
{
    nbcolli_rounds p = {.w = w, .is_bruck = is_bruck};
    int64_t span = 1, base = w->ports + 1;

    for (; span * base <= w->ranks; span *= base) {
        p.span[p.rounds] = (int)span;
        p.values[p.rounds++] = (int)base;
    }
    p.groups = (int)(w->ranks / span * span);
    if (w->ranks / span > 1) {
        p.span[p.rounds] = (int)span;
        p.values[p.rounds++] = (int)(w->ranks / span);
    }
    p.mine = nbcoll_block_holding((size_t)w->ranks, p.groups, (size_t)w->rank);
    if (nbcolli_rounds_rank(&p, p.mine) == w->rank)
        nbcolli_rounds_first(&p);
    else
        nbcolli_rounds_second(&p);
}

void nbcolli_wire_exchange(nbcolli_topology_builder *w)
{
    nbcolli_rounds_wire(w, 0);
}

void nbcolli_wire_bruck(nbcolli_topology_builder *w)
{
    nbcolli_rounds_wire(w, 1);
}
