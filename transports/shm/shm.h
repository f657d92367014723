/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of the shm transport share. Three things are kept apart: the segment, which every rank can write and
 * nobody trusts (its fields are read once, then checked); the home, which is what one process knows of all ranks
 * (mapping, descriptors, process ids), shared by its threads that are ranks; and the end, one rank's own.
 *
 *     system.c      what shm asks the system for, as a table (system.h)
 *     segment.c     layout of the segment; homes, by which processes see it
 *     socket.c      control messages with descriptors between processes that check each other (socket.h)
 *     bootstrap.c   how the ranks find each other and agree
 *     queue.c       rings of lines and messages
 *     wakeup.c      waking and arming
 *     quota.c       each rank's memory in the segment
 *     copy.c        bulk data: keys, and copying by whoever gets it
 *     trial.c which way large data goes, by what is measured at the opening pieces.c bulk data by both: through windows
 *     of the receiver's part of the segment stores.c copies to memory that another core reads: which stores are faster,
 *     measured as they are made alive.c deaths, departures, and processes that have become another program
 * shm.c         opening, the table, closing */
#ifndef NBCOLLI_SHM_H
#define NBCOLLI_SHM_H

#include <stdatomic.h>
#include <stdbool.h>

#include "system.h"
#include "../../src/host/host.h"
#include "../../src/host/wakeup.h"
#include "../../src/host/works.h"

#define NBCOLLI_SHM_LINE                                                                                               \
    128 /* bytes between words that different ranks write: two cache lines, which are fetched together */
#define NBCOLLI_SHM_PAGE 4096u
#define NBCOLLI_SHM_ARRIVALS 64 /* at most, of one progress: messages, and as many lines */
#define NBCOLLI_SHM_POLLED 8    /* senders whose rings each progress looks at */
#define NBCOLLI_SHM_CHANNELS 65536u
#define NBCOLLI_SHM_PATIENT_BYTES ((size_t)1 << 20) /* replaces NBCOLL_PASS_BYTES while the caller waits */
#define NBCOLLI_SHM_WINDOWS 8     /* at most, of one receiver's pool */
#define NBCOLLI_SHM_RANK_WORDS (NBCOLL_SHM_RANKS / 64)

/* Raised with every change of the segment's layout or of the control messages. */
#define NBCOLLI_SHM_VERSION 9u
#define NBCOLLI_SHM_MAGIC UINT64_C(0x6e62636f6c6c7368) /* "nbcollsh" */

/* ---- the segment ------------------------------------------------------------------------------------------------- */

/* Where things are in it. Every rank computes this from its configuration; all must get the same result. Offsets in
 * bytes. Without padding, since it is compared as a whole. */
struct nbcolli_shm_layout {
    uint64_t magic;
    uint32_t abi, version;
    uint32_t ranks, payload;
    uint32_t depth, areas; /* of a ring: powers of two, at most as many areas as entries */
    uint32_t rows_used;    /* each receiver has a row of bytes, NBCOLL_SHM_RANKS long: one for each sender */
    uint32_t windows;      /* of a pool */
    uint64_t quota, pool;
    uint64_t stride, ring; /* bytes of an area, of a ring with its areas */
    uint64_t window;       /* bytes of one, a power of two */
    uint64_t pool_stride;  /* bytes of a pool with its words */
    uint64_t seats, reach, rows, rings, pools, quotas, bytes;
};

/* Ways of large data, as the trial tries them. */
enum nbcolli_shm_way {
    NBCOLLI_SHM_WAY_CMA,
    NBCOLLI_SHM_WAY_PIECES,
    NBCOLLI_SHM_WAY_BOTH, /* these, and process_vm_readv from the far end */
    NBCOLLI_SHM_WAYS
};
#define NBCOLLI_SHM_TRIAL_SIZES 2
enum { NBCOLLI_SHM_TRIAL_ABSENT, NBCOLLI_SHM_TRIAL_HERE, NBCOLLI_SHM_TRIAL_OVER };

