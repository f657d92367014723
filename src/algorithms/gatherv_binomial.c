/* SPDX-License-Identifier: BSD-3-Clause
 * Gather of short blocks of different known lengths, up a binomial tree: each rank collects the blocks of its subtree
 * and sends them to its parent. At most ceil(log2 P) messages after each other. Source: as gather_binomial; here the
 * root collects in scratch memory too, because its blocks may lie anywhere. */
#include "nbcoll/pattern.h"
#include "nbcoll/schedule.h"

nbcoll_build nbcolli_gatherv_binomial;

/* The bytes of `blocks` blocks, from that of relative rank `first` on. */
static size_t nbcolli_gatherv_bytes(const nbcoll_builder *b, const nbcoll_args *a, int first, int blocks)
{
    return nbcoll_block_sum(a->counts, nbcoll_absolute(first, a->root, b->ranks), blocks, b->ranks) * a->element;
}

/* At the root: the blocks of the relative ranks from `first` on to their places, when `collect` has brought them. */
static void nbcolli_gatherv_place(nbcoll_builder *b, const nbcoll_args *a, int first, int blocks, nbcoll_addr room,
                                  nbcoll_step collect)
{
    for (int i = 0; i < blocks; i++) {
        nbcoll_region to = nbcoll_recv_block(b, a, nbcoll_absolute(first + i, a->root, b->ranks));
        nbcoll_after(b, nbcoll_add_copy(b, to.at, room, to.bytes), collect);
        room = nbcoll_at(room, to.bytes);
    }
}

void nbcolli_gatherv_binomial(nbcoll_builder *b, const nbcoll_args *a)
{
    int ranks = b->ranks, me = nbcoll_relative(b->rank, a->root, ranks), size = nbcoll_binomial_size(me, ranks);
    size_t own = nbcolli_gatherv_bytes(b, a, me, 1), all = nbcolli_gatherv_bytes(b, a, me, size);
    nbcoll_addr room = size > 1 ? nbcoll_add_scratch(b, all) : a->send;
    nbcoll_step give = NBCOLL_START;

    if (me)
        give = nbcoll_add_send(b, nbcoll_absolute(nbcoll_binomial_parent(me), a->root, ranks), room, all);
    if (me && size > 1)
        nbcoll_after(b, give, nbcoll_add_copy(b, room, a->send, own));
    if (!me && !a->in_place)
        nbcoll_add_copy(b, nbcoll_recv_block(b, a, b->rank).at, a->send, own);
    for (int child = nbcoll_binomial_first(me, ranks); child > me; child = nbcoll_binomial_next(me, child)) {
        int blocks = nbcoll_binomial_size(child, ranks);
        nbcoll_addr at = nbcoll_at(room, nbcolli_gatherv_bytes(b, a, me, child - me));
        nbcoll_step collect =
            nbcoll_add_recv(b, nbcoll_absolute(child, a->root, ranks), at, nbcolli_gatherv_bytes(b, a, child, blocks));
        if (me)
            nbcoll_after(b, give, collect);
        else
            nbcolli_gatherv_place(b, a, child, blocks, at, collect);
    }
}
