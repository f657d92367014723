/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The transport of a world. A message is seen by its receiver some time after its post, each after a time of its own,
 * so that they overtake each other; posts are answered NOT_NOW, or are lent and carried out later: what was lent must
 * be the same then. What the core has been given is garbage after the next progress. A rank that closes, or dies, is
 * seen by each other one at a time of its own. */
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "wire.h"

static message *unused; /* short ones */
#define SHORT 512

static message *message_make(size_t bytes)
{
    if (bytes <= SHORT && unused) {
        message *m = unused;
        unused = m->next;
        return m;
    }
    return malloc(sizeof(message) + (bytes <= SHORT ? SHORT : bytes));
}

static void message_free(message *m)
{
    size_t bytes = m->is_line ? m->as.line.bytes : m->as.arrival.bytes;
    memset(&m->as, 0xdb, sizeof m->as);
    memset(m->data, 0xdb, bytes);
    if (bytes > SHORT) {
        free(m);
        return;
    }
    m->next = unused;
    unused = m;
}

void *grown(void *array, size_t n, size_t *room, size_t size)
{
    if (n < *room)
        return array;
    *room = *room ? *room * 2 : 16;
    return realloc(array, *room * size);
}

end *wire_end(storm *s, int rank)
{
    return s->actor[rank].end;
}

static end *end_of(nbcoll_endpoint *ep)
{
    return (end *)ep;
}

/* As the core packs it: for the table of what was met only. */
static unsigned type_of(const nbcoll_header *header)
{
    return (header->word[3] >> 48) % TYPES;
}

/* ---- on the way -------------------------------------------------------------------------------------------------- */

static uint64_t delay(storm *s)
{
    if (storm_chance(s, s->plan.far))
        return storm_random(s, storm_chance(s, 100) ? 200 * MILLISECOND : MILLISECOND);
    return storm_random(s, 2 * MICROSECOND);
}

static void enqueue(end *to, message *m)
{
    storm *s = to->storm;
    m->at = s->now + delay(s);
    to->queue = grown(to->queue, to->queued, &to->queue_room, sizeof *to->queue);
    to->queue[to->queued++] = m;
    wire_end(s, m->from)->under_way[to->base.rank]++;
    storm_ring(s, to->base.rank, m->at);
}

static bool is_heard(const end *to)
{
    return !to->is_closed && !to->is_gone;
}

/* Changes a byte of its header, if that is to be. */
static void damage(end *e, message *m)
{
    storm *s = e->storm;
    uint64_t garbled = e->actor->sent;
    if (storm_fault(s, e->actor, FAULT_GARBLES, &garbled)) {
        storm_note(s, e->base.rank, NOTE_FAULT, FAULT_GARBLES, type_of(&m->as.arrival.header));
        storm_cause(s, e->base.rank, BAD_DECLARED);
        m->as.arrival.header.word[3] |= UINT64_C(0xff) << 48;
    }
    if (!storm_fault(s, e->actor, FAULT_DAMAGE, &e->actor->sent))
        return;
    unsigned char *at = (unsigned char *)&m->as.arrival.header + storm_random(s, sizeof(nbcoll_header));
    *at = (unsigned char)(storm_chance(s, 500) ? *at ^ 1u << storm_random(s, 8) : storm_random(s, 256));
    storm_note(s, e->base.rank, NOTE_FAULT, FAULT_DAMAGE, (uint64_t)(at - (unsigned char *)&m->as.arrival.header));
    storm_cause(s, e->base.rank, BAD_HEADER);
    met.answered[type_of(&m->as.arrival.header)][3]++;
}

void wire_send(end *e, int peer, const nbcoll_header *header, const void *payload, size_t bytes)
{
    end *to = wire_end(e->storm, peer);
    if (!is_heard(to) || to->has_seen[e->base.rank])
        return;
    message *m = message_make(bytes);
    m->is_line = false;
    m->from = e->base.rank;
    m->as.arrival = (nbcoll_arrival){NULL, e->base.rank, *header, m->data, bytes};
    if (bytes)
        memcpy(m->data, payload, bytes);
    damage(e, m);
    enqueue(to, m);
}

