/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The transport contract. A transport moves bytes between the ranks of one endpoint set and knows nothing of
 * collectives: it delivers small messages (a fixed header and a bounded payload) and may move bulk data by descriptor.
 * Matching, eager and rendezvous, flow control and ordering are the core's: a transport may deliver messages in any
 * order, but delivers each exactly once, whole, or reports the peer as lost. A rank that has closed its end is not
 * lost: it has left, which is reported too, and what is posted to it goes nowhere.
 *
 * A transport is a const table and a struct of its own whose first member is nbcoll_endpoint:
 *
 *     struct wire { nbcoll_endpoint base; ... };
 *     static const nbcoll_transport table = {NBCOLL_ABI, sizeof table, "wire", post, progress, cancel, close_, ...};
 *     nbcoll_status wire_open(const wire_config *config, nbcoll_endpoint **out);     an ordinary function
 *
 * Threads: the core calls an endpoint from one thread at a time, never from inside itself. What a transport shares
 * between endpoints it synchronises itself. No function may block.
 */
#include "nbcoll.h"

#ifndef NBCOLL_TRANSPORT_H
#define NBCOLL_TRANSPORT_H

#ifdef __cplusplus
extern "C" {
#endif

/* The fixed header of every message: the core's, carried as it is. A transport may read nothing of it. */
typedef struct nbcoll_header {
    uint64_t word[8];
} nbcoll_header;

/* Something lent to a transport. The core owns the memory; while lent, `next` and `scratch` are the transport's. */
typedef struct nbcoll_work {
    struct nbcoll_work *next;
    nbcoll_status status; /* set by the transport when it comes back: OK, ERR_CANCELLED, ERR_PEER_LOST, ERR_TRANSPORT */
    uint32_t owner;       /* the core's; not to be touched */
    uint64_t scratch[4];
} nbcoll_work;

/* What a post says. */
typedef enum nbcoll_posted {
    NBCOLL_POST_DONE,    /* finished: header, payload and work request are the caller's again. Also the answer, at the
                            latest when its ring or queue is full, of a rank that has left: it goes nowhere */
    NBCOLL_POST_LENT,    /* header, payload and work request stay as they are until the work request comes back, exactly
                            once, from progress (also after cancel) */
    NBCOLL_POST_NOT_NOW, /* no room: nothing happened; the core tries again after each progress, and may sleep until
                            there is room (see arm) */
    NBCOLL_POST_LOST,    /* the peer is dead or unreachable: nothing happened */
    NBCOLL_POST_FAILED   /* the transport is broken: nothing happened */
} nbcoll_posted;

/* One delivered message. It and its payload are the transport's; the core reads them until the next progress. */
typedef struct nbcoll_arrival {
    struct nbcoll_arrival *next;
    int source;           /* rank of the sender on this endpoint */
    nbcoll_header header; /* as posted */
    const void *payload;  /* `bytes` of it; aligned to 8 */
    size_t bytes;
} nbcoll_arrival;

/* What one progress call found. The core empties it before the call and handles it after it returned: a transport
 * calls nobody back. The lists are in the order in which the core shall handle them, and before `lost` and `left`. All
 * of it is handled in one call of the host's: what arrives at once is bounded, best to about NBCOLL_PASS_BYTES. */
typedef struct nbcoll_completions {
    nbcoll_arrival *arrived;
    nbcoll_work *completed;
    int lost; /* a rank newly found dead, or -1. Further ones wait for further calls */
    /* Another rank that has closed its end, or -1; further ones as above. Each is reported once, when all that it
     * posted to this rank has arrived, in this report or an earlier one, and never as lost. That is no failure: the
     * core ends what still needs it. Without the report that would wait until its deadline, so every transport that can
     * learn of a close reports it. */
    int departed;
} nbcoll_completions;
#define NBCOLL_COMPLETIONS_EMPTY {NULL, NULL, -1, -1}

/* ---- bulk data (optional group) -------------------------------------------------------------------------------- */

/* Names memory to a peer; carried inside headers. All zero is never valid. */
typedef struct nbcoll_key {
    uint64_t word[2];
} nbcoll_key;

typedef struct nbcoll_bulk {
    size_t size;
    /* Makes [memory, memory + bytes) readable by `get` of `peer`. May fail, also for this peer alone: the core then
     * sends the payload in fragments. OK or any error. */
    nbcoll_status (*expose)(nbcoll_endpoint *ep, int peer, const void *memory, size_t bytes, nbcoll_key *out);
    /* Takes it back. No peer reads it any more: the core knows that from the peers' messages. */
    void (*withdraw)(nbcoll_endpoint *ep, nbcoll_key key);
    /* Copies `bytes` bytes from `offset` behind what `peer` exposed as `key` to `to`. As post; a lent work request
     * comes back when `to` is complete, or will no longer be written. Where the calling thread copies, it copies about
     * NBCOLL_PASS_BYTES at most in a progress and the gets up to the next one: a get that is beyond is lent, and
     * progress goes on with those that are, by turns. */
    nbcoll_posted (*get)(nbcoll_endpoint *ep, int peer, nbcoll_key key, size_t offset, void *to, size_t bytes,
                         nbcoll_work *work);
    /* Can any memory move between this rank and `peer`, both ways? Constant, and both say the same. Null: always. */
    int (*reaches)(nbcoll_endpoint *ep, int peer);
    /* Where `bytes` bytes from `offset` behind what `peer` exposed lie for this rank, readable until they are
     * withdrawn; null when they have no such place, or when the slot is. */
    const void *(*view)(nbcoll_endpoint *ep, int peer, nbcoll_key key, size_t offset, size_t bytes);
} nbcoll_bulk;

/* ---- shared memory (optional group) ---------------------------------------------------------------------------- */

/* Memory that all ranks of the endpoint read and write in place. With it, and with bulk data, exposures need no
 * messages. */
typedef struct nbcoll_shared {
    size_t size;
    /* Takes `bytes` zeroed bytes for this rank, aligned to 128; *at names them to all. ERR_MEMORY when there are no
     * more. */
    nbcoll_status (*reserve)(nbcoll_endpoint *ep, size_t bytes, uint64_t *at);
    /* Gives back what this rank has reserved. Nobody touches it any more. */
    void (*release)(nbcoll_endpoint *ep, uint64_t at);
    /* Where what any rank has reserved lies for this one; null if there can be nothing there. */
    void *(*map)(nbcoll_endpoint *ep, uint64_t at, size_t bytes);
    /* To be called after a change (stored seq_cst) of shared memory that `peer` may wait for: ends its sleep. */
    void (*wake)(nbcoll_endpoint *ep, int peer);
} nbcoll_shared;

/* ---- sleeping (optional group) --------------------------------------------------------------------------------- */

typedef struct nbcoll_wakeup {
    size_t size;
    /* A descriptor that polls readable once armed and rung; the endpoint's. */
    int (*fd)(nbcoll_endpoint *ep);
    /* Announces that this rank is about to sleep: from now on whoever delivers to it or leaves rings, and so does a
     * work request that can come back. Whoever makes room where a post or get was answered NOT_NOW since the last
     * progress rings, too (a transport over descriptors then watches EPOLLOUT). OK, or AGAIN when something waits
     * already, or there is room again (then nothing is armed). A transport that refuses where nobody will ring answers
     * AGAIN. The core looks at shared memory once more after arming, so the arming is a seq_cst store. Each progress
     * call disarms and silences the descriptor. */
    nbcoll_status (*arm)(nbcoll_endpoint *ep);
} nbcoll_wakeup;

/* ---- the table ------------------------------------------------------------------------------------------------- */

/* Append-only. The core copies the slots inside `size` over null ones and refuses a table whose `abi` is another one's
 * or that lacks a required slot (NBCOLL_ERR_ABI). Groups not offered are null. */
typedef struct nbcoll_transport {
    uint32_t abi; /* NBCOLL_ABI */
    uint32_t size;
    const char *name;
    /* Sends header and payload (at most limits.payload bytes) to `peer`, which may be this rank itself. */
    nbcoll_posted (*post)(nbcoll_endpoint *ep, int peer, const nbcoll_header *header, const void *payload, size_t bytes,
                          nbcoll_work *work);
    /* Moves what can move and reports what happened. What earlier calls reported as arrived is released. */
    void (*progress)(nbcoll_endpoint *ep, nbcoll_completions *found);
    /* Asks for a lent work request: it comes back soon from progress, with OK if it had finished, else ERR_CANCELLED (a
     * message then is or is not delivered; a get writes nothing more). */
    void (*cancel)(nbcoll_endpoint *ep, nbcoll_work *work);
    /* Frees the endpoint. No work request is lent. Messages already posted are still delivered; then the others report
     * that this rank has left. */
    void (*close)(nbcoll_endpoint *ep);
    /* optional groups */
    const nbcoll_bulk *bulk;
    const nbcoll_wakeup *wakeup;
    const nbcoll_shared *shared;
    /* Optional: frees the endpoint of a rank that goes without having ended its operations. Records may be lent: they
     * never come back, and the core leaves them and their memory as they are. The others report this rank as lost;
     * what it had posted may still be delivered before. Null: close is called, also with work requests lent. */
    void (*abandon)(nbcoll_endpoint *ep);
    /* Optional, for transports where a rank reads the memory of another by itself: `peer` is given up, and may be
     * alive. What it gets of this rank's memory from now on may be anything: such a get does not end with OK. It may
     * be answered NOT_NOW for ever; the core of the peer is told by a message. */
    void (*give_up)(nbcoll_endpoint *ep, int peer);
} nbcoll_transport;

/* Promises, and a cost model (Hockney with overhead), in the units given. */
typedef struct nbcoll_limits {
    size_t payload;       /* bytes a message may carry beside its header; at least 256 */
    uint32_t alpha_ns;    /* latency of a small message */
    uint32_t beta_ps;     /* picoseconds a byte of bulk data */
    uint32_t overhead_ns; /* processor time a post */
    uint32_t get_ns;      /* processor time a get takes beside its bytes */
    uint32_t gamma_ps;    /* picoseconds a byte that a rank copies or combines itself; 0: as beta_ps */
    uint32_t eager_ps;    /* picoseconds that a byte in a message takes longer than a byte of bulk data */
} nbcoll_limits;

/* The head of every endpoint: filled by the transport's open function, then constant. */
struct nbcoll_endpoint {
    const nbcoll_transport *transport;
    int rank, ranks;
    nbcoll_limits limits;
    nbcoll_context *owner; /* the core's; null at first */
};

/* Closes an endpoint that no context owns. Null is accepted. One that a context owns stays as it is: it is closed when
 * the context is freed. */
static inline void nbcoll_endpoint_close(nbcoll_endpoint *ep)
{
    if (ep && !ep->owner)
        ep->transport->close(ep);
}

#ifdef __cplusplus
}
#endif
#endif
