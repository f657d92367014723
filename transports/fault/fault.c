/* SPDX-License-Identifier: BSD-3-Clause
 *
 * fault: hands calls on to the endpoint inside, but for those that it was told to refuse, hold, fail or break. A held
 * message stays the core's memory (its post answered IN_FLIGHT); its work request is passed on with it when it leaves.
 */
#include "nbcoll/fault.h"

#include <stdbool.h>
#include <string.h>

#include "../../src/wrap/wrapper.h"

struct nbcolli_fault_end {
    nbcolli_wrapper wrap;
    nbcoll_fault_config config;
    uint64_t random, calls, progresses;
    bool awake; /* since the last progress: work that only our next progress does, and nobody wakes us for */
    nbcoll_work *held, **held_end; /* scratch: progresses still to pass << 32 | peer, header, payload, bytes */
    /* for breaches */
    nbcoll_arrival twice;
    nbcoll_line_arrival line_twice;
    nbcoll_work *returned;
    nbcoll_work *getting; /* the get that was lent last, and where it writes */
    unsigned char *gets_to;
    unsigned char *overwrites; /* a cancelled get's, in so many progresses */
    int overwrites_in;
    unsigned char peer[]; /* NBCOLLI_FAULT_LOST, NBCOLLI_FAULT_REFUSED */
};

enum { NBCOLLI_FAULT_LOST = 1, NBCOLLI_FAULT_REFUSED = 2 };

static struct nbcolli_fault_end *nbcolli_fault_end_of(nbcoll_endpoint *ep)
{
    return (struct nbcolli_fault_end *)ep;
}

/* Keeps a work request for the next progress. `awake`: nobody will wake us for it. */
static void nbcolli_fault_hold(struct nbcolli_fault_end *e, nbcoll_work *work, bool awake)
{
    work->next = NULL;
    *e->held_end = work;
    e->held_end = &work->next;
    e->awake |= awake;
}

/* xorshift64*, of a state that is never 0 */
static uint64_t nbcolli_fault_random(struct nbcolli_fault_end *e)
{
    e->random ^= e->random >> 12;
    e->random ^= e->random << 25;
    e->random ^= e->random >> 27;
    return (e->random * 0x2545f4914f6cdd1du) >> 16;
}

static bool nbcolli_fault_chance(struct nbcolli_fault_end *e, uint32_t of_1000)
{
    return of_1000 && nbcolli_fault_random(e) % 1000 < of_1000;
}

/* Counts a call of this kind. True when it is the one to fail. */
static bool nbcolli_fault_fails(struct nbcolli_fault_end *e, uint32_t kind)
{
    return e->config.fail & kind && ++e->calls == e->config.fail_at;
}

/* What post, get, put and line have in common: DONE when the call shall go on. */
static nbcoll_posted nbcolli_fault_meets(struct nbcolli_fault_end *e, uint32_t kind, int peer)
{
    if (nbcolli_fault_fails(e, kind)) {
        if (e->config.fail_with == NBCOLL_POST_FAILED)
            return NBCOLL_POST_FAILED;
        e->peer[peer] |= NBCOLLI_FAULT_LOST;
    }
    if (e->peer[peer] & NBCOLLI_FAULT_LOST)
        return NBCOLL_POST_LOST;
    if (!nbcolli_fault_chance(e, e->config.not_now))
        return NBCOLL_POST_DONE;
    e->awake = true;
    return NBCOLL_POST_NOT_NOW;
}

/* ---- breaches ---------------------------------------------------------------------------------------------------- */

static bool nbcolli_fault_breaks(const struct nbcolli_fault_end *e, nbcoll_fault_breach clause)
{
    return e->config.breach == clause;
}

