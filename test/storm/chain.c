/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Chains: a communicator is duplicated, and calls on it follow each other, each started when the one before has ended.
 * Each rank does so in a form of its own: in callbacks, the last of which frees the communicator; by one persistent
 * request that its callback starts again, and frees; from inside `pause`; or as its program's next statements. The
 * program goes on meanwhile. So callbacks start, cancel, wait, duplicate and free. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rank.h"

typedef enum chain_form { BY_PROGRAM, BY_CALLBACKS, BY_RESTARTS, BY_PAUSES, CHAIN_FORMS } chain_form;

struct chain {
    chain *next; /* of those that are not over */
    rank *rank;
    int item, step;
    chain_form form;
    item each; /* what its calls are */
    item making; /* and the creation */
    bool moves;  /* at its end, to a duplicate of its communicator */
    buffers *buffers;
    nbcoll_request request, persistent;
    nbcoll_comm **comm;
    bool is_making, is_active;
    bool waits;   /* a callback waits for its next call itself: of one chain only, or two would wait for each other */
    bool is_busy; /* it is being looked at */
    uint64_t random;
};

static void chain_go_on(chain *h);
static void chain_ended(chain *h, nbcoll_status status);

static uint64_t chain_choose(chain *h, uint64_t below)
{
    return next_random(&h->random) % below;
}

static void chain_over(chain *h)
{
    rank *r = h->rank;
    chain **at = &r->chains;
    while (*at != h)
        at = &(*at)->next;
    *at = h->next;
    free(h);
}

/* The communicator goes in the `done` of its last operation, where there is one, and a persistent request before it,
 * or with it. */
static void chain_leaves(chain *h)
{
    rank *r = h->rank;
    nbcoll_status status, expected = NBCOLL_OK;
    bool frees = chain_choose(h, 2), is_first = chain_choose(h, 2);

    if (r->is_broken[h->each.comm]) /* others wait for what this rank does not start */
        frees = true;

    for (int k = 0; k < 2; k++)
        if (k == is_first && frees && *h->comm) {
            judge_frees(r->actor, h->each.comm, *h->comm);
            status = nbcoll_comm_free(*h->comm);
            if (status == NBCOLL_OK)
                *h->comm = NULL;
            else if (status != NBCOLL_ERR_BUSY || !r->storm->bad_anywhere)
                storm_find(r->storm, "rank %d, item %d: its communicator is not freed in the last callback: %s",
                           r->actor->rank, h->item, nbcoll_status_name(status));
            expected = status == NBCOLL_OK ? NBCOLL_ERR_REQUEST : NBCOLL_OK;
        } else if (k != is_first && h->persistent.at) {
            status = nbcoll_request_free(&h->persistent);
            if (status != expected)
                storm_find(r->storm, "rank %d, item %d: the persistent request is freed in its callback: %s",
                           r->actor->rank, h->item, nbcoll_status_name(status));
            h->persistent = NBCOLL_REQUEST_NULL;
        }
    if (h->buffers) {
        buffers_free(h->buffers);
        free(h->buffers);
        h->buffers = NULL;
    }
}

/* What every callback may call, and what must be refused there. */
static void chain_tries(chain *h, nbcoll_request request)
{
    rank *r = h->rank;
    nbcoll_status status = NBCOLL_ERR_BUSY;
    switch (chain_choose(h, 8)) {
    case 0:
        status = nbcoll_context_free(r->context);
        break;
    case 1:
        status = nbcoll_context_abandon(r->context, NULL, NULL);
        break;
    case 2:
        nbcoll_progress(r->context);
        break;
    case 3:
        status = nbcoll_test(&request) == NBCOLL_OK ? NBCOLL_ERR_BUSY : NBCOLL_ERR_REQUEST;
        break;
    case 4:
        status = nbcoll_cancel(request) == NBCOLL_OK ? NBCOLL_ERR_BUSY : NBCOLL_ERR_REQUEST;
        break;
    default:
        break;
    }
    if (status != NBCOLL_ERR_BUSY)
        storm_find(r->storm, "rank %d, item %d: a callback frees its context, or its own request is stale in it: %s",
                   r->actor->rank, h->item, nbcoll_status_name(status));
}

