/* SPDX-License-Identifier: BSD-3-Clause
 * Allgather by standard exchange without concatenation, also of blocks of different known lengths: the rounds and
 * partners are those of allgather_exchange, but each block is a message of its own, which goes on as soon as it has
 * come, and comes straight to its place. So one late rank holds back its own block only. Source: Inozemtsev's thesis
 * (2014), section 5.3.2. Ports: `ports`, or two. */
#include "algorithms.h"

#define NBCOLLI_PIPELINED_PORTS 2

typedef struct nbcolli_pipelined_plan {
    nbcoll_builder *b;
    int64_t base;     /* ports + 1 */
    int groups, mine; /* of this rank */
} nbcolli_pipelined_plan;

/* The rank that stands for a group. */
static int nbcolli_pipelined_rank(const nbcolli_pipelined_plan *p, int group)
{
    return (int)nbcoll_block_offset((size_t)p->b->ranks, p->groups, group);
}

/* Messages of a block have the number of its owner: no block goes twice from one rank to another. */
static nbcoll_step nbcolli_pipelined_recv(const nbcolli_pipelined_plan *p, int peer, nbcoll_region block, int owner)
{
    nbcoll_step take = nbcoll_add_recv(p->b, peer, block.at, block.bytes);
    nbcoll_set_number(p->b, take, (uint32_t)owner);
    return take;
}

static void nbcolli_pipelined_send(const nbcolli_pipelined_plan *p, int peer, nbcoll_region block, int owner,
                                   nbcoll_step have)
{
    nbcoll_step give = nbcoll_add_send(p->b, peer, block.at, block.bytes);
    nbcoll_set_number(p->b, give, (uint32_t)owner);
    nbcoll_after(p->b, give, have);
}

/* Takes a block, and passes it on, at a rank that stands for its group. */
static void nbcolli_pipelined_pass(const nbcolli_pipelined_plan *p, nbcoll_region block, int owner)
{
    int group = nbcoll_block_holding((size_t)p->b->ranks, p->groups, (size_t)owner), span = 1;
    int first = p->b->rank, end = nbcolli_pipelined_rank(p, p->mine + 1);
    nbcoll_step have = NBCOLL_START;

    if (group != p->mine) { /* it comes in the round of the highest digit in which the two differ */
        while (group / span / p->base != p->mine / span / p->base)
            span *= (int)p->base;
        int digit = (int)(p->mine / span % p->base), other = (int)(group / span % p->base);
        have = nbcolli_pipelined_recv(p, nbcolli_pipelined_rank(p, p->mine + (other - digit) * span), block, owner);
        span *= (int)p->base;
    } else if (owner != first) {
        have = nbcolli_pipelined_recv(p, owner, block, owner);
    }
    for (; span < p->groups; span *= (int)p->base)
        for (int i = 1; i < p->base; i++) {
            int digit = (int)(p->mine / span % p->base), other = (int)((digit + i) % p->base);
            nbcolli_pipelined_send(p, nbcolli_pipelined_rank(p, p->mine + (other - digit) * span), block, owner, have);
        }
    for (int member = first + 1; member < end; member++)
        if (member != owner)
            nbcolli_pipelined_send(p, member, block, owner, have);
}

void nbcolli_allgather_exchange_pipelined(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_pipelined_plan p = {b, (int64_t)(a->ports ? a->ports : NBCOLLI_PIPELINED_PORTS) + 1, 1, 0};

    while (p.groups * p.base <= b->ranks)
        p.groups *= (int)p.base;
    p.mine = nbcoll_block_holding((size_t)b->ranks, p.groups, (size_t)b->rank);
    int first = nbcolli_pipelined_rank(&p, p.mine);
    for (int owner = 0; owner < b->ranks; owner++) {
        nbcoll_region place = nbcoll_recv_block(b, a, owner);
        nbcoll_region block = owner == b->rank ? nbcoll_send_block(b, a, owner) : place;
        if (owner == b->rank && !a->in_place)
            nbcoll_add_copy(b, place.at, block.at, block.bytes);
        if (first == b->rank)
            nbcolli_pipelined_pass(&p, block, owner);
        else if (owner == b->rank)
            nbcolli_pipelined_send(&p, first, block, owner, NBCOLL_START);
        else
            nbcolli_pipelined_recv(&p, first, block, owner);
    }
}
