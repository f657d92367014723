/* SPDX-License-Identifier: BSD-3-Clause
 * Communicators: slots, peers, votes, caches, and the memory of their cells. Inline: look-ups. */
#ifndef NBCOLLI_ENGINE_STATE_COMMUNICATOR_H
#define NBCOLLI_ENGINE_STATE_COMMUNICATOR_H

#include "nbcoll/nodes.h"
#include "history.h"
#include "request.h"

/* Revoked operations in a row that have not been started here yet. */
typedef struct nbcolli_pending_revoke {
    struct nbcolli_pending_revoke *next;
    uint64_t first, last; /* tags */
    nbcoll_status status;
    int cause;
} nbcolli_pending_revoke;

#define NBCOLLI_PENDING_REVOKES 1024u /* such ranges, at most: with more the communicator breaks */

/* Index = tag modulo K: at most one operation of a slot runs; later ones wait (queue.h). */
struct nbcolli_slot {
    nbcolli_run *active; /* a start that finds it free, or the drain, sets it; progress clears it at the run's end */

    /* Progress writes these; for an operation that is cancelled before it has the slot, the call that cancels. */
    nbcolli_list waiting;           /* requests that wait for the slot (run/queue.h): the first gets it next */
    struct nbcolli_slot *next_free; /* in the context's list */
    nbcoll_comm *comm;              /* while listed there; else null */
    uint64_t exposed; /* 1 + the last tag that wrote our cells */
    uint64_t failed;  /* 1 + the last tag that failed here without the slot: its words are yet to be raised. 0: none */
    uint64_t well_since; /* no operation failed here in this turn of the slot, or a later one */
    _Atomic uint64_t *own_word; /* made, with the cells: this rank's word for its own parts; without cells the
                                   communicator's `nothing` */
    size_t at, row;             /* made, with the cells: offsets in each rank's part: of it, of its row of words */
    uint16_t *shown_to;         /* likewise: readers of what it shows, if one word tells them; else 0 */
};

/* How large data comes to and goes from a peer: in fragments, by gets of the receiver, or by puts of the sender. */
typedef enum nbcolli_way { NBCOLLI_BY_FRAGMENTS, NBCOLLI_BY_GET, NBCOLLI_BY_PUT } nbcolli_way;

/* The windows between this rank and another one of the endpoint, whatever the communicator (credit.h). */
struct nbcolli_pair {
    /* Made. */
    size_t payload; /* bytes that a message may carry beside its header */
    uint8_t way;    /* nbcolli_way */
    uint32_t most_owed; /* at this many, a CREDIT gives them back alone */

    /* Senders, in a call or in progress, take credits; arrivals, in progress, give them back. */
    int32_t credits; /* messages that may be sent unasked; below 0: sent because the peer asked */
    nbcolli_list stalling; /* sends that wait for a credit */
    uint32_t stalls;     /* the number of the last send to it that stalled */
    uint32_t told;       /* the peer knows that no send up to this number stalls any more */
    nbcolli_channels *channels; /* both ways; null: none yet */
    uint32_t owed;              /* credits to give back */
    uint32_t epoch;      /* from 1 on: channels of earlier ones mean nothing any more */
    uint32_t version;    /* of the channels from it: 1 + those opened */

    /* Progress. */
    uint32_t seen, over;   /* the last number that a STALLED of its said; up to which none of its sends stalls */
    uint32_t kept, let_go; /* messages of its that are kept here; how often one of these was let go */
    uint32_t refused; /* posts to it in the link's backlog */
};

typedef struct nbcolli_peer {
    /* Made. */
    nbcolli_link *link;
    int address;        /* rank on the link */
    int home;           /* rank on the communicator's home */
    nbcolli_pair *pair; /* the link's, of that rank */

    /* Progress. */
    uint8_t given_up; /* this rank has told the other members that it is given up */
    uint8_t is_near;  /* made: the first endpoint of both is the same one */
    uint8_t absent;   /* it has not made this communicator, and holds no memory of ours */
} nbcolli_peer;

#define NBCOLLI_STARTED 64u /* operations that a rank remembers to have started */

/* What is known of a call: an nbcoll_operation, or one of these. */
typedef enum nbcolli_called_kind {
    NBCOLLI_CALLED_OWN = NBCOLL_OPERATION_COUNT, /* only its fingerprint is known: a program's schedule */
    NBCOLLI_CALLED_NOTHING,                      /* yet */
    NBCOLLI_CALLED_LONG_AGO                      /* it is forgotten */
} nbcolli_called_kind;

