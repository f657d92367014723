/* SPDX-License-Identifier: BSD-3-Clause
 * A kernel that refuses what a context or its first communicator needs: the error says which kind of thing was missing,
 * the endpoint stays the caller's, and the next try works. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "world.h"

/* What is to fail next, and how. These come before the C library's. */
static int no_wipe, no_epoll, no_epoll_ctl;

int madvise(void *memory, size_t bytes, int advice)
{
    if (no_wipe && advice == MADV_WIPEONFORK) {
        errno = no_wipe;
        return -1;
    }
    return (int)syscall(SYS_madvise, memory, bytes, advice);
}

int epoll_create1(int flags)
{
    if (no_epoll) {
        errno = no_epoll;
        return -1;
    }
    return (int)syscall(SYS_epoll_create1, flags);
}

int epoll_ctl(int poller, int what, int fd, struct epoll_event *event)
{
    if (no_epoll_ctl) {
        errno = no_epoll_ctl;
        return -1;
    }
    return (int)syscall(SYS_epoll_ctl, poller, what, fd, event);
}

static void making_a_context_says_what_was_missing(void **state)
{
    nbcoll_context *c = NULL;
    (void)state;
    no_wipe = EINVAL;
    EXPECT(ERR_UNSUPPORTED, nbcoll_context_create(NBCOLL_ABI, NULL, &c));
    no_wipe = ENOMEM;
    EXPECT(ERR_MEMORY, nbcoll_context_create(NBCOLL_ABI, NULL, &c));
    no_wipe = 0;
    assert_null(c);
    EXPECT(OK, nbcoll_context_create(NBCOLL_ABI, NULL, &c));
    EXPECT(OK, nbcoll_context_free(c));
}

static void making_a_communicator_says_what_was_missing(void **state)
{
    static const struct {
        int why;
        nbcoll_status status;
    } cases[] = {{ENOMEM, NBCOLL_ERR_MEMORY}, {ENOSYS, NBCOLL_ERR_UNSUPPORTED}, {EMFILE, NBCOLL_ERR_TRANSPORT},
                 {ENFILE, NBCOLL_ERR_TRANSPORT}, {EPERM, NBCOLL_ERR_UNSUPPORTED}, {ENOSPC, NBCOLL_ERR_TRANSPORT}};
    nbcoll_request q;
    nbcoll_status status;
    world w;
    int fd;

    (void)state;
    world_open_contexts(&w, 1, NULL, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        no_epoll = cases[i].why;
        assert_int_equal(nbcoll_comm_icreate(w.context[0], w.endpoint[0], NULL, &w.comm[0], &q), cases[i].status);
        no_epoll = 0;
        no_epoll_ctl = cases[i].why;
        assert_int_equal(nbcoll_comm_icreate(w.context[0], w.endpoint[0], NULL, &w.comm[0], &q), cases[i].status);
        no_epoll_ctl = 0;
        EXPECT(ERR_UNSUPPORTED, nbcoll_fd(w.context[0], &fd));
    }
    EXPECT(OK, nbcoll_comm_icreate(w.context[0], w.endpoint[0], NULL, &w.comm[0], &q));
    world_settle(&w, 1, &q, &status);
    EXPECT(OK, status);
    EXPECT(OK, nbcoll_fd(w.context[0], &fd));
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(making_a_context_says_what_was_missing),
        cmocka_unit_test(making_a_communicator_says_what_was_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
