/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Receive-store-replicate: relays forward data through ranks that are late, so that a late rank delays only those that
 * need its own data. This header has their topologies (who forwards what to whom), and relays that run.
 *
 * A *relay* receives what comes by any of its sources, stores it, and sends it at once to all its destinations, again
 * and again: a pre-posted schedule of one RECV and k SENDs, which re-arms when they end. It never looks into
 * what it forwards, and does not ask whether its rank has started the operation. An nbcoll_topology is data: the relays
 * of one rank, and to which relays of other ranks they are joined. Relay 0 of a rank has no sources: it sends what the
 * rank itself contributes. Each block of each rank comes to each other rank exactly once, by one way. That is an
 * allgather; if only one rank contributes, a broadcast.
 *
 *     nbcoll_topology *mine;
 *     if (nbcoll_topology_make(NBCOLL_TOPOLOGY_BRUCK, 2, 9, 0, NULL, &mine) == NBCOLL_OK)
 *         nbcoll_show_topology(mine, to_file, stdout);     table 5.2 of the thesis
 *     nbcoll_topology_free(mine);
 *
 * Blocks travel in *fragments* of one size, each by itself. With F operations at a time, of at most f fragments a
 * block:
 *
 *   store        a rank that has not started an operation keeps what has come of it. F f fragments of each other rank
 *                are all that can be there: F f (P - 1) on P ranks, each once
 *   credits      a connection by which the blocks of n ranks come has F f n credits, each the right to one fragment. It
 *                goes back when the fragment is copied out here and sent on. A sender without one waits, and keeps its
 *                fragments
 *   window       a rank contributes to operation t when all of operation t - F has come to it. Else a rank that is
 *                ahead would fill the store of one that is late, and others would find no room there
 *   promise      of the first F operations that a rank has not started, all that other ranks contribute comes to all
 *                ranks. Of later ones it waits where it is, without error or loss, until the late rank starts
 *
 * The number of connections does not depend on the number of operations at a time. nbcoll_play_topologies plays relays
 * with these rules, where all relays of a rank share its store. Relays that the ranks' engines run have a store for
 * each origin, and other credits. Relays that agents run have a store for each node, and twice as many credits: see
 * nbcoll_relays.
 *
 * Source: Inozemtsev, "Overlapping Computation and Communication through Offloading in MPI over InfiniBand" (2014),
 * chapter 5, for all topologies but that of a ring, which needs a relay for each hop: one that does not look at what
 * comes cannot know where the ring ends.
 *
 * Functions on topologies are pure, apart from memory; any thread may call them. A topology is immutable. Running
 * relays belong to their communicator's context: one thread at a time. Until they are closed the context cannot be
 * freed or abandoned (ERR_BUSY), nor can a communicator be freed that must outlive them. A rank that cannot wait until
 * others close them declares one of these ranks lost (nbcoll_comm_declare_lost): that breaks the relays, and they close
 * at once.
 */
#include "nodes.h"

#ifndef NBCOLL_RELAY_H
#define NBCOLL_RELAY_H

#if defined NBCOLL_WITH_OFFLOAD && !NBCOLL_WITH_OFFLOAD
#error "nbcoll/relay.h is of the component offload: define NBCOLL_WITH_OFFLOAD=1, or link nbcoll_offload"
#endif

NBCOLLI_BEGIN

/* ---- topologies -------------------------------------------------------------------------------------------------- */

/* Append-only: X(name, as it is printed). With R rounds of k ports, base k + 1:
 *
 *   DIRECT     each rank to all others: 2 (P - 1) connections
 *   RING       each to the next one, a relay for each hop: 2 (P - 1)
 *   EXCHANGE   standard exchange without concatenation: a relay for each round, whose partners differ in one digit
 *   BRUCK      likewise, but partners are at a distance: k R (R + 1) connections where P is a power of k + 1
 *   CAYLEY     the tree of allgather/cayley, where a rank has at most k + 1 neighbours: of c of them, c^2 outgoing
 *
 * What each does for one operation, once its ranks have started that, is allgather/flat, ring, exchange_pipelined,
 * bruck_pipelined or cayley, which a communicator with NBCOLL_ARRIVAL_TOLERANT chooses among.
 *
 * Where P is no power of k + 1, in EXCHANGE and BRUCK as many groups take part as are a digit times a power: each is
 * one rank or two, of which the first one stands for both. */