/* The trial of these (trial.c): its two ranks meet here, and write their results. */
struct nbcolli_shm_trial {
    _Alignas(NBCOLLI_SHM_LINE) _Atomic uint32_t owner;
    _Atomic uint64_t from; /* the owner's memory */
    _Alignas(NBCOLLI_SHM_LINE) _Atomic uint32_t receiver;
    _Atomic uint32_t ns[NBCOLLI_SHM_WAYS][NBCOLLI_SHM_TRIAL_SIZES]; /* 0: not measured */
};

/* The segment's first page. */
struct nbcolli_shm_front {
    struct nbcolli_shm_layout layout; /* constant from before the segment is shown to anyone */
    _Alignas(NBCOLLI_SHM_LINE) _Atomic uint64_t looks; /* looks at the processes' locks that any rank has begun */
    _Alignas(NBCOLLI_SHM_LINE) _Atomic uint32_t sleepers; /* armed ranks, and ranks that died armed */
    struct nbcolli_shm_trial trial;
};

/* BROKEN: others have read impossible values. It is lost to all, and may be alive. FAILED: it is dead, or abandoned. */
enum nbcolli_shm_state {
    NBCOLLI_SHM_ABSENT,
    NBCOLLI_SHM_PRESENT,
    NBCOLLI_SHM_LEFT,
    NBCOLLI_SHM_FAILED,
    NBCOLLI_SHM_BROKEN
};

/* What others look at in a rank. */
struct nbcolli_shm_seat {
    _Alignas(NBCOLLI_SHM_LINE) _Atomic uint32_t armed; /* it is about to sleep (../../src/host/wakeup.h) */
    _Atomic uint32_t state; /* nbcolli_shm_state: the rank writes it; a rank that notices writes FAILED and BROKEN. On
                               the line of `armed`, since posts read that */
    _Alignas(NBCOLLI_SHM_LINE) _Atomic uint64_t token; /* address of its process's token, for copy.c */
    _Atomic uint64_t cores[NBCOLLI_CORES / 64]; /* affinity of the thread that opened it; constant once it has joined */
    _Atomic uint32_t has_barriers; /* its process takes part in membarrier; constant, too */
};

/* One line or message under way. */
struct nbcolli_shm_line {
    _Alignas(64) unsigned char payload[NBCOLL_LINE_PAYLOAD]; /* a message's header */
    _Atomic uint64_t turn; /* of a message: bytes of its payload */
    _Atomic uint64_t word; /* written last: channel, bytes of a line, and lap, from the lowest bit on */
};

#define NBCOLLI_SHM_BYTES_SHIFT 32
#define NBCOLLI_SHM_LAP_SHIFT 40
#define NBCOLLI_SHM_LONG 0xffu /* in place of a line's bytes: its area has the payload, with its length */
#define NBCOLLI_SHM_LAPS (UINT64_C(1) << 63) /* set in each lap: so no word is 0, as in a new segment */
#define NBCOLLI_SHM_MESSAGE UINT32_MAX      /* in place of a channel */

_Static_assert(sizeof(struct nbcolli_shm_line) == 64, "a line fills a cache line");
_Static_assert(sizeof(nbcoll_header) == NBCOLL_LINE_PAYLOAD, "a header lies where a line has its payload");

/* From one rank to one other. Entry n % depth holds line or message n; the payload of a message lies in area n % areas,
 * behind the entries. So of `areas` entries under way each has an area, and more can be without payload only. */
struct nbcolli_shm_ring {
    _Alignas(NBCOLLI_SHM_LINE) _Atomic uint64_t head; /* the receiver's: entries it has finished, told now and then */
    _Atomic uint32_t hungry; /* the sender sleeps until there is room: the receiver that makes it sets this to 0 and
                                wakes the sender. Read when head was written, so on its line */
    _Alignas(NBCOLLI_SHM_LINE) struct nbcolli_shm_line line[];
};

/* ---- a process's view -------------------------------------------------------------------------------------------- */

struct nbcolli_shm_place {
    int pid;
    int event; /* the eventfd of the rank */
    int watch; /* the pidfd of its process; -1 for this process */
    int first; /* the lowest rank of its process, which has locked that rank's byte */
};

