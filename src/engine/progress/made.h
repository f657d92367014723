/* SPDX-License-Identifier: BSD-3-Clause
 * The end of a creation: each rank computes the same from the votes of all. */
#ifndef NBCOLLI_ENGINE_PROGRESS_MADE_H
#define NBCOLLI_ENGINE_PROGRESS_MADE_H

#include "../state/context.h"

/* Ends a communicator's creation. */
void nbcolli_comm_made(nbcolli_request *r);

#endif
