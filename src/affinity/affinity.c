/* SPDX-License-Identifier: BSD-3-Clause
 * Places for ranks and drivers. hwloc knows the machine; here its cores are numbered 0..C-1 in its order, and dealt. */
#include <errno.h>
#include <hwloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../host/host.h"
#include "nbcoll/affinity.h"

/* A core that may be used, or a processor of the host's list. */
typedef struct affinity_core {
    hwloc_obj_t object;
    int processor;
    int ranks, drivers; /* so many are here */
} affinity_core;

/* What the caller gets, and what it takes to free it. */
typedef struct affinity_result {
    nbcoll_affinity shown; /* first: what the caller frees */
    nbcoll_host host;
    size_t bytes;
    int *domain; /* [levels][ranks], behind the places */
    nbcoll_rank_place place[];
} affinity_result;

enum { AFFINITY_LEVELS = NBCOLL_NEAR_PACKAGE - NBCOLL_NEAR_L2 + 1 };

typedef struct affinity_search {
    const nbcoll_affinity_config *config;
    nbcoll_host host;
    hwloc_topology_t topology;
    hwloc_bitmap_t within;
    affinity_core *core, *idle; /* [cores]; [idles], those that drivers may have */
    int cores, idles;
    size_t core_room, idle_room;
    affinity_result *result;
} affinity_search;

NBCOLLI_TELLS(nbcoll_affinity_near_name, nbcoll_near, NBCOLL_NEAR_LIST, NBCOLLI_TEXT_OF, "?")

/* ---- the machine ----------------------------------------------------------------------------------------------- */

/* The object that stands for a processor's core: a machine need not have any that it calls so. */
static hwloc_obj_t affinity_core_of(hwloc_obj_t processor)
{
    for (hwloc_obj_t up = processor; up; up = up->parent)
        if (up->type == HWLOC_OBJ_CORE)
            return up;
    return processor;
}

/* 0, or why the system does not say on which processors this thread may run: hwloc would ask it for ever, each time
 * with room for twice as many. */
static int affinity_error(void)
{
    unsigned long any[2048]; /* room for more processors than a kernel is built for */
    return syscall(SYS_sched_getaffinity, 0, sizeof any, any) < 0 ? errno : 0;
}

static nbcoll_status affinity_read(affinity_search *s)
{
    int error = affinity_error();
    s->topology = s->config->topology;
    s->within = hwloc_bitmap_alloc();
    if (!s->within)
        return NBCOLL_ERR_MEMORY;
    if (!s->topology && error)
        return nbcolli_log(&s->host, NBCOLL_ERR_UNSUPPORTED, "sched_getaffinity is refused: %s", strerror(error));
    if (!s->topology && (hwloc_topology_init(&s->topology) < 0 || hwloc_topology_load(s->topology) < 0))
        return nbcolli_log(&s->host, NBCOLL_ERR_UNSUPPORTED, "hwloc cannot read this machine");
    hwloc_const_bitmap_t all = hwloc_topology_get_allowed_cpuset(s->topology);
    int is_read = hwloc_topology_is_thissystem(s->topology) && !s->config->within && !error &&
                  hwloc_get_cpubind(s->topology, s->within, HWLOC_CPUBIND_THREAD) == 0;
    if (!is_read)
        hwloc_bitmap_copy(s->within, all);
    if (s->config->within)
        hwloc_bitmap_zero(s->within);
    for (size_t i = 0; s->config->within && i < s->config->within_count; i++) {
        int processor = s->config->within[i];
        if (processor < 0 || !hwloc_bitmap_isset(all, (unsigned)processor))
            return nbcolli_log(&s->host, NBCOLL_ERR_ARGUMENT, "within: there is no processor %d, or it may not be used",
                                    processor);
        hwloc_bitmap_set(s->within, (unsigned)processor);
    }
    hwloc_bitmap_and(s->within, s->within, all);
    return NBCOLL_OK;
}

