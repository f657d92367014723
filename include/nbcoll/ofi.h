/* SPDX-License-Identifier: BSD-3-Clause
 *
 * ofi: the transport between ranks on any network that libfabric knows: TCP, and whatever else is there (EFA,
 * Slingshot, Omni-Path, RDMA).
 *
 *     nbcoll_ofi_config config = {.size = sizeof config, .rank = rank, .ranks = ranks};
 *     nbcoll_ofi_address mine, all[ranks];
 *     nbcoll_ofi_open(&config, &mine, &endpoint);
 *     ... each rank's address to all ranks: by the host's allgather, a key-value store, a file ...
 *     nbcoll_ofi_meet(endpoint, all);
 *     nbcoll_comm_create(context, endpoint, NULL, &comm, NBCOLL_FOREVER);
 *
 * libfabric's providers drive the networks. The transport takes the first one, in its order of preference, that has
 * reliable datagrams (FI_EP_RDM) and keeps the order of messages; the host's log names it. It never takes `sockets`,
 * and `shm` only where the host names that. Messages are copied at both ends: a post is done at once. They are kept
 * until the peer has taken them; a rank that closes its endpoint leaves to the kernel those that may not have arrived.
 * A provider that writes to the memory of peers (FI_RMA) is given large data; with others, and with keys of more than
 * 32 bytes, the core sends that in fragments. A waiting rank sleeps until something comes where the provider has a
 * descriptor for that (tcp;ofi_rxm has), else 200 us at a time between two looks. Messages are not matched by the
 * provider's tags: it would save 0.6% of what the smallest takes (transports/ofi/README.md).
 *
 * Most providers cannot tell a rank that has died from one that computes. So each pair of ranks that talks has a TCP
 * connection of its own, which carries no data before the end: the kernels keep it alive, whatever the ranks do. A rank
 * whose process has ended is lost at once, one whose machine has vanished after `lost_ms`, and a link that is down for
 * less is survived. A rank that closes its endpoint says so there to all others. One that no packet of the interface's
 * full length reaches (a smaller MTU on the way, and a router or firewall that does not say so) is lost likewise;
 * nbcoll_comm_failure tells it apart.
 *
 * An endpoint, with its domain, belongs to one thread at a time. A child of fork must not use it, and should call exec
 * or end soon: while it lives, and its parent has died, the others do not hear of that. libfabric reads environment
 * variables of its own (FI_LOG_LEVEL, FI_TCP_IFACE and others: fi_info -e lists them); nbcoll reads none.
 *
 * This part of nbcoll is optional: a library of its own that needs libfabric, 1.17 or later (pkg-config: nbcoll_ofi;
 * CMake: the component `ofi`, target nbcoll::ofi). The core knows nothing of it. Its memory comes from the host's
 * hooks, but for what libfabric takes.
 */
#include "transport.h"

#ifndef NBCOLL_OFI_H
#define NBCOLL_OFI_H

#if defined NBCOLL_WITH_OFI && !NBCOLL_WITH_OFI
#error "nbcoll/ofi.h is of the component ofi: define NBCOLL_WITH_OFI=1, or link nbcoll_ofi"
#endif

#ifdef NBCOLL_PREFIX /* not among the names of every copy */
#define nbcoll_ofi_open NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcoll_ofi_open)
#define nbcoll_ofi_meet NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcoll_ofi_meet)
#define nbcoll_ofi_measure NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcoll_ofi_measure)
#define nbcoll_ofi_provider NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcoll_ofi_provider)
#endif

NBCOLLI_BEGIN

