/* SPDX-License-Identifier: BSD-3-Clause
 * Memory that is taken piece by piece and given back all at once: what a proof or a compilation needs while it lasts.
 */
#ifndef NBCOLLI_OFFLOAD_ARENA_H
#define NBCOLLI_OFFLOAD_ARENA_H

#include "../host/host.h"

typedef struct nbcolli_chunk nbcolli_chunk;

/* Of the host; begins without chunks. */
typedef struct nbcolli_arena {
    nbcoll_host host;
    nbcolli_chunk *chunks;
} nbcolli_arena;

/* Memory for `n` things of so many bytes, zeroed, until the arena is closed; null when there is none. */
void *nbcolli_arena_take(nbcolli_arena *a, size_t n, size_t bytes);

/* Gives all of it back. */
void nbcolli_arena_close(nbcolli_arena *a);

#endif
