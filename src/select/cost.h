/* SPDX-License-Identifier: BSD-3-Clause
 * The parts that formulas of the cost model are made of: messages at two levels, inside nodes and between them; trains
 * of messages, fetches, trees and rounds. The tables of collectives have the formulas. */
#ifndef NBCOLLI_SELECT_COST_H
#define NBCOLLI_SELECT_COST_H

#include "../host/host.h"
#include "../schedule/schedule.h"
#include "nbcoll/pattern.h"
#include "select.h"

static inline nbcolli_cost_time nbcolli_cost_later(nbcolli_cost_time x, nbcolli_cost_time y)
{
    return x > y ? x : y;
}

/* What messages cost. */
typedef struct nbcolli_cost_level {
    nbcolli_cost_time alpha, overhead, beta, get, fetch;
    nbcolli_cost_time copied; /* of each byte of a message that is not announced */
    nbcolli_cost_time gap;    /* of each message that an interface takes, beside its bytes */
    uint64_t eager;           /* bytes of the longest message that is not announced */
    uint64_t ways;            /* interfaces that a rank has for itself, 1 at least; its messages take turns there */
    int by_cores;             /* the ranks' cores move all bytes: `copied` is in, by the sender, beta is out */
} nbcolli_cost_level;

struct nbcolli_cost_call {
    nbcolli_cost_level inside, between; /* nodes; on one node all is inside */
    nbcolli_cost_time gamma, copy;      /* of each byte that a rank combines, and copies */
    nbcolli_cost_time table; /* of a part of a cell in which each reader has another one; 0: as a number of posts */
    uint64_t credits;        /* messages that are not announced, at once */
    uint64_t staging;          /* bytes that a rank's copies of what it exposes take at most, */
    uint64_t part, beyond;   /* and each part of them, or from how many bytes on */
    int rings;               /* what is longer than the staging buffer goes through it by these */
    uint64_t ranks, bytes;
    uint64_t nodes, node;            /* nodes, and ranks of the largest; a node of 1 is a rank */
    uint64_t domains, domain, parts; /* domains, ranks of the largest, and domains of a node, at most; none known: 0 */
    nbcolli_cost_level near;         /* inside a domain */
    uint64_t interfaces;             /* of a node, that its ranks share; 0: each has its own */
    uint64_t turns; /* of ranks on a core, on one node: prices are those of all ranks at work; else 1 */
    uint64_t arity, ports, segment, leaders;
    int are_blocks;          /* ranks are numbered node after node */
    int shared, nodes_share; /* memory: all ranks; those of each node */
};

static inline uint64_t nbcolli_cost_least(uint64_t x, uint64_t y)
{
    return x < y ? x : y;
}

/* A long message is announced, asked for, and sent. */
static inline int nbcolli_cost_is_long(const nbcolli_cost_level *l, uint64_t bytes)
{
    return bytes > l->eager;
}

/* While a rank copies its own block, messages are under way; those that are announced are not answered. */
static inline nbcolli_cost_time nbcolli_cost_own_block(const nbcolli_cost_call *c, uint64_t bytes)
{
    return bytes > c->between.eager ? bytes * c->copy : 0;
}

/* ---- ways -------------------------------------------------------------------------------------------------------- */

/* Messages between nodes, of which `crowd` leave, and enter, a node at a time; on one node, messages. */
nbcolli_cost_level nbcolli_cost_crowd(const nbcolli_cost_call *c, uint64_t crowd);

/* Messages of all ranks to those so many numbers on; and of those whose numbers differ in a digit of that weight, to
 * this base. */
nbcolli_cost_level nbcolli_cost_shift(const nbcolli_cost_call *c, uint64_t distance);
nbcolli_cost_level nbcolli_cost_pairs(const nbcolli_cost_call *c, uint64_t distance, uint64_t base);

/* Of rounds to ranks ever farther on, numbered node after node, one of those that begin inside nodes leads out of them
 * on the longest path: the last one, which is dearest. */
nbcolli_cost_level nbcolli_cost_round(const nbcolli_cost_call *c, uint64_t distance);

/* Messages between groups of neighbours, so many groups on, `base` of which exchange at once: in a node, if it has room
 * for them, and no rank of a whole number of ranks a group is apart from its partners. */
nbcolli_cost_level nbcolli_cost_partners(const nbcolli_cost_call *c, uint64_t distance, uint64_t base, uint64_t groups);

/* The prices of bytes where no more than so many ranks are at work at a time: fewer take turns on a core. A post stays
 * as dear: somebody waits for a turn to see it. */
nbcolli_cost_call nbcolli_cost_working(const nbcolli_cost_call *c, uint64_t workers);

/* ---- messages ---------------------------------------------------------------------------------------------------- */

/* From the SEND of a message to the end of its RECV. */
nbcolli_cost_time nbcolli_cost_message(const nbcolli_cost_level *l, uint64_t bytes);

/* A message of each rank to its neighbour with which it is a pair. */
nbcolli_cost_time nbcolli_cost_neighbour(const nbcolli_cost_call *c, uint64_t bytes);

