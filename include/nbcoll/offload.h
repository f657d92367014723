/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Programs: a collective, on one rank, as tables of tasks that an agent, or a NIC, executes in place of the
 * rank. Once started, a program needs nothing more of its rank. A compiler makes it of the schedules of all ranks:
 *
 *     nbcoll_program_config config = {.size = sizeof config};
 *     nbcoll_refusal why = {.size = sizeof why};
 *     nbcoll_program *mine;
 *     if (nbcoll_compile(schedules, ranks, &config, rank, 1, &mine, &why) == NBCOLL_ERR_UNSUPPORTED)
 *         puts(why.text);                    the host's engine runs it
 *     nbcoll_show_program(mine, to_file, stdout);          (nbcoll/show.h)
 *
 * The model is CORE-Direct's:
 *
 *   queue pair         a send queue and a receive queue, joined to those of one peer. What is sent first is received
 *                      first. Sends and receives begin as they are posted, or are *held* until they are enabled. A send
 *                      queue may contain waits, which hold back what stands behind them there
 *   completion queue   counts what has ended: each receive of one receive queue, or the signalled sends of one send
 *                      queue. Its entries are consumed by the waits of one queue
 *   management queue   a queue without a peer: waits, enables and calculations, each done when the one before is
 *
 * Two ranks that talk have a *connection* of three queue pairs: eager, clear-to-send and bulk. If all pairs of ranks of
 * the operation that talk do so both ways, a connection serves both directions; else there is one for each direction.
 *
 *   eager        messages of up to `threshold` bytes. Receives are posted before the operation is known, hence of one
 *                size, into eager buffers; a longer message is several tasks. What came stays there: later sends and
 *                calculations read it there, and what belongs to the result is copied out at the end, by the rank
 *   rendezvous   longer messages, of their true size, into their place; and all of a program with blocks that get
 *                their lengths when it is started, since the parts of an eager message must be counted before. The
 *                receiver clears the sender by a write of no bytes, whichever side is first; the sender's bulk queue
 *                contains the wait for it
 *
 * Source: Inozemtsev, "Overlapping Computation and Communication through Offloading in MPI over InfiniBand" (2014),
 * chapters 2 to 4.
 *
 * A program is immutable, and may be read by any thread.
 */
#include "schedule.h"

#ifndef NBCOLL_OFFLOAD_H
#define NBCOLL_OFFLOAD_H

#if defined NBCOLL_WITH_OFFLOAD && !NBCOLL_WITH_OFFLOAD
#error "nbcoll/offload.h is of the component offload: define NBCOLL_WITH_OFFLOAD=1, or link nbcoll_offload"
#endif

NBCOLLI_BEGIN

typedef struct nbcoll_program nbcoll_program;

/* ---- compiling --------------------------------------------------------------------------------------------------- */

/* The same on all ranks. */
typedef struct nbcoll_program_config {
    size_t size;
    const nbcoll_host *host; /* for memory; may be null; copied */
    size_t threshold;        /* bytes of the longest eager message; 0: 16384 */
    size_t eager;            /* bytes of an eager buffer; 0: 4096 */
    uint32_t in_flight;      /* operations at a time, each with connections and buffers of its own; 0: 1 */
    uint32_t management;     /* management queues of a program, at most; 0: 8 */
    uint64_t tasks;          /* that a rank may post for a program, */
    uint64_t queue_pairs;    /* that a rank may have for all operations in flight, those of connections, */
    uint64_t buffers;        /* and eager buffers, likewise. 0: any number */
    int keeps_scratch;       /* 1: at the end the program leaves in scratch memory what the schedule leaves there, for
                                others to read. 0: it may lie anywhere */
    int in_parts; /* 1: for schedules whose ranks expose memory within nodes (nbcoll_builder_config.shares): compile
                     only the inner part, between nodes, that is each rank's messages and the steps on paths between
                     them; keeps_scratch is 1. Ranks without such steps get programs without tasks. 0: compile all */
} nbcoll_program_config;

