/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of `nbcoll info` share.
 */
#ifndef INFO_H
#define INFO_H

#include <jansson.h>

#include <nbcoll/nbcoll.h>

/* How large data moves over shared memory on this machine: an object with the members "threads", "processes" and
 * "mem_alloc" (from memory of nbcoll_mem_alloc), empty in a build without shm. Each is an object of a "path" (null
 * where none could be found) and a "why", which says why it is not a better one and is empty if there is none. */
json_t *info_paths(void);

/* What the cells of communicators take of shared memory: an array, empty in a build without shm, of objects with the
 * members "ranks", "bytes" (of each rank's memory, for a communicator with the default configuration), "quota" (of a
 * rank, by default) and "communicators" (whose cells that has room for). */
json_t *info_cells(void);

/* What a communicator keeps of schedules, by default: an object with the member "most", bytes. */
json_t *info_schedules(void);

/* Where so many ranks and the drivers of their progress would run: an object with the members "ranks", "cores",
 * "idle", "why" and "places", an array of objects with "rank", "driver" (processors; -1: none) and "share" (what they
 * share). Or one with "why" alone. */
json_t *info_places(int ranks);

/* The machine, as hwloc sees it: an object with "packages", "memories" (NUMA nodes), "cores", "processors", and
 * "caches", an array of objects with "level", "count", "bytes" and "processors" (that share one). Empty in a build
 * without hwloc; with "why" alone where the system refuses what hwloc needs. */
json_t *info_machine(void);

/* Where --bind core, scatter and l3 put so many ranks: of each a list, empty where it is not known, of processors. */
json_t *info_bindings(int ranks);

/* What ends of shm and loopback, of one rank, name as prices: an array of objects with "transport", "payload" and
 * members named as in nbcoll_limits. */
json_t *info_prices(void);

/* What ideas.awk finds in the source of an algorithm. The list ends with a null name. */
typedef struct info_idea {
    const char *operation, *name, *idea, *source;
} info_idea;
extern const info_idea info_ideas[];

/* Prints the catalogue. Errors: those of nbcoll_simulate and nbcoll_select. */
nbcoll_status info_algorithms(void);

#endif
