/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Loopback keeps the transport contract, in each of its moods.
 */
#include "conformance.h"
#include "ends.h"

/* A mood with any seed gets the suite's. */
static void *make(const nbcoll_conformance *c, int ranks, uint64_t seed, nbcoll_endpoint *end[])
{
    const nbcoll_loopback_config *config = c->user;
    return loopback_ends(config, ranks, config->seed ? seed : 0, end);
}

static void destroy(const nbcoll_conformance *c, void *world)
{
    (void)c;
    nbcoll_loopback_free(world);
}

enum {
    ORDERED = NBCOLL_CONFORMANCE_ORDERED,
    RINGS = NBCOLL_CONFORMANCE_DOORBELL,
    BULK = NBCOLL_CONFORMANCE_BULK,
    LENDS = NBCOLL_CONFORMANCE_LENDS,
    REFUSES = NBCOLL_CONFORMANCE_REFUSES,
    SHARED = NBCOLL_CONFORMANCE_SHARED,
    LEND = NBCOLL_LOOPBACK_LEND
};

int main(void)
{
    const nbcoll_conformance moods[] = {
        {"loopback", ORDERED | RINGS | BULK | REFUSES, make, destroy, LOOPBACK(.seed = 0)},
        {"no bulk", ORDERED | RINGS | REFUSES, make, destroy, LOOPBACK(.flags = NBCOLL_LOOPBACK_NO_BULK)},
        {"lends", RINGS | BULK | LENDS, make, destroy, LOOPBACK(.flags = LEND)},
        {"seeded", RINGS | BULK | REFUSES, make, destroy, LOOPBACK(.seed = 1)},
        {"seeded, lends", RINGS | BULK | LENDS, make, destroy, LOOPBACK(.seed = 1, .flags = LEND)},
        {"depth 1", ORDERED | RINGS | BULK | REFUSES, make, destroy, LOOPBACK(.depth = 1, .payload = 256)},
        {"shared", ORDERED | RINGS | BULK | REFUSES | SHARED, make, destroy,
         LOOPBACK(.flags = NBCOLL_LOOPBACK_SHARED)},
        {"depth 1, lends", RINGS | BULK | LENDS, make, destroy, LOOPBACK(.depth = 1, .flags = LEND)},
    };
    int failed = 0;
    for (unsigned i = 0; i < sizeof moods / sizeof moods[0]; i++)
        failed += nbcoll_conformance_run(&moods[i]);
    return failed != 0;
}
