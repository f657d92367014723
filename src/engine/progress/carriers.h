/* SPDX-License-Identifier: BSD-3-Clause
 * Carriers for which something comes that is no end of an operation: passes look at them. */
#ifndef NBCOLLI_ENGINE_PROGRESS_CARRIERS_H
#define NBCOLLI_ENGINE_PROGRESS_CARRIERS_H

#include "../state/context.h"

/* Looks at all of the context. `poller`: on which this rank is about to sleep, or -1. Returns whether one moves, here
 * or by another thread. */
int nbcolli_carriers_look(nbcoll_context *c, int poller);

#endif
