/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>

#include "created.h"

#include "../run/fail.h"
#include "../wire/control.h"
#include "../run/queue.h"
#include "../comm/area.h"
#include "../comm/comm.h"
#include "../comm/vote.h"
#include "../match/agree.h"
#include "../match/news.h"
#include "../match/match.h"
#include "../../host/host.h"

/* The array of each rank's voter, in the room behind the table of nodes. */
static int *nbcolli_voters(const nbcoll_comm *comm)
{
    return comm->node + (comm->parent ? comm->parent->size : comm->size);
}

/* Do the ranks of each node have cells in common? All ranks must find the same: so only the votes count, and at most
 * two endpoints, with which nodes are unambiguous. */
static void nbcolli_settle_sharing(nbcoll_comm *comm)
{
    const nbcolli_link *first = comm->link->first;

    comm->nodes_share = comm->leader < 0 && comm->agreed.shares == NBCOLLI_SHARES_WITH_ALL &&
                        (first == comm->link || (first->beside == comm->link && !comm->has_named));
    for (int rank = 0; rank < comm->size; rank++)
        comm->nodes_share &= nbcolli_vote_by(comm, nbcolli_voters(comm)[rank])->area != 0;
}

/* The first communicator of its endpoints: its members are known; terms, and each pair's endpoint, change. */
static nbcoll_status nbcolli_settle_first(nbcoll_comm *comm)
{
    comm->has_named = nbcolli_vote_by(comm, 0)->node != 0;
    nbcoll_status s = nbcolli_sides_settle(comm);

    if (s != NBCOLL_OK)
        return s;
    nbcolli_votes_agree(comm, comm->size);
    for (int i = 0; i < comm->size; i++) {
        nbcolli_area_find(comm, i, nbcolli_vote_by(comm, i)->area, comm->size);
        nbcolli_voters(comm)[i] = i;
    }
    nbcolli_settle_sharing(comm);
    nbcolli_comm_place(comm, nbcolli_voters(comm));
    nbcolli_area_take(comm);
    return NBCOLL_OK;
}

/* Nodes, or domains, that the host has not named stay as they were. */
static void nbcolli_settle_nodes(nbcoll_comm *comm)
{
    const nbcoll_nodes *nodes = &comm->parent->nodes, *domains = nbcoll_nodes_domains(nodes);
    int is_named = nbcolli_vote_by(comm, 0)->node != 0, has_domains = nbcolli_vote_by(comm, 0)->domain != 0;

    comm->has_named = is_named || comm->parent->has_named;
    nbcolli_settle_sharing(comm);
    for (int i = 0; !is_named && i < comm->parent->size; i++)
        nbcolli_vote_by(comm, i)->node = (uint64_t)nbcoll_node_of(nodes, i);
    for (int i = 0; domains && !has_domains && i < comm->parent->size; i++)
        nbcolli_vote_by(comm, i)->domain = 1 + (uint64_t)nbcoll_node_of(domains, i);
    nbcolli_comm_place(comm, nbcolli_voters(comm));
}

/* This rank's number among those of its colour, by key, then by rank in the parent. Duplicates keep their ranks. */
static int nbcolli_settle_place(const nbcoll_comm *comm, int rank)
{
    const nbcolli_vote *mine = nbcolli_vote_by(comm, rank);
    int place = 0;

    if (mine->creation == NBCOLLI_DUP)
        return rank;
    for (int i = 0; i < comm->parent->size; i++) {
        const nbcolli_vote *v = nbcolli_vote_by(comm, i);
        place += v->colour == mine->colour && (v->key < mine->key || (v->key == mine->key && i < rank));
    }
    return place;
}

/* The members: ranks of this rank's colour. */
static void nbcolli_settle_members(nbcoll_comm *comm)
{
    const nbcoll_comm *parent = comm->parent;
    const nbcolli_vote *mine = nbcolli_vote_by(comm, parent->rank);
    int first = -1;

    if (comm->eldest)
        nbcolli_votes_agree_twin(comm);
    else
        nbcolli_votes_agree(comm, parent->size); /* its parent's, whatever the colour */
    comm->size = 0;
    for (int i = 0; i < parent->size; i++) {
        const nbcolli_vote *v = nbcolli_vote_by(comm, i);
        if (v->colour != mine->colour)
            continue;
        int place = nbcolli_settle_place(comm, i);
        nbcolli_comm_join(comm, place, &parent->peer[i]);
        nbcolli_voters(comm)[place] = i;
        if (comm->config.cells)
            nbcolli_area_find(comm, place, comm->eldest ? *nbcolli_ballot_area(comm, i) : v->area, parent->size);
        comm->rank = v == mine ? place : comm->rank;
        first = place ? first : i;
        comm->size++;
    }
    nbcolli_settle_nodes(comm);
    const nbcolli_vote *eldest = nbcolli_vote_by(comm, first);
    comm->id = (uint64_t)eldest->address << 32 | (eldest->serial + comm->number);
    nbcolli_area_take(comm);
}

