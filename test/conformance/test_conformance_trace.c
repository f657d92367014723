/* SPDX-License-Identifier: BSD-3-Clause
 *
 * trace keeps the transport contract, over a loopback that is kind or not.
 */
#include "nbcoll/trace.h"

#include "variants.h"
#include "ends.h"

static void ignore(void *user, const nbcoll_trace_event *event)
{
    (void)user;
    (void)event;
}

static void *make(const nbcoll_conformance *c, int ranks, nbcoll_endpoint *end[])
{
    const nbcoll_loopback_config *config = c->user;
    nbcoll_trace_config trace = {.size = sizeof trace, .event = ignore};
    nbcoll_loopback *world = loopback_ends(config, ranks, config->seed ? c->seed : 0, end);
    for (int i = 0; world && i < ranks; i++)
        if (nbcoll_trace_open(&trace, end[i], &end[i]) != NBCOLL_OK)
            return NULL;
    return world;
}

static void destroy(const nbcoll_conformance *c, void *world)
{
    (void)c;
    nbcoll_loopback_free(world);
}

int main(void)
{
    const uint32_t groups = NBCOLL_CONFORMANCE_WAKEUP | NBCOLL_CONFORMANCE_BULK;
    const uint32_t kindness = NBCOLL_CONFORMANCE_ORDERED | NBCOLL_CONFORMANCE_REFUSES | NBCOLL_CONFORMANCE_SHARED;
    const nbcoll_conformance variants[] = {
        {.name = "trace", .promises = kindness | groups, .make = make, .destroy = destroy,
         .user = LOOPBACK(.flags = NBCOLL_LOOPBACK_SHARED)},
        {.name = "trace over an unkind one", .promises = NBCOLL_CONFORMANCE_KEEPS | groups, .make = make,
         .destroy = destroy, .user = LOOPBACK(.seed = 1, .depth = 2, .flags = NBCOLL_LOOPBACK_LEND)},
    };
    return variants_run(variants, sizeof variants / sizeof variants[0]);
}
