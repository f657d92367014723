/* SPDX-License-Identifier: BSD-3-Clause */
#include "step.h"

#include "fail.h"
#include "../wire/control.h"

void nbcolli_observe_start(nbcolli_run *run)
{
    for (int moment = NBCOLL_STEP_READY; moment <= NBCOLL_STEP_ENDED; moment++)
        nbcolli_observe(run, (nbcoll_moment)moment, NBCOLL_START);
    for (nbcoll_step s = NBCOLL_END + 1; s < run->schedule->steps; s++)
        if (run->before[s] == 0)
            nbcolli_observe(run, NBCOLL_STEP_READY, s);
}

void nbcolli_observe_end(nbcolli_run *run)
{
    if (run->status == NBCOLL_OK) {
        nbcolli_observe(run, NBCOLL_STEP_READY, NBCOLL_END);
        nbcolli_observe(run, NBCOLL_STEP_STARTED, NBCOLL_END);
    }
    nbcolli_observe(run, NBCOLL_STEP_ENDED, NBCOLL_END);
}

void nbcolli_observe_wait(nbcolli_run *run, int rank)
{
    nbcoll_context *c = run->comm->context;

    if (run->awaited == rank + 1)
        return;
    run->awaited = rank + 1;
    c->watcher->event(c->watcher->user, &(nbcoll_event){NBCOLL_RUN_WAITS, run->comm, run->tag, run->schedule,
                                                        NBCOLL_START, rank});
}

void nbcolli_run_delay(nbcolli_run *run)
{
    nbcoll_context *c = run->comm->context;

    if (run->item.in == &c->delayed || run->item.in == &c->failing)
        return;
    nbcolli_list_leave(&run->item);
    nbcolli_list_add(&c->delayed, &run->item);
}

void nbcolli_op_delay(nbcolli_op *op)
{
    nbcolli_list_item **at = &op->run->unfinished.first;

    while (nbcolli_is_own(op) && *at && !nbcolli_is_own((nbcolli_op *)*at)) /* ops that others wait for go first */
        at = &(*at)->next;
    nbcolli_list_put(&op->run->unfinished, at, &op->item);
    nbcolli_run_delay(op->run);
}

int nbcolli_combine(nbcolli_run *run, const nbcoll_step_view *v, void *to, const void *left, const void *right,
                    size_t count)
{
    if (nbcolli_reduce(run->comm->context->reducers, nbcolli_reduction_of(run, v), to, left, right, count) == NBCOLL_OK)
        return 1;
    nbcolli_run_fail(run, NBCOLL_ERR_CALL, run->comm->rank, 1);
    return 0;
}

/* Makes the op's post its next message. */
static void nbcolli_op_write(nbcolli_op *op, nbcolli_type type, uint64_t field, const void *payload, size_t bytes)
{
    nbcolli_run *run = op->run;
    const nbcoll_step_view *v = &run->schedule->step[op->step];
    nbcolli_pair *pair = op->pair;
    nbcolli_header h = nbcolli_header_to(run->comm, v->peer, type, run->tag);

    h.number = v->number;
    h.stamp = nbcolli_run_stamp(run);
    h.bytes = field;
    h.status = run->status == NBCOLL_OK ? op->status : NBCOLL_ERR_CANCELLED; /* a FIN: the message was not taken */
    h.count = pair->stalling.first && type != NBCOLLI_STALLED ? 0 : pair->stalls;
    if (type == NBCOLLI_EAGER || type == NBCOLLI_RTS)
        pair->told = h.count;
    op->post.wire = nbcolli_pack(&h);
    op->post.payload = payload;
    op->post.bytes = bytes;
}

void nbcolli_op_send(nbcolli_op *op, nbcolli_type type, uint64_t field, const void *payload, size_t bytes)
{
    nbcolli_op_write(op, type, field, payload, bytes);
    nbcolli_post_send(&op->post);
}

void nbcolli_op_answer_put(nbcolli_op *op, nbcoll_status status)
{
    op->put = 0;
    op->status = (uint8_t)status;
    nbcolli_op_send(op, NBCOLLI_PUT, 0, NULL, 0);
}

void nbcolli_op_put_begin(nbcolli_op *op)
{
    const nbcoll_bulk *bulk = op->post.link->transport.bulk;

    if (!bulk || !bulk->put || !nbcolli_op_register_end(op)) {
        op->phase = NBCOLLI_SENT_PUT;
        nbcolli_op_answer_put(op, NBCOLL_AGAIN);
        return;
    }
    op->phase = NBCOLLI_PUTTING;
    op->put = 0;
    op->status = NBCOLL_OK;
    nbcolli_op_write(op, NBCOLLI_PUT, 0, NULL, 0);
    nbcolli_op_copy(op);
}

int nbcolli_op_register(nbcolli_op *op, uint32_t access)
{
    const nbcolli_link *link = op->post.link;
    const nbcoll_bulk *bulk = link->transport.bulk;
    nbcoll_memory region = nbcolli_op_region(op);
    const nbcolli_area *area = link->transport.shared ? NULL : nbcolli_area_around(link, region);

    nbcolli_op_deregister(op); /* a sender's for a get: its peer could not get, and asks for a put */
    if (area) { /* memory of nbcoll_mem_alloc, which is registered already */
        op->mine = (nbcolli_registered){(size_t)((unsigned char *)region.at - area->base), area->registration};
        return 1;
    }
    op->mine.offset = 0;
    if (bulk->register_memory(link->endpoint, op->post.peer, region.at, region.bytes, access,
                              &op->mine.registration) != NBCOLL_OK)
        return 0;
    op->registered = bulk->deregister_memory != NULL;
    return 1;
}

void nbcolli_op_copy(nbcolli_op *op)
{
    nbcolli_link *link = op->post.link;
    const nbcoll_bulk *bulk = link->transport.bulk;
    const nbcoll_registration *local = bulk->flags & NBCOLL_BULK_ANY_LOCAL ? NULL : &op->mine.registration;
    uint8_t loss = link->loss[op->post.peer];
    nbcoll_posted said;

    if (loss != NBCOLLI_HERE) { /* its peer is gone: it can neither get nor put */
        op->post.where = NBCOLLI_STUCK;
        if (!(loss & NBCOLLI_CUT))
            nbcolli_run_deserted(op->run, op->run->schedule->step[op->step].peer);
        return;
    }
    op->post.work.status = NBCOLL_OK;
    if (op->phase == NBCOLLI_PUTTING)
        said = bulk->put(link->endpoint, op->post.peer, &op->theirs.key, op->theirs.offset, local,
                         nbcolli_op_memory(op), nbcolli_op_bytes(op), &op->post.wire, &op->post.work);
    else
        said = bulk->get(link->endpoint, op->post.peer, &op->theirs.key, op->theirs.offset, local,
                         nbcolli_get_to(op), nbcolli_op_bytes(op), &op->post.work);
    nbcolli_post_is(&op->post, said);
}
