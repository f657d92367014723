/* SPDX-License-Identifier: BSD-3-Clause
 * What the files of the door share. README.md says what it is. Each file uses those before it:
 * report.c, types.c, view.c, sides.c, progress.c, comms.c, open.c, calls.c, reductions.c. */
#include <mpi.h>
#include <nbcoll/nbcoll.h>
#include <stdbool.h>

/* ---- report.c ---- */

/* The calls of MPI that the door takes, without MPI_. */
#define DOOR_CALLS(X)                                                                                                  \
    X(Barrier) X(Bcast) X(Reduce) X(Allreduce) X(Reduce_scatter) X(Reduce_scatter_block) X(Scan) X(Exscan) X(Gather)   \
    X(Gatherv) X(Scatter) X(Scatterv) X(Allgather) X(Allgatherv) X(Alltoall) X(Alltoallv) X(Alltoallw)

typedef enum door_call {
#define DOOR_CALL(name) DOOR_##name,
    DOOR_CALLS(DOOR_CALL)
#undef DOOR_CALL
        DOOR_CALL_COUNT
} door_call;

/* What became of a call. All but SERVED pass it to the MPI, which is decided by what all members of the communicator
 * know alike. Calls that the MPI refuses are not counted. */
#define DOOR_FATES(X)                                                                                                  \
    X(SERVED, "served")                                                                                                \
    X(CLOSED, "passed: the door is not open")                                                                          \
    X(ALONE, "passed: one rank")                                                                                       \
    X(INTER, "passed: intercommunicator")                                                                              \
    X(STRANGERS, "passed: ranks of another MPI_COMM_WORLD")                                                            \
    X(UNMADE, "passed: no communicator could be made on some rank")                                                    \
    X(OPERATION, "passed: nbcoll lacks the operation for the type")

typedef enum door_fate {
#define DOOR_FATE(name, text) DOOR_FATE_##name,
    DOOR_FATES(DOOR_FATE)
#undef DOOR_FATE
        DOOR_FATE_COUNT
} door_fate;

void door_count(door_call call, door_fate fate);
/* Collective over MPI_COMM_WORLD, where each rank passes the same `asked`: rank 0 prints the sums over all ranks. */
void door_report(void);

/* ---- types.c ---- */

/* Bytes that one element packs to. *plain: elements lie one behind the other as they are packed. */
size_t door_type_bytes(MPI_Datatype type, bool *plain);

/* A reduction in nbcoll's terms. It does not move while a call uses it: `type` and `op` may point into it. */
typedef struct door_reduction {
    nbcoll_type type;
    nbcoll_op op;
    bool packs; /* the operands are packed elements; else they lie as the program has them */
    /* of an operation of the program's */
    MPI_Datatype element;
    MPI_Op user;
    size_t bytes; /* of an element in the operands */
    nbcoll_host_type host_type;
    nbcoll_host_op host_op;
} door_reduction;

/* Describes it; false: nbcoll has none. All ranks that pass the same type and operation get the same answer. */
bool door_reduction_of(door_reduction *r, MPI_Datatype type, MPI_Op op);

/* ---- view.c ---- */

/* Blocks of a buffer as the program describes them. */
typedef struct door_blocks {
    const void *user;
    int n;
    int count;         /* of each block; */
    const int *counts; /* or of these */
    const int *displs; /* with counts: in elements; with types: in bytes */
    MPI_Datatype type;
    const MPI_Datatype *types; /* null, or of each block */
} door_blocks;

/* The same as nbcoll gets them: bytes, in the program's own buffer, or packed into memory of the view. */
typedef struct door_view {
    door_blocks of;
    void *data;
    size_t bytes;            /* of a block, if all have as many */
    size_t *counts, *displs; /* else these, in bytes */
    void *packed;            /* null: in the program's buffer */
    size_t *arrays;
} door_view;

/* With `as_is` the bytes lie as they are, whatever the type. False: no memory. Close it in either case. */
bool door_view_open(door_view *view, const door_blocks *blocks, bool as_is);
void door_view_close(door_view *view);
/* Packs or unpacks block i, or all with i = -1; nothing in a view of the program's buffer. Returns an MPI error. */
int door_view_load(door_view *view, int i);
int door_view_store(door_view *view, int i);

/* ---- progress.c ---- */

/* nbcoll's waits move the MPI, and the MPI's waits move `context`: between start and stop. */
void door_pause(void *user, uint64_t looks); /* nbcoll_host.pause */
bool door_progress_prepare(int ranks);       /* the MPI's part: after MPI_Init, before the first wait */
void door_progress_start(nbcoll_context *context);
void door_progress_stop(void);
void door_progress_end(void); /* undoes prepare */

/* ---- comms.c ---- */

/* Gives MPI_COMM_WORLD its communicator. False: no memory, or no keyval. */
bool door_comms_open(nbcoll_comm *world);
/* From now on no communicator has one of nbcoll's. */
void door_comms_close(void);
/* The communicator of nbcoll that serves this one, made at its first call. Null: `call` passes, and is counted so;
 * MPI_COMM_NULL is not. */
nbcoll_comm *door_comm(MPI_Comm comm, door_call call);

/* ---- sides.c ---- */

/* Whether the MPI refuses these. */
bool door_bad(int count, MPI_Datatype type);
bool door_any_bad(int n, const int counts[], MPI_Datatype type);

/* What this rank sends in a call, and what it receives. A side that it has not is empty. */
typedef struct door_sides {
    door_view send, recv;
    int error; /* the MPI's */
    nbcoll_status status;
} door_sides;

/* Opens both; a null side is not used. Packs what is sent; in place, `own` block of what is received (-1: all). */
void door_sides_open(door_sides *s, const door_blocks *send, const door_blocks *recv, int own, bool as_is);
bool door_sides_ready(const door_sides *s);
/* Unpacks what was received, closes both, and ends the call. */
int door_sides_end(door_sides *s, MPI_Comm comm, door_call call);
/* How a served call ends: with an error of the MPI's, or else of nbcoll's. */
int door_end(MPI_Comm comm, door_call call, int error, nbcoll_status status);

#define BLOCKS(buffer, blocks, elements, of)                                                                           \
    (&(door_blocks){.user = buffer, .n = blocks, .count = elements, .type = of})
#define VECTOR(buffer, blocks, numbers, places, of)                                                                    \
    (&(door_blocks){.user = buffer, .n = blocks, .counts = numbers, .displs = places, .type = of})
#define WAITED ours, NBCOLL_FOREVER
