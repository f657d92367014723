/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shared memory of loopback ranks: that of the process. A rank's areas stay until the world is freed, since the others
 * may still use them.
 */
#include "world.h"

/* The head of reserved memory. `at` is the address behind it: all ranks are in one process. */
struct nbcolli_loopback_area {
    _Alignas(NBCOLLI_LOOPBACK_LINE) struct nbcolli_loopback_area *next;
    size_t bytes;
};

static nbcoll_status nbcolli_loopback_reserve(nbcoll_endpoint *ep, size_t bytes, uint64_t *at)
{
    struct nbcolli_loopback_end *e = nbcolli_loopback_end_of(ep);
    if (bytes > SIZE_MAX - sizeof(struct nbcolli_loopback_area))
        return NBCOLL_ERR_MEMORY;
    bytes += sizeof(struct nbcolli_loopback_area);
    struct nbcolli_loopback_area *area = nbcolli_alloc(e->world->config.host, bytes, NBCOLLI_LOOPBACK_LINE);
    if (!area)
        return NBCOLL_ERR_MEMORY;
    memset(area, 0, bytes);
    area->bytes = bytes;
    area->next = e->port->areas;
    e->port->areas = area;
    *at = (uintptr_t)(area + 1);
    return NBCOLL_OK;
}

static void nbcolli_loopback_release(nbcoll_endpoint *ep, uint64_t at)
{
    struct nbcolli_loopback_end *e = nbcolli_loopback_end_of(ep);
    struct nbcolli_loopback_area **link = &e->port->areas, *area = (struct nbcolli_loopback_area *)(uintptr_t)at - 1;
    while (*link && *link != area)
        link = &(*link)->next;
    if (!*link)
        return;
    *link = area->next;
    nbcolli_free(e->world->config.host, area, area->bytes);
}

void nbcolli_loopback_areas_free(nbcoll_loopback *w, int rank)
{
    for (struct nbcolli_loopback_area *area = w->port[rank].areas, *next; area; area = next) {
        next = area->next;
        nbcolli_free(w->config.host, area, area->bytes);
    }
}

static void *nbcolli_loopback_map(nbcoll_endpoint *ep, uint64_t at, size_t bytes)
{
    (void)ep;
    (void)bytes;
    return (void *)(uintptr_t)at;
}

static void nbcolli_loopback_shared_wake(nbcoll_endpoint *ep, int peer)
{
    struct nbcolli_loopback_port *port = nbcolli_loopback_end_of(ep)->world->port;

    for (int rank = 0; peer < 0 && rank < ep->ranks; rank++)
        if (rank != ep->rank)
            nbcolli_loopback_wake(&port[rank]);
    if (peer >= 0)
        nbcolli_loopback_wake(&port[peer]);
}

const nbcoll_shared nbcolli_loopback_shared = {.size = sizeof nbcolli_loopback_shared,
                                               .reserve = nbcolli_loopback_reserve,
                                               .release = nbcolli_loopback_release,
                                               .map = nbcolli_loopback_map,
                                               .wake = nbcolli_loopback_shared_wake};
