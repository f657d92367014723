/* SPDX-License-Identifier: BSD-3-Clause
 * Allreduce of short vectors by recursive doubling over aligned groups, for any number of ranks without folding: in
 * round k, neighbouring groups of 2^k ranks exchange their results. Where the upper one is cut short by the last rank,
 * its members serve all of the lower one by binomial trees. Operands are combined along the tree that splits n ranks
 * behind the largest power of two below n. At most ceil(log2 P) messages after each other. Source: recursive doubling
 * as in Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations in MPICH" (2005); the trees
 * are this library's. */
#include "algorithms.h"

typedef struct nbcolli_groups_state {
    nbcolli_sum sum; /* of this rank's group */
    nbcoll_step used; /* in place: a join after all sends of this rank's own operand */
} nbcolli_groups_state;

static void nbcolli_groups_give(nbcoll_builder *b, const nbcoll_args *a, const nbcolli_groups_state *s, int peer)
{
    nbcoll_step give = nbcolli_sum_give(b, peer, s->sum, a->bytes);
    if (a->in_place && s->sum.since == NBCOLL_START)
        nbcoll_after(b, s->used, give);
}

/* Two groups that exchange, and a tree between them: node 0 is a rank of the upper group, the others are those of the
 * lower one with the same place modulo the upper one's length. */
typedef struct nbcolli_groups_pair {
    int lower, upper, length; /* first ranks; ranks of the upper one */
    int place, nodes;
} nbcolli_groups_pair;

static int nbcolli_groups_rank(const nbcolli_groups_pair *p, int node)
{
    return p->place + (node ? p->lower + (node - 1) * p->length : p->upper);
}

/* What a rank does as a node of its tree: takes the other group's result, and passes on the upper group's. */
static nbcolli_groups_state nbcolli_groups_take(nbcoll_builder *b, const nbcoll_args *a,
                                                  const nbcolli_groups_state *s, const nbcolli_groups_pair *p,
                                                  int node)
{
    int from = node ? nbcolli_groups_rank(p, nbcoll_binomial_parent(node)) : p->lower + p->place;
    nbcolli_groups_state in = {nbcolli_sum_take(b, from, nbcoll_add_scratch(b, a->bytes), a->bytes), s->used};

    for (int child = nbcoll_binomial_first(node, p->nodes); child > node; child = nbcoll_binomial_next(node, child))
        nbcolli_groups_give(b, a, node ? &in : s, nbcolli_groups_rank(p, child));
    return in;
}

static void nbcolli_groups_exchange(nbcoll_builder *b, const nbcoll_args *a, nbcolli_groups_state *s, int gap)
{
    int me = b->rank, upper = (me & -gap) | gap, rest = b->ranks - upper, is_last = gap >= b->ranks - gap, node = 0;

    if (rest <= 0)
        return;
    nbcolli_groups_pair p = {upper - gap, upper, rest < gap ? rest : gap, 0, 0};
    p.place = (me - (me < upper ? p.lower : p.upper)) % p.length;
    p.nodes = (gap - 1 - p.place) / p.length + 2;
    if (me < upper) {
        node = (me - p.lower) / p.length + 1;
        if (node == 1)
            nbcolli_groups_give(b, a, s, p.upper + p.place);
    }
    nbcolli_groups_state in = nbcolli_groups_take(b, a, s, &p, node);
    nbcoll_addr to = is_last ? a->recv : nbcoll_add_scratch(b, a->bytes);
    s->sum = node ? nbcolli_sum_of(b, a, to, a->bytes, s->sum, in.sum)
                  : nbcolli_sum_of(b, a, to, a->bytes, in.sum, s->sum);
    if (is_last && a->in_place)
        nbcoll_after(b, s->sum.since, s->used);
}

void nbcolli_allreduce_groups(nbcoll_builder *b, const nbcoll_args *a)
{
    int ranks = b->ranks;
    nbcolli_groups_state s = {{a->send, NBCOLL_START}, a->in_place ? nbcoll_add_join(b) : NBCOLL_START};

    if (ranks == 1 && !a->in_place)
        nbcoll_add_copy(b, a->recv, a->send, a->bytes);
    for (int gap = 1; gap < ranks; gap = gap < ranks - gap ? 2 * gap : ranks)
        nbcolli_groups_exchange(b, a, &s, gap);
}
