/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of the verbs transport share.
 *
 *     device.c      rails: each a device, its port and GID; what an endpoint has of them
 *     shared.c      what several endpoints of a process share: devices, and memory registered for every rank
 *     connect.c     datagrams by which two ranks connect their queue pairs, and say goodbye where these are not
 *     messages.c    posts, receives, credits
 *     cache.c       registrations that are kept
 *     bulk.c        registration; gets and puts, on a queue pair of their own
 *     progress.c    completions, deaths, departures, sleeping
 *     trial.c       what a device takes, measured
 *     pairs.c       queue pairs for programs, and how they are connected
 *     programs.c    what is posted to them
 *     receives.c    receives that several of them share
 *     limits.c      what devices have of both
 *     verbs.c       opening, the table, closing
 */
#ifndef NBCOLLI_VERBS_H
#define NBCOLLI_VERBS_H

#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "nbcoll/verbs.h"
#include "../../src/host/host.h"

#define NBCOLLI_VERBS_SAID 16u         /* datagrams under way */
#define NBCOLLI_VERBS_MAGIC 0x6e627604u /* raised with every change of addresses, datagrams or immediates */
#define NBCOLLI_VERBS_RAILS 4u
#define NBCOLLI_VERBS_ROUTE 40          /* bytes before a datagram that has come */
#define NBCOLLI_VERBS_BATCH 32          /* completions of a progress, at most */
#define NBCOLLI_VERBS_QUIET 8u          /* messages of the transport's own under way to a peer, at most */
#define NBCOLLI_VERBS_TELLS 8u          /* writes of how many receives there are, at most, on a pair for programs */
#define NBCOLLI_VERBS_BULK 64u          /* pieces of gets and puts under way to a peer, and notices, at most */
#define NBCOLLI_VERBS_INLINE 220u       /* bytes of a message that goes inline, with its header, at most */
#define NBCOLLI_VERBS_EXTRA 4u /* receives for a peer beside its credits: two returns of credits, a goodbye, one more  \
                                */

/* ---- what travels ------------------------------------------------------------------------------------------------ */

/* Where a port is. */
typedef struct nbcolli_verbs_port {
    union ibv_gid gid;
    uint32_t mtu;
    uint16_t lid, unused;
} nbcolli_verbs_port;

/* Measured, as in nbcoll_limits; all 0: not. */
typedef struct nbcolli_verbs_prices {
    uint32_t alpha_ns, beta_ps, get_ns, put_ns;
} nbcolli_verbs_prices;

/* What nbcoll_verbs_address holds. */
typedef struct nbcolli_verbs_place {
    uint32_t magic, ranks;
    uint32_t qpn;      /* takes datagrams */
    uint32_t programs; /* takes those about queue pairs of programs */
    uint16_t credits, rails;
    uint32_t payload;
    uint64_t nonce; /* of this endpoint: what comes from another one is not read */
    nbcolli_verbs_prices prices;
    nbcolli_verbs_port port[NBCOLLI_VERBS_RAILS];
} nbcolli_verbs_place;

_Static_assert(sizeof(nbcolli_verbs_place) == sizeof(nbcoll_verbs_address), "an address holds a place");

typedef enum nbcolli_verbs_word {
    NBCOLLI_VERBS_CONNECT,
    NBCOLLI_VERBS_GOODBYE,
    NBCOLLI_VERBS_LOSES /* its reader is lost to the sender */
} nbcolli_verbs_word;

typedef struct nbcolli_verbs_datagram {
    uint64_t nonce; /* the sender's */
    uint32_t rank;
    uint16_t word;                   /* nbcolli_verbs_word */
    uint8_t knows_yours, knows_done; /* it can receive from you; it knows that you can receive from it */
    uint32_t messages, bulk;         /* numbers of its queue pairs */
} nbcolli_verbs_datagram;

/* The immediate of what comes by a queue pair: kind, credits given back, rank. */
typedef enum nbcolli_verbs_kind {
    NBCOLLI_VERBS_MESSAGE,
    NBCOLLI_VERBS_CREDITS,
    NBCOLLI_VERBS_LEAVES
} nbcolli_verbs_kind;
#define NBCOLLI_VERBS_RANKS (1u << 21)

