/* SPDX-License-Identifier: BSD-3-Clause
 * Operations that wait for their slot. They are found by their tags, in constant time whatever else is there. Inline:
 * the look whether there is any. */
#ifndef NBCOLLI_ENGINE_RUN_QUEUE_H
#define NBCOLLI_ENGINE_RUN_QUEUE_H

#include "../state/context.h"

static inline nbcolli_request **nbcolli_queue_at(const nbcoll_comm *comm, uint64_t tag)
{
    return &comm->queue[nbcolli_hash(tag) & (comm->queue_room - 1)];
}

/* The request of a tag if it waits for its slot, or null. */
static inline nbcolli_request *nbcolli_queue_find(const nbcoll_comm *comm, uint64_t tag)
{
    nbcolli_request *r = comm->queued ? *nbcolli_queue_at(comm, tag) : NULL;
    while (r && r->tag != tag)
        r = r->next;
    return r;
}

/* It waits for its slot. */
void nbcolli_queue_add(nbcolli_request *r);

/* Frees a table of those. */
void nbcolli_queue_drop(nbcoll_comm *comm, nbcolli_request **table, size_t room);

/* It need not wait any more. */
void nbcolli_queue_remove(nbcolli_request *r);

/* The slot is free, and its operations up to `tag` are over: the next one that waits for it gets it, from the drain.
 * Tags that are passed over here are never looked at again. */
void nbcolli_slot_next(nbcoll_comm *comm, nbcolli_slot *slot, uint64_t tag);

/* Publishes the end of a request; its callback will run. */
void nbcolli_request_end(nbcoll_context *c, nbcolli_request *r);

/* The operation is over, its slot is another's or free. */
void nbcolli_operation_over(nbcolli_request *r, nbcoll_status status);

/* An operation that has got no run ends with `why`. `tell`: the other ranks do not know yet. */
void nbcolli_runless_fail(nbcolli_request *r, nbcoll_status why, int cause, int tell);

/* The same for one that waits for its slot. */
void nbcolli_queued_fail(nbcolli_request *r, nbcoll_status why, int cause, int tell);

/* Ends all that wait for their slots, of these tags. */
void nbcolli_queue_fail(nbcoll_comm *comm, uint64_t from, uint64_t to, nbcoll_status why, int cause);

#endif
