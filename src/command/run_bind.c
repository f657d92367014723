/* SPDX-License-Identifier: BSD-3-Clause
 * Places for ranks: the cores, one after the other or scattered, or the groups of cores that share an L3 cache, as far
 * as this process may use them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef NBCOLL_HAVE_HWLOC
#include <hwloc.h>
#endif
#ifdef NBCOLL_HAVE_AFFINITY
#include <nbcoll/affinity.h>
#endif

#include "run.h"

struct run_binding {
    int places;
    char why[512]; /* what was chosen for ranks that are scattered */
#ifdef NBCOLL_HAVE_HWLOC
    hwloc_topology_t topology;
    hwloc_bitmap_t *place;
#endif
};

int run_bind_error(void)
{
    unsigned long any[2048]; /* room for more processors than a kernel is built for */
    return syscall(SYS_sched_getaffinity, 0, sizeof any, any) < 0 ? errno : 0;
}

#ifdef NBCOLL_HAVE_HWLOC
static const char lacks[] = "nbcoll_affinity";

/* One place for each object of a kind, with those of its processors that are allowed. */
static int list_places(run_binding *b, hwloc_obj_type_t kind, hwloc_const_bitmap_t allowed)
{
    int objects = hwloc_get_nbobjs_by_type(b->topology, kind);
    b->place = objects > 0 ? calloc((size_t)objects, sizeof *b->place) : NULL;
    for (int i = 0; b->place && i < objects; i++) {
        hwloc_bitmap_t place = hwloc_bitmap_dup(hwloc_get_obj_by_type(b->topology, kind, (unsigned)i)->cpuset);
        if (!place)
            return ENOMEM;
        b->place[b->places++] = place;
        hwloc_bitmap_and(place, place, allowed);
        if (hwloc_bitmap_iszero(place))
            hwloc_bitmap_free(b->place[--b->places]);
    }
    return objects > 0 && !b->place ? ENOMEM : 0;
}

#ifdef NBCOLL_HAVE_AFFINITY
/* "2 ranks on 4 cores: 2 idle for drivers, 1 on each; ranks on processors 0,2, drivers on 1,3" */
static void explain(run_binding *b, const nbcoll_affinity *found)
{
    hwloc_bitmap_t ranks = hwloc_bitmap_alloc(), drivers = hwloc_bitmap_alloc();
    char on[128] = "", beside[128] = "";
    for (int i = 0; ranks && drivers && i < found->ranks; i++) {
        hwloc_bitmap_set(ranks, (unsigned)found->place[i].rank);
        if (found->place[i].driver >= 0)
            hwloc_bitmap_set(drivers, (unsigned)found->place[i].driver);
    }
    if (ranks && drivers) {
        hwloc_bitmap_list_snprintf(on, sizeof on, ranks);
        hwloc_bitmap_list_snprintf(beside, sizeof beside, drivers);
    }
    snprintf(b->why, sizeof b->why, "%s; ranks on processors %s%s%s", found->why, on, *beside ? ", drivers on " : "",
             beside);
    hwloc_bitmap_free(ranks);
    hwloc_bitmap_free(drivers);
}

/* One place for each rank, which is a processor; 0, or an errno. */
static int scatter(run_binding *b, int ranks)
{
    nbcoll_affinity_config config = {.size = sizeof config, .ranks = ranks, .topology = b->topology};
    nbcoll_affinity *found;
    nbcoll_status status = nbcoll_affinity_find(NULL, &config, &found);
    if (status != NBCOLL_OK)
        return status == NBCOLL_ERR_MEMORY ? ENOMEM : ENODEV;
    b->place = calloc((size_t)ranks, sizeof *b->place);
    for (int i = 0; b->place && i < ranks && (b->place[i] = hwloc_bitmap_alloc()); i++)
        hwloc_bitmap_only(b->place[b->places++], (unsigned)found->place[i].rank);
    explain(b, found);
    nbcoll_affinity_free(found);
    return b->places < ranks ? ENOMEM : 0;
}
#else
static int scatter(run_binding *b, int ranks)
{
    (void)b;
    (void)ranks;
    return ENOTSUP;
}
#endif

