/* SPDX-License-Identifier: BSD-3-Clause
 * Messages as an executor of their communicator (../engine/state/executor.h): a request for one is all theirs, without
 * a schedule, tag or slot. The receiver matches, in the order of its senders' numbers (nbcoll/message.h).
 *
 * A line, or an EXECUTED of the wire, is of one of these kinds. Of its header `tag` has the message's tag below and its
 * sender's channel above, `number` the message's number, `count` the receiver's channel, `stamp` returned credits.
 *
 *   SHORT      carries its data, and has taken a credit
 *   ANNOUNCED  `bytes` long; its payload says where the receiver can get it, or is empty
 *   TAKEN      the answer: the receiver has got it, or needs nothing of it; `bytes` is a status, for its sender
 *   ASK        the answer: its sender is to send it, in PARTs; or to put it where its payload says, or send it in PARTs
 *              all the same
 *   PART       bytes from `bytes` on
 *   PUT        the notice of a put; or with a status as `bytes`: it has failed, and writes nothing any more
 *   WITHDRAW   of one that is announced, from its sender, who cancels it: answered by WITHDRAWN, unless it has been
 *              matched. With `bytes`: the sender does without the receiver, and what that has asked for will not come
 *   AGAIN      a WITHDRAW, or the end of a route, came before the turn of its message, and that has been in turn since:
 *              the sender says all of these again
 *   CREDIT     only credits
 *   ROUTED     of the route `number`: so many messages (`bytes`) have come by it; or of its end: routes.h
 *   REFUSED    the answer where the receiver has closed: the engine's
 *
 * Over transports whose lines may be long a short message is always a line. Announced ones of few parts are asked for
 * where two copies through shared memory cost no more than a get (nbcoll_shared.staging_part).
 *
 * A line has channel and length; its turn, from above: 16 bits of credits, 16 of the number, 1 that says CREDIT, 31 of
 * the tag. A number of which only the lower bits travel is the one that is nearest to what is expected: fewer than
 * 2^15 messages are on their way between two ranks, by the bounds of credits and announcements. A receiver holds its
 * senders to these bounds: who sends more is given up, as one that sends what no rank may.
 *
 * All is progress's, under the context's lock, but for what calls write into requests. In a context of one thread a
 * start is inside anyway, and sends at once; else it hands the request over. */
#ifndef NBCOLLI_MESSAGE_MESSAGE_H
#define NBCOLLI_MESSAGE_MESSAGE_H

#include "nbcoll/message.h"
#include "../engine/comm/executors.h"
#include "../engine/comm/requests.h"
#include "../engine/run/queue.h"
#include "../engine/run/fail.h"
#include "../engine/wire/control.h"
#include "route.h"

typedef enum nbcolli_message_kind {
    NBCOLLI_MSG_ANNOUNCED = NBCOLLI_MESSAGE_ANNOUNCED,
    NBCOLLI_MSG_REFUSED = NBCOLLI_MESSAGE_REFUSED,
    NBCOLLI_MSG_SHORT = NBCOLLI_MESSAGE_OWN,
    NBCOLLI_MSG_TAKEN,
    NBCOLLI_MSG_ASK,
    NBCOLLI_MSG_PART,
    NBCOLLI_MSG_WITHDRAW,
    NBCOLLI_MSG_WITHDRAWN,
    NBCOLLI_MSG_AGAIN,
    NBCOLLI_MSG_CREDIT,
    NBCOLLI_MSG_PUT,
    NBCOLLI_MSG_ROUTED,
    NBCOLLI_MSG_KINDS,
    NBCOLLI_MSG_CARRIED /* an ANNOUNCED one that is also on a route: of arrivals alone */
} nbcolli_message_kind;

/* ---- table.c ----------------------------------------------------------------------------------------------------- */

/* What is found by its key; of requests by `queued`, whose key follows from what they receive. */
typedef struct nbcolli_keyed {
    nbcolli_list_item item; /* first */
    uint64_t key;
} nbcolli_keyed;

#define NBCOLLI_TABLE_BITS_MOST 20
#define NBCOLLI_TABLE_BITS 4 /* of a new one, whose buckets are part of the messages */

