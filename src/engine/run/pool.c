/* SPDX-License-Identifier: BSD-3-Clause */
#include "pool.h"

#include "queue.h"
#include "step.h"
#include "../../host/host.h"

void nbcolli_run_drop(nbcolli_request *r)
{
    nbcolli_run *run = r->kept;

    if (!run)
        return;
    r->kept = NULL;
    r->restart = NULL;
    run->keeper = NULL;
    run->schedule->kept--;
    if (run->state == NBCOLLI_RUN_POOLED)
        nbcolli_run_pool(run);
}

nbcoll_status nbcolli_schedule_own(nbcoll_schedule *s, nbcoll_context *c)
{
    if (s->owner)
        return s->owner == c ? NBCOLL_OK : NBCOLL_ERR_FOREIGN;
    s->owner = c;
    if (!c->reducers) /* if set, others read it */
        c->reducers = s->reducers;
    s->serial = ++c->serial;
    s->owned_at = &c->schedules;
    s->owned_next = c->schedules;
    if (s->owned_next)
        s->owned_next->owned_at = &s->owned_next;
    c->schedules = s;
    return NBCOLL_OK;
}

void nbcolli_schedule_disown(nbcoll_schedule *s)
{
    while (s->requests) {
        nbcolli_request *r = s->requests;
        s->requests = r->next;
        nbcolli_run_drop(r);
        r->next = s->owner->free_requests;
        s->owner->free_requests = r;
    }
    while (s->idle) {
        nbcolli_run *run = s->idle;
        s->idle = run->next;
        nbcolli_free(&s->host, run->room, run->room_bytes);
        nbcolli_free(&s->host, run, run->memory);
    }
    *s->owned_at = s->owned_next;
    if (s->owned_next)
        s->owned_next->owned_at = s->owned_at;
    s->owner = NULL;
}

void nbcolli_schedule_drop(nbcoll_schedule *s)
{
    if (s->owner)
        nbcolli_schedule_disown(s);
    nbcolli_schedule_delete(s);
}

/* Notes bytes more that its runs hold. */
static void nbcolli_schedule_hold(nbcoll_schedule *s, size_t bytes)
{
    s->held += bytes;
    if (s->cached)
        *s->cached += bytes;
}

static uint32_t nbcolli_most_parts(const nbcoll_schedule *s)
{
    uint32_t most = 0;
    for (nbcoll_step i = 0; i < s->steps; i++)
        if (s->step[i].kind == NBCOLL_CALL && s->step[i].part_count > most)
            most = s->step[i].part_count;
    return most;
}

/* A run in one block: the struct, ops, pieces, packed blocks, counters, ready list, answers, moves, and scratch memory
 * unless that will be lent. */
static nbcolli_run *nbcolli_run_make(nbcoll_schedule *s)
{
    size_t scratch = s->room == NBCOLL_START ? s->extent[NBCOLL_BUFFER_SCRATCH] : 0;
    size_t ops = nbcolli_lines(sizeof(nbcolli_run));
    size_t pieces = ops + nbcolli_lines(s->ops * sizeof(nbcolli_op));
    size_t packed = pieces + nbcolli_lines(nbcolli_most_parts(s) * sizeof(nbcoll_memory));
    size_t sent = s->extent[NBCOLL_BUFFER_SEND_PACKED], received = s->extent[NBCOLL_BUFFER_RECV_PACKED];
    size_t before = packed + nbcolli_lines((sent + received) * sizeof(nbcoll_memory));
    size_t moves = before + nbcolli_lines(s->steps * (sizeof(uint32_t) + sizeof(nbcoll_step)));
    size_t fixed = moves + nbcolli_lines((s->is_small ? s->steps - 1 : 1) * sizeof(nbcolli_move));

    if (scratch > SIZE_MAX - fixed - 63 || s->bounce > SIZE_MAX - fixed - nbcolli_lines(scratch))
        return NULL;
    size_t memory = fixed + nbcolli_lines(scratch) + s->bounce;
    unsigned char *block = nbcolli_alloc(&s->host, memory, 64);
    if (!block)
        return NULL;
    memset(block, 0, fixed);
    nbcolli_run *run = (nbcolli_run *)(void *)block;
    run->memory = memory;
    run->schedule = s;
    nbcolli_schedule_hold(s, memory);
    run->is_worn = 1;
    run->op = (nbcolli_op *)(void *)(block + ops);
    run->regions = (nbcoll_memory *)(void *)(block + pieces);
    run->packed[0] = (nbcoll_memory *)(void *)(block + packed);
    run->packed[1] = run->packed[0] + sent;
    run->before = (uint32_t *)(void *)(block + before);
    run->ready = run->before + s->steps;
    run->move = (nbcolli_move *)(void *)(block + moves);
    run->base[NBCOLL_BUFFER_SCRATCH] = block + fixed;
    run->bounce = block + fixed + nbcolli_lines(scratch);
    for (nbcoll_step i = 0; i < s->steps; i++)
        if (s->op[i] != UINT32_MAX) {
            nbcolli_op *op = &run->op[s->op[i]];
            op->run = run;
            op->step = i;
            op->post.op = op;
        }
    nbcolli_moves_make(run);
    return run;
}

/* Gives the packed blocks their places in `room`; returns its end, or SIZE_MAX. Without room they get their lengths
 * only. */
