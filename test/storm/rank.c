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
    judge_end(r->actor, i, c->item, status, &failure, c->buffers);
    if (c->buffers) {
        buffers_free(c->buffers);
        free(c->buffers);
    } else if (status == NBCOLL_OK)
        made_is(r, c->item);
    close_call(r, k);
}

static void done(nbcoll_request request, nbcoll_status status, void *user)
{
    call *c = user;
    (void)request;
    storm_not_in_tick(c->actor, "a callback");
    c->is_over = true;
    c->status = status;
}

/* ---- waiting ----------------------------------------------------------------------------------------------------- */

static bool is_over(nbcoll_status status)
{
    return status != NBCOLL_PENDING && status != NBCOLL_ERR_TIMEOUT && status != NBCOLL_ERR_NO_SLOT;
}

/* Do its endpoints have what is needed for that? */
static bool may_sleep(const rank *r)
{
    bool may = !r->storm->plan.is_over_shm;
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
    if (has == NBCOLL_ERR_UNSUPPORTED && may_sleep(r))
        storm_find(r->storm, "rank %d: its endpoints have descriptors, but its context has none", r->actor->rank);
    if (has != NBCOLL_OK || nbcoll_arm(r->context) != NBCOLL_OK)
        storm_sleep(r->storm, 1 + rank_choose(r, looks < 30 ? 100u << looks / 2 : 40 * MILLISECOND));
    else
        storm_sleep(r->storm, r->storm->plan.is_patient ? 1000 * SECOND : 100 * MILLISECOND);
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
        while (!is_over(status = nbcoll_wait(request, rank_choose(r, 4) ? rank_choose(r, SECOND) : 0))) {
            chain_look(r);
            storm_stay(r->storm, 1 + rank_choose(r, 100));
        }
        return status;
    default:
        while (!is_over(status = nbcoll_test(request))) {
            if (nbcoll_progress(r->context) != NBCOLL_OK)
                break;
            sleep_armed(r, looks++);
        }
        return status;
    }
}

void rank_wait_for(rank *r, int k)
{
    nbcoll_status status = rank_wait(r, &r->open[k]->request);
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

static void wait_some(rank *r)
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
            wait_some(r);
}

/* ---- starts ------------------------------------------------------------------------------------------------------ */

static void is_full(rank *r, const item *i)
{
    r->is_full[i->comm] = true;
    if (i->kind == ITEM_DUP || i->kind == ITEM_SPLIT || i->kind == ITEM_CHAIN)
        r->is_full[i->made] = r->is_full[i->made + i->moves] = true;
}

static bool has(const buffers *b, const unsigned char *at)
{
    bool is_in = false;
    for (int which = 0; which < 2 && b; which++)
        is_in |= b->memory[which] && at >= b->memory[which] && at < b->memory[which] + b->bytes[which];
    return is_in;
}

const buffers *rank_buffers_at(const actor *a, const void *at)
{
    const rank *r = a->program;
    const buffers *found = r && has(r->now, at) ? r->now : NULL;
    for (int k = 0; r && k < r->opened && !found; k++)
        found = has(r->open[k]->buffers, at) ? r->open[k]->buffers : NULL;
    return found;
}

bool rank_shows(const actor *a, const void *at)
{
    const rank *r = a->program;
    return r && (uintptr_t)at - (uintptr_t)r->shown < r->shown_bytes;
}

bool rank_is_full(rank *r, int n, nbcoll_status status)
{
    storm *s = r->storm;
    const item *i = &s->plan.item[n];
    if (status != NBCOLL_ERR_LIMIT || s->plan.late_tags != COUNTER_ENDS || i->comm)
        return false;
    if (!s->full_at)
        s->full_at = 1 + n;
    if (s->full_at != 1 + n && !s->bad_anywhere)
        storm_find(s, "rank %d, item %d: no tag is left, and on another rank none was at item %d", r->actor->rank, n,
                   s->full_at - 1);
    is_full(r, i);
    r->is_broken[i->comm] = true;
    return true;
}

bool rank_is_numberless(rank *r, int n, nbcoll_status status)
{
    const item *i = &r->storm->plan.item[n];
    if (status != NBCOLL_ERR_LIMIT || !r->storm->plan.few_serials || i->kind == ITEM_CALL || i->kind == ITEM_OWN)
        return false;
    uint32_t left = counters_left(r->comm[i->comm]);
    if (left > (i->kind == ITEM_SHRINK ? (uint32_t)nbcoll_comm_size(r->comm[i->comm]) : 0))
        storm_find(r->storm, "rank %d, item %d: no communicator can be made, though there are %u numbers left",
                   r->actor->rank, n, left);
    rank_stops(r, BAD_MEMORY | BAD_LEFT);
    return true;
}

