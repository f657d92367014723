/* SPDX-License-Identifier: BSD-3-Clause
 *
 * shm: the transport between ranks that share memory. Opening, the table, closing; see shm.h for the rest.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "socket.h"

#define NBCOLLI_SHM_TIMEOUT 60000000000u
#define NBCOLLI_SHM_FORCED (NBCOLL_SHM_PIECES | NBCOLL_SHM_BOTH_SIDES)
#define NBCOLLI_SHM_LENDS                                                                                              \
    (NBCOLL_SHM_NO_CMA | NBCOLL_SHM_NO_BULK | NBCOLL_SHM_NO_PIECES | NBCOLLI_SHM_FORCED | NBCOLL_SHM_NO_STAGING)
#define NBCOLLI_SHM_FLAGS (NBCOLLI_SHM_LENDS | NBCOLL_SHM_ALLOW_PTRACER)

/* ---- the table --------------------------------------------------------------------------------------------------- */

static nbcoll_posted nbcolli_shm_end_post(nbcoll_endpoint *ep, int peer, const nbcoll_header *header,
                                          const void *payload, size_t bytes, nbcoll_work *work)
{
    (void)work;
    if (peer < 0 || peer >= ep->ranks || bytes > ep->limits.payload)
        return NBCOLL_POST_FAILED;
    return nbcolli_shm_put(nbcolli_shm_end(ep), peer, header, payload, bytes);
}

/* Progress calls between two looks at the clock, which costs as much as several of them. */
#define NBCOLLI_SHM_LOOK_PASSES 32u

/* A rank that is gone in this way and not reported yet, or -1. */
static int nbcolli_shm_end_report(struct nbcolli_shm_end *e, enum nbcolli_shm_gone gone)
{
    for (int peer = 0; peer < e->base.ranks; peer++)
        if (e->peer[peer].gone == gone && !e->peer[peer].reported) {
            e->peer[peer].reported = 1;
            e->unreported--;
            return peer;
        }
    return -1;
}

static void nbcolli_shm_end_progress(nbcoll_endpoint *ep, nbcoll_completions *found)
{
    struct nbcolli_shm_end *e = nbcolli_shm_end(ep);

    if (e->sleeper.armed || ++e->passes % NBCOLLI_SHM_LOOK_PASSES == 0)
        nbcolli_shm_look(e);
    if (nbcolli_wakeup_is_armed(&e->sleeper))
        nbcolli_shm_disarm(e);
    if (e->refusals)
        nbcolli_shm_forget_refusals(e);
    nbcolli_shm_deliver(e, found);
    e->copied = 0;
    e->most = ep->patient ? NBCOLLI_SHM_PATIENT_BYTES : NBCOLL_PASS_BYTES;
    ep->patient = 0;
    if (e->gets.first)
        nbcolli_shm_copy_some(e);
    nbcolli_shm_serve(e);
    e->base.busy = e->gets_more | e->serves_more;
    found->completed = e->finished.first;
    nbcolli_works_clear(&e->finished);
    if (e->unreported) {
        found->lost = nbcolli_shm_end_report(e, NBCOLLI_SHM_LOST);
        if (found->lost < 0) /* losses come first: others may have left because of them */
            found->departed = nbcolli_shm_end_report(e, NBCOLLI_SHM_AWAY);
    }
}

static size_t nbcolli_shm_end_bytes(int ranks)
{
    return sizeof(struct nbcolli_shm_end) + (size_t)ranks * sizeof(struct nbcolli_shm_peer);
}

static void nbcolli_shm_end_close_descriptors(struct nbcolli_shm_end *e)
{
    nbcolli_shm_close(e->os, &e->event);
    nbcolli_shm_close(e->os, &e->watch);
    nbcolli_shm_close(e->os, &e->ready);
}

/* Frees all parts. `state`: what to tell the others; a child of fork is not the rank, and tells nothing. */
static void nbcolli_shm_end_free(struct nbcolli_shm_end *e, enum nbcolli_shm_state state)
{
    nbcoll_host host = e->host;

    if (e->home) {
        if (e->os->pid() == e->pid) {
            if (e->sleeper.armed)
                nbcolli_shm_disarm(e);
            nbcolli_shm_pieces_close_all(e);
            if (nbcolli_shm_seat_ends(e, e->base.rank, state))
                nbcolli_shm_wake_all(e);
        }
        nbcolli_shm_release_all(e);
        nbcolli_shm_home_leave(e->home);
    }
    nbcolli_shm_end_close_descriptors(e);
    nbcolli_free(&host, e, nbcolli_shm_end_bytes(e->base.ranks));
}

