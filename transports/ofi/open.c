/* SPDX-License-Identifier: BSD-3-Clause
 * The ofi transport: opening, the table, closing. See ofi.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ofi.h"

static void nbcolli_ofi_free(nbcolli_ofi_end *e)
{
    nbcoll_host host = e->host;
    size_t bytes = e->bytes;

    nbcolli_ofi_watch_close(e);
    nbcolli_ofi_strip(e);
    nbcolli_free(&host, e, bytes);
}

static void nbcolli_ofi_abandon(nbcoll_endpoint *ep)
{
    nbcolli_ofi_free(nbcolli_ofi_end_of(ep));
}

static void nbcolli_ofi_close(nbcoll_endpoint *ep)
{
    nbcolli_ofi_end *e = nbcolli_ofi_end_of(ep);

    if (e->is_met)
        nbcolli_ofi_watch_leave(e);
    nbcolli_ofi_free(e);
}

static void nbcolli_ofi_reason(nbcoll_endpoint *ep, int peer, nbcoll_transport_error *out)
{
    const nbcolli_ofi_peer *p = &nbcolli_ofi_end_of(ep)->peer[peer];

    out->code = p->error;
    out->text = p->error == ETIMEDOUT ? "its machine has not answered" : p->error ? fi_strerror(p->error) : "";
    if (p->error == EMSGSIZE)
        out->text = "its machine acknowledges no packet of full length (MTU)";
    if (p->error == ECONNRESET || p->error == ECONNREFUSED)
        out->text = "its process has ended";
}

/* Of the random numbers of all ranks, in their order. */
static void nbcolli_ofi_identify(nbcoll_endpoint *ep, uint64_t out[2])
{
    const nbcolli_ofi_end *e = nbcolli_ofi_end_of(ep);

    out[0] = out[1] = 0;
    for (int rank = 0; e->is_met && rank < ep->ranks; rank++)
        for (int i = 0; i < 2; i++)
            out[i] = nbcolli_splitmix(out[i] ^ e->peer_nonce[rank] ^ (uint64_t)i);
}

/* With puts, or without. */
#define NBCOLLI_OFI_TABLE(bulk_group)                                                                                  \
    {                                                                                                                  \
        .abi = NBCOLL_ABI, .size = sizeof(nbcoll_transport), .name = "ofi", .post = nbcolli_ofi_post,                  \
        .progress = nbcolli_ofi_progress, .cancel = nbcolli_ofi_cancel, .close = nbcolli_ofi_close,                    \
        .bulk = bulk_group, .wakeup = &nbcolli_ofi_wakeup, .abandon = nbcolli_ofi_abandon,                             \
        .give_up = nbcolli_ofi_give_up, .reason = nbcolli_ofi_reason, .identify = nbcolli_ofi_identify,                \
        .touches = nbcolli_ofi_touches                                                                                 \
    }
static const nbcoll_transport nbcolli_ofi_table[2] = {NBCOLLI_OFI_TABLE(NULL), NBCOLLI_OFI_TABLE(&nbcolli_ofi_bulk)};

bool nbcolli_ofi_is_one(const nbcoll_endpoint *ep)
{
    return ep->transport >= nbcolli_ofi_table && ep->transport < nbcolli_ofi_table + 2;
}

