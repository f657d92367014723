/* SPDX-License-Identifier: BSD-3-Clause
 * Who is late, of what the ranks have noted so far: a rank that waits for nobody, and for which another one waits,
 * itself or since a third one that it waits for does; and a rank that has noted nothing, where others have. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <nbcoll/timeline.h>

#include "run.h"
#include "timeline.h"

/* An operation that waits. */
typedef struct pending {
    uint64_t comm, tag;
    int peer;
    char name[TIMELINE_NAME];
} pending;

typedef struct waits {
    int ranks;
    pending *pending; /* of the rank that is read */
    size_t count, room;
    pending first[NBCOLL_SHM_RANKS]; /* of each: its oldest one; peer -1: there is none */
    unsigned char has_come[NBCOLL_SHM_RANKS];
    unsigned char on[NBCOLL_SHM_RANKS][NBCOLL_SHM_RANKS]; /* a rank, and for whom it waits */
} waits;

static void note(void *user, const nbcoll_timeline_event *e)
{
    waits *w = user;
    size_t i = 0;
    if (e->noted != NBCOLL_NOTED_WAITS)
        return;
    while (i < w->count && (w->pending[i].comm != e->comm || w->pending[i].tag != e->tag))
        i++;
    if (e->peer < 0 || e->peer >= w->ranks) { /* it is over */
        if (i < w->count)
            memmove(&w->pending[i], &w->pending[i + 1], (--w->count - i) * sizeof *w->pending);
        return;
    }
    pending one = {e->comm, e->tag, e->peer, ""};
    memcpy(one.name, e->name, TIMELINE_NAME - 1);
    if (i < w->count)
        w->pending[i] = one;
    else
        command_append(&w->pending, &w->count, &w->room, &one, sizeof one); /* without memory it is not told */
}

static void read_rank(waits *w, const run_plan *plan, int rank)
{
    uint64_t told = 0;
    w->count = 0;
    w->first[rank].peer = -1;
    if (nbcoll_timeline_read(plan->recording, rank, &told, note, w) != NBCOLL_OK)
        return;
    w->has_come[rank] = told > 0;
    if (w->count)
        w->first[rank] = w->pending[0];
    for (size_t i = 0; i < w->count; i++)
        if (w->pending[i].peer != rank)
            w->on[rank][w->pending[i].peer] = 1;
}

/* Marks whom they wait for through each other. */
static void close_over(waits *w)
{
    for (int through = 0; through < w->ranks; through++)
        for (int rank = 0; rank < w->ranks; rank++)
            for (int peer = 0; w->on[rank][through] && peer < w->ranks; peer++)
                w->on[rank][peer] |= w->on[through][peer];
}

static void add_late(const waits *w, int late, char *text, size_t size)
{
    const char *before = ", for which wait";
    int is_new = 1;
    for (int rank = 0; w->has_come[late] && rank < w->ranks; rank++) {
        if (rank == late || !w->on[rank][late])
            continue;
        if (is_new)
            command_add(text, size, "%srank %d", *text ? "; " : "", late);
        const pending *first = &w->first[rank]; /* named operation/algorithm */
        command_add(text, size, "%s %d (in %.*s, operation %llu)", is_new ? before : ",", rank,
            (int)strcspn(first->name, "/"), first->name, (unsigned long long)first->tag);
        is_new = 0;
    }
    if (!w->has_come[late])
        command_add(text, size, "%srank %d, which has not come to nbcoll_launch_join", *text ? "; " : "", late);
}

int run_record(run_plan *plan)
{
    plan->recording = memfd_create("nbcoll recording", MFD_CLOEXEC);
    if (plan->recording >= 0 && nbcoll_timeline_create(plan->recording, plan->ranks) == NBCOLL_OK)
        return 0;
    if (plan->recording >= 0)
        close(plan->recording);
    plan->recording = -1;
    return -1;
}

const char *run_late(const run_plan *plan, char *text, size_t size)
{
    waits *w = plan->recording >= 0 ? calloc(1, sizeof *w) : NULL;
    *text = 0;
    if (!w)
        return text;
    w->ranks = plan->ranks;
    for (int rank = 0; rank < w->ranks; rank++)
        read_rank(w, plan, rank);
    close_over(w);
    for (int late = 0; late < w->ranks && memchr(w->has_come, 1, sizeof w->has_come); late++)
        if (w->first[late].peer < 0)
            add_late(w, late, text, size);
    free(w->pending);
    free(w);
    return text;
}
