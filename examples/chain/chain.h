/* SPDX-License-Identifier: BSD-3-Clause
 * A pipelined broadcast down a chain of ranks, written twice: as a graph and as rounds. Source: Nomura et al., uKACC,
 * sections III.B and IV.B. */
#ifndef CHAIN_H
#define CHAIN_H

#include "nbcoll/pattern.h"
#include "nbcoll/schedule.h"

static inline nbcoll_region chain_piece(const nbcoll_args *a, int pieces, int i)
{
    return nbcoll_span(nbcoll_at(a->recv, nbcoll_block_offset(a->bytes, pieces, i)),
                       nbcoll_block_length(a->bytes, pieces, i));
}

/* As a graph: all receives are posted at once, and each piece is passed on when it has come. Pieces go out in order,
 * so that the next rank gets them in order. */
static inline void chain_graph(nbcoll_builder *b, const nbcoll_args *a)
{
    int pieces = nbcoll_segments(a->bytes, a->segment);
    nbcoll_step sent = NBCOLL_START;

    for (int i = 0; i < pieces; i++) {
        nbcoll_region piece = chain_piece(a, pieces, i);
        nbcoll_step come = NBCOLL_START;
        if (b->rank > 0)
            come = nbcoll_add_recv(b, b->rank - 1, piece.at, piece.bytes);
        if (b->rank + 1 < b->ranks) {
            nbcoll_step send = nbcoll_add_send(b, b->rank + 1, piece.at, piece.bytes);
            nbcoll_after(b, send, come);
            nbcoll_after(b, send, sent);
            sent = send;
        }
    }
}

/* As rounds: a round passes on piece k and receives piece k + 1, and the next begins when both have ended. So a receive
 * is never posted before the round that uses it, and its message may find nobody waiting. */
static inline void chain_rounds(nbcoll_builder *b, const nbcoll_args *a)
{
    int pieces = nbcoll_segments(a->bytes, a->segment);

    for (int round = 0; round <= pieces; round++) {
        if (round < pieces && b->rank > 0) {
            nbcoll_region piece = chain_piece(a, pieces, round);
            nbcoll_add_recv(b, b->rank - 1, piece.at, piece.bytes);
        }
        if (round > 0 && b->rank + 1 < b->ranks) {
            nbcoll_region piece = chain_piece(a, pieces, round - 1);
            nbcoll_add_send(b, b->rank + 1, piece.at, piece.bytes);
        }
        nbcoll_end_stage(b, NBCOLL_DEPENDENT);
    }
}

static const nbcoll_algorithm chain_algorithms[] = {
    {sizeof(nbcoll_algorithm), "chain_graph", NBCOLL_OPERATION_BCAST, chain_graph, NBCOLL_ALGORITHM_SEGMENT, NULL},
    {sizeof(nbcoll_algorithm), "chain_rounds", NBCOLL_OPERATION_BCAST, chain_rounds, NBCOLL_ALGORITHM_SEGMENT, NULL},
};

#endif
