/* SPDX-License-Identifier: BSD-3-Clause
 * Making communicators. One mechanism for the first of an endpoint, for dup and for split: every rank votes, an
 * allgather (an operation of the parent, or of the new communicator itself when it is the first) shows all votes to
 * all, and each rank computes the same from them. All memory is taken before the vote, so that no rank can fail alone
 * afterwards. The id is the first rank's address and a serial number of that rank's: unique without a server. */
#include <inttypes.h>
#include <stdio.h>

#include "context.h"
#include "../../select/select.h"

/* ---- the result ------------------------------------------------------------------------------------------------ */

/* One rank is enough to ask, all are needed to promise. */
static uint32_t agree_flags(uint32_t a, uint32_t b)
{
    return ((a | b) & NBCOLL_REPRODUCIBLE) | (a & b & NBCOLL_COUNTS_KNOWN);
}

void nbcolli_votes_agree(nbcoll_comm *comm, const nbcolli_vote *votes, int n)
{
    nbcolli_vote *a = &comm->agreed;

    *a = votes[0];
    for (int i = 1; i < n; i++) {
        const nbcolli_vote *v = &votes[i];
        a->flags = agree_flags(a->flags, v->flags);
        a->slots = v->slots < a->slots ? v->slots : a->slots;
        a->cells = v->cells < a->cells ? v->cells : a->cells;
        a->alpha_ns = v->alpha_ns > a->alpha_ns ? v->alpha_ns : a->alpha_ns;
        a->beta_ps = v->beta_ps > a->beta_ps ? v->beta_ps : a->beta_ps;
        a->overhead_ns = v->overhead_ns > a->overhead_ns ? v->overhead_ns : a->overhead_ns;
        a->get_ns = v->get_ns > a->get_ns ? v->get_ns : a->get_ns;
        a->gamma_ps = v->gamma_ps > a->gamma_ps ? v->gamma_ps : a->gamma_ps;
        a->eager_ps = v->eager_ps > a->eager_ps ? v->eager_ps : a->eager_ps;
        a->large = v->large > a->large ? v->large : a->large;
        a->eager = v->eager < a->eager ? v->eager : a->eager;
        a->shares &= v->shares;
    }
    comm->config.slots = a->slots;
    comm->config.cells = a->cells;
    comm->config.large = (size_t)a->large;
    comm->config.flags = a->flags;
}

/* The first communicator of a link: its members are known, only the terms change. */
static void settle_first(nbcoll_comm *comm)
{
    nbcolli_votes_agree(comm, comm->votes, comm->size);
    for (int i = 0; i < comm->size; i++)
        nbcolli_area_find(comm, i, comm->votes[i].area, comm->size);
    nbcolli_area_take(comm);
}

/* The members: those of my colour, by key, then by rank in the parent. */
static void settle_members(nbcoll_comm *comm)
{
    const nbcoll_comm *parent = comm->parent;
    const nbcolli_vote *votes = comm->votes;
    int mine = parent->rank, first = -1;

    nbcolli_votes_agree(comm, votes, parent->size); /* its parent's, whatever the colour */
    comm->size = 0;
    for (int i = 0; i < parent->size; i++) {
        int place = 0;
        if (votes[i].colour != votes[mine].colour)
            continue;
        for (int j = 0; j < parent->size; j++)
            place += votes[j].colour == votes[i].colour &&
                     (votes[j].key < votes[i].key || (votes[j].key == votes[i].key && j < i));
        comm->peer[place] = (nbcolli_peer){.link = parent->peer[i].link, .address = parent->peer[i].address,
                                           .credits = (int32_t)comm->link->credits};
        nbcolli_area_find(comm, place, votes[i].area, parent->size);
        if (i == mine)
            comm->rank = place;
        if (place == 0)
            first = i;
        comm->size++;
        comm->link->losses += /* so that it learns of them */
            comm->link->starved || comm->link->loss[parent->peer[i].address] != NBCOLLI_HERE;
    }
    comm->id = (uint64_t)votes[first].address << 32 | votes[first].serial;
    nbcolli_area_take(comm);
}