/* What a rank has called as an operation (run/called.h). */
typedef struct nbcolli_called {
    uint64_t tag;  /* 1 + its tag; 0: nothing is known */
    uint64_t what; /* the count, 48 bits; above them op and type, as they are predefined; else 255 */
    uint32_t before, fingerprint; /* the upper half of the history before it; its schedule's */
    uint32_t root;                /* UINT32_MAX: it has none */
    uint8_t kind;                 /* nbcolli_called_kind */
} nbcolli_called;

#define NBCOLLI_CALLS 64u

/* What this rank knows of another one's place. Progress writes it: in rounds of asking, and when answers come. */
typedef struct nbcolli_told {
    uint64_t want; /* 1 + the tag about which this rank will ask it in this round; 0: none */
    uint64_t tag;  /* of its last answer */
    uint64_t next; /* the tag that it starts next, by that answer; 0: not known */
    uint32_t late; /* 1 + a rank that has not started `tag`, by that answer, or 0; and hops (match/ask.c) */
    uint8_t position; /* nbcoll_position: where it was in `tag` */
    uint8_t asked;    /* it has still to answer */
    uint64_t spoken;  /* 1 + the lowest tag whose call we have told it; 0: none */
    uint8_t is_through; /* it will tell no more calls */
    uint8_t has_freed;  /* the communicator: it will tell none, either */
    uint32_t kept, let_go; /* those of its pair, as they were when it was asked */
    nbcolli_called called; /* what it has told: the call of the lowest tag */
} nbcolli_told;

typedef struct nbcolli_cached {
    struct nbcolli_cached *next; /* in its bucket */
    nbcolli_list_item age; /* in its cache's `entries` */
    uint32_t hash;
    size_t memory;    /* of the entry and its copies of arrays */
    nbcoll_args args; /* its arrays are copies */
    nbcoll_schedule *schedule;
    uint64_t what; /* the word of the last call that found it by its note; that call's receive bytes */
    size_t extent;
} nbcolli_cached;

#define NBCOLLI_NOTES 32u /* a power of two */

typedef struct nbcolli_cache {
    nbcolli_cached **bucket; /* [buckets] */
    nbcolli_list entries;    /* what was used longest ago comes first */
    uint32_t buckets, limit;
    uint32_t spared;         /* so many entries are kept whatever they take */
    size_t bytes, most;      /* of entries, schedules and their runs; what they may take */
    uint64_t built, evicted;
    nbcolli_cached *memo[NBCOLLI_NOTES]; /* by words of calls (comm/cache.h) */
} nbcolli_cache;

/* The call that makes a communicator. */
typedef enum nbcolli_creation { NBCOLLI_CREATE, NBCOLLI_DUP, NBCOLLI_SPLIT, NBCOLLI_SPLIT_SHARED,
                                NBCOLLI_SHRINK } nbcolli_creation;

/* What each rank says when a communicator is made, and the terms that follow for all. */
typedef struct nbcolli_vote {
    uint32_t abi, address, serial;
    int32_t colour, key;
    uint32_t slots, cells, credits;
    uint32_t interfaces; /* 0: not shared */
    uint32_t flags;
    uint32_t shares; /* see comm/area.h */
    uint32_t rules;  /* their hash: the same in all votes; so are the credits */
    uint32_t creation; /* the call: the same in all votes */
    uint32_t staging, staging_part; /* bytes of its staging buffer; of a part there: see nbcoll_shared */
    uint32_t progress_cores, ranks_per_core, unused; /* nothing lies between members: all of a vote is sent */
    nbcoll_level near, far; /* prices of the first endpoint, and of the last */
    uint64_t large;
    uint64_t node, domain; /* the numbers that the host has given this rank's; 0: none */
    uint64_t area;   /* the memory that it gives for its part of the cells; 0: none */
} nbcolli_vote;

/* What a rank says of one of its endpoints but the last, behind its first vote. */
typedef struct nbcolli_side {
    uint64_t identity[2];
    uint32_t address, ranks, credits, unused;
} nbcolli_side;

/* Shared memory that this rank has reserved: for its part of a communicator's cells, or for the program. */
typedef struct nbcolli_area {
    struct nbcolli_area *next;
    uint64_t at;
    unsigned char *base;
    size_t bytes;
    nbcoll_registration registration; /* of the program's, where the transport shares no memory */
    int room;           /* of address[] */
    int ranks;          /* of its communicator: each must leave it when that is freed */
    uint32_t address[]; /* their addresses on the link; UINT32_MAX: a rank that does not know of it */
} nbcolli_area;

