/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The program as one rank executes it: blocking, nonblocking or persistent, with a callback or without, as its own
 * stream of choices says; what is outstanding is waited for in each way that there is. A call that is refused for lack
 * of memory is made again; a communicator that is broken, or out of step, is used no more. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/engine/state/context.h"
#include "counters.h"
#include "rank.h"
#include "wire.h"

uint64_t rank_choose(rank *r, uint64_t below)
{
    return next_random(&r->random) % below;
}

void rank_stops(rank *r, unsigned why)
{
    r->stops = true;
    storm_cause(r->storm, r->actor->rank, why | BAD_QUITS);
}

nbcoll_failure rank_failure(rank *r, int comm)
{
    nbcoll_failure failure = {0};
    failure.rank = -1;
    if (comm >= 0 && r->comm[comm])
        nbcoll_comm_failure(r->comm[comm], &failure);
    else if (r->context && comm < 0) /* of one that it has freed nothing is known: the last may be of another one */
        nbcoll_last_failure(r->context, &failure);
    return failure;
}

/* ---- ends -------------------------------------------------------------------------------------------------------- */

static void close_call(rank *r, int k)
{
    free(r->open[k]);
    r->open[k] = r->open[--r->opened];
}

static void ended(rank *r, int k, nbcoll_status status)
{
    call *c = r->open[k];
    const item *i = &r->storm->plan.item[c->item];
    nbcoll_failure failure = rank_failure(r, i->comm);

    if (c->calls_back) {
        while (status == NBCOLL_OK && !c->is_over && r->driver) { /* its thread may be about to call, or be in it */
            nbcoll_progress(r->context);
            storm_sleep(r->storm, 1 + rank_choose(r, MILLISECOND));
        }
        if (status == NBCOLL_OK && !c->is_over)
            storm_find(r->storm, "rank %d, item %d: over, and its callback has not come", r->actor->rank, c->item);
        status = status == NBCOLL_OK ? c->status : status;
    }
    storm_note(r->storm, r->actor->rank, NOTE_ENDS, (uint64_t)c->item, status);
    judge_hears(r->actor, i, c->item, status, r->comm[i->comm], c->since);
    judge_end(r->actor, i, c->item, status, &failure, c->buffers);
    if (c->buffers) {
        buffers_free(c->buffers);
        free(c->buffers);
    } else if (status == NBCOLL_OK)
        made_is(r, c->item);
    close_call(r, k);
}

/* ---- waiting ----------------------------------------------------------------------------------------------------- */

static bool is_over(nbcoll_status status)
{
    return status != NBCOLL_PENDING && status != NBCOLL_ERR_TIMEOUT && status != NBCOLL_ERR_NO_SLOT;
}

/* Do its endpoints have what is needed for that? */
static bool may_sleep(const rank *r)
{
    bool may = !r->storm->plan.is_over;
    for (int n = 0; n < r->storm->plan.nets && may; n++)
        may = r->actor->end[n]->net.groups & HAS_WAKEUP;
    return may;
}

static void sleep_armed(rank *r, uint64_t looks)
{
    int fd;
    if (chain_look(r)) /* which may have armed, too: what has ended before that is looked at first */
        return;
    nbcoll_status has = nbcoll_fd(r->context, &fd);
    r->arms++;
    if (has == NBCOLL_ERR_UNSUPPORTED && may_sleep(r))
        storm_find(r->storm, "rank %d: its endpoints have descriptors, but its context has none", r->actor->rank);
    if (has != NBCOLL_OK || nbcoll_arm(r->context) != NBCOLL_OK)
        storm_sleep(r->storm, 1 + rank_choose(r, looks < 30 ? 100u << looks / 2 : 40 * MILLISECOND));
    else
        storm_sleep(r->storm, r->storm->plan.is_patient ? 1000 * SECOND : 100 * MILLISECOND);
}

static nbcoll_status wait_in_parts(rank *r, nbcoll_request *request)
{
    nbcoll_status status;
    while (!is_over(status = nbcoll_wait(request, rank_choose(r, 4) ? rank_choose(r, SECOND) : 0))) {
        chain_look(r);
        storm_stay(r->storm, 1 + rank_choose(r, 100));
    }
    return status;
}

