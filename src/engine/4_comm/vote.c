/* SPDX-License-Identifier: BSD-3-Clause
 * What a rank votes when a communicator is made, and what all go by then: see vote.h. */
#include "vote.h"

#include "area.h"
#include "terms.h"
#include "../../select/select.h"

/* One rank is enough to ask, all are needed to promise. */
static uint32_t nbcolli_agree_flags(uint32_t a, uint32_t b)
{
    return ((a | b) & NBCOLL_REPRODUCIBLE) | (a & b & NBCOLL_COUNTS_KNOWN);
}

void nbcolli_votes_agree(nbcoll_comm *comm, const nbcolli_vote *votes, int n)
{
    nbcolli_vote *a = &comm->agreed;

    *a = votes[0];
    for (int i = 1; i < n; i++) {
        const nbcolli_vote *v = &votes[i];
        a->flags = nbcolli_agree_flags(a->flags, v->flags);
        a->slots = v->slots < a->slots ? v->slots : a->slots;
        a->cells = v->cells < a->cells ? v->cells : a->cells;
        a->alpha_ns = v->alpha_ns > a->alpha_ns ? v->alpha_ns : a->alpha_ns;
        a->beta_ps = v->beta_ps > a->beta_ps ? v->beta_ps : a->beta_ps;
        a->overhead_ns = v->overhead_ns > a->overhead_ns ? v->overhead_ns : a->overhead_ns;
        a->get_ns = v->get_ns > a->get_ns ? v->get_ns : a->get_ns;
        a->gamma_ps = v->gamma_ps > a->gamma_ps ? v->gamma_ps : a->gamma_ps;
        a->eager_ps = v->eager_ps > a->eager_ps ? v->eager_ps : a->eager_ps;
        a->near_alpha_ns = v->near_alpha_ns > a->near_alpha_ns ? v->near_alpha_ns : a->near_alpha_ns;
        a->near_beta_ps = v->near_beta_ps > a->near_beta_ps ? v->near_beta_ps : a->near_beta_ps;
        a->near_overhead_ns = v->near_overhead_ns > a->near_overhead_ns ? v->near_overhead_ns : a->near_overhead_ns;
        a->near_get_ns = v->near_get_ns > a->near_get_ns ? v->near_get_ns : a->near_get_ns;
        a->near_eager_ps = v->near_eager_ps > a->near_eager_ps ? v->near_eager_ps : a->near_eager_ps;
        a->near_eager = v->near_eager < a->near_eager ? v->near_eager : a->near_eager;
        a->shelf = v->shelf < a->shelf ? v->shelf : a->shelf;
        a->large = v->large > a->large ? v->large : a->large;
        a->eager = v->eager < a->eager ? v->eager : a->eager;
        a->shares &= v->shares;
    }
    comm->config.slots = a->slots;
    comm->config.cells = a->cells;
    comm->config.large = (size_t)a->large;
    comm->config.flags = a->flags;
}

static uint32_t nbcolli_vote_eager(size_t asked, size_t payload)
{
    size_t least = asked < payload ? asked : payload;
    return least < UINT32_MAX ? (uint32_t)least : UINT32_MAX;
}

nbcolli_vote nbcolli_vote_of(nbcoll_comm *comm, nbcoll_comm *over, nbcolli_creation creation, int colour, int key)
{
    const nbcoll_endpoint *ep = comm->link->endpoint;
    const nbcoll_limits *near = &comm->link->first->limits;

    return (nbcolli_vote){.abi = NBCOLL_ABI,
                          .address = (uint32_t)ep->rank,
                          .serial = comm->link->serial + 1,
                          .creation = creation,
                          .colour = colour,
                          .key = key,
                          .slots = comm->config.slots,
                          .cells = comm->config.cells,
                          .credits = comm->link->credits,
                          .alpha_ns = comm->link->limits.alpha_ns,
                          .beta_ps = comm->link->limits.beta_ps,
                          .overhead_ns = comm->link->limits.overhead_ns,
                          .get_ns = comm->link->limits.get_ns,
                          .eager_ps = comm->link->limits.eager_ps,
                          .gamma_ps =
                              comm->link->limits.gamma_ps ? comm->link->limits.gamma_ps : comm->link->limits.beta_ps,
                          .shelf = (uint32_t)comm->link->first->shelf.bytes,
                          .flags = comm->config.flags,
                          .shares = nbcolli_area_shares(over),
                          .near_alpha_ns = near->alpha_ns,
                          .near_beta_ps = near->beta_ps,
                          .near_overhead_ns = near->overhead_ns,
                          .near_get_ns = near->get_ns,
                          .near_eager_ps = near->eager_ps,
                          .near_eager = nbcolli_vote_eager(comm->config.eager, near->payload),
                          .large = comm->config.large,
                          .node = creation == NBCOLLI_SHRINK ? 0 : comm->config.node,
                          .eager = nbcolli_vote_eager(comm->config.eager, comm->link->limits.payload),
                          .rules = nbcolli_rules_hash(comm->config.rules, comm->config.rule_count),
                          .area = nbcolli_area_offer(comm, over->size)};
}
