/* SPDX-License-Identifier: BSD-3-Clause
 * Programs: how one lies in memory, and what the parts of the compiler share. Private to this folder. */
#ifndef NBCOLLI_OFFLOAD_OFFLOAD_H
#define NBCOLLI_OFFLOAD_OFFLOAD_H

#include <stdatomic.h>

#include "../engine/state/executor.h"
#include "arena.h"
#include "../schedule/schedule.h"
#include "nbcoll/offload.h"

/* One block of memory. */
struct nbcoll_program {
    nbcoll_host host;
    size_t memory;
    char name[64];
    nbcoll_program_info info; /* `name` points above */
    nbcoll_queue_view *queue; /* [info.queues] */
    nbcoll_task *copy;        /* [info.copies] */
};

/* Bytes [begin, end) of a buffer lie in an eager buffer, from `from` on. */
typedef struct nbcolli_offload_piece {
    size_t begin, end, from;
    uint32_t eager;
} nbcolli_offload_piece;

/* What of a buffer lies elsewhere: pieces that rise and do not overlap. */
typedef struct nbcolli_offload_map {
    nbcolli_offload_piece *piece;
    size_t used, room;
} nbcolli_offload_map;

/* A task, and where it is posted. */
typedef struct nbcolli_offload_draft {
    nbcoll_task task;
    uint32_t queue; /* three for each connection, then management queues */
    int is_receive; /* posted to the receive queue */
} nbcolli_offload_draft;

/* All ranks' compilation. A step's *level* says when it may go, and when it has ended, such that on every path through
 * edges and messages levels rise: who takes the steps of a rank in the order of their levels never waits for himself
 * over others. */
typedef struct nbcolli_compile {
    nbcolli_arena arena;          /* until all is compiled */
    nbcoll_program_config config; /* defaults filled in */
    const nbcoll_schedule *const *schedules;
    int ranks;
    int is_pairwise; /* every pair of ranks that talks does so both ways */
    int is_bound;    /* some rank has blocks that get their places when it starts: then every message is a long one */
    nbcoll_refusal why;
    size_t *first;     /* [ranks + 1]: index of a rank's first step among all steps */
    uint32_t *go;      /* [all steps]: the level of its beginning; of an eager RECV, which has none, that of its SEND */
    uint32_t *done;    /* [all steps]: of its end */
    nbcoll_step *mate; /* [all steps]: a SEND's RECV and the reverse */
    nbcoll_step *order; /* [all steps]: a rank's steps in an order in which they may end */
} nbcolli_compile;

static inline const nbcoll_step_view *nbcolli_compile_view(const nbcolli_compile *c, int rank, nbcoll_step step)
{
    return &c->schedules[rank]->step[step];
}

static inline size_t nbcolli_compile_bytes(const nbcoll_step_view *v)
{
    return v->kind == NBCOLL_SEND ? v->read[0].bytes : v->write.bytes;
}

static inline int nbcolli_compile_is_message(const nbcoll_step_view *v)
{
    return v->kind == NBCOLL_SEND || v->kind == NBCOLL_RECV;
}

/* Of a message. */
static inline int nbcolli_compile_is_bulk(const nbcolli_compile *c, const nbcoll_step_view *v)
{
    return c->is_bound || nbcolli_compile_bytes(v) > c->config.threshold;
}

/* Of a message: does its length stand in the schedule? */
static inline int nbcolli_compile_is_known(const nbcoll_step_view *v)
{
    return !nbcolli_is_block(v->kind == NBCOLL_SEND ? v->read[0].at : v->write.at);
}

/* A step without tasks: it only gathers edges. */
static inline int nbcolli_compile_is_join(const nbcoll_step_view *v)
{
    return !nbcolli_compile_is_message(v) && !v->write.bytes && !nbcolli_is_block(v->write.at);
}

/* level.c: fills `go`, `done`, `mate` and `order`. ERR_ARGUMENT: the schedules do not belong together. */
nbcoll_status nbcolli_compile_levels(nbcolli_compile *c);

/* rank.c: the program of one rank, or only whether it is refused (`out` null). */
nbcoll_status nbcolli_compile_rank(nbcolli_compile *c, int rank, nbcoll_program **out);

/* What a program is started on. */
typedef struct nbcolli_agent_call {
    const void *send;
    void *recv, *scratch; /* `scratch` null: memory of the run's own */
    nbcoll_bind *bind;    /* may be null */
    void *user;
    const nbcoll_host *host; /* is told why it is refused, where that of the agent has no log; may be null */
} nbcolli_agent_call;

/* agent.c: nbcoll_agent_start_bound in two parts. The agent has it from the second one on, of all ranks as the
 * operation of that number, in the order of these numbers. Nothing else is made between the two. */
nbcoll_status nbcolli_agent_make(nbcoll_agent *a, const nbcoll_program *program, const nbcolli_agent_call *call,
                                 nbcoll_program_run **out);
void nbcolli_agent_hand(nbcoll_program_run *r, uint64_t number);
/* OK, or why a start of the program on that is refused, whatever else has been started; a log is told the reason. */
nbcoll_status nbcolli_agent_accepts(const nbcoll_agent *a, const nbcoll_program *program,
                                    const nbcolli_agent_call *call);
/* Why nothing that is handed to it now will end well, or OK. */
nbcoll_status nbcolli_agent_over(const nbcoll_agent *a);