/* The post of the endpoint inside. */
static nbcoll_posted nbcolli_fault_inner_post(struct nbcolli_fault_end *e, int peer, const nbcoll_header *header,
                                              const void *payload, size_t bytes, nbcoll_work *work)
{
    if (nbcolli_fault_breaks(e, NBCOLL_FAULT_NOT_NOW_FOREVER) && e->peer[peer] & NBCOLLI_FAULT_REFUSED)
        return NBCOLL_POST_NOT_NOW;
    if (nbcolli_fault_breaks(e, NBCOLL_FAULT_PAYLOAD_TRUNCATED) && bytes)
        bytes--;
    nbcoll_posted posted = e->wrap.call.post(e->wrap.inner, peer, header, payload, bytes, work);
    if (posted == NBCOLL_POST_NOT_NOW)
        e->peer[peer] |= NBCOLLI_FAULT_REFUSED;
    return posted;
}

static void nbcolli_fault_drop_arrivals(nbcoll_completions *found, int source)
{
    for (nbcoll_arrival **at = &found->arrived; *at;)
        if ((*at)->source == source)
            *at = (*at)->next;
        else
            at = &(*at)->next;
    for (nbcoll_line_arrival **at = &found->lines; *at;)
        if ((*at)->source == source)
            *at = (*at)->next;
        else
            at = &(*at)->next;
}

static void nbcolli_fault_repeat_arrivals(struct nbcolli_fault_end *e, nbcoll_completions *found)
{
    if (found->arrived) {
        e->twice = *found->arrived;
        e->twice.next = found->arrived;
        found->arrived = &e->twice;
    }
    if (found->lines) {
        e->line_twice = *found->lines;
        e->line_twice.next = found->lines;
        found->lines = &e->line_twice;
    }
}

/* Turns the inner endpoint's reports into those of a broken one. */
static void nbcolli_fault_break_report(struct nbcolli_fault_end *e, nbcoll_completions *found)
{
    if (nbcolli_fault_breaks(e, NBCOLL_FAULT_LOSS_UNREPORTED))
        found->lost = -1;
    if (nbcolli_fault_breaks(e, NBCOLL_FAULT_CLOSE_DROPS) && found->departed >= 0)
        nbcolli_fault_drop_arrivals(found, found->departed);
    if (nbcolli_fault_breaks(e, NBCOLL_FAULT_LEAVE_UNREPORTED))
        found->departed = -1;
    if (nbcolli_fault_breaks(e, NBCOLL_FAULT_WORK_DROPPED) && found->completed)
        found->completed = found->completed->next;
    if (nbcolli_fault_breaks(e, NBCOLL_FAULT_MESSAGE_TWICE))
        nbcolli_fault_repeat_arrivals(e, found);
    if (nbcolli_fault_breaks(e, NBCOLL_FAULT_WORK_TWICE)) {
        nbcoll_work *again = e->returned;
        e->returned = found->completed;
        if (again) {
            again->next = found->completed;
            found->completed = again;
        }
    }
    if (e->overwrites && --e->overwrites_in == 0) {
        *e->overwrites ^= 0xff;
        e->overwrites = NULL;
    }
}

