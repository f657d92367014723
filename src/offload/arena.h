/* SPDX-License-Identifier: BSD-3-Clause
 * Memory that is taken piece by piece and given back all at once: what a proof or a compilation needs while it lasts.
 */
#ifndef NBCOLLI_OFFLOAD_ARENA_H
#define NBCOLLI_OFFLOAD_ARENA_H

#include <string.h>

#include "../host/host.h"

#define NBCOLLI_ARENA_ALIGN 64
#define NBCOLLI_ARENA_CHUNK ((size_t)16 << 10)

/* Each is twice as large as the one before. */
typedef struct nbcolli_chunk {
    struct nbcolli_chunk *next;
    size_t bytes, used;
} nbcolli_chunk;

/* Of the host; begins without chunks. */
typedef struct nbcolli_arena {
    nbcoll_host host;
    nbcolli_chunk *chunks;
} nbcolli_arena;

/* The newest chunk, with room for so many bytes; null when there is no memory. */
static inline nbcolli_chunk *nbcolli_arena_chunk(nbcolli_arena *a, size_t bytes)
{
    nbcolli_chunk *chunk = a->chunks;
    if (chunk && chunk->bytes - chunk->used >= bytes)
        return chunk;
    size_t size = chunk ? chunk->bytes * 2 : NBCOLLI_ARENA_CHUNK, least = bytes + NBCOLLI_ARENA_ALIGN;
    size = size < least ? least : size;
    chunk = nbcolli_alloc(&a->host, size, NBCOLLI_ARENA_ALIGN);
    if (chunk)
        *chunk = (nbcolli_chunk){a->chunks, size, NBCOLLI_ARENA_ALIGN};
    return chunk ? (a->chunks = chunk) : NULL;
}

/* Memory for `n` things of so many bytes, zeroed, until the arena is closed; null when there is none. */
static inline void *nbcolli_arena_take(nbcolli_arena *a, size_t n, size_t bytes)
{
    if (__builtin_mul_overflow(n, bytes, &bytes) || bytes > SIZE_MAX / 4)
        return NULL;
    bytes = (bytes + NBCOLLI_ARENA_ALIGN) / NBCOLLI_ARENA_ALIGN *
            NBCOLLI_ARENA_ALIGN; /* at least one, so that nothing taken is not null */
    nbcolli_chunk *chunk = nbcolli_arena_chunk(a, bytes);
    if (!chunk)
        return NULL;
    chunk->used += bytes;
    return memset((char *)chunk + chunk->used - bytes, 0, bytes);
}

/* Gives all of it back. */
static inline void nbcolli_arena_close(nbcolli_arena *a)
{
    while (a->chunks) {
        nbcolli_chunk *chunk = a->chunks;
        a->chunks = chunk->next;
        nbcolli_free(&a->host, chunk, chunk->bytes);
    }
}

#endif