static void come_back(end *e, nbcoll_work *work, nbcoll_status status)
{
    storm *s = e->storm;
    e->backs = grown(e->backs, e->n_backs, &e->backs_room, sizeof *e->backs);
    e->backs[e->n_backs++] = (back){work, status, s->now + (storm_chance(s, 500) ? 0 : delay(s))};
    storm_ring(s, e->base.rank, e->backs[e->n_backs - 1].at);
}

static uint64_t sum_of(const order *o)
{
    uint64_t sum = 1;
    const unsigned char *p = o->from;
    if (o->header)
        for (int i = 0; i < 6; i++)
            sum = (sum ^ o->header->word[i]) * 0x9e3779b97f4a7c15u;
    if (o->kind != ORDER_GET)
        for (size_t i = 0; i + 8 <= o->bytes; i += 8) {
            uint64_t word;
            memcpy(&word, p + i, 8);
            sum = (sum ^ word) * 0x9e3779b97f4a7c15u;
            sum ^= sum >> 31;
        }
    return sum;
}

nbcoll_posted wire_lend(end *e, order o)
{
    storm *s = e->storm;
    struct wire *w = s->wire;
    o.end = e;
    o.sum = sum_of(&o);
    o.at = s->now + delay(s);
    o.work->next = (nbcoll_work *)(uintptr_t)0xdbdbdbd0; /* the transport's while it is lent */
    memset(o.work->scratch, 0xdb, sizeof o.work->scratch);
    w->orders = grown(w->orders, w->n_orders, &w->orders_room, sizeof *w->orders);
    w->orders[w->n_orders++] = o;
    if (o.at < w->orders_due)
        w->orders_due = o.at;
    storm_ring(s, e->base.rank, o.at);
    storm_ring(s, o.peer, o.at);
    storm_note(s, e->base.rank, NOTE_LENT, (uint64_t)o.peer, o.bytes);
    return NBCOLL_POST_LENT;
}

/* How it ends. */
static nbcoll_status carry_out(storm *s, order *o)
{
    if ((s->ends && o->peer != o->end->base.rank) || o->end->has_seen[o->peer])
        return wire_end(s, o->peer)->is_closed ? NBCOLL_OK : NBCOLL_ERR_PEER_LOST;
    if (o->fails)
        return NBCOLL_ERR_TRANSPORT;
    if (sum_of(o) != o->sum)
        storm_find(s, "rank %d has changed what it had lent to a %s", o->end->base.rank,
                   o->kind == ORDER_POST ? "post" : "put");
    if (o->kind != ORDER_POST)
        return bulk_carry_out(s, o);
    wire_send(o->end, o->peer, o->header, o->from, o->bytes);
    return NBCOLL_OK;
}

static void carry_out_due(storm *s)
{
    struct wire *w = s->wire;
    uint64_t due = UINT64_MAX;
    if (s->now < w->orders_due && !s->ends)
        return;
    for (size_t i = 0; i < w->n_orders;) {
        order o = w->orders[i];
        if (o.at > s->now && !s->ends) {
            due = o.at < due ? o.at : due;
            i++;
            continue;
        }
        w->orders[i] = w->orders[--w->n_orders];
        come_back(o.end, o.work, carry_out(s, &o));
    }
    w->orders_due = due;
}

/* ---- posts ------------------------------------------------------------------------------------------------------- */

void wire_refused(end *e, bool is_full)
{
    uint64_t at = is_full ? NO_ROOM : e->storm->now + delay(e->storm);
    if (!e->is_refused || at < e->room_at)
        e->room_at = at;
    e->is_refused = true;
    storm_note(e->storm, e->base.rank, NOTE_REFUSED, is_full, 0);
}

int wire_refuses(end *e, int peer)
{
    storm *s = e->storm;
    end *to = wire_end(s, peer);
    storm_step(s, e->actor);
    if (peer == e->base.rank)
        return -1;
    if (s->ends || (to->is_gone && (e->has_seen[peer] || storm_chance(s, 300))))
        return NBCOLL_POST_LOST;
    const fault *f = storm_fault(s, e->actor, FAULT_POST, &e->actor->posts);
    if (f) {
        storm_note(s, e->base.rank, NOTE_FAULT, FAULT_POST, (uint64_t)peer);
        storm_cause(s, e->base.rank, BAD_WIRE);
        storm_cause(s, peer, BAD_WIRE);
        return f->late ? NBCOLL_POST_FAILED : NBCOLL_POST_LOST;
    }
    return -1;
}

