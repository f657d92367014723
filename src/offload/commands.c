/* SPDX-License-Identifier: BSD-3-Clause
 * Control messages, rings, and memory of two processes: see commands.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memfd_create, seals */
#endif
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "commands.h"

#define NBCOLLI_COMMANDS_SEALS (F_SEAL_SHRINK | F_SEAL_GROW)

nbcolli_commands_control nbcolli_commands_control_of(int rank, int ranks)
{
    return (nbcolli_commands_control){.magic = NBCOLLI_COMMANDS_MAGIC,
                                 .abi = NBCOLL_ABI,
                                 .task = sizeof(nbcoll_task),
                                 .view = sizeof(nbcoll_queue_view),
                                 .rank = rank,
                                 .ranks = ranks,
                                 .pid = getpid()};
}

union nbcolli_commands_ancillary {
    struct cmsghdr align;
    unsigned char space[CMSG_SPACE(sizeof(int))];
};

static nbcoll_status nbcolli_commands_error(int error)
{
    return error == EPIPE || error == ECONNRESET || error == ENOTCONN ? NBCOLL_ERR_PEER_LOST : NBCOLL_ERR_TRANSPORT;
}

nbcoll_status nbcolli_commands_send(int socket, const nbcolli_commands_control *l, int fd)
{
    union nbcolli_commands_ancillary control = {0};
    struct iovec part = {(void *)(uintptr_t)l, sizeof *l};
    struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};
    ssize_t bytes;
    if (fd >= 0) {
        m.msg_control = control.space;
        m.msg_controllen = sizeof control.space;
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof fd);
        memcpy(CMSG_DATA(c), &fd, sizeof fd);
    }
    do /* there is room: each control message is answered before the next */
        bytes = sendmsg(socket, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (bytes < 0 && errno == EINTR);
    return bytes == sizeof *l ? NBCOLL_OK : bytes < 0 ? nbcolli_commands_error(errno) : NBCOLL_ERR_TRANSPORT;
}

nbcoll_status nbcolli_commands_receive(int socket, nbcolli_commands_control *l, int *fd)
{
    union nbcolli_commands_ancillary control;
    struct iovec part = {l, sizeof *l};
    struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.space,
                       .msg_controllen = sizeof control.space};
    *fd = -1;
    ssize_t bytes = recvmsg(socket, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (bytes < 0)
        return errno == EAGAIN || errno == EINTR ? NBCOLL_PENDING : nbcolli_commands_error(errno);
    if (bytes == 0)
        return NBCOLL_ERR_PEER_LOST;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c))
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) /* no room for more than one */
            memcpy(fd, CMSG_DATA(c), sizeof *fd);
    nbcolli_commands_control own = nbcolli_commands_control_of(0, 0);
    nbcoll_status status = NBCOLL_OK;
    if (bytes != sizeof *l || m.msg_flags & MSG_TRUNC || l->magic != own.magic || l->abi != own.abi ||
        l->task != own.task || l->view != own.view)
        status = NBCOLL_ERR_ABI;
    else if (m.msg_flags & MSG_CTRUNC) /* no descriptor was left here */
        status = NBCOLL_ERR_TRANSPORT;
    if (status != NBCOLL_OK && *fd >= 0) {
        close(*fd);
        *fd = -1;
    }
    return status;
}

void nbcolli_commands_ring(int socket)
{
    (void)!send(socket, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT); /* without room for it there are rings enough */
}

int nbcolli_commands_watch(int pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}

int nbcolli_commands_hush(int socket, int watch)
{
    struct pollfd ended = {watch, POLLIN, 0};
    char ring[16];
    if (watch >= 0 && poll(&ended, 1, 0) > 0)
        return 0;
    for (;;) {
        ssize_t bytes = recv(socket, ring, sizeof ring, MSG_DONTWAIT);
        if (bytes < 0 && errno == EINTR)
            continue;
        if (bytes <= 0)
            return bytes < 0 && errno == EAGAIN;
    }
}

nbcoll_status nbcolli_commands_make(size_t bytes, int *out)
{
    int error, fd = memfd_create("nbcoll-agent", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return errno == ENOSYS ? NBCOLL_ERR_UNSUPPORTED : NBCOLL_ERR_MEMORY;
    while ((error = posix_fallocate(fd, 0, (off_t)bytes)) == EINTR) /* now, rather than a signal at a later access */
        ;
    if (error || fcntl(fd, F_ADD_SEALS, NBCOLLI_COMMANDS_SEALS) != 0) {
        close(fd);
        return NBCOLL_ERR_MEMORY;
    }
    *out = fd;
    return NBCOLL_OK;
}

nbcoll_status nbcolli_commands_map(int fd, size_t bytes, void **out)
{
    struct stat st;
    int seals = fcntl(fd, F_GET_SEALS);
    if (seals < 0 || (seals & NBCOLLI_COMMANDS_SEALS) != NBCOLLI_COMMANDS_SEALS || fstat(fd, &st) != 0 ||
        st.st_size < 0 || (size_t)st.st_size != bytes)
        return NBCOLL_ERR_ABI;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        return NBCOLL_ERR_MEMORY;
    *out = memory;
    return NBCOLL_OK;
}

void nbcolli_commands_unmap(void *memory, size_t bytes)
{
    if (memory)
        munmap(memory, bytes);
}
