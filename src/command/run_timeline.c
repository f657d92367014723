/* SPDX-License-Identifier: BSD-3-Clause
 * What the ranks of `nbcoll run` note, in a file that has no name.
 *
 * --timeline: all that they do, which becomes a trace at the end. A message is from the begin of its sender's step to
 * the end of its receiver's. Of a rank that waited when it ended a message ends there which nobody sent: of the kind
 * JOIN. When the time of --timeout is over, so is the recording: what ranks note later comes of others' being killed.
 *
 * --timeout: for whom they wait. Late is a rank that waits for nobody, and for which another one waits, itself or since
 * a third one that it waits for does; and a rank that has noted nothing, where others have. */
#include <fcntl.h>
#include <sys/mman.h>

#include "crew.h"
#include "run.h"
#include "timeline.h"

enum { OPEN_STEPS = 256 }; /* of a rank that have started and not ended */

typedef struct started {
    uint64_t ns;
    uint32_t operation, step;
    int peer; /* for which it waits, or -1 */
} started;

/* One end of a message. */
typedef struct end {
    uint64_t operation, rank, peer, number, ns; /* peer and number of an exposure: 0; else the peer + 1 */
    uint64_t bytes;
    uint32_t step;
    nbcoll_kind kind;
} end;

typedef struct ends {
    end *end;
    size_t used, room;
} ends;

/* What is known of an operation before it has its number. */
typedef struct known {
    uint64_t comm, tag;
    char name[TIMELINE_NAME];
} known;

typedef struct gathering {
    timeline t;
    known *known;
    size_t knowns, room;
    uint64_t first, until; /* ns */
    int rank;        /* that is read, */
    uint64_t last;   /* its last event, */
    uint64_t opened; /* how often it has opened the recording, */
    size_t opens;    /* and its open steps */
    started open[OPEN_STEPS];
    ends from, to;
} gathering;

/* ---- the first look: which operations there are ------------------------------------------------------------------ */

static void note_operation(void *user, const nbcoll_timeline_event *e)
{
    gathering *g = user;
    if (e->noted == NBCOLL_NOTED_OPENED)
        g->opened++;
    else if (e->ns < g->first)
        g->first = e->ns;
    if (e->noted != NBCOLL_NOTED_BEGIN)
        return;
    known one = {e->comm, e->tag, ""};
    memcpy(one.name, e->name, sizeof one.name - 1);
    command_append(&g->known, &g->knowns, &g->room, &one, sizeof one);
}

/* Each once: the ranks' operations by communicator and tag. */
static void number_operations(gathering *g)
{
    size_t n = 0;
    timeline_order_all(g->known, g->knowns, sizeof *g->known, 2);
    for (size_t i = 0; i < g->knowns; i++)
        if (!timeline_find(&g->known[i], g->known, n, sizeof *g->known, 2))
            g->known[n++] = g->known[i];
    g->knowns = n;
    g->t.name = command_alloc(n, sizeof *g->t.name);
    for (size_t i = 0; i < n; i++)
        memcpy(g->t.name[i], g->known[i].name, TIMELINE_NAME);
    g->t.operations = n;
}

/* ---- the second look: what happened in them ---------------------------------------------------------------------- */

static int is_reading(nbcoll_kind kind)
{
    return kind == NBCOLL_RECV || kind == NBCOLL_FETCH || kind == NBCOLL_FETCH_REDUCE;
}

/* A step that has started and not ended waits for its peer, if it has one. */
static void open_step(gathering *g, uint32_t operation, const nbcoll_timeline_event *e)
{
    int waits = is_reading((nbcoll_kind)e->kind) || e->kind == NBCOLL_SEND;
    if (g->opens < OPEN_STEPS)
        g->open[g->opens++] = (started){e->ns - g->first, operation, e->step, waits ? e->peer : -1};
}

static void close_all(gathering *g, uint32_t operation)
{
    size_t left = 0;
    for (size_t i = 0; i < g->opens; i++)
        if (g->open[i].operation != operation)
            g->open[left++] = g->open[i];
    g->opens = left;
}