static nbcoll_status affinity_list_cores(affinity_search *s)
{
    hwloc_obj_t processor = NULL, last = NULL;
    s->core_room = (size_t)hwloc_get_nbobjs_by_type(s->topology, HWLOC_OBJ_PU) * sizeof *s->core;
    s->core = nbcolli_alloc(&s->host, s->core_room, _Alignof(affinity_core));
    if (!s->core)
        return NBCOLL_ERR_MEMORY;
    while ((processor = hwloc_get_next_obj_by_type(s->topology, HWLOC_OBJ_PU, processor))) {
        hwloc_obj_t core = affinity_core_of(processor);
        if (core == last || !hwloc_bitmap_isset(s->within, processor->os_index))
            continue;
        last = core;
        s->core[s->cores++] = (affinity_core){.object = core, .processor = (int)processor->os_index};
    }
    return s->cores ? NBCOLL_OK : nbcolli_log(&s->host, NBCOLL_ERR_ARGUMENT, "there is no processor that may be used");
}

/* The object of a processor's core; null: there is no such processor, or it may not be used. */
static hwloc_obj_t affinity_find_core(const affinity_search *s, int processor)
{
    hwloc_obj_t object = processor < 0 ? NULL : hwloc_get_pu_obj_by_os_index(s->topology, (unsigned)processor);
    return object && hwloc_bitmap_isset(s->within, (unsigned)processor) ? affinity_core_of(object) : NULL;
}

static nbcoll_near affinity_near(const affinity_search *s, hwloc_obj_t a, hwloc_obj_t b)
{
    if (a == b)
        return NBCOLL_NEAR_CORE;
    hwloc_obj_t both = hwloc_get_common_ancestor_obj(s->topology, a, b);
    for (hwloc_obj_t up = both; up; up = up->parent)
        if (up->type == HWLOC_OBJ_L3CACHE || up->type == HWLOC_OBJ_L2CACHE)
            return up->type == HWLOC_OBJ_L2CACHE ? NBCOLL_NEAR_L2 : NBCOLL_NEAR_L3;
    if (hwloc_bitmap_isequal(a->nodeset, b->nodeset))
        return NBCOLL_NEAR_NUMA;
    for (hwloc_obj_t up = both; up; up = up->parent)
        if (up->type == HWLOC_OBJ_PACKAGE)
            return NBCOLL_NEAR_PACKAGE;
    return NBCOLL_NEAR_MACHINE;
}

/* ---- dealing --------------------------------------------------------------------------------------------------- */

static nbcoll_status affinity_put_ranks(affinity_search *s)
{
    int ranks = s->config->ranks;
    for (int rank = 0; rank < ranks; rank++) {
        int at = ranks < s->cores ? (int)((int64_t)rank * s->cores / ranks) : rank % s->cores;
        nbcoll_rank_place *place = &s->result->place[rank];
        *place = (nbcoll_rank_place){.rank = s->core[at].processor, .driver = -1};
        if (s->config->ranks_on) {
            place->rank = s->config->ranks_on[rank];
            hwloc_obj_t core = affinity_find_core(s, place->rank);
            if (!core)
                return nbcolli_log(&s->host, NBCOLL_ERR_ARGUMENT, "rank %d: there is no processor %d, or it may not be "
                                        "used", rank, place->rank);
            for (at = 0; s->core[at].object != core;)
                at++;
        }
        s->core[at].ranks++;
    }
    return NBCOLL_OK;
}

