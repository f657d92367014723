/* SPDX-License-Identifier: BSD-3-Clause
 *
 * nbcoll: nonblocking collective operations. Started now, finished later, overlapped with computation.
 *
 * In a program:
 *
 *     nbcoll_context *context;                       one rank's root object
 *     nbcoll_context_create(NBCOLL_ABI, NULL, &context);
 *     nbcoll_comm_create(context, endpoint, NULL, &comm, NBCOLL_FOREVER);
 *     nbcoll_ibcast(data, n, NBCOLL_FLOAT, 0, comm, &request);
 *     compute();
 *     nbcoll_wait(&request, NBCOLL_FOREVER);
 *
 * Threads. Unless a call says otherwise, at most one thread at a time may be inside calls on one context (its
 * communicators, requests and schedules included); a context made with NBCOLL_ANY_THREAD lifts that. Different
 * contexts never share anything.
 *
 * Status. Every call that can fail returns nbcoll_status. A call that refuses its arguments changes nothing and takes
 * no tag. NBCOLL_ERR_FORKED is returned by every call on a handle inherited through fork().
 *
 * Callbacks. The library calls host functions of two kinds. From inside `done` and `pause` every call is allowed. Calls
 * that free their context return NBCOLL_ERR_BUSY until `done` or `pause` has returned, and also from inside `now`. The
 * library calls all other functions (the other hooks of nbcoll_host, observers, CALL steps, the functions of host types
 * and operations) while it works on a context. They must not call the library for that context: each such call returns
 * NBCOLL_ERR_BUSY and changes nothing; nbcoll_test_all, and a wait for several requests, then end at once, as at their
 * timeout. That holds for `now`, too, except between two passes of a wait.
 *
 * The library. Link it; or define NBCOLL_IMPLEMENTATION in one C file that includes nbcoll before all system headers,
 * and that file brings it along: `pkg-config --cflags nbcoll` is enough. It brings the transports loopback and shm;
 * -DNBCOLL_WITH_LOOPBACK=0 and -DNBCOLL_WITH_SHM=0 leave them out. Components are libraries of their own, whose
 * functions the core does not call: -DNBCOLL_WITH_DRIVER=1 brings nbcoll_driver (driver.h), -DNBCOLL_WITH_ELEMENTS=1
 * nbcoll_elements (sums.h, strided.h), -DNBCOLL_WITH_GROUP=1 nbcoll_group (group.h), -DNBCOLL_WITH_LISTS=1 nbcoll_lists
 * (lists.h), -DNBCOLL_WITH_MESSAGE=1 nbcoll_message (message.h), -DNBCOLL_WITH_NEIGHBOR=1 nbcoll_neighbor (neighbor.h),
 * -DNBCOLL_WITH_OFFLOAD=1 nbcoll_offload (offload.h, launch_agent.h, relay.h), -DNBCOLL_WITH_LAB=1 that and nbcoll_lab
 * (verify.h, simulate.h, nic.h, split.h, show.h, fault.h, trace.h), -DNBCOLL_WITH_WIDE=1, which the flags of pkg-config
 * ask for, nbcoll_wide (wide.h). Every name that it defines begins with nbcoll_, nbcolli_, NBCOLL_ or NBCOLLI_. The
 * one-file form (src/amalgamate.awk, with -v prefix=1), and headers that are installed, take -DNBCOLL_PREFIX=acme_:
 * given to all files that include nbcoll it makes the linker see acme_nbcoll_ibcast, so that several copies can be
 * linked into one program.
 *
 * An embedded copy (NBCOLL_IMPLEMENTATION, or src/nbcoll.c compiled by the host) is hidden: a program or shared library
 * that holds one exports no symbol of it, so that several can be loaded into one process. With -DNBCOLL_EXPORT in the
 * file that brings the library it exports the public functions, for the objects that the host loads and that call them,
 * such as algorithms.
 *
 * Structs that begin with `size` are size-tagged: set it to sizeof the struct (the *_DEFAULTS initialisers do), so that
 * fields can be appended. Fields beyond `size` take their defaults.
 */
/* Each other public header includes this one before its own guard: so this one is complete where it begins, and it is
 * complete where NBCOLL_IMPLEMENTATION includes it from here. */
#ifndef NBCOLL_H
#define NBCOLL_H

#if defined NBCOLL_WITH_LAB && !defined NBCOLL_WITH_OFFLOAD
#define NBCOLL_WITH_OFFLOAD NBCOLL_WITH_LAB /* lab needs it */
#endif

#ifdef NBCOLL_IMPLEMENTATION
#define NBCOLLI_IMPLEMENTATION
#ifdef __cplusplus
#error "NBCOLL_IMPLEMENTATION belongs into a C file"
#endif
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#endif

#ifdef NBCOLL_PREFIX
#include "prefix.h"
#endif

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#if defined NBCOLL_IMPLEMENTATION && defined __GLIBC__ && !defined __USE_GNU
#error "Where NBCOLL_IMPLEMENTATION is, include nbcoll before all system headers, or compile with -D_GNU_SOURCE"
#undef NBCOLL_IMPLEMENTATION
#endif

/* Around the declarations of each public header. */
#ifdef __cplusplus
#define NBCOLLI_BEGIN extern "C" {
#define NBCOLLI_END }
#else
#define NBCOLLI_BEGIN
#define NBCOLLI_END
#endif

NBCOLLI_BEGIN

#ifndef NBCOLL_API
#if (defined NBCOLL_IMPLEMENTATION || defined NBCOLLI_NBCOLL_C) && !defined NBCOLL_EXPORT
#define NBCOLL_API __attribute__((visibility("hidden"))) /* an embedded copy */
#else
#define NBCOLL_API __attribute__((visibility("default")))
#endif
#endif

/* The version of everything that a compiled program can see of these headers. */
#define NBCOLL_ABI 3u

/* ---- status ------------------------------------------------------------------------------------------------------ */

/* Append-only: X(name, text). The values are 0, 1, 2, ... in this order. */
#define NBCOLL_STATUS_LIST(X)                                                                      \
    X(OK, "success")                                                                               \
    X(PENDING, "not finished yet")                                                                 \
    X(AGAIN, "something is ready: do not sleep, progress and ask again")                           \
    X(ERR_ARGUMENT, "an argument is invalid")                                                      \
    X(ERR_NULL, "a required pointer is null")                                                      \
    X(ERR_BUFFER, "a buffer is null, in place, or both to send and to receive, where that is not allowed") \
    X(ERR_COUNT, "a count or length overflows size_t")                                             \
    X(ERR_RANK, "a rank lies outside the communicator")                                            \
    X(ERR_ROOT, "the root lies outside the communicator")                                          \
    X(ERR_TYPE, "unknown data type")                                                               \
    X(ERR_OP, "unknown reduction, or one that the data type does not have")                        \
    X(ERR_REQUEST, "the request was released, never started, or is already active")                \
    X(ERR_FOREIGN, "the object belongs to another context")                                        \
    X(ERR_ABI, "the other side was built for another ABI version")                                 \
    X(ERR_CONFIG, "a configuration field is out of its range")                                     \
    X(ERR_MEMORY, "the allocator returned no memory")                                              \
    X(ERR_LIMIT, "a limit of the library is exceeded")                                             \
    X(ERR_CYCLE, "the schedule has a cycle")                                                       \
    X(ERR_UNSUPPORTED, "not supported by this transport or build")                                 \
    X(ERR_BUSY, "still in use")                                                                    \
    X(ERR_TIMEOUT, "the deadline passed before the end of the operation")                          \
    X(ERR_NO_SLOT, "the deadline passed while the operation waited for its slot")                  \
    X(ERR_CANCELLED, "the operation was cancelled")                                                \
    X(ERR_MISMATCH, "the ranks called different operations, or with different arguments")          \
    X(ERR_PEER_LOST, "a member of the communicator died or failed")                                \
    X(ERR_TRANSPORT, "the transport reported a failure")                                           \
    X(ERR_CALL, "a host function of the schedule reported a failure")                              \
    X(ERR_FORKED, "the handle was inherited through fork")                                         \
    X(ERR_VERIFY, "the verifier refuted the schedules")                                            \
    X(ERR_ACCESS, "the other side runs as another user")                                           \
    X(ERR_NAMESPACE, "the other side lives in another network or PID namespace")                   \
    X(ERR_DUPLICATE, "the rank is taken")                                                          \
    X(ERR_LAUNCH, "started without a launcher: use nbcoll run -n N PROGRAM; on a cluster, what starts ranks there") \
    X(ERR_FAULT, "memory that a rank named as a buffer cannot be read or written")                 \
    X(ERR_TAG, "a tag is out of its range")                                                        \
    X(ERR_TRUNCATED, "a message is longer than the buffer of its receive")

typedef enum nbcoll_status {
#define NBCOLLI_STATUS_ENUM(name, text) NBCOLL_##name,
    NBCOLL_STATUS_LIST(NBCOLLI_STATUS_ENUM)
#undef NBCOLLI_STATUS_ENUM
        NBCOLL_STATUS_COUNT
} nbcoll_status;

/* "NBCOLL_ERR_ROOT", and a short English text. Never null; any value is accepted. Any thread. */
NBCOLL_API const char *nbcoll_status_name(nbcoll_status status);
NBCOLL_API const char *nbcoll_status_text(nbcoll_status status);

/* ---- the host ---------------------------------------------------------------------------------------------------- */

/* What the library asks of the program around it. All members are optional; a zeroed one takes the C library's. With
 * all of them set, the library itself calls no malloc, no clock and no thread function. The functions may be called
 * from any thread that is inside a call of the library. */
typedef struct nbcoll_host {
    size_t size;
    void *user; /* passed to each function */
    /* Memory of at least `bytes` bytes, aligned to `align` (a power of two); null when there is none. */
    void *(*alloc)(void *user, size_t bytes, size_t align);
    /* Takes back what alloc gave, with the same `bytes`. */
    void (*free)(void *user, void *memory, size_t bytes);
    /* Takes a line of text without newline. The text names what the status cannot: the step and the call of a builder
     * that were wrong, and why. The library does not call it while all goes well. It must not call the library. */
    void (*log)(void *user, nbcoll_status why, const char *text);
    /* Nanoseconds of a clock that never goes back. */
    uint64_t (*now)(void *user);
    /* Called between two unsuccessful looks while a call waits; `looks` counts them from 1. Replaces the library's own
     * spinning, yielding and sleeping: a task runtime switches to another task here. */
    void (*pause)(void *user, uint64_t looks);
    /* Runs main(argument) on a new thread and returns NBCOLL_OK, or an error. The thread ends by returning. */
    nbcoll_status (*spawn)(void *user, void (*main)(void *argument), void *argument);
} nbcoll_host;

