/* SPDX-License-Identifier: BSD-3-Clause
 * Ranks that nobody brings an id: they know the host by its name, and the secret from a file. See cluster.h. */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tcp.h"

#define NBCOLLI_MEET_BYTES 4096 /* of the file that count */
#define NBCOLLI_MEET_LEAST 16
#define NBCOLLI_MEET_AGAIN_MS 200 /* until a name that nobody knows is asked for again */

/* From a key and some bytes comes another key: each word of it is a hash of them by the former one. */
static void nbcolli_meet_stir(uint64_t key[2], const void *data, size_t bytes)
{
    uint64_t word[4] = {0}, next[2];

    for (size_t done = 0; done < bytes; done += 16) {
        size_t n = bytes - done < 16 ? bytes - done : 16;
        memset(word, 0, sizeof word);
        memcpy(word + 1, (const char *)data + done, n);
        word[3] = n;
        for (uint64_t i = 0; i < 2; i++) {
            word[0] = i;
            next[i] = nbcolli_tcp_hash(key, word, 4);
        }
        memcpy(key, next, sizeof next);
    }
}

/* The key of these ranks: from the file, which nobody else may read or write, and from what names them. */
static nbcoll_status nbcolli_meet_secret(const nbcoll_tcp_place *place, uint64_t key[2])
{
    char text[NBCOLLI_MEET_BYTES];
    struct stat about;
    int fd = open(place->secret, O_RDONLY | O_CLOEXEC);
    ssize_t bytes = -1;

    if (fd < 0)
        return NBCOLL_ERR_ARGUMENT;
    if (fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && !(about.st_mode & (S_IRWXO | S_IWGRP)))
        bytes = read(fd, text, sizeof text);
    close(fd);
    if (bytes < NBCOLLI_MEET_LEAST)
        return NBCOLL_ERR_ARGUMENT;
    memcpy(key, text, 16);
    nbcolli_meet_stir(key, text, (size_t)bytes);
    if (place->job)
        nbcolli_meet_stir(key, place->job, strlen(place->job));
    explicit_bzero(text, sizeof text);
    return NBCOLL_OK;
}

/* Asks for the name until somebody knows it: a machine that starts may not have one yet. */
static nbcoll_status nbcolli_meet_resolve(nbcoll_tcp *t, const char *host, uint32_t port)
{
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    uint64_t until = nbcolli_tcp_until(t, t->timeout);
    struct addrinfo *all = NULL;
    char service[12];

    snprintf(service, sizeof service, "%u", (unsigned)port);
    while (getaddrinfo(host, service, &hints, &all) != 0) {
        if (nbcolli_now(&t->host) >= until)
            return NBCOLL_ERR_TIMEOUT;
        poll(NULL, 0, NBCOLLI_MEET_AGAIN_MS);
    }
    for (const struct addrinfo *i = all; i && t->addresses < NBCOLLI_TCP_ADDRESSES; i = i->ai_next)
        if (i->ai_addrlen <= sizeof t->address->at) {
            nbcolli_tcp_address *address = &t->address[t->addresses++];
            address->bytes = i->ai_addrlen;
            memcpy(&address->at, i->ai_addr, i->ai_addrlen);
        }
    freeaddrinfo(all);
    return t->addresses ? NBCOLL_OK : NBCOLL_ERR_TRANSPORT;
}

nbcoll_status nbcoll_tcp_meet(const nbcoll_tcp_config *config, const nbcoll_tcp_place *place, nbcoll_tcp **out)
{
    nbcoll_tcp_config c = {0};
    nbcoll_tcp_place p = {0};
    nbcoll_tcp *t;
    int family;

    if (!config || !place || !out)
        return NBCOLL_ERR_NULL;
    if (nbcolli_copy_tagged(&p, place, sizeof p) != NBCOLL_OK)
        return NBCOLL_ERR_CONFIG;
    if (!p.host || !p.secret)
        return NBCOLL_ERR_NULL;
    nbcoll_status status = nbcolli_tcp_new(config, &c, &t);
    if (status != NBCOLL_OK)
        return status;
    if (c.port == 0)
        status = NBCOLL_ERR_CONFIG;
    else
        status = nbcolli_meet_secret(&p, t->secret);
    t->is_patient = true;
    if (status == NBCOLL_OK && c.rank == 0)
        status = (t->listener = nbcolli_tcp_listen((uint16_t)c.port, &family)) < 0 ? NBCOLL_ERR_TRANSPORT : NBCOLL_OK;
    else if (status == NBCOLL_OK)
        status = nbcolli_meet_resolve(t, p.host, c.port);
    if (status != NBCOLL_OK)
        nbcoll_tcp_close(t);
    else
        *out = t;
    return status;
}
