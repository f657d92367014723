/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How a rank starts the calls of its program: refused for lack of memory they are made again; some differ from those of
 * the others, and some are cancelled. */
#include <stdlib.h>

#include "counters.h"
#include "rank.h"

void rank_notes_full(rank *r, const item *i)
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
    rank_notes_full(r, i);
    r->is_broken[i->comm] = true;
    return true;
}

bool rank_is_numberless(rank *r, int n, nbcoll_status status)
{
    const item *i = &r->storm->plan.item[n];
    if (status != NBCOLL_ERR_LIMIT || !r->storm->plan.few_serials || i->kind == ITEM_CALL || i->kind == ITEM_OWN ||
        i->kind >= ITEM_MESSAGES)
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
    bool has_programs = i->kind == ITEM_CALL || i->kind == ITEM_ELEMENTS || i->kind == ITEM_MESSAGES ||
                        i->kind >= ITEM_DEADLINE;
    if (r->agent && !i->comm && has_programs && status != NBCOLL_ERR_MEMORY)
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
    c->since = r->opened || r->chains ? 0 : r->storm->now;
    c->watched = r->watched;
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

buffers *rank_buffers(rank *r, int n, uint64_t salt)
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
    b->item = n;
    b->since = ways_first_open(r->storm);
    if (r->storm->plan.edition >= EDITION_OF_MEMORY && mix(salt, 56) % 4 == 0)
        buffers_move(b, r->comm[i->comm]);
    return b;
}

void rank_drop(buffers *b)
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

static void done(nbcoll_request request, nbcoll_status status, void *user)
{
    call *c = user;
    (void)request;
    storm_not_in_tick(c->actor, "a callback");
    c->is_over = true;
    c->status = status;
}

/* Starts it once; the request is among the open ones. */
static void start_one(rank *r, int n, uint64_t salt)
{
    const item *i = &r->storm->plan.item[n];
    buffers *b = rank_buffers(r, n, salt);
    nbcoll_request request;
    nbcoll_status status;
    int tries = 0;

    while ((status = operation_start(&b->o, &b->share, r->comm[i->comm], &request)) != NBCOLL_OK)
        if (!rank_is_refused(r, n, status, tries++)) {
            rank_drop(b);
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
    buffers *b = r->now = rank_buffers(r, n, salt);
    nbcoll_status status;

    storm_note(r->storm, r->actor->rank, NOTE_STARTS, (uint64_t)n, 1);
    status = operation_call(&b->o, &b->share, r->comm[i->comm], NBCOLL_FOREVER);
    nbcoll_failure failure = rank_failure(r, i->comm);
    storm_note(r->storm, r->actor->rank, NOTE_ENDS, (uint64_t)n, status);
    if (!rank_is_full(r, n, status))
        judge_end(r->actor, i, n, status, &failure, b);
    r->now = NULL;
    rank_drop(b);
}

static void run_persistent(rank *r, int n)
{
    const item *i = &r->storm->plan.item[n];
    buffers *b = r->now = rank_buffers(r, n, mix(i->salt, 0));
    nbcoll_request request, handle;
    nbcoll_status status;
    int tries = 0;

    while ((status = operation_init(&b->o, &b->share, r->comm[i->comm], &request)) != NBCOLL_OK)
        if (!rank_is_refused(r, n, status, tries++)) {
            r->now = NULL;
            rank_drop(b);
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
    rank_drop(b);
}

bool rank_may_block(const rank *r)
{
    for (int i = 0; i < r->storm->plan.faults; i++)
        if (r->storm->plan.fault[i].kind == FAULT_MEMORY)
            return false;
    return true;
}

void starts_run(rank *r, int n)
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
            rank_wait_some(r);
        start_one(r, n, salt);
        if (rank_choose(r, 4) == 0)
            nbcoll_progress(r->context);
        if (rank_choose(r, 4) == 0)
            storm_stay(r->storm, rank_choose(r, 3000));
    }
}
