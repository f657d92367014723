/* SPDX-License-Identifier: BSD-3-Clause
 * Runs of small schedules, the way of small operations that go well: their moves (moves.h) are worked off in a loop,
 * each at once. A message is a line (wire/channel.h); what an exposure shows stands in a cell once, for all its
 * readers. What does not go so at once goes by its op, with the phases of all others.
 *
 * The same loop is a replay's (progress/replay.h), of which nobody else knows: it goes through the moves in their
 * order, and stops at the first that does not go. */
#ifndef NBCOLLI_ENGINE_RUN_SMALL_H
#define NBCOLLI_ENGINE_RUN_SMALL_H

#include "moves.h"

/* Works off what can begin. The run may be over afterwards. */
void nbcolli_small_advance(nbcolli_run *run);

/* How a move goes: it has ended; it waits; or it cannot go at once, and nothing has happened. */
typedef enum nbcolli_replay { NBCOLLI_REPLAY_GOES, NBCOLLI_REPLAY_WAITS, NBCOLLI_REPLAY_STOPS } nbcolli_replay;

/* Replays the request's moves from the first one on, up to what is received or fetched, for which it does not look; or
 * from run->at on. That is then the move at which it has come to its end, or waits, or stops. */
nbcolli_replay nbcolli_small_replay(nbcolli_request *r);
nbcolli_replay nbcolli_small_replay_on(nbcolli_request *r);

#endif
