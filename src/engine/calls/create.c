/* SPDX-License-Identifier: BSD-3-Clause
 * Making communicators. The first of an endpoint, dup and split work alike: every rank votes; an allgather (an
 * operation of the parent, or of the new communicator itself if it is the first) gives all votes to all; each rank
 * computes the same from them. All memory is taken before the vote, so that no rank can fail alone afterwards. The id
 * is the first rank's address and a serial number of that rank's: unique without a server. Duplicates that the library
 * makes together, *twins*, have one vote, that of the first of them, the *eldest*: theirs are its terms, and the serial
 * numbers behind its own. */
#include "create.h"
#include "context.h"
#include "request.h"
#include "start.h"
#include "../run/pool.h"
#include "../comm/area.h"
#include "../comm/comm.h"
#include "../comm/requests.h"
#include "../comm/vote.h"
#include "../match/agree.h"
#include "../progress/lock.h"
#include "../progress/progress.h"

/* ---- the vote ---------------------------------------------------------------------------------------------------- */

nbcoll_build nbcolli_allgather_bruck;

static nbcoll_status nbcolli_create_ballot(nbcoll_comm *over, size_t bytes, nbcoll_schedule **out)
{
    nbcoll_args a = {.size = sizeof a,
                     .operation = NBCOLL_OPERATION_ALLGATHER,
                     .count = bytes,
                     .reduction = {NBCOLL_BYTE, NBCOLL_SUM},
                     .in_place = 1};
    nbcoll_builder_config config = {
        .size = sizeof config, .host = &over->context->host, .rank = over->rank, .ranks = over->size};
    static const nbcoll_algorithm bruck = {.size = sizeof bruck,
                                           .name = "bruck",
                                           .operation = NBCOLL_OPERATION_ALLGATHER,
                                           .build = nbcolli_allgather_bruck};
    nbcoll_status s = nbcoll_build_schedule(&bruck, &a, &config, out);
    if (s == NBCOLL_OK) {
        (*out)->evicted = 1; /* freed with its request */
        nbcolli_schedule_mark(*out, NBCOLLI_BALLOT_MARK(bytes));
    }
    return s;
}

/* What a rank passes to a creation. */
typedef struct nbcolli_create_wish {
    nbcolli_creation creation;
    int colour, key; /* of a duplicate: colour, its purpose or 0; key, its rank in the parent */
    const nbcoll_comm_config *config; /* null: its parent's, without the agent */
} nbcolli_create_wish;

/* The eldest's vote makes it, too. */
static void nbcolli_twin_join(nbcoll_comm *elder, nbcolli_twin *twin)
{
    nbcoll_comm *comm = twin->made;

    elder->twin = comm;
    comm->number = elder->number + 1;
    comm->making = 1;
    if (comm->config.cells)
        *nbcolli_ballot_area(comm, comm->parent->rank) = nbcolli_area_offer(comm, comm->parent->size);
}

/* Casts this rank's vote, by an operation of `over`, for all of `twin`. On an error the caller undoes them. */
static nbcoll_status nbcolli_create_cast(nbcoll_comm *over, nbcolli_create_wish mine, int n, nbcolli_twin twin[],
                                         nbcoll_request *request)
{
    nbcoll_comm *comm = twin[0].made;
    nbcolli_link *link = comm->link;
    uint32_t serials = over == comm ? 0 : (uint32_t)n;
    nbcoll_schedule *schedule;

    comm->making = 1;
    nbcolli_vote_cast(comm, over, mine.creation, mine.colour, mine.key);
    nbcoll_status s = nbcolli_create_ballot(over, comm->record, &schedule);
    if (s != NBCOLL_OK)
        return s;
    for (int i = 1; i < n; i++)
        nbcolli_twin_join(twin[i - 1].made, &twin[i]);
    if (over == comm) /* until the ranks have agreed */
        comm->config.slots = 1;
    link->serial += serials;
    link->creating++;
    nbcolli_caller_lock(comm->context);
    nbcolli_request *r = nbcolli_request_open(over, schedule, NULL, comm->ballot, 0);
    if (r) {
        nbcolli_schedule_own(schedule, comm->context);
        r->creating = comm;
    } else
        nbcolli_schedule_delete(schedule);
    s = nbcolli_begin(over, r, 0, request);
    nbcolli_caller_unlock(comm->context);
    if (s == NBCOLL_OK) {
        nbcolli_take_handed(comm->context);
        return s;
    }
    if (s == nbcolli_broken(over))
        nbcolli_start_refused(over);
    link->creating--;
    link->serial -= serials; /* no other rank has seen them */
    return s;
}

