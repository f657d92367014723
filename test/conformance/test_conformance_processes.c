/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shm keeps the transport contract between processes, in each of its variants.
 */
#include <stdlib.h>

#include "nbcoll/shm.h"

#include "variants.h"

/* Opening is collective, and each process's own: all that they share before it is the identifier. */
static void *make(const nbcoll_conformance *c, int ranks, nbcoll_endpoint *end[])
{
    nbcoll_shm_id *id = malloc(sizeof *id);
    (void)c;
    (void)ranks;
    (void)end;
    if (nbcoll_shm_id_make(id) == NBCOLL_OK)
        return id;
    free(id);
    return NULL;
}

static nbcoll_endpoint *open_end(const nbcoll_conformance *c, void *made, int rank, int ranks)
{
    nbcoll_shm_config config = *(const nbcoll_shm_config *)c->user;
    nbcoll_endpoint *ep = NULL;

    config.id = *(const nbcoll_shm_id *)made;
    config.rank = rank;
    config.ranks = ranks;
    nbcoll_shm_open(&config, &ep);
    return ep;
}

static void destroy(const nbcoll_conformance *c, void *made)
{
    (void)c;
    free(made);
}

#define SHM(...) (&(const nbcoll_shm_config){.size = sizeof(nbcoll_shm_config), __VA_ARGS__})
#define PROMISES (NBCOLL_CONFORMANCE_ORDERED | NBCOLL_CONFORMANCE_WAKEUP)
#define VARIANT(text, bulk, bytes, ...)                                                                                \
    {                                                                                                                  \
        .name = "shm, processes" text, .promises = PROMISES | (bulk), .make = make, .destroy = destroy,                \
        .open = open_end, .payload = bytes, .lost_ms = 200, .user = SHM(.payload = bytes, __VA_ARGS__)                 \
    }

int main(void)
{
    const nbcoll_conformance variants[] = {
        VARIANT("", NBCOLL_CONFORMANCE_BULK, 4096, .flags = 0),
        VARIANT(", no CMA", NBCOLL_CONFORMANCE_BULK, 4096, .flags = NBCOLL_SHM_NO_CMA),
        VARIANT(", no pieces", NBCOLL_CONFORMANCE_BULK, 4096, .flags = NBCOLL_SHM_NO_PIECES),
        VARIANT(", pieces, small pool", NBCOLL_CONFORMANCE_BULK, 4096, .flags = NBCOLL_SHM_PIECES, .pool = 32768),
        VARIANT(", both sides", NBCOLL_CONFORMANCE_BULK, 4096, .flags = NBCOLL_SHM_BOTH_SIDES),
        VARIANT(", no bulk", 0, 4096, .flags = NBCOLL_SHM_NO_BULK),
        VARIANT(", depth 1, payload 256", NBCOLL_CONFORMANCE_BULK, 256, .depth = 1),
        VARIANT(", depth 3, payload 65536", NBCOLL_CONFORMANCE_BULK, 65536, .depth = 3),
    };
    return variants_run(variants, sizeof variants / sizeof variants[0]);
}
