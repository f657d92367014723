/* SPDX-License-Identifier: BSD-3-Clause
 * The transport over an MPI. See nbcoll/mpi.h.
 *
 * A message is copied into a buffer, which the MPI sends; the buffer is used again when the MPI has sent it. Each says
 * how many messages of its receiver's its sender has taken, which gives credits back; where nothing is sent, a message
 * of the transport's own says it after half of the credits. The last message of a rank says how many there have been:
 * it may overtake some of them. All requests lie in one array, for MPI_Testsome. */
#include <errno.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "../../src/host/host.h"
#include "nbcoll/mpi.h"

enum {
    NBCOLLI_MPI_CREDITS = 64,
    NBCOLLI_MPI_RECEIVES = 64,
    NBCOLLI_MPI_PAYLOAD = 3840,
    NBCOLLI_MPI_SENDS = 32,  /* room for so many at first */
    NBCOLLI_MPI_LOOKS = 1000 /* at the receives of an end that closes; what has not ended then is lost */
};

typedef enum nbcolli_mpi_kind {
    NBCOLLI_MPI_MESSAGE, /* the core's; it takes a credit */
    NBCOLLI_MPI_TAKEN,   /* gives credits back */
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
    int peer; /* to which it is sent */
    nbcoll_arrival arrival;
    nbcolli_mpi_front front; /* from here on it is sent */
    nbcoll_header header;
    unsigned char payload[];
} nbcolli_mpi_buffer;

typedef struct nbcolli_mpi_peer {
    int process, tag;          /* where it is found in the communicator */
    uint32_t sent, sent_taken; /* messages to it; those of them that it has taken, as it has said */
    uint32_t taken, told;      /* messages of it; those of them of which it has been told */
    uint32_t all;              /* its messages, if it has said BYE */
    enum { NBCOLLI_MPI_HERE, NBCOLLI_MPI_LEAVING, NBCOLLI_MPI_LEFT, NBCOLLI_MPI_BROKEN, NBCOLLI_MPI_LOST } state;
    int error; /* BROKEN, LOST: of the MPI; a send has failed. BROKEN and LEAVING are to be reported */
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
    uint32_t credits;
    uint32_t receives, sends, room; /* requests: receives stand first, then sends under way; room for all */
    MPI_Request *request;
    nbcolli_mpi_buffer **buffer; /* of each request */
    int *done;                   /* indices of requests, and ... */
    MPI_Status *status;          /* ... how they ended */
    nbcolli_mpi_buffer *spare;   /* for sending */
    nbcolli_mpi_front *bye;      /* to each rank */
    nbcolli_mpi_peer peer[];
} nbcolli_mpi_end;

enum {
    NBCOLLI_MPI_FRONT = sizeof(nbcolli_mpi_front) + sizeof(nbcoll_header),
    NBCOLLI_MPI_REQUEST = sizeof(MPI_Request) + sizeof(nbcolli_mpi_buffer *) + sizeof(int) + sizeof(MPI_Status)
};

static nbcolli_mpi_end *nbcolli_mpi_end_of(nbcoll_endpoint *ep)
{
    return (nbcolli_mpi_end *)(void *)ep;
}

/* May this thread call the MPI? */
static bool nbcolli_mpi_may_call(const nbcolli_mpi_end *e)
{
    return e->any_thread || e->opener == &errno;
}

static size_t nbcolli_mpi_buffer_bytes(const nbcolli_mpi_end *e)
{
    return sizeof(nbcolli_mpi_buffer) + e->base.limits.payload;
}

/* ---- sending ----------------------------------------------------------------------------------------------------- */

