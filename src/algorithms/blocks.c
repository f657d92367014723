/* SPDX-License-Identifier: BSD-3-Clause
 * Blocks, and their way from or to a root: see algorithms.h. */
#include "algorithms.h"

nbcoll_region nbcolli_vector_block(const nbcoll_builder *b, const nbcoll_args *a, nbcoll_addr vector, int i)
{
    return nbcoll_span(nbcoll_at(vector, nbcoll_block_offset(a->count, b->ranks, i) * a->element),
                       nbcoll_block_length(a->count, b->ranks, i) * a->element);
}

size_t nbcolli_blocks_bytes(const nbcoll_builder *b, const nbcoll_args *a, int first, int blocks)
{
    return a->counts ? nbcoll_block_sum(a->counts, first, blocks, b->ranks) * a->element : (size_t)blocks * a->bytes;
}

nbcoll_step nbcolli_rooted_pass(const nbcolli_rooted *p, int peer, int is_nearer, nbcoll_addr at, size_t bytes)
{
    return is_nearer == p->is_gather ? nbcoll_add_send(p->b, peer, at, bytes) : nbcoll_add_recv(p->b, peer, at, bytes);
}

nbcoll_step nbcolli_rooted_copy(const nbcolli_rooted *p, nbcoll_addr farther, nbcoll_addr nearer, size_t bytes)
{
    return p->is_gather ? nbcoll_add_copy(p->b, nearer, farther, bytes) : nbcoll_add_copy(p->b, farther, nearer, bytes);
}

void nbcolli_rooted_order(const nbcolli_rooted *p, nbcoll_step farther, nbcoll_step nearer)
{
    nbcoll_after(p->b, p->is_gather ? nearer : farther, p->is_gather ? farther : nearer);
}

nbcoll_region nbcolli_rooted_place(const nbcolli_rooted *p, int rank)
{
    return p->is_gather ? nbcoll_recv_block(p->b, p->a, rank) : nbcoll_send_block(p->b, p->a, rank);
}

nbcoll_step nbcolli_rooted_pack(const nbcolli_rooted *p, int peer, int first, int blocks)
{
    size_t bytes = nbcolli_blocks_bytes(p->b, p->a, first, blocks);
    nbcoll_addr room = nbcoll_add_scratch(p->b, bytes);
    nbcoll_step message = nbcolli_rooted_pass(p, peer, 0, room, bytes);

    for (int i = 0; i < blocks; i++) {
        nbcoll_region place = nbcolli_rooted_place(p, (first + i) % p->b->ranks);
        nbcolli_rooted_order(p, message, nbcolli_rooted_copy(p, room, place.at, place.bytes));
        room = nbcoll_at(room, place.bytes);
    }
    return message;
}