/* Where things are in each rank's part of the cells: offsets in bytes (cells.h). */
typedef struct nbcolli_layout {
    size_t words, row;     /* the first slot's row of words, behind those that say who has left; from one to the next */
    size_t slots, stride;  /* the first slot; from one to the next */
    size_t readers, parts; /* in a slot: the table */
    size_t cells;          /* in a slot */
} nbcolli_layout;

/* Kept of a freed communicator on which an operation failed: others may not know yet. */
typedef struct nbcolli_tombstone {
    struct nbcolli_tombstone *next;
    uint64_t id, failed_floor;
} nbcolli_tombstone;

/* How a communicator was when it was freed. */
typedef enum nbcolli_freeing {
    NBCOLLI_FREED_WELL = 1, /* all that its rank started there ended well */
    NBCOLLI_FREED_FAILED,   /* not all */
    NBCOLLI_FREED_TOLD      /* the others know or will see: it was broken, was not made, the operation in question
                               failed, or its rank leaves */
} nbcolli_freeing;

struct nbcoll_comm {
    /* Made, or by progress at the end of the creation. */
    nbcoll_context *context;
    nbcolli_link *link; /* a home */
    uint64_t id; /* the first rank's address, then its serial number there; NBCOLLI_NO_COMM until it is known */
    uint64_t vote_comm, vote_tag; /* the operation that made it; for the first of a link, its own first one; for a
                                     shrink, a tag that no operation has */
    size_t memory;
    int rank, size;
    uint32_t holders;     /* relays and messages that need it until they are closed */
    int listed;           /* its link finds it, by its id */
    nbcolli_tombstone *tombstone;   /* its own, empty */
    nbcolli_slot *slot; /* [config.slots]; those three structs say who writes their members */
    nbcolli_peer *peer; /* [size] */
    nbcolli_told *told; /* [size] */
    nbcoll_comm_config config;
    nbcolli_vote agreed;
    nbcoll_nodes nodes, domains; /* in `node`, and behind it in `domain` */
    int has_named;      /* the host has named its nodes, or those that it has from its parent */
    int *node, *domain;
    unsigned char **area;  /* [size]: the part of the cells of each rank that is near; null: there are none */
    unsigned char **parts; /* [size]: of those, the ones that were found */
    nbcolli_layout layout; /* of each part */
    uint64_t reader_bit;   /* this rank's in `readers` of a cell (nbcolli_reader_bit) */
    int leader;            /* this rank's leader, if only leaders show anything, to their nodes; -1: all may show */
    int shared;            /* all are near: exposures between any two of its ranks need no messages */
    int nodes_share;       /* those of each node are near each other, and have cells */
    int lacking;           /* the lowest rank that had no memory for its part, or -1 */
    nbcolli_area *offered; /* this rank's part */
    size_t offered_bytes;  /* what that takes, or would take */

    /* Lists of communicators: calls that make and free; of one that is not made in the end, progress. */
    nbcoll_comm *next;                /* in its bucket of the link */
    nbcoll_comm *sister, **sister_at; /* in the context's list */

    /* The caller's side: starts, and what is opened and cached for them. */
    uint64_t next_tag; /* of the next start; and */
    uint64_t history;  /* what went before that (history.h) */
    nbcolli_list persistent; /* requests */
    nbcolli_cache cache;
    nbcolli_executor *executors; /* relays first, then the agent's. Changed by calls that also hold the lock */
    atomic_size_t carries;       /* as in terms; any thread reads it, relaxed */

    nbcolli_called calls[NBCOLLI_CALLS]; /* by fingerprint, without tags: calls that schedules were built for */
    nbcolli_called refused; /* the last start that was refused because ranks are out of step */

    /* Progress, when it takes over what starts have handed to it. */
    uint64_t taken; /* tags below it have been taken */
    _Atomic uint64_t *started; /* [NBCOLLI_STARTED]: those below, or in the area. See ask.h */
    _Atomic uint64_t started_here[NBCOLLI_STARTED];
    _Atomic uint64_t nothing; /* where no cells are: nobody reads it */
    uint32_t shrinks, shrinking; /* started here; and not over: the call, and progress */

    /* Progress, and a call that cancels. */
    size_t active;
    _Atomic uint64_t ended; /* operations that are over; read by starts, for which an older number will do */

    /* Progress adds, takes those of what is handed over, and at the end of the communicator all. */
    nbcolli_pending_revoke *pending_revokes; /* the newest range first; of several with a tag the oldest counts */
    uint32_t pending_count;

