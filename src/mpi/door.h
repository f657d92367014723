/* SPDX-License-Identifier: BSD-3-Clause
 * What the files of the door share. README.md says what it is. Each file uses those before it:
 * report.c, types.c, keep.c, view.c, hook.c, fortran.c, progress.c, nodes.c, comms.c, makers.c, operation.h,
 * operation.c, requests.c, persistent.c, calls.c, reductions.c, neighbors.c, choice.c, open.c. */
#include <mpi.h>
#include <nbcoll/neighbor.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

/* The persistent collectives of this MPI: name, PMPI name, or none. */
#if MPI_VERSION >= 4
#define DOOR_INIT(name) MPI_##name##_init
#define DOOR_PINIT(name) PMPI_##name##_init
#elif defined OMPI_HAVE_MPI_EXT_PCOLLREQ
#define DOOR_INIT(name) MPIX_##name##_init
#define DOOR_PINIT(name) PMPIX_##name##_init
#endif

#define P(...) __VA_ARGS__ /* several arguments of a macro as one */

/* A thread's own, read without a call: the door is loaded with the program. */
#define DOOR_THREAD _Thread_local __attribute__((tls_model("initial-exec")))

/* ---- report.c ---- */

/* The collectives that the door takes, without MPI_ or MPI_I, and as the nonblocking ones have them. */
#define DOOR_CALLS(X)                                                                                                  \
    X(Barrier, barrier) X(Bcast, bcast) X(Reduce, reduce) X(Allreduce, allreduce) X(Reduce_scatter, reduce_scatter)    \
    X(Reduce_scatter_block, reduce_scatter_block) X(Scan, scan) X(Exscan, exscan) X(Gather, gather)                    \
    X(Gatherv, gatherv) X(Scatter, scatter) X(Scatterv, scatterv) X(Allgather, allgather) X(Allgatherv, allgatherv)    \
    X(Alltoall, alltoall) X(Alltoallv, alltoallv) X(Alltoallw, alltoallw) X(Neighbor_allgather, neighbor_allgather)    \
    X(Neighbor_allgatherv, neighbor_allgatherv) X(Neighbor_alltoall, neighbor_alltoall)                                \
    X(Neighbor_alltoallv, neighbor_alltoallv) X(Neighbor_alltoallw, neighbor_alltoallw)

typedef enum door_call {
#define DOOR_CALL(name, lower) DOOR_##name,
    DOOR_CALLS(DOOR_CALL)
#undef DOOR_CALL
        DOOR_CALL_COUNT
} door_call;

typedef enum door_form { DOOR_BLOCKING, DOOR_NONBLOCKING, DOOR_PERSISTENT, DOOR_FORM_COUNT } door_form;

/* What became of a call. All but SERVED pass it to the MPI, which is decided by what all members of the communicator
 * know alike. Calls that the MPI refuses are not counted. */
#define DOOR_FATES(X)                                                                                                  \
    X(SERVED, "served")                                                                                                \
    X(CLOSED, "passed: the door is not open")                                                                          \
    X(ALONE, "passed: one rank")                                                                                       \
    X(INTER, "passed: intercommunicator")                                                                              \
    X(STRANGERS, "passed: ranks of another MPI_COMM_WORLD")                                                            \
    X(UNMADE, "passed: no communicator could be made on some rank")                                                    \
    X(UNDECIDED, "passed: no blocking call on the communicator came before it")                                        \
    X(NEIGHBORS, "passed: nbcoll lacks such neighbours, or some rank could not make them")                             \
    X(OPERATION, "passed: nbcoll lacks the operation for the type")                                                    \
    X(SLOWER, "passed: the MPI was faster at the opening")                                                             \
    X(FORM, "passed: under this MPI only blocking calls are served")                                                   \
    X(OFF, "passed: the info key nbcoll is off")                                                                       \
    X(COMPARED, "passed: for comparison")

typedef enum door_fate {
#define DOOR_FATE(name, text) DOOR_FATE_##name,
    DOOR_FATES(DOOR_FATE)
#undef DOOR_FATE
        DOOR_FATE_COUNT
} door_fate;

