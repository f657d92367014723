/* SPDX-License-Identifier: BSD-3-Clause
 * Making communicators. One mechanism for the first of an endpoint, for dup and for split: every rank votes, an
 * allgather (an operation of the parent, or of the new communicator itself when it is the first) shows all votes to
 * all, and each rank computes the same from them. All memory is taken before the vote, so that no rank can fail alone
 * afterwards. The id is the first rank's address and a serial number of that rank's: unique without a server. */
#include "create.h"
#include "link.h"
#include "request.h"
#include "start.h"
#include "../3_run/pool.h"
#include "../4_comm/area.h"
#include "../4_comm/comm.h"
#include "../4_comm/programs.h"
#include "../4_comm/requests.h"
#include "../4_comm/sides.h"
#include "../4_comm/vote.h"
#include "../6_progress/lock.h"
#include "../../offload/offload.h"

/* ---- the vote ---------------------------------------------------------------------------------------------------- */

static nbcoll_status nbcolli_create_ballot(nbcoll_comm *over, size_t bytes, nbcoll_schedule **out)
{
    nbcoll_args a = {.size = sizeof a,
                     .operation = NBCOLL_OPERATION_ALLGATHER,
                     .count = bytes,
                     .reduction = {NBCOLL_BYTE, NBCOLL_SUM},
                     .in_place = 1};
    nbcoll_builder_config config = {.size = sizeof config, .host = &over->context->host, .rank = over->rank,
                                    .ranks = over->size};
    nbcoll_status s = nbcoll_build_schedule(nbcoll_algorithm_at(a.operation, 0), &a, &config, out);
    if (s == NBCOLL_OK) {
        (*out)->evicted = 1;                /* freed with its request */
        (*out)->fingerprint ^= 0x5eedc0deu; /* unlike an allgather of the program's that happens to be as long */
    }
    return s;
}

/* What a rank passes. */
typedef struct nbcolli_create_wish {
    nbcolli_creation creation;
    int colour, key; /* the colour of a duplicate: its purpose, or 0 */
} nbcolli_create_wish;

/* The operation of `over` that casts this rank's vote: it is still to be started. */
static nbcoll_status nbcolli_create_prepare(nbcoll_comm *comm, nbcoll_comm *over, nbcolli_create_wish mine,
                                            nbcoll_comm **out, nbcolli_request **vote)
{
    nbcoll_context *c = comm->context;
    nbcoll_schedule *schedule;
    nbcoll_status s;

    comm->votes[over->rank] = nbcolli_vote_of(comm, over, mine.creation, mine.colour, mine.key);
    nbcolli_ballot_write(comm);
    s = nbcolli_create_ballot(over, comm->ballot ? nbcolli_ballot_record(comm) : sizeof(nbcolli_vote), &schedule);
    if (s != NBCOLL_OK)
        return s;
    nbcolli_caller_lock(c);
    void *votes = comm->ballot ? (void *)comm->ballot : comm->votes;
    nbcolli_request *r = nbcolli_request_open(over, schedule, NULL, votes, 0);
    if (!r)
        s = nbcolli_request_refused(c);
    nbcolli_caller_unlock(c);
    if (!r) {
        nbcolli_schedule_delete(schedule);
        return s;
    }
    nbcolli_schedule_own(schedule, c);
    r->creating = comm;
    r->is_heeded = 1;
    comm->making = 1;
    comm->vote_comm = over->id;
    comm->out = out;
    comm->link->creating++;
    if (over == comm) /* until the ranks have agreed */
        comm->config.slots = 1;
    *vote = r;
    return NBCOLL_OK;
}

/* It is not to be started. */
static void nbcolli_create_undo(nbcoll_comm *comm, nbcolli_request *vote)
{
    nbcoll_context *c = comm->context;

    comm->link->creating--;
    nbcolli_caller_lock(c);
    nbcolli_request_discard(c, vote);
    nbcolli_caller_unlock(c);
}

