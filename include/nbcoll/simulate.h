/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The simulator: what a collective costs on a machine that nobody has here. It reads the schedules of all ranks, as the
 * verifier does, and plays them in virtual time, in one thread: a million ranks fit into a laptop. Nothing is
 * transferred, so no engine and no transport takes part.
 *
 *     nbcoll_case c = {.size = sizeof c, .operation = NBCOLL_OPERATION_BCAST, .ranks = 1024, .count = 1000};
 *     nbcoll_sim_model model = {.size = sizeof model};
 *     nbcoll_sim_config config = {.size = sizeof config, .ranks = 1024, .model = &model};
 *     nbcoll_sim_result result = {.size = sizeof result};
 *     nbcoll_sim_model_find("cluster", &model);
 *     nbcoll_sim_case one = {nbcoll_algorithm_at(NBCOLL_OPERATION_BCAST, 0), &c};
 *     if (nbcoll_simulate_cases(&config, &one, &result) == NBCOLL_OK)
 *         printf("%" PRIu64 " ns\n", result.last);
 *
 * Time is in whole nanoseconds; all that is random comes from the seed. The same input gives the same output, to the
 * bit, on every machine.
 *
 * Messages cost what LogGP says (Alexandrov, Ionescu, Schauser, Scheiman, "LogGP: incorporating long messages into the
 * LogP model", 1995). Of a message of n bytes, the sender's core works o_send; then its network interface, when it is
 * free, sends it, (n - 1) G long, and is free again g later; the last byte arrives L + (n - 1) G after the first one
 * left, or later where the receiver's interface took another message less than g + (n - 1) G before; when the core has
 * time, it works o_recv. A message that comes before its RECV may begin is stored (`unexpected`). A SEND ends when its
 * core has worked for it, a RECV after o_recv. A message longer than `eager` is asked for: the sender sends an empty
 * message, the receiver an empty answer as soon as the RECV may start, and then the bytes follow. Each costs as above;
 * the SEND ends when the interface has the bytes. Hockney's model alpha + beta n is that of L = g = alpha + beta, G =
 * beta, o = 0.
 *
 * Inside a node cores move the bytes of messages, as over shared memory: the sender's copies them in, beside o_send, at
 * the price of a copy, and the receiver's copies them out, beside o_recv, (n - 1) G long. A message longer than `eager`
 * is announced only: once its RECV may start, the receiver's core gets it from the sender's memory, beside o_recv,
 * L + (n - 1) G long, and an empty answer ends the SEND. NICs (`task`) send messages inside nodes like all others.
 *
 * Interfaces send and receive at the same time. Each rank has one into its node. To other nodes it has one of its own,
 * or shares those of its node (`interfaces`), which serve messages in the order of coming. A rank deals its messages
 * over them in turn, beginning with the interface of its place in the node; so it does with messages that it receives.
 *
 * An exposure moves no message; only ranks of one node may share it. For an EXPOSE the owner's core works o_send. If
 * all parts together (equal regions in a row counted once) have at most `cell` bytes, and do not grow, it also copies
 * them into the cell, and the EXPOSE ends. L later each reader sees the exposure. When its core has time, it works
 * o_recv, and looks its part up if the cell holds others, too (`table`). It copies the part from the cell; if the part
 * is not there it waits L for the first byte and G for each other one; a FETCH_REDUCE combines too. L after the last
 * reader has ended the owner sees that a larger EXPOSE has ended, without work. All this costs the prices inside a
 * node; a reader in the owner's domain pays those inside a domain.
 *
 * A core does one thing at a time, first come first served; steps that become ready by its work come next. JOINs cost
 * nothing, a CALL as much as a COPY of what it reads. Without progress cores a rank executes steps while it is inside
 * the library: in start, in a test, in wait, at a tick of its timer, and for a moment when it ends a computation.
 * Progress cores execute all steps, at any time. A model with `lanes` leaves some steps to the rank: those of the lane
 * CALLER, and, in a start or while it waits for them, those of START; only these take time of a computation. Without
 * progress cores lanes mean nothing.
 *
 * If operations are `preposted`, as relays are (relay.h), a rank receives and forwards data of operations
 * that it has not started: RECVs that wait for nothing but such steps, and SENDs of what these have brought. Progress
 * cores execute them at any time; the rank does so while it is inside the library for any reason. All else waits until
 * the rank has started the operation. Received data is in a store. Once the rank has started the operation, it copies
 * the data from there (or progress cores do, unless they are NICs); the schedule copies what came to scratch memory. A
 * rank contributes nothing to operation t before all of t - `preposted` has come to it. So it stores at most
 * `preposted` blocks of each other rank of an allgather; of other operations it leaves further data at its sender. In
 * relays that run, credits do that.
 */
#include "nodes.h"
#include "schedule.h"

#ifndef NBCOLL_SIMULATE_H
#define NBCOLL_SIMULATE_H

#if defined NBCOLL_WITH_LAB && !NBCOLL_WITH_LAB
#error "nbcoll/simulate.h is of the component lab: define NBCOLL_WITH_LAB=1, or link nbcoll_lab"
#endif

NBCOLLI_BEGIN

/* ---- the machine ------------------------------------------------------------------------------------------------- */

#define NBCOLL_SIM_MOST_NS ((uint64_t)1 << 40)    /* the longest of all times below */
#define NBCOLL_SIM_MOST_PS ((uint64_t)1 << 20)    /* the highest price of a byte */
#define NBCOLL_SIM_MOST_BYTES ((uint64_t)1 << 40) /* the longest step */

typedef struct nbcoll_sim_link {
    uint64_t latency;        /* L, ns */
    uint64_t o_send, o_recv; /* ns of the core */
    uint64_t gap;            /* g, ns */
    uint64_t byte;           /* G, picoseconds; products are rounded down to nanoseconds */
} nbcoll_sim_link;

/* Members that later versions append cost nothing where they are 0, and in a model whose `size` does not reach them. */
typedef struct nbcoll_sim_model {
    size_t size;
    nbcoll_sim_link inside, between; /* messages in a node (`byte`: of a core), and between nodes */
    uint64_t step;                   /* ns of the core for each step but JOINs */
    uint64_t copy, reduce;           /* picoseconds of the core for each byte copied, and combined */
    uint64_t eager;                  /* bytes of the longest message that is not asked for; 0: none is asked for */
    uint32_t node;                   /* neighbouring ranks in a node, unless the config has `nodes`; 0: one */
    uint32_t cores;                  /* of a node, those for progress included; 0: one for each rank beside those */
    uint32_t progress;               /* cores that do nothing but the ranks' communication */
    uint32_t cell;                   /* bytes of the largest exposure that is copied into its cell */
    uint32_t lanes;                  /* 1: of lanes, progress cores do all but what is the rank's own; 0: all steps */
    uint64_t wake;                   /* ns that a progress core needs to begin where it had nothing to do */
    uint64_t unexpected;             /* ns more of the core for a message that came before its RECV could begin, */
    uint64_t unexpected_byte;        /* and picoseconds of the core for each byte of it, unless it was asked for */
    uint32_t interfaces;             /* of a node, to others, that its ranks share; 0: each rank has its own */
    uint64_t tick, tick_cost;        /* ns: a timer enters the library of a rank that computes, at each multiple of
                                        `tick`, as a test does, and takes that of the computation; 0: there is none */
    uint32_t pool;                   /* 1: the progress cores of a node work for all its ranks, each for whoever comes
                                        when it is free; 0: each rank has one, which it may share with others */
    uint64_t contention;             /* ns of a progress core before each piece of work that takes time, for each other
                                        rank that shares it and has steps for it under way: drivers that are gathered
                                        on a core look in turn. Ranks of a pool are taken as dealt evenly over it */
    nbcoll_sim_link domain;          /* in a domain of a node, if the config's `nodes` have any; all 0: as `inside` */
    uint64_t table;                  /* ns more of the core for finding a reader's own part in a cell */
    uint64_t task;                   /* ns: progress cores are NICs, which work so long for each message that they
                                        send, receive, ask for or answer, whatever `step`, o_send and o_recv are, and to
                                        which no noise comes; 0: they are cores */
} nbcoll_sim_model;

/* Where pulses lie in their periods. */
typedef enum nbcoll_sim_phase {
    NBCOLL_SIM_TOGETHER, /* at the beginning, on all cores at once */
    NBCOLL_SIM_APART,    /* each core has its own place */
    NBCOLL_SIM_RANDOM    /* another place in each period */
} nbcoll_sim_phase;

/* Something else takes a core away, `length` ns long, once in each `period`. */
typedef struct nbcoll_sim_noise {
    uint64_t period, length; /* ns; period 0: no noise. length < period */
    uint32_t share;          /* of the cores it comes to, in 1/1000; which, the seed says */
    nbcoll_sim_phase phase;
} nbcoll_sim_noise;

/* ---- the ranks --------------------------------------------------------------------------------------------------- */

/* What a rank does, one action after the other. Operations have the numbers 0, 1, ... in the order in which they are
 * started, the same on all ranks. They are independent: several may be in flight at once. */
typedef enum nbcoll_sim_act {
    NBCOLL_SIM_COMPUTE, /* for `compute`, with a test after each `test_every` of it; ns of its core, 0: no tests. Ranks
                           that share a core compute in turns */
    NBCOLL_SIM_START,   /* the next operation */
    NBCOLL_SIM_WAIT,    /* for the end of `operation`, which it has started */
    NBCOLL_SIM_WAIT_STARTED, /* for its steps of the lane START, which the rank does meanwhile: nbcoll_wait_started */
} nbcoll_sim_act;

typedef struct nbcoll_sim_action {
    nbcoll_sim_act act;
    uint32_t operation;
    uint64_t compute, test_every;
} nbcoll_sim_action;

/* A program starts all operations; in the end the rank waits for those it has not waited for. No actions: all starts,
 * one after the other. Of programs that are equal one array is enough; it is the caller's. */
typedef struct nbcoll_sim_program {
    const nbcoll_sim_action *action;
    size_t actions;
} nbcoll_sim_program;

/* By how much ranks begin their programs later than at 0. */
typedef enum nbcoll_sim_pattern {
    NBCOLL_SIM_PUNCTUAL,  /* not at all */
    NBCOLL_SIM_ONE_LATE,  /* rank `rank`, by `spread` */
    NBCOLL_SIM_RISING,    /* rank r by r / (ranks - 1) of `spread` */
    NBCOLL_SIM_SCATTERED, /* each by anything up to `spread` */
} nbcoll_sim_pattern;

typedef struct nbcoll_sim_arrival {
    nbcoll_sim_pattern pattern;
    int rank;
    uint64_t spread; /* ns */
} nbcoll_sim_arrival;

/* ---- what happens ------------------------------------------------------------------------------------------------ */

typedef enum nbcoll_sim_what {
    NBCOLL_SIM_STEP,    /* a core worked for a step, from `begin` to `end`; of a long message there are several. A COPY
                           with the step of a RECV: from the store */
    NBCOLL_SIM_MESSAGE, /* rank's message for the RECV `step` of `peer` left at `begin`; it is there at `end`, or later
                           where the peer's interface is not free. Or: rank's exposure for its FETCH, which sees it at
                           `end` */
    NBCOLL_SIM_STARTED, /* the rank started the operation */
    NBCOLL_SIM_ENDED,   /* its (first) wait for the operation returned */
} nbcoll_sim_what;

typedef struct nbcoll_sim_event {
    nbcoll_sim_what what;
    nbcoll_kind kind; /* of the step */
    int rank, peer;   /* peer: -1 where there is none */
    nbcoll_step step; /* as in the schedule */
    uint64_t bytes, begin, end; /* STARTED, ENDED: begin == end */
    uint32_t operation;
} nbcoll_sim_event;

typedef enum nbcoll_sim_part { NBCOLL_SIM_BUILDING, NBCOLL_SIM_PLAYING } nbcoll_sim_part;

typedef struct nbcoll_sim_config {
    size_t size;
    const nbcoll_host *host; /* memory; may be null */
    int ranks;
    uint32_t operations; /* that each rank starts; 0: one */
    uint64_t seed;
    const nbcoll_sim_model *model; /* read during the call only */
    nbcoll_sim_noise noise;
    nbcoll_sim_arrival arrival;
    nbcoll_sim_program program;         /* every rank's, */
    const nbcoll_sim_program *programs; /* or, unless null, [ranks] */
    void *user;
    /* Null, or told all that happens; the STEPs of one rank in the order of time. */
    void (*event)(void *user, const nbcoll_sim_event *event);
    /* Null, or told now and then how much of a part is done: schedules built, or messages arrived. */
    void (*progress)(void *user, nbcoll_sim_part part, uint64_t done, uint64_t total);
    /* Null, or says how many bytes block `index` of the send buffer (is_recv: of the receive buffer) of a rank has as
     * it travels, packed if its type packs, where a schedule has bound blocks. Its `user` is that of `build`. */
    uint64_t (*block)(void *user, uint32_t operation, int rank, int is_recv, int index);
    const nbcoll_nodes *nodes; /* null, or which ranks are on which node, instead of the model's `node` */
    uint32_t preposted; /* number of operations that go on on a rank which has not started them; 0: none */
    uint32_t repeat;   /* build only the first `repeat` operations: operation i has the schedules, and the lengths of
                          blocks, of operation i % repeat. Where many are alike that saves the larger part of the time.
                          0: build each */
} nbcoll_sim_config;

/* ---- the result -------------------------------------------------------------------------------------------------- */

/* One operation on one rank. */
typedef struct nbcoll_sim_rank {
    uint64_t started; /* ns */
    uint64_t ended;   /* the last step */
    uint64_t waited;  /* the (first) wait for it returned */
    uint64_t cpu;     /* ns a core worked for it; noise not counted */
} nbcoll_sim_rank;

typedef struct nbcoll_sim_result {
    size_t size;
    nbcoll_sim_rank *rank; /* [operations][ranks], the caller's; null: not wanted */
    uint64_t first, last;  /* the earliest and the latest `ended` */
    uint64_t waited;       /* when the last program ended */
    uint64_t cpu;          /* of all ranks together */
    uint64_t messages, bytes; /* SENDs, and what they carry */
    uint64_t arrivals;     /* messages that arrived: with those that only ask and answer, and what is seen of cells */
    uint32_t rounds;       /* the most messages after each other, each waiting for the one before */
    uint32_t peers;        /* the most ranks that one rank sends to or receives from, in one operation */
    uint32_t links;        /* the same, a rank counting twice that it both sends to and receives from */
    uint32_t shapes;       /* different schedules, when peers are counted from the rank on */
    uint64_t memory;       /* the most bytes that the simulator held, schedules being built not counted */
    uint64_t fetches, fetched; /* FETCHes and FETCH_REDUCEs, and what they fetch */
    uint64_t stored; /* bytes: the most that one rank had of operations that it had not started */
} nbcoll_sim_result;

/* Builds the schedule of one operation on one rank; the simulator frees it, before it asks for the next. */
typedef nbcoll_status nbcoll_sim_build(void *user, uint32_t operation, int rank, nbcoll_schedule **out);

/* Plays the operations on all ranks. Any thread; time grows with messages and edges, memory with steps and ranks.
 * Errors: ERR_NULL (config, its model, build, out, or a schedule), ERR_CONFIG (a size), ERR_RANK (ranks < 1; a schedule
 * that is not for its rank; the late rank does not exist; nodes of another number of ranks), ERR_ARGUMENT (no such
 * pattern, phase or act, a pulse as long as its period, a share above 1000, all cores for progress, a tick that takes
 * all of its period, `lanes` above 1, NICs without progress cores, a program that starts another number of operations,
 * or waits for one before),
 * ERR_LIMIT (beyond the limits above, 65536 ranks, cores or interfaces of a node, 2^32 - 1 operations of all ranks,
 * 2^28 steps and parts, or 2^64 bytes), ERR_UNSUPPORTED (a part for a rank of another node; bound blocks, and no
 * `block`), ERR_VERIFY (the schedules do not end, or do not match: the verifier says where), ERR_MEMORY, and what
 * `build` returns. With an error *out is not touched; `rank` may be. */
NBCOLL_API nbcoll_status nbcoll_simulate(const nbcoll_sim_config *config, nbcoll_sim_build *build, void *user,
                                         nbcoll_sim_result *out);

/* An operation as all ranks call it together, by an algorithm. */
struct nbcoll_case; /* nbcoll/verify.h */
typedef struct nbcoll_sim_case {
    const nbcoll_algorithm *algorithm;
    const struct nbcoll_case *at;
} nbcoll_sim_case;

/* The same of cases[operations], whose schedules and blocks are those of nbcoll_build_case; `block` is not read. The
 * words of a builder's error go to the host's log. Errors: those of both. */
NBCOLL_API nbcoll_status nbcoll_simulate_cases(const nbcoll_sim_config *config, const nbcoll_sim_case cases[],
                                               nbcoll_sim_result *out);

/* ---- prices ------------------------------------------------------------------------------------------------------ */

/* Sets, in the terms of selection (nbcoll/select.h), the prices of a machine whose ranks lie on these nodes and share
 * their memory: of messages inside nodes and between them. `nodes` must outlive the terms. Any thread. Errors:
 * ERR_NULL, ERR_CONFIG (a size). */
struct nbcoll_terms;
NBCOLL_API nbcoll_status nbcoll_sim_prices(const nbcoll_sim_model *model, const nbcoll_nodes *nodes,
                                           struct nbcoll_terms *terms);

/* ---- presets ----------------------------------------------------------------------------------------------------- */

/* The i-th preset's name, in alphabetic order; null beyond the last. Any thread, like the others here. */
NBCOLL_API const char *nbcoll_sim_model_name(unsigned i);
NBCOLL_API const char *nbcoll_sim_noise_name(unsigned i);

/* The preset of that name. A model's `size` is the caller's: as much is written, and `size` stays. The models are round
 * numbers of their kind, not measurements: "cluster" (16 ranks a node, which share one interface to a fast network),
 * "ethernet" (one rank a node), "node" (one node of any size), "unit" (1 microsecond a message, bytes and cores for
 * nothing). Three are machines of papers, which name their nodes, ranks, interfaces, and the bytes below; the times are
 * what hardware of that kind does: "cluster_a" (Inozemtsev, 4.5.1: up to 16 nodes of 8 ranks, Xeon X5670, one
 * ConnectX-2 each, messages of more than 16 KB are asked for), "cluster_b" (ibidem: up to 4 nodes of 4 ranks, Xeon
 * Paxville, an adapter of two ports, both connected) and "das4" (Ramos, 4.2: up to 16 nodes of 8 ranks, Xeon E5620,
 * InfiniBand of 16 Gbit/s). Noises: "pulses"
 * (100 ms at random, 20% of the time, on all cores: Inozemtsev, 5.5.3), "tick" (2 us each ms, apart), "daemon" (1 ms
 * each second, on one core of ten, at random). Errors: ERR_NULL, ERR_ARGUMENT (no such preset), ERR_CONFIG (a model's
 * size). */
NBCOLL_API nbcoll_status nbcoll_sim_model_find(const char *name, nbcoll_sim_model *out);
NBCOLL_API nbcoll_status nbcoll_sim_noise_find(const char *name, nbcoll_sim_noise *out);

NBCOLLI_END
#endif
