/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks over shm, processes and threads, that wait for each other since each names another root, so that nobody sends:
 * all of them get ERR_MISMATCH, and nothing can be started afterwards. Where memory is shared a rank that computes
 * outside the library is found out, too.
 */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>

#include <cmocka.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ranks_that_wait_for_each_other_ask),
                                       cmocka_unit_test(ranks_that_share_memory_look),
                                       cmocka_unit_test(a_rank_that_computes_is_found_where_memory_is_shared)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
