/* SPDX-License-Identifier: BSD-3-Clause
 * What the parts of the simulator share: memory that is counted, compact schedules, the queue of events, cores and
 * their noise. Private to this folder. */
#ifndef NBCOLLI_SIMULATE_SIMULATE_H
#define NBCOLLI_SIMULATE_SIMULATE_H

#include "../host/host.h"
#include "../schedule/schedule.h"
#include "nbcoll/nodes.h"
#include "nbcoll/simulate.h"

/* Before each piece of it. */
typedef struct nbcolli_coin {
    _Alignas(64) struct nbcolli_coin *next;
    struct nbcolli_coin **at; /* what points here */
    size_t bytes;
} nbcolli_coin;

/* The host's memory, counted. */
typedef struct nbcolli_purse {
    nbcoll_host host;
    nbcolli_coin *first;
    uint64_t held, most;
} nbcolli_purse;

/* Zeroed; null when there is none. Given back one by one, or all at last. */
void *nbcolli_purse_take(nbcolli_purse *p, size_t n, size_t bytes);
void nbcolli_purse_give(nbcolli_purse *p, void *memory);
void nbcolli_purse_close(nbcolli_purse *p);

/* ---- shape.c ----------------------------------------------------------------------------------------------------- */

typedef struct nbcolli_shape nbcolli_shape;

/* Kinds of nodes are those of steps, and this: a part of an EXPOSE. */
#define NBCOLLI_PART NBCOLL_KIND_COUNT
#define NBCOLLI_FROM_CELL 0x80000000u /* parts and FETCHes are numbered from here on */

/* A step, or a part of one; `bytes` and `to`, the distance up to the peer, past the last rank to 0, are the same on
 * ranks that have the same shape. */
typedef struct nbcolli_node {
    uint64_t bytes; /* EXPOSE: for which a cell needs room; NBCOLLI_GROWS: it does not get any */
    uint32_t to, number; /* EXPOSE: number: its first part */
    uint32_t before; /* steps it waits for, and of a RECV or a FETCH the arrival of what it takes */
    uint32_t after, after_count; /* in the shape's edges; of a part its EXPOSE */
    uint32_t kind;
    uint32_t lane : 30;
    uint32_t stands : 1; /* where operations stand: needs neither the start of its rank nor what that brings; */
    uint32_t is_kept : 1; /* brings what is kept for that, and copied then */
    uint32_t parts;               /* EXPOSE: nodes */
    uint32_t mate;                /* the other end, */
    const nbcolli_shape *mate_of; /* in the shape of the peer, when it was last looked for */
} nbcolli_node;

#define NBCOLLI_GROWS UINT64_MAX

static inline int nbcolli_is_fetch(const nbcolli_node *n)
{
    return n->kind == NBCOLL_FETCH || n->kind == NBCOLL_FETCH_REDUCE;
}

/* A schedule without START and END: node i is step i + 2; behind the steps come the parts. */
struct nbcolli_shape {
    nbcolli_shape *next; /* in its chain */
    uint64_t hash;
    uint64_t bytes, fetched; /* of all SENDs, and of all FETCHes */
    uint32_t nodes, steps, edges;
    uint32_t gives, takes, fetches; /* SENDs and parts; RECVs and FETCHes; of them FETCHes */
    uint32_t messages;              /* SENDs */
    uint32_t starting;              /* steps of the lane START */
    uint32_t peers, links;
    nbcolli_node *node;
    uint32_t *edge;
    uint32_t *give, *take; /* nodes, by distance of the peer, then by number */
};

typedef struct nbcolli_shapes {
    nbcolli_purse *purse;
    nbcolli_shape **chain; /* [room], by hash; room is a power of two */
    size_t room, used;
    nbcolli_shape *spare;  /* memory for the next one to be looked for */
    size_t spare_bytes;
} nbcolli_shapes;

/* How long bound blocks are. */
typedef struct nbcolli_sim_blocks {
    const nbcoll_sim_config *config;
    void *user;
    uint32_t operation;
} nbcolli_sim_blocks;

/* The shape of a schedule, shared with others of the same. */
nbcoll_status nbcolli_shapes_add(nbcolli_shapes *all, const nbcoll_schedule *s, nbcolli_sim_blocks blocks,
                                 nbcolli_shape **out);

/* Marks the nodes that stand: of a shape of this schedule, without parts yet looked for by peers. */
void nbcolli_shape_mark(nbcolli_shape *shape, const nbcoll_schedule *s);

/* The node of `peers` that is the other end of a message node of a rank with another shape; UINT32_MAX: there is
 * none. */
uint32_t nbcolli_shape_mate(nbcolli_node *node, const nbcolli_shape *peers, uint32_t ranks);

/* ---- queue.c ----------------------------------------------------------------------------------------------------- */