/* The host's list, or the cores without a rank. */
static nbcoll_status affinity_list_idle(affinity_search *s)
{
    size_t most = s->config->drivers_on ? s->config->drivers_count : (size_t)s->cores;
    s->idle_room = (most + 1) * sizeof *s->idle;
    s->idle = nbcolli_alloc(&s->host, s->idle_room, _Alignof(affinity_core));
    if (!s->idle)
        return NBCOLL_ERR_MEMORY;
    for (size_t i = 0; i < most; i++) {
        affinity_core idle = {.processor = -1};
        if (s->config->drivers_on) {
            idle.processor = s->config->drivers_on[i];
            idle.object = affinity_find_core(s, idle.processor);
            if (!idle.object)
                return nbcolli_log(&s->host, NBCOLL_ERR_ARGUMENT, "drivers: there is no processor %d, or it may not be "
                                        "used", idle.processor);
        } else if (s->core[i].ranks == 0)
            idle = s->core[i];
        if (idle.processor >= 0)
            s->idle[s->idles++] = idle;
    }
    return NBCOLL_OK;
}

/* Gives drivers cores, those first whose nearest ones are nearest. A core takes `even` drivers; so many of them as make
 * up the rest take one more. */
static void affinity_deal(affinity_search *s)
{
    int ranks = s->config->ranks, even = ranks / s->idles, more = ranks % s->idles;
    for (int near = NBCOLL_NEAR_CORE; near <= NBCOLL_NEAR_MACHINE; near++)
        for (int rank = 0; rank < ranks; rank++) {
            nbcoll_rank_place *place = &s->result->place[rank];
            hwloc_obj_t core = affinity_find_core(s, place->rank);
            affinity_core *best = NULL;
            for (int i = 0; place->driver < 0 && i < s->idles; i++) {
                affinity_core *idle = &s->idle[i];
                int has_room = idle->drivers < even || (idle->drivers == even && more > 0);
                if (has_room && affinity_near(s, core, idle->object) == (nbcoll_near)near &&
                    (!best || idle->drivers < best->drivers))
                    best = idle;
            }
            if (!best)
                continue;
            more -= best->drivers++ == even;
            place->driver = best->processor;
            place->near = (nbcoll_near)near;
        }
}

/* What a core has of a level; null: nothing. Its memory has an object beside the tree: the nodeset stands for it. */
static hwloc_obj_t affinity_above(hwloc_obj_t core, nbcoll_near level)
{
    hwloc_obj_type_t type = level == NBCOLL_NEAR_L2   ? HWLOC_OBJ_L2CACHE
                            : level == NBCOLL_NEAR_L3 ? HWLOC_OBJ_L3CACHE
                                                      : HWLOC_OBJ_PACKAGE;
    for (hwloc_obj_t up = core; up; up = up->parent)
        if (up->type == type)
            return up;
    return NULL;
}

static int affinity_is_beside(hwloc_obj_t a, hwloc_obj_t b, nbcoll_near level)
{
    if (a == b)
        return 1;
    if (level == NBCOLL_NEAR_NUMA)
        return hwloc_bitmap_isequal(a->nodeset, b->nodeset);
    return affinity_above(a, level) && affinity_above(a, level) == affinity_above(b, level);
}

/* Where no core has a level, all are in one domain. */
static void affinity_list_domains(affinity_search *s)
{
    int ranks = s->config->ranks;
    for (int level = 0; level < AFFINITY_LEVELS; level++) {
        int *domain = s->result->domain + (size_t)level * (size_t)ranks, domains = 0, has_any = 0;
        nbcoll_near near = (nbcoll_near)(NBCOLL_NEAR_L2 + level);
        for (int rank = 0; rank < ranks; rank++) {
            hwloc_obj_t core = affinity_find_core(s, s->result->place[rank].rank);
            int first = 0;
            while (first < rank && !affinity_is_beside(core, affinity_find_core(s, s->result->place[first].rank), near))
                first++;
            domain[rank] = first < rank ? domain[first] : domains++;
            has_any |= near == NBCOLL_NEAR_NUMA || affinity_above(core, near);
        }
        for (int rank = 0; rank < ranks && !has_any; rank++)
            domain[rank] = 0;
    }
}

