/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Loopback ends and counted memory: see ends.h.
 */
#include <stdlib.h>

#include "ends.h"
#include "nbcoll/offload.h"

static void *counted_alloc(void *user, size_t bytes, size_t align)
{
    struct counted *counted = user;
    if (++counted->allocations == counted->fail_at)
        return NULL;
    counted->bytes += bytes;
    return aligned_alloc(align, (bytes + align - 1) / align * align);
}

static void counted_free(void *user, void *memory, size_t bytes)
{
    struct counted *counted = user;
    counted->bytes -= bytes;
    free(memory);
}

void counted_host(struct counted *counted)
{
    *counted = (struct counted){
        .host = {.size = sizeof counted->host, .user = counted, .alloc = counted_alloc, .free = counted_free}};
}

nbcoll_loopback *loopback_ends(const nbcoll_loopback_config *config, int ranks, uint64_t seed, nbcoll_endpoint *end[])
{
    nbcoll_loopback_config c = *config;
    nbcoll_loopback *world = NULL;
    c.ranks = ranks;
    c.pairs = nbcoll_loopback_pairs();
    c.seed = seed;
    if (nbcoll_loopback_create(&c, &world) == NBCOLL_OK)
        for (int i = 0; i < ranks; i++)
            nbcoll_loopback_open(world, i, &end[i]);
    return world;
}

nbcoll_posted post_word(nbcoll_endpoint *ep, int peer, uint64_t word, nbcoll_work *work)
{
    static nbcoll_header headers[4096]; /* lent ones must stay: by word, which is small */
    headers[word % 4096].word[0] = word;
    return ep->transport->post(ep, peer, &headers[word % 4096], NULL, 0, work);
}

nbcoll_completions progress(nbcoll_endpoint *ep)
{
    nbcoll_completions found = NBCOLL_COMPLETIONS_EMPTY;
    ep->transport->progress(ep, &found);
    return found;
}

size_t receive_words(nbcoll_endpoint *ep, size_t most, uint64_t words[])
{
    size_t came = 0;
    for (nbcoll_completions found = progress(ep); found.arrived; found = progress(ep))
        for (const nbcoll_arrival *a = found.arrived; a; a = a->next)
            if (came++ < most)
                words[came - 1] = a->header.word[0];
    return came;
}