/* Append-only: why an operation is not offloaded. */
#define NBCOLL_REFUSAL_LIST(X)                                                                                         \
    X(NONE, "it is offloaded")                                                                                         \
    X(CALL, "a step calls a function of the host's")                                                                   \
    X(COMBINES, "a step combines by an operation of the host's")                                                       \
    X(BLOCKS, "it puts blocks aside whose lengths one rank knows alone")                                               \
    X(EXPOSES, "it exposes memory: it is to be built for ranks that share none")                                       \
    X(TASKS, "it has more tasks than may be posted")                                                                   \
    X(QUEUE_PAIRS, "it needs more queue pairs than there may be")                                                      \
    X(BUFFERS, "it needs more eager buffers than there may be")                                                        \
    X(DEPTH, "it has more messages on a queue pair than its agent has room for")                                       \
    X(AGENT, "the communicator has no agent")                                                                          \
    X(TABLES, "its tables are longer than the agent's process has room for")                                           \
    X(MEMORY, "a buffer is neither memory that the agent's process shares nor short enough to be copied")              \
    X(BETWEEN, "it exposes memory between its messages, or piece by piece")                                            \
    X(ONE_PART, "nothing of it is within nodes, or nothing between them")                                              \
    X(APART, "ranks of a node share no memory")                                                                        \
    X(CELLS, "it exposes more memory than the communicator has cells for")                                             \
    X(SCRATCH, "its scratch memory is longer than what the agent's process shares")                                    \
    X(CARRIED, "relays carry it out")
typedef enum nbcoll_refusal_reason {
#define NBCOLLI_REFUSAL_ENUM(name, text) NBCOLL_REFUSAL_##name,
    NBCOLL_REFUSAL_LIST(NBCOLLI_REFUSAL_ENUM)
#undef NBCOLLI_REFUSAL_ENUM
        NBCOLL_REFUSAL_COUNT
} nbcoll_refusal_reason;

/* "CALL", and the text. Never null; any value is accepted. Any thread. */
NBCOLL_API const char *nbcoll_refusal_name(nbcoll_refusal_reason reason);
NBCOLL_API const char *nbcoll_refusal_text(nbcoll_refusal_reason reason);

typedef struct nbcoll_refusal {
    size_t size;
    nbcoll_refusal_reason reason;
    int rank;                 /* the first rank that is refused: all are, so that all know alike */
    nbcoll_step step;         /* CALL to EXPOSES, BETWEEN: of its schedule (in_parts: CALL to EXPOSES of that of its
                                 part between nodes); else START */
    uint64_t needed, allowed; /* TASKS to DEPTH, TABLES, MEMORY, SCRATCH; else 0 */
    char text[240];           /* one line: rank, step, and why */
    int parts;                /* nbcoll_comm_offloads: 3: it is offloaded in three parts; 1: as a whole; 0: it is not */
} nbcoll_refusal;

/* Makes the programs of ranks first..first + count - 1 of an operation from the schedules of all of its ranks, which it
 * does not keep. The caller frees each of out[0..count-1] by nbcoll_program_free. What is refused on one rank is
 * refused on all. The result follows from the schedules alone: compilation of rank 3 gives the same program on every
 * rank. That keeps the ranks' orders of tasks free of circles. Time and memory grow with the steps of all ranks.
 *
 * `why`: may be null; with OK its reason is NONE. Errors: ERR_UNSUPPORTED (refused: *why says the reason), ERR_NULL,
 * ERR_CONFIG (a size), ERR_RANK (schedules[r] is not built for rank r of so many; no such ranks to compile),
 * ERR_ARGUMENT (the schedules do not belong together: a message has one end only, or two of different length, or steps
 * of several ranks wait for each other), ERR_LIMIT (2^31 tasks or buffers), ERR_MEMORY. */
NBCOLL_API nbcoll_status nbcoll_compile(const nbcoll_schedule *const schedules[], int ranks,
                                        const nbcoll_program_config *config, int first, int count,
                                        nbcoll_program *out[], nbcoll_refusal *why);

/* Null is accepted. */
NBCOLL_API void nbcoll_program_free(nbcoll_program *program);

/* ---- reading ----------------------------------------------------------------------------------------------------- */

#define NBCOLL_NO_QUEUE UINT32_MAX /* also: no completion queue, no eager buffer */

/* Memory that a task touches: a region of the schedule's buffers, or bytes of the eager buffer of that number:
 * at.offset is counted from its beginning, and at.buffer says nothing. A bound block (NBCOLL_BUFFER_SEND_BLOCK,
 * RECV_BLOCK) has 0 bytes here, as in schedules. */
typedef struct nbcoll_task_bytes {
    uint32_t eager; /* NBCOLL_NO_QUEUE: none of them */
    nbcoll_region region;
} nbcoll_task_bytes;

