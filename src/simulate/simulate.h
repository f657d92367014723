/* SPDX-License-Identifier: BSD-3-Clause
 * What the parts of the simulator share: memory that is counted, compact schedules, the queue of events, cores and
 * their noise. Private to this folder. */
#ifndef NBCOLLI_SIMULATE_SIMULATE_H
#define NBCOLLI_SIMULATE_SIMULATE_H

#include "nbcoll/inline/host.h"
#include "nbcoll/inline/schedule.h"
#include "nbcoll/simulate.h"

/* The host's memory, counted. */
typedef struct nbcolli_purse {
    nbcoll_host host;
    uint64_t held, most;
} nbcolli_purse;

/* Zeroed; null when there is none. Given back with the same numbers. */
void *nbcolli_purse_take(nbcolli_purse *p, size_t n, size_t bytes);
void nbcolli_purse_give(nbcolli_purse *p, void *memory, size_t n, size_t bytes);

/* ---- shape.c --------------------------------------------------------------------------------------------------- */

typedef struct nbcolli_shape nbcolli_shape;

/* A step; `bytes` and `to`, the distance up to the peer, past the last rank to 0, are the same on ranks that have the
 * same shape. */
typedef struct nbcolli_node {
    uint64_t bytes;
    uint32_t to, number;
    uint32_t before; /* steps it waits for, and of a RECV the arrival of its message */
    uint32_t after, after_count; /* in the shape's edges */
    uint32_t kind;
    const nbcolli_shape *mate_of; /* the shape of the peer when it was last looked for, and */
    uint32_t mate;                /* the other end there */
} nbcolli_node;

/* A schedule without START and END: node i is step i + 2. */
struct nbcolli_shape {
    nbcolli_shape *next; /* in its chain */
    uint64_t hash;
    size_t memory; /* bytes of the one block, that holds the struct and its arrays */
    uint64_t bytes; /* of all SENDs */
    uint32_t nodes, edges, sends, recvs;
    uint32_t peers, links;
    nbcolli_node *node;
    uint32_t *edge;
    uint32_t *send, *recv; /* nodes, by distance of the peer, then by number */
};

typedef struct nbcolli_shapes {
    nbcolli_purse *purse;
    nbcolli_shape **chain; /* [room], by hash; room is a power of two */
    size_t room, used;
    nbcolli_shape *spare;  /* memory for the next one to be looked for */
    size_t spare_bytes;
} nbcolli_shapes;

/* The shape of a schedule, shared with others of the same. */
nbcoll_status nbcolli_shapes_add(nbcolli_shapes *all, const nbcoll_schedule *s, nbcolli_shape **out);
void nbcolli_shapes_free(nbcolli_shapes *all);

/* The node of `peers` that is the other end of a message node of a rank with another shape; UINT32_MAX: there is
 * none. */
uint32_t nbcolli_shape_mate(nbcolli_node *node, const nbcolli_shape *peers, uint32_t ranks);

/* ---- queue.c --------------------------------------------------------------------------------------------------- */

typedef struct nbcolli_happening {
    uint64_t time;
    uint32_t rank;
    uint32_t what; /* the queue's user says */
} nbcolli_happening;

typedef struct nbcolli_bucket {
    nbcolli_happening *items;
    size_t first, used, room;
} nbcolli_bucket;

/* By time, and those of the same time in the order in which they came. No time may be before that of the last one
 * taken. A radix heap: bucket b holds times whose highest bit different from the last one's is bit b - 1. */
typedef struct nbcolli_queue {
    nbcolli_purse *purse;
    uint64_t last;
    uint64_t filled; /* a bit for each bucket from the second on */
    nbcolli_bucket bucket[65];
} nbcolli_queue;

/* 0 when there is no memory. */
int nbcolli_queue_put(nbcolli_queue *q, nbcolli_happening h);
/* 0 when it is empty, -1 when there is no memory. */
int nbcolli_queue_take(nbcolli_queue *q, nbcolli_happening *out);
void nbcolli_queue_free(nbcolli_queue *q);

/* ---- noise.c --------------------------------------------------------------------------------------------------- */

/* A number that looks random, the same for the same input. */
uint64_t nbcolli_mix(uint64_t seed, uint64_t a, uint64_t b);

/* When `work` ns of a core are done that begin at `t`. */
uint64_t nbcolli_noise_end(const nbcoll_sim_config *config, uint64_t core, uint64_t t, uint64_t work);

/* n bytes at so many picoseconds. */
static inline uint64_t nbcolli_price(uint64_t n, uint64_t ps)
{
    return n / 1000 * ps + n % 1000 * ps / 1000;
}

/* ---- play.c ---------------------------------------------------------------------------------------------------- */

/* A node of a rank as it stands. */
typedef struct nbcolli_standing {
    uint32_t before; /* what it still waits for; UINT32_MAX once it runs */
    uint32_t depth;  /* messages after each other up to it */
} nbcolli_standing;

typedef struct nbcolli_player {
    nbcolli_shape *shape;
    nbcolli_standing *state;       /* [nodes] */
    uint64_t last;              /* when the last work for it was done */
    uint64_t base;              /* while it computes, tests are this and multiples of `test_every` later, */
    uint64_t wait;              /* until here, where its wait begins */
    uint64_t out[2], in[2];     /* when its interfaces are free: inside the node, and out of it */
    uint32_t left;              /* steps that have not ended; */
    uint32_t is_started;
} nbcolli_player;

typedef struct nbcolli_sim {
    nbcolli_purse purse;
    nbcoll_sim_config config;
    nbcoll_sim_result result;
    nbcolli_shapes shapes;
    nbcolli_queue queue;
    nbcolli_player *player; /* [ranks] */
    nbcolli_standing *states;  /* [nodes] of all ranks */
    uint64_t nodes;
    uint64_t *core;         /* [cores]: when each is free */
    uint64_t cores;
    uint32_t node, node_cores, workers; /* ranks and cores of a node, and cores of it that compute */
    uint32_t *ready;        /* [the most nodes of a rank]: a stack */
    uint32_t readies, most_nodes;
    uint64_t unended;       /* ranks */
} nbcolli_sim;

/* Plays it to the end. */
nbcoll_status nbcolli_play(nbcolli_sim *s);

#endif
