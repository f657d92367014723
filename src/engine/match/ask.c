/* SPDX-License-Identifier: BSD-3-Clause */
#include "ask.h"

#include "news.h"
#include "../wire/control.h"
#include "../exposures/cells.h"
#include "../exposures/staging.h"
#include "../comm/comm.h"
#include "../run/called.h"
#include "../run/phase.h"
#include "../run/fail.h"
#include "../run/step.h"
#include "../run/queue.h"
#include "../../host/host.h"

#define NBCOLLI_ASK_LOOK 10000000u /* ns between two looks at the clock, at most, if passes come evenly */
#define NBCOLLI_PASSES 15u         /* between two, at most: a yield or a pause behind each may take long */

/* Where a rank is in an operation. */
typedef struct nbcolli_rank_place {
    nbcoll_position position;
    int is_known;  /* its history behind the operation is known: */
    uint32_t fold; /* its upper half */
    int is_final;           /* ENDED, FREED: nothing more will come from there */
    nbcolli_freeing freeing; /* FREED: how the communicator was then */
} nbcolli_rank_place;

#define NBCOLLI_WHERE_KNOWN 1u /* bit of a WHERE's count; the other bits: messages whose credits the receiver has */

/* ---- where ranks are --------------------------------------------------------------------------------------------- */

/* Of the history behind a run, or one that is queued. */
static uint32_t nbcolli_fold_behind(uint64_t history, const nbcoll_schedule *s)
{
    return (uint32_t)(nbcolli_history_after(history, s->raised) >> 32);
}

static nbcolli_rank_place nbcolli_place_here(nbcoll_comm *comm, uint64_t tag)
{
    nbcolli_rank_place p = {.position = NBCOLL_POSITION_ENDED};
    const nbcolli_run *run = nbcolli_find_run(comm, tag);
    const nbcolli_request *queued = nbcolli_queue_find(comm, tag);

    if (tag >= comm->taken)
        p.position = NBCOLL_POSITION_NOT_STARTED;
    else if (queued || (run && run->status == NBCOLL_OK))
        p = (nbcolli_rank_place){.position = NBCOLL_POSITION_ACTIVE, .is_known = 1,
                                 .fold = queued ? nbcolli_fold_behind(queued->history, queued->schedule)
                                                : nbcolli_fold_behind(run->request->history, run->schedule)};
    else {
        if (run || tag / comm->config.slots < nbcolli_slot_of(comm, tag)->well_since)
            p.position = NBCOLL_POSITION_FAILED; /* or a later one of its slot failed */
        p.is_known = nbcolli_history_recall(comm->started, tag, &p.fold) == 0;
    }
    return p;
}

/* A place by the words of a rank that shares memory. UNKNOWN: they do not tell. */
static nbcolli_rank_place nbcolli_place_by_words(const nbcoll_comm *comm, int rank, uint64_t tag)
{
    nbcolli_rank_place p = {.position = NBCOLL_POSITION_UNKNOWN};
    /* acquire: sees its starts before it left */
    uint32_t freeing = atomic_load_explicit(nbcolli_area_departed(comm, comm->rank, rank), memory_order_acquire);
    int ahead = nbcolli_history_recall(nbcolli_area_started(comm, rank), tag, &p.fold);

    p.is_known = ahead == 0;
    if (ahead < 0 && freeing)
        p = (nbcolli_rank_place){.position = NBCOLL_POSITION_FREED, .is_final = 1, .freeing = (nbcolli_freeing)freeing};
    else if (ahead < 0)
        p.position = NBCOLL_POSITION_NOT_STARTED;
    else if (nbcolli_has_ended(comm, tag, rank))
        p.position = NBCOLL_POSITION_ENDED;
    else if (ahead == 0)
        p.position = NBCOLL_POSITION_ACTIVE;
    return p;
}

/* The tag that such a rank starts next, or 0 if it has started none. */
static uint64_t nbcolli_next_by_words(const nbcoll_comm *comm, int rank, uint64_t near)
{
    const _Atomic uint64_t *started = nbcolli_area_started(comm, rank);
    uint64_t next = 0;

    for (uint32_t i = 0; i < NBCOLLI_STARTED; i++) {
        uint64_t word = atomic_load_explicit(&started[i], memory_order_relaxed); /* orders nothing */
        uint64_t tag = nbcolli_history_tag(word, near);
        if (word && tag > next)
            next = tag;
    }
    return next;
}

