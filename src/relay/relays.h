/* SPDX-License-Identifier: BSD-3-Clause
 * Relays that run: a stream of fragments for each origin, whose operations stand ready ahead. */
#ifndef NBCOLLI_RELAY_RELAYS_H
#define NBCOLLI_RELAY_RELAYS_H

#include "../host/arena.h"
#include "nbcoll/schedule.h"
#include "relay.h"

#define NBCOLLI_RELAYS_CLOSED UINT64_MAX /* in the place of an operation: the stream's last fragments */

/* What each fragment begins with. */
typedef struct nbcolli_relays_fragment {
    uint64_t operation;
    uint64_t bytes;  /* of the block; */
    uint64_t offset; /* of this fragment in it, */
    uint64_t length; /* and its bytes */
} nbcolli_relays_fragment;

/* A fragment's place in the store, with the operation that fills it, or sends it. */
typedef struct nbcolli_relays_place {
    nbcoll_request request;      /* persistent */
    nbcolli_relays_fragment *at; /* a credit: null */
    int is_out;                  /* started, and its end has not been seen */
} nbcolli_relays_place;

/* What is started again and again: fragments, by one communicator, or credits, by another one. */
typedef struct nbcolli_relays_line {
    nbcoll_comm *comm;
    nbcoll_schedule *schedule;
    nbcoll_request opening;
    nbcoll_status opened; /* how that ended */
    uint32_t places;
    nbcolli_relays_place *standing; /* number n at n modulo `places` */
} nbcolli_relays_line;

/* The fragments of one origin, in order; each F f of them are a batch. Credit n goes up the tree, from the leaves to
 * the origin, when all ranks have taken out batch n. Without it the origin does not begin batch n + 3: that would find
 * no place where it comes, and take the room of other messages there. */
typedef struct nbcolli_relays_stream {
    nbcolli_relays_line fragments, credits;
    uint64_t next;        /* fragment: to be taken out; of the own stream: to be sent */
    uint64_t given, seen; /* credits: started; of these, ended */
    uint32_t ends;        /* last fragments that were taken out, or sent */
} nbcolli_relays_stream;

typedef struct nbcolli_relays_operation {
    uint64_t number;
    const char *send;
    char *recv;
    size_t bytes;
    int root;         /* of an allgather -1 */
    uint32_t need;    /* fragments of a block */
    uint32_t missing; /* blocks */
    uint32_t *come;   /* [ranks] fragments; of the own block: sent */
} nbcolli_relays_operation;

struct nbcoll_relays {
    nbcoll_relays_config config;
    nbcolli_arena arena; /* all of it lies there */
    nbcoll_comm *comm;
    int rank, ranks;
    uint32_t batch;       /* fragments: F f */
    nbcoll_status status; /* OK; PENDING: being opened; else they are broken */
    int is_closing, is_revoked;
    uint64_t last, sending;              /* operations: started; whose block is to be sent next */
    nbcolli_relays_stream *stream;       /* [ranks] */
    nbcolli_relays_operation *operation; /* [F] number n at n modulo F */
    nbcoll_request *pending;             /* [2 ranks] for waits */
};

/* For which there are places: the fragments of F operations that a rank has started, and of F that it has not, lie in
 * three batches. */
#define NBCOLLI_RELAYS_BATCHES 3u

static inline nbcolli_relays_place *nbcolli_relays_place_at(const nbcolli_relays_line *line, uint64_t number)
{
    return &line->standing[number % line->places];
}

/* Of all streams: first their fragments, then their credits. */
static inline nbcolli_relays_line *nbcolli_relays_line_at(const nbcoll_relays *r, int i)
{
    return i < r->ranks ? &r->stream[i].fragments : &r->stream[i - r->ranks].credits;
}

/* The next operation of this place. */
static inline void nbcolli_relays_place_start(nbcoll_relays *r, nbcolli_relays_place *at)
{
    nbcoll_status s = nbcoll_start(&at->request);
    at->is_out = s == NBCOLL_OK;
    if (s != NBCOLL_OK)
        r->status = s;
}

/* Has it ended? 0 also where that broke the relays. */
static inline int nbcolli_relays_place_has_ended(nbcoll_relays *r, nbcolli_relays_place *at)
{
    if (!at->is_out)
        return 1;
    nbcoll_status s = nbcoll_test(&at->request);
    if (s == NBCOLL_PENDING)
        return 0;
    at->is_out = 0;
    if (s != NBCOLL_OK && r->status == NBCOLL_OK)
        r->status = s;
    return s == NBCOLL_OK || r->is_closing;
}

/* Takes out what has come, and sends what can be sent. */
void nbcolli_relays_move(nbcoll_relays *r);

/* Waits until something that was started ends, of each stream the next. 0: the deadline is over. */
int nbcolli_relays_pause(nbcoll_relays *r, uint64_t deadline);

/* Gives all memory back. Requests end with their communicators: none is active. */
void nbcolli_relays_free(nbcoll_relays *r);

/* Have all streams been made? Then what stands ready is started. */
void nbcolli_relays_open_on(nbcoll_relays *r);

#endif