/* What 0 or null means stands in brackets. All but rank, domain, address and host must be the same on all ranks. */
typedef struct nbcoll_ofi_config {
    size_t size;
    int rank, ranks;
    const char *provider; /* as fi_info -l names it: "tcp;ofi_rxm", "net", "efa" [the first that is there of efa, cxi,
                             psm3, verbs;ofi_rxm, tcp, tcp;ofi_rxm, net; else any other one] */
    const char *domain;   /* as fi_info names it: of a provider over TCP the interface, "eth0" [any but the loopback,
                             if there is another one] */
    const char *address;  /* of this machine, by which the others reach it: "10.0.0.1" [that of the domain] */
    uint32_t credits;     /* messages under way from one rank to another, 2 to 128 [16], and of no more than 196 KiB */
    uint32_t payload;     /* of a message, a multiple of 8 from 256 to 65536 [16384; 32768 of ofi_rxm; 65536 of net and
                             tcp]: limits.payload. ofi_rxm is given it in pieces of 16384 bytes, at most half as many as
                             credits: with few credits it is less */
    uint32_t lost_ms; /* a machine from which nothing has come for so long is lost, 1000 to 600000 [6000]. The kernel
                         counts in seconds: it may take up to one more, and never takes less than two. Below
                         3000 a single packet that the network drops is enough. When a message or put has
                         failed, the peer is asked, and may take so long to answer */
    nbcoll_host host; /* its alloc, free, log and now */
} nbcoll_ofi_config;

/* Where a rank is found. To be copied as bytes; it means nothing to the host. */
typedef struct nbcoll_ofi_address {
    uint64_t word[40];
} nbcoll_ofi_address;

/* Opens an endpoint of the provider. *mine is to reach all ranks; before nbcoll_ofi_meet the endpoint can only be
 * closed. It waits, at most 5 s, for a link that is not up yet if there is none but the loopback, and for an IPv6
 * address that is still tentative. From any thread. Errors, with nothing left: NULL; CONFIG (size, or a value out of
 * its range); RANK; UNSUPPORTED: there is no such provider or domain: the host's log says so; MEMORY; TRANSPORT:
 * libfabric, or the system, refused a call, as where the address is another machine's: the host's log names it. */
NBCOLL_API nbcoll_status nbcoll_ofi_open(const nbcoll_ofi_config *config, nbcoll_ofi_address *mine,
                                         nbcoll_endpoint **out);

/* Tells the endpoint the addresses of all ranks, its own among them: all[ranks], copied. Once, before it is used. Its
 * limits hold assumed prices, of a fast network with TCP. Does not wait for anybody; every rank must have opened its
 * endpoint by then, which it has if its address is here. Errors, with nothing changed: NULL; ARGUMENT: the endpoint is
 * another transport's or has met, one of these is not an address, or its provider, credits, payload or number of ranks
 * differ from this rank's; TRANSPORT: the provider takes no such address, only its own machine reaches it, or two
 * machines have it (the host's log says whose it is). */
NBCOLL_API nbcoll_status nbcoll_ofi_meet(nbcoll_endpoint *endpoint, const nbcoll_ofi_address all[]);

/* The host's allgather: all[r * bytes ..) becomes rank r's mine[0..bytes). */
typedef nbcoll_status nbcoll_ofi_exchange(void *user, const void *mine, void *all, size_t bytes);

/* Measures latency and bandwidth between machines by writes of one rank to another one's memory (FI_RMA), and sets the
 * prices in the limits of all ranks to the dearest that were measured: by them the core chooses algorithms. Collective,
 * after nbcoll_ofi_meet and before a communicator is made over the endpoint (nbcoll_cluster_open does it). It calls
 * `exchange` twice, and takes at most 500 ms between; a provider that does not write or answer by then keeps assumed
 * prices. Errors, with nothing changed: NULL; ARGUMENT: the endpoint is another transport's, or has not met; MEMORY,
 * where the others wait in `exchange`; those of `exchange`. */
NBCOLL_API nbcoll_status nbcoll_ofi_measure(nbcoll_endpoint *endpoint, nbcoll_ofi_exchange *exchange, void *user);

/* The provider that an endpoint has, as libfabric names it; null for another transport's. Lives as long as the
 * endpoint. */
NBCOLL_API const char *nbcoll_ofi_provider(const nbcoll_endpoint *endpoint);

NBCOLLI_END
#endif
