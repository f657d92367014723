/* SPDX-License-Identifier: BSD-3-Clause
 * The exchange by TCP: ids; a host, among visitors who know the secret or do not, and say anything; a guest, at a host
 * who does. The first byte says which. Sockets of the machine stand for TCP. Whatever is said: a named end by the
 * deadline, and nothing written but the bytes of all. */
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "fuzz.h"
#include "../../src/cluster/tcp.h"

enum { VISITORS = 6, BYTES = 40 };

typedef struct scene {
    fuzz_input in;
    nbcoll_tcp t;
    int listener, fd[VISITORS];
    nbcolli_tcp_hello hello[VISITORS];
    struct sockaddr_un at;
    socklen_t length;
} scene;

static void say(int fd, const void *what, size_t bytes)
{
    (void)!send(fd, what, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static size_t hear(int fd, void *what, size_t bytes)
{
    ssize_t n = recv(fd, what, bytes, MSG_DONTWAIT);
    return n < 0 ? 0 : (size_t)n;
}

/* What nobody would say. */
static void say_anything(scene *s, int fd)
{
    uint8_t what[64];
    size_t n = fuzz_byte(&s->in) % sizeof what;
    fuzz_take(&s->in, what, n);
    say(fd, what, n);
}

static void hang_up(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void scene_open(scene *s)
{
    s->length = sizeof s->at;
    s->at.sun_family = AF_UNIX;
    s->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    FUZZ_NEVER(bind(s->listener, (struct sockaddr *)&s->at, sizeof s->at.sun_family) != 0 ||
               listen(s->listener, 16) != 0 || getsockname(s->listener, (struct sockaddr *)&s->at, &s->length) != 0);
    for (int i = 0; i < VISITORS; i++)
        s->fd[i] = -1;
    s->t = (nbcoll_tcp){.host = fuzz_host(), .secret = {1, 2}, .timeout = UINT64_C(8000000000), .listener = -1};
}

/* All that is exchanged lies in memory of its own. */
static nbcoll_status exchange(scene *s, void (*other_side)(void *))
{
    unsigned char *all = malloc((size_t)s->t.ranks * BYTES);
    char mine[BYTES];
    memset(mine, 7, sizeof mine);
    fuzz_other_user = s;
    fuzz_other_side = other_side;
    nbcoll_status status = nbcoll_tcp_exchange(&s->t, mine, all, sizeof mine);
    fuzz_other_side = NULL;
    free(all);
    for (int i = 0; i < VISITORS; i++)
        hang_up(&s->fd[i]);
    close(s->listener);
    return status;
}

/* ---- the host -------------------------------------------------------------------------------------------------- */

/* Who knows the secret: numbers that are right, but for those that the input has. */
static void reply(scene *s, int i)
{
    nbcolli_tcp_reply r = {.magic = NBCOLLI_TCP_MAGIC, .round = s->t.round, .bytes = BYTES, .ranks = 3};
    unsigned wrong = fuzz_byte(&s->in);
    hear(s->fd[i], &s->hello[i], sizeof s->hello[i]);
    r.rank = fuzz_byte(&s->in);
    if (wrong & 1)
        fuzz_take(&s->in, &r.round, sizeof r.round);
    if (wrong & 2)
        fuzz_take(&s->in, &r.bytes, sizeof r.bytes);
    if (wrong & 4)
        fuzz_take(&s->in, &r.ranks, sizeof r.ranks);
    r.proof = nbcolli_tcp_proof_of_guest(&s->t, &s->hello[i], &r);
    if (wrong & 8)
        fuzz_take(&s->in, &r.magic, sizeof r.magic);
    if (wrong & 16)
        fuzz_take(&s->in, &r.rank, sizeof r.rank);
    say(s->fd[i], &r, sizeof r);
}

static void visit(void *user)
{
    scene *s = user;
    char bytes[BYTES] = {9};
    unsigned act = fuzz_byte(&s->in);
    int i = (int)(act >> 4) % VISITORS;
    switch (s->in.left || act ? act % 8 : 7) {
    case 0:
    case 1:
        hang_up(&s->fd[i]);
        s->fd[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        (void)!connect(s->fd[i], (struct sockaddr *)&s->at, s->length);
        break;
    case 2:
        say_anything(s, s->fd[i]);
        break;
    case 3:
        reply(s, i);
        break;
    case 4:
        say(s->fd[i], bytes, sizeof bytes);
        break;
    case 5:
        hang_up(&s->fd[i]);
        break;
    case 6:
        shutdown(s->fd[i], act >> 3 & 1 ? SHUT_WR : SHUT_RD);
        break;
    default:
        break;
    }
}

static void be_host(fuzz_input in)
{
    scene s = {.in = in};
    scene_open(&s);
    s.t.ranks = 3;
    s.t.listener = s.listener;
    FUZZ_NAMED(exchange(&s, visit));
}

/* ---- a guest --------------------------------------------------------------------------------------------------- */

static void receive(void *user)
{
    scene *s = user;
    nbcolli_tcp_hello hello = {.magic = NBCOLLI_TCP_MAGIC, .nonce = {3, 4}};
    nbcolli_tcp_reply r;
    uint64_t word;
    char bytes[3 * BYTES] = {9};
    unsigned act = fuzz_byte(&s->in);
    int i = (int)(act >> 4) % 2;
    switch (s->in.left || act ? act % 8 : 7) {
    case 0:
        hang_up(&s->fd[i]);
        s->fd[i] = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        break;
    case 1:
        say(s->fd[i], &hello, sizeof hello);
        break;
    case 2:
        say_anything(s, s->fd[i]);
        break;
    case 3:
        if (hear(s->fd[i], &r, sizeof r) == sizeof r) {
            word = nbcolli_tcp_proof_of_host(&s->t, &hello, &r);
            say(s->fd[i], &word, sizeof word);
        }
        break;
    case 4:
        fuzz_take(&s->in, &word, sizeof word);
        say(s->fd[i], &word, sizeof word);
        break;
    case 5:
        say(s->fd[i], bytes, sizeof bytes);
        break;
    case 6:
        hang_up(&s->fd[i]);
        break;
    default:
        break;
    }
}

static void be_guest(fuzz_input in)
{
    scene s = {.in = in};
    scene_open(&s);
    s.t.rank = 1;
    s.t.ranks = 3;
    s.t.addresses = 2;
    for (int i = 0; i < 2; i++) {
        s.t.address[i].bytes = s.length;
        memcpy(&s.t.address[i].at, &s.at, sizeof s.at);
    }
    FUZZ_NAMED(exchange(&s, receive));
}

/* ---- ids ------------------------------------------------------------------------------------------------------- */

static void join(fuzz_input in)
{
    const nbcoll_tcp_config config = {.size = sizeof config, .rank = 1, .ranks = 2};
    nbcoll_tcp_id id;
    nbcoll_tcp *t = NULL;
    fuzz_take(&in, &id, sizeof id);
    nbcoll_status status = nbcoll_tcp_join(&config, &id, &t);
    FUZZ_NEVER(status != (t ? NBCOLL_OK : NBCOLL_ERR_ARGUMENT));
    FUZZ_NEVER(t && (t->addresses < 1 || t->addresses > NBCOLLI_TCP_ADDRESSES));
    nbcoll_tcp_close(t);
}

FUZZ(tcp)
{
    static void (*const side[])(fuzz_input in) = {join, be_host, be_guest};
    fuzz_input in = {data, bytes};
    side[fuzz_byte(&in) % 3](in);
    return 0;
}
