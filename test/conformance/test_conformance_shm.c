/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shm keeps the transport contract between threads, in each of its variants.
 */
#include <pthread.h>

#include "nbcoll/shm.h"

#include "../../transports/shm/shm.h"
#include "variants.h"

struct opening {
    nbcoll_shm_config config;
    nbcoll_endpoint **end;
};

static void *open_one(void *argument)
{
    struct opening *o = argument;
    nbcoll_shm_open(&o->config, o->end);
    return NULL;
}

/* Opening is collective: each rank on a thread of its own. */
static void *make(const nbcoll_conformance *c, int ranks, nbcoll_endpoint *end[])
{
    static struct opening opening[16];
    pthread_t thread[16];
    nbcoll_shm_id id;

    nbcoll_shm_id_make(&id);
    for (int i = 0; i < ranks; i++) {
        opening[i] = (struct opening){*(const nbcoll_shm_config *)c->user, &end[i]};
        opening[i].config.id = id;
        opening[i].config.rank = i;
        opening[i].config.ranks = ranks;
        pthread_create(&thread[i], NULL, open_one, &opening[i]);
    }
    for (int i = 0; i < ranks; i++)
        pthread_join(thread[i], NULL);
    return opening;
}

static void destroy(const nbcoll_conformance *c, void *made)
{
    (void)c;
    (void)made;
}

/* By what no rank writes: an entry that is longer than one can be. */
static void lose(const nbcoll_conformance *c, void *made, nbcoll_endpoint *ep, int peer)
{
    struct nbcolli_shm_peer *p = &nbcolli_shm_end(ep)->peer[peer];

    (void)c;
    (void)made;
    atomic_store(&p->from.line->word, p->from.lap | UINT64_C(200) << NBCOLLI_SHM_BYTES_SHIFT);
}

#define SHM(...) (&(const nbcoll_shm_config){.size = sizeof(nbcoll_shm_config), __VA_ARGS__})
#define PROMISES (NBCOLL_CONFORMANCE_ORDERED | NBCOLL_CONFORMANCE_WAKEUP | NBCOLL_CONFORMANCE_REFUSES)
#define SHARES (NBCOLL_CONFORMANCE_BULK | NBCOLL_CONFORMANCE_SHARED)

int main(void)
{
#define VARIANT(text, promised, ...)                                                                                   \
    {                                                                                                                  \
        .name = text, .promises = promised, .make = make, .destroy = destroy, .lose = lose, .user = SHM(__VA_ARGS__)   \
    }
    const nbcoll_conformance variants[] = {
        VARIANT("shm", PROMISES | SHARES, .flags = 0),
        VARIANT("shm, no CMA", PROMISES | SHARES, .flags = NBCOLL_SHM_NO_CMA),
        VARIANT("shm, pieces", PROMISES | SHARES, .flags = NBCOLL_SHM_PIECES | NBCOLL_SHM_NO_CMA),
        VARIANT("shm, both sides", PROMISES | SHARES, .flags = NBCOLL_SHM_BOTH_SIDES),
        VARIANT("shm, no bulk", PROMISES, .flags = NBCOLL_SHM_NO_BULK),
        VARIANT("shm, depth 1, payload 256", PROMISES | SHARES, .depth = 1, .payload = 256),
        VARIANT("shm, depth 3, payload 65536", PROMISES | SHARES, .depth = 3, .payload = 65536),
    };
    return variants_run(variants, sizeof variants / sizeof variants[0]);
}