/* One for each process. In memory of its own, since any rank of the process may close last. The first rank makes it,
 * and the last one frees it. Constant but for `users`. */
struct nbcolli_shm_home {
    const struct nbcolli_shm_system *os;
    _Atomic uint32_t users; /* also publishes the first rank's writes to later ranks */
    int pid;
    int memory;      /* the segment's descriptor. Closing any descriptor of it drops the process's lock: so there is
                        one */
    uint64_t secret; /* known to the ranks, and not in the segment */
    uint64_t *token; /* in a page of its own, which is empty in a child of fork */
    struct nbcolli_shm_layout layout;
    unsigned char *segment;
    struct nbcolli_shm_place place[];
};

/* ---- a rank's own ------------------------------------------------------------------------------------------------ */

enum nbcolli_shm_gone {
    NBCOLLI_SHM_HERE,
    NBCOLLI_SHM_AWAY,
    NBCOLLI_SHM_LOST
}; /* AWAY: it has left, and all its messages are taken */

/* Where a rank is in a ring that it writes or reads. */
struct nbcolli_shm_cursor {
    struct nbcolli_shm_line *line; /* the next entry */
    uint64_t lap;                  /* its lap, where the word has it */
    uint64_t n;                    /* entries before it, since the beginning */
};

/* What posts use, then what progress does: a cache line each. */
struct nbcolli_shm_peer {
    _Alignas(64) struct nbcolli_shm_cursor to; /* in the ring to it */
    struct nbcolli_shm_ring *out; /* that ring; constant, as are the next two */
    _Atomic uint32_t *armed;      /* of its seat */
    _Atomic uint8_t *told;        /* our byte in its row; null without rows */
    uint64_t done;                /* entries that it had finished, at the last look */
    uint32_t room;                /* entries that fit without a look; 0: it is gone, or look first */
    uint8_t gone;                 /* nbcolli_shm_gone */
    bool is_due;                  /* in `due` */
    bool is_polled;               /* in `poll`, where rows are used */
    uint8_t reported;             /* the core knows that it is gone */
    uint32_t refused;        /* a post since the last progress had no room beside so many under way; 0: none */
    struct nbcolli_shm_cursor from; /* in the ring from it: earlier entries were handed to our core */
    struct nbcolli_shm_ring *in;    /* that ring; constant */
    uint8_t here;            /* its memory is read in place: it is a thread of this process */
    _Atomic uint8_t cma;     /* else: both processes can read each other's memory, until this rank is refused */
    _Atomic uint8_t pieces;  /* windows also move large data, both ways; after a refusal, to us */
    uint8_t cut;             /* a failure with it was reported: it is not served */
    uint8_t beside;          /* it is bound to the core to which this one is bound */
    uint8_t ended;           /* its process, or the program in it, has ended, or it was abandoned */
    uint8_t lives;           /* it is lost, but may be alive */
    _Atomic int error;       /* errno of our trial, or of a later refusal */
    uint64_t token;          /* address of its process's token, as the trial found */
    nbcoll_transport_error reason; /* why it is lost, or what failed last */
};

/* Of its quota; offsets in the segment. */
struct nbcolli_shm_taken {
    struct nbcolli_shm_taken *next;
    size_t at, bytes;
};

/* Scratch of a get under way: what is left of it. WHO: the peer. Bits above that: its memory is read in place; it comes
 * by pieces; owner and receiver ask the kernel whether they can touch the buffers. Then 1 + the number of its
 * window. */
enum { NBCOLLI_SHM_GET_WHO, NBCOLLI_SHM_GET_FROM, NBCOLLI_SHM_GET_TO, NBCOLLI_SHM_GET_LEFT };
#define NBCOLLI_SHM_GET_HERE 16
#define NBCOLLI_SHM_GET_PIECES 17
#define NBCOLLI_SHM_GET_ASKS 18
#define NBCOLLI_SHM_GET_WINDOW 24