/* Says so to the core where it has none. */
static bool has_room(end *e, int peer)
{
    storm *s = e->storm;
    bool is_full = e->under_way[peer] >= s->plan.room;
    if (!is_heard(wire_end(s, peer)) || (!is_full && !storm_chance(s, s->plan.refused)))
        return true;
    wire_refused(e, is_full);
    return false;
}

static nbcoll_posted wire_post(nbcoll_endpoint *ep, int peer, const nbcoll_header *header, const void *payload,
                               size_t bytes, nbcoll_work *work)
{
    end *e = end_of(ep);
    storm *s = e->storm;
    int refused = wire_refuses(e, peer);
    if (bytes > ep->limits.payload)
        storm_find(s, "rank %d posts %zu bytes, more than the limit", ep->rank, bytes);
    if (refused >= 0)
        return (nbcoll_posted)refused;
    if (!has_room(e, peer)) {
        met.answered[type_of(header)][2]++;
        return NBCOLL_POST_NOT_NOW;
    }
    bool is_lent = storm_chance(s, s->plan.lent);
    met.answered[type_of(header)][is_lent]++;
    storm_note(s, ep->rank, NOTE_POST, (uint64_t)peer, type_of(header));
    if (is_lent)
        return wire_lend(
            e,
            (order){.kind = ORDER_POST, .peer = peer, .work = work, .header = header, .from = payload, .bytes = bytes});
    wire_send(e, peer, header, payload, bytes);
    return NBCOLL_POST_DONE;
}

static nbcoll_posted wire_line(nbcoll_endpoint *ep, int peer, uint32_t channel, uint64_t turn, const void *payload,
                               size_t bytes)
{
    end *e = end_of(ep), *to = wire_end(e->storm, peer);
    int refused = wire_refuses(e, peer);
    if (refused >= 0)
        return (nbcoll_posted)refused;
    if (channel >= ep->limits.channels || bytes > NBCOLL_LINE_PAYLOAD)
        storm_find(e->storm, "rank %d posts a line on channel %u of %zu bytes", ep->rank, channel, bytes);
    if (!has_room(e, peer))
        return NBCOLL_POST_NOT_NOW;
    storm_note(e->storm, ep->rank, NOTE_LINE, (uint64_t)peer, turn);
    if (!is_heard(to) || to->has_seen[ep->rank])
        return NBCOLL_POST_DONE;
    message *m = message_make(NBCOLL_LINE_PAYLOAD);
    m->is_line = true;
    m->from = ep->rank;
    m->as.line = (nbcoll_line_arrival){NULL, ep->rank, channel, (uint32_t)bytes, turn, m->data};
    if (bytes)
        memcpy(m->data, payload, bytes);
    enqueue(to, m);
    return NBCOLL_POST_DONE;
}

/* ---- what has come ----------------------------------------------------------------------------------------------- */

static void release_given(end *e)
{
    while (e->given) {
        message *m = e->given;
        e->given = m->next;
        message_free(m);
    }
}

/* It leaves the queue; its sender, if it waits for room, goes on. */
static message *dequeue(end *e, size_t i)
{
    message *m = e->queue[i];
    end *from = wire_end(e->storm, m->from);
    e->queue[i] = e->queue[--e->queued];
    from->under_way[e->base.rank]--;
    if (from->is_refused && e->storm->plan.is_patient)
        from->room_at = e->storm->now;
    if (from->is_refused)
        storm_ring(e->storm, m->from, e->storm->now);
    return m;
}

