/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The system as it is. See system.h.
 */
#include <errno.h>
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "ofi.h"

static int nbcolli_ofi_os_gather(void)
{
    return epoll_create1(EPOLL_CLOEXEC);
}

/* ---- timers ------------------------------------------------------------------------------------------------------ */

static int nbcolli_ofi_os_timer(void)
{
    return timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
}

static int nbcolli_ofi_os_set(int timer, uint64_t ns)
{
    struct itimerspec when = {.it_value = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)}};
    return timerfd_settime(timer, 0, &when, NULL);
}

static void nbcolli_ofi_os_hush(int timer)
{
    uint64_t expirations;
    (void)!read(timer, &expirations, sizeof expirations);
}

/* ---- sockets ----------------------------------------------------------------------------------------------------- */

static void nbcolli_ofi_option(int fd, int level, int option, int value)
{
    (void)setsockopt(fd, level, option, &value, sizeof value);
}

static int nbcolli_ofi_read_option(int fd, int level, int option)
{
    int value = 0;
    socklen_t bytes = sizeof value;

    return getsockopt(fd, level, option, &value, &bytes) == 0 ? value : -1;
}

static int nbcolli_ofi_os_socket(int room)
{
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd >= 0) { /* counts if it is said before the connection is made */
        nbcolli_ofi_option(fd, SOL_SOCKET, SO_SNDBUF, room);
        nbcolli_ofi_option(fd, SOL_SOCKET, SO_RCVBUF, room);
    }
    return fd;
}

static int nbcolli_ofi_os_listen(struct sockaddr_in6 *at, int room, int most)
{
    int fd = nbcolli_ofi_os_socket(room), off = 0, why;
    socklen_t bytes = sizeof *at;

    at->sin6_port = 0;
    if (fd < 0 || (setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) == 0 &&
                   bind(fd, (const struct sockaddr *)at, sizeof *at) == 0 && listen(fd, most) == 0 &&
                   getsockname(fd, (struct sockaddr *)at, &bytes) == 0))
        return fd;
    why = errno;
    close(fd);
    errno = why;
    return -1;
}

static int nbcolli_ofi_os_accept(int listener)
{
    return accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

/* The kernel probes each second. */
static void nbcolli_ofi_os_keep_alive(int fd, int ms)
{
    nbcolli_ofi_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    nbcolli_ofi_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, 1);
    nbcolli_ofi_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, 1);
    nbcolli_ofi_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, ms);
    nbcolli_ofi_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
}

static int nbcolli_ofi_os_error(int fd)
{
    int error = nbcolli_ofi_read_option(fd, SOL_SOCKET, SO_ERROR);
    return error < 0 ? errno : error;
}

static int nbcolli_ofi_os_packet(int fd)
{
    int bytes = nbcolli_ofi_read_option(fd, IPPROTO_TCP, TCP_MAXSEG);
    return bytes > 0 ? bytes : 0;
}

static bool nbcolli_ofi_os_is_through(int fd, size_t bytes)
{
    uint64_t info[16] = {0}; /* the kernel's struct tcp_info, whose last word here is tcpi_bytes_acked */
    socklen_t length = sizeof info;

    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, info, &length) != 0 || info[15] >= bytes;
}

static int nbcolli_ofi_os_unsent(int fd)
{
    int left = 0;
    return ioctl(fd, SIOCOUTQ, &left) == 0 ? left : 0;
}

static void nbcolli_ofi_os_flush(int fd)
{
    nbcolli_ofi_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
}

const struct nbcolli_ofi_system nbcolli_ofi_system = {
    .random = getrandom,
    .machine = nbcolli_ofi_machine,
    .cores = nbcolli_ofi_cores,
    .interface = nbcolli_ofi_interface,
    .sleep = nbcolli_sleep,
    .yield = sched_yield,
    .gather = nbcolli_ofi_os_gather,
    .attend = epoll_ctl,
    .ready = epoll_wait,
    .timer = nbcolli_ofi_os_timer,
    .set = nbcolli_ofi_os_set,
    .hush = nbcolli_ofi_os_hush,
    .close = close,
    .socket = nbcolli_ofi_os_socket,
    .listen = nbcolli_ofi_os_listen,
    .connect = connect,
    .accept = nbcolli_ofi_os_accept,
    .keep_alive = nbcolli_ofi_os_keep_alive,
    .error = nbcolli_ofi_os_error,
    .packet = nbcolli_ofi_os_packet,
    .is_through = nbcolli_ofi_os_is_through,
    .unsent = nbcolli_ofi_os_unsent,
    .flush = nbcolli_ofi_os_flush,
    .send = send,
    .send_parts = sendmsg,
    .receive = recv,
};
