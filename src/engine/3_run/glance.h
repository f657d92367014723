/* SPDX-License-Identifier: BSD-3-Clause
 * Exposures and fetches of brief runs: what stands in a cell once, for all its readers, is written and found at a
 * glance. All else goes the way of expose.h. */
#ifndef NBCOLLI_ENGINE_RUN_GLANCE_H
#define NBCOLLI_ENGINE_RUN_GLANCE_H

#include "../1_state/context.h"

/* Shows what the step exposes. 0: that cannot be now, and nothing has happened. */
int nbcolli_glance_show(nbcolli_run *run, nbcoll_step step);

/* The same of an op; what cannot be now goes on by itself. Says whether its step has ended. */
int nbcolli_brief_expose(nbcolli_op *op, const nbcolli_brief *b);

/* Looks for what a LOOKING op fetches, and says whether that was there and is used: its step ends. Else the op is
 * watched, or goes on by itself. */
int nbcolli_glance(nbcolli_op *op, const nbcolli_brief *b);

/* Fetches of a replay, and what needs nobody, from `m` on: uses what is there, in turn, and acknowledges it. Returns
 * the first that is missing, or where there is something else than the last time (*is_other), or what follows. */
const nbcolli_move *nbcolli_glance_in_turn(nbcolli_run *run, const nbcolli_move *m, int *is_other);

#endif
