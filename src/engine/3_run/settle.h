/* SPDX-License-Identifier: BSD-3-Clause
 * Settling: a run that failed ends when nobody holds its buffers any more. */
#ifndef NBCOLLI_ENGINE_RUN_SETTLE_H
#define NBCOLLI_ENGINE_RUN_SETTLE_H

#include "../1_state/context.h"

/* [SETTLE] Called for a failed run when something about it changed. */
void nbcolli_settle(nbcolli_run *run);

#endif
