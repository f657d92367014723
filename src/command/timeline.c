/* SPDX-License-Identifier: BSD-3-Clause
 * Timelines: gathered, and written as a trace for Chrome and Perfetto. */
#include "timeline.h"

#include <inttypes.h>
#include <stdlib.h>

void timeline_add(timeline *t, const nbcoll_sim_event *event)
{
    nbcoll_sim_event *more = command_grow(t->event, t->used, &t->room, sizeof *more);
    t->has_failed |= !more;
    if (!more)
        return;
    t->event = more;
    t->event[t->used++] = *event;
}

void timeline_free(timeline *t)
{
    free(t->event);
    free(t->name);
}

static int by_begin(const void *a, const void *b)
{
    static const int order[] = {
        [NBCOLL_SIM_STARTED] = 0, [NBCOLL_SIM_STEP] = 1, [NBCOLL_SIM_MESSAGE] = 2, [NBCOLL_SIM_ENDED] = 3};
    const nbcoll_sim_event *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    if (x->what != y->what)
        return order[x->what] - order[y->what];
    if (x->operation != y->operation)
        return x->operation < y->operation ? -1 : 1;
    return x->step < y->step ? -1 : x->step > y->step;
}

void timeline_sort(timeline *t)
{
    if (t->used)
        qsort(t->event, t->used, sizeof *t->event, by_begin);
}

uint64_t timeline_given(const timeline *t, size_t message)
{
    const nbcoll_sim_event *m = &t->event[message];
    for (size_t i = message; i--;)
        if (t->event[i].what == NBCOLL_SIM_STEP && t->event[i].rank == m->rank && t->event[i].end <= m->begin)
            return t->event[i].end;
    return m->begin;
}

/* ---- Chrome's trace format ------------------------------------------------------------------------------------- */

static int node_of(const timeline *t, int rank)
{
    return t->nodes ? nbcoll_node_of(t->nodes, rank) : 0;
}

/* As JSON has it, of ASCII. */
static void write_text(FILE *out, const char *text)
{
    for (const char *c = text; *c; c++)
        fputc(*c < ' ' || *c > '~' || *c == '"' || *c == '\\' ? '?' : *c, out);
}

/* One line; times are microseconds there. Nodes are its processes, ranks its threads. */
static void begin_line(const timeline *t, FILE *out, const char *phase, int rank, uint64_t ns)
{
    fprintf(out, ",\n{\"ph\":\"%s\",\"pid\":%d,\"tid\":%d,\"ts\":%" PRIu64 ".%03" PRIu64, phase, node_of(t, rank), rank,
            ns / 1000, ns % 1000);
}

static void write_step(const timeline *t, FILE *out, const nbcoll_sim_event *e)
{
    uint64_t ns = e->end - e->begin;
    begin_line(t, out, "X", e->rank, e->begin);
    fprintf(out, ",\"dur\":%" PRIu64 ".%03" PRIu64 ",\"cat\":\"step\",\"name\":\"%s\"", ns / 1000, ns % 1000,
            nbcoll_kind_name(e->kind));
    fprintf(out, ",\"args\":{\"operation\":%u,\"step\":%u,\"bytes\":%" PRIu64, (unsigned)e->operation,
            (unsigned)e->step, e->bytes);
    if (e->peer >= 0)
        fprintf(out, ",\"peer\":%d", e->peer);
    fputs("}}", out);
}

static void write_message(const timeline *t, FILE *out, const nbcoll_sim_event *e, size_t id)
{
    const char *name = timeline_is_missing(e) ? "never came" : "message";
    begin_line(t, out, "s", e->rank, e->begin);
    fprintf(out,
            ",\"id\":%zu,\"cat\":\"message\",\"name\":\"%s\",\"args\":{\"kind\":\"%s\",\"operation\":%u,"
            "\"step\":%u,\"bytes\":%" PRIu64 "}}",
            id, name, nbcoll_kind_name(e->kind), (unsigned)e->operation, (unsigned)e->step, e->bytes);
    begin_line(t, out, "f", e->peer, e->end);
    fprintf(out, ",\"id\":%zu,\"cat\":\"message\",\"name\":\"%s\",\"bp\":\"e\"}", id, name);
}

static void write_mark(const timeline *t, FILE *out, const nbcoll_sim_event *e)
{
    begin_line(t, out, "i", e->rank, e->begin);
    fprintf(out, ",\"s\":\"t\",\"name\":\"%s\",\"args\":{\"operation\":%u",
            e->what == NBCOLL_SIM_STARTED ? "start" : "end", (unsigned)e->operation);
    if (e->operation < t->operations) {
        fputs(",\"of\":\"", out);
        write_text(out, t->name[e->operation]);
        fputc('"', out);
    }
    fputs("}}", out);
}

/* A slice that says whom the rank waited for. */
static void write_wait(const timeline *t, FILE *out, const timeline_wait *w)
{
    uint64_t ns = w->end - w->begin;
    begin_line(t, out, "X", w->rank, w->begin);
    fprintf(out, ",\"dur\":%" PRIu64 ".%03" PRIu64 ",\"cat\":\"wait\",\"name\":\"wait", ns / 1000, ns % 1000);
    if (w->message >= 0)
        fprintf(out, " for rank %d", t->event[w->message].rank);
    fprintf(out, "\",\"args\":{\"operation\":%u}}", (unsigned)w->operation);
}

nbcoll_status timeline_chrome(void *user, FILE *out)
{
    const timeline *t = user;
    timeline_waits waits;
    fprintf(out, "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"ranks\":%d,\"title\":\"", t->ranks);
    write_text(out, t->title);
    fputs("\"},\"traceEvents\":[\n", out);
    for (int rank = 0; rank < t->ranks; rank++)
        fprintf(out, "%s{\"ph\":\"M\",\"pid\":%d,\"tid\":%d,\"name\":\"thread_name\",\"args\":{\"name\":\"rank %d\"}}",
                rank ? ",\n" : "", node_of(t, rank), rank, rank);
    for (size_t i = 0; i < t->used; i++)
        if (t->event[i].what == NBCOLL_SIM_STEP)
            write_step(t, out, &t->event[i]);
        else if (t->event[i].what == NBCOLL_SIM_MESSAGE)
            write_message(t, out, &t->event[i], i);
        else
            write_mark(t, out, &t->event[i]);
    if (timeline_waits_find(t, &waits) == 0)
        for (size_t i = 0; i < waits.waits; i++)
            write_wait(t, out, &waits.wait[i]);
    timeline_waits_free(&waits);
    fputs("\n]}\n", out);
    return NBCOLL_OK;
}