typedef struct nbcolli_buckets {
    nbcolli_list *bucket; /* [1 << bits] */
    uint32_t bits;
    size_t count;
    uint64_t (*key)(const nbcolli_list_item *item);
} nbcolli_buckets;

static inline nbcolli_list *nbcolli_table_bucket(const nbcolli_buckets *t, uint64_t key)
{
    return &t->bucket[key * UINT64_C(0x9e3779b97f4a7c15) >> (64 - t->bits)];
}

void nbcolli_table_grow(const nbcoll_host *host, nbcolli_buckets *t);
static inline void nbcolli_table_add(const nbcoll_host *host, nbcolli_buckets *t, nbcolli_list_item *item, uint64_t key)
{
    if (t->count >= (size_t)2 << t->bits && t->bits < NBCOLLI_TABLE_BITS_MOST)
        nbcolli_table_grow(host, t);
    t->count++;
    nbcolli_list_add(nbcolli_table_bucket(t, key), item);
}
static inline void nbcolli_table_leave(nbcolli_buckets *t, nbcolli_list_item *item)
{
    t->count -= item->in != NULL;
    nbcolli_list_leave(item);
}
/* The first one that was added of those with this key, in a table of keyed ones; or null. */
nbcolli_keyed *nbcolli_table_find(const nbcolli_buckets *t, uint64_t key);
uint64_t nbcolli_key_of_keyed(const nbcolli_list_item *item);
/* Its memory, whatever is in it. */
void nbcolli_table_free(const nbcoll_host *host, nbcolli_buckets *t);

/* ---- what there is ----------------------------------------------------------------------------------------------- */

/* A message that has come: SHORT, ANNOUNCED or CARRIED. */
typedef struct nbcolli_arrival {
    int source;
    uint32_t number;
    int32_t tag;
    uint8_t kind;
    size_t bytes;
    const void *payload;
    size_t held;           /* bytes of the payload */
    nbcolli_request *self; /* this rank's own, announced: it is in its buffer */
} nbcolli_arrival;

/* One that is kept: its payload lies behind it. */
typedef struct nbcolli_kept {
    nbcolli_list_item beside; /* its sender's: in turn, or out of turn. First */
    nbcolli_list_item among;  /* all that are in turn; or all that are probed */
    nbcolli_keyed exact;      /* in turn: by its sender and tag; or probed: by its handle's number */
    nbcolli_keyed tagged;     /* in turn: by its tag */
    nbcolli_keyed numbered;   /* in turn, or early: by that, its sender and number */
    struct nbcolli_kept *next;
    size_t capacity;
    nbcolli_arrival arrival;
    _Alignas(8) unsigned char payload[];
} nbcolli_kept;

#define NBCOLLI_FAILED_TO_PACK SIZE_MAX /* as the length of a message whose sender's type has failed */

typedef enum nbcolli_transfer_phase {
    NBCOLLI_TRANSFER_PACKING,   /* by pieces; then SHORT, or ANNOUNCED; or, to this rank itself, UNPACKING */
    NBCOLLI_TRANSFER_SHORT,     /* its post is under way */
    NBCOLLI_TRANSFER_ANNOUNCED, /* then the answer */
    NBCOLLI_TRANSFER_PARTS,     /* they are sent */
    NBCOLLI_TRANSFER_GETTING,
    NBCOLLI_TRANSFER_PUTTING,
    NBCOLLI_TRANSFER_ASKED,    /* parts come, or it is put */
    NBCOLLI_TRANSFER_UNPACKING, /* all has come */
    NBCOLLI_TRANSFER_CARRIED    /* a receive, by a route; else as any that is announced */
} nbcolli_transfer_phase;

typedef struct nbcolli_triple nbcolli_triple; /* routes.h */

