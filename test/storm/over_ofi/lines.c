/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The connections by which ranks of ofi watch each other, in the storm's time: TCP as far as transports/ofi/system.h
 * goes. Kernels establish connections, take bytes and acknowledge them whatever the processes do. Bytes come in their
 * order, each some time after it was sent. A process that ends closes what it has. */
#include <stdlib.h>
#include <string.h>

#include "ofi.h"

#define ROOM 270000 /* bytes that a connection takes before they are read */

static int fails(int why)
{
    errno = why;
    return -1;
}

static uint64_t delay(void)
{
    return 1 + storm_random(ofi_world.storm, ofi_world.climate.far);
}

/* When something gets there that is sent now. */
static uint64_t gets_to(int from, int to)
{
    return ofi_passes(from, to, ofi_world.storm->now + delay());
}

/* ---- descriptors ------------------------------------------------------------------------------------------------- */

static thing *make(thing_kind kind, int rank)
{
    ofi *w = &ofi_world;
    if (w->things == w->things_room) {
        w->things_room = w->things_room ? 2 * w->things_room : 64;
        w->thing = realloc(w->thing, w->things_room * sizeof(thing *));
    }
    thing *t = calloc(1, sizeof *t);
    *t = (thing){.kind = kind, .rank = rank, .at = UINT64_MAX, .ends_at = UINT64_MAX, .peer = -1};
    w->thing[w->things++] = t;
    return t;
}

static int descriptor_of(const thing *t)
{
    size_t i = ofi_world.things;
    while (ofi_world.thing[--i] != t)
        ;
    ofi_world.station[t->rank].things++;
    return THING_FD + (int)i;
}

static thing *thing_at(int fd)
{
    return fd >= THING_FD && (size_t)(fd - THING_FD) < ofi_world.things ? ofi_world.thing[fd - THING_FD] : NULL;
}

/* What the caller's descriptor names; null, and errno, where it has none such, which is a finding. */
static thing *thing_of(const station *p, int fd, thing_kind kind)
{
    thing *t = thing_at(fd);
    if (t && t->rank == p->actor->rank && !t->is_closed && t->kind == kind)
        return t;
    if (!p->is_gone)
        storm_find(ofi_world.storm, "rank %d uses descriptor %d, which it has not, or is of another kind",
                   p->actor->rank, fd);
    errno = EBADF;
    return NULL;
}

/* Whoever sleeps on it wakes then. */
static void rings(const thing *t, uint64_t at)
{
    if (ofi_world.station[t->rank].is_armed)
        storm_ring(ofi_world.storm, t->rank, at);
}

/* ---- the end of a connection ------------------------------------------------------------------------------------- */

static uint64_t after_all(const thing *t, uint64_t at)
{
    for (const chunk *c = t->first; c; c = c->next)
        at = c->at > at ? c->at : at;
    return at;
}

static void sees_end(thing *t, uint64_t at, int error)
{
    if (t->ends_at != UINT64_MAX)
        return;
    t->ends_at = after_all(t, at);
    t->error = error;
    rings(t, t->ends_at);
}

static void drop(thing *t)
{
    while (t->first) {
        chunk *c = t->first;
        t->first = c->next;
        free(c);
    }
}

/* Who closes with bytes that it has not read resets the connection. */
static void disconnect(thing *t)
{
    thing *other = t->other;
    if (other) {
        bool is_early = other->is_connecting && ofi_world.storm->now < other->at;
        sees_end(other, gets_to(t->rank, other->rank), is_early ? ECONNREFUSED : t->first ? ECONNRESET : 0);
        other->other = NULL;
    }
    t->other = NULL;
    drop(t);
}

