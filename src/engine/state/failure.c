/* SPDX-License-Identifier: BSD-3-Clause */
#include "failure.h"

void nbcolli_note(nbcoll_comm *comm, const nbcoll_failure *f)
{
    comm->context->failure = *f;
    if (nbcolli_broken(comm) == NBCOLL_OK)
        comm->failure = *f;
}

nbcoll_failure nbcolli_failure_of(const nbcoll_comm *comm, nbcoll_status s, int rank, uint64_t tag)
{
    nbcoll_failure f = {.status = s, .rank = rank, .tag = tag, .comm = comm, .other = -1};

    if (s == NBCOLL_ERR_MISMATCH && rank >= 0 && comm->told[rank].has_freed)
        f.position = NBCOLL_POSITION_FREED;
    if (s != NBCOLL_ERR_PEER_LOST || rank < 0)
        return f;
    const nbcolli_peer *peer = &comm->peer[rank];
    f.reason = peer->link->reason[peer->address];
    if (!f.reason.code && !f.reason.text)
        f.reason = comm->link->reason[peer->home];
    return f;
}

void nbcolli_note_failure(nbcoll_comm *comm, nbcoll_status s, int rank, uint64_t tag)
{
    nbcoll_failure f = nbcolli_failure_of(comm, s, rank, tag);
    nbcolli_note(comm, &f);
}
