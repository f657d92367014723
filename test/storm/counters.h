/* SPDX-License-Identifier: BSD-3-Clause
 * Counters near their ends; and what only who knows the engine reads of a message. */
#ifndef STORM_COUNTERS_H
#define STORM_COUNTERS_H

#include <stdbool.h>

#include "nbcoll/nbcoll.h"
#include "nbcoll/transport.h"

/* The last one is reached: starts are refused then (edition 9 of plans). */
enum { COUNTER_ENDS = 4 };

/* As if so many operations, and communicators of this endpoint, had been before: by all ranks alike, between two
 * operations. `which` end counts from 1. */
void counters_advance(nbcoll_comm *comm, int which);

/* As if this rank's endpoint had made all communicators that it can, but for so many; how many there are left. */
void counters_leave(nbcoll_comm *comm, int serials);
uint32_t counters_left(const nbcoll_comm *comm);

/* As if all requests of the context were in use, but those that end from now on; and the others are there again. */
typedef struct table {
    void *free;
    uint32_t chunks;
} table;
table counters_fill(nbcoll_context *context);
void counters_empty(nbcoll_context *context, table was);

/* Of the context's requests, how many are in use. */
size_t counters_requests(const nbcoll_context *context);

/* How many operations were started on it, and what they were. */
uint64_t counters_history(const nbcoll_comm *comm);

/* A message that says what a rank has called as an operation. */
typedef struct said {
    uint64_t tag;    /* 1 + that of the operation; 0: it is another message */
    uint32_t before; /* the history before the operation */
    bool is_called;  /* else it has not called it, or has forgotten that: */
    bool is_forgotten;
} said;
said counters_said(const nbcoll_header *header);

/* Is it that an operation has failed elsewhere, as calls differ? That the ranks are out of step? */
bool counters_is_revoked(const nbcoll_header *header);
bool counters_is_out_of_step(const nbcoll_header *header);

/* Must the rank remember what it has called there, or that it has not? */
bool counters_remembers(const nbcoll_comm *comm, const nbcoll_header *header);

/* Of all messages with data from this rank to a peer, over one of its endpoints: of how many the credit has not come
 * back; and how many credits it owes the peer. -1: it has no such endpoint. */
typedef struct window {
    int64_t out, owed;
} window;
window counters_window(const nbcoll_context *context, const nbcoll_endpoint *endpoint, int peer);

/* Is it known there which rank that peer is? Before a communicator has both it is not. */
bool counters_is_met(const nbcoll_context *context, const nbcoll_endpoint *endpoint, int peer);

/* Does that peer say there that it has given this rank up? */
bool counters_has_rejected(const nbcoll_context *context, const nbcoll_endpoint *endpoint, int peer);

/* Does that ask where a rank is in an operation of the communicator that this rank has not started? */
bool counters_asks_early(const nbcoll_comm *comm, const nbcoll_header *header);

#endif
