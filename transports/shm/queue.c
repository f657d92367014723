/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages: a ring for each sender and receiver. The sender alone moves `tail`, the receiver alone `head`; each keeps
 * its own count and only looks at the other's, which must lie where it can: a counter or a length that cannot be marks
 * its writer as lost. An arrival is private but for its payload, which the core reads in its entry; the receiver's next
 * progress gives the entry back.
 */
#include <errno.h>

#include "shm.h"

static struct nbcolli_shm_entry *nbcolli_shm_entry_at(const struct nbcolli_shm_home *h, struct nbcolli_shm_ring *r,
                                                      uint64_t i)
{
    size_t at = (size_t)(i & (h->layout.depth - 1)) * h->layout.stride;
    return (struct nbcolli_shm_entry *)(void *)((unsigned char *)(r + 1) + at);
}

/* DONE if there is a free entry. */
static nbcoll_posted nbcolli_shm_room(struct nbcolli_shm_end *e, int peer, struct nbcolli_shm_ring *r)
{
    struct nbcolli_shm_peer *p = &e->peer[peer];
    uint64_t depth = e->home->layout.depth;

    if (p->sent - p->done < depth)
        return NBCOLL_POST_DONE;
    uint64_t head = atomic_load_explicit(&r->head, memory_order_acquire); /* the entries before it have been read */
    if (head - p->done > p->sent - p->done) {
        nbcolli_shm_lose(e, peer, EBADMSG, "a counter or length in shared memory cannot be");
        return NBCOLL_POST_LOST;
    }
    p->done = head;
    if (p->sent - head < depth)
        return NBCOLL_POST_DONE;
    return NBCOLL_POST_NOT_NOW;
}

nbcoll_posted nbcolli_shm_put(struct nbcolli_shm_end *e, int peer, const nbcoll_header *header, const void *payload,
                              size_t bytes)
{
    struct nbcolli_shm_peer *p = &e->peer[peer];
    struct nbcolli_shm_ring *r = nbcolli_shm_ring(e->home, e->base.rank, peer);

    if (p->gone != NBCOLLI_SHM_HERE)
        return p->gone == NBCOLLI_SHM_LOST ? NBCOLL_POST_LOST : NBCOLL_POST_DONE;
    nbcoll_posted posted = nbcolli_shm_room(e, peer, r);
    /* relaxed: nobody will take from a ring whose receiver has left, soon or late */
    if (posted == NBCOLL_POST_NOT_NOW &&
        atomic_load_explicit(&nbcolli_shm_seat(e->home, peer)->state, memory_order_relaxed) == NBCOLLI_SHM_LEFT)
        return NBCOLL_POST_DONE;
    if (posted == NBCOLL_POST_NOT_NOW && !p->refused) {
        p->refused = 1;
        e->refusals++;
    }
    if (posted != NBCOLL_POST_DONE)
        return posted;
    struct nbcolli_shm_entry *entry = nbcolli_shm_entry_at(e->home, r, p->sent);
    entry->header = *header;
    atomic_store_explicit(&entry->bytes, (uint32_t)bytes, memory_order_relaxed); /* published by `tail` */
    if (bytes)
        memcpy(entry->payload, payload, bytes);
    atomic_store(&r->tail, ++p->sent); /* releases the entry to the receiver; seq_cst for the bell */
    nbcolli_shm_wake(e, peer);
    return NBCOLL_POST_DONE;
}

/* Hands out messages of one sender, to the end of the list, until *bytes_left are used up. Returns how many. */
static int nbcolli_shm_take(struct nbcolli_shm_end *e, int peer, nbcoll_arrival *arrival, int most,
                            ptrdiff_t *bytes_left)
{
    struct nbcolli_shm_peer *p = &e->peer[peer];
    struct nbcolli_shm_ring *r = nbcolli_shm_ring(e->home, peer, e->base.rank);
    uint64_t tail = atomic_load_explicit(&r->tail, memory_order_acquire); /* the entries themselves */
    int n = 0;

    if (tail - p->given > e->home->layout.depth || tail - p->given < p->taken - p->given) {
        nbcolli_shm_lose(e, peer, EBADMSG, "a counter or length in shared memory cannot be");
        return 0;
    }
    for (; p->taken != tail && n < most && *bytes_left > 0; p->taken++, n++) {
        struct nbcolli_shm_entry *entry = nbcolli_shm_entry_at(e->home, r, p->taken);
        uint32_t bytes = atomic_load_explicit(&entry->bytes, memory_order_relaxed); /* once: it is not to be trusted */
        if (bytes > e->home->layout.payload) {
            nbcolli_shm_lose(e, peer, EBADMSG, "a counter or length in shared memory cannot be");
            return n;
        }
        arrival[n] = (nbcoll_arrival){&arrival[n + 1], peer, entry->header, entry->payload, bytes};
        *bytes_left -= bytes;
    }
    return n;
}

