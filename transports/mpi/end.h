/* SPDX-License-Identifier: BSD-3-Clause
 * What the two files of the transport over an MPI share: mpi.c, which has its messages, and bulk.c. */
#ifndef NBCOLLI_MPI_END_H
#define NBCOLLI_MPI_END_H

#include <errno.h>
#include <mpi.h>
#include <stdbool.h>

#include "../../src/host/host.h"
#include "nbcoll/mpi.h"

enum {
    NBCOLLI_MPI_CREDITS = 64,
    NBCOLLI_MPI_RECEIVES = 64,
    NBCOLLI_MPI_PAYLOAD = 3840,
    NBCOLLI_MPI_IN_PLACE = 262144,
    NBCOLLI_MPI_SENDS = 32, /* room for so many at first */
    NBCOLLI_MPI_CHUNK = 65536,
    NBCOLLI_MPI_FLIGHT = 4 /* chunks of a get under way */
};

typedef enum nbcolli_mpi_kind {
    NBCOLLI_MPI_MESSAGE, /* the core's; it takes a credit */
    NBCOLLI_MPI_TAKEN,   /* gives credits back */
    NBCOLLI_MPI_WANT,    /* the sender gets: its header has the registration's number, the offset and the bytes */
    NBCOLLI_MPI_BYE      /* the sender's last one */
} nbcolli_mpi_kind;

/* In front of what the core posts. The counts go round. */
typedef struct nbcolli_mpi_front {
    uint32_t source, kind;
    uint32_t taken; /* messages of the receiver's that the sender has taken */
    uint32_t sent;  /* BYE: messages that the sender has sent to the receiver */
} nbcolli_mpi_front;

/* What the MPI sends from, or receives into. */
typedef struct nbcolli_mpi_buffer {
    struct nbcolli_mpi_buffer *next;
    int peer;      /* the other end */
    bool is_large; /* has room for a chunk, not for a message */
    enum { NBCOLLI_MPI_SENT, NBCOLLI_MPI_GIVEN, NBCOLLI_MPI_GOT, NBCOLLI_MPI_DRAINED } use; /* of the request */
    nbcoll_arrival arrival;  /* of GOT: how many bytes; of a registration: what, and its number is header.word[0] */
    nbcolli_mpi_front front; /* from here on it is sent */
    nbcoll_header header;
    unsigned char payload[];
} nbcolli_mpi_buffer;

/* What this rank gets of a peer: one get at a time. */
typedef struct nbcolli_mpi_get {
    nbcoll_work *work;       /* null: none is in flight, but chunks of a cancelled one may be */
    unsigned char *to, *end; /* where no receive has been posted yet */
    size_t chunks;           /* for which no receive is posted */
    uint32_t posted;
    bool is_short; /* the owner has refused a chunk */
    enum { NBCOLLI_MPI_GOES_ON, NBCOLLI_MPI_CANCEL, NBCOLLI_MPI_CANCELLED } course;
} nbcolli_mpi_get;

/* What a peer gets of this rank. */
typedef struct nbcolli_mpi_give {
    uint64_t number;                 /* of the registration */
    const unsigned char *from, *end; /* from null: it is refused */
    size_t chunks;                   /* to be sent */
    uint32_t under_way;
} nbcolli_mpi_give;

typedef struct nbcolli_mpi_peer {
    int process, tag;          /* where it is found in the communicator */
    uint32_t sent, sent_taken; /* messages to it; those of them that it has taken, as it has said */
    uint32_t taken, told;      /* messages of it; those of them of which it has been told */
    uint32_t all;              /* its messages, if it has said BYE */
    enum { NBCOLLI_MPI_HERE, NBCOLLI_MPI_LEAVING, NBCOLLI_MPI_LEFT, NBCOLLI_MPI_BROKEN, NBCOLLI_MPI_LOST } state;
    int error; /* BROKEN, LOST: of the MPI; a send has failed. BROKEN and LEAVING are to be reported */
    bool is_given_up;
    nbcolli_mpi_get get;
    nbcolli_mpi_give give;
} nbcolli_mpi_peer;