/* ---- what lies in registered memory -------------------------------------------------------------------------------
 */

typedef struct nbcolli_verbs_rail nbcolli_verbs_rail;

/* Of a message that arrives, or that is sent and not acknowledged. */
typedef struct nbcolli_verbs_buffer {
    nbcoll_arrival arrival;            /* of one that arrives */
    struct nbcolli_verbs_buffer *next; /* free, or of those to post again */
    struct nbcolli_verbs_peer *peer;   /* of one that is sent, or who is to get its credit back; else null */
    nbcoll_work *work;                 /* of one that is sent; null: given back already */
    uint32_t lkey;
    nbcolli_verbs_rail *rail;          /* that it is registered with */
    struct ibv_ah *route;              /* of an offer that is sent */
    uint32_t slots;                    /* of a put, whose notice this is: it, and the pieces before it; else 0 */
    _Alignas(64) unsigned char wire[]; /* header, payload; of a datagram 40 bytes of route, and itself */
} nbcolli_verbs_buffer;

/* Memory that is registered, for buffers. */
typedef struct nbcolli_verbs_slab {
    void *memory;
    size_t bytes;
    struct ibv_mr *mr;
} nbcolli_verbs_slab;

/* A queue pair of datagrams on the first rail, and their buffers. */
typedef struct nbcolli_verbs_mail {
    struct ibv_qp *qp;
    nbcolli_verbs_slab slab;
    uint32_t bytes;             /* of a datagram */
    uint32_t saying;            /* under way */
    nbcolli_verbs_buffer *said; /* free ones, to send one */
} nbcolli_verbs_mail;

/* ---- programs ------------------------------------------------------------------------------------------------------
 */

/* A datagram about a pair of queues for programs. */
typedef struct nbcolli_verbs_offer {
    uint64_t nonce;  /* the sender's */
    uint64_t serial; /* of its pair: a pair that is opened again has another one */
    uint64_t yours;  /* of the pair that it is joined to; 0: none */
    uint64_t at;     /* its nbcolli_verbs_told */
    uint32_t rank, number, qpn, rkey;
    uint16_t word; /* nbcolli_verbs_word */
    uint8_t knows_yours, knows_done; /* as in nbcolli_verbs_datagram */
    uint32_t shares;                 /* 1: its receives are shared */
} nbcolli_verbs_offer;

/* Memory of a pair that devices write and read: numbers of receives so far. */
typedef struct nbcolli_verbs_told {
    _Atomic uint64_t theirs; /* the peer's: so much may be sent in all */
    uint64_t ours;           /* written there */
} nbcolli_verbs_told;

typedef struct nbcolli_verbs_entry {
    nbcoll_posting what;
    uint32_t lkey;
} nbcolli_verbs_entry;

/* A ring of what is posted; [given, posted) the device has not got yet. */
typedef struct nbcolli_verbs_line {
    nbcolli_verbs_entry *place; /* [depth] */
    uint64_t posted, given, ended;
    uint64_t enabled, gone; /* sends, or receives: let go, and given to the device */
    bool is_held;
    nbcoll_completion_queue *completions;
} nbcolli_verbs_line;

struct nbcoll_completion_queue {
    uint64_t entries;               /* not consumed */
    nbcoll_status status;           /* why there will not be more */
    nbcoll_shared_receives *shared; /* whose entries these are, instead of being counted; or null */
};

struct nbcoll_queue_pair {
    struct nbcoll_queue_pair *next;
    int peer;
    uint32_t number, depth;
    uint64_t serial, its_serial;
    struct ibv_cq *cq;
    struct ibv_qp *qp;
    struct ibv_mr *mr;
    nbcolli_verbs_told *told;
    uint64_t its_at;
    uint32_t its_rkey;
    bool knows_its, may_send, is_over;
    bool is_left; /* its peer has closed it */
    uint32_t telling;                  /* writes of told->ours under way */
    uint32_t at_device;                /* work requests that have not come back; not shared receives */
    uint64_t asked_at, wait_ns, heard; /* as of nbcolli_verbs_peer */
    nbcolli_verbs_line send, receive;
    nbcoll_shared_receives *shared; /* or null */
    struct nbcoll_queue_pair *next_sharer;
};

