/* SPDX-License-Identifier: BSD-3-Clause
 *
 * trace: hands each call on to the endpoint inside and tells the host what was called and what it said.
 */
#include "nbcoll/trace.h"

#include "../../src/wrap/wrapper.h"

struct nbcolli_trace_end {
    nbcolli_wrapper wrap;
    nbcoll_trace_config config;
};

NBCOLLI_TELLS(nbcoll_trace_call_name, nbcoll_trace_call, NBCOLL_TRACE_LIST, NBCOLLI_TEXT_OF, "?")

static struct nbcolli_trace_end *nbcolli_trace_end_of(nbcoll_endpoint *ep)
{
    return (struct nbcolli_trace_end *)ep;
}

static void nbcolli_trace_tell(const struct nbcolli_trace_end *e, nbcoll_trace_event event)
{
    event.rank = e->wrap.base.rank;
    e->config.event(e->config.user, &event);
}

static nbcoll_posted nbcolli_trace_post(nbcoll_endpoint *ep, int peer, const nbcoll_header *header, const void *payload,
                                        size_t bytes, nbcoll_work *work)
{
    struct nbcolli_trace_end *e = nbcolli_trace_end_of(ep);
    nbcoll_posted posted = e->wrap.call.post(e->wrap.inner, peer, header, payload, bytes, work);
    nbcolli_trace_tell(e, (nbcoll_trace_event){.call = NBCOLL_TRACE_POST,
                                               .peer = peer,
                                               .posted = posted,
                                               .header = header,
                                               .payload = payload,
                                               .bytes = bytes,
                                               .work = work});
    return posted;
}

static void nbcolli_trace_progress(nbcoll_endpoint *ep, nbcoll_completions *found)
{
    struct nbcolli_trace_end *e = nbcolli_trace_end_of(ep);
    size_t follow = 0;
    e->wrap.call.progress(e->wrap.inner, found);
    for (const nbcoll_arrival *a = found->arrived; a; a = a->next)
        follow++;
    for (const nbcoll_work *r = found->completed; r; r = r->next)
        follow++;
    for (const nbcoll_line_arrival *l = found->lines; l; l = l->next)
        follow++;
    nbcolli_trace_tell(e, (nbcoll_trace_event){.call = NBCOLL_TRACE_PROGRESS, .bytes = follow});
    for (const nbcoll_arrival *a = found->arrived; a; a = a->next)
        nbcolli_trace_tell(e, (nbcoll_trace_event){.call = NBCOLL_TRACE_ARRIVED,
                                                   .peer = a->source,
                                                   .header = &a->header,
                                                   .payload = a->payload,
                                                   .bytes = a->bytes});
    for (const nbcoll_line_arrival *l = found->lines; l; l = l->next)
        nbcolli_trace_tell(e, (nbcoll_trace_event){.call = NBCOLL_TRACE_LINE_ARRIVED,
                                                   .peer = l->source,
                                                   .channel = l->channel,
                                                   .turn = l->turn,
                                                   .payload = l->payload,
                                                   .bytes = l->bytes});
    for (const nbcoll_work *r = found->completed; r; r = r->next)
        nbcolli_trace_tell(e, (nbcoll_trace_event){.call = NBCOLL_TRACE_COMPLETED, .status = r->status, .work = r});
    if (found->lost >= 0)
        nbcolli_trace_tell(e, (nbcoll_trace_event){.call = NBCOLL_TRACE_LOST, .peer = found->lost});
    if (found->departed >= 0)
        nbcolli_trace_tell(e, (nbcoll_trace_event){.call = NBCOLL_TRACE_LEFT, .peer = found->departed});
}

static void nbcolli_trace_cancel(nbcoll_endpoint *ep, nbcoll_work *work)
{
    struct nbcolli_trace_end *e = nbcolli_trace_end_of(ep);
    e->wrap.call.cancel(e->wrap.inner, work);
    nbcolli_trace_tell(e, (nbcoll_trace_event){.call = NBCOLL_TRACE_CANCEL, .work = work});
}

