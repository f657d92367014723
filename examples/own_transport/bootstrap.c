/* SPDX-License-Identifier: BSD-3-Clause
 * Where the sockets come from. Rank r listens at an abstract address (no file is left behind) made of the name and r,
 * connects to all ranks below it, and is connected to by those above, who say first who they are. Any process of this
 * network namespace that knows the name could do so: a transport for more than an example also asks for SO_PEERCRED. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "bootstrap.h"

enum { SECONDS = 60 };

static socklen_t address_of(const char *name, int rank, struct sockaddr_un *out)
{
    memset(out, 0, sizeof *out);
    out->sun_family = AF_UNIX; /* sun_path begins with a zero byte: abstract */
    int length = snprintf(out->sun_path + 1, sizeof out->sun_path - 1, "%.40s-%d", name, rank);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

static int new_socket(void)
{
    return socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
}

/* The peer may not listen yet. */
static nbcoll_status connect_to(const char *name, int peer, int me, time_t end, int *out)
{
    struct sockaddr_un address;
    socklen_t length = address_of(name, peer, &address);
    if ((*out = new_socket()) < 0)
        return NBCOLL_ERR_TRANSPORT;
    while (connect(*out, (struct sockaddr *)&address, length) < 0) {
        if (errno != ECONNREFUSED && errno != EAGAIN)
            return NBCOLL_ERR_TRANSPORT;
        if (time(NULL) > end)
            return NBCOLL_ERR_TIMEOUT;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return send(*out, &me, sizeof me, MSG_NOSIGNAL) == sizeof me ? NBCOLL_OK : NBCOLL_ERR_TRANSPORT;
}

static nbcoll_status accept_one(int listening, int me, int ranks, time_t end, int fd[])
{
    struct pollfd comes = {listening, POLLIN, 0};
    int one = -1, peer = -1;
    for (int ready = 0; ready == 0; ready = poll(&comes, 1, 1000))
        if (time(NULL) > end)
            return NBCOLL_ERR_TIMEOUT;
    one = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
    if (one < 0 || recv(one, &peer, sizeof peer, 0) != sizeof peer || peer <= me || peer >= ranks || fd[peer] >= 0) {
        close(one);
        return NBCOLL_ERR_TRANSPORT;
    }
    fd[peer] = one;
    return NBCOLL_OK;
}

nbcoll_status socket_connect(const char *name, int rank, int ranks, int fd[])
{
    const time_t end = time(NULL) + SECONDS;
    struct sockaddr_un address;
    socklen_t length = address_of(name, rank, &address);
    nbcoll_status status = NBCOLL_OK;

    for (int i = 0; i < ranks; i++)
        fd[i] = -1;
    int listening = new_socket();
    if (listening < 0 || bind(listening, (struct sockaddr *)&address, length) < 0 || listen(listening, ranks) < 0)
        status = NBCOLL_ERR_TRANSPORT;
    for (int i = 0; i < rank && status == NBCOLL_OK; i++)
        status = connect_to(name, i, rank, end, &fd[i]);
    for (int i = rank + 1; i < ranks && status == NBCOLL_OK; i++)
        status = accept_one(listening, rank, ranks, end, fd);
    close(listening);
    for (int i = 0; i < ranks && status != NBCOLL_OK; i++)
        if (fd[i] >= 0)
            close(fd[i]);
    return status;
}

nbcoll_status socket_pairs(int ranks, int fd[])
{
    for (int a = 0; a < ranks; a++)
        for (int b = a; b < ranks; b++) {
            int pair[2] = {-1, -1};
            if (a != b && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
                return NBCOLL_ERR_TRANSPORT;
            fd[a * ranks + b] = pair[0];
            fd[b * ranks + a] = pair[1];
        }
    return NBCOLL_OK;
}
