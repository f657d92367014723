/* SPDX-License-Identifier: BSD-3-Clause
 * Bulk data of the transport over an MPI.
 *
 * A get asks the owner by a message (WANT) and posts receives of chunks into the caller's memory. The owner copies each
 * chunk into a buffer and sends that: no MPI sends a message back that it has begun to send, so the MPI never reads
 * memory which the core may take away. A chunk of memory that is no longer registered, or not for a rank that was given
 * up, has no bytes, and the get fails. The chunks of a get that was cancelled are received into buffers. */
#include <string.h>

#include "end.h"

static size_t nbcolli_mpi_chunks(uint64_t bytes)
{
    return (size_t)((bytes + NBCOLLI_MPI_CHUNK - 1) / NBCOLLI_MPI_CHUNK);
}

static int nbcolli_mpi_chunk(const unsigned char *from, const unsigned char *end)
{
    return end - from < NBCOLLI_MPI_CHUNK ? (int)(end - from) : NBCOLLI_MPI_CHUNK;
}

/* The tag of chunks from one rank to another: they may lie in the same processes as other two. */
static int nbcolli_mpi_tag(const nbcolli_mpi_end *e, int from, int to)
{
    int first = e->first_tag;

    return first + e->tags + (e->peer[to].tag - first) * e->tags + e->peer[from].tag - first;
}

static nbcoll_status nbcolli_mpi_register(nbcoll_endpoint *ep, int peer, void *memory, size_t bytes, uint32_t access,
                                          nbcoll_registration *out)
{
    nbcolli_mpi_end *e = nbcolli_mpi_end_of(ep);

    (void)peer;
    *out = (nbcoll_registration){0};
    if (!(access & NBCOLL_PEER_READS))
        return NBCOLL_OK;
    if (bytes < e->in_place)
        return NBCOLL_ERR_TRANSPORT; /* messages are faster */
    nbcolli_mpi_buffer *b = nbcolli_mpi_take(e, false);
    if (!b)
        return NBCOLL_ERR_MEMORY;
    b->arrival = (nbcoll_arrival){.payload = memory, .bytes = bytes};
    b->header.word[0] = ++e->number;
    b->next = e->registered;
    e->registered = b;
    out->key = (nbcoll_key){{e->number, bytes}};
    return NBCOLL_OK;
}

static void nbcolli_mpi_deregister(nbcoll_endpoint *ep, nbcoll_registration *registration)
{
    nbcolli_mpi_end *e = nbcolli_mpi_end_of(ep);
    nbcolli_mpi_buffer **at = &e->registered;

    while (*at && (*at)->header.word[0] != registration->key.word[0])
        at = &(*at)->next;
    if (!*at)
        return; /* it was this rank's own end */
    nbcolli_mpi_buffer *b = *at;
    *at = b->next;
    nbcolli_mpi_give_spare(e, b);
    for (int i = 0; i < e->base.ranks && e->gives; i++)
        if (e->peer[i].give.number == registration->key.word[0])
            e->peer[i].give.from = NULL; /* the get was cancelled */
}

void nbcolli_mpi_give_up(nbcoll_endpoint *ep, int peer)
{
    nbcolli_mpi_peer *p = &nbcolli_mpi_end_of(ep)->peer[peer];

    p->is_given_up = true;
    p->give.from = NULL;
}

void nbcolli_mpi_wanted(nbcolli_mpi_end *e, nbcolli_mpi_peer *p, const nbcoll_header *h)
{
    uint64_t number = h->word[0], offset = h->word[1], bytes = h->word[2];
    const nbcolli_mpi_buffer *r = e->registered;

    while (r && r->header.word[0] != number)
        r = r->next;
    p->give.number = number;
    p->give.chunks = nbcolli_mpi_chunks(bytes);
    p->give.from = p->give.end = NULL;
    if (r && !p->is_given_up && offset <= r->arrival.bytes && bytes <= r->arrival.bytes - offset) {
        p->give.from = (const unsigned char *)r->arrival.payload + offset;
        p->give.end = p->give.from + bytes;
    }
    e->gives += p->give.chunks != 0;
}

