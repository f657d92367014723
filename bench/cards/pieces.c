/* SPDX-License-Identifier: BSD-3-Clause
 * Allgathers of a block in pieces, and one of several at a time. */
#include "cards.h"

/* A block as pieces, each an allgather of its own: fragments of a pipelined one, or several at a time. */
const nbcoll_algorithm *pieces_go_by;
size_t piece;

static void pieces(nbcoll_builder *b, const nbcoll_args *a)
{
    for (size_t at = 0; at < a->bytes; at += piece) {
        nbcoll_args one = *a;
        one.count = one.bytes = a->bytes - at < piece ? a->bytes - at : piece;
        one.send = nbcoll_at(a->send, at);
        one.recv = nbcoll_at(a->recv, at * (size_t)b->ranks);
        nbcoll_within(b, NULL, b->ranks, &one, pieces_go_by->build, NBCOLL_START);
    }
}

const nbcoll_algorithm in_pieces = {.size = sizeof in_pieces,
                                    .name = "pieces",
                                    .operation = NBCOLL_OPERATION_ALLGATHER,
                                    .build = pieces,
                                    .flags = NBCOLL_ALGORITHM_PORTS};
