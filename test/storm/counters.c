/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Counters near their ends. No configuration says where they begin, and running up to there takes days: the words that
 * say how far a communicator is are set, those that its ranks have in common and nothing else. */
#include "counters.h"

#include "../../src/engine/1_state/communicator.h"
#include "../../src/engine/1_state/link.h"

enum { BEFORE = 20, LONG_BEFORE = 20000 }; /* one that is passed; one that is not reached: there starts are refused */

void counters_advance(nbcoll_comm *comm, int which)
{
    const uint64_t to[COUNTER_ENDS] = {(1ull << 31) - BEFORE, (1ull << 32) - BEFORE,
                           ((uint64_t)comm->config.slots << 48) - LONG_BEFORE};
    uint64_t by = to[which - 1] - comm->next_tag;

    comm->next_tag += by;
    comm->taken += by;
    comm->history = (comm->history >> 32 << 32) + (uint32_t)(comm->history + by); /* its lower half is the tag */
    atomic_fetch_add(&comm->ended, by);
    comm->link->serial = UINT32_MAX - LONG_BEFORE; /* this rank's */
}
