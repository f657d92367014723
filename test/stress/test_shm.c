/* SPDX-License-Identifier: BSD-3-Clause
 * Stress of shm: more ranks than cores, as processes and as threads of one. One round for each way that data can move
 * and a fresh seed, printed; NBCOLL_FULL=1 goes on for a minute; STRESS_SEED runs that one only. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "nbcoll/shm.h"

#include "crew.h"
#include "stress.h"

typedef struct plan {
    nbcoll_shm_config config;
    stress stress;
} plan;

static void run_rank(int rank, void *user)
{
    const plan *p = user;
    nbcoll_shm_config config = p->config;
    nbcoll_endpoint *ep;

    config.rank = rank;
    CHECK_STATUS(NBCOLL_OK, nbcoll_shm_open(&config, &ep));
    stress_run(&p->stress, rank, ep);
}

static void run(const crew *c, uint64_t seed)
{
    static const nbcoll_shm_config variants[] = {{.flags = 0},
                                              {.flags = NBCOLL_SHM_NO_CMA},
                                              {.depth = 2, .payload = 512},
                                              {.flags = NBCOLL_SHM_NO_BULK, .depth = 1, .payload = 256}};
    plan *p = shared_memory(sizeof *p);

    p->config = variants[seed % 4];
    p->config.size = sizeof p->config;
    p->config.ranks = STRESS_RANKS;
    assert_int_equal(nbcoll_shm_id_make(&p->config.id), NBCOLL_OK);
    stress_make(&p->stress, STRESS_RANKS, seed);
    crew_succeeds(c, run_rank, p);
    munmap(p, sizeof *p);
}

static void run_all(const crew *c)
{
    const char *one = getenv("STRESS_SEED");
    uint64_t start = clock_ns(), fresh = start;

    if (one) {
        run(c, strtoull(one, NULL, 10));
        return;
    }
    for (uint64_t seed = 0; seed < 4; seed += (uint64_t)sampled(2))
        run(c, seed);
    do
        run(c, random_of(&fresh) >> 16);
    while (is_full() && clock_ns() - start < 60 * SECOND);
}

static void processes_and_threads_end_all_operations_with_the_right_values(void **state)
{
    const crew c = CREW(1, 3, 2, 1, 1);
    (void)state;
    run_all(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(processes_and_threads_end_all_operations_with_the_right_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
