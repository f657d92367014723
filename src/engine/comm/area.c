/* SPDX-License-Identifier: BSD-3-Clause */
#include "area.h"

#include "../exposures/cells.h"
#include "../exposures/staging.h"
#include "../../host/host.h"

/* ---- who shares -------------------------------------------------------------------------------------------------- */

static int nbcolli_area_reaches(const nbcolli_link *link, int address)
{
    const nbcoll_bulk *bulk = link->transport.bulk;
    return !bulk->reaches || bulk->reaches(link->endpoint, address);
}

/* Can communicators with this first endpoint have cells? Cells need short keys that need no deregistration, and fetches
 * that register nothing. */
static int nbcolli_area_is_possible(const nbcolli_link *link)
{
    const nbcoll_bulk *bulk = link->transport.bulk;

    return link->transport.shared && bulk && bulk->get && !bulk->deregister_memory &&
           bulk->flags & NBCOLL_BULK_ANY_LOCAL && link->limits.key_bytes <= NBCOLLI_CELL_KEY * sizeof(uint64_t);
}

int nbcolli_area_suits(const nbcoll_comm *comm)
{
    const nbcolli_link *link = comm->link->first;

    return comm->config.cells && nbcolli_area_is_possible(link) &&
           (comm->leader < 0 || link->transport.bulk->flags & NBCOLL_BULK_ONE_KEY);
}

uint32_t nbcolli_area_shares(const nbcoll_comm *over)
{
    const nbcolli_link *link = over->link->first;
    /* while it is being made nobody knows which of its ranks have this rank's first endpoint */
    int all = over->ballot != NULL, n = all ? link->endpoint->ranks : over->size;

    if (!nbcolli_area_is_possible(link))
        return 0;
    for (int i = 0; i < n; i++) {
        int address = all ? i : over->peer[i].link == link ? over->peer[i].address : -1;
        if (address >= 0 && !nbcolli_area_reaches(link, address))
            return NBCOLLI_SHARES_WITH_SOME;
    }
    return NBCOLLI_SHARES_WITH_ALL;
}

int nbcoll_comm_shares(void *user, int peer)
{
    const nbcoll_comm *comm = user;

    if (!comm || peer < 0 || peer >= comm->size || !nbcolli_has_cells_of(comm, peer))
        return 0;
    return nbcolli_area_reaches(comm->peer[peer].link, comm->peer[peer].address);
}

/* ---- parts ------------------------------------------------------------------------------------------------------- */

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
            nbcolli_staging_forget(link, area);
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

static nbcolli_layout nbcolli_area_layout(const nbcoll_comm *comm, int most)
{
    const nbcoll_comm_config *config = &comm->config;
    return comm->leader < 0 ? nbcolli_layout_of((size_t)most, config->cells)
                            : nbcolli_layout_led((size_t)most, config->slots, comm->leader);
}

uint64_t nbcolli_area_offer(nbcoll_comm *comm, int most)
{
    nbcolli_link *link = comm->link->first;

    if (!comm->config.cells)
        return 0;
    nbcolli_layout layout = nbcolli_area_layout(comm, most);
    int shows = comm->leader < 0 || comm->leader == comm->parent->rank;
    comm->offered_bytes = nbcolli_area_bytes(&layout, comm->config.slots, shows);
    if (!nbcolli_area_suits(comm) || most > NBCOLLI_CELL_RANKS)
        return 0;
    comm->offered = nbcolli_area_reserve(link, comm->offered_bytes, most);
    if (!comm->offered)
        return 0;
    /* release: readers see it zeroed. The vote orders that, too, but between threads perhaps through other processes,
     * where no checker can follow. */
    atomic_store_explicit((_Atomic uint32_t *)(void *)comm->offered->base, 0, memory_order_release);
    return comm->offered->at;
}

