/* SPDX-License-Identifier: BSD-3-Clause
 * The machine, as hwloc sees it; where --bind would put ranks there; and where these and the drivers of their progress
 * would run, scattered. */
#include <stdio.h>

#ifdef NBCOLL_HAVE_AFFINITY
#include <nbcoll/affinity.h>
#endif
#ifdef NBCOLL_HAVE_HWLOC
#include <hwloc.h>
#endif

#include "info.h"
#include "run.h"

#ifdef NBCOLL_HAVE_HWLOC
static json_t *caches_of(hwloc_topology_t topology)
{
    json_t *all = json_array();
    for (int level = 1; level <= 4; level++) {
        hwloc_obj_type_t kind = (hwloc_obj_type_t)(HWLOC_OBJ_L1CACHE + level - 1);
        hwloc_obj_t first = hwloc_get_obj_by_type(topology, kind, 0);
        if (first)
            json_array_append_new(all, json_pack("{s:i, s:i, s:I, s:i}", "level", level, "count",
                                                 hwloc_get_nbobjs_by_type(topology, kind), "bytes",
                                                 (json_int_t)first->attr->cache.size, "processors",
                                                 hwloc_bitmap_weight(first->cpuset)));
    }
    return all;
}
#endif

json_t *info_machine(void)
{
#ifdef NBCOLL_HAVE_HWLOC
    hwloc_topology_t topology;
    json_t *all = NULL;
    if (run_bind_error())
        return json_pack("{s:s}", "why", "sched_getaffinity is refused, without which hwloc finds nothing");
    if (hwloc_topology_init(&topology) < 0)
        return json_object();
    if (hwloc_topology_load(topology) == 0)
        all = json_pack("{s:i, s:i, s:i, s:i, s:o}", "packages",
                        hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE), "memories",
                        hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE), "cores",
                        hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE), "processors",
                        hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU), "caches", caches_of(topology));
    hwloc_topology_destroy(topology);
    return all ? all : json_object();
#else
    return json_object();
#endif
}

json_t *info_bindings(int ranks)
{
    static const char *const ways[] = {"core", "scatter", "l3"};
    json_t *all = json_object();
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        run_binding *binding;
        json_t *places = json_array();
        char text[128];
        run_bind_find(NULL, ways[i], ranks, &binding);
        for (int rank = 0; rank < ranks && binding; rank++)
            json_array_append_new(places, json_string(run_bind_text(binding, rank, text, sizeof text)));
        run_bind_free(binding);
        json_object_set_new(all, ways[i], places);
    }
    return all;
}

/* ---- ranks and drivers --------------------------------------------------------------------------------------- */

#ifdef NBCOLL_HAVE_AFFINITY
#define INFO_REASON 160

/* Keeps the reason that is told beside a status. */
static void keep(void *user, nbcoll_status why, const char *text)
{
    (void)why;
    snprintf(user, INFO_REASON, "%s", text);
}
#endif

json_t *info_places(int ranks)
{
#ifdef NBCOLL_HAVE_AFFINITY
    char reason[INFO_REASON] = "";
    const nbcoll_host host = {.size = sizeof host, .user = reason, .log = keep};
    nbcoll_affinity_config config = {.size = sizeof config, .ranks = ranks};
    nbcoll_affinity *found;
    nbcoll_status status = nbcoll_affinity_find(&host, &config, &found);
    if (status != NBCOLL_OK)
        return json_pack("{s:s}", "why", *reason ? reason : nbcoll_status_text(status));
    json_t *places = json_array();
    for (int i = 0; i < ranks; i++)
        json_array_append_new(places, json_pack("{s:i, s:i, s:s}", "rank", found->place[i].rank, "driver",
                                                found->place[i].driver, "share",
                                                nbcoll_affinity_near_name(found->place[i].near)));
    json_t *all = json_pack("{s:i, s:i, s:i, s:s, s:o}", "ranks", ranks, "cores", found->cores, "idle", found->idle,
                            "why", found->why, "places", places);
    nbcoll_affinity_free(found);
    return all;
#else
    (void)ranks;
    return json_pack("{s:s}", "why", "this build is without nbcoll_affinity");
#endif
}
