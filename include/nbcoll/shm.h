/* SPDX-License-Identifier: BSD-3-Clause
 *
 * shm: ranks on one machine that share memory; processes, threads of one process, or both. They find each other by an
 * identifier that one of them makes and hands to the others (an argument, the environment, a file):
 *
 *     nbcoll_shm_config config = {.size = sizeof config, .id = id, .rank = rank, .ranks = ranks};
 *     nbcoll_shm_open(&config, &endpoint);
 *
 * or by the host's own allgather. Nothing is left in a file system, whatever happens to the ranks. No rank needs extra
 * privileges: all ranks run as one user, in one network and PID namespace.
 *
 * Ranks that progress, or sleep, notice within 200 ms that a rank was killed. A rank that closes its endpoint has left.
 * They notice that as soon. It is no failure by itself, and the posts of that rank are still delivered. If a thread
 * that is a rank ends without closing, nobody notices. On a kernel without pidfds (before 5.3) a death does not end a
 * sleep on nbcoll_fd that has no time limit.
 *
 * A process that becomes another program by exec is lost like one that was killed. No data is taken from its memory
 * afterwards. Ranks that progress notice it within 200 ms; it does not end a sleep on nbcoll_fd that has no time limit.
 * To detect exec each process holds a record lock (F_SETLK) on a descriptor of the endpoint; so a process that closes
 * descriptors which it has not opened is lost, too. Children of fork are no ranks: what they call or close disturbs
 * nobody.
 *
 * Signals that the host handles disturb nothing, with SA_RESTART or without.
 *
 * Bind ranks to cores before they open: their affinity masks then tell whether ranks share a core. If they do a waiting
 * rank yields at once; else it spins. The mask is that of the thread which opens the endpoint.
 */
#include "transport.h"

#ifndef NBCOLL_SHM_H
#define NBCOLL_SHM_H

NBCOLLI_BEGIN

#define NBCOLL_SHM_RANKS 256 /* at most */

/* Names one set of ranks: 128 random bits, and the network namespace where it was made, as text that fits an argument
 * or a variable: 40 hexadecimal digits. Copy it as a whole or as a string. */
typedef struct nbcoll_shm_id {
    char text[41];
} nbcoll_shm_id;

/* Any thread. Errors: ERR_NULL, ERR_UNSUPPORTED (the system gives no random bits). */
NBCOLL_API nbcoll_status nbcoll_shm_id_make(nbcoll_shm_id *out);

/* The host's allgather: all[r * bytes ..) becomes rank r's mine[0..bytes). */
typedef struct nbcoll_shm_allgather {
    size_t size;
    void *user;
    /* Starts it. `mine` and `all` stay valid until free. */
    nbcoll_status (*start)(void *user, const void *mine, void *all, size_t bytes, void **operation);
    nbcoll_status (*test)(void *user, void *operation); /* OK when `all` is complete, PENDING, or an error */
    void (*free)(void *user, void *operation);          /* once for each start that was OK; it may be unfinished */
} nbcoll_shm_allgather;

/* Shm flags; the ranks' may differ. All but ALLOW_PTRACER are for tests and comparisons. By default the receiver
 * chooses for each size how large data comes: it reads the sender's memory (process_vm_readv), or the sender copies
 * pieces into shared memory and the receiver copies them out. If the system refuses process_vm_readv later (a filter,
 * PR_SET_DUMPABLE, a dropped privilege), data from that rank comes in pieces from then on. So does the data of a single
 * buffer that only its own process can read (memfd_secret, memory of a device). If its own process cannot read it
 * either, or the receiver cannot write its buffer, the operation ends on all ranks with ERR_FAULT, and nbcoll_failure
 * names the rank with that buffer. Only process_vm_readv finds this: a rank that copies itself (small data, the staging
 * buffer, pieces from the start, data of threads) gets SIGSEGV, as by any access.
 *
 * With 2 to 64 ranks each rank has a staging buffer for copies of what collectives expose, beside its quota: 4 MiB,
 * less with more than 8 ranks, so that all together take 32 MiB at most. Longer data goes through it piece by piece.
 * Long parts are not copied to it if the opening has found that reading them from the other process is faster. */
#define NBCOLL_SHM_NO_CMA 1u      /* do not read other processes' memory */
#define NBCOLL_SHM_NO_BULK 2u     /* nor that of threads of this process, and no pieces: large data travels in
                                     fragments, which are messages, and nbcoll_comm_split_shared leaves this rank
                                     alone */
#define NBCOLL_SHM_NO_PIECES 8u   /* no pieces, unless the other process's memory can be read when the ranks open and no
                                     more later; with NO_CMA large data travels between processes in fragments */
#define NBCOLL_SHM_PIECES 16u     /* what is too large for a message comes in pieces, from threads of this process too;
                                     others' memory is read only while pieces do not come. Not with NO_PIECES */
#define NBCOLL_SHM_BOTH_SIDES 32u /* as PIECES; meanwhile the receiver reads the sender's memory, from the far end */
#define NBCOLL_SHM_NO_STAGING 64u   /* collectives lend the memory that they expose, and copy none of it to this rank's
                                     staging buffer. NO_CMA, NO_BULK, NO_PIECES, PIECES and BOTH_SIDES imply it */
/* Lets every process of this user read this one's memory (PR_SET_PTRACER), where Yama restricts that to ancestors. It
 * stays so when the endpoint is closed. */
