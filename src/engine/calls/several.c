/* SPDX-License-Identifier: BSD-3-Clause
 * Several requests at once. A look at all of them is made where they are not known, and now and then. It notes in each
 * request where its handle is. From then on those of one context, of one thread, that have ended are found in the
 * context's list of them, and one that is active is found from where the last one was. Of an array one such request is
 * enough to know that it has been looked at: its handle is where it was. */
#include "request.h"
#include "wait.h"
#include "../comm/requests.h"
#include "../progress/driven.h"

#define NBCOLLI_LISTED_LEAST 8u   /* requests of an array for which the list is worth it, if one has ended */
#define NBCOLLI_LISTED_MOST 64u   /* that are sorted; if more have ended all are looked at */
#define NBCOLLI_AGAIN_LOOKS 16u   /* in vain, of a call: then all are looked at, and when their number has doubled */
#define NBCOLLI_AGAIN_CALLS 1024u /* of a context: then all are looked at */
#define NBCOLLI_LOOK_AT_ALL SIZE_MAX

/* What is awaited, and what the last look has found. */
typedef struct nbcolli_several {
    size_t n;
    nbcoll_request *requests;
    int all;         /* all are awaited, else one */
    nbcolli_waiter waiter;
    int is_one;      /* all are of context[0], which is of one thread */
    size_t pending;  /* where one is active; n: none is */
    size_t first;    /* where one has ended; or n */
    size_t contexts; /* of active ones; those beyond the room are counted once each time they are met */
    nbcoll_context *context[NBCOLLI_SLEEP_ON];
} nbcolli_several;

static void nbcolli_several_begin(nbcolli_several *v, size_t n, nbcoll_request requests[], int all)
{
    v->n = v->pending = v->first = n; /* what it does not set a look does */
    v->requests = requests;
    v->all = all;
    v->waiter = (nbcolli_waiter){0};
}

static void nbcolli_several_add(nbcolli_several *v, nbcoll_context *c)
{
    for (size_t i = 0; i < v->contexts && i < NBCOLLI_SLEEP_ON; i++)
        if (v->context[i] == c)
            return;
    if (v->contexts < NBCOLLI_SLEEP_ON)
        v->context[v->contexts] = c;
    v->contexts++;
}

/* Progresses a context, unless that is left to its driver. */
static void nbcolli_several_progress(const nbcolli_several *v, nbcoll_context *c)
{
    if (!nbcolli_is_driven(c) || nbcolli_driven_has_steps(c) || nbcolli_waiter_passes(&v->waiter))
        nbcoll_progress(c);
}

/* The first from `at` on that has not ended, or n. */
static size_t nbcolli_next_active(const nbcolli_several *v, size_t at)
{
    int idle;
    while (at < v->n && nbcolli_peek(&v->requests[at], &idle) != NBCOLL_PENDING)
        at++;
    return at < v->n ? at : v->n;
}

/* ---- looks ------------------------------------------------------------------------------------------------------- */

/* The places of those of the list that are in the array, at most `most` of them, in rising order. Takes out of the list
 * those whose end has been reported. `places` null: notes of the others that they are not in the array. */
static size_t nbcolli_several_listed(const nbcolli_several *v, size_t places[], size_t most)
{
    nbcoll_context *c = v->context[0];
    size_t ended = 0, others = 0;

    for (nbcolli_request **at = &c->unreported, *r; (r = *at) && ended < most;) {
        if (!nbcolli_is_unreported(atomic_load_explicit(&r->state, memory_order_relaxed))) { /* of one thread */
            *at = r->next_unreported;
            r->is_listed = 0;
            if (!*at)
                c->unreported_end = at;
            continue;
        }
        at = &r->next_unreported;
        size_t place = ((uintptr_t)r->seen_at - (uintptr_t)v->requests) / sizeof *v->requests, i = ended;
        if (place >= v->n || nbcolli_entry_of(v->requests[place]) != r ||
            !nbcolli_is_of(r, v->requests[place].generation)) {
            r->is_elsewhere |= !places;
            if (!r->is_elsewhere || ++others > v->n)
                return NBCOLLI_LOOK_AT_ALL;
            continue;
        }
        for (; places && i > 0 && places[i - 1] > place; i--)
            places[i] = places[i - 1];
        if (places)
            places[i] = place;
        ended++;
    }
    return ended;
}

