/* SPDX-License-Identifier: BSD-3-Clause
 * Reductions of long vectors, each block combined by one rank: every rank sends every other one its operand of the
 * block that belongs there, and combines its own. That is reduce-scatter; for reduce and allreduce, the finished block
 * then goes to the root, or to all. No rank sends more than the vector; in allreduce, twice the vector. Source: Thakur,
 * Rabenseifner, Gropp, "Optimization of collective communication operations in MPICH" (2005), reduce-scatter by
 * pairwise exchange, then gather. There, operands are combined one after the other; the tree that splits n ranks behind
 * the largest power of two below n is this library's. */
#include "algorithms.h"

/* What is known of the operands of some consecutive ranks, and since which step. */
typedef struct nbcolli_owners_part {
    nbcoll_addr at;
    nbcoll_step since;
    int ranks;
    int is_mine; /* not to be written */
} nbcolli_owners_part;

typedef struct nbcolli_owners_plan {
    nbcoll_builder *b;
    const nbcoll_args *a;
    nbcoll_region result;
    nbcoll_addr room; /* for the other ranks' operands, in rank order */
    nbcolli_owners_part mine;
} nbcolli_owners_plan;

static int nbcolli_owners_is_scatter(const nbcoll_args *a)
{
    return a->operation != NBCOLL_OPERATION_REDUCE && a->operation != NBCOLL_OPERATION_ALLREDUCE;
}

/* Does `rank` need the whole result? */
static int nbcolli_owners_needs_all(const nbcoll_args *a, int rank)
{
    return a->operation == NBCOLL_OPERATION_ALLREDUCE || (a->operation == NBCOLL_OPERATION_REDUCE && rank == a->root);
}

/* Block i of the operands, or of the whole result. */
static nbcoll_region nbcolli_owners_block(const nbcoll_builder *b, const nbcoll_args *a, nbcoll_addr vector, int i)
{
    if (nbcolli_owners_is_scatter(a))
        return nbcoll_send_block(b, a, i);
    return nbcolli_vector_block(b, a, vector, i);
}

static nbcolli_owners_part nbcolli_owners_operand(const nbcolli_owners_plan *p, int rank)
{
    if (rank == p->b->rank)
        return p->mine;
    nbcoll_addr at = nbcoll_at(p->room, (size_t)(rank - (rank > p->b->rank)) * p->result.bytes);
    return (nbcolli_owners_part){at, nbcoll_add_recv(p->b, rank, at, p->result.bytes), 1, 0};
}

static nbcolli_owners_part nbcolli_owners_combine(const nbcolli_owners_plan *p, nbcolli_owners_part left,
                                                  nbcolli_owners_part right)
{
    int ranks = left.ranks + right.ranks;
    nbcoll_addr to = ranks == p->b->ranks ? p->result.at : left.is_mine ? right.at : left.at;
    size_t count = nbcoll_elements(p->result.bytes, p->a->element);
    nbcoll_step step = nbcoll_add_combine(p->b, to, left.at, right.at, count, p->a->reduction);

    nbcoll_after(p->b, step, left.since);
    nbcoll_after(p->b, step, right.since);
    return (nbcolli_owners_part){to, step, ranks, 0};
}

static nbcolli_owners_part nbcolli_owners_tree(const nbcolli_owners_plan *p, int first, int ranks)
{
    if (ranks == 1)
        return nbcolli_owners_operand(p, first);
    int low = nbcoll_power(ranks - 1);
    nbcolli_owners_part left = nbcolli_owners_tree(p, first, low);
    return nbcolli_owners_combine(p, left, nbcolli_owners_tree(p, first + low, ranks - low));
}

/* As they come: that of the next rank below first, then those further down, and from the last rank on down to here. */
static nbcolli_owners_part nbcolli_owners_as_they_come(const nbcolli_owners_plan *p)
{
    nbcolli_owners_part low = p->mine;

    for (int rank = p->b->rank - 1; rank >= 0; rank--)
        low = nbcolli_owners_combine(p, nbcolli_owners_operand(p, rank), low);
    if (p->b->rank == p->b->ranks - 1)
        return low;
    nbcolli_owners_part high = nbcolli_owners_operand(p, p->b->ranks - 1);
    for (int rank = p->b->ranks - 2; rank > p->b->rank; rank--)
        high = nbcolli_owners_combine(p, nbcolli_owners_operand(p, rank), high);
    return nbcolli_owners_combine(p, low, high);
}

/* The finished blocks of reduce and allreduce to where they are needed; in place, when all operands have `left`. */
static void nbcolli_owners_share(const nbcolli_owners_plan *p, nbcoll_step finished, nbcoll_step left)
{
    for (int i = 1; i < p->b->ranks; i++) {
        int above = nbcoll_absolute(i, p->b->rank, p->b->ranks), below = nbcoll_relative(p->b->rank, i, p->b->ranks);
        if (nbcolli_owners_needs_all(p->a, above))
            nbcoll_after(p->b, nbcoll_add_send(p->b, above, p->result.at, p->result.bytes), finished);
        if (nbcolli_owners_needs_all(p->a, p->b->rank)) {
            nbcoll_region block = nbcolli_owners_block(p->b, p->a, p->a->recv, below);
            nbcoll_after(p->b, nbcoll_add_recv(p->b, below, block.at, block.bytes), left);
        }
    }
}

static void nbcolli_owners_build(nbcoll_builder *b, const nbcoll_args *a, int is_tree)
{
    int me = b->rank, ranks = b->ranks, is_scatter = nbcolli_owners_is_scatter(a);
    nbcoll_region own = nbcolli_owners_block(b, a, a->send, me), result = nbcolli_owners_block(b, a, a->recv, me);
    nbcoll_step left = a->in_place ? nbcoll_add_join(b) : NBCOLL_START;

    if (is_scatter)
        result.at = a->recv;
    else if (!nbcolli_owners_needs_all(a, me))
        result.at = nbcoll_add_scratch(b, own.bytes);
    nbcolli_owners_plan p = {
        b, a, result, nbcoll_add_scratch(b, (size_t)(ranks - 1) * own.bytes), {own.at, NBCOLL_START, 1, 1}};
    if (ranks == 1 && !a->in_place)
        nbcoll_add_copy(b, result.at, own.at, own.bytes);
    if (ranks == 1)
        return;
    if (a->in_place && is_scatter) { /* the result lies where operands do */
        p.mine.at = nbcoll_add_scratch(b, own.bytes);
        p.mine.since = nbcoll_add_copy(b, p.mine.at, own.at, own.bytes);
    }
    for (int i = 1; i < ranks; i++) {
        int to = nbcoll_absolute(i, me, ranks);
        nbcoll_region block = nbcolli_owners_block(b, a, a->send, to);
        nbcoll_step give = nbcoll_add_send(b, to, block.at, block.bytes);
        if (a->in_place)
            nbcoll_after(b, left, give);
    }
    nbcolli_owners_part all = is_tree ? nbcolli_owners_tree(&p, 0, ranks) : nbcolli_owners_as_they_come(&p);
    if (is_scatter)
        nbcoll_after(b, all.since, left);
    else
        nbcolli_owners_share(&p, all.since, left);
}

void nbcolli_reduce_scatter_owners(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_owners_build(b, a, 1);
}

void nbcolli_reduce_pairwise(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_owners_build(b, a, 0);
}
