/* SPDX-License-Identifier: BSD-3-Clause
 * What algorithms cost that show memory to all ranks. */
#include "cost.h"

#define NBCOLLI_COST_CELLS 8 /* NBCOLL_COMM_DEFAULTS */

/* Bytes to expose, of different parts of a rank that does not fetch: what does not fit into a cell is lent. */
static uint64_t nbcolli_cost_lent(uint64_t bytes)
{
    return bytes > NBCOLLI_CELL_INLINE ? UINT64_MAX : bytes;
}

nbcolli_cost_time nbcolli_cost_shown(const nbcolli_cost_call *c, uint64_t bytes, uint64_t exposed)
{
    const nbcolli_cost_call one = nbcolli_cost_working(c, 1);
    uint64_t turns = c->ranks - 1 < c->turns ? c->ranks - 1 : c->turns;
    nbcolli_cost_time first = nbcolli_cost_fetches(&one, turns > 0, bytes, exposed, 0);
    return first + (turns ? turns - 1 : 0) * bytes * (one.inside.beta < one.copy ? one.inside.beta : one.copy);
}

nbcolli_cost_time nbcolli_cost_parts(const nbcolli_cost_call *c, uint64_t bytes)
{
    uint64_t others = c->ranks - 1, all = others * bytes;

    if (others > 1 && bytes <= NBCOLLI_CELL_INLINE && (others - 1) >> nbcolli_spread_shift(bytes) < NBCOLLI_COST_CELLS)
        return nbcolli_cost_shown(c, bytes, bytes) + (others + 2) * c->inside.overhead / 4;
    return nbcolli_cost_shown(c, bytes, others > 1 ? nbcolli_cost_lent(all) : all);
}

nbcolli_cost_time nbcolli_cost_staging(const nbcolli_cost_call *c, uint64_t bytes)
{
    return nbcolli_cost_is_followed(c, bytes) ? (bytes - nbcolli_staging_piece(bytes)) * c->copy : 0;
}

nbcolli_cost_time nbcolli_cost_collected(const nbcolli_cost_call *c, uint64_t bytes, uint64_t worked)
{
    const nbcolli_cost_call one = nbcolli_cost_working(c, 1);
    uint64_t others = c->ranks - 1;
    nbcolli_cost_time own = nbcolli_cost_fetches(&one, others, bytes, bytes, worked);
    return nbcolli_cost_later(own, nbcolli_cost_fetches(c, others > 0, bytes, bytes, worked) +
                                       (c->turns > 1 ? nbcolli_cost_staging(c, bytes) : 0));
}

nbcolli_cost_time nbcolli_cost_rewritten(const nbcolli_cost_call *c, uint64_t bytes)
{
    return c->shared ? bytes * c->inside.beta : 0;
}

#define NBCOLLI_COST_CACHED 262144 /* bytes that a rank has read and its cache keeps till they are written again */
nbcolli_cost_time nbcolli_cost_kept(const nbcolli_cost_call *c, uint64_t bytes)
{
    return bytes <= NBCOLLI_COST_CACHED ? nbcolli_cost_rewritten(c, bytes) : 0;
}
