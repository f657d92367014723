/* SPDX-License-Identifier: BSD-3-Clause
 * Receiving side: from a delivered header to the communicator, the operation and the step that it means. The key
 * {communicator, tag, source, number} is exact, so matching needs no order of delivery and no search. What comes too
 * early is stored; what comes too late is refused, so that its sender can end. */
#ifndef NBCOLL_INLINE_MATCH_H
#define NBCOLL_INLINE_MATCH_H

#include "ask.h"
#include "../3_run/run.h"

/* A message being handled: just delivered, or taken from the store (`kept`). */
typedef struct nbcolli_incoming {
    nbcolli_link *link;
    nbcolli_header header;
    const void *payload;
    size_t bytes;
    nbcolli_unexpected *kept;
    int source; /* on the link */
} nbcolli_incoming;

/* AGREE or DECIDED. `comm`: null if it is not known here. */
void nbcolli_shrink_in(nbcoll_comm *comm, const nbcolli_incoming *in);

/* ---- ranks that are gone ---------------------------------------------------------------------------------------- */

/* Does the op wait for a message of its peer's? Not asked of exposures and fetches: they look for themselves. */
static inline int nbcolli_op_awaits(const nbcolli_op *op)
{
    switch (op->phase) {
    case NBCOLLI_IDLE:
    case NBCOLLI_POSTED:
        return op->run->schedule->step[op->step].kind == NBCOLL_RECV && !op->unexpected;
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

/* Ends the run if it will ever need a message of a rank that has left: what has not been handled was never sent. */
static inline void nbcolli_run_miss(nbcolli_run *run)
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

/* A member is lost, or has left: what settles need not wait for its answers. By a loss the communicator breaks; a rank
 * that has left ends only what needs it. */
static inline void nbcolli_member_gone(nbcoll_comm *comm, int rank)
{
    const nbcolli_peer *peer = &comm->peer[rank];
    int lost = nbcolli_is_given_up(peer->link, peer->address) ? nbcolli_member_given_up(comm, rank) : rank;

    if (peer->link->loss[peer->address] & NBCOLLI_CUT)
        nbcolli_comm_break(comm, lost, NBCOLL_ERR_PEER_LOST, comm->next_tag);
    else
        comm->departed = 1;
    for (uint32_t i = 0; i < comm->config.slots; i++) {
        nbcolli_run *run = comm->slot[i].active;
        if (run && run->status != NBCOLL_OK)
            nbcolli_to_settle(run);
        else if (run && run->state == NBCOLLI_RUN_ACTIVE)
            nbcolli_run_miss(run);
    }
}

/* ---- storing --------------------------------------------------------------------------------------------------- */

static inline void nbcolli_done_with(nbcolli_incoming *in)
{
    if (in->kept)
        nbcolli_unexpected_free(in->kept);
    in->kept = NULL;
}

/* The message as a stored one. Without memory the communicator cannot go on: null. */
static inline nbcolli_unexpected *nbcolli_hold(nbcoll_comm *comm, nbcolli_incoming *in)
{
    nbcolli_unexpected *s = in->kept;
    if (!s)
        s = nbcolli_unexpected_keep(in->link, in->source, &in->header, in->payload, in->bytes);
    if (!s) {
        nbcolli_comm_break(comm, comm->rank, NBCOLL_ERR_MEMORY, comm->next_tag);
        nbcolli_refuse(comm, &in->header, NBCOLL_ERR_CANCELLED); /* its sender must be able to end */
    }
    in->kept = NULL;
    return s;
}

static inline void nbcolli_store(nbcoll_comm *comm, nbcolli_incoming *in)
{
    nbcolli_unexpected *s = nbcolli_hold(comm, in);
    if (s) {
        nbcolli_unexpected **at = nbcolli_unexpected_at(comm, s->header.tag);
        s->next = *at;
        *at = s;
    }
}

/* ---- operations ------------------------------------------------------------------------------------------------ */

static inline nbcolli_op *nbcolli_find_op(nbcolli_run *run, const nbcolli_message *index, uint32_t n,
                                          const nbcolli_header *h)
{
    nbcoll_step step = nbcolli_find_message(index, n, (int)h->source, h->number);
    return step == NBCOLL_START ? NULL : &run->op[run->schedule->op[step]];
}

/* EAGER or RTS for an active run. */
static inline void nbcolli_deliver(nbcolli_run *run, nbcolli_incoming *in)
{
    const nbcoll_schedule *s = run->schedule;
    const nbcolli_header *h = &in->header;
    nbcolli_op *op = nbcolli_find_op(run, s->recv, s->recvs, h);
    size_t whole = h->type == NBCOLLI_EAGER ? in->bytes : (size_t)h->bytes;

    if (h->fingerprint != s->fingerprint || !op || op->unexpected || op->phase > NBCOLLI_POSTED ||
        whole != h->bytes || whole != nbcolli_op_bytes(op)) {
        if (h->fingerprint != s->fingerprint)
            nbcolli_run_out_of_step(run, (int)h->source);
        else
            nbcolli_run_fail(run, NBCOLL_ERR_MISMATCH, (int)h->source, 1);
        nbcolli_refuse(run->comm, h, NBCOLL_ERR_CANCELLED);
    } else if (op->phase == NBCOLLI_POSTED) {
        nbcolli_recv_accept(op, h, in->payload, in->bytes);
    } else {
        op->unexpected = nbcolli_hold(run->comm, in);
    }
    nbcolli_done_with(in);
}

/* EAGER or RTS. */
static inline void nbcolli_message_in(nbcoll_comm *comm, nbcolli_incoming *in)
{
    uint64_t tag = in->header.tag;
    nbcolli_run *run = nbcolli_find_run(comm, tag);

    if (run && run->status == NBCOLL_OK) {
        nbcolli_deliver(run, in);
        nbcolli_advance(run);
        return;
    }
    int may_start = comm->broken == NBCOLL_OK && tag >= comm->next_tag && !nbcolli_is_revoked(comm, tag);
    if (may_start || nbcolli_queue_find(comm, tag)) {
        nbcolli_store(comm, in);
        return;
    }
    /* Did the operation end well here without this message? Then nobody knows what the ranks are doing. */
    int stray = !run && tag < comm->next_tag && tag >= comm->failed_floor;
    if (stray) {
        nbcolli_tell_all(comm, NBCOLLI_REVOKE, tag, NBCOLL_ERR_MISMATCH, (int)in->header.source, 0);
        nbcolli_comm_break(comm, (int)in->header.source, NBCOLL_ERR_MISMATCH, tag);
    }
    nbcolli_refuse(comm, &in->header, stray ? NBCOLL_ERR_MISMATCH : NBCOLL_ERR_CANCELLED);
    nbcolli_done_with(in);
}

/* A message of the peer's waits for a credit. If its receive is ready, it may come without. */
static inline void nbcolli_stalled_in(nbcoll_comm *comm, const nbcolli_header *h)
{
    nbcolli_peer *peer = &comm->peer[h->source];
    nbcolli_run *run = nbcolli_find_run(comm, h->tag);

    if (nbcolli_is_later(h->count, peer->seen))
        peer->seen = h->count;
    if (!run || run->status != NBCOLL_OK)
        return;
    nbcolli_op *op = nbcolli_find_op(run, run->schedule->recv, run->schedule->recvs, h);
    if (h->fingerprint != run->schedule->fingerprint)
        nbcolli_run_out_of_step(run, (int)h->source);
    else if (!op)
        nbcolli_run_fail(run, NBCOLL_ERR_MISMATCH, (int)h->source, 1);
    else if (op->phase == NBCOLLI_POSTED)
        nbcolli_want(op);
}

/* The peer asks for what stalls, or has gone in the meantime, or will find out by itself that it is awaited. */
static inline void nbcolli_want_in(nbcoll_comm *comm, const nbcolli_header *h)
{
    nbcolli_run *run = nbcolli_find_run(comm, h->tag);
    nbcolli_op *op = run && run->status == NBCOLL_OK
                         ? nbcolli_find_op(run, run->schedule->send, run->schedule->sends, h)
                         : NULL;

    if (op && op->phase == NBCOLLI_STALLING && !op->may_go)
        nbcolli_stall_end(op, NBCOLL_AGAIN);
}

/* FIN or CTS: an answer to our RTS. */
static inline void nbcolli_answer_in(nbcoll_comm *comm, const nbcolli_header *h)
{
    nbcolli_run *run = nbcolli_find_run(comm, h->tag);
    nbcolli_op *op = run ? nbcolli_find_op(run, run->schedule->send, run->schedule->sends, h) : NULL;

    if (!op || op->phase != NBCOLLI_SENT_RTS)
        return;
    if (h->type == NBCOLLI_CTS)
        op->cts = 1;
    else if (h->status == NBCOLL_OK)
        op->fin = 1;
    else
        op->refused = 1; /* if it is revoked, word of that is on its way */
    if (h->type == NBCOLLI_FIN && h->status == NBCOLL_ERR_MISMATCH)
        nbcolli_run_fail(run, NBCOLL_ERR_MISMATCH, (int)h->source, 1);
    if (run->status != NBCOLL_OK) {
        nbcolli_to_settle(run);
        return;
    }
    nbcolli_op_next(op);
    nbcolli_advance(run);
}

/* A piece of what our CTS asked for. Pieces may come in any order. */
static inline void nbcolli_data_in(nbcoll_comm *comm, const nbcolli_incoming *in)
{
    const nbcolli_header *h = &in->header;
    nbcolli_run *run = nbcolli_find_run(comm, h->tag);
    nbcolli_op *op = run && run->status == NBCOLL_OK
                         ? nbcolli_find_op(run, run->schedule->recv, run->schedule->recvs, h)
                         : NULL;

    if (!op || op->phase != NBCOLLI_SENT_CTS)
        return;
    size_t all = nbcolli_op_bytes(op);
    if (h->bytes > all || in->bytes > all - h->bytes || in->bytes > all - op->moved) {
        nbcolli_run_fail(run, NBCOLL_ERR_MISMATCH, (int)h->source, 1);
        return;
    }
    memcpy(nbcolli_op_memory(op) + h->bytes, in->payload, in->bytes);
    op->moved += in->bytes;
    nbcolli_spend(run, in->bytes);
    nbcolli_op_next(op);
    nbcolli_advance(run);
}

/* A reader of our cells will not read what they lend. */
static inline void nbcolli_revoked_in(nbcoll_comm *comm, const nbcolli_header *h)
{
    nbcolli_run *run = nbcolli_find_run(comm, h->tag);

    if (run && run->status != NBCOLL_OK && run->answered) {
        run->answered[h->source] = 1;
        nbcolli_to_settle(run);
    }
}

/* [ANSWER] The sender of this REVOKE wants to know when its memory is its own. If we run the operation, our words will
 * say. */
static inline void nbcolli_revoke_answer(nbcoll_comm *comm, const nbcolli_header *h)
{
    if (nbcolli_find_run(comm, h->tag))
        return;
    nbcolli_header answer = nbcolli_header_to(comm, (int)h->source, NBCOLLI_REVOKED, h->tag);
    nbcolli_control_to(comm, (int)h->source, &answer);
}

static inline nbcoll_status nbcolli_revoke_reason(const nbcolli_header *h)
{
    return h->status > NBCOLL_AGAIN && h->status < NBCOLL_STATUS_COUNT ? (nbcoll_status)h->status
                                                                       : NBCOLL_ERR_CANCELLED;
}

/* ---- half communicators ---------------------------------------------------------------------------------------- */

static inline int nbcolli_member_at(const nbcoll_comm *comm, int address)
{
    for (int rank = 0; rank < comm->size; rank++)
        if (comm->peer[rank].address == address)
            return rank;
    return -1;
}

/* Rank `source` of the link does not have the communicator, for a reason of which `cause` of the link is the cause: it
 * holds and reads nothing of ours there, and nothing can be done with it. */
static inline void nbcolli_comm_half(nbcoll_comm *comm, int source, int cause, nbcoll_status why)
{
    int absent = nbcolli_member_at(comm, source), culprit = nbcolli_member_at(comm, cause);

    if (absent >= 0)
        comm->peer[absent].absent = 1;
    nbcolli_comm_break(comm, culprit < 0 ? absent : culprit,
                       why == NBCOLL_ERR_PEER_LOST ? why : NBCOLL_ERR_CANCELLED, comm->next_tag);
    for (uint32_t i = 0; i < comm->config.slots; i++)
        if (comm->slot[i].active && comm->slot[i].active->status != NBCOLL_OK)
            nbcolli_to_settle(comm->slot[i].active);
}

/* A revoked operation is over here. If it was a vote that ended well, what it made is not on all ranks. `comm`: where
 * it was, or null if that was freed. */
static inline void nbcolli_vote_revoked(const nbcoll_comm *comm, const nbcolli_incoming *in, nbcoll_status why)
{
    const nbcolli_header *h = &in->header;
    int cause = comm && h->number < (uint32_t)comm->size ? comm->peer[h->number].address : in->source;

    for (nbcoll_comm *made = in->link->context->comms, *next; made; made = next) {
        next = made->sister;
        if (made->link != in->link || made->vote_comm != h->comm || made->vote_tag - h->tag > h->count)
            continue;
        if (made->making)
            made->spoiled = why;
        else
            nbcolli_comm_half(made, in->source, cause, why);
    }
}

/* Another rank has ended the operation. */
static inline void nbcolli_revoke_in(nbcoll_comm *comm, const nbcolli_incoming *in)
{
    const nbcolli_header *h = &in->header;
    nbcoll_status why = nbcolli_revoke_reason(h);
    nbcolli_run *run = nbcolli_find_run(comm, h->tag);
    nbcolli_request *queued = nbcolli_queue_find(comm, h->tag);

    if (run)
        nbcolli_run_fail(run, why, (int)h->number, 0);
    else if (queued)
        nbcolli_queued_fail(queued, why, (int)h->number, 0);
    else if (h->tag < comm->next_tag)
        nbcolli_vote_revoked(comm, in, why);
    if (h->tag < comm->next_tag)
        return;
    nbcoll_status s = nbcolli_pending_add(comm, h->tag, why, (int)h->number);
    if (s != NBCOLL_OK)
        nbcolli_comm_break(comm, comm->rank, s, comm->next_tag);
    else
        nbcolli_unexpected_drop(comm, h->tag, h->tag, NBCOLL_ERR_CANCELLED);
}

/* One or more operations in a row. */
static inline void nbcolli_revokes_in(nbcoll_comm *comm, nbcolli_incoming *in)
{
    uint32_t more = in->header.count;

    in->header.count = 0;
    for (nbcolli_revoke_in(comm, in); more; more--) {
        in->header.tag++;
        nbcolli_revoke_in(comm, in);
    }
}

/* Another rank has broken the communicator, or says who is given up. Where the ranks are out of step, it will not start
 * `tag` or later ones. */
static inline void nbcolli_lost_in(nbcoll_comm *comm, const nbcolli_header *h)
{
    int cause = (int)(h->number == (uint32_t)comm->rank ? h->source : h->number); /* who has lost us is lost to us */

    if (h->number >= (uint32_t)comm->size && h->number != UINT32_MAX) /* that is nobody */
        return;
    if (h->status == NBCOLL_ERR_MISMATCH) {
        nbcolli_comm_break(comm, cause, NBCOLL_ERR_MISMATCH, h->bytes ? h->bytes : h->tag);
        nbcolli_runs_fail(comm, h->tag, NBCOLL_ERR_MISMATCH, cause);
    } else if (h->bytes && h->number < (uint32_t)comm->size)
        nbcolli_given_up_in(comm, (int)h->source, (int)h->number);
    else
        nbcolli_comm_break(comm, cause, h->status == NBCOLL_ERR_CANCELLED ? NBCOLL_ERR_CANCELLED : NBCOLL_ERR_PEER_LOST,
                           comm->next_tag);
}

/* The run gets its slot. It may be over afterwards. */
static inline void nbcolli_activate(nbcolli_run *run)
{
    nbcoll_comm *comm = run->comm;
    nbcolli_slot *slot = nbcolli_slot_of(comm, run->tag);

    slot->active = run;
    run->state = NBCOLLI_RUN_ACTIVE;
    nbcolli_observe(run, NBCOLL_STEP_READY, NBCOLL_START);
    nbcolli_observe(run, NBCOLL_STEP_STARTED, NBCOLL_START);
    nbcolli_observe(run, NBCOLL_STEP_ENDED, NBCOLL_START);
    for (nbcoll_step s = NBCOLL_END + 1; s < run->schedule->steps; s++)
        if (run->before[s] == 0)
            nbcolli_push(run, s);
    for (nbcolli_unexpected **at = nbcolli_unexpected_at(comm, run->tag); *at && run->status == NBCOLL_OK;) {
        nbcolli_unexpected *s = *at;
        if (s->header.tag != run->tag) {
            at = &s->next;
            continue;
        }
        *at = s->next;
        nbcolli_incoming in = {s->link, s->header, s->payload, s->bytes, s, s->source};
        nbcolli_deliver(run, &in);
    }
    if (comm->departed && run->status == NBCOLL_OK)
        nbcolli_run_miss(run);
    nbcolli_advance(run);
}

/* ---- from the wire --------------------------------------------------------------------------------------------- */

static inline nbcoll_comm *nbcolli_find_comm(nbcolli_link *link, uint64_t id)
{
    nbcoll_comm *comm = link->bucket[(id ^ id >> 32) % NBCOLLI_COMM_BUCKETS];
    while (comm && comm->id != id)
        comm = comm->next;
    return comm;
}

static inline const nbcolli_tombstone *nbcolli_find_tombstone(const nbcolli_link *link, uint64_t id)
{
    const nbcolli_tombstone *tombstone = link->tombstones;
    while (tombstone && tombstone->id != id)
        tombstone = tombstone->next;
    return tombstone;
}

/* Keeps one STALLED of a sender, the last one: what it says of the sender is enough. True if there was another. */
static inline int nbcolli_orphan_stalled(const nbcolli_incoming *in)
{
    for (nbcolli_unexpected *s = in->link->orphans; s; s = s->next)
        if (s->header.type == NBCOLLI_STALLED && s->header.comm == in->header.comm && s->source == in->source) {
            if (nbcolli_is_later(in->header.count, s->header.count))
                s->header = in->header;
            return 1;
        }
    return 0;
}

/* Stores a message of a communicator that is perhaps being made. 0: without memory none of those can be. */
static inline int nbcolli_orphan_keep(nbcolli_incoming *in)
{
    nbcolli_link *link = in->link;
    nbcolli_unexpected *s = in->kept;

    if (in->header.type == NBCOLLI_STALLED && nbcolli_orphan_stalled(in)) {
        nbcolli_done_with(in);
        return 1;
    }
    if (!s)
        s = nbcolli_unexpected_keep(link, in->source, &in->header, in->payload, in->bytes);
    if (s) {
        in->kept = NULL;
        s->next = link->orphans;
        link->orphans = s;
        return 1;
    }
    for (nbcoll_comm *comm = link->context->comms; comm; comm = comm->sister)
        if (comm->link == link && comm->making && comm->spoiled == NBCOLL_OK)
            comm->spoiled = NBCOLL_ERR_MEMORY;
    return 0;
}

/* To the sender of a message of a communicator that is not here. */
static inline void nbcolli_orphan_answer(const nbcolli_incoming *in, nbcolli_type type, uint32_t number,
                                         nbcoll_status status)
{
    const nbcolli_header *m = &in->header;
    nbcolli_header answer = {.comm = m->comm, .tag = m->tag, .source = m->to, .to = m->source, .number = number,
                             .type = (uint8_t)type, .status = (uint8_t)status};
    nbcolli_control(in->link, in->source, &answer);
}

/* A message of a communicator that is unknown here: one that is being made, or one that was freed. Of those only the
 * ones with a tombstone can still be sent anything that wants an answer, and at once: its sender may join in the making
 * only when it has got that. An operation that was not started here before it was freed ends there: it never will be.
 */
static inline void nbcolli_orphan_in(nbcolli_incoming *in)
{
    const nbcolli_header *m = &in->header;
    if (m->type == NBCOLLI_GIVE_UP) {
        if (m->bytes)
            nbcolli_give_up(in->link, in->source);
        else
            nbcolli_rejected_by(in->link, in->source);
        nbcolli_done_with(in);
        return;
    }
    if (m->type == NBCOLLI_AGREE || m->type == NBCOLLI_DECIDED) {
        nbcolli_shrink_in(NULL, in);
        return;
    }
    const nbcolli_tombstone *tombstone = nbcolli_find_tombstone(in->link, m->comm);
    int has_failed = tombstone && m->tag < tombstone->failed_floor; /* of which the sender is told too */
    int is_data = m->type == NBCOLLI_EAGER || m->type == NBCOLLI_RTS || m->type == NBCOLLI_STALLED;
    int is_freed = tombstone || !in->link->creating;

    if (m->type == NBCOLLI_QUERY) {
        nbcolli_ask_elsewhere(in->link, in->source, m, is_freed);
        return;
    }
    if (m->type == NBCOLLI_REVOKE)
        nbcolli_vote_revoked(NULL, in, nbcolli_revoke_reason(m));
    if (in->link->creating && !tombstone && nbcolli_orphan_keep(in))
        return;
    nbcoll_status why = has_failed || !is_freed || in->link->unmade ? NBCOLL_ERR_CANCELLED : NBCOLL_ERR_MISMATCH;
    if (m->type == NBCOLLI_RTS)
        nbcolli_orphan_answer(in, NBCOLLI_FIN, m->number, why);
    if (m->type == NBCOLLI_REVOKE && m->bytes)
        nbcolli_orphan_answer(in, NBCOLLI_REVOKED, m->number, NBCOLL_OK);
    if (is_data && is_freed && !has_failed)
        nbcolli_orphan_answer(in, NBCOLLI_LOST, m->to, why);
    nbcolli_done_with(in);
}

/* Handles one message. The header has been read once and is checked here: peers may be of another version. */
static inline void nbcolli_receive(nbcolli_incoming *in)
{
    const nbcolli_header *h = &in->header;
    nbcoll_comm *comm = nbcolli_find_comm(in->link, h->comm);

    if (nbcolli_is_given_up(in->link, in->source)) {
        nbcolli_done_with(in);
        return;
    }
    if (!comm) {
        nbcolli_orphan_in(in);
        return;
    }
    if (h->source >= (uint32_t)comm->size || h->to != (uint32_t)comm->rank ||
        comm->peer[h->source].address != in->source || comm->peer[h->source].link != in->link) {
        nbcolli_done_with(in);
        return;
    }
    if (h->credits)
        nbcolli_credits_in(comm, (int)h->source, h->credits);
    switch (h->type) {
    case NBCOLLI_EAGER:
    case NBCOLLI_RTS:
        nbcolli_stalls_over(&comm->peer[h->source], h);
        nbcolli_message_in(comm, in);
        return;
    case NBCOLLI_STALLED:
        nbcolli_stalled_in(comm, h);
        break;
    case NBCOLLI_WANT:
        nbcolli_want_in(comm, h);
        break;
    case NBCOLLI_FIN:
    case NBCOLLI_CTS:
        nbcolli_answer_in(comm, h);
        break;
    case NBCOLLI_DATA:
        nbcolli_data_in(comm, in);
        break;
    case NBCOLLI_REVOKE:
        nbcolli_revokes_in(comm, in);
        if (h->bytes)
            nbcolli_revoke_answer(comm, h);
        break;
    case NBCOLLI_REVOKED:
        nbcolli_revoked_in(comm, h);
        break;
    case NBCOLLI_LOST:
        nbcolli_lost_in(comm, h);
        break;
    case NBCOLLI_AGREE:
    case NBCOLLI_DECIDED:
        nbcolli_shrink_in(comm, in);
        break;
    case NBCOLLI_QUERY:
    case NBCOLLI_WHERE:
        (h->type == NBCOLLI_QUERY ? nbcolli_ask_in : nbcolli_where_in)(comm, h);
        break;
    default: /* CREDIT has said all */
        break;
    }
    nbcolli_done_with(in);
}

#endif
