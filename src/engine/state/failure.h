/* SPDX-License-Identifier: BSD-3-Clause
 * Noting what failed, for those who ask afterwards. */
#ifndef NBCOLLI_ENGINE_STATE_FAILURE_H
#define NBCOLLI_ENGINE_STATE_FAILURE_H

#include "context.h"

/* What failed, with what the transport said if it lost the rank. */
nbcoll_failure nbcolli_failure_of(const nbcoll_comm *comm, nbcoll_status s, int rank, uint64_t tag);

/* The cause of a break stays the communicator's. */
void nbcolli_note(nbcoll_comm *comm, const nbcoll_failure *f);

/* The same, from its parts. */
void nbcolli_note_failure(nbcoll_comm *comm, nbcoll_status s, int rank, uint64_t tag);

#endif