static void affinity_tell(affinity_search *s)
{
    nbcoll_affinity *shown = &s->result->shown;
    int ranks = s->config->ranks, even = s->idles ? ranks / s->idles : 0, more = s->idles ? ranks % s->idles : 0;
    char each[48] = "";
    *shown = (nbcoll_affinity){.place = s->result->place, .ranks = ranks, .cores = s->cores, .idle = s->idles};
    snprintf(each, sizeof each, more ? "%d or %d on each" : "%d on each", even, even + 1);
    if (!s->idles)
        snprintf(shown->why, sizeof shown->why, "%d ranks on %d cores: no core to spare, drivers run where their ranks "
                 "do", ranks, s->cores);
    else
        snprintf(shown->why, sizeof shown->why, "%d ranks on %d cores: %d %s for drivers, %s", ranks, s->cores,
                 s->idles, s->config->drivers_on ? "named by the host" : "idle", each);
}

/* ---- the calls ------------------------------------------------------------------------------------------------- */

static nbcoll_status affinity_search_all(affinity_search *s)
{
    size_t ranks = (size_t)s->config->ranks;
    size_t bytes = sizeof *s->result + ranks * (sizeof *s->result->place + AFFINITY_LEVELS * sizeof(int));
    s->result = nbcolli_alloc(&s->host, bytes, _Alignof(affinity_result));
    if (!s->result)
        return NBCOLL_ERR_MEMORY;
    s->result->host = s->host;
    s->result->bytes = bytes;
    s->result->domain = (int *)(void *)(s->result->place + ranks);
    nbcoll_status status = affinity_read(s);
    if (status == NBCOLL_OK)
        status = affinity_list_cores(s);
    if (status == NBCOLL_OK)
        status = affinity_put_ranks(s);
    if (status == NBCOLL_OK)
        status = affinity_list_idle(s);
    if (status == NBCOLL_OK && s->idles)
        affinity_deal(s);
    if (status == NBCOLL_OK) {
        affinity_list_domains(s);
        affinity_tell(s);
    }
    return status;
}

nbcoll_status nbcoll_affinity_find(const nbcoll_host *host, const nbcoll_affinity_config *config,
                                    nbcoll_affinity **out)
{
    nbcoll_affinity_config whole = {0};
    affinity_search s = {.config = &whole};

    if (!config || !out)
        return NBCOLL_ERR_NULL;
    if (nbcolli_copy_tagged(&whole, config, sizeof whole) != NBCOLL_OK ||
        (host && nbcolli_copy_tagged(&s.host, host, sizeof s.host) != NBCOLL_OK))
        return NBCOLL_ERR_CONFIG;
    if (whole.ranks < 1)
        return NBCOLL_ERR_RANK;
    nbcoll_status status = affinity_search_all(&s);
    nbcolli_free(&s.host, s.core, s.core_room);
    nbcolli_free(&s.host, s.idle, s.idle_room);
    hwloc_bitmap_free(s.within);
    if (s.topology && !whole.topology)
        hwloc_topology_destroy(s.topology);
    if (status == NBCOLL_OK)
        *out = &s.result->shown;
    else if (s.result)
        nbcoll_affinity_free(&s.result->shown);
    return status;
}

nbcoll_status nbcoll_affinity_domains(const nbcoll_affinity *affinity, nbcoll_near level, int domain[])
{
    const affinity_result *result = (const affinity_result *)(const void *)affinity;

    if (!affinity || !domain)
        return NBCOLL_ERR_NULL;
    if (level < NBCOLL_NEAR_L2 || level > NBCOLL_NEAR_PACKAGE)
        return NBCOLL_ERR_ARGUMENT;
    size_t ranks = (size_t)affinity->ranks;
    memcpy(domain, result->domain + (size_t)(level - NBCOLL_NEAR_L2) * ranks, ranks * sizeof *domain);
    return NBCOLL_OK;
}

void nbcoll_affinity_free(nbcoll_affinity *affinity)
{
    affinity_result *result = (affinity_result *)(void *)affinity;

    if (!result)
        return;
    nbcoll_host host = result->host;
    nbcolli_free(&host, result, result->bytes);
}