/* A receive that may be posted, and a message that has come into one. */
typedef struct nbcolli_verbs_slot {
    void *memory;
    uint32_t bytes, lkey;
    uint32_t next; /* free one */
} nbcolli_verbs_slot;

typedef struct nbcolli_verbs_came {
    nbcoll_queue_pair *pair;
    uint32_t slot;
} nbcolli_verbs_came;

/* What one rail has of shared receives. */
typedef struct nbcolli_verbs_part {
    struct ibv_cq *cq;
    struct ibv_srq *srq;
    nbcoll_queue_pair *pairs; /* that have them, over this rail */
    uint32_t sharers;         /* how many */
    uint32_t left;            /* posted, and not in a completion that was polled */
} nbcolli_verbs_part;

struct nbcoll_shared_receives {
    struct nbcoll_shared_receives *next; /* of the endpoint */
    size_t size;
    nbcoll_completion_queue *completions;
    nbcolli_verbs_part part[NBCOLLI_VERBS_RAILS];
    uint32_t depth, spare;       /* spare: the first free slot; depth: none */
    uint32_t least;              /* that is watched for */
    uint64_t came, taken;        /* [taken, came) of the ring */
    nbcolli_verbs_came *arrival; /* [depth], as the next ones */
    nbcolli_verbs_slot *slot;
    int bell;            /* the endpoint's */
    atomic_bool is_low;  /* said, and not yet heard */
};

/* News of a pair that its peer has closed before this rank opened it. */
typedef struct nbcolli_verbs_closed {
    struct nbcolli_verbs_closed *next;
    int peer;
    uint32_t number;
    uint64_t serial;
} nbcolli_verbs_closed;

/* Owned by the thread that executes programs. */
typedef struct nbcolli_verbs_programs {
    struct ibv_cq *cq; /* of the datagrams; each pair has one */
    nbcolli_verbs_mail mail;
    nbcoll_queue_pair *pairs;
    nbcolli_verbs_closed *closed;
    uint64_t serial;
    nbcoll_shared_receives *shared;
    struct ibv_comp_channel *channel[NBCOLLI_VERBS_RAILS]; /* theirs; null: there were none */
    int watched, bell; /* polls readable when one of them is low; rung for those that others hear of */
} nbcolli_verbs_programs;

/* What a completion is of: the lowest bits of its wr_id, the rest is an address. */
typedef enum nbcolli_verbs_of {
    NBCOLLI_VERBS_OF_RECEIVE,  /* a buffer of the shared receive queue */
    NBCOLLI_VERBS_OF_POST,     /* the buffer of a message, or of the notice of a put */
    NBCOLLI_VERBS_OF_QUIET,    /* a peer: a message of the transport's own, or bytes that another completion is for */
    NBCOLLI_VERBS_OF_GET,      /* a work request; its scratch holds the peer, null, and how many pieces it has */
    NBCOLLI_VERBS_OF_DATAGRAM, /* the buffer of one that comes */
    NBCOLLI_VERBS_OF_SAID,     /* that of one that was sent */
    NBCOLLI_VERBS_OF_SEND,     /* of a program: a pair; one that is no entry of a completion queue */
    NBCOLLI_VERBS_OF_SIGNALLED /* one that is */
} nbcolli_verbs_of;

/* ---- ranks ---------------------------------------------------------------------------------------------------------
 */

typedef enum nbcolli_verbs_state {
    NBCOLLI_VERBS_APART,      /* has no queue pairs */
    NBCOLLI_VERBS_CONNECTING, /* has some; cannot send yet */
    NBCOLLI_VERBS_CONNECTED,
    NBCOLLI_VERBS_LEFT, /* has said goodbye */
    NBCOLLI_VERBS_LOST
} nbcolli_verbs_state;

