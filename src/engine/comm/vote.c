/* SPDX-License-Identifier: BSD-3-Clause */
#include "vote.h"

#include "nbcoll/select.h"
#include "area.h"
#include "../wire/channel.h"
#include "../../host/host.h"
#include "../../schedule/nodes.h"
#include "../../schedule/sort.h"
#include "../../select/select.h"

/* ---- the ballot -------------------------------------------------------------------------------------------------- */

static int nbcolli_sides(const nbcoll_comm *comm)
{
    int n = 0;
    for (const nbcolli_link *link = comm->link->first; link != comm->link; link = link->beside)
        n++;
    return n;
}

nbcoll_status nbcolli_ballot_open(nbcoll_comm *comm)
{
    size_t sides = comm->parent ? 0 : (size_t)nbcolli_sides(comm), ranks = (size_t)comm->size;

    if (comm->parent)
        ranks = (size_t)comm->parent->size;
    comm->record = sizeof(nbcolli_vote) + comm->twins * sizeof(uint64_t) + sides * sizeof(nbcolli_side);
    comm->ballot_bytes = ranks * (comm->record + 2 * sides * sizeof(nbcolli_entry)); /* nbcolli_sides_sort */
    comm->ballot = nbcolli_alloc(&comm->context->host, comm->ballot_bytes, 64);
    return comm->ballot ? NBCOLL_OK : NBCOLL_ERR_MEMORY;
}

void nbcolli_ballot_free(nbcoll_comm *comm)
{
    if (comm->ballot)
        nbcolli_free(&comm->context->host, comm->ballot, comm->ballot_bytes);
    comm->ballot = NULL;
}

static nbcolli_side *nbcolli_sides_of(const nbcoll_comm *comm, int rank)
{
    return (nbcolli_side *)(void *)(nbcolli_vote_by(comm, rank) + 1);
}

uint64_t *nbcolli_ballot_area(const nbcoll_comm *twin, int rank)
{
    return (uint64_t *)(void *)(nbcolli_vote_by(twin, rank) + 1) + twin->number - 1;
}

static void nbcolli_sides_write(nbcoll_comm *comm)
{
    nbcolli_side *side = nbcolli_sides_of(comm, comm->rank);

    for (nbcolli_link *link = comm->link->first; link != comm->link; link = link->beside, side++) {
        *side = (nbcolli_side){.address = (uint32_t)link->endpoint->rank,
                               .ranks = (uint32_t)link->endpoint->ranks,
                               .credits = link->credits};
        link->transport.identify(link->endpoint, side->identity);
    }
}

/* The prices of an endpoint, whose messages are announced from so many bytes on. */
static nbcoll_level nbcolli_vote_level(const nbcoll_limits *limits, size_t eager)
{
    nbcoll_level l = nbcolli_level_known(limits->price);
    l.eager = eager < limits->payload ? eager : limits->payload;
    return l;
}

void nbcolli_vote_cast(nbcoll_comm *comm, nbcoll_comm *over, nbcolli_creation creation, int colour, int key)
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
    *nbcolli_vote_by(comm, over->rank) = vote;
    if (!comm->parent)
        nbcolli_sides_write(comm);
}

/* ---- terms ------------------------------------------------------------------------------------------------------- */

static void nbcolli_agree_dearest(uint32_t *agreed, uint32_t price)
{
    *agreed = *agreed > price ? *agreed : price;
}

/* The highest prices: the words before `eager`. */
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
        if (!a->interfaces || (v->interfaces && v->interfaces < a->interfaces)) /* the smallest that any rank names */
            a->interfaces = v->interfaces;
        /* what all promise, or any asks for */
        a->flags = (a->flags & v->flags) | ((a->flags | v->flags) & ~(uint32_t)NBCOLL_COUNTS_KNOWN);
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

/* The terms of a communicator, for choosing and building its schedules. */
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
                          .carries = atomic_load_explicit(&comm->carries, memory_order_relaxed)}; /* orders nothing */
    terms.between.eager += !terms.between.eager; /* 0 would mean the default, or unknown */
    terms.inside.eager += !terms.inside.eager;
    return nbcolli_give_tagged(out, &terms, sizeof terms);
}