static inline int nbcolli_shm_who(const nbcoll_work *work)
{
    return (int)(work->scratch[NBCOLLI_SHM_GET_WHO] & 0xffff);
}

/* A get by one of this rank's windows (pieces.c). */
struct nbcolli_shm_transfer {
    nbcoll_work *work; /* null: there is none */
    uint64_t grant;    /* the last one of the window */
    uint64_t read, end, written; /* pieces: as in the window; written: as last seen */
    uint64_t since;    /* when a look after the last piece first found nothing; 0: none has */
    bool meets;        /* the receiver reads, too, meanwhile */
    uint64_t own;      /* pieces of its last own read, while nothing comes */
    size_t piece;
};

/* How an owner stores data that another core reads (stores.c). */
struct nbcolli_shm_stores {
    bool past;         /* past the cache */
    uint32_t tries;    /* beginnings so far of the look under way */
    size_t until;      /* bytes to be copied before the next look */
    size_t apart;      /* and before the one after it */
    uint64_t least[2]; /* ns a byte, << 16, of the look's beginnings: plain, past the cache */
};

struct nbcolli_shm_end {
    nbcoll_endpoint base;
    nbcoll_host host; /* memory, clock */
    const struct nbcolli_shm_system *os;
    struct nbcolli_shm_home *home; /* null until the rank has joined */
    int pid;               /* of the process that opened it */
    int event, watch;      /* our descriptors until the home has them; then -1 */
    int ready;             /* epoll descriptor: our eventfd, and the pidfds of those not known to have ended */
    uint32_t flags;
    uint64_t identity[2]; /* the random bits of its id */
    bool sleepers_pay; /* a sleeper makes a barrier on all cores, so that posts need none (../../src/host/wakeup.h);
                          equal on all ranks */
    int unreported;   /* peers that are gone and not reported */
    int refusals;     /* peers to which a post was refused since the last progress */
    nbcolli_sleeper sleeper;
    uint64_t passes;  /* progress calls */
    uint64_t looked;  /* when we last looked for deaths */
    uint64_t looks;   /* begun by any rank, at our last turn to look at the locks */
    size_t copied;    /* bytes of gets, in this progress and since */
    size_t most;      /* of these */
    bool gets_more, serves_more; /* more could move but for the byte limit: for base.busy */
    struct nbcolli_works gets, finished;
    size_t meets_from; /* bytes from which on owner and receiver together are faster than pieces alone */
    struct nbcolli_shm_stores stores;
    size_t staging_part;      /* bytes of the longest part for a staging buffer: a get of more is faster; 0: any */
    size_t by_pieces, by_cma; /* gets from the first to the second go by pieces, others by process_vm_readv */
    uint64_t patience; /* ns until a receiver reads data itself that the owner does not bring */
    uint64_t grants;  /* so far */
    bool short_of_windows, was_short;         /* a get found no window in this progress, in the last one */
    uint32_t idle_arms; /* armings refused since a piece moved */
    uint64_t serving[NBCOLLI_SHM_RANK_WORDS]; /* a bit for each rank that may have a window open for us */
    int served;                               /* the rank served first in the next progress */
    struct nbcolli_shm_transfer transfer[NBCOLLI_SHM_WINDOWS];
    struct nbcolli_shm_taken *taken; /* in order of place */
    /* queue.c */
    uint32_t depth, last, quarter;  /* constant: of the layout; depth - 1; entries between two tellings of a head */
    struct nbcolli_shm_peer *peers; /* constant: `peer`, where lines find theirs by one address */
    uint32_t arrivals, lines;       /* of this progress */
    ptrdiff_t bytes_left;           /* that it may bring */
    uint32_t polls, next;           /* places used in `poll`, and the first in the next progress */
    uint32_t dues;                  /* places used in `due` */
    uint32_t oldest;                /* place in `poll` of the one that came in first */
    uint32_t turn, heard;           /* progress calls; the word of the row where the last reading began */
    _Atomic uint64_t *row;          /* ours; null: all rings are in `poll` */
    uint8_t poll[NBCOLL_SHM_RANKS]; /* senders to look at directly */
    uint8_t due[NBCOLL_SHM_RANKS];  /* senders that the next progress tells of another quarter */
    _Alignas(8) uint8_t seen[NBCOLL_SHM_RANKS]; /* the row's bytes if there is nothing to take */
    nbcoll_arrival arrival[NBCOLLI_SHM_ARRIVALS];
    nbcoll_line_arrival line[NBCOLLI_SHM_ARRIVALS];
    struct nbcolli_shm_peer peer[];
};

