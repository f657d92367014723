/* SPDX-License-Identifier: BSD-3-Clause
 * Operations that a communicator's agent carries out: see executor.h. */
#include "executor.h"

#include "calls.h"
#include "../engine/wire/control.h"
#include "../engine/run/fail.h"
#include "../engine/run/queue.h"
#include "../engine/run/run.h"
#include "../engine/run/step.h"
#include "../engine/comm/executors.h"
#include "../engine/progress/submitted.h"
#include "../engine/calls/start.h"
#include "../host/host.h"

/* The agents' queue pairs are told apart by the number of an operation, and keep their order. */
typedef struct nbcolli_offload_executor {
    nbcolli_executor head;
    nbcoll_agent *agent;
    nbcolli_request *first, **end; /* progress: programs, and runs whose inner parts are ready or need scratch memory */
    uint64_t turns;                /* starts: operations of which this rank has a program; */
    _Atomic uint64_t handed;       /* of which the agent has got so many: start or progress, whoever has the next one */
    uint64_t rooms;                /* starts: operations that need scratch memory which the agent lends; */
    uint64_t roomed;               /* of which so many have got it: progress */
    uint64_t awaited;              /* progress: what was the first one at the last round of asking, or 0 */
} nbcolli_offload_executor;

static nbcolli_offload_executor *nbcolli_offload_of(const nbcolli_executor *e)
{
    return (nbcolli_offload_executor *)(uintptr_t)e;
}

/* Where a block of the call lies: nbcoll_bind. */
static nbcoll_region nbcolli_offload_block(void *user, int is_recv, int index)
{
    const nbcolli_request *r = user;
    unsigned char *base = is_recv ? r->recv : (unsigned char *)(uintptr_t)r->send; /* only a place is asked for */
    nbcoll_memory block = nbcolli_block(&r->blocks[is_recv], base, (size_t)index);
    nbcoll_addr at = {is_recv ? NBCOLL_BUFFER_RECV : NBCOLL_BUFFER_SEND, 0};
    return nbcoll_span(nbcoll_at(at, (uintptr_t)block.at - (uintptr_t)base), block.bytes);
}

/* Why no member starts a program any more, or OK. */
static nbcoll_status nbcolli_offload_over(const nbcolli_executor *e)
{
    nbcoll_status broken = nbcolli_broken(e->comm);
    /* relaxed: for itself */
    return broken != NBCOLL_OK ? broken : (nbcoll_status)atomic_load_explicit(&e->over, memory_order_relaxed);
}

/* Nothing that agents of the communicator have to do ends well any more, as `why` says; each rank does this once. */
static void nbcolli_offload_end_all(nbcolli_executor *e, nbcoll_status why, int tell)
{
    if (nbcolli_offload_over(e) != NBCOLL_OK)
        return;
    atomic_store_explicit(&e->over, why, memory_order_relaxed); /* starts read nothing else by it */
    if (tell)
        nbcolli_tell_all(e->comm, NBCOLLI_AGENT, 0, why, e->comm->rank, 0);
}

/* If the agent has failed: its queue pairs tell only those who have opened theirs, so all members are told, once. */
static void nbcolli_offload_tell(nbcolli_executor *e)
{
    nbcoll_status failed = nbcolli_agent_failed(nbcolli_offload_of(e)->agent);
    if (failed != NBCOLL_OK)
        nbcolli_offload_end_all(e, failed, 1);
}

static void nbcolli_offload_cancel(nbcolli_executor *e, nbcolli_request *r, int tell)
{
    (void)r;
    nbcoll_agent_cancel(nbcolli_offload_of(e)->agent);
    nbcolli_offload_end_all(e, NBCOLL_ERR_CANCELLED, tell); /* before others say that they have lost this one */
}

