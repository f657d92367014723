/* SPDX-License-Identifier: BSD-3-Clause
 * Runs of small schedules, the path of small operations that go well: a loop executes their moves (moves.h), each at
 * once. A message is a line (wire/channel.h); an exposure stands in a cell once, for all its readers. A move that
 * cannot go at once becomes an op, with the phases of all ops.
 *
 * Replays (progress/replay.h) use the same loop: it goes through the moves in order, and stops at the first that cannot
 * go. */
#ifndef NBCOLLI_ENGINE_RUN_SMALL_H
#define NBCOLLI_ENGINE_RUN_SMALL_H

#include "moves.h"

/* Executes moves that can begin. The run may be over afterwards. */
void nbcolli_small_advance(nbcolli_run *run);

/* How a move goes: it has ended; it waits; or it cannot go at once, and nothing has happened. */
typedef enum nbcolli_replay { NBCOLLI_REPLAY_GOES, NBCOLLI_REPLAY_WAITS, NBCOLLI_REPLAY_STOPS } nbcolli_replay;

/* Replays the request's moves from the first one to the first receive or fetch; or, if it `looks` for what others send
 * and show, from run->at on. run->at is then the move where the replay waits, or stops. */
nbcolli_replay nbcolli_small_replay(nbcolli_request *r, int looks);

#endif
