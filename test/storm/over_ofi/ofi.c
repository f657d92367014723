/* SPDX-License-Identifier: BSD-3-Clause
 *
 * ofi in the place of the storm's transport: its own code, over a provider of libfabric's interface (test/ofi/fake.c)
 * whose time is the storm's, and over connections of the storm's (lines.c). Each slot of its table, each call of the
 * provider and each call of the system lets others go on. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include <rdma/fi_domain.h>

#include "ofi.h"

ofi ofi_world;

station *ofi_caller(void)
{
    return &ofi_world.station[storm_running()->turn->actor->rank];
}

int ofi_call(station *p)
{
    storm *s = ofi_world.storm;
    const climate *w = &ofi_world.climate;
    storm_step(s, p->actor);
    if (!p->is_opening || w->refuses != 1 + p->actor->rank || (int)p->calls++ != w->refused_call || s->ends)
        return 0;
    storm_note(s, p->actor->rank, NOTE_REFUSED, (uint64_t)w->refused_with, 0);
    storm_cause(s, p->actor->rank, BAD_OPENING);
    return w->refused_with;
}

/* ---- the provider's world ---------------------------------------------------------------------------------------- */

static void provider_enters(void)
{
    storm *s = storm_running();
    if (s)
        storm_step(s, s->turn->actor);
}

static uint64_t provider_now(void)
{
    return ofi_world.storm->now;
}

static int provider_caller(void)
{
    return ofi_caller()->actor->rank;
}

static void provider_rings(int rank, uint64_t at)
{
    storm_ring(ofi_world.storm, rank, at);
}

static void provider_finds(int rank, const char *what)
{
    storm_find(ofi_world.storm, "rank %d gives the provider what it must not: %s", rank, what);
}

static bool is_between(const outage *o, int from, int to)
{
    return (o->a == from && o->b == to) || (o->a == to && o->b == from);
}

uint64_t ofi_passes(int from, int to, uint64_t at)
{
    const outage *o = &ofi_world.outage;
    if (!is_between(o, from, to) || at < o->since || at >= o->until)
        return at;
    return o->until == UINT64_MAX ? UINT64_MAX : o->until + storm_random(ofi_world.storm, 300 * MILLISECOND);
}

/* For less than ranks wait for, or for ever: then both are lost to each other. */
static void loses_link(station *p, int peer)
{
    storm *s = ofi_world.storm;
    outage *o = &ofi_world.outage;
    uint64_t lost = ofi_world.climate.lost_ms * MILLISECOND, posts = p->actor->gets++ / 10;
    const fault *f = storm_fault(s, p->actor, FAULT_GET, &posts);
    if (!f || peer == p->actor->rank || o->since != UINT64_MAX)
        return;
    storm_note(s, p->actor->rank, NOTE_FAULT, FAULT_GET, (uint64_t)peer);
    *o = (outage){p->actor->rank, peer, s->now, f->late ? s->now + storm_random(s, lost / 2) : UINT64_MAX};
    s->last_cause = s->now + 2 * lost;
    if (f->late)
        return;
    storm_cause(s, p->actor->rank, BAD_WIRE);
    storm_cause(s, peer, BAD_WIRE);
    lines_break(o);
}

static const fake_world provider_world = {provider_enters, provider_now, provider_caller,
                                          provider_rings,  ofi_passes,   provider_finds};