/* ---- context ----------------------------------------------------------------------------------------------------- */

typedef struct nbcoll_context nbcoll_context;
typedef struct nbcoll_comm nbcoll_comm;
typedef struct nbcoll_endpoint nbcoll_endpoint; /* transport.h */
typedef struct nbcoll_schedule nbcoll_schedule; /* schedule.h */
typedef struct nbcoll_observer nbcoll_observer; /* schedule.h */
typedef struct nbcoll_rule nbcoll_rule;         /* select.h */

/* Context flags. */
#define NBCOLL_ANY_THREAD 1u /* any thread may call at any time */

#define NBCOLL_CREDITS 64u /* the default */

typedef struct nbcoll_reducers nbcoll_reducers;

typedef struct nbcoll_context_config {
    size_t size;
    nbcoll_host host;                /* copied */
    const nbcoll_observer *observer; /* null, or told of every step; must outlive the context */
    uint32_t flags;                  /* 0 or NBCOLL_ANY_THREAD */
    uint32_t credits;                /* messages that a peer may send before this rank expects them, in all
                                        communicators of an endpoint together; further ones wait at the peer. 1..65535;
                                        0: NBCOLL_CREDITS. The transport may have room for fewer
                                        (nbcoll_limits.receives). All ranks of an endpoint pass the same number: see
                                        nbcoll_comm_icreate. This rank returns credits when half of them are used. With
                                        few credits that takes messages of its own: a broadcast of 8 bytes takes 1.9
                                        times as long with 8 of them, 7 times with 1 */
    const nbcoll_observer *watcher;  /* null, or told of runs that wait long; must outlive the context. It costs nothing
                                        while no run waits long. Ticks (driver.h) do not tell it: the next call does */
    const nbcoll_reducers *reducers; /* kernels of predefined operations: nbcoll_wide() (wide.h). Null: those that every
                                        processor can run; with NBCOLL_WITH_WIDE, nbcoll_wide(). All compute the same
                                        bits, so ranks need not have the same */
} nbcoll_context_config;

/* Makes a context. `abi` is NBCOLL_ABI as the caller saw it. `config` may be null.
 * Errors: ERR_ABI, ERR_NULL, ERR_CONFIG (unknown flag, `credits` out of range, or `size` too small to hold itself),
 * ERR_MEMORY, ERR_UNSUPPORTED (the kernel does not wipe memory on fork: it is older than Linux 4.14). */
NBCOLL_API nbcoll_status nbcoll_context_create(uint32_t abi, const nbcoll_context_config *config, nbcoll_context **out);

/* Frees the context's communicators, closes its endpoints and frees it. No other thread is inside a call on it, except
 * in a `done` or `pause`. Null is accepted. Errors: ERR_BUSY (a request is active, or a message is not yet handed to
 * its transport: progress, then call again; a `done` is still to be called; a `done` or `pause` has not returned, on
 * any thread; relays over one of its communicators, or an agent over one of its endpoints, are not closed: relay.h,
 * offload.h; it is in a driver, or has ticks), ERR_FORKED. */
NBCOLL_API nbcoll_status nbcoll_context_free(nbcoll_context *context);

/* A start, test or progress is short, however large the data. In one such call the library copies, combines and sends
 * about so many bytes, in pieces, and the context's transports copy as many; that takes tens of microseconds. The rest
 * goes on in later calls, by turns among the operations. A wait goes on until it ends. The functions of host types and
 * operations are called for pieces of at least one element, or unit; CALL steps are not divided. */
#define NBCOLL_PASS_BYTES (256 * 1024)

/* Frees a context that nbcoll_context_free cannot free, because a peer does not answer and may still touch buffers of
 * this rank. Requests, communicators and descriptors go; callbacks are not called. lent(user, buffer, bytes) names each
 * buffer, or part of one, that a peer or a transport may still read or write, perhaps more than once. The host keeps
 * these as they are, for good. If `lent` is null, any buffer of an active operation may be among them. The library
 * never frees memory of its own that may still be touched. For the other ranks this rank is lost; if nothing was under
 * way it has left. No other call on the context may be under way. Null is accepted. Errors: ERR_BUSY (inside a host
 * function; or relays, an agent, its programs, a driver or ticks have not been ended), ERR_FORKED. */
typedef void nbcoll_lent(void *user, void *buffer, size_t bytes);
NBCOLL_API nbcoll_status nbcoll_context_abandon(nbcoll_context *context, nbcoll_lent *lent, void *user);

/* Advances what is ready on all communicators of the context, and runs `done` callbacks. Never blocks. */
NBCOLL_API nbcoll_status nbcoll_progress(nbcoll_context *context);

/* For event loops. nbcoll_fd gives a descriptor that becomes readable when an armed context has something to do; the
 * context closes it. nbcoll_arm returns NBCOLL_OK when the caller may now poll the descriptor. It returns NBCOLL_AGAIN
 * when something became ready meanwhile (progress first), while copying is unfinished (NBCOLL_PASS_BYTES), or when an
 * operation has ended since the last nbcoll_arm, perhaps while the caller tested another one (look at all requests
 * first). One arming serves one readiness: after the poll returns, call nbcoll_progress and arm again. While operations
 * are active poll for 100 ms at most: a rank that sleeps longer learns late that the ranks are out of step (see
 * collectives), and where others are (nbcoll_failure). Errors: ERR_UNSUPPORTED (no endpoint, or one whose transport has
 * no wakeup; arm: relays carry out calls, and nothing would tell of their arrivals, see relay.h). */
NBCOLL_API nbcoll_status nbcoll_fd(nbcoll_context *context, int *fd);
NBCOLL_API nbcoll_status nbcoll_arm(nbcoll_context *context);

/* Where a rank is in an operation, as far as this rank knows. */
typedef enum nbcoll_position {
    NBCOLL_POSITION_UNKNOWN,     /* it has not said: it computes, or there was no time to ask */
    NBCOLL_POSITION_NOT_STARTED,
    NBCOLL_POSITION_ACTIVE,      /* it has started it, and not ended it */
    NBCOLL_POSITION_ENDED,       /* well */
    NBCOLL_POSITION_FAILED,
    NBCOLL_POSITION_FREED        /* it has freed the communicator */
} nbcoll_position;

/* Why a transport has lost a rank, or failed, in its own words. */
typedef struct nbcoll_transport_error {
    int32_t code;     /* an errno, or the number of the transport's maker; 0: none */
    const char *text; /* what failed, which lives as long as the program: "process_vm_readv"; null: nothing is known */
} nbcoll_transport_error;

/* What a rank has called. All but the first member mean something only where that is known. */
typedef struct nbcoll_call {
    const char *operation; /* "allreduce"; null: it is not known, or was a schedule of the program's */
    const char *type, *op; /* as nbcoll_type_name and nbcoll_op_name have them; null: none, or one of the program's */
    uint64_t count;        /* elements; 0 where each rank has counts of its own */
    int root;              /* -1: it has none */
} nbcoll_call;

/* What an error was about. An operation is named by its tag: the number of operations that were started before it on
 * the communicator; creations of communicators count. `rank` (in `comm`; -1 when no member is concerned) was lost,
 * failed, cancelled, or called something else than the others. A rank that others have lost names itself. After
 * ERR_TIMEOUT `rank` is one for which this rank waits, directly or through up to 16 others: a rank that has not started
 * the operation, if one is known, else the lowest; `position` says where it is. After ERR_NO_SLOT `rank` is such a rank
 * of the operation `tag`, which holds the slot. A waiting rank asks about every 40 ms. It reads the answer in shared
 * memory; where ranks share none, they answer from inside calls. What it knows through others is 40 ms older for each,
 * and more where these make no calls. */
#define NBCOLL_FAILURE_MESSAGE (UINT64_C(1) << 63)
typedef struct nbcoll_failure {
    nbcoll_status status;
    int rank;
    uint64_t tag; /* of a message (message.h): NBCOLL_FAILURE_MESSAGE + its tag */
    const nbcoll_comm *comm; /* compare only: it may have been freed */
    nbcoll_position position;
    uint64_t next;           /* the tag that `rank` starts next; 0 when it is not known */
    nbcoll_transport_error reason; /* with ERR_PEER_LOST, where this rank's own transport noticed it */
    /* With ERR_MISMATCH, when ranks are out of step: `rank` differs from most ranks, or, where no majority is known,
     * from `other`. Where neither call is known, this rank has learned of the difference from `rank`; `position` says
     * whether that rank has freed the communicator. */
    int other;            /* -1: from most */
    int is_before;        /* 1: it differs before `tag`, farther back than ranks remember (63 operations) */
    nbcoll_call called;   /* what `rank` has called as operation `tag` */
    nbcoll_call expected; /* and what most have, or `other` */
} nbcoll_failure;

/* nbcoll_last_failure tells the most recent error of an operation on the context; a call that refuses its arguments
 * notes none. nbcoll_comm_failure tells what broke the communicator, else the last of its operations that failed or
 * passed its deadline. If all operations went well: NBCOLL_OK and rank -1. Errors: ERR_NULL, ERR_FORKED. */
NBCOLL_API nbcoll_status nbcoll_last_failure(const nbcoll_context *context, nbcoll_failure *out);
NBCOLL_API nbcoll_status nbcoll_comm_failure(const nbcoll_comm *comm, nbcoll_failure *out);

/* Writes a sentence about it: "rank 3 has not started operation 17", or "rank 1 called barrier as operation 4, but most
 * ranks called allreduce (10 DOUBLE, SUM)". As snprintf: at most `bytes` bytes with the final 0, and
 * returns the length of all of it. Never fails; null gives an empty sentence. Any thread. */
NBCOLL_API size_t nbcoll_failure_text(const nbcoll_failure *failure, char *text, size_t bytes);

