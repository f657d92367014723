/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The ends of the transport. A rank has one of the net that joins all, and where there are nodes one of its node's
 * before it: another transport, with limits and habits of its own. A rank that closes its ends, or dies, is seen by
 * each other one at a time of its own, on each net. */
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "wire.h"

/* ---- gone -------------------------------------------------------------------------------------------------------- */

static void is_seen(end *e, uint64_t most)
{
    storm *s = e->storm;
    for (int r = 0; r < s->plan.ranks; r++)
        if (wire_reaches(e, r)) {
            e->seen_at[r] = s->now + storm_random(s, most);
            storm_ring(s, r, e->seen_at[r]);
        }
    wire_clear(e);
}

static void wire_close(nbcoll_endpoint *ep)
{
    end *e = (end *)ep;
    struct wire *w = e->storm->wire;
    storm_step(e->storm, e->actor);
    storm_note(e->storm, e->rank, NOTE_CLOSE, 0, (uint64_t)e->number);
    for (size_t i = 0; i < w->n_orders; i++)
        if (w->orders[i].end == e)
            storm_find(e->storm, "rank %d closes its endpoint with work requests in flight", e->rank);
    if (e->n_backs)
        storm_find(e->storm, "rank %d closes its endpoint with work requests that have not come back", e->rank);
    bulk_closes(e);
    if (e->number == HOME)
        agents_shut(e->actor);
    e->is_closed = true;
    is_seen(e, storm_chance(e->storm, 500) ? 0 : 5 * MILLISECOND);
}

/* Dead, or abandoned: what it has lent is carried out, or not. */
static void goes(end *e)
{
    struct wire *w = e->storm->wire;
    e->is_gone = true;
    for (size_t i = 0; i < w->n_orders;)
        if (w->orders[i].end == e && storm_chance(e->storm, 500))
            w->orders[i] = w->orders[--w->n_orders];
        else
            i++;
    is_seen(e, storm_chance(e->storm, 500) ? MICROSECOND : 100 * MILLISECOND);
}

static void wire_abandon(nbcoll_endpoint *ep)
{
    end *e = (end *)ep;
    storm_step(e->storm, e->actor);
    storm_note(e->storm, e->rank, NOTE_CLOSE, 1, (uint64_t)e->number);
    struct wire *w = e->storm->wire;
    for (size_t i = 0; i < w->n_orders;)
        if (w->orders[i].end == e)
            w->orders[i] = w->orders[--w->n_orders];
        else
            i++;
    e->n_backs = 0;
    goes(e);
    e->is_closed = true;
}

static void end_dies(end *e)
{
    storm *s = e->storm;
    struct wire *w = s->wire;
    if (e->is_closed)
        return;
    e->is_gone = true;
    for (size_t i = 0; i < w->n_orders; i++)
        if (w->orders[i].end == e)
            w->orders[i].fails = storm_chance(s, 500) ? NBCOLL_ERR_TRANSPORT : NBCOLL_OK;
    for (int r = 0; r < s->plan.ranks; r++)
        if (wire_reaches(e, r)) {
            e->seen_at[r] = s->now + storm_random(s, 50 * MILLISECOND);
            storm_ring(s, r, e->seen_at[r]);
        }
}

static void wire_dies(actor *a)
{
    for (int n = 0; n < a->storm->plan.nets; n++)
        end_dies(a->end[n]);
    agents_shut(a);
}

static bool wire_is_shut(const actor *a)
{
    bool is_shut = false;
    for (int n = 0; n < a->storm->plan.nets; n++)
        is_shut |= a->end[n]->is_closed;
    return is_shut;
}

/* ---- what comes next --------------------------------------------------------------------------------------------- */

static uint64_t end_next(const end *e)
{
    uint64_t next = e->storm->wire->orders_due;
    if (e->is_closed)
        return UINT64_MAX;
    if (e->is_refused && e->room_at < next)
        next = e->room_at;
    for (size_t i = 0; i < e->queued; i++)
        next = e->queue[i]->at < next ? e->queue[i]->at : next;
    for (size_t i = 0; i < e->n_backs; i++)
        next = e->backs[i].at < next ? e->backs[i].at : next;
    for (int r = 0; r < e->storm->plan.ranks; r++) {
        const end *other = wire_end(e, r);
        if (!e->has_seen[r] && r != e->rank && wire_reaches(e, r) &&
            (other->is_gone || (other->is_closed && !wire_waits_from(e, r))) && other->seen_at[e->rank] < next)
            next = other->seen_at[e->rank];
        if (!e->has_seen[r] && e->lost_at[r] && e->lost_at[r] < next)
            next = e->lost_at[r];
        if (e->has_seen[r] && e->over_at[r] && e->over_at[r] < next)
            next = e->over_at[r];
    }
    return e->storm->ends ? e->storm->now : next;
}

