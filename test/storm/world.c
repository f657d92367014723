/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Virtual time, choices and turns. Each rank has a time at which it goes on; the one whose time is first has the next
 * turn, and the clock is set to it. So any order of the ranks' steps can come, since they choose how long they stay
 * away. What happens is mixed into a hash, and printed where asked for. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "storm.h"

#define LONGEST (120 * SECOND) /* after the last cause, lateness or end of a call: then something hangs */
#define LATEST (2 * SECOND) /* likewise, for bad news: 0.2 s are promised for a difference, and then looks take time */
#define STEPS_MOST 8000000ull    /* likewise, or after something has ended: then the ranks only turn round */
#define PREEMPTED_MOST 20 /* times each rank: others look, and lose their cores, meanwhile */

const medium *storm_over_ofi;

static storm *running; /* while a rank has its turn */

storm *storm_running(void)
{
    return running;
}

uint64_t storm_random(storm *s, uint64_t below)
{
    return below ? next_random(&s->random) % below : 0;
}

bool storm_chance(storm *s, unsigned per_mille)
{
    return per_mille && next_random(&s->random) % 1000 < per_mille;
}

static const char *const note_name[] = {
#define NAME(name) #name,
    NOTES(NAME)
#undef NAME
};

/* An operation ends so. Where the host has no pause a program that tests, and does not wait, may test 1024 times
 * between two looks at the clock (ask.h), which takes long. */
static void judge_time(storm *s, int rank, uint64_t number, uint64_t status)
{
    if (status != NBCOLL_OK && s->now > s->last_cause + LATEST && !s->ends && !s->actor[rank].is_dead &&
        !s->plan.is_bare && !(s->bad_anywhere & BAD_HEADER))
        storm_find(s, "rank %d, item %llu: it ends badly only %llu ms after the last cause", rank,
                   (unsigned long long)number, (unsigned long long)((s->now - s->last_cause) / MILLISECOND));
}

void storm_note(storm *s, int rank, note what, uint64_t a, uint64_t b)
{
    s->hash = (s->hash ^ ((uint64_t)what << 32 | (uint32_t)rank) ^ s->now * 3 ^ a * 5 ^ b * 7) * 0x9e3779b97f4a7c15u;
    s->hash ^= s->hash >> 29;
    if (what == NOTE_FAULT)
        met.faults[a]++;
    if (what == NOTE_ENDS || what == NOTE_OVER || what == NOTE_MESSAGE)
        s->steps_moved = s->steps;
    s->over += what == NOTE_ENDS || what == NOTE_FREED;
    if (what == NOTE_ENDS)
        judge_time(s, rank, a, b);
    /* each step of an operation may have slept for some time */
    if ((what == NOTE_ENDS || what == NOTE_MESSAGE) && s->last_cause < s->now)
        s->last_cause = s->now;
    if (s->is_loud)
        printf("%12llu rank %d %s %llu %llu\n", (unsigned long long)s->now, rank, note_name[what],
               (unsigned long long)a, (unsigned long long)b);
}

void storm_find(storm *s, const char *format, ...)
{
    va_list arguments;
    if (s->finding[0])
        return;
    va_start(arguments, format);
    vsnprintf(s->finding, sizeof s->finding, format, arguments);
    va_end(arguments);
    if (s->is_loud)
        printf("FINDING: %s\n", s->finding);
}

void storm_cause(storm *s, int rank, unsigned why)
{
    s->bad[rank] |= why;
    s->bad_anywhere |= why;
    if (s->last_cause < s->now)
        s->last_cause = s->now;
}

/* ---- turns ------------------------------------------------------------------------------------------------------ */

/* A signal's handler runs when the program, or the library, goes on: it is blocked while it runs. */
static void maybe_tick(storm *s, actor *a)
{
    if (!s->plan.ticks || a->is_ticking || s->ends || !storm_chance(s, s->plan.ticks))
        return;
    a->is_ticking = true;
    rank_ticks(a);
    a->is_ticking = false;
}

