/* SPDX-License-Identifier: BSD-3-Clause
 * Copies of what is exposed: see staging.h. */
#include "staging.h"

#include "cells.h"
#include "stream.h"

void nbcolli_staging_open(nbcolli_link *link)
{
    nbcoll_endpoint *ep = link->endpoint;
    nbcolli_staging *s = &link->staging;

    if (!link->transport.shared || !link->transport.bulk || !link->bulk.view || !link->limits.staging ||
        link->shared.reserve(ep, link->limits.staging, &s->at) != NBCOLL_OK)
        return;
    s->base = link->shared.map(ep, s->at, link->limits.staging);
    s->bytes = s->base ? link->limits.staging : 0;
    s->part = link->shared.staging_part ? link->shared.staging_part(ep) : 0;
    s->part = s->part && s->part < UINT32_MAX ? s->part : UINT32_MAX;
}

/* Have all readers of its cells said that they are through, or left? */
static int nbcolli_staged_is_over(const nbcolli_link *link, const nbcolli_staged *one)
{
    nbcoll_comm *comm = one->comm;

    if (!comm)
        return !one->area || nbcolli_area_is_left(link, one->area);
    const nbcolli_run *active = nbcolli_slot_of(comm, one->tag)->active;
    if (active && active->tag == one->tag) /* it may still be copied, though its readers have failed */
        return 0;
    const nbcolli_slot *slot = nbcolli_slot_of(comm, one->tag);
    return slot->exposed != one->tag + 1 || nbcolli_first_reading(comm, slot, one->tag) < 0;
}

static void nbcolli_staging_clear(nbcolli_link *link)
{
    nbcolli_staging *s = &link->staging;

    while (s->count && nbcolli_staged_is_over(link, &s->one[s->first])) {
        s->first = (s->first + 1) % NBCOLLI_MOST_STAGED;
        s->count--;
    }
}

void nbcolli_staging_close(nbcolli_link *link)
{
    nbcolli_staging_clear(link);
    if (link->staging.bytes && !link->staging.count)
        link->shared.release(link->endpoint, link->staging.at);
}

/* On an empty staging buffer: behind the last copy, so that the cache of who read that holds others when it is
 * overwritten, where a shared cache still has these. Large copies are beyond such a cache by themselves; and ranks that
 * take turns on a core find in its cache what another one has just stored. */
#define NBCOLLI_STAGING_ROUND ((size_t)2 << 20)
static size_t nbcolli_staging_next(const nbcolli_staging *s, size_t bytes, int crowded)
{
    size_t last = s->one[(s->first + NBCOLLI_MOST_STAGED - 1) % NBCOLLI_MOST_STAGED].end;
    int is_large = bytes > NBCOLLI_STAGING_ROUND / 8;

    if (bytes > s->bytes)
        return SIZE_MAX;
    return crowded || is_large || last + bytes > NBCOLLI_STAGING_ROUND || last + bytes > s->bytes ? 0 : last;
}

/* Where so many bytes are free behind the last ones; SIZE_MAX: nowhere. */
static size_t nbcolli_staging_room(const nbcolli_staging *s, size_t bytes, int crowded)
{
    if (!s->count)
        return nbcolli_staging_next(s, bytes, crowded);
    size_t begin = s->one[s->first].begin, end = s->one[(s->first + s->count - 1) % NBCOLLI_MOST_STAGED].end;
    if (s->count == NBCOLLI_MOST_STAGED)
        return SIZE_MAX;
    if (end > begin && bytes <= s->bytes - end)
        return end;
    if (end > begin)
        return bytes <= begin ? 0 : SIZE_MAX;
    return bytes <= begin - end ? end : SIZE_MAX;
}

static int nbcolli_only_exposes(const nbcolli_run *run)
{
    return run->schedule->steps == NBCOLL_END + 2;
}

/* Where a get takes less time than both copies, long parts are worth it if their owner has less to do than its readers:
 * if these combine the parts, or read those of all ranks; or if it does nothing but expose, and the parts are beyond
 * the caches, where two cores copy faster than one. */
static int nbcolli_is_worth_both(const nbcolli_run *run, size_t part)
{
    return part <= run->comm->link->first->staging.part || run->schedule->converges ||
           (nbcolli_only_exposes(run) && part >= NBCOLLI_STAGING_BEYOND);
}

/* Is it worth rings? Both sides copy at the same time there, and what several readers get is copied once. An owner with
 * copies of its own to make lends what its only reader gets: that copies meanwhile. */
static int nbcolli_is_worth_rings(const nbcolli_run *run, const nbcoll_step_view *v)
{
    return v->part_count > 1 || run->schedule->converges || nbcolli_only_exposes(run);
}

