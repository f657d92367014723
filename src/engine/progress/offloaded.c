/* SPDX-License-Identifier: BSD-3-Clause
 * Operations that a communicator's agent carries out: see offloaded.h. */
#include "offloaded.h"

#include "../state/caller.h"
#include "../state/failure.h"
#include "../run/fail.h"
#include "../run/middle.h"
#include "../run/queue.h"
#include "../run/run.h"
#include "../run/step.h"
#include "../comm/programs.h"
#include "../../offload/offload.h"

/* Where a block of the call lies: nbcoll_bind. */
static nbcoll_region nbcolli_offloaded_block(void *user, int is_recv, int index)
{
    const nbcolli_request *r = user;
    unsigned char *base = is_recv ? r->recv : (unsigned char *)(uintptr_t)r->send; /* only a place is asked for */
    nbcoll_memory block = nbcolli_block(&r->blocks[is_recv], base, (size_t)index);
    nbcoll_addr at = {is_recv ? NBCOLL_BUFFER_RECV : NBCOLL_BUFFER_SEND, 0};
    return nbcoll_span(nbcoll_at(at, (uintptr_t)block.at - (uintptr_t)base), block.bytes);
}

/* Why no member starts a program any more, or OK. */
static nbcoll_status nbcolli_offloaded_over(const nbcoll_comm *comm)
{
    nbcoll_status broken = nbcolli_broken(comm);
    /* relaxed: for itself */
    return broken != NBCOLL_OK ? broken : (nbcoll_status)atomic_load_explicit(&comm->agents, memory_order_relaxed);
}

void nbcolli_offloaded_tell(nbcoll_comm *comm)
{
    nbcoll_status failed = comm->config.agent ? nbcolli_agent_failed(comm->config.agent) : NBCOLL_OK;
    if (failed != NBCOLL_OK)
        nbcolli_agents_end(comm, failed, 1);
}

/* Of all of the request, or of the middle of its run. */
static nbcolli_agent_call nbcolli_offloaded_call(nbcolli_request *r)
{
    return (nbcolli_agent_call){.send = r->send,
                                .recv = r->recv,
                                .scratch = r->run ? r->run->base[NBCOLL_BUFFER_SCRATCH] : NULL,
                                .bind = nbcolli_offloaded_block,
                                .user = r,
                                .host = &r->comm->context->host};
}

int nbcolli_offloaded_has_buffers(nbcolli_request *r)
{
    nbcoll_agent *agent = r->comm->config.agent;
    const nbcolli_agent_call call = nbcolli_offloaded_call(r);

    return !r->schedule->program || !nbcolli_agent_process(agent) ||
           nbcolli_agent_accepts(agent, r->schedule->program, &call) != NBCOLL_ERR_BUFFER;
}

/* Acquire: what the one before has handed over comes before this one. */
static int nbcolli_offloaded_is_next(const nbcolli_request *r)
{
    return r->program_turn == atomic_load_explicit(&r->comm->programs.handed, memory_order_acquire);
}

/* On the caller's side, at its turn, which is passed on. On an error it is not. */
static nbcoll_status nbcolli_offloaded_hand(nbcolli_request *r)
{
    nbcoll_comm *comm = r->comm;
    const nbcolli_agent_call call = nbcolli_offloaded_call(r);
    nbcoll_status s = nbcolli_agent_make(comm->config.agent, r->schedule->program, &call, &r->program);

    if (s != NBCOLL_OK)
        return s;
    nbcolli_agent_hand(r->program, r->program_number);
    atomic_store_explicit(&comm->programs.handed, r->program_turn + 1, memory_order_release); /* to the next one */
    return NBCOLL_OK;
}

nbcoll_status nbcolli_offloaded_give(nbcolli_request *r)
{
    nbcoll_comm *comm = r->comm;
    const nbcolli_agent_call call = nbcolli_offloaded_call(r);
    nbcoll_status s = nbcolli_offloaded_over(comm);

    r->program_number = comm->programs.called;
    r->program_turn = comm->programs.turns;
    if (s == NBCOLL_OK)
        s = nbcolli_offloaded_is_next(r) ? nbcolli_offloaded_hand(r)
                                         : nbcolli_agent_accepts(comm->config.agent, r->schedule->program, &call);
    if (s != NBCOLL_OK)
        return s;
    comm->programs.called++;
    comm->programs.turns++;
    return NBCOLL_OK;
}

void nbcolli_offloaded_take(nbcolli_request *r)
{
    nbcoll_context *c = r->context;

    r->comm->active++;
    c->active++;
    r->status = NBCOLL_PENDING;
    atomic_store_explicit(&r->state, NBCOLLI_REQUEST_ACTIVE, memory_order_relaxed); /* the lock orders it */
    nbcolli_middle_list(c, r);
}

