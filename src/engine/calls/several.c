/* SPDX-License-Identifier: BSD-3-Clause
 * Several requests at once. A look at all is made for an unknown array, and now and then. It notes in each request
 * where its handle is. From then on ended requests, of one context of one thread, are found in that context's list. An
 * array is known if one of its active requests has its handle where it was noted. */
#include "request.h"
#include "wait.h"
#include "../progress/lock.h"

#define NBCOLLI_LISTED_LEAST 8u   /* with so many requests the list pays, if one has ended */
#define NBCOLLI_LISTED_MOST 64u   /* ended ones that are sorted; with more, all are looked at */
#define NBCOLLI_AGAIN_LOOKS 16u   /* vain looks of a call till all are looked at; again at twice that */
#define NBCOLLI_AGAIN_CALLS 1024u /* calls of a context until all are looked at */

/* What a call awaits, and what its last look has found. */
typedef struct nbcolli_several {
    size_t n;
    nbcoll_request *requests;
    int all; /* all are awaited, else one */
    nbcolli_waiter waiter;
    int is_one;      /* all are of context[0], which is of one thread */
    size_t pending;  /* index of an active one; n: none */
    size_t first;    /* index of an ended one; or n */
    size_t others;   /* requests in that context's list that its last walk did not find in the array */
    size_t contexts; /* of active ones; beyond the room, each is counted whenever it is met */
    nbcoll_context **context; /* [NBCOLLI_SLEEP_ON] */
} nbcolli_several;

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

/* The first request from `at` on that has not ended, or n. */
static size_t nbcolli_next_active(const nbcolli_several *v, size_t at)
{
    while (at < v->n && nbcolli_peek(v->requests[at]) != NBCOLL_PENDING)
        at++;
    return at < v->n ? at : v->n;
}

/* ---- looks ------------------------------------------------------------------------------------------------------- */

/* The indices of listed requests that are in the array, at most `most`, in rising order. Removes from the list those
 * whose end has been reported. Takes the lock: a tick adds to the list. */
static size_t nbcolli_several_listed(nbcolli_several *v, size_t places[], size_t most)
{
    nbcoll_context *c = v->context[0];
    size_t ended = 0;

    v->others = 0;
    if (!nbcolli_own_try(c))
        return 0;
    for (nbcolli_list_item *at = c->unreported.first, *next; at && ended < most && v->others <= v->n; at = next) {
        const nbcolli_request *r = NBCOLLI_HOLDER(nbcolli_request, unreported, at);
        next = at->next;
        if (!nbcolli_is_unreported(nbcolli_state_of(r))) {
            nbcolli_list_leave(at);
            continue;
        }
        size_t place = ((uintptr_t)r->seen_at - (uintptr_t)v->requests) / sizeof *v->requests, i = ended;
        if (place >= v->n || nbcolli_entry_of(v->requests[place]) != r ||
            !nbcolli_is_of(r, v->requests[place].generation)) {
            v->others++;
            continue;
        }
        for (ended++; i > 0 && places[i - 1] > place; i--)
            places[i] = places[i - 1];
        places[i] = place;
    }
    nbcolli_own_unlock(c);
    return ended;
}

/* Progresses the contexts of the requests, each once when neighbours share it, and looks at all. */
static void nbcolli_several_look(nbcolli_several *v)
{
    nbcoll_context *last = NULL, *one = NULL;
    size_t n = v->n;

    v->is_one = !v->all || n >= NBCOLLI_LISTED_LEAST;
    v->contexts = 0;
    v->pending = v->first = n;
    for (size_t i = 0; i < n; i++) {
        nbcoll_context *c = nbcolli_context_of(v->requests[i]);
        nbcoll_status s = nbcolli_peek(v->requests[i]);
        if (s == NBCOLL_PENDING && c != last) {
            nbcolli_several_progress(v, last = c);
            s = nbcolli_peek(v->requests[i]);
        }
        if (s == NBCOLL_PENDING) {
            nbcolli_several_add(v, c);
            v->pending = v->pending < n ? v->pending : i;
        } else if (v->first == n && s != NBCOLL_AGAIN)
            v->first = i;
        v->is_one &= !c || c == one || (!one && !(c->flags & NBCOLL_ANY_THREAD));
        one = c ? c : one;
    }
    v->is_one &= one != NULL;
    if (v->is_one)
        v->context[0] = one;
    for (size_t i = 0; (v->is_one || n >= NBCOLLI_LISTED_LEAST) && i < n; i++)
        if (v->requests[i].at && !(nbcolli_context_of(v->requests[i])->flags & NBCOLL_ANY_THREAD))
            nbcolli_entry_of(v->requests[i])->seen_at = v->is_one ? &v->requests[i] : NULL;
}

