/* SPDX-License-Identifier: BSD-3-Clause
 * The host's side of an exchange by TCP: lets guests in, turns strangers away, tells all the verdict. See tcp.h. */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "tcp.h"

#define NBCOLLI_TCP_STRANGERS 256 /* that are being heard at once, at most, beside as many as there are ranks */
#define NBCOLLI_TCP_ACCEPTS 64    /* of one look: those that wait to be let in are fewer then, however many knock */

typedef enum nbcolli_tcp_stage {
    NBCOLLI_TCP_STRANGER, /* has proved nothing yet */
    NBCOLLI_TCP_GUEST,    /* its bytes are coming */
    NBCOLLI_TCP_CAME      /* they have come */
} nbcolli_tcp_stage;

typedef struct nbcolli_tcp_visitor {
    int fd;
    nbcolli_tcp_stage stage;
    uint64_t at, since; /* when it came; how many had come before */
    struct in6_addr source;
    nbcolli_tcp_hello hello;
    nbcolli_tcp_reply reply;
    size_t done; /* bytes of what is being read, or written */
} nbcolli_tcp_visitor;

typedef struct nbcolli_tcp_hall {
    nbcoll_tcp *t;
    unsigned char *all;
    size_t bytes;
    nbcoll_status verdict;
    int came, visitors, room;
    uint64_t knocks;
    nbcolli_tcp_visitor *visitor; /* [room] */
    struct pollfd *poll;          /* [room + 1] */
} nbcolli_tcp_hall;

/* ---- coming and going -------------------------------------------------------------------------------------------- */

static void nbcolli_tcp_dismiss(nbcolli_tcp_hall *h, nbcolli_tcp_visitor *v)
{
    close(v->fd);
    *v = h->visitor[--h->visitors];
}

static bool nbcolli_tcp_is_from(const nbcolli_tcp_visitor *v, const struct in6_addr *source)
{
    return !source || memcmp(&v->source, source, sizeof *source) == 0;
}

/* Sends away the stranger that has been here longest, of this source (null: of any), if it has so many. False: it has
 * not. */
static bool nbcolli_tcp_make_room(nbcolli_tcp_hall *h, const struct in6_addr *source, int many)
{
    nbcolli_tcp_visitor *oldest = NULL;
    int strangers = 0;

    for (nbcolli_tcp_visitor *v = h->visitor; v < h->visitor + h->visitors; v++)
        if (v->stage == NBCOLLI_TCP_STRANGER && nbcolli_tcp_is_from(v, source)) {
            strangers++;
            if (!oldest || v->since < oldest->since)
                oldest = v;
        }
    if (!oldest || strangers < many)
        return false;
    nbcolli_tcp_dismiss(h, oldest);
    return true;
}

/* Where it comes from; an IPv4 address lies at the beginning, or as the system maps it. */
static struct in6_addr nbcolli_tcp_source(const struct sockaddr_storage *at)
{
    struct in6_addr source = {{{0}}};

    if (at->ss_family == AF_INET6)
        source = ((const struct sockaddr_in6 *)(const void *)at)->sin6_addr;
    else if (at->ss_family == AF_INET)
        memcpy(&source, &((const struct sockaddr_in *)(const void *)at)->sin_addr, sizeof(struct in_addr));
    return source;
}

/* The next one that knocks. A source may have half of the strangers, and as many as could be ranks: whatever comes from
 * there, those from elsewhere are heard. False: nobody knocks, or nobody can be let in. */
static bool nbcolli_tcp_let_in(nbcolli_tcp_hall *h)
{
    nbcolli_tcp_hello hello = {.magic = NBCOLLI_TCP_MAGIC};
    struct sockaddr_storage at = {0};
    socklen_t bytes = sizeof at;
    size_t done = 0;
    int fd = accept4(h->t->listener, (struct sockaddr *)&at, &bytes, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd < 0) {
        bool is_short = errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS;
        if (is_short && !nbcolli_tcp_make_room(h, NULL, 1))
            h->verdict = NBCOLL_ERR_TRANSPORT;
        return false;
    }
    struct in6_addr source = nbcolli_tcp_source(&at);
    if (!nbcolli_tcp_make_room(h, &source, NBCOLLI_TCP_STRANGERS / 2 + h->t->ranks))
        nbcolli_tcp_make_room(h, NULL, NBCOLLI_TCP_STRANGERS + h->t->ranks);
    nbcolli_tcp_watch(fd);
    if (!nbcolli_tcp_nonce(hello.nonce) || !nbcolli_tcp_write(fd, &hello, sizeof hello, &done) || done < sizeof hello) {
        close(fd);
        return true;
    }
    h->visitor[h->visitors++] = (nbcolli_tcp_visitor){
        .fd = fd, .at = nbcolli_now(&h->t->host), .since = h->knocks++, .source = source, .hello = hello};
    return true;
}

