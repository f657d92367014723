/* SPDX-License-Identifier: BSD-3-Clause
 * A schedule under construction: what the calls of a builder gather, and finishing turns into a schedule. Private to
 * this folder. */
#ifndef NBCOLLI_SCHEDULE_BUILDER_H
#define NBCOLLI_SCHEDULE_BUILDER_H

#include "nbcoll/inline/host.h"
#include "nbcoll/inline/schedule.h"
#include "nbcoll/inline/sort.h"

/* An array that grows. */
typedef struct nbcolli_array {
    void *items;
    size_t used, room;
} nbcolli_array;

/* Memory of nbcoll_parts, in front of it. */
typedef struct nbcolli_room {
    struct nbcolli_room *next;
    size_t bytes;
} nbcolli_room;

/* Steps, edges and parts: 2^31 of each. */
#define NBCOLLI_MOST ((size_t)1 << 31)

/* A step as far as it is known. The view's number is the one given, or none; its arrays are not there yet. */
typedef struct nbcolli_draft {
    nbcoll_step_view view;
    uint32_t part;    /* EXPOSE, CALL: index of its first part */
    uint32_t members; /* a lowered step: how many steps just before it are its pieces */
    uint32_t pieces;  /* the end of a growing exposure: how many it has, alike in steps, among its members */
    int is_lowered;   /* it stands for an EXPOSE, FETCH or FETCH_REDUCE, or a piece of one */
    int is_numbered;
} nbcolli_draft;

typedef struct nbcolli_builder {
    nbcoll_builder head; /* first: what the algorithm sees */
    nbcoll_host host;
    nbcoll_shares *shares;
    void *shares_user;
    nbcoll_status status; /* the first error */
    char name[64];
    uint32_t fingerprint;
    nbcolli_array drafts; /* nbcolli_draft */
    nbcolli_array edges;  /* nbcolli_entry: earlier and later step in its key */
    nbcolli_array parts;  /* nbcoll_part */
    struct nbcolli_room *rooms; /* lent to the algorithm */
    size_t scratch;       /* bytes given out */
    nbcoll_step stage;    /* first step of the open stage */
    nbcoll_step gate;     /* the end of the last dependent stage; START: none */
    uint32_t max_posted;
    uint32_t posted;    /* sends added under max_posted, at most that many */
    nbcoll_step window; /* no later than the first send that the next one waits for */
} nbcolli_builder;

static inline nbcolli_draft *nbcolli_drafts(const nbcolli_builder *b)
{
    return b->drafts.items;
}

/* Makes the schedule of a builder without error. */
nbcoll_status nbcolli_assemble(nbcolli_builder *b, nbcoll_schedule **out);

/* Gives the message steps of a schedule, and `parts`, the schedule's, their numbers, and builds its message indices.
 * `work` has room for twice as many entries as there are steps or parts. Errors: ERR_ARGUMENT (a number used twice). */
nbcoll_status nbcolli_number(const nbcolli_builder *b, nbcoll_schedule *s, nbcoll_part *parts, nbcolli_entry *work);

#endif
