/* SPDX-License-Identifier: BSD-3-Clause
 *
 *
 * Queue pairs of the ranks of a loopback world, and receives that several of them share: of the component offload. The
 * transport calls them by what nbcoll_loopback_pairs returns, where its configuration has that. */
#ifndef NBCOLLI_LOOPBACK_PAIRS_H
#define NBCOLLI_LOOPBACK_PAIRS_H

#include "../loopback/world.h"

struct nbcolli_loopback_cq {
    uint64_t entries;                         /* not consumed */
    struct nbcolli_loopback_pair *waits;      /* the pair whose send queue waits for it last */
    nbcoll_status status;                     /* why there will not be more */
    struct nbcolli_loopback_receives *shared; /* whose entries come here, instead of being counted */
};

struct nbcolli_loopback_queue {
    nbcoll_posting *place; /* [depth] */
    uint64_t head, tail;   /* [head, tail) are posted */
    uint64_t done, enabled;
    int is_held;
    struct nbcolli_loopback_cq *completions;
};

/* A ring: [taken, head) have come and were not taken, [head, tail) are posted. */
struct nbcolli_loopback_receives {
    struct nbcolli_loopback_cq *completions;
    struct nbcolli_loopback_end *end;
    uint64_t taken, head, tail;
    uint32_t depth, least;                         /* least: 0, or how many shall be left */
    bool is_low;                                   /* reported, and not yet noticed */
    struct nbcolli_loopback_pair *waiting, **last; /* waiting senders, the longest waiting first */
    struct nbcolli_loopback_receive {
        void *memory;
        size_t bytes;
        struct nbcolli_loopback_pair *pair; /* by which it came */
    } place[];
};

struct nbcolli_loopback_pair {
    struct nbcolli_loopback_pair *next, *mate, *next_ready;
    int rank, peer, is_ready;
    int has_met, is_closed; /* closed before its peer opened it: it stays, so that the peer learns of it */
    uint32_t number, depth;
    bool is_over; /* a message of it did not fit: no other goes */
    struct nbcolli_loopback_queue send, receive;
    struct nbcolli_loopback_receives *shared;   /* or null */
    struct nbcolli_loopback_pair *next_waiting; /* of pairs whose peer shares receives, and has none left */
    bool is_waiting;
};

/* What the contract calls a queue pair, a completion queue, and shared receives. */
static inline struct nbcolli_loopback_pair *nbcolli_loopback_pair_of(nbcoll_queue_pair *pair)
{
    return (struct nbcolli_loopback_pair *)(void *)pair;
}

static inline struct nbcolli_loopback_cq *nbcolli_loopback_cq_of(nbcoll_completion_queue *c)
{
    return (struct nbcolli_loopback_cq *)(void *)c;
}

static inline struct nbcolli_loopback_receives *nbcolli_loopback_receives_of(nbcoll_shared_receives *shared)
{
    return (struct nbcolli_loopback_receives *)(void *)shared;
}

/* pairs.c */
void nbcolli_loopback_offload_lock(nbcoll_loopback *w);
void nbcolli_loopback_offload_unlock(nbcoll_loopback *w);
/* Moves all that can move: this pair's sends, and sends that they release. Under the lock, as all below. */
void nbcolli_loopback_pair_advance(struct nbcolli_loopback_pair *pair);

/* receives.c */
/* The receive for the next message of a pair; null: there is none, and the pair waits. */
struct nbcolli_loopback_receive *nbcolli_loopback_receives_next(struct nbcolli_loopback_receives *r,
                                                                struct nbcolli_loopback_pair *sender);
/* A message has come by `pair` into that receive. */
void nbcolli_loopback_receives_came(struct nbcolli_loopback_receives *r, struct nbcolli_loopback_pair *pair);
/* The pair is closed: it waits no more, and no entry names it. */
void nbcolli_loopback_receives_forget(struct nbcolli_loopback_receives *r, const struct nbcolli_loopback_pair *pair);

nbcoll_status nbcolli_loopback_open_shared(nbcoll_endpoint *ep, uint32_t depth, nbcoll_completion_queue *received,
                                           nbcoll_shared_receives **out);
nbcoll_status nbcolli_loopback_post_shared(nbcoll_endpoint *ep, nbcoll_shared_receives *shared,
                                           const nbcoll_posting *p);
nbcoll_status nbcolli_loopback_take(nbcoll_endpoint *ep, nbcoll_completion_queue *received, nbcoll_shared_arrival *out);
nbcoll_status nbcolli_loopback_watch_shared(nbcoll_endpoint *ep, nbcoll_shared_receives *shared, uint32_t least,
                                            int *fd);
void nbcolli_loopback_close_shared(nbcoll_endpoint *ep, nbcoll_shared_receives *shared);

#endif
