/* SPDX-License-Identifier: BSD-3-Clause
 * A signal that ticks comes at one instruction of a call after the other: the processor traps behind each instruction
 * till then. (At moments of a timer's: test_ticks.) */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <ucontext.h>

#include <cmocka.h>

#include "nbcoll/driver.h"

#include "ended.h"
#include "ranks.h"
#include "world.h"

#if defined __x86_64__

enum { MANY = 9, LATE = 8, MOST = 600 };

/* Two ranks of this thread. */
typedef struct pair {
    nbcoll_shm_config config[2];
    member m[2];
    uint64_t pauses; /* of rank 0 */
} pair;

static void count_pause(void *user, uint64_t looks)
{
    (void)looks;
    ++*(uint64_t *)user;
}

/* They open together. */
static void *open_one(void *user)
{
    pair *p = user;
    EXPECT(OK, nbcoll_shm_open(&p->config[1], &p->m[1].endpoint));
    return NULL;
}

static void finish(pair *p, size_t n, nbcoll_request q[])
{
    for (size_t i = 0; i < n; i++)
        for (nbcoll_status s; (s = nbcoll_test(&q[i])) != NBCOLL_OK;) {
            EXPECT(PENDING, s);
            for (int r = 0; r < 2; r++)
                EXPECT(OK, nbcoll_progress(p->m[r].context));
        }
}

static void pair_open(pair *p)
{
    const nbcoll_comm_config comm = {.size = sizeof comm, .slots = 16, .cells = 8, .schedules = 16, .eager = 256,
                                     .large = 2048};
    const nbcoll_shm_id id = fresh_id();
    nbcoll_request q[2];
    pthread_t other;

    for (int r = 0; r < 2; r++)
        p->config[r] = (nbcoll_shm_config){.size = sizeof p->config[r], .id = id, .rank = r, .ranks = 2};
    assert_int_equal(pthread_create(&other, NULL, open_one, p), 0);
    EXPECT(OK, nbcoll_shm_open(&p->config[0], &p->m[0].endpoint));
    assert_int_equal(pthread_join(other, NULL), 0);
    for (int r = 0; r < 2; r++) {
        const nbcoll_context_config context = {.size = sizeof context,
                                               .host = {.size = sizeof context.host, .user = &p->pauses,
                                                        .pause = count_pause}};
        EXPECT(OK, nbcoll_context_create(NBCOLL_ABI, &context, &p->m[r].context));
        EXPECT(OK, nbcoll_comm_icreate(p->m[r].context, p->m[r].endpoint, &comm, &p->m[r].comm, &q[r]));
    }
    finish(p, 2, q);
    EXPECT(OK, nbcoll_tick_start(p->m[0].context, 0, 0));
}

static void pair_close(pair *p)
{
    EXPECT(OK, nbcoll_tick_stop(p->m[0].context));
    for (int r = 0; r < 2; r++)
        while (nbcoll_context_free(p->m[r].context) == NBCOLL_ERR_BUSY)
            EXPECT(OK, nbcoll_progress(p->m[!r].context));
}

#define TRAP_FLAG 0x100

static nbcoll_context *ticked;
static volatile long instructions; /* till the tick; 0: it has come */

static void trap(int number, siginfo_t *info, void *at)
{
    greg_t *flags = &((ucontext_t *)at)->uc_mcontext.gregs[REG_EFL];
    (void)number, (void)info;
    if (instructions > 0 && --instructions == 0)
        nbcoll_tick(ticked);
    *flags = instructions ? *flags | TRAP_FLAG : *flags & ~(greg_t)TRAP_FLAG;
}

static void tick_after(nbcoll_context *c, long n)
{
    const struct sigaction action = {.sa_sigaction = trap, .sa_flags = SA_SIGINFO};
    assert_int_equal(sigaction(SIGTRAP, &action, NULL), 0);
    ticked = c;
    instructions = n;
    raise(SIGTRAP); /* which sets the flag */
}

static void send(pair *p, int first, int end, int32_t value[], nbcoll_request q[])
{
    for (int i = first; i < end; i++)
        EXPECT(OK, nbcoll_ibcast(&value[i], 1, NBCOLL_INT32, 1, p->m[1].comm, &q[i]));
}

/* Rank 0 receives, and calls for any of nine. The first has ended, and is reported: only it is in the list of ended
 * ones, which the next call removes. Seven others end by the tick in that call, if the tick may pass. */
static void any_of_nine(pair *p, long n)
{
    int32_t in[MANY] = {0}, out[MANY];
    nbcoll_request q[MANY], sent[MANY];
    size_t index, known = 0;

    for (int i = 0; i < MANY; i++)
        EXPECT(OK, nbcoll_ibcast(&out[i], 1, NBCOLL_INT32, 1, p->m[0].comm, &q[i]));
    send(p, 0, 1, in, sent);
    EXPECT(OK, nbcoll_wait_any(MANY, q, &index, NBCOLL_FOREVER));
    send(p, 1, LATE, in, sent);
    p->pauses = 0;
    for (int i = 1; i < LATE; i++) {
        if (i == 1)
            tick_after(p->m[0].context, n);
        nbcoll_status s = nbcoll_wait_any(MANY, q, &index, NBCOLL_FOREVER);
        instructions = 0;
        EXPECT(OK, s);
        known |= (size_t)1 << index;
    }
    assert_int_equal(known, (1 << LATE) - 2);
    assert_int_equal(p->pauses, 0); /* the first look has found each */
    send(p, LATE, MANY, in, sent);
    finish(p, 1, &q[LATE]);
    finish(p, MANY, sent);
}

static void a_tick_in_a_call_for_any_hides_no_end(void **state)
{
    static pair p;
    (void)state;
    pair_open(&p);
    for (long n = 1; n < MOST; n++) /* the call walks the list first */
        any_of_nine(&p, n);
    pair_close(&p);
}

#else

static void a_tick_in_a_call_for_any_hides_no_end(void **state)
{
    (void)state;
    skip(); /* nothing here sets another processor's flag */
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tick_in_a_call_for_any_hides_no_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