void storm_not_in_tick(actor *a, const char *what)
{
    if (a->is_ticking)
        storm_find(a->storm, "rank %d: a tick calls %s", a->rank, what);
}

static void yield_until(storm *s, uint64_t at, bool is_asleep)
{
    strand *me = s->turn;
    if (s->is_child)
        storm_in_child(me->actor, "it waits");
    me->wake_at = at;
    me->is_asleep = is_asleep;
    me->holds = !s->met_at_words && rank_holds(me->actor); /* at words those that spin let others in */
    fiber_yield(me->fiber);
    maybe_tick(s, me->actor);
}

void storm_stay(storm *s, uint64_t ns)
{
    yield_until(s, s->now + ns, false);
}

void storm_away(storm *s, uint64_t ns)
{
    if (s->last_cause < s->now + ns)
        s->last_cause = s->now + ns;
    storm_stay(s, ns);
}

void storm_sleep(storm *s, uint64_t ns)
{
    actor *a = s->turn->actor;
    uint64_t at = s->now + ns, next = s->medium->next(a);
    if (a->strand[DRIVER].fiber && next <= s->now) /* it has been rung for that, and waits for the other thread */
        next = UINT64_MAX;
    at = next < at ? next : at;
    at = s->turn->rung_at < at ? s->turn->rung_at : at;
    s->turn->rung_at = UINT64_MAX;
    yield_until(s, at > s->now ? at : s->now + 1, true);
}

void storm_ring(storm *s, int rank, uint64_t at)
{
    for (int k = 0; k < STRANDS; k++) {
        strand *t = &s->actor[rank].strand[k];
        if (t->is_asleep && at < t->wake_at)
            t->wake_at = at;
        else if (!t->is_asleep && at < t->rung_at)
            t->rung_at = at;
    }
}

static void begin_strand(strand *t, void (*main)(void *user), void *user, uint64_t at)
{
    *t = (strand){.wake_at = at, .rung_at = UINT64_MAX, .fiber = fiber_make(main, user), .actor = t->actor};
}

void storm_spawn(actor *a, int which, void (*main)(void *user), void *user)
{
    strand *t = &a->strand[which];
    if (t->fiber)
        fiber_free(t->fiber);
    begin_strand(t, main, user, a->storm->now + storm_random(a->storm, MILLISECOND));
}

/* A rank that dies here is entered again only when all others are through. */
static void maybe_die(storm *s, actor *a)
{
    const fault *f = storm_fault(s, a, FAULT_DEATH, &a->turns);
    if (!f || a->is_dead)
        return;
    storm_note(s, a->rank, NOTE_FAULT, FAULT_DEATH, a->turns);
    storm_cause(s, a->rank, BAD_DEAD);
    a->is_dead = true;
    s->medium->dies(a);
    for (int k = 0; k < STRANDS; k++) {
        a->strand[k].wake_at = UINT64_MAX;
        a->strand[k].is_asleep = false;
    }
    yield_until(s, UINT64_MAX, false);
}

static bool loses_its_core(storm *s, actor *a, unsigned per_mille)
{
    bool loses = !s->met_at_words && a->preempted < PREEMPTED_MOST && storm_chance(s, per_mille);
    a->preempted += loses;
    return loses;
}

void storm_step(storm *s, actor *a)
{
    if (s->is_child)
        storm_in_child(a, "it calls a hook, or a slot");
    s->now += 20 + storm_random(s, 64);
    s->steps++;
    if (a != s->turn->actor || s->ends)
        return;
    if (s->plan.forks == 1 + a->rank && a->hooks++ == s->plan.forks_at)
        rank_forks(a);
    maybe_die(s, a);
    if (s->plan.is_preempted && loses_its_core(s, a, 2)) {
        storm_away(s, storm_random(s, 300 * MILLISECOND));
    } else if (storm_chance(s, s->plan.switches))
        storm_stay(s, storm_random(s, storm_chance(s, 30) ? MILLISECOND : 3 * MICROSECOND));
    else
        maybe_tick(s, a);
}

