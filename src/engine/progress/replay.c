/* SPDX-License-Identifier: BSD-3-Clause */
#include "replay.h"

#include "progress.h"
#include "../exposures/cells.h"
#include "../run/small.h"
#include "../run/pool.h"
#include "../match/ask.h"

static inline void nbcolli_replay_over(const nbcolli_request *r)
{
    nbcoll_comm *comm = r->comm;

    nbcolli_mark_end(nbcolli_slot_of(comm, r->tag), r->tag / comm->config.slots);
    /* relaxed: as in nbcolli_operation_over */
    atomic_store_explicit(&comm->ended, atomic_load_explicit(&comm->ended, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

/* Sets the run to where the replay has come, as the general path would have left it. */
__attribute__((noinline)) void nbcolli_replay_give_way(nbcoll_context *c)
{
    nbcolli_request *r = c->replaying;
    nbcolli_run *run = r->kept;

    c->replaying = NULL;
    nbcolli_request_taken(r);
    r->run = run;
    if (run->is_worn)
        nbcolli_run_restore(run);
    else
        nbcolli_run_rewind(run);
    nbcolli_run_begin(run, r);
    run->left &= ~(run->at->bit - 1);
    for (const nbcolli_move *m = run->move; m != run->at; m++) {
        run->cells += m->cells;
        if (m->op)
            m->op->phase = NBCOLLI_SETTLED;
    }
    run->state = NBCOLLI_RUN_ACTIVE;
    run->slot->active = run;
    c->bytes_left = NBCOLL_PASS_BYTES;
    nbcolli_small_advance(run);
    nbcolli_drain(c);
}

nbcoll_status nbcolli_replay_start(nbcolli_request *r)
{
    nbcoll_comm *comm = r->comm;
    uint64_t tag = comm->next_tag;

    nbcolli_own_lock(r->context);
    comm->next_tag = comm->taken = tag + 1;
    r->tag = tag;
    r->history = comm->history;
    comm->history = nbcolli_history_after(r->history, r->schedule->raised);
    nbcolli_note_started(comm, tag, comm->history);
    nbcolli_replay how = nbcolli_small_replay(r, 0);
    if (how == NBCOLLI_REPLAY_GOES) {
        nbcolli_replay_over(r);
        nbcolli_list_end(r->context, r);
        r->status = NBCOLL_OK;
        atomic_store_explicit(&r->state, NBCOLLI_REQUEST_ENDED + (uint32_t)r->persistent, /* or OVER */
                              memory_order_release);                                      /* publishes the buffers */
    } else {
        atomic_store_explicit(&r->state, NBCOLLI_REQUEST_ACTIVE, memory_order_relaxed); /* of one thread */
        r->context->replaying = r;
        if (how == NBCOLLI_REPLAY_STOPS)
            nbcolli_replay_give_way(r->context);
    }
    nbcolli_own_unlock(r->context);
    return NBCOLL_OK;
}

nbcoll_status nbcolli_restart(nbcoll_start_block *at)
{
    nbcolli_request *r = (nbcolli_request *)at;
    return nbcolli_can_replay(r->context, r->comm) ? nbcolli_replay_start(r) : NBCOLL_AGAIN;
}

nbcoll_status nbcolli_replay_look(nbcolli_request *r)
{
    nbcolli_own_lock(r->context);
    nbcolli_replay how = nbcolli_small_replay(r, 1);
    if (how == NBCOLLI_REPLAY_GOES) {
        nbcolli_replay_over(r);
        r->context->replaying = NULL;
        if (--r->context->till_pass == 0) {
            r->context->till_pass = NBCOLLI_REPLAY_PASSES;
            nbcolli_pass(r->context);
        }
    }
    nbcolli_own_unlock(r->context);
    return how == NBCOLLI_REPLAY_GOES ? NBCOLL_OK : how == NBCOLLI_REPLAY_WAITS ? NBCOLL_AGAIN : NBCOLL_PENDING;
}
