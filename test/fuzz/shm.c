/* SPDX-License-Identifier: BSD-3-Clause
 * The bootstrap of shared memory. The first byte says who is real: rank 0, to whom others come and say anything, with
 * any descriptors; or rank 1, whose rank 0 does. The other side acts whenever the real one would sleep. Whatever it
 * says: a named end by the deadline, and no descriptor is left. One thing is believed, and left out here: where a rank
 * of the own process is (`home`). */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "fuzz.h"
#include "../../transports/shm/socket.h"

enum { RANKS = 3, OTHERS = 4, FDS = 2 * RANKS + 1 };

typedef struct scene {
    fuzz_input in;
    nbcoll_shm_config config;
    struct nbcolli_shm_boot boot; /* of the side that is none */
    int listener, socket[OTHERS], fd[FDS];
} scene;

static int descriptors(void)
{
    DIR *all = opendir("/proc/self/fd");
    int n = 0;
    while (readdir(all))
        n++;
    closedir(all);
    return n;
}

static void hang_up(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* A control message of that stage, right but for some bytes at places that the input says, and for what comes with it.
 */
static void say(scene *s, int socket, enum nbcolli_shm_stage stage, int rank, int fds)
{
    struct nbcolli_shm_control l = nbcolli_shm_control(&s->boot, stage, NBCOLL_OK);
    unsigned how = fuzz_byte(&s->in);
    l.rank = rank;
    l.self = getpid();
    l.pid_space = nbcolli_shm_system.space("pid");
    for (int r = 0; r < RANKS; r++)
        l.pid[r] = getpid();
    for (unsigned n = how & 3; n > 0; n--) {
        size_t at = fuzz_byte(&s->in) % sizeof l, bytes = fuzz_byte(&s->in) % 9;
        fuzz_take(&s->in, (char *)&l + at, bytes < sizeof l - at ? bytes : sizeof l - at);
    }
    l.home = 0;
    if (how & 4)
        fds = (int)(how >> 4) % FDS;
    if (how & 8)
        (void)!send(socket, &l, how, MSG_NOSIGNAL | MSG_DONTWAIT);
    else
        nbcolli_shm_send(&nbcolli_shm_system, socket, &l, s->fd, fds);
}

static socklen_t name_of(const scene *s, struct sockaddr_un *at)
{
    *at = (struct sockaddr_un){.sun_family = AF_UNIX};
    int n = snprintf(at->sun_path + 1, sizeof at->sun_path - 1, "nbcoll-shm-%s", s->config.id.text);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

static void come(void *user)
{
    scene *s = user;
    struct sockaddr_un at;
    unsigned act = fuzz_byte(&s->in);
    int *socket_of = &s->socket[(act >> 4) % OTHERS];
    switch (act % 8) {
    case 0:
        hang_up(socket_of);
        *socket_of = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        (void)!connect(*socket_of, (struct sockaddr *)&at, name_of(s, &at));
        break;
    case 1:
        say(s, *socket_of, NBCOLLI_SHM_HELLO, 1 + (int)(act >> 4) % OTHERS, 2);
        break;
    case 2:
        say(s, *socket_of, NBCOLLI_SHM_MAPPED, 1, 0);
        break;
    case 3:
        say(s, *socket_of, NBCOLLI_SHM_TRIED, 1, 0);
        break;
    case 4:
        hang_up(socket_of);
        break;
    default:
        break;
    }
}

static void welcome(void *user)
{
    scene *s = user;
    unsigned act = fuzz_byte(&s->in);
    int pid;
    nbcoll_status refused;
    if (s->socket[0] < 0 &&
        nbcolli_shm_accept(&nbcolli_shm_system, s->listener, &s->socket[0], &pid, &refused) != NBCOLL_OK)
        return;
    switch (act % 8) {
    case 0:
    case 1:
        say(s, s->socket[0], NBCOLLI_SHM_WELCOME, 0, FDS);
        break;
    case 2:
        say(s, s->socket[0], NBCOLLI_SHM_MAPPED, 0, 0);
        break;
    case 3:
        say(s, s->socket[0], NBCOLLI_SHM_TRIED, 0, 0);
        break;
    case 4:
        hang_up(&s->socket[0]);
        break;
    default:
        break;
    }
}

/* What comes with control messages: a segment where there is to be one, and each rank's eventfd and pidfd. */
static void scene_open(scene *s, int has_segment)
{
    FUZZ_NEVER(nbcoll_shm_id_make(&s->config.id) != NBCOLL_OK);
    FUZZ_NEVER(nbcolli_shm_layout(&s->config, &s->boot.layout) != NBCOLL_OK);
    for (int i = 0; i < FDS; i++)
        s->fd[i] = i % 2 ? eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC) : (int)syscall(SYS_pidfd_open, getpid(), 0);
    if (has_segment) {
        hang_up(&s->fd[0]);
        FUZZ_NEVER(nbcolli_shm_system.make(s->boot.layout.bytes, &s->fd[0]) != NBCOLL_OK);
        FUZZ_NEVER(nbcolli_shm_listen(&nbcolli_shm_system, &s->config.id, RANKS, &s->listener) != NBCOLL_OK);
    }
}

FUZZ(shm)
{
    const nbcoll_host host = fuzz_host();
    scene s = {.in = {data, bytes}, .listener = -1, .socket = {-1, -1, -1, -1},
               .config = {.size = sizeof s.config, .host = &host, .ranks = RANKS, .timeout = UINT64_C(4000000000),
                          .depth = 2, .payload = 256, .quota = 4096, .pool = 32768}};
    nbcoll_endpoint *end = NULL;
    int before = descriptors();
    s.boot.config = &s.config;
    s.config.rank = (int)(fuzz_byte(&s.in) & 1);
    scene_open(&s, s.config.rank);
    fuzz_other_user = &s;
    fuzz_other_side = s.config.rank ? welcome : come;
    nbcoll_status status = nbcoll_shm_open(&s.config, &end);
    fuzz_other_side = NULL;
    FUZZ_NAMED(status);
    FUZZ_NEVER((status == NBCOLL_OK) != (end != NULL) || status == NBCOLL_PENDING);
    if (end)
        nbcoll_endpoint_close(end);
    for (int i = 0; i < OTHERS; i++)
        hang_up(&s.socket[i]);
    for (int i = 0; i < FDS; i++)
        hang_up(&s.fd[i]);
    hang_up(&s.listener);
    FUZZ_NEVER(descriptors() != before);
    return 0;
}
