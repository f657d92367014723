/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Schedules: a collective, on one rank, as data. A schedule is an immutable graph of small steps; a builder makes it,
 * the engine, the verifier and the printers read it. Two ways to write one, which may be mixed:
 *
 *   graph         each call adds a step and returns it; nbcoll_after(b, step, earlier) makes it wait for `earlier`.
 *                 A step without `after` may run as soon as the operation starts.
 *   stage queue   steps between two calls of nbcoll_end_stage are pushed together (Ramos et al., section 3.3).
 *
 * An algorithm is a function from a builder and arguments to steps, for one rank:
 *
 *     static void chain(nbcoll_builder *b, const nbcoll_args *a)
 *     {
 *         nbcoll_step data = NBCOLL_START;
 *         if (b->rank > 0)
 *             data = nbcoll_add_recv(b, b->rank - 1, a->recv, a->bytes);
 *         if (b->rank + 1 < b->ranks)
 *             nbcoll_after(b, nbcoll_add_send(b, b->rank + 1, a->recv, a->bytes), data);
 *     }
 *
 * A builder is used by one thread. It keeps its first error, ignores what follows, and reports the error at finish: by
 * a status, and in words to `log` of its host, which need no memory:
 *
 *     bcast/mine: rank 3 of 8, step 7, nbcoll_add_send: peer 8 is outside 0..7
 *
 * Step 7 is the one that the call would have added, or was given. nbcoll_verify_algorithm leaves these words in `text`.
 * A schedule may be read by any thread; it is started by one context only.
 */
#include "nodes.h"

#ifndef NBCOLL_SCHEDULE_H
#define NBCOLL_SCHEDULE_H

NBCOLLI_BEGIN

/* ---- addresses --------------------------------------------------------------------------------------------------- */

/* Schedules are templates: an address names a buffer, bound when the schedule is started, and an offset in it. */
typedef enum nbcoll_buffer {
    NBCOLL_BUFFER_SEND,    /* the caller's, never written */
    NBCOLL_BUFFER_RECV,    /* the caller's */
    NBCOLL_BUFFER_SCRATCH, /* the run's own; undefined at the start, aligned to 64 bytes */
    NBCOLL_BUFFER_SEND_BLOCK, /* a block of the send buffer, */
    NBCOLL_BUFFER_RECV_BLOCK, /* of the receive buffer: bound to a place and a length when the schedule is started */
    NBCOLL_BUFFER_SEND_PACKED, /* that block of the send buffer, */
    NBCOLL_BUFFER_RECV_PACKED, /* of the receive buffer, as it travels: scratch memory of that length, aligned to 64 */
    NBCOLL_BUFFER_COUNT
} nbcoll_buffer;

/* In the last four the offset is the index of the block, below the number of ranks (0 if the buffer is one block), and
 * regions have 0 bytes: the run finds place and length of the block in the arrays of the call. Blocks may stand in
 * SEND, RECV (the run compares the bytes of both ends when the message comes), COPY (between two blocks of the same
 * length) and CALL only. Steps read SEND_BLOCK, write RECV_BLOCK, and do both with packed blocks. */
typedef struct nbcoll_addr {
    nbcoll_buffer buffer;
    size_t offset; /* bytes */
} nbcoll_addr;

typedef struct nbcoll_region {
    nbcoll_addr at;
    size_t bytes;
} nbcoll_region;

/* The address `bytes` further on. */
static inline nbcoll_addr nbcoll_at(nbcoll_addr a, size_t bytes)
{
    a.offset += bytes;
    return a;
}

static inline nbcoll_region nbcoll_span(nbcoll_addr at, size_t bytes)
{
    nbcoll_region r = {at, bytes};
    return r;
}

/* ---- building ---------------------------------------------------------------------------------------------------- */

typedef uint32_t nbcoll_step;
#define NBCOLL_START ((nbcoll_step)0) /* the join before everything */
#define NBCOLL_END ((nbcoll_step)1)   /* the join after everything; added edges are implied */

/* The visible head of a builder; read only. Inside nbcoll_within it is that of a group. */
typedef struct nbcoll_builder {
    int rank;
    int ranks;
    const nbcoll_nodes *nodes; /* never null */
} nbcoll_builder;

/* Does this rank share memory with `peer`? Both ends of a pair must answer alike. */
typedef int nbcoll_shares(void *user, int peer);

/* A communicator (`user`) as an nbcoll_shares: does it run exposures between this rank and `peer` in place? Constant.
 * Any thread. */
NBCOLL_API int nbcoll_comm_shares(void *user, int peer);