static void ends(thing *t)
{
    if (t->is_closed)
        return;
    t->is_closed = true;
    for (size_t i = 0; i < t->n_waiting; i++) {
        thing *w = t->waiting[i];
        if (w->other)
            sees_end(w->other, gets_to(w->rank, w->other->rank),
                     ofi_world.storm->now < w->at ? ECONNREFUSED : ECONNRESET);
        if (w->other)
            w->other->other = NULL;
        w->other = NULL;
        w->is_closed = true;
        drop(w);
    }
    t->n_waiting = 0;
    if (t->kind == THING_SOCKET)
        disconnect(t);
}

/* Nothing comes any more, nothing is acknowledged, and keepalive finds that. */
void lines_break(const outage *o)
{
    uint64_t ms = ofi_world.climate.lost_ms < 2000 ? 1000 : ofi_world.climate.lost_ms - 1000;
    for (size_t i = 0; i < ofi_world.things; i++) {
        thing *t = ofi_world.thing[i];
        if (t->kind == THING_SOCKET && t->other && t->at != UINT64_MAX && !t->is_closed &&
            ((t->rank == o->a && t->peer == o->b) || (t->rank == o->b && t->peer == o->a)))
            sees_end(t, o->since + ms * MILLISECOND + storm_random(ofi_world.storm, SECOND), ETIMEDOUT);
    }
}

static int os_close(int fd)
{
    station *p = ofi_caller();
    thing *t = thing_at(fd);
    storm_step(ofi_world.storm, p->actor);
    if (!t || !(t = thing_of(p, fd, t->kind)))
        return fails(EBADF);
    p->things--;
    ends(t);
    return 0;
}

void lines_die(station *p)
{
    for (size_t i = 0; i < ofi_world.things; i++)
        if (ofi_world.thing[i]->rank == p->actor->rank && !ofi_world.thing[i]->is_waiting)
            ends(ofi_world.thing[i]);
}

void lines_free(void)
{
    for (size_t i = 0; i < ofi_world.things; i++) {
        thing *t = ofi_world.thing[i];
        drop(t);
        free(t->attended);
        free(t->waiting);
        free(t);
    }
    free(ofi_world.thing);
}

/* ---- what is ready ----------------------------------------------------------------------------------------------- */

/* When there is something to be read, or, while it connects, it has done so; or its end. */
static uint64_t ready_at(const thing *t)
{
    uint64_t at = t->kind == THING_TIMER ? t->at : t->ends_at;
    for (size_t i = 0; i < t->n_waiting; i++)
        at = t->waiting[i]->at < at ? t->waiting[i]->at : at;
    if (t->kind != THING_SOCKET)
        return at;
    if (t->is_connecting)
        return t->at < at ? t->at : at;
    return t->first && t->first->at < at ? t->first->at : at;
}

uint64_t lines_next(const station *p, int fd)
{
    const thing *t = thing_at(fd);
    uint64_t next = fd >= FAKE_FD ? fake_next(fd - FAKE_FD) : UINT64_MAX;
    (void)p;
    if (!t)
        return next;
    if (t->kind != THING_GATHER)
        return ready_at(t);
    for (size_t i = 0; i < t->n_attended; i++) {
        uint64_t at = lines_next(p, t->attended[i].fd);
        next = at < next ? at : next;
    }
    return next;
}

static int os_gather(void)
{
    station *p = ofi_caller();
    int why = ofi_call(p);
    return why ? fails(why) : descriptor_of(make(THING_GATHER, p->actor->rank));
}

static int os_attend(int all, int what, int fd, struct epoll_event *event)
{
    station *p = ofi_caller();
    int why = ofi_call(p);
    thing *t = thing_of(p, all, THING_GATHER);
    size_t i = 0;
    if (why || !t)
        return fails(why ? why : EBADF);
    if (fd < FAKE_FD && !(thing_at(fd) && thing_of(p, fd, thing_at(fd)->kind)))
        return fails(EBADF);
    while (i < t->n_attended && t->attended[i].fd != fd)
        i++;
    if ((i < t->n_attended) == (what == EPOLL_CTL_ADD))
        return fails(i < t->n_attended ? EEXIST : ENOENT);
    if (what == EPOLL_CTL_DEL) {
        t->attended[i] = t->attended[--t->n_attended];
        return 0;
    }
    if (what == EPOLL_CTL_ADD)
        t->attended = realloc(t->attended, ++t->n_attended * sizeof(attended));
    t->attended[i] = (attended){fd, event->events, event->data.u32};
    return 0;
}

