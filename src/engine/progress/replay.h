/* SPDX-License-Identifier: BSD-3-Clause
 * Replays: the fast path of small operations that repeat. A small run is known from its last time: the order of its
 * steps, the channels of its messages both ways, the request that keeps it; and its parts stand in the first cell of
 * each owner. While nothing else is outstanding in the context, a start executes these steps up to the first receive or
 * fetch. A wait looks at the one ring, or cell, that is missing, and goes on. A replay touches no counters and no
 * queues, and in the slot only the notes of an exposure's readers: progress has not taken such an operation over. Any
 * call that enters the context first turns the replay into the ordinary run, with the same state; so does a replay that
 * cannot go on as the last time.
 *
 * A replay waits for receives and fetches in the order of the steps, so ready ones may wait behind others; a wait looks
 * a bounded number of times before it enters. A replay sees no other arrivals: after a number of replays a pass is
 * made. Only in contexts of one thread. Inline: the look whether one can begin. */
#ifndef NBCOLLI_ENGINE_PROGRESS_REPLAY_H
#define NBCOLLI_ENGINE_PROGRESS_REPLAY_H

#include "../state/caller.h"
#include "../wire/channel.h"

#define NBCOLLI_REPLAY_LOOKS 64u  /* of a wait, before it enters the context */
#define NBCOLLI_REPLAY_YIELDS 8u  /* the same, where ranks take turns on a core */
#define NBCOLLI_REPLAY_PASSES 64u /* replays that end by a line between two passes */

/* Can the start of an inactive request that keeps a run be a replay? With nothing outstanding all slots are free, and
 * no send stalls. */
static inline int nbcolli_can_replay(const nbcoll_context *c, const nbcoll_comm *comm)
{
    /* relaxed: of one thread */
    return (atomic_load_explicit(&c->lock, memory_order_relaxed) | c->active | c->stored | (uintptr_t)c->ended |
            (uintptr_t)c->replaying | (unsigned)nbcolli_broken(comm) | (uintptr_t)comm->pending_revokes |
            (unsigned)comm->departed | comm->next_tag >> 48) == 0;
}

/* Starts so: OK. Afterwards the operation has ended, replays, or is active. */
nbcoll_status nbcolli_replay_start(nbcolli_request *r);

/* The same for the request's start block: AGAIN if it cannot be a replay. */
nbcoll_status nbcolli_restart(nbcoll_start_block *at);

/* One look for a replaying request. OK: it has ended well; the caller sets its state. AGAIN: nothing is there. PENDING:
 * enter the context to see. */
nbcoll_status nbcolli_replay_look(nbcolli_request *r);

/* The replaying request becomes active. The lock is held. */
void nbcolli_replay_give_way(nbcoll_context *c);

#endif
