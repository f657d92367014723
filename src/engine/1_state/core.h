/* SPDX-License-Identifier: BSD-3-Clause
 * What the core is made of: contexts, links to transports, communicators, slots, runs, requests. No layout promises. */
#ifndef NBCOLL_INLINE_CORE_H
#define NBCOLL_INLINE_CORE_H

#include <stdatomic.h>

#include "nbcoll/transport.h"
#include "../../host/host.h"
#include "../../reduce/reduce.h"
#include "../../schedule/schedule.h"

/* ---- messages -------------------------------------------------------------------------------------------------- */

/* EAGER carries its payload. RTS (ready to send) announces one that stays with the sender, with a key if a peer can
 * get it; it is answered exactly once: by FIN (taken, or refused), or by CTS (clear to send), which asks for it in
 * DATA pieces. REVOKE ends an operation, LOST a communicator; a LOST may also say that its rank is given up. GIVE_UP
 * tells that rank so (giveup.h), or that its sender gives itself up, and belongs to no communicator. REVOKED answers a
 * REVOKE whose sender has lent memory through a cell: this rank will not read it. CREDIT only carries credits, as any
 * message may. AGREE and DECIDED are those of a shrink. STALLED says that an EAGER or RTS waits for a
 * credit, WANT asks for it (credit.h). QUERY wants to know where a rank is in an operation, and WHERE says it (ask.h):
 * once for each QUERY. */
typedef enum nbcolli_type { NBCOLLI_EAGER, NBCOLLI_RTS, NBCOLLI_FIN, NBCOLLI_CTS, NBCOLLI_DATA, NBCOLLI_REVOKE,
                            NBCOLLI_REVOKED, NBCOLLI_LOST, NBCOLLI_CREDIT, NBCOLLI_GIVE_UP, NBCOLLI_AGREE,
                            NBCOLLI_DECIDED, NBCOLLI_STALLED, NBCOLLI_WANT, NBCOLLI_QUERY, NBCOLLI_WHERE } nbcolli_type;

/* nbcoll_header as the core reads it; copied in and out of the words, never cast. */
typedef struct nbcolli_header {
    uint64_t comm, tag;
    uint32_t source; /* the sender's rank in the communicator */
    uint32_t number; /* of the message in (tag, direction, pair); REVOKE, LOST: the rank that is the cause; WHERE:
                        1 + a rank that has not started it, as far as its sender knows, or 0 */
    uint32_t fingerprint;
    uint16_t credits; /* given back */
    uint8_t type;     /* nbcolli_type */
    uint8_t status;   /* REVOKE: why; FIN: OK if taken, else why it was refused; EAGER, RTS: OK if it took a credit;
                         WHERE: nbcoll_position */
    uint64_t bytes;   /* EAGER, RTS: the whole payload; DATA: where this piece begins; REVOKE: 1 if an answer
                         is wanted; LOST for ERR_PEER_LOST: 1 if the rank is given up, for ERR_MISMATCH: the tag that
                         showed it; GIVE_UP: 1 if its sender is; WHERE: the tag that its sender starts next */
    nbcoll_key key;   /* RTS; WHERE: its first word is 1 if there is a fingerprint */
    uint32_t to;      /* the receiver's rank in the communicator */
    uint32_t count;   /* STALLED: its number; EAGER, RTS: none up to this one waits any more, or 0; REVOKE: so many
                         operations behind this one are revoked, too */
} nbcolli_header;

_Static_assert(sizeof(nbcolli_header) == sizeof(nbcoll_header), "the header fills its words");

static inline nbcoll_header nbcolli_pack(const nbcolli_header *h)
{
    nbcoll_header wire;
    memcpy(&wire, h, sizeof wire);
    return wire;
}

static inline nbcolli_header nbcolli_unpack(const nbcoll_header *wire)
{
    nbcolli_header h;
    memcpy(&h, wire, sizeof h);
    return h;
}

#define NBCOLLI_APART 128 /* bytes between words that different ranks write: two cache lines, fetched together */

typedef struct nbcolli_link nbcolli_link;
typedef struct nbcolli_cell nbcolli_cell;
typedef struct nbcolli_op nbcolli_op;
typedef struct nbcolli_request nbcolli_request;
typedef struct nbcolli_shrink nbcolli_shrink; /* src/engine/5_match/shrink.c */

