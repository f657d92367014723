/* SPDX-License-Identifier: BSD-3-Clause
 * Allgathers of a block in pieces, and one of several at a time. */
#include "nics.h"

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

static void build_unrotated(nbcoll_builder *b, const nbcoll_args *a)
{
    int me = b->rank, ranks = b->ranks, ports = a->ports ? (int)a->ports : 1;
    nbcoll_step have = NBCOLL_START;
    for (int blocks = 1; blocks < ranks; blocks *= ports + 1) {
        nbcoll_step next = nbcoll_add_join(b);
        nbcoll_after(b, next, have);
        for (int far = blocks; far < ranks && far <= ports * blocks; far += blocks) {
            size_t bytes = (size_t)(blocks < ranks - far ? blocks : ranks - far) * a->bytes;
            nbcoll_addr in = nbcoll_at(a->recv, (size_t)far * a->bytes);
            nbcoll_after(b, nbcoll_add_send(b, (me + ranks - far) % ranks, a->recv, bytes), have);
            nbcoll_after(b, next, nbcoll_add_recv(b, (me + far) % ranks, in, bytes));
        }
        have = next;
    }
}

const nbcoll_algorithm unrotated = {.size = sizeof unrotated,
                                    .name = "unrotated",
                                    .operation = NBCOLL_OPERATION_ALLGATHER,
                                    .build = build_unrotated,
                                    .flags = NBCOLL_ALGORITHM_PORTS};
