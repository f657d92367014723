/* SPDX-License-Identifier: BSD-3-Clause
 *
 * storm: whole jobs of ranks in one thread and in virtual time, over the engine as it is, through the public API (but
 * for where counters begin). A seed decides everything: which rank goes on next, what each transport says and delivers
 * when, what fails, and the program.
 *
 *     plan.c     what a seed means: ranks, the program, the faults; print.c writes that in words
 *     limits.c   and for the transport: its groups, limits and nets
 *     world.c    virtual time, choices, the log and its hash, findings, whose turn it is
 *     fiber.c    the ranks' stacks, and switching between them
 *     host.c     the host's hooks of a rank: memory that is counted, refused and poisoned; clock; pause
 *     wire.c     the transport: messages and lines that are late, overtake, are refused and lent
 *     ends.c     its ends, of which a rank has one or two: opened, closed, dead; departures
 *     shm.c      shm in its place, as it is, over processes of the storm's own
 *     processes.c  the system calls of these processes, without those for sockets
 *     sockets.c  their sockets, by which they find each other
 *     over_ofi/  ofi in its place, as it is, over a provider and connections of the storm's own: in test_over_ofi
 *     bulk.c     its registrations, gets, puts, and shared memory
 *     values.c   the buffers of a call: what goes in, what must come out, what must not be touched
 *     rank.c     the program as one rank executes it
 *     starts.c   the calls that it starts
 *     begin.c    a rank's context and first communicator
 *     drivers.c  a thread of a rank's that drives its context
 *     inside.c   signals, and calls from inside the host's functions
 *     system.c   what waits and drivers ask the system for, where the host has no pause
 *     counters.c counters near their ends
 *     made.c     the communicators that it makes and frees
 *     agents.c   a thread of a rank's that executes its programs, and its queue pairs
 *     relays.c   relays over one of them
 *     chain.c    calls that follow each other in callbacks, and what else those may do
 *     forks.c    children of fork, which call on what they have inherited
 *     own.c      schedules of the program's own
 *     messages.c messages between two ranks
 *     neighbors.c neighbourhood collectives
 *     elements.c sums, strided types and lists
 *     groups.c   communicators that their members alone make
 *     timeouts.c and those whose creation has timeouts
 *     bounds.c   deadlines that pass, full tables, many calls at a time
 *     judge.c    which outcomes are allowed, given what has happened
 *     ways.c     and which ways of parts and questions
 *     atomics.c  where the engine is compiled for that: each atomic access is a place where others may have a turn
 *     coverage.c what was met, as a table
 *     kept.c     seeds that once failed
 *     soak.c     many seeds, counted, and the file of a soak
 *     command.c  the command line, which test_storm has when it is given arguments
 *
 * mutants.py changes the engine in one place at a time, and says which changes are found.
 *
 * A seed is a job; the same seed is the same job, to the bit: its log has a hash, which is printed. So each expression
 * draws once, or in an order that C says: compilers choose the order of operands, arguments and initializers. */
#ifndef STORM_H
#define STORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nbcoll/nbcoll.h"
#include "nbcoll/transport.h"
#include "layout.h"

enum { RANKS_MOST = 64, ITEMS_MOST = 256, COMMS_MOST = 16, FAULTS_MOST = 8 };

#define MICROSECOND 1000ull
#define MILLISECOND 1000000ull
#define SECOND 1000000000ull

/* ---- the plan --------------------------------------------------------------------------------------------------- */

/* Groups and habits of the transport. */
enum {
    HAS_LINES = 1,
    HAS_TAKE = 2, /* lines that are awaited are taken */
    HAS_GET = 4,
    HAS_PUT = 8,
    ANY_LOCAL = 16,
    PLAIN_KEYS = 32, /* nothing is registered: a key is address and length */
    HAS_SHARED = 64, /* with PLAIN_KEYS, HAS_GET, ANY_LOCAL */
    HAS_VIEW = 128,
    HAS_WAKEUP = 256,
    HAS_STAGING = 512,
    HAS_BOUND = 1024 /* limits.receives */
};

typedef enum item_kind { ITEM_CALL, ITEM_DUP, ITEM_SPLIT, ITEM_FREE, ITEM_SHRINK, ITEM_CHAIN, ITEM_OWN,
    ITEM_MESSAGES, ITEM_NEIGHBORS, ITEM_ELEMENTS, ITEM_GROUP, ITEM_DEADLINE, ITEM_CROWD, ITEM_FULL } item_kind;
