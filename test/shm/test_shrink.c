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
#include <sys/mman.h>

#include <cmocka.h>

#include "mortal.h"
#include "ranks.h"

enum { RANKS = 5, ROUNDS = 12, ROUNDS_FULL = 500 };

struct plan {
    nbcoll_shm_config config;
    atomic_int joined;
    uint64_t left[RANKS]; /* looks, or operations, until the rank dies; 0: it does not */
};

static void work_and_shrink(int rank, void *user)
{
    struct plan *p = user;
    nbcoll_shm_config config = p->config;
    member m;

    config.rank = rank;
    member_join(&m, &config, NULL);
    for (atomic_fetch_add(&p->joined, 1); atomic_load(&p->joined) < RANKS; sched_yield())
        CHECK_STATUS(NBCOLL_OK, nbcoll_progress(m.context));
    mortal_work(m.comm, p->left);
    member_leave(&m);
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