/* May the list suffice, without a look at all? Tries the context of a request near either end of the array: programs
 * take requests from there. */
static int nbcolli_several_may_know(nbcolli_several *v)
{
    nbcoll_context *c = NULL;

    for (size_t i = 0; i < v->n && !c; i++) {
        v->pending = i % 2 ? i / 2 : v->n - 1 - i / 2;
        c = nbcolli_context_of(v->requests[v->pending]);
    }
    v->is_one = v->contexts = 1;
    v->context[0] = c;
    return v->n >= NBCOLLI_LISTED_LEAST && c && !(c->flags & NBCOLL_ANY_THREAD) && !nbcolli_is_forked(c) &&
           ++c->looks % NBCOLLI_AGAIN_CALLS != 0;
}

/* Progresses, unless one that is awaited has ended, and looks at what may have changed since a look at all, now or in
 * an earlier call. 0: all are to be looked at. */
static int nbcolli_several_look_again(nbcolli_several *v)
{
    size_t others = v->others;

    if (v->contexts > NBCOLLI_SLEEP_ON || (!v->all && !v->is_one))
        return 0;
    if (!v->all && nbcolli_several_listed(v, &v->first, 1))
        return 1;
    for (size_t i = 0; i < v->contexts; i++)
        nbcolli_several_progress(v, v->context[i]);
    if (!v->all && nbcolli_several_listed(v, &v->first, 1))
        return 1;
    v->pending = nbcolli_next_active(v, v->pending); /* what a callback has reported is not in the list */
    if (v->all && v->pending == v->n)
        return nbcolli_next_active(v, 0) == v->n;
    return v->others == others && v->pending < v->n &&
           (!v->is_one || nbcolli_entry_of(v->requests[v->pending])->seen_at == &v->requests[v->pending]);
}

/* Waits until what is awaited has ended, or nothing is active; 0: the time is over. Requests that callbacks started
 * again, other changes of the array, and contexts with nothing left in it, are noticed after a while. */
static int nbcolli_several_wait(nbcolli_several *v, uint64_t timeout)
{
    int again = nbcolli_several_may_know(v), is_over = 0, is_late = 0;

    v->first = v->n;
    for (uint64_t looks = 1; !is_over && !is_late; looks++) {
        int is_known = again && nbcolli_several_look_again(v);
        if (!is_known)
            nbcolli_several_look(v);
        is_over = (!v->all && v->first < v->n) || v->pending == v->n;
        is_late = !is_over && !nbcolli_waiter_pause(&v->waiter, v->context, v->contexts, timeout);
        if (is_late && is_known && !v->all) { /* an end may have been missed */
            nbcolli_several_look(v);
            is_over = v->first < v->n || v->pending == v->n;
        }
        again = looks < NBCOLLI_AGAIN_LOOKS || (looks & (looks - 1));
    }
    nbcolli_waiter_end(&v->waiter);
    return is_over;
}

/* Notes what a test of each would return, unless `statuses` is null, and the places of those that have ended, at most
 * `most` of them, unless `places` is null. Returns how many these are. */
static size_t nbcolli_several_peek(const nbcolli_several *v, size_t places[], size_t most, nbcoll_status statuses[])
{
    size_t ended = 0;

    for (size_t i = most == 1 ? v->first : 0; i < v->n && ended < most; i++) {
        nbcoll_status s = nbcolli_peek(v->requests[i]);
        if (statuses)
            statuses[i] = s == NBCOLL_AGAIN ? NBCOLL_OK : s;
        if (places && s != NBCOLL_AGAIN && s != NBCOLL_PENDING)
            places[ended++] = i;
    }
    return ended;
}

