/* SPDX-License-Identifier: BSD-3-Clause
 * Several requests at once. */
#include "request.h"
#include "wait.h"

#define NBCOLLI_TESTED_LOOKS 1024u /* tests of the same requests with one look at all of them */

/* What a look at several requests finds. */
typedef struct nbcolli_several_sight {
    size_t active;   /* how many are */
    size_t pending;  /* the first one that is, or n */
    size_t first;    /* the first one that ended, or n */
    size_t contexts; /* of active ones; those beyond the room are counted once each time they are met */
    nbcoll_context *context[NBCOLLI_SLEEP_ON];
    size_t known;     /* of the first context: its active operations after the look, */
    uint64_t reports; /* and the ends that it had reported to callbacks */
} nbcolli_several_sight;

static void nbcolli_sight_add(nbcolli_several_sight *v, nbcoll_context *c)
{
    for (size_t i = 0; i < v->contexts && i < NBCOLLI_SLEEP_ON; i++)
        if (v->context[i] == c)
            return;
    if (v->contexts < NBCOLLI_SLEEP_ON)
        v->context[v->contexts] = c;
    v->contexts++;
}

/* Progresses a context, unless that is left to its driver: `w` is who waits, null for a test. */
static void nbcolli_several_progress(nbcoll_context *c, const nbcolli_waiter *w)
{
    if (!nbcolli_is_driven(c) || nbcolli_driven_has_steps(c) || (w && nbcolli_waiter_passes(w)))
        nbcoll_progress(c);
}

/* Progresses the contexts of the requests, each once when neighbours share it, and looks. */
static void nbcolli_several_look(nbcolli_several_sight *v, size_t n, const nbcoll_request requests[],
                                 const nbcolli_waiter *w)
{
    nbcoll_context *last = NULL, *added = NULL;

    v->active = v->contexts = 0;
    v->pending = v->first = n;
    for (size_t i = 0; i < n; i++) {
        int idle;
        nbcoll_context *c = nbcolli_context_of(requests[i]);
        nbcoll_status s = nbcolli_peek(&requests[i], &idle);
        if (s == NBCOLL_PENDING && c != last) {
            last = c;
            nbcolli_several_progress(last, w);
            s = nbcolli_peek(&requests[i], &idle);
        }
        if (s == NBCOLL_PENDING) {
            if (c != added)
                nbcolli_sight_add(v, added = c);
            if (v->active++ == 0)
                v->pending = i;
        } else if (v->first == n && (!idle || s != NBCOLL_OK))
            v->first = i;
    }
    if (v->contexts == 1 && !(v->context[0]->flags & NBCOLL_ANY_THREAD)) {
        v->known = v->context[0]->active;
        v->reports = v->context[0]->reports;
    }
}

/* Has perhaps one ended since such a look, or in the progress that this makes? What ends is no longer active; only a
 * callback, or the host's pause, may have started as many others. */
static int nbcolli_may_have_ended(const nbcolli_several_sight *v)
{
    nbcoll_context *c = v->context[0];

    if (v->contexts != 1 || c->flags & NBCOLL_ANY_THREAD || c->replaying || c->active != v->known)
        return 1;
    nbcoll_progress(c);
    return c->active != v->known || c->reports != v->reports;
}

/* Passes some time after such a look. */
static int nbcolli_pause_after(const nbcolli_several_sight *v, nbcolli_waiter *w, uint64_t timeout)
{
    return nbcolli_waiter_pause(w, v->context, v->contexts, timeout);
}

/* The first request from `at` on that has not ended, or n. */
static size_t nbcolli_next_active(size_t at, size_t n, const nbcoll_request requests[])
{
    int idle;
    while (at < n && nbcolli_peek(&requests[at], &idle) != NBCOLL_PENDING)
        at++;
    return at;
}

/* Is one of them still active? After a look at all, these walk along the array once. But a look at all is
 * made when their number has doubled, so that contexts of which nothing is left, and requests that callbacks have
 * started again, are known sooner or later; and when none of the others is active. */
static int nbcolli_some_active(nbcolli_several_sight *v, uint64_t looks, size_t n, const nbcoll_request requests[],
                               const nbcolli_waiter *w)
{
    if ((looks & (looks - 1)) && v->contexts <= NBCOLLI_SLEEP_ON) {
        for (size_t i = 0; i < v->contexts; i++)
            nbcolli_several_progress(v->context[i], w);
        v->pending = nbcolli_next_active(v->pending, n, requests);
        if (v->pending < n)
            return 1;
    }
    nbcolli_several_look(v, n, requests, w);
    return v->active > 0;
}

/* What test would say, where nothing is to be released yet. */
static void nbcolli_several_tell(size_t n, const nbcoll_request requests[], nbcoll_status statuses[])
{
    for (size_t i = 0; statuses && i < n; i++)
        statuses[i] = nbcolli_outcome(&requests[i]);
}

static nbcoll_status nbcolli_take_all(size_t n, nbcoll_request requests[], nbcoll_status statuses[])
{
    nbcoll_status first = NBCOLL_OK;

    for (size_t i = 0; i < n; i++) {
        nbcoll_status s = nbcoll_test(&requests[i]);
        if (statuses)
            statuses[i] = s;
        if (first == NBCOLL_OK)
            first = s;
    }
    return first;
}

