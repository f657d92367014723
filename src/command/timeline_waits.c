/* SPDX-License-Identifier: BSD-3-Clause
 * What ranks waited for. A wait ends when a message comes. Until its sender had sent it, the wait was for the sender:
 * which had not begun the operation, or did something else, or waited itself; then it was for whom the sender waited
 * for. */
#include "timeline.h"

enum { DEPTH = 64 };

/* ---- finding them ------------------------------------------------------------------------------------------------ */

typedef struct moment {
    uint64_t ns, order; /* at the same time: messages, starts, steps, ends */
    uint64_t event;
} moment;

typedef struct row {
    size_t active;
    uint64_t last;     /* something was done until then */
    ptrdiff_t arrived; /* the last message since */
} row;

static moment moment_of(const timeline *t, size_t i)
{
    static const unsigned order[] = {
        [NBCOLL_SIM_MESSAGE] = 0, [NBCOLL_SIM_STARTED] = 1, [NBCOLL_SIM_STEP] = 2, [NBCOLL_SIM_ENDED] = 3};
    const nbcoll_sim_event *e = &t->event[i];
    return (moment){e->what == NBCOLL_SIM_MESSAGE ? e->end : e->begin, order[e->what], i};
}

static void add_wait(timeline_waits *w, const nbcoll_sim_event *e, const row *s)
{
    uint32_t operation = s->arrived >= 0 ? w->t->event[s->arrived].operation : e->operation;
    timeline_wait one = {(uint64_t)e->rank, e->begin, s->last, operation, s->arrived};
    command_append(&w->wait, &w->waits, &w->room, &one, sizeof one);
}

/* A step begins, or an operation starts or ends. */
static void pass(timeline_waits *w, const nbcoll_sim_event *e, row *s)
{
    timeline_rank *r = &w->rank[e->rank];
    if (s->active && e->begin > s->last) {
        r->inside += e->begin - s->last;
        if (e->what != NBCOLL_SIM_STARTED)
            add_wait(w, e, s);
    }
    if (e->what == NBCOLL_SIM_STEP && s->active && e->end > s->last)
        r->inside += e->end - (s->last > e->begin ? s->last : e->begin);
    s->last = e->end > s->last ? e->end : s->last;
    s->arrived = -1;
    if (e->what == NBCOLL_SIM_STARTED)
        s->active++, r->operations++;
    else if (e->what == NBCOLL_SIM_ENDED && s->active)
        s->active--;
}

static void sweep(timeline_waits *w, moment *moments, row *states)
{
    const timeline *t = w->t;
    for (int rank = 0; rank < t->ranks; rank++)
        states[rank].arrived = -1;
    for (size_t i = 0; i < t->used; i++)
        moments[i] = moment_of(t, i);
    timeline_order_all(moments, t->used, sizeof *moments, 3);
    for (size_t i = 0; i < t->used; i++) {
        const nbcoll_sim_event *e = &t->event[moments[i].event];
        if (e->what == NBCOLL_SIM_MESSAGE)
            states[e->peer].arrived = (ptrdiff_t)moments[i].event;
        else
            pass(w, e, &states[e->rank]);
    }
    for (int rank = 0; rank < t->ranks; rank++) {
        const row *s = &states[rank];
        const nbcoll_sim_event *e = s->arrived >= 0 ? &t->event[s->arrived] : NULL;
        if (!e || !s->active || !timeline_is_missing(e) || e->end <= s->last)
            continue;
        w->rank[rank].inside += e->end - s->last;
        add_wait(w, &(nbcoll_sim_event){.rank = rank, .begin = e->end}, s);
    }
}

void timeline_waits_find(const timeline *t, timeline_waits *out)
{
    size_t ranks = (size_t)t->ranks;
    moment *moments = command_alloc(t->used, sizeof *moments);
    row *states = command_alloc(ranks, sizeof *states);
    *out = (timeline_waits){.t = t, .rank = command_alloc(ranks, sizeof *out->rank)};
    sweep(out, moments, states);
    free(moments);
    free(states);
    /* Waits of a rank do not overlap: so they rise by their ends as by their begins. */
    timeline_order_all(out->wait, out->waits, sizeof *out->wait, 2);
}