nbcoll_status rank_wait(rank *r, nbcoll_request *request)
{
    nbcoll_status status;
    uint64_t looks = 0;
    switch (rank_choose(r, 4)) {
    case 0:
        return nbcoll_wait(request, NBCOLL_FOREVER);
    case 1:
        while (!is_over(status = nbcoll_test(request))) {
            chain_look(r);
            storm_sleep(r->storm, 1 + rank_choose(r, looks++ < 20 ? 1000u << looks / 2 : 40 * MILLISECOND));
        }
        return status;
    case 2:
        return wait_in_parts(r, request);
    default:
        while (!is_over(status = nbcoll_test(request))) {
            uint64_t arms = r->arms;
            if (nbcoll_progress(r->context) != NBCOLL_OK)
                break;
            if (arms == r->arms) /* else a callback has armed, and was told what had ended till then */
                sleep_armed(r, looks++);
        }
        return status;
    }
}

/* For so long it has waited for that alone, and next to nothing has moved: of whom, its watcher was to be told. Not of
 * calls that have no run, nor of one that has failed, which waits for its exposures. */
static void judge_watched(const rank *r, const call *c, uint64_t waited, uint64_t moves, nbcoll_status status)
{
    const storm *s = r->storm;
    bool is_well = status == NBCOLL_OK && (!c->calls_back || (c->is_over && c->status == NBCOLL_OK));
    if (is_well && waited > 5 * SECOND && moves < 16 * waited / SECOND && r->has_watcher && r->watched == c->watched &&
        r->opened == 1 && !r->chains && s->plan.item[c->item].kind != ITEM_SHRINK && !s->plan.is_patient &&
        !s->plan.has_agents && !s->plan.is_bare && s->plan.edition >= EDITION_OF_PARTS && !s->ends &&
        !r->actor->is_dead && !(s->bad_anywhere & BAD_HEADER))
        storm_find(r->storm, "rank %d, item %d: it has waited for %llu ms, and its watcher knows nothing",
                   r->actor->rank, c->item, (unsigned long long)(waited / MILLISECOND));
}

/* From edition 26 on: what it is told has arrived is there, while the call goes on. */
static void ask_for_arrivals(rank *r, const call *c)
{
    buffers *b = c->buffers;
    char text[200];
    if (r->storm->plan.edition < EDITION_OF_ARRIVALS || !b || b->share.recv == NBCOLL_IN_PLACE || !b->bytes[RECV])
        return;
    for (uint64_t looks = rank_choose(r, 8); looks && !(c->calls_back && c->is_over); looks--) {
        size_t offset = (size_t)rank_choose(r, b->bytes[RECV]);
        size_t bytes = 1 + (size_t)rank_choose(r, b->bytes[RECV] - offset);
        nbcoll_status status = nbcoll_arrived(c->request, offset, bytes);
        bool is_gone = c->calls_back && c->is_over, is_judged = !r->actor->is_dead && !r->storm->ends && !is_gone;
        is_judged &= !(r->storm->bad_anywhere & (BAD_DIFFERS | BAD_HEADER));
        bool is_beyond = status == NBCOLL_ERR_COUNT && is_v(b->o.what); /* behind the last block */
        if (status != NBCOLL_OK && status != NBCOLL_PENDING && !is_beyond && is_judged)
            storm_find(r->storm, "rank %d, item %d: has it arrived: %s", r->actor->rank, c->item,
                       nbcoll_status_name(status));
        if (status == NBCOLL_OK && is_judged && buffers_not_arrived(b, offset, bytes, text))
            storm_find(r->storm, "rank %d, item %d (%s): %s", r->actor->rank, c->item, nbcoll_operation_name(b->o.what),
                       text);
        nbcoll_progress(r->context);
        storm_stay(r->storm, 1 + rank_choose(r, 3000));
    }
}

void rank_wait_for(rank *r, int k)
{
    ask_for_arrivals(r, r->open[k]);
    uint64_t since = r->storm->now, moved = r->actor->posts + r->actor->data;
    nbcoll_status status = rank_wait(r, &r->open[k]->request);
    judge_watched(r, r->open[k], r->storm->now - since, r->actor->posts + r->actor->data - moved, status);
    ended(r, k, status);
}

