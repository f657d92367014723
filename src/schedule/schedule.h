/* SPDX-License-Identifier: BSD-3-Clause
 * How a schedule lies in memory. Made by src/schedule, read by the engine. Everything above `owner` is immutable. */
#ifndef NBCOLL_INLINE_SCHEDULE_H
#define NBCOLL_INLINE_SCHEDULE_H

#include "nbcoll/schedule.h"

typedef struct nbcolli_request nbcolli_request;
typedef struct nbcolli_run nbcolli_run;

#define NBCOLLI_STAGING_PIECE                                                                                          \
    ((size_t)16 << 10) /* the least of a copy in a staging buffer (exposures/staging.h) that is followed */
#define NBCOLLI_STAGING_PIECES 16                /* so many for one, or for a ring, while each has at most: */
#define NBCOLLI_STAGING_MOST ((size_t)64 << 10)
#define NBCOLLI_STAGING_FILLS ((size_t)32 << 10) /* bytes from which on they do */
#define NBCOLLI_STAGING_BEYOND ((size_t)1 << 20) /* bytes of a part that is beyond a core's cache */
#define NBCOLLI_CELL_INLINE 80 /* bytes of payload in a cell: an exposure of at most so many is complete at once */

/* The lanes that a run has ready queues for: ANY, CALLER, PROGRESS. The others are hints, and count as ANY here. */
#define NBCOLLI_LANES 3u

/* The ready steps of one lane: ready[head..tail-1] of their run. Who serves the lane takes from the head. */
typedef struct nbcolli_ready {
    uint32_t head, tail;
    size_t place; /* bytes done of the COPY or REDUCE at the head */
} nbcolli_ready;

/* The bytes that are shown at a time of a copy, or of a ring, of so many: each showing has a price of its own, and who
 * follows waits for the first and reads the last alone. */
static inline size_t nbcolli_staging_piece(size_t bytes)
{
    size_t piece = bytes / NBCOLLI_STAGING_PIECES / 64 * 64;
    return piece < NBCOLLI_STAGING_PIECE  ? NBCOLLI_STAGING_PIECE
           : piece < NBCOLLI_STAGING_MOST ? piece
                                          : NBCOLLI_STAGING_MOST;
}

/* A message step by its key, to find the step that a header means: ascending by (peer, number). */
typedef struct nbcolli_message {
    int peer;
    uint32_t number;
    nbcoll_step step;
} nbcolli_message;

/* A schedule is small if its steps are few, its messages fit into lines, what it exposes into cells, the same for all
 * readers of a cell or spread over cells, and whatever else it does is as small: a run works such steps off at once, as
 * moves (engine/run/moves.h). */
#define NBCOLLI_SMALL_STEPS 64u  /* at most */
#define NBCOLLI_SMALL_BYTES 256u /* that a COPY or REDUCE of one writes, at most */

/* What stands in a schedule that a communicator keeps for the host's type and operation of the calls that it serves:
 * as large, and as to commuting alike. Steps combine by the request's own, and call functions with these as `user`. */
typedef struct nbcolli_stand_in {
    nbcoll_host_type type;
    nbcoll_host_op op;
} nbcolli_stand_in;

struct nbcoll_schedule {
    nbcoll_host host; /* copied */
    size_t memory;    /* bytes of the one block that holds the struct and its arrays */
    char name[64];
    int rank, ranks;
    uint32_t steps, edges, fingerprint;
    uint64_t raised; /* the fingerprint above 32 zeros: for histories */
    size_t extent[NBCOLL_BUFFER_COUNT];
    nbcoll_step_view *step; /* [steps] */
    uint32_t *before;       /* [steps]: the initial counters of a run, step[i].before */
    nbcoll_step *ready;     /* [steps], behind them: the initial ready queues, one lane's behind the other's */
    size_t armed;           /* bytes of both that a run copies */
    nbcolli_ready lane[NBCOLLI_LANES]; /* where those are */
    uint8_t is_small;
    uint32_t starting;      /* steps of the lane START */
    uint8_t has_lanes;      /* not all steps are on the lane ANY */
    uint32_t *op;           /* [steps]: index of the operation, in a run, of a step with a peer; else UINT32_MAX */
    uint32_t ops;
    uint32_t sends, recvs, fetches;
    nbcolli_message *send, *recv, *fetch; /* [sends], [recvs], [fetches]: FETCH_REDUCE too */
    int is_preposted; /* its operations may wait as long as they like */
    int shared;      /* it has an EXPOSE, FETCH or FETCH_REDUCE */
    int converges;   /* readers have more to do than owners: they combine what these expose, or one reads all of it */
    size_t unit;     /* bytes of its elements, as they travel, of a call's; 0: not known, and nothing is streamed */
    const nbcoll_reducers *reducers; /* kernels, where its owner was given none; null: no step combines */
    int together;    /* parts that several ranks get may be streamed (NBCOLL_ALGORITHM_TOGETHER) */
    uint32_t cells;  /* that a run writes; with so many parts */
    uint32_t shown;
    uint32_t wide;   /* cells, if what can be spread is spread */
    uint32_t widest; /* 1 + the greatest number of a part or fetch */
    size_t bounce;   /* bytes for all FETCH_REDUCEs; each one's begins at bounces[its op] */
    size_t *bounces; /* [ops] */

