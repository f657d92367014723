/* SPDX-License-Identifier: BSD-3-Clause
 * Communicators as the program sees them: their end, what they say of themselves, and are told. */
#include "../wire/giveup.h"
#include "../wire/unexpected.h"
#include "../exposures/cells.h"
#include "../run/called.h"
#include "../run/fail.h"
#include "../comm/comm.h"
#include "../progress/lock.h"
#include "../progress/progress.h"

nbcoll_status nbcoll_comm_free(nbcoll_comm *comm)
{
    if (!comm)
        return NBCOLL_OK;
    nbcoll_context *c = comm->context;
    nbcoll_status s = nbcolli_enter(c);
    if (s != NBCOLL_OK)
        return s;
    nbcolli_drain(c); /* work left by a tick names communicators, such as one made over this */
    int busy = comm->active > 0 || comm->holders;
    for (const nbcolli_request *r = c->ended; r; r = r->next)
        busy |= r->persistent && r->comm == comm; /* its callback is still to be told */
    if (busy)
        return nbcolli_leave(c, NBCOLL_ERR_BUSY);
    /* others may wait for operations not started here; after a failure they ask, and learn that this rank has left */
    nbcoll_status why = comm->failed_floor ? NBCOLL_ERR_CANCELLED : NBCOLL_ERR_MISMATCH;
    if (nbcolli_unexpected_drop(comm, 0, UINT64_MAX, why) && why == NBCOLL_ERR_MISMATCH) {
        comm->told[comm->rank].has_freed = 1;
        nbcolli_comm_break(comm, comm->rank, NBCOLL_ERR_MISMATCH, comm->taken);
    }
    nbcolli_comm_destroy(comm);
    return nbcolli_leave(c, NBCOLL_OK);
}

nbcoll_status nbcoll_comm_declare_lost(nbcoll_comm *comm, int rank)
{
    nbcoll_status s = comm ? nbcolli_enter(comm->context) : NBCOLL_ERR_NULL;
    if (s != NBCOLL_OK)
        return s;
    if (rank < 0 || rank >= comm->size || rank == comm->rank)
        return nbcolli_leave(comm->context, NBCOLL_ERR_RANK);
    nbcolli_give_up(comm->peer[rank].link, comm->peer[rank].address);
    nbcolli_drain(comm->context);
    return nbcolli_leave(comm->context, NBCOLL_OK);
}

int nbcoll_comm_rank(const nbcoll_comm *comm)
{
    return comm->rank;
}

int nbcoll_comm_size(const nbcoll_comm *comm)
{
    return comm->size;
}

const nbcoll_nodes *nbcoll_comm_nodes(const nbcoll_comm *comm)
{
    return &comm->nodes;
}

uint32_t nbcoll_comm_flags(const nbcoll_comm *comm)
{
    return comm->config.flags;
}

size_t nbcoll_comm_active(const nbcoll_comm *comm)
{
    if (nbcolli_enter(comm->context) != NBCOLL_OK)
        return 0;
    size_t active = comm->active;
    nbcolli_leave(comm->context, NBCOLL_OK);
    return active;
}

nbcoll_status nbcoll_comm_failure(const nbcoll_comm *comm, nbcoll_failure *out)
{
    nbcoll_status s = comm && out ? nbcolli_enter(comm->context) : NBCOLL_ERR_NULL;
    if (s != NBCOLL_OK)
        return s;
    *out = comm->failure;
    return nbcolli_leave(comm->context, NBCOLL_OK);
}

nbcoll_status nbcoll_comm_cells(const nbcoll_comm *comm, nbcoll_cells *out)
{
    if (!comm || !out)
        return NBCOLL_ERR_NULL;
    if (nbcolli_is_forked(comm->context))
        return NBCOLL_ERR_FORKED;
    nbcoll_cells cells = {0, comm->area != NULL, comm->lacking, comm->offered_bytes, comm->config.cells};
    return nbcolli_give_tagged(out, &cells, sizeof cells);
}

nbcoll_status nbcoll_comm_schedules(nbcoll_comm *comm, nbcoll_schedules *out)
{
    if (!comm || !out)
        return NBCOLL_ERR_NULL;
    nbcoll_status s = nbcolli_enter_caller(comm->context);
    if (s != NBCOLL_OK)
        return s;
    const nbcolli_cache *cache = &comm->cache;
    nbcoll_schedules now = {0, cache->entries.count, cache->bytes, cache->most, comm->next_tag, cache->built,
                            cache->evicted};
    nbcolli_leave_caller(comm->context);
    return nbcolli_give_tagged(out, &now, sizeof now);
}

size_t nbcoll_cells_bytes(const nbcoll_comm_config *given, int ranks)
{
    nbcoll_comm_config config;

    if (ranks < 1 || ranks > NBCOLLI_CELL_RANKS || nbcolli_comm_config_read(given, &config) != NBCOLL_OK)
        return 0;
    nbcolli_layout layout = nbcolli_layout_of((size_t)ranks, config.cells);
    return nbcolli_area_bytes(&layout, config.slots, 1);
}
