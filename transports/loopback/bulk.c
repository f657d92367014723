/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Bulk data of loopback ranks: copies, by the thread of the rank that gets or puts. A key is address and length;
 * nothing has to be registered. From one progress to the next NBCOLL_PASS_BYTES are copied; what is beyond goes on in
 * the next progress, by turns.
 */
#include "world.h"

/* What one rank does to another's memory, and whether the other still permits it. */
enum nbcolli_loopback_between { NBCOLLI_LOOPBACK_GIVEN_UP = 1, NBCOLLI_LOOPBACK_WRITES = 2 };

static _Atomic unsigned char *nbcolli_loopback_between(const nbcoll_endpoint *ep, int owner, int other)
{
    const struct nbcolli_loopback_end *e = (const struct nbcolli_loopback_end *)ep;
    return e->world->between + (size_t)owner * (size_t)ep->ranks + (size_t)other;
}

/* Another thread may be copying a piece of a put just now: waits for that. It looks before the next piece. */
void nbcolli_loopback_give_up(nbcoll_endpoint *ep, int peer)
{
    _Atomic unsigned char *between = nbcolli_loopback_between(ep, ep->rank, peer);
    atomic_fetch_or(between, NBCOLLI_LOOPBACK_GIVEN_UP); /* before our core reuses its memory */
    while (atomic_load(between) & NBCOLLI_LOOPBACK_WRITES)
        ;
}

static bool nbcolli_loopback_is_given_up_by(const nbcoll_endpoint *ep, int peer)
{
    return atomic_load(nbcolli_loopback_between(ep, peer, ep->rank)) & NBCOLLI_LOOPBACK_GIVEN_UP;
}

/* ---- registrations --------------------------------------------------------------------------------------------- */

static nbcoll_status nbcolli_loopback_register(nbcoll_endpoint *ep, int peer, void *memory, size_t bytes,
                                               uint32_t access, nbcoll_registration *out)
{
    (void)ep;
    (void)peer;
    (void)access;
    if (!memory)
        return NBCOLL_ERR_BUFFER;
    out->key.word[0] = (uintptr_t)memory;
    out->key.word[1] = bytes;
    return NBCOLL_OK;
}

static void *nbcolli_loopback_locate(const nbcoll_key *key, size_t offset, size_t bytes)
{
    if (!key->word[0] || offset > key->word[1] || bytes > key->word[1] - offset)
        return NULL;
    return (char *)(uintptr_t)key->word[0] + offset;
}

static const void *nbcolli_loopback_view(nbcoll_endpoint *ep, int peer, const nbcoll_key *key, size_t offset,
                                         size_t bytes)
{
    return nbcolli_loopback_is_given_up_by(ep, peer) ? NULL : nbcolli_loopback_locate(key, offset, bytes);
}

/* ---- copying --------------------------------------------------------------------------------------------------- */

/* Copies a piece of a get or put. False if the peer does not permit it any more. */
static bool nbcolli_loopback_copy_piece(struct nbcolli_loopback_end *e, const struct nbcolli_loopback_order *o,
                                        size_t bytes)
{
    _Atomic unsigned char *between = nbcolli_loopback_between(&e->base, (int)o->peer, e->base.rank);
    if (o->what == NBCOLLI_LOOPBACK_GET) {
        if (atomic_load(between) & NBCOLLI_LOOPBACK_GIVEN_UP)
            return false;
        memcpy(o->to, o->from, bytes);
        return true;
    }
    bool may = !(atomic_fetch_or(between, NBCOLLI_LOOPBACK_WRITES) &
                 NBCOLLI_LOOPBACK_GIVEN_UP); /* one of us sees the other's */
    /* acquire: with the rank its memory may have gone */
    bool has_left = atomic_load_explicit(&e->world->port[o->peer].state, memory_order_acquire) >= NBCOLLI_LOOPBACK_LEFT;
    if (may && !has_left)
        memcpy(o->to, o->from, bytes);
    atomic_fetch_and(between, (unsigned char)~NBCOLLI_LOOPBACK_WRITES); /* after the writes */
    return may;
}