static void draw_provider(const plan *p)
{
    static const int modes[] = {0, FI_MR_PROV_KEY | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED,
                                FI_MR_LOCAL | FI_MR_PROV_KEY | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED, FI_MR_ENDPOINT,
                                FI_MR_RAW | FI_MR_PROV_KEY | FI_MR_LOCAL};
    uint64_t r = mix(p->seed, 61);
    fake_provider = (fake){.world = &provider_world, .seed = mix(p->seed, 62)};
    fake_provider.mr_mode = modes[next_random(&r) % 5];
    fake_provider.key_bytes = ONE_OF(&r, 16, 32, 64); /* longer than 32: fragments */
    fake_provider.inject = ONE_OF(&r, 0, 16, 64, 512);
    fake_provider.piece = ONE_OF(&r, 0, 0, 1000, 4096);
    fake_provider.has_rma = next_random(&r) % 4 > 0;
    fake_provider.has_fd = next_random(&r) % 3 > 0;
    fake_provider.refused = (unsigned)ONE_OF(&r, 0, 0, 30, 300, 700);
    fake_provider.late = (unsigned)ONE_OF(&r, 1, 2 * MICROSECOND, 100 * MICROSECOND, 5 * MILLISECOND);
}

static climate draw_climate(const plan *p)
{
    uint64_t r = mix(p->seed, 63);
    climate w = {0};
    w.far = ONE_OF(&r, 1, 2 * MICROSECOND, 100 * MICROSECOND, 5 * MILLISECOND);
    w.interrupted = (unsigned)ONE_OF(&r, 0, 0, 20, 200);
    w.partial = (unsigned)ONE_OF(&r, 0, 0, 100, 500);
    w.credits = (uint32_t)ONE_OF(&r, 2, 3, 8, 16);
    w.lost_ms = (uint32_t)ONE_OF(&r, 1000, 2000, 6000);
    if (p->faults && next_random(&r) % 6 == 0) {
        w.refuses = 1 + (int)(next_random(&r) % (uint64_t)p->ranks);
        w.refused_call = (int)(next_random(&r) % 12);
        w.refused_with = (int)ONE_OF(&r, EMFILE, ENOMEM, EPERM);
    }
    return w;
}

/* ---- slots ------------------------------------------------------------------------------------------------------- */

static station *station_of(const nbcoll_endpoint *ep)
{
    station *p = ofi_caller();
    storm_step(ofi_world.storm, p->actor);
    (void)ep;
    return p;
}

/* A send that fails, or a message that the provider loses, so that one of both loses the other. */
static bool cannot_send(station *p, int peer)
{
    storm *s = ofi_world.storm;
    const fault *f = storm_fault(s, p->actor, FAULT_POST, &p->actor->posts);
    if (!f || peer == p->actor->rank)
        return false;
    storm_note(s, p->actor->rank, NOTE_FAULT, FAULT_POST, (uint64_t)peer);
    storm_cause(s, p->actor->rank, BAD_WIRE);
    storm_cause(s, peer, BAD_WIRE);
    *(f->late ? &fake_provider.failed_sends : &fake_provider.dropped) = 1;
    fake_provider.only = p->actor->rank;
    return true;
}

static nbcoll_posted slot_post(nbcoll_endpoint *ep, int peer, const nbcoll_header *header, const void *payload,
                               size_t bytes, nbcoll_work *work)
{
    station *p = station_of(ep);
    nbcoll_header sent = *header;
    if (bytes > ep->limits.payload)
        storm_find(ofi_world.storm, "rank %d posts %zu bytes, more than the limit", ep->rank, bytes);
    wire_damage(p->actor, &sent);
    loses_link(p, peer);
    bool fails = cannot_send(p, peer);
    nbcoll_posted answer = p->real->post(ep, peer, &sent, payload, bytes, work);
    if (fails)
        fake_provider.failed_sends = fake_provider.dropped = 0;
    met.answered[wire_type(header)][answer == NBCOLL_POST_NOT_NOW ? 2 : 0]++;
    storm_note(ofi_world.storm, ep->rank, NOTE_POST, (uint64_t)peer, wire_type(header) * 8 + answer);
    return answer;
}

/* A put has failed so: by that it may learn first that somebody has given it up. */
static void is_given_up(station *p)
{
    storm *s = ofi_world.storm;
    bool is_by_any = s->ends;
    for (int r = 0; r < s->plan.ranks; r++)
        if (ofi_world.station[r].has_given_up[p->actor->rank]) {
            storm_cause(s, r, BAD_WIRE);
            is_by_any = true;
        }
    if (!is_by_any)
        storm_find(s, "rank %d: a put fails, but nobody has given the rank up", p->actor->rank);
}