/* A message whose data is under way. Of a type that packs `memory` is the transfer's own: `few`, or allocated. */
typedef struct nbcolli_transfer {
    nbcolli_post post;
    nbcolli_list_item among;  /* those at which passes look */
    nbcolli_list_item beside; /* its peer's: sends, or receives */
    nbcolli_keyed numbered;   /* by these and its number */
    struct nbcolli_transfer *next;
    nbcolli_request *request;
    nbcolli_request *self; /* of a receive: this rank's own send, which is copied; else null */
    unsigned char *memory;
    size_t bytes, moved;
    int rank;
    uint32_t number;
    uint8_t phase; /* nbcolli_transfer_phase */
    uint8_t is_over;    /* it ends with `status` when its post is free, and its peer gets it no more */
    uint8_t is_begun;   /* GETTING, PUTTING: the transport has taken it */
    uint8_t lends;      /* ASKED: its memory is lent, for a put, and there is no answer */
    uint8_t registered; /* `mine` is to be deregistered */
    uint8_t packs;      /* `memory` is its own */
    uint8_t is_short;   /* of a send: it has a credit. Else it is counted among the announced ones */
    uint8_t has_failed; /* of a send: to pack */
    uint8_t is_carried; /* it has gone, or come, by its route */
    uint8_t is_refused; /* it has a place on a route, and goes, or comes, another way */
    nbcolli_triple *triple; /* whose route may touch its memory; or null */
    uint64_t position;      /* there */
    size_t held;            /* of a receive that is to come by the route: bytes of `theirs` */
    nbcoll_status status;
    nbcolli_registered mine;
    nbcolli_remote theirs;
    nbcoll_header notice; /* of a put */
    _Alignas(64) unsigned char few[64];
} nbcolli_transfer;

/* What a rank says when it opens. */
typedef struct nbcolli_hello {
    uint32_t magic, channel, credits, eager, hears, routes;
} nbcolli_hello;

#define NBCOLLI_HELLO 0x6d657373u

typedef struct nbcolli_correspondent {
    /* To it. */
    uint32_t next; /* number */
    int32_t credits, most;
    uint32_t channel, eager;
    uint32_t announced;
    size_t line_most; /* bytes of a line to or from it */
    uint8_t has_lines, is_gone;
    uint8_t is_apart; /* gone, or there are routes to it or from it */
    uint8_t takes_routes;
    uint8_t may_take; /* its lines, without a pass: in a context of one thread */
    uint8_t is_asked; /* when it is the turn of `asked` it is told AGAIN */
    nbcolli_list sends; /* transfers */

    /* From it. */
    uint32_t expected; /* number */
    uint32_t owed;     /* credits */
    uint32_t asked;    /* number */
    uint32_t kept[2];  /* announced ones that have not been withdrawn, and short ones: see nbcolli_arrival_may_come */
    nbcolli_list in_turn;  /* kept, and matched by no receive */
    nbcolli_list early;    /* kept: one before them is missing */
    nbcolli_list receives; /* transfers */
} nbcolli_correspondent;

struct nbcoll_messages {
    nbcolli_executor head;
    nbcoll_context *context;
    nbcoll_comm *comm;
    nbcoll_messages_config config;
    size_t memory;
    nbcolli_correspondent *at; /* [size] */
    nbcolli_hello *hello;      /* [size], then this rank's own: the opening's */
    nbcoll_request opening;
    int is_ready;   /* the caller's side */
    int is_closing; /* nbcoll_messages_close makes its pass, whose callbacks cannot close them */
    int is_kept;    /* abandoned while it was being opened: its memory is lent */
    int *rank_of;  /* by endpoint, then address there: the rank in the communicator, or -1 */
    nbcolli_buckets posted; /* receives, by `queued`: by what they wait for, wildcards as such */
    size_t wild;          /* of them: with a wildcard */
    uint64_t posts;       /* of receives: the next one's number */
    uint32_t polls; /* waits that have polled, since a pass */
    size_t active;
    nbcolli_list in_turn; /* kept, of all */
    nbcolli_list probed;  /* kept, each with a handle */
    nbcolli_buckets keyed;  /* kept ones */
    uint64_t probes;      /* the last one's number */
    nbcolli_list moving;  /* transfers at which passes look */
    nbcolli_buckets numbered; /* transfers */
    nbcolli_kept *kept[2]; /* free: with a small and a large payload */
    nbcolli_transfer *transfers; /* free */
    const nbcolli_route_table *by; /* with routes: the agent's, which may have been closed */
    nbcolli_triple *triple; /* [config.routes], of which there are so many; and so many of these end */
    uint32_t triples, ending;
    int is_armed; /* the agent wakes this rank */
};

