/* SPDX-License-Identifier: BSD-3-Clause
 * The verbs transport: opening, the table, closing. See verbs.h. */
#include <string.h>

#include "verbs.h"

static void nbcolli_verbs_free(nbcolli_verbs_end *e)
{
    nbcoll_host host = e->host;
    size_t bytes = e->bytes;

    nbcolli_verbs_strip(e);
    nbcolli_free(&host, e, bytes);
}

/* Its queue pairs end with it: what is sent to them is not acknowledged any more. */
static void nbcolli_verbs_abandon(nbcoll_endpoint *ep)
{
    nbcolli_verbs_free(nbcolli_verbs_end_of(ep));
}

static void nbcolli_verbs_close(nbcoll_endpoint *ep)
{
    nbcolli_verbs_end *e = nbcolli_verbs_end_of(ep);

    nbcolli_verbs_release(e);
    for (nbcolli_verbs_peer *p = e->known; p; p = p->next_known)
        if (p->state == NBCOLLI_VERBS_CONNECTED)
            nbcolli_verbs_say(e, p, NBCOLLI_VERBS_LEAVES);
    nbcolli_verbs_goodbye_apart(e);
    nbcolli_verbs_flush(e);
    nbcolli_verbs_free(e);
}

static void nbcolli_verbs_reason(nbcoll_endpoint *ep, int peer, nbcoll_transport_error *out)
{
    nbcolli_verbs_end *e = nbcolli_verbs_end_of(ep);
    const nbcolli_verbs_peer *p = &e->peer[peer];

    if (p->error) {
        out->code = (int)p->vendor_error; /* 0 of a device that has none */
        out->text = ibv_wc_status_str((enum ibv_wc_status)p->error);
    } else if (p->has_lost_us) {
        out->code = 0;
        out->text = "this rank is lost to that one";
    } else if (p->state == NBCOLLI_VERBS_LOST && !p->knows_its) {
        out->code = 0;
        out->text = "the rank has not answered when it was asked to connect";
    } else {
        out->code = e->error;
        out->text = "the device refused a call";
    }
}

/* Of the random numbers of all ranks, in their order. */
static void nbcolli_verbs_identify(nbcoll_endpoint *ep, uint64_t out[2])
{
    const nbcolli_verbs_end *e = nbcolli_verbs_end_of(ep);

    out[0] = out[1] = 0;
    for (int rank = 0; e->place && rank < ep->ranks; rank++)
        for (int i = 0; i < 2; i++) { /* no chance meeting of two sets: the numbers are random bits */
            out[i] =
                (out[i] ^ e->place[rank].nonce) * (i ? UINT64_C(0x9e3779b97f4a7c15) : UINT64_C(0xc2b2ae3d27d4eb4f));
            out[i] ^= out[i] >> 29;
        }
}

static const nbcoll_transport nbcolli_verbs_table = {.abi = NBCOLL_ABI,
                                                     .size = sizeof nbcolli_verbs_table,
                                                     .name = "verbs",
                                                     .post = nbcolli_verbs_post,
                                                     .progress = nbcolli_verbs_progress,
                                                     .cancel = nbcolli_verbs_cancel,
                                                     .close = nbcolli_verbs_close,
                                                     .bulk = &nbcolli_verbs_bulk,
                                                     .wakeup = &nbcolli_verbs_wakeup,
                                                     .abandon = nbcolli_verbs_abandon,
                                                     .give_up = nbcolli_verbs_give_up,
                                                     .reason = nbcolli_verbs_reason,
                                                     .identify = nbcolli_verbs_identify,
                                                     .offload = &nbcolli_verbs_offload};

bool nbcolli_verbs_is_one(const nbcoll_endpoint *ep)
{
    return ep->transport == &nbcolli_verbs_table;
}

/* ---- opening ------------------------------------------------------------------------------------------------------
 */

static uint32_t nbcolli_verbs_or(uint32_t given, uint32_t else_this)
{
    return given ? given : else_this;
}

static nbcoll_status nbcolli_verbs_settle(nbcolli_verbs_end *e, const nbcoll_verbs_config *c)
{
    e->credits = nbcolli_verbs_or(c->credits, 16);
    e->payload = nbcolli_verbs_or(c->payload, 4096);
    e->timeout = nbcolli_verbs_or(c->timeout, 16);
    e->retries = nbcolli_verbs_or(c->retries, 6);
    e->probe_ns = nbcolli_verbs_or(c->probe_ms, 1000) * UINT64_C(1000000);
    e->registrations = c->registrations;
    e->inlines = NBCOLLI_VERBS_INLINE;
    e->connect_ns = c->connect_ms * UINT64_C(1000000);
    if (e->credits < 2 || e->credits > 128 || e->payload < 256 || e->payload > 65536 || e->payload % 8 ||
        e->timeout > 31 || e->retries > 6 || e->registrations > 1024)
        return NBCOLL_ERR_CONFIG;
    /* Of the order of an InfiniBand NIC's, where nothing could be measured. */
    e->base.limits = (nbcoll_limits){.size = sizeof(nbcoll_limits),
                                     .payload = e->payload,
                                     .price = {.alpha_ns = 2000,
                                               .beta_ps = 100,
                                               .overhead_ns = 300,
                                               .get_ns = 3000,
                                               .gamma_ps = 100,
                                               .eager_ps = 200,
                                               .put_ns = 3000}};
    return NBCOLL_OK;
}