/* ---- requests ---------------------------------------------------------------------------------------------------- */

/* The first members of a request and of a persistent request, which inline functions read (see NBCOLL_INLINE). Only the
 * library writes them. NBCOLL_ABI is raised when they change. */
typedef struct nbcoll_request_head {
    uint64_t generation; /* a handle with another generation is stale */
    uint32_t state;      /* atomic: nbcolli_request_state */
    uint32_t outcome;    /* nbcoll_status; in the state OVER: how it ended */
} __attribute__((may_alias)) nbcoll_request_head;

typedef struct nbcoll_start_block {
    nbcoll_request_head head;
    const volatile uint32_t *process; /* 1 in the process that made it, not in one that was forked off */
    /* Starts the inactive request as it went the last time; the caller has checked its generation and process. AGAIN:
     * nothing has happened. Null or AGAIN: call nbcoll_start. */
    nbcoll_status (*restart)(struct nbcoll_start_block *at);
} __attribute__((may_alias)) nbcoll_start_block;

typedef enum nbcolli_request_state {
    NBCOLLI_REQUEST_FREE,
    NBCOLLI_REQUEST_INACTIVE, /* persistent, between runs */
    NBCOLLI_REQUEST_HANDED,   /* started */
    NBCOLLI_REQUEST_ACTIVE,   /* the same, and taken by progress */
    NBCOLLI_REQUEST_ENDED, /* its end has not been reported */
    NBCOLLI_REQUEST_OVER   /* ENDED and persistent, no callback, one thread: any look may report it */
} nbcolli_request_state;

/* One run of a schedule. A plain value: copy it, compare its members, keep it anywhere. The library recognises a
 * released request as long as its context exists. */
typedef struct nbcoll_request {
    nbcoll_request_head *at; /* null: no request */
    uint64_t generation;
} nbcoll_request;
#ifdef __cplusplus
#define NBCOLL_REQUEST_NULL (nbcoll_request{nullptr, 0})
#else
#define NBCOLL_REQUEST_NULL ((nbcoll_request){0})
#endif

/* Timeouts are nanoseconds from the call on. 0 looks once. */
#define NBCOLL_FOREVER UINT64_MAX

/* With NBCOLL_INLINE defined, test and wait are inline where there is nothing to progress: see inline.h.
 *
 * test and wait progress the whole context. While the operation is active they return NBCOLL_PENDING (test), or
 * ERR_TIMEOUT or ERR_NO_SLOT (wait); the request stays valid, and its buffers stay the library's. Any other value says
 * how the operation ended: a non-persistent request has been released and set to NBCOLL_REQUEST_NULL; a persistent one
 * is inactive and can be started again. The null request and an inactive persistent one return NBCOLL_OK at once.
 * Errors of the call itself: ERR_NULL, ERR_REQUEST. An operation ends with: OK, ERR_CANCELLED, ERR_MISMATCH,
 * ERR_PEER_LOST, ERR_CALL, ERR_MEMORY (some rank had none; if the communicator cannot go on without it, that rank gets
 * ERR_MEMORY, the others ERR_PEER_LOST with its name), ERR_FAULT. A transport that fails counts as the loss of the peer
 * behind it. But if a transport cannot expose a rank's memory, only the operation ends, with the transport's error. A
 * rank that frees its context has left. Operations to which it has given its part end well. Those that need more of it
 * end with ERR_PEER_LOST on all ranks that have not ended them. No communicator breaks: operations that can do without
 * that rank go on. */
NBCOLL_API nbcoll_status nbcoll_test(nbcoll_request *request);
NBCOLL_API nbcoll_status nbcoll_wait(nbcoll_request *request, uint64_t timeout);

/* Waits until the steps of the lane START (schedule.h) have ended: the levels of a split tree that a rank does itself
 * before it computes. A start does them as far as it can without waiting, and leaves the rest to drivers and later
 * calls. A start followed by this call blocks as the calls of Denis et al. do (split.h). The null request, and an
 * operation that has no such steps or has ended, return OK at once; test or wait says how it ended. Errors: ERR_NULL,
 * ERR_REQUEST, ERR_BUSY, ERR_TIMEOUT, ERR_FORKED. */
NBCOLL_API nbcoll_status nbcoll_wait_started(const nbcoll_request *request, uint64_t timeout);

/* Several requests, which may belong to different contexts of the calling thread. `statuses` may be null; else
 * statuses[i] is what test would have returned for requests[i]. test_all and wait_all return OK when all ended with OK,
 * the first error in array order when all ended, else PENDING or the timeout; then they release none, also of those
 * that have ended. wait_any reports the first that ended; it passes over null and inactive requests, and returns OK
 * with *index = n when there is no other. wait_some reports at least one: *ended requests, whose indices it writes to
 * indices[0..*ended-1] in rising order; with only null and inactive requests *ended is 0, and it returns OK. Errors:
 * ERR_NULL, ERR_REQUEST. */
NBCOLL_API nbcoll_status nbcoll_test_all(size_t n, nbcoll_request requests[], nbcoll_status statuses[]);
NBCOLL_API nbcoll_status nbcoll_wait_all(size_t n, nbcoll_request requests[], nbcoll_status statuses[],
                                         uint64_t timeout);
NBCOLL_API nbcoll_status nbcoll_wait_any(size_t n, nbcoll_request requests[], size_t *index, uint64_t timeout);
NBCOLL_API nbcoll_status nbcoll_wait_some(size_t n, nbcoll_request requests[], size_t *ended, size_t indices[],
                                          nbcoll_status statuses[], uint64_t timeout);

/* Starts an inactive persistent request; of an active one it returns ERR_REQUEST. Never blocks: without a free slot the
 * operation is queued. Errors: ERR_NULL, ERR_REQUEST, ERR_MISMATCH, ERR_PEER_LOST (the communicator is out of step or
 * broken), ERR_CANCELLED (not all ranks have made it), ERR_MEMORY. */
NBCOLL_API nbcoll_status nbcoll_start(nbcoll_request *request);

/* Makes the library call done(request, status, user) when the operation ends, once for each start, from inside test,
 * wait or progress on the context, with no lock held. `done` may start operations. Call this before or after the start.
 * The callback reports the end: when it returns, a non-persistent request is released. From then on test, wait and
 * cancel of such a request return OK, whatever its status was: its handle never becomes stale, and wait_any and
 * wait_some pass it over. If another thread progresses the context, they may return OK before `done` has been called
 * there, or has returned: what it uses must last until it returns. (A handle of another request may not be recognised
 * as stale if more than 63 later requests had its place, some of them with callbacks.) Errors: ERR_NULL, ERR_REQUEST.
 * */
typedef void nbcoll_done(nbcoll_request request, nbcoll_status status, void *user);
NBCOLL_API nbcoll_status nbcoll_on_done(nbcoll_request request, nbcoll_done *done, void *user);

/* Revokes the operation on all ranks. It ends (test, wait) with ERR_CANCELLED, but only when no peer can touch its
 * buffers any more. Ranks on which it has not ended get ERR_CANCELLED too; the others keep their result. The
 * communicator stays usable. If agents carry out its operations, all of those end (offload.h). An operation that has
 * ended here keeps its status. If the operation makes a communicator, some ranks may have it and others not: see
 * nbcoll_comm_idup. Errors: ERR_REQUEST. */
NBCOLL_API nbcoll_status nbcoll_cancel(nbcoll_request request);

/* Has this part of the receive buffer got its final bytes? `offset` and `bytes` are bytes of the receive buffer, as the
 * call describes it (of a schedule of the program's own: as far as it is used). OK or PENDING. After OK the bytes may
 * be read, although the operation still runs. Of a program (offload.h) it tells long messages (rendezvous) only. Its
 * short messages, and all of a program that another process executes, count as arrived when the operation ends. Errors:
 * ERR_REQUEST, ERR_COUNT (beyond the buffer). */
NBCOLL_API nbcoll_status nbcoll_arrived(nbcoll_request request, size_t offset, size_t bytes);

/* Releases an inactive persistent request and sets it to null; also inside its own `done`. Errors: ERR_NULL,
 * ERR_REQUEST (also: it is not persistent; such a request is released when its end has been reported), ERR_BUSY (it is
 * active, or its `done` is still to be called). */
NBCOLL_API nbcoll_status nbcoll_request_free(nbcoll_request *request);

/* ---- communicators ----------------------------------------------------------------------------------------------- */

/* Flags of a communicator.
 *
 *   REPRODUCIBLE   every reduction gives the same bits in every run, whatever the transport, the placement of the ranks
 *                  and the algorithm: each element is combined along the tree over the ranks 0..P-1 (scan: 0..r;
 *                  exscan: 0..r-1) that splits n ranks behind the largest power of two below n. Holds if any rank asks
 *   COUNTS_KNOWN   in gatherv and scatterv every rank passes the counts of all ranks, so that trees can serve them.
 *                  Holds only if all ranks promise it; nbcoll_comm_flags tells. Changes nothing in alltoallv and
 *                  alltoallw: there a rank passes its own row of counts, and a rank that forwards blocks would need
 *                  those of all pairs
 *   ARRIVAL_TOLERANT   allgather, allgatherv and bcast are served by algorithms in which each block travels by itself,
 *                  and waits for nothing but its own way (schedule.h: NBCOLL_ALGORITHM_ARRIVAL_TOLERANT). Rules that
 *                  name others are passed over. Holds if any rank asks
 *   CHECKED        each operation begins with a barrier, of messages that say what their sender has called. So what
 *                  must be equal is compared among all ranks before data moves; a difference ends the operation itself
 *                  with ERR_MISMATCH on all ranks, with their buffers as they were. For looking for mistakes: it costs
 *                  that barrier, no rank ends before all have started, and agents and relays carry out nothing. Holds
 *                  if any rank asks */
#define NBCOLL_REPRODUCIBLE 1u
#define NBCOLL_COUNTS_KNOWN 2u
#define NBCOLL_ARRIVAL_TOLERANT 4u
#define NBCOLL_CHECKED 8u

/* For `large`: no fixed limit; the cost model decides (select.h). */
#define NBCOLL_BY_COST SIZE_MAX

/* All ranks of a communicator must start its operations in the same order. Threads that share a communicator agree on
 * that order among themselves. */
