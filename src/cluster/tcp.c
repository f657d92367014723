/* SPDX-License-Identifier: BSD-3-Clause
 * Ids, opening and closing of an exchange by TCP: see tcp.h. */
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tcp.h"

/* ---- listening --------------------------------------------------------------------------------------------------- */

/* One socket for both families, where the system has IPv6. */
int nbcolli_tcp_listen(uint16_t port, int *family)
{
    struct sockaddr_in6 any6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons(port)};
    int off = 0, on = 1, fd;

    for (*family = AF_INET6; *family; *family = *family == AF_INET6 ? AF_INET : 0) {
        bool six = *family == AF_INET6;
        const struct sockaddr *at = six ? (struct sockaddr *)&any6 : (struct sockaddr *)&any;
        fd = socket(*family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (fd < 0)
            continue;
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        if ((!six || setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) == 0) &&
            bind(fd, at, six ? sizeof any6 : sizeof any) == 0 && listen(fd, SOMAXCONN) == 0)
            return fd;
        close(fd);
    }
    return -1;
}

/* ---- ids --------------------------------------------------------------------------------------------------------- */

/* May another machine, or at least this one, reach the interface by this address? */
static bool nbcolli_tcp_counts(const struct ifaddrs *i, int family, bool loops)
{
    if (!i->ifa_addr || !(i->ifa_flags & IFF_UP) || loops != ((i->ifa_flags & IFF_LOOPBACK) != 0))
        return false;
    if (i->ifa_addr->sa_family == AF_INET)
        return true;
    return i->ifa_addr->sa_family == AF_INET6 && family == AF_INET6 &&
           !IN6_IS_ADDR_LINKLOCAL(&((const struct sockaddr_in6 *)(const void *)i->ifa_addr)->sin6_addr);
}

/* Appends the addresses of interfaces; of the loopback only where there is no other. How many. */
static int nbcolli_tcp_write_addresses(nbcoll_tcp_id *id, int family, bool loops)
{
    struct ifaddrs *all, *i;
    int n = 0;

    if (getifaddrs(&all) != 0)
        return 0;
    for (i = all; i && n < NBCOLLI_TCP_ADDRESSES; i = i->ifa_next) {
        char text[INET6_ADDRSTRLEN];
        size_t length = strlen(id->text);
        if (!nbcolli_tcp_counts(i, family, loops))
            continue;
        const void *raw = i->ifa_addr->sa_family == AF_INET
                              ? (const void *)&((const struct sockaddr_in *)(const void *)i->ifa_addr)->sin_addr
                              : (const void *)&((const struct sockaddr_in6 *)(const void *)i->ifa_addr)->sin6_addr;
        if (!inet_ntop(i->ifa_addr->sa_family, raw, text, sizeof text) || length + strlen(text) + 2 > sizeof id->text)
            continue;
        snprintf(id->text + length, sizeof id->text - length, "%s%s", n ? "," : "", text);
        n++;
    }
    freeifaddrs(all);
    return n;
}

static bool nbcolli_tcp_write_id(const nbcoll_tcp *t, int family, nbcoll_tcp_id *id)
{
    struct sockaddr_storage at;
    socklen_t bytes = sizeof at;

    if (getsockname(t->listener, (struct sockaddr *)&at, &bytes) != 0)
        return false;
    unsigned port = ntohs(family == AF_INET6 ? ((struct sockaddr_in6 *)(void *)&at)->sin6_port
                                             : ((struct sockaddr_in *)(void *)&at)->sin_port);
    snprintf(id->text, sizeof id->text, "%016llx%016llx-%u-", (unsigned long long)t->secret[0],
             (unsigned long long)t->secret[1], port);
    return nbcolli_tcp_write_addresses(id, family, false) || nbcolli_tcp_write_addresses(id, family, true);
}

static bool nbcolli_tcp_read_address(const char *text, size_t length, uint16_t port, nbcolli_tcp_address *out)
{
    char one[INET6_ADDRSTRLEN];
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(port)};

    if (length >= sizeof one)
        return false;
    memcpy(one, text, length);
    one[length] = 0;
    if (inet_pton(AF_INET, one, &four.sin_addr) == 1) {
        memcpy(&out->at, &four, out->bytes = sizeof four);
        return true;
    }
    memcpy(&out->at, &six, out->bytes = sizeof six);
    return inet_pton(AF_INET6, one, &((struct sockaddr_in6 *)(void *)&out->at)->sin6_addr) == 1;
}

/* Lower-case hexadecimal digits. */
static bool nbcolli_tcp_read_hex(const char *text, uint64_t *out)
{
    static const char digits[] = "0123456789abcdef";

    *out = 0;
    for (int i = 0; i < 16; i++) {
        const char *digit = text[i] ? strchr(digits, text[i]) : NULL;
        if (!digit)
            return false;
        *out = *out << 4 | (uint64_t)(digit - digits);
    }
    return true;
}