/* The votes of all, in order. What is refused is the first one. */
static nbcoll_status nbcolli_create_start(nbcoll_comm *over, int n, const nbcolli_twin twin[])
{
    nbcoll_context *c = over->context;
    nbcoll_status s = NBCOLL_OK;

    for (int i = 0; i < n && s == NBCOLL_OK; i++) {
        nbcoll_request handle = nbcolli_request_handle(twin[i].vote);
        nbcolli_caller_lock(c);
        if (i == 0)
            s = nbcolli_request_start(twin[i].vote);
        else
            nbcolli_request_start_surely(twin[i].vote);
        nbcolli_caller_unlock(c);
        if (s != NBCOLL_OK)
            break;
        *twin[i].request = handle;
        nbcolli_take_handed(c);
    }
    if (s != NBCOLL_OK && s == nbcolli_broken(over))
        nbcolli_start_refused(over);
    return s;
}

/* ---- the calls --------------------------------------------------------------------------------------------------- */

/* Of an endpoint that is given: is it the caller's, and no other one? */
static nbcoll_status nbcolli_create_check(const nbcoll_context *c, int n, nbcoll_endpoint *const ep[])
{
    if (n < 1)
        return NBCOLL_ERR_ARGUMENT;
    if (n > NBCOLL_ENDPOINTS)
        return NBCOLL_ERR_LIMIT;
    for (int i = 0; i < n; i++) {
        if (!ep[i])
            return NBCOLL_ERR_NULL;
        if (ep[i]->owner)
            return ep[i]->owner == c ? NBCOLL_ERR_BUSY : NBCOLL_ERR_FOREIGN;
        for (int k = 0; k < i; k++)
            if (ep[k] == ep[i])
                return NBCOLL_ERR_ARGUMENT;
    }
    return NBCOLL_OK;
}

/* A communicator of all ranks of the home, which talk by that for now. */
static nbcoll_status nbcolli_create_first(nbcolli_link *home, const nbcoll_comm_config *config, nbcoll_comm **out)
{
    const nbcoll_endpoint *ep = home->endpoint;
    nbcoll_comm *comm;
    nbcoll_status s = nbcolli_comm_open(home, config, ep->ranks, &comm);

    if (s != NBCOLL_OK)
        return s;
    comm->id = 0;
    comm->rank = ep->rank;
    comm->size = ep->ranks;
    for (int i = 0; i < comm->size; i++)
        comm->peer[i] = (nbcolli_peer){.link = home, .address = i, .home = i, .pair = &home->pair[i], .is_near = 1};
    s = nbcolli_ballot_open(comm);
    if (s == NBCOLL_OK) {
        nbcolli_comm_register(comm);
        *out = comm;
    } else
        nbcolli_comm_destroy(comm);
    return s;
}

static nbcoll_status nbcolli_comm_create(nbcoll_context *c, int n, nbcoll_endpoint *const ep[],
                                         const nbcoll_comm_config *config, nbcoll_comm **out, nbcoll_request *request)
{
    nbcolli_link *home;
    nbcoll_comm *comm;
    nbcoll_status s = nbcolli_create_check(c, n, ep);

    if (s == NBCOLL_OK)
        s = nbcolli_agent_suits(c, config->agent, ep[n - 1]);
    if (s != NBCOLL_OK)
        return s;
    s = nbcolli_links_open(c, n, ep, &home);
    if (s != NBCOLL_OK)
        return s;
    s = nbcolli_create_first(home, config, &comm);
    if (s != NBCOLL_OK) {
        nbcolli_links_drop(home);
        return s;
    }
    nbcolli_twin first = {.request = request};
    s = nbcolli_create_prepare(comm, comm, (nbcolli_create_wish){NBCOLLI_CREATE, 0, comm->rank}, out, &first.vote);
    if (s == NBCOLL_OK && (s = nbcolli_create_start(comm, 1, &first)) != NBCOLL_OK)
        nbcolli_create_undo(comm, first.vote);
    if (s != NBCOLL_OK) {
        nbcolli_area_return(comm);
        nbcolli_comm_destroy(comm);
        nbcolli_links_drop(home);
        return s;
    }
    if (config->agent)
        nbcolli_agent_hold(config->agent);
    return NBCOLL_OK;
}

nbcoll_status nbcoll_comm_icreate_over(nbcoll_context *context, int n, nbcoll_endpoint *const endpoints[],
                                       const nbcoll_comm_config *given, nbcoll_comm **out, nbcoll_request *request)
{
    nbcoll_comm_config config;

    if (!context || !endpoints || !out || !request)
        return NBCOLL_ERR_NULL;
    nbcoll_status s = nbcolli_enter(context);
    if (s != NBCOLL_OK)
        return s;
    s = nbcolli_comm_config_read(given, &config);
    return nbcolli_leave(context,
                         s == NBCOLL_OK ? nbcolli_comm_create(context, n, endpoints, &config, out, request) : s);
}

