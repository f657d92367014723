/* SPDX-License-Identifier: BSD-3-Clause */
#include "staging.h"

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
    if (active && active->tag == one->tag) /* its copying may go on, though its readers have failed */
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

/* Where so many bytes are free behind the last ones; SIZE_MAX: nowhere. On an empty staging buffer, too, the next copy
 * goes behind the last, not over it: readers' caches still hold those lines. Not so (`is_again`) for copies larger than
 * such caches, nor if ranks take turns on a core, whose cache then has what another rank has just stored. */
#define NBCOLLI_STAGING_ROUND ((size_t)2 << 20)
static size_t nbcolli_staging_room(const nbcolli_staging *s, size_t bytes, int is_again)
{
    uint32_t last = (s->first + s->count + NBCOLLI_MOST_STAGED - 1) % NBCOLLI_MOST_STAGED;
    size_t begin = s->one[s->first].begin, end = s->one[last].end;

    if (s->count == NBCOLLI_MOST_STAGED || bytes > s->bytes)
        return SIZE_MAX;
    if (!s->count)
        return is_again || end + bytes > NBCOLLI_STAGING_ROUND || end + bytes > s->bytes ? 0 : end;
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

/* If a get takes less time than both copies, copying a long part pays only if its owner has less to do than its
 * readers: these combine the parts, or read those of all ranks; or the owner only exposes, and the parts exceed the
 * caches, where two cores copy faster than one. */
static int nbcolli_is_worth_both(const nbcolli_run *run, size_t part)
{
    return part <= run->comm->link->first->staging.part || run->schedule->converges ||
           (nbcolli_only_exposes(run) && part >= NBCOLLI_STAGING_BEYOND);
}

/* Do rings pay? Both sides copy at the same time, and a part for several readers is copied once. An owner that has
 * copies of its own to make lends to an only reader, which copies meanwhile. */
static int nbcolli_is_worth_rings(const nbcolli_run *run, const nbcoll_step_view *v)
{
    return v->part_count > 1 || run->schedule->converges || nbcolli_only_exposes(run);
}

/* Copying parts that differ does not pay if only their readers would copy otherwise: all would wait for their owner,
 * who copies alone what each of them could get for itself. */
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

/* Do readers follow the copy while it is made? It is one part, for all of them. Not if the owner fetches, too: then all
 * ranks copy first, and would read what others are writing. */
static int nbcolli_is_followed(const nbcolli_run *run, const nbcoll_step_view *v, size_t bytes)
{
    return bytes >= NBCOLLI_STAGING_FILLS && nbcolli_copy_group(v, 0) == v->part_count && !run->schedule->fetches;
}

#define NBCOLLI_STREAM_LEAST ((size_t)8 << 10) /* bytes of a ring: with a shorter one ranks would wait for each other */

/* The bytes of the staging buffer for an exposure's streams, at most `most`; 0: it is not streamed. *window: bytes of
 * each ring. */
static size_t nbcolli_stream_bytes(const nbcolli_run *run, const nbcoll_step_view *v, size_t most, size_t *window)
{
    size_t unit = run->schedule->unit, heads = v->part_count * sizeof(nbcolli_stream), rings = 0, each = 0;

    if (!unit || run->comm->leader >= 0)
        return 0;
    for (uint32_t i = 0, end; i < v->part_count; i = end, rings++) {
        end = nbcolli_copy_group(v, i);
        if (end > i + 1 && !run->schedule->together)
            return 0;
    }
    if (most > heads)
        each = (most - heads) / rings / NBCOLLI_APART * NBCOLLI_APART;
    *window = each / unit * unit;
    return *window >= NBCOLLI_STREAM_LEAST ? heads + rings * each : 0;
}

/* Writes the streams of an op whose place in the staging buffer is op->copy, before its cell is shown. */
static void nbcolli_streams_begin(nbcolli_op *op, size_t window)
{
    const nbcoll_step_view *v = &op->run->schedule->step[op->step];
    nbcolli_stream *s = (nbcolli_stream *)(void *)op->copy;
    size_t at = v->part_count * sizeof *s, each = nbcolli_apart(window);

    op->stream = s;
    op->window = window;
    op->turn = 0;
    for (uint32_t i = 0, end; i < v->part_count; at += each)
        for (end = nbcolli_copy_group(v, i); i < end; i++) {
            s[i].window = window;
            s[i].at = at;
            atomic_store_explicit(&s[i].ready, 0, memory_order_relaxed); /* shown by the stamp */
            atomic_store_explicit(&s[i].through, 0, memory_order_relaxed);
        }
}

void nbcolli_staging_take(nbcolli_op *op)
{
    nbcolli_run *run = op->run;
    nbcolli_link *link = run->comm->link->first;
    nbcolli_staging *s = &link->staging;
    const nbcoll_step_view *v = &run->schedule->step[op->step];
    size_t bytes, window = 0;

    if (v->grows != NBCOLL_START || !run->comm->agreed.staging || !nbcolli_is_worth_copying(run, v, &bytes) ||
        nbcolli_area_around(link, nbcolli_resolve(run, v->parts[0].region))) /* all readers read it in place already */
        return;
    size_t share = s->bytes / (run->schedule->cells ? run->schedule->cells : 1), half = s->bytes / 2;
    size_t heads = nbcolli_is_followed(run, v, bytes) ? v->part_count * sizeof(nbcolli_stream) : 0;
    if (heads && bytes + heads <= share) {
        window = v->parts[0].region.bytes;
        bytes += heads;
    } else if (bytes + heads > share) { /* also if only the heads do not fit: rings let readers follow */
        size_t most = bytes <= share || share < half ? share : half; /* nearly all of it, where that is all but fits */
        bytes = nbcolli_is_worth_rings(run, v) ? nbcolli_stream_bytes(run, v, most, &window) : 0;
    }
    size_t room = nbcolli_apart(bytes); /* the next copy may be a stream */
    int is_large = bytes > NBCOLLI_STAGING_ROUND / 8 + heads; /* the copy, without its streams */
    nbcolli_staging_clear(link);
    size_t begin = room ? nbcolli_staging_room(s, room, is_large || nbcolli_takes_turns(run->comm->context)) : SIZE_MAX;
    if (begin == SIZE_MAX)
        return;
    s->one[(s->first + s->count++) % NBCOLLI_MOST_STAGED] =
        (nbcolli_staged){run->comm, NULL, run->tag, begin, begin + room};
    op->copy = s->base + begin;
    op->copied = 0;
    if (window)
        nbcolli_streams_begin(op, window);
    nbcolli_cell_promise(run, v); /* from now on its readers count, also if the run fails before it is shown */
}

/* Bytes, of `left`, that fit the ring of entries `i` to `end` now; if none, *reader holds it up. */
static size_t nbcolli_stream_room(const nbcolli_op *op, uint32_t i, uint32_t end, size_t ready, int *reader)
{
    const nbcolli_run *run = op->run;
    const nbcoll_step_view *v = &run->schedule->step[op->step];
    size_t room = op->window;

    for (; i < end && op->window < v->parts[i].region.bytes; i++) {
        uint64_t through = atomic_load(&op->stream[i].through); /* seq_cst: the sleeper's second look */
        size_t held = through < ready ? ready - through : 0;
        if (op->window - (held < op->window ? held : op->window) >= room || nbcolli_has_fetched(run, &v->parts[i]))
            continue;
        room = held < op->window ? op->window - held : 0;
        *reader = v->parts[i].peer;
    }
    return room;
}

/* Writes the next piece into the ring of entries `i` to `end`: its bytes. 0: there is no room, and *reader holds it up;
 * or all has been written, and *reader is as it was. */
static size_t nbcolli_stream_piece(const nbcolli_op *op, uint32_t i, uint32_t end, size_t *ready, int *reader)
{
    const nbcoll_step_view *v = &op->run->schedule->step[op->step];
    *ready = atomic_load_explicit(&op->stream[i].ready, memory_order_relaxed); /* only we write it */
    size_t left = v->parts[i].region.bytes - *ready, behind = op->window - *ready % op->window;

    if (!left)
        return 0;
    size_t room = nbcolli_stream_room(op, i, end, *ready, reader), piece = nbcolli_staging_piece(op->window);
    piece = piece < left ? piece : left;
    piece = piece < behind ? piece : behind;
    return piece <= room ? piece : 0; /* whole pieces, so that nobody is woken for a few bytes */
}

static void nbcolli_stream_copy(nbcolli_op *op, uint32_t i, uint32_t end, size_t ready, size_t bytes)
{
    nbcolli_run *run = op->run;
    const nbcoll_step_view *v = &run->schedule->step[op->step];

    nbcolli_copy_in(op, i, end, op->stream[i].at + ready % op->window, ready, bytes);
    for (; i < end; i++) {
        atomic_store(&op->stream[i].ready, ready + bytes);
        nbcolli_shared_wake(run->comm, v->parts[i].peer);
    }
    op->copied += bytes;
    nbcolli_spend(run, bytes);
}

static nbcoll_status nbcolli_streams_fill(nbcolli_op *op, int copies, int *reader)
{
    const nbcoll_step_view *v = &op->run->schedule->step[op->step];
    uint32_t idle = 0; /* entries in a row whose ring took nothing */
    int waits = -1;

    while (idle < v->part_count) {
        uint32_t i = op->turn, end = nbcolli_copy_group(v, i);
        size_t ready, piece = nbcolli_stream_piece(op, i, end, &ready, &waits);
        if (piece && !(copies && nbcolli_has_bytes(op->run)))
            return NBCOLL_AGAIN;
        if (piece)
            nbcolli_stream_copy(op, i, end, ready, piece);
        idle = piece ? 0 : idle + end - i;
        waits = piece ? -1 : waits;
        op->turn = end < v->part_count ? end : 0;
    }
    *reader = waits;
    return waits < 0 ? NBCOLL_OK : NBCOLL_PENDING;
}

nbcoll_status nbcolli_staging_fill(nbcolli_op *op, int copies, int *reader)
{
    nbcolli_run *run = op->run;
    const nbcoll_step_view *v = &run->schedule->step[op->step];
    size_t end = 0;

    if (op->stream)
        return nbcolli_streams_fill(op, copies, reader);
    for (uint32_t i = 0; i < v->part_count; i++) {
        size_t at = nbcolli_copy_at(v, i, &end), all = v->parts[i].region.bytes;
        size_t place = op->copied > at ? op->copied - at : 0, left = all > place ? all - place : 0;
        if (!left)
            continue;
        if (!copies || !nbcolli_has_bytes(run))
            return NBCOLL_AGAIN;
        size_t bytes = nbcolli_spend_piece(run, left, 64);
        nbcolli_copy_in(op, i, nbcolli_copy_group(v, i), at + place, place, bytes);
        op->copied = at + place + bytes;
        if (bytes < left)
            return NBCOLL_AGAIN;
    }
    return NBCOLL_OK;
}

/* ---- readers ----------------------------------------------------------------------------------------------------- */

nbcoll_status nbcolli_stream_find(nbcolli_op *op, const nbcolli_found *found, size_t unit)
{
    nbcoll_endpoint *ep = op->post.link->endpoint;
    const nbcoll_bulk *bulk = op->post.link->transport.bulk;
    const nbcoll_key *key = &found->place.key;
    const void *at = bulk->view ? bulk->view(ep, op->post.peer, key, found->place.offset, sizeof(nbcolli_stream))
                                : NULL;
    nbcolli_stream *s = (nbcolli_stream *)(uintptr_t)at; /* it lies in memory that all ranks write */

    if (!s)
        return NBCOLL_PENDING;
    uint64_t window = s->window, place = s->at;
    if (!window || window % unit)
        return NBCOLL_ERR_MISMATCH;
    op->found = bulk->view(ep, op->post.peer, key, place, window);
    op->window = window;
    op->ready = &s->ready;
    op->stream = window < op->run->schedule->step[op->step].write.bytes ? s : NULL;
    op->moved = 0;
    if (!op->found)
        return NBCOLL_ERR_MISMATCH;
    op->phase = NBCOLLI_USING;
    return NBCOLL_OK;
}

/* ---- the end of a communicator ----------------------------------------------------------------------------------- */

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
