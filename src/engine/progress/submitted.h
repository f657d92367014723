/* SPDX-License-Identifier: BSD-3-Clause
 * Operations that starts have handed over: progress takes them from there. */
#ifndef NBCOLLI_ENGINE_PROGRESS_SUBMITTED_H
#define NBCOLLI_ENGINE_PROGRESS_SUBMITTED_H

#include "../state/context.h"

/* Hands an operation over to progress. The caller's side is held, so tags come in order, and no other thread hands over
 * meanwhile; progress may take earlier ones. */
static inline void nbcolli_hand(nbcoll_context *c, nbcolli_request *r)
{
    nbcolli_request *before = NULL;

    if (c->flags & NBCOLL_ANY_THREAD) {
        do
            r->next = before;
        while (!atomic_compare_exchange_strong_explicit(&c->handed, &before, r, memory_order_seq_cst, /* shows them, */
                                                        memory_order_seq_cst)); /* before the look at the lock */
    } else
        atomic_store_explicit(&c->handed, r, memory_order_release); /* shows request, run and tag */
}

/* Has something been handed over? */
static inline int nbcolli_is_handed(nbcoll_context *c)
{
    return atomic_load_explicit(&c->handed, memory_order_seq_cst) != NULL; /* after the lock was given back */
}

/* Steps of the lane START that have not ended. The lock is held. */
uint32_t nbcolli_starting_left(const nbcolli_request *r);

/* Takes handed-over operations, and advances them. The lock is held. */
void nbcolli_take_handed(nbcoll_context *c);

/* The same in a context of one thread, where a start hands over one operation, and takes it on its way out. */
void nbcolli_take_own(nbcoll_context *c, nbcolli_request *r);

#endif