/* Ranks that take turns on this one's core. */
static inline uint32_t nbcolli_shm_turns(const struct nbcolli_shm_end *e)
{
    return e->base.limits.ranks_per_core > 1 ? e->base.limits.ranks_per_core : 1;
}

/* May this rank read the other process's memory itself for this get? */
static inline bool nbcolli_shm_may_read(const struct nbcolli_shm_end *e, const nbcoll_work *work)
{
    return e->peer[nbcolli_shm_who(work)].cma && !(work->scratch[NBCOLLI_SHM_GET_WHO] >> NBCOLLI_SHM_GET_ASKS & 1);
}

static inline struct nbcolli_shm_end *nbcolli_shm_end(nbcoll_endpoint *ep)
{
    return (struct nbcolli_shm_end *)(void *)ep;
}

/* A descriptor, if there is one. */
static inline void nbcolli_shm_close(const struct nbcolli_shm_system *os, int *fd)
{
    if (*fd >= 0)
        os->close(*fd);
    *fd = -1;
}

/* segment.c */
nbcoll_status nbcolli_shm_layout(const nbcoll_shm_config *c, struct nbcolli_shm_layout *out);
/* Bytes beside a rank's quota for copies of what it exposes. */
uint32_t nbcolli_shm_staging(int ranks);
struct nbcolli_shm_seat *nbcolli_shm_seat(const struct nbcolli_shm_home *h, int rank);
struct nbcolli_shm_ring *nbcolli_shm_ring(const struct nbcolli_shm_home *h, int from, int to);
_Atomic uint64_t *nbcolli_shm_row(const struct nbcolli_shm_home *h, int rank);
/* What `rank` says of `of`, in bits: it can read that rank's memory, moves large data with it by windows, has given it
 * up. Written by `rank`. */
enum { NBCOLLI_SHM_READS = 1, NBCOLLI_SHM_GIVEN_UP = 2, NBCOLLI_SHM_PIECES = 4 };
_Atomic uint8_t *nbcolli_shm_reach(const struct nbcolli_shm_home *h, int rank, int of);
/* A home with one user that maps the segment behind the descriptor, which it owns if this is OK, and has no other
 * descriptors yet. `fresh`: writes the segment's head; else checks it. */
nbcoll_status nbcolli_shm_home_make(const struct nbcolli_shm_system *os, const struct nbcolli_shm_layout *l, int fd,
                                    bool fresh, struct nbcolli_shm_home **out);
/* Called by its first rank when descriptors and secret are set: locks this rank's byte. After OK the home is constant,
 * and other ranks of the process may join it. */
nbcoll_status nbcolli_shm_home_show(struct nbcolli_shm_home *h, int rank);
void nbcolli_shm_home_join(struct nbcolli_shm_home *h);
void nbcolli_shm_home_leave(struct nbcolli_shm_home *h);

/* bootstrap.c: joins the ranks, or says why not. `own` is the status of this rank so far; `e` may be null if that is
 * not OK. */
struct nbcolli_shm_boot {
    const struct nbcolli_shm_system *os;
    const nbcoll_shm_config *config;
    const nbcoll_host *host;
    struct nbcolli_shm_layout layout;
    uint64_t deadline; /* of the host's clock; UINT64_MAX: none */
    uint64_t looks;
};
/* The id of rank 0, by the host's allgather. */
nbcoll_status nbcolli_shm_agree(struct nbcolli_shm_boot *b, nbcoll_shm_id *id);
/* Rank 0; the others. */
nbcoll_status nbcolli_shm_host(struct nbcolli_shm_boot *b, struct nbcolli_shm_end *e, nbcoll_status own);
nbcoll_status nbcolli_shm_join(struct nbcolli_shm_boot *b, struct nbcolli_shm_end *e, nbcoll_status own);

