/* SPDX-License-Identifier: BSD-3-Clause
 * Several requests at once. */
#include "request.h"
#include "wait.h"
#include "../comm/requests.h"
#include "../progress/driven.h"

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

/* ---- the first of an array that was seen before ------------------------------------------------------------------ */

/* In vain: the first number of looks after which all are looked at. Meanwhile others may have come into the array. */
#define NBCOLLI_ENDS_LOOKS 16u

/* The context that has noted the array, and knows of some that are left; or null. Which context that is a request says:
 * those at the ends of the array are asked first, since programs take from one of them. */
static nbcoll_context *nbcolli_context_of_ends(size_t n, const nbcoll_request requests[])
{
    for (size_t i = 0; i < n; i++) {
        nbcoll_context *c = nbcolli_context_of(requests[i % 2 ? i / 2 : n - 1 - i / 2]);
        if (c)
            return c->ends.requests == requests && c->ends.n == n && !c->replaying && !nbcolli_is_forked(c) ? c : NULL;
    }
    return NULL;
}

/* Has it ended, and has nobody been told? */
static int nbcolli_is_to_tell(nbcoll_request request)
{
    const nbcolli_request *r = nbcolli_entry_of(request);
    return r && nbcolli_is_of(r, request.generation) &&
           nbcolli_is_unreported(atomic_load_explicit(&r->state, memory_order_relaxed)); /* of one thread */
}

/* Notes the array after a look at all of it: where each is, and those that have ended already. Returns its context, or
 * null: there are several, or too few requests, or the first one is in error. */
static nbcoll_context *nbcolli_note_array(const nbcolli_several_sight *v, size_t n, const nbcoll_request requests[])
{
    nbcoll_context *c = v->first < n ? nbcolli_context_of(requests[v->first]) : v->contexts ? v->context[0] : NULL;
    uint32_t ended = 0;

    if (!c || n < NBCOLLI_ENDS_LEAST || n > UINT32_MAX || c->flags & NBCOLL_ANY_THREAD || v->contexts > 1 ||
        (v->contexts && v->context[0] != c) || (v->first < n && !nbcolli_is_to_tell(requests[v->first])))
        return NULL;
    c->flags |= NBCOLLI_NOTES_ENDS;
    c->ends.requests = requests;
    c->ends.n = n;
    c->ends.noted = c->ends.taken = 0;
    for (size_t i = 0; i < n; i++) {
        nbcolli_request *r = nbcolli_entry_of(requests[i]);
        if (!r || r->context != c || !nbcolli_is_of(r, requests[i].generation))
            continue;
        r->place = (uint32_t)i;
        if (nbcolli_is_to_tell(requests[i]) && ended++ < NBCOLLI_ENDS_MOST)
            nbcolli_note_end(c, r);
    }
    c->ends.left = ended > NBCOLLI_ENDS_MOST ? NBCOLLI_ENDS_MOST : v->active + ended; /* then all are looked at again */
    return c;
}

/* The place of the next one that has ended since the array was noted; n: there is none, `n + 1`: all are to be looked
 * at. */
static size_t nbcolli_next_end(nbcoll_context *c, size_t n, const nbcoll_request requests[])
{
    nbcolli_ends *e = &c->ends;

    if (e->requests != requests || e->n != n || e->noted - e->taken > NBCOLLI_ENDS_MOST)
        return n + 1; /* a callback has waited for others; or too many have ended */
    if (e->taken == e->noted)
        return n;
    const nbcolli_request *r = e->request[e->taken % NBCOLLI_ENDS_MOST];
    size_t place = r->place;
    if (place >= n || nbcolli_entry_of(requests[place]) != r || !nbcolli_is_to_tell(requests[place]))
        return n + 1;
    e->taken++;
    if (--e->left == 0) {
        c->flags &= ~NBCOLLI_NOTES_ENDS;
        e->requests = NULL;
    }
    return place;
}

/* ---- waiting for the first --------------------------------------------------------------------------------------- */

/* Of an array that `c` has noted: 1 if v->first has ended, 0 if nothing has, or -1: all are to be looked at. */
static int nbcolli_look_at_ends(nbcolli_several_sight *v, nbcoll_context *c, size_t n, const nbcoll_request requests[])
{
    v->first = nbcolli_next_end(c, n, requests);
    if (v->first == n) {
        nbcoll_progress(c);
        v->first = nbcolli_next_end(c, n, requests);
    }
    v->active = c->ends.left;
    v->contexts = 1;
    v->context[0] = c;
    return v->first < n ? 1 : v->first == n ? 0 : -1;
}

