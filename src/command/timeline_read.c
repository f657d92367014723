/* SPDX-License-Identifier: BSD-3-Clause
 * Reading the traces that timeline.c writes. */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "timeline.h"

enum { MOST_RANKS = 65536, MOST_OPERATIONS = 1 << 24 };

typedef struct reading {
    const command *self;
    const char *file;
    timeline *t;
    size_t at;    /* the event that is read */
    int status;
    const json_t *head; /* of the arrow whose other end comes next, or null */
} reading;

/* Only the first thing that is wrong is said. */
static void refuse(reading *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void refuse(reading *r, const char *format, ...)
{
    char what[120];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    if (!r->status)
        r->status = command_refuse(r->self, "%s: event %zu: %s", r->file, r->at, what);
}

/* A whole number of 0..most. */
static long long take_number(reading *r, const json_t *from, const char *name, long long most)
{
    const json_t *value = json_object_get(from, name);
    if (json_is_integer(value) && json_integer_value(value) >= 0 && json_integer_value(value) <= most)
        return json_integer_value(value);
    refuse(r, "\"%s\" is missing, or no whole number of 0..%lld", name, most);
    return 0;
}

/* Microseconds, as ns. */
static uint64_t take_time(reading *r, const json_t *from, const char *name)
{
    const json_t *value = json_object_get(from, name);
    double us = json_number_value(value);
    if (json_is_number(value) && us >= 0 && us < TIMELINE_US)
        return (uint64_t)llround(us * 1e3);
    refuse(r, "\"%s\" is missing, or no time", name);
    return 0;
}

static nbcoll_kind take_kind(reading *r, const char *text)
{
    for (int kind = 0; text && kind < NBCOLL_KIND_COUNT; kind++)
        if (strcmp(text, nbcoll_kind_name((nbcoll_kind)kind)) == 0)
            return (nbcoll_kind)kind;
    refuse(r, "no such kind of step");
    return NBCOLL_JOIN;
}

static void take_place(reading *r, const json_t *event, int *rank, uint64_t *ns)
{
    *rank = (int)take_number(r, event, "tid", r->t->ranks - 1);
    *ns = take_time(r, event, "ts");
}

/* Its operation and, where it is a step's, that. */
static void take_arguments(reading *r, const json_t *event, int has_step, nbcoll_sim_event *e)
{
    const json_t *arguments = json_object_get(event, "args");
    e->operation = (uint32_t)take_number(r, arguments, "operation", MOST_OPERATIONS);
    e->step = has_step ? (nbcoll_step)take_number(r, arguments, "step", UINT32_MAX) : 0;
    e->bytes = has_step ? (uint64_t)take_number(r, arguments, "bytes", INT64_MAX) : 0;
}

static void take_name(reading *r, uint32_t operation, const char *name)
{
    timeline *t = r->t;
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

static void take_mark(reading *r, const json_t *event)
{
    nbcoll_sim_event e = {.peer = -1};
    const char *name = row_text(event, "name"), *of = row_text(event, "args.of");
    if (!name || (strcmp(name, "start") != 0 && strcmp(name, "end") != 0)) {
        refuse(r, "a mark that is neither start nor end");
        return;
    }
    e.what = *name == 's' ? NBCOLL_SIM_STARTED : NBCOLL_SIM_ENDED;
    take_place(r, event, &e.rank, &e.begin);
    take_arguments(r, event, 0, &e);
    if (!r->status && of)
        take_name(r, e.operation, of);
    e.end = e.begin;
    timeline_add(r->t, &e);
}

static void take_step(reading *r, const json_t *event)
{
    nbcoll_sim_event e = {.what = NBCOLL_SIM_STEP, .peer = -1};
    const char *cat = row_text(event, "cat");
    if (cat && strcmp(cat, "wait") == 0) /* it is found again */
        return;
    take_place(r, event, &e.rank, &e.begin);
    e.end = e.begin + take_time(r, event, "dur");
    e.kind = take_kind(r, row_text(event, "name"));
    take_arguments(r, event, 1, &e);
    timeline_add(r->t, &e);
}

/* The two ends of an arrow follow each other. */
static void take_message(reading *r, const json_t *from, const json_t *to)
{
    nbcoll_sim_event e = {.what = NBCOLL_SIM_MESSAGE};
    if (!json_equal(json_object_get(from, "id"), json_object_get(to, "id")))
        refuse(r, "the end of another message than the one that was begun");
    take_place(r, from, &e.rank, &e.begin);
    take_arguments(r, from, 1, &e);
    e.kind = take_kind(r, row_text(from, "args.kind"));
    take_place(r, to, &e.peer, &e.end);
    if (e.end < e.begin)
        refuse(r, "a message that comes before it is sent");
    timeline_add(r->t, &e);
}

static void take_event(reading *r, const json_t *event)
{
    const char *phase = row_text(event, "ph");
    const json_t *head = r->head;
    r->head = NULL;
    if (!phase || strlen(phase) != 1)
        refuse(r, "\"ph\" is missing, or no letter");
    else if ((*phase == 'f') != !!head)
        refuse(r, head ? "the end of a message is missing" : "the end of a message that was not begun");
    else if (*phase == 'X')
        take_step(r, event);
    else if (*phase == 'i')
        take_mark(r, event);
    else if (*phase == 's')
        r->head = event;
    else if (*phase == 'f')
        take_message(r, head, event); /* others are names, and what others add */
}

static int take_all(reading *r, const json_t *all)
{
    const json_t *events = json_object_get(all, "traceEvents"), *other = json_object_get(all, "otherData");
    const json_t *ranks = json_object_get(other, "ranks"), *title = json_object_get(other, "title");
    if (!json_is_array(events) || !json_is_integer(ranks) || json_integer_value(ranks) < 1 ||
        json_integer_value(ranks) > MOST_RANKS)
        return command_refuse(r->self, "%s: no timeline: \"traceEvents\", or \"ranks\" of \"otherData\", is missing",
                              r->file);
    r->t->ranks = (int)json_integer_value(ranks);
    if (json_is_string(title))
        snprintf(r->t->title, sizeof r->t->title, "%.*s", (int)sizeof r->t->title - 1, json_string_value(title));
    for (r->at = 0; r->at < json_array_size(events) && !r->status; r->at++)
        take_event(r, json_array_get(events, r->at));
    if (r->head)
        refuse(r, "the end of a message is missing");
    if (!r->status && r->t->has_failed)
        r->status = command_fail(r->self, "no memory");
    timeline_sort(r->t);
    return r->status;
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
