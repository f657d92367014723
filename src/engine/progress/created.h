/* SPDX-License-Identifier: BSD-3-Clause
 * The end of a creation: each rank computes the same from the votes of all. */
#ifndef NBCOLLI_ENGINE_PROGRESS_CREATED_H
#define NBCOLLI_ENGINE_PROGRESS_CREATED_H

#include "../state/context.h"

/* Takes messages that came before this rank knew the communicator. */
void nbcolli_made_adopt(nbcolli_link *link);

/* Ends a communicator's creation. */
void nbcolli_comm_made(nbcolli_request *r);

#endif
