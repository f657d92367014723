/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What comes while a rank is somewhere else: a signal, whose handler ticks; and calls from inside functions and hooks
 * of the host's, which are refused. */
#include "rank.h"
#include "nbcoll/driver.h"

/* ---- ticks ------------------------------------------------------------------------------------------------------- */

void rank_ticks(actor *a)
{
    rank *r = a->program;
    if (!r || !r->has_ticks)
        return;
    nbcoll_status status = nbcoll_tick(r->context);
    storm_note(a->storm, a->rank, NOTE_TICK, status, 0);
    bool may_be_late = status == NBCOLL_ERR_CONFIG && r->stops_ticks; /* the call has not returned */
    if (status != NBCOLL_OK && status != NBCOLL_PENDING && !may_be_late)
        storm_find(a->storm, "rank %d: a tick: %s", a->rank, nbcoll_status_name(status));
}

/* Where the transport is one that a handler may use. */
void rank_ticks_start(rank *r)
{
    const plan *p = &r->storm->plan;
    bool is_safe = true;
    int tries = 0;
    nbcoll_status status;

    if (!p->ticks)
        return;
    for (const net *n = p->net; n < p->net + p->nets; n++)
        is_safe &= n->groups & PLAIN_KEYS || !(n->groups & (HAS_GET | HAS_PUT));
    while ((status = nbcoll_tick_start(r->context, 0, 0)) == NBCOLL_ERR_MEMORY && tries++ < RETRIES)
        storm_stay(r->storm, 1000);
    r->has_ticks = status == NBCOLL_OK;
    if (status != (is_safe ? NBCOLL_OK : NBCOLL_ERR_UNSUPPORTED) && status != NBCOLL_ERR_MEMORY)
        storm_find(r->storm, "rank %d: ticks do not start: %s", r->actor->rank, nbcoll_status_name(status));
}

void rank_ticks_stop(rank *r)
{
    r->stops_ticks = true;
    nbcoll_status status = r->has_ticks ? nbcoll_tick_stop(r->context) : NBCOLL_OK;
    r->has_ticks = r->stops_ticks = false;
    if (status != NBCOLL_OK)
        storm_find(r->storm, "rank %d: ticks do not stop: %s", r->actor->rank, nbcoll_status_name(status));
}

/* ---- calls from inside ------------------------------------------------------------------------------------------- */

static bool tries_inside(actor *a)
{
    const rank *r = a->program;
    return a->storm->plan.edition >= 4 && r && r->context && r->comm[0] && !r->leaves && !r->builds && !r->skips &&
           storm_chance(a->storm, 30);
}

static void is_refused_inside(actor *a, nbcoll_status status)
{
    if (status != NBCOLL_ERR_BUSY && !(a->storm->bad_anywhere & BAD_HEADER))
        storm_find(a->storm, "rank %d: a call from inside a function of the host's is not refused: %s", a->rank,
                   nbcoll_status_name(status));
}

void rank_frees_inside(actor *a)
{
    rank *r = a->program;
    if (tries_inside(a))
        is_refused_inside(a, storm_random(a->storm, 2) ? nbcoll_context_free(r->context)
                                                       : nbcoll_context_abandon(r->context, NULL, NULL));
}

/* Each such call is refused, and changes nothing. */
void rank_calls_inside(actor *a)
{
    rank *r = a->program;
    nbcoll_request request = {0};
    nbcoll_status status;

    if (!tries_inside(a))
        return;
    switch (storm_random(a->storm, 6)) {
    case 0:
        status = nbcoll_progress(r->context);
        break;
    case 1:
        status = nbcoll_ibarrier(r->comm[0], &request);
        break;
    case 2:
        status = nbcoll_barrier(r->comm[0], 0);
        break;
    case 3:
        status = nbcoll_comm_idup(r->comm[0], &r->made[0], &request);
        break;
    case 4:
        status = nbcoll_context_free(r->context);
        break;
    default:
        status = nbcoll_comm_free(r->comm[0]);
    }
    is_refused_inside(a, status);
}
