/* SPDX-License-Identifier: BSD-3-Clause
 * Making drivers, and what is in them. */
#include "driver.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "drive.h"
#include "../host/alive.h"
#include "../host/bell.h"
#include "../host/host.h"

/* ---- making ------------------------------------------------------------------------------------------------------ */

static nbcoll_status nbcolli_driver_read(nbcoll_driver *d, const nbcoll_driver_config *given)
{
    nbcoll_driver_config config = {.size = sizeof config};
    nbcoll_status s = given ? nbcolli_copy_tagged(&config, given, sizeof config) : NBCOLL_OK;

    if (s == NBCOLL_OK)
        s = nbcolli_host_read(&d->host, &config.host);
    if (s == NBCOLL_OK && config.core_count && !config.cores)
        s = NBCOLL_ERR_NULL;
    CPU_ZERO(&d->cores);
    for (size_t i = 0; s == NBCOLL_OK && i < config.core_count; i++)
        if (config.cores[i] < 0 || config.cores[i] >= CPU_SETSIZE)
            s = NBCOLL_ERR_CONFIG;
        else
            CPU_SET(config.cores[i], &d->cores);
    d->is_bound = config.core_count > 0;
    d->spin_ns = config.spin_ns ? config.spin_ns : NBCOLL_DRIVER_SPIN;
    return s;
}

/* The bell, and the descriptor on which it sleeps. */
static nbcoll_status nbcolli_driver_open(nbcoll_driver *d)
{
    struct epoll_event event = {.events = EPOLLIN};

    d->bell = nbcolli_bell_open();
    d->poller = epoll_create1(EPOLL_CLOEXEC);
    event.data.fd = d->bell;
    if (d->bell >= 0 && d->poller >= 0 && epoll_ctl(d->poller, EPOLL_CTL_ADD, d->bell, &event) == 0)
        return nbcolli_alive_open(&d->alive);
    return errno == ENOMEM ? NBCOLL_ERR_MEMORY : NBCOLL_ERR_TRANSPORT;
}

static void nbcolli_driver_close(nbcoll_driver *d)
{
    nbcoll_host host = d->host;

    if (d->bell >= 0)
        close(d->bell);
    if (d->poller >= 0)
        close(d->poller);
    nbcolli_free(&host, d->list, d->room * sizeof *d->list);
    nbcolli_free(&host, d, sizeof *d);
}

nbcoll_status nbcoll_driver_create(const nbcoll_driver_config *config, nbcoll_driver **out)
{
    nbcoll_driver read = {.bell = -1, .poller = -1}, *d;

    if (!out)
        return NBCOLL_ERR_NULL;
    nbcoll_status s = nbcolli_driver_read(&read, config);
    if (s != NBCOLL_OK)
        return s;
    d = nbcolli_alloc(&read.host, sizeof *d, 64);
    if (!d)
        return NBCOLL_ERR_MEMORY;
    memset(d, 0, sizeof *d);
    d->host = read.host;
    d->cores = read.cores;
    d->is_bound = read.is_bound;
    d->spin_ns = read.spin_ns;
    s = nbcolli_driver_open(d);
    if (s != NBCOLL_OK) {
        nbcolli_driver_close(d);
        return s;
    }
    *out = d;
    return NBCOLL_OK;
}

/* ---- contexts and agents ----------------------------------------------------------------------------------------- */

static nbcoll_status nbcolli_driver_grow(nbcoll_driver *d)
{
    size_t room = d->room ? 2 * d->room : 4;
    nbcolli_driver_entry *list;

    if (d->count < d->room)
        return NBCOLL_OK;
    list = nbcolli_alloc(&d->host, room * sizeof *list, 64);
    if (!list)
        return NBCOLL_ERR_MEMORY;
    if (d->count)
        memcpy(list, d->list, d->count * sizeof *list);
    nbcolli_free(&d->host, d->list, d->room * sizeof *list);
    d->list = list;
    d->room = room;
    return NBCOLL_OK;
}

static nbcoll_status nbcolli_driver_put(nbcoll_driver *d, void *who, int is_agent)
{
    nbcoll_status s = who ? nbcolli_driver_enter(d) : NBCOLL_ERR_NULL;
    if (s != NBCOLL_OK)
        return s;
    s = nbcolli_driver_grow(d);
    if (s == NBCOLL_OK)
        s = is_agent ? nbcolli_agent_does(who)->own(who, d, d->poller) : nbcolli_drive_own(who);
    if (s == NBCOLL_OK)
        d->list[d->count++] = (nbcolli_driver_entry){who, is_agent};
    nbcolli_driver_unlock(d);
    if (s == NBCOLL_OK)
        nbcolli_bell_ring(d->bell);
    return s;
}

