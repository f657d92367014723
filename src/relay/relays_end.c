/* SPDX-License-Identifier: BSD-3-Clause
 * The closing of relays that the ranks' engines move, step by step. All ranks say how many fragments they have sent:
 * then each knows when nothing is on its way to it any more. When that is so everywhere, what stands ready is
 * withdrawn: no message says so, since there is nobody whom it concerns. */
#include "../engine/run/fail.h"
#include "../engine/progress/lock.h"
#include "../engine/progress/progress.h"
#include "relays.h"

/* Of the first collective, or the second one: has it ended well? */
static int nbcolli_relays_all_have(nbcoll_relays *r, int which)
{
    nbcolli_relays_place *at = &r->closing.preposted[which];
    if (r->begun == which) {
        r->begun++;
        nbcolli_relays_place_start(r, at);
    }
    return r->status == NBCOLL_OK && nbcolli_relays_place_has_ended(r, at) && r->status == NBCOLL_OK &&
           !r->is_cancelled;
}

/* This rank sends nothing more. */
static int nbcolli_relays_has_sent_all(const nbcoll_relays *r)
{
    return !r->telling && r->sending > r->last;
}

/* Has all that was ever sent come here, and gone on, and have the credits for it? */
static int nbcolli_relays_are_empty(nbcoll_relays *r)
{
    for (int i = 0; i < r->ranks; i++) {
        const nbcolli_relays_stream *s = &r->stream[i];
        if (s->next < s->total || (i != r->rank && s->freed < s->total) || s->seen < s->total / r->batch)
            return 0;
    }
    return nbcolli_relays_flow_has_ended(r, &r->stream[r->rank].fragments);
}

nbcoll_status nbcolli_relays_withdraw(nbcoll_comm *comm)
{
    nbcoll_context *c = comm->context;
    nbcoll_status s = nbcolli_enter(c);
    if (s != NBCOLL_OK)
        return s;
    uint64_t floor = comm->failed_floor;
    nbcoll_failure last = c->failure, failure = comm->failure;
    nbcolli_runs_fail(comm, 0, UINT64_MAX, NBCOLL_ERR_CANCELLED, comm->rank);
    comm->failure = failure;
    c->failure = last;
    nbcolli_drain(c); /* may find a failure of any communicator, which stays */
    comm->failed_floor = floor;
    return nbcolli_leave(c, NBCOLL_OK);
}

static void nbcolli_relays_close_step(nbcoll_relays *r)
{
    unsigned step = atomic_load_explicit(&r->step, memory_order_relaxed), next = step; /* who moves it is one */
    nbcolli_relays_move(r);
    if (step == NBCOLLI_RELAYS_COUNTS && nbcolli_relays_has_sent_all(r) && nbcolli_relays_all_have(r, 0)) {
        for (int i = 0; i < r->ranks; i++)
            r->stream[i].total = r->totals[i];
        next = NBCOLLI_RELAYS_EMPTIES;
    }
    if (step == NBCOLLI_RELAYS_EMPTIES && nbcolli_relays_are_empty(r) && r->status == NBCOLL_OK)
        next = NBCOLLI_RELAYS_MEETS;
    if (step == NBCOLLI_RELAYS_MEETS && nbcolli_relays_all_have(r, 1))
        next = NBCOLLI_RELAYS_WITHDRAWS;
    atomic_store_explicit(&r->step, next, memory_order_relaxed); /* before what follows */
    for (int i = 0; i < 2 * r->ranks && step != next && next == NBCOLLI_RELAYS_WITHDRAWS; i++)
        nbcolli_relays_withdraw(nbcolli_relays_flow_at(r, i)->comm);
    while (next == NBCOLLI_RELAYS_WITHDRAWS && r->given_up < 2 * r->ranks &&
           nbcolli_relays_flow_has_ended(r, nbcolli_relays_flow_at(r, r->given_up)))
        r->given_up++;
    if (next == NBCOLLI_RELAYS_WITHDRAWS && r->given_up == 2 * r->ranks)
        atomic_store_explicit(&r->step, NBCOLLI_RELAYS_OVER, memory_order_relaxed); /* as above */
}

int nbcolli_relays_are_over(nbcoll_relays *r)
{
    unsigned before = NBCOLLI_RELAYS_OVER;
    while (r->status == NBCOLL_OK && r->step != before) { /* nothing else may tell that the next one can go on */
        before = r->step;
        nbcolli_relays_close_step(r);
    }
    if (r->step == NBCOLLI_RELAYS_OVER)
        return 1;
    return r->status != NBCOLL_OK && nbcolli_relays_break(r);
}
