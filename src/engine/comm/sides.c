/* SPDX-License-Identifier: BSD-3-Clause
 * Communicators over several endpoints: see sides.h. */
#include "sides.h"

#include "../wire/channel.h"
#include "../../host/host.h"
#include "../../schedule/nodes.h"
#include "../../schedule/sort.h"

/* ---- the vote ---------------------------------------------------------------------------------------------------- */

static int nbcolli_sides(const nbcoll_comm *comm)
{
    int n = 0;
    for (const nbcolli_link *link = comm->link->first; link != comm->link; link = link->beside)
        n++;
    return n;
}

static int nbcolli_ballots(const nbcoll_comm *comm)
{
    return comm->parent ? comm->parent->size : comm->size;
}

size_t nbcolli_ballot_record(const nbcoll_comm *comm)
{
    return sizeof(nbcolli_vote) + (comm->parent ? comm->twins * sizeof(uint64_t)
                                                : (size_t)nbcolli_sides(comm) * sizeof(nbcolli_side));
}

nbcoll_status nbcolli_ballot_open(nbcoll_comm *comm)
{
    if (nbcolli_ballot_record(comm) == sizeof(nbcolli_vote))
        return NBCOLL_OK;
    size_t sorted = comm->parent ? 0 : 2 * (size_t)nbcolli_sides(comm) * sizeof(nbcolli_entry); /* nbcolli_sides_sort */
    comm->ballot_bytes = (size_t)nbcolli_ballots(comm) * (nbcolli_ballot_record(comm) + sorted);
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
    return comm->ballot + (size_t)rank * nbcolli_ballot_record(comm);
}

static nbcolli_side *nbcolli_sides_of(const nbcoll_comm *comm, int rank)
{
    return (nbcolli_side *)(void *)(nbcolli_record_of(comm, rank) + sizeof(nbcolli_vote));
}

void nbcolli_ballot_write(nbcoll_comm *comm)
{
    if (!comm->ballot)
        return;
    int rank = comm->parent ? comm->parent->rank : comm->rank;
    nbcolli_side *side = nbcolli_sides_of(comm, rank);
    memcpy(nbcolli_record_of(comm, rank), &comm->votes[rank], sizeof(nbcolli_vote));
    for (nbcolli_link *link = comm->link->first; !comm->parent && link != comm->link; link = link->beside, side++) {
        *side = (nbcolli_side){.address = (uint32_t)link->endpoint->rank,
                               .ranks = (uint32_t)link->endpoint->ranks,
                               .credits = link->credits};
        link->transport.identify(link->endpoint, side->identity);
    }
}

void nbcolli_ballot_read(nbcoll_comm *comm)
{
    for (int rank = 0; comm->ballot && rank < nbcolli_ballots(comm); rank++)
        memcpy(&comm->votes[rank], nbcolli_record_of(comm, rank), sizeof(nbcolli_vote));
}

uint64_t *nbcolli_ballot_area(const nbcoll_comm *twin, int rank)
{
    return (uint64_t *)(void *)(nbcolli_record_of(twin->eldest, rank) + sizeof(nbcolli_vote)) + twin->number - 1;
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
    nbcolli_entry *e = (nbcolli_entry *)(void *)nbcolli_record_of(comm, comm->size);

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

/* Has it as many ranks as it says, each at its place and with the same credits, and does none name it twice? */
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
static uint64_t nbcolli_sides_lowest(nbcolli_vote *votes, uint64_t rank)
{
    while (votes[rank].node != rank) {
        votes[rank].node = votes[votes[rank].node].node;
        rank = votes[rank].node;
    }
    return rank;
}

static void nbcolli_sides_join(nbcolli_vote *votes, uint64_t a, uint64_t b)
{
    a = nbcolli_sides_lowest(votes, a);
    b = nbcolli_sides_lowest(votes, b);
    votes[a > b ? a : b].node = a < b ? a : b;
}

/* Looks at all endpoints. Who has one in common with somebody on a node is on it, unless the host has named those.
 * Returns the first side of an endpoint that is not one of ranks of this communicator, each of which has it once, and
 * of nobody else; UINT32_MAX: there is none. */
static uint32_t nbcolli_sides_look(nbcoll_comm *comm, const nbcolli_entry *e)
{
    uint32_t sides = (uint32_t)nbcolli_sides(comm), worst = UINT32_MAX;
    size_t n = (size_t)comm->size * sides;
    nbcolli_vote *votes = comm->votes;
    int nodes = votes[0].node ? 0 : comm->size; /* that are to be found */

    for (int rank = 0; rank < nodes; rank++)
        votes[rank].node = (uint64_t)rank;
    for (size_t of_one; n; e += of_one, n -= of_one) {
        of_one = nbcolli_sides_of_one(comm, e, n);
        int is_sound = nbcolli_side_is_sound(comm, e, of_one);
        for (size_t i = 0; i < of_one; i++) {
            worst = !is_sound && e[i].value < worst ? e[i].value : worst;
            if (nodes)
                nbcolli_sides_join(votes, e[0].value / sides, e[i].value / sides);
        }
    }
    for (int rank = 0; rank < nodes; rank++)
        votes[rank].node = nbcolli_sides_lowest(votes, (uint64_t)rank);
    return worst;
}

/* By which the two talk: the lower one's first side that the other one has, too. All that both have lead to it. */
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
    if (!comm->ballot)
        return NBCOLL_OK;
    uint32_t unsound = nbcolli_sides_look(comm, nbcolli_sides_sort(comm)), sides = (uint32_t)nbcolli_sides(comm);
    if (unsound != UINT32_MAX)
        return nbcolli_log(&comm->context->host, NBCOLL_ERR_MISMATCH,
                           "no communicator is made: endpoint %d of rank %d is not one of its ranks alone, each once, "
                           "with as many credits",
                           (int)(unsound % sides), (int)(unsound / sides));
    nbcolli_channels_forget(comm); /* those of the vote */
    for (int rank = 0; rank < comm->size; rank++)
        nbcolli_sides_meet(comm, rank);
    for (nbcolli_link *link = comm->link->first; link != comm->link; link = link->beside)
        link->losses++; /* what was lost before could not be told to the others */
    comm->context->news = 1;
    return NBCOLL_OK;
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

/* Whose votes, and what of them. */
typedef struct nbcolli_placing {
    const nbcolli_vote *votes;
    const int *voter;
    int by_domain;
} nbcolli_placing;

static uint64_t nbcolli_placing_number(const void *placing, int rank)
{
    const nbcolli_placing *p = placing;
    const nbcolli_vote *vote = &p->votes[p->voter[rank]];
    return p->by_domain ? vote->domain : vote->node;
}

/* The voters stand in the first table's room, behind where it begins. */
void nbcolli_comm_place(nbcoll_comm *comm, int voter[])
{
    const nbcolli_placing by_node = {comm->votes, voter, 0}, by_domain = {comm->votes, voter, 1};
    int has_domains = comm->votes[voter[0]].domain != 0, size = comm->size;

    if (has_domains)
        nbcolli_nodes_number(size, nbcolli_placing_number, &by_domain, comm->domain, comm->domain + size);
    nbcolli_nodes_number(size, nbcolli_placing_number, &by_node, comm->node, voter + size);
    nbcolli_nodes_fill(&comm->nodes, comm->size, comm->node);
    if (has_domains)
        nbcolli_domains_fill(&comm->nodes, &comm->domains, comm->domain);
}
