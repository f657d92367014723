/* SPDX-License-Identifier: BSD-3-Clause
 * Ranks that are gone: what needs them ends. */
#ifndef NBCOLLI_ENGINE_MATCH_GONE_H
#define NBCOLLI_ENGINE_MATCH_GONE_H

#include "../state/context.h"

/* Ends the run if it will ever need a message of a rank that has left: what has not been handled was never sent. */
void nbcolli_run_miss(nbcolli_run *run);

/* A member is lost, or has left: what settles need not wait for its answers. By a loss the communicator breaks; a rank
 * that has left ends only what needs it. */
void nbcolli_member_gone(nbcoll_comm *comm, int rank);

#endif
