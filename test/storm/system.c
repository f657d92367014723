/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What waits and drivers ask the system for, where the host has no pause: to yield, how often it has switched, to sleep
 * on descriptors, and on words. While a rank of such a world has its turn these calls are the world's. Sleeps may be
 * longer than they are asked to be, the more so the longer nothing has come. Where time heals nothing who sleeps for as
 * long as a round takes sleeps until it is woken. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "storm.h"
#include "nbcoll/driver.h"

#define ROUND (100 * MILLISECOND)        /* the longest sleep of a wait */
#define LOOK (10 * MILLISECOND)          /* from one look at a driver's bell to the next */
#define DRIVER_LOOKS (10 * MICROSECOND) /* a driver does not sleep for so long after it has found something */

static storm *bare(void)
{
    storm *s = storm_running();
    return s && s->plan.is_bare ? s : NULL;
}

void system_has_found(storm *s)
{
    s->turn->vain = 0;
    s->turn->found_at = s->now + s->turn->actor->skew;
}

static uint64_t at_least(storm *s, uint64_t ns)
{
    unsigned vain = s->turn->vain++;
    uint64_t least = vain < 20 && storm_chance(s, 300) ? 50ull << vain : 40 * MILLISECOND;
    s->steps++;
    if (s->plan.is_patient && ns >= ROUND)
        return 1000 * SECOND;
    ns = ns > least ? ns : 1 + storm_random(s, least);
    return ns < 1000 * SECOND ? ns : 1000 * SECOND; /* for ever */
}

int sched_yield(void)
{
    storm *s = bare();
    if (!s)
        return (int)syscall(SYS_sched_yield);
    storm_sleep(s, at_least(s, 0));
    return 0;
}

/* Half of the time others had the core. */
int getrusage(__rusage_who_t who, struct rusage *usage)
{
    storm *s = bare();
    if (!s)
        return (int)syscall(SYS_getrusage, who, usage);
    *usage = (struct rusage){.ru_nvcsw = (long)storm_random(s, 2)};
    return 0;
}

/* What it finds when it leaves a context that it has armed is none of its looks'. */
static void judge_driver(storm *s)
{
    const strand *t = s->turn;
    uint64_t now = s->now + t->actor->skew;
    if (t->found_at && t->armed_at > t->found_at && now - t->found_at < DRIVER_LOOKS)
        storm_find(s, "the driver of rank %d sleeps %llu ns after something has come", t->actor->rank,
                   (unsigned long long)(now - t->found_at));
}

int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *signals)
{
    storm *s = bare();
    if (!s)
        return (int)syscall(SYS_ppoll, fds, n, timeout, signals, (long)(_NSIG / 8));
    uint64_t ns = at_least(s, (uint64_t)timeout->tv_sec * SECOND + (uint64_t)timeout->tv_nsec), until = s->now + ns;
    const strand *t = s->turn;
    if (t != &t->actor->strand[DRIVER]) {
        storm_sleep(s, ns);
        return 0;
    }
    judge_driver(s);
    for (uint64_t wakes = 0; s->now < until && s->now >= wakes;) { /* its bell is the system's: nobody tells of that */
        uint64_t left = until - s->now, piece = left < LOOK ? left : LOOK;
        wakes = s->now + piece;
        storm_sleep(s, piece);
        if (syscall(SYS_ppoll, fds, n, &(struct timespec){0}, NULL, (long)(_NSIG / 8)) > 0)
            return 1;
    }
    return 0;
}

static long sleep_on(storm *s, _Atomic uint32_t *word, uint32_t value, const struct timespec *timeout)
{
    strand *t = s->turn;
    if (atomic_load(word) == value) {
        t->word = word;
        storm_stay(s, at_least(s, (uint64_t)timeout->tv_sec * SECOND + (uint64_t)timeout->tv_nsec));
        errno = t->word ? ETIMEDOUT : 0;
        t->word = NULL;
    } else
        errno = EAGAIN;
    return errno ? -1 : 0;
}

static void wake(storm *s, const void *word)
{
    for (int n = 0; n < STRANDS * s->plan.ranks; n++) {
        strand *t = &s->actor[n / STRANDS].strand[n % STRANDS];
        if (t->word != word)
            continue;
        t->word = NULL;
        t->wake_at = s->now + storm_random(s, 2 * MICROSECOND);
    }
}

static long (*of_the_system)(long number, ...);

/* Before main: the leak sanitizer yields where nobody may allocate, as dlsym does. */
__attribute__((constructor)) static void find_syscall(void)
{
    *(void **)(void *)&of_the_system = dlsym(RTLD_NEXT, "syscall");
}

long syscall(long number, ...)
{
    storm *s = bare();
    va_list rest;
    long a[6];

    va_start(rest, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(rest, long);
    va_end(rest);
    if (s && number == SYS_futex && a[1] == FUTEX_WAIT_PRIVATE)
        return sleep_on(s, (_Atomic uint32_t *)a[0], (uint32_t)a[2], (const struct timespec *)a[3]);
    if (s && number == SYS_futex) {
        wake(s, (const void *)a[0]);
        return 0;
    }
#ifdef SYS_futex_waitv
    if (s && number == SYS_futex_waitv) {
        errno = ENOSYS;
        return -1;
    }
#endif
    if (!of_the_system) /* an earlier constructor calls */
        find_syscall();
    return of_the_system(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
