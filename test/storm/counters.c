/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Counters near their ends. No configuration says where they begin, and running up to there takes days: the words that
 * say how far a communicator is are set, those that its ranks have in common and nothing else. */
#include "counters.h"

#include "../../src/engine/state/communicator.h"
#include "../../src/engine/state/link.h"

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

uint64_t counters_said(const nbcoll_header *header)
{
    nbcolli_header h = nbcolli_unpack(header);
    return h.type == NBCOLLI_CALL && h.status < NBCOLLI_CALLED_NOTHING ? h.tag + 1 : 0;
}
