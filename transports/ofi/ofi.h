/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of the ofi transport share.
 *
 *     provider.c    which provider; what an endpoint has of it
 *     address.c     addresses of this machine
 *     messages.c    posts, receives, acknowledgements
 *     bulk.c        registration; puts; the endpoint that takes them, and its moves
 *     watch.c       TCP connections by which ranks hear of each other's ends
 *     progress.c    completions, deaths, departures, sleeping
 *     trial.c       what the network takes, measured between ranks
 *     open.c        opening, the table, closing
 *     system.c      what else the system is asked for
 *
 * README.md says what is assumed of each provider.
 */
#ifndef NBCOLLI_OFI_H
#define NBCOLLI_OFI_H

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include "system.h"
#include "../../src/host/host.h"

#define NBCOLLI_OFI_MAGIC 0x6f6608u /* raised with every change of addresses, fronts, hellos or goodbyes */
#define NBCOLLI_OFI_VERSION FI_VERSION(1, 17)
#define NBCOLLI_OFI_NAME 104u   /* bytes of a provider's address, at most */
#define NBCOLLI_OFI_BATCH 32    /* completions of a progress, at most */
#define NBCOLLI_OFI_QUIET 4u    /* buffers for messages of the transport's own to a peer */
#define NBCOLLI_OFI_STREAM 8u   /* receives for a peer whose provider leaves in a stream what has none */
#define NBCOLLI_OFI_EXTRA 4u    /* receives for a peer beside its credits, for such messages and for acknowledgements */
#define NBCOLLI_OFI_RAW_KEY 32u /* bytes of a raw key, at most */
#define NBCOLLI_OFI_GUESTS 16u  /* connections that have not said whose they are, at most */
#define NBCOLLI_OFI_KEPT                                                                                               \
    (196u << 10) /* bytes of messages to a peer that may not have arrived, at most: a goodbye says                     \
                    them once more, and they must fit the kernel's buffers of a connection */
#define NBCOLLI_OFI_MS UINT64_C(1000000)

/* ---- what travels ------------------------------------------------------------------------------------------------ */

/* Measured, as in nbcoll_limits; all 0: not. */
typedef struct nbcolli_ofi_prices {
    uint32_t alpha_ns, beta_ps, put_ns, overhead_ns;
} nbcolli_ofi_prices;

/* An address of the provider's. */
typedef struct nbcolli_ofi_name {
    uint64_t bytes;
    unsigned char at[NBCOLLI_OFI_NAME];
} nbcolli_ofi_name;

/* What nbcoll_ofi_address holds. */
typedef struct nbcolli_ofi_place {
    uint32_t magic, ranks, credits, payload;
    uint64_t nonce;    /* of this endpoint */
    uint64_t provider; /* a hash of its name */
    struct sockaddr_in6 watch;       /* an IPv4 address is mapped */
    uint32_t machine;                /* a hash that ends with 1 if only this machine reaches the address, else with 0 */
    uint32_t cores, mask;            /* see nbcolli_ofi_cores; 0: not known */
    nbcolli_ofi_name messages, bulk; /* bulk.bytes 0: takes no puts */
} nbcolli_ofi_place;

_Static_assert(sizeof(nbcolli_ofi_place) <= sizeof(nbcoll_ofi_address), "an address holds a place");

typedef enum nbcolli_ofi_kind {
    NBCOLLI_OFI_MESSAGE, /* or its last piece */
    NBCOLLI_OFI_TAKEN,   /* only acknowledges */
    NBCOLLI_OFI_MOVED,   /* puts to its sender go elsewhere: the payload is a nbcolli_ofi_name; or, if that is empty,
                            nowhere: it has given this rank up */
    NBCOLLI_OFI_PART,    /* a piece of a message, of which more follow */
    NBCOLLI_OFI_TRIAL,   /* of trial.c; its first byte: one of these */
    NBCOLLI_OFI_DOUBTS,  /* something sent or put to its receiver has failed: that answers, if it lives */
    NBCOLLI_OFI_LIVES    /* the answer: what it has taken, behind what it had to say of its moves */
} nbcolli_ofi_kind;

