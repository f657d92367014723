/* SPDX-License-Identifier: BSD-3-Clause
 * Barrier up and down a binomial tree: a rank that has heard of its whole subtree tells its parent, and hears of all
 * others from there. Source: the binomial tree of Ramos' thesis (2013), section 4.1.2 and Table 4.1.
 *
 * Its "exotic" binomial tree, which that table only names, is here a tree with two roots: rank 0 and its largest child
 * tell each other, instead of one the other and back, so that 2 ceil(log2 P) - 1 messages follow each other, and not
 * 2 ceil(log2 P). It was built so because all operations for which the tree is named give every rank the result, and
 * there only the topmost of its edges can be an exchange. */
#include "algorithms.h"

/* `other`: the second root, of which the first must not hear as of a child; 0 when there is none. */
static void nbcolli_barrier_tree(nbcoll_builder *b, const nbcoll_args *a, int other)
{
    int me = b->rank, is_root = !me || me == other, above = is_root ? other - me : nbcoll_binomial_parent(me);
    int has_children = !me && other ? other > 1 : nbcoll_binomial_first(me, b->ranks) > me;
    nbcoll_step below = has_children ? nbcoll_add_join(b) : NBCOLL_START, all = below;

    if (above != me) {
        nbcoll_after(b, nbcoll_add_send(b, above, a->recv, 0), below);
        all = nbcoll_add_recv(b, above, a->recv, 0);
    }
    if (is_root && other && has_children) { /* the other root does not speak for the ranks below this one */
        nbcoll_step heard = all;
        all = nbcoll_add_join(b);
        nbcoll_after(b, all, heard);
        nbcoll_after(b, all, below);
    }
    for (int child = nbcoll_binomial_first(me, b->ranks); child > me; child = nbcoll_binomial_next(me, child)) {
        if (child == other)
            continue;
        nbcoll_after(b, below, nbcoll_add_recv(b, child, a->recv, 0));
        nbcoll_after(b, nbcoll_add_send(b, child, a->recv, 0), all);
    }
}

void nbcolli_barrier_binomial(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_barrier_tree(b, a, 0);
}

void nbcolli_barrier_two_roots(nbcoll_builder *b, const nbcoll_args *a)
{
    nbcolli_barrier_tree(b, a, nbcoll_binomial_first(0, b->ranks));
}