#define NBCOLL_TOPOLOGY_LIST(X)                                                                                        \
    X(DIRECT, "direct") X(RING, "ring") X(EXCHANGE, "exchange") X(BRUCK, "bruck") X(CAYLEY, "cayley")
typedef enum nbcoll_topology_kind {
#define NBCOLLI_TOPOLOGY_ENUM(name, text) NBCOLL_TOPOLOGY_##name,
    NBCOLL_TOPOLOGY_LIST(NBCOLLI_TOPOLOGY_ENUM)
#undef NBCOLLI_TOPOLOGY_ENUM
        NBCOLL_TOPOLOGY_COUNT
} nbcoll_topology_kind;

/* "direct", ...; "?" for an unknown one. */
NBCOLL_API const char *nbcoll_topology_name(nbcoll_topology_kind kind);

/* One end of a connection names the other one. */
typedef struct nbcoll_relay_end {
    int rank;
    uint32_t relay;   /* of that rank */
    uint32_t origins; /* blocks of so many ranks travel by it in each operation: that, F and f make its credits */
} nbcoll_relay_end;

typedef struct nbcoll_relay {
    uint32_t sources, destinations;
    const nbcoll_relay_end *source, *destination; /* by rank, then relay */
} nbcoll_relay;

/* The relays of one rank. A host may fill in its own, with arrays that are its own, too. */
typedef struct nbcoll_topology {
    size_t size;
    const char *name;
    int rank, ranks;
    uint32_t relays;
    uint32_t connections; /* sources and destinations of all relays */
    const nbcoll_relay *relay;
} nbcoll_topology;

/* The topology of one rank; `ports`: k, 0: 2. The caller frees it by nbcoll_topology_free. `host`: for memory; may be
 * null. Errors: ERR_NULL, ERR_CONFIG (the host's size), ERR_RANK (ranks < 1, or no such rank), ERR_ARGUMENT (no such
 * kind), ERR_MEMORY. */
NBCOLL_API nbcoll_status nbcoll_topology_make(nbcoll_topology_kind kind, unsigned ports, int ranks, int rank,
                                            const nbcoll_host *host, nbcoll_topology **out);

/* The same, hierarchical: the first rank of a node leads it. Leaders are joined by the topology of that kind over the
 * nodes, as if each node were one rank. Every other rank has relay 0, to its leader, and relay 1, for all that comes
 * from there; the leader has a relay more for each of them, behind those of the kind, which sends what that rank
 * contributes to the other leaders, like its own, and to the others of the node. So nodes are joined by as few
 * connections as if there were no other ranks. `nodes` is read during the call. Errors: those of
 * nbcoll_topology_make. */
NBCOLL_API nbcoll_status nbcoll_topology_make_nodes(nbcoll_topology_kind kind, unsigned ports,
                                                    const nbcoll_nodes *nodes, int rank, const nbcoll_host *host,
                                                    nbcoll_topology **out);

/* Of what these two have made. Null is accepted. */
NBCOLL_API void nbcoll_topology_free(nbcoll_topology *topology);

/* ---- running ----------------------------------------------------------------------------------------------------- */