void storm_look(storm *s, actor *a)
{
    storm_step(s, a);
    if (!s->plan.at_looks || a != s->turn->actor || a->is_ticking || s->ends || !loses_its_core(s, a, 50))
        return;
    uint64_t over = s->over, till = s->now + storm_random(s, 300 * MILLISECOND);
    while (s->now < till && (s->over == over || storm_chance(s, 500))) /* and perhaps till that one has done more */
        storm_away(s, storm_random(s, 2 * MILLISECOND));
}

/* At how many of them others are let in follows from the seed: from all to one of some thousands. */
void storm_word(void)
{
    storm *s = running;
    if (!s || s->ends || s->is_child || s->words-- > 1)
        return;
    uint64_t apart = 1ull << s->plan.seed / 20 % 12; /* on average */
    s->words = 1 + storm_random(s, 2 * apart);
    s->met_at_words++;
    s->now += 20;
    s->steps++;
    maybe_die(s, s->turn->actor);
    storm_stay(s, storm_random(s, storm_chance(s, 30) ? MILLISECOND : storm_chance(s, 500) ? 300 : 3 * MICROSECOND));
}

const fault *storm_fault(storm *s, actor *a, fault_kind kind, uint64_t *counter)
{
    uint64_t n = (*counter)++;
    for (int i = 0; i < s->plan.faults; i++) {
        const fault *f = &s->plan.fault[i];
        if (f->kind == kind && f->rank == a->rank && n >= f->at && n - f->at < f->many && !s->ends)
            return f;
    }
    return NULL;
}

static bool is_kept_out(const strand *t)
{
    for (int k = 0; k < STRANDS; k++)
        if (t != &t->actor->strand[k] && t->actor->strand[k].holds)
            return true;
    return false;
}

static strand *next_strand(storm *s)
{
    strand *next = NULL;
    for (actor *a = s->actor; a < s->actor + s->plan.ranks; a++)
        for (strand *t = a->strand; t < a->strand + STRANDS; t++)
            if (t->fiber && (!next || t->wake_at < next->wake_at) && !t->is_over && !is_kept_out(t))
                next = t;
    return next;
}

/* None but the dead are left. */
static void let_the_dead_end(storm *s)
{
    s->ends = true;
    for (int n = 0; n < STRANDS * s->plan.ranks; n++) {
        strand *t = &s->actor[n / STRANDS].strand[n % STRANDS];
        t->wake_at = t->is_over ? UINT64_MAX : s->now;
    }
    s->last_cause = s->now;
}

static void say_hang(storm *s, const char *how)
{
    storm_find(s, "%s: at %llu ms, last cause at %llu ms, after %llu steps", how,
               (unsigned long long)(s->now / MILLISECOND), (unsigned long long)(s->last_cause / MILLISECOND),
               (unsigned long long)s->steps);
}

static void take_turns(storm *s)
{
    strand *t;
    while (!s->finding[0] && (t = next_strand(s))) {
        if (t->wake_at == UINT64_MAX) {
            let_the_dead_end(s);
            continue;
        }
        if (t->wake_at > s->now)
            s->now = t->wake_at;
        if (s->now < s->last_cause) /* somebody is away, for whom others may look as often as they like */
            s->steps_moved = s->steps;
        if (s->now > s->last_cause + LONGEST || s->steps - s->steps_moved > STEPS_MOST) {
            if (!(s->bad_anywhere & BAD_HEADER))
                say_hang(s, s->now > s->last_cause + LONGEST ? "hang" : "too many steps");
            return;
        }
        s->turn = t;
        t->is_asleep = t->holds = false;
        running = s;
        fiber_enter(t->fiber);
        running = NULL;
        t->is_over = fiber_is_over(t->fiber);
        t->actor->is_over = t->actor->strand[PROGRAM].is_over;
    }
}

/* Ticks ask the system for the time, and so do ranks without `now`: while a rank has its turn it is the world's, so
 * that a seed stays what it is. */