typedef enum nbcolli_where {
    NBCOLLI_FREE,    /* not under way */
    NBCOLLI_BACKLOG, /* refused with NOT_NOW: in its link's backlog */
    NBCOLLI_LENT,    /* the transport has it */
    NBCOLLI_STUCK    /* will never leave: its peer or transport is lost */
} nbcolli_where;

/* A message or get under way. The work request comes first: a returned work request is its post. */
typedef struct nbcolli_post {
    nbcoll_work work;
    nbcoll_header wire; /* a packed nbcolli_header */
    const void *payload;
    size_t bytes;
    nbcolli_link *link;
    struct nbcolli_post *next; /* in a backlog, a pool, or, a control message, among the lent ones of its link */
    struct nbcolli_post **at; /* in a backlog, or among those: what points to it; else null */
    nbcolli_op *op;            /* null: a control message, whose post returns to the pool */
    int peer;                  /* on the link */
    uint8_t where;             /* nbcolli_where */
} nbcolli_post;

/* A message that came before its receive was ready, or before its operation or communicator existed here. */
typedef struct nbcolli_unexpected {
    struct nbcolli_unexpected *next;
    size_t capacity, bytes;
    nbcolli_link *link;
    int source; /* on the link */
    nbcolli_header header;
    _Alignas(8) unsigned char payload[];
} nbcolli_unexpected;

/* ---- runs ------------------------------------------------------------------------------------------------------ */

/* What a step with a peer is doing. The phase ends when its post is free and, where noted, an answer has come. */
typedef enum nbcolli_phase {
    NBCOLLI_IDLE,       /* its step is not ready */
    NBCOLLI_STALLING,   /* send: waits for a credit, or to be asked for */
    NBCOLLI_SENT_EAGER, /* send */
    NBCOLLI_SENT_RTS,   /* send; then FIN or CTS */
    NBCOLLI_SENT_DATA,  /* send; again until all pieces went */
    NBCOLLI_POSTED,     /* receive: its message has not come */
    NBCOLLI_GETTING,    /* receive: a get */
    NBCOLLI_SENT_FIN,   /* receive */
    NBCOLLI_SENT_CTS,   /* receive; then all pieces */
    NBCOLLI_REUSING,    /* exposure: an earlier one's readers are not through */
    NBCOLLI_EXPOSED,    /* exposure: its memory is lent to its readers */
    NBCOLLI_LOOKING,    /* fetch: its part is not there */
    NBCOLLI_FETCHING,   /* fetch: a get */
    NBCOLLI_USING,      /* fetch: what was found or got is copied or combined */
    NBCOLLI_SETTLED     /* over, well or not */
} nbcolli_phase;

struct nbcolli_op {
    nbcolli_post post;
    nbcolli_run *run;
    nbcolli_unexpected *unexpected; /* the message, if it came before the RECV was ready */
    size_t moved;         /* bytes of pieces sent or arrived; pieces shown; where a get begins; bytes used */
    const unsigned char *found; /* what is being used */
    nbcoll_key key;       /* of what we expose, or get */
    nbcolli_op *watch_next, **watch_at; /* in the context's list of those that wait for shared memory, in its run's of
                                           those in the middle of something, or in its peer's of those that stall */
    nbcoll_step step;
    uint32_t cell;       /* exposure: its own; fetch: where it looks */
    uint32_t part, keys; /* exposure: its first entry in the table; how many from there on may have keys */
    uint8_t phase; /* nbcolli_phase */
    uint8_t fin, refused, cts; /* answers seen; of a receive, fin: its last one has been tried */
    uint8_t keyed;             /* `key` is to be withdrawn */
    uint8_t recalled;          /* its lent post has been asked for */
    uint8_t may_go;            /* send: stalls no more, but for its post */
    uint8_t status;            /* send: of its EAGER or RTS, see the header */
    int suspect;               /* 1 + the rank that has ended the operation without what this waits for, it seems */
};