/* In a request: `send` is a send's buffer, or a receive's info; `recv` a receive's buffer; `tag` the message's, with
 * NBCOLL_FAILURE_MESSAGE; and of `executed` number is a receive's place in the order of posting, or the message's if it
 * goes to this rank itself, turn what it is, bytes its length as it travels, root its peer or NBCOLL_ANY_SOURCE, work
 * its transfer, room its type if that packs, else 0. */
typedef enum nbcolli_message_is { NBCOLLI_IS_SEND, NBCOLLI_IS_SSEND, NBCOLLI_IS_RECV } nbcolli_message_is;

#define NBCOLLI_ANNOUNCED_MOST 16384u /* of a configuration */
#define NBCOLLI_AHEAD_MOST 32768u     /* numbers */
#define NBCOLLI_TAG_ANY UINT32_MAX /* as a request has it */
#define NBCOLLI_LINE_IS_CREDIT (UINT64_C(1) << 31)
#define NBCOLLI_TAG_IS_CARRIED (UINT64_C(1) << 31) /* in the header of an announcement */
#define NBCOLLI_ROUTES_MOST 1024u

/* Of a receive, or of what it may get: exactly, or with wildcards. */
static inline uint64_t nbcolli_key_by_name(int source, uint32_t tag)
{
    return (uint64_t)(uint32_t)source << 32 | tag;
}

static inline int nbcolli_is_wild(int source, uint32_t tag)
{
    return source == NBCOLL_ANY_SOURCE || tag == NBCOLLI_TAG_ANY;
}

static inline nbcoll_messages *nbcolli_messages_of(nbcolli_executor *e)
{
    return (nbcoll_messages *)(void *)e;
}

static inline const nbcolli_peer *nbcolli_message_peer(const nbcoll_messages *m, int rank)
{
    return &m->comm->peer[rank];
}

/* Its end, of which that rank is the cause if it is no good one; or this one, if that has given it up. */
static inline void nbcolli_message_end(nbcoll_messages *m, nbcolli_request *r, nbcoll_status status, int rank)
{
    if (status != NBCOLL_OK && !r->detached)
        nbcolli_note_failure(m->comm, status, rank < 0 ? rank : nbcolli_who_is_lost(m->comm, rank), r->tag);
    m->active--;
    nbcolli_request_over(r, status);
}

/* ---- memory.c ---------------------------------------------------------------------------------------------------- */

/* A new one of so many bytes for the rank, of which nothing is under way, with memory of its own if it `packs`; null:
 * no memory. Back: inside. */
nbcolli_transfer *nbcolli_transfer_new(nbcoll_messages *m, nbcolli_request *r, int rank, size_t bytes, int packs);
/* One of its rank's sends or receives, and out of them. */
void nbcolli_transfer_join(nbcoll_messages *m, nbcolli_transfer *t, int receives);
void nbcolli_transfer_leave(nbcoll_messages *m, nbcolli_transfer *t);
void nbcolli_transfer_free(nbcoll_messages *m, nbcolli_transfer *t);
/* It goes on in a pass. */
void nbcolli_transfer_move(nbcoll_messages *m, nbcolli_transfer *t);
/* A copy of an arrival; null: no memory. */
nbcolli_kept *nbcolli_keep(nbcoll_messages *m, const nbcolli_arrival *l);
void nbcolli_kept_free(nbcoll_messages *m, nbcolli_kept *k);
/* Out of all that it is found by. */
void nbcolli_kept_leave(nbcoll_messages *m, nbcolli_kept *k);
/* All of them. */
void nbcolli_messages_clear(nbcoll_messages *m);

/* ---- wire.c ------------------------------------------------------------------------------------------------------ */

/* The header of a kind to the rank, with the credits that it is owed. */
nbcolli_header nbcolli_message_header(nbcoll_messages *m, int rank, nbcolli_message_kind kind, uint32_t number);
/* A header alone. `bytes` as its kind has it. */
void nbcolli_message_say(nbcoll_messages *m, int rank, nbcolli_message_kind kind, uint32_t number, uint64_t bytes);
/* The transfer's post goes, with this payload. */
void nbcolli_message_post(nbcolli_transfer *t, const nbcolli_peer *peer, const nbcolli_header *h, const void *payload,
                          size_t bytes);