int clock_gettime(clockid_t clock, struct timespec *t)
{
    if (!running)
        return (int)syscall(SYS_clock_gettime, clock, t);
    if (running->plan.is_over) /* which looks at it until something has come */
        storm_step(running, running->turn->actor);
    uint64_t now = running->plan.is_patient ? SECOND : running->now;
    t->tv_sec = (time_t)(now / SECOND);
    t->tv_nsec = (long)(now % SECOND);
    return 0;
}

/* Where headers are damaged some may have no end: what they hold then is no leak. */
static bool may_hang(const plan *p)
{
    for (int i = 0; i < p->faults; i++)
        if (p->fault[i].kind == FAULT_DAMAGE)
            return true;
    return false;
}

/* Of a job that has failed some ranks have no end: what they hold then is none either. */
static bool has_failed;

#ifdef __SANITIZE_ADDRESS__
int __lsan_is_turned_off(void);
void __lsan_disable(void);
void __lsan_enable(void);

int __lsan_is_turned_off(void) /* asked when the process ends */
{
    return has_failed;
}
#else
#define __lsan_disable()
#define __lsan_enable()
#endif

static void run_plan(storm *s)
{
    for (int n = 0; n < s->plan.nets; n++) {
        const net *of = &s->plan.net[n];
        s->memory[n] = of->groups & HAS_SHARED ? aligned_alloc(128, of->quota * (size_t)s->plan.ranks) : NULL;
    }
    s->medium->make(s);
    agents_make(s);
    for (int r = 0; r < s->plan.ranks; r++) {
        actor *a = &s->actor[r];
        uint64_t at = storm_random(s, MICROSECOND);
        *a = (actor){.storm = s, .rank = r, .strand = {{.actor = a}, {.actor = a}, {.actor = a}}};
        a->queues = s->queue[r];
        host_init(a);
        s->medium->open(a);
        begin_strand(&a->strand[PROGRAM], rank_main, a, at);
    }
    take_turns(s);
    has_failed |= s->finding[0] != 0;
    for (int r = 0; r < s->plan.ranks; r++) {
        if (s->finding[0] && s->is_loud)
            rank_print(&s->actor[r]);
        if (s->actor[r].is_over && !(s->bad_anywhere & BAD_HEADER))
            host_check(&s->actor[r]);
        rank_clean(&s->actor[r]);
        for (int k = 0; k < STRANDS; k++)
            if (s->actor[r].strand[k].fiber)
                fiber_free(s->actor[r].strand[k].fiber);
    }
    agents_free(s);
    s->medium->free(s);
    for (int n = 0; n < NETS && !s->finding[0]; n++)
        free(s->memory[n]);
}

/* All but the plan; of so many actors. */
static void forget(storm *s, int actors)
{
    char *behind = (char *)(s->actor + RANKS_MOST);
    memset((char *)s + sizeof s->plan, 0, offsetof(storm, actor) - sizeof s->plan);
    memset(s->actor, 0, (size_t)actors * sizeof *s->actor);
    memset(behind, 0, (size_t)((char *)(s + 1) - behind));
}

void storm_run(storm *s, uint64_t seed, const cut *c, bool is_loud)
{
    static bool has_run;
    if (!has_run)
        close(STDIN_FILENO); /* the next descriptor has the number 0 */
    has_run = true;
    int before = s->plan.ranks; /* of the last job: the others' actors are as they were */
    plan_make(&s->plan, seed, c);
    forget(s, before > s->plan.ranks ? before : s->plan.ranks);
    s->random = mix(seed, 1);
    s->medium = s->plan.is_over_shm ? &shm_medium : s->plan.is_over_ofi ? storm_over_ofi : &wire_medium;
    s->is_loud = is_loud;
    if (is_loud)
        plan_print(&s->plan);

    bool hangs = may_hang(&s->plan);
    if (hangs) {
        __lsan_disable();
    }
    run_plan(s);
    if (hangs) {
        __lsan_enable();
    }
}
