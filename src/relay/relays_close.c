/* SPDX-License-Identifier: BSD-3-Clause
 * Relays are closed: nothing that stands ready is left. */
#include "../host/sleep.h"
#include "relays.h"

static int nbcolli_relays_line_has_ended(nbcoll_relays *r, const nbcolli_relays_line *line)
{
    uint32_t i = 0;
    while (i < line->places && nbcolli_relays_place_has_ended(r, &line->standing[i]))
        i++;
    return i == line->places;
}

/* As many last fragments of each stream as operations stand ready in it, so that none is left. */
static int nbcolli_relays_are_drained(nbcoll_relays *r)
{
    nbcolli_relays_move(r);
    for (int i = 0; i < r->ranks && r->status == NBCOLL_OK; i++)
        if (r->stream[i].ends < r->stream[i].fragments.places || r->stream[i].given < r->stream[i].next / r->batch)
            return 0;
    for (int i = 0; i < 2 * r->ranks && r->status == NBCOLL_OK; i++)
        if (!nbcolli_relays_line_has_ended(r, nbcolli_relays_line_at(r, i)))
            return 0;
    return 1;
}

/* Of broken ones: has all ended? Cancelling once is enough. */
static int nbcolli_relays_are_revoked(nbcoll_relays *r)
{
    int are_over = 1;
    for (int i = 0; i < 2 * r->ranks; i++) {
        nbcolli_relays_line *line = nbcolli_relays_line_at(r, i);
        for (uint32_t k = 0; k < line->places && !r->is_revoked; k++)
            if (line->standing[k].is_out)
                nbcoll_cancel(line->standing[k].request);
        are_over &= nbcolli_relays_line_has_ended(r, line);
    }
    r->is_revoked = 1;
    return are_over;
}

nbcoll_status nbcoll_relays_close(nbcoll_relays *r, uint64_t timeout)
{
    if (!r)
        return NBCOLL_ERR_NULL;
    if (r->status == NBCOLL_PENDING)
        return NBCOLL_ERR_BUSY;
    for (uint32_t i = 0; i < r->config.at_once && r->status == NBCOLL_OK; i++)
        if (r->operation[i].missing)
            return NBCOLL_ERR_BUSY;
    uint64_t deadline = nbcolli_deadline(&r->arena.host, timeout);
    r->is_closing = 1;
    while (!nbcolli_relays_are_drained(r) || (r->status != NBCOLL_OK && !nbcolli_relays_are_revoked(r)))
        if (!nbcolli_relays_pause(r, deadline))
            return NBCOLL_ERR_TIMEOUT;
    nbcolli_relays_free(r);
    return NBCOLL_OK;
}
