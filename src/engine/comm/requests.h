/* SPDX-License-Identifier: BSD-3-Clause
 * The request table of a context. */
#ifndef NBCOLLI_ENGINE_COMM_REQUESTS_H
#define NBCOLLI_ENGINE_COMM_REQUESTS_H

#include "../state/caller.h"

/* The entry of a handle that is not null, whatever its generation; and its context. */
static inline nbcolli_request *nbcolli_entry_of(nbcoll_request request)
{
    return (nbcolli_request *)request.at;
}

static inline nbcoll_context *nbcolli_context_of(nbcoll_request request)
{
    return request.at ? nbcolli_entry_of(request)->context : NULL;
}

/* Is the entry the request of a handle with this generation? */
static inline int nbcolli_is_of(const nbcolli_request *r, uint64_t generation)
{
    return atomic_load_explicit(&r->generation, memory_order_relaxed) == generation && /* orders nothing */
           atomic_load_explicit(&r->state, memory_order_acquire) != NBCOLLI_REQUEST_FREE; /* acquire: sees its run */
}

/* The request of a handle that is not null, or null if it is stale. */
nbcolli_request *nbcolli_request_find(nbcoll_request request);

/* Was it released by a callback, which reported its end? The lock is held. Exact for the last 63 requests that had the
 * entry; for older ones: was any of them so? */
int nbcolli_was_reported(nbcoll_request request);

/* The handle of a request. */
static inline nbcoll_request nbcolli_request_handle(nbcolli_request *r)
{
    return (nbcoll_request){(nbcoll_request_head *)r, atomic_load_explicit(&r->generation, memory_order_relaxed)};
}

/* An inactive request that holds `s`, or null: nbcolli_request_refused says why. `extent`: bytes of the receive buffer
 * that the call named. For a schedule with bound blocks, or an extent as counted, the caller sets `blocks`. The
 * caller's side is held, here and for the next three. */
nbcolli_request *nbcolli_request_open(nbcoll_comm *comm, nbcoll_schedule *s, const void *send, void *recv,
                                      size_t extent);

/* Makes it a persistent request of the communicator. */
static inline void nbcolli_request_list(nbcoll_comm *comm, nbcolli_request *r)
{
    r->persistent = 1;
    nbcolli_list_add(&comm->persistent, &r->listed);
}

/* Why there is none: ERR_LIMIT where the table is full, else ERR_MEMORY. */
nbcoll_status nbcolli_request_refused(const nbcoll_context *c);

/* Undoes request_open, before anybody has the handle: the entry is free. */
void nbcolli_request_discard(nbcoll_context *c, nbcolli_request *r);

/* Ends what request_open began. The lock is held, too. */
void nbcolli_request_retire(nbcoll_context *c, nbcolli_request *r);

/* A free request of an earlier call of this schedule on this communicator, for these buffers; null: none. It is
 * inactive, and keeps a run; its extent is the last call's. */
void nbcolli_request_aim(nbcolli_request *r, const void *send, void *recv);
static inline nbcolli_request *nbcolli_request_reopen(nbcoll_schedule *s, const void *send, void *recv)
{
    nbcolli_request *r = s->requests;
    if (!r)
        return NULL;
    s->requests = r->next;
    s->users++;
    atomic_store_explicit(&r->state, NBCOLLI_REQUEST_INACTIVE, memory_order_relaxed); /* nobody has its handle yet */
    if (r->send != send || r->recv != recv)
        nbcolli_request_aim(r, send, recv);
    return r;
}

/* Ends what request_open began, for a thread inside that does not hold the caller's side. */
void nbcolli_request_release(nbcoll_context *c, nbcolli_request *r);

/* Releases all of a context that runs nothing. */
void nbcolli_requests_clear(nbcoll_context *c);

/* Requests in a chunk of the table. */
static inline size_t nbcolli_chunk_size(uint32_t chunk)
{
    return (size_t)NBCOLLI_REQUEST_CHUNK << chunk;
}

#endif
