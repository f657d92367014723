/* SPDX-License-Identifier: BSD-3-Clause */
#include "run.h"

#include "small.h"
#include "phase.h"
#include "fail.h"
#include "pool.h"
#include "step.h"
#include "../wire/control.h"
#include "../exposures/cells.h"
#include "../../select/select.h"

/* ---- running ----------------------------------------------------------------------------------------------------- */

/* The step at the head has been worked off up to `place` of `all` bytes: it ends, or stays there. */
static void nbcolli_step_reached(nbcolli_run *run, nbcolli_ready *lane, nbcoll_step step, size_t place, size_t all)
{
    lane->place = place < all ? place : 0;
    if (place < all)
        lane->head--;
    else
        nbcolli_step_end(run, step);
}

static unsigned char *nbcolli_behind(nbcoll_memory region, size_t place)
{
    return place ? (unsigned char *)region.at + place : region.at; /* nothing may lie nowhere */
}

/* Elements are packed in pieces, as a COPY copies. */
static void nbcolli_call_on(nbcolli_run *run, nbcolli_ready *lane, nbcoll_step step)
{
    const nbcoll_step_view *v = &run->schedule->step[step];
    void *user = nbcolli_call_user(run, v);
    int unpacks = v->call == nbcolli_unpack_call;
    nbcoll_status s;

    for (uint32_t i = 0; i < v->part_count; i++)
        run->regions[i] = nbcolli_resolve(run, v->parts[i].region);
    size_t unit = nbcolli_pack_unit(v->call, user, run->regions), place = lane->place, all = 0, bytes = 0;
    if (unit) {
        all = run->regions[!unpacks].bytes;
        bytes = nbcolli_spend_piece(run, all - place, unit);
        s = nbcolli_pack_piece(user, run->regions, unpacks, place, bytes);
    } else {
        for (uint32_t i = 0; i < v->part_count; i++)
            nbcolli_spend(run, run->regions[i].bytes);
        s = v->call(user, run->regions);
    }
    if (s == NBCOLL_OK)
        nbcolli_step_reached(run, lane, step, place + bytes, all);
    else
        nbcolli_run_fail(run, NBCOLL_ERR_CALL, run->comm->rank, 1);
}

static void nbcolli_reduce_on(nbcolli_run *run, nbcolli_ready *lane, nbcoll_step step)
{
    const nbcoll_step_view *v = &run->schedule->step[step];
    size_t unit = nbcolli_packed_size(v->reduction.type), all = v->write.bytes, place = lane->place;
    if (v->reduction.op >= NBCOLL_OP_COUNT && nbcolli_tick_leaves(run)) {
        lane->head--;
        return;
    }
    size_t bytes = nbcolli_spend_piece(run, all - place, unit);

    if (!bytes || nbcolli_combine(run, v, nbcolli_behind(nbcolli_resolve(run, v->write), place),
                                  nbcolli_behind(nbcolli_resolve(run, v->read[0]), place),
                                  nbcolli_behind(nbcolli_resolve(run, v->read[1]), place), bytes / unit))
        nbcolli_step_reached(run, lane, step, place + bytes, all);
}

/* The FETCH_REDUCE that directly follows the COPY at the head and combines its bytes: it reads them from the COPY's
 * source, which saves a pass over the memory. Null: there is none. */
static nbcolli_op *nbcolli_copy_spared(nbcolli_run *run, const nbcoll_step_view *v)
{
    const nbcoll_schedule *s = run->schedule;
    const nbcoll_step_view *next = v->after_count == 1 ? &s->step[v->after[0]] : NULL;

    if (!next || s->has_lanes || next->kind != NBCOLL_FETCH_REDUCE || run->before[v->after[0]] != 1 ||
        next->write.at.buffer != v->write.at.buffer || next->write.at.offset != v->write.at.offset ||
        next->write.bytes != v->write.bytes)
        return NULL;
    return &run->op[s->op[v->after[0]]];
}

