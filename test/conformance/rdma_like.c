/* SPDX-License-Identifier: BSD-3-Clause
 * See rdma_like.h. What ranks share is behind one mutex: it is a test's transport. */
#include "rdma_like.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/wrap/wrapper.h"

enum { KEY_BYTES = 48, MOST = 4096, POSTS = 4, LINES = 8, RECEIVES = 3, POST = 0, GET, PUT };

struct registration {
    uint64_t key[KEY_BYTES / 8]; /* all zero: the place is free */
    char *memory;
    size_t bytes;
    uint32_t access;
    int rank, peer, uses; /* gets and puts under way */
    bool ended;           /* with its rank */
};

struct rdma_like {
    pthread_mutex_t lock;
    uint32_t variant;
    uint64_t random;
    rdma_like_count count;
    unsigned char given_up[64][64];
    struct registration table[MOST];
};

/* Work under way, in the order of the posts. */
struct order {
    struct order *next;
    nbcoll_work *work;
    int what, peer;
    bool cancelled, written;
    const nbcoll_header *header;
    const void *payload; /* or this rank's end */
    size_t bytes, offset;
    const nbcoll_key *key;
    struct registration *mine, *theirs;
};

struct end {
    nbcolli_wrapper wrap;
    rdma_like *world;
    struct order *first, **last, *spare;
    int under_way[64];
    int lines; /* posted since the last progress, which takes back their places in the send queue */
    bool untried; /* something came since the last progress */
    struct order orders[];
};

static struct end *end_of(nbcoll_endpoint *ep)
{
    return (struct end *)(void *)ep;
}

static uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    return z ^ z >> 27;
}

/* ---- registrations ----------------------------------------------------------------------------------------------- */

static nbcoll_status register_memory(nbcoll_endpoint *ep, int peer, void *memory, size_t bytes, uint32_t access,
                                     nbcoll_registration *out)
{
    rdma_like *w = end_of(ep)->world;
    nbcoll_status s = NBCOLL_ERR_MEMORY;
    pthread_mutex_lock(&w->lock);
    for (size_t i = 1; i < MOST && s != NBCOLL_OK; i++) {
        struct registration *r = &w->table[i];
        if (r->memory)
            continue;
        *r = (struct registration){.memory = memory, .bytes = bytes, .access = access, .rank = ep->rank, .peer = peer};
        for (size_t k = 0; k < KEY_BYTES / 8; k++)
            r->key[k] = next_random(&w->random) | 1;
        memset(out, 0xee, sizeof *out); /* what is behind the used part of a key is nobody's business */
        memcpy(&out->key, r->key, KEY_BYTES);
        out->word[0] = i;
        w->count.registered++;
        s = NBCOLL_OK;
    }
    pthread_mutex_unlock(&w->lock);
    return s;
}

static void deregister_memory(nbcoll_endpoint *ep, nbcoll_registration *registration)
{
    rdma_like *w = end_of(ep)->world;
    pthread_mutex_lock(&w->lock);
    struct registration *r = &w->table[registration->word[0] % MOST];
    if (!r->memory || r->rank != ep->rank || r->uses || memcmp(r->key, &registration->key, KEY_BYTES) != 0)
        w->count.bad_deregister++;
    r->memory = NULL;
    w->count.registered--;
    pthread_mutex_unlock(&w->lock);
}

/* This rank's end, or null. */
static struct registration *find_local(struct end *e, int peer, const nbcoll_registration *local, const void *at,
                                       size_t bytes)
{
    struct registration *r = local ? &e->world->table[local->word[0] % MOST] : NULL;
    size_t offset = r ? (size_t)((const char *)at - r->memory) : 0;
    if (r && r->memory && r->rank == e->wrap.base.rank && (r->peer == peer || r->peer < 0) &&
        r->access & NBCOLL_LOCAL_END && offset <= r->bytes && bytes <= r->bytes - offset)
        return r;
    e->world->count.bad_local++;
    return NULL;
}

/* What a peer has registered for this rank, or null. */
static struct registration *find_remote(struct end *e, int peer, const nbcoll_key *key, uint32_t access, size_t offset,
                                        size_t bytes)
{
    for (size_t i = 1; i < MOST; i++) {
        struct registration *r = &e->world->table[i];
        if (r->memory && memcmp(r->key, key, KEY_BYTES) == 0 && r->rank == peer && r->access & access &&
            (r->peer == e->wrap.base.rank || r->peer < 0) && offset <= r->bytes && bytes <= r->bytes - offset)
            return r;
    }
    e->world->count.bad_key++;
    return NULL;
}

/* ---- posts ------------------------------------------------------------------------------------------------------- */

static nbcoll_posted add(struct end *e, struct order o)
{
    struct order *free_one = e->spare;
    if (o.peer < 0 || o.peer >= e->wrap.base.ranks)
        return NBCOLL_POST_FAILED;
    if (e->under_way[o.peer] == POSTS)
        return NBCOLL_POST_NOT_NOW;
    e->under_way[o.peer]++;
    e->spare = free_one->next;
    *free_one = o;
    free_one->next = NULL;
    *e->last = free_one;
    e->last = &free_one->next;
    e->untried = true;
    return NBCOLL_POST_IN_FLIGHT;
}