/* Append-only: X(name, as it is printed). */
#define NBCOLL_TASK_LIST(X)                                                                                            \
    X(SEND, "send") X(RECV, "recv") X(WAIT, "wait") X(SEND_ENABLE, "send_enable") X(RECEIVE_ENABLE, "receive_enable")  \
    X(CALC, "calc")
typedef enum nbcoll_task_kind {
#define NBCOLLI_TASK_ENUM(name, text) NBCOLL_TASK_##name,
    NBCOLL_TASK_LIST(NBCOLLI_TASK_ENUM)
#undef NBCOLLI_TASK_ENUM
        NBCOLL_TASK_COUNT
} nbcoll_task_kind;

typedef struct nbcoll_task {
    nbcoll_task_kind kind;
    int signal;                 /* SEND: its end is an entry of the send queue's completion queue. In a management
                                   queue: its end is that of the queue */
    uint32_t queue;             /* enables: the queue pair, by its number in the program; else NBCOLL_NO_QUEUE */
    uint32_t cq;                /* WAIT: the completion queue, by number; else NBCOLL_NO_QUEUE */
    uint32_t count;             /* WAIT: entries that it waits for and consumes; enables: how many sends, with the waits
                                   before them, or receives; else 1 */
    nbcoll_step step;           /* of the schedule that it carries out, or the first of them */
    nbcoll_task_bytes write;    /* RECV, CALC: what it writes; else 0 bytes. An eager RECV: the bytes that will come */
    nbcoll_task_bytes read[2];  /* SEND: [0]; CALC: left, right, or [0] alone: a copy */
    nbcoll_reduction reduction; /* CALC with two operands */
} nbcoll_task;

typedef enum nbcoll_queue_kind {
    NBCOLL_QUEUE_EAGER,
    NBCOLL_QUEUE_CLEAR, /* clear-to-send: messages of no bytes */
    NBCOLL_QUEUE_BULK,
    NBCOLL_QUEUE_MANAGEMENT
} nbcoll_queue_kind;

/* Of a connection: both ways, or from this rank, or to it. */
typedef enum nbcoll_direction { NBCOLL_BOTH_WAYS, NBCOLL_OUTWARD, NBCOLL_INWARD } nbcoll_direction;

#define NBCOLL_HOLDS_SENDS 1u
#define NBCOLL_HOLDS_RECEIVES 2u

/* A queue pair, or a management queue, and what is posted there, in order. Append-only: read it through the pointer. */
typedef struct nbcoll_queue_view {
    nbcoll_queue_kind kind;
    int peer;                     /* -1: a management queue */
    nbcoll_direction direction;
    uint32_t held;                /* NBCOLL_HOLDS_* */
    uint32_t send_cq, receive_cq; /* or NBCOLL_NO_QUEUE, where nobody asks what has ended */
    uint32_t send_count;
    const nbcoll_task *sends;     /* SEND and WAIT; of a management queue: all but SEND and RECV */
    uint32_t receive_count;
    const nbcoll_task *receives;
} nbcoll_queue_view;

typedef struct nbcoll_program_info {
    size_t size;
    const char *name;      /* the schedule's */
    int rank, ranks;
    uint32_t queues;       /* queue pairs that something is posted to, then management queues */
    uint32_t management;   /* the last so many of them */
    uint32_t cqs;
    uint64_t tasks;        /* in all queues */
    uint32_t connections;
    uint64_t queue_pairs;  /* three for each connection, for all operations in flight */
    uint32_t buffers;        /* eager buffers that the program fills */
    uint32_t copies;       /* that its rank makes when it has ended */
    size_t eager, threshold; /* of the configuration */
    size_t extent[3];      /* bytes of the send buffer, the receive buffer and scratch memory, from their beginning */
    uint32_t fingerprint;  /* the schedule's */
    uint32_t blocks[2];    /* of the send and of the receive buffer that tasks name: they get their places when the
                              program is started (nbcoll_agent_start_bound); 0: none */
} nbcoll_program_info;

/* Errors: ERR_NULL, ERR_CONFIG (size). The views live as long as the program. Out of range: null. The copies are CALC
 * tasks: the executor makes them, in any order, when all management queues and all sends have ended. Then the program
 * has ended. */
