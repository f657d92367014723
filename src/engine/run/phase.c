/* SPDX-License-Identifier: BSD-3-Clause
 * The phases of a message: see phase.h. */
#include "phase.h"

#include "credit.h"
#include "expose.h"
#include "fail.h"
#include "step.h"
#include "../wire/channel.h"
#include "../wire/control.h"
#include "../wire/unexpected.h"

/* Sends what the SEND says, or announces it. */
static void nbcolli_send_go(nbcolli_op *op)
{
    nbcolli_run *run = op->run;
    const nbcoll_step_view *v = &run->schedule->step[op->step];
    nbcolli_peer *peer = &run->comm->peer[v->peer];
    nbcoll_memory region = nbcolli_op_region(op);
    size_t bytes = region.bytes;
    void *memory = region.at;

    if (bytes == 0 || (bytes <= run->comm->config.eager && bytes <= peer->pair->payload)) {
        op->phase = NBCOLLI_SENT_EAGER;
        nbcolli_spend(run, bytes);
        uint64_t channel = run->is_small ? nbcolli_channel_name(op) : 0;
        nbcolli_op_send(op, NBCOLLI_EAGER, channel << 32 | bytes, memory, bytes);
    } else if (nbcolli_has_departed(run->comm, v->peer)) {
        nbcolli_run_deserted(run, v->peer);
    } else {
        op->phase = NBCOLLI_SENT_RTS;
        op->lent = peer->pair->way == NBCOLLI_BY_GET && nbcolli_op_register(op, peer, NBCOLL_PEER_READS);
        nbcolli_op_send(op, NBCOLLI_RTS, bytes, &op->mine, op->lent ? nbcolli_remote_bytes(peer->link) : 0);
    }
}

/* Sends the next one of a SENT_DATA op, if there is one and the pass has bytes for it. */
static int nbcolli_send_fragment(nbcolli_op *op, size_t bytes)
{
    size_t limit = nbcolli_op_pair(op)->payload, at = op->moved;
    size_t fragment = bytes - at < limit ? bytes - at : limit;

    if (fragment == 0)
        nbcolli_op_end(op);
    else if (!nbcolli_has_bytes(op->run))
        nbcolli_op_delay(op);
    else {
        nbcolli_spend(op->run, fragment);
        op->moved = at + fragment; /* only what is posted as DATA has moved */
        nbcolli_op_send(op, NBCOLLI_DATA, at, nbcolli_op_memory(op) + at, fragment);
        return 1;
    }
    return 0;
}

/* Takes the op, whose post is free, one phase on. Returns whether it may go on. */
static int nbcolli_op_turn(nbcolli_op *op)
{
    size_t bytes = nbcolli_op_bytes(op);

    switch (op->phase) {
    case NBCOLLI_STALLING:
        if (op->may_go)
            nbcolli_send_go(op);
        return op->may_go;
    case NBCOLLI_SENT_RTS:
        if (op->fin) {
            nbcolli_op_end(op);
            return 0;
        }
        if (!op->cts)
            return 0;
        if (op->put) {
            nbcolli_op_put_begin(op, &op->run->comm->peer[op->run->schedule->step[op->step].peer]);
            return 1;
        }
        /* fall through */
    case NBCOLLI_SENT_PUT:
        op->phase = NBCOLLI_SENT_DATA;
        /* fall through */
    case NBCOLLI_SENT_DATA:
        return nbcolli_send_fragment(op, bytes);
    case NBCOLLI_REUSING:
    case NBCOLLI_STAGING:
    case NBCOLLI_EXPOSED:
        nbcolli_expose_next(op);
        return 0;
    case NBCOLLI_LOOKING:
    case NBCOLLI_FETCHING:
    case NBCOLLI_USING:
        return nbcolli_fetch_next(op);
    case NBCOLLI_GETTING:
        op->phase = NBCOLLI_SENT_FIN;
        nbcolli_op_send(op, NBCOLLI_FIN, 0, NULL, 0);
        return 1;
    case NBCOLLI_SENT_CTS:
        if (op->moved == bytes && (!op->lent || op->put))
            nbcolli_op_end(op);
        return 0;
    case NBCOLLI_PUTTING:
    case NBCOLLI_SENT_EAGER:
    case NBCOLLI_SENT_FIN:
        nbcolli_op_end(op);
        return 0;
    default:
        return 0;
    }
}

