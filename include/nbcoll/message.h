/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages between two ranks. Their requests are those of nbcoll.h: test, wait (for one, any, some, all), callbacks,
 * deadlines, cancelling and failure texts. Messages go beside the collectives of the communicator: neither waits for
 * the other, and a message is no operation of the communicator's (it has no place in the order that ranks share).
 *
 * A ring, in which each rank passes something on:
 *
 *     nbcoll_messages *m;
 *     nbcoll_messages_open(comm, NULL, &m, NBCOLL_FOREVER);          all ranks of comm
 *     nbcoll_sendrecv(&mine, 1, NBCOLL_INT, right, TAG, &theirs, 1, NBCOLL_INT, left, TAG, m, NULL, NBCOLL_FOREVER);
 *     nbcoll_messages_close(m);                                      before the communicator is freed
 *
 * A halo exchange of the columns of double a[rows][columns], whose requests are made once and started in each step:
 *
 *     nbcoll_strided column;                                                                       strided.h
 *     nbcoll_strided_make(&column, NBCOLL_DOUBLE, 1, (nbcoll_steps){rows, columns}, NBCOLL_ONCE, 1);
 *     nbcoll_type type = nbcoll_type_of(&column.type);
 *     for (int side = 0; side < 2; side++) {
 *         nbcoll_recv_init(&a[0][side ? columns - 1 : 0], 1, type, neighbour[side], !side, m, NULL, &request[side]);
 *         nbcoll_send_init(&a[0][side ? columns - 2 : 1], 1, type, neighbour[side], side, m, &request[2 + side]);
 *     }
 *     for (;;) {
 *         for (int i = 0; i < 4; i++)
 *             nbcoll_start(&request[i]);
 *         compute_inside();
 *         nbcoll_wait_all(4, request, NULL, NBCOLL_FOREVER);
 *         compute_edges();
 *     }
 *
 * A master that gives the next task to whoever is ready:
 *
 *     nbcoll_message_info who;
 *     nbcoll_recv(&result, 1, NBCOLL_DOUBLE, NBCOLL_ANY_SOURCE, NBCOLL_ANY_TAG, m, &who, NBCOLL_FOREVER);
 *     nbcoll_send(&task, 1, NBCOLL_INT, who.source, TASK, m, NBCOLL_FOREVER);
 *
 * What is matched with what. The receiver decides, since a sender cannot know what its peer will post. A message
 * carries its communicator, its sender, its tag, and its number among all messages from that sender to this receiver.
 * Arrivals are taken in the order of these numbers, whatever a transport does, and each meets the receive that was
 * posted first among those that fit; what fits none is kept, in that order, and a receive that is posted takes the
 * first that fits. So of one sender's messages that fit a receive it gets the first, with wildcards or without: a
 * receive for one source and one for any source are in two lists, and a number of the posting says which was earlier.
 * Messages of different senders are in the order of their arrival.
 *
 * Wildcards cost a look at an empty list where nobody uses them. So there is no promise to be made not to use them;
 * what agents carry (see below) ends with the first one that fits.
 *
 * What is bounded. Short messages (`eager`) are sent at once, and take a credit of their sender's with this receiver,
 * which comes back when they are matched. Longer ones, and short ones for which there is no credit, are announced: the
 * receiver keeps the announcement only, and when it has matched it gets the data from the sender's memory, or asks for
 * it, and its sender puts it there, or sends it. An announced message needs no credit: so a receive and a send that fit
 * always meet, whatever else is under way between the two ranks. At most `announced` messages to a rank may be
 * announced and not taken; a further one ends with ERR_LIMIT, its receiver hears nothing of it, and a receive for it
 * waits on. So a rank stores, for each other one, at most `credits` short messages and `announced` announcements; a
 * peer that sends more of the first, or announces more than 16,384, is lost (ERR_PEER_LOST).
 *
 * The end of a send says that its buffer may be changed; that of a synchronous send (ssend) that it has been matched,
 * too. When a rank is lost, or has left, messages matched with it, and receives from it that no arrived message fits,
 * end with ERR_PEER_LOST, and so do later ones. Receives from any source end so when a rank is lost, since they may
 * have waited for its message; later ones wait for the other ranks. When a rank has left they wait on, while there is
 * another one; and a send whose data has gone to it whole ends well. A message whose buffer the other rank may still
 * read, or write, ends when that has answered, or is gone. Messages between other ranks go on, even where the
 * communicator is broken. nbcoll_last_failure tells of a message: `tag` is then NBCOLL_FAILURE_MESSAGE plus the
 * message's tag.
 *
 * A cancelled receive ends with ERR_CANCELLED, unless it has been matched: then it ends as the message does. So does a
 * send that has been announced: it ends when its receiver has answered, with OK if the message had been matched.
 *
 * Tasks of any length, for several threads: no thread gets a message that another has probed:
 *
 *     nbcoll_message task;
 *     while (nbcoll_improbe(MASTER, NBCOLL_ANY_TAG, m, &what, &task) == NBCOLL_PENDING)
 *         ;
 *     nbcoll_imrecv(malloc(what.bytes), what.bytes, NBCOLL_BYTE, &task, &request);
 *
 * What agents carry. If the communicator has an agent (offload.h) in this process, and both ranks have asked for
 * `routes`, long messages of one sender and one tag go by a queue pair of the agents, a route: a send and a receive
 * that have both been started meet there, and the send ends, though neither rank makes a call. Somebody must call the
 * agents, as for programs. Matching, order, and what a message ends with stay as they are. A route begins with the
 * first message that is longer than `eager` of its receiver; that one, and those that were started before the receiver
 * has looked again, go as without agents. A route ends for good, and the messages go as without agents, if a message of
 * its sender and tag is short or longer than the first one, or packs; a receive for them is shorter than the first
 * message, or packs; more than 64 sends, or receives, of it are open; a receive with a wildcard that fits is posted, or
 * improbe takes one; one is cancelled; an agent has failed or been cancelled, or has no memory. None of this ends a
 * message, but a request that is on a route ends only when the agent has closed it. Close messages with routes before
 * the agent.
 *
 * Agents that are processes, relays and ticks (driver.h) carry no messages; drivers do. A rank whose context a driver
 * has lets no sender wait while it computes. bench/delay.c has what a pause of the receiver passes on to the sender.
 */