static void note_found(station *p, const nbcoll_completions *found)
{
    storm *s = ofi_world.storm;
    for (const nbcoll_arrival *a = found->arrived; a; a = a->next) {
        unsigned type = wire_type(&a->header);
        met.next[p->last_type][type]++;
        p->last_type = type;
        storm_note(s, p->actor->rank, NOTE_ARRIVES, (uint64_t)a->source, type);
    }
    for (const nbcoll_work *w = found->completed; w; w = w->next) {
        storm_note(s, p->actor->rank, NOTE_BACK, w->status, 0);
        if (w->status == NBCOLL_ERR_TRANSPORT)
            is_given_up(p);
    }
    if (found->lost >= 0)
        storm_note(s, p->actor->rank, NOTE_LOST, (uint64_t)found->lost, 0);
    if (found->departed >= 0)
        storm_note(s, p->actor->rank, NOTE_DEPARTED, (uint64_t)found->departed, 0);
}

static void slot_progress(nbcoll_endpoint *ep, nbcoll_completions *found)
{
    station *p = station_of(ep);
    p->is_armed = false;
    p->real->progress(ep, found);
    note_found(p, found);
}

static void slot_cancel(nbcoll_endpoint *ep, nbcoll_work *work)
{
    station *p = station_of(ep);
    storm_not_in_tick(p->actor, "the transport's cancel");
    storm_note(ofi_world.storm, ep->rank, NOTE_CANCEL, 0, 0);
    p->real->cancel(ep, work);
}

static nbcoll_status slot_register(nbcoll_endpoint *ep, int peer, void *memory, size_t bytes, uint32_t access,
                                   nbcoll_registration *out)
{
    station *p = station_of(ep);
    bool fails = storm_fault(ofi_world.storm, p->actor, FAULT_REGISTER, &p->actor->registers);
    if (fails) {
        storm_note(ofi_world.storm, ep->rank, NOTE_FAULT, FAULT_REGISTER, access);
        storm_cause(ofi_world.storm, ep->rank, BAD_KEY);
        fake_provider.refused_regions = 1;
        fake_provider.only = ep->rank;
    }
    nbcoll_status status = p->real->bulk->register_memory(ep, peer, memory, bytes, access, out);
    fake_provider.refused_regions -= fails && fake_provider.refused_regions;
    storm_note(ofi_world.storm, ep->rank, NOTE_REGISTER, bytes, status);
    return status;
}

/* A write that fails, at either end: which, the provider does not say. */
static bool cannot_touch(station *p, int peer)
{
    storm *s = ofi_world.storm;
    uint64_t count = p->actor->puts++;
    if (peer == p->actor->rank || !storm_fault(s, p->actor, FAULT_TOUCHES, &count))
        return false;
    storm_note(s, p->actor->rank, NOTE_FAULT, FAULT_TOUCHES, (uint64_t)peer);
    storm_cause(s, p->actor->rank, BAD_BUFFER);
    storm_cause(s, peer, BAD_BUFFER);
    fake_provider.failed_writes = 1;
    fake_provider.only = p->actor->rank;
    return true;
}

static nbcoll_posted slot_put(nbcoll_endpoint *ep, int peer, const nbcoll_key *key, size_t offset,
                              const nbcoll_registration *local, const void *from, size_t bytes,
                              const nbcoll_header *notice, nbcoll_work *work)
{
    station *p = station_of(ep);
    bool fails = cannot_touch(p, peer);
    nbcoll_posted answer = p->real->bulk->put(ep, peer, key, offset, local, from, bytes, notice, work);
    fake_provider.failed_writes -= fails && fake_provider.failed_writes;
    storm_note(ofi_world.storm, ep->rank, NOTE_PUT, (uint64_t)peer, bytes * 8 + answer);
    return answer;
}