/* Does this rank use the part of that one? If leaders show, both numbers are ranks in the parent. */
static int nbcolli_area_concerns(const nbcoll_comm *comm, int rank)
{
    int mine = comm->leader < 0 ? -1 : comm->parent->rank;
    const nbcoll_nodes *nodes = mine < 0 ? NULL : &comm->parent->nodes;
    return mine < 0 || rank == mine || rank == comm->leader ||
           (mine == comm->leader && nbcoll_node_of(nodes, rank) == nbcoll_node_of(nodes, mine));
}

void nbcolli_area_find(nbcoll_comm *comm, int rank, uint64_t at, int most)
{
    nbcolli_link *link = comm->link->first;
    nbcolli_layout layout = nbcolli_area_layout(comm, most);
    int shows = comm->leader < 0 || comm->leader == rank;

    if (!comm->agreed.shares || !comm->peer[rank].is_near)
        return;
    size_t bytes = nbcolli_area_bytes(&layout, comm->config.slots, shows); /* it may be larger */
    if (at && nbcolli_area_concerns(comm, rank))
        comm->parts[rank] = link->shared.map(link->endpoint, at, bytes);
    int lacks = !at || (nbcolli_area_concerns(comm, rank) && !comm->parts[rank]);
    if (lacks && (comm->lacking < 0 || rank < comm->lacking))
        comm->lacking = rank;
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

void nbcolli_area_take(nbcoll_comm *comm)
{
    /* this rank knows whether it has a part itself: votes came by messages */
    if (!comm->agreed.shares || comm->lacking >= 0 || !comm->offered) {
        nbcolli_area_return(comm);
        if (comm->lacking >= 0)
            nbcolli_log(&comm->context->host, NBCOLL_ERR_MEMORY,
                        "a communicator of %d ranks has no cells and works by messages: rank %d has no %zu bytes of "
                        "shared memory",
                        comm->size, comm->lacking, comm->offered_bytes);
        return;
    }
    comm->parts[comm->rank] = comm->offered->base;
    comm->area = comm->parts;
    comm->layout = nbcolli_area_layout(comm, comm->size);
    comm->reader_bit = nbcolli_reader_bit(comm->rank, comm->size);
    comm->shared = comm->agreed.shares == NBCOLLI_SHARES_WITH_ALL && comm->leader < 0;
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
        slot->at = comm->layout.slots + i * comm->layout.stride;
        slot->row = comm->layout.words + i * comm->layout.row;
        slot->own_word = nbcolli_own_word(comm, slot, comm->rank);
        slot->shown_to = comm->exposed + i * (size_t)comm->size + comm->rank;
    }
    comm->offered->ranks = comm->size;
    for (int rank = 0; rank < comm->size; rank++)
        comm->offered->address[rank] =
            nbcolli_has_cells_of(comm, rank) ? (uint32_t)comm->peer[rank].address : UINT32_MAX;
}

static nbcolli_freeing nbcolli_area_freeing(const nbcoll_comm *comm)
{
    return nbcolli_broken(comm) || comm->making || comm->context->is_ending ? NBCOLLI_FREED_TOLD
           : comm->failed_floor                                             ? NBCOLLI_FREED_FAILED
                                                                            : NBCOLLI_FREED_WELL;
}

void nbcolli_area_leave(nbcoll_comm *comm)
{
    nbcolli_area *mine = comm->offered;

    if (comm->area)
        nbcolli_staging_leave(comm);
    for (int owner = 0; owner < comm->size; owner++)
        if (nbcolli_has_cells_of(comm, owner)) { /* nbcolli_area_is_left, and nbcolli_exposure_is_held */
            atomic_store(nbcolli_area_departed(comm, owner, comm->rank), (uint32_t)nbcolli_area_freeing(comm));
            if (owner != comm->rank)
                nbcolli_shared_wake(comm, owner);
        }
    if (mine && mine->ranks) {
        mine->next = comm->link->first->areas;
        comm->link->first->areas = mine;
    } else
        nbcolli_area_keep(comm);
}
