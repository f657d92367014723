/* SPDX-License-Identifier: BSD-3-Clause
 * How ranks hear of each other's ends: TCP connections that carry a hello each way, and at the end a goodbye, with the
 * messages that may not have arrived. They carry nothing else. The kernels keep them alive, so a rank that computes is
 * not mistaken for a dead one. A process's end closes them, after its last bytes have come. The kernel's probes find a
 * machine that does not answer. A hello fills a packet of the interface's full length: where the path takes shorter
 * ones only, and nobody says so, the provider would wait for minutes, and this connection ends. A rank connects to
 * those that it sends to, if they have not connected before, and at its end to all others. A rank that loses another
 * one closes all connections with it, without a goodbye, so that it is lost to that one, too. See ofi.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "ofi.h"

#define NBCOLLI_OFI_LISTENER UINT32_MAX
#define NBCOLLI_OFI_RECONNECT (100 * NBCOLLI_OFI_MS)
#define NBCOLLI_OFI_AWAY (300 * NBCOLLI_OFI_MS) /* a rank that sleeps looks each 100 ms while it connects */
#define NBCOLLI_OFI_BACKLOG 4096
#define NBCOLLI_OFI_ROOM (2 * (int)NBCOLLI_OFI_KEPT) /* for a goodbye that nobody reads */
#define NBCOLLI_OFI_FILL 16384u                      /* of a hello, at most */

static int nbcolli_ofi_lines(const nbcolli_ofi_end *e)
{
    return 2 * e->base.ranks + (int)NBCOLLI_OFI_GUESTS;
}

/* ---- sockets ----------------------------------------------------------------------------------------------------- */

static void nbcolli_ofi_keep_alive(const nbcolli_ofi_end *e, int fd)
{
    int ms = (int)(e->lost_ns / NBCOLLI_OFI_MS);
    e->os->keep_alive(fd, ms < 2000 ? 1000 : ms - 1000);
}

