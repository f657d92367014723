/* SPDX-License-Identifier: BSD-3-Clause
 * Leaving without answers of other ranks: a context ends, and memory that they or a transport may still touch is never
 * freed. The host keeps its own buffers; the library leaks its own. */
#include "context.h"
#include "../wire/control.h"
#include "../wire/unexpected.h"
#include "../exposures/cells.h"
#include "../run/fail.h"
#include "../run/pool.h"
#include "../run/step.h"
#include "../progress/lock.h"
#include "../progress/progress.h"

typedef struct nbcolli_abandon_loan {
    nbcoll_lent *lent;
    void *user;
    const nbcolli_link *home;
    int is_kept; /* the run's own memory is lent */
} nbcolli_abandon_loan;

static int nbcolli_abandon_lies_in(const void *at, const void *block, size_t bytes)
{
    return (uintptr_t)at - (uintptr_t)block < bytes;
}

/* Memory of nbcoll_mem_alloc is the transport's, and stays where others read it. */
static int nbcolli_abandon_is_shared(const nbcolli_link *home, const void *at)
{
    for (const nbcolli_link *link = home->first; link; link = link->beside)
        if (nbcolli_area_around(link, (nbcoll_memory){(void *)(uintptr_t)at, 1, NBCOLL_BYTE}))
            return 1;
    return 0;
}

static void nbcolli_abandon_name(void *loan, const void *at, size_t bytes)
{
    const nbcolli_abandon_loan *l = loan;
    if (bytes && l->lent && !nbcolli_abandon_is_shared(l->home, at))
        l->lent(l->user, (void *)(uintptr_t)at, bytes);
}

static void nbcolli_abandon_lend(nbcolli_abandon_loan *l, const nbcolli_run *run, const void *at, size_t bytes)
{
    if (bytes &&
        (nbcolli_abandon_lies_in(at, run, run->memory) || nbcolli_abandon_lies_in(at, run->room, run->room_bytes)))
        l->is_kept = 1;
    else
        nbcolli_abandon_name(l, at, bytes);
}

/* May a peer get what this op has announced, or put where it said? */
static int nbcolli_abandon_is_announced(const nbcolli_op *op)
{
    int rank;
    return op->phase != NBCOLLI_EXPOSED && op->lent && op->post.where != NBCOLLI_BACKLOG &&
           nbcolli_op_is_held_by(op, &rank) && !(op->post.link->loss[op->post.peer] & NBCOLLI_OVER);
}

static void nbcolli_abandon_op(nbcolli_abandon_loan *l, const nbcolli_op *op)
{
    const nbcolli_run *run = op->run;
    const nbcoll_step_view *v = &run->schedule->step[op->step];

    if (op->post.where == NBCOLLI_IN_FLIGHT) {
        l->is_kept = 1; /* its work request */
        if (nbcolli_op_copies(op))
            nbcolli_abandon_lend(l, run, nbcolli_get_to(op), nbcolli_op_bytes(op));
        else
            nbcolli_abandon_lend(l, run, op->post.payload, op->post.bytes);
    }
    if (nbcolli_abandon_is_announced(op))
        nbcolli_abandon_lend(l, run, nbcolli_op_memory(op), nbcolli_op_bytes(op));
    for (uint32_t i = 0; i < op->keys; i++) /* parts of a cell: all, read or not */
        nbcolli_abandon_lend(l, run, nbcolli_resolve(run, v->parts[i].region).at, nbcolli_part_bytes(v, i));
}

/* Returns the run to its schedule, which frees it; or leaks it. */
static void nbcolli_abandon_run(nbcolli_run *run, nbcoll_lent *lent, void *user)
{
    nbcolli_abandon_loan loan = {lent, user, run->comm->link, 0};

    for (uint32_t i = 0; i < run->schedule->ops; i++) {
        nbcolli_op *op = &run->op[i];
        nbcolli_abandon_op(&loan, op);
        if (op->unexpected)
            nbcolli_unexpected_free(op->unexpected);
        op->unexpected = NULL;
    }
    if (loan.is_kept && run->keeper)
        nbcolli_run_drop(run->keeper);
    if (loan.is_kept)
        return;
    run->state = NBCOLLI_RUN_POOLED;
    if (!run->keeper)
        nbcolli_run_pool(run);
}

static void nbcolli_abandon_comm(nbcoll_comm *comm, nbcoll_lent *lent, void *user)
{
    nbcolli_abandon_loan loan = {lent, user, comm->link, 0};

    for (nbcolli_executor *e = comm->executors; e; e = e->next)
        if (e->does->abandon)
            e->does->abandon(e, nbcolli_abandon_name, &loan);
    for (uint32_t i = 0; i < comm->config.slots; i++)
        if (comm->slot[i].active)
            nbcolli_abandon_run(comm->slot[i].active, lent, user);
}

nbcoll_status nbcoll_context_abandon(nbcoll_context *c, nbcoll_lent *lent, void *user)
{
    nbcoll_status s = c ? nbcolli_enter(c) : NBCOLL_OK;
    if (!c || s != NBCOLL_OK)
        return s;
    if (nbcolli_is_held(c) || atomic_load_explicit(&c->outside, memory_order_acquire) > 0) /* after all they did */
        return nbcolli_leave(c, NBCOLL_ERR_BUSY);
    nbcolli_pass(c); /* lets operations end that can */
    if (c->executing)
        return nbcolli_leave(c, NBCOLL_ERR_BUSY);
    int is_busy = nbcolli_context_busy(c);
    for (nbcolli_link *link = c->links; link; link = link->next)
        for (nbcolli_post *post; (post = nbcolli_post_of(link->backlog.first)) != NULL;) {
            nbcolli_list_leave(&post->item);
            if (!post->op)
                nbcolli_control_free(c, post);
        }
    for (nbcoll_comm *comm = c->comms; comm; comm = comm->sister)
        nbcolli_abandon_comm(comm, lent, user);
    nbcolli_context_end(c, is_busy);
    return NBCOLL_OK;
}