/* The two differ only if the caller's arrays have changed since they were checked. */
static void nbcolli_copy_on(nbcolli_run *run, nbcolli_ready *lane, nbcoll_step step)
{
    const nbcoll_step_view *v = &run->schedule->step[step];
    nbcoll_memory to = nbcolli_resolve(run, v->write), from = nbcolli_resolve(run, v->read[0]);
    size_t place = lane->place;

    if (to.bytes != from.bytes || place > to.bytes) {
        nbcolli_run_fail(run, NBCOLL_ERR_MISMATCH, run->comm->rank, 1);
        return;
    }
    nbcolli_op *op = place ? NULL : nbcolli_copy_spared(run, v);
    if (op) {
        op->with = from.at;
        nbcolli_step_end(run, step);
        return;
    }
    size_t bytes = nbcolli_spend_piece(run, to.bytes - place, 1);
    if (bytes)
        memcpy(nbcolli_behind(to, place), nbcolli_behind(from, place), bytes);
    nbcolli_step_reached(run, lane, step, place + bytes, to.bytes);
}

/* Starts a step that was at the head of this lane, or goes on with a CALL, COPY or REDUCE. */
static void nbcolli_step_start(nbcolli_run *run, nbcolli_ready *lane, nbcoll_step step)
{
    const nbcoll_step_view *v = &run->schedule->step[step];
    nbcolli_op *op = run->schedule->op[step] == UINT32_MAX ? NULL : &run->op[run->schedule->op[step]];

    if (!lane->place)
        nbcolli_observe(run, NBCOLL_STEP_STARTED, step);
    if (op) {
        nbcolli_op_start(op);
        return;
    }
    switch (v->kind) {
    case NBCOLL_CALL:
        if (nbcolli_tick_leaves(run))
            lane->head--;
        else
            nbcolli_call_on(run, lane, step);
        return;
    case NBCOLL_COPY:
        nbcolli_copy_on(run, lane, step);
        return;
    case NBCOLL_REDUCE:
        nbcolli_reduce_on(run, lane, step);
        return;
    default: /* JOIN */
        if (step == run->schedule->inner || step == run->schedule->room) {
            run->is_executed = 1;
            run->request->executor->does->begin_inner(run->request->executor, run);
            return;
        }
        break;
    }
    nbcolli_step_end(run, step);
}

/* A lane that not every thread serves. */
static __attribute__((noinline)) nbcolli_ready *nbcolli_next_served(nbcolli_run *run)
{
    nbcoll_context *c = run->comm->context;

    for (uint32_t i = NBCOLL_LANE_ANY + 1; i < NBCOLLI_LANES; i++) {
        nbcolli_ready *lane = &run->lane[i];
        if (lane->head == lane->tail)
            continue;
        if (c->serves >> i & 1)
            return lane;
        if (c->driven.driver) /* relaxed: the lock orders it, and a reader without it takes it next */
            atomic_fetch_or_explicit(&c->driven.left, 1u << i, memory_order_relaxed);
        if (!run->item.in) /* else it is delayed, and gets its turn */
            nbcolli_list_add(&c->unserved, &run->item);
    }
    return NULL;
}

/* The lane of the next step; null: no served lane has one. Steps of other lanes wait for nbcolli_serve. */
static inline nbcolli_ready *nbcolli_next_lane(nbcolli_run *run)
{
    nbcolli_ready *any = &run->lane[NBCOLL_LANE_ANY];
    return any->head != any->tail ? any : run->schedule->has_lanes ? nbcolli_next_served(run) : NULL;
}

void nbcolli_advance(nbcolli_run *run)
{
    nbcolli_ready *lane;

    if (run->is_small) {
        nbcolli_small_advance(run);
        return;
    }
    while (run->status == NBCOLL_OK && (lane = nbcolli_next_lane(run))) {
        if (!nbcolli_has_bytes(run)) {
            nbcolli_run_delay(run);
            return;
        }
        nbcolli_step_start(run, lane, run->ready[lane->head++]);
    }
    if (run->status == NBCOLL_OK && !run->remaining)
        nbcolli_run_finish(run);
}