/* agent_compile.c */
/* Scratch memory of a run whose inner part an agent carries out is lent by one that is another process, since it
 * touches only what it has in common with the rank. Progress takes and gives back. */

/* Bytes that it lends, all together; SIZE_MAX: it needs none of that, since it touches any memory of the rank's. */
size_t nbcolli_agent_lends(const nbcoll_agent *a);
/* Null: so much in one piece is not left now. The loan stays where it is until it is given back. */
void *nbcolli_agent_lend(nbcoll_agent *a, size_t bytes, nbcolli_loan *loan);
void nbcolli_agent_take_back(nbcoll_agent *a, const nbcolli_loan *loan);

typedef struct nbcolli_inners nbcolli_inners; /* cut.h */

/* The program of one rank, if all ranks' agents can take theirs; else ERR_UNSUPPORTED: *why, which may be null. `m`: of
 * the schedules' inner parts, which it keeps there; all 0 before, to be closed in any case. Null: of all steps. */
nbcoll_status nbcolli_agent_compile(const nbcoll_agent *a, const nbcoll_schedule *const schedules[], int ranks,
                                    int rank, nbcolli_inners *m, nbcoll_program **out, nbcoll_refusal *why);
/* agent_cut.c: the same of schedules that expose memory, in_parts: *out is what of this rank's is around its inner
 * part, with the program of that, if there is something to do. */
nbcoll_status nbcolli_agent_cut(const nbcoll_agent *a, const nbcoll_schedule *const schedules[], int ranks, int rank,
                                nbcoll_schedule **out, nbcoll_refusal *why);

/* agent_compile.c, again */
const nbcoll_endpoint *nbcolli_agent_endpoint(const nbcoll_agent *a);
/* If a context owns the endpoint, the agent holds that until it is closed; not where another process executes, which
 * does without the endpoint. */
void nbcolli_agent_hold(nbcoll_agent *a);
/* Why it starts nothing any more, or OK. Where it had no memory, or room, that is CANCELLED: a start that is refused
 * for want of memory can be tried again. */
nbcoll_status nbcolli_agent_failed(const nbcoll_agent *a);
/* Which other process is it? That touches no memory but what its ranks share. 0: it is a thread of this one. */
int nbcolli_agent_process(const nbcoll_agent *a);
/* By which of its command areas that process wakes this rank: from 1; 0: it is a thread. */
uint32_t nbcolli_agent_commands(const nbcoll_agent *a);
/* Has that process gone? It looks every now and then, and when it is awake again. */
int nbcolli_agent_is_lost(nbcoll_agent *a);
/* It stays open until it is given back as often. */
void nbcolli_agent_borrow(nbcoll_agent *a);
void nbcolli_agent_give_back(nbcoll_agent *a);
/* Of what agents must have in common; never 0. */
uint32_t nbcolli_agent_hash(const nbcoll_agent *a);

/* agent.c: for a rank that is about to sleep on an epoll descriptor. From 1 on the end of a run ends that sleep, unless
 * the run has ended already, and so does what another process publishes in the store of relays; 0: it will not. */
int nbcolli_agent_watch(nbcoll_agent *a, int poller);
int nbcolli_agent_has_ended(const nbcoll_program_run *r);
/* It is awake. */
void nbcolli_agent_unwatch(nbcoll_agent *a);

/* agent_run.c: have these bytes of the receive buffer their final values, although the run may not have ended? Of one
 * whose end has not been reported. Where another process executes nothing is known before. */
int nbcolli_agent_has_arrived(const nbcoll_program_run *r, size_t offset, size_t bytes);

/* agent_drive.c: for drivers. In this one from now on, whose epoll descriptor has a bell of the agent's; and out of it,
 * while it makes no progress. ERR_CONFIG (another process executes), ERR_BUSY, ERR_TRANSPORT (no descriptor). */
nbcoll_status nbcolli_agent_own(nbcoll_agent *a, const void *driver, int poller);
void nbcolli_agent_disown(nbcoll_agent *a, int poller);

/* Lets the driver sleep. Then, also instead: it is awake. 1: the agent had been rung. */
nbcolli_agent_rest nbcolli_agent_arm(nbcoll_agent *a);
int nbcolli_agent_wake(nbcoll_agent *a);

/* place.c */
/* The longest beginning of a region that lies together, and where. */
nbcoll_task_bytes nbcolli_offload_find(const nbcolli_offload_map *map, nbcoll_region region);
/* The region lies in an eager buffer, from its beginning; or, with NBCOLL_NO_QUEUE, in its own place again. */
nbcoll_status nbcolli_offload_put(nbcolli_arena *arena, nbcolli_offload_map *map, nbcoll_region region, uint32_t eager);

/* program.c: makes a program of what was drafted, of `queues` queues, in order; those without tasks are left out.
 * `queue` has room for as many views, with what is known of each. */
nbcoll_status nbcolli_program_make(const nbcoll_host *host, nbcolli_arena *arena, nbcoll_program_info info,
                                   nbcoll_queue_view *queue, const nbcolli_offload_draft *draft, size_t drafts,
                                   nbcoll_program **out);

/* refuse.c: says why; returns ERR_UNSUPPORTED. */
nbcoll_status nbcolli_compile_refuse(nbcolli_compile *c, nbcoll_refusal_reason reason, int rank, nbcoll_step step);
nbcoll_status nbcolli_compile_refuse_number(nbcolli_compile *c, nbcoll_refusal_reason reason, int rank, uint64_t needed,
                                            uint64_t allowed);

#endif
