/* SPDX-License-Identifier: BSD-3-Clause
 * `nbcoll timeline`: what each rank of a recorded run waited for, as text and as a drawing. */
#include "timeline.h"

enum { LONGEST = 5 };

typedef struct asked {
    const char *svg;
    double from_us, to_us;
} asked;

/* ---- text -------------------------------------------------------------------------------------------------------- */

static void print_rank(const timeline_waits *w, int rank)
{
    const timeline_rank *r = &w->rank[rank];
    const timeline_cause *cause = w->cause + (size_t)rank * (size_t)w->t->ranks;
    uint64_t most = 0;
    int whom = -1;
    for (int other = 0; other < w->t->ranks; other++)
        if (cause[other].late + cause[other].busy > most) {
            most = cause[other].late + cause[other].busy;
            whom = other;
        }
    printf("%4d  %10zu  %11.1f  %11.1f  %11.1f  ", rank, r->operations, in_us(r->inside), in_us(r->waited),
           in_us(r->way));
    if (whom >= 0)
        printf("rank %d, %.1f", whom, in_us(most));
    puts(whom < 0 ? "-" : "");
}

static int by_length(const void *a, const void *b)
{
    const timeline_wait *const *x = a, *const *y = b;
    uint64_t one = (*x)->end - (*x)->begin, other = (*y)->end - (*y)->begin;
    return one > other ? -1 : one < other;
}

static void print_longest(const timeline_waits *w)
{
    const timeline_wait **list = command_alloc(w->waits, sizeof *list);
    size_t n = 0;
    for (size_t i = 0; i < w->waits; i++)
        if (w->wait[i].message >= 0)
            list[n++] = &w->wait[i];
    if (n)
        qsort(list, n, sizeof *list, by_length);
    if (n)
        puts("\nThe longest waits, us:\n");
    for (size_t i = 0; i < n && i < LONGEST; i++) {
        const timeline_wait *x = list[i];
        const char *why, *name = x->operation < w->t->operations ? w->t->name[x->operation] : "";
        int whom = timeline_waits_reason(w, x, &why);
        printf("%10.1f  from %.1f%s: rank %d in %s (operation %u):\n            rank %d %s\n", in_us(x->end - x->begin),
               in_us(x->begin), timeline_is_missing(&w->t->event[x->message]) ? " to the end" : "", (int)x->rank,
               *name ? name : "the operation", (unsigned)x->operation, whom, why);
    }
    free(list);
}

static void print(const timeline *t)
{
    timeline_waits w;
    uint64_t last = 0;
    timeline_waits_find(t, &w);
    timeline_waits_explain(&w);
    for (size_t i = 0; i < t->used; i++)
        last = t->event[i].end > last ? t->event[i].end : last;
    printf("%s, %.1f us\n\n", *t->title ? t->title : "a run", in_us(last));
    puts("                         us in                   of that on\n"
         "rank  operations         them       waited     its way  mostly for");
    for (int rank = 0; rank < t->ranks; rank++)
        print_rank(&w, rank);
    print_longest(&w);
    timeline_waits_free(&w);
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

/* Leaves what touches the time that was asked for, which begins at 0 then. */
static void cut(timeline *t, uint64_t from, uint64_t to)
{
    size_t used = 0;
    for (size_t i = 0; i < t->used; i++) {
        nbcoll_sim_event e = t->event[i];
        if (e.begin < from || (to && e.end > to))
            continue;
        e.begin -= from;
        e.end -= from;
        t->event[used++] = e;
    }
    t->used = used;
}

static void run(const command *self, int argc, char *argv[])
{
    asked a = {0};
    timeline t = {0};
    command_take_options(self, &argc, &argv, &a, NULL);
    uint64_t from = (uint64_t)(a.from_us * 1e3), to = (uint64_t)(a.to_us * 1e3); /* 0, 0: all */
    if (argc != 1)
        command_refuse(self, !argc ? "which file?" : "one file at a time");
    if (to && to <= from)
        command_refuse(self, "--to is not behind --from");
    timeline_read(self, *argv, &t);
    print(&t);
    if (a.svg) {
        cut(&t, from, to);
        snprintf(t.terms, sizeof t.terms, "recorded; from %.1f us on", in_us(from));
        command_write_file(self, a.svg, timeline_svg, &t);
    }
    timeline_free(&t);
}

static const command_option options[] = {
    {"svg", "PICTURE", "draw it: a row for each rank, time from left to right", COMMAND_IN(asked, svg)},
    {"from", "US", "of the drawing: only what began at this time or later,",
     COMMAND_IN(asked, from_us), .most = TIMELINE_US},
    {"to", "US", "and had ended by this one; microseconds from the beginning",
     COMMAND_IN(asked, to_us), .most = TIMELINE_US},
    {0},
};

const command command_timeline = {
    .name = "timeline",
    .purpose = "says what each rank of a recorded run waited for",
    .help =
    "usage: nbcoll timeline FILE [OPTION...]\n\n"
    "Reads what nbcoll run --timeline FILE has recorded (or nbcoll sim --chrome), and says for each rank how long\n"
    "it had operations under way, how long it then waited for messages, and for whom: until a message was sent,\n"
    "the wait was for its sender, or for whom the sender itself waited for; after that the message was on its way,\n"
    "or this rank computed and did not look. Then come the longest waits, with their reasons; those that had not\n"
    "ended when the rank did last \"to the end\".\n\n",
    .run = run,
    .options = options,
    .more = "\nThe exit status is 0, or 2 when the file is no timeline: then the place that is wrong is named.\n",
};