typedef enum element { ELEMENT_PREDEFINED, ELEMENT_PLAIN, ELEMENT_PACKED } element;

typedef struct item {
    item_kind kind;
    int comm;    /* the index of a communicator */
    int made;    /* DUP, SPLIT, SHRINK, CHAIN: of the new one */
    bool is_first; /* CHAIN: no other one is before it */
    bool moves;    /* CHAIN: it goes on on a duplicate, made + 1 */
    operation o; /* CALL: its root is to be taken modulo the ranks; of predefined elements with its type */
    element element;
    size_t packed; /* bytes of an element that travel */
    int own_op;    /* 0: predefined; 1: the host's, commutative; 2: the host's, not commutative */
    int times;     /* so often in a row */
    uint64_t salt; /* of the values */
    int cancels;   /* 1 + the rank that cancels it soon; 0: nobody */
    int differs;   /* 1 + the rank that calls something else */
    int fails;     /* OWN: 1 + the number of the member whose CALL step fails once */
    bool is_with;  /* DUP: with configurations */
    bool is_shared; /* SPLIT: by memory */
    bool frees;      /* DUP, SPLIT: its communicator is freed as soon as the new one is made, or not made */
    uint64_t relays; /* DUP: relays are opened over the new one, as this says; 0: none */
} item;

typedef enum fault_kind {
    FAULT_MEMORY,   /* `many` calls of alloc are refused, from the `at`-th on */
    FAULT_REGISTER, /* the same of register_memory */
    FAULT_GET,      /* a get that is refused, or comes back failed */
    FAULT_PUT,
    FAULT_POST,    /* a post is answered LOST or FAILED */
    FAULT_DEATH,   /* at its `at`-th turn the rank is never heard of again */
    FAULT_HANG,    /* it stays away for long */
    FAULT_DECLARE, /* it declares `other` lost */
    FAULT_LEAVE,   /* it frees its context before its program is over */
    FAULT_ABANDON,
    FAULT_HOST,   /* pack, unpack or combine reports a failure */
    FAULT_DAMAGE, /* of a message that it sends a word of the header is changed; from the thirteenth edition on, it may
                     have lost its end, too */
    FAULT_CANCELS, /* it cancels a call */
    FAULT_DIFFERS, /* it calls something else */
    FAULT_RIVALS,  /* it and `other` declare each other lost: from the second edition on, as all that follows */
    FAULT_JUMP,    /* its clock jumps ahead */
    FAULT_GARBLES, /* a message that it sends is of a type that there is not, so that who gets it gives it up: from the
                      seventh edition on */
    FAULT_FREES,   /* it frees the communicator of item `at` instead of executing that, and goes on: from the eighth
                      edition on */
    FAULT_TOUCHES, /* a get or put cannot touch memory of one of its ends: from the ninth edition on */
    FAULT_COUNT
} fault_kind;

typedef struct fault {
    fault_kind kind;
    int rank, other;
    uint64_t at, many;
    int late; /* GET, PUT: after it was lent */
} fault;

typedef struct place_in {
    int group, rank, size;
} place_in; /* group -1: it is no member */

/* The nets: one joins all ranks; some worlds have another one, which joins those of a node, and comes first. */
enum { HOME, NEAR, NETS };

typedef struct net {
    unsigned groups;
    size_t payload, quota; /* quota: bytes of shared memory of each rank */
    uint32_t key_bytes, channels, staging;
    size_t part; /* the longest one that is worth a copy to the staging buffer; 0: each */
    uint32_t room;              /* messages under way from one rank to another */
    unsigned refused, lent, far; /* per mille: posts, posts, messages that take long */
    place_in at[RANKS_MOST];     /* the group is a node */
} net;

