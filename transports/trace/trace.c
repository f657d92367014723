/* SPDX-License-Identifier: BSD-3-Clause
 *
 * trace: hands each call on to the endpoint inside and tells the host what was called and what it said.
 */
#include "nbcoll/trace.h"

#include <string.h>

#include "../../src/host/host.h"

struct nbcolli_trace_end {
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

static struct nbcolli_trace_end *nbcolli_trace_end_of(nbcoll_endpoint *ep)
{
    return (struct nbcolli_trace_end *)ep;
}

static void nbcolli_trace_tell(const struct nbcolli_trace_end *e, nbcoll_trace_event event)
{
    event.rank = e->base.rank;
    e->config.event(e->config.user, &event);
}

static nbcoll_posted nbcolli_trace_post(nbcoll_endpoint *ep, int peer, const nbcoll_header *header, const void *payload,
                                        size_t bytes, nbcoll_work *work)
{
    struct nbcolli_trace_end *e = nbcolli_trace_end_of(ep);
    nbcoll_posted posted = e->call.post(e->inner, peer, header, payload, bytes, work);
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
    e->call.progress(e->inner, found);
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
        nbcolli_trace_tell(e,
                           (nbcoll_trace_event){.call = NBCOLL_TRACE_LINE_ARRIVED, .peer = l->source, .line = l->line});
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
    e->call.cancel(e->inner, work);
    nbcolli_trace_tell(e, (nbcoll_trace_event){.call = NBCOLL_TRACE_CANCEL, .work = work});
}

static void nbcolli_trace_close(nbcoll_endpoint *ep)
{
    struct nbcolli_trace_end *e = nbcolli_trace_end_of(ep);
    nbcoll_host host = e->host;
    nbcolli_trace_tell(e, (nbcoll_trace_event){.call = NBCOLL_TRACE_CLOSE});
    e->call.close(e->inner);
    nbcolli_free(&host, e, sizeof *e);
}

static void nbcolli_trace_abandon(nbcoll_endpoint *ep)
{
    struct nbcolli_trace_end *e = nbcolli_trace_end_of(ep);
    if (e->call.abandon)
        e->call.close = e->call.abandon;
    nbcolli_trace_close(ep);
}

static void nbcolli_trace_give_up(nbcoll_endpoint *ep, int peer)
{
    struct nbcolli_trace_end *e = nbcolli_trace_end_of(ep);
    if (e->call.give_up)
        e->call.give_up(e->inner, peer);
}

static nbcoll_status nbcolli_trace_register(nbcoll_endpoint *ep, int peer, void *memory, size_t bytes, uint32_t access,
                                            nbcoll_registration *out)
{
    struct nbcolli_trace_end *e = nbcolli_trace_end_of(ep);
    nbcoll_status status = e->call.bulk->register_memory(e->inner, peer, memory, bytes, access, out);
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
    e->call.bulk->deregister_memory(e->inner, registration);
}

static nbcoll_posted nbcolli_trace_get(nbcoll_endpoint *ep, int peer, const nbcoll_key *key, size_t offset,
                                       const nbcoll_registration *local, void *to, size_t bytes, nbcoll_work *work)
{
    struct nbcolli_trace_end *e = nbcolli_trace_end_of(ep);
    nbcoll_posted posted = e->call.bulk->get(e->inner, peer, key, offset, local, to, bytes, work);
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
    nbcoll_posted posted = e->call.bulk->put(e->inner, peer, key, offset, local, from, bytes, notice, work);
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

/* Constant, so not worth telling. */
static int nbcolli_trace_reaches(nbcoll_endpoint *ep, int peer)
{
    struct nbcolli_trace_end *e = nbcolli_trace_end_of(ep);
    return e->call.bulk->reaches(e->inner, peer);
}

static const void *nbcolli_trace_view(nbcoll_endpoint *ep, int peer, const nbcoll_key *key, size_t offset, size_t bytes)
{
    struct nbcolli_trace_end *e = nbcolli_trace_end_of(ep);
    return e->call.bulk->view(e->inner, peer, key, offset, bytes);
}

static nbcoll_posted nbcolli_trace_line(nbcoll_endpoint *ep, int peer, const nbcoll_line *line, nbcoll_work *work)
{
    struct nbcolli_trace_end *e = nbcolli_trace_end_of(ep);
    nbcoll_posted posted = e->call.lines->post(e->inner, peer, line, work);
    nbcolli_trace_tell(
        e, (nbcoll_trace_event){.call = NBCOLL_TRACE_LINE, .peer = peer, .posted = posted, .line = line, .work = work});
    return posted;
}

/* Constant, too. */
static void nbcolli_trace_peer_limits(nbcoll_endpoint *ep, int peer, nbcoll_limits *out)
{
    struct nbcolli_trace_end *e = nbcolli_trace_end_of(ep);
    e->call.peer_limits(e->inner, peer, out);
}

static void nbcolli_trace_reason(nbcoll_endpoint *ep, int peer, nbcoll_transport_error *out)
{
    struct nbcolli_trace_end *e = nbcolli_trace_end_of(ep);
    e->call.reason(e->inner, peer, out);
    nbcolli_trace_tell(e, (nbcoll_trace_event){.call = NBCOLL_TRACE_REASON, .peer = peer, .reason = out});
}

/* Shared memory is the inner one's, untold. */
static nbcoll_status nbcolli_trace_shared_reserve(nbcoll_endpoint *ep, size_t bytes, uint64_t *at)
{
    struct nbcolli_trace_end *e = nbcolli_trace_end_of(ep);
    return e->call.shared->reserve(e->inner, bytes, at);
}

static void nbcolli_trace_shared_release(nbcoll_endpoint *ep, uint64_t at)
{
    struct nbcolli_trace_end *e = nbcolli_trace_end_of(ep);
    e->call.shared->release(e->inner, at);
}

static void *nbcolli_trace_shared_map(nbcoll_endpoint *ep, uint64_t at, size_t bytes)
{
    struct nbcolli_trace_end *e = nbcolli_trace_end_of(ep);
    return e->call.shared->map(e->inner, at, bytes);
}

static void nbcolli_trace_shared_ring(nbcoll_endpoint *ep, int peer)
{
    struct nbcolli_trace_end *e = nbcolli_trace_end_of(ep);
    e->call.shared->wake(e->inner, peer);
}

static int nbcolli_trace_fd(nbcoll_endpoint *ep)
{
    struct nbcolli_trace_end *e = nbcolli_trace_end_of(ep);
    return e->call.wakeup->fd(e->inner);
}

static nbcoll_status nbcolli_trace_arm(nbcoll_endpoint *ep)
{
    struct nbcolli_trace_end *e = nbcolli_trace_end_of(ep);
    nbcoll_status status = e->call.wakeup->arm(e->inner);
    nbcolli_trace_tell(e, (nbcoll_trace_event){.call = NBCOLL_TRACE_ARM, .status = status});
    return status;
}

static const nbcoll_shared nbcolli_trace_shared = {sizeof nbcolli_trace_shared, nbcolli_trace_shared_reserve,
                                                   nbcolli_trace_shared_release, nbcolli_trace_shared_map,
                                                   nbcolli_trace_shared_ring};
static const nbcoll_wakeup nbcolli_trace_wakeup = {sizeof nbcolli_trace_wakeup, nbcolli_trace_fd, nbcolli_trace_arm};
static const nbcoll_lines nbcolli_trace_lines = {sizeof nbcolli_trace_lines, nbcolli_trace_line};

/* The groups, and the slots in them, that the inner one has. */
static void nbcolli_trace_table_make(struct nbcolli_trace_end *e)
{
    const nbcoll_transport *in = &e->call;

    e->table = (nbcoll_transport){.abi = NBCOLL_ABI,
                                  .size = sizeof e->table,
                                  .name = "trace",
                                  .post = nbcolli_trace_post,
                                  .progress = nbcolli_trace_progress,
                                  .cancel = nbcolli_trace_cancel,
                                  .close = nbcolli_trace_close,
                                  .abandon = nbcolli_trace_abandon,
                                  .give_up = nbcolli_trace_give_up};
    if (in->bulk) {
        memcpy(&e->inner_bulk, in->bulk, in->bulk->size < sizeof e->inner_bulk ? in->bulk->size : sizeof e->inner_bulk);
        e->call.bulk = &e->inner_bulk;
        e->bulk = (nbcoll_bulk){
            .size = sizeof e->bulk, .flags = e->inner_bulk.flags, .register_memory = nbcolli_trace_register};
        e->bulk.deregister_memory = e->inner_bulk.deregister_memory ? nbcolli_trace_deregister : NULL;
        e->bulk.get = e->inner_bulk.get ? nbcolli_trace_get : NULL;
        e->bulk.put = e->inner_bulk.put ? nbcolli_trace_put : NULL;
        e->bulk.reaches = e->inner_bulk.reaches ? nbcolli_trace_reaches : NULL;
        e->bulk.view = e->inner_bulk.view ? nbcolli_trace_view : NULL;
        e->table.bulk = &e->bulk;
    }
    e->table.wakeup = in->wakeup ? &nbcolli_trace_wakeup : NULL;
    e->table.shared = in->shared ? &nbcolli_trace_shared : NULL;
    e->table.lines = in->lines ? &nbcolli_trace_lines : NULL;
    e->table.peer_limits = in->peer_limits ? nbcolli_trace_peer_limits : NULL;
    e->table.reason = in->reason ? nbcolli_trace_reason : NULL;
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
    struct nbcolli_trace_end *e = nbcolli_alloc(&host, sizeof *e, 64);
    if (!e)
        return NBCOLL_ERR_MEMORY;
    *e = (struct nbcolli_trace_end){.base = *inner, .inner = inner, .call = call, .config = c, .host = host};
    nbcolli_trace_table_make(e);
    *out = &e->base;
    return NBCOLL_OK;
}