static int collect(thing *t, struct epoll_event *event, int most)
{
    const station *p = ofi_caller();
    int n = 0;
    for (size_t i = 0; i < t->n_attended && n < most; i++) {
        const attended *a = &t->attended[i];
        if (thing_at(a->fd) && thing_at(a->fd)->is_closed)
            storm_find(ofi_world.storm, "rank %d attends to descriptor %d, which is closed", p->actor->rank, a->fd);
        else if (lines_next(p, a->fd) <= ofi_world.storm->now)
            event[n++] = (struct epoll_event){.events = a->events, .data.u32 = a->data};
    }
    return n;
}

/* None but the dead are left: whatever those look at has ended. */
static int collect_all(const thing *t, struct epoll_event *event, int most)
{
    int n = 0;
    for (size_t i = 0; i < t->n_attended && n < most; i++)
        event[n++] = (struct epoll_event){.events = t->attended[i].events, .data.u32 = t->attended[i].data};
    return n;
}

static int os_ready(int all, struct epoll_event *event, int most, int ms)
{
    station *p = ofi_caller();
    storm *s = ofi_world.storm;
    storm_step(s, p->actor);
    if (s->ends)
        return collect_all(thing_at(all), event, most);
    thing *t = thing_of(p, all, THING_GATHER);
    if (!t || storm_chance(s, ofi_world.climate.interrupted))
        return fails(t ? EINTR : EBADF);
    int n = collect(t, event, most);
    if (n || !ms)
        return n;
    s->steps_moved = s->steps;
    storm_stay(s, 1 + storm_random(s, (uint64_t)ms * MILLISECOND));
    return collect(t, event, most);
}

/* ---- timers ------------------------------------------------------------------------------------------------------ */

static int os_timer(void)
{
    station *p = ofi_caller();
    int why = ofi_call(p);
    return why ? fails(why) : descriptor_of(make(THING_TIMER, p->actor->rank));
}

static int os_set(int timer, uint64_t ns)
{
    station *p = ofi_caller();
    storm_step(ofi_world.storm, p->actor);
    thing *t = thing_of(p, timer, THING_TIMER);
    if (!t)
        return -1;
    t->at = ns ? ofi_world.storm->now + ns : UINT64_MAX;
    return 0;
}

static void os_hush(int timer)
{
    thing *t = thing_of(ofi_caller(), timer, THING_TIMER);
    storm_step(ofi_world.storm, ofi_caller()->actor);
    if (t && t->at <= ofi_world.storm->now)
        t->at = UINT64_MAX;
}

/* ---- connections ------------------------------------------------------------------------------------------------- */

static int os_socket(int room)
{
    station *p = ofi_caller();
    int why = ofi_call(p);
    (void)room;
    return why ? fails(why) : descriptor_of(make(THING_SOCKET, p->actor->rank));
}

static int os_listen(struct sockaddr_in6 *at, int room, int most)
{
    station *p = ofi_caller();
    int why = ofi_call(p);
    (void)room, (void)most;
    if (why)
        return fails(why);
    int fd = descriptor_of(make(THING_LISTENER, p->actor->rank));
    at->sin6_port = (in_port_t)fd;
    return fd;
}

