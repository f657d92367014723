/* SPDX-License-Identifier: BSD-3-Clause
 * Runs of schedules, and their steps with a peer. No layout promises. */
#ifndef NBCOLLI_ENGINE_STATE_OPERATION_H
#define NBCOLLI_ENGINE_STATE_OPERATION_H

#include "executor.h"
#include "list.h"
#include "message.h"
#include "../../reduce/reduce.h"
#include "../../schedule/schedule.h"

/* What a step with a peer is doing. The phase ends when its post is free and, where noted, an answer has come. */
typedef enum nbcolli_phase {
    NBCOLLI_IDLE,       /* its step is not ready */
    NBCOLLI_SHORT,      /* send: without a credit, or an answer; looks at arrivals, then stalls or goes */
    NBCOLLI_STALLING,   /* send: waits for a credit, or to be asked for */
    NBCOLLI_SENT_EAGER, /* send */
    NBCOLLI_SENT_RTS,   /* send; then FIN or CTS */
    NBCOLLI_PUTTING,    /* send: a put */
    NBCOLLI_SENT_PUT,   /* send: the answer to a CTS that there is no put */
    NBCOLLI_SENT_DATA,  /* send; again until all fragments went */
    NBCOLLI_POSTED,     /* receive: its message has not come */
    NBCOLLI_GETTING,    /* receive: a get */
    NBCOLLI_SENT_FIN,   /* receive */
    NBCOLLI_SENT_CTS,   /* receive; then all fragments */
    NBCOLLI_REUSING,    /* exposure: an earlier one's readers are not through */
    NBCOLLI_STAGING,   /* exposure: it is copied to where its readers find it, or is about to be shown */
    NBCOLLI_EXPOSED,    /* exposure: its memory is lent to its readers */
    NBCOLLI_LOOKING,    /* fetch: its part is not there */
    NBCOLLI_FETCHING,   /* fetch: a get */
    NBCOLLI_USING,      /* fetch: what was found or got is copied or combined */
    NBCOLLI_SETTLED     /* over, well or not */
} nbcolli_phase;

typedef struct nbcolli_stream nbcolli_stream; /* exposures/cells.h */
typedef struct nbcolli_move nbcolli_move;

struct nbcolli_op {
    nbcolli_list_item item; /* in its context's list of those that wait for shared memory, or of those that are short of
                               a credit; its run's of those in the middle of something; its pair's of those that stall.
                               First: the list's item is the op */

    /* Made with the run. The rest of the post belongs to its sender, or, as `where` says, to the transport. */
    nbcolli_post post;
    nbcolli_run *run;
    nbcoll_step step;
    nbcolli_move *move; /* of a small schedule */

    uint32_t channel; /* its number (channel.h): a send finds it, a receive learns it of its first line */
    uint32_t opened;  /* send: the pair's epoch when a line went; receive: its version when one came. While both are
                         equal the channel is open. 0: no line yet */
    nbcolli_pair *pair;

    /* Set back when the run is taken; then progress: the phases of the step. */
    nbcolli_unexpected *unexpected; /* the message, if it came before the RECV was ready */
    size_t moved;                   /* message: bytes of fragments sent or arrived. Exposure: pieces shown. Fetch: bytes
                                       used */
    const unsigned char *found;     /* what is being used */
    const unsigned char *with;      /* fetch: the other operand, if it was not copied to the result; or null */
    unsigned char *copy; /* exposure, from STAGING on: its parts in the staging buffer; null: they are lent */
    size_t copied;                  /* bytes of these, so far */
    const _Atomic uint64_t *ready;  /* fetch, while USING: bytes of the part that its owner has copied; null: all */
    size_t window;           /* fetch, while USING: `found` is a ring of so many bytes; 0: it is all of them. Exposure
                                that is streamed: the bytes of each of its rings */
    nbcolli_stream *stream;  /* fetch, while USING: where it says how far it is; null: nobody waits. Exposure: the first
                                of its readers'; null: not streamed. A streamed one shows its cell before it copies */
    uint32_t cell;       /* exposure: its own; fetch: where it looks */
    uint32_t keys;       /* exposure: so many entries of the table may have keys of its own memory */
    uint32_t turn;             /* exposure that is streamed: the entry whose ring comes next */
    uint8_t phase; /* nbcolli_phase */
    uint8_t fin, refused, cts; /* send: answers that have come. Receive, fin: it has tried its last answer */
    uint8_t put;               /* send: a CTS has lent `theirs`, not answered yet; receive: its CTS has been answered */
    uint8_t lent;              /* the peer has got `mine` */
    uint8_t registered;        /* `mine` is to be deregistered */
    uint8_t may_go;            /* send: stalls no more, but waits for its post */
    uint8_t status;            /* `status` of the headers that it sends */
    nbcolli_remote theirs;     /* what we get, or where we put */
    nbcolli_registered mine;   /* what we lend, or our end of a get or put */
};

