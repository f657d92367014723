/* SPDX-License-Identifier: BSD-3-Clause
 * A buffer that a rank lends: exactly as long as needed. Behind it lies a page that nobody may touch, before it bytes
 * that are looked at; what it held before and what it must hold at the end are kept beside it. */
#ifndef BUFFERS_H
#define BUFFERS_H

#include <stddef.h>
#include <stdint.h>

typedef struct buffer {
    char *map;
    size_t mapped; /* bytes, without the last page. 0: there is no buffer */
    char *at;
    size_t bytes;
    char *before, *expected;
} buffer;

/* Of random bytes. Filled further through `at`, then settled: `before` and `expected` become what it holds. */
buffer buffer_make(size_t bytes, uint64_t random);
void buffer_settle(buffer *b);
/* Holds what it held before. */
void buffer_restore(const buffer *b);
/* Is what lies before it untouched? */
int buffer_is_intact(const buffer *b);
void buffer_free(buffer *b);

#endif