nbcoll_posted nbcolli_loopback_copy(struct nbcolli_loopback_end *e, nbcoll_work *work)
{
    struct nbcolli_loopback_order o = nbcolli_loopback_order_of(work);
    size_t left = NBCOLL_PASS_BYTES - e->copied, bytes = o.bytes < left ? o.bytes : left;

    if (bytes) {
        if (!nbcolli_loopback_copy_piece(e, &o, bytes))
            return NBCOLL_POST_NOT_NOW;
        e->copied += bytes;
        o.from = (const char *)o.from + bytes;
        o.to = (char *)o.to + bytes;
        o.bytes -= bytes;
        nbcolli_loopback_order_set(work, o);
    }
    if (o.bytes)
        return NBCOLL_POST_NOT_NOW;
    return o.what == NBCOLLI_LOOPBACK_GET ? NBCOLL_POST_DONE
                                          : nbcolli_loopback_write(e, (int)o.peer, o.header, NULL, 0);
}

/* Copies at once if the configuration allows that and this progress has so much left; else defers it. `there` is in the
 * peer's memory. */
static nbcoll_posted nbcolli_loopback_begin(nbcoll_endpoint *ep, const void *there, struct nbcolli_loopback_order o,
                                            nbcoll_work *work)
{
    struct nbcolli_loopback_end *e = nbcolli_loopback_end_of(ep);

    if (!there)
        return NBCOLL_POST_FAILED;
    if (nbcolli_loopback_is_given_up_by(ep, (int)o.peer))
        return NBCOLL_POST_NOT_NOW;
    if (e->world->config.flags & NBCOLL_LOOPBACK_LEND || o.bytes > NBCOLL_PASS_BYTES - e->copied)
        return nbcolli_loopback_defer(e, o, work);
    if (!nbcolli_loopback_copy_piece(e, &o, o.bytes))
        return NBCOLL_POST_NOT_NOW;
    e->copied += o.bytes;
    o.bytes = 0;
    if (o.what == NBCOLLI_LOOPBACK_GET || nbcolli_loopback_write(e, (int)o.peer, o.header, NULL, 0) == NBCOLL_POST_DONE)
        return NBCOLL_POST_DONE;
    return nbcolli_loopback_defer(e, o, work); /* the notice has no room */
}

static nbcoll_posted nbcolli_loopback_get(nbcoll_endpoint *ep, int peer, const nbcoll_key *key, size_t offset,
                                          const nbcoll_registration *local, void *to, size_t bytes, nbcoll_work *work)
{
    const void *from = nbcolli_loopback_locate(key, offset, bytes);
    (void)local;
    return nbcolli_loopback_begin(
        ep, from, (struct nbcolli_loopback_order){NBCOLLI_LOOPBACK_GET, (uint32_t)peer, NULL, from, to, bytes}, work);
}

static nbcoll_posted nbcolli_loopback_put(nbcoll_endpoint *ep, int peer, const nbcoll_key *key, size_t offset,
                                          const nbcoll_registration *local, const void *from, size_t bytes,
                                          const nbcoll_header *notice, nbcoll_work *work)
{
    void *to = nbcolli_loopback_locate(key, offset, bytes);
    (void)local;
    return nbcolli_loopback_begin(
        ep, to, (struct nbcolli_loopback_order){NBCOLLI_LOOPBACK_PUT, (uint32_t)peer, notice, from, to, bytes}, work);
}

const nbcoll_bulk nbcolli_loopback_bulk = {.size = sizeof nbcolli_loopback_bulk,
                                           .flags = NBCOLL_BULK_ANY_LOCAL | NBCOLL_BULK_ONE_KEY,
                                           .register_memory = nbcolli_loopback_register,
                                           .get = nbcolli_loopback_get,
                                           .put = nbcolli_loopback_put,
                                           .view = nbcolli_loopback_view};

const nbcoll_bulk nbcolli_loopback_bulk_puts = {.size = sizeof nbcolli_loopback_bulk_puts,
                                                .flags = NBCOLL_BULK_ANY_LOCAL | NBCOLL_BULK_ONE_KEY,
                                                .register_memory = nbcolli_loopback_register,
                                                .put = nbcolli_loopback_put};