    /* Progress. Calls that cancel, and deadlines, note a failure, too. */
    uint16_t *exposed;     /* [slots][size]: parts that a slot's cells last showed to each reader. This rank's own entry
                              is 0; or, of one part, NBCOLLI_SHOWN_ALL or 1 + the only reader: then no count is read */
    uint64_t failed_floor; /* tags below it may have left unexpected messages */
    atomic_uint broken; /* OK; ERR_PEER_LOST; ERR_CANCELLED if not all ranks have made it; or ERR_MISMATCH when the
                           ranks are out of step. Read by starts, relaxed */
    nbcoll_failure failure; /* what broke it, or its last failed operation */
    uint32_t hears; /* while ranks are out of step: a failing run waits for so many more rounds of asking to hear what
                       others called */
    int departed;         /* some of its ranks have departed */
    uint64_t freed_told;  /* 1 + the lowest tag of which this rank has told all that it will not start, since one has
                              freed the communicator; 0: none */

    /* While it is being made: the call that begins it, then progress. */
    int making;            /* it is being made; this stays set if that fails */
    nbcoll_status spoiled; /* why it will not be made, though its vote ended well here */
    int spoiler;           /* the rank that caused that, by its address at home; -1: not known */
    nbcoll_comm *parent;   /* null: the first of its link */
    nbcoll_comm *eldest;   /* whose vote makes it, too; null: it has its own */
    nbcoll_comm *twin;     /* the next one that the same vote makes */
    uint32_t number;       /* of these, the eldest's 0 */
    uint32_t twins;        /* an eldest's: those with cells, which have the lowest numbers */
    unsigned char *ballot; /* what each rank of its parent says: its vote and what follows (comm/vote.h). Null: the
                              eldest has it, or it is gone */
    size_t record, ballot_bytes; /* of one rank; of all of them */
    nbcolli_shrink *shrink; /* that makes it */
    nbcoll_comm **out;     /* where the call wants it; null from that call's deadline on */
};

/* Why nothing starts on it any more, or OK. A start looks once: news that comes later ends what was started. */
static inline nbcoll_status nbcolli_broken(const nbcoll_comm *comm)
{
    return (nbcoll_status)atomic_load_explicit(&comm->broken, memory_order_relaxed); /* orders nothing */
}

/* Looks an operation up in a rank's words. 0: the upper half of the history behind it is *fold. Below 0: it is not
 * started; above 0: it is forgotten. Acquire: see nbcolli_note_started. */
static inline int nbcolli_history_recall(const _Atomic uint64_t *started, uint64_t tag, uint32_t *fold)
{
    uint64_t word = atomic_load_explicit(&started[tag % NBCOLLI_STARTED], memory_order_acquire);
    int32_t ahead = (int32_t)((uint32_t)word - (uint32_t)(tag + 1));

    *fold = (uint32_t)(word >> 32);
    return !word || ahead < 0 ? -1 : ahead > 0;
}

/* The vote of a rank of the parent, or of the first communicator: while it is being made. */
static inline nbcolli_vote *nbcolli_vote_by(const nbcoll_comm *comm, int rank)
{
    const nbcoll_comm *eldest = comm->eldest ? comm->eldest : comm;
    return (nbcolli_vote *)(void *)(eldest->ballot + (size_t)rank * eldest->record);
}

/* Does this rank see the cells of that one? They lie in memory of the first endpoint, if that is the first of both. */
static inline int nbcolli_has_cells_of(const nbcoll_comm *comm, int rank)
{
    return comm->area && comm->area[rank];
}

static inline nbcolli_slot *nbcolli_slot_of(const nbcoll_comm *comm, uint64_t tag)
{
    return &comm->slot[tag % comm->config.slots];
}

/* The first request that waits for it, or null. */
static inline nbcolli_request *nbcolli_first_waiting(const nbcolli_slot *slot)
{
    return NBCOLLI_HOLDER(nbcolli_request, queued, slot->waiting.first);
}

static inline nbcolli_request *nbcolli_next_waiting(const nbcolli_request *r)
{
    return NBCOLLI_HOLDER(nbcolli_request, queued, r->queued.next);
}

/* What its messages and cells carry. */
static inline uint32_t nbcolli_run_stamp(const nbcolli_run *run)
{
    return nbcolli_stamp(run->schedule->fingerprint, run->request->history);
}

/* The run of a tag, or null when it has none (yet, or any more). */
static inline nbcolli_run *nbcolli_find_run(nbcoll_comm *comm, uint64_t tag)
{
    nbcolli_run *run = nbcolli_slot_of(comm, tag)->active;
    return run && run->tag == tag ? run : NULL;
}

#endif
