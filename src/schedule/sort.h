/* SPDX-License-Identifier: BSD-3-Clause
 * Sorting by a pair of numbers: edges by step and step, messages by peer and number. (src/schedule) */
#ifndef NBCOLL_INLINE_SORT_H
#define NBCOLL_INLINE_SORT_H

#include <stddef.h>
#include <stdint.h>

typedef struct nbcolli_entry {
    uint64_t key;
    uint32_t value;
} nbcolli_entry;

static inline uint64_t nbcolli_key(uint32_t high, uint32_t low)
{
    return (uint64_t)high << 32 | low;
}

/* Sorts by key. `spare` is as large as `entries`. */
void nbcolli_sort(nbcolli_entry *entries, nbcolli_entry *spare, size_t n);

#endif
