/* SPDX-License-Identifier: BSD-3-Clause
 * Settling: a run that failed ends when nobody holds its buffers any more. */
#ifndef NBCOLLI_ENGINE_RUN_SETTLE_H
#define NBCOLLI_ENGINE_RUN_SETTLE_H

#include "../state/context.h"

/* [SETTLE] Called for a failed run when something about it changed. */
void nbcolli_settle(nbcolli_run *run);

/* Of a failed run: has a rank still to say that it touches the op's memory no more? All that settling waits for from
 * other ranks is said here, so that it is asked for, too (match/ask.h). A rank that has left says nothing. */
int nbcolli_op_is_held_by(const nbcolli_op *op, int *rank);

#endif