typedef struct plan {
    uint64_t seed;
    int edition, ranks, nets;
    net net[NETS];
    size_t eager;
    uint32_t credits, slots, cells, schedules, flags;
    unsigned switches; /* per mille at hooks */
    unsigned late;     /* per mille of items before which a rank stays away */
    unsigned ticks;    /* likewise: moments at which a signal's handler ticks */
    bool has_drivers;  /* contexts that any thread may use, and a second thread on most ranks: drivers.c */
    uint64_t latest;   /* ns that it does, at most */
    int window;        /* requests outstanding on a rank */
    int items, faults, comms;
    item item[ITEMS_MOST];
    fault fault[FAULTS_MOST];
    place_in place[COMMS_MOST][RANKS_MOST];
    bool has_chain;
    bool has_stray;    /* the first endpoint that a context gets is refused: begin.c */
    bool has_agents;   /* of the first communicator */
    int agent_fails;   /* 1 + the rank whose agent is cancelled, at its so many-th turn: */
    uint64_t agent_at;
    bool is_patient; /* time heals nothing: clocks stand still, and who is armed sleeps until it is woken. Only where
                        all goes well */
    bool is_observed; /* each step */
    unsigned char garbage; /* what is freed is filled with */
    bool is_bare; /* hosts have no pause: waits and drivers yield, and sleep by the system's calls: system.c */
    int late_tags; /* near which end counters begin: counters.h; 0: at 0 */
    int few_serials; /* 1 + so many communicators each rank can still make; 0: enough: counters.h */
    bool is_over_shm; /* shm joins the ranks */
    bool is_over_ofi; /* ofi does */
    bool is_over;     /* one of these */
    bool is_preempted; /* ranks lose their cores at hooks, for longer than it takes till they are asked */
    bool at_looks;     /* likewise, but at looks at the clock, until another one has ended something */
    bool is_alike; /* elements that pack take the same room, whatever travels of them */
    bool is_mixed; /* limits and hooks differ by rank as far as the headers let them: begin.c, ends.c */
    int forks;         /* 1 + the rank that does, at its so many-th hook: */
    uint64_t forks_at;
    bool is_skipped[ITEMS_MOST];
    bool survives[COMMS_MOST]; /* of survivors: who is a member is found out, and stands in `place` from then on */
} plan;

/* Of plans: what a later one adds leaves the seeds of those before what they were. */
enum {
    EDITION_OF_SHM = 10,
    EDITION_OF_NAMES = 12,
    EDITION_OF_RELAYS = 12,
    EDITION_OF_ENDS = 13,
    EDITION_OF_PARTS = 14,
    EDITION_OF_MEMORY = 15,
    EDITION_OF_KINDS = 16,
    EDITION_OF_LINES = 17,
    EDITION_OF_CORES = 18,
    EDITION_OF_LOOKS = 19,
    EDITION_OF_MESSAGES = 20,
    EDITION_OF_CUTS = 21,
    EDITION_OF_LOSSES = 22,
    EDITION_OF_ROUTES = 24,
    EDITION_OF_FORMS = 25,
    EDITION_OF_ARRIVALS = 26,
    EDITION_OF_MISHAPS = 27,
    EDITION_OF_BOUNDS = 28,
    EDITION_OF_TIMEOUTS = 29,
    EDITION_OF_REFUSALS = 30,
    EDITION_OF_RATES = 31,
    EDITION = 31
};

/* What of a seed is to be left out, for shrinking. */
typedef struct cut {
    int edition; /* 0: the last one */
    int ranks;       /* 0: as many as the seed says */
    int items;       /* the first ones only; -1: all */
    unsigned faults; /* those bits are left out */
    int n_skipped, skipped[ITEMS_MOST];
    int only;     /* 1 + a kind of fault: every world has one of these; 0: as the seed says */
    bool is_calm; /* without faults */
    bool has_no_forks;
    bool is_over_shm, is_over_ofi;
} cut;

typedef struct kept {
    uint64_t seed;
    cut cut;
} kept;
extern const kept storm_kept[];
extern const size_t storm_kept_count;

void plan_make(plan *p, uint64_t seed, const cut *c);
/* Of plan_make: what concerns the transport. */
void plan_limits(plan *p, const cut *c, uint64_t *r);
void plan_print(const plan *p);
extern const char *const fault_name[FAULT_COUNT];
/* From edition 28 on: does the rank's first endpoint share memory? */
bool plan_shares(const plan *p, int rank);
bool plan_has_faults(const plan *p); /* or calls that are cancelled, or differ */
/* The rank (of all) that has number `rank` in the group of that communicator in which `of` is. */
int plan_member(const plan *p, int comm, int of, int rank);

/* ---- fibers ------------------------------------------------------------------------------------------------------ */

typedef struct fiber fiber;
/* A thread, to the library, which tells threads apart by the address of errno. Stacks are used again. */
fiber *fiber_make(void (*main)(void *user), void *user);
void fiber_enter(fiber *f);                              /* from the scheduler; returns when it yields or is over */
void fiber_yield(fiber *f);
bool fiber_is_over(const fiber *f);
void fiber_free(fiber *f);

