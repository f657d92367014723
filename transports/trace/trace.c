/* SPDX-License-Identifier: BSD-3-Clause
 *
 * trace: hands each call on to the endpoint inside and tells the host what was called and what it said.
 */
#include "nbcoll/trace.h"

#include <string.h>

#include "../../src/host/host.h"

struct trace_end {
    nbcoll_endpoint base;
    nbcoll_transport table; /* ours: with the groups that the inner one has */
    nbcoll_bulk bulk;       /* ours: with the slots that the inner one has */
    nbcoll_endpoint *inner;
    nbcoll_transport call; /* the inner one's, completed; its bulk group is the next one */
    nbcoll_bulk inner_bulk;
    nbcoll_trace_config config;
    nbcoll_host host;
};

const char *nbcoll_trace_call_name(nbcoll_trace_call call)
{
    static const char *const names[] = {
#define NBCOLLI_TRACE_NAME(name, text) text,
        NBCOLL_TRACE_LIST(NBCOLLI_TRACE_NAME)
#undef NBCOLLI_TRACE_NAME
    };
    return (unsigned)call < NBCOLL_TRACE_COUNT ? names[call] : "?";
}

static struct trace_end *trace_end_of(nbcoll_endpoint *ep)
{
    return (struct trace_end *)ep;
}

static void trace_tell(const struct trace_end *e, nbcoll_trace_event event)
{
    event.rank = e->base.rank;
    e->config.event(e->config.user, &event);
}

static nbcoll_posted trace_post(nbcoll_endpoint *ep, int peer, const nbcoll_header *header, const void *payload,
                                size_t bytes, nbcoll_work *work)
{
    struct trace_end *e = trace_end_of(ep);
    nbcoll_posted posted = e->call.post(e->inner, peer, header, payload, bytes, work);
    trace_tell(e, (nbcoll_trace_event){.call = NBCOLL_TRACE_POST,
                                       .peer = peer,
                                       .posted = posted,
                                       .header = header,
                                       .payload = payload,
                                       .bytes = bytes,
                                       .work = work});
    return posted;
}

static void trace_progress(nbcoll_endpoint *ep, nbcoll_completions *found)
{
    struct trace_end *e = trace_end_of(ep);
    size_t follow = 0;
    e->call.progress(e->inner, found);
    for (const nbcoll_arrival *a = found->arrived; a; a = a->next)
        follow++;
    for (const nbcoll_work *r = found->completed; r; r = r->next)
        follow++;
    for (const nbcoll_line_arrival *l = found->lines; l; l = l->next)
        follow++;
    trace_tell(e, (nbcoll_trace_event){.call = NBCOLL_TRACE_PROGRESS, .bytes = follow});
    for (const nbcoll_arrival *a = found->arrived; a; a = a->next)
        trace_tell(e, (nbcoll_trace_event){.call = NBCOLL_TRACE_ARRIVED,
                                           .peer = a->source,
                                           .header = &a->header,
                                           .payload = a->payload,
                                           .bytes = a->bytes});
    for (const nbcoll_line_arrival *l = found->lines; l; l = l->next)
        trace_tell(e, (nbcoll_trace_event){.call = NBCOLL_TRACE_LINE_ARRIVED, .peer = l->source, .line = l->line});
    for (const nbcoll_work *r = found->completed; r; r = r->next)
        trace_tell(e, (nbcoll_trace_event){.call = NBCOLL_TRACE_COMPLETED, .status = r->status, .work = r});
    if (found->lost >= 0)
        trace_tell(e, (nbcoll_trace_event){.call = NBCOLL_TRACE_LOST, .peer = found->lost});
    if (found->departed >= 0)
        trace_tell(e, (nbcoll_trace_event){.call = NBCOLL_TRACE_LEFT, .peer = found->departed});
}

static void trace_cancel(nbcoll_endpoint *ep, nbcoll_work *work)
{
    struct trace_end *e = trace_end_of(ep);
    e->call.cancel(e->inner, work);
    trace_tell(e, (nbcoll_trace_event){.call = NBCOLL_TRACE_CANCEL, .work = work});
}

static void trace_close(nbcoll_endpoint *ep)
{
    struct trace_end *e = trace_end_of(ep);
    nbcoll_host host = e->host;
    trace_tell(e, (nbcoll_trace_event){.call = NBCOLL_TRACE_CLOSE});
    e->call.close(e->inner);
    nbcolli_free(&host, e, sizeof *e);
}

static void trace_abandon(nbcoll_endpoint *ep)
{
    struct trace_end *e = trace_end_of(ep);
    if (e->call.abandon)
        e->call.close = e->call.abandon;
    trace_close(ep);
}