/* ---- who is waited for ------------------------------------------------------------------------------------------- */

/* The rank for which the op waits, and the operation; 0: for nobody. */
static int nbcolli_op_waits(nbcolli_op *op, int *rank, uint64_t *tag)
{
    const nbcolli_run *run = op->run;
    const nbcoll_step_view *v = &run->schedule->step[op->step];
    nbcolli_found found;

    *rank = v->peer;
    *tag = run->tag;
    switch (op->phase) {
    case NBCOLLI_IDLE:
    case NBCOLLI_SETTLED:
        return 0;
    case NBCOLLI_LOOKING:
        return nbcolli_look(op, v->write.bytes, &found) == NBCOLL_PENDING;
    case NBCOLLI_USING:
        return nbcolli_fetch_waits(op);
    case NBCOLLI_STAGING:
        return op->copy && nbcolli_staging_fill(op, 0, rank) == NBCOLL_PENDING;
    case NBCOLLI_REUSING:
        return !nbcolli_may_reuse(run->comm, run->tag, tag, rank);
    case NBCOLLI_EXPOSED:
        return nbcolli_exposure_is_held(op, rank);
    default:
        return 1;
    }
}

/* The rank's place, by its words, or else by its last answer. */
static nbcoll_position nbcolli_position_known(const nbcoll_comm *comm, int rank, uint64_t tag)
{
    if (nbcolli_has_cells_of(comm, rank))
        return nbcolli_place_by_words(comm, rank, tag).position;
    return comm->told[rank].tag == tag ? (nbcoll_position)comm->told[rank].position : NBCOLL_POSITION_UNKNOWN;
}

/* 1 + the nearest rank, then the lowest, known not to have started the operation, or 0; and a HOP a rank in between.
 * Ranks that wait for each other tell each other what has ceased to be so: HOPS end that, after a second at most. */
#define NBCOLLI_LATE_HOP (UINT32_C(1) << 24)
#define NBCOLLI_LATE_HOPS 16
static uint32_t nbcolli_late_in(const nbcolli_run *run)
{
    const nbcoll_comm *comm = run->comm;
    uint32_t late = 0;
    uint64_t tag;
    int rank;

    for (uint32_t i = 0; i < run->schedule->ops; i++) {
        if (!nbcolli_op_waits(&run->op[i], &rank, &tag) || tag != run->tag)
            continue;
        const nbcolli_told *told = &comm->told[rank];
        uint32_t who = told->tag == tag && told->late ? told->late + NBCOLLI_LATE_HOP : 0;
        if (nbcolli_position_known(comm, rank, tag) == NBCOLL_POSITION_NOT_STARTED)
            who = (uint32_t)rank + 1;
        late = who && (!late || who < late) ? who : late;
    }
    for (rank = 0; comm->area && !late && rank < comm->size; rank++)
        if (comm->area[rank] && nbcolli_place_by_words(comm, rank, run->tag).position == NBCOLL_POSITION_NOT_STARTED)
            late = (uint32_t)rank + 1;
    return late;
}

/* Writes the rank's place in the operation into the failure. */
static nbcoll_failure nbcolli_ask_describe(const nbcoll_comm *comm, nbcoll_status s, int rank, uint64_t tag)
{
    nbcoll_failure f = nbcolli_failure_of(comm, s, rank, tag);

    if (f.position == NBCOLL_POSITION_UNKNOWN)
        f.position = nbcolli_position_known(comm, rank, tag);
    if (nbcolli_has_cells_of(comm, rank))
        f.next = nbcolli_next_by_words(comm, rank, tag);
    else if (comm->told[rank].tag == tag)
        f.next = comm->told[rank].next;
    return f;
}

