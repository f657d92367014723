/* SPDX-License-Identifier: BSD-3-Clause
 * A guest's side of an exchange by TCP: tries all addresses at once until one of them leads to the host. See tcp.h. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "tcp.h"

#define NBCOLLI_TCP_REFUSALS 5     /* of all addresses, one after the other: then nobody listens there any more */
#define NBCOLLI_TCP_REFUSED_MS 200 /* from one to the next */
#define NBCOLLI_TCP_UNANSWERED_MS                                                                                      \
    2000                          /* until an address is tried again, perhaps from another one of this machine: its    \
                                     own IPv6 address may have been tentative before */
#define NBCOLLI_TCP_DROPPED_MS 10 /* until one that has let us in, and sent us away without a word, is tried again */

typedef enum nbcolli_tcp_progress {
    NBCOLLI_TCP_CONNECTS,
    NBCOLLI_TCP_HEARS, /* the host's hello */
    NBCOLLI_TCP_ASKS,  /* for the host's proof */
    NBCOLLI_TCP_SURE
} nbcolli_tcp_progress;

typedef struct nbcolli_tcp_door {
    int fd; /* -1: closed */
    nbcolli_tcp_progress progress;
    bool was_refused, was_dropped;
    uint64_t since;
    nbcolli_tcp_hello hello;
    nbcolli_tcp_reply reply;
    uint64_t proof;
    size_t done;
} nbcolli_tcp_door;

typedef struct nbcolli_tcp_way {
    nbcoll_tcp *t;
    size_t bytes;
    uint64_t until;
    int refusals;
    nbcolli_tcp_door door[NBCOLLI_TCP_ADDRESSES]; /* for each address */
} nbcolli_tcp_way;

static void nbcolli_tcp_shut(nbcolli_tcp_door *d)
{
    if (d->fd >= 0)
        close(d->fd);
    d->fd = -1;
}

/* ---- finding the host -------------------------------------------------------------------------------------------- */

static void nbcolli_tcp_knock(const nbcolli_tcp_way *w, const nbcolli_tcp_address *address, nbcolli_tcp_door *d)
{
    *d = (nbcolli_tcp_door){.fd = socket(address->at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0),
                            .since = nbcolli_now(&w->t->host)};
    nbcolli_tcp_watch(d->fd);
    if (d->fd < 0 || connect(d->fd, (const struct sockaddr *)&address->at, address->bytes) == 0 || errno == EINPROGRESS)
        return;
    d->was_refused = errno == ECONNREFUSED;
    nbcolli_tcp_shut(d);
}

/* The hello has come: replies. */
static bool nbcolli_tcp_answer(const nbcolli_tcp_way *w, nbcolli_tcp_door *d)
{
    size_t done = 0;

    d->reply = (nbcolli_tcp_reply){.magic = NBCOLLI_TCP_MAGIC,
                                   .round = w->t->round,
                                   .bytes = w->bytes,
                                   .rank = (uint32_t)w->t->rank,
                                   .ranks = (uint32_t)w->t->ranks};
    if (d->hello.magic != NBCOLLI_TCP_MAGIC || !nbcolli_tcp_nonce(d->reply.nonce))
        return false;
    d->reply.proof = nbcolli_tcp_proof_of_guest(w->t, &d->hello, &d->reply);
    d->progress = NBCOLLI_TCP_ASKS;
    d->done = 0;
    return nbcolli_tcp_write(d->fd, &d->reply, sizeof d->reply, &done) && done == sizeof d->reply;
}

/* Goes one step further. False: this is not the host, or not any more. */
static bool nbcolli_tcp_enter(const nbcolli_tcp_way *w, nbcolli_tcp_door *d)
{
    int error = 0;
    socklen_t bytes = sizeof error;

    switch (d->progress) {
    case NBCOLLI_TCP_CONNECTS:
        if (getsockopt(d->fd, SOL_SOCKET, SO_ERROR, &error, &bytes) != 0 || error) {
            d->was_refused = error == ECONNREFUSED;
            return false;
        }
        d->progress = NBCOLLI_TCP_HEARS;
        return true;
    case NBCOLLI_TCP_HEARS:
        if (!nbcolli_tcp_read(d->fd, &d->hello, sizeof d->hello, &d->done))
            return false;
        return d->done < sizeof d->hello || nbcolli_tcp_answer(w, d);
    default:
        if (!nbcolli_tcp_read(d->fd, &d->proof, sizeof d->proof, &d->done))
            return false;
        if (d->done == sizeof d->proof)
            d->progress = NBCOLLI_TCP_SURE;
        return d->done < sizeof d->proof ||
               nbcolli_tcp_is_proof(d->proof, nbcolli_tcp_proof_of_host(w->t, &d->hello, &d->reply));
    }
}

static bool nbcolli_tcp_is_unanswered(const nbcolli_tcp_way *w, const nbcolli_tcp_door *d)
{
    return nbcolli_now(&w->t->host) - d->since > NBCOLLI_TCP_UNANSWERED_MS * UINT64_C(1000000);
}