void nbcolli_op_next(nbcolli_op *op)
{
    while (op->run->status == NBCOLL_OK && op->post.where == NBCOLLI_FREE && nbcolli_op_turn(op))
        ;
}

void nbcolli_send_start(nbcolli_op *op)
{
    nbcolli_run *run = op->run;
    int rank = run->schedule->step[op->step].peer;
    nbcolli_pair *pair = run->comm->peer[rank].pair;

    if (pair->credits > 0 && op->phase != NBCOLLI_SHORT && nbcolli_channel_is_overdue(op)) {
        nbcolli_is_short(op);
    } else if (pair->credits > 0) {
        pair->credits--;
        nbcolli_send_go(op);
    } else if (nbcolli_has_departed(run->comm, rank))
        nbcolli_run_deserted(run, rank);
    else if (op->phase == NBCOLLI_SHORT)
        nbcolli_stall(op);
    else
        nbcolli_is_short(op);
    nbcolli_op_next(op);
}

/* Does an RTS with this payload say where its data can be got? Then the op is prepared for that. */
static int nbcolli_can_get(nbcolli_op *op, const nbcolli_peer *peer, const void *payload, size_t bytes)
{
    const nbcoll_bulk *bulk = peer->link->transport.bulk;

    if (!bulk || !bulk->get || bytes != nbcolli_remote_bytes(peer->link) || !nbcolli_op_register_end(op, peer))
        return 0;
    op->theirs = (nbcolli_remote){0};
    memcpy(&op->theirs, payload, bytes);
    return 1;
}

void nbcolli_recv_accept(nbcolli_op *op, const nbcolli_header *m, const void *payload, size_t bytes)
{
    const nbcolli_peer *peer = &op->run->comm->peer[m->source];

    op->post.link = peer->link;
    op->post.peer = peer->address;
    nbcolli_credit_back(peer->link, peer->address);
    if (m->type == NBCOLLI_EAGER) {
        if (bytes) {
            memcpy(nbcolli_op_memory(op), payload, bytes);
            nbcolli_spend(op->run, bytes);
        }
        nbcolli_op_end(op);
    } else if (nbcolli_can_get(op, peer, payload, bytes)) {
        op->phase = NBCOLLI_GETTING;
        nbcolli_op_copy(op);
        nbcolli_op_next(op);
    } else if (nbcolli_has_departed(op->run->comm, (int)m->source)) {
        nbcolli_run_deserted(op->run, (int)m->source);
    } else {
        op->phase = NBCOLLI_SENT_CTS;
        op->lent = peer->pair->way == NBCOLLI_BY_PUT && nbcolli_op_register(op, peer, NBCOLL_PEER_WRITES);
        nbcolli_op_send(op, NBCOLLI_CTS, 0, &op->mine, op->lent ? nbcolli_remote_bytes(peer->link) : 0);
    }
}

static void nbcolli_recv_start(nbcolli_op *op)
{
    nbcolli_unexpected *s = op->unexpected;
    op->phase = NBCOLLI_POSTED;
    if (s) {
        op->unexpected = NULL;
        nbcolli_recv_accept(op, &s->header, s->payload, s->bytes);
        nbcolli_unexpected_free(s);
    } else
        nbcolli_want_stalled(op);
}

void nbcolli_op_start(nbcolli_op *op)
{
    switch (op->run->schedule->step[op->step].kind) {
    case NBCOLL_SEND:
        nbcolli_send_start(op);
        return;
    case NBCOLL_RECV:
        nbcolli_recv_start(op);
        return;
    case NBCOLL_EXPOSE:
        op->phase = NBCOLLI_REUSING;
        break;
    default:
        op->phase = NBCOLLI_LOOKING;
        op->cell = 0;
    }
    nbcolli_op_next(op);
}