/* ---- who has which ----------------------------------------------------------------------------------------------- */

static int nbcolli_side_is(const nbcolli_side *a, const nbcolli_side *b)
{
    return a->identity[0] == b->identity[0] && a->identity[1] == b->identity[1];
}

/* The side with this number, all sides of a rank counted before those of the next one. */
static const nbcolli_side *nbcolli_side_at(const nbcoll_comm *comm, uint32_t number)
{
    uint32_t n = (uint32_t)nbcolli_sides(comm);
    return &nbcolli_sides_of(comm, (int)(number / n))[number % n];
}

/* The numbers of all sides: those of one endpoint together, by address. Sorting keeps the order of equals. */
static const nbcolli_entry *nbcolli_sides_sort(const nbcoll_comm *comm)
{
    size_t n = (size_t)comm->size * (size_t)nbcolli_sides(comm);
    nbcolli_entry *e = (nbcolli_entry *)(void *)nbcolli_vote_by(comm, comm->size);

    for (size_t i = 0; i < n; i++)
        e[i] = (nbcolli_entry){.key = nbcolli_side_at(comm, (uint32_t)i)->address, .value = (uint32_t)i};
    nbcolli_sort(e, e + n, n);
    for (int word = 0; word < 2; word++) {
        for (size_t i = 0; i < n; i++)
            e[i].key = nbcolli_side_at(comm, e[i].value)->identity[word];
        nbcolli_sort(e, e + n, n);
    }
    return e;
}

/* How many of these, from the first on, are of one endpoint. */
static size_t nbcolli_sides_of_one(const nbcoll_comm *comm, const nbcolli_entry *e, size_t n)
{
    size_t i = 1;
    while (i < n && nbcolli_side_is(nbcolli_side_at(comm, e[0].value), nbcolli_side_at(comm, e[i].value)))
        i++;
    return i;
}

/* Do as many ranks name it as it has, each at its place, with the same credits, and once? */
static int nbcolli_side_is_sound(const nbcoll_comm *comm, const nbcolli_entry *e, size_t n)
{
    const nbcolli_side *first = nbcolli_side_at(comm, e[0].value);
    uint32_t sides = (uint32_t)nbcolli_sides(comm);
    int is_sound = first->ranks == n;

    for (size_t i = 0; i < n && is_sound; i++) {
        const nbcolli_side *one = nbcolli_side_at(comm, e[i].value);
        is_sound = one->address == i && one->ranks == n && one->credits == first->credits;
        for (uint32_t k = e[i].value / sides * sides; k < e[i].value; k++) /* of the same rank */
            is_sound &= !nbcolli_side_is(one, nbcolli_side_at(comm, k));
    }
    return is_sound;
}

/* The lowest rank that is known to be on the node. */
static uint64_t nbcolli_sides_lowest(const nbcoll_comm *comm, uint64_t rank)
{
    for (nbcolli_vote *v; (v = nbcolli_vote_by(comm, (int)rank))->node != rank; rank = v->node)
        v->node = nbcolli_vote_by(comm, (int)v->node)->node;
    return rank;
}

static void nbcolli_sides_join(const nbcoll_comm *comm, uint64_t a, uint64_t b)
{
    a = nbcolli_sides_lowest(comm, a);
    b = nbcolli_sides_lowest(comm, b);
    nbcolli_vote_by(comm, (int)(a > b ? a : b))->node = a < b ? a : b;
}

/* Looks at all endpoints. Ranks that have one in common are on one node, unless the host has named nodes. Returns the
 * first side of a wrong endpoint: one that has a rank outside this communicator, or one twice. UINT32_MAX: there is
 * none. */