/* Makes room for more sends under way. */
static bool nbcolli_mpi_grow(nbcolli_mpi_end *e)
{
    uint32_t room = e->room ? 2 * e->room : e->receives + NBCOLLI_MPI_SENDS, used = e->receives + e->sends;
    nbcolli_mpi_buffer **buffer = nbcolli_alloc(&e->host, (size_t)room * NBCOLLI_MPI_REQUEST, 64);

    if (!buffer)
        return false;
    /* in the order of their alignment: in an MPI a request's, and then a status's, are those of pointers, or of int */
    MPI_Request *request = (MPI_Request *)(void *)(buffer + room);
    MPI_Status *status = (MPI_Status *)(void *)(request + room);
    if (e->room) {
        memcpy(buffer, e->buffer, used * sizeof *buffer);
        memcpy(request, e->request, used * sizeof *request);
        nbcolli_free(&e->host, e->buffer, (size_t)e->room * NBCOLLI_MPI_REQUEST);
    }
    e->status = status;
    e->buffer = buffer;
    e->request = request;
    e->done = (int *)(void *)(status + room);
    e->room = room;
    return true;
}

static nbcolli_mpi_buffer *nbcolli_mpi_take_spare(nbcolli_mpi_end *e)
{
    nbcolli_mpi_buffer *b = e->spare;

    if (e->receives + e->sends == e->room && !nbcolli_mpi_grow(e))
        return NULL;
    if (!b)
        return nbcolli_alloc(&e->host, nbcolli_mpi_buffer_bytes(e), 64);
    e->spare = b->next;
    return b;
}

static void nbcolli_mpi_give_spare(nbcolli_mpi_end *e, nbcolli_mpi_buffer *b)
{
    b->next = e->spare;
    e->spare = b;
}

/* Sends a buffer with `bytes` bytes behind its front, and takes it. False: the MPI refused. */
static bool nbcolli_mpi_send(nbcolli_mpi_end *e, int peer, nbcolli_mpi_buffer *b, nbcolli_mpi_kind kind, size_t bytes)
{
    nbcolli_mpi_peer *p = &e->peer[peer];
    MPI_Request *request = &e->request[e->receives + e->sends];
    int is_sent = 0;

    b->peer = peer;
    b->front = (nbcolli_mpi_front){.source = (uint32_t)e->base.rank, .kind = (uint32_t)kind, .taken = p->taken};
    p->error = PMPI_Isend(&b->front, (int)(sizeof b->front + bytes), MPI_BYTE, p->process, p->tag, e->comm, request);
    if (p->error == MPI_SUCCESS) {
        p->told = p->taken;
        p->error = PMPI_Test(request, &is_sent, MPI_STATUS_IGNORE);
    }
    if (p->error != MPI_SUCCESS || is_sent)
        nbcolli_mpi_give_spare(e, b);
    else
        e->buffer[e->receives + e->sends++] = b;
    return p->error == MPI_SUCCESS;
}

static nbcoll_posted nbcolli_mpi_post(nbcoll_endpoint *ep, int peer, const nbcoll_header *header, const void *payload,
                                      size_t bytes, nbcoll_work *work)
{
    nbcolli_mpi_end *e = nbcolli_mpi_end_of(ep);
    nbcolli_mpi_peer *p = &e->peer[peer];

    (void)work; /* never in flight */
    if (p->state != NBCOLLI_MPI_HERE)
        return p->state >= NBCOLLI_MPI_BROKEN ? NBCOLL_POST_LOST : NBCOLL_POST_DONE;
    if (!nbcolli_mpi_may_call(e) || p->sent - p->sent_taken >= e->credits)
        return NBCOLL_POST_NOT_NOW;
    nbcolli_mpi_buffer *b = nbcolli_mpi_take_spare(e);
    if (!b)
        return NBCOLL_POST_NOT_NOW;
    b->header = *header;
    if (bytes)
        memcpy(b->payload, payload, bytes);
    if (!nbcolli_mpi_send(e, peer, b, NBCOLLI_MPI_MESSAGE, sizeof *header + bytes))
        return NBCOLL_POST_FAILED;
    p->sent++;
    return NBCOLL_POST_DONE;
}

static bool nbcolli_mpi_is_owed(const nbcolli_mpi_end *e, const nbcolli_mpi_peer *p)
{
    return p->state == NBCOLLI_MPI_HERE && 2 * (p->taken - p->told) >= e->credits;
}

