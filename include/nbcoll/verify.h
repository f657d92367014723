/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The verifier: proves a collective right for all ranks together, without running or timing it. It reads the schedules
 * of all ranks and a *meaning*: what each rank's buffers hold at the start, and what its receive buffer must hold in
 * the end. For the operations of this library the meaning is known:
 *
 *     nbcoll_case c = {.size = sizeof c, .operation = NBCOLL_OPERATION_BCAST, .ranks = 7, .count = 1000};
 *     nbcoll_refutation why = {.size = sizeof why};
 *     if (nbcoll_verify_algorithm(&mine, &c, NULL, &why) == NBCOLL_ERR_VERIFY)
 *         puts(why.text);
 *
 * For an operation of your own write the meaning as two functions (below), and pass the schedules:
 *
 *     nbcoll_meaning alltoall = {.size = sizeof alltoall, .ranks = 7, .input = input, .claim = claim};
 *     nbcoll_verify(schedules, &alltoall, NULL, &why);
 *
 * Proved, by reasoning about the graphs, whatever the counts of bytes:
 *
 *   - every SEND has one RECV of its length, every exposed part one FETCH or FETCH_REDUCE; nothing is left over;
 *   - nothing waits for itself, even if every SEND waits until its RECV has started (full rendezvous), and every EXPOSE
 *     until its readers have fetched their parts and those with lower numbers. So the transport needs no buffer for the
 *     operation to end;
 *   - two steps of a rank that may run at the same time do not touch the same byte, unless both only read. SEND and
 *     EXPOSE read until they end, RECV writes from when it may start. What orders two steps of a rank is a path of its
 *     own edges and nothing else: not the exchange of messages with another rank;
 *   - nothing is read before it was written; nothing is written beyond what the meaning claims;
 *   - every claimed byte of every receive buffer is right: the input it must be, or the reduction of exactly the inputs
 *     it must be, each once, element by element, in rank order unless the meaning allows any;
 *   - where the meaning asks for it, the same bits on all ranks, the bracketing of NBCOLL_REPRODUCIBLE, and that no
 *     rank ends before all have started.
 *
 * Assumed, not proved:
 *
 *   - all ranks start these schedules as the same operation, no step fails, nobody cancels or dies, and the transport
 *     delivers each message once and whole. Messages meet by (peer, number), so that nothing depends on timing;
 *   - reductions are associative: any bracketing is right. With any_order they are commutative, bit for bit. Idempotent
 *     ones (min, max, and, or) are held to "each input once" like the others;
 *   - a CALL reads and writes the regions it names and nothing else. What it writes is a value of its own, equal to
 *     nothing that a claim can ask for: claim "whatever" about the bytes where it ends up. So of types that pack
 *     everything is proved but what the received bytes are;
 *   - bound blocks (NBCOLL_BUFFER_SEND_BLOCK, NBCOLL_BUFFER_RECV_BLOCK, and their packed forms) are proved in one
 *     binding of many: where the meaning says that they lie, and as long;
 *   - operands of a reduction are the same elements of different inputs, or have no meaning; so the bytes of one input
 *     are never combined with others of the same rank;
 *   - limits of engines and transports (slots, cells, credits) only delay.
 *
 * Time and memory do not depend on byte counts. They grow with the number of all steps and of the pieces that buffers
 * consist of, and with the square of the steps of one rank (an order matrix of steps^2 / 8 bytes).
 *
 * Threads: any thread; the schedules are only read.
 */
#include "offload.h"
#include "relay.h"
#include "schedule.h"

#ifndef NBCOLL_VERIFY_H
#define NBCOLL_VERIFY_H

#if defined NBCOLL_WITH_LAB && !NBCOLL_WITH_LAB
#error "nbcoll/verify.h is of the component lab: define NBCOLL_WITH_LAB=1, or link nbcoll_lab"
#endif

NBCOLLI_BEGIN

/* ---- what was refuted -------------------------------------------------------------------------------------------- */

/* Append-only: X(name, text). Behind each stand the places that a refutation names, in their order; the maker of bytes
 * is the step that computed them, or the START of the rank whose input they are. */