/* Relays over a communicator, joined by a topology. In their allgathers and broadcasts a rank receives and forwards the
 * data of others whether or not it has started the operation. The ranks' engines move the relays, or agents do.
 *
 *     nbcoll_relays *relays;
 *     nbcoll_relays_config config = NBCOLL_RELAYS_DEFAULTS;
 *     uint64_t operation;
 *     nbcoll_relays_open(comm, &config, &relays);
 *     nbcoll_relays_wait(relays, 0, NBCOLL_FOREVER);                     all ranks have them
 *     nbcoll_relays_allgather(relays, mine, all, bytes, &operation);
 *     compute();
 *     nbcoll_relays_wait(relays, operation, NBCOLL_FOREVER);
 *     nbcoll_relays_close(relays, NBCOLL_FOREVER);
 *
 * The blocks of each origin have a communicator of their own, their *stream*. On it each fragment is an operation: the
 * relay's one receive into the store, and then its sends from there. A rank has started 3 F f of them ahead in each
 * stream, and starts another one when it has copied a fragment out. So F operations may be under way, and there is room
 * for F more, which the rank has not started. Fragments move whenever the rank's context does: in any of its calls, and
 * by a driver (driver.h) while it computes. One credit goes back for each F f fragments that all ranks have copied out;
 * without credits the origin holds fragments back that would find no room. Streams do not share their stores: a full
 * one delays no other. A fragment takes `fragment` bytes on its way, however short its content, and 32 bytes that name
 * the operation and the place in the block.
 *
 * Memory of a rank: 3 F f fragments for each rank, and an operation that stands ready for each of them (3 KiB at most,
 * with all that belongs to it), two communicators for each rank, and one for the closing; nothing is allocated after
 * the opening. Connections: those of the topology.
 *
 * `hierarchical` joins the leaders of the communicator's nodes by the topology, and each other rank of a node with its
 * leader (nbcoll_topology_make_nodes). The leader has the store of its node, and publishes there what comes; a place is
 * free when the node's ranks have copied it and it is sent on. If ranks share memory the store lies there
 * (nbcoll_mem_alloc), unless there is too little of it for the store and the cells of all streams. A stream without
 * cells goes by messages. The cells of each stream take of a rank's shared memory, with up(n) for n rounded up to 128
 * bytes and L for the rank that leads its node
 *
 *     up(4 P) + 128 + up(48 F f + 8 L)   and of who leads others 384 F f more
 *
 * and up(8 P) in all. With the defaults, and with what the closing takes, 64 ranks of one node have 82 KB each, their
 * leader 475 KB, for which shm's default quota has room (nbcoll_shm_quota). Relays that do not go by nodes take cells
 * for the closing alone (nbcoll_cells_bytes of 3 slots and one cell: 4 KB with 16 ranks). A rank that is no leader
 * copies fragment after fragment when it comes. So it delays nobody, even if its context does not move at all, until
 * its leader's store is full of a stream; then that stream waits for it. Data that comes to a node, or leaves it, waits
 * for the leader's context to move. A rank that is no leader may learn only when it starts operations that the relays
 * are broken; operations whose blocks it has still end well. If ranks of a node do not share memory, messages replace
 * exposures: the store is the leader's as well, and a few more fragments are kept as unexpected messages.
 *
 *   fragments of a leader       3 F f P
 *   of another rank             3 F f + 2 (P - 1)
 *
 * A fragment takes its `fragment` + 32 bytes in whole lines of 64. The communicator must outlive such relays.
 *
 * If a rank is lost, all operations that are under way, and all later ones, end with ERR_PEER_LOST: make other relays
 * over what nbcoll_comm_shrink gives. What breaks the relays of one rank breaks those of all: its next test, wait or
 * closing tells the others, whose operations end with the same status or with ERR_CANCELLED.
 *
 * With `carries` the relays execute the communicator's own short calls: from the opening to the closing every allgather
 * and bcast, nonblocking, persistent or blocking, in which a rank (or the root) contributes at most `carries` bytes,
 * unless a rule of the communicator names another algorithm (select.h). All ranks know length and rules, so all decide
 * alike. They open and close relays at the same place in the order of the communicator's calls.
 *
 *     config.carries = 4096;
 *     nbcoll_relays_open(comm, &config, &relays);
 *     nbcoll_iallgather(mine, all, 64, NBCOLL_DOUBLE, comm, &request);   by relays, when all ranks have them
 *     nbcoll_wait(&request, NBCOLL_FOREVER);
 *     nbcoll_relays_close(relays, NBCOLL_FOREVER);
 *
 * Requests are like others, and move by any pass over the context: a wait for one of them, nbcoll_progress, a driver.
 * With F under way the next ones wait, in their order; their number has no limit. A rank receives and forwards the data
 * of the first F calls that it has not started, while it makes passes or has a driver. If any thread may call the
 * context, any thread may make these calls. After a deadline nbcoll_comm_failure names the first rank whose block has
 * not come (-1: the call waits for room), though not where that rank is. What differs:
 *
 *   - a call that is cancelled, also by the deadline of a blocking call, ends with ERR_CANCELLED on all ranks where it
 *     has not ended. On a rank that starts it later it ends so, too, or well, if all blocks are there. Other calls go
 *     on. A cancelled call that waits for room ends in its turn;
 *   - a call that is cancelled before the relays are open breaks them on all ranks: all calls under way, and all later
 *     ones, end with ERR_CANCELLED, until relays are closed. A lost rank breaks them likewise, with ERR_PEER_LOST (by
 *     agents perhaps ERR_CANCELLED), and so do ranks out of step: with ERR_MISMATCH on ranks that find it, on others
 *     with the same or with ERR_CANCELLED;
 *   - types that pack need memory: F P blocks of `carries` bytes, and up to 64 bytes for each of the F. The first such
 *     call of a rank takes it (ERR_MEMORY: the call has not begun here), the closing gives it back. If packing fails
 *     the call ends with ERR_CALL here, and on other ranks as if it were cancelled; if unpacking fails, it ends so on
 *     this rank alone;
 *   - a persistent request that was made while they were open cannot be started after they are closed (ERR_REQUEST),
 *     also while other relays are open. A persistent request that was made before they were opened goes on by its
 *     schedule;
 *   - the communicator must outlive them. It has one such set of relays at a time.
 *
 * With `by_agents`, with or without `carries`, agents of the nodes (offload.h) move them instead: each node has one
 * agent, which its first rank, the leader, gives. The topology joins the nodes as if each were one rank
 * (nbcoll_comm_nodes). A relay is a set of shared receives of the transport (nbcoll_offload in transport.h), a
 * connection a queue pair. Data that comes lies in a store that the ranks of the node share. The agent sends it on at
 * once; each rank copies it when it has started the operation. The node receives and forwards while its ranks call
 * nothing; only the agent must move.
 *
 *     nbcoll_agent_open(endpoint, &agent_config, &config.agent);          on the first rank of each node
 *     config.by_agents = 1;                                               on all
 *     nbcoll_relays_open(comm, &config, &relays);                         a thread of the host's moves the agent
 *
 * The store of a node of n ranks among P has 2 F f P buffers: for what comes of each other rank, of F operations that
 * ranks of the node have started and not copied, and F that they have not started; and as many for each rank of the
 * node to contribute. A connection has 2 F f credits for each rank whose blocks come by it. With `carries` there are 3
 * F more of each: a call may be cancelled when all of a block has gone, which is said by one more fragment. A buffer
 * that all n have copied, and that is sent on, receives again, and its credit goes back; until then its sender waits.
 * What differs:
 *
 *   - a rank that contributes nothing to a broadcast sends a fragment of no bytes, which tells others that it has
 *     started the broadcast. Until all ranks have, the operation counts among the F under way: it ends when the root's
 *     block has come, but the F-th one after it cannot be started (ERR_BUSY);
 *   - one communicator is opened. The host moves the agents until relays have been opened, and until they are closed. A
 *     rank that moves its agent itself waits by nbcoll_relays_test, and closes with timeout 0;
 *   - what a leader lacks is told to all ranks before any agent opens anything: ERR_UNSUPPORTED (its agent is null, or
 *     not of this rank of the communicator's last endpoint; the transport has no shared receives; ranks of its node, or
 *     the agent's process, share no memory), ERR_MEMORY, ERR_LIMIT (1024 connections from one node to another; tables
 *     that the agent's process has no room for; or the device has no queue pairs for so many messages, or not so many:
 *     the transport's log says its limit); then errors of an agent as it opens its queue pairs: also ERR_LIMIT (others
 *     have what the device had left: the log says of what), ERR_TRANSPORT, and ERR_DUPLICATE (relays are still open
 *     that the same rank led 2^20 openings ago). An agent's process is asked only then: also ERR_UNSUPPORTED, ERR_LIMIT
 *     (the device; or it has as many relays of this rank as it takes), ERR_PEER_LOST (it has ended);
 *   - with `carries` calls move in passes over the context, also those of a driver, which look at the node's store.
 *     Waits for them sleep as others do, and nbcoll_fd tells of arrivals. Ticks do not move these calls. A cancelled
 *     call counts among the F under way until all ranks have started it, or have said that it is cancelled;
 *   - an agent that fails, is cancelled or closed ends them like a rank that is lost: on its node with that status,
 *     elsewhere with ERR_PEER_LOST. So does a rank that finds that ranks differ (there ERR_MISMATCH). Its programs go
 *     on. Errors of programs do not end relays, but nbcoll_agent_cancel does. The agent's memory may go before relays
 *     are closed, the endpoint may not.
 *
 * An agent that is a process (nbcoll_agent_attach) moves them also while all ranks of its node are stopped: the node
 * still receives and forwards, and sends what its ranks have contributed. What differs:
 *
 *   - the store lies in memory that the leader's transport shares with that process (shm does), also where a node has
 *     one rank;
 *   - tables of their connections have as much room there as those of a program, and of a leader there are no more
 *     relays at a time than programs (nbcoll_serve_config; else ERR_LIMIT). They are handed over by a program's place:
 *     while the ends of as many programs have not been reported, the opening waits;
 *   - the process checks all that ranks have written. Impossible values break these relays, and nothing else: with
 *     ERR_ARGUMENT on the node, elsewhere with ERR_PEER_LOST;
 *   - each rank that is attached to that process, leader or not, gives its agent. Calls on a rank's relays start and
 *     test on that agent: meanwhile no other thread may do so. nbcoll_agent_close is ERR_BUSY until the relays are
 *     closed;
 *   - the process wakes only ranks that have given their agent. Waits of other ranks look each millisecond, and so does
 *     a driver with `carries`; for these ranks nbcoll_arm is ERR_UNSUPPORTED;
 *   - each rank of the node notices in its calls that the process has ended, also while its leader is stopped; the end
 *     of the process also ends the sleep of ranks that it wakes. For that a rank that has given no agent holds one
 *     descriptor, from the opening to the closing. If it cannot see the process (no descriptor is left, another PID
 *     namespace) its leader tells it.
 *
 * Memory of a node's store, of the leader's transport where the node has several ranks or its agent is a process
 * (nbcoll_mem_alloc says what that means), each term rounded up to 64 bytes:
 *
 *     192 + 64 n + 4 * 2 F f P + 2 F f P * (64 + (40 + fragment))
 *
 * Beside it each rank has 8 F f P bytes (with `carries` 2 f + 3 stands for 2 f, there as well), and 4 P F for its
 * operations, and a leader, or its agent's process for it, 8 bytes for each buffer, and 4 for each buffer of a relay
 * and destination of it; taken in pieces of 16 KiB, or 32 and more where that is too little. When broken relays are
 * closed a store stays reserved, with the transport's memory, unless all other ranks of the node have closed theirs
 * before. */