/* Gives credits back to those who have sent half of them. */
static void nbcolli_mpi_tell(nbcolli_mpi_end *e)
{
    e->owes = false;
    for (int i = 0; i < e->base.ranks; i++) {
        if (!nbcolli_mpi_is_owed(e, &e->peer[i]))
            continue;
        nbcolli_mpi_buffer *b = nbcolli_mpi_take_spare(e);
        if (!b || !nbcolli_mpi_send(e, i, b, NBCOLLI_MPI_TAKEN, 0))
            e->owes = true;
    }
}

static void nbcolli_mpi_cancel(nbcoll_endpoint *ep, nbcoll_work *work)
{
    (void)ep, (void)work; /* never in flight */
}

/* ---- receiving --------------------------------------------------------------------------------------------------- */

/* Posts the receives whose messages have been handled. */
static void nbcolli_mpi_receive(nbcolli_mpi_end *e)
{
    const nbcolli_mpi_peer *own = &e->peer[e->base.rank];
    int bytes = (int)(NBCOLLI_MPI_FRONT + e->base.limits.payload);

    for (uint32_t i = 0; i < e->receives; i++)
        if (e->request[i] == MPI_REQUEST_NULL && PMPI_Irecv(&e->buffer[i]->front, bytes, MPI_BYTE, MPI_ANY_SOURCE,
                                                            own->tag, e->comm, &e->request[i]) != MPI_SUCCESS)
            e->request[i] = MPI_REQUEST_NULL; /* again, later */
}

/* What a receive has brought. */
static void nbcolli_mpi_arrive(nbcolli_mpi_end *e, nbcolli_mpi_buffer *b, size_t bytes, nbcoll_arrival ***last)
{
    if (bytes < sizeof b->front || b->front.source >= (uint32_t)e->base.ranks)
        return; /* somebody else's */
    nbcolli_mpi_peer *p = &e->peer[b->front.source];
    if ((int32_t)(b->front.taken - p->sent_taken) > 0) /* an older message may be looked at later */
        p->sent_taken = b->front.taken;
    if (b->front.kind == NBCOLLI_MPI_BYE && p->state == NBCOLLI_MPI_HERE) {
        p->state = NBCOLLI_MPI_LEAVING;
        p->all = b->front.sent;
        e->ends++;
    }
    if (b->front.kind != NBCOLLI_MPI_MESSAGE || bytes < NBCOLLI_MPI_FRONT)
        return;
    p->taken++;
    e->owes |= nbcolli_mpi_is_owed(e, p);
    b->arrival = (nbcoll_arrival){
        .source = (int)b->front.source, .header = b->header, .payload = b->payload, .bytes = bytes - NBCOLLI_MPI_FRONT};
    **last = &b->arrival;
    *last = &b->arrival.next;
}

/* A send has ended. */
static void nbcolli_mpi_sent(nbcolli_mpi_end *e, nbcolli_mpi_buffer *b, int error)
{
    nbcolli_mpi_peer *p = &e->peer[b->peer];

    nbcolli_mpi_give_spare(e, b);
    if (error == MPI_SUCCESS || p->state != NBCOLLI_MPI_HERE)
        return;
    p->error = error;
    p->state = NBCOLLI_MPI_BROKEN;
    e->ends++;
}

/* Keeps the sends that have not ended together. */
static void nbcolli_mpi_close_ranks(nbcolli_mpi_end *e)
{
    uint32_t all = e->receives + e->sends, kept = e->receives;

    for (uint32_t i = kept; i < all; i++)
        if (e->request[i] != MPI_REQUEST_NULL) {
            e->request[kept] = e->request[i];
            e->buffer[kept++] = e->buffer[i];
        }
    e->sends = kept - e->receives;
}

static void nbcolli_mpi_report_ends(nbcolli_mpi_end *e, nbcoll_completions *found)
{
    for (int i = 0; i < e->base.ranks && e->ends; i++) {
        nbcolli_mpi_peer *p = &e->peer[i];
        int *report = p->state == NBCOLLI_MPI_BROKEN ? &found->lost : &found->departed;
        bool is_due = p->state == NBCOLLI_MPI_BROKEN || (p->state == NBCOLLI_MPI_LEAVING && p->taken == p->all);
        if (!is_due || *report >= 0)
            continue;
        *report = i;
        p->state = p->state == NBCOLLI_MPI_BROKEN ? NBCOLLI_MPI_LOST : NBCOLLI_MPI_LEFT;
        e->ends--;
    }
}

