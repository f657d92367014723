/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Registrations, gets, puts, and shared memory of a world. Where memory is registered, a key names an entry of a table,
 * and each get and put must find at both ends a registration that is alive, covers the bytes, and allows it: at the
 * post and when it is carried out. Elsewhere a key is address and length. */
#include <stdlib.h>
#include <string.h>

#include "wire.h"

static bool is_registered(const end *e)
{
    return !(e->net.groups & PLAIN_KEYS);
}

/* ---- registrations ----------------------------------------------------------------------------------------------- */

static nbcoll_key key_of(const end *e, uint64_t id)
{
    nbcoll_key key = {{id}};
    for (size_t i = 8; i < e->net.key_bytes && i < sizeof key; i++)
        ((unsigned char *)&key)[i] = (unsigned char)(mix(id, i) | 1);
    return key;
}

static nbcoll_status bulk_register(nbcoll_endpoint *ep, int address, void *memory, size_t bytes, uint32_t access,
                                   nbcoll_registration *out)
{
    end *e = (end *)ep;
    storm *s = e->storm;
    struct wire *w = s->wire;

    storm_step(s, e->actor);
    if (storm_fault(s, e->actor, FAULT_REGISTER, &e->actor->registers)) {
        storm_note(s, e->rank, NOTE_FAULT, FAULT_REGISTER, access);
        if (e->net.groups & HAS_SHARED)
            storm_cause(s, e->rank, BAD_KEY);
        return NBCOLL_ERR_MEMORY;
    }
    if (!memory || !bytes)
        storm_find(s, "rank %d registers nothing", e->rank);
    memset(out, 0, sizeof *out);
    if (!is_registered(e)) {
        out->key = (nbcoll_key){{(uintptr_t)memory, bytes}};
        return NBCOLL_OK;
    }
    w->registered = grown(w->registered, w->n_registered, &w->registered_room, sizeof *w->registered);
    w->registered[w->n_registered++] = (registered){e, memory, bytes, access, address < 0 ? -1 : e->who[address]};
    if (access & (NBCOLL_PEER_READS | NBCOLL_PEER_WRITES))
        out->key = key_of(e, w->n_registered);
    out->word[0] = w->n_registered;
    storm_note(s, e->rank, NOTE_REGISTER, w->n_registered, bytes << 8 | access);
    return NBCOLL_OK;
}

static registered *find(storm *s, uint64_t id, const end *owner)
{
    struct wire *w = s->wire;
    if (id < 1 || id > w->n_registered || w->registered[id - 1].end != owner)
        return NULL;
    return &w->registered[id - 1];
}

/* Does it lead to memory of one that has given up its rank, or was told that it is lost? */
static bool is_barred(const order *o)
{
    const end *there = wire_end(o->end, o->peer);
    int who = o->end->rank;
    return there->given_up[who] || (there->said_lost[who] && !there->touches[who]);
}

/* Nobody does any more whom its rank has given up. */
static bool uses(const order *o, uint64_t id, const end *e)
{
    bool is_here = o->end == e && o->local == id;
    bool is_there = wire_end(o->end, o->peer) == e && o->key.word[0] == id && !is_barred(o);
    return o->kind != ORDER_POST && (is_here || is_there);
}

static void bulk_deregister(nbcoll_endpoint *ep, nbcoll_registration *registration)
{
    end *e = (end *)ep;
    storm *s = e->storm;

    storm_step(s, e->actor);
    registered *r = find(s, registration->word[0], e);
    storm_note(s, e->rank, NOTE_UNREGISTER, registration->word[0], 0);
    if (!r) {
        storm_find(s, "rank %d ends a registration that it does not have", e->rank);
        return;
    }
    for (size_t i = 0; i < s->wire->n_orders; i++)
        if (uses(&s->wire->orders[i], registration->word[0], e))
            storm_find(s, "rank %d ends a registration that a get or put uses", e->rank);
    r->end = NULL;
}

void bulk_closes(end *e)
{
    struct wire *w = e->storm->wire;
    for (size_t i = 0; i < w->n_registered; i++)
        if (w->registered[i].end == e) {
            storm_find(e->storm,
                       "rank %d closes its endpoint with memory registered: %zu bytes, access %u, for rank %d, "
                       "as %zu",
                       e->rank, w->registered[i].bytes, w->registered[i].access, w->registered[i].peer, i + 1);
            w->registered[i].end = NULL;
        }
}

/* ---- gets and puts ----------------------------------------------------------------------------------------------- */

