/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A virtual NIC: how long programs (offload.h) take on NICs that execute them, and what is left to the hosts,
 * in virtual time.
 *
 *     nbcoll_nic_model model = {.size = sizeof model, .post = 50, .task = 100, .latency = 1000, .byte = 300};
 *     nbcoll_nic_config config = {.size = sizeof config, .ranks = ranks, .model = &model};
 *     nbcoll_nic_result result = {.size = sizeof result};
 *     if (nbcoll_nic_play(&config, programs, &result) == NBCOLL_OK)
 *         printf("%" PRIu64 " ns\n", result.last);
 *
 * The core of a rank works `post` for each task that it posts. Then it is free: it computes for `compute`, waits for
 * the NIC if that is not done, and makes the program's copies. A NIC does one task at a time, first come first
 * served: what stands next in a management queue, or a send that is enabled, takes `task`, a calculation also `calc`
 * a byte. A NIC caches `cached` of its queue pairs: with `pairs` in use, each task of a queue pair takes `miss` *
 * (pairs - cached) / pairs longer, the average cost of fetching one that is not cached. A send's bytes then leave by
 * one of the NIC's ports, by turns, or by that of their queue pair (`port` below), when it is free: n bytes keep it for
 * n `byte`, or for `gap` if that is longer; they arrive `latency` after they have left, or later where the receiver's
 * port is not free; the sender's completion is there `latency` after that. Receives have been posted before, by a rank
 * that comes late, too.
 *
 * The ranks of a node make their copies at the same time. If they are of more than `cache` bytes together, all as many
 * as this rank has, they share the memory: a byte then takes `node` times `memory`, or `copy` if that is longer.
 *
 * Pure but for memory; any thread.
 */
#include "offload.h"
#include "simulate.h"

#ifndef NBCOLL_NIC_H
#define NBCOLL_NIC_H

#if defined NBCOLL_WITH_LAB && !NBCOLL_WITH_LAB
#error "nbcoll/nic.h is of the component lab: define NBCOLL_WITH_LAB=1, or link nbcoll_lab"
#endif

NBCOLLI_BEGIN

typedef struct nbcoll_nic_model {
    size_t size;
    uint64_t post;               /* ns of the host a task */
    uint64_t task;               /* ns of the NIC a task */
    uint64_t miss;               /* ns more of a task whose queue pair is not cached */
    uint64_t latency, gap;       /* ns */
    uint64_t byte;               /* picoseconds a byte at a port, */
    uint64_t calc, copy;         /* and of the NIC's calculations and the host's copies */
    uint32_t cached;             /* queue pairs that it caches; 0: all */
    uint32_t ports, nics, node; /* of a NIC; of a node; ranks of a node, dealt over its NICs by turns. 0: 1 */
    uint64_t memory;             /* picoseconds of a node's memory for each byte that is copied; 0: it is no limit */
    uint64_t cache;              /* bytes that the ranks of a node can copy without passing its memory */
} nbcoll_nic_model;

/* The port, modulo their number, of a queue pair of `rank`: each end has one, of its own NIC. `queue` is good until it
 * returns. Called while a play is set up, in no set order; it must not call back. */
typedef uint32_t nbcoll_nic_port(void *user, int rank, const nbcoll_queue_view *queue);

typedef struct nbcoll_nic_config {
    size_t size;
    const nbcoll_host *host; /* for memory; may be null */
    int ranks;
    const nbcoll_nic_model *model;
    const uint64_t *start;   /* [ranks]: when each begins to post, ns; null: at 0 */
    const uint64_t *compute; /* [ranks]: ns that it computes then; null: 0 */
    nbcoll_bind *bind;       /* null, or where blocks lie, as for nbcoll_agent_start_bound, */
    void *const *bind_user;  /* which is told that of its rank: [ranks]; null: null */
    nbcoll_nic_port *port;  /* null: messages take ports by turns, whatever their queue pairs */
    void *port_user;         /* for port */
} nbcoll_nic_config;

typedef struct nbcoll_nic_rank {
    uint64_t posted;   /* its core is free from then on */
    uint64_t ended;    /* its NIC is done, */
    uint64_t finished; /* and its core with computing and copies */
    uint64_t cpu;      /* ns of its core, computing not counted */
} nbcoll_nic_rank;

typedef struct nbcoll_nic_result {
    size_t size;
    nbcoll_nic_rank *rank; /* [ranks], the caller's; null: not wanted */
    uint64_t last;          /* the latest `finished` */
    uint64_t tasks;         /* that NICs have done */
    uint64_t queue_pairs;   /* in use on one NIC, at most */
} nbcoll_nic_result;

/* The NIC that the nodes of a simulated machine have (nbcoll_sim_model_find: "cluster_a", "cluster_b", ...): links
 * between nodes, ranks of a node and copies are the machine's, and each of a node's interfaces that ranks share is a
 * port. A rank writes a task in a quarter of `o_send`. The NIC's own times are round numbers of a ConnectX-2's kind,
 * not measurements: 250 ns a task, 700 more if the queue pair is not among the 128 cached, and a calculation costs
 * twice the host's. The caller sets out->size; so much is written. Errors: ERR_NULL, ERR_CONFIG (a size). */
NBCOLL_API nbcoll_status nbcoll_nic_of(const nbcoll_sim_model *machine, nbcoll_nic_model *out);

/* Plays one operation: programs[r] is that of rank r. Errors: ERR_NULL, ERR_CONFIG (a size), ERR_RANK (ranks < 1;
 * programs[r] is not of rank r of so many), ERR_LIMIT (a time of the model above 2^40 ns or 2^20 ps a byte, `memory`
 * times `node` included, or more than 2^16 ports, NICs or ranks of a node, or a block of more than 2^40 bytes),
 * ERR_UNSUPPORTED (a program with blocks, and no `bind`), ERR_ARGUMENT (a queue pair has no other end, the programs
 * never end, a block lies in another buffer, or what is sent, or copied, has another length where it is received),
 * ERR_MEMORY. With an error *out is not touched; `rank` may be. */
NBCOLL_API nbcoll_status nbcoll_nic_play(const nbcoll_nic_config *config, const nbcoll_program *const programs[],
                                          nbcoll_nic_result *out);

NBCOLLI_END
#endif
