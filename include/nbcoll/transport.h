/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The transport contract. A transport moves bytes between the ranks of one endpoint set and knows nothing of
 * collectives: it delivers small messages (a fixed header and a bounded payload), and may move bulk data by descriptor
 * (get, put), give the ranks shared memory, send single lines, and let a rank sleep. Matching, eager and rendezvous,
 * flow control and ordering are the core's: a transport may deliver messages in any order, but delivers each exactly
 * once, whole, or reports the peer as lost. Headers, payloads and bulk data arrive as they were sent: the core adds no
 * checksum. It checks headers to find bugs and other versions. A header that is damaged into another valid one (the
 * number of another message, the place of another fragment) gives a wrong result. A rank that has closed its endpoint
 * is not lost: it has left. The transport reports that, too, and posts to such a rank go nowhere.
 *
 * A loss is mutual. An endpoint says that a peer is lost in a report, by the answer LOST, or by a work request that
 * comes back with ERR_PEER_LOST. That peer may live, if a link has failed or a probe ran out. Then its endpoint says
 * the same of this rank, in a report, and never that it has left: else it would wait for this rank for ever. If it can
 * be reached, it does so as soon as it would report this rank's death. Else it does so as soon when it can be reached
 * again, at the latest after its next post to this rank. What either has sent before may still arrive. give_up alone is
 * no loss: a core that gives a rank up, or is answered FAILED, tells the other ranks by messages.
 *
 * A transport is a const table and a struct of its own whose first member is nbcoll_endpoint:
 *
 *     struct wire { nbcoll_endpoint base; ... };
 *     static const nbcoll_transport table = {NBCOLL_ABI, sizeof table, "wire", post, progress, cancel, close_, ...};
 *     nbcoll_status wire_open(const wire_config *config, nbcoll_endpoint **out);     an ordinary function
 *
 * post, progress, cancel and close are required; all else is optional, and null if it is not offered. Tables, groups
 * and limits carry their size and are append-only: the core reads what lies inside that size and treats the rest as
 * null or 0. So a transport that was compiled against an older header works on.
 *
 * Threads: the core calls an endpoint from one thread at a time, never from inside itself. A transport synchronises
 * what its endpoints share. No function may block.
 *
 * Room is left for a tagged group: posts and receives with the tag that names them, so that a transport which matches
 * itself (UCX, libfabric, an MPI) places a payload straight where it belongs. It will be one more group at the end of
 * the table; nothing here changes by it.
 */
#include "nbcoll.h"

#ifndef NBCOLL_TRANSPORT_H
#define NBCOLL_TRANSPORT_H

NBCOLLI_BEGIN

/* ---- messages ---------------------------------------------------------------------------------------------------- */

/* The fixed header of every message: the core's, carried as it is. A transport may read nothing of it. */
typedef struct nbcoll_header {
    uint64_t word[6];
} nbcoll_header;

/* A work request: something handed to a transport. The core owns the memory; while it is in flight, `next` and
 * `scratch` are the transport's. */
typedef struct nbcoll_work {
    struct nbcoll_work *next;
    nbcoll_status status; /* set by the transport when it comes back: OK, ERR_CANCELLED, ERR_PEER_LOST, ERR_TRANSPORT;
                             of a get or put also ERR_BUFFER and ERR_FAULT (see nbcoll_bulk). ERR_TRANSPORT: the message
                             was not and will not be delivered, and a get or put touches nothing more, as after
                             ERR_CANCELLED of a put; the peer may live. So a peer does not touch what such a message
                             has offered it. A transport that cannot tell loses the peer: ERR_PEER_LOST */
    uint32_t owner;       /* the core's; not to be touched */
    uint64_t scratch[4];
} nbcoll_work;

/* What a post, get or put says; "a post" below means each of them.
 *
 * DONE promises delivery even if this endpoint is closed at once. A transport that must live on for that (its own
 * queue, a device that may have to send again) answers IN_FLIGHT, and returns the work request when the peer's side has
 * acknowledged. So close, which is called with nothing in flight, need not wait. */