/* ---- the world --------------------------------------------------------------------------------------------------- */

typedef struct storm storm;
typedef struct end end; /* of a net: wire.h */
typedef struct actor actor;

/* Why something may fail: bits of a rank, set by what has happened to it. */
enum {
    BAD_DEAD = 1,
    BAD_LEFT = 2, /* before its program was over, or it has skipped a part of it */
    BAD_DECLARED = 4,
    BAD_MEMORY = 8,
    BAD_WIRE = 16, /* its transport, or one to it, has failed */
    BAD_HOST = 32, /* a function of the host's has failed */
    BAD_CANCELS = 64,
    BAD_DIFFERS = 128,
    BAD_KEY = 512,     /* what it was to show to others without messages could not be registered */
    BAD_OPENING = 4096, /* a system call of its opening was refused */
    BAD_FREED = 2048,  /* it has freed a communicator before its time */
    BAD_BUFFER = 8192, /* a get or put has not been able to touch its memory */
    BAD_QUITS = 16384, /* it has left, or freed a communicator, before its time, with no failure to make it */
    BAD_ENDED = 1024,  /* something has ended badly on it: what it has not sent for that it never will */
    BAD_HEADER = 256 /* then any end is allowed, and none; but nothing outside may be touched */
};

/* A thread of a rank. */
typedef struct strand {
    actor *actor;
    fiber *fiber; /* null: there is none */
    uint64_t wake_at, rung_at; /* rung: while it was awake */
    bool is_asleep;            /* and may be rung */
    bool is_over;
    unsigned vain; /* yields and sleeps since something was found */
    uint64_t found_at, armed_at; /* that was then; it has armed since: by the rank's clock */
    const void *word; /* on which it sleeps, until another thread wakes it */
    bool holds; /* it has lost its turn with the lock for which others spin: they have none until it is back */
} strand;

enum { PROGRAM, DRIVER, EXECUTOR, STRANDS };
enum { PAIRS_MOST = 2000, COPIES_MOST = 200 };

/* Bytes that a rank has copied to its staging buffer, when it was at that item. */
typedef struct copied {
    int item;
    size_t bytes;
} copied;

struct actor {
    storm *storm;
    int rank;
    strand strand[STRANDS];
    bool is_over, is_dead, has_abandoned; /* over: its program */
    bool was_out_of_step; /* an operation that it has started has ended so */
    bool is_ticking; /* it is inside a tick */
    int stage;       /* of its beginning: begin.c */
    int preempted;   /* so often */
    uint64_t turns, skew; /* of its clock */
    uint64_t hooks;       /* and slots: counted for a fork */
    end *end[NETS];
    nbcoll_host host;
    uint64_t allocs, registers, gets, puts, posts, functions, sent; /* counted for faults */
    uint64_t data;                                                  /* messages of that type that have come */
    size_t bytes;                                                   /* held of memory */
    int logged;                                                     /* lines that say that memory was lacking */
    void *blocks;                                                   /* likewise */
    struct {
        uint64_t tag; /* 1 + the lowest one of which it was said; 0: nothing was */
        uint32_t before;
        bool is_called; /* it has called that, and remembers it */
    } heard[RANKS_MOST], told[RANKS_MOST]; /* by each other rank, to each: what it has called */
    struct {
        uint64_t tag, since;
    } differs[RANKS_MOST]; /* 1 + the tag before which each other one has told of another history, when it was told of
                              this rank's: it goes back */
    bool is_out_of_step, is_revoked; /* it has heard that; or before that that an operation has failed */
    bool has_answered[RANKS_MOST]; /* each other: that it has called this or that, or nothing */
    nbcoll_endpoint *queues; /* what has its queue pairs, which are: */
    struct nbcoll_queue_pair *pair[PAIRS_MOST];
    int n_pairs;
    bool has_closed; /* a pair, whose entries are settled since: `wait` finds all there are */
    copied copy[COPIES_MOST]; /* ways.c */
    int n_copies;
    struct rank *program;
};