static int32_t wire_take(nbcoll_endpoint *ep, int peer, uint32_t channel, uint64_t turn, void *to, size_t bytes)
{
    end *e = end_of(ep);
    size_t first = SIZE_MAX;
    storm_step(e->storm, e->actor);
    if (storm_chance(e->storm, 50))
        return -2;
    for (size_t i = 0; i < e->queued; i++)
        if (e->queue[i]->from == peer && e->queue[i]->at <= e->storm->now &&
            (first == SIZE_MAX || e->queue[i]->at < e->queue[first]->at))
            first = i;
    if (first == SIZE_MAX)
        return -1;
    const message *m = e->queue[first];
    if (!m->is_line || m->as.line.channel != channel || m->as.line.bytes != bytes || (m->as.line.turn ^ turn) << 16)
        return -2;
    release_given(e);
    message *taken = dequeue(e, first);
    if (bytes)
        memcpy(to, taken->data, bytes);
    int32_t high = (int32_t)(taken->as.line.turn >> 48);
    storm_note(e->storm, ep->rank, NOTE_TAKEN, (uint64_t)peer, turn);
    taken->next = NULL;
    message_free(taken);
    return high;
}

static void deliver(end *e, nbcoll_completions *found)
{
    storm *s = e->storm;
    uint64_t most = storm_chance(s, 100) ? 1 + storm_random(s, 3) : 64;
    for (size_t i = 0; i < e->queued && most;) {
        if (e->queue[i]->at > s->now || storm_chance(s, 20)) {
            i++;
            continue;
        }
        message *m = dequeue(e, i);
        storm_note(s, e->base.rank, NOTE_ARRIVES, (uint64_t)m->from, m->is_line);
        if (m->is_line) {
            m->as.line.next = found->lines;
            found->lines = &m->as.line;
        } else {
            unsigned type = type_of(&m->as.arrival.header);
            met.next[e->last_type][type]++;
            e->last_type = type;
            storm_note(s, e->base.rank, NOTE_OF_TYPE, type, m->as.arrival.header.word[2]);
            m->as.arrival.next = found->arrived;
            found->arrived = &m->as.arrival;
        }
        m->next = e->given;
        e->given = m;
        most--;
    }
}

static void bring_back(end *e, nbcoll_completions *found)
{
    for (size_t i = 0; i < e->n_backs;) {
        back b = e->backs[i];
        if (b.at > e->storm->now && !e->storm->ends) {
            i++;
            continue;
        }
        e->backs[i] = e->backs[--e->n_backs];
        b.work->status = b.status;
        b.work->next = found->completed;
        found->completed = b.work;
        storm_note(e->storm, e->base.rank, NOTE_BACK, b.status, 0);
    }
}

static bool waits_from(const end *e, int peer)
{
    for (size_t i = 0; i < e->queued; i++)
        if (e->queue[i]->from == peer)
            return true;
    return false;
}

/* What the lost one has sent and was not seen is gone, and what it would still do. */
static void forget(end *e, int peer)
{
    struct wire *w = e->storm->wire;
    for (size_t i = 0; i < e->queued;)
        if (e->queue[i]->from == peer) {
            message *m = dequeue(e, i);
            message_free(m);
        } else
            i++;
    for (size_t i = 0; i < w->n_orders;) {
        order *o = &w->orders[i];
        if (o->end->base.rank == peer && o->peer == e->base.rank) {
            come_back(o->end, o->work, NBCOLL_ERR_PEER_LOST);
            *o = w->orders[--w->n_orders];
        } else if (o->end == e && o->peer == peer) {
            come_back(e, o->work, NBCOLL_ERR_PEER_LOST);
            *o = w->orders[--w->n_orders];
        } else
            i++;
    }
}

static void report(end *e, nbcoll_completions *found)
{
    storm *s = e->storm;
    for (int peer = 0; peer < e->base.ranks && found->lost < 0 && found->departed < 0; peer++) {
        end *other = wire_end(s, peer);
        if (e->has_seen[peer] || peer == e->base.rank)
            continue;
        if (s->ends || (other->is_gone && other->seen_at[e->base.rank] <= s->now)) {
            e->has_seen[peer] = true;
            forget(e, peer);
            found->lost = peer;
            storm_note(s, e->base.rank, NOTE_LOST, (uint64_t)peer, 0);
        } else if (other->is_closed && !other->is_gone && other->seen_at[e->base.rank] <= s->now &&
                   !waits_from(e, peer)) {
            e->has_seen[peer] = true;
            found->departed = peer;
            storm_note(s, e->base.rank, NOTE_DEPARTED, (uint64_t)peer, 0);
        }
    }
}