typedef struct nbcolli_verbs_peer {
    struct nbcolli_verbs_peer *next_known; /* of all that there was something to do with */
    struct nbcolli_verbs_peer *next_due;   /* who is owed credits */
    int rank;
    nbcolli_verbs_rail *rail; /* that joins it to this rank */
    nbcolli_verbs_state state;
    bool is_known;     /* in that list */
    bool is_reported;  /* its end */
    bool is_due;       /* in that list */
    bool is_given_up;  /* nothing of it reads or writes here any more */
    bool bulk_is_over; /* the queue pair of gets and puts is in error */
    bool knows_its;    /* this rank can receive from it */
    bool is_wanted;    /* a post waits until it is connected */
    bool has_lost_us;  /* and has said so */
    struct ibv_qp *messages, *bulk;
    struct ibv_ah *route; /* of datagrams */
    nbcolli_verbs_slab slab; /* its part of the buffers */
    nbcolli_verbs_buffer *spare; /* for sending */
    uint32_t credits;            /* what may still be sent */
    uint32_t owed;               /* what it may be told that it can send */
    uint32_t quiet, bulk_slots;
    uint64_t heard;                         /* when something that was sent to it was acknowledged, or a probe sent */
    uint64_t waits;                         /* since when a `quiet` message is not acknowledged */
    uint64_t asked_at, wait_ns, asks_until; /* connecting: when it was asked, how long till again, and till given up */
    uint32_t error, vendor_error;           /* of the completion that ended it: ibv_wc_status */
    atomic_bool is_gone;                    /* LEFT or LOST, for the thread that executes programs */
} nbcolli_verbs_peer;

/* ---- registrations -------------------------------------------------------------------------------------------------
 */

/* One that is kept; mr is null where there is none. */
typedef struct nbcolli_verbs_kept {
    uintptr_t at;
    size_t bytes;
    struct ibv_mr *mr;
    int flags;
    uint32_t users;
    bool is_stale; /* forgotten while it was in use */
    uint64_t used; /* the last time, counted in uses of all */
} nbcolli_verbs_kept;

/* Beside the local key in word[1] of a registration, whose word[0] then is a nbcolli_verbs_kept; or a
 * nbcolli_verbs_for_all. */
#define NBCOLLI_VERBS_IS_KEPT (UINT64_C(1) << 32)
#define NBCOLLI_VERBS_IS_FOR_ALL (UINT64_C(1) << 33)

/* With every rail; serves each registration of memory that lies in it. */
typedef struct nbcolli_verbs_for_all {
    struct nbcolli_verbs_for_all *next;
    uintptr_t at;
    size_t bytes;
    int flags;
    uint32_t users;
    struct ibv_mr *mr[NBCOLLI_VERBS_RAILS];
} nbcolli_verbs_for_all;

/* Shared by endpoints of a process that were opened beside each other. */
typedef struct nbcolli_verbs_shared {
    nbcoll_host host; /* the first one's */
    atomic_int users; /* endpoints */
    uint32_t rails;
    struct ibv_context *device[NBCOLLI_VERBS_RAILS];
    struct ibv_pd *pd[NBCOLLI_VERBS_RAILS];
    nbcolli_verbs_prices prices; /* the first one's to set */
    atomic_flag lock; /* held for a look at the list, never for a call of the device */
    nbcolli_verbs_for_all *registered;
} nbcolli_verbs_shared;

/* ---- an endpoint ---------------------------------------------------------------------------------------------------
 */

/* A port of a device, and what the ranks need of it that it joins. */
struct nbcolli_verbs_rail {
    struct ibv_context *device; /* this, and pd: what is shared */
    uint8_t port;
    int gid_index;
    struct ibv_port_attr port_attr;
    struct ibv_pd *pd;
    struct ibv_comp_channel *channel;
    struct ibv_cq *cq;
    struct ibv_srq *srq;
    bool is_stashed;
    struct ibv_wc stashed; /* what arming found */
};