struct storm {
    plan plan;
    uint64_t now, random, hash, steps, last_cause;
    uint64_t over; /* so many calls have ended, and communicators have been freed */
    uint64_t steps_moved; /* when something has ended last, or somebody was away, or has slept in an opening */
    uint64_t words, met_at_words; /* until others have a turn; how often they had */
    actor actor[RANKS_MOST];
    strand *turn; /* whose turn it is */
    unsigned bad[RANKS_MOST], bad_anywhere;
    unsigned char *memory[NETS]; /* shared */
    char finding[1000];
    bool is_loud;
    bool is_child; /* this process is a child of fork, which says what it finds to that descriptor: */
    int child;
    int full_at;       /* 1 + the item at which the first communicator had no tag left */
    int survived[COMMS_MOST]; /* of survivors: how many there are, says who was the first to have it; 0: nobody has */
    uint64_t sent[RANKS_MOST][ITEMS_MOST]; /* of messages, two bits for each letter: so often it was sent well */
    struct {
        int item, tries; /* 1 + its index */
        uint64_t at;
    } came[RANKS_MOST]; /* when it has called last for a group with timeouts */
    bool has_ended_early; /* a creation, by a timeout, though nothing bad has happened */
    bool is_different; /* a rank has called something that must be equal otherwise */
    unsigned failed[RANKS_MOST], freed[RANKS_MOST], deserted[RANKS_MOST]; /* bits: the communicators on which something
                                                  has ended badly for a rank; that it has freed; both, in turn */
    int at_end, counted; /* ranks that have come to their end; that have counted the credits there */
    int64_t out[NETS][RANKS_MOST][RANKS_MOST], owed[NETS][RANKS_MOST][RANKS_MOST]; /* which were these */
    bool ends; /* only the dead are left: to them everybody is lost */
    struct wire *wire; /* what the ends share: wire.h */
    struct shm *shm;   /* the processes, where shm joins the ranks: shm.h */
    const struct medium *medium;
    struct nbcoll_loopback *queues; /* agents.c; spare: that of the dead */
    nbcoll_endpoint *queue[RANKS_MOST], *spare;
};

/* What was met, in all worlds: by type of message, how its post was answered; and which came next to a rank. */
enum { TYPES = 32 };
typedef struct coverage {
    uint64_t answered[TYPES][4]; /* DONE, IN_FLIGHT, NOT_NOW, damaged */
    uint64_t next[TYPES][TYPES];
    uint64_t ended[NBCOLL_OPERATION_COUNT + 1][NBCOLL_STATUS_COUNT]; /* the last row: creations */
    uint64_t faults[FAULT_COUNT];
    uint64_t forks;
} coverage;
extern coverage met;
void coverage_print(void);
/* How many of these states were met. */
void coverage_sum(void);

/* Seeds that were run, one after the other. */
typedef struct tally {
    uint64_t next; /* the seed */
    uint64_t seeds, faulty, steps, findings;
    uint64_t microseconds;    /* of processor time */
    uint64_t small, in_small; /* of 2 to 5 ranks: seeds, microseconds */
} tally;

/* Which: so many, for at most so many seconds (0: no matter), until so many have failed. */
typedef struct batch {
    uint64_t count, findings;
    double seconds;
    int patience;     /* seconds of processor time that a job may take; SIGVTALRM comes then */
    bool is_small;    /* every 20th seed, which may have many ranks, is left out */
    const char *path; /* of the file that keeps count; or null */
} batch;

/* Runs seeds from next on. False if the file cannot be written. */
bool tally_run(tally *t, storm *s, const cut *c, const batch *m);
/* False: there is no such file, and nothing has changed. */
bool tally_read(tally *t, const char *path);
void tally_print(const tally *t);

/* What the log says. X(name) */
#define NOTES(X)                                                                                                       \
    X(TURN)                                                                                                            \
    X(POST)                                                                                                            \
    X(LINE) X(REFUSED) X(IN_FLIGHT) X(ARRIVES) X(TAKEN) X(BACK) X(CANCEL) X(CLOSE) X(REGISTER) X(UNREGISTER) X(GET)    \
        X(PUT) X(COPIED) X(RESERVE) X(WAKE) X(ARM) X(STARTS) X(ENDS) X(FAULT) X(DEPARTED) X(LOST) X(MADE) X(FREED)     \
            X(LATE) X(OVER) X(GIVEN_UP) X(RELEASE) X(OF_TYPE) X(TICK) X(MESSAGE)
typedef enum note {
#define NOTE(name) NOTE_##name,
    NOTES(NOTE)
#undef NOTE
        NOTE_COUNT
} note;

