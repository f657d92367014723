/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks as threads on loopback; or, under `nbcoll run`, this process as one of them, over shared memory.
 */
#include "ranks.h"
#include "options.h"

#include <nbcoll/driver.h>
#include <nbcoll/launch.h>
#include <nbcoll/loopback.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define JOIN_TIMEOUT (UINT64_C(60) * 1000000000) /* nanoseconds that the ranks have to find each other */

typedef struct member {
    nbcoll_loopback *world;
    int rank;
    bool driven;
    rank_main *body;
    const void *user;
    int result;
    pthread_t thread;
} member;

void must(nbcoll_status status, const char *what)
{
    if (status != NBCOLL_OK)
        fatal(what, nbcoll_status_text(status));
}

/* The life of a rank, whatever its endpoint is made of. */
static int live(nbcoll_endpoint *endpoint, bool driven, rank_main *body, const void *user)
{
    nbcoll_context_config config = {.size = sizeof config,
                                    .flags = driven ? NBCOLL_ANY_THREAD : 0,
                                    .observer = nbcoll_launch_observer(),
                                    .watcher = nbcoll_launch_watcher()};
    nbcoll_context *context = NULL;
    nbcoll_comm *comm = NULL;
    nbcoll_driver *driver = NULL;
    must(nbcoll_context_create(NBCOLL_ABI, &config, &context), "context");
    must(nbcoll_comm_create(context, endpoint, NULL, &comm, JOIN_TIMEOUT), "communicator");
    if (driven) {
        must(nbcoll_driver_create(NULL, &driver), "driver");
        must(nbcoll_driver_add(driver, context), "driver");
        must(nbcoll_driver_start(driver), "driver");
    }
    int result = body(context, comm, user);
    must(nbcoll_driver_free(driver), "driver");
    nbcoll_status status;
    while ((status = nbcoll_context_free(context)) == NBCOLL_ERR_BUSY) /* the last messages are on their way */
        must(nbcoll_progress(context), "end");
    must(status, "end");
    return result;
}

static void *run(void *argument)
{
    member *m = argument;
    nbcoll_endpoint *endpoint = NULL;
    must(nbcoll_loopback_open(m->world, m->rank, &endpoint), "endpoint");
    m->result = live(endpoint, m->driven, m->body, m->user);
    return NULL;
}

static int run_threads(int count, bool driven, rank_main *body, const void *user)
{
    nbcoll_loopback *world = NULL;
    nbcoll_loopback_config config = {.size = sizeof config, .ranks = count};
    must(nbcoll_loopback_create(&config, &world), "loopback");
    member *all = calloc((size_t)count, sizeof *all);
    if (!all)
        fatal("ranks", "no memory");
    for (int i = count - 1; i >= 0; i--) {
        all[i] = (member){.world = world, .rank = i, .driven = driven, .body = body, .user = user};
        int error = i > 0 ? pthread_create(&all[i].thread, NULL, run, &all[i]) : 0;
        if (error)
            fatal("thread", strerror(error));
    }
    run(&all[0]);
    for (int i = 1; i < count; i++)
        pthread_join(all[i].thread, NULL);
    int result = all[0].result;
    free(all);
    must(nbcoll_loopback_free(world), "loopback");
    return result;
}

bool ranks_are_launched(void)
{
    nbcoll_shm_config config = {.size = sizeof config};
    return nbcoll_launch_read(&config) != NBCOLL_ERR_LAUNCH;
}

int ranks_run(int count, bool driven, rank_main *body, const void *user)
{
    nbcoll_endpoint *endpoint = NULL;
    if (!ranks_are_launched())
        return run_threads(count, driven, body, user);
    must(nbcoll_launch_open(&endpoint), "endpoint");
    return live(endpoint, driven, body, user);
}