/* ---- hearing ----------------------------------------------------------------------------------------------------- */

/* It has replied. False: it does not know the secret. */
static bool nbcolli_tcp_admit(nbcolli_tcp_hall *h, nbcolli_tcp_visitor *v)
{
    const nbcolli_tcp_reply *r = &v->reply;
    uint64_t proof = nbcolli_tcp_proof_of_host(h->t, &v->hello, r);
    size_t done = 0;

    if (r->magic != NBCOLLI_TCP_MAGIC ||
        !nbcolli_tcp_is_proof(r->proof, nbcolli_tcp_proof_of_guest(h->t, &v->hello, r)) ||
        !nbcolli_tcp_write(v->fd, &proof, sizeof proof, &done) || done < sizeof proof)
        return false;
    v->stage = NBCOLLI_TCP_GUEST;
    v->done = 0;
    if (r->ranks != (uint32_t)h->t->ranks || r->rank >= r->ranks || r->bytes != h->bytes || r->round != h->t->round)
        h->verdict = NBCOLL_ERR_MISMATCH;
    else if ((int)r->rank == h->t->rank)
        h->verdict = NBCOLL_ERR_DUPLICATE;
    return true;
}

/* All its bytes are here. */
static void nbcolli_tcp_arrives(nbcolli_tcp_hall *h, nbcolli_tcp_visitor *v)
{
    for (nbcolli_tcp_visitor *o = h->visitor; o < h->visitor + h->visitors; o++)
        if (o->stage == NBCOLLI_TCP_CAME && o->reply.rank == v->reply.rank)
            h->verdict = NBCOLL_ERR_DUPLICATE;
    v->stage = NBCOLLI_TCP_CAME;
    h->came++;
}

/* Reads what there is. False: it has gone, or is to go. */
static bool nbcolli_tcp_hear(nbcolli_tcp_hall *h, nbcolli_tcp_visitor *v)
{
    char more;
    size_t none = 0;

    switch (v->stage) {
    case NBCOLLI_TCP_STRANGER:
        if (!nbcolli_tcp_read(v->fd, &v->reply, sizeof v->reply, &v->done))
            return false;
        return v->done < sizeof v->reply || nbcolli_tcp_admit(h, v);
    case NBCOLLI_TCP_GUEST:
        if (!nbcolli_tcp_read(v->fd, h->all + v->reply.rank * h->bytes, h->bytes, &v->done)) {
            if (v->done > 0)
                h->verdict = NBCOLL_ERR_PEER_LOST;
            return false; /* else it has found another way here, or does not come by the deadline */
        }
        if (v->done == h->bytes)
            nbcolli_tcp_arrives(h, v);
        return true;
    default:
        if (nbcolli_tcp_read(v->fd, &more, 1, &none))
            return true;
        h->verdict = NBCOLL_ERR_PEER_LOST;
        return false;
    }
}

