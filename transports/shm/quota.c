/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shared memory for the core: each rank takes from its own quota of the segment and from no other, so that no lock is
 * shared. The rank lists what it has taken in its own memory, in order of place, and takes the first gap that fits.
 * Room for a staging buffer lies beside each quota. A rank without staging buffer leaves it free.
 */
#include "shm.h"

static nbcoll_status nbcolli_shm_quota_reserve(nbcoll_endpoint *ep, size_t bytes, uint64_t *at)
{
    struct nbcolli_shm_end *e = nbcolli_shm_end(ep);
    const struct nbcolli_shm_layout *l = &e->home->layout;
    size_t room = l->quota - (ep->limits.staging ? 0 : nbcolli_shm_staging(ep->ranks));
    size_t begin = l->quotas + (size_t)ep->rank * l->quota, end = begin + room;
    struct nbcolli_shm_taken **next = &e->taken, *taken;

    if (bytes == 0 || bytes > room)
        return NBCOLL_ERR_MEMORY;
    bytes = (bytes + NBCOLLI_SHM_LINE - 1) / NBCOLLI_SHM_LINE * NBCOLLI_SHM_LINE;
    for (; *next && (*next)->at - begin < bytes; next = &(*next)->next)
        begin = (*next)->at + (*next)->bytes;
    if (!*next && end - begin < bytes)
        return NBCOLL_ERR_MEMORY;
    taken = nbcolli_alloc(&e->host, sizeof *taken, _Alignof(struct nbcolli_shm_taken));
    if (!taken)
        return NBCOLL_ERR_MEMORY;
    *taken = (struct nbcolli_shm_taken){*next, begin, bytes};
    *next = taken;
    memset(e->home->segment + begin, 0, bytes);
    *at = begin;
    return NBCOLL_OK;
}

static void nbcolli_shm_quota_release(nbcoll_endpoint *ep, uint64_t at)
{
    struct nbcolli_shm_end *e = nbcolli_shm_end(ep);

    for (struct nbcolli_shm_taken **next = &e->taken; *next; next = &(*next)->next)
        if ((*next)->at == at) {
            struct nbcolli_shm_taken *taken = *next;
            *next = taken->next;
            nbcolli_free(&e->host, taken, sizeof *taken);
            return;
        }
}

void nbcolli_shm_release_all(struct nbcolli_shm_end *e)
{
    while (e->taken)
        nbcolli_shm_quota_release(&e->base, e->taken->at);
}

static void *nbcolli_shm_quota_map(nbcoll_endpoint *ep, uint64_t at, size_t bytes)
{
    const struct nbcolli_shm_home *h = nbcolli_shm_end(ep)->home;

    if (at < h->layout.quotas || at > h->layout.bytes || bytes > h->layout.bytes - at || at % NBCOLLI_SHM_LINE)
        return NULL;
    return h->segment + at;
}

static size_t nbcolli_shm_quota_staging_part(nbcoll_endpoint *ep)
{
    return nbcolli_shm_end(ep)->staging_part;
}

static int nbcolli_shm_quota_descriptor(nbcoll_endpoint *ep, void **base, size_t *bytes)
{
    const struct nbcolli_shm_home *h = nbcolli_shm_end(ep)->home;

    *base = h->segment;
    *bytes = h->layout.bytes;
    return h->memory;
}

const nbcoll_shared nbcolli_shm_shared = {.size = sizeof nbcolli_shm_shared,
                                          .reserve = nbcolli_shm_quota_reserve,
                                          .release = nbcolli_shm_quota_release,
                                          .map = nbcolli_shm_quota_map,
                                          .wake = nbcolli_shm_rouse,
                                          .copy_in = nbcolli_shm_copy_in,
                                          .descriptor = nbcolli_shm_quota_descriptor,
                                          .staging_part = nbcolli_shm_quota_staging_part};
