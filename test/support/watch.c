/* SPDX-License-Identifier: BSD-3-Clause
 * See watch.h. */
#include <stdlib.h>
#include <string.h>

#include "watch.h"

static nbcoll_event *find(watch *w, const nbcoll_event *e)
{
    for (size_t i = w->count; i-- > 0;)
        if (w->open[i].tag == e->tag && w->open[i].comm == e->comm && w->open[i].step == e->step)
            return &w->open[i];
    return NULL;
}

static void on_event(void *user, const nbcoll_event *e)
{
    watch *w = user;
    nbcoll_event *known = find(w, e);

    if (e->step == NBCOLL_END) { /* the run is over: forget what it left when it failed */
        size_t kept = 0;
        for (size_t i = 0; i < w->count; i++)
            if (w->open[i].tag != e->tag || w->open[i].comm != e->comm)
                w->open[kept++] = w->open[i];
        w->count = kept;
    } else if (e->moment == NBCOLL_STEP_ENDED) {
        if (known)
            *known = w->open[--w->count];
    } else if (known) {
        *known = *e;
    } else {
        if (w->count == w->room) {
            w->room = w->room ? 2 * w->room : 256;
            w->open = realloc(w->open, w->room * sizeof *w->open);
        }
        w->open[w->count++] = *e;
    }
}

void watch_init(watch *w, int rank)
{
    memset(w, 0, sizeof *w);
    w->observer = (nbcoll_observer){sizeof w->observer, w, on_event};
    w->rank = rank;
}

void watch_free(watch *w)
{
    free(w->open);
}

void watch_dump(const watch *w, FILE *to)
{
    fprintf(to, "rank %d: %zu steps have not ended\n", w->rank, w->count);
    for (size_t i = 0; i < w->count; i++) {
        const nbcoll_event *e = &w->open[i];
        const nbcoll_step_view *v = nbcoll_schedule_step(e->schedule, e->step);
        nbcoll_schedule_info info = {.size = sizeof info};
        nbcoll_schedule_query(e->schedule, &info);
        fprintf(to, "  communicator %p tag %llu %s: step %u %s peer %d, %s\n", (const void *)e->comm,
                (unsigned long long)e->tag, info.name, e->step, nbcoll_kind_name(v->kind), v->peer,
                e->moment == NBCOLL_STEP_READY ? "ready" : "started");
    }
}
