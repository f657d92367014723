/* SPDX-License-Identifier: BSD-3-Clause
 * Places for ranks: the cores, one after the other or scattered, or the groups of cores that share an L3 cache, as far
 * as this process may use them. */
#include <hwloc.h>
#include <sys/syscall.h>

#include <nbcoll/affinity.h>

#include "run.h"

struct run_binding {
    hwloc_topology_t topology;  /* of what this process may use; its objects */
    hwloc_obj_type_t kind;      /* of this kind are the places, or, if ranks are scattered, */
    nbcoll_affinity *scattered; /* these processors */
};

int run_bind_error(void)
{
    unsigned long any[2048]; /* room for more processors than a kernel is built for */
    return syscall(SYS_sched_getaffinity, 0, sizeof any, any) < 0 ? errno : 0;
}

/* 0, or an errno. `where`: as in run_bind_find. */
static int find_places(run_binding *b, const char *where, int ranks)
{
    nbcoll_affinity_config config = {.size = sizeof config, .ranks = ranks};
    int refused = run_bind_error();
    if (refused)
        return refused;
    if (hwloc_topology_init(&b->topology) < 0)
        return ENOMEM;
    hwloc_bitmap_t allowed = hwloc_bitmap_alloc();
    int failed = !allowed || hwloc_topology_load(b->topology) < 0 ||
                 hwloc_get_cpubind(b->topology, allowed, HWLOC_CPUBIND_THREAD) < 0 ||
                 hwloc_topology_restrict(b->topology, allowed, 0) < 0;
    int error = failed ? errno : 0;
    hwloc_bitmap_free(allowed);
    b->kind = where && strcmp(where, "l3") == 0 ? HWLOC_OBJ_L3CACHE : HWLOC_OBJ_CORE;
    config.topology = b->topology;
    if (error || !where || strcmp(where, "scatter") != 0)
        return error;
    nbcoll_status status = nbcoll_affinity_find(NULL, &config, &b->scattered);
    return status == NBCOLL_OK ? 0 : status == NBCOLL_ERR_MEMORY ? ENOMEM : ENODEV;
}

static int places_of(const run_binding *b)
{
    return b->scattered ? b->scattered->ranks : hwloc_get_nbobjs_by_type(b->topology, b->kind);
}

static hwloc_const_bitmap_t place_of(const run_binding *b, int rank)
{
    int place = rank % places_of(b);
    if (b->scattered)
        return hwloc_get_pu_obj_by_os_index(b->topology, (unsigned)b->scattered->place[place].rank)->cpuset;
    return hwloc_get_obj_by_type(b->topology, b->kind, (unsigned)place)->cpuset;
}

run_binding *run_bind_find(const command *self, const char *where, int ranks)
{
    int is_l3 = where && strcmp(where, "l3") == 0;
    if (where && strcmp(where, "none") == 0)
        return NULL;
    run_binding *b = calloc(1, sizeof *b);
    int error = b ? find_places(b, where, ranks) : ENOMEM;
    if (!error && places_of(b) >= (where ? 1 : ranks))
        return b;
    run_bind_free(b);
    if (where && self && !error)
        command_refuse(self, "--bind %s: no %s of this machine is known", where, is_l3 ? "L3 cache" : "core");
    if (where && self)
        command_fail(self, "--bind %s: %s%s", where, run_bind_error() ? "sched_getaffinity is refused: " : "",
                     strerror(error));
    return NULL;
}

/* "2 ranks on 4 cores: 2 idle for drivers, 1 on each; ranks on processors 0,2, drivers on 1,3" */
void run_bind_say(const command *self, const run_binding *b)
{
    const nbcoll_affinity *found = b ? b->scattered : NULL;
    hwloc_bitmap_t ranks = hwloc_bitmap_alloc(), drivers = hwloc_bitmap_alloc();
    char on[128] = "", beside[128] = "";
    if (found && ranks && drivers) {
        for (int i = 0; i < found->ranks; i++) {
            hwloc_bitmap_set(ranks, (unsigned)found->place[i].rank);
            if (found->place[i].driver >= 0)
                hwloc_bitmap_set(drivers, (unsigned)found->place[i].driver);
        }
        hwloc_bitmap_list_snprintf(on, sizeof on, ranks);
        hwloc_bitmap_list_snprintf(beside, sizeof beside, drivers);
        command_say(self, "--bind scatter: %s; ranks on processors %s%s%s", found->why, on,
                    *beside ? ", drivers on " : "", beside);
    }
    hwloc_bitmap_free(ranks);
    hwloc_bitmap_free(drivers);
}

void run_bind_tell(const command *self, const char *where, int ranks)
{
    run_binding *binding = where && strcmp(where, "scatter") == 0 ? run_bind_find(self, where, ranks) : NULL;
    run_bind_say(self, binding);
    run_bind_free(binding);
}

const char *run_bind_text(const run_binding *b, int rank, char *text, size_t room)
{
    hwloc_bitmap_list_snprintf(text, room, place_of(b, rank));
    return text;
}

int run_bind_here(const run_binding *b, int rank)
{
    return b && hwloc_set_cpubind(b->topology, place_of(b, rank), HWLOC_CPUBIND_THREAD) < 0 ? errno : 0;
}

void run_bind_free(run_binding *b)
{
    if (b && b->topology)
        hwloc_topology_destroy(b->topology);
    if (b)
        nbcoll_affinity_free(b->scattered);
    free(b);
}