nbcoll_failure nbcolli_awaited(const nbcolli_run *run)
{
    nbcoll_failure f = nbcolli_failure_of(run->comm, NBCOLL_ERR_TIMEOUT, -1, run->tag);
    int late = (int)(nbcolli_late_in(run) % NBCOLLI_LATE_HOP), rank, lowest = -1;
    uint64_t tag;

    for (uint32_t i = 0; i < run->schedule->ops; i++) {
        if (!nbcolli_op_waits(&run->op[i], &rank, &tag))
            continue;
        if (tag != run->tag)
            return nbcolli_ask_describe(run->comm, NBCOLL_ERR_NO_SLOT, rank, tag);
        if (lowest < 0 || rank < lowest)
            lowest = rank;
    }
    if (late || lowest >= 0)
        f = nbcolli_ask_describe(run->comm, f.status, late ? late - 1 : lowest, run->tag);
    if (late) /* perhaps known from another rank only */
        f.position = NBCOLL_POSITION_NOT_STARTED;
    return f;
}

/* ---- comparing --------------------------------------------------------------------------------------------------- */

/* Can the op wait in vain, in `tag`, for a rank in this place? Looks at cells, and at words of readers, once more: the
 * rank may have written them before its place was read. */
static int nbcolli_never_comes(nbcolli_op *op, uint64_t tag, const nbcolli_rank_place *p)
{
    int by_cells = op->phase >= NBCOLLI_REUSING && op->phase <= NBCOLLI_USING && op->phase != NBCOLLI_FETCHING, rank;
    uint64_t again;

    if (p->position == NBCOLL_POSITION_FREED)
        return p->is_final;
    if (p->position != NBCOLL_POSITION_ENDED || (tag != op->run->tag && !by_cells))
        return 0;
    /* The same operation: that rank has sent, or shown, what is awaited. If that was overwritten, it has given this
     * rank up, and will say so. A fingerprint of 0, of a program's own schedule, proves nothing. */
    if (p->is_known && tag == op->run->tag && op->run->schedule->fingerprint)
        return 0;
    return by_cells ? nbcolli_op_waits(op, &rank, &again) && again == tag : p->is_final;
}

/* Acts on the place of `rank`, for which the op waits in `tag`. A rank that is late is not out of step, and a message
 * may be under way for as long as it takes. */
static void nbcolli_ask_judge(nbcolli_op *op, int rank, uint64_t tag, const nbcolli_rank_place *p)
{
    nbcolli_run *run = op->run;
    uint32_t mine = nbcolli_fold_behind(run->request->history, run->schedule);
    int is_known = p->is_known && (tag == run->tag || nbcolli_history_recall(run->comm->started, tag, &mine) == 0);

    if (is_known && p->fold != mine)
        nbcolli_run_out_of_step(run, rank);
    else if (!nbcolli_never_comes(op, tag, p) || p->freeing == NBCOLLI_FREED_TOLD)
        return; /* FREED_TOLD: the news is on its way */
    else if (p->freeing == NBCOLLI_FREED_FAILED)
        nbcolli_run_deserted(run, rank);
    else if (p->position == NBCOLL_POSITION_FREED)
        nbcolli_member_freed(run->comm, rank, run->tag);
    else
        nbcolli_run_out_of_step(run, rank);
}

/* ---- the messages ------------------------------------------------------------------------------------------------ */

static void nbcolli_ask_peer(nbcoll_comm *comm, int rank, uint64_t tag)
{
    if (!nbcolli_control_may(comm->context))
        return;
    comm->told[rank].asked = 1;
    comm->told[rank].kept = comm->peer[rank].pair->kept;
    comm->told[rank].let_go = comm->peer[rank].pair->let_go;
    nbcolli_say(comm, rank, (nbcolli_header){.type = NBCOLLI_QUERY, .tag = tag, .bytes = comm->vote_comm,
                                             .stamp = (uint32_t)comm->vote_tag,
                                             .number = (uint32_t)(comm->vote_tag >> 32)});
}

/* Had all messages of that rank come here when it answered? A message holds a credit until it meets its receive, and
 * the question gave back all credits owed. So if that rank lacked no more credits than there were messages of its kept
 * here all the time, no other message or credit was under way. */
