/* SPDX-License-Identifier: BSD-3-Clause
 * Addresses of this machine: which one ranks watch each other by, and whether the provider's can be used yet. A link
 * that has just been set up is not running for a moment, and an IPv6 address is tentative for up to two seconds: an
 * address chosen then would be the loopback's, or could not be bound. See ofi.h. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ofi.h"
#include "../../src/host/crowding.h"

static bool nbcolli_ofi_is_loopback(const struct sockaddr_in6 *at)
{
    return IN6_IS_ADDR_LOOPBACK(&at->sin6_addr) ||
           (IN6_IS_ADDR_V4MAPPED(&at->sin6_addr) && at->sin6_addr.s6_addr[12] == 127);
}

bool nbcolli_ofi_map(struct sockaddr_in6 *to, const void *from)
{
    const struct sockaddr_in *in = from;

    if (!in || (in->sin_family != AF_INET && in->sin_family != AF_INET6))
        return false;
    if (in->sin_family == AF_INET6) {
        memcpy(to, from, sizeof *to);
        return true;
    }
    *to = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = in->sin_port};
    to->sin6_addr.s6_addr[10] = to->sin6_addr.s6_addr[11] = 0xff;
    memcpy(&to->sin6_addr.s6_addr[12], &in->sin_addr, 4);
    return true;
}

bool nbcolli_ofi_interface(struct sockaddr_in6 *at)
{
    struct ifaddrs *all = NULL;
    bool found = false;

    if (getifaddrs(&all) != 0)
        return false;
    for (int is_loopback = 0; is_loopback < 2 && !found; is_loopback++)
        for (const struct ifaddrs *i = all; i && !found; i = i->ifa_next)
            if (i->ifa_addr && i->ifa_addr->sa_family == AF_INET && i->ifa_flags & IFF_UP &&
                !(i->ifa_flags & IFF_LOOPBACK) == !is_loopback)
                found = nbcolli_ofi_map(at, i->ifa_addr);
    freeifaddrs(all);
    return found;
}

/* ---- what is not there yet --------------------------------------------------------------------------------------- */

/* It is this machine's, but tentative. */
static bool nbcolli_ofi_is_refused_yet(struct sockaddr_in6 at)
{
    int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0), off = 0;

    at.sin6_port = 0;
    if (fd < 0)
        return false;
    (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    bool is_refused = bind(fd, (const struct sockaddr *)&at, sizeof at) != 0;
    close(fd);
    return is_refused;
}

bool nbcolli_ofi_is_coming(const void *chosen, bool may_be_loopback)
{
    struct sockaddr_in6 mine, its;
    struct ifaddrs *all = NULL;
    bool has_one = nbcolli_ofi_map(&mine, chosen), found = false;
    bool wants_link = chosen ? has_one && nbcolli_ofi_is_loopback(&mine) && !may_be_loopback : may_be_loopback;

    if (getifaddrs(&all) != 0)
        return false;
    for (const struct ifaddrs *i = all; i && !found; i = i->ifa_next) {
        if (!nbcolli_ofi_map(&its, i->ifa_addr) || !(i->ifa_flags & IFF_UP) || i->ifa_flags & IFF_LOOPBACK ||
            IN6_IS_ADDR_LINKLOCAL(&its.sin6_addr))
            continue;
        found = (wants_link && !(i->ifa_flags & IFF_RUNNING)) ||
                (has_one && memcmp(&its.sin6_addr, &mine.sin6_addr, sizeof its.sin6_addr) == 0 &&
                 nbcolli_ofi_is_refused_yet(its));
    }
    freeifaddrs(all);
    return found;
}

/* ---- which machine this is --------------------------------------------------------------------------------------- */

static uint64_t nbcolli_ofi_boot(uint64_t hash)
{
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    uint64_t boot[5] = {0};

    if (fd >= 0) {
        if (read(fd, boot, sizeof boot - 1) < 0)
            boot[0] = 0;
        close(fd);
    }
    for (int i = 0; i < 5; i++)
        hash = nbcolli_splitmix(hash ^ boot[i]);
    return hash;
}

uint32_t nbcolli_ofi_cores(uint32_t *count)
{
    const nbcolli_cores cores = nbcolli_cores_allowed();
    uint64_t hash = nbcolli_ofi_boot(0);

    for (int i = 0; i < NBCOLLI_CORES / 64; i++)
        hash = nbcolli_splitmix(hash ^ cores.word[i]);
    *count = (uint32_t)nbcolli_cores_count(&cores);
    return (uint32_t)hash;
}

uint32_t nbcolli_ofi_machine(const struct sockaddr_in6 *at)
{
    struct stat s;
    uint64_t hash = nbcolli_ofi_boot(stat("/proc/self/ns/net", &s) == 0 ? s.st_ino : 0);

    return (uint32_t)hash << 1 | nbcolli_ofi_is_loopback(at);
}
