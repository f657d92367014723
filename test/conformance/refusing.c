/* SPDX-License-Identifier: BSD-3-Clause
 * See refusing.h. */
#include "refusing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../src/wrap/wrapper.h"

struct end {
    nbcolli_wrapper wrap;
    const refusing_plan *plan;
    int *refused, calls;
    nbcoll_work *late;
};

static struct end *end_of(nbcoll_endpoint *ep)
{
    return (struct end *)(void *)ep;
}

static bool refuses(struct end *e, refusing_what what)
{
    if (e->plan->what != what || ++e->calls < e->plan->from || e->calls > e->plan->to)
        return false;
    ++*e->refused;
    return true;
}

static nbcoll_status register_memory(nbcoll_endpoint *ep, int peer, void *memory, size_t bytes, uint32_t access,
                                     nbcoll_registration *out)
{
    struct end *e = end_of(ep);
    if ((access & NBCOLL_PEER_READS && refuses(e, REFUSING_READ_BY_PEER)) ||
        (access & NBCOLL_PEER_WRITES && refuses(e, REFUSING_WRITTEN_BY_PEER)) ||
        (access & NBCOLL_LOCAL_END && refuses(e, REFUSING_OWN_END)))
        return e->plan->with;
    return e->wrap.inner_bulk.register_memory(e->wrap.inner, peer, memory, bytes, access, out);
}

static nbcoll_posted refuse(struct end *e, nbcoll_work *work)
{
    if (!e->plan->late)
        return NBCOLL_POST_FAILED;
    work->status = NBCOLL_ERR_TRANSPORT;
    work->next = e->late;
    e->late = work;
    return NBCOLL_POST_IN_FLIGHT;
}

static nbcoll_posted get(nbcoll_endpoint *ep, int peer, const nbcoll_key *key, size_t offset,
                         const nbcoll_registration *local, void *to, size_t bytes, nbcoll_work *work)
{
    struct end *e = end_of(ep);
    return refuses(e, REFUSING_GET) ? refuse(e, work)
                                    : e->wrap.inner_bulk.get(e->wrap.inner, peer, key, offset, local, to, bytes, work);
}

static nbcoll_posted put(nbcoll_endpoint *ep, int peer, const nbcoll_key *key, size_t offset,
                         const nbcoll_registration *local, const void *from, size_t bytes, const nbcoll_header *notice,
                         nbcoll_work *work)
{
    struct end *e = end_of(ep);
    return refuses(e, REFUSING_PUT)
               ? refuse(e, work)
               : e->wrap.inner_bulk.put(e->wrap.inner, peer, key, offset, local, from, bytes, notice, work);
}

static const void *view(nbcoll_endpoint *ep, int peer, const nbcoll_key *key, size_t offset, size_t bytes)
{
    struct end *e = end_of(ep);
    return refuses(e, REFUSING_VIEW) ? NULL : e->wrap.inner_bulk.view(e->wrap.inner, peer, key, offset, bytes);
}

static void progress(nbcoll_endpoint *ep, nbcoll_completions *found)
{
    struct end *e = end_of(ep);
    e->wrap.call.progress(e->wrap.inner, found);
    for (nbcoll_work *work = e->late, *next; work; work = next) {
        next = work->next;
        work->next = found->completed;
        found->completed = work;
    }
    e->late = NULL;
}

/* What is late comes back with the next progress anyway. */
static void cancel(nbcoll_endpoint *ep, nbcoll_work *work)
{
    struct end *e = end_of(ep);
    for (const nbcoll_work *late = e->late; late; late = late->next)
        if (late == work)
            return;
    e->wrap.call.cancel(e->wrap.inner, work);
}

static nbcoll_status arm(nbcoll_endpoint *ep)
{
    struct end *e = end_of(ep);
    return e->late ? NBCOLL_AGAIN : e->wrap.inner_wakeup.arm(e->wrap.inner);
}

nbcoll_endpoint *refusing_open(nbcoll_endpoint *inner, const refusing_plan *plan, int *refused)
{
    nbcolli_wrapper *w;

    assert_int_equal(nbcolli_wrapper_open(NULL, inner, "refusing", sizeof(struct end), &w), NBCOLL_OK);
    struct end *e = end_of(&w->base);
    e->plan = plan;
    e->refused = refused;
    w->table.progress = progress;
    w->table.cancel = cancel;
    if (plan->what == REFUSING_BULK)
        w->table.bulk = NULL;
    NBCOLLI_WRAPPER_CHANGES(w->wakeup.arm, arm);
    NBCOLLI_WRAPPER_CHANGES(w->bulk.register_memory, register_memory);
    NBCOLLI_WRAPPER_CHANGES(w->bulk.get, get);
    NBCOLLI_WRAPPER_CHANGES(w->bulk.put, put);
    NBCOLLI_WRAPPER_CHANGES(w->bulk.view, view);
    return &w->base;
}

void refusing_restart(nbcoll_endpoint *ep)
{
    end_of(ep)->calls = 0;
}
