/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What calls meet at their bounds, from edition 28 on: blocking calls whose deadlines pass, as another rank comes late;
 * a context that has no request left; and up to 2,000 operations at a time. */
#include <stdlib.h>

#include "counters.h"
#include "rank.h"

/* To the judge it is a call like others. */
static item as_call(const item *i)
{
    item judged = *i;
    judged.kind = ITEM_CALL;
    return judged;
}

/* Where nothing else takes requests meanwhile: drivers, chains in pauses, relays. */
static bool may_fill(const rank *r)
{
    bool may = !r->storm->plan.has_drivers && !r->storm->plan.has_agents && !r->chains;
    for (int c = 0; c < COMMS_MOST; c++)
        may &= !r->relays[c];
    return may;
}

/* ---- deadlines --------------------------------------------------------------------------------------------------- */

static uint64_t timeout_of(const rank *r, const item *i, int t)
{
    uint64_t own = mix(mix(i->salt, 65 + (uint64_t)t), (uint64_t)r->actor->rank);
    bool has_one = i->cancels == 1 + r->actor->rank || next_random(&own) % 3 == 0;
    return has_one && !r->storm->plan.has_agents
               ? ONE_OF(&own, 0, 1000, 20 * MICROSECOND, MILLISECOND, 100 * MILLISECOND)
               : NBCOLL_FOREVER;
}

/* It names one for which it waits; and if it says that this one has not started, that is so. */
static void judge_expired(rank *r, const item *i, int n, nbcoll_status status, uint64_t waited, uint64_t timeout)
{
    storm *s = r->storm;
    nbcoll_failure f = rank_failure(r, i->comm);
    int size = nbcoll_comm_size(r->comm[i->comm]);
    bool is_early = waited < timeout && !r->actor->skew;
    bool is_other = f.status == status && (f.rank < -1 || f.rank >= size);
    if (is_early || is_other)
        storm_find(s, "rank %d, item %d: %s after %llu of %llu ns, naming %d", r->actor->rank, n,
                   nbcoll_status_name(status), (unsigned long long)waited, (unsigned long long)timeout, f.rank);
}

/* What was lent comes back as the communicator has no operation any more, and so does its request; nothing beside the
 * receive buffer has changed. */
static void drain(rank *r, const item *i, int n, buffers *b, size_t requests)
{
    nbcoll_comm *comm = r->comm[i->comm];
    const char *wrong;
    char text[200];
    for (int k = r->opened - 1; k >= 0; k = k < r->opened ? k - 1 : r->opened - 1)
        if (r->storm->plan.item[r->open[k]->item].comm == i->comm)
            rank_wait_for(r, k);
    while (nbcoll_comm_active(comm)) {
        nbcoll_progress(r->context);
        chain_look(r);
        storm_sleep(r->storm, 1 + rank_choose(r, MILLISECOND));
    }
    nbcoll_progress(r->context);
    if (may_fill(r) && counters_requests(r->context) > requests)
        storm_find(r->storm, "rank %d, item %d: after its deadline a request is left", r->actor->rank, n);
    if (!r->actor->is_dead && !r->storm->ends && (wrong = buffers_wrong(b, false, text)))
        storm_find(r->storm, "rank %d, item %d: after its deadline: %s", r->actor->rank, n, wrong);
}

static void call_until(rank *r, int n, int t)
{
    storm *s = r->storm;
    const item *i = &s->plan.item[n], judged = as_call(i);
    buffers *b = r->now = rank_buffers(r, n, mix(i->salt, (uint64_t)t));
    uint64_t since = s->now, timeout = timeout_of(r, i, t);
    size_t requests = counters_requests(r->context);

    if (timeout != NBCOLL_FOREVER) /* others may end before this rank's call returns */
        storm_cause(s, r->actor->rank, BAD_CANCELS);
    storm_note(s, r->actor->rank, NOTE_STARTS, (uint64_t)n, 1);
    nbcoll_status status = operation_call(&b->o, &b->share, r->comm[i->comm], timeout);
    if (timeout != NBCOLL_FOREVER)
        storm_cause(s, r->actor->rank, BAD_CANCELS);
    storm_note(s, r->actor->rank, NOTE_ENDS, (uint64_t)n, status);
    if (timeout != NBCOLL_FOREVER && (status == NBCOLL_ERR_TIMEOUT || status == NBCOLL_ERR_NO_SLOT)) {
        judge_expired(r, i, n, status, s->now - since, timeout);
        judge_end(r->actor, &judged, n, NBCOLL_ERR_CANCELLED, NULL, b);
        drain(r, i, n, b, requests);
    } else if (!rank_is_full(r, n, status)) {
        nbcoll_failure failure = rank_failure(r, i->comm);
        judge_end(r->actor, &judged, n, status, &failure, b);
    }
    r->now = NULL;
    rank_drop(b);
}

/* Has nothing happened but that deadlines have passed? */
static bool only_deadlines(const storm *s)
{
    bool is = !(s->bad_anywhere & ~(unsigned)(BAD_CANCELS | BAD_ENDED)) && !s->plan.faults && !s->plan.has_agents;
    for (int n = 0; n < s->plan.items; n++)
        is &= !s->plan.item[n].cancels || s->plan.item[n].kind == ITEM_DEADLINE;
    return is && !s->ends;
}