typedef struct nbcolli_verbs_end {
    nbcoll_endpoint base; /* first */
    nbcoll_host host;
    size_t bytes;
    uint32_t credits, payload, timeout, retries;
    uint64_t probe_ns, connect_ns;
    uint64_t nonce;
    nbcolli_verbs_shared *shared;
    uint32_t rails;
    nbcolli_verbs_rail rail[NBCOLLI_VERBS_RAILS];
    size_t piece; /* what each of their devices moves by one work request */
    nbcolli_verbs_mail mail;
    nbcolli_verbs_slab own_slab;                 /* of messages to this rank itself */
    nbcolli_verbs_buffer *own;                   /* free ones */
    nbcolli_verbs_buffer *own_first, **own_last; /* such messages, not yet arrived */
    nbcolli_verbs_buffer *arrived;               /* reported by the last progress */
    nbcoll_work *cancelled;                      /* to be given back */
    nbcolli_verbs_peer *peer;                    /* [ranks] */
    nbcolli_verbs_peer *known, *due;
    nbcolli_verbs_place *place;    /* [ranks]; null before nbcoll_verbs_meet */
    uint64_t now, due_at;          /* of the last tick; when there is something to do at the next one */
    uint32_t passes, ends;         /* to report */
    bool is_armed;
    nbcolli_verbs_kept *kept; /* [registrations] */
    atomic_flag kept_lock; /* held for a look at them, never for a call of the device */
    uint64_t hits, misses, inlined;
    uint32_t registrations, inlines; /* inlines: bytes that a message sent inline may have */
    int epoll, timer;
    int error; /* errno of a refused call */
    nbcolli_verbs_programs programs;
} nbcolli_verbs_end;

static inline nbcolli_verbs_end *nbcolli_verbs_end_of(nbcoll_endpoint *ep)
{
    return (nbcolli_verbs_end *)(void *)ep;
}

static inline uint64_t nbcolli_verbs_wr_id(const void *at, nbcolli_verbs_of of)
{
    return (uint64_t)(uintptr_t)at | (uint64_t)of;
}

static inline void *nbcolli_verbs_at(uint64_t wr_id)
{
    return (void *)(uintptr_t)(wr_id & ~UINT64_C(7));
}

/* The pairs of ranks are dealt round robin over the rails: of all that a rank talks to, each rail has as many. */
static inline uint32_t nbcolli_verbs_rail_to(const nbcolli_verbs_end *e, int rank)
{
    return ((uint32_t)e->base.rank + (uint32_t)rank) % e->rails;
}

/* The part of the shared receives of a pair from which it takes. */
static inline nbcolli_verbs_part *nbcolli_verbs_part_of(const nbcolli_verbs_end *e, const nbcoll_queue_pair *pair)
{
    return &pair->shared->part[nbcolli_verbs_rail_to(e, pair->peer)];
}

/* The local key that a registration has for what goes to a rank. */
static inline uint32_t nbcolli_verbs_lkey(const nbcolli_verbs_end *e, int rank, const nbcoll_registration *r)
{
    const nbcolli_verbs_for_all *all = (const nbcolli_verbs_for_all *)(uintptr_t)r->word[0];
    return r->word[1] & NBCOLLI_VERBS_IS_FOR_ALL ? all->mr[nbcolli_verbs_rail_to(e, rank)]->lkey : (uint32_t)r->word[1];
}

/* Bytes from one buffer to the next, with `wire` bytes that travel. */
static inline size_t nbcolli_verbs_stride(size_t wire)
{
    return nbcolli_lines(sizeof(nbcolli_verbs_buffer) + wire);
}

/* ---- verbs.c -------------------------------------------------------------------------------------------------------
 */

bool nbcolli_verbs_is_one(const nbcoll_endpoint *ep);

/* ---- device.c ------------------------------------------------------------------------------------------------------
 */

nbcoll_status nbcolli_verbs_find(nbcolli_verbs_end *e, const nbcoll_verbs_config *config);
/* Beside another endpoint: takes its measurements. */
nbcoll_status nbcolli_verbs_equip(nbcolli_verbs_end *e, bool is_beside, nbcolli_verbs_place *mine);
void nbcolli_verbs_strip(nbcolli_verbs_end *e);

/* Ready for use, with buffers for NBCOLLI_VERBS_SAID datagrams that are sent and twice as many as `peers` that come.
 * False: errno. */
uint32_t nbcolli_verbs_hears(uint32_t peers);
bool nbcolli_verbs_hear(nbcolli_verbs_end *e, nbcolli_verbs_mail *m, struct ibv_cq *cq, uint32_t peers, uint32_t bytes);
/* Posts the buffer of one that has come, for the next one. */
void nbcolli_verbs_listen(nbcolli_verbs_mail *m, nbcolli_verbs_buffer *buffer);
/* Sends one by a route, which is destroyed with it if it is its own. What cannot be sent now is not sent. */
void nbcolli_verbs_mail_say(nbcolli_verbs_mail *m, const void *what, struct ibv_ah *route, bool is_own, uint32_t qpn);
void nbcolli_verbs_mail_said(nbcolli_verbs_mail *m, nbcolli_verbs_buffer *buffer);
void nbcolli_verbs_hang_up(nbcolli_verbs_end *e, nbcolli_verbs_mail *m);

