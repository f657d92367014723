/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sleeping and waking: an eventfd for each rank, whose word lies in its seat (../../src/host/wakeup.h). What is
 * published before it is looked at: the word of a line, `state` of a seat; `head` of a ring, for its sender (queue.c);
 * `asked` of a pool, `written` and `read` of a window (pieces.c).
 */
#include "shm.h"

/* All ranks compute the same answer, from what all wrote before they joined. Where ranks take turns on a core they
 * sleep often, and a barrier for all costs more than the posts save. */
void nbcolli_shm_agree_on_barriers(struct nbcolli_shm_end *e)
{
    e->sleepers_pay = true;
    for (int peer = 0; peer < e->base.ranks && e->sleepers_pay; peer++) {
        const struct nbcolli_shm_seat *seat = nbcolli_shm_seat(e->home, peer);
        e->sleepers_pay = atomic_load_explicit(&seat->has_barriers, memory_order_relaxed) == 1 && /* see above */
                          nbcolli_shm_ranks_per_core(e, peer) <= 1;
    }
}

static _Atomic uint32_t *nbcolli_shm_sleepers(const struct nbcolli_shm_end *e)
{
    return &((struct nbcolli_shm_front *)(void *)e->home->segment)->sleepers;
}

/* While nobody sleeps, a rank that shows something to many looks at this one line, and not at each seat. */
void nbcolli_shm_rouse(nbcoll_endpoint *ep, int peer)
{
    struct nbcolli_shm_end *e = nbcolli_shm_end(ep);

    if (!atomic_load(nbcolli_shm_sleepers(e))) /* seq_cst, as the change before it */
        return;
    if (peer < 0)
        nbcolli_shm_wake_all(e);
    else
        nbcolli_shm_wake(e, peer);
}

void nbcolli_shm_wake(struct nbcolli_shm_end *e, int peer)
{
    if (nbcolli_wakeup_take(&nbcolli_shm_seat(e->home, peer)->armed))
        e->os->ring(e->home->place[peer].event); /* the descriptor exists: a rank that arms has joined */
}

void nbcolli_shm_wake_all(struct nbcolli_shm_end *e)
{
    for (int peer = 0; peer < e->base.ranks; peer++)
        if (peer != e->base.rank)
            nbcolli_shm_wake(e, peer);
}

void nbcolli_shm_disarm(struct nbcolli_shm_end *e)
{
    int me = e->base.rank;

    if (e->sleeper.armed) /* relaxed: too high a number is no harm */
        atomic_fetch_sub_explicit(nbcolli_shm_sleepers(e), 1, memory_order_relaxed);
    nbcolli_wakeup_disarm(&e->sleeper, &nbcolli_shm_seat(e->home, me)->armed, e->home->place[me].event, e->os->heard);
}

static int nbcolli_shm_wakeup_fd(nbcoll_endpoint *ep)
{
    return nbcolli_shm_end(ep)->ready;
}

static nbcoll_status nbcolli_shm_wakeup_arm(nbcoll_endpoint *ep)
{
    struct nbcolli_shm_end *e = nbcolli_shm_end(ep);

    if (nbcolli_shm_large_can_go_on(e)) { /* then no barrier: it would stop the core that copies */
        if (e->sleeper.armed)
            nbcolli_shm_disarm(e);
        return NBCOLL_AGAIN;
    }
    if (!e->sleeper.armed)
        atomic_fetch_add(nbcolli_shm_sleepers(e), 1); /* seq_cst: before the second look */
    nbcolli_wakeup_arm(&e->sleeper, &nbcolli_shm_seat(e->home, ep->rank)->armed);
    /* Either we now see what a poster stored before, or it sees our word. Unless a system call filter, installed since
     * the opening, has refused the barrier. */
    bool all_see = !e->sleepers_pay || e->os->barrier();
    nbcolli_shm_look_at_seats(e);
    if (all_see && !nbcolli_shm_waiting(e) && !nbcolli_shm_has_room(e) && !nbcolli_shm_large_can_go_on(e) &&
        !e->finished.first && !e->unreported)
        return NBCOLL_OK;
    nbcolli_shm_disarm(e);
    return NBCOLL_AGAIN;
}

const nbcoll_wakeup nbcolli_shm_wakeup = {sizeof nbcolli_shm_wakeup, nbcolli_shm_wakeup_fd, nbcolli_shm_wakeup_arm};
