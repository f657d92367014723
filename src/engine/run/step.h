/* SPDX-License-Identifier: BSD-3-Clause
 * What the phases of messages, exposures and fetches have in common: steps become ready and end, their ops send, get
 * and are over. Inline: what each step does. */
#ifndef NBCOLLI_ENGINE_RUN_STEP_H
#define NBCOLLI_ENGINE_RUN_STEP_H

#include "moves.h"

/* Tells the observer, if there is one. */
static inline void nbcolli_observe(nbcolli_run *run, nbcoll_moment moment, nbcoll_step step)
{
    const nbcoll_observer *o = run->comm->context->observer;
    if (o) {
        nbcoll_event e = {moment, run->comm, run->tag, run->schedule, step, 0};
        o->event(o->user, &e);
    }
}

/* Where there is a watcher: the run waits for this rank, of which it is told once, or is over (-1). */
void nbcolli_observe_wait(nbcolli_run *run, int rank);

/* Where there is an observer: START and the steps that are ready then; END. */
void nbcolli_observe_start(nbcolli_run *run);
void nbcolli_observe_end(nbcolli_run *run);

/* The op, which has just looked, waits for a change of shared memory: passes look again. */
static inline void nbcolli_watch(nbcolli_op *op)
{
    if (!op->item.in)
        nbcolli_list_add(&op->run->comm->context->watched, &op->item);
}

/* Is this a tick? Ticks leave the host's functions, and its watcher, to a call of the program. Then the run does no
 * more in this turn: it is delayed. */
static inline int nbcolli_tick_leaves(const nbcolli_run *run)
{
    nbcoll_context *c = run->comm->context;

    if (c->ticks.is_under_way)
        c->bytes_left = 0;
    return c->ticks.is_under_way;
}

/* Does the rest of an unfinished op serve this rank alone? Parts to be shown or sent serve others. */
static inline int nbcolli_is_own(const nbcolli_op *op)
{
    return op->phase == NBCOLLI_USING;
}

/* A later pass goes on with the run. */
void nbcolli_run_delay(nbcolli_run *run);

/* The same for an op in the middle of something. */
void nbcolli_op_delay(nbcolli_op *op);

/* Combines elements as the step says. 0: the host's operation failed, and the run with it. */
int nbcolli_combine(nbcolli_run *run, const nbcoll_step_view *v, void *to, const void *left, const void *right,
                    size_t count);

/* A step is ready. */
static inline void nbcolli_push(nbcolli_run *run, nbcoll_step step)
{
    const nbcoll_schedule *s = run->schedule;
    nbcolli_ready *lane = &run->lane[s->has_lanes ? nbcolli_lane_of(&s->step[step]) : NBCOLL_LANE_ANY];

    run->ready[lane->tail++] = step;
    nbcolli_observe(run, NBCOLL_STEP_READY, step);
}

/* A step has ended: steps that wait for it may be ready. */
static inline void nbcolli_step_end(nbcolli_run *run, nbcoll_step step)
{
    const nbcoll_step_view *v = &run->schedule->step[step];

    nbcolli_observe(run, NBCOLL_STEP_ENDED, step);
    run->before[step] = NBCOLLI_STEP_OVER;
    run->remaining--;
    for (uint32_t i = 0; i < v->after_count; i++)
        if (--run->before[v->after[i]] == 0)
            nbcolli_push(run, v->after[i]);
}

static inline nbcoll_memory nbcolli_op_region(const nbcolli_op *op)
{
    const nbcoll_step_view *v = &op->run->schedule->step[op->step];
    return nbcolli_resolve(op->run, v->kind == NBCOLL_SEND ? v->read[0] : v->write);
}

static inline size_t nbcolli_op_bytes(const nbcolli_op *op)
{
    return nbcolli_op_region(op).bytes;
}

static inline unsigned char *nbcolli_op_memory(const nbcolli_op *op)
{
    return nbcolli_op_region(op).at;
}

/* Sends the op's next message: `bytes` of payload, and `field` as the header says for the type. */
void nbcolli_op_send(nbcolli_op *op, nbcolli_type type, uint64_t field, const void *payload, size_t bytes);

static inline void nbcolli_op_deregister(nbcolli_op *op)
{
    if (op->registered) {
        op->registered = 0;
        op->post.link->transport.bulk->deregister_memory(op->post.link->endpoint, &op->mine.registration);
    }
}

/* Nothing of the op is lent any more. */
static inline void nbcolli_op_settled(nbcolli_op *op)
{
    op->phase = NBCOLLI_SETTLED;
    nbcolli_op_deregister(op);
}

/* The step of an op has ended. */
static inline void nbcolli_op_end(nbcolli_op *op)
{
    nbcolli_op_settled(op);
    if (op->run->is_small)
        op->run->left &= ~op->move->bit;
    else
        nbcolli_step_end(op->run, op->step);
}

static inline int nbcolli_op_reduces(const nbcolli_op *op)
{
    return op->run->schedule->step[op->step].kind == NBCOLL_FETCH_REDUCE;
}

static inline unsigned char *nbcolli_bounce(const nbcolli_op *op)
{
    const nbcolli_run *run = op->run;
    return run->bounce + run->schedule->bounces[run->schedule->op[op->step]];
}

static inline unsigned char *nbcolli_get_to(const nbcolli_op *op)
{
    return nbcolli_op_reduces(op) ? nbcolli_bounce(op) : nbcolli_op_memory(op);
}

/* Bytes of an nbcolli_remote as it travels. */
static inline size_t nbcolli_remote_bytes(const nbcolli_link *link)
{
    return offsetof(nbcolli_remote, key) + link->limits.key_bytes;
}

/* Registers the op's memory for `access`; false if that cannot be. */
int nbcolli_op_register(nbcolli_op *op, uint32_t access);

/* This rank's end of a get, with the same answer. */
static inline int nbcolli_op_register_end(nbcolli_op *op)
{
    return op->post.link->transport.bulk->flags & NBCOLL_BULK_ANY_LOCAL || nbcolli_op_register(op, NBCOLL_LOCAL_END);
}

/* Answers the CTS that has lent `theirs`: with a put, or, if that is impossible, by saying that DATA follows. */
void nbcolli_op_put_begin(nbcolli_op *op);

/* Answers it without a put. */
void nbcolli_op_answer_put(nbcolli_op *op, nbcoll_status status);

/* Starts the put of a PUTTING op, whose notice is written; or, for any other op, a get of `theirs`. */
void nbcolli_op_copy(nbcolli_op *op);

#endif