static bool nbcolli_ofi_hear(const nbcolli_ofi_end *e, int fd, uint32_t index, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.u32 = index};
    return e->os->attend(e->lines_epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

/* Says the hello and its filler; an end that closes, or has lost that rank, adds none: it needs the path no more. */
static bool nbcolli_ofi_say_hello(const nbcolli_ofi_end *e, nbcolli_ofi_line *line)
{
    static const unsigned char filler[NBCOLLI_OFI_FILL];
    nbcolli_ofi_hello hello = {
        .nonce = e->peer_nonce[line->rank], .rank = (uint32_t)e->base.rank, .magic = NBCOLLI_OFI_MAGIC};
    bool is_kept = !e->is_closing && e->peer[line->rank].state == NBCOLLI_OFI_HERE;
    uint32_t packet = is_kept ? (uint32_t)e->os->packet(line->fd) : 0;

    hello.fill = packet < sizeof filler ? packet : (uint32_t)sizeof filler;
    struct iovec part[2] = {{&hello, sizeof hello}, {(void *)(uintptr_t)filler, hello.fill}};
    const struct msghdr all = {.msg_iov = part, .msg_iovlen = 2};
    line->hello = sizeof hello + hello.fill;
    return e->os->send_parts(line->fd, &all, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)line->hello;
}

/* Sends the bytes of a goodbye from *at on, as far as there is room. */
static void nbcolli_ofi_say_part(const nbcolli_ofi_end *e, nbcolli_ofi_line *line, size_t *at, const void *what,
                                 size_t bytes)
{
    size_t done = line->said > *at ? line->said - *at : 0;

    if (line->said >= *at && done < bytes) {
        ssize_t n =
            e->os->send(line->fd, (const char *)what + done, bytes - done, MSG_NOSIGNAL | MSG_DONTWAIT | MSG_MORE);
        line->said += n > 0 ? (size_t)n : 0;
    }
    *at += bytes;
}

static size_t nbcolli_ofi_eights(size_t bytes)
{
    return (bytes + 7) / 8 * 8;
}

/* Sends the goodbye, or its rest. */
static void nbcolli_ofi_say_goodbye(const nbcolli_ofi_end *e, nbcolli_ofi_line *line)
{
    nbcolli_ofi_buffer *flight = e->peer[line->rank].flight;
    nbcolli_ofi_goodbye goodbye = {e->nonce, 0};
    size_t at = 0;

    for (nbcolli_ofi_buffer *b = flight; b; b = b->next)
        goodbye.bytes += sizeof(uint64_t) + nbcolli_ofi_eights(b->bytes);
    nbcolli_ofi_say_part(e, line, &at, &goodbye, sizeof goodbye);
    for (nbcolli_ofi_buffer *b = flight; b; b = b->next) {
        uint64_t bytes = b->bytes;
        memset(b->wire + b->bytes, 0, nbcolli_ofi_eights(b->bytes) - b->bytes);
        nbcolli_ofi_say_part(e, line, &at, &bytes, sizeof bytes);
        nbcolli_ofi_say_part(e, line, &at, b->wire, nbcolli_ofi_eights(b->bytes));
    }
    line->left = at - line->said;
    if (!line->left)
        e->os->flush(line->fd);
}

static void nbcolli_ofi_hang_up(const nbcolli_ofi_end *e, nbcolli_ofi_line *line)
{
    if (line->fd >= 0) {
        e->os->attend(e->lines_epoll, EPOLL_CTL_DEL, line->fd, NULL); /* a child of fork may have it, too */
        e->os->close(line->fd);
    }
    nbcolli_free(&e->host, line->late.at, line->late.bytes);
    *line = (nbcolli_ofi_line){.fd = -1, .rank = -1};
}

/* ---- hearing ----------------------------------------------------------------------------------------------------- */

static void nbcolli_ofi_will_connect(nbcolli_ofi_end *e, nbcolli_ofi_peer *p)
{
    uint64_t now = nbcolli_now(&e->host);

    p->connect_until = now + e->lost_ns;
    if (!e->connecting++)
        e->connect_looked = now;
}

static void nbcolli_ofi_connects_no_more(nbcolli_ofi_end *e, nbcolli_ofi_peer *p)
{
    e->connecting -= p->connect_until != 0;
    p->connect_until = 0;
}

/* The connection has ended: another one of that rank may still carry its goodbye. */
static void nbcolli_ofi_line_ends(nbcolli_ofi_end *e, nbcolli_ofi_line *line, int error)
{
    nbcolli_ofi_peer *p = line->rank >= 0 ? &e->peer[line->rank] : NULL;

    if (p && p->state == NBCOLLI_OFI_HERE) {
        p->is_suspect = true;
        p->error = error == ETIMEDOUT && !e->os->is_through(line->fd, line->hello) ? EMSGSIZE : error;
    } else if (p)
        nbcolli_ofi_connects_no_more(e, p);
    nbcolli_ofi_hang_up(e, line);
}

static bool nbcolli_ofi_hello_read(nbcolli_ofi_end *e, nbcolli_ofi_line *line)
{
    bool is_own = line < e->line + e->base.ranks;
    nbcolli_ofi_hello hello;

    memcpy(&hello, line->in, sizeof hello);
    if (hello.magic != NBCOLLI_OFI_MAGIC || hello.nonce != e->nonce || hello.rank >= (uint32_t)e->base.ranks ||
        (is_own && (int)hello.rank != line->rank) || e->peer[hello.rank].state == NBCOLLI_OFI_LOST)
        return false;
    e->peer[hello.rank].is_met = true;
    line->skip = hello.fill;
    if (is_own)
        return true;
    line->rank = (int)hello.rank;
    if (!nbcolli_ofi_say_hello(e, line) && errno != EPIPE && errno != ECONNRESET)
        return false; /* of these two the end is read, behind the goodbye of a rank that has closed since */
    if (e->is_closing)
        nbcolli_ofi_say_goodbye(e, line);
    return true;
}

/* Room for the messages behind the goodbye, and their arrivals. */
static bool nbcolli_ofi_goodbye_read(const nbcolli_ofi_end *e, nbcolli_ofi_line *line, const unsigned char *at)
{
    size_t each = sizeof(uint64_t) + NBCOLLI_OFI_FRONT + e->payload;
    nbcolli_ofi_goodbye goodbye;

    memcpy(&goodbye, at, sizeof goodbye);
    if (goodbye.nonce != e->peer_nonce[line->rank] || goodbye.bytes > e->credits * each)
        return false;
    line->late.bytes = e->credits * sizeof(nbcoll_arrival) + goodbye.bytes;
    line->late.at = nbcolli_alloc(&e->host, line->late.bytes, 64);
    return line->late.at;
}

static void nbcolli_ofi_leaves(nbcolli_ofi_end *e, nbcolli_ofi_line *line)
{
    nbcolli_ofi_peer *p = &e->peer[line->rank];

    if (p->state == NBCOLLI_OFI_HERE) {
        p->late = line->late;
        line->late = (nbcolli_ofi_slab){0};
        p->is_suspect = false;
        nbcolli_ofi_late_arrive(e, p);
        nbcolli_ofi_over(e, p, NBCOLLI_OFI_LEFT, 0);
    }
    nbcolli_ofi_hang_up(e, line);
}

/* How many bytes may come next, and where they go: a hello, its filler (nowhere), a goodbye, then its messages. */
static size_t nbcolli_ofi_room(const nbcolli_ofi_end *e, nbcolli_ofi_line *line, void **to)
{
    size_t skip = e->credits * sizeof(nbcoll_arrival);

    *to = line->skip ? NULL : line->in + line->got;
    if (line->skip)
        return line->skip;
    if (!line->late.at)
        return (line->got < sizeof(nbcolli_ofi_hello) ? sizeof(nbcolli_ofi_hello) : sizeof line->in) - line->got;
    *to = (char *)line->late.at + skip + (line->got - sizeof line->in);
    return line->late.bytes - skip - (line->got - sizeof line->in);
}

/* Handles the bytes that have come. False: they are invalid, or there is no memory for the messages. */
static bool nbcolli_ofi_line_heard(nbcolli_ofi_end *e, nbcolli_ofi_line *line, size_t bytes)
{
    if (line->skip) {
        line->skip -= bytes;
        return true;
    }
    line->got += bytes;
    if (line->got == sizeof(nbcolli_ofi_hello))
        return nbcolli_ofi_hello_read(e, line);
    return line->late.at || line->got < sizeof line->in ||
           nbcolli_ofi_goodbye_read(e, line, line->in + sizeof(nbcolli_ofi_hello));
}

/* Reads the bytes that have come. */
static void nbcolli_ofi_read_line(nbcolli_ofi_end *e, nbcolli_ofi_line *line)
{
    ssize_t n = 1;
    size_t room;
    void *to;

    while ((room = nbcolli_ofi_room(e, line, &to)) > 0 && n > 0) {
        n = e->os->receive(line->fd, to, room, MSG_DONTWAIT | (to ? 0 : MSG_TRUNC));
        if (n > 0 && !nbcolli_ofi_line_heard(e, line, (size_t)n)) {
            nbcolli_ofi_line_ends(e, line, EPROTO);
            return;
        }
    }
    if (room == 0)
        nbcolli_ofi_leaves(e, line);
    else if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        nbcolli_ofi_line_ends(e, line, n ? errno : ECONNRESET);
}

static void nbcolli_ofi_accept(nbcolli_ofi_end *e)
{
    for (int fd; (fd = e->os->accept(e->listener)) >= 0;) {
        uint32_t i = (uint32_t)e->base.ranks, all = (uint32_t)nbcolli_ofi_lines(e);
        while (i < all && e->line[i].fd >= 0)
            i++;
        if (i == all || !nbcolli_ofi_hear(e, fd, i, EPOLLIN)) {
            for (i = (uint32_t)e->base.ranks; i < all; i++) /* strangers are sent away */
                if (e->line[i].rank < 0)
                    nbcolli_ofi_hang_up(e, &e->line[i]);
            e->os->close(fd);
            continue;
        }
        nbcolli_ofi_keep_alive(e, fd);
        e->line[i] = (nbcolli_ofi_line){.fd = fd, .rank = -1};
        nbcolli_ofi_read_line(e, &e->line[i]);
    }
}

/* A connection has ended without a goodbye. Reads the other connections first. */
static void nbcolli_ofi_settle(nbcolli_ofi_end *e)
{
    nbcolli_ofi_accept(e);
    for (int i = 0; i < nbcolli_ofi_lines(e); i++)
        if (e->line[i].fd >= 0 && !e->line[i].is_connecting)
            nbcolli_ofi_read_line(e, &e->line[i]);
    for (int rank = 0; rank < e->base.ranks; rank++)
        if (e->peer[rank].is_suspect) {
            e->peer[rank].is_suspect = false;
            nbcolli_ofi_over(e, &e->peer[rank], NBCOLLI_OFI_LOST, e->peer[rank].error);
        }
}

void nbcolli_ofi_watch_doubt(nbcolli_ofi_end *e, nbcolli_ofi_peer *p, int error)
{
    p->is_suspect = true;
    p->error = error;
    nbcolli_ofi_settle(e);
}

/* Who is lost may live: then it finds that its connections have ended. If none has carried its hello, it does not know
 * which are this rank's, and is connected to for as long again, to be told by a hello. */
void nbcolli_ofi_watch_over(nbcolli_ofi_end *e, nbcolli_ofi_peer *p)
{
    nbcolli_ofi_connects_no_more(e, p);
    if (p->state != NBCOLLI_OFI_LOST)
        return;
    for (int i = 0; i < nbcolli_ofi_lines(e); i++)
        if (e->line[i].rank == p->rank)
            nbcolli_ofi_hang_up(e, &e->line[i]);
    if (p->is_met || e->is_closing)
        return;
    nbcolli_ofi_will_connect(e, p);
}

/* ---- connecting -------------------------------------------------------------------------------------------------- */

static void nbcolli_ofi_connected(nbcolli_ofi_end *e, nbcolli_ofi_line *line)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)(line - e->line)};
    nbcolli_ofi_peer *p = &e->peer[line->rank];

    line->is_connecting = false;
    nbcolli_ofi_connects_no_more(e, p);
    if (p->state == NBCOLLI_OFI_LOST) {
        nbcolli_ofi_say_hello(e, line);
        nbcolli_ofi_hang_up(e, line);
    } else if (!nbcolli_ofi_say_hello(e, line) || e->os->attend(e->lines_epoll, EPOLL_CTL_MOD, line->fd, &event) != 0)
        nbcolli_ofi_line_ends(e, line, ECONNRESET);
    else if (e->is_closing)
        nbcolli_ofi_say_goodbye(e, line);
}

