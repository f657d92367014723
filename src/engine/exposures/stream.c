/* SPDX-License-Identifier: BSD-3-Clause
 * Exposures that go through the staging buffer piece by piece: see stream.h. */
#include "stream.h"


/* ---- owners ------------------------------------------------------------------------------------------------------ */

#define NBCOLLI_STREAM_LEAST ((size_t)8 << 10) /* bytes of a ring: with a shorter one ranks would wait for each other */

size_t nbcolli_stream_bytes(const nbcolli_run *run, const nbcoll_step_view *v, size_t most, size_t *window)
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

void nbcolli_streams_begin(nbcolli_op *op, size_t window)
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

/* Bytes that may be written to the ring of the entries from `i` to `end` now, of `left`; if none, *reader is why. */
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

/* The next piece into the ring of the entries from `i` to `end`: its bytes; 0: there is no room, and *reader is why, or
 * all has been written, and *reader is as it was. */
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

nbcoll_status nbcolli_stream_fill(nbcolli_op *op, int copies, int *reader)
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
