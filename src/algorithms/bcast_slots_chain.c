/* SPDX-License-Identifier: BSD-3-Clause
 * Pipelined broadcast through shared memory: along the ranks from the root on, each fetches piece after piece from the
 * one before, and shows what it has to the next in one exposure that grows. The chain is the pipeline of Ramos'
 * thesis (2013), section 4.1.2; one growing exposure instead of a message a segment is what shared memory offers. */
#include "algorithms.h"

#define NBCOLLI_SLOTS_CHAIN_PIECE 65536
#define NBCOLLI_SLOTS_CHAIN_PIECES 32768 /* no more than a communicator's words count */

static size_t nbcolli_slots_chain_piece(const nbcoll_args *a)
{
    size_t piece = a->segment ? a->segment : NBCOLLI_SLOTS_CHAIN_PIECE,
           least = a->bytes / NBCOLLI_SLOTS_CHAIN_PIECES + 1;
    return piece < least ? least : piece;
}

void nbcolli_bcast_slots_chain(nbcoll_builder *b, const nbcoll_args *a)
{
    int me = nbcoll_relative(b->rank, a->root, b->ranks);
    int before = (b->rank + b->ranks - 1) % b->ranks;
    nbcoll_part next = {(b->rank + 1) % b->ranks, 0, nbcoll_span(a->recv, a->bytes)};
    size_t piece = nbcolli_slots_chain_piece(a), pieces = a->bytes ? (a->bytes - 1) / piece + 1 : 1;
    nbcoll_step shown = me + 1 < b->ranks ? nbcoll_add_expose_growing(b, 1, &next, piece) : NBCOLL_START;

    for (size_t i = 0; me > 0 && i < pieces; i++) {
        size_t left = a->bytes - i * piece;
        nbcoll_step have = nbcoll_add_fetch(b, before, nbcoll_at(a->recv, i * piece), left < piece ? left : piece);
        if (shown != NBCOLL_START)
            nbcoll_after(b, nbcoll_add_grow(b, shown, i), have);
    }
}
