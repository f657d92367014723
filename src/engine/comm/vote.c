/* SPDX-License-Identifier: BSD-3-Clause
 * What a rank votes when a communicator is made, and what all go by then: see vote.h. */
#include "vote.h"

#include "nbcoll/select.h"
#include "area.h"
#include "../../select/select.h"

/* One rank is enough to ask, all are needed to promise. */
static uint32_t nbcolli_agree_flags(uint32_t a, uint32_t b)
{
    return ((a | b) & (NBCOLL_REPRODUCIBLE | NBCOLL_ARRIVAL_TOLERANT | NBCOLL_CHECKED)) | (a & b & NBCOLL_COUNTS_KNOWN);
}

static void nbcolli_agree_dearest(uint32_t *agreed, uint32_t price)
{
    *agreed = *agreed > price ? *agreed : price;
}

/* The fewest that any ranks share. */
static uint32_t nbcolli_agree_interfaces(uint32_t a, uint32_t b)
{
    return a && b ? (a < b ? a : b) : a | b;
}

/* The dearest prices, which are all words before `eager`. */
static void nbcolli_agree_level(nbcoll_level *a, const nbcoll_level *v)
{
    uint32_t *agreed = (uint32_t *)(void *)a;
    const uint32_t *price = (const uint32_t *)(const void *)v;

    for (size_t i = 0; i < offsetof(nbcoll_level, eager) / sizeof *price; i++)
        nbcolli_agree_dearest(&agreed[i], price[i]);
    a->eager = v->eager < a->eager ? v->eager : a->eager;
}

static void nbcolli_agree_config(nbcoll_comm *comm)
{
    const nbcolli_vote *a = &comm->agreed;

    comm->config.slots = a->slots;
    comm->config.cells = a->cells;
    comm->config.large = (size_t)a->large;
    comm->config.flags = a->flags;
    comm->config.progress_cores = a->progress_cores;
}

void nbcolli_votes_agree(nbcoll_comm *comm, int n)
{
    nbcolli_vote *a = &comm->agreed;

    *a = *nbcolli_vote_by(comm, 0);
    for (int i = 1; i < n; i++) {
        const nbcolli_vote *v = nbcolli_vote_by(comm, i);
        nbcolli_agree_level(&a->near, &v->near);
        nbcolli_agree_level(&a->far, &v->far);
        nbcolli_agree_dearest(&a->ranks_per_core, v->ranks_per_core);
        a->interfaces = nbcolli_agree_interfaces(a->interfaces, v->interfaces);
        a->flags = nbcolli_agree_flags(a->flags, v->flags);
        a->slots = v->slots < a->slots ? v->slots : a->slots;
        a->cells = v->cells < a->cells ? v->cells : a->cells;
        a->staging = v->staging < a->staging ? v->staging : a->staging;
        a->staging_part = v->staging_part < a->staging_part ? v->staging_part : a->staging_part;
        a->large = v->large > a->large ? v->large : a->large;
        a->shares &= v->shares;
        a->progress_cores = v->progress_cores < a->progress_cores ? v->progress_cores : a->progress_cores;
    }
    nbcolli_agree_config(comm);
}

/* The prices of an endpoint, whose messages are announced from so many bytes on. */
static nbcoll_level nbcolli_vote_level(const nbcoll_limits *limits, size_t eager)
{
    nbcoll_level l = nbcolli_level_known(limits->price);
    l.eager = eager < limits->payload ? eager : limits->payload;
    return l;
}

void nbcolli_votes_agree_twin(nbcoll_comm *comm)
{
    nbcolli_vote *a = &comm->agreed;

    *a = comm->eldest->agreed;
    a->slots = comm->config.slots;
    a->cells = comm->config.cells;
    a->far.eager = comm->config.eager < a->far.eager ? comm->config.eager : a->far.eager;
    a->near.eager = comm->config.eager < a->near.eager ? comm->config.eager : a->near.eager;
    a->shares = nbcolli_area_suits(comm) ? a->shares : 0;
    nbcolli_agree_config(comm);
}

nbcolli_vote nbcolli_vote_of(nbcoll_comm *comm, nbcoll_comm *over, nbcolli_creation creation, int colour, int key)
{
    const nbcoll_endpoint *ep = comm->link->endpoint;
    const nbcoll_limits *near = &comm->link->first->limits, *far = &comm->link->limits;

    nbcolli_vote vote = {.abi = NBCOLL_ABI,
                         .address = (uint32_t)ep->rank,
                         .serial = comm->link->serial + 1,
                         .creation = creation,
                         .colour = colour,
                         .key = key,
                         .slots = comm->config.slots,
                         .cells = comm->config.cells,
                         .credits = comm->link->credits,
                         .interfaces = far->interfaces,
                         .staging = (uint32_t)comm->link->first->staging.bytes,
                         .staging_part = (uint32_t)comm->link->first->staging.part,
                         .flags = comm->config.flags,
                         .shares = nbcolli_area_suits(comm) ? nbcolli_area_shares(over) : 0,
                         .near = nbcolli_vote_level(near, comm->config.eager),
                         .far = nbcolli_vote_level(far, comm->config.eager),
                         .progress_cores = comm->config.progress_cores,
                         .ranks_per_core = near->ranks_per_core,
                         .large = comm->config.large,
                         .node = creation == NBCOLLI_SHRINK ? 0 : comm->config.node,
                         .domain = creation == NBCOLLI_SHRINK ? 0 : comm->config.domain,
                         .rules = nbcolli_rules_hash(comm->config.rules, comm->config.rule_count) ^
                                  (comm->executors ? comm->executors->hash : 0),
                         .area = nbcolli_area_offer(comm, over->size)};
    vote.far.fetch_ns = vote.near.fetch_ns; /* only the first endpoint has what is fetched */
    return vote;
}

/* What a communicator says of itself to those who choose and build its schedules. */
nbcoll_status nbcoll_comm_terms(const nbcoll_comm *comm, nbcoll_terms *out)
{
    if (!comm || !out)
        return NBCOLL_ERR_NULL;
    nbcoll_terms terms = {.ranks = comm->size,
                          .shared = comm->shared,
                          .flags = comm->config.flags,
                          .between = comm->agreed.far,
                          .large = comm->config.large,
                          .rules = comm->config.rules,
                          .rule_count = comm->config.rule_count,
                          .credits = comm->agreed.credits,
                          .interfaces = comm->agreed.interfaces,
                          .staging = comm->agreed.staging,
                          .staging_part = comm->agreed.staging_part,
                          .nodes = &comm->nodes,
                          .inside = comm->agreed.near,
                          .nodes_share = comm->nodes_share,
                          .progress_cores = comm->agreed.progress_cores,
                          .ranks_per_core = comm->agreed.ranks_per_core,
                          .carries = atomic_load_explicit(&comm->carries, memory_order_relaxed)}; /* for itself */
    terms.between.eager += !terms.between.eager; /* 0 would be the default, or not known */
    terms.inside.eager += !terms.inside.eager;
    return nbcolli_give_tagged(out, &terms, sizeof terms);
}
