/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The transport of a world. A message is seen by its receiver some time after its post, each after a time of its own,
 * so that they overtake each other; posts are answered NOT_NOW, or are lent and carried out later: what was lent must
 * be the same then. What the core has been given is garbage after the next progress. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "wire.h"

static message *unused; /* short ones */
#define SHORT 512

static message *message_make(size_t bytes)
{
    message *m = unused;
    if (bytes <= SHORT && m)
        unused = m->next;
    else
        m = malloc(sizeof(message) + (bytes <= SHORT ? SHORT : bytes));
    m->cut = NULL;
    return m;
}

#define PAGE ((size_t)4096)

static size_t pages_of(size_t bytes)
{
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

/* It ends where the memory does, so that whoever reads behind it is found out. */
static void cut_short(storm *s, message *m)
{
    nbcoll_arrival *a = &m->as.arrival;
    size_t bytes = storm_random(s, a->bytes) / 8 * 8, pages = pages_of(bytes);
    unsigned char *at = mmap(NULL, pages + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return;
    mprotect(at + pages, PAGE, PROT_NONE);
    memcpy(at + pages - bytes, m->data, bytes);
    m->cut = at;
    a->payload = at + pages - bytes;
    a->bytes = bytes;
}

static void message_free(message *m)
{
    size_t bytes = m->is_line ? m->as.line.bytes : m->as.arrival.bytes;
    if (m->cut)
        munmap(m->cut, pages_of(bytes) + PAGE);
    memset(&m->as, 0xdb, sizeof m->as);
    if (m->cut || bytes > SHORT) {
        free(m);
        return;
    }
    memset(m->data, 0xdb, bytes);
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

end *wire_end(const end *e, int rank)
{
    return e->storm->actor[rank].end[e->number];
}

bool wire_reaches(const end *e, int rank)
{
    return e->net.at[rank].group == e->net.at[e->rank].group;
}

static end *end_of(nbcoll_endpoint *ep)
{
    return (end *)ep;
}

unsigned wire_type(const nbcoll_header *header)
{
    return (header->word[3] >> 48) % TYPES;
}

unsigned wire_comes(actor *a, unsigned last, const nbcoll_header *header)
{
    unsigned type = wire_type(header);
    met.next[last][type]++;
    a->data += type == TYPE_OF_DATA;
    return type;
}

/* A peer as the log names it: on the net of a node with 256 more. */
static uint64_t named(const end *e, int peer)
{
    return (uint64_t)(256 * e->number + peer);
}

/* ---- on the way -------------------------------------------------------------------------------------------------- */

static uint64_t delay(const end *e)
{
    storm *s = e->storm;
    if (storm_chance(s, e->net.far))
        return storm_random(s, storm_chance(s, 100) ? 200 * MILLISECOND : MILLISECOND);
    return storm_random(s, 2 * MICROSECOND);
}

static void enqueue(end *to, message *m)
{
    storm *s = to->storm;
    m->at = s->now + delay(to);
    to->queue = grown(to->queue, to->queued, &to->queue_room, sizeof *to->queue);
    to->queue[to->queued++] = m;
    wire_end(to, m->from)->under_way[to->rank]++;
    storm_ring(s, to->rank, m->at);
}

static bool is_heard(const end *to)
{
    return !to->is_closed && !to->is_gone;
}

bool wire_damage(actor *a, nbcoll_header *header)
{
    storm *s = a->storm;
    uint64_t garbled = a->sent;
    if (storm_fault(s, a, FAULT_GARBLES, &garbled)) {
        storm_note(s, a->rank, NOTE_FAULT, FAULT_GARBLES, wire_type(header));
        storm_cause(s, a->rank, BAD_DECLARED);
        header->word[3] |= UINT64_C(0xff) << 48;
    }
    if (!storm_fault(s, a, FAULT_DAMAGE, &a->sent))
        return false;
    unsigned char *at = (unsigned char *)header + storm_random(s, sizeof *header);
    *at = (unsigned char)(storm_chance(s, 500) ? *at ^ 1u << storm_random(s, 8) : storm_random(s, 256));
    storm_note(s, a->rank, NOTE_FAULT, FAULT_DAMAGE, (uint64_t)(at - (unsigned char *)header));
    storm_cause(s, a->rank, BAD_HEADER);
    met.answered[wire_type(header)][3]++;
    return true;
}

void wire_send(end *e, int peer, const nbcoll_header *header, const void *payload, size_t bytes)
{
    end *to = wire_end(e, peer);
    judge_says(e->actor, peer, header);
    if (!is_heard(to) || to->has_seen[e->rank])
        return;
    message *m = message_make(bytes);
    m->is_line = false;
    m->from = e->rank;
    m->as.arrival = (nbcoll_arrival){NULL, e->base.rank, *header, m->data, bytes};
    if (bytes)
        memcpy(m->data, payload, bytes);
    bool is_damaged = wire_damage(e->actor, &m->as.arrival.header);
    if (is_damaged && bytes && e->storm->plan.edition >= EDITION_OF_ENDS && storm_chance(e->storm, 500))
        cut_short(e->storm, m);
    enqueue(to, m);
}

static void come_back(end *e, nbcoll_work *work, nbcoll_status status)
{
    storm *s = e->storm;
    e->backs = grown(e->backs, e->n_backs, &e->backs_room, sizeof *e->backs);
    e->backs[e->n_backs++] = (back){work, status, s->now + (storm_chance(s, 500) ? 0 : delay(e))};
    storm_ring(s, e->rank, e->backs[e->n_backs - 1].at);
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
    o.at = s->now + delay(e);
    o.work->next = (nbcoll_work *)(uintptr_t)0xdbdbdbd0; /* the transport's while it is lent */
    memset(o.work->scratch, 0xdb, sizeof o.work->scratch);
    w->orders = grown(w->orders, w->n_orders, &w->orders_room, sizeof *w->orders);
    w->orders[w->n_orders++] = o;
    if (o.at < w->orders_due)
        w->orders_due = o.at;
    storm_ring(s, e->rank, o.at);
    storm_ring(s, o.peer, o.at);
    storm_note(s, e->rank, NOTE_IN_FLIGHT, (uint64_t)o.peer, o.bytes);
    return NBCOLL_POST_IN_FLIGHT;
}

static bool lies_in(const void *at, const void *memory, size_t bytes)
{
    return (uintptr_t)at - (uintptr_t)memory < bytes;
}

/* Also of one that abandons its context: they never come back, and stay as they are (transport.h). */
void judge_freed(actor *a, const void *memory, size_t bytes)
{
    const struct wire *w = a->storm->wire;
    if (a->storm->plan.is_over || a->is_dead || a->storm->ends)
        return;
    for (size_t i = 0; i < w->n_orders; i++) {
        const order *o = &w->orders[i];
        if (o->end->actor == a && (lies_in(o->work, memory, bytes) || lies_in(o->header, memory, bytes) ||
                                   lies_in(o->kind == ORDER_GET ? o->to : o->from, memory, bytes)))
            storm_find(a->storm, "rank %d frees %zu bytes that its transport holds", a->rank, bytes);
    }
    for (int n = 0; n < a->storm->plan.nets; n++)
        for (size_t i = 0; a->end[n] && i < a->end[n]->n_backs; i++)
            if (lies_in(a->end[n]->backs[i].work, memory, bytes))
                storm_find(a->storm, "rank %d frees a work request that has not come back", a->rank);
}

/* How it ends. */
static nbcoll_status carry_out(storm *s, order *o)
{
    if ((s->ends && o->peer != o->end->rank) || o->end->has_seen[o->peer])
        return o->kind != ORDER_GET && wire_end(o->end, o->peer)->is_closed ? NBCOLL_OK : NBCOLL_ERR_PEER_LOST;
    if (o->fails)
        return o->fails;
    if (sum_of(o) != o->sum)
        storm_find(s, "rank %d has changed what it had lent to a %s", o->end->rank,
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
    uint64_t at = is_full ? NO_ROOM : e->storm->now + delay(e);
    if (!e->is_refused || at < e->room_at)
        e->room_at = at;
    e->is_refused = true;
    storm_note(e->storm, e->rank, NOTE_REFUSED, is_full, 0);
}

/* Of one that is gone: what it would still do here it does not. */
static void touches_no_more(const end *e, end *gone)
{
    struct wire *w = e->storm->wire;
    if (e->touches[gone->rank])
        return;
    for (size_t i = 0; i < w->n_orders;) {
        order *o = &w->orders[i];
        if (o->kind != ORDER_POST && o->end == gone && wire_end(gone, o->peer) == e) {
            come_back(gone, o->work, NBCOLL_ERR_PEER_LOST);
            *o = w->orders[--w->n_orders];
        } else
            i++;
    }
}

/* Dead, or cut off from this one. */
static bool is_lost(const end *e, int peer)
{
    return wire_end(e, peer)->is_gone || (e->lost_at[peer] && e->lost_at[peer] <= e->storm->now);
}

/* A loss is mutual (transport.h): the peer, which lives, is told some time later. This rank may have the answer only.
 */
static void loses(end *e, end *peer)
{
    storm *s = e->storm;
    e->said_lost[peer->rank] = true;
    if (s->plan.edition < EDITION_OF_LOSSES || e->lost_at[peer->rank])
        return;
    e->touches[peer->rank] = storm_chance(s, 500);
    e->lost_at[peer->rank] =
        e->touches[peer->rank] || storm_chance(s, 500) ? s->now + storm_random(s, SECOND) : UINT64_MAX;
    peer->lost_at[e->rank] = s->now + storm_random(s, storm_chance(s, 500) ? 5 * MILLISECOND : SECOND);
    s->last_cause = s->last_cause < s->now + SECOND ? s->now + SECOND : s->last_cause;
    storm_ring(s, e->rank, e->lost_at[peer->rank]);
    storm_ring(s, peer->rank, peer->lost_at[e->rank]);
}

int wire_refuses(end *e, int peer)
{
    storm *s = e->storm;
    end *to = wire_end(e, peer);
    storm_step(s, e->actor);
    if (peer == e->rank)
        return -1;
    bool has_said = e->lost_at[peer] && e->said_lost[peer];
    if (s->ends || has_said || (is_lost(e, peer) && (e->has_seen[peer] || storm_chance(s, 300)))) {
        touches_no_more(e, to);
        e->said_lost[peer] |= !to->is_gone;
        return NBCOLL_POST_LOST;
    }
    const fault *f = storm_fault(s, e->actor, FAULT_POST, &e->actor->posts);
    if (f) {
        storm_note(s, e->rank, NOTE_FAULT, FAULT_POST, (uint64_t)peer);
        storm_cause(s, e->rank, BAD_WIRE);
        storm_cause(s, peer, BAD_WIRE);
        if (!f->late)
            loses(e, to);
        return f->late ? NBCOLL_POST_FAILED : NBCOLL_POST_LOST;
    }
    return -1;
}

/* Says so to the core where it has none. */
static bool has_room(end *e, int peer)
{
    storm *s = e->storm;
    bool is_full = e->under_way[peer] >= e->net.room;
    if (!is_heard(wire_end(e, peer)) || (!is_full && !storm_chance(s, e->net.refused)))
        return true;
    wire_refused(e, is_full);
    return false;
}

static nbcoll_posted wire_post(nbcoll_endpoint *ep, int address, const nbcoll_header *header, const void *payload,
                               size_t bytes, nbcoll_work *work)
{
    end *e = end_of(ep);
    storm *s = e->storm;
    int peer = e->who[address], refused = wire_refuses(e, peer);
    ways_asked(e->actor, header);
    if (bytes > ep->limits.payload)
        storm_find(s, "rank %d posts %zu bytes, more than the limit", e->rank, bytes);
    if (refused == NBCOLL_POST_FAILED && s->plan.edition >= EDITION_OF_LOSSES && storm_chance(s, 500))
        return wire_lend(e, (order){.kind = ORDER_POST,
                                    .peer = peer,
                                    .work = work,
                                    .header = header,
                                    .from = payload,
                                    .bytes = bytes,
                                    .fails = NBCOLL_ERR_TRANSPORT}); /* it is not delivered (transport.h) */
    if (refused >= 0)
        return (nbcoll_posted)refused;
    if (!has_room(e, peer)) {
        met.answered[wire_type(header)][2]++;
        return NBCOLL_POST_NOT_NOW;
    }
    bool is_lent = storm_chance(s, e->net.lent);
    met.answered[wire_type(header)][is_lent]++;
    storm_note(s, e->rank, NOTE_POST, named(e, peer), wire_type(header));
    if (is_lent)
        return wire_lend(
            e,
            (order){.kind = ORDER_POST, .peer = peer, .work = work, .header = header, .from = payload, .bytes = bytes});
    wire_send(e, peer, header, payload, bytes);
    return NBCOLL_POST_DONE;
}

static nbcoll_posted wire_line(nbcoll_endpoint *ep, int address, uint32_t channel, uint64_t turn, const void *payload,
                               size_t bytes)
{
    end *e = end_of(ep);
    int peer = e->who[address];
    end *to = wire_end(e, peer);
    int refused = wire_refuses(e, peer);
    if (refused >= 0)
        return (nbcoll_posted)refused;
    if (channel >= ep->limits.channels || bytes > NBCOLL_LINE_PAYLOAD)
        storm_find(e->storm, "rank %d posts a line on channel %u of %zu bytes", e->rank, channel, bytes);
    if (!has_room(e, peer))
        return NBCOLL_POST_NOT_NOW;
    storm_note(e->storm, e->rank, NOTE_LINE, named(e, peer), turn);
    if (!is_heard(to) || to->has_seen[e->rank])
        return NBCOLL_POST_DONE;
    message *m = message_make(NBCOLL_LINE_PAYLOAD);
    m->is_line = true;
    m->from = e->rank;
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
    end *from = wire_end(e, m->from);
    e->queue[i] = e->queue[--e->queued];
    from->under_way[e->rank]--;
    if (from->is_refused && e->storm->plan.is_patient)
        from->room_at = e->storm->now;
    if (from->is_refused)
        storm_ring(e->storm, m->from, e->storm->now);
    return m;
}

void wire_clear(end *e)
{
    release_given(e);
    while (e->queued)
        message_free(dequeue(e, 0));
}

static int32_t wire_take(nbcoll_endpoint *ep, int address, uint32_t channel, uint64_t turn, void *to, size_t bytes)
{
    end *e = end_of(ep);
    int peer = e->who[address];
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
    storm_note(e->storm, e->rank, NOTE_TAKEN, named(e, peer), turn);
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
        storm_note(s, e->rank, NOTE_ARRIVES, named(e, m->from), m->is_line);
        if (m->is_line) {
            m->as.line.next = found->lines;
            found->lines = &m->as.line;
        } else {
            e->last_type = wire_comes(e->actor, e->last_type, &m->as.arrival.header);
            judge_heard(e->actor, m->from, &m->as.arrival.header);
            storm_note(s, e->rank, NOTE_OF_TYPE, e->last_type, m->as.arrival.header.word[2]);
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
        storm_note(e->storm, e->rank, NOTE_BACK, b.status, 0);
    }
}

bool wire_waits_from(const end *e, int peer)
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
        if (o->end == wire_end(e, peer) && o->peer == e->rank && (o->kind == ORDER_POST || !e->touches[peer])) {
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
    for (int peer = 0; peer < e->storm->plan.ranks && found->lost < 0 && found->departed < 0; peer++) {
        end *other = wire_end(e, peer);
        if (e->over_at[peer] && e->over_at[peer] <= s->now && e->has_seen[peer]) {
            e->over_at[peer] = 0;
            found->lost = e->net.at[peer].rank;
        }
        if (e->has_seen[peer] || peer == e->rank || !wire_reaches(e, peer))
            continue;
        if (s->ends || (other->is_gone ? other->seen_at[e->rank] <= s->now : is_lost(e, peer))) {
            e->has_seen[peer] = true;
            forget(e, peer);
            found->lost = e->net.at[peer].rank;
            storm_note(s, e->rank, NOTE_LOST, named(e, peer), 0);
        } else if (other->is_closed && !other->is_gone && other->seen_at[e->rank] <= s->now &&
                   !wire_waits_from(e, peer)) {
            e->has_seen[peer] = true;
            found->departed = e->net.at[peer].rank;
            storm_note(s, e->rank, NOTE_DEPARTED, named(e, peer), 0);
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
    if (found->lines || found->arrived || found->completed)
        system_has_found(e->storm);
}

static void wire_cancel(nbcoll_endpoint *ep, nbcoll_work *work)
{
    end *e = end_of(ep);
    struct wire *w = e->storm->wire;
    storm_not_in_tick(e->actor, "the transport's cancel");
    storm_step(e->storm, e->actor);
    storm_note(e->storm, e->rank, NOTE_CANCEL, 0, 0);
    for (size_t i = 0; i < w->n_orders; i++) {
        order o = w->orders[i];
        if (o.work != work)
            continue;
        if (storm_chance(e->storm, 300)) /* too late */
            return;
        w->orders[i] = w->orders[--w->n_orders];
        if (o.kind == ORDER_POST)
            judge_says(e->actor, o.peer, o.header);
        if (o.kind == ORDER_POST && storm_chance(e->storm, 300)) /* it is delivered all the same */
            wire_send(e, o.peer, o.header, o.from, o.bytes);
        come_back(e, work, NBCOLL_ERR_CANCELLED);
        return;
    }
}

const nbcoll_transport wire_calls = {.post = wire_post, .progress = wire_progress, .cancel = wire_cancel};
const nbcoll_lines wire_lines = {sizeof wire_lines, wire_line, NULL, 0};
const nbcoll_lines wire_lines_taken = {sizeof wire_lines_taken, wire_line, wire_take, 0};