typedef enum nbcoll_posted {
    NBCOLL_POST_DONE, /* finished: the caller may reuse all that it passed. Also the answer for a rank that has left,
                         at the latest when its ring or queue is full: the message goes nowhere */
    NBCOLL_POST_IN_FLIGHT, /* header, payload, memory, key, registration and work request stay as they are until the
                         work request comes back, exactly once, from progress (also after cancel) */
    NBCOLL_POST_NOT_NOW,   /* no room, or not connected to the peer yet (a transport may connect at the first post):
                              nothing happened. The core tries again after each progress, and may sleep until there is
                              room (see arm) */
    NBCOLL_POST_LOST,      /* the peer is dead or unreachable: nothing happened, and all later posts to it get LOST.
                              From now on it does not read or write this rank's memory, as after a report that it is
                              lost (but see touches) */
    NBCOLL_POST_FAILED     /* the transport is broken, at least to this peer: nothing happened. The core counts the peer
                              as lost, as when a work request comes back with ERR_TRANSPORT: operations with it end with
                              ERR_PEER_LOST on all ranks. The core tries no other way */
} nbcoll_posted;

/* One delivered message. It and its payload are the transport's; the core reads them until the next progress. */
typedef struct nbcoll_arrival {
    struct nbcoll_arrival *next;
    int source;           /* rank of the sender on this endpoint */
    nbcoll_header header; /* as posted */
    const void *payload;  /* `bytes` of it; aligned to 8 */
    size_t bytes;
} nbcoll_arrival;

/* One delivered line (see nbcoll_lines). It and its payload are the transport's; the core reads them until the next
 * progress. */
typedef struct nbcoll_line_arrival {
    struct nbcoll_line_arrival *next;
    int source;          /* rank of the sender on this endpoint */
    uint32_t channel;    /* as posted, and the others */
    uint32_t bytes;      /* of the payload: at most NBCOLL_LINE_PAYLOAD, but see are_long */
    uint64_t turn;
    const void *payload; /* aligned to 8 */
} nbcoll_line_arrival;

/* What one progress call found. The core empties it before the call and handles it after the call has returned: a
 * transport calls nobody back. Each list is in the order in which the core shall handle it. The core handles `lines`
 * first, since most operations wait for a line, then `arrived` and `completed`, then `lost` and `departed`. It handles
 * all in one call of the host: report a bounded amount at once, best about NBCOLL_PASS_BYTES. */
typedef struct nbcoll_completions {
    nbcoll_arrival *arrived;
    nbcoll_work *completed;
    /* A rank newly lost, or -1. Further ones wait for further calls. From this report on that rank does not read or
     * write this rank's memory, unless `touches` of the transport says so. */
    int lost;
    /* Another rank that has closed its endpoint, or -1; further ones as above. The transport reports each once, when
     * all that it posted to this rank has arrived, in this report or an earlier one, and never as lost. That is no
     * failure: the core ends operations that still need that rank. Without the report these would wait until their
     * deadlines, so every transport that can learn of a close reports it. */
    int departed;
    nbcoll_line_arrival *lines;
} nbcoll_completions;
#define NBCOLL_COMPLETIONS_EMPTY {NULL, NULL, -1, -1, NULL}

/* ---- bulk data (optional group) ---------------------------------------------------------------------------------- */

/* Names registered memory to a peer: the first limits.key_bytes bytes travel in messages, the others are 0 at the
 * peer. All zero is never valid. */
typedef struct nbcoll_key {
    uint64_t word[8];
} nbcoll_key;

/* What registered memory may be used for; several are or-ed. */
#define NBCOLL_PEER_READS 1u  /* the peer gets from it */
#define NBCOLL_PEER_WRITES 2u /* the peer puts into it */
#define NBCOLL_LOCAL_END 4u   /* this rank gets into it, or puts from it */

/* A registration: filled by register_memory. The core copies it as it likes. */
typedef struct nbcoll_registration {
    nbcoll_key key;   /* for the peer; all zero if only LOCAL_END was asked for */
    uint64_t word[2]; /* the transport's own: a handle, a local key */
} nbcoll_registration;

/* Flags of the group. */
#define NBCOLL_BULK_ANY_LOCAL 1u /* this rank's end of a get or put may be any memory: the core passes null for it */
#define NBCOLL_BULK_ONE_KEY 2u   /* a key of PEER_READS depends on memory and bytes only: a key made for one peer serves
                                    every other one that the transport reaches */

/* Moves large data between memories that are named by keys. The receiver gets, or the sender puts: a transport has get,
 * put or both, and where it has both the core takes the cheaper one (limits.get_ns, put_ns).
 *
 * If the system later refuses a way of copying, the peer is not lost: the transport goes on in another way, inside the
 * same get or put. If memory itself cannot be touched, and the transport can tell, it answers IN_FLIGHT, and returns
 * the work request with ERR_BUFFER (this rank's memory is at fault) or ERR_FAULT (what the peer registered is). Some of
 * the bytes may have been written; no more will be, and no notice is delivered. The core ends that operation, on all
 * ranks, with ERR_FAULT; the peer stays usable. */