/* A short message as a line. 0: it is to be an EXECUTED. */
int nbcolli_message_send_line(nbcoll_messages *m, int rank, int32_t tag, const void *payload, size_t bytes);
/* May one of so many bytes be a line, to a rank that is not gone? */
static inline int nbcolli_message_fits_line(const nbcoll_messages *m, int rank, size_t bytes)
{
    const nbcolli_correspondent *p = &m->at[rank];
    return bytes <= p->line_most && bytes <= p->eager && p->has_lines && p->credits > 0;
}
/* A short message from the rank has been matched: counts the credit that this rank owes. 1: so many are owed that this
 * rank returns them now. Else they travel with its next message to there. */
static inline int nbcolli_message_owes(nbcoll_messages *m, int rank)
{
    return ++m->at[rank].owed > m->config.credits / 2 || rank == m->comm->rank;
}
void nbcolli_message_return(nbcoll_messages *m, int rank);

/* ---- transfer.c -------------------------------------------------------------------------------------------------- */

/* A send that no line has taken begins. */
void nbcolli_transfer_send(nbcoll_messages *m, nbcolli_request *r);
/* A receive has been matched with an announced message, which fits. */
void nbcolli_transfer_receive(nbcoll_messages *m, nbcolli_request *r, const nbcolli_arrival *l);
/* The same with this rank's own send. */
void nbcolli_transfer_own(nbcoll_messages *m, nbcolli_request *r, nbcolli_request *self);
/* A receive of a type that packs has been matched with a short message. */
void nbcolli_transfer_short(nbcoll_messages *m, nbcolli_request *r, const nbcolli_arrival *l);
/* May its route still touch its memory? Once it does not it says whether the message went by it (routes.c). */
int nbcolli_transfer_is_carried(nbcoll_messages *m, nbcolli_transfer *t);
/* All of a receive has come. */
void nbcolli_transfer_whole(nbcoll_messages *m, nbcolli_transfer *t);
/* Its send is to be put there, or to go in parts; it ends so, when its post is free. */
void nbcolli_transfer_ask(nbcoll_messages *m, nbcolli_transfer *t, const void *theirs, size_t bytes);
void nbcolli_transfer_over(nbcoll_messages *m, nbcolli_transfer *t, nbcoll_status status);
/* One that is in no list of these; it enters it if it is to be looked at again. Has something moved? */
int nbcolli_transfer_go_on(nbcoll_messages *m, nbcolli_transfer *t);
/* All goes on. Has something moved? */
int nbcolli_transfers_go_on(nbcoll_messages *m);
/* What others, or a transport, may still touch of one is kept for good; the host's memory is named. */
void nbcolli_transfers_abandon(nbcoll_messages *m, nbcolli_lend *lend, void *loan);
/* The one of that number among a rank's sends or receives, or null. */
nbcolli_transfer *nbcolli_transfer_find(const nbcoll_messages *m, int rank, int receives, uint32_t number);

/* ---- match.c ----------------------------------------------------------------------------------------------------- */

/* What a receive, or a probe, is told. */
nbcoll_message_info nbcolli_arrival_info(const nbcolli_arrival *l);
/* A message has come; out of turn it is kept. 0: it may not have been sent. */
int nbcolli_arrival_in(nbcoll_messages *m, const nbcolli_arrival *l);
/* A short one, which is next, meets the first receive for just these, and fits it. 0: it is not as simple as that. */
int nbcolli_arrival_at_once(nbcoll_messages *m, int rank, uint32_t number, int32_t tag, const void *payload,
                            size_t bytes);