static void trace_give_up(nbcoll_endpoint *ep, int peer)
{
    struct trace_end *e = trace_end_of(ep);
    if (e->call.give_up)
        e->call.give_up(e->inner, peer);
}

static nbcoll_status trace_register(nbcoll_endpoint *ep, int peer, void *memory, size_t bytes, uint32_t access,
                                    nbcoll_registration *out)
{
    struct trace_end *e = trace_end_of(ep);
    nbcoll_status status = e->call.bulk->register_memory(e->inner, peer, memory, bytes, access, out);
    trace_tell(e, (nbcoll_trace_event){.call = NBCOLL_TRACE_REGISTER,
                                       .peer = peer,
                                       .status = status,
                                       .payload = memory,
                                       .bytes = bytes,
                                       .key = status == NBCOLL_OK ? &out->key : NULL,
                                       .access = access});
    return status;
}

static void trace_deregister(nbcoll_endpoint *ep, nbcoll_registration *registration)
{
    struct trace_end *e = trace_end_of(ep);
    trace_tell(e, (nbcoll_trace_event){.call = NBCOLL_TRACE_DEREGISTER, .key = &registration->key});
    e->call.bulk->deregister_memory(e->inner, registration);
}

static nbcoll_posted trace_get(nbcoll_endpoint *ep, int peer, const nbcoll_key *key, size_t offset,
                               const nbcoll_registration *local, void *to, size_t bytes, nbcoll_work *work)
{
    struct trace_end *e = trace_end_of(ep);
    nbcoll_posted posted = e->call.bulk->get(e->inner, peer, key, offset, local, to, bytes, work);
    trace_tell(e, (nbcoll_trace_event){.call = NBCOLL_TRACE_GET,
                                       .peer = peer,
                                       .posted = posted,
                                       .payload = to,
                                       .bytes = bytes,
                                       .offset = offset,
                                       .key = key,
                                       .work = work});
    return posted;
}