typedef struct nbcoll_comm_config {
    size_t size;
    uint32_t slots;        /* K: operations in flight. Further ones wait, at less than 1 KiB each, and take their memory
                              when a slot becomes free (if there is none they end with ERR_MEMORY on all ranks).
                              1..65536 */
    uint32_t cells;        /* L: exposures of a rank in an operation, where memory is shared. 1..256. Each rank's
                              transport gives nbcoll_cells_bytes for them, about K * (34 * ranks + 128 * L) bytes, or
                              the communicator works by messages alone: nbcoll_comm_cells tells */
    uint32_t schedules;    /* cached schedules, at most: a count beside `schedule_bytes`. 1..65536 */
    size_t eager;          /* bytes up to which a payload travels with its header; clipped to the transport's limit */
    size_t large;          /* NBCOLL_BY_COST: the cheapest algorithm of the cost model. Else bytes from which the
                              algorithms for large data are chosen */
    uint32_t flags;        /* of those above */
    const nbcoll_rule *rules; /* which algorithms to prefer, the strongest first: copied. See select.h */
    size_t rule_count;        /* 0..NBCOLL_RULES. The same rules on all ranks */
    uint64_t node; /* the host's number for this rank's node, not 0. Ranks that name the same number share a node
                      (nodes.h), whatever they have in common; so one machine can play several. 0: as in the parent; in
                      a first communicator ranks share a node that share an endpoint before the last one, and, over one
                      endpoint, all ranks. Either all ranks name a node, or none */
    struct nbcoll_agent *agent; /* executes operations that can be programs, without this rank, once they are started
                                   (offload.h). Either all ranks give an agent, with equal configurations, or none.
                                   Null: the rank does all itself */
    uint64_t domain; /* the host's number for this rank's domain in its node, for example 1 + what
                        nbcoll_affinity_domains says. Each node numbers its own. 0: as in the parent; a first
                        communicator then has none */
    uint32_t progress_cores; /* processors that the drivers of a node's ranks have together, beside those on which ranks
                                compute. Binomial trees within a node are split accordingly (split.h), unless rules say
                                how. The smallest number of any rank counts. 0: none are known */
    size_t schedule_bytes; /* memory that cached schedules and their runs may take on this rank. Beyond it the library
                              drops the schedules that were used longest ago; it keeps the last one.
                              nbcoll_comm_schedules tells what they take. 0: 32 MiB, or what the last 128 take, if that
                              is more. A short allreduce of two ranks takes 5 KB */
} nbcoll_comm_config;
/* clang-format off */
#define NBCOLL_COMM_DEFAULTS { sizeof(nbcoll_comm_config), 32, 8, 65536, 65536, NBCOLL_BY_COST, 0, 0, 0, 0, 0, 0, 0, 0 }
/* clang-format on */

/* Makes the communicator of all ranks of `endpoint`. Each rank calls it. From then on the context owns the endpoint,
 * and closes it when it is freed; a refused call leaves it to the caller. The ranks may pass different configurations:
 * they agree on what selection reads (the smallest slots and cells; the largest `large`, costs). Rules, agents and the
 * credits of the contexts must be equal, and either all or none name a node, and a domain: else all ranks get
 * ERR_MISMATCH, and the host's log says which rank differs in what. *out is written when the request ends with OK.
 * `config` may be null. Errors: ERR_NULL, ERR_CONFIG, ERR_ABI (the transport's table), ERR_BUSY (the context has the
 * endpoint already: dup its communicator), ERR_FOREIGN (another context has it), ERR_TRANSPORT (no descriptor),
 * ERR_UNSUPPORTED (the kernel cannot poll the transport's descriptor), ERR_MEMORY, ERR_LIMIT (the context has 2^30
 * requests), those of nbcoll_rules_check. Through the request also ERR_ABI, ERR_MISMATCH, ERR_PEER_LOST. */
NBCOLL_API nbcoll_status nbcoll_comm_icreate(nbcoll_context *context, nbcoll_endpoint *endpoint,
                                             const nbcoll_comm_config *config, nbcoll_comm **out,
                                             nbcoll_request *request);
NBCOLL_API nbcoll_status nbcoll_comm_create(nbcoll_context *context, nbcoll_endpoint *endpoint,
                                            const nbcoll_comm_config *config, nbcoll_comm **out, uint64_t timeout);

#define NBCOLL_ENDPOINTS 8 /* of a communicator, at most */

/* The same over `n` endpoints: for example shared memory within each machine, and RDMA between the machines. The last
 * endpoint reaches all ranks; its ranks are those of the communicator. Each of the others joins some of them: all of
 * its ranks name it, at any place before the last. `n` is the same on all ranks. Two ranks exchange everything by the
 * first endpoint that both have, in the order of the lower rank; only the agreement of survivors goes by the last
 * endpoint. The same holds for all communicators that are made of this one.
 *
 * Ranks that have an endpoint in common before the last one are on a node, unless the host names nodes
 * (nbcoll_comm_config.node): see nodes.h. Algorithms are chosen by prices: between nodes those of the last endpoint,
 * inside nodes those of the first, and of all ranks' prices the highest. If all ranks' first endpoints share memory,
 * cells lie there: two ranks with the same first endpoint expose to each other in place, all others by messages
 * (nbcoll_comm_shares tells by pair).
 *
 * A rank that is lost on one of its endpoints is lost on all. A rank that closes its endpoints has left when the
 * endpoint that the pair uses says so. nbcoll_fd and nbcoll_arm serve all endpoints of the context.
 *
 * The context owns the endpoints from then on; a refused call leaves all of them to the caller. Errors: those of
 * nbcoll_comm_create (also ERR_NULL for one of the endpoints), ERR_ARGUMENT (n < 1, or the same endpoint twice),
 * ERR_LIMIT (n > NBCOLL_ENDPOINTS), ERR_UNSUPPORTED (a transport before the last one does not say who has the same
 * endpoint: nbcoll_transport.identify). Through the request, on all ranks, also ERR_MISMATCH: `n` differs; an endpoint
 * has a rank that is none of the last one's, or does not name it, or names it twice; or gives other credits. */
NBCOLL_API nbcoll_status nbcoll_comm_icreate_over(nbcoll_context *context, int n, nbcoll_endpoint *const endpoints[],
                                                  const nbcoll_comm_config *config, nbcoll_comm **out,
                                                  nbcoll_request *request);
NBCOLL_API nbcoll_status nbcoll_comm_create_over(nbcoll_context *context, int n, nbcoll_endpoint *const endpoints[],
                                                 const nbcoll_comm_config *config, nbcoll_comm **out, uint64_t timeout);

/* dup makes a communicator of the same ranks; split makes one of the ranks that passed the same `colour`, ordered by
 * `key`, then by rank in the parent. With a colour below 0 *out becomes null. The new communicator has the parent's
 * configuration without its agent. The call is collective, an operation of `comm` like any other. *out is written when
 * it ends with OK, and must exist until then. All ranks dup, with or without a configuration, or all split, or all
 * split by shared node: else no communicator is made, all get ERR_MISMATCH through the request, and `comm` stays
 * usable. Errors: ERR_NULL, ERR_LIMIT (2^32 communicators of the endpoint, or 2^30 requests of the context),
 * ERR_MISMATCH, ERR_PEER_LOST (the parent is out of step or broken), ERR_MEMORY, ERR_FORKED. Through the request also
 * ERR_LIMIT: others have cancelled operations in more than 1024 separate ranges, of communicators that this rank does
 * not have (any more).
 *
 * A creation may fail on one rank (cancelled, timed out, ERR_MEMORY, ERR_LIMIT) when others have already ended theirs.
 * These then have a communicator that not all ranks have, and are told: operations on it end, and later starts are
 * refused, with ERR_CANCELLED (ERR_PEER_LOST if a rank was lost). The failure names the rank that was the cause, if it
 * is a member. Such a communicator can only be freed; the parent stays usable. The same holds for the first
 * communicator of an endpoint, and for a split if the rank that cancelled passed another colour. */
NBCOLL_API nbcoll_status nbcoll_comm_idup(nbcoll_comm *comm, nbcoll_comm **out, nbcoll_request *request);
NBCOLL_API nbcoll_status nbcoll_comm_dup(nbcoll_comm *comm, nbcoll_comm **out, uint64_t timeout);
NBCOLL_API nbcoll_status nbcoll_comm_isplit(nbcoll_comm *comm, int colour, int key, nbcoll_comm **out,
                                            nbcoll_request *request);
NBCOLL_API nbcoll_status nbcoll_comm_split(nbcoll_comm *comm, int colour, int key, nbcoll_comm **out,
                                           uint64_t timeout);

/* As nbcoll_comm_idup, but configured anew: with other rules, say. `config` is as in nbcoll_comm_create, and the ranks
 * agree on it as they do there; null: the defaults. Errors: those of nbcoll_comm_idup, ERR_CONFIG, and those of
 * nbcoll_rules_check. Through the request also ERR_MISMATCH (the ranks' rules differ). */
NBCOLL_API nbcoll_status nbcoll_comm_idup_with(nbcoll_comm *comm, const nbcoll_comm_config *config, nbcoll_comm **out,
                                               nbcoll_request *request);
NBCOLL_API nbcoll_status nbcoll_comm_dup_with(nbcoll_comm *comm, const nbcoll_comm_config *config, nbcoll_comm **out,
                                              uint64_t timeout);

/* Split by shared node: a communicator of the ranks whose transport gives them common memory, ordered by `key`, then by
 * rank in the parent. With shm these are all ranks of one machine, whether or not the system lets them read each
 * other's memory, but for ranks with NBCOLL_SHM_NO_BULK. A rank without common memory is alone in its own. Of several
 * endpoints the first of each rank counts. */
NBCOLL_API nbcoll_status nbcoll_comm_isplit_shared(nbcoll_comm *comm, int key, nbcoll_comm **out,
                                                   nbcoll_request *request);
NBCOLL_API nbcoll_status nbcoll_comm_split_shared(nbcoll_comm *comm, int key, nbcoll_comm **out, uint64_t timeout);

/* Frees a communicator here; not collective: others may still work there, and what was made of it lives on. Null is
 * accepted. Its schedules and persistent requests end with it; handles of these requests become stale. Allowed inside
 * the `done` of its last operation. Errors: ERR_BUSY (an operation is active; the `done` of a persistent request is
 * still to be called; relays that need it are not closed: relay.h), ERR_FORKED. */
