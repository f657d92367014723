/* SPDX-License-Identifier: BSD-3-Clause
 * Links: endpoints in a context, and what has happened to their ranks. Inline: look-ups. */
#ifndef NBCOLLI_ENGINE_STATE_LINK_H
#define NBCOLLI_ENGINE_STATE_LINK_H

#include "communicator.h"

#define NBCOLLI_COMM_BUCKETS 256u
#define NBCOLLI_HEARING 32u
#define NBCOLLI_UNEXPECTED_BUCKETS 1024u /* with more messages than that, some share one */

/* What happened to a rank, in bits. A rank that is CUT off may be alive, hear us, and touch memory that we have
 * announced to it: communicators with it break. One that LEFT has closed its end, and all its messages have been
 * handled: it touches nothing any more, and only operations that still need it end. DEAD is both. OVER: the transport
 * has said so.
 *
 * One that is GIVEN_UP counts as dead, but may be alive: it is not heard any more, and may still write what it could
 * write before, until it is OVER. A rank that has REJECTED us is treated the same, but we are the lost one. UNTOLD: it
 * does not know yet that it is given up, or that this rank is starved. MUTE: a message that said so has failed. */
typedef enum nbcolli_loss {
    NBCOLLI_HERE = 0,
    NBCOLLI_CUT = 1,
    NBCOLLI_DEPARTED = 2,
    NBCOLLI_DEAD = 3,
    NBCOLLI_OVER = 4,
    NBCOLLI_GIVEN_UP = 8 | NBCOLLI_DEAD,
    NBCOLLI_REJECTED = 16 | NBCOLLI_GIVEN_UP,
    NBCOLLI_UNTOLD = 32,
    NBCOLLI_MUTE = 64
} nbcolli_loss;

#define NBCOLLI_MOST_STAGED 16 /* exposures in a staging buffer, at most */

/* Of one exposure, which lies on the staging buffer. */
typedef struct nbcolli_staged {
    nbcoll_comm *comm;  /* null: it is freed */
    nbcolli_area *area; /* then: its part of the cells, while others may use it; null: nobody reads here */
    uint64_t tag;
    size_t begin, end;
} nbcolli_staged;

/* Shared memory of this rank's for copies of what it exposes (exposures/staging.h): in turn, from the first one on. */
typedef struct nbcolli_staging {
    unsigned char *base;
    size_t bytes; /* 0: there is none */
    size_t part;  /* of the longest that is always worth it (nbcoll_shared.staging_part) */
    uint64_t at;  /* the transport's name for it */
    uint32_t first, count;
    nbcolli_staged one[NBCOLLI_MOST_STAGED];
} nbcolli_staging;

/* An endpoint in a context. The endpoints of a communicator, and of all made from it, belong together. The last, their
 * *home*, reaches all ranks, and keeps all about communicators. A single endpoint is its own home. */
struct nbcolli_link {
    nbcolli_link *next; /* calls that make and free */

    /* Made. */
    nbcolli_link *home;
    nbcolli_link *first;  /* of a home: the first of those that belong together */
    nbcolli_link *beside; /* the next of them; the home is the last */
    int *member;          /* [ranks]: the address at home of each rank; -1: not known yet */
    nbcoll_context *context;
    nbcoll_endpoint *endpoint;
    nbcoll_transport transport; /* the endpoint's table, completed; its groups are those below */
    nbcoll_limits limits;       /* the endpoint's, completed */
    nbcoll_bulk bulk;
    nbcoll_wakeup wakeup;
    nbcoll_shared shared;
    nbcoll_lines lines;
    nbcoll_completions held; /* what a tick has left for the next pass (src/driver/tick.h) */
    uint32_t credits;   /* that each rank gives to each other one */
    nbcolli_pair *pair; /* [ranks] */

    /* Calls that make and free; of a communicator that is not made in the end, progress. */
    nbcolli_area *areas;  /* of freed communicators, which others may still use */
    nbcolli_area *memory; /* the program's */
    nbcolli_tombstone *tombstones;
    uint32_t heard;                           /* of a home: channels that executors have been given; */
    nbcolli_executor *hears[NBCOLLI_HEARING]; /* those executors, by channel: they receive its lines */
    uint64_t executed_comm;   /* the communicator with an agent that was freed last, or NBCOLLI_NO_COMM; */
    uint64_t executed_called; /* numbered operations that this rank has started there, of its executor */
    nbcoll_comm *bucket[NBCOLLI_COMM_BUCKETS]; /* communicators, by id */

