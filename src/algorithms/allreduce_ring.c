/* SPDX-License-Identifier: BSD-3-Clause
 * Allreduce of long vectors round a ring: partial results go round once until every rank has one finished block, then
 * the blocks go round once more. No rank sends more than twice the vector. A block's operands are combined in ring
 * order, its owner's last: for commutative reductions. Source: Patarasu, Yuan, "Bandwidth optimal all-reduce
 * algorithms for clusters of workstations" (2009).
 *
 * Partial results arrive in the receive buffer, or in scratch memory when this rank's operands still stand there. */
#include "algorithms.h"

/* A message of the ring: the first P - 1 of each pair carry partial results, the next P - 1 finished blocks. */
static nbcoll_step nbcolli_allreduce_send(nbcoll_builder *b, nbcoll_region block, int number)
{
    nbcoll_step step = nbcoll_add_send(b, nbcoll_absolute(1, b->rank, b->ranks), block.at, block.bytes);
    nbcoll_set_number(b, step, (uint32_t)number);
    return step;
}

static nbcoll_step nbcolli_allreduce_recv(nbcoll_builder *b, nbcoll_region block, int number)
{
    nbcoll_step step = nbcoll_add_recv(b, nbcoll_relative(b->rank, 1, b->ranks), block.at, block.bytes);
    nbcoll_set_number(b, step, (uint32_t)number);
    return step;
}

void nbcolli_allreduce_ring(nbcoll_builder *b, const nbcoll_args *a)
{
    int ranks = b->ranks, last = ranks - 1;

    if (ranks == 1) {
        if (!a->in_place)
            nbcoll_add_copy(b, a->recv, a->send, a->bytes);
        return;
    }
    nbcoll_addr landing = a->in_place ? nbcoll_add_scratch(b, a->bytes) : a->recv;
    nbcoll_step combined = NBCOLL_START;
    for (int i = 0; i < last; i++) {
        int out = nbcoll_relative(b->rank, i + 1, ranks), in = nbcoll_relative(out, 1, ranks);
        nbcoll_step give = nbcolli_allreduce_send(b, nbcolli_vector_block(b, a, i ? a->recv : a->send, out), i);
        nbcoll_after(b, give, combined);
        nbcoll_region place = nbcolli_vector_block(b, a, a->recv, in),
                      partial = nbcolli_vector_block(b, a, landing, in);
        nbcoll_step take = nbcolli_allreduce_recv(b, partial, i);
        combined = nbcoll_add_combine(b, place.at, partial.at, nbcolli_vector_block(b, a, a->send, in).at,
                                      nbcoll_block_length(a->count, ranks, in), a->reduction);
        nbcoll_after(b, combined, take);
        /* Block `out` comes back finished, over what was sent of it. */
        nbcoll_region finished = nbcolli_vector_block(b, a, a->recv, out);
        nbcoll_step back = nbcolli_allreduce_recv(b, finished, last + i);
        if (i || a->in_place)
            nbcoll_after(b, back, give);
        if (i + 1 < last)
            nbcoll_after(b, nbcolli_allreduce_send(b, finished, last + i + 1), back);
    }
    nbcoll_after(b, nbcolli_allreduce_send(b, nbcolli_vector_block(b, a, a->recv, b->rank), last), combined);
}