/* Notes why agents start nothing any more: what has been noted already, if an operation has ended so. */
static void nbcolli_offload_refused(nbcolli_executor *e, nbcoll_status s)
{
    nbcoll_comm *comm = e->comm;
    nbcolli_offload_tell(e);
    if (s != (nbcoll_status)atomic_load_explicit(&e->over, memory_order_relaxed)) /* the lock orders it */
        return;
    if (comm->failure.status == s)
        comm->context->failure = comm->failure;
    else
        nbcolli_note_failure(comm, s, -1, comm->taken);
}

/* ---- starting ---------------------------------------------------------------------------------------------------- */

/* Of all of the request, or of the inner part of its run. */
static nbcolli_agent_call nbcolli_offload_call(nbcolli_request *r)
{
    return (nbcolli_agent_call){.send = r->send,
                                .recv = r->recv,
                                .scratch = r->run ? r->run->base[NBCOLL_BUFFER_SCRATCH] : NULL,
                                .bind = nbcolli_offload_block,
                                .user = r,
                                .host = &r->comm->context->host};
}

/* Acquire: what the one before has handed over comes before this one. */
static int nbcolli_offload_is_next(const nbcolli_offload_executor *o, const nbcolli_request *r)
{
    return r->executed.turn == atomic_load_explicit(&o->handed, memory_order_acquire);
}

/* On the caller's side, at its turn, which is passed on. On an error it is not. */
static nbcoll_status nbcolli_offload_hand(nbcolli_offload_executor *o, nbcolli_request *r)
{
    const nbcolli_agent_call call = nbcolli_offload_call(r);
    nbcoll_program_run *made;
    nbcoll_status s = nbcolli_agent_make(o->agent, r->schedule->program, &call, &made);

    if (s != NBCOLL_OK)
        return s;
    r->executed.work = made;
    nbcolli_agent_hand(made, r->executed.number);
    atomic_store_explicit(&o->handed, r->executed.turn + 1, memory_order_release); /* to the next one */
    return NBCOLL_OK;
}

/* Puts a request into the list of those with which drains go on. */
static void nbcolli_offload_list(nbcolli_offload_executor *o, nbcolli_request *r)
{
    nbcoll_context *c = r->context;

    r->next = NULL;
    *o->end = r;
    o->end = &r->next;
    c->executing++;
    c->news |= NBCOLLI_NEWS_OF_EXECUTORS;
}

static void nbcolli_offload_take(nbcolli_executor *e, nbcolli_request *r)
{
    nbcolli_request_taken(r);
    nbcolli_offload_list(nbcolli_offload_of(e), r);
}

/* One that is all a program: at its turn the agent has it. */
static nbcoll_status nbcolli_offload_start_whole(nbcolli_offload_executor *o, nbcolli_request *r)
{
    const nbcolli_agent_call call = nbcolli_offload_call(r);
    nbcoll_status s = nbcolli_offload_over(&o->head);

    if (s == NBCOLL_OK)
        s = nbcolli_offload_is_next(o, r) ? nbcolli_offload_hand(o, r)
                                          : nbcolli_agent_accepts(o->agent, r->schedule->program, &call);
    if (s != NBCOLL_OK)
        return s;
    o->head.called++;
    o->turns++;
    if (r->context->flags & NBCOLL_ANY_THREAD) {
        atomic_store_explicit(&r->state, NBCOLLI_REQUEST_HANDED, memory_order_relaxed); /* its handle is not out yet */
        nbcolli_hand(r->context, r);
    } else
        nbcolli_offload_take(&o->head, r);
    return NBCOLL_OK;
}

/* Of a cut one: can the agent have the buffers that its inner part touches? */
static int nbcolli_offload_has_buffers(const nbcolli_offload_executor *o, nbcolli_request *r)
{
    const nbcolli_agent_call call = nbcolli_offload_call(r);

    return !r->schedule->program || !nbcolli_agent_process(o->agent) ||
           nbcolli_agent_accepts(o->agent, r->schedule->program, &call) != NBCOLL_ERR_BUFFER;
}

