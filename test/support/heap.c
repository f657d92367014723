/* SPDX-License-Identifier: BSD-3-Clause
 * See heap.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "heap.h"

static void *heap_alloc(void *user, size_t bytes, size_t align)
{
    heap_block **heap = user, *b;

    assert_true(align <= sizeof *b);
    b = aligned_alloc(sizeof *b, sizeof *b + (bytes + sizeof *b - 1) / sizeof *b * sizeof *b);
    assert_non_null(b);
    b->at = heap;
    b->next = *heap;
    if (b->next)
        b->next->at = &b->next;
    *heap = b;
    return b + 1;
}

static void heap_free(void *user, void *memory, size_t bytes)
{
    heap_block *b = (heap_block *)memory - 1;

    (void)user;
    (void)bytes;
    *b->at = b->next;
    if (b->next)
        b->next->at = b->at;
    free(b);
}

nbcoll_host heap_host(heap_block **heap)
{
    return (nbcoll_host){.size = sizeof(nbcoll_host), .user = heap, .alloc = heap_alloc, .free = heap_free};
}

size_t heap_clear(heap_block **heap)
{
    size_t n = 0;
    for (; *heap; n++)
        heap_free(heap, *heap + 1, 0);
    return n;
}
