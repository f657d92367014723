/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Loopback keeps the transport contract, in each of its variants.
 */
#include "variants.h"
#include "ends.h"

/* A variant with any seed gets the suite's. */
static void *make(const nbcoll_conformance *c, int ranks, nbcoll_endpoint *end[])
{
    const nbcoll_loopback_config *config = c->user;
    return loopback_ends(config, ranks, config->seed ? c->seed : 0, end);
}

static void destroy(const nbcoll_conformance *c, void *world)
{
    (void)c;
    nbcoll_loopback_free(world);
}

enum {
    ORDERED = NBCOLL_CONFORMANCE_ORDERED,
    WAKEUP = NBCOLL_CONFORMANCE_WAKEUP,
    BULK = NBCOLL_CONFORMANCE_BULK,
    LENDS = NBCOLL_CONFORMANCE_KEEPS,
    REFUSES = NBCOLL_CONFORMANCE_REFUSES,
    SHARED = NBCOLL_CONFORMANCE_SHARED,
    QUEUES = NBCOLL_CONFORMANCE_QUEUES | NBCOLL_CONFORMANCE_RECEIVES,
    LEND = NBCOLL_LOOPBACK_LEND
};

int main(void)
{
#define VARIANT(text, promised, ...)                                                                                   \
    {                                                                                                                  \
        .name = text, .promises = promised | QUEUES, .make = make, .destroy = destroy, .user = LOOPBACK(__VA_ARGS__)   \
    }
    const nbcoll_conformance variants[] = {
        VARIANT("loopback", ORDERED | WAKEUP | BULK | REFUSES, .seed = 0),
        VARIANT("no bulk", ORDERED | WAKEUP | REFUSES, .flags = NBCOLL_LOOPBACK_NO_BULK),
        VARIANT("lends", WAKEUP | BULK | LENDS, .flags = LEND),
        VARIANT("seeded", WAKEUP | BULK | REFUSES, .seed = 1),
        VARIANT("seeded, lends", WAKEUP | BULK | LENDS, .seed = 1, .flags = LEND),
        VARIANT("depth 1", ORDERED | WAKEUP | BULK | REFUSES, .depth = 1, .payload = 256),
        VARIANT("shared", ORDERED | WAKEUP | BULK | REFUSES | SHARED, .flags = NBCOLL_LOOPBACK_SHARED),
        VARIANT("depth 1, lends", WAKEUP | BULK | LENDS, .depth = 1, .flags = LEND),
    };
    return variants_run(variants, sizeof variants / sizeof variants[0]);
}
