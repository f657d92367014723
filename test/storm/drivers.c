/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A second thread of a rank, which drives its context: the driver's own, which the host spawns, or one of the host's
 * that runs the driver for a while, now and then. It is a strand beside the program's; the two meet wherever one of
 * them loses its turn. Spawning may be refused, the context may be taken out and put back, and memory may be short. */
#include "../../src/engine/state/context.h"
#include "nbcoll/driver.h"
#include "rank.h"

bool rank_holds(const actor *a)
{
    const rank *r = a->program;
    return r && r->driver && atomic_load_explicit(&r->context->caller, memory_order_relaxed);
}

static void found(const rank *r, const char *what, nbcoll_status status)
{
    storm_find(r->storm, "rank %d: %s: %s", r->actor->rank, what, nbcoll_status_name(status));
}

static bool lacks_memory(const rank *r, nbcoll_status status)
{
    return status == NBCOLL_ERR_MEMORY && r->storm->bad[r->actor->rank] & BAD_MEMORY;
}

/* Of the host's. A run ends when its time is over, or it is stopped. */
static void run_now_and_then(void *user)
{
    rank *r = user;
    while (r->runs_driver) {
        nbcoll_status status = nbcoll_driver_run(r->driver, storm_random(r->storm, 20 * MILLISECOND));
        if (status != NBCOLL_OK && status != NBCOLL_ERR_TIMEOUT)
            found(r, "the driver does not run", status);
        storm_stay(r->storm, storm_random(r->storm, 5 * MILLISECOND));
    }
}

static void add(rank *r)
{
    nbcoll_status status = nbcoll_driver_add(r->driver, r->context);
    r->is_driven = status == NBCOLL_OK;
    if (!r->is_driven && !lacks_memory(r, status))
        found(r, "the driver does not take the context", status);
}

/* Refused, it may be started another time. */
static void start(rank *r)
{
    nbcoll_status status = nbcoll_driver_start(r->driver);
    if (status != NBCOLL_OK && status != NBCOLL_ERR_UNSUPPORTED && status != NBCOLL_ERR_BUSY)
        found(r, "the driver does not start", status);
}

void drivers_begin(rank *r)
{
    nbcoll_driver_config config = {.size = sizeof config, .host = host_outside(r->actor)};

    if (!r->storm->plan.has_drivers || rank_choose(r, 4) == 0)
        return;
    nbcoll_status status = nbcoll_driver_create(&config, &r->driver);
    if (status != NBCOLL_OK) {
        r->driver = NULL;
        if (!lacks_memory(r, status))
            found(r, "no driver is made", status);
        return;
    }
    if (rank_choose(r, 2))
        add(r);
    r->runs_driver = rank_choose(r, 3) == 0;
    if (r->runs_driver)
        storm_spawn(r->actor, DRIVER, run_now_and_then, r);
    else
        start(r);
}

void drivers_change(rank *r)
{
    nbcoll_status status;

    if (!r->driver || rank_choose(r, 4))
        return;
    if (!r->is_driven)
        add(r);
    else if (rank_choose(r, 3) == 0) {
        status = nbcoll_driver_remove(r->driver, r->context);
        r->is_driven = false;
        if (status != NBCOLL_OK)
            found(r, "the driver does not give the context back", status);
    } else if (r->runs_driver)
        nbcoll_driver_stop(r->driver);
    else
        start(r);
}

static void count(const rank *r)
{
    nbcoll_driver_counts counts = {.size = sizeof counts};
    nbcoll_status status = nbcoll_driver_count(r->driver, &counts);
    if (status != NBCOLL_OK || counts.left < r->left)
        storm_find(r->storm, "rank %d: %llu starts have left something to its driver, which says %llu: %s",
                   r->actor->rank, (unsigned long long)r->left, (unsigned long long)counts.left,
                   nbcoll_status_name(status));
}

void drivers_end(rank *r)
{
    if (!r->driver)
        return;
    if (r->left)
        count(r);
    if (r->runs_driver) {
        r->runs_driver = false;
        while (!r->actor->strand[DRIVER].is_over) {
            nbcoll_driver_stop(r->driver);
            storm_stay(r->storm, MILLISECOND);
        }
    }
    nbcoll_status status = nbcoll_driver_free(r->driver);
    r->driver = NULL;
    r->is_driven = false;
    if (status != NBCOLL_OK)
        found(r, "the driver is not freed", status);
    while (r->actor->strand[DRIVER].fiber && !r->actor->strand[DRIVER].is_over) /* of spawn: it returns */
        storm_stay(r->storm, MICROSECOND);
}