extern bool door_threads;  /* several threads may call at a time */
extern bool door_is_timed; /* calls are */
typedef struct door_operation door_operation;
extern atomic_ullong door_counted[DOOR_FORM_COUNT][DOOR_CALL_COUNT][DOOR_FATE_COUNT];
void door_forget(void); /* what was counted so far */
/* Blocking calls are timed from now on. With `compares` one in eight passes. All ranks say the same. */
void door_report_start(bool compares);
/* Whether this call is one of these; *calls counts those on its communicator, which all members make in one order. */
bool door_compares(atomic_uint *calls);
uint64_t door_clock(void); /* 0: nothing is timed */
void door_took(const door_operation *o, uint64_t since);
/* Collective over MPI_COMM_WORLD: rank 0 prints the sums over all ranks. */
void door_report(void);

/* ---- types.c ---- */

/* Of each few handles a thread remembers the last one that it has looked for. */
enum { DOOR_RECENT = 8 };
static inline size_t door_place(uintptr_t handle)
{
    return (handle ^ handle >> 4 ^ handle >> 8) % DOOR_RECENT;
}

/* A type whose elements lie one behind the other as they are packed. */
typedef struct door_plain {
    MPI_Datatype type;
    nbcoll_type is; /* NBCOLL_TYPE_COUNT: there are no operations for it */
    size_t bytes;
} door_plain;
extern DOOR_THREAD door_plain door_plains[DOOR_RECENT];
const door_plain *door_find_plain(MPI_Datatype type);

/* Null: it is none. Until the next call. */
static inline const door_plain *door_plain_of(MPI_Datatype type)
{
    const door_plain *recent = &door_plains[door_place((uintptr_t)type)];
    return recent->bytes && recent->type == type ? recent : door_find_plain(type);
}

/* Bytes that one element packs to. */
size_t door_type_bytes(MPI_Datatype type);

/* That so many pack to; 0: the MPI refuses these. */
static inline size_t door_bytes(int count, MPI_Datatype type)
{
    if (count <= 0 || type == MPI_DATATYPE_NULL)
        return 0;
    const door_plain *plain = door_plain_of(type);
    return (size_t)count * (plain ? plain->bytes : door_type_bytes(type));
}

/* A reduction in nbcoll's terms. It does not move while a call uses it: `type` and `op` may point into it. */
typedef struct door_reduction {
    nbcoll_type type;
    nbcoll_op op;
    bool packs;  /* the operands are packed elements; else they lie as the program has them */
    MPI_Op user; /* an operation of the program's, or MPI_OP_NULL; with it: */
    MPI_Datatype element;
    size_t bytes; /* of an element in the operands */
    bool lacks;   /* there was no memory to apply it */
    nbcoll_host_type host_type;
    nbcoll_host_op host_op;
} door_reduction;

/* Describes it; false: nbcoll has none. All ranks that pass the same type and operation get the same answer. */
bool door_reduction_of(door_reduction *r, MPI_Datatype type, MPI_Op op);

/* ---- keep.c: what the program may free while an operation uses it ---- */

/* Until *kept is freed, the handle `type` stays valid. MPI_DATATYPE_NULL: it needs nothing. Returns an MPI error. */
int door_keep_type(MPI_Datatype type, MPI_Datatype *kept);
void door_free_type(MPI_Datatype *kept);
/* The same for an operation. False: no memory. MPI_OP_NULL is accepted. */
bool door_keep_op(MPI_Op op);
void door_free_op(MPI_Op op);

/* ---- view.c ---- */

/* Blocks of a buffer as the program describes them. */
typedef struct door_blocks {
    const void *user;
    int n;
    int count;              /* of each block; */
    const int *counts;      /* or of these, */
    const int *displs;      /* with: in elements; with types: in bytes */
    const MPI_Aint *places; /* or in bytes, these */
    MPI_Datatype type;
    const MPI_Datatype *types; /* null, or of each block */
    const int *peers;          /* null; or where it is negative there is no block */
    bool is_listed;            /* the view has arrays, although all have as many */
} door_blocks;

enum { DOOR_FEW = 8 }; /* so many blocks take no memory */

/* The same as nbcoll gets them: bytes, in the program's own buffer, or packed into memory of the view. It does not
 * move. */
typedef struct door_view {
    door_blocks of;
    void *data;
    size_t bytes;            /* of a block, if all have as many */
    size_t *counts, *displs; /* else these, in bytes */
    void *packed;            /* null: in the program's buffer */
    bool lacks;              /* there is no memory to pack into */
    size_t *arrays;          /* which are `few`, or allocated */
    MPI_Datatype *kept;      /* null, or for each type */
    size_t few[2 * DOOR_FEW];
} door_view;