/* Where a key of `at` leads for another rank. */
static char *locate(const end *at, const nbcoll_key *key, int other, uint32_t access, size_t offset, size_t bytes)
{
    storm *s = at->storm;
    if (!is_registered(at)) {
        char *there = (char *)(uintptr_t)key->word[0];
        const unsigned char *memory = s->memory[at->number];
        size_t all = s->plan.net[at->number].quota * (size_t)s->plan.ranks;
        bool is_shared = memory && (unsigned char *)there - memory < (ptrdiff_t)all && (unsigned char *)there >= memory;
        bool is_in = there && offset <= key->word[1] && bytes <= key->word[1] - offset;
        return is_in && (is_shared || !at->is_closed) ? there + offset
                                                      : NULL; /* shared memory outlives its rank's end */
    }
    if (at->is_closed)
        return NULL;
    registered *r = find(s, key->word[0], at);
    nbcoll_key whole = key_of(at, key->word[0]);
    if (!r || memcmp(key, &whole, sizeof whole) != 0 || !(r->access & access) || (r->peer >= 0 && r->peer != other) ||
        offset > r->bytes || bytes > r->bytes - offset)
        return NULL;
    return r->memory + offset;
}

static bool covers(storm *s, end *e, uint64_t id, const char *memory, size_t bytes)
{
    registered *r = id ? find(s, id, e) : NULL;
    if (!id)
        return e->net.groups & ANY_LOCAL;
    return r && (r->access & NBCOLL_LOCAL_END) && memory >= r->memory && memory + bytes <= r->memory + r->bytes;
}

/* Something has gone that lets a key be stale; or, where the own end is right, what is taken for a key is a damaged
 * message's. */
static bool excuses(storm *s, const order *o)
{
    const char *here = o->kind == ORDER_GET ? o->to : o->from;
    return is_barred(o) || s->bad_anywhere & (BAD_DEAD | BAD_LEFT | BAD_DECLARED | BAD_MEMORY) ||
           (s->bad_anywhere & BAD_HEADER && covers(s, o->end, o->local, here, o->bytes));
}

static const char *what_is_wrong(storm *s, const order *o, char **there)
{
    const char *here = o->kind == ORDER_GET ? o->to : o->from;
    uint32_t access = o->kind == ORDER_GET ? NBCOLL_PEER_READS : NBCOLL_PEER_WRITES;
    if (!covers(s, o->end, o->local, here, o->bytes))
        return "whose own end is not registered";
    *there = locate(wire_end(o->end, o->peer), &o->key, o->end->rank, access, o->offset, o->bytes);
    return *there ? NULL : "whose other end is not registered";
}

nbcoll_status bulk_carry_out(storm *s, order *o)
{
    char *there;
    if (is_barred(o)) { /* of which it may learn by this first */
        storm_cause(s, o->peer, BAD_WIRE);
        return NBCOLL_ERR_TRANSPORT;
    }
    const char *wrong = what_is_wrong(s, o, &there);
    if (wrong) {
        if (!excuses(s, o))
            storm_find(s, "rank %d has a %s lent %s (any more)", o->end->rank, o->kind == ORDER_GET ? "get" : "put",
                       wrong);
        return NBCOLL_ERR_TRANSPORT;
    }
    if (o->kind == ORDER_GET) {
        judge_got(o->end->actor, &s->actor[o->peer], there);
        ways_got(o->end->actor, &s->actor[o->peer], there);
        memcpy(o->to, there, o->bytes);
    } else {
        memcpy(there, o->from, o->bytes);
        wire_send(o->end, o->peer, o->header, NULL, 0);
    }
    storm_note(s, o->end->rank, NOTE_COPIED, (uint64_t)o->peer, o->bytes);
    return NBCOLL_OK;
}

/* Is it one that cannot touch the memory of one end? */
static bool cannot_touch(end *e, order *o, uint64_t count)
{
    const fault *f = storm_fault(e->storm, e->actor, FAULT_TOUCHES, &count);
    if (!f)
        return false;
    storm_note(e->storm, e->rank, NOTE_FAULT, FAULT_TOUCHES, (uint64_t)o->peer);
    storm_cause(e->storm, f->late ? e->rank : o->peer, BAD_BUFFER);
    o->fails = f->late ? NBCOLL_ERR_BUFFER : NBCOLL_ERR_FAULT;
    return true;
}

