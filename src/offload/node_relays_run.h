/* SPDX-License-Identifier: BSD-3-Clause
 * Relays of a node: what node_relays.c, which makes them, shares with those that move them. */
#ifndef NBCOLLI_OFFLOAD_NODE_RELAYS_RUN_H
#define NBCOLLI_OFFLOAD_NODE_RELAYS_RUN_H

#include "agent.h"
#include "node_relays.h"

struct nbcolli_node_relays_instance;

typedef struct nbcolli_node_relays_in {
    nbcolli_node_relays_end end;
    nbcoll_queue_pair *pair;
    const struct nbcolli_node_relays_instance *relay;
} nbcolli_node_relays_in;

typedef struct nbcolli_node_relays_out {
    nbcolli_node_relays_end end;
    nbcoll_queue_pair *pair;
    nbcoll_completion_queue *sent, *returned; /* messages; credits */
    uint32_t credits;                         /* that it has */
    uint32_t room;
    uint32_t *queue;               /* [room] buffers, in order: number n at n modulo `room` */
    uint64_t queued, posted, done; /* of them */
} nbcolli_node_relays_out;

typedef struct nbcolli_node_relays_instance {
    nbcolli_node_relays_in *in;
    nbcolli_node_relays_out *out;
    uint32_t ins, outs;
    nbcoll_completion_queue *arrived;
    nbcoll_shared_receives *shared;
    uint32_t first, buffers; /* of the store, for what comes */
} nbcolli_node_relays_instance;

/* What the agent itself knows of a buffer, since what the store says of it any rank of the node may have written. */
typedef struct nbcolli_node_relays_buffer {
    uint32_t came_by; /* the connection of its message */
    uint32_t held;    /* sends that are out or to come; one more: the message came, and ranks may need it */
} nbcolli_node_relays_buffer;

struct nbcolli_node_relays {
    struct nbcolli_node_relays *next; /* begun before; then the agent's next */
    nbcolli_arena arena;              /* all of it lies there */
    nbcoll_agent *agent;
    nbcolli_node_store store;
    void *memory;
    size_t bytes;
    uint32_t set;
    nbcoll_registration registered;
    int is_registered;
    int is_promised; /* the agent waits for it */
    void (*wake)(void *user, const nbcolli_node_store *store, uint32_t reader);
    void *user;
    uint32_t relays, ins, outs;
    nbcolli_node_relays_instance *relay; /* [relays] */
    nbcolli_node_relays_in *in;          /* [ins], relay by relay, as are */
    nbcolli_node_relays_out *out;        /* [outs] */
    nbcolli_node_relays_buffer *buffer;  /* [all of the store's] */
    uint64_t *taken;                     /* [readers]: of what they have handed over */
    int is_open, is_agents;              /* the queue pairs are; the agent frees all of it */

    /* Where the agent is another process, of all this only arena to set, is_promised, and: */
    char *packed; /* null: it is none */
    size_t packed_bytes;
    uint32_t slot;
    int is_out; /* the process has not said whether it takes them */
};

/* node_relays.c */
nbcoll_status nbcolli_node_relays_open_pairs(nbcolli_node_relays *s);
void nbcolli_node_relays_close_pairs(nbcolli_node_relays *s);
/* A buffer is there for what comes to that relay from where the connection does. */
nbcoll_status nbcolli_node_relays_post_free(nbcolli_node_relays *s, const nbcolli_node_relays_in *in, uint32_t buffer);
/* One credit, or the receive for one. */
nbcoll_status nbcolli_node_relays_post_credit(nbcolli_node_relays *s, nbcoll_queue_pair *pair,
                                              nbcoll_posting_kind kind);

/* node_attached.c: the same for an agent that is another process. */
nbcoll_status nbcolli_node_attached_make(nbcolli_node_relays *s, const nbcolli_node_relays_config *c);
nbcoll_status nbcolli_node_attached_begin(nbcolli_node_relays *s);
void nbcolli_node_attached_look(nbcolli_node_relays *s);

#endif
