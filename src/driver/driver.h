/* SPDX-License-Identifier: BSD-3-Clause
 * Drivers: what their parts share. A driver has a list of contexts and agents, and one thread at most that runs it.
 * `lock` covers the list; the one who runs it holds it while it works, and not while it sleeps. */
#ifndef NBCOLLI_DRIVER_DRIVER_H
#define NBCOLLI_DRIVER_DRIVER_H

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "nbcoll/driver.h"

/* Of the thread that nbcoll_driver_start had made. */
typedef enum nbcolli_driver_thread { NBCOLLI_DRIVER_ALONE, NBCOLLI_DRIVER_THREAD, NBCOLLI_DRIVER_ENDED }
    nbcolli_driver_thread;

typedef struct nbcolli_driver_entry {
    void *who; /* a context or an agent */
    int is_agent;
} nbcolli_driver_entry;

struct nbcoll_driver {
    /* Made. */
    nbcoll_host host;
    const volatile uint32_t *alive; /* a page of its own that fork wipes */
    uint64_t spin_ns;
    int poller, bell; /* an epoll descriptor over the contexts' pollers and the bell; what wakes it */
    cpu_set_t cores;  /* for its thread */
    int is_bound;

    /* Any thread, by atomic operations. */
    atomic_uintptr_t lock;   /* 0, or the mark of its holder: an address that each thread has of its own */
    atomic_uint wanted;      /* threads that wait for the lock: the runner lets them in */
    atomic_uintptr_t runner; /* the mark of the thread that runs it, or 0 */
    atomic_uint stops;       /* the run is to end */
    _Atomic uint32_t thread; /* nbcolli_driver_thread */

    /* Under the lock. */
    nbcolli_driver_entry *list; /* [count] */
    size_t count, room;
    pthread_t own; /* of the C library, not the host's, where is_own: to be joined */
    int is_own;
    uint64_t left; /* of contexts that are not in it any more */

    /* The runner adds; anybody reads. */
    _Atomic uint64_t passes, sleeps, rings, looks;
};

/* ERR_NULL or ERR_FORKED, or OK. */
nbcoll_status nbcolli_driver_check(const nbcoll_driver *d);

/* Into the driver. ERR_BUSY: this thread is inside, in a function that the driver has called. `enter` checks first. */
nbcoll_status nbcolli_driver_lock(nbcoll_driver *d);
nbcoll_status nbcolli_driver_enter(nbcoll_driver *d);
void nbcolli_driver_unlock(nbcoll_driver *d);

/* Acquire: waits for the end of the thread that nbcoll_driver_start had made, and sees all that it has done. */
void nbcolli_driver_join(nbcoll_driver *d);

/* Between two looks, of which this is the looks-th in vain. */
void nbcolli_driver_pause(const nbcoll_driver *d, uint64_t looks);

#endif