static bool nbcolli_tcp_read_id(nbcoll_tcp *t, const nbcoll_tcp_id *id)
{
    const char *c = id->text;
    uint32_t port = 0;

    if (!memchr(id->text, 0, sizeof id->text) || !nbcolli_tcp_read_hex(c, &t->secret[0]) ||
        !nbcolli_tcp_read_hex(c + 16, &t->secret[1]) || c[32] != '-')
        return false;
    for (c += 33; *c >= '0' && *c <= '9' && port < 65536; c++)
        port = 10 * port + (uint32_t)(*c - '0');
    if (*c != '-' || port == 0 || port > 65535)
        return false;
    do {
        size_t length = strcspn(++c, ",");
        if (t->addresses == NBCOLLI_TCP_ADDRESSES ||
            !nbcolli_tcp_read_address(c, length, (uint16_t)port, &t->address[t->addresses++]))
            return false;
        c += length;
    } while (*c);
    return true;
}

/* ---- opening and closing ----------------------------------------------------------------------------------------- */

nbcoll_status nbcolli_tcp_new(const nbcoll_tcp_config *config, nbcoll_tcp_config *c, nbcoll_tcp **out)
{
    nbcoll_tcp t = {.listener = -1};

    if (nbcolli_copy_tagged(c, config, sizeof *c) != NBCOLL_OK || c->port > 65535 ||
        (c->host.size && nbcolli_copy_tagged(&t.host, &c->host, sizeof t.host) != NBCOLL_OK))
        return NBCOLL_ERR_CONFIG;
    if (c->ranks < 1 || c->rank < 0 || c->rank >= c->ranks)
        return NBCOLL_ERR_RANK;
    t.rank = c->rank;
    t.ranks = c->ranks;
    t.timeout = c->timeout ? c->timeout : UINT64_C(60000000000);
    *out = nbcolli_alloc(&t.host, sizeof t, _Alignof(nbcoll_tcp));
    if (!*out)
        return NBCOLL_ERR_MEMORY;
    **out = t;
    return NBCOLL_OK;
}

nbcoll_status nbcoll_tcp_create(const nbcoll_tcp_config *config, nbcoll_tcp_id *id, nbcoll_tcp **out)
{
    nbcoll_tcp_config c = {0};
    nbcoll_tcp *t;
    int family;

    if (!config || !id || !out)
        return NBCOLL_ERR_NULL;
    nbcoll_status status = nbcolli_tcp_new(config, &c, &t);
    if (status != NBCOLL_OK)
        return status;
    if (!nbcolli_tcp_nonce(t->secret))
        status = NBCOLL_ERR_UNSUPPORTED;
    else if ((t->listener = nbcolli_tcp_listen((uint16_t)c.port, &family)) < 0 || !nbcolli_tcp_write_id(t, family, id))
        status = NBCOLL_ERR_TRANSPORT;
    if (status != NBCOLL_OK)
        nbcoll_tcp_close(t);
    else
        *out = t;
    return status;
}

nbcoll_status nbcoll_tcp_join(const nbcoll_tcp_config *config, const nbcoll_tcp_id *id, nbcoll_tcp **out)
{
    nbcoll_tcp_config c = {0};
    nbcoll_tcp *t;

    if (!config || !id || !out)
        return NBCOLL_ERR_NULL;
    nbcoll_status status = nbcolli_tcp_new(config, &c, &t);
    if (status != NBCOLL_OK)
        return status;
    if (!nbcolli_tcp_read_id(t, id)) {
        nbcoll_tcp_close(t);
        return NBCOLL_ERR_ARGUMENT;
    }
    if (c.listener > 0)
        t->listener = c.listener;
    *out = t;
    return NBCOLL_OK;
}

int nbcoll_tcp_listener(const nbcoll_tcp *tcp)
{
    return tcp ? tcp->listener : -1;
}

nbcoll_status nbcoll_tcp_exchange(void *tcp, const void *mine, void *all, size_t bytes)
{
    nbcoll_tcp *t = tcp;

    if (!t || !mine || !all)
        return NBCOLL_ERR_NULL;
    if (bytes == 0 || bytes > SIZE_MAX / (size_t)t->ranks)
        return NBCOLL_ERR_ARGUMENT;
    t->round++;
    return t->listener >= 0 ? nbcolli_tcp_be_host(t, mine, all, bytes) : nbcolli_tcp_be_guest(t, mine, all, bytes);
}

void nbcoll_tcp_close(nbcoll_tcp *tcp)
{
    if (!tcp)
        return;
    nbcoll_host host = tcp->host;
    if (tcp->listener >= 0)
        close(tcp->listener);
    nbcolli_free(&host, tcp, sizeof *tcp);
}