static uint64_t wire_next(const actor *a)
{
    uint64_t next = UINT64_MAX;
    for (int n = 0; n < a->storm->plan.nets; n++) {
        uint64_t of_one = end_next(a->end[n]);
        next = of_one < next ? of_one : next;
    }
    return next;
}

/* ---- sleeping ---------------------------------------------------------------------------------------------------- */

static int wire_fd(nbcoll_endpoint *ep)
{
    static int fd[NETS]; /* 1 more; nobody reads from them; 0: there is none yet */
    int *mine = &fd[((end *)ep)->number];
    if (!*mine)
        *mine = 1 + eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return *mine - 1;
}

static bool is_other_armed(const end *e)
{
    bool is_armed = false;
    for (int n = 0; n < e->storm->plan.nets; n++)
        is_armed |= n != e->number && e->actor->end[n]->is_armed;
    return is_armed;
}

static nbcoll_status wire_arm(nbcoll_endpoint *ep)
{
    end *e = (end *)ep;
    storm *s = e->storm;
    storm_step(s, e->actor);
    s->turn->armed_at = s->now + e->actor->skew;
    if (!is_other_armed(e))
        s->turn->rung_at = UINT64_MAX;
    if (s->ends || wire_next(e->actor) <= s->now || storm_chance(s, 50))
        return NBCOLL_AGAIN;
    e->is_armed = true;
    storm_note(s, e->rank, NOTE_ARM, 0, (uint64_t)e->number);
    return NBCOLL_OK;
}

static void wire_reason(nbcoll_endpoint *ep, int peer, nbcoll_transport_error *out)
{
    (void)ep;
    *out = (nbcoll_transport_error){peer, "so the storm would have it"};
}

static const nbcoll_wakeup wakeup = {sizeof wakeup, wire_fd, wire_arm};

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static void wire_identify(nbcoll_endpoint *ep, uint64_t out[2])
{
    const end *e = (const end *)ep;
    out[0] = mix(e->storm->plan.seed, 11);
    out[1] = (uint64_t)e->net.at[e->rank].group;
}

/* What differs by rank. A transport that has a function here and not there has it all the same. */
static void mix_end(end *e)
{
    net *n = &e->net;
    uint64_t own = mix(mix(e->storm->plan.seed, 15), 1 + (uint64_t)(NETS * e->rank + e->number));

    n->refused = (unsigned)ONE_OF(&own, n->refused, 0, 30, 300);
    n->lent = (unsigned)ONE_OF(&own, n->lent, 0, 100, 1000);
    n->quota = n->quota / 512 * 128 * ONE_OF(&own, 1, 2, 4, 4);
    n->staging /= (uint32_t)ONE_OF(&own, 1, 1, 2);
    n->groups &= ~(unsigned)ONE_OF(&own, 0, 0, HAS_WAKEUP, HAS_TAKE, HAS_VIEW);
    e->prices = next_random(&own);
    if (e->storm->plan.edition >= EDITION_OF_ENDS && !e->storm->plan.ticks)
        n->groups &= ~(unsigned)ONE_OF(&own, 0, 0, 0, HAS_GET, HAS_PUT, HAS_GET | HAS_PUT);
}

static nbcoll_limits limits_of(const end *e)
{
    const net *n = &e->net;
    uint64_t seed = e->prices;
    unsigned groups = e->storm->plan.net[e->number].groups; /* a key is as long where nothing can be got or put */
    return (nbcoll_limits){.size = sizeof(nbcoll_limits),
                           .payload = n->payload,
                           .price = {.alpha_ns = e->number == HOME ? 1000 : 300,
                                     .beta_ps = 200,
                                     .overhead_ns = 100,
                                     .get_ns = (uint32_t)(seed % 3 * 800),
                                     .put_ns = (uint32_t)(seed / 3 % 3 * 800),
                                     .gamma_ps = 200,
                                     .copy_ps = 100,
                                     .eager_ps = 200},
                           .key_bytes = groups & (HAS_GET | HAS_PUT) ? n->key_bytes : 0,
                           .channels = n->groups & HAS_LINES ? n->channels : 0,
                           .receives = n->groups & HAS_BOUND ? n->room : 0,
                           .ranks_per_core = e->storm->plan.is_bare ? 2 : (uint32_t)(seed / 9 % 3), /* 2: no spins */
                           .staging = n->staging};
}

static void wire_make(storm *s)
{
    s->wire = calloc(1, sizeof *s->wire);
    s->wire->orders_due = UINT64_MAX;
}