NBCOLL_API nbcoll_status nbcoll_program_query(const nbcoll_program *program, nbcoll_program_info *out);
NBCOLL_API const nbcoll_queue_view *nbcoll_program_queue(const nbcoll_program *program, uint32_t queue);
NBCOLL_API const nbcoll_task *nbcoll_program_copy(const nbcoll_program *program, uint32_t copy);

/* "send_enable", ...; "?" for an unknown one. Any thread. */
NBCOLL_API const char *nbcoll_task_name(nbcoll_task_kind kind);

/* ---- executing --------------------------------------------------------------------------------------------------- */

/* An agent executes the programs of one rank over a transport's queue pairs (nbcoll_offload in transport.h). When a
 * wait of a management queue is over, it executes the tasks behind that wait. It may combine data that arrives, but
 * never decides by it. Somebody must call the agent: a driver (nbcoll_driver_add_agent in driver.h), a thread of the
 * host, or the rank itself. */
typedef struct nbcoll_agent nbcoll_agent;
typedef struct nbcoll_program_run nbcoll_program_run;

/* Queue pairs for the ranks of a loopback world: nbcoll_loopback_config.pairs. */
struct nbcoll_loopback_queues;
NBCOLL_API const struct nbcoll_loopback_queues *nbcoll_loopback_pairs(void);

/* The same on all ranks, but for the host. */
typedef struct nbcoll_agent_config {
    size_t size;
    const nbcoll_host *host; /* for memory; may be null; copied */
    size_t eager;            /* bytes of an eager buffer, as in the programs; 0: 4096 */
    uint32_t depth;          /* eager buffers of a connection, and messages each way on one of its queue pairs, that a
                                program may have; 0: 64 */
    uint32_t in_flight;      /* programs at a time; others wait in order; 0: 1 */
} nbcoll_agent_config;

/* Opens an agent over an endpoint, which must outlive it. Others may use the endpoint, and a context may own it: close
 * the agent before the context is freed. Freeing the context before is ERR_BUSY if the context owned the endpoint when
 * the agent was opened or got a program, or if it has made a communicator or relays with the agent. The agent opens
 * queue pairs when programs first need them, with receives posted in eager buffers, and keeps them. Give programs to
 * one agent of an endpoint only, until it is closed on all ranks: programs of another one would need queue pairs of the
 * same numbers, and end with ERR_DUPLICATE or meet the wrong ones. Errors: ERR_NULL, ERR_CONFIG, ERR_UNSUPPORTED (the
 * transport has no queue pairs), ERR_MEMORY. */
NBCOLL_API nbcoll_status nbcoll_agent_open(nbcoll_endpoint *ep, const nbcoll_agent_config *config, nbcoll_agent **out);

/* Closes all queue pairs. No other thread may be inside. Null is accepted. Errors: ERR_BUSY (the end of a run has not
 * been reported; it is in a driver; relays that it is to move are still being opened, or, if the agent is another
 * process, are not closed). */
NBCOLL_API nbcoll_status nbcoll_agent_close(nbcoll_agent *agent);

/* Starts a program on these buffers, as nbcoll_schedule_start starts a schedule. All ranks start the same operations in
 * the same order. Program and buffers stay as they are until the run has ended. Other threads may be in
 * nbcoll_agent_progress and nbcoll_agent_test, but in no other start. If a communicator of a context made with
 * NBCOLL_ANY_THREAD has the agent, no other thread may be in a call that starts or makes an operation there. Errors:
 * ERR_NULL, ERR_RANK (it is not for this rank of so many), ERR_BUFFER (null, and the program touches it), ERR_CONFIG
 * (other eager buffers), ERR_LIMIT (more messages on a queue pair than `depth`), ERR_PEER_LOST, ERR_CANCELLED,
 * ERR_TRANSPORT (the agent has failed before), ERR_MEMORY; after any of them nothing is posted. Peers that have started
 * their programs wait until this rank closes its endpoint: then these end with ERR_PEER_LOST. */
NBCOLL_API nbcoll_status nbcoll_agent_start(nbcoll_agent *agent, const nbcoll_program *program, const void *send,
                                            void *recv, nbcoll_program_run **out);

/* Where a block lies at a start: of the send buffer (is_recv: of the receive buffer) the one of that index, as bytes in
 * NBCOLL_BUFFER_SEND or NBCOLL_BUFFER_RECV. What a rank sends and what its peer receives have one length. */
typedef nbcoll_region nbcoll_bind(void *user, int is_recv, int index);