/* `count` messages, of which none waits for another, which one rank sends, or takes, or of which each does both
 * (`ends`); it copies or combines `worked` bytes of each. `crowd`: so many ranks of a node do so at once. */
#define NBCOLLI_COST_SENDS 1
#define NBCOLLI_COST_BOTH 2
#define NBCOLLI_COST_TAKES 3
nbcolli_cost_time nbcolli_cost_train(const nbcolli_cost_call *c, uint64_t count, uint64_t bytes, uint64_t ends,
                                     uint64_t worked, uint64_t crowd);

/* The same by these prices, with as much work for each. */
nbcolli_cost_time nbcolli_cost_train_of(const nbcolli_cost_level *l, uint64_t count, uint64_t bytes, uint64_t ends,
                                        nbcolli_cost_time work);

/* Of several messages, from one to the next: a rank posts at one end of each, or at both, and works, while the bytes of
 * others move. Nothing moves while a long one is announced, asked for and got. And what of that takes its own time. */
nbcolli_cost_time nbcolli_cost_next(const nbcolli_cost_level *l, uint64_t bytes, uint64_t ends, nbcolli_cost_time work);
nbcolli_cost_time nbcolli_cost_own(const nbcolli_cost_level *l, uint64_t bytes, uint64_t ends, nbcolli_cost_time work);

/* Such messages of a rank to, or from, or to and from, all others. */
nbcolli_cost_time nbcolli_cost_flat(const nbcolli_cost_call *c, uint64_t bytes, uint64_t ends, uint64_t worked);

/* What messages take on their way one after the other, each; a rank's go over all ways that it has by turns. */
nbcolli_cost_time nbcolli_cost_wire(const nbcolli_cost_level *l, uint64_t bytes);

/* What of the bytes of a message at one end (SENDS or TAKES), or of one at each, a rank's core moves itself. */
nbcolli_cost_time nbcolli_cost_moved(const nbcolli_cost_level *l, uint64_t bytes, uint64_t ends);

/* Of a part that is alike for all readers: do they follow the copy to the staging buffer while it is made? */
int nbcolli_cost_is_followed(const nbcolli_cost_call *c, uint64_t bytes);

/* `count` fetches of one rank, one after the other, from exposures all of whose parts have `exposed` bytes. */
nbcolli_cost_time nbcolli_cost_fetches(const nbcolli_cost_call *c, uint64_t count, uint64_t bytes, uint64_t exposed,
                                       uint64_t worked);

/* A message of all ranks to the next one in each of ranks - 1 rounds, of which each rank combines `worked` bytes. */
nbcolli_cost_time nbcolli_cost_ring(const nbcolli_cost_call *c, uint64_t bytes, uint64_t worked);

/* A message from each rank to the next, one after the other, of which each combines `worked` bytes. */
nbcolli_cost_time nbcolli_cost_hops(const nbcolli_cost_call *c, uint64_t bytes, uint64_t worked);

/* ---- shared memory ----------------------------------------------------------------------------------------------- */

/* One rank exposes, and all others fetch, by turns on each core. */
nbcolli_cost_time nbcolli_cost_shown(const nbcolli_cost_call *c, uint64_t bytes, uint64_t exposed);

/* Parts of so many bytes for all other ranks are spread over as many cells as a communicator has by default, for a
 * quarter of what a post takes each and half of that to find one; longer ones are lent. */
nbcolli_cost_time nbcolli_cost_parts(const nbcolli_cost_call *c, uint64_t bytes);

/* A rank that fetches, too, makes its own copy first, and is not followed. */
nbcolli_cost_time nbcolli_cost_staging(const nbcolli_cost_call *c, uint64_t bytes);

/* One rank fetches from each other one, and combines `worked` bytes, while their cores copy to staging buffers by
 * turns. */
nbcolli_cost_time nbcolli_cost_collected(const nbcolli_cost_call *c, uint64_t bytes, uint64_t worked);

/* Bytes of the result that others read where they lie, if memory is shared: each time, their lines are to be taken back
 * from those who have read them before they are written again, which takes as long as to move them. */
nbcolli_cost_time nbcolli_cost_rewritten(const nbcolli_cost_call *c, uint64_t bytes);

/* The same while caches keep it. */
nbcolli_cost_time nbcolli_cost_kept(const nbcolli_cost_call *c, uint64_t bytes);

/* ---- trees ------------------------------------------------------------------------------------------------------- */

/* Down a binomial tree of `ranks`, or up: messages of `whole` bytes and a `block` for each rank below, `worked` bytes
 * for each. */
nbcolli_cost_time nbcolli_cost_binomial(const nbcolli_cost_call *c, uint64_t ranks, uint64_t whole, uint64_t block,
                                        uint64_t worked, int is_up);

/* Down a tree by halves of the ranks, or up: messages of a `block` for each rank of the other half. */
nbcolli_cost_time nbcolli_cost_halves(const nbcolli_cost_call *c, uint64_t block);

