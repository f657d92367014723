/* SPDX-License-Identifier: BSD-3-Clause
 * Broadcast through shared memory: the root exposes its buffer once, all others fetch it. Source: the slots of Ramos et
 * al., section 3.4. */
#include "algorithms.h"

void nbcolli_bcast_slots(nbcoll_builder *b, const nbcoll_args *a)
{
    if (b->rank == a->root)
        nbcoll_add_expose_to_all(b, a->recv, a->bytes);
    else
        nbcoll_add_fetch(b, a->root, a->recv, a->bytes);
}