NBCOLL_API nbcoll_status nbcoll_comm_free(nbcoll_comm *comm);

/* Declares `rank` (of `comm`) lost, because it hangs or is stopped and will not go on. Transports find dead ranks; only
 * the host can say how long a living one may take. From then on this rank ignores what `rank` sends, on all
 * communicators of the endpoint, also if it wakes up. Communicators with it break as by a death (ERR_PEER_LOST, naming
 * it); operations end without its answers; contexts and endpoints can be freed. The other members are told, and give it
 * up as well. This cannot be taken back. Declaring the same rank again, or a dead one, changes nothing.
 *
 * The rank itself, if it goes on, is told as soon as it can be: its operations then end with ERR_PEER_LOST, naming
 * itself. If two ranks declare each other lost at the same time, each other rank believes the one that it hears first.
 *
 * Until the endpoint of that rank is closed, or it is dead, it may still read, never write, the buffers that were
 * lent when it was declared lost. If it is another process, that does no harm. But memory of nbcoll_mem_alloc must stay
 * as it is that long; so must all memory, if it is a thread of this process.
 *
 * Errors: ERR_NULL, ERR_RANK (outside the communicator, or this rank itself), ERR_FORKED. */
NBCOLL_API nbcoll_status nbcoll_comm_declare_lost(nbcoll_comm *comm, int rank);

/* Makes a communicator of the ranks of `comm` that are not lost, ordered by their ranks there, with its configuration.
 * `comm` may be broken, by a death or because its ranks are out of step; not all ranks need have noticed. Collective
 * over the survivors: each calls it, as often and in the same order as the others, and it ends when all have called. It
 * is no operation of `comm`: operations there go on, or end with ERR_PEER_LOST naming a lost rank. If a rank has left,
 * operations that another rank has not started when it shrinks end so on all ranks, too. Without losses the result is a
 * duplicate. Ranks may die at any time: all survivors get the same communicator. A rank that dies after they have
 * decided is a dead member of it; they shrink that one again.
 *
 * A rank is lost to all that is lost to one survivor, or by whose loss `comm` has failed there, or that has left. If it
 * is alive it gets ERR_PEER_LOST, naming itself, and so do its later calls on `comm`. Where two halves of the ranks
 * declare each other lost, each gets a communicator of its own.
 *
 * *out is written when the request ends with OK. If it is cancelled, or the blocking call times out, it ends with
 * ERR_CANCELLED on all ranks that have not decided. Ranks that have decided get a communicator that not all ranks have:
 * see nbcoll_comm_idup. Where a rank was declared lost while the others agreed, the result may have no cells (see
 * nbcoll_comm_cells); a duplicate of it has them.
 *
 * Errors: ERR_NULL, ERR_LIMIT (2^32 communicators of the endpoint, or 2^30 requests of the context; more ranks than a
 * message of the transport can name: four for each byte of its limits.payload above 200), ERR_MEMORY, ERR_BUSY (inside
 * a host function), ERR_FORKED. Through the request: ERR_PEER_LOST (this rank is lost to the others), ERR_CANCELLED,
 * ERR_MEMORY (then cancelled on the others). */
NBCOLL_API nbcoll_status nbcoll_comm_ishrink(nbcoll_comm *comm, nbcoll_comm **out, nbcoll_request *request);
NBCOLL_API nbcoll_status nbcoll_comm_shrink(nbcoll_comm *comm, nbcoll_comm **out, uint64_t timeout);

/* This rank, and the number of ranks, of a communicator, which is not null. Never fail; any thread. */
NBCOLL_API int nbcoll_comm_rank(const nbcoll_comm *comm);
NBCOLL_API int nbcoll_comm_size(const nbcoll_comm *comm);
/* The flags that the ranks agreed on. Never fails; any thread. */
NBCOLL_API uint32_t nbcoll_comm_flags(const nbcoll_comm *comm);

/* The cells of a communicator: memory of all its ranks, in which they expose in place. If ranks share memory, but one
 * of them has no room left for its part, the communicator works by messages alone; a line in each host's log says so at
 * the creation. */
typedef struct nbcoll_cells {
    size_t size;
    int present;  /* 1 if the communicator has cells, 0 if it works by messages alone; over several endpoints, on this
                     rank's */
    int lacking;  /* the lowest rank of this rank's endpoint that had no room for its part; -1: none (if there are no
                     cells, the transport of some rank shares no memory) */
    size_t bytes; /* of each rank's shared memory that its part takes, or would take. In one made by split: room for all
                     ranks of the parent */
    uint32_t exposures; /* of a rank in an operation, at most, as the ranks agreed (nbcoll_comm_config.cells) */
} nbcoll_cells;
/* Set out->size before. Any thread. Errors: ERR_NULL, ERR_CONFIG (out->size), ERR_FORKED. */
NBCOLL_API nbcoll_status nbcoll_comm_cells(const nbcoll_comm *comm, nbcoll_cells *out);
/* Bytes that the cells of a communicator of so many ranks take of each rank's shared memory. `config` may be null: the
 * defaults. 0: no communicator with cells can be made so. Any thread. */
NBCOLL_API size_t nbcoll_cells_bytes(const nbcoll_comm_config *config, int ranks);

/* The schedules that a communicator has cached on this rank. A call that equals an earlier one, apart from buffers and
 * what a host's descriptors point to, finds its schedule; others build one. */
typedef struct nbcoll_schedules {
    size_t size;
    uint32_t kept;       /* cached now */
    size_t bytes;        /* that these take */
    size_t most;         /* that they may take: nbcoll_comm_config.schedule_bytes */
    uint64_t operations; /* started here on the communicator, with those that made it or were made of it */
    uint64_t built;      /* schedules: by calls that did not find theirs. As many as operations: the cache is too small,
                            or no call is like another */
    uint64_t evicted;    /* of these: they made room */
} nbcoll_schedules;
/* Set out->size before. Errors: ERR_NULL, ERR_CONFIG (out->size), ERR_BUSY (inside a host function), ERR_FORKED. */
NBCOLL_API nbcoll_status nbcoll_comm_schedules(nbcoll_comm *comm, nbcoll_schedules *out);

/* Operations started and not yet ended here: those of requests, and those that a blocking call left at its timeout. */
NBCOLL_API size_t nbcoll_comm_active(const nbcoll_comm *comm);

/* Memory for large buffers that are used often. If the transport shares memory, other ranks read it directly, also in a
 * container where no process may read another's memory. Elsewhere it is the host's memory, registered once for its
 * lifetime; other buffers are registered for each message. Shared memory comes from what the transport has for this
 * rank (shm: its quota), which also holds the cells of communicators: an allocation can leave a later communicator
 * without cells. The memory is aligned to 128 bytes and zeroed. Free it before the context, and not while an operation
 * uses it (the library does not check that: a peer would read what lies there next). What is not freed ends with the
 * context. Errors of alloc: ERR_NULL, ERR_UNSUPPORTED (the transport moves no bulk data), ERR_MEMORY, or what the
 * transport says when it cannot register; of free, which accepts null memory: ERR_NULL (comm), ERR_BUFFER (not from
 * here). */
NBCOLL_API nbcoll_status nbcoll_mem_alloc(nbcoll_comm *comm, size_t bytes, void **out);
NBCOLL_API nbcoll_status nbcoll_mem_free(nbcoll_comm *comm, void *memory);

/* ---- types and reductions ---------------------------------------------------------------------------------------- */

/* A type or an operation is a number: a predefined one, listed below, or the address of a descriptor of the host
 * (nbcoll_type_of, nbcoll_op_of). Nothing is registered. */
typedef uintptr_t nbcoll_type;
typedef uintptr_t nbcoll_op;

#ifdef __cplusplus
typedef bool nbcoll_bool;
#else
typedef _Bool nbcoll_bool;
#endif

/* Complex numbers lie as C's and C++'s do, so that arrays of those can be passed as they are. */
typedef struct nbcoll_float_complex { float re, im; } nbcoll_float_complex;
typedef struct nbcoll_double_complex { double re, im; } nbcoll_double_complex;
typedef struct nbcoll_long_double_complex { long double re, im; } nbcoll_long_double_complex;

/* The elements of MINLOC and MAXLOC. */
typedef struct nbcoll_float_int { float value; int index; } nbcoll_float_int;
typedef struct nbcoll_double_int { double value; int index; } nbcoll_double_int;
typedef struct nbcoll_long_int { long value; int index; } nbcoll_long_int;
typedef struct nbcoll_int_int { int value; int index; } nbcoll_int_int;
typedef struct nbcoll_short_int { short value; int index; } nbcoll_short_int;
typedef struct nbcoll_long_double_int { long double value; int index; } nbcoll_long_double_int;
typedef struct nbcoll_double_int64 { double value; int64_t index; } nbcoll_double_int64;
typedef struct nbcoll_int64_int64 { int64_t value; int64_t index; } nbcoll_int64_int64;

/* Append-only: X(name, C type, class). HALF is IEEE binary16, BFLOAT16 the upper half of a float; both as their bits.
 * A type's class says which operations it has:
 *
 *   SIGNED, UNSIGNED   SUM PROD MIN MAX LAND LOR LXOR BAND BOR BXOR
 *   FLOATING, NARROW   SUM PROD MIN MAX
 *   COMPLEX            SUM PROD
 *   LOGICAL            LAND LOR LXOR
 *   BYTES              BAND BOR BXOR
 *   PAIR               MINLOC MAXLOC */
