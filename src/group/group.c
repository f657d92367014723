/* SPDX-License-Identifier: BSD-3-Clause
 * The component group: communicators that their members alone make (nbcoll/group.h). A group is a hidden communicator
 * of the ranks that a call lists, which has no vote: its id is the tag and a hash of the list (engine/comm/comm.h).
 * What is made is its duplicate, by the vote that any duplicate has; so the n-th creation of one member is the n-th of
 * the others, and what ends a creation is what ends an operation. Of a group that is not here yet the engine keeps
 * what comes (match/match.c); who asks about it is told what this rank votes in instead (match/ask.h). */
#include "nbcoll/group.h"

#include "../engine/calls/context.h"
#include "../engine/calls/request.h"
#include "../engine/comm/comm.h"
#include "../engine/comm/vote.h"
#include "../engine/progress/lock.h"
#include "../engine/progress/created.h"
#include "../engine/run/fail.h"
#include "../engine/wire/unexpected.h"

/* ---- the list ---------------------------------------------------------------------------------------------------- */

static nbcoll_status nbcolli_group_check(int rank, int size, int n, const int ranks[], int tag)
{
    int is_listed = 0;

    if (n < 1 || tag < 0)
        return NBCOLL_ERR_ARGUMENT;
    for (int i = 0; i < n; i++) {
        if (ranks[i] < 0 || ranks[i] >= size)
            return NBCOLL_ERR_RANK;
        is_listed |= ranks[i] == rank;
        for (int k = 0; k < i; k++)
            if (ranks[k] == ranks[i])
                return NBCOLL_ERR_DUPLICATE;
    }
    return is_listed ? NBCOLL_OK : NBCOLL_ERR_RANK;
}

static uint64_t nbcolli_group_id(uint64_t of, int n, const int ranks[], int tag)
{
    uint64_t hash = (of + 2) * UINT64_C(0x9e3779b97f4a7c15); /* no small rank cancels that */

    for (int i = 0; i < n; i++)
        hash = (hash ^ (uint64_t)ranks[i] ^ hash >> 29) * UINT64_C(0x9e3779b97f4a7c15);
    return UINT64_C(1) << 63 | (uint64_t)tag << 32 | (uint32_t)(hash >> 33) | 1;
}

/* ---- groups ------------------------------------------------------------------------------------------------------ */

/* Its nodes and domains are those of the communicator. */
static nbcoll_status nbcolli_group_place(nbcoll_comm *group, const nbcoll_comm *of, const int ranks[])
{
    const nbcoll_nodes *domains = nbcoll_nodes_domains(&of->nodes);
    int *voter = group->node + group->size;
    nbcoll_status s = nbcolli_ballot_open(group);

    if (s != NBCOLL_OK)
        return s;
    for (int i = 0; i < group->size; i++) {
        voter[i] = i;
        nbcolli_vote_by(group, i)->node = (uint64_t)nbcoll_node_of(&of->nodes, ranks[i]);
        nbcolli_vote_by(group, i)->domain = domains ? 1 + (uint64_t)nbcoll_node_of(domains, ranks[i]) : 0;
    }
    group->has_named = of->has_named;
    nbcolli_comm_place(group, voter);
    nbcolli_ballot_free(group);
    return s;
}

/* The group of ranks of `of`, or, if that is null, of the home's endpoint, with what has come for it. */
static nbcoll_status nbcolli_group_open(nbcolli_link *home, const nbcoll_comm *of, int n, const int ranks[], int tag,
                                        nbcoll_comm **out)
{
    static const nbcoll_comm_config config = {.size = sizeof config, .slots = 1, .schedules = 1, .eager = 4096};
    uint64_t from = of ? of->id : NBCOLLI_NO_COMM;
    int rank = of ? of->rank : home->endpoint->rank;
    nbcoll_status s = nbcolli_group_check(rank, of ? of->size : home->endpoint->ranks, n, ranks, tag);

    if (s != NBCOLL_OK)
        return s;
    uint64_t id = nbcolli_group_id(from, n, ranks, tag);
    nbcoll_comm *group = nbcolli_comm_find(home, id);
    int is_known = group != NULL;
    if (!is_known && (s = nbcolli_comm_open(home, &config, n, &group)) != NBCOLL_OK)
        return s;
    for (int i = 0; i < n; i++) {
        nbcolli_peer peer = {.link = home, .address = ranks[i], .home = ranks[i], .is_near = 1};
        if (of)
            peer = of->peer[ranks[i]];
        if (is_known && (group->size != n || group->peer[i].home != peer.home || group->vote_comm != from))
            return NBCOLL_ERR_LIMIT;
        if (!is_known)
            nbcolli_comm_join(group, i, &peer);
        if (ranks[i] == rank)
            group->rank = i;
    }
    *out = group;
    if (is_known)
        return NBCOLL_OK;
    group->id = id;
    group->size = n;
    group->vote_comm = from;
    group->vote_tag = UINT64_MAX;
    if (of && (s = nbcolli_group_place(group, of, ranks)) != NBCOLL_OK) {
        nbcolli_comm_destroy(group);
        return s;
    }
    nbcolli_comm_register(group);
    nbcolli_made_adopt(home);
    return NBCOLL_OK;
}