static void wait_several(rank *r, int way)
{
    nbcoll_request requests[OPEN_MOST];
    nbcoll_status statuses[OPEN_MOST], status;
    call *calls[OPEN_MOST];
    size_t n = (size_t)r->opened, index = 0, many = 0, indices[OPEN_MOST];
    uint64_t timeout = rank_choose(r, 3) ? NBCOLL_FOREVER : rank_choose(r, SECOND);

    for (size_t k = 0; k < n; k++) {
        calls[k] = r->open[k];
        requests[k] = calls[k]->request;
        statuses[k] = NBCOLL_PENDING;
    }
    if (way == 0) {
        do
            status = nbcoll_wait_all(n, requests, statuses, timeout);
        while (!is_over(status));
        judge_all(r->actor, status, n, statuses);
        many = n;
    } else if (way == 1) {
        while (!is_over(status = nbcoll_wait_any(n, requests, &index, timeout)))
            ;
        if (index < n)
            statuses[index] = status;
    } else
        while (!is_over(status = nbcoll_wait_some(n, requests, &many, indices, statuses, timeout)))
            ;
    for (size_t k = 0; k < n; k++) {
        calls[k]->request = requests[k];
        if (calls[k]->calls_back && calls[k]->is_over)
            statuses[k] = NBCOLL_OK;
        else if (requests[k].at || (calls[k]->calls_back && !calls[k]->is_over))
            continue; /* not over */
        for (int o = 0; o < r->opened; o++)
            if (r->open[o] == calls[k]) {
                ended(r, o, statuses[k]);
                break;
            }
    }
}

void rank_wait_some(rank *r)
{
    switch (rank_choose(r, 5)) {
    case 0:
        wait_several(r, 0);
        break;
    case 1:
        wait_several(r, 1);
        break;
    case 2:
        wait_several(r, 2);
        break;
    default:
        rank_wait_for(r, (int)rank_choose(r, (uint64_t)r->opened));
    }
}

static void wait_all(rank *r)
{
    while (r->opened)
        if (rank_choose(r, 3))
            rank_wait_for(r, (int)rank_choose(r, (uint64_t)r->opened));
        else
            rank_wait_some(r);
}

/* ---- the program ------------------------------------------------------------------------------------------------- */

static void lent(void *user, void *buffer, size_t bytes)
{
    (void)user;
    (void)buffer;
    (void)bytes;
}

/* From then on its communicator is broken. */
static void declare(rank *r, int other)
{
    storm_cause(r->storm, other, BAD_DECLARED);
    nbcoll_status status = nbcoll_comm_declare_lost(r->comm[0], other);
    if (status != NBCOLL_OK || rank_failure(r, 0).status == NBCOLL_OK)
        storm_find(r->storm, "rank %d declares rank %d lost: %s, and nothing has failed", r->actor->rank, other,
                   nbcoll_status_name(status));
}

static void faults_before(rank *r, int n)
{
    storm *s = r->storm;
    for (int k = 0; k < s->plan.faults; k++) {
        const fault *f = &s->plan.fault[k];
        bool is_other = f->kind == FAULT_RIVALS && f->other == r->actor->rank;
        if ((f->rank != r->actor->rank && !is_other) || f->at != (uint64_t)n || s->ends)
            continue;
        if (f->kind == FAULT_HANG) {
            storm_note(s, f->rank, NOTE_FAULT, FAULT_HANG, 0);
            storm_away(s, rank_choose(r, 2) ? rank_choose(r, 500 * MILLISECOND) : rank_choose(r, 60 * SECOND));
        } else if (f->kind == FAULT_DECLARE && r->comm[0]) {
            storm_note(s, f->rank, NOTE_FAULT, FAULT_DECLARE, (uint64_t)f->other);
            declare(r, f->other);
        } else if (f->kind == FAULT_RIVALS && r->comm[0]) {
            int rival = is_other ? f->rank : f->other;
            storm_note(s, r->actor->rank, NOTE_FAULT, FAULT_RIVALS, (uint64_t)rival);
            declare(r, rival);
        } else if (f->kind == FAULT_JUMP) {
            storm_note(s, f->rank, NOTE_FAULT, FAULT_JUMP, 0);
            r->actor->skew += rank_choose(r, 10000 * SECOND);
        } else if (f->kind == FAULT_FREES && r->comm[s->plan.item[n].comm]) {
            storm_note(s, f->rank, NOTE_FAULT, FAULT_FREES, (uint64_t)s->plan.item[n].comm);
            storm_cause(s, f->rank, BAD_LEFT | BAD_FREED | BAD_QUITS);
            made_free(r, s->plan.item[n].comm);
        } else if (f->kind == FAULT_LEAVE || f->kind == FAULT_ABANDON) {
            storm_note(s, f->rank, NOTE_FAULT, f->kind, 0);
            rank_stops(r, BAD_LEFT | (f->kind == FAULT_ABANDON ? BAD_DEAD : 0u));
            r->skips = f->kind == FAULT_ABANDON;
        }
    }
}

