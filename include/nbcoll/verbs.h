/* SPDX-License-Identifier: BSD-3-Clause
 *
 * verbs: the transport between ranks that RDMA devices join (InfiniBand, RoCE, software like rxe), by libibverbs.
 *
 *     nbcoll_verbs_config config = {.size = sizeof config, .rank = rank, .ranks = ranks};
 *     nbcoll_verbs_address mine, all[ranks];
 *     nbcoll_verbs_open(&config, &mine, &endpoint);
 *     ... each rank's address to all ranks: by the host's allgather, a key-value store, a file ...
 *     nbcoll_verbs_meet(endpoint, all);
 *     nbcoll_comm_create(context, endpoint, NULL, &comm, NBCOLL_FOREVER);
 *
 * Queue pairs (RC) are connected when a pair of ranks first talks: with their buffers they take about 155 KB for each
 * peer that a rank uses. The entries of its completion queue and of its shared receive queue are those for all ranks.
 * Small messages go into receives that all peers share, as many as credits allow to be under way, so that a receiver is
 * always ready; large data is read (get) or written (put) by the device, on a queue pair of its own. A waiting rank can
 * sleep: on a completion channel.
 *
 * A rank that ends without closing its endpoint is found by what is sent to it: a probe, if nothing else. It is
 * reported lost when the device has retried as often as it may; `probe_ms` and `timeout` say how soon that is. The
 * reason (nbcoll_failure.reason) is then libibverbs' text of the completion's status, and the vendor's own code for it
 * (ibv_wc.vendor_err; 0 if there is none); where the device refused a call, its errno. When the device ends a queue
 * pair of programs (offload.h) the host's log is told that text and code.
 *
 * This part of nbcoll is optional: a library of its own that needs libibverbs (pkg-config: nbcoll_verbs; CMake: the
 * component `verbs`, target nbcoll::verbs). The core knows nothing of it. Its memory comes from the host's hooks, but
 * for what libibverbs takes.
 */
#include "transport.h"

#ifndef NBCOLL_VERBS_H
#define NBCOLL_VERBS_H

#if defined NBCOLL_WITH_VERBS && !NBCOLL_WITH_VERBS
#error "nbcoll/verbs.h is of the component verbs: define NBCOLL_WITH_VERBS=1, or link nbcoll_verbs"
#endif

#ifdef NBCOLL_PREFIX /* not among the names of every copy */
#define nbcoll_verbs_open NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcoll_verbs_open)
#define nbcoll_verbs_meet NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcoll_verbs_meet)
#define nbcoll_verbs_forget NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcoll_verbs_forget)
#define nbcoll_verbs_counts NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcoll_verbs_counts)
#endif

NBCOLLI_BEGIN

/* What 0 means stands in brackets. All but rank, device, port and gid_index must be the same on all ranks. */
typedef struct nbcoll_verbs_config {
    size_t size;
    int rank, ranks;
    /* Its name, as ibv_devices lists it [the first one with an active port]; or up to four of them, separated by
     * commas, each with a port or not: "mlx5_0,mlx5_1", "mlx5_0:1,mlx5_0:2". Then these are the ranks' rails: the pairs
     * of ranks are dealt over them, so that a rank talks to as many others over each. The i-th ones of all ranks must
     * reach each other, and there must be as many on all ranks. Receives that queue pairs share (transport.h) then are
     * posted for a rank: each device has a queue of them for the ranks that it joins to this one. */
    const char *device;
    uint32_t port; /* of a device that is named without [its first active one] */
    /* Entry + 1 of the port's table of GIDs, for RoCE [the first RoCE v2 one with an IPv4 address, else the first
     * RoCE v2 one, else the first one]. Not used over InfiniBand without routers. */
    uint32_t gid_index;
    uint32_t credits;  /* messages under way from one rank to another, 2 to 128 [16] */
    uint32_t payload;  /* of a buffer for a message, a multiple of 8 from 256 to 65536 [4096]: limits.payload is at most
                          that, and less where large data is cheaper */
    uint32_t timeout;  /* of the device, 1 to 31: it sends again after 4.096 us * 2^timeout [16: 268 ms] */
    uint32_t retries;  /* as often as it does that before a peer is lost, 1 to 6 (7 is for ever on some devices) [6] */
    uint32_t probe_ms; /* a connected peer that nothing was sent to is probed so often, while this rank progresses or
                          sleeps [1000] */
    uint32_t connect_ms; /* a rank that has not answered a request to connect for so long is lost [never: the transport
                            asks as long as a call waits]. Only a rank that progresses answers, and one that computes
                            for minutes before its first operation is not dead. So by default the transport reports no
                            rank lost of which it has never heard: the deadline of a call ends its wait; with
                            NBCOLL_FOREVER only `connect_ms` does */
    nbcoll_host host;    /* its alloc, free, log and now; called by who executes programs (offload.h), too */
    /* The number of pieces of memory, up to 1024, that stay registered after an operation, for the next one [none]. The
     * ranks' may differ. The host must then call nbcoll_verbs_forget before it gives such memory back to the system
     * (munmap, mremap, brk; free may do so): else the device would go on with the old pages. Memory of nbcoll_mem_alloc
     * is registered as long as it lives, and needs neither. */
    uint32_t registrations;
    /* Another endpoint of this process, of any rank [none]. This one then takes its devices, ports and GIDs, which
     * `device`, `port` and `gid_index` would name, and what it has measured of them; and memory that one of them has
     * registered for every rank (of nbcoll_mem_alloc; an agent's) is registered for each of them. Each may be closed
     * before the other, and used by a thread of its own. What they register comes from the first one's host. */
    nbcoll_endpoint *beside;
} nbcoll_verbs_config;

