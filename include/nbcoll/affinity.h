/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Affinity: on which cores of a machine ranks compute, and on which of the others the drivers of their progress run.
 *
 *     nbcoll_affinity_config config = {.size = sizeof config, .ranks = 6};
 *     nbcoll_affinity *affinity;
 *     nbcoll_affinity_find(NULL, &config, &affinity);
 *     ... rank i is bound to processor affinity->place[i].rank, its driver to affinity->place[i].driver ...
 *     nbcoll_affinity_free(affinity);
 *
 * Ranks are scattered: of C cores that may be used, rank i of N gets core i * C / N, in the order of the machine, in
 * which cores that share a cache are neighbours. The P cores without a rank are idle; each rank's driver gets one of
 * them, so that no core has more than one driver more than another has, the nearest one first: one that shares the L2
 * cache, the L3 cache, the NUMA node, the package. Without an idle core no driver gets one; `why` says so.
 *
 * Source: Denis, Jaeger, Jeannot, Perache, Taboada, "Dynamic placement of progress thread for overlapping MPI
 * non-blocking collectives on manycore processor" (2018), section 5, which scatters ranks and binds threads to the
 * closest idle cores.
 *
 * This part of nbcoll is optional: a library of its own that needs hwloc (pkg-config: nbcoll_affinity; CMake: the
 * component `affinity`, target nbcoll::affinity), or one more file, src/affinity/affinity.c, in a vendored copy.
 * The core knows nothing of it. A core is what hwloc calls one; processors are numbered as the operating system does,
 * and of a core with several, the first that may be used stands for it.
 */
#ifndef NBCOLL_AFFINITY_H
#define NBCOLL_AFFINITY_H

#include "nbcoll.h"

#ifdef NBCOLL_PREFIX /* not among the names of every copy */
#define nbcoll_affinity_domains NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcoll_affinity_domains)
#define nbcoll_affinity_find NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcoll_affinity_find)
#define nbcoll_affinity_free NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcoll_affinity_free)
#define nbcoll_affinity_near_name NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcoll_affinity_near_name)
#endif

NBCOLLI_BEGIN

typedef struct nbcoll_affinity_config {
    size_t size;
    int ranks;           /* of this machine */
    const int *ranks_on; /* [ranks], processors that they are on already; null: they are scattered */
    const int *within;   /* [within_count], the processors that may be used at all; null: those on which the calling
                            thread may run */
    size_t within_count;
    const int *drivers_on; /* [drivers_count], processors for drivers, in the place of idle cores; may be some that
                              ranks are on. null: idle cores */
    size_t drivers_count;
    void *topology; /* a loaded hwloc_topology_t, which stays the caller's; null: this machine's */
} nbcoll_affinity_config;

/* What a rank and its driver share, the nearest first. Append-only. */
#define NBCOLL_NEAR_LIST(X)                                                                                            \
    X(CORE, "the core")                                                                                                \
    X(L2, "the L2 cache")                                                                                              \
    X(L3, "the L3 cache")                                                                                              \
    X(NUMA, "the NUMA node")                                                                                           \
    X(PACKAGE, "the package")                                                                                          \
    X(MACHINE, "the machine")
typedef enum nbcoll_near {
#define NBCOLLI_NEAR_ENUM(name, text) NBCOLL_NEAR_##name,
    NBCOLL_NEAR_LIST(NBCOLLI_NEAR_ENUM)
#undef NBCOLLI_NEAR_ENUM
} nbcoll_near;

/* "the L3 cache". Never null; any value is accepted. Any thread. */
NBCOLL_API const char *nbcoll_affinity_near_name(nbcoll_near near);

typedef struct nbcoll_rank_place {
    int rank, driver; /* processors; driver -1: there is none for it, it runs where its rank does */
    nbcoll_near near; /* what the two share */
} nbcoll_rank_place;

typedef struct nbcoll_affinity {
    const nbcoll_rank_place *place; /* [ranks] */
    int ranks;
    int cores, idle; /* that may be used; and have no rank. With `drivers_on`: idle is their number */
    char why[192];   /* one sentence for people: "6 ranks on 8 cores: 2 idle cores for drivers, 3 on each" */
} nbcoll_affinity;

/* Finds places; binds nothing. `host`, for memory and for words on what is wrong (`log`), is copied and may be null.
 * Any thread, while no other changes `topology`. Errors: ERR_NULL (config, out), ERR_CONFIG
 * (size), ERR_RANK (ranks < 1), ERR_ARGUMENT (a processor in a list that is not there, or may not be used; the machine
 * has none), ERR_MEMORY, ERR_UNSUPPORTED (hwloc cannot read the machine; or the system refuses sched_getaffinity,
 * without which hwloc never returns: with a `topology` all processors that it allows are then taken). */
NBCOLL_API nbcoll_status nbcoll_affinity_find(const nbcoll_host *host, const nbcoll_affinity_config *config,
                                               nbcoll_affinity **out);

/* Which ranks are near each other: domain[i], with room for all ranks, becomes the number of what rank i's core shares
 * with others at this level, from L2 to PACKAGE; domains are numbered from 0 by their first ranks. A rank whose core
 * has none is in one of its own, or, where no core has it, all are in one.
 *
 * Each machine numbers the domains of its own ranks. A communicator, also of several machines, gets 1 + domain[i] as
 * nbcoll_comm_config.domain of rank i; its algorithms by domains then follow caches or memory.
 * nbcoll_nodes_make_with_domains makes of all domains the table for builders and for the simulator. Any thread. Errors:
 * ERR_NULL, ERR_ARGUMENT (another level). */
NBCOLL_API nbcoll_status nbcoll_affinity_domains(const nbcoll_affinity *affinity, nbcoll_near level, int domain[]);

/* Null is accepted. */
NBCOLL_API void nbcoll_affinity_free(nbcoll_affinity *affinity);

NBCOLLI_END
#endif
