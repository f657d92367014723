/* SPDX-License-Identifier: BSD-3-Clause
 * The unexpected queue: messages that came before somebody could take them. Inline: finding one and letting it go. */
#ifndef NBCOLLI_ENGINE_WIRE_UNEXPECTED_H
#define NBCOLLI_ENGINE_WIRE_UNEXPECTED_H

#include "../state/context.h"

#define NBCOLLI_UNEXPECTED_SMALL sizeof(nbcolli_remote) /* bytes of payload: announcements, and what is as short */

/* Keeps it, or a copy; null: no memory. Each took a credit: so a peer can make us store so many only. */
nbcolli_unexpected *nbcolli_unexpected_keep(nbcolli_incoming *in);

/* Makes room for so many short ones, and as many long ones. 0: no memory. */
int nbcolli_unexpected_reserve(nbcolli_link *link, uint32_t n);

/* Back to its pool. */
static inline void nbcolli_unexpected_pool(nbcolli_unexpected *s)
{
    nbcolli_unexpected **pool = &s->link->context->unexpected_pools[s->capacity > NBCOLLI_UNEXPECTED_SMALL];
    s->next = *pool;
    *pool = s;
    s->link->context->stored--;
}

/* A kept message is let go. */
static inline void nbcolli_unexpected_free(nbcolli_unexpected *s)
{
    nbcolli_pair *pair = &s->link->pair[s->source];
    pair->kept -= nbcolli_is_message(&s->header);
    pair->let_go++;
    nbcolli_unexpected_pool(s);
}

/* One from the store. */
static inline nbcolli_incoming nbcolli_incoming_kept(nbcolli_unexpected *s)
{
    return (nbcolli_incoming){s->link, s->header, s->payload, s->bytes, s, s->source};
}

/* The message is not needed any more. */
static inline void nbcolli_done_with(nbcolli_incoming *in)
{
    if (in->kept)
        nbcolli_unexpected_free(in->kept);
    in->kept = NULL;
}

/* Refuses a message of that peer's which nobody here will read, so that its sender can end. `why`: ERR_CANCELLED if the
 * operation is revoked, which the sender also learns; ERR_MISMATCH if there is no such operation. */
void nbcolli_refuse(nbcolli_link *link, int peer, const nbcolli_header *m, nbcoll_status why);

/* The bucket of an operation's messages. Tags in use may be multiples of a power of two. */
static inline nbcolli_unexpected **nbcolli_unexpected_at(const nbcoll_comm *comm, uint64_t tag)
{
    uint64_t hash = (tag ^ comm->id) * UINT64_C(0x9e3779b97f4a7c15) >> 32;
    return &comm->link->unexpected[hash % NBCOLLI_UNEXPECTED_BUCKETS];
}

/* The pointer to a message stored for an operation from `first` to `last`; null: there is none. */
nbcolli_unexpected **nbcolli_unexpected_find(const nbcoll_comm *comm, uint64_t first, uint64_t last);

/* Refuses and frees all of those; returns whether there were any. */
int nbcolli_unexpected_drop(nbcoll_comm *comm, uint64_t first, uint64_t last, nbcoll_status why);

#endif
