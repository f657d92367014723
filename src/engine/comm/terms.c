/* SPDX-License-Identifier: BSD-3-Clause
 * What a communicator says of itself to those who choose and build its schedules: see terms.h. */
#include "terms.h"

#include "nbcoll/select.h"
#include "../exposures/cells.h"

static int nbcolli_terms_reaches(const nbcolli_link *link, int address)
{
    const nbcoll_bulk *bulk = link->transport.bulk;
    return !bulk->reaches || bulk->reaches(link->endpoint, address);
}

int nbcolli_area_is_possible(const nbcolli_link *link)
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

/* Of one that is being made nobody knows yet who has this rank's first endpoint, only that they all are its ranks. */
static int nbcolli_terms_shares_with(const nbcoll_comm *over, int address)
{
    const nbcolli_link *link = over->link->first;
    int is_one = over->ballot != NULL;

    for (int rank = 0; rank < over->size && !is_one; rank++)
        is_one = over->peer[rank].link == link && over->peer[rank].address == address;
    return is_one;
}

uint32_t nbcolli_area_shares(const nbcoll_comm *over)
{
    const nbcolli_link *link = over->link->first;

    if (!nbcolli_area_is_possible(link))
        return 0;
    for (int address = 0; address < link->endpoint->ranks; address++)
        if (!nbcolli_terms_reaches(link, address) && nbcolli_terms_shares_with(over, address))
            return NBCOLLI_SHARES_WITH_SOME;
    return NBCOLLI_SHARES_WITH_ALL;
}

int nbcoll_comm_shares(void *user, int peer)
{
    const nbcoll_comm *comm = user;

    if (!comm || peer < 0 || peer >= comm->size || !nbcolli_has_cells_of(comm, peer))
        return 0;
    return nbcolli_terms_reaches(comm->peer[peer].link, comm->peer[peer].address);
}

nbcoll_status nbcoll_comm_terms(const nbcoll_comm *comm, nbcoll_terms *out)
{
    if (!comm || !out)
        return NBCOLL_ERR_NULL;
    size_t size = out->size;
    nbcoll_terms terms = {.size = size,
                          .ranks = comm->size,
                          .shared = comm->shared,
                          .flags = comm->config.flags,
                          .between = comm->agreed.far,
                          .large = comm->config.large,
                          .rules = comm->config.rules,
                          .rule_count = comm->config.rule_count,
                          .credits = comm->agreed.credits,
                          .interfaces = comm->agreed.interfaces,
                          .shelf = comm->agreed.shelf,
                          .shelf_part = comm->agreed.shelf_part,
                          .nodes = &comm->nodes,
                          .inside = comm->agreed.near,
                          .nodes_share = comm->nodes_share,
                          .progress_cores = comm->agreed.progress_cores,
                          .ranks_per_core = comm->agreed.ranks_per_core,
                          .carries = atomic_load_explicit(&comm->carries, memory_order_relaxed)}; /* for itself */
    if (size < sizeof size)
        return NBCOLL_ERR_CONFIG;
    terms.between.eager += !terms.between.eager; /* 0 would be the default, or not known */
    terms.inside.eager += !terms.inside.eager;
    memcpy(out, &terms, size < sizeof terms ? size : sizeof terms);
    return NBCOLL_OK;
}