/* With `as_is` the bytes lie as they are, whatever the type. False: no memory for the arrays. Close it in any case. */
bool door_view_open(door_view *view, const door_blocks *blocks, bool as_is);
void door_view_close(door_view *view);
/* The types' handles stay valid until it is closed. False: no memory. */
bool door_view_keep(door_view *view);
/* Packs or unpacks block i, or all with i = -1; nothing in a view of the program's buffer. Returns an MPI error. */
int door_view_load(door_view *view, int i);
int door_view_store(door_view *view, int i);

/* ---- hook.c ---- */

/* Only blocking calls of one thread are served: the MPI takes no call while it calls the hook. */
extern const bool door_only_blocks;
enum { DOOR_JOB = 64 };
/* Whether the MPI in the process is the one that the door was compiled for. Before MPI_Init, too. */
typedef enum door_fit { DOOR_FITS, DOOR_OTHER_VERSION, DOOR_OTHER_MPI } door_fit;
door_fit door_fits(void);
/* Names the job, and this process's rank in its MPI_COMM_WORLD, before MPI_Init. False: unknown. */
bool door_job(char job[DOOR_JOB], int *rank);
/* From now on, or no more, the MPI calls `move` while it waits. False: it does not. After MPI_Init. */
bool door_hook(int (*move)(void), bool on);

/* ---- fortran.c ---- */

/* Before main: what Fortran programs call comes to the door. */
void door_fortran(void);

/* ---- progress.c ---- */

/* nbcoll's waits move the MPI, and the MPI's waits move `context`: between start and stop. */
void door_pause(void *user, uint64_t looks); /* nbcoll_host.pause */
bool door_progress_prepare(MPI_Comm node);   /* the MPI's part: collective, after MPI_Init, before the first wait */
bool door_progress_start(nbcoll_context *context); /* false: the MPI would not move it */
void door_progress_stop(void);
void door_progress_end(void); /* undoes prepare */
bool door_crowded(void);      /* the ranks of the node have fewer processors than they are */
bool door_is_called(void);    /* the MPI is calling the hook; not of several threads */
/* Between these the thread, which is in nbcoll, may call the MPI: that does not call nbcoll. */
void door_enter(void);
void door_leave(void);
/* Moves nbcoll once. */
void door_progress(void);
/* A communicator of this rank alone, for messages to itself. */
MPI_Comm door_self(void);

/* ---- nodes.c ---- */

/* Finds out which ranks share memory, those of a node. Collective over MPI_COMM_WORLD. Not several: they all do. */
bool door_nodes_find(bool are_several);
MPI_Comm door_node(void);
int door_nodes(void); /* so many there are */
/* Opens an endpoint of all ranks over the MPI's messages. Collective; null: it failed here. */
nbcoll_endpoint *door_between(void);
void door_nodes_end(void); /* when all endpoints are closed */

/* ---- comms.c ---- */

typedef struct door_state {
    door_fate fate; /* why it passes; or SERVED, by */
    nbcoll_comm *comm;
    nbcoll_neighbors *neighbors; /* null: it has no topology, or neighbourhood collectives pass */
    bool is_early;               /* made before a call needed it */
    atomic_bool is_used;         /* by a call */
    atomic_uint calls;           /* that were timed */
    atomic_int uses;             /* 1 for the MPI's communicator, 1 for each operation; the last one frees it */
} door_state;

/* Gives MPI_COMM_WORLD its communicator. False: no memory, or no keyval. */
bool door_comms_open(nbcoll_comm *world);
/* From now on no communicator has one of nbcoll's. */
void door_comms_close(void);
/* Of a communicator that has just been made: decides what serves it, if all its members want that, which call this.
 * Where many have been freed without a call some rank does not. None serves it where some member is `off`, which has
 * that from the info key. MPI_COMM_NULL is accepted. */
void door_comm_made(MPI_Comm comm, bool off);
/* Whether the info key `nbcoll` says off. */
bool door_info_off(MPI_Info info);
/* States that a thread has found, for so long as no communicator has gone. */
typedef struct door_recent {
    MPI_Comm comm;
    unsigned gone;
    door_state *state;
} door_recent;
extern atomic_uint door_gone;
extern DOOR_THREAD door_recent door_recents[DOOR_RECENT];
door_fate door_find_comm(MPI_Comm comm, bool may_wait, door_state **state);

