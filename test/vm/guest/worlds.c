/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Worlds (world.h) over verbs: a test program that is linked with this has them in place of its loopbacks, in one
 * process, as the linker's --wrap has it. A loopback without bulk data, or that only puts, becomes verbs without that;
 * one of little room, one with two credits. What stepping a world a few times brings takes a device longer: a test's
 * steps are some milliseconds each.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <nbcoll/verbs.h>
#include "world.h"

enum { STEP_NS = 2000000 };

/* In place of nbcoll_loopback. */
typedef struct stand_in {
    int ranks;
    nbcoll_endpoint *endpoint[WORLD_MOST];
} stand_in;

static nbcoll_transport without[2];
static nbcoll_bulk only_puts;

static const nbcoll_transport *transport_of(const nbcoll_transport *verbs, uint32_t flags)
{
    int no_bulk = flags & NBCOLL_LOOPBACK_NO_BULK;

    if (!(flags & (NBCOLL_LOOPBACK_NO_BULK | NBCOLL_LOOPBACK_NO_GET)))
        return verbs;
    only_puts = *verbs->bulk;
    only_puts.get = NULL;
    without[!no_bulk] = *verbs;
    without[!no_bulk].bulk = no_bulk ? NULL : &only_puts;
    return &without[!no_bulk];
}

nbcoll_status __wrap_nbcoll_loopback_create(const nbcoll_loopback_config *config, nbcoll_loopback **out);
nbcoll_status __wrap_nbcoll_loopback_create(const nbcoll_loopback_config *config, nbcoll_loopback **out)
{
    nbcoll_verbs_address all[WORLD_MOST];
    stand_in *s = calloc(1, sizeof *s);
    nbcoll_status status = s ? NBCOLL_OK : NBCOLL_ERR_MEMORY;

    for (int r = 0; status == NBCOLL_OK && r < config->ranks; r++) {
        const nbcoll_verbs_config verbs = {.size = sizeof verbs,
                                           .rank = r,
                                           .ranks = config->ranks,
                                           .credits = config->depth ? 2 : 0,
                                           .payload = config->payload,
                                           .beside = r ? s->endpoint[0] : NULL};
        status = nbcoll_verbs_open(&verbs, &all[r], &s->endpoint[r]);
    }
    for (int r = 0; status == NBCOLL_OK && r < config->ranks; r++) {
        status = nbcoll_verbs_meet(s->endpoint[r], all);
        s->endpoint[r]->transport = transport_of(s->endpoint[r]->transport, config->flags);
    }
    if (status != NBCOLL_OK)
        fprintf(stderr, "no world over verbs: %s\n", nbcoll_status_text(status));
    *out = (nbcoll_loopback *)(void *)s;
    return status;
}

nbcoll_status __wrap_nbcoll_loopback_open(nbcoll_loopback *of, int rank, nbcoll_endpoint **out);
nbcoll_status __wrap_nbcoll_loopback_open(nbcoll_loopback *of, int rank, nbcoll_endpoint **out)
{
    *out = ((stand_in *)(void *)of)->endpoint[rank];
    return NBCOLL_OK;
}

nbcoll_status __wrap_nbcoll_loopback_free(nbcoll_loopback *of);
nbcoll_status __wrap_nbcoll_loopback_free(nbcoll_loopback *of)
{
    free(of);
    return NBCOLL_OK;
}

void __real_world_step(world *w);
void __wrap_world_step(world *w);
void __wrap_world_step(world *w)
{
    struct timespec begin, now;

    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        __real_world_step(w);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - begin.tv_sec) * 1000000000L + now.tv_nsec - begin.tv_nsec < STEP_NS);
}
