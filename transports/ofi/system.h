/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What ofi asks the system for beside libfabric, as a table: no other file of ofi but address.c calls the system
 * (test/rules/test_purity.sh). The clock is the host's. An endpoint has the table's address, so that a test can put
 * connections and timers of its own in place of those of the system. Messages and writes of the provider's do not go
 * through it.
 *
 * Where nothing else is said a call returns -1 when it fails, and errno says why, as the system does.
 */
#ifndef NBCOLLI_OFI_SYSTEM_H
#define NBCOLLI_OFI_SYSTEM_H

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "nbcoll/ofi.h"
#include "../../src/host/sleep.h"

struct nbcolli_ofi_system {
    ssize_t (*random)(void *to, size_t bytes, unsigned flags);
    uint32_t (*machine)(const struct sockaddr_in6 *at); /* see nbcolli_ofi_machine */
    uint32_t (*cores)(uint32_t *count);                 /* see nbcolli_ofi_cores */
    bool (*interface)(struct sockaddr_in6 *at);         /* see nbcolli_ofi_interface */
    nbcoll_status (*sleep)(const nbcoll_host *host, struct pollfd *fds, size_t n, uint64_t longest, uint64_t *looks);
    int (*yield)(void); /* of nbcoll_ofi_measure */
    /* what is ready of several descriptors; timers */
    int (*gather)(void);
    int (*attend)(int all, int what, int fd, struct epoll_event *event);
    int (*ready)(int all, struct epoll_event *event, int most, int ms);
    int (*timer)(void);
    int (*set)(int timer, uint64_t ns); /* from now on; 0: never */
    void (*hush)(int timer);            /* it has woken whom it was to wake */
    int (*close)(int fd);
    /* TCP: sockets that never wait, with buffers for so many bytes */
    int (*socket)(int room);
    int (*listen)(struct sockaddr_in6 *at, int room, int most); /* *at: its port is chosen */
    int (*connect)(int socket, const struct sockaddr *at, socklen_t bytes);
    int (*accept)(int listener);
    void (*keep_alive)(int socket, int ms);       /* ends if for so long nothing comes, or nothing is acknowledged */
    int (*error)(int socket);                     /* how its connecting has ended; 0: well */
    int (*packet)(int socket);                    /* bytes of a packet of full length; 0: unknown */
    bool (*is_through)(int socket, size_t bytes); /* were so many bytes acknowledged? true also if unknown */
    int (*unsent)(int socket);                    /* bytes that were not acknowledged */
    void (*flush)(int socket);                    /* sends held-back bytes */
    ssize_t (*send)(int socket, const void *from, size_t bytes, int flags);
    ssize_t (*send_parts)(int socket, const struct msghdr *message, int flags);
    ssize_t (*receive)(int socket, void *to, size_t bytes, int flags);
};

extern const struct nbcolli_ofi_system nbcolli_ofi_system;

/* nbcoll_ofi_open over another system: the table outlives the endpoint. */
nbcoll_status nbcolli_ofi_open(const struct nbcolli_ofi_system *os, const nbcoll_ofi_config *config,
                               nbcoll_ofi_address *mine, nbcoll_endpoint **out);

#endif
