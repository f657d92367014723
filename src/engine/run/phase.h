/* SPDX-License-Identifier: BSD-3-Clause
 * The phases of ops: from the moment a step with a peer is ready to its end. Callers advance the run; nothing here
 * does. */
#ifndef NBCOLLI_ENGINE_RUN_PHASE_H
#define NBCOLLI_ENGINE_RUN_PHASE_H

#include "../state/context.h"

/* Takes an op as far as it can go now: its post came free, an answer came, shared memory may have changed, or the pass
 * has bytes again. The caller advances the run afterwards. */
void nbcolli_op_next(nbcolli_op *op);

/* The op's step is ready. */
void nbcolli_op_start(nbcolli_op *op);

/* A SEND is ready, or has looked at arrivals. */
void nbcolli_send_start(nbcolli_op *op);

/* A message meets its receive, which is ready. */
void nbcolli_recv_accept(nbcolli_op *op, const nbcolli_header *m, const void *payload, size_t bytes);

/* [ASK] Asks the readers of memory that our cells lend to say when they will not read it any more. */
void nbcolli_exposure_recall(nbcolli_op *op);

/* Has a USING op used all bytes that are there so far? */
int nbcolli_fetch_waits(const nbcolli_op *op);

#endif
