/* SPDX-License-Identifier: BSD-3-Clause
 * The memory of a communicator's cells. Who will be its first rank is not known before the vote, so that each rank
 * offers some; the first one's is taken, the others give theirs back. A freed communicator's is reserved until all its
 * ranks have left it. Without an offer the communicator works by messages alone. */
#include "nbcoll/inline/context.h"

enum { SHARES_WITH_SOME = 1, SHARES_WITH_ALL = 3 }; /* the ranks' common bits count */

void nbcolli_area_release(nbcolli_link *link, nbcolli_area *area)
{
    link->shared.release(link->endpoint, area->at);
    nbcolli_free(&link->context->host, area, sizeof *area);
}

static int area_is_left(const nbcolli_area *area)
{
    const _Atomic uint32_t *left = (const _Atomic uint32_t *)(const void *)area->base;

    for (int rank = 0; rank < area->ranks; rank++)
        if (!atomic_load_explicit(&left[rank], memory_order_acquire)) /* after all it did there */
            return 0;
    return 1;
}

/* Gives back what nobody uses any more. */
static void areas_sweep(nbcolli_link *link)
{
    for (nbcolli_area **at = &link->areas; *at;) {
        nbcolli_area *area = *at;
        if (area_is_left(area)) {
            *at = area->next;
            nbcolli_area_release(link, area);
        } else
            at = &area->next;
    }
}

nbcolli_area *nbcolli_area_reserve(nbcolli_link *link, size_t bytes)
{
    areas_sweep(link);
    nbcolli_area *area = nbcolli_alloc(&link->context->host, sizeof *area, _Alignof(nbcolli_area));
    if (!area)
        return NULL;
    if (link->shared.reserve(link->endpoint, bytes, &area->at) != NBCOLL_OK) {
        nbcolli_free(&link->context->host, area, sizeof *area);
        return NULL;
    }
    area->base = link->shared.map(link->endpoint, area->at, bytes);
    area->ranks = 0;
    return area;
}

uint64_t nbcolli_area_offer(nbcoll_comm *comm, int most)
{
    nbcolli_link *link = comm->link;
    size_t bytes = nbcolli_area_bytes((size_t)most, comm->config.slots, comm->config.cells);

    if (!link->transport.shared || !link->transport.bulk)
        return 0;
    comm->offered = nbcolli_area_reserve(link, bytes);
    if (!comm->offered)
        return 0;
    /* release: zeroed, for those that take it. The vote says so too, but to threads perhaps by way of other processes,
     * where no checker can follow. */
    atomic_store_explicit((_Atomic uint32_t *)(void *)comm->offered->base, 0, memory_order_release);
    return comm->offered->at;
}

void nbcolli_area_take(nbcoll_comm *comm, uint64_t at)
{
    nbcolli_link *link = comm->link;
    nbcolli_area *mine = comm->offered;

    if (at)
        comm->area = link->shared.map(link->endpoint, at,
                                      nbcolli_area_bytes((size_t)comm->size, comm->config.slots, comm->config.cells));
    if (comm->area)
        (void)atomic_load_explicit(nbcolli_area_left(comm, 0), memory_order_acquire); /* see nbcolli_area_offer */
    comm->shared = comm->area && comm->agreed.shares == SHARES_WITH_ALL;
    if (mine && mine->at == at) {
        mine->ranks = comm->size;
    } else if (mine) {
        nbcolli_area_release(link, mine);
        comm->offered = NULL;
    }
}

/* What was offered in a vote that ended badly here stays reserved: others may have taken it. */
void nbcolli_area_leave(nbcoll_comm *comm)
{
    nbcolli_area *mine = comm->offered;

    if (comm->area)
        atomic_store_explicit(nbcolli_area_left(comm, comm->rank), 1, memory_order_release); /* see area_is_left */
    if (!mine)
        return;
    if (mine->ranks) {
        mine->next = comm->link->areas;
        comm->link->areas = mine;
    } else
        nbcolli_free(&comm->context->host, mine, sizeof *mine);
}

static int reaches(const nbcolli_peer *peer)
{
    const nbcoll_bulk *bulk = peer->link->transport.bulk;
    return !bulk->reaches || bulk->reaches(peer->link->endpoint, peer->address);
}

uint32_t nbcolli_area_shares(const nbcoll_comm *over)
{
    const nbcoll_transport *t = &over->link->transport;

    if (!t->shared || !t->bulk)
        return 0;
    for (int rank = 0; rank < over->size; rank++)
        if (!reaches(&over->peer[rank]))
            return SHARES_WITH_SOME;
    return SHARES_WITH_ALL;
}

int nbcoll_comm_shares(void *user, int peer)
{
    const nbcoll_comm *comm = user;

    if (!comm || !comm->area || peer < 0 || peer >= comm->size)
        return 0;
    return reaches(&comm->peer[peer]);
}