typedef struct nbcoll_builder_config {
    size_t size;
    const nbcoll_host *host; /* for memory and errors in words; may be null; copied; what `user` means must outlive
                                the schedule */
    int rank, ranks;
    nbcoll_shares *shares; /* null: with nobody, so that every EXPOSE and FETCH is lowered to SEND and RECV */
    void *shares_user;
    uint32_t cells; /* nbcoll_build_schedule: algorithms that make more exposures are lowered; 0: no limit */
    uint32_t flags; /* nbcoll_build_schedule: with NBCOLL_CHECKED the ranks agree before data moves */
    const nbcoll_nodes *nodes; /* null: one node has all ranks. The same on all ranks; read until the builder is
                                  finished */
} nbcoll_builder_config;

/* Opens a builder. Errors: ERR_NULL, ERR_CONFIG (size), ERR_RANK (also: a table of nodes of another number of ranks),
 * ERR_MEMORY. */
NBCOLL_API nbcoll_status nbcoll_builder_open(const nbcoll_builder_config *config, nbcoll_builder **out);

/* Closes the builder in any case, and gives the schedule (which the caller frees with nbcoll_schedule_free), or the
 * first error: ERR_RANK (a peer outside 0..ranks-1, or this rank itself), ERR_ARGUMENT (no such step; a write to the
 * send buffer; operands of a REDUCE that overlap its result without being it; a bound block where none may stand, or
 * with bytes), ERR_NULL (a call got a null pointer),
 * ERR_TYPE, ERR_OP, ERR_COUNT (an address overflows), ERR_LIMIT (more than 2^31 steps, edges, parts, regions,
 * groups, or messages of groups), ERR_CYCLE, ERR_MEMORY. A null `out` only closes it. */
NBCOLL_API nbcoll_status nbcoll_builder_finish(nbcoll_builder *b, nbcoll_schedule **out);

/* Two-sided transfer. The n-th send to a peer matches the peer's n-th receive from this rank, in the order of creation,
 * unless nbcoll_set_number says otherwise. Zero bytes are sent. The end of a SEND means only that the bytes may be
 * reused.
 */
NBCOLL_API nbcoll_step nbcoll_add_send(nbcoll_builder *b, int peer, nbcoll_addr from, size_t bytes);
NBCOLL_API nbcoll_step nbcoll_add_recv(nbcoll_builder *b, int peer, nbcoll_addr to, size_t bytes);

/* Gives a SEND or RECV its number in its (peer, direction), instead of the next free one. All of them must differ. */
NBCOLL_API void nbcoll_set_number(nbcoll_builder *b, nbcoll_step step, uint32_t number);

/* Publishes regions: each parts[i] for one reader, which fetches it. The n-th part for a reader matches its n-th FETCH
 * or FETCH_REDUCE from this rank. The step ends when all readers have their parts; a reader has a part when it has
 * fetched that and all parts of this rank with lower numbers. `parts` is copied. Parts of one size for all readers, up
 * to 80 bytes, lie in the cell itself: readers do not get them from this rank's memory. For a reader that shares no
 * memory the part becomes a SEND and its FETCH a RECV, numbered apart from other messages (from 2^31 on, which
 * nbcoll_set_number must not use): `nbcoll_after` on the returned step covers them. */
typedef struct nbcoll_part {
    int peer;        /* the reader; in a CALL: -1 */
    uint32_t number; /* set by the builder; in a CALL: 1 for a written region, 0 for a read one */
    nbcoll_region region;
} nbcoll_part;
NBCOLL_API nbcoll_step nbcoll_add_expose(nbcoll_builder *b, size_t n, const nbcoll_part parts[]);
/* The same bytes for every other rank, the next one first. */
NBCOLL_API nbcoll_step nbcoll_add_expose_to_all(nbcoll_builder *b, nbcoll_addr at, size_t bytes);
/* Zeroed memory for `n` parts, or for `n` things of so many bytes. The builder owns it and frees it when it is
 * finished. Null if the builder has failed. */
NBCOLL_API nbcoll_part *nbcoll_builder_parts(nbcoll_builder *b, size_t n);
NBCOLL_API void *nbcoll_builder_memory(nbcoll_builder *b, size_t n, size_t bytes);
NBCOLL_API nbcoll_step nbcoll_add_fetch(nbcoll_builder *b, int peer, nbcoll_addr to, size_t bytes);

/* An exposure that grows: regions of equal length, which readers may fetch piece after piece. A piece has `piece`
 * bytes; the last may be shorter, and a region of no bytes is one piece. A reader's FETCHes match the pieces in order,
 * as if each were an exposure, but all pieces share one cell. Returns the step that ends when the readers have all of
 * it. ERR_ARGUMENT: parts of different length, two for one reader, or piece 0. */
