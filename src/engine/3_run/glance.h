/* SPDX-License-Identifier: BSD-3-Clause
 * Exposures and fetches of brief runs: what stands in a cell once, for all its readers, is written and found at a
 * glance. All else goes the way of expose.h. */
#ifndef NBCOLLI_ENGINE_RUN_GLANCE_H
#define NBCOLLI_ENGINE_RUN_GLANCE_H

#include "../1_state/context.h"

/* Shows what the step exposes, and says whether its step has ended: else it goes on by itself. */
int nbcolli_brief_expose(nbcolli_op *op, const nbcolli_brief *b);

/* Looks for what a LOOKING op fetches, and says whether that was there and is used: its step ends. Else the op is
 * watched, or goes on by itself. */
int nbcolli_glance(nbcolli_op *op, const nbcolli_brief *b);

#endif