static int nbcolli_is_quiet(const nbcoll_comm *comm, const nbcolli_header *where)
{
    const nbcolli_told *told = &comm->told[where->source];
    return told->let_go == comm->peer[where->source].pair->let_go && where->count >> 1 <= told->kept;
}

/* The question may be about a group (comm.h) that is not started here, while one of another list with the same tag,
 * which also has the asking rank, runs or has failed: then the WHERE names that group, and its number of starts. Where
 * there is no such one it says 0, also if this group was started here before: nothing else is in `count` then. */
static void nbcolli_where_rival(const nbcolli_link *link, int source, const nbcolli_header *query,
                                nbcolli_header *where)
{
    const nbcoll_comm *g = link->context->comms;

    if (!nbcolli_is_group(query->comm) || where->status != NBCOLL_POSITION_NOT_STARTED)
        return;
    while (g && !(g->link == link->home && g->id >> 32 == query->comm >> 32 && g->id != query->comm &&
                  g->vote_comm == query->bytes && (g->active || g->failed_floor == g->taken) &&
                  nbcolli_member_at(g, link->member[source]) >= 0))
        g = g->sister;
    where->stamp = g ? (uint32_t)g->id : 0;
    where->count = g ? g->taken << 1 : 0;
}

void nbcolli_ask_in(nbcoll_comm *comm, nbcolli_incoming *in)
{
    uint64_t tag = in->header.tag;
    int rank = (int)in->header.source;
    nbcolli_rank_place p = nbcolli_place_here(comm, tag);
    const nbcolli_run *run = p.position == NBCOLL_POSITION_ACTIVE ? nbcolli_find_run(comm, tag) : NULL;
    nbcolli_header h = {.type = NBCOLLI_WHERE, .tag = tag, .status = (uint8_t)p.position, .stamp = p.fold,
                        .count = (p.is_known ? NBCOLLI_WHERE_KNOWN : 0) |
                                 nbcolli_credits_out(comm->peer[rank].link, comm->peer[rank].pair) << 1,
                        .bytes = comm->taken, .number = run ? nbcolli_late_in(run) : 0};

    nbcolli_where_rival(in->link, in->source, &in->header, &h);
    nbcolli_say(comm, rank, h); /* always: the other rank does not ask again before it has an answer */
}

void nbcolli_ask_elsewhere(nbcolli_link *link, int source, const nbcolli_header *h, nbcolli_freeing freeing)
{
    int had_agent = link->home->executed_comm == h->comm;
    nbcolli_header where = {.type = NBCOLLI_WHERE,
                            .status = freeing || had_agent ? NBCOLL_POSITION_FREED : NBCOLL_POSITION_NOT_STARTED};

    if (where.status == NBCOLL_POSITION_FREED) {
        where.bytes = had_agent ? link->home->executed_called : UINT64_MAX;
        where.number = freeing ? freeing : NBCOLLI_FREED_WELL;
        where.count = nbcolli_credits_out(link, &link->pair[source]) << 1;
    }
    nbcolli_where_rival(link, source, h, &where);
    nbcolli_answer(link, source, h, where);
}

static int nbcolli_run_waits_for(const nbcolli_run *run, int rank)
{
    for (uint32_t i = 0; i < run->schedule->ops; i++) {
        int awaited;
        uint64_t tag;
        if (nbcolli_op_waits(&run->op[i], &awaited, &tag) && awaited == rank && tag == run->tag)
            return 1;
    }
    return 0;
}

/* The lowest tag from `from` on in which a stuck run waits for the rank: 1 + that, or 0. */
static uint64_t nbcolli_next_wanted(const nbcoll_comm *comm, int rank, uint64_t from)
{
    uint64_t lowest = 0;
    for (uint32_t i = 0; i < comm->config.slots; i++) {
        const nbcolli_run *run = comm->slot[i].active;
        if (run && run->status == NBCOLL_OK && run->stuck && run->tag >= from && (!lowest || run->tag < lowest - 1) &&
            nbcolli_run_waits_for(run, rank))
            lowest = run->tag + 1;
    }
    return lowest;
}

/* ---- answers ----------------------------------------------------------------------------------------------------- */