typedef struct nbcoll_bulk {
    size_t size;
    uint32_t flags;
    /* Registers [memory, memory + bytes), bytes > 0, for `access`, with `peer` as the other end; -1: with every rank.
     * Valid from this call until deregister_memory, which comes after each get and put that uses it at either end has
     * ended: the core knows that of its own from their work requests, and of the peers' from their messages. The memory
     * exists, and stays where it is, as long. Registrations may overlap, and lie in each other. OK or any error. It may
     * fail at either end, also for this peer alone: the core then sends this message in fragments. Exposures without
     * messages (see the shared group) have no fragments: there a refusal ends the operation, on all ranks that have not
     * ended it, with that error, and the communicator goes on. */
    nbcoll_status (*register_memory)(nbcoll_endpoint *ep, int peer, void *memory, size_t bytes, uint32_t access,
                                     nbcoll_registration *out);
    /* Ends the registration. A later get or put with its key is a mistake of the core; the transport need not find it.
     * Null where a registration holds nothing. */
    void (*deregister_memory)(nbcoll_endpoint *ep, nbcoll_registration *registration);
    /* Copies `bytes` bytes from `offset` behind what `peer` registered as `key` (PEER_READS) to `to`, which `local`
     * (LOCAL_END; null by the flag) covers. A work request in flight comes back when `to` is complete, or will no
     * longer be written. A key that names no such memory is FAILED, or fails. If the calling thread copies, it copies
     * at most about NBCOLL_PASS_BYTES in a progress and the gets and puts up to the next one. It answers IN_FLIGHT for
     * the rest, and progress goes on with it, by turns. */
    nbcoll_posted (*get)(nbcoll_endpoint *ep, int peer, const nbcoll_key *key, size_t offset,
                         const nbcoll_registration *local, void *to, size_t bytes, nbcoll_work *work);
    /* Copies `bytes` bytes from `from`, which `local` covers as above, to `offset` behind what `peer` registered as
     * `key` (PEER_WRITES); then delivers `notice` to the peer as a message without payload, when all bytes can be read
     * there. If the work request comes back with ERR_CANCELLED, nothing more is written, and the notice was not and
     * will not be delivered. If it comes back with OK, the notice is delivered. DONE and all else as for post and get.
     * */
    nbcoll_posted (*put)(nbcoll_endpoint *ep, int peer, const nbcoll_key *key, size_t offset,
                         const nbcoll_registration *local, const void *from, size_t bytes, const nbcoll_header *notice,
                         nbcoll_work *work);
    /* Can any memory move between this rank and `peer`, both ways? Constant, and both say the same. Null: always. */
    int (*reaches)(nbcoll_endpoint *ep, int peer);
    /* The address at which this rank can read `bytes` bytes from `offset` behind what `peer` registered, until they are
     * deregistered; null if there is none: then the core gets them. What `peer` has reserved (nbcoll_shared) has one,
     * also when that has left, unless it has given this rank up. The function itself may be null: then no memory has
     * such an address. */
    const void *(*view)(nbcoll_endpoint *ep, int peer, const nbcoll_key *key, size_t offset, size_t bytes);
} nbcoll_bulk;

/* ---- shared memory (optional group) ------------------------------------------------------------------------------ */

/* Memory that all ranks of the endpoint read and write in place. With it, and with a bulk group that gets, has
 * ANY_LOCAL, keys of at most 16 bytes and nothing to deregister, exposures need no messages. */
typedef struct nbcoll_shared {
    size_t size;
    /* Takes `bytes` zeroed bytes for this rank, aligned to 128; *at, never 0, names them to all. ERR_MEMORY when there
     * are no more. */
    nbcoll_status (*reserve)(nbcoll_endpoint *ep, size_t bytes, uint64_t *at);
    /* Gives back what this rank has reserved. Nobody touches it any more. */
    void (*release)(nbcoll_endpoint *ep, uint64_t at);
    /* Where what any rank has reserved lies for this one; null if there can be nothing there. */
    void *(*map)(nbcoll_endpoint *ep, uint64_t at, size_t bytes);
    /* The core calls it after a change (stored seq_cst) of shared memory for which `peer` may wait: it ends that rank's
     * sleep. -1: all other ranks may wait. Any thread may call it, also while others are in the endpoint; an agent's
     * thread does. */
    void (*wake)(nbcoll_endpoint *ep, int peer);
    /* Optional: copies to memory that this rank has reserved and `peer` will read (-1: several ranks), in the way that
     * is fastest for that. Null: memcpy. */
    void (*copy_in)(nbcoll_endpoint *ep, int peer, void *to, const void *from, size_t bytes);
    /* Optional, for an agent in another process: the descriptor of a file that holds all that map gives and can neither
     * shrink nor grow (seals). The endpoint closes it. *base becomes the address of the file's beginning for this rank.
     * -1: there is none. */
    int (*descriptor)(nbcoll_endpoint *ep, void **base, size_t *bytes);
    /* Optional, with limits.staging: the bytes of the longest part that the core should copy to the staging buffer: a
     * get of a longer part takes less time than two copies. The core lends longer parts, unless readers have more to do
     * than owners: readers that combine the parts, or one that reads those of all ranks. Asked once, when the endpoint
     * joins its context. Null, or 0: copy every part. */
    size_t (*staging_part)(nbcoll_endpoint *ep);
} nbcoll_shared;