nbcoll_status nbcoll_comm_create_over(nbcoll_context *context, int n, nbcoll_endpoint *const endpoints[],
                                      const nbcoll_comm_config *config, nbcoll_comm **out, uint64_t timeout)
{
    nbcoll_request request;
    nbcoll_status s = nbcoll_comm_icreate_over(context, n, endpoints, config, out, &request);
    return s == NBCOLL_OK ? nbcolli_wait_or_leave(request, timeout) : s;
}

nbcoll_status nbcoll_comm_icreate(nbcoll_context *context, nbcoll_endpoint *endpoint, const nbcoll_comm_config *given,
                                  nbcoll_comm **out, nbcoll_request *request)
{
    return nbcoll_comm_icreate_over(context, 1, &endpoint, given, out, request);
}

nbcoll_status nbcoll_comm_create(nbcoll_context *context, nbcoll_endpoint *endpoint, const nbcoll_comm_config *config,
                                 nbcoll_comm **out, uint64_t timeout)
{
    return nbcoll_comm_create_over(context, 1, &endpoint, config, out, timeout);
}

static nbcoll_status nbcolli_twin_prepare(nbcoll_comm *parent, nbcolli_create_wish mine, nbcolli_twin *twin)
{
    if (parent->link->serial == UINT32_MAX)
        return NBCOLL_ERR_LIMIT;
    nbcoll_status s = nbcolli_comm_open(parent->link, &twin->config, parent->size, &twin->made);
    if (s != NBCOLL_OK)
        return s;
    twin->made->parent = parent;
    if (twin->is_led)
        nbcolli_area_lead(twin->made, parent);
    s = nbcolli_create_prepare(twin->made, parent, mine, twin->out, &twin->vote);
    if (s == NBCOLL_OK)
        parent->link->serial++;
    else {
        nbcolli_area_return(twin->made);
        nbcolli_comm_destroy(twin->made);
    }
    return s;
}

static void nbcolli_twin_undo(nbcoll_comm *parent, nbcolli_twin *twin)
{
    parent->link->serial--; /* nobody has seen it */
    nbcolli_create_undo(twin->made, twin->vote);
    nbcolli_area_return(twin->made);
    nbcolli_comm_destroy(twin->made);
}

/* All or, refused, none. */
static nbcoll_status nbcolli_create_derive(nbcoll_comm *parent, nbcolli_create_wish mine, int n, nbcolli_twin twin[])
{
    nbcoll_status s = NBCOLL_OK;
    int prepared = 0;

    while (prepared < n && (s = nbcolli_twin_prepare(parent, mine, &twin[prepared])) == NBCOLL_OK)
        prepared++;
    if (s == NBCOLL_OK)
        s = nbcolli_create_start(parent, n, twin);
    while (s != NBCOLL_OK && prepared > 0)
        nbcolli_twin_undo(parent, &twin[--prepared]);
    return s;
}

/* With the parent's configuration, but for its agent, which serves that one. */
static nbcoll_status nbcolli_create_inherit(nbcoll_comm *parent, nbcolli_create_wish mine, nbcoll_comm **out,
                                            nbcoll_request *request)
{
    if (!out || !request)
        return NBCOLL_ERR_NULL;
    nbcoll_status s = nbcolli_enter(parent->context);
    if (s != NBCOLL_OK)
        return s;
    nbcolli_twin one = {.config = parent->config, .out = out, .request = request};
    one.config.agent = NULL;
    return nbcolli_leave(parent->context, nbcolli_create_derive(parent, mine, 1, &one));
}

static nbcoll_status nbcolli_inherit_now(nbcoll_comm *parent, nbcolli_create_wish mine, nbcoll_comm **out,
                                         uint64_t timeout)
{
    nbcoll_request request;
    nbcoll_status s = nbcolli_create_inherit(parent, mine, out, &request);
    return s == NBCOLL_OK ? nbcolli_wait_or_leave(request, timeout) : s;
}

nbcoll_status nbcoll_comm_isplit(nbcoll_comm *comm, int colour, int key, nbcoll_comm **out, nbcoll_request *request)
{
    return comm ? nbcolli_create_inherit(comm, (nbcolli_create_wish){NBCOLLI_SPLIT, colour, key}, out, request)
                : NBCOLL_ERR_NULL;
}