/* Its place in the order, as all ranks give it. */
static nbcoll_status nbcolli_offload_start(nbcolli_executor *e, nbcolli_request *r)
{
    nbcolli_offload_executor *o = nbcolli_offload_of(e);

    r->executed.work = NULL;
    r->executed.number = e->called;
    r->executed.turn = o->turns;
    r->executed.room = o->rooms;
    atomic_store_explicit(&r->executed.awaited, -1, memory_order_relaxed); /* shown with the request */
    if (!r->schedule->is_cut)
        return nbcolli_offload_start_whole(o, r);
    if (!nbcolli_offload_has_buffers(o, r))
        return NBCOLL_ERR_BUFFER;
    nbcoll_status s = nbcolli_request_start(r);
    if (s == NBCOLL_OK) {
        e->called++;
        o->turns += r->schedule->program != NULL;
        o->rooms += r->schedule->room != NBCOLL_START;
    }
    return s;
}

/* ---- inner parts ------------------------------------------------------------------------------------------------- */

static void nbcolli_offload_begin_inner(nbcolli_executor *e, nbcolli_run *run)
{
    nbcolli_offload_list(nbcolli_offload_of(e), run->request);
}

/* It gets scratch memory, if it is its turn, and there is room. Turns are in the order of the calls, as those of
 * programs: an operation that has room ends without later ones, and then gives it back, so each one's turn comes. */
static int nbcolli_offload_take_room(nbcolli_offload_executor *o, nbcolli_run *run)
{
    if (run->request->executed.room != o->roomed)
        return 0;
    unsigned char *room = nbcolli_agent_lend(o->agent, run->schedule->extent[NBCOLL_BUFFER_SCRATCH], &run->loan);
    if (!room)
        return 0;
    o->roomed++;
    run->base[NBCOLL_BUFFER_SCRATCH] = room;
    return 1;
}

/* Does a cut one, which has come to its inner part, wait for the agent's memory? */
static int nbcolli_offload_lacks_room(const nbcolli_run *run)
{
    nbcoll_step room = run->schedule->room;
    return room != NBCOLL_START && run->before[room] != NBCOLLI_STEP_OVER;
}

static void nbcolli_offload_give_back(nbcolli_executor *e, nbcolli_run *run)
{
    if (run->schedule->room != NBCOLL_START && !nbcolli_offload_lacks_room(run))
        nbcolli_agent_take_back(nbcolli_offload_of(e)->agent, &run->loan);
}

/* ---- going on ---------------------------------------------------------------------------------------------------- */

/* At its turn. PENDING: the command area of the agent's process has no room for it before an earlier one has ended. */
static nbcoll_status nbcolli_offload_hand_late(nbcolli_offload_executor *o, nbcolli_request *r, int *moved)
{
    nbcolli_caller_lock(r->context);
    nbcoll_status s = nbcolli_offload_hand(o, r);
    nbcolli_caller_unlock(r->context);
    *moved |= s == NBCOLL_OK;
    return s == NBCOLL_OK || s == NBCOLL_ERR_LIMIT ? NBCOLL_PENDING : s;
}

/* Of one that the agent has not got. PENDING; OK: it has scratch memory now; or why it never will get on. */
static nbcoll_status nbcolli_offload_wait(nbcolli_offload_executor *o, nbcolli_request *r, int *moved)
{
    nbcoll_status s = r->run ? r->run->status : NBCOLL_OK;

    if (s == NBCOLL_OK)
        s = nbcolli_agent_over(o->agent);
    if (s != NBCOLL_OK)
        return s;
    if (r->run && nbcolli_offload_lacks_room(r->run))
        return nbcolli_offload_take_room(o, r->run) ? NBCOLL_OK : NBCOLL_PENDING;
    return nbcolli_offload_is_next(o, r) ? nbcolli_offload_hand_late(o, r, moved) : NBCOLL_PENDING;
}

