/* SPDX-License-Identifier: BSD-3-Clause
 * Allgather over k ports as Bruck and others do it, also of blocks of different known lengths: in each of
 * ceil(log_(k+1) P) rounds a rank sends what it has to k others, and has k + 1 times as much after it. The blocks
 * gather in scratch memory, this rank's own first, and are turned into rank order at the end. Source: Bruck, Ho,
 * Kipnis, Upfal, Weathersby, "Efficient algorithms for all-to-all communications in multiport message-passing systems"
 * (1997), as in Inozemtsev's thesis (2014), section 4.2.2. In the pipelined form of its section 5.3.2 blocks are not
 * concatenated: each is sent on as soon as it comes, straight to its place. Ports: one; in the other forms `ports`, or
 * two. */
#include "algorithms.h"

#define NBCOLLI_BRUCK_PORTS 2

static int64_t nbcolli_bruck_ports_of(const nbcoll_args *a)
{
    return a->ports ? a->ports : NBCOLLI_BRUCK_PORTS;
}

/* Copies the blocks to their places: equal ones in two runs. In place, this rank's own is there. */
static void nbcolli_bruck_place(nbcoll_builder *b, const nbcoll_args *a, nbcoll_addr room, nbcoll_step all)
{
    for (int i = a->in_place ? 1 : 0, run; i < b->ranks; i += run) {
        int owner = nbcoll_absolute(i, b->rank, b->ranks);
        nbcoll_addr from = nbcoll_at(room, nbcolli_blocks_bytes(b, a, b->rank, i));
        run = a->counts ? 1 : owner >= b->rank ? b->ranks - owner : b->rank;
        nbcoll_after(
            b, nbcoll_add_copy(b, nbcoll_recv_block(b, a, owner).at, from, nbcolli_blocks_bytes(b, a, owner, run)),
            all);
    }
}

static void nbcolli_bruck(nbcoll_builder *b, const nbcoll_args *a, int64_t ports)
{
    int me = b->rank, ranks = b->ranks;
    nbcoll_addr room = nbcoll_add_scratch(b, nbcolli_blocks_bytes(b, a, me, ranks)); /* this rank's own block first */
    nbcoll_step have = nbcoll_add_copy(b, room, a->send, nbcolli_blocks_bytes(b, a, me, 1));

    for (int64_t blocks = 1; blocks < ranks; blocks *= ports + 1) {
        nbcoll_step next = nbcoll_add_join(b);
        nbcoll_after(b, next, have);
        for (int64_t far = blocks; far < ranks && far <= ports * blocks; far += blocks) {
            int above = nbcoll_absolute((int)far, me, ranks), below = nbcoll_relative(me, (int)far, ranks);
            int64_t more = blocks < ranks - far ? blocks : ranks - far;
            nbcoll_addr in = nbcoll_at(room, nbcolli_blocks_bytes(b, a, me, (int)far));
            nbcoll_after(b, nbcoll_add_send(b, below, room, nbcolli_blocks_bytes(b, a, me, (int)more)), have);
            nbcoll_after(b, next, nbcoll_add_recv(b, above, in, nbcolli_blocks_bytes(b, a, above, (int)more)));
        }
        have = next;
    }
    nbcolli_bruck_place(b, a, room, have);
}

void nbcolli_allgather_bruck(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_bruck(b, a, 1);
}

void nbcolli_allgather_bruck_ports(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_bruck(b, a, nbcolli_bruck_ports_of(a));
}

/* Block i is that of the rank i above this one. It comes in the round in which that many are known: of the ranks
 * above, that one sends it which knows it then; and in all later rounds it goes to those below that lack it. */
void nbcolli_allgather_bruck_pipelined(nbcoll_builder *b, const nbcoll_args *a)
{
    int me = b->rank, ranks = b->ranks;
    int64_t ports = nbcolli_bruck_ports_of(a);

    for (int64_t i = 0, known = 1; i < ranks; i++) { /* known > i */
        int owner = nbcoll_absolute((int)i, me, ranks);
        nbcoll_region block = i ? nbcoll_recv_block(b, a, owner) : nbcoll_send_block(b, a, owner);
        nbcoll_step have = NBCOLL_START;
        if (i == known)
            known *= ports + 1;
        if (i) {
            int64_t before = known / (ports + 1);
            have = nbcoll_add_recv(b, nbcoll_absolute((int)(i - i % before), me, ranks), block.at, block.bytes);
            nbcoll_set_number(b, have, (uint32_t)owner);
        } else if (!a->in_place) {
            nbcoll_add_copy(b, nbcoll_recv_block(b, a, me).at, block.at, block.bytes);
        }
        for (int64_t blocks = known; blocks < ranks - i; blocks *= ports + 1)
            for (int64_t far = blocks; far < ranks - i && far <= ports * blocks; far += blocks) {
                nbcoll_step give = nbcoll_add_send(b, nbcoll_relative(me, (int)far, ranks), block.at, block.bytes);
                nbcoll_set_number(b, give, (uint32_t)owner);
                nbcoll_after(b, give, have);
            }
    }
}
