/* SPDX-License-Identifier: BSD-3-Clause
 * Running a driver: on a thread of its own, or on one of the host's. */
#include "driver.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>

#include "drive.h"
#include "../host/host.h"
#include "../host/sleep.h"
#include "../host/bell.h"
#include "../host/word.h"

#define NBCOLLI_DRIVER_LOOK 100000000u /* ns: so long it sleeps, at most, while operations are outstanding */
#define NBCOLLI_DRIVER_LOOKS 8u  /* in vain, then it yields between them */
#define NBCOLLI_DRIVER_DEAF 1000000u   /* ns: the same where nothing wakes it */
#define NBCOLLI_DRIVER_AGENT 20000u    /* ns: so long it sleeps first while agents have something under way */
#define NBCOLLI_DRIVER_SLICE 1000000u  /* ns: who has the core for so long computes there */
#define NBCOLLI_DRIVER_KEEPS 1000000000u /* ns: so long it then does not yield again */
#define NBCOLLI_DRIVER_SHORT 10000u      /* ns: and spins no longer before it sleeps */

/* ---- working ----------------------------------------------------------------------------------------------------- */

/* A number that only this thread changes. */
static void nbcolli_driver_add_to(_Atomic uint64_t *n, uint64_t more)
{
    atomic_store_explicit(n, atomic_load_explicit(n, memory_order_relaxed) + more, memory_order_relaxed);
}

/* One pass over each context and agent, so that a busy one holds up no other. Has something moved? */
static int nbcolli_driver_work(nbcoll_driver *d)
{
    int moved = 0;

    if (nbcolli_driver_lock(d) != NBCOLL_OK)
        return 0;
    for (const nbcolli_driver_entry *l = d->list; l < d->list + d->count; l++) {
        if (!l->is_agent)
            nbcolli_drive_begin(l->who, d->bell);
        moved |= l->is_agent ? nbcolli_agent_does(l->who)->progress(l->who) : nbcolli_drive_pass(l->who);
    }
    nbcolli_driver_add_to(&d->passes, d->count);
    nbcolli_driver_unlock(d);
    for (uint64_t looks = 1; atomic_load_explicit(&d->wanted, memory_order_relaxed); looks++) /* a wish */
        nbcolli_driver_pause(d, looks);
    return moved;
}

/* ---- sleeping ---------------------------------------------------------------------------------------------------- */

/* 1: an agent had been rung. */
static int nbcolli_driver_wake_all(nbcoll_driver *d)
{
    int is_rung = 0;

    for (const nbcolli_driver_entry *l = d->list; l < d->list + d->count; l++)
        if (l->is_agent)
            is_rung |= nbcolli_agent_does(l->who)->wake(l->who);
        else
            nbcolli_drive_wake(l->who);
    return is_rung;
}

static uint64_t nbcolli_driver_arm_context(nbcoll_driver *d, nbcoll_context *c)
{
    nbcolli_drive_rest rest = nbcolli_drive_arm(c, d->poller);

    return rest == NBCOLLI_REST_NOT     ? 0
           : rest == NBCOLLI_REST_SHORT ? NBCOLLI_DRIVER_DEAF
           : rest == NBCOLLI_REST_LOOKS ? NBCOLLI_DRIVER_LOOK
                                        : UINT64_MAX;
}

/* What agents have under way is looked at after as long again as nothing has moved, within bounds: so a look comes
 * late by no more than what the wait has taken, and relays that stand idle cost little. */
static uint64_t nbcolli_driver_arm_agent(struct nbcoll_agent *a, uint64_t idle)
{
    nbcolli_agent_rest rest = nbcolli_agent_does(a)->arm(a);

    if (rest != NBCOLLI_AGENT_LOOKS)
        return rest == NBCOLLI_AGENT_NO_REST ? 0 : UINT64_MAX;
    return idle < NBCOLLI_DRIVER_AGENT ? NBCOLLI_DRIVER_AGENT : idle < NBCOLLI_DRIVER_DEAF ? idle : NBCOLLI_DRIVER_DEAF;
}