static void chain_done(nbcoll_request request, nbcoll_status status, void *user)
{
    chain *h = user;
    storm_not_in_tick(h->rank->actor, "a callback");
    chain_tries(h, request);
    chain_ended(h, status);
    chain_go_on(h);
}

/* The judge sees how a creation, or a call, has ended. */
static void chain_ended(chain *h, nbcoll_status status)
{
    rank *r = h->rank;
    const item *i = h->is_making ? &h->making : &h->each;
    nbcoll_failure failure = rank_failure(r, i->comm);

    storm_note(r->storm, r->actor->rank, NOTE_ENDS, (uint64_t)h->item, status);
    judge_end(r->actor, i, h->item, status, &failure, h->is_making ? NULL : h->buffers);
    if (h->is_making && h->making.comm == h->each.comm) { /* it goes on with another one */
        chain_leaves(h);
        h->comm = &r->comm[++h->each.comm];
        h->step--;
    }
    if (h->is_making && status == NBCOLL_OK)
        *h->comm = r->made[h->each.comm];
    else if (h->is_making)
        r->is_broken[h->each.comm] = true;
    if (!h->is_making && h->form != BY_RESTARTS) {
        buffers_free(h->buffers);
        free(h->buffers);
        h->buffers = NULL;
    }
    h->is_active = h->is_making = false;
}

static bool chain_is_refused(chain *h, nbcoll_status status, int tries)
{
    rank *r = h->rank;
    if (status == NBCOLL_ERR_MEMORY && tries < RETRIES) {
        storm_stay(r->storm, 1 + chain_choose(h, 50 * MICROSECOND));
        nbcoll_progress(r->context);
        return true;
    }
    nbcoll_failure failure = rank_failure(r, h->each.comm);
    judge_end(r->actor, &h->each, h->item, status, &failure, NULL);
    r->is_broken[h->each.comm] = true;
    if (status == NBCOLL_ERR_MEMORY)
        rank_stops(r, BAD_MEMORY | BAD_LEFT);
    else
        storm_cause(r->storm, r->actor->rank, BAD_LEFT);
    return false;
}

/* Its next call is active then, or false: it has been refused. */
static bool chain_start(chain *h)
{
    rank *r = h->rank;
    place_in at = r->storm->plan.place[h->each.comm][r->actor->rank];
    uint64_t salt = mix(h->each.salt, (uint64_t)h->step);
    nbcoll_status status;
    int tries = 0;
    bool is_first = !h->buffers, persists = h->form == BY_RESTARTS;

    if (is_first) {
        h->buffers = malloc(sizeof *h->buffers);
        buffers_make(h->buffers, r->actor, &h->each, at.rank, at.size, salt);
    } else
        buffers_fill(h->buffers, salt);
    while (is_first && persists &&
           (status = operation_init(&h->buffers->o, &h->buffers->share, *h->comm, &h->persistent)) != NBCOLL_OK)
        if (!chain_is_refused(h, status, tries++))
            return false;
    if (is_first && persists)
        nbcoll_on_done(h->persistent, chain_done, h);
    storm_note(r->storm, r->actor->rank, NOTE_STARTS, (uint64_t)h->item, 3);
    h->is_active = true;
    while ((status = persists ? nbcoll_start(&h->persistent)
                              : operation_start(&h->buffers->o, &h->buffers->share, *h->comm, &h->request)) !=
           NBCOLL_OK)
        if (!chain_is_refused(h, status, tries++)) {
            h->is_active = false;
            return false;
        }
    if (persists)
        h->request = h->persistent;
    h->step++;
    return true;
}

/* The same of a duplicate. */
static bool chain_moves(chain *h)
{
    rank *r = h->rank;
    nbcoll_request request;
    nbcoll_status status;
    int tries = 0;

    h->moves = false;
    while ((status = nbcoll_comm_idup(*h->comm, &r->made[h->each.comm + 1], &request)) != NBCOLL_OK)
        if (!chain_is_refused(h, status, tries++))
            return false;
    storm_note(r->storm, r->actor->rank, NOTE_STARTS, (uint64_t)h->item, 5);
    h->request = request;
    h->making.comm = h->each.comm;
    h->is_making = h->is_active = true;
    return true;
}