nbcoll_status nbcoll_comm_split(nbcoll_comm *comm, int colour, int key, nbcoll_comm **out, uint64_t timeout)
{
    return comm ? nbcolli_inherit_now(comm, (nbcolli_create_wish){NBCOLLI_SPLIT, colour, key}, out, timeout)
                : NBCOLL_ERR_NULL;
}

/* By the lowest rank that has memory in common with this one: constant, so that no lock is needed. */
static nbcolli_create_wish nbcolli_by_memory(const nbcoll_comm *comm, int key)
{
    const nbcolli_link *mine = comm->peer[comm->rank].link;
    int rank = 0;

    while (rank != comm->rank && !(mine->transport.shared && comm->peer[rank].is_near))
        rank++;
    return (nbcolli_create_wish){NBCOLLI_SPLIT_SHARED, rank, key};
}

nbcoll_status nbcoll_comm_isplit_shared(nbcoll_comm *comm, int key, nbcoll_comm **out, nbcoll_request *request)
{
    return comm ? nbcolli_create_inherit(comm, nbcolli_by_memory(comm, key), out, request) : NBCOLL_ERR_NULL;
}

nbcoll_status nbcoll_comm_split_shared(nbcoll_comm *comm, int key, nbcoll_comm **out, uint64_t timeout)
{
    return comm ? nbcolli_inherit_now(comm, nbcolli_by_memory(comm, key), out, timeout) : NBCOLL_ERR_NULL;
}

static nbcolli_create_wish nbcolli_as_parent(const nbcoll_comm *parent)
{
    return (nbcolli_create_wish){NBCOLLI_DUP, 0, parent->rank};
}

nbcoll_status nbcoll_comm_idup(nbcoll_comm *comm, nbcoll_comm **out, nbcoll_request *request)
{
    return comm ? nbcolli_create_inherit(comm, nbcolli_as_parent(comm), out, request) : NBCOLL_ERR_NULL;
}

nbcoll_status nbcoll_comm_dup(nbcoll_comm *comm, nbcoll_comm **out, uint64_t timeout)
{
    return comm ? nbcolli_inherit_now(comm, nbcolli_as_parent(comm), out, timeout) : NBCOLL_ERR_NULL;
}

nbcoll_status nbcoll_comm_idup_with(nbcoll_comm *comm, const nbcoll_comm_config *given, nbcoll_comm **out,
                                    nbcoll_request *request)
{
    nbcolli_twin one = {.out = out, .request = request};

    if (!comm || !out || !request)
        return NBCOLL_ERR_NULL;
    nbcoll_status s = nbcolli_enter(comm->context);
    if (s != NBCOLL_OK)
        return s;
    s = nbcolli_comm_config_read(given, &one.config);
    if (s == NBCOLL_OK && one.config.agent)
        s = nbcolli_has_ranks_of_endpoint(comm)
                ? nbcolli_agent_suits(comm->context, one.config.agent, comm->link->endpoint)
                : NBCOLL_ERR_UNSUPPORTED;
    if (s == NBCOLL_OK)
        s = nbcolli_create_derive(comm, nbcolli_as_parent(comm), 1, &one);
    if (s == NBCOLL_OK && one.config.agent)
        nbcolli_agent_hold(one.config.agent);
    return nbcolli_leave(comm->context, s);
}

nbcoll_status nbcolli_comm_idups(nbcoll_comm *comm, int purpose, int n, nbcolli_twin twin[])
{
    const nbcolli_create_wish mine = {NBCOLLI_DUP, purpose, comm->rank};
    nbcoll_status s = nbcolli_enter(comm->context);
    if (s != NBCOLL_OK)
        return s;
    return nbcolli_leave(comm->context, nbcolli_create_derive(comm, mine, n, twin));
}

nbcoll_status nbcoll_comm_dup_with(nbcoll_comm *comm, const nbcoll_comm_config *config, nbcoll_comm **out,
                                   uint64_t timeout)
{
    nbcoll_request request;
    nbcoll_status s = nbcoll_comm_idup_with(comm, config, out, &request);
    return s == NBCOLL_OK ? nbcolli_wait_or_leave(request, timeout) : s;
}
