/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The files to read: those named, and the .gz files below the directories named.
 */
#ifndef LINESCAN_LIST_H
#define LINESCAN_LIST_H

#include <stddef.h>
#include <stdint.h>

typedef struct listed {
    char *path;
    uint64_t bytes; /* as stored */
} listed;

typedef struct list {
    listed *file;
    size_t count, room;
    uint64_t bytes; /* of all of them */
    size_t skipped; /* paths named that are no file or directory, and directories that could not be read */
} list;

/* The paths in the order given; the files of one directory sorted by path, bytewise. What must be skipped is said on
 * stderr. */
list list_files(char *const *paths, int count);
void list_free(list *l);

#endif
