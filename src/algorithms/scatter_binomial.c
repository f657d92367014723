/* SPDX-License-Identifier: BSD-3-Clause
 * Scatter down a binomial tree: each rank receives the blocks of its whole subtree and passes on those of its
 * children. At most ceil(log2 P) messages after each other. Source: Chan, Heimlich, Purkayastha, van de Geijn,
 * "Collective communication: theory, practice, and experience" (2007), the minimum spanning tree. Blocks travel in
 * relative order; in the root's buffer they lie in rank order, so that the one subtree that passes the last rank
 * comes as two messages. */
#include "nbcoll/pattern.h"
#include "nbcoll/schedule.h"

nbcoll_build nbcolli_scatter_binomial;

static void nbcolli_scatter_binomial_root(nbcoll_builder *b, const nbcoll_args *a)
{
    int ranks = b->ranks;

    for (int child = nbcoll_binomial_first(0, ranks); child > 0; child = nbcoll_binomial_next(0, child)) {
        int peer = nbcoll_absolute(child, a->root, ranks), size = nbcoll_binomial_size(child, ranks);
        int unwrapped = nbcoll_binomial_unwrapped(child, a->root, ranks);
        nbcoll_add_send(b, peer, nbcoll_at(a->send, (size_t)peer * a->bytes), (size_t)unwrapped * a->bytes);
        if (unwrapped < size)
            nbcoll_add_send(b, peer, a->send, (size_t)(size - unwrapped) * a->bytes);
    }
    if (!a->in_place)
        nbcoll_add_copy(b, a->recv, nbcoll_at(a->send, (size_t)a->root * a->bytes), a->bytes);
}

void nbcolli_scatter_binomial(nbcoll_builder *b, const nbcoll_args *a)
{
    int ranks = b->ranks, me = nbcoll_relative(b->rank, a->root, ranks);

    if (!me) {
        nbcolli_scatter_binomial_root(b, a);
        return;
    }
    int size = nbcoll_binomial_size(me, ranks), above = nbcoll_binomial_parent(me);
    int unwrapped = above ? size : nbcoll_binomial_unwrapped(me, a->root, ranks);
    int parent = nbcoll_absolute(above, a->root, ranks);
    nbcoll_addr room = size > 1 ? nbcoll_add_scratch(b, (size_t)size * a->bytes) : a->recv;
    nbcoll_step head = nbcoll_add_recv(b, parent, room, (size_t)unwrapped * a->bytes), tail = NBCOLL_START;
    if (unwrapped < size)
        tail = nbcoll_add_recv(b, parent, nbcoll_at(room, (size_t)unwrapped * a->bytes),
                           (size_t)(size - unwrapped) * a->bytes);
    for (int child = nbcoll_binomial_first(me, ranks); child > me; child = nbcoll_binomial_next(me, child)) {
        int first = child - me, blocks = nbcoll_binomial_size(child, ranks);
        nbcoll_step feed = nbcoll_add_send(b, nbcoll_absolute(child, a->root, ranks),
                                       nbcoll_at(room, (size_t)first * a->bytes), (size_t)blocks * a->bytes);
        if (first < unwrapped)
            nbcoll_after(b, feed, head);
        if (first + blocks > unwrapped)
            nbcoll_after(b, feed, tail);
    }
    if (size > 1)
        nbcoll_after(b, nbcoll_add_copy(b, a->recv, room, a->bytes), head);
}
