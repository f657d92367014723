/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Programs: a collective, on one rank, as tables of tasks that somebody else executes than the rank: a network card, or
 * an agent. Once started, a program needs nothing more of its rank. A compiler makes it of the schedules of all ranks:
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
 * Two ranks that talk have a *connection* of three queue pairs: eager, clear-to-send and bulk. Where every pair of
 * ranks of the operation that talks does so both ways, a connection serves both; else there is one for each direction.
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

#ifdef __cplusplus
extern "C" {
#endif

typedef struct nbcoll_program nbcoll_program;

/* ---- compiling ------------------------------------------------------------------------------------------------- */

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
    int keeps_scratch;       /* 1: what is left in scratch memory lies there at the end, as what is left in the receive
                                buffer: for somebody who reads it there. 0: it may lie anywhere */
    int in_parts; /* 1: of schedules whose ranks expose memory within nodes (nbcoll_builder_config.shares) the programs
                     are those of the part between nodes alone: of each rank's messages, and the steps on paths between
                     them; keeps_scratch is 1. Ranks without a part in that get programs without tasks. 0: of all */
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
 * does not keep; the caller frees each of out[0..count-1] by nbcoll_program_free. Whatever is refused on one rank is
 * refused on all. What all ranks must agree on, since the tasks of a rank stand in an order that cannot wait for itself
 * over any ranks, follows from the schedules alone: who compiles rank 3 on rank 3 gets what who compiles it elsewhere
 * does. Time and memory grow with the steps of all ranks.
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

/* ---- reading --------------------------------------------------------------------------------------------------- */

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
 * tasks, to be made when all management queues and all sends have ended, in any order. Then the program has ended. */
NBCOLL_API nbcoll_status nbcoll_program_query(const nbcoll_program *program, nbcoll_program_info *out);
NBCOLL_API const nbcoll_queue_view *nbcoll_program_queue(const nbcoll_program *program, uint32_t queue);
NBCOLL_API const nbcoll_task *nbcoll_program_copy(const nbcoll_program *program, uint32_t copy);

/* "send_enable", ...; "?" for an unknown one. Any thread. */
NBCOLL_API const char *nbcoll_task_name(nbcoll_task_kind kind);

/* ---- executing ------------------------------------------------------------------------------------------------- */

/* An agent executes the programs of one rank over the optional group of a transport's that has queue pairs
 * (nbcoll_offload in transport.h): it is told where the wait of a program's management queue has come to, and does what
 * stands behind it; of what arrives it looks at nothing, so it may combine, and never decides. It is a thing to be
 * called: by a driver (nbcoll_driver_add_agent in driver.h) or a thread of the host's own, so that the rank may do what
 * it likes, or by the rank itself. */
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

/* Opens an agent over an endpoint, which must outlive it; others may use that, too, and a context own it, which is then
 * freed after the agent is closed. Before, it is ERR_BUSY, if the context owned the endpoint when the agent was opened
 * or got a program, or has made a communicator or relays with it. The agent takes queue pairs as programs first need
 * them, with receives posted in eager buffers, and keeps them. Of an endpoint's agents one gets programs, until it is
 * closed on all ranks: those of others would need queue pairs of the same numbers, and end with ERR_DUPLICATE or meet
 * the wrong ones. Errors: ERR_NULL, ERR_CONFIG, ERR_UNSUPPORTED (the transport has no queue pairs), ERR_MEMORY. */
NBCOLL_API nbcoll_status nbcoll_agent_open(nbcoll_endpoint *ep, const nbcoll_agent_config *config, nbcoll_agent **out);

/* Closes all queue pairs. Not while another thread is inside. Null is accepted. Errors: ERR_BUSY (the end of a run has
 * not been reported; it is in a driver; or relays that it is to move are still being opened, or, where the agent is
 * another process, have not been closed). */
NBCOLL_API nbcoll_status nbcoll_agent_close(nbcoll_agent *agent);

/* Starts a program on these buffers, as nbcoll_schedule_start does a schedule. All ranks start the same operations in
 * the same order. Program and buffers stay as they are until the run has ended. Other threads may be in
 * nbcoll_agent_progress and nbcoll_agent_test, none in another start: so while a communicator has the agent whose
 * context any thread may enter, no other thread may be in a call that starts or makes an operation there. Errors:
 * ERR_NULL, ERR_RANK (it is not for this rank of so many), ERR_BUFFER (null, and the program touches it), ERR_CONFIG
 * (other eager buffers), ERR_LIMIT (more messages on a queue pair than `depth`), ERR_PEER_LOST, ERR_CANCELLED,
 * ERR_TRANSPORT (the agent has failed before), ERR_MEMORY; after any of them nothing is posted, and peers that have
 * started theirs wait, until this rank's endpoint is closed: then they end with ERR_PEER_LOST. */
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
 * ERR_TRANSPORT, ERR_LIMIT, ERR_MEMORY: then the agent has failed, its queue pairs are closed, so that no peer can
 * touch memory of its programs any more, and peers that need it learn of it, also those of programs that had not begun
 * here. ERR_NULL. */
NBCOLL_API nbcoll_status nbcoll_agent_test(nbcoll_program_run *run);

/* Ends all programs, those half way too: with the next progress the queue pairs are closed. Any thread. Errors:
 * ERR_NULL. */
NBCOLL_API nbcoll_status nbcoll_agent_cancel(nbcoll_agent *agent);

/* ---- agents that are processes ---------------------------------------------------------------------------------- */

/* One process executes the programs of all ranks of a node, which then go on when their rank is stopped, and moves
 * relays (relay.h), by which a node whose ranks are all stopped still passes on what others send. `nbcoll run --agent`
 * starts it (launch.h), or the host; the library starts no process. It has one end of a pair of sockets (socketpair:
 * AF_UNIX, SOCK_SEQPACKET) for each rank, and that rank the other one. That a process ends is seen, and, where no other
 * one has a copy of its socket, that it closes that or becomes another program.
 *
 *     the agent's process:   nbcoll_agent_serve(&config)
 *     a rank:                nbcoll_agent_attach(endpoint, &config, &agent), then all as with an agent of its own
 *
 * A rank writes program and place of the buffers into memory that both have mapped; the process makes the copies of
 * the program's end, too. Buffers lie in memory from nbcoll_mem_alloc, where the endpoint that it is of tells a file of
 * it (shm does), or are copied there and back, if they reach no further than `copied` bytes; back only what the program
 * writes. */

/* What comes to the endpoints comes from outside, over a device: while a program has not ended the process looks each
 * 20 us, rather than sleep until a rank has something. Without it nothing moves but by calls of the process. */
#define NBCOLL_SERVE_OUTSIDE 1u

typedef struct nbcoll_serve_config {
    size_t size;
    const nbcoll_agent_config *agent;   /* may be null: the defaults. Ranks need not know it */
    nbcoll_endpoint *const *endpoints;  /* [count]: the ends, in this process, over whose queue pairs the programs of a
                                           rank go: loopback's, or, with OUTSIDE, verbs' */
    const int *sockets;                 /* [count]: to the ranks of those */
    int count;
    uint32_t programs; /* of a rank, that have been started and not been reported; also sets of relays; 0: 32 */
    size_t tables;     /* bytes for those of one program, or of relays; 0: 65536 */
    size_t copied;     /* bytes of the longest buffer that is copied; 0: 16384 */
    uint32_t flags;
    size_t scratch; /* bytes for the scratch memory of a rank's operations by nodes in three parts, of all together that
                       are under way; as many for the ranks of all nodes; 0: 1 MiB. At most 1 GiB, as the two above */
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
 * nbcoll_comm_offloads), on memory of the process's own. So more is for those who have measured that it pays. */

/* Executes the programs of these ranks, until all have gone; sleeps while there is nothing to do. While relays stand,
 * and nothing moves, it looks again after 20 us to 1 ms, since ranks that hand over do not wake it. The endpoints and
 * sockets are its own from the call on, also after an error: each is closed when its rank has gone, so that others
 * which need it learn of it. A rank that dies ends its own programs half way, and those that need it with
 * ERR_PEER_LOST. OK, or, before anything is executed: ERR_NULL, ERR_CONFIG, ERR_UNSUPPORTED (no queue pairs, or the
 * system has no memfd), ERR_MEMORY. */
NBCOLL_API nbcoll_status nbcoll_agent_serve(const nbcoll_serve_config *config);

typedef struct nbcoll_attach_config {
    size_t size;
    const nbcoll_host *host; /* may be null; copied. `log` is told why a start is refused */
    int socket;              /* the agent's from the call on, also after an error */
    uint64_t timeout;        /* ns until the process must have answered; 0: a minute; NBCOLL_FOREVER */
    nbcoll_endpoint *memory; /* of this rank: the process is to share its memory, if a communicator has endpoints before
                                the agent's (nbcoll_mem_alloc takes from the first that shares any). Null: the agent's
                                own. Not needed after the call */
} nbcoll_attach_config;

/* An agent whose programs that process executes, for the endpoint's rank. nbcoll_agent_progress has nothing to do
 * there. nbcoll_agent_close tells the process that the rank has gone; the endpoint may be closed before. Differences:
 * nbcoll_agent_start is refused with ERR_BUFFER for buffers that cannot be named, and with ERR_LIMIT while `programs`
 * have not been reported; ERR_PEER_LOST is also said of the process: if it ends, each program and each start ends so;
 * one thread at a time may be in nbcoll_agent_test, whatever the run, beside one that starts. Errors: ERR_NULL,
 * ERR_CONFIG, ERR_RANK (it serves another rank there, or one of so many), ERR_ABI (another version), ERR_TIMEOUT,
 * ERR_PEER_LOST (it has ended), ERR_TRANSPORT, ERR_MEMORY. */
NBCOLL_API nbcoll_status nbcoll_agent_attach(nbcoll_endpoint *ep, const nbcoll_attach_config *config,
                                             nbcoll_agent **out);

/* Would a start of the program on these buffers be refused, apart from its blocks? OK: no. Else the error, and *why,
 * which may be null: MEMORY or TABLES (its rank: this one; needed, allowed: bytes), or, with another error, NONE. */
NBCOLL_API nbcoll_status nbcoll_agent_takes(const nbcoll_agent *agent, const nbcoll_program *program, const void *send,
                                            const void *recv, nbcoll_refusal *why);

/* ---- communicators with an agent ------------------------------------------------------------------------------- */

/* Where nbcoll_comm_config.agent names an agent, collectives of the communicator become programs, which are compiled at
 * the first call, as all ranks do, and kept with its schedules; a start hands the program to the agent. It ends without
 * this rank, which sees it in test, wait or progress. What is refused runs on the host's engine, on all ranks alike; so
 * does what the program builds itself. A driver or a thread of the host calls nbcoll_agent_progress, which wakes a rank
 * that sleeps in a wait or on nbcoll_fd.
 *
 *   - The agent is of the communicator's last endpoint, whose ranks are its ranks, in order; it stays open until that
 *     is freed. Else the communicator's creation is refused: ERR_UNSUPPORTED. An endpoint has one communicator with an
 *     agent at a time (what is made of one has none): while another one has not been freed, it is ERR_BUSY. The next
 *     one gets another agent, opened when all ranks have closed theirs; but after an agent has failed its endpoint
 *     keeps traces of queue pairs by which programs of a later one may end with ERR_PEER_LOST.
 *   - Programs come to the agent in the order of their starts, which is the same on all ranks; in a context made with
 *     NBCOLL_ANY_THREAD threads that share the communicator see to that, as for all operations. A driver of the context
 *     wakes those that wait when a program has ended; it need not be the driver that has the agent.
 *   - An algorithm by nodes (select.h), where the ranks of each node share memory, is carried out in three parts: ranks
 *     of a node meet in memory, the agents of the leaders do what is between nodes, as a program, and the result goes
 *     from memory to each rank. The first and the last part are the ranks' to progress, in test or wait, by
 *     nbcoll_progress, or by a driver, which then makes the copies; the second one needs none of that. A rank that is
 *     no leader has no program. Programs come to the agent in the order of the calls here, too: one whose node has come
 *     waits for earlier calls whose node has not. Where nodes share no memory, or vectors are cut in segments, all of
 *     such an algorithm is a program: nbcoll_comm_offloads tells.
 *   - Agents are processes on all ranks, with as many bytes of `tables` and `scratch` (nbcoll_serve_config), or on
 *     none: else the creation ends with ERR_MISMATCH. Scratch memory of leaders is a part of `scratch`: an operation by
 *     nodes waits before its first part until earlier ones have left room there. If a rank's is longer than all of
 *     that, all of the operation is a program, on all ranks. Of buffers only those matter that the part between nodes
 *     touches, at leaders. That part waits while `programs` have not been reported.
 *   - All ranks describe their data alike: by a type that packs (which is refused: CALL; but not in an algorithm by
 *     nodes in three parts, whose first and last part pack and unpack) on all of them, or on none; in place on all,
 *     where all may. In an alltoallw a rank all of whose blocks are empty has no type that packs.
 *   - What one rank alone knows does not bring an operation back to its engine, since the programs of others wait for
 *     this rank's: a call with a buffer that an agent's process can neither name nor copy is refused (ERR_BUFFER, and
 *     the reason in words to the agent's `log`, or else to the context's). Like every refused call it has taken no
 *     place in the order: with another buffer it is the same operation still.
 *   - Compiling takes memory for all ranks' programs; starting, for as many as are open at once, which is kept.
 *   - nbcoll_cancel of such an operation, also of one in three parts, or the loss of a rank, ends all that the agent
 *     has, since its queue pairs keep one order of all programs: with ERR_CANCELLED or ERR_PEER_LOST, where without
 *     agents a cancelled operation ends alone. Queue pairs are closed, so that nothing is written afterwards; peers
 *     learn of it by that, those with whom there was none yet by a message, as soon as a call of this rank has seen the
 *     end, and end with ERR_PEER_LOST. From then on starts of what would be a program are refused with that status
 *     (ERR_CANCELLED where the agent had no memory), here at once, elsewhere once it is known there, which is noted as
 *     the last failure (nbcoll_last_failure, nbcoll_comm_failure), of no rank unless an operation has ended so.
 *     Operations by nodes, which have their place in the order of the engine's, are started, and end with it. All other
 *     operations go on.
 *   - What needs a rank that has freed the communicator, and has not started it, ends as without agents: with
 *     ERR_MISMATCH, when those who wait for that rank have asked it, which takes about 0.1 s. */

/* Would it be offloaded, if it were called now? OK: yes; *why, which may be null, says in how many parts. Its reason is
 * NONE then, but for an algorithm by nodes that is offloaded as a whole: there it says why not in three parts. Errors:
 * ERR_UNSUPPORTED (no; *why says the reason: CARRIED where relays that carry out the communicator's calls (relay.h)
 * take it, also those that agents move), ERR_NULL, ERR_CONFIG (a size), those of nbcoll_args_complete, of selection and
 * of nbcoll_compile. It keeps nothing. */
NBCOLL_API nbcoll_status nbcoll_comm_offloads(nbcoll_comm *comm, const nbcoll_args *args, nbcoll_refusal *why);

#ifdef __cplusplus
}
#endif
#endif
