/* SPDX-License-Identifier: BSD-3-Clause
 * The parts that formulas of the cost model are made of: messages at two levels, inside nodes and between them; trains
 * of messages, fetches, trees and rounds. Private to this folder. */
#ifndef NBCOLLI_SELECT_COST_H
#define NBCOLLI_SELECT_COST_H

#include "../host/host.h"
#include "../schedule/schedule.h"
#include "nbcoll/pattern.h"
#include "select.h"

/* Picoseconds. 128 bits: bytes of all ranks are below 2^64, prices below 2^32, and what multiplies both is small. */
__extension__ typedef unsigned __int128 nbcolli_cost_time;

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

typedef struct nbcolli_cost_call {
    nbcolli_cost_level inside, between; /* nodes; on one node all is inside */
    nbcolli_cost_time gamma, copy; /* of each byte that a rank combines, and copies */
    nbcolli_cost_time table; /* of a part of a cell in which each reader has another one; 0: as a number of posts */
    uint64_t credits; /* messages that are not announced, at once */
    uint64_t shelf;   /* bytes that a rank's copies of what it exposes take at most, */
    uint64_t part, beyond; /* and each part of them, or from how many bytes on */
    int rings;        /* what is longer than the shelf goes through it by these */
    uint64_t ranks, bytes;
    uint64_t nodes, node; /* nodes, and ranks of the largest; a node of 1 is a rank */
    uint64_t domains, domain, parts; /* domains, ranks of the largest, and domains of a node, at most; none known: 0 */
    nbcolli_cost_level near;         /* inside a domain */
    uint64_t interfaces;  /* of a node, that its ranks share; 0: each has its own */
    uint64_t turns;       /* of ranks on a core, on one node: prices are those of all ranks at work; else 1 */
    uint64_t arity, ports, segment, leaders;
    int are_blocks;           /* ranks are numbered node after node */
    int shared, nodes_share;  /* memory: all ranks; those of each node */
} nbcolli_cost_call;

/* ---- ways ------------------------------------------------------------------------------------------------------ */

/* Messages between nodes, of which `crowd` leave, and enter, a node at a time; on one node, messages. */
nbcolli_cost_level nbcolli_cost_crowd(const nbcolli_cost_call *c, uint64_t crowd);

/* Messages of all ranks to those so many numbers on; and of those whose numbers differ in a digit of that weight, to
 * this base. */
nbcolli_cost_level nbcolli_cost_shift(const nbcolli_cost_call *c, uint64_t distance);
nbcolli_cost_level nbcolli_cost_pairs(const nbcolli_cost_call *c, uint64_t distance, uint64_t base);

/* The prices of bytes where no more than so many ranks are at work at a time: fewer take turns on a core. A post stays
 * as dear: somebody waits for a turn to see it. */
nbcolli_cost_call nbcolli_cost_working(const nbcolli_cost_call *c, uint64_t workers);

/* ---- messages -------------------------------------------------------------------------------------------------- */

/* From the SEND of a message to the end of its RECV. */
nbcolli_cost_time nbcolli_cost_message(const nbcolli_cost_level *l, uint64_t bytes);

/* `count` messages, of which none waits for another, which one rank sends, or takes, or of which each does both
 * (`ends`); it copies or combines `worked` bytes of each. `crowd`: so many ranks of a node do so at once. */
#define NBCOLLI_COST_SENDS 1
#define NBCOLLI_COST_BOTH 2
#define NBCOLLI_COST_TAKES 3
nbcolli_cost_time nbcolli_cost_train(const nbcolli_cost_call *c, uint64_t count, uint64_t bytes, uint64_t ends,
                                     uint64_t worked, uint64_t crowd);

/* What of the bytes of a message at one end (SENDS or TAKES), or of one at each, a rank's core moves itself. */
nbcolli_cost_time nbcolli_cost_moved(const nbcolli_cost_level *l, uint64_t bytes, uint64_t ends);

/* Of a part that is alike for all readers: do they follow the copy to the shelf while it is made? */
int nbcolli_cost_is_followed(const nbcolli_cost_call *c, uint64_t bytes);

/* `count` fetches of one rank, one after the other, from exposures all of whose parts have `exposed` bytes. */
nbcolli_cost_time nbcolli_cost_fetches(const nbcolli_cost_call *c, uint64_t count, uint64_t bytes, uint64_t exposed,
                                       uint64_t worked);

/* A message of all ranks to the next one in each of ranks - 1 rounds, of which each rank combines `worked` bytes. */
nbcolli_cost_time nbcolli_cost_ring(const nbcolli_cost_call *c, uint64_t bytes, uint64_t worked);

/* A message from each rank to the next, one after the other, of which each combines `worked` bytes. */
nbcolli_cost_time nbcolli_cost_hops(const nbcolli_cost_call *c, uint64_t bytes, uint64_t worked);

/* ---- trees ----------------------------------------------------------------------------------------------------- */

/* Down a binomial tree of `ranks`, or up: messages of `whole` bytes and a `block` for each rank below, `worked` bytes
 * for each. */
nbcolli_cost_time nbcolli_cost_binomial(const nbcolli_cost_call *c, uint64_t ranks, uint64_t whole, uint64_t block,
                                        uint64_t worked, int is_up);

/* Down a tree by halves of the ranks, or up: messages of a `block` for each rank of the other half. */
nbcolli_cost_time nbcolli_cost_halves(const nbcolli_cost_call *c, uint64_t block);

/* Down a tree of that arity in segments. */
nbcolli_cost_time nbcolli_cost_levels(const nbcolli_cost_call *c, uint64_t arity, uint64_t segments);
uint64_t nbcolli_cost_segments(const nbcolli_cost_call *c);

/* ---- rounds ---------------------------------------------------------------------------------------------------- */

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

/* ---- cost_nodes.c: algorithms by nodes ------------------------------------------------------------------------- */

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

/* By domains: what those of a domain do, and the same between leaders of domains, by nodes. */
nbcolli_cost_time nbcolli_cost_domains_barrier(const nbcolli_cost_call *c);
nbcolli_cost_time nbcolli_cost_domains_bcast(const nbcolli_cost_call *c);
nbcolli_cost_time nbcolli_cost_domains_reduce(const nbcolli_cost_call *c);
nbcolli_cost_time nbcolli_cost_domains_allreduce(const nbcolli_cost_call *c);

#endif