typedef enum nbcolli_run_state {
    NBCOLLI_RUN_POOLED,
    NBCOLLI_RUN_ACTIVE,
    NBCOLLI_RUN_SETTLING /* failed; waits until nobody holds its buffers */
} nbcolli_run_state;

#define NBCOLLI_STEP_OVER UINT32_MAX /* a step's counter after its end */

struct nbcolli_run {
    nbcolli_run *next;         /* in a pool */
    nbcolli_run *next_failing; /* in the context's list of those to settle */
    nbcoll_schedule *schedule;
    nbcoll_comm *comm;
    nbcolli_request *request;
    uint64_t tag;
    unsigned char *base[NBCOLL_BUFFER_COUNT];
    size_t memory;
    uint32_t remaining;  /* steps not ended; START and END not counted */
    uint32_t head, tail; /* of ready[] */
    size_t place;        /* bytes done of the COPY or REDUCE at the head */
    nbcolli_op *unfinished;             /* in the middle of what needs more bytes than a pass had left */
    nbcolli_run *delayed, **delayed_at; /* in the context's list of those with steps or ops for further passes */
    uint32_t *before;    /* [steps]: ends each step still waits for, or NBCOLLI_STEP_OVER */
    nbcoll_step *ready;  /* [steps]: each step enters once */
    nbcolli_op *op;      /* [ops] */
    nbcoll_piece *pieces; /* for the CALL with most regions */
    unsigned char *bounce; /* where a FETCH_REDUCE gets what it cannot read in place */
    nbcoll_piece *packed[2]; /* of the send and the receive buffer: bound blocks as they travel, in `room` */
    unsigned char *room;     /* grows as the counts of a start demand */
    size_t room_bytes;
    uint8_t *answered;   /* [ranks]: it will not read what our cells lend */
    uint32_t cells, parts; /* of those that this rank may write: used */
    nbcoll_status status;
    int cause;
    uint8_t state; /* nbcolli_run_state */
    uint8_t listed; /* it is in the context's list of failing runs */
    uint32_t stuck; /* rounds since it moved last */
    uint32_t suspected; /* `stuck` when `suspect` was set */
    int suspect;    /* 1 + a rank that has ended the operation without what this one waits for, it seems, or 0 */
    uint64_t mark;  /* how far it had come in the last round */
};

/* ---- requests -------------------------------------------------------------------------------------------------- */

typedef enum nbcolli_request_state {
    NBCOLLI_REQUEST_FREE,
    NBCOLLI_REQUEST_INACTIVE, /* persistent, between runs */
    NBCOLLI_REQUEST_ACTIVE,
    NBCOLLI_REQUEST_ENDED /* its end has not been reported */
} nbcolli_request_state;

/* The blocks of a buffer, one for each rank, as the call described them: the arrays are the caller's. */
typedef struct nbcolli_blocks {
    const size_t *counts;     /* null: every block is the first `count` elements of the buffer */
    const size_t *displs;     /* elements; with `types`: bytes */
    const nbcoll_type *types; /* null: all of `type` */
    nbcoll_type type;
    size_t element; /* bytes of one of `type` there */
    size_t count;
    size_t all; /* of the receive buffer: elements in it; NBCOLLI_AS_COUNTED: what counts and displs say */
} nbcolli_blocks;

#define NBCOLLI_AS_COUNTED SIZE_MAX

struct nbcolli_request {
    atomic_uint state, generation; /* written under the context's lock; read by losers of the try-lock */
    uint32_t index;
    uint8_t reported_before; /* callbacks reported ends of generations before those of `reported` */
    uint64_t reported;       /* bit i: a callback reported the end of the generation 1 + i before this one */
    uint8_t persistent; /* from here on: zeroed when it is opened */
    uint8_t detached; /* released by itself at its end */
    uint8_t calling;  /* in the list of callbacks to run */
    nbcoll_status status;
    nbcolli_run *run; /* while active and not waiting for its slot */
    uint64_t tag;     /* of its last start */
    nbcoll_schedule *schedule;
    nbcoll_comm *comm;
    const void *send;
    void *recv;
    nbcolli_blocks blocks[2]; /* of the send and the receive buffer, for bound blocks */
    nbcoll_done *done;
    void *user;
    nbcoll_comm *creating;  /* the communicator that this request makes */
    nbcolli_request *next;  /* in the free list, the ended list, or its communicator's queue */
    nbcolli_request *next_persistent;
};

