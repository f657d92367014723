/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The sockets by which shm's ranks find each other: connections, control messages with descriptors, all some time under
 * way. Who closes one, or dies, is found out behind what it has said; a control message that nobody has read comes back
 * as a reset.
 */
#include <stdlib.h>
#include <string.h>

#include "shm.h"
#include "../../transports/shm/socket.h"

static uint64_t delay(storm *s)
{
    return storm_random(s, storm_chance(s, 50) ? 20 * MILLISECOND : 20 * MICROSECOND);
}

static int fails(int why)
{
    errno = why;
    return -1;
}

int sockets_socket(void)
{
    process *p = shm_caller();
    int why = shm_call(p);
    return why ? fails(why) : shm_descriptor(p, shm_file(p, FILE_SOCKET));
}

static file *listener_at(storm *s, const struct sockaddr *at, socklen_t bytes)
{
    for (file *f = s->shm->files; f; f = f->next)
        if (f->kind == FILE_LISTENER && f->users && f->name_bytes == bytes && !memcmp(f->name, at, bytes))
            return f;
    return NULL;
}

int sockets_listen(const struct sockaddr *at, socklen_t bytes, int most)
{
    process *p = shm_caller();
    int why = shm_call(p);
    (void)most;
    if (why || listener_at(p->actor->storm, at, bytes))
        return fails(why ? why : EADDRINUSE);
    file *f = shm_file(p, FILE_LISTENER);
    f->name_bytes = bytes < sizeof f->name ? bytes : sizeof f->name;
    memcpy(f->name, at, f->name_bytes);
    return shm_descriptor(p, f);
}

int sockets_connect(int socket, const struct sockaddr *at, socklen_t bytes)
{
    process *p = shm_caller();
    storm *s = p->actor->storm;
    int why = shm_call(p);
    file *f = shm_file_of(p, socket, FILE_SOCKET), *listener = listener_at(s, at, bytes);
    if (why || !f)
        return fails(why ? why : EBADF);
    if (!listener)
        return fails(ECONNREFUSED);
    if (listener->n_waiting == RANKS_MOST || storm_chance(s, 100) || shm_is_interrupted(p))
        return fails(listener->n_waiting == RANKS_MOST || storm_chance(s, 500) ? EAGAIN : EINTR);
    file *other = shm_file(&s->shm->process[listener->process], FILE_SOCKET);
    other->users = 1; /* it waits */
    f->other = other;
    other->other = f;
    f->peer = listener->process;
    other->peer = p->actor->rank;
    f->is_connected = other->is_connected = true;
    listener->waiting[listener->n_waiting] = other;
    listener->waiting_at[listener->n_waiting++] = s->now + delay(s);
    return 0;
}

static int next_waiting(storm *s, const file *f)
{
    for (int i = 0; i < f->n_waiting; i++)
        if (f->waiting_at[i] <= s->now || s->ends)
            return i;
    return -1;
}

int sockets_accept(int listener)
{
    process *p = shm_caller();
    storm *s = p->actor->storm;
    int why = shm_call(p);
    file *f = shm_file_of(p, listener, FILE_LISTENER);
    if (why || !f)
        return fails(why ? why : EBADF);
    int i = next_waiting(s, f);
    if (i < 0 || shm_is_interrupted(p))
        return fails(i < 0 ? EAGAIN : EINTR);
    file *other = f->waiting[i];
    f->n_waiting--;
    memmove(f->waiting + i, f->waiting + i + 1, (size_t)(f->n_waiting - i) * sizeof f->waiting[0]);
    memmove(f->waiting_at + i, f->waiting_at + i + 1, (size_t)(f->n_waiting - i) * sizeof f->waiting_at[0]);
    int fd = shm_descriptor(p, other);
    other->users--;
    return fd;
}

/* As the kernel: who has connected, and to whom, also when that has closed it. */
nbcoll_status sockets_identify(int socket, int *pid)
{
    process *p = shm_caller();
    file *f = shm_file_of(p, socket, FILE_SOCKET);
    shm_call(p);
    if (!f)
        return NBCOLL_ERR_TRANSPORT;
    *pid = PID_FIRST + f->peer;
    return NBCOLL_OK;
}

/* ---- control messages -------------------------------------------------------------------------------------------- */

static ssize_t put(process *p, file *f, const void *from, size_t bytes, const int *fd, int fds)
{
    storm *s = p->actor->storm;
    file *other = f->other;
    if (!other)
        return fails(f->is_connected ? EPIPE : ENOTCONN);
    control *l = malloc(sizeof *l + bytes), **last = &other->first;
    *l = (control){.bytes = bytes, .at = s->now + delay(s)};
    memcpy(l->data, from, bytes);
    for (int i = 0; i < fds; i++) {
        size_t at = (size_t)(fd[i] - FD_FIRST);
        if (at >= s->shm->descriptors || s->shm->descriptor[at].process != p->actor->rank ||
            !s->shm->descriptor[at].file) {
            storm_find(s, "rank %d sends a descriptor that it has not", p->actor->rank);
            break;
        }
        l->file[l->files] = s->shm->descriptor[at].file;
        l->file[l->files++]->users++;
    }
    for (; *last; last = &(*last)->next)
        l->at = l->at > (*last)->at ? l->at : (*last)->at;
    *last = l;
    if (bytes == sizeof(struct nbcolli_shm_control))
        p->has_tried = ((const struct nbcolli_shm_control *)from)->stage == NBCOLLI_SHM_TRIED;
    return (ssize_t)bytes;
}