static void chain_cancels(chain *h)
{
    rank *r = h->rank;
    const item *i = &r->storm->plan.item[h->item];
    if (i->cancels != 1 + r->actor->rank || (uint64_t)h->step != i->salt % (uint64_t)(i->times + 1))
        return;
    storm_note(r->storm, r->actor->rank, NOTE_FAULT, FAULT_CANCELS, (uint64_t)h->item);
    storm_cause(r->storm, r->actor->rank, BAD_CANCELS);
    nbcoll_cancel(h->request);
}

/* A callback has waited: the program's wait that has called it goes on only now, and may be beyond its deadline. */
static void chain_delays(const chain *h, uint64_t since)
{
    rank *r = h->rank;
    storm *s = r->storm;
    bool is_inside = h->form == BY_CALLBACKS && s->turn == &r->actor->strand[PROGRAM];

    since = since < r->due ? r->due : since;
    if (is_inside && s->now > since)
        r->beyond += s->now - since;
}

/* Once a call, or the creation, is over. */
static void chain_go_on(chain *h)
{
    rank *r = h->rank;
    while (!h->is_active) {
        bool is_last = h->step == h->each.times;
        if (!*h->comm || (is_last && !h->moves) || r->skips || r->is_broken[h->each.comm] ||
            !(is_last ? chain_moves(h) : chain_start(h))) {
            chain_leaves(h);
            chain_over(h);
            return;
        }
        chain_cancels(h);
        bool waits = h->form == BY_PROGRAM || (h->form == BY_CALLBACKS && h->waits && chain_choose(h, 2));
        if (waits) {
            uint64_t since = r->storm->now;
            nbcoll_status status = rank_wait(r, &h->request);
            chain_delays(h, since);
            chain_ended(h, status);
        } else if (h->form == BY_CALLBACKS || (h->form == BY_RESTARTS && h->is_making))
            nbcoll_on_done(h->request, chain_done, h);
    }
    h->is_busy = false;
}

void chain_begin(rank *r, int n)
{
    const item *i = &r->storm->plan.item[n];
    nbcoll_request request;
    nbcoll_status status;
    int tries = 0;

    while ((status = nbcoll_comm_idup(r->comm[i->comm], &r->made[i->made], &request)) != NBCOLL_OK)
        if (!rank_is_refused(r, n, status, tries++))
            return;
    chain *h = calloc(1, sizeof *h);
    *h = (chain){.next = r->chains,
                 .rank = r,
                 .item = n,
                 .each = *i,
                 .making = *i,
                 .moves = i->moves,
                 .request = request,
                 .comm = &r->comm[i->made],
                 .is_making = true,
                 .is_active = true,
                 .waits = i->is_first};
    h->form = (chain_form)rank_choose(r, CHAIN_FORMS);
    h->random = next_random(&r->random);
    h->each.kind = ITEM_CALL;
    h->each.comm = i->made;
    r->chains = h;
    storm_note(r->storm, r->actor->rank, NOTE_STARTS, (uint64_t)n, 3);
    chain_cancels(h);
    if (h->form == BY_PROGRAM) {
        status = rank_wait(r, &h->request);
        chain_ended(h, status);
        chain_go_on(h);
    } else if (h->form != BY_PAUSES)
        nbcoll_on_done(request, chain_done, h);
}

bool chain_look(rank *r)
{
    for (chain *h = r->chains; h; h = h->next) {
        if (h->form != BY_PAUSES || h->is_busy)
            continue;
        h->is_busy = true; /* others may end meanwhile, not this one */
        nbcoll_status status = nbcoll_test(&h->request);
        if (status != NBCOLL_PENDING)
            chain_ended(h, status);
        if (status != NBCOLL_PENDING) {
            chain_go_on(h); /* a start that is refused looks again, when h->request is still the last one */
            return true;
        }
        h->is_busy = false;
    }
    return false;
}

void chain_wait_all(rank *r)
{
    for (uint64_t looks = 0; r->chains; looks++) {
        nbcoll_progress(r->context);
        chain_look(r);
        if (r->chains)
            storm_sleep(r->storm, 1 + rank_choose(r, looks < 20 ? 1000u << looks / 2 : 40 * MILLISECOND));
    }
}

void chain_forget_all(rank *r)
{
    while (r->chains) {
        if (r->chains->buffers && r->n_kept < KEPT_MOST)
            r->kept[r->n_kept++] = r->chains->buffers;
        chain_over(r->chains);
    }
}