/* Looks at one of the list. PENDING, or how it has ended, or got on. */
static nbcoll_status nbcolli_offload_look_at(nbcolli_offload_executor *o, nbcolli_request *r, int *moved)
{
    nbcoll_status over = nbcolli_offload_over(&o->head);
    nbcoll_program_run *made = r->executed.work;

    if (over != NBCOLL_OK) /* no member can be waited for any more */
        nbcoll_agent_cancel(o->agent);
    nbcoll_status s = made ? nbcoll_agent_test(made) : nbcolli_offload_wait(o, r, moved);
    if (s == NBCOLL_PENDING)
        return s;
    if (s != NBCOLL_OK && !made && !r->run) /* others have counted it, and wait for it */
        nbcolli_offload_cancel(&o->head, r, 1);
    r->executed.work = NULL;
    return s == NBCOLL_ERR_CANCELLED && over != NBCOLL_OK ? over : s;
}

void nbcolli_executed_end(nbcolli_request *r, nbcoll_status status)
{
    if (status != NBCOLL_OK && !r->detached) /* its deadline has noted the failure */
        nbcolli_note_failure(r->comm, status, -1, r->comm->taken);
    nbcolli_request_over(r, status);
}

/* The inner part of a run has ended, or it has the memory for which it waited. It goes on, or settles. */
static void nbcolli_offload_inner_end(nbcolli_run *run, nbcoll_status status)
{
    run->is_executed = 0;
    if (run->status != NBCOLL_OK)
        nbcolli_to_settle(run);
    else if (status != NBCOLL_OK)
        nbcolli_run_fail(run, status, -1, 1);
    else {
        nbcolli_step_end(run, nbcolli_offload_lacks_room(run) ? run->schedule->room : run->schedule->inner);
        nbcolli_advance(run);
    }
}

static int nbcolli_offload_drain(nbcolli_executor *e)
{
    nbcolli_offload_executor *o = nbcolli_offload_of(e);
    int moved = 0;

    if (o->first)
        nbcolli_agent_unwatch(o->agent);
    for (nbcolli_request **at = &o->first; *at;) {
        nbcolli_request *r = *at;
        nbcoll_status status = nbcolli_offload_look_at(o, r, &moved);

        if (status == NBCOLL_PENDING) {
            at = &r->next;
            continue;
        }
        *at = r->next;
        if (o->end == &r->next)
            o->end = at;
        r->context->executing--;
        moved = 1;
        if (r->run) {
            nbcolli_offload_inner_end(r->run, status);
            continue;
        }
        nbcolli_executed_end(r, status);
        if (status != NBCOLL_OK)
            nbcolli_offload_tell(e);
    }
    return moved;
}

/* Who is about to sleep: ends wake him. MOVES: they may not, or one has ended. */
static nbcolli_sight nbcolli_offload_look(nbcolli_executor *e, int poller)
{
    const nbcolli_offload_executor *o = nbcolli_offload_of(e);
    int sleeps = 1;

    for (const nbcolli_request *r = o->first; poller >= 0 && r && sleeps; r = r->next)
        sleeps = nbcolli_agent_watch(o->agent, poller) &&
                 !(r->executed.work && nbcolli_agent_has_ended(r->executed.work));
    return sleeps ? NBCOLLI_SIGHT_QUIET : NBCOLLI_SIGHT_MOVES;
}

static int nbcolli_offload_has_arrived(const nbcolli_executor *e, const nbcolli_request *r, size_t offset, size_t bytes)
{
    (void)e;
    return r->executed.work && nbcolli_agent_has_arrived(r->executed.work, offset, bytes);
}

/* ---- waiting for others ------------------------------------------------------------------------------------------ */

/* That of the lowest number which the agent has got and not ended; null: there is none. */
static const nbcolli_request *nbcolli_offload_oldest(const nbcolli_offload_executor *o)
{
    const nbcolli_request *oldest = NULL;
    for (const nbcolli_request *r = o->first; r; r = r->next)
        if (r->executed.work && (!oldest || r->executed.number < oldest->executed.number))
            oldest = r;
    return oldest;
}

