/* SPDX-License-Identifier: BSD-3-Clause
 * Relays that agents move: what a rank knows of its node's store. */
#ifndef NBCOLLI_RELAY_RELAYS_AGENTS_H
#define NBCOLLI_RELAY_RELAYS_AGENTS_H

#include "../host/word.h"
#include "../offload/alarm.h"
#include "../offload/node_relays.h"
#include "relays.h"

/* A fragment as agents pass it on: all of it, and the bytes behind it, is one message. */
typedef struct nbcolli_relays_message {
    uint32_t origin, fingerprint;
    nbcolli_relays_fragment fragment;
} nbcolli_relays_message;

/* What each rank says at the opening, twice. */
typedef struct nbcolli_relays_said {
    uint64_t at; /* a leader's: where the node's store is, in memory that the node shares */
    uint32_t status;
    uint32_t set; /* a leader's: which of the relays that it has led these are, modulo NBCOLLI_NODE_RELAYS_SETS */
} nbcolli_relays_said;

/* Fragments of an operation that this rank has not started, in their order: 1 + the first and the last one; 0: none. */
typedef struct nbcolli_relays_later {
    uint32_t first, last;
} nbcolli_relays_later;

typedef struct nbcolli_relays_agents {
    int leader; /* rank */
    uint32_t stage;    /* of the opening */
    nbcoll_comm *comm; /* their own */
    nbcoll_request saying, closing;
    nbcolli_relays_said mine, *said; /* [ranks] */
    uint32_t fingerprint;
    int is_closing, is_closed;       /* the barrier of the closing has begun; has ended */
    int has_left;                    /* the store */

    /* The leader's. */
    nbcolli_node_relays *preposted;
    nbcolli_alarm alarm; /* by its agent, a thread. Others are woken over the memory that the node shares */
    int is_begun, is_reserved; /* handed to the agent; the store is shared memory */
    int is_awaited;            /* the agent: it is to have opened its queue pairs */
    int lacks_place;           /* the agent's process has none for them */

    nbcolli_node_store_shape shape;
    nbcolli_node_store store; /* head null: it is not known yet, or another rank's and left */
    uint32_t reader;
    nbcoll_agent
        *commands;      /* this rank's own, borrowed, of the process that moves them, which wakes it there; or null */
    int listens;        /* what the agent publishes ends a sleep */
    uint64_t read, handed, caught_up; /* arrivals; own buffers; operations whose earlier fragments are taken out */
    int watch; /* with its store, not a leader's, nor where it has a command area: of the agent's process; or -1 */
    uint32_t looks;                   /* that were due there */
    nbcolli_relays_later *later;      /* [F] by operation, modulo F */
    uint32_t *after;                  /* [buffers] 1 + the next one of the same operation, or 0 */
} nbcolli_relays_agents;

static inline int nbcolli_relays_leads(const nbcoll_relays *r)
{
    return r->agents->leader == r->rank;
}

/* relays_store.c: as relays move. Does the store have something for this rank, which is about to sleep? */
void nbcolli_relays_store_move(nbcoll_relays *r);
int nbcolli_relays_store_send(nbcoll_relays *r, const nbcolli_relays_fragment *f, const char *bytes);
int nbcolli_relays_store_has_news(const nbcoll_relays *r);

/* Of relays that carry out calls, for a mover who is inside: is there a move to make? `poller`: on which this rank is
 * about to sleep, or -1: it is awake. */
nbcolli_sight nbcolli_relays_store_sight(nbcoll_relays *r, int poller);

/* relays_listen.c: says in its store, which is known, by which command area this rank is woken, if by any. */
void nbcolli_relays_say_commands(nbcoll_relays *r);
/* Inside. Lets what the agent publishes end a sleep on that poller. 0: it will not. */
int nbcolli_relays_listen(nbcoll_relays *r, int poller);
/* It is awake. */
void nbcolli_relays_listen_no_more(nbcoll_relays *r);
/* And gives its agent back, if it is one by which it is woken. */
void nbcolli_relays_hear_no_more(nbcoll_relays *r);

/* relays_store.c, inside: what no store says of the agent, that it has refused them, or that its process has gone. */
void nbcolli_relays_look_after_agent(nbcoll_relays *r);

/* relays_begin.c: goes on with the opening, or gives it up. Is there something to go on with? */
void nbcolli_relays_agents_open_on(nbcoll_relays *r);
nbcolli_sight nbcolli_relays_agents_opening_sight(const nbcoll_relays *r);
void nbcolli_relays_agents_open_no_more(nbcoll_relays *r);

/* relays_lead.c: wakes another rank of the node, for which something has been published in the store. Any thread. */
void nbcolli_relays_wake(const nbcoll_relays *r, uint32_t reader);

/* How the agent's part is, which the leader has begun. */
nbcolli_node_store_state nbcolli_relays_agents_state(const nbcoll_relays *r);

/* The leader takes the store, and what its agent needs; gives it back. */
nbcoll_status nbcolli_relays_lead(nbcoll_relays *r);
void nbcolli_relays_lead_no_more(nbcoll_relays *r);

#endif
