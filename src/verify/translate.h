/* SPDX-License-Identifier: BSD-3-Clause
 * What a program does, as a schedule: each task is a step, and what a queue, an enable or a wait orders is an edge.
 * Private to this folder. */
#ifndef NBCOLLI_VERIFY_TRANSLATE_H
#define NBCOLLI_VERIFY_TRANSLATE_H

#include "nbcoll/verify.h"
#include "../offload/offload.h"

/* What a step of the translation is to the step that its task carries out. */
#define NBCOLLI_BEGINS 1u /* nothing of that step happens before it */
#define NBCOLLI_ENDS 2u   /* that step has not ended before it has */

typedef struct nbcolli_translated {
    nbcoll_step of;
    uint32_t is;
} nbcolli_translated;

/* A queue while its program is played through. */
typedef struct nbcolli_translate_queue {
    uint32_t taken;     /* of its send queue, */
    uint32_t sent;      /* SENDs among them, */
    uint32_t signalled; /* with a signal */
    uint32_t posted;    /* receives */
    uint32_t sends_enabled, receives_enabled;
    nbcoll_step *send, *receive; /* [send_count], [receive_count]: the step of each; of signalled sends too: */
    nbcoll_step *signal;
    nbcoll_step *send_enabler, *receive_enabler; /* the same: what enables it, or START */
    nbcoll_step last;                            /* the last wait, or task of a management queue */
} nbcolli_translate_queue;

typedef struct nbcolli_translate_cq {
    uint32_t queue; /* whose entries it gets, or NBCOLL_NO_QUEUE */
    int is_receive;
    uint32_t consumed;
} nbcolli_translate_cq;

typedef struct nbcolli_translation {
    nbcolli_arena *arena;
    const nbcoll_program *p;
    nbcoll_builder *b;
    nbcoll_addr scratch, eager;
    nbcolli_translate_queue *queue; /* [queues] */
    nbcolli_translate_cq *cq;       /* [cqs] */
    nbcolli_translated *step;       /* [steps + 2], known steps only; the others are 0 */
    size_t room;
    nbcoll_step stuck; /* START, or the step of a task that never runs */
} nbcolli_translation;

/* Plays the program through, as if all others sent all that it waits for, and makes the schedule; every edge leads to a
 * later step. OK also where it is stuck: then there is no schedule. ERR_ARGUMENT: a task names what does not exist, or
 * too much is enabled. */
nbcoll_status nbcolli_translate(nbcolli_arena *arena, const nbcoll_program *p, nbcolli_translation *t,
                                nbcoll_schedule **out);

#endif