/* One look at all doors. The host's socket, or -1. */
static int nbcolli_tcp_try(nbcolli_tcp_way *w)
{
    struct pollfd poll_these[NBCOLLI_TCP_ADDRESSES];
    int n = w->t->addresses, open = 0, refused = 0, found = -1;

    for (int i = 0; i < n; i++) {
        nbcolli_tcp_door *d = &w->door[i];
        if (d->was_dropped) { /* a host to whom too many came */
            poll(NULL, 0, NBCOLLI_TCP_DROPPED_MS);
            nbcolli_tcp_knock(w, &w->t->address[i], d);
        }
        if (d->fd >= 0 && d->progress == NBCOLLI_TCP_CONNECTS && nbcolli_tcp_is_unanswered(w, d)) {
            nbcolli_tcp_shut(d);
            nbcolli_tcp_knock(w, &w->t->address[i], d);
        }
        poll_these[i] = (struct pollfd){.fd = d->fd, .events = d->progress == NBCOLLI_TCP_CONNECTS ? POLLOUT : POLLIN};
        open += d->fd >= 0;
        refused += d->was_refused;
    }
    if (open == 0) {
        w->refusals = refused == n && !w->t->is_patient ? w->refusals + 1 : 0;
        poll(NULL, 0, NBCOLLI_TCP_REFUSED_MS);
        for (int i = 0; i < n; i++)
            nbcolli_tcp_knock(w, &w->t->address[i], &w->door[i]);
        return -1;
    }
    if (poll(poll_these, (nfds_t)n, NBCOLLI_TCP_LOOK_MS) <= 0)
        return -1;
    for (int i = 0; i < n && found < 0; i++) {
        nbcolli_tcp_door *d = &w->door[i];
        if (d->fd < 0 || !poll_these[i].revents)
            continue;
        if (!nbcolli_tcp_enter(w, d)) {
            d->was_dropped = (d->progress == NBCOLLI_TCP_HEARS && d->done < sizeof d->hello) ||
                             (d->progress == NBCOLLI_TCP_ASKS && d->done < sizeof d->proof);
            nbcolli_tcp_shut(d);
        } else if (d->progress == NBCOLLI_TCP_SURE) {
            found = d->fd;
            d->fd = -1;
        }
    }
    return found;
}

static nbcoll_status nbcolli_tcp_find(nbcolli_tcp_way *w, int *host)
{
    *host = -1;
    for (int i = 0; i < w->t->addresses; i++)
        nbcolli_tcp_knock(w, &w->t->address[i], &w->door[i]);
    while (*host < 0 && w->refusals < NBCOLLI_TCP_REFUSALS && nbcolli_now(&w->t->host) < w->until)
        *host = nbcolli_tcp_try(w);
    for (int i = 0; i < w->t->addresses; i++)
        nbcolli_tcp_shut(&w->door[i]);
    if (*host >= 0)
        return NBCOLL_OK;
    return w->refusals < NBCOLLI_TCP_REFUSALS ? NBCOLL_ERR_TIMEOUT : NBCOLL_ERR_PEER_LOST;
}

/* ---- talking to it ----------------------------------------------------------------------------------------------- */

/* Writes all of it, or (POLLIN) reads it. */
static nbcoll_status nbcolli_tcp_all(const nbcolli_tcp_way *w, int fd, short event, void *at, size_t bytes)
{
    struct pollfd ready = {.fd = fd, .events = event};
    size_t done = 0;

    for (;;) {
        if (event == POLLIN ? !nbcolli_tcp_read(fd, at, bytes, &done) : !nbcolli_tcp_write(fd, at, bytes, &done))
            return NBCOLL_ERR_PEER_LOST;
        if (done == bytes)
            return NBCOLL_OK;
        if (nbcolli_now(&w->t->host) >= w->until)
            return NBCOLL_ERR_TIMEOUT;
        poll(&ready, 1, NBCOLLI_TCP_LOOK_MS);
    }
}

nbcoll_status nbcolli_tcp_be_guest(nbcoll_tcp *t, const void *mine, void *all, size_t bytes)
{
    nbcolli_tcp_way w = {.t = t, .bytes = bytes, .until = nbcolli_tcp_until(t, t->timeout)};
    unsigned char *own = (unsigned char *)all + (size_t)t->rank * bytes;
    uint64_t verdict = NBCOLL_OK;
    int host;

    nbcoll_status status = nbcolli_tcp_find(&w, &host);
    if (status != NBCOLL_OK)
        return status;
    memmove(own, mine, bytes);
    status = nbcolli_tcp_all(&w, host, POLLOUT, own, bytes);
    if (status == NBCOLL_OK)
        status = nbcolli_tcp_all(&w, host, POLLIN, &verdict, sizeof verdict);
    if (status == NBCOLL_OK)
        status = nbcolli_ended_as(verdict);
    if (status == NBCOLL_OK)
        status = nbcolli_tcp_all(&w, host, POLLIN, all, bytes * (size_t)t->ranks);
    close(host);
    return status;
}