static void nbcolli_shm_end_close(nbcoll_endpoint *ep)
{
    nbcolli_shm_end_free(nbcolli_shm_end(ep), NBCOLLI_SHM_LEFT);
}

static void nbcolli_shm_end_abandon(nbcoll_endpoint *ep)
{
    nbcolli_shm_end_free(nbcolli_shm_end(ep), NBCOLLI_SHM_FAILED);
}

static void nbcolli_shm_end_reason(nbcoll_endpoint *ep, int peer, nbcoll_transport_error *out)
{
    *out = nbcolli_shm_end(ep)->peer[peer].reason;
}

static int nbcolli_shm_end_touches(nbcoll_endpoint *ep, int peer)
{
    return nbcolli_shm_end(ep)->peer[peer].lives;
}

static void nbcolli_shm_end_identify(nbcoll_endpoint *ep, uint64_t out[2])
{
    memcpy(out, nbcolli_shm_end(ep)->identity, 2 * sizeof *out);
}

/* A clock of the host's may call anything: then progress is not safe in signal handlers. */
#define NBCOLLI_SHM_TABLE(bulk_group, shared_group, progress_safe)                                                     \
    {                                                                                                                  \
        .abi = NBCOLL_ABI, .size = sizeof(nbcoll_transport), .name = "shm", .post = nbcolli_shm_end_post,              \
        .progress = nbcolli_shm_end_progress, .cancel = nbcolli_shm_get_cancel, .close = nbcolli_shm_end_close,        \
        .bulk = bulk_group, .wakeup = &nbcolli_shm_wakeup, .shared = shared_group, .abandon = nbcolli_shm_end_abandon, \
        .give_up = nbcolli_shm_give_up, .lines = &nbcolli_shm_lines, .reason = nbcolli_shm_end_reason,                 \
        .signal_safe = NBCOLL_SAFE_POST | NBCOLL_SAFE_CANCEL | NBCOLL_SAFE_BULK | NBCOLL_SAFE_WAKE |                   \
                       NBCOLL_SAFE_LINES | (progress_safe),                                                            \
        .identify = nbcolli_shm_end_identify, .touches = nbcolli_shm_end_touches                                       \
    }

/* [with a clock of the host's][without bulk] */
static const nbcoll_transport nbcolli_shm_tables[2][2] = {
    {NBCOLLI_SHM_TABLE(&nbcolli_shm_bulk, &nbcolli_shm_shared, NBCOLL_SAFE_PROGRESS),
     NBCOLLI_SHM_TABLE(NULL, NULL, NBCOLL_SAFE_PROGRESS)},
    {NBCOLLI_SHM_TABLE(&nbcolli_shm_bulk, &nbcolli_shm_shared, 0), NBCOLLI_SHM_TABLE(NULL, NULL, 0)},
};

