/* SPDX-License-Identifier: BSD-3-Clause
 * Operations without a run. Each slot lists those that wait for it, in the order of their tags, which is that of their
 * starts. Operations that others have revoked before their start here are noted as ranges of tags. */
#ifndef NBCOLLI_ENGINE_RUN_QUEUE_H
#define NBCOLLI_ENGINE_RUN_QUEUE_H

#include "../state/context.h"

/* The request of a tag if it waits for its slot, or null. It is near the head: a peer that asks has come to that
 * operation, and so has ended those before it in the slot. */
static inline nbcolli_request *nbcolli_queue_find(const nbcoll_comm *comm, uint64_t tag)
{
    nbcolli_request *r = nbcolli_first_waiting(nbcolli_slot_of(comm, tag));
    while (r && r->tag < tag)
        r = nbcolli_next_waiting(r);
    return r && r->tag == tag ? r : NULL;
}

/* The slot is free: the first one that waits for it gets it, from the drain. */
void nbcolli_slot_free(nbcoll_comm *comm, nbcolli_slot *slot);

/* Publishes the end of a request; its callback will run. */
void nbcolli_request_end(nbcoll_context *c, nbcolli_request *r);

/* An active request is over: it ends, or the communicator that it makes is made now. */
void nbcolli_request_over(nbcolli_request *r, nbcoll_status status);

/* The operation is over, its slot is another's or free. */
void nbcolli_operation_over(nbcolli_request *r, nbcoll_status status);

/* Have others revoked this operation before its start here? */
static inline int nbcolli_is_revoked(const nbcoll_comm *comm, uint64_t tag)
{
    const nbcolli_pending_revoke *d = comm->pending_revokes;
    while (d && (tag < d->first || tag > d->last))
        d = d->next;
    return d != NULL;
}

/* Forgets such a range. */
void nbcolli_pending_drop(nbcoll_comm *comm, nbcolli_pending_revoke **at);

/* Notes that operations that are not started here are revoked. Tags in a row with one cause share a range. */
nbcoll_status nbcolli_pending_add(nbcoll_comm *comm, uint64_t first, uint64_t last, nbcoll_status why, int cause);

/* The next operation starts. Was it revoked, for *why, by *cause? Forgets the revocation. */
int nbcolli_pending_take(nbcoll_comm *comm, uint64_t tag, nbcoll_status *why, int *cause);

#endif
