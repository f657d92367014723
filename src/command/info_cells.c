/* SPDX-License-Identifier: BSD-3-Clause
 * What the cells of communicators take of shared memory, by the number of ranks, and their schedules of other memory;
 * and what the transports' ends say that messages cost. */
#include "info.h"
#include "rules.h"

#include <nbcoll/loopback.h>

#ifdef NBCOLL_WITH_SHM
#include <nbcoll/shm.h>
#endif

json_t *info_cells(void)
{
    json_t *all = json_array();
#ifdef NBCOLL_WITH_SHM
    for (int ranks = 2; ranks <= NBCOLL_SHM_RANKS; ranks *= 2) {
        json_int_t bytes = (json_int_t)nbcoll_cells_bytes(NULL, ranks), quota = (json_int_t)nbcoll_shm_quota(ranks);
        json_array_append_new(all, json_pack("{s:i, s:I, s:I, s:I}", "ranks", ranks, "bytes", bytes, "quota", quota,
                                             "communicators", quota / bytes));
    }
#endif
    return all;
}

/* As a communicator says it that is made with the defaults; 0: none could be made. */
json_t *info_schedules(void)
{
    nbcoll_loopback_config loopback = {.size = sizeof loopback, .ranks = 1};
    nbcoll_context_config config = {.size = sizeof config};
    nbcoll_schedules is = {.size = sizeof is};
    nbcoll_loopback *world = NULL;
    nbcoll_endpoint *end = NULL;
    nbcoll_context *context = NULL;
    nbcoll_comm *comm;
    if (nbcoll_context_create(NBCOLL_ABI, &config, &context) == NBCOLL_OK &&
        nbcoll_loopback_create(&loopback, &world) == NBCOLL_OK && nbcoll_loopback_open(world, 0, &end) == NBCOLL_OK &&
        nbcoll_comm_create(context, end, NULL, &comm, NBCOLL_FOREVER) == NBCOLL_OK) {
        end = NULL; /* the context's */
        nbcoll_comm_schedules(comm, &is);
    }
    nbcoll_endpoint_close(end);
    if (context)
        nbcoll_context_free(context);
    if (world)
        nbcoll_loopback_free(world);
    return json_pack("{s:I}", "most", (json_int_t)is.most);
}

static void add_end(json_t *all, nbcoll_endpoint *end)
{
    json_t *one = json_pack("{s:s, s:I}", "transport", end->transport->name, "payload",
                            (json_int_t)end->limits.payload);
    json_object_update_new(one, command_level_object(&end->limits.price));
    json_array_append_new(all, one);
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