#define NBCOLL_FLAW_LIST(X)                                                                                            \
    X(NONE, "no flaw")                                                                                                 \
    X(FINGERPRINT, "ranks have different fingerprints")                      /* START of both */                       \
    X(NO_RECV, "a SEND has no RECV")                                         /* the SEND; START of its peer */         \
    X(NO_SEND, "a RECV has no SEND")                                         /* the RECV; START of its peer */         \
    X(NO_FETCH, "an exposed part is never fetched")                          /* the EXPOSE; START of the reader */     \
    X(NO_EXPOSE, "a FETCH has no exposed part")                              /* the FETCH; START of its peer */        \
    X(LENGTH, "the two ends of a message differ in length")                  /* who gives; who takes; a COPY: it */    \
    X(DEADLOCK, "each step waits for the next, in a circle")                 /* the circle, or its beginning */        \
    X(RACE, "two steps that may run at the same time touch the same bytes")  /* the two */                             \
    X(UNDEFINED, "bytes are read that hold nothing yet")                     /* the reader */                          \
    X(STRAY, "bytes of the receive buffer are written that are not claimed") /* the writer */                          \
    X(UNWRITTEN, "bytes of the result are never written")                    /* END, the bytes */                      \
    X(WRONG, "bytes of the result are not what they must be")                /* END, the bytes; their maker */         \
    X(MISSING, "a reduction lacks an input")                                 /* END, the bytes; that input */          \
    X(TWICE, "a reduction contains an input twice")                          /* END, the bytes; that input */          \
    X(ORDER, "a reduction combines its inputs out of rank order")            /* END, the bytes */                      \
    X(BITS, "two ranks reduce the same elements in different bracketings")   /* END, the bytes; both makers */         \
    X(EARLY, "a rank may end before another has started")                    /* END of the one; START of the other */  \
    X(TREE, "a reduction is bracketed otherwise than reproducible ones are") /* END, the bytes; their maker */         \
    /* Of programs (offload.h); the places are steps whose tasks are concerned. */                                     \
    X(QUEUE, "two branches use one queue pair")                                                                        \
    X(ENABLED, "not as many are enabled as a queue holds")                                                             \
    X(SHARED_CQ, "a completion queue is used twice")                                                                   \
    X(CONSUMED, "not as many entries are waited for as a completion queue gets")                                       \
    X(NOT_READY, "a message may come before its receive is posted")                                                    \
    X(UNORDERED, "the second step's tasks may begin before the first step has ended")                                  \
    X(STUCK, "a queue waits for what only it would let go")

typedef enum nbcoll_flaw {
#define NBCOLLI_FLAW_ENUM(name, text) NBCOLL_FLAW_##name,
    NBCOLL_FLAW_LIST(NBCOLLI_FLAW_ENUM)
#undef NBCOLLI_FLAW_ENUM
        NBCOLL_FLAW_COUNT
} nbcoll_flaw;

/* "RACE", and the text. Never null; any value is accepted. Any thread. */
NBCOLL_API const char *nbcoll_flaw_name(nbcoll_flaw flaw);
NBCOLL_API const char *nbcoll_flaw_text(nbcoll_flaw flaw);

/* A step of a rank, and the bytes concerned (0 where none are). */
typedef struct nbcoll_place {
    int rank;
    nbcoll_step step;
    nbcoll_region bytes;
} nbcoll_place;

#define NBCOLL_PLACES 8

/* The first flaw that was found. */
typedef struct nbcoll_refutation {
    size_t size;
    nbcoll_flaw flaw;
    uint32_t places; /* how many are concerned; the first NBCOLL_PLACES of them are in `place` */
    nbcoll_place place[NBCOLL_PLACES];
    char text[480]; /* one line: the flaw with ranks, steps and bytes, as much as fits; or the words of a builder */
} nbcoll_refutation;

/* ---- meaning ----------------------------------------------------------------------------------------------------- */

/* Bytes [offset, offset + bytes) of a rank's receive buffer must at the end be
 *
 *   first == last   the input of rank `first`,
 *   first < last    the reduction of the inputs of the ranks first..last,
 *   first > last    whatever,
 *
 * in both cases beginning at byte `from` of each input. */
typedef struct nbcoll_claim {
    size_t offset, bytes;
    int first, last;
    size_t from;
    nbcoll_reduction how;
} nbcoll_claim;