/* Is a get or a put of the op under way, or about to be? */
static inline int nbcolli_op_copies(const nbcolli_op *op)
{
    return op->phase == NBCOLLI_GETTING || op->phase == NBCOLLI_FETCHING || op->phase == NBCOLLI_PUTTING;
}

typedef enum nbcolli_run_state {
    NBCOLLI_RUN_POOLED,
    NBCOLLI_RUN_ACTIVE,
    NBCOLLI_RUN_SETTLING /* failed; waits until nobody holds its buffers */
} nbcolli_run_state;

#define NBCOLLI_STEP_OVER UINT32_MAX /* a step's counter after its end */

#define NBCOLLI_MOVES_END NBCOLL_CALL /* the kind of the end mark behind the last move: no move has it */

/* A step of a small schedule, as its runs execute it (run/moves.h). First the members that every run reads. */
struct nbcolli_move {
    uint8_t kind;    /* nbcoll_kind */
    uint8_t is_left; /* of a FETCH_REDUCE: what is fetched is the left operand */
    uint16_t bytes;
    nbcoll_step step;
    int peer;        /* these two: of a FETCH or FETCH_REDUCE, whose, and which of its parts */
    uint32_t number;
    void *to;        /* these three: in the buffers of the run's request. A SEND, COPY or EXPOSE reads from left */
    const void *left, *right;
    nbcolli_op *op;  /* of a step with a peer, and of an EXPOSE */
    nbcolli_reduce_kernel *combines; /* of a REDUCE or FETCH_REDUCE */
    uint64_t bit;          /* its place, in these and in the run's `left` and `begun` */
    uint64_t needs;        /* the moves that it waits for */
    uint64_t readers;      /* of an EXPOSE: by nbcolli_alike; 0: it is spread */
    uint8_t cells;         /* of an EXPOSE: that it takes */
};

struct nbcolli_run {
    nbcolli_list_item item;    /* progress: in its context's list of those with work for which a pass had no bytes
                                  left, of those with steps of lanes not served, or of those to settle. First */
    nbcolli_run *next;         /* in a pool: written by who takes it, or gives it back */
    nbcolli_request *keeper;   /* the request that keeps it between runs; null: none. Written at the run's end, and when
                                  the request is released */

    /* Made: one block, with what the pointers point to. */
    nbcoll_schedule *schedule;
    size_t memory;
    uint32_t *before;    /* [steps]: ends each step still waits for, or NBCOLLI_STEP_OVER */
    nbcoll_step *ready;  /* [steps], behind them: the lanes' queues; each step enters once */
    nbcolli_op *op;      /* [ops] */
    nbcoll_memory *regions; /* for the CALL with most regions */
    nbcolli_move *move;     /* of a small schedule: its steps, and an end */
    uint64_t moves, finals; /* all of them; FETCHes for which none waits */
    unsigned char *bounce; /* where a FETCH_REDUCE gets what it cannot read in place */
    nbcoll_memory *packed[2]; /* of the send and the receive buffer: bound blocks as they travel, in `room` */

    /* Written when it is taken from the pool: by a start, or by the drain when the operation gets its slot. */
    nbcoll_comm *comm;
    uint64_t bound;            /* the id that it had when the ops found their pairs and channels */
    nbcolli_request *request;
    uint64_t tag;
    nbcolli_slot *slot; /* these two: the tag's on `comm`. Null: not known yet */
    uint64_t none;      /* the word of a reader that has fetched none of its parts */
    const nbcolli_move *at;                   /* while it replays, or where its replay stopped: the next move */
    unsigned char *base[NBCOLL_BUFFER_COUNT]; /* the scratch buffer's: made */
    unsigned char *room;     /* grows as the counts of a start demand */
    size_t room_bytes;

    /* Taking it from the pool resets these, and what the pointers above point to. Once it has its slot, progress owns
     * all. */
    uint32_t remaining;  /* steps not ended; START and END not counted */
    nbcolli_ready lane[NBCOLLI_LANES];
    nbcolli_list unfinished; /* ops in the middle of what needs more bytes than a pass had left */
    uint32_t cells, parts; /* of those that this rank may write: used */
    uint8_t state; /* nbcolli_run_state */

    uint64_t left, begun; /* of a small run: moves that have not ended; that have begun */

    uint8_t
        is_executed;   /* its executor has its inner part, perhaps its buffers; or it waits for memory there */
    nbcolli_loan loan; /* of its scratch memory, from the schedule's step `room` on until the run is over */

    uint8_t is_small; /* its steps are worked off as moves (run/small.h) */
    uint8_t is_worn;  /* members that only other paths touch must be reset */

    /* Likewise. Progress, or a call that cancels, sets them when it ends the run. */
    nbcoll_status status;
    int cause;

    /* Likewise: progress, in its rounds of asking (ask.h). */
    uint32_t stuck; /* it had not moved in the last round */
    uint64_t mark;  /* how far it had come in the last round */
    int awaited;    /* 1 + the rank for which it waits, as the watcher was told; 0: not told. The end resets it */
};

#endif
