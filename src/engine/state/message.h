/* SPDX-License-Identifier: BSD-3-Clause
 * What travels and what is kept of it: headers, posts, messages that came early.
 * Inline: packing. */
#ifndef NBCOLLI_ENGINE_STATE_MESSAGE_H
#define NBCOLLI_ENGINE_STATE_MESSAGE_H

#include <stddef.h>
#include <string.h>

#include "list.h"
#include "nbcoll/transport.h"

typedef struct nbcolli_link nbcolli_link;
typedef struct nbcolli_cell nbcolli_cell;
typedef struct nbcolli_channels nbcolli_channels; /* wire/channel.h */
typedef struct nbcolli_op nbcolli_op;
typedef struct nbcolli_pair nbcolli_pair;
typedef struct nbcolli_request nbcolli_request;
typedef struct nbcolli_shrink nbcolli_shrink; /* src/engine/match/agree.c */
typedef struct nbcolli_slot nbcolli_slot;

/* EAGER carries its payload. RTS (ready to send) announces one that stays with the sender; its own payload is an
 * nbcolli_remote if the peer can get it. It is answered exactly once: by FIN (taken, or refused), or by CTS (clear to
 * send), which asks for it in DATA fragments. REVOKE ends an operation, LOST a communicator; a LOST may also say that
 * its rank is given up. GIVE_UP tells that rank so (giveup.h), or that its sender gives itself up, and belongs to no
 * communicator. CREDIT only carries credits, as any message may. AGREE is that of a shrink. STALLED says that an EAGER
 * or RTS waits for a credit, WANT asks for it (credit.h). QUERY wants to know where a rank is in an operation, and
 * WHERE says it (ask.h): once for each QUERY. CALL says what its sender has called as an operation (called.h).
 *
 * AGENT says that the communicator's agent has failed at its sender: no program of it ends well there any more.
 * EXECUTED is for the executor whose channel is `count`; the upper half of `tag` is that of its sender's (src/message).
 *
 * An EAGER that fits into a line may open a channel for its likes; CHANNEL says that its receiver knows it (channel.h).
 *
 * A CTS with an nbcolli_remote as payload lends its sender's memory, for a put. It is answered exactly once, by PUT: as
 * the put's notice (OK); or by itself, when DATA follows instead (AGAIN), or nothing does (ERR_CANCELLED). */
typedef enum nbcolli_type {
    NBCOLLI_EAGER,
    NBCOLLI_RTS,
    NBCOLLI_FIN,
    NBCOLLI_CTS,
    NBCOLLI_DATA,
    NBCOLLI_REVOKE,
    NBCOLLI_LOST,
    NBCOLLI_CREDIT,
    NBCOLLI_GIVE_UP,
    NBCOLLI_AGREE,
    NBCOLLI_STALLED,
    NBCOLLI_WANT,
    NBCOLLI_QUERY,
    NBCOLLI_WHERE,
    NBCOLLI_PUT,
    NBCOLLI_CHANNEL,
    NBCOLLI_AGENT,
    NBCOLLI_CALL,
    NBCOLLI_EXECUTED,
    NBCOLLI_TYPES /* how many there are */
} nbcolli_type;

/* `status` of an EXECUTED: without its executor here, ANNOUNCED is answered by REFUSED. Executors define the others. */
enum { NBCOLLI_MESSAGE_ANNOUNCED, NBCOLLI_MESSAGE_REFUSED, NBCOLLI_MESSAGE_OWN };

