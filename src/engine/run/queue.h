/* SPDX-License-Identifier: BSD-3-Clause
 * Operations that wait for their slot: each slot's in a list, in the order of their tags, which is that of their
 * starts. */
#ifndef NBCOLLI_ENGINE_RUN_QUEUE_H
#define NBCOLLI_ENGINE_RUN_QUEUE_H

#include "../state/context.h"

/* The request of a tag if it waits for its slot, or null. Whoever is asked about is among the first: a peer that has
 * come to that operation has ended those before it in the slot. */
static inline nbcolli_request *nbcolli_queue_find(const nbcoll_comm *comm, uint64_t tag)
{
    nbcolli_request *r = nbcolli_slot_of(comm, tag)->waiting;
    while (r && r->tag < tag)
        r = r->next;
    return r && r->tag == tag ? r : NULL;
}

/* It waits for its slot, behind those that were started before. */
void nbcolli_queue_add(nbcolli_request *r);

/* It need not wait any more. */
void nbcolli_queue_remove(nbcolli_request *r);

/* The slot is free: the first one that waits for it gets it, from the drain. */
void nbcolli_slot_free(nbcoll_comm *comm, nbcolli_slot *slot);

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