/* Its process may be amid something else: the kernel answers. */
static int os_connect(int socket, const struct sockaddr *at, socklen_t bytes)
{
    station *p = ofi_caller();
    storm *s = ofi_world.storm;
    (void)bytes;
    storm_step(s, p->actor);
    thing *t = thing_of(p, socket, THING_SOCKET),
          *listener = thing_at(((const struct sockaddr_in6 *)(const void *)at)->sin6_port);
    if (!t)
        return -1;
    t->is_connecting = true;
    if (!listener || listener->is_closed || s->ends) {
        if (storm_chance(s, 300))
            return fails(ECONNREFUSED);
        sees_end(t, listener ? gets_to(t->rank, listener->rank) : s->now + delay(), ECONNREFUSED);
        return fails(EINPROGRESS);
    }
    thing *other = make(THING_SOCKET, listener->rank);
    other->other = t;
    t->other = other;
    t->peer = other->rank;
    other->peer = t->rank;
    other->at = gets_to(t->rank, other->rank);
    other->is_waiting = true;
    t->at = other->at == UINT64_MAX ? UINT64_MAX : ofi_passes(other->rank, t->rank, other->at + delay());
    listener->waiting = realloc(listener->waiting, (listener->n_waiting + 1) * sizeof(thing *));
    listener->waiting[listener->n_waiting++] = other;
    rings(listener, other->at);
    return fails(EINPROGRESS);
}

static int os_accept(int fd)
{
    station *p = ofi_caller();
    int why = ofi_call(p);
    thing *t = thing_of(p, fd, THING_LISTENER);
    if (why || !t)
        return fails(why ? why : EBADF);
    for (size_t i = 0; i < t->n_waiting; i++) {
        thing *other = t->waiting[i];
        if (other->at > ofi_world.storm->now)
            continue;
        memmove(t->waiting + i, t->waiting + i + 1, (--t->n_waiting - i) * sizeof(thing *));
        other->is_waiting = false;
        return descriptor_of(other);
    }
    return fails(EAGAIN);
}

static void os_keep_alive(int socket, int ms)
{
    (void)ms;
    storm_step(ofi_world.storm, ofi_caller()->actor);
    thing_of(ofi_caller(), socket, THING_SOCKET);
}

static int os_error(int socket)
{
    thing *t = thing_of(ofi_caller(), socket, THING_SOCKET);
    storm_step(ofi_world.storm, ofi_caller()->actor);
    if (!t)
        return EBADF;
    if (t->ends_at <= ofi_world.storm->now && t->error)
        return t->error;
    t->is_connecting = false;
    return 0;
}

static int os_packet(int socket)
{
    return thing_of(ofi_caller(), socket, THING_SOCKET) ? 1448 : 0;
}

static bool os_is_through(int socket, size_t bytes)
{
    (void)bytes;
    return thing_of(ofi_caller(), socket, THING_SOCKET);
}

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

/* Those that wait at the other end, and those that have come there by then. */
static size_t bytes_at(const thing *t, uint64_t since)
{
    size_t bytes = 0;
    for (const chunk *c = t->first; c; c = c->next)
        bytes += c->at > since ? c->bytes - c->read : 0;
    return bytes;
}

static int os_unsent(int socket)
{
    const thing *t = thing_of(ofi_caller(), socket, THING_SOCKET);
    storm_step(ofi_world.storm, ofi_caller()->actor);
    return t && t->other ? (int)bytes_at(t->other, ofi_world.storm->now) : 0;
}

static void os_flush(int socket)
{
    thing_of(ofi_caller(), socket, THING_SOCKET);
}

/* Where the other end is closed nobody reads them, and this end hears of that. */
static ssize_t put(thing *t, const void *from, size_t bytes)
{
    storm *s = ofi_world.storm;
    if (t->ends_at <= s->now)
        return fails(t->error ? t->error : EPIPE);
    if (!t->other) {
        if (!t->error)
            t->error = ECONNRESET;
        return (ssize_t)bytes;
    }
    chunk *c = malloc(sizeof *c + bytes), **last = &t->other->first;
    *c = (chunk){.at = after_all(t->other, gets_to(t->rank, t->other->rank)), .bytes = bytes};
    memcpy(c->data, from, bytes);
    while (*last)
        last = &(*last)->next;
    *last = c;
    if (!t->other->is_waiting)
        rings(t->other, c->at);
    return (ssize_t)bytes;
}

