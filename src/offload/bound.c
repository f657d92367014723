/* SPDX-License-Identifier: BSD-3-Clause
 * Blocks that get their places when a program is started. */
#include "agent.h"

/* Copies between blocks of two lengths make no sense. */
static nbcoll_status nbcolli_bound_copies(const nbcoll_program *p, const nbcolli_binding *b)
{
    for (uint32_t i = p->info.queues - p->info.management; b->bind && i < p->info.queues; i++)
        for (uint32_t k = 0; k < p->queue[i].send_count; k++) {
            const nbcoll_task *t = &p->queue[i].sends[k];
            if (t->kind == NBCOLL_TASK_CALC && nbcolli_is_block(t->write.region.at) &&
                nbcolli_bound_bytes(b, t->write).region.bytes != nbcolli_bound_bytes(b, t->read[0]).region.bytes)
                return NBCOLL_ERR_ARGUMENT;
        }
    return NBCOLL_OK;
}

nbcoll_status nbcolli_bound_extent(const nbcoll_program *p, const nbcolli_binding *b, size_t extent[3])
{
    memcpy(extent, p->info.extent, sizeof p->info.extent);
    for (int is_recv = 0; is_recv < 2; is_recv++)
        for (uint32_t i = 0; i < p->info.blocks[is_recv]; i++) {
            if (!b->bind)
                return NBCOLL_ERR_NULL;
            nbcoll_region r = b->bind(b->user, is_recv, (int)i);
            size_t end;
            if (r.at.buffer != NBCOLL_BUFFER_RECV && (is_recv || r.at.buffer != NBCOLL_BUFFER_SEND))
                return NBCOLL_ERR_ARGUMENT;
            if (__builtin_add_overflow(r.at.offset, r.bytes, &end))
                return NBCOLL_ERR_COUNT;
            if (r.bytes && extent[r.at.buffer] < end)
                extent[r.at.buffer] = end;
        }
    return nbcolli_bound_copies(p, b);
}
