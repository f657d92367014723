/* SPDX-License-Identifier: BSD-3-Clause
 * The memory of a communicator's cells: see area.h. */
#include <stdio.h>

#include "area.h"

#include "terms.h"
#include "../3_run/cells.h"
#include "../3_run/shelf.h"
#include "../../host/host.h"

size_t nbcolli_area_memory(int most)
{
    return sizeof(nbcolli_area) + (size_t)most * sizeof(uint32_t);
}

void nbcolli_area_release(nbcolli_link *link, nbcolli_area *area)
{
    const nbcoll_host *host = &link->context->host;

    if (link->transport.shared)
        link->shared.release(link->endpoint, area->at);
    else {
        if (link->bulk.deregister_memory)
            link->bulk.deregister_memory(link->endpoint, &area->registration);
        nbcolli_free(host, area->base, area->bytes);
    }
    nbcolli_free(host, area, nbcolli_area_memory(area->room));
}

nbcoll_status nbcolli_area_register(nbcolli_link *link, size_t bytes, nbcolli_area **out)
{
    const nbcoll_host *host = &link->context->host;
    const nbcoll_bulk *bulk = &link->bulk;
    uint32_t access = (bulk->get ? NBCOLL_PEER_READS : 0) | (bulk->put ? NBCOLL_PEER_WRITES : 0) |
                      (bulk->flags & NBCOLL_BULK_ANY_LOCAL ? 0 : NBCOLL_LOCAL_END);
    nbcolli_area *area = nbcolli_alloc(host, nbcolli_area_memory(0), _Alignof(nbcolli_area));
    unsigned char *base = area && bytes < SIZE_MAX / 2 ? nbcolli_alloc(host, bytes, NBCOLLI_APART) : NULL;
    nbcoll_status s = base ? NBCOLL_OK : NBCOLL_ERR_MEMORY;

    if (base) {
        memset(base, 0, bytes);
        s = bulk->register_memory(link->endpoint, -1, base, bytes, access, &area->registration);
    }
    if (s != NBCOLL_OK) {
        nbcolli_free(host, base, bytes);
        nbcolli_free(host, area, nbcolli_area_memory(0));
        return s;
    }
    area->base = base;
    area->bytes = bytes;
    area->room = area->ranks = 0;
    *out = area;
    return NBCOLL_OK;
}

/* Gives back what nobody uses any more. */
static void nbcolli_areas_sweep(nbcolli_link *link)
{
    for (nbcolli_area **at = &link->areas; *at;) {
        nbcolli_area *area = *at;
        if (nbcolli_area_is_left(link, area)) {
            *at = area->next;
            nbcolli_shelf_forget(link, area);
            nbcolli_area_release(link, area);
        } else
            at = &area->next;
    }
}

nbcolli_area *nbcolli_area_reserve(nbcolli_link *link, size_t bytes, int most)
{
    nbcolli_areas_sweep(link);
    nbcolli_area *area = nbcolli_alloc(&link->context->host, nbcolli_area_memory(most), _Alignof(nbcolli_area));
    if (!area)
        return NULL;
    if (link->shared.reserve(link->endpoint, bytes, &area->at) != NBCOLL_OK) {
        nbcolli_free(&link->context->host, area, nbcolli_area_memory(most));
        return NULL;
    }
    area->bytes = bytes;
    area->room = most;
    area->base = link->shared.map(link->endpoint, area->at, bytes);
    area->ranks = 0;
    return area;
}

uint64_t nbcolli_area_offer(nbcoll_comm *comm, int most)
{
    nbcolli_link *link = comm->link->first;

    if (!comm->config.cells)
        return 0;
    comm->offered_bytes = nbcolli_area_bytes((size_t)most, comm->config.slots, comm->config.cells);
    if (!nbcolli_area_is_possible(link) || most > NBCOLLI_CELL_RANKS)
        return 0;
    comm->offered = nbcolli_area_reserve(link, comm->offered_bytes, most);
    if (!comm->offered)
        return 0;
    /* release: zeroed, for those that take it. The vote says so too, but to threads perhaps by way of other processes,
     * where no checker can follow. */
    atomic_store_explicit((_Atomic uint32_t *)(void *)comm->offered->base, 0, memory_order_release);
    return comm->offered->at;
}