/* It does other things for so long, and makes progress meanwhile. */
static void look_on(rank *r, uint64_t ns)
{
    storm *s = r->storm;
    uint64_t till = s->now + ns;
    if (s->last_cause < till)
        s->last_cause = till;
    while (s->now < till) {
        nbcoll_progress(r->context);
        storm_stay(s, 1 + rank_choose(r, 40 * MILLISECOND));
    }
}

static void run_item(rank *r, int n)
{
    storm *s = r->storm;
    const item *i = &s->plan.item[n];

    r->item = n;
    r->random = mix(mix(s->plan.seed, 5000 + (uint64_t)n), (uint64_t)r->actor->rank);
    drivers_change(r);
    faults_before(r, n);
    if (r->stops || s->plan.is_skipped[n] ||
        (s->plan.place[i->comm][r->actor->rank].group < 0 && !s->plan.survives[i->comm]))
        return;
    bool is_broken = r->is_broken[i->comm] && i->kind != ITEM_SHRINK && !(i->kind == ITEM_FREE && r->relays[i->comm]);
    if (s->plan.place[i->comm][r->actor->rank].group < 0 || !r->comm[i->comm] || is_broken) {
        if (r->is_full[i->comm]) { /* nobody comes */
            rank_notes_full(r, i);
            return;
        }
        /* others may find that it has not come */
        storm_cause(s, r->actor->rank, BAD_LEFT);
        return;
    }
    if (rank_choose(r, 1000) < s->plan.late) {
        storm_note(s, r->actor->rank, NOTE_LATE, 0, 0);
        if (s->plan.edition >= EDITION_OF_KINDS && rank_choose(r, 2))
            look_on(r, rank_choose(r, 3 * SECOND));
        else
            storm_away(s, rank_choose(r, s->plan.latest));
    }
    if (i->kind == ITEM_CALL)
        starts_run(r, n);
    else if (i->kind == ITEM_CHAIN)
        chain_begin(r, n);
    else if (i->kind == ITEM_OWN)
        own_run(r, n);
    else if (i->kind == ITEM_MESSAGES)
        messages_run(r, n);
    else if (i->kind == ITEM_NEIGHBORS)
        neighbors_run(r, n);
    else if (i->kind == ITEM_ELEMENTS)
        elements_run(r, n);
    else if (i->kind == ITEM_GROUP)
        groups_run(r, n);
    else if (i->kind == ITEM_DEADLINE)
        deadlines_run(r, n);
    else if (i->kind == ITEM_CROWD)
        crowd_run(r, n);
    else if (i->kind == ITEM_FULL)
        full_run(r, n);
    else if (i->kind == ITEM_FREE)
        made_free(r, i->comm);
    else
        made_create(r, n);
}

/* Where all has ended well each step was ready, has started, and has ended. */
static void judge_told(rank *r)
{
    if (!r->storm->bad_anywhere && !r->storm->has_ended_early && (r->told[0] != r->told[1] || r->told[0] != r->told[2]))
        storm_find(r->storm, "rank %d: of its steps %llu were ready, %llu started, %llu ended", r->actor->rank,
                   (unsigned long long)r->told[0], (unsigned long long)r->told[1], (unsigned long long)r->told[2]);
}

/* Of what it has freed it is still asked, and told, until it leaves. */
static void linger(rank *r)
{
    if (r->storm->plan.edition < 7)
        return;
    uint64_t looks = rank_choose(r, 2) ? rank_choose(r, 8) : 0, most = MILLISECOND;
    /* communicators on which others may wait for it: that it is late is no failure; or whom it cannot tell */
    bool has_some = r->storm->bad_anywhere & (BAD_WIRE | BAD_DECLARED);
    for (int c = 0; c < COMMS_MOST; c++)
        has_some |= r->comm[c] != NULL;
    if (r->storm->plan.edition >= EDITION_OF_MEMORY && r->storm->bad[r->actor->rank] & BAD_ENDED && looks &&
        !has_some) {
        looks = 100; /* who waits for it asks after 40 ms, and later; till this ends bad news would be late (world.c) */
        most = 60 * MILLISECOND;
    }
    for (; looks; looks--) {
        nbcoll_progress(r->context);
        storm_sleep(r->storm, 1 + rank_choose(r, most));
    }
}

