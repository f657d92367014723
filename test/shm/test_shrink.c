/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Processes die by kill -9, at any moment, also while the others agree on who is left: those go on together.
 */
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "ranks.h"

enum { RANKS = 5, ROUNDS = 12, ROUNDS_FULL = 500, COUNT = 3000 };

struct plan {
    nbcoll_shm_config config;
    uint64_t seed;
    atomic_int joined;
    uint64_t left[RANKS]; /* looks, or operations, until the rank dies; 0: it does not */
};

static void die(void)
{
    kill(getpid(), SIGKILL);
}

static void may_die(uint64_t *left)
{
    if (*left && --*left == 0)
        die();
}

static nbcoll_status finish(nbcoll_request *q, uint64_t *left)
{
    uint64_t begin = clock_ns();
    nbcoll_status s;
    while ((s = nbcoll_test(q)) == NBCOLL_PENDING) {
        CHECK(clock_ns() - begin < 20 * SECOND);
        may_die(left);
    }
    return s;
}

/* Sums until all that shall die have died. */
static void work_and_shrink(int rank, void *user)
{
    struct plan *p = user;
    nbcoll_shm_config config = p->config;
    uint64_t left = p->left[rank];
    int deaths = 0, survivors = 0;
    int64_t *sum = malloc(COUNT * sizeof *sum);
    nbcoll_request q;
    member m;

    config.rank = rank;
    member_join(&m, &config, NULL);
    for (atomic_fetch_add(&p->joined, 1); atomic_load(&p->joined) < RANKS; sched_yield())
        CHECK_STATUS(NBCOLL_OK, nbcoll_progress(m.context));
    for (int r = 0; r < RANKS; r++) {
        deaths += p->left[r] > 0;
        survivors |= (p->left[r] == 0) << r;
    }
    for (nbcoll_comm *comm = m.comm; nbcoll_comm_size(comm) > RANKS - deaths;) {
        for (int i = 0; i < COUNT; i++)
            sum[i] = INT64_C(1) << rank;
        nbcoll_status s = nbcoll_iallreduce(NBCOLL_IN_PLACE, sum, COUNT, NBCOLL_INT64, NBCOLL_SUM, comm, &q);
        s = s == NBCOLL_OK ? finish(&q, &left) : s;
        if (s == NBCOLL_OK) {
            CHECK((sum[0] & survivors) == survivors && sum[COUNT - 1] == sum[0]);
            CHECK(__builtin_popcountll((unsigned long long)sum[0]) == nbcoll_comm_size(comm));
            may_die(&left);
            continue;
        }
        CHECK_STATUS(NBCOLL_ERR_PEER_LOST, s);
        nbcoll_comm *old = comm;
        CHECK_STATUS(NBCOLL_OK, nbcoll_comm_ishrink(old, &comm, &q));
        CHECK_STATUS(NBCOLL_OK, finish(&q, &left));
        CHECK_STATUS(NBCOLL_OK, nbcoll_comm_free(old));
    }
    member_leave(&m);
    free(sum);
}

static void the_living_go_on_without_the_dead(void **state)
{
    const crew processes = CREW(1, 1, 1, 1, 1);
    struct plan *p = shared_memory(sizeof *p);
    uint64_t random = seed_of_test();
    (void)state;
    for (int round = 0; round < (is_full() ? ROUNDS_FULL : ROUNDS); round++) {
        int status[RANKS];
        p->config = (nbcoll_shm_config){.size = sizeof p->config, .id = fresh_id(), .ranks = RANKS};
        atomic_store(&p->joined, 0);
        for (int r = 0; r < RANKS; r++)
            p->left[r] = 0;
        for (int deaths = 1 + round % 4; deaths > 0; deaths--)
            p->left[random_of(&random) % RANKS] = 1 + random_of(&random) % (deaths % 2 ? 3000 : 100);
        p->left[random_of(&random) % RANKS] = 0;
        assert_true(crew_run(&processes, work_and_shrink, p, status));
        for (int r = 0; r < RANKS; r++)
            assert_int_equal(status[r], p->left[r] ? SIGKILL : 0);
    }
    munmap(p, sizeof *p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_living_go_on_without_the_dead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
