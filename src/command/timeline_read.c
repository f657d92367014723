/* SPDX-License-Identifier: BSD-3-Clause
 * Reading the traces that timeline.c writes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "timeline.h"

enum { MOST_RANKS = 65536, MOST_OPERATIONS = 1 << 24 };

typedef struct reading {
    const command *self;
    const char *file;
    timeline *t;
    size_t at; /* the event that is read */
} reading;

static int refuse(const reading *r, const char *what)
{
    return command_refuse(r->self, "%s: event %zu: %s", r->file, r->at, what);
}

/* What an event says, as it is there. */
typedef struct said {
    const char *phase, *category, *name, *kind, *of;
    double begin, length, end; /* us */
    json_int_t rank, peer, operation, step, bytes;
} said;

/* 0, or COMMAND_USAGE after saying which one cannot be. */
static int check_numbers(const reading *r, const said *e)
{
    const struct {
        const char *name;
        double value, low, high;
    } numbers[] = {{"tid", (double)e->rank, 0, r->t->ranks - 1},
                   {"peer", (double)e->peer, *e->phase == 's' ? 0 : -1, r->t->ranks - 1},
                   {"operation", (double)e->operation, 0, MOST_OPERATIONS},
                   {"step", (double)e->step, 0, UINT32_MAX},
                   {"bytes", (double)e->bytes, 0, 9e18},
                   {"ts", e->begin, 0, TIMELINE_US},
                   {"dur", e->length, 0, TIMELINE_US},
                   {"end", e->end, 0, TIMELINE_US}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (!(numbers[i].value >= numbers[i].low && numbers[i].value <= numbers[i].high))
            return command_refuse(r->self, "%s: event %zu: \"%s\" is missing, or no number of %.0f..%.0f", r->file,
                                  r->at, numbers[i].name, numbers[i].low, numbers[i].high);
    return 0;
}

static uint64_t ns(double us)
{
    return (uint64_t)llround(us * 1e3);
}

static void take_name(timeline *t, uint32_t operation, const char *name)
{
    if (operation >= t->operations) {
        size_t operations = 2 * ((size_t)operation + 1);
        void *more = realloc(t->name, operations * sizeof *t->name);
        t->has_failed |= !more;
        if (!more)
            return;
        t->name = more;
        memset(t->name + t->operations, 0, (operations - t->operations) * sizeof *t->name);
        t->operations = operations;
    }
    snprintf(t->name[operation], sizeof t->name[operation], "%.*s", TIMELINE_NAME - 1, name);
}

/* Adds an event that is right, as far as its numbers go. */
static int add(const reading *r, const said *e)
{
    int is_mark = *e->phase == 'i', is_start = strcmp(e->name, "start") == 0, kind = 0;
    nbcoll_sim_event it = {.what = *e->phase == 'X' ? NBCOLL_SIM_STEP : NBCOLL_SIM_MESSAGE, .rank = (int)e->rank,
                           .peer = (int)e->peer, .step = (nbcoll_step)e->step, .bytes = (uint64_t)e->bytes,
                           .begin = ns(e->begin), .operation = (uint32_t)e->operation};
    it.end = *e->phase == 's' ? ns(e->end) : it.begin + ns(e->length);
    while (kind < NBCOLL_KIND_COUNT && strcmp(e->kind, nbcoll_kind_name((nbcoll_kind)kind)) != 0)
        kind++;
    it.kind = (nbcoll_kind)kind;
    if (is_mark && !is_start && strcmp(e->name, "end") != 0)
        return refuse(r, "a mark that is neither start nor end");
    if (is_mark)
        it.what = is_start ? NBCOLL_SIM_STARTED : NBCOLL_SIM_ENDED;
    else if (kind == NBCOLL_KIND_COUNT)
        return refuse(r, "no such kind of step");
    if (it.end < it.begin)
        return refuse(r, "a message that comes before it is sent");
    if (is_mark && e->of)
        take_name(r->t, it.operation, e->of);
    timeline_add(r->t, &it);
    return 0;
}

/* Others than these are names, the other ends of arrows, waits, which are found again, and what others add. */
static int take_event(const reading *r, json_t *event)
{
    said e = {.phase = "", .category = "", .name = "", .kind = "", .rank = -1, .peer = -1, .operation = -1};
    json_error_t error;
    if (json_unpack_ex(event, &error, 0, "{s?s, s?s}", "ph", &e.phase, "cat", &e.category))
        return refuse(r, error.text);
    if (!*e.phase || !strstr("X i s", e.phase) || strcmp(e.category, "wait") == 0)
        return 0;
    if (json_unpack_ex(event, &error, 0, "{s?I, s:F, s?F, s?s, s:{s?I, s?I, s?I, s?I, s?F, s?s, s?s}}", "tid", &e.rank,
                       "ts", &e.begin, "dur", &e.length, "name", &e.name, "args", "operation", &e.operation, "step",
                       &e.step, "bytes", &e.bytes, "peer", &e.peer, "end", &e.end, "kind", &e.kind, "of", &e.of))
        return refuse(r, error.text);
    int status = check_numbers(r, &e);
    return status ? status : add(r, &e);
}

static int take_all(reading *r, json_t *all)
{
    json_t *events = NULL;
    const char *title = "";
    json_int_t ranks = 0;
    int status = json_unpack(all, "{s:o, s:{s:I, s?s}}", "traceEvents", &events, "otherData", "ranks", &ranks, "title",
                             &title);
    if (status || !json_is_array(events) || ranks < 1 || ranks > MOST_RANKS)
        return command_refuse(r->self, "%s: no timeline: \"traceEvents\", or \"ranks\" of \"otherData\", is missing",
                              r->file);
    r->t->ranks = (int)ranks;
    snprintf(r->t->title, sizeof r->t->title, "%s", title);
    for (r->at = 0; r->at < json_array_size(events) && !status; r->at++)
        status = take_event(r, json_array_get(events, r->at));
    if (!status && r->t->has_failed)
        status = command_fail(r->self, "no memory");
    timeline_sort(r->t);
    return status;
}

int timeline_read(const command *self, const char *file, timeline *out)
{
    reading r = {.self = self, .file = file, .t = out};
    json_error_t error;
    json_t *all = json_load_file(file, 0, &error);
    *out = (timeline){0};
    if (!all && error.line < 0)
        return command_refuse(self, "%s", error.text);
    if (!all)
        return command_refuse(self, "%s:%d:%d: %s", file, error.line, error.column, error.text);
    int status = take_all(&r, all);
    json_decref(all);
    return status;
}
