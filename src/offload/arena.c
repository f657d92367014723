/* SPDX-License-Identifier: BSD-3-Clause
 * Memory that is given back all at once: chunks, each twice as large as the one before. */
#include "arena.h"

#define NBCOLLI_ARENA_ALIGN 64
#define NBCOLLI_ARENA_CHUNK ((size_t)16 << 10)

struct nbcolli_chunk {
    nbcolli_chunk *next;
    size_t bytes, used;
};

void *nbcolli_arena_take(nbcolli_arena *a, size_t n, size_t bytes)
{
    nbcolli_chunk *chunk = a->chunks;
    if (__builtin_mul_overflow(n, bytes, &bytes) || bytes > SIZE_MAX / 4)
        return NULL;
    bytes = (bytes + NBCOLLI_ARENA_ALIGN) / NBCOLLI_ARENA_ALIGN *
            NBCOLLI_ARENA_ALIGN; /* at least one, so that nothing taken is not null */
    if (!chunk || chunk->bytes - chunk->used < bytes) {
        size_t size = chunk ? chunk->bytes * 2 : NBCOLLI_ARENA_CHUNK;
        if (size < bytes + NBCOLLI_ARENA_ALIGN)
            size = bytes + NBCOLLI_ARENA_ALIGN;
        chunk = nbcolli_alloc(&a->host, size, NBCOLLI_ARENA_ALIGN);
        if (!chunk)
            return NULL;
        *chunk = (nbcolli_chunk){a->chunks, size, NBCOLLI_ARENA_ALIGN};
        a->chunks = chunk;
    }
    void *memory = (char *)chunk + chunk->used;
    chunk->used += bytes;
    return memset(memory, 0, bytes);
}

void nbcolli_arena_close(nbcolli_arena *a)
{
    while (a->chunks) {
        nbcolli_chunk *chunk = a->chunks;
        a->chunks = chunk->next;
        nbcolli_free(&a->host, chunk, chunk->bytes);
    }
}
