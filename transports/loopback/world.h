/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of the loopback transport share: the world that the ranks of one process have in common, its rings and
 * ports, and the end of one rank.
 *
 *     loopback.c    messages, lines, sleeping; the table; worlds and endpoints
 *     bulk.c        gets and puts
 *     shared.c      memory for the cells
 *
 * Queue pairs (transports/loopback_pairs) come by nbcoll_loopback_config.
 */
#ifndef NBCOLLI_LOOPBACK_H
#define NBCOLLI_LOOPBACK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "nbcoll/loopback.h"
#include "../../src/host/host.h"
#include "../../src/host/wakeup.h"
#include "../../src/host/works.h"

#define NBCOLLI_LOOPBACK_LINE 128 /* keeps apart what different threads write: cache lines are fetched in pairs */

/* Messages of one sender to one receiver; or of those that have no ring. Place i % depth holds message i; [head, tail)
 * are under way. */
struct nbcolli_loopback_ring {
    struct nbcolli_loopback_ring
        *next; /* of the rings of the same receiver; constant once published, as is the sender */
    struct nbcolli_loopback_port *sender;
    size_t depth;
    _Atomic int taken_by_one; /* one of the senders that share it is writing */
    bool refused; /* the sender's: it found no room since its last progress */
    _Alignas(NBCOLLI_LOOPBACK_LINE) _Atomic uint64_t tail;
    _Atomic uint32_t hungry; /* the sender sleeps until there is room: the receiver sets this to 0 and wakes it */
    _Alignas(NBCOLLI_LOOPBACK_LINE) _Atomic uint64_t head;
    uint64_t taken; /* the receiver's: [head, taken) are arrivals its core still reads */
    _Alignas(NBCOLLI_LOOPBACK_LINE) unsigned char places[];
};

/* LEFT: closing, and still using the world. */
enum nbcolli_loopback_state {
    NBCOLLI_LOOPBACK_UNOPENED,
    NBCOLLI_LOOPBACK_OPEN,
    NBCOLLI_LOOPBACK_LEFT,
    NBCOLLI_LOOPBACK_CLOSED
};

/* The part of a rank that others may touch. */
struct nbcolli_loopback_port {
    _Alignas(NBCOLLI_LOOPBACK_LINE) _Atomic(struct nbcolli_loopback_ring *)
        rings; /* to this rank, the newest first; only grows */
    _Atomic int state;
    int fd; /* the world's: a rank that took `armed` may still write to it after the endpoint was closed */
    bool is_abandoned;           /* it has not left, but is lost; shown by `state` */
    struct nbcolli_loopback_area *areas; /* the rank's; others may use them until the world is freed */
    struct nbcolli_loopback_pair *pairs; /* the rank's; under the world's lock */
    _Alignas(NBCOLLI_LOOPBACK_LINE) _Atomic uint32_t armed; /* the rank is about to sleep (wakeup.h) */
};

/* What the configuration's `pairs` points to. */
struct nbcoll_loopback_queues {
    const nbcoll_offload *offload;
    void (*miss)(nbcoll_loopback *w, int rank); /* the rank has left: pairs with it that it has not opened are lost */
    void (*free)(nbcoll_loopback *w, int rank); /* frees a rank's remaining pairs, with the world */
};

struct nbcoll_loopback {
    nbcoll_loopback_config config; /* defaults filled in; `host` points to `memory` */
    nbcoll_transport table;        /* its endpoints' */
    nbcoll_host memory;
    size_t stride; /* bytes of a place */
    uint64_t identity[2];  /* random */
    _Atomic int pairs_locked;
    unsigned char *common; /* [ranks]: a ring to each rank of those that have none; behind the ports */
    _Alignas(NBCOLLI_LOOPBACK_LINE) _Atomic int departed; /* ranks that have closed their ends */
    _Atomic unsigned char *between; /* [ranks][ranks]: loopback_between, in the first one's memory; behind `common` */
    struct nbcolli_loopback_port port[];
};