/* Messages that came before this rank knew the communicator. */
static void adopt(nbcolli_link *link)
{
    nbcolli_unexpected *list = link->orphans;

    link->orphans = NULL;
    while (list) {
        nbcolli_unexpected *s = list;
        nbcolli_incoming in = {link, s->header, s->payload, s->bytes, s, s->source};
        list = s->next;
        nbcolli_receive(&in);
    }
}

static void log_difference(const nbcoll_comm *comm, int rank, const nbcolli_vote *v, const nbcolli_vote *first)
{
    const nbcoll_host *host = &comm->context->host;
    char text[160];

    if (!host->log)
        return;
    if (v->creation != first->creation)
        snprintf(text, sizeof text, "no communicator is made: rank %d calls for another one than rank 0", rank);
    else if (v->credits != first->credits)
        snprintf(text, sizeof text, "no communicator is made: rank %d gives %" PRIu32 " credits, rank 0 %" PRIu32, rank,
                 v->credits, first->credits);
    else
        snprintf(text, sizeof text, "no communicator is made: rank %d has other rules than rank 0", rank);
    host->log(host->user, NBCOLL_ERR_MISMATCH, text);
}

/* What must be the same in all votes. */
static nbcoll_status votes_compare(const nbcoll_comm *comm, int voters)
{
    const nbcolli_vote *first = &comm->votes[0];

    for (int i = 0; i < voters; i++) {
        const nbcolli_vote *v = &comm->votes[i];
        if (v->abi != NBCOLL_ABI)
            return NBCOLL_ERR_ABI;
        if (v->creation != first->creation || v->rules != first->rules || v->credits != first->credits) {
            log_difference(comm, i, v, first);
            return NBCOLL_ERR_MISMATCH;
        }
    }
    return NBCOLL_OK;
}

static nbcoll_status conclude(nbcoll_comm *comm, nbcoll_status s)
{
    int voters = comm->parent ? comm->parent->size : comm->size;

    if (s == NBCOLL_OK && comm->spoiled != NBCOLL_OK) { /* those that have it must learn that this rank has not */
        nbcoll_comm *over = comm->parent ? comm->parent : comm;
        s = comm->spoiled;
        nbcolli_tell_all(over, NBCOLLI_REVOKE, comm->vote_tag, s, over->rank, 0);
    }
    if (s == NBCOLL_OK)
        s = votes_compare(comm, voters);
    if (s == NBCOLL_OK && !comm->parent)
        settle_first(comm);
    else if (s == NBCOLL_OK && comm->votes[comm->parent->rank].colour >= 0) {
        settle_members(comm);
        nbcolli_comm_register(comm);
    } else if (s == NBCOLL_OK)
        nbcolli_area_return(comm);
    return s;
}

void nbcolli_comm_made(nbcolli_request *r)
{
    nbcoll_comm *comm = r->creating, **out = comm->out;
    nbcolli_link *link = comm->link;
    nbcoll_context *c = comm->context;

    r->creating = NULL;
    r->status = conclude(comm, r->status);
    comm->parent = NULL;
    comm->making = r->status != NBCOLL_OK;
    link->creating--;
    link->unmade |= comm->making;
    if (r->status != NBCOLL_OK || !out || !comm->listed) {
        if (r->comm == comm)
            r->comm = NULL;
        nbcolli_unexpected_drop(comm, 0, UINT64_MAX,
                                NBCOLL_ERR_CANCELLED); /* of those that have it, and send already */
        nbcolli_comm_destroy(comm);
        comm = NULL;
    }
    if (out && r->status == NBCOLL_OK)
        *out = comm;
    adopt(link);
    nbcolli_request_end(c, r);
}

/* ---- the vote -------------------------------------------------------------------------------------------------- */

