/* SPDX-License-Identifier: BSD-3-Clause
 * Operations over relays: what has come is taken out of the store, and stands ready again; the own block goes there
 * when there is room. */
#include "../host/sleep.h"
#include "relays.h"

/* ---- places ------------------------------------------------------------------------------------------------------ */

/* Has it ended? 0 also where that broke the relays. Only the first look of a move makes a pass over the context. */
int nbcolli_relays_place_has_ended(nbcoll_relays *r, nbcolli_relays_place *at)
{
    /* acquire: sees what has come, and how it ended */
    if (!atomic_load_explicit(&at->is_out, memory_order_acquire)) {
        nbcoll_status ended = (nbcoll_status)atomic_load_explicit(&r->ended, memory_order_relaxed);
        if (ended != NBCOLL_OK && r->status == NBCOLL_OK)
            r->status = ended;
        return ended == NBCOLL_OK || r->is_closing;
    }
    if (nbcolli_relays_carry(r))
        return 0;
    if (r->has_passed && nbcolli_relays_is_under_way(&at->request))
        return 0;
    nbcoll_status s = nbcolli_relays_place_status(nbcoll_test(&at->request));
    r->has_passed = 1;
    if (s == NBCOLL_PENDING)
        return 0;
    atomic_store_explicit(&at->is_out, 0, memory_order_relaxed); /* of one thread */
    if (!nbcolli_relays_heeds_end(r, at))
        return 1;
    if (s == NBCOLL_ERR_CANCELLED)
        r->is_cancelled = 1; /* by who broke: what that has said, or sent, is taken out first */
    else if (s != NBCOLL_OK && r->status == NBCOLL_OK)
        r->status = s;
    return s == NBCOLL_OK || r->is_closing;
}

/* Has what stands ready come here? Where ranks of the node hold up its end a step has said so before. */
static int nbcolli_relays_place_has_come(nbcoll_relays *r, nbcolli_relays_place *at)
{
    /* acquire, both: sees what has come. The second look is after a pass */
    return atomic_load_explicit(&at->has_come, memory_order_acquire) || nbcolli_relays_place_has_ended(r, at) ||
           atomic_load_explicit(&at->has_come, memory_order_acquire);
}

/* ---- what has come ----------------------------------------------------------------------------------------------- */

/* Those that have been taken out stand ready again, in order, when their operations have ended, if more come. */
static void nbcolli_relays_free_places(nbcoll_relays *r, nbcolli_relays_stream *s)
{
    for (; r->status == NBCOLL_OK && s->freed < s->next; s->freed++) {
        nbcolli_relays_place *at = nbcolli_relays_place_at(&s->fragments, s->freed);
        if (!nbcolli_relays_place_has_ended(r, at) || r->status != NBCOLL_OK)
            return;
        if (s->freed + s->fragments.places < s->total)
            nbcolli_relays_place_start(r, at);
    }
}

/* In order, until one has not come, or is of an operation that this rank has not started. */
static void nbcolli_relays_drain(nbcoll_relays *r, int origin)
{
    nbcolli_relays_stream *s = &r->stream[origin];
    nbcolli_relays_free_places(r, s);
    while (r->status == NBCOLL_OK && s->next < s->total && s->next < s->freed + s->fragments.places) {
        nbcolli_relays_place *at = nbcolli_relays_place_at(&s->fragments, s->next);
        if (!nbcolli_relays_place_has_come(r, at) || r->status != NBCOLL_OK)
            return;
        if (at->at->operation == NBCOLLI_RELAYS_BROKEN) {
            r->status = (nbcoll_status)at->at->bytes; /* why */
            return;
        }
        if (at->at->operation <= r->last)
            nbcolli_relays_take(r, origin, at->at);
        else if (!r->is_closing)
            return;
        s->next++;
        nbcolli_relays_free_places(r, s);
    }
}

/* For each batch that has been taken out, or sent. */
static void nbcolli_relays_give(nbcoll_relays *r, nbcolli_relays_stream *s)
{
    while (r->status == NBCOLL_OK && s->seen < s->given &&
           nbcolli_relays_place_has_ended(r, nbcolli_relays_place_at(&s->credits, s->seen)))
        s->seen++;
    while (r->status == NBCOLL_OK && s->given < s->next / r->batch && s->given < s->seen + s->credits.places)
        nbcolli_relays_place_start(r, nbcolli_relays_place_at(&s->credits, s->given++));
}

/* ---- the own block ----------------------------------------------------------------------------------------------- */

/* The next place of the own stream; null: it has not been passed on, or others have no room. */
static nbcolli_relays_place *nbcolli_relays_room(nbcoll_relays *r)
{
    nbcolli_relays_stream *s = &r->stream[r->rank];
    nbcolli_relays_give(r, s);
    if (r->status != NBCOLL_OK || s->next / r->batch >= s->seen + NBCOLLI_RELAYS_BATCHES)
        return NULL;
    nbcolli_relays_place *at = nbcolli_relays_place_at(&s->fragments, s->next);
    return nbcolli_relays_place_has_ended(r, at) && r->status == NBCOLL_OK ? at : NULL;
}

