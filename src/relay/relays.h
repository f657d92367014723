/* SPDX-License-Identifier: BSD-3-Clause
 * Relays that run: a stream of fragments for each origin, whose operations stand ready ahead. */
#ifndef NBCOLLI_RELAY_RELAYS_H
#define NBCOLLI_RELAY_RELAYS_H

#include "../arguments/arguments.h"
#include "../engine/comm/executors.h"
#include "../engine/calls/create.h"
#include "../engine/calls/wait.h"
#include "../offload/arena.h"
#include "../topology/topology.h"
#include "nbcoll/schedule.h"

#define NBCOLLI_RELAYS_BROKEN UINT64_MAX /* in the place of an operation: the origin's are; `bytes` is the status */

#define NBCOLLI_RELAYS_REVOKED UINT64_MAX /* in the place of an offset: the origin has revoked the operation */

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
    atomic_int is_out;           /* started, and its end has not been seen */
    atomic_int has_come;         /* before that end, where ranks of the node hold it up */
    struct nbcoll_relays *of;
} nbcolli_relays_place;

/* What is started again and again over one communicator: the fragments of a stream, its credits, or the closing. */
typedef struct nbcolli_relays_flow {
    nbcoll_comm *comm;
    nbcoll_schedule *schedule;
    nbcoll_schedule *lowered; /* in its place, should `comm` have no cells for it; null: it needs none */
    struct nbcoll_relays *of;
    uint32_t places;
    nbcolli_relays_place *preposted; /* number n at n modulo `places` */
} nbcolli_relays_flow;

/* The fragments of one origin, in order; each F f of them are a batch. Credit n goes up the tree, from the leaves to
 * the origin, when all ranks have taken out batch n. Without it the origin does not begin batch n + 3: that would find
 * no place where it comes, and take the room of other messages there. */
typedef struct nbcolli_relays_stream {
    nbcolli_relays_flow fragments, credits;
    uint64_t next;        /* fragment: to be taken out; of the own stream: to be sent */
    uint64_t freed;       /* of those taken out: so many have ended, and stand ready again unless no more come */
    uint64_t total;       /* fragments, once all ranks are closing; before that UINT64_MAX */
    uint64_t given, seen; /* credits: started; of these, ended */
} nbcolli_relays_stream;

/* How far this rank has come with its closing. Each begins when the one before is over. */
typedef enum nbcolli_relays_step {
    NBCOLLI_RELAYS_COUNTS,    /* all ranks say how many fragments they have sent, once they are closing */
    NBCOLLI_RELAYS_EMPTIES,   /* all of these come here, and go on; so do the credits for them */
    NBCOLLI_RELAYS_MEETS,     /* all ranks have come so far: nothing is on its way any more */
    NBCOLLI_RELAYS_WITHDRAWS, /* what stands ready is given up, which concerns nobody else */
    NBCOLLI_RELAYS_OVER
} nbcolli_relays_step;

typedef struct nbcolli_relays_operation {
    uint64_t number;
    const char *send;
    char *recv;
    size_t bytes;
    int root;                 /* of an allgather -1 */
    uint32_t need;            /* fragments of a block */
    uint32_t missing;         /* blocks */
    uint32_t awaited;         /* ranks of which not all has come that comes */
    uint32_t *come;           /* [ranks] fragments; of the own block: sent */
    int is_revoked;           /* it ends as cancelled, and touches none of its memory any more */
    int tells;                /* others are still to be told of that, by the own stream */
    nbcoll_status failed;     /* what its type's function came to here that packs; it is revoked then */
    int first;                /* of an allgather: the blocks of all ranks before it have come, but for the own one */
    nbcolli_request *request; /* the communicator's call, if it is one; null: none, or it has been told */
} nbcolli_relays_operation;

/* Whether calls like an earlier one are theirs, by the communicator's rules, which stay as they are. */
typedef struct nbcolli_relays_call_note {
    size_t bytes, count;
    int operation, root, packs;
    int is_known, is_carried;
} nbcolli_relays_call_note;

#define NBCOLLI_RELAYS_CALL_NOTES 8u

