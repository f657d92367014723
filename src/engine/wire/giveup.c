/* SPDX-License-Identifier: BSD-3-Clause */
#include "giveup.h"

#include "control.h"

void nbcolli_rejected_by(nbcolli_link *link, int peer)
{
    link->home->rejected = 1;
    nbcolli_mark_lost(link, peer, NBCOLLI_REJECTED);
}

void nbcolli_spread_losses(nbcolli_link *link)
{
    for (int peer = 0; peer < link->endpoint->ranks; peer++) {
        int home = link->loss[peer] & NBCOLLI_CUT ? link->member[peer] : -1;
        for (nbcolli_link *other = link->home->first; other && home >= 0; other = other->beside) {
            int address = other == link ? -1 : nbcolli_address_on(other, home);
            if (address < 0)
                continue;
            if (nbcolli_has_rejected(link, peer))
                nbcolli_rejected_by(other, address);
            else if (!nbcolli_is_dead(link, peer))
                nbcolli_mark_lost(other, address, NBCOLLI_CUT);
            else if (!nbcolli_is_dead(other, address))
                nbcolli_give_up(other, address);
        }
    }
}

/* ---- members ----------------------------------------------------------------------------------------------------- */

void nbcolli_tell_lost(nbcoll_comm *comm, int rank, nbcoll_status why)
{
    const nbcolli_peer *peer = &comm->peer[rank < 0 ? comm->rank : rank];
    int given_up = rank == comm->rank ? comm->link->rejected : nbcolli_is_given_up(peer->link, peer->address);
    nbcolli_tell_all(comm, NBCOLLI_LOST, comm->taken, why, rank,
                     why == NBCOLL_ERR_MISMATCH ? comm->failure.tag + 1 : why == NBCOLL_ERR_PEER_LOST && given_up);
}

/* ---- telling the rank itself ------------------------------------------------------------------------------------- */

/* Has the transport a get from that member's memory, or a put to it? */
static int nbcolli_copies_with(const nbcolli_link *link, int home)
{
    for (; link; link = link->beside)
        for (const nbcolli_post *post = nbcolli_post_of(link->in_flight.first); post;
             post = nbcolli_post_of(post->item.next))
            if ((post->copies || (post->op && nbcolli_op_copies(post->op))) && link->member[post->peer] == home)
                return 1;
    return 0;
}

/* May an operation of the communicator copy from or to that member's memory? All that may ends soon: it has broken.
 * Operations that copy nothing there, as a message from another rank, or a shrink, may never end. */
static int nbcolli_may_copy_with(const nbcoll_comm *comm, int rank)
{
    size_t elsewhere = comm->shrinking;
    for (const nbcolli_executor *e = comm->executors; e; e = e->next)
        elsewhere += e->does->elsewhere ? e->does->elsewhere(e, rank) : 0;
    return comm->active > elsewhere;
}

/* May a get or put of ours still touch its memory, by any endpoint? A starved rank counts only those in flight: its
 * communicators have broken, and it begins no more. */
static int nbcolli_may_touch(const nbcolli_link *link, int peer)
{
    int home = link->member[peer];

    if (link->starved)
        return nbcolli_copies_with(link->home->first, home);
    for (const nbcoll_comm *comm = link->context->comms; comm; comm = comm->sister)
        for (int rank = 0; rank < comm->size && comm->link == link->home && comm->active; rank++)
            if (comm->peer[rank].home == home && nbcolli_may_copy_with(comm, rank))
                return 1;
    return 0;
}

/* If it cannot go now it is said again in a later pass. */
static void nbcolli_say_farewell(nbcolli_link *link, int peer)
{
    nbcolli_header h = {.comm = NBCOLLI_NO_COMM, .type = NBCOLLI_GIVE_UP, .bytes = !nbcolli_is_given_up(link, peer)};

    link->loss[peer] &= (uint8_t)~NBCOLLI_UNTOLD;
    link->untold--;
    if (!(link->loss[peer] & NBCOLLI_OVER))
        nbcolli_control_with(nbcolli_post_of(link->farewells.first), link, peer, &h);
}

void nbcolli_say_farewells(nbcolli_link *link)
{
    for (int peer = 0; peer < link->endpoint->ranks && link->untold && !link->losses; peer++)
        if (link->loss[peer] & NBCOLLI_UNTOLD && !nbcolli_may_touch(link, peer))
            nbcolli_say_farewell(link, peer);
}

void nbcolli_recall_given_up(nbcolli_link *link)
{
    for (nbcolli_post *post = nbcolli_post_of(link->in_flight.first); post;
         post = nbcolli_post_of(post->item.next))
        if (nbcolli_is_given_up(link, post->peer))
            nbcolli_post_recall(post);
}