/* The same for a program with blocks (nbcoll_program_info.blocks), which other starts may bind to other places and
 * lengths. `bind` is called within, and gives the same block the same place each time. Further errors: ERR_NULL (there
 * are blocks, and `bind` is null: so too in nbcoll_agent_start), ERR_ARGUMENT (another buffer; a copy between blocks of
 * two lengths), ERR_COUNT (a block overflows). */
NBCOLL_API nbcoll_status nbcoll_agent_start_bound(nbcoll_agent *agent, const nbcoll_program *program, const void *send,
                                                  void *recv, nbcoll_bind *bind, void *user,
                                                  nbcoll_program_run **out);

/* Does all that can be done now: posts what has been started, and goes on where messages have come. One thread at a
 * time. 1: something was done; 0: nothing. Null is accepted. */
NBCOLL_API int nbcoll_agent_progress(nbcoll_agent *agent);

/* Has the run ended? Makes the copies of its end, so it belongs to the rank. By any one thread; not NBCOLL_PENDING: the
 * run is gone. OK, or ERR_PEER_LOST (a peer has closed a queue pair that the program needed), ERR_CANCELLED,
 * ERR_TRANSPORT, ERR_LIMIT, ERR_MEMORY: then the agent has failed. Its queue pairs are closed, so that no peer can
 * touch memory of its programs any more. Peers that need it learn of it, also those of programs that had not begun
 * here. ERR_NULL. */
NBCOLL_API nbcoll_status nbcoll_agent_test(nbcoll_program_run *run);

/* Ends all programs, also those under way: the next progress closes the queue pairs. Any thread. Errors: ERR_NULL. */
NBCOLL_API nbcoll_status nbcoll_agent_cancel(nbcoll_agent *agent);

/* ---- agents that are processes ---------------------------------------------------------------------------------- */

/* One process executes the programs of all ranks of a node, which then go on while their ranks are stopped. It also
 * moves relays (relay.h): the node forwards data even if all its ranks are stopped. `nbcoll run --agent` or the host
 * starts the process; the library does not. The process has one end of a socket pair (AF_UNIX, SOCK_SEQPACKET) for each
 * rank, and that rank has the other end. Each side notices when the other process ends. If no other process has a copy
 * of a socket, it also notices when the other side closes it or calls exec.
 *
 *     the agent's process:   nbcoll_agent_serve(&config)
 *     a rank:                nbcoll_agent_attach(endpoint, &config, &agent), then all as with an agent of its own
 *
 * A rank writes the program, and where its buffers lie, into memory that both have mapped; the process also makes the
 * copies at the program's end. The process reaches buffers from nbcoll_mem_alloc if their endpoint has a file of that
 * memory (shm has). Other buffers are copied there and back, up to `copied` bytes; only what the program writes is
 * copied back. */

/* Data comes to the endpoints from outside, over a device: while a program has not ended the process looks each 20 us,
 * instead of sleeping until a rank has something. Without this flag only calls of the process move data. */
#define NBCOLL_SERVE_OUTSIDE 1u

typedef struct nbcoll_serve_config {
    size_t size;
    const nbcoll_agent_config *agent;   /* may be null: the defaults. Ranks need not know it */
    nbcoll_endpoint *const *endpoints;  /* [count]: the endpoints, in this process, over whose queue pairs the programs
                                           of a rank go: of loopback, or, with OUTSIDE, of verbs */
    const int *sockets;                 /* [count]: to the ranks of those */
    int count;
    uint32_t programs; /* of a rank, that have been started and not been reported; also sets of relays; 0: 32 */
    size_t tables;     /* bytes for those of one program, or of relays; 0: 65536 */
    size_t copied;     /* bytes of the longest buffer that is copied; 0: 16384 */
    uint32_t flags;
    size_t scratch; /* bytes of scratch memory that ranks and agent share, for all of a rank's hierarchical operations
                       in three parts that are under way; the same on all nodes; 0: 1 MiB. At most 1 GiB, as the two
                       above */
} nbcoll_serve_config;