/* Who moves relays: the ranks' engines, or agents. */
typedef struct nbcolli_relays_kind {
    uint32_t marks;                 /* 1: a rank that does not contribute to an operation says that it has started it */
    void (*move)(nbcoll_relays *r); /* takes out what has come, and sends what can be sent */
    /* One fragment of the own stream, with its bytes. 0: there is no room, or they are broken */
    int (*send)(nbcoll_relays *r, const nbcolli_relays_fragment *f, const char *bytes);
    void (*give_up)(nbcoll_relays *r); /* the opening, for all ranks; more than once, too */
    int (*pause)(nbcoll_relays *r, nbcolli_waiter *w, uint64_t deadline); /* between two looks. 0: it is over */
    int (*are_over)(nbcoll_relays *r); /* they are closing, or broken: is nothing of them under way any more? */
    void (*free)(nbcoll_relays *r);    /* then */
} nbcolli_relays_kind;

struct nbcoll_relays {
    nbcoll_relays_config config;
    nbcolli_arena arena; /* all of it lies there */
    const nbcolli_relays_kind *kind;
    struct nbcolli_relays_agents *agents; /* of those that agents move */
    nbcoll_comm *comm;
    nbcoll_context *context; /* its */
    int rank, ranks;
    uint32_t batch;       /* fragments: F f */
    size_t stride;        /* bytes from one fragment in the store to the next */
    void *shared;         /* that store, if it lies where the node's ranks read it; else null: it is in `arena` */
    const nbcoll_nodes *nodes; /* the communicator's, by which relays go; null: they do not */
    nbcoll_request opening;    /* that makes their communicators */
    atomic_uint opened;        /* how it ended, of those that carry out calls; PENDING */
    nbcoll_status status; /* OK; PENDING: being opened; else they are broken */
    int is_revoked; /* 1: but for the own stream */
    int is_cancelled, has_passed;
    atomic_int gives_up; /* it closes before it has seen that they are opened */
    atomic_int is_closing;
    uint64_t last, sending;              /* operations: started; whose block is to be sent next */
    uint32_t telling;                    /* operations of which others are to be told that they are revoked */
    nbcolli_relays_stream *stream;       /* [ranks] */
    nbcolli_relays_operation *operation; /* [F] number n at n modulo F */
    nbcolli_relays_flow closing;         /* two collectives: of the steps COUNTS and MEETS */
    atomic_uint step;                    /* nbcolli_relays_step */
    int cancelled_early;                 /* a call, while they were being opened */
    int begun, given_up;                 /* of these collectives; flows that have ended since they were withdrawn */
    uint64_t *totals;                    /* [ranks] fragments that each has sent */

    /* Of those that carry out calls. They move when an operation ends that stands ready, when a node's store has
     * something for its rank, and when a call is started: by one thread at a time, which alone touches all above.
     * Whoever finds another one moving leaves it to that. */
    nbcolli_executor executor;
    nbcolli_request *notice; /* ends again and again: then its callback runs on the way out. Who is inside ends it */
    nbcolli_request *_Atomic started; /* the last one first, until a mover takes them; starts add */
    atomic_uint under_way;            /* started, and not ended */
    atomic_uint has_cancelled;        /* some of them are to end so */
    nbcolli_relays_call_note note[NBCOLLI_RELAYS_CALL_NOTES]; /* the caller's side */
    char *packed; /* [F][ranks] blocks as they travel, once a call has had a type that packs: starts */
    nbcoll_done *heeds;                      /* is told of the end of an operation that stands ready */
    nbcolli_request *waiting, *last_waiting; /* calls beyond F, in their order */
    atomic_uint wanted;                      /* moves: who counts from 0 makes them */
    atomic_uint inside;                      /* callbacks that have not returned */
    atomic_uint ended;                       /* how operations that stood ready ended, if not well */
    atomic_uint shown;                       /* `status`, after the last move */
    atomic_int is_over;                      /* nothing stands ready any more */
};

static inline int nbcolli_relays_carry(const nbcoll_relays *r)
{
    return r->config.carries != 0;
}

/* For which there are places: the fragments of F operations that a rank has started, and of F that it has not, lie in
 * three batches. */
