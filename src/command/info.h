/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of `nbcoll info` share.
 */
#ifndef INFO_H
#define INFO_H

#include <jansson.h>

#include <nbcoll/nbcoll.h>

/* How large data moves over shared memory on this machine: an object with the members "threads", "processes" and
 * "mem_alloc" (from memory of nbcoll_mem_alloc). Each is an object of a "path" (null
 * where none could be found) and a "why", which says why it is not a better one and is empty if there is none. */
json_t *info_paths(void);

/* What ideas.awk finds in the source of an algorithm. The list ends with a null name. */
typedef struct info_idea {
    const char *operation, *name, *idea, *source;
} info_idea;
extern const info_idea info_ideas[];

/* Prints the catalogue. */
void info_algorithms(void);

#endif
