/* SPDX-License-Identifier: BSD-3-Clause
 * Who is late, of what the ranks have recorded so far: a rank that has no operation under way, and that another one
 * waits for, by a step of its own that sends to it or takes from it, or since a third one that it waits for does. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nbcoll/timeline.h>

#include "run.h"

/* An operation that has not ended (step NBCOLL_START), or a step of one that waits for a rank. */
typedef struct pending {
    uint64_t comm, tag;
    uint32_t step;
    int peer;
} pending;

typedef struct waits {
    int ranks;
    pending *pending; /* of the rank that is read */
    size_t count, room;
    unsigned char *is_inside; /* [rank]: it has an operation under way */
    unsigned char *on;        /* [rank * ranks + peer]: it waits for that one */
} waits;

int run_waits_for(const nbcoll_timeline_event *e, int ranks)
{
    int needs_peer = e->kind == NBCOLL_RECV || e->kind == NBCOLL_FETCH || e->kind == NBCOLL_FETCH_REDUCE ||
                     e->kind == NBCOLL_SEND;
    return needs_peer && e->peer >= 0 && e->peer < ranks;
}

static void begin(waits *w, pending p)
{
    if (w->count == w->room) {
        size_t room = w->room ? 2 * w->room : 64;
        pending *more = realloc(w->pending, room * sizeof *more);
        if (!more)
            return;
        w->pending = more;
        w->room = room;
    }
    w->pending[w->count++] = p;
}

/* Of one step, or of the whole operation. */
static void end(waits *w, const nbcoll_timeline_event *e)
{
    size_t left = 0;
    for (size_t i = 0; i < w->count; i++) {
        const pending *p = &w->pending[i];
        int is_over = p->comm == e->comm && p->tag == e->tag && (e->noted == NBCOLL_NOTED_END || p->step == e->step);
        if (!is_over)
            w->pending[left++] = *p;
    }
    w->count = left;
}

static void note(void *user, const nbcoll_timeline_event *e)
{
    waits *w = user;
    if (e->noted == NBCOLL_NOTED_BEGIN)
        begin(w, (pending){e->comm, e->tag, NBCOLL_START, -1});
    else if (e->noted == NBCOLL_NOTED_STARTED && run_waits_for(e, w->ranks))
        begin(w, (pending){e->comm, e->tag, e->step, e->peer});
    else if (e->noted == NBCOLL_NOTED_ENDED || e->noted == NBCOLL_NOTED_END)
        end(w, e);
}

static void read_rank(waits *w, const run_plan *plan, int rank)
{
    w->count = 0;
    if (nbcoll_timeline_read(plan->recording, rank, NULL, note, w) != NBCOLL_OK)
        return;
    w->is_inside[rank] = w->count > 0;
    for (size_t i = 0; i < w->count; i++)
        if (w->pending[i].peer >= 0 && w->pending[i].peer != rank)
            w->on[rank * w->ranks + w->pending[i].peer] = 1;
}

/* Marks whom they wait for through each other. */
static void close_over(waits *w)
{
    for (int through = 0; through < w->ranks; through++)
        for (int rank = 0; rank < w->ranks; rank++)
            for (int peer = 0; w->on[rank * w->ranks + through] && peer < w->ranks; peer++)
                w->on[rank * w->ranks + peer] |= w->on[through * w->ranks + peer];
}

/* Gives how much it has written. */
static size_t add_late(const waits *w, int late, char *text, size_t size)
{
    size_t length = 0;
    for (int rank = 0; rank < w->ranks && length < size; rank++) {
        if (rank == late || !w->on[rank * w->ranks + late])
            continue;
        if (!length)
            length += (size_t)snprintf(text, size, "rank %d, for which wait %d", late, rank);
        else
            length += (size_t)snprintf(text + length, size - length, ", %d", rank);
    }
    return length < size ? length : size - 1;
}

const char *run_late(const run_plan *plan, char *text, size_t size)
{
    size_t ranks = (size_t)plan->ranks, length = 0;
    waits w = {.ranks = plan->ranks, .is_inside = calloc(ranks, 1), .on = calloc(ranks, ranks)};
    *text = 0;
    for (int rank = 0; plan->timeline && w.is_inside && w.on && rank < w.ranks; rank++)
        read_rank(&w, plan, rank);
    if (w.is_inside && w.on)
        close_over(&w);
    for (int late = 0; w.is_inside && w.on && late < w.ranks && length + 4 < size; late++)
        if (!w.is_inside[late]) {
            size_t before = length ? 2 : 0, more = add_late(&w, late, text + length + before, size - length - before);
            if (more && before)
                memcpy(text + length, "; ", 2);
            length += more ? before + more : 0;
            text[length] = 0;
        }
    free(w.pending);
    free(w.is_inside);
    free(w.on);
    return text;
}
