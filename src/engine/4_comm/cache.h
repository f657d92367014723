/* SPDX-License-Identifier: BSD-3-Clause
 * The bounded cache of a communicator's schedules, under everything that their builders read. The one used longest ago
 * makes room; if a request still holds it, that request frees it. */
#ifndef NBCOLLI_ENGINE_COMM_CACHE_H
#define NBCOLLI_ENGINE_COMM_CACHE_H

#include "../1_state/context.h"

/* Empties it. */
void nbcolli_cache_clear(nbcoll_comm *comm);

/* The schedule of a collective, from the communicator's cache or built. */
nbcoll_status nbcolli_comm_schedule(nbcoll_comm *comm, const nbcoll_args *a, nbcoll_schedule **out);

#endif
