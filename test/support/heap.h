/* SPDX-License-Identifier: BSD-3-Clause
 * Memory that the library may leak, where a context is abandoned: for one thread. */
#ifndef HEAP_H
#define HEAP_H

#include <stddef.h>

#include "nbcoll/nbcoll.h"

typedef struct heap_block {
    _Alignas(256) struct heap_block *next, **at;
} heap_block;

/* Takes its memory from *heap, which is null at first. */
nbcoll_host heap_host(heap_block **heap);
/* Frees all that is left. Returns how many blocks there were. */
size_t heap_clear(heap_block **heap);

#endif