static nbcoll_status ballot(nbcoll_comm *over, nbcoll_schedule **out)
{
    nbcoll_args a = {.size = sizeof a, .operation = NBCOLL_OPERATION_ALLGATHER, .count = sizeof(nbcolli_vote),
                     .reduction = {NBCOLL_BYTE, NBCOLL_SUM}, .in_place = 1};
    nbcoll_builder_config config = {.size = sizeof config, .host = &over->context->host, .rank = over->rank,
                                    .ranks = over->size};
    nbcoll_status s = nbcoll_build_schedule(nbcoll_algorithm_at(a.operation, 0), &a, &config, out);
    if (s == NBCOLL_OK) {
        (*out)->evicted = 1;                /* freed with its request */
        (*out)->fingerprint ^= 0x5eedc0deu; /* unlike an allgather of the program's that happens to be as long */
    }
    return s;
}

static uint32_t vote_eager(size_t asked, size_t payload)
{
    size_t least = asked < payload ? asked : payload;
    return least < UINT32_MAX ? (uint32_t)least : UINT32_MAX;
}

nbcolli_vote nbcolli_vote_of(nbcoll_comm *comm, nbcoll_comm *over, nbcolli_creation creation, int colour, int key)
{
    const nbcoll_endpoint *ep = comm->link->endpoint;

    return (nbcolli_vote){
        .abi = NBCOLL_ABI, .address = (uint32_t)ep->rank, .serial = comm->link->serial + 1,
        .creation = creation, .colour = colour, .key = key, .slots = comm->config.slots,
        .cells = comm->config.cells, .credits = comm->link->credits,
        .alpha_ns = ep->limits.alpha_ns, .beta_ps = ep->limits.beta_ps, .overhead_ns = ep->limits.overhead_ns,
        .get_ns = ep->limits.get_ns, .eager_ps = ep->limits.eager_ps,
        .gamma_ps = ep->limits.gamma_ps ? ep->limits.gamma_ps : ep->limits.beta_ps,
        .flags = comm->config.flags, .shares = nbcolli_area_shares(over), .large = comm->config.large,
        .eager = vote_eager(comm->config.eager, ep->limits.payload),
        .rules = nbcolli_rules_hash(comm->config.rules, comm->config.rule_count),
        .area = nbcolli_area_offer(comm, over->size)};
}

/* What a rank passes. */
typedef struct wish {
    nbcolli_creation creation;
    int colour, key;
} wish;

/* Casts this rank's vote, as an operation of `over`. */
static nbcoll_status vote(nbcoll_comm *comm, nbcoll_comm *over, wish mine, nbcoll_comm **out, nbcoll_request *request)
{
    nbcoll_context *c = comm->context;
    nbcoll_schedule *schedule;
    nbcoll_status s;

    comm->votes[over->rank] = nbcolli_vote_of(comm, over, mine.creation, mine.colour, mine.key);
    s = ballot(over, &schedule);
    if (s != NBCOLL_OK)
        return s;
    nbcolli_request *r = nbcolli_request_open(over, schedule, NULL, comm->votes);
    if (!r) {
        nbcoll_schedule_free(schedule);
        return NBCOLL_ERR_MEMORY;
    }
    nbcolli_schedule_own(schedule, c);
    r->creating = comm;
    comm->making = 1;
    comm->vote_comm = over->id;
    comm->vote_tag = over->next_tag;
    comm->out = out;
    comm->link->creating++;
    if (over == comm) /* until the ranks have agreed */
        comm->config.slots = 1;
    nbcoll_request handle = nbcolli_request_handle(c, r);
    s = nbcolli_request_start(r);
    if (s != NBCOLL_OK) {
        comm->link->creating--;
        nbcolli_request_release(c, r);
        return s;
    }
    *request = handle;
    return NBCOLL_OK;
}

/* ---- the calls ------------------------------------------------------------------------------------------------- */

