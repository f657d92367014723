/* SPDX-License-Identifier: BSD-3-Clause
 * Relays of a node: what an agent does for a node whether or not its ranks have started anything. Each relay has shared
 * receives; a message that comes there lies in the node's store, is shown to the node's ranks, and is sent on by all of
 * the relay's connections, as each has a credit. What a rank hands over goes out by relay 0. When nobody needs a buffer
 * any more it is posted again, and its credit goes back by the connection by which the message came: a message of no
 * bytes. Nothing is looked at in any message. */
#ifndef NBCOLLI_OFFLOAD_NODE_RELAYS_H
#define NBCOLLI_OFFLOAD_NODE_RELAYS_H

#include "nbcoll/offload.h"
#include "nbcoll/transport.h"
#include "node_store.h"

/* One end of a connection. */
typedef struct nbcolli_node_relays_end {
    int peer;         /* on the agent's endpoint */
    uint32_t number;  /* among the connections between both, the same at both ends: below NBCOLLI_NODE_RELAYS_NUMBERS */
    uint32_t credits; /* messages that may be there, or on their way, at a time */
} nbcolli_node_relays_end;

#define NBCOLLI_NODE_RELAYS_NUMBERS 2048u
#define NBCOLLI_NODE_RELAYS_SETS (1u << 20)

typedef struct nbcolli_node_relays_relay {
    uint32_t sources, destinations;
    const nbcolli_node_relays_end *source, *destination;
} nbcolli_node_relays_relay;

typedef struct nbcolli_node_relays_config {
    const nbcoll_host *host; /* for memory; copied */
    uint32_t set;            /* which of those of the agent's endpoint they are; below NBCOLLI_NODE_RELAYS_SETS */
    uint32_t relays;
    const nbcolli_node_relays_relay *relay; /* read during the call; relay 0 has no sources */
    nbcolli_node_store store;               /* as much is received there as the credits of all sources are */
    void *memory;                           /* of the store: */
    size_t bytes;
    /* Wakes a rank of the node that sleeps: the agent has published something for it in the store. On the agent's
     * thread, and not after the store's state is OVER. Null: none sleeps. */
    void (*wake)(void *user, const nbcolli_node_store *store, uint32_t reader);
    void *user;
    int is_agents; /* 1: once begun, the agent frees them when they are over */
} nbcolli_node_relays_config;

typedef struct nbcolli_node_relays nbcolli_node_relays;

/* Takes all memory of theirs; where the agent is another process, what that needs to know. ERR_UNSUPPORTED: the agent
 * cannot have such (the transport has no shared receives; the store does not lie in memory that its process shares);
 * ERR_LIMIT: the transport says that it has not so many queue pairs, or not such, or the process has no room for such
 * tables; ERR_MEMORY. */
nbcoll_status nbcolli_node_relays_make(nbcoll_agent *agent, const nbcolli_node_relays_config *config,
                                       nbcolli_node_relays **out);

/* The agent on that rank has these as its `set`. To be said once of each peer, before they begin: the queue pairs
 * between two ranks are numbered by what they are to the lower one, so that no two sets have the same there. */
void nbcolli_node_relays_meet(nbcolli_node_relays *s, int peer, uint32_t set);

/* Hands them to the agent, which opens their queue pairs, tells by the store's state that it has, and closes them when
 * the store is to end, has broken, or the agent is cancelled or closed. OK, or PENDING: nothing has been done, since an
 * agent's process has no place for them now. */
nbcoll_status nbcolli_node_relays_begin(nbcolli_node_relays *s);

/* They were begun: the store's state. Where an agent's process has refused them, or has gone, it is OVER, and the
 * store's status says why. */
nbcolli_node_store_state nbcolli_node_relays_look(nbcolli_node_relays *s);

/* Another rank of the node, whose leader may be stopped: a descriptor, until unwatch, by which it sees that the agent's
 * process has ended; -1: it cannot, or the agent is a thread. */
int nbcolli_node_store_watch(const nbcolli_node_store *s);
int nbcolli_node_store_has_ended(int watch);
void nbcolli_node_store_unwatch(int watch);

/* They were not begun, or the store's state is OVER and they are not the agent's. Null is accepted. */
void nbcolli_node_relays_free(nbcolli_node_relays *s);

/* The agent: moves all that it has. 1: something was done. */
int nbcolli_node_relays_all_move(nbcoll_agent *agent);

/* How many it has. */
uint32_t nbcolli_node_relays_all_count(const nbcoll_agent *agent);

/* Ends all that it has: from the return on nothing of theirs is touched. */
void nbcolli_node_relays_all_end(nbcoll_agent *agent, nbcoll_status status);

#endif
