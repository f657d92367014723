/* SPDX-License-Identifier: BSD-3-Clause
 * Native schedules over shm give the values of serial C: ranks as processes, as threads and as both, from a byte, which
 * lies in the cell, to a mebibyte, which is read where it is, got from another process, or, to be combined, got into a
 * bounce. Where processes must not read each other, what they have to do with each other is lowered. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../shm/ranks.h"
#include "play.h"

static const size_t lengths[] = {1, 8, 80, 88, 5000, 300000, 1 << 20};
enum { LENGTHS = 7, BOARDS = 10 };

struct plan {
    nbcoll_shm_config config;
    nbcoll_comm_config limits;
    uint64_t seed;
    int is_native; /* between processes, too */
};

static operation operation_of(const nbcoll_algorithm *a, size_t bytes, int ranks)
{
    int root = play_has_root(a->operation) ? (int)(bytes / 8) % ranks : 0;
    operation o = {.what = a->operation, .root = root, .count = bytes, .how = {NBCOLL_UINT8, NBCOLL_SUM},
                   .seed = bytes};
    if (bytes % 8 == 0) {
        o.count = bytes / 8;
        o.how = (nbcoll_reduction){NBCOLL_INT64, NBCOLL_MAX};
    }
    if (a->operation == NBCOLL_OPERATION_BARRIER)
        o.count = 0;
    return o;
}

static void run(const struct plan *p, nbcoll_comm *comm, nbcoll_schedule *schedule, const share *s)
{
    demand d = demand_of(schedule);
    nbcoll_request q;

    if (p->is_native && nbcoll_comm_size(comm) > 1)
        for (int peer = 0; peer < nbcoll_comm_size(comm); peer++)
            CHECK(nbcoll_comm_shares(comm, peer));
    CHECK(d.cells <= p->limits.cells);
    CHECK_STATUS(NBCOLL_OK, play_start(schedule, s, comm, &q));
    CHECK_STATUS(NBCOLL_OK, nbcoll_wait(&q, 30 * SECOND));
}

static void take_part(int rank, void *user)
{
    struct plan p = *(const struct plan *)user;
    uint64_t random = p.seed;
    const nbcoll_algorithm *a;
    member m;

    p.config.rank = rank;
    member_join_limited(&m, &p.config, NULL, &p.limits);
    for (unsigned i = 0; (a = exposing_algorithm(i)); i++)
        for (int l = (int)i % sampled(3); l < LENGTHS; l += sampled(3)) {
            operation o = operation_of(a, lengths[l], p.config.ranks);
            share s = share_make(&o, rank, p.config.ranks);
            nbcoll_schedule *schedule = play_schedule(a, &o, &s, m.comm, l % 2 ? 0 : 33333);
            run(&p, m.comm, schedule, &s);
            operation_check(&o, &s, rank, p.config.ranks);
            share_free(&s);
            CHECK_STATUS(NBCOLL_OK, nbcoll_schedule_free(schedule));
        }
    for (int i = 0; i < BOARDS; i++) {
        board b = board_make(random_of(&random), p.config.ranks, (int)p.limits.cells, 70000);
        share s = board_share(&b, rank);
        nbcoll_schedule *schedule = board_schedule(&b, m.comm);
        run(&p, m.comm, schedule, &s);
        board_check(&b, &s, rank);
        share_free(&s);
        CHECK_STATUS(NBCOLL_OK, nbcoll_schedule_free(schedule));
    }
    CHECK_STATUS(NBCOLL_OK, nbcoll_barrier(m.comm, 30 * SECOND));
    member_leave(&m);
}

static void all_crews(size_t n, const crew crews[], uint32_t flags, uint32_t slots, int is_native)
{
    uint64_t seed = seed_of_test();
    for (size_t i = 0; i < n; i++) {
        struct plan p = {.config = {.size = sizeof p.config, .id = fresh_id(), .flags = flags},
                         .limits = NBCOLL_COMM_DEFAULTS, .seed = random_of(&seed), .is_native = is_native};
        p.config.ranks = crew_ranks(&crews[i]);
        p.limits.slots = slots;
        p.limits.cells = 4;
        crew_succeeds(&crews[i], take_part, &p);
    }
}

static void native_schedules_between_processes_and_threads(void **state)
{
    static const crew crews[] = {{{1, 1}}, {{2}}, {{1, 1, 1, 1}}, {{2, 2}}, {{1, 3, 1}}};
    (void)state;
    all_crews(5, crews, 0, 8, 1);
}

static void native_schedules_with_one_slot(void **state)
{
    static const crew crews[] = {{{1, 1}}, {{2, 1}}};
    (void)state;
    all_crews(2, crews, 0, 1, 1);
}

static void native_schedules_among_threads_whose_processes_exchange_messages(void **state)
{
    static const crew crews[] = {{{2, 2}}, {{1, 3, 1}}};
    (void)state;
    all_crews(2, crews, NBCOLL_SHM_NO_CMA, 8, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(native_schedules_between_processes_and_threads),
        cmocka_unit_test(native_schedules_with_one_slot),
        cmocka_unit_test(native_schedules_among_threads_whose_processes_exchange_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
