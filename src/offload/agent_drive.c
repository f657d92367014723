/* SPDX-License-Identifier: BSD-3-Clause
 * Agents as a driver sees them (src/driver). Who has something for an agent publishes it, then takes `driver_sleeps`
 * and rings; the driver sets that word, then looks once more: all four seq_cst, so that one sees the other. The bell is
 * the agent's own, since who rings may do so when the driver has gone. */
#include <sys/epoll.h>

#include "agent.h"
#include "../host/wakeup.h"

void nbcolli_agent_rouse(nbcoll_agent *a)
{
    if (nbcolli_wakeup_take(&a->driver_sleeps))
        nbcolli_bell_ring(a->driver_bell);
}

nbcoll_status nbcolli_agent_own(nbcoll_agent *a, const void *driver, int poller)
{
    struct epoll_event event = {.events = EPOLLIN};
    uintptr_t nobody = 0;
    if (a->attached)
        return NBCOLL_ERR_CONFIG;
    /* acquire: sees what the last one left */
    if (!atomic_compare_exchange_strong_explicit(&a->driver, &nobody, (uintptr_t)driver, memory_order_acquire,
                                                 memory_order_relaxed))
        return NBCOLL_ERR_BUSY;
    if (a->driver_bell < 0)
        a->driver_bell = nbcolli_bell_open();
    if (a->driver_bell >= 0 && epoll_ctl(poller, EPOLL_CTL_ADD, a->driver_bell, &event) == 0)
        return NBCOLL_OK;
    atomic_store_explicit(&a->driver, 0, memory_order_release); /* shows the bell to the next */
    return NBCOLL_ERR_TRANSPORT;
}

void nbcolli_agent_disown(nbcoll_agent *a, int poller)
{
    nbcolli_agent_wake(a);
    epoll_ctl(poller, EPOLL_CTL_DEL, a->driver_bell, NULL);
    atomic_store_explicit(&a->driver, 0, memory_order_release); /* shows what progress has done to the next */
}

static nbcolli_agent_rest nbcolli_agent_routes_rest(nbcoll_agent *a)
{
    int is_going = 0;

    if (atomic_load(&a->lent)) /* seq_cst, as all here: after the driver has said that it sleeps */
        return NBCOLLI_AGENT_NO_REST;
    for (nbcolli_route *r = a->routes; r; r = r->next) {
        const nbcolli_agent_route_end *e = (const nbcolli_agent_route_end *)(const void *)r;
        if (atomic_load(&r->posted) != e->begun || atomic_load(&r->state) == NBCOLLI_ROUTE_CLOSING)
            return NBCOLLI_AGENT_NO_REST;
        is_going |= e->begun != e->ended;
    }
    return is_going ? NBCOLLI_AGENT_LOOKS : NBCOLLI_AGENT_RESTS;
}

nbcolli_agent_rest nbcolli_agent_arm(nbcoll_agent *a)
{
    atomic_store(&a->driver_sleeps, 1); /* seq_cst, as the looks that follow */
    nbcolli_agent_rest routes = nbcolli_agent_routes_rest(a);
    int is_going = a->preposted != NULL || routes == NBCOLLI_AGENT_LOOKS;
    if (routes == NBCOLLI_AGENT_NO_REST)
        return routes;
    if (atomic_load(&a->handed) || atomic_load(&a->begun) ||
        (atomic_load(&a->is_cancelled) && atomic_load(&a->failed) == NBCOLL_OK))
        return NBCOLLI_AGENT_NO_REST;
    for (const nbcoll_program_run *r = a->runs; r; r = r->next) {
        int state = atomic_load(&r->state);
        if (state == NBCOLLI_AGENT_REPORTED)
            return NBCOLLI_AGENT_NO_REST;
        is_going |= state != NBCOLLI_AGENT_ENDED;
    }
    return is_going ? NBCOLLI_AGENT_LOOKS : NBCOLLI_AGENT_RESTS;
}

int nbcolli_agent_wake(nbcoll_agent *a)
{
    atomic_store_explicit(&a->driver_sleeps, 0, memory_order_relaxed); /* awake: it looks in any case */
    return nbcolli_bell_hush(a->driver_bell) > 0;
}
