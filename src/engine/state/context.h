/* SPDX-License-Identifier: BSD-3-Clause
 * Contexts: one rank's root object. */
#ifndef NBCOLLI_ENGINE_STATE_CONTEXT_H
#define NBCOLLI_ENGINE_STATE_CONTEXT_H

#include <time.h>

#include "link.h"
#include "../../host/word.h"

#define NBCOLLI_NEWS 1
#define NBCOLLI_NEWS_OF_EXECUTORS 2 /* operations of theirs are under way, which ticks leave alone */

struct nbcolli_waiter;

typedef enum nbcolli_drive {
    NBCOLLI_DRIVE_NONE, /* no driver runs it */
    NBCOLLI_DRIVE_AWAKE,    /* before it sleeps it makes a pass and arms */
    NBCOLLI_DRIVE_UNARMED,  /* asleep, but arrivals may not wake it: a call has made a pass since, or will */
    NBCOLLI_DRIVE_IDLE,     /* asleep until something comes */
    NBCOLLI_DRIVE_ARMED     /* the same, and it looks now and then: operations are outstanding */
} nbcolli_drive;

/* What the engine calls of the component driver, in a context that is in one. */
typedef struct nbcolli_driver_calls {
    void (*enter)(nbcoll_context *c); /* behind the taking of the lock */
    void (*leave)(nbcoll_context *c); /* before it is given back */
    /* Without it: a wait on these contexts, of which a driver runs the first, passes time between two looks. */
    void (*pause)(struct nbcolli_waiter *w, nbcoll_context *const c[], size_t n, uint64_t left, int sleeps);
} nbcolli_driver_calls;

/* What a context knows of the driver of its progress (nbcoll/driver.h). While a run of a driver has it, `state` says
 * whether that is awake, or how it sleeps. All is written under the context's lock, unless it says otherwise. */
typedef struct nbcolli_driven {
    _Atomic(const nbcolli_driver_calls *) driver; /* of the driver that has the context, running or not; null: none
                                                     has. A wait reads it without the lock */
    int bell;   /* a descriptor that wakes it */
    int polled; /* the context's poller when it was added to the driver's; -1: it was not */
    int looked; /* a call has asked transports since the arming */
    int fresh;  /* starts have been taken over, or a drain has found messages, since its last pass looked */
    size_t ended, told;  /* requests that have ended; how many had when sleepers were told last */
    uint64_t left_steps; /* steps of the lane START that starts had left when they returned, in all */

    atomic_uint state;       /* nbcolli_drive. Awake: the driver, on waking, without the lock */
    atomic_uintptr_t runner; /* the mark of its thread (caller.h); 0: no driver runs it */
    int is_driving;          /* that thread only: it is in a pass of the driver's, not in a callback */
    int is_crowded;          /* that thread only: helpers yielded their core between passes when it looked, */
    unsigned seen, stalled;  /* the value of `helped` then, and its looks since */
    atomic_uint left;        /* lanes, as bits: with ready steps that the thread inside does not serve */

    /* Any thread. */
    atomic_uint helpers;   /* waits that make passes: the driver leaves the context to them */
    atomic_uint helped;    /* passes of those that yield */
    atomic_uint sleepers;  /* waits that sleep until `news` changes */
    _Atomic uint32_t news; /* counts: requests have ended, steps of the lane CALLER are ready, or no driver runs it */
} nbcolli_driven;

/* Ticks of a timer that interrupts the program (src/driver/tick.h): calls write this, ticks the last three. */
typedef struct nbcolli_ticks {
    int are_on, has_timer;
    timer_t timer;
    int is_armed; /* the program has armed, and is about to sleep, until the next pass or the sleep's end */
    int is_under_way;     /* what is inside is a tick */
    uint64_t ended, took; /* ns: when the last one ended, and how long that was */
} nbcolli_ticks;