/* Sends one chunk. */
static bool nbcolli_mpi_give_one(nbcolli_mpi_end *e, int peer)
{
    nbcolli_mpi_peer *p = &e->peer[peer];
    nbcolli_mpi_give *g = &p->give;
    nbcolli_mpi_buffer *b = nbcolli_mpi_take_for(e, peer, true, NBCOLLI_MPI_GIVEN);
    int bytes = g->from ? nbcolli_mpi_chunk(g->from, g->end) : 0;

    if (!b)
        return false;
    if (bytes) {
        memcpy(b->payload, g->from, (size_t)bytes);
        g->from += bytes;
    }
    int error = PMPI_Isend(b->payload, bytes, MPI_BYTE, p->process, nbcolli_mpi_tag(e, e->base.rank, peer), e->comm,
                           &e->request[e->receives + e->sends]);
    g->under_way++;
    if (error == MPI_SUCCESS)
        e->buffer[e->receives + e->sends++] = b;
    else
        nbcolli_mpi_sent(e, b, error);
    e->gives -= --g->chunks == 0;
    return true;
}

/* Gives to all that want something, by turns, and not too much in one progress. True: there is more. */
bool nbcolli_mpi_give_all(nbcolli_mpi_end *e, int chunks)
{
    for (int k = 0, i = e->turn; k < e->base.ranks && e->gives; k++, i = (i + 1) % e->base.ranks) {
        nbcolli_mpi_peer *p = &e->peer[i];
        if (p->give.chunks && p->state != NBCOLLI_MPI_HERE) {
            p->give.chunks = 0;
            e->gives--;
        }
        for (; p->give.chunks && p->give.under_way < NBCOLLI_MPI_FLIGHT && chunks; chunks--)
            if (!nbcolli_mpi_give_one(e, i))
                return false;
        e->turn = i;
        if (!chunks)
            return e->gives;
    }
    return false;
}

/* Posts receives of chunks; those of a get that has been cancelled, and has come back, into buffers. */
static void nbcolli_mpi_expect(nbcolli_mpi_end *e, int peer)
{
    nbcolli_mpi_peer *p = &e->peer[peer];
    nbcolli_mpi_get *g = &p->get;
    bool drains = g->course != NBCOLLI_MPI_GOES_ON;

    while (g->chunks && g->posted < NBCOLLI_MPI_FLIGHT && !(drains && g->work)) {
        nbcolli_mpi_buffer *b = nbcolli_mpi_take_for(e, peer, drains, drains ? NBCOLLI_MPI_DRAINED : NBCOLLI_MPI_GOT);
        int bytes = drains ? NBCOLLI_MPI_CHUNK : nbcolli_mpi_chunk(g->to, g->end);
        if (!b)
            return; /* again, later */
        b->arrival.bytes = (size_t)bytes;
        if (PMPI_Irecv(drains ? b->payload : g->to, bytes, MPI_BYTE, p->process, nbcolli_mpi_tag(e, peer, e->base.rank),
                       e->comm, &e->request[e->receives + e->sends]) != MPI_SUCCESS) {
            nbcolli_mpi_give_spare(e, b);
            return;
        }
        e->buffer[e->receives + e->sends++] = b;
        g->to += drains ? 0 : bytes;
        g->chunks--;
        g->posted++;
    }
}

void nbcolli_mpi_got(nbcolli_mpi_end *e, nbcolli_mpi_buffer *b, const MPI_Status *status, int error)
{
    nbcolli_mpi_get *g = &e->peer[b->peer].get;
    int is_cancelled = 0, count = 0;

    PMPI_Test_cancelled(status, &is_cancelled);
    if (is_cancelled)
        g->chunks++; /* it will come all the same */
    else if (b->use == NBCOLLI_MPI_GOT &&
             (error != MPI_SUCCESS || PMPI_Get_count(status, MPI_BYTE, &count) != MPI_SUCCESS ||
              (size_t)count != b->arrival.bytes))
        g->is_short = true;
    g->posted--;
    nbcolli_mpi_give_spare(e, b);
}