#include "nbcoll.h"

#ifndef NBCOLL_MESSAGE_H
#define NBCOLL_MESSAGE_H

#if defined NBCOLL_WITH_MESSAGE && !NBCOLL_WITH_MESSAGE
#error "nbcoll/message.h is of the component message: define NBCOLL_WITH_MESSAGE=1, or link nbcoll_message"
#endif

NBCOLLI_BEGIN

/* ---- open and close ---------------------------------------------------------------------------------------------- */

typedef struct nbcoll_messages nbcoll_messages; /* a rank's end of the messages of a communicator */

#define NBCOLL_MESSAGE_CREDITS 64u /* the defaults */
#define NBCOLL_MESSAGE_EAGER 4096u
#define NBCOLL_MESSAGE_ANNOUNCED 4096u

/* A rank's own: other ranks may pass other numbers. 0 is the default. */
typedef struct nbcoll_messages_config {
    size_t size;
    uint32_t credits;   /* short messages that each rank may have sent to this one before they are matched: 1..8192 */
    uint32_t eager;     /* bytes of a message that is sent to this rank at once; transports may have a lower limit:
                           1..2^30 */
    uint32_t announced; /* messages of this rank's that another one has not taken: 1..16384 */
    size_t routes; /* so many routes this rank may have, to others and from them, also those that have ended: at most
                      1024. 0: none */
} nbcoll_messages_config;

/* All ranks of the communicator call it, in the same order as their collectives: it is one (an allgather). Messages may
 * be sent and received when the request has ended well. A communicator may have several: messages of one do not meet
 * receives of another. `comm` cannot be freed before they are closed; with its context they are, too, as communicators
 * are, and nbcoll_context_abandon takes care of messages under way. nbcoll_messages_open waits: at the timeout it
 * closes, and returns ERR_TIMEOUT or ERR_NO_SLOT.
 * Errors: ERR_NULL, ERR_CONFIG, ERR_MEMORY, and those of nbcoll_iallgather. */
NBCOLL_API nbcoll_status nbcoll_messages_iopen(nbcoll_comm *comm, const nbcoll_messages_config *config,
                                               nbcoll_messages **out, nbcoll_request *request);
NBCOLL_API nbcoll_status nbcoll_messages_open(nbcoll_comm *comm, const nbcoll_messages_config *config,
                                              nbcoll_messages **out, uint64_t timeout);

/* A call of this rank alone. Messages that have come and were not received are dropped; a rank that has announced one,
 * or sends one later, gets ERR_CANCELLED. Persistent requests cannot be started any more (ERR_REQUEST). The call
 * makes a pass, as nbcoll_progress does. Null is accepted. Errors: ERR_BUSY (a request is active, or its `done` is yet
 * to be called; the opening is not over; inside a `done` that the pass of such a call runs), ERR_FORKED. */
NBCOLL_API nbcoll_status nbcoll_messages_close(nbcoll_messages *m);

/* ---- send and receive -------------------------------------------------------------------------------------------- */

#define NBCOLL_ANY_SOURCE (-1)
#define NBCOLL_ANY_TAG (-1)
#define NBCOLL_TAG_MOST 2147483647 /* tags are 0 to this */

/* What a receive has got. Written before the receive ends; of one that ends with ERR_TRUNCATED, `bytes` are those of
 * the message. */
typedef struct nbcoll_message_info {
    int source, tag;
    size_t bytes;
} nbcoll_message_info;