nbcoll_status nbcolli_shm_random(const struct nbcolli_shm_system *os, void *to, size_t bytes)
{
    ssize_t n;

    do
        n = os->random(to, bytes, 0);
    while (n != (ssize_t)bytes && (n >= 0 || errno == EINTR)); /* a signal came before the system had any */
    return n < 0 ? nbcolli_shm_status(errno) : NBCOLL_OK;
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

nbcoll_status nbcolli_shm_id_make(const struct nbcolli_shm_system *os, nbcoll_shm_id *out)
{
    uint64_t random[2];
    nbcoll_status s = nbcolli_shm_random(os, random, sizeof random);

    if (s == NBCOLL_OK)
        snprintf(out->text, sizeof out->text, "%016" PRIx64 "%016" PRIx64 "%08" PRIx32, random[0], random[1],
                 os->space("net"));
    return s;
}

nbcoll_status nbcoll_shm_id_make(nbcoll_shm_id *out)
{
    return out ? nbcolli_shm_id_make(&nbcolli_shm_system, out) : NBCOLL_ERR_NULL;
}

/* Reads the id's random bits. Else a rank of another network namespace would look for the socket in vain. */
static nbcoll_status nbcolli_shm_id_read(const struct nbcolli_shm_system *os, const nbcoll_shm_id *id,
                                         uint64_t identity[2])
{
    uint64_t word[3] = {0}, here = os->space("net");

    for (int i = 0; i < 40; i++) {
        char c = id->text[i];
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
            return NBCOLL_ERR_CONFIG;
        word[i / 16] = word[i / 16] << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
    }
    if (id->text[40])
        return NBCOLL_ERR_CONFIG;
    memcpy(identity, word, 2 * sizeof *identity);
    return here && word[2] && here != word[2] ? NBCOLL_ERR_NAMESPACE : NBCOLL_OK;
}

static nbcoll_status nbcolli_shm_config_check(const nbcoll_shm_config *given, nbcoll_shm_config *c, nbcoll_host *host,
                                              nbcoll_shm_allgather *ag)
{
    nbcoll_status s = nbcolli_copy_tagged(c, given, sizeof *c);

    if (s == NBCOLL_OK && c->host)
        s = nbcolli_copy_tagged(host, c->host, sizeof *host);
    if (s == NBCOLL_OK && c->allgather) {
        s = nbcolli_copy_tagged(ag, c->allgather, sizeof *ag);
        c->allgather = ag;
        if (s == NBCOLL_OK && (!ag->start || !ag->test || !ag->free))
            s = NBCOLL_ERR_CONFIG;
    }
    if (s != NBCOLL_OK)
        return s;
    if (c->ranks < 1 || c->ranks > NBCOLL_SHM_RANKS || c->flags & ~NBCOLLI_SHM_FLAGS ||
        (c->flags & NBCOLL_SHM_NO_PIECES && c->flags & NBCOLLI_SHM_FORCED))
        return NBCOLL_ERR_CONFIG;
    return c->rank < 0 || c->rank >= c->ranks ? NBCOLL_ERR_RANK : NBCOLL_OK;
}

nbcoll_status nbcolli_shm_descriptors(struct nbcolli_shm_end *e)
{
    nbcoll_status s;

    e->event = e->os->bell();
    if (e->event >= 0)
        e->watch = e->os->watch(e->pid);
    if (e->event >= 0 && e->watch < 0 && errno == ENOSYS) /* an old kernel: deaths are found by the locks alone */
        e->watch = e->os->bell(); /* never written */
    if (e->watch >= 0)
        e->ready = e->os->gather();
    if (e->ready >= 0)
        return NBCOLL_OK;
    s = nbcolli_shm_status(errno);
    nbcolli_shm_end_close_descriptors(e); /* telling the others takes a descriptor */
    return s;
}

static nbcolli_cores nbcolli_shm_cores(const struct nbcolli_shm_end *e, int rank)
{
    nbcolli_cores of;

    for (int i = 0; i < NBCOLLI_CORES / 64; i++) /* relaxed: written before the rank said that it has joined */
        of.word[i] = atomic_load_explicit(&nbcolli_shm_seat(e->home, rank)->cores[i], memory_order_relaxed);
    return of;
}

uint32_t nbcolli_shm_ranks_per_core(const struct nbcolli_shm_end *e, int asked)
{
    nbcolli_cores of[NBCOLL_SHM_RANKS] = {nbcolli_shm_cores(e, 0)};

    for (int rank = 1; rank < e->base.ranks; rank++)
        of[rank] = nbcolli_shm_cores(e, rank);
    return nbcolli_ranks_per_core(of, e->base.ranks, asked);
}

/* Notes who is bound to this rank's core, and whether some rank is of another process: else all memory is read in
 * place. */
static bool nbcolli_shm_look_around(struct nbcolli_shm_end *e)
{
    nbcolli_cores mine = nbcolli_shm_cores(e, e->base.rank);
    bool strangers = false;

    for (int rank = 0; rank < e->base.ranks; rank++) {
        nbcolli_cores its = nbcolli_shm_cores(e, rank);
        e->peer[rank].beside = nbcolli_cores_count(&mine) == 1 && memcmp(&mine, &its, sizeof mine) == 0;
        strangers |= !e->peer[rank].here;
    }
    return strangers;
}

/* Medians between two processes on two cores that share an L3 cache, of what was just written. Where ranks take turns
 * on a core, each waits for the others of its core, and a message for two switches between them. */
static void nbcolli_shm_end_prices(struct nbcolli_shm_end *e)
{
    nbcoll_limits *limits = &e->base.limits;

    limits->ranks_per_core = nbcolli_shm_ranks_per_core(e, e->base.rank);
    uint32_t turns = limits->ranks_per_core > 1 ? limits->ranks_per_core : 1;
    nbcolli_shm_choose(e);
    limits->price.alpha_ns = turns > 1 ? 5000 * turns : 350;
    limits->price.beta_ps *= turns;
    limits->price.overhead_ns = 60 * turns;
    limits->price.get_ns *= turns;
    limits->price.gamma_ps = 40 * turns;
    limits->price.eager_ps = 180 * turns;
    if (nbcolli_shm_look_around(e) && !(e->flags & NBCOLLI_SHM_LENDS))
        limits->staging = nbcolli_shm_staging(e->base.ranks);
}

static nbcoll_status nbcolli_shm_end_make(const struct nbcolli_shm_boot *b, struct nbcolli_shm_end **out)
{
    const nbcoll_shm_config *c = b->config;
    struct nbcolli_shm_end *e = nbcolli_alloc(b->host, nbcolli_shm_end_bytes(c->ranks), NBCOLLI_SHM_LINE);

    if (!e)
        return NBCOLL_ERR_MEMORY;
    memset(e, 0, nbcolli_shm_end_bytes(c->ranks));
    e->base = (nbcoll_endpoint){
        .transport = &nbcolli_shm_tables[b->host->now != NULL][(c->flags & NBCOLL_SHM_NO_BULK) != 0],
        .rank = c->rank,
        .ranks = c->ranks,
        .limits = {.size = sizeof(nbcoll_limits), .payload = b->layout.payload, .key_bytes = 16,
                   .channels = NBCOLLI_SHM_CHANNELS, .price = {.beta_ps = 130, .get_ns = 900}},
    };
    e->host = *b->host;
    e->os = b->os;
    e->pid = b->os->pid();
    e->flags = c->flags;
    e->most = NBCOLL_PASS_BYTES;
    nbcolli_shm_stores_open(&e->stores);
    nbcolli_works_clear(&e->gets);
    nbcolli_works_clear(&e->finished);
    e->event = e->watch = e->ready = -1;
    *out = e;
    return NBCOLL_OK;
}

nbcoll_status nbcolli_shm_open(const struct nbcolli_shm_system *os, const nbcoll_shm_config *config,
                               nbcoll_endpoint **out)
{
    nbcoll_shm_config c = {0};
    nbcoll_host host = {0};
    nbcoll_shm_allgather ag = {0};
    uint64_t identity[2];
    struct nbcolli_shm_boot b = {.os = os, .config = &c, .host = &host};
    struct nbcolli_shm_end *e = NULL;
    nbcoll_status s;

    if (!config || !out)
        return NBCOLL_ERR_NULL;
    s = nbcolli_shm_config_check(config, &c, &host, &ag);
    if (s == NBCOLL_OK)
        s = nbcolli_shm_layout(&c, &b.layout);
    if (s != NBCOLL_OK)
        return s;
    c.timeout = c.timeout ? c.timeout : NBCOLLI_SHM_TIMEOUT;
    b.deadline = nbcolli_deadline(&host, c.timeout);
    if (c.allgather)
        s = nbcolli_shm_agree(&b, &c.id);
    if (s == NBCOLL_OK)
        s = nbcolli_shm_id_read(os, &c.id, identity);
    if (s != NBCOLL_OK)
        return s;
    if (c.flags & NBCOLL_SHM_ALLOW_PTRACER)
        os->allow_ptracer();
    s = nbcolli_shm_end_make(&b, &e);
    s = c.rank == 0 ? nbcolli_shm_host(&b, e, s) : nbcolli_shm_join(&b, e, s);
    if (s == NBCOLL_OK) {
        memcpy(e->identity, identity, sizeof identity);
        nbcolli_shm_agree_on_barriers(e);
        nbcolli_shm_end_prices(e);
        *out = &e->base;
    } else if (e)
        nbcolli_shm_end_free(e, NBCOLLI_SHM_FAILED);
    return s;
}

nbcoll_status nbcoll_shm_open(const nbcoll_shm_config *config, nbcoll_endpoint **out)
{
    return nbcolli_shm_open(&nbcolli_shm_system, config, out);
}

nbcoll_status nbcoll_shm_describe(const nbcoll_endpoint *ep, int peer, nbcoll_shm_peer *out)
{
    if (!ep || !out)
        return NBCOLL_ERR_NULL;
    if (out->size < sizeof out->size)
        return NBCOLL_ERR_CONFIG;
    if (ep->transport->post != nbcolli_shm_end_post)
        return NBCOLL_ERR_FOREIGN;
    if (peer < 0 || peer >= ep->ranks)
        return NBCOLL_ERR_RANK;
    const struct nbcolli_shm_end *e = (const struct nbcolli_shm_end *)(const void *)ep;
    const struct nbcolli_shm_peer *p = &e->peer[peer];
    nbcoll_shm_peer all = {out->size, e->home->place[peer].pid, nbcolli_shm_path(e, peer), 0,
                           nbcolli_shm_why(e, peer), SIZE_MAX, SIZE_MAX};
    if (!p->here && !p->cma && p->error > 0)
        all.error = p->error;
    if (!p->here && p->pieces)
        all.by_pieces = p->cma ? e->by_pieces : 1;
    if (!p->here && p->cma)
        all.by_cma = e->by_cma;
    memcpy(out, &all, out->size < sizeof all ? out->size : sizeof all);
    return NBCOLL_OK;
}
