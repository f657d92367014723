/* SPDX-License-Identifier: BSD-3-Clause
 * Exposures and fetches of brief runs: what stands in a cell once, for all its readers, is written and found at a
 * glance. All else goes the way of expose.h. */
#ifndef NBCOLLI_ENGINE_RUN_GLANCE_H
#define NBCOLLI_ENGINE_RUN_GLANCE_H

#include "../state/context.h"

/* Shows what the op exposes; what cannot be now goes on by itself. Says whether its step has ended. */
int nbcolli_brief_expose(nbcolli_op *op, const nbcolli_brief *b);

/* Looks for what a LOOKING op fetches, and says whether that was there and is used: its step ends. Else the op is
 * watched, or goes on by itself. */
int nbcolli_glance(nbcolli_op *op, const nbcolli_brief *b);

/* How far a replay has come: on, or to where it waits, or cannot go on as the last time. */
typedef enum nbcolli_replay { NBCOLLI_REPLAY_GOES, NBCOLLI_REPLAY_WAITS, NBCOLLI_REPLAY_STOPS } nbcolli_replay;

/* Of a replay with this tag: shows what `m` exposes, or uses what it fetches, and what stands in cells behind that, in
 * turn, with what needs nobody; all that was there is acknowledged. The run's `at` is what follows, or the first that
 * is missing, or where there is something else than the last time. A start looks for nothing. */
nbcolli_replay nbcolli_glance_replay(const nbcolli_request *r, const nbcolli_move *m);
nbcolli_replay nbcolli_glance_start(const nbcolli_request *r, const nbcolli_move *m);

#endif