enum { NBCOLLI_OFI_FILLS, NBCOLLI_OFI_ASKS, NBCOLLI_OFI_ANSWERS, NBCOLLI_OFI_ENDS };

/* The beginning of everything that is sent. */
typedef struct nbcolli_ofi_front {
    uint64_t nonce; /* the sender's: what comes from another set of ranks is not read */
    uint32_t rank_and_kind;
    uint16_t taken;  /* so many pieces of the peer's messages have arrived, modulo 2^16 */
    uint16_t number; /* of a piece; the first one's is 1 */
} nbcolli_ofi_front;

/* What the ranks say on their connections, and `fill` bytes that mean nothing. */
typedef struct nbcolli_ofi_hello {
    uint64_t nonce; /* of the endpoint that it is for */
    uint32_t rank, magic, fill, zero;
} nbcolli_ofi_hello;

/* All messages follow that may not have arrived: each behind its length, a uint64_t, and filled up to 8 bytes. */
typedef struct nbcolli_ofi_goodbye {
    uint64_t nonce, bytes; /* the sender's; of the messages */
} nbcolli_ofi_goodbye;

/* ---- buffers ----------------------------------------------------------------------------------------------------- */

typedef struct nbcolli_ofi_peer nbcolli_ofi_peer;

typedef enum nbcolli_ofi_doing {
    NBCOLLI_OFI_IDLE,
    NBCOLLI_OFI_RECEIVES,
    NBCOLLI_OFI_SENDS,
    NBCOLLI_OFI_WRITES /* a put: then its notice is sent, which lies in the buffer */
} nbcolli_ofi_doing;

/* Of an operation of the provider's, and of the piece of a message that it sends or receives. */
typedef struct nbcolli_ofi_buffer {
    struct fi_context2 context; /* first; the provider's while the operation is under way */
    nbcoll_arrival arrival;
    struct nbcolli_ofi_buffer *next; /* free; to be posted again; sent and not acknowledged; arrived */
    struct nbcolli_ofi_buffer *next_doubtful;
    nbcolli_ofi_peer *peer; /* of one that sends, or has arrived */
    nbcoll_work *work;      /* of a put; null: given back already, or a message's */
    nbcolli_ofi_doing doing;
    bool is_quiet;     /* the transport's own: nobody acknowledges it */
    bool is_under_way; /* the provider has it */
    bool is_taken;     /* the peer has acknowledged it */
    bool is_cancelled; /* a put that goes no further */
    bool is_asked;     /* has failed, and its peer was asked since */
    void *desc;
    size_t bytes;                      /* of `wire` that are sent, or have arrived */
    const char *from;                  /* of a put: what is left of it, and where it goes */
    size_t left, piece;                /* piece: under way */
    uint64_t at, key, moves;           /* moves: of its peer when it was posted */
    void *local;                       /* the descriptor of `from` */
    uint64_t until;                    /* when its failure is believed, if the peer answers nothing */
    _Alignas(64) unsigned char wire[]; /* front, header, payload */
} nbcolli_ofi_buffer;

#define NBCOLLI_OFI_FRONT (sizeof(nbcolli_ofi_front) + sizeof(nbcoll_header)) /* of a message: 64 */
#define NBCOLLI_OFI_AT_ONCE 16384u /* bytes that ofi_rxm sends at once, by default */

typedef struct nbcolli_ofi_slab {
    void *at;
    size_t bytes;
    struct fid_mr *mr; /* where the provider wants that */
} nbcolli_ofi_slab;

/* ---- ranks ------------------------------------------------------------------------------------------------------- */

typedef enum nbcolli_ofi_state {
    NBCOLLI_OFI_HERE,
    NBCOLLI_OFI_LEFT, /* has said goodbye */
    NBCOLLI_OFI_LOST
} nbcolli_ofi_state;