ssize_t sockets_send(int socket, const void *from, size_t bytes, int flags)
{
    process *p = shm_caller();
    file *f = shm_file_of(p, socket, FILE_SOCKET);
    int why = shm_call(p);
    (void)flags;
    if (!f || why || shm_is_interrupted(p))
        return fails(!f ? EBADF : why ? why : EINTR);
    return put(p, f, from, bytes, NULL, 0);
}

ssize_t sockets_send_with(int socket, const struct msghdr *message, int flags)
{
    process *p = shm_caller();
    file *f = shm_file_of(p, socket, FILE_SOCKET);
    const struct cmsghdr *c = CMSG_FIRSTHDR(message);
    int why = shm_call(p), fd[2 + 2 * RANKS_MOST];
    size_t bytes = c ? c->cmsg_len - CMSG_LEN(0) : 0;
    (void)flags;
    if (!f || why || shm_is_interrupted(p))
        return fails(!f ? EBADF : why ? why : EINTR);
    if (bytes > sizeof fd)
        return fails(EINVAL);
    if (bytes)
        memcpy(fd, CMSG_DATA(c), bytes);
    return put(p, f, message->msg_iov[0].iov_base, message->msg_iov[0].iov_len, fd, (int)(bytes / sizeof fd[0]));
}

bool shm_has_come(storm *s, const file *f)
{
    if (f->kind == FILE_LISTENER)
        return next_waiting(s, f) >= 0;
    if (f->kind == FILE_BELL)
        return f->rung;
    if (f->kind != FILE_SOCKET)
        return false;
    return f->is_reset || (f->first ? f->first->at <= s->now || s->ends : f->is_connected && !f->other);
}

/* The descriptors that came with a control message are the receiver's. */
static void take_files(process *p, const control *l, struct msghdr *m)
{
    int fd[2 + 2 * RANKS_MOST];
    size_t bytes = (size_t)l->files * sizeof fd[0];

    for (int i = 0; i < l->files; i++) {
        fd[i] = shm_descriptor(p, l->file[i]);
        l->file[i]->users--;
    }
    if (!l->files || m->msg_controllen < CMSG_SPACE(bytes)) {
        m->msg_controllen = 0;
        return;
    }
    struct cmsghdr *c = CMSG_FIRSTHDR(m);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(bytes);
    memcpy(CMSG_DATA(c), fd, bytes);
    m->msg_controllen = CMSG_SPACE(bytes);
}

ssize_t sockets_receive(int socket, struct msghdr *m, int flags)
{
    process *p = shm_caller();
    storm *s = p->actor->storm;
    file *f = shm_file_of(p, socket, FILE_SOCKET);
    int why = shm_call(p);
    (void)flags;
    if (!f || why || shm_is_interrupted(p))
        return fails(!f ? EBADF : why ? why : EINTR);
    if (!shm_has_come(s, f))
        return fails(EAGAIN);
    if (f->is_reset) {
        f->is_reset = false;
        return fails(ECONNRESET);
    }
    control *l = f->first;
    if (!l)
        return 0;
    f->first = l->next;
    size_t room = m->msg_iov[0].iov_len, bytes = l->bytes < room ? l->bytes : room;
    memcpy(m->msg_iov[0].iov_base, l->data, bytes);
    m->msg_flags = l->bytes > room ? MSG_TRUNC : 0;
    take_files(p, l, m);
    free(l);
    return (ssize_t)bytes;
}

/* Nobody has it any more. */
void shm_file_ends(storm *s, file *f)
{
    if (f->kind == FILE_LISTENER)
        while (f->n_waiting)
            shm_release(s, f->waiting[--f->n_waiting]);
    if (f->other) {
        f->other->is_reset |= f->first != NULL;
        f->other->other = NULL;
    }
    f->other = NULL;
    while (f->first) {
        control *l = f->first;
        f->first = l->next;
        while (l->files)
            shm_release(s, l->file[--l->files]);
        free(l);
    }
}

/* ---- waiting ----------------------------------------------------------------------------------------------------- */

static bool is_ready(process *p, struct pollfd *fds, size_t n)
{
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        fds[i].revents = 0;
        size_t at = (size_t)(fds[i].fd - FD_FIRST);
        if (fds[i].fd >= 0 && at < p->actor->storm->shm->descriptors && p->actor->storm->shm->descriptor[at].file)
            fds[i].revents = shm_has_come(p->actor->storm, p->actor->storm->shm->descriptor[at].file) ? POLLIN : 0;
        any |= fds[i].revents != 0;
    }
    return any;
}

/* Ends when something has come, at its end, or, unless the caller has looked often, for nothing. Whoever opens may wait
 * until its deadline for one that has died or failed: its clock ends that, and no number of steps. */
nbcoll_status sockets_sleep(const nbcoll_host *host, struct pollfd *fds, size_t n, uint64_t longest, uint64_t *looks)
{
    process *p = shm_caller();
    storm *s = p->actor->storm;
    (void)host;
    shm_call(p);
    ++*looks;
    if (is_ready(p, fds, n))
        return NBCOLL_OK;
    uint64_t most = s->ends ? longest : storm_chance(s, 100) || *looks > 1000 ? 100 * MILLISECOND : 50 * MICROSECOND;
    s->steps_moved = s->steps;
    storm_stay(s, 1 + storm_random(s, longest < most ? longest : most));
    return is_ready(p, fds, n) ? NBCOLL_OK : NBCOLL_PENDING;
}