/* Nobody listens there: the rank has ended. Other errors: tries again until `connect_until`. */
static void nbcolli_ofi_connect_fails(nbcolli_ofi_end *e, nbcolli_ofi_line *line, int error)
{
    nbcolli_ofi_peer *p = &e->peer[line->rank];

    if (error == ECONNREFUSED || error == ECONNRESET || nbcolli_now(&e->host) >= p->connect_until)
        nbcolli_ofi_line_ends(e, line, error);
    else
        nbcolli_ofi_hang_up(e, line);
    p->connect_at = nbcolli_now(&e->host) + NBCOLLI_OFI_RECONNECT;
}

static void nbcolli_ofi_connect(nbcolli_ofi_end *e, nbcolli_ofi_peer *p)
{
    const struct sockaddr_in6 *to = &e->watch_at[p->rank];
    nbcolli_ofi_line *line = &e->line[p->rank];
    int fd = e->os->socket(NBCOLLI_OFI_ROOM);

    *line = (nbcolli_ofi_line){.fd = fd, .rank = p->rank, .is_connecting = true};
    if (fd < 0) {
        nbcolli_ofi_connect_fails(e, line, errno);
        return;
    }
    nbcolli_ofi_keep_alive(e, fd);
    if (e->os->connect(fd, (const struct sockaddr *)to, sizeof *to) != 0 && errno != EINPROGRESS)
        nbcolli_ofi_connect_fails(e, line, errno);
    else if (!nbcolli_ofi_hear(e, fd, (uint32_t)p->rank, EPOLLOUT))
        nbcolli_ofi_connect_fails(e, line, ENOMEM);
}

