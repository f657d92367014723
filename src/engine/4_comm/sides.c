/* SPDX-License-Identifier: BSD-3-Clause
 * Communicators over several endpoints: see sides.h. */
#include <stdio.h>

#include "sides.h"

#include "../2_wire/channel.h"
#include "../../host/host.h"
#include "../../schedule/nodes.h"

/* ---- the vote ---------------------------------------------------------------------------------------------------- */

static int nbcolli_sides(const nbcoll_comm *comm)
{
    int n = 0;
    for (const nbcolli_link *link = comm->link->first; link != comm->link; link = link->beside)
        n++;
    return n;
}

size_t nbcolli_ballot_record(const nbcoll_comm *comm)
{
    return sizeof(nbcolli_vote) + (size_t)nbcolli_sides(comm) * sizeof(nbcolli_side);
}

nbcoll_status nbcolli_ballot_open(nbcoll_comm *comm)
{
    if (!nbcolli_sides(comm))
        return NBCOLL_OK;
    comm->ballot_bytes = (size_t)comm->size * nbcolli_ballot_record(comm);
    comm->ballot = nbcolli_alloc(&comm->context->host, comm->ballot_bytes, 64);
    return comm->ballot ? NBCOLL_OK : NBCOLL_ERR_MEMORY;
}

void nbcolli_ballot_free(nbcoll_comm *comm)
{
    if (comm->ballot)
        nbcolli_free(&comm->context->host, comm->ballot, comm->ballot_bytes);
    comm->ballot = NULL;
}

static unsigned char *nbcolli_record_of(const nbcoll_comm *comm, int rank)
{
    return comm->ballot + (size_t)rank * (comm->ballot_bytes / (size_t)comm->size);
}

static nbcolli_side *nbcolli_sides_of(const nbcoll_comm *comm, int rank)
{
    return (nbcolli_side *)(void *)(nbcolli_record_of(comm, rank) + sizeof(nbcolli_vote));
}

void nbcolli_ballot_write(nbcoll_comm *comm)
{
    if (!comm->ballot)
        return;
    nbcolli_side *side = nbcolli_sides_of(comm, comm->rank);
    memcpy(nbcolli_record_of(comm, comm->rank), &comm->votes[comm->rank], sizeof(nbcolli_vote));
    for (const nbcolli_link *link = comm->link->first; link != comm->link; link = link->beside, side++) {
        *side = (nbcolli_side){.address = (uint32_t)link->endpoint->rank,
                               .ranks = (uint32_t)link->endpoint->ranks,
                               .credits = link->credits};
        link->transport.identify(link->endpoint, side->identity);
    }
}

void nbcolli_ballot_read(nbcoll_comm *comm)
{
    for (int rank = 0; comm->ballot && rank < comm->size; rank++)
        memcpy(&comm->votes[rank], nbcolli_record_of(comm, rank), sizeof(nbcolli_vote));
}

/* ---- who has which ----------------------------------------------------------------------------------------------- */

static int nbcolli_side_is(const nbcolli_side *a, const nbcolli_side *b)
{
    return a->identity[0] == b->identity[0] && a->identity[1] == b->identity[1];
}

/* Is it an endpoint of ranks of this communicator, each of which has it once, and nobody else? */
static int nbcolli_side_is_sound(const nbcoll_comm *comm, int rank, int side)
{
    const nbcolli_side *mine = &nbcolli_sides_of(comm, rank)[side];
    uint32_t found = 0;

    for (int other = 0; other < comm->size; other++)
        for (int i = 0; i < nbcolli_sides(comm); i++) {
            const nbcolli_side *theirs = &nbcolli_sides_of(comm, other)[i];
            if (!nbcolli_side_is(mine, theirs))
                continue;
            found++;
            int is_twice = other == rank ? i != side : theirs->address == mine->address;
            if (is_twice || theirs->ranks != mine->ranks || theirs->credits != mine->credits)
                return 0;
        }
    return found == mine->ranks && mine->address < mine->ranks;
}

/* The lower one's first side that the other one has, too, and where in that one's list; -1: there is none. */
static int nbcolli_side_common(const nbcoll_comm *comm, int lower, int higher, int *of_higher)
{
    int n = nbcolli_sides(comm);

    for (int i = 0; i < n; i++)
        for (*of_higher = 0; *of_higher < n; ++*of_higher)
            if (nbcolli_side_is(&nbcolli_sides_of(comm, lower)[i], &nbcolli_sides_of(comm, higher)[*of_higher]))
                return i;
    return -1;
}

