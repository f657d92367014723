/* SPDX-License-Identifier: BSD-3-Clause
 * Timelines: gathered, written as a trace for Chrome and Perfetto, and read from one. */
#include <math.h>

#include "sim.h"

void timeline_add(timeline *t, const nbcoll_sim_event *event)
{
    command_append(&t->event, &t->used, &t->room, event, sizeof *event);
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

static int by_numbers(const void *a, const void *b, void *numbers)
{
    return timeline_order(a, b, *(const int *)numbers);
}

void timeline_order_all(void *list, size_t n, size_t bytes, int numbers)
{
    if (n)
        qsort_r(list, n, bytes, by_numbers, &numbers);
}

size_t timeline_first(const void *wanted, const void *list, size_t n, size_t bytes, int numbers)
{
    size_t low = 0;
    while (low < n) {
        size_t middle = low + (n - low) / 2;
        if (by_numbers((const char *)list + middle * bytes, wanted, &numbers) < 0)
            low = middle + 1;
        else
            n = middle;
    }
    return low;
}

const void *timeline_find(const void *wanted, const void *list, size_t n, size_t bytes, int numbers)
{
    size_t i = timeline_first(wanted, list, n, bytes, numbers);
    const void *found = i < n ? (const char *)list + i * bytes : NULL;
    return found && by_numbers(found, wanted, &numbers) == 0 ? found : NULL;
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

/* ---- Chrome's trace format --------------------------------------------------------------------------------------- */

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
    write_line(t, out, "X", (int)w->rank, w->begin, "wait", name, "\"dur\":%.3f,\"args\":{\"operation\":%u}",
               in_us(w->end - w->begin), (unsigned)w->operation);
}

void timeline_chrome(void *user, FILE *out)
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
    timeline_waits_find(t, &waits);
    for (size_t i = 0; i < waits.waits; i++)
        write_wait(t, out, &waits.wait[i]);
    timeline_waits_free(&waits);
    fputs("\n]}\n", out);
}

/* ---- reading what is written so ---------------------------------------------------------------------------------- */

enum { MOST_OPERATIONS = 1 << 24 };

typedef struct reading {
    const command *self;
    const char *file;
    timeline *t;
    size_t at; /* the event that is read */
} reading;

static _Noreturn void refuse(const reading *r, const char *what)
{
    command_refuse(r->self, "%s: event %zu: %s", r->file, r->at, what);
}

enum { RANK, PEER, OPERATION, STEP, BYTES, BEGIN, LENGTH, END, NUMBERS };

/* The numbers of an event, as they are there; times in us. */
static void take_numbers(const reading *r, const json_t *event, int is_message, double is[NUMBERS])
{
    const double ranks = r->t->ranks;
    const struct {
        const char *name;
        double usual, low, high; /* usual: where it is not there */
    } numbers[NUMBERS] = {
        [RANK] = {"tid", -1, 0, ranks - 1},      [PEER] = {"peer", -1, is_message ? 0 : -1, ranks - 1},
        [STEP] = {"step", 0, 0, UINT32_MAX},     [OPERATION] = {"operation", -1, 0, MOST_OPERATIONS},
        [BYTES] = {"bytes", 0, 0, 9e18},         [BEGIN] = {"ts", -1, 0, TIMELINE_US},
        [LENGTH] = {"dur", 0, 0, TIMELINE_US},   [END] = {"end", 0, 0, TIMELINE_US}};
    for (int i = 0; i < NUMBERS; i++) {
        const json_t *there = json_object_get(event, numbers[i].name);
        if (!there)
            there = json_object_get(json_object_get(event, "args"), numbers[i].name);
        is[i] = !there ? numbers[i].usual : json_is_number(there) ? json_number_value(there) : NAN;
        if (!(is[i] >= numbers[i].low && is[i] <= numbers[i].high))
            command_refuse(r->self, "%s: event %zu: \"%s\" is missing, or no number of %.0f..%.0f", r->file, r->at,
                           numbers[i].name, numbers[i].low, numbers[i].high);
    }
}

static uint64_t ns(double us)
{
    return (uint64_t)llround(us * 1e3);
}

static void take_name(timeline *t, uint32_t operation, const char *name)
{
    static const char none[TIMELINE_NAME];
    while (operation >= t->operations)
        command_append(&t->name, &t->operations, &t->names, none, sizeof none);
    snprintf(t->name[operation], sizeof t->name[operation], "%.*s", TIMELINE_NAME - 1, name);
}