struct nbcolli_ofi_peer {
    nbcolli_ofi_peer *next_known; /* of all that have buffers */
    nbcolli_ofi_peer *next_due;   /* who is owed something */
    int rank;
    nbcolli_ofi_state state;
    bool is_due, is_reported;
    bool is_given_up, gives_up;  /* by this rank; it has given this rank up */
    bool is_watched, is_suspect; /* has been connected to; a connection of it has ended */
    bool is_met;                 /* a connection has carried its hello */
    bool doubts, is_doubted;     /* is to be asked; is to be answered */
    fi_addr_t to, bulk_to;
    nbcolli_ofi_slab slab;
    nbcolli_ofi_buffer *spare, *quiet;         /* free ones */
    nbcolli_ofi_buffer *flight, **flight_last; /* numbered, and not acknowledged, in their order */
    nbcolli_ofi_buffer *out;                   /* of these the first that the provider has not taken; null: none */
    unsigned char *in;                         /* a message of which not all pieces have arrived; null: none */
    size_t in_bytes;
    uint16_t sent, taken_by_it;                /* pieces to it, modulo 2^16 */
    uint16_t taken, told_taken;                /* from it; as it was told */
    uint32_t kept, untold;                     /* bytes: of `flight`; of what is taken and not told */
    nbcolli_ofi_slab late;                     /* arrivals that came with its goodbye, and behind them its messages */
    uint64_t moves, told; /* of its bulk endpoint; of this rank's, as far as it was told, or that it is given up */
    uint64_t connect_until, connect_at; /* when to give up, and to try again; 0: it is not to be connected */
    int error;                          /* why it is lost: an FI_E... or errno */
};

/* One that is registered for a peer, or for all (-1). */
typedef struct nbcolli_ofi_lent {
    struct nbcolli_ofi_lent *next, **back;
    struct fid_mr *mr; /* null: the peer was given up */
    int peer;
} nbcolli_ofi_lent;

/* A connection of watch.c. Those that this rank has made stand at the rank of their peer. */
typedef struct nbcolli_ofi_line {
    int fd;   /* -1: none */
    int rank; /* -1: has not said so */
    bool is_connecting;
    size_t hello;          /* bytes of its own that were said */
    size_t got, skip;      /* bytes that have come, without the filler; of that, still to come */
    size_t said, left;     /* bytes of the goodbye and what follows it; of these, still to be said */
    nbcolli_ofi_slab late; /* as the peer's, until all is there */
    unsigned char in[sizeof(nbcolli_ofi_hello) + sizeof(nbcolli_ofi_goodbye)];
} nbcolli_ofi_line;

/* ---- an endpoint ------------------------------------------------------------------------------------------------- */

typedef struct nbcolli_ofi_end {
    nbcoll_endpoint base; /* first */
    const struct nbcolli_ofi_system *os;
    nbcoll_host host;
    size_t bytes;
    uint32_t credits, receives, payload; /* receives: of a peer */
    uint32_t piece; /* bytes that the provider is given at once: longer messages go in pieces */
    uint32_t keeps, tell; /* bytes of messages to a peer that may not have arrived; that are told apart */
    uint64_t lost_ns, nonce;
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *av;
    struct fid_cq *cq;
    struct fid_wait *set; /* of the queue alone: net's */
    struct fid_ep *messages, *bulk; /* bulk takes puts, if there is one; messages does all else */
    int cq_fd;
    struct fi_cq_msg_entry stash[NBCOLLI_OFI_BATCH]; /* what has been read */
    ssize_t stashed;                                 /* so many, by arming; or an error of libfabric */
    bool is_met, is_armed, is_closing;
    bool is_refused;  /* a post, since the last progress, whatever has gone then */
    uint64_t refused; /* since when one was between any two */
    int lines_epoll, listener, epoll, timer; /* watch.c; all together; what is due */
    nbcolli_ofi_line *line;                  /* [2 * ranks + GUESTS] */
    nbcolli_ofi_peer *peer;                  /* [ranks] */
    int partner; /* for nbcoll_ofi_measure; -1: none */
    uint64_t *peer_nonce;          /* [ranks] */
    struct sockaddr_in6 *watch_at; /* [ranks] */
    nbcolli_ofi_peer *known, *due;
    nbcolli_ofi_slab trial;        /* of trial.c; one more registration of it */
    struct fid_mr *trial_local;
    uint32_t trial_heard; /* bits: by messages */
    nbcolli_ofi_slab own_slab, first_slab; /* messages to this rank itself; the first receives */
    nbcolli_ofi_buffer *own, *own_first, **own_last;
    nbcoll_arrival *late;                    /* to be reported: of ranks that have left */
    nbcolli_ofi_buffer *arrived;             /* reported by the last progress */
    nbcolli_ofi_buffer *unposted;            /* receives for which the provider had no room */
    nbcolli_ofi_buffer *again, **again_last; /* to be posted, which the provider has refused */
    nbcolli_ofi_buffer *doubtful;            /* that have failed */
    nbcoll_work *back;                       /* to be given back */
    nbcolli_ofi_lent *lent;
    uint64_t keys, moves;              /* the last key that was asked for; of the bulk endpoint */
    uint64_t now, looked;              /* of the last tick; when the lines were last looked at */
    uint64_t connect_looked;           /* likewise, while some are connecting */
    uint32_t passes, ends, connecting; /* ends to report; peers */
    int error;                         /* of the last refused call */
} nbcolli_ofi_end;