typedef struct nbcoll_relays nbcoll_relays;

/* The same on all ranks, but for host and agent. Of ranks that differ the opening ends with ERR_MISMATCH, and their
 * communicator is out of step; the log says which ranks. */
typedef struct nbcoll_relays_config {
    size_t size;
    const nbcoll_host *host; /* for memory and time; may be null; copied */
    nbcoll_topology_kind topology;
    uint32_t ports;     /* k of the topology; 0: 2 */
    uint32_t at_once;   /* F: operations that a rank may have under way. 1..1024 */
    uint32_t fragments; /* f: of the longest block. 1..1024; 3 F f no more than 32768 */
    uint32_t fragment;  /* bytes of a block in one. 1..2^30 */
    size_t carries;     /* bytes of a block up to which they carry out the communicator's calls. 0: they have calls of
                           their own only. Up to f * fragment */
    struct nbcoll_agent *agent; /* this rank's own, with `by_agents`. On ranks that are not their node's first, only an
                                   agent that is a process counts */
    uint32_t by_agents;         /* 1: agents move them, 0: the ranks' engines */
    uint32_t hierarchical;      /* 1: they go by the nodes of the communicator, as by agents they do anyway. 0: as if
                               each rank were a node */
} nbcoll_relays_config;
/* clang-format off */
#define NBCOLL_RELAYS_DEFAULTS { sizeof(nbcoll_relays_config), 0, NBCOLL_TOPOLOGY_CAYLEY, 2, 4, 4, 4064, 0, 0, 0, 0 }
/* clang-format on */