/* Progresses the contexts of the requests, each once when neighbours share it, and looks at all. */
static void nbcolli_several_look(nbcolli_several *v)
{
    nbcoll_context *last = NULL, *one = NULL;
    size_t n = v->n;

    v->is_one = 1;
    v->contexts = 0;
    v->pending = v->first = n;
    for (size_t i = 0; i < n; i++) {
        int idle;
        nbcoll_context *c = nbcolli_context_of(v->requests[i]);
        nbcoll_status s = nbcolli_peek(&v->requests[i], &idle);
        if (s == NBCOLL_PENDING && c != last) {
            nbcolli_several_progress(v, last = c);
            s = nbcolli_peek(&v->requests[i], &idle);
        }
        if (s == NBCOLL_PENDING) {
            nbcolli_several_add(v, c);
            v->pending = v->pending < n ? v->pending : i;
        } else if (v->first == n && (!idle || s != NBCOLL_OK))
            v->first = i;
        if (c && c != one) {
            v->is_one &= !one && !(c->flags & NBCOLL_ANY_THREAD);
            one = c;
        }
    }
    v->is_one &= one && (n >= NBCOLLI_LISTED_LEAST || (!v->all && v->first == n));
    for (size_t i = 0; (v->is_one || n >= NBCOLLI_LISTED_LEAST) && i < n; i++)
        if (v->requests[i].at && (v->is_one || !(nbcolli_context_of(v->requests[i])->flags & NBCOLL_ANY_THREAD)))
            nbcolli_entry_of(v->requests[i])->seen_at = v->is_one ? &v->requests[i] : NULL;
    if (!v->is_one)
        return;
    v->context[0] = one;
    one->place = v->pending;
    nbcolli_several_listed(v, NULL, SIZE_MAX);
}

/* Has there been a look at all of the array? So it has if one that is active is where it was; one in the list that is
 * where it was is enough for a wait for one. The context is that of one near an end: programs take from one of them. */
static int nbcolli_several_known(nbcolli_several *v)
{
    nbcoll_context *c = NULL;
    size_t n = v->n;

    for (size_t i = 0; i < n && !c; i++)
        c = nbcolli_context_of(v->requests[i % 2 ? i / 2 : n - 1 - i / 2]);
    if (n < NBCOLLI_LISTED_LEAST || !c || c->flags & NBCOLL_ANY_THREAD || nbcolli_is_forked(c) ||
        ++c->looks % NBCOLLI_AGAIN_CALLS == 0)
        return 0;
    v->is_one = v->contexts = 1;
    v->context[0] = c;
    if (!v->all && nbcolli_several_listed(v, &v->first, 1) == 1)
        return 1;
    v->pending = c->place = nbcolli_next_active(v, c->place);
    return v->pending < n && nbcolli_context_of(v->requests[v->pending]) == c &&
           nbcolli_entry_of(v->requests[v->pending])->seen_at == &v->requests[v->pending];
}

/* After a look at all, now or in an earlier call: progresses, unless one has ended, and looks at what may have changed.
 * 0: all are to be looked at. */
static int nbcolli_several_look_again(nbcolli_several *v)
{
    if (v->contexts > NBCOLLI_SLEEP_ON || (!v->all && !v->is_one))
        return 0;
    size_t ended = v->all ? 0 : nbcolli_several_listed(v, &v->first, 1);
    for (size_t i = 0; !ended && i < v->contexts; i++)
        nbcolli_several_progress(v, v->context[i]);
    if (!v->all && !ended)
        ended = nbcolli_several_listed(v, &v->first, 1);
    if (!ended) /* what a callback has reported is not in the list */
        v->pending = nbcolli_next_active(v, v->pending);
    return ended == 1 || (!ended && v->pending < v->n);
}

/* Waits until what is awaited has come, or nothing is active, or the time is over: 0. Contexts of which nothing is left
 * beside others, requests that callbacks have started again, and what else has come into the array, are known after a
 * while. */
static int nbcolli_several_wait(nbcolli_several *v, uint64_t timeout)
{
    int again = nbcolli_several_known(v), is_over = 0, is_late = 0;

    for (uint64_t looks = 1; !is_over && !is_late; looks++) {
        is_over = !v->all && v->first < v->n; /* as the list says */
        again = again && (is_over || nbcolli_several_look_again(v));
        if (!again)
            nbcolli_several_look(v);
        is_over = (!v->all && v->first < v->n) || v->pending == v->n;
        is_late = !is_over && !nbcolli_waiter_pause(&v->waiter, v->context, v->contexts, timeout);
        if (is_late && again && !v->all) { /* one that has ended may have been missed */
            nbcolli_several_look(v);
            is_over = v->first < v->n || v->pending == v->n;
        }
        again = looks < NBCOLLI_AGAIN_LOOKS || (looks & (looks - 1));
    }
    nbcolli_waiter_end(&v->waiter);
    return is_over;
}