/* The communicator goes on. */
static void goes_on(rank *r, int n)
{
    const item *i = &r->storm->plan.item[n], judged = as_call(i);
    nbcoll_request request;
    nbcoll_status status;
    int tries = 0;
    while ((status = nbcoll_ibarrier(r->comm[i->comm], &request)) != NBCOLL_OK)
        if (!rank_is_refused(r, n, status, tries++))
            break;
    if (status == NBCOLL_OK) {
        status = rank_wait(r, &request);
        nbcoll_failure failure = rank_failure(r, i->comm);
        storm_note(r->storm, r->actor->rank, NOTE_ENDS, (uint64_t)n, status);
        judge_end(r->actor, &judged, n, status, &failure, NULL);
    }
    if (status != NBCOLL_OK && !r->is_full[i->comm] && only_deadlines(r->storm))
        storm_find(r->storm, "rank %d, item %d: after a deadline a barrier without one ends with %s", r->actor->rank, n,
                   nbcoll_status_name(status));
}

void deadlines_run(rank *r, int n)
{
    const item *i = &r->storm->plan.item[n];
    place_in at = r->storm->plan.place[i->comm][r->actor->rank];
    for (int t = 0; t < i->times && !r->is_broken[i->comm]; t++) {
        if ((int)(mix(i->salt, 69 + (uint64_t)t) % (uint64_t)at.size) == at.rank)
            storm_away(r->storm, rank_choose(r, rank_choose(r, 2) ? 100 * MILLISECOND : 100 * MICROSECOND));
        call_until(r, n, t);
    }
    if (!r->is_broken[i->comm])
        goes_on(r, n);
}

/* ---- many -------------------------------------------------------------------------------------------------------- */

typedef struct crowd {
    rank *rank;
    const item *item;
    int index, me, ranks;
    size_t n;
    nbcoll_request *request;
    nbcoll_status *status;
    int64_t *send, *recv; /* of each a word for each rank */
} crowd;

static int64_t word_of(const crowd *x, size_t k, int whose)
{
    return (int64_t)(mix(x->item->salt + k, 75 + (uint64_t)whose) % 1000000);
}

static nbcoll_status start(crowd *x, size_t k)
{
    nbcoll_comm *comm = x->rank->comm[x->item->comm];
    int64_t *send = &x->send[k], *recv = &x->recv[k * (size_t)x->ranks];
    switch (mix(x->item->salt + k, 74) % 4) {
    case 0:
        return nbcoll_ibarrier(comm, &x->request[k]);
    case 1:
        return nbcoll_iallreduce(send, recv, 1, NBCOLL_INT64, NBCOLL_SUM, comm, &x->request[k]);
    case 2:
        *recv = *send;
        return nbcoll_ibcast(recv, 1, NBCOLL_INT64, (int)(k % (size_t)x->ranks), comm, &x->request[k]);
    default:
        return nbcoll_iallgather(send, recv, 1, NBCOLL_INT64, comm, &x->request[k]);
    }
}

static bool is_right(const crowd *x, size_t k)
{
    const int64_t *recv = &x->recv[k * (size_t)x->ranks];
    uint64_t what = mix(x->item->salt + k, 74) % 4;
    int64_t sum = 0;
    bool is = true;
    for (int q = 0; q < x->ranks; q++) {
        sum += word_of(x, k, q);
        is &= what != 3 || recv[q] == word_of(x, k, q);
    }
    return is && (what != 1 || *recv == sum) && (what != 2 || *recv == word_of(x, k, (int)(k % (size_t)x->ranks)));
}

static void ended(crowd *x, size_t k, nbcoll_status status)
{
    rank *r = x->rank;
    storm *s = r->storm;
    const item judged = as_call(x->item);
    storm_note(s, r->actor->rank, NOTE_MESSAGE, (uint64_t)x->index, status);
    judge_end(r->actor, &judged, x->index, status, NULL, NULL);
    if (status == NBCOLL_OK && !is_right(x, k) && !r->actor->is_dead && !s->ends &&
        !(s->bad_anywhere & (BAD_DIFFERS | BAD_HEADER)))
        storm_find(s, "rank %d, item %d: operation %zu of many: wrong values", r->actor->rank, x->index, k);
}

static void end_some(crowd *x)
{
    size_t *indices = malloc(x->n * sizeof *indices), some = 1;
    while (some) {
        nbcoll_status status = nbcoll_wait_some(x->n, x->request, &some, indices, x->status, NBCOLL_FOREVER);
        for (size_t k = 0; k < some; k++)
            ended(x, indices[k], x->status[indices[k]]);
        if (status != NBCOLL_OK && !some)
            judge_all(x->rank->actor, status, 0, NULL);
    }
    free(indices);
}