bool rank_is_refused(rank *r, int n, nbcoll_status status, int tries)
{
    const item *i = &r->storm->plan.item[n];
    if (status == NBCOLL_ERR_MEMORY && tries < RETRIES) {
        storm_stay(r->storm, 1 + rank_choose(r, 50 * MICROSECOND));
        nbcoll_progress(r->context);
        return true;
    }
    if (rank_is_full(r, n, status) || rank_is_numberless(r, n, status))
        return false;
    nbcoll_failure failure = rank_failure(r, i->comm);
    judge_end(r->actor, i, n, status, &failure, NULL);
    if (r->agent && !i->comm && i->kind == ITEM_CALL && status != NBCOLL_ERR_MEMORY)
        return false; /* its agent has failed: what is no program goes on */
    r->is_broken[i->comm] = true;
    if (status == NBCOLL_ERR_MEMORY)
        rank_stops(r, BAD_MEMORY | BAD_LEFT);
    else
        storm_cause(r->storm, r->actor->rank, BAD_LEFT);
    return false;
}

call *rank_opened(rank *r, int n, buffers *b, nbcoll_request request)
{
    call *c = calloc(1, sizeof *c);
    c->item = n;
    c->actor = r->actor;
    c->buffers = b;
    c->request = request;
    r->open[r->opened++] = c;
    storm_note(r->storm, r->actor->rank, NOTE_STARTS, (uint64_t)n, 0);
    return c;
}

static void differ_freely(item *i, uint64_t salt)
{
    nbcoll_operation what = i->o.what;
    if (has_root(what) && salt % 2)
        i->o.root++;
    else
        i->o.count += 1;
    i->o.what = salt % 3 ? what : NBCOLL_OPERATION_ALLGATHER;
}

/* In one thing: another root, reduction, count or operation. False: in nothing that must be equal, where each rank has
 * counts of its own, or there is only one. */
static bool differ(item *i, int ranks, uint64_t salt)
{
    operation *o = &i->o;
    nbcoll_op other = o->how.op == NBCOLL_MAX ? NBCOLL_MIN : NBCOLL_MAX;
    if (salt % 4 == 0 && has_root(o->what)) {
        o->root++;
        return ranks > 1;
    }
    if (salt % 4 == 1 && combines(o->what) && !i->element && nbcoll_op_applies(other, o->how.type)) {
        o->how.op = other;
        return ranks > 1 && o->count;
    }
    if (salt % 4 == 2) {
        o->count += 1;
        return ranks > 1 && !is_v(o->what) && o->what != NBCOLL_OPERATION_BARRIER;
    }
    o->what = o->what == NBCOLL_OPERATION_ALLGATHER ? NBCOLL_OPERATION_ALLTOALL : NBCOLL_OPERATION_ALLGATHER;
    return ranks > 1;
}

static buffers *make_buffers(rank *r, int n, uint64_t salt)
{
    const item *i = &r->storm->plan.item[n];
    place_in at = r->storm->plan.place[i->comm][r->actor->rank];
    buffers *b = malloc(sizeof *b);
    item changed = *i;
    if (i->differs == 1 + r->actor->rank) {
        if (r->storm->plan.edition >= 5)
            r->storm->is_different |= differ(&changed, at.size, i->salt); /* each time the same */
        else
            differ_freely(&changed, salt);
        storm_note(r->storm, r->actor->rank, NOTE_FAULT, FAULT_DIFFERS, (uint64_t)n);
        storm_cause(r->storm, r->actor->rank, BAD_DIFFERS);
    }
    buffers_make(b, r->actor, &changed, at.rank, at.size, salt);
    return b;
}

static void drop(buffers *b)
{
    buffers_free(b);
    free(b);
}

void rank_cancels(rank *r, call *c)
{
    const item *i = &r->storm->plan.item[c->item];
    if (i->cancels != 1 + r->actor->rank)
        return;
    storm_stay(r->storm, rank_choose(r, 20 * MICROSECOND));
    storm_note(r->storm, r->actor->rank, NOTE_FAULT, FAULT_CANCELS, (uint64_t)c->item);
    storm_cause(r->storm, r->actor->rank, BAD_CANCELS);
    nbcoll_cancel(c->request);
}

/* Starts it once; the request is among the open ones. */
static void start_one(rank *r, int n, uint64_t salt)
{
    const item *i = &r->storm->plan.item[n];
    buffers *b = make_buffers(r, n, salt);
    nbcoll_request request;
    nbcoll_status status;
    int tries = 0;

    while ((status = operation_start(&b->o, &b->share, r->comm[i->comm], &request)) != NBCOLL_OK)
        if (!rank_is_refused(r, n, status, tries++)) {
            drop(b);
            return;
        }
    call *c = rank_opened(r, n, b, request);
    if (rank_choose(r, 4) == 0) {
        c->calls_back = true;
        nbcoll_on_done(request, done, c);
    }
    rank_cancels(r, c);
}