NBCOLL_API nbcoll_step nbcoll_add_expose_growing(nbcoll_builder *b, size_t n, const nbcoll_part parts[], size_t piece);

/* The step that makes piece i of a growing exposure readable; it follows that of piece i - 1. To be held back with
 * nbcoll_after. ERR_ARGUMENT: no growing exposure, no such piece. */
NBCOLL_API nbcoll_step nbcoll_add_grow(nbcoll_builder *b, nbcoll_step exposure, size_t i);

typedef struct nbcoll_reduction {
    nbcoll_type type;
    nbcoll_op op;
} nbcoll_reduction;

/* result = left op right, elementwise over `count` elements. `result` may be `left` or `right` itself. */
NBCOLL_API nbcoll_step nbcoll_add_combine(nbcoll_builder *b, nbcoll_addr result, nbcoll_addr left, nbcoll_addr right,
                                      size_t count, nbcoll_reduction how);

/* acc = fetched op acc (NBCOLL_LEFT: the peer's bytes are the left operand), or acc = acc op fetched (NBCOLL_RIGHT). */
typedef enum nbcoll_side { NBCOLL_LEFT, NBCOLL_RIGHT } nbcoll_side;
NBCOLL_API nbcoll_step nbcoll_add_fetch_reduce(nbcoll_builder *b, int peer, nbcoll_addr acc, nbcoll_side side,
                                               size_t count, nbcoll_reduction how);

/* Copies bytes; regions do not overlap. */
NBCOLL_API nbcoll_step nbcoll_add_copy(nbcoll_builder *b, nbcoll_addr to, nbcoll_addr from, size_t bytes);

/* A host function over named regions: memory[i] has place and bytes of the i-th region in this run; first regions that
 * are read, then those that are written. Returns NBCOLL_OK, or an error, which ends the operation everywhere with
 * ERR_CALL. It must not call the library. The regions are copied. */
typedef struct nbcoll_memory {
    void *at;
    size_t bytes;
    nbcoll_type type; /* of the elements of a block that is bound, packed or not; else NBCOLL_BYTE */
} nbcoll_memory;
typedef nbcoll_status nbcoll_host_call(void *user, const nbcoll_memory memory[]);
NBCOLL_API nbcoll_step nbcoll_add_call(nbcoll_builder *b, nbcoll_host_call *function, void *user, size_t reads,
                                   const nbcoll_region read[], size_t writes, const nbcoll_region written[]);

/* An empty step, to gather edges. */
NBCOLL_API nbcoll_step nbcoll_add_join(nbcoll_builder *b);

/* `step` waits for the end of `earlier`. Edges to NBCOLL_START are accepted and say nothing. Repeats are harmless. */
NBCOLL_API void nbcoll_after(nbcoll_builder *b, nbcoll_step step, nbcoll_step earlier);

/* Ends the stage: the steps added since the last call of nbcoll_end_stage (or since the beginning). A dependent stage
 * holds back every step added later until it completes; a non-dependent one must only complete before the operation
 * does. */
typedef enum nbcoll_stage_kind { NBCOLL_NON_DEPENDENT, NBCOLL_DEPENDENT } nbcoll_stage_kind;
NBCOLL_API void nbcoll_end_stage(nbcoll_builder *b, nbcoll_stage_kind kind);

/* Fresh scratch memory of this run, aligned to 64 bytes. */
NBCOLL_API nbcoll_addr nbcoll_add_scratch(nbcoll_builder *b, size_t bytes);

/* The lane says who may execute a step; ANY is the default. Steps of the lanes CALLER and PROGRESS wait for a call of
 * the application, or for a driver. While no driver runs, a call of the application serves all lanes. Lanes change
 * neither order nor result of an operation: the verifier ignores them. */
typedef enum nbcoll_lane {
    NBCOLL_LANE_ANY,      /* wherever the operation is advanced first */
    NBCOLL_LANE_CALLER,   /* in a call of the application's */
    NBCOLL_LANE_PROGRESS, /* in a progress driver */
    NBCOLL_LANE_QUEUE,    /* a management queue: a hint for offload, elsewhere as ANY */
    NBCOLL_LANE_RAIL,     /* a rail of its own: a hint for transports, elsewhere as ANY */
    NBCOLL_LANE_START     /* in the start of the operation, as far as it goes there without waiting; after it as ANY */
} nbcoll_lane;
NBCOLL_API void nbcoll_set_lane(nbcoll_builder *b, nbcoll_step step, nbcoll_lane lane);

