/* SPDX-License-Identifier: BSD-3-Clause
 * Timelines of `nbcoll sim`: gathered, then written as a trace for Chrome and Perfetto, or drawn (sim_svg.c). */
#include <inttypes.h>
#include <stdlib.h>

#include "sim.h"

void sim_timeline_add(sim_timeline *t, const nbcoll_sim_event *event)
{
    if (t->used == t->room) {
        size_t room = t->room ? 2 * t->room : 256;
        nbcoll_sim_event *more = realloc(t->event, room * sizeof *more);
        t->has_failed |= !more;
        if (!more)
            return;
        t->event = more;
        t->room = room;
    }
    t->event[t->used++] = *event;
}

uint64_t sim_timeline_given(const sim_timeline *t, size_t message)
{
    const nbcoll_sim_event *m = &t->event[message];
    for (size_t i = message; i--;)
        if (t->event[i].what == NBCOLL_SIM_STEP && t->event[i].rank == m->rank && t->event[i].end <= m->begin)
            return t->event[i].end;
    return m->begin;
}

/* ---- Chrome's trace format ------------------------------------------------------------------------------------- */

/* One line; times are microseconds there. Nodes are its processes, ranks its threads. */
static void chrome_line(const sim_timeline *t, FILE *out, const char *phase, int rank, uint64_t ns)
{
    fprintf(out, ",\n{\"ph\":\"%s\",\"pid\":%d,\"tid\":%d,\"ts\":%" PRIu64 ".%03" PRIu64, phase,
            nbcoll_node_of(t->nodes, rank), rank, ns / 1000, ns % 1000);
}

static void chrome_event(const sim_timeline *t, FILE *out, size_t id)
{
    const nbcoll_sim_event *e = &t->event[id];
    uint64_t ns = e->end - e->begin;
    switch (e->what) {
    case NBCOLL_SIM_STEP:
        chrome_line(t, out, "X", e->rank, e->begin);
        fprintf(out, ",\"dur\":%" PRIu64 ".%03" PRIu64 ",\"name\":\"%s\"", ns / 1000, ns % 1000,
                nbcoll_kind_name(e->kind));
        fprintf(out, ",\"args\":{\"operation\":%u,\"step\":%u,\"bytes\":%" PRIu64, (unsigned)e->operation,
                (unsigned)e->step, e->bytes);
        if (e->peer >= 0)
            fprintf(out, ",\"peer\":%d", e->peer);
        fputs("}}", out);
        break;
    case NBCOLL_SIM_MESSAGE:
        chrome_line(t, out, "s", e->rank, e->begin);
        fprintf(out, ",\"id\":%zu,\"cat\":\"message\",\"name\":\"message\"}", id);
        chrome_line(t, out, "f", e->peer, e->end);
        fprintf(out, ",\"id\":%zu,\"cat\":\"message\",\"name\":\"message\",\"bp\":\"e\"}", id);
        break;
    default:
        chrome_line(t, out, "i", e->rank, e->begin);
        fprintf(out, ",\"s\":\"t\",\"name\":\"%s\"}", e->what == NBCOLL_SIM_STARTED ? "start" : "end");
    }
}

void sim_timeline_chrome(const sim_timeline *t, FILE *out)
{
    fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n", out);
    for (int rank = 0; rank < t->ranks; rank++)
        fprintf(out, "%s{\"ph\":\"M\",\"pid\":%d,\"tid\":%d,\"name\":\"thread_name\",\"args\":{\"name\":\"rank %d\"}}",
                rank ? ",\n" : "", nbcoll_node_of(t->nodes, rank), rank, rank);
    for (size_t i = 0; i < t->used; i++)
        chrome_event(t, out, i);
    fputs("\n]}\n", out);
}
