/* SPDX-License-Identifier: BSD-3-Clause
 * Routes, by which agents carry messages: what this folder asks of an agent. The engine does not know of it. */
#ifndef NBCOLLI_MESSAGE_ROUTE_H
#define NBCOLLI_MESSAGE_ROUTE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "../engine/state/executor.h"

#define NBCOLLI_ROUTE_DEPTH 64 /* messages, or receives, that a route has at a time */

/* A queue pair of an agent's, on which one rank sends to another one: the i-th send meets the i-th receive. The rank
 * writes its i-th post, then `posted`; the agent counts those that have ended, and touches their memory no more. Both
 * hold it; who lets go last frees it. The agent does so when it has closed it; then `ended` is final. */
typedef enum nbcolli_route_state {
    NBCOLLI_ROUTE_OPEN,
    NBCOLLI_ROUTE_CLOSING,
    NBCOLLI_ROUTE_CLOSED
} nbcolli_route_state;

typedef struct nbcolli_route {
    struct nbcolli_route *next; /* the agent's */
    struct nbcoll_agent *agent;
    int peer, receives;
    uint32_t number; /* both ends': among the routes between both */
    struct nbcolli_route_post {
        void *at;
        size_t bytes;
    } post[NBCOLLI_ROUTE_DEPTH];
    _Atomic uint64_t posted, ended;
    atomic_int state; /* nbcolli_route_state; the rank may ask for CLOSING */
    atomic_int holders;
} nbcolli_route;

/* Each agent's table is the beginning of one of these. */
typedef struct nbcolli_route_table {
    nbcolli_agent_table agent;
    /* A new route to that rank, or from it under the number that its end has said; null: the agent has none. Then: the
     * rank has posted something there, or asked for its end. And: the rank lets it go. */
    nbcolli_route *(*open)(struct nbcoll_agent *a, int peer, int receives, uint32_t number);
    void (*on)(nbcolli_route *route);
    void (*free)(nbcolli_route *route);
    /* For a rank that is about to sleep on this poller: 1: what ends on a route from now on ends the sleep. And: it is
     * awake. */
    int (*watch)(struct nbcoll_agent *a, int poller);
    void (*unwatch)(struct nbcoll_agent *a);
} nbcolli_route_table;

#endif
