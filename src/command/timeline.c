/* SPDX-License-Identifier: BSD-3-Clause
 * Timelines: gathered, and written as a trace for Chrome and Perfetto. */
#include "timeline.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void timeline_add(timeline *t, const nbcoll_sim_event *event)
{
    t->has_failed |= command_append(&t->event, &t->used, &t->room, event, sizeof *event) < 0;
}

void timeline_free(timeline *t)
{
    free(t->event);
    free(t->name);
}

int timeline_order(const uint64_t a[], const uint64_t b[], int n)
{
    int i = 0;
    while (i < n - 1 && a[i] == b[i])
        i++;
    return (a[i] > b[i]) - (a[i] < b[i]);
}

size_t timeline_first(const void *wanted, const void *list, size_t n, size_t bytes,
                      int (*compare)(const void *a, const void *b))
{
    size_t low = 0;
    while (low < n) {
        size_t middle = low + (n - low) / 2;
        if (compare((const char *)list + middle * bytes, wanted) < 0)
            low = middle + 1;
        else
            n = middle;
    }
    return low;
}

static int by_begin(const void *a, const void *b)
{
    static const uint64_t order[] = {
        [NBCOLL_SIM_STARTED] = 0, [NBCOLL_SIM_STEP] = 1, [NBCOLL_SIM_MESSAGE] = 2, [NBCOLL_SIM_ENDED] = 3};
    const nbcoll_sim_event *x = a, *y = b;
    return timeline_order((uint64_t[]){x->begin, order[x->what], x->operation, x->step},
                          (uint64_t[]){y->begin, order[y->what], y->operation, y->step}, 4);
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

/* What JSON takes as it is. */
static char *plain(char *text)
{
    for (char *c = text; *c; c++)
        *c = *c < ' ' || *c > '~' || *c == '"' || *c == '\\' ? '?' : *c;
    return text;
}

/* One line, with more members behind those that all have. Nodes are a trace's processes, ranks its threads. */
__attribute__((format(printf, 8, 9))) static void write_line(const timeline *t, FILE *out, const char *phase, int rank,
                                                             uint64_t ns, const char *category, const char *name,
                                                             const char *more, ...)
{
    va_list arguments;
    fprintf(out, ",\n{\"ph\":\"%s\",\"pid\":%d,\"tid\":%d,\"ts\":%.3f,\"cat\":\"%s\",\"name\":\"%s\",", phase,
            t->nodes ? nbcoll_node_of(t->nodes, rank) : 0, rank, in_us(ns), category, name);
    va_start(arguments, more);
    vfprintf(out, more, arguments);
    va_end(arguments);
    fputc('}', out);
}

static void write_event(const timeline *t, FILE *out, const nbcoll_sim_event *e)
{
    char of[TIMELINE_NAME] = "", arguments[256];
    const char *kind = nbcoll_kind_name(e->kind), *name = timeline_is_missing(e) ? "never came" : "message";
    size_t id = (size_t)(e - t->event);
    if (e->operation < t->operations)
        memcpy(of, t->name[e->operation], sizeof of);
    snprintf(arguments, sizeof arguments, "\"operation\":%u,\"kind\":\"%s\",\"step\":%u,\"bytes\":%llu,\"peer\":%d",
             (unsigned)e->operation, kind, (unsigned)e->step, (unsigned long long)e->bytes, e->peer);
    switch (e->what) {
    case NBCOLL_SIM_STEP:
        write_line(t, out, "X", e->rank, e->begin, "step", kind, "\"dur\":%.3f,\"args\":{%s}", in_us(e->end - e->begin),
                   arguments);
        break;
    case NBCOLL_SIM_MESSAGE: /* an arrow */
        write_line(t, out, "s", e->rank, e->begin, "message", name, "\"id\":%zu,\"args\":{%s,\"end\":%.3f}", id,
                   arguments, in_us(e->end));
        write_line(t, out, "f", e->peer, e->end, "message", name, "\"id\":%zu,\"bp\":\"e\"", id);
        break;
    default:
        write_line(t, out, "i", e->rank, e->begin, "mark", e->what == NBCOLL_SIM_STARTED ? "start" : "end",
                   "\"s\":\"t\",\"args\":{\"operation\":%u,\"of\":\"%s\"}", (unsigned)e->operation, plain(of));
    }
}

/* A slice that says whom the rank waited for. */
static void write_wait(const timeline *t, FILE *out, const timeline_wait *w)
{
    char name[32] = "wait";
    if (w->message >= 0)
        command_add(name, sizeof name, " for rank %d", t->event[w->message].rank);
    write_line(t, out, "X", w->rank, w->begin, "wait", name, "\"dur\":%.3f,\"args\":{\"operation\":%u}",
               in_us(w->end - w->begin), (unsigned)w->operation);
}

nbcoll_status timeline_chrome(void *user, FILE *out)
{
    timeline *t = user;
    timeline_waits waits;
    fprintf(out, "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"ranks\":%d,\"title\":\"%s\"},\"traceEvents\":[\n"
            "{\"ph\":\"M\",\"pid\":0,\"name\":\"process_name\",\"args\":{\"name\":\"nbcoll\"}}",
            t->ranks, plain(t->title));
    for (int rank = 0; rank < t->ranks; rank++)
        write_line(t, out, "M", rank, 0, "name", "thread_name", "\"args\":{\"name\":\"rank %d\"}", rank);
    for (size_t i = 0; i < t->used; i++)
        write_event(t, out, &t->event[i]);
    if (timeline_waits_find(t, &waits) == 0)
        for (size_t i = 0; i < waits.waits; i++)
            write_wait(t, out, &waits.wait[i]);
    timeline_waits_free(&waits);
    fputs("\n]}\n", out);
    return NBCOLL_OK;
}