/* Begins to make relays between all ranks of `comm`, collectively, by one of its operations. Test or wait for operation
 * 0 tells when they are there. `config`: null: the defaults. `comm` must outlive the opening, by agents the relays.
 * Errors: ERR_NULL, ERR_CONFIG (the size; a number out of its range), ERR_BUSY (others carry out its calls),
 * ERR_MEMORY, ERR_LIMIT (its table of requests is full), and those of nbcoll_comm_idup: then nothing has begun here,
 * and others wait until this rank calls again. What a rank lacks later ends the opening on all ranks, with ERR_MEMORY,
 * elsewhere also ERR_CANCELLED, or, by agents, ERR_PEER_LOST; when these relays are closed others can be opened. */
NBCOLL_API nbcoll_status nbcoll_relays_open(nbcoll_comm *comm, const nbcoll_relays_config *config,
                                            nbcoll_relays **out);

/* Start an operation, of which *operation becomes the number: 1, 2, ... All ranks start the same ones in the same
 * order, with the same `bytes` of a block. Of an allgather this rank's block is at `send` (null: at its place in
 * `recv`), and rank r's comes to recv + r * bytes. Of a broadcast the root's `buffer` is read, those of others are
 * written. Buffers are lent until the operation has ended. Errors: ERR_NULL, ERR_COUNT (more than f fragments),
 * ERR_ROOT, ERR_BUSY (F operations are under way, or they are being opened or closed), ERR_UNSUPPORTED (they carry out
 * the communicator's calls), ERR_FORKED, and that by which the relays are broken. */