/* For whom the rank waited when it ended, if its times are those of the launcher's clock. */
static void add_last_wait(gathering *g, const run_plan *plan)
{
    uint64_t over = plan->ended[g->rank] < g->until ? plan->ended[g->rank] : g->until;
    if (g->first < plan->begun || over < g->last)
        return;
    const started *s = g->open;
    while (s < g->open + g->opens && s->peer < 0)
        s++;
    if (s < g->open + g->opens)
        timeline_add(&g->t, &(nbcoll_sim_event){NBCOLL_SIM_MESSAGE, NBCOLL_JOIN, s->peer, g->rank, s->step, 0,
                                                over - g->first, over - g->first, s->operation});
}

/* Only steps that need nobody are work all the time. What sends is drawn at its begin, what takes at its end. Of a rank
 * whose times go back no step begins after its end. */
static void close_step(gathering *g, uint32_t operation, const nbcoll_timeline_event *e)
{
    uint64_t now = e->ns - g->first;
    nbcoll_kind kind = (nbcoll_kind)e->kind;
    size_t i = 0;
    while (i < g->opens && (g->open[i].operation != operation || g->open[i].step != e->step))
        i++;
    started s = i < g->opens ? g->open[i] : (started){now, operation, e->step, -1};
    if (i < g->opens)
        g->open[i] = g->open[--g->opens];
    s.ns = s.ns < now ? s.ns : now;
    int is_work = kind == NBCOLL_COPY || kind == NBCOLL_REDUCE || kind == NBCOLL_CALL;
    uint64_t begin = is_reading(kind) ? now : s.ns;
    nbcoll_sim_event step = {NBCOLL_SIM_STEP,       kind,     g->rank, e->peer, e->step, e->bytes, begin,
                             is_work ? now : begin, operation};
    int is_sent = kind != NBCOLL_EXPOSE;
    end one = {operation, (uint64_t)g->rank, is_sent ? (uint64_t)e->peer + 1 : 0, is_sent ? e->number : 0, s.ns,
               e->bytes,  e->step,           kind};
    if (kind != NBCOLL_JOIN)
        timeline_add(&g->t, &step);
    if (kind == NBCOLL_SEND || kind == NBCOLL_EXPOSE)
        command_append(&g->from.end, &g->from.used, &g->from.room, &one, sizeof one);
    one.ns = now;
    if (is_reading(kind))
        command_append(&g->to.end, &g->to.used, &g->to.room, &one, sizeof one);
}

/* A rank may have written anything, also since the first look, or when the time was over. */
static int can_be(const gathering *g, const nbcoll_timeline_event *e)
{
    return e->ns >= g->first && e->ns <= g->until && e->ns - g->first < (uint64_t)(TIMELINE_US * 1e3) &&
           e->peer >= -1 && e->peer < g->t.ranks && e->bytes <= INT64_MAX;
}