void nbcolli_made_adopt(nbcolli_link *link)
{
    nbcolli_unexpected *list = link->orphans;

    link->orphans = NULL;
    while (list) {
        nbcolli_unexpected *s = list;
        nbcolli_incoming in = nbcolli_incoming_kept(s);
        list = s->next;
        nbcolli_receive(&in);
    }
}

/* A text on what differs among votes and must not, or is impossible; null: all is well. Duplicates have a purpose. */
static const char *nbcolli_vote_differs(const nbcolli_vote *v, const nbcolli_vote *first)
{
    int is_other = v->creation == NBCOLLI_DUP && v->colour != first->colour;

    if (v->creation == first->creation && is_other && v->colour && first->colour)
        return "opens other relays than rank 0";
    if (v->creation != first->creation || is_other)
        return "calls for another one than rank 0";
    if (!v->node != !first->node)
        return "says what its node is, or rank 0 does, not both";
    if (!v->domain != !first->domain)
        return "says what its domain is, or rank 0 does, not both";
    if (!nbcolli_slots_are_possible(v->slots, v->cells))
        return "votes for slots or cells that none can have";
    return v->rules != first->rules ? "has other rules or another agent than rank 0" : NULL;
}

static nbcoll_status nbcolli_votes_compare(const nbcoll_comm *comm, int voters)
{
    const nbcolli_vote *first = nbcolli_vote_by(comm, 0);
    const nbcoll_host *host = &comm->context->host;

    for (int i = 0; i < voters; i++) {
        const nbcolli_vote *v = nbcolli_vote_by(comm, i);
        const char *differs = nbcolli_vote_differs(v, first);
        if (v->abi != NBCOLL_ABI)
            return NBCOLL_ERR_ABI;
        if (differs)
            return nbcolli_log(host, NBCOLL_ERR_MISMATCH, "no communicator is made: rank %d %s", i, differs);
        if (v->credits != first->credits)
            return nbcolli_log(host, NBCOLL_ERR_MISMATCH,
                               "no communicator is made: rank %d gives %" PRIu32 " credits, rank 0 %" PRIu32, i,
                               v->credits, first->credits);
    }
    return NBCOLL_OK;
}

/* With its twins. */
static nbcoll_status nbcolli_made_conclude(nbcoll_comm *comm, nbcoll_status s)
{
    int voters = comm->parent ? comm->parent->size : comm->size;

    int is_shrink = s == NBCOLL_OK && nbcolli_shrink_made(comm); /* which tells the other ranks the result */

    if (s == NBCOLL_OK && comm->spoiled != NBCOLL_OK) { /* ranks that have it must learn that this rank has not */
        nbcoll_comm *over = comm->parent ? comm->parent : comm;
        int cause = nbcolli_member_at(over, comm->spoiler);
        s = comm->spoiled;
        nbcolli_note_failure(over, s, cause, comm->vote_tag);
        if (!is_shrink)
            nbcolli_tell_all(over, NBCOLLI_REVOKE, comm->vote_tag, s, cause, 0);
    }
    if (s == NBCOLL_OK)
        s = nbcolli_votes_compare(comm, voters);
    if (s == NBCOLL_OK && !comm->parent)
        s = nbcolli_settle_first(comm);
    else if (s == NBCOLL_OK && nbcolli_vote_by(comm, comm->parent->rank)->colour >= 0)
        for (; comm; comm = comm->twin) {
            nbcolli_settle_members(comm);
            nbcolli_comm_register(comm);
        }
    else if (s == NBCOLL_OK)
        nbcolli_area_return(comm);
    return s;
}

/* Gives it to the call, or ends it. */
static void nbcolli_made_give(nbcolli_request *r, nbcoll_comm *comm)
{
    nbcoll_comm **out = comm->out;

    comm->parent = comm->eldest = comm->twin = NULL;
    comm->making = r->status != NBCOLL_OK;
    if (r->status != NBCOLL_OK || !out || !comm->listed) {
        if (r->comm == comm)
            r->comm = NULL;
        nbcolli_unexpected_drop(comm, 0, UINT64_MAX,
                                NBCOLL_ERR_CANCELLED); /* from ranks that have it already */
        nbcolli_comm_destroy(comm);
        comm = NULL;
    }
    if (out && r->status == NBCOLL_OK)
        *out = comm;
}

void nbcolli_comm_made(nbcolli_request *r)
{
    nbcoll_comm *eldest = r->creating;
    nbcolli_link *link = eldest->link;
    nbcoll_context *c = eldest->context;

    r->creating = NULL;
    r->status = nbcolli_made_conclude(eldest, r->status);
    nbcolli_ballot_free(eldest);
    link->creating--;
    if (r->status != NBCOLL_OK)
        nbcolli_comm_unmade(eldest);
    for (nbcoll_comm *comm = eldest, *next; comm; comm = next) {
        next = comm->twin;
        nbcolli_made_give(r, comm);
    }
    nbcolli_made_adopt(link);
    nbcolli_request_end(c, r);
}