/* Tests those at `places`, null: all, and returns the first error; or, `late`, says what test would, where nothing is
 * to be released yet, and returns that. */
static nbcoll_status nbcolli_several_take(const nbcolli_several *v, size_t n, const size_t places[],
                                          nbcoll_status statuses[], nbcoll_status late)
{
    nbcoll_status first = late;

    for (size_t i = 0; i < n && (late == NBCOLL_OK || statuses); i++) {
        size_t at = places ? places[i] : i;
        nbcoll_status s = late == NBCOLL_OK ? nbcoll_test(&v->requests[at]) : nbcolli_outcome(&v->requests[at]);
        if (statuses)
            statuses[at] = s;
        if (first == NBCOLL_OK)
            first = s;
    }
    return first;
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

static nbcoll_status nbcolli_wait_all(size_t n, nbcoll_request requests[], nbcoll_status statuses[], uint64_t timeout,
                                      nbcoll_status late)
{
    nbcolli_several v;
    nbcoll_status s;
    int is_over;

    if (!requests && n)
        return NBCOLL_ERR_NULL;
    nbcolli_several_begin(&v, n, requests, 1);
    is_over = nbcolli_several_wait(&v, timeout);
    s = nbcolli_several_take(&v, n, NULL, statuses, is_over ? NBCOLL_OK : late);
    /* The last may have ended since it was looked at: by a look at a later one, or on another thread. They are taken
     * then: where all statuses say an end the call does. */
    if (!is_over && statuses && nbcolli_next_active(&v, 0) == n)
        s = nbcolli_several_take(&v, n, NULL, statuses, NBCOLL_OK);
    return s;
}

nbcoll_status nbcoll_test_all(size_t n, nbcoll_request requests[], nbcoll_status statuses[])
{
    return nbcolli_wait_all(n, requests, statuses, 0, NBCOLL_PENDING);
}

nbcoll_status nbcoll_wait_all(size_t n, nbcoll_request requests[], nbcoll_status statuses[], uint64_t timeout)
{
    return nbcolli_wait_all(n, requests, statuses, timeout, NBCOLL_ERR_TIMEOUT);
}

nbcoll_status nbcoll_wait_any(size_t n, nbcoll_request requests[], size_t *index, uint64_t timeout)
{
    nbcolli_several v;
    int is_over, idle;

    if (!index || (!requests && n))
        return NBCOLL_ERR_NULL;
    nbcolli_several_begin(&v, n, requests, 0);
    do { /* again where a callback has reported that end since */
        v.first = n;
        is_over = nbcolli_several_wait(&v, timeout);
    } while (v.first < n && nbcolli_peek(&requests[v.first], &idle) == NBCOLL_OK && idle);
    *index = v.first;
    if (v.first < n)
        return nbcoll_test(&requests[v.first]);
    return is_over ? NBCOLL_OK : NBCOLL_ERR_TIMEOUT;
}

/* The places of all that have ended. */
static size_t nbcolli_several_places(const nbcolli_several *v, size_t places[], nbcoll_status statuses[])
{
    size_t ended = 0;

    for (size_t i = 0; i < v->n; i++) {
        int idle;
        nbcoll_status s = nbcolli_peek(&v->requests[i], &idle);
        if (statuses)
            statuses[i] = s;
        if (s != NBCOLL_PENDING && (s != NBCOLL_OK || !idle))
            places[ended++] = i;
    }
    return ended;
}

nbcoll_status nbcoll_wait_some(size_t n, nbcoll_request requests[], size_t *ended, size_t indices[],
                               nbcoll_status statuses[], uint64_t timeout)
{
    nbcolli_several v;
    size_t most = n < NBCOLLI_LISTED_MOST ? n : NBCOLLI_LISTED_MOST, listed = 0;

    if (!ended || ((!requests || !indices) && n))
        return NBCOLL_ERR_NULL;
    *ended = 0;
    nbcolli_several_begin(&v, n, requests, 0);
    do { /* again where a callback has reported the end that was found */
        v.first = n;
        if (!nbcolli_several_wait(&v, timeout))
            return nbcolli_several_take(&v, n, NULL, statuses, NBCOLL_ERR_TIMEOUT);
        if (!statuses && v.is_one)
            listed = nbcolli_several_listed(&v, indices, most);
        *ended = listed && listed < NBCOLLI_LISTED_MOST ? listed : nbcolli_several_places(&v, indices, statuses);
    } while (!*ended && v.first < n);
    return nbcolli_several_take(&v, *ended, indices, statuses, NBCOLL_OK);
}