static inline nbcolli_ofi_end *nbcolli_ofi_end_of(nbcoll_endpoint *ep)
{
    return (nbcolli_ofi_end *)(void *)ep;
}

/* In how many pieces a message of so many bytes goes: each but the first begins with a front of its own. */
static inline uint32_t nbcolli_ofi_pieces(const nbcolli_ofi_end *e, size_t bytes)
{
    size_t more = e->piece - sizeof(nbcolli_ofi_front);
    return bytes <= e->piece ? 1 : 1 + (uint32_t)((bytes - e->piece + more - 1) / more);
}

static inline bool nbcolli_ofi_is_gone(const nbcolli_ofi_peer *p)
{
    return p->state == NBCOLLI_OFI_LEFT || p->state == NBCOLLI_OFI_LOST;
}

/* ---- provider.c -------------------------------------------------------------------------------------------------- */

/* Logs a refused call: TRANSPORT. */
nbcoll_status nbcolli_ofi_refused(const nbcolli_ofi_end *e, const char *call, int error);

nbcoll_status nbcolli_ofi_find(nbcolli_ofi_end *e, const nbcoll_ofi_config *config);

/* Has ofi_rxm copy messages of up to so many bytes when they are posted (FI_INJECT), if it can: it copies as
 * much as it is asked to. A completion costs it two system calls where there is a descriptor to wait on. */
void nbcolli_ofi_ask_for_copies(nbcolli_ofi_end *e, size_t bytes);

nbcoll_status nbcolli_ofi_equip(nbcolli_ofi_end *e, nbcolli_ofi_place *mine);

/* Opens one more endpoint of the provider's, and gives its address. Or an error of libfabric. */
int nbcolli_ofi_endpoint(nbcolli_ofi_end *e, struct fid_ep **out, nbcolli_ofi_name *name);

/* `count` buffers; null: there is no memory for them. */
nbcolli_ofi_buffer *nbcolli_ofi_cut(nbcolli_ofi_end *e, uint32_t count, nbcolli_ofi_slab *slab);

/* Takes the first so many of a list. */
nbcolli_ofi_buffer *nbcolli_ofi_split(nbcolli_ofi_buffer **list, uint32_t count);

/* Before a queue is asked for the last time, and slept on: its descriptor forgets what it has brought. */
void nbcolli_ofi_calm(nbcolli_ofi_end *e);
uint64_t nbcolli_ofi_provider_hash(const nbcolli_ofi_end *e);

/* All of it ends. */
void nbcolli_ofi_strip(nbcolli_ofi_end *e);

/* ---- address.c --------------------------------------------------------------------------------------------------- */