    nbcolli_staging staging; /* progress, which exposes; of a communicator that is freed, that call */

    /* Senders, in a call or in progress, add to these; progress removes. */
    nbcolli_list backlog; /* posts that were refused with NOT_NOW */
    nbcolli_list in_flight; /* posts that the transport has */

    /* Progress adds; a start takes its own, and the end of a communicator all of that. */
    nbcolli_unexpected *unexpected[NBCOLLI_UNEXPECTED_BUCKETS]; /* by hash: messages of operations without a run */

    /* A call begins to make a communicator; progress ends it. */
    uint32_t creating; /* communicators that are being made */
    uint32_t serial; /* last one given to a communicator */
    uint32_t relays; /* that this rank has led over it, whose agents number them */
    nbcolli_shrink *shrinks; /* under way, or over and not known by all */
    nbcolli_tombstone *unmade; /* of those whose making has failed here, and which others may have: `id` and
                                  `failed_floor` are the communicator and the tag of the vote */
    nbcolli_unexpected *orphans; /* messages of communicators that are being made */

    /* Written by progress, or by a call that declares a rank lost. Progress tells the communicators. */
    uint8_t *loss;   /* [ranks]: nbcolli_loss */
    nbcoll_transport_error *reason; /* [ranks]: what the transport said when it lost one */
    int losses;      /* changes there, of which the communicators have not been told */
    int untold;      /* ranks that are UNTOLD */
    int rejected;    /* a rank has given us up */
    int starved;     /* no memory for a message that another rank waits for: this rank has given itself up */
    nbcolli_list farewells; /* reserved posts, one for each rank, to tell it */
};

/* Messages to that peer of which it has not given the credit back. */
static inline uint32_t nbcolli_credits_out(const nbcolli_link *link, const nbcolli_pair *pair)
{
    return link->credits - (uint32_t)pair->credits;
}

/* The address on this link of the rank that has that one at home; -1: it has none, or that is not known yet. */
static inline int nbcolli_address_on(const nbcolli_link *link, int home)
{
    for (int peer = 0; peer < link->endpoint->ranks; peer++)
        if (link->member[peer] == home)
            return peer;
    return -1;
}

/* Will it touch nothing, and answer nothing, any more? */
static inline int nbcolli_has_departed(const nbcoll_comm *comm, int rank)
{
    const nbcolli_peer *peer = &comm->peer[rank];
    return peer->absent || peer->link->loss[peer->address] & NBCOLLI_DEPARTED;
}

/* Will it certainly read no memory of ours any more? A rank that is given up may, until the transport says that it is
 * gone. */
static inline int nbcolli_reads_no_more(const nbcoll_comm *comm, int rank)
{
    const nbcolli_peer *peer = &comm->peer[rank];
    return peer->absent || peer->link->loss[peer->address] & NBCOLLI_OVER;
}

static inline int nbcolli_has_rejected(const nbcolli_link *link, int address)
{
    return (link->loss[address] & NBCOLLI_REJECTED) == NBCOLLI_REJECTED;
}

/* Which rank is lost, this one or that one, when this rank goes on without that one? */
static inline int nbcolli_who_is_lost(const nbcoll_comm *comm, int rank)
{
    const nbcolli_peer *peer = &comm->peer[rank];
    return nbcolli_has_rejected(peer->link, peer->address) ? comm->rank : rank;
}

static inline int nbcolli_is_given_up(const nbcolli_link *link, int address)
{
    return (link->loss[address] & NBCOLLI_GIVEN_UP) == NBCOLLI_GIVEN_UP;
}

static inline int nbcolli_is_cut_off(const nbcolli_link *link, int address)
{
    return link->loss[address] & NBCOLLI_CUT;
}

static inline int nbcolli_is_dead(const nbcolli_link *link, int address)
{
    return (link->loss[address] & NBCOLLI_DEAD) == NBCOLLI_DEAD;
}

#endif
