/* SPDX-License-Identifier: BSD-3-Clause
 *
 * cluster: the endpoints of ranks on one or many machines, opened together. Ranks on one machine get shared memory
 * (shm), ranks on several ones that and, for all of them, RDMA devices (verbs), or, where not all have these, any
 * network that libfabric knows (ofi): what nbcoll_comm_create_over takes.
 *
 *     nbcoll_cluster_config config = {.size = sizeof config, .rank = rank, .ranks = ranks,
 *                                     .exchange = exchange, .user = user};
 *     nbcoll_cluster_open(&config, endpoints, &n);
 *     nbcoll_comm_create_over(context, n, endpoints, NULL, &comm, NBCOLL_FOREVER);
 *
 * `exchange` is the host's allgather; that of a scheduler which speaks PMIx (nbcoll_pmix_exchange, pmix.h); or, where
 * there is neither, nbcoll_tcp_exchange: one rank makes an id, the host brings that to the others (an argument, a file,
 * a variable), and they find it by TCP:
 *
 *     nbcoll_tcp_config config = {.size = sizeof config, .rank = rank, .ranks = ranks};
 *     nbcoll_tcp_create(&config, &id, &tcp);               on one rank
 *     nbcoll_tcp_join(&config, &id, &tcp);                 on the others, which got id.text
 *     ... .exchange = nbcoll_tcp_exchange, .user = tcp ...
 *     nbcoll_tcp_close(tcp);
 *
 * This part of nbcoll is optional: a library of its own (pkg-config: nbcoll_cluster; CMake: the component `cluster`,
 * target nbcoll::cluster). It has verbs if nbcoll_verbs is built, and ofi if nbcoll_ofi is. Its memory comes from the
 * host's hooks, except what the C library, libibverbs and libfabric take. All its calls may block, for the timeout and
 * a few seconds in which they tell others.
 */
#include "ofi.h"
#include "shm.h"
#include "transport.h"
#include "verbs.h"

#ifndef NBCOLL_CLUSTER_H
#define NBCOLL_CLUSTER_H

#ifdef NBCOLL_PREFIX /* not among the names of every copy */
#define nbcoll_cluster_open NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcoll_cluster_open)
#define nbcoll_cluster_read NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcoll_cluster_read)
#define nbcoll_tcp_create NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcoll_tcp_create)
#define nbcoll_tcp_meet NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcoll_tcp_meet)
#define nbcoll_tcp_listener NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcoll_tcp_listener)
#define nbcoll_tcp_join NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcoll_tcp_join)
#define nbcoll_tcp_exchange NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcoll_tcp_exchange)
#define nbcoll_tcp_close NBCOLLI_PREFIXED(NBCOLL_PREFIX, nbcoll_tcp_close)
#endif

NBCOLLI_BEGIN

/* ---- endpoints --------------------------------------------------------------------------------------------------- */

/* Cluster flags, the same on all ranks. */
#define NBCOLL_CLUSTER_NO_VERBS 1u /* do not look for RDMA devices: all ranks are on one machine */
#define NBCOLL_CLUSTER_NO_SHM 2u   /* no shared memory: RDMA devices, or a network, also inside a machine */
#define NBCOLL_CLUSTER_NO_OFI 4u   /* no network where there are no RDMA devices */

typedef struct nbcoll_cluster_config {
    size_t size;
    int rank, ranks;
    /* The host's allgather, called once, three times more if ofi is needed, and once more for each provider of
     * libfabric that is tried where the best one differs by machine: all[r * bytes ..) becomes rank r's
     * mine[0..bytes). Its errors are returned. */
    nbcoll_status (*exchange)(void *user, const void *mine, void *all, size_t bytes);
    void *user;
    const nbcoll_shm_config *shm;     /* may be null; its id, allgather, rank, ranks, host and timeout are not read */
    const nbcoll_verbs_config *verbs; /* may be null; its rank, ranks and host are not read */
    uint64_t timeout;                 /* ns in which the ranks of a machine must have come; 0: a minute */
    uint64_t part; /* ranks with different ones share no memory, also on one machine: [0] for all of them */
    uint32_t flags;
    nbcoll_host host; /* may be all 0; copied */
    const nbcoll_ofi_config *ofi; /* may be null; its rank, ranks and host are not read */
} nbcoll_cluster_config;

/* Opens this rank's endpoints: end[0..*n). One, shm, where all ranks are on one machine (and of one `part`, one network
 * and PID namespace); else two, shm and verbs, or shm and ofi if a rank has no active RDMA device; with NO_SHM verbs or
 * ofi alone. The host's log is told what was chosen, and why. Collective; all ranks get the same *n, and the same
 * transports; of ofi also the same provider: where the best one differs, the first that all have.
 *
 * Errors, with nothing left open. Of the arguments, found here and told nobody: NULL, RANK, CONFIG. On all ranks:
 * UNSUPPORTED (there are several machines, and a rank has neither, or this library has neither), LIMIT (more than
 * NBCOLL_SHM_RANKS ranks on a machine), and what opening verbs or ofi said on any rank. Others: MEMORY, those of
 * nbcoll_shm_open, of nbcoll_verbs_meet and nbcoll_ofi_meet, and of the exchange. */
NBCOLL_API nbcoll_status nbcoll_cluster_open(const nbcoll_cluster_config *config, nbcoll_endpoint *end[2], int *n);

/* ---- lists of hosts ---------------------------------------------------------------------------------------------- */

/* A machine, and how many ranks it gets. */
typedef struct nbcoll_cluster_place {
    char name[256];
    int first, ranks; /* the number of its first one; how many */
} nbcoll_cluster_place;