static void nbcolli_twins_undo(int n, const nbcolli_twin twin[])
{
    for (int i = n - 1; i >= 0; i--) {
        nbcolli_area_return(twin[i].made);
        nbcolli_comm_destroy(twin[i].made);
    }
}

/* ---- the calls --------------------------------------------------------------------------------------------------- */

/* Is a given endpoint the caller's own, and given once? */
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

/* Makes a communicator of all ranks of the home, by which they talk for now. */
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

nbcoll_status nbcoll_comm_icreate_over(nbcoll_context *c, int n, nbcoll_endpoint *const endpoints[],
                                       const nbcoll_comm_config *given, nbcoll_comm **out, nbcoll_request *request)
{
    nbcolli_twin one = {.out = out};
    nbcoll_comm_config config;
    nbcolli_link *home = NULL;

    nbcoll_status s = c && endpoints && out && request ? nbcolli_enter(c) : NBCOLL_ERR_NULL;
    if (s != NBCOLL_OK)
        return s;
    s = nbcolli_comm_config_read(given, &config);
    if (s == NBCOLL_OK)
        s = nbcolli_create_check(c, n, endpoints);
    if (s == NBCOLL_OK && config.agent)
        s = nbcolli_agent_does(config.agent)->suits(config.agent, c, endpoints[n - 1]);
    if (s == NBCOLL_OK)
        s = nbcolli_links_open(c, n, endpoints, &home);
    if (s != NBCOLL_OK)
        return nbcolli_leave(c, s);
    s = nbcolli_create_first(home, &config, &one.made);
    if (s == NBCOLL_OK) {
        one.made->out = out;
        s = nbcolli_create_cast(one.made, (nbcolli_create_wish){.creation = NBCOLLI_CREATE, .key = one.made->rank}, 1,
                                &one, request);
        if (s != NBCOLL_OK)
            nbcolli_twins_undo(1, &one);
    }
    if (s != NBCOLL_OK)
        nbcolli_links_drop(home->first);
    else if (config.agent)
        nbcolli_agent_does(config.agent)->hold(config.agent);
    return nbcolli_leave(c, s);
}

