/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks over shm, processes and threads, that wait for each other since each names another root, so that nobody sends:
 * all of them get ERR_MISMATCH, and nothing can be started afterwards. Where memory is shared a rank that computes
 * outside the library is found out, too. A rank that is late is told nothing, and nobody is told anything of it.
 */
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>

#include <cmocka.h>

#include "layout.h"
#include "operation.h"
#include "ranks.h"

enum { BOUND = SECOND, COUNT = 4 }; /* 200 ms are promised: the machine may be busy */

struct scene {
    nbcoll_shm_config config;
    int scatters, one_computes;
    atomic_int ended; /* ranks */
};

static void start_with_another_root(struct scene *s, int rank, const member *m, nbcoll_request *q)
{
    static _Thread_local int send[COUNT * 8], recv[COUNT];
    int root = (rank + 1) % s->config.ranks;

    if (s->scatters)
        CHECK_STATUS(NBCOLL_OK, nbcoll_iscatter(send, recv, COUNT, NBCOLL_INT32, root, m->comm, q));
    else
        CHECK_STATUS(NBCOLL_OK, nbcoll_ibcast(recv, COUNT, NBCOLL_INT32, root, m->comm, q));
}

static void join(struct scene *s, int rank, member *m)
{
    nbcoll_shm_config config = s->config;
    config.rank = rank;
    member_join(m, &config, NULL);
    CHECK_STATUS(NBCOLL_OK, nbcoll_barrier(m->comm, 30 * SECOND));
}

static void is_told(const member *m, nbcoll_request *q)
{
    uint64_t begin = clock_ns();
    nbcoll_failure failure;

    CHECK_STATUS(NBCOLL_ERR_MISMATCH, nbcoll_wait(q, 30 * SECOND));
    CHECK(clock_ns() - begin < BOUND);
    nbcoll_status s = nbcoll_ibarrier(m->comm, q); /* refused, or begun before the news of the finder came */
    CHECK_STATUS(NBCOLL_ERR_MISMATCH, s == NBCOLL_OK ? nbcoll_wait(q, 30 * SECOND) : s);
    CHECK_STATUS(NBCOLL_OK, nbcoll_comm_failure(m->comm, &failure));
    CHECK_STATUS(NBCOLL_ERR_MISMATCH, failure.status);
}

/* Where one computes rank 1 looks for its own operation only when all others know. */
static void wait_for_each_other(int rank, void *user)
{
    struct scene *s = user;
    nbcoll_request q;
    member m;

    join(s, rank, &m);
    start_with_another_root(s, rank, &m, &q);
    while (s->one_computes && rank == 1 && atomic_load(&s->ended) < s->config.ranks - 1)
        poll(NULL, 0, 1);
    is_told(&m, &q);
    atomic_fetch_add(&s->ended, 1);
    member_leave(&m);
}

static void run(int one_computes, uint32_t flags)
{
    static const crew crews[] = {{{1, 1}}, {{1, 1, 1}}, {{1, 2}}, {{2}}};
    struct scene *s = shared_memory(sizeof *s);

    for (int i = 0; i < 8; i++) {
        const crew *c = &crews[i / 2];
        s->config = (nbcoll_shm_config){.size = sizeof s->config, .id = fresh_id(), .ranks = crew_ranks(c),
                                        .flags = flags};
        s->scatters = i % 2;
        s->one_computes = one_computes;
        atomic_store(&s->ended, 0);
        crew_succeeds(c, wait_for_each_other, s);
    }
}

static void ranks_that_wait_for_each_other_ask(void **state)
{
    (void)state;
    run(0, NBCOLL_SHM_NO_BULK); /* no memory for words */
}

static void ranks_that_share_memory_look(void **state)
{
    (void)state;
    run(0, 0);
}

static void a_rank_that_computes_is_found_where_memory_is_shared(void **state)
{
    (void)state;
    run(1, 0);
}

/* ---- late ranks ------------------------------------------------------------------------------------------------ */

enum { MEMBERS = 3, ROUND = 41000000, ROUNDS = 12, FAR = 20, VERY_FAR = 70 };

/* The ranks' clocks go on by a round of asking with each look. */
struct march {
    nbcoll_shm_config config;
    _Atomic uint64_t clock[MEMBERS];
    atomic_int ended[MEMBERS]; /* operations */
};

static uint64_t march_now(void *clock)
{
    return atomic_fetch_add((_Atomic uint64_t *)clock, ROUND);
}

/* Until the others have looked at their clocks ROUNDS times since they ended an operation last. */
static void come_late(struct march *m, int late)
{
    for (int r = 0; r < MEMBERS; r++)
        for (int ended = -1, now; r != late && (now = atomic_load(&m->ended[r])) != ended; ended = now)
            for (uint64_t begin = atomic_load(&m->clock[r]); atomic_load(&m->clock[r]) - begin < ROUNDS * ROUND;)
                sched_yield();
}

static void walk(struct march *m, int rank, const member *me, const operation *o, int late, int ahead)
{
    share s = share_make(o, rank, MEMBERS);

    if (rank == late)
        come_late(m, late);
    for (int i = 0; i <= ahead; i++) {
        nbcoll_request q;
        nbcoll_status status;
        CHECK_STATUS(NBCOLL_OK, i < ahead ? operation_start(o, &s, me->comm, &q) : nbcoll_ibarrier(me->comm, &q));
        while ((status = nbcoll_test(&q)) == NBCOLL_PENDING)
            sched_yield();
        CHECK_STATUS(NBCOLL_OK, status);
        atomic_fetch_add(&m->ended[rank], 1);
    }
    share_free(&s);
}

static void march_on(int rank, void *user)
{
    struct march *m = user;
    nbcoll_context_config context = {.size = sizeof context,
                                     .host = {.size = sizeof context.host, .user = &m->clock[rank], .now = march_now}};
    nbcoll_shm_config config = m->config;
    member me;

    config.rank = rank;
    member_join(&me, &config, &context);
    for (int what = 0; what < NBCOLL_OPERATION_COUNT; what++)
        for (int late = 0; late < MEMBERS; late++) {
            operation o = {.what = (nbcoll_operation)what, .count = 1, .how = {NBCOLL_INT64, NBCOLL_SUM},
                           .root = has_root((nbcoll_operation)what) && late == 2 ? 1 : 0, .seed = 1};
            walk(m, rank, &me, &o, late, late == 1 ? VERY_FAR : FAR);
        }
    member_leave(&me);
}

static void however_far_others_are_ahead_a_late_rank_is_no_mismatch(void **state)
{
    (void)state;
    for (uint32_t flags = 0; flags <= NBCOLL_SHM_NO_BULK; flags += NBCOLL_SHM_NO_BULK) {
        struct march *m = shared_memory(sizeof *m);
        m->config = (nbcoll_shm_config){.size = sizeof m->config, .id = fresh_id(), .ranks = MEMBERS, .flags = flags};
        crew_succeeds(&PROCESSES_3, march_on, m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ranks_that_wait_for_each_other_ask),
                                       cmocka_unit_test(ranks_that_share_memory_look),
                                       cmocka_unit_test(a_rank_that_computes_is_found_where_memory_is_shared),
                                       cmocka_unit_test(however_far_others_are_ahead_a_late_rank_is_no_mismatch)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
