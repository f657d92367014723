/* SPDX-License-Identifier: BSD-3-Clause */
#include "news.h"

#include "../wire/control.h"
#include "../wire/giveup.h"
#include "../exposures/cells.h"
#include "../run/called.h"
#include "../run/fail.h"
#include "../run/queue.h"
#include "../run/step.h"

/* ---- half communicators ------------------------------------------------------------------------------------------ */

int nbcolli_member_at(const nbcoll_comm *comm, int home)
{
    for (int rank = 0; rank < comm->size; rank++)
        if (comm->peer[rank].home == home)
            return rank;
    return -1;
}

/* Rank `source` of its home does not have the communicator, and holds and reads no memory of ours there. `cause`: the
 * rank that caused that; -1: not known. Nothing can be done with the communicator. */
static void nbcolli_comm_half(nbcoll_comm *comm, int source, int cause, nbcoll_status why)
{
    int absent = nbcolli_member_at(comm, source);

    if (absent >= 0)
        comm->peer[absent].absent = 1;
    nbcolli_comm_break(comm, nbcolli_member_at(comm, cause),
                       why == NBCOLL_ERR_PEER_LOST ? why : NBCOLL_ERR_CANCELLED, comm->taken);
    nbcolli_failed_to_settle(comm);
}

void nbcolli_vote_revoked(nbcoll_comm *comm, const nbcolli_incoming *in, nbcoll_status why)
{
    const nbcolli_header *h = &in->header;
    int source = in->link->member[in->source], cause = -1;

    if (h->number == h->source)
        cause = source;
    else if (comm && h->number < (uint32_t)comm->size)
        cause = comm->peer[h->number].home; /* once the parent is freed, nobody knows that rank */
    for (nbcoll_comm *made = in->link->context->comms, *next; made; made = next) {
        next = made->sister;
        if (made->link != in->link->home || made->vote_comm != h->comm || made->vote_tag - h->tag > h->count ||
            (comm && (nbcolli_find_run(comm, made->vote_tag) || nbcolli_queue_find(comm, made->vote_tag))))
            continue;
        if (made->making) {
            made->spoiled = why;
            made->spoiler = cause;
        } else
            nbcolli_comm_half(made, source, cause, why);
    }
}

/* Operations that this rank has not started. */
static void nbcolli_revoke_later(nbcoll_comm *comm, uint64_t first, uint64_t last, nbcoll_status why, int cause)
{
    nbcoll_status s = nbcolli_pending_add(comm, first, last, why, cause);
    if (s != NBCOLL_OK)
        nbcolli_comm_break(comm, comm->rank, s, comm->taken);
    else
        nbcolli_unexpected_drop(comm, first, last, NBCOLL_ERR_CANCELLED);
}

void nbcolli_revoke_rest(nbcoll_comm *comm, int left)
{
    uint64_t first = comm->taken;

    if (nbcolli_broken(comm) != NBCOLL_OK) /* all know */
        return;
    nbcolli_tell_others(comm, (nbcolli_header){.tag = first, .number = (uint32_t)left, .type = NBCOLLI_REVOKE,
                                               .status = NBCOLL_ERR_PEER_LOST, .count = UINT32_MAX});
    nbcolli_revoke_later(comm, first, first + UINT32_MAX, NBCOLL_ERR_PEER_LOST, left);
    nbcolli_executors_over(comm, NULL);
}

void nbcolli_revokes_in(nbcoll_comm *comm, nbcolli_incoming *in)
{
    const nbcolli_header *h = &in->header;
    nbcoll_status why = (nbcoll_status)h->status;
    uint64_t last = h->tag + h->count, first = h->tag < comm->taken ? comm->taken : h->tag;

    if (h->tag < comm->taken)
        nbcolli_vote_revoked(comm, in, why);
    if (h->count == UINT32_MAX) /* the rest: what has no tags, too */
        nbcolli_executors_over(comm, in);
    nbcolli_runs_fail(comm, h->tag, last, why, (int)h->number);
    if (last >= comm->taken)
        nbcolli_revoke_later(comm, first, last, why, (int)h->number);
    /* [ANSWER] It need not wait for our reads in the slot. If we have a run, our words say when they are over. */
    if (h->bytes && nbcolli_has_cells_of(comm, (int)h->source) && !nbcolli_find_run(comm, h->tag))
        nbcolli_raise_to(comm, (int)h->source, h->tag, NBCOLLI_ALL_FETCHED);
}

