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
    NBCOLLI_SHORT,      /* send: had no credit, or misses an answer; before it stalls or goes, it looks what has come */
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

    /* Made with the run; the post's rest: whoever sends it, then, by `where`, the transport, till it returns it. */
    nbcolli_post post;
    nbcolli_run *run;
    nbcoll_step step;
    nbcolli_move *move; /* of a small schedule */

    /* Found at the first send of the run on its communicator: the line that sends the same again (channel.h); of a
     * receive, at the first line that it met. */
    uint32_t channel;
    uint32_t epoch;   /* of a send: the pair's then; 0: it has found none */
    uint32_t opened;  /* send: the epoch in which a line has gone; receive: the pair's version when one came. Where that
                         is the pair's, the channel is open. 0: none has */
    nbcolli_pair *pair;

    /* Set back when the run is taken; then progress: the phases of the step. */
    nbcolli_unexpected *unexpected; /* the message, if it came before the RECV was ready */
    size_t moved;                   /* bytes of fragments sent or arrived; pieces shown; bytes used */
    const unsigned char *found;     /* what is being used */
    const unsigned char *with;      /* fetch: what it is combined with, if that was not copied to its result; or null */
    unsigned char *copy; /* exposure, from STAGING on: its parts in the staging buffer; null: they are lent */
    size_t copied;                  /* bytes of these, so far */
    const _Atomic uint64_t *ready;  /* fetch, while USING: bytes of what was found that lie there so far; null: all */
    size_t window;           /* fetch, while USING: `found` is a ring of so many bytes; 0: it is all of them. Exposure
                                that is streamed: the bytes of each of its rings */
    nbcolli_stream *stream;  /* fetch, while USING: where it says how far it is; null: nobody waits for that. Exposure:
                                the first of its readers'; null: it is not streamed. One that is has its cell shown
                                before it is copied */
    uint32_t cell;       /* exposure: its own; fetch: where it looks */
    uint32_t keys;       /* exposure: so many entries of the table may have keys of its own memory */
    uint32_t turn;             /* exposure that is streamed: the entry whose ring comes next */
    uint8_t phase; /* nbcolli_phase */
    uint8_t fin, refused, cts; /* answers seen; of a receive, fin: its last one has been tried */
    uint8_t put;               /* send: a CTS has lent `theirs`, and is not answered; receive: its own has been */
    uint8_t lent;              /* the peer has got `mine` */
    uint8_t registered;        /* `mine` is to be deregistered */
    uint8_t may_go;            /* send: stalls no more, but for its post */
    uint8_t status;            /* send: of its EAGER or RTS, see the header */
    nbcolli_remote theirs;     /* what we get, or where we put */
    nbcolli_registered mine;   /* what we lend, or our end of a get or put */
};

/* Is it a get or a put of the op that is under way, or to be? */
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

#define NBCOLLI_MOVES_END NBCOLL_CALL /* the kind of what stands behind the last move: no other has it */

/* A step of a small schedule as its runs work it off (run/moves.h). First what every one of them looks at. */
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
    nbcolli_run *next;         /* in a pool: whoever takes it from there, or gives it back */
    nbcolli_request *keeper;   /* holds it also while it does not run; null: the pool does, or whoever runs it. Who ends
                                  it, and who releases the request */

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

    /* Whoever takes it from the pool: a start, or the drain when the operation gets its slot. */
    nbcoll_comm *comm;
    uint64_t bound;            /* the id that it had when the ops found their pairs and channels */
    nbcolli_request *request;
    uint64_t tag;
    nbcolli_slot *slot; /* these two: the tag's on `comm`. Null: not known yet */
    uint64_t none;      /* a reader's word that has fetched nothing of it */
    const nbcolli_move *at;                   /* while it replays, or has come to where it cannot: the next one */
    unsigned char *base[NBCOLL_BUFFER_COUNT]; /* the scratch buffer's: made */
    unsigned char *room;     /* grows as the counts of a start demand */
    size_t room_bytes;

    /* Who takes it sets these, and what the pointers above point to, back. From the moment when it has its slot all is
     * progress's. */
    uint32_t remaining;  /* steps not ended; START and END not counted */
    nbcolli_ready lane[NBCOLLI_LANES];
    nbcolli_list unfinished; /* ops in the middle of what needs more bytes than a pass had left */
    uint32_t cells, parts; /* of those that this rank may write: used */
    uint8_t state; /* nbcolli_run_state */

    uint64_t left, begun; /* of a small run: moves that have not ended; that have begun */

    uint8_t
        is_executed;   /* its inner part is its executor's, which may have its buffers; or it waits there for memory */
    nbcolli_loan loan; /* of its scratch memory, from the schedule's step `room` on until the run is over */

    uint8_t is_small; /* its steps are worked off as moves (run/small.h) */
    uint8_t is_worn;  /* what only other paths touch is to be set back */

    /* Likewise, but whoever ends it sets them first: progress, or a call that cancels. */
    nbcoll_status status;
    int cause;

    /* Likewise: progress, in its rounds of asking (ask.h). */
    uint32_t stuck; /* it had not moved in the last round */
    uint64_t mark;  /* how far it had come in the last round */
    int awaited;    /* 1 + the rank for which it waits, as the watcher was told; 0: it was not. The end sets it back */
};

#endif