/* Tests those at `places` (null: all) and returns the first error. */
static nbcoll_status nbcolli_several_take(const nbcolli_several *v, size_t n, const size_t places[],
                                          nbcoll_status statuses[])
{
    nbcoll_status first = NBCOLL_OK;

    for (size_t i = 0; i < n; i++) {
        size_t at = places ? places[i] : i;
        nbcoll_status s = nbcoll_test(&v->requests[at]);
        if (statuses)
            statuses[at] = s;
        first = first == NBCOLL_OK ? s : first;
    }
    return first;
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

static nbcoll_status nbcolli_wait_all(size_t n, nbcoll_request requests[], nbcoll_status statuses[], uint64_t timeout,
                                      nbcoll_status late)
{
    nbcoll_context *on[NBCOLLI_SLEEP_ON];
    nbcolli_several v = {.n = n, .requests = requests, .all = 1, .context = on};

    if (!requests && n)
        return NBCOLL_ERR_NULL;
    int is_over = nbcolli_several_wait(&v, timeout);
    if (!is_over && statuses) {
        nbcolli_several_peek(&v, NULL, SIZE_MAX, statuses);
        /* The last may have ended since its look: by a look at a later one, or on another thread. If all statuses are
         * ends, the call takes them and returns an end. */
        is_over = nbcolli_next_active(&v, 0) == n;
    }
    return is_over ? nbcolli_several_take(&v, n, NULL, statuses) : late;
}

nbcoll_status nbcoll_test_all(size_t n, nbcoll_request requests[], nbcoll_status statuses[])
{
    return nbcolli_wait_all(n, requests, statuses, 0, NBCOLL_PENDING);
}

nbcoll_status nbcoll_wait_all(size_t n, nbcoll_request requests[], nbcoll_status statuses[], uint64_t timeout)
{
    return nbcolli_wait_all(n, requests, statuses, timeout, NBCOLL_ERR_TIMEOUT);
}

/* Waits until any have ended, and reports them, at most `most`. */
static nbcoll_status nbcolli_wait_some(size_t n, nbcoll_request requests[], size_t most, size_t *ended,
                                       size_t indices[], nbcoll_status statuses[], uint64_t timeout)
{
    nbcoll_context *on[NBCOLLI_SLEEP_ON];
    nbcolli_several v = {.n = n, .requests = requests, .context = on};

    *ended = 0;
    if (!requests && n)
        return NBCOLL_ERR_NULL;
    do { /* again, if a callback has reported the end that was found */
        if (!nbcolli_several_wait(&v, timeout)) {
            if (statuses)
                nbcolli_several_peek(&v, NULL, SIZE_MAX, statuses);
            return NBCOLL_ERR_TIMEOUT;
        }
        if (!statuses && v.is_one && most > 1)
            *ended = nbcolli_several_listed(&v, indices, n < NBCOLLI_LISTED_MOST ? n : NBCOLLI_LISTED_MOST);
        if (!*ended || *ended == NBCOLLI_LISTED_MOST)
            *ended = nbcolli_several_peek(&v, indices, most, statuses);
    } while (!*ended && v.first < n);
    return nbcolli_several_take(&v, *ended, indices, statuses);
}

nbcoll_status nbcoll_wait_any(size_t n, nbcoll_request requests[], size_t *index, uint64_t timeout)
{
    size_t ended;

    if (!index)
        return NBCOLL_ERR_NULL;
    nbcoll_status s = nbcolli_wait_some(n, requests, 1, &ended, index, NULL, timeout);
    *index = ended ? *index : n;
    return s;
}

nbcoll_status nbcoll_wait_some(size_t n, nbcoll_request requests[], size_t *ended, size_t indices[],
                               nbcoll_status statuses[], uint64_t timeout)
{
    return ended && (indices || !n) ? nbcolli_wait_some(n, requests, SIZE_MAX, ended, indices, statuses, timeout)
                                    : NBCOLL_ERR_NULL;
}