static void wire_progress(nbcoll_endpoint *ep, nbcoll_completions *found)
{
    end *e = end_of(ep);
    storm_step(e->storm, e->actor);
    ep->patient = 0;
    ep->busy = 0;
    e->is_armed = false;
    e->is_refused = false;
    e->room_at = NO_ROOM;
    release_given(e);
    carry_out_due(e->storm);
    deliver(e, found);
    report(e, found);
    bring_back(e, found);
}

static void wire_cancel(nbcoll_endpoint *ep, nbcoll_work *work)
{
    end *e = end_of(ep);
    struct wire *w = e->storm->wire;
    storm_not_in_tick(e->actor, "the transport's cancel");
    storm_step(e->storm, e->actor);
    storm_note(e->storm, ep->rank, NOTE_CANCEL, 0, 0);
    for (size_t i = 0; i < w->n_orders; i++) {
        order o = w->orders[i];
        if (o.work != work)
            continue;
        if (storm_chance(e->storm, 300)) /* too late */
            return;
        w->orders[i] = w->orders[--w->n_orders];
        if (o.kind == ORDER_POST && storm_chance(e->storm, 300)) /* it is delivered all the same */
            wire_send(e, o.peer, o.header, o.from, o.bytes);
        come_back(e, work, NBCOLL_ERR_CANCELLED);
        return;
    }
}

/* ---- ends -------------------------------------------------------------------------------------------------------- */

static void is_seen(end *e, uint64_t most)
{
    storm *s = e->storm;
    for (int r = 0; r < e->base.ranks; r++) {
        e->seen_at[r] = s->now + storm_random(s, most);
        storm_ring(s, r, e->seen_at[r]);
    }
    release_given(e);
    while (e->queued)
        message_free(dequeue(e, 0));
}