static void nbcolli_offloaded_end(nbcolli_request *r, nbcoll_status status)
{
    nbcoll_comm *comm = r->comm;

    if (status != NBCOLL_OK) {
        nbcolli_note_failure(comm, status, -1, comm->taken);
        nbcolli_offloaded_tell(comm);
    }
    comm->active--;
    comm->context->active--;
    r->status = status;
    nbcolli_request_end(comm->context, r);
}

/* The run goes on behind its middle, or with scratch memory; or settles. */
static void nbcolli_offloaded_middle_end(nbcolli_run *run, nbcoll_status status)
{
    run->is_offloaded = 0;
    if (run->status != NBCOLL_OK)
        nbcolli_to_settle(run);
    else if (status != NBCOLL_OK)
        nbcolli_run_fail(run, status, -1, 1);
    else {
        nbcolli_step_end(run, nbcolli_middle_lacks_room(run) ? run->schedule->room : run->schedule->middle);
        nbcolli_advance(run);
    }
}

int nbcolli_offloaded_arm(nbcoll_context *c)
{
    int sleeps = 1;
    for (const nbcolli_request *r = c->offloaded; r && sleeps; r = r->next)
        sleeps = nbcolli_agent_watch(r->comm->config.agent, c->poller) &&
                 !(r->program && nbcolli_agent_has_ended(r->program));
    return sleeps;
}

/* At its turn. PENDING: the desk of the agent's process has no room for it before an earlier one has ended. */
static nbcoll_status nbcolli_offloaded_hand_late(nbcolli_request *r, int *moved)
{
    nbcolli_caller_lock(r->context);
    nbcoll_status s = nbcolli_offloaded_hand(r);
    nbcolli_caller_unlock(r->context);
    *moved |= s == NBCOLL_OK;
    return s == NBCOLL_OK || s == NBCOLL_ERR_LIMIT ? NBCOLL_PENDING : s;
}

/* Of one that the agent has not got. PENDING; OK: it has scratch memory now; or why it never will get on. */
static nbcoll_status nbcolli_offloaded_wait(nbcolli_request *r, int *moved)
{
    nbcoll_status s = r->run ? r->run->status : NBCOLL_OK;

    if (s == NBCOLL_OK)
        s = nbcolli_agent_over(r->comm->config.agent);
    if (s != NBCOLL_OK)
        return s;
    if (r->run && nbcolli_middle_lacks_room(r->run))
        return nbcolli_middle_take_room(r->run) ? NBCOLL_OK : NBCOLL_PENDING;
    return nbcolli_offloaded_is_next(r) ? nbcolli_offloaded_hand_late(r, moved) : NBCOLL_PENDING;
}

/* Looks at one of the list. PENDING, or how it has ended, or got on. */
static nbcoll_status nbcolli_offloaded_look_at(nbcolli_request *r, int *moved)
{
    nbcoll_comm *comm = r->comm;
    nbcoll_status over = nbcolli_offloaded_over(comm);

    if (over != NBCOLL_OK) /* no member can be waited for any more */
        nbcoll_agent_cancel(comm->config.agent);
    nbcoll_status s = r->program ? nbcoll_agent_test(r->program) : nbcolli_offloaded_wait(r, moved);
    if (s == NBCOLL_PENDING)
        return s;
    if (s != NBCOLL_OK && !r->program && !r->run) { /* others have counted it, and wait for it */
        nbcoll_agent_cancel(comm->config.agent);
        nbcolli_agents_end(comm, NBCOLL_ERR_CANCELLED, 1);
    }
    r->program = NULL;
    return s == NBCOLL_ERR_CANCELLED && over != NBCOLL_OK ? over : s;
}

int nbcolli_offloaded_look(nbcoll_context *c)
{
    int moved = 0;

    c->driven.looked = 1; /* no program wakes a driver that sleeps: no new one and, from here on, no other */
    for (const nbcolli_request *r = c->offloaded; r; r = r->next)
        nbcolli_agent_unwatch(r->comm->config.agent);
    for (nbcolli_request **at = &c->offloaded; *at;) {
        nbcolli_request *r = *at;
        nbcoll_status status = nbcolli_offloaded_look_at(r, &moved);

        if (status == NBCOLL_PENDING) {
            at = &r->next;
            continue;
        }
        *at = r->next;
        if (c->offloaded_end == &r->next)
            c->offloaded_end = at;
        moved = 1;
        if (r->run)
            nbcolli_offloaded_middle_end(r->run, status);
        else
            nbcolli_offloaded_end(r, status);
    }
    return moved;
}
