/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Control messages between processes that are to become ranks. See socket.h.
 */
#include <errno.h>
#include <stddef.h>
#include <sys/un.h>

#include "socket.h"

#define NBCOLLI_SHM_NAME "nbcoll-shm-"

union nbcolli_shm_ancillary {
    struct cmsghdr align;
    unsigned char space[CMSG_SPACE(NBCOLLI_SHM_CONTROL_FDS * sizeof(int))];
};

struct nbcolli_shm_control nbcolli_shm_control(const struct nbcolli_shm_boot *b, enum nbcolli_shm_stage stage,
                                             nbcoll_status status)
{
    return (struct nbcolli_shm_control){.magic = NBCOLLI_SHM_MAGIC,
                                       .abi = NBCOLL_ABI,
                                       .version = NBCOLLI_SHM_VERSION,
                                       .stage = stage,
                                       .status = status,
                                       .rank = b->config->rank,
                                       .layout = b->layout};
}

nbcoll_status nbcolli_shm_await(struct nbcolli_shm_boot *b, struct pollfd *fds, nfds_t n, int longest)
{
    uint64_t left = nbcolli_time_left(b->host, b->deadline, (uint64_t)longest * 1000000u);
    nbcoll_status s = left ? b->os->sleep(b->host, fds, n, left, &b->looks) : NBCOLL_ERR_TIMEOUT;

    return s == NBCOLL_ERR_TRANSPORT ? nbcolli_shm_status(errno) : s;
}

/* ---- sockets ----------------------------------------------------------------------------------------------------- */

static socklen_t nbcolli_shm_address(const nbcoll_shm_id *id, struct sockaddr_un *out)
{
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(out->sun_path + 1, NBCOLLI_SHM_NAME, sizeof NBCOLLI_SHM_NAME - 1);
    memcpy(out->sun_path + sizeof NBCOLLI_SHM_NAME, id->text, sizeof id->text - 1);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + sizeof NBCOLLI_SHM_NAME + sizeof id->text - 1);
}

nbcoll_status nbcolli_shm_listen(const struct nbcolli_shm_system *os, const nbcoll_shm_id *id, int ranks, int *out)
{
    struct sockaddr_un address;
    socklen_t bytes = nbcolli_shm_address(id, &address);

    *out = os->listen((struct sockaddr *)&address, bytes, ranks);
    if (*out >= 0)
        return NBCOLL_OK;
    return errno == EADDRINUSE ? NBCOLL_ERR_DUPLICATE : nbcolli_shm_status(errno);
}

nbcoll_status nbcolli_shm_accept(const struct nbcolli_shm_system *os, int listener, int *out, int *pid,
                                 nbcoll_status *refused)
{
    *out = os->accept(listener);
    *pid = 0;
    *refused = NBCOLL_OK;
    if (*out < 0)
        return errno == EAGAIN || errno == EINTR || errno == ECONNABORTED ? NBCOLL_PENDING
                                                                          : nbcolli_shm_status(errno);
    *refused = os->identify(*out, pid);
    return NBCOLL_OK;
}

nbcoll_status nbcolli_shm_connect(struct nbcolli_shm_boot *b, const nbcoll_shm_id *id, int *out, nbcoll_status *refused)
{
    struct sockaddr_un address;
    socklen_t bytes = nbcolli_shm_address(id, &address);
    nbcoll_status s = NBCOLL_PENDING;
    int fd = b->os->socket(), pid;

    if (fd < 0)
        return nbcolli_shm_status(errno);
    while (s == NBCOLL_PENDING && b->os->connect(fd, (struct sockaddr *)&address, bytes) != 0) {
        if (errno == ECONNREFUSED || errno == EAGAIN || errno == EINTR) /* not there yet, or busy */
            s = nbcolli_shm_await(b, NULL, 0, 2);
        else
            s = nbcolli_shm_status(errno);
    }
    if (s != NBCOLL_PENDING) {
        b->os->close(fd);
        return s;
    }
    *refused = b->os->identify(fd, &pid);
    *out = fd;
    return NBCOLL_OK;
}

/* ---- control messages -------------------------------------------------------------------------------------------- */

/* A control message without descriptors goes by send: so it works also where a system call filter refuses sendmsg. */
nbcoll_status nbcolli_shm_send(const struct nbcolli_shm_system *os, int socket, const struct nbcolli_shm_control *l,
                               const int *fd, int fds)
{
    union nbcolli_shm_ancillary control = {0};
    struct iovec part = {(void *)(uintptr_t)l, sizeof *l};
    struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};
    ssize_t bytes;

    if (fds) {
        m.msg_control = control.space;
        m.msg_controllen = CMSG_SPACE((size_t)fds * sizeof fd[0]);
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN((size_t)fds * sizeof fd[0]);
        memcpy(CMSG_DATA(c), fd, (size_t)fds * sizeof fd[0]);
    }
    do /* without waiting: there is always room, since each message is answered before the next */
        bytes = fds ? os->send_with(socket, &m, MSG_NOSIGNAL | MSG_DONTWAIT)
                    : os->send(socket, l, sizeof *l, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (bytes < 0 && errno == EINTR);
    if (bytes == sizeof *l)
        return NBCOLL_OK;
    return errno == EPIPE || errno == ECONNRESET || errno == ENOTCONN ? NBCOLL_ERR_PEER_LOST
                                                                      : nbcolli_shm_status(errno);
}

/* The descriptors that came with a message. */
static int nbcolli_shm_descriptors_of(struct msghdr *m, int fd[])
{
    int fds = 0;

    for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c))
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
            size_t bytes = c->cmsg_len - CMSG_LEN(0);
            memcpy(fd + fds, CMSG_DATA(c), bytes);
            fds += (int)(bytes / sizeof fd[0]);
        }
    return fds;
}

nbcoll_status nbcolli_shm_receive(const struct nbcolli_shm_system *os, int socket, struct nbcolli_shm_control *l,
                                  int fd[], int *fds)
{
    union nbcolli_shm_ancillary control;
    struct iovec part = {l, sizeof *l};
    struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.space,
                       .msg_controllen = sizeof control.space};
    ssize_t bytes = os->receive(socket, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    nbcoll_status s = NBCOLL_OK;

    if (bytes < 0 && errno == ECONNRESET) /* closed without reading us; its last message comes next */
        bytes = os->receive(socket, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    *fds = 0;
    if (bytes < 0 && (errno == EAGAIN || errno == EINTR))
        return NBCOLL_PENDING;
    if (bytes <= 0)
        return bytes == 0 || errno == ECONNRESET ? NBCOLL_ERR_PEER_LOST : nbcolli_shm_status(errno);
    *fds = nbcolli_shm_descriptors_of(&m, fd);
    if (bytes != sizeof *l || m.msg_flags & MSG_TRUNC || l->magic != NBCOLLI_SHM_MAGIC || l->abi != NBCOLL_ABI ||
        l->version != NBCOLLI_SHM_VERSION || nbcolli_ended_as(l->status) != (nbcoll_status)l->status)
        s = NBCOLL_ERR_ABI;
    else if (m.msg_flags & MSG_CTRUNC)
        s = NBCOLL_ERR_TRANSPORT;
    while (s != NBCOLL_OK && *fds)
        os->close(fd[--*fds]);
    return s;
}
