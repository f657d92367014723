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
    size_t at;    /* the event that is read */
    json_t *head; /* of the arrow whose other end comes next, or null */
} reading;

static int refuse(const reading *r, const char *what)
{
    return command_refuse(r->self, "%s: event %zu: %s", r->file, r->at, what);
}

/* A whole number of 0..most, or else 0. */
static int take_number(const reading *r, const json_t *from, const char *name, long long most, long long *out)
{
    char what[80];
    const json_t *value = json_object_get(from, name);
    *out = 0;
    if (json_is_integer(value) && json_integer_value(value) >= 0 && json_integer_value(value) <= most) {
        *out = json_integer_value(value);
        return 0;
    }
    snprintf(what, sizeof what, "\"%s\" is missing, or no whole number of 0..%lld", name, most);
    return refuse(r, what);
}

/* Microseconds, as ns. */
static int take_time(const reading *r, const json_t *from, const char *name, uint64_t *out)
{
    char what[80];
    const json_t *value = json_object_get(from, name);
    double us = json_number_value(value);
    if (json_is_number(value) && us >= 0 && us < TIMELINE_US) {
        *out = (uint64_t)llround(us * 1e3);
        return 0;
    }
    snprintf(what, sizeof what, "\"%s\" is missing, or no time", name);
    return refuse(r, what);
}

static int take_kind(const reading *r, const json_t *name, nbcoll_kind *out)
{
    const char *text = json_string_value(name);
    for (int kind = 0; text && kind < NBCOLL_KIND_COUNT; kind++)
        if (strcmp(text, nbcoll_kind_name((nbcoll_kind)kind)) == 0) {
            *out = (nbcoll_kind)kind;
            return 0;
        }
    return refuse(r, "no such kind of step");
}

static int take_place(const reading *r, const json_t *event, int *rank, uint64_t *ns)
{
    long long number;
    int status = take_number(r, event, "tid", r->t->ranks - 1, &number);
    if (!status)
        status = take_time(r, event, "ts", ns);
    if (!status)
        *rank = (int)number;
    return status;
}

/* Its operation and, where it is a step's, that. */
static int take_arguments(const reading *r, const json_t *event, int has_step, nbcoll_sim_event *e)
{
    const json_t *arguments = json_object_get(event, "args");
    long long operation, step = 0, bytes = 0;
    int status = take_number(r, arguments, "operation", MOST_OPERATIONS, &operation);
    if (!status && has_step)
        status = take_number(r, arguments, "step", UINT32_MAX, &step);
    if (!status && has_step)
        status = take_number(r, arguments, "bytes", INT64_MAX, &bytes);
    if (status)
        return status;
    e->operation = (uint32_t)operation;
    e->step = (nbcoll_step)step;
    e->bytes = (uint64_t)bytes;
    return 0;
}

static int take_name(const reading *r, uint32_t operation, const char *name)
{
    timeline *t = r->t;
    if (operation >= t->operations) {
        size_t operations = 2 * ((size_t)operation + 1);
        void *more = realloc(t->name, operations * sizeof *t->name);
        if (!more)
            return command_refuse(r->self, "no memory"), COMMAND_FAILED;
        t->name = more;
        memset(t->name + t->operations, 0, (operations - t->operations) * sizeof *t->name);
        t->operations = operations;
    }
    snprintf(t->name[operation], sizeof t->name[operation], "%.*s", TIMELINE_NAME - 1, name);
    return 0;
}

static int take_mark(const reading *r, const json_t *event)
{
    nbcoll_sim_event e = {.peer = -1};
    const char *name = json_string_value(json_object_get(event, "name"));
    if (!name || (strcmp(name, "start") != 0 && strcmp(name, "end") != 0))
        return refuse(r, "a mark that is neither start nor end");
    e.what = *name == 's' ? NBCOLL_SIM_STARTED : NBCOLL_SIM_ENDED;
    int status = take_place(r, event, &e.rank, &e.begin);
    if (!status)
        status = take_arguments(r, event, 0, &e);
    const char *of = json_string_value(json_object_get(json_object_get(event, "args"), "of"));
    if (!status && of)
        status = take_name(r, e.operation, of);
    e.end = e.begin;
    if (!status)
        timeline_add(r->t, &e);
    return status;
}

static int take_step(const reading *r, const json_t *event)
{
    nbcoll_sim_event e = {.what = NBCOLL_SIM_STEP, .peer = -1};
    const char *cat = json_string_value(json_object_get(event, "cat"));
    uint64_t ns = 0;
    if (cat && strcmp(cat, "wait") == 0) /* it is found again */
        return 0;
    int status = take_place(r, event, &e.rank, &e.begin);
    if (!status)
        status = take_time(r, event, "dur", &ns);
    if (!status)
        status = take_kind(r, json_object_get(event, "name"), &e.kind);
    if (!status)
        status = take_arguments(r, event, 1, &e);
    e.end = e.begin + ns;
    if (!status)
        timeline_add(r->t, &e);
    return status;
}

/* The two ends of an arrow follow each other. */
static int take_message(reading *r, json_t *from, const json_t *to)
{
    nbcoll_sim_event e = {.what = NBCOLL_SIM_MESSAGE};
    if (!json_equal(json_object_get(from, "id"), json_object_get(to, "id")))
        return refuse(r, "the end of another message than the one that was begun");
    int status = take_place(r, from, &e.rank, &e.begin);
    if (!status)
        status = take_arguments(r, from, 1, &e);
    if (!status)
        status = take_kind(r, json_object_get(json_object_get(from, "args"), "kind"), &e.kind);
    if (!status)
        status = take_place(r, to, &e.peer, &e.end);
    if (!status && e.end < e.begin)
        status = refuse(r, "a message that comes before it is sent");
    if (!status)
        timeline_add(r->t, &e);
    return status;
}

static int take_event(reading *r, json_t *event)
{
    const char *phase = json_string_value(json_object_get(event, "ph"));
    json_t *head = r->head;
    r->head = NULL;
    if (!phase || strlen(phase) != 1)
        return refuse(r, "\"ph\" is missing, or no letter");
    if ((*phase == 'f') != !!head)
        return refuse(r, head ? "the end of a message is missing" : "the end of a message that was not begun");
    switch (*phase) {
    case 'X':
        return take_step(r, event);
    case 'i':
        return take_mark(r, event);
    case 's':
        r->head = event;
        return 0;
    case 'f':
        return take_message(r, head, event);
    default:
        return 0; /* names, and what others add */
    }
}

static int take_all(reading *r, const json_t *all)
{
    const json_t *events = json_object_get(all, "traceEvents"), *other = json_object_get(all, "otherData");
    const json_t *ranks = json_object_get(other, "ranks"), *title = json_object_get(other, "title");
    int status = 0;
    if (!json_is_array(events) || !json_is_integer(ranks) || json_integer_value(ranks) < 1 ||
        json_integer_value(ranks) > MOST_RANKS)
        return command_refuse(r->self, "%s: no timeline: \"traceEvents\", or \"ranks\" of \"otherData\", is missing",
                              r->file);
    r->t->ranks = (int)json_integer_value(ranks);
    if (json_is_string(title))
        snprintf(r->t->title, sizeof r->t->title, "%.*s", (int)sizeof r->t->title - 1, json_string_value(title));
    for (r->at = 0; r->at < json_array_size(events) && !status; r->at++)
        status = take_event(r, json_array_get(events, r->at));
    if (!status && r->head)
        status = refuse(r, "the end of a message is missing");
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
