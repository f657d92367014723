/* SPDX-License-Identifier: BSD-3-Clause
 * Messages that agents carry (route.h).
 *
 * Messages from one sender with one tag go by a *route*, a queue pair of the agents on which the i-th send meets the
 * i-th receive. The first message longer than eager ones begins it. Its sender posts it there, announces it as any
 * other, and says with that the route's number and its place there. The receiver accepts the route when the
 * announcement is in turn: it posts the receives that wait for just these, and each further one, in their order.
 * Matching is what it was: it finds the same pairs, since sender and receiver keep these rules.
 *
 *   - All messages of the triple go there, until one does not suit: it is short, longer than the first one, packs, or
 *     has no room. Then its sender posts no more there.
 *   - All receives of the triple go there, in the order of posting, until one does not suit, or a wildcard is posted
 *     that fits, a kept message of it is probed, a receive cancelled, or a message comes another way.
 *   - Then the route has ended, for good. The receiver's agent closes it, and counts what had come. So many messages
 *     are their receives'; the sender is told the number (ROUTED), and all others are announced messages as any, for
 *     which the receiver asks.
 *
 * A send is over when the queue pair says so, if nobody progresses the receiver, too; a receive, when the queue pair
 * says so and its announcement has come. What is on a route ends in no other way before its agent has closed that.
 * test/model/routes.pml has the rules. */
#ifndef NBCOLLI_MESSAGE_ROUTES_H
#define NBCOLLI_MESSAGE_ROUTES_H

#include "message.h"

/* The payload of an announcement with NBCOLLI_TAG_IS_CARRIED. */
typedef struct nbcolli_carriage {
    uint64_t position;
    uint32_t number, unused;
} nbcolli_carriage;

typedef enum nbcolli_triple_state {
    NBCOLLI_TRIPLE_OPEN,
    NBCOLLI_TRIPLE_ENDING, /* the agent is to close it */
    NBCOLLI_TRIPLE_CLOSED
} nbcolli_triple_state;

struct nbcolli_triple {
    nbcolli_route *route; /* null: CLOSED */
    int rank, receives;
    uint32_t tag, number;
    nbcolli_triple_state state;
    uint32_t first;       /* number of the first message: a sender's */
    int is_told;          /* `taken` says how many messages have come by it */
    uint64_t next;        /* place of the next send, or receive */
    uint64_t come;        /* of the next announcement in turn */
    uint64_t taken, ended; /* ended: as this rank's agent has counted, when it is closed */
    size_t bytes;         /* of the longest message: the first one */
    nbcolli_list waiting; /* receives of it that have got no announcement */
};

/* Or null: no such message was ever carried. */
nbcolli_triple *nbcolli_triple_find(const nbcoll_messages *m, int rank, uint32_t tag, int receives);
/* It is to end, if it has not yet. */
void nbcolli_triple_end(nbcoll_messages *m, nbcolli_triple *x);
/* Those that are closed. Has something moved? */
int nbcolli_routes_go_on(nbcoll_messages *m);
/* A pass (-1), or a thread that is about to sleep on that poller: what ends on a route wakes it. 0: it does not. */
int nbcolli_routes_arm(nbcoll_messages *m, int poller);
/* The rank is gone. */
void nbcolli_routes_gone(nbcoll_messages *m, int rank);
void nbcolli_routes_free(nbcoll_messages *m);

/* A send has got its number: it goes there, if it suits and `may`. */
void nbcolli_route_send(nbcoll_messages *m, nbcolli_transfer *t, int may);
/* A ROUTED has come: the receiver says how many have come by the sender's route. Or the sender says of the receiver's
 * that its agent has closed it: then this bit is set, with the number of the first message below, which tells whether
 * the receiver can know the route already. */
#define NBCOLLI_ROUTE_ENDS (UINT64_C(1) << 63)
void nbcolli_route_told(nbcoll_messages *m, int rank, uint32_t number, uint64_t said);
/* The rank is told, again, of routes to it that this rank's agent has closed, if it has not said how many have come. */
void nbcolli_routes_say_ended(nbcoll_messages *m, int rank);
/* The receiver has answered this one. */
void nbcolli_route_answered(nbcoll_messages *m, nbcolli_transfer *t);

/* A receive that no kept message fits. 1: it waits there. */
int nbcolli_route_take(nbcoll_messages *m, nbcolli_request *r);
/* Such a receive, or probe, may get messages of these: they end. */
void nbcolli_routes_are_open_to(nbcoll_messages *m, int source, uint32_t tag);
/* A message is in turn: what it is from now on. */
void nbcolli_route_arrives(nbcoll_messages *m, nbcolli_arrival *l);
/* A receive gets a message that was kept, which has a place there: the receive gets the same one. Null: the route
 * ends. */
nbcolli_transfer *nbcolli_route_joins(nbcoll_messages *m, nbcolli_request *r, const nbcolli_arrival *l);

#endif