/* 0, or an errno. `where`: as in run_bind_find. */
static int find_places(run_binding *b, const char *where, int ranks)
{
    hwloc_obj_type_t kind = where && strcmp(where, "l3") == 0 ? HWLOC_OBJ_L3CACHE : HWLOC_OBJ_CORE;
    int refused = run_bind_error();
    if (refused)
        return refused;
    if (hwloc_topology_init(&b->topology) < 0)
        return ENOMEM;
    hwloc_bitmap_t allowed = hwloc_bitmap_alloc();
    int failed = !allowed || hwloc_topology_load(b->topology) < 0 ||
                 hwloc_get_cpubind(b->topology, allowed, HWLOC_CPUBIND_THREAD) < 0;
    int is_scattered = where && strcmp(where, "scatter") == 0;
    int error = failed ? errno : is_scattered ? scatter(b, ranks) : list_places(b, kind, allowed);
    hwloc_bitmap_free(allowed);
    return error;
}

#else
static const char lacks[] = "hwloc and knows only --bind none";

static int find_places(run_binding *b, const char *where, int ranks)
{
    (void)b, (void)where, (void)ranks;
    return ENOTSUP;
}
#endif

int run_bind_find(const command *self, const char *where, int ranks, run_binding **out)
{
    int is_l3 = where && strcmp(where, "l3") == 0;
    *out = NULL;
    if (where && strcmp(where, "none") == 0)
        return 0;

    run_binding *b = calloc(1, sizeof *b);
    int error = b ? find_places(b, where, ranks) : ENOMEM;
    if (!error && b->places >= (where ? 1 : ranks)) {
        *out = b;
        return 0;
    }
    run_bind_free(b);
    if (!where || !self)
        return 0;
    if (!error)
        return command_refuse(self, "--bind %s: no %s of this machine is known", where, is_l3 ? "L3 cache" : "core");
    if (error == ENOTSUP)
        return command_refuse(self, "--bind %s: this build is without %s", where, lacks);
    return command_fail(self, "--bind %s: %s%s", where, run_bind_error() ? "sched_getaffinity is refused: " : "",
                        strerror(error));
}

void run_bind_say(const command *self, const run_binding *b)
{
    if (b && *b->why)
        command_refuse(self, "--bind scatter: %s", b->why);
}

int run_bind_tell(const command *self, const char *where, int ranks)
{
    run_binding *binding = NULL;
    int status = where && strcmp(where, "scatter") == 0 ? run_bind_find(self, where, ranks, &binding) : 0;
    run_bind_say(self, binding);
    run_bind_free(binding);
    return status;
}

const char *run_bind_text(const run_binding *b, int rank, char *text, size_t room)
{
    (void)b, (void)rank, (void)room; /* without hwloc there is none */
#ifdef NBCOLL_HAVE_HWLOC
    hwloc_bitmap_list_snprintf(text, room, b->place[rank % b->places]);
#endif
    return text;
}

int run_bind_here(const run_binding *b, int rank)
{
    (void)b, (void)rank;
#ifdef NBCOLL_HAVE_HWLOC
    if (b && hwloc_set_cpubind(b->topology, b->place[rank % b->places], HWLOC_CPUBIND_THREAD) < 0)
        return errno;
#endif
    return 0;
}

void run_bind_free(run_binding *b)
{
#ifdef NBCOLL_HAVE_HWLOC
    for (int i = 0; b && i < b->places; i++)
        hwloc_bitmap_free(b->place[i]);
    if (b && b->topology)
        hwloc_topology_destroy(b->topology);
    if (b)
        free(b->place);
#endif
    free(b);
}