static nbcoll_posted trace_put(nbcoll_endpoint *ep, int peer, const nbcoll_key *key, size_t offset,
                               const nbcoll_registration *local, const void *from, size_t bytes,
                               const nbcoll_header *notice, nbcoll_work *work)
{
    struct trace_end *e = trace_end_of(ep);
    nbcoll_posted posted = e->call.bulk->put(e->inner, peer, key, offset, local, from, bytes, notice, work);
    trace_tell(e, (nbcoll_trace_event){.call = NBCOLL_TRACE_PUT,
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

/* Constant, so not worth telling. */
static int trace_reaches(nbcoll_endpoint *ep, int peer)
{
    struct trace_end *e = trace_end_of(ep);
    return e->call.bulk->reaches(e->inner, peer);
}

static const void *trace_view(nbcoll_endpoint *ep, int peer, const nbcoll_key *key, size_t offset, size_t bytes)
{
    struct trace_end *e = trace_end_of(ep);
    return e->call.bulk->view(e->inner, peer, key, offset, bytes);
}

static nbcoll_posted trace_line(nbcoll_endpoint *ep, int peer, const nbcoll_line *line, nbcoll_work *work)
{
    struct trace_end *e = trace_end_of(ep);
    nbcoll_posted posted = e->call.lines->post(e->inner, peer, line, work);
    trace_tell(
        e, (nbcoll_trace_event){.call = NBCOLL_TRACE_LINE, .peer = peer, .posted = posted, .line = line, .work = work});
    return posted;
}

/* Constant, too. */
static void trace_peer_limits(nbcoll_endpoint *ep, int peer, nbcoll_limits *out)
{
    struct trace_end *e = trace_end_of(ep);
    e->call.peer_limits(e->inner, peer, out);
}

static void trace_reason(nbcoll_endpoint *ep, int peer, nbcoll_transport_error *out)
{
    struct trace_end *e = trace_end_of(ep);
    e->call.reason(e->inner, peer, out);
    trace_tell(e, (nbcoll_trace_event){.call = NBCOLL_TRACE_REASON, .peer = peer, .reason = out});
}

/* Shared memory is the inner one's, untold. */
static nbcoll_status trace_shared_reserve(nbcoll_endpoint *ep, size_t bytes, uint64_t *at)
{
    struct trace_end *e = trace_end_of(ep);
    return e->call.shared->reserve(e->inner, bytes, at);
}

static void trace_shared_release(nbcoll_endpoint *ep, uint64_t at)
{
    struct trace_end *e = trace_end_of(ep);
    e->call.shared->release(e->inner, at);
}

static void *trace_shared_map(nbcoll_endpoint *ep, uint64_t at, size_t bytes)
{
    struct trace_end *e = trace_end_of(ep);
    return e->call.shared->map(e->inner, at, bytes);
}

static void trace_shared_ring(nbcoll_endpoint *ep, int peer)
{
    struct trace_end *e = trace_end_of(ep);
    e->call.shared->wake(e->inner, peer);
}

static int trace_fd(nbcoll_endpoint *ep)
{
    struct trace_end *e = trace_end_of(ep);
    return e->call.wakeup->fd(e->inner);
}

static nbcoll_status trace_arm(nbcoll_endpoint *ep)
{
    struct trace_end *e = trace_end_of(ep);
    nbcoll_status status = e->call.wakeup->arm(e->inner);
    trace_tell(e, (nbcoll_trace_event){.call = NBCOLL_TRACE_ARM, .status = status});
    return status;
}

static const nbcoll_shared trace_shared = {sizeof trace_shared, trace_shared_reserve, trace_shared_release,
                                           trace_shared_map, trace_shared_ring};
static const nbcoll_wakeup trace_wakeup = {sizeof trace_wakeup, trace_fd, trace_arm};
static const nbcoll_lines trace_lines = {sizeof trace_lines, trace_line};

/* The groups, and the slots in them, that the inner one has. */
static void trace_table_make(struct trace_end *e)
{
    const nbcoll_transport *in = &e->call;

    e->table = (nbcoll_transport){.abi = NBCOLL_ABI,
                                  .size = sizeof e->table,
                                  .name = "trace",
                                  .post = trace_post,
                                  .progress = trace_progress,
                                  .cancel = trace_cancel,
                                  .close = trace_close,
                                  .abandon = trace_abandon,
                                  .give_up = trace_give_up};
    if (in->bulk) {
        memcpy(&e->inner_bulk, in->bulk, in->bulk->size < sizeof e->inner_bulk ? in->bulk->size : sizeof e->inner_bulk);
        e->call.bulk = &e->inner_bulk;
        e->bulk =
            (nbcoll_bulk){.size = sizeof e->bulk, .flags = e->inner_bulk.flags, .register_memory = trace_register};
        e->bulk.deregister_memory = e->inner_bulk.deregister_memory ? trace_deregister : NULL;
        e->bulk.get = e->inner_bulk.get ? trace_get : NULL;
        e->bulk.put = e->inner_bulk.put ? trace_put : NULL;
        e->bulk.reaches = e->inner_bulk.reaches ? trace_reaches : NULL;
        e->bulk.view = e->inner_bulk.view ? trace_view : NULL;
        e->table.bulk = &e->bulk;
    }
    e->table.wakeup = in->wakeup ? &trace_wakeup : NULL;
    e->table.shared = in->shared ? &trace_shared : NULL;
    e->table.lines = in->lines ? &trace_lines : NULL;
    e->table.peer_limits = in->peer_limits ? trace_peer_limits : NULL;
    e->table.reason = in->reason ? trace_reason : NULL;
    e->base.transport = &e->table;
}

nbcoll_status nbcoll_trace_open(const nbcoll_trace_config *config, nbcoll_endpoint *inner, nbcoll_endpoint **out)
{
    nbcoll_trace_config c = {0};
    nbcoll_host host = {0};
    nbcoll_transport call = {0};
    if (!config || !inner || !out)
        return NBCOLL_ERR_NULL;
    nbcoll_status status = nbcolli_copy_tagged(&c, config, sizeof c);
    if (status == NBCOLL_OK && c.host)
        status = nbcolli_copy_tagged(&host, c.host, sizeof host);
    if (status != NBCOLL_OK)
        return status;
    if (!c.event)
        return NBCOLL_ERR_NULL;
    if (inner->transport->abi != NBCOLL_ABI)
        return NBCOLL_ERR_ABI;
    memcpy(&call, inner->transport, inner->transport->size < sizeof call ? inner->transport->size : sizeof call);
    if (!call.post || !call.progress || !call.cancel || !call.close)
        return NBCOLL_ERR_ABI;
    if (inner->owner)
        return NBCOLL_ERR_BUSY;
    struct trace_end *e = nbcolli_alloc(&host, sizeof *e, 64);
    if (!e)
        return NBCOLL_ERR_MEMORY;
    *e = (struct trace_end){.base = *inner, .inner = inner, .call = call, .config = c, .host = host};
    trace_table_make(e);
    *out = &e->base;
    return NBCOLL_OK;
}