#define NBCOLL_TYPE_LIST(X)                                                                                            \
    X(BYTE, unsigned char, BYTES)                                                                                      \
    X(INT8, int8_t, SIGNED)                                                                                            \
    X(INT16, int16_t, SIGNED)                                                                                          \
    X(INT32, int32_t, SIGNED)                                                                                          \
    X(INT64, int64_t, SIGNED)                                                                                          \
    X(UINT8, uint8_t, UNSIGNED)                                                                                        \
    X(UINT16, uint16_t, UNSIGNED)                                                                                      \
    X(UINT32, uint32_t, UNSIGNED)                                                                                      \
    X(UINT64, uint64_t, UNSIGNED)                                                                                      \
    X(FLOAT, float, FLOATING)                                                                                          \
    X(DOUBLE, double, FLOATING)                                                                                        \
    X(LONG_DOUBLE, long double, FLOATING)                                                                              \
    X(HALF, uint16_t, NARROW)                                                                                          \
    X(BFLOAT16, uint16_t, NARROW)                                                                                      \
    X(FLOAT_COMPLEX, nbcoll_float_complex, COMPLEX)                                                                    \
    X(DOUBLE_COMPLEX, nbcoll_double_complex, COMPLEX)                                                                  \
    X(LONG_DOUBLE_COMPLEX, nbcoll_long_double_complex, COMPLEX)                                                        \
    X(BOOL, nbcoll_bool, LOGICAL)                                                                                      \
    X(FLOAT_INT, nbcoll_float_int, PAIR)                                                                               \
    X(DOUBLE_INT, nbcoll_double_int, PAIR)                                                                             \
    X(LONG_INT, nbcoll_long_int, PAIR)                                                                                 \
    X(INT_INT, nbcoll_int_int, PAIR)                                                                                   \
    X(SHORT_INT, nbcoll_short_int, PAIR)                                                                               \
    X(LONG_DOUBLE_INT, nbcoll_long_double_int, PAIR)                                                                   \
    X(DOUBLE_INT64, nbcoll_double_int64, PAIR)                                                                         \
    X(INT64_INT64, nbcoll_int64_int64, PAIR)
enum {
#define NBCOLLI_TYPE_ENUM(name, ctype, kind) NBCOLL_##name,
    NBCOLL_TYPE_LIST(NBCOLLI_TYPE_ENUM)
#undef NBCOLLI_TYPE_ENUM
        NBCOLL_TYPE_COUNT
};

/* C's own integers. */
#define NBCOLLI_SIGNED_OF(T)                                                                                           \
    ((nbcoll_type)(sizeof(T) == 1   ? NBCOLL_INT8                                                                      \
                   : sizeof(T) == 2 ? NBCOLL_INT16                                                                     \
                   : sizeof(T) == 4 ? NBCOLL_INT32                                                                     \
                                    : NBCOLL_INT64))
#define NBCOLLI_UNSIGNED_OF(T) (NBCOLLI_SIGNED_OF(T) - NBCOLL_INT8 + NBCOLL_UINT8)
#define NBCOLL_SCHAR NBCOLLI_SIGNED_OF(signed char)
#define NBCOLL_SHORT NBCOLLI_SIGNED_OF(short)
#define NBCOLL_INT NBCOLLI_SIGNED_OF(int)
#define NBCOLL_LONG NBCOLLI_SIGNED_OF(long)
#define NBCOLL_LLONG NBCOLLI_SIGNED_OF(long long)
#define NBCOLL_PTRDIFF NBCOLLI_SIGNED_OF(ptrdiff_t)
#define NBCOLL_UCHAR NBCOLLI_UNSIGNED_OF(unsigned char)
#define NBCOLL_USHORT NBCOLLI_UNSIGNED_OF(unsigned short)
#define NBCOLL_UINT NBCOLLI_UNSIGNED_OF(unsigned int)
#define NBCOLL_ULONG NBCOLLI_UNSIGNED_OF(unsigned long)
#define NBCOLL_ULLONG NBCOLLI_UNSIGNED_OF(unsigned long long)
#define NBCOLL_SIZE NBCOLLI_UNSIGNED_OF(size_t)
#define NBCOLL_CHAR (CHAR_MIN < 0 ? NBCOLL_SCHAR : NBCOLL_UCHAR)
#define NBCOLL_WCHAR (WCHAR_MIN < 0 ? NBCOLLI_SIGNED_OF(wchar_t) : NBCOLLI_UNSIGNED_OF(wchar_t))

/* Append-only. What they compute, left op right, to the bit on every processor:
 *
 *   SUM, PROD        of integers wrap modulo 2^bits. Of floating types they are rounded once, in the caller's rounding
 *                    mode; of narrow ones they are computed in float, and that is rounded to the nearest, ties to even.
 *                    A complex product is (a c - b d) + (a d + b c) i, each product, difference and sum rounded:
 *                    infinities are not repaired. Which NaN results is unspecified
 *   MIN, MAX         -0 is less than +0. The other operand when one is NaN, the left one when both are
 *   LAND, LOR, LXOR  0 or 1; an operand that is not zero is true
 *   BAND, BOR, BXOR  bit by bit
 *   MINLOC, MAXLOC   the operand with the lesser or greater value. The other one when one value is NaN. Of equal values
 *                    (-0 and +0 are equal; both NaN) the one with the lower index, and of equal indices the left one
 *
 * All are commutative; all but SUM and PROD of floating, narrow and complex types are associative too; both to the bit,
 * except for which NaN results when all are NaN, and for operands of MINLOC or MAXLOC that differ in the sign of a zero
 * or the bits of a NaN only. Padding (of long double, of pairs) is never looked at, and undefined in a result. */
#define NBCOLL_OP_LIST(X)                                                                                              \
    X(SUM) X(PROD) X(MIN) X(MAX) X(BAND) X(BOR) X(BXOR) X(LAND) X(LOR) X(LXOR) X(MINLOC) X(MAXLOC)
enum {
#define NBCOLLI_OP_ENUM(name) NBCOLL_##name,
    NBCOLL_OP_LIST(NBCOLLI_OP_ENUM)
#undef NBCOLLI_OP_ENUM
        NBCOLL_OP_COUNT
};

/* A type of the host's: element i of a buffer is the `extent` bytes from i * extent on. With packed = 0 these bytes
 * travel as they are. Otherwise pack turns `count` elements into count * packed bytes, which travel, and unpack turns
 * them back; bytes that unpack does not write are left as they are. Both return NBCOLL_OK, or an error: the operation
 * then ends with ERR_CALL here and wherever it has not ended yet. They and `combine` below are called from inside any
 * call that advances the context, and must not call the library. Elements lie where the caller put them, packed ones
 * and intermediate results at multiples of their size from an address aligned to 64 bytes.
 *
 * The host owns the descriptor. It stays unchanged as long as a request that was opened with it, like the buffers; for
 * a blocking call until that returns, or, after its timeout, until nbcoll_comm_active no longer counts the operation.
 * Then it may be freed, and another one may have its address: a communicator caches schedules by sizes, and keeps no
 * descriptor. A schedule that the host builds itself (schedule.h) names its descriptors as long as it lives.
 *
 * Of an element, `packed` bytes travel, or else `extent`: ranks may pass different types that have this in common, say
 * elements with gaps here and without them there. A type whose extent and packed are 0 has elements without bytes: any
 * number of them may be passed, nothing is moved, and buffers may be null. If only its extent is 0, all elements lie at
 * one place; a call that receives more than one (or has counts of blocks to receive) gets ERR_TYPE.
 *
 * With pack_units and unpack_units, which then serve in place of the other two, packed elements consist of units:
 * elements of the predefined type `of`, whose operations combine them. These functions move `count` units, from unit
 * `first` of all `elements` on, which lies at `units`: elements of any length are packed in pieces.
 *
 * ERR_TYPE, where a type is taken: `size` too small, or packed > 0 without both functions. */
typedef struct nbcoll_host_type {
    size_t size;
    size_t extent;
    size_t packed;
    void *user; /* passed to each function */
    nbcoll_status (*pack)(void *user, const void *elements, void *packed, size_t count);
    nbcoll_status (*unpack)(void *user, const void *packed, void *elements, size_t count);
    nbcoll_type of;
    nbcoll_status (*pack_units)(void *user, const void *elements, void *units, size_t first, size_t count);
    nbcoll_status (*unpack_units)(void *user, const void *units, void *elements, size_t first, size_t count);
} nbcoll_host_type;

/* An operation of the host's: result[i] = left[i] op right[i] for `count` elements, packed ones if `type` packs. It is
 * associative, but perhaps for rounding (see NBCOLL_REPRODUCIBLE). `result` may be `left` or `right` itself; otherwise
 * they do not overlap. It applies to every type that is passed with it. `commutative` is 0 if the order of the operands
 * matters: they are then combined in rank order. It returns NBCOLL_OK, or an error, as above; ownership and calls are
 * as above too. If `combine` is null, each call asks `resolve` for another type and operation in their places. It
 * completes *states, which has the extent of `type`, and sets *by, which combines what *states packs elements to; the
 * result is unpacked (sums.h). A result here is made of the elements of `operands` ranks: in a scan rank + 1, in an
 * exscan rank. States have the same size on all ranks. *states is copied; what it and *by point to lives as long as the
 * request. Where resolve fails, the call returns its status. Steps of schedules cannot combine so (ERR_OP).
 *
 * ERR_OP, where an operation is taken: `size` too small, or neither function. */
typedef struct nbcoll_host_op {
    size_t size;
    void *user; /* passed to the functions */
    nbcoll_status (*combine)(void *user, void *result, const void *left, const void *right, size_t count,
                             nbcoll_type type);
    int commutative;
    nbcoll_status (*resolve)(void *user, nbcoll_type type, int operands, nbcoll_host_type *states, nbcoll_op *by);
} nbcoll_host_op;

/* The type or operation that a descriptor describes; an unknown one for null. Any thread. */
static inline nbcoll_type nbcoll_type_of(const nbcoll_host_type *descriptor)
{
    return descriptor ? (nbcoll_type)descriptor : (nbcoll_type)NBCOLL_TYPE_COUNT;
}

static inline nbcoll_op nbcoll_op_of(const nbcoll_host_op *descriptor)
{
    return descriptor ? (nbcoll_op)descriptor : (nbcoll_op)NBCOLL_OP_COUNT;
}

/* In all four, a number that is neither predefined nor an aligned address from 4096 on is unknown; so is a descriptor
 * that would be refused. Any thread.
 *
 * Bytes of one element in the caller's buffers; 0 for an unknown type, which nbcoll_type_name tells from one of the
 * host's whose elements have none. */
NBCOLL_API size_t nbcoll_type_size(nbcoll_type type);
/* "FLOAT", "SUM"; "HOST" for a host's; "?" for an unknown one. */
NBCOLL_API const char *nbcoll_type_name(nbcoll_type type);
NBCOLL_API const char *nbcoll_op_name(nbcoll_op op);
/* 1 if elements of the type can be combined by the operation, else 0. A host's operation applies to every known type
 * that its `resolve` takes, a predefined one to units that have it. */