/* All addresses on this rank's sides. */
static void nbcolli_sides_know_members(nbcoll_comm *comm)
{
    const nbcolli_side *mine = nbcolli_sides_of(comm, comm->rank);

    for (nbcolli_link *link = comm->link->first; link != comm->link; link = link->beside, mine++) {
        for (int rank = 0; rank < comm->size; rank++)
            for (int i = 0; i < nbcolli_sides(comm); i++) {
                const nbcolli_side *theirs = &nbcolli_sides_of(comm, rank)[i];
                if (nbcolli_side_is(mine, theirs))
                    link->member[theirs->address] = rank;
            }
        link->losses++; /* what was lost before could not be told to the others */
    }
    comm->context->news = 1;
}

static void nbcolli_sides_choose(nbcoll_comm *comm, int rank)
{
    int is_lower = comm->rank <= rank, of_higher;
    int of_lower = nbcolli_side_common(comm, is_lower ? comm->rank : rank, is_lower ? rank : comm->rank, &of_higher);
    nbcolli_link *link = comm->link->first;
    nbcolli_peer *peer = &comm->peer[rank];

    peer->is_near = rank == comm->rank || (of_lower == 0 && of_higher == 0);
    if (of_lower < 0)
        return;
    for (int i = is_lower ? of_lower : of_higher; i > 0; i--)
        link = link->beside;
    peer->link = link;
    peer->address = (int)nbcolli_sides_of(comm, rank)[is_lower ? of_higher : of_lower].address;
    peer->pair = &link->pair[peer->address];
    peer->revoke = NULL;
}

/* Who has an endpoint in common with somebody on a node is on it. */
static void nbcolli_sides_make_nodes(nbcoll_comm *comm)
{
    nbcolli_vote *votes = comm->votes;
    int moved, unused;

    for (int rank = 0; rank < comm->size; rank++)
        votes[rank].node = (uint64_t)rank;
    do {
        moved = 0;
        for (int rank = 1; rank < comm->size; rank++)
            for (int other = 0; other < rank; other++)
                if (votes[rank].node != votes[other].node && nbcolli_side_common(comm, other, rank, &unused) >= 0) {
                    uint64_t lower = votes[rank].node < votes[other].node ? votes[rank].node : votes[other].node;
                    votes[rank].node = votes[other].node = lower;
                    moved = 1;
                }
    } while (moved);
}

static void nbcolli_sides_log(const nbcoll_comm *comm, int rank, int side)
{
    const nbcoll_host *host = &comm->context->host;
    char text[160];

    if (!host->log)
        return;
    snprintf(text, sizeof text,
             "no communicator is made: endpoint %d of rank %d is not one of its ranks alone, each once, with as many "
             "credits",
             side, rank);
    host->log(host->user, NBCOLL_ERR_MISMATCH, text);
}

nbcoll_status nbcolli_sides_settle(nbcoll_comm *comm)
{
    if (!comm->ballot)
        return NBCOLL_OK;
    for (int rank = 0; rank < comm->size; rank++)
        for (int side = 0; side < nbcolli_sides(comm); side++)
            if (!nbcolli_side_is_sound(comm, rank, side)) {
                nbcolli_sides_log(comm, rank, side);
                return NBCOLL_ERR_MISMATCH;
            }
    nbcolli_channels_forget(comm); /* those of the vote */
    nbcolli_sides_know_members(comm);
    for (int rank = 0; rank < comm->size; rank++)
        nbcolli_sides_choose(comm, rank);
    if (!comm->votes[0].node)
        nbcolli_sides_make_nodes(comm);
    return NBCOLL_OK;
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

void nbcolli_comm_place(nbcoll_comm *comm, const int voter[])
{
    int *node = comm->node;

    for (int rank = 0; rank < comm->size; rank++) {
        node[rank] = 0;
        while (comm->votes[voter[node[rank]]].node != comm->votes[voter[rank]].node)
            node[rank]++;
    }
    nbcolli_nodes_fill(&comm->nodes, comm->size, node);
}