#define NBCOLLI_RELAYS_BATCHES 3u

/* Places of a rank that does not lead its node, for each other stream: its leader has the store. */
#define NBCOLLI_RELAYS_NEAR 2u

/* The most that stand ready in a stream, on any rank. */
static inline uint32_t nbcolli_relays_most(const nbcoll_relays *r)
{
    return NBCOLLI_RELAYS_BATCHES * r->batch;
}

/* Is this rank one of those whose stores their leader has? */
static inline int nbcolli_relays_is_led(const nbcoll_relays *r)
{
    return r->nodes && nbcoll_node_place(r->nodes, r->rank) > 0;
}

static inline nbcolli_relays_place *nbcolli_relays_place_at(const nbcolli_relays_flow *flow, uint64_t number)
{
    return &flow->preposted[number % flow->places];
}

/* Of all streams: first their fragments, then their credits. */
static inline nbcolli_relays_flow *nbcolli_relays_flow_at(const nbcoll_relays *r, int i)
{
    return i < r->ranks ? &r->stream[i].fragments : &r->stream[i - r->ranks].credits;
}

/* Each has a communicator: those of all streams, then that of the closing. */
static inline int nbcolli_relays_flows(const nbcoll_relays *r)
{
    return 2 * r->ranks + 1;
}

static inline nbcolli_relays_flow *nbcolli_relays_any_flow(nbcoll_relays *r, int i)
{
    return i < 2 * r->ranks ? nbcolli_relays_flow_at(r, i) : &r->closing;
}

/* How an operation of a place ended. They are alike on all ranks: where one is refused as out of step, a rank has
 * closed relays that were broken. */
static inline nbcoll_status nbcolli_relays_place_status(nbcoll_status s)
{
    return s == NBCOLL_ERR_MISMATCH ? NBCOLL_ERR_CANCELLED : s;
}

/* The next operation of this place. */
static inline void nbcolli_relays_place_start(nbcoll_relays *r, nbcolli_relays_place *at)
{
    /* relaxed: its callback, if it has one, is called after the start */
    atomic_store_explicit(&at->has_come, 0, memory_order_relaxed); /* shown by the start */
    atomic_store_explicit(&at->is_out, 1, memory_order_relaxed);
    nbcoll_status s = nbcolli_relays_place_status(nbcoll_start(&at->request));
    if (s == NBCOLL_OK)
        return;
    atomic_store_explicit(&at->is_out, 0, memory_order_relaxed);
    r->status = s;
}

static inline nbcolli_relays_operation *nbcolli_relays_operation_at(const nbcoll_relays *r, uint64_t number)
{
    return &r->operation[number % r->config.at_once];
}

static inline int nbcolli_relays_contributes(const nbcolli_relays_operation *o, int rank)
{
    return o->root < 0 || o->root == rank;
}

/* relays_operation.c */

/* *to becomes the configuration, with the defaults, *host its host. ERR_CONFIG. */
nbcoll_status nbcolli_relays_copy_config(const nbcoll_relays_config *from, nbcoll_relays_config *to, nbcoll_host *host);

/* Ranks whose configurations differ do not understand each other's fragments. */
uint32_t nbcolli_relays_fingerprint(const nbcoll_relays_config *c);

/* Makes their communicators, where all ranks have the same configuration; else that is ERR_MISMATCH. Then some ranks
 * may have started other operations than others: all are told that they are out of step. */
nbcoll_status nbcolli_relays_make_comms(nbcoll_relays *r, int n, nbcolli_twin twin[]);
void nbcolli_relays_out_of_step(nbcoll_relays *r);

/* All ranks are told that nothing goes on over a flow. It takes no memory. */
void nbcolli_relays_break_flow(nbcoll_relays *r, const nbcolli_relays_flow *flow);
/* Each flow, where one says who is lost: so others hear that, too, and not that this rank has cancelled. */
void nbcolli_relays_break_lost(nbcoll_relays *r);

/* Relays with their operations, and nothing else; gives that back. ERR_MEMORY. */
nbcoll_status nbcolli_relays_new(nbcoll_comm *comm, const nbcoll_relays_config *config, const nbcoll_host *host,
                                 const nbcolli_relays_kind *kind, nbcoll_relays **out);
