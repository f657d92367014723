/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A bad path between two machines: a TUN device in each one's namespace, and a process that carries packets from one to
 * the other, late, out of their order, or not at all; by a seed. See machines.h.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "machines.h"

enum { PACKET_MOST = 65536, LATE_NS = 500000 }; /* a late one, besides, at most: and three times the delay */

typedef struct packet {
    struct packet *next;
    uint64_t at; /* when it goes on */
    int to;
    size_t bytes;
    unsigned char data[];
} packet;

typedef struct relay {
    pair *pair;
    int tun[2];
    packet *first; /* in the order in which they go on */
    uint64_t random;
} relay;

static int tun_of(pid_t process, int end)
{
    struct ifreq device = {.ifr_flags = IFF_TUN | IFF_NO_PI};
    char name[64];

    snprintf(name, sizeof name, "/proc/%d/ns/net", (int)process);
    int space = open(name, O_RDONLY | O_CLOEXEC);
    CHECK(space >= 0 && setns(space, CLONE_NEWNET) == 0);
    close(space);
    int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    snprintf(device.ifr_name, sizeof device.ifr_name, "nb%d", end);
    CHECK(fd >= 0 && ioctl(fd, TUNSETIFF, &device) == 0);
    return fd;
}

static uint16_t sum_of(const void *data, size_t bytes)
{
    uint32_t sum = 0;
    uint16_t word;

    for (size_t i = 0; i < bytes; i += sizeof word) {
        memcpy(&word, (const char *)data + i, sizeof word);
        sum += word;
    }
    sum = (sum >> 16) + (sum & 0xffff);
    return (uint16_t) ~(sum + (sum >> 16));
}

/* What a router says of a packet that is too long for what is behind it. */
static void tell_mtu(const relay *r, int from, const unsigned char *data)
{
    struct {
        struct iphdr ip;
        struct icmphdr icmp;
        unsigned char quoted[sizeof(struct iphdr) + 8];
    } told = {.ip = {.version = 4, .ihl = 5, .ttl = 64, .protocol = IPPROTO_ICMP, .tot_len = htons(sizeof told)},
              .icmp = {.type = ICMP_DEST_UNREACH, .code = ICMP_FRAG_NEEDED}};
    struct iphdr its;

    memcpy(&its, data, sizeof its);
    told.ip.saddr = its.daddr;
    told.ip.daddr = its.saddr;
    told.ip.check = sum_of(&told.ip, sizeof told.ip);
    told.icmp.un.frag.mtu = htons((uint16_t)r->pair->path->mtu);
    memcpy(told.quoted, data, sizeof told.quoted);
    told.icmp.checksum = sum_of(&told.icmp, sizeof told.icmp + sizeof told.quoted);
    (void)!write(r->tun[from], &told, sizeof told);
}

static void take(relay *r, int from, const unsigned char *data, size_t bytes)
{
    const path *way = r->pair->path;
    uint64_t now = clock_ns(), at = now + way->delay_ns;
    packet **before = &r->first;

    if (atomic_load(&r->pair->is_cut) || random_of(&r->random) % 1000 < way->lost || data[0] >> 4 != 4)
        return;
    if (way->mtu && bytes > way->mtu && !(way->is_one_way && from == 1)) {
        if (!way->is_silent)
            tell_mtu(r, from, data);
        return;
    }
    if (random_of(&r->random) % 1000 < way->late)
        at += random_of(&r->random) % (LATE_NS + 3 * way->delay_ns);
    packet *p = malloc(sizeof *p + bytes);
    CHECK(p);
    *p = (packet){.at = at, .to = 1 - from, .bytes = bytes};
    memcpy(p->data, data, bytes);
    while (*before && (*before)->at <= at)
        before = &(*before)->next;
    p->next = *before;
    *before = p;
}

static void pass_on(relay *r)
{
    for (packet *p; (p = r->first) && p->at <= clock_ns(); free(p)) {
        r->first = p->next;
        if (!atomic_load(&r->pair->is_cut))
            (void)!write(r->tun[p->to], p->data, p->bytes); /* refused: its device is down */
    }
}

static void carry(relay *r)
{
    static unsigned char data[PACKET_MOST];

    for (;;) {
        struct pollfd both[2] = {{r->tun[0], POLLIN, 0}, {r->tun[1], POLLIN, 0}};
        uint64_t now = clock_ns(), in = !r->first ? SECOND : r->first->at > now ? r->first->at - now : 0;
        ppoll(both, 2, &(struct timespec){(time_t)(in / SECOND), (long)(in % SECOND)}, NULL);
        for (int end = 0; end < 2; end++) {
            ssize_t n = both[end].revents & POLLIN ? read(r->tun[end], data, sizeof data) : 0;
            if (n > 0)
                take(r, end, data, (size_t)n);
        }
        pass_on(r);
    }
}

pid_t relay_starts(pair *p, const pid_t of[2])
{
    relay r = {.pair = p, .random = seed_of_test()};
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_TIMERSLACK, 1UL);
    (void)setpriority(PRIO_PROCESS, 0, -10); /* a network waits for no processor */
    for (int end = 0; end < 2; end++)
        r.tun[end] = tun_of(of[end], end);
    machine_tells(&p->joined);
    carry(&r);
    return 0;
}