NBCOLL_API int nbcoll_op_applies(nbcoll_op op, nbcoll_type type);

/* ---- collectives ------------------------------------------------------------------------------------------------- */

/* Each in three forms with the same meaning:
 *
 *   nbcoll_iX(..., comm, &request)     starts it
 *   nbcoll_X_init(..., comm, &request) makes a persistent request for it, to be started with nbcoll_start
 *   nbcoll_X(..., comm, timeout)       starts it and waits; at the timeout it cancels the operation and returns
 *                                      ERR_TIMEOUT or ERR_NO_SLOT, and all that was lent stays lent until
 *                                      nbcoll_comm_active falls. The other ranks then get ERR_CANCELLED
 *
 * Below, P is the number of ranks, r each of them; send_r is the send buffer of rank r. Counts are in elements of
 * `type`, and so are displacements.
 *
 * From the start to the end of an operation the library owns its buffers: neither read receive buffers nor write any of
 * them. The same holds for arrays of counts, displacements and types, which are not copied; those of a persistent
 * request stay the library's from _init until it is freed. Buffers, arrays and counts that a rank does not use (the
 * send buffer of a scatter away from its root) are not looked at and may be anything. A rank's send and receive buffer
 * do not overlap, nor do blocks that it receives; blocks that it sends may. Counts may be zero, also some of them; a
 * buffer without elements may be null, an array may not.
 *
 * NBCOLL_IN_PLACE as send buffer (scatter, scatterv: as the root's receive buffer) means that this rank's contribution
 * already stands where its result belongs. In reductions, alltoall, alltoallv and alltoallw it means that the receive
 * buffer holds the contribution, and the result replaces it. Each rank chooses for itself.
 *
 * Ranks may use different forms for the same operation. In scatterv and gatherv without NBCOLL_COUNTS_KNOWN, and in
 * alltoallv and alltoallw, the start of a type that packs needs memory for this rank's packed blocks (ERR_MEMORY, and
 * nothing has changed), unless an earlier start of the same call left enough.
 *
 * All ranks pass the same root. In reductions they pass the same op, count and type. Elsewhere they pass as many bytes,
 * of any types: some may count numbers and some bytes. What counts is what travels, for types that pack the packed
 * elements. A difference ends the operation with ERR_MISMATCH on all ranks where it has not ended. A message or a piece
 * of shared memory shows it at once. Else it takes up to 200 ms from the last of the calls: a waiting rank asks the
 * others what they run, or reads that from shared memory. Without shared memory a rank answers only while it is inside
 * calls that progress. A rank that has not started the operation is no difference, however late it is; a rank that has
 * freed the communicator is one. After the first difference the ranks are out of step: operations that all had started
 * before still end as they should, further starts on the communicator get ERR_MISMATCH. With little data operations may
 * end before anything can be compared: a scatter on one rank and a gather on the other, or a bcast with two roots, may
 * both be OK, and the allreduce after them gets ERR_MISMATCH. NBCOLL_CHECKED finds each difference in the operation
 * itself. Before an operation ends with ERR_MISMATCH it waits up to 100 ms while the ranks tell each other what they
 * have called: nbcoll_comm_failure then names the rank that differs from most, in the first operation in which it does.
 * Three do not wait, so that what the others have called may not be known yet: a refused start, an operation that has
 * no slot, and one that has failed on another rank, where word of that comes before word of the difference. Then
 * nbcoll_comm_failure knows it some calls of nbcoll_progress later.
 *
 * Where each rank passes its own counts, a rank must send as many bytes to another as that one receives from it: else
 * the operation ends with ERR_MISMATCH before any of these bytes is written, and other operations go on. The library
 * does not tell the host's operations apart, except by whether they commute, nor the types that they combine, except by
 * size.
 *
 * Errors at the call: ERR_NULL (comm, request or a needed array), ERR_ROOT, ERR_TYPE, ERR_OP, ERR_BUFFER (null; in
 * place where that means nothing; or, where there are no displacements, the same for both), ERR_COUNT (bytes overflow,
 * of a block, its place, or all ranks' blocks together; or the two counts of what a rank keeps for itself differ),
 * ERR_UNSUPPORTED (no algorithm does what the communicator's flags demand), ERR_MISMATCH (an earlier message shows that
 * the ranks are out of step), ERR_PEER_LOST (the communicator is broken), ERR_MEMORY, ERR_LIMIT (the context has 2^30
 * requests), ERR_FORKED.
 *
 * No call can tell whether this rank may read, or write, a buffer's memory. If the kernel copies and refuses, the
 * operation ends with ERR_FAULT on all ranks that have not ended it, nbcoll_failure names the rank with that buffer,
 * and the communicator goes on. If the library copies, the program gets SIGSEGV (see shm.h). */
#define NBCOLL_IN_PLACE ((void *)(intptr_t)-1)

/* 32-bit counts or displacements in the place of an array of these: nbcoll_iallgatherv(send, recv, nbcoll_ints(counts),
 * nbcoll_ints(displs), ...). They are the library's for as long as the array that they stand for. Error, at the call:
 * ERR_COUNT (a negative number). */
static inline const size_t *nbcoll_ints(const int numbers[])
{
    return (const size_t *)((uintptr_t)numbers | (uintptr_t)(numbers != NULL));
}

/* Ends on a rank only after every rank has started it. */
NBCOLL_API nbcoll_status nbcoll_ibarrier(nbcoll_comm *comm, nbcoll_request *request);
NBCOLL_API nbcoll_status nbcoll_barrier_init(nbcoll_comm *comm, nbcoll_request *request);
NBCOLL_API nbcoll_status nbcoll_barrier(nbcoll_comm *comm, uint64_t timeout);

/* Every rank's buffer[0..count) becomes the root's. Not in place: there is one buffer. */
NBCOLL_API nbcoll_status nbcoll_ibcast(void *buffer, size_t count, nbcoll_type type, int root, nbcoll_comm *comm,
                                       nbcoll_request *request);
NBCOLL_API nbcoll_status nbcoll_bcast_init(void *buffer, size_t count, nbcoll_type type, int root, nbcoll_comm *comm,
                                           nbcoll_request *request);
NBCOLL_API nbcoll_status nbcoll_bcast(void *buffer, size_t count, nbcoll_type type, int root, nbcoll_comm *comm,
                                      uint64_t timeout);

/* Rank r's recv[0..count) becomes the root's send[r * count ..). `send` is read at the root only. In place at the
 * root: its own block stays in `send`. */
NBCOLL_API nbcoll_status nbcoll_iscatter(const void *send, void *recv, size_t count, nbcoll_type type, int root,
                                         nbcoll_comm *comm, nbcoll_request *request);
NBCOLL_API nbcoll_status nbcoll_scatter_init(const void *send, void *recv, size_t count, nbcoll_type type, int root,
                                             nbcoll_comm *comm, nbcoll_request *request);
NBCOLL_API nbcoll_status nbcoll_scatter(const void *send, void *recv, size_t count, nbcoll_type type, int root,
                                        nbcoll_comm *comm, uint64_t timeout);

/* Rank r's recv[0..count) becomes the root's send[displs[r] .. displs[r] + counts[r]), where r's `count` is
 * counts[r]. `send`, `counts` and `displs` are read at the root only; with NBCOLL_COUNTS_KNOWN all ranks pass the
 * same `counts`, and `count` is ignored. In place at the root: its own block stays in `send`; `count` is ignored
 * there. */
NBCOLL_API nbcoll_status nbcoll_iscatterv(const void *send, const size_t counts[], const size_t displs[], void *recv,
                                          size_t count, nbcoll_type type, int root, nbcoll_comm *comm,
                                          nbcoll_request *request);
NBCOLL_API nbcoll_status nbcoll_scatterv_init(const void *send, const size_t counts[], const size_t displs[],
                                              void *recv, size_t count, nbcoll_type type, int root, nbcoll_comm *comm,
                                              nbcoll_request *request);
NBCOLL_API nbcoll_status nbcoll_scatterv(const void *send, const size_t counts[], const size_t displs[], void *recv,
                                         size_t count, nbcoll_type type, int root, nbcoll_comm *comm, uint64_t timeout);

/* The root's recv[r * count ..) becomes rank r's send[0..count). `recv` is written at the root only. In place at
 * the root: its own block stands in `recv`. */
NBCOLL_API nbcoll_status nbcoll_igather(const void *send, void *recv, size_t count, nbcoll_type type, int root,
                                        nbcoll_comm *comm, nbcoll_request *request);
NBCOLL_API nbcoll_status nbcoll_gather_init(const void *send, void *recv, size_t count, nbcoll_type type, int root,
                                            nbcoll_comm *comm, nbcoll_request *request);
NBCOLL_API nbcoll_status nbcoll_gather(const void *send, void *recv, size_t count, nbcoll_type type, int root,
                                       nbcoll_comm *comm, uint64_t timeout);

/* The root's recv[displs[r] .. displs[r] + counts[r]) becomes rank r's send[0..count), where r's `count` is
 * counts[r]. `recv`, `counts` and `displs` are used at the root only; with NBCOLL_COUNTS_KNOWN all ranks pass the
 * same `counts`, and `count` is ignored. Between the blocks nothing is written. In place at the root: its own block
 * stands in `recv`; `count` is ignored there. */
NBCOLL_API nbcoll_status nbcoll_igatherv(const void *send, size_t count, void *recv, const size_t counts[],
                                         const size_t displs[], nbcoll_type type, int root, nbcoll_comm *comm,
                                         nbcoll_request *request);
NBCOLL_API nbcoll_status nbcoll_gatherv_init(const void *send, size_t count, void *recv, const size_t counts[],
                                             const size_t displs[], nbcoll_type type, int root, nbcoll_comm *comm,
                                             nbcoll_request *request);
NBCOLL_API nbcoll_status nbcoll_gatherv(const void *send, size_t count, void *recv, const size_t counts[],
                                        const size_t displs[], nbcoll_type type, int root, nbcoll_comm *comm,
                                        uint64_t timeout);