/* What an operation means. Each rank has one input, a region of its send or of its receive buffer; all else is
 * undefined at the start. Bytes of receive buffers without a claim must not be written. Say about an alltoall:
 *
 *     static nbcoll_region input(const nbcoll_meaning *m, int rank)
 *     {
 *         nbcoll_addr send = {NBCOLL_BUFFER_SEND, 0};
 *         return nbcoll_span(send, BLOCK * (size_t)m->ranks);
 *     }
 *
 *     static int claim(const nbcoll_meaning *m, int rank, size_t i, nbcoll_claim *c)
 *     {
 *         c->offset = i * BLOCK;
 *         c->bytes = BLOCK;
 *         c->first = c->last = (int)i;
 *         c->from = (size_t)rank * BLOCK;
 *         return (int)i < m->ranks;
 *     }
 */
typedef struct nbcoll_meaning nbcoll_meaning;
struct nbcoll_meaning {
    size_t size;
    const void *user; /* for the two functions */
    int ranks;
    int any_order;  /* operands may be combined in any order; else in rank order */
    int same_bits;  /* ranks with the same claim (of a reduction of all ranks) must get it in the same bracketing */
    int is_barrier; /* no rank may end before all have started */
    /* Where the input of `rank` lies at the start: 0 bytes if it has none. In scratch memory: as if it had none. */
    nbcoll_region (*input)(const nbcoll_meaning *m, int rank);
    /* Is there an i-th claim about `rank`, i = 0, 1, ...? *out is zeroed before. Claims of a rank do not overlap. The
     * functions are called several times and answer alike. */
    int (*claim)(const nbcoll_meaning *m, int rank, size_t i, nbcoll_claim *out);
    /* Where block `index` of the send buffer (is_recv: of the receive buffer) of `rank` is bound to; in the send or the
     * receive buffer, and if is_recv in that. Null: schedules have no bound blocks. */
    nbcoll_region (*block)(const nbcoll_meaning *m, int rank, int is_recv, int index);
    int same_tree; /* every reduction is bracketed as those of NBCOLL_REPRODUCIBLE: n inputs split behind the largest
                      power of two below n, and so on */
    /* The bytes of that block as it travels: what a packed one has. Null: as many as it has where it is bound to. */
    size_t (*travels)(const nbcoll_meaning *m, int rank, int is_recv, int index);
};

/* ---- cases of this library's operations -------------------------------------------------------------------------- */

/* How many elements the blocks of gatherv, scatterv, allgatherv, reduce_scatter, alltoallv and alltoallw have, of which
 * i = 0..P-1 is the number: that of the rank whose block it is; of a block from rank f to rank t of an alltoallv or
 * alltoallw, (2 f + t) modulo P, in place (f + t) modulo P, so that it is as long as the one from t to f.
 * X(name, elements of block i). */
#define NBCOLL_SPREAD_LIST(X)                                                                                          \
    X(EQUAL, count)                                                                                                    \
    X(HOLES, i % 2 ? count : 0)                                                                                        \
    X(RISING, count + i)                                                                                               \
    X(LONE, i == P / 2 ? count : 1)
typedef enum nbcoll_spread {
#define NBCOLLI_SPREAD_ENUM(name, elements) NBCOLL_SPREAD_##name,
    NBCOLL_SPREAD_LIST(NBCOLLI_SPREAD_ENUM)
#undef NBCOLLI_SPREAD_ENUM
        NBCOLL_SPREAD_COUNT
} nbcoll_spread;

#define NBCOLL_CASE_BY_NODE (-1)

/* An operation, as all ranks call it together. */
typedef struct nbcoll_case {
    size_t size;
    nbcoll_operation operation;
    int ranks;
    int root; /* 0 where there is none */
    int node; /* that many neighbouring ranks share memory; 0: none do, every EXPOSE is lowered; NBCOLL_CASE_BY_NODE:
                 those of each of the `nodes` do */
    size_t count; /* elements: of a block, or of the vector */
    nbcoll_reduction reduction;
    int in_place; /* 1: every rank that can be, or the root; 2: those of odd number, or the root; 0: none */
    /* Of the six operations above only: */
    nbcoll_spread spread;
    int apart; /* blocks lie by displacements, which differ between ranks: the last block first, with gaps. Else each
                  behind the one before. Not in reduce_scatter */
    int known; /* gatherv, scatterv: builders see all counts (NBCOLL_COUNTS_KNOWN). Else blocks are bound */
    /* As in nbcoll_args. */
    size_t segment;
    unsigned arity, ports, split, leaders;
    const nbcoll_nodes *nodes; /* what builders are told; of so many ranks. Null: one node */
} nbcoll_case;