static bool nbcolli_ofi_has_line(const nbcolli_ofi_end *e, int rank)
{
    for (int i = 0; i < nbcolli_ofi_lines(e); i++)
        if (e->line[i].fd >= 0 && e->line[i].rank == rank)
            return true;
    return false;
}

void nbcolli_ofi_watch(nbcolli_ofi_end *e, nbcolli_ofi_peer *p)
{
    if (p->is_watched || p->state != NBCOLLI_OFI_HERE)
        return;
    p->is_watched = true;
    nbcolli_ofi_accept(e);
    if (nbcolli_ofi_has_line(e, p->rank) || p->state != NBCOLLI_OFI_HERE)
        return;
    nbcolli_ofi_will_connect(e, p);
    nbcolli_ofi_connect(e, p);
}

/* Time in which this rank has not looked at its connections does not count. */
static void nbcolli_ofi_connect_again(nbcolli_ofi_end *e)
{
    uint64_t now = nbcolli_now(&e->host), away = now - e->connect_looked;

    e->connect_looked = now;

    for (int rank = 0; rank < e->base.ranks; rank++) {
        nbcolli_ofi_peer *p = &e->peer[rank];
        nbcolli_ofi_line *line = &e->line[rank];
        if (!p->connect_until)
            continue;
        p->connect_until += away > NBCOLLI_OFI_AWAY ? away : 0;
        if (line->fd >= 0 && now >= p->connect_until)
            nbcolli_ofi_line_ends(e, line, ETIMEDOUT);
        else if (now >= p->connect_until && p->state == NBCOLLI_OFI_LOST)
            nbcolli_ofi_connects_no_more(e, p);
        else if (now >= p->connect_until)
            p->is_suspect = true;
        else if (line->fd < 0 && now >= p->connect_at)
            nbcolli_ofi_connect(e, p);
    }
}

