/* SPDX-License-Identifier: BSD-3-Clause
 * How ranks in two guests learn each other's addresses, or anything else: rank 0, in the first one, takes a message of
 * each other rank, and sends all of them back. Include crew.h first. */
#ifndef TEST_VM_EXCHANGE_H
#define TEST_VM_EXCHANGE_H

#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { EXCHANGE_RANKS = 16, EXCHANGE_BYTES = 1024 };

struct message {
    int rank;
    unsigned char text[EXCHANGE_BYTES];
};

static inline void exchange_collect(const struct sockaddr_in *at, int ranks, unsigned char *all, size_t bytes)
{
    int listening = socket(AF_INET, SOCK_STREAM, 0), from[EXCHANGE_RANKS] = {0}, on = 1;
    ssize_t total = (ssize_t)((size_t)ranks * bytes);
    struct message l;

    CHECK(setsockopt(listening, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0);
    CHECK(bind(listening, (const struct sockaddr *)at, sizeof *at) == 0 && listen(listening, ranks) == 0);
    for (int i = 1; i < ranks; i++) {
        from[i] = accept(listening, NULL, NULL);
        CHECK(recv(from[i], &l, sizeof l, MSG_WAITALL) == sizeof l && l.rank > 0 && l.rank < ranks);
        memcpy(all + (size_t)l.rank * bytes, l.text, bytes);
    }
    for (int i = 1; i < ranks; i++) {
        CHECK(send(from[i], all, (size_t)total, 0) == total);
        close(from[i]);
    }
    close(listening);
}

static inline void exchange_ask(const struct sockaddr_in *at, int rank, int ranks, unsigned char *all, size_t bytes)
{
    ssize_t total = (ssize_t)((size_t)ranks * bytes);
    struct message l = {.rank = rank};
    uint64_t until = clock_ns() + 60 * SECOND;
    int fd;

    memcpy(l.text, all + (size_t)rank * bytes, bytes);
    while (fd = socket(AF_INET, SOCK_STREAM, 0), connect(fd, (const struct sockaddr *)at, sizeof *at) != 0) {
        close(fd); /* the other guest may still be starting */
        CHECK(clock_ns() < until);
        usleep(50000);
    }
    CHECK(send(fd, &l, sizeof l, 0) == sizeof l);
    CHECK(recv(fd, all, (size_t)total, MSG_WAITALL) == total);
    close(fd);
}

/* all[rank * bytes ..) is this rank's; returns with those of all. The port is new for each exchange. */
static inline void exchange_all(uint16_t port, int rank, int ranks, void *all, size_t bytes)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};

    CHECK(bytes <= EXCHANGE_BYTES);
    inet_pton(AF_INET, "10.7.0.1", &at.sin_addr);
    if (rank == 0)
        exchange_collect(&at, ranks, all, bytes);
    else
        exchange_ask(&at, rank, ranks, all, bytes);
}

#endif