static nbcoll_posted begin(end *e, order o, fault_kind kind, uint64_t *counter)
{
    storm *s = e->storm;
    int refused = wire_refuses(e, o.peer);
    char *there;

    o.end = e;
    if (refused >= 0)
        return (nbcoll_posted)refused;
    storm_note(s, e->rank, o.kind == ORDER_GET ? NOTE_GET : NOTE_PUT, (uint64_t)o.peer, o.bytes);
    if (cannot_touch(e, &o, *counter)) {
        ++*counter;
        return wire_lend(e, o);
    }
    const fault *f = storm_fault(s, e->actor, kind, counter);
    if (f) {
        storm_note(s, e->rank, NOTE_FAULT, kind, (uint64_t)o.peer);
        storm_cause(s, e->rank, BAD_WIRE);
        storm_cause(s, o.peer, BAD_WIRE);
        o.fails = NBCOLL_ERR_TRANSPORT;
        return f->late ? wire_lend(e, o) : NBCOLL_POST_FAILED;
    }
    if (wire_end(e, o.peer)->given_up[e->rank] || storm_chance(s, e->net.refused)) {
        wire_refused(e, wire_end(e, o.peer)->given_up[e->rank]);
        return NBCOLL_POST_NOT_NOW;
    }
    const char *wrong = what_is_wrong(s, &o, &there);
    if (wrong && !excuses(s, &o))
        storm_find(s, "rank %d posts a %s of %zu bytes %s", e->rank, o.kind == ORDER_GET ? "get" : "put", o.bytes,
                   wrong);
    if (wrong)
        return NBCOLL_POST_FAILED;
    if (storm_chance(s, e->net.lent))
        return wire_lend(e, o);
    return bulk_carry_out(s, &o) == NBCOLL_OK ? NBCOLL_POST_DONE : NBCOLL_POST_FAILED;
}

static nbcoll_posted bulk_get_(nbcoll_endpoint *ep, int address, const nbcoll_key *key, size_t offset,
                               const nbcoll_registration *local, void *to, size_t bytes, nbcoll_work *work)
{
    end *e = (end *)ep;
    return begin(e,
                 (order){.kind = ORDER_GET,
                         .peer = e->who[address],
                         .work = work,
                         .to = to,
                         .bytes = bytes,
                         .offset = offset,
                         .key = *key,
                         .local = local ? local->word[0] : 0},
                 FAULT_GET, &e->actor->gets);
}

static nbcoll_posted bulk_put_(nbcoll_endpoint *ep, int address, const nbcoll_key *key, size_t offset,
                               const nbcoll_registration *local, const void *from, size_t bytes,
                               const nbcoll_header *notice, nbcoll_work *work)
{
    end *e = (end *)ep;
    return begin(e,
                 (order){.kind = ORDER_PUT,
                         .peer = e->who[address],
                         .work = work,
                         .from = from,
                         .bytes = bytes,
                         .offset = offset,
                         .key = *key,
                         .local = local ? local->word[0] : 0,
                         .header = notice},
                 FAULT_PUT, &e->actor->puts);
}

static const void *bulk_view(nbcoll_endpoint *ep, int address, const nbcoll_key *key, size_t offset, size_t bytes)
{
    end *e = (end *)ep;
    storm *s = e->storm;
    storm_step(s, e->actor);
    const end *at = wire_end(e, e->who[address]);
    if (s->ends || at->given_up[e->rank])
        return NULL;
    const void *there = locate(at, key, e->rank, NBCOLL_PEER_READS, offset, bytes);
    judge_got(e->actor, at->actor, there);
    ways_got(e->actor, at->actor, there);
    return there;
}

void bulk_give_up(nbcoll_endpoint *ep, int address)
{
    end *e = (end *)ep;
    int peer = e->who[address];
    e->given_up[peer] = true;
    e->gave_up_at = e->storm->now;
    if (e->touches[peer]) {
        e->over_at[peer] = e->storm->now + storm_random(e->storm, SECOND);
        storm_ring(e->storm, e->rank, e->over_at[peer]);
    }
    e->touches[peer] = false;
    storm_note(e->storm, e->rank, NOTE_GIVEN_UP, (uint64_t)peer, (uint64_t)e->number);
}

int bulk_touches(nbcoll_endpoint *ep, int address)
{
    const end *e = (end *)ep;
    return e->touches[e->who[address]];
}

nbcoll_bulk bulk_table(const net *n)
{
    unsigned g = n->groups;
    return (nbcoll_bulk){.size = sizeof(nbcoll_bulk),
                         .flags =
                             (g & ANY_LOCAL ? NBCOLL_BULK_ANY_LOCAL : 0) | (g & PLAIN_KEYS ? NBCOLL_BULK_ONE_KEY : 0),
                         .register_memory = bulk_register,
                         .deregister_memory = g & PLAIN_KEYS ? NULL : bulk_deregister,
                         .get = g & HAS_GET ? bulk_get_ : NULL,
                         .put = g & HAS_PUT ? bulk_put_ : NULL,
                         .view = g & HAS_VIEW ? bulk_view : NULL};
}