/* Memory: of each rank programs * (tables + 2 copied) + scratch bytes, with the defaults 3 + 1 MiB, from the beginning,
 * whether it leads a node or not, and over verbs pinned. A leader of 2 nodes of 8 ranks borrows for one operation with
 * blocks (or a vector) of B bytes at most so much scratch memory, as `nbcoll explain --program` tells:
 *
 *     barrier, bcast                                   0
 *     allreduce, reduce, scan, exscan                  2 B
 *     gather, scatter, allgather                       24 B
 *     gatherv, scatterv, allgatherv, reduce_scatter,
 *     reduce_scatter_block                             32 B, where ranks are combined in their order 72 B
 *     alltoall                                         368 B
 *
 * So 1 MiB are enough for one reduction of 512 KB, for one gather or allgather of 40 KB at least (the plain ones take
 * 16 B, so 64 KB), for one reduce_scatter of 32 KB, for one alltoall of 2.8 KB. Twice the bytes need twice the memory,
 * as do two operations at a time. Longer ones are not refused: they are programs as a whole (SCRATCH, says
 * nbcoll_comm_offloads), on memory of the process's own. Ask for more only where you have measured that it pays. */

/* Executes the programs of these ranks, until all have gone; sleeps while there is nothing to do. While relays are open
 * and nothing moves, it looks again after 20 us to 1 ms, since ranks do not wake it when they hand data over. It owns
 * the endpoints and sockets from the call on, also after an error. It closes each when its rank has gone, so that peers
 * learn of it. If a rank dies, its own programs end at once, and programs that need it end with ERR_PEER_LOST. OK, or,
 * before anything is executed: ERR_NULL, ERR_CONFIG, ERR_UNSUPPORTED (no queue pairs, or the system has no memfd),
 * ERR_MEMORY. */
NBCOLL_API nbcoll_status nbcoll_agent_serve(const nbcoll_serve_config *config);

typedef struct nbcoll_attach_config {
    size_t size;
    const nbcoll_host *host; /* may be null; copied. `log` is told why a start is refused */
    int socket;              /* the agent's from the call on, also after an error */
    uint64_t timeout;        /* ns until the process must have answered; 0: a minute; NBCOLL_FOREVER */
    nbcoll_endpoint *memory; /* the endpoint whose memory the process shares, if a communicator has endpoints before the
                                agent's (nbcoll_mem_alloc takes memory from the first that shares any). Null: the
                                agent's own. Not needed after the call */
} nbcoll_attach_config;

/* An agent for the endpoint's rank whose programs that process executes. nbcoll_agent_progress does nothing there.
 * nbcoll_agent_close tells the process that the rank has gone; the endpoint may be closed before. Differences to other
 * agents: nbcoll_agent_start returns ERR_BUFFER for buffers that the process cannot reach, and ERR_LIMIT while the ends
 * of `programs` programs have not been reported. If the process ends, each program and each start ends with
 * ERR_PEER_LOST. One thread at a time may be in nbcoll_agent_test, whatever the run, beside one that starts. Errors:
 * ERR_NULL, ERR_CONFIG, ERR_RANK (it serves another rank there, or one of so many), ERR_ABI (another version),
 * ERR_TIMEOUT, ERR_PEER_LOST (it has ended), ERR_TRANSPORT, ERR_MEMORY. */
NBCOLL_API nbcoll_status nbcoll_agent_attach(nbcoll_endpoint *ep, const nbcoll_attach_config *config,
                                             nbcoll_agent **out);

/* Would a start of the program on these buffers be refused, apart from its blocks? OK: no. Else the error, and *why,
 * which may be null: MEMORY or TABLES (its rank: this one; needed, allowed: bytes), or, with another error, NONE. */
NBCOLL_API nbcoll_status nbcoll_agent_takes(const nbcoll_agent *agent, const nbcoll_program *program, const void *send,
                                            const void *recv, nbcoll_refusal *why);

/* ---- communicators with an agent --------------------------------------------------------------------------------- */