/* A rank that has freed the communicator tells ranks that send to it. Others may wait for a rank whose operation ended
 * by that: they are told, too. Each rank tells a tag only if it is lower than those told before. */
static void nbcolli_freed_tell(nbcoll_comm *comm, uint64_t tag, int rank)
{
    if (comm->freed_told && comm->freed_told <= tag + 1)
        return;
    comm->freed_told = tag + 1;
    nbcolli_tell_all(comm, NBCOLLI_LOST, tag, NBCOLL_ERR_MISMATCH, rank, 0);
}

void nbcolli_member_freed(nbcoll_comm *comm, int rank, uint64_t tag)
{
    comm->told[rank].has_freed = 1;
    nbcolli_comm_break(comm, rank, NBCOLL_ERR_MISMATCH, tag);
    nbcolli_runs_fail(comm, tag, UINT64_MAX, NBCOLL_ERR_MISMATCH, rank);
    nbcolli_freed_tell(comm, tag, rank);
}

void nbcolli_lost_in(nbcoll_comm *comm, nbcolli_incoming *in)
{
    const nbcolli_header *h = &in->header;
    int cause = (int)h->number; /* perhaps this rank, which others have lost: the sender may only have heard so */

    if (h->status == NBCOLL_ERR_MISMATCH) {
        if (cause == comm->rank)
            cause = (int)h->source;
        if (h->count)
            comm->told[cause].has_freed = 1;
        nbcolli_comm_break(comm, cause, NBCOLL_ERR_MISMATCH, h->bytes ? h->bytes - 1 : h->tag);
        nbcolli_runs_fail(comm, h->tag, UINT64_MAX, NBCOLL_ERR_MISMATCH, cause);
        if (!h->bytes)
            nbcolli_freed_tell(comm, h->tag, cause);
    } else if (h->bytes && cause == comm->rank)
        nbcolli_rejected_by(comm->peer[h->source].link, comm->peer[h->source].address);
    else if (h->bytes && h->number < (uint32_t)comm->size) /* the drain tells the communicators */
        nbcolli_give_up(comm->peer[cause].link, comm->peer[cause].address);
    else
        nbcolli_comm_break(comm, cause, h->status == NBCOLL_ERR_CANCELLED ? NBCOLL_ERR_CANCELLED : NBCOLL_ERR_PEER_LOST,
                           comm->taken);
}

void nbcolli_executors_over(nbcoll_comm *comm, nbcolli_incoming *in)
{
    (void)in; /* the drain looks at what is under way */
    for (nbcolli_executor *e = comm->executors; e; e = e->next) /* relaxed, both: orders nothing */
        if (atomic_load_explicit(&e->over, memory_order_relaxed) == NBCOLL_OK)
            atomic_store_explicit(&e->over, NBCOLL_ERR_PEER_LOST, memory_order_relaxed);
}

/* ---- ranks that are gone ----------------------------------------------------------------------------------------- */

/* Does the op wait for a message of its peer? Not asked for exposures and fetches: they look themselves. */
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
    for (uint32_t i = 0; i < run->schedule->ops && run->status == NBCOLL_OK; i++) {
        const nbcolli_op *op = &run->op[i];
        int peer = run->schedule->step[op->step].peer;
        if (nbcolli_op_awaits(op) && nbcolli_has_departed(run->comm, peer))
            nbcolli_run_deserted(run, peer);
    }
}

/* A member is given up, or has given us up, and its communicator may break by that. Returns the lost one of the two. */
static int nbcolli_member_given_up(nbcoll_comm *comm, int rank)
{
    nbcolli_peer *peer = &comm->peer[rank];
    int lost = nbcolli_who_is_lost(comm, rank), is_told = peer->given_up;

    peer->given_up = 1;
    if (!is_told && nbcolli_broken(comm) == NBCOLL_ERR_PEER_LOST) /* else it breaks, which tells them */
        nbcolli_tell_lost(comm, lost, NBCOLL_ERR_PEER_LOST);
    return lost;
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
    for (nbcolli_executor *e = comm->executors; e; e = e->next)
        if (e->does->gone)
            e->does->gone(e, rank);
    nbcolli_failed_to_settle(comm);
    for (uint32_t i = 0; i < comm->config.slots; i++)
        if (comm->slot[i].active && comm->slot[i].active->status == NBCOLL_OK)
            nbcolli_run_miss(comm->slot[i].active);
}
