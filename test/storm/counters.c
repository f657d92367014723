/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Counters near their ends. No configuration says where they begin, and running up to there takes days: the words that
 * say how far a communicator is are set, those that its ranks have in common and nothing else. */
#include "counters.h"

#include "../../src/engine/state/context.h"
#include "storm.h"

enum { BEFORE = 20, LONG_BEFORE = 20000 }; /* one that is reached; one that is not */

/* The words that say what was started last are those of tags as high. */
static void move_words(nbcoll_comm *comm, uint64_t by)
{
    uint64_t word[NBCOLLI_STARTED];

    for (uint64_t i = 0; i < NBCOLLI_STARTED; i++)
        word[i] = atomic_load(&comm->started[i]);
    for (uint64_t i = 0; i < NBCOLLI_STARTED; i++)
        atomic_store(&comm->started[(i + by) % NBCOLLI_STARTED],
                     word[i] ? (word[i] >> 32 << 32) + (uint32_t)(word[i] + by) : 0);
}

void counters_advance(nbcoll_comm *comm, int which)
{
    const uint64_t last = (uint64_t)comm->config.slots << 48;
    const uint64_t to[] = {(1ull << 31) - BEFORE, (1ull << 32) - BEFORE, last - LONG_BEFORE, last - BEFORE};
    uint64_t by = to[which - 1] - comm->next_tag;

    comm->next_tag += by;
    comm->taken += by;
    comm->history = (comm->history >> 32 << 32) + (uint32_t)(comm->history + by); /* its lower half is the tag */
    move_words(comm, by);
    atomic_fetch_add(&comm->ended, by);
    comm->link->serial = UINT32_MAX - LONG_BEFORE; /* this rank's */
}

void counters_leave(nbcoll_comm *comm, int serials)
{
    comm->link->serial = UINT32_MAX - (uint32_t)serials;
}

uint32_t counters_left(const nbcoll_comm *comm)
{
    return UINT32_MAX - comm->link->serial;
}

table counters_fill(nbcoll_context *context)
{
    table was = {context->free_requests, context->chunks};
    context->free_requests = NULL;
    context->chunks = NBCOLLI_REQUEST_CHUNKS;
    return was;
}

void counters_empty(nbcoll_context *context, table was)
{
    nbcolli_request **last = &context->free_requests;
    while (*last)
        last = &(*last)->next;
    *last = was.free;
    context->chunks = was.chunks;
}

size_t counters_requests(const nbcoll_context *context)
{
    size_t used = 0;
    for (uint32_t i = 0; i < context->chunks; i++)
        for (size_t k = 0; k < (size_t)NBCOLLI_REQUEST_CHUNK << i; k++)
            used += atomic_load(&context->chunk[i][k].state) != NBCOLLI_REQUEST_FREE;
    return used;
}

uint64_t counters_history(const nbcoll_comm *comm)
{
    return mix(comm->history, comm->next_tag);
}

said counters_said(const nbcoll_header *header)
{
    nbcolli_header h = nbcolli_unpack(header);
    if (h.type != NBCOLLI_CALL)
        return (said){0};
    return (said){h.tag + 1, h.stamp, h.status < NBCOLLI_CALLED_NOTHING, h.status == NBCOLLI_CALLED_LONG_AGO};
}

bool counters_is_revoked(const nbcoll_header *header)
{
    nbcolli_header h = nbcolli_unpack(header);
    return h.type == NBCOLLI_REVOKE && h.status == NBCOLL_ERR_MISMATCH;
}

bool counters_is_out_of_step(const nbcoll_header *header)
{
    nbcolli_header h = nbcolli_unpack(header);
    return h.type == NBCOLLI_LOST && h.status == NBCOLL_ERR_MISMATCH;
}

/* With the history before it: of 63 operations (nbcoll_failure.is_before). */
bool counters_remembers(const nbcoll_comm *comm, const nbcoll_header *header)
{
    nbcolli_header h = nbcolli_unpack(header);
    return comm->id == h.comm && comm->taken <= h.tag + NBCOLLI_STARTED - 2;
}

static const nbcolli_link *link_of(const nbcoll_context *context, const nbcoll_endpoint *endpoint)
{
    const nbcolli_link *link = context->links;
    while (link && link->endpoint != endpoint)
        link = link->next;
    return link;
}

window counters_window(const nbcoll_context *context, const nbcoll_endpoint *endpoint, int peer)
{
    const nbcolli_link *link = link_of(context, endpoint);
    return link ? (window){nbcolli_credits_out(link, &link->pair[peer]), link->pair[peer].owed} : (window){-1, -1};
}

bool counters_is_met(const nbcoll_context *context, const nbcoll_endpoint *endpoint, int peer)
{
    const nbcolli_link *link = link_of(context, endpoint);
    return link && link->member[peer] >= 0;
}

bool counters_has_rejected(const nbcoll_context *context, const nbcoll_endpoint *endpoint, int peer)
{
    const nbcolli_link *link = link_of(context, endpoint);
    return link && nbcolli_has_rejected(link, peer);
}

/* The highest tag of all is none: it asks whether the communicator is still there (ask.h, executors). */
bool counters_asks_early(const nbcoll_comm *comm, const nbcoll_header *header)
{
    nbcolli_header h = nbcolli_unpack(header);
    return h.type == NBCOLLI_QUERY && h.comm == comm->id && h.tag >= comm->taken && h.tag < UINT64_MAX - 1;
}