nbcoll_status nbcoll_verbs_open(const nbcoll_verbs_config *config, nbcoll_verbs_address *mine, nbcoll_endpoint **out)
{
    nbcoll_verbs_config c = {0};
    nbcolli_verbs_end draft = {.base = {.transport = &nbcolli_verbs_table},
                               .epoll = -1,
                               .timer = -1,
                               .programs = {.watched = -1, .bell = -1}},
                      *e;
    nbcolli_verbs_place place;

    if (!config || !mine || !out)
        return NBCOLL_ERR_NULL;
    if (nbcolli_copy_tagged(&c, config, sizeof c) != NBCOLL_OK || nbcolli_verbs_settle(&draft, &c) != NBCOLL_OK)
        return NBCOLL_ERR_CONFIG;
    if (c.ranks < 1 || (uint32_t)c.ranks >= NBCOLLI_VERBS_RANKS || c.rank < 0 || c.rank >= c.ranks)
        return NBCOLL_ERR_RANK;
    if (c.host.size && nbcolli_copy_tagged(&draft.host, &c.host, sizeof draft.host) != NBCOLL_OK)
        return NBCOLL_ERR_CONFIG;
    if (c.beside && !nbcolli_verbs_is_one(c.beside))
        return NBCOLL_ERR_ARGUMENT;
    const nbcolli_verbs_end *beside = c.beside ? nbcolli_verbs_end_of(c.beside) : NULL;
    size_t ranks = (size_t)c.ranks, peers = nbcolli_lines(sizeof *e), places = peers + ranks * sizeof *e->peer,
           kept = places + ranks * sizeof *e->place;
    draft.bytes = kept + draft.registrations * sizeof *e->kept;
    draft.base.rank = c.rank;
    draft.base.ranks = c.ranks;
    e = nbcolli_alloc(&draft.host, draft.bytes, 64);
    if (!e)
        return NBCOLL_ERR_MEMORY;
    memset((void *)e, 0, draft.bytes);
    *e = draft;
    e->peer = (nbcolli_verbs_peer *)(void *)((char *)e + peers);
    e->kept = (nbcolli_verbs_kept *)(void *)((char *)e + kept);
    e->own_last = &e->own_first;
    atomic_flag_clear_explicit(&e->kept_lock, memory_order_relaxed); /* nobody else has it yet */
    nbcoll_status status = nbcolli_verbs_share(e, beside) ? NBCOLL_OK : NBCOLL_ERR_MEMORY;
    if (status == NBCOLL_OK && !beside)
        status = nbcolli_verbs_find(e, &c);
    if (status == NBCOLL_OK)
        status = nbcolli_verbs_equip(e, beside != NULL, &place);
    if (status != NBCOLL_OK) {
        nbcolli_verbs_free(e);
        return status;
    }
    memcpy(mine, &place, sizeof place);
    *out = &e->base;
    return NBCOLL_OK;
}

nbcoll_status nbcoll_verbs_meet(nbcoll_endpoint *endpoint, const nbcoll_verbs_address all[])
{
    nbcolli_verbs_end *e = nbcolli_verbs_end_of(endpoint);

    if (!endpoint || !all)
        return NBCOLL_ERR_NULL;
    if (!nbcolli_verbs_is_one(endpoint) || e->place)
        return NBCOLL_ERR_ARGUMENT;
    size_t peers = nbcolli_lines(sizeof *e);
    nbcolli_verbs_place *place =
        (nbcolli_verbs_place *)(void *)((char *)e + peers + (size_t)endpoint->ranks * sizeof *e->peer);
    memcpy(place, all, (size_t)endpoint->ranks * sizeof *place);
    for (int rank = 0; rank < endpoint->ranks; rank++)
        if (place[rank].magic != NBCOLLI_VERBS_MAGIC || place[rank].ranks != (uint32_t)endpoint->ranks ||
            place[rank].credits != e->credits || place[rank].payload != e->payload || place[rank].rails != e->rails)
            return NBCOLL_ERR_ARGUMENT;
    nbcolli_verbs_agree(e, place);
    e->place = place;
    return NBCOLL_OK;
}