/* How long it may sleep, in nanoseconds; 0: there is something to do. `idle`: so long nothing has moved. */
static uint64_t nbcolli_driver_arm(nbcoll_driver *d, uint64_t idle)
{
    uint64_t longest = UINT64_MAX;

    if (nbcolli_driver_lock(d) != NBCOLL_OK)
        return 0;
    for (const nbcolli_driver_entry *l = d->list; l < d->list + d->count && longest; l++) {
        uint64_t here = l->is_agent ? nbcolli_driver_arm_agent(l->who, idle) : nbcolli_driver_arm_context(d, l->who);
        longest = here < longest ? here : longest;
    }
    if (!longest)
        nbcolli_driver_wake_all(d);
    nbcolli_driver_unlock(d);
    return longest;
}

/* Has something come? */
static int nbcolli_driver_sleep(nbcoll_driver *d, uint64_t deadline, uint64_t idle)
{
    struct pollfd fd = {.fd = d->poller, .events = POLLIN};
    uint64_t longest = nbcolli_driver_arm(d, idle);

    if (!longest)
        return 1;
    nbcoll_status s = nbcolli_sleep(&d->host, &fd, 1, nbcolli_time_left(&d->host, deadline, longest), NULL);
    int is_rung = nbcolli_bell_hush(d->bell) > 0;
    nbcolli_driver_add_to(&d->sleeps, 1);
    if (nbcolli_driver_lock(d) == NBCOLL_OK) {
        is_rung |= nbcolli_driver_wake_all(d);
        nbcolli_driver_unlock(d);
    }
    nbcolli_driver_add_to(&d->rings, is_rung);
    nbcolli_driver_add_to(&d->looks, s == NBCOLL_PENDING);
    return s == NBCOLL_OK;
}

/* ---- a run ------------------------------------------------------------------------------------------------------- */

/* It is stopped, or its time is over; else PENDING. */
static nbcoll_status nbcolli_driver_is_over(nbcoll_driver *d, uint64_t now, uint64_t deadline)
{
    if (atomic_load_explicit(&d->stops, memory_order_relaxed)) { /* nothing else goes with it */
        atomic_store_explicit(&d->stops, 0, memory_order_relaxed);
        return NBCOLL_OK;
    }
    return now >= deadline ? NBCOLL_ERR_TIMEOUT : NBCOLL_PENDING;
}

/* What a run knows. */
typedef struct nbcolli_driver_view {
    uint64_t now, worked; /* worked: when something moved last */
    uint64_t looks;       /* since then, in vain */
    uint64_t keeps;       /* a time: till then it does not yield */
    int has_yielded;      /* since the last look */
} nbcolli_driver_view;

static void nbcolli_driver_look(nbcoll_driver *d, nbcolli_driver_view *v)
{
    int moved = nbcolli_driver_work(d);
    uint64_t now = nbcolli_now(&d->host);

    if (v->has_yielded && !moved && now - v->now >= NBCOLLI_DRIVER_SLICE)
        v->keeps = now + NBCOLLI_DRIVER_KEEPS;
    v->has_yielded = 0;
    v->looks = moved ? 0 : v->looks + 1;
    v->worked = moved ? now : v->worked;
    v->now = now;
}

/* Shall it look once more before it sleeps? Between looks it yields, since others may share its core. But a thread that
 * computes there keeps the core for its slice, while a wake-up would interrupt it: so then it sleeps early. */
static int nbcolli_driver_looks_on(nbcoll_driver *d, nbcolli_driver_view *v)
{
    int keeps = v->now < v->keeps;
    uint64_t idle = v->now - v->worked;

    if (idle >= d->spin_ns || (keeps && idle >= NBCOLLI_DRIVER_SHORT))
        return 0;
    v->has_yielded = !keeps && v->looks >= NBCOLLI_DRIVER_LOOKS;
    nbcolli_driver_pause(d, v->has_yielded ? UINT64_MAX : 1);
    return 1;
}

static nbcoll_status nbcolli_driver_loop(nbcoll_driver *d, uint64_t deadline)
{
    nbcolli_driver_view v = {.now = nbcolli_now(&d->host)};
    nbcoll_status s;

    v.worked = v.now;
    while ((s = nbcolli_driver_is_over(d, v.now, deadline)) == NBCOLL_PENDING) {
        nbcolli_driver_look(d, &v);
        if (!v.looks)
            continue;
        if (d->host.pause)
            d->host.pause(d->host.user, v.looks);
        else if (!nbcolli_driver_looks_on(d, &v) && nbcolli_driver_sleep(d, deadline, v.now - v.worked))
            v.worked = v.now = nbcolli_now(&d->host);
    }
    return s;
}