static void end_all(crowd *x)
{
    nbcoll_status all;
    switch (rank_choose(x->rank, 3)) {
    case 0:
        all = nbcoll_wait_all(x->n, x->request, x->status, NBCOLL_FOREVER);
        judge_all(x->rank->actor, all, x->n, x->status);
        for (size_t k = 0; k < x->n; k++)
            ended(x, k, x->status[k]);
        break;
    case 1:
        end_some(x);
        break;
    default: /* from the last one on, or from the first */
        for (size_t k = 0, back = rank_choose(x->rank, 2); k < x->n; k++) {
            size_t which = back ? x->n - 1 - k : k;
            ended(x, which, nbcoll_wait(&x->request[which], NBCOLL_FOREVER));
        }
    }
}

void crowd_run(rank *r, int n)
{
    const plan *p = &r->storm->plan;
    const item *i = &p->item[n];
    place_in at = p->place[i->comm][r->actor->rank];
    size_t most = (size_t)i->times;
    crowd x = {.rank = r, .item = i, .index = n, .me = at.rank, .ranks = at.size};
    nbcoll_status status = NBCOLL_OK;

    if (p->has_agents) /* which have a queue of a few */
        return;
    x.request = calloc(most, sizeof *x.request);
    x.status = calloc(most, sizeof *x.status);
    x.send = calloc(most, sizeof *x.send);
    x.recv = calloc(most * (size_t)x.ranks, sizeof *x.recv);
    for (; x.n < most && status == NBCOLL_OK; x.n += status == NBCOLL_OK) {
        int tries = 0;
        x.send[x.n] = word_of(&x, x.n, x.me);
        while ((status = start(&x, x.n)) != NBCOLL_OK && rank_is_refused(r, n, status, tries++))
            ;
    }
    storm_note(r->storm, r->actor->rank, NOTE_STARTS, (uint64_t)n, x.n);
    end_all(&x);
    free(x.request);
    free(x.status);
    free(x.send);
    free(x.recv);
}

/* ---- a full table ------------------------------------------------------------------------------------------------ */

enum { BARRIERS = 8 };

/* Nothing changes, for the operation as for a persistent request. */
static void judge_refusal(rank *r, int n, nbcoll_status status, uint64_t history, size_t active, size_t bytes)
{
    nbcoll_comm *comm = r->comm[r->storm->plan.item[n].comm];
    nbcoll_request request;
    nbcoll_status other = nbcoll_barrier_init(comm, &request);
    if (other == NBCOLL_OK) /* the other one's schedule has one that has just ended */
        nbcoll_request_free(&request);
    else if (other != NBCOLL_ERR_LIMIT)
        storm_find(r->storm, "rank %d, item %d: without requests a persistent one is refused by %s", r->actor->rank, n,
                   nbcoll_status_name(other));
    if (status != NBCOLL_ERR_LIMIT || counters_history(comm) != history || nbcoll_comm_active(comm) > active ||
        r->actor->bytes > bytes)
        storm_find(r->storm, "rank %d, item %d: without requests a start says %s, and %zu operations are active",
                   r->actor->rank, n, nbcoll_status_name(status), nbcoll_comm_active(comm));
}

/* Ends the one that has waited longest. */
static void end_first(rank *r, int n, nbcoll_request open[], int *opened)
{
    const item judged = as_call(&r->storm->plan.item[n]);
    nbcoll_status status = rank_wait(r, &open[0]);
    nbcoll_failure failure = rank_failure(r, judged.comm);
    storm_note(r->storm, r->actor->rank, NOTE_ENDS, (uint64_t)n, status);
    judge_end(r->actor, &judged, n, status, &failure, NULL);
    for (int k = 1; k < *opened; k++)
        open[k - 1] = open[k];
    --*opened;
}

void full_run(rank *r, int n)
{
    storm *s = r->storm;
    nbcoll_comm *comm = r->comm[s->plan.item[n].comm];
    nbcoll_request open[BARRIERS];
    int opened = 0, first = 1 + (int)(s->plan.item[n].salt % 3), tries = 0;
    bool fills = may_fill(r), is_full = false;
    table was;

    for (int k = 0; k < BARRIERS && !r->is_broken[s->plan.item[n].comm];) {
        if (k == first && fills && !is_full) {
            was = counters_fill(r->context);
            is_full = true;
        }
        uint64_t history = counters_history(comm);
        size_t active = nbcoll_comm_active(comm), bytes = r->actor->bytes;
        nbcoll_status status = nbcoll_ibarrier(comm, &open[opened]);
        if (status == NBCOLL_OK) {
            opened++;
            k++;
        } else if (is_full && opened && status != NBCOLL_ERR_PEER_LOST && status != NBCOLL_ERR_CANCELLED &&
                   status != NBCOLL_ERR_MISMATCH && !(s->bad_anywhere & BAD_MEMORY) && !s->plan.late_tags) {
            judge_refusal(r, n, status, history, active, bytes);
            end_first(r, n, open, &opened);
        } else if (is_full && status == NBCOLL_ERR_LIMIT) { /* of which one is the reason is not known */
            counters_empty(r->context, was);
            is_full = fills = false;
        } else if (!rank_is_refused(r, n, status, tries++))
            break;
    }
    while (opened)
        end_first(r, n, open, &opened);
    if (is_full)
        counters_empty(r->context, was);
}
