/* SPDX-License-Identifier: BSD-3-Clause
 * Ticks (nbcoll/driver.h): a timer's signal interrupts the program, whose handler calls nbcoll_tick. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "nbcoll/driver.h"

#include "tick.h"

#include "../engine/progress/lock.h"

#ifdef sigev_notify_thread_id
#define NBCOLLI_TICK_THREAD(event) (event).sigev_notify_thread_id
#else
#define NBCOLLI_TICK_THREAD(event) (event)._sigev_un._tid
#endif

/* Will such a signal end up in a handler, on this thread? */
static int nbcolli_tick_is_handled(int number)
{
    struct sigaction action;
    sigset_t blocked;

    return number > 0 && sigaction(number, NULL, &action) == 0 && pthread_sigmask(SIG_SETMASK, NULL, &blocked) == 0 &&
           (action.sa_flags & SA_SIGINFO || (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN)) &&
           sigismember(&blocked, number) == 0;
}

/* It begins at once: all that ticks need is there. */
static nbcoll_status nbcolli_tick_timer(nbcolli_ticks *t, nbcoll_context *c, int number, uint64_t period)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = number, .sigev_value.sival_ptr = c};
    struct timespec each = {(time_t)(period / 1000000000u), (long)(period % 1000000000u)};
    struct itimerspec from_now = {each, each};

    NBCOLLI_TICK_THREAD(event) = gettid();
    if (timer_create(CLOCK_MONOTONIC, &event, &t->timer) != 0)
        return errno == EAGAIN || errno == ENOMEM ? NBCOLL_ERR_MEMORY : NBCOLL_ERR_UNSUPPORTED;
    t->has_timer = 1;
    if (timer_settime(t->timer, 0, &from_now, NULL) == 0)
        return NBCOLL_OK;
    timer_delete(t->timer);
    t->has_timer = 0;
    return NBCOLL_ERR_CONFIG; /* the period */
}

nbcoll_status nbcoll_tick_start(nbcoll_context *c, int number, uint64_t period)
{
    nbcoll_status s = c ? nbcolli_enter(c) : NBCOLL_ERR_NULL;
    if (s != NBCOLL_OK)
        return s;
    if (c->ticks.are_on)
        return nbcolli_leave(c, NBCOLL_ERR_BUSY);
    if (c->flags & NBCOLL_ANY_THREAD || c->observer)
        return nbcolli_leave(c, NBCOLL_ERR_CONFIG);
    if (number && (period < NBCOLL_TICK_LEAST || !nbcolli_tick_is_handled(number)))
        return nbcolli_leave(c, NBCOLL_ERR_CONFIG);
    if (!c->links || !nbcolli_tick_is_safe(c))
        return nbcolli_leave(c, NBCOLL_ERR_UNSUPPORTED);
    if (!nbcolli_tick_reserve(c))
        return nbcolli_leave(c, NBCOLL_ERR_MEMORY);
    if (number)
        s = nbcolli_tick_timer(&c->ticks, c, number, period);
    if (s == NBCOLL_OK) {
        c->ticks.are_on = 1;
        c->stored++; /* so that nothing is replayed, which ticks could not take part in */
    }
    return nbcolli_leave(c, s);
}

nbcoll_status nbcoll_tick_stop(nbcoll_context *c)
{
    nbcoll_status s = c ? nbcolli_enter(c) : NBCOLL_ERR_NULL;
    if (s != NBCOLL_OK)
        return s;
    if (!c->ticks.are_on)
        return nbcolli_leave(c, NBCOLL_ERR_ARGUMENT);
    if (c->ticks.has_timer) /* its last signal comes before this returns, if it is to come */
        timer_delete(c->ticks.timer);
    c->ticks.has_timer = c->ticks.are_on = 0;
    c->stored--;
    return nbcolli_leave(c, NBCOLL_OK);
}

/* Not the host's clock, which may do anything. */
static uint64_t nbcolli_tick_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The program is outside, and not about to come back in: nothing changes but by this. */
static int nbcolli_tick_may_enter(const nbcoll_context *c)
{
    return !nbcolli_is_inside(c) && !atomic_load_explicit(&c->outside, memory_order_relaxed) && /* of one thread */
           !c->ticks.is_armed && nbcolli_tick_may_pass(c);
}

nbcoll_status nbcoll_tick(nbcoll_context *c)
{
    int saved = errno;
    nbcoll_status s = NBCOLL_PENDING;

    if (!c)
        return NBCOLL_ERR_NULL;
    if (nbcolli_is_forked(c))
        return NBCOLL_ERR_FORKED;
    if (nbcolli_is_inside(c))
        return NBCOLL_PENDING;
    if (!c->ticks.are_on)
        return NBCOLL_ERR_CONFIG;
    if (!nbcolli_tick_is_safe(c))
        return NBCOLL_ERR_UNSUPPORTED;
    uint64_t begun = nbcolli_tick_now();
    if (begun - c->ticks.ended >= c->ticks.took && nbcolli_tick_may_enter(c) && nbcolli_try_lock(c)) {
        nbcolli_tick_pass(c);
        nbcolli_unlock(c);
        c->ticks.ended = nbcolli_tick_now();
        c->ticks.took = c->ticks.ended - begun;
        s = NBCOLL_OK;
    }
    errno = saved;
    return s;
}