/* ---- shared memory ----------------------------------------------------------------------------------------------- */

/* Memory is named by its place behind this. Before it was, the first place was 0, which names none: then the first
 * rank has cells nowhere. */
static uint64_t first_name(const storm *s)
{
    return s->plan.edition >= EDITION_OF_NAMES ? 128 : 0;
}

static nbcoll_status shared_reserve(nbcoll_endpoint *ep, size_t bytes, uint64_t *at)
{
    end *e = (end *)ep;
    storm *s = e->storm;
    reserved *list = s->wire->reserved[e->number][e->rank];
    size_t n = s->wire->n_reserved[e->number][e->rank], i = 0;
    size_t place = s->plan.net[e->number].quota * (size_t)e->rank, first = place;

    storm_step(s, e->actor);
    bytes = (bytes + 127) / 128 * 128;
    for (; i < n && list[i].at - place < bytes; i++)
        place = list[i].at + list[i].bytes;
    if (place + bytes > first + e->net.quota)
        return NBCOLL_ERR_MEMORY;
    list = realloc(list, (n + 1) * sizeof *list);
    memmove(list + i + 1, list + i, (n - i) * sizeof *list);
    list[i] = (reserved){place, bytes};
    s->wire->reserved[e->number][e->rank] = list;
    s->wire->n_reserved[e->number][e->rank] = n + 1;
    memset(s->memory[e->number] + place, 0, bytes);
    *at = place + first_name(s);
    storm_note(s, e->rank, NOTE_RESERVE, bytes, 0);
    return NBCOLL_OK;
}

static void shared_release(nbcoll_endpoint *ep, uint64_t at)
{
    end *e = (end *)ep;
    storm *s = e->storm;
    reserved *list = s->wire->reserved[e->number][e->rank];
    size_t n = s->wire->n_reserved[e->number][e->rank], i = 0;

    at -= first_name(s);
    while (i < n && list[i].at != at)
        i++;
    if (i == n) {
        storm_find(s, "rank %d releases shared memory that it has not reserved", e->rank);
        return;
    }
    storm_note(s, e->rank, NOTE_RELEASE, at, list[i].bytes);
    memset(s->memory[e->number] + at, 0xdb, list[i].bytes);
    memmove(list + i, list + i + 1, (n - i - 1) * sizeof *list);
    s->wire->n_reserved[e->number][e->rank] = n - 1;
}

static void *shared_map(nbcoll_endpoint *ep, uint64_t at, size_t bytes)
{
    const end *e = (const end *)ep;
    storm *s = e->storm;
    at -= first_name(s);
    size_t quota = s->plan.net[e->number].quota, all = quota * (size_t)s->plan.ranks;
    bool is_in = at < all && bytes <= all - at && wire_reaches(e, (int)(at / quota));
    return is_in ? s->memory[e->number] + at : NULL;
}

static void shared_wake(nbcoll_endpoint *ep, int address)
{
    end *e = (end *)ep;
    storm *s = e->storm;
    storm_step(s, e->actor);
    storm_note(s, e->rank, NOTE_WAKE, (uint64_t)(address < 0 ? -1 : e->who[address]), 0);
    for (int k = 0; k < ep->ranks; k++)
        if (k != ep->rank && (address < 0 || k == address))
            storm_ring(s, e->who[k], s->now + storm_random(s, 2 * MICROSECOND));
}

static void shared_copy_in(nbcoll_endpoint *ep, int address, void *to, const void *from, size_t bytes)
{
    const end *e = (const end *)ep;
    storm_step(e->storm, e->actor);
    judge_copied(e->actor, address < 0 ? -1 : e->who[address], from, e->net.part);
    ways_copied(e->actor, address < 0 ? -1 : e->who[address], from, bytes);
    memcpy(to, from, bytes);
}

static size_t shared_part(nbcoll_endpoint *ep)
{
    return ((const end *)ep)->net.part;
}

/* In earlier editions that does not say which parts are worth copies. */
const nbcoll_shared wire_shared_of_all = {.size = sizeof wire_shared,
                                          .reserve = shared_reserve,
                                          .release = shared_release,
                                          .map = shared_map,
                                          .wake = shared_wake};
const nbcoll_shared wire_shared = {.size = sizeof wire_shared,
                                   .reserve = shared_reserve,
                                   .release = shared_release,
                                   .map = shared_map,
                                   .wake = shared_wake,
                                   .copy_in = shared_copy_in,
                                   .staging_part = shared_part};