#define NBCOLL_SHM_ALLOW_PTRACER 4u

typedef struct nbcoll_shm_config {
    size_t size;
    const nbcoll_host *host;               /* may be null; copied */
    nbcoll_shm_id id;                      /* ignored with an allgather */
    const nbcoll_shm_allgather *allgather; /* may be null; used inside the call only */
    int rank, ranks;                       /* 1..NBCOLL_SHM_RANKS ranks */
    uint64_t timeout;                      /* ns until all must have come; 0: a minute; NBCOLL_FOREVER */
    /* All ranks pass the same depth, payload, quota and pool. */
    uint32_t depth;   /* messages and lines in flight from one rank to another, 1..4096, rounded up to a power of two;
                         0: 128 (64 with more than 64 ranks, 32 with more than 128). At most 64 of them may be messages
                         with a payload, fewer where these would take more than about 1 MiB a receiver */
    uint32_t payload; /* bytes a message may carry, 256..65536; 0: 4096, or less with more than 32 ranks */
    size_t quota;     /* bytes of the segment for each rank's part of the cells of communicators (nbcoll_cells_bytes)
                         and for nbcoll_mem_alloc; at most 1 GiB; 0: nbcoll_shm_quota */
    uint32_t flags;
    size_t pool; /* bytes of the segment through which large data comes to a rank in pieces, from all others together;
                    32 KiB to 64 MiB, rounded down to what divides well; 0: 1 MiB, or less with more than 170 ranks */
} nbcoll_shm_config;

/* The default quota: 1 MiB up to 224 ranks, a little less with more, so that the segment of 256 ranks takes 503 MiB. It
 * is room for the cells of at least three communicators with the default configuration, of four up to 200 ranks. A host
 * that wants more of them, or memory from nbcoll_mem_alloc, adds what they take. 0: so many ranks are not allowed. Any
 * thread. */
NBCOLL_API size_t nbcoll_shm_quota(int ranks);

/* Opens this rank's endpoint. Collective: it blocks until every rank has come, or fails on all of them; between two
 * looks it calls the host's pause, if there is one. Ranks that never found each other fail at their deadlines. Rank 0
 * may come last. Threads of one process call it at the same time. The memory is reserved here, so that no later access
 * can fail for lack of it. If something goes wrong on one rank, rank 0 tells the others at once, and those that come
 * later when they come, until its deadline. That takes two descriptors at rank 0 and one at the others: without them a
 * rank fails with ERR_TRANSPORT, and the others at their deadlines. Nobody answers rank 0's last message: a rank that
 * cannot receive it fails alone, and is lost to the others. A process of another user that knows the id is refused, and
 * the ranks go on. They also go on if a process of this user connects and says nothing, or what no rank says: the log
 * of rank 0's host names it. A rank that more than 16 such processes have overtaken, before it had said who it is, is
 * named like them, and connects again.
 *
 * Errors of the arguments, of which other ranks are not told: ERR_NULL, ERR_RANK, ERR_CONFIG. Others: ERR_TIMEOUT (not
 * all came), ERR_ABI (another version), ERR_MISMATCH (ranks, depth, payload, quota or pool differ), ERR_DUPLICATE (two
 * of the same rank), ERR_ACCESS (the ranks' effective users differ), ERR_NAMESPACE (network or PID namespaces differ),
 * ERR_MEMORY, ERR_LIMIT (the segment would take more than half of the machine's memory), ERR_PEER_LOST (a rank died, or
 * gave up at its deadline), ERR_UNSUPPORTED (this system has no memfd, eventfd or pidfd, or a filter refuses a system
 * call), ERR_TRANSPORT (no descriptor; sockets fail), and what the allgather returned. */
NBCOLL_API nbcoll_status nbcoll_shm_open(const nbcoll_shm_config *config, nbcoll_endpoint **out);

/* How large data comes from a peer. */
typedef enum nbcoll_shm_path {
    NBCOLL_SHM_BY_REFERENCE, /* a copy inside this process */
    NBCOLL_SHM_BY_CMA,       /* process_vm_readv */
    NBCOLL_SHM_BY_FRAGMENTS, /* messages */
    NBCOLL_SHM_BY_PIECES,    /* both copy, through memory that all share */
    NBCOLL_SHM_BY_EITHER     /* by pieces from a size on, else by process_vm_readv */
} nbcoll_shm_path;

typedef struct nbcoll_shm_peer {
    size_t size;
    int pid;
    nbcoll_shm_path path;
    int error;       /* BY_FRAGMENTS and BY_PIECES: the errno of our own trial of process_vm_readv, or of a later
                        refusal; or 0 */
    const char *why; /* in words, why the path is not a better one; "" if there is none. Constant */
    size_t by_pieces; /* bytes from which on data comes in pieces; SIZE_MAX: none does */
    size_t by_cma;    /* bytes beyond these from which on it comes by process_vm_readv again; SIZE_MAX: none does */
} nbcoll_shm_peer;

/* What was found out about a peer at the opening; and since, if process_vm_readv was refused. Set out->size before. Any
 * thread. Errors: ERR_NULL, ERR_CONFIG (out->size), ERR_RANK, ERR_FOREIGN (another transport's endpoint). */
NBCOLL_API nbcoll_status nbcoll_shm_describe(const nbcoll_endpoint *endpoint, int peer, nbcoll_shm_peer *out);

NBCOLLI_END
#endif