void nbcolli_serve(nbcoll_context *c, uint32_t lanes)
{
    c->serves = lanes;
    for (size_t n = c->unserved.count; n && c->unserved.first; n--) {
        nbcolli_run *run = (nbcolli_run *)c->unserved.first;
        nbcolli_list_leave(&run->item);
        nbcolli_advance(run);
    }
}

void nbcolli_run_go_on(nbcolli_run *run)
{
    nbcolli_list_leave(&run->item);
    for (int own = 0; own <= 1 && run->unfinished.first; own++) { /* first ops that others wait for */
        nbcolli_op *op;
        if (own)
            nbcolli_advance(run);
        while (run->status == NBCOLL_OK && nbcolli_has_bytes(run) && (op = (nbcolli_op *)run->unfinished.first) &&
               nbcolli_is_own(op) <= own) {
            nbcolli_list_leave(&op->item);
            nbcolli_op_next(op);
        }
    }
    if (run->unfinished.first)
        nbcolli_run_delay(run);
    nbcolli_advance(run);
}

/* ---- sends that stall -------------------------------------------------------------------------------------------- */

void nbcolli_short_sends_go(nbcoll_context *c)
{
    for (size_t n = c->short_sends.count; n && c->short_sends.first; n--) { /* not sends that come meanwhile */
        nbcolli_op *op = (nbcolli_op *)c->short_sends.first;
        nbcolli_list_leave(&op->item);
        if (op->run->status != NBCOLL_OK) /* it settles as it is */
            continue;
        nbcolli_send_start(op);
        nbcolli_advance(op->run);
    }
}

void nbcolli_op_take_back(nbcolli_op *op)
{
    nbcolli_backlog_remove(&op->post);
    op->pair->owed += nbcolli_unpack(&op->post.wire).credits;
    op->pair->told = op->pair->stalls - 1; /* the post may have been meant for that */
}

void nbcolli_stall_end(nbcolli_op *op)
{
    nbcolli_list_leave(&op->item);
    op->pair->credits--;
    op->may_go = 1;
    if (op->post.where == NBCOLLI_BACKLOG)
        nbcolli_op_take_back(op);
    nbcolli_op_next(op);
    nbcolli_advance(op->run);
}

void nbcolli_credits_in(nbcolli_pair *pair, uint32_t credits)
{
    pair->credits += (int32_t)credits;
    while (pair->stalling.first && pair->credits > 0) {
        nbcolli_op *op = (nbcolli_op *)pair->stalling.first;
        if (op->run->status == NBCOLL_OK)
            nbcolli_stall_end(op);
        else
            nbcolli_list_leave(&op->item);
    }
}

int nbcolli_look_again(nbcoll_context *c, size_t looks)
{
    int moved = 0, reader;

    if (looks > c->watched.count)
        looks = c->watched.count;
    for (; c->watched.first && looks > 0; looks--) {
        nbcolli_op *op = (nbcolli_op *)c->watched.first;
        nbcolli_run *run = op->run;
        nbcolli_list_leave(&op->item);
        /* In vain, if the owner's first cell does not show this operation. Once a rank has left, the op tells */
        int owner = run->schedule->step[op->step].peer;
        int misses = op->phase == NBCOLLI_LOOKING && !run->comm->departed &&
                     atomic_load(&nbcolli_cell_at(run->comm, run->slot, owner, 0)->stamp) != run->tag + 1;
        if (run->status == NBCOLL_OK ? misses : nbcolli_exposure_is_held(op, &reader))
            nbcolli_watch(op);
        else if (run->status != NBCOLL_OK)
            nbcolli_to_settle(run);
        else if (op->phase == NBCOLLI_LOOKING && run->is_small) /* it may now go at once, as its move */
            run->begun &= ~op->move->bit;
        else
            nbcolli_op_next(op);
        if (!op->item.in || run->comm->departed) /* then all final fetches must begin */
            nbcolli_advance(run);
        moved += !op->item.in;
    }
    return moved;
}