/* It has other things to do, for longer than bad news may take (world.c), and makes progress meanwhile: who waits for
 * what it never sends asks it, and is answered though it waits for nobody. */
static void work_on(rank *r)
{
    const plan *p = &r->storm->plan;
    bool is_late = r->stops; /* others wait for calls that it has left out: that is no failure */
    for (int c = 0; c < COMMS_MOST; c++)
        is_late |= r->is_broken[c];
    bool has_freed = p->edition >= EDITION_OF_KINDS && p->faults == 1 && p->fault[0].kind == FAULT_FREES;
    bool is_different = r->storm->is_different || has_freed;
    if (p->edition < EDITION_OF_MEMORY || !is_different || is_late || rank_choose(r, 2))
        return;
    for (int looks = 0; looks < 100; looks++) {
        nbcoll_progress(r->context);
        storm_sleep(r->storm, 40 * MILLISECOND);
    }
}

/* After a pass, which looks at calls that were refused. */
static void judge_failures(rank *r)
{
    if (r->storm->plan.edition < EDITION_OF_ENDS || !r->storm->is_different)
        return;
    nbcoll_progress(r->context);
    for (int c = 0; c < COMMS_MOST; c++)
        if (r->comm[c]) {
            nbcoll_failure failure = rank_failure(r, c);
            judge_blamed(r->actor, &failure);
        }
}

/* Does a rank stop before its end, as one whose relays do not open? Then the others wait for its calls, and it is not
 * to wait for them. */
static bool one_quits(const storm *s)
{
    return s->bad_anywhere & BAD_QUITS;
}

/* All have come to their end, and nothing is under way: each message has given its credit back. Where each rank comes
 * there, whatever is cancelled. */
static void count_credits(rank *r)
{
    storm *s = r->storm;
    const plan *p = &s->plan;
    int me = r->actor->rank;
    bool is_whole = p->edition >= EDITION_OF_KINDS && !p->faults && !p->has_agents && !p->few_serials &&
                    p->late_tags != COUNTER_ENDS && !p->is_over && !p->is_patient && !p->ticks && p->ranks <= 9;
    for (int n = 0; n < p->items; n++)
        is_whole &= !p->item[n].differs;
    if (!is_whole)
        return;
    s->at_end++;
    for (int looks = 0; looks < 30 && !one_quits(s); looks += s->at_end == p->ranks) {
        nbcoll_progress(r->context);
        storm_sleep(s, 1 + rank_choose(r, (s->at_end == p->ranks ? 40 : 400) * MILLISECOND));
    }
    for (int n = 0; n < p->nets; n++)
        for (int q = 0; q < p->ranks; q++) {
            const end *e = r->actor->end[n];
            window w = wire_reaches(e, q) ? counters_window(r->context, &e->base, e->net.at[q].rank) : (window){-1, -1};
            s->out[n][me][q] = w.out;
            s->owed[n][me][q] = w.owed;
        }
    s->counted += !one_quits(s);
    for (int n = 0; n < p->nets && s->counted == p->ranks; n++)
        for (int a = 0; a < p->ranks; a++)
            for (int b = 0; b < p->ranks; b++)
                if (a != b && s->out[n][a][b] >= 0 && s->owed[n][b][a] >= 0 && s->out[n][a][b] != s->owed[n][b][a])
                    storm_find(s, "rank %d misses %d credits of rank %d, which owes %d", a, (int)s->out[n][a][b], b,
                               (int)s->owed[n][b][a]);
    while (s->counted < p->ranks && !one_quits(s)) {
        nbcoll_progress(r->context);
        storm_sleep(s, MILLISECOND);
    }
}