/* As an address of IPv6; false: it is neither that nor one of IPv4. */
bool nbcolli_ofi_map(struct sockaddr_in6 *to, const void *from);

/* An interface that is up: the first one with an IPv4 address, but the loopback only if there is no other. */
bool nbcolli_ofi_interface(struct sockaddr_in6 *at);

/* Will this machine soon have a better address than the chosen one (null: none)? */
bool nbcolli_ofi_is_coming(const void *chosen, bool may_be_loopback);

/* How many cores the calling thread may use, and a hash of which and of this kernel's start: containers share cores. */
uint32_t nbcolli_ofi_cores(uint32_t *count);

/* What place.machine holds. */
uint32_t nbcolli_ofi_machine(const struct sockaddr_in6 *at);

/* ---- messages.c -------------------------------------------------------------------------------------------------- */

nbcoll_posted nbcolli_ofi_post(nbcoll_endpoint *ep, int peer, const nbcoll_header *header, const void *payload,
                               size_t bytes, nbcoll_work *work);
void nbcolli_ofi_cancel(nbcoll_endpoint *ep, nbcoll_work *work);

/* Has buffers for this peer, or tries to. */
nbcolli_ofi_peer *nbcolli_ofi_know(nbcolli_ofi_end *e, int peer);

/* Posts what a buffer is doing. */
int nbcolli_ofi_launch(nbcolli_ofi_end *e, nbcolli_ofi_buffer *b);

/* The same; without room in the provider it is posted later. */
void nbcolli_ofi_launch_or_wait(nbcolli_ofi_end *e, nbcolli_ofi_buffer *b);

void nbcolli_ofi_launch_again(nbcolli_ofi_end *e);

/* It is doubtful, until its peer answers, ends, or has been silent for lost_ms. */
void nbcolli_ofi_has_failed(nbcolli_ofi_end *e, nbcolli_ofi_buffer *b);

/* The provider has no room, or is connecting. */
static inline void nbcolli_ofi_is_refused_now(nbcolli_ofi_end *e)
{
    if (!e->refused)
        e->refused = nbcolli_now(&e->host);
    e->is_refused = true;
}

/* A message of the transport's own. False: there is no room now. */
bool nbcolli_ofi_say(nbcolli_ofi_end *e, nbcolli_ofi_peer *p, nbcolli_ofi_kind kind, const void *payload, size_t bytes);

/* Back to the free ones. */
void nbcolli_ofi_idle(nbcolli_ofi_end *e, nbcolli_ofi_buffer *b);
void nbcolli_ofi_receive(nbcolli_ofi_end *e, nbcolli_ofi_buffer *first);
void nbcolli_ofi_release(nbcolli_ofi_end *e);
void nbcolli_ofi_took(nbcolli_ofi_end *e, nbcolli_ofi_buffer *b, size_t bytes, nbcoll_arrival ***last);

/* The provider has done with it. */
void nbcolli_ofi_sent(nbcolli_ofi_end *e, nbcolli_ofi_buffer *b);

/* It is owed an acknowledgement, word of where its puts go, or pieces of a message. */
void nbcolli_ofi_is_due(nbcolli_ofi_end *e, nbcolli_ofi_peer *p);

/* Sends pieces that the provider had no room for; acknowledges to peers that have sent half a window, if no message has
 * told them meanwhile; tells where puts go. */
void nbcolli_ofi_acknowledge(nbcolli_ofi_end *e);
void nbcolli_ofi_own_arrive(nbcolli_ofi_end *e, nbcoll_arrival ***last);

/* Delivers messages in `late`, of a peer's goodbye, that have not arrived. */
void nbcolli_ofi_late_arrive(nbcolli_ofi_end *e, nbcolli_ofi_peer *p);

/* ---- bulk.c ------------------------------------------------------------------------------------------------------ */

extern const nbcoll_bulk nbcolli_ofi_bulk;
void nbcolli_ofi_give_up(nbcoll_endpoint *ep, int peer);
int nbcolli_ofi_touches(nbcoll_endpoint *ep, int peer);