/* The i-th: what a context has under way goes back to its callers. */
static void nbcolli_driver_drop(nbcoll_driver *d, size_t i)
{
    void *who = d->list[i].who;

    if (d->list[i].is_agent) {
        nbcolli_agent_does(who)->disown(who, d->poller);
    } else {
        d->left += nbcolli_drive_left(who);
        nbcolli_drive_end(who, d->poller);
        nbcolli_drive_disown(who);
    }
    d->list[i] = d->list[--d->count];
}

static nbcoll_status nbcolli_driver_take(nbcoll_driver *d, const void *who)
{
    nbcoll_status s = who ? nbcolli_driver_enter(d) : NBCOLL_ERR_NULL;
    if (s != NBCOLL_OK)
        return s;
    s = NBCOLL_ERR_ARGUMENT;
    for (size_t i = 0; i < d->count && s != NBCOLL_OK; i++)
        if (d->list[i].who == who) {
            nbcolli_driver_drop(d, i);
            s = NBCOLL_OK;
        }
    nbcolli_driver_unlock(d);
    return s;
}

nbcoll_status nbcoll_driver_add(nbcoll_driver *d, nbcoll_context *context)
{
    return nbcolli_driver_put(d, context, 0);
}

nbcoll_status nbcoll_driver_add_agent(nbcoll_driver *d, struct nbcoll_agent *agent)
{
    return nbcolli_driver_put(d, agent, 1);
}

nbcoll_status nbcoll_driver_remove(nbcoll_driver *d, nbcoll_context *context)
{
    return nbcolli_driver_take(d, context);
}

nbcoll_status nbcoll_driver_remove_agent(nbcoll_driver *d, struct nbcoll_agent *agent)
{
    return nbcolli_driver_take(d, agent);
}

/* ---- its end ----------------------------------------------------------------------------------------------------- */

nbcoll_status nbcoll_driver_stop(nbcoll_driver *d)
{
    nbcoll_status s = nbcolli_driver_check(d);
    if (s != NBCOLL_OK)
        return s;
    atomic_store_explicit(&d->stops, 1, memory_order_relaxed); /* the bell orders it, or it is seen a little later */
    nbcolli_bell_ring(d->bell);
    return NBCOLL_OK;
}

nbcoll_status nbcoll_driver_free(nbcoll_driver *d)
{
    nbcoll_status s = d ? nbcolli_driver_enter(d) : NBCOLL_OK;
    if (!d || s != NBCOLL_OK)
        return s;
    int has_thread = atomic_load_explicit(&d->thread, memory_order_relaxed) != NBCOLLI_DRIVER_ALONE;
    if (!has_thread && atomic_load_explicit(&d->runner, memory_order_acquire)) { /* sees what the last one did */
        nbcolli_driver_unlock(d);
        return NBCOLL_ERR_BUSY;
    }
    nbcolli_driver_unlock(d);
    if (has_thread) {
        nbcoll_driver_stop(d);
        nbcolli_driver_join(d);
    }
    while (d->count)
        nbcolli_driver_drop(d, d->count - 1);
    nbcolli_alive_close(d->alive);
    nbcolli_driver_close(d);
    return NBCOLL_OK;
}

nbcoll_status nbcoll_driver_count(const nbcoll_driver *driver, nbcoll_driver_counts *out)
{
    nbcoll_driver *d = (nbcoll_driver *)(uintptr_t)driver; /* only its lock changes */
    nbcoll_driver_counts now = {.size = sizeof now};

    if (!out)
        return NBCOLL_ERR_NULL;
    nbcoll_status s = nbcolli_driver_check(d);
    if (s != NBCOLL_OK || out->size < sizeof out->size)
        return s == NBCOLL_OK ? NBCOLL_ERR_CONFIG : s;
    /* relaxed: numbers of some moment */
    now.passes = atomic_load_explicit(&d->passes, memory_order_relaxed);
    now.sleeps = atomic_load_explicit(&d->sleeps, memory_order_relaxed);
    now.rings = atomic_load_explicit(&d->rings, memory_order_relaxed);
    now.looks = atomic_load_explicit(&d->looks, memory_order_relaxed);
    if (nbcolli_driver_lock(d) == NBCOLL_OK) {
        now.left = d->left;
        for (size_t i = 0; i < d->count; i++)
            now.left += d->list[i].is_agent ? 0 : nbcolli_drive_left(d->list[i].who);
        nbcolli_driver_unlock(d);
    }
    now.size = out->size < sizeof now ? out->size : sizeof now;
    memcpy(out, &now, now.size);
    return NBCOLL_OK;
}
