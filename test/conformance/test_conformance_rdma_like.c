/* SPDX-License-Identifier: BSD-3-Clause
 *
 * rdma_like keeps the transport contract: with get and put, and with one of them.
 */
#include "variants.h"
#include "ends.h"
#include "rdma_like.h"

#include <stdlib.h>

struct made {
    nbcoll_loopback *loopback;
    rdma_like *world;
};

static void *make(const nbcoll_conformance *c, int ranks, nbcoll_endpoint *end[])
{
    struct made *m = malloc(sizeof *m);
    m->loopback = loopback_ends(LOOPBACK(.payload = 4096), ranks, 0, end);
    m->world = rdma_like_make(*(const uint32_t *)c->user);
    for (int i = 0; i < ranks; i++)
        end[i] = rdma_like_open(m->world, end[i]);
    return m;
}

static void destroy(const nbcoll_conformance *c, void *made)
{
    struct made *m = made;
    rdma_like_count count = rdma_like_counted(m->world);
    (void)c;
    if (count.bad_key || count.bad_local || count.bad_deregister || count.registered)
        abort(); /* the suite itself breaks the contract */
    rdma_like_free(m->world);
    nbcoll_loopback_free(m->loopback);
    free(m);
}

int main(void)
{
    static const uint32_t variant[] = {0, RDMA_LIKE_NO_GET, RDMA_LIKE_NO_PUT, RDMA_LIKE_LINES};
    const uint32_t promises = NBCOLL_CONFORMANCE_WAKEUP | NBCOLL_CONFORMANCE_BULK | NBCOLL_CONFORMANCE_KEEPS;
#define VARIANT(text, i)                                                                                               \
    {                                                                                                                  \
        .size = sizeof variants[0], .name = text, .promises = promises, .make = make, .destroy = destroy,              \
        .user = &variant[i]                                                                                            \
    }
    const nbcoll_conformance variants[] = {
        VARIANT("rdma_like", 0),
        VARIANT("rdma_like, put only", 1),
        VARIANT("rdma_like, get only", 2),
        VARIANT("rdma_like, lines", 3),
    };
    return variants_run(variants, sizeof variants / sizeof variants[0]);
}
