/* SPDX-License-Identifier: BSD-3-Clause
 * Which steps of a schedule stand, as relays do: they receive, and pass on what was received, and need nothing of their
 * rank. */
#include "simulate.h"

static int nbcolli_stand_holds(const nbcoll_region *outer, const nbcoll_region *inner)
{
    return inner->bytes && outer->at.buffer == inner->at.buffer && outer->at.offset <= inner->at.offset &&
           inner->at.offset - outer->at.offset <= outer->bytes &&
           inner->bytes <= outer->bytes - (inner->at.offset - outer->at.offset);
}

/* Until peers look for a node, `mate` counts, twice, the steps it waits for that stand; and 1 if one brings what it
 * sends. */
static int nbcolli_stand_may(const nbcolli_node *n, const nbcoll_step_view *v)
{
    return !n->stands && n->mate / 2 == v->before &&
           (n->kind == NBCOLL_RECV || (n->kind == NBCOLL_SEND && n->mate % 2));
}

void nbcolli_shape_mark(nbcolli_shape *shape, const nbcoll_schedule *s)
{
    for (int more = 1; more;) { /* once, and again where a step waits for later ones */
        more = 0;
        for (uint32_t i = 0; i < shape->steps; i++) {
            const nbcoll_step_view *v = &s->step[i + 2];
            nbcolli_node *n = &shape->node[i];
            if (!nbcolli_stand_may(n, v))
                continue;
            n->stands = 1;
            n->is_kept = n->kind == NBCOLL_RECV && v->write.at.buffer != NBCOLL_BUFFER_SCRATCH;
            for (uint32_t k = 0; k < v->after_count; k++) {
                uint32_t next = v->after[k] - 2;
                shape->node[next].mate += 2;
                if (n->kind == NBCOLL_RECV && nbcolli_stand_holds(&v->write, &s->step[next + 2].read[0]))
                    shape->node[next].mate |= 1;
                more |= next < i;
            }
        }
    }
}