const char *nbcoll_ofi_provider(const nbcoll_endpoint *endpoint)
{
    if (!endpoint || !nbcolli_ofi_is_one(endpoint))
        return NULL;
    return ((const nbcolli_ofi_end *)(const void *)endpoint)->info->fabric_attr->prov_name;
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static nbcoll_status nbcolli_ofi_settings(nbcolli_ofi_end *e, const nbcoll_ofi_config *c)
{
    uint32_t lost_ms = c->lost_ms ? c->lost_ms : 6000;

    e->credits = c->credits ? c->credits : 16;
    e->payload = c->payload ? c->payload : 16384; /* nbcolli_ofi_measure knows the provider's default */
    e->lost_ns = lost_ms * NBCOLLI_OFI_MS;
    if (e->credits < 2 || e->credits > 128 || e->payload < 256 || e->payload > 65536 || e->payload % 8 ||
        lost_ms < 1000 || lost_ms > 600000)
        return NBCOLL_ERR_CONFIG;
    /* Of the order of TCP's on a fast network, where nothing could be measured. */
    e->base.limits = (nbcoll_limits){.size = sizeof(nbcoll_limits),
                                     .key_bytes = 32,
                                     .price = {.alpha_ns = 15000,
                                               .overhead_ns = 3000,
                                               .beta_ps = 800,
                                               .gamma_ps = 200,
                                               .copy_ps = 100,
                                               .eager_ps = 200,
                                               .put_ns = 15000}};
    return NBCOLL_OK;
}

/* Longer messages ofi_rxm announces: they would move only while the sender calls the provider. So they go in pieces, if
 * it copies these; in as many as half of the credits, since no more need be free at any time. */
static void nbcolli_ofi_measure_pieces(nbcolli_ofi_end *e)
{
    uint32_t pieces = e->credits / 2;

    if (e->piece > NBCOLLI_OFI_AT_ONCE)
        e->piece = NBCOLLI_OFI_AT_ONCE;
    nbcolli_ofi_ask_for_copies(e, e->piece);
    if (e->info->tx_attr->inject_size < e->piece)
        pieces = 1;
    uint32_t most = pieces * (e->piece - (uint32_t)sizeof(nbcolli_ofi_front)) - (uint32_t)sizeof(nbcoll_header);
    if (e->payload > most)
        e->payload = most / 8 * 8;
}

/* How long a message may be, once the provider is known, and how many bytes may be under way to a peer. Beyond `keeps`
 * go only the notices of puts. A rank that waits for room has more than `tell` under way, which its peer then
 * acknowledges. */
static void nbcolli_ofi_measure(nbcolli_ofi_end *e, uint32_t payload)
{
    const char *provider = e->info->fabric_attr->prov_name;
    bool is_stream = strcmp(provider, "net") == 0 || strcmp(provider, "tcp") == 0; /* sends any length at once */

    bool is_rxm = strstr(provider, "ofi_rxm");

    if (!payload)
        e->payload = is_stream ? 65536 : is_rxm ? 32768 : e->payload;
    e->receives = is_stream ? NBCOLLI_OFI_STREAM : e->credits + NBCOLLI_OFI_EXTRA;
    e->piece = (uint32_t)NBCOLLI_OFI_FRONT + e->payload;
    if (is_rxm)
        nbcolli_ofi_measure_pieces(e);
    uint32_t fronts = (uint32_t)sizeof(nbcolli_ofi_front) * (nbcolli_ofi_pieces(e, NBCOLLI_OFI_FRONT + e->payload) - 1);
    uint32_t longest = (uint32_t)NBCOLLI_OFI_FRONT + e->payload + fronts;
    e->keeps = NBCOLLI_OFI_KEPT - e->credits * (uint32_t)NBCOLLI_OFI_FRONT;
    e->tell = e->keeps / 2 < e->keeps - longest ? e->keeps / 2 : e->keeps - longest;
}

static bool nbcolli_ofi_join_descriptors(nbcolli_ofi_end *e)
{
    struct epoll_event event = {.events = EPOLLIN};

    if ((e->timer = e->os->timer()) < 0 || (e->epoll = e->os->gather()) < 0)
        return false;
    return e->os->attend(e->epoll, EPOLL_CTL_ADD, e->timer, &event) == 0 &&
           e->os->attend(e->epoll, EPOLL_CTL_ADD, e->lines_epoll, &event) == 0;
}

/* All that an endpoint has, and where that is. */
static nbcoll_status nbcolli_ofi_build(nbcolli_ofi_end *e, const nbcoll_ofi_config *c, nbcolli_ofi_place *mine)
{
    nbcoll_status status = nbcolli_ofi_find(e, c);

    if (status == NBCOLL_OK)
        nbcolli_ofi_measure(e, c->payload);
    e->base.limits.payload = e->payload;
    *mine = (nbcolli_ofi_place){
        .magic = NBCOLLI_OFI_MAGIC, .ranks = (uint32_t)c->ranks, .credits = e->credits, .payload = e->payload};
    if (status == NBCOLL_OK && e->os->random(&e->nonce, sizeof e->nonce, 0) != sizeof e->nonce)
        status = nbcolli_ofi_refused(e, "getrandom", errno);
    if (status == NBCOLL_OK)
        status = nbcolli_ofi_equip(e, mine);
    if (status == NBCOLL_OK)
        status = nbcolli_ofi_watch_open(e, &mine->messages, &mine->watch);
    if (status != NBCOLL_OK)
        return status;
    mine->nonce = e->nonce;
    mine->machine = e->os->machine(&mine->watch);
    mine->mask = e->os->cores(&mine->cores);
    mine->provider = nbcolli_ofi_provider_hash(e);
    if (!nbcolli_ofi_join_descriptors(e))
        return nbcolli_ofi_refused(e, "epoll_ctl", errno);
    if (e->info->domain_attr->mr_mode & FI_MR_RAW)
        e->base.limits.key_bytes = sizeof(nbcoll_key);
    e->base.transport = &nbcolli_ofi_table[e->bulk ? 1 : 0];
    return NBCOLL_OK;
}

nbcoll_status nbcolli_ofi_open(const struct nbcolli_ofi_system *os, const nbcoll_ofi_config *config,
                               nbcoll_ofi_address *mine, nbcoll_endpoint **out)
{
    nbcoll_ofi_config c = {0};
    nbcolli_ofi_end draft = {.os = os, .cq_fd = -1, .lines_epoll = -1, .listener = -1, .epoll = -1, .timer = -1}, *e;
    nbcolli_ofi_place place;

    if (!config || !mine || !out)
        return NBCOLL_ERR_NULL;
    if (nbcolli_copy_tagged(&c, config, sizeof c) != NBCOLL_OK || nbcolli_ofi_settings(&draft, &c) != NBCOLL_OK ||
        nbcolli_host_read(&draft.host, &c.host) != NBCOLL_OK)
        return NBCOLL_ERR_CONFIG;
    if (c.ranks < 1 || c.ranks > 1 << 20 || c.rank < 0 || c.rank >= c.ranks)
        return NBCOLL_ERR_RANK;
    size_t ranks = (size_t)c.ranks, lines = 2 * ranks + NBCOLLI_OFI_GUESTS;
    size_t peers = nbcolli_lines(sizeof *e), nonces = peers + ranks * sizeof *e->peer;
    size_t line = nonces + ranks * sizeof *e->peer_nonce, watches = line + lines * sizeof *e->line;
    draft.bytes = watches + ranks * sizeof *e->watch_at; /* which are aligned to 4 only */
    draft.base.rank = c.rank;
    draft.base.ranks = c.ranks;
    e = nbcolli_alloc(&draft.host, draft.bytes, 64);
    if (!e)
        return NBCOLL_ERR_MEMORY;
    memset((void *)e, 0, draft.bytes);
    *e = draft;
    e->peer = (nbcolli_ofi_peer *)(void *)((char *)e + peers);
    e->peer_nonce = (uint64_t *)(void *)((char *)e + nonces);
    e->watch_at = (struct sockaddr_in6 *)(void *)((char *)e + watches);
    e->line = (nbcolli_ofi_line *)(void *)((char *)e + line);
    e->own_last = &e->own_first;
    e->again_last = &e->again;
    for (size_t i = 0; i < lines; i++)
        e->line[i] = (nbcolli_ofi_line){.fd = -1, .rank = -1};
    nbcoll_status status = nbcolli_ofi_build(e, &c, &place);
    if (status != NBCOLL_OK) {
        nbcolli_ofi_free(e);
        return status;
    }
    memset(mine, 0, sizeof *mine);
    memcpy(mine, &place, sizeof place);
    *out = &e->base;
    return NBCOLL_OK;
}

nbcoll_status nbcoll_ofi_open(const nbcoll_ofi_config *config, nbcoll_ofi_address *mine, nbcoll_endpoint **out)
{
    return nbcolli_ofi_open(&nbcolli_ofi_system, config, mine, out);
}

/* ---- meeting ----------------------------------------------------------------------------------------------------- */

static bool nbcolli_ofi_fits(const nbcolli_ofi_end *e, const nbcolli_ofi_place *place)
{
    return place->magic == NBCOLLI_OFI_MAGIC && place->ranks == (uint32_t)e->base.ranks &&
           place->credits == e->credits && place->payload == e->payload &&
           place->provider == nbcolli_ofi_provider_hash(e) && !place->bulk.bytes == !e->bulk;
}

/* The last rank whose address a rank of another machine has as well, as all ranks find it; -1: none, or no memory. */
static int nbcolli_ofi_shared_address(const nbcolli_ofi_end *e, const nbcoll_ofi_address all[])
{
    size_t slots = 2 * (size_t)e->base.ranks, bytes = slots * sizeof(int32_t);
    int32_t *slot = nbcolli_alloc(&e->host, bytes, 64); /* 1 + the first rank of each address, by its hash */
    nbcolli_ofi_place place, first;
    uint64_t half[2];
    int found = -1;

    if (slot)
        memset(slot, 0, bytes);
    for (int rank = 0; slot && rank < e->base.ranks; rank++) {
        memcpy(&place, &all[rank], sizeof place);
        memcpy(half, &place.watch.sin6_addr, sizeof half);
        size_t at = nbcolli_splitmix(half[0] ^ nbcolli_splitmix(half[1])) % slots;
        for (; slot[at]; at = (at + 1) % slots) {
            memcpy(&first, &all[slot[at] - 1], sizeof first);
            if (memcmp(&first.watch.sin6_addr, half, sizeof half) == 0)
                break;
        }
        if (!slot[at])
            slot[at] = rank + 1;
        else if (first.machine >> 1 != place.machine >> 1)
            found = rank;
    }
    nbcolli_free(&e->host, slot, bytes);
    return found;
}

/* Of places of several machines each must be reached by the others, at an address that no other machine has. */
static nbcoll_status nbcolli_ofi_reach(const nbcolli_ofi_end *e, const nbcoll_ofi_address all[])
{
    nbcolli_ofi_place first, place;
    int alone = -1, shared;
    bool are_several = false;
    char text[96];

    memcpy(&first, all, sizeof first);
    for (int rank = 0; rank < e->base.ranks; rank++) {
        memcpy(&place, &all[rank], sizeof place);
        are_several |= place.machine >> 1 != first.machine >> 1;
        alone = place.machine & 1 ? rank : alone;
    }
    if (!are_several || (alone < 0 && (shared = nbcolli_ofi_shared_address(e, all)) < 0))
        return NBCOLL_OK;
    if (alone < 0)
        snprintf(text, sizeof text, "ofi: another machine has the address of rank %d, too", shared);
    else
        snprintf(text, sizeof text, "ofi: only its own machine reaches the address of rank %d", alone);
    if (e->host.log)
        e->host.log(e->host.user, NBCOLL_ERR_TRANSPORT, text);
    return NBCOLL_ERR_TRANSPORT;
}

static bool nbcolli_ofi_meet_one(nbcolli_ofi_end *e, int rank, const nbcolli_ofi_place *place)
{
    nbcolli_ofi_peer *p = &e->peer[rank];

    *p = (nbcolli_ofi_peer){.rank = rank};
    e->peer_nonce[rank] = place->nonce;
    e->watch_at[rank] = place->watch;
    return fi_av_insert(e->av, place->messages.at, 1, &p->to, 0, NULL) == 1 &&
           (!e->bulk || fi_av_insert(e->av, place->bulk.at, 1, &p->bulk_to, 0, NULL) == 1);
}

/* Ranks that may use the same cores of the same kernel share them. Of others that may use some of these nothing is
 * known. */
static uint32_t nbcolli_ofi_ranks_per_core(const nbcolli_ofi_end *e, const nbcoll_ofi_address all[])
{
    nbcolli_ofi_place mine, its;
    uint32_t alike = 0;

    memcpy(&mine, &all[e->base.rank], sizeof mine);
    for (int rank = 0; rank < e->base.ranks; rank++) {
        memcpy(&its, &all[rank], sizeof its);
        alike += its.cores == mine.cores && its.mask == mine.mask;
    }
    return mine.cores ? (alike + mine.cores - 1) / mine.cores : 0;
}

/* Ranks that follow each other on one machine are a run; the first ranks of two runs are partners. With one run the
 * first two ranks are. -1: this rank has none. */
static int nbcolli_ofi_partner(const nbcolli_ofi_end *e, const nbcoll_ofi_address all[])
{
    int alone = -1, runs = 0, mine = e->base.rank;
    nbcolli_ofi_place place;
    uint32_t machine = 0;

    for (int rank = 0; rank < e->base.ranks; rank++) {
        memcpy(&place, &all[rank], sizeof place);
        if (rank > 0 && place.machine >> 1 == machine)
            continue;
        machine = place.machine >> 1;
        runs++;
        if (alone >= 0 && (alone == mine || rank == mine))
            return alone == mine ? rank : alone;
        alone = alone < 0 ? rank : -1;
    }
    return runs == 1 && e->base.ranks > 1 && mine < 2 ? 1 - mine : -1;
}

nbcoll_status nbcoll_ofi_meet(nbcoll_endpoint *endpoint, const nbcoll_ofi_address all[])
{
    nbcolli_ofi_end *e = nbcolli_ofi_end_of(endpoint);
    const nbcoll_ofi_address *last;
    nbcolli_ofi_place place;

    if (!endpoint || !all)
        return NBCOLL_ERR_NULL;
    if (!nbcolli_ofi_is_one(endpoint) || e->is_met)
        return NBCOLL_ERR_ARGUMENT;
    last = all + endpoint->ranks;
    for (const nbcoll_ofi_address *a = all; a < last; a++) {
        memcpy(&place, a, sizeof place);
        if (!nbcolli_ofi_fits(e, &place))
            return NBCOLL_ERR_ARGUMENT;
    }
    if (nbcolli_ofi_reach(e, all) != NBCOLL_OK)
        return NBCOLL_ERR_TRANSPORT;
    for (const nbcoll_ofi_address *a = all; a < last; a++) {
        memcpy(&place, a, sizeof place);
        if (!nbcolli_ofi_meet_one(e, (int)(a - all), &place))
            return NBCOLL_ERR_TRANSPORT;
    }
    e->partner = nbcolli_ofi_partner(e, all);
    endpoint->limits.ranks_per_core = nbcolli_ofi_ranks_per_core(e, all);
    e->is_met = true;
    return NBCOLL_OK;
}
