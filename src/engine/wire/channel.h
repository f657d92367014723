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
    uint8_t unheard;  /* EAGERs that named it since its sender last looked for the answer */
} nbcolli_channel;

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

/* Finds the channel for what the op sends, which it keeps, or makes it one. */
void nbcolli_channel_find(nbcolli_op *op);

/* The channel's name for an EAGER of the op, unless the receiver has answered that it knows it; then 0. */
uint32_t nbcolli_channel_name(const nbcolli_op *op);

/* Is the sender to look for the answer before it names the channel once more? A rank that only sends, and has credits,
 * would not look: so its messages soon become lines, however many credits it has. */
int nbcolli_channel_is_overdue(const nbcolli_op *op);

/* May the op's message go as a line? Its channel is open, the receiver knows it, and a line can say all of it. */
static inline int nbcolli_channel_is_open(const nbcolli_op *op, const nbcolli_pair *pair)
{
    return op->epoch == pair->epoch && pair->credits > 0 && pair->stalls == pair->told &&
           pair->channels->out[op->channel].is_known;
}

/* Sends `bytes` bytes as a line on the op's channel, which is open. 0: it is to be sent as a message. */
static inline int nbcolli_channel_send(nbcolli_op *op, nbcolli_pair *pair, uint64_t history, const void *from,
                                       size_t bytes)
{
    const nbcolli_link *link = op->post.link;
    uint64_t turn = nbcolli_turn(history, pair->owed);

    if (link->lines.post(link->endpoint, op->post.peer, op->channel, turn, from, bytes) != NBCOLL_POST_DONE)
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