static uint32_t nbcolli_sides_look(nbcoll_comm *comm, const nbcolli_entry *e)
{
    uint32_t sides = (uint32_t)nbcolli_sides(comm), worst = UINT32_MAX;
    size_t n = (size_t)comm->size * sides;
    int nodes = nbcolli_vote_by(comm, 0)->node ? 0 : comm->size; /* that are to be found */

    for (int rank = 0; rank < nodes; rank++)
        nbcolli_vote_by(comm, rank)->node = (uint64_t)rank;
    for (size_t of_one; n; e += of_one, n -= of_one) {
        of_one = nbcolli_sides_of_one(comm, e, n);
        int is_sound = nbcolli_side_is_sound(comm, e, of_one);
        for (size_t i = 0; i < of_one; i++) {
            worst = !is_sound && e[i].value < worst ? e[i].value : worst;
            if (nodes)
                nbcolli_sides_join(comm, e[0].value / sides, e[i].value / sides);
        }
    }
    for (int rank = 0; rank < nodes; rank++)
        nbcolli_vote_by(comm, rank)->node = nbcolli_sides_lowest(comm, (uint64_t)rank);
    return worst;
}

/* The endpoint by which the two talk: the lower one's first side that the other has, too. */
static void nbcolli_sides_meet(nbcoll_comm *comm, int rank)
{
    int n = nbcolli_sides(comm), is_lower = comm->rank <= rank, is_met = 0;
    nbcolli_peer *peer = &comm->peer[rank];

    peer->is_near = 0;
    for (int i = 0; i < n * n; i++) {
        int mine = is_lower ? i / n : i % n, theirs = is_lower ? i % n : i / n;
        const nbcolli_side *side = &nbcolli_sides_of(comm, rank)[theirs];
        nbcolli_link *link = comm->link->first;
        if (!nbcolli_side_is(&nbcolli_sides_of(comm, comm->rank)[mine], side))
            continue;
        for (int before = mine; before > 0; before--)
            link = link->beside;
        link->member[side->address] = rank;
        if (is_met++)
            continue;
        peer->is_near = !mine && !theirs;
        peer->link = link;
        peer->address = (int)side->address;
        peer->pair = &link->pair[peer->address];
    }
}

nbcoll_status nbcolli_sides_settle(nbcoll_comm *comm)
{
    if (comm->link->first == comm->link)
        return NBCOLL_OK;
    uint32_t unsound = nbcolli_sides_look(comm, nbcolli_sides_sort(comm)), sides = (uint32_t)nbcolli_sides(comm);
    if (unsound != UINT32_MAX)
        return nbcolli_log(&comm->context->host, NBCOLL_ERR_MISMATCH,
                           "no communicator is made: endpoint %d of rank %d is not one of its ranks alone, each once, "
                           "with as many credits",
                           (int)(unsound % sides), (int)(unsound / sides));
    nbcolli_channels_forget(comm); /* the vote's channels */
    for (int rank = 0; rank < comm->size; rank++)
        nbcolli_sides_meet(comm, rank);
    for (nbcolli_link *link = comm->link->first; link; link = link->beside)
        link->losses++; /* earlier losses could not be told to the others */
    comm->context->news = 1;
    return NBCOLL_OK;
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

/* Whose votes, and what of them. */
typedef struct nbcolli_placing {
    const nbcoll_comm *comm;
    const int *voter;
    int by_domain;
} nbcolli_placing;

static uint64_t nbcolli_placing_number(const void *placing, int rank)
{
    const nbcolli_placing *p = placing;
    const nbcolli_vote *vote = nbcolli_vote_by(p->comm, p->voter[rank]);
    return p->by_domain ? vote->domain : vote->node;
}

/* The voters' array lies in the first table's room. */
void nbcolli_comm_place(nbcoll_comm *comm, int voter[])
{
    const nbcolli_placing by_node = {comm, voter, 0}, by_domain = {comm, voter, 1};
    int has_domains = nbcolli_vote_by(comm, voter[0])->domain != 0, size = comm->size;

    if (has_domains)
        nbcolli_nodes_number(size, nbcolli_placing_number, &by_domain, comm->domain, comm->domain + size);
    nbcolli_nodes_number(size, nbcolli_placing_number, &by_node, comm->node, voter + size);
    nbcolli_nodes_fill(&comm->nodes, comm->size, comm->node);
    if (has_domains)
        nbcolli_domains_fill(&comm->nodes, &comm->domains, comm->domain);
}