/* Reads a list of hosts into place[0..*n), at most place[room], in the order in which they come first. Commas or ends
 * of lines separate its entries: "a:4", "a slots=4", or "a" for one rank; a name that comes again gets ranks in
 * addition; `#` begins a comment. So --hosts of `nbcoll run`, hostfiles and PBS's file ($PBS_NODEFILE) are written.
 * Slurm's brackets are numbers in names: "rack[1-2]n[01-03,7]" ($SLURM_JOB_NODELIST); `counts`, unless null, are its
 * ranks of the hosts in turn, "4(x2),3" ($SLURM_TASKS_PER_NODE), and those of the list are not read. Of `most` ranks,
 * unless 0, no more are placed.
 *
 * Errors, with *wrong, unless null, at the entry: NULL, ARGUMENT (it is none; a name begins with '-'; counts are none,
 * or for more or fewer hosts; there is no host), LIMIT (more than `room` hosts, or NBCOLL_SHM_RANKS ranks on one). */
NBCOLL_API nbcoll_status nbcoll_cluster_read(const char *list, const char *counts, int most,
                                             nbcoll_cluster_place *place, int room, int *n, const char **wrong);

/* ---- an allgather by TCP ----------------------------------------------------------------------------------------- */

/* Names the rank that has made it: the addresses of all its interfaces that are up, a port, and 128 secret bits, as
 * text of printable characters without blanks. A process that knows it can take part. */
typedef struct nbcoll_tcp_id {
    char text[448];
} nbcoll_tcp_id;

/* A way to the rank that made the id; or that rank's own listening socket. */
typedef struct nbcoll_tcp nbcoll_tcp;

typedef struct nbcoll_tcp_config {
    size_t size;
    int rank, ranks;
    uint32_t port;    /* of nbcoll_tcp_create [any], and of nbcoll_tcp_meet */
    uint64_t timeout; /* ns that an exchange takes at most [a minute]; NBCOLL_FOREVER */
    nbcoll_host host; /* may be all 0; copied */
    int listener; /* of nbcoll_tcp_join: a descriptor above 0 that nbcoll_tcp_listener gave [none] */
} nbcoll_tcp_config;

/* Listens, on all interfaces, and says where in *id. The rank that calls it may have any number; it needs a descriptor
 * for each other rank while an exchange runs. Errors: NULL, CONFIG (size, port), RANK, MEMORY, UNSUPPORTED (the system
 * gives no random bits), TRANSPORT (it cannot listen there, or has no interface). */
NBCOLL_API nbcoll_status nbcoll_tcp_create(const nbcoll_tcp_config *config, nbcoll_tcp_id *id, nbcoll_tcp **out);

/* The descriptor on which nbcoll_tcp_create listens, for a launcher that makes the id and lets a process that it starts
 * be the rank that others find: that inherits it, and names it to nbcoll_tcp_join. It is closed by nbcoll_tcp_close and
 * by exec. -1: null, or joined without one. */
NBCOLL_API int nbcoll_tcp_listener(const nbcoll_tcp *tcp);

/* Of the other ranks. Reads the id, and connects to nobody yet. With a `listener`, which becomes its own, this rank is
 * the one that others find. Errors, which leave that open: NULL, CONFIG (size), RANK, MEMORY, ARGUMENT: it is not an
 * id. */
NBCOLL_API nbcoll_status nbcoll_tcp_join(const nbcoll_tcp_config *config, const nbcoll_tcp_id *id, nbcoll_tcp **out);

/* Where ranks meet without an id: a batch system has started each of them by itself. */
typedef struct nbcoll_tcp_place {
    size_t size;
    const char *host;   /* a name or an address of rank 0's machine, for the others */
    const char *secret; /* the path of a file of at least 16 bytes, which other users may not read */
    const char *job;    /* what names these ranks, and no others that have the same secret; null: nothing */
} nbcoll_tcp_place;

/* Of all ranks. Rank 0 listens, on all interfaces, at config->port, which must not be 0; the others look its machine up
 * by name, until it has one, or the timeout. An exchange waits for a rank 0 that does not listen yet until its timeout.
 * The secret is in no variable and on no command line; each rank reads its file. The strings are read here only.
 * Errors: NULL, CONFIG (sizes, port), RANK, MEMORY, ARGUMENT (there is no such file, or it is too short, or others may
 * read it, or members of its group write it), TRANSPORT (rank 0 cannot listen there), TIMEOUT (the name is unknown). */
NBCOLL_API nbcoll_status nbcoll_tcp_meet(const nbcoll_tcp_config *config, const nbcoll_tcp_place *place,
                                         nbcoll_tcp **out);

/* all[r * bytes ..) becomes rank r's mine[0..bytes), bytes > 0. Collective over the ranks; may be called again. All
 * addresses of the id are tried at once, and again, until the timeout. A process that connects must prove within a few
 * seconds that it knows the secret; else it is turned away, and nothing else of it is read. A stranger that listens at
 * one of the addresses learns nothing of the secret. The exchanged bytes are not encrypted. `tcp` is an nbcoll_tcp.
 * Errors: NULL, ARGUMENT (bytes 0), TIMEOUT (not all came), PEER_LOST (the rank that made the id has ended, or another
 * one while it waited), DUPLICATE (two of the same rank), MISMATCH (ranks or bytes differ, or one rank has made more
 * exchanges than another), MEMORY, TRANSPORT. Ranks that come when others have got an error find PEER_LOST or TIMEOUT.
 * After an error the ranks may be out of step: close. */
NBCOLL_API nbcoll_status nbcoll_tcp_exchange(void *tcp, const void *mine, void *all, size_t bytes);

/* Null is accepted. */
NBCOLL_API void nbcoll_tcp_close(nbcoll_tcp *tcp);

NBCOLLI_END
#endif
