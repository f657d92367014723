/* SPDX-License-Identifier: BSD-3-Clause
 * The machine, as hwloc sees it; where --bind would put ranks; and what the transports' ends say that messages cost. */
#ifdef NBCOLL_HAVE_HWLOC
#include <hwloc.h>
#endif

#include <nbcoll/loopback.h>
#ifdef NBCOLL_WITH_SHM
#include <nbcoll/shm.h>
#endif

#include "info.h"
#include "run.h"

#ifdef NBCOLL_HAVE_HWLOC

static void add_caches(hwloc_topology_t topology, json_t *caches)
{
    static const hwloc_obj_type_t kinds[] = {HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L3CACHE,
                                             HWLOC_OBJ_L4CACHE};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        hwloc_obj_t first = hwloc_get_obj_by_type(topology, kinds[i], 0);
        if (first)
            json_array_append_new(caches, json_pack("{s:i, s:i, s:I, s:i}", "level", (int)i + 1, "count",
                                                    hwloc_get_nbobjs_by_type(topology, kinds[i]), "bytes",
                                                    (json_int_t)first->attr->cache.size, "processors",
                                                    hwloc_bitmap_weight(first->cpuset)));
    }
}

json_t *info_machine(void)
{
    hwloc_topology_t topology;
    if (run_bind_error())
        return json_pack("{s:s}", "why", "sched_getaffinity is refused, without which hwloc finds nothing");
    if (hwloc_topology_init(&topology) < 0)
        return json_object();
    if (hwloc_topology_load(topology) < 0) {
        hwloc_topology_destroy(topology);
        return json_object();
    }
    json_t *caches = json_array();
    add_caches(topology, caches);
    json_t *all = json_pack("{s:i, s:i, s:i, s:i, s:o}", "packages",
                            hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE), "memories",
                            hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE), "cores",
                            hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE), "processors",
                            hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU), "caches", caches);
    hwloc_topology_destroy(topology);
    return all;
}

#else

json_t *info_machine(void)
{
    return json_object();
}

#endif

json_t *info_bindings(int ranks)
{
    static const char *const ways[] = {"core", "scatter", "l3"};
    json_t *all = json_object();
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        run_binding *binding;
        json_t *places = json_array();
        char text[128];
        if (run_bind_look(ways[i], ranks, &binding) == 0)
            for (int rank = 0; rank < ranks; rank++)
                json_array_append_new(places, json_string(run_bind_text(binding, rank, text, sizeof text)));
        run_bind_free(binding);
        json_object_set_new(all, ways[i], places);
    }
    return all;
}

/* ---- transports ------------------------------------------------------------------------------------------------ */

static void add_end(json_t *all, nbcoll_endpoint *end)
{
    const nbcoll_level *l = &end->limits.price;
    json_array_append_new(all, json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "transport", end->transport->name,
                                         "payload", (json_int_t)end->limits.payload,
                                         "alpha_ns", (json_int_t)l->alpha_ns, "overhead_ns",
                                         (json_int_t)l->overhead_ns, "beta_ps", (json_int_t)l->beta_ps, "gamma_ps",
                                         (json_int_t)l->gamma_ps, "eager_ps", (json_int_t)l->eager_ps, "get_ns",
                                         (json_int_t)l->get_ns));
    nbcoll_endpoint_close(end);
}

json_t *info_prices(void)
{
    json_t *all = json_array();
    nbcoll_endpoint *end;
#ifdef NBCOLL_WITH_SHM
    nbcoll_shm_config shm = {.size = sizeof shm, .ranks = 1};
    if (nbcoll_shm_id_make(&shm.id) == NBCOLL_OK && nbcoll_shm_open(&shm, &end) == NBCOLL_OK)
        add_end(all, end);
#endif
    nbcoll_loopback_config loopback = {.size = sizeof loopback, .ranks = 1};
    nbcoll_loopback *world;
    if (nbcoll_loopback_create(&loopback, &world) == NBCOLL_OK) {
        if (nbcoll_loopback_open(world, 0, &end) == NBCOLL_OK)
            add_end(all, end);
        nbcoll_loopback_free(world);
    }
    return all;
}