/* The meaning of a case; the case must outlive it. `flags` are those of the algorithm: with REORDERS operands may be
 * combined in any order, with REPRODUCIBLE the tree is fixed. An allreduce has the same bits on all ranks, unless the
 * algorithm DIFFERS; integers, which are not rounded, have them in any order. In an alltoallw in place, blocks of odd
 * ranks are of BYTE, unless the type packs. With types that pack nothing is claimed of the bytes that are received.
 * Errors: ERR_NULL, ERR_CONFIG (a size), ERR_RANK (ranks < 1, or nodes of another number of them), ERR_ARGUMENT (no
 * such operation, spread or node), ERR_ROOT, ERR_TYPE, ERR_OP, ERR_COUNT (bytes of all ranks, with what lies between
 * them, overflow). */
NBCOLL_API nbcoll_status nbcoll_meaning_of(const nbcoll_case *c, uint32_t flags, nbcoll_meaning *out);

/* What selection reads of a case: the arguments of rank 0, not in place, completed. counts[ranks] gets the elements of
 * each block, which the arguments have but where they are bound in the call, and must stay as long as they do. Errors:
 * ERR_NULL, those of nbcoll_meaning_of and nbcoll_args_complete. */
NBCOLL_API nbcoll_status nbcoll_case_args(const nbcoll_case *c, size_t counts[], nbcoll_args *out);

/* Builds the schedule of one rank of a case, for the caller to free. `host`: for memory, and for the words of a
 * builder's error (`log`); may be null; what its `user` means must outlive the schedule. Errors: those of
 * nbcoll_meaning_of and nbcoll_build_schedule. */
NBCOLL_API nbcoll_status nbcoll_build_case(const nbcoll_algorithm *algorithm, const nbcoll_case *c, int rank,
                                           const nbcoll_host *host, nbcoll_schedule **out);

/* Compiles a case: nbcoll_compile of the schedules of all of its ranks. `config` may be null: no limits, as zeros say.
 * Errors: those of both. */
NBCOLL_API nbcoll_status nbcoll_compile_case(const nbcoll_algorithm *algorithm, const nbcoll_case *c,
                                             const nbcoll_host *host, const nbcoll_program_config *config, int first,
                                             int count, nbcoll_program *out[], nbcoll_refusal *why);

/* ---- placing ranks ----------------------------------------------------------------------------------------------- */

/* How ranks are numbered over the nodes. */
typedef enum nbcoll_numbering {
    NBCOLL_NUMBERING_BLOCK,       /* node after node */
    NBCOLL_NUMBERING_ROUND_ROBIN, /* one of each node after the other, as long as it has room */
    NBCOLL_NUMBERING_RANDOM       /* anyhow, as the seed says */
} nbcoll_numbering;

/* Where ranks are put when nobody says it one by one: in tools and tests. */
typedef struct nbcoll_placement {
    size_t size;
    const int *room; /* [rooms], each at least 1: ranks of one node after the other; behind the last from the first
                        again, till all ranks have a place: the last node may have fewer */
    size_t rooms;
    nbcoll_numbering numbering;
    uint64_t seed;
    int domain; /* ranks of a node that share a domain, the last one of a node may have fewer; dealt like nodes, but at
                   random domains have any sizes. 0: no domains are known */
} nbcoll_placement;

/* The table of so many ranks that are placed like this. Errors: those of nbcoll_nodes_make; ERR_CONFIG (the placement's
 * size), ERR_ARGUMENT (no rooms, or one below 1; no such numbering; a negative `domain`). */
NBCOLL_API nbcoll_status nbcoll_nodes_place(const nbcoll_placement *placement, int ranks, const nbcoll_host *host,
                                            nbcoll_nodes **out);

/* ---- proving ----------------------------------------------------------------------------------------------------- */

/* Proves (NBCOLL_OK) or refutes (NBCOLL_ERR_VERIFY) what the schedules of ranks 0..meaning->ranks-1 do together.
 * `host`: for memory; may be null. `out`: may be null; with OK its flaw is NONE. Errors: ERR_NULL, ERR_CONFIG (a size),
 * ERR_RANK (schedules[r] is not built for rank r of so many), ERR_ARGUMENT (a claim overlaps another of its rank, or
 * names a rank that does not exist; an input or a bound block lies where none may), ERR_COUNT (an input, claim or block
 * overflows), ERR_UNSUPPORTED (bound blocks, and no meaning->block), ERR_TYPE, ERR_OP, ERR_LIMIT (more than 2^32
 * accesses of a rank, or values), ERR_MEMORY. */