/* ---- sleeping (optional group) ----------------------------------------------------------------------------------- */

typedef struct nbcoll_wakeup {
    size_t size;
    /* The endpoint's descriptor. It polls readable when the endpoint is armed and something wakes it. While the
     * endpoint is not armed nobody looks at it. */
    int (*fd)(nbcoll_endpoint *ep);
    /* Announces that this rank is about to sleep. From an OK on the descriptor becomes readable when a message or line
     * comes, a rank is lost or leaves, a work request can come back, or there is room where a post was answered NOT_NOW
     * since the last progress. What makes that room must wake this rank: the peer that takes something out of a full
     * ring, or this rank's own completions if its send queue was full; a transport over descriptors watches EPOLLOUT.
     * OK, or AGAIN when something of all this is there already (then nothing is armed). It answers AGAIN also if it has
     * refused a post, and nobody will wake this rank when the reason has gone.
     *
     * The descriptor may wake the rank in vain, but not for ever: each progress disarms, and empties the descriptor, so
     * that the next arming can sleep. The core looks at shared memory once more after arming, so the arming is a
     * seq_cst store. */
    nbcoll_status (*arm)(nbcoll_endpoint *ep);
} nbcoll_wakeup;

/* ---- single lines (optional group) ------------------------------------------------------------------------------- */

#define NBCOLL_LINE_PAYLOAD 48

/* Messages of one line, for what a pair of ranks sends each other again and again: instead of the whole header a line
 * has a *channel*, a number that sender and receiver have agreed on once, by messages, and a *turn*. With these and up
 * to 48 bytes of payload a line fits a cache line, and one store can publish all of it.
 *
 * The cores count channels from 0 for each (sender, receiver) and use less than limits.channels. Neither channel nor
 * turn means anything to the transport: it carries them. Any number of lines may be under way, on one channel or on
 * many. Each arrives exactly once and whole, or its sender is lost. Lines overtake messages, are overtaken by them, and
 * may overtake each other: the lines of one channel, too. */
typedef struct nbcoll_lines {
    size_t size;
    /* Sends a line to `peer`, which may be this rank itself. `payload` (any alignment; not read if `bytes` is 0) is the
     * caller's again at the return: never IN_FLIGHT. DONE: it will be delivered, as nbcoll_posted says. NOT_NOW:
     * nothing happened. The core then posts the same as a message, and does not try the line again; arm wakes for the
     * room that it lacked as it does for a message's. LOST, as for a message. FAILED: the transport is broken, or there
     * is no such channel (limits.channels or above), or `bytes` is more than may be: nothing happened. */
    nbcoll_posted (*post)(nbcoll_endpoint *ep, int peer, uint32_t channel, uint64_t turn, const void *payload,
                          size_t bytes);
    /* Optional: takes a line that is awaited, without a progress. If what comes next from `peer` is there, and is a
     * line on `channel` of `bytes` bytes whose turn has the lowest 48 bits of `turn`: copies its payload to `to` (any
     * alignment; not written if `bytes` is 0) and returns the highest 16 bits of its turn. No progress will report it,
     * and what was reported before is released as by progress. Else nothing happens. -1: nothing is there yet; -2:
     * something else is, or the transport cannot tell, and progress will. It reports nothing else, wakes nobody but for
     * room, and does not disarm. A core that waits calls it again and again, and progress now and then. */
    int32_t (*take)(nbcoll_endpoint *ep, int peer, uint32_t channel, uint64_t turn, void *to, size_t bytes);
    int are_long; /* 1: a line may have as many bytes as limits.payload says, not NBCOLL_LINE_PAYLOAD alone */
} nbcoll_lines;

/* ---- programs (optional group) ----------------------------------------------------------------------------------- */