static void note_event(void *user, const nbcoll_timeline_event *e)
{
    gathering *g = user;
    known wanted = {.comm = e->comm, .tag = e->tag};
    if (e->noted == NBCOLL_NOTED_OPENED || e->noted == NBCOLL_NOTED_WAITS || !can_be(g, e))
        return;
    g->last = e->ns;
    const known *k = timeline_find(&wanted, g->known, g->knowns, sizeof wanted, 2);
    if (!k)
        return; /* its begin has been overwritten on all ranks */
    uint32_t operation = (uint32_t)(k - g->known);
    nbcoll_sim_event mark = {NBCOLL_SIM_STARTED, NBCOLL_JOIN,      g->rank,  -1, 0, 0,
                             e->ns - g->first,   e->ns - g->first, operation};
    if (e->noted == NBCOLL_NOTED_STARTED)
        open_step(g, operation, e);
    else if (e->noted == NBCOLL_NOTED_ENDED)
        close_step(g, operation, e);
    else {
        mark.what = e->noted == NBCOLL_NOTED_BEGIN ? NBCOLL_SIM_STARTED : NBCOLL_SIM_ENDED;
        timeline_add(&g->t, &mark);
        close_all(g, operation);
    }
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

/* Where the bytes come from that this end takes: its send, or the last exposure, which was there by then. */
static const end *source_of(const gathering *g, const end *to)
{
    int is_sent = to->kind == NBCOLL_RECV;
    end wanted = {.operation = to->operation, .rank = to->peer - 1, .peer = is_sent ? to->rank + 1 : 0,
                  .number = is_sent ? to->number : 0, .ns = to->ns + 1};
    size_t behind = timeline_first(&wanted, g->from.end, g->from.used, sizeof wanted, 5);
    const end *last = behind ? &g->from.end[behind - 1] : NULL;
    return last && timeline_order(&last->operation, &wanted.operation, 4) == 0 ? last : NULL;
}

static void add_messages(gathering *g)
{
    timeline_order_all(g->from.end, g->from.used, sizeof *g->from.end, 5);
    for (size_t i = 0; i < g->to.used; i++) {
        const end *to = &g->to.end[i], *from = source_of(g, to);
        if (from)
            timeline_add(&g->t, &(nbcoll_sim_event){NBCOLL_SIM_MESSAGE, to->kind, (int)from->rank, (int)to->rank,
                                                    to->step, to->bytes, from->ns, to->ns, (uint32_t)to->operation});
    }
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

int run_record(run_plan *plan)
{
    plan->recording = memfd_create("nbcoll recording", MFD_CLOEXEC);
    if (plan->recording >= 0 && nbcoll_timeline_create(plan->recording, plan->ranks) == NBCOLL_OK)
        return 0;
    if (plan->recording >= 0)
        close(plan->recording);
    plan->recording = -1;
    return -1;
}

/* The file keeps what is in it until there is something to write. */
void run_timeline_open(run_plan *plan)
{
    int file = open(plan->timeline, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    plan->trace = file >= 0 ? fdopen(file, "w") : NULL;
    if (!plan->trace)
        command_fail(plan->self, "--timeline %s: %s", plan->timeline, strerror(errno));
    plan->begun = command_ns();
    plan->ended = crew_share((size_t)(plan->ranks + 1) * sizeof *plan->ended);
    if (!plan->ended || run_record(plan) < 0)
        command_fail(plan->self, "--timeline: no room to record into: %s", strerror(errno));
}

/* Says what is missing of a rank's part. */
static void say(const run_plan *plan, int rank, uint64_t told, uint64_t opened)
{
    if (!told)
        command_say(plan->self,
                    "--timeline: rank %d has recorded nothing: it did not come to nbcoll_launch_join, nor to\n"
                    "nbcoll_launch_observer for contexts of its own (nbcoll/launch.h), or could not record there",
                    rank);
    else if (told == opened)
        command_say(plan->self,
                    "--timeline: rank %d has begun no operation; the first ones are those of nbcoll_launch_join,\n"
                    "which begin when all ranks have come to it",
                    rank);
    else if (told > NBCOLL_TIMELINE_EVENTS)
        command_say(plan->self, "--timeline: of the %llu events of rank %d the last %u are kept",
                    (unsigned long long)told, rank, NBCOLL_TIMELINE_EVENTS);
}

static int gather(const run_plan *plan, gathering *g)
{
    nbcoll_status status = NBCOLL_OK;
    for (g->rank = 0; g->rank < plan->ranks && status == NBCOLL_OK; g->rank++) {
        uint64_t told = 0;
        g->opened = 0;
        status = nbcoll_timeline_read(plan->recording, g->rank, &told, note_operation, g);
        say(plan, g->rank, told, g->opened);
    }
    number_operations(g);
    g->until = plan->ended[plan->ranks] && g->first >= plan->begun ? plan->ended[plan->ranks] : UINT64_MAX;
    for (g->rank = 0; g->rank < plan->ranks && status == NBCOLL_OK; g->rank++) {
        g->opens = 0;
        status = nbcoll_timeline_read(plan->recording, g->rank, NULL, note_event, g);
        add_last_wait(g, plan);
    }
    add_messages(g);
    timeline_sort(&g->t);
    return status != NBCOLL_OK;
}

static int write_trace(const run_plan *plan, timeline *t)
{
    int failed = ftruncate(fileno(plan->trace), 0) < 0 && errno != EINVAL; /* a pipe has nothing to lose */
    timeline_chrome(t, plan->trace);
    failed |= ferror(plan->trace);
    failed |= fclose(plan->trace);
    if (failed)
        command_say(plan->self, "%s: %s", plan->timeline, strerror(errno));
    return failed;
}

int run_timeline_close(const run_plan *plan, int status)
{
    gathering g = {.t.ranks = plan->ranks, .first = UINT64_MAX};
    const char *name = strrchr(plan->program[0], '/');
    snprintf(g.t.title, sizeof g.t.title, "%d ranks of %.100s", plan->ranks, name ? name + 1 : plan->program[0]);
    int failed = gather(plan, &g);
    if (failed)
        command_say(plan->self, "--timeline: the recording cannot be read");
    else
        failed = write_trace(plan, &g.t);
    timeline_free(&g.t);
    free(g.known);
    free(g.from.end);
    free(g.to.end);
    close(plan->recording);
    return failed && !status ? COMMAND_FAILED : status;
}

/* ---- who is late ------------------------------------------------------------------------------------------------- */

/* An operation that waits. */
typedef struct pending {
    uint64_t comm, tag;
    int peer;
    char name[TIMELINE_NAME];
} pending;

typedef struct waits {
    int ranks;
    pending *pending; /* of the rank that is read */
    size_t count, room;
    pending first[NBCOLL_SHM_RANKS]; /* of each: its oldest one; peer -1: there is none */
    unsigned char has_come[NBCOLL_SHM_RANKS];
    unsigned char on[NBCOLL_SHM_RANKS][NBCOLL_SHM_RANKS]; /* a rank, and for whom it waits */
} waits;

static void note(void *user, const nbcoll_timeline_event *e)
{
    waits *w = user;
    size_t i = 0;
    if (e->noted != NBCOLL_NOTED_WAITS)
        return;
    while (i < w->count && (w->pending[i].comm != e->comm || w->pending[i].tag != e->tag))
        i++;
    if (e->peer < 0 || e->peer >= w->ranks) { /* it is over */
        if (i < w->count)
            memmove(&w->pending[i], &w->pending[i + 1], (--w->count - i) * sizeof *w->pending);
        return;
    }
    pending one = {e->comm, e->tag, e->peer, ""};
    memcpy(one.name, e->name, TIMELINE_NAME - 1);
    if (i < w->count)
        w->pending[i] = one;
    else
        command_append(&w->pending, &w->count, &w->room, &one, sizeof one);
}

static void read_rank(waits *w, const run_plan *plan, int rank)
{
    uint64_t told = 0;
    w->count = 0;
    w->first[rank].peer = -1;
    if (nbcoll_timeline_read(plan->recording, rank, &told, note, w) != NBCOLL_OK)
        return;
    w->has_come[rank] = told > 0;
    if (w->count)
        w->first[rank] = w->pending[0];
    for (size_t i = 0; i < w->count; i++)
        if (w->pending[i].peer != rank)
            w->on[rank][w->pending[i].peer] = 1;
}

/* Marks whom they wait for through each other. */
static void close_over(waits *w)
{
    for (int through = 0; through < w->ranks; through++)
        for (int rank = 0; rank < w->ranks; rank++)
            for (int peer = 0; w->on[rank][through] && peer < w->ranks; peer++)
                w->on[rank][peer] |= w->on[through][peer];
}

static void add_late(const waits *w, int late, char *text, size_t size)
{
    const char *before = ", for which wait";
    int is_new = 1;
    for (int rank = 0; w->has_come[late] && rank < w->ranks; rank++) {
        if (rank == late || !w->on[rank][late])
            continue;
        if (is_new)
            command_add(text, size, "%srank %d", *text ? "; " : "", late);
        const pending *first = &w->first[rank]; /* named operation/algorithm */
        command_add(text, size, "%s %d (in %.*s, operation %llu)", is_new ? before : ",", rank,
            (int)strcspn(first->name, "/"), first->name, (unsigned long long)first->tag);
        is_new = 0;
    }
    if (!w->has_come[late])
        command_add(text, size, "%srank %d, which has not come to nbcoll_launch_join", *text ? "; " : "", late);
}

const char *run_late(const run_plan *plan, char *text, size_t size)
{
    waits *w = plan->recording >= 0 ? calloc(1, sizeof *w) : NULL;
    *text = 0;
    if (!w)
        return text;
    w->ranks = plan->ranks;
    for (int rank = 0; rank < w->ranks; rank++)
        read_rank(w, plan, rank);
    close_over(w);
    for (int late = 0; late < w->ranks && memchr(w->has_come, 1, sizeof w->has_come); late++)
        if (w->first[late].peer < 0)
            add_late(w, late, text, size);
    free(w->pending);
    free(w);
    return text;
}