typedef struct nbcolli_happening {
    uint64_t time;
    uint32_t run;
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

/* ---- noise.c ----------------------------------------------------------------------------------------------------- */

/* A number that looks random, the same for the same input. */
uint64_t nbcolli_mix(uint64_t seed, uint64_t a, uint64_t b);

/* When `work` ns of a core are done that begin at `t`. */
uint64_t nbcolli_noise_end(const nbcoll_sim_config *config, uint64_t core, uint64_t t, uint64_t work);

/* n bytes at so many picoseconds. */
static inline uint64_t nbcolli_price(uint64_t n, uint64_t ps)
{
    return n / 1000 * ps + n % 1000 * ps / 1000;
}

/* ---- tell.c, play.c, contend.c, program.c, events.c
 * -------------------------------------------------------------------- */

/* A node of a run as it stands. */
typedef struct nbcolli_preposted {
    uint32_t before; /* what it still waits for; UINT32_MAX once it runs; a larger EXPOSE then: its readers */
    uint32_t depth : 31;        /* messages after each other up to it */
    uint32_t is_unexpected : 1; /* its message came before it could begin */
} nbcolli_preposted;

/* One operation on one rank: its index is operation * ranks + rank. */
typedef struct nbcolli_sim_run {
    nbcolli_shape *shape;
    nbcolli_preposted *state; /* [nodes] */
    uint64_t ended;          /* once nothing is left: its last step */
    uint64_t kept;           /* bytes that stand in the store, and the RECV of the last ones */
    uint32_t kept_by;
    uint32_t left : 29;      /* steps that have not ended */
    uint32_t is_started : 1;
    uint32_t is_waited : 1;
    uint32_t is_awaited : 1; /* its rank waits for what belongs to its start, and does that itself */
    uint32_t starting : 29;  /* steps of the lane START that have not ended */
    uint32_t is_open : 1;    /* started, and its rank may give what is its own */
    uint32_t is_begun : 1;   /* a step was done, or it is started */
} nbcolli_sim_run;

/* Who works for a rank's communication: itself, or a progress core. */
typedef enum nbcolli_actor { NBCOLLI_RANK, NBCOLLI_DRIVER } nbcolli_actor;

/* When an interface is free to send, and to receive. */
typedef struct nbcolli_interface {
    uint64_t out, in;
} nbcolli_interface;

typedef struct nbcolli_player {
    uint64_t last[2];       /* when the last work for its communication was done, by whom it was */
    uint64_t base;          /* it computes from here; tests are multiples of `test_every` later, */
    uint64_t until;         /* until here; or it waits since then */
    nbcolli_interface inside; /* the node */
    uint32_t sent, taken;   /* messages from and to other nodes: which of its node's interfaces has the next one */
    uint32_t at;            /* in its program; behind it: waiting for the operations one by one */
    uint32_t starts;        /* operations */
    uint64_t stored;        /* bytes of operations that it has not started */
} nbcolli_player;

/* Who shares progress cores; null where that costs nothing. */
typedef struct nbcolli_contenders {
    uint32_t *steps; /* [runs]: that have not ended, and are not the rank's own */
    uint32_t *runs;  /* [ranks]: under way, with such steps */
    uint32_t *ranks; /* [cores]: with such runs, at their progress core; of a pool, at its first */
} nbcolli_contenders;

typedef struct nbcolli_sim {
    nbcolli_purse purse;
    nbcoll_sim_config config;
    const nbcoll_nodes *domains; /* null: none, or they cost nothing else */
    nbcoll_sim_model model; /* all of it, whatever the caller's has; config.model is not read any more */
    nbcoll_sim_result result;
    nbcolli_shapes shapes;
    nbcolli_queue queue;
    nbcolli_player *player; /* [ranks] */
    nbcolli_interface *interface; /* [interfaces]: to other nodes; of each node, or where none are shared each rank's */
    uint64_t interfaces;
    nbcolli_sim_run *run;   /* [runs] */
    uint32_t runs;
    nbcolli_preposted *states; /* [nodes] of all runs */
    uint64_t nodes;
    nbcolli_contenders contenders;
    uint64_t *core;         /* [cores]: when each is free */
    uint64_t cores;
    uint32_t node, node_cores, workers; /* ranks of the largest node, cores of each, and those that compute */
    int puts_off;           /* not all that waits for a step learns at once that it has ended */
    uint32_t *ready;        /* [the most nodes of a run]: a stack */
    uint32_t readies, most_nodes;
    int is_starting;        /* the ready steps are those of an operation that its rank is starting */
    uint64_t unended;       /* programs */
} nbcolli_sim;

/* What an event is: a node, and one of these. GO_ON: the program of the rank of the run. OPENS: the rank may give what
 * is its own to the run. A message LEAVES its sender,
 * arrives, and is TAKEN by an interface that was not free; a step that it waited for has ENDED. */
enum {
    NBCOLLI_GO_ON,
    NBCOLLI_ARRIVES,
    NBCOLLI_ASK,
    NBCOLLI_ANSWER,
    NBCOLLI_KINDS = 4,
    NBCOLLI_TAKEN = 4,
    NBCOLLI_LEAVES = 8,
    NBCOLLI_STEP_ENDED = NBCOLLI_ASK | NBCOLLI_TAKEN | NBCOLLI_LEAVES,
    NBCOLLI_OPENS = NBCOLLI_GO_ON | NBCOLLI_LEAVES,
    NBCOLLI_KIND_BITS = 4
};

static inline uint64_t nbcolli_later(uint64_t x, uint64_t y)
{
    return x < y ? y : x;
}

static inline uint32_t nbcolli_rank_of(const nbcolli_sim *s, uint32_t run)
{
    uint32_t ranks = (uint32_t)s->config.ranks;
    return run < ranks ? run : run % ranks;
}

static inline uint32_t nbcolli_peer_of(const nbcolli_sim *s, uint32_t rank, const nbcolli_node *n)
{
    uint32_t ranks = (uint32_t)s->config.ranks;
    return n->to < ranks - rank ? rank + n->to : rank - (ranks - n->to);
}

static inline const nbcoll_sim_program *nbcolli_program_of(const nbcoll_sim_config *c, uint32_t rank)
{
    return c->programs ? &c->programs[rank] : &c->program;
}

/* Makes an event. */
nbcoll_status nbcolli_put(nbcolli_sim *s, uint64_t t, uint32_t run, uint32_t node, uint32_t kind);

/* Tells the user of something; null: of no step. */
void nbcolli_tell(const nbcolli_sim *s, nbcoll_sim_what what, uint32_t run, const nbcolli_node *n, uint32_t step,
                  uint64_t begin, uint64_t end);

/* Plays it to the end. */
nbcoll_status nbcolli_play(nbcolli_sim *s);
/* A message leaves, it or what a reader finds arrives, or a step has ended. *is_over: that has ended the operation on
 * its rank. */
nbcoll_status nbcolli_play_arrival(nbcolli_sim *s, nbcolli_happening h, int *is_over);
/* Starts an operation. */
nbcoll_status nbcolli_play_start(nbcolli_sim *s, uint32_t run, uint64_t t);
/* The rank gives what is its own to an operation that it has started. */
nbcoll_status nbcolli_play_open(nbcolli_sim *s, uint32_t run, uint64_t t);

/* Contention for progress cores, where the model has any: memory for it, and what each run has for them; */
nbcoll_status nbcolli_contend_open(nbcolli_sim *s);
/* a run begins, or a step of it has ended; */
void nbcolli_contend_start(nbcolli_sim *s, uint32_t run);
void nbcolli_contend_ended(nbcolli_sim *s, uint32_t run, const nbcolli_node *n);
/* ns that a progress core loses to the other ranks' drivers before it works for this one. */
uint64_t nbcolli_contend_cost(const nbcolli_sim *s, uint32_t rank);

/* Are programs right? */
nbcoll_status nbcolli_programs_check(const nbcoll_sim_config *c);
/* Lets all ranks begin. */
nbcoll_status nbcolli_programs_begin(nbcolli_sim *s);
/* The program of a rank when its time has come. */
nbcoll_status nbcolli_program_go_on(nbcolli_sim *s, uint32_t rank, uint64_t t);
/* The same when one of its operations has ended. */
nbcoll_status nbcolli_program_look(nbcolli_sim *s, uint32_t rank);

/* The node of a rank, its place there, and how many ranks a full node has. */
static inline uint32_t nbcolli_sim_node(const nbcolli_sim *s, uint32_t rank)
{
    return s->config.nodes ? (uint32_t)nbcoll_node_of(s->config.nodes, (int)rank) : rank / s->node;
}

static inline uint32_t nbcolli_sim_place(const nbcolli_sim *s, uint32_t rank)
{
    return s->config.nodes ? (uint32_t)nbcoll_node_place(s->config.nodes, (int)rank) : rank % s->node;
}

static inline uint32_t nbcolli_sim_room(const nbcolli_sim *s, uint32_t node)
{
    return s->config.nodes ? (uint32_t)nbcoll_node_size(s->config.nodes, (int)node) : s->node;
}

/* The progress core that a rank has by its place; of a pool, the first. */
static inline uint64_t nbcolli_progress_core(const nbcolli_sim *s, uint32_t rank)
{
    uint64_t first = (uint64_t)nbcolli_sim_node(s, rank) * s->node_cores + s->workers;
    return s->model.pool ? first : first + nbcolli_sim_place(s, rank) % s->model.progress;
}

/* The core that computes for a rank. */
static inline uint64_t nbcolli_compute_core(const nbcolli_sim *s, uint32_t rank)
{
    return (uint64_t)nbcolli_sim_node(s, rank) * s->node_cores + nbcolli_sim_place(s, rank) % s->workers;
}

#endif