/* One of this rank's own. 0: there is no memory to keep it. */
int nbcolli_arrival_deliver(nbcoll_messages *m, const nbcolli_arrival *l);
/* Has the turn of that message not come yet? Then its rank is told AGAIN when it has. */
static inline int nbcolli_arrival_is_later(nbcoll_messages *m, int source, uint32_t number)
{
    nbcolli_correspondent *p = &m->at[source];

    if ((int32_t)(number - p->expected) < 0)
        return 0;
    if (!p->is_asked || (int32_t)(number - p->asked) > 0)
        p->asked = number;
    p->is_asked = 1;
    return 1;
}
/* The rank withdraws one. */
void nbcolli_arrival_withdraw(nbcoll_messages *m, int source, uint32_t number);
/* A receive is posted; and it waits no more. */
void nbcolli_receive_post(nbcoll_messages *m, nbcolli_request *r);
void nbcolli_receive_leave(nbcoll_messages *m, nbcolli_request *r);
/* The first receive that waits for just these, or null. */
static inline uint64_t nbcolli_receive_key(const nbcolli_request *r)
{
    return nbcolli_key_by_name(r->executed.root, (uint32_t)r->tag);
}
static inline nbcolli_request *nbcolli_receive_first(const nbcoll_messages *m, int source, uint32_t tag)
{
    uint64_t key = nbcolli_key_by_name(source, tag);
    const nbcolli_list_item *item = nbcolli_table_bucket(&m->posted, key)->first;

    while (item && nbcolli_receive_key(NBCOLLI_HOLDER(const nbcolli_request, queued, item)) != key)
        item = item->next;
    return NBCOLLI_HOLDER(nbcolli_request, queued, item);
}
/* The one that was posted first; null is later than all. */
static inline nbcolli_request *nbcolli_receive_before(nbcolli_request *a, nbcolli_request *b)
{
    return a && (!b || a->executed.number < b->executed.number) ? a : b;
}
/* The first receive with a wildcard that fits, or null. */
static inline nbcolli_request *nbcolli_receive_wild(const nbcoll_messages *m, int source, uint32_t tag)
{
    nbcolli_request *first = NULL;

    for (int i = 1; i < 4; i++)
        first = nbcolli_receive_before(first, nbcolli_receive_first(m, i & 1 ? NBCOLL_ANY_SOURCE : source,
                                                                    i & 2 ? NBCOLLI_TAG_ANY : tag));
    return first;
}
/* A short message has been matched with a receive that it fits, of a type that does not pack. */
void nbcolli_receive_short(nbcoll_messages *m, nbcolli_request *r, int source, int32_t tag, const void *payload,
                           size_t bytes);
uint64_t nbcolli_key_of_receive(const nbcolli_list_item *item);
/* The first kept message that fits a receive, or null. */
nbcolli_kept *nbcolli_kept_find(const nbcoll_messages *m, int source, uint32_t tag);
/* That of a message's number, early or in turn, or null. */
nbcolli_kept *nbcolli_kept_numbered(const nbcoll_messages *m, int is_early, int source, uint32_t number);
/* It is a probed one from now on. And that of a number, or null. */
void nbcolli_kept_probe(nbcoll_messages *m, nbcolli_kept *k);
nbcolli_kept *nbcolli_probed_find(const nbcoll_messages *m, uint64_t number);
/* A receive gets a kept message. */
void nbcolli_kept_receive(nbcoll_messages *m, nbcolli_request *r, nbcolli_kept *k);
/* Can nobody send what a receive from there waits for any more? */
int nbcolli_receive_is_deserted(const nbcoll_messages *m, int source);
/* Tells each rank whose announcement is kept here that no receive will take it. */
void nbcolli_kept_refuse(nbcoll_messages *m);

/* ---- events.c ---------------------------------------------------------------------------------------------------- */

extern const nbcolli_executor_table nbcolli_messages_do;

/* A receive is started, and gets a kept message. */
void nbcolli_message_receives(nbcoll_messages *m, nbcolli_request *r, nbcolli_kept *k);

/* Inside, in a context of one thread. A receive without a request: of the next message, if nothing else may meet that,
 * and it comes soon. 0: it has not. */
int nbcolli_arrival_take_soon(nbcoll_messages *m, int rank, uint32_t tag, void *to, size_t bytes);

/* ---- open.c ------------------------------------------------------------------------------------------------------ */

void nbcolli_messages_abandon(nbcolli_executor *e, nbcolli_lend *lend, void *loan);
/* With its context. */
void nbcolli_messages_free_with(nbcolli_executor *e);
/* Inside: may messages be sent, from now on? ERR_BUSY, ERR_CANCELLED. What it writes is progress's, and callers look at
 * `is_ready` on their side. */
nbcoll_status nbcolli_messages_get_ready(nbcoll_messages *m);

#endif