static void nbcolli_mpi_progress(nbcoll_endpoint *ep, nbcoll_completions *found)
{
    nbcolli_mpi_end *e = nbcolli_mpi_end_of(ep);
    nbcoll_arrival **last = &found->arrived;
    int n = 0, count;

    ep->busy = ep->patient = 0;
    if (!nbcolli_mpi_may_call(e))
        return;
    nbcolli_mpi_receive(e);
    int said = PMPI_Testsome((int)(e->receives + e->sends), e->request, &n, e->done, e->status);
    if ((said != MPI_SUCCESS && said != MPI_ERR_IN_STATUS) || n == MPI_UNDEFINED)
        n = 0;
    for (int i = 0; i < n; i++) {
        nbcolli_mpi_buffer *b = e->buffer[e->done[i]];
        int error = said == MPI_SUCCESS ? MPI_SUCCESS : e->status[i].MPI_ERROR;
        if (e->done[i] >= (int)e->receives)
            nbcolli_mpi_sent(e, b, error);
        else if (error == MPI_SUCCESS && PMPI_Get_count(&e->status[i], MPI_BYTE, &count) == MPI_SUCCESS)
            nbcolli_mpi_arrive(e, b, (size_t)count, &last);
    }
    if (n)
        nbcolli_mpi_close_ranks(e);
    if (e->owes)
        nbcolli_mpi_tell(e);
    if (e->ends)
        nbcolli_mpi_report_ends(e, found);
    ep->busy = n != 0;
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

/* Has this request ended? Else it is left to the MPI, which still uses its buffer, now or later. MPI_Request_free would
 * leave it, too, but MPICH 4.0 then delivers no message of a process to itself. */
static bool nbcolli_mpi_has_ended(MPI_Request *request)
{
    int has_ended = 0;

    return *request == MPI_REQUEST_NULL ||
           (PMPI_Test(request, &has_ended, MPI_STATUS_IGNORE) == MPI_SUCCESS && has_ended);
}

/* Tells a rank that this one leaves. False: the MPI still reads e->bye. */
static bool nbcolli_mpi_say_bye(nbcolli_mpi_end *e, int rank)
{
    const nbcolli_mpi_peer *p = &e->peer[rank];
    MPI_Request request;

    return p->state != NBCOLLI_MPI_HERE ||
           PMPI_Isend(&e->bye[rank], sizeof *e->bye, MPI_BYTE, p->process, p->tag, e->comm, &request) != MPI_SUCCESS ||
           nbcolli_mpi_has_ended(&request);
}

/* Ends a receive that has not ended. Open MPI's cancel would not do: while another thread of the process is in that
 * MPI, version 4.1 may complete a receive into which this thread copies a message just then. The copy comes into memory
 * that is freed, or into another endpoint's buffer. There a message from this rank to itself ends it; under MPICH 4.0
 * that would leave requests to UCX, which says so. False: the MPI still reads e->bye. */
static bool nbcolli_mpi_end_receive(nbcolli_mpi_end *e, MPI_Request *request)
{
#ifdef OPEN_MPI
    (void)request;
    return nbcolli_mpi_say_bye(e, e->base.rank);
#else
    (void)e;
    PMPI_Cancel(request);
    return true;
#endif
}

/* Tells all others that this rank leaves, and ends its receives. False: as above. */
static bool nbcolli_mpi_leave(nbcolli_mpi_end *e)
{
    bool is_said = true, have_ended = false;

    for (int i = 0; i < e->base.ranks; i++)
        e->bye[i] = (nbcolli_mpi_front){(uint32_t)e->base.rank, NBCOLLI_MPI_BYE, e->peer[i].taken, e->peer[i].sent};
    for (int i = 0; i < e->base.ranks; i++)
        is_said &= i == e->base.rank || nbcolli_mpi_say_bye(e, i);
    for (uint32_t i = 0; i < e->receives; i++)
        is_said &= nbcolli_mpi_has_ended(&e->request[i]) || nbcolli_mpi_end_receive(e, &e->request[i]);
    for (int look = 0; look < NBCOLLI_MPI_LOOKS && !have_ended; look++) {
        have_ended = true;
        for (uint32_t i = 0; i < e->receives; i++)
            have_ended &= nbcolli_mpi_has_ended(&e->request[i]);
    }
    return is_said;
}

static void nbcolli_mpi_free(nbcolli_mpi_end *e)
{
    nbcoll_host host = e->host;

    NBCOLLI_FREE_ALL(&host, e->spare, nbcolli_mpi_buffer_bytes(e));
    nbcolli_free(&host, e->buffer, (size_t)e->room * NBCOLLI_MPI_REQUEST);
    nbcolli_free(&host, e->bye, (size_t)e->base.ranks * sizeof *e->bye);
    nbcolli_free(&host, e, e->bytes);
}

static void nbcolli_mpi_close(nbcoll_endpoint *ep)
{
    nbcolli_mpi_end *e = nbcolli_mpi_end_of(ep);
    int is_finalized = 0;

    PMPI_Finalized(&is_finalized);
    if (is_finalized || !nbcolli_mpi_may_call(e))
        return;
    if (!nbcolli_mpi_leave(e))
        e->bye = NULL;
    for (uint32_t i = 0; i < e->receives + e->sends; i++)
        if (nbcolli_mpi_has_ended(&e->request[i]))
            nbcolli_mpi_give_spare(e, e->buffer[i]);
    nbcolli_mpi_free(e);
}

static void nbcolli_mpi_reason(nbcoll_endpoint *ep, int peer, nbcoll_transport_error *out)
{
    out->code = nbcolli_mpi_end_of(ep)->peer[peer].error;
    out->text = "a send of the MPI failed; the code is the MPI's";
}

static const nbcoll_transport nbcolli_mpi_table = {.abi = NBCOLL_ABI,
                                                   .size = sizeof nbcolli_mpi_table,
                                                   .name = "mpi",
                                                   .post = nbcolli_mpi_post,
                                                   .progress = nbcolli_mpi_progress,
                                                   .cancel = nbcolli_mpi_cancel,
                                                   .close = nbcolli_mpi_close,
                                                   .reason = nbcolli_mpi_reason};

/* ---- opening ----------------------------------------------------------------------------------------------------- */

/* What the configuration says, with the defaults. */
typedef struct nbcolli_mpi_wish {
    nbcoll_mpi_config config;
    MPI_Comm comm;
    int processes;
} nbcolli_mpi_wish;

static bool nbcolli_mpi_is_between(uint32_t value, uint32_t least, uint32_t most)
{
    return value >= least && value <= most;
}

static nbcoll_status nbcolli_mpi_read(const nbcoll_mpi_config *from, nbcolli_mpi_wish *w)
{
    nbcoll_mpi_config *c = &w->config;

    if (from->size != sizeof *from)
        return NBCOLL_ERR_CONFIG;
    *c = *from;
    if (!c->comm)
        return NBCOLL_ERR_NULL;
    w->comm = *(const MPI_Comm *)c->comm;
    if (PMPI_Comm_size(w->comm, &w->processes) != MPI_SUCCESS ||
        (!c->process && PMPI_Comm_rank(w->comm, &c->rank) != MPI_SUCCESS))
        return NBCOLL_ERR_TRANSPORT;
    c->ranks = c->process ? c->ranks : w->processes;
    c->credits = c->credits ? c->credits : NBCOLLI_MPI_CREDITS;
    c->receives = c->receives ? c->receives : NBCOLLI_MPI_RECEIVES;
    c->payload = c->payload ? c->payload : NBCOLLI_MPI_PAYLOAD;
    if (!c->price.beta_ps)
        c->price = (nbcoll_level){.alpha_ns = 2000, .overhead_ns = 300, .beta_ps = 200};
    if (!nbcolli_mpi_is_between(c->credits, 2, 1024) || !nbcolli_mpi_is_between(c->receives, 1, 1024) ||
        !nbcolli_mpi_is_between(c->payload, 256, 65536) || c->payload % 8 || c->first_tag < 0)
        return NBCOLL_ERR_CONFIG;
    return c->rank < 0 || c->rank >= c->ranks ? NBCOLL_ERR_RANK : NBCOLL_OK;
}

/* Where each rank is found: its tag is the first one and its number in its process. */
static nbcoll_status nbcolli_mpi_place(nbcolli_mpi_end *e, const nbcolli_mpi_wish *w)
{
    int *most = NULL, is_there = 0, tag = 0;

    for (int i = 0; i < e->base.ranks; i++) {
        int process = w->config.process ? w->config.process[i] : i, number = 0;
        if (process < 0 || process >= w->processes)
            return NBCOLL_ERR_RANK;
        for (int k = i - 1; w->config.process && k >= 0 && !number; k--)
            if (w->config.process[k] == process)
                number = e->peer[k].tag - w->config.first_tag + 1;
        e->peer[i] = (nbcolli_mpi_peer){.process = process, .tag = w->config.first_tag + number};
        tag = e->peer[i].tag > tag ? e->peer[i].tag : tag;
    }
    if (PMPI_Comm_get_attr(e->comm, MPI_TAG_UB, &most, &is_there) != MPI_SUCCESS)
        return NBCOLL_ERR_TRANSPORT;
    return is_there && tag > *most ? NBCOLL_ERR_CONFIG : NBCOLL_OK;
}

static nbcoll_status nbcolli_mpi_equip(nbcolli_mpi_end *e)
{
    uint32_t receives = e->receives;

    e->receives = 0; /* until they are there */
    e->bye = nbcolli_alloc(&e->host, (size_t)e->base.ranks * sizeof *e->bye, 64);
    if (!e->bye)
        return NBCOLL_ERR_MEMORY;
    for (uint32_t i = 0; i < receives; i++) {
        nbcolli_mpi_buffer *b = nbcolli_alloc(&e->host, nbcolli_mpi_buffer_bytes(e), 64);
        if (!b)
            return NBCOLL_ERR_MEMORY;
        nbcolli_mpi_give_spare(e, b);
    }
    e->receives = receives;
    if (!nbcolli_mpi_grow(e))
        return NBCOLL_ERR_MEMORY;
    for (uint32_t i = 0; i < receives; i++) {
        e->request[i] = MPI_REQUEST_NULL;
        e->buffer[i] = e->spare;
        e->spare = e->spare->next;
    }
    nbcolli_mpi_receive(e);
    return NBCOLL_OK;
}

nbcoll_status nbcoll_mpi_open(const nbcoll_mpi_config *config, nbcoll_endpoint **out)
{
    nbcolli_mpi_wish w;
    int level = MPI_THREAD_SINGLE;

    if (!config || !out)
        return NBCOLL_ERR_NULL;
    nbcoll_status status = nbcolli_mpi_read(config, &w);
    if (status != NBCOLL_OK)
        return status;
    size_t bytes = sizeof(nbcolli_mpi_end) + (size_t)w.config.ranks * sizeof(nbcolli_mpi_peer);
    nbcolli_mpi_end *e = nbcolli_alloc(&w.config.host, bytes, 64);
    if (!e)
        return NBCOLL_ERR_MEMORY;
    memset(e, 0, bytes);
    PMPI_Query_thread(&level);
    *e = (nbcolli_mpi_end){
        .base = {.transport = &nbcolli_mpi_table,
                 .rank = w.config.rank,
                 .ranks = w.config.ranks,
                 .limits = {.size = sizeof(nbcoll_limits), .payload = w.config.payload, .price = w.config.price}},
        .host = w.config.host,
        .bytes = bytes,
        .comm = w.comm,
        .opener = &errno,
        .any_thread = level == MPI_THREAD_MULTIPLE,
        .credits = w.config.credits,
        .receives = w.config.receives};
    status = nbcolli_mpi_place(e, &w);
    if (status == NBCOLL_OK)
        status = nbcolli_mpi_equip(e);
    if (status == NBCOLL_OK)
        *out = &e->base;
    else
        nbcolli_mpi_free(e);
    return status;
}
