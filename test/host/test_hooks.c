/* SPDX-License-Identifier: BSD-3-Clause
 * With all host hooks set, the library itself calls no memory, clock, sleep or thread function of the C library. The
 * program is linked so that such calls from the library come here first (--wrap), where they are counted. */
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "nbcoll/loopback.h"
#include "nbcoll/nbcoll.h"

enum { RANKS = 3 };

/* ---- what is counted ------------------------------------------------------------------------------------------- */

static int calls;            /* of the C library, other than by the hooks */
static volatile int in_hook; /* the hooks may; volatile: compilers know what malloc and free cannot see */
static const char *last;

static void seen(const char *name)
{
    if (!in_hook) {
        calls++;
        last = name;
    }
}

/* name(parameters) of the C library, by the library: counted, and carried out. */
#define WRAP(type, name, parameters, arguments)                                                                        \
    type __real_##name parameters;                                                                                     \
    type __wrap_##name parameters;                                                                                     \
    type __wrap_##name parameters                                                                                      \
    {                                                                                                                  \
        seen(#name);                                                                                                   \
        return __real_##name arguments;                                                                                \
    }

WRAP(void *, malloc, (size_t n), (n))
WRAP(void *, calloc, (size_t n, size_t size), (n, size))
WRAP(void *, realloc, (void *p, size_t n), (p, n))
WRAP(void *, aligned_alloc, (size_t align, size_t n), (align, n))
WRAP(int, posix_memalign, (void **p, size_t align, size_t n), (p, align, n))
WRAP(int, clock_gettime, (clockid_t id, struct timespec *t), (id, t))
WRAP(int, nanosleep, (const struct timespec *t, struct timespec *left), (t, left))
WRAP(int, sched_yield, (void), ())
WRAP(int, poll, (struct pollfd *fds, nfds_t n, int timeout), (fds, n, timeout))
WRAP(int, ppoll, (struct pollfd *fds, nfds_t n, const struct timespec *t, const sigset_t *mask), (fds, n, t, mask))
WRAP(int, pthread_create, (pthread_t *t, const pthread_attr_t *a, void *(*f)(void *), void *x), (t, a, f, x))

void __real_free(void *p);
void __wrap_free(void *p);
void __wrap_free(void *p)
{
    seen("free");
    __real_free(p);
}

/* ---- the host -------------------------------------------------------------------------------------------------- */

typedef struct host {
    size_t used;
    uint64_t now;
    nbcoll_context *context[RANKS]; /* which pauses progress */
    int pauses;
} host;

static void *host_alloc(void *user, size_t bytes, size_t align)
{
    ((host *)user)->used += bytes;
    in_hook++;
    void *p = aligned_alloc(align, (bytes + align - 1) / align * align);
    in_hook--;
    return p;
}

static void host_free(void *user, void *memory, size_t bytes)
{
    ((host *)user)->used -= bytes;
    in_hook++;
    free(memory);
    in_hook--;
}

static void host_log(void *user, nbcoll_status why, const char *text)
{
    (void)user;
    (void)why;
    (void)text;
}

static uint64_t host_now(void *user)
{
    return ((host *)user)->now;
}

/* A task runtime would switch to the other ranks' tasks here. */
static void host_pause(void *user, uint64_t looks)
{
    host *h = user;
    (void)looks;
    h->pauses++;
    h->now += 1000;
    for (int r = 0; r < RANKS; r++)
        if (h->context[r])
            nbcoll_progress(h->context[r]);
}

static nbcoll_status host_spawn(void *user, void (*main)(void *), void *argument)
{
    (void)user;
    (void)main;
    (void)argument;
    return NBCOLL_ERR_UNSUPPORTED;
}

static nbcoll_host hooks(host *h)
{
    return (nbcoll_host){sizeof(nbcoll_host), h, host_alloc, host_free, host_log, host_now, host_pause, host_spawn};
}

/* ---- a whole life ---------------------------------------------------------------------------------------------- */

typedef struct life {
    nbcoll_loopback *loopback;
    nbcoll_context *context[RANKS];
    nbcoll_comm *comm[RANKS], *dup[RANKS];
} life;

/* Counts failures: assertions would allocate. */
static int bad;

static void check(int holds)
{
    bad += !holds;
}

static void wait_for(nbcoll_request q[RANKS])
{
    check(nbcoll_wait_all(RANKS, q, NULL, 1000000000) == NBCOLL_OK);
}

static void begin(life *l, const nbcoll_host *h, host *user)
{
    nbcoll_loopback_config config = {.size = sizeof config, .host = h, .ranks = RANKS};
    nbcoll_context_config context = {.size = sizeof context};
    nbcoll_request q[RANKS];

    if (h)
        context.host = *h;
    check(nbcoll_loopback_create(&config, &l->loopback) == NBCOLL_OK);
    for (int r = 0; r < RANKS; r++) {
        nbcoll_endpoint *ep;
        check(nbcoll_loopback_open(l->loopback, r, &ep) == NBCOLL_OK);
        check(nbcoll_context_create(NBCOLL_ABI, &context, &l->context[r]) == NBCOLL_OK);
        check(nbcoll_comm_icreate(l->context[r], ep, NULL, &l->comm[r], &q[r]) == NBCOLL_OK);
        if (user)
            user->context[r] = l->context[r];
    }
    wait_for(q);
    for (int r = 0; r < RANKS; r++)
        check(nbcoll_comm_idup(l->comm[r], &l->dup[r], &q[r]) == NBCOLL_OK);
    wait_for(q);
}

/* Collectives of all sizes; a wait that times out; one that is cancelled. */
static void use(life *l)
{
    static int64_t send[RANKS][20000], recv[RANKS][20000];
    static const size_t counts[] = {1, 100, 20000};
    nbcoll_request q[RANKS];

    for (int i = 0; i < 3; i++) {
        for (int r = 0; r < RANKS; r++)
            check(nbcoll_iallreduce(send[r], recv[r], counts[i], NBCOLL_INT64, NBCOLL_SUM, l->comm[r], &q[r]) ==
                  NBCOLL_OK);
        wait_for(q);
        for (int r = 0; r < RANKS; r++)
            check(nbcoll_ibcast(recv[r], counts[i], NBCOLL_INT64, 1, l->dup[r], &q[r]) == NBCOLL_OK);
        wait_for(q);
    }
    check(nbcoll_ibarrier(l->comm[0], &q[0]) == NBCOLL_OK);
    check(nbcoll_wait(&q[0], 20000000) == NBCOLL_ERR_TIMEOUT); /* long enough to spin, yield and sleep */
    for (int r = 1; r < RANKS; r++)
        check(nbcoll_ibarrier(l->comm[r], &q[r]) == NBCOLL_OK);
    wait_for(q);
    for (int r = 0; r < RANKS; r++)
        check(nbcoll_ibarrier(l->comm[r], &q[r]) == NBCOLL_OK);
    check(nbcoll_cancel(q[0]) == NBCOLL_OK);
    nbcoll_wait_all(RANKS, q, NULL, 1000000000);
}

static void end(life *l, host *user)
{
    for (int r = 0; r < RANKS; r++) {
        check(nbcoll_comm_free(l->dup[r]) == NBCOLL_OK);
        if (user)
            user->context[r] = NULL;
        check(nbcoll_context_free(l->context[r]) == NBCOLL_OK);
    }
    check(nbcoll_loopback_free(l->loopback) == NBCOLL_OK);
}

static void live(const nbcoll_host *h, host *user)
{
    life l = {0};
    bad = calls = 0;
    last = "";
    begin(&l, h, user);
    use(&l);
    end(&l, user);
}

static void with_all_hooks_set_the_library_calls_nothing_else(void **state)
{
    host h = {0};
    const nbcoll_host all = hooks(&h);
    (void)state;
    live(&all, &h);
    assert_string_equal(last, "");
    assert_int_equal(calls, 0);
    assert_int_equal(bad, 0);
    assert_int_equal(h.used, 0);
    assert_true(h.pauses > 0);
}

/* That the calls would have been seen. */
static void without_hooks_it_calls_the_c_library(void **state)
{
    (void)state;
    live(NULL, NULL);
    assert_int_equal(bad, 0);
    assert_true(calls > 0);
}

/* ---- the pause hook -------------------------------------------------------------------------------------------- */

/* Rank 0 calls blocking collectives; the other ranks' parts run in its pauses, on the same thread. */
static void a_pause_hook_lets_one_thread_run_all_ranks(void **state)
{
    host h = {0};
    const nbcoll_host all = hooks(&h);
    int64_t in[RANKS][1000], out[RANKS][1000];
    life l = {0};
    (void)state;
    bad = 0;
    begin(&l, &all, &h);
    for (int i = 0; i < 20; i++) {
        nbcoll_request q[RANKS];
        for (int r = 0; r < RANKS; r++)
            for (int k = 0; k < 1000; k++)
                in[r][k] = r + i + k;
        for (int r = 1; r < RANKS; r++)
            check(nbcoll_iallreduce(in[r], out[r], 1000, NBCOLL_INT64, NBCOLL_MAX, l.comm[r], &q[r]) == NBCOLL_OK);
        check(nbcoll_allreduce(in[0], out[0], 1000, NBCOLL_INT64, NBCOLL_MAX, l.comm[0], NBCOLL_FOREVER) == NBCOLL_OK);
        for (int r = 1; r < RANKS; r++)
            check(nbcoll_wait(&q[r], NBCOLL_FOREVER) == NBCOLL_OK);
        for (int r = 0; r < RANKS; r++)
            for (int k = 0; k < 1000; k++)
                check(out[r][k] == RANKS - 1 + i + k);
    }
    end(&l, &h);
    assert_int_equal(bad, 0);
    assert_true(h.pauses > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(with_all_hooks_set_the_library_calls_nothing_else),
        cmocka_unit_test(without_hooks_it_calls_the_c_library),
        cmocka_unit_test(a_pause_hook_lets_one_thread_run_all_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
