/* SPDX-License-Identifier: BSD-3-Clause
 * Scatter of short blocks of different known lengths, down a binomial tree: each rank receives the blocks of its
 * subtree and passes on those of its children. At most ceil(log2 P) messages after each other. Source: as
 * scatter_binomial; here the root brings its blocks, which may lie anywhere, into relative order first. */
#include "nbcoll/pattern.h"
#include "nbcoll/schedule.h"

nbcoll_build nbcolli_scatterv_binomial;

/* The bytes of `blocks` blocks, from that of relative rank `first` on. */
static size_t nbcolli_scatterv_bytes(const nbcoll_builder *b, const nbcoll_args *a, int first, int blocks)
{
    return nbcoll_block_sum(a->counts, nbcoll_absolute(first, a->root, b->ranks), blocks, b->ranks) * a->element;
}

/* At the root: the blocks of the relative ranks from `first` on into `room`, before `feed`. */
static void nbcolli_scatterv_pack(nbcoll_builder *b, const nbcoll_args *a, int first, int blocks, nbcoll_addr room,
                                  nbcoll_step feed)
{
    for (int i = 0; i < blocks; i++) {
        nbcoll_region from = nbcoll_send_block(b, a, nbcoll_absolute(first + i, a->root, b->ranks));
        nbcoll_after(b, feed, nbcoll_add_copy(b, room, from.at, from.bytes));
        room = nbcoll_at(room, from.bytes);
    }
}

void nbcolli_scatterv_binomial(nbcoll_builder *b, const nbcoll_args *a)
{
    int ranks = b->ranks, me = nbcoll_relative(b->rank, a->root, ranks), size = nbcoll_binomial_size(me, ranks);
    size_t own = nbcolli_scatterv_bytes(b, a, me, 1), all = nbcolli_scatterv_bytes(b, a, me, size);
    nbcoll_addr room = size > 1 ? nbcoll_add_scratch(b, all) : a->recv;
    nbcoll_step take = NBCOLL_START;

    if (me)
        take = nbcoll_add_recv(b, nbcoll_absolute(nbcoll_binomial_parent(me), a->root, ranks), room, all);
    if (me && size > 1)
        nbcoll_after(b, nbcoll_add_copy(b, a->recv, room, own), take);
    if (!me && !a->in_place)
        nbcoll_add_copy(b, a->recv, nbcoll_send_block(b, a, b->rank).at, own);
    for (int child = nbcoll_binomial_first(me, ranks); child > me; child = nbcoll_binomial_next(me, child)) {
        int blocks = nbcoll_binomial_size(child, ranks);
        nbcoll_addr at = nbcoll_at(room, nbcolli_scatterv_bytes(b, a, me, child - me));
        nbcoll_step feed =
            nbcoll_add_send(b, nbcoll_absolute(child, a->root, ranks), at, nbcolli_scatterv_bytes(b, a, child, blocks));
        if (me)
            nbcoll_after(b, feed, take);
        else
            nbcolli_scatterv_pack(b, a, child, blocks, at, feed);
    }
}