/* Chunk i of the table holds 64 << i requests. */
#define NBCOLLI_REQUEST_CHUNK 64u
#define NBCOLLI_REQUEST_CHUNKS 24u

/* ---- communicators --------------------------------------------------------------------------------------------- */

/* Revoked operations in a row that have not been started here yet. */
typedef struct nbcolli_pending_revoke {
    struct nbcolli_pending_revoke *next, *before;
    uint64_t first, last; /* tags */
    nbcoll_status status;
    int cause;
} nbcolli_pending_revoke;

#define NBCOLLI_PENDING_REVOKES 1024u /* such ranges, at most: with more the communicator breaks */

/* Index = tag modulo K: at most one operation of those runs; the later ones wait (queue.h). */
typedef struct nbcolli_slot {
    nbcolli_run *active;
    uint64_t next; /* 1 + the tag that gets the slot from the drain; 0: none */
    struct nbcolli_slot *next_free; /* in the context's list */
    nbcoll_comm *comm;              /* while listed there */
    uint32_t listed;
    uint64_t exposed; /* 1 + the last tag that wrote our cells */
    uint64_t failed;  /* 1 + the last tag that failed here without the slot, and is to be raised; 0: none */
    uint64_t well_since; /* the turn after the last one that failed here */
} nbcolli_slot;

typedef struct nbcolli_peer {
    nbcolli_link *link;
    int address;     /* rank on the link */
    int32_t credits; /* messages that we may still send unasked; may be below zero while the ranks agree */
    uint32_t owed;   /* credits to give back */
    nbcolli_op *stalling, **stalling_end; /* sends that wait for a credit */
    uint32_t stalls;     /* the number of the last one to it */
    uint32_t seen, over; /* of its own: the last one that has come; up to which none waits any more */
    nbcolli_post *revoke; /* the last REVOKE to it that was refused: others may join it while it waits */
    uint8_t given_up; /* the other members have been told so */
    uint8_t absent;   /* it has not made this communicator, and holds nothing of ours */
} nbcolli_peer;

#define NBCOLLI_STARTED 16u /* operations that a rank remembers to have started: a pair of lines */

/* What a rank knows of where another one is. */
typedef struct nbcolli_told {
    uint64_t want; /* 1 + the lowest tag in which a run waits for it, in this round; 0: none */
    uint64_t tag;  /* of its last answer */
    uint64_t next; /* as it said then: the tag that it starts next; 0: not known */
    int late;      /* 1 + a rank that has not started `tag`, as it said then, or 0 */
    uint8_t position; /* nbcoll_position: its own, in `tag` */
    uint8_t asked;    /* it has still to answer */
    uint64_t owed;    /* 1 + the tag of which it wants to know from us; 0: none */
} nbcolli_told;

typedef struct nbcolli_cached {
    struct nbcolli_cached *next; /* in its bucket */
    struct nbcolli_cached *newer, *older;
    uint32_t hash;
    size_t memory;    /* of the entry and its copies of arrays */
    nbcoll_args args; /* its arrays are copies */
    nbcoll_schedule *schedule;
} nbcolli_cached;

typedef struct nbcolli_cache {
    nbcolli_cached **bucket;
    uint32_t buckets, entries, limit;
    nbcolli_cached *newest, *oldest;
} nbcolli_cache;

/* The call that makes a communicator. */
typedef enum nbcolli_creation { NBCOLLI_CREATE, NBCOLLI_DUP, NBCOLLI_SPLIT, NBCOLLI_SPLIT_SHARED,
                                NBCOLLI_SHRINK } nbcolli_creation;

/* What each rank says when a communicator is made, and what all of them then go by. */
typedef struct nbcolli_vote {
    uint32_t abi, address, serial;
    int32_t colour, key;
    uint32_t slots, cells, credits;
    uint32_t alpha_ns, beta_ps, overhead_ns, get_ns, gamma_ps, eager_ps;
    uint32_t flags;
    uint32_t shares; /* see src/engine/4_comm/area.c */
    uint32_t rules;  /* their hash: the same in all votes; so are the credits */
    uint32_t eager;  /* bytes up to which it announces no message */
    uint32_t creation; /* the call: the same in all votes */
    uint32_t unused;   /* nothing lies between members: all of a vote is sent */
    uint64_t large;
    uint64_t area;   /* the memory that it gives for its part of the cells; 0: none */
} nbcolli_vote;