nbcoll_status nbcolli_comm_config_read(const nbcoll_comm_config *given, nbcoll_comm_config *config)
{
    *config = (nbcoll_comm_config)NBCOLL_COMM_DEFAULTS;
    nbcoll_status s = given ? nbcolli_copy_tagged(config, given, sizeof *config) : NBCOLL_OK;
    if (s != NBCOLL_OK)
        return s;
    if (config->slots < 1 || config->slots > 65536 || config->cells < 1 || config->cells > 256 ||
        config->schedules < 1 || config->schedules > 65536 ||
        config->flags & ~(NBCOLL_REPRODUCIBLE | NBCOLL_COUNTS_KNOWN))
        return NBCOLL_ERR_CONFIG;
    return nbcoll_rules_check(config->rules, config->rule_count, NULL);
}

static nbcoll_status comm_create(nbcoll_context *c, nbcoll_endpoint *ep, const nbcoll_comm_config *config,
                            nbcoll_comm **out, nbcoll_request *request)
{
    nbcolli_link *link;
    nbcoll_comm *comm;
    nbcoll_status s;

    if (ep->owner)
        return ep->owner == c ? NBCOLL_ERR_BUSY : NBCOLL_ERR_FOREIGN;
    s = nbcolli_link_open(c, ep, &link);
    if (s != NBCOLL_OK)
        return s;
    s = nbcolli_comm_open(link, config, ep->ranks, &comm);
    if (s != NBCOLL_OK) {
        nbcolli_link_drop(link);
        return s;
    }
    comm->rank = ep->rank;
    comm->size = ep->ranks;
    for (int i = 0; i < comm->size; i++)
        comm->peer[i] = (nbcolli_peer){.link = link, .address = i, .credits = (int32_t)link->credits};
    nbcolli_comm_register(comm);
    s = vote(comm, comm, (wish){NBCOLLI_CREATE, 0, comm->rank}, out, request);
    if (s != NBCOLL_OK) {
        nbcolli_area_return(comm);
        nbcolli_comm_destroy(comm);
        nbcolli_link_drop(link);
    }
    return s;
}

nbcoll_status nbcoll_comm_icreate(nbcoll_context *context, nbcoll_endpoint *endpoint, const nbcoll_comm_config *given,
                                  nbcoll_comm **out, nbcoll_request *request)
{
    nbcoll_comm_config config;

    if (!context || !endpoint || !out || !request)
        return NBCOLL_ERR_NULL;
    nbcoll_status s = nbcolli_enter(context);
    if (s != NBCOLL_OK)
        return s;
    s = nbcolli_comm_config_read(given, &config);
    return nbcolli_leave(context, s == NBCOLL_OK ? comm_create(context, endpoint, &config, out, request) : s);
}

nbcoll_status nbcoll_comm_create(nbcoll_context *context, nbcoll_endpoint *endpoint, const nbcoll_comm_config *config,
                                 nbcoll_comm **out, uint64_t timeout)
{
    nbcoll_request request;
    nbcoll_status s = nbcoll_comm_icreate(context, endpoint, config, out, &request);
    return s == NBCOLL_OK ? nbcolli_wait_or_leave(&request, timeout) : s;
}

static nbcoll_status derive(nbcoll_comm *parent, const nbcoll_comm_config *config, wish mine, nbcoll_comm **out,
                            nbcoll_request *request)
{
    nbcoll_comm *comm;

    if (parent->link->serial == UINT32_MAX)
        return NBCOLL_ERR_LIMIT;
    nbcoll_status s = nbcolli_comm_open(parent->link, config, parent->size, &comm);
    if (s != NBCOLL_OK)
        return s;
    comm->parent = parent;
    s = vote(comm, parent, mine, out, request);
    if (s != NBCOLL_OK) {
        nbcolli_area_return(comm);
        nbcolli_comm_destroy(comm);
    } else
        parent->link->serial++;
    return s;
}