static size_t nbcolli_run_place(nbcolli_run *run, const nbcolli_request *r, unsigned char *room)
{
    size_t bytes = 0;

    for (int side = 0; side < 2; side++)
        for (size_t i = 0; i < run->schedule->extent[NBCOLL_BUFFER_SEND_PACKED + side]; i++) {
            nbcoll_memory *at = &run->packed[side][i];
            *at = nbcolli_block_packed(&r->blocks[side], room ? room + bytes : NULL, i);
            if (at->bytes > SIZE_MAX - 64 || __builtin_add_overflow(bytes, nbcolli_lines(at->bytes), &bytes))
                return SIZE_MAX;
        }
    return bytes;
}

/* Room for this start's packed blocks: 0 if there is none. What an earlier start needed is kept. */
static int nbcolli_run_pack(nbcolli_run *run, const nbcolli_request *r)
{
    const nbcoll_host *host = &run->schedule->host;
    size_t bytes = nbcolli_run_place(run, r, NULL);

    if (bytes > run->room_bytes) {
        unsigned char *room = bytes == SIZE_MAX ? NULL : nbcolli_alloc(host, bytes, 64);
        if (!room)
            return 0;
        nbcolli_free(host, run->room, run->room_bytes);
        nbcolli_schedule_hold(run->schedule, bytes - run->room_bytes);
        run->room = room;
        run->room_bytes = bytes;
    }
    nbcolli_run_place(run, r, run->room);
    return 1;
}

/* What does not change from start to start on one communicator. */
static void nbcolli_run_bind(nbcolli_run *run, nbcoll_comm *comm)
{
    const nbcoll_schedule *s = run->schedule;

    run->comm = comm;
    run->bound = comm->id;
    run->slot = NULL;
    run->is_small = s->is_small && !s->is_cut && !comm->context->observer && nbcolli_spreads(comm, s);
    run->is_worn = 1;
    for (uint32_t i = 0; i < s->ops; i++) {
        nbcolli_op *op = &run->op[i];
        const nbcoll_step_view *v = &s->step[op->step];
        op->opened = 0;
        if (v->peer < 0)
            continue;
        op->pair = comm->peer[v->peer].pair;
        op->post.link = comm->peer[v->peer].link;
        op->post.peer = comm->peer[v->peer].address;
    }
}

void nbcolli_run_restore(nbcolli_run *run)
{
    const nbcoll_schedule *s = run->schedule;

    run->remaining = s->steps - 2;
    if (!run->is_small)
        memcpy(run->before, s->before, s->armed); /* the ready queues, too */
    memcpy(run->lane, s->lane, sizeof run->lane);
    for (uint32_t i = 0; i < s->ops; i++) {
        nbcolli_op *op = &run->op[i];
        op->moved = 0;
        op->with = NULL;
        op->cell = 0;
        op->keys = 0;
        op->post.where = NBCOLLI_FREE;
        op->phase = NBCOLLI_IDLE;
        op->fin = op->refused = op->cts = op->lent = op->put = 0;
        op->registered = op->may_go = op->status = 0;
    }
    run->status = NBCOLL_OK;
    run->cause = -1;
    run->is_executed = 0;
    run->stuck = 0;
    run->mark = 0;
    run->is_worn = !run->is_small;
}

nbcolli_run *nbcolli_run_arm_slowly(nbcolli_request *r)
{
    nbcoll_schedule *s = r->schedule;
    nbcolli_run *run = r->kept ? r->kept : s->idle ? s->idle : nbcolli_run_make(s);

    if (!run)
        return NULL;
    if (!run->keeper)
        s->idle = run->next;
    if ((s->extent[NBCOLL_BUFFER_SEND_PACKED] || s->extent[NBCOLL_BUFFER_RECV_PACKED]) && !nbcolli_run_pack(run, r)) {
        nbcolli_run_pool(run); /* no run of such a schedule is kept */
        return NULL;
    }
    if (run->comm != r->comm || run->bound != r->comm->id)
        nbcolli_run_bind(run, r->comm);
    nbcolli_run_restore(run);
    nbcolli_run_begin(run, r);
    return run;
}

/* Does the request keep the run, for its next start to replay? Then its end must be a status only. */
static int nbcolli_finish_keeps(const nbcolli_run *run, const nbcolli_request *r)
{
    return run->is_small && !run->keeper && !r->kept && run->schedule->kept < NBCOLLI_KEPT && !r->creating &&
           !r->done && !r->detached && !(r->context->flags & NBCOLL_ANY_THREAD) && nbcolli_moves_can_replay(run);
}

void nbcolli_run_finish(nbcolli_run *run)
{
    nbcoll_comm *comm = run->comm;
    nbcolli_request *r = run->request;
    nbcolli_slot *slot = run->slot;

    if (run->awaited && nbcolli_tick_leaves(run)) { /* the watcher must be told */
        nbcolli_run_delay(run);
        return;
    }
    if (comm->context->observer)
        nbcolli_observe_end(run);
    if (run->awaited)
        nbcolli_observe_wait(run, -1);
    if (comm->area && run->status == NBCOLL_OK)
        nbcolli_mark_end(slot, run->none >> 16);
    else if (comm->area)
        nbcolli_cells_failed(run);
    nbcolli_list_leave(&run->item);
    if (run->schedule->is_cut)
        r->executor->does->give_back(r->executor, run);
    slot->active = NULL;
    nbcolli_slot_free(comm, slot);
    nbcolli_raise_failed(comm, slot);
    nbcoll_status status = run->status;
    if (nbcolli_finish_keeps(run, r)) { /* for its own further starts */
        run->schedule->kept++;
        run->keeper = r;
        r->kept = run;
        r->restart = r->context->restart;
    }
    nbcolli_run_give(run);
    nbcolli_operation_over(r, status);
}
