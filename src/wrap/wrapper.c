/* SPDX-License-Identifier: BSD-3-Clause
 * Handing calls on: see wrapper.h. */
#include "wrapper.h"

static nbcolli_wrapper *nbcolli_wrapper_of(nbcoll_endpoint *ep)
{
    return (nbcolli_wrapper *)(void *)ep;
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

static nbcoll_posted nbcolli_wrapper_post(nbcoll_endpoint *ep, int peer, const nbcoll_header *header,
                                          const void *payload, size_t bytes, nbcoll_work *work)
{
    nbcolli_wrapper *w = nbcolli_wrapper_of(ep);
    return w->call.post(w->inner, peer, header, payload, bytes, work);
}

static void nbcolli_wrapper_progress(nbcoll_endpoint *ep, nbcoll_completions *found)
{
    nbcolli_wrapper *w = nbcolli_wrapper_of(ep);
    w->inner->patient = ep->patient;
    ep->patient = 0;
    w->call.progress(w->inner, found);
    ep->busy = w->inner->busy;
}

static void nbcolli_wrapper_cancel(nbcoll_endpoint *ep, nbcoll_work *work)
{
    nbcolli_wrapper *w = nbcolli_wrapper_of(ep);
    w->call.cancel(w->inner, work);
}

static void nbcolli_wrapper_free(nbcolli_wrapper *w)
{
    nbcoll_host host = w->host;
    nbcolli_free(&host, w, w->bytes);
}

void nbcolli_wrapper_close(nbcoll_endpoint *ep)
{
    nbcolli_wrapper *w = nbcolli_wrapper_of(ep);
    w->call.close(w->inner);
    nbcolli_wrapper_free(w);
}

void nbcolli_wrapper_abandon(nbcoll_endpoint *ep)
{
    nbcolli_wrapper *w = nbcolli_wrapper_of(ep);
    w->call.abandon(w->inner);
    nbcolli_wrapper_free(w);
}

static void nbcolli_wrapper_give_up(nbcoll_endpoint *ep, int peer)
{
    nbcolli_wrapper *w = nbcolli_wrapper_of(ep);
    w->call.give_up(w->inner, peer);
}

static int nbcolli_wrapper_touches(nbcoll_endpoint *ep, int peer)
{
    nbcolli_wrapper *w = nbcolli_wrapper_of(ep);
    return w->call.touches(w->inner, peer);
}

static void nbcolli_wrapper_peer_limits(nbcoll_endpoint *ep, int peer, nbcoll_limits *out)
{
    nbcolli_wrapper *w = nbcolli_wrapper_of(ep);
    w->call.peer_limits(w->inner, peer, out);
}

static void nbcolli_wrapper_reason(nbcoll_endpoint *ep, int peer, nbcoll_transport_error *out)
{
    nbcolli_wrapper *w = nbcolli_wrapper_of(ep);
    w->call.reason(w->inner, peer, out);
}

static void nbcolli_wrapper_identify(nbcoll_endpoint *ep, uint64_t out[2])
{
    nbcolli_wrapper *w = nbcolli_wrapper_of(ep);
    w->call.identify(w->inner, out);
}

/* ---- the groups -------------------------------------------------------------------------------------------------- */

static nbcoll_status nbcolli_wrapper_register(nbcoll_endpoint *ep, int peer, void *memory, size_t bytes,
                                              uint32_t access, nbcoll_registration *out)
{
    nbcolli_wrapper *w = nbcolli_wrapper_of(ep);
    return w->inner_bulk.register_memory(w->inner, peer, memory, bytes, access, out);
}

static void nbcolli_wrapper_deregister(nbcoll_endpoint *ep, nbcoll_registration *registration)
{
    nbcolli_wrapper *w = nbcolli_wrapper_of(ep);
    w->inner_bulk.deregister_memory(w->inner, registration);
}

static nbcoll_posted nbcolli_wrapper_get(nbcoll_endpoint *ep, int peer, const nbcoll_key *key, size_t offset,
                                         const nbcoll_registration *local, void *to, size_t bytes, nbcoll_work *work)
{
    nbcolli_wrapper *w = nbcolli_wrapper_of(ep);
    return w->inner_bulk.get(w->inner, peer, key, offset, local, to, bytes, work);
}

static nbcoll_posted nbcolli_wrapper_put(nbcoll_endpoint *ep, int peer, const nbcoll_key *key, size_t offset,
                                         const nbcoll_registration *local, const void *from, size_t bytes,
                                         const nbcoll_header *notice, nbcoll_work *work)
{
    nbcolli_wrapper *w = nbcolli_wrapper_of(ep);
    return w->inner_bulk.put(w->inner, peer, key, offset, local, from, bytes, notice, work);
}

static int nbcolli_wrapper_reaches(nbcoll_endpoint *ep, int peer)
{
    nbcolli_wrapper *w = nbcolli_wrapper_of(ep);
    return w->inner_bulk.reaches(w->inner, peer);
}

static const void *nbcolli_wrapper_view(nbcoll_endpoint *ep, int peer, const nbcoll_key *key, size_t offset,
                                        size_t bytes)
{
    nbcolli_wrapper *w = nbcolli_wrapper_of(ep);
    return w->inner_bulk.view(w->inner, peer, key, offset, bytes);
}

static int nbcolli_wrapper_fd(nbcoll_endpoint *ep)
{
    nbcolli_wrapper *w = nbcolli_wrapper_of(ep);
    return w->inner_wakeup.fd(w->inner);
}

static nbcoll_status nbcolli_wrapper_arm(nbcoll_endpoint *ep)
{
    nbcolli_wrapper *w = nbcolli_wrapper_of(ep);
    return w->inner_wakeup.arm(w->inner);
}

static nbcoll_status nbcolli_wrapper_reserve(nbcoll_endpoint *ep, size_t bytes, uint64_t *at)
{
    nbcolli_wrapper *w = nbcolli_wrapper_of(ep);
    return w->inner_shared.reserve(w->inner, bytes, at);
}

static void nbcolli_wrapper_release(nbcoll_endpoint *ep, uint64_t at)
{
    nbcolli_wrapper *w = nbcolli_wrapper_of(ep);
    w->inner_shared.release(w->inner, at);
}

static void *nbcolli_wrapper_map(nbcoll_endpoint *ep, uint64_t at, size_t bytes)
{
    nbcolli_wrapper *w = nbcolli_wrapper_of(ep);
    return w->inner_shared.map(w->inner, at, bytes);
}

static void nbcolli_wrapper_wake(nbcoll_endpoint *ep, int peer)
{
    nbcolli_wrapper *w = nbcolli_wrapper_of(ep);
    w->inner_shared.wake(w->inner, peer);
}

static void nbcolli_wrapper_copy_in(nbcoll_endpoint *ep, int peer, void *to, const void *from, size_t bytes)
{
    nbcolli_wrapper *w = nbcolli_wrapper_of(ep);
    w->inner_shared.copy_in(w->inner, peer, to, from, bytes);
}

static size_t nbcolli_wrapper_staging_part(nbcoll_endpoint *ep)
{
    nbcolli_wrapper *w = nbcolli_wrapper_of(ep);
    return w->inner_shared.staging_part(w->inner);
}

static int nbcolli_wrapper_descriptor(nbcoll_endpoint *ep, void **base, size_t *bytes)
{
    nbcolli_wrapper *w = nbcolli_wrapper_of(ep);
    return w->inner_shared.descriptor(w->inner, base, bytes);
}

static nbcoll_posted nbcolli_wrapper_line(nbcoll_endpoint *ep, int peer, uint32_t channel, uint64_t turn,
                                          const void *payload, size_t bytes)
{
    nbcolli_wrapper *w = nbcolli_wrapper_of(ep);
    return w->inner_lines.post(w->inner, peer, channel, turn, payload, bytes);
}

static int32_t nbcolli_wrapper_take(nbcoll_endpoint *ep, int peer, uint32_t channel, uint64_t turn, void *to,
                                    size_t bytes)
{
    nbcolli_wrapper *w = nbcolli_wrapper_of(ep);
    return w->inner_lines.take(w->inner, peer, channel, turn, to, bytes);
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

/* The slots that the inner one has. */
static void nbcolli_wrapper_table_make(nbcolli_wrapper *w, const char *name)
{
    const nbcoll_transport *in = &w->call;

    w->table = (nbcoll_transport){.abi = NBCOLL_ABI,
                                  .size = sizeof w->table,
                                  .name = name,
                                  .post = nbcolli_wrapper_post,
                                  .progress = nbcolli_wrapper_progress,
                                  .cancel = nbcolli_wrapper_cancel,
                                  .close = nbcolli_wrapper_close,
                                  .abandon = in->abandon ? nbcolli_wrapper_abandon : NULL,
                                  .give_up = in->give_up ? nbcolli_wrapper_give_up : NULL,
                                  .peer_limits = in->peer_limits ? nbcolli_wrapper_peer_limits : NULL,
                                  .reason = in->reason ? nbcolli_wrapper_reason : NULL,
                                  .signal_safe = in->signal_safe,
                                  .identify = in->identify ? nbcolli_wrapper_identify : NULL,
                                  .touches = in->touches ? nbcolli_wrapper_touches : NULL};
    w->base.transport = &w->table;
}

/* The groups that it has. */
static void nbcolli_wrapper_groups_make(nbcolli_wrapper *w)
{
    const nbcoll_bulk *bulk = &w->inner_bulk;

    if (w->call.bulk) {
        nbcolli_copy_tagged(&w->inner_bulk, w->call.bulk, sizeof w->inner_bulk);
        w->bulk = (nbcoll_bulk){.size = sizeof w->bulk,
                                .flags = bulk->flags,
                                .register_memory = nbcolli_wrapper_register,
                                .deregister_memory = bulk->deregister_memory ? nbcolli_wrapper_deregister : NULL,
                                .get = bulk->get ? nbcolli_wrapper_get : NULL,
                                .put = bulk->put ? nbcolli_wrapper_put : NULL,
                                .reaches = bulk->reaches ? nbcolli_wrapper_reaches : NULL,
                                .view = bulk->view ? nbcolli_wrapper_view : NULL};
        w->table.bulk = &w->bulk;
    }
    if (w->call.wakeup) {
        nbcolli_copy_tagged(&w->inner_wakeup, w->call.wakeup, sizeof w->inner_wakeup);
        w->wakeup = (nbcoll_wakeup){sizeof w->wakeup, nbcolli_wrapper_fd, nbcolli_wrapper_arm};
        w->table.wakeup = &w->wakeup;
    }
    if (w->call.shared) {
        nbcolli_copy_tagged(&w->inner_shared, w->call.shared, sizeof w->inner_shared);
        w->shared = (nbcoll_shared){sizeof w->shared, nbcolli_wrapper_reserve, nbcolli_wrapper_release,
                                    nbcolli_wrapper_map, nbcolli_wrapper_wake,
                                    w->inner_shared.copy_in ? nbcolli_wrapper_copy_in : NULL,
                                    w->inner_shared.descriptor ? nbcolli_wrapper_descriptor : NULL,
                                    w->inner_shared.staging_part ? nbcolli_wrapper_staging_part : NULL};
        w->table.shared = &w->shared;
    }
    if (w->call.lines) {
        nbcolli_copy_tagged(&w->inner_lines, w->call.lines, sizeof w->inner_lines);
        w->lines = (nbcoll_lines){.size = sizeof w->lines,
                                  .post = nbcolli_wrapper_line,
                                  .take = w->inner_lines.take ? nbcolli_wrapper_take : NULL,
                                  .are_long = w->inner_lines.are_long};
        w->table.lines = &w->lines;
    }
}

nbcoll_status nbcolli_wrapper_open(const nbcoll_host *host, nbcoll_endpoint *inner, const char *name, size_t bytes,
                                   nbcolli_wrapper **out)
{
    nbcoll_host memory = {0};
    nbcoll_transport call = {0};
    nbcoll_status status = host ? nbcolli_copy_tagged(&memory, host, sizeof memory) : NBCOLL_OK;

    if (status != NBCOLL_OK)
        return status;
    if (inner->transport->abi != NBCOLL_ABI)
        return NBCOLL_ERR_ABI;
    memcpy(&call, inner->transport, inner->transport->size < sizeof call ? inner->transport->size : sizeof call);
    if (!call.post || !call.progress || !call.cancel || !call.close)
        return NBCOLL_ERR_ABI;
    if (inner->owner)
        return NBCOLL_ERR_BUSY;
    nbcolli_wrapper *w = nbcolli_alloc(&memory, bytes, 64);
    if (!w)
        return NBCOLL_ERR_MEMORY;
    memset(w, 0, bytes);
    w->base = *inner;
    w->inner = inner;
    w->call = call;
    w->host = memory;
    w->bytes = bytes;
    nbcolli_wrapper_table_make(w, name);
    nbcolli_wrapper_groups_make(w);
    *out = w;
    return NBCOLL_OK;
}