typedef struct nbcoll_queue_pair nbcoll_queue_pair;             /* the transport's own */
typedef struct nbcoll_completion_queue nbcoll_completion_queue; /* likewise */
typedef struct nbcoll_shared_receives nbcoll_shared_receives;   /* likewise */

/* What is posted to a queue pair. */
typedef enum nbcoll_posting_kind { NBCOLL_POSTING_SEND, NBCOLL_POSTING_RECEIVE, NBCOLL_POSTING_WAIT }
    nbcoll_posting_kind;

typedef struct nbcoll_posting {
    nbcoll_posting_kind kind;
    int signal;                         /* SEND: its end is an entry of the send queue's completion queue */
    void *memory;                       /* SEND: read, RECEIVE: written, until it has ended or the pair is closed */
    size_t bytes;                       /* RECEIVE: room; what comes may be shorter. 0: no memory */
    const nbcoll_registration *local;   /* LOCAL_END, covers it; read by the call; null with NBCOLL_BULK_ANY_LOCAL, or
                                           no bytes */
    nbcoll_completion_queue *completions; /* WAIT: in a send queue: holds back what stands behind it until there are */
    uint32_t count;                     /* so many entries, and consumes them; else 0 */
    int from;                           /* RECEIVE into shared ones: 1 + the rank whose messages it is for; else 0 */
} nbcoll_posting;

typedef struct nbcoll_queue_config {
    size_t size;
    int peer;
    uint32_t number; /* which of the pairs with this peer; both ends open it under the same number */
    uint32_t depth;  /* sends and waits, and receives, that may be posted and not ended */
    uint32_t held;   /* 1: sends are held, 2: receives, until they are enabled */
    nbcoll_completion_queue *sent, *received; /* or null */
    nbcoll_shared_receives *shared; /* messages take their receives from there: `received` is not read, and no receive
                                       is posted to the pair or held. Null: the pair has its own */
} nbcoll_queue_config;

/* Queue pairs and shared receives that are to be open at a time. */
typedef struct nbcoll_queue_demand {
    size_t size;
    uint32_t pairs, depth;         /* how many; of the deepest one */
    uint32_t shared, shared_depth; /* likewise */
} nbcoll_queue_demand;

/* An entry of a completion queue of shared receives. */
typedef struct nbcoll_shared_arrival {
    nbcoll_queue_pair *pair; /* the message came by it; null: this rank has closed it since */
    void *memory;            /* of the receive that it has taken */
} nbcoll_shared_arrival;

/* Queue pairs and completion queues, for programs (offload.h). On a pair sends meet receives in the order of both. A
 * send waits while its receive is not posted, or its peer has not opened the pair. A transport may let the queues of an
 * endpoint move only while `wait` is called there, for any completion queue. The executor of programs calls these
 * functions, from one thread at a time, which may be another one than the core's. If local ends must be registered it
 * also calls register_memory, with LOCAL_END and every rank (-1) as the other end, and deregister_memory. */