/* Memory registered with a rail, cut into `count` buffers of `wire` bytes, linked; null without memory. */
nbcolli_verbs_buffer *nbcolli_verbs_cut(nbcolli_verbs_end *e, nbcolli_verbs_rail *rail, uint32_t count, size_t wire,
                                        nbcolli_verbs_slab *slab);
void nbcolli_verbs_slab_free(nbcolli_verbs_end *e, nbcolli_verbs_slab *slab);

static inline void nbcolli_verbs_lock(atomic_flag *lock)
{
    /* acquire: sees the last holder's writes */
    while (atomic_flag_test_and_set_explicit(lock, memory_order_acquire))
        ;
}

static inline void nbcolli_verbs_unlock(atomic_flag *lock)
{
    atomic_flag_clear_explicit(lock, memory_order_release); /* publishes the writes before */
}

/* ---- shared.c ------------------------------------------------------------------------------------------------------
 */

/* Before the endpoint finds its rails: makes what it may share, or, beside another one, takes that one's rails, too.
 * False: no memory. */
bool nbcolli_verbs_share(nbcolli_verbs_end *e, const nbcolli_verbs_end *beside);

/* A device that was opened belongs to all from now on. False: errno. */
bool nbcolli_verbs_share_device(nbcolli_verbs_end *e, nbcolli_verbs_rail *rail);
void nbcolli_verbs_unshare(nbcolli_verbs_end *e);

/* Registers memory with every rail for `flags`, or finds that it is. Null: errno. Any thread, as its end. */
nbcolli_verbs_for_all *nbcolli_verbs_register_for_all(nbcolli_verbs_end *e, void *memory, size_t bytes, int flags);
void nbcolli_verbs_deregister_for_all(nbcolli_verbs_end *e, nbcolli_verbs_for_all *all);

/* ---- connect.c -----------------------------------------------------------------------------------------------------
 */

/* The peer of that rank, which is not this one. */
nbcolli_verbs_peer *nbcolli_verbs_know(nbcolli_verbs_end *e, int rank);

/* Begins or goes on connecting, for a post that waits for it. False: it cannot be (p->state says why), or there is no
 * memory, or the device refused (e->error). */
bool nbcolli_verbs_want(nbcolli_verbs_end *e, nbcolli_verbs_peer *p);

/* By a datagram. One that cannot go now is sent again, or asked for. */
void nbcolli_verbs_tell(nbcolli_verbs_end *e, const nbcolli_verbs_peer *p, nbcolli_verbs_word word);

/* Handles a datagram, and posts its buffer again. */
void nbcolli_verbs_heard(nbcolli_verbs_end *e, nbcolli_verbs_buffer *buffer, uint32_t bytes);

/* This rank can send to it from now on. */
void nbcolli_verbs_connected(nbcolli_verbs_end *e, nbcolli_verbs_peer *p);

/* Asks peers again that have not answered. Returns when to do so next; UINT64_MAX: never. */
uint64_t nbcolli_verbs_ask_again(nbcolli_verbs_end *e, uint64_t now);

void nbcolli_verbs_goodbye_apart(nbcolli_verbs_end *e);
void nbcolli_verbs_disconnect(nbcolli_verbs_peer *p);

/* A new queue pair, which may then be joined: what its peer may do. False: errno. */
bool nbcolli_verbs_begin(const nbcolli_verbs_rail *rail, struct ibv_qp *qp, int access);

/* From a rail to a port. */
struct ibv_ah_attr nbcolli_verbs_way(const nbcolli_verbs_rail *rail, const nbcolli_verbs_port *to);

/* Joins a queue pair to the one of that number at a port: it can receive, and send; `again`: so often to a receiver
 * that is not ready. */
#define NBCOLLI_VERBS_FOR_EVER 7
bool nbcolli_verbs_join(const nbcolli_verbs_end *e, const nbcolli_verbs_rail *rail, const nbcolli_verbs_port *to,
                        struct ibv_qp *qp, uint32_t theirs, uint8_t again);