/* nbcoll_header as the core reads it; copied in and out of the words, never cast. */
typedef struct nbcolli_header {
    uint64_t comm, tag;
    uint32_t source; /* the sender's rank in the communicator */
    uint32_t number; /* of the message in (tag, direction, pair); REVOKE, LOST: the rank that is the cause; AGREE: that
                        which has cancelled; WHERE: 1 + a rank that has not started it, as far as its sender knows, or
                        0; where that is FREED: nbcolli_freeing; CALL: the fingerprint */
    uint32_t stamp;  /* of the operation (history.h); WHERE: what its sender knows of the history behind it;
                        CALL: that before it */
    uint16_t credits; /* given back */
    uint8_t type;     /* nbcolli_type */
    uint8_t status; /* REVOKE: why; FIN: OK if taken, else why it was refused; PUT: see above; AGREE: see agree.h;
                       WHERE: nbcoll_position; CALL: nbcolli_called_kind */
    uint64_t bytes;   /* EAGER, RTS: the whole payload, of an EAGER in the lower half; in its upper half, and CHANNEL:
                         a channel (channel.h), or 0; DATA: where this fragment begins; REVOKE: 1 if its sender has
                         shown memory in cells, and waits for its reader's word; LOST for ERR_PEER_LOST: 1 if the rank
                         is given up, for ERR_MISMATCH: 1 + the tag that showed it, or 0: `tag` ends, since its cause
                         has freed the communicator; GIVE_UP: 1 if its sender is; WHERE: the tag that its sender starts
                         next, where that is FREED: how many operations of agents it has started, or UINT64_MAX; QUERY:
                         the communicator whose operation, of the tag with the halves `number` and `stamp`, has made
                         the one that it is about; CALL: the count, 48 bits, the op and the type */
    uint32_t to;      /* the receiver's rank in the communicator */
    uint32_t count;   /* STALLED: its number; EAGER, RTS, CREDIT: none up to this one waits any more, or 0; REVOKE:
                         so many operations behind this one are revoked, too; LOST for ERR_MISMATCH: 1 if its cause is
                         known to have freed the communicator; WHERE: what its sender knows (match/ask.c); CALL: the
                         root, or UINT32_MAX */
} nbcolli_header;

#define NBCOLLI_NO_COMM UINT64_MAX /* no communicator has this id: the message is the endpoint's */

_Static_assert(sizeof(nbcolli_header) == sizeof(nbcoll_header), "the header fills its words");

/* Does it hold a credit? */
static inline int nbcolli_is_message(const nbcolli_header *h)
{
    return h->type == NBCOLLI_EAGER || h->type == NBCOLLI_RTS;
}

/* Where data lies: behind a key, of which limits.key_bytes travel. */
typedef struct nbcolli_remote {
    uint64_t offset;
    nbcoll_key key;
} nbcolli_remote;

/* Memory of this rank's; it begins as an nbcolli_remote does, which is sent to a peer. */
typedef struct nbcolli_registered {
    uint64_t offset;
    nbcoll_registration registration;
} nbcolli_registered;

_Static_assert(offsetof(nbcolli_registered, registration.key) == offsetof(nbcolli_remote, key), "it begins so");

typedef enum nbcolli_where {
    NBCOLLI_FREE,    /* not under way */
    NBCOLLI_BACKLOG, /* refused with NOT_NOW: in its link's backlog */
    NBCOLLI_IN_FLIGHT,    /* the transport has it */
    NBCOLLI_STUCK    /* will never leave: its peer or transport is lost */
} nbcolli_where;

/* A message or get under way. The work request comes first: a returned work request is its post. */
typedef struct nbcolli_post {
    nbcoll_work work;
    nbcoll_header wire; /* a packed nbcolli_header */
    const void *payload;
    size_t bytes;
    nbcolli_link *link;
    nbcolli_list_item item; /* in a pool, or, of its link, in the backlog or among those in flight */
    nbcolli_op *op;            /* null: a control message, whose post returns to the pool */
    int peer;                  /* on the link */
    uint8_t where;             /* nbcolli_where */
    uint8_t recalled, again;   /* IN_FLIGHT: this rank has asked the transport to cancel it. Of a control message:
                                  it has failed once, and is tried again */
    uint8_t copies; /* a get or put of an executor's */
} nbcolli_post;

static inline nbcolli_post *nbcolli_post_of(const nbcolli_list_item *item)
{
    return NBCOLLI_HOLDER(nbcolli_post, item, item);
}

/* A message that came before its receive was ready, or before its operation or communicator existed here. */
typedef struct nbcolli_unexpected {
    struct nbcolli_unexpected *next;
    size_t capacity, bytes;
    nbcolli_link *link;
    int source; /* on the link */
    nbcolli_header header;
    _Alignas(8) unsigned char payload[];
} nbcolli_unexpected;

/* A message being handled: just delivered, or taken from the store (`kept`). */
typedef struct nbcolli_incoming {
    nbcolli_link *link;
    nbcolli_header header;
    const void *payload;
    size_t bytes;
    nbcolli_unexpected *kept;
    int source; /* on the link */
} nbcolli_incoming;

static inline nbcoll_header nbcolli_pack(const nbcolli_header *h)
{
    nbcoll_header wire;
    memcpy(&wire, h, sizeof wire);
    return wire;
}

static inline nbcolli_header nbcolli_unpack(const nbcoll_header *wire)
{
    nbcolli_header h;
    memcpy(&h, wire, sizeof h);
    return h;
}

#endif