void nbcolli_area_find(nbcoll_comm *comm, int rank, uint64_t at, int most)
{
    nbcolli_link *link = comm->link->first;
    size_t bytes = nbcolli_area_bytes((size_t)most, comm->config.slots, comm->config.cells); /* it may be larger */

    if (comm->agreed.shares)
        comm->parts[rank] = at && comm->peer[rank].is_near ? link->shared.map(link->endpoint, at, bytes) : NULL;
}

void nbcolli_area_return(nbcoll_comm *comm)
{
    if (comm->offered)
        nbcolli_area_release(comm->link->first, comm->offered);
    comm->offered = NULL;
}

void nbcolli_area_keep(nbcoll_comm *comm)
{
    if (comm->offered)
        nbcolli_free(&comm->context->host, comm->offered, nbcolli_area_memory(comm->offered->room));
    comm->offered = NULL;
}

static void nbcolli_area_log_lack(const nbcoll_comm *comm)
{
    const nbcoll_host *host = &comm->context->host;
    char text[160];

    if (!host->log)
        return;
    snprintf(text, sizeof text,
             "a communicator of %d ranks has no cells and works by messages: rank %d has no %zu bytes of shared memory",
             comm->size, comm->lacking, comm->offered_bytes);
    host->log(host->user, NBCOLL_ERR_MEMORY, text);
}

void nbcolli_area_take(nbcoll_comm *comm)
{
    for (int rank = comm->size - 1; comm->agreed.shares && rank >= 0; rank--)
        if (comm->peer[rank].is_near && !comm->parts[rank])
            comm->lacking = rank;
    if (!comm->agreed.shares || comm->lacking >= 0) {
        nbcolli_area_return(comm);
        if (comm->lacking >= 0)
            nbcolli_area_log_lack(comm);
        return;
    }
    comm->area = comm->parts;
    comm->layout = nbcolli_layout_of((size_t)comm->size, comm->config.cells);
    comm->shared = comm->agreed.shares == NBCOLLI_SHARES_WITH_ALL;
    for (int owner = 0; owner < comm->size; owner++) {
        comm->shared &= nbcolli_has_cells_of(comm, owner);
        if (nbcolli_has_cells_of(comm, owner))
            (void)atomic_load_explicit(nbcolli_area_departed(comm, owner, 0),
                                       memory_order_acquire); /* nbcolli_area_offer */
    }
    for (uint32_t i = 0; i < NBCOLLI_STARTED; i++) /* relaxed: others see it in time, or a little later */
        atomic_store_explicit(&nbcolli_area_started(comm, comm->rank)[i],
                              atomic_load_explicit(&comm->started[i], memory_order_relaxed), memory_order_relaxed);
    comm->started = nbcolli_area_started(comm, comm->rank);
    for (uint32_t i = 0; i < comm->config.slots; i++) {
        nbcolli_slot *slot = &comm->slot[i];
        slot->at = (size_t)(nbcolli_cells_of(comm, i, comm->rank) - comm->area[comm->rank]);
        slot->own_word = nbcolli_word(comm, i, comm->rank, comm->rank);
        slot->shown_to = comm->exposed + i * (size_t)comm->size + comm->rank;
    }
    comm->offered->ranks = comm->size;
    for (int rank = 0; rank < comm->size; rank++)
        comm->offered->address[rank] =
            nbcolli_has_cells_of(comm, rank) ? (uint32_t)comm->peer[rank].address : UINT32_MAX;
}

void nbcolli_area_leave(nbcoll_comm *comm)
{
    nbcolli_area *mine = comm->offered;

    if (comm->area)
        nbcolli_shelf_leave(comm);
    for (int owner = 0; owner < comm->size; owner++)
        if (nbcolli_has_cells_of(comm, owner))
            atomic_store_explicit(nbcolli_area_departed(comm, owner, comm->rank), 1,
                                  memory_order_release); /* nbcolli_area_is_left */
    if (!mine)
        return;
    if (mine->ranks) {
        mine->next = comm->link->first->areas;
        comm->link->first->areas = mine;
    } else
        nbcolli_free(&comm->context->host, mine, nbcolli_area_memory(mine->room));
}
