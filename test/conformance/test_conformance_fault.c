/* SPDX-License-Identifier: BSD-3-Clause
 *
 * fault keeps the transport contract, transparent or unkind, over a loopback that is kind or not.
 */
#include "nbcoll/fault.h"

#include "moods.h"
#include "ends.h"

struct mood {
    const nbcoll_loopback_config *loopback;
    nbcoll_fault_config fault;
};

static void *make(const nbcoll_conformance *c, int ranks, nbcoll_endpoint *end[])
{
    const struct mood *mood = c->user;
    nbcoll_fault_config fault = mood->fault;
    nbcoll_loopback *world = loopback_ends(mood->loopback, ranks, mood->loopback->seed ? c->seed : 0, end);
    fault.size = sizeof fault;
    fault.seed = c->seed;
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
    GROUPS = NBCOLL_CONFORMANCE_WAKEUP | NBCOLL_CONFORMANCE_BULK,
    LENDS = NBCOLL_CONFORMANCE_LENDS,
    REFUSES = NBCOLL_CONFORMANCE_REFUSES
};

int main(void)
{
    const nbcoll_loopback_config *kind = LOOPBACK(.seed = 0);
    const nbcoll_loopback_config *unkind = LOOPBACK(.seed = 1, .depth = 2, .flags = NBCOLL_LOOPBACK_LEND);
    const nbcoll_fault_config idle = {.seed = 0}, holds = {.hold = 500, .longest = 5},
                              worst = {.flags = NBCOLL_FAULT_REORDER, .not_now = 300, .hold = 300, .longest = 9};
#define MOOD(text, promised, ...)                                                                                      \
    {                                                                                                                  \
        .name = text, .promises = promised, .make = make, .destroy = destroy, .user = &(struct mood){__VA_ARGS__}      \
    }
    const nbcoll_conformance moods[] = {
        MOOD("fault, idle", ORDERED | GROUPS | REFUSES, kind, idle),
        MOOD("fault, idle, over shared memory", ORDERED | GROUPS | REFUSES | NBCOLL_CONFORMANCE_SHARED,
             LOOPBACK(.flags = NBCOLL_LOOPBACK_SHARED), idle),
        MOOD("fault, idle, over an unkind one", GROUPS | LENDS, unkind, idle),
        MOOD("fault, holding in order", ORDERED | GROUPS, kind, holds),
        MOOD("fault, at its worst", GROUPS | REFUSES, kind, worst),
        MOOD("fault, at its worst, over an unkind one", GROUPS, unkind, worst),
    };
    return moods_run(moods, sizeof moods / sizeof moods[0]);
}
