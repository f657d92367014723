/* SPDX-License-Identifier: BSD-3-Clause
 * A message is one packet: the header and, behind it, the payload. The kernel keeps it for its receiver also when the
 * sender has gone, so a post that was taken is done. A packet of one byte says goodbye: it is the last one of a rank
 * that leaves, and where a connection ends without it the rank has died (or become another program: the sockets are
 * close-on-exec). An epoll descriptor tells what can be received; who waits for room has it look for that, too. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "socket.h"

enum { PAYLOAD = 4096, BATCH = 32, SEND_BUFFER = 65536 };

/* What an arrival lies in until the next progress. */
struct place {
    nbcoll_arrival arrival;
    unsigned char payload[PAYLOAD]; /* behind a struct of pointers: aligned to 8 */
};

struct peer {
    int fd; /* -1 once it has been reported */
    enum { HERE, LEAVING, LEFT, LOST } state; /* LEAVING: its goodbye has come, and is not reported yet */
    bool refused;                             /* a post since the last progress: for want of room, or at its end */
    bool watched;                             /* epoll looks for room */
};

struct end {
    nbcoll_endpoint base; /* first */
    int epoll;
    int to_self;      /* what is sent here arrives at peer[rank].fd */
    int error;        /* the errno of what failed last */
    bool any_refused; /* of the peers */
    struct place place[BATCH];
    struct peer peer[];
};

/* ---- messages -------------------------------------------------------------------------------------------------- */

