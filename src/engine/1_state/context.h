/* SPDX-License-Identifier: BSD-3-Clause
 * Contexts: one rank's root object. */
#ifndef NBCOLLI_ENGINE_STATE_CONTEXT_H
#define NBCOLLI_ENGINE_STATE_CONTEXT_H

#include "link.h"

struct nbcoll_context {
    nbcoll_host host;
    const volatile uint32_t *alive; /* a page of its own that fork wipes */
    const nbcoll_observer *observer;
    uint32_t flags, credits;
    atomic_uintptr_t lock; /* 0, or who is inside: the mark of its thread where any may come, else 1 */
    atomic_uint outside;   /* calls that are in a host function without the lock, and will come back */
    nbcolli_link *links;
    nbcoll_comm *comms;
    nbcoll_schedule *schedules; /* those whose runs are pooled for it */
    nbcolli_post *controls;      /* pool */
    uint32_t posts;              /* of the pool, used or not */
    nbcolli_unexpected *unexpected_pools[2];   /* pools: without and with payload */
    nbcolli_pending_revoke *pending_revokes;         /* pool */
    nbcolli_slot *free_slots;    /* that others wait for */
    nbcolli_run *failing;        /* to settle */
    nbcolli_request *ended;      /* whose callbacks are to run, or that release themselves */
    nbcolli_request *made;       /* ended communicator creations */
    nbcolli_op *watched;         /* that wait for shared memory */
    nbcolli_run *delayed, **delayed_end; /* runs with work for which a pass had no bytes left, in order of turns */
    ptrdiff_t bytes_left; /* that this pass may still copy, combine or send; below zero by a small step's at most */
    nbcolli_request *chunk[NBCOLLI_REQUEST_CHUNKS]; /* the request table: they never move */
    atomic_uint chunks;          /* as a request's state */
    nbcolli_request *free_requests;
    size_t active;    /* requests */
    int poller;       /* epoll descriptor over the wakeups; -1: there is none */
    int silent_links; /* endpoints without a wakeup */
    int crowded;      /* more ranks than cores: yield at once */
    uint32_t passes, passes_left; /* between two looks at the clock; before the next one */
    uint64_t looked_at;           /* the clock then */
    uint64_t round_at;            /* when the next round of asking is due */
    nbcoll_failure failure;
};

/* Is this the process that made the context? One load: fork has wiped the page in a child. */
static inline int nbcolli_is_forked(const nbcoll_context *c)
{
    return *c->alive != 1;
}

#endif