/* With the parent's configuration. */
static nbcoll_status inherit(nbcoll_comm *parent, wish mine, nbcoll_comm **out, nbcoll_request *request)
{
    if (!out || !request)
        return NBCOLL_ERR_NULL;
    nbcoll_status s = nbcolli_enter(parent->context);
    return s == NBCOLL_OK ? nbcolli_leave(parent->context, derive(parent, &parent->config, mine, out, request)) : s;
}

static nbcoll_status inherit_now(nbcoll_comm *parent, wish mine, nbcoll_comm **out, uint64_t timeout)
{
    nbcoll_request request;
    nbcoll_status s = inherit(parent, mine, out, &request);
    return s == NBCOLL_OK ? nbcolli_wait_or_leave(&request, timeout) : s;
}

nbcoll_status nbcoll_comm_isplit(nbcoll_comm *comm, int colour, int key, nbcoll_comm **out, nbcoll_request *request)
{
    return comm ? inherit(comm, (wish){NBCOLLI_SPLIT, colour, key}, out, request) : NBCOLL_ERR_NULL;
}

nbcoll_status nbcoll_comm_split(nbcoll_comm *comm, int colour, int key, nbcoll_comm **out, uint64_t timeout)
{
    return comm ? inherit_now(comm, (wish){NBCOLLI_SPLIT, colour, key}, out, timeout) : NBCOLL_ERR_NULL;
}

/* By the lowest rank that has memory in common with this one: constant, so that no lock is needed. */
static wish by_memory(const nbcoll_comm *comm, int key)
{
    const nbcolli_link *mine = comm->peer[comm->rank].link;
    int rank = 0;

    while (rank != comm->rank && !(mine->transport.shared && comm->peer[rank].link == mine))
        rank++;
    return (wish){NBCOLLI_SPLIT_SHARED, rank, key};
}

nbcoll_status nbcoll_comm_isplit_shared(nbcoll_comm *comm, int key, nbcoll_comm **out, nbcoll_request *request)
{
    return comm ? inherit(comm, by_memory(comm, key), out, request) : NBCOLL_ERR_NULL;
}

nbcoll_status nbcoll_comm_split_shared(nbcoll_comm *comm, int key, nbcoll_comm **out, uint64_t timeout)
{
    return comm ? inherit_now(comm, by_memory(comm, key), out, timeout) : NBCOLL_ERR_NULL;
}

static wish as_parent(const nbcoll_comm *parent)
{
    return (wish){NBCOLLI_DUP, 0, parent->rank};
}

nbcoll_status nbcoll_comm_idup(nbcoll_comm *comm, nbcoll_comm **out, nbcoll_request *request)
{
    return comm ? inherit(comm, as_parent(comm), out, request) : NBCOLL_ERR_NULL;
}

nbcoll_status nbcoll_comm_dup(nbcoll_comm *comm, nbcoll_comm **out, uint64_t timeout)
{
    return comm ? inherit_now(comm, as_parent(comm), out, timeout) : NBCOLL_ERR_NULL;
}

nbcoll_status nbcoll_comm_idup_with(nbcoll_comm *comm, const nbcoll_comm_config *given, nbcoll_comm **out,
                                    nbcoll_request *request)
{
    nbcoll_comm_config config;

    if (!comm || !out || !request)
        return NBCOLL_ERR_NULL;
    nbcoll_status s = nbcolli_enter(comm->context);
    if (s != NBCOLL_OK)
        return s;
    s = nbcolli_comm_config_read(given, &config);
    return nbcolli_leave(comm->context, s == NBCOLL_OK ? derive(comm, &config, as_parent(comm), out, request) : s);
}

nbcoll_status nbcoll_comm_dup_with(nbcoll_comm *comm, const nbcoll_comm_config *config, nbcoll_comm **out,
                                   uint64_t timeout)
{
    nbcoll_request request;
    nbcoll_status s = nbcoll_comm_idup_with(comm, config, out, &request);
    return s == NBCOLL_OK ? nbcolli_wait_or_leave(&request, timeout) : s;
}
