/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Processes of the same user that connect to rank 0 while the ranks open, and are none: they say nothing, or what no
 * rank says. The ranks meet all the same, and the log names the processes.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "ranks.h"

enum { CONNECTIONS = 60 };

struct hall {
    nbcoll_shm_id id;
    int ranks, come;   /* of these ranks so many come */
    int strangers;     /* connections that the last process makes first */
    int garbage;       /* bytes that each says; 0: nothing */
    uint64_t timeout;
    nbcoll_status expected;
    atomic_int connected, over;
    atomic_int pid, named; /* of the stranger; lines of the log that name it */
    char line[160];        /* the last one of these */
};

static void hear(void *user, nbcoll_status why, const char *text)
{
    struct hall *h = user;
    int pid;

    (void)why;
    if (sscanf(text, "process %d has connected to rank 0 and ", &pid) == 1 && pid == atomic_load(&h->pid)) {
        snprintf(h->line, sizeof h->line, "%s", text);
        atomic_fetch_add(&h->named, 1);
    }
}

static int connect_to(const nbcoll_shm_id *id)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "nbcoll-shm-%s", id->text);
    while (connect(fd, (struct sockaddr *)&name, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 52)) != 0)
        sched_yield();
    return fd;
}

static void be_a_stranger(struct hall *h)
{
    int fd[CONNECTIONS];
    unsigned char message[1024], answer[1024];
    uint32_t status = 0;

    memset(message, 'x', sizeof message);
    atomic_store(&h->pid, getpid());
    for (int i = 0; i < h->strangers; i++) {
        fd[i] = connect_to(&h->id);
        if (h->garbage) {
            CHECK(send(fd[i], message, (size_t)h->garbage, MSG_NOSIGNAL) == h->garbage);
            CHECK(recv(fd[i], answer, sizeof answer, 0) >= 24); /* it is told at once */
            memcpy(&status, answer + 20, sizeof status);
            CHECK(status == NBCOLL_ERR_ABI);
        }
    }
    atomic_store(&h->connected, 1);
    while (!atomic_load(&h->over))
        sched_yield();
    for (int i = 0; i < h->strangers; i++)
        close(fd[i]);
}

static void meet(int rank, void *user)
{
    struct hall *h = user;
    const nbcoll_host host = {.size = sizeof host, .user = h, .log = hear};
    nbcoll_shm_config config = {.size = sizeof config, .id = h->id, .rank = rank, .ranks = h->ranks, .host = &host,
                                .timeout = h->timeout};
    nbcoll_endpoint *ep = NULL;

    if (rank == h->come) {
        be_a_stranger(h);
        return;
    }
    while (rank > 0 && !atomic_load(&h->connected))
        sched_yield();
    CHECK_STATUS(h->expected, nbcoll_shm_open(&config, &ep));
    if (rank == 0) {
        CHECK(atomic_load(&h->named) == h->strangers);
        CHECK(strstr(h->line, h->garbage ? "has not said what a rank says" : "has said nothing") != NULL);
        atomic_store(&h->over, 1);
    }
    while (!atomic_load(&h->over))
        sched_yield();
    nbcoll_endpoint_close(ep);
}

static void try_hall(const struct hall *plan)
{
    struct hall *h = shared_memory(sizeof *h);
    const crew c = plan->come == 2 ? PROCESSES_3 : CREW(1, 1, 1, 1);

    h->id = fresh_id();
    h->ranks = plan->ranks;
    h->come = plan->come;
    h->strangers = plan->strangers;
    h->garbage = plan->garbage;
    h->timeout = plan->timeout ? plan->timeout : 20 * SECOND;
    h->expected = plan->expected;
    crew_succeeds(&c, meet, h);
    munmap(h, sizeof *h);
}

static void who_says_nothing_takes_no_place(void **state)
{
    (void)state;
    for (int strangers = 1; strangers <= 3; strangers++)
        try_hall(&(struct hall){.ranks = 2, .come = 2, .strangers = strangers});
    try_hall(&(struct hall){.ranks = 3, .come = 3, .strangers = 2});
}

/* The ones that have been silent for longest go. */
static void many_that_say_nothing_take_no_place(void **state)
{
    (void)state;
    try_hall(&(struct hall){.ranks = 2, .come = 2, .strangers = CONNECTIONS});
}

static void who_says_nonsense_is_told_and_takes_no_place(void **state)
{
    static const int bytes[] = {1, 7, 8, 24, 336, 1024};
    (void)state;
    for (size_t i = 0; i < sizeof bytes / sizeof bytes[0]; i++)
        try_hall(&(struct hall){.ranks = 2, .come = 2, .strangers = 3, .garbage = bytes[i]});
}

/* One of three ranks never comes. */
static void who_says_nothing_is_named_at_the_deadline(void **state)
{
    (void)state;
    try_hall(&(struct hall){.ranks = 3, .come = 2, .strangers = 2, .timeout = SECOND / 2,
                            .expected = NBCOLL_ERR_TIMEOUT});
}

/* ---- a rank that is slow to speak ------------------------------------------------------------------------------- */

static const nbcoll_shm_id *interrupted; /* by strangers, of its job, before it says hello; null: not */
static int strangers[CONNECTIONS], come;

/* What the library calls to say hello: the rank does not run before the host has taken it for one that says nothing. */
ssize_t sendmsg(int socket, const struct msghdr *m, int flags)
{
    if (interrupted) {
        const nbcoll_shm_id *id = interrupted;
        struct pollfd answer = {socket, POLLIN, 0};

        interrupted = NULL;
        while (come < CONNECTIONS && poll(&answer, 1, 0) == 0)
            strangers[come++] = connect_to(id);
        CHECK(poll(&answer, 1, 20 * 1000) == 1);
    }
    return syscall(SYS_sendmsg, socket, m, flags);
}

static void speak_late(int rank, void *user)
{
    struct hall *h = user;
    const nbcoll_shm_config config = {.size = sizeof config, .id = h->id, .rank = rank, .ranks = 2,
                                      .timeout = 20 * SECOND};
    nbcoll_endpoint *ep = NULL;

    if (rank == 1)
        interrupted = &h->id;
    CHECK_STATUS(NBCOLL_OK, nbcoll_shm_open(&config, &ep));
    CHECK(interrupted == NULL);
    while (come)
        close(strangers[--come]);
    nbcoll_endpoint_close(ep);
}

/* It connects again. */
static void a_rank_that_speaks_late_is_no_stranger(void **state)
{
    const crew two = PROCESSES_2;
    struct hall *h = shared_memory(sizeof *h);
    (void)state;
    h->id = fresh_id();
    crew_succeeds(&two, speak_late, h);
    munmap(h, sizeof *h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_says_nothing_takes_no_place),
        cmocka_unit_test(many_that_say_nothing_take_no_place),
        cmocka_unit_test(who_says_nonsense_is_told_and_takes_no_place),
        cmocka_unit_test(who_says_nothing_is_named_at_the_deadline),
        cmocka_unit_test(a_rank_that_speaks_late_is_no_stranger),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
