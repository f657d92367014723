/* SPDX-License-Identifier: BSD-3-Clause
 *
 * trace: wraps the endpoint of any transport and tells a function of the host every call that the core makes on it,
 * with what the call said. It changes nothing else.
 */
#include "transport.h"

#ifndef NBCOLL_TRACE_H
#define NBCOLL_TRACE_H

#if defined NBCOLL_WITH_LAB && !NBCOLL_WITH_LAB
#error "nbcoll/trace.h is of the component lab: define NBCOLL_WITH_LAB=1, or link nbcoll_lab"
#endif

NBCOLLI_BEGIN

/* Append-only. X(name, text). Each call is told when it has returned, but for CLOSE and DEREGISTER, which are told
 * before. What a progress brought is told after it, as if it were calls. */
#define NBCOLL_TRACE_LIST(X)                                                                                           \
    X(POST, "post")             /* peer, header, payload, bytes, work request, posted */                               \
    X(PROGRESS, "progress")     /* bytes: how many arrivals, lines and work requests follow */                         \
    X(ARRIVED, "arrived")       /* peer: the sender; header, payload, bytes */                                         \
    X(COMPLETED, "completed")   /* work request; status: the work request's */                                         \
    X(LOST, "lost")             /* peer */                                                                             \
    X(CANCEL, "cancel")         /* work request */                                                                     \
    X(REGISTER, "register")     /* peer, payload, bytes, access; status; key, if it is OK */                           \
    X(DEREGISTER, "deregister") /* key */                                                                              \
    X(GET, "get")               /* peer, key, offset, bytes, work request, posted; payload: where to */                \
    X(ARM, "arm")               /* status */                                                                           \
    X(CLOSE, "close")                                                                                                  \
    X(LEFT, "left")                 /* peer */                                                                         \
    X(PUT, "put")                   /* as get; payload: where from; header: the notice */                              \
    X(LINE, "line")                 /* peer, channel, turn, payload, bytes, posted */                                  \
    X(LINE_ARRIVED, "line arrived") /* peer: the sender; channel, turn, payload, bytes */                              \
    X(REASON, "reason")             /* peer, reason */
typedef enum nbcoll_trace_call {
#define NBCOLLI_TRACE_ENUM(name, text) NBCOLL_TRACE_##name,
    NBCOLL_TRACE_LIST(NBCOLLI_TRACE_ENUM)
#undef NBCOLLI_TRACE_ENUM
        NBCOLL_TRACE_COUNT
} nbcoll_trace_call;

/* "post"; "?" for an unknown one. Any thread. */
NBCOLL_API const char *nbcoll_trace_call_name(nbcoll_trace_call call);

/* Pointers are good until the function returns; what the list above does not name for a call is zero. */
typedef struct nbcoll_trace_event {
    nbcoll_trace_call call;
    int rank; /* whose endpoint */
    int peer;
    nbcoll_posted posted;
    nbcoll_status status;
    const nbcoll_header *header;
    const void *payload;
    size_t bytes, offset;
    const nbcoll_key *key;
    const nbcoll_work *work; /* compare only */
    const nbcoll_transport_error *reason;
    uint64_t turn;
    uint32_t access, channel;
} nbcoll_trace_event;

typedef struct nbcoll_trace_config {
    size_t size;
    const nbcoll_host *host; /* memory; may be null; copied */
    void *user;
    /* Called from the thread that is inside the endpoint; must not call the library. */
    void (*event)(void *user, const nbcoll_trace_event *event);
} nbcoll_trace_config;

/* Wraps `inner`, which from then on is the new endpoint's: closed with it, and not to be used. On an error it stays the
 * caller's. Errors: ERR_NULL (also `event`), ERR_CONFIG, ERR_ABI (inner's table), ERR_BUSY (a context has
 * it), ERR_MEMORY. */
NBCOLL_API nbcoll_status nbcoll_trace_open(const nbcoll_trace_config *config, nbcoll_endpoint *inner,
                                           nbcoll_endpoint **out);

NBCOLLI_END
#endif
