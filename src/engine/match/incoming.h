/* SPDX-License-Identifier: BSD-3-Clause
 * A message on its way to the step that it means. */
#ifndef NBCOLLI_ENGINE_MATCH_INCOMING_H
#define NBCOLLI_ENGINE_MATCH_INCOMING_H

#include "../wire/unexpected.h"

/* A message being handled: just delivered, or taken from the store (`kept`). */
typedef struct nbcolli_incoming {
    nbcolli_link *link;
    nbcolli_header header;
    const void *payload;
    size_t bytes;
    nbcolli_unexpected *kept;
    int source; /* on the link */
} nbcolli_incoming;

/* One from the store. */
static inline nbcolli_incoming nbcolli_incoming_kept(nbcolli_unexpected *s)
{
    return (nbcolli_incoming){s->link, s->header, s->payload, s->bytes, s, s->source};
}

/* Nothing more is needed of the message. */
static inline void nbcolli_done_with(nbcolli_incoming *in)
{
    if (in->kept)
        nbcolli_unexpected_free(in->kept);
    in->kept = NULL;
}

#endif