static nbcoll_transport table_of(end *e)
{
    static nbcoll_bulk of_all[NETS]; /* in earlier editions: that of the last rank */
    nbcoll_bulk *bulk = e->storm->plan.edition >= EDITION_OF_ENDS ? &e->bulk : &of_all[e->number];
    unsigned groups = e->net.groups;
    nbcoll_transport t = wire_calls;

    *bulk = bulk_table(&e->net);
    t.abi = NBCOLL_ABI;
    t.size = sizeof t;
    t.name = "storm";
    t.close = wire_close;
    t.abandon = wire_abandon;
    t.give_up = bulk_give_up;
    t.touches = e->storm->plan.edition >= EDITION_OF_LOSSES ? bulk_touches : NULL;
    t.reason = wire_reason;
    t.bulk = groups & (HAS_GET | HAS_PUT) ? bulk : NULL;
    t.shared = groups & HAS_SHARED ? &wire_shared : NULL;
    if (t.shared && e->storm->plan.edition < EDITION_OF_PARTS)
        t.shared = &wire_shared_of_all;
    t.wakeup = groups & HAS_WAKEUP ? &wakeup : NULL;
    t.offload = e->number == HOME && e->storm->plan.has_agents ? &agents_offload : NULL;
    if (groups & HAS_LINES)
        t.lines = groups & HAS_TAKE ? &wire_lines_taken : &wire_lines;
    if (e->storm->plan.ticks) /* but not cancel */
        t.signal_safe =
            NBCOLL_SAFE_POST | NBCOLL_SAFE_PROGRESS | NBCOLL_SAFE_BULK | NBCOLL_SAFE_WAKE | NBCOLL_SAFE_LINES;
    if (e->number != HOME)
        t.identify = wire_identify;
    return t;
}

static void wire_open(actor *a)
{
    const plan *p = &a->storm->plan;
    for (int n = 0; n < p->nets; n++) {
        end *e = calloc(1, sizeof *e);
        place_in at = p->net[n].at[a->rank];
        e->actor = a;
        e->storm = a->storm;
        e->number = n;
        e->rank = a->rank;
        e->net = p->net[n];
        e->prices = n == HOME ? p->seed : p->seed / 7;
        if (p->is_mixed)
            mix_end(e);
        for (int r = 0; r < p->ranks; r++)
            if (wire_reaches(e, r))
                e->who[e->net.at[r].rank] = r;
        e->table = table_of(e);
        e->base = (nbcoll_endpoint){.transport = &e->table, .rank = at.rank, .ranks = at.size, .limits = limits_of(e)};
        a->end[n] = e;
    }
}

static void stray_close(nbcoll_endpoint *ep)
{
    (void)ep;
}

nbcoll_endpoint *wire_stray(actor *a, end *e)
{
    const plan *p = &a->storm->plan;
    *e = (end){.actor = a, .storm = a->storm, .rank = a->rank, .net = p->net[HOME], .table = wire_calls};
    e->net.groups = 0;
    e->table.abi = NBCOLL_ABI;
    e->table.size = sizeof e->table;
    e->table.name = "stray";
    e->table.close = e->table.abandon = stray_close;
    e->base = (nbcoll_endpoint){.transport = &e->table, .rank = a->rank, .ranks = p->ranks, .limits = limits_of(e)};
    e->base.limits.key_bytes = 0;
    return &e->base;
}

static int wire_endpoints(actor *a, nbcoll_endpoint *out[NETS])
{
    int nets = a->storm->plan.nets;
    for (int n = 0; n < nets; n++)
        out[nets - 1 - n] = &a->end[n]->base;
    return nets;
}

static void wire_shut(actor *a)
{
    for (int n = 0; n < a->storm->plan.nets; n++)
        nbcoll_endpoint_close(&a->end[n]->base);
}

static void end_free(end *e)
{
    free(e->queue);
    free(e->backs);
    if (!e->storm->finding[0])
        free(e);
}

static void wire_free(storm *s)
{
    for (int n = 0; n < s->plan.nets; n++)
        for (int r = 0; r < s->plan.ranks; r++)
            wire_clear(s->actor[r].end[n]);
    for (int n = 0; n < s->plan.nets; n++)
        for (int r = 0; r < s->plan.ranks; r++) {
            end_free(s->actor[r].end[n]);
            free(s->wire->reserved[n][r]);
        }
    free(s->wire->orders);
    free(s->wire->registered);
    free(s->wire);
}

const medium wire_medium = {wire_make,    wire_open, wire_endpoints, wire_shut,
                            wire_is_shut, wire_free, wire_dies,      wire_next};