static nbcoll_posted post(nbcoll_endpoint *ep, int peer, const nbcoll_header *header, const void *payload, size_t bytes,
                          nbcoll_work *work)
{
    return add(
        end_of(ep),
        (struct order){.work = work, .what = POST, .peer = peer, .header = header, .payload = payload, .bytes = bytes});
}

static nbcoll_posted copy(nbcoll_endpoint *ep, struct order o, const nbcoll_registration *local)
{
    struct end *e = end_of(ep);
    rdma_like *w = e->world;
    nbcoll_posted said = NBCOLL_POST_FAILED;
    pthread_mutex_lock(&w->lock);
    o.mine = find_local(e, o.peer, local, o.payload, o.bytes);
    o.theirs = find_remote(e, o.peer, o.key, o.what == GET ? NBCOLL_PEER_READS : NBCOLL_PEER_WRITES, o.offset, o.bytes);
    if (o.mine && o.theirs)
        said = o.theirs->ended ? NBCOLL_POST_LOST : add(e, o);
    if (said == NBCOLL_POST_IN_FLIGHT) {
        o.mine->uses++;
        o.theirs->uses++;
        *(o.what == GET ? &w->count.gets : &w->count.puts) += 1;
    }
    pthread_mutex_unlock(&w->lock);
    return said;
}

static nbcoll_posted get(nbcoll_endpoint *ep, int peer, const nbcoll_key *key, size_t offset,
                         const nbcoll_registration *local, void *to, size_t bytes, nbcoll_work *work)
{
    return copy(
        ep,
        (struct order){
            .work = work, .what = GET, .peer = peer, .key = key, .offset = offset, .payload = to, .bytes = bytes},
        local);
}

static nbcoll_posted put(nbcoll_endpoint *ep, int peer, const nbcoll_key *key, size_t offset,
                         const nbcoll_registration *local, const void *from, size_t bytes, const nbcoll_header *notice,
                         nbcoll_work *work)
{
    return copy(ep,
                (struct order){.work = work,
                               .what = PUT,
                               .peer = peer,
                               .key = key,
                               .offset = offset,
                               .payload = from,
                               .bytes = bytes,
                               .header = notice},
                local);
}

/* ---- progress ---------------------------------------------------------------------------------------------------- */

/* Moves the bytes; afterwards neither end is in use any more. */
static nbcoll_posted move_bytes(struct end *e, struct order *o)
{
    rdma_like *w = e->world;
    pthread_mutex_lock(&w->lock);
    bool may = !w->given_up[o->peer][e->wrap.base.rank] || o->cancelled;
    if (may) {
        char *there = o->theirs->memory + o->offset;
        if (!o->cancelled && o->what == GET)
            memcpy((void *)(uintptr_t)o->payload, there, o->bytes);
        else if (!o->cancelled)
            memcpy(there, o->payload, o->bytes);
        o->mine->uses--;
        o->theirs->uses--;
        o->written = true;
    }
    pthread_mutex_unlock(&w->lock);
    return may ? NBCOLL_POST_DONE : NBCOLL_POST_NOT_NOW;
}

static nbcoll_posted carry_out(struct end *e, struct order *o)
{
    nbcoll_posted said = NBCOLL_POST_DONE;
    if (o->what != POST && !o->written)
        said = move_bytes(e, o);
    if (said == NBCOLL_POST_DONE && o->what != GET && !o->cancelled)
        said = e->wrap.call.post(e->wrap.inner, o->peer, o->header, o->what == POST ? o->payload : NULL,
                                 o->what == POST ? o->bytes : 0, o->work);
    return said;
}

static void progress(nbcoll_endpoint *ep, nbcoll_completions *found)
{
    struct end *e = end_of(ep);
    struct order *o = e->first, *next;
    e->wrap.call.progress(e->wrap.inner, found);
    e->first = NULL;
    e->last = &e->first;
    e->untried = false;
    e->lines = 0;
    for (; o; o = next) {
        nbcoll_posted said = carry_out(e, o);
        next = o->next;
        if (said == NBCOLL_POST_NOT_NOW) {
            o->next = NULL;
            *e->last = o;
            e->last = &o->next;
            continue;
        }
        o->work->status = o->cancelled               ? NBCOLL_ERR_CANCELLED
                          : said == NBCOLL_POST_DONE ? NBCOLL_OK
                                                     : NBCOLL_ERR_TRANSPORT;
        o->work->next = found->completed;
        found->completed = o->work;
        e->under_way[o->peer]--;
        o->next = e->spare;
        e->spare = o;
    }
}

static void cancel(nbcoll_endpoint *ep, nbcoll_work *work)
{
    for (struct order *o = end_of(ep)->first; o; o = o->next)
        if (o->work == work)
            o->cancelled = end_of(ep)->untried = true;
}

/* ---- the rest ---------------------------------------------------------------------------------------------------- */