/* Has the context noted one of these requests, and is it, or one behind it, still active? Sooner or later the answer is
 * no, and all are looked at: meanwhile others may have come into the array, of other contexts. */
static int nbcolli_tested_active(size_t n, const nbcoll_request requests[])
{
    nbcoll_context *c = n ? nbcolli_context_of(requests[0]) : NULL;

    if (!c || c->tested.requests != requests || c->tested.n != n || (c->flags & NBCOLL_ANY_THREAD))
        return 0;
    uint64_t looks = ++c->tested.looks;
    if (!(looks & (looks - 1)) || looks % NBCOLLI_TESTED_LOOKS == 0)
        return 0;
    nbcoll_progress(c);
    c->tested.pending = nbcolli_next_active(c->tested.pending, n, requests);
    return c->tested.pending < n && nbcolli_context_of(requests[c->tested.pending]) == c;
}

/* The active ones are all of the first one's context: a later test need not look at all of them. */
static void nbcolli_note_tested(const nbcolli_several_sight *v, size_t n, const nbcoll_request requests[])
{
    nbcoll_context *c = nbcolli_context_of(requests[0]);

    if (v->contexts != 1 || v->context[0] != c || (c->flags & NBCOLL_ANY_THREAD))
        return;
    uint64_t looks = c->tested.requests == requests && c->tested.n == n ? c->tested.looks : 0;
    c->tested = (nbcolli_tested){requests, n, v->pending, looks};
}

nbcoll_status nbcoll_test_all(size_t n, nbcoll_request requests[], nbcoll_status statuses[])
{
    if (!requests && n)
        return NBCOLL_ERR_NULL;
    if (!statuses && nbcolli_tested_active(n, requests))
        return NBCOLL_PENDING;
    nbcolli_several_sight v;
    nbcolli_several_look(&v, n, requests, NULL);
    if (v.active == 0)
        return nbcolli_take_all(n, requests, statuses);
    nbcolli_note_tested(&v, n, requests);
    nbcolli_several_tell(n, requests, statuses);
    return NBCOLL_PENDING;
}

nbcoll_status nbcoll_wait_all(size_t n, nbcoll_request requests[], nbcoll_status statuses[], uint64_t timeout)
{
    nbcolli_waiter w = {0};
    nbcolli_several_sight v;

    if (!requests && n)
        return NBCOLL_ERR_NULL;
    for (uint64_t looks = 0; nbcolli_some_active(&v, looks, n, requests, &w); looks++)
        if (!nbcolli_pause_after(&v, &w, timeout)) {
            nbcolli_several_tell(n, requests, statuses);
            return NBCOLL_ERR_TIMEOUT;
        }
    nbcolli_waiter_end(&w);
    return nbcolli_take_all(n, requests, statuses);
}

/* Looks until one has ended, or none is active: 1; or the time is over: 0. A look at all is made, too, when the number
 * of those in vain has doubled. */
static int nbcolli_wait_first(nbcolli_several_sight *v, size_t n, const nbcoll_request requests[], uint64_t timeout)
{
    nbcolli_waiter w = {0};

    for (uint64_t looks = 0;; looks++) {
        if (!(looks & (looks - 1)) || nbcolli_may_have_ended(v))
            nbcolli_several_look(v, n, requests, &w);
        if (v->first < n || !v->active) {
            nbcolli_waiter_end(&w);
            return 1;
        }
        if (!nbcolli_pause_after(v, &w, timeout))
            return 0;
    }
}

nbcoll_status nbcoll_wait_any(size_t n, nbcoll_request requests[], size_t *index, uint64_t timeout)
{
    nbcolli_several_sight v;

    if (!index || (!requests && n))
        return NBCOLL_ERR_NULL;
    int in_time = nbcolli_wait_first(&v, n, requests, timeout);
    *index = v.first;
    if (v.first < n)
        return nbcoll_test(&requests[v.first]);
    return in_time ? NBCOLL_OK : NBCOLL_ERR_TIMEOUT;
}

static nbcoll_status nbcolli_take_some(size_t n, nbcoll_request requests[], size_t *ended, size_t indices[],
                                       nbcoll_status statuses[])
{
    nbcoll_status first = NBCOLL_OK;

    *ended = 0;
    for (size_t i = 0; i < n; i++) {
        int idle;
        nbcoll_status s = nbcolli_peek(&requests[i], &idle);
        if (s == NBCOLL_OK && !idle)
            s = nbcoll_test(&requests[i]);
        if (statuses)
            statuses[i] = s;
        if (s == NBCOLL_PENDING || (s == NBCOLL_OK && idle))
            continue;
        indices[(*ended)++] = i;
        if (first == NBCOLL_OK)
            first = s;
    }
    return first;
}

nbcoll_status nbcoll_wait_some(size_t n, nbcoll_request requests[], size_t *ended, size_t indices[],
                               nbcoll_status statuses[], uint64_t timeout)
{
    nbcolli_several_sight v;

    if (!ended || ((!requests || !indices) && n))
        return NBCOLL_ERR_NULL;
    if (nbcolli_wait_first(&v, n, requests, timeout))
        return nbcolli_take_some(n, requests, ended, indices, statuses);
    *ended = 0;
    nbcolli_several_tell(n, requests, statuses);
    return NBCOLL_ERR_TIMEOUT;
}