/* Where a rank is found. To be copied as bytes; it means nothing to the host. */
typedef struct nbcoll_verbs_address {
    uint64_t word[18];
} nbcoll_verbs_address;

/* Opens the device. *mine is to reach all ranks; before nbcoll_verbs_meet the endpoint can only be closed. From any
 * thread. Errors, with nothing left: NULL; CONFIG (size, or a value out of its range); RANK; ARGUMENT: `beside` is
 * another transport's; UNSUPPORTED: there is no
 * such device, it has no such port or GID, or the port is not active: the host's log says which, and of which device;
 * MEMORY; TRANSPORT: the device refused. */
NBCOLL_API nbcoll_status nbcoll_verbs_open(const nbcoll_verbs_config *config, nbcoll_verbs_address *mine,
                                           nbcoll_endpoint **out);

/* Tells the endpoint the addresses of all ranks, its own among them: all[ranks], copied. Once, before it is used. From
 * then on its limits hold the prices of the devices, which each rank has measured when it opened (a few messages to
 * itself), the dearest of all ranks: so all ranks have the same, and get or put, and send eagerly, alike. Does not wait
 * for anybody; every rank must have opened its endpoint by then, which it has if its address is here. Errors, with
 * nothing changed: NULL; ARGUMENT: the endpoint is another transport's or has met, one of these is not an address,
 * or its credits, payload, rails or number of ranks differ from this rank's. */
NBCOLL_API nbcoll_status nbcoll_verbs_meet(nbcoll_endpoint *endpoint, const nbcoll_verbs_address all[]);

/* Ends what is kept registered of [memory, memory + bytes), also in part; of what an operation still uses, when that
 * has ended. From any thread, until the endpoint is closed. Errors: NULL; ARGUMENT: the endpoint is another
 * transport's. */
NBCOLL_API nbcoll_status nbcoll_verbs_forget(nbcoll_endpoint *endpoint, const void *memory, size_t bytes);

/* What an endpoint has done and holds. */
typedef struct nbcoll_verbs_count {
    size_t size;
    uint64_t hits, misses; /* registrations for gets and puts that were there already, and that were made */
    uint64_t kept;         /* that stay registered now */
    uint64_t inlined;      /* messages that went to the device without a buffer: small ones, where it can do that */
    uint64_t peers;        /* that this rank has queue pairs to */
    uint64_t peer_bytes;   /* of the buffers for all these */
} nbcoll_verbs_count;

/* Fills *out, whose size is set. From the thread that uses the endpoint. Errors: NULL; ARGUMENT: the endpoint is
 * another transport's; CONFIG (size). */
NBCOLL_API nbcoll_status nbcoll_verbs_counts(nbcoll_endpoint *endpoint, nbcoll_verbs_count *out);

NBCOLLI_END
#endif