/* shm.c */
/* Ranks that take turns on that rank's core. */
uint32_t nbcolli_shm_ranks_per_core(const struct nbcolli_shm_end *e, int rank);
nbcoll_status nbcolli_shm_random(const struct nbcolli_shm_system *os, void *to, size_t bytes);
nbcoll_status nbcolli_shm_id_make(const struct nbcolli_shm_system *os, nbcoll_shm_id *out);
/* Makes a rank's own descriptors; on failure there are none. */
nbcoll_status nbcolli_shm_descriptors(struct nbcolli_shm_end *e);

/* queue.c */
extern const nbcoll_lines nbcolli_shm_lines;
/* Finds the rings in the segment. Called before all else here. */
void nbcolli_shm_rings(struct nbcolli_shm_end *e);
nbcoll_posted nbcolli_shm_put(struct nbcolli_shm_end *e, int peer, const nbcoll_header *header, const void *payload,
                              size_t bytes);
/* Gives back what was handed out, and hands out what is there, at most NBCOLLI_SHM_ARRIVALS of a kind and about
 * NBCOLL_PASS_BYTES. */
void nbcolli_shm_deliver(struct nbcolli_shm_end *e, nbcoll_completions *found);
/* Has an entry come that was not handed out? Or are so many places not given back that a sender, without room, could
 * not post and wake this rank? */
bool nbcolli_shm_waiting(struct nbcolli_shm_end *e);
/* Does the place of this peer's next entry hold that entry, or the last lap's, which was taken? Else, misled by a
 * damaged head, the peer has overwritten entries, and this rank would find none any more. */
bool nbcolli_shm_can_be(const struct nbcolli_shm_end *e, int peer);
/* Is everything taken that this peer has put? */
bool nbcolli_shm_has_taken(struct nbcolli_shm_end *e, int peer);
/* Asks to be woken wherever a post was refused. True if there is room already. */
bool nbcolli_shm_has_room(struct nbcolli_shm_end *e);
/* The core tries refused posts again, or gives them up. */
void nbcolli_shm_forget_refusals(struct nbcolli_shm_end *e);

/* quota.c */
extern const nbcoll_shared nbcolli_shm_shared;
void nbcolli_shm_release_all(struct nbcolli_shm_end *e);

/* wakeup.c */
extern const nbcoll_wakeup nbcolli_shm_wakeup;
/* Called when all have said whether they take part in barriers: do all? */
void nbcolli_shm_agree_on_barriers(struct nbcolli_shm_end *e);
/* After a change of shared memory that `peer` may wait for. */
void nbcolli_shm_rouse(nbcoll_endpoint *ep, int peer);
void nbcolli_shm_wake(struct nbcolli_shm_end *e, int peer);
void nbcolli_shm_wake_all(struct nbcolli_shm_end *e);
void nbcolli_shm_disarm(struct nbcolli_shm_end *e);

/* copy.c */
extern const nbcoll_bulk nbcolli_shm_bulk;
/* The token: others read it to know that the process is the one that has joined. */
uint64_t nbcolli_shm_token(const struct nbcolli_shm_home *h, int pid);
/* Tries to read from every rank, and writes the results for all. */
void nbcolli_shm_try(struct nbcolli_shm_end *e);
/* Called when all have: finds what moves both ways. */
void nbcolli_shm_tried(struct nbcolli_shm_end *e);
/* Goes on with the gets that are under way, by turns. */
void nbcolli_shm_copy_some(struct nbcolli_shm_end *e);
/* Gives the peer up: it may still read our memory, and must know that the data is not valid. */
void nbcolli_shm_give_up(nbcoll_endpoint *ep, int peer);
/* The core takes a get back. */
void nbcolli_shm_get_cancel(nbcoll_endpoint *ep, nbcoll_work *work);
nbcoll_shm_path nbcolli_shm_path(const struct nbcolli_shm_end *e, int peer);
bool nbcolli_shm_is_given_up_by(const struct nbcolli_shm_end *e, int peer);
const char *nbcolli_shm_why(const struct nbcolli_shm_end *e, int peer);
/* Reads memory of the peer's process to `to`: OK, PENDING (given up), ERR_PEER_LOST; AGAIN: not in this way. */
nbcoll_status nbcolli_shm_fetch(struct nbcolli_shm_end *e, int peer, uint64_t from, void *to, size_t bytes);
/* Copies from the segment to private memory, or the other way, by the kernel. False: that memory cannot be touched;
 * memcpy would end the process. */