static ssize_t os_send(int socket, const void *from, size_t bytes, int flags)
{
    station *p = ofi_caller();
    storm *s = ofi_world.storm;
    (void)flags;
    storm_step(s, p->actor);
    thing *t = thing_of(p, socket, THING_SOCKET);
    if (!t)
        return -1;
    size_t there = t->other ? bytes_at(t->other, 0) : 0, room = there < ROOM ? ROOM - there : 0;
    if (storm_chance(s, ofi_world.climate.partial))
        room = storm_random(s, room < bytes ? room : bytes);
    if (!room)
        return fails(EAGAIN);
    return put(t, from, bytes < room ? bytes : room);
}

/* A hello: a new connection has room for it. */
static ssize_t os_send_parts(int socket, const struct msghdr *message, int flags)
{
    station *p = ofi_caller();
    unsigned char all[20000];
    size_t bytes = 0;
    (void)flags;
    storm_step(ofi_world.storm, p->actor);
    thing *t = thing_of(p, socket, THING_SOCKET);
    if (!t)
        return -1;
    for (size_t i = 0; i < message->msg_iovlen; i++) {
        memcpy(all + bytes, message->msg_iov[i].iov_base, message->msg_iov[i].iov_len);
        bytes += message->msg_iov[i].iov_len;
    }
    return put(t, all, bytes);
}

static ssize_t os_receive(int socket, void *to, size_t bytes, int flags)
{
    station *p = ofi_caller();
    storm *s = ofi_world.storm;
    (void)flags;
    storm_step(s, p->actor);
    thing *t = thing_of(p, socket, THING_SOCKET);
    if (!t)
        return -1;
    chunk *c = t->first;
    if (!c || (c->at > s->now && !s->ends)) {
        if (t->ends_at > s->now && !s->ends)
            return fails(EAGAIN);
        return t->error || t->ends_at == UINT64_MAX ? fails(t->error ? t->error : ECONNRESET) : 0;
    }
    size_t n = c->bytes - c->read < bytes ? c->bytes - c->read : bytes;
    if (to)
        memcpy(to, c->data + c->read, n);
    c->read += n;
    if (c->read == c->bytes) {
        t->first = c->next;
        free(c);
    }
    return (ssize_t)n;
}

/* ---- the rest ---------------------------------------------------------------------------------------------------- */

static ssize_t os_random(void *to, size_t bytes, unsigned flags)
{
    int why = ofi_call(ofi_caller());
    (void)flags;
    for (size_t i = 0; i < bytes; i++)
        ((unsigned char *)to)[i] = (unsigned char)storm_random(ofi_world.storm, 256);
    return why ? fails(why) : (ssize_t)bytes;
}

static uint32_t os_machine(const struct sockaddr_in6 *at)
{
    (void)at;
    return 2;
}

static bool os_interface(struct sockaddr_in6 *at)
{
    *at = (struct sockaddr_in6){.sin6_family = AF_INET6};
    return true;
}

static uint32_t os_cores(uint32_t *count)
{
    *count = 0; /* not known */
    return 0;
}

const struct nbcolli_ofi_system lines_system = {.random = os_random,
                                                .cores = os_cores,
                                                .machine = os_machine,
                                                .interface = os_interface,
                                                .sleep = nbcolli_sleep,
                                                .gather = os_gather,
                                                .attend = os_attend,
                                                .ready = os_ready,
                                                .timer = os_timer,
                                                .set = os_set,
                                                .hush = os_hush,
                                                .close = os_close,
                                                .socket = os_socket,
                                                .listen = os_listen,
                                                .connect = os_connect,
                                                .accept = os_accept,
                                                .keep_alive = os_keep_alive,
                                                .error = os_error,
                                                .packet = os_packet,
                                                .is_through = os_is_through,
                                                .unsent = os_unsent,
                                                .flush = os_flush,
                                                .send = os_send,
                                                .send_parts = os_send_parts,
                                                .receive = os_receive};