void nbcolli_relays_discard(nbcoll_relays *r);

/* An operation that is under way ends as cancelled. The others learn of it by this rank's stream: from whoever begins
 * that (`tells`), and from each whose own block has not all been sent, in the place of what is left of it. */
void nbcolli_relays_revoke(nbcoll_relays *r, nbcolli_relays_operation *o, int tells);

/* A fragment of an operation that this rank has started is copied out. What does not fit breaks the relays. */
void nbcolli_relays_take(nbcoll_relays *r, int origin, const nbcolli_relays_fragment *f);

/* Sends of the own blocks, in order, and of what others are to be told, what there is room for. */
void nbcolli_relays_send_blocks(nbcoll_relays *r);

/* Begins an operation, whose block `own` comes to this rank's place in `recv`; null: it is there. */
nbcoll_status nbcolli_relays_begin_operation(nbcoll_relays *r, nbcolli_relays_operation o, const void *own,
                                             uint64_t *operation);

/* relays_packed.c: of a call whose elements travel packed, whose number is the next one, this rank's block is packed
 * where it waits for those of others; when all have come they are unpacked. ERR_CALL: one of the type's functions has
 * failed. */
nbcoll_status nbcolli_relays_prepare_packed(nbcoll_relays *r);
nbcoll_status nbcolli_relays_pack(const nbcoll_relays *r, nbcolli_relays_operation *o);
nbcoll_status nbcolli_relays_unpack(const nbcoll_relays *r, const nbcolli_relays_operation *o);

/* relays_open.c: makes relays that the ranks' engines move, whose streams are then being made. */
nbcoll_status nbcolli_relays_make(nbcoll_comm *comm, const nbcoll_relays_config *config, const nbcoll_host *host,
                                  const nbcolli_relays_kind *kind, nbcoll_relays **out);

/* As far as passes have brought it. */
static inline int nbcolli_relays_is_under_way(const nbcoll_request *q)
{
    uint32_t state = __atomic_load_n(&q->at->state, __ATOMIC_ACQUIRE); /* what it has brought is seen, too */
    return state == NBCOLLI_REQUEST_HANDED || state == NBCOLLI_REQUEST_ACTIVE;
}

/* relays_agents.c: the same of those that agents move. */
nbcoll_status nbcolli_relays_make_agents(nbcoll_comm *comm, const nbcoll_relays_config *config, const nbcoll_host *host,
                                         nbcoll_relays **out);

/* relays_nodes.c */

/* Of the communicator of a flow: see nbcolli_relays_flow_at. */
nbcoll_comm_config nbcolli_relays_flow_config(const nbcoll_relays *r, int i);

/* This rank's leader, by nodes. */
int nbcolli_relays_leader(const nbcoll_relays *r);

/* Has it cells by which leaders show what comes to their nodes? */
int nbcolli_relays_flow_is_led(const nbcoll_relays *r, int i);

/* Reserves the store, and gives each place its own. */
nbcoll_status nbcolli_relays_lay_places(nbcoll_relays *r);

/* Builds what stands ready in a stream: of a hop from rank `from` (of the own one -1), and on by that relay. */
nbcoll_status nbcolli_relays_build(nbcoll_relays *r, int origin, int from, const nbcoll_relay *relay);

/* Of the schedules of a flow the one that its communicator carries out is kept. */
void nbcolli_relays_settle(nbcolli_relays_flow *flow);

/* A builder for these. */
nbcoll_status nbcolli_relays_builder(const nbcoll_relays *r, nbcoll_comm *shares, nbcoll_builder **out);

/* relays_run.c: takes out what has come, and sends what can be sent; one fragment. */
void nbcolli_relays_move(nbcoll_relays *r);
int nbcolli_relays_send(nbcoll_relays *r, const nbcolli_relays_fragment *f, const char *bytes);

/* relays_calls_taken.c, of those that carry out calls of their communicator. */