/* Cuts a binomial tree between caller and driver: the last `split` levels, at the leaves, are on the lane `own`, the
 * levels above on PROGRESS. `own` is CALLER if data goes down the tree, START if it goes up. `step` belongs to the edge
 * between two ranks that are `apart` = 2^k ranks apart, relative to the tree's root: it gets the lane `own` if k <
 * split. With `split` 0 the tree is whole, and the lane stays. Source: Denis, Jaeger, Jeannot, Perache, Taboada,
 * "Dynamic placement of progress thread for overlapping MPI non-blocking collectives on manycore processor" (2018),
 * section 3. */
NBCOLL_API void nbcoll_set_split_lane(nbcoll_builder *b, nbcoll_step step, unsigned split, int apart, nbcoll_lane own);

/* A name for printers (copied, at most 63 bytes), and a number that all ranks of the operation must share: ranks whose
 * fingerprints differ get ERR_MISMATCH. Defaults: "schedule", 0. */
NBCOLL_API void nbcoll_set_name(nbcoll_builder *b, const char *name);
NBCOLL_API void nbcoll_set_fingerprint(nbcoll_builder *b, uint32_t fingerprint);

/* Says that its operations are pre-posted, perhaps for as long as the communicator exists. If such an
 * operation does not move, this rank does not ask others where they are in it, as it does for other operations
 * (ERR_MISMATCH, failures after a timeout). */
NBCOLL_API void nbcoll_set_preposted(nbcoll_builder *b);

/* Keeps an error of the algorithm's own, if none is kept yet. */
NBCOLL_API void nbcoll_builder_fail(nbcoll_builder *b, nbcoll_status status);

/* ---- reading ----------------------------------------------------------------------------------------------------- */

#define NBCOLL_KIND_LIST(X) X(JOIN) X(SEND) X(RECV) X(EXPOSE) X(FETCH) X(FETCH_REDUCE) X(COPY) X(REDUCE) X(CALL)
typedef enum nbcoll_kind {
#define NBCOLLI_KIND_ENUM(name) NBCOLL_##name,
    NBCOLL_KIND_LIST(NBCOLLI_KIND_ENUM)
#undef NBCOLLI_KIND_ENUM
        NBCOLL_KIND_COUNT
} nbcoll_kind;

/* One step as built. Append-only: read it through the pointer that nbcoll_schedule_step returns, never by array. */
typedef struct nbcoll_step_view {
    nbcoll_kind kind;
    nbcoll_lane lane;
    int peer;                   /* SEND, RECV, FETCH, FETCH_REDUCE; else -1 */
    uint32_t number;            /* of the message in its (peer, direction); of the part fetched */
    nbcoll_region write;        /* RECV, FETCH, COPY, REDUCE, FETCH_REDUCE: what it writes; else 0 bytes */
    nbcoll_region read[2];      /* SEND, COPY: [0]; REDUCE: left, right; FETCH_REDUCE: [side ^ 1] is the accumulator */
    nbcoll_side side;           /* FETCH_REDUCE: where the fetched operand stands */
    nbcoll_reduction reduction; /* REDUCE, FETCH_REDUCE */
    const nbcoll_part *parts;   /* EXPOSE, CALL: part_count of them (CALL: those read, then those written) */
    uint32_t part_count;
    nbcoll_host_call *call;     /* CALL */
    void *call_user;
    uint32_t before;            /* how many steps it waits for, START not counted */
    uint32_t after_count;       /* how many wait for it, END not counted: after[0..after_count-1], rising */
    const nbcoll_step *after;
    nbcoll_step grows;          /* EXPOSE: the one of the first piece, if it is a piece of a growing exposure */
    size_t piece, whole;        /* of that exposure: bytes of a piece, of all pieces */
} nbcoll_step_view;

typedef struct nbcoll_schedule_info {
    size_t size;
    const char *name; /* the schedule's */
    int rank, ranks;
    uint32_t steps;       /* START and END included; they are steps 0 and 1 */
    uint32_t edges;       /* those of START and END not counted */
    uint32_t fingerprint;
    size_t extent[NBCOLL_BUFFER_COUNT]; /* bytes of each buffer that steps touch, from its beginning; bound blocks: how
                                           many, up to the last one that is used */
} nbcoll_schedule_info;

/* Errors: ERR_NULL, ERR_CONFIG (size). The views live as long as the schedule. Out of range: null. */
NBCOLL_API nbcoll_status nbcoll_schedule_query(const nbcoll_schedule *s, nbcoll_schedule_info *out);
NBCOLL_API const nbcoll_step_view *nbcoll_schedule_step(const nbcoll_schedule *s, nbcoll_step step);

/* "SEND", ...; "?" for an unknown one. Any thread. */
NBCOLL_API const char *nbcoll_kind_name(nbcoll_kind kind);