/* Looks at all, and notes the array: its context, or null. */
static nbcoll_context *nbcolli_look_and_note(nbcolli_several_sight *v, size_t n, const nbcoll_request requests[],
                                             const nbcolli_waiter *w)
{
    nbcolli_several_look(v, n, requests, w);
    nbcoll_context *c = nbcolli_note_array(v, n, requests);
    if (c && v->first < n)
        v->first = nbcolli_next_end(c, n, requests);
    return c;
}

/* Looks until one has ended, or none is active: 1; or the time is over: 0. `noted`: the context whose `ends` know those
 * that have ended beside it, or null. A look at all is made, too, when the number of those in vain has doubled. */
static int nbcolli_wait_first(nbcolli_several_sight *v, size_t n, const nbcoll_request requests[], uint64_t timeout,
                              nbcoll_context **noted)
{
    nbcolli_waiter w = {0};
    nbcoll_context *c = nbcolli_context_of_ends(n, requests);
    int looked = 0;

    for (uint64_t looks = 0;; looks++) {
        int found =
            c && ((looks & (looks - 1)) || looks < NBCOLLI_ENDS_LOOKS) ? nbcolli_look_at_ends(v, c, n, requests) : -1;
        if (found < 0 && (c || !(looks & (looks - 1)) || nbcolli_may_have_ended(v))) {
            c = nbcolli_look_and_note(v, n, requests, &w);
            looked = 1;
        }
        *noted = c;
        if (v->first < n || !v->active) {
            nbcolli_waiter_end(&w);
            return 1;
        }
        if (!nbcolli_pause_after(v, &w, timeout)) {
            if (!looked)
                *noted = nbcolli_look_and_note(v, n, requests, NULL);
            return v->first < n;
        }
    }
}

nbcoll_status nbcoll_wait_any(size_t n, nbcoll_request requests[], size_t *index, uint64_t timeout)
{
    nbcolli_several_sight v;
    nbcoll_context *noted;

    if (!index || (!requests && n))
        return NBCOLL_ERR_NULL;
    int in_time = nbcolli_wait_first(&v, n, requests, timeout, &noted);
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

static nbcoll_status nbcolli_take_places(size_t ended, const size_t indices[], nbcoll_request requests[])
{
    nbcoll_status first = NBCOLL_OK;

    for (size_t i = 0; i < ended; i++) {
        nbcoll_status s = nbcoll_test(&requests[indices[i]]);
        if (first == NBCOLL_OK)
            first = s;
    }
    return first;
}

/* Those that have ended besides the one at `first`, in rising order, into `indices`. Returns how many there are with
 * it; 0: all are to be looked at. */
static size_t nbcolli_ended_places(nbcoll_context *c, size_t n, const nbcoll_request requests[], size_t first,
                                   size_t indices[])
{
    size_t ended = 0;

    for (size_t place = first; place < n; place = nbcolli_next_end(c, n, requests)) {
        size_t at = ended;
        while (at > 0 && indices[at - 1] > place)
            at--;
        if (at > 0 && indices[at - 1] == place)
            continue; /* it has been tested, started again and has ended again */
        memmove(&indices[at + 1], &indices[at], (ended - at) * sizeof *indices);
        indices[at] = place;
        ended++;
    }
    return c->ends.requests && c->ends.taken == c->ends.noted ? ended : 0;
}

nbcoll_status nbcoll_wait_some(size_t n, nbcoll_request requests[], size_t *ended, size_t indices[],
                               nbcoll_status statuses[], uint64_t timeout)
{
    nbcolli_several_sight v;
    nbcoll_context *noted;

    if (!ended || ((!requests || !indices) && n))
        return NBCOLL_ERR_NULL;
    if (nbcolli_wait_first(&v, n, requests, timeout, &noted)) {
        *ended = noted && !statuses && v.first < n ? nbcolli_ended_places(noted, n, requests, v.first, indices) : 0;
        return *ended ? nbcolli_take_places(*ended, indices, requests)
                      : nbcolli_take_some(n, requests, ended, indices, statuses);
    }
    *ended = 0;
    nbcolli_several_tell(n, requests, statuses);
    return NBCOLL_ERR_TIMEOUT;
}