/* ---- what they were for ------------------------------------------------------------------------------------------ */

/* When a rank began an operation; UINT64_MAX if it is not known to have done so. */
static uint64_t begin_of(const timeline_waits *w, uint32_t operation, int rank)
{
    const timeline_begin wanted = {operation, (uint64_t)rank, 0};
    const timeline_begin *found = timeline_find(&wanted, w->begin, w->begins, sizeof wanted, 2);
    return found ? found->ns : UINT64_MAX;
}

/* The first wait of a rank that ends behind this time; or one of another rank. */
static const timeline_wait *wait_behind(const timeline_waits *w, int rank, uint64_t ns)
{
    const timeline_wait wanted = {.rank = (uint64_t)rank, .end = ns + 1};
    return w->wait + timeline_first(&wanted, w->wait, w->waits, sizeof wanted, 2);
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Adds to cause[], one for each rank, what a wait from a to b for this message was for; gives the part on its way. */
static uint64_t explain(const timeline_waits *w, ptrdiff_t message, uint64_t a, uint64_t b, int depth,
                        timeline_cause cause[])
{
    const nbcoll_sim_event *m = &w->t->event[message];
    uint64_t sent = earlier(later(m->begin, a), b), begun = begin_of(w, m->operation, m->rank);
    if (begun == UINT64_MAX && !timeline_is_missing(m)) /* it has sent: its begin is no longer there */
        begun = 0;
    uint64_t there = earlier(later(begun, a), sent), way = b - sent;
    cause[m->rank].late += there - a;
    uint64_t busy = sent - there;
    for (const timeline_wait *other = wait_behind(w, m->rank, there);
         other < w->wait + w->waits && other->rank == (uint64_t)m->rank && other->begin < sent; other++) {
        uint64_t from = later(other->begin, there), to = earlier(other->end, sent);
        if (other->message < 0 || depth == DEPTH)
            continue;
        busy -= to - from;
        way += explain(w, other->message, from, to, depth + 1, cause);
    }
    cause[m->rank].busy += busy;
    return way;
}

void timeline_waits_explain(timeline_waits *w)
{
    const timeline *t = w->t;
    size_t ranks = (size_t)t->ranks;
    w->begin = command_alloc(t->used, sizeof *w->begin);
    w->cause = command_alloc(ranks * ranks, sizeof *w->cause);
    for (size_t i = 0; i < t->used; i++)
        if (t->event[i].what == NBCOLL_SIM_STARTED)
            w->begin[w->begins++] =
                (timeline_begin){t->event[i].operation, (uint64_t)t->event[i].rank, t->event[i].begin};
    timeline_order_all(w->begin, w->begins, sizeof *w->begin, 2);
    for (size_t i = 0; i < w->waits; i++) {
        const timeline_wait *wait = &w->wait[i];
        if (wait->message < 0)
            continue;
        timeline_rank *rank = &w->rank[wait->rank];
        rank->waited += wait->end - wait->begin;
        rank->way += explain(w, wait->message, wait->begin, wait->end, 0, w->cause + wait->rank * ranks);
    }
}

int timeline_waits_reason(const timeline_waits *w, const timeline_wait *wait, const char **why)
{
    timeline_cause *cause = command_alloc((size_t)w->t->ranks, sizeof *cause);
    uint64_t most = explain(w, wait->message, wait->begin, wait->end, 0, cause);
    int rank = w->t->event[wait->message].rank;
    int is_missing = timeline_is_missing(&w->t->event[wait->message]);
    *why = "had sent: on its way, or not looked for here";
    for (int r = 0; r < w->t->ranks; r++) {
        if (cause[r].late > most) {
            most = cause[r].late;
            rank = r;
            *why = is_missing ? "is not known to have begun it" : "had not begun it";
        }
        if (cause[r].busy > most) {
            most = cause[r].busy;
            rank = r;
            *why = is_missing ? "sent nothing more" : "had begun it, and did something else";
        }
    }
    free(cause);
    return rank;
}

void timeline_waits_free(timeline_waits *w)
{
    free(w->wait);
    free(w->begin);
    free(w->rank);
    free(w->cause);
}
