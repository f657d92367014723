/* SPDX-License-Identifier: BSD-3-Clause
 * What hierarchical algorithms share where a vector goes in pieces: a node's ranks show theirs in one exposure that
 * grows, of which the leader combines one piece after the other, or the leader shows the result so. */
#include "algorithms.h"

/* The exposure of a rank to its leader. */
nbcoll_step nbcolli_pieces_give(nbcoll_builder *b, const nbcoll_args *a, int leader, size_t piece)
{
    nbcoll_part mine = {leader, 0, nbcoll_span(a->send, a->bytes)};
    return nbcoll_add_expose_growing(b, 1, &mine, piece);
}

/* The exposure of a leader to its node. */
nbcoll_step nbcolli_pieces_show(nbcoll_builder *b, const nbcoll_args *a, const nbcoll_nodes *t, int node, size_t piece)
{
    int size = nbcoll_node_size(t, node), n = 0;
    nbcoll_part *parts = nbcoll_builder_parts(b, (size_t)size);

    for (int i = 0; parts && i < size; i++)
        if (nbcoll_node_rank(t, node, i) != b->rank)
            parts[n++] = (nbcoll_part){nbcoll_node_rank(t, node, i), 0, nbcoll_span(a->recv, a->bytes)};
    return n ? nbcoll_add_expose_growing(b, (size_t)n, parts, piece) : NBCOLL_START;
}

/* At a leader: those behind `at` of a vector of a node's, to piece->send, once `earlier` ones are combined, in the
 * order of nbcolli_reduce_slots. */
nbcoll_step nbcolli_pieces_combine(nbcoll_builder *b, const nbcoll_args *a, const nbcoll_nodes *t, size_t at,
                                   const nbcoll_args *piece, nbcoll_step earlier)
{
    int node = nbcoll_node_of(t, b->rank), own = nbcoll_node_place(t, b->rank), size = nbcoll_node_size(t, node);
    nbcoll_step sum = earlier;

    if (!a->in_place)
        nbcoll_after(b, sum = nbcoll_add_copy(b, piece->send, nbcoll_at(a->send, at), piece->bytes), earlier);
    for (int i = 1; i < size; i++) {
        int peer = nbcoll_node_rank(t, node, i <= own ? own - i : i);
        nbcoll_side side = i <= own ? NBCOLL_LEFT : NBCOLL_RIGHT;
        nbcoll_step next = nbcoll_add_fetch_reduce(b, peer, piece->send, side, piece->count, a->reduction);
        nbcoll_after(b, next, sum);
        sum = next;
    }
    return sum;
}
