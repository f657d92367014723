/* SPDX-License-Identifier: BSD-3-Clause
 * Merge sort, in memory that the caller gives: the C library's qsort may allocate behind the host's back. */
#include "sort.h"

#include <string.h>

static void nbcolli_sort_merge(const nbcolli_entry *from, size_t low, size_t middle, size_t high, nbcolli_entry *to)
{
    size_t left = low, right = middle;
    for (size_t i = low; i < high; i++)
        to[i] = left < middle && (right == high || from[left].key <= from[right].key) ? from[left++] : from[right++];
}

void nbcolli_sort(nbcolli_entry *entries, nbcolli_entry *spare, size_t n)
{
    nbcolli_entry *from = entries, *to = spare;
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t low = 0; low < n; low += 2 * width) {
            size_t middle = n - low < width ? n : low + width;
            size_t high = n - low < 2 * width ? n : low + 2 * width;
            nbcolli_sort_merge(from, low, middle, high, to);
        }
        nbcolli_entry *other = from;
        from = to;
        to = other;
    }
    if (from != entries)
        memcpy(entries, from, n * sizeof *entries);
}
