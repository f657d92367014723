/* SPDX-License-Identifier: BSD-3-Clause
 * Relays are closed: nothing that stands ready is left. */
#include "../engine/progress/lock.h"
#include "../host/sleep.h"
#include "relays.h"

/* Those that carry out calls end as they move. Whoever sees that nothing stands ready any more, and no callback is in
 * them, is the last one. */
static nbcoll_status nbcolli_relays_close_calls(nbcoll_relays *r, uint64_t timeout)
{
    uint64_t deadline = nbcolli_deadline(&r->arena.host, timeout), looks = 0;
    nbcolli_waiter w = {0};
    nbcoll_status s;
    /* relaxed, both: of calls that have ended this thread knows, and what has not been seen yet may be given up */
    if (atomic_load_explicit(&r->under_way, memory_order_relaxed)) {
        nbcolli_relays_look(r);
        if (atomic_load_explicit(&r->under_way, memory_order_relaxed))
            return NBCOLL_ERR_BUSY;
    }
    if (atomic_load_explicit(&r->shown, memory_order_relaxed) == NBCOLL_PENDING)
        r->gives_up = 1;
    while ((s = nbcolli_relays_look(r)) == NBCOLL_PENDING)
        if (!r->kind->pause(r, &w, deadline))
            return NBCOLL_ERR_TIMEOUT;
    if (r->gives_up) /* relaxed: the look below makes a move, which reads it */
        atomic_store_explicit(&r->ended, NBCOLL_ERR_CANCELLED, memory_order_relaxed);
    if (!r->is_closing && (s = nbcolli_relays_refuse_calls(r)) != NBCOLL_OK)
        return s;
    r->is_closing = 1;
    for (;;) {
        nbcolli_relays_look(r);
        int is_over = atomic_load_explicit(&r->is_over, memory_order_acquire); /* sees the last move, */
        if (is_over && !atomic_load_explicit(&r->inside, memory_order_acquire) && /* then the last callback */
            !atomic_load_explicit(&r->wanted, memory_order_acquire))
            break;
        if (is_over && nbcolli_time_left(&r->arena.host, deadline, UINT64_MAX))
            nbcolli_pause(r->context, ++looks); /* who is in there is about to leave, and tells nobody */
        else if (is_over || !r->kind->pause(r, &w, deadline)) {
            nbcolli_waiter_end(&w);
            return NBCOLL_ERR_TIMEOUT;
        }
    }
    nbcolli_waiter_end(&w);
    nbcolli_relays_close_notice(r); /* before what a look by another thread would read is freed */
    r->kind->free(r);
    return NBCOLL_OK;
}

nbcoll_status nbcoll_relays_close(nbcoll_relays *r, uint64_t timeout)
{
    if (!r)
        return NBCOLL_ERR_NULL;
    if (nbcolli_is_forked(r->context))
        return NBCOLL_ERR_FORKED;
    if (nbcolli_relays_carry(r))
        return nbcolli_relays_close_calls(r, timeout);
    for (uint32_t i = 0; i < r->config.at_once && r->status == NBCOLL_OK; i++)
        if (r->operation[i].missing)
            return NBCOLL_ERR_BUSY;
    uint64_t deadline = nbcolli_deadline(&r->arena.host, timeout);
    nbcolli_waiter w = {0};
    while (r->status == NBCOLL_PENDING) {
        r->gives_up = 1;
        r->kind->give_up(r);
        r->kind->move(r);
        if (r->status == NBCOLL_PENDING && !r->kind->pause(r, &w, deadline))
            return NBCOLL_ERR_TIMEOUT;
    }
    if (r->gives_up && r->status == NBCOLL_OK) /* though all others may have them */
        r->status = NBCOLL_ERR_CANCELLED;
    r->is_closing = 1;
    while (!r->kind->are_over(r))
        if (!r->kind->pause(r, &w, deadline))
            return NBCOLL_ERR_TIMEOUT;
    nbcolli_waiter_end(&w);
    r->kind->free(r);
    return NBCOLL_OK;
}
