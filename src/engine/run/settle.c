/* SPDX-License-Identifier: BSD-3-Clause
 * Settling: a run that failed ends when nobody holds its buffers any more. */
#include "fail.h"

#include "called.h"
#include "credit.h"
#include "phase.h"
#include "pool.h"
#include "run.h"
#include "step.h"
#include "../wire/control.h"
#include "../wire/unexpected.h"
#include "../exposures/cells.h"

/* Takes back a post that never left, with the credit that it took. */
static void nbcolli_op_unsend(nbcolli_op *op)
{
    int sends = op->phase == NBCOLLI_SENT_EAGER || op->phase == NBCOLLI_SENT_RTS;

    if (op->phase == NBCOLLI_GETTING || op->phase == NBCOLLI_FETCHING) {
        nbcolli_backlog_remove(&op->post);
        return;
    }
    nbcolli_op_take_back(op);
    if (op->phase == NBCOLLI_PUTTING)
        op->put = 1; /* it still must be answered */
    else
        op->phase = op->phase == NBCOLLI_SENT_CTS ? NBCOLLI_GETTING : NBCOLLI_SETTLED; /* so is an RTS */
    if (sends)
        nbcolli_credits_in(op->pair, 1);
}

/* Called once, when the run begins to settle: takes back posts that have not left, except an owed FIN. */
static void nbcolli_op_stop(nbcolli_op *op)
{
    nbcolli_unexpected *s = op->unexpected;

    if (s) {
        nbcolli_refuse(s->link, s->source, &s->header, NBCOLL_ERR_CANCELLED);
        nbcolli_unexpected_free(s);
        op->unexpected = NULL;
    }
    if (op->phase == NBCOLLI_STALLING && op->may_go)
        nbcolli_credits_in(op->pair, 1);
    nbcolli_list_leave(&op->item);
    if (op->phase == NBCOLLI_EXPOSED)
        nbcolli_exposure_recall(op);
    if (op->post.where == NBCOLLI_BACKLOG && op->phase != NBCOLLI_SENT_FIN && op->phase != NBCOLLI_SENT_PUT)
        nbcolli_op_unsend(op);
}

/* Does the sender of what this op receives wait for an answer that has not left? We try once. */
static int nbcolli_op_owes_fin(const nbcolli_op *op)
{
    int stuck = op->post.where == NBCOLLI_STUCK;
    return !op->fin && (op->phase == NBCOLLI_GETTING ||
                        (stuck && (op->phase == NBCOLLI_SENT_CTS || op->phase == NBCOLLI_SENT_FIN)));
}

/* A put whose notice was not and will not be delivered: the CTS still needs an answer, and the notice's credits are
 * ours again. */
static void nbcolli_op_put_returned(nbcolli_op *op)
{
    if (op->phase != NBCOLLI_PUTTING || op->put ||
        (op->post.where != NBCOLLI_STUCK && op->post.work.status != NBCOLL_ERR_CANCELLED))
        return;
    op->pair->owed += nbcolli_unpack(&op->post.wire).credits;
    op->put = 1;
}

int nbcolli_op_is_held_by(const nbcolli_op *op, int *rank)
{
    *rank = op->run->schedule->step[op->step].peer;
    int waits = op->phase == NBCOLLI_SENT_RTS   ? !op->fin && !op->refused && !op->cts
                : op->phase == NBCOLLI_SENT_CTS ? op->lent && !op->put
                                                : 0;

    return op->phase == NBCOLLI_EXPOSED ? nbcolli_exposure_is_held(op, rank)
                                        : waits && op->post.where != NBCOLLI_STUCK &&
                                              !nbcolli_has_departed(op->run->comm, *rank);
}

static int nbcolli_op_is_out(const nbcolli_op *op)
{
    return op->post.where == NBCOLLI_IN_FLIGHT || op->post.where == NBCOLLI_BACKLOG;
}

/* Does somebody else still hold the op's memory? Ends what nobody holds. */
static int nbcolli_op_held(nbcolli_op *op)
{
    int rank;

    /* Recalls a get or put, or a post that a peer which has left will not take. All else goes out: a cancelled message
     * might have lost its credits. */
    if (op->post.where == NBCOLLI_IN_FLIGHT &&
        (nbcolli_op_copies(op) || op->post.link->loss[op->post.peer] & NBCOLLI_DEPARTED))
        nbcolli_post_recall(&op->post);
    if (nbcolli_op_is_out(op))
        return 1;
    nbcolli_op_put_returned(op);
    if (nbcolli_op_owes_fin(op)) {
        op->phase = NBCOLLI_SENT_FIN;
        op->fin = 1;
        nbcolli_op_send(op, NBCOLLI_FIN, 0, NULL, 0);
    } else if ((op->phase == NBCOLLI_SENT_RTS || op->phase == NBCOLLI_PUTTING) && op->put) {
        op->phase = NBCOLLI_SENT_PUT;
        nbcolli_op_answer_put(op, NBCOLL_ERR_CANCELLED);
    }
    if (nbcolli_op_is_out(op))
        return 1;
    if (nbcolli_op_is_held_by(op, &rank)) {
        if (op->phase == NBCOLLI_EXPOSED)
            nbcolli_watch(op);
        return 1;
    }
    nbcolli_list_leave(&op->item); /* it may still be listed, though its readers are through */
    nbcolli_op_settled(op);
    return 0;
}

void nbcolli_settle(nbcolli_run *run)
{
    int held = run->is_executed, reads = 0;

    if (run->state != NBCOLLI_RUN_SETTLING) {
        nbcolli_unexpected_drop(run->comm, run->tag, run->tag, NBCOLL_ERR_CANCELLED);
        nbcolli_wants_drop(run);
        run->state = NBCOLLI_RUN_SETTLING;
        for (uint32_t i = 0; i < run->schedule->ops; i++)
            nbcolli_op_stop(&run->op[i]);
    }
    for (uint32_t i = 0; i < run->schedule->ops; i++) {
        held += nbcolli_op_held(&run->op[i]);
        reads |= run->op[i].phase == NBCOLLI_FETCHING;
    }
    if (run->comm->area && !reads) /* before the others are done: each may wait for all */
        nbcolli_cells_failed(run);
    int hears = run->comm->hears && run->status == NBCOLL_ERR_MISMATCH; /* what the others have called */
    if (!held && !hears)
        nbcolli_run_finish(run);
}