/* Starts a schedule built for this communicator's rank and size, on these buffers (`send` is never written; each may be
 * null if the schedule does not touch it). It is an operation like any other: it takes the next tag, and all ranks
 * start theirs. The persistent form makes an inactive request. The schedule must stay until the request is released.
 * Errors: ERR_NULL, ERR_BUFFER, ERR_RANK (built for another rank or size), ERR_FOREIGN (started on another context
 * before), ERR_UNSUPPORTED (it has bound blocks: only collectives bind them; or an exposure or fetch, where the
 * communicator does not share memory with all its peers), ERR_LIMIT (more exposures than the communicator's cells, more
 * parts in them than twice its ranks, or, of more than 32, than its ranks, more than 65534 parts from one rank to one
 * other; or the context has 2^30 requests), and those of nbcoll_start. */
NBCOLL_API nbcoll_status nbcoll_schedule_start(nbcoll_schedule *s, const void *send, void *recv, nbcoll_comm *comm,
                                               nbcoll_request *request);
NBCOLL_API nbcoll_status nbcoll_schedule_init(nbcoll_schedule *s, const void *send, void *recv, nbcoll_comm *comm,
                                              nbcoll_request *request);

/* Null is accepted. Errors: ERR_BUSY (a request still uses it; a non-persistent one until its end has been reported,
 * its `done` included), ERR_FORKED. */
NBCOLL_API nbcoll_status nbcoll_schedule_free(nbcoll_schedule *s);

/* ---- algorithms -------------------------------------------------------------------------------------------------- */

/* Append-only. */
#define NBCOLL_OPERATION_LIST(X)                                                                                       \
    X(BARRIER) X(BCAST) X(SCATTER) X(GATHER) X(ALLGATHER) X(REDUCE) X(ALLREDUCE) X(SCATTERV) X(GATHERV) X(ALLGATHERV)  \
    X(ALLTOALL) X(ALLTOALLV) X(ALLTOALLW) X(REDUCE_SCATTER) X(REDUCE_SCATTER_BLOCK) X(SCAN) X(EXSCAN)
typedef enum nbcoll_operation {
#define NBCOLLI_OPERATION_ENUM(name) NBCOLL_OPERATION_##name,
    NBCOLL_OPERATION_LIST(NBCOLLI_OPERATION_ENUM)
#undef NBCOLLI_OPERATION_ENUM
        NBCOLL_OPERATION_COUNT
} nbcoll_operation;

/* "bcast"; "?" for an unknown one. Any thread. */
NBCOLL_API const char *nbcoll_operation_name(nbcoll_operation operation);

/* What a builder may read. For operations in place `send` already points into the receive buffer.
 *
 * Blocks of one size need only `bytes`. Blocks of different sizes are, in a builder's eyes, one of two things:
 *
 *   known   `counts` is there, and builders may read it. Always so in allgatherv and reduce_scatter; in gatherv and
 *           scatterv where the communicator has NBCOLL_COUNTS_KNOWN. Then it is the same on all ranks, `displs` is not.
 *           So too in alltoallv and alltoallw in place, but of types that pack: these are the counts of this rank
 *           only
 *   bound   `counts` is null; the schedule serves any counts, which are looked up when it runs (through
 *           NBCOLL_BUFFER_SEND_BLOCK and NBCOLL_BUFFER_RECV_BLOCK; their packed forms, for types that pack). So a block
 *           can only go directly to its place: nothing is known of its length
 *
 * nbcoll_send_block and nbcoll_recv_block give the right region in all cases, equal blocks too. */
typedef struct nbcoll_args {
    size_t size;
    nbcoll_operation operation;
    int root;                   /* bcast, scatter(v), gather(v), reduce; else 0 */
    size_t count;               /* elements: of a block (scatter, gather, allgather, alltoall, reduce_scatter_block), or
                                   of the vector; with `counts`: their sum; bound: 0 */
    size_t bytes;               /* the same in bytes */
    nbcoll_reduction reduction; /* where operands are combined; elsewhere only the type counts. A communicator, whose
                                   schedules serve other calls, too, has descriptors of its own in the places of the
                                   host's: of the same sizes, and commuting alike. Builders pass them on to steps that
                                   combine, or as `user` to nbcoll_add_call, whose function then gets the descriptor
                                   that the call named. Their own functions return ERR_CALL */
    nbcoll_addr send;           /* bcast: unused. scatter(v): valid at the root. Bound: use nbcoll_send_block */
    nbcoll_addr recv;           /* bcast: the buffer of every rank. gather(v), reduce: valid at the root. exscan: not
                                   valid at rank 0. Bound: use nbcoll_recv_block */
    int in_place;               /* send is this rank's place in recv, or, where operands are combined and in alltoall*,
                                   its beginning (scatter(v): recv is its place in send; bound: its own block stays) */
    size_t segment;             /* parameters of algorithms; 0 takes the algorithm's default */
    unsigned arity, ports;
    const size_t *counts;       /* [ranks], elements; null: equal or bound blocks */
    const size_t *displs;       /* [ranks], where block i begins: elements, alltoallw: bytes. null: each behind the one
                                   before, and where this rank has no such vector */
    const nbcoll_type *types;   /* [ranks]: alltoallw in place; else null. Not read where the count is 0; to be read
                                   for sizes, and only while building */
    size_t element;             /* bytes of one element, as it travels; 0: it has none */
    int packs;                  /* elements are packed to travel: completing sets it from the type. alltoallw: the
                                   caller says it, if one of this rank's blocks is of such a type */
    unsigned split;             /* one more parameter of algorithms: levels of a tree, see nbcoll_set_split_lane */
    unsigned leaders;           /* one more: of a node, or groups, see nbcoll_nodes_parts */
} nbcoll_args;