static void nbcolli_trace_close(nbcoll_endpoint *ep)
{
    nbcolli_trace_tell(nbcolli_trace_end_of(ep), (nbcoll_trace_event){.call = NBCOLL_TRACE_CLOSE});
    nbcolli_wrapper_close(ep);
}

static void nbcolli_trace_abandon(nbcoll_endpoint *ep)
{
    nbcolli_trace_tell(nbcolli_trace_end_of(ep), (nbcoll_trace_event){.call = NBCOLL_TRACE_CLOSE});
    nbcolli_wrapper_abandon(ep);
}

static nbcoll_status nbcolli_trace_register(nbcoll_endpoint *ep, int peer, void *memory, size_t bytes, uint32_t access,
                                            nbcoll_registration *out)
{
    struct nbcolli_trace_end *e = nbcolli_trace_end_of(ep);
    nbcoll_status status = e->wrap.inner_bulk.register_memory(e->wrap.inner, peer, memory, bytes, access, out);
    nbcolli_trace_tell(e, (nbcoll_trace_event){.call = NBCOLL_TRACE_REGISTER,
                                               .peer = peer,
                                               .status = status,
                                               .payload = memory,
                                               .bytes = bytes,
                                               .key = status == NBCOLL_OK ? &out->key : NULL,
                                               .access = access});
    return status;
}

static void nbcolli_trace_deregister(nbcoll_endpoint *ep, nbcoll_registration *registration)
{
    struct nbcolli_trace_end *e = nbcolli_trace_end_of(ep);
    nbcolli_trace_tell(e, (nbcoll_trace_event){.call = NBCOLL_TRACE_DEREGISTER, .key = &registration->key});
    e->wrap.inner_bulk.deregister_memory(e->wrap.inner, registration);
}

static nbcoll_posted nbcolli_trace_get(nbcoll_endpoint *ep, int peer, const nbcoll_key *key, size_t offset,
                                       const nbcoll_registration *local, void *to, size_t bytes, nbcoll_work *work)
{
    struct nbcolli_trace_end *e = nbcolli_trace_end_of(ep);
    nbcoll_posted posted = e->wrap.inner_bulk.get(e->wrap.inner, peer, key, offset, local, to, bytes, work);
    nbcolli_trace_tell(e, (nbcoll_trace_event){.call = NBCOLL_TRACE_GET,
                                               .peer = peer,
                                               .posted = posted,
                                               .payload = to,
                                               .bytes = bytes,
                                               .offset = offset,
                                               .key = key,
                                               .work = work});
    return posted;
}

static nbcoll_posted nbcolli_trace_put(nbcoll_endpoint *ep, int peer, const nbcoll_key *key, size_t offset,
                                       const nbcoll_registration *local, const void *from, size_t bytes,
                                       const nbcoll_header *notice, nbcoll_work *work)
{
    struct nbcolli_trace_end *e = nbcolli_trace_end_of(ep);
    nbcoll_posted posted = e->wrap.inner_bulk.put(e->wrap.inner, peer, key, offset, local, from, bytes, notice, work);
    nbcolli_trace_tell(e, (nbcoll_trace_event){.call = NBCOLL_TRACE_PUT,
                                               .peer = peer,
                                               .posted = posted,
                                               .header = notice,
                                               .payload = from,
                                               .bytes = bytes,
                                               .offset = offset,
                                               .key = key,
                                               .work = work});
    return posted;
}

static nbcoll_posted nbcolli_trace_line(nbcoll_endpoint *ep, int peer, uint32_t channel, uint64_t turn,
                                        const void *payload, size_t bytes)
{
    struct nbcolli_trace_end *e = nbcolli_trace_end_of(ep);
    nbcoll_posted posted = e->wrap.inner_lines.post(e->wrap.inner, peer, channel, turn, payload, bytes);
    nbcolli_trace_tell(e, (nbcoll_trace_event){.call = NBCOLL_TRACE_LINE,
                                               .peer = peer,
                                               .posted = posted,
                                               .channel = channel,
                                               .turn = turn,
                                               .payload = payload,
                                               .bytes = bytes});
    return posted;
}

