/* SPDX-License-Identifier: BSD-3-Clause
 * Ranks that are given up: the host, or another rank, has declared them lost, and they may be alive all the same.
 * They count as dead; nothing of them is heard. The other members are told at once. The rank itself is told last,
 * when this one reads nothing of its memory any more: from then on it need not wait for us, its own calls say that it
 * is lost, and it tells others the same. */
#ifndef NBCOLL_INLINE_GIVEUP_H
#define NBCOLL_INLINE_GIVEUP_H

#include "post.h"

#define NBCOLLI_NO_COMM UINT64_MAX /* no communicator has this id */

static inline void nbcolli_give_up(nbcolli_link *link, int peer)
{
    if (nbcolli_is_given_up(link, peer))
        return;
    if (link->transport.give_up)
        link->transport.give_up(link->endpoint, peer);
    nbcolli_mark_lost(link, peer, NBCOLLI_GIVEN_UP | NBCOLLI_UNTOLD);
    link->untold++;
}

/* It has given us up. */
static inline void nbcolli_rejected_by(nbcolli_link *link, int peer)
{
    link->rejected = 1;
    nbcolli_mark_lost(link, peer, NBCOLLI_REJECTED);
}

/* ---- members --------------------------------------------------------------------------------------------------- */

/* LOST: that `rank` is lost, and perhaps to be given up; or that it is out of step. -1: no member is the cause. */
static inline void nbcolli_tell_lost(nbcoll_comm *comm, int rank, nbcoll_status why)
{
    const nbcolli_peer *peer = &comm->peer[rank < 0 ? comm->rank : rank];
    int given_up = rank == comm->rank ? peer->link->rejected : nbcolli_is_given_up(peer->link, peer->address);
    nbcolli_tell_all(comm, NBCOLLI_LOST, comm->next_tag, why, rank,
                     why == NBCOLL_ERR_MISMATCH ? comm->failure.tag : why == NBCOLL_ERR_PEER_LOST && given_up);
}

/* Notes that a member is given up, or has given us up, before its communicator breaks. Returns which of us is lost by
 * that. */
static inline int nbcolli_member_given_up(nbcoll_comm *comm, int rank)
{
    nbcolli_peer *peer = &comm->peer[rank];
    int rejected = (peer->link->loss[peer->address] & NBCOLLI_REJECTED) == NBCOLLI_REJECTED;
    int lost = rejected ? comm->rank : rank;

    if (!peer->given_up && comm->broken == NBCOLL_ERR_PEER_LOST) { /* else it will break, which tells */
        peer->given_up = 1;
        nbcolli_tell_lost(comm, lost, NBCOLL_ERR_PEER_LOST);
    }
    peer->given_up = 1;
    return lost;
}

/* A LOST that says so has come from `source`: somebody, or this rank itself, is lost to all. The communicators learn of
 * it from the drain. */
static inline void nbcolli_given_up_in(nbcoll_comm *comm, int source, int rank)
{
    const nbcolli_peer *peer = &comm->peer[rank];

    if (rank == comm->rank)
        nbcolli_rejected_by(comm->peer[source].link, comm->peer[source].address);
    else
        nbcolli_give_up(peer->link, peer->address);
}

/* ---- telling the rank itself ----------------------------------------------------------------------------------- */

/* May something of ours still read its memory? */
static inline int nbcolli_may_read(const nbcolli_link *link, int peer)
{
    for (uint32_t i = 0; i < NBCOLLI_COMM_BUCKETS; i++)
        for (const nbcoll_comm *comm = link->bucket[i]; comm; comm = comm->next)
            for (int rank = 0; rank < comm->size && comm->active > 0; rank++)
                if (comm->peer[rank].address == peer)
                    return 1;
    return 0;
}

/* Tells all that can be told now. */
static inline void nbcolli_tell_given_up(nbcolli_link *link)
{
    nbcolli_header h = {.comm = NBCOLLI_NO_COMM, .type = NBCOLLI_GIVE_UP};

    for (int peer = 0; peer < link->endpoint->ranks && link->untold; peer++)
        if (link->loss[peer] & NBCOLLI_UNTOLD && !nbcolli_may_read(link, peer) && nbcolli_control(link, peer, &h)) {
            link->loss[peer] &= (uint8_t)~NBCOLLI_UNTOLD;
            link->untold--;
        }
}

/* Asks for the control messages that the transport has for such ranks: they may never take them. */
static inline void nbcolli_recall_given_up(nbcolli_link *link)
{
    for (nbcolli_post *post = link->lent_controls; post; post = post->next)
        if (nbcolli_is_given_up(link, post->peer))
            link->transport.cancel(link->endpoint, &post->record);
}

#endif