/* Buffers, and `info`, which may be null, are the library's from the start to the end; of persistent requests from
 * _init until they are freed. `count` elements of `type`: the ranks' types may differ, what counts is what travels. A
 * receive may be longer than its message. If it is shorter it ends with ERR_TRUNCATED, and its buffer is unchanged; the
 * message is taken, and its send ends well. A rank may send to itself.
 *
 * Errors at the call: ERR_NULL (m, request), ERR_BUFFER (null, with elements), ERR_COUNT (the bytes overflow),
 * ERR_TYPE (also: to receive several elements at one place), ERR_RANK (outside the communicator; any source, of a
 * send), ERR_TAG (below 0, or any tag, of a send; below NBCOLL_ANY_TAG), ERR_BUSY (the opening is not over),
 * ERR_CANCELLED (it has failed), ERR_LIMIT or ERR_MEMORY (no request), ERR_FORKED. A message ends with: OK,
 * ERR_TRUNCATED, ERR_CANCELLED, ERR_PEER_LOST, ERR_LIMIT (see above), ERR_FAULT, ERR_MEMORY, ERR_CALL, ERR_COUNT.
 *
 * Of a type that packs (nbcoll.h, strided.h) packed elements travel. Each side that has such a type keeps all of them
 * in memory of the library's while they are under way, and packs them in pieces, between which it sends and answers. If
 * the sender's type fails both sides end with ERR_CALL, if the receiver's does only its receive. A message that is no
 * whole number of the receiver's packed elements, or units, is taken: its receive ends with ERR_COUNT, and its buffer
 * is unchanged. */
NBCOLL_API nbcoll_status nbcoll_isend(const void *buffer, size_t count, nbcoll_type type, int to, int tag,
                                      nbcoll_messages *m, nbcoll_request *request);
NBCOLL_API nbcoll_status nbcoll_issend(const void *buffer, size_t count, nbcoll_type type, int to, int tag,
                                       nbcoll_messages *m, nbcoll_request *request);
NBCOLL_API nbcoll_status nbcoll_irecv(void *buffer, size_t count, nbcoll_type type, int from, int tag,
                                      nbcoll_messages *m, nbcoll_message_info *info, nbcoll_request *request);

NBCOLL_API nbcoll_status nbcoll_send_init(const void *buffer, size_t count, nbcoll_type type, int to, int tag,
                                          nbcoll_messages *m, nbcoll_request *request);
NBCOLL_API nbcoll_status nbcoll_ssend_init(const void *buffer, size_t count, nbcoll_type type, int to, int tag,
                                           nbcoll_messages *m, nbcoll_request *request);
NBCOLL_API nbcoll_status nbcoll_recv_init(void *buffer, size_t count, nbcoll_type type, int from, int tag,
                                          nbcoll_messages *m, nbcoll_message_info *info, nbcoll_request *request);

/* Each waits. At the timeout it cancels, and returns ERR_TIMEOUT; buffers and `info` stay the library's until
 * nbcoll_comm_active falls. nbcoll_sendrecv returns the error of the receive, else of the send. */
NBCOLL_API nbcoll_status nbcoll_send(const void *buffer, size_t count, nbcoll_type type, int to, int tag,
                                     nbcoll_messages *m, uint64_t timeout);
NBCOLL_API nbcoll_status nbcoll_ssend(const void *buffer, size_t count, nbcoll_type type, int to, int tag,
                                      nbcoll_messages *m, uint64_t timeout);
NBCOLL_API nbcoll_status nbcoll_recv(void *buffer, size_t count, nbcoll_type type, int from, int tag,
                                     nbcoll_messages *m, nbcoll_message_info *info, uint64_t timeout);
NBCOLL_API nbcoll_status nbcoll_sendrecv(const void *send, size_t send_count, nbcoll_type send_type, int to,
                                         int send_tag, void *recv, size_t recv_count, nbcoll_type recv_type, int from,
                                         int recv_tag, nbcoll_messages *m, nbcoll_message_info *info, uint64_t timeout);

/* ---- look first -------------------------------------------------------------------------------------------------- */

/* Is there a message that fits, which no receive has got? OK: it is described, and stays where it is. PENDING: there is
 * none; the call makes a pass, as nbcoll_test does. Errors as of nbcoll_irecv; ERR_PEER_LOST: none can come. */
NBCOLL_API nbcoll_status nbcoll_iprobe(int from, int tag, nbcoll_messages *m, nbcoll_message_info *info);

/* A message that a call has taken out of the queue. */
typedef struct nbcoll_message {
    nbcoll_messages *of;
    uint64_t number;
} nbcoll_message;

/* The same, but OK takes the message out of the queue: no other receive gets it, no other probe finds it, whichever
 * thread calls. `message` names it, until nbcoll_imrecv receives it, which sets `of` to null; a further call with a
 * copy gets ERR_REQUEST. Till then its sender's credit, or announcement, is not given back. One that is not received is
 * dropped by nbcoll_messages_close, as those in the queue. The errors of nbcoll_irecv. */
NBCOLL_API nbcoll_status nbcoll_improbe(int from, int tag, nbcoll_messages *m, nbcoll_message_info *info,
                                        nbcoll_message *message);
NBCOLL_API nbcoll_status nbcoll_imrecv(void *buffer, size_t count, nbcoll_type type, nbcoll_message *message,
                                       nbcoll_request *request);

NBCOLLI_END

#endif