/* What is decided on; a null state is CLOSED. With `may_wait` the first call decides, else UNDECIDED. */
static inline door_fate door_comm(MPI_Comm comm, bool may_wait, door_state **state)
{
    const door_recent *recent = &door_recents[door_place((uintptr_t)comm)];
    if (recent->comm != comm || recent->gone != atomic_load_explicit(&door_gone, memory_order_relaxed))
        return door_find_comm(comm, may_wait, state);
    *state = recent->state;
    return recent->state->fate;
}

void door_state_use(door_state *state);
void door_state_leave(door_state *state);
/* Collective: the neighbours of a communicator that has a topology, over one of nbcoll's with the same ranks. Null on
 * all members, or on none. */
nbcoll_neighbors *door_neighbors(MPI_Comm comm, nbcoll_comm *ours);
/* Whether all members say yes. */
bool door_all(MPI_Comm comm, bool well);

/* ---- operation.c ---- */

/* What this rank sends in a call, and what it receives. A side that it has not is empty. */
struct door_operation {
    door_form form;
    door_call call;
    door_fate fate; /* what it was counted as; DOOR_FATE_COUNT: the MPI refuses it */
    MPI_Comm comm;  /* until the call returns */
    nbcoll_comm *ours;
    nbcoll_neighbors *neighbors;
    door_state *state;
    door_reduction r;
    door_view send, recv;
    nbcoll_type type; /* of what moves: bytes */
    bool is_plain;    /* nothing is packed, or described by arrays */
    bool lacks;       /* see door_lack */
    bool is_local;    /* there was no memory for another one */
    int own;          /* in place: the block of `recv` that holds what this rank gives; -1: all */
    bool in_place;
    size_t count; /* of a reduction */
    const int *counts;
    int root;
    int error; /* the MPI's */
    nbcoll_status status;
    /* nonblocking and persistent */
    nbcoll_request request;
    MPI_Request handle;
    bool keeps;           /* what the program may free: */
    MPI_Datatype element; /* the operands' type, too */
    int tag;              /* of a persistent one */
    door_operation *next;
};

/* Whether the MPI refuses these. */
bool door_any_bad(int n, const int counts[], MPI_Datatype type);
bool door_bad_vector(const door_blocks *blocks); /* which have counts; none at all are right */

/* This rank, which lacks memory, takes part by a type that fails: that ends the operation on all ranks. */
void door_lack(door_operation *o);
/* It cannot even do that. So it gives up another rank, and calls on communicators that both have end with errors. */
void door_give_up(nbcoll_comm *comm, int other);
void door_give_up_any(const door_operation *o);

void door_open(door_operation *o, const door_blocks *send, const door_blocks *recv, bool as_is);
bool door_ready(const door_operation *o);
/* Packs what is sent, unpacks what was received, and closes both. */
void door_load(door_operation *o);
void door_store(door_operation *o);
void door_close(door_operation *o);
/* Starts it in its form: its status. Blocking, that is its end. */
nbcoll_status door_start(door_operation *o);
/* The MPI's error of how it went so far. */
int door_error(const door_operation *o);
/* The same, at the communicator's error handler. */
int door_raise(const door_operation *o, int error);
/* The end of a blocking one. Returns an MPI error. */
int door_end(door_operation *o);

/* ---- requests.c, persistent.c ---- */

/* An operation that outlives its call; without memory, the local one. */
door_operation *door_new(door_form form, door_call call, door_operation *local);
void door_delete(door_operation *o);
/* What it uses outlives the call, too, until it is released. False: no memory. */
bool door_keep(door_operation *o);
void door_release(door_operation *o);
/* Starts a nonblocking one, whose sides are open, and takes it. Returns an MPI error. */
int door_begin(door_operation *o, MPI_Request *request);
/* Makes a persistent one; false: it passes. Takes it in both cases. */
bool door_persist(door_operation *o, MPI_Request *request);

/* ---- choice.c ---- */

/* Measures, for each call, what it takes here and what it takes in the MPI. Collective over MPI_COMM_WORLD. */
void door_choose(int ranks);
/* Whether the MPI is faster, at so many bytes: on all ranks alike. */
extern unsigned char door_slower[DOOR_FORM_COUNT][DOOR_CALL_COUNT]; /* 0: nowhere */
bool door_slower_at(door_form form, door_call call, size_t bytes);
#define DOOR_ANY SIZE_MAX /* bytes that not all ranks know alike */
