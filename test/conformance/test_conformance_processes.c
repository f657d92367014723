/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shm keeps the transport contract between processes, in each of its moods.
 */
#include <stdlib.h>

#include "nbcoll/shm.h"

#include "conformance.h"

/* Opening is collective, and each process's own: all that they share before it is the identifier. */
static void *make(const nbcoll_conformance *c, int ranks, uint64_t seed, nbcoll_endpoint *end[])
{
    nbcoll_shm_id *id = malloc(sizeof *id);
    (void)c;
    (void)ranks;
    (void)seed;
    (void)end;
    if (nbcoll_shm_id_make(id) == NBCOLL_OK)
        return id;
    free(id);
    return NULL;
}

static nbcoll_endpoint *open_end(const nbcoll_conformance *c, void *made, int rank, int ranks)
{
    nbcoll_shm_config config = *(const nbcoll_shm_config *)((const nbcoll_conformance_process *)c->user)->user;
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
#define MOOD(text, bulk, bytes, ...)                                                                                   \
    {                                                                                                                  \
        "shm, processes" text, NBCOLL_CONFORMANCE_ORDERED | NBCOLL_CONFORMANCE_PROCESSES | (bulk), make, destroy,      \
            &(const nbcoll_conformance_process){open_end, bytes, 200, SHM(.payload = bytes, __VA_ARGS__)}              \
    }

int main(void)
{
    const nbcoll_conformance moods[] = {
        MOOD("", NBCOLL_CONFORMANCE_BULK, 4096, .flags = 0),
        MOOD(", no CMA", NBCOLL_CONFORMANCE_BULK, 4096, .flags = NBCOLL_SHM_NO_CMA),
        MOOD(", no bulk", 0, 4096, .flags = NBCOLL_SHM_NO_BULK),
        MOOD(", depth 1, payload 256", NBCOLL_CONFORMANCE_BULK, 256, .depth = 1),
        MOOD(", depth 3, payload 65536", NBCOLL_CONFORMANCE_BULK, 65536, .depth = 3),
    };
    int failed = 0;
    for (unsigned i = 0; i < sizeof moods / sizeof moods[0]; i++)
        failed += nbcoll_conformance_run(&moods[i]);
    return failed != 0;
}