/* Every rank's recv[r * count ..) becomes rank r's send[0..count). In place: this rank's block stands in `recv`. */
NBCOLL_API nbcoll_status nbcoll_iallgather(const void *send, void *recv, size_t count, nbcoll_type type,
                                           nbcoll_comm *comm, nbcoll_request *request);
NBCOLL_API nbcoll_status nbcoll_allgather_init(const void *send, void *recv, size_t count, nbcoll_type type,
                                               nbcoll_comm *comm, nbcoll_request *request);
NBCOLL_API nbcoll_status nbcoll_allgather(const void *send, void *recv, size_t count, nbcoll_type type,
                                          nbcoll_comm *comm, uint64_t timeout);

/* Every rank's recv[displs[r] .. displs[r] + counts[r]) becomes rank r's send[0..counts[r]). All ranks pass the
 * same `counts`; `displs` may differ. In place: this rank's block stands in `recv`. */
NBCOLL_API nbcoll_status nbcoll_iallgatherv(const void *send, void *recv, const size_t counts[], const size_t displs[],
                                            nbcoll_type type, nbcoll_comm *comm, nbcoll_request *request);
NBCOLL_API nbcoll_status nbcoll_allgatherv_init(const void *send, void *recv, const size_t counts[],
                                                const size_t displs[], nbcoll_type type, nbcoll_comm *comm,
                                                nbcoll_request *request);
NBCOLL_API nbcoll_status nbcoll_allgatherv(const void *send, void *recv, const size_t counts[], const size_t displs[],
                                           nbcoll_type type, nbcoll_comm *comm, uint64_t timeout);

/* Every rank's recv[r * count ..) becomes send_r[m * count ..), m being the rank's own number. In place: recv is
 * replaced. */
NBCOLL_API nbcoll_status nbcoll_ialltoall(const void *send, void *recv, size_t count, nbcoll_type type,
                                          nbcoll_comm *comm, nbcoll_request *request);
NBCOLL_API nbcoll_status nbcoll_alltoall_init(const void *send, void *recv, size_t count, nbcoll_type type,
                                              nbcoll_comm *comm, nbcoll_request *request);
NBCOLL_API nbcoll_status nbcoll_alltoall(const void *send, void *recv, size_t count, nbcoll_type type,
                                         nbcoll_comm *comm, uint64_t timeout);

/* Rank m's recv[recv_displs[r] .. + recv_counts[r]) becomes the send_counts[m] elements of send_r from its
 * send_displs[m] on: as many. In place: the send arrays are ignored, and recv block r is replaced by what rank r
 * has for m, which is as long. */
NBCOLL_API nbcoll_status nbcoll_ialltoallv(const void *send, const size_t send_counts[], const size_t send_displs[],
                                           void *recv, const size_t recv_counts[], const size_t recv_displs[],
                                           nbcoll_type type, nbcoll_comm *comm, nbcoll_request *request);
NBCOLL_API nbcoll_status nbcoll_alltoallv_init(const void *send, const size_t send_counts[], const size_t send_displs[],
                                               void *recv, const size_t recv_counts[], const size_t recv_displs[],
                                               nbcoll_type type, nbcoll_comm *comm, nbcoll_request *request);
NBCOLL_API nbcoll_status nbcoll_alltoallv(const void *send, const size_t send_counts[], const size_t send_displs[],
                                          void *recv, const size_t recv_counts[], const size_t recv_displs[],
                                          nbcoll_type type, nbcoll_comm *comm, uint64_t timeout);

/* As alltoallv with a type for each block, and displacements in bytes. Both ends of a block need the same bytes, packed
 * ones where a type packs, not the same type. Some types may pack, and others not. The type of a block whose count is 0
 * is not read: any number may stand there. */
NBCOLL_API nbcoll_status nbcoll_ialltoallw(const void *send, const size_t send_counts[], const size_t send_displs[],
                                           const nbcoll_type send_types[], void *recv, const size_t recv_counts[],
                                           const size_t recv_displs[], const nbcoll_type recv_types[],
                                           nbcoll_comm *comm, nbcoll_request *request);
NBCOLL_API nbcoll_status nbcoll_alltoallw_init(const void *send, const size_t send_counts[], const size_t send_displs[],
                                               const nbcoll_type send_types[], void *recv, const size_t recv_counts[],
                                               const size_t recv_displs[], const nbcoll_type recv_types[],
                                               nbcoll_comm *comm, nbcoll_request *request);
NBCOLL_API nbcoll_status nbcoll_alltoallw(const void *send, const size_t send_counts[], const size_t send_displs[],
                                          const nbcoll_type send_types[], void *recv, const size_t recv_counts[],
                                          const size_t recv_displs[], const nbcoll_type recv_types[], nbcoll_comm *comm,
                                          uint64_t timeout);

/* The root's recv[i] becomes send_0[i] op send_1[i] op ... op send_{P-1}[i]. The bracketing is the algorithm's, the
 * order too if the op commutes; with NBCOLL_REPRODUCIBLE both are fixed. `recv` is written at the root only. In
 * place at the root. */
NBCOLL_API nbcoll_status nbcoll_ireduce(const void *send, void *recv, size_t count, nbcoll_type type, nbcoll_op op,
                                        int root, nbcoll_comm *comm, nbcoll_request *request);
NBCOLL_API nbcoll_status nbcoll_reduce_init(const void *send, void *recv, size_t count, nbcoll_type type, nbcoll_op op,
                                            int root, nbcoll_comm *comm, nbcoll_request *request);
NBCOLL_API nbcoll_status nbcoll_reduce(const void *send, void *recv, size_t count, nbcoll_type type, nbcoll_op op,
                                       int root, nbcoll_comm *comm, uint64_t timeout);

/* As reduce, with the result at every rank, and the same bits there. In place at any rank. */
NBCOLL_API nbcoll_status nbcoll_iallreduce(const void *send, void *recv, size_t count, nbcoll_type type, nbcoll_op op,
                                           nbcoll_comm *comm, nbcoll_request *request);
NBCOLL_API nbcoll_status nbcoll_allreduce_init(const void *send, void *recv, size_t count, nbcoll_type type,
                                               nbcoll_op op, nbcoll_comm *comm, nbcoll_request *request);
NBCOLL_API nbcoll_status nbcoll_allreduce(const void *send, void *recv, size_t count, nbcoll_type type, nbcoll_op op,
                                          nbcoll_comm *comm, uint64_t timeout);

/* The vector of counts[0] + ... + counts[P-1] elements that reduce would give, cut into blocks of counts[r]
 * elements: rank r's recv[0..counts[r]) becomes block r. All ranks pass the same `counts`. In place: recv holds the
 * whole vector; behind the result it keeps what it held. */
NBCOLL_API nbcoll_status nbcoll_ireduce_scatter(const void *send, void *recv, const size_t counts[], nbcoll_type type,
                                                nbcoll_op op, nbcoll_comm *comm, nbcoll_request *request);
NBCOLL_API nbcoll_status nbcoll_reduce_scatter_init(const void *send, void *recv, const size_t counts[],
                                                    nbcoll_type type, nbcoll_op op, nbcoll_comm *comm,
                                                    nbcoll_request *request);
NBCOLL_API nbcoll_status nbcoll_reduce_scatter(const void *send, void *recv, const size_t counts[], nbcoll_type type,
                                               nbcoll_op op, nbcoll_comm *comm, uint64_t timeout);

/* As reduce_scatter with blocks of `count` elements, in `send` of P * count. */
NBCOLL_API nbcoll_status nbcoll_ireduce_scatter_block(const void *send, void *recv, size_t count, nbcoll_type type,
                                                      nbcoll_op op, nbcoll_comm *comm, nbcoll_request *request);
NBCOLL_API nbcoll_status nbcoll_reduce_scatter_block_init(const void *send, void *recv, size_t count, nbcoll_type type,
                                                          nbcoll_op op, nbcoll_comm *comm, nbcoll_request *request);
NBCOLL_API nbcoll_status nbcoll_reduce_scatter_block(const void *send, void *recv, size_t count, nbcoll_type type,
                                                     nbcoll_op op, nbcoll_comm *comm, uint64_t timeout);

/* Rank r's recv[i] becomes send_0[i] op ... op send_r[i], combined as for reduce, but of the ranks 0..r. */
NBCOLL_API nbcoll_status nbcoll_iscan(const void *send, void *recv, size_t count, nbcoll_type type, nbcoll_op op,
                                      nbcoll_comm *comm, nbcoll_request *request);
NBCOLL_API nbcoll_status nbcoll_scan_init(const void *send, void *recv, size_t count, nbcoll_type type, nbcoll_op op,
                                          nbcoll_comm *comm, nbcoll_request *request);
NBCOLL_API nbcoll_status nbcoll_scan(const void *send, void *recv, size_t count, nbcoll_type type, nbcoll_op op,
                                     nbcoll_comm *comm, uint64_t timeout);

/* Rank r's recv[i] becomes send_0[i] op ... op send_{r-1}[i]. Rank 0's recv is left alone: in place it keeps its
 * contribution, else it may be null. */
NBCOLL_API nbcoll_status nbcoll_iexscan(const void *send, void *recv, size_t count, nbcoll_type type, nbcoll_op op,
                                        nbcoll_comm *comm, nbcoll_request *request);
NBCOLL_API nbcoll_status nbcoll_exscan_init(const void *send, void *recv, size_t count, nbcoll_type type, nbcoll_op op,
                                            nbcoll_comm *comm, nbcoll_request *request);
NBCOLL_API nbcoll_status nbcoll_exscan(const void *send, void *recv, size_t count, nbcoll_type type, nbcoll_op op,
                                       nbcoll_comm *comm, uint64_t timeout);

NBCOLLI_END

#ifdef NBCOLL_IMPLEMENTATION
#include "implementation.c"
#endif

/* For the host's code only. */
#if (defined NBCOLL_INLINE || (defined NBCOLL_WITH_WIDE && NBCOLL_WITH_WIDE)) && !defined NBCOLLI_LIBRARY
#include "inline.h"
#endif

#elif defined NBCOLL_IMPLEMENTATION && !defined NBCOLLI_IMPLEMENTATION
#error "NBCOLL_IMPLEMENTATION must be defined before the first include of a header of nbcoll"
#endif
