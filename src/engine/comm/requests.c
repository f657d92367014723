/* SPDX-License-Identifier: BSD-3-Clause */
#include "requests.h"

#include "../run/pool.h"
#include "../../host/host.h"

/* Generations of different contexts begin apart, so that a request of another one is recognised. */
static uint64_t nbcolli_first_generation(const nbcoll_context *c)
{
    return ((uint64_t)(uintptr_t)c >> 6 << 32) + 1;
}

/* 0: there is none (nbcolli_request_refused). */
static __attribute__((noinline)) int nbcolli_chunk_add(nbcoll_context *c)
{
    size_t n = nbcolli_chunk_size(c->chunks);
    nbcolli_request *chunk =
        c->chunks < NBCOLLI_REQUEST_CHUNKS ? nbcolli_alloc(&c->host, n * sizeof *chunk, 64) : NULL;

    if (!chunk)
        return 0;
    memset(chunk, 0, n * sizeof *chunk);
    for (size_t i = n; i-- > 0;) {
        chunk[i].generation = nbcolli_first_generation(c);
        chunk[i].process = c->alive;
        chunk[i].context = c;
        chunk[i].next = c->free_requests;
        c->free_requests = &chunk[i];
    }
    c->chunk[c->chunks++] = chunk;
    return 1;
}

nbcolli_request *nbcolli_request_find(nbcoll_request request)
{
    nbcolli_request *r = nbcolli_entry_of(request);
    return nbcolli_is_of(r, request.generation) ? r : NULL;
}

int nbcolli_was_reported(nbcoll_request request)
{
    const nbcolli_request *r = nbcolli_entry_of(request);
    uint64_t now = atomic_load_explicit(&r->generation, memory_order_relaxed), age = now - request.generation;
    if (age == 0 || age > now - nbcolli_first_generation(r->context))
        return 0; /* it is in use, or there never was such a one */
    return r->reported >> (age < 64 ? age - 1 : 63) & 1;
}

void nbcolli_request_aim(nbcolli_request *r, const void *send, void *recv)
{
    r->send = send;
    r->recv = recv;
    nbcolli_moves_aim(r->kept, send, recv);
}

/* A function of its own: nbcolli_request_open ends with it, and so saves no registers. */
static __attribute__((noinline)) nbcolli_request *nbcolli_request_open_of_more(nbcoll_comm *comm, nbcoll_schedule *s,
                                                                               const void *send, void *recv,
                                                                               size_t extent)
{
    return nbcolli_chunk_add(comm->context) ? nbcolli_request_open(comm, s, send, recv, extent) : NULL;
}

nbcolli_request *nbcolli_request_open(nbcoll_comm *comm, nbcoll_schedule *s, const void *send, void *recv,
                                      size_t extent)
{
    nbcoll_context *c = comm->context;
    nbcolli_request *r;

    if (s && s->requests && s->requests->comm == comm && s->requests->kept->bound == comm->id) {
        r = nbcolli_request_reopen(s, send, recv);
        r->extent = extent;
        return r;
    }
    if (!c->free_requests)
        return nbcolli_request_open_of_more(comm, s, send, recv, extent);
    r = c->free_requests;
    c->free_requests = r->next;
    r->persistent = r->detached = r->calling = 0;
    r->status = NBCOLL_OK;
    r->tag = 0;
    r->run = NULL;
    r->executor = s ? s->executor : NULL;
    r->creating = NULL;
    r->done = NULL;
    r->user = NULL;
    r->schedule = s;
    r->comm = comm;
    r->send = send;
    r->recv = recv;
    r->extent = extent;
    atomic_store_explicit(&r->state, NBCOLLI_REQUEST_INACTIVE, memory_order_relaxed); /* nobody knows it yet */
    if (s) /* a shrink has none */
        s->users++;
    return r;
}

nbcoll_status nbcolli_request_refused(const nbcoll_context *c)
{
    return c->chunks == NBCOLLI_REQUEST_CHUNKS ? NBCOLL_ERR_LIMIT : NBCOLL_ERR_MEMORY;
}

/* One without a run of its own, or whose schedule is evicted. The only thread of a context may come here without the
 * lock, which the host's functions, and ticks, must find taken. */
static __attribute__((noinline)) void nbcolli_request_let_go(nbcoll_context *c, nbcolli_request *r)
{
    nbcoll_schedule *s = r->schedule;
    int is_last = s && --s->users == 0 && s->evicted; /* it has left the cache */
    int is_outside = (is_last || r->kept) && !(c->flags & NBCOLL_ANY_THREAD) && nbcolli_own_try(c);

    if (r->kept)
        nbcolli_run_drop(r);
    r->next = c->free_requests;
    c->free_requests = r;
    if (is_last)
        nbcolli_schedule_drop(s);
    if (is_outside)
        nbcolli_own_unlock(c);
}

/* One with a run of its own waits for the next start of its schedule, as it was opened. */
void nbcolli_request_discard(nbcoll_context *c, nbcolli_request *r)
{
    nbcoll_schedule *s = r->schedule;

    atomic_store_explicit(&r->state, NBCOLLI_REQUEST_FREE, memory_order_relaxed); /* readers hold stale handles */
    if (!r->kept || s->evicted) {
        nbcolli_request_let_go(c, r);
        return;
    }
    r->next = s->requests;
    s->requests = r;
    s->users--;
}

void nbcolli_request_retire(nbcoll_context *c, nbcolli_request *r)
{
    if (r->reported || r->done)
        r->reported = (r->reported & UINT64_C(1) << 63) | r->reported << 1 | (uint64_t)(r->done && !r->persistent);
    r->persistent = 0;
    nbcolli_list_leave(&r->listed);
    uint64_t generation = atomic_load_explicit(&r->generation, memory_order_relaxed); /* the lock orders it */
    atomic_store_explicit(&r->generation, generation + 1, memory_order_relaxed); /* readers hold stale handles */
    nbcolli_request_discard(c, r);
}

void nbcolli_request_release(nbcoll_context *c, nbcolli_request *r)
{
    nbcolli_caller_lock(c);
    nbcolli_request_retire(c, r);
    nbcolli_caller_unlock(c);
}

void nbcolli_requests_clear(nbcoll_context *c)
{
    for (uint32_t i = 0; i < c->chunks; i++)
        for (size_t k = 0; k < nbcolli_chunk_size(i); k++) /* relaxed: the lock orders it */
            if (atomic_load_explicit(&c->chunk[i][k].state, memory_order_relaxed) != NBCOLLI_REQUEST_FREE)
                nbcolli_request_release(c, &c->chunk[i][k]);
}
