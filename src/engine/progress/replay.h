/* SPDX-License-Identifier: BSD-3-Clause
 * Replays: the way of small operations that go well again and again. What a small run does is known from its last time:
 * its steps in an order, the channels of its messages both ways, the request that keeps it; and that what it fetches
 * stands in the first cell of each owner. While nothing else is outstanding in the context, a start works these steps
 * off up to the first receive or fetch, and a wait looks at the one ring from which its line will come, or at the cell,
 * and goes on. Neither counters nor queues are touched, nor the slot but for what an exposure notes of its readers: to
 * all others such an operation has not been taken over. Whoever enters the context meanwhile first makes it what it
 * would be by the general way, with the same state, and so does whatever cannot go on as the last time.
 *
 * A receive or fetch is waited for in the order of the steps, so others that are ready may have to wait with it; a wait
 * looks only so often before it enters. What comes from others is not seen by a replay: after so many of them a pass is
 * made. Only in contexts of one thread. Inline: the look whether one can begin. */
#ifndef NBCOLLI_ENGINE_PROGRESS_REPLAY_H
#define NBCOLLI_ENGINE_PROGRESS_REPLAY_H

#include "../wire/channel.h"

#define NBCOLLI_REPLAY_LOOKS 64u  /* of a wait, before it enters */
#define NBCOLLI_REPLAY_YIELDS 8u  /* so many, where ranks take turns on a core */
#define NBCOLLI_REPLAY_PASSES 64u /* replays that end by a line between two passes */

/* Can the start of an inactive request that keeps a run be a replay? With nothing outstanding all slots are free, and
 * nobody stalls. */
static inline int nbcolli_can_replay(const nbcoll_context *c, const nbcoll_comm *comm)
{
    /* relaxed: of one thread */
    return (atomic_load_explicit(&c->lock, memory_order_relaxed) | c->active | c->stored | (uintptr_t)c->ended |
            (uintptr_t)c->replaying | (unsigned)nbcolli_broken(comm) | (uintptr_t)comm->pending_revokes |
            (unsigned)comm->departed | comm->next_tag >> 48) == 0;
}

/* That start. It has ended afterwards, or replays, or is active. OK. */
nbcoll_status nbcolli_replay_start(nbcolli_request *r);

/* The same as its block has it: AGAIN if it cannot be one. */
nbcoll_status nbcolli_restart(nbcoll_start_block *at);

/* One look for what the request waits for, which replays. OK: it has ended well; its state is for the caller to set.
 * AGAIN: nothing is there. PENDING: who enters will see. */
nbcoll_status nbcolli_replay_look(nbcolli_request *r);

/* For one who enters, with nobody inside: what replays becomes active. */
void nbcolli_replay_give_way(nbcoll_context *c);

#endif
