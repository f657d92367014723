/* SPDX-License-Identifier: BSD-3-Clause
 * Channels. Sender and receiver agree once on the header of a small message that repeats, which then travels as a line
 * (transport.h). A channel stands for a communicator, a pair of its ranks, a message's number and the fingerprint; a
 * line's turn adds the tag with some of the history before it, and the credits that its sender gives back. So a line is
 * an EAGER in short, and its receiver can make it one again: nothing is matched otherwise.
 *
 * The sender numbers the channels to a rank. An EAGER opens one: it names the number until the receiver answers by
 * CHANNEL; later messages are lines. A receiver without memory does not answer, and they stay messages. When all
 * numbers are used the sender begins anew, in the pair's next epoch, once all its credits are home: then no line of it
 * is under way, and no EAGER that names a channel. Inline: the way of a line. */
#ifndef NBCOLLI_ENGINE_WIRE_CHANNEL_H
#define NBCOLLI_ENGINE_WIRE_CHANNEL_H

#include "../state/context.h"

#define NBCOLLI_CHANNELS 256u /* from a rank to another, at most */

/* As its sender knows it. */
typedef struct nbcolli_channel {
    uint64_t comm;
    uint32_t number, fingerprint;
    uint8_t is_known; /* to the receiver */
    uint8_t unheard;  /* EAGERs that named it since its sender last looked for the answer, */
} nbcolli_channel;

#define NBCOLLI_CHANNEL_UNHEARD 16 /* which it does after so many: a rank that only sends, and has credits, would not */

/* As its receiver knows it. */
typedef struct nbcolli_channel_end {
    nbcoll_comm *comm; /* null: it has ended, */
    uint64_t taken;    /* and the next tag was that */
    uint64_t id;
    uint32_t number, fingerprint;
    uint32_t source, to;
    uint32_t op;     /* of a run of the schedule with this serial number, if that is not 0: its RECV */
    uint64_t serial;
} nbcolli_channel_end;

/* Of a pair, from its first channel on. Entries behind those in use are not touched. */
struct nbcolli_channels {
    uint32_t outs, ins;
    nbcolli_channel out[NBCOLLI_CHANNELS];
    nbcolli_channel_end in[NBCOLLI_CHANNELS];
};

/* The channel for what the op sends, found or made: op->channel is its number. Null: there is none. */
nbcolli_channel *nbcolli_channel_find(nbcolli_op *op);

/* Its name for an EAGER of the op, unless the receiver has answered that it knows it; then 0. */
uint32_t nbcolli_channel_name(nbcolli_op *op);

/* Sends `bytes` bytes as a line on the op's channel, which its receiver knows, if a line can say all that there is to
 * say. 0: they are to be sent as a message. */
static inline int nbcolli_channel_send(nbcolli_op *op, nbcolli_pair *pair, uint64_t history, const void *from,
                                       size_t bytes)
{
    const nbcolli_link *link = op->post.link;

    if (pair->credits <= 0 || pair->stalls != pair->told ||
        link->lines.post(link->endpoint, op->post.peer, op->channel, nbcolli_turn(history, pair->owed), from, bytes) !=
            NBCOLL_POST_DONE)
        return 0;
    pair->owed = 0;
    pair->credits--;
    return 1;
}

/* An EAGER of an operation with this fingerprint opens a channel of that name. */
void nbcolli_channel_opened(nbcoll_comm *comm, const nbcolli_header *h, uint32_t name, uint32_t fingerprint);

/* Handles a CHANNEL. */
void nbcolli_channel_known(nbcoll_comm *comm, nbcolli_incoming *in);

/* The end of a communicator here, and of a link. */
void nbcolli_channels_forget(nbcoll_comm *comm);
void nbcolli_channels_free(nbcolli_link *link);

#endif