/* Shared memory that this rank has reserved: for its part of a communicator's cells, or for the program. */
typedef struct nbcolli_area {
    struct nbcolli_area *next;
    uint64_t at;
    unsigned char *base;
    size_t bytes;
    int room;           /* of address[] */
    int ranks;          /* that will leave it, once its communicator is freed */
    uint32_t address[]; /* of those, on the link */
} nbcolli_area;

/* Where things are in each rank's part of the cells: offsets in bytes (cells.h). */
typedef struct nbcolli_layout {
    size_t slots;          /* the first slot, behind the words that say who has left */
    size_t stride;         /* of the slots */
    size_t readers, parts; /* in a slot, behind the row of words: the table */
    size_t cells;          /* in a slot, behind the table */
} nbcolli_layout;

/* What is left of a freed communicator where an operation failed: others may not know yet. */
typedef struct nbcolli_tombstone {
    struct nbcolli_tombstone *next;
    uint64_t id, failed_floor;
} nbcolli_tombstone;

struct nbcoll_comm {
    nbcoll_comm *next;                /* in its bucket of the link */
    nbcoll_comm *sister, **sister_at; /* in the context's list */
    nbcoll_context *context;
    nbcolli_link *link;
    uint64_t id; /* the first rank's address, then its serial number there */
    uint64_t vote_comm, vote_tag; /* the operation that made it; of the first of a link its own first one */
    uint64_t next_tag;
    uint64_t failed_floor; /* tags below it may have left messages behind */
    size_t active, memory;
    int rank, size;
    nbcoll_status broken; /* ERR_PEER_LOST; ERR_CANCELLED if not all ranks have made it; or ERR_MISMATCH when the ranks
                             are out of step */
    nbcoll_failure failure; /* what broke it, or its last failed operation */
    int listed;           /* known to its link, under its id */
    int departed;         /* some of its ranks have departed */
    uint32_t shrinks;     /* started here */
    nbcolli_tombstone *tombstone;   /* its own, empty */
    nbcoll_comm_config config;
    nbcolli_vote agreed;
    nbcolli_peer *peer;
    nbcolli_told *told; /* [size] */
    _Atomic uint64_t *started; /* [NBCOLLI_STARTED]: those below, or in the area. See ask.h */
    _Atomic uint64_t started_here[NBCOLLI_STARTED];
    nbcolli_slot *slot;
    nbcolli_request **queue; /* [queue_room], by hash: those that wait for their slot */
    size_t queue_room, queued;
    nbcolli_unexpected **unexpected; /* [unexpected_room], by hash: messages of operations that do not run here yet */
    size_t unexpected_room;
    nbcolli_pending_revoke *pending_revokes, *last_pending; /* rising tags */
    uint32_t pending_count;
    nbcolli_request *persistent;
    nbcolli_cache cache;
    unsigned char **area;  /* [size]: each rank's part of the cells; null: there are none */
    unsigned char **parts; /* [size]: of those, what has been found */
    nbcolli_layout layout; /* of each part */
    int shared;            /* exposures between any two of its ranks need no messages */
    int lacking;           /* the lowest rank that had no memory for its part, or -1 */
    nbcolli_area *offered; /* this rank's part */
    size_t offered_bytes;  /* what that takes, or would take */
    uint16_t *exposed;     /* [slots][size]: parts that a slot's cells last showed to each reader */
    /* while it is being made */
    int making;            /* and it stays so if that fails */
    nbcoll_status spoiled; /* why it will not be made though its vote ended well here */
    nbcoll_comm *parent;   /* null: the first of its link */
    nbcolli_vote *votes; /* [parent's size] */
    nbcoll_schedule *agreement;
    nbcolli_shrink *shrink; /* that makes it */
    nbcoll_comm **out;
};

/* ---- contexts -------------------------------------------------------------------------------------------------- */