static void nbcolli_tcp_look(nbcolli_tcp_hall *h)
{
    uint64_t now;

    h->poll[0] = (struct pollfd){.fd = h->t->listener, .events = POLLIN};
    for (int i = 0; i < h->visitors; i++)
        h->poll[i + 1] = (struct pollfd){.fd = h->visitor[i].fd, .events = POLLIN};
    if (poll(h->poll, (nfds_t)h->visitors + 1, NBCOLLI_TCP_LOOK_MS) < 0)
        return;
    now = nbcolli_now(&h->t->host);
    for (int i = h->visitors; i-- > 0 && h->verdict == NBCOLL_OK;) { /* the last one takes the place of who goes */
        nbcolli_tcp_visitor *v = &h->visitor[i];
        bool is_late = v->stage == NBCOLLI_TCP_STRANGER && now - v->at > NBCOLLI_TCP_PATIENCE;
        if (is_late || (h->poll[i + 1].revents && !nbcolli_tcp_hear(h, v)))
            nbcolli_tcp_dismiss(h, v);
    }
    int knocks = h->poll[0].revents ? NBCOLLI_TCP_ACCEPTS : 0;
    while (knocks-- > 0 && h->verdict == NBCOLL_OK && h->visitors < h->room && nbcolli_tcp_let_in(h))
        ;
}

/* ---- telling ----------------------------------------------------------------------------------------------------- */

/* Writes what the guest takes now of verdict and bytes. True: there is more. */
static bool nbcolli_tcp_tell(nbcolli_tcp_hall *h, nbcolli_tcp_visitor *v)
{
    uint64_t verdict = (uint64_t)h->verdict;
    size_t bytes = h->verdict == NBCOLL_OK ? h->bytes * (size_t)h->t->ranks : 0, said = v->done;

    if (said < sizeof verdict && (!nbcolli_tcp_write(v->fd, &verdict, sizeof verdict, &said)))
        return false;
    v->done = said;
    if (said < sizeof verdict)
        return true;
    said -= sizeof verdict;
    if (!nbcolli_tcp_write(v->fd, h->all, bytes, &said))
        return false;
    v->done = said + sizeof verdict;
    return said < bytes;
}

/* To all guests; who does not take it in time is left to find that its connection ends. */
static void nbcolli_tcp_tell_all(nbcolli_tcp_hall *h)
{
    uint64_t until = nbcolli_tcp_until(h->t, NBCOLLI_TCP_PATIENCE);

    for (int i = h->visitors; i-- > 0;)
        if (h->visitor[i].stage == NBCOLLI_TCP_STRANGER)
            nbcolli_tcp_dismiss(h, &h->visitor[i]);
        else
            h->visitor[i].done = 0;
    while (h->visitors && nbcolli_now(&h->t->host) < until) {
        for (int i = 0; i < h->visitors; i++)
            h->poll[i] = (struct pollfd){.fd = h->visitor[i].fd, .events = POLLOUT};
        if (poll(h->poll, (nfds_t)h->visitors, NBCOLLI_TCP_LOOK_MS) < 0)
            continue;
        for (int i = h->visitors; i-- > 0;)
            if (h->poll[i].revents && !nbcolli_tcp_tell(h, &h->visitor[i]))
                nbcolli_tcp_dismiss(h, &h->visitor[i]);
    }
    while (h->visitors)
        nbcolli_tcp_dismiss(h, h->visitor);
}

nbcoll_status nbcolli_tcp_be_host(nbcoll_tcp *t, const void *mine, void *all, size_t bytes)
{
    int room = 3 * t->ranks + NBCOLLI_TCP_STRANGERS;
    nbcolli_tcp_hall h = {.t = t, .all = all, .bytes = bytes, .verdict = NBCOLL_OK, .came = 1, .room = room};
    uint64_t until = nbcolli_tcp_until(t, t->timeout);
    size_t visitors = (size_t)h.room * sizeof *h.visitor, memory = visitors + ((size_t)h.room + 1) * sizeof *h.poll;

    h.visitor = nbcolli_alloc(&t->host, memory, 64);
    if (!h.visitor)
        return NBCOLL_ERR_MEMORY;
    h.poll = (struct pollfd *)(void *)((char *)h.visitor + visitors);
    memcpy(h.all + (size_t)t->rank * bytes, mine, bytes);
    while (h.came < t->ranks && h.verdict == NBCOLL_OK) {
        if (h.visitors == h.room) /* more guests than ranks */
            h.verdict = NBCOLL_ERR_DUPLICATE;
        else if (nbcolli_now(&t->host) >= until)
            h.verdict = NBCOLL_ERR_TIMEOUT;
        else
            nbcolli_tcp_look(&h);
    }
    nbcolli_tcp_tell_all(&h);
    nbcolli_free(&t->host, h.visitor, memory);
    return h.verdict;
}