/* The same for the rail and port that join this rank to another one. */
bool nbcolli_verbs_join_rank(const nbcolli_verbs_end *e, int rank, struct ibv_qp *qp, uint32_t theirs, uint8_t again);

/* ---- trial.c -------------------------------------------------------------------------------------------------------
 */

/* Prices of this rank, over all of its rails, which its place tells. */
nbcolli_verbs_prices nbcolli_verbs_try(nbcolli_verbs_end *e, const nbcolli_verbs_place *mine);

/* Sets the limits from the prices of all ranks, which thereby have the same. */
void nbcolli_verbs_agree(nbcolli_verbs_end *e, const nbcolli_verbs_place *all);

/* ---- messages.c ----------------------------------------------------------------------------------------------------
 */

nbcoll_posted nbcolli_verbs_post(nbcoll_endpoint *ep, int peer, const nbcoll_header *header, const void *payload,
                                 size_t bytes, nbcoll_work *work);
void nbcolli_verbs_cancel(nbcoll_endpoint *ep, nbcoll_work *work);

/* Posts a message of a connected peer on `qp`, with the `count` work requests that come before it, or null; NOT_NOW
 * without credit or buffer. */
nbcoll_posted nbcolli_verbs_send(nbcolli_verbs_end *e, nbcolli_verbs_peer *p, struct ibv_qp *qp,
                                 struct ibv_send_wr *before, uint32_t count, const nbcoll_header *header,
                                 const void *payload, size_t bytes, nbcoll_work *work);

/* A message of the transport's own: credits, a goodbye, or (MESSAGE) a probe, which the core does not see. */
bool nbcolli_verbs_say(nbcolli_verbs_end *e, nbcolli_verbs_peer *p, nbcolli_verbs_kind kind);

/* Gives back to the device what the last progress reported, and to peers the credits for it. */
void nbcolli_verbs_release(nbcolli_verbs_end *e);

/* Puts buffers into the shared receive queue. */
void nbcolli_verbs_receive(nbcolli_verbs_end *e, nbcolli_verbs_buffer *first);

/* Handles an arrival on a queue pair. */
void nbcolli_verbs_took(nbcolli_verbs_end *e, nbcolli_verbs_buffer *buffer, const struct ibv_wc *wc,
                        nbcoll_arrival ***last);

/* ---- cache.c -------------------------------------------------------------------------------------------------------
 */

/* Registers memory with a rail for `flags`, or finds that it is; *kept: null, if it is the caller's to deregister.
 * Null: errno. */
struct ibv_mr *nbcolli_verbs_memory(nbcolli_verbs_end *e, const nbcolli_verbs_rail *rail, void *memory, size_t bytes,
                                    int flags, nbcolli_verbs_kept **kept);

/* The same, but never kept. */
struct ibv_mr *nbcolli_verbs_pin(nbcolli_verbs_end *e, const nbcolli_verbs_rail *rail, void *memory, size_t bytes,
                                 int flags);
void nbcolli_verbs_let_go(nbcolli_verbs_end *e, nbcolli_verbs_kept *kept);
void nbcolli_verbs_forget_all(nbcolli_verbs_end *e);

/* ---- bulk.c --------------------------------------------------------------------------------------------------------
 */

extern const nbcoll_bulk nbcolli_verbs_bulk;
void nbcolli_verbs_give_up(nbcoll_endpoint *ep, int peer);

/* ---- progress.c ----------------------------------------------------------------------------------------------------
 */

extern const nbcoll_wakeup nbcolli_verbs_wakeup;
void nbcolli_verbs_progress(nbcoll_endpoint *ep, nbcoll_completions *found);

/* The peer has ended, as `state` says: what was sent to it comes back. */
void nbcolli_verbs_over(nbcolli_verbs_end *e, nbcolli_verbs_peer *p, nbcolli_verbs_state state);

/* Waits until all sent messages are acknowledged, at the end of the endpoint. */
void nbcolli_verbs_flush(nbcolli_verbs_end *e);

/* ---- pairs.c -------------------------------------------------------------------------------------------------------
 */

/* Makes an endpoint's part for programs; false: errno. And frees it, with remaining pairs. */
bool nbcolli_verbs_prepare(nbcolli_verbs_end *e);
void nbcolli_verbs_unprepare(nbcolli_verbs_end *e);