/* ---- looking ----------------------------------------------------------------------------------------------------- */

static void nbcolli_ofi_line_is_ready(nbcolli_ofi_end *e, nbcolli_ofi_line *line)
{
    if (line->fd < 0)
        return;
    int error = line->is_connecting ? e->os->error(line->fd) : 0;
    if (!line->is_connecting)
        nbcolli_ofi_read_line(e, line);
    else if (error)
        nbcolli_ofi_connect_fails(e, line, error);
    else
        nbcolli_ofi_connected(e, line);
}

static void nbcolli_ofi_look_for(nbcolli_ofi_end *e, int ms)
{
    struct epoll_event event[16];
    int n = e->os->ready(e->lines_epoll, event, 16, ms);

    for (int i = 0; i < n; i++)
        if (event[i].data.u32 == NBCOLLI_OFI_LISTENER)
            nbcolli_ofi_accept(e);
        else
            nbcolli_ofi_line_is_ready(e, &e->line[event[i].data.u32]);
    if (e->connecting)
        nbcolli_ofi_connect_again(e);
    for (int rank = 0; rank < e->base.ranks && (n > 0 || e->connecting); rank++)
        if (e->peer[rank].is_suspect) {
            nbcolli_ofi_settle(e);
            break;
        }
}

void nbcolli_ofi_watch_look(nbcolli_ofi_end *e)
{
    if (e->is_met)
        nbcolli_ofi_look_for(e, 0);
}

