/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The whole library as one file: what NBCOLL_IMPLEMENTATION brings into a file of the host's (nbcoll/nbcoll.h), and
 * what a host that vendors nbcoll may compile by itself:
 *
 *     cc -O2 -I nbcoll/include -c nbcoll/src/nbcoll.c
 *
 * Of the transports it has loopback and shm; -DNBCOLL_WITH_SHM=0 leaves one out. -DNBCOLL_WITH_<COMPONENT>=1 brings
 * in a component that src/components.txt does not call `never`, with what that needs: LAB=1 also offload. VERBS=1 needs
 * -libverbs, OFI=1 -lfabric. NBCOLL_PREFIX needs what src/amalgamate.awk makes of this file: there private functions
 * are static. All symbols are hidden in what the file is linked into; -DNBCOLL_EXPORT exports the public functions
 * (nbcoll/nbcoll.h).
 */
#ifndef NBCOLLI_NBCOLL_C
#define NBCOLLI_NBCOLL_C

#if defined NBCOLL_PREFIX && !defined NBCOLLI_ONE_FILE
#error "NBCOLL_PREFIX needs the one-file form: awk -v prefix=1 -f src/amalgamate.awk >nbcoll.h"
#endif

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#ifndef NBCOLL_IMPLEMENTATION
#define NBCOLLI_LIBRARY /* without what is for the host's code */
#endif

#ifndef NBCOLL_WITH_LOOPBACK
#define NBCOLL_WITH_LOOPBACK 1
#endif
#ifndef NBCOLL_WITH_SHM
#define NBCOLL_WITH_SHM 1
#endif

/* What the sources use of the system: before what they define is hidden, since that is not. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include "components.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function" /* what no transport or component brought here calls */

#pragma GCC visibility push(hidden) /* also where NBCOLL_EXPORT exports the public functions */

#include "arguments/arguments.c"
#include "engine/wire/channel.c"
#include "engine/wire/control.c"
#include "engine/wire/giveup.c"
#include "engine/wire/unexpected.c"
#include "engine/exposures/cells.c"
#include "engine/exposures/staging.c"
#include "engine/run/small.c"
#include "engine/run/called.c"
#include "engine/run/credit.c"
#include "engine/run/fail.c"
#include "engine/run/moves.c"
#include "engine/run/phase.c"
#include "engine/run/pool.c"
#include "engine/run/queue.c"
#include "engine/run/run.c"
#include "engine/run/settle.c"
#include "engine/run/step.c"
#include "engine/comm/area.c"
#include "engine/comm/cache.c"
#include "engine/comm/comm.c"
#include "engine/comm/executors.c"
#include "engine/comm/requests.c"
#include "engine/comm/vote.c"
#include "engine/match/agree.c"
#include "engine/match/ask.c"
#include "engine/match/match.c"
#include "engine/match/news.c"
#include "engine/match/operations.c"
#include "engine/progress/created.c"
#include "engine/progress/lock.c"
#include "engine/progress/progress.c"
#include "engine/progress/replay.c"
#include "engine/progress/submitted.c"
#include "engine/calls/abandon.c"
#include "engine/calls/communicators.c"
#include "engine/calls/context.c"
#include "engine/calls/create.c"
#include "engine/calls/memory.c"
#include "engine/calls/request.c"
#include "engine/calls/several.c"
#include "engine/calls/start.c"
#include "engine/calls/wait.c"
#include "host/alive.c"
#include "host/crowding.c"
#include "host/failure_text.c"
#include "host/sleep.c"
#include "host/status.c"
#include "host/wakeup.h" /* of several parts below */
#include "host/word.c"
#include "reduce/names.c"
#include "reduce/units.c"
#include "reduce/reduce.c"
#include "schedule/small.c"
#include "schedule/builder.c"
#include "schedule/combine.c"
#include "schedule/finish.c"
#include "schedule/grow.c"
#include "schedule/nodes.c"
#include "schedule/number.c"
#include "schedule/read.c"
#include "schedule/refuse.c"
#include "schedule/room.c"
#include "schedule/sort.c"
#include "schedule/within.c"
#include "select/algorithms.c"
#include "select/choose.c"
#include "select/cost.c"
#include "select/cost_allgather.c"
#include "select/cost_alltoall.c"
#include "select/cost_bcast.c"
#include "select/cost_gather.c"
#include "select/cost_nodes.c"
#include "select/cost_parts.c"
#include "select/cost_reduce.c"
#include "select/cost_rounds.c"
#include "select/cost_slots.c"
#include "select/cost_trees.c"
#include "select/pack.c"
#include "select/rules.c"
#include "select/split.c"
#include "timeline/timeline.c"

#include "host/works.h" /* the transports' */
#if NBCOLL_WITH_LOOPBACK
#include "../transports/loopback/bulk.c"
#include "../transports/loopback/loopback.c"
#include "../transports/loopback/shared.c"
#endif

