/* SPDX-License-Identifier: BSD-3-Clause
 * A schedule under construction: what the calls of a builder gather, and finishing turns into a schedule. Private to
 * this folder. */
#ifndef NBCOLLI_SCHEDULE_BUILDER_H
#define NBCOLLI_SCHEDULE_BUILDER_H

#include "../host/host.h"
#include "schedule.h"
#include "sort.h"

/* An array that grows. */
typedef struct nbcolli_array {
    void *items;
    size_t used, room;
} nbcolli_array;

/* What is numbered together: messages with one peer, in one group. */
typedef struct nbcolli_builder_channel {
    int peer;
    uint32_t group;
} nbcolli_builder_channel;

/* Memory that a builder lends, in front of it. */
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
    uint32_t group;   /* which one added it: 0 for none */
    uint32_t channel; /* index, while messages are numbered */
    int is_followed;  /* a step waits for it */
    int is_lowered;   /* it stands for an EXPOSE, FETCH or FETCH_REDUCE, or a piece of one */
    int is_numbered;
} nbcolli_draft;

#define NBCOLLI_TEXT 240 /* bytes of an error in words */

typedef struct nbcolli_builder {
    nbcoll_builder head;    /* first: what the algorithm sees: the group's, inside one */
    int rank, ranks;        /* of the whole schedule */
    const int *members;     /* [head.ranks]: the group's ranks; null: 0, 1, 2, ... */
    uint32_t group, groups; /* the one at work, 0: none; how many there were */
    size_t fresh;           /* scratch memory from here on is this group's own */
    nbcoll_nodes nodes;     /* of one node, for builders without a table */
    nbcoll_host host;
    nbcoll_shares *shares;
    void *shares_user;
    nbcoll_status status;    /* the first error, */
    const char *call;        /* the call that is at work, */
    char text[NBCOLLI_TEXT]; /* and the error in words */
    char name[64];
    uint32_t fingerprint;
    int is_preposted;
    const nbcoll_reducers *reducers; /* a step combines: by these, if the context has no others */
    nbcolli_array drafts;       /* nbcolli_draft */
    nbcolli_array edges;        /* nbcolli_entry: earlier and later step in its key */
    nbcolli_array parts;        /* nbcoll_part */
    nbcolli_builder_channel *channel;   /* while messages are numbered */
    struct nbcolli_room *rooms; /* lent to the algorithm */
    size_t scratch;             /* bytes given out */
    nbcoll_step stage;          /* first step of the open stage */
    nbcoll_step gate;           /* the end of the last dependent stage; START: none */
    nbcoll_step entry;          /* the gate of the first steps of the group at work */
} nbcolli_builder;

static inline nbcolli_builder *nbcolli_builder_of(nbcoll_builder *b)
{
    return (nbcolli_builder *)b;
}

/* The step that a call would add. */
static inline nbcoll_step nbcolli_builder_next(const nbcolli_builder *b)
{
    return (nbcoll_step)b->drafts.used;
}

/* The rank of the whole schedule that is this one of the group at work. */
static inline int nbcolli_builder_member(const nbcolli_builder *b, int rank)
{
    return b->members ? b->members[rank] : rank;
}

static inline nbcolli_draft *nbcolli_drafts(const nbcolli_builder *b)
{
    return b->drafts.items;
}

/* A call of the algorithm's begins: the builder; null: there is none, or it has failed. */
static inline nbcolli_builder *nbcolli_builder_enter(nbcoll_builder *builder, const char *call)
{
    nbcolli_builder *b = nbcolli_builder_of(builder);
    if (!b || b->status != NBCOLL_OK)
        return NULL;
    b->call = call;
    return b;
}

/* Keeps an error of the call at work, if it is the first, and writes it in words: "bcast/mine: rank 3 of 8, step 7,
 * nbcoll_add_send: " and what `format` says. */
void nbcolli_builder_refuse(nbcolli_builder *b, nbcoll_status status, nbcoll_step step, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Checks what a call was given: a peer; a region, of no bound block. 0: the builder refuses. */
int nbcolli_builder_peer(nbcolli_builder *b, int peer);
int nbcolli_builder_region(nbcolli_builder *b, nbcoll_region r, int is_written);

/* Of two regions that passed: have they bytes in common? */
int nbcolli_builder_overlap(nbcoll_region r, nbcoll_region s);

/* Does this rank share memory with the peer? */
int nbcolli_builder_shares(nbcolli_builder *b, int peer);

/* Adds what has been checked: a step, a receive, an edge, and scratch memory. */
nbcoll_step nbcolli_builder_add(nbcolli_builder *b, const nbcoll_step_view *view);
nbcoll_step nbcolli_builder_add_recv(nbcolli_builder *b, int peer, nbcoll_region to);
void nbcolli_builder_edge(nbcolli_builder *b, nbcoll_step step, nbcoll_step earlier);
nbcoll_addr nbcolli_builder_take_scratch(nbcolli_builder *b, size_t bytes);

/* Memory that is the builder's till it is finished, zeroed; null: it has failed. */
void *nbcolli_builder_room(nbcolli_builder *b, size_t n, size_t bytes);

/* nbcoll_add_join, nbcoll_add_expose, nbcoll_builder_parts and nbcoll_after of a builder without error, inside other
 * calls; the steps of the last one exist. */
nbcoll_step nbcolli_builder_join(nbcolli_builder *b);
nbcoll_step nbcolli_builder_expose(nbcolli_builder *b, size_t n, const nbcoll_part parts[]);
nbcoll_part *nbcolli_builder_parts(nbcolli_builder *b, size_t n);
void nbcolli_builder_after(nbcolli_builder *b, nbcoll_step step, nbcoll_step earlier);

/* Makes the schedule of a builder without error. */
nbcoll_status nbcolli_assemble(nbcolli_builder *b, nbcoll_schedule **out);

/* Gives the message steps of a schedule, and `parts`, the schedule's, their numbers, and builds its message indices.
 * `work` has room for twice as many entries as there are steps or parts, with groups steps and parts. Errors:
 * ERR_ARGUMENT (a number used twice), ERR_LIMIT (too many in groups), ERR_MEMORY. */
nbcoll_status nbcolli_number(nbcolli_builder *b, nbcoll_schedule *s, nbcoll_part *parts, nbcolli_entry *work);

#endif