/* Of different parts a copy is worth it only if their readers are not the only ones who copy: those would all wait for
 * their owner, who copies alone what each of them could get for itself. */
static int nbcolli_is_worth_copying(const nbcolli_run *run, const nbcoll_step_view *v, size_t *bytes)
{
    size_t one = v->parts[0].region.bytes, all = 0;

    *bytes = 0;
    for (uint32_t i = 0; i < v->part_count; i++) {
        nbcolli_copy_at(v, i, bytes);
        all += v->parts[i].region.bytes;
    }
    return *bytes && nbcolli_is_worth_both(run, *bytes < one + 64 ? one : all / v->part_count) &&
           (*bytes < one + 64 || run->schedule->fetches);
}

/* Do readers follow the copy while it is made? Not those of a rank that fetches, too: there all copy at first, and
 * would read what others are writing. */
static int nbcolli_is_followed(const nbcolli_run *run, const nbcoll_step_view *v, size_t bytes)
{
    return bytes >= NBCOLLI_STAGING_FILLS && bytes < v->parts[0].region.bytes + 64 && !run->schedule->fetches;
}

void nbcolli_staging_take(nbcolli_op *op)
{
    nbcolli_run *run = op->run;
    nbcolli_link *link = run->comm->link->first;
    nbcolli_staging *s = &link->staging;
    const nbcoll_step_view *v = &run->schedule->step[op->step];
    size_t bytes, window = 0;

    if (v->grows != NBCOLL_START || !run->comm->agreed.staging || !nbcolli_is_worth_copying(run, v, &bytes) ||
        nbcolli_area_around(link, nbcolli_resolve(run, v->parts[0].region))) /* all readers find it in place already */
        return;
    size_t share = s->bytes / (run->schedule->cells ? run->schedule->cells : 1), half = s->bytes / 2;
    size_t heads = v->part_count * sizeof(nbcolli_stream);
    if (bytes + heads <= share && nbcolli_is_followed(run, v, bytes)) {
        window = v->parts[0].region.bytes;
        bytes += heads;
    } else if (bytes > share)
        bytes = nbcolli_is_worth_rings(run, v)
                    ? nbcolli_stream_bytes(run, v, share < half ? share : half, &window) : 0;
    size_t room = nbcolli_apart(bytes); /* what comes behind it may be a stream */
    nbcolli_staging_clear(link);
    size_t begin = room ? nbcolli_staging_room(s, room, nbcolli_takes_turns(run->comm->context)) : SIZE_MAX;
    if (begin == SIZE_MAX)
        return;
    s->one[(s->first + s->count++) % NBCOLLI_MOST_STAGED] =
        (nbcolli_staged){run->comm, NULL, run->tag, begin, begin + room};
    op->copy = s->base + begin;
    op->copied = 0;
    if (window)
        nbcolli_streams_begin(op, window);
    nbcolli_cell_promise(run, v); /* from now on its readers are waited for, also if the run fails before it is shown */
}

int nbcolli_staging_fill(nbcolli_op *op)
{
    nbcolli_run *run = op->run;
    const nbcoll_step_view *v = &run->schedule->step[op->step];
    size_t end = 0;

    for (uint32_t i = 0; i < v->part_count; i++) {
        size_t at = nbcolli_copy_at(v, i, &end), all = v->parts[i].region.bytes;
        size_t place = op->copied > at ? op->copied - at : 0, left = all > place ? all - place : 0;
        if (!left)
            continue;
        if (!nbcolli_has_bytes(run))
            return 0;
        size_t bytes = nbcolli_spend_piece(run, left, 64);
        nbcolli_copy_in(op, i, nbcolli_copy_group(v, i), at + place, place, bytes);
        op->copied = at + place + bytes;
        if (bytes < left)
            return 0;
    }
    return 1;
}

void nbcolli_staging_leave(nbcoll_comm *comm)
{
    nbcolli_staging *s = &comm->link->first->staging;

    nbcolli_staging_clear(comm->link->first);
    for (uint32_t i = 0; i < s->count; i++) {
        nbcolli_staged *one = &s->one[(s->first + i) % NBCOLLI_MOST_STAGED];
        if (one->comm != comm)
            continue;
        one->area = nbcolli_staged_is_over(comm->link->first, one) ? NULL : comm->offered;
        one->comm = NULL;
    }
}

void nbcolli_staging_forget(nbcolli_link *link, const nbcolli_area *area)
{
    for (uint32_t i = 0; i < NBCOLLI_MOST_STAGED; i++)
        if (link->staging.one[i].area == area)
            link->staging.one[i].area = NULL;
}