typedef struct nbcoll_offload {
    size_t size;
    /* Opens a completion queue with room for `depth` entries. ERR_MEMORY. */
    nbcoll_status (*open_cq)(nbcoll_endpoint *ep, uint32_t depth, nbcoll_completion_queue **out);
    /* ERR_MEMORY, ERR_RANK, ERR_DUPLICATE (this rank has that pair already), ERR_CONFIG (a `size` that is none),
     * ERR_LIMIT (the device has no such depth, or no more of what a pair needs: others use it, too), ERR_TRANSPORT (the
     * device refused for another reason). */
    nbcoll_status (*open_queue)(nbcoll_endpoint *ep, const nbcoll_queue_config *config, nbcoll_queue_pair **out);
    /* ERR_LIMIT: the queue is full, or the message longer than the device can send. */
    nbcoll_status (*post)(nbcoll_endpoint *ep, nbcoll_queue_pair *pair, const nbcoll_posting *posting);
    /* Releases so many more held sends, each with the waits before it, and held receives. They may be posted later. */
    void (*enable)(nbcoll_endpoint *ep, nbcoll_queue_pair *pair, uint32_t sends, uint32_t receives);
    /* OK: there were `count` entries, and this call has consumed them. PENDING: not yet. ERR_PEER_LOST: there will not
     * be, since the peer has closed its end of the pair, or its endpoint. ERR_TRANSPORT: a message did not fit its
     * receive. */
    nbcoll_status (*wait)(nbcoll_endpoint *ep, nbcoll_completion_queue *completions, uint32_t count);
    /* Closes either (the other one null); pairs before their completion queues. From the return on no memory of this
     * rank's that was posted there is touched. Each message that its sender's queue has counted as ended, or will, is
     * an entry of the receiver's: `wait` finds all of a pair that this rank has closed, with no PENDING before. */
    void (*close)(nbcoll_endpoint *ep, nbcoll_queue_pair *pair, nbcoll_completion_queue *completions);

    /* Shared receives, for relays (relay.h): all five functions or none. A message by any pair that has them takes the
     * receive that was posted first; if several devices join the ranks, of those that were posted for ranks of the same
     * device as its sender. Without a receive the message waits at its sender, with all that follows on that pair. To
     * avoid that, post for each rank as many receives as messages may come from it, and post one for the same rank when
     * its message has taken one: then no device runs short. A message of no bytes takes a receive, too. A message that
     * does not fit ends its pair, as a lost peer does; other pairs go on. A pair that ends while a message is on its
     * way may keep the receive until close_shared. */

    /* Room for `depth`, at least 1, for all ranks, whose entries come to `received`: a completion queue for nothing
     * else, with room for as many. ERR_MEMORY, ERR_BUSY (that queue has some already), ERR_LIMIT (a device has not so
     * many, or no more of them), ERR_UNSUPPORTED (one has none), ERR_TRANSPORT. */
    nbcoll_status (*open_shared)(nbcoll_endpoint *ep, uint32_t depth, nbcoll_completion_queue *received,
                                 nbcoll_shared_receives **out);
    /* A RECEIVE. ERR_LIMIT: `depth` are posted and not taken, or the room is more than the device can receive.
     * ERR_ARGUMENT: no RECEIVE, as for a RECEIVE that is posted to a pair which has shared ones; or `from` is 0, and
     * several devices join the ranks: with one it may be. ERR_RANK: `from` is no rank. */
    nbcoll_status (*post_shared)(nbcoll_endpoint *ep, nbcoll_shared_receives *shared, const nbcoll_posting *posting);
    /* Consumes the next entry of such a queue, as `wait` does of others. Messages of one pair come in their order. When
     * one pair is lost, what other pairs bring comes on; PEER_LOST, or TRANSPORT, is said when there is no entry. */
    nbcoll_status (*take)(nbcoll_endpoint *ep, nbcoll_completion_queue *received, nbcoll_shared_arrival *out);
    /* Makes *fd readable when fewer than `least` receives are left, until the next call; 0: never. With several devices
     * each that joins a pair with shared receives must have so many left. The caller sleeps on *fd, posts further
     * receives when it wakes, and calls again; it may wake in vain, but not for ever. The transport owns *fd: one for
     * all shared receives of the endpoint, as long as that lasts. ERR_LIMIT (`least` is more than their depth),
     * ERR_UNSUPPORTED, ERR_TRANSPORT. */
    nbcoll_status (*watch_shared)(nbcoll_endpoint *ep, nbcoll_shared_receives *shared, uint32_t least, int *fd);
    /* After all pairs that have them. Nothing of theirs is touched from the return on. */
    void (*close_shared)(nbcoll_endpoint *ep, nbcoll_shared_receives *shared);

    /* Optional: may all of this be open at a time? ERR_LIMIT: not on this device, whatever else is open there; the log
     * of the endpoint's host names the limit, and what is wanted. OK promises nothing, since others use the device as
     * well. Nothing is opened. Any thread. ERR_CONFIG (a `size` that is none), ERR_TRANSPORT. */
    nbcoll_status (*admits)(nbcoll_endpoint *ep, const nbcoll_queue_demand *demand);
} nbcoll_offload;

/* ---- promises and prices ----------------------------------------------------------------------------------------- */

/* What messages cost at one level (Hockney with overhead): those of an endpoint, or those between nodes, inside a node,
 * inside a domain of a node (select.h).
 *
 * Prices are medians between two idle ranks, as `nbcoll bench` or the maker's tools show them; a transport may measure
 * them when it opens. The core chooses algorithms by them, and whether to get or to put. An error of a tenth changes
 * little, and only time depends on them. 0 is a price: it costs nothing. */
typedef struct nbcoll_level {
    uint32_t alpha_ns;    /* latency of a small message */
    uint32_t overhead_ns; /* processor time a post */
    uint32_t beta_ps;     /* picoseconds a byte of bulk data */
    uint32_t gamma_ps;    /* picoseconds a byte that a rank combines itself; 0: as beta_ps */
    uint32_t copy_ps;     /* picoseconds a byte that a rank copies itself; 0: as gamma_ps */
    uint32_t eager_ps;    /* picoseconds that a byte in a message takes longer than a byte of bulk data */
    uint32_t get_ns;      /* processor time a get takes beside its bytes, with the registrations that it needs */
    uint32_t put_ns;      /* as get_ns, of a put */
    uint32_t fetch_ns;    /* as get_ns, of what another rank exposes and its cell does not hold; 0: as get_ns */
    uint32_t gap_ns;      /* of each message that a shared interface takes, beside its bytes */
    size_t eager;         /* bytes of the longest message that is not announced. An endpoint leaves it 0 */
} nbcoll_level;