uint64_t mix(uint64_t a, uint64_t b);
uint64_t next_random(uint64_t *state);
/* One of several sizes. */
#define ONE_OF(state, ...)                                                                                             \
    ((const size_t[]){__VA_ARGS__}[next_random(state) % (sizeof((const size_t[]){__VA_ARGS__}) / sizeof(size_t))])
uint64_t storm_random(storm *s, uint64_t below);
bool storm_chance(storm *s, unsigned per_mille);
void storm_note(storm *s, int rank, note what, uint64_t a, uint64_t b);
void storm_find(storm *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Something has happened to a rank that lets others fail. */
void storm_cause(storm *s, int rank, unsigned why);
/* The rank whose turn it is stays away for so long; or until it is rung. */
void storm_stay(storm *s, uint64_t ns);
void storm_sleep(storm *s, uint64_t ns);
/* The same where others have to wait for it: it is late, or hangs. */
void storm_away(storm *s, uint64_t ns);
void storm_ring(storm *s, int rank, uint64_t at);
/* The transport has found something, for the thread whose turn it is. */
void system_has_found(storm *s);
/* Another thread of the rank begins, where there is none. */
void storm_spawn(actor *a, int which, void (*main)(void *user), void *user);
/* At a hook or a slot: time passes, and perhaps others have a turn. */
void storm_step(storm *s, actor *a);
/* At a look at the clock, likewise. */
void storm_look(storm *s, actor *a);
/* At an atomic access, likewise: where the engine is compiled to say so (atomics.c). */
void storm_word(void);
/* A finding, if a tick calls that. */
void storm_not_in_tick(actor *a, const char *what);
/* Runs the seed to its end. */
void storm_run(storm *s, uint64_t seed, const cut *c, bool is_loud);
/* The fault of that kind that is due, counting, or null. */
const fault *storm_fault(storm *s, actor *a, fault_kind kind, uint64_t *counter);

/* ---- what joins the ranks: the storm's own transport (ends.c), shm (shm.c), or ofi (over_ofi/ofi.c) -------------- */

typedef struct medium {
    void (*make)(storm *s);
    void (*open)(actor *a);
    /* Of a rank, the one that joins all at last; so many, or 0: it could not open one. */
    int (*endpoints)(actor *a, nbcoll_endpoint *out[NETS]);
    void (*shut)(actor *a); /* closes those that no context has */
    bool (*is_shut)(const actor *a); /* one of them */
    void (*free)(storm *s);
    void (*dies)(actor *a);
    uint64_t (*next)(const actor *a); /* when the next thing comes that it can see by now */
} medium;
extern const medium wire_medium, shm_medium, ofi_medium;
extern const medium *storm_over_ofi; /* null: this program has no ofi */
/* The world of the rank whose turn it is; or null. */
storm *storm_running(void);

/* The queue pairs of agents, where the plan has some: agents.c. shut: a rank has none any more. */
extern const nbcoll_offload agents_offload;
void agents_make(storm *s);
void agents_free(storm *s);
void agents_shut(actor *a);

/* ---- the parts --------------------------------------------------------------------------------------------------- */

void host_init(actor *a);
/* The hooks of what is outside of contexts, where the library may be called. */
nbcoll_host host_outside(actor *a);
/* A function of the host's begins: it takes its time, tries what it must not, and may be to fail. */
bool host_function_fails(actor *a);
void host_check(actor *a);

/* Of a message: a byte of its header changes, or its type, if that is to be. */
bool wire_damage(actor *a, nbcoll_header *header);
/* As the core packs it: for the table of what was met only. */
unsigned wire_type(const nbcoll_header *header);
enum { TYPE_OF_DATA = 4 }; /* a part of what was announced */
/* It has come to the rank, after one of type `last`. Returns its type. */
unsigned wire_comes(actor *a, unsigned last, const nbcoll_header *header);

void rank_main(void *actor);
bool rank_holds(const actor *a); /* the lock for which others spin: drivers.c */
/* From inside `pause`, and from inside a function or hook that must not call. */
void rank_pauses(const actor *a);
void rank_calls_inside(actor *a);
/* A signal comes. */
void rank_ticks(actor *a);
void rank_frees_inside(actor *a); /* only tries what frees the context */
void rank_forks(actor *a);
/* In a child of fork: it has done that, which it must not. It ends. */
void storm_in_child(actor *a, const char *what);
void rank_print(const actor *a);
void rank_clean(actor *a);

/* The buffers of one call. */
typedef struct buffers {
    operation o;
    share share;
    nbcoll_host_type *type; /* of the host's; or null */
    nbcoll_host_op *op;
    element element;
    size_t packed, extent; /* bytes of an element: those that travel, those in this rank's buffers */
    int own_op, rank, ranks;
    uint64_t salt;
    unsigned char *memory[2]; /* with what guards them */
    nbcoll_comm *lender[2];   /* null, or it is memory of that one's endpoint */
    int item, since; /* it is that one's; all before that one were over on all ranks when it began */
    size_t bytes[2];
    actor *actor;
} buffers;

void buffers_make(buffers *b, actor *a, const item *i, int rank, int ranks, uint64_t salt);
/* Those that are not long go into memory of the endpoint's (nbcoll_mem_alloc), where that has some. */
void buffers_move(buffers *b, nbcoll_comm *comm);
/* Fills them anew: for a persistent request's next start. */
void buffers_fill(buffers *b, uint64_t salt);
/* What is wrong, or null. `is_result`: the result must be right, too. */
const char *buffers_wrong(buffers *b, bool is_result, char text[200]);
/* Some bytes of the receive buffer only, which have their result. */
const char *buffers_not_arrived(buffers *b, size_t offset, size_t bytes, char text[200]);
/* The same of one that has not begun: everything is as it was. */
const char *buffers_touched(buffers *b, char text[200]);
void buffers_free(buffers *b);
/* Of the call in whose buffers that lies, if it is an open one; or null. */
const buffers *rank_buffers_at(const actor *a, const void *at);
/* Of a communicator that it has: must what that message says be remembered? */
bool rank_remembers(const actor *a, const nbcoll_header *header);
/* Is that shown by a schedule of the program's own, so little that a cell holds it? */
bool rank_shows(const actor *a, const void *at);

/* A call has ended so, on a communicator: a finding, unless it may. */
void judge_end(actor *a, const item *i, int index, nbcoll_status status, const nbcoll_failure *failure, buffers *b);

/* A message from or to that number, or any, has ended so, badly: what is wrong, or null. `is_cancelled`: by this rank.
 */
const char *judge_message(const actor *a, const item *i, int peer, nbcoll_status status, bool is_cancelled);

/* May a message be lost that this number has sent well, before it left, to that rank? */
bool judge_may_miss(const actor *a, const item *i, int from);

/* The rank frees the communicator, which has that number. */
void judge_frees(actor *a, int number, const nbcoll_comm *comm);

/* What wait_all has said, and of each. */
void judge_all(actor *a, nbcoll_status all, size_t n, const nbcoll_status statuses[]);

/* What it shows is copied to its staging buffer for a reader (-1: for several), where longer parts than that are not.
 */
void judge_copied(actor *a, int reader, const void *from, size_t longest);
/* A rank gets that. */
void judge_got(const actor *a, const actor *owner, const void *from);

/* The same: not where a copy is worth it, and had room (ways.c). */
void ways_got(const actor *a, const actor *owner, const void *from);
void ways_copied(actor *a, int reader, const void *from, size_t bytes);
void ways_freed(actor *a); /* a communicator; what it had shown there may lie longer */
/* The lowest item of the plan that is not over on some rank. */
int ways_first_open(const storm *s);
/* A rank sends this message: if that asks, then of an operation that it has started. */
void ways_asked(const actor *a, const nbcoll_header *header);

/* An operation that was started then, and had its slot, ends so, and not by a call that blocks. */
void judge_hears(actor *a, const item *i, int index, nbcoll_status status, const nbcoll_comm *comm, uint64_t since);
/* A message has come; one is sent; a rank leaves, of whose communicators one has failed so. */
void judge_heard(actor *a, int from, const nbcoll_header *header);
void judge_says(actor *a, int to, const nbcoll_header *header);
/* It has left. */
void judge_goes_back(const actor *a);
void judge_blamed(actor *a, const nbcoll_failure *f);

/* It frees that: a finding, if its transport holds work requests, or what they name, there. */
void judge_freed(actor *a, const void *memory, size_t bytes);

/* It leaves: whom it has given up on one endpoint it has given up, a second later, on all on which it has met that
 * rank. */
void judge_given_up(actor *a, const nbcoll_context *context);

/* May survivors go on without it? */
bool judge_is_gone(const storm *s, int rank);

/* The command that runs this job again. */
void storm_print_command(const char *program, uint64_t seed, const cut *c);

/* Status 1: something was found. */
int storm_command(int argc, char **argv);

#endif