/* Takes a get on: posts its receives, or takes them back, or returns its work request. */
static void nbcolli_mpi_go_on(nbcolli_mpi_end *e, int peer, nbcoll_completions *found)
{
    nbcolli_mpi_peer *p = &e->peer[peer];
    nbcolli_mpi_get *g = &p->get;
    bool is_gone = p->state == NBCOLLI_MPI_LEFT || p->state >= NBCOLLI_MPI_BROKEN;

    if (g->work && g->course == NBCOLLI_MPI_GOES_ON && is_gone)
        g->course = NBCOLLI_MPI_CANCEL;
    if (g->course == NBCOLLI_MPI_CANCEL) {
        g->course = NBCOLLI_MPI_CANCELLED;
        for (uint32_t i = e->receives; i < e->receives + e->sends; i++)
            if (e->buffer[i]->peer == peer && e->buffer[i]->use == NBCOLLI_MPI_GOT)
                PMPI_Cancel(&e->request[i]);
    }
    if (g->work && !g->posted && (!g->chunks || g->course != NBCOLLI_MPI_GOES_ON)) {
        nbcoll_status in_vain = is_gone ? NBCOLL_ERR_PEER_LOST : NBCOLL_ERR_CANCELLED;
        g->work->status = g->chunks ? in_vain : g->is_short ? NBCOLL_ERR_TRANSPORT : NBCOLL_OK;
        g->work->next = found->completed;
        found->completed = g->work;
        g->work = NULL;
    }
    nbcolli_mpi_expect(e, peer);
    e->gets -= !g->work && !g->posted && !g->chunks;
}

void nbcolli_mpi_get_all(nbcolli_mpi_end *e, nbcoll_completions *found)
{
    for (int i = 0; i < e->base.ranks && e->gets; i++) {
        const nbcolli_mpi_get *g = &e->peer[i].get;
        if (g->work || g->posted || g->chunks)
            nbcolli_mpi_go_on(e, i, found);
    }
}

static nbcoll_posted nbcolli_mpi_bulk_get(nbcoll_endpoint *ep, int peer, const nbcoll_key *key, size_t offset,
                                          const nbcoll_registration *local, void *to, size_t bytes, nbcoll_work *work)
{
    nbcolli_mpi_end *e = nbcolli_mpi_end_of(ep);
    nbcolli_mpi_peer *p = &e->peer[peer];
    nbcolli_mpi_get *g = &p->get;

    (void)local;
    if (p->state >= NBCOLLI_MPI_BROKEN)
        return NBCOLL_POST_LOST;
    if (!key->word[0] || offset > key->word[1] || bytes > key->word[1] - offset)
        return NBCOLL_POST_FAILED;
    if (!bytes)
        return NBCOLL_POST_DONE;
    if (!nbcolli_mpi_may_call(e) || p->state != NBCOLLI_MPI_HERE || g->work || g->posted || g->chunks)
        return NBCOLL_POST_NOT_NOW;
    nbcolli_mpi_buffer *b = nbcolli_mpi_take_for(e, peer, false, NBCOLLI_MPI_SENT);
    if (!b)
        return NBCOLL_POST_NOT_NOW;
    b->header = (nbcoll_header){{key->word[0], offset, bytes}};
    if (!nbcolli_mpi_send(e, peer, b, NBCOLLI_MPI_WANT, sizeof b->header))
        return NBCOLL_POST_FAILED;
    *g = (nbcolli_mpi_get){
        .work = work, .to = to, .end = (unsigned char *)to + bytes, .chunks = nbcolli_mpi_chunks(bytes)};
    e->gets++;
    nbcolli_mpi_expect(e, peer);
    return NBCOLL_POST_IN_FLIGHT;
}

void nbcolli_mpi_cancel(nbcoll_endpoint *ep, nbcoll_work *work)
{
    nbcolli_mpi_end *e = nbcolli_mpi_end_of(ep);

    for (int i = 0; i < ep->ranks; i++)
        if (e->peer[i].get.work == work && e->peer[i].get.course == NBCOLLI_MPI_GOES_ON)
            e->peer[i].get.course = NBCOLLI_MPI_CANCEL;
}

const nbcoll_bulk nbcolli_mpi_bulk = {.size = sizeof nbcolli_mpi_bulk,
                                             .flags = NBCOLL_BULK_ANY_LOCAL,
                                             .register_memory = nbcolli_mpi_register,
                                             .deregister_memory = nbcolli_mpi_deregister,
                                             .get = nbcolli_mpi_bulk_get};