/* Calls that the inner endpoint lacks are not told. */
static int32_t nbcolli_trace_take(nbcoll_endpoint *ep, int peer, uint32_t channel, uint64_t turn, void *to,
                                  size_t bytes)
{
    struct nbcolli_trace_end *e = nbcolli_trace_end_of(ep);
    int32_t high = e->wrap.inner_lines.take(e->wrap.inner, peer, channel, turn, to, bytes);
    if (high >= 0)
        nbcolli_trace_tell(e, (nbcoll_trace_event){.call = NBCOLL_TRACE_LINE_ARRIVED,
                                                   .peer = peer,
                                                   .channel = channel,
                                                   .turn = turn << 16 >> 16 | (uint64_t)high << 48,
                                                   .payload = to,
                                                   .bytes = bytes});
    return high;
}

static void nbcolli_trace_reason(nbcoll_endpoint *ep, int peer, nbcoll_transport_error *out)
{
    struct nbcolli_trace_end *e = nbcolli_trace_end_of(ep);
    e->wrap.call.reason(e->wrap.inner, peer, out);
    nbcolli_trace_tell(e, (nbcoll_trace_event){.call = NBCOLL_TRACE_REASON, .peer = peer, .reason = out});
}

static nbcoll_status nbcolli_trace_arm(nbcoll_endpoint *ep)
{
    struct nbcolli_trace_end *e = nbcolli_trace_end_of(ep);
    nbcoll_status status = e->wrap.inner_wakeup.arm(e->wrap.inner);
    nbcolli_trace_tell(e, (nbcoll_trace_event){.call = NBCOLL_TRACE_ARM, .status = status});
    return status;
}

/* Constant answers, and calls about shared memory, are not told. */
static void nbcolli_trace_changes(nbcolli_wrapper *w)
{
    w->table.post = nbcolli_trace_post;
    w->table.progress = nbcolli_trace_progress;
    w->table.cancel = nbcolli_trace_cancel;
    w->table.close = nbcolli_trace_close;
    w->table.signal_safe &= NBCOLL_SAFE_WAKE; /* the host's function may call anything */
    NBCOLLI_WRAPPER_CHANGES(w->table.abandon, nbcolli_trace_abandon);
    NBCOLLI_WRAPPER_CHANGES(w->table.reason, nbcolli_trace_reason);
    NBCOLLI_WRAPPER_CHANGES(w->bulk.register_memory, nbcolli_trace_register);
    NBCOLLI_WRAPPER_CHANGES(w->bulk.deregister_memory, nbcolli_trace_deregister);
    NBCOLLI_WRAPPER_CHANGES(w->bulk.get, nbcolli_trace_get);
    NBCOLLI_WRAPPER_CHANGES(w->bulk.put, nbcolli_trace_put);
    NBCOLLI_WRAPPER_CHANGES(w->wakeup.arm, nbcolli_trace_arm);
    NBCOLLI_WRAPPER_CHANGES(w->lines.post, nbcolli_trace_line);
    NBCOLLI_WRAPPER_CHANGES(w->lines.take, nbcolli_trace_take);
}

nbcoll_status nbcoll_trace_open(const nbcoll_trace_config *config, nbcoll_endpoint *inner, nbcoll_endpoint **out)
{
    nbcoll_trace_config c = {0};
    nbcolli_wrapper *w;
    if (!config || !inner || !out)
        return NBCOLL_ERR_NULL;
    nbcoll_status status = nbcolli_copy_tagged(&c, config, sizeof c);
    if (status == NBCOLL_OK && !c.event)
        status = NBCOLL_ERR_NULL;
    if (status == NBCOLL_OK)
        status = nbcolli_wrapper_open(c.host, inner, "trace", sizeof(struct nbcolli_trace_end), &w);
    if (status != NBCOLL_OK)
        return status;
    nbcolli_trace_end_of(&w->base)->config = c;
    nbcolli_trace_changes(w);
    *out = &w->base;
    return NBCOLL_OK;
}