/* Fills in `bytes`, `element` and `packs` from counts and type, and `send` and `recv` for the plain form, or for the
 * in-place form of `rank`; drops arrays that this rank does not use. The arrays stay the caller's. Errors: ERR_NULL (no
 * counts where they are always known), ERR_CONFIG (size), ERR_RANK, ERR_ARGUMENT (no such operation), ERR_ROOT (also:
 * not 0 for an operation that has none), ERR_TYPE (also: a type in `types` that packs, though `packs` is 0), ERR_OP,
 * ERR_COUNT (bytes of all ranks, or the end of a block, overflow). */
NBCOLL_API nbcoll_status nbcoll_args_complete(nbcoll_args *a, int rank, int ranks);

/* Of complete arguments: the region that goes from this rank to `peer`, and the region that takes what is there because
 * of `peer` (allgather(v), gather(v): its block), for the operations with blocks: scatter(v), gather(v), allgather(v),
 * alltoall*, reduce_scatter*; in the last two the second region is where the result belongs, whoever the peer. `peer`
 * may be the rank itself. Time: constant, but for counts without `displs`, where it grows with `peer`. */
NBCOLL_API nbcoll_region nbcoll_send_block(const nbcoll_builder *b, const nbcoll_args *a, int peer);
NBCOLL_API nbcoll_region nbcoll_recv_block(const nbcoll_builder *b, const nbcoll_args *a, int peer);

typedef void nbcoll_build(nbcoll_builder *b, const nbcoll_args *a);

/* ---- groups ------------------------------------------------------------------------------------------------------ */

/* Builds an algorithm among `n` of the ranks, as a part of this schedule. `build` sees a builder of n ranks, of which
 * number i is rank group[i] (null: rank i), with the nodes of these. Its arguments are `a`: their root is a number in
 * the group, their addresses are those of this schedule. So a hierarchical broadcast is two broadcasts:
 *
 *     static void bcast_by_nodes(nbcoll_builder *b, const nbcoll_args *a)
 *     {
 *         int mine = nbcoll_node_of(b->nodes, b->rank), leader = nbcoll_node_leader(b->nodes, mine, a->root);
 *         nbcoll_build *tree = nbcoll_algorithm_find(NBCOLL_OPERATION_BCAST, "binomial")->build;
 *         nbcoll_build *slots = nbcoll_algorithm_find(NBCOLL_OPERATION_BCAST, "slots")->build;
 *         nbcoll_args between = *a, inside = *a;
 *         between.root = nbcoll_node_of(b->nodes, a->root);
 *         inside.root = nbcoll_node_place(b->nodes, leader);
 *         nbcoll_step have = nbcoll_between_nodes(b, b->nodes, a->root, &between, tree, NBCOLL_START);
 *         nbcoll_within_node(b, b->nodes, &inside, slots, have);
 *     }
 *
 * What `build` adds waits for `after`, except receives into scratch memory that it took itself. Returns the step that
 * ends all of it on this rank; `after` if it added nothing, as on ranks that are not in the group. These may call this
 * or not. Ranks that share several groups call it for these in the same order.
 *
 * Messages of a group match messages of the same group only, in the order of `build`; their numbers follow all others
 * between the two ranks. Stages inside a group do not affect steps outside; those outside count the group as one step.
 * Groups may contain groups. `group` is copied. ERR_NULL (`a`, `build`), ERR_RANK (n outside 0..ranks; a rank that does
 * not exist, or twice), ERR_ARGUMENT (no such step `after`; bound blocks inside). */
NBCOLL_API nbcoll_step nbcoll_within(nbcoll_builder *b, const int group[], int n, const nbcoll_args *a,
                                     nbcoll_build *build, nbcoll_step after);