/* A get is cancelled: it will write when its work request has come back. */
static void nbcolli_fault_break_cancel(struct nbcolli_fault_end *e, const nbcoll_work *work)
{
    if (!nbcolli_fault_breaks(e, NBCOLL_FAULT_CANCEL_WRITES) || work != e->getting)
        return;
    e->getting = NULL;
    e->overwrites = e->gets_to;
    e->overwrites_in = 5;
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

static nbcoll_posted nbcolli_fault_post(nbcoll_endpoint *ep, int peer, const nbcoll_header *header, const void *payload,
                                        size_t bytes, nbcoll_work *work)
{
    struct nbcolli_fault_end *e = nbcolli_fault_end_of(ep);
    nbcoll_posted met = nbcolli_fault_meets(e, NBCOLL_FAULT_POST, peer);
    if (met != NBCOLL_POST_DONE)
        return met;
    bool behind = e->held && !(e->config.flags & NBCOLL_FAULT_REORDER);
    bool hold = nbcolli_fault_chance(e, e->config.hold);
    if (!hold && !behind)
        return nbcolli_fault_inner_post(e, peer, header, payload, bytes, work);
    uint64_t wait = hold && e->config.longest ? nbcolli_fault_random(e) % e->config.longest : 0;
    work->scratch[0] = wait << 32 | (uint32_t)peer;
    work->scratch[1] = (uintptr_t)header;
    work->scratch[2] = (uintptr_t)payload;
    work->scratch[3] = bytes;
    work->status = NBCOLL_OK;
    nbcolli_fault_hold(e, work, true);
    return NBCOLL_POST_IN_FLIGHT;
}

/* Posts a message that was held. IN_FLIGHT: the inner endpoint has it now. DONE: its work request goes back. */
static nbcoll_posted nbcolli_fault_let_go(struct nbcolli_fault_end *e, nbcoll_work *work)
{
    int peer = (int)(uint32_t)work->scratch[0];
    nbcoll_posted posted = NBCOLL_POST_LOST;
    if (!(e->peer[peer] & NBCOLLI_FAULT_LOST))
        posted = nbcolli_fault_inner_post(e, peer, (const nbcoll_header *)(uintptr_t)work->scratch[1],
                                          (const void *)(uintptr_t)work->scratch[2], (size_t)work->scratch[3], work);
    if (posted == NBCOLL_POST_IN_FLIGHT || posted == NBCOLL_POST_NOT_NOW)
        return posted;
    work->status = posted == NBCOLL_POST_DONE   ? NBCOLL_OK
                     : posted == NBCOLL_POST_LOST ? NBCOLL_ERR_PEER_LOST
                                                  : NBCOLL_ERR_TRANSPORT;
    return NBCOLL_POST_DONE;
}

/* One progress has passed for the held messages. */
static void nbcolli_fault_release(struct nbcolli_fault_end *e, nbcoll_completions *found)
{
    nbcoll_work *work = e->held;
    e->held = NULL;
    e->held_end = &e->held;
    for (nbcoll_work *next; work; work = next) {
        next = work->next;
        bool cancelled = work->status == NBCOLL_ERR_CANCELLED;
        bool waits = work->scratch[0] >> 32 != 0;
        bool stays = waits || (e->held && !(e->config.flags & NBCOLL_FAULT_REORDER));
        if (waits)
            work->scratch[0] -= UINT64_C(1) << 32;
        nbcoll_posted now = cancelled ? NBCOLL_POST_DONE : stays ? NBCOLL_POST_NOT_NOW : nbcolli_fault_let_go(e, work);
        if (now == NBCOLL_POST_NOT_NOW)
            nbcolli_fault_hold(e, work, waits);
        else if (now == NBCOLL_POST_DONE) {
            work->next = found->completed;
            found->completed = work;
        }
    }
}

static void nbcolli_fault_progress(nbcoll_endpoint *ep, nbcoll_completions *found)
{
    struct nbcolli_fault_end *e = nbcolli_fault_end_of(ep);
    e->wrap.call.progress(e->wrap.inner, found);
    e->awake = false;
    nbcolli_fault_release(e, found);
    e->progresses++;
    if (e->config.lost_at && e->progresses >= e->config.lost_at && found->lost < 0) {
        found->lost = e->config.lost;
        e->peer[e->config.lost] |= NBCOLLI_FAULT_LOST;
        e->config.lost_at = 0; /* told */
    }
    nbcolli_fault_break_report(e, found);
}

static void nbcolli_fault_cancel(nbcoll_endpoint *ep, nbcoll_work *work)
{
    struct nbcolli_fault_end *e = nbcolli_fault_end_of(ep);
    nbcoll_work *held = e->held;
    nbcolli_fault_break_cancel(e, work);
    while (held && held != work)
        held = held->next;
    if (held) {
        held->status = NBCOLL_ERR_CANCELLED; /* the next progress returns it */
        e->awake = true;
    } else
        e->wrap.call.cancel(e->wrap.inner, work);
}

static nbcoll_status nbcolli_fault_register(nbcoll_endpoint *ep, int peer, void *memory, size_t bytes, uint32_t access,
                                            nbcoll_registration *out)
{
    struct nbcolli_fault_end *e = nbcolli_fault_end_of(ep);
    return nbcolli_fault_fails(e, NBCOLL_FAULT_REGISTER)
               ? NBCOLL_ERR_TRANSPORT
               : e->wrap.inner_bulk.register_memory(e->wrap.inner, peer, memory, bytes, access, out);
}

static nbcoll_posted nbcolli_fault_get(nbcoll_endpoint *ep, int peer, const nbcoll_key *key, size_t offset,
                                       const nbcoll_registration *local, void *to, size_t bytes, nbcoll_work *work)
{
    struct nbcolli_fault_end *e = nbcolli_fault_end_of(ep);
    nbcoll_posted met = nbcolli_fault_meets(e, NBCOLL_FAULT_GET, peer);
    if (met == NBCOLL_POST_DONE)
        met = e->wrap.inner_bulk.get(e->wrap.inner, peer, key, offset, local, to, bytes, work);
    if (met == NBCOLL_POST_IN_FLIGHT) {
        e->getting = work;
        e->gets_to = to;
    }
    return met;
}

static nbcoll_posted nbcolli_fault_put(nbcoll_endpoint *ep, int peer, const nbcoll_key *key, size_t offset,
                                       const nbcoll_registration *local, const void *from, size_t bytes,
                                       const nbcoll_header *notice, nbcoll_work *work)
{
    struct nbcolli_fault_end *e = nbcolli_fault_end_of(ep);
    nbcoll_posted met = nbcolli_fault_meets(e, NBCOLL_FAULT_PUT, peer);
    return met == NBCOLL_POST_DONE
               ? e->wrap.inner_bulk.put(e->wrap.inner, peer, key, offset, local, from, bytes, notice, work)
               : met;
}

static nbcoll_posted nbcolli_fault_line(nbcoll_endpoint *ep, int peer, uint32_t channel, uint64_t turn,
                                        const void *payload, size_t bytes)
{
    struct nbcolli_fault_end *e = nbcolli_fault_end_of(ep);
    nbcoll_posted met = nbcolli_fault_meets(e, NBCOLL_FAULT_LINE, peer);
    if (met != NBCOLL_POST_DONE)
        return met;
    if (nbcolli_fault_breaks(e, NBCOLL_FAULT_NOT_NOW_FOREVER) && e->peer[peer] & NBCOLLI_FAULT_REFUSED)
        return NBCOLL_POST_NOT_NOW;
    if (nbcolli_fault_breaks(e, NBCOLL_FAULT_PAYLOAD_TRUNCATED) && bytes)
        bytes--;
    nbcoll_posted posted = e->wrap.inner_lines.post(e->wrap.inner, peer, channel, turn, payload, bytes);
    if (posted == NBCOLL_POST_NOT_NOW)
        e->peer[peer] |= NBCOLLI_FAULT_REFUSED;
    return posted;
}

static void nbcolli_fault_reason(nbcoll_endpoint *ep, int peer, nbcoll_transport_error *out)
{
    struct nbcolli_fault_end *e = nbcolli_fault_end_of(ep);
    if (e->wrap.call.reason)
        e->wrap.call.reason(e->wrap.inner, peer, out);
    if (!out->code && !out->text)
        out->text = "fault was told to fail";
}

static nbcoll_status nbcolli_fault_arm(nbcoll_endpoint *ep)
{
    struct nbcolli_fault_end *e = nbcolli_fault_end_of(ep);
    nbcoll_status status = e->awake || e->config.lost_at ? NBCOLL_AGAIN : e->wrap.inner_wakeup.arm(e->wrap.inner);
    return nbcolli_fault_breaks(e, NBCOLL_FAULT_ARM_ALWAYS_OK) ? NBCOLL_OK : status;
}

static void nbcolli_fault_changes(nbcolli_wrapper *w)
{
    w->table.post = nbcolli_fault_post;
    w->table.progress = nbcolli_fault_progress;
    w->table.cancel = nbcolli_fault_cancel;
    w->table.reason = nbcolli_fault_reason;
    NBCOLLI_WRAPPER_CHANGES(w->bulk.register_memory, nbcolli_fault_register);
    NBCOLLI_WRAPPER_CHANGES(w->bulk.get, nbcolli_fault_get);
    NBCOLLI_WRAPPER_CHANGES(w->bulk.put, nbcolli_fault_put);
    NBCOLLI_WRAPPER_CHANGES(w->wakeup.arm, nbcolli_fault_arm);
    NBCOLLI_WRAPPER_CHANGES(w->lines.post, nbcolli_fault_line);
    w->lines.take = NULL; /* losses and breaches need progress */
}

/* Completes and checks a configuration, which may be null. */
static nbcoll_status nbcolli_fault_config(nbcoll_fault_config *c, const nbcoll_fault_config *from, int ranks)
{
    const uint32_t kinds =
        NBCOLL_FAULT_POST | NBCOLL_FAULT_GET | NBCOLL_FAULT_REGISTER | NBCOLL_FAULT_PUT | NBCOLL_FAULT_LINE;
    nbcoll_status status = from ? nbcolli_copy_tagged(c, from, sizeof *c) : NBCOLL_OK;
    if (status != NBCOLL_OK)
        return status;
    if (c->flags & ~NBCOLL_FAULT_REORDER || c->not_now > 999 || c->hold > 1000 || c->fail & ~kinds ||
        c->breach > NBCOLL_FAULT_NOT_NOW_FOREVER)
        return NBCOLL_ERR_CONFIG;
    if (c->fail_at && (!c->fail || (c->fail_with != NBCOLL_POST_FAILED && c->fail_with != NBCOLL_POST_LOST)))
        return NBCOLL_ERR_CONFIG;
    return c->lost_at && (c->lost < 0 || c->lost >= ranks) ? NBCOLL_ERR_RANK : NBCOLL_OK;
}

static void nbcolli_fault_begin(struct nbcolli_fault_end *e, const nbcoll_fault_config *c)
{
    e->config = *c;
    e->random = (c->seed + (uint64_t)e->wrap.base.rank + 1) * 0x9e3779b97f4a7c15u | 1; /* each rank its own sequence */
    e->calls = 0;
    e->progresses = 0;
}

nbcoll_status nbcoll_fault_open(const nbcoll_fault_config *config, nbcoll_endpoint *inner, nbcoll_endpoint **out)
{
    nbcoll_fault_config c = {0};
    nbcolli_wrapper *w;
    if (!inner || !out)
        return NBCOLL_ERR_NULL;
    nbcoll_status status = nbcolli_fault_config(&c, config, inner->ranks);
    if (status == NBCOLL_OK)
        status =
            nbcolli_wrapper_open(c.host, inner, "fault", sizeof(struct nbcolli_fault_end) + (size_t)inner->ranks, &w);
    if (status != NBCOLL_OK)
        return status;
    struct nbcolli_fault_end *e = nbcolli_fault_end_of(&w->base);
    e->held_end = &e->held;
    nbcolli_fault_begin(e, &c);
    nbcolli_fault_changes(w);
    *out = &w->base;
    return NBCOLL_OK;
}

nbcoll_status nbcoll_fault_set(nbcoll_endpoint *ep, const nbcoll_fault_config *config)
{
    nbcoll_fault_config c = {0};
    if (!ep || !config)
        return NBCOLL_ERR_NULL;
    if (ep->transport->post != nbcolli_fault_post)
        return NBCOLL_ERR_FOREIGN;
    nbcoll_status status = nbcolli_fault_config(&c, config, ep->ranks);
    if (status == NBCOLL_OK)
        nbcolli_fault_begin(nbcolli_fault_end_of(ep), &c);
    return status;
}

uint64_t nbcoll_fault_calls(const nbcoll_endpoint *ep)
{
    return ep && ep->transport->post == nbcolli_fault_post ? ((const struct nbcolli_fault_end *)ep)->calls : 0;
}