/* Others than these are names, the other ends of arrows, waits, which are found again, and what others add. */
static void take_event(const reading *r, const json_t *event)
{
    const char *phase = row_text(event, "ph"), *name = row_text(event, "name"), *of = row_text(event, "args.of");
    int is_mark = *phase == 'i', is_message = *phase == 's', is_start = strcmp(name, "start") == 0, kind = 0;
    double is[NUMBERS];
    if (!(is_mark || is_message || *phase == 'X') || phase[1] || row_is(event, "cat", "wait"))
        return;
    take_numbers(r, event, is_message, is);
    nbcoll_sim_event it = {.what = is_message ? NBCOLL_SIM_MESSAGE : NBCOLL_SIM_STEP, .rank = (int)is[RANK],
                           .peer = (int)is[PEER], .step = (nbcoll_step)is[STEP], .bytes = (uint64_t)is[BYTES],
                           .begin = ns(is[BEGIN]), .operation = (uint32_t)is[OPERATION]};
    it.end = is_message ? ns(is[END]) : it.begin + ns(is[LENGTH]);
    while (kind < NBCOLL_KIND_COUNT && !row_is(event, "args.kind", nbcoll_kind_name((nbcoll_kind)kind)))
        kind++;
    it.kind = (nbcoll_kind)kind;
    if (is_mark && !is_start && strcmp(name, "end") != 0)
        refuse(r, "a mark that is neither start nor end");
    if (is_mark)
        it.what = is_start ? NBCOLL_SIM_STARTED : NBCOLL_SIM_ENDED;
    else if (kind == NBCOLL_KIND_COUNT)
        refuse(r, "no such kind of step");
    if (it.end < it.begin)
        refuse(r, "a message that comes before it is sent");
    if (is_mark && *of)
        take_name(r->t, it.operation, of);
    timeline_add(r->t, &it);
}

static void take_all(reading *r, json_t *all)
{
    json_t *events = NULL;
    const char *title = "";
    json_int_t ranks = 0;
    int failed = json_unpack(all, "{s:o, s:{s:I, s?s}}", "traceEvents", &events, "otherData", "ranks", &ranks, "title",
                             &title);
    if (failed || !json_is_array(events) || ranks < 1 || ranks > COMMAND_MOST_RANKS)
        command_refuse(r->self, "%s: no timeline: \"traceEvents\", or \"ranks\" of \"otherData\", is missing", r->file);
    r->t->ranks = (int)ranks;
    snprintf(r->t->title, sizeof r->t->title, "%s", title);
    for (r->at = 0; r->at < json_array_size(events); r->at++)
        take_event(r, json_array_get(events, r->at));
    timeline_sort(r->t);
}

void timeline_read(const command *self, const char *file, timeline *out)
{
    reading r = {.self = self, .file = file, .t = out};
    json_error_t error;
    json_t *all = json_load_file(file, 0, &error);
    *out = (timeline){0};
    if (!all && error.line < 0)
        command_refuse(self, "%s", error.text);
    if (!all)
        command_refuse(self, "%s:%d:%d: %s", file, error.line, error.column, error.text);
    take_all(&r, all);
    json_decref(all);
}

/* ---- what the subcommands that simulate share -------------------------------------------------------------------- */

nbcoll_status sim_play_rounds(const nbcoll_algorithm *algorithm, const nbcoll_case *at, int node,
                              void (*event)(void *user, const nbcoll_sim_event *event), void *user,
                              nbcoll_sim_result *out)
{
    nbcoll_sim_model model = {.size = sizeof model};
    nbcoll_sim_config config = {.size = sizeof config, .ranks = at->ranks, .model = &model, .user = user,
                                .event = event};
    nbcoll_sim_model_find("unit", &model);
    model.node = (uint32_t)node;
    return nbcoll_simulate_cases(&config, &(nbcoll_sim_case){algorithm, at}, out);
}

void sim_entitle(timeline *t, const nbcoll_case *c, const nbcoll_choice *choice)
{
    char name[COMMAND_NAME];
    t->ranks = c->ranks;
    snprintf(t->title, sizeof t->title, "%s %s", nbcoll_operation_name(choice->algorithm->operation),
             command_algorithm_text(choice, name));
    snprintf(t->terms, sizeof t->terms, "%d ranks", c->ranks);
    if (c->count)
        command_add(t->terms, sizeof t->terms, ", %zu %s (%zu bytes)", c->count, nbcoll_type_name(c->reduction.type),
                    c->count * nbcoll_type_size(c->reduction.type));
}

void sim_add_row(json_t *rows, json_t *row, const char *head, const char *format)
{
    if (!rows && head)
        puts(head);
    if (!rows)
        row_print(row, format);
    json_array_append_new(rows, row);
}