NBCOLL_API nbcoll_status nbcoll_verify(const nbcoll_schedule *const schedules[], const nbcoll_meaning *meaning,
                                       const nbcoll_host *host, nbcoll_refutation *out);

/* Builds the schedules of an algorithm (of the table, or your own for one of the operations) for all ranks of a case,
 * and proves or refutes them. `host`: for memory, and `log`. If a builder fails, out->flaw is NONE and out->text has
 * its error in words: rank, step, call, and why. Errors: those of nbcoll_build_case and nbcoll_verify. */
NBCOLL_API nbcoll_status nbcoll_verify_algorithm(const nbcoll_algorithm *algorithm, const nbcoll_case *c,
                                                 const nbcoll_host *host, nbcoll_refutation *out);

/* The smallest failing case: many cases, in this order of ranks, then roots, then counts, then forms of blocks. */
typedef struct nbcoll_grid {
    size_t size;
    const nbcoll_host *host; /* may be null */
    int fewest, most;        /* ranks; at least 1 */
    int root;                /* this one, where it exists; -1: all */
    int all_blocks;          /* of the six operations: every spread, together and apart, bound and known, as far as the
                                algorithm serves them; else what the case says */
    size_t counts;
    const size_t *count; /* [counts], tried in this order */
    /* Null, or called before each case. */
    void (*visit)(void *user, const nbcoll_case *c);
    void *user;
    int only_visit; /* nothing is proved: the cases are checked and visited */
    const nbcoll_placement *placement; /* null, or how the ranks of each case are put on nodes: sets its `nodes`, which
                                          is null again in the case that *c holds at the end */
} nbcoll_grid;

/* Verifies the algorithm in each case of the grid, which sets ranks, root, count and blocks of *c, and takes its rest
 * as it is; stops at the first that is not proved, and leaves it in *c. Errors: ERR_NULL, ERR_CONFIG (a size;
 * fewest < 1), and those of nbcoll_nodes_place and nbcoll_verify_algorithm. */
NBCOLL_API nbcoll_status nbcoll_verify_grid(const nbcoll_algorithm *algorithm, const nbcoll_grid *grid, nbcoll_case *c,
                                            nbcoll_refutation *out);

/* ---- programs ---------------------------------------------------------------------------------------------------- */

/* What a program does, as a schedule of its rank, for all readers of schedules: a step for each task, an edge for what
 * its queues, waits and enables order; eager buffers are scratch memory behind the program's. The caller frees it.
 * Errors: ERR_NULL, ERR_CONFIG (the host's size), ERR_ARGUMENT (the program never ends), ERR_MEMORY. */
NBCOLL_API nbcoll_status nbcoll_program_schedule(const nbcoll_program *program, const nbcoll_host *host,
                                                 nbcoll_schedule **out);

/* Proves (NBCOLL_OK) or refutes (NBCOLL_ERR_VERIFY) that the programs of ranks 0..meaning->ranks-1 do what the
 * schedules do that they were compiled from, whatever the times of their tasks:
 *
 *   - nothing of a step begins before all steps that it must follow have ended, as its schedule's edges say;
 *   - no two queues are one queue pair; each queue is enabled from one management queue, as often as it holds
 *     something; each completion queue is that of one end of one queue pair, and is consumed, whole, by one queue, so
 *     that a wait means the messages that it was written for;
 *   - no message comes before its receive is posted; each long one has its clear-to-send;
 *   - what the programs do together is proved by nbcoll_verify against `meaning`: every message has its receive, of its
 *     length; nothing waits for itself; no race; every byte of the result is right.
 *
 * Assumed: what verify.h assumes, queue pairs that keep the order, and receives that are posted again as often as
 * operations use them. `out` and `host` as there. Time and memory grow with the square of the tasks of a rank. Errors:
 * ERR_NULL, ERR_CONFIG (a size), ERR_RANK (schedules[r] or programs[r] is not of rank r of so many), ERR_ARGUMENT (a
 * task names what is not there), and those of nbcoll_verify. */
NBCOLL_API nbcoll_status nbcoll_verify_programs(const nbcoll_schedule *const schedules[],
                                                const nbcoll_program *const programs[], const nbcoll_meaning *meaning,
                                                const nbcoll_host *host, nbcoll_refutation *out);