/* 1 + the number, as `called` counts, of its first operation; 0: there is none. */
static uint64_t nbcolli_offload_first(const nbcolli_executor *e)
{
    const nbcolli_request *oldest = nbcolli_offload_oldest(nbcolli_offload_of(e));
    return oldest ? oldest->executed.number + 1 : 0;
}

#define NBCOLLI_OFFLOAD_ASK (UINT64_MAX - 1) /* no tag: asks only whether it has the communicator */

/* In this round the rank is asked whether it has freed the communicator, unless it is lost. 1: it is. */
static int nbcolli_offload_ask(nbcoll_comm *comm, int rank)
{
    nbcolli_told *told = &comm->told[rank];
    if (comm->peer[rank].link->loss[comm->peer[rank].address] != NBCOLLI_HERE)
        return 0;
    told->want = told->want ? told->want : NBCOLLI_OFFLOAD_ASK + 1;
    return 1;
}

/* If it was that at the last round, too, those are asked with whom it has queue pairs. */
static int nbcolli_offload_look_after(nbcolli_executor *e)
{
    nbcolli_offload_executor *o = nbcolli_offload_of(e);
    const nbcolli_request *oldest = nbcolli_offload_oldest(o);
    uint64_t before = o->awaited;
    const nbcoll_queue_view *q;
    int wants = 0;

    o->awaited = nbcolli_offload_first(e);
    if (!oldest || o->awaited != before)
        return 0;
    for (uint32_t i = 0; (q = nbcoll_program_queue(oldest->schedule->program, i)); i++)
        wants |= q->peer >= 0 && nbcolli_offload_ask(e->comm, q->peer);
    return wants;
}

static void nbcolli_offload_freed(nbcolli_executor *e, int rank, uint64_t called)
{
    if (nbcolli_offload_first(e) <= called)
        return;
    e->comm->told[rank].has_freed = 1;
    nbcolli_comm_break(e->comm, rank, NBCOLL_ERR_MISMATCH, e->comm->taken);
}

/* ---- its life ---------------------------------------------------------------------------------------------------- */

static nbcoll_status nbcolli_offload_plan(nbcolli_executor *e, const nbcoll_args *args, nbcoll_schedule **out)
{
    nbcoll_refusal why = {.size = sizeof why};
    nbcoll_status s = nbcolli_offload_compile(e->comm, args, out, &why);
    if (s == NBCOLL_OK)
        (*out)->executor = e;
    return s;
}

static void nbcolli_offload_free(nbcolli_executor *e)
{
    nbcolli_free(&e->comm->context->host, e, sizeof(nbcolli_offload_executor));
}

nbcoll_status nbcolli_offload_serve(nbcoll_agent *agent, nbcoll_comm *comm, nbcolli_executor **out)
{
    static const nbcolli_executor_table does = {.plan = nbcolli_offload_plan,
                                                .start = nbcolli_offload_start,
                                                .take = nbcolli_offload_take,
                                                .begin_inner = nbcolli_offload_begin_inner,
                                                .give_back = nbcolli_offload_give_back,
                                                .cancel = nbcolli_offload_cancel,
                                                .refused = nbcolli_offload_refused,
                                                .has_arrived = nbcolli_offload_has_arrived,
                                                .drain = nbcolli_offload_drain,
                                                .look = nbcolli_offload_look,
                                                .look_after = nbcolli_offload_look_after,
                                                .freed = nbcolli_offload_freed,
                                                .free = nbcolli_offload_free};
    nbcolli_offload_executor *o = nbcolli_alloc(&comm->context->host, sizeof *o, _Alignof(nbcolli_offload_executor));
    if (!o)
        return NBCOLL_ERR_MEMORY;
    memset(o, 0, sizeof *o);
    o->head.does = &does;
    o->head.comm = comm;
    o->head.hash = nbcolli_agent_hash(agent);
    o->agent = agent;
    o->end = &o->first;
    *out = &o->head;
    return NBCOLL_OK;
}