static inline nbcoll_relays *nbcolli_relays_of(const nbcolli_executor *e)
{
    return (nbcoll_relays *)(uintptr_t)((const char *)e - offsetof(nbcoll_relays, executor));
}

/* What the engine asks: nbcolli_executor_table. */
int nbcolli_relays_take_call(nbcolli_executor *e, const nbcoll_args *args);
nbcoll_status nbcolli_relays_open_call(nbcolli_executor *e, nbcolli_request *q, const nbcoll_args *args);
nbcoll_status nbcolli_relays_start_call(nbcolli_executor *e, nbcolli_request *q);
void nbcolli_relays_cancel_call(nbcolli_executor *e, nbcolli_request *q, int tell);

/* Makes the notice, with this callback, whose user they are, of those that are to be the communicator's executor; gives
 * it back. ERR_BUSY: that has others; ERR_MEMORY, ERR_LIMIT. */
nbcoll_status nbcolli_relays_open_notice(nbcoll_relays *r, nbcoll_done *noticed);
void nbcolli_relays_close_notice(nbcoll_relays *r);

/* They are, and passes look if agents move them; they are not any more. ERR_BUSY: it has others. */
nbcoll_status nbcolli_relays_accept_calls(nbcoll_relays *r);
nbcoll_status nbcolli_relays_refuse_calls(nbcoll_relays *r);

/* Outside: the calls that have been started, the first one first; each is counted as active from now on. It has ended,
 * and nothing touches its buffers any more. */
nbcolli_request *nbcolli_relays_started_calls(nbcoll_relays *r);
void nbcolli_relays_end_call(nbcoll_relays *r, nbcolli_request *q, nbcoll_status status);

/* relays_carry.c: they are to carry out the communicator's calls, if they do: of these it is told as they are made.
 * Then they are its executor, and are told of what ends. */
nbcoll_status nbcolli_relays_open_executor(nbcoll_relays *r);
nbcoll_status nbcolli_relays_take_calls(nbcoll_relays *r);

/* How those are, after a pass and a move. */
nbcoll_status nbcolli_relays_look(nbcoll_relays *r);

/* Does it matter how that ended? What is withdrawn, here or by others, does not. */
static inline int nbcolli_relays_heeds_end(const nbcoll_relays *r, const nbcolli_relays_place *at)
{
    unsigned step = atomic_load_explicit(&r->step, memory_order_relaxed); /* set before anything is withdrawn */
    int is_closing = at >= r->closing.preposted && at < r->closing.preposted + r->closing.places;
    return step < NBCOLLI_RELAYS_MEETS || (step == NBCOLLI_RELAYS_MEETS && is_closing);
}

/* relays_run.c: as far as passes have brought it, or callbacks: has what was started there ended? 0 also where that
 * broke the relays. All of the flow? */
int nbcolli_relays_place_has_ended(nbcoll_relays *r, nbcolli_relays_place *at);
int nbcolli_relays_flow_has_ended(nbcoll_relays *r, const nbcolli_relays_flow *flow);

/* relays_end.c: goes on with the closing. Is nothing of them under way any more? */
int nbcolli_relays_are_over(nbcoll_relays *r);

/* Ends all that runs on the communicator, as cancelled. No other rank is told, no failure is noted, and it is freed
 * like one on which all has ended well. */
nbcoll_status nbcolli_relays_withdraw(nbcoll_comm *comm);

/* Moves those that have calls of their own, too: all ranks are told what has broken them. */
void nbcolli_relays_move_on(nbcoll_relays *r);

/* Of broken ones: all ranks are told, and what stands ready is cancelled. Has all of that ended? */
int nbcolli_relays_break(nbcoll_relays *r);

/* Between two looks, as other waits pass time. 0: the deadline is over. */
int nbcolli_relays_pause(nbcoll_relays *r, nbcolli_waiter *w, uint64_t deadline);

/* Gives all memory back. Requests end with their communicators: none is active. */
void nbcolli_relays_free(nbcoll_relays *r);

/* Have all streams been made? Then what stands ready is started. Or no further one is to be. */
void nbcolli_relays_open_on(nbcoll_relays *r);
void nbcolli_relays_open_no_more(nbcoll_relays *r);

#endif