/* ---- topologies -------------------------------------------------------------------------------------------------- */

/* Append-only: what may be wrong with topologies. */
#define NBCOLL_RELAY_FLAW_LIST(X)                                                                                      \
    X(NONE, "proved")                                                                                                  \
    X(END, "a connection ends at no relay, at its own rank, or at relay 0, which has no sources")                      \
    X(ONE_END, "a connection has one end only")                                                                        \
    X(DOUBLED, "two connections join the same relays")                                                                 \
    X(CREDITS, "the two ends of a connection, or what travels by it, differ in the number of blocks")                  \
    X(MISSED, "a block does not come to a rank")                                                                       \
    X(TWICE, "a block comes to a rank more than once, or back to its own")                                             \
    X(CIRCLE, "relays that are full wait for each other in a circle")                                                  \
    X(STORE, "more is in a store than there are credits for")                                                          \
    X(PROMISE, "a fragment of the promised operations does not come while a rank is late")                             \
    X(STUCK, "a fragment does not come though all ranks have started")
typedef enum nbcoll_relay_flaw {
#define NBCOLLI_RELAY_FLAW_ENUM(name, text) NBCOLL_RELAY_FLAW_##name,
    NBCOLL_RELAY_FLAW_LIST(NBCOLLI_RELAY_FLAW_ENUM)
#undef NBCOLLI_RELAY_FLAW_ENUM
        NBCOLL_RELAY_FLAW_COUNT
} nbcoll_relay_flaw;

/* "TWICE", and the text. Never null; any value is accepted. */
NBCOLL_API const char *nbcoll_relay_flaw_name(nbcoll_relay_flaw flaw);
NBCOLL_API const char *nbcoll_relay_flaw_text(nbcoll_relay_flaw flaw);

typedef struct nbcoll_relay_refutation {
    size_t size;
    nbcoll_relay_flaw flaw;
    int rank;       /* where it shows */
    uint32_t relay; /* of that rank, or 0 */
    int origin;     /* whose block, or -1 */
    char text[200]; /* one line */
} nbcoll_relay_refutation;

/* Proves (NBCOLL_OK) or refutes (NBCOLL_ERR_VERIFY) the topologies of ranks 0..ranks-1:
 *
 *   - each connection has its two ends, which agree on its credits, and no two join the same relays;
 *   - each block of each rank comes to each other rank exactly once, and as many by each connection as that says;
 *   - no relay waits for itself over others, however full they are: whoever is at an end of all connections can always
 *     go on, so that holding back is no deadlock.
 *
 * Whether ranks have started does not matter to relays, so this holds for any of them. `host`: for memory, may be null;
 * `out` may be null. Errors: ERR_NULL, ERR_CONFIG (a size), ERR_RANK (ranks < 1; topologies[r] is not that of rank r of
 * so many), ERR_MEMORY. */
NBCOLL_API nbcoll_status nbcoll_verify_topologies(const nbcoll_topology *const topologies[], int ranks,
                                                  const nbcoll_host *host, nbcoll_relay_refutation *out);

/* Operations that are played over topologies, whatever is wrong with these. */
typedef struct nbcoll_relay_play {
    size_t size;
    const nbcoll_host *host; /* for memory; may be null */
    uint32_t at_once;        /* F, at least 1 */
    uint32_t fragments;      /* f, at least 1, of each block of each operation */
    uint32_t operations;     /* in all, at least 1 */
    const uint32_t *started; /* [ranks]: how many of them each rank has started at first, no more than there are */
    uint64_t seed;           /* of the order in which fragments come; those of a connection keep theirs */
} nbcoll_relay_play;

/* Plays until nothing moves, with stores, credits and window as in relay.h, and checks that the promise is kept. Then
 * all ranks start all operations, and all blocks must come. It reports what goes wrong first (NBCOLL_ERR_VERIFY).
 * Memory grows with connections times fragments. Errors: ERR_NULL, ERR_CONFIG (a size; a number of the play), ERR_RANK
 * (as above), ERR_LIMIT (2^31 fragments at connections), ERR_MEMORY. */
NBCOLL_API nbcoll_status nbcoll_play_topologies(const nbcoll_topology *const topologies[], int ranks,
                                             const nbcoll_relay_play *play, nbcoll_relay_refutation *out);

NBCOLLI_END
#endif