int nbcolli_relays_send(nbcoll_relays *r, const nbcolli_relays_fragment *f, const char *bytes)
{
    nbcolli_relays_place *at = nbcolli_relays_room(r);
    if (!at)
        return 0;
    *at->at = *f;
    if (f->length)
        memcpy(at->at + 1, bytes, f->length);
    nbcolli_relays_place_start(r, at);
    r->stream[r->rank].next++;
    return 1;
}

void nbcolli_relays_move(nbcoll_relays *r)
{
    r->has_passed = 0;
    if (r->status == NBCOLL_PENDING)
        nbcolli_relays_open_on(r);
    nbcolli_relays_send_blocks(r);
    for (int i = 0; i < r->ranks && r->status != NBCOLL_PENDING && r->step < NBCOLLI_RELAYS_MEETS; i++) {
        if (i != r->rank)
            nbcolli_relays_drain(r, i);
        nbcolli_relays_give(r, &r->stream[i]);
    }
    if (r->is_cancelled && r->status == NBCOLL_OK)
        r->status = NBCOLL_ERR_CANCELLED;
}

/* ---- ends -------------------------------------------------------------------------------------------------------- */

int nbcolli_relays_flow_has_ended(nbcoll_relays *r, const nbcolli_relays_flow *flow)
{
    uint32_t i = 0;
    while (i < flow->places && nbcolli_relays_place_has_ended(r, &flow->preposted[i]))
        i++;
    return i == flow->places;
}

/* Cancelling once is enough. What is on its way in the own stream says why, or shows it, unless they are closing. */
static int nbcolli_relays_are_revoked(nbcoll_relays *r)
{
    int are_over = 1, revoked = 1 + !!r->is_closing;
    r->has_passed = 0;
    for (int i = 0; i < nbcolli_relays_flows(r); i++) {
        nbcolli_relays_flow *flow = nbcolli_relays_any_flow(r, i);
        int is_spared = i == r->rank && !r->is_closing;
        for (uint32_t k = 0; k < flow->places && r->is_revoked < revoked && !is_spared; k++)
            if (flow->preposted[k].is_out)
                nbcoll_cancel(flow->preposted[k].request);
        are_over &= nbcolli_relays_flow_has_ended(r, flow);
    }
    r->is_revoked = revoked;
    return are_over;
}

/* Tells all ranks, also those that wait for what this one would have contributed, or for it to close: what stands ready
 * is cancelled, and what does not, of the own stream, comes to them as a last word. Without memory for that it is
 * broken, which takes none. */
int nbcolli_relays_break(nbcoll_relays *r)
{
    nbcolli_relays_flow *flow = &r->stream[r->rank].fragments;
    int is_told = r->is_revoked;
    if (!r->is_revoked && r->status == NBCOLL_ERR_PEER_LOST)
        nbcolli_relays_break_lost(r);
    if (!r->is_revoked)
        nbcolli_relays_break_flow(r, &r->closing);
    for (uint32_t i = 0; i < flow->places && !r->is_revoked; i++) {
        nbcolli_relays_place *at = &flow->preposted[i];
        if (!at->request.at || atomic_load_explicit(&at->is_out, memory_order_acquire)) /* then it is read no more */
            continue;
        *at->at = (nbcolli_relays_fragment){.operation = NBCOLLI_RELAYS_BROKEN, .bytes = r->status};
        atomic_store_explicit(&at->is_out, 1, memory_order_relaxed); /* its callback is called after the start */
        if (nbcoll_start(&at->request) == NBCOLL_OK)
            is_told = 1;
        else
            atomic_store_explicit(&at->is_out, 0, memory_order_relaxed); /* no callback is */
    }
    if (!is_told)
        nbcolli_relays_break_flow(r, flow);
    return nbcolli_relays_are_revoked(r);
}

void nbcolli_relays_move_on(nbcoll_relays *r)
{
    nbcolli_relays_move(r);
    if (nbcolli_relays_carry(r) || r->status == NBCOLL_OK || r->status == NBCOLL_PENDING)
        return;
    nbcolli_relays_break(r);
    nbcoll_progress(r->context); /* others may wait for what is left, though nothing here does */
}

/* ---- waiting ----------------------------------------------------------------------------------------------------- */

int nbcolli_relays_pause(nbcoll_relays *r, nbcolli_waiter *w, uint64_t deadline)
{
    if (!nbcolli_waiter_pause(w, &r->context, 1, nbcolli_time_left(&r->arena.host, deadline, UINT64_MAX)))
        return 0;
    if (nbcolli_waiter_passes(w)) /* its driver leaves them to this wait */
        nbcoll_progress(r->context);
    return 1;
}