bool nbcolli_shm_copy_asking(const struct nbcolli_shm_home *h, void *shared, void *own, size_t bytes, bool is_in);

/* pieces.c */
/* Bytes of a receiver's pool, with its words. */
size_t nbcolli_shm_pool_bytes(size_t pool);
/* Has the get a window? Grants it a free one if it has none. */
bool nbcolli_shm_pieces_ask(struct nbcolli_shm_end *e, nbcoll_work *work);
/* Takes a get with a window as far as it goes in this progress: OK (it is complete), PENDING, AGAIN (as fetch),
 * ERR_PEER_LOST, ERR_BUFFER (its buffer cannot be written), ERR_FAULT (the owner cannot read its own). */
nbcoll_status nbcolli_shm_pieces_go_on(struct nbcolli_shm_end *e, nbcoll_work *work);
/* Takes its window back, if it has one. The work request tells what is left. */
void nbcolli_shm_pieces_close(struct nbcolli_shm_end *e, nbcoll_work *work);
void nbcolli_shm_pieces_close_all(struct nbcolli_shm_end *e);
/* Copies into the windows that others have granted this rank. */
void nbcolli_shm_serve(struct nbcolli_shm_end *e);
/* Is there work for a get of this rank, or for one from it? */
bool nbcolli_shm_large_can_go_on(struct nbcolli_shm_end *e);

/* stores.c */
void nbcolli_shm_stores_open(struct nbcolli_shm_stores *s);
/* For the next copy, of so many bytes: returns how many of its first bytes to time, and sets *past for them. The caller
 * tells stores_took their time, and stores the rest, or all after a 0, as s->past says then. */
size_t nbcolli_shm_stores_look(struct nbcolli_shm_stores *s, size_t bytes, bool *past);
void nbcolli_shm_stores_took(struct nbcolli_shm_stores *s, bool past, size_t bytes, uint64_t ns);
/* Copies to memory that `reader` will read, and may have read before; -1: several ranks. */
void nbcolli_shm_copy_in(nbcoll_endpoint *ep, int reader, void *to, const void *from, size_t bytes);

/* trial.c */
/* The part of this rank in the trial, if it has one. */
void nbcolli_shm_measure(struct nbcolli_shm_end *e);
/* Called when all have: chooses ways and prices. */
void nbcolli_shm_choose(struct nbcolli_shm_end *e);

/* alive.c */
/* From now on this rank sees processes end, also in sleep. */
nbcoll_status nbcolli_shm_watch(struct nbcolli_shm_end *e);
/* Called now and then, and after each sleep: finds ranks whose process has ended, that others have found failed, or
 * that have left; and, not after each sleep, processes that have become another program. */
void nbcolli_shm_look_at_seats(struct nbcolli_shm_end *e); /* not at the processes */
void nbcolli_shm_look(struct nbcolli_shm_end *e);
/* Notes that the peer is gone, in this way; a BROKEN one then has FAILED. False: that was known. */
bool nbcolli_shm_seat_ends(const struct nbcolli_shm_end *e, int rank, enum nbcolli_shm_state how);
/* Values that the peer writes are impossible: it is lost, reported, and told to all. It may be alive. */
void nbcolli_shm_distrust(struct nbcolli_shm_end *e, int peer);
/* The peer's process, or its memory, is gone: the peer is lost unless it has left. */
void nbcolli_shm_is_no_more(struct nbcolli_shm_end *e, int peer, int code, const char *text);

#endif
