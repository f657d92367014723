/* SPDX-License-Identifier: BSD-3-Clause
 * The store of a node: memory that its ranks share, and that an agent fills and sends from. Each buffer has a count of
 * those who still need it: the ranks that have not copied it, and the sends that are out. All of it is named by
 * numbers, since it lies elsewhere for each process. */
#ifndef NBCOLLI_OFFLOAD_NODE_STORE_H
#define NBCOLLI_OFFLOAD_NODE_STORE_H

#include <stdatomic.h>
#include <stdint.h>

#include "../host/host.h"

#define NBCOLLI_NODE_STORE_LINE 64

/* The agent's: OVER is its last touch, which wakes nobody; it follows ENDING at once. */
typedef enum nbcolli_node_store_state {
    NBCOLLI_NODE_STORE_OPENING,
    NBCOLLI_NODE_STORE_OPEN,
    NBCOLLI_NODE_STORE_ENDING,
    NBCOLLI_NODE_STORE_OVER
} nbcolli_node_store_state;

/* How it begins. */
typedef struct nbcolli_node_store_head {
    _Alignas(NBCOLLI_NODE_STORE_LINE) atomic_uint state;
    atomic_uint status;    /* why nothing goes on, or OK: whoever knows first */
    atomic_uint is_ending; /* a wish: the agent is to close its queue pairs */
    atomic_uint users;     /* ranks that have not left it */
    /* That is the agent; 0: a thread is. Before the ranks know where the store is. */
    atomic_int process;
    /* In order: arrival n is at n modulo `buffers` of the ring. */
    _Alignas(NBCOLLI_NODE_STORE_LINE) _Atomic uint64_t arrived;
    /* 1 + the last buffer for what comes that nobody needs any more; 0: the agent has taken all. */
    _Alignas(NBCOLLI_NODE_STORE_LINE) _Atomic uint32_t freed;
} nbcolli_node_store_head;

/* A reader's line. */
typedef struct nbcolli_node_store_reader {
    _Alignas(NBCOLLI_NODE_STORE_LINE) _Atomic uint64_t handed; /* so many buffers */
    _Atomic uint32_t commands; /* the agent's process wakes it by this one of its command areas, from 1; 0: by none */
} nbcolli_node_store_reader;

typedef struct nbcolli_node_store_buffer {
    _Alignas(NBCOLLI_NODE_STORE_LINE) _Atomic uint32_t count;
    uint32_t next;           /* freed before this one */
} nbcolli_node_store_buffer; /* before the message */

typedef struct nbcolli_node_store_shape {
    uint32_t readers;  /* ranks of the node */
    uint32_t own;      /* buffers of each, for what it hands to the agent, in order, again and again */
    uint32_t received; /* for what comes: they are the first ones */
    uint32_t bytes;    /* of a message */
} nbcolli_node_store_shape;

/* One process's way to it. */
typedef struct nbcolli_node_store {
    nbcolli_node_store_shape shape;
    uint32_t buffers;
    nbcolli_node_store_head *head;
    nbcolli_node_store_reader *reader; /* [readers] */
    _Atomic uint32_t *ring;            /* [buffers] */
    char *buffer;                      /* [buffers] of `stride` bytes */
    size_t stride;
} nbcolli_node_store;

size_t nbcolli_node_store_bytes(const nbcolli_node_store_shape *shape);

/* Where it lies; zeroed memory is a store in which nothing has come. */
nbcolli_node_store nbcolli_node_store_at(void *memory, const nbcolli_node_store_shape *shape);

/* Nothing goes on any more: who says it first is heard. */
void nbcolli_node_store_break(const nbcolli_node_store *s, nbcoll_status status);

/* What follows is published for ranks that sleep, and read by those that are about to: all of it seq_cst. A rank says
 * which command area is its before it sleeps the first time: whoever publishes what it then does not see sees the
 * command area. */

/* OK; or why nothing goes on. */
static inline nbcoll_status nbcolli_node_store_status(const nbcolli_node_store *s)
{
    return nbcolli_ended_as(atomic_load(&s->head->status));
}

static inline nbcolli_node_store_buffer *nbcolli_node_store_buffer_at(const nbcolli_node_store *s, uint32_t i)
{
    return (nbcolli_node_store_buffer *)(void *)(s->buffer + i * s->stride);
}

static inline void *nbcolli_node_store_message(const nbcolli_node_store *s, uint32_t i)
{
    return nbcolli_node_store_buffer_at(s, i) + 1;
}

static inline uint32_t nbcolli_node_store_number(const nbcolli_node_store *s, const void *message)
{
    return (uint32_t)((size_t)((const char *)message - s->buffer) / s->stride);
}

/* Whose buffer is it? It is not for what comes. */
static inline uint32_t nbcolli_node_store_owner(const nbcolli_node_store *s, uint32_t i)
{
    return (i - s->shape.received) / s->shape.own;
}

/* The buffer of a reader's n-th message. */
static inline uint32_t nbcolli_node_store_own(const nbcolli_node_store *s, uint32_t reader, uint64_t n)
{
    return s->shape.received + reader * s->shape.own + (uint32_t)(n % s->shape.own);
}

static inline _Atomic uint64_t *nbcolli_node_store_handed(const nbcolli_node_store *s, uint32_t reader)
{
    return &s->reader[reader].handed;
}

static inline nbcolli_node_store_state nbcolli_node_store_state_of(const nbcolli_node_store *s)
{
    return (nbcolli_node_store_state)atomic_load(&s->head->state);
}

static inline _Atomic uint32_t *nbcolli_node_store_commands(const nbcolli_node_store *s, uint32_t reader)
{
    return &s->reader[reader].commands;
}

/* How much has arrived. */
static inline uint64_t nbcolli_node_store_arrived(const nbcolli_node_store *s)
{
    return atomic_load(&s->head->arrived);
}

static inline uint32_t nbcolli_node_store_arrival(const nbcolli_node_store *s, uint64_t n)
{
    return atomic_load_explicit(&s->ring[n % s->buffers], memory_order_relaxed); /* shown by `arrived` */
}

/* One who needed the buffer does not any more. 1: nobody does. */
int nbcolli_node_store_release(const nbcolli_node_store *s, uint32_t i);

/* The agent: so many need it; who reads sees it from now on. There is room in the ring: each buffer there that somebody
 * has not read yet is needed by him. */
void nbcolli_node_store_show(const nbcolli_node_store *s, uint32_t i, uint32_t count);

/* The last of the freed ones, which is followed by `next` of each; 0: there is none. */
uint32_t nbcolli_node_store_take_freed(const nbcolli_node_store *s);

/* Is that own buffer free? Hands the n-th over, filled. */
int nbcolli_node_store_has_room(const nbcolli_node_store *s, uint32_t reader, uint64_t n);
void nbcolli_node_store_hand(const nbcolli_node_store *s, uint32_t reader, uint64_t n);

#endif