/* The group's. */
nbcoll_status nbcolli_verbs_open_queue(nbcoll_endpoint *ep, const nbcoll_queue_config *config, nbcoll_queue_pair **out);
void nbcolli_verbs_close_queue(nbcoll_endpoint *ep, nbcoll_queue_pair *pair, nbcoll_completion_queue *completions);

/* Hears what peers say of pairs, and asks again. */
void nbcolli_verbs_hear_offers(nbcolli_verbs_end *e);

/* ---- programs.c ----------------------------------------------------------------------------------------------------
 */

extern const nbcoll_offload nbcolli_verbs_offload;

/* Handles completions of a pair. */
void nbcolli_verbs_pair_poll(nbcolli_verbs_end *e, nbcoll_queue_pair *pair);

/* Gives the device all that may go, and tells the peer of new receives. */
void nbcolli_verbs_pair_advance(nbcoll_queue_pair *pair);

/* Ends a pair for that reason; and for a completion's, which goes to the log. */
void nbcolli_verbs_pair_lose(nbcoll_queue_pair *pair, nbcoll_status why);
void nbcolli_verbs_pair_fails(const nbcolli_verbs_end *e, nbcoll_queue_pair *pair, const struct ibv_wc *wc);

/* Something has come by it. */
void nbcolli_verbs_pair_hears(const nbcolli_verbs_end *e, nbcoll_queue_pair *pair);

/* Moves all pairs on. */
void nbcolli_verbs_run(nbcolli_verbs_end *e);

/* ---- limits.c ------------------------------------------------------------------------------------------------------
 */

/* Sends under way on a queue pair, with those that tell its peer. */
static inline uint64_t nbcolli_verbs_sends(uint32_t depth)
{
    return (uint64_t)depth + NBCOLLI_VERBS_TELLS;
}

/* What a device may refuse to make. */
typedef enum nbcolli_verbs_thing {
    NBCOLLI_VERBS_COMPLETIONS,
    NBCOLLI_VERBS_PAIR,
    NBCOLLI_VERBS_RECEIVES,
    NBCOLLI_VERBS_REGISTRATION
} nbcolli_verbs_thing;

/* The device has refused one that is within its limits, as errno says: ERR_LIMIT, told in the log, if that is for want
 * of room, else ERR_TRANSPORT. `entries`: of a registration bytes. */
nbcoll_status nbcolli_verbs_refused(const nbcolli_verbs_end *e, const nbcolli_verbs_rail *rail,
                                    nbcolli_verbs_thing thing, uint64_t entries);

/* The group's. */
nbcoll_status nbcolli_verbs_admits(nbcoll_endpoint *ep, const nbcoll_queue_demand *demand);

/* ---- receives.c ----------------------------------------------------------------------------------------------------
 */

/* Handles arrivals on the rail of a pair that has them. */
void nbcolli_verbs_shared_poll(nbcolli_verbs_end *e, const nbcoll_queue_pair *pair);

/* A pair with shared receives, made or about to end. */
void nbcolli_verbs_share_pair(nbcolli_verbs_end *e, nbcoll_queue_pair *pair);
void nbcolli_verbs_unshare_pair(nbcolli_verbs_end *e, nbcoll_queue_pair *pair);

/* At the end of the endpoint, after its pairs. */
void nbcolli_verbs_receives_end(nbcolli_verbs_end *e);

/* The group's. */
nbcoll_status nbcolli_verbs_open_shared(nbcoll_endpoint *ep, uint32_t depth, nbcoll_completion_queue *received,
                                        nbcoll_shared_receives **out);
nbcoll_status nbcolli_verbs_post_shared(nbcoll_endpoint *ep, nbcoll_shared_receives *r, const nbcoll_posting *p);
nbcoll_status nbcolli_verbs_take(nbcoll_endpoint *ep, nbcoll_completion_queue *received, nbcoll_shared_arrival *out);
nbcoll_status nbcolli_verbs_watch_shared(nbcoll_endpoint *ep, nbcoll_shared_receives *r, uint32_t least, int *fd);
void nbcolli_verbs_close_shared(nbcoll_endpoint *ep, nbcoll_shared_receives *r);

#endif
