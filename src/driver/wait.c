/* SPDX-License-Identifier: BSD-3-Clause
 * Waits of a context that a driver runs (calls.c): first they make the passes in its place, as helpers; then they sleep
 * until the driver tells them the news. */
#include "drive.h"

#include "../engine/calls/wait.h"
#include "../engine/progress/lock.h"
#include "../host/word.h"

#define NBCOLLI_NAP 100000000u /* ns: on the news of driven contexts, before a look at their drivers */

static void nbcolli_driven_help_no_more(nbcolli_waiter *w)
{
    nbcoll_context *c = w->helps;

    w->helps = NULL;
    /* seq_cst, both: either the driver sees before it sleeps that nobody helps, or this sees that it sleeps */
    atomic_fetch_sub(&c->driven.helpers, 1);
    if (atomic_load(&c->driven.state) > NBCOLLI_DRIVE_AWAKE && nbcolli_enter(c) == NBCOLL_OK)
        nbcolli_unlock(c); /* rings the driver if needed */
}

/* Sleeps on the `news` of all contexts; on the first one's, and for a short time, if another has no driver or the
 * system cannot sleep on several words. 0: the time is over. */
static int nbcolli_driven_sleep_on(const nbcolli_waiter *w, nbcoll_context *const c[], size_t n, uint64_t longest)
{
    _Atomic uint32_t *words[NBCOLLI_SLEEP_ON];
    uint32_t values[NBCOLLI_SLEEP_ON], sum = 0;
    int woken = -1, are_driven = 1;

    for (size_t i = 0; i < n; i++) {
        words[i] = &c[i]->driven.news;
        sum += values[i] = atomic_load(words[i]); /* seq_cst: after the counting */
        are_driven &= nbcolli_is_driven(c[i]);
    }
    if (sum != w->seen)
        return 1;
    if (n == 1)
        return nbcolli_word_sleep(words[0], values[0], longest < NBCOLLI_NAP ? longest : NBCOLLI_NAP);
    if (!w->has_others && are_driven)
        woken = nbcolli_words_sleep(n, words, values, longest < NBCOLLI_NAP ? longest : NBCOLLI_NAP);
    if (woken >= 0)
        return woken;
    nbcolli_word_sleep(words[0], values[0], longest < NBCOLLI_SHORT_SLEEP ? longest : NBCOLLI_SHORT_SLEEP);
    return 0;
}

static void nbcolli_driven_sleep(nbcolli_waiter *w, nbcoll_context *const c[], size_t n, uint64_t longest)
{
    nbcolli_waiter_end(w);
    w->slept = 1;
    w->stale = 0;
    if (w->has_come && longest > NBCOLLI_SHORT_SLEEP)
        longest = NBCOLLI_SHORT_SLEEP; /* the driver does not know of that */
    for (size_t i = 0; i < n; i++)
        atomic_fetch_add(&c[i]->driven.sleepers, 1); /* seq_cst: before the kernel's look at the word */
    int is_over = !nbcolli_driven_sleep_on(w, c, n, longest);
    for (size_t i = 0; i < n; i++) {
        /* Awake without news: it may be held up in a callback. Idle: it does not know that something is there */
        unsigned state = atomic_load_explicit(&c[i]->driven.state, memory_order_relaxed); /* a look */
        w->stale |= is_over && (state == NBCOLLI_DRIVE_AWAKE || state == NBCOLLI_DRIVE_IDLE);
        atomic_fetch_sub_explicit(&c[i]->driven.sleepers, 1, memory_order_relaxed); /* a number too high does no harm */
    }
}

void nbcolli_driven_pause(nbcolli_waiter *w, nbcoll_context *const c[], size_t n, uint64_t left, int sleeps)
{
    int is_same = w->at == c[0] && w->among == n;

    for (size_t i = 0; i < n; i++)
        sleeps &= !nbcolli_driven_has_steps(c[i]); /* else the lock's holder is about to leave */
    if (n > 1 || !is_same)
        nbcolli_waiter_end(w);
    if (sleeps && is_same)
        nbcolli_driven_sleep(w, c, n, left);
    else {
        if (n == 1 && !w->helps && !w->slept) {
            atomic_fetch_add(&c[0]->driven.helpers, 1); /* seq_cst, as the counting back */
            w->helps = c[0];
            w->helps_no_more = nbcolli_driven_help_no_more;
        }
        if (w->helps && nbcolli_takes_turns(c[0])) /* relaxed: a look's */
            atomic_fetch_add_explicit(&c[0]->driven.helped, 1, memory_order_relaxed);
        nbcolli_pause(c[0], w->vain);
    }
    w->at = c[0];
    w->among = n;
    w->seen = 0;
    for (size_t i = 0; i < n; i++)
        w->seen += atomic_load_explicit(&c[i]->driven.news, memory_order_acquire); /* before the next look */
}
