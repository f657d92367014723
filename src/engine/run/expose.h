/* SPDX-License-Identifier: BSD-3-Clause
 * The phases of exposures and fetches: what they do when they look at the cells, and what a failed run owes to those
 * who look at its own. */
#ifndef NBCOLLI_ENGINE_RUN_EXPOSE_H
#define NBCOLLI_ENGINE_RUN_EXPOSE_H

#include "../state/context.h"

/* Takes a REUSING or EXPOSED op as far as it can go now. */
void nbcolli_expose_next(nbcolli_op *op);

/* [ASK] Asks the readers of what our cells lend to say when they will not read it (any more). */
void nbcolli_exposure_recall(nbcolli_op *op);

/* Takes a LOOKING or USING op as far as this pass goes, or a FETCHING one whose get is over. Returns whether it may go
 * on. */
int nbcolli_fetch_next(nbcolli_op *op);

/* Has a USING op used all that is there so far? */
int nbcolli_fetch_waits(const nbcolli_op *op);

#endif