static void slot_give_up(nbcoll_endpoint *ep, int peer)
{
    station *p = station_of(ep);
    storm_note(ofi_world.storm, ep->rank, NOTE_GIVEN_UP, (uint64_t)peer, 0);
    p->has_given_up[peer] = true;
    p->real->give_up(ep, peer);
}

static int slot_fd(nbcoll_endpoint *ep)
{
    static int fd = -1; /* nobody reads from it */
    (void)ep;
    if (fd < 0)
        fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return fd;
}

static nbcoll_status slot_arm(nbcoll_endpoint *ep)
{
    station *p = station_of(ep);
    ofi_world.storm->turn->rung_at = UINT64_MAX;
    p->is_armed = true;
    nbcoll_status s = p->real->wakeup->arm(ep);
    p->is_armed = s == NBCOLL_OK;
    if (p->is_armed)
        storm_note(ofi_world.storm, ep->rank, NOTE_ARM, 0, 0);
    return s;
}

/* ---- ends -------------------------------------------------------------------------------------------------------- */

static void is_closed(station *p)
{
    p->endpoint = NULL;
    p->is_closed = true;
    p->is_armed = false;
    if (p->things && !p->is_gone)
        storm_find(ofi_world.storm, "rank %d has left %d descriptors open", p->actor->rank, p->things);
}

static void slot_close(nbcoll_endpoint *ep)
{
    station *p = station_of(ep);
    storm_note(ofi_world.storm, ep->rank, NOTE_CLOSE, 0, 0);
    p->is_leaving = true;
    p->real->close(ep);
    is_closed(p);
}

static void slot_abandon(nbcoll_endpoint *ep)
{
    station *p = station_of(ep);
    storm_note(ofi_world.storm, ep->rank, NOTE_CLOSE, 1, 0);
    p->is_leaving = true;
    p->real->abandon(ep);
    is_closed(p);
}