/* Promises, and prices.
 *
 * `payload`: choose the size up to which copying a message in and out of the transport's buffers (eager_ps) costs less
 * than announcing it (one more exchange of messages, and get_ns or put_ns): a few KiB as a rule. A larger one only
 * costs memory: the core keeps unexpected messages in pieces of this size, some for each pair of ranks. */
typedef struct nbcoll_limits {
    size_t size;        /* of this struct, as the transport knows it */
    size_t payload;     /* bytes a message may carry beside its header; at least 256 */
    nbcoll_level price;
    uint32_t key_bytes; /* bytes used of a key: 1 to 64; only with bulk data */
    uint32_t channels;  /* from each rank to each; only with lines */
    /* How many messages of any size from each rank this one has receive buffers for, whether it progresses or not. The
     * core keeps at most that many unexpected messages under way (nbcoll_context_config.credits), and beyond them only
     * messages for which the receiver has asked. The transport accepts that many without NOT_NOW while the receiver
     * does nothing. The same on all ranks, and for all peers. 0: no such bound: a post for which there is no room gets
     * NOT_NOW. */
    uint32_t receives;
    /* How many ranks share a core of this rank, as the affinity masks of all ranks say: 1 if there are as many cores as
     * ranks confined to them, 2 if there are half as many. With 1 a waiting rank spins; with more it yields at once,
     * since the rank for which it waits may need the core. The prices shall follow the same number, as if all
     * ranks were at work: the cost model divides prices of bytes where fewer are. 0: the transport does not know. Then
     * the core assumes that all ranks of the endpoint share the cores of this rank's mask, which is too careful for
     * bound ranks. */
    uint32_t ranks_per_core;
    /* Only with the shared group: bytes that the core may reserve as staging buffer, for copies of what it
     * exposes, which readers then read in place. Longer data goes through it by rings, where readers write how far they
     * are. Set it if a copy into shared memory and one out of it take hardly longer than a get from another rank's
     * private memory, for which the owner has to wait. If that depends on the length, nbcoll_shared.staging_part says
     * so. 0: no copies. */
    uint32_t staging;
    /* Interfaces to other machines that the ranks of a machine share. If several of them send at a time, their messages
     * go one after the other, price.gap_ns apart. 0: each rank has its own. */
    uint32_t interfaces;
} nbcoll_limits;

/* Calls that a transport promises to be safe in a signal handler which interrupts the thread that uses the endpoint,
 * outside of all calls of that endpoint: they take no lock that the interrupted code may hold, call nothing that is not
 * async-signal-safe, and neither take nor give back memory. Ticks (nbcoll_tick) need POST, PROGRESS, and those of the
 * groups that the transport has. */
#define NBCOLL_SAFE_POST 1u /* and reason */
#define NBCOLL_SAFE_PROGRESS 2u
#define NBCOLL_SAFE_CANCEL 4u
#define NBCOLL_SAFE_BULK 8u   /* get, put and view; register_memory only where there is no deregister_memory */
#define NBCOLL_SAFE_WAKE 16u  /* of the shared group */
#define NBCOLL_SAFE_LINES 32u /* post of the lines */

/* ---- the table --------------------------------------------------------------------------------------------------- */

/* Append-only. The core refuses a table whose `abi` is another one's or that lacks a required function, or one that its
 * group requires: all but those called optional or null above (NBCOLL_ERR_ABI). */
