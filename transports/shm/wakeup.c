/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Doorbells: an eventfd for each rank, and a word in its seat that says that it is about to sleep. Posters look at the
 * word after publishing. `tail`, `state` and `armed` are seq_cst on both sides: either the poster sees that the
 * receiver is about to sleep, or the receiver's second look sees what was posted. Room in a ring is announced the same
 * way (queue.c). Nobody makes a system call for a rank awake.
 */
#include <unistd.h>

#include "shm.h"

/* The exchange lets one poster ring, once for each arming. */
void nbcolli_shm_wake(struct nbcolli_shm_end *e, int peer)
{
    static const uint64_t one = 1;
    struct nbcolli_shm_seat *seat = nbcolli_shm_seat(e->home, peer);

    if (atomic_load(&seat->armed) && atomic_exchange(&seat->armed, 0))
        (void)!write(e->home->place[peer].event, &one, sizeof one); /* fails only when 2^64 - 2 rings are unread */
}

void nbcolli_shm_ring_all(struct nbcolli_shm_end *e)
{
    for (int peer = 0; peer < e->base.ranks; peer++)
        if (peer != e->base.rank)
            nbcolli_shm_wake(e, peer);
}

/* Disarms, and reads the rings of posters that took the arming first. A promised ring may come a little later: then
 * a later progress reads it. The first reading after an arming is done in any case: it silences a bell that was rung
 * without a promise. */
void nbcolli_shm_silence(struct nbcolli_shm_end *e)
{
    uint64_t rung;

    if (e->armed && !atomic_exchange(&nbcolli_shm_seat(e->home, e->base.rank)->armed, 0))
        e->owed++;
    e->armed = false;
    if (read(e->home->place[e->base.rank].event, &rung, sizeof rung) == sizeof rung)
        e->owed -= rung < e->owed ? rung : e->owed;
}

static int nbcolli_shm_wakeup_fd(nbcoll_endpoint *ep)
{
    return nbcolli_shm_end(ep)->ready;
}

static nbcoll_status nbcolli_shm_wakeup_arm(nbcoll_endpoint *ep)
{
    struct nbcolli_shm_end *e = nbcolli_shm_end(ep);

    if (!e->armed) {
        atomic_store(&nbcolli_shm_seat(e->home, ep->rank)->armed, 1);
        e->armed = true;
    }
    nbcolli_shm_look_at_seats(e);
    if (!nbcolli_shm_waiting(e) && !nbcolli_shm_has_room(e) && !e->gets.first && !e->finished.first && !e->unreported)
        return NBCOLL_OK;
    nbcolli_shm_silence(e);
    return NBCOLL_AGAIN;
}

const nbcoll_wakeup nbcolli_shm_wakeup = {sizeof nbcolli_shm_wakeup, nbcolli_shm_wakeup_fd, nbcolli_shm_wakeup_arm};
