/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Keys of real text: a hash of each line.
 */
#ifndef RADIXSORT_KEYS_H
#define RADIXSORT_KEYS_H

#include <stddef.h>
#include <stdint.h>

typedef struct key_list {
    uint64_t *key;
    size_t count, room;
} key_list;

/* The keys of every `of`-th file from the `nth` on, of those named and of the .gz files below the directories named;
 * files may be compressed. Says on stderr which file could not be read, and goes on. Returns how many could not, or -1
 * without memory. The caller frees key. */
int keys_read(key_list *k, char *const *paths, int count, int nth, int of);

#endif