nbcoll_status nbcoll_comm_create_over(nbcoll_context *context, int n, nbcoll_endpoint *const endpoints[],
                                      const nbcoll_comm_config *config, nbcoll_comm **out, uint64_t timeout)
{
    nbcoll_request request;
    return nbcolli_wait_or_leave(nbcoll_comm_icreate_over(context, n, endpoints, config, out, &request), &request,
                                 timeout);
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

static nbcoll_status nbcolli_twin_open(nbcoll_comm *parent, nbcoll_comm *eldest, nbcolli_twin *twin)
{
    nbcoll_status s = nbcolli_comm_open(parent->link, &twin->config, parent->size, &twin->made);

    if (s != NBCOLL_OK)
        return s;
    twin->made->parent = parent;
    twin->made->eldest = eldest;
    twin->made->leader = twin->leader - 1;
    twin->made->out = twin->out;
    return s;
}

/* A shrink begins without a vote: the survivors exchange theirs by messages of their own. */
static nbcoll_status nbcolli_create_survivors(nbcoll_comm *comm, const nbcolli_twin *twin, nbcoll_request *request)
{
    nbcoll_context *c = comm->context;

    if (!nbcolli_shrink_fits(comm) || UINT32_MAX - comm->link->serial <= (uint32_t)comm->size)
        return NBCOLL_ERR_LIMIT;
    nbcolli_caller_lock(c);
    nbcolli_request *r = nbcolli_request_open(comm, NULL, NULL, NULL, 0);
    nbcoll_status s = r ? NBCOLL_OK : nbcolli_request_refused(c);
    nbcolli_caller_unlock(c);
    if (!r)
        return s;
    s = nbcolli_shrink_start(comm, twin->made, r);
    if (s != NBCOLL_OK) {
        nbcolli_request_release(c, r);
        return s;
    }
    *request = nbcolli_request_handle(r);
    nbcolli_drain(c);
    return s;
}

/* Starts all or, if refused, none. */
static nbcoll_status nbcolli_create_derive(nbcoll_comm *parent, nbcolli_create_wish mine, int n, nbcolli_twin twin[],
                                           nbcoll_request *request)
{
    int opened = 0;

    if (UINT32_MAX - parent->link->serial < (uint32_t)n)
        return NBCOLL_ERR_LIMIT;
    nbcoll_status s = nbcolli_twin_open(parent, NULL, &twin[0]);
    nbcoll_comm *eldest = s == NBCOLL_OK ? twin[0].made : NULL;
    while (s == NBCOLL_OK && ++opened < n) {
        s = nbcolli_twin_open(parent, eldest, &twin[opened]);
        eldest->twins += twin[opened].config.cells > 0;
    }
    if (s == NBCOLL_OK)
        s = nbcolli_ballot_open(eldest);
    if (mine.creation == NBCOLLI_DUP)
        mine.key = parent->rank;
    if (s == NBCOLL_OK)
        s = mine.creation == NBCOLLI_SHRINK ? nbcolli_create_survivors(parent, twin, request)
                                            : nbcolli_create_cast(parent, mine, n, twin, request);
    if (s != NBCOLL_OK)
        nbcolli_twins_undo(opened, twin);
    return s;
}

/* By the lowest rank of the same endpoint, whether or not that one shares memory; without shared memory by a number
 * that no other rank has. */
static int nbcolli_memory_colour(const nbcoll_comm *comm)
{
    int rank = 0;

    while (!comm->peer[rank].is_near)
        rank++;
    return comm->peer[comm->rank].link->transport.shared ? rank : comm->size + comm->rank;
}

static nbcoll_status nbcolli_create_of(nbcoll_comm *parent, nbcolli_create_wish mine, nbcoll_comm **out,
                                       nbcoll_request *request)
{
    nbcoll_status s = parent && out && request ? nbcolli_enter(parent->context) : NBCOLL_ERR_NULL;
    if (s != NBCOLL_OK)
        return s;
    nbcolli_twin one = {.config = parent->config, .out = out};
    one.config.agent = NULL;
    if (mine.config)
        s = nbcolli_comm_config_read(mine.config, &one.config);
    if (s == NBCOLL_OK && one.config.agent)
        s = nbcolli_has_ranks_of_endpoint(parent)
                ? nbcolli_agent_does(one.config.agent)->suits(one.config.agent, parent->context, parent->link->endpoint)
                : NBCOLL_ERR_UNSUPPORTED;
    if (mine.creation == NBCOLLI_SPLIT_SHARED)
        mine.colour = nbcolli_memory_colour(parent);
    if (s == NBCOLL_OK)
        s = nbcolli_create_derive(parent, mine, 1, &one, request);
    if (s == NBCOLL_OK && one.config.agent)
        nbcolli_agent_does(one.config.agent)->hold(one.config.agent);
    return nbcolli_leave(parent->context, s);
}

static const nbcoll_comm_config nbcolli_comm_defaults = NBCOLL_COMM_DEFAULTS;

/* Both forms of a call that makes a communicator of another one: PARAMETERS end with a comma; the rest gives its
 * wish. */
#define NBCOLLI_PARAMETERS(...) __VA_ARGS__
#define NBCOLLI_MAKE(name, parameters, ...)                                                                            \
    nbcoll_status nbcoll_comm_i##name(nbcoll_comm *comm, NBCOLLI_PARAMETERS parameters nbcoll_comm **out,              \
                                      nbcoll_request *request)                                                         \
    {                                                                                                                  \
        return nbcolli_create_of(comm, (nbcolli_create_wish){__VA_ARGS__}, out, request);                              \
    }                                                                                                                  \
    nbcoll_status nbcoll_comm_##name(nbcoll_comm *comm, NBCOLLI_PARAMETERS parameters nbcoll_comm **out,               \
                                     uint64_t timeout)                                                                 \
    {                                                                                                                  \
        nbcoll_request request;                                                                                        \
        nbcoll_status s = nbcolli_create_of(comm, (nbcolli_create_wish){__VA_ARGS__}, out, &request);                  \
        return nbcolli_wait_or_leave(s, &request, timeout);                                                            \
    }

NBCOLLI_MAKE(split, (int colour, int key, ), .creation = NBCOLLI_SPLIT, .colour = colour, .key = key)
NBCOLLI_MAKE(split_shared, (int key, ), .creation = NBCOLLI_SPLIT_SHARED, .key = key)
NBCOLLI_MAKE(dup, (), .creation = NBCOLLI_DUP)
NBCOLLI_MAKE(dup_with, (const nbcoll_comm_config *config, ), .creation = NBCOLLI_DUP,
             .config = config ? config : &nbcolli_comm_defaults)
NBCOLLI_MAKE(shrink, (), .creation = NBCOLLI_SHRINK)

nbcoll_status nbcolli_comm_idups(nbcoll_comm *comm, int purpose, int n, nbcolli_twin twin[], nbcoll_request *request)
{
    const nbcolli_create_wish mine = {.creation = NBCOLLI_DUP, .colour = purpose};
    nbcoll_status s = nbcolli_enter(comm->context);
    return s == NBCOLL_OK ? nbcolli_leave(comm->context, nbcolli_create_derive(comm, mine, n, twin, request)) : s;
}
