/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Control messages, the messages of the bootstrap: a fixed struct and descriptors, over a Unix socket that keeps the
 * bounds of messages and has an abstract name, so that nothing is left in a file system.
 */
#ifndef NBCOLLI_SHM_SOCKET_H
#define NBCOLLI_SHM_SOCKET_H

#include "shm.h"

#define NBCOLLI_SHM_BATCH 64 /* ranks whose descriptors go in one control message: the system allows 253 descriptors */
#define NBCOLLI_SHM_CONTROL_FDS                                                                                        \
    (2 + 2 * NBCOLLI_SHM_BATCH) /* even: a control message never brings more */

enum nbcolli_shm_stage {
    NBCOLLI_SHM_HELLO,   /* to rank 0: who I am, my eventfd and my pidfd. Back only if it is refused */
    NBCOLLI_SHM_WELCOME, /* from rank 0: everyone's, and the segment; or where a rank of your process has all that */
    NBCOLLI_SHM_MAPPED,  /* to rank 0: I see the segment. Back when all do */
    NBCOLLI_SHM_TRIED    /* to rank 0: I know whose memory I can read. Back when all do: then we are joined */
};

/* The first four fields keep their places in every version. */
struct nbcolli_shm_control {
    uint64_t magic;
    uint32_t abi, version;
    uint32_t stage;  /* nbcolli_shm_stage */
    uint32_t status; /* nbcoll_status: how it went for the writer; from rank 0: for all */
    int32_t rank;    /* HELLO: the writer's; WELCOME: the first of pid[] */
    struct nbcolli_shm_layout layout; /* the writer's */
    uint32_t pid_space; /* HELLO: the writer's PID namespace; 0: unknown */
    int32_t self;       /* HELLO: the writer's process in it */
    uint64_t secret;    /* WELCOME */
    uint64_t home;      /* MAPPED: the writer's; WELCOME: that of the receiver's process, or 0 */
    int32_t pid[NBCOLLI_SHM_BATCH]; /* WELCOME */
};

struct nbcolli_shm_control nbcolli_shm_control(const struct nbcolli_shm_boot *b, enum nbcolli_shm_stage stage,
                                             nbcoll_status status);

/* Waits for one of the descriptors (none: passes some time), at most `longest` milliseconds and not beyond the
 * deadline. OK, PENDING, ERR_TIMEOUT, or the system's error. */
nbcoll_status nbcolli_shm_await(struct nbcolli_shm_boot *b, struct pollfd *fds, nfds_t n, int longest);

/* The socket of rank 0. ERR_DUPLICATE if there is one of that name. */
nbcoll_status nbcolli_shm_listen(const struct nbcolli_shm_system *os, const nbcoll_shm_id *id, int ranks, int *out);
/* The next connection: OK, PENDING, or the system's error. *refused: why it must not join. */
nbcoll_status nbcolli_shm_accept(const struct nbcolli_shm_system *os, int listener, int *out, int *pid,
                                 nbcoll_status *refused);
/* Connects to rank 0, as soon as it is there. As accept. */
nbcoll_status nbcolli_shm_connect(struct nbcolli_shm_boot *b, const nbcoll_shm_id *id, int *out,
                                  nbcoll_status *refused);

/* OK, ERR_PEER_LOST (closed), or what the system says. */
nbcoll_status nbcolli_shm_send(const struct nbcolli_shm_system *os, int socket, const struct nbcolli_shm_control *l,
                               const int *fd, int fds);
/* Takes a control message without waiting. OK, PENDING, ERR_PEER_LOST (closed), ERR_ABI (not one of ours),
 * ERR_TRANSPORT (no descriptors), or what else the system says. fd[NBCOLLI_SHM_CONTROL_FDS] and *fds: what came with
 * it; on an error, none. */
nbcoll_status nbcolli_shm_receive(const struct nbcolli_shm_system *os, int socket, struct nbcolli_shm_control *l,
                                  int fd[], int *fds);

#endif
