/* SPDX-License-Identifier: BSD-3-Clause
 * Into and out of a driver. */
#include "driver.h"

#include <errno.h>

#include "../engine/progress/lock.h"

#define NBCOLLI_DRIVER_SPINS 1000u /* looks before the first yield */

nbcoll_status nbcolli_driver_check(const nbcoll_driver *d)
{
    if (!d)
        return NBCOLL_ERR_NULL;
    return *d->alive == 1 ? NBCOLL_OK : NBCOLL_ERR_FORKED;
}

void nbcolli_driver_pause(const nbcoll_driver *d, uint64_t looks)
{
    if (d->host.pause)
        d->host.pause(d->host.user, looks);
    else if (looks <= NBCOLLI_DRIVER_SPINS)
        nbcolli_lock_relax();
    else
        sched_yield();
}

nbcoll_status nbcolli_driver_lock(nbcoll_driver *d)
{
    uintptr_t me = (uintptr_t)&errno, nobody = 0;

    if (atomic_load_explicit(&d->lock, memory_order_relaxed) == me) /* only we store our mark */
        return NBCOLL_ERR_BUSY;
    atomic_fetch_add_explicit(&d->wanted, 1, memory_order_relaxed); /* a wish */
    for (uint64_t looks = 1; !atomic_compare_exchange_weak_explicit(&d->lock, &nobody, me, memory_order_acquire,
                                                                    memory_order_relaxed); /* sees the last one's */
         looks++, nobody = 0)
        nbcolli_driver_pause(d, looks);
    atomic_fetch_sub_explicit(&d->wanted, 1, memory_order_relaxed);
    return NBCOLL_OK;
}

void nbcolli_driver_unlock(nbcoll_driver *d)
{
    atomic_store_explicit(&d->lock, 0, memory_order_release); /* shows it to the next */
}

nbcoll_status nbcolli_driver_enter(nbcoll_driver *d)
{
    nbcoll_status s = nbcolli_driver_check(d);
    return s == NBCOLL_OK ? nbcolli_driver_lock(d) : s;
}