/* Do the two lists differ? Not if this rank has started as many of that list: that one is older. */
static int nbcolli_lists_differ(const nbcoll_comm *comm, const nbcolli_header *where)
{
    if (!nbcolli_is_group(comm->id) || where->status != NBCOLL_POSITION_NOT_STARTED)
        return 0;
    const nbcoll_comm *rival = nbcolli_comm_find(comm->link, comm->id >> 32 << 32 | where->stamp);
    return (rival ? rival->taken : 0) < where->count >> 1;
}

/* Acts on a WHERE: its sender is in this place. */
static void nbcolli_where_judge(nbcoll_comm *comm, const nbcolli_header *h, nbcolli_rank_place *p)
{
    nbcolli_run *run = nbcolli_find_run(comm, h->tag);
    int rank = (int)h->source, awaited;
    uint64_t tag;

    for (uint32_t i = 0; run && run->status == NBCOLL_OK && run->stuck && i < run->schedule->ops; i++) {
        nbcolli_op *op = &run->op[i];
        if (!nbcolli_op_waits(op, &awaited, &tag) || awaited != rank || tag != run->tag)
            continue;
        /* A send that stalls has not left: a rank that has ended there did not wait for it. */
        p->is_final = op->phase == NBCOLLI_STALLING || (op->refused && p->freeing) ||
                      (op->phase == NBCOLLI_POSTED && nbcolli_is_quiet(comm, h));
        nbcolli_ask_judge(op, rank, tag, p);
        if (nbcolli_lists_differ(comm, h))
            nbcolli_run_fail(run, NBCOLL_ERR_MISMATCH, rank, 1);
    }
    int is_news = p->position == NBCOLL_POSITION_FREED && p->freeing != NBCOLLI_FREED_TOLD;
    for (nbcolli_executor *e = is_news ? comm->executors : NULL; e; e = e->next)
        if (e->does->freed)
            e->does->freed(e, rank, h->bytes);
}

void nbcolli_where_in(nbcoll_comm *comm, nbcolli_incoming *in)
{
    const nbcolli_header *h = &in->header;
    int rank = (int)h->source;
    nbcolli_told *told = &comm->told[rank];
    nbcolli_rank_place p = {.position = (nbcoll_position)h->status, .is_known = (h->count & NBCOLLI_WHERE_KNOWN) != 0,
                            .fold = h->stamp};

    if (!told->asked)
        return;
    if (p.position == NBCOLL_POSITION_FREED)
        p.freeing = (nbcolli_freeing)h->number;
    told->asked = 0;
    told->tag = h->tag;
    told->next = p.position == NBCOLL_POSITION_FREED ? 0 : h->bytes;
    told->position = (uint8_t)p.position;
    uint32_t hops = h->number / NBCOLLI_LATE_HOP, most = (uint32_t)comm->size; /* more: it goes in a circle */
    int is_news = !p.freeing && h->number % NBCOLLI_LATE_HOP <= most && hops < most && hops < NBCOLLI_LATE_HOPS;
    told->late = is_news ? h->number : 0;
    if (!comm->context->ticks.is_under_way)
        nbcolli_where_judge(comm, h, &p);
    uint64_t next = nbcolli_next_wanted(comm, rank, h->tag + 1);
    if (next && !told->asked)
        nbcolli_ask_peer(comm, rank, next - 1);
}

/* ---- rounds ------------------------------------------------------------------------------------------------------ */

/* A number that changes when the run moves. */
static uint64_t nbcolli_mark_of(const nbcolli_run *run)
{
    uint64_t mark = run->is_small ? run->left : run->remaining;
    for (uint32_t i = 0; i < run->schedule->ops; i++)
        mark = mark * 0x9e3779b97f4a7c15u + run->op[i].moved * 16 + run->op[i].phase + run->op[i].copied;
    return mark | 1; /* 0 is for runs that no round has seen */
}

/* Asks the rank about the operation in this round, unless another operation comes first: they take turns, from the one
 * after the last answer's on. */