/* Groups of communicators that are freed go, too, unless a vote is under way there. Members that have voted in one are
 * told. */
static void nbcolli_groups_sweep(nbcoll_context *c)
{
    for (nbcoll_comm *group = c->comms, *next; group; group = next) {
        next = group->sister;
        if (!nbcolli_is_group(group->id) || group->active || group->vote_comm == NBCOLLI_NO_COMM ||
            nbcolli_comm_find(group->link, group->vote_comm))
            continue;
        if (nbcolli_unexpected_drop(group, 0, UINT64_MAX, NBCOLL_ERR_CANCELLED))
            nbcolli_comm_break(group, group->rank, NBCOLL_ERR_CANCELLED, group->taken);
        nbcolli_comm_destroy(group);
    }
}

/* ---- the calls --------------------------------------------------------------------------------------------------- */

nbcoll_status nbcoll_comm_icreate_group(nbcoll_comm *comm, int n, const int ranks[], int tag, nbcoll_comm **out,
                                        nbcoll_request *request)
{
    nbcoll_comm *group;

    nbcoll_status s = comm && ranks && out && request ? nbcolli_enter(comm->context) : NBCOLL_ERR_NULL;
    if (s != NBCOLL_OK)
        return s;
    nbcoll_comm_config config = comm->config;
    config.agent = NULL;
    nbcolli_groups_sweep(comm->context);
    s = nbcolli_leave(comm->context, nbcolli_group_open(comm->link, comm, n, ranks, tag, &group));
    return s == NBCOLL_OK ? nbcoll_comm_idup_with(group, &config, out, request) : s;
}

nbcoll_status nbcoll_comm_create_group(nbcoll_comm *comm, int n, const int ranks[], int tag, nbcoll_comm **out,
                                       uint64_t timeout)
{
    nbcoll_request request;
    return nbcolli_wait_or_leave(nbcoll_comm_icreate_group(comm, n, ranks, tag, out, &request), &request, timeout);
}

/* The link of an endpoint that stands alone: the context's, or, new, of one that it gets. */
static nbcoll_status nbcolli_group_link(nbcoll_context *c, nbcoll_endpoint *ep, nbcolli_link **home, int *is_new)
{
    nbcolli_link *link = c->links;

    while (link && link->endpoint != ep)
        link = link->next;
    *home = link;
    *is_new = !link;
    if (link)
        return link->home == link && link->first == link ? NBCOLL_OK : NBCOLL_ERR_UNSUPPORTED;
    return ep->owner ? NBCOLL_ERR_FOREIGN : nbcolli_links_open(c, 1, &ep, home);
}

nbcoll_status nbcoll_comm_icreate_among(nbcoll_context *c, nbcoll_endpoint *ep, int n, const int ranks[], int tag,
                                        const nbcoll_comm_config *config, nbcoll_comm **out, nbcoll_request *request)
{
    nbcoll_comm *group = NULL;
    nbcolli_link *home;
    int is_new;

    nbcoll_status s = c && ep && ranks && out && request ? nbcolli_enter(c) : NBCOLL_ERR_NULL;
    if (s != NBCOLL_OK)
        return s;
    nbcolli_groups_sweep(c);
    s = nbcolli_group_link(c, ep, &home, &is_new);
    if (s != NBCOLL_OK)
        return nbcolli_leave(c, s);
    s = nbcolli_group_open(home, NULL, n, ranks, tag, &group);
    if (s != NBCOLL_OK && is_new)
        nbcolli_links_drop(home);
    if (nbcolli_leave(c, s) != NBCOLL_OK)
        return s;
    s = nbcoll_comm_idup_with(group, config, out, request);
    if (s != NBCOLL_OK && is_new && nbcolli_enter(c) == NBCOLL_OK) { /* nobody has heard of it */
        nbcolli_comm_destroy(group);
        nbcolli_links_drop(home);
        return nbcolli_leave(c, s);
    }
    return s;
}

nbcoll_status nbcoll_comm_create_among(nbcoll_context *context, nbcoll_endpoint *endpoint, int n, const int ranks[],
                                       int tag, const nbcoll_comm_config *config, nbcoll_comm **out, uint64_t timeout)
{
    nbcoll_request request;
    nbcoll_status s = nbcoll_comm_icreate_among(context, endpoint, n, ranks, tag, config, out, &request);
    return nbcolli_wait_or_leave(s, &request, timeout);
}
