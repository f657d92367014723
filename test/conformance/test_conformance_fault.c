/* SPDX-License-Identifier: BSD-3-Clause
 *
 * fault keeps the transport contract, transparent or unkind, over a loopback that is kind or not.
 */
#include "nbcoll/fault.h"

#include "variants.h"
#include "ends.h"

struct variant {
    const nbcoll_loopback_config *loopback;
    nbcoll_fault_config fault;
};

static void *make(const nbcoll_conformance *c, int ranks, nbcoll_endpoint *end[])
{
    const struct variant *variant = c->user;
    nbcoll_fault_config fault = variant->fault;
    nbcoll_loopback *world = loopback_ends(variant->loopback, ranks, variant->loopback->seed ? c->seed : 0, end);
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
    LENDS = NBCOLL_CONFORMANCE_KEEPS,
    REFUSES = NBCOLL_CONFORMANCE_REFUSES
};

int main(void)
{
    const nbcoll_loopback_config *kind = LOOPBACK(.seed = 0);
    const nbcoll_loopback_config *unkind = LOOPBACK(.seed = 1, .depth = 2, .flags = NBCOLL_LOOPBACK_LEND);
    const nbcoll_fault_config idle = {.seed = 0}, holds = {.hold = 500, .longest = 5},
                              worst = {.flags = NBCOLL_FAULT_REORDER, .not_now = 300, .hold = 300, .longest = 9};
#define VARIANT(text, promised, ...)                                                                                   \
    {                                                                                                                  \
        .name = text, .promises = promised, .make = make, .destroy = destroy, .user = &(struct variant)                \
        {                                                                                                              \
            __VA_ARGS__                                                                                                \
        }                                                                                                              \
    }
    const nbcoll_conformance variants[] = {
        VARIANT("fault, idle", ORDERED | GROUPS | REFUSES, kind, idle),
        VARIANT("fault, idle, over shared memory", ORDERED | GROUPS | REFUSES | NBCOLL_CONFORMANCE_SHARED,
             LOOPBACK(.flags = NBCOLL_LOOPBACK_SHARED), idle),
        VARIANT("fault, idle, over an unkind one", GROUPS | LENDS, unkind, idle),
        VARIANT("fault, holding in order", ORDERED | GROUPS, kind, holds),
        VARIANT("fault, at its worst", GROUPS | REFUSES, kind, worst),
        VARIANT("fault, at its worst, over an unkind one", GROUPS, unkind, worst),
    };
    return variants_run(variants, sizeof variants / sizeof variants[0]);
}