static nbcoll_posted socket_post(nbcoll_endpoint *ep, int rank, const nbcoll_header *header, const void *payload,
                                 size_t bytes, nbcoll_work *work)
{
    struct end *e = (struct end *)ep;
    struct peer *p = &e->peer[rank];
    struct iovec part[2] = {{(void *)(uintptr_t)header, sizeof *header}, {(void *)(uintptr_t)payload, bytes}};
    struct msghdr packet = {.msg_iov = part, .msg_iovlen = bytes ? 2 : 1};
    (void)work; /* never lent: the kernel has the message, or there is no room for it */

    if (p->state != HERE)
        return p->state == LOST ? NBCOLL_POST_LOST : NBCOLL_POST_DONE; /* to one who has left: it goes nowhere */
    if (sendmsg(rank == ep->rank ? e->to_self : p->fd, &packet, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
        return NBCOLL_POST_DONE;
    if (errno == EAGAIN || errno == EPIPE || errno == ECONNRESET) { /* at its end: a progress finds out which it is */
        p->refused = e->any_refused = true;
        return NBCOLL_POST_NOT_NOW;
    }
    e->error = errno;
    return NBCOLL_POST_FAILED;
}

/* Receives the next packet of a peer. False when there is none now: its end, if it has come to that, is noted. */
static bool receive(struct end *e, int rank, struct place *place)
{
    struct peer *p = &e->peer[rank];
    nbcoll_arrival *a = &place->arrival;
    struct iovec part[2] = {{&a->header, sizeof a->header}, {place->payload, PAYLOAD}};
    struct msghdr packet = {.msg_iov = part, .msg_iovlen = 2};
    ssize_t got;

    if (p->state != HERE)
        return false;
    do /* ECONNRESET: it has closed its end with messages of ours unread. What it sent is there all the same */
        got = recvmsg(p->fd, &packet, MSG_DONTWAIT);
    while (got < 0 && (errno == EINTR || errno == ECONNRESET));
    if (got < 0 && errno == EAGAIN)
        return false;
    if (got < (ssize_t)sizeof a->header) { /* a goodbye, the end of the connection (0), or a failure */
        p->state = got == 1 ? LEAVING : LOST;
        e->error = got < 0 ? errno : 0;
        shutdown(p->fd, SHUT_RDWR); /* readable until its end is reported. One that is lost and lives finds it ended */
        return false;
    }
    a->next = NULL;
    a->source = rank;
    a->payload = place->payload;
    a->bytes = (size_t)got - sizeof a->header;
    return true;
}

/* Reports the end of a peer; or later, when another one's is in the same report. */
static void report_end(struct end *e, int rank, nbcoll_completions *found)
{
    struct peer *p = &e->peer[rank];
    int *report = p->state == LOST ? &found->lost : &found->departed;

    if (p->state == HERE || *report >= 0)
        return; /* its descriptor stays readable: another progress will */
    *report = rank;
    p->state = p->state == LOST ? LOST : LEFT;
    close(p->fd);
    p->fd = -1;
}

/* Has epoll look for room, too, where a post was refused. */
static void watch(struct end *e, int rank)
{
    struct peer *p = &e->peer[rank];
    struct epoll_event event = {.events = p->refused ? EPOLLIN | EPOLLOUT : EPOLLIN, .data.u32 = (uint32_t)rank};
    if (p->watched != p->refused && p->fd >= 0)
        epoll_ctl(e->epoll, EPOLL_CTL_MOD, p->fd, &event);
    p->watched = p->refused;
}

static void socket_progress(nbcoll_endpoint *ep, nbcoll_completions *found)
{
    struct end *e = (struct end *)ep;
    struct epoll_event ready[BATCH];
    nbcoll_arrival **last = &found->arrived;
    int places = 0;

    for (int i = 0; e->any_refused && i < ep->ranks; i++) { /* what was refused is tried again, or given up */
        e->peer[i].refused = false;
        watch(e, i);
    }
    e->any_refused = false;
    int n = epoll_wait(e->epoll, ready, BATCH, 0);
    for (int i = 0; i < n; i++) {
        int rank = (int)ready[i].data.u32;
        int most = places + (BATCH - places) / (n - i); /* no one takes all places */
        while (places < most && receive(e, rank, &e->place[places])) {
            *last = &e->place[places++].arrival;
            last = &(*last)->next;
        }
        report_end(e, rank, found);
    }
}

static void socket_cancel(nbcoll_endpoint *ep, nbcoll_work *work)
{
    (void)ep, (void)work; /* nothing is ever lent */
}

/* ---- sleeping -------------------------------------------------------------------------------------------------- */

static int socket_fd(nbcoll_endpoint *ep)
{
    return ((struct end *)ep)->epoll;
}

static nbcoll_status socket_arm(nbcoll_endpoint *ep)
{
    struct end *e = (struct end *)ep;
    struct epoll_event event;

    for (int i = 0; e->any_refused && i < ep->ranks; i++)
        watch(e, i);
    return epoll_wait(e->epoll, &event, 1, 0) ? NBCOLL_AGAIN : NBCOLL_OK;
}

/* ---- the end --------------------------------------------------------------------------------------------------- */

/* To the others it is as if this rank had died: they are told by the end of the connections. */
static void socket_abandon(nbcoll_endpoint *ep)
{
    struct end *e = (struct end *)ep;
    for (int i = 0; i < ep->ranks; i++)
        if (e->peer[i].fd >= 0)
            close(e->peer[i].fd);
    close(e->to_self);
    close(e->epoll);
    free(e);
}

static void socket_close(nbcoll_endpoint *ep)
{
    struct end *e = (struct end *)ep;
    int more = 2 * SEND_BUFFER; /* there is room for a goodbye also where there is none for another message */
    for (int i = 0; i < ep->ranks; i++)
        if (i != ep->rank && e->peer[i].fd >= 0) {
            setsockopt(e->peer[i].fd, SOL_SOCKET, SO_SNDBUF, &more, sizeof more);
            (void)!send(e->peer[i].fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL); /* fails where the peer has gone, too */
        }
    socket_abandon(ep);
}

static void socket_reason(nbcoll_endpoint *ep, int rank, nbcoll_transport_error *out)
{
    (void)rank;
    out->code = ((struct end *)ep)->error;
    out->text = out->code ? "a socket call failed" : "the connection ended without a goodbye";
}

static const nbcoll_wakeup wakeup = {sizeof wakeup, socket_fd, socket_arm};
static const nbcoll_transport table = {
    .abi = NBCOLL_ABI, .size = sizeof table, .name = "socket", .post = socket_post, .progress = socket_progress,
    .cancel = socket_cancel, .close = socket_close, .wakeup = &wakeup, .abandon = socket_abandon,
    .reason = socket_reason};

static bool is_added(struct end *e, int rank, int fd)
{
    const int buffer = SEND_BUFFER;
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)rank};
    e->peer[rank].fd = fd;
    return setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer) == 0 &&
           epoll_ctl(e->epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

nbcoll_status socket_open(int rank, int ranks, const int fd[], nbcoll_endpoint **out)
{
    int self[2] = {-1, -1}, added = 0;
    if (!fd || !out || rank < 0 || rank >= ranks)
        return fd && out ? NBCOLL_ERR_RANK : NBCOLL_ERR_NULL;
    struct end *e = calloc(1, sizeof *e + (size_t)ranks * sizeof e->peer[0]);
    if (!e)
        return NBCOLL_ERR_MEMORY;
    e->base = (nbcoll_endpoint){.transport = &table, .rank = rank, .ranks = ranks,
                                .limits = {.size = sizeof(nbcoll_limits), .payload = PAYLOAD,
                                           .price = {.alpha_ns = 5000, .beta_ps = 300, .overhead_ns = 2000}}};
    e->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (e->epoll >= 0 && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, self) == 0)
        while (added < ranks && is_added(e, added, added == rank ? self[0] : fd[added]))
            added++;
    e->to_self = self[1];
    if (added == ranks) {
        *out = &e->base;
        return NBCOLL_OK;
    }
    close(self[0]);
    close(self[1]);
    close(e->epoll);
    free(e);
    return NBCOLL_ERR_TRANSPORT;
}