NBCOLL_API nbcoll_status nbcoll_relays_allgather(nbcoll_relays *relays, const void *send, void *recv, size_t bytes,
                                                 uint64_t *operation);
NBCOLL_API nbcoll_status nbcoll_relays_bcast(nbcoll_relays *relays, void *buffer, size_t bytes, int root,
                                             uint64_t *operation);

/* Has it ended? It has when the blocks of all have come (of a broadcast: the root's), and this rank's own is in its
 * store. OK, NBCOLL_PENDING (wait: ERR_TIMEOUT after `timeout` ns, the operation goes on), or how it ended: what
 * requests end with (nbcoll.h; ERR_MISMATCH also where ranks passed other bytes, or another operation). Of one that
 * ended before it is OK. Errors: ERR_NULL, ERR_REQUEST (no such operation was started; the communicator's calls have no
 * numbers), ERR_FORKED. */
NBCOLL_API nbcoll_status nbcoll_relays_test(nbcoll_relays *relays, uint64_t operation);
NBCOLL_API nbcoll_status nbcoll_relays_wait(nbcoll_relays *relays, uint64_t operation, uint64_t timeout);

/* Has the block of this rank come, whoever else is late? OK or NBCOLL_PENDING; this rank's own has, when it is stored.
 * It progresses nothing; test does. Errors: ERR_NULL, ERR_RANK, ERR_REQUEST, ERR_FORKED. */
NBCOLL_API nbcoll_status nbcoll_relays_arrived(const nbcoll_relays *relays, uint64_t operation, int rank);

/* Closes the relays, collectively, and frees all. Operations that others have started, and this rank has not, are
 * dropped here. OK, or ERR_TIMEOUT after `timeout` ns: call it again. Broken relays close at once, whatever others do.
 * So do relays that this rank has not yet seen open (test and wait returned PENDING or ERR_TIMEOUT): that gives them up
 * for all. The opening of others ends, or what they have opened breaks, with ERR_CANCELLED (by agents perhaps
 * ERR_PEER_LOST), and all may open others. Errors: ERR_NULL, ERR_BUSY (an operation is under way), ERR_FORKED. */
NBCOLL_API nbcoll_status nbcoll_relays_close(nbcoll_relays *relays, uint64_t timeout);

NBCOLLI_END
#endif