/* ---- the beginning and the end ----------------------------------------------------------------------------------- */

nbcoll_status nbcolli_ofi_watch_open(nbcolli_ofi_end *e, const nbcolli_ofi_name *name, struct sockaddr_in6 *at)
{
    const struct sockaddr_in loopback = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};

    if (e->info->addr_format == FI_SOCKADDR_IN || e->info->addr_format == FI_SOCKADDR_IN6)
        nbcolli_ofi_map(at, name->at);
    else if (strstr(e->info->fabric_attr->prov_name, "shm")) /* one machine */
        nbcolli_ofi_map(at, &loopback);
    else if (!e->os->interface(at))
        return nbcolli_ofi_refused(e, "looking for an interface", ENODEV);
    e->lines_epoll = e->os->gather();
    if (e->lines_epoll < 0 || (e->listener = e->os->listen(at, NBCOLLI_OFI_ROOM, NBCOLLI_OFI_BACKLOG)) < 0 ||
        !nbcolli_ofi_hear(e, e->listener, NBCOLLI_OFI_LISTENER, EPOLLIN))
        return nbcolli_ofi_refused(e, "a socket by which ranks watch each other", errno);
    return NBCOLL_OK;
}

void nbcolli_ofi_watch_close(nbcolli_ofi_end *e)
{
    for (int i = 0; e->line && i < nbcolli_ofi_lines(e); i++)
        nbcolli_ofi_hang_up(e, &e->line[i]);
    if (e->listener >= 0)
        e->os->close(e->listener);
    if (e->lines_epoll >= 0)
        e->os->close(e->lines_epoll);
}

/* Has every machine acknowledged all bytes? */
static bool nbcolli_ofi_all_is_said(const nbcolli_ofi_end *e)
{
    for (int i = 0; i < nbcolli_ofi_lines(e); i++) {
        const nbcolli_ofi_line *line = &e->line[i];
        if (line->fd >= 0 && (line->is_connecting || line->left > 0 || e->os->unsent(line->fd) > 0))
            return false;
    }
    return true;
}

void nbcolli_ofi_watch_leave(nbcolli_ofi_end *e)
{
    nbcolli_ofi_look_for(e, 0);
    e->is_closing = true;
    for (int i = 0; i < nbcolli_ofi_lines(e); i++)
        if (e->line[i].fd >= 0 && e->line[i].rank >= 0 && !e->line[i].is_connecting)
            nbcolli_ofi_say_goodbye(e, &e->line[i]);
    for (int rank = 0; rank < e->base.ranks; rank++)
        if (rank != e->base.rank && e->peer[rank].state == NBCOLLI_OFI_HERE && !nbcolli_ofi_has_line(e, rank)) {
            e->peer[rank].is_watched = false;
            nbcolli_ofi_watch(e, &e->peer[rank]);
        } else if (e->peer[rank].connect_until && e->peer[rank].state == NBCOLLI_OFI_LOST) {
            nbcolli_ofi_connects_no_more(e, &e->peer[rank]); /* nobody will listen here any more */
            nbcolli_ofi_hang_up(e, &e->line[rank]);
        }
    uint64_t until = nbcolli_now(&e->host) + e->lost_ns;
    while (!nbcolli_ofi_all_is_said(e) && nbcolli_now(&e->host) < until) {
        nbcolli_ofi_look_for(e, 1);
        for (int i = 0; i < nbcolli_ofi_lines(e); i++)
            if (e->line[i].left > 0)
                nbcolli_ofi_say_goodbye(e, &e->line[i]);
    }
}
