/* SPDX-License-Identifier: BSD-3-Clause
 * What happens: put off until its time, or told to the user. */
#include "simulate.h"

nbcoll_status nbcolli_put(nbcolli_sim *s, uint64_t t, uint32_t run, uint32_t node, uint32_t kind)
{
    nbcolli_happening h = {t, run, node << NBCOLLI_KIND_BITS | kind};
    return nbcolli_queue_put(&s->queue, h) ? NBCOLL_OK : NBCOLL_ERR_MEMORY;
}

void nbcolli_tell(const nbcolli_sim *s, nbcoll_sim_what what, uint32_t run, const nbcolli_node *n, uint32_t step,
                  uint64_t begin, uint64_t end)
{
    uint32_t rank = nbcolli_rank_of(s, run);
    nbcoll_sim_event e = {.what = what, .rank = (int)rank, .peer = -1, .begin = begin, .end = end};
    if (!s->config.event)
        return;
    e.operation = run / (uint32_t)s->config.ranks;
    if (n) {
        e.kind = (nbcoll_kind)(n->kind == NBCOLLI_PART ? NBCOLL_EXPOSE : n->kind);
        e.step = step + 2;
        e.bytes = n->bytes == NBCOLLI_GROWS ? s->run[run].shape->node[n->number].bytes : n->bytes;
        e.peer = n->to ? (int)nbcolli_peer_of(s, rank, n) : -1;
    }
    s->config.event(s->config.user, &e);
}
