/* SPDX-License-Identifier: BSD-3-Clause
 * See lone.h. */
#include "lone.h"

#include <sched.h>

#include "crew.h"

static void *move_agent(void *user)
{
    lone *l = user;
    while (!atomic_load(&l->is_over))
        if (!nbcoll_agent_progress(l->agent))
            sched_yield();
    return NULL;
}

void lone_open(lone *l, int rank, int ranks)
{
    nbcoll_loopback_config config = {.size = sizeof config, .ranks = ranks, .pairs = nbcoll_loopback_pairs()};
    nbcoll_agent_config agent = {.size = sizeof agent};
    atomic_store(&l->is_over, 0);
    CHECK_STATUS(NBCOLL_OK, nbcoll_loopback_create(&config, &l->world));
    CHECK_STATUS(NBCOLL_OK, nbcoll_loopback_open(l->world, rank, &l->end));
    CHECK_STATUS(NBCOLL_OK, nbcoll_agent_open(l->end, &agent, &l->agent));
    CHECK(pthread_create(&l->thread, NULL, move_agent, l) == 0);
}

void lone_close(lone *l)
{
    atomic_store(&l->is_over, 1);
    pthread_join(l->thread, NULL);
    CHECK_STATUS(NBCOLL_OK, nbcoll_agent_close(l->agent));
    nbcoll_endpoint_close(l->end);
    CHECK_STATUS(NBCOLL_OK, nbcoll_loopback_free(l->world));
}