struct nbcolli_loopback_end {
    nbcoll_endpoint base;
    nbcoll_loopback *world;
    struct nbcolli_loopback_port *port;
    uint64_t random;                  /* state of the delivery order; used if the world has a seed */
    struct nbcolli_works deferred; /* lent, to be carried out by progress */
    struct nbcolli_works finished; /* lent, to be returned by progress */
    size_t copied;                    /* bytes of gets and puts, in this progress and since */
    nbcolli_sleeper sleeper;
    int watched;  /* readable while one of our shared receives is low; -1: nobody has watched */
    uint32_t low; /* how many are low and not yet reported; under the lock */
    int departed;                     /* ranks whose leaving we have reported */
    bool untried;                     /* something was deferred since the last progress, or a get or put goes on */
    int refusals;                     /* rings without room, since the last progress */
    bool ringless;                    /* a post failed since then without a ring of our own */
    unsigned char *has_departed;      /* [ranks]: which; behind the rings */
    struct nbcolli_loopback_ring *ring[]; /* to each rank; null before the first message */
};

static inline struct nbcolli_loopback_end *nbcolli_loopback_end_of(nbcoll_endpoint *ep)
{
    return (struct nbcolli_loopback_end *)ep;
}

/* After publishing: `tail`, `departed` and `head` are seq_cst here and in arm. */
static inline void nbcolli_loopback_wake(struct nbcolli_loopback_port *port)
{
    if (nbcolli_wakeup_take(&port->armed))
        nbcolli_bell_ring(port->fd);
}

/* A line in a ring, where a message has its payload. */
struct nbcolli_loopback_line {
    nbcoll_line_arrival arrival; /* but for `next` and `payload` the sender's */
    unsigned char payload[NBCOLL_LINE_PAYLOAD];
};

/* What is deferred: a message for a ring; or a get or put. Kept in a work request's scratch. */
enum { NBCOLLI_LOOPBACK_POST, NBCOLLI_LOOPBACK_GET, NBCOLLI_LOOPBACK_PUT };

struct nbcolli_loopback_order {
    uint32_t what, peer;
    const nbcoll_header *header;
    const void *from;
    void *to;
    size_t bytes; /* left */
};

/* `bytes` of an arrival in a ring that is a line. */
#define NBCOLLI_LOOPBACK_IS_LINE SIZE_MAX

#define NBCOLLI_LOOPBACK_KEY_BYTES 16

static inline struct nbcolli_loopback_order nbcolli_loopback_order_of(const nbcoll_work *work)
{
    const uint64_t *s = work->scratch;
    struct nbcolli_loopback_order o = {(uint32_t)(s[0] & 3), (uint32_t)(s[0] >> 2 & 0xffff), NULL, NULL, NULL, 0};
    o.header = (const nbcoll_header *)(uintptr_t)s[1];
    o.from = (const void *)(uintptr_t)s[2];
    o.to = (void *)(uintptr_t)s[3];
    o.bytes = (size_t)(s[0] >> 18);
    return o;
}

static inline void nbcolli_loopback_order_set(nbcoll_work *work, struct nbcolli_loopback_order o)
{
    work->scratch[0] = (uint64_t)o.bytes << 18 | (uint64_t)o.peer << 2 | o.what; /* 46 bits: an address has no more */
    work->scratch[1] = (uintptr_t)o.header;
    work->scratch[2] = (uintptr_t)o.from;
    work->scratch[3] = (uintptr_t)o.to;
}

/* loopback.c */
/* Writes a message, or without header a line (struct nbcolli_loopback_line), into the ring to `peer`. DONE or
 * NOT_NOW. */
nbcoll_posted nbcolli_loopback_write(struct nbcolli_loopback_end *e, int peer, const nbcoll_header *header,
                                     const void *payload, size_t bytes);
/* Keeps it for later progresses: IN_FLIGHT. */
nbcoll_posted nbcolli_loopback_defer(struct nbcolli_loopback_end *e, struct nbcolli_loopback_order order,
                                     nbcoll_work *work);

/* bulk.c */
extern const nbcoll_bulk nbcolli_loopback_bulk, nbcolli_loopback_bulk_puts; /* the second one has no get */
void nbcolli_loopback_give_up(nbcoll_endpoint *ep, int peer);
/* Copies a deferred get or put as far as this progress may: NOT_NOW if not all of it. */
nbcoll_posted nbcolli_loopback_copy(struct nbcolli_loopback_end *e, nbcoll_work *work);

/* shared.c */
extern const nbcoll_shared nbcolli_loopback_shared;
/* Frees all of a rank, with the world. */
void nbcolli_loopback_areas_free(nbcoll_loopback *w, int rank);

#endif