/* One at a time. */
static nbcoll_status nbcolli_driver_go(nbcoll_driver *d, uint64_t timeout)
{
    uintptr_t nobody = 0;

    /* acquire: sees what the last one did */
    if (!atomic_compare_exchange_strong_explicit(&d->runner, &nobody, (uintptr_t)&errno, memory_order_acquire,
                                                 memory_order_relaxed))
        return NBCOLL_ERR_BUSY;
    nbcolli_bell_hush(d->bell); /* what was said before is seen in any case */
    nbcoll_status s = nbcolli_driver_loop(d, nbcolli_deadline(&d->host, timeout));
    if (nbcolli_driver_lock(d) == NBCOLL_OK) {
        for (size_t i = 0; i < d->count; i++)
            if (!d->list[i].is_agent)
                nbcolli_drive_end(d->list[i].who, d->poller);
        nbcolli_driver_unlock(d);
    }
    atomic_store_explicit(&d->runner, 0, memory_order_release); /* shows all that to the next */
    return s;
}

nbcoll_status nbcoll_driver_run(nbcoll_driver *d, uint64_t timeout)
{
    nbcoll_status s = nbcolli_driver_check(d);
    if (s != NBCOLL_OK)
        return s;
    if (atomic_load_explicit(&d->thread, memory_order_relaxed) == NBCOLLI_DRIVER_THREAD) /* one that begins, too */
        return NBCOLL_ERR_BUSY;
    return nbcolli_driver_go(d, timeout);
}

/* ---- a thread of its own ----------------------------------------------------------------------------------------- */

static void nbcolli_driver_main(void *argument)
{
    nbcoll_driver *d = argument;

    if (d->is_bound)
        sched_setaffinity(0, sizeof d->cores, &d->cores);
    nbcolli_driver_go(d, NBCOLL_FOREVER);
    _Atomic uint32_t *state = &d->thread;
    atomic_store_explicit(state, NBCOLLI_DRIVER_ENDED, memory_order_release); /* the last touch */
    nbcolli_word_wake(state);                                                /* an address */
}

static void *nbcolli_driver_thread_main(void *argument)
{
    nbcolli_driver_main(argument);
    return NULL;
}

/* By the C library. Signals are for the program's threads. */
static nbcoll_status nbcolli_driver_spawn(nbcoll_driver *d)
{
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    d->is_own = pthread_create(&d->own, NULL, nbcolli_driver_thread_main, d) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return d->is_own ? NBCOLL_OK : NBCOLL_ERR_MEMORY;
}

void nbcolli_driver_join(nbcoll_driver *d)
{
    uint32_t state;

    for (uint64_t looks = 1; (state = atomic_load_explicit(&d->thread, memory_order_acquire)) == NBCOLLI_DRIVER_THREAD;
         looks++)
        if (d->host.pause)
            d->host.pause(d->host.user, looks);
        else
            nbcolli_word_sleep(&d->thread, state, 10000000);
    if (d->is_own)
        pthread_join(d->own, NULL); /* it is at its end: what follows may fork, or unload the library */
    d->is_own = 0;
}

nbcoll_status nbcoll_driver_start(nbcoll_driver *d)
{
    nbcoll_status s = nbcolli_driver_enter(d);
    if (s != NBCOLL_OK)
        return s;
    /* relaxed: the lock orders it */
    uint32_t before = atomic_load_explicit(&d->thread, memory_order_relaxed);
    if (before == NBCOLLI_DRIVER_THREAD || atomic_load_explicit(&d->runner, memory_order_relaxed))
        s = NBCOLL_ERR_BUSY;
    else {
        nbcolli_driver_join(d); /* one that was stopped */
        atomic_store_explicit(&d->thread, NBCOLLI_DRIVER_THREAD, memory_order_relaxed);
        s = d->host.spawn ? d->host.spawn(d->host.user, nbcolli_driver_main, d) : nbcolli_driver_spawn(d);
        if (s != NBCOLL_OK)
            atomic_store_explicit(&d->thread, before, memory_order_relaxed);
    }
    nbcolli_driver_unlock(d);
    return s;
}
