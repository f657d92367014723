/* SPDX-License-Identifier: BSD-3-Clause
 * Scan and exclusive scan by recursive doubling: in round k, the ranks of neighbouring groups of 2^k exchange the
 * groups' results; an upper group puts the lower one's in front of its prefixes too. Operands stand in rank order, and
 * each prefix of n ranks is combined along the tree that splits them behind the largest power of two below n.
 * ceil(log2 P) messages after each other. Source: Hillis, Steele, "Data parallel algorithms" (1986), made exchanges of
 * groups as in Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations in MPICH" (2005). */
#include "algorithms.h"

typedef struct nbcolli_scan_state {
    nbcoll_builder *b;
    const nbcoll_args *a;
    nbcolli_sum group, prefix; /* of this rank's group; of its ranks up to this one, or below this one */
    nbcoll_step aside;         /* the operand is out of the way of the result */
    int has_prefix, is_one;    /* prefix and group are the same */
} nbcolli_scan_state;

/* In the upper group. `is_last`: there will be nothing more in front. */
static void nbcolli_scan_upper(nbcolli_scan_state *s, int peer, int is_last, int has_more)
{
    nbcoll_addr result = is_last ? s->a->recv : nbcoll_add_scratch(s->b, s->a->bytes);
    nbcoll_addr in = s->has_prefix ? nbcoll_add_scratch(s->b, s->a->bytes) : result;
    nbcolli_sum lower = nbcolli_sum_take(s->b, peer, in, s->a->bytes);

    if (has_more)
        nbcolli_sum_give(s->b, peer, s->group, s->a->bytes);
    s->prefix = s->has_prefix ? nbcolli_sum_of(s->b, s->a, result, s->a->bytes, lower, s->prefix) : lower;
    s->has_prefix = 1;
    if (is_last)
        nbcoll_after(s->b, s->prefix.since, s->aside);
    if (s->is_one)
        s->group = s->prefix;
    else if (has_more)
        s->group = nbcolli_sum_of(s->b, s->a, nbcoll_add_scratch(s->b, s->a->bytes), s->a->bytes, lower, s->group);
}

void nbcolli_scan_recursive_doubling(nbcoll_builder *b, const nbcoll_args *a)
{
    int me = b->rank, ranks = b->ranks, is_scan = a->operation == NBCOLL_OPERATION_SCAN;
    nbcolli_scan_state s = {b, a, {a->send, NBCOLL_START}, {a->send, NBCOLL_START}, NBCOLL_START, is_scan, is_scan};

    if (me && a->in_place) {
        s.group.at = nbcoll_add_scratch(b, a->bytes);
        s.group.since = s.aside = nbcoll_add_copy(b, s.group.at, a->send, a->bytes);
        s.prefix = s.group;
    } else if (!me && is_scan && !a->in_place) {
        nbcoll_add_copy(b, a->recv, a->send, a->bytes);
    }
    for (int gap = 1; gap < ranks; gap = gap < ranks - gap ? 2 * gap : ranks) {
        int upper = (me & -gap) | gap, has_more = gap < ranks - upper; /* ranks above both groups */
        if (me >= upper) {
            nbcolli_scan_upper(&s, me - gap, me / 2 < gap, has_more);
        } else if (me < ranks - gap) {
            nbcolli_sum_give(b, me + gap, s.group, a->bytes);
            if (has_more) {
                nbcolli_sum in = nbcolli_sum_take(b, me + gap, nbcoll_add_scratch(b, a->bytes), a->bytes);
                s.group = nbcolli_sum_of(b, a, in.at, a->bytes, s.group, in);
                s.is_one = 0;
            }
        }
    }
}