#if NBCOLL_WITH_SHM
#include "../transports/shm/alive.c"
#include "../transports/shm/bootstrap.c"
#include "../transports/shm/copy.c"
#include "../transports/shm/pieces.c"
#include "../transports/shm/wakeup.c"
#include "../transports/shm/queue.c"
#include "../transports/shm/quota.c"
#include "../transports/shm/segment.c"
#include "../transports/shm/shm.c"
#include "../transports/shm/socket.c"
#include "../transports/shm/stores.c"
#include "../transports/shm/system.c"
#include "../transports/shm/trial.c"
#endif

#include "components.c"

/* Algorithms are compiled for their size: they take most of their time in the builder. Behind the others, which have
 * seen all headers. */
#if defined __OPTIMIZE__ && !defined __clang__
#pragma GCC push_options
#pragma GCC optimize("Os")
#endif
#include "algorithms/allgather_bruck.c"
#include "algorithms/allgather_cayley.c"
#include "algorithms/allgather_exchange.c"
#include "algorithms/allgather_exchange_pipelined.c"
#include "algorithms/allgather_two_roots.c"
#include "algorithms/allgather_flat.c"
#include "algorithms/allgather_gather_bcast.c"
#include "algorithms/allgather_hierarchical.c"
#include "algorithms/allgather_ring.c"
#include "algorithms/allgather_slots.c"
#include "algorithms/allreduce_groups.c"
#include "algorithms/allreduce_two_roots.c"
#include "algorithms/allreduce_halving.c"
#include "algorithms/allreduce_hierarchical.c"
#include "algorithms/allreduce_recursive_doubling.c"
#include "algorithms/allreduce_reduce_bcast.c"
#include "algorithms/allreduce_ring.c"
#include "algorithms/allreduce_slots.c"
#include "algorithms/allreduce_slots_owners.c"
#include "algorithms/alltoall_bruck.c"
#include "algorithms/alltoall_flat.c"
#include "algorithms/alltoall_hierarchical.c"
#include "algorithms/alltoall_pairwise.c"
#include "algorithms/alltoall_slots.c"
#include "algorithms/barrier_binomial.c"
#include "algorithms/barrier_dissemination.c"
#include "algorithms/barrier_dissemination_ports.c"
#include "algorithms/barrier_gather_bcast.c"
#include "algorithms/barrier_hierarchical.c"
#include "algorithms/barrier_recursive_doubling.c"
#include "algorithms/barrier_slots.c"
#include "algorithms/bcast_binomial.c"
#include "algorithms/bcast_flat.c"
#include "algorithms/bcast_hierarchical.c"
#include "algorithms/bcast_scatter_ring.c"
#include "algorithms/bcast_slots.c"
#include "algorithms/bcast_slots_chain.c"
#include "algorithms/bcast_tree.c"
#include "algorithms/blocks.c"
#include "algorithms/blocks_binomial.c"
#include "algorithms/blocks_flat.c"
#include "algorithms/blocks_hierarchical.c"
#include "algorithms/combine_flat.c"
#include "algorithms/exscan_linear.c"
#include "algorithms/gather_slots.c"
#include "algorithms/nodes_pieces.c"
#include "algorithms/reduce_binomial.c"
#include "algorithms/reduce_hierarchical.c"
#include "algorithms/reduce_scatter_binomial.c"
#include "algorithms/reduce_scatter_owners.c"
#include "algorithms/reduce_scatter_halving.c"
#include "algorithms/reduce_scatter_hierarchical.c"
#include "algorithms/reduce_scatter_ring.c"
#include "algorithms/reduce_slots.c"
#include "algorithms/scan_hierarchical.c"
#include "algorithms/scan_linear.c"
#include "algorithms/scan_recursive_doubling.c"
#include "algorithms/scatter_slots.c"
#include "algorithms/spanning_tree.c"
#include "algorithms/sums.c"
#if defined __OPTIMIZE__ && !defined __clang__
#pragma GCC pop_options
#endif

#include "collectives/allgather.c"
#include "collectives/allgatherv.c"
#include "collectives/allreduce.c"
#include "collectives/alltoall.c"
#include "collectives/alltoallv.c"
#include "collectives/alltoallw.c"
#include "collectives/barrier.c"
#include "collectives/bcast.c"
#include "collectives/call.c"
#include "collectives/exscan.c"
#include "collectives/gather.c"
#include "collectives/gatherv.c"
#include "collectives/reduce.c"
#include "collectives/reduce_scatter.c"
#include "collectives/reduce_scatter_block.c"
#include "collectives/scan.c"
#include "collectives/scatter.c"
#include "collectives/scatterv.c"
#include "collectives/tables.c"

#pragma GCC visibility pop
#pragma GCC diagnostic pop

#endif