/* If nbcoll_comm_config.agent names an agent, collectives of the communicator become programs. Each rank compiles a
 * program at the first call, and keeps it with its schedules; a start hands the program to the agent. The program ends
 * without this rank, which sees the end in test, wait or progress. What is refused runs on the host's engine, on all
 * ranks alike; so do schedules that the host builds itself. A driver or a thread of the host calls
 * nbcoll_agent_progress, which wakes a rank that sleeps in a wait or on nbcoll_fd.
 *
 *   - The agent is opened over the communicator's last endpoint, whose ranks are the communicator's, in order; else the
 *     creation is refused: ERR_UNSUPPORTED. It stays open until the communicator is freed. An endpoint has one
 *     communicator with an agent at a time; until that is freed the creation of another one is ERR_BUSY. Communicators
 *     that are made of it have no agent. The next communicator gets another agent, opened when all ranks have closed
 *     theirs. After an agent has failed, its endpoint keeps traces of queue pairs, by which programs of a later agent
 *     may end with ERR_PEER_LOST.
 *   - The agent gets programs in the order of their starts, which is the same on all ranks. In a context made with
 *     NBCOLL_ANY_THREAD threads that share the communicator keep that order, as for all operations. A driver of the
 *     context wakes waiting threads when a program has ended; another driver may have the agent.
 *   - A hierarchical algorithm (select.h) is executed in three parts if the ranks of each node share memory.
 *     First the ranks of a node meet in memory; then the agents of the leaders execute the part between nodes as a
 *     program; at last each rank takes the result from memory. The ranks progress the first and the last part, in test
 *     or wait, by nbcoll_progress, or by a driver, which then makes the copies. The second part needs none of that. A
 *     rank that is no leader has no program. The agent gets these programs in the order of the calls, too: a program
 *     that is ready waits for those of earlier calls. If nodes share no memory, or vectors are cut in segments, all of
 *     such an algorithm is one program: nbcoll_comm_offloads tells.
 *   - Either all ranks' agents are processes, with equal `tables` and `scratch` (nbcoll_serve_config), or none is: else
 *     the creation ends with ERR_MISMATCH. Leaders take scratch memory from `scratch`: a hierarchical operation waits
 *     before its first part until earlier ones have left room there. If one rank needs more than all of it, the whole
 *     operation is one program, on all ranks. Only buffers that the part between nodes touches, at leaders, must be
 *     reachable. That part waits while the ends of `programs` programs have not been reported.
 *   - All ranks describe their data alike: all pass a type that packs, or none does; all that may are in place, or none
 *     is. Types that pack are refused (CALL), but not in a hierarchical algorithm in three parts, whose first and last
 *     part pack and unpack. In an alltoallw a rank all of whose blocks are empty has no type that packs.
 *   - A reason that only one rank knows does not bring an operation back to the engine, since the programs of the other
 *     ranks wait for this rank's. A call with a buffer that an agent's process can neither reach nor copy is refused
 *     with ERR_BUFFER; the agent's `log`, or else the context's, gets the reason in words. Like every refused call it
 *     takes no place in the order: a call with another buffer is still the same operation.
 *   - Compiling takes memory for all ranks' programs; starting, for as many as are open at once, which is kept.
 *   - nbcoll_cancel of such an operation, also of one in three parts, the loss of a rank, or nbcoll_comm_shrink without
 *     one that has left, ends all programs of the agent, since its queue pairs keep one order of all of them; without
 *     agents a cancelled operation ends alone. They end with ERR_CANCELLED or ERR_PEER_LOST. Queue pairs are closed, so
 *     that nothing is written afterwards. Peers learn of it by that, or, if no queue pair was open to them, by a
 *     message as soon as a call of this rank has seen the end; their programs end with ERR_PEER_LOST. From then on
 *     starts that would be programs are refused with that status (ERR_CANCELLED if the agent had no memory), here at
 *     once, on other ranks once they know. The refusal is noted as the last failure (nbcoll_last_failure,
 *     nbcoll_comm_failure), of no rank unless an operation has ended so. Hierarchical operations in three parts, which
 *     have their place in the engine's order, are started, and end with that status. All other operations go on.
 *   - Messages of the communicator (message.h) that ask for routes go by queue pairs of their own. What ends programs
 *     does not end them.
 *   - An operation that needs a rank which has freed the communicator ends as without agents: with ERR_MISMATCH, when
 *     waiting ranks have asked that rank, which takes about 0.1 s. */

/* Would this call be offloaded now? OK: yes; *why, which may be null, says in how many parts. Its reason is NONE then,
 * except for a hierarchical algorithm that is offloaded as a whole: then it says why not in three parts. Errors:
 * ERR_UNSUPPORTED (no; *why says the reason: CARRIED where relays that carry out the communicator's calls (relay.h)
 * take it, also those that agents move), ERR_NULL, ERR_CONFIG (a size), those of nbcoll_args_complete, of selection and
 * of nbcoll_compile. It keeps nothing. */
NBCOLL_API nbcoll_status nbcoll_comm_offloads(nbcoll_comm *comm, const nbcoll_args *args, nbcoll_refusal *why);

NBCOLLI_END
#endif