#define NBCOLLI_COMM_BUCKETS 256u

/* What happened to a rank, in bits. One that is CUT off may be alive, hear us, and touch what we have announced to it:
 * communicators with it break. One that LEFT has closed its end, and all that it sent has been handled: it touches
 * nothing any more, and only what still needs it ends. DEAD is both. OVER: the transport has said so.
 *
 * One that is GIVEN_UP counts as dead, but may be alive: it is not heard any more, and may still write what it could
 * write before, until it is OVER; UNTOLD: it does not know. Of one that has REJECTED us the same is true, and it is we
 * who are lost. UNSAID: this rank is starved, and it does not know. */
typedef enum nbcolli_loss {
    NBCOLLI_HERE = 0,
    NBCOLLI_CUT = 1,
    NBCOLLI_DEPARTED = 2,
    NBCOLLI_DEAD = 3,
    NBCOLLI_OVER = 4,
    NBCOLLI_GIVEN_UP = 8 | NBCOLLI_DEAD,
    NBCOLLI_REJECTED = 16 | NBCOLLI_GIVEN_UP,
    NBCOLLI_UNTOLD = 32,
    NBCOLLI_UNSAID = 64
} nbcolli_loss;

/* An endpoint in a context. */
struct nbcolli_link {
    nbcolli_link *next;
    nbcoll_context *context;
    nbcoll_endpoint *endpoint;
    nbcoll_transport transport; /* the endpoint's table, completed; its groups are those below */
    nbcoll_bulk bulk;
    nbcoll_wakeup wakeup;
    nbcoll_shared shared;
    nbcolli_area *areas;  /* of freed communicators, which others may still use */
    nbcolli_area *memory; /* the program's */
    nbcolli_post *backlog, **backlog_end;
    nbcolli_unexpected *orphans; /* messages of communicators that are being made */
    nbcolli_tombstone *tombstones;
    uint32_t credits;  /* of each peer */
    uint32_t creating; /* communicators that are being made */
    int unmade;        /* the making of one has failed: other ranks may have it */
    uint32_t serial; /* last one given to a communicator */
    uint32_t lent;   /* work requests that the transport has */
    nbcolli_post *lent_controls; /* of those, the control messages */
    int untold;      /* ranks that are given up and have not been told */
    int rejected;    /* a rank has given us up */
    nbcolli_shrink *shrinks; /* under way, or over and not known by all */
    int starved;     /* there was no memory for a message that another rank waits for: we have given us up */
    int unsaid;      /* ranks that do not know */
    nbcolli_post *farewells; /* reserved, one for each rank: what tells it so */
    uint8_t *loss;   /* [ranks]: nbcolli_loss */
    int losses;      /* changes there, of which the communicators have not been told */
    nbcoll_comm *bucket[NBCOLLI_COMM_BUCKETS];
};

struct nbcoll_context {
    nbcoll_host host;
    const volatile uint32_t *alive; /* a page of its own that fork wipes */
    const nbcoll_observer *observer;
    uint32_t flags, credits;
    atomic_uintptr_t lock; /* 0, or who is inside: the mark of its thread where any may come, else 1 */
    atomic_uint outside;   /* calls that are in a host function without the lock, and will come back */
    nbcolli_link *links;
    nbcoll_comm *comms;
    nbcoll_schedule *schedules; /* those whose runs are pooled for it */
    nbcolli_post *controls;      /* pool */
    uint32_t posts;              /* of the pool, used or not */
    nbcolli_unexpected *unexpected_pools[2];   /* pools: without and with payload */
    nbcolli_pending_revoke *pending_revokes;         /* pool */
    nbcolli_slot *free_slots;    /* that others wait for */
    nbcolli_run *failing;        /* to settle */
    nbcolli_request *ended;      /* whose callbacks are to run, or that release themselves */
    nbcolli_request *made;       /* ended communicator creations */
    nbcolli_op *watched;         /* that wait for shared memory */
    nbcolli_run *delayed, **delayed_end; /* runs with work for which a pass had no bytes left, in order of turns */
    ptrdiff_t bytes_left; /* that this pass may still copy, combine or send; below zero by a small step's at most */
    nbcolli_request *chunk[NBCOLLI_REQUEST_CHUNKS]; /* the request table: they never move */
    atomic_uint chunks;          /* as a request's state */
    nbcolli_request *free_requests;
    size_t active;    /* requests */
    int poller;       /* epoll descriptor over the wakeups; -1: there is none */
    int silent_links; /* endpoints without a wakeup */
    int crowded;      /* more ranks than cores: yield at once */
    uint32_t passes, passes_left; /* between two looks at the clock; before the next one */
    uint64_t looked_at;           /* the clock then */
    uint64_t round_at;            /* when the next round of asking is due */
    nbcoll_failure failure;
};