/* What it had under way and registered ends with it; who is reading there just now finds the memory as it was. */
static void abandon(nbcoll_endpoint *ep)
{
    struct end *e = end_of(ep);
    rdma_like *w = e->world;
    pthread_mutex_lock(&w->lock);
    for (struct order *o = e->first; o; o = o->next)
        if (o->what != POST && !o->written) {
            o->mine->uses--;
            o->theirs->uses--;
        }
    for (size_t i = 1; i < MOST; i++)
        if (w->table[i].memory && w->table[i].rank == ep->rank && !w->table[i].ended) {
            w->table[i].ended = true; /* its place is not used again */
            w->count.registered--;
        }
    pthread_mutex_unlock(&w->lock);
    nbcolli_wrapper_abandon(ep);
}

static void give_up(nbcoll_endpoint *ep, int peer)
{
    struct end *e = end_of(ep);
    pthread_mutex_lock(&e->world->lock);
    e->world->given_up[ep->rank][peer] = 1;
    pthread_mutex_unlock(&e->world->lock);
    e->wrap.call.give_up(e->wrap.inner, peer);
}

/* Only our own progress carries out what is under way; for what has no room the inner one wakes. */
static nbcoll_status arm(nbcoll_endpoint *ep)
{
    struct end *e = end_of(ep);
    return e->untried ? NBCOLL_AGAIN : e->wrap.inner_wakeup.arm(e->wrap.inner);
}

static nbcoll_posted line(nbcoll_endpoint *ep, int peer, uint32_t channel, uint64_t turn, const void *payload,
                          size_t bytes)
{
    struct end *e = end_of(ep);
    if (channel >= ep->limits.channels || bytes > NBCOLL_LINE_PAYLOAD)
        return NBCOLL_POST_FAILED;
    if (e->lines == LINES) {
        e->untried = true;
        return NBCOLL_POST_NOT_NOW;
    }
    nbcoll_posted said = e->wrap.inner_lines.post(e->wrap.inner, peer, channel, turn, payload, bytes);
    e->lines += said == NBCOLL_POST_DONE;
    return said;
}

/* Neighbours of even distance have more room, and put cheaply; the others get. */
static void peer_limits(nbcoll_endpoint *ep, int peer, nbcoll_limits *out)
{
    int is_even = (ep->rank - peer) % 2 == 0;
    out->payload += is_even ? 512 : 0;
    out->price.get_ns = is_even ? 2000 : 500;
    out->price.put_ns = 1000;
}

static void reason(nbcoll_endpoint *ep, int peer, nbcoll_transport_error *out)
{
    (void)ep;
    (void)peer;
    *out = (nbcoll_transport_error){12, "rdma_like: the queue pair is in error"};
}

rdma_like *rdma_like_make(uint32_t variant)
{
    rdma_like *w = calloc(1, sizeof *w);
    if (w) {
        pthread_mutex_init(&w->lock, NULL);
        w->variant = variant;
        w->random = 1;
    }
    return w;
}

void rdma_like_vary(rdma_like *w, uint32_t variant)
{
    w->variant = variant;
}

rdma_like_count rdma_like_counted(rdma_like *w)
{
    pthread_mutex_lock(&w->lock);
    rdma_like_count c = w->count;
    pthread_mutex_unlock(&w->lock);
    return c;
}

void rdma_like_free(rdma_like *w)
{
    if (w)
        pthread_mutex_destroy(&w->lock);
    free(w);
}

nbcoll_endpoint *rdma_like_open(rdma_like *world, nbcoll_endpoint *inner)
{
    size_t orders = (size_t)inner->ranks * POSTS;
    nbcolli_wrapper *w;
    if (nbcolli_wrapper_open(NULL, inner, "rdma_like", sizeof(struct end) + orders * sizeof(struct order), &w))
        return NULL;
    struct end *e = end_of(&w->base);
    w->bulk = (nbcoll_bulk){.size = sizeof w->bulk,
                            .register_memory = register_memory,
                            .deregister_memory = deregister_memory,
                            .get = world->variant & RDMA_LIKE_NO_GET ? NULL : get,
                            .put = world->variant & RDMA_LIKE_NO_PUT ? NULL : put};
    w->wakeup.arm = arm;
    w->table.post = post;
    w->table.progress = progress;
    w->table.cancel = cancel;
    w->table.abandon = abandon;
    w->table.give_up = give_up;
    w->table.peer_limits = peer_limits;
    w->table.reason = reason;
    w->table.shared = NULL;
    if (world->variant & RDMA_LIKE_LINES)
        w->lines.post = line;
    else
        w->table.lines = NULL;
    w->table.signal_safe = 0;
    w->base.limits.key_bytes = KEY_BYTES;
    w->base.limits.payload -= 512;
    w->base.limits.channels = world->variant & RDMA_LIKE_LINES ? 16 : 0;
    w->base.limits.receives = RECEIVES;
    e->world = world;
    e->last = &e->first;
    for (size_t i = 0; i < orders; i++) {
        e->orders[i].next = e->spare;
        e->spare = &e->orders[i];
    }
    return &w->base;
}