typedef struct nbcolli_mpi_end {
    nbcoll_endpoint base; /* first */
    nbcoll_host host;
    size_t bytes; /* of this */
    MPI_Comm comm;
    const int *opener; /* of which thread: errno lies elsewhere in each */
    bool any_thread;
    bool owes;     /* some peer has not been told of what it should */
    uint32_t ends; /* peers that are LEAVING or BROKEN */
    uint32_t credits, in_place;
    uint32_t receives, sends, room; /* requests: receives stand first, then sends under way; room for all */
    MPI_Request *request;
    nbcolli_mpi_buffer **buffer;  /* of each request */
    int *done;                    /* indices of requests, and ... */
    MPI_Status *status;           /* ... how they ended */
    nbcolli_mpi_buffer *spare[2]; /* for messages; for chunks */
    nbcolli_mpi_buffer *registered;
    uint64_t number;        /* of the last registration */
    uint32_t gets, gives;   /* peers of which this rank gets, or drains, and to which it gives */
    int turn;               /* who is given first */
    int first_tag, tags;    /* tags: ranks that a process has at most */
    nbcolli_mpi_front *bye; /* to each rank */
    nbcolli_mpi_peer peer[];
} nbcolli_mpi_end;

enum {
    NBCOLLI_MPI_FRONT = sizeof(nbcolli_mpi_front) + sizeof(nbcoll_header),
    NBCOLLI_MPI_REQUEST = sizeof(MPI_Request) + sizeof(nbcolli_mpi_buffer *) + sizeof(int) + sizeof(MPI_Status)
};

static inline nbcolli_mpi_end *nbcolli_mpi_end_of(nbcoll_endpoint *ep)
{
    return (nbcolli_mpi_end *)(void *)ep;
}

/* May this thread call the MPI? */
static inline bool nbcolli_mpi_may_call(const nbcolli_mpi_end *e)
{
    return e->any_thread || e->opener == &errno;
}

static inline size_t nbcolli_mpi_buffer_bytes(const nbcolli_mpi_end *e, bool is_large)
{
    return sizeof(nbcolli_mpi_buffer) + (is_large ? NBCOLLI_MPI_CHUNK : e->base.limits.payload);
}

/* ---- mpi.c ------------------------------------------------------------------------------------------------------- */

/* A buffer; `for`: with room for a request. Null: no memory. */
nbcolli_mpi_buffer *nbcolli_mpi_take(nbcolli_mpi_end *e, bool is_large);
nbcolli_mpi_buffer *nbcolli_mpi_take_for(nbcolli_mpi_end *e, int peer, bool is_large, int use);
void nbcolli_mpi_give_spare(nbcolli_mpi_end *e, nbcolli_mpi_buffer *b);

/* Sends a buffer with `bytes` bytes behind its front, and takes it. False: the MPI refused. */
bool nbcolli_mpi_send(nbcolli_mpi_end *e, int peer, nbcolli_mpi_buffer *b, nbcolli_mpi_kind kind, size_t bytes);

/* A send has ended. */
void nbcolli_mpi_sent(nbcolli_mpi_end *e, nbcolli_mpi_buffer *b, int error);

/* ---- bulk.c ------------------------------------------------------------------------------------------------------ */

extern const nbcoll_bulk nbcolli_mpi_bulk;

void nbcolli_mpi_give_up(nbcoll_endpoint *ep, int peer);
void nbcolli_mpi_cancel(nbcoll_endpoint *ep, nbcoll_work *work);

/* A peer wants what was registered. Its last get has ended. */
void nbcolli_mpi_wanted(nbcolli_mpi_end *e, nbcolli_mpi_peer *p, const nbcoll_header *h);

/* Gives to all that want something, by turns, at most so many chunks. True: there is more. */
bool nbcolli_mpi_give_all(nbcolli_mpi_end *e, int chunks);

/* A receive of a chunk has ended. */
void nbcolli_mpi_got(nbcolli_mpi_end *e, nbcolli_mpi_buffer *b, const MPI_Status *status, int error);

/* Takes all gets on. */
void nbcolli_mpi_get_all(nbcolli_mpi_end *e, nbcoll_completions *found);

#endif