/* Spreads what is found by tag: tags in use may be multiples of a power of two. */
static inline size_t nbcolli_hash(uint64_t tag)
{
    return (size_t)(tag * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

static inline nbcolli_slot *nbcolli_slot_of(nbcoll_comm *comm, uint64_t tag)
{
    return &comm->slot[tag % comm->config.slots];
}

/* Will it touch nothing, and answer nothing, any more? */
static inline int nbcolli_has_departed(const nbcoll_comm *comm, int rank)
{
    const nbcolli_peer *peer = &comm->peer[rank];
    return peer->absent || peer->link->loss[peer->address] & NBCOLLI_DEPARTED;
}

static inline int nbcolli_is_given_up(const nbcolli_link *link, int address)
{
    return (link->loss[address] & NBCOLLI_GIVEN_UP) == NBCOLLI_GIVEN_UP;
}

static inline int nbcolli_is_dead(const nbcolli_link *link, int address)
{
    return (link->loss[address] & NBCOLLI_DEAD) == NBCOLLI_DEAD;
}

/* Block i of a buffer as it travels, at `at`. */
static inline nbcoll_piece nbcolli_block_packed(const nbcolli_blocks *blocks, unsigned char *at, size_t i)
{
    nbcoll_type type = blocks->types ? blocks->types[i] : blocks->type;
    return (nbcoll_piece){at, (blocks->counts ? blocks->counts[i] : blocks->count) * nbcolli_packed_size(type), type};
}

/* Where block i of a buffer lies. */
static inline nbcoll_piece nbcolli_block(const nbcolli_blocks *blocks, unsigned char *base, size_t i)
{
    nbcoll_type type = blocks->types ? blocks->types[i] : blocks->type;
    size_t element = blocks->types ? nbcoll_type_size(type) : blocks->element;
    size_t bytes = (blocks->counts ? blocks->counts[i] : blocks->count) * element;
    size_t place = blocks->counts ? blocks->displs[i] * (blocks->types ? 1 : element) : 0;
    return (nbcoll_piece){bytes ? base + place : base, bytes, type}; /* nothing may lie nowhere */
}

/* Where a region of the schedule lies in this run, and its bytes. */
static inline nbcoll_piece nbcolli_resolve(const nbcolli_run *run, nbcoll_region r)
{
    if (!nbcolli_is_block(r.at))
        return (nbcoll_piece){run->base[r.at.buffer] + (r.bytes ? r.at.offset : 0), r.bytes, NBCOLL_BYTE};
    int is_recv = nbcolli_is_recv_block(r.at);
    if (nbcolli_is_packed(r.at))
        return run->packed[is_recv][r.at.offset];
    return nbcolli_block(&run->request->blocks[is_recv], run->base[is_recv ? NBCOLL_BUFFER_RECV : NBCOLL_BUFFER_SEND],
                         r.at.offset);
}

/* The cause of a break stays the communicator's. */
static inline void nbcolli_note(nbcoll_comm *comm, const nbcoll_failure *f)
{
    comm->context->failure = *f;
    if (comm->broken == NBCOLL_OK)
        comm->failure = *f;
}

static inline void nbcolli_note_failure(nbcoll_comm *comm, nbcoll_status s, int rank, uint64_t tag)
{
    nbcoll_failure f = {s, rank, tag, comm, NBCOLL_POSITION_UNKNOWN, 0};
    nbcolli_note(comm, &f);
}

/* Is this the process that made the context? One load: fork has wiped the page in a child. */
static inline int nbcolli_is_forked(const nbcoll_context *c)
{
    return *c->alive != 1;
}

#endif