/* Gives back the entries that were handed out. seq_cst on both sides: either we see that the sender sleeps until there
 * is room, or its second look sees the room. The exchange lets one waking suffice. */
static void nbcolli_shm_give_back(struct nbcolli_shm_end *e, int peer)
{
    struct nbcolli_shm_ring *r = nbcolli_shm_ring(e->home, peer, e->base.rank);

    e->peer[peer].given = e->peer[peer].taken;
    atomic_store(&r->head, e->peer[peer].given); /* our core's reads come before the entries are overwritten */
    if (nbcolli_wakeup_take(&r->hungry))
        nbcolli_shm_wake(e, peer);
}

/* Begins with another sender each time, so that none can fill every batch. */
nbcoll_arrival *nbcolli_shm_deliver(struct nbcolli_shm_end *e)
{
    int ranks = e->base.ranks, n = 0;
    ptrdiff_t bytes_left = NBCOLL_PASS_BYTES;

    for (int i = 0; i < ranks; i++) {
        int peer = e->next + i < ranks ? e->next + i : e->next + i - ranks;
        struct nbcolli_shm_peer *p = &e->peer[peer];
        if (p->given != p->taken)
            nbcolli_shm_give_back(e, peer);
        if (p->gone == NBCOLLI_SHM_HERE && n < NBCOLLI_SHM_ARRIVALS)
            n += nbcolli_shm_take(e, peer, e->arrival + n, NBCOLLI_SHM_ARRIVALS - n, &bytes_left);
    }
    e->next = e->next + 1 < ranks ? e->next + 1 : 0;
    if (n == 0)
        return NULL;
    e->arrival[n - 1].next = NULL;
    return e->arrival;
}

bool nbcolli_shm_has_taken(struct nbcolli_shm_end *e, int peer)
{
    /* relaxed: its state says that it puts nothing more, and was read before */
    return atomic_load_explicit(&nbcolli_shm_ring(e->home, peer, e->base.rank)->tail, memory_order_relaxed) ==
           e->peer[peer].taken;
}

/* The seq_cst loads are the second look of the sleeper's bargain. */
bool nbcolli_shm_waiting(struct nbcolli_shm_end *e)
{
    for (int peer = 0; peer < e->base.ranks; peer++) {
        const struct nbcolli_shm_peer *p = &e->peer[peer];
        uint64_t tail = atomic_load(&nbcolli_shm_ring(e->home, peer, e->base.rank)->tail);
        if (p->gone == NBCOLLI_SHM_HERE && (tail != p->taken || tail - p->given == e->home->layout.depth))
            return true;
    }
    return false;
}

/* The seq_cst loads are the second look of nbcolli_shm_give_back's bargain. A head that cannot be is put's to find. */
bool nbcolli_shm_has_room(struct nbcolli_shm_end *e)
{
    bool room = false;

    for (int peer = 0; e->refusals && peer < e->base.ranks; peer++) {
        struct nbcolli_shm_ring *r = nbcolli_shm_ring(e->home, e->base.rank, peer);
        if (!e->peer[peer].refused)
            continue;
        atomic_store(&r->hungry, 1);
        room |= e->peer[peer].sent - atomic_load(&r->head) != e->home->layout.depth;
    }
    return room;
}

void nbcolli_shm_forget_refusals(struct nbcolli_shm_end *e)
{
    for (int peer = 0; peer < e->base.ranks; peer++)
        e->peer[peer].refused = 0;
    e->refusals = 0;
}