static void wire_close(nbcoll_endpoint *ep)
{
    end *e = end_of(ep);
    struct wire *w = e->storm->wire;
    storm_step(e->storm, e->actor);
    storm_note(e->storm, ep->rank, NOTE_CLOSE, 0, 0);
    for (size_t i = 0; i < w->n_orders; i++)
        if (w->orders[i].end == e)
            storm_find(e->storm, "rank %d closes its endpoint with work requests lent", ep->rank);
    if (e->n_backs)
        storm_find(e->storm, "rank %d closes its endpoint with work requests that have not come back", ep->rank);
    bulk_closes(e);
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
    end *e = end_of(ep);
    storm_step(e->storm, e->actor);
    storm_note(e->storm, ep->rank, NOTE_CLOSE, 1, 0);
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

void wire_dies(actor *a)
{
    end *e = a->end;
    struct wire *w = a->storm->wire;
    if (e->is_closed)
        return;
    e->is_gone = true;
    for (size_t i = 0; i < w->n_orders; i++)
        if (w->orders[i].end == e)
            w->orders[i].fails = storm_chance(a->storm, 500);
    for (int r = 0; r < e->base.ranks; r++) {
        e->seen_at[r] = a->storm->now + storm_random(a->storm, 50 * MILLISECOND);
        storm_ring(a->storm, r, e->seen_at[r]);
    }
}

uint64_t wire_next(const actor *a)
{
    const end *e = a->end;
    storm *s = a->storm;
    uint64_t next = s->wire->orders_due;
    if (e->is_closed)
        return UINT64_MAX;
    if (e->is_refused && e->room_at < next)
        next = e->room_at;
    for (size_t i = 0; i < e->queued; i++)
        next = e->queue[i]->at < next ? e->queue[i]->at : next;
    for (size_t i = 0; i < e->n_backs; i++)
        next = e->backs[i].at < next ? e->backs[i].at : next;
    for (int r = 0; r < e->base.ranks; r++) {
        const end *other = wire_end(s, r);
        if (!e->has_seen[r] && r != a->rank && (other->is_gone || (other->is_closed && !waits_from(e, r))) &&
            other->seen_at[a->rank] < next)
            next = other->seen_at[a->rank];
    }
    return s->ends ? s->now : next;
}

static int wire_fd(nbcoll_endpoint *ep)
{
    static int fd = -1;
    (void)ep;
    if (fd < 0)
        fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return fd;
}

static nbcoll_status wire_arm(nbcoll_endpoint *ep)
{
    end *e = end_of(ep);
    storm *s = e->storm;
    storm_step(s, e->actor);
    e->actor->rung_at = UINT64_MAX;
    if (s->ends || wire_next(e->actor) <= s->now || storm_chance(s, 50))
        return NBCOLL_AGAIN;
    e->is_armed = true;
    storm_note(s, ep->rank, NOTE_ARM, 0, 0);
    return NBCOLL_OK;
}

static void wire_reason(nbcoll_endpoint *ep, int peer, nbcoll_transport_error *out)
{
    (void)ep;
    *out = (nbcoll_transport_error){peer, "so the storm would have it"};
}

static const nbcoll_wakeup wakeup = {sizeof wakeup, wire_fd, wire_arm};
static const nbcoll_lines lines = {sizeof lines, wire_line, NULL}, lines_taken = {sizeof lines, wire_line, wire_take};

static nbcoll_limits limits_of(const plan *p)
{
    return (nbcoll_limits){.size = sizeof(nbcoll_limits),
                           .payload = p->payload,
                           .alpha_ns = 1000,
                           .beta_ps = 200,
                           .overhead_ns = 100,
                           .get_ns = (uint32_t)(p->seed % 3 * 800),
                           .put_ns = (uint32_t)(p->seed / 3 % 3 * 800),
                           .gamma_ps = 200,
                           .eager_ps = 200,
                           .key_bytes = p->groups & (HAS_GET | HAS_PUT) ? p->key_bytes : 0,
                           .channels = p->groups & HAS_LINES ? p->channels : 0,
                           .receives = p->groups & HAS_BOUND ? p->room : 0,
                           .ranks_per_core = (uint32_t)(p->seed / 9 % 3),
                           .shelf = p->shelf,
                           .copy_ps = 100};
}

void wire_make(storm *s)
{
    s->wire = calloc(1, sizeof *s->wire);
    s->wire->orders_due = UINT64_MAX;
}

void wire_open(actor *a)
{
    static nbcoll_bulk bulk;
    static nbcoll_shared shared;
    const plan *p = &a->storm->plan;
    end *e = calloc(1, sizeof *e);

    bulk = bulk_table(p);
    shared = shared_table(p);
    e->actor = a;
    e->storm = a->storm;
    e->table = (nbcoll_transport){.abi = NBCOLL_ABI,
                                  .size = sizeof e->table,
                                  .name = "storm",
                                  .post = wire_post,
                                  .progress = wire_progress,
                                  .cancel = wire_cancel,
                                  .close = wire_close,
                                  .abandon = wire_abandon,
                                  .give_up = bulk_give_up,
                                  .reason = wire_reason};
    e->table.bulk = p->groups & (HAS_GET | HAS_PUT) ? &bulk : NULL;
    e->table.shared = p->groups & HAS_SHARED ? &shared : NULL;
    if (p->ticks) /* but not cancel */
        e->table.signal_safe = NBCOLL_SAFE_POST | NBCOLL_SAFE_PROGRESS | NBCOLL_SAFE_BULK | NBCOLL_SAFE_WAKE |
                               NBCOLL_SAFE_LINES;
    e->table.wakeup = p->groups & HAS_WAKEUP ? &wakeup : NULL;
    if (p->groups & HAS_LINES)
        e->table.lines = p->groups & HAS_TAKE ? &lines_taken : &lines;
    e->base = (nbcoll_endpoint){.transport = &e->table, .rank = a->rank, .ranks = p->ranks, .limits = limits_of(p)};
    a->end = e;
}

nbcoll_endpoint *wire_endpoint(actor *a)
{
    return &a->end->base;
}

void wire_free(storm *s)
{
    for (int r = 0; r < s->plan.ranks; r++) {
        end *e = wire_end(s, r);
        release_given(e);
        while (e->queued)
            message_free(dequeue(e, 0));
    }
    for (int r = 0; r < s->plan.ranks; r++) {
        end *e = wire_end(s, r);
        free(e->queue);
        free(e->backs);
        if (!s->finding[0])
            free(e);
        free(s->wire->reserved[r]);
    }
    free(s->wire->orders);
    free(s->wire->registered);
    free(s->wire);
}