static void leave(rank *r)
{
    storm *s = r->storm;
    nbcoll_status status;

    if (!r->context) {
        r->storm->medium->shut(r->actor);
        return;
    }
    if (r->stops)
        relays_break(r);
    if (r->driver && (r->skips || rank_choose(r, 2)))
        drivers_end(r);
    if (r->skips) {
        rank_ticks_stop(r);
        for (int k = 0; k < r->opened; k++) {
            r->kept[r->n_kept++] = r->open[k]->buffers;
            free(r->open[k]);
        }
        r->opened = 0;
        chain_forget_all(r);
        r->actor->has_abandoned = true;
        status = nbcoll_context_abandon(r->context, lent, r);
        if (status != NBCOLL_OK)
            storm_find(s, "rank %d: abandon: %s", r->actor->rank, nbcoll_status_name(status));
        return;
    }
    wait_all(r);
    chain_wait_all(r);
    work_on(r);
    judge_failures(r);
    rank_ticks_stop(r);
    for (int c = 0; c < COMMS_MOST; c++)
        relays_close(r, c);
    if (s->bad[r->actor->rank] & BAD_ENDED) /* who waits for it there names it */
        storm_cause(s, r->actor->rank, BAD_FREED);
    for (int c = 0; c < COMMS_MOST; c++)
        if (r->comm[c] && (rank_choose(r, 2) || (r->agent && !c)))
            made_free(r, c);
    linger(r);
    if (s->plan.edition >= EDITION_OF_KINDS) {
        if (s->plan.edition >= EDITION_OF_LOOKS && s->plan.nets > 1 && s->bad_anywhere & BAD_DECLARED &&
            rank_choose(r, 2))
            look_on(r, 2 * SECOND); /* whom it has given up on one endpoint it gives up on the other */
        nbcoll_progress(r->context);
        judge_given_up(r->actor, r->context);
        count_credits(r);
    }
    drivers_end(r);
    agents_end(r);
    r->leaves = true;
    while ((status = nbcoll_context_free(r->context)) == NBCOLL_ERR_BUSY) {
        nbcoll_progress(r->context);
        storm_sleep(s, 1 + rank_choose(r, MILLISECOND));
    }
    if (status != NBCOLL_OK)
        storm_find(s, "rank %d: the context is not freed: %s", r->actor->rank, nbcoll_status_name(status));
    judge_told(r);
    judge_goes_back(r->actor);
    if (r->has_endpoint)
        r->storm->medium->shut(r->actor);
}

void rank_pauses(const actor *a)
{
    rank *r = a->program;
    if (r && r->chains && !r->leaves)
        chain_look(r);
}

void rank_main(void *user)
{
    actor *a = user;
    rank *r = calloc(1, sizeof *r);
    *r = (rank){.actor = a, .storm = a->storm, .random = mix(a->storm->plan.seed, 3000 + (uint64_t)a->rank)};
    a->program = r;
    if (begin_rank(r)) {
        storm_note(r->storm, a->rank, NOTE_MADE, 0, 0);
        rank_ticks_start(r);
        drivers_begin(r);
        for (int n = 0; n < r->storm->plan.items && !r->stops; n++)
            run_item(r, n);
    } else
        storm_cause(r->storm, a->rank, BAD_LEFT);
    r->random = mix(mix(r->storm->plan.seed, 4000), (uint64_t)a->rank);
    leave(r);
    storm_note(r->storm, a->rank, NOTE_OVER, 0, 0);
}

bool rank_remembers(const actor *a, const nbcoll_header *header)
{
    const rank *r = a->program;
    for (int c = 0; c < COMMS_MOST && r; c++)
        if (r->comm[c] && counters_remembers(r->comm[c], header))
            return true;
    return false;
}

void rank_print(const actor *a)
{
    const rank *r = a->program;
    char text[300];
    if (!r || a->is_over)
        return;
    printf("  rank %d: at item %d%s, %d open:", a->rank, r->item, a->is_dead ? ", dead" : "", r->opened);
    for (int k = 0; k < r->opened; k++)
        printf(" %d", r->open[k]->item);
    for (int c = 0; c < COMMS_MOST; c++)
        if (r->comm[c] && !r->leaves) {
            nbcoll_failure_text(&r->comm[c]->failure, text, sizeof text); /* asked for, it waits for who is in a call */
            printf("\n    communicator %d: %zu active; %s", c, (size_t)r->comm[c]->active, text);
        }
    printf("\n");
}

void rank_clean(actor *a)
{
    rank *r = a->program;
    if (!a->is_over)
        return;
    for (int k = 0; k < r->n_kept; k++)
        if (r->kept[k])
            rank_drop(r->kept[k]);
    free(r);
    a->program = NULL;
}