/* Who writes what, here and in all that hangs on a context. A *call* is the program's: it makes, starts, asks, cancels
 * or frees. *Progress* is what a pass or a drain does; calls make those, too, so that a start advances what it has
 * started. Both are inside the context, one at a time: `lock` is the word by which everything changes hands, taken
 * with acquire and given back with release, or, in a context of one thread, that thread's order. The *caller's side*
 * is what a start touches: it changes hands by `caller` (caller.h), and an operation goes from there to progress by
 * `handed`. Where another word passes something on, it is named. *Made*: written before anybody else knows the object,
 * and only read from then on. */
struct nbcoll_context {
    nbcolli_users users; /* first: an endpoint's owner points to it */

    /* Made. */
    nbcoll_host host;
    const volatile uint32_t *alive; /* a page of its own that fork wipes */
    const nbcoll_observer *observer, *watcher;
    const nbcoll_reducers *reducers; /* the host's, or those of the first schedule that combines; null: of none yet */
    uint32_t flags, credits;
    nbcoll_status (*restart)(nbcoll_start_block *at); /* of its requests that keep runs */

    /* Any thread, by atomic operations. */
    atomic_uintptr_t lock; /* 0, or who is inside: the mark of its thread where any may come, else 1 */
    atomic_uintptr_t caller; /* the same of the caller's side, where any may come: see caller.h */
    _Atomic(nbcolli_request *) handed; /* the last operation that a start has handed over; null: all are taken */
    atomic_uint outside;   /* calls that are in a host function without the lock, and will come back */

    /* Calls that make and free; of a communicator that is not made in the end, progress. */
    nbcolli_link *links;
    nbcoll_comm *comms;
    uint32_t holders; /* relays, which are to be closed first */
    int poller;       /* epoll descriptor over the wakeups; -1: there is none */
    int silent_links; /* endpoints without a wakeup */
    int is_ending;    /* its communicators are freed, and then its endpoints closed */
    atomic_int crowded; /* ranks take turns on our cores (nbcoll_limits.ranks_per_core): yield at once */

    /* Pools: calls and progress. */
    nbcolli_list controls;                     /* posts */
    uint32_t posts;                            /* of that pool, used or not */
    nbcolli_unexpected *unexpected_pools[2];   /* with a small and a large payload */
    size_t stored;                             /* of those pools, in use */

    /* Calls and progress add, the drain takes; from `ended`, the way out of a call. */
    nbcolli_slot *free_slots;    /* that others wait for */
    nbcolli_list failing;        /* runs to settle */
    nbcolli_request *ended;      /* whose callbacks are to run, or that release themselves */
    nbcolli_request *made;       /* ended communicator creations */
    nbcolli_list short_sends;    /* without a credit: they stall unless one has come meanwhile; or missing an answer */
    int news; /* what a drain has to look at: NBCOLLI_NEWS, something in those above, or a link has losses, shrinks, or
                 ranks that are untold; NBCOLLI_NEWS_OF_EXECUTORS, whose ends come without news */

    /* Progress. */
    nbcolli_list watched; /* ops that wait for shared memory: the first was looked at longest ago */
    nbcolli_list executors; /* at which passes look. Calls that open and close them */
    size_t executing;            /* operations, or inner parts, that executors advance in drains */
    int executed;                /* an executor or a tick has ended one outside of a pass: the next arming says so */
    int is_unheard;              /* at the last arming, an executor was unheard */
    nbcolli_list delayed;  /* runs with work for which a pass had no bytes left, in order of turns */
    nbcolli_list unserved; /* runs with ready steps of lanes that are not served */
    uint32_t serves;       /* lanes, as bits: what who is inside serves (run/run.h) */
    ptrdiff_t bytes_left; /* this pass may still copy, combine or send; below 0 by a small step at most */
    size_t armed_at_ends;        /* `driven.ended` when the program armed last; that call writes it */
    uint32_t passes, passes_left; /* from one look at the clock to the next; those left until then */
    uint64_t looked_at;           /* the time of the last such look */
    uint64_t round_at;            /* when the next round of asking is due */
    uint32_t till_pass;           /* replays before the next pass is due (progress/replay.h) */
    nbcoll_comm *round;           /* the next communicator of a round of asking (match/ask.h); null: no round. A
                                     communicator's end removes it here */

