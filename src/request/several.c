/* SPDX-License-Identifier: BSD-3-Clause
 * Several requests at once. */
#include "nbcoll/inline/context.h"

/* Progresses the contexts of the requests, each once when neighbours share it, and looks. `active` counts those that
 * are; the first one that ended is `first` (n when none has). */
static void look(size_t n, const nbcoll_request requests[], size_t *active, size_t *first, nbcoll_context **some)
{
    nbcoll_context *last = NULL;

    *active = 0;
    *first = n;
    *some = NULL;
    for (size_t i = 0; i < n; i++) {
        int idle;
        nbcoll_status s = nbcolli_peek(&requests[i], &idle);
        if (s == NBCOLL_PENDING && requests[i].context != last) {
            last = requests[i].context;
            nbcoll_progress(last);
            s = nbcolli_peek(&requests[i], &idle);
        }
        if (s == NBCOLL_PENDING) {
            *some = requests[i].context;
            ++*active;
        } else if (*first == n && (!idle || s != NBCOLL_OK))
            *first = i;
    }
}

static nbcoll_status take_all(size_t n, nbcoll_request requests[], nbcoll_status statuses[])
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

nbcoll_status nbcoll_test_all(size_t n, nbcoll_request requests[], nbcoll_status statuses[])
{
    size_t active, first;
    nbcoll_context *some;

    if (!requests && n)
        return NBCOLL_ERR_NULL;
    look(n, requests, &active, &first, &some);
    return active ? NBCOLL_PENDING : take_all(n, requests, statuses);
}

nbcoll_status nbcoll_wait_all(size_t n, nbcoll_request requests[], nbcoll_status statuses[], uint64_t timeout)
{
    size_t active, first;
    nbcoll_context *some;
    nbcolli_waiter w = {0};

    if (!requests && n)
        return NBCOLL_ERR_NULL;
    for (;;) {
        look(n, requests, &active, &first, &some);
        if (!active)
            return take_all(n, requests, statuses);
        if (!nbcolli_waiter_pause(&w, some, timeout))
            return NBCOLL_ERR_TIMEOUT;
    }
}

nbcoll_status nbcoll_wait_any(size_t n, nbcoll_request requests[], size_t *index, uint64_t timeout)
{
    size_t active;
    nbcoll_context *some;
    nbcolli_waiter w = {0};

    if (!index || (!requests && n))
        return NBCOLL_ERR_NULL;
    for (;;) {
        look(n, requests, &active, index, &some);
        if (*index < n)
            return nbcoll_test(&requests[*index]);
        if (!active)
            return NBCOLL_OK;
        if (!nbcolli_waiter_pause(&w, some, timeout))
            return NBCOLL_ERR_TIMEOUT;
    }
}

static nbcoll_status take_some(size_t n, nbcoll_request requests[], size_t *ended, size_t indices[],
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
    size_t active, first;
    nbcoll_context *some;
    nbcolli_waiter w = {0};

    if (!ended || ((!requests || !indices) && n))
        return NBCOLL_ERR_NULL;
    for (;;) {
        look(n, requests, &active, &first, &some);
        if (first < n || !active)
            return take_some(n, requests, ended, indices, statuses);
        if (!nbcolli_waiter_pause(&w, some, timeout)) {
            *ended = 0;
            return NBCOLL_ERR_TIMEOUT;
        }
    }
}
