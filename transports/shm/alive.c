/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Deaths and departures. A process that ends makes its pidfd readable; these are looked at now and then, not at every
 * progress, and wake a sleeper as its bell does. A rank that closes its end writes into its seat that it has left, and
 * rings; it is not lost by that. Whoever finds a rank lost writes that into its seat and rings, so that the others need
 * not wait for their own look.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* clock_gettime */
#endif
#include <sys/epoll.h>

#include "shm.h"

#define SHM_LOOK_NS 100000000u
#define SHM_LOOK_PASSES 32u /* progress calls between two looks at the clock, which costs as much as several of them */

void nbcolli_shm_lose(struct shm_end *e, int peer)
{
    uint32_t present = SHM_PRESENT;

    if (e->peer[peer].gone != SHM_HERE)
        return;
    e->peer[peer].gone = SHM_LOST;
    e->unreported++;
    if (atomic_compare_exchange_strong(&nbcolli_shm_seat(e->home, peer)->state, &present, SHM_FAILED))
        nbcolli_shm_ring_all(e);
}

nbcoll_status nbcolli_shm_watch(struct shm_end *e)
{
    const struct shm_home *h = e->home;

    for (int peer = 0; peer < e->base.ranks; peer++) {
        int mine = peer == e->base.rank, fd = mine ? h->place[peer].event : h->place[peer].watch;
        struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)peer};
        if ((mine || h->place[peer].pid != h->pid) && epoll_ctl(e->ready, EPOLL_CTL_ADD, fd, &event) != 0)
            return NBCOLL_ERR_TRANSPORT;
    }
    e->looked = nbcolli_now(&e->host);
    return NBCOLL_OK;
}

bool nbcolli_shm_is_alive(struct shm_end *e, int peer)
{
    struct pollfd watch = {e->home->place[peer].watch, POLLIN, 0};
    return e->home->place[peer].pid == e->home->pid || poll(&watch, 1, 0) == 0;
}

static void shm_look_at_processes(struct shm_end *e)
{
    struct epoll_event event[16];
    int n = epoll_wait(e->ready, event, sizeof event / sizeof event[0], 0);

    for (int i = 0; i < n; i++) {
        int peer = (int)event[i].data.u32;
        if (peer == e->base.rank) /* our bell */
            continue;
        epoll_ctl(e->ready, EPOLL_CTL_DEL, e->home->place[peer].watch, NULL);
        /* acquire: a state written before the end of its process */
        if (atomic_load_explicit(&nbcolli_shm_seat(e->home, peer)->state, memory_order_acquire) != SHM_LEFT)
            nbcolli_shm_lose(e, peer);
    }
}

/* A rank has left once all that it had posted is taken. */
void nbcolli_shm_look_at_seats(struct shm_end *e)
{
    for (int peer = 0; peer < e->base.ranks; peer++) {
        uint32_t state = atomic_load(&nbcolli_shm_seat(e->home, peer)->state); /* seq_cst for the bell */
        if (state == SHM_FAILED)
            nbcolli_shm_lose(e, peer);
        else if (state == SHM_LEFT && e->peer[peer].gone == SHM_HERE && nbcolli_shm_has_taken(e, peer)) {
            e->peer[peer].gone = SHM_AWAY;
            e->unreported++;
        }
    }
}

void nbcolli_shm_look(struct shm_end *e)
{
    if (!e->armed) {
        if (++e->passes % SHM_LOOK_PASSES != 0)
            return;
        uint64_t now = nbcolli_now(&e->host);
        if (now - e->looked < SHM_LOOK_NS)
            return;
        e->looked = now;
    }
    nbcolli_shm_look_at_seats(e);
    shm_look_at_processes(e);
}
