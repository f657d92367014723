/* SPDX-License-Identifier: BSD-3-Clause
 * Allgather over k ports by standard exchange, also of blocks of different known lengths: ranks that stand for groups
 * are numbered in base k + 1, and in round j exchange all they have with the k whose number differs in digit j alone.
 * There are as many groups as the largest power of k + 1 that is not above P: of neighbours, each of which gives its
 * block to the first before, and gets all from it after the exchange. Source: Inozemtsev's thesis (2014), section
 * 4.2.1; with one port it is recursive doubling, the bidirectional exchange of Ramos et al., Table I. Ports: `ports`,
 * or two. */
#include "algorithms.h"

#define NBCOLLI_EXCHANGE_PORTS 2

typedef struct nbcolli_exchange_plan {
    nbcoll_builder *b;
    const nbcoll_args *a;
    int64_t base;     /* ports + 1 */
    int groups, mine; /* of this rank */
    nbcoll_addr room; /* for all blocks in rank order */
} nbcolli_exchange_plan;

static nbcolli_exchange_plan nbcolli_exchange_of(nbcoll_builder *b, const nbcoll_args *a, unsigned ports)
{
    nbcolli_exchange_plan p = {b, a, (int64_t)ports + 1, 1, 0, a->recv};

    while (p.groups * p.base <= b->ranks)
        p.groups *= (int)p.base;
    p.mine = nbcoll_block_holding((size_t)b->ranks, p.groups, (size_t)b->rank);
    return p;
}

/* The rank that stands for a group; that of one behind the last: P. */
static int nbcolli_exchange_rank(const nbcolli_exchange_plan *p, int group)
{
    return (int)nbcoll_block_offset((size_t)p->b->ranks, p->groups, group);
}

/* The blocks of `groups` groups. */
static nbcoll_region nbcolli_exchange_run(const nbcolli_exchange_plan *p, int group, int groups)
{
    int first = nbcolli_exchange_rank(p, group), end = nbcolli_exchange_rank(p, group + groups);
    return nbcoll_span(nbcoll_at(p->room, nbcolli_blocks_bytes(p->b, p->a, 0, first)),
                       nbcolli_blocks_bytes(p->b, p->a, first, end - first));
}

/* The i-th partner in the round where runs of `groups` are exchanged. */
static int nbcolli_exchange_peer(const nbcolli_exchange_plan *p, int groups, int i)
{
    int digit = (int)(p->mine / groups % p->base);
    return p->mine + ((int)((digit + i) % p->base) - digit) * groups;
}

/* All rounds of a rank that stands for its group. The step since which it has everything. */
static nbcoll_step nbcolli_exchange_all(const nbcolli_exchange_plan *p, nbcoll_step own)
{
    int first = p->b->rank, end = nbcolli_exchange_rank(p, p->mine + 1);
    int is_all_used = end - first > 1 || p->a->counts; /* there is something to do when everything has come */
    nbcoll_step have = end - first > 1 ? nbcoll_add_join(p->b) : own;

    if (have != own)
        nbcoll_after(p->b, have, own);
    for (int i = first + 1; i < end; i++) {
        nbcoll_addr at = nbcoll_at(p->room, nbcolli_blocks_bytes(p->b, p->a, 0, i));
        nbcoll_after(p->b, have, nbcoll_add_recv(p->b, i, at, nbcolli_blocks_bytes(p->b, p->a, i, 1)));
    }
    for (int groups = 1; groups < p->groups; groups *= (int)p->base) {
        nbcoll_region out = nbcolli_exchange_run(p, p->mine - p->mine % groups, groups);
        nbcoll_step next = is_all_used || groups * p->base < p->groups ? nbcoll_add_join(p->b) : NBCOLL_START;
        if (next != NBCOLL_START)
            nbcoll_after(p->b, next, have);
        for (int i = 1; i < p->base; i++) {
            int peer = nbcolli_exchange_peer(p, groups, i);
            nbcoll_region in = nbcolli_exchange_run(p, peer - peer % groups, groups);
            nbcoll_after(p->b, nbcoll_add_send(p->b, nbcolli_exchange_rank(p, peer), out.at, out.bytes), have);
            nbcoll_step take = nbcoll_add_recv(p->b, nbcolli_exchange_rank(p, peer), in.at, in.bytes);
            if (next != NBCOLL_START)
                nbcoll_after(p->b, next, take);
        }
        have = next;
    }
    nbcoll_region all = nbcolli_exchange_run(p, 0, p->groups);
    for (int i = first + 1; i < end; i++)
        nbcoll_after(p->b, nbcoll_add_send(p->b, i, all.at, all.bytes), have);
    return have;
}

static void nbcolli_exchange_build(nbcoll_builder *b, const nbcoll_args *a, unsigned ports)
{
    nbcolli_exchange_plan p = nbcolli_exchange_of(b, a, ports);
    int first = nbcolli_exchange_rank(&p, p.mine);
    size_t own = nbcolli_blocks_bytes(b, a, b->rank, 1);
    nbcoll_step have = NBCOLL_START;

    if (a->counts) /* they may lie anywhere */
        p.room = nbcoll_add_scratch(b, nbcolli_blocks_bytes(b, a, 0, b->ranks));
    if (first != b->rank) {
        nbcoll_step give = nbcoll_add_send(b, first, a->send, own);
        nbcoll_region all = nbcolli_exchange_run(&p, 0, p.groups);
        have = nbcoll_add_recv(b, first, all.at, all.bytes);
        if (a->in_place && !a->counts)
            nbcoll_after(b, have, give);
    } else {
        if (a->counts || !a->in_place)
            have = nbcoll_add_copy(b, nbcoll_at(p.room, nbcolli_blocks_bytes(b, a, 0, b->rank)), a->send, own);
        have = nbcolli_exchange_all(&p, have);
    }
    for (int i = 0; a->counts && i < b->ranks; i++) {
        nbcoll_region to = nbcoll_recv_block(b, a, i);
        if (i != b->rank || !a->in_place)
            nbcoll_after(b, nbcoll_add_copy(b, to.at, nbcoll_at(p.room, nbcolli_blocks_bytes(b, a, 0, i)), to.bytes),
                         have);
    }
}

void nbcolli_allgather_exchange(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_exchange_build(b, a, a->ports ? a->ports : NBCOLLI_EXCHANGE_PORTS);
}

void nbcolli_allgather_recursive_doubling(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_exchange_build(b, a, 1);
}
