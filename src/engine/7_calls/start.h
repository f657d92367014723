/* SPDX-License-Identifier: BSD-3-Clause
 * Starting operations: those of the library, and the schedules of a program's own making. */
#ifndef NBCOLLI_ENGINE_CALLS_START_H
#define NBCOLLI_ENGINE_CALLS_START_H

#include "../1_state/context.h"

/* Starts it. Nothing has happened on an error. */
nbcoll_status nbcolli_request_start(nbcolli_request *r);

/* A request for a schedule that suits the communicator: started, or persistent and inactive. `blocks`: null, or those
 * of the send and the receive buffer. */
nbcoll_status nbcolli_begin(nbcoll_schedule *s, const void *send, void *recv, const nbcolli_blocks *blocks,
                            nbcoll_comm *comm, int persistent, nbcoll_request *request);

#endif
