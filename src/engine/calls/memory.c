/* SPDX-License-Identifier: BSD-3-Clause
 * Memory that other ranks read in place. */
#include "../comm/area.h"
#include "../progress/lock.h"

/* The first endpoint that shares memory; else the first that moves bulk data; else null. */
static nbcolli_link *nbcolli_memory_link(const nbcoll_comm *comm)
{
    nbcolli_link *found = NULL;

    for (nbcolli_link *link = comm->link->first; link; link = link->beside)
        if (link->transport.bulk && (!found || (link->transport.shared && !found->transport.shared)))
            found = link;
    return found;
}

nbcoll_status nbcoll_mem_alloc(nbcoll_comm *comm, size_t bytes, void **out)
{
    nbcoll_status s = comm && out ? nbcolli_enter(comm->context) : NBCOLL_ERR_NULL;
    if (s != NBCOLL_OK)
        return s;
    nbcolli_link *link = nbcolli_memory_link(comm);
    if (!link)
        return nbcolli_leave(comm->context, NBCOLL_ERR_UNSUPPORTED);
    nbcolli_area *area = NULL;
    if (!link->transport.shared)
        s = nbcolli_area_register(link, bytes ? bytes : 1, &area);
    else if (!(area = nbcolli_area_reserve(link, bytes ? bytes : 1, 0)))
        s = NBCOLL_ERR_MEMORY;
    if (s != NBCOLL_OK)
        return nbcolli_leave(comm->context, s);
    area->next = link->memory;
    link->memory = area;
    *out = area->base;
    return nbcolli_leave(comm->context, NBCOLL_OK);
}

nbcoll_status nbcoll_mem_free(nbcoll_comm *comm, void *memory)
{
    nbcoll_status s = comm ? nbcolli_enter(comm->context) : NBCOLL_ERR_NULL;
    if (s != NBCOLL_OK || !memory)
        return s == NBCOLL_OK ? nbcolli_leave(comm->context, s) : s;
    nbcolli_link *link = nbcolli_memory_link(comm);
    for (nbcolli_area **at = link ? &link->memory : NULL; at && *at; at = &(*at)->next)
        if ((*at)->base == memory) {
            nbcolli_area *area = *at;
            *at = area->next;
            nbcolli_area_release(link, area);
            return nbcolli_leave(comm->context, NBCOLL_OK);
        }
    return nbcolli_leave(comm->context, NBCOLL_ERR_BUFFER);
}