    nbcoll_context *owner; /* whose runs are pooled here; null before the first start */
    nbcoll_schedule *owned_next, **owned_at; /* in the owner's list */
    nbcolli_run *idle;     /* pooled runs */
    nbcolli_request *requests; /* free ones, each with a run that it keeps */
    uint32_t kept;             /* runs that requests keep */
    uint64_t serial;       /* of those that the owner has had: what was found for it is not taken for another one's */
    size_t held;           /* bytes of its runs */
    size_t *cached;        /* where these count too, while it is in a communicator's cache; else null */
    uint32_t users;        /* requests that hold it */
    int evicted;           /* it has left its communicator's cache: freed by its last user */
    struct nbcolli_executor *executor; /* that carries it out; null: runs do */
    struct nbcoll_program *program;    /* by this */
    int is_cut;         /* runs do, but for its inner part, which is the program; null: this rank has no part in that */
    nbcoll_step inner; /* then the step in its place; else START */
    nbcoll_step room;   /* a step that ends when that has lent the run its scratch memory; START: it has its own */
    void (*free_program)(struct nbcoll_program *program); /* with the schedule */
    nbcolli_stand_in *stand_in; /* its own; null: it has no need of any */
};

/* What is compared by: in both forms. */
static inline void nbcolli_schedule_mark(nbcoll_schedule *s, uint32_t fingerprint)
{
    s->fingerprint = fingerprint;
    s->raised = (uint64_t)fingerprint << 32;
}

/* The lane whose queue a step enters. */
static inline uint32_t nbcolli_lane_of(const nbcoll_step_view *v)
{
    return (uint32_t)v->lane < NBCOLLI_LANES ? (uint32_t)v->lane : NBCOLL_LANE_ANY;
}

/* Is it the index of a block that is bound at the start? */
static inline int nbcolli_is_block(nbcoll_addr a)
{
    return a.buffer >= NBCOLL_BUFFER_SEND_BLOCK;
}

/* And one as it travels? */
static inline int nbcolli_is_packed(nbcoll_addr a)
{
    return a.buffer >= NBCOLL_BUFFER_SEND_PACKED;
}

/* Of a bound block: is it one of the receive buffer? */
static inline int nbcolli_is_recv_block(nbcoll_addr a)
{
    return a.buffer == NBCOLL_BUFFER_RECV_BLOCK || a.buffer == NBCOLL_BUFFER_RECV_PACKED;
}

/* Has it bound blocks? */
static inline int nbcolli_has_blocks(const nbcoll_schedule *s)
{
    const size_t *extent = s->extent;
    return extent[NBCOLL_BUFFER_SEND_BLOCK] || extent[NBCOLL_BUFFER_RECV_BLOCK] || extent[NBCOLL_BUFFER_SEND_PACKED] ||
           extent[NBCOLL_BUFFER_RECV_PACKED];
}

/* Are they the same bytes? */
static inline int nbcolli_is_region(const nbcoll_region *r, const nbcoll_region *s)
{
    return r->at.buffer == s->at.buffer && r->at.offset == s->at.offset && r->bytes == s->bytes;
}

/* Is it small? */
int nbcolli_is_small(const nbcoll_schedule *s);

/* A rank's bit in what says who reads an exposure: its own, or, with more than 64 ranks, that of a few neighbours. */
static inline uint64_t nbcolli_reader_bit(int rank, int ranks)
{
    int shift = 0;
    while ((ranks - 1) >> shift >= 64)
        shift++;
    return UINT64_C(1) << (rank >> shift);
}

/* Of an EXPOSE of a schedule for this rank of so many: the bits of those who read, if all of them get the same bytes as
 * the same part, so few that a cell holds them, and no other rank has one of the bits. Else 0. */
uint64_t nbcolli_alike(const nbcoll_step_view *v, int rank, int ranks);

/* Of an EXPOSE of a schedule for this rank of so many that shows each other rank bytes of its own, so few that a cell
 * holds them, and to all of them as many, as the same part: over how many cells these can be spread. Else 0. */
uint32_t nbcolli_spread(const nbcoll_step_view *v, int rank, int ranks);

/* Of a spread exposure: 2 to the power of this many parts of so many bytes each lie in 64 bytes of a cell, aligned as a
 * kernel may want; or one, which may have more. */
static inline uint32_t nbcolli_spread_shift(size_t bytes)
{
    return bytes <= 8 ? 3 : bytes <= 16 ? 2 : bytes <= 32;
}

/* Parts of exposures for which each rank's table has room, in each slot: two for each reader, where there are few. It
 * grows with the ranks: what a rank offers for all of a communicator's is to hold the table of any that is split
 * off. */
static inline uint32_t nbcolli_table_parts(size_t ranks)
{
    return (uint32_t)(ranks <= 32 ? 2 * ranks : ranks < 64 ? 64 : ranks);
}

/* Has the table room for all exposures of an algorithm with these flags, if each is to all ranks? Those by nodes show
 * theirs to parts of them. */
static inline int nbcolli_table_suffices(uint32_t flags, size_t ranks)
{
    return flags & (NBCOLL_ALGORITHM_NODES | NBCOLL_ALGORITHM_DOMAINS) || ranks < 2 ||
           (flags >> 16) * (uint64_t)(ranks - 1) <= nbcolli_table_parts(ranks);
}

/* Frees one that no context owns. */
void nbcolli_schedule_delete(nbcoll_schedule *s);

/* The position of the first message in `index` that is not before (peer, number). */
static inline uint32_t nbcolli_message_index(const nbcolli_message *index, uint32_t n, int peer, uint32_t number)
{
    uint32_t low = 0, high = n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const nbcolli_message *m = &index[middle];
        if (m->peer < peer || (m->peer == peer && m->number < number))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The step that (peer, number) means in `index`, or NBCOLL_START when there is none. */
static inline nbcoll_step nbcolli_find_message(const nbcolli_message *index, uint32_t n, int peer, uint32_t number)
{
    uint32_t i = nbcolli_message_index(index, n, peer, number);
    return i < n && index[i].peer == peer && index[i].number == number ? index[i].step : NBCOLL_START;
}

#endif
