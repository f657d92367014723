/* SPDX-License-Identifier: BSD-3-Clause
 * Reduction of long vectors: every rank combines one block of all vectors, which the others send it directly, then
 * sends it to the root. No rank sends more than the vector. Source: Thakur, Rabenseifner, Gropp, "Optimization of
 * collective communication operations in MPICH" (2005), reduce-scatter by pairwise exchange, then gather.
 *
 * Operands come from the next rank below first, then further down, and from the last rank on after that. They are
 * combined as they come and still stand in rank order: those from below go to the left of what this rank has of the
 * ranks up to itself, those from above to the left of what it has of the ranks above. */
#include "nbcoll/pattern.h"
#include "nbcoll/schedule.h"

nbcoll_build nbcolli_reduce_pairwise;

static nbcoll_region pairwise_block(const nbcoll_builder *b, const nbcoll_args *a, nbcoll_addr vector, int i)
{
    return nbcoll_span(nbcoll_at(vector, nbcoll_block_offset(a->count, b->ranks, i) * a->element),
                       nbcoll_block_length(a->count, b->ranks, i) * a->element);
}

/* What is known of the operands of some consecutive ranks, and since which step. */
typedef struct pairwise_part {
    nbcoll_addr at;
    nbcoll_step since;
} pairwise_part;

static pairwise_part pairwise_combine(nbcoll_builder *b, const nbcoll_args *a, nbcoll_addr result, pairwise_part left,
                                      pairwise_part right)
{
    size_t count = nbcoll_block_length(a->count, b->ranks, b->rank);
    nbcoll_step combine = nbcoll_combine(b, result, left.at, right.at, count, a->reduction);
    nbcoll_after(b, combine, left.since);
    nbcoll_after(b, combine, right.since);
    return (pairwise_part){result, combine};
}

/* Sends block `peer` of this rank's vector, and at the root receives it back, combined. */
static void pairwise_give(nbcoll_builder *b, const nbcoll_args *a, int peer)
{
    nbcoll_region block = pairwise_block(b, a, a->send, peer);
    nbcoll_step give = nbcoll_send(b, peer, block.at, block.bytes);
    if (b->rank != a->root)
        return;
    block = pairwise_block(b, a, a->recv, peer);
    nbcoll_step back = nbcoll_recv(b, peer, block.at, block.bytes);
    nbcoll_number(b, back, 1); /* its operand for this rank's own block is number 0 */
    if (a->in_place)
        nbcoll_after(b, back, give);
}

void nbcolli_reduce_pairwise(nbcoll_builder *b, const nbcoll_args *a)
{
    int me = b->rank, ranks = b->ranks;
    nbcoll_region mine = pairwise_block(b, a, a->send, me);

    if (ranks == 1) {
        if (!a->in_place)
            nbcoll_copy(b, a->recv, a->send, a->bytes);
        return;
    }
    nbcoll_addr room = nbcoll_scratch(b, (size_t)(ranks - 1) * mine.bytes);
    nbcoll_addr result = me == a->root ? pairwise_block(b, a, a->recv, me).at : nbcoll_scratch(b, mine.bytes);
    pairwise_part low = {mine.at, NBCOLL_START}, high = {room, NBCOLL_START};
    for (int i = 1; i < ranks; i++) {
        int from = nbcoll_relative(me, i, ranks);
        pairwise_part in = {nbcoll_at(room, (size_t)(i - 1) * mine.bytes), NBCOLL_START};
        pairwise_give(b, a, nbcoll_absolute(i, me, ranks));
        in.since = nbcoll_recv(b, from, in.at, mine.bytes);
        if (from < me)
            low = pairwise_combine(b, a, result, in, low);
        else if (from == ranks - 1)
            high = in;
        else
            high = pairwise_combine(b, a, in.at, in, high);
    }
    if (me < ranks - 1)
        low = pairwise_combine(b, a, result, low, high);
    if (me != a->root)
        nbcoll_after(b, nbcoll_send(b, a->root, result, mine.bytes), low.since);
}
