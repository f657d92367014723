/* SPDX-License-Identifier: BSD-3-Clause
 * The six steps of examples/radixsort over communicators with an agent: in each round the histograms' allgather and the
 * alltoallv of the keys are programs on every rank, and the ranks end up with what one sort makes of all keys. What is
 * started is counted where agents are given it: the linker brings those calls here first. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../src/offload/offload.h"
#include "sort.h"
#include "world.h"

enum { RANKS = 4, KEYS = 3000 };

static atomic_int allgathers, alltoallvs;

nbcoll_status __real_nbcolli_agent_make(nbcoll_agent *a, const nbcoll_program *program, const nbcolli_agent_call *call,
                                        nbcoll_program_run **out);
nbcoll_status __wrap_nbcolli_agent_make(nbcoll_agent *a, const nbcoll_program *program, const nbcolli_agent_call *call,
                                        nbcoll_program_run **out);

nbcoll_status __wrap_nbcolli_agent_make(nbcoll_agent *a, const nbcoll_program *program, const nbcolli_agent_call *call,
                                        nbcoll_program_run **out)
{
    nbcoll_program_info info = {.size = sizeof info};
    nbcoll_status status = __real_nbcolli_agent_make(a, program, call, out);
    assert_int_equal(nbcoll_program_query(program, &info), NBCOLL_OK);
    atomic_fetch_add(&allgathers, status == NBCOLL_OK && !strncmp(info.name, "allgather/", 10));
    atomic_fetch_add(&alltoallvs, status == NBCOLL_OK && !strncmp(info.name, "alltoallv/", 10));
    return status;
}

typedef struct scene {
    world w;
    nbcoll_agent *agent[RANKS];
    atomic_int is_over;
    size_t count[RANKS]; /* keys: uneven at first */
    uint64_t key[RANKS][KEYS], sorted[RANKS * KEYS];
} scene;

static scene s;

static void *move_agents(void *user)
{
    (void)user;
    while (!atomic_load(&s.is_over)) {
        int moved = 0;
        for (int r = 0; r < RANKS; r++)
            moved |= nbcoll_agent_progress(s.agent[r]);
        if (!moved)
            sched_yield();
    }
    return NULL;
}

static void sort(world *w, int rank, void *user)
{
    const size_t *buckets = user;
    sorter own;
    EXPECT(OK, sorter_open(&own, w->comm[rank], s.key[rank], s.count[rank], *buckets));
    own.overlaps = 1;
    EXPECT(OK, sorter_run(&own));
    memcpy(s.sorted + own.total * (size_t)rank / RANKS, own.keys, own.count * sizeof *own.keys);
    sorter_close(&own);
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static size_t fill(uint64_t *all)
{
    uint64_t random = 3;
    size_t total = 0;
    for (int r = 0; r < RANKS; r++) {
        s.count[r] = KEYS * (size_t)r / (RANKS - 1);
        for (size_t i = 0; i < s.count[r]; i++)
            all[total++] = s.key[r][i] = world_random(&random);
    }
    return total;
}

static void sort_by(size_t buckets, int rounds)
{
    static uint64_t all[RANKS * KEYS];
    nbcoll_agent_config config = {.size = sizeof config};
    nbcoll_request request[RANKS];
    pthread_t mover;
    memset(&s, 0, sizeof s);
    atomic_store(&allgathers, 0);
    atomic_store(&alltoallvs, 0);
    size_t total = fill(all);
    world_open_contexts(&s.w, RANKS, NULL, NULL);
    for (int r = 0; r < RANKS; r++) {
        nbcoll_comm_config comm = NBCOLL_COMM_DEFAULTS;
        EXPECT(OK, nbcoll_agent_open(s.w.endpoint[r], &config, &s.agent[r]));
        comm.agent = s.agent[r];
        EXPECT(OK, nbcoll_comm_icreate(s.w.context[r], s.w.endpoint[r], &comm, &s.w.comm[r], &request[r]));
    }
    world_finish(&s.w, RANKS, request);
    assert_int_equal(pthread_create(&mover, NULL, move_agents, NULL), 0);
    world_threads(&s.w, sort, &buckets);
    atomic_store(&s.is_over, 1);
    pthread_join(mover, NULL);
    for (int r = 0; r < RANKS; r++)
        EXPECT(OK, nbcoll_agent_close(s.agent[r]));
    world_close(&s.w);
    qsort(all, total, sizeof *all, compare);
    assert_memory_equal(s.sorted, all, total * sizeof *all);
    assert_int_equal(allgathers, RANKS * rounds);
    assert_int_equal(alltoallvs, RANKS * rounds);
}

static void histograms_and_keys_are_programs(void **state)
{
    (void)state;
    sort_by(256, 8);
    sort_by(65536, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(histograms_and_keys_are_programs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
