/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What shm asks the system for, as a table: no other file of shm calls the system (test/rules/test_purity.sh). The
 * clock is the host's. An endpoint, its home and its opening each have the table's address, so that a test can put
 * processes, their memory and their deaths in place of those of the system.
 *
 * Where nothing else is said a call returns -1 or null when it fails, and errno says why, as the system does.
 */
#ifndef NBCOLLI_SHM_SYSTEM_H
#define NBCOLLI_SHM_SYSTEM_H

#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "nbcoll/shm.h"
#include "../../src/host/crowding.h"
#include "../../src/host/sleep.h"

struct nbcolli_shm_system {
    /* the calling process */
    int (*pid)(void);
    uint32_t (*space)(const char *name); /* inode of the thread's namespace ("net", "pid"); 0: unknown */
    nbcolli_cores (*cores)(void);
    ssize_t (*random)(void *to, size_t bytes, unsigned flags);
    void (*allow_ptracer)(void);
    bool (*join_barriers)(void); /* takes part in others' barriers from now on; false: there are none */
    bool (*barrier)(void);       /* on the cores of all that take part; false: it was refused */
    /* memory of a process, as process_vm_readv and process_vm_writev */
    ssize_t (*read_memory)(int pid, const struct iovec *to, unsigned long n, const struct iovec *from,
                           unsigned long of_them, unsigned long flags);
    ssize_t (*write_memory)(int pid, const struct iovec *from, unsigned long n, const struct iovec *to,
                            unsigned long of_them, unsigned long flags);
    /* bells (eventfds), ends of processes (pidfds), and what is ready of both */
    int (*bell)(void);
    void (*ring)(int bell);
    uint64_t (*heard)(int bell); /* how often it was rung; then not again */
    int (*watch)(int pid);
    int (*gather)(void);
    int (*attend)(int all, int what, int fd, struct epoll_event *event);
    int (*ready)(int all, struct epoll_event *event, int most, int timeout);
    nbcoll_status (*sleep)(const nbcoll_host *host, struct pollfd *fds, size_t n, uint64_t longest, uint64_t *looks);
    /* the segment: a sealed memfd, its memory reserved */
    nbcoll_status (*make)(size_t bytes, int *fd);
    bool (*is_whole)(int fd, size_t bytes); /* is it so large, for good? */
    /* of a descriptor, or (-1) anonymous: then the last `wiped` bytes are empty in a child of fork */
    void *(*map)(int fd, size_t bytes, size_t wiped);
    int (*unmap)(void *at, size_t bytes);
    int (*lock)(int fd, int byte);        /* until the process ends, calls exec, or closes it */
    bool (*is_locked)(int fd, int byte); /* by another process; true also if unknown */
    /* descriptors, and Unix sockets that keep the bounds of messages and never wait */
    int (*close)(int fd);
    int (*copy)(int fd);
    int (*socket)(void);
    int (*listen)(const struct sockaddr *at, socklen_t bytes, int most);
    int (*connect)(int socket, const struct sockaddr *at, socklen_t bytes);
    int (*accept)(int listener);
    /* May the process at the other end be a rank of ours? */
    nbcoll_status (*identify)(int socket, int *pid);
    ssize_t (*send)(int socket, const void *from, size_t bytes, int flags);
    ssize_t (*send_with)(int socket, const struct msghdr *message, int flags);
    ssize_t (*receive)(int socket, struct msghdr *message, int flags);
};

extern const struct nbcolli_shm_system nbcolli_shm_system;

/* The status of a system call that failed so: ERR_UNSUPPORTED (missing, or not permitted), ERR_MEMORY, or ERR_TRANSPORT
 * (no descriptor, and all else). */
nbcoll_status nbcolli_shm_status(int error);

/* nbcoll_shm_open over another system: the table outlives the endpoint. */
nbcoll_status nbcolli_shm_open(const struct nbcolli_shm_system *os, const nbcoll_shm_config *config,
                               nbcoll_endpoint **out);

#endif