static void cover(station *p)
{
    const nbcoll_transport *real = p->real = p->endpoint->transport;
    p->table = *real;
    p->table.post = slot_post;
    p->table.progress = slot_progress;
    p->table.cancel = slot_cancel;
    p->table.close = slot_close;
    p->table.abandon = slot_abandon;
    p->table.give_up = slot_give_up;
    p->wakeup = (nbcoll_wakeup){sizeof p->wakeup, slot_fd, slot_arm};
    p->table.wakeup = &p->wakeup;
    if (real->bulk) {
        p->bulk = *real->bulk;
        p->bulk.register_memory = slot_register;
        p->bulk.put = slot_put;
        p->table.bulk = &p->bulk;
    }
    p->endpoint->transport = &p->table;
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static uint64_t ofi_now(void *user)
{
    actor *a = user;
    storm_not_in_tick(a, "now");
    storm_step(a->storm, a);
    return a->storm->now + a->skew;
}

static void open_station(station *p)
{
    storm *s = ofi_world.storm;
    const plan *of = &s->plan;
    const climate *w = &ofi_world.climate;

    p->host = p->actor->host;
    p->host.now = ofi_now;
    p->host.pause = NULL;
    nbcoll_ofi_config c = {.size = sizeof c,
                           .rank = p->actor->rank,
                           .ranks = of->ranks,
                           .credits = w->credits,
                           .payload = (uint32_t)of->net[HOME].payload,
                           .lost_ms = w->lost_ms,
                           .host = p->host};
    if (storm_chance(s, 200))
        storm_away(s, storm_random(s, storm_chance(s, 100) ? SECOND : MILLISECOND));
    p->is_opening = true;
    nbcoll_status status = nbcolli_ofi_open(&lines_system, &c, &p->address, &p->endpoint);
    p->is_opening = false;
    p->has_opened = status == NBCOLL_OK ? 1 : -1;
    storm_note(s, p->actor->rank, NOTE_MADE, status, 1);
    if (status == NBCOLL_OK || p->actor->is_dead || s->ends)
        return;
    if (!(s->bad[p->actor->rank] & (BAD_MEMORY | BAD_OPENING)))
        storm_find(s, "rank %d, opening: %s, but nothing has happened", p->actor->rank, nbcoll_status_name(status));
    p->endpoint = NULL;
    is_closed(p);
}

/* All have an address, or some rank never will. */
static int all_have_opened(void)
{
    const storm *s = ofi_world.storm;
    int all = 1;
    for (int r = 0; r < s->plan.ranks; r++) {
        const station *p = &ofi_world.station[r];
        if (p->has_opened < 0 || (!p->has_opened && p->is_gone))
            return -1;
        all &= p->has_opened > 0;
    }
    return all;
}

static int ofi_endpoints(actor *a, nbcoll_endpoint *out[NETS])
{
    station *p = &ofi_world.station[a->rank];
    nbcoll_ofi_address all[RANKS_MOST];
    int has;

    open_station(p);
    while (!(has = all_have_opened())) {
        a->storm->steps_moved = a->storm->steps;
        storm_stay(a->storm, 1 + storm_random(a->storm, 10 * MICROSECOND));
    }
    if (!p->endpoint)
        return 0;
    for (int r = 0; r < a->storm->plan.ranks; r++)
        all[r] = ofi_world.station[r].address;
    nbcoll_status status = has < 0 ? NBCOLL_ERR_PEER_LOST : nbcoll_ofi_meet(p->endpoint, all);
    if (has > 0 && status != NBCOLL_OK)
        storm_find(a->storm, "rank %d does not meet the others: %s", a->rank, nbcoll_status_name(status));
    cover(p);
    if (status != NBCOLL_OK)
        nbcoll_endpoint_close(p->endpoint);
    out[0] = p->endpoint;
    return p->endpoint ? 1 : 0;
}

static void ofi_shut(actor *a)
{
    station *p = &ofi_world.station[a->rank];
    if (p->endpoint)
        nbcoll_endpoint_close(p->endpoint);
}

static bool ofi_is_shut(const actor *a)
{
    const station *p = &ofi_world.station[a->rank];
    return p->is_closed || p->is_leaving;
}

static void ofi_dies(actor *a)
{
    station *p = &ofi_world.station[a->rank];
    if (p->is_closed)
        return;
    p->is_gone = true;
    fake_dies(a->rank);
    lines_die(p);
}

/* What its descriptor wakes it for, where it is armed; else what the provider has for it. */
static uint64_t ofi_next(const actor *a)
{
    const station *p = &ofi_world.station[a->rank];
    if (p->is_closed || !p->endpoint)
        return UINT64_MAX;
    if (a->storm->ends)
        return a->storm->now + MILLISECOND;
    return p->is_armed ? lines_next(p, nbcolli_ofi_end_of(p->endpoint)->epoll) : fake_next(a->rank);
}

static void ofi_make(storm *s)
{
    ofi_world = (ofi){.storm = s, .climate = draw_climate(&s->plan), .outage = {-1, -1, UINT64_MAX, UINT64_MAX}};
    for (int r = 0; r < s->plan.ranks; r++)
        ofi_world.station[r] = (station){.actor = &s->actor[r]};
    fake_begins();
    draw_provider(&s->plan);
}

static void ofi_open(actor *a)
{
    (void)a;
}

static void ofi_free(storm *s)
{
    bool are_over = true;
    for (int r = 0; r < s->plan.ranks; r++)
        are_over &= s->actor[r].is_over;
    if (!s->finding[0] && are_over && fake_open())
        storm_find(s, "%d things of the provider's are still open", fake_open());
    lines_free();
}

const medium ofi_medium = {ofi_make, ofi_open, ofi_endpoints, ofi_shut, ofi_is_shut, ofi_free, ofi_dies, ofi_next};