#define NBCOLLI_OFI_NOWHERE UINT64_MAX

/* Tells a peer where puts to this rank go, if it does not know, or that they go nowhere. False: not now. */
bool nbcolli_ofi_tell_move(nbcolli_ofi_end *e, nbcolli_ofi_peer *p);
void nbcolli_ofi_moved(nbcolli_ofi_end *e, nbcolli_ofi_peer *p, const nbcolli_ofi_name *name);

/* A piece of a put has been written. True: that was the last one, and the notice is to follow. */
bool nbcolli_ofi_wrote(nbcolli_ofi_end *e, nbcolli_ofi_buffer *b);

/* A write of the provider's, which is to complete when it can be read there. */
int nbcolli_ofi_write(nbcolli_ofi_end *e, const void *from, size_t bytes, void *desc, fi_addr_t to, uint64_t at,
                      uint64_t key, void *context);

/* Registers memory, with a key that the provider or the endpoint chooses. Or an error of libfabric. */
int nbcolli_ofi_register(nbcolli_ofi_end *e, void *memory, size_t bytes, uint64_t access, struct fid_mr **out);

/* What a peer needs for writes there; with raw keys (FI_MR_RAW) their bytes in the second half, which the peer maps to
 * a key of its own while it writes. Or errors of libfabric. */
int nbcolli_ofi_tell_key(const nbcolli_ofi_end *e, struct fid_mr *mr, const void *memory, nbcoll_key *key);
int nbcolli_ofi_map_key(const nbcolli_ofi_end *e, const nbcoll_key *key, uint64_t *out);
void nbcolli_ofi_unmap_key(const nbcolli_ofi_end *e, uint64_t key);

/* ---- watch.c ----------------------------------------------------------------------------------------------------- */

nbcoll_status nbcolli_ofi_watch_open(nbcolli_ofi_end *e, const nbcolli_ofi_name *name, struct sockaddr_in6 *at);
void nbcolli_ofi_watch_close(nbcolli_ofi_end *e);

/* Has a connection to this peer. */
void nbcolli_ofi_watch(nbcolli_ofi_end *e, nbcolli_ofi_peer *p);

/* The peer is lost for this reason, unless a connection says that it has left. */
void nbcolli_ofi_watch_doubt(nbcolli_ofi_end *e, nbcolli_ofi_peer *p, int error);

/* The peer has left, or is lost: that one it tells so. */
void nbcolli_ofi_watch_over(nbcolli_ofi_end *e, nbcolli_ofi_peer *p);

/* Reads the connections. */
void nbcolli_ofi_watch_look(nbcolli_ofi_end *e);

/* Tells all ranks that this one leaves, and waits until their machines have acknowledged that. */
void nbcolli_ofi_watch_leave(nbcolli_ofi_end *e);

/* ---- progress.c -------------------------------------------------------------------------------------------------- */

extern const nbcoll_wakeup nbcolli_ofi_wakeup;
void nbcolli_ofi_progress(nbcoll_endpoint *ep, nbcoll_completions *found);

/* Handles completions of the provider's; how many. */
int nbcolli_ofi_poll(nbcolli_ofi_end *e, nbcoll_arrival ***last);

/* The peer has ended, as `state` says: what was sent to it comes back. */
void nbcolli_ofi_over(nbcolli_ofi_end *e, nbcolli_ofi_peer *p, nbcolli_ofi_state state, int error);

/* Ends all doubts that something has answered, or nothing for lost_ms. */
void nbcolli_ofi_believe(nbcolli_ofi_end *e);

/* A work request comes back with the next progress. */
void nbcolli_ofi_give_back(nbcolli_ofi_end *e, nbcolli_ofi_buffer *b, nbcoll_status status);

/* ---- trial.c ----------------------------------------------------------------------------------------------------- */

void nbcolli_ofi_trial_free(nbcolli_ofi_end *e);

/* ---- open.c ------------------------------------------------------------------------------------------------------ */

bool nbcolli_ofi_is_one(const nbcoll_endpoint *ep);

#endif
