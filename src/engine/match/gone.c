/* SPDX-License-Identifier: BSD-3-Clause
 * Ranks that are gone: see gone.h. */
#include "gone.h"

#include "../wire/giveup.h"
#include "../run/called.h"
#include "../run/fail.h"
#include "../run/step.h"

/* Does the op wait for a message of its peer's? Not asked of exposures and fetches: they look for themselves. */
static int nbcolli_op_awaits(const nbcolli_op *op)
{
    switch (op->phase) {
    case NBCOLLI_IDLE:
    case NBCOLLI_POSTED:
        return op->run->schedule->step[op->step].kind == NBCOLL_RECV && !op->unexpected;
    case NBCOLLI_SHORT:
    case NBCOLLI_STALLING:
        return 1;
    case NBCOLLI_SENT_RTS:
        return !op->fin && !op->cts;
    case NBCOLLI_SENT_CTS:
        return op->moved < nbcolli_op_bytes(op);
    default:
        return 0;
    }
}

void nbcolli_run_miss(nbcolli_run *run)
{
    for (uint32_t i = 0; i < run->schedule->ops; i++) {
        const nbcolli_op *op = &run->op[i];
        int peer = run->schedule->step[op->step].peer;
        if (nbcolli_op_awaits(op) && nbcolli_has_departed(run->comm, peer)) {
            nbcolli_run_deserted(run, peer);
            return;
        }
    }
}

void nbcolli_member_gone(nbcoll_comm *comm, int rank)
{
    const nbcolli_peer *peer = &comm->peer[rank];
    int lost = nbcolli_is_given_up(peer->link, peer->address) ? nbcolli_member_given_up(comm, rank) : rank;

    if (peer->link->loss[peer->address] & NBCOLLI_CUT)
        nbcolli_comm_break(comm, lost, NBCOLL_ERR_PEER_LOST, comm->taken);
    else {
        comm->departed = 1;
        nbcolli_called_heard(comm);
    }
    nbcolli_failed_to_settle(comm);
    for (uint32_t i = 0; i < comm->config.slots; i++)
        if (comm->slot[i].active && comm->slot[i].active->status == NBCOLL_OK)
            nbcolli_run_miss(comm->slot[i].active);
}
