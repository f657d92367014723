/* SPDX-License-Identifier: BSD-3-Clause
 * What a communicator says of itself to those who choose and build its schedules: see terms.h. */
#include "terms.h"

#include "../3_run/cells.h"
#include "nbcoll/select.h"

static int nbcolli_terms_reaches(const nbcolli_peer *peer)
{
    const nbcoll_bulk *bulk = peer->link->transport.bulk;
    return !bulk->reaches || bulk->reaches(peer->link->endpoint, peer->address);
}

int nbcolli_area_is_possible(const nbcolli_link *link)
{
    const nbcoll_bulk *bulk = link->transport.bulk;

    return link->first == link && link->transport.shared && bulk && bulk->get && !bulk->deregister_memory &&
           bulk->flags & NBCOLL_BULK_ANY_LOCAL && link->limits.key_bytes <= NBCOLLI_CELL_KEY * sizeof(uint64_t);
}

uint32_t nbcolli_area_shares(const nbcoll_comm *over)
{
    if (!nbcolli_area_is_possible(over->link))
        return 0;
    for (int rank = 0; rank < over->size; rank++)
        if (!nbcolli_terms_reaches(&over->peer[rank]))
            return NBCOLLI_SHARES_WITH_SOME;
    return NBCOLLI_SHARES_WITH_ALL;
}

int nbcoll_comm_shares(void *user, int peer)
{
    const nbcoll_comm *comm = user;

    if (!comm || !comm->area || peer < 0 || peer >= comm->size)
        return 0;
    return nbcolli_terms_reaches(&comm->peer[peer]);
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
                          .alpha_ns = comm->agreed.alpha_ns,
                          .beta_ps = comm->agreed.beta_ps,
                          .overhead_ns = comm->agreed.overhead_ns,
                          .large = comm->config.large,
                          .rules = comm->config.rules,
                          .rule_count = comm->config.rule_count,
                          .eager = comm->agreed.eager ? comm->agreed.eager : 1,
                          .credits = comm->agreed.credits,
                          .get_ns = comm->agreed.get_ns,
                          .gamma_ps = comm->agreed.gamma_ps,
                          .eager_ps = comm->agreed.eager_ps,
                          .shelf = comm->agreed.shelf};
    if (size < sizeof size)
        return NBCOLL_ERR_CONFIG;
    memcpy(out, &terms, size < sizeof terms ? size : sizeof terms);
    return NBCOLL_OK;
}
