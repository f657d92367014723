/* SPDX-License-Identifier: BSD-3-Clause */
#include "submitted.h"

#include "progress.h"
#include "../run/fail.h"
#include "../run/run.h"
#include "../run/pool.h"
#include "../run/queue.h"
#include "../match/ask.h"
#include "../match/operations.h"

/* Takes an operation over. It was revoked before, or its communicator broke since its start: it ends; or it gets its
 * slot, or waits for it. Its start has taken a run if it saw a free slot. */
static void nbcolli_take_carefully(nbcolli_request *r)
{
    nbcoll_comm *comm = r->comm;
    nbcolli_slot *slot = nbcolli_slot_of(comm, r->tag);
    nbcoll_status why = nbcolli_broken(comm);
    int cause = comm->failure.rank; /* if the communicator is broken */

    for (nbcoll_comm *made = r->creating; made; made = made->twin) {
        made->vote_comm = comm->id;
        made->vote_tag = r->tag;
    }
    int is_over = nbcolli_pending_take(comm, r->tag, &why, &cause) || why != NBCOLL_OK;
    if (!is_over && !slot->active && !slot->waiting.first) {
        nbcolli_take_slot(r);
        return;
    }
    if (r->run)
        nbcolli_run_give(r->run);
    r->run = NULL;
    if (is_over)
        nbcolli_request_fail(r, why, cause, 0);
    else
        nbcolli_list_add(&slot->waiting, &r->queued); /* behind those that were started before */
}

static inline void nbcolli_take_over(nbcolli_request *r, uint64_t history)
{
    nbcoll_comm *comm = r->comm;
    const nbcolli_slot *slot = r->run ? r->run->slot : NULL; /* its own, that of the tag */

    comm->taken = r->tag + 1;
    nbcolli_note_started(comm, r->tag, history);
    nbcolli_request_taken(r);
    if (!slot || r->creating || comm->pending_revokes || nbcolli_broken(comm) != NBCOLL_OK || slot->active ||
        slot->waiting.first)
        nbcolli_take_carefully(r);
    else
        nbcolli_activate(r->run);
}

uint32_t nbcolli_starting_left(const nbcolli_request *r)
{
    const nbcoll_schedule *s = r->schedule;
    uint32_t left = 0;

    if (!s || !s->starting || nbcolli_is_executed(r) || !nbcolli_is_pending(nbcolli_state_of(r)))
        return 0;
    if (!r->run) /* not taken over, or without a slot */
        return s->starting;
    for (nbcoll_step i = NBCOLL_END + 1; i < s->steps; i++)
        left += s->step[i].lane == NBCOLL_LANE_START && !nbcolli_is_step_over(r->run, i);
    return left;
}

#define NBCOLLI_START_BYTES 8192 /* bytes of a call beside a driver */

void nbcolli_take_handed(nbcoll_context *c)
{
    /* acquire: sees what was handed */
    nbcolli_request *newest = atomic_exchange_explicit(&c->handed, NULL, memory_order_acquire), *list = NULL;

    while (newest) { /* in the order of their starts */
        nbcolli_request *r = newest;
        newest = c->flags & NBCOLL_ANY_THREAD ? r->next : NULL;
        r->next = list;
        list = r;
    }
    c->bytes_left = NBCOLL_PASS_BYTES;
    c->driven.fresh = 1;
    while (list) {
        nbcolli_request *r = list;
        list = r->next;
        if (nbcolli_is_executed(r)) {
            r->executor->does->take(r->executor, r);
            continue;
        }
        uint32_t starting = r->schedule->starting;
        if (c->serves == NBCOLLI_SERVES_CALLER) /* the driver moves long data, except for the lane START */
            c->bytes_left = starting ? NBCOLL_PASS_BYTES : NBCOLLI_START_BYTES;
        nbcolli_take_over(r, nbcolli_history_after(r->history, r->schedule->raised));
        if (c->driven.driver && starting) /* if a driver takes it, the start has done none */
            c->driven.left_steps += c->serves == NBCOLLI_SERVES_PROGRESS ? starting : nbcolli_starting_left(r);
    }
    nbcolli_drain(c);
}

/* Inline where it is compiled with its callers. gcc asks for a declaration that says so, too; clang does not want it at
 * the body, which calls static functions. */
__attribute__((always_inline)) void nbcolli_take_own(nbcoll_context *c, nbcolli_request *r)
{
    atomic_store_explicit(&c->handed, NULL, memory_order_relaxed); /* of one thread */
    c->bytes_left = NBCOLL_PASS_BYTES;
    nbcolli_take_over(r, r->comm->history); /* no start has come since */
    nbcolli_drain(c);
}

inline void nbcolli_take_own(nbcoll_context *c, nbcolli_request *r);
