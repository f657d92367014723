/* SPDX-License-Identifier: BSD-3-Clause */
#include "credit.h"

#include "step.h"
#include "../wire/control.h"

void nbcolli_is_short(nbcolli_op *op)
{
    nbcoll_context *c = op->run->comm->context;

    op->phase = NBCOLLI_SHORT;
    nbcolli_list_add(&c->short_sends, &op->item);
    c->news = 1;
}

void nbcolli_stall(nbcolli_op *op)
{
    nbcolli_pair *pair = op->pair;

    op->phase = NBCOLLI_STALLING;
    nbcolli_list_add(&pair->stalling, &op->item);
    if (++pair->stalls == 0)
        pair->stalls = 1;
    nbcolli_op_send(op, NBCOLLI_STALLED, nbcolli_op_bytes(op), NULL, 0);
}

void nbcolli_want(nbcolli_op *op)
{
    const nbcoll_step_view *v = &op->run->schedule->step[op->step];
    nbcolli_say(op->run->comm, v->peer,
                (nbcolli_header){.type = NBCOLLI_WANT, .tag = op->run->tag, .number = v->number});
}

void nbcolli_wants_drop(const nbcolli_run *run)
{
    const nbcoll_comm *comm = run->comm;

    for (nbcolli_link *link = comm->link->first; link; link = link->beside) {
        nbcolli_post *next;
        for (nbcolli_post *post = nbcolli_post_of(link->backlog.first); post; post = next) {
            nbcolli_header h = nbcolli_unpack(&post->wire);
            next = nbcolli_post_of(post->item.next);
            if (post->op || h.type != NBCOLLI_WANT || h.comm != comm->id || h.tag != run->tag)
                continue;
            nbcolli_backlog_remove(post);
            nbcolli_control_free(comm->context, post);
            if ((link->pair[post->peer].owed += h.credits) > link->pair[post->peer].most_owed)
                nbcolli_credits_send(link, post->peer);
        }
    }
}
