/* SPDX-License-Identifier: BSD-3-Clause
 * The memory of a proof. */
#include "proof.h"

#define NBCOLLI_PROOF_ALIGN 64
#define NBCOLLI_PROOF_CHUNK ((size_t)16 << 10)

struct nbcolli_chunk {
    nbcolli_chunk *next;
    size_t bytes, used;
};

void *nbcolli_take(nbcolli_proof *p, size_t n, size_t bytes)
{
    nbcolli_chunk *chunk = p->chunks;
    if (__builtin_mul_overflow(n, bytes, &bytes) || bytes > SIZE_MAX / 4)
        return NULL;
    bytes = (bytes + NBCOLLI_PROOF_ALIGN) / NBCOLLI_PROOF_ALIGN *
            NBCOLLI_PROOF_ALIGN; /* at least one, so that nothing taken is not null */
    if (!chunk || chunk->bytes - chunk->used < bytes) {
        size_t size = chunk ? chunk->bytes * 2 : NBCOLLI_PROOF_CHUNK;
        if (size < bytes + NBCOLLI_PROOF_ALIGN)
            size = bytes + NBCOLLI_PROOF_ALIGN;
        chunk = nbcolli_alloc(&p->host, size, NBCOLLI_PROOF_ALIGN);
        if (!chunk)
            return NULL;
        *chunk = (nbcolli_chunk){p->chunks, size, NBCOLLI_PROOF_ALIGN};
        p->chunks = chunk;
    }
    void *memory = (char *)chunk + chunk->used;
    chunk->used += bytes;
    return memset(memory, 0, bytes);
}

void nbcolli_proof_close(nbcolli_proof *p)
{
    while (p->chunks) {
        nbcolli_chunk *chunk = p->chunks;
        p->chunks = chunk->next;
        nbcolli_free(&p->host, chunk, chunk->bytes);
    }
}