/* Does a group begin wherever a node does? */
int nbcolli_cost_is_whole(const nbcolli_cost_call *c, uint64_t groups);

/* Down a tree of that arity in segments. */
nbcolli_cost_time nbcolli_cost_levels(const nbcolli_cost_call *c, uint64_t arity, uint64_t segments);
uint64_t nbcolli_cost_segments(const nbcolli_cost_call *c);

/* ---- rounds ------------------------------------------------------------------------------------------------------ */

/* Rounds in each of which what a rank has becomes ports + 1 times as much, a block of each rank in the end; and the
 * same by pairs, among the first of groups of neighbours. */
nbcolli_cost_time nbcolli_cost_doubling(const nbcolli_cost_call *c, uint64_t ports, uint64_t block);
nbcolli_cost_time nbcolli_cost_exchange(const nbcolli_cost_call *c, uint64_t ports);

/* The same where each block goes on by itself as soon as it has come. */
nbcolli_cost_time nbcolli_cost_pipelined(const nbcolli_cost_call *c, uint64_t ports);

/* `rounds` in each of which each rank sends the same to the one 1, 2, 4, ... numbers on, or its partner, and combines
 * or copies `worked` bytes. */
nbcolli_cost_time nbcolli_cost_rounds(const nbcolli_cost_call *c, uint64_t rounds, uint64_t bytes, uint64_t worked,
                                      int is_shift);

/* In as many rounds as numbers of ranks have digits each rank sends the blocks whose number has that one. */
nbcolli_cost_time nbcolli_cost_digits(const nbcolli_cost_call *c, uint64_t block);

/* With each rank in turn, by all: of more than two each waits in one round, while others exchange. */
nbcolli_cost_time nbcolli_cost_turns(const nbcolli_cost_call *c, uint64_t bytes);

/* Halves of a vector, halves of them, and so on, `worked` times combined, with the nearest partners first. */
nbcolli_cost_time nbcolli_cost_halving(const nbcolli_cost_call *c, uint64_t worked, int is_nearest_first);

/* ---- hierarchical algorithms ------------------------------------------------------------------------------------- */

#define NBCOLLI_COST_NODES_LONG 65536 /* bytes: of a piece of a broadcast, and from which on leaders share the work */

/* The leaders: of each node `leaders`, or all its ranks. */
nbcolli_cost_call nbcolli_cost_leaders(const nbcolli_cost_call *c, uint64_t bytes);

/* The ranks of one leader. */
nbcolli_cost_call nbcolli_cost_part(const nbcolli_cost_call *c);

/* Fetches inside a node; where it shares no memory, messages. */
nbcolli_cost_time nbcolli_cost_nodes_fetch(const nbcolli_cost_call *part, uint64_t count, uint64_t bytes,
                                           uint64_t exposed, uint64_t worked);

/* Each rank but the leader takes the same bytes from it. */
nbcolli_cost_time nbcolli_cost_nodes_show(const nbcolli_cost_call *part, uint64_t bytes, uint64_t exposed);

/* Of several nodes. is_sorted: blocks come in another order than that of ranks, also where nodes lie one after the
 * other. */
nbcolli_cost_time nbcolli_cost_nodes_barrier(const nbcolli_cost_call *c);
nbcolli_cost_time nbcolli_cost_nodes_bcast(const nbcolli_cost_call *c);
nbcolli_cost_time nbcolli_cost_nodes_scatter(const nbcolli_cost_call *c);
nbcolli_cost_time nbcolli_cost_nodes_gather(const nbcolli_cost_call *c);
nbcolli_cost_time nbcolli_cost_nodes_allgather(const nbcolli_cost_call *c, int is_sorted);
nbcolli_cost_time nbcolli_cost_nodes_groups(const nbcolli_cost_call *c, int is_sorted);
nbcolli_cost_time nbcolli_cost_nodes_reduce(const nbcolli_cost_call *c);
nbcolli_cost_time nbcolli_cost_nodes_allreduce(const nbcolli_cost_call *c);
nbcolli_cost_time nbcolli_cost_nodes_reduce_scatter(const nbcolli_cost_call *c, int is_ordered);
nbcolli_cost_time nbcolli_cost_nodes_alltoall(const nbcolli_cost_call *c);
nbcolli_cost_time nbcolli_cost_nodes_scan(const nbcolli_cost_call *c);

/* The ranks of one domain. */
nbcolli_cost_call nbcolli_cost_domain(const nbcolli_cost_call *c);
/* The leaders of all domains. */
nbcolli_cost_call nbcolli_cost_heads(const nbcolli_cost_call *c);

/* By domains: what those of a domain do, and the same between leaders of domains, by nodes. */
nbcolli_cost_time nbcolli_cost_domains_barrier(const nbcolli_cost_call *c);
nbcolli_cost_time nbcolli_cost_domains_bcast(const nbcolli_cost_call *c);
nbcolli_cost_time nbcolli_cost_domains_reduce(const nbcolli_cost_call *c);
nbcolli_cost_time nbcolli_cost_domains_allreduce(const nbcolli_cost_call *c);

#endif
