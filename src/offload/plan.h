/* SPDX-License-Identifier: BSD-3-Clause
 * The program of one rank in the making. Private to this folder. */
#ifndef NBCOLLI_OFFLOAD_PLAN_H
#define NBCOLLI_OFFLOAD_PLAN_H

#include "../schedule/sort.h"
#include "offload.h"

/* A SEND or RECV. */
typedef struct nbcolli_plan_message {
    nbcoll_step step;
    uint32_t queue; /* its queue pair: three for each connection */
    uint32_t begin; /* the level at which it is enabled, or cleared: not before those that precede it in its queue */
    uint32_t eager; /* of an eager RECV: its first buffer */
} nbcolli_plan_message;

/* What happens to a step in a management queue, in the order in which these stand there within a level. An eager
 * message may be there (END) before the step may take it (TAKE): others still read what its region held before. */
typedef enum nbcolli_plan_moment {
    NBCOLLI_PLAN_GO,
    NBCOLLI_PLAN_CALC,
    NBCOLLI_PLAN_END,
    NBCOLLI_PLAN_TAKE
} nbcolli_plan_moment;

typedef struct nbcolli_plan_event {
    nbcolli_plan_moment moment;
    nbcoll_step step;
    uint32_t message; /* index, or NBCOLL_NO_QUEUE */
    uint32_t level;
} nbcolli_plan_event;

typedef struct nbcolli_plan {
    nbcolli_compile *c;
    int rank;
    const nbcoll_schedule *s;
    uint32_t connections;
    nbcoll_queue_view *queue;      /* [3 * connections + management] */
    nbcolli_plan_message *message; /* [s->sends + s->recvs]: queue by queue, in the order in which they are posted */
    nbcolli_plan_event *event;
    nbcolli_entry *order; /* [events]: sorted indices */
    size_t events;
    uint32_t *branch;           /* [steps + 3 * connections]: union-find: what must be in one management queue */
    uint32_t *management;       /* of the root of a branch: 1 + its management queue; 0: none yet */
    uint32_t managements;       /* branches met so far */
    uint8_t *is_awaited;        /* [steps]: of a SEND: a task waits for its end */
    nbcolli_offload_map map[2]; /* receive buffer, scratch memory */
    nbcolli_offload_draft *draft;
    size_t drafts, room;
    size_t *last; /* [queues]: 1 + the last draft of a management queue; 0: none */
    uint32_t cqs, buffers, copies;
} nbcolli_plan;

static inline const nbcoll_step_view *nbcolli_plan_view(const nbcolli_plan *p, nbcoll_step step)
{
    return &p->s->step[step];
}

/* Does it go over the bulk queue of its connection, and not over the eager one? */
static inline int nbcolli_plan_is_bulk(const nbcolli_plan_message *m)
{
    return m->queue % 3 == NBCOLL_QUEUE_BULK;
}

/* The queue pair of a kind in the same connection. */
static inline uint32_t nbcolli_plan_pair(uint32_t queue, nbcoll_queue_kind kind)
{
    return queue / 3 * 3 + (uint32_t)kind;
}

static inline uint32_t nbcolli_plan_go(const nbcolli_plan *p, nbcoll_step step)
{
    return p->c->go[p->c->first[p->rank] + step];
}

static inline uint32_t nbcolli_plan_done(const nbcolli_plan *p, nbcoll_step step)
{
    return p->c->done[p->c->first[p->rank] + step];
}

/* The level at which a message is there. */
static inline uint32_t nbcolli_plan_met(const nbcolli_plan *p, nbcoll_step step)
{
    const nbcoll_step_view *v = nbcolli_plan_view(p, step);
    uint32_t mine = nbcolli_plan_go(p, step);
    uint32_t other = p->c->go[p->c->first[v->peer] + p->c->mate[p->c->first[p->rank] + step]];
    return (nbcolli_compile_is_bulk(p->c, v) && other > mine ? other : mine) + 1;
}

/* connect.c: connections, and the order of messages in their queues; what the queues hold. */
nbcoll_status nbcolli_plan_connect(nbcolli_plan *p);
/* Does every pair of ranks that talks do so both ways? */
int nbcolli_compile_is_pairwise(const nbcolli_compile *c);

/* branch.c: `branch` and `is_awaited`. */
nbcoll_status nbcolli_plan_branches(nbcolli_plan *p);
/* The management queue of a step. */
uint32_t nbcolli_plan_management(nbcolli_plan *p, nbcoll_step step);

/* order.c: the events, in order. */
nbcoll_status nbcolli_plan_order(nbcolli_plan *p);

/* emit.c: the tasks of an event; then those of the end. */
nbcoll_status nbcolli_plan_emit(nbcolli_plan *p, const nbcolli_plan_event *e);
nbcoll_status nbcolli_plan_emit_end(nbcolli_plan *p);

#endif
