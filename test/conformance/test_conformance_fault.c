/* SPDX-License-Identifier: BSD-3-Clause
 *
 * fault keeps the transport contract, transparent or unkind, over a loopback that is kind or not.
 */
#include "nbcoll/fault.h"

#include "conformance.h"
#include "ends.h"

struct mood {
    const nbcoll_loopback_config *loopback;
    nbcoll_fault_config fault;
};

static void *make(const nbcoll_conformance *c, int ranks, uint64_t seed, nbcoll_endpoint *end[])
{
    const struct mood *mood = c->user;
    nbcoll_fault_config fault = mood->fault;
    nbcoll_loopback *world = loopback_ends(mood->loopback, ranks, mood->loopback->seed ? seed : 0, end);
    fault.size = sizeof fault;
    fault.seed = seed;
    for (int i = 0; world && i < ranks; i++)
        if (nbcoll_fault_open(&fault, end[i], &end[i]) != NBCOLL_OK)
            return NULL;
    return world;
}

static void destroy(const nbcoll_conformance *c, void *world)
{
    (void)c;
    nbcoll_loopback_free(world);
}

enum {
    ORDERED = NBCOLL_CONFORMANCE_ORDERED,
    GROUPS = NBCOLL_CONFORMANCE_DOORBELL | NBCOLL_CONFORMANCE_BULK,
    LENDS = NBCOLL_CONFORMANCE_LENDS,
    REFUSES = NBCOLL_CONFORMANCE_REFUSES
};

int main(void)
{
    const nbcoll_loopback_config *kind = LOOPBACK(.seed = 0);
    const nbcoll_loopback_config *unkind = LOOPBACK(.seed = 1, .depth = 2, .flags = NBCOLL_LOOPBACK_LEND);
    const nbcoll_fault_config idle = {.seed = 0}, holds = {.hold = 500, .longest = 5},
                              worst = {.flags = NBCOLL_FAULT_REORDER, .not_now = 300, .hold = 300, .longest = 9};
    const nbcoll_conformance moods[] = {
        {"fault, idle", ORDERED | GROUPS | REFUSES, make, destroy, &(struct mood){kind, idle}},
        {"fault, idle, over shared memory", ORDERED | GROUPS | REFUSES | NBCOLL_CONFORMANCE_SHARED, make, destroy,
         &(struct mood){LOOPBACK(.flags = NBCOLL_LOOPBACK_SHARED), idle}},
        {"fault, idle, over an unkind one", GROUPS | LENDS, make, destroy, &(struct mood){unkind, idle}},
        {"fault, holding in order", ORDERED | GROUPS, make, destroy, &(struct mood){kind, holds}},
        {"fault, at its worst", GROUPS | REFUSES, make, destroy, &(struct mood){kind, worst}},
        {"fault, at its worst, over an unkind one", GROUPS, make, destroy, &(struct mood){unkind, worst}},
    };
    int failed = 0;
    for (unsigned i = 0; i < sizeof moods / sizeof moods[0]; i++)
        failed += nbcoll_conformance_run(&moods[i]);
    return failed != 0;
}