static void nbcolli_ask_wants(nbcoll_comm *comm, int rank, uint64_t tag)
{
    nbcolli_told *told = &comm->told[rank];
    if (!told->want || tag - (told->tag + 1) < told->want - 1 - (told->tag + 1))
        told->want = tag + 1;
}

/* Looks up all ranks for which a run waits that has not moved. A failed run waits for answers: a rank that has freed
 * the communicator, and is making another one, keeps the messages until it is asked (match.c). Returns whether to ask
 * somebody. */
static int nbcolli_look_after(nbcolli_run *run)
{
    nbcoll_comm *comm = run->comm;
    int settles = run->status != NBCOLL_OK, wants = 0, rank;
    uint64_t tag = run->tag;

    for (uint32_t i = 0; i < run->schedule->ops && (settles || run->status == NBCOLL_OK); i++) {
        nbcolli_op *op = &run->op[i];
        if (!(settles ? nbcolli_op_is_held_by(op, &rank) : nbcolli_op_waits(op, &rank, &tag)) || rank == comm->rank ||
            comm->peer[rank].link->loss[comm->peer[rank].address] != NBCOLLI_HERE)
            continue;
        nbcolli_rank_place p = {.position = NBCOLL_POSITION_UNKNOWN};
        if (!settles && nbcolli_has_cells_of(comm, rank))
            p = nbcolli_place_by_words(comm, rank, tag);
        /* Words may overtake messages: an end that no fingerprint proves is asked about. */
        int is_doubtful = p.position == NBCOLL_POSITION_ENDED && op->phase == NBCOLLI_POSTED &&
                          !(p.is_known && run->schedule->fingerprint);
        if (p.position != NBCOLL_POSITION_UNKNOWN && !is_doubtful)
            nbcolli_ask_judge(op, rank, tag, &p);
        else if (settles || !run->schedule->is_preposted) {
            wants = 1;
            nbcolli_ask_wants(comm, rank, tag);
        }
    }
    return wants;
}

/* Has the run moved since the last round? Returns whether to ask somebody. */
static int nbcolli_round_of(nbcolli_run *run)
{
    uint64_t mark = nbcolli_mark_of(run);
    int is_stuck = mark == run->mark;

    run->is_worn = 1; /* rounds' notes are of this operation only */
    run->mark = mark;
    run->stuck = is_stuck;
    int wants = is_stuck && nbcolli_look_after(run);
    if (is_stuck && run->status == NBCOLL_OK && run->comm->context->watcher && !run->schedule->is_preposted) {
        int rank = nbcolli_awaited(run).rank;
        if (rank >= 0)
            nbcolli_observe_wait(run, rank);
    }
    return wants;
}

static void nbcolli_round_over(nbcoll_comm *comm)
{
    int wants = 0;

    for (uint32_t i = 0; i < comm->config.slots; i++) {
        nbcolli_run *run = comm->slot[i].active;
        if (run)
            wants |= nbcolli_round_of(run);
    }
    for (nbcolli_executor *e = comm->executors; e; e = e->next)
        wants |= e->does->look_after && e->does->look_after(e);
    for (int rank = 0; wants && rank < comm->size; rank++) {
        nbcolli_told *told = &comm->told[rank];
        if (told->want && !told->asked)
            nbcolli_ask_peer(comm, rank, told->want - 1);
        told->want = 0;
    }
    nbcolli_called_round(comm);
}

void nbcolli_look_at_clock(nbcoll_context *c, int64_t slots)
{
    uint64_t now = nbcolli_now(&c->host);

    c->passes = now - c->looked_at > NBCOLLI_ASK_LOOK ? 0 : c->passes < NBCOLLI_PASSES ? 2 * c->passes + 1 : c->passes;
    c->passes_left = c->passes;
    c->looked_at = now;
    if (!c->round && c->active && now >= c->round_at)
        c->round = c->comms;
    if (!c->round)
        return;
    while (c->round && slots > 0) {
        slots -= c->round->active ? c->round->config.slots : 1;
        if (c->round->active)
            nbcolli_round_over(c->round);
        c->round = c->round->sister;
    }
    if (c->round)
        c->passes_left = 0;
    else
        c->round_at = nbcolli_now(&c->host) + NBCOLLI_ROUND;
}
