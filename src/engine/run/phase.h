/* SPDX-License-Identifier: BSD-3-Clause
 * The phases of ops: from a SEND or RECV that is ready to the end of its step; those of exposures and fetches are in
 * expose.h. Nothing here advances the run: that is for who calls. */
#ifndef NBCOLLI_ENGINE_RUN_PHASE_H
#define NBCOLLI_ENGINE_RUN_PHASE_H

#include "../state/context.h"

/* Takes an op as far as it can go now: its post came free, an answer came, shared memory may have changed, or the pass
 * has bytes again. The caller advances the run afterwards. */
void nbcolli_op_next(nbcolli_op *op);

/* A SEND or RECV is ready. */
void nbcolli_send_start(nbcolli_op *op);
void nbcolli_recv_start(nbcolli_op *op);

/* A message meets its receive, which is ready. */
void nbcolli_recv_accept(nbcolli_op *op, const nbcolli_header *m, const void *payload, size_t bytes);

#endif