static void call_blocking(rank *r, int n, uint64_t salt)
{
    const item *i = &r->storm->plan.item[n];
    buffers *b = r->now = make_buffers(r, n, salt);
    nbcoll_status status;

    storm_note(r->storm, r->actor->rank, NOTE_STARTS, (uint64_t)n, 1);
    status = operation_call(&b->o, &b->share, r->comm[i->comm], NBCOLL_FOREVER);
    nbcoll_failure failure = rank_failure(r, i->comm);
    storm_note(r->storm, r->actor->rank, NOTE_ENDS, (uint64_t)n, status);
    if (!rank_is_full(r, n, status))
        judge_end(r->actor, i, n, status, &failure, b);
    r->now = NULL;
    drop(b);
}

static void run_persistent(rank *r, int n)
{
    const item *i = &r->storm->plan.item[n];
    buffers *b = r->now = make_buffers(r, n, mix(i->salt, 0));
    nbcoll_request request, handle;
    nbcoll_status status;
    int tries = 0;

    while ((status = operation_init(&b->o, &b->share, r->comm[i->comm], &request)) != NBCOLL_OK)
        if (!rank_is_refused(r, n, status, tries++)) {
            r->now = NULL;
            drop(b);
            return;
        }
    for (int t = 0; t < i->times && !r->is_broken[i->comm]; t++) {
        if (t)
            buffers_fill(b, mix(i->salt, (uint64_t)t));
        tries = 0;
        while ((status = nbcoll_start(&request)) != NBCOLL_OK && rank_is_refused(r, n, status, tries++))
            ;
        if (status != NBCOLL_OK)
            break;
        storm_note(r->storm, r->actor->rank, NOTE_STARTS, (uint64_t)n, 2);
        handle = request;
        status = rank_wait(r, &handle);
        nbcoll_failure failure = rank_failure(r, i->comm);
        storm_note(r->storm, r->actor->rank, NOTE_ENDS, (uint64_t)n, status);
        judge_end(r->actor, i, n, status, &failure, b);
    }
    status = nbcoll_request_free(&request);
    if (status != NBCOLL_OK)
        storm_find(r->storm, "rank %d, item %d: the persistent request is not freed: %s", r->actor->rank, n,
                   nbcoll_status_name(status));
    r->now = NULL;
    drop(b);
}

bool rank_may_block(const rank *r)
{
    for (int i = 0; i < r->storm->plan.faults; i++)
        if (r->storm->plan.fault[i].kind == FAULT_MEMORY)
            return false;
    return true;
}

static void run_call(rank *r, int n)
{
    const item *i = &r->storm->plan.item[n];
    bool persists = rank_choose(r, 3) == 0 && !i->cancels && !i->differs;

    if (persists) {
        run_persistent(r, n);
        return;
    }
    for (int t = 0; t < i->times && !r->is_broken[i->comm] && !r->stops; t++) {
        uint64_t salt = mix(i->salt, (uint64_t)t);
        if (rank_choose(r, 3) == 0 && !i->cancels && rank_may_block(r)) {
            call_blocking(r, n, salt);
            continue;
        }
        while (r->opened >= r->storm->plan.window)
            wait_some(r);
        start_one(r, n, salt);
        if (rank_choose(r, 4) == 0)
            nbcoll_progress(r->context);
        if (rank_choose(r, 4) == 0)
            storm_stay(r->storm, rank_choose(r, 3000));
    }
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
            is_full(r, i);
            return;
        }
        /* others may find that it has not come */
        storm_cause(s, r->actor->rank, BAD_LEFT);
        return;
    }
    if (rank_choose(r, 1000) < s->plan.late) {
        storm_note(s, r->actor->rank, NOTE_LATE, 0, 0);
        storm_away(s, rank_choose(r, s->plan.latest));
    }
    if (i->kind == ITEM_CALL)
        run_call(r, n);
    else if (i->kind == ITEM_CHAIN)
        chain_begin(r, n);
    else if (i->kind == ITEM_OWN)
        own_run(r, n);
    else if (i->kind == ITEM_FREE)
        made_free(r, i->comm);
    else
        made_create(r, n);
}

/* Where all has ended well each step was ready, has started, and has ended. */
static void judge_told(rank *r)
{
    if (!r->storm->bad_anywhere && (r->told[0] != r->told[1] || r->told[0] != r->told[2]))
        storm_find(r->storm, "rank %d: of its steps %llu were ready, %llu started, %llu ended", r->actor->rank,
                   (unsigned long long)r->told[0], (unsigned long long)r->told[1], (unsigned long long)r->told[2]);
}

/* Of what it has freed it is still asked, and told, until it leaves. */
static void linger(rank *r)
{
    if (r->storm->plan.edition < 7)
        return;
    for (uint64_t looks = rank_choose(r, 2) ? rank_choose(r, 8) : 0; looks; looks--) {
        nbcoll_progress(r->context);
        storm_sleep(r->storm, 1 + rank_choose(r, MILLISECOND));
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
            drop(r->kept[k]);
    free(r);
    a->program = NULL;
}