/* The leaders of all nodes of a table, as nbcoll_node_leader says: t->count ranks, by node. The builder's memory, gone
 * when it is finished. Null when it has failed. */
NBCOLL_API const int *nbcoll_node_leaders(nbcoll_builder *b, const nbcoll_nodes *t, int root);

/* nbcoll_within among the ranks of this rank's node, and among the leaders of all nodes; of `t`, which is b->nodes, or
 * parts of them. Numbers in these groups, as roots are: nbcoll_node_place, and nbcoll_node_of. */
static inline nbcoll_step nbcoll_within_node(nbcoll_builder *b, const nbcoll_nodes *t, const nbcoll_args *a,
                                             nbcoll_build *build, nbcoll_step after)
{
    int node = nbcoll_node_of(t, b->rank);
    return nbcoll_within(b, nbcoll_node_ranks(t, node), nbcoll_node_size(t, node), a, build, after);
}

static inline nbcoll_step nbcoll_between_nodes(nbcoll_builder *b, const nbcoll_nodes *t, int root, const nbcoll_args *a,
                                               nbcoll_build *build, nbcoll_step after)
{
    return nbcoll_within(b, nbcoll_node_leaders(b, t, root), t->count, a, build, after);
}

/* The builder's nodes, cut: each into at most `parts` (0: one) of ranks that follow each other on it, as equal as can
 * be, so that a node has more than one leader; and, `in_order`, wherever the next rank on a node is not the next rank,
 * so that the table's `are_blocks` is true. The builder's memory; b->nodes, where nothing is cut or it has failed. */
NBCOLL_API const nbcoll_nodes *nbcoll_nodes_parts(nbcoll_builder *b, unsigned parts, int in_order);

/* Arguments for a part of an operation: as those of the whole, but for another operation, root, and elements of a
 * block or vector, with blocks of one length, not in place. What `send` and `recv` are is left to be set. */
static inline nbcoll_args nbcoll_args_part(const nbcoll_args *whole, nbcoll_operation operation, int root, size_t count)
{
    nbcoll_args a = *whole;
    a.operation = operation;
    a.root = root;
    a.count = count;
    a.bytes = count * a.element;
    a.in_place = 0;
    a.counts = a.displs = NULL;
    a.types = NULL;
    return a;
}

/* ---- algorithms, by name ----------------------------------------------------------------------------------------- */

/* Algorithm flags. */
#define NBCOLL_ALGORITHM_REORDERS 1u     /* combines operands in another order than rank order: commutative ops only */
#define NBCOLL_ALGORITHM_REPRODUCIBLE 2u /* combines along the tree of NBCOLL_REPRODUCIBLE */
#define NBCOLL_ALGORITHM_COUNTS 4u       /* reads args.counts: only where the counts of all ranks are known */
#define NBCOLL_ALGORITHM_SEGMENT 8u      /* reads args.segment, */
#define NBCOLL_ALGORITHM_ARITY 16u       /* args.arity, */
#define NBCOLL_ALGORITHM_PORTS 32u       /* args.ports, */
#define NBCOLL_ALGORITHM_SPLIT 64u       /* args.split, */
#define NBCOLL_ALGORITHM_LEADERS 128u    /* args.leaders: of the library's algorithms, no others do */
#define NBCOLL_ALGORITHM_NODES 256u      /* goes by the builder's nodes: chosen by rules, or for its cost where there
                                            are several */
#define NBCOLL_ALGORITHM_DIFFERS 512u    /* of an allreduce: ranks combine in different orders, so that the bits of
                                            rounded results may differ between them */
#define NBCOLL_ALGORITHM_DOMAINS 1024u   /* goes by the domains in the nodes, too (nodes.h) */
#define NBCOLL_ALGORITHM_ARRIVAL_TOLERANT 2048u /* of an allgather or a broadcast: a rank receives at any time, and
                                                   forwards what one receive has brought, whole, without waiting for
                                                   anything else. So a late rank delays only its own block, if something
                                                   forwards in its place: relays (relay.h), or pre-posted operations of
                                                   the simulator (simulate.h) */
#define NBCOLL_ALGORITHM_TOGETHER 4096u /* exposes memory, and no rank waits for a part with several readers before it
                                           reads another such part. So parts of any length may go through the staging
                                           buffer (transport.h), where the slowest reader delays the others */
#define NBCOLL_ALGORITHM_EXPOSES(n) ((uint32_t)(n) << 16) /* a rank makes at most n exposures; growing ones count once.
                                                             In a communicator with fewer cells exposures become
                                                             messages. So they do with n of two or more and more than 32
                                                             ranks, unless the algorithm goes by nodes or domains: a
                                                             rank's exposures have up to two parts for each of up to 32
                                                             ranks, with more ranks one part for each */