    /* The caller's side: schedules whose runs are pooled for the context, and the request table. */
    nbcoll_schedule *schedules;
    uint64_t serial; /* of the last one */
    nbcolli_request *chunk[NBCOLLI_REQUEST_CHUNKS]; /* they never move */
    uint32_t chunks;
    nbcolli_request *free_requests;

    /* Calls, in a context of one thread. */
    nbcolli_request *replaying; /* what waits so (progress/replay.h); null: nothing does */

    /* Calls and progress. */
    size_t active; /* requests, without those handed over and not taken, and without the replaying one */
    nbcoll_failure failure;

    /* Calls and progress, in a context of one thread: each request whose end has not been reported, in the order of the
     * ends, and some reported ones. They never move. Calls for several requests remove the reported ones. */
    nbcolli_list unreported;

    /* Calls for several requests, in a context of one thread. */
    uint32_t looks; /* such calls for arrays that may be known */

    nbcolli_driven driven; /* in a context of any threads */
    nbcolli_ticks ticks;   /* in a context of one thread */
};

/* A request has ended, in a context of one thread. */
static inline void nbcolli_list_end(nbcoll_context *c, nbcolli_request *r)
{
    if (!r->unreported.in)
        nbcolli_list_add(&c->unreported, &r->unreported);
}

/* Progress owns the started request from now on. */
static inline void nbcolli_request_taken(nbcolli_request *r)
{
    r->comm->active++;
    r->comm->context->active++;
    r->status = NBCOLL_PENDING;
    atomic_store_explicit(&r->state, NBCOLLI_REQUEST_ACTIVE, memory_order_relaxed); /* the lock orders it */
}

/* The drain settles the run. */
static inline void nbcolli_to_settle(nbcolli_run *run)
{
    nbcoll_context *c = run->comm->context;

    if (run->item.in == &c->failing)
        return;
    nbcolli_list_leave(&run->item);
    nbcolli_list_add(&c->failing, &run->item);
    c->news = 1;
}

/* Failed runs of the communicator look again: what they wait for may have come. */
static inline void nbcolli_failed_to_settle(nbcoll_comm *comm)
{
    for (uint32_t i = 0; i < comm->config.slots; i++)
        if (comm->slot[i].active && comm->slot[i].active->status != NBCOLL_OK)
            nbcolli_to_settle(comm->slot[i].active);
}

/* Do ranks take turns on our cores? Also for threads that wait for the lock. */
static inline int nbcolli_takes_turns(const nbcoll_context *c)
{
    return atomic_load_explicit(&c->crowded, memory_order_relaxed); /* orders nothing */
}

/* Is this the process that made the context? One load: fork has wiped the page in a child. */
static inline int nbcolli_is_forked(const nbcoll_context *c)
{
    return *c->alive != 1;
}

/* ---- the bytes that the current pass may still copy or combine --------------------------------------------------- */

#define NBCOLLI_LEAST_BYTES 4096u /* of what is divided */

static inline int nbcolli_has_bytes(const nbcolli_run *run)
{
    return run->comm->context->bytes_left > 0;
}

static inline void nbcolli_spend(const nbcolli_run *run, size_t bytes)
{
    run->comm->context->bytes_left -= (ptrdiff_t)bytes;
}

/* How many of `bytes`, whole elements of `unit` bytes, to process now: what this pass has left, but at least a
 * worthwhile piece, and all if less than a quarter of that would remain. If it is not all, the pass then has about
 * nothing left. */
static inline size_t nbcolli_spend_piece(const nbcolli_run *run, size_t bytes, size_t unit)
{
    ptrdiff_t left = run->comm->context->bytes_left;
    size_t most = left > (ptrdiff_t)NBCOLLI_LEAST_BYTES ? (size_t)left : NBCOLLI_LEAST_BYTES;

    if (bytes > most + most / 4)
        bytes = most < unit ? unit : most / unit * unit;
    nbcolli_spend(run, bytes);
    return bytes;
}

#endif
