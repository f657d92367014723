/* SPDX-License-Identifier: BSD-3-Clause
 * What the phases of messages, exposures and fetches have in common: see step.h. */
#include "step.h"

#include "fail.h"
#include "../2_wire/control.h"
#include "../2_wire/post.h"

void nbcolli_run_delay(nbcolli_run *run)
{
    nbcoll_context *c = run->comm->context;

    if (run->delayed_at)
        return;
    run->delayed = NULL;
    run->delayed_at = c->delayed_end;
    *c->delayed_end = run;
    c->delayed_end = &run->delayed;
}

void nbcolli_run_undelay(nbcolli_run *run)
{
    nbcoll_context *c = run->comm->context;

    *run->delayed_at = run->delayed;
    if (run->delayed)
        run->delayed->delayed_at = run->delayed_at;
    else
        c->delayed_end = run->delayed_at;
    run->delayed_at = NULL;
}

void nbcolli_op_delay(nbcolli_op *op)
{
    nbcolli_op **list = &op->run->unfinished;

    op->watch_at = list;
    op->watch_next = *list;
    if (op->watch_next)
        op->watch_next->watch_at = &op->watch_next;
    *list = op;
    nbcolli_run_delay(op->run);
}

void nbcolli_op_send(nbcolli_op *op, nbcolli_type type, uint64_t field, const void *payload, size_t bytes)
{
    nbcolli_run *run = op->run;
    const nbcoll_step_view *v = &run->schedule->step[op->step];
    const nbcolli_peer *peer = &run->comm->peer[v->peer];
    nbcolli_header h = nbcolli_header_to(run->comm, v->peer, type, run->tag);

    h.number = v->number;
    h.fingerprint = run->schedule->fingerprint;
    h.bytes = field;
    h.status = run->status == NBCOLL_OK ? op->status : NBCOLL_ERR_CANCELLED; /* of a FIN: it was not taken */
    h.count = peer->pair->stalling && type != NBCOLLI_STALLED ? 0 : peer->pair->stalls;
    op->post.wire = nbcolli_pack(&h);
    op->post.link = peer->link;
    op->post.peer = peer->address;
    op->post.payload = payload;
    op->post.bytes = bytes;
    op->recalled = 0;
    nbcolli_post_send(&op->post);
}

int nbcolli_op_register(nbcolli_op *op, const nbcolli_peer *peer, uint32_t access)
{
    const nbcoll_bulk *bulk = peer->link->transport.bulk;
    nbcoll_memory region = nbcolli_op_region(op);

    op->mine.offset = 0;
    if (bulk->register_memory(peer->link->endpoint, peer->address, region.at, region.bytes, access,
                              &op->mine.registration) != NBCOLL_OK)
        return 0;
    op->registered = bulk->deregister_memory != NULL;
    return 1;
}

void nbcolli_op_get(nbcolli_op *op)
{
    nbcolli_link *link = op->post.link;
    if (link->loss[op->post.peer] != NBCOLLI_HERE) {
        op->post.where = NBCOLLI_STUCK;
        if (!(link->loss[op->post.peer] & NBCOLLI_CUT))
            nbcolli_run_deserted(op->run, op->run->schedule->step[op->step].peer);
        return;
    }
    const nbcoll_bulk *bulk = link->transport.bulk;
    const nbcoll_registration *local = bulk->flags & NBCOLL_BULK_ANY_LOCAL ? NULL : &op->mine.registration;
    nbcolli_post_is(&op->post, bulk->get(link->endpoint, op->post.peer, &op->theirs.key, op->theirs.offset, local,
                                         nbcolli_get_to(op), nbcolli_op_bytes(op), &op->post.work));
}