/* The time of an algorithm for a call, in nanoseconds; 0: not known. It gets complete terms (select.h) and arguments,
 * with parameters, where 0 stands for the algorithm's defaults. For equal terms and arguments, apart from buffers,
 * counts and displacements, it returns the same on all ranks. Called on any thread. */
struct nbcoll_terms;
typedef uint64_t nbcoll_cost(const struct nbcoll_terms *terms, const nbcoll_args *a);

typedef struct nbcoll_algorithm {
    size_t size;
    const char *name; /* unique within its operation, as in "binomial" */
    nbcoll_operation operation;
    nbcoll_build *build;
    uint32_t flags;
    nbcoll_cost *cost; /* null: the library's formula, where it has one of that name. Not called by the library's own
                          choice, which is among its own algorithms: a rule names others */
} nbcoll_algorithm;

/* Algorithms that a shared object brings to the command: `nbcoll --algorithms ./own.so verify` asks it for the name
 * nbcoll_algorithms. Its functions of this library may be left undefined when it is linked: the command has them.
 *
 *     NBCOLL_ALGORITHMS(&first, &second);
 */
typedef struct nbcoll_algorithm_list {
    size_t size;
    uint32_t abi;   /* NBCOLL_ABI */
    uint32_t count;
    const nbcoll_algorithm *const *algorithm;
} nbcoll_algorithm_list;

#define NBCOLL_ALGORITHMS(...)                                                                                         \
    static const nbcoll_algorithm *const nbcolli_listed[] = {__VA_ARGS__};                                             \
    extern __attribute__((visibility("default"))) const nbcoll_algorithm_list nbcoll_algorithms;                       \
    const nbcoll_algorithm_list nbcoll_algorithms = {sizeof(nbcoll_algorithm_list), NBCOLL_ABI,                        \
                                                     sizeof nbcolli_listed / sizeof *nbcolli_listed, nbcolli_listed}

/* The i-th algorithm of an operation, the one for small data first and the one for large data second; null beyond the
 * last. The one of that name; null when there is none. Any thread. */
NBCOLL_API const nbcoll_algorithm *nbcoll_algorithm_at(nbcoll_operation operation, unsigned i);
NBCOLL_API const nbcoll_algorithm *nbcoll_algorithm_find(nbcoll_operation operation, const char *name);

/* Opens a builder, runs the algorithm, names and fingerprints the schedule, and finishes it. `a` is completed first.
 * A type that packs is packed into scratch memory before, and unpacked from it after the algorithm, which sees packed
 * elements (bound blocks: their packed forms). Of the algorithms of such a type, only those of gatherv and scatterv
 * with bound blocks are in place: the root's own block stays where it is. Errors: ERR_NULL, ERR_CONFIG (a size),
 * ERR_ARGUMENT (the algorithm is another operation's), ERR_OP (it reorders, and the operation does not commute),
 * ERR_UNSUPPORTED (it reads counts, which are bound), and those of nbcoll_args_complete, nbcoll_builder_open and
 * nbcoll_builder_finish. */
NBCOLL_API nbcoll_status nbcoll_build_schedule(const nbcoll_algorithm *algorithm, const nbcoll_args *a,
                                               const nbcoll_builder_config *config, nbcoll_schedule **out);

/* ---- observing --------------------------------------------------------------------------------------------------- */

typedef enum nbcoll_moment {
    NBCOLL_STEP_READY,
    NBCOLL_STEP_STARTED,
    NBCOLL_STEP_ENDED,
    NBCOLL_RUN_WAITS /* of watchers alone */
} nbcoll_moment;

typedef struct nbcoll_event {
    nbcoll_moment moment;
    const nbcoll_comm *comm;
    uint64_t tag;
    const nbcoll_schedule *schedule;
    nbcoll_step step; /* RUN_WAITS: NBCOLL_START */
    int peer;         /* RUN_WAITS: the rank of `comm` that is waited for, or -1: the run is over; else 0 */
} nbcoll_event;

/* As the observer of a context it hears of each step of each run, in order, from inside calls on the context; START and
 * END included. As its watcher it hears only RUN_WAITS: a run has not moved for 40 to 80 ms, and waits for this rank
 * (one that has not started the operation, if such a rank is known); it hears again when the run waits for another
 * rank, and when the run is over. It must not call the library. Neither is called in a signal handler: a context with
 * an observer has no ticks (driver.h), and a context with ticks tells its watcher in the next test, wait or progress.
 * */
struct nbcoll_observer {
    size_t size;
    void *user;
    void (*event)(void *user, const nbcoll_event *event);
};

NBCOLLI_END
#endif
