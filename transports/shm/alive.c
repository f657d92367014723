/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Deaths and departures. A process that ends makes its pidfd readable; these are looked at now and then, not at every
 * progress, and wake a sleeper as its eventfd does. A rank that closes its end writes into its seat that it has left,
 * and wakes all; it is not lost by that. A rank that finds another one lost writes that into its seat and wakes all, so
 * that the others need not wait for their own look.
 *
 * A process that calls exec keeps its pidfd, and is lost all the same. So each holds a record lock on a byte of the
 * segment, through a descriptor that exec closes: exec and death drop the lock, and a child of fork has no part in it.
 * Asking for the locks takes a system call for each process, all at one spin lock of the kernel: a rank does not look
 * if another one has begun to look since its own last turn. So two turns, 200 ms, are enough to find anyone.
 */
#include <errno.h>

#include "shm.h"

#define NBCOLLI_SHM_LOOK_NS 100000000u

bool nbcolli_shm_seat_ends(const struct nbcolli_shm_end *e, int rank, enum nbcolli_shm_state how)
{
    _Atomic uint32_t *state = &nbcolli_shm_seat(e->home, rank)->state;
    uint32_t present = NBCOLLI_SHM_PRESENT, broken = NBCOLLI_SHM_BROKEN;

    return atomic_compare_exchange_strong(state, &present, (uint32_t)how) ||
           (how != NBCOLLI_SHM_BROKEN && atomic_compare_exchange_strong(state, &broken, NBCOLLI_SHM_FAILED));
}

/* Loses the peer: by its death, or while it `lives`, and its gets from us fail. Death may follow later, and is
 * reported, too. */
static void nbcolli_shm_lose(struct nbcolli_shm_end *e, int peer, bool lives, int code, const char *text)
{
    struct nbcolli_shm_peer *p = &e->peer[peer];

    p->ended |= !lives; /* whoever has found it: it writes to no window any more */
    if (p->gone != NBCOLLI_SHM_HERE && (!p->lives || lives))
        return;
    if (p->gone == NBCOLLI_SHM_HERE || p->reported)
        e->unreported++;
    if (p->gone == NBCOLLI_SHM_HERE)
        p->reason = (nbcoll_transport_error){code, text};
    p->gone = NBCOLLI_SHM_LOST;
    p->lives = lives && peer != e->base.rank;
    p->reported = 0;
    p->room = 0;
    if (p->lives)
        nbcolli_shm_give_up(&e->base, peer);
    if (nbcolli_shm_seat_ends(e, peer, lives ? NBCOLLI_SHM_BROKEN : NBCOLLI_SHM_FAILED))
        nbcolli_shm_wake_all(e);
}

void nbcolli_shm_distrust(struct nbcolli_shm_end *e, int peer)
{
    nbcolli_shm_lose(e, peer, true, EBADMSG, "a counter or length in shared memory cannot be");
}

nbcoll_status nbcolli_shm_watch(struct nbcolli_shm_end *e)
{
    const struct nbcolli_shm_home *h = e->home;

    for (int peer = 0; peer < e->base.ranks; peer++) {
        int mine = peer == e->base.rank, fd = mine ? h->place[peer].event : h->place[peer].watch;
        struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)peer};
        if ((mine || h->place[peer].pid != h->pid) && e->os->attend(e->ready, EPOLL_CTL_ADD, fd, &event) != 0)
            return nbcolli_shm_status(errno);
    }
    e->looked = nbcolli_now(&e->host);
    return NBCOLL_OK;
}

void nbcolli_shm_is_no_more(struct nbcolli_shm_end *e, int peer, int code, const char *text)
{
    /* acquire: a state written before the end of its process, or of its memory */
    if (atomic_load_explicit(&nbcolli_shm_seat(e->home, peer)->state, memory_order_acquire) != NBCOLLI_SHM_LEFT)
        nbcolli_shm_lose(e, peer, false, code, text);
}

static void nbcolli_shm_look_at_processes(struct nbcolli_shm_end *e)
{
    struct epoll_event event[16];
    int n = e->os->ready(e->ready, event, sizeof event / sizeof event[0], 0);

    for (int i = 0; i < n; i++) {
        int peer = (int)event[i].data.u32;
        if (peer == e->base.rank) /* our eventfd */
            continue;
        e->os->attend(e->ready, EPOLL_CTL_DEL, e->home->place[peer].watch, NULL);
        nbcolli_shm_is_no_more(e, peer, 0, "its process has ended");
    }
}

/* A look that another rank began after our last turn also finds all earlier deaths, and tells us. */
static void nbcolli_shm_look_at_locks(struct nbcolli_shm_end *e)
{
    const struct nbcolli_shm_home *h = e->home;
    _Atomic uint64_t *looks = &((struct nbcolli_shm_front *)(void *)h->segment)->looks;
    uint64_t last = e->looks;

    /* relaxed: the count alone matters */
    if (!atomic_compare_exchange_strong_explicit(looks, &last, last + 1, memory_order_relaxed, memory_order_relaxed)) {
        e->looks = last;
        return;
    }
    e->looks = last + 1;
    for (int peer = 0; peer < e->base.ranks; peer++)
        if ((e->peer[peer].gone == NBCOLLI_SHM_HERE || e->peer[peer].lives) && h->place[peer].pid != h->pid &&
            !e->os->is_locked(h->memory, h->place[peer].first))
            nbcolli_shm_is_no_more(e, peer, 0, "its process has called exec or ended");
}

/* A rank has left once all its posts are taken. */
void nbcolli_shm_look_at_seats(struct nbcolli_shm_end *e)
{
    for (int peer = 0; peer < e->base.ranks; peer++) {
        uint32_t state = atomic_load(&nbcolli_shm_seat(e->home, peer)->state); /* seq_cst: before a sleep */
        if (state == NBCOLLI_SHM_FAILED || state == NBCOLLI_SHM_BROKEN)
            nbcolli_shm_lose(e, peer, state == NBCOLLI_SHM_BROKEN, 0,
                             "another rank has found it lost, or it was abandoned");
        else if (state == NBCOLLI_SHM_LEFT && e->peer[peer].gone == NBCOLLI_SHM_HERE &&
                 nbcolli_shm_has_taken(e, peer)) {
            e->peer[peer].gone = NBCOLLI_SHM_AWAY;
            e->peer[peer].room = 0;
            e->unreported++;
        }
    }
}

void nbcolli_shm_look(struct nbcolli_shm_end *e)
{
    uint64_t now = nbcolli_now(&e->host);
    bool is_due = now - e->looked >= NBCOLLI_SHM_LOOK_NS;

    if (!is_due && !e->sleeper.armed)
        return;
    nbcolli_shm_look_at_seats(e); /* first: a rank that has written its state drops its lock, too */
    if (is_due) {
        e->looked = now;
        for (int peer = 0; peer < e->base.ranks; peer++)
            if (e->peer[peer].gone == NBCOLLI_SHM_HERE && !nbcolli_shm_can_be(e, peer))
                nbcolli_shm_distrust(e, peer);
        nbcolli_shm_look_at_locks(e);
    }
    nbcolli_shm_look_at_processes(e);
}
