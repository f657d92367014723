/* SPDX-License-Identifier: BSD-3-Clause */
#include <sched.h>

#include "lock.h"

#include "../comm/requests.h"

void nbcolli_lock_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

void nbcolli_pause(nbcoll_context *c, uint64_t looks)
{
    if (c->host.pause) {
        nbcolli_go_outside(c);
        c->host.pause(c->host.user, looks);
        nbcolli_come_back(c);
    } else if (looks <= NBCOLLI_SPINS && !nbcolli_takes_turns(c))
        nbcolli_lock_relax();
    else
        sched_yield();
}

void nbcolli_unlock_shared(nbcoll_context *c)
{
    do {
        if (c->driven.driver)
            c->driven.driver->leave(c);
        atomic_store_explicit(&c->lock, 0, memory_order_seq_cst); /* shows it to the next; before the look below */
    } while (nbcolli_is_handed(c) && nbcolli_try_lock(c));
}

nbcoll_status nbcolli_enter_caller_shared(nbcoll_context *c)
{
    if (nbcolli_is_forked(c))
        return NBCOLL_ERR_FORKED;
    if (nbcolli_is_inside(c))
        return NBCOLL_ERR_BUSY;
    for (uint64_t looks = 1; !nbcolli_caller_try(c); looks++)
        nbcolli_pause(c, looks);
    return NBCOLL_OK;
}

void nbcolli_leave_caller_shared(nbcoll_context *c)
{
    nbcolli_caller_unlock(c);
    if (nbcolli_is_handed(c) && nbcolli_try_lock(c))
        nbcolli_unlock(c);
}

void nbcolli_report_ended(nbcoll_context *c)
{
    nbcolli_request *over = NULL; /* its callback has run, and it will be released */

    while (nbcolli_enter(c) == NBCOLL_OK) {
        nbcolli_request *r = c->ended;
        if (over)
            nbcolli_request_release(c, over);
        if (!r) {
            nbcolli_unlock(c);
            return;
        }
        c->ended = r->next;
        nbcoll_request handle = nbcolli_request_handle(r);
        nbcoll_done *done = r->done;
        nbcoll_status status = r->status;
        void *user = r->user;
        over = r->persistent ? NULL : r;
        if (r->persistent) { /* the callback may start it again, or free it */
            r->calling = 0;
            atomic_store_explicit(&r->state, NBCOLLI_REQUEST_INACTIVE, memory_order_release); /* for its start */
        }
        nbcolli_unlock(c);
        /* In the callback this thread is no driver. relaxed: only we store our mark */
        int is_driver = atomic_load_explicit(&c->driven.runner, memory_order_relaxed) == nbcolli_holder(c) &&
                        c->driven.is_driving;
        if (is_driver)
            c->driven.is_driving = 0;
        if (done)
            done(handle, status, user);
        if (is_driver)
            c->driven.is_driving = 1;
    }
}