typedef struct nbcoll_transport {
    uint32_t abi; /* NBCOLL_ABI */
    uint32_t size;
    const char *name;
    /* Sends header and payload (at most limits.payload bytes) to `peer`, which may be this rank itself. */
    nbcoll_posted (*post)(nbcoll_endpoint *ep, int peer, const nbcoll_header *header, const void *payload, size_t bytes,
                          nbcoll_work *work);
    /* Moves what can move and reports what happened. What earlier calls reported as arrived is released. */
    void (*progress)(nbcoll_endpoint *ep, nbcoll_completions *found);
    /* Asks for a work request in flight: progress returns it soon, with OK if it had finished, else ERR_CANCELLED (then
     * a message may or may not be delivered; a get writes nothing more; for a put see there). */
    void (*cancel)(nbcoll_endpoint *ep, nbcoll_work *work);
    /* Frees the endpoint. No work request is in flight, and nothing is registered. Messages already posted are still
     * delivered (see nbcoll_posted); then the others report that this rank has left. */
    void (*close)(nbcoll_endpoint *ep);
    /* optional groups */
    const nbcoll_bulk *bulk;
    const nbcoll_wakeup *wakeup;
    const nbcoll_shared *shared;
    /* Optional: frees the endpoint of a rank that leaves before its operations have ended. Work requests in flight
     * never come back; the core leaves them and their memory as they are, for good. Registrations end with the
     * endpoint. The others report this rank as lost; its posts may still be delivered before. Null: the core calls
     * close, also with work requests in flight. */
    void (*abandon)(nbcoll_endpoint *ep);
    /* Optional, for transports where a rank reads or writes another rank's memory by itself: this rank gives `peer` up,
     * which may be alive. From now on gets of `peer` from this rank's memory may read anything, so they must not end
     * with OK; they may get NOT_NOW for ever. The core tells the peer by a message. From the return on `peer` writes
     * nothing more to this rank's memory: its puts do not end with OK either, and their notices are not delivered. */
    void (*give_up)(nbcoll_endpoint *ep, int peer);
    const nbcoll_lines *lines; /* optional group */
    /* Optional: the limits of this peer, where they differ from the endpoint's. *out holds the endpoint's limits at the
     * call. `payload` and `channels` may be larger, prices may be any; the rest stays. Constant. Of these prices the
     * core reads get_ns and put_ns, by which it gets or puts large data of this pair. It chooses algorithms by the
     * endpoint's prices alone, since all ranks must choose alike. */
    void (*peer_limits)(nbcoll_endpoint *ep, int peer, nbcoll_limits *out);
    /* Optional: why `peer` was reported lost, or why the last post, get, put or work request with it failed. Called
     * soon after each such failure, from the same thread. The texts live as long as the program. */
    void (*reason)(nbcoll_endpoint *ep, int peer, nbcoll_transport_error *out);
    uint32_t signal_safe; /* NBCOLL_SAFE_*: what is promised */
    /* Optional: a name of the set of ranks that this endpoint belongs to, as a rule random bits. All ranks of the set
     * give the same name, and no other set that a program may use on any machine gives it. Constant. By it the ranks of
     * a communicator over several endpoints (nbcoll_comm_create_over) find out which of them share an endpoint. Without
     * it an endpoint can only be the last one there. */
    void (*identify)(nbcoll_endpoint *ep, uint64_t out[2]);
    const nbcoll_offload *offload; /* optional group; the core does not use it, wrappers do not hand it on */
    /* Optional, with give_up: may `peer`, which this endpoint has just said to be lost, be alive, and still read or
     * write this rank's memory? 1: the core keeps that memory, and gives the peer up when that is reported as lost. The
     * transport reports it once more when it can touch nothing any more. Null: no lost peer touches memory. */
    int (*touches)(nbcoll_endpoint *ep, int peer);
} nbcoll_transport;

/* The head of every endpoint: filled by the transport's open function, then constant. */
struct nbcoll_endpoint {
    const nbcoll_transport *transport;
    int rank, ranks;
    nbcoll_context *owner; /* the core's; null at first */
    nbcoll_limits limits;
    /* Set by the transport at the end of each progress: not 0 if it could have moved more data at once, apart from the
     * limit of bytes of a progress. Then a waiting core progresses again before it passes time. */
    uint32_t busy;
    /* Set by the core before a progress: not 0 if the caller waits for an operation, so that this progress may move
     * several times NBCOLL_PASS_BYTES. The transport sets it back. It may ignore it. */
    uint32_t patient;
};

/* Closes an endpoint that no context owns. Null is accepted. One that a context owns stays as it is: it is closed when
 * the context is freed. */
static inline void nbcoll_endpoint_close(nbcoll_endpoint *ep)
{
    if (ep && !ep->owner)
        ep->transport->close(ep);
}

/* What a shared object that brings a transport to the command defines, for `nbcoll bench --transport ./own.so`: under
 * the name nbcoll_transport_open_rank, a function that opens the end of one of `ranks` processes. All of them call it
 * with the same name, of 1 to 40 characters, that no other set of ranks has, and may wait in it for each other. What it
 * returns is reported. The command prices messages by the limits that the ends name. */
typedef nbcoll_status nbcoll_transport_open(const char *name, int rank, int ranks, nbcoll_endpoint **out);

NBCOLLI_END
#endif
