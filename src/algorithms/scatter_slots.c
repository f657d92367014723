/* SPDX-License-Identifier: BSD-3-Clause
 * Scatter through shared memory: one exposure of the root's with a part for each other rank. Source: the slots of Ramos
 * et al., section 3.4. */
#include "algorithms.h"

void nbcolli_scatter_slots(nbcoll_builder *b, const nbcoll_args *a)
{
    if (b->rank != a->root) {
        nbcoll_add_fetch(b, a->root, a->recv, a->bytes);
        return;
    }
    nbcoll_part *part = nbcoll_builder_parts(b, (size_t)b->ranks);
    size_t n = 0;
    for (int peer = 0; part && peer < b->ranks; peer++)
        if (peer != b->rank)
            part[n++] = (nbcoll_part){peer, 0, nbcoll_span(nbcoll_at(a->send, (size_t)peer * a->bytes), a->bytes)};
    nbcoll_add_expose(b, n, part);
    if (!a->in_place)
        nbcoll_add_copy(b, a->recv, nbcoll_at(a->send, (size_t)a->root * a->bytes), a->bytes);
}
